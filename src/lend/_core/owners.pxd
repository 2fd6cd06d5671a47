"""Owners and protocol records, for the compiled files above."""
from cpython.ref cimport Py_DECREF, PyObject

from lend._core.c_view cimport lend_view
from lend._core.checked cimport buffer_obj, set_buffer_obj
from lend._core.dlpack cimport DLManagedTensor, DLManagedTensorVersioned
from lend._core.record cimport Record

cdef class Owner:
    cdef object held             # the producing object, or None for a bare capsule
    cdef char* address           # lowest byte of what was lent
    cdef Py_ssize_t span         # bytes lent, from the lowest to the highest
    cdef int open_exports        # Py_buffers, DLPack tensors and Arrow arrays made from it and not given back
    cdef readonly bint apart     # told by its address, and never memory of the object that keeps it alive
    cdef object streams          # of memory of a device: for whose work it was handed out; None: nobody's
    cdef object known            # what a driver said of its memory, once it was asked
    cdef object __weakref__

cdef class BufferOwner(Owner):
    cdef Py_buffer lease         # its obj lies in `exporter`, where the garbage collector sees it
    cdef object exporter         # None when it is the producer itself

cdef class DLPackOwner(Owner):
    cdef void* managed           # DLManagedTensor or DLManagedTensorVersioned
    cdef bint versioned

cdef class ObjectOwner(Owner):
    cdef object beside           # what lives along with it: the capsule of __array_struct__

cdef class DeviceOwner(Owner):
    cdef object pending          # an int, None or "unknown": a stream
    cdef object syclobj          # of the SYCL interface

cdef class MemoryOwner(Owner):
    cdef void* block

cdef class DriverOwner(Owner):
    cdef int driver_kind         # whose memory it is: 2 of CUDA, 10 of HIP
    cdef int ordinal             # the device
    cdef object pending          # the event (a Mark) after a copy that was not waited for; None: it is complete

cdef class CallbackOwner(Owner):
    cdef object beside           # an export of the object that the memory is a part of
    cdef void (*give_back)(void* context) noexcept
    cdef void* context

# keeps an owner until the streams that it was handed out for are done
ctypedef void (*ParkFunction)(Owner owner, object streams) noexcept
cdef void set_park(ParkFunction function) noexcept
cdef void park_moved(Owner other, Owner owner) noexcept
cdef void hold_beside(BufferOwner owner, object held, object beside) noexcept
cdef BufferOwner new_buffer_owner()
cdef void settle_lease(BufferOwner owner, object producer, object exporter, const Record* record) noexcept


cdef inline object exporter_of(Py_buffer* lease):
    """Take the reference that an exporter put into a Py_buffer: from here release_lease gives it back."""
    cdef object exporter = <object> buffer_obj(lease)
    Py_DECREF(exporter)
    set_buffer_obj(lease, NULL)
    return exporter


cdef void remember_span(Owner owner, const Record* record) noexcept
cdef void settle_tensor(DLPackOwner owner, DLManagedTensorVersioned* managed, object producer,
                        const Record* record) noexcept
cdef void delete_managed(void* managed, bint versioned) noexcept
cdef void move_lease(Py_buffer* to, Py_buffer* source) noexcept
cdef void release_lease(Py_buffer* lease, object exporter) noexcept
cdef ObjectOwner own_object(object producer, const Record* record, object beside=*)
cdef DeviceOwner own_on_device(object producer, const Record* record, object pending, object syclobj=*)
cdef DriverOwner allocate_on_device(int kind, int ordinal, Py_ssize_t nbytes, int* error)
cdef MemoryOwner allocate(Py_ssize_t nbytes, Py_ssize_t alignment=*)
cdef str type_name(object producer)
cdef str class_name(object cls)

# Fill the record from obj by one protocol and return what holds the lease: an Owner, or (with a lease given and
# INLINE_LEASE set in the record) the exporter. Raises a LendError and leaves nothing taken.
ctypedef object (*TakeFunction)(object obj, Record* record, Py_buffer* lease, int want, void* data)

# The same for a lease of lend.h: what is plain is told in the view at once (all but lease and release). Its data is
# NULL before, and stays so where the record is still to be told.
ctypedef object (*TakeToldFunction)(object obj, Record* record, Py_buffer* lease, int want, void* data, lend_view* view)

# Say what memory obj has, for as long as it is held and no Python code runs, without a lease: where it is plain in
# the view (all but lease and release), else in the record. PEEKED_NOTHING, with or without an exception: it must be
# taken.
ctypedef int (*PeekFunction)(PyObject* obj, lend_view* view, Record* record, void* data) noexcept

cdef enum:
    PEEKED_NOTHING = 0
    PEEKED_VIEW = 1
    PEEKED_RECORD = 2

cdef class Protocol:
    cdef readonly str name, dunder, carries, spec
    cdef readonly frozenset devices
    cdef readonly bint readonly, strided, nulls
    cdef readonly object offered
    cdef TakeFunction take
    cdef TakeToldFunction take_told
    cdef PeekFunction peek
    cdef void* data
    cdef Protocol inner          # of one that checks another: that, for which `data` stands
    cdef Protocol bound(self, void* data)

cdef Protocol taken_by(Protocol protocol, TakeFunction take, PeekFunction peek=*, TakeToldFunction take_told=*)

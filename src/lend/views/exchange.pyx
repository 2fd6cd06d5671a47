"""DLPack's C exchange table on View and Buffer: what a consumer in C calls instead of `__dlpack__`.

Same refusals as `__dlpack__`, -1 with the exception set; nothing is synchronised. The borrowing entry is NULL: a
borrowed DLTensor has no flags, so it could not say read-only. https://dmlc.github.io/dlpack/latest/c_api.html
"""
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t
from libc.string cimport memset

from lend._core.dlpack cimport (
    DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION, DLDeviceType, DLManagedTensorVersioned, DLPackExchangeAPI, DLTensor,
)
from lend._core.owners cimport MemoryOwner, Owner, allocate
from lend._core.record cimport (
    DEVICE_CPU, EXCLUSIVE, LAYOUT_OK, MAX_DIMS, WANT_ANY, Record, byte_count, check_layout, row_major, set_ndim,
    shape_of,
)
from lend._core.seldom cimport seldom
from lend.dtypes.code cimport code_itemsize
from lend.dtypes.dlpack_type cimport code_from_dlpack
from lend.protocols cimport dlpack
from lend.views.buffers cimport Buffer
from lend.views.checks cimport alive
from lend.views.lent cimport Lent, call_hook
from lend.views.producer cimport Producer, view_of_producer
from lend.views.view cimport View, blank, owner_of, track

cdef extern from "Python.h":
    void PyErr_SetObject(object kind, object value)

# a C function cannot be told that it must not raise: every exception is caught here and set again for the caller in C
cdef int raised(object error) noexcept:
    PyErr_SetObject(type(error), error)
    return -1


cdef int order_by_table(Lent lent) except -1:
    """The stream that `work_stream` names is that on which the memory is ready: the default one."""
    if lent.record.device_type != DEVICE_CPU:
        call_hook("order")(lent, None)
    return 0


cdef int from_object(void* obj, DLManagedTensorVersioned** out) noexcept:
    """Export a View or a Buffer."""
    cdef View view
    cdef Buffer bytes_
    try:
        if isinstance(<object> obj, Buffer):
            bytes_ = <Buffer> <object> obj
            alive(&bytes_.record, bytes_)
            order_by_table(bytes_)
            out[0] = dlpack.give_managed(<Owner> bytes_.holder, &bytes_.record, bytes_, False)
            return 0
        view = view_of_producer(<object> obj) if isinstance(<object> obj, Producer) else <View?> <object> obj
        alive(&view.record, view)
        order_by_table(view)
        out[0] = dlpack.give_managed(owner_of(view), &view.record, view, False)
        return 0
    except BaseException as error:  # noqa: BLE001
        return raised(error)


cdef int to_object(DLManagedTensorVersioned* managed, void** out) noexcept:
    """Take a tensor over into a View; the tensor is ours from the call on."""
    cdef View view
    try:
        view = blank()
        dlpack.read_managed(managed, None, &view.record, WANT_ANY)
        view.holder = dlpack.keep_managed(managed, None, &view.record, &view.lease)
        track(view)
        Py_INCREF(view)
        out[0] = <void*> view
        return 0
    except BaseException as error:  # noqa: BLE001
        return raised(error)


cdef int allocate_like(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                       void (*set_error)(void*, const char*, const char*) noexcept) noexcept with gil:
    """Fresh host memory of the prototype's dtype and shape, 64-byte aligned; reports through the caller's callback."""
    seldom()
    cdef View view
    cdef MemoryOwner memory
    cdef bytes text
    try:
        view = blank()
        fill_like(&view.record, prototype)
        memory = allocate(byte_count(&view.record))
        view.record.data = memory.address
        view.holder = memory
        out[0] = dlpack.give_managed(memory, &view.record, view, False)
        return 0
    except MemoryError:
        text = b"no memory for a tensor of this shape"
        set_error(context, b"MemoryError", text)
        return -1
    except BaseException as error:  # noqa: BLE001
        text = str(error).encode("utf-8", "replace")
        set_error(context, b"BufferError", text)
        return -1


cdef int fill_like(Record* record, DLTensor* prototype) except -1:
    cdef int i
    if <int> prototype.device.device_type != DEVICE_CPU:
        raise BufferError(f"lend allocates host memory, not on device type {<int> prototype.device.device_type}")
    if not 0 <= prototype.ndim <= MAX_DIMS or (prototype.ndim and prototype.shape is NULL):
        raise BufferError(f"ndim {prototype.ndim} without a shape, or beyond {MAX_DIMS}")
    if not code_from_dlpack(prototype.dtype.code, prototype.dtype.bits, prototype.dtype.lanes, &record.dtype):
        raise BufferError(f"dtype code {prototype.dtype.code}, bits {prototype.dtype.bits} is not understood")
    record.itemsize = <unsigned int> code_itemsize(record.dtype)
    record.device_type = DEVICE_CPU
    record.device_id = 0
    record.flags = EXCLUSIVE
    if not set_ndim(record, prototype.ndim):
        raise MemoryError
    for i in range(prototype.ndim):
        shape_of(record)[i] = prototype.shape[i]
    row_major(record)
    if check_layout(record) != LAYOUT_OK:
        raise BufferError("the shape is negative or does not fit the address space")
    return 0


cdef int work_stream(DLDeviceType device_type, int32_t device_id, void** out) noexcept:
    """lend has no stream of its own: the legacy default one."""
    out[0] = NULL
    return 0


cdef DLPackExchangeAPI table
memset(&table, 0, sizeof(DLPackExchangeAPI))
table.header.version.major = DLPACK_MAJOR_VERSION
table.header.version.minor = DLPACK_MINOR_VERSION
table.managed_tensor_allocator = allocate_like
table.managed_tensor_from_py_object_no_sync = from_object
table.managed_tensor_to_py_object_no_sync = to_object
table.current_work_stream = work_stream

CAPSULE = PyCapsule_New(&table, "dlpack_exchange_api", NULL)

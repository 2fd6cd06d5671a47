"""The way in from C: the functions behind include/lend.h, over the same takes and owners as `lend.view`.

Called through one capsule with a table that only grows. What is raised here is left set for the caller in C, which gets
-1 or NULL.
"""
from cpython.exc cimport PyErr_Clear
from cpython.pycapsule cimport PyCapsule_New
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from lend._core.c_view cimport LEND_ALIGNED, lend_view
from lend._core.checked cimport holds_gil, interpreter_gone, raise_pending
from lend._core.owners cimport (
    PEEKED_NOTHING, PEEKED_RECORD, PEEKED_VIEW, CallbackOwner, DeviceOwner, DLPackOwner, PeekFunction, Protocol,
    remember_span,
)
from lend._core.dlpack cimport DLManagedTensor, DLManagedTensorVersioned
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CPU, EXCLUSIVE, F_CONTIGUOUS, HANDLE, INLINE_DIMS, LAYOUT_OK, MAX_DIMS, READONLY, RELEASED,
    UNBOUNDED, WANT_ANY, Record, byte_count, check_layout, clear_dims, column_major, has_addresses,
    is_aligned, item_alignment, on_host, row_major, set_ndim, shape_of, span_of, strides_of,
)
from lend._core.seldom cimport seldom
from lend.capi_requests cimport (
    LEND_C_CONTIGUOUS, LEND_C_ORDER, LEND_COPY, LEND_COPY_IF_NEEDED, LEND_EXCLUSIVE, LEND_F_CONTIGUOUS,
    LEND_F_ORDER, LEND_NEED_ALIGNED, LEND_OPAQUE_HANDLE, LEND_READONLY, LEND_SYNC_UNKNOWN, LEND_WRITABLE, asked_of,
    can_be_met, capi_refusals, code_wanted, lend_request, meets, same_type, wanted, wrong_dtype,
)
from lend.dtypes.c_dtype cimport LEND_ANY_TYPE, LEND_OPAQUE, code_from_c, code_to_c, lend_dtype
from lend.dtypes.code cimport Code, code_itemsize, code_shared_bits
from lend.dtypes.dtype cimport dtype_from_code
from lend.front cimport Slot, known_slots, protocol_known, slot_of, type_pointer, view_told, view_wanted
from lend.views.lent cimport call_hook
from lend.views.view cimport View, owner_of, view_of

from lend import front
from lend.doors import is_suboffsets
from lend.errors import LendError, UnsupportedLayout
from lend.plan import recheck
from lend.requirements import check_stream

cdef extern from "lend.h" nogil:
    const int LEND_ABI_MAJOR
    const int LEND_ABI_MINOR
    const int LEND_BYTES
    const int LEND_UCS4
    const int LEND_RECORD
    const int LEND_OBJECT

    ctypedef struct lend_api:
        uint32_t major
        uint32_t minor
        size_t size
        int (*acquire)(PyObject* obj, const lend_request* request, lend_view* view) except -1
        int (*borrow)(PyObject* obj, const lend_request* request, lend_view* view) except -1
        PyObject* (*wrap)(const lend_view* description, PyObject* owner, void (*release)(void*) noexcept,
                          void* context) except NULL
        int (*host_access)(const lend_view* view) except -1
        void* acquire_arrow    # an AcquireArrow, of structs that are not known here

cdef extern from "Python.h":
    void drop_here "Py_DECREF"(PyObject*) nogil     # by who holds the GIL
    PyObject* PyErr_Occurred()
    bint PyErr_ExceptionMatches(PyObject*)

# the flags that mean the same in a Record and a lend_view, and have the same bits: LEND_READONLY to LEND_OPAQUE_HANDLE
cdef enum:
    SHARED_FLAGS = READONLY | C_CONTIGUOUS | F_CONTIGUOUS | EXCLUSIVE | HANDLE
    KNOWN_FLAGS = 127    # LEND_READONLY to LEND_SYNC_UNKNOWN
if (LEND_READONLY | LEND_C_CONTIGUOUS | LEND_F_CONTIGUOUS | LEND_EXCLUSIVE | LEND_OPAQUE_HANDLE) != SHARED_FLAGS:
    raise ImportError("lend.h and lend's records number their flags differently")


# -- taking --------------------------------------------------------------------------------------------------------

cdef int acquire(PyObject* obj, const lend_request* request, lend_view* view) except -1:
    cdef View made
    if view.abi >> 16 != LEND_ABI_MAJOR or view.struct_size < sizeof(lend_view):
        raise wrong_abi(view)
    view.release = NULL
    if request is NULL:
        made = view_told(<object> obj, WANT_ANY, view)
        if view.data is NULL:
            tell_of(view, made)
    else:
        made = requested(<object> obj, request, view)
    # a View of our own, which nobody else knows: it is the lease
    Py_INCREF(made)
    view.lease = <void*> made
    view.release = release_view
    return 0


cdef View requested(object obj, const lend_request* request, lend_view* view):
    """A View of obj as requested, told. It is asked once: what does not fit is copied, or refused, from the View."""
    cdef View made = None
    want = wanted(request)
    try:
        if not request.flags & LEND_COPY:
            try:
                made = view_told(obj, want, view)
            except UnsupportedLayout as refusal:
                # rows behind pointers are gathered
                if not request.flags & LEND_COPY_IF_NEEDED or not is_suboffsets(refusal):
                    raise
            if made is not None:
                if view.data is NULL:
                    tell_of(view, made)
                if meets(view, request):
                    return made
                forget_dims(view)
        made = by_request(obj if made is None else made, request)
    except LendError as refusal:
        capi_refusals().tell_in_c(refusal, asked_of(request))
        raise
    tell_of(view, made)
    if request.stream is not NULL and not on_host(&made.record):
        view.sync = request.stream      # by_request has ordered it so
        view.flags &= ~LEND_SYNC_UNKNOWN
    return made


cdef inline int tell_of(lend_view* view, View made) except -1:
    """Write down what a View of our own says."""
    if made.record.flags & HANDLE or made.record.device_type != DEVICE_CPU or made.record.ndim > INLINE_DIMS:
        return tell_in_full(view, &made.record, owner_of(made) if made.record.flags & HANDLE else made.holder)
    tell(view, &made.record, view.dims, INLINE_DIMS)
    return 0


cdef Slot* slots = known_slots()

cdef int borrow(PyObject* obj, const lend_request* request, lend_view* view) except -1:
    """Without a lease where the memory stays as long as obj is held and nothing of Python runs; else as acquire."""
    cdef Record record
    cdef PeekFunction peek
    cdef void* data
    cdef int found = PEEKED_NOTHING
    cdef Slot* slot = slot_of(slots, type_pointer(obj))
    if view.abi >> 16 != LEND_ABI_MAJOR or view.struct_size < sizeof(lend_view):
        return acquire(obj, request, view)     # which says so
    view.lease = NULL
    view.release = NULL
    if type_pointer(obj) == <PyObject*> View:
        found = lend_ours(<View> obj, view)
    else:
        if slot.type == type_pointer(obj):
            peek = (<Protocol> slot.protocol).peek
            data = (<Protocol> slot.protocol).data
        else:
            peek = peek_of(<object> obj, &data)
        if peek is not NULL:
            # what it is told from is looked at no more: this may run anything
            found = peek(obj, view, &record, data)
            if found != PEEKED_VIEW:
                found = tell_peeked(found, &record, view)
    if found == PEEKED_VIEW:
        if request is NULL or lends(view, request):
            return 0
        forget_dims(view)
    return acquire(obj, request, view)


cdef PeekFunction peek_of(object obj, void** data):
    """How to peek at objects of this type, where the table of slots has none; NULL: not at all."""
    seldom()
    cdef Protocol protocol = protocol_known(obj)
    if protocol is None:
        return NULL
    data[0] = protocol.data
    return protocol.peek


cdef int lend_ours(View ours, lend_view* view) except -1:
    """Describe a View of ours: it holds its memory itself."""
    # of a handle only the owner knows where it is
    if ours.record.flags & (RELEASED | HANDLE):
        return PEEKED_NOTHING
    tell_of(view, ours)
    if view.far_dims is not NULL:
        view.release = release_dims
    return PEEKED_VIEW


cdef int tell_peeked(int found, Record* record, lend_view* view) except -1:
    """Describe what was peeked at and put into a record; what failed is left for acquire to find out again."""
    seldom()
    if found == PEEKED_RECORD:
        try:
            if record.flags & HANDLE:
                return PEEKED_NOTHING
            if record.device_type == DEVICE_CPU and record.ndim <= INLINE_DIMS:
                tell(view, record, view.dims, INLINE_DIMS)
            else:
                tell_in_full(view, record, None)
                if view.far_dims is not NULL:
                    view.release = release_dims
            return PEEKED_VIEW
        finally:
            clear_dims(record)
    if PyErr_Occurred() is not NULL:
        if not PyErr_ExceptionMatches(<PyObject*> Exception):
            raise_pending()    # an interrupt
        PyErr_Clear()
    return PEEKED_NOTHING


cdef inline bint lends(const lend_view* view, const lend_request* request) noexcept nogil:
    return request.struct_size >= sizeof(lend_request) and can_be_met(request) and meets(view, request)


cdef object wrong_abi(const lend_view* view):
    seldom()
    return capi_refusals().wrong_abi(LEND_ABI_MAJOR, view.abi, view.struct_size)


cdef inline bint holds_type(View made, const lend_dtype* said) noexcept nogil:
    """Whether the elements of a View are of the dtype that was asked for."""
    cdef lend_dtype held
    code_to_c(made.record.dtype, &held)
    return same_type(said, &held)


cdef View by_request(object obj, const lend_request* request):
    """What does not lie as requested: copied where that is allowed, else refused, both as lend.view does."""
    seldom()
    cdef Code code
    cdef View made
    options = {"writable": True if request.flags & LEND_WRITABLE else None}
    if request.ndim >= 0:
        options["ndim"] = request.ndim
    if request.flags & (LEND_C_ORDER | LEND_F_ORDER):
        options["order"] = "C" if request.flags & LEND_C_ORDER else "F"
    if request.align > 1:
        options["align"] = request.align
    if request.dtype.code in (LEND_RECORD, LEND_OBJECT) or (
            request.dtype.code in (LEND_OPAQUE, LEND_BYTES, LEND_UCS4) and not request.dtype.itemsize):
        # no dtype of ours is meant by it alone: it is compared with what came
        obj = made = obj if type(obj) is View else view_wanted(obj, WANT_ANY)
        if not holds_type(made, &request.dtype):
            raise capi_refusals().another_type(
                made, (request.dtype.code, request.dtype.order, request.dtype.itemsize))
    if request.dtype.code != LEND_ANY_TYPE and not (type(obj) is View and holds_type(
            <View> obj, &request.dtype)):
        if not code_wanted(&request.dtype, &code):
            raise wrong_dtype(&request.dtype)
        options["dtype"] = dtype_from_code(code)
    if request.device_type > 1:
        options["device"] = (request.device_type, request.device_id)
    if request.flags & (LEND_COPY | LEND_COPY_IF_NEEDED):
        options["copy"] = True
    made = front.view(obj, **options)
    if request.flags & LEND_NEED_ALIGNED and not is_aligned(&made.record):
        raise capi_refusals().unaligned(made)
    if request.device_type == 1 and not on_host(&made.record):
        made = <View> call_hook("host")(made)
    if request.stream is not NULL and not on_host(&made.record):
        check_stream(made, <size_t> request.stream)
    return made


cdef inline void tell(lend_view* view, const Record* record, int64_t* dims, int stride_at) noexcept nogil:
    """Write down as lend.h has it what a record says."""
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef int64_t count = 1
    cdef Py_ssize_t need
    cdef size_t places = <size_t> record.data   # what every element's address is a sum of, its bits together
    cdef int i
    for i in range(record.ndim):
        dims[i] = shape[i]
        dims[stride_at + i] = strides[i]
        count *= shape[i]
        if shape[i] > 1:
            places |= <size_t> strides[i]
    view.far_dims = NULL
    view.data = record.data
    view.byte_offset = 0
    view.nbytes = <uint64_t> count * record.itemsize if record.itemsize else <uint64_t> byte_count(record)
    view.device_type = record.device_type
    view.device_id = record.device_id
    code_to_c(record.dtype, &view.dtype)
    view.ndim = record.ndim
    view.flags = record.flags & SHARED_FLAGS
    need = item_alignment(record)   # a power of two, or 0 for less than a byte
    if need <= 1 or not places & <size_t> (need - 1) or not count:
        view.flags |= LEND_ALIGNED
    view.sync = NULL


cdef int tell_in_full(lend_view* view, const Record* record, object owner) except -1:
    """The same for any record; the owner knows the handle of memory without addresses, and the stream."""
    seldom()
    cdef int64_t* dims = view.dims
    cdef int64_t* far = NULL
    if record.ndim > INLINE_DIMS:
        far = <int64_t*> malloc(2 * record.ndim * sizeof(int64_t))
        if far is NULL:
            raise MemoryError
        dims = far
    tell(view, record, dims, INLINE_DIMS if far is NULL else record.ndim)
    view.far_dims = far
    if not on_host(record):
        view.flags |= LEND_SYNC_UNKNOWN
    if type(owner) is DeviceOwner:
        if (<DeviceOwner> owner).pending is None:
            view.flags &= ~LEND_SYNC_UNKNOWN
        elif type((<DeviceOwner> owner).pending) is int:
            view.flags &= ~LEND_SYNC_UNKNOWN
            view.sync = <void*> <size_t> (<DeviceOwner> owner).pending
    if record.flags & HANDLE and isinstance(owner, DLPackOwner):
        view.byte_offset = <uint64_t> <size_t> record.data
        if (<DLPackOwner> owner).versioned:
            view.data = (<DLManagedTensorVersioned*> (<DLPackOwner> owner).managed).dl_tensor.data
        else:
            view.data = (<DLManagedTensor*> (<DLPackOwner> owner).managed).dl_tensor.data
    return 0


cdef inline void forget_dims(lend_view* view) noexcept nogil:
    """Free the dimensions that lie apart, if there are such."""
    if view.far_dims is not NULL:
        free(view.far_dims)
        view.far_dims = NULL
        view.release = NULL


cdef void release_dims(lend_view* view) noexcept nogil:
    forget_dims(view)
    view.ndim = 0


cdef void release_view(lend_view* view) noexcept nogil:
    """On any thread, with or without the GIL; leaks when the interpreter is gone."""
    # a View keeps a pending exception aside itself
    forget_dims(view)
    view.ndim = 0
    if holds_gil():
        drop_here(<PyObject*> view.lease)
    elif not interpreter_gone():
        with gil:
            drop_here(<PyObject*> view.lease)


cdef int host_access(const lend_view* view) except -1:
    """Whether the host may read the memory now, at the address that is told: of a device its work is waited for."""
    seldom()
    cdef View made
    if view.device_type == 1 or view.nbytes == 0:
        return 0
    if view.release is release_view:
        made = <View> call_hook("host")(<View> view.lease)
        if made.record.data == view.data:
            return 0
    raise capi_refusals().not_host(view.device_type, view.device_id, view.nbytes)


# -- giving --------------------------------------------------------------------------------------------------------

# what a program in C is told by when the last holder has gone
ctypedef void (*ReleaseCallback)(void* context) noexcept

cdef PyObject* wrap(const lend_view* said, PyObject* owner, ReleaseCallback release, void* context) except NULL:
    """A View over memory of a program in C."""
    seldom()
    cdef Record record
    cdef CallbackOwner made
    if said.abi >> 16 != LEND_ABI_MAJOR or said.struct_size < sizeof(lend_view):
        raise wrong_abi(said)
    if release is NULL and (owner is NULL or <object> owner is None):
        raise TypeError("lend_wrap needs what keeps the memory alive: an owner, or a release function")
    record.ndim = 0
    try:
        read_description(said, &record)
        made = CallbackOwner.__new__(CallbackOwner)
        made.held = None if owner is NULL else <object> owner
        remember_span(made, &record)
        if release is NULL:
            made.beside = recheck.pinned(made, on_host(&record))
            made.apart = made.beside is True
        else:
            made.apart = recheck.is_elsewhere(made)
        view = view_of(made, &record)
    finally:
        clear_dims(&record)
    # from here on the owner calls it; nothing can fail any more
    made.context = context
    made.give_back = release
    Py_INCREF(view)
    return <PyObject*> view


cdef int read_description(const lend_view* said, Record* record) except -1:
    """Check what a program in C says of its memory."""
    seldom()
    cdef Py_ssize_t low, high
    cdef const int64_t* shape = &said.dims[0]
    cdef const int64_t* strides = &said.dims[INLINE_DIMS]
    cdef size_t address = <size_t> said.data
    cdef int i
    if said.ndim < 0 or said.ndim > MAX_DIMS:
        raise wrong("ndim", said.ndim, f"0 to {MAX_DIMS}")
    if said.ndim > INLINE_DIMS:
        if said.far_dims is NULL:
            raise wrong("far_dims", None, f"where {said.ndim} extents and strides are")
        shape = said.far_dims
        strides = said.far_dims + said.ndim
    if not code_from_c(&said.dtype, &record.dtype):
        raise wrong("dtype", (said.dtype.code, chr(said.dtype.order), said.dtype.bits, said.dtype.lanes),
                    "a dtype (code, order, bits, lanes)")
    if not 0 < said.device_type < 256:
        raise wrong("device_type", said.device_type, "a device type from 1 to 255")
    if said.device_type != 1 and said.device_id < -1:
        raise wrong("device_id", said.device_id, "the number of a device, or -1 where it is not known")
    if not has_addresses(said.device_type):
        raise wrong("device_type", said.device_type, "a device whose memory has addresses")
    record.itemsize = <uint32_t> code_itemsize(record.dtype)
    record.device_type = <unsigned char> said.device_type
    record.device_id = 0 if said.device_type == 1 else said.device_id
    record.exports = 0
    record.data = <char*> said.data
    record.flags = ((READONLY if said.flags & LEND_READONLY else 0)
                    | (EXCLUSIVE if said.flags & LEND_EXCLUSIVE else 0))
    if said.flags & ~KNOWN_FLAGS or said.flags & LEND_OPAQUE_HANDLE:
        raise capi_refusals().wrong_flags(said.flags, 0, 0)
    if said.byte_offset:
        raise wrong("byte_offset", said.byte_offset, "0: memory that has addresses is told by that of element 0")
    if not set_ndim(record, said.ndim):
        raise MemoryError
    for i in range(said.ndim):
        shape_of(record)[i] = shape[i]
        strides_of(record)[i] = strides[i]
    if code_shared_bits(record.dtype):
        if not strides_forgotten(record, True):
            raise wrong("strides", "set", "0: elements that share bytes lie row-major")
    elif not said.flags & (LEND_C_CONTIGUOUS | LEND_F_CONTIGUOUS):
        if strides_forgotten(record, False):
            raise wrong("strides", 0, "the steps in bytes, dims[LEND_INLINE_DIMS + i]")
    elif strides_forgotten(record, True):
        if said.flags & LEND_C_CONTIGUOUS:
            row_major(record)
        else:
            column_major(record)
    if check_layout(record) != LAYOUT_OK:
        extents = tuple([shape[i] for i in range(said.ndim)])
        raise wrong("dims", extents, "extents that are not negative, and with their strides fit the address space")
    if (said.flags & (LEND_C_CONTIGUOUS | LEND_F_CONTIGUOUS) & ~record.flags
            or (said.flags & LEND_ALIGNED and not is_aligned(record))):
        raise capi_refusals().wrong_flags(
            said.flags, said.flags & (LEND_C_CONTIGUOUS | LEND_F_CONTIGUOUS) & ~record.flags,
            code_shared_bits(record.dtype))
    span_of(record, &low, &high)
    if high > low and (address == 0 or (low < 0 and address <= <size_t> -low) or address + <size_t> high < address):
        raise wrong("data", address, "an address with room for shape and strides")
    record.flags |= UNBOUNDED
    return 0


cdef bint strides_forgotten(const Record* record, bint found) noexcept nogil:
    """Whether there is something to step over (found: in any case), and no stride but 0."""
    cdef int i
    for i in range(record.ndim):
        if shape_of(record)[i] > 1:
            if strides_of(record)[i]:
                return False
            found = True
    return found


cdef object wrong(str field, got, str expected):
    seldom()
    return capi_refusals().wrong_description(field, got, expected)


# -- columns -------------------------------------------------------------------------------------------------------

cdef AcquireArrow arrow_way = NULL

cdef void set_arrow_way(AcquireArrow way) noexcept:
    """capi_arrow.pyx says how, once it is loaded."""
    global arrow_way
    arrow_way = way


cdef int acquire_arrow(PyObject* obj, uint32_t flags, void* schema, void* array, void* column) except -1:
    seldom()
    if arrow_way is NULL:
        __import__("lend.capi_arrow")
    return arrow_way(obj, flags, schema, array, column)


# -- the table -----------------------------------------------------------------------------------------------------

cdef lend_api table
table.major = LEND_ABI_MAJOR
table.minor = LEND_ABI_MINOR
table.size = sizeof(lend_api)
table.acquire = acquire
table.borrow = borrow
table.wrap = wrap
table.host_access = host_access
table.acquire_arrow = <void*> acquire_arrow

API = PyCapsule_New(&table, "lend.capi.API", NULL)

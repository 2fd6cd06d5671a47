"""Arrow data by the device methods of the PyCapsule interface, both ways: arrays and streams with the device that they
are on, and the event after which they may be read. What the host may not read is kept as it came, and not looked at.

https://arrow.apache.org/docs/format/CDeviceDataInterface.html
"""
cimport cython
from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_IsValid, PyCapsule_SetContext
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc

from lend._core.arrow cimport (
    ArrowArray, ArrowArrayStream, ArrowDeviceArray, ArrowDeviceArrayStream, ArrowSchema,
)
from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner, StreamOwner
from lend._core.column cimport ColumnRecord
from lend.protocols.arrow cimport (
    ask, capsule_of, drop_capsule, new_capsule, place, put_on_device, record_of, refuse_consumed, refuse_fault,
    struct_in,
)
from lend.protocols.arrow_check cimport Fault, begin_check, check_array, check_schema
from lend.protocols.arrow_stream cimport refuse_stream

cdef:
    const char* SCHEMA = "arrow_schema"
    const char* ARRAY = "arrow_device_array"
    const char* STREAM = "arrow_device_array_stream"
    const char* HOST_STREAM = "arrow_array_stream"
    str ARRAY_METHOD = "__arrow_c_device_array__"
    str STREAM_METHOD = "__arrow_c_device_stream__"

ctypedef void (*StreamRelease)(ArrowArrayStream*) noexcept nogil
ctypedef void (*DeviceStreamRelease)(ArrowDeviceArrayStream*) noexcept nogil
ctypedef const char* (*LastError)(ArrowArrayStream*) noexcept nogil
ctypedef const char* (*DeviceLastError)(ArrowDeviceArrayStream*) noexcept nogil


# -- import: arrays ----------------------------------------------------------------------------------------------------

cdef ArrowOwner take_device_array(object obj, ColumnRecord* record):
    """Ask obj for its two capsules and take them."""
    cdef object pair = ask(obj, ARRAY_METHOD)
    try:
        if type(pair) is not tuple or len(<tuple> pair) != 2:
            from lend.protocols import arrow_refusals
            raise arrow_refusals.bad_answer(type(obj), ARRAY_METHOD, "a pair of capsules", pair)
        return take_device_pair((<tuple> pair)[0], (<tuple> pair)[1], type(obj), record)
    except BaseException:
        # here, where no exception is pending: what capsules do when they go knows nothing of one
        pair = None
        raise


cdef ArrowOwner take_device_pair(object schema, object array, object lender, ColumnRecord* record):
    """Inspect two capsules, allocate their owners, move: from there on the owners release."""
    cdef ArrowSchema* told
    cdef ArrowDeviceArray* held
    cdef SchemaOwner kind = SchemaOwner.__new__(SchemaOwner)
    cdef ArrowOwner owner = ArrowOwner.__new__(ArrowOwner)
    cdef Fault fault
    owner.lender = lender
    # two threads must not take one capsule: its check and the move are one step
    with cython.critical_section(schema, array):
        told = <ArrowSchema*> struct_in(schema, SCHEMA, lender)
        held = <ArrowDeviceArray*> struct_in(array, ARRAY, lender)
        if told.release is NULL or held.array.release is NULL:
            refuse_consumed(lender, ARRAY if told.release is not NULL else SCHEMA)
        place(owner, held)
        begin_check(&fault)
        if check_schema(told, &fault) or check_array(&held.array, told, 0, owner.device_type in (1, 3, 11, 13), &fault):
            refuse_fault(lender, told, &fault)
        kind.schema = told[0]
        told.release = NULL
        owner.array = held.array
        held.array.release = NULL
    owner.types = kind
    owner.type = &kind.schema
    owner.span = fault.bytes
    record_of(&owner.array, &kind.schema, record)
    put_on_device(record, owner)
    return owner


cdef bint is_device_array(object capsule) noexcept:
    return PyCapsule_CheckExact(capsule) and PyCapsule_IsValid(capsule, ARRAY)


cdef bint is_device_stream(object capsule) noexcept:
    return PyCapsule_CheckExact(capsule) and PyCapsule_IsValid(capsule, STREAM)


# -- import: streams ---------------------------------------------------------------------------------------------------

# what stands behind the ArrowArrayStream that a device stream is read by
cdef struct Source:
    ArrowDeviceArray last
    ArrowDeviceArrayStream stream


cdef StreamOwner take_device_stream(object obj):
    """Ask obj for its stream and take it; nothing is pulled yet."""
    cdef object capsule = ask(obj, STREAM_METHOD)
    try:
        return take_device_stream_capsule(capsule, type(obj))
    except BaseException:
        # here, where no exception is pending: what a capsule does when it goes knows nothing of one
        capsule = None
        raise


cdef StreamOwner take_device_stream_capsule(object capsule, object lender):
    """Take a stream out of its capsule."""
    cdef ArrowDeviceArrayStream* told
    cdef StreamOwner owner = StreamOwner.__new__(StreamOwner)
    cdef Source* source
    owner.lender = lender
    with cython.critical_section(capsule):
        told = <ArrowDeviceArrayStream*> struct_in(capsule, STREAM, lender)
        if told.release is NULL:
            refuse_consumed(lender, STREAM)
        if told.get_schema is NULL or told.get_next is NULL:
            refuse_stream(owner, 0, "the callback for its schema or for its next array: it is NULL")
        source = <Source*> calloc(1, sizeof(Source))
        if source is NULL:
            raise MemoryError
        source.stream = told[0]
        told.release = NULL
    owner.stream.get_schema = source_schema
    owner.stream.get_next = source_next
    owner.stream.get_last_error = source_error
    owner.stream.release = release_source
    owner.stream.private_data = source
    owner.device = &source.last
    return owner


cdef int source_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept nogil:
    cdef ArrowDeviceArrayStream* told = &(<Source*> stream.private_data).stream
    return told.get_schema(told, out)


cdef int source_next(ArrowArrayStream* stream, ArrowArray* out) noexcept nogil:
    cdef Source* source = <Source*> stream.private_data
    cdef int failed = source.stream.get_next(&source.stream, &source.last)
    if failed:
        return failed
    out[0] = source.last.array
    if source.last.device_type != source.stream.device_type:
        source.last.device_type = -1  # on another device than its stream: on none
    return 0


cdef const char* source_error(ArrowArrayStream* stream) noexcept nogil:
    cdef ArrowDeviceArrayStream* told = &(<Source*> stream.private_data).stream
    return NULL if told.get_last_error is NULL else (<DeviceLastError> told.get_last_error)(told)


cdef void release_source(ArrowArrayStream* stream) noexcept nogil:
    cdef Source* source = <Source*> stream.private_data
    stream.release = NULL
    (<DeviceStreamRelease> source.stream.release)(&source.stream)
    free(source)


# -- export ------------------------------------------------------------------------------------------------------------

cdef object device_capsule(ArrowArray* filled, int32_t device_type, int64_t device_id, void* event):
    """A capsule that an array is moved into, with where it is; on failure it is released."""
    cdef ArrowDeviceArray* kept = <ArrowDeviceArray*> calloc(1, sizeof(ArrowDeviceArray))
    cdef object made
    if kept is NULL:
        filled.release(filled)
        raise MemoryError
    kept.array = filled[0]
    kept.device_type = device_type
    # of the host's memory -1 is what the interface recommends
    kept.device_id = -1 if device_type == 1 else device_id
    kept.sync_event = event
    try:
        made = new_capsule(kept, ARRAY, drop_capsule)
    except MemoryError:
        kept.array.release(&kept.array)
        free(kept)
        raise
    # the array stands first: what drops the capsule releases that
    PyCapsule_SetContext(made, <void*> sizeof(ArrowArray))
    return made


# what stands behind a device stream of ours: one of the host's form, and the event of each of its arrays
cdef struct Given:
    ArrowArrayStream stream
    int64_t device_id
    int32_t device_type
    Py_ssize_t next
    Py_ssize_t count
    void* events[1]


cdef object device_stream_capsule(object host, int32_t device_type, int64_t device_id, list events):
    """The stream in a capsule of ours, which is emptied, as one that says where its arrays are."""
    cdef ArrowDeviceArrayStream stream
    cdef ArrowArrayStream* inner = <ArrowArrayStream*> struct_in(host, HOST_STREAM, None)
    cdef Given* given = <Given*> malloc(sizeof(Given) + len(events) * sizeof(void*))
    cdef Py_ssize_t i
    if given is NULL:
        raise MemoryError
    given.count = len(events)
    for i in range(given.count):
        given.events[i] = <void*> <size_t> events[i]
    given.next = 0
    given.device_type = device_type
    given.device_id = -1 if device_type == 1 else device_id
    given.stream = inner[0]
    inner.release = NULL
    stream.device_type = device_type
    stream.get_schema = given_schema
    stream.get_next = given_next
    stream.get_last_error = given_error
    stream.release = release_given
    stream.private_data = given
    return capsule_of(&stream, sizeof(ArrowDeviceArrayStream), STREAM)


cdef int given_schema(ArrowDeviceArrayStream* stream, ArrowSchema* out) noexcept nogil:
    cdef ArrowArrayStream* inner = &(<Given*> stream.private_data).stream
    return inner.get_schema(inner, out)


cdef int given_next(ArrowDeviceArrayStream* stream, ArrowDeviceArray* out) noexcept nogil:
    cdef Given* given = <Given*> stream.private_data
    cdef int i
    cdef int failed = given.stream.get_next(&given.stream, &out.array)
    if failed:
        return failed
    out.device_type = given.device_type
    out.device_id = given.device_id
    out.sync_event = given.events[given.next] if given.next < given.count else NULL
    for i in range(3):
        out.reserved[i] = 0
    given.next += 1
    return 0


cdef const char* given_error(ArrowDeviceArrayStream* stream) noexcept nogil:
    cdef ArrowArrayStream* inner = &(<Given*> stream.private_data).stream
    return (<LastError> inner.get_last_error)(inner)


cdef void release_given(ArrowDeviceArrayStream* stream) noexcept nogil:
    cdef Given* given = <Given*> stream.private_data
    stream.release = NULL
    (<StreamRelease> given.stream.release)(&given.stream)
    free(given)

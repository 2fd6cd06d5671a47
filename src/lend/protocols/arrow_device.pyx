"""Arrow data by the device methods of the PyCapsule interface, both ways: arrays and streams with the device that they
are on, and the event after which they may be read. What the host may not read is kept as it came, and not looked at.

https://arrow.apache.org/docs/format/CDeviceDataInterface.html
"""
cimport cython
from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_IsValid
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from lend._core.arrow cimport (
    ArrowArray, ArrowArrayStream, ArrowDeviceArray, ArrowDeviceArrayStream, ArrowSchema,
)
from lend._core.arrow_owners cimport StreamOwner
from lend.protocols.arrow cimport capsule_of, refuse_consumed, struct_in
from lend.protocols.arrow_stream cimport ask_stream, refuse_callbacks, stream_in

cdef:
    const char* ARRAY = "arrow_device_array"
    const char* STREAM = "arrow_device_array_stream"
    str STREAM_METHOD = "__arrow_c_device_stream__"

ctypedef void (*StreamRelease)(ArrowArrayStream*) noexcept nogil
ctypedef void (*DeviceStreamRelease)(ArrowDeviceArrayStream*) noexcept nogil
ctypedef const char* (*LastError)(ArrowArrayStream*) noexcept nogil
ctypedef const char* (*DeviceLastError)(ArrowDeviceArrayStream*) noexcept nogil


# -- import ------------------------------------------------------------------------------------------------------------

cdef bint is_device_array(object capsule) noexcept:
    return PyCapsule_CheckExact(capsule) and PyCapsule_IsValid(capsule, ARRAY)


cdef bint is_device_stream(object capsule) noexcept:
    return PyCapsule_CheckExact(capsule) and PyCapsule_IsValid(capsule, STREAM)


# what stands behind the ArrowArrayStream that a device stream is read by
cdef struct Source:
    ArrowDeviceArray last
    ArrowDeviceArrayStream stream


cdef StreamOwner take_device_stream(object obj):
    """The stream of obj that tells its device."""
    return ask_stream(obj, STREAM_METHOD, take_device_stream_capsule)


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
            refuse_callbacks(lender)
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
    cdef ArrowDeviceArray placed
    memset(&placed, 0, sizeof(ArrowDeviceArray))
    placed.array = filled[0]
    placed.device_type = device_type
    # of the host's memory -1 is what the interface recommends
    placed.device_id = -1 if device_type == 1 else device_id
    placed.sync_event = event
    # the array stands first: its callback is that of all
    return capsule_of(&placed, sizeof(ArrowDeviceArray), sizeof(ArrowArray), ARRAY)


# what stands behind a device stream of ours: one of the host's form, and the event of each of its arrays
cdef struct Given:
    ArrowArrayStream stream
    int64_t device_id
    int32_t device_type
    Py_ssize_t next
    Py_ssize_t count
    void* events[1]


cdef object device_stream_capsule(object host, int32_t device_type, int64_t device_id, list events):
    """The stream in a capsule, which is emptied, as one that says where its arrays are."""
    cdef ArrowDeviceArrayStream stream
    cdef ArrowArrayStream* inner
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
    try:
        # that of a lazy table came from anywhere, and who made it may have given it away since
        with cython.critical_section(host):
            inner = stream_in(host, None)
            given.stream = inner[0]
            inner.release = NULL
    except BaseException:
        free(given)
        raise
    stream.device_type = device_type
    stream.get_schema = given_schema
    stream.get_next = given_next
    stream.get_last_error = given_error
    stream.release = release_given
    stream.private_data = given
    return capsule_of(&stream, sizeof(ArrowDeviceArrayStream), sizeof(ArrowDeviceArrayStream), STREAM)


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
    return NULL if inner.get_last_error is NULL else (<LastError> inner.get_last_error)(inner)


cdef void release_given(ArrowDeviceArrayStream* stream) noexcept nogil:
    cdef Given* given = <Given*> stream.private_data
    stream.release = NULL
    (<StreamRelease> given.stream.release)(&given.stream)
    free(given)

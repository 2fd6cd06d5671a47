"""Arrow data by the device methods of the PyCapsule interface, both ways: arrays and streams with the device that they
are on, and the event after which they may be read. What the host may not read is kept as it came, and not looked at.

https://arrow.apache.org/docs/format/CDeviceDataInterface.html
"""
cimport cython
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_IsValid
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.errno cimport ENOMEM
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from lend._core.arrow cimport (
    ArrowArray, ArrowArrayStream, ArrowDeviceArray, ArrowDeviceArrayStream, ArrowSchema,
)
from lend._core.arrow_owners cimport Mark, StreamOwner
from lend._core.checked cimport interpreter_gone
from lend._core.driver cimport Driver, end_event
from lend.protocols.arrow cimport capsule_of, refuse_consumed, struct_in
from lend.protocols.arrow_stream cimport ask_stream, refuse_callbacks, stream_in

cdef:
    const char* ARRAY = "arrow_device_array"
    const char* STREAM = "arrow_device_array_stream"
    str STREAM_METHOD = "__arrow_c_device_stream__"

ctypedef void (*ArrayRelease)(ArrowArray*) noexcept nogil
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

# an array that is given with an event of ours, which is ended when it is released
cdef struct Marked:
    ArrowArray array
    void* event
    Driver* driver


cdef void* mark(ArrowArray* filled, Mark event) except NULL:
    """Let the release of an array end an event, and say where that stands; on failure nothing was done."""
    cdef Marked* marked = <Marked*> malloc(sizeof(Marked))
    if marked is NULL:
        raise MemoryError
    marked.array = filled[0]
    marked.event = event.event
    marked.driver = event.driver
    event.event = NULL
    filled.private_data = marked
    filled.release = release_marked
    return &marked.event


cdef void release_marked(ArrowArray* array) noexcept nogil:
    # its children may have been moved out since: both tell them by the same pointers
    cdef Marked* marked = <Marked*> array.private_data
    array.release = NULL
    (<ArrayRelease> marked.array.release)(&marked.array)
    end_event(marked.driver, marked.event)
    free(marked)


cdef object device_capsule(ArrowArray* filled, int32_t device_type, int64_t device_id, object event):
    """A capsule that an array is moved into, with where it is; on failure it is released.

    The event is a Mark, which goes with the array, or the address that its producer told, 0 for none.
    """
    cdef ArrowDeviceArray placed
    memset(&placed, 0, sizeof(ArrowDeviceArray))
    if type(event) is Mark:
        try:
            placed.sync_event = mark(filled, <Mark> event)
        except MemoryError:
            filled.release(filled)
            raise
    else:
        placed.sync_event = <void*> <size_t> event
    placed.array = filled[0]
    placed.device_type = device_type
    # of the host's memory -1 is what the interface recommends
    placed.device_id = -1 if device_type == 1 else device_id
    # the array stands first: its callback is that of all
    return capsule_of(&placed, sizeof(ArrowDeviceArray), sizeof(ArrowArray), ARRAY)


# what stands behind a device stream of ours: one of the host's form, and the events of its arrays
cdef struct Given:
    ArrowArrayStream stream
    int64_t device_id
    int32_t device_type
    PyObject* events             # a list; its items as for device_capsule
    Py_ssize_t next


cdef object device_stream_capsule(object host, int32_t device_type, int64_t device_id, list events):
    """The stream in a capsule, which is emptied, as one that says where its arrays are."""
    cdef ArrowDeviceArrayStream stream
    cdef ArrowArrayStream* inner
    cdef Given* given = <Given*> malloc(sizeof(Given))
    if given is NULL:
        raise MemoryError
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
    Py_INCREF(events)
    given.events = <PyObject*> events
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
    out.sync_event = NULL
    for i in range(3):
        out.reserved[i] = 0
    if out.array.release is NULL or given.device_type == 1:
        return 0
    with gil:
        return next_event(given, out)


cdef int next_event(Given* given, ArrowDeviceArray* out) noexcept:
    """Tell the event of the next array; ENOMEM, and no array, where there is no memory for it."""
    cdef list events = <list> given.events
    try:
        if given.next >= len(events):
            return 0
        event = events[given.next]
        events[given.next] = 0
        given.next += 1
        if type(event) is Mark:
            out.sync_event = mark(&out.array, <Mark> event)
        else:
            out.sync_event = <void*> <size_t> event
    except MemoryError:
        out.array.release(&out.array)
        return ENOMEM
    return 0


cdef const char* given_error(ArrowDeviceArrayStream* stream) noexcept nogil:
    cdef ArrowArrayStream* inner = &(<Given*> stream.private_data).stream
    return NULL if inner.get_last_error is NULL else (<LastError> inner.get_last_error)(inner)


cdef void release_given(ArrowDeviceArrayStream* stream) noexcept nogil:
    cdef Given* given = <Given*> stream.private_data
    stream.release = NULL
    (<StreamRelease> given.stream.release)(&given.stream)
    if not interpreter_gone():
        with gil:
            drop_events(given)
    free(given)


cdef void drop_events(Given* given) noexcept:
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* trace
    PyErr_Fetch(&kind, &value, &trace)
    Py_DECREF(<object> given.events)
    PyErr_Restore(kind, value, trace)

"""Arrow streams by the PyCapsule interface, both ways. Taken: one array at a time, when it is asked for. Given: every
call makes a fresh stream over the same parts.

https://arrow.apache.org/docs/format/CStreamInterface.html
"""
cimport cython
from cpython.exc cimport PyErr_CheckSignals, PyErr_Fetch, PyErr_Restore
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.errno cimport EINVAL, ENOMEM
from libc.stdlib cimport free, malloc

from lend._core.arrow cimport ArrowArray, ArrowArrayStream, ArrowSchema
from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner, StreamOwner
from lend._core.checked cimport interpreter_gone
from lend._core.record cimport read_by_host
from lend.protocols.arrow cimport ask, capsule_of, place, refuse_consumed, refuse_fault, struct_in
from lend.protocols.arrow_check cimport Fault, begin_check, check_array, check_schema

cdef:
    const char* STREAM = "arrow_array_stream"
    str STREAM_METHOD = "__arrow_c_stream__"

cdef extern from "Python.h":
    const char* bytes_text "PyBytes_AS_STRING"(PyObject*)


cdef struct Flow:
    PyObject* parts          # tuple of what is given, one array each; or what gives it, one by one
    PyObject* kind           # what the schema is of
    PyObject* error          # bytes, or NULL
    Py_ssize_t next
    DescribePart describe
    FillPart fill


# -- import ---------------------------------------------------------------------------------------------

cdef StreamOwner ask_stream(object obj, str method, TakeStream take):
    """Ask obj for its stream and take it; nothing is pulled yet."""
    cdef object capsule = ask(obj, method)
    try:
        return take(capsule, type(obj))
    except BaseException:
        # here, where no exception is pending: what a capsule does when it goes knows nothing of one
        capsule = None
        raise


cdef StreamOwner take_stream(object obj):
    """The stream of obj."""
    return ask_stream(obj, STREAM_METHOD, take_stream_capsule)


cdef StreamOwner take_stream_capsule(object capsule, object lender):
    """Take a stream out of its capsule."""
    cdef ArrowArrayStream* told
    cdef StreamOwner owner = StreamOwner.__new__(StreamOwner)
    with cython.critical_section(capsule):
        told = stream_in(capsule, lender)
        owner.stream = told[0]
        told.release = NULL
    owner.lender = lender
    return owner


cdef ArrowArrayStream* stream_in(object capsule, object lender) except NULL:
    """The stream in a capsule, where it lies: nobody has taken it, and it can be asked."""
    cdef ArrowArrayStream* told = <ArrowArrayStream*> struct_in(capsule, STREAM, lender)
    if told.release is NULL:
        refuse_consumed(lender, STREAM)
    if told.get_schema is NULL or told.get_next is NULL:
        refuse_callbacks(lender)
    return told


cdef int refuse_callbacks(object lender) except -1:
    from lend.protocols import arrow_refusals
    raise arrow_refusals.stream_failed(lender, 0, None, "the callback for its schema or for its next array: it is NULL")


cdef SchemaOwner stream_schema(StreamOwner stream):
    """The type of what a stream gives."""
    cdef SchemaOwner kind = SchemaOwner.__new__(SchemaOwner)
    cdef Fault fault
    cdef int failed
    with nogil:
        failed = stream.stream.get_schema(&stream.stream, &kind.schema)
    if failed:
        kind.schema.release = NULL
        refuse_stream(stream, failed, "its schema")
    if kind.schema.release is NULL:
        refuse_consumed(stream.lender, "arrow_schema")
    begin_check(&fault)
    if check_schema(&kind.schema, &fault):
        refuse_fault(stream.lender, &kind.schema, &fault)
    return kind


cdef ArrowOwner next_array(StreamOwner stream, SchemaOwner types):
    """The next array of a stream, None at its end."""
    cdef ArrowOwner owner = ArrowOwner.__new__(ArrowOwner)
    cdef ArrowArray told  # no owner has it before it is checked: `lend.loans` looks into those of other threads
    cdef Fault fault
    cdef int failed
    PyErr_CheckSignals()  # a stream may have no end
    # the producer may wait for other threads, and for those that hold the GIL
    with nogil:
        failed = stream.stream.get_next(&stream.stream, &told)
    if failed:
        refuse_stream(stream, failed, "its next array")
    if told.release is NULL:
        return None
    owner.lender = stream.lender
    try:
        if stream.device is not NULL:
            place(owner, stream.device)
        begin_check(&fault)
        if check_array(&told, &types.schema, 0, read_by_host(owner.device_type), &fault):
            refuse_fault(stream.lender, &types.schema, &fault)
    except BaseException:
        told.release(&told)
        raise
    owner.array = told
    owner.types = types
    owner.type = &types.schema
    owner.span = fault.bytes
    return owner


# -- export ---------------------------------------------------------------------------------------------

cdef object stream_capsule(object parts, object kind, DescribePart describe, FillPart fill):
    """A fresh stream over parts, a tuple or an iterator: `describe` fills the schema of `kind`, `fill` one array."""
    cdef ArrowArrayStream stream
    cdef Flow* flow = <Flow*> malloc(sizeof(Flow))
    if flow is NULL:
        raise MemoryError
    flow.parts = <PyObject*> parts
    flow.kind = <PyObject*> kind
    flow.error = NULL
    flow.next = 0
    flow.describe = describe
    flow.fill = fill
    Py_INCREF(parts)
    Py_INCREF(kind)
    stream.get_schema = flow_schema
    stream.get_next = flow_next
    stream.get_last_error = flow_error
    stream.release = release_flow
    stream.private_data = flow
    return capsule_of(&stream, sizeof(ArrowArrayStream), sizeof(ArrowArrayStream), STREAM)


cdef void release_flow(ArrowArrayStream* stream) noexcept nogil:
    cdef Flow* flow = <Flow*> stream.private_data
    stream.release = NULL
    if not interpreter_gone():
        with gil:
            drop_flow(flow)
    free(flow)


cdef void drop_flow(Flow* flow) noexcept:
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* trace
    PyErr_Fetch(&kind, &value, &trace)
    Py_DECREF(<object> flow.parts)
    Py_DECREF(<object> flow.kind)
    if flow.error is not NULL:
        Py_DECREF(<object> flow.error)
    PyErr_Restore(kind, value, trace)


cdef int flow_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept nogil:
    with gil:
        return describe_in_flow(<Flow*> stream.private_data, out)


cdef int flow_next(ArrowArrayStream* stream, ArrowArray* out) noexcept nogil:
    with gil:
        return fill_in_flow(<Flow*> stream.private_data, out)


cdef int describe_in_flow(Flow* flow, ArrowSchema* out) noexcept:
    try:
        flow.describe(<object> flow.kind, out)
        return 0
    except BaseException as error:  # noqa: BLE001 - to the consumer it is a number and a text
        return failed_in_flow(flow, error)


cdef int fill_in_flow(Flow* flow, ArrowArray* out) noexcept:
    cdef Py_ssize_t number = flow.next
    cdef object part = None
    out.release = NULL
    try:
        if type(<object> flow.parts) is not tuple:
            part = next(<object> flow.parts, None)
        elif number < len(<tuple> flow.parts):
            part = (<tuple> flow.parts)[number]
        if part is not None:
            flow.fill(part, out)
            flow.next = number + 1
        return 0
    except BaseException as error:  # noqa: BLE001 - to the consumer it is a number and a text
        return failed_in_flow(flow, error)


cdef int failed_in_flow(Flow* flow, object error) noexcept:
    cdef object said
    if flow.error is not NULL:
        said = <object> flow.error
        flow.error = NULL
        Py_DECREF(said)
    if isinstance(error, MemoryError):
        return ENOMEM
    try:
        said = str(error).encode("utf-8", "replace")
        flow.error = <PyObject*> said
        Py_INCREF(said)
    except Exception:  # noqa: BLE001 - an error that has no text
        pass
    return EINVAL


cdef const char* flow_error(ArrowArrayStream* stream) noexcept:
    cdef PyObject* said = (<Flow*> stream.private_data).error
    return NULL if said is NULL else bytes_text(said)


cdef int refuse_stream(StreamOwner stream, int failed, str what) except -1:
    """The text of the last error is the producer's until the next call: it is copied at once."""
    cdef const char* said = NULL
    if stream.stream.get_last_error is not NULL:
        said = stream.stream.get_last_error(&stream.stream)
    text = None if said is NULL else said.decode("utf-8", "replace")
    from lend.protocols import arrow_refusals
    raise arrow_refusals.stream_failed(stream.lender, failed, text, what)

"""Part of front_columns.pyx, cut off for its length: what of Arrow an object is or has, and what gives rows once."""
from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_IsValid

from lend._core.arrow cimport ArrowArrayStream, ArrowSchema
from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner, StreamOwner
from lend._core.column cimport ColumnRecord
from lend.columns.column cimport Column, chunked
from lend.protocols.arrow cimport ask, copy_schema, refuse_consumed, refuse_fault, struct_in, take_array, take_pair
from lend.protocols.arrow_check cimport Fault, begin_check, check_schema
from lend.protocols.arrow_device cimport (
    is_device_array, is_device_stream, take_device_stream, take_device_stream_capsule,
)
from lend.protocols.arrow_stream cimport next_array, stream_schema, take_stream, take_stream_capsule
from lend.tables.table cimport Table, lazy_table, table_of_batches

cdef:
    const char* STREAM = "arrow_array_stream"
    const char* SCHEMA = "arrow_schema"
    const char* EMPTY = ""
    str SCHEMA_METHOD = "__arrow_c_schema__"


cdef ArrowOwner array_from(object obj, int way, ColumnRecord* record):
    """The array that an object is or has, taken; None where it has none."""
    if way & (ARRAY_WAY | DEVICE_ARRAY_WAY):
        return take_array(obj, way & DEVICE_ARRAY_WAY, record)
    if is_pair(obj):
        schema, array = <tuple> obj
        return take_pair(schema, array, None, is_device_array(array), record)
    return None


cdef bint is_pair(object obj):
    return type(obj) is tuple and len(<tuple> obj) == 2 and PyCapsule_CheckExact((<tuple> obj)[0])


cdef StreamOwner stream_from(object obj, int way):
    """The stream that an object is or has, taken; None where it has none."""
    if way & STREAM_WAY:
        return take_stream(obj)
    if way & DEVICE_STREAM_WAY:
        return take_device_stream(obj)
    if is_stream(obj):
        return take_stream_capsule(obj, None)
    return take_device_stream_capsule(obj, None) if is_device_stream(obj) else None


cdef bint is_stream(object obj):
    return PyCapsule_CheckExact(obj) and PyCapsule_IsValid(obj, STREAM)


cdef list pulled(StreamOwner stream, SchemaOwner types, object obj):
    """All arrays of a stream; `obj` is who may give them once, None where nobody needs to remember."""
    cdef ArrowOwner owner
    cdef list owners = []
    if obj is not None:
        from lend.tables import sources
        before = sources.begun(obj)
    while True:
        PyErr_CheckSignals()
        owner = next_array(stream, types)
        if owner is None:
            break
        owners.append(owner)
    if obj is not None:
        sources.ended(obj, len(owners), before)
    return owners


cdef Table lazily(object obj):
    """A Table over a stream whose rows stay in it; None where obj has no stream."""
    cdef SchemaOwner types
    cdef Table made
    cdef object capsule = obj
    cdef object lender = None
    cls = type(obj)
    if cls is Table:
        return <Table> obj if (<Table> obj).is_lazy else None
    if cls is Column:
        return None
    way = way_of(cls)
    if way & STREAM_WAY and not way & ADAPTER_WAY:
        capsule = ask(obj, STREAM_METHOD)
        lender = cls
    elif not is_stream(obj):
        return None
    try:
        types = types_in(capsule, lender)
        check_structs(types, obj)
        made = lazy_table(capsule, types, lender)
    except BaseException:
        # here, where no exception is pending: what a capsule does when it goes knows nothing of one
        capsule = None
        raise
    if way & ONCE_WAY:
        from lend.tables import sources
        made.giver = sources.weakly(obj)
    return made


cdef SchemaOwner types_in(object capsule, object lender):
    """The types that a stream tells, which is put back: they may be asked of it again.

    Until then it looks taken, so that nobody ends it while it is asked, be it from its own callback.
    """
    cdef StreamOwner peek = take_stream_capsule(capsule, lender)
    cdef ArrowArrayStream* told = <ArrowArrayStream*> struct_in(capsule, STREAM, lender)
    try:
        return stream_schema(peek)
    finally:
        told[0] = peek.stream
        peek.stream.release = NULL


cdef SchemaOwner copied_schema(object capsule, object lender):
    """A type like the one in a capsule, which stays where it is."""
    cdef ArrowSchema* told = <ArrowSchema*> struct_in(capsule, SCHEMA, lender)
    cdef SchemaOwner types = SchemaOwner.__new__(SchemaOwner)
    cdef Fault fault
    if told.release is NULL:
        refuse_consumed(lender, SCHEMA)
    begin_check(&fault)
    if check_schema(told, &fault):
        refuse_fault(lender, told, &fault)
    copy_schema(told, &types.schema, told.name if told.name is not NULL else EMPTY)
    return types


cdef SchemaOwner asked_schema(object obj, object lender):
    """A type like the one that an object tells."""
    cdef object capsule = ask(obj, SCHEMA_METHOD)
    try:
        return copied_schema(capsule, lender)
    except BaseException:
        # as above
        capsule = None
        raise


def gives_once(obj):
    """Whether what obj lends may be gone once it was taken: a bare capsule, a reader."""
    if type(obj) is Table:
        return (<Table> obj).is_lazy
    if PyCapsule_CheckExact(obj):
        return is_stream(obj) or is_device_stream(obj)
    return is_pair(obj) or bool(way_of(type(obj)) & ONCE_WAY)


def described(obj):
    """For `lend.explain`: a Table or Column without rows, of the types of what gives once, which is left as it is.

    None where it does not tell them before it is read.
    """
    cdef SchemaOwner types
    if is_device_stream(obj):
        return None
    if PyCapsule_CheckExact(obj):
        types = types_in(obj, None)
    elif is_pair(obj):
        types = copied_schema((<tuple> obj)[0], None)
    else:
        for teller in (obj, getattr(obj, "schema", None)):
            if shows(type(teller), SCHEMA_METHOD):
                types = asked_schema(teller, type(obj))
                break
        else:
            return None
    if types.schema.format[0] == c"+" and types.schema.format[1] == c"s":
        return table_of_batches([], types)
    return chunked([], types)

"""Arrow data by the PyCapsule interface, both ways: schemas and arrays of host memory. arrow_stream.pyx has streams.

Taken: the structs are inspected where they lie, and then moved into owners; between the last check and the move
nothing can fail, so what is refused is untouched and what was taken is released once. Given: every level of an array is
a block of its own, with its own reference to what keeps the memory, so that a consumer may move any child and release
the rest.
https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""
cimport cython
from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.pycapsule cimport (
    PyCapsule_CheckExact, PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_SetContext,
)
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from lend._core.arrow cimport ArrowArray, ArrowDeviceArray, ArrowSchema
from lend._core.arrow_layout cimport (
    LAYOUT_LIST, LAYOUT_NULL, LAYOUT_OFFSETS, LAYOUT_VIEWS, Layout, has_validity, read_layout,
)
from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner
from lend._core.checked cimport atomic_add, interpreter_gone, raise_pending
from lend._core.column cimport COLUMN_READONLY, FIRST, NULLS_BITMASK, NULLS_NONE, ColumnRecord
from lend._core.owners cimport Owner
from lend._core.record cimport read_by_host
from lend.protocols.arrow_check cimport ONE_TWICE, Fault, begin_check, check_array, check_schema

cdef:
    const char* SCHEMA = "arrow_schema"
    const char* ARRAY = "arrow_array"
    const char* DEVICE_ARRAY = "arrow_device_array"
    str ARRAY_METHOD = "__arrow_c_array__"
    str DEVICE_ARRAY_METHOD = "__arrow_c_device_array__"
    const void* NO_BUFFERS[1]  # zeroed: one that is NULL

# what an empty buffer points to: an address that may be read, and is aligned for whatever is read there
cdef extern from *:
    """
    static const union { char bytes[16]; long double widest; } lend_nothing;
    #define LEND_NOTHING (lend_nothing.bytes)
    """
    const char* NOTHING "LEND_NOTHING"

cdef extern from "Python.h":
    const size_t VECTORCALL_OFFSET "PY_VECTORCALL_ARGUMENTS_OFFSET"
    const char* capsule_name "PyCapsule_GetName"(PyObject*)
    void* capsule_context "PyCapsule_GetContext"(PyObject*)
    PyObject* call_method "PyObject_VectorcallMethod"(object name, PyObject** args, size_t count, PyObject* names)

# ours and those of others alike need no GIL
ctypedef void (*SchemaRelease)(ArrowSchema*) noexcept nogil
ctypedef void (*ArrayRelease)(ArrowArray*) noexcept nogil
ctypedef void (*StructRelease)(void*) noexcept


cdef struct Given:
    PyObject* keeper


include "arrow_types.pxi"  # schemas both ways


# -- import --------------------------------------------------------------------------------------------------------

cdef object ask(object obj, str method):
    """Call a method of the interface without an argument: what is optional in it was once missing in some."""
    cdef PyObject** asked = [NULL, <PyObject*> obj]
    cdef PyObject* answer = call_method(method, &asked[1], 1 | VECTORCALL_OFFSET, NULL)
    cdef object told
    if answer is NULL:
        try:
            raise_pending()
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - what a producer raises becomes ours, with it as the cause
            from lend.protocols import arrow_refusals
            raise arrow_refusals.producer_failed(type(obj), method, error) from error
    told = <object> answer
    Py_DECREF(told)
    return told


cdef ArrowOwner take_array(object obj, bint far, ColumnRecord* record):
    """Ask obj for its two capsules and take them; `far`: by the method that tells their device."""
    cdef str method = DEVICE_ARRAY_METHOD if far else ARRAY_METHOD
    cdef object pair = ask(obj, method)
    try:
        if type(pair) is not tuple or len(<tuple> pair) != 2:
            from lend.protocols import arrow_refusals
            raise arrow_refusals.bad_answer(type(obj), method, "a pair of capsules", pair)
        return take_pair((<tuple> pair)[0], (<tuple> pair)[1], type(obj), far, record)
    except BaseException:
        # here, where no exception is pending: what capsules do when they go knows nothing of one
        pair = None
        raise


cdef ArrowOwner take_pair(object schema, object array, object lender, bint far, ColumnRecord* record):
    """Inspect two capsules, allocate their owners, move: from there on the owners release."""
    cdef ArrowSchema* told
    cdef ArrowArray* held
    cdef const char* name = DEVICE_ARRAY if far else ARRAY
    cdef SchemaOwner kind = SchemaOwner.__new__(SchemaOwner)
    cdef ArrowOwner owner = ArrowOwner.__new__(ArrowOwner)
    cdef Fault fault
    owner.lender = lender
    # two threads must not take one capsule: its check and the move are one step
    with cython.critical_section(schema, array):
        told = <ArrowSchema*> struct_in(schema, SCHEMA, lender)
        held = <ArrowArray*> struct_in(array, name, lender)  # where a device is told it comes behind the array
        if told.release is NULL or held.release is NULL:
            refuse_consumed(lender, name if told.release is not NULL else SCHEMA)
        if far:
            place(owner, <ArrowDeviceArray*> held)
        begin_check(&fault)
        if check_schema(told, &fault) or check_array(held, told, 0, read_by_host(owner.device_type), &fault):
            refuse_fault(lender, told, &fault)
        kind.schema = told[0]
        told.release = NULL
        owner.array = held[0]
        held.release = NULL
    owner.types = kind
    owner.type = &kind.schema
    owner.span = fault.bytes
    record_of(&owner.array, &kind.schema, owner, record)
    return owner


cdef void* struct_in(object capsule, const char* name, object lender) except NULL:
    """The struct in a capsule of that name."""
    if not PyCapsule_CheckExact(capsule) or not PyCapsule_IsValid(capsule, name):
        from lend.protocols import arrow_refusals
        raise arrow_refusals.capsule_name(lender, name.decode("ascii"), capsule)
    return PyCapsule_GetPointer(capsule, name)


cdef int place(ArrowOwner owner, const ArrowDeviceArray* told) except -1:
    """Note on which device an array is, by its struct; refused where that cannot be."""
    cdef int i
    cdef bint odd = False
    for i in range(3):
        odd = odd or told.reserved[i] != 0
    if told.device_type != 1 or told.sync_event is not NULL or odd or not -1 <= told.device_id <= 0:
        from lend.protocols import arrow_refusals
        arrow_refusals.check_device(owner.lender, told.device_type, told.device_id, told.sync_event is not NULL, odd)
    owner.device_type = told.device_type
    owner.device_id = <int32_t> told.device_id if told.device_type != 1 else 0
    owner.sync_event = told.sync_event
    return 0


cdef int record_of(ArrowArray* array, ArrowSchema* schema, ArrowOwner owner, ColumnRecord* record) except -1:
    """The facts of an array that was checked, of the owner's memory."""
    cdef Layout layout
    cdef int first
    cdef int i
    read_layout(schema.format, &layout)
    record.length = array.length
    record.offset = array.offset
    record.null_count = array.null_count
    record.layout = layout.kind
    record.width = layout.width
    record.code = layout.code
    record.node = array
    record.type = schema
    record.device_type = <uint8_t> owner.device_type
    record.device_id = owner.device_id
    record.flags = COLUMN_READONLY
    record.missing = 0
    record.nulls = NULLS_NONE
    record.steps[0] = 0
    record.steps[1] = layout.width
    for i in range(3):
        record.buffers[i] = NULL
        record.sizes[i] = -1
    first = 1
    if has_validity(layout.kind):
        first = 0
        if array.buffers[0] is not NULL:
            record.nulls = NULLS_BITMASK
        elif array.null_count < 0:
            record.null_count = 0
    elif layout.kind != LAYOUT_NULL:
        record.null_count = 0
    else:
        record.null_count = array.length
    # of views the others are as many as they like, and have no place here
    for i in range(2 if layout.kind == LAYOUT_VIEWS else layout.buffers):
        record.buffers[first + i] = <char*> array.buffers[i]
    if not array.length and (layout.kind == LAYOUT_OFFSETS or layout.kind == LAYOUT_LIST):
        record.buffers[FIRST] = NULL  # no elements need no offset, and what is there may have no byte
    return 0


cdef tuple split(ArrowOwner owner, const ArrowSchema* types):
    """Move the children of a struct without a bitmap into owners of their own, once, and release the struct.

    Afterwards `owner.array` has the moved children for its children, so that whoever points at it reads on. None where
    it stays together: an event is the producer's until that releases its struct.
    """
    cdef Py_ssize_t count, i, at
    cdef list made
    cdef ArrowOwner part
    cdef ArrowArray** places
    cdef ArrowArray emptied
    cdef Fault fault
    if owner.sync_event is not NULL:
        return None
    with cython.critical_section(owner):
        if owner.parts is not None:
            return owner.parts
        count = owner.array.n_children
        places = <ArrowArray**> malloc(max(count, 1) * sizeof(ArrowArray*))
        if places is NULL:
            raise MemoryError
        try:
            made = [ArrowOwner.__new__(ArrowOwner) for _ in range(count)]
            parts = tuple(made)
        except MemoryError:
            free(places)
            raise
        # making them may have run the collector, and that anything: another split, too
        if owner.parts is not None:
            free(places)
            return owner.parts
        for i in range(count):
            part = <ArrowOwner> made[i]
            part.array = owner.array.children[i][0]
            if part.array.release is NULL:
                break  # one that hangs in two places
            owner.array.children[i].release = NULL
            places[i] = &part.array
        else:
            i = count
        if i < count:
            for at in range(i):
                owner.array.children[at].release = (<ArrowOwner> made[at]).array.release
                (<ArrowOwner> made[at]).array.release = NULL
            free(places)
            begin_check(&fault)
            fault.what = ONE_TWICE
            fault.told = i
            refuse_fault(owner.lender, types, &fault)
        for i in range(count):
            part = <ArrowOwner> made[i]
            part.lender = owner.lender
            part.types = owner.types
            part.type = types.children[i]
            part.device_type = owner.device_type
            part.device_id = owner.device_id
            begin_check(&fault)
            check_array(&part.array, types.children[i], 0, read_by_host(owner.device_type), &fault)
            part.span = fault.bytes
            owner.span -= fault.bytes
        emptied = owner.array
        owner.array.release = NULL
        owner.array.n_buffers = 1
        owner.array.buffers = NO_BUFFERS
        owner.array.children = places
        owner.array.dictionary = NULL
        owner.places = places
        owner.parts = parts
    # last, when all is in its place: it may run anything
    emptied.release(&emptied)
    return owner.parts


# -- refusals, off the fast path: the wording lives in arrow_refusals.py -----------------------------------------------

cdef int refuse_consumed(object lender, const char* name) except -1:
    from lend.protocols import arrow_refusals
    raise arrow_refusals.consumed(lender, name.decode("ascii"))


cdef int refuse_fault(object lender, const ArrowSchema* schema, Fault* fault) except -1:
    """Name the field and what is wrong with it; the structs are still the producer's."""
    cdef const ArrowSchema* at = schema
    cdef list way = []
    cdef int i
    for i in range(fault.depth):
        if fault.way[i] < 0:
            way.append("its dictionary")
            at = at.dictionary
        else:
            at = NULL if at.children is NULL else at.children[fault.way[i]]
            if at is not NULL and at.release is NULL:
                at = NULL  # what was released may not be read
            way.append(fault.way[i] if at is NULL or at.name is NULL or at.name[0] == 0 else name_of_schema(at))
        if at is NULL or at.release is NULL:
            at = NULL
            break
    said = None if at is NULL or at.format is NULL else at.format.decode("utf-8", "backslashreplace")
    root = None if schema.name is NULL else name_of_schema(schema)
    from lend.protocols import arrow_refusals
    raise arrow_refusals.malformed(lender, fault.what, root, way, said, fault.told, fault.expected)


# -- export of arrays ----------------------------------------------------------------------------------------------

cdef int begin_array(ArrowArray* out, Py_ssize_t buffers, Py_ssize_t children, bint dictionary,
                     object keeper) except -1:
    """Begin an array that keeps `keeper`, an Owner or a tuple of them; buffers and all below are to be filled."""
    cdef Given* given = <Given*> calloc(1, sizeof(Given) + buffers * sizeof(void*)
                                        + children * (sizeof(ArrowArray*) + sizeof(ArrowArray)) + sizeof(ArrowArray))
    cdef ArrowArray* room
    cdef Py_ssize_t i
    if given is NULL:
        raise MemoryError
    out.buffers = <const void**> (given + 1)
    out.children = <ArrowArray**> (out.buffers + buffers)
    room = <ArrowArray*> (out.children + children)
    for i in range(children):
        out.children[i] = room + i
    out.dictionary = room + children if dictionary else NULL
    out.n_buffers = buffers
    out.n_children = children
    if not children:
        out.children = NULL
    out.length = out.offset = 0
    out.null_count = 0
    given.keeper = <PyObject*> keeper
    Py_INCREF(keeper)
    count_export(keeper, 1)
    out.private_data = given
    out.release = release_array
    return 0


cdef void count_export(object keeper, int number) noexcept:
    if type(keeper) is tuple:
        for part in <tuple> keeper:
            if part is not None:
                atomic_add(&(<Owner> part).open_exports, number)
    elif keeper is not None:
        atomic_add(&(<Owner> keeper).open_exports, number)


cdef void release_array(ArrowArray* array) noexcept nogil:
    """The release callback we hand out: on any thread, with or without the GIL; leaks when the interpreter is gone."""
    cdef PyObject* keeper = (<Given*> array.private_data).keeper
    cdef int64_t i
    for i in range(array.n_children):
        if array.children[i].release is not NULL:
            (<ArrayRelease> array.children[i].release)(array.children[i])
    if array.dictionary is not NULL and array.dictionary.release is not NULL:
        (<ArrayRelease> array.dictionary.release)(array.dictionary)
    array.release = NULL
    free(array.private_data)
    if not interpreter_gone():
        with gil:
            let_go(keeper)


cdef void let_go(PyObject* keeper) noexcept:
    """Give back one export, whatever exception is on its way (the last reference may run a producer's release)."""
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* trace
    PyErr_Fetch(&kind, &value, &trace)
    count_export(<object> keeper, -1)
    Py_DECREF(<object> keeper)
    PyErr_Restore(kind, value, trace)


cdef void settle(ArrowArray* out, int layout) noexcept nogil:
    """Of a filled array: nothing is told of what is empty but addresses that may be read, as some consumers read them,
    and what all of them count in one way."""
    cdef int64_t i
    if layout == LAYOUT_NULL:
        out.n_buffers = 0
        out.null_count = out.length
    if out.length:
        return
    out.offset = 0
    out.null_count = 0
    for i in range(out.n_buffers):
        if i == 0 and has_validity(layout):
            out.buffers[i] = NULL
        elif i < 2 or out.buffers[i] is NULL or layout == LAYOUT_OFFSETS:
            out.buffers[i] = NOTHING


cdef int give_node(ArrowArray* out, const ArrowArray* node, const ArrowSchema* type, ArrowOwner owner) except -1:
    """An array as it was taken, with all below it; the caller releases it if this fails."""
    cdef int64_t i
    cdef Layout layout
    cdef tuple parts = owner.parts if node is &owner.array else None
    begin_array(out, node.n_buffers, node.n_children, node.dictionary is not NULL, owner)
    out.length = node.length
    out.offset = node.offset
    out.null_count = node.null_count
    for i in range(node.n_buffers):
        out.buffers[i] = node.buffers[i]
    for i in range(node.n_children):
        give_node(out.children[i], node.children[i], type.children[i],
                  owner if parts is None else <ArrowOwner> parts[i])
    if node.dictionary is not NULL:
        give_node(out.dictionary, node.dictionary, type.dictionary, owner)
    read_layout(type.format, &layout)
    settle(out, layout.kind)
    return 0


# -- capsules ------------------------------------------------------------------------------------------------------

cdef object schema_capsule(ArrowSchema* filled):
    """A capsule that the struct is moved into; on failure it is released."""
    return capsule_of(filled, sizeof(ArrowSchema), sizeof(ArrowSchema), SCHEMA)


cdef object array_capsule(ArrowArray* filled):
    """The same for an array."""
    return capsule_of(filled, sizeof(ArrowArray), sizeof(ArrowArray), ARRAY)


cdef object capsule_of(void* filled, size_t size, size_t head, const char* name):
    """A capsule that a struct of that size is moved into; on failure it is released, by what its head ends with."""
    cdef void* kept = malloc(size)
    cdef object made
    if kept is NULL:
        release_struct(filled, head)
        raise MemoryError
    memcpy(kept, filled, size)
    try:
        made = new_capsule(kept, name, drop_capsule)
    except MemoryError:
        release_struct(kept, head)
        free(kept)
        raise
    PyCapsule_SetContext(made, <void*> head)
    return made


cdef void drop_capsule(PyObject* capsule) noexcept:
    # by the name that it has now, which a consumer may have changed
    cdef void* kept = capsule_pointer(capsule, capsule_name(capsule))
    release_struct(kept, <size_t> capsule_context(capsule))
    free(kept)


cdef void release_struct(void* given, size_t size) noexcept:
    """Release what was not moved out: all structs of Arrow end with the callback and one pointer more."""
    cdef StructRelease release = (<StructRelease*> (<char*> given + size))[-2]
    if release is not NULL:
        release(given)

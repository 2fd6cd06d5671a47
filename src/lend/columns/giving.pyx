"""Columns as Arrow data: schema, array and stream of what Arrow can say; nothing of its source is changed."""
cimport cython

from lend._core.arrow cimport (
    ARROW_FLAG_DICTIONARY_ORDERED, ARROW_FLAG_MAP_KEYS_SORTED, ARROW_FLAG_NULLABLE, ArrowArray, ArrowSchema,
)
from lend._core.arrow_layout cimport LAYOUT_FIXED, LAYOUT_SPARSE, LAYOUT_STRUCT, LAYOUT_VIEWS, has_validity
from lend._core.arrow_owners cimport ArrowOwner
from lend._core.column cimport (
    COLUMN_CHUNKED, COLUMN_UNVOUCHED, FIRST, NULLS_BITMASK, NULLS_NONE, VALIDITY, ColumnRecord,
)
from lend._core.owners cimport DeviceOwner, MemoryOwner, Owner, allocate
from lend._core.record cimport byte_count, read_by_host
from lend.columns.column cimport Column, children_of, dictionary_of, dtype_of, held, set_giving, single, twin, twins
from lend.protocols.arrow cimport (
    array_capsule, begin_array, copy_schema, describe_type, dtype_of_schema, encoded_metadata, give_node,
    refuse_consumed, refuse_fault, schema_capsule, settle, struct_in,
)
from lend.protocols.arrow_check cimport BAD_FORMAT, Fault, begin_check, check_schema
from lend.protocols.arrow_device cimport device_capsule, device_stream_capsule
from lend.protocols.arrow_stream cimport stream_capsule
from lend.views.lent cimport call_hook
from lend.views.view cimport View

from lend.columns import refusals, roles
from lend.columns.reading import is_unvouched, own_null_count, verify


def schema(Column column):
    """`Column.__arrow_c_schema__`."""
    cdef ArrowSchema made
    held(column)
    if not comes_by_arrow(column) and is_hosted(column):
        column = sayable(column[:0])
    describe(column, &made)
    return schema_capsule(&made)


cdef inline bint comes_by_arrow(Column column) noexcept:
    """Whether it is as Arrow has it because it came so."""
    return column.record.type is not NULL


cdef Column sayable(Column column):
    """The column in a form that Arrow has: itself, or a copy of what must be another, which is counted."""
    if comes_by_arrow(column) or not is_hosted(column):
        return column
    from lend.columns import converting
    return converting.arrow_form(column)


cdef int look(Column column) except -1:
    """Of what nobody vouches for it is found out, once, whether it leads out of its memory: who gets it follows it."""
    if column.record.flags & (COLUMN_UNVOUCHED | COLUMN_CHUNKED) and is_unvouched(column):
        verify(column, True)
    return 0


cdef inline bint is_hosted(Column column) noexcept:
    return read_by_host(column.record.device_type)


cdef Column asked_for(Column column, object requested):
    """The column as a consumer wishes, where lend can without loss, else as it is; in a form that Arrow has."""
    look(column)
    if requested is not None:
        from lend.columns import requests
        column = requests.fitted(column, wish(requested))
    return sayable(column)


def wish(capsule):
    """The dtype in a capsule that a consumer asks for, which stays its own; None where it is none that lend knows."""
    cdef ArrowSchema* told = <ArrowSchema*> struct_in(capsule, "arrow_schema", None)
    cdef Fault fault
    if told.release is NULL:
        refuse_consumed(None, "arrow_schema")
    begin_check(&fault)
    if check_schema(told, &fault):
        if fault.what == BAD_FORMAT:
            return None
        refuse_fault(None, told, &fault)
    return dtype_of_schema(told)


cdef int refuse_elsewhere(Column column) except -1:
    """The methods of the host are for what the host may read."""
    if not is_hosted(column):
        from lend.protocols.refusals import not_host
        raise not_host(column, None)
    return 0


cdef object array(Column column, object requested):
    """`Column.__arrow_c_array__`."""
    cdef ArrowSchema kind
    cdef ArrowArray made
    column = single(column, "__arrow_c_array__()")
    refuse_elsewhere(column)
    column = asked_for(column, requested)
    fill(column, &made)
    capsule = array_capsule(&made)
    describe(column, &kind)
    return schema_capsule(&kind), capsule


cdef object stream(Column column, object requested):
    """`Column.__arrow_c_stream__`: over twins, which nobody else can release."""
    held(column)
    refuse_elsewhere(column)
    look(column)  # before there is a twin, which would be looked at in its place
    return streamed(asked_for(twin(column), requested))


cdef object streamed(Column column):
    parts = twins(column.parts) if column.record.flags & COLUMN_CHUNKED else (column,)
    return stream_capsule(parts, column, describe, fill)


# -- devices -------------------------------------------------------------------------------------------------------

def device_array(Column column, requested, bint as_it_lies=False):
    """`Column.__arrow_c_device_array__`; `as_it_lies`: nulls and steps that Arrow has no word for are left out."""
    cdef ArrowSchema kind
    cdef ArrowArray made
    column = single(column, "__arrow_c_device_array__()")
    if as_it_lies:
        look(column)
    else:
        column = asked_for(column, requested)
    event = event_of([column])
    if as_it_lies and not comes_by_arrow(column):
        fill_made(twin(column), &made, True)
    else:
        fill(column, &made)
    capsule = device_capsule(&made, column.record.device_type, column.record.device_id, event)
    describe(column, &kind)
    return schema_capsule(&kind), capsule


def device_stream(Column column, requested):
    """`Column.__arrow_c_device_stream__`."""
    cdef Column part
    cdef list events = []
    column = asked_for(twin(column), requested)
    for part in column.parts if column.record.flags & COLUMN_CHUNKED else (column,):
        events.append(event_of([part]))
    return device_stream_capsule(streamed(column), column.record.device_type, column.record.device_id, events)


cdef object event_of(list columns):
    """What says when columns of one chunk may be read that are on one device: 0, they may be now; the address of the
    event that their producer told; or a Mark of ours, made after all that is pending on what they lie in."""
    cdef Column column
    cdef list owners = []
    cdef ArrowOwner told = None
    cdef Owner owner
    if is_hosted(<Column> columns[0]):
        return 0
    for column in columns:
        if column.record.device_id < 0:
            from lend.protocols import device_refusals
            raise device_refusals.unnumbered(column.device, refusals.came(column), "an Arrow device array")
        gather_owners(column, owners)
    for owner in owners:
        if type(owner) is ArrowOwner and (told is None or told is owner):
            told = <ArrowOwner> owner
        else:
            column = <Column> columns[0]
            return call_hook("event")(column, owners, column.record.device_type, column.record.device_id)
    return 0 if told is None else <size_t> told.sync_event


cdef int gather_owners(Column column, list found) except -1:
    """The owners of a column's memory, of which work may be pending."""
    cdef object holder = held(column)
    for owner in holder if type(holder) is tuple else (holder,):
        if owner is not None and not (type(owner) is ArrowOwner and (<ArrowOwner> owner).sync_event is NULL) and (
                not (type(owner) is DeviceOwner and (<DeviceOwner> owner).pending is None)):
            found.append(owner)
    if type(holder) is not ArrowOwner:
        for part in (*children_of(column), dictionary_of(column)):
            if part is not None:
                gather_owners(<Column> part, found)
    return 0


# -- types ---------------------------------------------------------------------------------------------------------

cdef int describe(object given, ArrowSchema* out) except -1:
    """The type of a column, under its name."""
    cdef str name = (<Column> given).name
    return describe_named(<Column> given, out, roles.c_text(given, name))


cdef int describe_named(Column column, ArrowSchema* out, bytes name) except -1:
    """The type of a column."""
    if column.record.type is not NULL:
        return copy_schema(column.record.type, out, name)
    return describe_dtype(column, dtype_of(column), out, name, ARROW_FLAG_NULLABLE, column.told_metadata)


cdef int describe_dtype(Column column, kind, ArrowSchema* out, bytes name, int flags, dict metadata) except -1:
    """The type of what came by no schema."""
    cdef bytes format, blob
    cdef int i
    cdef object child
    format, fields, words, marks, pairs = roles.described(column, kind, metadata)
    if marks & 1:
        flags |= ARROW_FLAG_DICTIONARY_ORDERED
    if marks & 2:
        flags |= ARROW_FLAG_MAP_KEYS_SORTED
    blob = encoded_metadata(pairs)
    describe_type(out, format, name, flags, len(fields), words is not None, blob, len(blob))
    try:
        for i, child in enumerate(fields):
            describe_dtype(column, child.dtype, out.children[i], roles.c_text(column, child.name),
                           ARROW_FLAG_NULLABLE if child.nullable else 0, roles.pairs_of(child.metadata))
        if words is not None:
            # bools of one byte that are left are bool8: a dtype of values has no metadata to say so
            describe_dtype(column, words, out.dictionary, b"", ARROW_FLAG_NULLABLE,
                           roles.BOOL8 if words.name == "bool" else None)
    except BaseException:
        out.release(out)
        raise
    return 0


# -- arrays --------------------------------------------------------------------------------------------------------

cdef int fill(object given, ArrowArray* out) except -1:
    """The array of a column of one chunk."""
    cdef Column column = <Column> given
    cdef object holder = held(column)
    look(column)
    if column.record.node is not NULL:
        return fill_node(&column.record, <ArrowOwner> holder, out)
    return fill_made(twin(column), out, False)


cdef int fill_node(ColumnRecord* record, ArrowOwner owner, ArrowArray* out) except -1:
    """What came by Arrow, with another offset and length perhaps."""
    cdef tuple parts
    cdef Py_ssize_t i
    # a split in another thread moves the children
    with cython.critical_section(owner):
        parts = owner.parts if record.node is &owner.array else None
        begin_array(out, record.node.n_buffers, record.node.n_children, record.node.dictionary is not NULL, owner)
        try:
            out.length = record.length
            out.offset = record.offset if record.length else 0  # what has no elements begins nowhere
            out.null_count = record.null_count if has_validity(record.layout) else 0
            for i in range(record.node.n_buffers):
                out.buffers[i] = record.node.buffers[i]
            for i in range(record.node.n_children):
                give_node(out.children[i], record.node.children[i], record.type.children[i],
                          owner if parts is None else <ArrowOwner> parts[i])
            if record.node.dictionary is not NULL:
                give_node(out.dictionary, record.node.dictionary, record.type.dictionary, owner)
        except BaseException:
            out.release(out)
            raise
    if record.layout == LAYOUT_SPARSE:
        # some readers forget the offset of a sparse union as well; a type id is a byte
        out.buffers[0] = <const char*> out.buffers[0] + out.offset
        push_down(out)
    elif record.layout == LAYOUT_STRUCT and record.nulls == NULLS_NONE:
        push_down(out)
    settle(out, record.layout)
    return 0


cdef void push_down(ArrowArray* out) noexcept:
    """Tell the offset of a struct to its children: some readers forget it."""
    cdef ArrowArray* child
    cdef Py_ssize_t i
    for i in range(out.n_children):
        child = out.children[i]
        if child.length > out.length:
            # pyarrow 26 finds views too short that have no elements behind an offset
            child.offset = child.offset + out.offset if out.length else 0
            if child.null_count > 0:
                # where nothing is stored all is null
                child.null_count = -1 if child.n_buffers or child.n_children else out.length
            child.length = out.length
    out.offset = 0


cdef int fill_made(Column column, ArrowArray* out, bint as_it_lies) except -1:
    """What came otherwise: buffer by buffer, and child by child."""
    cdef ColumnRecord* record = &column.record
    cdef Column child
    cdef MemoryOwner lengths = None
    cdef View part
    cdef object holder = column.holder
    cdef tuple children = children_of(column)
    cdef Column words = dictionary_of(column)
    cdef tuple views = column.views or ()
    cdef Py_ssize_t count, i
    cdef int first = 0 if has_validity(record.layout) else 1
    cdef bint masked = record.nulls != NULLS_NONE
    cdef char* data = record.buffers[FIRST]
    cdef Py_ssize_t offset = record.offset
    if masked and (record.nulls != NULLS_BITMASK or record.missing):
        if not as_it_lies and own_null_count(column):
            raise refusals.not_sayable(column, "its nulls are in a form that Arrow has not")
        masked = False
    if record.layout == LAYOUT_FIXED and record.steps[1] != record.width and not as_it_lies:
        masked = masked and record.length
        if record.length > 1 or (masked and offset):
            raise refusals.not_sayable(column, "its elements do not lie side by side")
        # one element, or none, begins wherever it lies
        data = NULL if data is NULL else data + offset * record.steps[1]
        offset = 0
    count = len(roles.places(record.layout))
    if record.layout == LAYOUT_VIEWS:
        lengths = allocate(8 * len(views) + 8)
        holder = (*holder, lengths, *[(<View> part).holder for part in views])
        count += len(views) + 1
    begin_array(out, count, len(children), words is not None, holder)
    try:
        out.length = record.length
        out.offset = offset if record.length else 0
        if masked:
            out.null_count = record.null_count
        for i in range(min(count, 3 - first)):
            out.buffers[i] = data if first + i == FIRST else record.buffers[first + i]
        if first == 0 and not masked:
            out.buffers[VALIDITY] = NULL
        if record.layout == LAYOUT_VIEWS:
            for i, part in enumerate(views):
                out.buffers[2 + i] = part.record.data
                (<long long*> lengths.address)[i] = byte_count(&part.record)
            out.buffers[count - 1] = lengths.address
        for i, child in enumerate(children):
            fill(child, out.children[i])
        if words is not None:
            fill(words, out.dictionary)
    except BaseException:
        out.release(out)
        raise
    settle(out, record.layout)
    return 0


set_giving(array, stream)

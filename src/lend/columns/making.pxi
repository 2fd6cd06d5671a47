"""Part of column.pyx, cut off for its length: Columns made, held, taken apart and sliced."""
from lend._core.arrow_layout cimport (
    LAYOUT_BITS, LAYOUT_DENSE, LAYOUT_LIST, LAYOUT_LIST_VIEW, LAYOUT_NULL, LAYOUT_OFFSETS, LAYOUT_SPARSE, LAYOUT_STRUCT,
)
from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner
from lend._core.column cimport FIRST, VALIDITY, ColumnRecord
from lend._core.record cimport PY_SSIZE_T_MAX, Record, read_by_host
from lend.protocols.arrow_check cimport offset_at


cdef Column new_column():
    """A Column of nothing, for its maker to fill."""
    cdef Column made = Column.__new__(Column)
    made.counted = -1
    return made


cdef Column column_of(object holder, const ColumnRecord* record, SchemaOwner types):
    """A Column of one chunk whose holder is known."""
    cdef Column made = new_column()
    made.record = record[0]
    made.record.flags &= ~COLUMN_RELEASED
    made.holder = holder
    made.types = types
    return made


cdef Column unmasked(Column made):
    """A column that lend gave as values and a mask beside them is one with a mask again."""
    if made.record.layout != LAYOUT_STRUCT or made.record.type is NULL or made.record.type.metadata is NULL:
        return made
    from lend.columns import masked_structs
    return masked_structs.recognised(made)


cdef Column chunked(list chunks, SchemaOwner types):
    """A Column of several chunks (or none), all of one type."""
    cdef Column made = new_column()
    cdef Column part
    if len(chunks) == 1:
        return <Column> chunks[0]
    made.record.flags = COLUMN_CHUNKED | COLUMN_READONLY
    made.record.device_type = 1
    made.types = types
    made.parts = tuple(chunks)
    if types is not None:
        made.record.type = &types.schema
    for part in chunks:
        if part.record.length > PY_SSIZE_T_MAX - made.record.length:
            from lend.columns import refusals
            raise refusals.too_long(len(chunks))
        made.record.length += part.record.length
        if part is not chunks[0] and (
            part.record.device_type != made.record.device_type or part.record.device_id != made.record.device_id
        ):
            from lend.columns import refusals
            raise refusals.several_devices(chunks)
        made.record.type = part.record.type
        made.record.device_type = part.record.device_type
        made.record.device_id = part.record.device_id
        made.places = part.places
        made.types = part.types
        made.kind = part.kind
        made.told_name = part.told_name
        made.told_metadata = part.told_metadata
    return made


cdef object held(Column column):
    """What keeps the memory: whoever reads it keeps this meanwhile, as a release may come from another thread."""
    cdef object holder
    with cython.critical_section(column):
        holder = column.holder
        if not column.record.flags & COLUMN_RELEASED:
            return holder
    from lend.columns import refusals
    raise refusals.released(column.origin)


cdef Column twin(Column column):
    """Another Column of the same: what is shown to nobody else can be released by nobody else."""
    cdef Column made = new_column()
    with cython.critical_section(column):
        held(column)
        made.record = column.record
        made.record.flags &= ~COLUMN_TOLD
        made.holder = column.holder
        made.types = column.types
        made.kind = column.kind
        made.told_name = column.told_name
        made.told_metadata = column.told_metadata
        made.parts = column.parts
        made.words = column.words
        made.sentinel = column.sentinel
        made.counted = column.counted
        made.views = column.views
        made.places = column.places
    return made


cdef tuple twins(tuple columns):
    """Twins of what is kept, to be shown."""
    return tuple([twin(<Column> part) for part in columns])


cdef Column single(Column column, str what):
    """The column itself, which must be of one chunk."""
    held(column)
    if column.record.flags & COLUMN_CHUNKED:
        from lend.columns import refusals
        raise refusals.several_chunks(column, what)
    return column


cdef object dtype_of(Column column):
    if column.kind is None:
        column.kind = arrow.dtype_of_schema(column.record.type)
    return column.kind


cdef int put_device(Column column, int place, Record* record) except -1:
    """Note in a record of one buffer where that is."""
    record.device_type = column.record.device_type
    record.device_id = column.record.device_id
    if column.places is not None:
        kind, number = <tuple> column.places[place]
        record.device_type = kind
        record.device_id = number
    return 0


cdef object owner_of_buffer(Column column, int place):
    """The owner of one buffer."""
    cdef object holder = held(column)
    return (<tuple> holder)[place] if type(holder) is tuple else holder


cdef Py_ssize_t buffer_size(Column column, int place) except -1:
    """Bytes of a buffer from its pointer on, up to what the column needs of it."""
    cdef ColumnRecord* record = &column.record
    cdef Py_ssize_t end = record.offset + record.length
    if record.buffers[place] is NULL:
        return 0
    if record.sizes[place] >= 0:
        return record.sizes[place]
    if place == VALIDITY:
        return (end + 7) >> 3 if record.nulls == NULLS_BITMASK else end
    if record.layout == LAYOUT_BITS:
        return (end + 7) >> 3
    if place == FIRST:
        if record.layout == LAYOUT_OFFSETS or record.layout == LAYOUT_LIST:
            return (end + 1) * record.width
        return end if record.layout == LAYOUT_SPARSE or record.layout == LAYOUT_DENSE else end * record.width
    if record.layout == LAYOUT_LIST_VIEW:
        return end * record.width
    if record.layout == LAYOUT_DENSE:
        return end * 4
    if not read_by_host(record.device_type):
        from lend.protocols.refusals import not_host
        raise not_host(column, None)  # how many bytes there are only the last offset says
    if record.node is not NULL:
        # of a slice too the last offset of all: those in between are not checked
        end = record.node.offset + record.node.length
    return offset_at(record.buffers[FIRST], end, record.width) if record.length else 0


cdef tuple children_of(Column column):
    """The children of one chunk, as they are stored."""
    cdef ArrowOwner owner
    cdef ColumnRecord record
    cdef object holder
    cdef tuple parts
    cdef list made
    cdef int i
    with cython.critical_section(column):
        holder = held(column)
        parts = column.parts
    if parts is not None or column.record.node is NULL:
        return parts or ()
    owner = <ArrowOwner> holder
    # what one callback releases together is taken apart where nothing is lost by it
    if (column.record.layout == LAYOUT_STRUCT and column.record.node is &owner.array
            and owner.array.buffers[0] is NULL):
        parts = arrow.split(owner, column.record.type)
    made = []
    for i in range(column.record.node.n_children):
        arrow.record_of(column.record.node.children[i], column.record.type.children[i], owner, &record)
        made.append(column_of(owner if parts is None else parts[i], &record, column.types))
    parts = tuple(made)
    with cython.critical_section(column):
        if not column.record.flags & COLUMN_RELEASED:
            column.parts = parts
    return parts


cdef Column dictionary_of(Column column):
    """The values that the elements are indices of; None where they are not."""
    cdef ColumnRecord record
    cdef object holder
    cdef Column words
    with cython.critical_section(column):
        holder = held(column)
        words = column.words
    if words is None and column.record.node is not NULL and column.record.node.dictionary is not NULL:
        arrow.record_of(column.record.node.dictionary, column.record.type.dictionary, <ArrowOwner> holder, &record)
        words = column_of(holder, &record, column.types)
        with cython.critical_section(column):
            if not column.record.flags & COLUMN_RELEASED:
                column.words = words
    return words


cdef Column sliced(Column column, Py_ssize_t start, Py_ssize_t stop):
    """The elements from start to stop, of 0 <= start <= stop <= length."""
    cdef Column made, part
    cdef Py_ssize_t first = 0
    cdef list found
    column = twin(column)
    if stop - start == column.record.length:
        return column
    if column.record.flags & COLUMN_CHUNKED:
        found = []
        for part in column.parts:
            if first + part.record.length > start and first < stop:
                found.append(sliced(part, max(start - first, 0), min(stop - first, part.record.length)))
            first += part.record.length
        if not found and column.parts:
            part = <Column> column.parts[0]
            found = [sliced(part, 0, 0)]
        return chunked(found, column.types) if found else column
    made = column
    made.record.offset += start
    made.record.length = stop - start
    if made.record.null_count > 0:
        made.record.null_count = -1
    if made.record.layout == LAYOUT_NULL:
        made.record.null_count = made.record.length
    if made.counted > 0:
        made.counted = -1
    return made

"""Part of table.pyx, cut off for its length: the columns of a Table, made, looked at for nulls, handed out, and cut."""
cimport cython
from libc.stdint cimport int64_t, uint8_t

from lend._core.arrow cimport ARROW_FLAG_NULLABLE, ArrowArray, ArrowSchema
from lend._core.arrow_layout cimport LAYOUT_NULL, Layout, has_validity, read_layout
from lend._core.arrow_owners cimport ArrowOwner
from lend._core.column cimport COLUMN_RELEASED, ColumnRecord
from lend._core.record cimport read_by_host
from lend.columns.column cimport Column, chunked, column_of, unmasked
from lend.columns.column cimport twin as twin_of
from lend.protocols cimport arrow


cdef int64_t nulls_among(const ArrowArray* array, int64_t first, int64_t count) noexcept:
    """Nulls by the validity of an array that may have one, among some of its rows; counted where that is not known."""
    cdef const uint8_t* bits = <const uint8_t*> array.buffers[0]
    cdef int64_t i
    cdef int64_t total = 0
    if bits is NULL or array.null_count == 0:
        return 0
    if array.null_count > 0 and count == array.length:
        return array.null_count
    for i in range(array.offset + first, array.offset + first + count):
        total += not (bits[i >> 3] >> (i & 7)) & 1
    return total


cdef int64_t nulls_known(ArrowOwner owner, const ArrowArray* array, int64_t first, int64_t count) noexcept:
    """The same; of memory that the host cannot read only what is told."""
    if read_by_host(owner.device_type):
        return nulls_among(array, first, count)
    return max(array.null_count, 0) if count == array.length else 0


cdef int refuse_lazy(Table table) except -1:
    """What needs rows is not had of a table whose rows are still in its stream."""
    if table.rows == UNKNOWN_ROWS:
        from lend.tables import refusals
        raise refusals.lazy(table)
    return 0


cdef int check_nullable(Table table, Py_ssize_t place) except -1:
    """A field that says of itself that nothing in it is null is believed only after a look."""
    cdef ArrowSchema* kind = table.types.schema.children[place]
    cdef ArrowOwner owner
    cdef ArrowArray* array
    cdef Layout layout
    if kind.flags & ARROW_FLAG_NULLABLE:
        return 0
    read_layout(kind.format, &layout)
    for owner in table.arrays:
        array = owner.array.children[place]
        count = owner.array.length if layout.kind == LAYOUT_NULL else 0
        if has_validity(layout.kind):
            count = nulls_known(owner, array, owner.array.offset, owner.array.length)
        if count:
            from lend.tables import refusals
            raise refusals.null_in_required(names_of(table)[place], place, owner, count)
    return 0


cdef int check_all(Table table) except -1:
    """`check_nullable` of all columns: before they are handed on as they came."""
    cdef Py_ssize_t i
    for i in range(table.width):
        check_nullable(table, i)
    return 0


cdef Column column_at(Table table, Py_ssize_t place):
    """The column at a place, made when it is first asked for; it stays in the Table."""
    cdef ArrowOwner owner
    cdef ColumnRecord record
    cdef Column part
    cdef tuple parts
    cdef ArrowSchema* kind
    cdef list chunks
    cdef object known
    with cython.critical_section(table):
        known = table.made[place]
    if known is not None:
        return <Column> known
    refuse_lazy(table)
    check_nullable(table, place)
    kind = table.types.schema.children[place]
    chunks = []
    for owner in table.arrays:
        parts = arrow.split(owner, &table.types.schema)
        arrow.record_of(owner.array.children[place], kind, owner, &record)
        if owner.array.offset or record.length != owner.array.length:
            record.offset += owner.array.offset
            record.length = owner.array.length
            if record.layout == LAYOUT_NULL:
                record.null_count = record.length
            elif record.null_count > 0:
                record.null_count = -1
        chunks.append(unmasked(column_of(owner if parts is None else parts[place], &record, table.types)))
    part = chunked(chunks, table.types)
    if not chunks:
        part.record.type = kind
    with cython.critical_section(table):
        if table.made[place] is None:
            table.made[place] = part
        known = table.made[place]
    return <Column> known


cdef inline bint is_closed(Column column) noexcept:
    """Whether it is a column that could not be read, which raises its reason whatever it is asked for."""
    return column.record.flags & COLUMN_RELEASED and column.origin is not None


cdef Column cut(Column column, Py_ssize_t start, Py_ssize_t stop):
    """Some of the rows of a column."""
    return column if is_closed(column) else column[start:stop]


cdef Column twin(Column column, object name):
    """The same column in an object of its own, under a name unless that is None."""
    if is_closed(column):
        return column
    column = twin_of(column)
    if name is not None:
        column.told_name = name
    return column


cdef Column hand_out(Table table, Py_ssize_t place):
    """The column at a place for somebody else, who may release it: the Table keeps its own."""
    cdef Column inner = column_at(table, place)
    cdef Column given
    with cython.critical_section(table):
        if table.handed is None:
            table.handed = [None] * table.width
        known = table.handed[place]
        if known is None or (<Column> known).record.flags & COLUMN_RELEASED:
            given = twin(inner, None)
            table.handed[place] = given
        else:
            given = <Column> known
    return given


cdef Table rows_of(Table table, Py_ssize_t start, Py_ssize_t stop):
    """The rows from start to stop."""
    cdef Py_ssize_t i
    cdef Table made = other_columns(
        table, table.names, [cut(column_at(table, i), start, stop) for i in range(table.width)], stop - start)
    for i in range(table.width):
        if made.made[i] is table.made[i]:
            made.made[i] = twin(<Column> table.made[i], None)
    return made


cdef list pieces(Table table):
    """The table cut wherever a column is, each piece of one chunk with rows in it; in one walk along all columns."""
    cdef Py_ssize_t i, at, step, left
    cdef list found = []
    cdef list queues, columns
    cdef Column chunk
    cdef list used = [0] * table.width
    cdef list numbers = [0] * table.width
    refuse_lazy(table)
    names = table.names
    queues = [[part for part in ((column_at(table, i),) if is_closed(column_at(table, i)) else
                                 column_at(table, i).chunks) if (<Column> part).record.length]
              for i in range(table.width)]
    at = 0
    while at < table.rows:
        step = table.rows - at
        for i in range(table.width):
            chunk = <Column> (<list> queues[i])[<Py_ssize_t> numbers[i]]
            step = min(step, chunk.record.length - <Py_ssize_t> used[i])
        columns = []
        for i in range(table.width):
            chunk = <Column> (<list> queues[i])[<Py_ssize_t> numbers[i]]
            left = used[i]
            columns.append(cut(chunk, left, left + step))
            if left + step == chunk.record.length:
                numbers[i] += 1
                used[i] = 0
            else:
                used[i] = left + step
        found.append(other_columns(table, names, columns, step))
        at += step
    return found

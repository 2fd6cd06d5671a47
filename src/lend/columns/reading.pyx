"""The values of a Column as Python objects, its nulls counted, its contents checked. Loaded when first asked for.

Element i is at `offset + i` of every buffer; a child adds its own offset to what its parent says. What lies under a
null is not looked at. Offsets, indices and views are followed only after they were found to stay inside. What is read
is a twin of what was asked: nobody else can release it meanwhile.
"""
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy

from lend._core.arrow_layout cimport (
    LAYOUT_BITS, LAYOUT_FIXED, LAYOUT_NULL, LAYOUT_OFFSETS, LAYOUT_RUN_END, LAYOUT_SPARSE, LAYOUT_STRUCT, LAYOUT_VIEWS,
)
from lend._core.column cimport (
    COLUMN_CHUNKED, FIRST, NULLS_BITMASK, NULLS_BYTEMASK, NULLS_NAN, NULLS_NAT, NULLS_NONE, SECOND, VALIDITY,
    ColumnRecord,
)
from lend._core.kernels cimport INTEGER, bits_to_bytes, copy_bits, nulls_to_bytes
from lend._core.record cimport byte_count, read_by_host
from lend.columns.column cimport Column, buffer_size, children_of, dictionary_of, dtype_of, twin
from lend.dtypes.code cimport Code
from lend.dtypes.dtype cimport DType
from lend.protocols.arrow_check cimport offset_at
from lend.views.elements cimport read_element
from lend.views.lent cimport call_hook
from lend.views.view cimport View

from lend._core.letting_go import lets_go
from lend.columns import refusals, scalars


cdef Column own(Column column):
    """A twin to read, with the parts that are made once."""
    children_of(column)
    dictionary_of(column)
    return twin(column)


cdef Column for_host(Column column):
    """The column, or of memory of a device a twin that the host may read now; else refused."""
    return column if read_by_host(column.record.device_type) else <Column> call_hook("host_column")(column)


def on_host(Column column):
    """For the modules above; see `for_host`."""
    return for_host(column)


# -- nulls ---------------------------------------------------------------------------------------------------------

cdef inline bint bit_at(const char* bits, Py_ssize_t i) noexcept nogil:
    return (bits[i >> 3] >> (i & 7)) & 1


cdef Py_ssize_t count_missing(const ColumnRecord* record) noexcept nogil:
    """Nulls by a bitmap."""
    return copy_bits(NULL, 0, record.buffers[VALIDITY], record.offset, record.missing, record.length)


cdef bytes missing(Column column, Py_ssize_t first, Py_ssize_t count):
    """For each of some elements 1 where it is null by the column's own form; None where none is."""
    cdef ColumnRecord* record = &column.record
    cdef Py_ssize_t at = record.offset + first
    cdef Py_ssize_t i
    cdef bytes made
    cdef char* out
    cdef const char* source = record.buffers[VALIDITY]
    if record.nulls == NULLS_NONE or record.null_count == 0:
        return None
    made = PyBytes_FromStringAndSize(NULL, count)
    out = <char*> made
    if record.nulls == NULLS_BITMASK:
        bits_to_bytes(out, 1, source, at, not record.missing, count)
    elif record.nulls == NULLS_BYTEMASK:
        nulls_to_bytes(out, 1, source + at * record.steps[0], record.steps[0], 1, INTEGER, "", record.missing, count)
    else:
        test = (scalars.is_nan if record.nulls == NULLS_NAN else scalars.is_nat if record.nulls == NULLS_NAT
                else scalars.is_equal(column.sentinel))
        for i in range(count):
            out[i] = bool(test(read_element(record.buffers[FIRST] + (at + i) * record.steps[1], record.code)))
    return made


cdef Py_ssize_t count_own(Column column) except -1:
    """Elements that are null by the column's own form."""
    cdef ColumnRecord* record = &column.record
    if record.layout == LAYOUT_NULL:
        return record.length
    if record.nulls == NULLS_NONE:
        return 0
    if record.null_count < 0 and record.nulls == NULLS_BITMASK:
        record.null_count = count_missing(record)
    elif record.null_count < 0:
        from lend.columns import anatomy
        record.null_count = anatomy.Anatomy(column).null_count()
    return record.null_count


@lets_go
def own_null_count(Column column):
    """Elements that are null by the column's own form, not by what they lead to."""
    return count_own(for_host(own(column)))


cdef bytes lost_of(Column column, Py_ssize_t first, Py_ssize_t count):
    """For each of some elements 1 where it is null, by a null of its dictionary, run or union child too; None where no
    element is."""
    cdef ColumnRecord* record = &column.record
    cdef bytes gone, below
    cdef Column words, child
    cdef list found
    check_inside(column, first, count)
    if record.layout == LAYOUT_NULL:
        return b"\1" * count
    gone = missing(column, first, count)
    words = dictionary_of(column)
    if words is not None:
        below = lost_of(words, 0, words.record.length)
        if below is None:
            return gone
        return bytes([1 if code is None else below[code] for code in codes_of(column, first, count, gone)])
    if record.layout == LAYOUT_RUN_END:
        found = []
        child = <Column> children_of(column)[1]
        for run, times in runs_of(column, first, count):
            below = lost_of(child, run, 1)
            found.append((below or b"\0") * times)
        return b"".join(found)
    if record.layout >= LAYOUT_SPARSE:
        nulls = [lost_of(<Column> part, 0, (<Column> part).record.length) for part in children_of(column)]
        return bytes([0 if nulls[place] is None else nulls[place][row]
                      for place, row in rows_of_union(column, first, count)])
    return gone


@lets_go
def count_nulls(Column column):
    """Elements that are null by the column's own form, or by a null of their dictionary, run or union child."""
    cdef Column part
    cdef bytes gone
    column = own(column)
    if column.record.flags & COLUMN_CHUNKED:
        return sum([part.null_count for part in column.parts])
    if column.record.layout == LAYOUT_NULL:
        return column.record.length
    if column.record.layout < LAYOUT_SPARSE and dictionary_of(column) is None:
        if column.record.nulls != NULLS_NONE and column.record.null_count < 0:
            column = for_host(column)
        return count_own(column)
    column = for_host(column)
    gone = lost_of(column, 0, column.record.length)
    return 0 if gone is None else gone.count(1)


include "checking.pxi"  # where elements lead, and whether that is true


# -- values --------------------------------------------------------------------------------------------------------

@lets_go
def tolist(Column column):
    """All values."""
    cdef Column part
    cdef list found = []
    column = own(column)
    if column.record.flags & COLUMN_CHUNKED:
        for part in column.parts:
            found += tolist(part)
        return found
    column = for_host(column)
    return values(column, 0, column.record.length)


@lets_go
def item(Column column, index):
    """The value of one element, or of the only one."""
    cdef Column part
    cdef Py_ssize_t at
    if index is not None and (isinstance(index, bool) or not hasattr(index, "__index__")):
        raise refusals.no_index(column, index)
    # the number first: reading it may run anything, a release too
    position = 0 if index is None else index.__index__()
    column = own(column)
    if index is None and column.record.length != 1:
        raise ValueError(f"item() of a Column with {column.record.length} elements, not 1")
    if not -column.record.length <= position < column.record.length:
        raise IndexError(f"index {position} is out of bounds for a Column of {column.record.length} elements")
    at = position
    if at < 0:
        at += column.record.length
    if column.record.flags & COLUMN_CHUNKED:
        for part in column.parts:
            if at < part.record.length:
                return item(part, at)
            at -= part.record.length
    return values(for_host(column), at, 1)[0]


cdef list values(Column column, Py_ssize_t first, Py_ssize_t count, bint pairs=False):
    """Some of the values; structs as tuples where `pairs`."""
    cdef ColumnRecord* record = &column.record
    cdef bytes gone
    cdef list found
    cdef Py_ssize_t i
    cdef const char* lost = NULL
    check_inside(column, first, count)
    if not count:
        return []  # whatever they would have been
    if record.layout == LAYOUT_NULL:
        return [None] * count
    gone = missing(column, first, count)
    if gone is not None:
        lost = <const char*> gone
    if dictionary_of(column) is not None:
        return from_dictionary(column, first, count, gone)
    if record.layout == LAYOUT_FIXED:
        return fixed(column, first, count, lost)
    if record.layout == LAYOUT_OFFSETS:
        return texts(column, first, count, lost)
    if record.layout == LAYOUT_VIEWS:
        return viewed(column, first, count, lost)
    if record.layout == LAYOUT_BITS:
        found = [None] * count
        for i in range(count):
            found[i] = bit_at(record.buffers[FIRST], record.offset + first + i)
    elif record.layout == LAYOUT_STRUCT:
        found = structs(column, first, count, pairs)
    elif record.layout == LAYOUT_RUN_END:
        found = []
        for run, times in runs_of(column, first, count):
            found += values(<Column> children_of(column)[1], run, 1) * times
    elif record.layout >= LAYOUT_SPARSE:
        found = []
        for place, row in rows_of_union(column, first, count):
            found += values(<Column> children_of(column)[<Py_ssize_t> place], row, 1)
    else:
        return lists(column, first, count, gone)
    if lost is not NULL:
        for i in range(count):
            if lost[i]:
                found[i] = None
    return found


cdef list fixed(Column column, Py_ssize_t first, Py_ssize_t count, const char* lost):
    """Elements of one width; what each means is the DType's to say."""
    cdef ColumnRecord* record = &column.record
    cdef DType kind = <DType?> dtype_of(column)
    cdef const char* at = record.buffers[FIRST] + (record.offset + first) * record.steps[1]
    cdef Py_ssize_t i
    cdef object convert = scalars.converter(kind, column)
    cdef Code code = record.code if kind.logical is not None else kind.code
    cdef list found = [None] * count
    for i in range(count):
        if lost is not NULL and lost[i]:
            continue
        value = read_element(at + i * record.steps[1], code)
        found[i] = value if convert is None else convert(value)
    return found


cdef list from_dictionary(Column column, Py_ssize_t first, Py_ssize_t count, bytes gone):
    cdef Column words = dictionary_of(column)
    cdef dict known = {}
    cdef list found = codes_of(column, first, count, gone)
    cdef Py_ssize_t i
    for i in range(count):
        code = found[i]
        if code is None:
            continue
        if code not in known:
            known[code] = values(words, code, 1)[0]
        found[i] = known[code]
    return found


cdef list texts(Column column, Py_ssize_t first, Py_ssize_t count, const char* lost):
    """Text or bytes between offsets."""
    cdef ColumnRecord* record = &column.record
    cdef const char* offsets = record.buffers[FIRST]
    cdef int64_t start, stop, size
    cdef Py_ssize_t i
    cdef Py_ssize_t at = record.offset + first
    cdef bint text = scalars.is_text(dtype_of(column))
    cdef list found = [None] * count
    size = buffer_size(column, SECOND)
    for i in range(count):
        if lost is not NULL and lost[i]:
            continue
        start = offset_at(offsets, at + i, record.width)
        stop = offset_at(offsets, at + i + 1, record.width)
        if start < 0 or stop < start or stop > size:
            raise refusals.contradicts(
                column, f"element {first + i} lies from byte {start} to {stop} of {size} bytes of data")
        found[i] = piece(column, record.buffers[SECOND] + start, stop - start, text, first + i)
    return found


cdef object piece(Column column, const char* start, Py_ssize_t size, bint text, Py_ssize_t number):
    if not text:
        return PyBytes_FromStringAndSize(start, size)
    try:
        return PyUnicode_DecodeUTF8(start, size, NULL) if size else ""
    except UnicodeDecodeError as error:
        raise refusals.contradicts(column, f"element {number} is not UTF-8: {error.reason}") from error


cdef int64_t variadic(Column column, Py_ssize_t which, const char** start) except -2:
    """Where a data buffer of views begins, and its bytes."""
    cdef ColumnRecord* record = &column.record
    cdef View part
    if record.node is not NULL:
        start[0] = <const char*> record.node.buffers[2 + which]
        return offset_at(record.node.buffers[record.node.n_buffers - 1], which, 8)
    part = <View?> column.views[which]
    start[0] = part.record.data
    return byte_count(&part.record)


cdef list viewed(Column column, Py_ssize_t first, Py_ssize_t count, const char* lost):
    """Text or bytes in views: up to 12 bytes stand in the view itself."""
    cdef ColumnRecord* record = &column.record
    cdef const char* at = record.buffers[FIRST] + (record.offset + first) * 16
    cdef int32_t view[4]
    cdef int64_t data = record.node.n_buffers - 3 if record.node is not NULL else len(column.views or ())
    cdef int64_t room
    cdef const char* start = NULL
    cdef Py_ssize_t i
    cdef bint text = scalars.is_text(dtype_of(column))
    cdef list found = [None] * count
    for i in range(count):
        if lost is not NULL and lost[i]:
            continue
        memcpy(view, at + 16 * i, 16)
        if 0 <= view[0] <= 12:
            found[i] = piece(column, at + 16 * i + 4, view[0], text, first + i)
            continue
        room = variadic(column, view[2], &start) if 0 <= view[2] < data else -1
        if room < 0 or view[0] < 0 or view[3] < 0 or view[3] + <int64_t> view[0] > room:
            raise refusals.contradicts(
                column, f"element {first + i}, of {view[0]} bytes, leads to byte {view[3]} of data buffer {view[2]}, "
                f"and there are {data} of them")
        if memcmp(&view[1], start + view[3], 4):
            raise refusals.contradicts(column, f"element {first + i} begins otherwise than its view says")
        found[i] = piece(column, start + view[3], view[0], text, first + i)
    return found


cdef list lists(Column column, Py_ssize_t first, Py_ssize_t count, bytes gone):
    """Lists by offsets, by offsets and sizes, or of one length; the entries of a map are pairs."""
    cdef list spans = spans_of(column, first, count, gone)
    cdef list inner, found
    cdef Py_ssize_t i
    real = [span for span in spans if span is not None and span[0] < span[1]]
    low = min([start for start, _ in real], default=0)
    high = max([stop for _, stop in real], default=0)
    inner = values(<Column> children_of(column)[0], low, high - low, scalars.base(dtype_of(column)).kind == "map")
    found = [None] * count
    for i in range(count):
        if spans[i] is not None:
            start, stop = spans[i]
            found[i] = inner[start - low:stop - low] if stop > start else []
    return found


cdef list structs(Column column, Py_ssize_t first, Py_ssize_t count, bint pairs):
    cdef ColumnRecord* record = &column.record
    cdef Column child
    cdef Py_ssize_t at = record.offset + first
    cdef tuple children = children_of(column)
    cdef list found = [None] * count
    cdef Py_ssize_t i
    names = [child.name for child in children]
    if not pairs and len(set(names)) < len(names):
        raise refusals.no_object(
            column, f"a dict has no two fields of one name, and its fields are {', '.join(map(repr, names))}",
            "column.children, each by itself")
    fields = [values(child, at, count) for child in children]
    for i in range(count):
        row = [field[i] for field in fields]
        found[i] = tuple(row) if pairs else dict(zip(names, row))
    return found

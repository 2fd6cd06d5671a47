"""The values of a Column as Python objects, its nulls counted, its contents checked. Loaded when first asked for.

Element i is at `offset + i` of every buffer; a child adds its own offset to what its parent says. What lies under a
null is not looked at. Offsets, indices and views are followed only after they were found to stay inside. What is read
is a twin of what was asked: nobody else can release it meanwhile.
"""
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t
from libc.string cimport memcmp, memcpy

from lend._core.arrow_layout cimport (
    LAYOUT_BITS, LAYOUT_DENSE, LAYOUT_FIXED, LAYOUT_FIXED_LIST, LAYOUT_LIST, LAYOUT_LIST_VIEW, LAYOUT_NULL,
    LAYOUT_OFFSETS, LAYOUT_RUN_END, LAYOUT_SPARSE, LAYOUT_STRUCT, LAYOUT_VIEWS,
)
from lend._core.column cimport (
    COLUMN_CHUNKED, FIRST, NULLS_BITMASK, NULLS_BYTEMASK, NULLS_NAN, NULLS_NAT, NULLS_NONE, SECOND, VALIDITY,
    ColumnRecord,
)
from lend._core.record cimport byte_count
from lend.columns.column cimport Column, buffer_size, children_of, dictionary_of, dtype_of, twin
from lend.dtypes.code cimport Code
from lend.dtypes.dtype cimport DType
from lend.protocols.arrow_check cimport offset_at
from lend.views.elements cimport read_element
from lend.views.view cimport View

from lend.columns import refusals, scalars
from lend.dtypes.dtype import logical_of


cdef Column own(Column column):
    """A twin to read, with the parts that are made once."""
    children_of(column)
    dictionary_of(column)
    return twin(column)


cdef check_host(Column column):
    if column.record.device_type not in (1, 3, 11, 13):
        from lend.protocols.refusals import not_host
        raise not_host(column, None)


# -- nulls ---------------------------------------------------------------------------------------------------------

cdef inline bint bit_at(const char* bits, Py_ssize_t i) noexcept nogil:
    return (bits[i >> 3] >> (i & 7)) & 1


cdef Py_ssize_t count_ones(const char* bits, Py_ssize_t start, Py_ssize_t count) noexcept nogil:
    """Bits that are 1 among some, which begin anywhere."""
    cdef Py_ssize_t total = 0
    cdef Py_ssize_t i = start
    cdef Py_ssize_t end = start + count
    cdef uint64_t word
    while i < end and i & 7:
        total += bit_at(bits, i)
        i += 1
    while end - i >= 64:
        memcpy(&word, bits + (i >> 3), 8)
        word -= (word >> 1) & 0x5555555555555555ULL
        word = (word & 0x3333333333333333ULL) + ((word >> 2) & 0x3333333333333333ULL)
        word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FULL
        total += <Py_ssize_t> ((word * 0x0101010101010101ULL) >> 56)
        i += 64
    while i < end:
        total += bit_at(bits, i)
        i += 1
    return total


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
        for i in range(count):
            out[i] = bit_at(source, at + i) == (record.missing != 0)
    elif record.nulls == NULLS_BYTEMASK:
        for i in range(count):
            out[i] = (source[(at + i) * record.steps[0]] != 0) == (record.missing != 0)
    else:
        test = (scalars.is_nan if record.nulls == NULLS_NAN else scalars.is_nat if record.nulls == NULLS_NAT
                else scalars.is_equal(column.sentinel))
        for i in range(count):
            out[i] = bool(test(read_element(record.buffers[FIRST] + (at + i) * record.steps[1], record.code)))
    return made


cdef Py_ssize_t count_own(Column column) except -1:
    """Elements that are null by the column's own form."""
    cdef ColumnRecord* record = &column.record
    cdef Py_ssize_t ones
    if record.layout == LAYOUT_NULL:
        return record.length
    if record.nulls == NULLS_NONE:
        return 0
    if record.null_count < 0 and record.nulls == NULLS_BITMASK:
        ones = count_ones(record.buffers[VALIDITY], record.offset, record.length)
        record.null_count = ones if record.missing else record.length - ones
    elif record.null_count < 0:
        from lend.columns import anatomy
        record.null_count = anatomy.Anatomy(column).null_count()
    return record.null_count


def own_null_count(Column column):
    """Elements that are null by the column's own form, not by what they lead to."""
    check_host(column)
    return count_own(own(column))


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


def count_nulls(Column column):
    """Elements that are null by the column's own form, or by a null of their dictionary, run or union child."""
    cdef Column part
    cdef bytes gone
    column = own(column)
    if column.record.flags & COLUMN_CHUNKED:
        return sum([part.null_count for part in column.parts])
    if column.record.layout == LAYOUT_NULL:
        return column.record.length
    check_host(column)
    if column.record.layout < LAYOUT_SPARSE and dictionary_of(column) is None:
        return count_own(column)
    gone = lost_of(column, 0, column.record.length)
    return 0 if gone is None else gone.count(1)


# -- where elements lead -------------------------------------------------------------------------------------------

cdef int check_inside(Column column, Py_ssize_t first, Py_ssize_t count) except -1:
    """What a parent refers to must be there."""
    if first < 0 or count < 0 or count > column.record.length or first > column.record.length - count:
        raise refusals.contradicts(
            column, f"elements {first} to {first + <object> count} are referred to, of {column.record.length}")
    return 0


cdef list codes_of(Column column, Py_ssize_t first, Py_ssize_t count, bytes gone):
    """Indices into the dictionary; None of what is null."""
    cdef ColumnRecord* record = &column.record
    cdef Py_ssize_t size = dictionary_of(column).record.length
    cdef const char* at = record.buffers[FIRST] + (record.offset + first) * record.steps[1]
    cdef const char* lost = NULL if gone is None else <const char*> gone
    cdef list found = [None] * count
    cdef Py_ssize_t i
    for i in range(count):
        if lost is not NULL and lost[i]:
            continue
        code = read_element(at + i * record.steps[1], record.code)
        if not 0 <= code < size:
            raise refusals.contradicts(
                column, f"index {code} at element {first + i} is none of its {size} dictionary values")
        found[i] = code
    return found


cdef list spans_of(Column column, Py_ssize_t first, Py_ssize_t count, bytes gone):
    """Where each list lies in the child, as (start, stop); None of what is null."""
    cdef ColumnRecord* record = &column.record
    cdef Py_ssize_t size = (<Column> children_of(column)[0]).record.length
    cdef Py_ssize_t at = record.offset + first
    cdef const char* lost = NULL if gone is None else <const char*> gone
    cdef int64_t start, many
    cdef Py_ssize_t i
    cdef list spans = [None] * count
    for i in range(count):
        if lost is not NULL and lost[i]:
            continue
        if record.layout == LAYOUT_FIXED_LIST:
            start = (at + i) * <int64_t> record.width
            many = record.width
        else:
            start = offset_at(record.buffers[FIRST], at + i, record.width)
            if record.layout == LAYOUT_LIST_VIEW:
                many = offset_at(record.buffers[SECOND], at + i, record.width)
            else:
                many = offset_at(record.buffers[FIRST], at + i + 1, record.width)
                # of two numbers of 64 bits the difference may be none
                many = many - start if start >= 0 and many >= start else -1
        if start < 0 or many < 0 or many > size or start > size - many:
            raise refusals.contradicts(
                column, f"list {first + i} begins at {start} and has {many} of {size} elements")
        spans[i] = (start, start + many)
    return spans


cdef list rows_of_union(Column column, Py_ssize_t first, Py_ssize_t count):
    """For each element the number of its child and the row there."""
    cdef ColumnRecord* record = &column.record
    cdef const char* ids = record.buffers[FIRST]
    cdef Py_ssize_t at = record.offset + first
    cdef Py_ssize_t i
    cdef int64_t row
    cdef list found = [None] * count
    cdef tuple children = children_of(column)
    kinds = {number: place for place, number in enumerate(logical_of(scalars.base(dtype_of(column))).type_ids)}
    for i in range(count):
        place = kinds.get(<int8_t> ids[at + i])
        if place is None:
            raise refusals.contradicts(
                column, f"element {first + i} is of type id {<int8_t> ids[at + i]}, which it does not name")
        row = at + i if record.layout == LAYOUT_SPARSE else offset_at(record.buffers[SECOND], at + i, 4)
        check_inside(<Column> children[<Py_ssize_t> place], row, 1)
        found[i] = (place, row)
    return found


cdef int64_t end_at(Column ends, Py_ssize_t i) noexcept:
    """Where a run ends."""
    cdef int16_t small
    cdef const char* at = ends.record.buffers[FIRST] + (ends.record.offset + i) * ends.record.steps[1]
    if ends.record.width == 2:
        memcpy(&small, at, 2)
        return small
    return offset_at(at, 0, ends.record.width)


cdef list runs_of(Column column, Py_ssize_t first, Py_ssize_t count):
    """Runs and how many of the elements are in each: an element belongs to the first one that ends behind it."""
    cdef Column ends, runs
    cdef int64_t at = column.record.offset + first
    cdef int64_t last = at + count
    cdef int64_t stop
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t high, middle
    cdef list found = []
    ends, runs = children_of(column)
    if count_own(ends):
        raise refusals.contradicts(column, "a run end is null")
    high = ends.record.length
    while low < high:
        middle = (low + high) // 2
        if end_at(ends, middle) > at:
            high = middle
        else:
            low = middle + 1
    while at < last:
        if low >= ends.record.length or low >= runs.record.length:
            raise refusals.contradicts(
                column, f"its {min(ends.record.length, runs.record.length)} runs end before element "
                f"{at - column.record.offset}")
        stop = end_at(ends, low)
        if stop <= at:
            raise refusals.contradicts(column, f"run {low} ends at {stop}, before it begins")
        stop = min(stop, last)
        found.append((low, stop - at))
        at = stop
        low += 1
    return found


# -- values --------------------------------------------------------------------------------------------------------

def tolist(Column column):
    """All values."""
    cdef Column part
    cdef list found = []
    column = own(column)
    if column.record.flags & COLUMN_CHUNKED:
        for part in column.parts:
            found += tolist(part)
        return found
    check_host(column)
    return values(column, 0, column.record.length)


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
    check_host(column)
    return values(column, at, 1)[0]


cdef list values(Column column, Py_ssize_t first, Py_ssize_t count, bint pairs=False):
    """Some of the values; structs as tuples where `pairs`."""
    cdef ColumnRecord* record = &column.record
    cdef bytes gone
    cdef list found
    cdef Py_ssize_t i
    cdef const char* lost = NULL
    check_inside(column, first, count)
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


# -- checking ------------------------------------------------------------------------------------------------------

def verify(Column column, bint full):
    """Structure was checked when it came; with `full` every offset, index, view and text is followed once."""
    cdef Column part
    column = own(column)
    if not full:
        return
    if column.record.flags & COLUMN_CHUNKED:
        for part in column.parts:
            verify(part, True)
        return
    check_host(column)
    follow(column)


cdef object follow(Column column):
    """Read all that may lead out of the memory; of numbers there is nothing to follow."""
    cdef ColumnRecord* record = &column.record
    cdef Py_ssize_t i, ones
    cdef int64_t last, here
    cdef bytes gone
    if record.length and (record.layout == LAYOUT_OFFSETS or record.layout == LAYOUT_LIST):
        last = 0
        for i in range(record.offset, record.offset + record.length + 1):
            here = offset_at(record.buffers[FIRST], i, record.width)
            if here < last:
                raise refusals.contradicts(column, f"offset {i} is {here}, after {last}")
            last = here
    if record.nulls == NULLS_BITMASK and record.null_count >= 0:
        ones = count_ones(record.buffers[VALIDITY], record.offset, record.length)
        if (ones if record.missing else record.length - ones) != record.null_count:
            raise refusals.contradicts(
                column, f"its null_count is {record.null_count}, and its bitmap says "
                f"{ones if record.missing else record.length - ones}")
    gone = missing(column, 0, record.length)
    if dictionary_of(column) is not None:
        codes_of(column, 0, record.length, gone)
        follow(dictionary_of(column))
    elif record.layout == LAYOUT_OFFSETS or record.layout == LAYOUT_VIEWS:
        values(column, 0, record.length)
    elif record.layout == LAYOUT_RUN_END:
        runs_of(column, 0, record.length)
    elif record.layout == LAYOUT_SPARSE or record.layout == LAYOUT_DENSE:
        rows_of_union(column, 0, record.length)
    elif record.layout != LAYOUT_STRUCT and record.layout >= LAYOUT_LIST:
        spans_of(column, 0, record.length, gone)
    for child in children_of(column):
        follow(child)

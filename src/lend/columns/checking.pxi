"""Part of reading.pyx, cut off for its length: where elements lead, followed only where that is inside, and checked."""
cimport cython
from libc.stdint cimport int8_t, int16_t, int64_t
from libc.string cimport memcpy

from lend._core.arrow_layout cimport (
    LAYOUT_DENSE, LAYOUT_FIXED_LIST, LAYOUT_LIST, LAYOUT_LIST_VIEW, LAYOUT_OFFSETS, LAYOUT_RUN_END, LAYOUT_SPARSE,
    LAYOUT_STRUCT, LAYOUT_VIEWS,
)
from lend._core.column cimport COLUMN_CHUNKED, COLUMN_UNVOUCHED, FIRST, NULLS_BITMASK, SECOND, ColumnRecord
from lend._core.kernels cimport check_offsets
from lend.columns.column cimport Column, children_of, dictionary_of, dtype_of
from lend.protocols.arrow_check cimport offset_at
from lend.views.elements cimport read_element

from lend.dtypes.dtype import logical_of


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


# -- checking ------------------------------------------------------------------------------------------------------

@lets_go
def verify(Column column, bint full):
    """Structure was checked when it came; with `full` every offset, index, view and text is followed once."""
    cdef Column part
    cdef Column given = column
    column = own(column)
    if not full:
        return
    if column.record.flags & COLUMN_CHUNKED:
        for part in column.parts:
            verify(part, True)
        return
    follow(for_host(column))
    found_true(given)


cdef found_true(Column column):
    """Nobody need look again at what it leads to."""
    with cython.critical_section(column):
        column.record.flags &= ~COLUMN_UNVOUCHED


def is_unvouched(Column column not None):
    """Whether it was put together of loose buffers of the host, and nobody has looked yet at what they lead to."""
    cdef Column part
    if column.record.flags & COLUMN_CHUNKED:
        return any([is_unvouched(part) for part in own(column).parts])
    return bool(column.record.flags & COLUMN_UNVOUCHED) and read_by_host(column.record.device_type)


cdef object follow(Column column):
    """Read all that may lead out of the memory; of numbers there is nothing to follow."""
    cdef ColumnRecord* record = &column.record
    cdef Py_ssize_t i, at
    cdef bytes gone
    if record.length and (record.layout == LAYOUT_OFFSETS or record.layout == LAYOUT_LIST):
        i = check_offsets(record.buffers[FIRST] + record.offset * record.width, record.width, record.length + 1)
        if i >= 0:
            at = record.offset + i
            raise refusals.contradicts(
                column, f"offset {at} is {offset_at(record.buffers[FIRST], at, record.width)}, after "
                f"{offset_at(record.buffers[FIRST], at - 1, record.width) if i else 0}")
    if record.nulls == NULLS_BITMASK and record.null_count >= 0:
        i = count_missing(record)
        if i != record.null_count:
            raise refusals.contradicts(column, f"its null_count is {record.null_count}, and its bitmap says {i}")
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
    found_true(column)

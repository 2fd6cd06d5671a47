"""Columns copied from one device to another, to the host or from it, as was asked for by name: what is needed of each
buffer by a call of the driver, into memory of lend's own, each with an owner of its own; counted.

How far text and lists go their last offset says. On the way to the host it is read there; else it is fetched alone.
"""
from libc.stdint cimport int32_t, int64_t

from lend._core.arrow_layout cimport (
    LAYOUT_BITS, LAYOUT_DENSE, LAYOUT_FIXED, LAYOUT_FIXED_LIST, LAYOUT_LIST, LAYOUT_OFFSETS,
    LAYOUT_RUN_END, LAYOUT_SPARSE, LAYOUT_STRUCT, LAYOUT_VIEWS,
)
from lend._core.column cimport (
    COLUMN_CHUNKED, COLUMN_READONLY, FIRST, NULLS_BITMASK, NULLS_BYTEMASK, SECOND, VALIDITY, ColumnRecord,
)
from lend._core.owners cimport Owner
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CPU, READONLY, Record, byte_count, check_layout, set_ndim, shape_of, strides_of,
)
from lend.columns.column cimport Column, children_of, dictionary_of, owner_of_buffer, put_device, twin
from lend.columns.parts cimport bytes_at
from lend.dtypes.code cimport KIND_INT, KIND_UINT, Code, make_code
from lend.protocols.arrow_check cimport offset_at
from lend.views.buffers cimport Buffer
from lend.views.values cimport fresh_copy
from lend.views.view cimport View, view_of

from lend._core.letting_go import lets_go
from lend.columns import building, roles
from lend.devices import access, copying
from lend.protocols.refusals import not_host

cdef enum:
    CUDA = 2
    ROCM = 10


@lets_go
def moved(Column column not None, int kind, int ordinal, str why, sync=None):
    """The elements of a column in fresh memory on a device (DLPack's code and number), or on the host (1, 0); with
    kind 0 each buffer where it is. `sync`: what each copy is ordered after, as `copying` has it."""
    if column.record.flags & COLUMN_CHUNKED:
        if not column.parts:
            return column
        return building.of_chunks([moved(<Column> part, kind, ordinal, why, sync) for part in column.parts])
    return one_moved(twin(column), kind, ordinal, why, sync)


cdef Column one_moved(Column column, int kind, int ordinal, str why, sync):
    cdef ColumnRecord* facts = &column.record
    cdef Py_ssize_t end = facts.offset + facts.length
    # bits begin a byte, so as many elements as that takes come along
    cdef Py_ssize_t base = facts.offset if facts.layout == LAYOUT_RUN_END else facts.offset & 7
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t last = 0
    cdef dict given = {}
    cdef View offsets = None
    cdef list below = []
    cdef Column part
    cdef bint masked = facts.nulls in (NULLS_BITMASK, NULLS_BYTEMASK)
    children = children_of(column)
    words = dictionary_of(column)
    begin = facts.offset - base
    for place, role in roles.places(facts.layout):
        if facts.buffers[place] is NULL or (place == VALIDITY and not masked) or (
                place == SECOND and facts.layout == LAYOUT_OFFSETS):
            continue
        here = copied(lying(column, place, begin, end), kind, ordinal, why, sync)
        given[role] = here
        if place == FIRST and facts.layout in (LAYOUT_OFFSETS, LAYOUT_LIST):
            offsets = here
    if offsets is not None and facts.length:
        first, last = ends(column, offsets, begin, end, kind, sync)
        if first < 0 or last < first:
            raise roles.bad_offsets(column, first, last)
        if facts.layout == LAYOUT_OFFSETS and facts.buffers[SECOND] is not NULL:
            if facts.sizes[SECOND] >= 0:
                roles.check_room(column, "data", facts.sizes[SECOND], last, "bytes")
            given["data"] = copied(piece(column, SECOND, first, last - first, 1, make_code(KIND_UINT, 8), 1),
                                   kind, ordinal, why, sync)
        elif facts.layout == LAYOUT_LIST:
            roles.check_room(column, "child", len(children[0]), last, "elements")
    if facts.layout == LAYOUT_VIEWS:
        given["variadic"] = [copied(view, kind, ordinal, why, sync) for view in variadic(column, sync)]
    for part in needed(facts, children, begin, end):
        below.append(moved(part[first:last] if facts.layout == LAYOUT_LIST else part, kind, ordinal, why, sync))
    nulls = column.nulls
    made = building.build(
        column.dtype, facts.length, given, "none" if nulls.missing is not None and "validity" not in given else nulls,
        base, below, None if words is None else moved(words, kind, ordinal, why, sync), column.name, column.metadata)
    if facts.layout == LAYOUT_STRUCT or facts.buffers[FIRST] is not NULL:
        (<Column> made).record.null_count = facts.null_count
    return building.vouched(made, column)


cdef list needed(const ColumnRecord* facts, tuple children, Py_ssize_t begin, Py_ssize_t end):
    """What is needed of the children whose elements lie where those of the column do; the others are left whole."""
    if facts.layout == LAYOUT_STRUCT or facts.layout == LAYOUT_SPARSE:
        return [part[begin:end] for part in children]
    if facts.layout == LAYOUT_FIXED_LIST:
        return [part[begin * facts.width:end * facts.width] for part in children]
    return list(children)


cdef View lying(Column column, int place, Py_ssize_t begin, Py_ssize_t end):
    """What is needed of a buffer: from element `begin`, which begins a byte, to `end`."""
    cdef ColumnRecord* facts = &column.record
    cdef int layout = facts.layout
    cdef Py_ssize_t count = end - begin
    cdef Py_ssize_t width = facts.width
    if place == VALIDITY and facts.nulls == NULLS_BYTEMASK:
        return piece(column, place, begin * facts.steps[0], count, facts.steps[0], make_code(KIND_UINT, 8), 1)
    if place == VALIDITY or layout == LAYOUT_BITS:
        return piece(column, place, begin >> 3, (count + 7) >> 3, 1, make_code(KIND_UINT, 8), 1)
    if layout == LAYOUT_FIXED:
        return piece(column, place, begin * facts.steps[1], count, facts.steps[1], facts.code, width)
    if layout == LAYOUT_VIEWS:
        return piece(column, place, begin * 16, count * 16, 1, make_code(KIND_UINT, 8), 1)
    if place == FIRST and layout in (LAYOUT_DENSE, LAYOUT_SPARSE):
        return piece(column, place, begin, count, 1, make_code(KIND_INT, 8), 1)
    if layout == LAYOUT_DENSE:
        width = 4
    elif layout == LAYOUT_OFFSETS or layout == LAYOUT_LIST:
        count += 1
    return piece(column, place, begin * width, count, width, make_code(KIND_INT, 8 * width), width)


cdef View piece(Column column, int place, Py_ssize_t start, Py_ssize_t count, Py_ssize_t step, Code code,
                Py_ssize_t width):
    """So many elements of a buffer, from a byte on, as a View on the column's device."""
    return line(column, place, <Owner?> owner_of_buffer(column, place), column.record.buffers[place] + start, count,
                step, code, width)


cdef View line(Column column, int place, Owner owner, char* data, Py_ssize_t count, Py_ssize_t step, Code code,
               Py_ssize_t width):
    cdef Record record
    record.data = data
    record.itemsize = <unsigned int> width
    record.exports = 0
    record.dtype = code
    put_device(column, place, &record)
    record.flags = READONLY if column.record.flags & COLUMN_READONLY else 0
    set_ndim(&record, 1)
    shape_of(&record)[0] = count
    strides_of(&record)[0] = step
    check_layout(&record)
    return view_of(owner, &record)


cdef View copied(View view, int kind, int ordinal, str why, sync):
    if not kind:
        kind, ordinal = view.record.device_type, view.record.device_id
        if kind not in (DEVICE_CPU, CUDA, ROCM):
            raise not_host(view, None)
    if kind == DEVICE_CPU:
        if view.record.device_type == DEVICE_CPU:
            return fresh_copy(view, False, view.record.dtype, why)
        return copying.to_host(view, why, sync)
    if ordinal < 0:
        ordinal = access.access(view).ordinal
    return copying.to_device(view, kind, ordinal, why, sync)


cdef tuple ends(Column column, View offsets, Py_ssize_t begin, Py_ssize_t end, int kind, sync):
    """Where the elements begin and end in what the offsets lead into; copies on the host are made to begin with 0."""
    cdef ColumnRecord* facts = &column.record
    cdef Py_ssize_t count = end - begin
    cdef Py_ssize_t width = facts.width
    cdef View there
    cdef int64_t first, last
    cdef Py_ssize_t i
    if kind == DEVICE_CPU:
        first = offset_at(offsets.record.data, 0, facts.width)
        last = offset_at(offsets.record.data, count, facts.width)
        for i in range(count + 1):
            if width == 4:
                (<int32_t*> offsets.record.data)[i] -= <int32_t> first
            else:
                (<int64_t*> offsets.record.data)[i] -= first
        return first, last
    there = piece(column, FIRST, end * width, 1, width, make_code(KIND_INT, 8 * width), width)
    if there.record.device_type != DEVICE_CPU:
        there = copying.to_host(there, None, sync)
    return 0, offset_at(there.record.data, 0, facts.width)


cdef list variadic(Column column, sync):
    """Where the longer ones of text in views lie."""
    cdef ColumnRecord* facts = &column.record
    cdef Py_ssize_t count, i
    cdef View sizes
    cdef Owner owner
    if facts.node is NULL:
        return list(column.views or ())
    count = facts.node.n_buffers - 3
    if count < 1:
        return []
    owner = <Owner?> column.holder
    sizes = line(column, SECOND, owner, <char*> facts.node.buffers[2 + count], count, 8, make_code(KIND_INT, 64), 8)
    if facts.device_type != DEVICE_CPU:
        sizes = copying.to_host(sizes, None, sync)
    return [line(column, SECOND, owner, <char*> facts.node.buffers[2 + i], offset_at(sizes.record.data, i, 8), 1,
                 make_code(KIND_UINT, 8), 1) for i in range(count)]


def told(Column column not None, bint away):
    """Whether the host may read all of a column, and how many bytes are copied where it may not, or, `away`, to a
    device: None where only the memory itself says. Nothing is waited for, and nothing is read."""
    return is_read(column), bytes_of(column, away)


cdef bint is_read(Column column) except -1:
    """Whether the host may read each buffer as it is told, whole, which `on_host` of the file beside shows."""
    cdef ColumnRecord* facts
    cdef Buffer lies
    children_of(column)
    dictionary_of(column)
    column = twin(column)
    facts = &column.record
    if facts.device_type == DEVICE_CPU:
        return True
    if facts.layout == LAYOUT_VIEWS and facts.length:
        return False        # how many there are of the longer ones their sizes say
    for place in range(3):
        if facts.buffers[place] is NULL:
            continue
        if place == SECOND and facts.layout == LAYOUT_OFFSETS:
            # how far it goes its offsets say
            first = piece(column, place, 0, 1, 1, make_code(KIND_UINT, 8), 1)
            if facts.length and access.access(first).host is not True:
                return False
            continue
        lies = bytes_at(column, place)
        if byte_count(&lies.record) and access.access(lies).host is not True:
            return False
    for part in column.parts or ():
        if not is_read(<Column> part):
            return False
    return column.words is None or is_read(<Column> column.words)


cdef object bytes_of(Column column, bint away):
    cdef ColumnRecord* facts = &column.record
    cdef Py_ssize_t begin, end
    cdef View view
    nbytes = 0
    if facts.flags & COLUMN_CHUNKED:
        parts = list(column.parts)
    else:
        column = twin(column)
        facts = &column.record
        begin, end = facts.offset - (facts.offset & 7), facts.offset + facts.length
        masked = facts.nulls in (NULLS_BITMASK, NULLS_BYTEMASK)
        for place, _ in roles.places(facts.layout):
            if facts.buffers[place] is NULL or (place == VALIDITY and not masked) or (
                    place == SECOND and facts.layout == LAYOUT_OFFSETS):
                continue
            view = lying(column, place, begin, end)
            # what lies apart on the host is put in order there first
            apart = away and view.record.device_type == DEVICE_CPU and not view.record.flags & C_CONTIGUOUS
            nbytes = nbytes + (2 * view.nbytes if apart else view.nbytes)
        if facts.layout in (LAYOUT_OFFSETS, LAYOUT_LIST, LAYOUT_VIEWS):
            return None
        parts = needed(facts, children_of(column), begin, end)
        if dictionary_of(column) is not None:
            parts.append(dictionary_of(column))
    for part in parts:
        more = bytes_of(part, away)
        if more is None:
            return None
        nbytes = nbytes + more
    return nbytes

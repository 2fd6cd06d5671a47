"""Checking what an Arrow producer says, before any of it is used: schemas by themselves, arrays against their schema.

Nothing is allocated and no Python object touched. What cannot be true is noted in a Fault, with the way to it from the
root; arrow_refusals.py words it. Contents are not read but for the first and the last offset.
https://arrow.apache.org/docs/format/CDataInterface.html#structure-definitions
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from lend._core.arrow cimport ArrowArray, ArrowSchema
from lend._core.arrow_layout cimport (
    ANY_NUMBER, LAYOUT_BITS, LAYOUT_DENSE, LAYOUT_FIXED, LAYOUT_FIXED_LIST, LAYOUT_LIST, LAYOUT_LIST_VIEW, LAYOUT_NULL,
    LAYOUT_OFFSETS, LAYOUT_RUN_END, LAYOUT_SPARSE, LAYOUT_STRUCT, LAYOUT_VIEWS, Layout, count_type_ids, has_validity,
    read_layout,
)

cdef enum:
    DEEPEST = 64            # levels of nesting
    MOST = 1 << 20          # types in all, and pointers in one list: those that are more, nobody made
    DICTIONARY_STEP = -1    # in the way of a Fault: to the dictionary, not to a child

    # what is wrong; arrow_refusals.py has the sentences, in this order
    NO_FAULT = 0
    BAD_FORMAT_NULL = 1
    BAD_FORMAT = 2
    TOO_DEEP = 3
    SCHEMA_CHILDREN = 4
    SCHEMA_CHILD_NULL = 5
    SCHEMA_RELEASED = 6
    BAD_INDEX_TYPE = 7
    BAD_MAP = 8
    BAD_RUN_ENDS = 9
    BAD_TYPE_IDS = 10
    ARRAY_RELEASED = 11
    BAD_LENGTH = 12
    BAD_OFFSET = 13
    BAD_NULL_COUNT = 14
    BUFFER_COUNT = 15
    BUFFERS_NULL = 16
    ARRAY_CHILDREN = 17
    ARRAY_CHILD_NULL = 18
    DICTIONARY_MISSING = 19
    DICTIONARY_EXTRA = 20
    VALIDITY_NULL = 21
    BUFFER_NULL = 22
    TOO_LARGE = 23
    CHILD_TOO_SHORT = 24
    OFFSETS_WRONG = 25
    VIEW_LENGTHS = 26
    BAD_METADATA = 27
    TOO_MANY = 28
    RUN_END_NULLS = 29
    ONE_TWICE = 30

cdef extern from *:
    """
    #define LEND_LONGEST ((int64_t)1 << 62)
    """
    const int64_t LONGEST "LEND_LONGEST"


ctypedef struct Fault:
    int what
    int depth
    int32_t way[64]
    int64_t told
    int64_t expected
    int64_t bytes           # that the buffers have in all, as far as the array says
    int64_t nodes           # types seen so far: one may hang in many places


cdef inline void begin_check(Fault* fault) noexcept nogil:
    fault.what = NO_FAULT
    fault.depth = 0
    fault.bytes = 0
    fault.nodes = 0


cdef inline int found(Fault* fault, int what, int64_t told=0, int64_t expected=0) noexcept nogil:
    fault.what = what
    fault.told = told
    fault.expected = expected
    return what


cdef inline int enter(Fault* fault, int32_t step) noexcept nogil:
    if fault.depth >= DEEPEST:
        return found(fault, TOO_DEEP)
    fault.way[fault.depth] = step
    fault.depth += 1
    return NO_FAULT


cdef inline int64_t added(int64_t one, int64_t other) noexcept nogil:
    """The sum, which stays below what overflows."""
    return LONGEST if one > LONGEST - other else one + other


cdef inline int check_metadata(const char* blob, Fault* fault) noexcept nogil:
    """Counts that can be: the blob has no length of its own."""
    cdef int32_t pairs, size
    cdef int32_t _i
    if blob is NULL:
        return NO_FAULT
    memcpy(&pairs, blob, 4)
    if pairs < 0 or pairs > MOST:
        return found(fault, BAD_METADATA, pairs)
    blob += 4
    for _i in range(2 * pairs):
        memcpy(&size, blob, 4)
        if size < 0:
            return found(fault, BAD_METADATA, size)
        blob += 4 + size
    return NO_FAULT


cdef inline Py_ssize_t metadata_size(const char* blob) noexcept nogil:
    """Bytes of a blob that was checked."""
    cdef const char* at = blob + 4
    cdef int32_t pairs, size
    cdef int32_t _i
    memcpy(&pairs, blob, 4)
    for _i in range(2 * pairs):
        memcpy(&size, at, 4)
        at += 4 + size
    return at - blob


cdef inline int check_schema(const ArrowSchema* schema, Fault* fault) noexcept nogil:
    """The type of a column and of all below it; 0, or what is wrong."""
    cdef Layout layout
    cdef int64_t i
    cdef const ArrowSchema* first
    fault.nodes += 1
    if fault.nodes > MOST or schema.n_children > MOST:
        return found(fault, TOO_MANY)
    if schema.format is NULL:
        return found(fault, BAD_FORMAT_NULL)
    if not read_layout(schema.format, &layout):
        return found(fault, BAD_FORMAT)
    if schema.n_children < 0 or (layout.children != ANY_NUMBER and schema.n_children != layout.children):
        return found(fault, SCHEMA_CHILDREN, schema.n_children, layout.children)
    if schema.n_children and schema.children is NULL:
        return found(fault, SCHEMA_CHILD_NULL)
    if schema.metadata is not NULL and check_metadata(schema.metadata, fault):
        return fault.what
    if layout.kind == LAYOUT_SPARSE or layout.kind == LAYOUT_DENSE:
        if count_type_ids(schema.format) != schema.n_children:
            return found(fault, BAD_TYPE_IDS)
    for i in range(schema.n_children):
        if enter(fault, <int32_t> i) or check_child_schema(schema.children[i], fault):
            return fault.what
        fault.depth -= 1
    if layout.kind == LAYOUT_LIST and schema.format[1] == c'm':
        first = schema.children[0]
        if first.format[0] != c'+' or first.format[1] != c's' or first.n_children != 2:
            return found(fault, BAD_MAP)
    if layout.kind == LAYOUT_RUN_END:
        first = schema.children[0]
        if first.format[1] != 0 or first.format[0] not in (c's', c'i', c'l') or first.dictionary is not NULL:
            return found(fault, BAD_RUN_ENDS)
    if schema.dictionary is not NULL:
        if schema.format[1] != 0 or schema.format[0] not in (c'c', c'C', c's', c'S', c'i', c'I', c'l', c'L'):
            return found(fault, BAD_INDEX_TYPE)
        if enter(fault, DICTIONARY_STEP) or check_child_schema(schema.dictionary, fault):
            return fault.what
        fault.depth -= 1
    return NO_FAULT


cdef inline int check_child_schema(const ArrowSchema* schema, Fault* fault) noexcept nogil:
    if schema is NULL:
        return found(fault, SCHEMA_CHILD_NULL)
    if schema.release is NULL:
        return found(fault, SCHEMA_RELEASED)
    return check_schema(schema, fault)


cdef inline int64_t offset_at(const void* offsets, int64_t i, uint8_t width) noexcept nogil:
    """One offset or size of 32 or 64 bits, wherever it lies."""
    cdef int32_t small
    cdef int64_t large
    if width == 4:
        memcpy(&small, <const char*> offsets + 4 * i, 4)
        return small
    memcpy(&large, <const char*> offsets + 8 * i, 8)
    return large


cdef inline int check_array(const ArrowArray* array, const ArrowSchema* schema, int64_t need, bint readable,
                            Fault* fault) noexcept nogil:
    """An array against its checked schema; it must have `need` elements. `readable`: by the host."""
    cdef Layout layout
    cdef int64_t end, i, first, last, room
    cdef int64_t data = 0
    cdef int where
    if array.release is NULL:
        return found(fault, ARRAY_RELEASED)
    if array.length < 0 or array.length > LONGEST:
        return found(fault, BAD_LENGTH, array.length)
    if array.offset < 0 or array.offset > LONGEST - array.length:
        return found(fault, BAD_OFFSET, array.offset)
    if array.length < need:
        return found(fault, CHILD_TOO_SHORT, array.length, need)
    if array.null_count < -1 or array.null_count > array.length:
        return found(fault, BAD_NULL_COUNT, array.null_count, array.length)
    read_layout(schema.format, &layout)
    end = array.offset + array.length
    # those of views are as many as they like; some producers tell of a validity where all is null
    if array.n_buffers != layout.buffers and not (
            3 <= array.n_buffers <= MOST if layout.kind == LAYOUT_VIEWS
            else layout.kind == LAYOUT_NULL and array.n_buffers == 1):
        return found(fault, BUFFER_COUNT, array.n_buffers, layout.buffers)
    if array.n_buffers and array.buffers is NULL:
        return found(fault, BUFFERS_NULL)
    if array.n_children != schema.n_children:
        return found(fault, ARRAY_CHILDREN, array.n_children, schema.n_children)
    if array.n_children and array.children is NULL:
        return found(fault, ARRAY_CHILD_NULL)
    if has_validity(layout.kind):
        if array.buffers[0] is NULL:
            if array.null_count > 0:
                return found(fault, VALIDITY_NULL, array.null_count)
        else:
            data += (end + 7) >> 3
    where = 1 if has_validity(layout.kind) else 0
    if layout.kind == LAYOUT_BITS:
        room = (end + 7) >> 3
    elif layout.kind == LAYOUT_FIXED or layout.kind == LAYOUT_VIEWS or layout.kind == LAYOUT_LIST_VIEW:
        if layout.width and end > LONGEST // layout.width:
            return found(fault, TOO_LARGE, end)
        room = end * layout.width
    elif layout.kind == LAYOUT_OFFSETS or layout.kind == LAYOUT_LIST:
        if end > LONGEST // layout.width - 1:
            return found(fault, TOO_LARGE, end)
        room = (end + 1) * layout.width if array.length else 0
    elif layout.kind == LAYOUT_SPARSE or layout.kind == LAYOUT_DENSE:
        room = end
    else:
        room = 0
    data = added(data, room)
    if room and array.length and array.buffers[where] is NULL:
        return found(fault, BUFFER_NULL, where)
    if layout.kind == LAYOUT_LIST_VIEW:
        data = added(data, room)
        if room and array.length and array.buffers[2] is NULL:
            return found(fault, BUFFER_NULL, 2)
    if layout.kind == LAYOUT_DENSE:
        if end > LONGEST // 4:
            return found(fault, TOO_LARGE, end)
        data = added(data, 4 * end)
        if array.length and array.buffers[1] is NULL:
            return found(fault, BUFFER_NULL, 1)
    if (layout.kind == LAYOUT_OFFSETS or layout.kind == LAYOUT_LIST) and array.length and readable:
        first = offset_at(array.buffers[1], array.offset, layout.width)
        last = offset_at(array.buffers[1], end, layout.width)
        if first < 0 or last < first:
            return found(fault, OFFSETS_WRONG, first, last)
        need = last
        if layout.kind == LAYOUT_OFFSETS:
            data = added(data, last)
            if last and array.buffers[2] is NULL:
                return found(fault, BUFFER_NULL, 2)
    else:
        need = 0
    if layout.kind == LAYOUT_VIEWS:
        if array.n_buffers > 3 and array.buffers[array.n_buffers - 1] is NULL:
            return found(fault, VIEW_LENGTHS)
        for i in range(array.n_buffers - 3 if readable else 0):
            room = offset_at(array.buffers[array.n_buffers - 1], i, 8)
            if room < 0 or room > LONGEST or (room and array.buffers[2 + i] is NULL):
                return found(fault, VIEW_LENGTHS, room)
            data = added(data, room)
    elif layout.kind == LAYOUT_STRUCT or layout.kind == LAYOUT_SPARSE:
        need = end
    elif layout.kind == LAYOUT_FIXED_LIST:
        if layout.width and end > LONGEST // layout.width:
            return found(fault, TOO_LARGE, end)
        need = end * layout.width
    fault.bytes = added(fault.bytes, data)
    for i in range(array.n_children):
        if array.children[i] is NULL:
            return found(fault, ARRAY_CHILD_NULL, i)
        if enter(fault, <int32_t> i) or check_array(array.children[i], schema.children[i], need, readable, fault):
            return fault.what
        fault.depth -= 1
    if layout.kind == LAYOUT_RUN_END and array.children[0].null_count > 0:
        return found(fault, RUN_END_NULLS, array.children[0].null_count)
    if schema.dictionary is NULL:
        return found(fault, DICTIONARY_EXTRA) if array.dictionary is not NULL else NO_FAULT
    if array.dictionary is NULL:
        return found(fault, DICTIONARY_MISSING)
    if enter(fault, DICTIONARY_STEP) or check_array(array.dictionary, schema.dictionary, 0, readable, fault):
        return fault.what
    fault.depth -= 1
    return NO_FAULT

"""The memory of a Column by role, as Buffers and as a View."""
cimport cython
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from lend._core.arrow cimport ArrowArray, ArrowSchema
from lend._core.arrow_layout cimport (
    LAYOUT_BITS, LAYOUT_DENSE, LAYOUT_FIXED, LAYOUT_LIST, LAYOUT_LIST_VIEW, LAYOUT_OFFSETS, LAYOUT_SPARSE, LAYOUT_VIEWS,
    Layout, has_validity, read_layout,
)
from lend._core.arrow_owners cimport ArrowOwner
from lend._core.column cimport (
    COLUMN_READONLY, FIRST, NULLS_BITMASK, NULLS_BYTEMASK, SECOND, VALIDITY, ColumnRecord,
)
from lend._core.owners cimport MemoryOwner, Owner, allocate
from lend._core.record cimport READONLY, Record, check_layout, read_by_host, set_ndim, shape_of, strides_of
from lend.columns.column cimport Column, buffer_size, dtype_of, held, owner_of_buffer, put_device, single, twin
from lend.dtypes.code cimport (
    KIND_BFLOAT, KIND_BOOL, KIND_COMPLEX, KIND_DATETIME, KIND_FLOAT, KIND_INT, KIND_TIMEDELTA, KIND_UINT, Code,
    code_hides_objects, make_code,
)
from lend.dtypes.dtype cimport DType
from lend.protocols.arrow_check cimport offset_at
from lend.views.buffers cimport Buffer
from lend.views.view cimport View, bytes_of, hold, view_of

from lend.columns import refusals, roles
from lend.errors import LendError


cdef tuple PLAIN = (KIND_BOOL, KIND_INT, KIND_UINT, KIND_FLOAT, KIND_BFLOAT, KIND_COMPLEX)


cdef int strided(Record* record, Column column, int place, char* data, Py_ssize_t count, Py_ssize_t step, Code code,
                 Py_ssize_t itemsize) except -1:
    """So many elements of a buffer on a line."""
    record.data = data
    record.itemsize = <unsigned int> itemsize
    record.exports = 0
    record.dtype = code
    put_device(column, place, record)
    record.flags = READONLY if column.record.flags & COLUMN_READONLY else 0
    set_ndim(record, 1)
    shape_of(record)[0] = count
    strides_of(record)[0] = step
    return 0


cdef Buffer lined(Owner owner, Column column, int place, char* data, Py_ssize_t size, Code code, Py_ssize_t width):
    """So many bytes that lie side by side, which are handed on as elements of that width."""
    cdef Buffer made = Buffer.__new__(Buffer)
    if width < 1 or size % width or code.kind not in PLAIN:
        code = make_code(KIND_UINT, 8)
        width = 1
    strided(&made.record, column, place, data, size // width, width, code, width)
    check_layout(&made.record)
    made.holder = owner
    return made


cdef object nothing(Column column, Py_ssize_t zeros, Code code, Py_ssize_t width):
    """What stands for a buffer that is NULL: no bytes, or the one offset that even no elements have."""
    cdef MemoryOwner owner = allocate(8)
    for i in range(8):
        owner.address[i] = 0
    made = lined(owner, column, FIRST, owner.address, zeros, code, width)
    made.record.device_type = 1
    made.record.device_id = 0
    made.record.flags |= READONLY
    return made


cdef object bytes_at(Column column, int place):
    """One buffer, from its lowest to its highest byte."""
    cdef Record record
    cdef ColumnRecord* facts = &column.record
    cdef Py_ssize_t step, width
    cdef Code code = make_code(KIND_UINT, 8)
    cdef char* start = facts.buffers[place]
    cdef object owner = owner_of_buffer(column, place)
    cdef Buffer made
    cdef Py_ssize_t rows
    width = 1
    if place == FIRST and facts.layout == LAYOUT_FIXED:
        code = facts.code
        width = facts.width
        if code.kind == KIND_DATETIME or code.kind == KIND_TIMEDELTA:
            code = make_code(KIND_INT, 64)
    elif (place == FIRST and (facts.layout == LAYOUT_OFFSETS or facts.layout == LAYOUT_LIST)
            or place != VALIDITY and facts.layout == LAYOUT_LIST_VIEW):
        width = facts.width
    elif place == SECOND and facts.layout == LAYOUT_DENSE:
        width = 4
    elif place == FIRST and (facts.layout == LAYOUT_DENSE or facts.layout == LAYOUT_SPARSE):
        code = make_code(KIND_INT, 8)
    if width > 1 and facts.layout != LAYOUT_FIXED:
        code = make_code(KIND_INT, 8 * width)
    if start is NULL or owner is None:
        return nothing(column, width if place == FIRST and (
            facts.layout == LAYOUT_OFFSETS or facts.layout == LAYOUT_LIST) else 0, code, width)
    if place == FIRST and facts.layout == LAYOUT_FIXED:
        step = facts.steps[1]
    else:
        step = facts.steps[0] if place == VALIDITY and facts.nulls == NULLS_BYTEMASK else width
    if step != width or code_hides_objects(code):
        strided(&record, column, place, start, facts.offset + facts.length, step, code, width)
        check_layout(&record)
        return bytes_of(<Owner?> owner, &record)
    made = lined(<Owner?> owner, column, place, start, buffer_size(column, place), code, width)
    if place == FIRST and facts.layout == LAYOUT_VIEWS:
        rows = made.record.dims[0] // 16
        set_ndim(&made.record, 2)
        shape_of(&made.record)[0] = rows
        shape_of(&made.record)[1] = 16
        strides_of(&made.record)[0] = 16
        strides_of(&made.record)[1] = 1
        check_layout(&made.record)
    return made


def is_on_several(Column column not None):
    """Whether its buffers, or what is below it, are on different devices."""
    held(column)
    return column.places is not None


def known_nulls(Column column not None):
    """Nulls that are known without a look at a column of one chunk; None where they are not."""
    held(column)
    return None if column.record.null_count < 0 else column.record.null_count


def buffers(Column column):
    """A new dict of role to Buffer."""
    cdef ColumnRecord* facts
    cdef dict found = {}
    cdef Owner owner
    cdef int64_t count, i
    column = twin(column)
    facts = &column.record
    for place, role in roles.places(facts.layout):
        if place == VALIDITY and (facts.buffers[VALIDITY] is NULL
                                  or facts.nulls not in (NULLS_BITMASK, NULLS_BYTEMASK)):
            continue
        found[role] = bytes_at(column, place)
    if facts.layout == LAYOUT_VIEWS and facts.node is not NULL:
        if not read_by_host(facts.device_type):
            from lend.protocols.refusals import not_host
            raise not_host(column, None)  # where the longer ones lie stands there, too
        owner = <Owner?> column.holder
        count = facts.node.n_buffers - 3
        found["variadic"] = tuple([
            lined(owner, column, SECOND, <char*> facts.node.buffers[2 + i],
                  offset_at(facts.node.buffers[2 + count], i, 8), make_code(KIND_UINT, 8), 1) for i in range(count)])
    elif facts.layout == LAYOUT_VIEWS:
        found["variadic"] = tuple([part.buffer for part in column.views or ()])
    return found


def view(Column column):
    """The elements as a View; refused where they have no width of their own, or one of them is null."""
    cdef ColumnRecord* facts
    cdef Record record
    cdef DType kind
    column = twin(single(column, "view()"))
    facts = &column.record
    kind = <DType?> dtype_of(column)
    if facts.layout != LAYOUT_FIXED or kind.logical is not None:
        raise refusals.no_view(column, f"no array has elements that are {kind}")
    holder = owner_of_buffer(column, FIRST)
    if facts.nulls in (NULLS_BITMASK, NULLS_BYTEMASK):
        count = column.null_count
        if count:
            raise refusals.has_nulls(column, count)
    strided(&record, column, FIRST, facts.buffers[FIRST] + facts.offset * facts.steps[1], facts.length,
            facts.steps[1], kind.code, facts.width)
    if not facts.length or holder is None:
        record.data = NULL
        record.dims[0] = 0 if holder is None else facts.length
        holder = allocate(0) if holder is None else holder
    check_layout(&record)
    return view_of(<Owner?> holder, &record)


def interface(Column column):
    """`Column.__array_interface__`."""
    held(column)
    try:
        return view(column).__array_interface__
    except LendError as error:
        raise AttributeError(str(error)) from None


def array_struct(Column column):
    """`Column.__array_struct__`."""
    held(column)
    try:
        return view(column).__array_struct__
    except LendError as error:
        raise AttributeError(str(error)) from None


def elements(Column column not None, Py_ssize_t first):
    """The elements from `first` on, counted as the buffers count them, as a View: also what lies under nulls."""
    return lying_from(column, FIRST, first, column.record.steps[1], column.record.code, column.record.width)


def mask_bytes(Column column not None, Py_ssize_t first):
    """The same of a byte mask."""
    return lying_from(column, VALIDITY, first, column.record.steps[0], make_code(KIND_UINT, 8), 1)


cdef View lying_from(Column column, int place, Py_ssize_t first, Py_ssize_t step, Code code, Py_ssize_t width):
    cdef Record record
    cdef ColumnRecord* facts = &column.record
    cdef Py_ssize_t count = facts.offset + facts.length - first
    strided(&record, column, place, facts.buffers[place] + first * step if count else NULL, count, step, code, width)
    check_layout(&record)
    return view_of(<Owner?> owner_of_buffer(column, place), &record)


def beside(list views not None):
    """Lines as the columns of one View, where they lie evenly in one lease and none reaches into another; else None."""
    cdef Record record, other
    cdef Owner owner = hold(<View?> views[0], &record)
    cdef Py_ssize_t count = len(views)
    cdef Py_ssize_t rows, step, width
    cdef Py_ssize_t gap = 0
    cdef Py_ssize_t i
    cdef int readonly = record.flags & READONLY
    if record.ndim != 1 or count < 2:
        return None
    rows, step, width = shape_of(&record)[0], strides_of(&record)[0], record.itemsize
    for i in range(1, count):
        if hold(<View?> views[i], &other) is not owner or other.ndim != 1 or shape_of(&other)[0] != rows:
            return None
        if (memcmp(&other.dtype, &record.dtype, sizeof(Code)) or other.itemsize != width
                or (strides_of(&other)[0] != step and rows > 1)):
            return None
        if i == 1:
            gap = other.data - record.data
        if other.data - record.data != i * gap:
            return None
        readonly |= other.flags & READONLY
    if not width or not rows or not apart(rows, step, count, gap, width) and not apart(count, gap, rows, step, width):
        return None
    set_ndim(&record, 2)
    shape_of(&record)[0] = rows
    shape_of(&record)[1] = count
    strides_of(&record)[0] = step
    strides_of(&record)[1] = gap
    record.flags = readonly
    check_layout(&record)
    return view_of(owner, &record)


cdef bint apart(Py_ssize_t many, Py_ssize_t inner, Py_ssize_t times, Py_ssize_t outer, Py_ssize_t width) noexcept:
    """Whether lines of `many` elements, `times` of them, lie each behind the one before, with no element in another."""
    return (abs(inner) >= width or many < 2) and (abs(outer) >= (many - 1) * abs(inner) + width or times < 2)


def spans(ArrowOwner owner not None):
    """For `lend.loans`: address and bytes of each buffer that an Arrow array pins, and what is below it."""
    cdef list found = []
    with cython.critical_section(owner):
        # what was moved out of it has owners of its own
        if owner.parts is None and owner.array.release is not NULL:
            add_spans(found, &owner.array, owner.type, read_by_host(owner.device_type))
    return found


cdef int add_spans(list found, const ArrowArray* array, const ArrowSchema* type, bint readable) except -1:
    cdef Layout layout
    cdef int64_t end = array.offset + array.length
    cdef int64_t i
    cdef int64_t[3] sizes
    cdef int first
    read_layout(type.format, &layout)
    first = 1 if has_validity(layout.kind) else 0
    sizes[0] = (end + 7) >> 3
    sizes[first] = end if layout.kind == LAYOUT_SPARSE or layout.kind == LAYOUT_DENSE else end * layout.width
    sizes[first + 1] = end * 4 if layout.kind == LAYOUT_DENSE else end * layout.width
    if layout.kind == LAYOUT_BITS:
        sizes[1] = (end + 7) >> 3
    elif layout.kind == LAYOUT_OFFSETS or layout.kind == LAYOUT_LIST:
        sizes[1] = (end + 1) * layout.width
        sizes[2] = offset_at(array.buffers[1], end, layout.width) if array.length and readable else 0
    for i in range(min(array.n_buffers, 2 if layout.kind == LAYOUT_VIEWS else 3)):
        add_span(found, array.buffers[i], sizes[i])
    if layout.kind == LAYOUT_VIEWS and readable:
        for i in range(array.n_buffers - 3):
            add_span(found, array.buffers[2 + i], offset_at(array.buffers[array.n_buffers - 1], i, 8))
    for i in range(array.n_children):
        add_spans(found, array.children[i], type.children[i], readable)
    if array.dictionary is not NULL:
        add_spans(found, array.dictionary, type.dictionary, readable)
    return 0


cdef int add_span(list found, const void* start, int64_t size) except -1:
    if start is not NULL and size > 0:
        found.append((<size_t> start, size))
    return 0


def inner(Column column not None):
    """What a Column keeps of lend's own: its lease or leases, its chunks or children, its dictionary, Views."""
    with cython.critical_section(column):
        return column.holder, column.parts, column.words, column.views

"""Columns made of buffers of anybody's, each with its own owner."""
from libc.stdint cimport int64_t

from lend._core.arrow_layout cimport (
    LAYOUT_BITS, LAYOUT_DENSE, LAYOUT_FIXED, LAYOUT_FIXED_LIST, LAYOUT_LIST, LAYOUT_LIST_VIEW, LAYOUT_NULL,
    LAYOUT_OFFSETS, LAYOUT_SPARSE, LAYOUT_STRUCT, LAYOUT_VIEWS, Layout, has_validity, read_layout,
)
from lend._core.column cimport (
    COLUMN_CHUNKED, COLUMN_READONLY, COLUMN_RELEASED, COLUMN_UNVOUCHED, FIRST, NULLS_BITMASK, NULLS_BYTEMASK,
    NULLS_NONE, SECOND,
    VALIDITY, ColumnRecord,
)
from lend._core.owners cimport Owner
from lend._core.record cimport HANDLE, READONLY, Record, byte_count, on_host, shape_of, strides_of
from lend.columns.column cimport Column, chunked, new_column, put_device, twin
from lend.dtypes.code cimport (
    KIND_UINT, code_hides_objects, code_is_swapped, code_itemsize, code_word, make_code,
)
from lend.dtypes.dtype cimport DType
from lend.protocols.arrow_check cimport offset_at
from lend.views.view cimport View, hold, owner_of, view_of

from lend._core.letting_go import lets_go
from lend.columns import roles, told_kinds
from lend.dtypes.dtype import DType as dtype_from


@lets_go
def build(dtype, length, given, nulls, offset, children, dictionary, name, metadata):
    """`Column.from_buffers`; see there."""
    cdef Column made = new_column()
    cdef ColumnRecord* record = &made.record
    cdef DType kind = <DType?> dtype_from(dtype)
    cdef Layout layout
    cdef bytes format
    cdef list holders = [None, None, None]
    cdef list places = [None, None, None]
    cdef list others = []
    record.flags = 0
    record.length = roles.count("length", length)
    record.offset = roles.count("offset", offset)
    record.device_type = 0
    record.null_count = -1
    made.kind = kind
    made.told_name = roles.text(name)
    made.told_metadata = roles.blob(metadata)
    format = roles.format_of(kind)
    if format is None:
        if code_hides_objects(kind.code) or kind.shares_bytes:
            raise roles.no_layout(kind)
        record.layout = LAYOUT_FIXED
        record.width = code_itemsize(kind.code)
    elif not read_layout(format, &layout):
        raise roles.no_layout(kind)
    else:
        record.layout = layout.kind
        record.width = layout.width
        record.code = layout.code
    if kind.logical is None:
        record.code = kind.code
    record.steps[1] = record.width
    roles.check_reach(record.length, record.offset, record.width)
    given = roles.sorted_out(kind, record.layout, given)
    made.parts = roles.checked_children(kind, record.layout, children)
    for child, (told, _) in zip(made.parts or (), kind.children):
        (<Column?> child).told_name = told
    made.words = roles.checked_dictionary(kind, dictionary)
    set_nulls(made, roles.form_of_nulls(kind, record.layout, given.get("validity"), nulls))
    for place, role in roles.places(record.layout):
        part = given.get(role)
        if part is not None:
            holders[place] = lay(made, place, role, part, places)
    made.views = tuple([pinned(made, part, others) for part in given.get("variadic", ())])
    made.holder = tuple(holders)
    for child in (*(made.parts or ()), made.words):
        if child is not None and lies_somewhere(<Column?> child):
            others.append(((<Column> child).record.device_type, (<Column> child).record.device_id, True))
    settle(made, places, others)
    check_extents(made)
    if leads(made):
        record.flags |= COLUMN_UNVOUCHED
    return made


cdef bint leads(Column made) except -1:
    """Whether its buffers lead anywhere, or those of a part that nobody has looked at."""
    cdef int layout = made.record.layout
    cdef Column part
    if made.words is not None or (layout >= LAYOUT_OFFSETS and layout != LAYOUT_STRUCT and layout != LAYOUT_FIXED_LIST):
        return True
    for part in made.parts or ():
        if part.record.flags & COLUMN_UNVOUCHED:
            return True
    return False


def vouched(Column made not None, Column source=None):
    """A column that lend just made of what it wrote itself, or of a source: as sure as that is of where it leads."""
    if source is None or not source.record.flags & COLUMN_UNVOUCHED:
        made.record.flags &= ~COLUMN_UNVOUCHED
    return made


cdef int settle(Column made, list places, list others) except -1:
    """Note where the column is, with all below it; one on several devices is on none, and knows that of each buffer.

    What has no bytes is wherever the rest is.
    """
    told = [each for each in (*places, *others) if each is not None]
    found = list(dict.fromkeys([each[:2] for each in told if each[2]] or [each[:2] for each in told])) or [(1, 0)]
    if len(found) == 1:
        made.record.device_type, made.record.device_id = found[0]
    if len(found) > 1 or not made.record.device_type:
        made.record.device_type = 0
        made.record.device_id = -1
        made.places = tuple([(1, 0) if each is None else each[:2] for each in places])
    return 0


cdef Owner facts_of(Column made, str role, View part, Record* record):
    """The facts of a buffer and its owner; whether it may be written to is noted."""
    cdef Owner owner = hold(part, record)
    if code_hides_objects(record.dtype):
        raise roles.of_objects(role)
    if record.flags & HANDLE:
        raise roles.refusals.of_a_handle(part.device, part._describe())
    if record.flags & READONLY:
        made.record.flags |= COLUMN_READONLY
    return owner


cdef bint lies_somewhere(Column column) except -1:
    cdef ColumnRecord* record = &column.record
    if (record.node is not NULL or record.buffers[VALIDITY] is not NULL or record.buffers[FIRST] is not NULL
            or record.buffers[SECOND] is not NULL or column.views):
        return True
    for part in (*(column.parts or ()), column.words):
        if part is not None and lies_somewhere(<Column> part):
            return True
    return False


cdef View pinned(Column made, View part, list others):
    """One data buffer of views, as a View that nobody else can release."""
    cdef Record record
    cdef Owner owner = facts_of(made, "variadic", part, &record)
    others.append((record.device_type, record.device_id, byte_count(&record) > 0))
    if shape_of(&record)[0] > 1 and strides_of(&record)[0] != record.itemsize:
        raise roles.has_gaps("variadic")
    if code_word(record.dtype) != code_word(make_code(KIND_UINT, 8)):
        told_kinds.check(made, LAYOUT_VIEWS, SECOND, "variadic", False, 1, part)
    return view_of(owner, &record)


cdef int set_nulls(Column made, form) except -1:
    made.record.nulls = roles.KINDS.index(form.kind)
    made.record.missing = 0 if form.missing is None else form.missing
    made.sentinel = form.value
    if made.record.nulls == NULLS_NONE:
        made.record.null_count = made.record.length if made.record.layout == LAYOUT_NULL else 0
    return 0


cdef Owner lay(Column made, int place, str role, View part, list places):
    """Put one buffer in its place, and note where it is; its owner."""
    cdef ColumnRecord* record = &made.record
    cdef Record told
    cdef Owner owner = facts_of(made, role, part, &told)
    cdef Py_ssize_t step = strides_of(&told)[0]
    cdef Py_ssize_t count = shape_of(&told)[0]
    cdef Py_ssize_t width = told.itemsize
    cdef Py_ssize_t wanted = 1
    record.buffers[place] = told.data
    places[place] = (told.device_type, told.device_id, byte_count(&told) > 0)
    if place != VALIDITY:
        wanted = roles.width_of(record.layout, place, record.width)
    # bits may be told by words of any width
    if width != 1 and width != wanted and record.layout != LAYOUT_BITS and (
            place != VALIDITY or record.nulls == NULLS_BYTEMASK):
        raise roles.wrong_width(made, role, width, wanted)
    if place != VALIDITY and width > 1 and code_is_swapped(told.dtype) != code_is_swapped(record.code):
        raise roles.other_order(made, role)
    if code_word(told.dtype) != code_word(make_code(KIND_UINT, 8)) and (
            place != FIRST or record.layout != LAYOUT_FIXED or code_word(told.dtype) != code_word(record.code)):
        told_kinds.check(made, record.layout, place, role, record.nulls == NULLS_BITMASK, record.width, part)
    strided = place == FIRST and record.layout == LAYOUT_FIXED and width == record.width and step != width
    if place == VALIDITY and record.nulls == NULLS_BYTEMASK:
        record.steps[0] = step
        record.sizes[place] = -1
        roles.check_room(made, role, count, record.offset + record.length, "elements")
    elif strided:
        record.steps[1] = step
        record.sizes[place] = -1
        roles.check_room(made, role, count, record.offset + record.length, "elements")
    else:
        if count > 1 and step != width:
            raise roles.has_gaps(role)
        record.sizes[place] = count * width
    return owner


cdef int check_extents(Column made) except -1:
    """What every buffer must hold, and what it leads to."""
    cdef ColumnRecord* record = &made.record
    cdef Py_ssize_t end = record.offset + record.length
    cdef Py_ssize_t need
    cdef int64_t first, last
    cdef Record told
    if record.nulls == NULLS_BITMASK:
        roles.check_room(made, "validity", record.sizes[VALIDITY], (end + 7) >> 3, "bytes")
    if record.layout == LAYOUT_NULL or not record.length:
        return 0
    if record.layout == LAYOUT_BITS:
        need = (end + 7) >> 3
    elif record.layout == LAYOUT_OFFSETS or record.layout == LAYOUT_LIST:
        need = (end + 1) * record.width
    elif record.layout == LAYOUT_SPARSE or record.layout == LAYOUT_DENSE:
        need = end
    elif record.layout in (LAYOUT_FIXED, LAYOUT_VIEWS, LAYOUT_LIST_VIEW):
        need = end * record.width
    else:
        need = 0
    if need and record.sizes[FIRST] >= 0:
        roles.check_room(made, roles.places(record.layout)[1 if has_validity(record.layout) else 0][1],
                         record.sizes[FIRST], need, "bytes")
    if record.layout == LAYOUT_LIST_VIEW or record.layout == LAYOUT_DENSE:
        roles.check_room(made, "sizes" if record.layout == LAYOUT_LIST_VIEW else "offsets", record.sizes[SECOND],
                         end * (record.width if record.layout == LAYOUT_LIST_VIEW else 4), "bytes")
    put_device(made, FIRST, &told)
    if (record.layout == LAYOUT_OFFSETS or record.layout == LAYOUT_LIST) and on_host(&told):
        first = offset_at(record.buffers[FIRST], record.offset, record.width)
        last = offset_at(record.buffers[FIRST], end, record.width)
        if first < 0 or last < first:
            raise roles.bad_offsets(made, first, last)
        if record.layout == LAYOUT_OFFSETS:
            roles.check_room(made, "data", max(record.sizes[SECOND], 0), last, "bytes")
        else:
            roles.check_room(made, "child", len(made.parts[0]), last, "elements")
    roles.check_children_reach(made, record.layout, end, record.width)
    return 0


def counted(Column made not None, Py_ssize_t nulls):
    """A column of one chunk that lend just made, with the number of its nulls by the word of its producer."""
    made.record.null_count = nulls
    return made


def of_chunks(chunks):
    """A Column of the chunks, all of one type, of which there is at least one."""
    return chunked(list(chunks), None)


def unreadable(name, Py_ssize_t length, why):
    """A Column that cannot be read: whatever it is asked for it raises the reason, a `Closed` or that of another."""
    cdef Column made = new_column()
    made.record.flags = COLUMN_RELEASED
    made.record.device_type = 1  # on no other device than its neighbours: why it cannot be read is what is told
    made.record.length = length
    made.told_name = name
    made.origin = (<Column> why).origin if type(why) is Column else why
    return made


def rows(block, dtype, form, names):
    """A Column for each row of a block of two dimensions, or of its only one: elements of one width, nulls in one form.

    Parameters
    ----------
    block : View
    dtype : DType
        Of the same width as the elements of the View.
    form : Nulls
        None, or what values say.
    names : sequence of str
        One for each row.
    """
    cdef View view = <View?> block
    cdef DType kind = <DType?> dtype
    cdef Owner owner = owner_of(view)
    cdef Column made
    cdef Py_ssize_t i
    cdef bint flat = view.record.ndim == 1
    cdef list found = []
    nulls = roles.KINDS.index(form.kind)
    for i in range(len(names)):
        made = new_column()
        made.record.length = shape_of(&view.record)[0 if flat else 1]
        made.record.null_count = 0 if nulls == NULLS_NONE else -1
        made.record.buffers[FIRST] = view.record.data + (0 if flat else i * strides_of(&view.record)[0])
        made.record.sizes[FIRST] = -1
        made.record.steps[1] = strides_of(&view.record)[0 if flat else 1]
        made.record.code = view.record.dtype if kind.logical is not None else kind.code
        made.record.width = view.record.itemsize
        made.record.device_id = view.record.device_id
        made.record.device_type = view.record.device_type
        made.record.layout = LAYOUT_FIXED
        made.record.nulls = nulls
        made.record.flags = COLUMN_READONLY if view.record.flags & READONLY else 0
        made.sentinel = form.value
        made.holder = owner
        made.kind = kind
        made.told_name = names[i]
        found.append(made)
    return found


def told(Column column, name, metadata):
    """The same column under another name, and with other metadata where some is given."""
    cdef Column made = twin(column)
    if made.record.flags & COLUMN_CHUNKED and made.parts:
        made.parts = tuple([told(part, name, metadata) for part in made.parts])
    made.told_name = roles.text(name)
    if metadata is not None:
        made.told_metadata = roles.blob(metadata)
    return made

"""Tables as Arrow data: arrays of structs, one for each chunk; nothing of their source is changed."""
cimport cython
from libc.stdint cimport int64_t

from lend._core.arrow cimport ArrowArray, ArrowSchema
from lend._core.arrow_layout cimport Layout, read_layout
from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner, StreamOwner
from lend._core.record cimport read_by_host
from lend.columns.giving cimport describe_named, event_of, look, push_down, sayable
from lend.columns.giving cimport fill as fill_column
from lend.columns.column cimport Column, held
from lend.protocols.arrow cimport (
    array_capsule, begin_array, copy_schema, describe_type, encoded_metadata, give_node, schema_capsule, settle,
)
from lend.protocols.arrow_check cimport metadata_size
from lend.protocols.arrow_device cimport device_capsule, device_stream_capsule
from lend.protocols.arrow_stream cimport next_array, stream_capsule, take_stream_capsule
from lend.tables.table cimport (
    UNKNOWN_ROWS, Table, check_all, column_at, lazy_table, other_columns, pieces, table_of_batches,
)

from types import MethodType

from lend.columns import requests
from lend.columns.giving import wish
from lend.tables.requests import fitted_table

from lend.tables import refusals, sources


def schema(Table table not None):
    """`Table.__arrow_c_schema__`."""
    cdef ArrowSchema made
    describe(sayable_table(table, True), &made)
    return schema_capsule(&made)


cdef Table sayable_table(Table table, bint types_alone=False):
    """The table in a form that Arrow has: itself, or one whose columns are where they must be copied, and counted."""
    cdef Py_ssize_t i
    if table.arrays is not None:
        return table
    columns = [column_at(table, i) for i in range(table.width)]
    for column in columns if not types_alone else ():
        look(<Column> column)
    given = [sayable(<Column> (column[:0] if types_alone else column)) for column in columns]
    if all([one is other for one, other in zip(columns, given)]):
        return table
    return other_columns(table, table.names, given, 0 if types_alone else table.rows)


def array_method(Table table not None):
    """`Table.__arrow_c_array__`: consumers prefer it to the stream, so that only who has one array has it."""
    if table.rows == UNKNOWN_ROWS or not is_whole(table):
        raise AttributeError("a Table of several chunks, or whose rows did not come yet, is given by "
                             "__arrow_c_stream__() alone")
    return MethodType(array, table)


def device_array_method(Table table not None):
    """`Table.__arrow_c_device_array__`: of one array, as the other."""
    if table.rows == UNKNOWN_ROWS or not is_whole(table):
        raise AttributeError("a Table of several chunks, or whose rows did not come yet, is given by "
                             "__arrow_c_device_stream__() alone")
    return MethodType(device_array, table)


cdef bint is_whole(Table table) except -1:
    """Whether it is one array: no column has two chunks with rows in them."""
    cdef Py_ssize_t i
    if table.arrays is not None:
        return sum([(<ArrowOwner> owner).array.length > 0 for owner in table.arrays]) <= 1
    for i in range(table.width):
        if sum([(<Column> part).record.length > 0 for part in column_at(table, i).chunks]) > 1:
            return False
    return True


def array(Table table not None, requested_schema=None):
    """The table as one array of structs; it has one chunk."""
    on_host(table)
    return whole(asked_table(table, requested_schema), False)


def device_array(Table table not None, requested_schema=None, **options):
    """The same, which tells the device that it is on."""
    requests.check_options("__arrow_c_device_array__()", options)
    return whole(asked_table(table, requested_schema), True)


cdef tuple whole(Table table, bint far):
    cdef ArrowSchema kind
    cdef ArrowArray made
    parts = given_parts(table)
    place = device_of(table)
    event = (events_of(parts) or [0])[0] if far else 0
    describe(table, &kind)
    try:
        if parts:
            fill(parts[0], &made)
        else:
            fill_nothing(&kind, &made)
        if far:
            capsule = device_capsule(&made, place[0], place[1], event)
        else:
            capsule = array_capsule(&made)
    except BaseException:
        kind.release(&kind)
        raise
    return schema_capsule(&kind), capsule


def stream(Table table not None, requested):
    """`Table.__arrow_c_stream__`."""
    if table.rows == UNKNOWN_ROWS:
        return pending_stream(table)
    on_host(table)
    table = asked_table(table, requested)
    return stream_capsule(given_parts(table), table, describe, fill)


def device_stream(Table table not None, requested):
    """`Table.__arrow_c_device_stream__`."""
    cdef tuple parts
    if table.rows == UNKNOWN_ROWS:
        return device_stream_capsule(pending_stream(table), 1, -1, [])
    table = asked_table(table, requested)
    parts = given_parts(table)
    place = device_of(table)
    return device_stream_capsule(stream_capsule(parts, table, describe, fill), place[0], place[1], events_of(parts))


cdef Table asked_table(Table table, object requested):
    """The table as a consumer wishes, where that loses nothing and lend can; in a form that Arrow has."""
    if requested is not None:
        table = fitted_table(table, wish(requested))
    return sayable_table(table)


cdef tuple device_of(Table table):
    """(device type, device id) of all columns."""
    cdef ArrowOwner owner
    cdef Column column
    cdef set found = set()
    if table.arrays is not None:
        for owner in table.arrays:
            found.add(owner.place)
    else:
        for column in table.made:
            held(column)  # one that could not be read says why
            found.add((column.record.device_type, column.record.device_id))
    if len(found) > 1:
        raise refusals.several_devices(table)
    return found.pop() if found else (1, 0)


cdef int on_host(Table table) except -1:
    if not read_by_host(device_of(table)[0]):
        raise refusals.not_on_host(table)
    return 0


cdef list events_of(tuple parts):
    """For each part what says when it may be read, as for device_capsule."""
    cdef list found = []
    cdef Table table
    for part in parts:
        if type(part) is ArrowOwner:
            found.append(<size_t> (<ArrowOwner> part).sync_event)
            continue
        table = <Table> part
        found.append(event_of([column_at(table, i) for i in range(table.width)]) if table.width else 0)
    return found


def each(Table table not None):
    """`Table.batches`."""
    cdef _Batches made
    if table.rows != UNKNOWN_ROWS:
        return iter(table.chunks)
    made = _Batches.__new__(_Batches)
    made.stream = take_stream_capsule(handed_on(table), table.lender)
    made.types = table.types if table.picked is None else table.told_types
    made.picked = table.picked
    return made


cdef object handed_on(Table table):
    """The stream of a lazy table, whose rows are pulled now: who gives them once is remembered."""
    capsule = table.take_pending()
    giver = None if table.giver is None else table.giver()
    if giver is not None:
        sources.begun(giver)
    return capsule


cdef object pending_stream(Table table):
    """The stream of a lazy table: as it came, or one that leaves out of each array what is not wanted."""
    if table.picked is None:
        return handed_on(table)
    return stream_capsule(each(table), table, describe, fill)


def select_lazily(Table table not None, list wanted not None):
    """`Table.select` of a lazy table, which is handed on to the one that is made."""
    cdef SchemaOwner types = SchemaOwner.__new__(SchemaOwner)
    cdef Table nothing = table_of_batches([], table.types).select(wanted)
    cdef Table made
    describe(nothing, &types.schema)
    made = lazy_table(table.take_pending(), types, table.lender)
    made.giver = table.giver
    made.told_types = table.types if table.picked is None else table.told_types
    made.picked = wanted if table.picked is None else [table.picked[<Py_ssize_t> place] for place in wanted]
    return made


def all_rows(Table table not None):
    """A Table of all that a lazy one still gives."""
    cdef StreamOwner stream = take_stream_capsule(table.take_pending(), table.lender)
    cdef SchemaOwner types = table.types if table.picked is None else table.told_types
    cdef ArrowOwner owner
    cdef list owners = []
    giver = None if table.giver is None else table.giver()
    before = giver is not None and sources.begun(giver)
    while True:
        owner = next_array(stream, types)
        if owner is None:
            break
        owners.append(owner)
    if giver is not None:
        sources.ended(giver, len(owners), before)
    made = table_of_batches(owners, types)
    return made if table.picked is None else made.select(table.picked)


@cython.final
cdef class _Batches:
    """The rows of a lazy table, one array of its stream at a time."""

    cdef StreamOwner stream
    cdef SchemaOwner types
    cdef list picked

    def __iter__(self):
        return self

    def __next__(self):
        cdef StreamOwner stream = self.stream
        cdef ArrowOwner owner = None
        if stream is None:
            raise StopIteration
        self.stream = None
        owner = next_array(stream, self.types)
        if owner is None:
            raise StopIteration
        self.stream = stream
        made = table_of_batches([owner], self.types)
        return made if self.picked is None else made.select(self.picked)


cdef tuple given_parts(Table table):
    """What becomes one array each: the arrays as they came, or the table cut wherever a column is; none is empty."""
    if table.arrays is None:
        return tuple(pieces(table))
    check_all(table)
    return tuple([owner for owner in table.arrays if (<ArrowOwner> owner).array.length])


cdef int describe(object given, ArrowSchema* out) except -1:
    cdef Table table = <Table> given
    cdef Py_ssize_t i
    cdef const char* blob = NULL
    cdef bytes told
    cdef Py_ssize_t size = 0
    if table.arrays is not None:
        return copy_schema(&table.types.schema, out, b"")
    if table.told_metadata:
        told = encoded_metadata(table.told_metadata)
        blob, size = told, len(told)
    elif table.types is not None and table.types.schema.metadata is not NULL:
        blob = table.types.schema.metadata
        size = metadata_size(blob)
    names = [refusals.encoded(name, i) for i, name in enumerate(table.names)]
    describe_type(out, b"+s", b"", 0, table.width, False, blob, size)
    try:
        for i in range(table.width):
            describe_named(column_at(table, i), out.children[i], <bytes> names[i])
    except BaseException:
        out.release(out)
        raise
    return 0


cdef int fill(object given, ArrowArray* out) except -1:
    cdef Table table
    cdef Py_ssize_t i
    if type(given) is ArrowOwner:
        return fill_batch(<ArrowOwner> given, out)
    table = <Table> given
    begin_array(out, 1, table.width, False, None)
    try:
        out.length = table.rows
        for i in range(table.width):
            fill_column(column_at(table, i), out.children[i])
    except BaseException:
        out.release(out)
        raise
    return 0


cdef int fill_batch(ArrowOwner owner, ArrowArray* out) except -1:
    """An array of structs as it came, of which no row is null: its offset is told to its children alone."""
    out.release = NULL
    try:
        with cython.critical_section(owner):
            give_node(out, &owner.array, &owner.types.schema, owner)
    except BaseException:
        if out.release is not NULL:
            out.release(out)
        raise
    out.buffers[0] = NULL  # what it says of other rows would be said of these
    out.null_count = 0
    push_down(out)
    return 0


cdef int fill_nothing(const ArrowSchema* kind, ArrowArray* out) except -1:
    """An array of a type without an element."""
    cdef Layout layout
    cdef int64_t i
    read_layout(kind.format, &layout)
    begin_array(out, layout.buffers, kind.n_children, kind.dictionary is not NULL, None)
    settle(out, layout.kind)
    try:
        for i in range(kind.n_children):
            fill_nothing(kind.children[i], out.children[i])
        if kind.dictionary is not NULL:
            fill_nothing(kind.dictionary, out.dictionary)
    except BaseException:
        out.release(out)
        raise
    return 0

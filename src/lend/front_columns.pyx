"""The front door of columns and tables: which way an object is taken as one."""
from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_CheckExact, PyCapsule_IsValid

from lend._core.arrow cimport ARROW_FLAG_NULLABLE, ArrowArrayStream, ArrowSchema
from lend._core.arrow_layout cimport LAYOUT_FIXED
from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner, StreamOwner
from lend._core.column cimport (
    COLUMN_READONLY, FIRST, NULLS_BITMASK, NULLS_NAT, NULLS_NONE, ColumnRecord,
)
from lend._core.owners cimport Owner
from lend._core.record cimport HANDLE, READONLY, shape_of, strides_of
from lend._core.shortcuts cimport shorten_call, shorten_other_call
from lend.columns.column cimport Column, chunked, column_of, held, new_column, unmasked
from lend.dtypes.code cimport KIND_COMPLEX, KIND_DATETIME, KIND_TIMEDELTA, code_is_swapped
from lend.dtypes.dtype cimport dtype_from_code
from lend.front cimport view_wanted
from lend.protocols.arrow cimport (
    ask, copy_schema, dtype_of_schema, put_on_device, record_of, refuse_consumed, refuse_fault, struct_in, take_array,
    take_pair,
)
from lend.protocols.arrow_check cimport Fault, begin_check, check_schema
from lend.protocols.arrow_device cimport (
    is_device_array, is_device_stream, take_device_array, take_device_pair, take_device_stream,
    take_device_stream_capsule,
)
from lend.protocols.arrow_stream cimport next_array, stream_schema, take_stream, take_stream_capsule
from lend.tables.table cimport Table, lazy_table, table_of_batches
from lend.views.view cimport View, owner_of

from lend.protocols.classes import shows

cdef:
    const char* STREAM = "arrow_array_stream"
    const char* SCHEMA = "arrow_schema"
    const char* EMPTY = ""
    str STREAM_METHOD = "__arrow_c_stream__"
    str SCHEMA_METHOD = "__arrow_c_schema__"

# what is known of a type: which methods of Arrow's interface it shows, and whether an adapter takes its objects
cdef dict ways = {}
cdef dict adapters = {}
cdef enum:
    ARRAY_WAY = 1
    STREAM_WAY = 2
    ADAPTER_WAY = 4
    ONCE_WAY = 8          # it may be that it gives its rows once
    DEVICE_ARRAY_WAY = 16  # by the methods of devices: in place of the others
    DEVICE_STREAM_WAY = 32
    DEVICE_WAYS = 48
    REMEMBERED_WAYS = 256


def column(obj, *, copy=None, nulls=None, dtype=None, bint nested=False):
    """Lend a column: its values, its nulls in the form they have, its text, its nested parts; nothing is copied.

    Parameters
    ----------
    obj : object
        Anything with `__arrow_c_array__` or `__arrow_c_stream__`, the capsules these give, a numpy.ma array, an array
        interface with a mask, or what `lend.view` takes of one dimension; records become structs.
    copy : bool, optional
        None (default) copies only what cannot be shared as it lies (numbers in the other byte order), and counts it;
        False raises CopyRequired for that; True makes fresh memory of lend's own.
    nulls : str or a value, optional
        What counts as null: None as the producer says, "none", "nan", "nat", or the value that stands for null.
    dtype : DType or anything `DType` understands, optional
        Required dtype: another one is refused.
    nested : bool, optional
        Whether the Python objects of a pandas column (lists, dicts, Decimals) may be read as nested data, by pyarrow: a
        counted copy. Without it such a column is refused.

    Returns
    -------
    Column
        Valid as long as it, or anything made from it, lives.

    Raises
    ------
    NotLendable
        When no protocol of the object lends it as one column.
    MalformedDescriptor
        When what the producer says cannot be true; the column and field are named.

    Examples
    --------
    >>> import array, lend
    >>> lend.column(array.array("d", [1.0, 2.0])).tolist()
    [1.0, 2.0]
    >>> lend.column(array.array("d", [1.0, -9.0]), nulls=-9.0).tolist()
    [1.0, None]
    """
    checked(copy)
    if nested:
        from lend.adapters import columns as special
        made = special.nested(obj, take_column, copy)
    else:
        made = column_taken(obj, copy)
    if copy is not True and nulls is None and dtype is None:
        return made
    from lend.adapters import column_wishes
    return column_wishes.met(made, copy is True, nulls, dtype)


def table(obj, *, copy=None, nulls=None, index=None, columns=None, bint lazy=False):
    """Lend a table: named columns of one length; nothing is copied.

    Parameters
    ----------
    obj : object
        Anything with `__arrow_c_stream__` or `__arrow_c_array__` of structs, the capsules these give, a dict of names
        to whatever `lend.column` takes, an array of records or of two dimensions, a Column of structs.
    copy : bool, optional
        As for `lend.column`, of each column.
    nulls : str or a value, optional
        As for `lend.column`, of each column whose type has such values.
    index : str, optional
        Of a DataFrame of pandas. None: an index that says something becomes columns, and is noted in the metadata, so
        that pandas gets it back. "column": columns alone. "drop": left out. "metadata": a RangeIndex, as numbers.
    columns : sequence of str or int, optional
        Those that are wanted, in this order; nothing of the others is looked at.
    lazy : bool, optional
        True reads names and types of a stream, and leaves the rows in it: the table hands it on, once.

    Returns
    -------
    Table
        Valid as long as it, or anything made from it, lives. A column of it keeps what it needs, and no other.

    Raises
    ------
    NotLendable
        When no protocol of the object lends it as a table.
    MalformedDescriptor
        When what the producer says cannot be true, or was consumed before.

    Examples
    --------
    >>> import array, lend
    >>> lend.table({"a": array.array("i", [1, 2])})
    <Table 2 rows: a int32>
    """
    checked(copy)
    if lazy:
        from lend.adapters import columns as special
        special.check_lazy(copy, nulls, columns)
        made = None if index is not None else lazily(obj)
        if made is not None:
            return made
    if index is not None:
        from lend.adapters import columns as special
        return special.with_index(obj, index, columns, take_column, copy, nulls)
    else:
        made = table_taken(obj, columns, copy)
    if copy is not True and nulls is None:
        return made
    from lend.adapters import column_wishes
    return column_wishes.met_by_all(made, copy is True, nulls)


cdef object checked(object copy):
    if copy is not None and copy is not True and copy is not False:
        from lend.protocols import refusals
        raise refusals.no_choice("copy", copy)
    return copy


cdef object column_plain(object obj):
    """`column(obj)`: nothing asked."""
    return column_taken(obj, None)


cdef object table_plain(object obj):
    """`table(obj)`: nothing asked."""
    return table_taken(obj, None, None)


def take_column(obj, copy=None):
    """For the adapters: `column(obj, copy=copy)`, but that a copy of all is not made."""
    return column_taken(obj, copy)


def take_table(obj, keys, copy=None):
    """For the adapters: `table(obj, columns=keys, copy=copy)`, but that a copy of all is not made."""
    return table_taken(obj, keys, copy)


cdef int way_of(cls) except -1:
    """Which way a type goes: looked up once, and remembered where its metaclass lets it be hashed."""
    cdef int way
    try:
        known = ways.get(cls)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - the hash of a metaclass may raise anything
        return look_up(cls)
    if known is not None:
        return <int> known
    way = look_up(cls)
    if len(ways) >= REMEMBERED_WAYS:
        ways.clear()
    ways[cls] = way
    return way


cdef int look_up(cls) except -1:
    cdef int way = 0
    from lend.adapters import columns as special
    # a Table has an array only where it is of one chunk
    if cls is not Table and shows(cls, "__arrow_c_array__"):
        way |= ARRAY_WAY
    if shows(cls, STREAM_METHOD):
        way |= STREAM_WAY
    if special.adapter_of(cls) is None and shows_device(cls) and (not way or special.goes_by_device(cls)):
        way = 0
        if shows(cls, "__arrow_c_device_array__"):
            way |= DEVICE_ARRAY_WAY
        if shows(cls, "__arrow_c_device_stream__"):
            way |= DEVICE_STREAM_WAY
    if way & (STREAM_WAY | DEVICE_STREAM_WAY):
        if not (shows(cls, "__len__") or shows(cls, "num_rows") or shows(cls, "shape")):
            way |= ONCE_WAY
    if special.adapter_of(cls) is not None:
        way |= ADAPTER_WAY
    return way


cdef bint shows_device(cls) except -1:
    return cls is not Table and (shows(cls, "__arrow_c_device_array__") or shows(cls, "__arrow_c_device_stream__"))


# -- columns -----------------------------------------------------------------------------------------------------------

cdef Column column_taken(object obj, object copy):
    """A Column of obj; `copy` False refuses what cannot be shared as it lies."""
    cdef Column made
    cdef int way
    cls = type(obj)
    if cls is Column:
        held(<Column> obj)
        return <Column> obj
    way = way_of(cls)
    if way & ADAPTER_WAY:
        from lend.adapters import columns as special
        other = special.adapter_of(cls).column(obj, take_column, copy)
        if type(other) is Column:
            made = <Column> other
        else:
            way = way_of(type(other))
            made = column_by(other, way, copy)
    else:
        made = column_by(obj, way, copy)
    if made.origin is None and way & ONCE_WAY == 0 and not (PyCapsule_CheckExact(obj) or cls is tuple):
        made.origin = obj
    return made


cdef Column column_by(object obj, int way, object copy):
    cdef Column made
    cdef View seen
    if way & DEVICE_WAYS:
        return column_on_device(obj, way)
    if way & ARRAY_WAY:
        made = new_column()
        made.holder = take_array(obj, &made.record)
        return from_array(made)
    if way & STREAM_WAY:
        return from_stream(take_stream(obj), obj if way & ONCE_WAY else None)
    if PyCapsule_CheckExact(obj) and PyCapsule_IsValid(obj, STREAM):
        return from_stream(take_stream_capsule(obj, None), None)
    if is_pair(obj):
        made = new_column()
        made.holder = take_capsules(<tuple> obj, &made.record)
        return from_array(made)
    if is_device_stream(obj):
        return from_stream(take_device_stream_capsule(obj, None), None)
    try:
        seen = view_wanted(obj, 0)
    except BufferError as refusal:
        refused = refusal
    else:
        return from_view(seen, copy)
    from lend.adapters import columns as special
    return special.closed(obj, refused, take_column, copy)


cdef Column column_on_device(object obj, int way):
    """A Column of what tells its device."""
    cdef Column made
    if way & DEVICE_STREAM_WAY and not way & DEVICE_ARRAY_WAY:
        return from_stream(take_device_stream(obj), obj if way & ONCE_WAY else None)
    made = new_column()
    made.holder = take_device_array(obj, &made.record)
    return from_array(made)


cdef ArrowOwner take_capsules(tuple pair, ColumnRecord* record):
    """Take a pair of capsules, the second of which is an array of either kind."""
    if is_device_array(pair[1]):
        return take_device_pair(pair[0], pair[1], None, record)
    return take_pair(pair[0], pair[1], None, record)


cdef bint is_pair(object obj):
    return type(obj) is tuple and len(<tuple> obj) == 2 and PyCapsule_CheckExact((<tuple> obj)[0])


cdef Column from_array(Column made):
    """Of an array that was taken; one that says of itself that nothing in it is null is not believed at once."""
    made.types = (<ArrowOwner> made.holder).types
    if (not made.record.type.flags & ARROW_FLAG_NULLABLE and made.record.nulls == NULLS_BITMASK
            and made.record.device_type in (1, 3, 11, 13) and made.null_count):
        from lend.tables import refusals
        raise refusals.null_in_required(made.name, -1, made.holder, made.null_count)
    return unmasked(made)


cdef list pulled(StreamOwner stream, SchemaOwner types, object obj):
    """All arrays of a stream; `obj` is who may give them once, None where nobody needs to remember."""
    cdef ArrowOwner owner
    cdef list owners = []
    if obj is not None:
        from lend.tables import sources
        before = sources.begun(obj)
    while True:
        PyErr_CheckSignals()
        owner = next_array(stream, types)
        if owner is None:
            break
        owners.append(owner)
    if obj is not None:
        sources.ended(obj, len(owners), before)
    return owners


cdef Column from_stream(StreamOwner stream, object obj):
    """All arrays of a stream, each a chunk with a lease of its own."""
    cdef SchemaOwner types = stream_schema(stream)
    cdef ArrowOwner owner
    cdef ColumnRecord record
    cdef list chunks = []
    cdef Column made
    for owner in pulled(stream, types, obj):
        record_of(&owner.array, &types.schema, &record)
        put_on_device(&record, owner)
        made = column_of(owner, &record, types)
        chunks.append(from_array(made))
    return chunked(chunks, types)


cdef Column from_view(View view, object copy):
    """Elements of one width on a line; no value of them is null unless somebody says so, but NaT."""
    cdef Column made = new_column()
    cdef Owner owner
    cdef ColumnRecord* record = &made.record
    cdef int kind = view.record.dtype.kind
    if (view.record.ndim != 1 or kind > KIND_COMPLEX
            or code_is_swapped(view.record.dtype)):
        from lend.adapters import columns as special
        other = special.unusual(view, take_column, copy)
        if type(other) is Column:
            return <Column> other
        view = <View?> other
        kind = view.record.dtype.kind
    owner = owner_of(view)
    if view.record.flags & HANDLE:
        from lend.columns import refusals
        raise refusals.of_a_handle(view.device, view._describe())
    record.length = shape_of(&view.record)[0]
    record.null_count = 0
    record.buffers[FIRST] = view.record.data
    record.sizes[FIRST] = -1
    record.steps[1] = strides_of(&view.record)[0]
    record.code = view.record.dtype
    record.width = view.record.itemsize
    record.device_id = view.record.device_id
    record.device_type = view.record.device_type
    record.layout = LAYOUT_FIXED
    record.nulls = NULLS_NONE
    if kind == KIND_DATETIME or kind == KIND_TIMEDELTA:
        record.nulls = NULLS_NAT
        record.null_count = -1
    record.flags = COLUMN_READONLY if view.record.flags & READONLY else 0
    made.holder = owner
    made.kind = dtype_from_code(view.record.dtype)
    return made


# -- tables ------------------------------------------------------------------------------------------------------------

cdef Table table_taken(object obj, object keys, object copy):
    """A Table of obj, or of those of its columns that are wanted."""
    cdef Table made
    cdef int way
    cls = type(obj)
    if cls is Table:
        return obj if keys is None else obj.select(keys)
    way = way_of(cls)
    if cls is Column:
        from lend.tables import table
        made = table.of_structs(obj)
    elif way & ADAPTER_WAY:
        from lend.adapters import columns as special
        other = special.adapter_of(cls).table(obj, keys, take_column, copy)
        if type(other) is Table:
            made = <Table> other
            if keys is not None:
                return made
        elif other is obj:
            made = table_by(obj, way, copy)
        else:
            return table_taken(other, keys, copy)
    elif isinstance(obj, dict):
        from lend.adapters import columns as special
        return special.of_dict(obj, keys, take_column, copy)
    else:
        made = table_by(obj, way, copy)
    if keys is not None:
        return made.select(keys)
    if way & ONCE_WAY == 0 and not (PyCapsule_CheckExact(obj) or cls is tuple):
        made.origin = obj
    return made


cdef Table table_by(object obj, int way, object copy):
    if way & DEVICE_STREAM_WAY:
        return table_from_stream(take_device_stream(obj), obj, way)
    if way & DEVICE_ARRAY_WAY:
        return from_structs(column_on_device(obj, way), obj)
    if way & STREAM_WAY:
        return table_from_stream(take_stream(obj), obj, way)
    if way & ARRAY_WAY:
        made = new_column()
        made.holder = take_array(obj, &made.record)
        return from_structs(made, obj)
    if PyCapsule_CheckExact(obj) and PyCapsule_IsValid(obj, STREAM):
        return table_from_stream(take_stream_capsule(obj, None), obj, 0)
    if is_pair(obj):
        made = new_column()
        made.holder = take_capsules(<tuple> obj, &made.record)
        return from_structs(made, obj)
    if is_device_stream(obj):
        return table_from_stream(take_device_stream_capsule(obj, None), obj, 0)
    from lend.adapters import columns as special
    return special.other_table(obj, take_column, copy)


cdef int check_structs(SchemaOwner types, object obj) except -1:
    if types.schema.format[0] != c"+" or types.schema.format[1] != c"s":
        from lend.tables import refusals, sources
        raise refusals.no_struct(dtype_of_schema(&types.schema), sources.came(obj))
    return 0


cdef Table table_from_stream(StreamOwner stream, object obj, int way):
    """All arrays of a stream of structs."""
    cdef SchemaOwner types = stream_schema(stream)
    check_structs(types, obj)
    return table_of_batches(pulled(stream, types, obj if way & ONCE_WAY else None), types)


cdef Table from_structs(Column column, object obj):
    """One array of structs."""
    cdef ArrowOwner owner = <ArrowOwner> column.holder
    check_structs(owner.types, obj)
    return table_of_batches([owner], owner.types)


cdef Table lazily(object obj):
    """A Table over a stream whose rows stay in it; None where obj is nothing that has a stream."""
    cdef SchemaOwner types
    cdef object capsule = obj
    cdef object lender = None
    cls = type(obj)
    if cls is Table or cls is Column:
        return None
    way = way_of(cls)
    if way & STREAM_WAY and not way & ADAPTER_WAY:
        capsule = ask(obj, STREAM_METHOD)
        lender = cls
    elif not (PyCapsule_CheckExact(obj) and PyCapsule_IsValid(obj, STREAM)):
        return None
    types = types_in(capsule, lender)
    check_structs(types, obj)
    return lazy_table(capsule, types)


cdef SchemaOwner types_in(object capsule, object lender):
    """The types that a stream tells, which is looked at where it lies: they may be asked of it again."""
    cdef ArrowArrayStream* told = <ArrowArrayStream*> struct_in(capsule, STREAM, lender)
    cdef StreamOwner peek = StreamOwner.__new__(StreamOwner)
    if told.release is NULL:
        refuse_consumed(lender, STREAM)
    peek.stream = told[0]
    peek.lender = lender
    try:
        return stream_schema(peek)
    finally:
        peek.stream.release = NULL


cdef SchemaOwner copied_schema(object capsule, object lender):
    """A type like the one in a capsule, which stays where it is."""
    cdef ArrowSchema* told = <ArrowSchema*> struct_in(capsule, SCHEMA, lender)
    cdef SchemaOwner types = SchemaOwner.__new__(SchemaOwner)
    cdef Fault fault
    if told.release is NULL:
        refuse_consumed(lender, SCHEMA)
    begin_check(&fault)
    if check_schema(told, &fault):
        refuse_fault(lender, told, &fault)
    copy_schema(told, &types.schema, told.name if told.name is not NULL else EMPTY)
    return types


def gives_once(obj):
    """Whether what obj lends may be gone once it was taken: a bare capsule, a reader."""
    if type(obj) is Table:
        return (<Table> obj).is_lazy
    if PyCapsule_CheckExact(obj):
        return bool(PyCapsule_IsValid(obj, STREAM)) or is_device_stream(obj)
    return is_pair(obj) or bool(way_of(type(obj)) & ONCE_WAY)


def described(obj):
    """For `lend.explain`: a Table or Column without rows, of the types of what gives once, which is left as it is.

    None where it does not tell them before it is read.
    """
    cdef SchemaOwner types
    if is_device_stream(obj):
        return None
    if PyCapsule_CheckExact(obj):
        types = types_in(obj, None)
    elif is_pair(obj):
        types = copied_schema((<tuple> obj)[0], None)
    else:
        for teller in (obj, getattr(obj, "schema", None)):
            if shows(type(teller), SCHEMA_METHOD):
                types = copied_schema(ask(teller, SCHEMA_METHOD), type(obj))
                break
        else:
            return None
    if types.schema.format[0] == c"+" and types.schema.format[1] == c"s":
        return table_of_batches([], types)
    return chunked([], types)


shorten_call(column, column_plain)
shorten_other_call(table, table_plain)

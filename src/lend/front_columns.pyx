"""The front door of columns and tables: which way an object is taken as one."""
from cpython.pycapsule cimport PyCapsule_CheckExact

from lend._core.arrow cimport ARROW_FLAG_NULLABLE
from lend._core.arrow_layout cimport LAYOUT_FIXED
from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner, StreamOwner
from lend._core.column cimport (
    COLUMN_READONLY, FIRST, NULLS_BITMASK, NULLS_NAT, NULLS_NONE, ColumnRecord,
)
from lend._core.owners cimport Owner
from lend._core.record cimport HANDLE, READONLY, read_by_host, shape_of, strides_of
from lend._core.shortcuts cimport shorten_call, shorten_other_call
from lend.columns.column cimport Column, chunked, column_of, held, new_column, unmasked
from lend.dtypes.code cimport KIND_COMPLEX, KIND_DATETIME, KIND_TIMEDELTA, code_is_swapped
from lend.dtypes.dtype cimport dtype_from_code
from lend.front cimport view_wanted
from lend.protocols.arrow cimport dtype_of_schema, record_of
from lend.protocols.arrow_stream cimport stream_schema
from lend.tables.table cimport Table, table_of_batches
from lend.views.view cimport View, owner_of

from lend.protocols.classes import shows

cdef str STREAM_METHOD = "__arrow_c_stream__"

# what is known of a type: which methods of Arrow's interface it shows, and whether an adapter takes its objects
cdef dict ways = {}
cdef dict adapters = {}  # the adapters of those types
cdef enum:
    ARRAY_WAY = 1
    STREAM_WAY = 2
    ADAPTER_WAY = 4
    ONCE_WAY = 8          # it may be that it gives its rows once
    DEVICE_ARRAY_WAY = 16  # by the methods of devices: in place of the others
    DEVICE_STREAM_WAY = 32
    REMEMBERED_WAYS = 256


def column(obj, *, copy=None, nulls=None, dtype=None, bint nested=False):
    """Lend a column: its values, its nulls in the form they have, its text, its nested parts; nothing is copied.

    Parameters
    ----------
    obj : object
        Anything with `__arrow_c_array__` or `__arrow_c_stream__`, the capsules these give, a numpy.ma array, an array
        interface with a mask, what shows its buffers as pylibcudf's Column does, or what `lend.view` takes of one
        dimension; records become structs.
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


def table(obj, *, copy=None, nulls=None, index=None, columns=None, bint lazy=False, bint nested=False):
    """Lend a table: named columns of one length; nothing is copied.

    Parameters
    ----------
    obj : object
        Anything with `__arrow_c_stream__` or `__arrow_c_array__` of structs, the capsules these give, a dict of names
        to whatever `lend.column` takes, an array of records or of two dimensions, a Column of structs, a Table of
        pylibcudf, a DataFrame of cudf (without its index).
    copy : bool, optional
        As for `lend.column`, of each column.
    nulls : str or a value, optional
        As for `lend.column`, of each column whose type has such values.
    index : str, optional
        Of a DataFrame of pandas. None: an index that says something becomes columns, and is noted in the metadata, so
        that pandas gets it back; arrays of the table leave it out. "column": columns alone. "drop": left out.
        "metadata": a RangeIndex, as numbers.
    columns : sequence of str or int, optional
        Those that are wanted, in this order; nothing of the others is looked at.
    lazy : bool, optional
        True reads names and types of a stream, and leaves the rows in it: the table hands it on, once, and
        `lend.table` of it takes all rows.
    nested : bool, optional
        As for `lend.column`, of each column.

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
        special.check_lazy(copy, nulls)
        made = None if index is not None else lazily(obj)
        if made is not None:
            return made if columns is None else made.select(columns)
    if index is not None or nested:
        from lend.adapters import columns as special
        made = special.with_index(obj, index, columns, take_column, copy, nulls, nested)
        if made is not None:
            return made
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
        adapters.clear()
    if way & ADAPTER_WAY:
        adapters[cls] = adapter_of(cls)
    ways[cls] = way
    return way


cdef object adapter_for(cls):
    """The adapter that takes the objects of a type: remembered with its way."""
    try:
        known = adapters.get(cls)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - as above
        known = None
    return adapter_of(cls) if known is None else known


cdef object adapter_of(cls):
    from lend.adapters import columns as special
    return special.adapter_of(cls)


cdef int look_up(cls) except -1:
    cdef int way = 0
    from lend.adapters import columns as special
    # a Table has an array only where it is of one chunk
    if cls is not Table and shows(cls, "__arrow_c_array__"):
        way |= ARRAY_WAY
    if shows(cls, STREAM_METHOD):
        way |= STREAM_WAY
    adapter = special.adapter_of(cls)
    if adapter is None and shows_device(cls) and (not way or special.goes_by_device(cls)):
        way = 0
        if shows(cls, "__arrow_c_device_array__"):
            way |= DEVICE_ARRAY_WAY
        if shows(cls, "__arrow_c_device_stream__"):
            way |= DEVICE_STREAM_WAY
    if way & (STREAM_WAY | DEVICE_STREAM_WAY):
        # what collects is a query, which runs anew each time it is asked
        if not (shows(cls, "__len__") or shows(cls, "num_rows") or shows(cls, "shape") or shows(cls, "collect")):
            way |= ONCE_WAY
    if adapter is not None:
        way |= ADAPTER_WAY
    return way


cdef bint shows_device(cls) except -1:
    return cls is not Table and (shows(cls, "__arrow_c_device_array__") or shows(cls, "__arrow_c_device_stream__"))


include "front_sources.pxi"  # what of Arrow they are or have, and whether that is given once


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
        other = adapter_for(cls).column(obj, take_column, copy)
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
    cdef ColumnRecord record
    cdef ArrowOwner owner = array_from(obj, way, &record)
    cdef StreamOwner stream
    cdef View seen
    if owner is not None:
        return from_array(owner, &record)
    stream = stream_from(obj, way)
    if stream is not None:
        return from_stream(stream, obj if way & ONCE_WAY else None)
    try:
        seen = view_wanted(obj, 0)
    except BufferError as refusal:
        refused = refusal
    else:
        return from_view(seen, copy)
    from lend.adapters import columns as special
    return special.closed(obj, refused, take_column, copy)


cdef Column from_array(ArrowOwner owner, const ColumnRecord* record):
    """Of an array that was taken; one that says of itself that nothing in it is null is not believed at once."""
    cdef Column made = column_of(owner, record, owner.types)
    if (not record.type.flags & ARROW_FLAG_NULLABLE and record.nulls == NULLS_BITMASK
            and read_by_host(record.device_type) and made.null_count):
        from lend.tables import refusals
        raise refusals.null_in_required(made.name, -1, owner, made.null_count)
    return unmasked(made)


cdef Column from_stream(StreamOwner stream, object obj):
    """All arrays of a stream, each a chunk with a lease of its own."""
    cdef SchemaOwner types = stream_schema(stream)
    cdef ArrowOwner owner
    cdef ColumnRecord record
    cdef list chunks = []
    for owner in pulled(stream, types, obj):
        record_of(&owner.array, &types.schema, owner, &record)
        chunks.append(from_array(owner, &record))
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
        if (<Table> obj).is_lazy:
            from lend.tables import batches
            obj = batches.all_rows(obj)
        return obj if keys is None else obj.select(keys)
    way = way_of(cls)
    if cls is Column:
        from lend.tables import table
        made = table.of_structs(obj)
    elif way & ADAPTER_WAY:
        other = adapter_for(cls).table(obj, keys, take_column, copy)
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
    cdef ColumnRecord record
    cdef ArrowOwner owner
    cdef StreamOwner stream = stream_from(obj, way)
    if stream is not None:
        return table_from_stream(stream, obj, way)
    owner = array_from(obj, way, &record)
    if owner is not None:
        check_structs(owner.types, obj)
        return table_of_batches([owner], owner.types)
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


shorten_call(column, column_plain)
shorten_other_call(table, table_plain)

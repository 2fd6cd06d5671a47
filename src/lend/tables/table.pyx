"""Table: named columns of one length; what came by Arrow is taken apart when one of them is asked for."""
cimport cython

from lend._core.arrow_owners cimport ArrowOwner, SchemaOwner
from lend.columns.column cimport Column, chunked, held
from lend.protocols cimport arrow
from lend.views.lent cimport call_hook

from lend.protocols.classes import representation_of


cdef Table table_of_batches(list owners, SchemaOwner types):
    """A Table of arrays of structs that were checked."""
    cdef Table made = Table.__new__(Table)
    cdef ArrowOwner owner
    made.types = types
    made.arrays = tuple(owners)
    made.width = types.schema.n_children
    made.made = [None] * made.width
    for owner in owners:
        count = nulls_known(owner, &owner.array, 0, owner.array.length)
        if count:
            from lend.tables import refusals
            raise refusals.null_rows(owner, count)
        made.rows += owner.array.length
    return made


cdef Table table_of_columns(tuple names, list columns, Py_ssize_t rows):
    """A Table of columns of one length, which nobody else has."""
    cdef Table made = Table.__new__(Table)
    made.told_names = names
    made.made = columns
    made.width = len(columns)
    made.rows = rows
    return made


cdef Table other_columns(Table table, tuple names, list columns, Py_ssize_t rows):
    """A Table of other columns, which nobody else has, with the metadata of one."""
    cdef Table made = table_of_columns(names, columns, rows)
    made.types = table.types
    made.told_metadata = table.told_metadata
    return made


cdef Table lazy_table(object capsule, SchemaOwner types, object lender):
    """A Table of which the types alone are known: its rows are still in the stream."""
    cdef Table made = Table.__new__(Table)
    made.types = types
    made.arrays = ()
    made.width = types.schema.n_children
    made.made = [None] * made.width
    made.rows = UNKNOWN_ROWS
    made.pending = capsule
    made.lender = lender
    return made


include "columns.pxi"  # the columns of a Table: made, looked at for nulls, handed out, cut


cdef tuple names_of(Table table):
    cdef Py_ssize_t i
    if table.told_names is None:
        table.told_names = tuple([arrow.name_of_schema(table.types.schema.children[i]) for i in range(table.width)])
    return table.told_names


cdef Py_ssize_t place_of(tuple names, object key, dict known=None) except -1:
    """The place of a column by its number or its name; `known` has the places of every name."""
    cdef Py_ssize_t place
    cdef Py_ssize_t width = len(names)
    if isinstance(key, str):
        found = [i for i, name in enumerate(names) if name == key] if known is None else known.get(key, [])
        if len(found) != 1:
            from lend.tables import refusals
            raise refusals.no_such_name(names, key, found)
        return found[0]
    if isinstance(key, bool) or not hasattr(key, "__index__"):
        from lend.tables import refusals
        raise refusals.no_key(key)
    position = key.__index__()
    if not -width <= position < width:
        raise IndexError(f"column {position} of a table that has {width}")
    place = position
    return place + width if place < 0 else place


def places(tuple names not None, keys):
    """The places of the columns that are wanted, by names or numbers."""
    if isinstance(keys, (str, bytes)):
        from lend.tables import refusals
        raise refusals.one_name(keys)
    known = {}
    for place, name in enumerate(names):
        known.setdefault(name, []).append(place)
    return [place_of(names, key, known) for key in keys]


def of_columns(tuple names not None, list columns not None, Py_ssize_t rows, dict metadata=None):
    """A Table of Columns of one length, for the adapters: each in an object of its own, under its name."""
    cdef Table made = table_of_columns(names, [twin(<Column?> column, name) for name, column in zip(names, columns)],
                                       rows)
    cdef Column column
    for column in made.made:
        if column.record.length != rows:
            from lend.tables import refusals
            raise refusals.other_length(column, rows)
    made.told_metadata = metadata
    return made


def of_structs(Column column not None):
    """A Table of the fields of a column of structs, of which none is null."""
    cdef Column part, child, made
    cdef list columns = []
    cdef Py_ssize_t i
    held(column)
    if column.null_count:
        from lend.tables import refusals
        raise refusals.null_structs(column)
    fields = column.dtype.children
    for i in range(len(fields)):
        chunks = []
        for part in column.chunks:
            child = <Column> part.children[i]
            chunks.append(child[part.record.offset:part.record.offset + part.record.length])
        made = chunked(chunks, column.types)
        if not chunks:
            made.record.type = column.record.type.children[i]
        columns.append(twin(made, None))
    return table_of_columns(tuple([name for name, _ in fields]), columns, column.record.length)


@cython.final
cdef class Table:
    """Named columns of one length, each with chunks and owners of its own; made by `lend.table`.

    Attributes
    ----------
    names : tuple of str
        As they came: two may be alike.
    dtypes : tuple of DType
        What the elements of each column are; no column is made for it.
    columns : tuple of Column
    num_rows, num_columns : int
        Of a table made with ``lazy=True`` the rows are None: nobody knows before they came.
    shape : (int, int)
    metadata : dict of bytes to bytes
        What the producer told of the whole table.
    chunks : tuple of Table
        Cut wherever a column is: no row of any of them is copied.

    Examples
    --------
    >>> import pyarrow as pa, lend
    >>> t = lend.table(pa.table({"n": [1, None], "s": ["a", "b"]}))
    >>> t
    <Table 2 rows: n int64, s utf8>
    >>> t["n"].tolist()
    [1, None]
    """

    def __cinit__(self):
        self.told_metadata = None
        self.made = []

    def __init__(self, *args, **options):
        raise TypeError("a Table is made by lend.table(x)")

    @property
    def names(self):
        """The names, as they came."""
        return names_of(self) if self.types is not None or self.told_names is not None else ()

    @property
    def dtypes(self):
        """What the elements of each column are."""
        cdef Py_ssize_t i
        if self.arrays is None:
            return tuple([column.dtype for column in self.made])
        return tuple([arrow.dtype_of_schema(self.types.schema.children[i]) for i in range(self.width)])

    @property
    def columns(self):
        """All columns."""
        cdef Py_ssize_t i
        refuse_lazy(self)
        return tuple([hand_out(self, i) for i in range(self.width)])

    @property
    def num_rows(self):
        """Rows; a table without columns has them, too. None of a lazy one."""
        return None if self.rows == UNKNOWN_ROWS else self.rows

    @property
    def num_columns(self):
        """Columns."""
        return self.width

    @property
    def shape(self):
        """Rows and columns."""
        return (self.num_rows, self.width)

    @property
    def metadata(self):
        """What the producer told of the whole table, as a new dict of bytes."""
        if self.told_metadata is not None:
            return dict(self.told_metadata)
        return {} if self.types is None else arrow.metadata_of_schema(&self.types.schema)

    @property
    def is_lazy(self):
        """True when the rows are still in the stream that the table was made of."""
        return self.rows == UNKNOWN_ROWS

    @property
    def native(self):
        """Whose data it was taken from, "numpy", "arrow", "pandas", "polars", "torch", "cupy", "cudf", "jax"; None of
        others, and where anything was changed."""
        return None if self.origin is None else representation_of(type(self.origin))

    @property
    def native_object(self):
        """What it was taken from, while nothing was changed here; else None. It shows what its library writes to it."""
        return self.origin

    def __len__(self):
        refuse_lazy(self)
        return self.rows

    def __bool__(self):
        # as of any object: what has no rows, or none that are known, is still a table
        return True

    def __getitem__(self, key):
        """A column by its name or number; rows by a slice."""
        if isinstance(key, slice):
            refuse_lazy(self)
            first, last, step = key.indices(self.rows)
            if step != 1:
                from lend.tables import refusals
                raise refusals.step(self, step)
            return rows_of(self, first, max(first, last))
        return hand_out(self, place_of(self.names, key))

    def __iter__(self):
        """The columns."""
        return iter(self.columns)

    def __contains__(self, name):
        return name in self.names

    def select(self, keys):
        """Some of the columns, by names or numbers, in the order given; the others are not even looked at.

        Of a lazy table it is a lazy one, to which the stream goes on.
        """
        cdef list wanted = places(self.names, keys)
        cdef Table made
        if self.rows == UNKNOWN_ROWS:
            from lend.tables import batches
            return batches.select_lazily(self, wanted)
        names = self.names
        made = other_columns(self, tuple([names[place] for place in wanted]),
                             [twin(column_at(self, place), None) for place in wanted], self.rows)
        if self.told_metadata is not None or (self.types is not None and self.types.schema.metadata is not NULL):
            from lend.tables import index_note
            told = index_note.after_selection(made.metadata, made.names)
            if told is not None:
                made.told_metadata = told
        return made

    @property
    def chunks(self):
        """Tables of one chunk each, cut wherever a column is."""
        return tuple(pieces(self))

    def batches(self):
        """The rows, a Table of one chunk at a time: of a lazy table they are pulled one by one, once."""
        from lend.tables import batches
        return batches.each(self)

    def to(self, target=None, **options):
        """Hand the table to a library, class or callable: `lend.to(self, target, ...)`."""
        return call_hook("to")(self, target, **options)

    def verify(self, bint full=False):
        """Check the columns: `Column.verify`."""
        for column in self.columns:
            column.verify(full)

    def take_pending(self):
        """For the module beside: the stream of a lazy table, which is handed on once."""
        with cython.critical_section(self):
            capsule = self.pending
            self.pending = None
        if capsule is None:
            from lend.tables import refusals
            raise refusals.handed_on(self)
        return capsule

    def __arrow_c_schema__(self):
        """Names and types as an Arrow capsule: no column is looked at."""
        from lend.tables import batches
        return batches.schema(self)

    @property
    def __arrow_c_array__(self):
        """The table as one array of structs, if it is of one chunk: else it has no such method, and is a stream."""
        from lend.tables import batches
        return batches.array_method(self)

    def __arrow_c_stream__(self, requested_schema=None):
        """The table as an Arrow stream of arrays of structs; each call makes a fresh one, but of a lazy table."""
        from lend.tables import batches
        return batches.stream(self, requested_schema)

    @property
    def __arrow_c_device_array__(self):
        """The same as `__arrow_c_array__`, with the device that the memory is on."""
        from lend.tables import batches
        return batches.device_array_method(self)

    def __arrow_c_device_stream__(self, requested_schema=None, **options):
        """The same as `__arrow_c_stream__`, with the device that the memory is on."""
        from lend.columns import requests
        from lend.tables import batches
        requests.check_options("__arrow_c_device_stream__()", options)
        return batches.device_stream(self, requested_schema)

    def compact(self):
        """A copy of exactly these rows in memory of lend's own, counted: it keeps nothing else alive."""
        refuse_lazy(self)
        return other_columns(self, self.names, [column.compact() for column in self.columns], self.rows)

    def __copy__(self):
        refuse_lazy(self)
        return other_columns(self, self.names, [twin(column, None) for column in self.columns], self.rows)

    def __deepcopy__(self, memo):
        from copy import deepcopy
        refuse_lazy(self)
        return other_columns(self, self.names, [deepcopy(column) for column in self.columns], self.rows)

    def __reduce_ex__(self, protocol):
        from lend.columns import refusals
        raise refusals.not_pickled(self)

    def array_interfaces(self):
        """A dict of each column for consumers in C that read columns by address, as XGBoost does: `__array_interface__`
        with nulls as bits.

        Returns
        -------
        list of dict
            data, shape, typestr, strides and version; where there are nulls also mask, such a dict of bits ("<t1"), 1
            where an element is valid. They hold plain values, which `json.dumps` writes; what they tell of is valid as
            long as the list itself lives. Elements are shared as they lie, of categories their codes, of bools the
            bytes; bools of one bit, several chunks, and nulls that are no bits of Arrow's are counted copies. Text
            is refused; the index of a DataFrame that came along is none of them.
        """
        from lend.tables import interfaces
        refuse_lazy(self)
        return interfaces.listed(self)

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        """The dataframe interchange protocol, for those who know nothing else: a frame over the same memory."""
        return call_hook("dataframe")(self, nan_as_null, allow_copy)

    def __array__(self, dtype=None, *, copy=None):
        """A NumPy array of two dimensions: the memory of columns that lie evenly in one piece, else a copy, NaN for the
        nulls of numbers; of other values objects.

        The index of a DataFrame that came along is left out, unless it was chosen (`select`) or asked for as columns.
        """
        return call_hook("table_array")(self, dtype, copy)

    def __repr__(self):
        from lend.tables import refusals
        return refusals.shown(self)

"""Column: one-dimensional data of somebody else's, with the nulls, offset and children it came with.

A Column embeds the record of one chunk, or has several; what is seldom asked for (dtype, name, children) is made of the
structs that came when somebody asks. Objects are immutable but for `release()`.
"""
cimport cython
from cpython.ref cimport Py_DECREF

from lend._core.arrow_layout cimport LAYOUT_FIXED
from lend._core.column cimport (
    COLUMN_CHUNKED, COLUMN_READONLY, COLUMN_RELEASED, COLUMN_TOLD, NULLS_BITMASK, NULLS_BYTEMASK,
)
from lend.protocols cimport arrow
from lend.views.lent cimport call_hook

from lend.protocols.classes import representation_of

cdef dict devices = {}  # 1: the Device of all memory of the host, made once; in a dict, which threads may share
cdef tuple NULL_KINDS = ("none", "nan", "sentinel", "bitmask", "bytemask", "nat")


cdef GiveColumn give_array = NULL
cdef GiveColumn give_stream = NULL


cdef void set_giving(GiveColumn array, GiveColumn stream) noexcept:
    """columns/giving.pyx says how a Column is given as Arrow data, once it is loaded."""
    global give_array, give_stream
    give_array = array
    give_stream = stream


include "making.pxi"  # columns made, held, taken apart, sliced


@cython.final
@cython.no_gc_clear
cdef class Column:
    """A column of somebody else's: elements of one type, with nulls, of one chunk or several; made by `lend.column`.

    It copies nothing and keeps the memory alive. Element i lies at `offset + i` of every buffer, its validity too; a
    slice is another offset and length over the same buffers.

    Attributes
    ----------
    dtype : DType
        What one element is.
    name : str
        "" where none was told.
    null_count : int
        Elements that are null, also those that are so by a null of their dictionary; counted when first asked for.
    nulls : Nulls
        In which form nulls are told: kind, which bit or byte says null, or the value that does.
    offset : int
        Elements before the first one, in every buffer.
    buffers : dict of str to Buffer
        By role: validity, data, offsets, sizes, views, type_ids; of text in views also variadic, a tuple.
    children : tuple of Column
        Of a nested type, as they are stored: the offset of their parent is not theirs.
    dictionary : Column or None
        What the elements are indices of.
    chunks : tuple of Column
        One for each chunk. `offset`, `buffers`, `children` and `dictionary` are those of a single chunk.
    metadata : dict of bytes to bytes
        What the producer told besides.
    device : Device
        Where the memory is. Buffers may be on several devices: then each of `buffers` tells its own.
    owner : Owner
        The lease; where each buffer came with one of its own, a tuple of them.

    Examples
    --------
    >>> import pyarrow as pa, lend
    >>> c = lend.column(pa.array([1, None, 3]))
    >>> c
    <Column int64[3] on cpu, 1 null, lent by pyarrow.lib.Int64Array>
    >>> c[1:].tolist()
    [None, 3]
    """

    def __cinit__(self):
        # what `__new__` makes holds nothing; lend makes its own by other ways
        self.record.flags = COLUMN_RELEASED
        self.counted = -1

    def __init__(self, *args, **options):
        raise TypeError("a Column is made by lend.column(x), or by Column.from_buffers of memory of your own")

    @staticmethod
    def from_buffers(dtype, length, buffers, *, nulls=None, offset=0, children=(), dictionary=None, name="",
                     metadata=None):
        """Make a column of buffers of anybody's: each keeps its own owner, and goes when nobody needs it.

        Parameters
        ----------
        dtype : DType or anything `DType` understands
            What one element is: "int64", "utf8", "list[int32]".
        length : int
            Elements.
        buffers : dict of str to object
            By role, whatever `lend.view` takes of one dimension: validity; data (of numbers it may have strides);
            offsets and data of text, offsets of lists; offsets and sizes; views and variadic, a sequence; type_ids.
        nulls : Nulls, str or a value, optional
            How null is said: with a validity buffer bits where 0 is null; else none. ``Nulls("bytemask",
            missing=1)``, ``"nan"``, ``"nat"``, or the value that stands for null.
        offset : int, optional
            Elements before the first one, in every buffer.
        children : sequence of Column, optional
            Of a nested type.
        dictionary : Column, optional
            Of indices.
        name : str, optional
        metadata : dict of bytes to bytes, optional

        Returns
        -------
        Column
            Over exactly that memory; nothing is copied.

        Raises
        ------
        MalformedDescriptor
            When a buffer is too small for offset and length, when the first or the last offset leads out of what it
            leads into, or when a buffer says that its elements are of another kind than the column's.

        Notes
        -----
        What lies between the ends is not read here: offsets that fall, indices, views and runs that lead outside, text
        that is not UTF-8. `verify(full=True)` reads it. Whoever reads here what lend reads gets a refusal of it, and so
        does a library, before it is given the column: all is looked at once when it first leaves. Whoever writes to the
        buffers later breaks that.

        Examples
        --------
        >>> import array, lend
        >>> c = lend.Column.from_buffers(
        ...     "utf8", 2, {"offsets": array.array("i", [0, 1, 3]), "data": b"abb"}
        ... )
        >>> c.verify(full=True)
        >>> c.tolist()
        ['a', 'bb']
        """
        from lend.columns import building
        taken = {}
        for role, part in dict(buffers).items():
            if role == "variadic":
                taken[role] = tuple([call_hook("view")(each) for each in part])
            else:
                taken[role] = None if part is None else call_hook("view")(part)
        return building.build(dtype, length, taken, nulls, offset, children, dictionary, name, metadata)

    # -- facts --

    @property
    def dtype(self):
        """What one element is."""
        held(self)
        return dtype_of(self)

    @property
    def name(self):
        """The name, "" where none was told."""
        held(self)
        if self.told_name is not None or self.record.type is NULL:
            return self.told_name or ""
        return arrow.name_of_schema(self.record.type)

    @property
    def metadata(self):
        """What the producer told besides, as a new dict of bytes."""
        held(self)
        if self.told_metadata is not None or self.record.type is NULL:
            return dict(self.told_metadata or {})
        return arrow.metadata_of_schema(self.record.type)

    def __len__(self):
        held(self)
        return self.record.length

    @property
    def length(self):
        """Elements, those of all chunks together."""
        held(self)
        return self.record.length

    @property
    def offset(self):
        """Elements before the first one, in every buffer."""
        return single(self, "offset").record.offset

    @property
    def nulls(self):
        """In which form nulls are told."""
        from lend.columns.nullness import Nulls
        cdef Column first = self
        held(self)
        if self.record.flags & COLUMN_CHUNKED:
            forms = {part.nulls for part in self.parts}
            if len(forms) > 1:
                from lend.columns import refusals
                raise refusals.several_chunks(self, "nulls")
            return forms.pop() if forms else Nulls("none")
        return Nulls(NULL_KINDS[first.record.nulls],
                     first.record.missing if first.record.nulls in (NULLS_BITMASK, NULLS_BYTEMASK) else None,
                     first.sentinel)

    @property
    def null_count(self):
        """Elements that are null, also those that are so by a null of their dictionary."""
        held(self)
        if self.counted < 0:
            from lend.columns import reading
            self.counted = reading.count_nulls(self)
        return self.counted

    @property
    def device(self):
        """Where the memory is; of a column whose buffers are on several devices UnsupportedLayout, which names them."""
        held(self)
        made = devices.get(self.record.device_type)
        if made is not None:
            return made
        if self.places is not None:
            from lend.columns import refusals
            raise refusals.on_several(self)
        from lend.device import Device
        made = Device(self.record.device_type, self.record.device_id)
        return devices.setdefault(1, made) if self.record.device_type == 1 else made

    @property
    def readonly(self):
        """True when the memory may not be written to."""
        held(self)
        return bool(self.record.flags & COLUMN_READONLY) or any([part.readonly for part in children_of(self)])

    @property
    def stride(self):
        """Bytes from one element to the next; None where elements have no width of their own."""
        single(self, "stride")
        return self.record.steps[1] if self.record.layout == LAYOUT_FIXED else None

    @property
    def owner(self):
        """The lease; where each buffer came with one of its own, a tuple of them."""
        return held(single(self, "owner"))

    @property
    def native(self):
        """Whose data it was taken from, "numpy", "arrow", "pandas", "polars", "torch", "cupy", "cudf", "jax"; None of
        others, and where anything was changed."""
        held(self)
        return None if self.origin is None else representation_of(type(self.origin))

    @property
    def native_object(self):
        """What it was taken from, while nothing was changed here; else None. It shows what its library writes to it."""
        held(self)
        return self.origin

    # -- parts --

    @property
    def chunks(self):
        """A Column for each chunk."""
        cdef tuple parts
        with cython.critical_section(self):
            held(self)
            parts = self.parts
        return twins(parts) if self.record.flags & COLUMN_CHUNKED else (self,)

    @property
    def children(self):
        """Of a nested type, as they are stored."""
        return twins(children_of(single(self, "children")))

    @property
    def dictionary(self):
        """What the elements are indices of; None where they are values."""
        cdef Column words = dictionary_of(single(self, "dictionary"))
        return None if words is None else twin(words)

    @property
    def buffers(self):
        """The memory by role, as a new dict: of each Buffer its own, which keeps what its lease needs."""
        from lend.columns import parts
        return parts.buffers(single(self, "buffers"))

    def buffer_facts(self, int place):
        """For the modules beside: address, bytes and owner of one buffer; None where there is none."""
        single(self, "buffers")
        if self.record.buffers[place] is NULL:
            return None
        return <size_t> self.record.buffers[place], buffer_size(self, place), owner_of_buffer(self, place)

    def __getitem__(self, index):
        """A slice, over the same memory; or the value of one element."""
        cdef Py_ssize_t start, stop
        held(self)
        if isinstance(index, slice):
            first, last, step = index.indices(self.record.length)
            if step != 1:
                from lend.columns import refusals
                raise refusals.step(self, step)
            start, stop = first, max(first, last)
            return sliced(self, start, stop)
        if index is None:
            from lend.columns import refusals
            raise refusals.no_index(self, index)
        from lend.columns import reading
        return reading.item(self, index)

    def __iter__(self):
        """The values, one after the other."""
        return iter(self.tolist())

    def rename(self, str name):
        """The same column, over the same memory, under another name."""
        cdef Column made = twin(self)
        made.told_name = name
        return made

    def tolist(self):
        """The values as Python objects: None for null, datetime for times, Decimal, dict for structs, list for lists.

        Raises
        ------
        UnsupportedType
            Where Python has no object that says the same: nanoseconds beyond microseconds.
        """
        from lend.columns import reading
        return reading.tolist(self)

    def item(self, index=None):
        """The value of one element, or of the only one."""
        from lend.columns import reading
        return reading.item(self, index)

    def view(self):
        """The elements as a View, where they have one width and none is null: nothing is copied."""
        from lend.columns import parts
        return parts.view(self)

    def reinterpret(self, dtype):
        """Another dtype of the same size over the same memory; nulls stay what they are."""
        from lend.columns import same_bytes
        held(self)
        return same_bytes.reinterpreted(self, dtype)

    def low(self, dtype, *, bint check=False):
        """The low part of every element, as `View.low`: the same memory, strides and nulls, and a smaller dtype.

        With `check` it is compared that nothing is lost, which reads every element that is not null.
        """
        from lend.columns import same_bytes
        held(self)
        return same_bytes.low(self, dtype, check)

    def verify(self, bint full=False):
        """Check what the producer said: its structure was when it came; with `full` the contents too.

        Raises
        ------
        MalformedDescriptor
            Naming the column and what is wrong: offsets out of order, indices out of range, text that is not UTF-8.
        """
        from lend.columns import reading
        reading.verify(self, full)

    # -- use --

    def to(self, target=None, **options):
        """Hand the column to a library, class or callable: `lend.to(self, target, ...)`."""
        held(self)
        return call_hook("to")(self, target, **options)

    def release(self):
        """Give up this object's hold; what was made from it stays valid, later use raises LeaseLost."""
        cdef list _gone
        with cython.critical_section(self):
            # what goes may run anything, and goes last
            _gone = [self.parts, self.words, self.origin, self.views, self.holder]
            self.record.flags |= COLUMN_RELEASED
            self.parts = self.views = None
            self.words = None
            self.origin = None
            if not self.record.flags & COLUMN_TOLD:
                self.holder = None

    @property
    def released(self):
        """True after release()."""
        return bool(self.record.flags & COLUMN_RELEASED)

    def __enter__(self):
        held(self)
        return self

    def __exit__(self, kind, value, traceback):
        self.release()

    # -- protocols --

    def __arrow_c_schema__(self):
        """The type as an Arrow capsule."""
        from lend.columns import giving
        return giving.schema(self)

    @property
    def __arrow_c_array__(self):
        """Of one chunk: a function that gives type and array as Arrow capsules. Several chunks do not have it, so that
        those who look for it first (polars, arro3) take the stream."""
        if self.record.flags & (COLUMN_CHUNKED | COLUMN_RELEASED) == COLUMN_CHUNKED:
            raise AttributeError(f"a Column of {len(self.parts)} chunks has no __arrow_c_array__: __arrow_c_stream__")
        return self._arrow_c_array

    def _arrow_c_array(self, requested_schema=None):
        """Type and array as Arrow capsules: nothing is copied where Arrow can say it."""
        if give_array is NULL:
            __import__("lend.columns.giving")
        return give_array(self, requested_schema)

    def __arrow_c_stream__(self, requested_schema=None):
        """The chunks as an Arrow stream; each call makes a fresh one."""
        if give_stream is NULL:
            __import__("lend.columns.giving")
        return give_stream(self, requested_schema)

    @property
    def __arrow_c_device_array__(self):
        """The same as `__arrow_c_array__`, with the device that the memory is on."""
        if self.record.flags & (COLUMN_CHUNKED | COLUMN_RELEASED) == COLUMN_CHUNKED:
            raise AttributeError(f"a Column of {len(self.parts)} chunks has no __arrow_c_device_array__: "
                                 "__arrow_c_device_stream__")
        return self._arrow_c_device_array

    def _arrow_c_device_array(self, requested_schema=None, **options):
        """Type and array as Arrow capsules, the second with its device: no copy leaves it."""
        from lend.columns import giving, requests
        requests.check_options("__arrow_c_device_array__()", options)
        return giving.device_array(self, requested_schema)

    def __arrow_c_device_stream__(self, requested_schema=None, **options):
        """The chunks as an Arrow stream that tells their device."""
        from lend.columns import giving, requests
        requests.check_options("__arrow_c_device_stream__()", options)
        return giving.device_stream(self, requested_schema)

    def __arrow_array__(self, type=None):
        """For pyarrow: an Array, or of several chunks a ChunkedArray."""
        return call_hook("arrow_column")(self, type)

    def compact(self):
        """A copy of exactly these elements in memory of lend's own, on the same device, counted: it keeps nothing else
        alive."""
        from lend.columns import converting
        held(self)
        if self.record.device_type in (0, 2, 10):
            return call_hook("column_moved")(self, 0, 0, "compact()")
        return converting.compact(self)

    def array_interface(self, bint mask=False):
        """An object whose `__array_interface__` shows the elements, which it keeps.

        Parameters
        ----------
        mask : bool, optional
            True: nulls are told by the mask of the interface, a byte for each element, which is true where it is
            valid. They are shared where they lie so; else they are written, which is a counted copy. Without it a
            column with nulls is refused. NumPy reads no mask: for who does.
        """
        from lend.columns import interfaces
        return interfaces.on_host(self, mask)

    def cuda_array_interface(self, bint mask=False):
        """The same by `__cuda_array_interface__`, of memory of a CUDA device, which is not touched."""
        from lend.columns import interfaces
        return interfaces.on_cuda(self, mask)

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        """The dataframe interchange protocol: a frame of which this is the only column."""
        held(self)
        return call_hook("dataframe")(self, nan_as_null, allow_copy)

    def __getbuffer__(self, Py_buffer* out, int flags):
        from lend.columns import parts
        lent = parts.view(self)
        # what stands there for now is Cython's None; the View is who is asked to give it back
        Py_DECREF(None)
        PyObject_GetBuffer(lent, out, flags)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule, where elements have one width and none is null."""
        return self.view().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        """DLPack: (device type, device id)."""
        return (self.device.type, self.record.device_id)

    @property
    def __array_interface__(self):
        """NumPy's interface, where elements have one width and none is null; AttributeError elsewhere."""
        from lend.columns import parts
        facts = parts.interface(self)
        self.record.flags |= COLUMN_TOLD
        return facts

    @property
    def __array_struct__(self):
        """The same as a capsule, which keeps the memory."""
        from lend.columns import parts
        return parts.array_struct(self)

    def __array__(self, dtype=None, *, copy=None):
        """A NumPy array, where elements have one width and none is null; of several chunks or of bits a copy."""
        if self.record.flags & COLUMN_CHUNKED or self.dtype == "bool_packed":
            from lend.columns import interfaces
            return interfaces.written_array(self, dtype, copy)
        try:
            view = self.view()
        except BufferError as refusal:
            if copy is not False:
                raise
            from lend.columns import interfaces
            raise interfaces.no_array(self, refusal) from None
        return view.__array__(dtype, copy=copy)

    def __copy__(self):
        return twin(self)

    def __deepcopy__(self, memo):
        from lend.columns import converting
        held(self)
        if self.record.device_type in (0, 2, 10):
            return call_hook("column_moved")(self, 0, 0, "copy.deepcopy")
        return converting.compact(self, "copy.deepcopy")

    def __reduce_ex__(self, protocol):
        from lend.columns import refusals
        raise refusals.not_pickled(self)

    def __repr__(self):
        from lend.columns import refusals
        return refusals.shown(self)

    def _describe(self):
        """What a refusal shows of this object."""
        from lend.columns import refusals
        return refusals.came(self)


cdef extern from "Python.h":
    int PyObject_GetBuffer(object obj, Py_buffer* buffer, int flags) except -1

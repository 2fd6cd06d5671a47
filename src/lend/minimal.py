"""Buffers, arrays and columns of other libraries, without a copy or a dependency: one file, made to be copied.

Copy this file into your package; nothing else belongs to it. It needs CPython 3.11 or newer on a 64-bit machine and the
standard library; NumPy is imported by `column_to_ndarray` alone.

    buffer(x)   bytes: whatever array() takes, or an object with an integer `ptr` and `bufsize`, `nbytes` or `size`
    array(x)    shape, strides, dtype: buffer protocol, DLPack, __array_interface__, __cuda_array_interface__
    column(x)   Arrow data in one chunk (__arrow_c_array__, __arrow_c_stream__), __dataframe__, or a 1-d array; a type
                alone (__arrow_c_schema__) is one of no elements
    chunks(x)   the list of columns, where there may be several chunks; a table is a column of structs

What they return holds an `Owner`, which gives the memory back once, when the last Buffer, Array or Column of it goes.
Memory of a device is described and never touched. Read-only memory has read-only memoryviews; behind them, as `obj`,
is an array of ctypes, which knows no read-only memory: nobody should write there. What is not understood, or what pure
Python cannot do, is refused with the reason (`Refused`); the package lend, of which this is a part, does more of it.

Specifications: buffer protocol, docs.python.org/3/c-api/buffer.html; DLPack, dmlc.github.io/dlpack; array interfaces,
numpy.org/doc/stable/reference/arrays.interface.html; Arrow, arrow.apache.org/docs/format/CDataInterface.html; dataframe
protocol, data-apis.org/dataframe-protocol.

lend.minimal version 1.0. Copyright the lend developers. Licensed under the Apache License, Version 2.0: keep this line.
"""

import ctypes
import struct
import sys
from _thread import RLock
from itertools import pairwise
from operator import index

__all__ = ["Array", "Buffer", "Column", "Owner", "Refused", "array", "buffer", "chunks", "column", "column_to_ndarray"]
__version__ = "1.0"

_HOST = (1, 3, 11)  # DLPack's numbers of memory that the host reads: cpu, cuda_host, rocm_host
_ADDRESSES = (1, 2, 3, 9, 10, 11, 12, 13, 14, 16, 17, 18)  # and of all whose `data` is an address, not a handle
_LARGEST, _FARTHEST, _DEEPEST = 2**63 - 1, 2**62 - 1, 64


class Refused(BufferError, TypeError):
    """What cannot be lent, with the reason."""


# -- C, as the interpreter offers it -------------------------------------------------------------------------------


def _bound(name, result, *arguments):
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_object, _void_p, _char_p, _int = ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_size, _sizes = ctypes.c_ssize_t, ctypes.POINTER(ctypes.c_ssize_t)


class _Lease(ctypes.Structure):  # a Py_buffer
    _fields_ = [("buf", _void_p), ("obj", _void_p), ("len", _size), ("itemsize", _size), ("readonly", _int)]
    _fields_ += [("ndim", _int), ("format", _char_p), ("shape", _sizes), ("strides", _sizes), ("suboffsets", _sizes)]
    _fields_ += [("internal", _void_p)]


_get_buffer = _bound("PyObject_GetBuffer", _int, _object, ctypes.POINTER(_Lease), _int)
_release_buffer = _bound("PyBuffer_Release", None, ctypes.POINTER(_Lease))
_is_capsule = _bound("PyCapsule_IsValid", _int, _object, _char_p)
_capsule_pointer = _bound("PyCapsule_GetPointer", _void_p, _object, _char_p)
_rename_capsule = _bound("PyCapsule_SetName", _int, _object, _char_p)
_incref, _decref = _bound("Py_IncRef", None, _object), _bound("Py_DecRef", None, _object)
_callback = ctypes.PYFUNCTYPE(None, _void_p)  # a deleter or release callback: it may call Python
_pull = ctypes.CFUNCTYPE(_int, _void_p, _void_p)  # of a stream, which may wait for other threads: without the GIL
_last_error = ctypes.CFUNCTYPE(_char_p, _void_p)

# data device_type device_id ndim code bits lanes shape strides byte_offset; unversioned: manager_ctx deleter
_TENSOR, _UNVERSIONED = struct.Struct("PiiiBBHPPQ"), struct.Struct("PiiiBBHPPQPP")
_VERSIONED = struct.Struct("IIPPQ")  # in front of a tensor: major minor manager_ctx deleter flags
_SCHEMA = struct.Struct("PPPqqPPPP")  # format name metadata flags n_children children dictionary release private
# length null_count offset n_buffers n_children buffers children dictionary release private
_ARRAY = struct.Struct("qqqqqPPPPP")
_STREAM = struct.Struct("PPPPP")  # get_schema get_next get_last_error release private
_POINTER, _Struct = struct.Struct("P"), ctypes.c_char * _ARRAY.size  # room for any of these

_TAKING = RLock()
_USED = {b"dltensor_versioned": b"used_dltensor_versioned", b"dltensor": b"used_dltensor"}
for _name in _USED.values():  # a capsule keeps a pointer to its name, so that these must never go
    _incref(_name)


_ALL = (ctypes.c_char * _LARGEST).from_address(0)  # every address: what struct reads there is not copied before


def _peek(layout, address):
    return layout.unpack_from(_ALL, address) if address else layout.unpack(bytes(layout.size))


_READ = {(count, code): struct.Struct(f"{count}{code}").unpack_from for count in range(9) for code in "iqQ"}


def _integers(address, count, code="q"):
    read = _READ.get((count, code)) or struct.Struct(f"{count}{code}").unpack_from
    return read(_ALL, address)


def _pointer(capsule, *names):
    """The name that a capsule has of these, and what it points to."""
    for name in names:
        try:
            return name, _capsule_pointer(capsule, name)
        except ValueError:
            continue
    wanted = b" or ".join(names).decode()
    raise Refused(f"it gave {_full_name(capsule)}, which is no capsule named {wanted}, or was consumed before")


class Owner:
    """Keeps memory alive: `producer` lent it, and what it is owed is paid once, when the last holder is gone."""

    __slots__ = ("__weakref__", "_debts", "producer")

    def __init__(self, producer, give_back=None, *arguments):
        self.producer, self._debts = producer, ((give_back, arguments),) if give_back else ()

    def owes(self, give_back, *arguments):
        self._debts += ((give_back, arguments),)

    def __del__(self, ends=sys.is_finalizing, keep=_incref):
        if self._debts and ends():  # of the interpreter: nobody can be called, so that all of it stays
            keep(self)
            return
        debts, self._debts, failed = self._debts, None, None
        for give_back, arguments in debts or ():
            try:
                give_back(*arguments)
            except BaseException as error:  # noqa: BLE001 - the others are owed all the same
                failed = failed or error
        if failed:
            raise failed  # to sys.unraisablehook

    def __deepcopy__(self, memo=None):
        return self  # a second one would pay a second time; pandas copies what it keeps of a frame

    __copy__ = __deepcopy__

    def __reduce__(self):
        raise Refused("memory is not pickled here: lend.buffer(x) and lend.view(x) are")


# -- facts of memory -----------------------------------------------------------------------------------------------

_ORDER = "<" if sys.byteorder == "little" else ">"
# the part of a typestr behind its order -> what struct reads: pairs are complex, and of "" it knows none
_CODES = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q",
    "f2": "e", "f4": "f", "f8": "d", "c8": "ff", "c16": "dd", "f16": "", "c32": "",
}  # fmt: skip
_UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
# (code, bits) of DLPack -> the name of a type that no typestr has
_NAMED = {
    (4, 16): "bfloat16", (7, 8): "float8_e3m4", (8, 8): "float8_e4m3", (9, 8): "float8_e4m3b11fnuz",
    (10, 8): "float8_e4m3fn", (11, 8): "float8_e4m3fnuz", (12, 8): "float8_e5m2", (13, 8): "float8_e5m2fnuz",
    (14, 8): "float8_e8m0fnu",
}  # fmt: skip
_DLPACK = {("iuf--cb".index(body[0]), 8 * int(body[1:])): body for body in _CODES if _CODES[body]}
_DLPACK = _NAMED | {of: ("|" if of[1] == 8 else _ORDER) + body for of, body in _DLPACK.items()}
# dtype -> kind, bytes of an item, code of struct
_PARTS = {name: ("", bits // 8, "") for (_, bits), name in _NAMED.items()}
_PARTS |= {order + body: (body[0], int(body[1:]), code) for order in "<>|" for body, code in _CODES.items()}


def _parts(dtype):
    if type(dtype) is str:
        if dtype in _PARTS:
            return _PARTS[dtype]
        head, _, unit = dtype.partition("[")
        kind, digits = head[1:2], head[2:]
        if head[:1] in ("<", ">", "|") and digits.isascii() and digits.isdigit() and len(digits) < 10:
            if kind in ("S", "U", "V") and head == dtype:
                return kind, int(digits) * (4 if kind == "U" else 1), ""
            if kind in ("m", "M") and digits == "8" and unit[-1:] == "]" and unit[:-1].lstrip("0123456789") in _UNITS:
                return kind, 8, "q"
    raise Refused(f"{dtype!r:.60} is no typestr of numbers, text, bytes or times: lend.view(x) reads more")


def _has(obj, name):
    """Whether the class of an object has a method; hasattr() of a class looks through its metaclass, too."""
    for cls in type(obj).__mro__:  # noqa: SIM110 - half the time of any()
        if name in cls.__dict__:
            return True
    return False


def _full_name(obj):
    cls = type(obj)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


# -- the three classes ---------------------------------------------------------------------------------------------


class _Lent:
    """What Buffer and Array have in common: where they lie, who keeps them, and how they are lent on."""

    __slots__ = ("__weakref__", "device", "nbytes", "owner", "ptr", "readonly")
    c_contiguous, bufsize = True, property(lambda self: self.nbytes)

    def __repr__(self):
        shape, marked = ", ".join(map(str, self.shape)), ", read-only" * self.readonly
        return f"<{type(self).__name__} {self.dtype}[{shape}] on device {self.device}{marked}>"

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        """A capsule made by what lent the memory, if this is all of it: a deleter must not be Python."""
        if keywords.get("copy"):
            raise Refused("a copy is not what lies here: lend.view(x).__dlpack__(copy=True) makes one")
        give = getattr(self.owner.producer, "__dlpack__", None) if type(self) is Array else None
        capsule = None if give is None else give(**keywords)
        name, _, *told, readonly, _ = [None] * 9 if capsule is None else _tensor_in(capsule)
        said = readonly and name != b"dltensor"  # an unversioned one cannot say that nobody may write
        if name is None or Array(*told, True, self.owner)._place() != self._place() or (self.readonly and not said):
            raise Refused("its producer makes no capsule of just it; that needs C: lend.view(x).__dlpack__() makes one")
        return capsule

    def _told(self, devices, strides):
        if self.device[0] not in devices or self.dtype[0] not in "<>|":
            raise AttributeError(f"this interface does not tell of {self!r}")
        _alive(self)
        data = (self.ptr if self.nbytes else 0, self.readonly)
        return {"shape": self.shape, "typestr": self.dtype, "strides": strides, "data": data, "version": 3}

    @property
    def __array_interface__(self):
        """Told of host memory. A dict keeps nothing alive: keep this object, as NumPy does."""
        return self._told(_HOST, self.strides)

    @property
    def __cuda_array_interface__(self):
        told = self._told((2,), None if self.c_contiguous else self.strides)
        return told if self.stream == "unknown" else told | {"stream": self.stream}

    def __array__(self, dtype=None, copy=None):
        """NumPy asks for this where nothing else was told, and would make an array of one object."""
        raise Refused(f"{self!r} tells NumPy of itself by __array_interface__, if that knows its device and dtype")

    def memoryview(self):
        """A memoryview, which stays alive by itself, as parts of it do; of host memory that lies row by row.

        Its `obj` is an array of ctypes, which can be written to even where the memoryview is read-only.
        """
        kind, _, code = _parts(self.dtype)
        _on_host(self)
        memory = (ctypes.c_char * self.nbytes).from_address(self.ptr if self.nbytes else ctypes.addressof(_NOTHING))
        memory.lent = self
        shape = [self.shape] if len(self.shape) != 1 else []
        shown = self.c_contiguous and self.dtype[0] in ("|", _ORDER) and kind not in "mM"
        try:
            view = memoryview(memory).cast("B").cast(code if shown else "", *shape)
        except (TypeError, ValueError):
            can = "numbers in the order of the machine, row by row, no halves, complex ones or times, no empty rows"
            raise Refused(f"a memoryview shows {can}: not {self!r} with strides {self.strides}") from None
        return view.toreadonly() if self.readonly else view

    def __buffer__(self, flags):
        """The buffer protocol, which Python 3.12 and newer ask classes for."""
        if flags & 1 and self.readonly:
            raise Refused(f"{self!r} is read-only; writable memory was asked for")
        return self.memoryview()


_NOTHING = ctypes.c_char()  # a place for what is empty


def _on_host(lent):
    if lent.device[0] not in _HOST:
        raise Refused(f"the host does not read {lent!r}: copy it with the library that made it")
    _alive(lent)


def _alive(lent):
    # in a cycle that the collector ends, a finalizer may come after the owner's
    if getattr(getattr(lent, "owner", None), "_debts", ()) is None:
        raise Refused(f"the memory of {lent!r} was given back")


_NOBODY = "owner is what keeps the memory alive, and None keeps nothing"


def _span(part, length, what, values):
    if not isinstance(part, slice):
        raise TypeError(f"{what} is cut by slices; its values are read by {values}")
    start, stop, step = part.indices(length)
    if step != 1:
        raise ValueError(f"{what} has no gaps: it is cut in steps of 1")
    return start, max(0, stop - start)


class Buffer(_Lent):
    """Bytes that lie somewhere: `ptr`, `nbytes` (also `bufsize`), `device` as DLPack numbers it, `readonly`, `owner`.

    It has no strides and no dtype, so that `ptr` and `nbytes` tell the truth about all of it.
    """

    __slots__ = ("stream",)
    dtype, strides, shape = "|u1", (1,), property(lambda self: (self.nbytes,))

    def __init__(self, ptr, nbytes, device, readonly, owner, stream="unknown"):
        self.ptr, self.nbytes, self.device, self.readonly, self.stream = ptr, nbytes, device, readonly, stream
        self.owner = owner
        if owner is None:
            raise TypeError(_NOBODY)
        if nbytes < 0 or (nbytes and not 0 < ptr <= 2**64 - nbytes):
            raise Refused(f"no {nbytes} bytes lie at the address {ptr}")

    def __getitem__(self, part):
        start, count = _span(part, self.nbytes, "a Buffer", "memoryview()")
        return Buffer(self.ptr + start, count, self.device, self.readonly, self.owner, self.stream)


class Array(_Lent):
    """A Buffer with a shape, strides in bytes and a dtype; `ptr` is the address of element 0.

    `dtype` is a typestr ("<f8", "|b1", "<M8[ns]") or the name of a type that has none ("bfloat16"). `buffer` has the
    bytes from the lowest to the highest. `stream` is what a CUDA interface told: None if nothing is pending, "unknown"
    if nobody said. One of your own: Array(ptr, (3,), None, "<f8", (1, 0), False, Owner(memory, free, ptr)), where
    strides of None are those of rows one after the other, and the device (1, 0) is the host.
    """

    __slots__ = ("_ends", "c_contiguous", "dtype", "itemsize", "shape", "stream", "strides")

    def __init__(self, ptr, shape, strides, dtype, device, readonly, owner, stream="unknown"):
        itemsize = high = _parts(dtype)[1]
        shape = shape if type(shape) is tuple else tuple(shape)
        room, low, steps, whole, axis, empty = itemsize or 1, 0, [], True, len(shape), 0 in shape
        if axis > _DEEPEST or (strides is not None and len(strides) != axis):
            raise Refused(f"shape {shape!r:.90} and strides {strides!r:.90} are not of one length, up to {_DEEPEST}")
        while axis:
            axis -= 1
            extent, natural = shape[axis], room if itemsize else 0
            step = natural if strides is None else strides[axis]
            steps.append(natural if empty else step)
            if extent > 1:
                room *= extent
                if not empty:
                    reach = (extent - 1) * step
                    if reach > 0:
                        high += reach
                    else:  # who writes one element where the reach is 0, writes them all
                        low, readonly = low + reach, readonly or (not reach and itemsize)
                    if step != natural:
                        whole = False
            if extent < 0 or room > _LARGEST or not -_LARGEST - 1 <= step <= _LARGEST:
                raise Refused(f"shape {shape!r:.90} is negative, or it or strides {strides!r:.90} do not fit 64 bits")
        nbytes = 0 if empty or not itemsize else room
        if not nbytes:
            low, high, whole = 0, 0, True
        elif high - low > _FARTHEST or not (ptr > 0 and ptr + low > 0 and ptr + high < 2**64):
            raise Refused(f"the address {ptr} has no room for shape {shape!r:.90} with strides {strides!r:.90}")
        steps.reverse()
        self.ptr, self.shape, self.strides, self.dtype, self.device = ptr, shape, tuple(steps), dtype, device
        self.itemsize, self.nbytes, self.c_contiguous, self.stream = itemsize, nbytes, whole, stream
        self.readonly, self.owner, self._ends = bool(readonly), owner, (low, high)
        if owner is None:
            raise TypeError(_NOBODY)

    @property
    def buffer(self):
        (low, high), filled, readonly = self._ends, self.itemsize, self.readonly
        for step, extent in sorted((abs(step), n) for n, step in zip(self.shape, self.strides, strict=True) if n > 1):
            # bytes between the elements were not lent to be written
            readonly = readonly or (step > filled and self.nbytes > 0)
            filled += (extent - 1) * step
        return Buffer(self.ptr + low, high - low, self.device, readonly, self.owner, self.stream)

    def _place(self):
        """What must be equal for two arrays to be the same: of extents up to 1 the stride means nothing."""
        steps = [stride for extent, stride in zip(self.shape, self.strides, strict=True) if extent > 1]
        return self.dtype, self.shape, self.nbytes and (self.ptr, steps)

    def tolist(self):
        """The values, in lists of lists; times as integers in their unit, NaT as -2**63."""
        _on_host(self)
        return _in_python(self, lambda: self._values(self.ptr, 0))

    def _values(self, address, dim):
        if dim == len(self.shape):
            return _unpacked(self.dtype, ctypes.string_at(address, self.itemsize))[0]
        extent, stride = self.shape[dim], self.strides[dim]
        if dim + 1 < len(self.shape) or stride != self.itemsize or not stride:
            return [self._values(address + i * stride, dim + 1) for i in range(extent)]
        return _unpacked(self.dtype, ctypes.string_at(address, extent * stride)) if extent else []


def _in_python(lent, read):
    """What `read` makes of memory that may hold what no object of Python's says."""
    try:
        return read()
    except (ArithmeticError, LookupError, OSError, ValueError) as error:
        raise Refused(f"{lent!r} holds what Python has no object for: {type(error).__name__}: {error}") from None


def _unpacked(dtype, data):
    """The values in bytes that lie one after the other."""
    kind, size, code = _parts(dtype)
    if code:
        order = "=" if dtype[0] == "|" else dtype[0]
        values = struct.unpack(f"{order}{len(data) * len(code) // size}{code[0]}", data)
        return list(map(complex, values[::2], values[1::2])) if len(code) == 2 else list(values)
    items = [data[i : i + size] for i in range(0, len(data), size)] if size else [b""]
    if kind == "U":
        return [item.decode("utf-32-be" if dtype[0] == ">" else "utf-32-le").rstrip("\0") for item in items]
    if kind not in ("S", "V"):
        raise Refused(f"the standard library reads no {dtype}: lend.view(x).tolist() does")
    return [item.rstrip(b"\0") for item in items] if kind == "S" else items


class Column:
    """One logical column in Arrow's layouts, with whichever nulls its producer has.

    dtype : an Arrow format string ("l", "u", "tsu:UTC", "+s"), or "?" of booleans that have a byte each; of a
        dictionary that of its codes.
    length, offset : in elements. Each buffer, and each child of structs and of lists of one length, is counted from
        `offset` on.
    nulls : ("none", None), ("bitmask", m), ("bytemask", m), ("nan", None), ("nat", None) or ("sentinel", value), where
        m (0 or 1) is how the mask says that an element is missing.
    buffers : by role: validity, data, offsets, sizes, views; and "variadic", a tuple: where views point to.
    children, dictionary : Columns.
    about : what else was said: "name", "ordered" (of a dictionary), "metadata" (of Arrow, bytes to bytes: where it
        names an extension type, this is the storage of that).
    """

    __slots__ = ("__weakref__", "about", "buffers", "children", "dictionary", "dtype", "length", "nulls", "offset")
    name = property(lambda self: self.about.get("name", ""))

    def __init__(self, dtype, length, offset, nulls, buffers, children=(), dictionary=None, about=None):
        self.dtype, self.length, self.offset, self.nulls, self.buffers = dtype, length, offset, nulls, buffers
        self.children, self.dictionary, self.about = children, dictionary, about or {}
        if nulls[0] == "sentinel" and dtype in ("e", "f"):  # as wide as what it is compared with
            self.nulls = "sentinel", struct.unpack(dtype, struct.pack(dtype, nulls[1]))[0]

    def __repr__(self):
        nulls = "" if self.nulls[0] == "none" else f", nulls by {self.nulls[0]}"
        return f"<Column {self.name!r} {self.dtype}[{self.length}]{nulls}>"

    def __len__(self):
        return self.length

    def __getitem__(self, part):
        """A slice, which shares everything; or a column of a table, by its name."""
        if isinstance(part, str):
            found = [child for child in self.children if child.name == part]
            if len(found) != 1 or self.dtype != "+s" or self.nulls[0] != "none":
                names = [child.name for child in self.children]
                raise KeyError(f"{part!r} is {len(found)} of the columns {names}: {self!r} needs it once, no null rows")
            return found[0][self.offset : self.offset + self.length]
        start, count = _span(part, self.length, "a Column", "tolist(), or column_to_ndarray(x)")
        return self._at(count, self.offset + start, dict(self.buffers))

    def _at(self, length, offset, buffers):
        shared = self.children, self.dictionary, self.about
        return Column(self.dtype, length, offset, self.nulls, buffers, *shared)

    @property
    def null_count(self):
        """How many elements are missing by the nulls of the column itself; counted each time."""
        return self.length * (self.dtype == "n") if self.nulls[0] == "none" else _missing(self, 0, self.length).count(1)

    def tolist(self):
        """Python values, None for what is missing, structs as dicts; a time that datetime cannot hold is refused."""
        return _in_python(self, lambda: list(map(_reader(self, 0, self.length), range(self.length))))

    def __array__(self, dtype=None, copy=None):
        raise Refused(f"NumPy has no word for what may be missing in {self!r}: column_to_ndarray(x) does it")

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        if nan_as_null:
            raise Refused("nan_as_null asks for a copy: lend makes it")
        return _Frame(self)


# -- arrays: one function for each protocol ------------------------------------------------------------------------


def _first(obj, doors, what):
    """What the first door gives that opens."""
    tried = []
    for door in doors:
        try:
            made = door(obj)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - a producer raises what it likes, and the next protocol may serve
            tried.append(f"{door.__name__[1:]}: {type(error).__name__}: {error!s:.300}")
        else:
            if made is not None:
                return made
    none = "it has no protocol for that: numpy.asarray(x) or pyarrow.array(x) may make what has one"
    said = "; ".join(tried) or none
    if what == "an array" and _is_column(obj):
        said += "; column(x) reads it, and column_to_ndarray() makes an array of that"
    raise Refused(f"{_full_name(obj)} is not lent as {what}: {said}")


def _is_column(obj):
    return any(_has(obj, name) for name in ("__arrow_c_array__", "__arrow_c_stream__", "__dataframe__"))


def array(obj):
    """The memory of an array of any library as an Array; nothing is copied. Refused says what each protocol said."""
    mask = getattr(obj, "mask", None)  # of which no protocol tells; False: nothing is masked
    if mask is not None and (type(mask).__name__ not in ("bool", "bool_") or mask or hasattr(obj, "fill_value")):
        _unmasked(obj, mask)
    doors = (_by_buffer, _by_dlpack, _by_interface, _by_cuda_interface, _by_pointer)
    if hasattr(type(obj), "__cuda_array_interface__"):  # what may lie on a device is asked for that before its bytes
        doors = (_by_dlpack, _by_cuda_interface, _by_host)
    for doubt in ("is_conj", "is_neg"):  # of torch: the value is not what lies there, whichever protocol shows it
        if getattr(obj, doubt, bool)():
            raise Refused(f"the memory of this {_full_name(obj)} is not its value: {doubt}() is true")
    dispatch = getattr(type(obj), "__torch_dispatch__", None)
    if dispatch is not None and getattr(dispatch, "__name__", "") != "_disabled_torch_dispatch_impl":
        raise Refused(f"{_full_name(obj)} answers for itself, and may show memory of anything")
    if type(obj) is Buffer:
        _alive(obj)
        return Array(obj.ptr, obj.shape, None, obj.dtype, obj.device, obj.readonly, obj.owner, obj.stream)
    return obj if type(obj) is Array else _first(obj, doors, "an array")


def _unmasked(obj, mask):
    if mask is not None and not callable(mask):  # pandas has a method of that name
        way = "column(x) takes the masks of numpy.ma and of __array_interface__ for nulls; or take data and mask apart"
        raise Refused(f"some elements of this {_full_name(obj)} may be masked: {way}")


def _told_mask(obj):
    """The mask in an interface, for which the buffer protocol and DLPack have no word; NumPy's own has none."""
    told = getattr(type(obj), "__array_interface__", None)
    if type(told) is _COMPILED and told.__objclass__.__module__ == "numpy":
        return None
    try:
        told = getattr(obj, "__array_interface__", None)
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001 - it tells of no mask, and another protocol serves
        return None
    return told.get("mask") if isinstance(told, dict) else None


_COMPILED = type(int.real)


def buffer(obj):
    """The bytes of an array of any library as a Buffer, from the lowest to the highest; nothing is copied."""
    return obj if type(obj) is Buffer else array(obj).buffer


def _release(lease, held):
    _incref(held)
    _release_buffer(lease)


def _by_buffer(obj, masked=False):
    lease = _Lease()  # which never moves: some exporters point into it
    try:
        if _get_buffer(obj, lease, 0x11C):  # PyBUF_FULL_RO: asked for less, some exporters tell half of it
            raise Refused("its buffer was refused without a reason")
    except TypeError as error:
        if "a bytes-like object is required" in str(error):
            return None
        raise
    held, ndim, itemsize, shape, strides = lease.obj, lease.ndim, lease.itemsize, lease.shape, lease.strides
    if held:  # the collector sees a reference of the owner, not one in a Py_buffer: cycles would stay
        held = obj if held == id(obj) else _object.from_buffer(lease, 8).value
        owner = Owner(obj, _release, lease, held)
        _decref(held)
    else:
        owner = Owner(obj)
    masked or _unmasked(obj, _told_mask(obj))
    if not 0 <= ndim <= _DEEPEST or (ndim and not shape) or itemsize < 0:
        raise Refused(f"its buffer contradicts itself: ndim {ndim}, itemsize {itemsize}, shape told: {bool(shape)}")
    if lease.suboffsets and max(lease.suboffsets[:ndim], default=-1) >= 0:
        raise Refused("its rows lie behind pointers (suboffsets): lend.view(x, copy=True) gathers them")
    format = lease.format
    if format == b"B" and getattr(getattr(obj, "dtype", None), "kind", "") in tuple("mM"):
        raise Refused("a scalar time shows bytes in place of its unit: numpy.asarray(x) has it")
    dtype = _FORMATS.get((format, itemsize)) or _dtype_of_format(format, itemsize)
    extents, steps = tuple(shape[:ndim]) if ndim else (), strides[:ndim] if strides else None
    made = Array(lease.buf or 0, extents, steps, dtype, (1, 0), lease.readonly != 0, owner)
    if lease.len != made.nbytes:
        raise Refused(f"its buffer contradicts itself: {lease.len} bytes for shape {extents} of {itemsize} bytes each")
    return made


_FORMATS = {(None, 1): "|u1"}  # what was read before


def _dtype_of_format(format, itemsize):
    if format is None:
        return f"|V{itemsize}"
    text = format.decode("latin-1")
    order, letter = (text[0], text[1:]) if text[:1] in tuple("@=<>!^") else ("@", text)
    count, last = letter[:-1], letter[-1:]
    pair = {"Zf": "ff", "Zd": "dd", "F": "ff", "D": "dd"}.get(letter)
    size, body = -1, ""
    if last in tuple("swxc") and not count.strip("0123456789"):
        size, body = int(count or 1) * (4 if last == "w" else 1), {"w": "U", "x": "V"}.get(last, "S") + (count or "1")
    elif pair or letter in tuple("?bhilqnBHILQNefd"):
        size = struct.calcsize(("@" if order in "@^" or letter in "nN" else "=") + (pair or letter))
        body = f"{'c' if pair else 'b' if letter == '?' else 'f' if letter in 'efd' else 'iu'[letter.isupper()]}{size}"
    if size != itemsize:
        raise Refused(f"the format {text!r:.60} of {itemsize} bytes is no number, text or bytes: lend.view(x) reads it")
    order = {"<": "<", ">": ">", "!": ">"}.get(order, _ORDER)
    dtype = (order if size > 1 and body[0] not in "SV" else "|") + body
    if len(_FORMATS) < 100:
        _FORMATS[format, itemsize] = dtype
    return dtype


def _announced(obj, otherwise):
    """The device that an object says it is on."""
    if not hasattr(obj, "__dlpack_device__"):
        return otherwise
    kind, number = obj.__dlpack_device__()
    return _checked_device(index(kind), 0 if number is None else index(number), -1)  # frames say (1, None)


def _checked_device(kind, number, lowest=0):  # -1 is ours and lend's: the number is not known
    if kind not in _ADDRESSES or (kind > 1 and not lowest <= number < 2**31):
        raise Refused(f"memory on device ({kind}, {number}) has no address: lend.view(x) keeps handles")
    return kind, number if kind > 1 else 0  # cpus have no numbers, whatever some write there


def _by_dlpack(obj):
    capsule, device, kept = obj, None, None
    if type(obj).__name__ != "PyCapsule":
        if not hasattr(type(obj), "__dlpack__"):
            return None
        device, kept = _announced(obj, None), obj
        _unmasked(obj, _told_mask(obj))
        try:
            capsule = obj.__dlpack__(max_version=(1, 3))
        except TypeError as error:
            if error.__traceback__.tb_next is not None:  # raised within the producer, which took the keyword
                raise
            capsule = obj.__dlpack__()
    name, address, ptr, extents, steps, dtype, place, readonly, deleter = _tensor_in(capsule)
    if device is not None and place[0] != device[0]:
        raise Refused(f"its tensor is on device {place}, and {device} was announced")
    if dtype[1] in "iu":
        meant = str(getattr(kept, "dtype", None)).rpartition(".")[2]  # torch.uint4 says that it is uint8
        if meant.startswith(("int", "uint")) and meant.lstrip("uint") != str(_parts(dtype)[1] * 8):
            raise Refused(f"its dtype is {meant}, and its tensor says {dtype}")
    owner, give_back = Owner(kept), _callback(deleter) if deleter else None
    made = Array(ptr, extents, steps, dtype, place, readonly, owner)
    with _TAKING:  # from here on the owner gives it back; before, the capsule does
        if not _is_capsule(capsule, name):
            raise Refused("its DLPack capsule was consumed at the same time")
        _rename_capsule(capsule, _USED[name])
    if give_back:
        owner.owes(give_back, address)
    return made


def _tensor_in(capsule):
    """What a DLPack capsule says: name, address, ptr, shape, strides, dtype, device, read-only, deleter."""
    name, address = _pointer(capsule, *_USED)
    if name == b"dltensor":
        *tensor, _, deleter = _UNVERSIONED.unpack_from(_ALL, address)
        flags = 1  # it cannot say that it may be written to
    else:
        major, minor, _, deleter, flags = _VERSIONED.unpack_from(_ALL, address)
        if major != 1:
            raise Refused(f"its tensor is of DLPack {major}.{minor}, and 1.x is read")
        tensor = _TENSOR.unpack_from(_ALL, address + _VERSIONED.size)
    data, kind, number, ndim, code, bits, lanes, shape, strides, skip = tensor
    if not 0 <= ndim <= _DEEPEST or (ndim and not shape):
        raise Refused(f"its tensor contradicts itself: ndim {ndim}, shape at {shape:#x}")
    dtype = _DLPACK.get((code, bits)) if lanes == 1 else None
    if dtype is None:
        raise Refused(f"the DLPack dtype (code {code}, bits {bits}, lanes {lanes}) has no word here: lend.view(x) has")
    extents, steps = _integers(shape, ndim), None
    if 0 not in extents:
        if not data or skip > _LARGEST:
            raise Refused(f"its tensor of shape {extents} is not empty, and lies at {data:#x}, byte {skip}")
        if strides:
            size = bits // 8
            steps = [step * size for step in _integers(strides, ndim)]
    return name, address, data + skip, extents, steps, dtype, _checked_device(kind, number), flags & 1, deleter


def _by_interface(obj, attribute="__array_interface__", device=(1, 0), masked=False):
    if not hasattr(obj, attribute):
        return None
    if device[0] == 1 and _announced(obj, device)[0] not in _HOST:
        raise Refused(f"an interface of the host beside memory on device {_announced(obj, device)}")
    told = getattr(obj, attribute)
    shape, dtype, steps, data = told["shape"], told["typestr"], told.get("strides"), told.get("data")
    if not isinstance(shape, tuple | list) or not isinstance(steps, tuple | list | None):
        raise Refused(f"shape {shape!r:.90} and strides {steps!r:.90} are not both tuples")
    shape, steps = tuple(map(index, shape)), None if steps is None else tuple(map(index, steps))
    masked or _unmasked(obj, told.get("mask"))
    meant, plain = getattr(getattr(obj, "dtype", None), "name", None), [("", dtype)]
    if meant in _NAMED.values() and dtype[2:] == str(_parts(meant)[1]) and (dtype[0] != ">" or dtype[2:] == "1"):
        dtype = meant
    elif dtype[1:2] == "V" and (plain != (told.get("descr") or plain) or (meant or "void")[:4] != "void"):
        raise Refused(f"{dtype} says less than there is ({meant}): lend.view(x) reads it")
    if shape == () and type(obj).__module__ == "numpy" and not hasattr(obj, "__setitem__"):
        raise Refused("a NumPy scalar shows memory that is gone already: numpy.asarray(x) has some of its own")
    stream = told.get("stream", "unknown")
    if stream not in (None, "unknown") and (type(stream) is not int or stream < 1):
        raise Refused(f"stream {stream!r:.60} means nothing: 1 and 2 are CUDA's default streams")
    if type(data) is tuple or device[0] != 1:
        ptr, readonly = data
        if type(data) is not tuple or told.get("offset"):
            raise Refused(f"data {data!r:.90} with offset {told.get('offset')!r:.30} is no place")
        return Array(index(ptr), shape, steps, dtype, device, readonly, Owner(obj), stream)
    lent = _by_buffer(obj, masked) if data is None else array(data)  # this one has bounds
    if lent is None:
        raise Refused("its interface tells no data, and it has no buffer")
    made = Array(lent.ptr + index(told.get("offset", 0)), shape, steps, dtype, device, lent.readonly, lent.owner)
    start = made.buffer.ptr - lent.ptr
    if start < 0 or start + made.buffer.nbytes > lent.nbytes or not lent.c_contiguous or lent.device != device:
        raise Refused(f"shape {shape} with strides {made.strides} leaves the {lent.nbytes} bytes of its data, {lent!r}")
    return made


def _by_cuda_interface(obj):
    if not hasattr(obj, "__cuda_array_interface__"):
        return None
    kind, number = _announced(obj, (2, -1))  # the number is the driver's to tell
    # work may be pending on a stream: pinned and managed memory is not the host's to read at once
    if kind not in (2, 3, 10, 11, 13):
        raise Refused(f"device {kind} was announced beside an interface of CUDA")
    device = (kind, number) if kind in (2, 10) else (10 if kind == 11 else 2, -1)
    return _by_interface(obj, "__cuda_array_interface__", device)


def _by_host(obj):
    on_host = _announced(obj, (2, -1))[0] in _HOST
    return _first(obj, (_by_buffer, _by_interface, _by_pointer), "an array of the host") if on_host else None


def _by_pointer(obj):
    ptr, sizes = getattr(obj, "ptr", None), (getattr(obj, name, None) for name in ("nbytes", "bufsize", "size"))
    size = next((size for size in sizes if size is not None), None)
    if type(ptr) is not int or type(size) is not int:
        return None
    _alive(obj)
    if not hasattr(obj, "__dlpack_device__"):  # a pointer into another device ends the process that reads it
        for name in ("device", "device_type", "device_id", "device_ordinal"):
            said = getattr(obj, name, None)
            if said is not None and not str(said).lower().startswith("cpu") and (name, said) != ("device_type", 1):
                raise Refused(f"its {name} is {said!r:.60}, and no __dlpack_device__ says whether that is the host")
    return Array(ptr, (size,), None, "|u1", _announced(obj, (1, 0)), True, Owner(obj))


# -- columns: Arrow ------------------------------------------------------------------------------------------------

# formats of plain elements -> what struct reads; "?" is ours
_FIXED = dict(zip("cCsSiIlLefg?", "bBhHiIqQefd?", strict=True)) | {
    "tdD": "i", "tdm": "q", "tts": "i", "ttm": "i", "ttu": "q", "ttn": "q", "tiM": "i", "tiD": "ii", "tin": "iiq",
}  # fmt: skip
_INDEX = tuple("cCsSiIlL")
_NO_NULLS, _BY_BITS = ("none", None), ("bitmask", 0)
_zero = ctypes.c_int64()
_ZERO = ctypes.addressof(_zero)  # the one offset of what has no elements


def _fixed(width):
    return "fixed", width, (("validity", 1, 0), ("data", 8 * width, 0)), 0


def _offset(layout, width, fields, *more):  # of lists and texts, which have one offset more than elements
    return layout, width, (("validity", 1, 0), ("offsets", 8 * width, layout != "list view"), *more), fields


# format -> layout, bytes of an element or of an offset, buffers (role, bits of an element, elements more; the bytes of
# text are counted by the last offset), number of children (None: any)
_LAYOUTS = {format: _fixed(struct.calcsize("=" + code)) for format, code in _FIXED.items()} | {
    "n": ("null", 0, (), 0), "b": ("bits", 0, (("validity", 1, 0), ("data", 1, 0)), 0),
    **dict.fromkeys("uz", _offset("bytes", 4, 0, ("data", 0, 0))), "+s": ("struct", 0, (("validity", 1, 0),), None),
    **dict.fromkeys("UZ", _offset("bytes", 8, 0, ("data", 0, 0))),
    **dict.fromkeys(("vu", "vz"), ("views", 16, (("validity", 1, 0), ("views", 128, 0)), 0)),
    **dict.fromkeys(("+l", "+m"), _offset("list", 4, 1)), "+L": _offset("list", 8, 1),
    "+vl": _offset("list view", 4, 1, ("sizes", 32, 0)), "+vL": _offset("list view", 8, 1, ("sizes", 64, 0)),
}  # fmt: skip


def _layout(dtype, name=""):
    found = _LAYOUTS.get(dtype)
    if found is not None:
        return found
    start, colon, rest = dtype.partition(":")
    if (colon and start in ("tss", "tsm", "tsu", "tsn")) or dtype in ("tDs", "tDm", "tDu", "tDn"):
        return _fixed(8)
    numbers = rest.split(",")
    if all(number.isascii() and number.removeprefix("-").isdigit() and len(number) < 10 for number in numbers):
        if start in ("w", "+w") and len(numbers) == 1 and int(rest) >= 0:
            return _fixed(int(rest)) if start == "w" else ("fixed list", int(rest), (("validity", 1, 0),), 1)
        bits = int(numbers[2]) if len(numbers) == 3 else 128
        if start == "d" and len(numbers) in (2, 3) and bits in (32, 64, 128, 256):
            return _fixed(bits // 8)
    raise Refused(f"the Arrow format {dtype!r:.60}{' of ' + repr(name) if name else ''} is not read here")


def _moved(layout, capsule, name):
    """What the struct in a capsule says, and the memory of our own that it was moved to."""
    address = _pointer(capsule, name)[1]
    with _TAKING:  # two threads may have one capsule
        facts = layout.unpack_from(_ALL, address)
        if not facts[-2]:
            raise Refused("it was consumed before: its release callback is NULL")
        layout.pack_into(own := _Struct(), 0, *facts)
        _POINTER.pack_into(_ALL, address + layout.size - 16, 0)  # of release, which is the last but one
    return facts, own


def _pointers(address, count):
    if not 0 <= count <= 1 << 20 or (count and not address):
        raise Refused(f"{count} pointers are told to lie at {address:#x}")
    return _integers(address, count, "Q")


def _metadata(address):
    """The pairs of a metadata blob, whose end nothing tells: only its own lengths do."""
    (count,), texts, at = _integers(address, 1, "i"), [], address + 4
    for _ in range(2 * count if count <= 1 << 20 else 0):
        (size,) = _integers(at, 1, "i")
        if size < 0:
            break
        texts.append(ctypes.string_at(at + 4, size))
        at += 4 + size
    if len(texts) != 2 * count:
        raise Refused(f"its metadata contradict themselves: {count} pairs, or one of a negative length")
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _text(address):
    return _char_p(address).value.decode("utf-8", "replace") if address else ""


def _field(address, seen=(), depth=0):
    """A schema: format, its layout, fields, dictionary, and what else it says."""
    format, name, metadata, flags, count, children, dictionary, release, _ = _peek(_SCHEMA, address)
    seen = seen or set()
    if not release or not format or depth > _DEEPEST or address in seen:
        raise Refused(f"a schema at depth {depth} has no format, was released, is its own, or below {_DEEPEST} others")
    seen.add(address)
    dtype, name, fields = _text(format), _text(name), ()
    if count:
        fields = [_field(child, seen, depth + 1) for child in _pointers(children, count)]
    words = _field(dictionary, seen, depth + 1) if dictionary else None
    layout = _LAYOUTS.get(dtype) or _layout(dtype, name)
    pairs = dtype != "+m" or (count and fields[0][0] == "+s" and len(fields[0][2]) == 2)
    if layout[3] not in (None, count) or not pairs or (words and dtype not in _INDEX):
        raise Refused(f"the schema of {name!r} contradicts itself: {dtype!r} with {count} children")
    about = {"name": name, "ordered": flags & 1 == 1, "metadata": _metadata(metadata) if metadata else {}}
    return dtype, layout, fields, words, about


def _wrong(field, what):
    return Refused(f"the array of {field[4]['name']!r} ({field[0]}) contradicts itself: {what}")


def _imported(field, facts, owner):
    """The Column that an ArrowArray holds; of the contents only what says how long a buffer is, is looked at."""
    dtype, (layout, width, roles, _), fields, words, about = field
    length, nulls, offset, n_buffers, n_children, pointers, children, words_at, release, _ = facts
    end, last, held, parts = offset + length, 0, {}, ()
    if not release:
        raise _wrong(field, "it is NULL, or was released before")
    # of views there are as many as it likes, and polars gives nulls one
    miscounted = n_buffers < 3 if layout == "views" else n_buffers != len(roles) and layout != "null"
    if miscounted or n_children != len(fields) or (not words_at) != (words is None):
        told = f"{n_children} children, {len(fields)} in its schema, and a dictionary at {words_at:#x}"
        raise _wrong(field, f"{n_buffers} buffers, where its layout has {len(roles)}; {told}")
    if length < 0 or offset < 0 or not -1 <= nulls <= length or end > _LARGEST >> 16:
        raise _wrong(field, f"length {length}, offset {offset}, null_count {nulls}")
    if not length:  # nobody promises memory up to the offset of nothing
        offset = end = 0
    places = _pointers(pointers, n_buffers)
    for (role, bits, more), place in zip(roles, places, strict=False):
        size = ((end + more) * bits + 7) // 8 if bits else last
        if more and not end:  # nobody needs to tell the one offset of no elements
            place = _ZERO  # noqa: PLW2901
        elif more and place:
            code = "iq"[width == 8]
            (first,), (last,) = _integers(place + offset * width, 1, code), _integers(place + end * width, 1, code)
            if not 0 <= first <= last:
                raise _wrong(field, f"offsets from {first} to {last}")
        if not place and (nulls > 0 if role == "validity" else size):
            raise _wrong(field, f"no {role}, and {end} elements of which {nulls} are missing")
        if role != "validity" or (place and nulls):  # bits beside a count of 0 need not be true
            held[role] = Buffer(place, size, (1, 0), True, owner)
    if layout == "views":  # whose last buffer has the lengths of those between
        lengths = _integers(places[-1], n_buffers - 3) if places[-1] else (-1,) * (n_buffers - 3)
        if any(size < 0 or (size and not place) for size, place in zip(lengths, places[2:], strict=False)):
            raise _wrong(field, f"data buffers of lengths {lengths[:9]} at {places[2:-1][:9]}")
        held["variadic"] = tuple(Buffer(*part, (1, 0), True, owner) for part in zip(places[2:-1], lengths, strict=True))
    if fields:
        needed = end if layout == "struct" else end * width if layout == "fixed list" else last
        pairs = zip(fields, _pointers(children, n_children), strict=True)
        parts = tuple([_imported(child, _peek(_ARRAY, at), owner) for child, at in pairs])
        if min(map(len, parts)) < needed:
            have = [part.length for part in parts[:9]]
            raise _wrong(field, f"{needed} elements of each child are needed, which have {have}")
    words = _imported(words, _peek(_ARRAY, words_at), owner) if words else None
    return Column(dtype, length, offset, _BY_BITS if "validity" in held else _NO_NULLS, held, parts, words, about)


def _by_arrow_array(obj):
    if type(obj) is not tuple and not _has(obj, "__arrow_c_array__"):
        return None
    schema, contents = obj if type(obj) is tuple else obj.__arrow_c_array__()
    field = _field(_pointer(schema, b"arrow_schema")[1])
    facts, own = _moved(_ARRAY, contents, b"arrow_array")
    return [_imported(field, facts, Owner(None, _callback(facts[8]), own))]


def _by_arrow_stream(obj):
    bare = type(obj).__name__ == "PyCapsule"
    if not bare and not _has(obj, "__arrow_c_stream__"):
        return None
    facts, stream = _moved(_STREAM, obj if bare else obj.__arrow_c_stream__(), b"arrow_array_stream")
    get_schema, get_next, get_last_error, release, _ = facts
    owner, found = Owner(None, _callback(release), stream), []  # of what is owed at the end of this function
    if not get_schema or not get_next:
        raise Refused("its stream has no callback that gives something")

    def pulled(give):
        failed = give(stream, made := _Struct())
        if failed:
            said = (get_last_error and _last_error(get_last_error)(stream)) or b"no reason given"
            raise Refused(f"its stream failed with errno {failed}: {said.decode('utf-8', 'replace')}")
        return made

    schema, give = pulled(_pull(get_schema)), _pull(get_next)
    release = _SCHEMA.unpack_from(schema)[7]
    if release:
        owner.owes(_callback(release), schema)
    field = _field(ctypes.addressof(schema))
    while (facts := _ARRAY.unpack(made := pulled(give)))[8]:
        found.append(_imported(field, facts, Owner(None, _callback(facts[8]), made)))
    # what has a length has that many rows; a reader without one may have been drained
    return found or ([_empty(field)] if bare or hasattr(type(obj), "__len__") else [])


_DATA = (
    *("__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__", "__arrow_c_device_stream__"),
    *("__dataframe__", "__array__", "__array_interface__", "__cuda_array_interface__", "__dlpack__"),
)


def _by_arrow_schema(obj):
    """A type alone, as a column of no elements; of what has data its data are asked for."""
    bare = type(obj).__name__ == "PyCapsule" and _is_capsule(obj, b"arrow_schema")
    if not bare and (not _has(obj, "__arrow_c_schema__") or any(_has(obj, name) for name in _DATA)):
        return None
    schema = obj if bare else obj.__arrow_c_schema__()
    return [_empty(_field(_pointer(schema, b"arrow_schema")[1]))]


def _empty(field):
    dtype, (layout, width, roles, _), fields, words, about = field
    held = {role: _nothing(width * more) for role, _, more in roles if role != "validity"}
    if layout == "views":
        held["variadic"] = ()
    return Column(dtype, 0, 0, _NO_NULLS, held, tuple(map(_empty, fields)), words and _empty(words), about)


def _nothing(nbytes):
    return Buffer(_ZERO, nbytes, (1, 0), True, Owner(None))


def chunks(obj, *, allow_copy=False):
    """The columns of an object, one for each of its chunks; a table comes as columns of structs. Nothing is copied.

    `allow_copy` is handed on to `__dataframe__`: some producers lend text no other way. What gives its chunks only once
    (a reader) has none the second time.
    """
    frames = _by_dataframe_copying if allow_copy else _by_dataframe
    doors = (_by_arrow_array, _by_arrow_stream, frames, _by_array, _by_arrow_schema)
    return [obj] if type(obj) is Column else _first(obj, doors, "columns")


def column(obj, *, allow_copy=False):
    """The one column of an object; several chunks with rows are refused (chunks(x) has those of a reader, once)."""
    every = chunks(obj, allow_copy=allow_copy)
    found = [part for part in every if part.length] or every[:1]
    if len(found) != 1:
        way = "chunks(x) lists them; a reader gives them once, and has given them now"
        raise Refused(f"{_full_name(obj)} has {len(found)} chunks: {way}")
    return found[0]


_COLUMNS = "that is one dimension without gaps, of numbers, booleans or times in the order of the machine"
_ARROW_OF = dict(
    zip(("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "b1"), "cCsSiIlLefg?", strict=True)
)


def _by_array(obj):
    if _is_column(obj):  # which said already why it is none
        return None
    masked = hasattr(obj, "mask") and hasattr(obj, "fill_value")  # a masked array of NumPy's, whose 1 is missing
    mask = obj.mask if masked else _told_mask(obj)
    values = array(obj.data) if masked else array(obj) if mask is None else _by_interface(obj, masked=True)
    body, _, unit = values.dtype[1:].partition("[")
    timed = body in ("M8", "m8")
    dtype = {"M8": f"ts{unit[:1]}:", "m8": f"tD{unit[:1]}"}.get(body) or _ARROW_OF.get(body)
    if len(values.shape) != 1 or not values.c_contiguous or not dtype or values.dtype[0] not in ("|", _ORDER):
        raise Refused(f"{values!r} with strides {values.strides} is no column as it lies: {_COLUMNS}")
    if timed and unit not in ("s]", "ms]", "us]", "ns]"):
        raise Refused(f"Arrow counts times in s, ms, us and ns, and not as {values.dtype}: astype() makes a copy")
    nulls, held = ("nat", None) if timed else _NO_NULLS, {"data": values.buffer}
    if mask is not None and getattr(mask, "shape", None) != ():
        if timed:
            raise Refused("times may be missing by their value and by a mask, and a Column has one kind of nulls")
        said = array(mask)
        if said.shape != values.shape or said.itemsize != 1 or not said.c_contiguous:
            raise Refused(f"its mask {said!r} is not a byte for each of {values.shape[0]} elements")
        nulls, held["validity"] = ("bytemask", int(masked)), said.buffer
    return [Column(dtype, values.shape[0], 0, nulls, held)]


# -- columns: __dataframe__ ----------------------------------------------------------------------------------------

_INTEGER, _UNSIGNED, _FLOAT, _BOOL, _STRING, _DATETIME, _CATEGORICAL = 0, 1, 2, 20, 21, 22, 23
_NULLS = ("none", "nan", "sentinel", "bitmask", "bytemask")
_KINDS = dict(zip("csilCSILefguUb?", (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 21, 21, 20, 20), strict=True))


def _kind(dtype):
    return _DATETIME if dtype[:2] == "ts" else _KINDS.get(dtype)


def _by_dataframe(obj, allow_copy=False):
    if not _has(obj, "__dataframe__"):
        return None
    frame = obj.__dataframe__(allow_copy=allow_copy)
    return [_table(part, (obj, frame)) for part in (frame.get_chunks() if frame.num_chunks() > 1 else [frame])]


def _by_dataframe_copying(obj):
    return _by_dataframe(obj, allow_copy=True)


def _table(frame, kept):
    fields = []
    for i, name in enumerate(frame.column_names()):
        try:
            fields.append(_told_column(frame.get_column(i), str(name), (*kept, frame)))
        except Exception as error:
            if isinstance(error, MemoryError | RecursionError):
                raise
            raise Refused(f"its column {name!r} is not lent: {type(error).__name__}: {error}") from None
    rows = frame.num_rows()
    rows = max([field.length for field in fields], default=0) if rows is None else rows
    if len(fields) != frame.num_columns() or any(field.length != rows for field in fields):
        raise Refused(f"its columns have {[field.length for field in fields]} rows, and the frame has {rows}")
    return Column("+s", rows, 0, _NO_NULLS, {}, tuple(fields))


def _told_column(told, name, kept):
    """A column of the protocol. Its own dtype counts: those beside the buffers are wrong in half of the libraries."""
    (kind, bits, dtype, order), (null, value), words, ordered = told.dtype, told.describe_null, None, False
    length, offset = index(told.size() if callable(told.size) else told.size), index(told.offset)
    if told.num_chunks() > 1 or order not in ("=", "|", _ORDER) or null not in range(5) or min(length, offset) < 0:
        told = f"{told.num_chunks()} chunks, byte order {order!r}, nulls {null}, {length} rows from {offset}"
        raise Refused(f"{name!r} has {told}")
    offset = offset if length else 0
    given, end = {role: pair for role, pair in told.get_buffers().items() if pair is not None}, offset + length
    kept = *kept, told  # of some producers it is the column or the frame that keeps the memory alive
    held = {role: _told_buffer(pair[0], f"{role} of {name!r}", kept) for role, pair in given.items()}
    widths = {role: pair[1][1] if len(pair) > 1 else None for role, pair in given.items()}  # as the buffers' dtypes say
    if kind == _CATEGORICAL:
        said = told.describe_categorical
        ordered, _, words = said if type(said) is tuple else (said["is_ordered"], True, said["categories"])
        words = _told_column(words, f"categories of {name}", kept)
        dtype = dtype if dtype in _INDEX else {8: "c", 16: "s", 32: "i"}.get(bits, "l")
    elif kind == _BOOL:
        dtype = "?" if bits == 8 else "b"
    elif kind == _STRING:
        dtype = {32: "u", 64: "U"}.get(widths.get("offsets"), dtype)  # pandas says u beside offsets of 64 bits
    layout, width, roles, _ = _layout(dtype)
    if kind is None or kind not in (_CATEGORICAL, _kind(dtype)) or (layout == "fixed" and width * 8 != bits):
        raise Refused(f"{name!r} is told to be of kind {kind} with {bits} bits in the format {dtype!r}")
    if (null > 2 and "validity" not in held) or (null == 0 and "validity" in held):
        if told.null_count != 0:
            raise Refused(f"{name!r} has nulls by kind {null}, and {told.null_count} nulls in the buffers {list(held)}")
        null, value = 0, None
    if null > 2 and (value not in (0, 1) or widths["validity"] not in (None, (1, 8)[null == 4])):
        raise Refused(f"{name!r} has nulls by kind {null} and {value!r}, in a mask of {widths['validity']} bits each")
    if null in (1, 2) and (layout != "fixed" or (null == 1 and _kind(dtype) not in (_FLOAT, _DATETIME))):
        raise Refused(f"{name!r} has nulls by kind {null}, which {dtype!r} does not have")
    if null == 2:
        value = float(value) if dtype in "efg" else index(value)
    if null < 3:
        held.pop("validity", None)
    for role, size, more in roles:
        if not end and role != "validity":  # nobody needs to give them, and a reader looks for one offset
            held[role] = _nothing(width * more)
        room = ((end + more) * (8 if role == "validity" and null == 4 else size) + 7) // 8
        if (role != "validity" or null > 2) and (role not in held or held[role].nbytes < room):
            raise Refused(f"{name!r} needs {room} bytes of {role}, and {held.get(role)} was given")
    if layout == "bytes" and length and held["offsets"].device[0] in _HOST:
        first, last = (_numbers(held["offsets"], i, 1, "iq"[width == 8])[0] for i in (offset, end))
        if not 0 <= first <= last <= held["data"].nbytes:
            raise Refused(f"{name!r} has offsets from {first} to {last} into {held['data']!r}")
    nan = "nat" if _kind(dtype) == _DATETIME else "nan"
    nulls = (nan, None) if null == 1 or value != value else (_NULLS[null], value if null else None)  # noqa: PLR0124
    return Column(dtype, length, offset, nulls, held, (), words, {"name": name, "ordered": bool(ordered)})


def _told_buffer(told, what, kept):
    found = _by_pointer(told)
    if found is None:
        raise Refused(f"the {what} are given as {_full_name(told)}, without an integer ptr and bufsize")
    found.owner.owes(id, kept)
    return found.buffer


def _from_its_byte(column):
    """The same, of buffers that begin with it: some readers forget the offset. Bits leave up to 7 of it."""
    kind, held = column.nulls[0], dict(column.buffers)
    skipped = column.offset % 8 if kind == "bitmask" or column.dtype == "b" else 0
    first, end = column.offset - skipped, column.offset + column.length
    for role, bits, more in _layout(column.dtype)[2]:
        if role in held and bits:
            size = 8 if role == "validity" and kind == "bytemask" else bits
            held[role] = held[role][first * size // 8 : ((end + more) * size + 7) // 8]
    return column._at(column.length, skipped, held)


class _Told:
    """What a frame and a column of one have in common."""

    def num_chunks(self):
        return 1

    def get_chunks(self, n_chunks=None):
        count = n_chunks or 1
        step = -(-self.column.length // count)
        return [type(self)(self.column[i * step : (i + 1) * step]) for i in range(count)]


class _FrameColumn(_Told):
    """A Column as the dataframe protocol has it; refused where that has no word."""

    null_count = property(lambda self: self.column.null_count)

    def __init__(self, column):
        self.column, self.metadata, (kind, value) = _from_its_byte(column), {}, column.nulls
        self.offset = self.column.offset
        self.describe_null = (2, -(2**63)) if kind == "nat" else (_NULLS.index(kind), value)

    @property
    def dtype(self):
        dtype = self.column.dtype
        kind = _kind(dtype) if self.column.dictionary is None else _CATEGORICAL
        if kind is None:
            raise Refused(f"the dataframe protocol has no word for {self.column!r}: cast it where it was made")
        bits = {"b": 1, "u": 8, "U": 8}.get(dtype) or _layout(dtype)[1] * 8
        return kind, bits, "b" if kind == _BOOL else dtype, "="

    @property
    def describe_categorical(self):
        if self.column.dictionary is None:
            raise TypeError(f"{self.column!r} is not categorical")
        categories = _FrameColumn(self.column.dictionary)
        return {"is_ordered": self.column.about.get("ordered", False), "is_dictionary": True, "categories": categories}

    @property
    def _col(self):
        """The values, by the name under which pandas looks for those of categories."""
        column = self.column
        return column.tolist() if column.null_count or column.dtype[4:] else column_to_ndarray(column)

    def size(self):
        return self.column.length

    def get_buffers(self):
        (kind, bits, dtype, _), held = self.dtype, self.column.buffers
        data = {_STRING: (_UNSIGNED, 8, "C", "="), _DATETIME: (_INTEGER, 64, "l", "=")}.get(kind, self.dtype)
        types = {
            "data": (_kind(dtype), bits, dtype, "=") if kind == _CATEGORICAL else data,
            "validity": (_BOOL, 1 if self.column.nulls[0] == "bitmask" else 8, "b", "="),
            "offsets": (_INTEGER, 64, "l", "=") if dtype == "U" else (_INTEGER, 32, "i", "="),
        }
        return {role: (held[role], type) if role in held else None for role, type in types.items()}


class _Frame(_Told):
    """A table, or a column as the only one of its table, as the dataframe protocol has it."""

    version = 0

    def __init__(self, column):
        self.column, self.metadata, table = column, {}, column.dtype == "+s"
        names = [field.name for field in column.children] if table else [column.name]
        if len(set(names)) < len(names) or (table and column.nulls[0] != "none" and column.null_count):
            raise Refused(f"a frame has no null rows and no two columns of one name: {names}")
        start, stop = column.offset, column.offset + column.length
        self.fields = [field[start:stop] for field in column.children] if table else [column]

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self if not nan_as_null else self.column.__dataframe__(nan_as_null)

    def num_columns(self):
        return len(self.fields)

    def num_rows(self):
        return self.column.length

    def column_names(self):
        return [field.name for field in self.fields]

    def get_column(self, i):
        return _FrameColumn(self.fields[i])

    def get_column_by_name(self, name):
        return self.select_columns_by_name([name]).get_column(0)

    def get_columns(self):
        return list(map(_FrameColumn, self.fields))

    def select_columns(self, indices):
        return _Frame(Column("+s", self.column.length, 0, _NO_NULLS, {}, tuple(self.fields[i] for i in indices)))

    def select_columns_by_name(self, names):
        known = self.column_names()
        if not set(names) <= set(known):
            raise KeyError(f"{names} are not all among the columns {known}")
        return self.select_columns(list(map(known.index, names)))


# -- values --------------------------------------------------------------------------------------------------------


def _bytes(lent, start, count):
    """A copy of some bytes of a Buffer, if it has them and the host reads it."""
    _on_host(lent)
    if start < 0 or count < 0 or start + count > lent.nbytes:
        raise Refused(f"bytes {start} to {start + count} of {lent!r} are referred to: what lies there leads out of it")
    return ctypes.string_at(lent.ptr + start, count) if count else b""


def _numbers(lent, at, count, code):
    size = struct.calcsize("=" + code)
    data = _bytes(lent, at * size, count * size)
    return list(struct.iter_unpack("=" + code, data)) if len(code) > 1 else struct.unpack(f"={count}{code}", data)


_TRUE, _FALSE = b"\0" + b"\1" * 255, b"\1" + bytes(255)  # what bytes.translate makes of bytes: whether they are true
_OF_TEXT = bytes(48) + b"\0\1" + bytes(206)  # and of "0" and "1"


def _bits(lent, at, count):
    """Some bits as bytes of 0 and 1; by a text, as that is 50 times faster than one after the other."""
    data = _bytes(lent, at // 8, (at % 8 + count + 7) // 8)
    return f"{int.from_bytes(data, 'little'):0{8 * len(data)}b}".encode()[::-1].translate(_OF_TEXT)[at % 8 :][:count]


def _missing(column, first, count):
    """A byte for each of some elements: 1 if it is missing by the nulls of the column itself."""
    (kind, value), at, held = column.nulls, column.offset + first, column.buffers
    if kind == "none":
        return (b"\1" if column.dtype == "n" else b"\0") * count
    if kind in ("bitmask", "bytemask"):
        mask = (_bits if kind == "bitmask" else _bytes)(held["validity"], at, count)
        return mask.translate(_TRUE if value else _FALSE)
    numbers = _numbers(held["data"], at, count, _FIXED.get(column.dtype, "q"))
    value = -(2**63) if kind == "nat" else value
    return bytes([number != number if kind == "nan" else number == value for number in numbers])  # noqa: PLR0124


def _reader(column, first, count, structs=dict):
    """What gives the i-th of some elements from the `first` on; what lies under a missing one is not looked at."""
    if first < 0 or count < 0 or first + count > column.length:
        raise Refused(f"elements {first} to {first + count} are referred to, which {column!r} does not have")
    gone, at, dtype, held = _missing(column, first, count), column.offset + first, column.dtype, column.buffers
    layout, width, _, _ = _layout(dtype)
    read = None
    if column.dictionary is not None:
        codes, words = _numbers(held["data"], at, count, _FIXED[dtype]), column.dictionary
        if any(not 0 <= code < words.length for code, lost in zip(codes, gone, strict=True) if not lost):
            raise Refused(f"{column!r} has a code that its dictionary of {words.length} values does not have")
        word = _reader(words, 0, words.length)
        read = lambda i: word(codes[i])  # noqa: E731
    elif layout == "bits":
        bits = _bits(held["data"], at, count)
        read = lambda i: bits[i] == 1  # noqa: E731
    elif layout == "fixed" and dtype[1:2] == ":":
        data, convert = _bytes(held["data"], at * width, count * width), bytes
        if dtype[0] == "d":
            from decimal import Decimal

            scale = -int(dtype.split(",")[1])
            convert = lambda number: Decimal(f"{int.from_bytes(number, sys.byteorder, signed=True)}e{scale}")  # noqa: E731
        read = lambda i: convert(data[i * width : (i + 1) * width])  # noqa: E731
    elif layout == "fixed":
        numbers, convert = _numbers(held["data"], at, count, _FIXED.get(dtype, "q")), _time(dtype)
        read = numbers.__getitem__ if convert is None else lambda i: convert(numbers[i])
    elif layout == "struct":
        names, fields = [child.name for child in column.children], [_reader(c, at, count) for c in column.children]
        if structs is dict and len(set(names)) < len(names):
            raise Refused(f"a dict has no two fields of one name: {names}")
        values = lambda i: [field(i) for field in fields]  # noqa: E731
        read = (lambda i: dict(zip(names, values(i), strict=True))) if structs is dict else lambda i: structs(values(i))
    elif layout == "views":
        views, decode = _bytes(held["views"], at * 16, count * 16), bytes.decode if dtype[-1] in "uU" else bytes
        read = lambda i: decode(_viewed(views[i * 16 : i * 16 + 16], held["variadic"]))  # noqa: E731
    elif layout == "bytes":
        starts, sizes = _spans(column, layout, at, count)
        data, decode = held["data"], bytes.decode if dtype[-1] in "uU" else bytes
        read = lambda i: decode(_bytes(data, starts[i], sizes[i]))  # noqa: E731
    elif layout != "null":
        starts, sizes = _spans(column, layout, at, count)
        spans = [(start, size) for start, size, lost in zip(starts, sizes, gone, strict=True) if size and not lost]
        if any(size < 0 for _, size in spans):
            raise Refused(f"{column!r} contradicts itself: a list of negative length")
        low = min([start for start, _ in spans], default=0)
        many = max([start + size for start, size in spans], default=low) - low
        item = _reader(column.children[0], low, many, tuple if dtype == "+m" else dict)
        read = lambda i: [item(k - low) for k in range(starts[i], starts[i] + sizes[i])]  # noqa: E731
    return lambda i: None if gone[i] else read(i)


def _spans(column, layout, at, count):
    """Where texts or lists begin, and how long they are; of missing ones that may be anything."""
    (_, width, _, _), held = _layout(column.dtype), column.buffers
    if layout == "fixed list":
        return [i * width for i in range(at, at + count)], [width] * count
    code = "iq"[width == 8]
    if layout == "list view":
        return _numbers(held["offsets"], at, count, code), _numbers(held["sizes"], at, count, code)
    starts = _numbers(held["offsets"], at, count + 1, code)
    return starts[:-1], [stop - start for start, stop in pairwise(starts)]


def _viewed(view, variadic):
    size, _, which, start = struct.unpack("=iiii", view)
    if size < 0 or (size > 12 and not 0 <= which < len(variadic)):
        raise Refused(f"a view of {size} bytes points into data buffer {which}, and there are {len(variadic)}")
    return view[4 : 4 + size] if size <= 12 else _bytes(variadic[which], start, size)


def _time(dtype):
    """What makes one of datetime's objects of a stored number; None where the number is the value."""
    if dtype[0] != "t" or dtype[1] == "i":
        return None
    from datetime import UTC, date, datetime, timedelta
    from zoneinfo import ZoneInfo

    scale, zone, name = {"s": 10**6, "m": 1000, "u": 1, "n": 1, "D": 86400 * 10**6}[dtype[2]], None, dtype[4:]
    if dtype[1] == "s" and name:
        apart = name[0] in "+-" or name == "Z"
        zone = datetime.strptime(name, "%z").tzinfo if apart else UTC if name in ("UTC", "utc") else ZoneInfo(name)

    def convert(number):
        micros, rest = divmod(number, 1000) if dtype[2] == "n" else (number * scale, 0)
        days, of_day = divmod(micros, 86400 * 10**6)
        if rest or (dtype[1] == "t" and days) or (dtype[1] == "d" and of_day):
            why = "nanoseconds, part of a day, or more than one (column_to_ndarray(x) has instants and spans of them)"
            raise Refused(f"{number} of {dtype!r} has no datetime object: {why}")
        past = timedelta(microseconds=micros)
        if dtype[1] in "Dd":
            return past if dtype[1] == "D" else date(1970, 1, 1) + past
        moment = datetime(1970, 1, 1, tzinfo=UTC) + past
        return moment.time() if dtype[1] == "t" else moment.astimezone(zone) if zone else moment.replace(tzinfo=None)

    return convert


def column_to_ndarray(column):
    """A Column as a NumPy array: shared where NumPy can say it, a masked array where elements are missing.

    Numbers, byte booleans and times are shared, and the array keeps the owner; bits, text, decimals and what is nested
    are copied; a time zone is refused. The prototype in the discussion read a bare pointer: no offset, nulls, owner.
    """
    import numpy as np

    if type(column) is not Column:
        raise TypeError(f"column_to_ndarray takes a Column, which column(x) makes, and got {_full_name(column)}")
    dtype, count, gone = column.dtype, column.length, np.frombuffer(_missing(column, 0, column.length), bool)
    body = dict(zip(_ARROW_OF.values(), _ARROW_OF, strict=True)).get(dtype)
    if dtype[:2] in ("ts", "tD"):
        if dtype[4:]:
            raise Refused(f"NumPy has no time zones, and this is in {dtype[4:]}: drop it with the library that made it")
        body = f"{'M' if dtype[1] == 's' else 'm'}8[{dtype[2]}{'s' * (dtype[2] != 's')}]"
    if column.dictionary is not None:
        codes = column_to_ndarray(Column(dtype, count, column.offset, _NO_NULLS, column.buffers))
        words = column_to_ndarray(column.dictionary)
        if ((codes[~gone] < 0) | (codes[~gone] >= len(words))).any():
            raise Refused(f"{column!r} has a code that its dictionary of {len(words)} values does not have")
        values = words[np.where(gone, 0, codes)] if len(words) else np.zeros(count, words.dtype)
    elif body is not None:
        data, order = column.buffers["data"], "|" if body in ("b1", "i1", "u1") else _ORDER
        _on_host(data)
        ptr = data.ptr + column.offset * _layout(dtype)[1]
        values = np.asarray(Array(ptr, (count,), None, order + body, data.device, data.readonly, data.owner))
        if body[0] in "mM" and (values.view("i8")[~gone] == -(2**63)).any():
            raise Refused(f"{column!r} has a time of -2**63, which is no time (NaT) to NumPy: tolist() has the others")
    elif dtype == "b":
        values = np.frombuffer(bytearray(_bits(column.buffers["data"], column.offset, count)), bool)
    else:
        values = np.fromiter(column.tolist(), object, count)
    return np.ma.MaskedArray(values, gone.copy()) if gone.any() else values

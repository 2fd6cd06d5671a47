"""What to do with an object that cannot be lent: the "try" line, once all its doors are closed.

Told by the class, as far as that will do; an object is asked only where its class is one that is known.
"""

from lend.adapters import row_advice
from lend.adapters.asking import guarded
from lend.adapters.rules import TARGETS
from lend.errors import LendError, NotHostAccessible
from lend.protocols.classes import bases_of, full_name, module_of, shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.adapters.rules import Rules
    from lend.device import Device

_ANY = "an object with the buffer protocol, DLPack, __array_interface__, or an integer ptr with a size"
_COLUMNS = "lend.column(x), which keeps what an array has no word for"
_TABLE = 'lend.table(x), which has its columns; one column of numbers as an array: lend.view(x["name"].to_numpy())'
_ARROW = (
    f"{_COLUMNS}: nulls, bit-packed bools and strings; or an array that its library makes of it, such as x.to_numpy()"
)
_NUMBERS = 'array.array("d", x), or numpy.asarray(x)'

# a method that gives memory, and what is to be done with it; the first that the class has is told
_WAYS = (
    ("getbuffer", "lend.view(x.getbuffer())"),
    ("toarray", "lend.view(x.toarray())"),
    ("to_numpy", "lend.view(x.to_numpy())"),
    ("numpy", "lend.view(x.numpy())"),
    ("tobytes", "lend.view(x.tobytes())"),
    ("to_bytes", "lend.view(x.to_bytes())"),
)


def for_unlendable(obj: "Any") -> "str | list[str]":
    """What to do with an object that speaks none of our protocols."""
    cls = type(obj)
    for known, tell in _BY_CLASS:
        if issubclass(cls, known):
            return tell(obj)
    if is_table(cls):
        return _TABLE
    if shows(cls, "null_mask") or shows(cls, "to_pylibcudf"):
        return "lend.column(x), or lend.table(x) of a table: its buffers lie apart"
    if _is_of("scipy.sparse", cls):
        return _of_scipy(obj)
    if _is_of("torch", cls):
        told = _of_torch(cls)
        if told is not None:
            return told
    if _is_of("pyarrow", cls) and shows(cls, "as_py"):
        return "an array of one element: pyarrow.array([x])"
    if _is_of("polars", cls) and shows(cls, "collect"):
        return 'lend.table(x.collect()); one column of numbers as an array: lend.view(x.collect()["name"].to_numpy())'
    if _is_of("multiprocessing.shared_memory", cls) and shows(cls, "buf"):
        return "lend.view(x.buf)"
    if _is_of("_cffi_backend", cls):
        return "its bytes: lend.view(ffi.buffer(x)), and .reinterpret(dtype) on that"
    if shows(cls, "__fspath__"):
        return row_advice.of_path(row_advice.path_of(obj) or "", "x")
    if shows(cls, "getvalue") and not shows(cls, "getbuffer"):
        return "lend.view(x.getvalue().encode())"
    for method, way in _WAYS:
        if shows(cls, method):
            return way
    if shows(cls, "fileno"):
        return "the mapped file: lend.view(mmap.mmap(x.fileno(), 0, access=mmap.ACCESS_READ))"
    if shows(cls, "__next__") or shows(cls, "__iter__"):
        return 'an array of what it yields, if those are numbers: array.array("d", x), or numpy.fromiter(x, "float64")'
    return _ANY


def for_refused(obj: "Any") -> "str | None":
    """What to do with an object whose protocols refused it, where its refusals do not say."""
    cls = type(obj)
    if is_table(cls):
        return _TABLE
    if cls is memoryview:
        return "what the memoryview was made of: a released one lends nothing more"
    if _is_of("mmap", cls):
        return "an mmap that is still open"
    if _is_of("pyarrow", cls):
        return _of_pyarrow(obj)
    if _is_of("pandas", cls):
        return _of_pandas(obj)
    if _is_of("polars", cls):
        return _of_polars(obj)
    if _is_of("xarray", cls) and shows(cls, "data_vars"):
        return 'one of its variables at a time: lend.view(x["name"])'
    if shows(cls, "__arrow_c_array__") or shows(cls, "__arrow_c_stream__"):
        return _ARROW
    return None


def _is_of(module: str, cls: type) -> bool:
    """Whether a class, or one above it, comes from a module or from inside it."""
    return any(f"{module_of(base)}.".startswith(f"{module}.") for base in bases_of(cls))


def to_device(wanted: "Device", target: str = "") -> str:
    """What moves host memory to another device: a library that has such devices."""
    number = max(wanted.id, 0)
    if target == "jax" and wanted.name in ("cuda", "rocm"):
        return f'jax.device_put(lend.to(x, "jax"), jax.devices("{wanted.name}")[{number}])'
    name = _OF_TORCH.get(wanted.name)
    if name is None:
        return f"a library that has memory on {wanted}: let it copy there, and hand on what that gives"
    moved = f'lend.to(x, "torch").to("{name}:{number}")'
    if target in ("torch", "lend"):
        return f"{moved}, a copy by torch"
    return f"a library that has such a device, such as torch: {moved}, a copy"


def not_made_there(wanted: "Device", rules: "Rules", came: str) -> LendError:
    """The refusal of a device on which a target has no memory."""
    lacks = f"makes a {rules.form} of host memory alone"
    if rules.name == "torch" and wanted.name in ("cuda", "rocm"):
        lacks = f"gives tensors on {wanted.name} to a torch that was built for it, and this one was not"
    return NotHostAccessible.build(
        f"memory on {wanted} was asked for, and lend.to {lacks}",
        wanted=f"{rules.form} on {wanted}",
        came=came,
        remedy=to_device(wanted, rules.name),
    )


def not_copied_there(wanted: "Device", here: "Device", came: str) -> LendError:
    """The refusal of a device that lend itself copies nothing to."""
    own = f"a library that has memory on {wanted.name}: let it copy there, and hand on what that gives"
    moved = to_device(wanted) if here.is_host and wanted.name in _OF_TORCH else own
    return NotHostAccessible.build(
        f"memory on {wanted} was asked for, and lend copies to devices of cuda and rocm alone; this is on {here}",
        came=came,
        remedy=_OF_KINDS.get(wanted.name, moved),
    )


# of memory that is the host's as well: who makes it
_OF_KINDS = {
    "cuda_host": 'pinned memory of a library, which is filled there: lend.to(x, "torch").pin_memory(), a copy by torch',
    "rocm_host": 'pinned memory of a library, which is filled there: lend.to(x, "torch").pin_memory(), a copy by torch',
    "cuda_managed": "managed memory of a library, which is filled there: numba.cuda.managed_array(shape, dtype)[:] = x",
}

# Device.name -> what torch calls such a device
_OF_TORCH = {"cuda": "cuda", "rocm": "cuda", "metal": "mps", "oneapi": "xpu"}


def is_table(cls: type) -> bool:
    """Whether objects of a class are tables: what lends columns."""
    return (shows(cls, "__dataframe__") and not shows(cls, "__dlpack__")) or (
        shows(cls, "__arrow_c_stream__") and shows(cls, "columns")
    )


# -- builtins ------------------------------------------------------------------------------------------------------


def _of_str(obj: str) -> "str | list[str]":
    text = str.__str__(obj)  # a subclass loses its own methods
    if text in TARGETS:
        return f'the object first, then the target: lend.to(x, "{text}")'
    if row_advice.looks_like_path(text):
        shown = repr(text) if len(text) <= 60 else "path"
        return [row_advice.of_path(text, shown), "x.encode(), if it is the text that you mean"]
    return "lend.view(x.encode())"


def _of_complex(_: "Any") -> str:
    return "an array of one element: numpy.array([x])"


def _of_number(number: "Any") -> "str | list[str]":
    one = 'an array of one element: array.array("d", [x])'
    if issubclass(type(number), (bool, float)):
        return one
    typed = "lend.View.from_pointer(x, shape, dtype, owner=...)"
    return [one, f"if it is an address: lend.Buffer.from_pointer(x, nbytes, owner=...), or {typed}"]


def _of_sequence(items: "Any") -> str:
    from lend.protocols.order import ORDER

    base: "Any" = tuple if issubclass(type(items), tuple) else list  # noqa: UP037 - not imported; whatever a subclass makes of its items
    first = type(base.__getitem__(items, 0)) if base.__len__(items) else int
    pieces = row_advice.of_items(items)
    if pieces is not None:
        return pieces
    if issubclass(first, (bytes, bytearray, memoryview)) or any(shows(first, protocol.dunder) for protocol in ORDER):
        return "one of its items at a time: [lend.view(item) for item in x]"
    if issubclass(first, str):
        return "text is lent encoded, one at a time: lend.view(x[0].encode())"
    if issubclass(first, (list, tuple)):
        return "an array of its values: numpy.asarray(x)"
    return f"an array of its values: {_NUMBERS}"


def _of_set(_: "Any") -> str:
    return 'an array of its values: array.array("d", x)'


def _of_range(_: "Any") -> str:
    return 'an array of its values: array.array("q", x), or numpy.asarray(x)'


def _of_dict(_: "Any") -> str:
    return "one of its values at a time: lend.view(x[key])"


def _of_none(_: "Any") -> str:
    return "an array in place of None: what should have returned one returned nothing"


def _of_class(_: "Any") -> str:
    return "an object of this class, not the class itself"


_BY_CLASS = (
    (str, _of_str),
    ((bool, int, float), _of_number),
    (complex, _of_complex),
    ((list, tuple), _of_sequence),
    ((set, frozenset), _of_set),
    (range, _of_range),
    (dict, _of_dict),
    (type(None), _of_none),
    (type, _of_class),
)


# -- libraries -----------------------------------------------------------------------------------------------------


def _of_scipy(obj: "Any") -> str:
    """A sparse array of SciPy's: the parts that its format has."""
    cls = type(obj)
    for part, parts in (("indptr", "x.data, x.indices and x.indptr"), ("offsets", "x.data and x.offsets")):
        if part in getattr(obj, "__dict__", ()):
            return f"lend.view(x.toarray()), or its parts apart: {parts}"
    if shows(cls, "row") and shows(cls, "col"):
        return "lend.view(x.toarray()), or its parts apart: x.data, x.row and x.col"
    return "lend.view(x.toarray()), or its parts apart: those of x.tocsr()"


def _of_torch(cls: type) -> "str | None":
    if shows(cls, "parameters"):
        return "its parameters, one at a time: [lend.view(p.detach()) for p in x.parameters()]"
    if shows(cls, "_typed_storage") or cls.__name__ == "TypedStorage":
        return "a tensor over it: torch.empty(0, dtype=x.dtype).set_(x)"
    if cls.__name__ == "UntypedStorage":
        return "a tensor over it: torch.empty(0, dtype=torch.uint8).set_(x)"
    return None


@guarded
def _of_pandas(obj: "Any") -> str:
    """A column or index of pandas that is no plain array: what makes one of it, told by its dtype."""
    cls = type(obj)
    if shows(cls, "levels") and shows(cls, "codes"):
        return f"{_COLUMNS}; as an array: the codes of each level: [lend.view(codes) for codes in x.codes]"
    dtype = type(obj.dtype).__name__
    if dtype == "DatetimeTZDtype":
        return f'{_COLUMNS}; as an array: x.to_numpy("datetime64[ns]"), a copy, in UTC'
    if dtype == "CategoricalDtype":
        return f"{_COLUMNS}; as an array: its codes: {'x.codes' if shows(cls, 'codes') else 'x.cat.codes.to_numpy()'}"
    if dtype == "PeriodDtype":
        return f'{_COLUMNS}; as an array: its ordinals: x.astype("int64")'
    if dtype == "IntervalDtype":
        ends = "x.array.left and x.array.right" if shows(cls, "array") else "x.left and x.right"
        return f"{_COLUMNS}; as an array: its ends apart: {ends}"
    if dtype == "SparseDtype":
        return "x.to_numpy(), which writes every value out"
    if str(obj.dtype) == "object":
        return 'its values as numbers first, if they are: x.to_numpy("float64")'
    if obj.dtype.kind in ("i", "u", "f", "b"):
        return f'{_COLUMNS}; as an array: x.to_numpy("float64", na_value=float("nan")), a copy with NaN for nulls'
    return (
        f"{_COLUMNS}; as an array: numbers in place of its values, x.factorize()[0]; or of text the characters, "
        'lend.buffer(x.to_numpy("U"))'
    )


@guarded
def _of_polars(obj: "Any") -> str:
    """A Series of polars that is no plain array: what makes one of it, told by its dtype."""
    kind = str(obj.dtype).partition("(")[0]
    if kind in _POLARS:
        return f"{_COLUMNS}; as an array: {_POLARS[kind]}"
    if kind == "Boolean":
        filled = "x.fill_null(False)" if obj.null_count() else "x"
        return f"{_COLUMNS}, bit-packed bools among it; as an array: {filled}.to_numpy(), a byte for each"
    if kind == "Date" or kind.startswith(("Int", "UInt", "Float", "Datetime", "Duration", "Null")):
        return f"{_COLUMNS}, nulls and chunks among it; as an array: x.to_numpy(), a copy"
    return f"{_COLUMNS}; as an array: an array of numbers of it, by polars"


_POLARS = {
    "String": 'numbers in place of texts, x.rank("dense"); or the characters, lend.buffer(x.to_numpy().astype("U"))',
    "Binary": "its items, one at a time: [lend.view(item) for item in x]",
    "Categorical": "its codes: x.to_physical()",
    "Enum": "its codes: x.to_physical()",
    "Time": "x.to_physical(), nanoseconds since midnight",
    "List": "x.explode() and x.list.len() apart",
    "Struct": "one of its fields: x.struct.field(x.struct.fields[0])",
    "Decimal": "x.cast(polars.Float64), which rounds",
    "Object": "numbers in place of its objects: they are nobody's to lend",
    "Int128": "x.cast(polars.Int64), if its values fit",
    "UInt128": "x.cast(polars.UInt64), if its values fit",
}


def _of_pyarrow(obj: "Any") -> str:
    """An array of pyarrow's that is no plain one: what makes one of it."""
    if shows(type(obj), "combine_chunks"):
        return "x.combine_chunks(), which copies unless there is one chunk"
    kind = str(obj.type)
    if kind == "null":
        return "an array with values: all of these are null"
    if kind == "bool":
        filled = "x.fill_null(False)" if obj.null_count else "x"
        return f'{filled}.cast("uint8"): pyarrow\'s bools are bit-packed, and this makes one byte of each'
    for start, way in _PYARROW:
        if kind.startswith(start):
            return f"{_COLUMNS}; as an array: {way}"
    if obj.null_count:
        return f"{_COLUMNS}, and nulls are for them; as an array: x.fill_null(0), which copies, or x.drop_null()"
    return f"{_COLUMNS}; its buffers can be lent one at a time: lend.view(x.buffers()[1])"


_PYARROW = (
    ("string_view", "its buffers, one at a time: lend.view(x.buffers()[1])"),
    ("binary_view", "its buffers, one at a time: lend.view(x.buffers()[1])"),
    ("string", "its offsets and its bytes apart: lend.view(x.buffers()[1]) and lend.view(x.buffers()[2])"),
    ("large_string", "its offsets and its bytes apart: lend.view(x.buffers()[1]) and lend.view(x.buffers()[2])"),
    ("binary", "its offsets and its bytes apart: lend.view(x.buffers()[1]) and lend.view(x.buffers()[2])"),
    ("large_binary", "its offsets and its bytes apart: lend.view(x.buffers()[1]) and lend.view(x.buffers()[2])"),
    ("date32", 'x.view("int32"), days since 1970'),
    ("date64", 'x.view("int64"), milliseconds since 1970'),
    ("time32", 'x.view("int32")'),
    ("time64", 'x.view("int64")'),
    ("duration", 'x.view("int64")'),
    ("timestamp", 'x.view("int64"), counted from 1970 in UTC'),
    ("list", "x.offsets and x.flatten() apart"),
    ("large_list", "x.offsets and x.flatten() apart"),
    ("fixed_size_list", "x.flatten(), and the size of a list from x.type.list_size"),
    ("struct", "its fields, one at a time: lend.view(x.field(0))"),
    ("dictionary", "x.indices and x.dictionary apart"),
)


def of_objects(view: "Any", numbers: str) -> str:
    """What to do with Python objects that go to no array: of numbers, of text, and of what else they are."""
    values = view.tolist()
    for _ in view.shape[1:]:
        values = [value for row in values for value in row]
    found = [value for value in ([values] if not view.shape else values) if value is not None]
    if all(hasattr(type(value), "__float__") for value in found):
        return numbers
    if all(isinstance(value, str) or _is_null(value) for value in found):
        return (
            'text goes to a library of columns: lend.to(x, "pyarrow") or lend.to(x, "polars"); its bytes and '
            "offsets are the buffers of lend.column(x)"
        )
    return "a column of them, where pyarrow finds one type for all: lend.column(pyarrow.array(list(x)))"


def _is_null(value: "Any") -> bool:
    """Whether it stands for no value; nothing is asked of objects that may answer anything."""
    if isinstance(value, float):
        return value != value  # noqa: PLR0124 - NaN, which equals nothing
    return full_name(type(value)) in _NULLS


_NULLS = (
    *("pandas.api.typing.NAType", "pandas.api.typing.NaTType"),
    *("pandas._libs.missing.NAType", "pandas._libs.tslibs.nattype.NaTType"),
)

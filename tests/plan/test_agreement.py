"""`explain` refuses what `to` refuses, and nothing else, in the same words: every producer, target and copy=."""

import array
import io

import pytest

import lend
from lend.adapters.rules import TARGETS, is_installed
from support.device_producers import CudaInterface, RmmLike, SyclInterface
from support.sources import SOURCES, of_numpy


def packed(*shape):
    return lambda: lend.view(bytearray(4)).reinterpret("int4_packed").reshape(*shape)


def read_as(dtype):
    return lambda: lend.view(bytearray(32)).reinterpret(dtype)


def added(name, *shape):
    return lambda: pytest.importorskip("numpy").zeros(shape, getattr(pytest.importorskip("ml_dtypes"), name))


def released():
    view = lend.view(b"1234")
    view.release()
    return view


class Made(lend.Producer):
    def __init__(self):
        self.memory = bytearray(8)

    def lend(self):
        return lend.view(self.memory)


def _objects(np):
    return np.array([1, "x", None], object)


MORE = {
    "objects": of_numpy(_objects),
    "a View of objects": of_numpy(lambda np: lend.view(_objects(np))),
    "every second object": of_numpy(lambda np: _objects(np)[::2]),
    "one object": of_numpy(lambda np: np.array(None, object)),
    "no objects": of_numpy(lambda np: np.empty(0, object)),
    "records with objects": of_numpy(lambda np: np.zeros(3, [("a", "i4"), ("o", "O")])),
    "records": of_numpy(lambda np: np.zeros(3, [("a", "i1"), ("b", ">f8")])),
    "records of nothing": of_numpy(lambda np: np.zeros(3, "V0")),
    "timedeltas": of_numpy(lambda np: np.zeros((2, 2), "m8[ns]")[:, ::2]),
    "a datetime": of_numpy(lambda np: np.array(5, "M8[s]")),
    "no datetimes": of_numpy(lambda np: np.zeros(0, "M8[s]")),
    "a scalar": of_numpy(lambda np: np.float64(3)),
    "nan": of_numpy(lambda np: np.array(float("nan"))),
    "a number": of_numpy(lambda np: np.array(7, ">i2")),
    "a complex number": of_numpy(lambda np: np.array(1j)),
    "a bool": of_numpy(lambda np: np.array(True)),
    "text": of_numpy(lambda np: np.array(["ab", "c"])),
    "fixed bytes": of_numpy(lambda np: np.array([b"ab", b"c"])),
    "long doubles": of_numpy(lambda np: np.zeros(3, "g")),
    "rows backwards": of_numpy(lambda np: np.zeros((2, 3))[::-1]),
    "one row twice": of_numpy(lambda np: np.broadcast_to(np.zeros(3), (2, 3))),
    "bfloats of ml_dtypes": added("bfloat16", 4),
    "one bfloat": added("bfloat16"),
    "float8": added("float8_e5m2", 4),
    "int4": added("int4", 4),
    "packed": packed(8),
    "packed rows": packed(4, 2),
    "packed, half a byte each": packed(8, 1),
    "packed, one dimension more": packed(2, 4),
    "packed, nothing": lambda: lend.view(b"").reinterpret("int4_packed"),
    "packed, one": lambda: lend.view(bytearray(1)).reinterpret("int4_packed")[:1].reshape(()),
    "lanes": read_as("float32x4"),
    "128 bits": read_as("uint128"),
    "swapped bfloats": read_as(">bfloat16"),
    "handles": read_as("handle"),
    "a Buffer": lambda: lend.buffer(bytearray(8)),
    "an empty Buffer": lambda: lend.buffer(b""),
    "a Producer": Made,
    "one byte": lambda: lend.view(b"7")[0],
    "a released View": released,
    "a list": lambda: [1, 2],
    "cuda": CudaInterface,
    "cuda, nothing": lambda: CudaInterface(shape=(0,)),
    "cuda, a number": lambda: CudaInterface(shape=()),
    "cuda, bytes": RmmLike,
    "cuda, datetimes": lambda: CudaInterface(typestr="<M8[s]"),
    "a Buffer of cuda": lambda: lend.buffer(RmmLike()),
    "sycl": SyclInterface,
}
PRODUCERS = {**SOURCES, **MORE}

OWN = [bytes, bytearray, io.BytesIO, list, tuple, set, frozenset, str, int, float, complex, bool, array.array]
NAMED = [name for name in TARGETS if name == "memoryview" or is_installed(name)]
OF_ARROW = ["Array", "Tensor", "Buffer", "FloatArray", "BooleanArray", "FixedSizeBinaryArray"]


def outcome(function, *args, **keywords):
    """The class and text of the refusal that a call raised; None when it went well."""
    try:
        function(*args, **keywords)
    except (lend.LendError, ValueError, TypeError) as refusal:
        return type(refusal), str(refusal)
    return None


@pytest.mark.parametrize("target", [*NAMED, *OWN, *(f"pyarrow.{form}" for form in OF_ARROW)], ids=str)
@pytest.mark.parametrize("name", PRODUCERS)
def test_explain_and_to_refuse_the_same(name, target):
    if isinstance(target, str) and target.startswith("pyarrow"):
        pytest.importorskip("pyarrow")
    obj = PRODUCERS[name]()
    for copy in (None, False, True):
        for device in (None, "cpu"):
            asked = {"copy": copy, "device": device}
            assert outcome(lend.explain, obj, target, **asked) == outcome(lend.to, obj, target, **asked), asked


@pytest.mark.parametrize("name", ["objects", "records with objects", "one object", "no objects", "every second object"])
@pytest.mark.parametrize("target", [bytes, bytearray, io.BytesIO, "pyarrow.Buffer"])
def test_pointers_to_objects_are_no_bytes(name, target):
    if target == "pyarrow.Buffer":
        pytest.importorskip("pyarrow")
    with pytest.raises(lend.errors.UnsupportedType, match="pointers to Python objects is not shown as bytes"):
        lend.to(MORE[name](), target)


OF_BYTES = [
    "timedeltas", "a datetime", "no datetimes", "bfloats of ml_dtypes", "float8", "int4", "packed", "packed rows",
    "lanes", "128 bits", "swapped bfloats", "handles", "records", "records of nothing", "rows backwards",
    "one row twice",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_BYTES)
def test_bytes_are_made_of_every_dtype_and_layout(name):
    obj = MORE[name]()
    wanted = lend.view(obj).tobytes()
    assert (lend.to(obj, bytes), lend.to(obj, bytearray), lend.to(obj, io.BytesIO).getvalue()) == (wanted,) * 3


@pytest.mark.parametrize(
    ("name", "cls", "value"),
    [("a number", int, 7), ("a number", float, 7.0), ("a complex number", complex, 1j), ("one byte", int, ord("7"))],
)
def test_one_number_is_made_a_number(name, cls, value):
    made = lend.to(MORE[name](), cls)
    assert (made, type(made)) == (value, cls)


@pytest.mark.parametrize("cls", [list, tuple])
def test_what_has_no_elements_is_told_what_has(cls):
    with pytest.raises(lend.errors.NotLendable, match=r"iteration over a 0-d View(?s:.*)\.tolist\(\)"):
        lend.to(lend.view(b"1")[0], cls)
    with pytest.raises(lend.errors.NotLendable, match=r"a Buffer is sliced; for elements take \.view\(dtype\)"):
        lend.to(lend.buffer(b"1"), cls)


def test_the_array_of_the_library_is_told_how_it_is_made():
    with pytest.raises(lend.errors.NotLendable, match=r'array\.array\("B", lend\.to\(x, bytes\)\)'):
        lend.to(b"12", array.array)
    assert array.array("B", lend.to(b"12", bytes)).tobytes() == b"12"


def test_a_class_of_the_library_that_refuses_is_refused_in_our_words():
    from decimal import Decimal

    with pytest.raises(lend.errors.NotLendable, match=r"decimal\.Decimal is made of other things than a View"):
        lend.to(b"12", Decimal)


def test_a_class_that_only_bears_the_name_of_one_of_pythons_is_not_tried_beforehand():
    made = []
    cls = type("array", (), {"__module__": "array", "__init__": lambda self, view: made.append(view)})
    lend.explain(b"12", cls)
    assert made == []
    lend.to(b"12", cls)
    assert len(made) == 1

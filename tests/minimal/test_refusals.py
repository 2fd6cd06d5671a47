"""What minimal cannot do is refused by name, with the reason and a way out; never by an error of another kind."""

import struct
import sys

import pytest

from lend import minimal
from support.arrow_structs import Made, Node
from support.device_producers import CudaInterface
from support.names import plain_repr, plain_str
from support.told_frames import ToldFrame, ints

FARTHEST = 2**62
ROOM = bytearray(64)


def one(format, value, **said):
    code = {"tdD": "i"}.get(format, "q")
    return minimal.column(Made(Node(format, 1, buffers=[None, struct.pack(code, value)], **said)))


TIMES = [(f"ts{unit}:{zone}", FARTHEST) for unit in "smu" for zone in ("", "UTC", "+01:00")]
TIMES += [("tDs", FARTHEST), ("tDm", FARTHEST), ("tdD", 2**31 - 1), ("tdD", -(2**31)), ("tdm", 86400000 << 36)]
TIMES += [("tsu:+14:00", 253402300799999999), ("tss:", -(2**63)), ("tDs", -(2**63))]


@pytest.mark.parametrize(("format", "value"), TIMES)
def test_a_time_out_of_range_is_refused(format, value):
    with pytest.raises(minimal.Refused, match="holds what Python has no object for: OverflowError"):
        one(format, value).tolist()


@pytest.mark.parametrize("zone", ["Nowhere/No", "../etc", "/etc", "America", "+99:00", "+1", "-", "Zuluu", "\\0"])
def test_a_zone_that_is_unknown_is_refused(zone):
    with pytest.raises(minimal.Refused, match="holds what Python has no object for"):
        one(f"tsu:{zone}", 0).tolist()


@pytest.mark.parametrize(("zone", "hours"), [("Z", 0), ("Zulu", 0), ("+02:00", 2), ("Asia/Tokyo", 9), ("UTC", 0)])
def test_a_zone_is_known_by_its_whole_name(zone, hours):
    (moment,) = one(f"tsu:{zone}", 0).tolist()
    assert (moment.utcoffset().total_seconds(), moment.timestamp()) == (hours * 3600, 0)


@pytest.mark.parametrize("dtype", ["<U1", ">U1"])
def test_text_that_is_none_is_refused(dtype):
    np = pytest.importorskip("numpy")
    with pytest.raises(minimal.Refused, match="holds what Python has no object for: UnicodeDecodeError"):
        minimal.array(np.frombuffer(b"\xff" * 4, dtype)).tolist()


@pytest.mark.parametrize("format", ["tss:", "tsn:", "tDu"])
def test_a_time_that_numpy_takes_for_none_is_refused(format):
    pytest.importorskip("numpy")
    with pytest.raises(minimal.Refused, match="no time .NaT. to NumPy"):
        minimal.column_to_ndarray(one(format, -(2**63)))


def test_under_a_null_anything_may_lie():
    pytest.importorskip("numpy")
    made = Made(Node("tss:", 1, 1, buffers=[b"\0", struct.pack("q", -(2**63))]))
    assert minimal.column_to_ndarray(minimal.column(made)).tolist() == [None]


@pytest.mark.parametrize("take", [minimal.array, minimal.buffer, minimal.column])
@pytest.mark.parametrize("obj", [[1, 2], {"a": 1}, 7, None], ids=plain_repr)
def test_what_has_no_protocol_is_told_what_makes_one(take, obj):
    with pytest.raises(minimal.Refused, match=r"no protocol for that: numpy.asarray\(x\) or pyarrow.array\(x\) may"):
        take(obj)


@pytest.mark.parametrize("take", [minimal.array, minimal.buffer])
@pytest.mark.parametrize("make", [lambda: ToldFrame({"a": ints(1)}), lambda: Made(Node("n", 1))], ids=plain_str)
def test_what_is_a_column_is_told_to_be_asked_for_as_one(take, make):
    with pytest.raises(minimal.Refused, match=r"column\(x\) reads it"):
        take(make())


def test_nulls_for_which_arrays_have_no_word_are_told_to_be_a_column():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(minimal.Refused, match=r"by_dlpack: .*; column\(x\) reads it"):
        minimal.array(pa.array([1, None]))


class Failing:
    """A column whose own protocol fails, and which is no array either."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise ValueError("a sparse one")


def test_what_is_no_column_is_not_sent_in_a_circle():
    with pytest.raises(minimal.Refused, match=r"not lent as columns: by_arrow_stream: ValueError: a sparse one$"):
        minimal.column(Failing())


@pytest.mark.parametrize("obj", [[1, 2], b"12", None], ids=plain_repr)
def test_what_is_no_column_yet_is_told_what_makes_one(obj):
    pytest.importorskip("numpy")
    with pytest.raises(TypeError, match=r"takes a Column, which column\(x\) makes, and got "):
        minimal.column_to_ndarray(obj)


def test_an_interface_without_data_and_without_a_buffer_says_so():
    lender = type("Lender", (), {"__array_interface__": {"shape": (2,), "typestr": "|u1", "version": 3}})()
    with pytest.raises(minimal.Refused, match="tells no data, and it has no buffer"):
        minimal.array(lender)


def table():
    fields = [Node("n", 1, name="a"), Node("n", 1, name="b")]
    return minimal.column(Made(Node("+s", 1, buffers=[None], children=fields)))


ASKED = {
    "the table": lambda name: table()[name],
    "its frame": lambda name: table().__dataframe__().get_column_by_name(name),
    "a selection": lambda name: table().__dataframe__().select_columns_by_name(["a", name]),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_an_unknown_name_lists_the_names(ask):
    with pytest.raises(KeyError, match=r"c.*columns \['a', 'b'\]"):
        ask("c")


def test_a_column_of_a_table_with_null_rows_says_why_it_is_not_read():
    rows = Node("+s", 2, 1, buffers=[b"\1"], children=[Node("n", 2, name="a")])
    with pytest.raises(KeyError, match=r"'a' is 1 of the columns \['a'\]: .* needs it once, no null rows"):
        minimal.column(Made(rows))["a"]


def test_a_format_that_is_not_read_is_told_with_its_field():
    odd = Node("+r", 1, name="odd", buffers=[None])
    with pytest.raises(minimal.Refused, match=r"'\+r' of 'odd' is not read"):
        minimal.column(Made(Node("+s", 1, buffers=[None], children=[Node("n", 1, name="a"), odd])))


def test_a_copy_by_dlpack_is_told_to_be_no_copy_of_a_capsule():
    taken = minimal.array(pytest.importorskip("numpy").zeros(3))
    with pytest.raises(minimal.Refused, match="a copy is not what lies here"):
        taken.__dlpack__(copy=True)


@pytest.mark.parametrize("make", [lambda np: np.ones(6)[::2], lambda np: np.ones(3, ">i4"), lambda np: np.ones((2, 0))])
def test_what_a_memoryview_can_show_is_told_where_it_cannot(make):
    np = pytest.importorskip("numpy")
    with pytest.raises(minimal.Refused, match="a memoryview shows numbers in the order of the machine"):
        minimal.array(make(np)).memoryview()


@pytest.mark.parametrize(("ptr", "nbytes"), [(4096, -1), (0, 1), (-8, 4), (2**64 - 3, 4)])
def test_a_buffer_lies_somewhere(ptr, nbytes):
    with pytest.raises(minimal.Refused, match=f"no {nbytes} bytes lie at the address {ptr}"):
        minimal.Buffer(ptr, nbytes, (1, 0), True, ROOM)


def test_a_shape_may_be_a_list():
    ptr = minimal.array(ROOM).ptr
    made = minimal.Array(ptr, [2, 4], [4, 1], "|u1", (1, 0), False, ROOM)
    assert (made.shape, made.strides, made.tolist()) == ((2, 4), (4, 1), [[0] * 4] * 2)
    assert made.__array_interface__["shape"] == (2, 4)


UNTOLD = {
    "memory of a device": lambda: minimal.array(CudaInterface()),
    "bytes of a device": lambda: minimal.array(CudaInterface()).buffer,
    "a dtype without a typestr": lambda: minimal.Array(4096, (0,), None, "bfloat16", (1, 0), False, ROOM),
}


@pytest.mark.parametrize("make", UNTOLD.values(), ids=UNTOLD)
def test_numpy_makes_no_object_of_what_it_is_not_told(make):
    np = pytest.importorskip("numpy")
    lent = make()
    assert not hasattr(lent, "__array_interface__")
    with pytest.raises(minimal.Refused, match="tells NumPy of itself by"):
        np.asarray(lent)


def test_numpy_makes_no_object_of_a_column():
    np = pytest.importorskip("numpy")
    with pytest.raises(minimal.Refused, match=r"column_to_ndarray\(x\)"):
        np.asarray(minimal.column(b"abc"))


def test_the_interface_of_memory_that_was_given_back_is_refused():
    owner = minimal.Owner(None)
    held = minimal.Buffer(4096, 8, (1, 0), True, owner)
    owner.__del__()
    for read in (lambda: held.__array_interface__, held.memoryview, lambda: minimal.array(held)):
        with pytest.raises(minimal.Refused, match="was given back"):
            read()


def test_all_debts_are_paid_and_the_first_that_fails_is_reported(monkeypatch):
    said, paid, owner = [], [], minimal.Owner(None)
    monkeypatch.setattr(sys, "unraisablehook", lambda told: said.append(told.exc_value))
    owner.owes(paid.append, 1)
    owner.owes(int, "no number")
    owner.owes(paid.append, 2)
    owner.owes({}.__getitem__, "no key")
    owner.owes(paid.append, 3)
    del owner
    assert (paid, [type(error) for error in said]) == ([1, 2, 3], [ValueError])

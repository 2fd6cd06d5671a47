"""requested_schema: met where nothing is lost, else answered with the own type; other numbers of columns refused."""

import gc
import struct

import pytest

import lend
from lend.columns.giving import wish
from lend.errors import MalformedDescriptor, UnsupportedType
from support import column_forms as forms
from support.arrow_structs import Made, Node, Streamed

BOOL8 = {b"ARROW:extension:name": b"arrow.bool8", b"ARROW:extension:metadata": b""}


def asked(format, **said):
    """The capsule of a type."""
    return Made(Node(format, **said)).capsules()[0]


def nested(format, *children):
    return {"format": format, "children": list(children)}


def item(format, name="item", **said):
    return Node(format, name=name, **said)


def codes(format, words="u"):
    return Node(format, dictionary=Node(words))


def bytes_of(*values):
    return forms.texts(list(values), "bits", bare=True)


TEXT = ["a", None, "bcd"]
LOST = ["bits", "bytes of 1"]
MET = {
    "text, offsets wider": (lambda: forms.texts(TEXT, "bits"), Node("U")),
    "text, offsets narrower": (lambda: forms.texts(TEXT, "bits", wide=True), Node("u")),
    "text in a slice": (lambda: forms.texts(TEXT, "bits", before=["x", None, "yy"], after=["z"]), Node("U")),
    "bytes, offsets wider": (lambda: bytes_of(b"a", None, b"\xff"), Node("Z")),
    "lists, offsets wider": (lambda: forms.lists([[1], None], "bits"), Node("+L", children=[item("s")])),
    "lists, offsets narrower": (lambda: forms.lists([[1], None], "bits", wide=True), Node("+l", children=[item("s")])),
    "indices wider": (lambda: forms.categories(["a", None, "b"], ["a", "b"], "bits"), codes("l")),
    "indices narrower": (lambda: forms.categories(["a", None, "b"], ["a", "b"], "bits", "int64"), codes("c")),
    "indices without a sign": (lambda: forms.categories(["a", None], ["a", "b"], "bits", before=["b"] * 3), codes("C")),
    "indices of a sentinel": (lambda: forms.categories(["a", None], ["a", "b"], "minus one"), codes("i")),
    "bools of bits as bytes": (lambda: forms.packed_bools([True, None], "bits"), Node("c", metadata=BOOL8)),
    "bools of bytes as they are": (lambda: forms.numbers("bool", [True, False]), Node("c", metadata=BOOL8)),
    "bools of bytes with nulls": (lambda: forms.numbers("bool", [True, None], "bytes of 1"), Node("c", metadata=BOOL8)),
    "bools of bytes as bits": (lambda: forms.numbers("bool", [True, None], "bits"), Node("b")),
}


@pytest.mark.parametrize("case", MET)
def test_what_loses_nothing_is_met_and_the_values_are_those_of_the_column(case):
    make, wanted = MET[case]
    column = make()
    again = lend.column(column.__arrow_c_array__(Made(wanted).capsules()[0]))
    expected = wish(Made(wanted).capsules()[0])
    assert again.dtype == expected
    assert [None if each is None else each if isinstance(each, list | str | bytes) else bool(each) if "bools" in case
            else each for each in again.tolist()] == column.tolist()  # fmt: skip


def test_bool8_of_others_is_packed_where_bits_are_asked_for():
    made = Made(Node("c", 3, 1, buffers=[b"\5", bytes([1, 7, 2])], metadata=BOOL8))
    again = lend.column(lend.column(made).__arrow_c_array__(asked("b")))
    assert (again.dtype.arrow, again.tolist()) == ("b", [True, None, True])


def test_bools_of_a_byte_are_shared_by_bool8():
    column = forms.numbers("bool", [True, False])
    with lend.copies() as made:
        again = lend.column(column.__arrow_c_array__(asked("c", metadata=BOOL8)))
    assert again.buffers["data"].ptr == column.buffers["data"].ptr
    assert made.count == 0


@pytest.mark.parametrize(("make", "wanted"), [
    (lambda: forms.texts(TEXT, "bits"), "z"), (lambda: forms.texts(TEXT, "bits", wide=True), "Z"),
    (lambda: bytes_of(b"a", None, "é".encode()), "u"),
])  # fmt: skip
def test_text_and_bytes_are_one_memory_under_two_names(make, wanted):
    column = make()
    with lend.copies() as made:
        again = lend.column(column.__arrow_c_array__(asked(wanted)))
    assert (again.dtype.arrow, again.buffers["data"].ptr) == (wanted, column.buffers["data"].ptr)
    assert made.count == 0


OWN = {
    "numbers of another width": (lambda: forms.numbers("int64", [1, 2]), Node("i")),
    "numbers of a width that no kernel makes": (lambda: forms.numbers("int16", [1, 2]), Node("l")),
    "numbers without a sign": (lambda: forms.numbers("uint32", [1, 2]), Node("l")),
    "numbers as floats": (lambda: forms.numbers("int64", [2**62 + 1]), Node("g")),
    "bytes that are no text": (lambda: bytes_of(b"\xff"), Node("u")),
    "times of another unit": (lambda: forms.numbers("datetime64[ns]", [1000]), Node("tss:")),
    "text as numbers": (lambda: forms.texts(["1"]), Node("l")),
    "a dictionary as its values": (lambda: forms.categories(["a"], ["a"]), Node("u")),
    "values as a dictionary": (lambda: forms.texts(["a"]), codes("c")),
    "indices of other values": (lambda: forms.categories(["a"], ["a"]), codes("i", "z")),
    "indices that have no room": (
        lambda: forms.categories(["3"], [str(n) for n in range(300)], index="int16"), codes("c")
    ),
    "a type that lend does not know": (lambda: forms.numbers("int64", [1]), Node("_vendor")),
    "lists of other items": (lambda: forms.lists([[1]]), Node("+L", children=[item("l")])),
}  # fmt: skip


@pytest.mark.parametrize("case", OWN)
def test_what_would_lose_or_convert_is_answered_with_the_columns_own_type(case):
    make, wanted = OWN[case]
    column = make()
    plain = lend.column(column.__arrow_c_array__())
    again = lend.column(column.__arrow_c_array__(Made(wanted).capsules()[0]))
    assert (again.dtype, again.tolist()) == (plain.dtype, plain.tolist())


def test_a_copy_that_a_wish_costs_is_counted():
    column = forms.texts(TEXT, "bits")
    with lend.copies() as made:
        column.__arrow_c_array__(asked("U"))
    assert made.bytes == 8 * (len(TEXT) + 1)


def test_a_stream_is_given_as_asked_in_all_its_chunks():
    chunks = [Node("u", 1, buffers=[None, struct.pack("2i", 0, 1), letter]) for letter in (b"a", b"b")]
    column = lend.column(Streamed(Node("u"), chunks))
    again = lend.column(column.__arrow_c_stream__(asked("U")))
    assert (again.dtype.arrow, again.tolist(), len(again.chunks)) == ("U", ["a", "b"], 2)


def test_where_one_chunk_cannot_all_are_as_they_were():
    chunks = [Node("z", 1, buffers=[None, struct.pack("2i", 0, 1), letter]) for letter in (b"a", b"\xff")]
    column = lend.column(Streamed(Node("z"), chunks))
    assert lend.column(column.__arrow_c_stream__(asked("u"))).tolist() == [b"a", b"\xff"]


@pytest.mark.parametrize("method", ["__arrow_c_device_array__", "__arrow_c_device_stream__"])
def test_the_device_methods_meet_it_too(method):
    column = forms.texts(TEXT, "bits")
    assert lend.column(getattr(column, method)(asked("U"))).dtype.arrow == "U"


def table():
    return lend.table({"t": forms.texts(TEXT, "bits"), "n": forms.numbers("int64", [1, 2, 3])})


METHODS = ["__arrow_c_array__", "__arrow_c_stream__", "__arrow_c_device_array__", "__arrow_c_device_stream__"]


@pytest.mark.parametrize("method", METHODS)
def test_the_columns_of_a_table_are_given_as_asked_by_their_place(method):
    wanted = asked("+s", children=[item("U", "t"), item("g", "n")])
    again = lend.table(getattr(table(), method)(wanted))
    assert [dtype.arrow for dtype in again.dtypes] == ["U", "l"]
    assert (again.names, again["t"].tolist(), again["n"].tolist()) == (("t", "n"), TEXT, [1, 2, 3])


@pytest.mark.parametrize("method", METHODS)
def test_another_number_of_columns_is_refused(method):
    wanted = asked("+s", children=[item("l") for _ in range(3)])
    with pytest.raises(UnsupportedType, match="a table of 2 columns was asked for as one of 3, which it never is"):
        getattr(table(), method)(wanted)


def test_a_table_asked_for_as_no_table_is_refused():
    wanted = asked("l")
    with pytest.raises(UnsupportedType, match="a table of 2 columns was asked for as int64"):
        table().__arrow_c_stream__(wanted)


def test_structs_of_another_number_of_fields_are_refused():
    column, wanted = forms.structs([{"b": 1.5, "t": "x"}]), asked("+s", children=[item("g")])
    with pytest.raises(UnsupportedType, match="column 'x' has 2 fields, and was asked for as"):
        column.__arrow_c_array__(wanted)


def test_a_field_of_structs_is_given_as_asked():
    column = forms.structs([{"b": 1.5, "t": "x"}, None], "bits", before=[None])
    again = lend.column(column.__arrow_c_array__(asked("+s", children=[item("g", "b"), item("U", "t")])))
    assert [child.arrow for _, child in again.dtype.children] == ["g", "U"]
    assert again.tolist() == column.tolist()


def test_what_is_no_type_is_refused():
    with pytest.raises(MalformedDescriptor, match="is not in a capsule named 'arrow_schema'"):
        forms.texts(TEXT).__arrow_c_array__(Made(Node("u")))


def test_a_type_that_was_released_is_refused():
    capsule, array = Made(Node("n")).capsules()
    lend.column((capsule, array))
    with pytest.raises(MalformedDescriptor, match="already consumed"):
        forms.texts(TEXT).__arrow_c_array__(capsule)


def test_the_type_asked_for_stays_the_consumers():
    made = Made(Node("U"))
    capsule, _ = made.capsules()
    forms.texts(TEXT).__arrow_c_array__(capsule)
    assert made.schemas_released == {}
    del capsule, _
    gc.collect()
    assert made.schemas_released == {"": 1}


def test_the_source_is_given_back_once_when_what_was_asked_for_goes():
    made = Made(Node("u", 2, buffers=[None, struct.pack("3i", 0, 1, 3), b"abc"]))
    again = lend.column(lend.column(made).__arrow_c_array__(asked("U")))
    assert made.released == {}
    assert again.tolist() == ["a", "bc"]
    del again
    gc.collect()
    assert made.released == {"": 1}


def test_pyarrow_gets_the_type_it_asks_for():
    pa = pytest.importorskip("pyarrow", reason="the consumer")
    column = forms.texts(TEXT, "bits")
    assert pa.array(column, type=pa.large_string()).to_pylist() == TEXT
    assert pa.table(table(), schema=pa.schema([("t", pa.large_string()), ("n", pa.int64())])).num_rows == 3


def test_pyarrow_gets_an_array_of_one_chunk_and_a_chunked_array_of_several():
    pa = pytest.importorskip("pyarrow", reason="the consumer")
    chunks = [Node("l", 1, buffers=[None, struct.pack("q", n)]) for n in (1, 2)]
    assert type(forms.texts(TEXT, "bits").__arrow_array__()) is pa.StringArray
    assert forms.texts(TEXT, "bits").__arrow_array__(pa.large_string()).type == pa.large_string()
    made = lend.column(Streamed(Node("l"), chunks)).__arrow_array__()
    assert (type(made), made.to_pylist()) == (pa.ChunkedArray, [1, 2])


@pytest.mark.parametrize("laid", ["strided", "backwards"])
@pytest.mark.parametrize("before", [[], [True, None, False]])
@pytest.mark.parametrize("form", ["bits", "bytes of 1"])
def test_bools_of_a_byte_that_lie_apart_are_brought_together_for_bool8(form, before, laid):
    column = forms.numbers("bool", [True, None, False], form, laid, before=before)
    found = lend.column(column.__arrow_c_array__(asked("c", metadata=BOOL8)))
    assert (found.dtype, found.tolist()) == ("bool", [True, None, False])

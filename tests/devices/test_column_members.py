"""Columns and tables known by the members of pylibcudf: buffer by buffer, each with its own lease; and every owner."""

import json

import pytest

from support import fakecuda

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

START = """
import datetime, decimal, gc, json, weakref
import numpy as np, pyarrow as pa
from support.fakecuda import fake
from support.fakecuda.described import Memory
from support.fakecuda.standins import CudfLike, CupyLike, Gpumemoryview, NumbaLike, PylibcudfColumn, RmmLike, TorchLike
from support.pylibcudf_like import (
    CudfFrame, CudfSeries, DataType, PylibcudfTable, Span, TypeId, column, offsets, packed, strings)
fake.init()
fake.retain(1)
import lend
from lend.errors import LendError

def show(*facts):
    print(json.dumps(facts, default=str))

def values(thing):
    "What a column has on the host, and its type."
    made = lend.column(thing) if not isinstance(thing, lend.Column) else thing
    back = lend.to(made, device="cpu")
    back.verify(full=True)
    return [str(made.dtype), back.tolist()]

def refused(make):
    try: make()
    except LendError as refusal: return [type(refusal).__name__, str(refusal).splitlines()[0]]
    return "taken"
"""


def found(snippet, **keywords):
    return json.loads(fakecuda.run_clean(START + snippet, **keywords))


# -- types -------------------------------------------------------------------------------------------------------------

NUMBERS = {
    "INT8": ("b", "int8"), "INT16": ("h", "int16"), "INT32": ("i", "int32"), "INT64": ("q", "int64"),
    "UINT8": ("B", "uint8"), "UINT16": ("H", "uint16"), "UINT32": ("I", "uint32"), "UINT64": ("Q", "uint64"),
    "FLOAT32": ("f", "float32"), "FLOAT64": ("d", "float64"), "BOOL8": ("?", "bool"),
}  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_of_the_type_that_the_id_says(kind):
    letter, dtype = NUMBERS[kind]
    assert found(f"show(*values(column({kind!r}, 3, packed({letter!r}, 1, 0, 1), [1, 0, 1])))") == [dtype, [1, None, 1]]


MOMENTS = {
    "TIMESTAMP_DAYS": ("i", "date32", "1970-01-02"),
    "TIMESTAMP_SECONDS": ("q", "datetime64[s]", "1970-01-01 00:00:01"),
    "TIMESTAMP_MILLISECONDS": ("q", "datetime64[ms]", "1970-01-01 00:00:00.001000"),
    "TIMESTAMP_MICROSECONDS": ("q", "datetime64[us]", "1970-01-01 00:00:00.000001"),
    "DURATION_SECONDS": ("q", "timedelta64[s]", "0:00:01"),
    "DURATION_MILLISECONDS": ("q", "timedelta64[ms]", "0:00:00.001000"),
    "DURATION_MICROSECONDS": ("q", "timedelta64[us]", "0:00:00.000001"),
}


@pytest.mark.parametrize("kind", MOMENTS)
def test_moments_and_durations_are_of_their_unit(kind):
    letter, dtype, one = MOMENTS[kind]
    assert found(f"show(*values(column({kind!r}, 2, packed({letter!r}, 5, 1), [0, 1])))") == [dtype, [None, one]]


@pytest.mark.parametrize("kind", ["TIMESTAMP_NANOSECONDS", "DURATION_NANOSECONDS"])
def test_nanoseconds_are_kept(kind):
    name = "datetime64[ns]" if kind.startswith("T") else "timedelta64[ns]"
    assert found(f"""
made = lend.to(lend.column(column({kind!r}, 2, packed("q", 5, 7))), "numpy", device="cpu")
show(str(made.dtype), made.astype("i8").tolist())
""") == [name, [5, 7]]


@pytest.mark.parametrize(("kind", "scale", "dtype", "one"), [
    ("DECIMAL32", -2, "decimal32(9, 2)", "1.25"), ("DECIMAL64", -1, "decimal64(18, 1)", "12.5"),
    ("DECIMAL128", 0, "decimal128(38, 0)", "125"), ("DECIMAL64", 1, "decimal64(18, -1)", "1.25E+3"),
])  # fmt: skip
def test_a_scale_is_the_power_of_ten_that_a_number_is_of(kind, scale, dtype, one):
    size = {"DECIMAL32": 4, "DECIMAL64": 8, "DECIMAL128": 16}[kind]
    made = f"column({kind!r}, 1, (125).to_bytes({size}, 'little'), scale={scale})"
    assert found(f"show(*values({made}))") == [dtype, [one]]


@pytest.mark.parametrize(("snippet", "dtype", "expected"), [
    ('strings("a", "", "bcd", valid=[1, 0, 1])', "utf8", ["a", None, "bcd"]),
    ('column("STRING", 2, b"xyz", None, [offsets(0, 1, 3, kind="INT64")])', "large_utf8", ["x", "yz"]),
    ('column("STRING", 2, None, None, [offsets(0, 1, 3), column("INT8", 3, b"xyz")])', "utf8", ["x", "yz"]),
    ('column("STRING", 2, b"wxyz", [1, 1, 0], [offsets(0, 1, 3, 4)], offset=1)', "utf8", ["xy", None]),
    ('column("STRING", 1, b"wxyz", None, [column("INT32", 2, packed("i", 9, 1, 3), offset=1)])', "utf8", ["xy"]),
    ('column("STRING", 0)', "utf8", []),
    ('column("LIST", 2, None, [1, 1], [offsets(0, 2, 3), column("INT16", 3, packed("h", 1, 2, 3), [1, 0, 1])])',
     "list[int16]", [[1, None], [3]]),
    ('column("LIST", 1, None, None, [offsets(0, 2, 3), strings("a", "b", "c")], offset=1)', "list[utf8]", [["c"]]),
    ('column("STRUCT", 2, None, [0, 1], [column("INT8", 2, b"ab"), strings("x", "yy")])', "struct{0: int8, 1: utf8}",
     [None, {"0": 98, "1": "yy"}]),
    ('column("DICTIONARY32", 3, None, [1, 1, 0], [column("UINT32", 3, packed("I", 1, 0, 0)), strings("p", "q")])',
     "dictionary[uint32, utf8]", ["q", "p", None]),
    ('column("EMPTY", 2, nulls=2)', "null", [None, None]),
    ('column("INT32", 2, packed("i", 7, 8, 9), [1, 1, 0], offset=1)', "int32", [8, None]),
    ('column("INT32", 0)', "int32", []),
], ids=str)  # fmt: skip
def test_offsets_children_and_dictionaries_are_taken_as_they_lie(snippet, dtype, expected):
    assert found(f"show(*values({snippet}))") == [dtype, expected]


def test_nothing_is_copied_and_nothing_read_to_take_a_column():
    assert found("""
theirs = column("LIST", 2, None, [1, 0], [offsets(0, 2, 3), strings("a", "b", "c")])
fake.reset()
with lend.copies() as log:
    made = lend.column(theirs)
show(made.null_count, log.bytes, fake.copies(), str(made.device), made.native_object is theirs)
""") == [1, 0, 0, "cuda:?", True]


def test_the_count_of_nulls_is_that_of_the_producer():
    assert found('show(lend.column(column("INT8", 3, b"abc", [1, 1, 1])).null_count)') == [0]


# -- leases ------------------------------------------------------------------------------------------------------------


def test_who_keeps_a_buffer_keeps_no_other_and_not_the_column():
    assert found("""
theirs = column("LIST", 1, None, [1], [offsets(0, 2), column("INT8", 2, b"ab", [1, 0])])
inner = theirs.children()[1]
refs = {"column": theirs, "mask": theirs.null_mask(), "offsets": theirs.children()[0].data(), "data": inner.data(),
        "inner mask": inner.null_mask()}
refs = {name: weakref.ref(each) for name, each in refs.items()}
taken = lend.column(theirs)
kept = taken.children[0].buffers["data"]
del theirs, inner, taken
gc.collect()
living = [name for name, ref in refs.items() if ref() is not None]
del kept
gc.collect()
show(living, [name for name, ref in refs.items() if ref() is not None])
""") == [["data"], []]


def test_every_lease_is_given_back():
    assert found("""
theirs = [column("STRUCT", 2, None, [0, 1], [column("INT8", 2, b"ab"), strings("x", "yy")]) for _ in range(3)]
refs = [weakref.ref(each) for one in theirs for each in (one, one.null_mask(), one.children()[0].data())]
held = lend.table(PylibcudfTable(theirs))
back, gone = lend.to(held, "pyarrow", device="cpu").num_rows, [ref() is None for ref in refs]
del theirs, held
gc.collect()
show(back, any(gone), all(ref() is None for ref in refs))
""") == [2, False, True]


def test_each_member_is_asked_once():
    assert found("""
theirs = column("INT8", 2, b"ab", [1, 0])
lend.column(theirs)
show(sorted(theirs.asked))
""") == [sorted(["type", "size", "offset", "null_count", "data", "null_mask", "children"])]


# -- tables, cudf's frames, other buffers ------------------------------------------------------------------------------


def test_a_table_has_its_columns_by_their_places():
    assert found("""
table = lend.table(PylibcudfTable([column("INT8", 2, b"ab"), strings("x", "yy", valid=[0, 1])]))
show(table.names, lend.to(table, "pyarrow", device="cpu").to_pydict(),
     lend.table(PylibcudfTable([column("INT8", 2, b"ab"), strings("x", "yy")]), columns=["1"]).names)
""") == [["0", "1"], {"0": [97, 98], "1": [None, "yy"]}, ["1"]]


def test_a_series_and_a_frame_of_cudf_keep_their_names():
    assert found("""
series = lend.column(CudfSeries(column("INT8", 2, b"ab", [1, 0]), "n"))
frame = lend.table(CudfFrame({"a": column("INT8", 2, b"ab"), 7: strings("x", "yy")}))
show(series.name, values(series)[1], frame.names, [values(each)[1] for each in frame.columns])
""") == ["n", [97, None], ["a", "7"], [[97, 98], ["x", "yy"]]]


@pytest.mark.parametrize("dtype", ["category", "datetime64[ns, Europe/Berlin]", "interval[int64, right]"])
def test_what_the_memory_of_cudf_does_not_tell_is_refused(dtype):
    assert found(f"""
made = column("INT8", 2, b"ab")
show(refused(lambda: lend.column(CudfSeries(made, "n", {dtype!r})))[0],
     "of column 'b'" in refused(lambda: lend.table(CudfFrame({{"a": made, "b": made}}, ["int8", {dtype!r}])))[1])
""") == ["UnsupportedType", True]


def test_what_tells_an_event_is_taken_by_arrow():
    assert found("""
from support.arrow_device_structs import OnDevice
from support.arrow_structs import Node
class Both(PylibcudfColumn):
    def __arrow_c_device_array__(self, requested_schema=None, **options):
        self.asked.append("arrow")
        return self.given.__arrow_c_device_array__(requested_schema)
memory = Memory(packed("i", 1, 2))
theirs = Both(2, b"", type=DataType(TypeId.INT32))
theirs.given = OnDevice(Node("i", 2, buffers=[None, memory.address]), 2, 0)
taken = lend.column(theirs)
show(theirs.asked, str(taken.device), values(taken)[1])
""") == [["arrow"], "cuda:0", [1, 2]]


def test_a_span_without_an_interface_is_on_a_device_of_cuda():
    assert found("""
theirs = PylibcudfColumn(2, type=DataType(TypeId.INT32))
theirs._data = Span(packed("i", 1, 2))
kept = weakref.ref(theirs._data)
taken = lend.column(theirs)
made = values(taken)
buffer = taken.buffers["data"]
del theirs, taken
gc.collect()
show(made, str(buffer.device), kept() is not None)
""") == [["int32", [1, 2]], "cuda:?", True]


def test_a_buffer_whose_interface_is_its_own_and_not_of_its_class_is_taken_by_it():
    assert found("""
class Ravelled:
    def __init__(self, other): self.__cuda_array_interface__ = dict(other.__cuda_array_interface__)
theirs = PylibcudfColumn(2, type=DataType(TypeId.INT32))
kept = Memory(packed("i", 1, 2))
theirs._data = Ravelled(Gpumemoryview(kept))
show(values(theirs))
""") == [["int32", [1, 2]]]


def test_columns_of_such_members_go_to_a_library_by_a_word():
    assert found("""
theirs = column("INT32", 3, packed("i", 1, 2, 3), [1, 0, 1])
refusals = [refused(lambda: lend.to(theirs, target)) for target in ("pyarrow", "numpy", "pandas")]
table = PylibcudfTable([theirs])
show([said[0] for said in refusals], lend.to(theirs, "pyarrow", device="cpu").to_pylist(),
     lend.to(theirs, "numpy.ma", device="cpu").tolist(), lend.to(table, "pyarrow", device="cpu").to_pydict(),
     lend.to(table, "numpy.ma", device="cpu")["0"].tolist(), lend.explain(theirs, "pyarrow", device="cpu").protocol)
""") == [["NotHostAccessible"] * 3, [1, None, 3], [1, None, 3], {"0": [1, None, 3]}, [1, None, 3],
         "buffers, as pylibcudf has them"]  # fmt: skip


# -- what contradicts itself -------------------------------------------------------------------------------------------

WRONG = {
    "nulls without a mask": ('column("INT8", 2, b"ab", nulls=1)', "its null_count is 1, and it has no null mask"),
    "more nulls than elements": ('column("INT8", 2, b"ab", [0, 0], nulls=3)', "its null_count is 3, of 2 elements"),
    "no data": ('column("INT32", 2)', "its data has 0 bytes, and 8 are needed"),
    "too little data": ('column("INT32", 2, bytes(7))', "its data has 7 bytes, and 8 are needed"),
    "an offset beyond": ('column("INT32", 2, bytes(8), offset=1)', "its data has 8 bytes, and 12 are needed"),
    "text without offsets": ('column("STRING", 2)', "it is text of 2 elements without offsets, and lend writes none"),
    "offsets of another type": (
        'column("STRING", 1, b"a", None, [column("INT8", 2, b"ab")])',
        "of its offsets the type id is 1, which lend does not know there",
    ),
    "a list of one child": ('column("LIST", 0, None, None, [offsets(0)])',
                            "a column of type id 24 has 2 children, and this has 1"),
    "durations in days": ('column("DURATION_DAYS", 1, bytes(4))',
                          "of its elements the type is durations in days of 32 bits, for which no library has another"),
    "a type to come": ("PylibcudfColumn(0, type=DataType(99))",
                       "of its elements the type id is 99, which lend does not know there"),
    "a size that is none": ("PylibcudfColumn(True, type=DataType(1))",
                            "size() of support.fakecuda.standins.PylibcudfColumn is True, and no number of elements"),
    "a child that is none": ("PylibcudfColumn(0, None, None, [3], type=DataType(28))",
                             "a child of it is of int, which is no column"),
    "a type that is none": (
        "PylibcudfColumn(0, type=None)",
        "support.fakecuda.standins.PylibcudfColumn raised when lend looked at it, before any protocol was tried",
    ),
    "a table": ("PylibcudfTable([])", "a support.pylibcudf_like.PylibcudfTable is a table, no column"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_by_a_sentence(name):
    snippet, sentence = WRONG[name]
    _, said = found(f"theirs = {snippet}\nshow(*refused(lambda: lend.column(theirs)))")
    assert said == sentence


def test_no_view_is_made_of_a_column_and_the_call_is_named_that_makes_one():
    assert found("""
try: lend.view(column("INT8", 2, b"ab"))
except LendError as refusal: show(refusal.remedy)
""") == ["lend.column(x), or lend.table(x) of a table: its buffers lie apart"]


def test_a_refused_column_holds_nothing():
    assert found("""
theirs = column("INT32", 2, bytes(7))
gone = [weakref.ref(theirs), weakref.ref(theirs.data())]
try: lend.column(theirs)
except LendError as refusal: kept = refusal
del theirs
gc.collect()
show([ref() is None for ref in gone])
""") == [[True, True]]


# -- every owner -------------------------------------------------------------------------------------------------------

OWNERS = {
    "CuPy": "CupyLike(packed('f', 1, 2))",
    "numba": "NumbaLike(packed('f', 1, 2))",
    "torch": "TorchLike(packed('f', 1, 2))",
    "rmm": "RmmLike(packed('f', 1, 2))",
    "cudf": "CudfSeries(column('FLOAT32', 2, packed('f', 1, 2)))",
    "cudf, by its interface": "CudfLike(packed('f', 1, 2))",
    "pylibcudf": "column('FLOAT32', 2, packed('f', 1, 2))",
    "pylibcudf, a buffer": "Gpumemoryview(Memory(packed('f', 1, 2)))",
    "PyArrow": "pa.array([1.0, 2.0], 'float32')",
    "NumPy": "np.array([1, 2], 'f4')",
    "torch of the host": "__import__('torch').tensor([1.0, 2.0])",
    "numba itself": "__import__('numba.cuda').cuda.to_device(np.array([1, 2], 'f4'))",
}


@pytest.mark.parametrize("owner", OWNERS)
def test_memory_of_every_owner_is_a_column_that_goes_to_a_device_and_comes_back(owner):
    if " itself" in owner or " of the host" in owner:
        pytest.importorskip({"numba": "numba.cuda"}.get(owner.partition(" ")[0], "torch"))
    made, released = found(f"""
theirs = {OWNERS[owner]}
gone = weakref.ref(theirs)
bytes_alone = isinstance(theirs, (RmmLike, Gpumemoryview))
lent = lend.column(theirs)
if bytes_alone:
    lent = lend.Column.from_buffers("float32", 2, {{"data": lend.buffer(theirs)}})
there = lend.to(lent, device="cuda:1")
made = [lend.to(each, device="cpu").tolist() for each in (lent, there, there[1:])] + [str(there.device)]
del lent, theirs
gc.collect()
show(made, gone() is None)
""")
    assert made == [[1.0, 2.0], [1.0, 2.0], [2.0], "cuda:1"]
    assert released

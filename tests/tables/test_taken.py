"""Columns and tables of arrays, masked arrays, records, interfaces with masks; and what is asked of them besides."""

import array
import gc
from weakref import ref

import pytest

import lend
from lend.adapters import columns
from lend.errors import CopyRequired, LendError, MalformedDescriptor, NotLendable, UnsupportedLayout, UnsupportedType
from support.told_frames import INT, ToldColumn, ToldFrame

np = pytest.importorskip("numpy")


def address(column):
    return column.buffers["data"].ptr


# -- masked arrays -------------------------------------------------------------------------------------------------


def test_masked_array_shares_data_and_mask():
    source = np.ma.array([1, 2, 3], mask=[False, True, False])
    buffers = lend.column(source).buffers
    assert (buffers["data"].ptr, buffers["validity"].ptr) == (source.data.ctypes.data, source.mask.ctypes.data)


def test_masked_elements_are_null_in_the_form_that_numpy_has():
    column = lend.column(np.ma.array([1.0, np.nan, 3.0], mask=[True, False, False]))
    assert (column.nulls, column.null_count) == (lend.Nulls("bytemask", missing=1), 1)


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_masked_array_with_strides_has_its_own_values(step):
    source = np.ma.array(range(9), mask=[i % 3 == 0 for i in range(9)])[::step]
    assert lend.column(source).tolist() == source.tolist()


def test_masked_array_without_a_mask_has_no_nulls():
    assert lend.column(np.ma.array([1, 2])).nulls == lend.Nulls("none")


def test_masked_records_have_a_mask_for_each_field():
    source = np.ma.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i4"), ("b", "f8")], mask=[(False, True), (True, False)])
    assert lend.column(source).tolist() == [{"a": 1, "b": None}, {"a": None, "b": 4.0}]
    assert lend.table(source, columns=["b"]).names == ("b",)


def test_masked_array_of_two_dimensions_is_a_table():
    table = lend.table(np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]]))
    assert [column.tolist() for column in table] == [[1, 3], [None, 4]]


def test_masked_times_are_null_by_their_mask():
    source = np.ma.array(np.array(["2020-01-01", "2021-01-01"], "M8[s]"), mask=[True, False])
    assert lend.column(source).null_count == 1


class Masked:
    """An array interface with a mask, where 1 says valid."""

    def __init__(self):
        self.data, self.valid = np.arange(3), np.array([True, False, True])

    @property
    def __array_interface__(self):
        return {**self.data.__array_interface__, "mask": self.valid}


def test_mask_of_an_array_interface_says_which_are_null():
    source = Masked()
    column = lend.column(source)
    assert (column.tolist(), column.nulls) == ([0, None, 2], lend.Nulls("bytemask", missing=0))
    assert address(column) == source.data.ctypes.data


@pytest.mark.parametrize("shape", [(3, 1), (2,), (4,), ()])
def test_mask_of_another_shape_is_refused(shape):
    source = Masked()
    source.valid = np.ones(shape, bool)
    with pytest.raises(MalformedDescriptor, match="a mask has a byte for each element"):
        lend.column(source)


def test_object_with_a_masked_interface_lives_as_long_as_its_column():
    source = Masked()
    gone = ref(source)
    column = lend.column(source)
    del source
    gc.collect()
    assert gone() is not None
    del column
    gc.collect()
    assert gone() is None


# -- times ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["M8[s]", "M8[ns]", "m8[us]"])
def test_nat_is_null(kind):
    column = lend.column(np.array([1, "NaT"], kind))
    assert (column.nulls.kind, column.null_count) == ("nat", 1)


@pytest.mark.parametrize(
    ("kind", "why"), [("M8[25s]", "multiples of a unit"), ("M8", "in no unit"), ("m8[2D]", "multiples")]
)
def test_times_that_nobody_else_counts_are_refused(kind, why):
    with pytest.raises(UnsupportedType, match=why) as refused:
        lend.column(np.array(["NaT"], kind))
    assert "astype" in refused.value.remedy


# -- records and dimensions ----------------------------------------------------------------------------------------

RECORDS = np.array([(1, 2.5, (3,)), (4, 5.5, (6,))], [("a", "i4"), ("b", "f8"), ("c", [("d", "i2")])])


def test_records_are_structs():
    assert lend.column(RECORDS).tolist() == [{"a": 1, "b": 2.5, "c": {"d": 3}}, {"a": 4, "b": 5.5, "c": {"d": 6}}]


def test_table_of_records_shares_each_field():
    table = lend.table(RECORDS)
    assert [address(table[name]) for name in "ab"] == [RECORDS[name].ctypes.data for name in "ab"]


def test_records_live_as_long_as_one_of_their_fields():
    source = RECORDS.copy()
    gone = ref(source)
    column = lend.table(source)["b"]
    del source
    gc.collect()
    assert gone() is not None
    assert column.tolist() == [2.5, 5.5]


def test_sliced_records_have_their_own_rows():
    assert lend.column(RECORDS)[1:].tolist() == [{"a": 4, "b": 5.5, "c": {"d": 6}}]


SEVERAL = np.array([(1, [2, 3], [[1.5], [2.5]]), (4, [5, 6], [[3.5], [4.5]])], [
    ("n", "i1"), ("v", "i4", (2,)), ("w", "f8", (2, 1))
])  # fmt: skip


def test_fields_of_several_values_are_lists_of_one_length():
    table = lend.table(SEVERAL)
    assert [str(column.dtype) for column in table] == [
        "int8", "fixed_list[int32, 2]", "fixed_list[fixed_list[float64, 1], 2]"
    ]  # fmt: skip
    assert table["v"].tolist() == [[2, 3], [5, 6]]
    assert lend.column(SEVERAL)[1:].tolist() == [{"n": 4, "v": [5, 6], "w": [[3.5], [4.5]]}]


def test_fields_of_several_values_that_lie_apart_are_a_copy_that_is_counted_and_told():
    with lend.copies() as made:
        lend.table(SEVERAL)
    assert made.bytes == 16 + 32
    with pytest.raises(CopyRequired, match="'v' has several elements in each record, and .* lie apart .*stride"):
        lend.table(SEVERAL, copy=False)
    pytest.importorskip("pyarrow")
    plan = lend.explain(SEVERAL, "pyarrow")
    with lend.copies() as made:
        assert lend.to(SEVERAL, "pyarrow").to_pylist() == lend.column(SEVERAL).tolist()
    assert sum(step.nbytes for step in plan.copies if step.who == "lend") == made.bytes - 48


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_field_of_several_values_that_is_all_of_a_record_is_shared(rows):
    source = np.arange(2 * rows, dtype="f4").view([("v", "f4", (2,))])
    with lend.copies() as made:
        column = lend.table(source, copy=False)["v"]
    assert made.count == 0
    assert column.tolist() == source["v"].tolist()
    if rows:
        assert address(column.children[0]) == source.ctypes.data


def test_each_of_several_values_of_a_field_has_its_own_null():
    source = np.ma.MaskedArray(SEVERAL, mask=[(0, [1, 0], [[0], [1]]), (1, [0, 0], [[1], [0]])])
    assert lend.column(source).tolist() == [
        {"n": 1, "v": [None, 3], "w": [[1.5], [None]]}, {"n": None, "v": [5, 6], "w": [[None], [4.5]]}
    ]  # fmt: skip


def test_records_of_which_each_field_has_several_are_lists_of_structs():
    source = np.zeros(2, [("r", [("a", "i2"), ("b", "f4")], (2,))])
    source["r"]["a"] = [[1, 2], [3, 4]]
    assert [[part["a"] for part in row] for row in lend.table(source)["r"].tolist()] == [[1, 2], [3, 4]]


def test_array_of_two_dimensions_is_a_table_of_strided_columns():
    source = np.arange(6).reshape(3, 2)
    table = lend.table(source)
    assert (table.names, [column.tolist() for column in table]) == (("0", "1"), [[0, 2, 4], [1, 3, 5]])
    assert [address(column) for column in table] == [source.ctypes.data, source.ctypes.data + 8]


def test_array_of_two_dimensions_is_no_column():
    with pytest.raises(UnsupportedLayout, match="one dimension, and this has 2") as refused:
        lend.column(np.zeros((2, 2)))
    assert "lend.table(x)" in refused.value.remedy


def test_array_of_one_dimension_is_no_table():
    with pytest.raises(NotLendable, match="rows and columns") as refused:
        lend.table(np.zeros(2))
    assert refused.value.remedy == 'lend.table({"name": x})'


def test_python_objects_are_refused():
    with pytest.raises(UnsupportedType, match="Python objects"):
        lend.column(np.array([object()]))


@pytest.mark.parametrize("thing", [[1, 2], 3, None, "text", {"a": 1}], ids=repr)
def test_what_is_no_column_is_refused_with_a_remedy(thing):
    with pytest.raises(NotLendable, match="as a column") as refused:
        lend.column(thing)
    assert refused.value.remedy


def test_tensor_that_requires_a_gradient_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(NotLendable, match="gradient"):
        lend.column(torch.ones(2, requires_grad=True))


def test_extension_array_of_pandas_is_taken_by_its_own_arrow_array():
    pandas = pytest.importorskip("pandas")
    assert lend.column(pandas.array([1, None, 2**62 + 1], dtype="Int64")).tolist() == [1, None, 2**62 + 1]


# -- copy= ---------------------------------------------------------------------------------------------------------


def test_numbers_in_the_other_byte_order_are_swapped_in_a_counted_copy():  # TYPE-4
    with lend.copies() as made:
        assert lend.column(np.array([1, 2], ">u2")).tolist() == [1, 2]
    assert (made.bytes, made.recent[0].why) == (4, "byte order")


def test_numbers_in_the_other_byte_order_are_not_copied_against_the_callers_word():
    with pytest.raises(CopyRequired, match="byte order"):
        lend.column(np.array([1, 2], ">u2"), copy=False)


@pytest.mark.parametrize(
    "source",
    [lambda a: {"a": a}, lambda a: a.reshape(1, 2), lambda a: np.rec.fromarrays([a])],
    ids=["dict", "2-d", "records"],
)
def test_table_does_not_copy_against_the_callers_word(source):
    with pytest.raises(CopyRequired, match="byte order"):
        lend.table(source(np.array([1, 2], ">u2")), copy=False)


def columns_to_copy():
    pa = pytest.importorskip("pyarrow")
    yield pa.array(["a", None, "bär"]).slice(1)
    yield pa.array([[1], None, [2, 3]]).slice(1)
    yield pa.array([True, None, False] * 5).slice(9)
    yield pa.array([{"a": 1}, None])
    yield pa.array(["x", None]).dictionary_encode()
    yield pa.chunked_array([[1, None], [2]])
    yield pa.nulls(2)
    yield pa.array(["longer than twelve bytes", "x"], pa.string_view())
    yield pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)).slice(1)
    yield np.ma.array([1, 2, 3], mask=[0, 1, 0])[::-1]
    yield np.arange(6)[4:0:-2]


@pytest.mark.parametrize("number", range(11))
def test_copy_has_the_same_values(number):
    source = list(columns_to_copy())[number]
    assert lend.column(source, copy=True).tolist() == lend.column(source).tolist()


def test_copy_is_counted_and_keeps_nothing_of_its_source():
    source = np.arange(6)
    gone = ref(source)
    with lend.copies() as made:
        column = lend.column(source, copy=True)
    del source
    gc.collect()
    assert (made.bytes, gone()) == (48, None)
    assert column.tolist() == list(range(6))


def test_copy_of_a_table_is_of_each_column():
    with lend.copies() as made:
        lend.table({"a": np.arange(2), "b": np.arange(2)}, copy=True)
    assert made.bytes == 32


@pytest.mark.parametrize("take", [lend.column, lend.table])
def test_copy_is_one_of_three(take):
    with pytest.raises(TypeError, match="copy is None, True or False"):
        take(np.arange(2), copy="never")


# -- nulls= and dtype= ---------------------------------------------------------------------------------------------

FLOATS = array.array("d", [1.0, float("nan"), -9.0])


def test_nan_is_a_value_unless_somebody_says_otherwise():
    assert lend.column(FLOATS).null_count == 0


@pytest.mark.parametrize(("nulls", "where"), [("nan", 1), (-9.0, 2)])
def test_caller_says_which_value_is_null(nulls, where):
    column = lend.column(FLOATS, nulls=nulls)
    assert ([value is None for value in column], address(column)) == (
        [place == where for place in range(3)],
        FLOATS.buffer_info()[0],
    )


def test_caller_says_that_no_time_is_null():
    assert lend.column(np.array([1, "NaT"], "M8[s]"), nulls="none").null_count == 0


def test_null_value_holds_for_every_chunk():
    pa = pytest.importorskip("pyarrow")
    assert lend.column(pa.chunked_array([[1, 0], [0]]), nulls=0).tolist() == [1, None, None]


@pytest.mark.parametrize("nulls", ["nan", "nat", "unheard of", 1.5])
def test_value_that_the_type_does_not_have_is_refused(nulls):
    with pytest.raises(UnsupportedType):
        lend.column(array.array("i", [1, 2]), nulls=nulls)


def test_value_cannot_be_null_beside_a_mask_that_says_null():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(UnsupportedType, match="has 1 null by its own mask"):
        lend.column(pa.array([1, None]), nulls=0)


def test_text_has_no_null_value():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(UnsupportedType):
        lend.column(pa.array(["", "a"]), nulls="")


def test_null_value_of_a_table_is_for_the_columns_that_can_have_it():
    table = lend.table({"f": FLOATS, "i": array.array("i", [1, 2, 3])}, nulls="nan")
    assert [column.null_count for column in table] == [1, 0]


def test_required_dtype_is_met_or_refused_by_name():
    assert lend.column(FLOATS, dtype="float64").tolist()[0] == 1.0
    with pytest.raises(UnsupportedType, match="is of float64, and float32 was required"):
        lend.column(FLOATS, dtype="float32")


# -- refusals ------------------------------------------------------------------------------------------------------

BIG = np.dtype("int32").newbyteorder("S")
REFUSED = {
    "two dimensions": lambda memory: lend.column(memoryview(memory).cast("B", (6, 8))),
    "one dimension": lambda memory: lend.table(memoryview(memory)),
    "second of a dict": lambda memory: lend.table({"a": memory, "b": object()}),
    "lengths": lambda memory: lend.table({"a": memory, "b": b"123"}),
    "no such column": lambda memory: lend.table({"a": memory}, columns=["x"]),
    "dtype": lambda memory: lend.column(memory, dtype="int64"),
    "nulls": lambda memory: lend.column(memory, nulls="nan"),
    "nulls of a table": lambda memory: lend.table({"a": memory}, nulls="nann"),
    "byte order": lambda memory: lend.column(np.frombuffer(memory, BIG), copy=False),
    "byte order of two dimensions": lambda memory: lend.table(np.frombuffer(memory, BIG).reshape(3, 4), copy=False),
    "unit": lambda memory: lend.column(np.frombuffer(memory, "M8[25s]")),
    "field": lambda memory: lend.table(np.frombuffer(memory, [("a", "i4", (2,)), ("b", "i4")]), copy=False),
    "masked, two dimensions": lambda memory: lend.column(np.ma.array(np.frombuffer(memory, "i4").reshape(3, 4))),
    "masked, three": lambda memory: lend.table(np.ma.array(np.frombuffer(memory, "i4").reshape(3, 2, 2))),
    "masked, no such column": lambda memory: lend.table(
        np.ma.array(np.frombuffer(memory, "i4").reshape(3, 4)), columns=["9"]
    ),
    "masked, byte order": lambda memory: lend.table(np.ma.array(np.frombuffer(memory, BIG).reshape(3, 4)), copy=False),
}


@pytest.mark.parametrize("ask", REFUSED.values(), ids=REFUSED)
def test_refusal_that_is_kept_holds_no_memory(ask):
    memory = bytearray(48)
    with pytest.raises((LendError, KeyError, ValueError)) as kept:
        ask(memory)
    memory.append(1)  # a BufferError, while anybody has it
    assert kept.value


def test_masked_array_of_two_dimensions_looks_at_what_is_wanted_alone():
    source = np.ma.array(np.arange(6, dtype=BIG).reshape(2, 3), mask=[[0, 1, 0], [0, 0, 1]])
    with lend.copies() as made:
        table = lend.table(source, columns=["2"])
    assert (table.names, table[0].tolist(), made.count) == (("2",), [2, None], 1)


def test_the_adapter_of_a_class_is_looked_up_once(monkeypatch):
    looked, look = [], columns.adapter_of
    monkeypatch.setattr(columns, "adapter_of", lambda cls: looked.append(cls) or look(cls))
    frame = type("Frame", (ToldFrame,), {})({"a": ToldColumn((INT, 8, "c", "="), 1, data=b"\1")})
    lend.table(frame)
    known = len(looked)
    assert lend.table(frame)["a"].tolist() == [1]
    assert looked.count(type(frame)) == known

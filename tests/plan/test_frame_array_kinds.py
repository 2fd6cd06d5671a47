"""Columns that are more than numbers, and tables, as arrays: what arrives, what is refused, and that remedies work."""

import datetime
import decimal
import gc

import pytest

import lend
from lend.errors import CopyRequired, LendError, UnsupportedLayout, UnsupportedType
from support import column_forms
from support.remedies import calls_of, lines_of

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

DAY = datetime.date(1970, 1, 2)
WORDS = pa.array(["a", None, "b"]).dictionary_encode()
ZONED = pa.array([1, None], pa.timestamp("us", "Europe/Paris"))
STRUCTS = pa.array([{"a": 1, "b": 2.5}, {"a": None, "b": 3.5}])
NESTED = pa.array([[[1, 2]], [[3, 4]]])
PAIRS = pa.FixedSizeListArray.from_arrays(pa.array([1, 2, 3, 4, 5, 6], pa.int32()), 2)
LEAST = pa.array([-(2**63), 1], pa.timestamp("ns"))

# what, target, options -> the values that arrive, bytes that lend copies
GIVEN = {
    "fixed lists are rows": (PAIRS, "numpy", {}, [[1, 2], [3, 4], [5, 6]], 0),
    "a slice of fixed lists": (PAIRS[1:], "numpy", {}, [[3, 4], [5, 6]], 0),
    "fixed lists in chunks": (pa.chunked_array([PAIRS[:1], PAIRS[2:]]), "numpy", {}, [[1, 2], [5, 6]], 16),
    "lists of one length are rows": (pa.array([[1, 2], [3, 4]]), "numpy", {}, [[1, 2], [3, 4]], 0),
    "a slice of lists": (pa.array([[9], [1, 2], [3, 4]])[1:], "numpy", {}, [[1, 2], [3, 4]], 0),
    "lists of lists": (NESTED, "numpy", {}, [[[1, 2]], [[3, 4]]], 0),
    "lists of no elements": (pa.array([[], []], pa.list_(pa.int8())), "numpy", {}, [[], []], 0),
    "no lists": (pa.array([], pa.list_(pa.int8())), "numpy", {}, [], 0),
    "elements of lists that are null": (
        pa.array([[1, None], [3, 4]], pa.list_(pa.int8())), "numpy", {"nulls": ("fill", 9)}, [[1, 9], [3, 4]], 4,
    ),
    "a mask of lists": (
        pa.array([[1, None], [3, 4]], pa.list_(pa.int8())), "numpy.ma", {}, [[1, None], [3, 4]], 4,
    ),
    "bools within lists": (pa.array([[True, False]]), "numpy", {}, [[True, False]], 2),
    "structs are records": (STRUCTS[:1], "numpy", {}, [(1, 2.5)], 16),
    "structs with a mask": (STRUCTS, "numpy.ma", {}, [(1, 2.5), (None, 3.5)], 32 + 4),
    "null structs with a mask": (
        pa.array([{"a": 1}, None], pa.struct({"a": pa.int8()})), "numpy.ma", {}, [(1,), (None,)], 2 + 2,
    ),
    "structs in chunks": (
        pa.chunked_array([STRUCTS, STRUCTS[:1]]), "numpy", {"nulls": ("fill", 0)}, [(1, 2.5), (0, 3.5), (1, 2.5)], 48,
    ),
    "codes of a dictionary": (WORDS, "numpy", {"storage": True, "nulls": ("fill", -1)}, [0, -1, 1], 12),
    "values of a dictionary": (WORDS, "numpy", {"nulls": "object"}, ["a", None, "b"], 24),
    "strings as objects": (pa.array(["a", None]), "numpy", {"strings": "object"}, ["a", None], 16),
    "strings as strings": (pa.array(["a", None]), "numpy", {"strings": "StringDType"}, ["a", None], 0),
    "strings as fixed text": (pa.array(["a", "ünï"]), "numpy", {"strings": "U"}, ["a", "ünï"], 0),
    "strings with another under nulls": (
        pa.array(["a", None]), "numpy", {"strings": "U", "nulls": ("fill", "?")}, ["a", "?"], 0,
    ),
    "times without their zone": (
        ZONED, "numpy", {"zone": "drop"}, [datetime.datetime(1970, 1, 1, 0, 0, 0, 1), None], 16,
    ),
    "times as they are stored": (ZONED, "numpy", {"storage": True, "nulls": ("fill", 7)}, [1, 7], 16),
    "the least number as it is stored": (LEAST, "numpy", {"storage": True}, [-(2**63), 1], 0),
    "times of a day as they are stored": (pa.array([1], pa.time32("s")), "numpy", {"storage": True}, [1], 0),
    "dates as they are stored": (pa.array([DAY]), "numpy", {"storage": True}, [1], 0),
    "dates": (pa.array([DAY, None]), "numpy", {}, [DAY, None], 16),
    "dates of 64 bits": (
        pa.array([DAY], pa.date64()), "numpy", {}, [datetime.datetime(1970, 1, 2)], 0,
    ),
    "decimals as objects": (
        pa.array([decimal.Decimal("1.25")]), "numpy", {"nulls": "object"}, [decimal.Decimal("1.25")], 8,
    ),
    "fixed bytes": (pa.array([b"ab", b"cd"], pa.binary(2)), "numpy", {}, [b"ab", b"cd"], 0),
    "fixed bytes with a mask": (pa.array([b"ab", None], pa.binary(2)), "numpy.ma", {}, [b"ab", None], 2),
    "nulls alone as NaN": (pa.nulls(1), "numpy", {"nulls": "nan"}, ["nan"], 8),
    "nulls alone as objects": (pa.nulls(2), "numpy", {"nulls": "object"}, [None, None], 16),
}  # fmt: skip


def told(plan):
    return sum(step.nbytes or 0 for step in plan.steps if step.who == "lend")


@pytest.mark.parametrize("name", GIVEN)
def test_explain_tells_what_is_written_of(name):
    obj, target, options, values, nbytes = GIVEN[name]
    plan = lend.explain(obj, target, **options)
    with lend.copies() as counted:
        made = lend.to(obj, target, **options)
    found = ["nan" if value != value else value for value in made.tolist()]  # noqa: PLR0124 - NaN
    assert found == values
    assert (told(plan), counted.bytes) == (nbytes, nbytes), plan


# what, target, options -> a part of the refusal; each remedy that is a call is followed
REFUSED = {
    "lists of several lengths": (pa.array([[1], [2, 3]]), "numpy", {}, "lists of several lengths"),
    "a null list": (pa.array([[1], None]), "numpy", {}, "1 null among its rows, which are lists"),
    "a null struct": (pa.array([{"a": 1}, None]), "numpy", {}, "1 null among its rows, which are structs"),
    "a null field": (STRUCTS, "numpy", {}, "column 'a' has 1 null"),
    "structs to torch": (STRUCTS, "torch", {}, "no array has elements that are struct"),
    "strings": (pa.array(["a"]), "numpy", {}, "no array has elements that are utf8"),
    "strings to torch": (pa.array(["a"]), "torch", {}, "no array has elements that are utf8"),
    "null as fixed text": (pa.array(["a", None]), "numpy", {"strings": "U"}, "1 null, and NumPy's fixed text"),
    "text that ends with NUL": (pa.array(["a\0"]), "numpy", {"strings": "U"}, "text that ends with NUL"),
    "a dictionary": (WORDS[:1], "numpy", {}, "indices of a dictionary"),
    "a dictionary to torch": (WORDS[:1], "torch", {}, "indices of a dictionary"),
    "null codes": (WORDS, "numpy", {"storage": True}, "1 null, and an array of int32"),
    "a zone": (ZONED, "numpy", {}, "time zone 'Europe/Paris', which NumPy's times do not carry"),
    "times to torch": (ZONED[:1], "torch", {}, "torch has no datetime like datetime64[us, Europe/Paris]"),
    "null times as they are stored": (ZONED, "torch", {"storage": True}, "1 null, and an array of int64"),
    "a value that NumPy has for NaT": (LEAST, "numpy", {}, "the value -9223372036854775808"),
    "the same beside a mask": (lend.column(LEAST), "numpy.ma", {}, "the value -9223372036854775808"),
    "a time of day": (pa.array([1], pa.time64("us")), "numpy", {}, "numpy has no time like time64[us]"),
    "decimals": (pa.array([decimal.Decimal("1.25")]), "numpy", {}, "no array has elements that are decimal128"),
    "fixed bytes to torch": (pa.array([b"ab"], pa.binary(2)), "torch", {}, "torch.Tensor has no opaque[2]"),
    "nulls alone": (pa.nulls(1), "numpy", {}, "no array has elements that are null"),
    "integers": (pa.array([1, None]), "numpy", {}, "1 null, and an array of int64 has no word for them"),
    "floats": (pa.array([1.5, None]), "torch", {}, "1 null, and an array of float64 has no word for them"),
    "bools": (pa.array([True, None]), "numpy", {}, "1 null, and an array of bool has no word for them"),
    "large integers": (pa.array([2**53 + 1, None]), "numpy", {"nulls": "nan"}, "element 0 of this column is beyond"),
    "NaN beside null": (
        pa.array([float("nan"), None]), "numpy", {"nulls": "nan"}, "has nulls and NaN that is a value",
    ),
    "what is forbidden": (pa.array([1, None]), "numpy", {"nulls": "forbid"}, 'nulls="forbid" was asked for'),
    "a value of another type": (pa.array([1, None]), "numpy", {"nulls": ("fill", "x")}, "'x' is no value of int64"),
    "a bool among integers": (pa.array([1, None]), "numpy", {"nulls": ("fill", True)}, "True is no value of int64"),
    "an integer among bools": (pa.array([True, None]), "numpy", {"nulls": ("fill", 1)}, "1 is no value of bool"),
    "a mask for torch": (pa.array([1, None]), "torch", {"nulls": "mask"}, "torch has no mask beside its elements"),
    "objects for torch": (pa.array([1, None]), "torch", {"nulls": "object"}, "torch has no arrays of objects"),
    "a struct for torch": (pa.array([1, None]), "torch", {"nulls": "struct"}, 'nulls="struct" is a form of Arrow'),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_a_remedy_that_works_for(name):
    obj, target, options, text = REFUSED[name]
    if target == "torch":
        pytest.importorskip("torch")
    with pytest.raises(UnsupportedType) as caught:
        lend.to(obj, target, **options)
    assert text in str(caught.value)
    with pytest.raises(UnsupportedType) as explained:
        lend.explain(obj, target, **options)
    assert str(explained.value) == str(caught.value)
    assert lines_of(caught.value)
    for call in calls_of(caught.value):
        eval(call, {"lend": lend, "x": obj})


def test_a_remedy_that_would_be_inexact_is_not_named():
    with pytest.raises(UnsupportedType) as caught:
        lend.to(pa.array([2**60 + 1, None]), "numpy")
    assert 'nulls="nan"' not in str(caught.value)
    with pytest.raises(UnsupportedType) as caught:
        lend.to(pa.array([2**50 + 1, None]), "numpy")
    assert 'nulls="nan"): float64, where each value is exact' in str(caught.value)


@pytest.mark.parametrize("nulls", ["x", ("fill",), ("other", 1), 1, ["fill", 0]])
@pytest.mark.parametrize("target", ["numpy", "pyarrow"])
def test_what_is_no_way_to_show_nulls_is_an_error_of_the_caller(nulls, target):
    with pytest.raises(ValueError, match="nulls is None, 'mask'"):
        lend.to(lend.column(pa.array([1])), target, nulls=nulls)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"zone": "keep"}, "zone is 'drop'"), ({"strings": "S"}, "strings is 'object'"),
        ({"stack": 1}, "stack is True or False"), ({"storage": None}, "storage is True or False"),
    ],
)  # fmt: skip
def test_an_option_has_its_values(options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        lend.to(lend.column(pa.array([1])), "numpy", **options)


def test_options_are_those_of_the_target():
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match="zone: not an option of torch; its options: stack, storage"):
        lend.to(lend.column(pa.array([1])), "torch", zone="drop")


# -- read-only -----------------------------------------------------------------------------------------------------


def test_what_is_shared_is_read_only_and_what_is_written_is_not():
    shared = lend.to(lend.column(pa.array([1, 2])), "numpy")
    written = lend.to(lend.column(pa.chunked_array([[1], [2]])), "numpy")
    assert (shared.flags.writeable, written.flags.writeable) == (False, True)


def test_chunks_are_written_once_for_torch_too():
    torch = pytest.importorskip("torch")
    column = lend.column(pa.chunked_array([[1, 2], [3]]))
    with lend.copies() as counted:
        made = lend.to(column, "torch", copy=True)
    assert torch.equal(made, torch.tensor([1, 2, 3]))
    assert (counted.count, counted.bytes) == (1, 24)


def test_a_table_goes_to_torch_by_who_promises_not_to_write():
    pytest.importorskip("torch")
    table = lend.table({"a": pa.array([1, 2])})
    made = lend.to(table, "torch", alias_readonly=True, copy=False)
    assert made["a"].data_ptr() == table["a"].buffers["data"].ptr


# -- numpy.ma ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["numpy.ma", "numpy.ma.MaskedArray", np.ma, np.ma.MaskedArray])
def test_a_masked_array_goes_round_with_its_data_and_mask(target):
    given = np.ma.array([1, 2, 3], mask=[False, True, False])
    made = lend.to(lend.column(given), target, copy=False)
    assert made.tolist() == [1, None, 3]
    assert made.data.__array_interface__["data"] == (given.data.__array_interface__["data"][0], False)
    assert np.shares_memory(np.ma.getmask(made), np.ma.getmask(given))


def test_a_mask_that_says_valid_is_inverted_in_a_copy():
    column = column_forms.numbers("int64", [1, None, 3], "bytes of 0")
    with lend.copies() as counted:
        made = lend.to(column, "numpy.ma")
    assert (made.tolist(), counted.bytes) == ([1, None, 3], 3)


def test_a_mask_of_bytes_that_are_no_bools_is_not_shared():
    column = lend.Column.from_buffers(
        "int8", 2, {"data": b"\1\2", "validity": b"\0\7"}, nulls=column_forms.Nulls("bytemask", 1)
    )
    made = lend.to(column, "numpy.ma")
    assert np.ma.getmask(made).view("uint8").tolist() == [0, 1]


def test_an_array_without_a_mask_is_a_masked_array_without_one():
    made = lend.to(np.arange(3), "numpy.ma")
    assert np.ma.getmask(made) is np.ma.nomask
    assert made.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("form", "mask"), [("nan", [True, False]), ("nat", [True, False])])
def test_what_values_say_is_masked(form, mask):
    dtype = "float64" if form == "nan" else "datetime64[ns]"
    made = lend.to(column_forms.numbers(dtype, [None, 1], form), "numpy.ma")
    assert np.ma.getmask(made).tolist() == mask


def test_who_asks_for_indices_with_nulls_is_not_sent_to_floats():
    indices = lend.column(pa.array(["a", None]).dictionary_encode())
    with pytest.raises(UnsupportedType, match="has 1 null") as caught:
        lend.to(indices, "numpy", storage=True)
    assert "nan" not in str(caught.value.remedy)


# -- tables --------------------------------------------------------------------------------------------------------

TWO = pa.table({"a": pa.array([1, None], pa.int32()), "b": pa.array([3, 4], pa.int32())})


@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "numpy.ma"])
def test_a_table_is_a_dict_of_arrays_under_its_names(target):
    pytest.importorskip(target.partition(".")[0])
    plan = lend.explain(TWO, target, nulls=("fill", 7))
    with lend.copies() as counted:
        made = lend.to(TWO, target, nulls=("fill", 7))
    assert {name: array.tolist() for name, array in made.items()} == {"a": [1, 7], "b": [3, 4]}
    assert list(made) == ["a", "b"]
    assert counted.bytes == told(plan)
    assert plan.target.startswith("dict of ")
    assert plan.steps[1].what.startswith("column 'a'")


def test_a_table_of_one_column_is_told_as_the_dict_that_is_given():
    one = TWO.select(["b"])
    assert list(lend.to(one, "numpy")) == ["b"]
    assert lend.explain(one, "numpy").steps[-1].what == "the column, as dict of numpy.ndarray"
    assert lend.explain(one, "numpy", stack=True).steps[-1].what == "buffer protocol, as numpy.ndarray"


@pytest.mark.parametrize("target", ["numpy", "torch", "jax", "tvm_ffi"])
def test_a_stack_is_one_array(target):
    pytest.importorskip(target)
    plan = lend.explain(TWO, target, nulls=("fill", 7), stack=True)
    with lend.copies() as counted:
        made = lend.to(TWO, target, nulls=("fill", 7), stack=True)
    assert lend.view(made).tolist() == [[1, 3], [7, 4]]
    assert (counted.count, counted.bytes, told(plan)) == (1, 16, 16)


def test_a_stack_of_masked_columns_has_one_mask():
    made = lend.to(TWO, "numpy.ma", stack=True)
    assert made.tolist() == [[1, 3], [None, 4]]
    assert lend.to(TWO.select(["b"]), "numpy.ma", stack=True).tolist() == [[3], [4]]


def test_a_stack_of_objects_holds_any_types():
    mixed = pa.table({"a": [1, None], "b": ["x", None]})
    assert lend.to(mixed, "numpy", stack=True, nulls="object").tolist() == [[1, "x"], [None, None]]


def test_a_stack_of_chunks_is_written_once():
    chunked = pa.table({"a": pa.chunked_array([[1], [2, 3]]), "b": pa.chunked_array([[4, 5], [6]])})
    with lend.copies() as counted:
        made = lend.to(chunked, "numpy", stack=True)
    assert (made.tolist(), counted.count, counted.bytes) == ([[1, 4], [2, 5], [3, 6]], 1, 48)
    with pytest.raises(CopyRequired, match="column 'a' has 3 chunks"):
        lend.to(chunked, "numpy", stack=True, copy=False)


def test_a_stack_of_one_column_is_shared():
    table = lend.table({"a": np.arange(3)})
    made = lend.to(table, "numpy", stack=True, copy=False)
    assert made.shape == (3, 1)
    assert made.__array_interface__["data"][0] == table["a"].buffers["data"].ptr


def test_a_stack_of_two_types_is_refused_by_name():
    with pytest.raises(UnsupportedType, match="column 'a' is of int64, and column 'b' of float64"):
        lend.to(pa.table({"a": [1], "b": [1.5]}), "numpy", stack=True)


def test_rows_without_columns_keep_their_number():
    # 5 rows and no columns
    empty = lend.table(pa.table({"a": [1, 2, 3, 4, 5]})).select([])
    assert lend.to(empty, "numpy") == {}
    assert lend.to(empty, "numpy", stack=True, copy=False).shape == (5, 0)
    torch = pytest.importorskip("torch")
    assert lend.to(empty, "torch", stack=True).shape == torch.Size([5, 0])


def test_two_columns_of_one_name_make_no_dict():
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(UnsupportedLayout, match="'x' is the name of columns 0, 1") as caught:
        lend.to(twice, "numpy")
    assert "stack=True" in caught.value.remedy
    assert lend.to(twice, "numpy", stack=True).tolist() == [[1, 2]]


def test_a_column_that_cannot_go_is_named():
    with pytest.raises(UnsupportedType, match="elements that are utf8, of which column 's' is"):
        lend.to(pa.table({"a": [1], "s": ["x"]}), "numpy")


def test_rows_that_did_not_come_are_told_to_be_unknown():
    def reader():
        return pa.RecordBatchReader.from_batches(TWO.schema, TWO.to_batches())

    plan = lend.explain(reader(), "numpy", nulls=("fill", 0))
    assert plan.bytes_copied is None
    assert lend.to(reader(), "numpy", nulls=("fill", 0))["a"].tolist() == [1, 0]


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_no_rows_need_no_copy(target):
    # EMPTY-1
    pytest.importorskip(target)
    empty = pa.table({"a": pa.array([], pa.int64()), "b": pa.chunked_array([], pa.float32())})
    made = lend.to(empty, target, copy=False)
    assert [len(array) for array in made.values()] == [0, 0]
    assert [str(array.dtype).rpartition(".")[2] for array in made.values()] == ["int64", "float32"]


SOURCES = {
    "a chunked array of pyarrow": lambda: pa.chunked_array([[1], [None]]),
    "an array of pyarrow": lambda: pa.array([1, None]),
    "a masked array": lambda: np.ma.array([1, 2], mask=[False, True]),
    "a Series of pandas": lambda: pytest.importorskip("pandas").Series([1, None], dtype="Int64"),
    "a Series of polars": lambda: pytest.importorskip("polars").Series([1, None]),
    "an array of arro3": lambda: pytest.importorskip("arro3.core").Array.from_arrow(pa.array([1, None])),
}


@pytest.mark.parametrize("name", SOURCES)
def test_an_object_goes_without_being_made_a_column_before(name):
    obj = SOURCES[name]()
    assert lend.to(obj, "numpy", nulls=("fill", 7)).tolist() == [1, 7]
    assert lend.to(obj, "numpy.ma").tolist() == [1, None]
    with pytest.raises(UnsupportedType, match="1 null, and an array of int64 has no word for them"):
        lend.to(obj, "numpy")
    with pytest.raises(LendError, match='nulls="forbid"'):
        lend.to(obj, "numpy", nulls="forbid")


REFUSALS = {
    "nulls to numpy": (lambda take: lend.to(take(), "numpy"), UnsupportedType),
    "nulls of a table to torch": (lambda take: lend.to({"a": take()}, "torch"), UnsupportedType),
    "a stack of two types": (
        lambda take: lend.to({"a": take(), "b": lend.column(b"abc")}, "numpy.ma", stack=True),
        LendError,
    ),
    "no copy": (lambda take: lend.to(take(), "numpy", nulls=("fill", 0), copy=False), CopyRequired),
    "no copy of a mask": (lambda take: lend.to(take(), "numpy.ma", copy=False), CopyRequired),
    "objects": (lambda take: lend.to(take(), "numpy", nulls="object", copy=False), CopyRequired),
    "a value of another type": (lambda take: lend.to(take(), "numpy", nulls=("fill", "x")), UnsupportedType),
    "two ways at once": (lambda take: lend.to(take(), "pandas", nulls="nan", dtype_backend="pyarrow"), UnsupportedType),
    "forbidden to pandas": (lambda take: lend.to({"a": take()}, "pandas", nulls="forbid"), UnsupportedType),
    "forbidden to pyarrow": (lambda take: lend.to({"a": take()}, "pyarrow", nulls="forbid"), UnsupportedType),
    "another form in pyarrow": (lambda take: lend.to(take(), "pyarrow", nulls="object"), UnsupportedType),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_that_is_kept_holds_no_memory(name):
    ask, kind = REFUSALS[name]
    gc.collect()  # of what other tests left in cycles
    before = len(lend.loans())
    with pytest.raises(kind) as caught:
        ask(lambda: lend.column(pa.array([1, None, 3])))  # nobody here has a name for it
    assert caught.value.fact
    assert len(lend.loans()) == before


def test_a_plan_of_arrays_holds_no_memory():
    gc.collect()  # of what other tests left in cycles
    before = len(lend.loans())
    plans = [lend.explain(TWO, target) for target in ("numpy.ma", "pandas")]
    assert len(lend.loans()) == before
    assert plans[0].copies


def test_a_name_that_is_lost_is_told():
    stored = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16)))
    assert "the name of the extension type 'arrow.uuid' is lost" in str(lend.explain(stored, "numpy"))


def test_what_was_made_outlives_the_column():
    column = lend.column(pa.chunked_array([[1, None], [3]]))
    masked, shared = lend.to(column, "numpy.ma"), lend.to(column.chunks[1], "numpy")
    column.release()
    assert (masked.tolist(), shared.tolist()) == ([1, None, 3], [3])

"""Columns of the libraries that have them: taken as they are, given back with the same values, over the same memory.

Written for pyarrow 26, polars 2.1, arro3 0.9, nanoarrow 0.9; a library whose behaviour changed fails here by name.
"""

import pytest

import lend
from lend import minimal
from support.column_kinds import ARRAYS, SERIES

CUTS = [slice(None), slice(1, None), slice(2, 9), slice(7, 8), slice(8, 33), slice(3, 3)]
CUT = pytest.mark.parametrize("cut", CUTS, ids=lambda cut: f"{cut.start}:{cut.stop}")


EACH = pytest.mark.parametrize(
    "name", ARRAYS or [pytest.param("", marks=pytest.mark.skip(reason="pyarrow is not here"))]
)
# what minimal, the implementation of one file, does not read
NOT_IN_MINIMAL = ("runs", "sparse union", "dense union")


def cut_of(name, cut):
    array, values = ARRAYS[name]
    start, stop, _ = cut.indices(len(array))
    return array.slice(start, max(stop - start, 0)), values[cut]


# SLICE-1, SLICE-2, SLICE-3, SLICE-16
@EACH
@CUT
def test_arrays_of_pyarrow_and_their_slices_have_their_values(name, cut):
    array, values = cut_of(name, cut)
    assert lend.column(array).tolist() == values


@EACH
@CUT
def test_nulls_of_pyarrow_are_counted_in_the_slice(name, cut):
    array, values = cut_of(name, cut)
    assert lend.column(array).null_count == values.count(None)


@EACH
@CUT
def test_arrays_of_pyarrow_cut_here_have_the_values_of_the_list(name, cut):
    array, values = ARRAYS[name]
    assert lend.column(array)[cut].tolist() == values[cut]


@EACH
@CUT
def test_arrays_of_pyarrow_come_back_valid_and_equal(name, cut):
    import pyarrow as pa

    array, values = ARRAYS[name]
    back = pa.array(lend.column(array)[cut])
    back.validate(full=True)
    assert (back.type, lend.column(back).tolist()) == (array.type, values[cut])


@EACH
def test_arrays_of_pyarrow_come_back_at_their_addresses(name):
    import pyarrow as pa

    array, _ = ARRAYS[name]
    back = pa.array(lend.column(array))
    assert [part and part.address for part in back.buffers()] == [part and part.address for part in array.buffers()]


@EACH
def test_arrays_of_pyarrow_pass_their_full_check(name):
    assert lend.column(ARRAYS[name][0]).verify(full=True) is None


@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in NOT_IN_MINIMAL])
@CUT
def test_both_implementations_read_arrays_of_pyarrow_alike(name, cut):
    array, _ = cut_of(name, cut)
    assert lend.column(array).tolist() == minimal.column(array).tolist()


@EACH
def test_chunks_of_pyarrow_are_chunks(name):
    import pyarrow as pa

    array, values = ARRAYS[name]
    chunked = pa.chunked_array([array.slice(1, 3), array.slice(0, 0), array.slice(4)])
    assert [part.tolist() for part in lend.column(chunked).chunks] == [values[1:4], [], values[4:]]


# NULL-5
@pytest.mark.parametrize("values", [[None, None], []], ids=["all null", "empty"])
def test_dictionaries_without_a_value_stay_dictionaries(values):
    import pyarrow as pa

    array = pa.array(values, pa.dictionary(pa.int8(), pa.string()))
    back = pa.array(lend.column(array))
    back.validate(full=True)
    assert back.equals(array)


# TYPE-10
@pytest.mark.parametrize("index", ["int8", "uint16", "int32", "uint64"])
def test_dictionaries_of_any_value_and_index_keep_their_order(index):
    import pyarrow as pa

    kind = pa.dictionary(getattr(pa, index)(), pa.int64(), ordered=True)
    array = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], kind.index_type), pa.array([5, 2**62]), ordered=True)
    column = lend.column(array)
    assert (column.tolist(), column.dtype.ordered, pa.array(column).type) == ([2**62, None, 5], True, kind)


# SLICE-13
def test_chunks_may_have_dictionaries_of_their_own():
    import pyarrow as pa

    parts = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", None, "z"]).dictionary_encode()]
    assert lend.column(pa.chunked_array(parts)).tolist() == ["b", "a", "a", None, "z"]


# SLICE-5
@pytest.mark.parametrize("start", range(12))
def test_structs_with_nulls_of_polars_are_cut_once(start):
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    values = [{"a": 1, "b": None}, None, {"a": None, "b": "thirteen bytes"}] * 4
    series = pl.Series("s", values, pl.Struct({"a": pl.Int64, "b": pl.String}))
    column = lend.column(series.slice(start))
    back = pa.chunked_array(column)
    back.validate(full=True)
    assert (column.tolist(), back.to_pylist()) == (values[start:], values[start:])


EACH_SERIES = pytest.mark.parametrize(
    "name", SERIES or [pytest.param("", marks=pytest.mark.skip(reason="polars is not here"))]
)


# EMPTY-4, STREAM-6
@EACH_SERIES
def test_series_of_polars_have_their_values(name):
    column = lend.column(SERIES[name][0])
    assert (column.tolist(), column.null_count, column.name) == (
        SERIES[name][1], SERIES[name][1].count(None), name,
    )  # fmt: skip


@EACH_SERIES
def test_series_of_polars_come_back_equal(name):
    import polars as pl

    source, _ = SERIES[name]
    back = pl.Series(lend.column(source))
    assert (back.dtype, back.to_list(), back.name) == (source.dtype, source.to_list(), name)


@EACH_SERIES
def test_series_of_polars_pass_their_full_check(name):
    assert lend.column(SERIES[name][0]).verify(full=True) is None


@EACH_SERIES
def test_no_rows_of_series_of_polars_are_given_to_others(name):
    pa = pytest.importorskip("pyarrow")
    source, _ = SERIES[name]
    if name == "Int128":
        pytest.skip("pyarrow has no such type")
    assert len(pa.chunked_array(lend.column(source)[:0])) == 0


# SLICE-11
def test_taking_a_series_of_polars_leaves_its_chunks_alone():
    pl = pytest.importorskip("polars")
    source = pl.concat([pl.Series([1, 2]), pl.Series([3])], rechunk=False)
    column = lend.column(source)
    assert (source.n_chunks(), len(column.chunks), column.tolist()) == (2, 2, [1, 2, 3])


@EACH
def test_arro3_takes_what_pyarrow_gave_and_gives_it_back(name):
    arro3 = pytest.importorskip("arro3.core")
    if name == "list view":
        pytest.skip("arro3 0.9 has no such array")
    array, values = ARRAYS[name]
    assert lend.column(arro3.Array.from_arrow(lend.column(array)[1:])).tolist() == values[1:]


@pytest.mark.parametrize("name", [name for name in ARRAYS if "view" not in name] or [""])
def test_nanoarrow_takes_what_pyarrow_gave_and_gives_it_back(name):
    na = pytest.importorskip("nanoarrow")  # never text in views: 0.9 ends the process
    array, values = ARRAYS[name]
    assert lend.column(na.c_array(lend.column(array)[1:])).tolist() == values[1:]


@EACH
def test_a_child_of_pyarrow_outlives_its_array(name):
    import gc

    import pyarrow as pa

    array, values = ARRAYS[name]
    rows = pa.StructArray.from_arrays([array, array], names=["a", "b"])
    child = lend.column(rows).children[1]
    del rows
    gc.collect()
    assert child.tolist() == values


# STREAM-12
def test_numbers_at_an_odd_address_are_read():
    pa = pytest.importorskip("pyarrow")
    np = pytest.importorskip("numpy")
    room = np.zeros(8 * 3 + 1, "u1")
    at = 1 if room.ctypes.data % 8 == 0 else 0
    room[at : at + 24] = np.array([1, -2, 2**62]).view("u1")
    array = pa.Array.from_buffers(pa.int64(), 3, [None, pa.py_buffer(room[at : at + 24])])
    column = lend.column(array)
    assert (column.tolist(), column.view().aligned) == ([1, -2, 2**62], False)


class Told:
    """An object whose interface is an attribute of it, not of its class."""

    def __init__(self, facts):
        self.__array_interface__ = facts


def test_a_mask_in_an_interface_that_the_object_alone_has_is_taken():
    np = pytest.importorskip("numpy")
    array, mask = np.array([1, 2, 3]), np.array([True, False, True])
    made = lend.column(Told(array.__array_interface__ | {"mask": mask}))
    assert (made.tolist(), made.nulls.missing) == ([1, None, 3], 0)


class Unreadable:
    """Something that no protocol lends, with an interface that cannot be asked."""

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        raise BufferError("bits of eight")

    @property
    def __cuda_array_interface__(self):
        raise AttributeError("not on this device")


def test_what_an_interface_raises_when_it_is_asked_for_a_mask_hides_no_refusal():
    with pytest.raises(lend.LendError):
        lend.column(Unreadable())


def test_bits_of_torch_are_refused_as_lend_view_refuses_them():
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(2, dtype=torch.uint8).view(torch.bits8)
    with pytest.raises(lend.LendError) as view:
        lend.view(tensor)
    with pytest.raises(lend.LendError) as column:
        lend.column(tensor)
    assert str(column.value) == str(view.value)


@pytest.mark.parametrize("target", ["pyarrow", "polars", "arro3", "duckdb", "pandas"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_days_and_fixed_bytes_of_numpy_go_to_every_library(order, target):
    np = pytest.importorskip("numpy")
    pytest.importorskip(target)
    days = np.array(["1970-01-02", "2020-02-29"], f"{order}M8[D]")
    table = lend.table({"day": days, "bytes": np.array([b"ab", b"cde"], "S3")})
    lend.explain(table, target)
    made = lend.to(table, target)
    rows = made.fetchall() if target == "duckdb" else list(zip(*[c.tolist() for c in lend.table(made)], strict=True))
    assert rows == list(zip(days.tolist(), [b"ab", b"cde"], strict=True))


@pytest.mark.parametrize("version", ["1.0rc1", "0.10.0.dev3", "2"])
def test_nanoarrow_of_a_version_to_come_is_taken_whatever_its_version_says(version, monkeypatch):
    na = pytest.importorskip("nanoarrow")
    monkeypatch.setattr(na, "__version__", version)
    assert lend.column(na.Array([1, 2], na.int64())).tolist() == [1, 2]


NATIVE = {
    "arrow": lambda: pytest.importorskip("pyarrow").array([1, 2]),
    "polars": lambda: pytest.importorskip("polars").Series([1, 2]),
    "pandas": lambda: pytest.importorskip("pandas").Series([1, 2]),
    "numpy": lambda: pytest.importorskip("numpy").array([1, 2]),
    "torch": lambda: pytest.importorskip("torch").tensor([1, 2]),
}


@pytest.mark.parametrize("library", NATIVE)
def test_a_column_says_whose_form_of_data_it_is_and_has_that_while_nothing_was_changed(library):
    source = NATIVE[library]()
    column = lend.column(source)
    assert (column.native, column.native_object is source) == (library, True)
    for other in (column[1:], column.rename("a"), column.compact(), lend.column(source, nulls=1)):
        assert (other.native, other.native_object) == (None, None)


def test_a_column_of_nobodys_form_says_so():
    import array

    assert lend.column(array.array("q", [1])).native is None
    assert lend.Column.from_buffers("int8", 1, {"data": b"a"}).native is None

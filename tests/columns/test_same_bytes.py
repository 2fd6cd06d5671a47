"""`Column.reinterpret` and `Column.low`: another dtype over the same memory, with the same nulls."""

import datetime

import pytest

import lend
from lend.columns.nullness import Nulls
from lend.errors import UnsupportedType

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

VALUES = [1, None, 200, 2**60, None, 255, 256, None, 9, 10, None]


def given(form):
    if form == "bitmask":
        return lend.column(pa.array(VALUES))
    if form == "chunks":
        return lend.column(pa.chunked_array([VALUES[:3], VALUES[3:4], VALUES[4:]]))
    data = np.array([7 if value is None else value for value in VALUES])
    mask = np.array([value is None for value in VALUES])
    if form == "strides":
        return lend.column(np.ma.MaskedArray(np.repeat(data, 2)[::2], mask=np.repeat(mask, 2)[::2]))
    if form == "backwards":
        return lend.column(np.ma.MaskedArray(data[::-1].copy()[::-1], mask=mask[::-1].copy()[::-1]))
    return lend.column(np.ma.MaskedArray(data, mask=mask))


FORMS = ("bitmask", "bytemask", "strides", "backwards", "chunks")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cut", [(0, 11), (1, 11), (3, 4), (4, 9), (8, 8)], ids=str)
def test_the_low_part_has_the_values_and_nulls_of_each_element(form, cut):
    column = given(form)[slice(*cut)]
    made = column.low("uint8")
    assert str(made.dtype) == "uint8"
    assert made.tolist() == [None if value is None else value % 256 for value in VALUES[slice(*cut)]]
    assert made.null_count == column.null_count


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cut", [(0, 11), (1, 11), (3, 4), (4, 9), (8, 8)], ids=str)
def test_reinterpreted_columns_have_the_same_nulls(form, cut):
    made = given(form)[slice(*cut)].reinterpret("datetime64[us]")
    start = datetime.datetime(1970, 1, 1)
    wanted = VALUES[slice(*cut)]
    assert lend.to(made.reinterpret("int64"), "pyarrow").to_pylist() == wanted
    if 2**60 not in wanted:
        assert made.tolist() == [
            None if value is None else start + datetime.timedelta(microseconds=value) for value in wanted
        ]


def test_neither_touches_or_copies_memory():
    column = given("bitmask")
    with lend.copies() as made:
        low, again = column.low("uint8"), column.reinterpret("uint64")
    assert made.count == 0
    at = column.buffers["data"].ptr
    assert (low.buffers["data"].ptr, low.stride, again.buffers["data"].ptr) == (at, 8, at)


def test_the_low_part_of_numbers_of_sixteen_bytes_is_read_where_it_lies():
    pl = pytest.importorskip("polars")
    column = lend.column(pl.Series("x", [1, None, 255], dtype=pl.Int128))
    made = column.low("uint8", check=True)
    assert (made.tolist(), made.stride, made.name) == ([1, None, 255], 16, "x")


def test_what_is_more_than_its_low_part_is_refused_where_that_is_checked():
    with pytest.raises(UnsupportedType, match="lossy"):
        given("bitmask").low("uint8", check=True)


def test_what_lies_under_nulls_is_not_checked():
    column = lend.column(np.ma.MaskedArray([1, 999, 3], mask=[False, True, False]))
    assert column.low("uint8", check=True).tolist() == [1, None, 3]


@pytest.mark.parametrize("how", ["low", "reinterpret"])
def test_a_column_without_a_chunk_has_the_new_dtype(how):
    made = getattr(lend.column(pa.chunked_array([], type=pa.int64())), how)("uint64")
    assert (str(made.dtype), made.tolist()) == ("uint64", [])


def test_times_that_are_null_as_nat_are_numbers_that_are_null_by_that_value():
    made = lend.column(np.array(["2024-01-01", "NaT"], "M8[s]")).reinterpret("int64")
    assert made.nulls == Nulls("sentinel", value=-(2**63))
    assert made.tolist() == [1704067200, None]


def test_a_null_by_a_value_that_the_dtype_has_not_is_refused():
    pd = pytest.importorskip("pandas")
    column = lend.column(pd.Series([1.5, None]))
    with pytest.raises(UnsupportedType, match="1 of this column is null by a value, which int64 has not") as refused:
        column.reinterpret("int64")
    assert 'nulls="none"' in refused.value.remedy
    assert column[:1].reinterpret("int64").tolist() == [0x3FF8000000000000]
    with pytest.raises(UnsupportedType, match="null by a value"):
        lend.column(np.array(["2024-01-01", "NaT"], "M8[s]")).low("uint8")


@pytest.mark.parametrize("dtype", ["int32", "utf8", "bool_packed", "struct{a: int64}", "list[int64]"])
def test_another_dtype_is_one_of_the_same_size(dtype):
    with pytest.raises(UnsupportedType, match="of 8 bytes each, and"):
        given("bitmask").reinterpret(dtype)


@pytest.mark.parametrize("how", ["low", "reinterpret"])
@pytest.mark.parametrize("source", [["a"], [True], [[1]], [None], pa.array(["a"]).dictionary_encode()], ids=str)
def test_what_has_no_bytes_of_its_own_has_neither(source, how):
    with pytest.raises(UnsupportedType, match="have no bytes of their own"):
        getattr(lend.column(pa.array(source)), how)("uint8")


def test_the_other_byte_order_stays_what_it_is():
    column = lend.column(np.array([1, 0x0203], ">u2")[::-1])
    assert column.low(">u1").tolist() == [3, 1]
    assert lend.column(np.arange(3)[::-1]).reinterpret(">i8").tolist() == [2 << 56, 1 << 56, 0]


@pytest.mark.parametrize("how", ["low", "reinterpret"])
def test_a_released_column_has_neither(how):
    column = given("bitmask")
    column.release()
    with pytest.raises(lend.errors.LeaseLost):
        getattr(column, how)("uint64")

"""Values that stand for null: kept as the elements are read, so that nobody changes them and equality finds them."""

import struct

import pytest

import lend
from lend.columns.nullness import Nulls
from lend.errors import UnsupportedType

CODES = {"float16": "e", "float32": "f", "float64": "d", "int8": "b", "uint16": "H", "int64": "q", "bfloat16": None}


class Changing:
    """A number that is another one each time it is asked."""

    def __init__(self):
        self.number = 4

    def __index__(self):
        self.number += 1
        return self.number


def column(dtype, values, nulls):
    code = CODES[dtype]
    if code is None:
        data = b"".join(struct.pack("f", value)[2:] for value in values)
    else:
        data = struct.pack(f"{len(values)}{code}", *values)
    return lend.Column.from_buffers(dtype, len(values), {"data": data}, nulls=nulls)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("given", [float("nan"), Nulls("sentinel", None, float("nan"))])
def test_nan_as_a_value_says_that_nan_is_null(dtype, given):
    made = column(dtype, [1.0, float("nan")], given)
    assert (made.nulls, made.tolist(), made.null_count) == (Nulls("nan"), [1.0, None], 1)


def test_nan_by_a_wish_says_that_nan_is_null():
    made = lend.column(column("float64", [1.0, float("nan")], None), nulls=float("nan"))
    assert (made.nulls, made.tolist(), made.null_count) == (Nulls("nan"), [1.0, None], 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_value_is_compared_as_wide_as_the_elements_are(dtype):
    made = column(dtype, [0.1, 0.25], 0.1)
    assert (made.tolist(), made.null_count) == ([None, 0.25], 1)


def test_a_value_of_bfloat16_is_rounded_as_its_elements_are():
    assert column("bfloat16", [0.5, 2.0], 2.001).tolist() == [0.5, None]


def test_a_number_that_changes_is_asked_once():
    made = column("int64", [4, 5, 6, 7], Changing())
    assert made.nulls == Nulls("sentinel", None, 5)
    assert [made.tolist(), made.tolist(), made.null_count] == [[4, None, 6, 7]] * 2 + [1]


@pytest.mark.parametrize(("dtype", "value"), [("int8", 200), ("uint16", -1), ("int64", 2**63), ("float16", 1e9)])
def test_a_value_that_no_element_can_have_is_refused(dtype, value):
    with pytest.raises(UnsupportedType, match="is no value of .* that could stand for null"):
        column(dtype, [1], value)


def test_a_column_of_a_table_whose_type_has_no_such_value_is_left_as_it_is():
    made = lend.table({"a": column("int8", [1], None), "b": column("int64", [200], None)}, nulls=200)
    assert [each.tolist() for each in made] == [[1], [None]]

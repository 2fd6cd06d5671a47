"""Masks of nested columns, of several columns as one, and of strings: every null is seen, wherever it is."""

import random

import pytest

import lend
from lend.errors import UnsupportedType

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

PAIR = pa.list_(pa.int32(), 2)
INNER = pa.struct({"x": pa.int8(), "y": pa.int64()})
KINDS = {
    "structs in structs": pa.struct({"a": INNER, "b": pa.int16()}),
    "lists in structs": pa.struct({"a": PAIR, "b": pa.bool_()}),
    "structs in lists": pa.list_(INNER, 2),
    "structs in lists of any length": pa.list_(INNER),
    "lists of structs of lists": pa.list_(pa.struct({"a": PAIR, "b": pa.float32()}), 3),
    "structs of lists of structs": pa.struct({"a": pa.list_(INNER, 2), "b": INNER}),
    "lists of lists": pa.list_(PAIR, 2),
}


def drawn(kind, random):
    """A value of a type; of lists none is null, as an array has no word for that."""
    if pa.types.is_struct(kind):
        hidden = random.random() < 0.1 and not any(pa.types.is_nested(field.type) for field in kind)
        return None if hidden else {field.name: drawn(field.type, random) for field in kind}
    if pa.types.is_nested(kind):
        length = getattr(kind, "list_size", 2)
        return [drawn(kind.value_type, random) for _ in range(length)]
    if random.random() < 0.3:
        return None
    return random.random() < 0.5 if pa.types.is_boolean(kind) else random.randrange(100)


def expected(value, kind):
    """As a masked array lists it: of records a tuple, each element of a null struct None."""
    if pa.types.is_struct(kind):
        return tuple(expected(None if value is None else value[field.name], field.type) for field in kind)
    if pa.types.is_nested(kind):
        return [expected(each, kind.value_type) for each in value]
    return value


def listed(data, mask):
    """The values beside a mask of the same shape, fields and all."""
    if data.ndim > 1:
        return [listed(row, mask[i]) for i, row in enumerate(data)]
    if data.dtype.names:
        return [tuple(row) for row in zip(*[listed(data[n], mask[n]) for n in data.dtype.names], strict=True)]
    return [None if lost else value for value, lost in zip(data.tolist(), mask.tolist(), strict=True)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", KINDS)
def test_every_null_is_masked_of(name, seed):
    kind, draw = KINDS[name], random.Random(seed)
    rows = [drawn(kind, draw) for _ in range(draw.choice([1, 2, 9, 20]))]
    whole = pa.array([drawn(kind, draw), *rows], kind)[1:]
    for column in (whole, pa.chunked_array([whole[:1], whole[1:]])):
        plan = lend.explain(column, "numpy.ma")
        with lend.copies() as counted:
            made = lend.to(column, "numpy.ma")
        assert listed(np.ma.getdata(made), np.ma.getmaskarray(made)) == [expected(row, kind) for row in rows]
        assert sum(step.nbytes or 0 for step in plan.steps if step.who == "lend") == counted.bytes


@pytest.mark.parametrize("first", [[{"a": 1, "b": None}, {"a": None, "b": 2}], [{"a": 1, "b": 2}, {"a": 3, "b": 4}]])
def test_structs_side_by_side_have_the_mask_of_each_field(first):
    one = pa.array(first * 3000)
    other = pa.array([{"a": 5, "b": None}, None] * 3000, one.type)
    made = lend.to(lend.table({"x": one, "y": other}), "numpy.ma", stack=True)
    assert made.mask.shape == made.shape == (6000, 2)
    assert made[:2, 0].tolist() == [tuple(row.values()) for row in first]
    assert made[:2, 1].tolist() == [(5, None), (None, None)]
    assert (made.mask[::2] == made.mask[0]).all()


# -- strings -------------------------------------------------------------------------------------------------------

TEXTS = pa.array(["a", None, "ü"])
STRINGS = ["object", "StringDType", "U"]


@pytest.mark.parametrize("strings", STRINGS)
@pytest.mark.parametrize(("target", "nulls"), [("numpy.ma", None), ("numpy.ma", "mask"), ("numpy", "mask")])
def test_strings_have_a_mask_where_one_was_asked_for(target, nulls, strings):
    plan = lend.explain(TEXTS, target, strings=strings, nulls=nulls)
    with lend.copies() as counted:
        made = lend.to(TEXTS, target, strings=strings, nulls=nulls)
    assert type(made) is np.ma.MaskedArray
    assert (made.tolist(), made.mask.tolist()) == (["a", None, "ü"], [False, True, False])
    assert sum(step.nbytes or 0 for step in plan.steps if step.who == "lend") == counted.bytes
    assert plan.target == "numpy.ma.MaskedArray"


@pytest.mark.parametrize("strings", STRINGS)
def test_strings_have_another_text_under_nulls_where_it_was_asked_for(strings):
    assert lend.to(TEXTS, "numpy", strings=strings, nulls=("fill", "none")).tolist() == ["a", "none", "ü"]


@pytest.mark.parametrize("strings", STRINGS)
def test_strings_with_nulls_are_refused_where_these_are_forbidden(strings):
    for ask in (lend.explain, lend.to):
        with pytest.raises(UnsupportedType, match='nulls="forbid" was asked for'):
            ask(TEXTS, "numpy", strings=strings, nulls="forbid")
    assert lend.to(TEXTS[:1], "numpy", strings=strings, nulls="forbid").tolist() == ["a"]


@pytest.mark.parametrize("strings", ["object", "StringDType"])
def test_strings_have_nan_under_nulls_where_it_was_asked_for(strings):
    first, lost, last = lend.to(TEXTS, "numpy", strings=strings, nulls="nan").tolist()
    assert (first, last) == ("a", "ü")
    assert lost != lost  # noqa: PLR0124 - NaN


@pytest.mark.parametrize(
    ("strings", "value"), [(s, v) for s in STRINGS for v in (1, "\ud800")] + [("U", "ends with NUL\0")]
)
def test_what_is_no_text_is_put_under_no_null(strings, value):
    for ask in (lend.explain, lend.to):
        with pytest.raises(UnsupportedType, match="is no text for NumPy's strings"):
            ask(TEXTS, "numpy", strings=strings, nulls=("fill", value))


def test_nobody_is_sent_to_strings_of_what_is_no_column_of_text():
    for obj, options in [
        (pa.array([{"a": "x"}]), {}),
        (pa.array([["x"]]), {}),
        (lend.table({"a": TEXTS}), {"strings": "object", "stack": True}),
    ]:
        with pytest.raises(UnsupportedType) as caught:
            lend.to(obj, "numpy", **options)
        assert "strings=" not in (caught.value.remedy or "")

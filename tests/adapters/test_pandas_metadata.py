"""Metadata of the index and labels of pandas are anybody's: what contradicts itself is as if it were not there."""

import pytest

import lend
from lend.errors import UnsupportedType

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

OURS = [
    b"x", b"5", b"[]", b'["range"]',
    b'{"range": 5}', b'{"range": [0, 2, 1]}', b'{"range": [0, 2, 0, null]}', b'{"range": ["a", 2, 1, null]}',
    b'{"range": [0, 1e400, 1, null]}', b'{"range": [0, 1267650600228229401496703205376, 1, null]}',
    b'{"range": [0, 2, 1, {}]}', b'{"range": [0, 2, true, null]}',
    b'{"index": 5}', b'{"index": [5]}', b'{"index": [["a"]]}', b'{"index": {"a": 1}}', b'{"index": [["a", {"x": 1}]]}',
    b'{"index": [["a", [1, 2]]]}', b'{"index": [["a", {"tuple": 5}]]}', b'{"index": [["a", {"time": "zz"}]]}',
    b'{"index": [["a", {"float": "x"}]]}', b'{"index": [["a", {"tuple": [[1]]}]]}',
    b'{"labels": 5}', b'{"labels": [5, {}]}', b'{"names": 5}', b'{"names": [[1]]}',
]  # fmt: skip
PANDAS = [
    b"x", b"5", b"{}", b'{"index_columns": 5}', b'{"index_columns": [["a"]], "columns": []}',
    b'{"index_columns": [{"start": 0, "stop": "x", "step": 1, "name": null}]}',
    b'{"index_columns": ["a"], "columns": [{"field_name": "a", "name": {"q": 1}}]}',
    b'{"index_columns": ["a"], "columns": 5}', b'{"index_columns": ["a"], "columns": [5]}',
]  # fmt: skip


def table(key, said):
    return lend.table(pa.table({"a": [1, 2]}).replace_schema_metadata({key: said}))


@pytest.mark.parametrize(
    ("key", "said"), [*((b"lend.pandas", said) for said in OURS), *((b"pandas", said) for said in PANDAS)]
)
def test_a_frame_is_made_whatever_its_metadata_say(key, said):
    pd.testing.assert_frame_equal(lend.to(table(key, said), "pandas"), pd.DataFrame({"a": [1, 2]}))
    assert "pandas.index" not in table(key, said).__dataframe__().metadata


def test_text_is_made_whatever_the_metadata_say_of_its_dtype():
    schema = pa.schema([pa.field("a", pa.large_string(), metadata={b"pandas.dtype": b"\xff"})])
    made = lend.to(lend.table(pa.table({"a": ["x"]}, schema=schema)), "pandas")
    assert made["a"].tolist() == ["x"]


@pytest.mark.parametrize(("values", "row"), [(["", "\ud800"], "row 1"), (["", 1], "no values of one type")])
def test_an_empty_text_is_not_blamed_for_what_cannot_be_converted(values, row):
    with pytest.raises(UnsupportedType, match=row):
        lend.column(pd.Series(values, dtype=object), nested=True)

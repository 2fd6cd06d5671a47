"""Lazy tables of readers, which give their rows once: that they did is remembered as of tables of all rows."""

import pytest

import lend
from lend.errors import MalformedDescriptor

pa = pytest.importorskip("pyarrow")


PULLS = {
    "all at once": lend.table,
    "one by one": lambda table: list(table.batches()),
    "by a library": pa.table,
    "a selection": lambda table: lend.table(table.select(["a"])),
    "a selection by a library": lambda table: pa.table(table.select([0])),
}


@pytest.mark.parametrize("pull", PULLS)
def test_a_reader_that_was_drained_by_a_lazy_table_is_not_taken_for_an_empty_one(pull):
    reader = pa.table({"a": [1, 2]}).to_reader()
    PULLS[pull](lend.table(reader, lazy=True))
    with pytest.raises(MalformedDescriptor, match="lend took all of it before"):
        lend.table(reader)


def test_a_lazy_table_of_a_reader_that_was_drained_refuses_to_have_no_rows():
    reader = pa.table({"a": [1, 2]}).to_reader()
    lend.table(reader)
    table = lend.table(reader, lazy=True)
    with pytest.raises(MalformedDescriptor, match="lend took all of it before"):
        lend.table(table)


@pytest.mark.parametrize("leave", [lambda table: None, lambda table: table.select(["a"])], ids=["let go", "selected"])
def test_a_reader_whose_rows_a_lazy_table_left_is_read_as_before(leave):
    empty, full = pa.table({"a": [1, 2]}).slice(0, 0).to_reader(), pa.table({"a": [1, 2]}).to_reader()
    for reader in (empty, full):
        leave(lend.table(reader, lazy=True))
    assert (len(lend.table(empty)), len(lend.table(full))) == (0, 2)

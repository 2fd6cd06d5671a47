"""Every descriptor of the corpus (support/corpus) is refused in words, or lent as it is; none ends the process."""

import pytest

from lend import errors
from support import children
from support.corpus import Odd, Table, Wrong, cases, groups, judge
from support.corpus.every import TABLES
from support.corpus.tensors import TABLES as TENSORS


@pytest.mark.parametrize("table", [table.name for table in TABLES])
def test_what_is_wrong_is_refused_by_class_and_text_and_what_is_odd_is_lent_as_it_is(table):
    children.run_table("support.corpus", table)


def test_every_wrong_thing_is_told_by_some_words():
    assert [wrong.name for table in TABLES for wrong in table.wrong if not any(wrong.says)] == []


def test_the_corpus_is_large():
    assert sum(1 for table in TABLES for _ in cases(table)) > 20_000


GOOD = TENSORS[0]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (Wrong("nothing", {"shape": (2, 3)}, errors.MalformedDescriptor, ("shape",)), "lent: <View"),
        (Wrong("another class", {"ndim": -1}, errors.UnsupportedType, ("ndim",)), "not UnsupportedType"),
        (Wrong("another text", {"ndim": -1}, errors.MalformedDescriptor, ("itemsize",)), "saying ['itemsize']"),
    ],
)
def test_a_case_that_ends_otherwise_is_told(wrong, told):
    assert told in judge(GOOD, GOOD.good | wrong.changes, [wrong], [])


def test_an_odd_thing_that_is_lent_as_another_is_told():
    odd = Odd("a shape", {"shape": (3, 2)}, {"shape": (2, 3)})
    assert judge(GOOD, GOOD.good | odd.changes, [], [odd]) == "shape is (3, 2), not (2, 3)"


def test_things_that_depend_on_each_other_are_not_paired_when_they_are_only_odd():
    table = Table("t", {}, None, [], [Odd("a", {"x": 1}, {}), Odd("b", {"y": 1}, {})], "", (("x", "y"),))
    assert groups(table, {"x": 1}) == {"x", "y"}
    assert [name for name, *_ in cases(table)] == ["nothing wrong", "a", "b"]

"""`explain` without a target: what it says of each library is what `to` does with the same keywords."""

import pytest

import lend
from lend.adapters.rules import TARGETS, is_installed
from lend.errors import LendError
from support.sources import SOURCES

KEYWORDS = [
    {},
    {"copy": True},
    {"copy": False},
    {"alias_readonly": True},
    {"copy": False, "alias_readonly": True},
    {"copy": True, "alias_readonly": True},
]
INSTALLED = [name for name in TARGETS if name == "memoryview" or is_installed(name)]


def verdict(obj, target, **keywords):
    """What `to` does, in the words of a survey, as far as the words are about that."""
    plan = None
    try:
        plan = lend.explain(obj, target, **keywords)
        with lend.copies() as made:
            lend.to(obj, target, **keywords)
    except LendError as refusal:
        return f"refused: {refusal.fact}"
    if not plan.copies:
        assert made.count == 0
        return "shared"
    by_lend = sum(step.nbytes for step in plan.copies if step.who != "target")
    assert made.bytes == by_lend
    return f"{plan.bytes_copied} byte{'' if plan.bytes_copied == 1 else 's'} copied: " + "; ".join(
        step.why for step in plan.copies
    )


@pytest.mark.parametrize("keywords", KEYWORDS, ids=str)
@pytest.mark.parametrize("name", SOURCES)
def test_what_is_told_of_each_library_is_what_to_does(name, keywords):
    obj = SOURCES[name]()
    told = lend.explain(obj, **keywords).targets
    assert told == {target: verdict(obj, target, **keywords) for target in INSTALLED}


def test_copy_is_one_of_three_here_too():
    with pytest.raises(TypeError, match="copy is None, True or False, not 'always'"):
        lend.explain(b"1234", copy="always")

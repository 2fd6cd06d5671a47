"""A library that copies where its rules say that it shares is found out: no copy passes in silence."""

import pytest

import lend
from lend.adapters.rules import Rules
from lend.errors import LendError
from lend.plan.planner import Draft
from lend.plan.work import unmarked


def carried_out(rules, **keywords):
    draft = Draft(bytearray(16), False)
    draft.look()
    draft.judge(rules, keywords.get("copy"), None, False)
    return draft.carry_out()


@pytest.mark.parametrize("copy", [None, False, True])
def test_a_silent_copy_is_refused(copy):
    rules = Rules("copier", "copier.Array", "a copy", lambda facts: bytearray, address=lambda made: lend.view(made).ptr)
    with pytest.raises(LendError, match="copier copied the memory, which it was expected to share"):
        carried_out(rules, copy=copy)


def test_an_address_that_cannot_be_told_is_not_asked_for():
    rules = Rules("shy", "shy.Array", "a copy", lambda facts: bytearray, address=lambda made: None)
    assert carried_out(rules) == bytearray(16)


def test_the_mark_is_taken_off_one_object_only():
    view = lend.view(b"1234")
    other = unmarked(view)
    assert (other.readonly, other.ptr, view.readonly) == (False, view.ptr, True)
    assert lend.view(b"1234").readonly

"""A Plan: its fields, its printed form, and what it says of things beside copies."""

import copy
import json
import pickle

import pytest

import lend
from lend.plan.steps import Plan, Step


def test_a_shared_plan_prints_each_step_and_what_it_costs():
    assert str(lend.explain(b"1234", "memoryview")) == (
        "bytes to memoryview: shared, nothing is copied\n"
        "  came : uint8[4] on cpu, read-only, lent by bytes\n"
        "  take : buffer protocol                 shared\n"
        "  give : buffer protocol, as memoryview  shared"
    )


def test_a_copying_plan_prints_who_copies_how_much_and_why():
    assert str(lend.explain(b"1234", "memoryview", copy=True)) == (
        "bytes to memoryview: 4 bytes copied\n"
        "  came : uint8[4] on cpu, read-only, lent by bytes\n"
        "  take : buffer protocol                 shared\n"
        "  copy : into fresh memory               lend copies 4 bytes\n"
        "         copy=True\n"
        "  give : buffer protocol, as memoryview  shared"
    )


def test_a_plan_shows_itself_in_a_session():
    plan = lend.explain(b"1234", "memoryview")
    assert repr(plan) == str(plan)


def test_the_copying_steps_are_told_apart():
    plan = lend.explain(b"1234", "memoryview", copy=True)
    (step,) = plan.copies
    assert (step.kind, step.who, step.nbytes, step.why) == ("work", "lend", 4, "copy=True")
    assert plan.bytes_copied == 4


def test_a_shared_plan_copies_nothing():
    plan = lend.explain(bytearray(4), "memoryview")
    assert (plan.copies, plan.bytes_copied) == ((), 0)


def test_the_bytes_of_a_callable_are_unknown():
    plan = lend.explain(b"1234", lambda view: view)
    assert (plan.bytes_copied, [step.who for step in plan.copies]) == (None, ["target"])
    assert "only the target knows" in str(plan)


def test_a_plan_goes_through_json():
    plan = lend.explain(b"1234", "memoryview", copy=True)
    again = json.loads(json.dumps(plan.to_dict()))
    assert again["bytes_copied"] == 4
    assert [step["kind"] for step in again["steps"]] == ["take", "work", "give"]
    assert again["target"] == "memoryview"
    assert again["protocol"] == "buffer protocol"


def test_a_step_that_may_copy_says_so():
    step = Step("give", "call of f with a View", None, "target")
    assert step.cost == "target may copy"
    assert Plan(source="", source_type="x", target="f", protocol="p", steps=[step]).bytes_copied is None


def test_one_byte_is_one_byte():
    assert "1 byte copied" in str(lend.explain(b"1", "memoryview", copy=True))


def test_without_a_target_the_plan_tells_where_the_memory_can_go():
    plan = lend.explain(bytearray(4))
    assert plan.target is None
    assert plan.targets["memoryview"] == "shared"
    assert [step.kind for step in plan.steps] == ["take"]
    assert str(plan).startswith("bytearray: lent by buffer protocol\n")


def test_the_open_exports_of_the_lease_are_told():
    view = lend.view(bytearray(4))
    held = memoryview(view)
    assert "lent by bytearray, 1 open export\n" in str(lend.explain(view, "memoryview"))
    del held


def test_what_came_of_our_own_is_told_as_such():
    assert lend.explain(lend.view(b"12"), "memoryview").source_type == "lend.View"
    assert lend.explain(lend.buffer(b"12"), "memoryview").source_type == "lend.Buffer"


def test_plans_that_say_the_same_are_equal():
    plans = [lend.explain(b"1234", "memoryview") for _ in range(2)]
    assert plans[0] == plans[1]
    assert len({*plans, *plans}) == 1
    assert plans[0] != lend.explain(b"1234", "memoryview", copy=True)
    assert plans[0].steps[0] == plans[1].steps[0]


def test_a_plan_goes_through_pickle_and_copy():
    plan = lend.explain(b"1234")
    assert pickle.loads(pickle.dumps(plan)) == copy.copy(plan) == plan


def test_a_notebook_is_shown_the_same_as_a_session():
    plan = lend.explain(bytearray(4), "memoryview", copy=True)
    shown = plan._repr_html_()
    assert "<b>bytearray to memoryview: 4 bytes copied</b>" in shown
    assert "<th>copy</th><td>into fresh memory</td><td>lend copies 4 bytes: copy=True</td>" in shown
    assert "<th>to</th><td>memoryview</td><td>shared</td>" in lend.explain(bytearray(4))._repr_html_()


def test_a_notebook_is_shown_text_and_no_markup():
    named = type("<b>", (bytearray,), {})
    assert "&lt;b&gt;" in lend.explain(named(4), "memoryview")._repr_html_()


def test_how_memory_may_move_is_told_where_no_target_is_named():
    np = pytest.importorskip("numpy")
    assert any("may reallocate: ndarray.resize" in note for note in lend.explain(np.zeros(4)).notes)
    assert lend.explain(np.zeros(4), "memoryview").notes == ()


@pytest.mark.parametrize("attribute", ["steps", "notes"])
def test_what_a_plan_lists_is_a_tuple(attribute):
    assert isinstance(getattr(lend.explain(b"", "memoryview"), attribute), tuple)

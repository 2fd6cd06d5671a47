"""What drives the state machine: the same steps for the same seed, and the fewest that break it."""

import pytest

from support import driving
from support.drawing import drawn, steps_of
from support.machine import Lending

STEPS = driving.episode(1, 2)


def test_an_episode_is_the_same_every_time():
    assert driving.episode(1, 2) == STEPS
    assert driving.episode(1, 3) != STEPS


def test_steps_are_read_as_they_were_written():
    assert driving.read(driving.written(STEPS)) == STEPS


def test_every_step_is_drawn_within_a_few_episodes():
    names = {name for number in range(8) for name, _ in driving.episode(5, number)}
    assert names == set(steps_of(Lending))


@pytest.mark.parametrize("name", steps_of(Lending))
def test_every_step_may_be_called_with_empty_hands(name):
    machine = Lending()
    method = getattr(machine, name)
    method(**drawn(method, driving.random.Random(0)))
    machine.check()
    machine.end()
    assert machine.hand == []


def test_what_breaks_is_told_with_the_steps_that_it_takes(monkeypatch):
    needed = [("drop", {"which": 7, "elsewhere": True}), ("read", {"which": 900})]

    def breaks(steps):
        names = [name for name, _ in steps]
        return "drop" in names and "read" in names[names.index("drop") :]

    monkeypatch.setattr(driving, "breaks", breaks)
    fewest = driving.shrunk([*STEPS[:40], needed[0], *STEPS[40:60], needed[1], *STEPS[60:]])
    assert fewest == [("drop", {"which": 0, "elsewhere": False}), ("read", {"which": 0})]


def test_what_does_not_break_again_is_told_whole(monkeypatch):
    monkeypatch.setattr(driving, "breaks", lambda steps: False)
    assert driving.shrunk(STEPS) == STEPS

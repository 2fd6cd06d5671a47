"""Lending as a state machine (support/machine): whatever is done in any order, every loan is given back once.

Hypothesis plays short runs, and shows the shortest that breaks; a plain generator plays many more steps (see
support/driving.py, and CONTRIBUTING.md for runs by hand).
"""

import gc
import os
import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from support import driving
from support.drawing import BOOL, steps_of, strategies
from support.machine import Lending
from support.machine.taking import PRODUCERS, STARTS

STEPS = int(os.environ.get("LEND_STEPS", "100000"))
SEED = os.environ.get("LEND_SEED")


class ByHypothesis(RuleBasedStateMachine):
    """The same machine with the same steps; its rules are added below."""

    def __init__(self):
        super().__init__()
        self.lending = Lending()

    @initialize(kind=st.sampled_from(list(PRODUCERS)), start=st.sampled_from(STARTS), readonly=st.sampled_from(BOOL))
    def begin(self, kind, start, readonly):
        self.lending.take_from_a_new_producer(kind, start, readonly, "view", 0)

    @invariant()
    def everything_is_as_the_model_says(self):
        self.lending.check()

    def teardown(self):
        self.lending.end()


def a_rule(name, method):
    def play(self, **arguments):
        getattr(self.lending, name)(**arguments)

    play.__name__ = name
    made = rule(**strategies(method, st))(play)
    return precondition(lambda self: not self.lending.is_full)(made) if method.room else made


for name, method in steps_of(Lending).items():
    setattr(ByHypothesis, name, a_rule(name, method))

QUIET = {
    "deadline": None,
    "report_multiple_bugs": False,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    "print_blob": True,
}


@pytest.fixture
def _set_aside():
    """What was there before takes no time in a collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_set_aside")
def test_every_loan_is_given_back_once_and_never_early():
    run_state_machine_as_test(ByHypothesis, settings=settings(max_examples=100, stateful_step_count=40, **QUIET))


@pytest.mark.slow
@pytest.mark.usefixtures("_set_aside")
def test_every_loan_is_given_back_once_and_never_early_in_long_runs():
    run_state_machine_as_test(ByHypothesis, settings=settings(max_examples=300, stateful_step_count=120, **QUIET))


def test_every_loan_is_given_back_in_a_hundred_thousand_steps():
    outcome = driving.run(STEPS, int(SEED) if SEED else random.randrange(2**32))
    assert outcome.wrong is None, outcome.wrong
    assert outcome.steps >= STEPS

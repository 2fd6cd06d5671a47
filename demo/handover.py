"""One hand-over: what lend says beforehand, what it then does, and whether the libraries on both sides agree."""

import timeit

import lend

SHARED, COPIED, REFUSED = "shared", "copied", "refused"
UNTOLD = "taken"  # by a callable whose result does not tell its address
BUDGET = 0.005  # seconds for which one pair is timed


class HandOver:
    """What came of one pair.

    Attributes
    ----------
    source, target : Source, Target
    verdict : str
        SHARED, COPIED, REFUSED or UNTOLD.
    nbytes : int
        Bytes copied by whomever: as `explain` said, and where it said that only the target knows, all if it copied.
    reasons : list of (str, str)
        Who copies or refuses, and why.
    seconds : float or None
        The fastest of many hand-overs; None for a refusal.
    made : object
        What the target made of the memory.
    lend_copies, lend_bytes : int
        Copies that `explain` said lend would make or ask a producer for, over all calls of this pair.
    faults : list of str
        Claims that do not hold.
    """

    def __init__(self, source, target):
        self.source = source
        self.target = target
        self.verdict = REFUSED
        self.nbytes = 0
        self.reasons = []
        self.seconds = None
        self.made = None
        self.lend_copies = self.lend_bytes = 0
        self.faults = []

    def fail(self, claim):
        """Note a claim that does not hold."""
        self.faults.append(f"{self.source.label} to {self.target.label}: {claim}")


def hand_over(source, target):
    """Lend one object to one target, check every claim about it, and time it."""
    done = HandOver(source, target)
    obj, aim = source.obj, target.aim
    try:
        plan = lend.explain(obj, aim)
    except lend.LendError as refusal:
        done.reasons = [("lend", refusal.fact)]
        _check_refusal(done, refusal)
        return done
    with lend.copies() as tally:
        try:
            done.made = lend.to(obj, aim)
        except target.foreign as refusal:
            done.reasons = [("target", f"{refusal}".split("\n", 1)[0])]
            return done
    # a producer that writes its value out does so because lend asks it to: such a copy is counted as well
    ours = [step for step in plan.copies if step.who in ("lend", "producer")]
    _check_tally(done, ours, tally)
    _check_address(done, plan)
    _check_values(done, plan)
    calls = _time(done)
    done.lend_copies = calls * len(ours)
    done.lend_bytes = calls * sum(step.nbytes for step in ours)
    return done


def _check_refusal(done, predicted):
    try:
        done.made = lend.to(done.source.obj, done.target.aim)
    except lend.LendError as refusal:
        if str(refusal) != str(predicted):
            done.fail(f"refused with another reason than explain gave: {refusal.fact}")
        return
    done.fail("explain refused, and lend.to did not")


def _check_tally(done, ours, tally):
    expected = len(ours), sum(step.nbytes for step in ours)
    if (tally.count, tally.bytes) != expected:
        done.fail(
            f"explain predicted {expected[0]} copies ({expected[1]} bytes), and {tally.count} were counted "
            f"({tally.bytes} bytes)"
        )


def _check_address(done, plan):
    """The address as the target's library tells it against that which the source's library told."""
    here = done.source.address
    there = done.target.address(done.made)
    told = here is not None and there is not None
    done.nbytes = sum(len(done.source.values) if step.nbytes is None else step.nbytes for step in plan.copies)
    if plan.bytes_copied is None:
        # a callable, of which explain says that only it knows
        done.verdict = UNTOLD if not told else SHARED if here == there else COPIED
        done.reasons = [(step.who, step.why) for step in plan.copies]
        return
    done.verdict = COPIED if plan.copies else SHARED
    done.reasons = [(step.who, why) for step in plan.copies for why in step.why.split("; ")]
    if told and done.verdict == SHARED and here != there:
        done.fail(f"explain said shared, and the address {there:#x} is not that of the source, {here:#x}")
    if told and done.verdict == COPIED and here == there:
        done.fail(f"explain said copied, and both sides have the address {here:#x}")


def _check_values(done, plan):
    """Dtype, shape and values as the target's library tells them against what the source's library told."""
    source, target = done.source, done.target
    facts = None if target.facts is None else target.facts(done.made)
    if facts is not None and facts != (source.dtype, source.shape):
        if plan.bytes_copied is not None:
            done.fail(f"it is {facts} there, and {(source.dtype, source.shape)} here")
        # else a callable made something else of it, which lend says is its own affair
    elif target.values(done.made) != source.values:
        done.fail("the values differ")


def _time(done):
    """Time the hand-over, the release included; how often it was carried out, the first time counted too."""
    timer = timeit.Timer("to(obj, aim)", globals={"to": lend.to, "obj": done.source.obj, "aim": done.target.aim})
    once = timer.timeit(1)
    number = max(1, min(1000, int(BUDGET / 5 / once)))
    done.seconds = min([once, *(seconds / number for seconds in timer.repeat(5, number))])
    return 2 + 5 * number

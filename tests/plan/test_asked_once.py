"""`lend.to(x, target)` asks a producer once, whatever it answers, and lets an interrupt pass."""

import pytest

import lend
from lend.errors import LendError
from support.counting import CountingDLPack


class Moody:
    """Gives a tensor, unless it is told what to raise, and counts how often it was asked."""

    def __init__(self):
        self.inner = CountingDLPack(bytes(16), (4,))
        self.raises, self.asked = [], 0

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.asked += 1
        if self.raises:
            raise self.raises.pop()
        return self.inner.__dlpack__(**keywords)


@pytest.fixture
def moody():
    made = Moody()
    lend.view(made)  # from here on the protocol of the type is known
    made.asked = 0
    return made


WAYS = {
    "to by the way that is known": lambda x: lend.to(x, "memoryview"),
    "to by the planner": lambda x: lend.to(x, "memoryview", copy=None),
    "view": lend.view,
    "buffer": lend.buffer,
    "explain": lambda x: lend.explain(x, "memoryview"),
}
EACH_WAY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@EACH_WAY
@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, RecursionError])
def test_what_is_no_refusal_passes(moody, way, raised):
    moody.raises = [raised("mine")]
    with pytest.raises(raised, match="mine"):
        way(moody)
    assert moody.asked == 1


@EACH_WAY
@pytest.mark.parametrize("raised", [BufferError, ValueError, RuntimeError])
def test_a_producer_that_refuses_is_asked_once(moody, way, raised):
    moody.raises = [raised("not now")]
    with pytest.raises(LendError, match="not now"):
        way(moody)
    assert moody.asked == 1


@EACH_WAY
def test_a_producer_that_gives_is_asked_once(moody, way):
    way(moody)
    assert moody.asked == 1


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_while_an_array_is_asked_for_its_base_passes(raised):
    numpy = pytest.importorskip("numpy")

    class Array(numpy.ndarray):
        bomb = None

        @property
        def base(self):
            if type(self).bomb is not None:
                raise type(self).bomb

    view = lend.view(numpy.zeros(4).view(Array))
    lend.to(view, "numpy")
    Array.bomb = raised("mine")
    with pytest.raises(raised, match="mine"):
        lend.to(view, "numpy")


def test_an_unfit_tensor_of_a_known_type_is_refused_with_one_deleter_call():
    lend.view(CountingDLPack(bytes(16), (4,)))
    bad = CountingDLPack(bytes(16), (4,), dtype=(77, 32, 1))
    with pytest.raises(LendError):
        lend.to(bad, "memoryview")
    assert bad.audit() == []

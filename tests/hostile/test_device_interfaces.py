"""Malformed device interfaces: refused naming the key, and nothing of them ends the process."""

import pytest

import lend
from lend.errors import LendError
from support import children
from support.device_producers import CUDA, SYCL, CudaInterface, SyclInterface
from support.malformed import DEVICE_INTERFACES
from support.names import plain_repr
from support.producers import AnswersEverything, PropertyRaises

KINDS = {CUDA: CudaInterface, SYCL: SyclInterface}
EACH = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])
KEYS = ["shape", "typestr", "data", "strides", "version"]


class Fails:
    """Raises `error` whenever Python asks it for a number or a truth."""

    def __init__(self, error):
        self.error = error

    def __index__(self):
        raise self.error

    def __bool__(self):
        raise self.error


class Unequal(str):
    """A key that lands where `shape` would, and raises when compared."""

    __slots__ = ()

    def __hash__(self):
        return hash("shape")

    def __eq__(self, other):
        raise RuntimeError("no comparing")


@EACH
@TAKES
@pytest.mark.parametrize("name", DEVICE_INTERFACES)
def test_a_malformed_interface_is_refused_naming_the_key(name, take, kind):
    changes, told = DEVICE_INTERFACES[name]
    with pytest.raises(LendError, match=f"(?s){told}"):
        take(kind(**changes))


def test_nothing_malformed_ends_the_process():
    out = children.run_clean("""
        import lend
        from support.device_producers import CudaInterface, SyclInterface
        from support.malformed import DEVICE_INTERFACES
        for kind in (CudaInterface, SyclInterface):
            for name, (changes, _) in DEVICE_INTERFACES.items():
                for take in (lend.view, lend.buffer):
                    try: print("accepted", name, take(kind(**changes)))
                    except lend.errors.LendError: pass
        print("done")
    """)
    assert out == "done\n"


@EACH
@pytest.mark.parametrize("facts", [None, 5, "shape", [], (), object(), {"shape"}], ids=plain_repr)
def test_an_interface_that_is_no_dict_is_refused(kind, facts):
    lender = kind()
    lender.facts = facts
    with pytest.raises(LendError, match="array_interface__"):
        lend.view(lender)


WORDS = [None, 5, -5, 2**70, 1.5, "x", b"x", (), (None,), ((),), [[]], {}, object(), float("nan"), AnswersEverything()]


@EACH
@pytest.mark.parametrize("key", ["shape", "typestr", "data", "strides", "version", "stream", "offset", "descr"])
def test_any_word_under_any_key_is_taken_or_refused(kind, key):
    outcomes = []
    for word in WORDS:
        try:
            outcomes.append(lend.view(kind(**{key: word})).ndim)
        except LendError:
            outcomes.append(None)
    assert len(outcomes) == len(WORDS)


@EACH
@pytest.mark.parametrize("key", ["shape", "strides", "data", "version"])
def test_a_number_that_fails_becomes_ours_with_its_text(kind, key):
    failing = Fails(RuntimeError("no number today"))
    word = {"version": failing, "data": (failing, False)}.get(key, (failing, failing))
    with pytest.raises(LendError, match="no number today"):
        lend.view(kind(**{key: word}))


@EACH
def test_a_truth_that_fails_becomes_ours_with_its_text(kind):
    with pytest.raises(LendError, match="no truth today"):
        lend.view(kind(data=(4096, Fails(ValueError("no truth today")))))


@EACH
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError, SystemExit])
def test_a_number_that_raises_what_must_not_be_caught_lets_it_pass(kind, error):
    with pytest.raises(error):
        lend.view(kind(shape=(Fails(error()),)))


@EACH
def test_a_key_that_fails_becomes_ours_with_its_text(kind):
    lender = kind()
    lender.facts = {Unequal("x"): 1}
    with pytest.raises(LendError, match="no comparing"):
        lend.view(lender)


@pytest.mark.parametrize("name", KINDS)
def test_a_property_that_fails_becomes_ours_with_its_text(name):
    with pytest.raises(LendError, match="backend not loaded"):
        lend.view(PropertyRaises(RuntimeError("backend not loaded"), name))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError, SystemExit])
def test_a_property_that_raises_what_must_not_be_caught_lets_it_pass(name, error):
    with pytest.raises(error) as caught:
        lend.view(PropertyRaises(error(), name))
    assert type(caught.value) is error


@EACH
def test_an_announcement_that_fails_becomes_ours_with_its_text(kind):
    def fails(self):
        raise RuntimeError("no device today")

    with pytest.raises(LendError, match="no device today"):
        lend.view(type("Announcing", (kind,), {"__dlpack_device__": fails})())


@EACH
def test_the_dict_may_change_under_the_reader(kind):
    class Changing:
        def __index__(self):
            lender.facts.clear()
            return 2

    lender = kind(shape=(Changing(), 3))
    assert lend.view(lender).shape == (2, 3)


@EACH
def test_a_dict_of_another_class_is_read_as_a_dict(kind):
    class Strange(dict):
        def get(self, *rest):
            raise AssertionError("it was asked")

        __getitem__ = keys = __iter__ = __contains__ = get

    lender = kind()
    lender.facts = Strange(lender.facts)
    assert lend.view(lender).shape == (2, 3)


@EACH
@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_is_absent_is_told_or_has_a_meaning(kind, key):
    lender = kind()
    del lender.facts[key]
    if key == "strides" or (key == "version" and kind is CudaInterface):
        assert lend.view(lender).shape == (2, 3)
    else:
        with pytest.raises(LendError, match=key):
            lend.view(lender)

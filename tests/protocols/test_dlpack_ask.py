"""What lend asks of a `__dlpack__` producer, and what it makes of the answers, polite or not (ASK-2 to ASK-13)."""

import struct
import warnings

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, NotLendable
from support import counting
from support.counting import CountingDLPack
from support.names import plain_repr, plain_str
from support.producers import CopyIgnored, DeviceRaises, Gives, NoKeywords, Raises, StreamOnly

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


def test_a_version_is_asked_for_first_and_nothing_that_is_a_default():
    producer = CountingDLPack(FLOATS, (4,))
    lend.view(producer)
    assert producer.asked == [{"max_version": (1, 3)}]


@pytest.mark.parametrize("kind", [StreamOnly, NoKeywords])
@pytest.mark.parametrize("copy", [None, False, True])
def test_an_old_signature_is_asked_once_more_without_a_version(kind, copy):
    producer = kind(FLOATS, (4,))
    view = lend.view(producer, copy=copy)
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert (view.ptr == producer.address) is (copy is not True)
    assert len(producer.asked) == 1
    del view
    assert producer.audit() == []


@pytest.mark.parametrize("kind", [StreamOnly, NoKeywords, CopyIgnored, CountingDLPack])
@pytest.mark.parametrize("flags", [0, counting.IS_COPIED])
def test_a_copy_is_fresh_whatever_the_producer_makes_of_the_keyword(kind, flags):
    producer = kind(FLOATS, (4,), flags=flags, poison=False)
    view = lend.view(producer, copy=True)
    producer.write(0, struct.pack("f", 55.0))
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert (view.readonly, view.ptr % 64) == (False, 0)


@pytest.mark.parametrize("kind", [StreamOnly, NoKeywords, CopyIgnored, CountingDLPack])
@pytest.mark.parametrize("copy", [None, False])
def test_no_copy_is_made_that_was_not_asked_for(kind, copy):
    producer = kind(FLOATS, (4,))
    assert lend.view(producer, copy=copy).ptr == producer.address


ERRORS = [
    TypeError("inner: bad stride type"),
    ValueError("not contiguous"),
    RuntimeError("sparse"),
    BufferError("on another device"),
    AttributeError("no storage"),
    NotImplementedError("nested"),
    LookupError("gone"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("kind", [Raises, DeviceRaises])
def test_an_exception_of_the_producer_becomes_ours_with_its_text_and_its_cause(kind, error):
    producer = type("Failing", (kind,), {"error": error})(FLOATS, (4,))
    with pytest.raises(LendError, match=str(error)) as caught:
        lend.view(producer)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_producer_that_fails_inside_is_asked_once(error):
    producer = type("Failing", (Raises,), {"error": error})(FLOATS, (4,))
    with pytest.raises(LendError):
        lend.view(producer)
    assert len(producer.asked) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, RecursionError])
@pytest.mark.parametrize("kind", [Raises, DeviceRaises])
def test_what_must_not_be_caught_passes(kind, error):
    producer = type("Failing", (kind,), {"error": error})(FLOATS, (4,))
    with pytest.raises(error) as caught:
        lend.view(producer)
    assert type(caught.value) is error


def test_when_both_calls_fail_the_error_of_the_one_that_ran_is_the_cause():
    class Two(CountingDLPack):
        def __dlpack__(self, stream=None):
            raise RuntimeError("second")

    with pytest.raises(LendError) as caught:
        lend.view(Two(FLOATS, (4,)))
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_when_neither_call_fits_the_signature_the_first_error_is_the_cause():
    class Neither(CountingDLPack):
        def __dlpack__(self, needed):
            raise AssertionError

    with pytest.raises(LendError, match="max_version") as caught:
        lend.view(Neither(FLOATS, (4,)))
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_refused_signature_is_retried_once_only():
    class Never(CountingDLPack):
        calls = 0

        def __getattribute__(self, name):
            if name == "__dlpack__":
                type(self).calls += 1
            return super().__getattribute__(name)

        def __dlpack__(self, needed):
            raise AssertionError

    producer = Never(FLOATS, (4,))
    with pytest.raises(LendError):
        lend.view(producer)
    assert Never.calls <= 2


GARBAGE = [None, 0, "dltensor", b"dltensor", object(), [], (1, 2), NotImplemented, memoryview(b"1")]


@pytest.mark.parametrize("answer", GARBAGE, ids=plain_repr)
def test_an_answer_that_is_no_capsule_is_refused_naming_its_type(answer):
    with pytest.raises(LendError, match=type(answer).__name__):
        lend.view(Gives(answer))


def test_a_capsule_of_another_name_is_refused_naming_it():
    import datetime

    with pytest.raises(LendError, match="datetime"):
        lend.view(Gives(datetime.datetime_CAPI))


@pytest.mark.parametrize(
    "device", [None, (), (1,), 1, "cpu", (None, 0), ("cpu", 0), (1.5, 0), object()], ids=plain_repr
)
def test_a_device_that_is_no_pair_of_integers_is_refused_or_checked(device):
    producer = CountingDLPack(FLOATS, (4,))
    producer.announced = device
    try:
        view = lend.view(producer)
    except LendError as error:
        assert "__dlpack_device__" in str(error)
    else:
        assert view.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_device_may_be_an_enum_member():
    import enum

    producer = CountingDLPack(FLOATS, (4,))
    producer.announced = (enum.IntEnum("Kind", {"CPU": 1}).CPU, 0)
    assert lend.view(producer).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("announced", "device"), [((2, 0), (1, 0)), ((1, 0), (2, 0)), ((13, 0), (3, 0))], ids=plain_str
)
def test_a_capsule_on_another_device_than_announced_is_refused_unconsumed(announced, device):
    producer = CountingDLPack(FLOATS, (4,), device=device, keep=True)
    producer.announced = announced
    with pytest.raises(LendError, match="device"):
        lend.view(producer)
    assert set(producer.names) <= set(counting.UNUSED)
    assert producer.deleted_by_consumer == 0


@pytest.mark.parametrize("version", [(0, 9), (2, 0), (2**32 - 1, 0)], ids=plain_str)
def test_another_major_version_is_refused_unconsumed_naming_both(version):
    producer = CountingDLPack(FLOATS, (4,), version=version, keep=True)
    with pytest.raises(MalformedDescriptor, match=rf"(?s)(?=.*\b{version[0]}\b)(?=.*\b1\b)"):
        lend.view(producer)
    assert producer.names == ["dltensor_versioned"] * producer.made
    assert producer.deleted_by_consumer == 0


def test_a_version_that_is_accepted_and_ignored_is_no_error():
    producer = CountingDLPack(FLOATS, (4,), protocol="legacy")
    view = lend.view(producer)
    assert (view.readonly, view.tolist()) == (True, [0.0, 1.0, 2.0, 3.0])


def test_no_warning_of_a_producer_about_unversioned_capsules_reaches_the_user():
    class Warns(CountingDLPack):
        def __dlpack__(self, **keywords):
            if "max_version" not in keywords:
                warnings.warn("unversioned", DeprecationWarning, stacklevel=2)
            return super().__dlpack__(**keywords)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lend.view(Warns(FLOATS, (4,))).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "obj", [object(), None, 3, 2.5, "text", [1, 2], {"a": 1}, range(3), type, lambda: 0], ids=plain_repr
)
@pytest.mark.parametrize("take", [lend.view, lend.buffer])
def test_what_has_no_memory_to_lend_is_refused_with_the_remedy(take, obj):
    with pytest.raises(NotLendable, match=r"(?m)^  try ") as caught:
        take(obj)
    assert isinstance(caught.value, TypeError)
    assert type(obj).__name__ in str(caught.value)


class Announces:
    """Announces a device in its own way, and gives a tensor on the host."""

    def __init__(self, answer):
        self.answer = answer

    def __dlpack_device__(self):
        return self.answer

    def __dlpack__(self, **keywords):
        return counting.CountingDLPack(bytes(16), (4,)).__dlpack__(**keywords)


class RaisesAt:
    """Raises where it is looked at: as a number, or as a pair."""

    def __init__(self, error):
        self.error = error

    def __index__(self):
        raise self.error

    def __iter__(self):
        raise self.error


@pytest.mark.parametrize("where", ["the pair", "the number"])
def test_what_an_announcement_raises_is_the_cause_of_a_refusal(where):
    trouble = RaisesAt(KeyError("within"))
    producer = Announces(trouble if where == "the pair" else (trouble, 0))
    with pytest.raises(LendError) as caught:
        lend.view(producer)
    assert caught.value.__cause__ is trouble.error


def test_a_number_is_asked_for_its_value_once():
    class Number:
        asked = 0

        def __index__(self):
            self.asked += 1
            return 1

    number = Number()
    lend.view(Announces((number, 0)))
    assert number.asked == 1


@pytest.mark.parametrize("name", ["__dlpack__", "__dlpack_device__"])
def test_a_method_that_cannot_even_be_looked_up_is_refused_with_its_error_as_the_cause(name):
    class Odd:
        def __dlpack__(self, **keywords):
            raise AssertionError

        def __dlpack_device__(self):
            return 1, 0

    times = []

    def look_up(self):
        times.append(1)
        raise AttributeError("first") if len(times) == 1 else KeyError("second")

    setattr(Odd, name, property(look_up))
    with pytest.raises(LendError):
        lend.view(Odd())


def test_the_reason_of_an_old_producer_is_told_and_not_that_of_its_signature():
    class Old:
        def __dlpack__(self, *, stream=None):
            raise ValueError("the tensor is on loan")

        def __dlpack_device__(self):
            return 1, 0

    with pytest.raises(LendError, match="the tensor is on loan") as caught:
        lend.view(Old())
    assert isinstance(caught.value.__cause__, ValueError)

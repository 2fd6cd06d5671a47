"""What lies, contradicts itself or raises: refused in words, nothing taken, and no process ends of it."""

import pytest

from lend import minimal
from support import children, malformed
from support.corpus.every import TABLES
from support.corpus.minimal import NOT_ITS
from support.counting import UNUSED, CountingBuffer, CountingDLPack
from support.producers import ABSENT, ArrayInterface, Gives, PropertyRaises, Span


@pytest.mark.parametrize("table", [table.name for table in TABLES if table.name not in NOT_ITS])
def test_what_is_wrong_is_refused_and_what_is_odd_is_read_or_refused(table):
    children.run_table("support.corpus.minimal", table)


@pytest.mark.parametrize("protocol", ["legacy", "versioned"])
@pytest.mark.parametrize("name", malformed.TENSORS)
def test_a_refused_capsule_is_not_consumed(protocol, name):
    fields, _ = malformed.TENSORS[name]
    producer = CountingDLPack(64, protocol=protocol, keep=True, **fields)
    with pytest.raises(minimal.Refused):
        minimal.array(producer)
    assert set(producer.names) <= set(UNUSED)
    assert producer.deleted == 0
    producer.capsules.clear()
    assert producer.audit() == []


@pytest.mark.parametrize("name", malformed.VERSIONED)
def test_a_capsule_of_another_version_is_not_consumed(name):
    fields, _ = malformed.VERSIONED[name]
    producer = CountingDLPack(64, protocol="versioned", keep=True, **fields)
    with pytest.raises(minimal.Refused, match="DLPack"):
        minimal.array(producer)
    assert producer.names == ["dltensor_versioned"]


MEMORY, GOOD, INTERFACES = malformed.interfaces()


def interface(**facts):
    lender = ArrayInterface(bytes(64), (4,), "<f4")
    lender.facts = {key: value for key, value in facts.items() if value is not ABSENT}
    return lender


@pytest.mark.parametrize("name", INTERFACES)
def test_an_interface_that_lies_is_refused(name):
    changes, _ = INTERFACES[name]
    with pytest.raises(minimal.Refused, match="by_interface: "):
        minimal.array(interface(**GOOD | changes))


class Evil:
    """Whatever is asked of it raises."""

    def __init__(self, error):
        self.error = error

    def answers(self, *rest):
        raise self.error

    __index__ = __int__ = __len__ = __iter__ = __getitem__ = __bool__ = __eq__ = __hash__ = answers


class Size(int):
    """A number with methods of its own, none of which tells the truth."""

    def __index__(self):
        return 2**40

    def __mul__(self, other):
        return 0

    __rmul__ = __sub__ = __add__ = __mul__

    def __gt__(self, other):
        return False

    __lt__ = __eq__ = __gt__
    __hash__ = int.__hash__


class Word(str):
    """A text with methods of its own."""

    __slots__ = ()

    def __getitem__(self, at):
        return "f"

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Pair(tuple):
    """A tuple that has another length than it says."""

    __slots__ = ()

    def __len__(self):
        return 1

    def __iter__(self):
        return iter((2**40,))


LIES = {
    "an extent with methods": {"shape": (Size(4),)},
    "a shape with methods": {"shape": Pair((4,))},
    "a shape that raises": {"shape": (Evil(RuntimeError("no")),)},
    "a stride that raises": {"strides": (Evil(ZeroDivisionError("no")),)},
    "a shape that is evil": {"shape": Evil(RuntimeError("no"))},
    "a typestr with methods": {"typestr": Word("<f4")},
    "a typestr that raises": {"typestr": Evil(RuntimeError("no"))},
    "data that raises": {"data": (Evil(RuntimeError("no")), False)},
    "readonly that raises": {"data": (MEMORY.address, Evil(RuntimeError("no")))},
    "data that is evil": {"data": Evil(RuntimeError("no"))},
    "an offset that raises": {"data": bytearray(64), "offset": Evil(RuntimeError("no"))},
    "a mask that raises": {"mask": Evil(RuntimeError("no"))},
}


@pytest.mark.parametrize("name", LIES)
def test_numbers_and_texts_with_methods_of_their_own_are_taken_at_their_word_or_refused(name):
    try:
        taken = minimal.array(interface(**GOOD | LIES[name]))
    except minimal.Refused:
        return
    assert all(type(number) is int for number in (*taken.shape, *taken.strides, taken.ptr, taken.nbytes))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError("none"), RecursionError("deep"), SystemExit(3)])
def test_what_is_no_answer_of_a_producer_passes(error):
    for lender in (PropertyRaises(error, "__array_interface__"), PropertyRaises(error, "ptr")):
        with pytest.raises(type(error)):
            minimal.array(lender)


@pytest.mark.parametrize(
    "answer", [None, 5, b"ab", object, Gives(None), Evil(RuntimeError("no"))], ids=lambda answer: type(answer).__name__
)
def test_a_dlpack_method_that_gives_something_else_is_refused(answer):
    with pytest.raises(minimal.Refused, match="by_dlpack"):
        minimal.array(Gives(answer))


@pytest.mark.parametrize("fields", [{"ptr": 0}, {"ptr": -8}, {"ptr": 2**64 - 1}, {"size": -1}, {"size": 2**70}])
def test_a_pointer_and_a_size_that_cannot_be_true_are_refused(fields):
    with pytest.raises(minimal.Refused, match="by_pointer"):
        minimal.array(with_fields(Span(bytes(64)), **fields))


def with_fields(obj, **fields):
    vars(obj).update(fields)
    return obj


def test_a_type_error_from_within_dlpack_is_not_asked_again():
    class Fails(CountingDLPack):
        def __dlpack__(self, **keywords):
            self.asked.append(keywords)
            return len(5)

    lender = Fails(64, (4,))
    with pytest.raises(minimal.Refused, match="len"):
        minimal.array(lender)
    assert len(lender.asked) == 1


def test_an_exporter_that_refuses_without_a_reason_ends_in_an_exception():
    snippet = """
        from lend import minimal
        from support.counting import CarelessBuffer
        source = CarelessBuffer(bytes(8))
        source.silent = 1
        for _ in range(100):
            try:
                minimal.array(source)
            except (minimal.Refused, SystemError):
                pass
            else:
                raise AssertionError
        source.silent, source.nameless = 0, 1
        taken = minimal.array(source)
        assert taken.tolist() == [0] * 8
    """
    assert children.run_clean(snippet) == ""


def test_a_refusal_names_the_type_and_what_each_protocol_said():
    with pytest.raises(minimal.Refused) as caught:
        minimal.array(CountingDLPack(64, (4,), dtype=(99, 32, 1)))
    text = str(caught.value)
    assert "support.counting.CountingDLPack is not lent as an array: by_dlpack: " in text
    assert "(code 99, bits 32, lanes 1)" in text


def test_a_refusal_is_a_buffer_error_and_a_type_error():
    with pytest.raises(TypeError):
        minimal.array(5)
    with pytest.raises(BufferError):
        minimal.buffer(CountingBuffer(16, format="d", itemsize=8, lie={"ndim": -1}))

"""What is said when Arrow data is refused; `lender` is the class of the producer, None of a bare capsule."""

from lend.errors import LendError, MalformedDescriptor, NotLendable, UnsupportedType
from lend.protocols.classes import full_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

DESCRIBE = "the producer's library, which should mend it: what it says contradicts the Arrow C data interface"
_CAPSULES = {
    "arrow_schema": "the type",
    "arrow_array": "the array",
    "arrow_array_stream": "the stream",
    "arrow_device_array": "the array",
    "arrow_device_array_stream": "the stream",
}


def _name(lender: "type | None") -> str:
    return "an Arrow capsule" if lender is None else full_name(lender)


def producer_failed(lender: "type", method: str, error: BaseException) -> LendError:
    if isinstance(error, LendError):
        return type(error)(str(error))
    return NotLendable.from_producer(
        error, f"{full_name(lender)} refused {method}()", door=f"{method}()", came=full_name(lender)
    )


def bad_answer(lender: "type", method: str, wanted: str, got: "Any") -> LendError:
    return MalformedDescriptor.build(
        f"{method}() of {full_name(lender)} answered {full_name(type(got))}, not {wanted}",
        came=full_name(lender),
        remedy=DESCRIBE,
    )


def capsule_name(lender: "type | None", wanted: str, got: "Any") -> LendError:
    return MalformedDescriptor.build(
        f"{_CAPSULES[wanted]} is not in a capsule named {wanted!r}",
        wanted=f"a capsule named {wanted!r}",
        came=f"{_shown(got)} from {_name(lender)}",
        remedy="what x.__arrow_c_array__(), x.__arrow_c_stream__() or their like for devices give, or x itself",
    )


def _shown(got: "Any") -> str:
    return repr(got)[:80] if full_name(type(got)) == "PyCapsule" else full_name(type(got))


def consumed(lender: "type | None", capsule: str) -> LendError:
    return MalformedDescriptor.build(
        f"{_CAPSULES[capsule]} of this Arrow capsule was already consumed: its memory belongs to whoever took it first",
        came=f"a capsule named {capsule!r} from {_name(lender)}",
        remedy="ask the producer for a new one, or pass the producer itself",
    )


# DLPack's codes that Arrow's device interface has, too, and the two that came since
_DEVICES = frozenset((1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18))
_BY_HANDLE = frozenset((4, 7, 8, 15))
_HOST = frozenset((1, 3, 11, 13))


def check_device(lender: "type | None", device_type: int, device_id: int, has_event: bool, odd: bool) -> None:
    """Refuse what no device array says, or what lend cannot keep."""
    from lend.device import Device

    came = _name(lender)
    wrong = None
    if device_type not in _DEVICES:
        wrong = f"its device type is {device_type}, which is none of Arrow's, or not that of its stream"
    elif odd:
        wrong = "bytes of it are set that are reserved, and mean nothing yet"
    elif device_type == 1 and has_event:
        wrong = "it has an event to wait for, and the host's memory none"
    elif not (-1 if device_type in _HOST else 0) <= device_id < 2**31:
        wrong = f"the number of its device is {device_id}"
    if wrong is not None:
        raise MalformedDescriptor.build(
            f"the device array of {came} cannot be taken: {wrong}", came=came, remedy=DESCRIBE
        )
    device = Device(device_type, device_id if device_type != 1 else None)
    if device_type in _BY_HANDLE:
        raise UnsupportedType.build(
            f"the device array of {came} cannot be taken: memory on {device} has handles in place of addresses",
            came=came,
            remedy="a copy of it in the host's memory, by the library that made it",
        )


def stream_failed(lender: "type | None", errno: int, text: "str | None", what: str) -> LendError:
    import os

    said = f"errno {errno} ({os.strerror(errno)})" if errno else "nothing"
    text = (text or "").strip()
    first = text.partition("\n")[0].partition(". Detail: ")[0]  # behind that pyarrow has its traceback
    return NotLendable.build(
        f"the stream of {_name(lender)} did not give {what}: {first or said}",
        came=_name(lender),
        tried=f"stream -> {said}" + (f": {text}" if text != first else ""),
    )


# by the numbers of arrow_check.pxd: the sentence, of what was told and what was expected
_FAULTS = (
    "",
    "its format is NULL",
    "the format {format!r} is none that lend knows",
    "it is nested deeper than 64 levels",
    "it has {told} children, and its format {format!r} means {expected}",
    "a child of it is NULL",
    "its type was released already",
    "its format {format!r} is that of dictionary indices, which are integers",
    "the entries of a map are structs of a key and a value",
    "run ends are int16, int32 or int64",
    "its format {format!r} does not name a type id, of 0 to 127 and each once, for each child",
    "it was released already",
    "its length is {told}",
    "its offset is {told}",
    "its null_count is {told}, and its length {expected}",
    "it has {told} buffers, and its format {format!r} means {expected}",
    "its list of buffers is NULL",
    "it has {told} children, and its type {expected}",
    "a child of it is NULL",
    "its type has a dictionary, and it has none",
    "it has a dictionary, and its type none",
    "its null_count is {told}, and its bitmap NULL",
    "its buffer {told} is NULL, and has to hold something",
    "its length and offset, {told} in all, take more bytes than there are",
    "it has {told} elements, and what it belongs to needs {expected}",
    "its offsets go from {told} to {expected}",
    "the lengths of its data buffers are missing, or wrong ({told})",
    "its metadata counts {told} pairs, or bytes",
    "more than 1048576 types hang within it",
    "{told} of its run ends are null",
    "its child {told} is another one as well: each is released by itself",
)
_BAD_FORMAT = 2


def malformed(
    lender: "type | None",
    what: int,
    root: "str | None",
    way: "Sequence[str | int]",
    format: "str | None",
    told: int,
    expected: int,
) -> LendError:
    """One that names the column and the field, with what is wrong there."""
    place = _place(root, way)
    fact = _FAULTS[what].format(format="" if format is None else format[:60], told=told, expected=expected)
    made = UnsupportedType if what == _BAD_FORMAT else MalformedDescriptor
    return made.build(
        f"{place} of {_name(lender)} cannot be taken: {fact}",
        came=f"{_name(lender)}, {place}" + ("" if format is None else f", Arrow format {format[:60]!r}"),
        remedy="the other columns, or a cast by its library" if what == _BAD_FORMAT else DESCRIBE,
    )


def _place(root: "str | None", way: "Sequence[str | int]") -> str:
    named = f"column {root!r}" if root else "the array"
    if not way:
        return named
    steps = " > ".join(
        f"child {step}" if isinstance(step, int) else step if step == "its dictionary" else repr(step) for step in way
    )
    return f"field {steps} in {named}"

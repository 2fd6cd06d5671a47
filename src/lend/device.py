"""Where memory lies: `Device`, a pair of DLPack codes with names.

Nothing is imported here (difflib only for an error): this module is on the path of `import lend`.
"""

__all__ = ["Device"]

TYPE_CHECKING = False  # type checkers read it as True; `typing` is not imported at run time
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn, Self

_CPU = 1
_NAMES = {
    1: "cpu",
    2: "cuda",
    3: "cuda_host",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    9: "vpi",
    10: "rocm",
    11: "rocm_host",
    12: "ext_dev",
    13: "cuda_managed",
    14: "oneapi",
    15: "webgpu",
    16: "hexagon",
    17: "maia",
    18: "trn",
}
_CODES = {name: code for code, name in _NAMES.items()}
_UNNAMED = "device type "
_UNTOLD = -1
_LARGEST = 2**31 - 1  # both codes are an int32 in DLPack

# what other libraries call them: for the near matches, not accepted, because "gpu" could be more than one
_ELSEWHERE = {
    "gpu": ("cuda", "rocm"),
    "hip": ("rocm",),
    "host": ("cpu",),
    "managed": ("cuda_managed",),
    "mps": ("metal",),
    "pinned": ("cuda_host", "rocm_host"),
    "sycl": ("oneapi",),
    "xpu": ("oneapi",),
}


def _unknown_name(text: str, name: str) -> ValueError:
    """Make the exception for a text that names no device, with the near ones."""
    near = _ELSEWHERE.get(name.lower())
    if near is None:
        from difflib import get_close_matches

        near = tuple(get_close_matches(name.lower()[:40], _CODES, n=3)) or ("cpu", "cuda:0")
    shown = repr(text) if len(text) <= 60 else repr(text[:60]) + "..."
    return ValueError(f"{shown} names no device; near: {', '.join(near)}")


def _read_text(text: str) -> "tuple[int, int | None]":
    """Read `cpu`, `cuda`, `cuda:1` or `device type 99:1`."""
    name, colon, number = text.partition(":")
    code = _CODES.get(name)
    if code is None:
        unnamed = name.removeprefix(_UNNAMED)
        if unnamed == name or not (unnamed.isascii() and unnamed.isdecimal() and len(unnamed) <= 10):
            raise _unknown_name(text, name)
        code = int(unnamed)
    if not colon:
        return code, None
    if number == "?":
        return code, _UNTOLD
    if not (number.isascii() and number.isdecimal() and len(number) <= 10):
        raise ValueError(
            f"{text[:60]!r} names no device; the number after the colon is 0 or more, as in {name}:0, or ?"
        )
    return code, int(number)


def _read_platform(device: object, name: str) -> int:
    """Read the platform of a device of jax: "gpu" is what its client says that it is of, as jax itself tells it."""
    if name == "gpu":
        version = str(getattr(getattr(device, "client", None), "platform_version", ""))
        name = "rocm" if "rocm" in version and "cuda" not in version else "cuda"
    return _read_text(name)[0]


def _number_of(device: object) -> object:
    """The number of a device of jax in this machine; its `id` counts those of all machines."""
    here = getattr(device, "local_hardware_id", None)
    return getattr(device, "id", None) if here is None else here


def _read_number(number: object, what: str) -> int:
    """Read an int or the member of an enum; True and False are none."""
    number = getattr(number, "value", number)
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"the {what} of a device is an int, not {type(number).__name__}")
    return int(number)


class Device:
    """Name the place where memory lies: the kind of device and its number.

    Immutable, equal and hashed by meaning: all CPUs are one, whatever number a protocol gives them (0 in DLPack, -1 in
    Arrow, None in the dataframe protocol), and their `id` is 0. A Device equals its own text, ``device == "cpu"`` or
    ``"cuda:0"``, and no other (``"cuda"``): equal values have one hash. It unpacks as the pair that
    ``__dlpack_device__`` returns.

    The number may be unknown: an interface that carries a pointer alone does not tell it, and only a driver could. Its
    `id` is then -1 and it is written ``cuda:?``; it equals no device whose number is known, and what needs a number (a
    DLPack capsule) is refused rather than guessed.

    Whether the host may read memory on a device is a question to the memory (of pinned and managed memory it may, once
    its work is done); `is_host` only knows the CPU.

    Parameters
    ----------
    type : Device, str, int, enum member, pair, or a device of torch or jax
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``; a DLPack code such as 2; ``(2, 1)`` as ``__dlpack_device__`` returns it; or
        an object with a ``type`` that is such a name and an ``index`` (torch), or a ``platform`` and an ``id`` (jax).
    id : int, optional
        The number of the device; 0 if it is told nowhere.

    Attributes
    ----------
    type : int
        The DLPack code of the kind.
    id : int
        The number of the device; 0 for the CPU, -1 where it is not known.

    Raises
    ------
    ValueError
        The text names no device (the message has the near ones), or a number is out of range.
    TypeError
        It is no device at all.

    Examples
    --------
    >>> from lend.device import Device
    >>> Device("cuda")
    Device('cuda:0')
    >>> kind, number = Device((2, 1))
    >>> kind, number
    (2, 1)
    >>> Device("cpu") == Device((1, -1))
    True
    >>> str(Device("cuda:1")), Device("cuda:1").name
    ('cuda:1', 'cuda')
    >>> Device("cuda:?"), Device("cuda:?") == Device("cuda:0")
    (Device('cuda:?'), False)
    """

    __slots__ = ("id", "type")

    type: int
    id: int

    def __init__(self, type: object, id: "int | None" = None) -> None:
        place, told = type, id
        if isinstance(place, (tuple, list)):
            if len(place) != 2 or told is not None:
                raise ValueError(f"a device is one pair (type, id), not {place!r:.60}")
            place, told = place
        found: Any = None
        if isinstance(place, Device):
            code, found = place.type, place.id
        elif isinstance(place, str):
            code, found = _read_text(place)
        elif isinstance(kind := getattr(place, "type", None), str):  # torch.device
            code, found = _read_text(kind)[0], getattr(place, "index", None)
        elif isinstance(kind := getattr(place, "platform", None), str) and hasattr(place, "id"):  # jax.Device
            code, found = _read_platform(place, kind), _number_of(place)
        else:
            code = _read_number(place, "type")
        if told is not None and found is not None:
            raise ValueError(f"{place!s} has a number already; {told!r:.60} is one too many")
        number = told if found is None else found
        number = 0 if number is None else _read_number(number, "id")
        if not 0 < code <= _LARGEST:
            raise ValueError(f"a device type is one of DLPack's codes, such as 1 (cpu) or 2 (cuda), not {code}")
        if code == _CPU:
            if not -1 <= number <= _LARGEST:
                raise ValueError(f"the id of a CPU is 0, or -1 in Arrow, not {number}")
            number = 0
        elif not _UNTOLD <= number <= _LARGEST:
            kind = _NAMES.get(code, "device")
            raise ValueError(f"the id of a {kind} device is 0 or more, or -1 where it is not known, not {number}")
        object.__setattr__(self, "type", code)
        object.__setattr__(self, "id", number)

    @property
    def name(self) -> str:
        """The name of the kind, without the number: ``"cuda"``."""
        return _NAMES.get(self.type) or f"{_UNNAMED}{self.type}"

    @property
    def is_host(self) -> bool:
        """True for the CPU: the one kind of memory of which nothing is asked and nothing waited for."""
        return self.type == 1

    def __iter__(self) -> "Iterator[int]":
        return iter((self.type, self.id))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return str(self) == other if isinstance(other, str) else NotImplemented
        return self.type == other.type and self.id == other.id

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        if self.type == _CPU:
            return self.name
        return f"{self.name}:{'?' if self.id == _UNTOLD else self.id}"

    def __repr__(self) -> str:
        return f"Device('{self}')"

    def __setattr__(self, name: str, value: object) -> "NoReturn":
        raise AttributeError(f"a Device is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> "NoReturn":
        raise AttributeError(f"a Device is immutable; cannot delete {name!r}")

    def __copy__(self) -> "Self":
        return self

    def __deepcopy__(self, memo: object) -> "Self":
        return self

    def __reduce__(self) -> "tuple[object, ...]":
        return (Device, (self.type, self.id))

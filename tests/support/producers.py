"""Producers that show one protocol and nothing else, well-behaved ones and hostile ones.

What `support.counting` has with counters is here in its plain form, and with every way of behaving badly that a class
written in Python can have.
"""

import ctypes
import functools

from . import counting


class Only:
    """Wraps `obj` and shows the attributes named, and no other door of it: `Only(ndarray, "__array_interface__")`."""

    def __init__(self, obj, *names):
        self.obj, self.names, self.reads = obj, names, []

    def __getattr__(self, name):
        if name in self.__dict__.get("names", ()):
            self.reads.append(name)
            return getattr(self.obj, name)
        raise AttributeError(name)


def only_dlpack(obj):
    """`obj` with `__dlpack__` and `__dlpack_device__` on the type, as consumers look there."""
    return type(
        "OnlyDLPack",
        (),
        {
            "__dlpack__": lambda self, **keywords: obj.__dlpack__(**keywords),
            "__dlpack_device__": lambda self: obj.__dlpack_device__(),
        },
    )()


@functools.cache
def bytes_of(length):
    """The class of so many bytes: kept, as ctypes would make a new one each time, with cycles of its own."""
    return ctypes.c_ubyte * length


class Memory:
    """Host memory at a known address, filled with `data`; overwritten when it goes."""

    def __init__(self, data):
        self.array = bytes_of(max(len(data), 1)).from_buffer_copy(data or b"\0")
        self.nbytes = len(data)
        self.address = ctypes.addressof(self.array)

    def __bytes__(self):
        return bytes(self.array)[: self.nbytes]

    def write(self, offset, data):
        """Change bytes in place."""
        ctypes.memmove(self.address + offset, data, len(data))

    def __del__(self, memset=ctypes.memset, poison=counting.POISON):
        memset(self.address, poison, self.nbytes)  # bound early: at exit the module may be empty already


class ArrayInterface:
    """`__array_interface__` alone. Keywords replace keys of the dict; a value of `ABSENT` removes one."""

    def __init__(self, source, shape, typestr, *, readonly=False, **changed):
        self.memory = Memory(source)
        self.reads = 0
        facts = {"version": 3, "shape": shape, "typestr": typestr, "data": (self.memory.address, readonly)} | changed
        self.facts = {key: value for key, value in facts.items() if value is not ABSENT}

    @property
    def __array_interface__(self):
        self.reads += 1
        return self.facts


ABSENT = object()


class ArrayStruct:
    """`__array_struct__` alone: a new capsule for each read, which owns its memory. `.gone` counts those freed."""

    def __init__(self, source, shape, **facts):
        self.arguments, self.facts, self.gone, self.reads = (source, shape), facts, 0, 0

    def _count(self):
        self.gone += 1

    @property
    def __array_struct__(self):
        self.reads += 1
        return counting.array_struct(*self.arguments, on_gone=self._count, **self.facts)


class ArrayMethod:
    """`__array__` alone, giving `array`; the keywords of every call are kept."""

    def __init__(self, array):
        self.array, self.asked = array, []

    def __array__(self, dtype=None, copy=None):
        self.asked.append({"dtype": dtype, "copy": copy})
        return self.array


class Span:
    """A pointer and a size, the Buffer of dataframe-api#39, under the names of one's choice."""

    def __init__(self, data, *, ptr="ptr", size="size", **changed):
        self.memory = Memory(data)
        setattr(self, ptr, self.memory.address)
        setattr(self, size, len(data))
        self.__dict__.update(changed)


class StreamOnly(counting.CountingDLPack):
    """DLPack as it was written before 2023: `stream` is the only keyword known."""

    def __dlpack__(self, stream=None):
        self.asked.append({"stream": stream})
        return self.capsule(self.protocol == "versioned")


class NoKeywords(counting.CountingDLPack):
    """`__dlpack__` that takes nothing, as pandas writes it."""

    def __dlpack__(self):
        self.asked.append({})
        return self.capsule(False)


class CopyIgnored(counting.CountingDLPack):
    """Takes `copy=True` and gives its own memory all the same, with IS_COPIED if `flags` says so."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append({"copy": copy, "max_version": max_version})
        return self.capsule(max_version is not None)


class Raises(counting.CountingDLPack):
    """Every call of `__dlpack__` raises `error` from inside."""

    error = RuntimeError("the tensor is not ready")

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        raise self.error


class DeviceRaises(counting.CountingDLPack):
    """`__dlpack_device__` raises `error` from inside."""

    error = RuntimeError("no device yet")

    def __dlpack_device__(self):
        raise self.error


class Gives:
    """`__dlpack__` gives `answer`, `__dlpack_device__` gives `device`, whatever they are."""

    def __init__(self, answer, device=(1, 0)):
        self.answer, self.device = answer, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        return self.answer


class PropertyRaises:
    """Reading any protocol attribute that is named raises `error`."""

    def __init__(self, error, *names):
        self.error, self.hidden = error, names

    def __getattr__(self, name):
        if name in self.__dict__.get("hidden", ()):
            raise self.error
        raise AttributeError(name)


class AnswersEverything:
    """Has every attribute there is, as mocks and lazy proxies have, and none that means anything."""

    def __getattr__(self, name):
        return AnswersEverything()

    def __call__(self, *args, **keywords):
        return AnswersEverything()

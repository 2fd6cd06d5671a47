"""For a child with the double: every way in which the host may come to memory that lend shows, and what it saw.

Each way returns bytes. `tried` begins work on the memory before each, and says "right", "stale", "refused" or what else
came of it; so a way that does not wait, copies by the driver or leaves another context current is told by its name.
"""

import copy
import ctypes
import pickle
import struct

import numpy as np

import lend
import lend.capi
from lend.errors import NotHostAccessible
from support import counting
from support.fakecuda import fake

HOST = (1, 0)
BEGINNING = ("cuInit", "cuCtxCreate", "cuCtxSetCurrent")  # calls that lend makes in no case
COUNT = 4
SIZE = 4 * COUNT


class FromHost:
    """One door of the host alone, as what somebody else holds who asked an object of lend's for it."""

    def __init__(self, obj, **options):
        self.obj, self.options = obj, options

    def __dlpack__(self, **asked):
        return self.obj.__dlpack__(max_version=(1, 1), **self.options)

    def __dlpack_device__(self):
        return HOST


class OfStruct:
    def __init__(self, obj):
        self.__array_struct__ = obj.__array_struct__


def numbers(values):
    return struct.pack(f"<{len(values)}I", *values)


def at(facts):
    """What an array interface leads to."""
    return ctypes.string_at(facts["data"][0], SIZE)


def held(obj, flags):
    hold = counting.hold(obj, flags)
    try:
        return hold.tobytes()
    finally:
        hold.release()


def by_dlpack(obj, **options):
    return np.from_dlpack(FromHost(obj, **options)).tobytes()


# lend.h through its table, as the header has it

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_table = _pointer(lend.capi.API, b"lend.capi.API")
_ACQUIRE, _BORROW, _HOST_ACCESS = 16, 24, 40
_FOR_HOST = struct.pack("<II4BHHIIiIiiQ", 48, 0, 255, ord("|"), 0, 0, 0, 1, 0, 1, -1, 0, 1, 0, 0)


def _function(place, *arguments):
    address = ctypes.c_void_p.from_address(_table + place).value
    return ctypes.PYFUNCTYPE(ctypes.c_int, *arguments)(address)


def by_lend_h(obj, place=_ACQUIRE, request=_FOR_HOST):
    view = ctypes.create_string_buffer(struct.pack("<II", 1 << 16, 240), 240)
    take = _function(place, ctypes.py_object, ctypes.c_char_p, ctypes.c_void_p)
    take(obj, request, ctypes.addressof(view))
    try:
        if request is None:
            _function(_HOST_ACCESS, ctypes.c_void_p)(ctypes.addressof(view))
        return ctypes.string_at(int.from_bytes(view[8:16], "little"), SIZE)
    finally:
        release = int.from_bytes(view[216:224], "little")
        if release:
            ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(release)(ctypes.addressof(view))


COMMON = {
    "memoryview": lambda x: bytes(memoryview(x)),
    "PyBUF_SIMPLE": lambda x: held(x, counting.SIMPLE),
    "PyBUF_CONTIG_RO": lambda x: held(x, counting.CONTIG_RO),
    "PyBUF_RECORDS_RO, as Cython asks": lambda x: held(x, counting.RECORDS_RO),
    "PyBUF_FULL_RO": lambda x: held(x, counting.FULL_RO),
    "PyBUF_FULL": lambda x: held(x, counting.FULL),
    "PyBUF_F_CONTIGUOUS": lambda x: held(x, counting.F_CONTIGUOUS | counting.FORMAT),
    "bytearray": lambda x: bytes(bytearray(x)),
    "np.asarray": lambda x: np.asarray(x).tobytes(),
    "np.array": lambda x: np.array(x).tobytes(),
    "np.frombuffer": lambda x: np.frombuffer(x, "<u4").tobytes(),
    "np.from_dlpack on the cpu": lambda x: np.from_dlpack(x, device="cpu").tobytes(),
    "__array__": lambda x: x.__array__().tobytes(),
    "__array_interface__": lambda x: at(x.__array_interface__),
    "__array_struct__": lambda x: np.asarray(OfStruct(x)).tobytes(),
    "__dlpack__ for the host": lambda x: by_dlpack(x, dl_device=HOST),
    "__dlpack__ for the host, no copy": lambda x: by_dlpack(x, dl_device=HOST, copy=False),
    "__dlpack__ for the host, a copy": lambda x: by_dlpack(x, dl_device=HOST, copy=True),
    "copy.deepcopy": lambda x: copy.deepcopy(x).tobytes(),
    "copy.copy": lambda x: copy.copy(x).tobytes(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x, 5)).tobytes(),
    "pickle, of old": lambda x: pickle.loads(pickle.dumps(x, 2)).tobytes(),
    "tobytes": lambda x: x.tobytes(),
    "to numpy": lambda x: lend.to(x, "numpy").tobytes(),
    "to memoryview": lambda x: bytes(lend.to(x, "memoryview")),
    "to bytes": lambda x: bytes(lend.to(x, bytes)),
    "to numpy on the cpu, no copy": lambda x: lend.to(x, "numpy", device="cpu", copy=False).tobytes(),
    "view on the cpu, no copy": lambda x: lend.view(x, device="cpu", copy=False).tobytes(),
    "lend.h": by_lend_h,
    "lend.h, borrowed": lambda x: by_lend_h(x, _BORROW),
    "lend.h, asked afterwards": lambda x: by_lend_h(x, _ACQUIRE, None),
}
VIEW = COMMON | {
    "tolist": lambda x: numbers(x.tolist()),
    "item": lambda x: numbers([x.item(i) for i in range(COUNT)]),
    "iteration": lambda x: numbers([int(each) for each in x]),
    "int": lambda x: numbers([int(x[i]) for i in range(COUNT)]),
    "float": lambda x: numbers([int(float(x[i])) for i in range(COUNT)]),
    "complex": lambda x: numbers([int(complex(x[i]).real) for i in range(COUNT)]),
    "bool": lambda x: x.tobytes() if all(bool(x[i : i + 1].reshape(())) for i in range(COUNT)) else b"",
    "bytes": bytes,
    "copy": lambda x: x.copy().tobytes(),
    "copy in order F": lambda x: x.reshape(2, 2).copy("F").tobytes(),
    "copy=True": lambda x: lend.view(x, copy=True, align=4096).tobytes(),
    "bytes in order F": lambda x: x.reshape(2, 2).T.tobytes("F"),
    "the buffer": lambda x: bytes(memoryview(x.buffer)),
    "reinterpreted": lambda x: x.reinterpret("uint8").tobytes(),
    "backwards": lambda x: numbers(x[::-1].tolist()[::-1]),
    "every other": lambda x: np.stack([np.asarray(x[::2]), np.asarray(x[1::2])], axis=1).tobytes(),
    "low, checked": lambda x: numbers(x.low("uint16", check=True).tolist()),
    "to list": lambda x: numbers(lend.to(x, list)),
    "to a callable on the cpu": lambda x: lend.to(x, lambda given: given.tobytes(), device="cpu", copy=False),
    "in another byte order": lambda x: np.asarray(lend.view(x, dtype=">u4", copy=True)).byteswap().tobytes(),
}
BUFFER = COMMON | {
    "bytes": bytes,
    "a typed view": lambda x: numbers(x.view("uint32").tolist()),
    "a slice": lambda x: bytes(x[:8]) + x[8:].tobytes(),
}
COLUMN = {
    "tolist": lambda x: numbers(x.tolist()),
    "item": lambda x: numbers([x.item(i) for i in range(COUNT)]),
    "iteration": lambda x: numbers(list(x)),
    "a slice": lambda x: numbers(x[:2].tolist() + x[2:].tolist()),
    "array_interface": lambda x: at(x.array_interface().__array_interface__),
    "__array_interface__": lambda x: at(x.__array_interface__),
    "__array__": lambda x: x.__array__().tobytes(),
    "np.asarray": lambda x: np.asarray(x).tobytes(),
    "__dlpack__ for the host": lambda x: by_dlpack(x, dl_device=HOST),
    "__arrow_c_array__": lambda x: numbers(lend.column(x.__arrow_c_array__()).tolist()),
    "__arrow_c_stream__": lambda x: numbers(lend.column(x.__arrow_c_stream__()).tolist()),
    "__dataframe__": lambda x: numbers(lend.table(lend.table({"a": x}).__dataframe__())["a"].tolist()),
    "view": lambda x: numbers(x.view().tolist()),
    "buffers": lambda x: bytes(memoryview(x.buffers["data"])),
    "to numpy": lambda x: lend.to(x, "numpy").tobytes(),
    "to memoryview": lambda x: bytes(lend.to(x, "memoryview")),
    "to list": lambda x: numbers(lend.to(x, list)),
    "verify": lambda x: x.verify(full=True) or numbers(x.tolist()),
    "null_count": lambda x: numbers(x.tolist()) if x.null_count == 0 else b"",
    "a table": lambda x: numbers(lend.table({"a": x})["a"].tolist()),
    "a table's batches": lambda x: numbers(next(iter(lend.table({"a": x}).batches()))["a"].tolist()),
}


def context():
    return fake.depth(), fake.current() if fake.depth() else None, fake.refs(0), fake.refs(1)


def tried(ways, make, begin):
    """What came of each way: `make()` gives an object of lend's, `begin(data)` queues other data for its memory."""
    found, last = {}, [1, 2, 3, 4]
    for name, way in ways.items():
        before, last = last, [each + COUNT for each in last]
        begin(numbers(last))
        fake.reset()
        here = context()
        found[name] = _outcome(way, make, numbers(last), numbers(before))
        if fake.copies():
            found[name] += f", {fake.copies()} copies by the driver"
        if context() != here:
            found[name] += f", context {context()} and not {here}"
        if any(map(fake.calls, BEGINNING)):
            found[name] += ", the driver was begun"
    return found


def _outcome(way, make, new, old):
    try:
        seen = way(make())
    except NotHostAccessible:
        return "refused"
    except AttributeError:
        return "hidden"
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return "right" if seen == new else "stale" if seen == old else f"{seen!r}"


def told(found):
    """The outcomes that were not the usual one, by name; and the usual one."""
    usual = max(set(found.values()), key=list(found.values()).count)
    return usual, {name: outcome for name, outcome in found.items() if outcome != usual}

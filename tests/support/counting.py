"""Producers and consumers that keep books, made of compiled code.

Producers: `CountingBuffer` (buffer protocol), `CountingDLPack` (`__dlpack__`), `CountingExchange` (the C exchange API).
`CarelessBuffer(source)` has an export count (`.live`) and ignores it: `.resize(n)` moves its memory at any time. With
`.nameless = 1` its Py_buffer does not say whose it is, with `.silent = 1` it refuses without setting an exception.
All own their memory and overwrite it with 0xDD when the last loan is back, so that a late read has a wrong value.
Consumers: `hold` and `getbuffer`, `consume`, `exchange_take` and the other `exchange_` functions.
"""

import gc
import types

from . import build

_compiled = build.load()

CarelessBuffer = _compiled.CarelessBuffer
TensorSource = _compiled.TensorSource
Taken = _compiled.Taken
capsule_fields = _compiled.capsule_fields
capsule_name = _compiled.capsule_name
consume = _compiled.consume
exchange_table = _compiled.exchange_table
exchange_facts = _compiled.exchange_facts
exchange_take = _compiled.exchange_take
exchange_borrow = _compiled.exchange_borrow
exchange_give = _compiled.exchange_give
exchange_stream = _compiled.exchange_stream
exchange_allocate = _compiled.exchange_allocate
array_struct = _compiled.array_struct

POISON = 0xDD
REMEMBERED = 256  # calls of one producer
UNUSED = ("dltensor", "dltensor_versioned")

# dlpack flags
READ_ONLY = 1
IS_COPIED = 2

# getbuffer flags
SIMPLE, WRITABLE, FORMAT, ND, STRIDES = 0x0, 0x1, 0x4, 0x8, 0x18
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, INDIRECT = 0x38, 0x58, 0x98, 0x118
CONTIG, CONTIG_RO, STRIDED, STRIDED_RO = 0x9, 0x8, 0x19, 0x18
RECORDS, RECORDS_RO, FULL, FULL_RO = 0x1D, 0x1C, 0x11D, 0x11C


class CountingBuffer(_compiled.CountingBuffer):
    """An exporter with counters, of its own memory (a copy of `source`, or so many zero bytes).

    Keywords: readonly, format (None: no format), itemsize, shape, strides and offset (bytes), poison, fill_info (the
    Py_buffer points into itself, as `PyBuffer_FillInfo` makes it), on_get(flags) and on_release() called in between,
    lie: {field of the Py_buffer: other value}.
    """

    live = property(lambda self: self.books["live"], doc="open exports")
    gets = property(lambda self: self.books["gets"], doc="exports given")
    releases = property(lambda self: self.books["releases"], doc="exports taken back")
    refused = property(lambda self: self.books["refused"], doc="requests refused")
    asked = property(lambda self: self.books["asked"], doc="the flags of the first 256 requests")

    def audit(self):
        """What went wrong so far, as a list of sentences: empty is right. Open exports are wrong, too."""
        books = self.books
        wrong = [f"{books[key]} releases were {key}" for key in ("unknown", "altered", "pending") if books[key]]
        if books["live"] or books["gets"] != books["releases"]:
            wrong.append(f"{books['gets']} exports, {books['releases']} releases")
        return wrong


class _Counting:
    """The books of a tensor producer by name, and their audit."""

    made = property(lambda self: self.books["made"], doc="tensors handed out")
    deleted = property(lambda self: self.books["deleted"], doc="deleter calls, whoever made them")
    live = property(lambda self: self.made - self.deleted, doc="tensors out")

    @property
    def deleted_by_consumer(self):
        """Deleter calls that did not come from the destructor of an unused capsule."""
        return self.books["deleted"] - self.books["deleted_by_capsule"]

    def audit(self):
        """What went wrong so far, as a list of sentences: empty is right. Living tensors are wrong, too."""
        books = self.books
        wrong = []
        if books["twice"]:
            wrong.append(f"{books['twice']} second deleter calls")
        if books["pending"]:
            wrong.append(f"{books['pending']} deleter calls with an exception set")
        if books["made"] != books["deleted"]:
            wrong.append(f"{books['made']} tensors, {books['deleted']} deleted")
        return wrong


class CountingDLPack(_Counting, TensorSource):
    """A `__dlpack__` producer with counters and a C deleter; every field is free, also to be nonsense.

    Parameters: source (bytes or a size), shape, and by keyword strides (elements; None: the capsule has none), dtype
    (code, bits, lanes), device, byte_offset, flags, version, ndim (another than len(shape)), data (an address, 0 for
    NULL), null_shape, null_deleter, poison, quarantine (False: deleted tensors are freed at once).
    By `protocol=`: "newest" answers max_version, "legacy" and "versioned" always give that kind; `keep=True` keeps
    every capsule in `.capsules`, so that its name can be looked at.
    """

    def __new__(cls, *args, protocol="newest", keep=False, **keywords):
        self = TensorSource.__new__(cls)
        self.protocol, self.keep, self.capsules, self.asked = protocol, keep, [], []
        return self

    def __init__(self, source, shape, *, protocol="newest", keep=False, **keywords):
        keywords.setdefault("strides", natural_strides(shape))
        self.announced = keywords.get("device", (1, 0))
        TensorSource.__init__(self, source, shape, **keywords)

    def __dlpack_device__(self):
        return self.announced

    def __dlpack__(self, **keywords):
        if len(self.asked) < REMEMBERED:
            self.asked.append(keywords)
        versioned = self.protocol == "versioned"
        if self.protocol == "newest":
            versioned = (keywords.get("max_version") or (0, 0))[0] >= 1
        capsule = self.capsule(versioned)
        if self.keep:
            self.capsules.append(capsule)
        return capsule

    @property
    def names(self):
        """The names of the capsules kept."""
        return [capsule_name(capsule) for capsule in self.capsules]


class CountingExchange(_Counting, TensorSource):
    """A producer that has the C exchange API and no other door. Parameters as of `CountingDLPack`.

    `failure`: an exception for its functions to raise, "silent" (-1 without an exception) or "null" (0 and nothing).
    """

    __dlpack_c_exchange_api__ = exchange_table()

    def __init__(self, source, shape, **keywords):
        keywords.setdefault("strides", natural_strides(shape))
        TensorSource.__init__(self, source, shape, **keywords)


def natural_strides(shape):
    """Row-major strides in elements."""
    strides, step = [], 1
    for extent in reversed(tuple(shape)):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def hold(obj, flags=FULL_RO):
    """An open Py_buffer of `obj`: `.fields`, `.tobytes()`, `.release()`."""
    return _compiled.Hold(obj, flags)


def getbuffer(obj, flags=FULL_RO):
    """Every field of the Py_buffer that `obj` gives for `flags`, which is released again."""
    held = _compiled.Hold(obj, flags)
    fields = types.SimpleNamespace(**held.fields)
    held.release()
    return fields


def collect():
    """Run the collector until it finds nothing more."""
    while gc.collect():
        pass

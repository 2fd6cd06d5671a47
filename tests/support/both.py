"""The minimal implementation and lend itself behind one face, so that one test asks both and compares.

An `Implementation` takes an object (`take`, `take_bytes`) and gives what it made of it; `facts` says of that what both
have a word for, in one spelling. `REFUSED` is what an implementation that does not lend is said to have answered.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import lend
from lend import minimal
from lend.errors import LendError

REFUSED = "refused"


class Facts(NamedTuple):
    """What a View and an Array say of the memory: addresses and strides in bytes, the device as DLPack numbers it."""

    ptr: int
    shape: tuple
    strides: tuple
    dtype: str
    device: tuple
    readonly: bool
    nbytes: int
    c_contiguous: bool


class Span(NamedTuple):
    """What a Buffer says."""

    ptr: int
    nbytes: int
    device: tuple
    readonly: bool


class Implementation(NamedTuple):
    """One of the two: how it is asked, how it refuses, and how it spells a dtype."""

    name: str
    take: Callable[[Any], Any]
    take_bytes: Callable[[Any], Any]
    refusal: type
    spelled: Callable[[Any], str]

    def facts(self, lent):
        """A View or an Array as Facts; strides of extents up to 1, and of nothing, mean nothing and are told as 0."""
        steps = [
            step if extent > 1 and lent.nbytes else 0 for extent, step in zip(lent.shape, lent.strides, strict=True)
        ]
        ptr = lent.ptr if lent.nbytes else 0
        dtype, device = self.spelled(lent.dtype), tuple(map(int, lent.device))
        return Facts(ptr, lent.shape, tuple(steps), dtype, device, lent.readonly, lent.nbytes, lent.c_contiguous)

    def span(self, lent):
        """A Buffer as a Span."""
        return Span(lent.ptr if lent.nbytes else 0, lent.nbytes, tuple(map(int, lent.device)), lent.readonly)

    def asked(self, obj):
        """The Facts of an object, or REFUSED; any other exception passes."""
        try:
            return self.facts(self.take(obj))
        except self.refusal:
            return REFUSED

    def asked_for_bytes(self, obj):
        """The Span of the bytes of an object, or REFUSED."""
        try:
            return self.span(self.take_bytes(obj))
        except self.refusal:
            return REFUSED


def word(dtype):
    """A DType of lend as minimal spells it: the typestr; its name, where no typestr has a word for it."""
    if dtype.kind in ("bfloat", "float8") or dtype.name.startswith(("bfloat", "float8")):
        return dtype.name
    return dtype.name if dtype.fields else dtype.typestr


MINIMAL = Implementation("minimal", minimal.array, minimal.buffer, minimal.Refused, str)
MAXIMAL = Implementation("lend", lend.view, lend.buffer, LendError, word)
BOTH = (MINIMAL, MAXIMAL)

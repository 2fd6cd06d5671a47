"""Steps that make a View or a Buffer of one in hand."""

import copy
import sys

import pytest

import lend
from lend.errors import UnsupportedLayout
from support.drawing import Index, step
from support.lending import ITEMSIZES, Block, Layout, Lease, row_major

from .holding import DTYPES, WHICH, Holding

HOW = ["T", "again", "copy.copy", "flat", "read-only", "buffer", "field", "low"]


def indexed(thing, index):
    """The entries of an index that mean something for the thing, and the layout they lead to; None: too many."""
    extents = list(thing.layout.shape)
    possible, used = [], 0
    for entry in index:
        if entry is not None:
            if used == len(extents) or (isinstance(entry, int) and not -extents[used] <= entry < extents[used]):
                continue
            used += 1
        possible.append(entry)
    if len(possible) + len(extents) > 10:
        return None
    return tuple(possible), thing.layout.indexed(possible)


class Deriving(Holding):
    """What is made shares the lease, but for copies."""

    @step(room=True, which=WHICH, index=Index())
    def index(self, which, index):
        thing = self.some(which, "view")
        found = thing and indexed(thing, index)
        if not found:
            return False
        self.keep("view", thing.obj[found[0]], thing, layout=found[1])
        return None

    @step(room=True, weight=3, which=WHICH, how=HOW)
    def derive(self, which, how):
        thing = self.some(which, "view")
        if thing is None:
            return False
        layout = thing.layout
        if how == "T":
            self.keep("view", thing.obj.T, thing, layout=layout.transposed())
        elif how == "again":
            self.keep("view", lend.view(thing.obj), thing)
        elif how == "copy.copy":
            self.keep("view", copy.copy(thing.obj), thing)
        elif how == "read-only":
            self.keep("view", lend.view(thing.obj, writable=False), thing, readonly=True)
        elif how == "buffer":
            readonly = thing.readonly or layout.has_gaps  # what lies between was not lent
            self.keep("buffer", thing.obj.buffer, thing, layout=layout.span(), readonly=readonly)
        elif how == "field" and layout.dtype == "record":
            self.keep("view", thing.obj["high"], thing, layout=layout.field(1, "int16"))
        elif how == "low" and layout.dtype in ("int16", "int32"):
            at = 0 if sys.byteorder == "little" else layout.itemsize - 1
            self.keep("view", thing.obj.low("uint8"), thing, layout=layout.field(at, "uint8"))
        elif how == "flat" and layout.is_row_major:
            flat = row_major((layout.size,), layout.dtype)
            flat = Layout(layout.offset, flat.shape, flat.strides, flat.dtype)
            self.keep("view", thing.obj.reshape(-1), thing, layout=flat)
        else:
            return False
        return None

    @step(which=WHICH, dtype=list(ITEMSIZES))
    def reinterpret(self, which, dtype):
        thing = self.some(which, "view")
        if thing is None:
            return False
        layout = thing.layout.reinterpreted(dtype)
        if layout is None:
            with pytest.raises(UnsupportedLayout):
                thing.obj.reinterpret(DTYPES[dtype])
        elif not self.is_full:
            self.keep("view", thing.obj.reinterpret(DTYPES[dtype]), thing, layout=layout)
        else:
            return False
        return None

    @step(room=True, which=WHICH, start=range(-9, 10), stop=[None, *range(-9, 41)])
    def cut_a_buffer(self, which, start, stop):
        thing = self.some(which, "buffer")
        if thing is None:
            return False
        layout = thing.layout.indexed([slice(start, stop)])
        self.keep("buffer", thing.obj[start:stop], thing, layout=layout)
        self.keep("view", self.hand[-1].obj.view("uint8"), self.hand[-1])
        return None

    @step(room=True, which=WHICH)
    def copy_one(self, which):
        thing = self.some(which, "view")
        if thing is None:
            return False
        made = thing.obj.copy()
        fresh = row_major(thing.layout.shape, thing.layout.dtype)
        lease = Lease(None, Block(bytearray(thing.bytes()), made.ptr))
        self.lent("view", made, lease, fresh, readonly=False)
        return None

    @step(which=WHICH)
    def read(self, which):
        thing = self.some(which, "view")
        if thing is None:
            return False
        assert thing.obj.tobytes() == thing.bytes()
        return None

    @step(which=WHICH)
    def look_again(self, which):
        """The producer is asked whether the memory is where it was."""
        thing = self.some(which, "view", "buffer")
        if thing is None:
            return False
        thing.obj.verify()
        return None

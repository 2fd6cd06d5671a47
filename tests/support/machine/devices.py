"""Steps over memory of a device, described by a dict: it is handed on and given back, and never touched."""

import pickle

import pytest

import lend
from lend.errors import NotHostAccessible
from support import by_lend_h, counting
from support.device_producers import ADDRESS, CudaInterface, SyclInterface, announcing
from support.drawing import BOOL, Index, step
from support.lending import Block, Lease, row_major

from .deriving import indexed
from .holding import NBYTES, WHICH, Holding, Vanishing

KINDS = {"CUDA": announcing(CudaInterface, (2, 0)), "SYCL": announcing(SyclInterface, (14, 0))}
TOUCHING = [memoryview, lambda view: view.tobytes(), pickle.dumps, lambda view: view.__array_interface__, counting.hold]


class OnDevices(Holding):
    """A reference to the producer is the loan."""

    @step(room=True, kind=list(KINDS), readonly=BOOL)
    def take_from_a_device(self, kind, readonly):
        producer = KINDS[kind](shape=(4, 3), data=(ADDRESS, readonly))
        lease = Lease(Vanishing(producer), Block(bytearray(NBYTES)))
        self.lent("device view", lend.view(producer), lease, row_major((4, 3), "float32"), readonly)

    @step(room=True, which=WHICH, index=Index())
    def index_on_a_device(self, which, index):
        thing = self.some(which, "device view")
        found = thing and indexed(thing, index)
        if not found:
            return False
        self.keep("device view", thing.obj[found[0]], thing, layout=found[1])
        return None

    @step(room=True, which=WHICH, how=["T", "again", "pointer", "lend.h"])
    def derive_on_a_device(self, which, how):
        thing = self.some(which, "device view")
        if thing is None:
            return False
        if how == "T":
            self.keep("device view", thing.obj.T, thing, layout=thing.layout.transposed())
        elif how == "again":
            self.keep("device view", lend.view(thing.obj), thing)
        elif how == "lend.h":
            self.keep("device acquired", by_lend_h.Acquired(thing.obj), thing)
        else:
            owner, layout = thing.obj.owner, thing.layout
            made = lend.View.from_pointer(
                ADDRESS, layout.shape, "float32", owner=owner, device=thing.obj.device, readonly=thing.readonly
            )
            lease = Lease(None, thing.lease.block, [thing.lease])
            self.lent("device view", made, lease, row_major(layout.shape, "float32"), thing.readonly)
        return None

    @step(room=True, which=WHICH, take=BOOL)
    def hand_out_a_tensor_of_a_device(self, which, take):
        thing = self.some(which, "device view")
        if thing is None or not thing.layout.is_sayable_by_dlpack:
            return False
        made = thing.obj.__dlpack__(max_version=(1, 3), stream=-1)
        if take:
            # not read, as the one of the host is
            self.keep("device tensor", counting.consume(made), thing, counted=True)
        else:
            self.keep("device capsule", made, thing, counted=True)
        return None

    @step(which=WHICH)
    def touch_a_device(self, which):
        thing = self.some(which, "device view")
        if thing is None:
            return False
        if 0 in thing.layout.shape:
            assert bytes(memoryview(thing.obj)) == b""  # there is nothing that could be anywhere
            return None
        for touch in TOUCHING:
            with pytest.raises((NotHostAccessible, AttributeError)):
                touch(thing.obj)
        return None

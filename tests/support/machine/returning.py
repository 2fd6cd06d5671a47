"""Steps that give back: by release, by letting go, on other threads, on several at once."""

import gc
import threading

import pytest

from lend.errors import LeaseLost
from support.drawing import step
from support.lending import Thing, on_a_thread, reachable

from .holding import WHICH, Holding

RELEASED = ("view", "buffer", "memoryview", "hold", "tensor", "acquired", "packed", "device view")

ELSEWHERE = [False, False, False, True]  # a thread takes longer than all the rest


class Returning(Holding):
    """Nothing is made here."""

    @step(weight=4, which=WHICH, elsewhere=ELSEWHERE)
    def drop(self, which, elsewhere):
        if not self.hand:
            return False
        thing = self.hand.pop(which % len(self.hand))
        box, thing.obj = [thing.obj], None
        if elsewhere:
            on_a_thread(box.clear)
        else:
            box.clear()
        return None

    @step(weight=1, count=range(2, 5))
    def drop_on_several_threads_at_once(self, count):
        boxes = []
        while self.hand and len(boxes) < count:
            thing = self.hand.pop()
            boxes.append([thing.obj])
            thing.obj = None
        if not boxes:
            return False
        barrier = threading.Barrier(len(boxes))
        threads = [threading.Thread(target=lambda box=box: (barrier.wait(), box.clear())) for box in boxes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return None

    @step(weight=4, which=WHICH, elsewhere=ELSEWHERE)
    def release(self, which, elsewhere):
        thing = self.some(which, *RELEASED)
        if thing is None:
            return False
        if thing.kind == "tensor":
            (thing.obj.delete_on_foreign_thread if elsewhere else thing.obj.delete)()
        elif self.exports_of(thing):
            with pytest.raises(BufferError):
                on_a_thread(thing.obj.release) if elsewhere else thing.obj.release()
            return None
        else:
            try:
                on_a_thread(thing.obj.release) if elsewhere else thing.obj.release()
            except BufferError:
                assert any(isinstance(node, Thing) and node.perhaps_on is thing for node in reachable(self.hand))
                return None
        thing.released, thing.on, thing.counted = True, None, False
        if not thing.told:  # an address that was told must stay good until the object goes
            thing.pins = []
        return None

    @step(which=WHICH)
    def use_after_release(self, which):
        thing = self.some(which, "view", "buffer", "device view", live=False)
        if thing is None or not thing.released:
            return False
        for use in (memoryview, lambda obj: obj.tobytes(), lambda obj: obj.__dlpack__(), lambda obj: obj.owner):
            with pytest.raises(LeaseLost):
                use(thing.obj)
        return None

    @step(weight=1, generation=[0, 0, 0, 0, 1, 1, 2])
    def collect(self, generation):
        gc.collect(generation)

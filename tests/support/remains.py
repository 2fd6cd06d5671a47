"""What a use leaves behind: producers that can be watched going, and what is wrong when they should be gone."""

import contextlib
import gc
import struct
import weakref

from .counting import CountingBuffer, CountingDLPack, CountingExchange

FLOATS = struct.pack("6f", *range(6))


@contextlib.contextmanager
def set_aside():
    """What was there before is frozen, so that a collection takes no time and finds only what a use leaves."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


class Exporter(CountingBuffer):
    pass


class Offering(CountingExchange):
    __dlpack_c_exchange_api__ = CountingExchange.__dlpack_c_exchange_api__


def floats(**keywords):
    return Exporter(FLOATS, **{"format": "f", "itemsize": 4, **keywords})


def tensor(**keywords):
    return CountingDLPack(FLOATS, (6,), **keywords)


def outcome(use, producer):
    """What the use raised, as a class. Neither the answer nor the error outlives this call."""
    try:
        use(producer)
    except BaseException as error:
        return type(error)
    return None


def remains(make, use):
    """(what was raised, what is wrong afterwards): twice over, as the first time fills caches and loads modules."""
    for _ in range(2):
        gc.collect()
        producer = make()
        raised = outcome(use, producer)
        wrong = getattr(producer, "audit", list)()
        gone = weakref.ref(producer)
        del producer
        if gone() is not None:
            wrong.append("the producer is still referred to")
        if found := gc.collect():
            wrong.append(f"the collector found {found} objects in cycles")
    return raised, wrong


def held_by_the_error(make, use):
    """What is wrong with the producer's books while the error is being handled: no frame of lend's may hold a lease."""
    producer = make()
    try:
        use(producer)
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] != "lend":
                with contextlib.suppress(RuntimeError):  # this very frame is running
                    trace.tb_frame.clear()
            trace = trace.tb_next
        return getattr(producer, "audit", list)()
    return ["nothing was raised"]

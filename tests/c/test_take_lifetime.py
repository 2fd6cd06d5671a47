"""What was taken is held, given back exactly once, from any thread, and left alone when the interpreter has ended."""

import array
import gc
import sys
import threading
import weakref

import pytest
from support import children, counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface, Only

SIXTEEN = bytes(range(16))
COPY = 16
PRODUCERS = {
    "buffer protocol": lambda: CountingBuffer(SIXTEEN, format="f", itemsize=4, shape=(4,)),
    "DLPack": lambda: CountingDLPack(SIXTEEN, (4,)),
    "DLPack unversioned": lambda: CountingDLPack(SIXTEEN, (4,), protocol="legacy"),
    "DLPack of nine dimensions": lambda: CountingDLPack(SIXTEEN, (1, 1, 2, 1, 1, 2, 1, 1, 1)),
    "exchange API": lambda: CountingExchange(SIXTEEN, (4,)),
}
EACH = pytest.mark.parametrize("name", PRODUCERS)
RELEASES = ["release", "release_on_thread"]


@EACH
@pytest.mark.parametrize("how", RELEASES)
def test_a_release_gives_back_once(taker, name, how):
    producer = PRODUCERS[name]()
    taken = taker(producer)
    assert producer.live == 1
    for _ in range(3):
        getattr(taken, how)()
        assert producer.audit() == []
    fields = taker.module.facts(taken.capsule)
    assert (fields["data"], fields["leased"]) == (0, False)


@EACH
def test_it_is_given_back_without_the_gil_on_a_foreign_thread(taker, name):
    producer = PRODUCERS[name]()
    taken = taker(producer)
    holder = threading.Thread(target=taken.release_on_thread)
    holder.start()
    holder.join()
    assert producer.audit() == []


@EACH
def test_many_at_once_are_given_back_each(taker, name):
    producer = PRODUCERS[name]()
    taken = [taker(producer) for _ in range(50)]
    assert producer.live == 50
    threads = [threading.Thread(target=one.release_on_thread) for one in taken[::2]]
    for thread in threads:
        thread.start()
    del taken[1::2]
    for thread in threads:
        thread.join()
    assert producer.audit() == []


@EACH
def test_a_pending_exception_is_not_lost(taker, name):
    producer = PRODUCERS[name]()
    with pytest.raises(LookupError, match="on its way"):
        taker.module.release_while_raising(taker(producer).capsule)
    assert producer.audit() == []


@EACH
def test_the_memory_stays_as_long_as_it_is_held(taker, name):
    producer = PRODUCERS[name]()
    taken = taker(producer)
    alive = weakref.ref(producer) if name == "DLPack" else None
    del producer
    counting.collect()
    assert taken.tobytes() == SIXTEEN
    taken.release()
    assert alive is None or alive() is None


@pytest.mark.parametrize("versioned", [True, False])
def test_a_bare_capsule_is_given_back_once(taker, versioned):
    producer = CountingDLPack(SIXTEEN, (4,))
    capsule = producer.capsule(versioned)
    taken = taker(capsule)
    del capsule
    assert (producer.live, taken.tobytes()) == (1, SIXTEEN)
    taken.release()
    assert (producer.deleted_by_consumer, producer.audit()) == (1, [])


def test_a_tensor_without_a_deleter_is_let_go(taker):
    for kind in (CountingDLPack, CountingExchange):
        producer = kind(SIXTEEN, (4,), null_deleter=True)
        before = sys.getrefcount(producer)
        taken = taker(producer)
        taken.release()
        assert sys.getrefcount(producer) == before


@pytest.mark.parametrize("make", [bytearray, lambda data: array.array("B", data)], ids=["bytearray", "array"])
def test_a_lent_buffer_cannot_be_resized_until_it_is_released(taker, make):
    source = make(SIXTEEN)
    taken = taker(source)
    with pytest.raises(BufferError):
        source.append(0)
    taken.release()
    source.append(0)


def test_a_lent_buffer_of_an_interface_cannot_be_resized_until_it_is_released(taker):
    memory = bytearray(SIXTEEN)
    taken = taker(ArrayInterface(b"", (4,), "<f4", data=memory))
    with pytest.raises(BufferError):
        memory.append(0)
    taken.release()
    memory.append(0)


@pytest.mark.parametrize("how", RELEASES)
def test_an_interface_keeps_its_object(taker, how):
    source = ArrayInterface(SIXTEEN, (4,), "<f4")
    alive = weakref.ref(source)
    taken = taker(source)
    del source
    counting.collect()
    assert taken.tobytes() == SIXTEEN
    getattr(taken, how)()
    assert alive() is None


def test_a_device_interface_keeps_its_object(taker):
    facts = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}
    source = type("Shows", (), {"__cuda_array_interface__": facts})()
    alive = weakref.ref(source)
    taken = taker(source)
    del source
    counting.collect()
    assert alive() is not None
    taken.release()
    assert alive() is None


def test_a_copy_needs_no_interpreter_to_go(taker):
    taken = taker(SIXTEEN, flags=COPY)
    taken.release_on_thread()
    assert not taker.module.facts(taken.capsule)["leased"]


def test_a_memoryview_that_is_lent_may_lie_in_a_cycle(taker):
    class Holder:
        pass

    holder = Holder()
    holder.view, holder.self = memoryview(bytearray(SIXTEEN)), holder
    taken = taker(holder.view)
    del holder
    counting.collect()
    assert taken.tobytes() == SIXTEEN
    taken.release()


def test_a_release_that_raises_is_reported_and_harmless(taker, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: reported.append(str(told.exc_value)))

    class Falls:
        __array_interface__ = ArrayInterface(SIXTEEN, (4,), "<f4").facts

        def __del__(self):
            raise ValueError("while it went")

    taken = taker(Falls())
    taken.release()
    assert reported == ["while it went"]


def test_a_release_may_run_code_that_takes_and_releases(taker):
    inner = CountingDLPack(SIXTEEN, (4,))
    exporter = CountingBuffer(SIXTEEN, on_release=lambda: taker(inner).release())
    taker(exporter).release()
    assert (exporter.audit(), inner.audit()) == ([], [])


def test_takes_on_many_threads_keep_the_books(taker):
    producers = [PRODUCERS[name]() for name in PRODUCERS]

    def work():
        for _ in range(30):
            for producer in producers:
                taker(producer).release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [producer.audit() for producer in producers] == [[]] * len(producers)


@EACH
@pytest.mark.parametrize("request_", [{}, {"flags": COPY}, {"flags": 1}, {"ndim": 3}], ids=str)
def test_no_reference_is_lost(taker, name, request_):
    producer = PRODUCERS[name]()
    before = sys.getrefcount(producer)
    for _ in range(20):
        try:
            taker(producer, **request_)
        except BufferError:
            pass
    assert sys.getrefcount(producer) == before
    assert producer.audit() == []


LEAKY = {
    "a buffer": lambda: memoryview(bytearray(16)).cast("f"),
    "a tensor of nine dimensions": lambda: CountingDLPack(SIXTEEN, (1,) * 9),
    "an interface": lambda: ArrayInterface(SIXTEEN, (2, 2), "<f4"),
    "a table": lambda: CountingExchange(SIXTEEN, (4,)),
    "a refused tensor of nine dimensions": lambda: CountingDLPack(SIXTEEN, (1,) * 8 + (-1,)),
    "a refused interface": lambda: ArrayInterface(SIXTEEN, (2, -2), "<f4"),
    "nothing": object,
}


@pytest.mark.parametrize("flags", [0, COPY], ids=["as it lies", "copied"])
@pytest.mark.parametrize("name", LEAKY)
def test_blocks_of_memory_do_not_pile_up(taker, name, flags):
    source = LEAKY[name]()
    take = taker.module.take

    def rounds(count):
        for _ in range(count):
            try:
                take(source, {"flags": flags})
            except (BufferError, TypeError):
                pass

    rounds(300)  # what a producer remembers of its calls is full now
    gc.collect()
    before = sys.getallocatedblocks()
    rounds(400)
    gc.collect()
    assert sys.getallocatedblocks() - before < 200


LOAD = """
import importlib.machinery, importlib.util, sys
name, path = sys.argv[1:3]
loader = importlib.machinery.ExtensionFileLoader(name, path)
module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
loader.exec_module(module)
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface
SIXTEEN = bytes(16)
sources = [bytearray(16), CountingBuffer(SIXTEEN), CountingDLPack(SIXTEEN, (4,)), CountingExchange(SIXTEEN, (4,)),
           ArrayInterface(SIXTEEN, (4,), "<f4"), CountingDLPack(SIXTEEN, (1,) * 9)]
"""
GROWTH = """
import resource
far = CountingDLPack(bytes(4), (1,) * 64)
wide = bytes(1 << 20)
wrong = CountingDLPack(bytes(4), (1,) * 63 + (-1,))
def refused(source):
    try: module.take(source)
    except BufferError: return
    print("accepted")
work = {
    "leases and dimensions": lambda: module.take(far),
    "refused ones": lambda: refused(wrong),
    "copies": lambda: module.take(wide, {"flags": 16}),
}
for name, once in work.items():
    rounds = 300 if name == "copies" else 20_000
    for _ in range(300): once()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(rounds): once()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(name, "pile up" if grown > 8_000 else "go")  # kilobytes, or bytes on macOS
"""


def test_memory_of_malloc_does_not_pile_up(taker):
    out = children.run_clean(LOAD + GROWTH, args=(taker.name, taker.path), options=())
    assert out == "leases and dimensions go\nrefused ones go\ncopies go\n"


def test_a_release_after_the_end_of_the_interpreter_does_nothing(taker):
    out = children.run_clean(
        LOAD
        + """
for source in sources:
    module.release_after_the_end(module.take(source))
    module.release_after_the_end(module.take(source, {"flags": 16}))
""",
        args=(taker.name, taker.path),
    )
    assert out == "released after the end: 12\n"


@pytest.mark.parametrize("place", ["builtins", "sys"])
def test_what_is_still_held_at_the_end_is_harmless(taker, place):
    out = children.run_clean(
        f"{LOAD}\nimport {place}\n{place}.kept = [module.take(source) for source in sources]\nprint('done')",
        args=(taker.name, taker.path),
    )
    assert out == "done\n"


def test_nothing_is_imported(taker):
    out = children.run_clean(
        """
        import importlib.machinery, importlib.util, sys
        name, path = sys.argv[1:3]
        loader = importlib.machinery.ExtensionFileLoader(name, path)
        module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
        loader.exec_module(module)
        before = set(sys.modules)
        class Shows: __array_interface__ = {"shape": (2,), "typestr": "|V2", "data": (4096, False)}
        for source in (b"1234", bytearray(4), Shows(), object()):
            try: module.take(source)
            except TypeError: pass
        print(sorted(set(sys.modules) - before), "lend" in sys.modules)
        """,
        args=(taker.name, taker.path),
    )
    assert out == "[] False\n"


def test_an_attribute_is_read_once(taker):
    source = Only(ArrayInterface(SIXTEEN, (4,), "<f4"), "__array_interface__")
    taker(source)
    assert source.reads == ["__array_interface__"]

"""What was taken is held, given back exactly once, from any thread, and left alone when the interpreter has ended."""

import array
import sys
import threading
import weakref

import pytest

from support import children, counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.producers import ArrayInterface, Only

SIXTEEN = bytes(range(16))
COPY = 4096
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
    assert taken.tobytes() == SIXTEEN
    getattr(taken, how)()
    assert alive() is None


def test_a_device_interface_keeps_its_object(taker):
    facts = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}
    source = type("Shows", (), {"__cuda_array_interface__": facts})()
    alive = weakref.ref(source)
    taken = taker(source)
    del source
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
@pytest.mark.parametrize("request_", [{}, {"flags": COPY}, {"flags": 256}, {"ndim": 3}], ids=str)
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
GROWTH = '''
import gc, resource
far = (1,) * 64
sources = {
    "a buffer": memoryview(bytearray(16)).cast("f"),
    "a tensor": CountingDLPack(bytes(4), far, quarantine=False),
    "a table": CountingExchange(bytes(4), far, quarantine=False),
    "an interface": ArrayInterface(SIXTEEN, (2, 2), "<f4"),
    "a buffer of an interface": ArrayInterface(b"", far, "<f4", data=bytearray(4)),
    "a refused buffer": CountingBuffer(SIXTEEN, format="O", itemsize=8, shape=(2,)),
    "a refused tensor": CountingDLPack(bytes(4), far[1:] + (-1,), quarantine=False),
    "a refused table": CountingExchange(bytes(4), far[1:] + (-1,), quarantine=False),
    "a refused interface": ArrayInterface(SIXTEEN, far[1:] + (-2,), "<f4"),
    "nothing": object(),
    "a megabyte": bytes(1 << 20),
}
def rounds(source, request, count):
    for _ in range(count):
        try: module.take(source, request)
        except (BufferError, TypeError): pass
    gc.collect()
def resident():
    """Kilobytes; the peak that getrusage knows is inherited from the parent process."""
    try:
        with open("/proc/self/statm") as told: return int(told.read().split()[1]) * resource.getpagesize() // 1024
    except OSError: return 0
def used(): return sys.getallocatedblocks(), resident()
for name, source in sources.items():
    for request in {"flags": 0}, {"flags": 4096}:
        count = 4000 if name != "a megabyte" else 200
        rounds(source, request, 300)  # what a producer remembers of its calls is full then
        blocks, memory = used()
        rounds(source, request, count)
        if used()[0] - blocks > count / 2: print(name, request, "blocks pile up")
        if used()[1] - memory > 400: print(name, request, "memory piles up")
print("done")
'''


def test_nothing_piles_up(taker):
    out = children.run_clean(LOAD + GROWTH, args=(taker.name, taker.path), options=())
    assert out == "done\n"


def test_a_release_after_the_end_of_the_interpreter_does_nothing(taker):
    out = children.run_clean(
        LOAD
        + """
for source in sources:
    module.release_after_the_end(module.take(source))
    module.release_after_the_end(module.take(source, {"flags": 4096}))
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

"""Several threads: no capsule is taken twice, no release pulls memory from under a reader, counts add up (FILE-4)."""

import struct
import threading

import pytest

import lend
from lend.errors import LeaseLost, LendError
from support import counting
from support.children import run_clean
from support.counting import CountingBuffer, CountingDLPack

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)
THREADS = 4


def together(work):
    """Run `work(i)` on all threads at once; gives the results, raises the first error."""
    barrier, results, errors = threading.Barrier(THREADS), [None] * THREADS, []

    def run(i):
        barrier.wait()
        try:
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


@pytest.mark.parametrize("versioned", [True, False])
def test_one_thread_alone_takes_a_capsule(versioned):
    for _ in range(50):
        producer = CountingDLPack(FLOATS, (4,))
        capsule = producer.capsule(versioned)

        def take(_, capsule=capsule):
            try:
                return lend.view(capsule)
            except LendError:
                return None

        views = [view for view in together(take) if view is not None]
        assert [view.tolist() for view in views] == [[0.0, 1.0, 2.0, 3.0]]
        del views
        assert (producer.deleted, producer.audit()) == (1, [])


def test_one_view_is_shared_by_many_readers():
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4)

    def share(view):
        def read(_):
            for _ in range(200):
                assert memoryview(view[1:]).tolist() == [1.0, 2.0, 3.0]
                assert counting.consume(view.__dlpack__(max_version=(1, 3))).tobytes() == FLOATS
                assert view.owner.nbytes == 16

        together(read)
        assert (view.owner.exports, exporter.gets) == (0, 1)

    share(lend.view(exporter))
    assert exporter.audit() == []


def test_the_owner_of_a_view_is_one_whoever_asks_first():
    for _ in range(50):
        view = lend.view(CountingBuffer(FLOATS))
        owners = together(lambda i, view=view: view.owner if i % 2 else view[1:].owner)
        assert len({id(owner) for owner in owners}) == 1


def release_among_readers(view):
    """One thread releases the view while the others read it."""

    def work(i):
        if i == 0:
            try:
                view.release()
            except BufferError:
                pass  # a reader has its Py_buffer open
            return
        try:
            for _ in range(20):
                assert memoryview(view).tolist() == [0.0, 1.0, 2.0, 3.0]
                assert view.tolist() == [0.0, 1.0, 2.0, 3.0]
                assert view[2:].tobytes() == FLOATS[8:]
        except LeaseLost:
            pass

    together(work)


def test_a_release_pulls_no_memory_from_under_a_reader():
    for _ in range(50):
        exporter = CountingBuffer(FLOATS, format="f", itemsize=4)
        release_among_readers(lend.view(exporter))
        assert exporter.audit() == []


def test_a_view_released_by_all_threads_gives_its_lease_back_once():
    for _ in range(50):
        exporter = CountingBuffer(FLOATS)
        view = lend.view(exporter)
        together(lambda _, view=view: view.release())
        assert (exporter.releases, exporter.audit()) == (1, [])


def test_tensors_deleted_by_foreign_threads_are_all_counted():
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4)

    def share(view):
        def work(_):
            for _ in range(50):
                counting.consume(view.__dlpack__(max_version=(1, 3))).delete_on_foreign_thread()

        together(work)
        assert view.owner.exports == 0

    share(lend.view(exporter))
    assert exporter.audit() == []


def test_one_producer_lends_to_many_threads():
    exporter = CountingBuffer(FLOATS, format="f", itemsize=4, poison=False)

    def work(_):
        for _ in range(200):
            assert lend.view(exporter)[0].item() == 0.0

    together(work)
    assert (exporter.gets, exporter.audit()) == (THREADS * 200, [])


def test_new_types_of_many_threads_meet_in_the_cache():
    def work(_):
        for _ in range(100):
            kind = type("Exporter", (CountingBuffer,), {})
            assert lend.view(kind(FLOATS, format="f", itemsize=4)).tolist() == [0.0, 1.0, 2.0, 3.0]

    together(work)


def test_loans_may_be_listed_while_others_lend():
    standing, moving = CountingBuffer(FLOATS), CountingBuffer(FLOATS, poison=False)
    view = lend.view(standing)

    def work(i):
        told = []
        for _ in range(20):
            if i:
                lend.view(moving)[1:].release()
            else:
                told.append([loan.nbytes for loan in lend.loans() if loan.producer is standing])
        return told

    assert together(work)[0] == [[16]] * 20
    view.release()
    assert (standing.audit(), moving.audit(), moving.gets) == ([], [], (THREADS - 1) * 20)


FIRST_USES = """
    import array, sys, threading
    import lend

    numbers = array.array("i", [1, 2, 3])
    uses = [
        lambda: lend.view(numbers).tolist(),
        lambda: lend.to(numbers, "memoryview"),
        lambda: lend.explain(numbers, "memoryview"),
        lambda: lend.view(numbers).verify(),
        lambda: lend.view(numbers, copy=True),
        lambda: lend.DType("int32"),
    ]
    start = threading.Barrier(len(uses))

    def use(first):
        start.wait()
        first()

    threads = [threading.Thread(target=use, args=(first,)) for first in uses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_first_uses_by_several_threads_at_once_load_what_they_need():
    for _ in range(10):
        run_clean(FIRST_USES, options=())


@pytest.mark.parametrize("package", ["adapters", "dtypes", "inspection", "plan", "protocols", "views"])
def test_a_package_imports_none_of_its_modules_for_which_another_thread_may_hold_the_lock(package):
    # importing `lend.plan.ways` locks it and then waits for `lend.plan`, which must not wait for `lend.plan.ways`
    loaded = run_clean(f"""
        import sys, lend
        before = set(sys.modules)
        import lend.{package}
        print([name for name in sys.modules if name.startswith("lend.{package}.") and name not in before])
    """)
    assert loaded.strip() == "[]"

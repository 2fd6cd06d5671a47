"""More than one interpreter, and more than one process: fork with loans open, and sub-interpreters."""

import importlib.util
import os
import sys

import pytest

from support import children

CAN_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

PREPARE = """
import gc, os, sys, threading, lend
from support import counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
DATA = bytes(range(8))
producers = [
    CountingBuffer(DATA), CountingDLPack(DATA, (8,), dtype=(1, 8, 1)), CountingExchange(DATA, (8,), dtype=(1, 8, 1))
]
views = [lend.view(producer) for producer in producers] + [lend.view(DATA), lend.view(bytearray(DATA))]

def in_a_child(work):
    "Run `work` in a forked process; its exit status must be 0."
    child = os.fork()
    if child == 0:
        try:
            work()
            sys.stdout.flush()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@CAN_FORK
def test_a_forked_child_reads_what_was_lent_before():
    children.run_clean(
        PREPARE
        + """
def work():
    for view in views:
        assert view.tobytes() == view[:].tobytes() == bytes(memoryview(view)) == DATA
in_a_child(work)
"""
    )


@CAN_FORK
def test_a_forked_child_gives_back_its_own_loans_and_no_others():
    children.run_clean(
        PREPARE
        + """
def work():
    views.clear()
    assert [producer.audit() for producer in producers] == [[], [], []]
in_a_child(work)
assert [producer.live for producer in producers] == [1, 1, 1]
assert [view.tobytes() for view in views] == [DATA] * 5
views.clear()
assert [producer.audit() for producer in producers] == [[], [], []]
"""
    )


@CAN_FORK
def test_a_forked_child_lends_and_hands_out():
    children.run_clean(
        PREPARE
        + """
def work():
    producer = CountingBuffer(DATA)
    view = lend.view(producer)
    tensors = [counting.consume(view.__dlpack__(max_version=(1, 3))), counting.exchange_take(view[:])]
    del view
    assert [tensor.tobytes() for tensor in tensors] == [DATA, DATA]
    tensors.pop().delete_on_foreign_thread()
    tensors.pop().delete()
    assert producer.audit() == []
in_a_child(work)
"""
    )


@CAN_FORK
def test_a_forked_child_may_end_with_loans_open():
    children.run_clean(
        PREPARE
        + """
child = os.fork()
if child == 0:
    kept = [lend.view(producer)[1:] for producer in producers]
    kept.append(counting.consume(views[0].__dlpack__()))
    sys.exit(0)  # the whole way out: finalisation, exit handlers
assert os.waitpid(child, 0)[1] == 0
"""
    )


@CAN_FORK
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python warns of a fork beside threads from 3.12 on")
def test_a_fork_while_other_threads_lend_leaves_the_child_usable():
    children.run_clean(
        PREPARE
        + """
stop = threading.Event()
def go_on():
    while not stop.is_set():
        counting.consume(lend.view(producers[0])[1:].__dlpack__(max_version=(1, 3)))
def work():
    for _ in range(100):
        assert lend.view(bytearray(DATA))[2:].tolist() == list(DATA[2:])
work()  # a module that another thread was loading would stay locked in the child
threads = [threading.Thread(target=go_on) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(5): in_a_child(work)
stop.set()
for thread in threads: thread.join()
"""
    )


@CAN_FORK
def test_a_first_import_in_a_forked_child_works():
    children.run_clean(
        """
        import os
        child = os.fork()
        if child == 0:
            import lend
            os._exit(0 if lend.view(b"12").tolist() == [49, 50] else 1)
        assert os.waitpid(child, 0)[1] == 0
        """
    )


# -- sub-interpreters ------------------------------------------------------------------------------------------------

INTERPRETERS = next(
    (name for name in ("_interpreters", "_xxsubinterpreters") if importlib.util.find_spec(name)), None
)  # fmt: skip
HAS_INTERPRETERS = pytest.mark.skipif(INTERPRETERS is None, reason="this Python has no module for sub-interpreters")

RUN_INSIDE = f"""
import {INTERPRETERS} as interpreters

def inside(code, config=None):
    "Run `code` in a new interpreter; give what went wrong there as text, None if nothing did."
    number = interpreters.create(config) if config else interpreters.create()
    try:
        failure = interpreters.run_string(number, code)
        return None if failure is None else str(failure.formatted if hasattr(failure, "formatted") else failure)
    except Exception as error:  # RunFailedError, before 3.13
        return str(error)
    finally:
        interpreters.destroy(number)
"""

USE = "import lend; assert lend.view(bytearray(b'1234'))[1:].tolist() == [50, 51, 52]"


def is_answer(text):
    return text == "None" or ("ImportError" in text and "interpreter" in text)


def outcome(snippet):
    """What a sub-interpreter said of `import lend`: it works, or it refuses with a sentence."""
    out = children.run_clean(RUN_INSIDE + snippet, options=()).strip()
    assert is_answer(out), out


@HAS_INTERPRETERS
def test_a_sub_interpreter_loads_lend_or_is_refused_with_a_sentence():
    outcome(f"print(inside({USE!r}))")


@HAS_INTERPRETERS
def test_a_sub_interpreter_beside_a_main_one_that_lends_is_no_different():
    outcome(
        f"""
import lend
kept = lend.view(bytearray(8))
print(inside({USE!r}))
assert kept.tolist() == [0] * 8
assert lend.view(bytearray(8))[1:].tolist() == [0] * 7
"""
    )


@HAS_INTERPRETERS
def test_one_sub_interpreter_after_the_other_loads_lend_or_is_refused_with_a_sentence():
    for line in children.run_clean(RUN_INSIDE + f"for _ in range(3): print(inside({USE!r}))", options=()).splitlines():
        assert is_answer(line), line


@HAS_INTERPRETERS
def test_the_main_interpreter_loads_lend_after_a_sub_interpreter_or_is_refused_with_a_sentence():
    outcome(
        f"""
inside({USE!r})
try:
    {USE}
    print(None)
except ImportError as refusal:
    print("ImportError:", refusal)
"""
    )


@HAS_INTERPRETERS
@pytest.mark.skipif(sys.version_info < (3, 12), reason="interpreters with a GIL of their own came with 3.12")
def test_a_sub_interpreter_with_its_own_gil_loads_lend_or_is_refused_with_a_sentence():
    outcome(f"print(inside({USE!r}, 'isolated' if interpreters.__name__ == '_interpreters' else None))")

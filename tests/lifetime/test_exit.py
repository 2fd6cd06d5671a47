"""What still lives when the interpreter ends: exit status 0 and a silent stderr, also in development mode (LIFE-10)."""

import pytest

from support import children

PREPARE = """
import builtins, sys, threading, lend
from support.counting import CountingBuffer, CountingDLPack, CountingExchange, consume, exchange_take
from support.producers import ArrayInterface, ArrayStruct
FLOATS = bytes(16)
exporter = CountingBuffer(FLOATS, format="f", itemsize=4, on_release=lambda: None)
producer = CountingDLPack(FLOATS, (4,))
table = CountingExchange(FLOATS, (4,))
def capsule(view): return view.__dlpack__(max_version=(1, 3))
"""

KEPT = {
    "a view in a module": "kept = lend.view(exporter)",
    "a buffer in a module": "kept = lend.buffer(exporter)",
    "a view in builtins": "builtins.kept = lend.view(exporter)",
    "a slice in sys": "sys.kept = lend.view(exporter)[1:]",
    "a memoryview in builtins": "builtins.kept = memoryview(lend.view(exporter))",
    "a tensor in builtins": "builtins.kept = lend.view(producer)",
    "an exchanged tensor in builtins": "builtins.kept = lend.view(table)",
    "a copy in builtins": "builtins.kept = lend.view(exporter, copy=True)",
    "an array interface in builtins": "builtins.kept = lend.view(ArrayInterface(FLOATS, (4,), '<f4'))",
    "an array struct in builtins": "builtins.kept = lend.view(ArrayStruct(FLOATS, (4,), itemsize=4))",
    "a cycle": "exporter.kept = lend.view(exporter); del exporter",
    "a cycle in builtins": "exporter.kept = lend.view(exporter); builtins.kept = exporter",
    "a capsule in builtins": "builtins.kept = capsule(lend.view(exporter))",
    "a leaked tensor": "consume(capsule(lend.view(exporter))).leak()",
    "a tensor deleted after finalisation": "consume(capsule(lend.view(exporter))).hold_until('finalize')",
    "a tensor deleted at exit": "consume(capsule(lend.view(exporter))).hold_until('exit')",
    "a legacy tensor deleted at exit": "consume(lend.view(exporter).__dlpack__()).hold_until('exit')",
    "an exchanged tensor deleted at exit": "exchange_take(lend.view(exporter)).hold_until('exit')",
    "a foreign tensor deleted at exit": "exchange_take(lend.view(producer)).hold_until('exit')",
    "tensors deleted by other threads meanwhile": (
        "for pause in range(0, 60, 2): consume(capsule(lend.view(exporter))).delete_later(pause)"
    ),
    "a daemon thread that goes on lending": (
        "def go_on():\n    while True: capsule(lend.view(exporter)[1:])\n"
        "threading.Thread(target=go_on, daemon=True).start()"
    ),
}


@pytest.mark.parametrize("statement", KEPT.values(), ids=KEPT)
def test_the_interpreter_ends_quietly_with(statement):
    children.run_clean(PREPARE + statement)


@pytest.mark.parametrize("when", ["finalize", "exit"])
def test_a_deleter_called_after_finalisation_returns(when):
    out = children.run_clean(
        PREPARE
        + f"""
for view in (lend.view(exporter), lend.view(producer), lend.view(table)):
    consume(capsule(view)).hold_until({when!r})
    exchange_take(view[1:]).hold_until({when!r})
"""
    )
    assert out == f"deleted {'at exit' if when == 'exit' else 'after finalisation'}: 6\n"


def test_a_view_made_in_an_exit_handler_is_harmless():
    children.run_clean(
        PREPARE + "import atexit; atexit.register(lambda: setattr(builtins, 'kept', lend.view(exporter)))"
    )


def test_a_view_used_in_a_late_destructor_is_harmless():
    children.run_clean(
        PREPARE
        + """
class Late:
    def __init__(self): self.view = lend.view(exporter)
    def __del__(self):
        assert bytes(self.view) == FLOATS
        self.view.release()
builtins.kept = Late()
"""
    )

"""The demo holds what it prints, and does not print what does not hold."""

import importlib
import os
import subprocess
import sys

import pytest

import lend
from support.source_tree import ROOT

DEMO = ROOT / "demo"


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(DEMO / "demo.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "COLUMNS": "120"},
    )


@pytest.fixture
def demo(monkeypatch):
    """Import a module of the demo by its name."""
    monkeypatch.syspath_prepend(DEMO)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")  # the demo sets it; put back afterwards
    return importlib.import_module


@pytest.fixture
def pair(demo):
    """Lend bytes to a target that lies where the keywords say so."""
    sources, targets, handover = demo("sources"), demo("targets"), demo("handover")
    of_buffer = demo("addresses").of_buffer

    def lent(obj=b"abcdefgh", aim="memoryview", address=of_buffer, values=bytes, facts=None):
        source = sources.Source("bytes", obj, "uint8", (8,), b"abcdefgh", of_buffer(obj))
        return handover.hand_over(source, targets.Target("target", aim, address, values, facts))

    return lent


@pytest.mark.parametrize("libraries", [["numpy"], []], ids=["numpy only", "all that are installed"])
def test_every_claim_holds(libraries):
    done = run(*libraries)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every claim holds" in done.stdout
    assert "  they agree\n" in done.stdout
    assert "all results and sources dropped\n  nothing is lent\n" in done.stdout


def test_every_claim_of_the_frame_holds():
    pytest.importorskip("pyarrow")
    few = "import sys, frames; frames.ROWS = 700; sys.exit(frames.main())"
    done = subprocess.run([sys.executable, "-c", few], capture_output=True, text=True, timeout=200, cwd=DEMO)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every claim holds: values, nulls, names, and what was said to be shared" in done.stdout


def test_nothing_is_printed_as_an_error():
    assert run("numpy").stderr == ""


def test_it_fits_a_terminal_of_120_columns():
    assert max(map(len, run("numpy").stdout.splitlines())) <= 120


def test_a_library_that_it_does_not_know_is_refused():
    done = run("nampy")
    assert (done.returncode, "not a library of the demo: nampy" in done.stderr) == (2, True)


def test_a_missing_library_is_skipped_in_a_sentence(demo, monkeypatch):
    monkeypatch.setitem(sys.modules, "tvm_ffi", None)
    libs = demo("libraries").Libraries(["tvm_ffi"])
    assert (libs.tvm_ffi, libs.skipped) == (None, ["apache-tvm-ffi is not installed: skipped"])


def test_an_honest_pair_has_no_fault(pair):
    done = pair()
    assert (done.verdict, done.nbytes, done.faults) == ("shared", 0, [])


def test_another_address_than_the_promised_one_is_a_fault(pair):
    (fault,) = pair(address=lambda _: 64).faults
    assert "explain said shared, and the address 0x40 is not that of the source" in fault


def test_other_values_are_a_fault(pair):
    assert pair(values=lambda _: b"other").faults == ["bytes uint8[8] to target: the values differ"]


def test_another_dtype_is_a_fault(pair):
    (fault,) = pair(facts=lambda _: ("int8", (8,))).faults
    assert "it is ('int8', (8,)) there" in fault


def test_a_copy_that_was_not_predicted_is_a_fault(pair):
    (fault,) = pair(aim=lambda view: memoryview(view.copy())).faults
    assert "explain predicted 0 copies (0 bytes), and 1 were counted (8 bytes)" in fault


def test_a_refusal_has_its_reason(pair, monkeypatch):
    refusal = lend.errors.UnsupportedType.build("no such thing")

    def refuse(*args):
        raise refusal

    monkeypatch.setattr(lend, "explain", refuse)
    monkeypatch.setattr(lend, "to", refuse)
    done = pair()
    assert (done.verdict, done.reasons, done.faults) == ("refused", [("lend", "no such thing")], [])


def test_a_refusal_that_does_not_happen_is_a_fault(pair, monkeypatch):
    def refuse(*args):
        raise lend.errors.UnsupportedType.build("no such thing")

    monkeypatch.setattr(lend, "explain", refuse)
    assert pair().faults == ["bytes uint8[8] to target: explain refused, and lend.to did not"]

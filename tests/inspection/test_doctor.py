"""lend doctor's findings: what is installed, what it offers, how lend takes it; a broken library is a finding."""

import importlib.util
import json

import pytest

from lend.inspection import doctor
from lend.inspection.doctor import LIBRARIES, examine, render
from support.counting import CountingDLPack, CountingExchange
from support.producers import ArrayInterface


def look_at(monkeypatch, make, address=None, module="builtins"):
    """Examine one made-up library."""
    monkeypatch.setitem(doctor.SAMPLES, "madeup", doctor._Sample(module, make, address))
    (found,) = examine(["madeup"])["libraries"]
    return found


@pytest.mark.parametrize("library", ["bytes", "memoryview", "array", "mmap"])
def test_standard_library_is_taken_by_the_buffer_protocol_and_shared(library):
    (found,) = examine([library])["libraries"]
    assert (found["status"], found["taken_by"], found["shared"]) == ("ok", "buffer protocol", True)


@pytest.mark.parametrize("library", sorted(set(LIBRARIES) - {"bytes", "memoryview", "array", "mmap", "pillow"}))
def test_installed_library_is_shared(library):
    pytest.importorskip(doctor.SAMPLES[library].module)
    (found,) = examine([library])["libraries"]
    assert (found["status"], found.get("shared")) == ("ok", True), found


def test_image_that_pillow_copies_out_at_each_asking_is_not_called_shared():
    pytest.importorskip("PIL.Image")
    (found,) = examine(["pillow"])["libraries"]
    assert (found["status"], found["shared"]) == ("ok", False)


def test_image_whose_array_interface_gives_bytes_is_not_said_to_have_a_buffer():
    pytest.importorskip("PIL.Image")
    (found,) = examine(["pillow"])["libraries"]
    assert found["taken_by"] == "array interface"


def test_every_protocol_that_an_object_offers_is_told(monkeypatch):
    found = look_at(monkeypatch, lambda _: CountingDLPack(8, (8,)))
    assert found["offers"] == ["DLPack"]


@pytest.mark.parametrize(
    ("make", "door"),
    [
        (lambda _: bytearray(8), "buffer protocol"),
        (lambda _: CountingDLPack(8, (8,)), "DLPack"),
        (lambda _: CountingExchange(8, (8,)), "DLPack C exchange API"),
        (lambda _: ArrayInterface(bytes(8), (8,), "|u1"), "array interface"),
    ],
    ids=["buffer", "dlpack", "exchange", "array_interface"],
)
def test_door_by_which_lend_takes_it_is_told(monkeypatch, make, door):
    assert look_at(monkeypatch, make)["taken_by"] == door


def test_memory_at_another_address_than_the_library_tells_is_not_shared(monkeypatch):
    found = look_at(monkeypatch, lambda _: bytearray(8), address=lambda obj: 64)
    assert found["shared"] is False


def test_producer_that_copies_at_each_asking_is_not_shared(monkeypatch):
    class Copier:
        @property
        def __array_interface__(self):
            return ArrayInterface(bytes(8), (8,), "|u1").__array_interface__ | {"data": bytes(8)}

    assert look_at(monkeypatch, lambda _: Copier())["shared"] is False


def test_object_that_lend_refuses_is_a_finding(monkeypatch):
    found = look_at(monkeypatch, lambda _: [1, 2, 3])
    assert found["status"] == "refused"
    assert "list" in found["reason"]


def test_library_that_is_not_installed_is_a_finding(monkeypatch):
    assert look_at(monkeypatch, None, module="surely_not_installed")["status"] == "not installed"


@pytest.mark.parametrize("error", [ImportError, OSError, AttributeError, RuntimeError])
def test_library_that_fails_to_import_is_a_finding(monkeypatch, tmp_path, error):
    (tmp_path / f"broken_{error.__name__}.py").write_text(f"raise {error.__name__}('libmissing.so.1')")
    monkeypatch.syspath_prepend(tmp_path)
    found = look_at(monkeypatch, None, module=f"broken_{error.__name__}")
    assert (found["status"], found["reason"]) == ("broken", f"{error.__name__}: libmissing.so.1")


def test_library_whose_object_cannot_be_made_is_a_finding(monkeypatch):
    def make(module):
        raise RuntimeError("no such driver")

    assert look_at(monkeypatch, make)["reason"] == "RuntimeError: no such driver"


def test_findings_go_through_json():
    found = examine(["bytes", "array"])
    assert json.loads(json.dumps(found)) == found


def test_text_has_the_versions_and_one_line_for_each_library():
    versions, table = render(examine(["bytes", "array"])).split("\n\n")
    assert versions.startswith("lend ")
    assert [line.split()[0] for line in table.splitlines()] == ["library", "bytes", "array"]


def test_text_tells_a_reason_in_place_of_facts(monkeypatch):
    look_at(monkeypatch, None, module="surely_not_installed")
    assert render(examine(["madeup"])).endswith("madeup   not installed")


def test_finding_a_library_absent_imports_nothing(monkeypatch):
    monkeypatch.setattr(doctor, "_imported", lambda module: pytest.fail("imported"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert look_at(monkeypatch, None, module="surely_not_installed")["status"] == "not installed"

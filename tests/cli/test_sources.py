"""What a command is about: an expression in a module, or a file; what gives no object is told in one sentence."""

import os
import sys

import pytest

from lend.cli.sources import NotLoaded, load, load_target
from lend.errors import LendError


def test_expression_is_evaluated_in_its_module():
    assert load("array:array('d', [1.0, 2.0]).tolist()") == [1.0, 2.0]


def test_expression_may_hold_a_colon():
    assert load("builtins:b'abcdef'[1:3]") == b"bc"


def test_module_may_be_inside_a_package():
    assert load("os.path:sep") == os.sep


def test_evaluating_leaves_the_module_as_it_was():
    load("array:(seen := 1)")
    assert not hasattr(sys.modules["array"], "seen")


def test_module_in_the_current_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "mine_in_the_current_folder.py").write_text("data = bytearray(b'abc')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert load("mine_in_the_current_folder:data") == b"abc"


@pytest.mark.parametrize("source", ["array", "array:", ":x", "a b:c", "1a:c", "x.bin", ""])
def test_what_is_neither_expression_nor_file_is_told(source):
    with pytest.raises(NotLoaded, match="is neither"):
        load(source)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("surely_not_installed:x", "ModuleNotFoundError"),
        ("array:nothing", "NameError"),
        ("array:array(", "SyntaxError"),
        ("builtins:1/0", "ZeroDivisionError"),
        ("os:strerror('x')", "TypeError"),
    ],
)
def test_expression_that_raises_is_told_with_its_error(source, says):
    with pytest.raises(NotLoaded, match=says):
        load(source)


def test_expression_that_lend_refuses_stays_a_refusal():
    with pytest.raises(LendError):
        load("lend:view(3)")


def test_interrupted_expression_stays_interrupted():
    with pytest.raises(KeyboardInterrupt):
        load("builtins:exec('raise KeyboardInterrupt')")


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("x.npz", "numpy:load('x.npz')['name']"),
        ("x.bin", "numpy:fromfile('x.bin', 'uint8')"),
        ("x", "numpy:fromfile('x', 'uint8')"),
        ("x.csv", "numpy:loadtxt('x.csv', delimiter=',')"),
    ],
)
def test_file_of_another_kind_is_told_to_be_there_with_the_expression_that_reads_it(tmp_path, monkeypatch, name, way):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(b"anything")
    with pytest.raises(NotLoaded) as told:
        load(name)
    assert str(told.value) == f"{name} is there and is no .npy file; as an expression: {way}" + (
        ", its bytes" if "fromfile" in way else ", one of its arrays" if name == "x.npz" else ""
    )


def test_folder_is_told_to_be_one(tmp_path):
    with pytest.raises(NotLoaded, match="is a folder; the path of a .npy file is read"):
        load(str(tmp_path))


def test_file_that_begins_as_a_npy_file_is_one_whatever_it_is_called(tmp_path):
    numpy = pytest.importorskip("numpy")
    with (tmp_path / "data").open("wb") as file:
        numpy.save(file, numpy.arange(3))
    assert load(str(tmp_path / "data")).tolist() == [0, 1, 2]


def test_neither_has_its_nor():
    with pytest.raises(NotLoaded) as told:
        load("x.bin")
    assert str(told.value) == (
        "'x.bin' is neither module:expression (such as numpy:arange(6)) nor the path of a .npy file"
    )


@pytest.mark.parametrize(("text", "target"), [("numpy", "numpy"), ("builtins:bytes", bytes), ("PIL.x", "PIL.x")])
def test_target_is_a_name_or_what_an_expression_gives(text, target):
    assert load_target(text) == target


def test_file_that_is_not_there_is_told():
    with pytest.raises(NotLoaded, match=r"cannot open nowhere\.npy: No such file"):
        load("nowhere.npy")

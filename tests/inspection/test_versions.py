"""lend.show_versions: what a bug report needs, without importing any of it."""

import importlib.metadata
import io
import platform

import lend
from lend.inspection.versions import show_versions, versions
from support import children


def test_versions_begin_with_lend_python_and_platform():
    assert list(versions())[:3] == ["lend", "python", "platform"]


def test_version_of_lend_is_told():
    assert versions()["lend"] == lend.__version__


def test_version_of_python_is_told():
    assert platform.python_version() in versions()["python"]


def test_installed_library_is_told_with_its_version(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", {"numpy": "9.9"}.get)
    assert versions()["numpy"] == "9.9"


def test_library_that_is_not_installed_is_left_out(monkeypatch):
    def nothing(distribution):
        raise importlib.metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(importlib.metadata, "version", nothing)
    assert list(versions()) == ["lend", "python", "platform"]


def test_versions_are_printed_one_a_line():
    file = io.StringIO()
    show_versions(file)
    assert [line.split()[0] for line in file.getvalue().splitlines()] == list(versions())


def test_versions_are_printed_on_standard_output(capsys):
    show_versions()
    assert capsys.readouterr().out.startswith("lend ")


def test_telling_versions_imports_no_library():
    out = children.run_clean(
        """
        import io, sys
        from lend.inspection.versions import show_versions
        show_versions(io.StringIO())
        print(*sorted({"numpy", "torch", "jax", "pyarrow", "PIL", "tvm_ffi", "ml_dtypes"} & set(sys.modules)))
        """
    )
    assert out.split() == []

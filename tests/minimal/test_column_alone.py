"""The file alone, copied into an empty folder, in a fresh interpreter that has no lend."""

import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

from lend import minimal


def alone(folder, snippet):
    """What the snippet prints, run with -I; `lent` is the copied file, and of lend nothing may be found."""
    shutil.copy(pathlib.Path(minimal.__file__), folder / "lent.py")
    start = f"import sys; sys.path.append({str(folder)!r}); sys.modules['lend'] = None; import lent\n"
    child = subprocess.run(
        [sys.executable, "-I", "-c", start + textwrap.dedent(snippet)], capture_output=True, text=True, timeout=120
    )
    assert (child.returncode, child.stderr) == (0, "")
    return child.stdout


def test_a_polars_frame_is_read(tmp_path):
    pytest.importorskip("polars")
    snippet = """
    import polars
    frame = polars.DataFrame({"a": [1, None, 3], "b": ["x", "a text of some length", None]})
    print(lent.column(frame).tolist() == frame.to_dicts())
    """
    assert alone(tmp_path, snippet) == "True\n"


def test_a_column_needs_nothing_but_the_standard_library(tmp_path):
    snippet = """
    column = lent.column(memoryview(b"abc").cast("b"))
    print(column.tolist(), column.__dataframe__().get_column(0).dtype)
    print(sorted(name for name in ("numpy", "pyarrow", "decimal", "datetime", "zoneinfo") if name in sys.modules))
    """
    assert alone(tmp_path, snippet) == "[97, 98, 99] (0, 8, 'c', '=')\n[]\n"

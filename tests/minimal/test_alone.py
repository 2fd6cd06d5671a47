"""The file by itself: copied into an empty folder, with no lend to be had, in a fresh interpreter."""

import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

from lend import minimal

WITHOUT_LEND = """
import sys
sys.modules["lend"] = None  # whoever asks for it is refused
sys.path.insert(0, sys.argv[1])
"""


@pytest.fixture
def alone(tmp_path):
    """What runs a snippet beside a copy of the file, and gives what it printed."""
    shutil.copy(minimal.__file__, tmp_path / "borrowed.py")

    def run(snippet, *args):
        command = [sys.executable, "-I", "-B", "-c", WITHOUT_LEND + textwrap.dedent(snippet), tmp_path, *args]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def test_it_imports_the_standard_library_and_nothing_else(alone):
    names = alone("""
        before = set(sys.modules)
        import borrowed
        print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
    """).split()
    assert "borrowed" in names
    assert set(names) - {"borrowed"} <= sys.stdlib_module_names


def test_it_loads_few_modules(alone):
    names = alone("""
        before = set(sys.modules)
        import borrowed
        print(*(set(sys.modules) - before))
    """).split()
    # ctypes with struct and types, and what this file names
    assert len(names) <= 12, names


def test_it_reads_bytes_and_a_bytearray(alone):
    snippet = """
        import borrowed
        text, room = b"abc", bytearray(b"abc")
        for lender in text, room:
            taken = borrowed.array(lender)
            print(taken, taken.tolist(), bytes(taken.memoryview()))
        borrowed.array(room).memoryview()[0] = 0
        print(room)
    """
    assert alone(snippet).splitlines() == [
        "<Array |u1[3] on device (1, 0), read-only> [97, 98, 99] b'abc'",
        "<Array |u1[3] on device (1, 0)> [97, 98, 99] b'abc'",
        "bytearray(b'\\x00bc')",
    ]


def test_it_reads_a_read_only_map_of_a_file(alone, tmp_path):
    path = pathlib.Path(tmp_path) / "numbers"
    path.write_bytes(b"0123456789")
    snippet = """
        import borrowed, mmap
        with open(sys.argv[2], "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        span = borrowed.buffer(mapped)[2:5]
        print(span, bytes(span.memoryview()))
        try:
            mapped.close()
        except BufferError:
            print("held")
        del span
        mapped.close()
    """
    told = ["<Buffer |u1[3] on device (1, 0), read-only> b'234'", "held"]
    assert alone(snippet, path).splitlines() == told


def test_it_reads_a_torch_tensor_and_a_numpy_array(alone):
    pytest.importorskip("torch")
    pytest.importorskip("numpy")
    snippet = """
        import borrowed, numpy, torch
        tensor = torch.arange(6).reshape(2, 3).T
        taken = borrowed.array(tensor)
        print(taken.shape, taken.strides, taken.dtype, taken.tolist(), taken.ptr == tensor.data_ptr())
        array = numpy.array([0, 1, 2], "M8[D]")
        print(borrowed.array(array), borrowed.array(array).tolist())
        print(numpy.shares_memory(numpy.asarray(borrowed.array(array)), array))
    """
    assert alone(snippet).splitlines() == [
        "(3, 2) (8, 24) <i8 [[0, 3], [1, 4], [2, 5]] True",
        "<Array <M8[D][3] on device (1, 0)> [0, 1, 2]",
        "True",
    ]


def test_it_says_its_version_and_its_licence():
    text = pathlib.Path(minimal.__file__).read_text(encoding="utf-8")
    assert f"lend.minimal version {minimal.__version__}. " in text
    assert "Apache License, Version 2.0" in text

"""What Cython may cimport from lend: the constants of lend.h, all of them, and nothing that the header has not."""

import pathlib
import re
import subprocess
import sys

import pytest

import lend
from lend.errors import NotHostAccessible
from support.c_modules import compile_module

FOLDER = pathlib.Path(lend.get_include())
HEADER = re.sub(r"/\*.*?\*/", "", (FOLDER / "lend.h").read_text(encoding="utf-8"), flags=re.DOTALL)
CIMPORTED = (FOLDER.parent / "__init__.pxd").read_text(encoding="utf-8")
CONSTANTS = re.findall(r"\bLEND_\w+", " ".join(re.findall(r"^enum \{(.*?)^\};", HEADER, re.MULTILINE | re.DOTALL)))


@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_constant_of_the_header_may_be_cimported(constant):
    assert re.search(rf"\b{constant}\b", CIMPORTED)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\blend_\w+|\bLEND_\w+", CIMPORTED))))
def test_what_may_be_cimported_stands_in_the_header(name):
    assert re.search(rf"\b{name}\b", HEADER)


EVERYTHING = """
from libc.stdlib cimport free, malloc
from lend cimport *

lend_import()

def held(obj):
    cdef lend_request want = lend_request_init()
    cdef lend_view v = lend_view_init()
    want.align = 1
    lend_acquire(obj, &want, &v)
    lend_host_access(&v)
    shape, strides = [lend_shape(&v)[i] for i in range(v.ndim)], [lend_strides(&v)[i] for i in range(v.ndim)]
    told = (lend_size(&v), v.ndim, shape, strides,
            lend_holds(&v, LEND_FLOAT, 8), <size_t> lend_data(&v), v.flags & LEND_READONLY, v.dtype.bits)
    with nogil:
        lend_release(&v)
    return told

def away(obj):
    cdef lend_view v = lend_view_init()
    lend_acquire(obj, NULL, &v)
    try:
        lend_host_access(&v)
    finally:
        lend_release(&v)

cdef int freed = 0

cdef void give_back(void* block) noexcept:
    global freed
    freed += 1
    free(block)

def of_our_own(int n):
    cdef lend_view said = lend_view_init()
    cdef int i
    cdef double* block = <double*> malloc(n * sizeof(double))
    for i in range(n):
        block[i] = i
    said.data, said.dtype, said.device_type, said.ndim = block, lend_native(LEND_FLOAT, 64), 1, 1
    said.dims[0] = n
    said.flags = LEND_C_CONTIGUOUS
    return lend_wrap(&said, None, give_back, block)

def given_back():
    return freed
"""


@pytest.fixture(scope="module", params=["C", "C++"])
def module(request, tmp_path_factory):
    pytest.importorskip("Cython")
    folder = tmp_path_factory.mktemp("everything")
    source = folder / "everything.pyx"
    source.write_text(EVERYTHING, encoding="utf-8")
    plus = ["--cplus"] if request.param == "C++" else []
    command = [sys.executable, "-m", "cython", "-3", *plus, "-o", "everything.c", str(source)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert run.returncode == 0, run.stdout + run.stderr
    flags = ["-w", "-Wno-unused-function", *(["-x", "c++", "-std=c++11"] if plus else [])]
    return compile_module(folder / "everything.c", "everything", folder, flags=flags)


def test_cython_holds_an_array_and_gives_it_back_without_the_gil(module):
    lender = bytearray(48)
    view = lend.buffer(lender).view("float64", (2, 3))
    assert module.held(view) == (6, 2, [2, 3], [24, 8], True, view.ptr, 0, 64)
    del view
    lender.extend(b"x")


def test_cython_asks_whether_the_host_may_read(module):
    with pytest.raises(NotHostAccessible):
        module.away(lend.View.from_pointer(4096, (2,), "float32", owner=b"", device="cuda:0"))


def test_cython_lends_memory_of_its_own_until_the_last_user_has_gone(module):
    view = module.of_our_own(4)
    part, before = view[1:], module.given_back()
    del view
    assert (part.tolist(), module.given_back()) == ([1.0, 2.0, 3.0], before)
    del part
    assert module.given_back() == before + 1

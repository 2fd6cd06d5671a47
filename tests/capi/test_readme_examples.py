"""The examples of README.md in C and Cython, as they stand there, compiled and used."""

import array
import re
import subprocess
import sys

import pytest

import lend
from lend.errors import CopyRequired, NotLendable, UnsupportedLayout, UnsupportedType
from support.c_modules import compile_module
from support.source_tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOUBLES = array.array("d", [1.0, 2.0, 3.5])

MODULE = """
static PyMethodDef methods[] = {{"total", total, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "readme_c", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_readme_c(void) { return PyModule_Create(&definition); }
"""


def block(language):
    return re.search(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[1]


def in_c(folder):
    source = folder / "readme_c.c"
    source.write_text(block("c") + MODULE, encoding="utf-8")
    return compile_module(source, "readme_c", folder, flags=["-std=c99", "-DPy_LIMITED_API=0x030b0000"])


def in_cython(folder):
    pytest.importorskip("Cython")
    source = folder / "readme_cython.pyx"
    source.write_text(block("cython"), encoding="utf-8")
    command = [sys.executable, "-m", "cython", "-3", str(source)]  # finds the installed lend
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert run.returncode == 0, run.stdout + run.stderr
    return compile_module(source.with_suffix(".c"), "readme_cython", folder, flags=["-Wno-unused-function", "-w"])


@pytest.fixture(scope="module", params=[in_c, in_cython], ids=["C", "Cython"])
def total(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("readme")).total


def test_the_example_sums_an_array(total):
    assert total(DOUBLES) == 6.5


def test_the_example_sums_what_has_gaps_and_runs_backwards(total):
    assert total(lend.view(DOUBLES)[::-2]) == 4.5


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_example_sums_the_arrays_of_libraries(total, library):
    module = pytest.importorskip(library)
    assert total(module.ones(5, dtype=module.float64)) == 5.0


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ([1.0], NotLendable),
        (array.array("f", [1.0]), UnsupportedType),
        (lend.view(DOUBLES).reshape(3, 1), UnsupportedLayout),
        (lend.view(bytes(9))[1:].reinterpret("float64"), CopyRequired),
    ],
    ids=["a list", "floats", "two dimensions", "unaligned"],
)
def test_the_example_refuses_what_it_cannot_take(total, wrong, error):
    with pytest.raises(error):
        total(wrong)


def test_the_examples_are_as_short_as_it_is_said():
    assert len(block("c").strip().splitlines()) <= 20
    assert len(block("cython").strip().splitlines()) - 2 <= 12


WRAPS = """
#include "lend.h"
#include <stdlib.h>
static int freed = 0;
static void counted(void *block) { freed++; free(block); }
static PyObject *doubles(PyObject *module, PyObject *none) {
    const int64_t n = 3;
    double *block = (double *)malloc(n * sizeof(double));
    for (int i = 0; i < n; i++) block[i] = i + 0.5;
@EXAMPLE@}
static PyObject *freed_so_far(PyObject *module, PyObject *none) { return PyLong_FromLong(freed); }
static PyMethodDef methods[] = {{"doubles", doubles, METH_NOARGS, NULL},
                                {"freed_so_far", freed_so_far, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "wrapping", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_wrapping(void) { return PyModule_Create(&definition); }
"""


def test_the_example_that_wraps_memory_lends_it_and_gets_it_back_once(tmp_path):
    example = re.findall(r"^```c\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[1]
    source = tmp_path / "wrapping.c"
    source.write_text(WRAPS.replace("@EXAMPLE@", example.replace("free, block", "counted, block")), encoding="utf-8")
    module = compile_module(source, "wrapping", tmp_path, flags=["-std=c99", "-DPy_LIMITED_API=0x030b0000"])
    view = module.doubles()
    part = memoryview(view)[1:]
    del view
    assert (part.tolist(), module.freed_so_far()) == ([1.5, 2.5], 0)
    del part
    assert module.freed_so_far() == 1


ARROW = """
#include "lend.h"
static int64_t seen;
static void use(const char *element) { int64_t value; memcpy(&value, element, sizeof(value)); seen += value; }
static PyObject *used(PyObject *self, PyObject *object) {
    seen = 0;
%s
    return PyLong_FromLongLong(seen);
}
static PyMethodDef methods[] = {{"used", used, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "readme_arrow", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_readme_arrow(void) { return PyModule_Create(&module); }
"""


def test_the_example_of_columns_walks_along_a_column(tmp_path):
    example = re.findall(r"^```c\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[2]
    (tmp_path / "readme_arrow.c").write_text(ARROW % example, encoding="utf-8")
    module = compile_module(tmp_path / "readme_arrow.c", "readme_arrow", tmp_path, flags=["-std=c99"])
    assert module.used(lend.view(array.array("q", [1, 2, 3, 4]))[::-2]) == 6

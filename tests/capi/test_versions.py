"""Modules built with another lend.h than the installed lend has: only what both know is used, or the import is refused.

Both structs and the table grow at their ends alone. The headers and tables of other versions are made here, from the
present ones.
"""

import pathlib
import subprocess
import sys
import sysconfig

import pytest

import lend
from support.c_modules import compile_module

HERE = pathlib.Path(__file__).parent
HEADER = pathlib.Path(lend.get_include(), "lend.h").read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(not sysconfig.get_config_var("LDSHARED"), reason="no compiler is known here")


def changed(*replacements):
    text = HEADER
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return text


# a later minor version: one more function, a longer lend_view and a longer lend_request
LATER = changed(
    ("#define LEND_ABI_MINOR 0", "#define LEND_ABI_MINOR 3"),
    (
        "                         lend_column *column);\n} lend_api;",
        "                         lend_column *column);\n    int (*later)(int);\n} lend_api;",
    ),
    ("    void *reserved[2];\n} lend_view;", "    void *reserved[2];\n    int64_t later[4];\n} lend_view;"),
    ("    void *stream;        /* yours, to order device memory on */\n}", "    void *stream;\n    int64_t later;\n}"),
    ("NULL, NULL, NULL, NULL, {NULL, NULL}}", "NULL, NULL, NULL, NULL, {NULL, NULL}, {0, 0, 0, 0}}"),
    ("-1, 0, 0, 0, NULL}", "-1, 0, 0, 0, NULL, 0}"),
    ("sizeof(lend_view) == 240", "sizeof(lend_view) == 272"),
    ("sizeof(lend_request) == 48", "sizeof(lend_request) == 56"),
)

ASKS = r"""
#include "lend.h"
static PyObject *has_later(PyObject *module, PyObject *none) { return PyBool_FromLong(LEND_HAS(later)); }
static PyObject *size(PyObject *module, PyObject *object) {
    lend_view v;
    lend_request r = LEND_REQUEST_INIT;
    PyObject *made;
    r.ndim = 1;
    if (lend_acquire(object, &r, &v) < 0) return NULL;
    made = PyLong_FromLongLong(lend_size(&v));
    lend_release(&v);
    if (lend_borrow(object, &r, &v) < 0) return NULL;
    lend_release(&v);
    return made;
}
static PyMethodDef methods[] = {{"has_later", has_later, METH_NOARGS, NULL}, {"size", size, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "asks", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_asks(void) { return lend_import() < 0 ? NULL : PyModule_Create(&definition); }
"""

# puts a table of another version in the place of lend's own, before a module of today's lend.h looks for it
TABLE = r"""
#include "lend.h"
static struct { lend_api known; int (*later)(int); } table;
static PyObject *install(PyObject *module, PyObject *args) {
    unsigned int major, minor;
    PyObject *capi, *capsule;
    if (!PyArg_ParseTuple(args, "II", &major, &minor) || lend_import() < 0) return NULL;
    table.known = *lend_functions;
    table.known.major = major;
    table.known.minor = minor;
    table.known.size = sizeof(table);
    capi = PyImport_ImportModule("lend.capi");
    capsule = PyCapsule_New(&table, LEND_API_NAME, NULL);
    if (capi == NULL || capsule == NULL || PyObject_SetAttrString(capi, "API", capsule) < 0) return NULL;
    Py_DECREF(capi);
    Py_DECREF(capsule);
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"install", install, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "table", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_table(void) { return PyModule_Create(&definition); }
"""


def build(folder, name, text, header=None):
    (folder / f"{name}.c").write_text(text, encoding="utf-8")
    if header is not None:
        (folder / "lend.h").write_text(header, encoding="utf-8")
    return compile_module(folder / f"{name}.c", name, folder, flags=["-std=c11"])


def run(folder, major, minor):
    """What a module of today's header says of `b"abcd"` when lend's table is of another version."""
    build(folder, "table", TABLE)
    build(folder, "asks", ASKS.replace("LEND_HAS(later)", "LEND_HAS(host_access)"))
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); import table; table.install({major}, {minor}); "
        "import asks; print(asks.has_later(), asks.size(b'abcd'))"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_module_of_a_later_header_works_with_the_present_table(tmp_path):
    module = build(tmp_path, "asks", ASKS, LATER)
    assert module.size(b"abcd") == 4


def test_a_module_of_a_later_header_sees_which_functions_are_missing(tmp_path):
    assert build(tmp_path, "asks", ASKS, LATER).has_later() is False


def test_a_module_of_the_present_header_works_with_a_later_table(tmp_path):
    done = run(tmp_path, 1, 3)
    assert (done.stdout, done.stderr) == ("True 4\n", "")


def test_a_module_of_the_present_header_is_refused_by_a_table_of_another_major_version(tmp_path):
    done = run(tmp_path, 2, 0)
    assert done.stdout == ""
    assert done.stderr.endswith(
        "ImportError: this module was built with lend.h of ABI 1, and the installed lend has 2\n"
    )

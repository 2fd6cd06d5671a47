"""A consumer of lend.h written with cffi: it calls without the GIL, so what needs the GIL takes it."""

import array
import sysconfig
import threading

import pytest

import lend
from support.c_modules import compile_module
from support.counting import CountingBuffer, CountingDLPack

cffi = pytest.importorskip("cffi", reason="the consumer is written with cffi")

FIVE = array.array("d", range(5))
DECLARED = """
    typedef struct { int64_t nbytes; int32_t device_type; int32_t ndim; uint32_t flags; ...; } lend_view;
    int take(void *object, lend_view *view, char *why, size_t room);
    double sum(const lend_view *view);
    void lend_release(lend_view *view);
"""

SOURCE = """
#include "lend.h"
#include <stdio.h>

/* 0, or -1 with the reason in `why`: cffi calls without the GIL, and has no way to pass an exception on. */
static int take(void *object, lend_view *view, char *why, size_t room) {
    PyGILState_STATE state = PyGILState_Ensure();
    lend_request request = LEND_REQUEST_INIT;
    int failed;
    request.dtype = lend_native(LEND_FLOAT, 64);
    request.ndim = 1;
    request.device_type = 1;
    failed = lend_import() < 0 || lend_acquire((PyObject *)object, &request, view) < 0;
    if (failed) {
        PyObject *kind, *value, *trace, *text, *bytes;
        PyErr_Fetch(&kind, &value, &trace);
        text = value == NULL ? NULL : PyObject_Str(value);
        bytes = text == NULL ? NULL : PyUnicode_AsUTF8String(text); /* cffi compiles for the Limited API of 3.2 */
        snprintf(why, room, "%s", bytes == NULL ? "no reason was given" : PyBytes_AsString(bytes));
        PyErr_Clear();
        Py_XDECREF(bytes);
        Py_XDECREF(text);
        Py_XDECREF(kind);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    }
    PyGILState_Release(state);
    return failed ? -1 : 0;
}

static double sum(const lend_view *view) {
    const char *at = (const char *)lend_data(view);
    double total = 0;
    int64_t i;
    for (i = 0; i < lend_shape(view)[0]; i++) total += *(const double *)(at + i * lend_strides(view)[0]);
    return total;
}
"""


@pytest.fixture(scope="module")
def cffi_module(tmp_path_factory):
    if not sysconfig.get_config_var("LDSHARED"):
        pytest.skip("no compiler is known")
    folder = tmp_path_factory.mktemp("cffi")
    builder = cffi.FFI()
    builder.cdef(DECLARED)
    builder.set_source("by_cffi", SOURCE)
    builder.emit_c_code(str(folder / "by_cffi.c"))
    flags = ["-w", "-Werror=implicit-function-declaration"]  # what cffi writes is not ours to warn of
    return compile_module(folder / "by_cffi.c", "by_cffi", folder, flags=flags)


@pytest.fixture
def take(cffi_module):
    """Take an object: a lend_view, or BufferError with the reason."""
    ffi, lib = cffi_module.ffi, cffi_module.lib

    def take(obj):
        view, why = ffi.new("lend_view *"), ffi.new("char[1000]")
        if lib.take(ffi.cast("void *", id(obj)), view, why, len(why)) < 0:
            raise BufferError(ffi.string(why).decode())
        return view

    return take


@pytest.mark.parametrize("make", [
    lambda: FIVE, lambda: memoryview(FIVE)[::-1], lambda: lend.view(FIVE),
    lambda: CountingDLPack(FIVE.tobytes(), (5,), dtype=(2, 64, 1)),
], ids=["array", "memoryview backwards", "view", "dlpack"])  # fmt: skip
def test_cffi_reads_the_memory_of_any_producer(cffi_module, take, make):
    held = make()
    view = take(held)
    assert (cffi_module.lib.sum(view), view.nbytes, view.ndim) == (10.0, 40, 1)
    cffi_module.lib.lend_release(view)


def test_cffi_is_told_why_it_is_refused(take):
    with pytest.raises(BufferError, match="lend does not convert values"):
        take(array.array("i", [1]))


@pytest.mark.parametrize("elsewhere", [False, True], ids=["this thread", "a thread of its own"])
def test_cffi_gives_a_lease_back_once_and_without_the_gil(cffi_module, take, elsewhere):
    producer = CountingBuffer(bytes(16), format="d", itemsize=8)
    view = take(producer)
    assert producer.live == 1
    if elsewhere:
        thread = threading.Thread(target=cffi_module.lib.lend_release, args=(view,))
        thread.start()
        thread.join()
    else:
        cffi_module.lib.lend_release(view)
    assert producer.audit() == []
    cffi_module.lib.lend_release(view)  # a second release does nothing
    assert producer.audit() == []

"""The double of HIP: the driver's memory and streams under the names and numbers of ROCm's runtime."""

import pytest

from support import fakecuda

START = """
import ctypes, os
from support.fakecuda import fake

class Attributes(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("device", ctypes.c_int), ("devicePointer", ctypes.c_void_p),
                ("hostPointer", ctypes.c_void_p), ("isManaged", ctypes.c_int), ("allocationFlags", ctypes.c_uint)]

made = lambda name, *rest: fake.out(name, fake.SIZE(64), *rest)
def ask(p):
    a = Attributes()
    rc = fake.rc("hipPointerGetAttributes", ctypes.byref(a), fake.PTR(p))
    host = {None: "none", p: "same"}.get(a.hostPointer, "other")
    return rc or (a.type, a.device, a.devicePointer == p, host, a.isManaged)
memory = ctypes.create_string_buffer(64)
"""
ALL = """
fake.ok("hipSetDevice", 1)
print(*map(ask, (made("hipMalloc"), made("hipHostMalloc", 0), made("hipMallocManaged", 1), ctypes.addressof(memory))))
"""
DEVICE, PINNED, MANAGED = "1, True, 'none', 0", "1, True, 'same', 0", "1, True, 'same', 1"
ANSWERS = {
    5: f"(1, {DEVICE}) (0, {PINNED}) (4, {MANAGED}) 1",
    6: f"(2, {DEVICE}) (1, {PINNED}) (3, {MANAGED}) 1",
    7: f"(2, {DEVICE}) (1, {PINNED}) (3, {MANAGED}) (0, -2, False, 'none', 0)",
}


@pytest.mark.parametrize("release", ANSWERS)
def test_pointers_answer_with_the_numbers_of_the_release(release):
    assert fakecuda.run_clean(START + ALL, hip=release) == ANSWERS[release] + "\n"


def test_an_unknown_pointer_is_no_error_where_that_was_asked():
    answer = fakecuda.run_clean(START + "print(ask(ctypes.addressof(memory)))", hip=6, fakehip_unknown=0)
    assert answer == "(0, -2, False, 'none', 0)\n"


def test_there_is_no_cuda_driver_beside_it():
    snippet = """
for name in ("libcuda.so.1", "libamdhip64.so.6"):
    try: ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError: print("absent", end=" ")
    else: print("loaded", end=" ")
"""
    assert fakecuda.run_clean(START + snippet, hip=6).split() == ["absent", "loaded"]


def test_the_host_that_touches_its_memory_dies_of_it():
    assert fakecuda.outcome(START + "fake.touch(made('hipMalloc'))", hip=6) == "device memory"


def test_work_runs_when_it_is_waited_for():
    snippet = """
p, s = made("hipMalloc"), fake.out("hipStreamCreateWithFlags", 1)
fake.ok("hipMemsetAsync", fake.PTR(p), 7, fake.SIZE(64), fake.PTR(s))
print(fake.peek(p, 1)[0], end=" ")
fake.ok("hipStreamSynchronize", fake.PTR(s))
print(fake.peek(p, 1)[0], fake.calls("hipMemsetAsync"))
"""
    assert fakecuda.run_clean(START + snippet, hip=6).split() == ["205", "7", "1"]


def test_asking_whether_a_device_is_in_use_does_not_begin_its_use():
    snippet = """
on, flags = ctypes.c_int(7), ctypes.c_uint()
ask_state = lambda: (fake.rc("hipDevicePrimaryCtxGetState", 0, ctypes.byref(flags), ctypes.byref(on)), on.value)
print(ask_state(), end=" ")
made("hipMalloc")
print(ask_state())
"""
    assert fakecuda.run_clean(START + snippet, hip=6) == "(0, 0) (0, 1)\n"

"""The double of the driver: what the host must not touch kills it, and every kind of memory answers as documented."""

import pytest

from support import fakecuda

START = "from support.fakecuda import fake\nfake.init()\n"


def outcome(snippet, **keywords):
    return fakecuda.outcome(START + snippet, **keywords)


FORBIDDEN = {
    "device": "fake.touch(fake.malloc_device(64))",
    "inside a device block": "fake.touch(fake.malloc_device(64) + 63)",
    "pool": "fake.touch(fake.malloc_pool(64))",
    "freed device": "p = fake.malloc_device(64); fake.free(p); fake.touch(p)",
    "the second device": "fake.use(1); fake.touch(fake.malloc_device(64))",
    "created on a device": "fake.touch(fake.Mapped().address)",
    "unmapped": "m = fake.Mapped(device=None, access=('device', 'host')); m.unmap(); fake.touch(m.address)",
    "node of the host without access": "fake.touch(fake.Mapped(device=None).address)",
    "written": "fake.ctypes.memset(fake.malloc_device(64), 0, 64)",
    "by a system call that copies": "fake.ctypes.memmove((fake.BYTE * 4)(), fake.malloc_device(64), 4)",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_a_host_that_touches_device_memory_dies_of_it(what):
    assert outcome(FORBIDDEN[what]) == "device memory"


def test_a_host_that_touches_pinned_memory_after_its_free_dies_of_it():
    assert outcome("p = fake.malloc_pinned(64); fake.free(p); fake.touch(p)") == "freed pinned memory"


def test_a_numpy_array_over_a_lying_interface_dies_of_device_memory():
    pytest.importorskip("numpy")
    lie = """
    import numpy
    class Liar: __array_interface__ = dict(shape=(4,), typestr="<i8", data=(fake.malloc_device(64), False), version=3)
    numpy.asarray(Liar()).sum()
    """
    assert fakecuda.outcome(START + "\n".join(line.strip() for line in lie.splitlines())) == "device memory"


def test_a_crash_for_another_reason_is_not_taken_for_a_touch():
    with pytest.raises(AssertionError, match="exit status -11"):
        outcome("fake.touch(8)")


ALLOWED = {
    "pinned": ("fake.malloc_pinned(b'a')", "97"),
    "managed": ("fake.malloc_managed(b'a')", "97"),
    "managed from a pool": ("fake.malloc_pool_managed(b'a')", "97"),
    "registered": ("(kept := fake.malloc_registered(b'a')).address", "97"),
    "node of the host": ("fake.Mapped(device=None, access=('device', 'host')).address", "205"),
}


@pytest.mark.parametrize("what", ALLOWED)
def test_the_host_reads_memory_that_it_may(what):
    made, value = ALLOWED[what]
    assert outcome(f"print(fake.touch({made}))") == value


def test_device_memory_is_readable_where_the_host_has_access():
    assert outcome("print(fake.touch(fake.malloc_device(4)))", device_host_access=1) == "205"


def test_the_device_alias_of_registered_memory_is_not_for_the_host():
    made = "r = fake.malloc_registered(b'abcd')\n"
    read = "print(fake.touch(r.address), r.device == r.address, fake.d2h(r.device, 4))\nfake.touch(r.device)"
    assert outcome(made + "print(r.device == r.address)") == "True"
    assert outcome(made + read, register_disjoint=1) == "device memory"
    assert outcome(made + read.splitlines()[0], register_disjoint=1) == "97 False b'abcd'"


def test_fresh_memory_and_what_was_put_there_can_be_looked_at_without_a_call():
    snippet = "p, q = fake.malloc_device(2), fake.malloc_device(b'ab'); fake.reset()\n"
    assert outcome(snippet + "print(fake.peek(p, 2), fake.peek(q, 2), fake.all_calls())") == r"b'\xcd\xcd' b'ab' 0"


def test_a_copy_past_the_end_or_after_the_free_is_refused_at_the_call():
    snippet = """
p = fake.malloc_device(64)
room = (fake.BYTE * 64)()
read = lambda at, n: fake.rc("cuMemcpyDtoH_v2", room, fake.U64(at), fake.SIZE(n))
print(read(p, 64), read(p + 1, 64), read(p + 64, 1))
fake.free(p)
print(read(p, 64))
"""
    assert outcome(snippet) == "0 1 1\n1"


def test_managed_memory_has_other_bytes_after_its_free():
    assert outcome("p = fake.malloc_managed(b'a'); fake.free(p); print(fake.touch(p))") == "221"


def test_work_on_memory_freed_before_it_runs_is_an_error_for_good():
    snippet = """
p, s = fake.malloc_device(64), fake.stream()
fake.memset_async(p, 1, 64, s)
fake.free_async(p, other := fake.stream())    # not ordered after the fill
fake.sync(other)
print(fake.rc("cuCtxSynchronize"), fake.rc("cuCtxSynchronize"))
"""
    assert outcome(snippet) == "700 700"


def test_live_memory_is_counted():
    snippet = """
print(fake.live(), end=" ")
kinds = fake.malloc_device, fake.malloc_pinned, fake.malloc_managed, fake.malloc_pool, fake.malloc_pool_managed
made = [make(4) for make in kinds]
r = fake.malloc_registered(4)
print(fake.live(), end=" ")
r.unregister()
for p in made: fake.free(p)
print(fake.live())
"""
    assert outcome(snippet) == "0 6 0"


def test_write_combined_pinned_memory_says_so():
    snippet = """
import ctypes
def flags(p): return fake.out("cuMemHostGetFlags", fake.PTR(p), kind=ctypes.c_uint)
print(flags(fake.malloc_pinned(4)), flags(fake.malloc_pinned(4, fake.WRITE_COMBINED)))
"""
    assert outcome(snippet) == "0 4"


def test_a_created_block_without_access_is_refused_to_the_device_too():
    snippet = """
m = fake.Mapped(access=())
print(fake.rc("cuMemcpyDtoH_v2", (fake.BYTE * 4)(), fake.U64(m.address), fake.SIZE(4)))
"""
    assert outcome(snippet) == "1"

"""The double of the driver: calls are counted and made to fail, contexts are watched, a forked child has no driver."""

from support import fakecuda

START = "from support.fakecuda import fake\nfake.init()\n"


def told(snippet, **keywords):
    return fakecuda.run_clean(START + snippet, **keywords).split()


def test_calls_are_counted_by_name_with_their_versions():
    snippet = """
p = fake.malloc_device(4)
fake.d2h(p, 4)
print(fake.calls("cuMemAlloc"), fake.calls("cuMemAlloc_v2"), fake.calls("cuMemAllocManaged"), fake.copies(), end=" ")
fake.reset()
print(fake.calls("cuMemAlloc"), fake.copies(), fake.all_calls())
"""
    assert told(snippet) == ["1", "1", "0", "1", "0", "0", "0"]


def test_a_call_fails_as_asked_and_its_neighbours_do_not():
    snippet = """
read = lambda: fake.rc("cuMemcpyDtoHAsync_v2", room, fake.U64(p), fake.SIZE(4), None)
p, room = fake.malloc_device(4), (fake.BYTE * 4)()
print(read(), read(), read(), fake.rc("cuMemcpyDtoH_v2", room, fake.U64(p), fake.SIZE(4)), end=" ")
fake.fail("cuMemcpyDtoHAsync", 2, 1)
print(read(), read(), end=" ")
fake.fail("cuMemcpyDtoHAsync", 3)
print(read(), read(), end=" ")
fake.fail("cuMemcpyDtoHAsync", 3, 0)
print(read())
"""
    assert told(snippet, fail="cuMemcpyDtoHAsync:1:2,cuCtxGetFlags:9") == ["1", "1", "0", "0", "2", "0", "3", "3", "0"]


def test_a_fault_of_the_device_stays():
    snippet = """
fake.fail("cuStreamQuery", 719, 1)
print(fake.rc("cuStreamQuery", None), fake.rc("cuStreamQuery", None), fake.rc("cuCtxSynchronize"))
"""
    assert told(snippet) == ["719", "719", "719"]


def test_a_knob_that_cannot_be_read_ends_the_child():
    result = fakecuda.run("", fail="nonsense")
    assert result.rc == -6 and "FAKECUDA_FAIL is name:code" in result.err


def test_the_stack_of_contexts_can_be_watched():
    snippet = """
print(fake.depth(), fake.refs(0), fake.refs(1), fake.is_active(0), fake.is_active(1), end=" ")
one = fake.retain(1)
fake.push(one)
print(fake.depth(), fake.refs(1), fake.is_active(1), fake.current() == one, end=" ")
print(fake.pop() == one, fake.depth(), end=" ")
fake.release(1)
print(fake.refs(1), fake.rc("cuDevicePrimaryCtxRelease_v2", 1), fake.rc("cuCtxPushCurrent_v2", None))
"""
    assert told(snippet) == ["1", "1", "0", "True", "False", "2", "1", "True", "True", "True", "1", "0", "201", "1"]


def test_a_thread_begins_without_a_context():
    snippet = """
import threading
thread = threading.Thread(target=lambda: print(fake.depth(), fake.rc("cuCtxSynchronize"), fake.current()))
thread.start(); thread.join()
"""
    assert told(snippet) == ["0", "201", "None"]


def test_nothing_works_before_init():
    snippet = "from support.fakecuda import fake; print(fake.rc('cuCtxGetCurrent', fake.PTR()), fake.all_calls())"
    assert fakecuda.run_clean(snippet) == "3 1\n"


FORKED = """
import os
p = fake.malloc_device(b"a")
child = os.fork()
if child == 0:
    asked = fake.rc("cuPointerGetAttributes", 0, None, None, fake.U64(p))
    print(fake.rc("cuCtxSynchronize"), fake.rc("cuInit", 0), asked, flush=True)
    {child}
    os._exit(0)
print(os.waitpid(child, 0)[1], fake.peek(p, 1))
"""


def test_a_forked_child_has_no_driver_and_its_parent_keeps_it():
    assert told(FORKED.format(child="")) == ["3", "3", "3", "0", "b'a'"]


def test_a_forked_child_dies_of_the_addresses_that_it_inherited():
    result = fakecuda.run(START + FORKED.format(child="fake.touch(p)"))
    assert result.out.split() == ["3", "3", "3", "11", "b'a'"]
    assert "the host touched device memory" in result.err


def test_a_forked_child_keeps_the_driver_where_that_was_asked():
    assert told(FORKED.format(child=""), fork="share") == ["0", "0", "0", "0", "b'a'"]


def test_a_crash_of_another_kind_reaches_the_handler_that_was_there_before():
    result = fakecuda.run(START + "fake.touch(fake.malloc_device(4))", options=("-X", "faulthandler"))
    assert result.rc == -11
    assert "the host touched device memory" in result.err and "Segmentation fault" in result.err

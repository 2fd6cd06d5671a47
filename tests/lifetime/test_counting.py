"""The books that the lifetime tests rely on, tried on consumers whose behaviour is known."""

import pathlib

import pytest

from support import build, counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange


def test_a_memoryview_is_one_export_until_it_is_released():
    exporter = CountingBuffer(bytes(8))
    view = memoryview(exporter)
    assert exporter.live == 1
    view.release()
    assert (exporter.live, exporter.gets, exporter.audit()) == (0, 1, [])


def test_memory_is_poisoned_when_the_last_export_is_back():
    exporter = CountingBuffer(bytes(range(4)))
    first, second = memoryview(exporter), memoryview(exporter)
    first.release()
    assert second[3] == 3
    second.release()
    assert exporter.memory == b"\xdd" * 4


def test_an_open_export_fails_the_audit():
    exporter = CountingBuffer(4)
    view = memoryview(exporter)
    assert exporter.audit() == ["1 exports, 0 releases"]
    view.release()


def test_flags_are_honoured_as_memoryview_honours_them():
    exporter = CountingBuffer(bytes(24), format="d", itemsize=8, shape=(3,), readonly=True)
    with pytest.raises(BufferError):
        counting.hold(exporter, counting.FULL)
    fields = counting.getbuffer(exporter, counting.SIMPLE)
    assert (fields.ndim, fields.shape, fields.format, fields.itemsize, fields.len) == (1, None, None, 8, 24)


def test_a_buffer_that_points_into_itself_is_read_right_by_memoryview():
    exporter = CountingBuffer(bytes(5), fill_info=True)
    assert memoryview(exporter).shape == (5,)


@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_that_nobody_consumes_deletes_its_tensor_itself(versioned):
    producer = CountingDLPack(bytes(8), (2,))
    capsule = producer.capsule(versioned)
    del capsule
    assert producer.deleted == 1
    assert producer.deleted_by_consumer == 0
    assert producer.audit() == []


@pytest.mark.parametrize("versioned", [True, False])
def test_a_consumed_capsule_leaves_the_tensor_to_its_consumer(versioned):
    producer = CountingDLPack(bytes(8), (2,))
    capsule = producer.capsule(versioned)
    taken = counting.consume(capsule)
    del capsule
    assert producer.deleted == 0
    taken.delete()
    assert (producer.deleted_by_consumer, producer.audit()) == (1, [])


def test_a_second_deleter_call_is_counted():
    producer = CountingDLPack(bytes(8), (2,))
    taken = counting.consume(producer.capsule())
    again = taken.alias()  # what a consumer has that forgets to rename the capsule
    taken.delete()
    again.delete()
    assert producer.audit() == ["1 second deleter calls"]


def test_a_deleter_call_with_an_exception_set_is_counted():
    producer = CountingDLPack(bytes(8), (2,))
    counting.consume(producer.capsule()).delete_with_error_pending()
    assert producer.audit() == ["1 deleter calls with an exception set"]


def test_a_deleter_may_run_on_a_thread_without_the_gil():
    producer = CountingDLPack(bytes(8), (2,))
    counting.consume(producer.capsule()).delete_on_foreign_thread()
    assert (producer.deleted, producer.books["without_gil"]) == (1, 1)


def test_the_exchange_table_hands_out_counted_tensors():
    producer = CountingExchange(bytes(range(8)), (8,), dtype=(1, 8, 1))
    taken = counting.exchange_take(producer)
    assert taken.tobytes() == bytes(range(8))
    taken.delete()
    assert producer.audit() == []


def test_the_helper_is_built_outside_the_source_tree():
    assert build.HERE not in pathlib.Path(build.load().__spec__.origin).parents

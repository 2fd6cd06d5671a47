"""lend.loans: every lease that is alive is told, once; looking changes nothing and holds nothing."""

import ctypes
import gc
import json
import struct
import sys
import threading

import pytest

import lend
from lend.errors import MalformedDescriptor
from lend.inspection.loans import Loans, loans
from support.arrow_structs import Made, Node, Streamed
from support.counting import CountingBuffer, CountingDLPack, hold

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)


@pytest.fixture(autouse=True)
def no_collector():
    """What is released at once is released without the collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def floats(**keywords):
    return CountingBuffer(FLOATS, format="f", itemsize=4, **keywords)


def tensor(**keywords):
    return CountingDLPack(FLOATS, (4,), dtype=(2, 32, 1), **keywords)


def of(producer):
    """The loans of one producer: other tests may have left some alive."""
    return Loans(loan for loan in loans() if loan.producer is producer)


def test_view_that_holds_its_lease_inside_is_told():
    exporter = floats()
    view = lend.view(exporter)
    (loan,) = of(exporter)
    assert (loan.kind, loan.nbytes, loan.views, loan.ptr) == ("buffer", 16, 1, view.ptr)


def test_slices_share_one_loan():
    exporter = floats()
    view = lend.view(exporter)
    parts = [view[1:], view[2:], view.buffer]
    (loan,) = of(exporter)
    assert loan.views == 1 + len(parts)


def test_two_views_of_one_producer_are_two_loans():
    exporter = floats()
    views = [lend.view(exporter), lend.view(exporter)]
    assert len(of(exporter)) == len(views)


def test_dlpack_tensor_is_told():
    producer = tensor()
    view = lend.view(producer)
    (loan,) = of(producer)
    assert (loan.kind, loan.nbytes, loan.device) == ("dlpack", 16, view.device)


def test_memory_of_a_bare_capsule_is_told_without_a_producer():
    view = lend.view(tensor().__dlpack__())
    (loan,) = [loan for loan in loans() if loan.owner is view.owner]
    assert (loan.producer, loan.producer_type) == (None, "PyCapsule")


def test_memory_of_a_copy_is_told_as_lend_s_own():
    view = lend.view(FLOATS, copy=True)
    (loan,) = [loan for loan in loans() if loan.owner is view.owner]
    assert (loan.kind, loan.producer_type, loan.nbytes) == ("memory", "lend", 16)


def test_pointer_with_an_owner_is_told_on_its_device():
    block = ctypes.create_string_buffer(8)
    buffer = lend.Buffer.from_pointer(ctypes.addressof(block), 8, owner=block, device="cuda:1")
    (loan,) = of(block)
    assert (loan.kind, str(loan.device), loan.views) == ("object", "cuda:1", 1)
    buffer.release()


def test_capsule_that_outlives_its_view_is_told():
    exporter = floats()
    capsule = lend.view(exporter).__dlpack__()
    (loan,) = of(exporter)
    assert (loan.views, loan.exports) == (0, 1)
    del capsule


def test_buffer_lease_that_a_capsule_alone_holds_is_on_the_host():
    exporter = floats()
    capsule = lend.view(exporter).__dlpack__()
    assert str(of(exporter)[0].device) == "cpu"
    del capsule


def test_lease_that_a_capsule_alone_holds_has_an_unknown_device():
    producer = tensor(device=(2, 0))
    capsule = lend.view(producer).__dlpack__()
    (loan,) = of(producer)
    assert loan.device is None
    del capsule


def test_released_view_is_told_no_more():
    exporter = floats()
    view = lend.view(exporter)
    view.release()
    assert list(of(exporter)) == []


def test_answer_holds_no_lease():
    exporter = floats()
    view = lend.view(exporter)
    found = of(exporter)
    del view
    assert exporter.audit() == []
    assert len(found) == 1


def test_loan_that_ended_has_no_owner_and_no_producer():
    exporter = floats()
    view = lend.view(exporter)
    (loan,) = of(exporter)
    del view
    assert (loan.owner, loan.producer) == (None, None)


def test_looking_leaves_the_view_as_useful_as_before():
    exporter = floats()
    view = lend.view(exporter)
    for _ in range(3):
        loans()
    assert view.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_looking_from_inside_a_take_leaves_the_take_alone():
    seen = []
    exporter = floats(on_get=lambda flags: seen.append(of(exporter)))
    view = lend.view(exporter)
    assert [len(found) for found in seen] == [0] * len(seen)
    assert len(seen) > 0
    view.release()
    assert exporter.audit() == []


def test_lease_that_is_still_being_taken_is_not_told():
    class Producer:
        @property
        def __array_interface__(self):
            return {"version": 3, "shape": (4,), "typestr": "<f4", "data": exporter}

    seen = []
    exporter = CountingBuffer(FLOATS, on_get=lambda flags: seen.extend(loans()))
    bystander = lend.view(bytearray(8))
    view = lend.view(Producer())
    assert len(seen) > 0
    assert [loan for loan in seen if (loan.kind, loan.producer_type) == ("buffer", "PyCapsule")] == []
    bystander.release()
    view.release()


def test_looking_asks_foreign_objects_nothing():
    asked = []

    class Touchy:
        @property
        def __class__(self):
            asked.append("__class__")
            raise AssertionError("asked for its __class__")

        def __getattr__(self, name):
            asked.append(name)
            raise AttributeError(name)

    touchy = Touchy()
    assert any(obj is touchy for obj in gc.get_objects())  # so it is met on the way
    exporter = floats()
    view = lend.view(exporter)
    assert [loan.views for loan in of(exporter)] == [1]
    assert asked == []
    view.release()


def test_largest_loan_comes_first():
    views = [lend.view(bytearray(n)) for n in (10, 30, 20)]
    sizes = [loan.nbytes for loan in loans()]
    assert sizes == sorted(sizes, reverse=True)
    del views


def test_byte_that_two_leases_cover_is_counted_once():
    exporter = floats()
    views = [lend.view(exporter), lend.view(exporter)]
    assert of(exporter).nbytes == 16
    del views


def test_bytes_of_apart_leases_add_up():
    exporters = [floats(), floats()]
    views = [lend.view(exporter) for exporter in exporters]
    # by identity: other tests may hold arrays, which compare element by element
    found = Loans(loan for loan in loans() if any(loan.producer is exporter for exporter in exporters))
    assert found.nbytes == 32
    del views


def test_same_address_on_two_devices_is_two_places():
    block = ctypes.create_string_buffer(8)
    address = ctypes.addressof(block)
    buffers = [lend.Buffer.from_pointer(address, 8, owner=block, device=device) for device in ("cuda:0", "cuda:1")]
    assert of(block).nbytes == 16
    del buffers


@pytest.mark.parametrize("code", [4, 7, 8, 15, 99])
def test_handles_are_no_addresses_that_could_be_compared(code):
    pair = [CountingDLPack(64, (4,), dtype=(2, 32, 1), device=(code, 0), data=handle) for handle in (8, 64)]
    views = [lend.view(each) for each in pair]
    found = Loans(loan for loan in loans() if any(loan.producer is each for each in pair))
    assert found.nbytes == 32
    del views


def test_slice_of_the_answer_is_an_answer():
    exporter = floats()
    view = lend.view(exporter)
    assert isinstance(of(exporter)[:1], Loans)
    assert of(exporter)[0].producer is view.owner.producer


def test_table_names_bytes_kind_device_and_producer():
    exporter = floats()
    view = lend.view(exporter)
    lines = str(of(exporter)).splitlines()
    assert lines[0] == "1 lease pins 16 bytes"
    assert lines[1].split() == ["bytes", "kind", "device", "holders", "exports", "lent", "by"]
    assert lines[2].split() == ["16", "buffer", "cpu", "1", "0", "support.counting.CountingBuffer"]
    view.release()


def test_columns_of_the_table_are_aligned():
    views = [lend.view(bytearray(5)), lend.view(bytearray(100_000))]
    header, *rows = str(Loans(loan for loan in loans() if loan.producer_type == "bytearray")).splitlines()[1:]
    column = header.index("kind")
    assert {row[column - 2 : column + 6] for row in rows} == {"  buffer"}
    del views


def test_empty_answer_says_so():
    assert str(Loans()) == "nothing is lent"


def test_answer_as_plain_data_goes_through_json():
    exporter = floats()
    view = lend.view(exporter)
    plain = json.loads(json.dumps(of(exporter).to_dict()))
    assert plain["nbytes"] == 16
    assert plain["loans"][0]["producer_type"] == "support.counting.CountingBuffer"
    view.release()


def test_open_memoryview_of_a_view_is_an_export():
    exporter = floats()
    view = lend.view(exporter)
    assert view.owner.exports == 0
    held = hold(view)
    (loan,) = of(exporter)
    assert loan.exports == 1
    held.release()


def test_memoryview_given_back_is_an_export_no_more():
    exporter = floats()
    view = lend.view(exporter)
    held = hold(view)
    assert len(of(exporter)) == 1  # the lease moves into an owner now
    held.release()
    (loan,) = of(exporter)
    assert loan.exports == 0


def test_looking_while_others_lend_and_release_loses_no_lease():
    exporters = [floats() for _ in range(3)]
    stop = threading.Event()

    def lend_and_release(exporter):
        while not stop.is_set():
            lend.view(exporter)[1:].release()

    threads = [threading.Thread(target=lend_and_release, args=(exporter,)) for exporter in exporters]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            loans()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert [exporter.audit() for exporter in exporters] == [[], [], []]


def test_looking_while_an_array_is_refused_does_not_look_into_it():
    node = Node("l", 1, buffers=[None, bytes(8)])
    bad = Made(node)
    bad.array.buffers = None
    seen = []

    def look(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "malformed":
            seen.append(len(loans()))

    sys.setprofile(look)
    try:
        with pytest.raises(MalformedDescriptor, match="its list of buffers is NULL"):
            lend.column(Streamed(node, [bad]))
    finally:
        sys.setprofile(None)
    assert (len(seen), bad.released) == (1, {"": 1})

"""Views of records, fixed bytes, text and objects: fields by name, values, copies, and what is refused."""

import ctypes
import gc
import pickle
import struct
import weakref

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, UnsupportedType

RECORDS = lend.DType([("id", "uint16"), (("Title", "at"), ">int32", (2,)), ("n", [("x", "int8"), ("y", "bytes[3]")])])


def three():
    rows = [(i, (10 * i, -i), (i - 1, b"ab"[:i])) for i in range(3)]
    packed = b"".join(struct.pack("=H", i) + struct.pack(">ii", *at) + struct.pack("=b3s", *n) for i, at, n in rows)
    return lend.view(bytearray(packed)).reinterpret(RECORDS), [(i, list(at), n) for i, at, n in rows]


def test_records_are_tuples_and_subarrays_lists():
    view, rows = three()
    assert view.tolist() == rows
    assert view[1].item() == rows[1]


def test_a_field_is_a_view_with_the_strides_of_its_records():
    view, rows = three()
    at = view["at"]
    assert (at.shape, at.strides, at.ptr) == ((3, 2), (view.itemsize, 4), view.ptr + 2)
    assert at.tolist() == [row[1] for row in rows]
    assert at.owner is view.owner


def test_a_field_of_a_field_and_of_a_slice():
    view, _ = three()
    assert view["n"]["y"].tolist() == [b"", b"a", b"ab"]
    assert view[::-1]["n"]["x"].tolist() == [1, 0, -1]
    assert view[2]["id"].item() == 2


def test_a_field_is_found_by_its_title():
    view, _ = three()
    assert view["Title"].tolist() == view["at"].tolist()


def test_a_field_that_is_not_there_is_a_key_error_naming_those_that_are():
    view, _ = three()
    with pytest.raises(KeyError, match="'id', 'at', 'n'"):
        view["nothing"]
    with pytest.raises(TypeError, match="no fields"):
        view["id"]["x"]


def test_a_write_to_a_field_is_a_write_to_the_record():
    view, _ = three()
    memoryview(view["id"])[1] = 77
    assert view[1].item()[0] == 77


def test_swapping_a_record_swaps_each_field():
    view, rows = three()
    native = lend.view(view, dtype=view.dtype.newbyteorder("native"), copy=True)
    assert native.dtype.is_native
    assert native.tolist() == rows
    back = lend.view(native, dtype=view.dtype, copy=True)
    assert (back.tobytes(), back.dtype) == (view.tobytes(), view.dtype)


def test_a_record_is_aligned_as_it_promises():
    said = {"names": ["a", "b"], "formats": ["int8", "float64"], "aligned": True}
    block = bytearray(64)
    start = -ctypes.addressof(ctypes.c_char.from_buffer(block)) % 8
    aligned = lend.buffer(block).view(said, 2, offset=start)
    assert aligned.aligned
    assert not lend.buffer(block).view(said, 2, offset=start + 4).aligned
    assert not lend.buffer(block).view(said, 2, offset=start + 4)["b"].aligned
    packed = {"names": ["a", "b"], "formats": ["int8", "float64"]}
    assert lend.buffer(block).view(packed, 2, offset=start + 3).aligned


def test_records_survive_a_pickle():
    view, rows = three()
    back = pickle.loads(pickle.dumps(view))
    assert (back.dtype, back.tolist()) == (view.dtype, rows)


def test_fixed_bytes_lose_their_zeros_at_the_end_and_no_others():
    view = lend.view(b"a\0b\0\0\0\0\0").reinterpret("bytes[4]")
    assert view.tolist() == [b"a\0b", b""]


def test_text_is_read_in_its_order():
    for order in ("<", ">"):
        raw = "hé\U0001f600\0x\0".encode(f"utf-32-{'le' if order == '<' else 'be'}")
        assert lend.view(raw).reinterpret(f"{order}text[3]").tolist() == ["hé\U0001f600", "\0x"]


def test_text_that_is_none_is_refused():
    with pytest.raises(MalformedDescriptor, match="holds no text"):
        lend.view(b"\xff\xff\xff\xff").reinterpret("text[1]").tolist()


def test_a_record_is_exported_by_the_buffer_protocol():
    view, _ = three()
    with memoryview(view) as shown:
        assert shown.format == view.dtype.format
        assert lend.view(shown).dtype == lend.DType(RECORDS.format)
        assert lend.view(shown).ptr == view.ptr


def test_what_dlpack_and_the_struct_cannot_say_they_do_not_say():
    view, _ = three()
    with pytest.raises(UnsupportedType, match=r"DLPack has no word(?s:.*)v\['id'\]"):
        view.__dlpack__(max_version=(1, 3))
    assert not hasattr(view, "__array_struct__")


def test_the_array_interface_has_a_descr():
    view, rows = three()
    assert view.__array_interface__["descr"] == view.dtype.descr

    class Shown:
        __array_interface__ = view.__array_interface__

    assert lend.view(Shown()).dtype == view.dtype
    assert lend.view(Shown()).tolist() == rows


def test_a_subarray_alone_in_a_buffer_is_more_dimensions():
    pytest.importorskip("support.counting")
    from support.counting import CountingBuffer

    lender = CountingBuffer(bytes(range(24)), format="(2,3)H", itemsize=12, poison=False)
    view = lend.view(lender)
    assert (view.shape, view.strides, view.dtype) == ((2, 2, 3), (12, 6, 2), lend.DType("uint16"))
    del view
    assert lender.audit() == []


# -- objects -----------------------------------------------------------------------------------------------------------


class Thing:
    pass


def pointers(*things):
    return (ctypes.py_object * len(things))(*things)


class Lends(lend.Producer):
    def __init__(self, view):
        self.view = view

    def lend(self):
        return self.view


def test_objects_are_read():
    thing = Thing()
    view = lend.view(pointers(thing, None, "x"))
    assert view.dtype == lend.DType("object")
    assert view.tolist()[0] is thing
    assert view[1].item() is None
    with memoryview(view) as shown:
        assert shown.format == "O"


def test_objects_live_as_long_as_their_array():
    thing = Thing()
    gone = weakref.ref(thing)
    view = lend.view(pointers(thing))
    values = view.tolist()
    del thing, view
    gc.collect()
    assert gone() is values[0]
    values.clear()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "attempt",
    [
        lambda v: v.copy(),
        lambda v: v.reinterpret("uint64"),
        lambda v: v.buffer,
        lambda v: v.low("uint8"),
        lambda v: pickle.dumps(v),
        lambda v: lend.buffer(pointers(1)),
        lend.buffer,
        lambda v: lend.buffer(v, writable=True),
        lambda v: lend.buffer(Lends(v)),
        lambda v: lend.view(v, copy=True),
        lambda v: v.__dlpack__(),
        lambda v: lend.view(bytes(8)).reinterpret("object"),
        lambda v: lend.view(bytes(8)).reinterpret([("a", "object")]),
        lambda v: lend.View.from_pointer(4096, 1, "object", owner=v),
        lambda v: lend.View.from_pointer(4096, 1, [("a", "object")], owner=v),
        lambda v: lend.buffer(bytes(8)).view("object"),
    ],
)
def test_bytes_never_become_pointers_nor_pointers_bytes(attempt):
    with pytest.raises(LendError):
        attempt(lend.view(pointers(1)))


@pytest.mark.parametrize("said", [{"typestr": "|O"}, {"typestr": "|V8", "descr": [("a", "|O")]}], ids=str)
def test_an_interface_of_what_is_no_ndarray_has_no_pointers(said):
    class Liar:
        __array_interface__ = {"shape": (1,), "data": bytes(8), "version": 3} | said

    with pytest.raises(UnsupportedType, match="Python objects"):
        lend.view(Liar())


def test_a_copy_in_another_byte_order_has_the_values_and_the_dtype_that_were_asked_for():
    for said in ("int32", ">int32", "<int32"):
        for wanted in (">int32", "<int32"):
            made = lend.view(lend.view(bytes([0, 0, 0, 1])).reinterpret(said), dtype=wanted, copy=True)
            assert (made.dtype, made.tolist()) == (
                lend.DType(wanted),
                lend.view(bytes([0, 0, 0, 1])).reinterpret(said).tolist(),
            )


def test_fields_that_share_bytes_are_not_swapped():
    view = lend.view(bytes(4)).reinterpret({"names": ["a", "b"], "formats": [">i4", ">i2"], "offsets": [0, 0]})
    with pytest.raises(UnsupportedType, match="share bytes"):
        lend.view(view, dtype=view.dtype.newbyteorder("native"), copy=True)

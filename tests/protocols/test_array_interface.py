"""`__array_interface__`, both ways: what the dict says is shown as it is, and whatever it cannot mean is refused."""

import array
import re
import struct
import sys

import pytest

import lend
from lend.errors import LendError, MalformedDescriptor, ReadOnlyMemory, UnsupportedType
from support.counting import CountingBuffer
from support.interfaces import FLOATS, floats
from support.names import plain_repr, plain_str
from support.producers import ABSENT, AnswersEverything, ArrayInterface

HERE, THERE = ("<", ">") if sys.byteorder == "little" else (">", "<")


class Index:
    """An integer that is no int, as those of NumPy are none."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


# -- taken as it lies ------------------------------------------------------------------------------------------------


def test_address_shape_and_values_are_those_of_the_dict():
    lender = floats()
    view = lend.view(lender)
    assert (view.ptr, view.shape, view.strides) == (lender.memory.address, (2, 3), (12, 4))
    assert (view.dtype, view.readonly, view.device) == (lend.DType("<f4"), False, lend.Device("cpu"))
    assert view.tobytes() == FLOATS


def test_the_attribute_is_read_once():
    lender = floats()
    lend.view(lender)
    assert lender.reads == 1


def test_an_attribute_of_the_instance_alone_is_seen():
    class Plain:
        pass

    lender, source = Plain(), floats()
    lender.__array_interface__, lender.kept = source.__array_interface__, source
    assert lend.view(lender).ptr == source.memory.address


@pytest.mark.parametrize(
    "typestr", ["|b1", "|i1", "<u2", ">i4", "<i8", "<f8", ">f2", "<c8", "<M8[ns]", ">m8[25s]", "|V7"]
)
def test_every_typestr_that_lend_knows_keeps_its_meaning(typestr):
    view = lend.view(ArrayInterface(bytes(32), (2,), typestr))
    assert view.dtype == lend.DType(typestr)
    assert view.__array_interface__["typestr"] == typestr


@pytest.mark.parametrize("name", [f"{order}{kind}" for order in "<>" for kind in ("i4", "f8")])
def test_byte_order_is_kept(name):
    data = struct.pack(f"{name[0]}2{'i' if name[1] == 'i' else 'd'}", 3, -4)
    assert lend.view(ArrayInterface(data, (2,), name)).tolist() == [3, -4]


@pytest.mark.parametrize(
    ("shape", "strides", "address", "values"),
    [
        ((3, 2), (4, 12), 0, [[0, 3], [1, 4], [2, 5]]),
        ((6,), (-4,), 20, [5, 4, 3, 2, 1, 0]),
        ((2, 3), (-12, -4), 20, [[5, 4, 3], [2, 1, 0]]),
        ((3,), (8,), 0, [0, 2, 4]),
        ((2, 2), (0, 4), 0, [[0, 1], [0, 1]]),
        ((1, 6), (12345, 4), 0, [[0, 1, 2, 3, 4, 5]]),
        ((), (), 8, 2.0),
    ],
    ids=plain_str,
)
def test_strides_are_signed_bytes_from_element_0(shape, strides, address, values):
    lender = floats(shape=shape, strides=strides)
    lender.facts["data"] = (lender.memory.address + address, False)
    view = lend.view(lender)
    assert (view.tolist(), view.ptr) == (values, lender.memory.address + address)


def test_a_zero_stride_over_several_elements_is_read_only():
    lender = floats(shape=(4,), strides=(0,))
    assert lend.view(lender).readonly
    with pytest.raises(ReadOnlyMemory):
        lend.view(lender, writable=True)


@pytest.mark.parametrize("readonly", [True, 1, Index], ids=plain_str)
def test_read_only_is_kept(readonly):
    lender = floats(readonly=readonly)
    assert lend.view(lender).readonly
    with pytest.raises(ReadOnlyMemory):
        lend.view(lender, writable=True)


def test_writable_memory_is_written_through():
    lender = floats()
    memoryview(lend.view(lender, writable=True))[0, 0] = 9.0
    assert bytes(lender.memory)[:4] == struct.pack("f", 9)


def test_integers_of_another_type_are_integers():
    lender = floats(shape=(Index(2), Index(3)), strides=(Index(12), Index(4)))
    lender.facts["data"] = (Index(lender.memory.address), False)
    assert lend.view(lender).tobytes() == FLOATS


def test_lists_for_shape_and_strides_are_read():
    assert lend.view(floats(shape=[2, 3], strides=[12, 4])).shape == (2, 3)


def test_keys_that_are_not_interned_are_read():
    lender = floats()
    lender.facts = {"".join(list(key)): value for key, value in lender.facts.items()}
    assert lend.view(lender).tobytes() == FLOATS


def test_keys_of_other_standards_do_no_harm():
    assert lend.view(floats(stream=7, syclobj=None, mask=None, offset=0)).tobytes() == FLOATS


@pytest.mark.parametrize("version", [ABSENT, 0, 2, 99, "three", None], ids=plain_str)
def test_the_version_is_not_trusted_either_way(version):
    assert lend.view(floats(version=version)).tobytes() == FLOATS


@pytest.mark.parametrize("data", [(0, False), (2**64 - 1, False), (1, True)], ids=plain_str)
@pytest.mark.parametrize("strides", [None, (2**62, -(2**62), 1)], ids=plain_str)
def test_the_pointer_of_an_empty_array_is_irrelevant(data, strides):
    view = lend.view(floats(shape=(3, 0, 2), strides=strides, data=data))
    assert (view.shape, view.nbytes, view.c_contiguous, view.f_contiguous) == ((3, 0, 2), 0, True, True)


def test_sixty_four_dimensions_are_taken():
    view = lend.view(floats(shape=(1,) * 62 + (2, 3)))
    assert (view.ndim, view.tobytes()) == (64, FLOATS)


def test_the_object_lives_as_long_as_what_is_made_from_it():
    lender = floats()
    before = sys.getrefcount(lender)
    part = lend.view(lender)[1]
    assert sys.getrefcount(lender) == before + 1
    assert part.owner.producer is lender
    del part
    assert sys.getrefcount(lender) == before


# -- memory given as a buffer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [ABSENT, 0, 4, 12], ids=plain_str)
def test_buffer_data_begins_at_its_offset(offset):
    start = 0 if offset is ABSENT else offset
    view = lend.view(floats(shape=(3,), data=bytearray(FLOATS), offset=offset))
    assert view.tobytes() == FLOATS[start : start + 12]


def test_the_buffer_is_held_and_given_back():
    block = bytearray(FLOATS)
    view = lend.view(floats(data=block))
    with pytest.raises(BufferError):
        block.append(0)
    del view
    block.append(0)


def test_object_and_buffer_both_live_as_long_as_the_view():
    exporter = CountingBuffer(FLOATS)
    lender = floats(data=exporter)
    before = sys.getrefcount(lender)
    part = lend.view(lender)[0]
    assert (sys.getrefcount(lender), exporter.live) == (before + 1, 1)
    del part
    assert (sys.getrefcount(lender), exporter.audit()) == (before, [])


@pytest.mark.parametrize("said", [{"data": None}, {}], ids=["None", "absent"])
def test_without_data_the_object_s_own_buffer_is_meant(said):
    class Block(CountingBuffer):
        __array_interface__ = {"shape": (2, 2), "typestr": "<f4", "version": 3, "offset": 8} | said

    lender = Block(FLOATS, format="&f", itemsize=4, poison=False)
    view = lend.view(lender)
    assert (view.tolist(), lender.live) == ([[2, 3], [4, 5]], 1)
    del view
    assert lender.audit() == []


@pytest.mark.parametrize("data", [None, ABSENT], ids=["None", "absent"])
def test_without_data_and_without_a_buffer_there_is_nothing_to_lend(data):
    with pytest.raises(MalformedDescriptor, match="data is None"):
        lend.view(floats(data=data))


def test_read_only_buffer_data_is_read_only():
    assert lend.view(floats(data=FLOATS)).readonly
    with pytest.raises(ReadOnlyMemory):
        lend.view(floats(data=FLOATS), writable=True)
    assert not lend.view(floats(data=bytearray(FLOATS)), writable=True).readonly


LEAVES = {
    "too many elements": ({"shape": (100,), "data": bytearray(8)}, "400", "8"),
    "one element too many": ({"shape": (7,), "data": bytearray(24)}, "28", "24"),
    "a negative offset": ({"shape": (2,), "data": bytearray(64), "offset": -8}, "-8", "64"),
    "an offset near the end": ({"shape": (2,), "data": bytearray(64), "offset": 60}, "68", "64"),
    "an offset past the end": ({"shape": (2,), "data": bytearray(8), "offset": 2**62}, "bounds", "8"),
    "wide strides": ({"shape": (4,), "strides": (4096,), "data": bytearray(64)}, "12292", "64"),
    "negative strides": ({"shape": (4,), "strides": (-4,), "data": bytearray(64), "offset": 8}, "-4", "64"),
    "an empty array behind the end": ({"shape": (0,), "data": bytearray(8), "offset": 9}, "bounds", "8"),
    "an empty buffer": ({"shape": (), "data": b""}, "4", "0"),
}


@pytest.mark.parametrize(("facts", "needed", "there"), LEAVES.values(), ids=LEAVES)
def test_a_descriptor_that_leaves_its_own_buffer_is_refused(facts, needed, there):
    with pytest.raises(MalformedDescriptor, match=r"\(bounds\)") as caught:
        lend.view(floats(**facts))
    assert needed in str(caught.value)
    assert there in str(caught.value)


INSIDE = {
    "the last element": {"shape": (1,), "data": bytearray(24), "offset": 20},
    "all, backwards": {"shape": (6,), "strides": (-4,), "data": bytearray(24), "offset": 20},
    "nothing, at the end": {"shape": (0,), "data": bytearray(24), "offset": 24},
}


@pytest.mark.parametrize("facts", INSIDE.values(), ids=INSIDE)
def test_a_descriptor_that_just_fits_is_taken(facts):
    view = lend.view(floats(**facts))
    assert view.tobytes() == bytes(view.nbytes)


def test_a_refused_descriptor_gives_its_buffer_back():
    exporter = CountingBuffer(8)
    with pytest.raises(MalformedDescriptor):
        lend.view(floats(shape=(100,), data=exporter))
    assert (exporter.gets, exporter.audit()) == (1, [])


def test_a_buffer_with_gaps_is_refused_and_given_back():
    exporter = CountingBuffer(24, itemsize=4, format="f", shape=(3,), strides=(8,))
    with pytest.raises(LendError):
        lend.view(floats(shape=(2,), data=exporter))
    assert exporter.audit() == []


# -- refused ---------------------------------------------------------------------------------------------------------


MALFORMED = {
    "no keys": (dict.fromkeys(("shape", "typestr", "data", "version"), ABSENT), "'shape'"),
    "no shape": ({"shape": ABSENT}, "'shape'"),
    "no typestr": ({"typestr": ABSENT}, "'typestr'"),
    "136 dimensions": ({"shape": (1,) * 136}, "64"),
    "65 dimensions": ({"shape": (1,) * 65}, "64"),
    "a shape of a product beyond 64 bits": ({"shape": (2**32, 2**32, 16)}, "size"),
    "a shape of bytes beyond 64 bits": ({"shape": (2**61,)}, "size"),
    "an extent beyond 64 bits": ({"shape": (2**63,)}, "shape"),
    "an extent beyond all bounds": ({"shape": (10**5000,)}, "shape"),
    "a negative extent": ({"shape": (-3,)}, "shape"),
    "a fractional extent": ({"shape": (2.0,)}, "shape"),
    "a boolean extent": ({"shape": (True,)}, "shape"),
    "an extent of text": ({"shape": ("2",)}, "shape"),
    "an extent of nothing": ({"shape": (None,)}, "shape"),
    "a shape that is no tuple": ({"shape": 6}, "shape"),
    "a shape of letters": ({"shape": "23"}, "shape"),
    "strides of another length": ({"strides": (4,)}, "strides"),
    "strides of nothing": ({"strides": (None, None)}, "strides"),
    "a stride beyond 64 bits": ({"strides": (2**63, 4)}, "strides"),
    "strides that overflow": ({"strides": (2**62, 2**62)}, "strides"),
    "strides no tuple": ({"strides": 4}, "strides"),
    "data that is a number": ({"data": 4096}, "data"),
    "data of one": ({"data": (4096,)}, "data"),
    "data of three": ({"data": (4096, False, 1)}, "data"),
    "data a list": ({"data": [4096, False]}, "data"),
    "an address of text": ({"data": ("0x1000", False)}, "data"),
    "an address of nothing": ({"data": (None, False)}, "data"),
    "a boolean address": ({"data": (True, False)}, "data"),
    "a negative address": ({"data": (-4096, False)}, "data"),
    "an address beyond 64 bits": ({"data": (2**64, False)}, "data"),
    "address 0": ({"data": (0, False)}, "data"),
    "memory past the last address": ({"data": (2**64 - 8, False)}, r"data.*\(bounds\)"),
    "memory before the first address": ({"data": (8, False), "strides": (-12, -4)}, r"data.*\(bounds\)"),
    "an offset beside an address": ({"offset": 4}, "offset"),
    "an offset of text": ({"offset": "4", "data": bytearray(64)}, "offset"),
    "a typestr of bytes": ({"typestr": b"<f4"}, "typestr"),
    "a typestr that is a number": ({"typestr": 4}, "typestr"),
    "a descr of another size": ({"typestr": "|V4", "descr": [("", "|V8")]}, "descr"),
    "a descr that is none": ({"typestr": "|V4", "descr": 7}, "descr"),
    "a descr with a hole": ({"typestr": "|V4", "descr": [("", )]}, "descr"),
    "a descr of negative size": ({"typestr": "|V4", "descr": [("", "|V4", (-1,))]}, "descr"),
}  # fmt: skip


@pytest.mark.parametrize(("facts", "named"), MALFORMED.values(), ids=MALFORMED)
def test_a_dict_that_cannot_be_true_is_refused_by_the_name_of_its_field(facts, named):
    with pytest.raises(MalformedDescriptor, match=named) as caught:
        lend.view(floats(**facts))
    assert "ArrayInterface" in str(caught.value)


@pytest.mark.parametrize("typestr", [
    "|O", "|O8", "|t8", "<f3", "<f", "f", "", "<", "<b2", "|i0", "<x4", "StringDType()", "<M8[fortnight]", "<i4 ",
    "<i4\0", "<\u00e94", "\ud800", "<f99999999999999999999", "|V0",
], ids=ascii)  # fmt: skip
def test_a_typestr_without_a_dtype_is_refused_by_name(typestr):
    with pytest.raises(UnsupportedType, match="typestr"):
        lend.view(floats(typestr=typestr))


@pytest.mark.parametrize(("typestr", "nbytes"), [("<f3", 6), ("<x4", 8)])
def test_what_has_no_dtype_is_refused_as_a_view_and_given_as_bytes(typestr, nbytes):
    lender = ArrayInterface(bytes(range(24)), (2,), typestr)
    with pytest.raises(UnsupportedType, match="typestr"):
        lend.view(lender)
    assert bytes(lend.buffer(lender)) == bytes(range(nbytes))


@pytest.mark.parametrize("take", [lend.view, lend.buffer])
@pytest.mark.parametrize("facts", [
    {"typestr": "|O"},
    {"typestr": "|O8"},
    {"typestr": "|V8", "descr": [("a", "|O")]},
    {"typestr": "|V8", "descr": [("a", [("b", "|O8")])]},
], ids=plain_str)  # fmt: skip
def test_pointers_of_python_objects_are_never_lent(take, facts):
    with pytest.raises(UnsupportedType, match="Python objects"):
        take(ArrayInterface(bytes(64), (2,), **facts))


@pytest.mark.parametrize("descr", [
    [("a", "<i2"), ("b", "<f4"), ("", "|V2")],
    [("", "<i8")],
    [("a", [("b", "<i4"), (("title", "c"), "<i4")])],
    [("a", "<i2", (2, 2))],
], ids=plain_str)  # fmt: skip
def test_records_are_read_from_their_descr_and_given_as_bytes(descr):
    lender = ArrayInterface(bytes(range(16)), (2,), "|V8", descr=descr)
    view = lend.view(lender)
    assert view.dtype == lend.DType(descr)
    assert bytes(lend.buffer(lender)) == bytes(range(16))


@pytest.mark.parametrize("descr", [
    [("a", "<i4"), ("a", "<i4")],
    [("a", "<f3"), ("b", "|V5")],
    [(3, "<i8")],
], ids=plain_str)  # fmt: skip
def test_a_descr_that_is_no_record_is_refused_and_given_as_bytes(descr):
    lender = ArrayInterface(bytes(range(16)), (2,), "|V8", descr=descr)
    with pytest.raises(UnsupportedType, match=r"records(?s:.*)lend\.buffer"):
        lend.view(lender)
    assert bytes(lend.buffer(lender)) == bytes(range(16))


@pytest.mark.parametrize(("typestr", "read"), [("|S3", "bytes[3]"), ("<U2", "text[2]"), (">U2", ">text[2]")])
def test_bytes_and_text_of_fixed_width_are_read(typestr, read):
    lender = ArrayInterface(b"ab\0" + bytes(13), (1,), typestr)
    view = lend.view(lender)
    assert view.dtype == lend.DType(read)
    assert view.__array_interface__["typestr"] == typestr


@pytest.mark.parametrize(
    "descr", [ABSENT, None, [("", "|V8")], [("", "|V2"), ("", "|V6")], [("", "|V2", (4,))]], ids=plain_str
)
def test_bytes_without_fields_are_opaque(descr):
    assert lend.view(ArrayInterface(bytes(16), (2,), "|V8", descr=descr)).dtype == lend.DType("opaque[8]")


def test_a_descr_that_holds_itself_is_refused():
    descr = [("a", "<i4")]
    descr.append(("b", descr))
    descr.append(("c", descr))
    with pytest.raises(MalformedDescriptor, match="descr"):
        lend.view(floats(typestr="|V4", descr=descr))


class Named(ArrayInterface):
    """Like the arrays of ml_dtypes: the dict says V, the dtype has a name."""

    def __init__(self, *args, name, **keywords):
        super().__init__(*args, **keywords)
        self.dtype = type("dtype", (), {"name": name})()


@pytest.mark.parametrize(("typestr", "name", "right"), [
    (f"{HERE}V2", "bfloat16", "bfloat16"),
    ("|V2", "bfloat16", "bfloat16"),
    (f"{THERE}V2", "bfloat16", f"{THERE}bfloat16"),
    ("|V4", "bfloat16", "opaque[4]"),
    ("|V2", "void16", "opaque[2]"),
    ("|V2", 16, "opaque[2]"),
])  # fmt: skip
def test_a_dtype_that_the_object_names_is_taken_if_its_size_fits(typestr, name, right):
    lender = Named(bytes(4), (1,), typestr, name=name, descr=[("", typestr)])
    assert lend.view(lender).dtype == lend.DType(right)


@pytest.mark.parametrize("typestr", ["|V1", "<V1", "|V2"])
def test_a_dtype_of_another_name_is_refused_as_numbers_that_lend_does_not_know(typestr):
    lender = Named(bytes(4), (1,), typestr, name="float8_of_tomorrow", descr=[("", typestr)])
    with pytest.raises(UnsupportedType, match=r"no dtype for float8_of_tomorrow.*\n.*\n.*\n.*try.*x\.view\("):
        lend.view(lender)


def test_the_bytes_of_a_dtype_of_another_name_are_lent_as_a_buffer():
    lender = Named(bytes(4), (4,), "|V1", name="float8_of_tomorrow", descr=[("", "|V1")])
    assert lend.buffer(lender).nbytes == 4


def test_a_mask_is_never_ignored():
    mask = array.array("b", [1, 0, 1, 0, 1, 1])
    with pytest.raises(UnsupportedType, match="has a mask"):
        lend.view(floats(mask=mask))


def test_what_the_refusal_of_a_mask_names_can_be_done():
    lender = floats(shape=(6,), mask=array.array("b", [1, 0, 1, 0, 1, 1]))
    with pytest.raises(UnsupportedType) as caught:
        lend.view(lender)
    numpy = pytest.importorskip("numpy")
    ways = re.findall(r"lend\.\S+\(.*?\)(?=[,; ]|$)", str(caught.value).partition("try")[2])
    names = {"lend": lend, "numpy": numpy, "x": lender}
    column, data, mask = (eval(way, names).tolist() for way in ways)
    assert [value if valid else None for value, valid in zip(data, mask, strict=True)] == column
    assert column.count(None) == 2


def test_a_mask_of_none_is_no_mask():
    assert lend.view(floats(mask=None)).shape == (2, 3)


@pytest.mark.parametrize("answer", [None, 7, (), [], "shape", b"", object()], ids=plain_repr)
def test_what_is_no_dict_is_refused(answer):
    lender = type("Lender", (), {"__array_interface__": answer})()
    with pytest.raises(LendError, match="__array_interface__.*not a dict"):
        lend.view(lender)


def test_an_object_that_answers_everything_is_refused():
    with pytest.raises(LendError):
        lend.view(AnswersEverything())

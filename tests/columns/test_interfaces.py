"""Array interfaces with masks, on request: objects that keep what they show, nulls told as the interface has them."""

import ctypes
import gc
import json
import struct
import weakref

import pytest

import lend
from lend import Column
from lend.columns.nullness import Nulls
from lend.errors import LendError, NotHostAccessible, UnsupportedLayout, UnsupportedType
from support import column_forms as forms
from support.arrow_structs import Made, Node, Streamed
from support.device_producers import ADDRESS, CudaInterface

ROWS = [1, None, 3, None, 5, 6, 7, None, 9, 10]
FORMS = [form for form in forms.NULL_FORMS if form not in ("nan", "nat", "one byte for all")]


class Elsewhere:
    """Shows an interface alone, so that nothing else is asked."""

    def __init__(self, facts, held):
        self.__array_interface__ = facts
        self.held = held


def read(shown):
    """The values by the interface alone, None where the mask says that it is not valid."""
    facts = shown.__array_interface__
    plain = {key: value for key, value in facts.items() if key != "mask"}
    values = lend.view(Elsewhere(plain, shown)).tolist()
    if "mask" not in facts:
        return values
    valid = lend.view(facts["mask"]).tolist()
    return [value if truth else None for value, truth in zip(values, valid, strict=True)]


@pytest.mark.parametrize("laid", ["side by side", "strided", "backwards"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_nulls_is_a_mask_that_is_true_where_elements_are_valid(form, laid):
    column = forms.numbers("int64", ROWS, form, laid, before=[4, None, 6])
    assert read(column.array_interface(mask=True)) == ROWS


def test_nan_and_nat_that_are_null_are_told_by_the_mask_as_well():
    floats = forms.numbers("float64", [1.5, None, 2.5], "nan")
    times = forms.numbers("datetime64[ns]", ROWS, "nat").array_interface(mask=True)
    assert read(floats.array_interface(mask=True)) == [1.5, None, 2.5]
    assert times.__array_interface__["typestr"][1:] == "M8[ns]"
    assert lend.view(times.__array_interface__["mask"]).tolist() == [row is not None for row in ROWS]


@pytest.mark.parametrize("form", ["bytes of 0", "strided bytes", "bits"])
def test_a_mask_that_lies_so_is_shared_and_another_is_a_counted_copy(form):
    column = forms.numbers("int64", ROWS, form)
    with lend.copies() as made:
        column.array_interface(mask=True)
    assert made.bytes == (0 if form == "bytes of 0" else len(ROWS))


def test_elements_are_shared():
    column = forms.numbers("int64", ROWS, "bits", before=[1])
    facts = column.array_interface(mask=True).__array_interface__
    assert facts["data"][0] == column.buffers["data"].ptr + 8


def test_without_nulls_there_is_no_mask():
    column = forms.numbers("int64", [1, 2], "bits")
    assert "mask" not in column.array_interface(mask=True).__array_interface__
    assert read(column.array_interface()) == [1, 2]


def test_nulls_without_a_mask_are_refused():
    with pytest.raises(UnsupportedType, match="column 'x' may have nulls, which the interface says by a mask alone"):
        forms.numbers("int64", ROWS, "bits").array_interface()


def test_the_dunder_shows_no_mask_still():
    assert not hasattr(forms.numbers("int64", ROWS, "bits"), "__array_interface__")


def test_lend_takes_it_back_as_it_was():
    shown = forms.numbers("int64", ROWS, "bytes of 0").array_interface(mask=True)
    column = lend.column(shown)
    assert (column.tolist(), column.nulls) == (ROWS, Nulls("bytemask", 0))


@pytest.mark.parametrize("make", [lambda: forms.texts(["a"]), lambda: forms.categories(["a"], ["a"])])
def test_what_has_no_elements_of_a_number_is_refused(make):
    with pytest.raises(UnsupportedType, match="no array interface has elements that are"):
        make().array_interface(mask=True)


def test_the_object_keeps_the_memory_and_gives_it_back_once():
    made = Made(Node("l", 3, 1, buffers=[b"\5", struct.pack("3q", 1, 2, 3)]))
    shown = lend.column(made).array_interface(mask=True)
    gc.collect()
    assert made.released == {}
    assert read(shown) == [1, None, 3]
    del shown
    assert made.released == {"": 1}


# -- CUDA --------------------------------------------------------------------------------------------------------------


def on_cuda(count=8, **said):
    data = CudaInterface(shape=(count,), typestr="<i8", stream=None)
    masks = {"validity": CudaInterface(shape=(count,), typestr="|u1", stream=None)} if said else {}
    return Column.from_buffers("int64", count, {"data": data, **masks}, **said)


def test_elements_of_cuda_are_shown_where_they_are():
    facts = on_cuda().cuda_array_interface().__cuda_array_interface__
    assert (facts["data"][0], facts["shape"], facts["stream"]) == (ADDRESS, (8,), None)


def test_bytes_that_say_what_is_valid_are_the_mask():
    shown = on_cuda(nulls=Nulls("bytemask", 0)).cuda_array_interface(mask=True)
    mask = shown.__cuda_array_interface__["mask"].__cuda_array_interface__
    assert (mask["data"][0], mask["shape"], mask["typestr"]) == (ADDRESS, (8,), "|u1")


def test_bits_are_a_mask_of_bits():
    shown = on_cuda(nulls=Nulls("bitmask", 0))[:5].cuda_array_interface(mask=True)
    mask = shown.__cuda_array_interface__["mask"].__cuda_array_interface__
    assert (mask["data"][0], mask["shape"], mask["typestr"]) == (ADDRESS, (5,), "<t1")


@pytest.mark.parametrize("nulls", [Nulls("bytemask", 1), Nulls("bitmask", 1)])
def test_a_mask_that_would_have_to_be_written_is_refused(nulls):
    with pytest.raises(UnsupportedType, match="lend writes no mask on a device yet"):
        on_cuda(nulls=nulls).cuda_array_interface(mask=True)


def test_bits_that_begin_within_a_byte_are_refused():
    with pytest.raises(UnsupportedType, match="from bit 3 on"):
        on_cuda(nulls=Nulls("bitmask", 0))[3:].cuda_array_interface(mask=True)


def test_each_interface_is_for_its_memory():
    with pytest.raises(NotHostAccessible):
        on_cuda().array_interface()
    with pytest.raises(UnsupportedLayout, match="is on cpu, and __cuda_array_interface__ is for CUDA memory"):
        lend.column(b"abc").cuda_array_interface()


# -- tables ------------------------------------------------------------------------------------------------------------


def values_of(facts):
    """What a consumer in C reads, by addresses alone."""
    code = {"i8": "q", "i4": "i", "f8": "d", "u1": "B", "i1": "b"}[facts["typestr"][1:]]
    size, found = struct.calcsize("=" + code), []
    stride = facts["strides"][0] if facts["strides"] else size
    for i in range(facts["shape"][0]):
        mask = facts.get("mask")
        if mask and not ctypes.string_at(mask["data"][0] + i // 8, 1)[0] >> i % 8 & 1:
            found.append(None)
            continue
        (value,) = struct.unpack("=" + code, ctypes.string_at(facts["data"][0] + i * stride, size))
        found.append(value)
    return found


@pytest.mark.parametrize("laid", ["side by side", "strided", "backwards", "swapped"])
@pytest.mark.parametrize("form", FORMS)
def test_a_table_tells_each_column_with_nulls_as_bits(form, laid):
    table = lend.table({"x": forms.numbers("int64", ROWS, form, laid, before=[4, None, 6])})
    told = table.array_interfaces()
    assert [values_of(facts) for facts in told] == [ROWS]


def test_what_is_told_is_json():
    told = lend.table({"x": forms.numbers("int64", ROWS, "bits"), "y": bytes(range(10))}).array_interfaces()
    assert json.loads(json.dumps(told))[0]["mask"]["typestr"] == "<t1"


def test_bits_that_begin_a_byte_are_shared():
    column = forms.numbers("int64", ROWS, "bits", before=[1] * 8)
    with lend.copies() as made:
        (facts,) = lend.table({"x": column}).array_interfaces()
    assert facts["mask"]["data"][0] == column.buffers["validity"].ptr + 1
    assert made.count == 0


@pytest.mark.parametrize("kind", ["a stride that is no multiple", "backwards", "unaligned", "swapped"])
def test_elements_that_such_a_consumer_cannot_walk_along_are_a_counted_copy(kind):
    there = lend.DType("int64").newbyteorder("swap")
    column = {
        "a stride that is no multiple": lambda: forms.numbers("int32", [1, 2], laid="strided"),
        "backwards": lambda: forms.numbers("int32", [1, 2], laid="backwards"),
        "unaligned": lambda: lend.column(lend.view(bytes(17))[1:].reinterpret("float64")),
        "swapped": lambda: Column.from_buffers(there, 1, {"data": lend.view(bytes(8)).reinterpret(there)}),
    }[kind]()
    with lend.copies() as made:
        (facts,) = lend.table({"x": column}).array_interfaces()
    itemsize = int(facts["typestr"][2:])
    assert (facts["data"][0] % itemsize, facts["strides"] or (itemsize,)) == (0, (itemsize,))
    assert facts["typestr"][0] == lend.view(bytes(8)).reinterpret("int64").__array_interface__["typestr"][0]
    assert made.bytes == itemsize * len(column)


def test_a_column_of_a_block_is_shared_with_its_stride():
    block = lend.view(bytes(48)).reinterpret("int64").reshape(3, 2)
    with lend.copies() as made:
        told = lend.table(block).array_interfaces()
    assert [facts["strides"] for facts in told] == [(16,), (16,)]
    assert made.count == 0


def test_categories_are_told_by_their_codes():
    table = lend.table({
        "a": forms.categories(["a", None, "b"], ["a", "b"], "minus one"),
        "b": forms.categories(["a", None, "b"], ["a", None, "b"]),
        "c": forms.categories(["a", None, "b"], ["a", "b"], "bits"),
    })  # fmt: skip
    codes = [values_of(facts) for facts in table.array_interfaces()]
    assert codes == [[0, None, 1], [0, None, 2], [0, None, 1]]


def test_bools_are_bytes_and_chunks_are_joined_and_both_are_counted():
    chunks = Streamed(Node("l"), [Node("l", 1, buffers=[None, struct.pack("q", n)]) for n in (7, 8)])
    table = lend.table({"b": forms.packed_bools([True, None], "bits"), "n": lend.column(chunks)})
    with lend.copies() as made:
        told = table.array_interfaces()
    assert [values_of(facts) for facts in told] == [[True, None], [7, 8]]
    assert made.bytes == 2 + 16


def test_a_column_of_text_is_refused_by_its_name():
    with pytest.raises(UnsupportedType, match="column 't' is no View: no array interface has elements that are utf8"):
        lend.table({"n": b"ab", "t": forms.texts(["a", "b"], name="")}).array_interfaces()


def test_a_table_without_rows_or_columns_is_told():
    assert lend.table({"n": b""}).array_interfaces()[0]["shape"] == (0,)
    assert lend.table({}).array_interfaces() == []


def test_the_list_keeps_the_memory_and_gives_it_back_once():
    made = Made(Node("+s", 3, buffers=[None], children=[Node("l", 3, 1, buffers=[b"\5", struct.pack("3q", 1, 2, 3)])]))
    told = lend.table(made).array_interfaces()
    gc.collect()
    assert values_of(told[0]) == [1, None, 3]
    assert made.released == {"": 1}, "the row itself has no memory"
    del told
    assert made.released == {"": 1, "0": 1}


def test_memory_of_a_device_is_refused():
    with pytest.raises(LendError, match="needs host memory"):
        lend.table({"x": on_cuda()}).array_interfaces()


def test_xgboost_reads_it():
    xgboost = pytest.importorskip("xgboost", reason="the consumer whose form it is")
    floats = forms.numbers("float64", [0.5, None, 2.5, 3.5], "bits", before=[9.0, None, 1.0])
    table = lend.table({
        "i": forms.numbers("int64", [1, None, 3, 4], "bytes of 1"), "f": floats,
        "s": forms.numbers("int32", [1, 2, None, 4], "sentinel", "strided"),
        "b": forms.packed_bools([True, None, False, True], "bits"),
    })  # fmt: skip
    library, handle = xgboost.core._LIB, ctypes.c_void_p()
    told = table.array_interfaces()
    said = json.dumps({"missing": float("nan"), "nthread": 1}).encode()
    failed = library.XGDMatrixCreateFromColumnar(json.dumps(told).encode(), said, ctypes.byref(handle))
    assert failed == 0, library.XGBGetLastError()
    matrix = xgboost.DMatrix.__new__(xgboost.DMatrix)
    matrix.handle = handle
    rows = matrix.get_data().toarray().tolist()
    assert matrix.num_nonmissing() == 12
    assert rows == [[1, 0.5, 1, 1], [0, 0, 2, 0], [3, 2.5, 0, 0], [4, 3.5, 4, 1]]


@pytest.mark.parametrize("mask", [True, False])
def test_no_elements_have_an_interface_though_they_have_no_memory(mask):
    facts = lend.Column.from_buffers("int32", 0, {}).array_interface(mask=mask).__array_interface__
    assert (facts["shape"], facts["typestr"][1:], "mask" in facts) == ((0,), "i4", False)


@pytest.mark.parametrize("kind", ["bool", "int8", "dictionary", "no chunk"])
def test_no_rows_have_interfaces_of_every_column(kind):
    pa = pytest.importorskip("pyarrow")
    columns = {
        "bool": pa.array([], pa.bool_()),
        "int8": pa.array([], pa.int8()),
        "dictionary": pa.array([], pa.dictionary(pa.int8(), pa.string())),
        "no chunk": pa.chunked_array([], pa.int8()),
    }
    (facts,) = lend.table(pa.table({"a": columns[kind]})).array_interfaces()
    assert (facts["shape"], facts["typestr"][1:], "mask" in facts) == ((0,), "u1" if kind == "bool" else "i1", False)


def test_a_mask_that_was_told_stays_when_who_has_the_column_releases_it():
    bits = bytearray(b"\5")
    table = lend.table({"x": Column.from_buffers("int8", 3, {"data": bytes(3), "validity": bits}, nulls="bitmask")})
    told = table.array_interfaces()
    table["x"].release()
    del table
    with pytest.raises(BufferError):
        bits.append(0)
    del told
    bits.append(0)


def test_a_column_of_numbers_is_taken_by_its_array_struct():
    np = pytest.importorskip("numpy")
    column = lend.column(np.arange(5))[1:]

    class Bare:
        __array_struct__ = column.__array_struct__

    made = np.asarray(Bare())
    assert (made.tolist(), made.ctypes.data) == ([1, 2, 3, 4], column.buffers["data"].ptr + 8 * column.offset)


def test_the_capsule_of_a_column_keeps_the_memory():
    np = pytest.importorskip("numpy")
    memory = np.arange(5)
    gone = weakref.ref(memory)
    capsule = lend.column(memory).__array_struct__
    del memory
    assert gone() is not None
    del capsule
    assert gone() is None


@pytest.mark.parametrize("values", [[1, None], ["a"], [True]], ids=["nulls", "text", "bits"])
def test_what_an_array_struct_cannot_say_has_none(values):
    pa = pytest.importorskip("pyarrow")
    assert not hasattr(lend.column(pa.array(values)), "__array_struct__")

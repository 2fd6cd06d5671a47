"""A mask beside the memory that a protocol shows is never ignored, whichever protocol serves."""

import gc
import struct

import pytest

import lend
from lend import minimal
from lend.errors import LendError, UnsupportedType
from support import masked
from support.counting import CountingBuffer, CountingDLPack
from support.producers import Memory

MASKED = masked.BY_ATTRIBUTE | masked.BY_INTERFACE
EACH = pytest.mark.parametrize("make", MASKED.values(), ids=MASKED)
USES = {
    "view": lend.view,
    "view of a copy": lambda obj: lend.view(obj, copy=True),
    "buffer": lend.buffer,
    "to": lambda obj: lend.to(obj, "memoryview"),
    "to with a copy": lambda obj: lend.to(obj, "memoryview", copy=True),
    "explain": lend.explain,
    "minimal.array": minimal.array,
    "minimal.buffer": minimal.buffer,
}


@EACH
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_has_a_mask_is_refused_each_time(use, make):
    obj = make()
    for _ in range(2):
        with pytest.raises((LendError, minimal.Refused), match="mask"):
            use(obj)


@EACH
def test_lend_says_that_it_is_the_mask(make):
    with pytest.raises(UnsupportedType, match=r"has a mask \(nulls\), which a View cannot carry"):
        lend.view(make())


@EACH
def test_what_has_none_is_lent(make):
    assert lend.view(make(None)).tolist() == [1, 2, 3]


@EACH
def test_each_object_of_a_type_is_asked(make):
    free = make(None)
    own = vars(type(free)).get("__array_interface__")
    lend.view(free)
    lend.to(free, "memoryview")
    if make in masked.BY_ATTRIBUTE.values() and "mask" in vars(type(free)):
        type(free).mask = masked.MASK
    elif own is not None:
        type(free).__array_interface__ = vars(type(make()))["__array_interface__"]
    elif "mask" in vars(free):
        free.mask = masked.MASK
    else:
        free._obj = make()._obj
    for use in (lend.view, lend.buffer, lambda obj: lend.to(obj, "memoryview")):
        with pytest.raises(UnsupportedType, match="mask"):
            use(free)


def nothing_is_masked():
    yield None
    yield False
    yield pytest.importorskip("numpy").ma.nomask


@pytest.mark.parametrize("make", masked.BY_ATTRIBUTE.values(), ids=masked.BY_ATTRIBUTE)
def test_a_mask_that_says_that_nothing_is_masked_hides_nothing(make):
    for mask in nothing_is_masked():
        assert lend.view(make(mask)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", masked.ARGUMENTS)
def test_a_method_named_mask_hides_nothing(kind):
    obj = masked.producer(kind, mask=lambda self, where: self)
    assert lend.view(obj).tolist() == [1, 2, 3]


def test_a_column_of_pandas_has_such_a_method():
    pandas = pytest.importorskip("pandas")
    assert lend.view(pandas.Series([1, 2, 3])).tolist() == [1, 2, 3]


def test_a_mask_of_the_object_in_place_of_the_method_of_its_class_is_seen():
    obj = masked.producer("DLPack", mask=lambda self: self)
    obj.mask = masked.MASK
    with pytest.raises(UnsupportedType, match="mask"):
        lend.view(obj)


def test_a_mask_that_cannot_be_read_is_a_refusal():
    def fails(self):
        raise ValueError("no mask today")

    with pytest.raises(LendError, match="ValueError: no mask today"):
        lend.view(masked.producer("buffer", mask=property(fails)))


@pytest.mark.parametrize("fails", [NotImplementedError, AttributeError])
def test_an_interface_that_cannot_be_read_tells_of_no_mask(fails):
    def told(self):
        raise fails("not here")

    obj = masked.producer("buffer", __array_interface__=property(told))
    assert lend.view(obj).tolist() == minimal.array(obj).tolist() == [1, 2, 3]


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, MemoryError, RecursionError])
@pytest.mark.parametrize("attribute", ["mask", "__array_interface__"])
def test_what_is_no_refusal_passes(attribute, interrupt):
    def stops(self):
        raise interrupt

    obj = masked.producer("buffer", **{attribute: property(stops)})
    with pytest.raises(interrupt):
        lend.view(obj)
    assert obj.audit() == []


def test_the_interface_is_read_once():
    reads = []

    def told(self):
        reads.append(1)
        return masked.ArrayInterface(masked.DATA, (3,), "|u1").facts

    for use in (lend.view, lend.buffer, lambda obj: lend.to(obj, "memoryview"), lend.explain):
        reads.clear()
        use(masked.producer("DLPack", __array_interface__=property(told)))
        assert reads == [1]


@pytest.mark.parametrize("cls", [CountingBuffer, CountingDLPack])
@pytest.mark.parametrize("hides", [masked.by_attribute, masked.by_interface])
def test_what_was_taken_before_the_mask_was_seen_is_given_back(cls, hides):
    obj = hides("buffer" if cls is CountingBuffer else "DLPack")()
    gc.disable()
    try:
        with pytest.raises(UnsupportedType):
            lend.view(obj)
        assert obj.audit() == []
    finally:
        gc.enable()


def test_a_refused_mask_is_not_got_round_by_another_protocol():
    obj = masked.producer("array interface", __array__=lambda self, **_: pytest.fail("it was asked"))
    obj.facts["mask"] = masked.MASK
    with pytest.raises(UnsupportedType, match="mask"):
        lend.view(obj)


def test_rows_behind_pointers_are_not_gathered_without_their_mask():
    row = Memory(b"\1\2")
    pointers = struct.pack("2P", row.address, row.address)
    lie = {"shape": (2, 2), "strides": (struct.calcsize("P"), 1), "suboffsets": (0, -1), "len": 4, "ndim": 2}
    rows = CountingBuffer(pointers, shape=(4, 4), lie=lie, poison=False)
    assert lend.view(rows, copy=True).tolist() == [[1, 2], [1, 2]]
    rows = type("Rows", (CountingBuffer,), {"mask": masked.MASK})(pointers, shape=(4, 4), lie=lie, poison=False)
    with pytest.raises(UnsupportedType, match="mask"):
        lend.view(rows, copy=True)
    assert rows.audit() == []


ARRAYS = {name: make for name, make in MASKED.items() if "ndarray" in name}


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_an_array_that_another_object_gives_is_asked_too(make):
    with pytest.raises(LendError, match="it gives a masked array"):
        lend.view(masked.Gives(make()))
    assert lend.view(masked.Gives(make(None))).tolist() == [1, 2, 3]


def test_a_memoryview_is_the_data_alone_that_somebody_asked_for():
    pytest.importorskip("numpy")
    assert lend.view(memoryview(masked.numpy_subclass(mask=masked.MASK))).tolist() == [1, 2, 3]


# -- what a refusal advises --


@pytest.mark.parametrize("make", masked.BY_INTERFACE.values(), ids=masked.BY_INTERFACE)
def test_the_mask_of_an_interface_is_told_to_be_the_nulls_of_a_column_and_is(make):
    obj = make()
    with pytest.raises(UnsupportedType, match=r"try    : lend\.column\(x\)"):
        lend.view(obj)
    assert lend.column(obj).tolist() == minimal.column(obj).tolist() == [1, None, 3]


class Unmasked(CountingBuffer):
    mask = masked.MASK

    @property
    def unmasked(self):
        return masked.DATA


APART = {
    "ndarray": (lambda: masked.numpy_subclass(mask=masked.MASK), "x.view(numpy.ndarray)"),
    "unmasked": (lambda: Unmasked(masked.DATA), "x.unmasked"),
    "masked array": (masked.masked_array, "x.data"),
}


@pytest.mark.parametrize(("make", "data"), APART.values(), ids=APART)
def test_data_and_mask_can_be_lent_apart_as_a_refusal_says(make, data):
    x = make()
    with pytest.raises(UnsupportedType) as refused:
        lend.view(x)
    assert f"data and mask apart: lend.view({data}) and lend.view(x.mask)" in refused.value.remedy
    numpy = None if "numpy" not in data else pytest.importorskip("numpy")
    assert lend.view(eval(data, {"x": x, "numpy": numpy})).tolist() == [1, 2, 3]
    assert lend.view(x.mask).ndim == 1


def test_a_column_is_named_for_what_it_takes_alone():
    x = masked.masked_array()
    with pytest.raises(UnsupportedType, match=r"lend\.column\(x\)"):
        lend.view(x)
    assert lend.column(x).tolist() == minimal.column(x).tolist() == [1, None, 3]
    with pytest.raises(UnsupportedType) as refused:
        lend.view(masked.by_attribute("DLPack")())
    assert "column" not in refused.value.remedy

"""Read-only memory stays read-only on every way in and out, unless the caller signs by name (RO-1 to RO-13)."""

import mmap
import struct

import pytest

import lend
from lend.errors import LendError, ReadOnlyMemory
from support import counting
from support.counting import CountingBuffer, CountingDLPack, CountingExchange
from support.derived import HOLDERS
from support.producers import ArrayInterface, ArrayStruct, Memory

FLOATS = struct.pack("4f", 0.0, 1.0, 2.0, 3.0)
NOT_WRITEABLE = 0x301  # of __array_struct__: C, aligned, native order


class Pointer:
    """A foreign pointer, lent by the view made from it."""

    memory = Memory(FLOATS)


# each gives four float32 values (the first two: sixteen bytes)
READ_ONLY = {
    "bytes": lambda: FLOATS,
    "a memoryview": lambda: memoryview(bytearray(FLOATS)).toreadonly(),
    "an exporter": lambda: CountingBuffer(FLOATS, format="f", itemsize=4, readonly=True),
    "a read-only map": lambda: mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ),
    "a tensor": lambda: CountingDLPack(FLOATS, (4,), flags=counting.READ_ONLY),
    "a tensor by table": lambda: CountingExchange(FLOATS, (4,), flags=counting.READ_ONLY),
    "a bare capsule": lambda: CountingDLPack(FLOATS, (4,), flags=counting.READ_ONLY).capsule(),
    "an array interface": lambda: ArrayInterface(FLOATS, (4,), "<f4", readonly=True),
    "an array interface of bytes": lambda: ArrayInterface(FLOATS, (4,), "<f4", data=FLOATS),
    "an array struct": lambda: ArrayStruct(FLOATS, (4,), itemsize=4, flags=NOT_WRITEABLE),
    "a zero stride": lambda: CountingBuffer(FLOATS, format="f", itemsize=4, shape=(4,), strides=(0,)),
    "a zero stride in a tensor": lambda: CountingDLPack(FLOATS, (4,), strides=(0,)),
    "a zero stride in a table": lambda: CountingExchange(FLOATS, (4,), strides=(0,)),
    "a zero stride in an interface": lambda: ArrayInterface(FLOATS, (4,), "<f4", strides=(0,)),
}
UNTOLD = {
    "an unversioned tensor": lambda: CountingDLPack(FLOATS, (4,), protocol="legacy"),
    "a bare unversioned capsule": lambda: CountingDLPack(FLOATS, (4,)).capsule(False),
}
WRITABLE = {
    "a bytearray": lambda: bytearray(FLOATS),
    "an exporter": lambda: CountingBuffer(FLOATS, format="f", itemsize=4),
    "a map": lambda: mmap.mmap(-1, mmap.PAGESIZE),
    "a tensor": lambda: CountingDLPack(FLOATS, (4,)),
    "a tensor by table": lambda: CountingExchange(FLOATS, (4,)),
    "a bare capsule": lambda: CountingDLPack(FLOATS, (4,)).capsule(),
    "an array interface": lambda: ArrayInterface(FLOATS, (4,), "<f4"),
    "an array struct": lambda: ArrayStruct(FLOATS, (4,), itemsize=4),
}
FROM_READ_ONLY = pytest.mark.parametrize("make", (READ_ONLY | UNTOLD).values(), ids=READ_ONLY | UNTOLD)
FROM_WRITABLE = pytest.mark.parametrize("make", WRITABLE.values(), ids=WRITABLE)
TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])


@TAKES
@FROM_READ_ONLY
def test_read_only_memory_is_read_only(make, take):
    assert take(make()).readonly is True


@TAKES
@FROM_WRITABLE
def test_writable_memory_is_writable(make, take):
    assert take(make()).readonly is False


@TAKES
@FROM_WRITABLE
def test_writable_true_takes_writable_memory_where_it_lies(make, take):
    lender = make()
    lent = take(lender, writable=True)
    assert lent.readonly is False
    memoryview(lent)[0] = memoryview(lent)[1]


@TAKES
@pytest.mark.parametrize("make", READ_ONLY.values(), ids=READ_ONLY)
def test_writable_true_refuses_read_only_memory_naming_the_remedy(make, take):
    with pytest.raises(ReadOnlyMemory, match=r"(?s)read-only.*copy=True"):
        take(make(), writable=True)


@TAKES
@pytest.mark.parametrize("make", READ_ONLY.values(), ids=READ_ONLY)
def test_a_copy_of_read_only_memory_is_writable(make, take):
    lent = take(make(), copy=True)
    assert (lent.readonly, lent.ptr % 64) == (False, 0)
    assert take(make(), copy=True, writable=True).readonly is False


@TAKES
@pytest.mark.parametrize("make", UNTOLD.values(), ids=UNTOLD)
def test_the_word_of_the_caller_makes_an_unversioned_tensor_writable(make, take):
    lent = take(make(), writable=True)
    assert lent.readonly is False
    memoryview(lent)[0] = 5
    assert counting.capsule_fields(lent.__dlpack__())["name"] == "dltensor"


@TAKES
@FROM_WRITABLE
def test_writable_false_gives_a_read_only_view_of_anything(make, take):
    lent = take(make(), writable=False)
    assert lent.readonly is True
    with pytest.raises(LendError):
        counting.hold(lent, counting.WRITABLE)
    assert counting.exchange_take(lent).fields["flags"] == counting.READ_ONLY


def test_writable_false_changes_nothing_for_others():
    lender = bytearray(4)
    first, second = lend.view(lender, writable=False), lend.view(lender)
    assert (first.readonly, second.readonly) == (True, False)


def test_a_view_of_a_read_only_view_cannot_be_made_writable():
    frozen = lend.view(bytearray(4), writable=False)
    with pytest.raises(ReadOnlyMemory):
        lend.view(frozen, writable=True)
    with pytest.raises(ReadOnlyMemory):
        lend.buffer(frozen, writable=True)


DERIVED = [
    "a slice",
    "an element",
    "a reversed slice",
    "a new axis",
    "its transpose",
    "a reshape",
    "a reinterpretation",
    "its buffer",
    "a slice of its buffer",
    "a view of its buffer",
    "its shallow copy",
]


@pytest.mark.parametrize("name", DERIVED)
@FROM_READ_ONLY
def test_whatever_is_made_from_read_only_memory_is_read_only(make, name):
    view = lend.view(make())
    if not view.c_contiguous and name in ("a reshape", "a reinterpretation"):
        pytest.skip("a zero stride cannot be reshaped without a copy")
    assert HOLDERS[name](view).readonly is True


@pytest.mark.parametrize("name", DERIVED)
def test_whatever_is_made_from_writable_memory_is_writable(name):
    assert HOLDERS[name](lend.view(bytearray(FLOATS))).readonly is False


@FROM_READ_ONLY
def test_no_py_buffer_of_it_is_writable(make):
    view = lend.view(make())
    assert memoryview(view).readonly
    assert counting.getbuffer(view, counting.FULL_RO).readonly
    for flags in (counting.WRITABLE, counting.CONTIG, counting.STRIDED, counting.RECORDS, counting.FULL):
        with pytest.raises(LendError):
            counting.hold(view, flags)
    with pytest.raises(TypeError):
        memoryview(view)[0] = 0


@FROM_READ_ONLY
def test_a_write_request_is_refused_naming_what_to_do(make):
    with pytest.raises(ReadOnlyMemory, match=r"(?s)read-only.*v\.copy\(\)"):
        counting.hold(lend.view(make()), counting.FULL)


@FROM_READ_ONLY
def test_no_unversioned_capsule_is_made_over_it(make):
    view = lend.view(make())
    for version in (None, (0, 8)):
        with pytest.raises(LendError, match="max_version"):
            view.__dlpack__(max_version=version)


@FROM_READ_ONLY
@pytest.mark.parametrize("version", [(1, 0), (1, 3), (9, 9)], ids=str)
def test_every_versioned_capsule_over_it_says_so(make, version):
    capsule = lend.view(make()).__dlpack__(max_version=version)
    assert counting.capsule_fields(capsule)["flags"] & counting.READ_ONLY


@FROM_READ_ONLY
def test_the_exchange_table_says_so(make):
    assert counting.exchange_take(lend.view(make())).fields["flags"] & counting.READ_ONLY


@FROM_READ_ONLY
def test_nothing_of_it_is_borrowed_without_the_flag(make):
    view = lend.view(make())
    if counting.exchange_facts(type(view))["borrow"]:
        with pytest.raises(LendError):
            counting.exchange_borrow(view)


@FROM_READ_ONLY
def test_the_array_interface_says_so(make):
    assert lend.view(make()).__array_interface__["data"][1] is True


@FROM_WRITABLE
def test_the_array_interface_of_writable_memory_says_so(make):
    assert lend.view(make()).__array_interface__["data"][1] is False


class ArrayInterfaceOf:
    """Shows the array interface of `obj` and nothing else."""

    def __init__(self, obj):
        self.obj, self.__array_interface__ = obj, obj.__array_interface__


class ArrayStructOf:
    """Shows the array struct of `obj` and nothing else."""

    def __init__(self, obj):
        self.obj, self.__array_struct__ = obj, obj.__array_struct__


HOPS = {
    "view": lend.view,
    "buffer protocol": lambda view: lend.view(memoryview(view)),
    "capsule": lambda view: lend.view(view.__dlpack__(max_version=(1, 3))),
    "table": lambda view: lend.view(counting.exchange_give(counting.exchange_take(view), lend.View)),
    "array interface": lambda view: lend.view(ArrayInterfaceOf(view)),
    "array struct": lambda view: lend.view(ArrayStructOf(view)),
}


@pytest.mark.parametrize("hop", HOPS.values(), ids=HOPS)
@FROM_READ_ONLY
def test_read_only_survives_every_hop(make, hop):
    assert hop(lend.view(make())).readonly is True


def test_a_foreign_pointer_is_read_only_unless_signed_for():
    address = Pointer.memory.address
    view = lend.View.from_pointer(address, (4,), "float32", owner=Pointer)
    assert view.readonly
    with pytest.raises(ReadOnlyMemory):
        lend.view(view, writable=True)
    assert not lend.View.from_pointer(address, (4,), "float32", owner=Pointer, readonly=False).readonly


@pytest.mark.parametrize("make", READ_ONLY.values(), ids=READ_ONLY)
def test_a_refused_write_touches_no_byte(make):
    lender = make()
    before = lend.view(make()).tobytes()
    with pytest.raises(ReadOnlyMemory):
        lend.view(lender, writable=True)
    assert lend.view(make()).tobytes() == before


@pytest.mark.parametrize(
    "shape_and_strides", [((2, 3), (0, 1)), ((2, 3), (1, 0)), ((2, 2, 2), (1, 0, 2)), ((5,), (0,))], ids=str
)
@pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
def test_a_zero_stride_is_read_only_in_every_dimension(kind, shape_and_strides):
    shape, strides = shape_and_strides
    assert lend.view(kind(64, shape, strides=strides)).readonly


@pytest.mark.parametrize("shape_and_strides", [((1, 3), (0, 1)), ((3, 1), (1, 0)), ((0, 3), (0, 0)), ((), ())], ids=str)
@pytest.mark.parametrize("kind", [CountingDLPack, CountingExchange])
def test_a_zero_stride_over_one_element_or_none_is_writable(kind, shape_and_strides):
    shape, strides = shape_and_strides
    assert not lend.view(kind(64, shape, strides=strides)).readonly

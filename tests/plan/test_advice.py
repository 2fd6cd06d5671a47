"""What lends nothing: the refusal is short, and its "try" line is what works."""

import array
import ctypes
import io
import mmap
import pathlib

import pytest

import lend
from lend.errors import LendError, NotLendable

NUMBERS = 'array.array("d", x)'

# what comes -> the expression that the "try" line offers
LENT_NOT = {
    "a list": ([1, 2], NUMBERS),
    "an empty list": ([], NUMBERS),
    "a tuple": ((1, 2), NUMBERS),
    "a list of bytes": ([b"ab", b"c"], "[lend.view(item) for item in x]"),
    "a set": ({1, 2}, NUMBERS),
    "a range": (range(3), 'array.array("q", x)'),
    "a generator": ((i for i in (1, 2)), NUMBERS),
    "a map": (map(int, "12"), NUMBERS),
    "an int": (3, 'array.array("d", [x])'),
    "a bool": (True, 'array.array("d", [x])'),
    "a str": ("text", "x.encode()"),
    "a dict": ({"key": b"ab"}, "x[key]"),
    "a BytesIO": (io.BytesIO(b"ab"), "x.getbuffer()"),
    "a StringIO": (io.StringIO("ab"), "x.getvalue().encode()"),
    "a pointer": (ctypes.pointer(ctypes.c_int(7)), "x.contents"),
}


@pytest.mark.parametrize("name", LENT_NOT)
def test_what_lends_nothing_is_refused_with_a_remedy_that_works(name):
    x, remedy = LENT_NOT[name]
    with pytest.raises(LendError) as refused:
        lend.view(x)
    assert remedy in refused.value.remedy
    made = eval(remedy, {"array": array, "lend": lend, "x": x, "key": "key"})
    assert made if isinstance(made, list) and remedy.startswith("[") else lend.view(made) is not None


def test_a_file_is_told_to_be_mapped():
    with pathlib.Path(__file__).open() as x, pytest.raises(NotLendable) as refused:
        lend.view(x)
    assert "mmap.mmap(x.fileno(), 0, access=mmap.ACCESS_READ)" in refused.value.remedy


@pytest.mark.parametrize("x", [pathlib.PurePath("some/path.npy"), "some/path.npy", "C:\\data.npy"])
def test_a_path_is_told_to_be_mapped_by_numpy(x):
    with pytest.raises(NotLendable, match=r"numpy\.load\(.*, mmap_mode=\"r\"\)"):
        lend.to(x, "memoryview")


def test_a_path_that_is_a_text_may_be_meant_as_text():
    with pytest.raises(NotLendable, match=r"x\.encode\(\), if it is the text that you mean"):
        lend.view("some/path.npy")


def test_arguments_the_other_way_round_are_told():
    with pytest.raises(NotLendable, match=r'try    : the object first, then the target: lend\.to\(x, "numpy"\)'):
        lend.to("numpy", "memoryview")


def test_a_class_is_no_object_of_it():
    with pytest.raises(NotLendable, match=r"(?s)came   : the class bytearray itself.*try    : an object of this class"):
        lend.view(bytearray)


def test_what_stands_in_a_class_is_for_its_objects():
    lender = type("Lender", (), {"__array_interface__": property(lambda self: {}), "ptr": 5, "size": 5})
    with pytest.raises(NotLendable, match=r"(?s)came   : the class .*Lender itself.*try    : an object of this class"):
        lend.view(lender)


def test_what_is_not_there_is_told_in_one_line():
    with pytest.raises(NotLendable) as refused:
        lend.view(object())
    assert str(refused.value) == (
        "cannot lend an object as one view\n"
        "  came   : object\n"
        "  tried  : it has no buffer protocol, array struct, DLPack, CUDA array interface, SYCL USM array interface, "
        "array interface, ptr and size or array method\n"
        "  try    : an object with the buffer protocol, DLPack, __array_interface__, or an integer ptr with a size"
    )


def test_attributes_that_were_looked_for_in_vain_are_not_told_one_by_one():
    class Dynamic:
        def __getattr__(self, name):
            raise AttributeError(name)

    with pytest.raises(NotLendable) as refused:
        lend.view(Dynamic())
    assert refused.value.tried.count("\n") == 0


class Frame:
    """Looks as the tables of pandas and polars do."""

    columns = ("name",)

    def __dataframe__(self):
        raise AssertionError("asked for in vain")

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("asked for in vain")

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("asked for in vain")


def test_a_table_is_refused_as_one_with_what_lends_a_column():
    with pytest.raises(NotLendable) as refused:
        lend.view(Frame())
    assert refused.value.fact.endswith("Frame as one view: it is a table, whose columns lie apart")
    assert refused.value.remedy == (
        'lend.table(x), which has its columns; one column of numbers as an array: lend.view(x["name"].to_numpy())'
    )


@pytest.mark.parametrize("make", ["table", "record_batch"])
def test_a_column_of_an_arrow_table_is_lent_as_told(make):
    pa = pytest.importorskip("pyarrow")
    x = getattr(pa, make)({"name": [1, 2]})
    with pytest.raises(NotLendable, match=r'lend\.view\(x\["name"\]\.to_numpy\(\)\)'):
        lend.view(x)
    assert lend.view(x["name"].to_numpy()).tolist() == [1, 2]


ARROW = {
    "bools": (lambda pa: pa.array([True, False]), 'x.cast("uint8")'),
    "bools with a null": (lambda pa: pa.array([True, None]), 'x.fill_null(False).cast("uint8")'),
    "nulls": (lambda pa: pa.array([1, None]), "x.fill_null(0)"),
    "chunks": (lambda pa: pa.chunked_array([[1], [2]]), "x.combine_chunks()"),
    "strings": (lambda pa: pa.array(["a", None]), "x.buffers()[2]"),
    "string views": (lambda pa: pa.array(["a"], pa.string_view()), "x.buffers()[1]"),
    "days": (lambda pa: pa.array([1], pa.date32()), 'x.view("int32")'),
    "times": (lambda pa: pa.array([1], pa.time64("ns")), 'x.view("int64")'),
    "instants": (lambda pa: pa.array([1], pa.timestamp("us", tz="UTC")), 'x.view("int64")'),
    "lists": (lambda pa: pa.array([[1], [2, 3]]), "x.flatten()"),
    "records": (lambda pa: pa.array([{"a": 1}]), "x.field(0)"),
    "a dictionary": (lambda pa: pa.array(["a"]).dictionary_encode(), "x.indices"),
    "decimals": (lambda pa: pa.array([1], pa.decimal128(5)), "x.buffers()[1]"),
}


@pytest.mark.parametrize("name", ARROW)
def test_an_arrow_array_that_is_a_column_is_refused_with_a_remedy_that_works(name):
    pa = pytest.importorskip("pyarrow")
    make, remedy = ARROW[name]
    x = make(pa)
    with pytest.raises(LendError) as refused:
        lend.view(x)
    assert remedy in refused.value.remedy
    assert lend.view(eval(remedy, {"x": x})).size


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (lambda torch: torch.ones(3).untyped_storage(), "torch.empty(0, dtype=torch.uint8).set_(x)"),
        (lambda torch: torch.nn.Linear(2, 2), "[lend.view(p.detach()) for p in x.parameters()]"),
    ],
    ids=["a storage", "a module"],
)
def test_what_torch_has_beside_tensors_is_refused_with_a_remedy_that_works(make, remedy):
    torch = pytest.importorskip("torch")
    x = make(torch)
    with pytest.raises(NotLendable) as refused:
        lend.view(x)
    assert remedy in refused.value.remedy
    made = eval(remedy, {"torch": torch, "lend": lend, "x": x})
    assert made if isinstance(made, list) else lend.view(made)


@pytest.mark.parametrize("dtype", ["object", "i4,O"])
def test_an_array_of_objects_is_refused_as_bytes_by_what_it_holds(dtype):
    np = pytest.importorskip("numpy")
    with pytest.raises(LendError, match="pointers to Python objects|Python objects in them"):
        lend.buffer(np.zeros(2, dtype))
    assert lend.view(np.zeros(2, dtype)).dtype.has_objects


def test_a_closed_map_and_a_released_memoryview_are_told_to_be_open():
    mapped = mmap.mmap(-1, 16)
    mapped.close()
    shown = memoryview(b"ab")
    shown.release()
    for x, remedy in ((mapped, "an mmap that is still open"), (shown, "a released one lends nothing more")):
        with pytest.raises(NotLendable, match=remedy):
            lend.view(x)

"""Reported faults of copies (COPY rows): a copy that is a view, writes to what is read-only, strides that abort."""

import pytest

import lend
from lend.errors import CopyRequired, LeaseLost, LendError, UnsupportedLayout, UnsupportedType

np = pytest.importorskip("numpy")


def sources():
    """Three integers in each library, in one chunk and in several."""
    pa = pytest.importorskip("pyarrow")
    array = pa.array([1, 2, 3])
    yield "pyarrow", lambda: array
    yield "one chunk", lambda: pa.chunked_array([array])
    yield "two chunks", lambda: pa.chunked_array([array[:1], array[1:]])
    yield "polars", lambda: pytest.importorskip("polars").Series([1, 2, 3])
    yield "pandas", lambda: pytest.importorskip("pandas").Series([1, 2, 3])
    yield "pandas in Arrow", lambda: pytest.importorskip("pandas").Series([1, 2, 3], dtype="int64[pyarrow]")
    yield "numpy", lambda: np.array([1, 2, 3])


COPIES = {
    "numpy.array": lambda obj: np.array(lend.column(obj), copy=True),
    "__array__": lambda obj: lend.column(obj).__array__(copy=True),
    "lend.to": lambda obj: lend.to(obj, "numpy", copy=True),
    "lend.to of a column": lambda obj: lend.to(lend.column(obj), "numpy", copy=True),
    "a table": lambda obj: lend.table({"a": obj}).__array__(copy=True)[:, 0],
    "a dict": lambda obj: lend.to({"a": obj}, "numpy", copy=True)["a"],
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", ["pyarrow", "one chunk", "two chunks", "polars", "pandas", "pandas in Arrow", "numpy"])
def test_a_copy_is_fresh_and_can_be_written_to(name, way):  # COPY-5
    source = dict(sources())[name]()
    made = COPIES[way](source)
    lent = [(part.buffers["data"].ptr, part.buffers["data"].nbytes) for part in lend.column(source).chunks]
    assert made.tolist() == [1, 2, 3]
    assert made.flags.writeable
    assert not any(ptr <= made.ctypes.data < ptr + nbytes for ptr, nbytes in lent)
    made[0] = 99
    assert lend.column(source).tolist() == [1, 2, 3]


@pytest.mark.parametrize("way", [lambda v: v.__array__(copy=True), lambda v: np.array(v, copy=True)])
def test_a_copy_of_a_view_is_fresh_and_can_be_written_to(way):  # COPY-5
    source = np.arange(3)
    source.flags.writeable = False
    made = way(lend.view(source))
    assert (made.flags.writeable, made.ctypes.data != source.ctypes.data) == (True, True)


# -- __array__ of what needs a copy --


def needing():
    pa = pytest.importorskip("pyarrow")
    return {
        "chunks": (pa.chunked_array([[1], [2]]), [1, 2], "2 chunks"),
        "bits": (pa.array([True, False]), [True, False], "bit-packed"),
        "chunks of bits": (pa.chunked_array([[True], [False]]), [True, False], "chunks|bit-packed"),
    }


@pytest.mark.parametrize("name", ["chunks", "bits", "chunks of bits"])
def test_an_array_of_what_lies_otherwise_is_a_counted_copy(name):  # COPY-4
    source, values, _ = needing()[name]
    with lend.copies() as made:
        array = np.asarray(lend.column(source))
    assert (array.tolist(), made.bytes) == (values, array.nbytes)


@pytest.mark.parametrize("name", ["chunks", "bits", "chunks of bits"])
def test_an_array_of_what_lies_otherwise_is_refused_where_nothing_may_be_copied(name):  # COPY-4, COPY-2
    source, _, why = needing()[name]
    with pytest.raises(CopyRequired, match=why):
        np.asarray(lend.column(source), copy=False)


def test_an_array_of_chunks_is_of_the_dtype_that_is_asked_for():  # COPY-4
    assert np.asarray(lend.column(needing()["chunks"][0]), dtype="f4").dtype == "f4"


def test_another_dtype_is_a_copy_too():  # COPY-4
    pa = pytest.importorskip("pyarrow")
    one = lend.column(pa.chunked_array([[], [1, 2]], pa.int64()))
    assert np.asarray(one, copy=False).ctypes.data == one.chunks[1].buffers["data"].ptr
    with pytest.raises(CopyRequired, match="is int64, and an array of float32 needs a copy"):
        one.__array__("float32", copy=False)


@pytest.mark.parametrize("copy", [False, None, True])
@pytest.mark.parametrize("chunks", [1, 2])
@pytest.mark.parametrize("values", [[1, None], [True, None], ["x", "y"]], ids=["nulls", "bools with nulls", "text"])
def test_an_array_of_what_numpy_has_no_word_for_is_refused_however_it_is_asked_for(values, chunks, copy):  # COPY-4
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(CopyRequired if copy is False else UnsupportedType) as refused:
        np.array(lend.column(pa.chunked_array([values] * chunks)), copy=copy)
    assert copy is not False or 'lend.to(x, "numpy", nulls="object")' in str(refused.value)


def test_a_released_column_is_told_as_such_whatever_may_be_copied():  # COPY-4
    column = lend.column(np.arange(3))
    column.release()
    with pytest.raises(LeaseLost):
        np.asarray(column, copy=False)


def test_plain_numbers_are_an_array_over_their_memory():  # COPY-4
    pa = pytest.importorskip("pyarrow")
    source = pa.array([1, 2])
    assert np.asarray(lend.column(source), copy=False).ctypes.data == source.buffers()[1].address


# -- who may write --


def frozen():
    array = np.zeros(3)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "give",
    [
        lambda obj: np.from_dlpack(lend.view(obj)), lambda obj: np.asarray(lend.view(obj)),
        lambda obj: np.asarray(lend.column(obj)), lambda obj: lend.to(obj, "numpy"),
    ],
    ids=["DLPack", "a view", "a column", "lend.to"],
)  # fmt: skip
def test_an_array_can_be_written_to_where_its_source_can(give):  # COPY-6
    pa = pytest.importorskip("pyarrow")
    found = [give(source).flags.writeable for source in (np.zeros(3), frozen(), pa.array([1.0]))]
    assert found == [True, False, False]


FRAMES = {
    "pandas": lambda: pytest.importorskip("pandas").DataFrame({"a": [1, 2, 3]}),
    "polars": lambda: pytest.importorskip("polars").DataFrame({"a": [1, 2, 3]}),
    "pyarrow": lambda: pytest.importorskip("pyarrow").table({"a": [1, 2, 3]}),
    "numpy": lambda: {"a": frozen()},
}


@pytest.mark.parametrize("library", FRAMES)
def test_torch_gets_a_copy_of_a_column_that_is_read_only(library):  # COPY-7
    torch = pytest.importorskip("torch")
    source = FRAMES[library]()
    before = lend.table(source)["a"].tolist()
    plan = lend.explain(source, "torch")
    tensor = lend.to(source, "torch")["a"]
    tensor[0] = 99
    assert isinstance(tensor, torch.Tensor)
    assert lend.table(source)["a"].tolist() == before
    assert plan.bytes_copied == 24
    assert "torch cannot mark memory read-only" in str(plan)


@pytest.mark.parametrize("library", FRAMES)
def test_torch_does_not_get_a_column_that_is_read_only_without_a_copy(library):  # COPY-7
    pytest.importorskip("torch")
    with pytest.raises(CopyRequired, match="read-only"):
        lend.to(FRAMES[library](), "torch", copy=False)


@pytest.mark.parametrize("library", FRAMES)
def test_torch_shares_a_column_with_who_promises_not_to_write(library):  # COPY-7
    pytest.importorskip("torch")
    source = FRAMES[library]()
    tensor = lend.to(source, "torch", alias_readonly=True)["a"]
    assert tensor.data_ptr() == lend.table(source)["a"].buffers["data"].ptr


BACKWARDS = {
    "numpy": lambda: np.arange(4)[::-1],
    "a column": lambda: lend.column(np.arange(4)[::-1]),
    "pandas": lambda: pytest.importorskip("pandas").Series(np.arange(4))[::-1],
}


@pytest.mark.parametrize("name", BACKWARDS)
def test_torch_gets_a_copy_of_what_runs_backwards(name):  # COPY-8
    pytest.importorskip("torch")
    assert lend.to(BACKWARDS[name](), "torch").tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("name", BACKWARDS)
def test_torch_does_not_get_what_runs_backwards_without_a_copy(name):  # COPY-8
    pytest.importorskip("torch")
    with pytest.raises(CopyRequired, match="negative stride"):
        lend.to(BACKWARDS[name](), "torch", copy=False, alias_readonly=True)


@pytest.mark.parametrize("name", ["numpy", "a column"])
def test_torch_is_not_ended_by_a_capsule_of_what_runs_backwards(name):  # COPY-8
    torch = pytest.importorskip("torch")
    lent = BACKWARDS[name]()
    with pytest.raises(UnsupportedLayout, match="negative stride"):
        torch.from_dlpack(lend.view(lent) if name == "numpy" else lent)


def test_a_column_of_a_frame_that_runs_backwards_is_shared_with_numpy():  # COPY-8, COPY-3
    series = BACKWARDS["pandas"]()
    array = lend.to(series, "numpy", copy=False)
    assert (array.tolist(), array.strides) == ([3, 2, 1, 0], (-8,))
    with pytest.raises(LendError, match="stride"):
        lend.to(series, "pyarrow", copy=False)


def test_pandas_does_not_get_what_it_keeps_otherwise_without_a_copy():  # COPY-1
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    table = pa.table({"plain": [1, 2], "n": [1, None], "b": [True, None]})
    with pytest.raises(CopyRequired, match=r"column 'n' has nulls .* \(a mask of bytes\)") as refused:
        lend.to(table, "pandas", copy=False)
    assert "column 'b' has bools of a bit each" in str(refused.value)


def test_pandas_gets_arrays_of_arrow_without_a_copy():  # COPY-1
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    table = pa.table({"n": [1, None], "b": [True, None]})
    made = lend.to(table, "pandas", copy=False, dtype_backend="pyarrow")
    inside = [made[name].array.__arrow_array__().chunk(0).buffers()[1].address for name in table.column_names]
    assert inside == [column.chunk(0).buffers()[1].address for column in table.columns]

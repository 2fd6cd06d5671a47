"""Chunks brought into one, and compact copies: values as in a list, bytes as told, nothing else kept alive."""

import gc
import struct
import weakref

import pytest

import lend
from lend.columns import converting, joining
from lend.columns.building import of_chunks
from lend.columns.nullness import Nulls
from lend.errors import MalformedDescriptor, UnsupportedType
from support import column_forms as make
from support.arrow_structs import Made, Node

MASKS = make.MASKS


def carried_out(name, column):
    """What a function makes of a column; its draft told the bytes, and the source is what it was."""
    before = make.snapshot(column)
    told = getattr(joining, name)(column).nbytes
    with lend.copies() as made:
        result = getattr(converting, name)(column)
    assert made.bytes == told, "the bytes that were told are those that were written"
    assert make.snapshot(column) == before, "nobody changes the source"
    assert len(column.chunks) == len(before) or len(column.chunks) == 1
    return result


def flat(parts):
    """The rows of all parts."""
    return [row for part in parts for row in part]


def in_chunks(*chunks):
    return of_chunks(chunks)


# -- combined ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("laid", make.LAID)
@pytest.mark.parametrize("form", [*MASKS, "sentinel", None])
def test_numbers_of_all_chunks_come_into_one(form, laid):
    parts = [[1, None, 3], [None] * 9, [4], [*range(70)], [None, 5]]
    parts = [[9 if form is None and value is None else value for value in part] for part in parts]
    chunks = [make.numbers("int32", part, form, laid, before=[7] * i) for i, part in enumerate(parts)]
    made = carried_out("combined", in_chunks(*chunks))
    assert made.tolist() == flat(parts)
    assert len(made.chunks) == 1
    assert made.nulls.kind == ("sentinel" if form == "sentinel" else "none" if form is None else made.nulls.kind)


@pytest.mark.parametrize("first", [*MASKS, "sentinel", None])
@pytest.mark.parametrize("second", [*MASKS, "sentinel", None])
def test_chunks_with_nulls_in_different_forms_come_into_one(first, second):
    parts = [[1, 2, 3] if first is None else [1, None, 3], [4, -99, 6] if second is None else [None, 5, None]]
    chunks = [make.numbers("int64", part, form) for part, form in zip(parts, (first, second), strict=True)]
    assert carried_out("combined", in_chunks(*chunks)).tolist() == flat(parts)


def test_masks_of_bytes_stay_bytes():
    chunks = [make.numbers("int8", [1, None], form) for form in ("bytes of 0", "strided bytes")]
    assert carried_out("combined", in_chunks(*chunks)).nulls == Nulls("bytemask", 1)


def test_a_nan_that_is_a_value_stays_one_beside_a_chunk_whose_nan_is_null():
    # NULL-8
    chunks = [make.numbers("float64", [float("nan"), 1], None), make.numbers("float64", [None, 2], "nan")]
    made = carried_out("combined", in_chunks(*chunks))
    assert made.null_count == 1
    assert made[0:1].null_count == 0


@pytest.mark.parametrize("form", [*MASKS, None])
def test_bits_of_all_chunks_come_into_one(form):
    parts = [[True, False, None], [None] * 7, [False] * 65, [True]]
    parts = [[True if form is None and value is None else value for value in part] for part in parts]
    chunks = [make.packed_bools(part, form, before=[False] * i) for i, part in enumerate(parts)]
    assert carried_out("combined", in_chunks(*chunks)).tolist() == flat(parts)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("form", [*MASKS, None])
def test_text_of_all_chunks_comes_into_one(form, wide):
    parts = [["ä", None, ""], ["bc"] * 9, [""], [None, "d" * 30]]
    parts = [["e" if form is None and value is None else value for value in part] for part in parts]
    chunks = [make.texts(part, form, ["x"] * i, ["y"], wide, b"." * i) for i, part in enumerate(parts)]
    made = carried_out("combined", in_chunks(*chunks))
    assert made.tolist() == flat(parts)
    assert made.dtype == chunks[0].dtype


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("form", [*MASKS, None])
def test_lists_of_all_chunks_come_into_one(form, wide):
    parts = [[[1, None], [], [2]], [[]], [[3]] * 9, [[4, 5, 6]]]
    parts = parts if form is None else [[None, *part, None] for part in parts]
    chunks = [make.lists(part, form, [[8]] * i, [[9]], wide, MASKS[i]) for i, part in enumerate(parts)]
    assert carried_out("combined", in_chunks(*chunks)).tolist() == flat(parts)
    parts = [[[True, None]], [[False, False]] * 9, [[None, None]]]
    chunks = [make.fixed_lists(part, "bits", [[True, True]] * i, [None], MASKS[i]) for i, part in enumerate(parts)]
    assert carried_out("combined", in_chunks(*chunks)).tolist() == flat(parts)


@pytest.mark.parametrize("form", [*MASKS, None])
def test_structs_of_all_chunks_come_into_one(form):
    parts = [[{"b": 1.5, "t": "x"}], [{"b": None, "t": None}] * 9, [{"b": 2.5, "t": ""}]]
    parts = parts if form is None else [[None, *part] for part in parts]
    chunks = [make.structs(part, form, parts[0] * i) for i, part in enumerate(parts)]
    assert carried_out("combined", in_chunks(*chunks)).tolist() == flat(parts)


def test_indices_of_one_dictionary_come_into_one():
    words = ["a", "b", "c"]
    chunks = [make.categories(part, words, "bits", ordered=True) for part in (["a", None], ["c", "b", None])]
    made = carried_out("combined", in_chunks(*chunks))
    assert made.tolist() == ["a", None, "c", "b", None]
    assert made.dictionary.buffers["data"].ptr == chunks[0].dictionary.buffers["data"].ptr


def test_chunks_of_different_dictionaries_are_refused_by_name():
    chunks = [make.categories(["a"], ["a", "b"]), make.categories(["a"], ["b", "a"])]
    with pytest.raises(UnsupportedType, match="the chunks of column 'x' have different dictionaries") as caught:
        converting.combined(in_chunks(*chunks))
    assert "unify_dictionaries" in caught.value.remedy


def test_views_are_not_brought_into_one():
    pa = pytest.importorskip("pyarrow")
    column = lend.column(pa.chunked_array([["a"], ["b"]], pa.string_view()))
    with pytest.raises(UnsupportedType, match="of utf8_view are not brought into one by lend"):
        converting.combined(column)


def test_one_chunk_that_is_not_empty_is_no_copy():
    full = make.numbers("int8", [1, None], "bits")
    made = carried_out("combined", in_chunks(make.numbers("int8", []), full, make.numbers("int8", [])))
    assert made.buffers["data"].ptr == full.buffers["data"].ptr
    assert converting.combined(full) is full


def test_chunks_without_rows_are_no_copy():
    made = carried_out("combined", in_chunks(make.texts([]), make.texts([])))
    assert (made.tolist(), len(made.chunks)) == ([], 1)


# -- compact -----------------------------------------------------------------------------------------------------------


def kinds(form):
    """A column of each layout, with what its slice [1:4] needs in bytes beside its nulls."""
    before = [None] * 9
    return [
        (make.numbers("int32", [1, None, 3, 4, 5], form, "backwards", before), 12),
        (make.packed_bools([True, None, False, True, True], form, before), 1),
        (make.texts(["a", None, "bcd", "", "e"], form, ["x"] * 9, lead=b"...") if form == "bits" else
         make.texts(["a", "f", "bcd", "", "e"], form, ["x"] * 9), None),
        (make.lists([[1], None, [2, None], [], [3]], form, before), None),
        (make.fixed_lists([[True, None], None, [True, False], [None, None], [True, True]], form, before), None),
        (make.structs([None, {"b": 1.5, "t": "x"}, {"b": None, "t": None}, None, None], form, before), None),
        (make.categories(["b", None, "a", "b", "a"], ["a", "b"], form, before=["a"] * 9), None),
    ]  # fmt: skip


@pytest.mark.parametrize("form", MASKS)
def test_a_compact_copy_has_exactly_what_it_needs(form):
    for column, data in kinds(form):
        for start, stop in ((0, 5), (1, 4), (2, 2), (4, 5)):
            made = carried_out("compact", column[start:stop])
            assert made.tolist() == column.tolist()[start:stop]
            assert made.offset == 0
            assert made.dtype == column.dtype
            if data is not None and (start, stop) == (1, 4):
                assert made.buffers["data"].nbytes == data


def test_a_compact_copy_lets_the_rest_go():
    class Memory(bytearray):
        pass

    memory = Memory(b"x" * 1_000_000)
    gone = weakref.ref(memory)
    offsets = struct.pack("=4i", 0, 500_000, 500_003, 1_000_000)
    column = lend.Column.from_buffers("utf8", 3, {"offsets": offsets, "data": memory})
    made = converting.compact(column[1:2])
    del column, memory
    gc.collect()
    assert gone() is None
    assert made.tolist() == ["xxx"]


def test_a_compact_copy_has_its_bytes_in_no_memory_of_the_source():
    column = make.numbers("int64", [1, 2], "bits")
    made = converting.compact(column)
    assert not set(make.addresses(made).values()) & set(make.addresses(column).values())


def test_what_comes_from_arrow_is_copied_compactly_whatever_it_is():
    pa = pytest.importorskip("pyarrow")
    long = "a text of more than twelve bytes"
    arrays = [
        pa.array(["a", None, long, "", long + "!"], pa.string_view()),
        pa.array([b"a", None, long.encode(), b"", b"b"], pa.binary_view()),
        pa.array([[1], None, [2, 3], [], [4]], pa.list_view(pa.int16())),
        pa.array([[1], None, [2, 3], [], [4]], pa.large_list_view(pa.int16())),
        pa.RunEndEncodedArray.from_arrays([2, 3, 5], ["a", None, "b"]),
        pa.UnionArray.from_sparse(
            pa.array([0, 1, 0, 1, 1], pa.int8()), [pa.array([1, 2, 3, 4, 5]), pa.array(list("abcde"))]
        ),
        pa.UnionArray.from_dense(
            pa.array([0, 1, 0, 1, 1], pa.int8()), pa.array([0, 0, 1, 1, 2], pa.int32()),
            [pa.array([1, 2]), pa.array(list("abc"))],
        ),
        pa.array([[("k", 1)], None, [], [("l", None)], []], pa.map_(pa.string(), pa.int8())),
        pa.nulls(5),
    ]  # fmt: skip
    for array in arrays:
        for start, stop in ((0, 5), (1, 4), (2, 2), (4, 5)):
            made = carried_out("compact", lend.column(array.slice(start, stop - start)))
            assert made.tolist() == array.to_pylist(maps_as_pydicts=None)[start:stop], array.type


def test_of_views_only_the_bytes_that_are_seen_are_kept():
    pa = pytest.importorskip("pyarrow")
    column = lend.column(pa.array(["x" * 100_000, "y" * 20, "short"], pa.string_view()))
    made = converting.compact(column[1:])
    assert [part.nbytes for part in made.buffers["variadic"]] == [20]
    assert made.tolist() == ["y" * 20, "short"]


def test_a_view_that_leads_out_of_its_data_is_refused():
    view = struct.pack("=i4sii", 20, b"yyyy", 0, 5)
    column = lend.Column.from_buffers("utf8_view", 1, {"views": view, "variadic": [b"y" * 20]}, name="x")
    with pytest.raises(MalformedDescriptor, match="element 0 leads out of its data buffers"):
        converting.compact(column)


# -- offsets told anew -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [4, 8])
def test_offsets_are_told_anew_however_many_there_are(width):
    code = "i" if width == 4 else "q"
    for count in (1, 2, joining._BLOCK - 1, joining._BLOCK, joining._BLOCK + 1, 3 * joining._BLOCK):
        rows = [5 + 3 * i for i in range(count)]
        source = lend.view(struct.pack(f"={count}{code}", *rows))
        to = lend.view(bytearray(width * count))
        joining.rebase(to.ptr, width, source.ptr, width, 7, count)
        assert list(to.reinterpret(f"int{8 * width}").tolist()) == [row - 7 for row in rows]


def test_offsets_further_apart_than_32_bits_are_told_anew():
    rows = [2**33, 2**33 + 1, 2**34, 2**34 + 2**31 - 1, 2**36, 2**36 + 2**31, 2**60]
    source, to = lend.view(struct.pack("=7q", *rows)), lend.view(bytearray(56))
    joining.rebase(to.ptr, 8, source.ptr, 8, 2**33 - 5, 7)
    assert to.reinterpret("int64").tolist() == [row - 2**33 + 5 for row in rows]


LEADING_OUT = {
    "text": Node("u", 3, buffers=[None, struct.pack("4i", 0, 10**9, 2, 3), b"abc"]),
    "large text": Node("U", 3, buffers=[None, struct.pack("4q", 0, 2**50, 2, 3), b"abc"]),
    "lists": Node(
        "+l", 3, buffers=[None, struct.pack("4i", 0, 10**9, 2, 3)], children=[Node("c", 3, buffers=[None, b"abc"])]
    ),
}


@pytest.mark.parametrize("cut", [slice(0, 1), slice(1, 2)], ids=str)
@pytest.mark.parametrize("change", ["compact", "widened", "narrowed"])
@pytest.mark.parametrize("case", LEADING_OUT)
def test_of_a_slice_no_offset_is_followed_out_of_the_memory(case, change, cut):
    column = lend.column(Made(LEADING_OUT[case]))[cut]
    try:
        found = getattr(converting, change)(column)
    except MalformedDescriptor as error:
        assert "its offsets go from" in str(error)
    else:
        assert found is column


@pytest.mark.parametrize("case", LEADING_OUT)
def test_slices_that_lead_out_are_not_joined(case):
    column = lend.column(Made(LEADING_OUT[case]))
    with pytest.raises(MalformedDescriptor, match="its offsets go from"):
        converting.combined(of_chunks([column[:1], column[2:]]))


@pytest.mark.parametrize(
    ("one", "other"),
    [([0.0], [-0.0]), ([1729987200], [1729990800])],
    ids=["zeros of two signs", "an hour that is told twice"],
)
def test_dictionaries_whose_values_python_takes_for_equal_are_not_taken_for_the_same(one, other):
    pa = pytest.importorskip("pyarrow")
    kind = pa.float64() if isinstance(one[0], float) else pa.timestamp("s", "Europe/Paris")
    words = [pa.array([None, *each], kind) for each in (one, other)]  # under the null lies something else
    chunks = [pa.DictionaryArray.from_arrays(pa.array([1], pa.int8()), each) for each in words]
    assert not joining.same_values(lend.column(words[0]), lend.column(words[1]))
    assert joining.same_values(lend.column(words[0]), lend.column(pa.array([None, *one], kind)))
    with pytest.raises(UnsupportedType, match="different dictionaries"):
        converting.combined(lend.column(pa.chunked_array(chunks)))

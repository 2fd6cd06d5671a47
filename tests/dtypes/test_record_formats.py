"""Struct formats and descrs of records: both ways, against NumPy, and hostile ones."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lend.dtypes import DType, record_format
from lend.errors import UnsupportedType

np = pytest.importorskip("numpy")

LEAVES = st.sampled_from(
    [
        "?",
        "i1",
        "u1",
        "<i2",
        ">i2",
        "<u4",
        ">i4",
        "<i8",
        ">u8",
        "<f2",
        "<f4",
        ">f8",
        "<c8",
        ">c16",
        "g",
        "S3",
        "<U2",
        ">U2",
        "V5",
    ]
)
NAMES = st.text("abcdefgh_é", min_size=1, max_size=4)
SHAPES = st.sampled_from([(), (), (), (2,), (2, 3), (1,)])


@st.composite
def numpy_records(draw, depth=2):
    """A dtype of NumPy's with fields in their order: packed, aligned, or with gaps and padding at the end."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    formats = []
    for _ in names:
        leaf = draw(numpy_records(depth=depth - 1)) if depth and draw(st.integers(0, 3)) == 0 else draw(LEAVES)
        formats.append((leaf, draw(SHAPES)))
    kind = draw(st.integers(0, 2))
    if kind < 2:
        return np.dtype({"names": names, "formats": formats}, align=bool(kind))
    offsets, at = [], 0
    for format in formats:
        at += draw(st.integers(0, 5))
        offsets.append(at)
        at += np.dtype(format).itemsize
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": at + draw(st.integers(0, 9))})


many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(numpy_records())
def test_a_dtype_of_numpy_is_read_and_made_again(dtype):
    read = DType(dtype)
    assert read.itemsize == dtype.itemsize
    assert read.__numpy_dtype__ == dtype
    assert read.__numpy_dtype__.isalignedstruct == dtype.isalignedstruct


@many
@given(numpy_records())
def test_what_is_written_reads_back_as_the_same_type(dtype):
    ours = DType(dtype)
    assert DType.from_format(ours.format) == ours
    assert DType.from_format(ours.format, ours.itemsize) == ours
    assert DType.from_typestr(ours.typestr, ours.descr) == ours


@many
@given(numpy_records())
def test_numpy_reads_our_format_as_its_own_dtype(dtype):
    import lend

    array = np.zeros(2, dtype)
    assert np.asarray(memoryview(lend.view(array))).dtype == dtype


@many
@given(numpy_records())
def test_the_format_that_numpy_writes_is_read_as_numpy_reads_it(dtype):
    with memoryview(np.zeros(2, dtype)) as told:
        try:
            back = np.asarray(told).dtype
        except (ValueError, RuntimeError):
            return
        if back != dtype:
            return  # NumPy drops padding in its own formats
        assert DType.from_format(told.format, told.itemsize) == DType(dtype)


@many
@given(numpy_records())
def test_our_descr_is_that_of_numpy(dtype):
    assert DType(dtype).descr == dtype.descr


@pytest.mark.parametrize(
    ("format", "offsets", "itemsize"),
    [
        ("T{i:a:xxxxd:b:}", [0, 8], 16),
        ("T{b:a:d:b:}", [0, 8], 16),
        ("T{=b:a:d:b:}", [0, 1], 9),
        ("T{^b:a:d:b:}", [0, 1], 9),
        ("T{b:a:=d:b:@h:c:}", [0, 1, 10], 12),
        ("T{b:a:(3)h:b:}", [0, 2], 8),
        ("T{b:a:T{d:x:b:y:}:n:b:c:}", [0, 8, 24], 32),
        ("T{10s:a:2w:b:?:c:}", [0, 12, 20], 24),
    ],
)
def test_alignment_is_that_of_a_c_compiler_after_at_and_none_after_equals(format, offsets, itemsize):
    dtype = DType.from_format(format)
    assert [field.offset for field in dtype.fields.values()] == offsets
    assert dtype.itemsize == itemsize


def test_a_byte_order_holds_until_the_next():
    dtype = DType.from_format("T{>i:a:h:b:<h:c:}")
    assert [field.dtype for field in dtype.fields.values()] == [DType(">i4"), DType(">i2"), DType("<i2")]


def test_items_without_names_get_names():
    assert DType.from_format("ii").names == ("f0", "f1")
    assert DType.from_format("T{i:f0:i}").names == ("f0", "f1")


def test_padding_with_a_name_is_a_field():
    assert DType.from_format("T{3x:a:xi:b:}").fields["a"].dtype == DType("opaque[3]")


@pytest.mark.parametrize("format", ["2i", "(2,3)i", "(2)T{i:a:}"])
def test_a_subarray_alone_is_several_values_and_no_dtype(format):
    with pytest.raises(UnsupportedType, match="several values"):
        DType.from_format(format)


@pytest.mark.parametrize(
    "format",
    [
        *["T{", "T{i", "T{i:a", "T{i:a:", "T{i:a:}}", "}", "T", "{}", "T}", "T{:a:}", "T{i:a:i:a:}", "T{i::i::}"],
        *["(", "(2", "(2,", "()i", "(-1)i", "(a)i", "(2,3)", "(2)(3)i", "99999999999999999999i", "99999999999i"],
        *["T{" * 200 + "}" * 200, "T{" * 100000, "(" * 100000, "1" * 100000, "i" * 100000, "x" * 2000000, ":" * 1000],
        *[
            "T{4294967295s:a:b:b:}",
            "T{(1000000000)T{}:a:b:b:}",
            "T{(99999999)0s:a:}",
            "T{(65536,65536)i:a:}",
            "T{4294967295T{4294967295s:a:}:b:}",
            "T{i:\ud800:}",
        ],
        *[
            "T{&i:a:}",
            "T{X{}:a:}",
            "T{p:a:}",
            "T{u:a:}",
            "T{Z:a:}",
            "T{Zq:a:}",
            "T{i:a:}\0",
            "T{t:a:}",
            "T{:}",
            "T{é:a:}",
        ],
        f"T{{({','.join(['1'] * 65)})i:a:}}",
    ],
    ids=lambda text: ascii(text[:30]),
)
def test_a_hostile_format_is_refused(format):
    with pytest.raises(UnsupportedType, match="struct format"):
        DType.from_format(format)


@pytest.mark.parametrize("itemsize", [0, 1, 3, 5, 7, 2**32, -2, 10**30])
def test_an_itemsize_that_the_format_does_not_fill_is_refused(itemsize):
    with pytest.raises((UnsupportedType, OverflowError)):
        DType.from_format("T{<i:a:}", itemsize)


def test_padding_that_numpy_leaves_away_at_the_end_is_known_by_the_itemsize():
    assert DType.from_format("T{i:a:}", 8) == DType({"names": ["a"], "formats": ["i4"], "itemsize": 8})


def test_a_prefix_that_leaves_padding_away_is_not_believed():
    # ctypes before Python 3.12 writes `<` and no padding: the offsets would be wrong
    with pytest.raises(UnsupportedType, match="itemsize"):
        DType.from_format("T{<b:a:<q:b:}", 16)


@settings(max_examples=300, deadline=None)
@given(st.text("Ti{}:()0123456789,xsw?bhqdgOZ@=<>^ ", max_size=40), st.one_of(st.none(), st.integers(0, 64)))
def test_any_text_is_refused_or_read_as_something_of_that_size(text, itemsize):
    try:
        dtype = DType.from_format(text, itemsize)
    except UnsupportedType:
        return
    assert itemsize is None or dtype.itemsize == itemsize
    assert DType.from_format(dtype.format, dtype.itemsize) == dtype


def test_what_was_read_is_remembered_within_bounds():
    for number in range(3000):
        DType.from_format(f"T{{i:bounded{number % 1500}:}}")
    assert len(record_format._known) <= 1024


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [4, 0]}, "overlap or stand out of order"),
        ({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]}, "overlap or stand out of order"),
        ([("a:b", "i4")], "field name"),
        ([("a", "M8[s]")], "datetime64"),
    ],
    ids=str,
)
def test_what_the_buffer_protocol_cannot_say_is_refused_by_name(said, why):
    with pytest.raises(UnsupportedType, match=f"the buffer protocol.*{why}"):
        DType(said).format

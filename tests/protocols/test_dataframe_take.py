"""Frames of the dataframe protocol that lend takes: hand-made ones, which tell whatever they are given to tell."""

import gc
import random
import struct
import sys
import weakref

import pytest

import lend
from lend.errors import CopyRequired, LendError, MalformedDescriptor, NotLendable, UnsupportedType
from support.told_frames import (
    BITS,
    BOOL,
    BYTES,
    CATEGORICAL,
    DATETIME,
    FLOAT,
    INT,
    NAN,
    NAT,
    NONE,
    SENTINEL,
    STRING,
    UINT,
    ToldBuffer,
    ToldColumn,
    ToldFrame,
    floats,
    ints,
    texts,
)

SWAPPED = ">" if sys.byteorder == "little" else "<"


def column(told, **said):
    return lend.column(ToldFrame({"a": told}), **said)


def coded(codes, words, *, said=dict, null=(SENTINEL, -1), format="c", **more):
    told = {"is_ordered": True, "is_dictionary": True, "categories": words}
    return ToldColumn(
        (CATEGORICAL, 8, format, "="), len(codes), null=null, data=struct.pack(f"{len(codes)}b", *codes),
        categories=told if said is dict else tuple(told.values()), **more,
    )  # fmt: skip


NULLS = {
    "none, where NaN is a value": (floats(1, float("inf")), ("none", None, None), [1.0, float("inf")]),
    "NaN": (floats(1, float("nan"), null=(NAN, None)), ("nan", None, None), [1.0, None]),
    "a value": (ints(1, -9, 3, null=(SENTINEL, -9)), ("sentinel", None, -9), [1, None, 3]),
    "a value that is NaN": (floats(1, float("nan"), null=(SENTINEL, float("nan"))), ("nan", None, None), [1.0, None]),
    "bits of 0": (ints(1, 2, 3, null=(BITS, 0), validity=b"\x05"), ("bitmask", 0, None), [1, None, 3]),
    "bits of 1": (ints(1, 2, 3, null=(BITS, 1), validity=b"\x05"), ("bitmask", 1, None), [None, 2, None]),
    "bytes of 0": (ints(1, 2, 3, null=(BYTES, 0), validity=b"\1\0\1"), ("bytemask", 0, None), [1, None, 3]),
    "bytes of 1": (ints(1, 2, 3, null=(BYTES, 1), validity=b"\1\0\1"), ("bytemask", 1, None), [None, 2, None]),
    "a mask that is not there": (ints(1, 2, null=(BITS, 0), null_count=0), ("none", None, None), [1, 2]),
    "a mask that nobody needs": (ints(1, 2, null_count=0, validity=b"\0"), ("none", None, None), [1, 2]),
    "a value out of range": (coded([0], ["x"], null=(SENTINEL, 300), null_count=0), ("none", None, None), ["x"]),
}


@pytest.mark.parametrize("case", NULLS)
def test_nulls_keep_the_form_and_polarity_in_which_they_came(case):
    told, (kind, missing, value), expected = NULLS[case]
    taken = column(told)
    assert (taken.nulls.kind, taken.nulls.missing, taken.nulls.value) == (kind, missing, value)
    assert taken.tolist() == expected


@pytest.mark.parametrize("null", [(NAN, None), (SENTINEL, NAT), (SENTINEL, float("nan"))])
def test_times_that_are_missing_are_nat_however_it_is_said(null):
    data = struct.pack("2q", 1, NAT)
    taken = column(ToldColumn((DATETIME, 64, "tss:UTC", "="), 2, null=null, data=data))
    assert (taken.nulls.kind, taken.null_count, str(taken.dtype)) == ("nat", 1, "datetime64[s, UTC]")


@pytest.mark.parametrize("null", [BITS, BYTES])
@pytest.mark.parametrize("offset", [0, 1, 7, 8, 9, 33])
@pytest.mark.parametrize("make", [ints, texts])
def test_an_offset_counts_elements_of_every_buffer(make, offset, null):
    rng = random.Random(offset)
    rows = [rng.randrange(1000) for _ in range(50)]
    lost = [rng.random() < 0.3 for _ in rows]
    mask = bytes(lost) if null == BYTES else sum(gone << i for i, gone in enumerate(lost)).to_bytes(7, "little")
    told = make(*(rows if make is ints else map(str, rows)), null=(null, 1), validity=mask)
    told.rows, told.offset = 50 - offset, offset
    expected = [None if gone else row if make is ints else str(row) for row, gone in zip(rows, lost, strict=True)]
    assert column(told).tolist() == expected[offset:]


TYPES = [
    ((INT, 8, "c", "="), "int8"),
    ((UINT, 16, "S", "="), "uint16"),
    ((INT, 64, "<i8", "="), "int64"),
    ((FLOAT, 32, "f", "|"), "float32"),
    ((FLOAT, 16, "e", "="), "float16"),
    ((BOOL, 8, "b", "="), "bool"),
    ((BOOL, 8, "|b1", "|"), "bool"),
    ((DATETIME, 64, "tsu:Europe/Paris", "="), "datetime64[us, Europe/Paris]"),
    ((DATETIME, 32, "tdD", "="), "date32"),
]


@pytest.mark.parametrize(("told", "expected"), TYPES, ids=str)
def test_the_type_is_what_the_column_says_in_each_dialect(told, expected):
    # the dtype beside the buffer is wrong on purpose
    taken = column(ToldColumn(told, 2, data=(bytes(16), (FLOAT, 64, "g", "="))))
    assert str(taken.dtype) == expected


def test_bools_of_one_bit_are_bits():
    taken = column(ToldColumn((BOOL, 1, "b", "="), 3, offset=9, data=b"\0\x0a"))
    assert taken.tolist() == [True, False, True]


def sized(told, count, width, *, room=0):
    """Text whose offsets are of a width, with room behind them, beside a dtype that says what it says."""
    ends = struct.pack(f"{count + 1}{'i' if width == 32 else 'q'}", *range(count + 1)) + bytes(room)
    return ToldColumn(
        (STRING, 8, told[0], "="), count, data=b"abcdef"[:count], offsets=(ends, (INT, told[1], "l", "="))
    )  # fmt: skip


@pytest.mark.parametrize(
    ("told", "width", "room"),
    [
        (("u", 32), 32, 0),
        (("U", 64), 64, 0),
        (("u", 64), 64, 0),  # pandas
        (("u", 8), 64, 0),  # the dtype is that of the text
        (("U", 8), 32, 0),
        (("u", 32), 32, 16),  # a slice, with as many bytes as offsets of 64 bits would have
        (("U", 64), 64, 24),
        (("u", 64), 64, 24),
    ],
)
def test_the_width_of_offsets_is_found_by_their_room_and_by_what_is_told(told, width, room):
    assert column(sized(told, 3, width, room=room)).tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("said", [dict, tuple])
@pytest.mark.parametrize("words", [texts("x", "é"), ["x", "é"], ("x", "é")], ids=["column", "list", "tuple"])
def test_categories_are_a_column_or_a_list_in_a_dict_or_a_tuple(words, said):
    taken = column(coded([1, -1, 0], words, said=said))
    assert taken.tolist() == ["é", None, "x"]
    assert taken.dtype.ordered


@pytest.mark.parametrize("words", [[1, 2], [0.5, 2]])
def test_a_list_of_numbers_is_a_dictionary_of_numbers(words):
    assert column(coded([1, 0], words)).tolist() == [words[1], words[0]]


def test_a_list_of_categories_is_a_copy_that_is_counted_or_refused():
    with lend.copies() as made:
        column(coded([0], ["ab"]))
    assert (made.count, made.bytes) == (1, 2 + 16)
    with pytest.raises(CopyRequired, match="column 'a': its categories are a list of Python objects"):
        column(coded([0], ["ab"]), copy=False)


# what is told may be the format of the categories
@pytest.mark.parametrize(("told", "letter"), [("u", "c"), ("|i1", "c"), ("C", "C"), ("|u1", "C"), ("<u2", "c")])
def test_codes_keep_their_width_and_their_sign_where_that_is_told(told, letter):
    taken = column(coded([0, 1], texts("x", "y"), null=(NONE, None), format=told))
    assert (taken.dtype.arrow, taken.tolist()) == (letter, ["x", "y"])


def test_a_word_that_is_null_stays_null():
    words = texts("x", "y", null=(BYTES, 1), validity=b"\0\1")
    assert column(coded([1, 0], words)).tolist() == [None, "x"]


def test_categories_in_several_chunks_come_into_one_by_a_counted_copy_or_not_at_all():
    words = texts("x", "é", chunks=2)
    words.get_chunks = lambda: [texts("x"), texts("é")]
    with lend.copies() as made:
        assert column(coded([1, -1, 0], words)).tolist() == ["é", None, "x"]
    assert (made.count, made.recent[0].why) == (1, "categories in several chunks")
    with pytest.raises(CopyRequired, match="column 'a': its categories are in several chunks"):
        column(coded([0], words), copy=False)


WRONG = {
    "a type of no kind": (ToldColumn((99, 8, "c", "="), 1, data=b"\0"), UnsupportedType, "kind 99"),
    "bits that are not the format's": (ToldColumn((INT, 32, "l", "="), 1, data=bytes(8)), UnsupportedType, "32 bits"),
    "a width that no numbers have": (
        ToldColumn((INT, 24, "<i3", "="), 1, data=bytes(3)), UnsupportedType, "24 bits"),
    "objects": (ToldColumn((STRING, 64, "|O", "|"), 1, data=bytes(8)), UnsupportedType, "kind 21"),
    "the other byte order": (ToldColumn((INT, 64, "l", SWAPPED), 1, data=bytes(8)), UnsupportedType, "byte order"),
    "the other byte order in the format": (
        ToldColumn((INT, 64, f"{SWAPPED}i8", "="), 1, data=bytes(8)), UnsupportedType, "byte order"),
    "data too short": (ints(1, 2, offset=1), MalformedDescriptor, "data has 16 bytes.* need 24"),
    "bits too short": (ints(*range(9), null=(BITS, 0), validity=b"\0"), MalformedDescriptor, "validity has 1 bytes"),
    "bytes too short": (ints(1, 2, null=(BYTES, 0), validity=b"\0"), MalformedDescriptor, "validity has 1 bytes"),
    "offsets too short": (texts("a", offset=1), MalformedDescriptor, "offsets has 8 bytes"),
    "offsets of 64 bits in room for 32": (
        texts("a", "b", "c", format="U", offsets=(bytes(16), (INT, 64, "l", "="))),
        MalformedDescriptor, "offsets has 16 bytes.* need 32"),
    "no offsets": (texts("a", offsets=None), MalformedDescriptor, "no offsets"),
    "offsets that lead out": (
        texts("a", offsets=struct.pack("2i", 0, 9)), MalformedDescriptor, "data has 1 bytes, and 9"),
    "no data": (ints(1, data=None), MalformedDescriptor, "no data"),
    "a kind of null that is none": (ints(1, null=(5, None)), MalformedDescriptor, "kind 5"),
    "a polarity that is none": (ints(1, null=(BITS, 2), validity=b"\0"), MalformedDescriptor, "0 or by 1"),
    "NaN among integers": (ints(1, null=(NAN, None)), MalformedDescriptor, "does not have"),
    "a value of text": (texts("a", null=(SENTINEL, "a")), MalformedDescriptor, "does not have"),
    "a value that is no number": (ints(1, null=(SENTINEL, "a")), MalformedDescriptor, "no integer"),
    "a value out of range, and nulls": (
        coded([0], ["x"], null=(SENTINEL, 300), null_count=1), MalformedDescriptor, "no value of"),
    "nulls by a mask that is not there": (ints(1, null=(BITS, 0), null_count=1), MalformedDescriptor, "gives none"),
    "a mask where nothing is null": (ints(1, validity=b"\1", null_count=1), MalformedDescriptor, "nothing in it"),
    "bytes told as bits": (
        ints(1, null=(BITS, 0), validity=(b"\1", (BOOL, 8, "b", "="))), MalformedDescriptor, "bitmask.*8 bits"),
    "no dictionary": (
        ToldColumn((CATEGORICAL, 8, "c", "="), 1, data=b"\0", categories=(False, False, None)),
        UnsupportedType, "without a dictionary"),
    "a device that nobody knows": (
        ints(1, data=ToldBuffer(bytes(8), device=(99, 0))), UnsupportedType, "type 99"),
    "a device that is no pair": (ints(1, data=ToldBuffer(bytes(8), device=3)), MalformedDescriptor, "no pair"),
    "an address that is none": (ints(1, data=ToldBuffer(bytes(8), ptr=0)), MalformedDescriptor, "address 0"),
    "an address that is no number": (ints(1, data=ToldBuffer(bytes(8), ptr="x")), MalformedDescriptor, "ptr"),
    "a size below zero": (ints(1, data=ToldBuffer(bytes(8), bufsize=-1)), MalformedDescriptor, "-1"),
    "rows below zero": (ToldColumn((INT, 8, "c", "="), -1, data=b""), MalformedDescriptor, "size.*-1"),
    "an offset below zero": (ints(1, offset=-1), MalformedDescriptor, "offset.*-1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_contradicts_itself_is_refused_with_the_name_of_the_column(case):
    told, kind, text = WRONG[case]
    with pytest.raises(kind, match=f"column 'a' cannot be read: .*{text}"):
        column(told)


def test_a_device_is_asked_before_the_address():
    class Far:
        bufsize = 8

        def __dlpack_device__(self):
            return (99, 0)

        @property
        def ptr(self):
            raise AssertionError("its device is none that lend knows")

    with pytest.raises(UnsupportedType, match="type 99"):
        column(ints(1, data=Far()))


def test_memory_of_a_device_is_described_and_not_read():
    told = texts("a", offsets=ToldBuffer(bytes(8), device=(2, 1), ptr=1 << 20),
                 data=ToldBuffer(b"a", device=(2, 1), ptr=1 << 21))  # fmt: skip
    assert str(column(told).device) == "cuda:1"


def mixed():
    return ToldFrame({"a": ints(1, 2), "bad": ToldColumn((99, 8, "x", "="), 2), "b": texts("x", "y")}, rows=2)


def test_a_column_that_cannot_be_read_leaves_the_others_and_is_named_in_a_warning():
    with pytest.warns(UserWarning, match=r"1 column of a support\.told_frames\.ToldFrame .*'bad': it is told to be"):
        table = lend.table(mixed())
    assert (table["a"].tolist(), table["b"].tolist()) == ([1, 2], ["x", "y"])
    assert repr(table) == "<Table 2 rows: a int64, bad (unreadable), b utf8>"


@pytest.mark.parametrize(
    "use",
    [len, lambda c: c.dtype, lambda c: c.tolist(), lambda c: c[0:1], lambda c: c.buffers, lambda c: c.to("numpy")],
)
def test_a_column_that_cannot_be_read_raises_its_reason_whatever_is_asked(use):
    with pytest.warns(UserWarning, match="bad"):
        table = lend.table(mixed())
    with pytest.raises(UnsupportedType, match="column 'bad' cannot be read: .*kind 99"):
        use(table["bad"])


def test_a_table_with_a_column_that_cannot_be_read_is_sliced_cut_and_selected_of():
    with pytest.warns(UserWarning, match="bad"):
        table = lend.table(mixed())
    assert table[1:].select(["b"])["b"].tolist() == ["y"]
    assert [part["a"].tolist() for part in table.chunks] == [[1, 2]]
    with pytest.raises(UnsupportedType, match="'bad'"):
        table[1:]["bad"].tolist()
    with pytest.raises(UnsupportedType, match="'bad'"):
        table.__arrow_c_stream__()


def test_columns_that_are_not_wanted_are_not_looked_at():
    assert lend.table(mixed(), columns=["b", "a"]).names == ("b", "a")


def test_what_a_producer_raises_of_one_column_is_the_reason_of_that_column():
    told = ints(1)
    told.get_buffers = lambda: 1 // 0
    with pytest.warns(UserWarning, match="ZeroDivisionError"):
        table = lend.table(ToldFrame({"a": told, "b": ints(2)}))
    with pytest.raises(NotLendable, match="it raised ZeroDivisionError"):
        table["a"].tolist()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError])
def test_what_is_no_matter_of_one_column_passes(error):
    told = ints(1)

    def raising():
        raise error

    told.get_buffers = raising
    with pytest.raises(error):
        lend.table(ToldFrame({"a": told}))


def test_a_reason_keeps_no_memory_of_the_frame():
    frame = mixed()
    with pytest.warns(UserWarning, match="bad"):
        table = lend.table(frame)
    table = table.select(["bad"])
    gone = weakref.ref(frame.fields["a"])
    del frame
    gc.collect()
    assert gone() is None
    assert table.names == ("bad",)


@pytest.mark.parametrize(("copy", "told"), [(None, True), (True, True), (False, False)])
def test_leave_to_copy_is_passed_on(copy, told):
    frame = ToldFrame({"a": ints(1)})
    lend.table(frame, copy=copy)
    assert frame.asked == [told]


def test_a_producer_that_must_copy_is_refused_as_a_copy():
    class Copying:
        def __dataframe__(self, nan_as_null=False, allow_copy=True):
            raise RuntimeError("strings are objects here")

    with pytest.raises(CopyRequired, match="without a copy") as refused:
        lend.table(Copying(), copy=False)
    assert "strings are objects here" in refused.value.tried


def test_a_protocol_that_was_removed_is_one_that_is_not_there():
    class AttributeRemovedError(AttributeError):
        pass

    class Frame:
        def __dataframe__(self, **said):
            raise AttributeRemovedError("use the capsules")

    with pytest.raises(NotLendable, match="cannot lend a .*Frame as a table"):
        lend.table(Frame())


def test_what_a_frame_raises_is_quoted():
    class Frame:
        def __dataframe__(self, nan_as_null=False, allow_copy=True):
            raise ValueError("not today")

    with pytest.raises(NotLendable, match="does not lend its columns") as refused:
        lend.table(Frame())
    assert refused.value.tried == "__dataframe__ -> ValueError: not today"


def test_better_protocols_come_first():
    pa = pytest.importorskip("pyarrow")

    class Both:
        def __dataframe__(self, nan_as_null=False, allow_copy=True):
            raise AssertionError("Arrow says more")

        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": [1]}).__arrow_c_stream__()

    assert lend.table(Both())["a"].tolist() == [1]


def test_chunks_of_a_frame_and_of_a_column_are_chunks():
    class Parted(ToldColumn):
        def get_chunks(self, n_chunks=None):
            return [ints(4), ints(5, 6)]

    whole = Parted((INT, 64, "l", "="), 3, chunks=2)
    frame = ToldFrame({"a": ints(1)}, parts=[ToldFrame({"a": ints(1, 2)}), ToldFrame({"a": whole})])
    taken = lend.table(frame)["a"]
    assert taken.tolist() == [1, 2, 4, 5, 6]
    assert [len(part) for part in taken.chunks] == [2, 1, 2]


def test_a_column_of_one_chunk_is_not_asked_for_its_chunks():
    told = ints(1)
    told.get_chunks = None
    assert column(told).tolist() == [1]


def test_chunks_of_different_types_are_refused():
    frame = ToldFrame({"a": ints(1)}, parts=[ToldFrame({"a": ints(1)}), ToldFrame({"a": floats(2)})])
    with pytest.warns(UserWarning, match="different types"):
        lend.table(frame)


@pytest.mark.parametrize("dress", [lambda pair: pair[:1], lambda pair: pair[0], list], ids=["tuple", "bare", "list"])
def test_buffers_without_a_dtype_are_read_where_the_rest_says_enough(dress):
    told = texts("a", "bc", null=(BYTES, 1), validity=b"\0\1")
    given = told.get_buffers()
    told.get_buffers = lambda: {role: dress(pair) for role, pair in given.items() if pair is not None}
    assert column(told).tolist() == ["a", None]


def test_sizes_that_are_properties_are_read():
    told = ints(1, 2)
    told.size = 2
    told.num_chunks = 1
    assert column(told).tolist() == [1, 2]


def test_buffers_are_asked_for_once():
    told = texts("a", "b")
    column(told).tolist()
    assert told.asked == 1


def test_each_buffer_is_a_lease_of_its_own_which_holds_the_buffer_and_nothing_else():
    told = texts("a", "b")
    data, offsets = ToldBuffer(b"ab"), ToldBuffer(struct.pack("3i", 0, 1, 2))
    told.held = {"data": data, "offsets": offsets}
    gone = [weakref.ref(thing) for thing in (told, data)]
    kept, alive = column(told).buffers["offsets"], weakref.ref(offsets)
    del told, data, offsets
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert memoryview(kept).tolist() == [0, 1, 2]
    del kept
    gc.collect()
    assert alive() is None


def test_what_was_told_is_read_only():
    assert column(ints(1)).readonly


@pytest.mark.parametrize("name", [0, (1, 2), None])
def test_names_that_are_no_text_are_labels(name):
    assert lend.table(ToldFrame({name: ints(1)})).names == (str(name),)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (ToldFrame({"a": ints(1)}, count=2), "2 columns, and names 1"),
        (ToldFrame({"a": ints(1), "b": ints(1, 2)}), "one length"),
        (ToldFrame({"a": ints(1)}, rows=2), "one length"),
    ],
)
def test_a_frame_whose_columns_do_not_fit_is_refused(frame, text):
    with pytest.raises(MalformedDescriptor, match=text):
        lend.table(frame)


def test_a_frame_without_columns_keeps_its_rows():
    assert lend.table(ToldFrame({}, rows=3)).shape == (3, 0)


@pytest.mark.parametrize("told", [ints(), texts(), texts(data=None, offsets=None), coded([], ["x"])])
def test_a_column_without_rows_needs_no_memory(told):
    assert column(told).tolist() == []


def test_a_frame_of_several_columns_is_no_column():
    with pytest.raises(NotLendable, match="is a table, no column"):
        lend.column(ToldFrame({"a": ints(1), "b": ints(2)}))


def test_a_mask_that_a_library_is_known_to_tell_the_wrong_way_round_is_not_believed():
    told = type("VaexColumn", (ToldColumn,), {"__module__": "vaex.dataframe_protocol"})
    with pytest.warns(UserWarning, match="says null where it means valid"):
        lend.table(ToldFrame({"a": told((INT, 8, "c", "="), 1, null=(BYTES, 0), data=b"\1", validity=b"\1")}))


def test_the_root_of_all_refusals_is_one():
    with pytest.warns(UserWarning, match="bad"), pytest.raises(LendError):
        lend.table(mixed())["bad"].tolist()

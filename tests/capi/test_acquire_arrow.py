"""lend_acquire_arrow: any column or table as Arrow's structs for a program in C, and beside them how nulls are told."""

import gc
import pathlib
import struct
import sys
import sysconfig

import pytest

import lend
from lend.columns.forms import arrow_form
from lend.errors import CopyRequired, NotHostAccessible, NotLendable, UnsupportedLayout
from support import column_forms as forms
from support.arrow_device_structs import OnDevice
from support.arrow_structs import Made, Node, Streamed
from support.c_modules import compile_module
from support.device_producers import ADDRESS, CudaInterface

HERE = pathlib.Path(__file__).parent
BUILDS = {
    "C99, Limited API": {"flags": ["-std=c99", "-pedantic"]},
    "C11": {"flags": ["-std=c11", "-DFULL_API"]},
    "C++11": {"flags": ["-x", "c++", "-std=c++11", "-Wno-missing-field-initializers"]},
}
COPY_IF_NEEDED, COPY = 2048, 4096
READONLY, SIDE_BY_SIDE = 1, 2
KINDS = {"none": 0, "nan": 1, "sentinel": 2, "bitmask": 3, "bytemask": 4, "nat": 5}
ROWS = [1, None, 3, None, 5, 6, 7, None, 9]


@pytest.fixture(scope="session", params=BUILDS)
def c(request, tmp_path_factory):
    """The consumer, in one of the languages."""
    if not sysconfig.get_config_var("LDSHARED"):
        pytest.skip(f"no compiler is known for {sys.platform}")
    folder = tmp_path_factory.mktemp("arrow_consumer")
    return compile_module(HERE / "arrow_consumer.c", "arrow_consumer", folder, **BUILDS[request.param])


def packed(code, rows):
    return [None if row is None else struct.pack("=" + code, row) for row in rows]


@pytest.mark.parametrize("laid", ["side by side", "strided", "backwards"])
@pytest.mark.parametrize("form", [form for form in forms.NULL_FORMS if form not in ("nan", "nat", "one byte for all")])
def test_every_form_of_nulls_is_described_as_it_lies(c, form, laid):
    column = forms.numbers("int64", ROWS, form, laid, before=[4, None, 6])
    with lend.copies() as made:
        said = c.acquired(column)
    assert said["values"] == packed("q", ROWS)
    assert said["told"][:2] == (KINDS[column.nulls.kind], column.nulls.missing or 0)
    assert said["sentinel"] == (struct.pack("q", column.nulls.value) if column.nulls.kind == "sentinel" else b"")
    assert made.count == 0


@pytest.mark.parametrize("laid", ["side by side", "strided", "backwards"])
def test_nan_that_is_null_is_told_by_its_values(c, laid):
    said = c.acquired(forms.numbers("float64", [1.5, None, 2.5], "nan", laid))
    assert said["values"] == packed("d", [1.5, None, 2.5])
    assert (said["told"][0], said["format"]) == (KINDS["nan"], "g")


def test_times_are_null_by_nat_whose_bytes_are_told(c):
    said = c.acquired(forms.numbers("datetime64[ns]", ROWS, "nat"))
    assert said["values"] == packed("q", ROWS)
    assert (said["told"][0], said["format"]) == (KINDS["nat"], "tsn:")


def test_one_byte_may_be_the_mask_of_all(c):
    said = c.acquired(forms.numbers("int32", [None] * 4, "one byte for all"))
    assert said["values"] == [None] * 4
    assert said["mask_stride"] == 0


def test_bools_of_a_byte_are_int8_by_the_extension(c):
    said = c.acquired(forms.numbers("bool", [True, None, False], "bytes of 1"))
    assert (said["format"], said["values"]) == ("c", [b"\1", None, b"\0"])


def test_codes_that_are_minus_one_are_null(c):
    said = c.acquired(forms.categories(["a", None, "b"], ["a", "b"], "minus one"))
    assert (said["format"], said["values"]) == ("c", [b"\0", None, b"\1"])


def test_arrow_data_comes_as_it_lies_with_its_bits(c):
    made = Made(Node("l", 4, 1, 1, buffers=[b"\x1b", struct.pack("5q", 0, 1, 2, 3, 4)], name="n"))
    said = c.acquired(made)
    assert (said["name"], said["length"], said["offset"]) == ("n", 4, 1)
    assert said["values"] == packed("q", [1, None, 3, 4])
    assert (said["device"], said["device_id"], said["event"]) == (1, -1, 0)
    assert made.released == {"": 1}


def test_text_has_no_width_and_its_mask_is_told(c):
    said = c.acquired(forms.texts(["a", None, "bc"], "bytes of 1"))
    assert (said["format"], said["values"], said["data"]) == ("u", None, 0)
    assert said["told"][0] == KINDS["bytemask"]


def test_whether_memory_may_be_written_to_is_told(c):
    writable = lend.column(bytearray(8))
    assert c.acquired(writable)["told"][4] == SIDE_BY_SIDE
    assert c.acquired(bytes(8))["told"][4] == SIDE_BY_SIDE | READONLY


def test_a_row_may_not_be_written_to_where_one_of_its_fields_may_not(c):
    field = lend.column(bytes(4))
    row = lend.Column.from_buffers("struct{a: uint8}", 4, {}, children=[field])
    assert c.acquired(row)["told"][4] & READONLY


REFUSED = {
    "nulls as bytes": lambda: forms.numbers("int64", ROWS, "bytes of 1"),
    "nulls as a value": lambda: forms.numbers("int64", ROWS, "sentinel"),
    "nulls as NaT": lambda: forms.numbers("datetime64[ns]", [row and 1000 * row for row in ROWS], "nat"),
    "nulls as bits of 1": lambda: forms.numbers("int64", ROWS, "inverted bits"),
    "stride": lambda: forms.numbers("int64", [1, 2], laid="strided"),
    "bools of one byte each": lambda: forms.numbers("bool", [True, False]),
    "byte order": lambda: forms.numbers("int32", [1, 2], laid="swapped"),
    "days of 8 bytes": lambda: forms.numbers("datetime64[D]", [1, 2]),
}


@pytest.mark.parametrize("why", REFUSED)
def test_without_a_description_what_arrow_has_no_words_for_is_refused_with_the_reason(c, why):
    with pytest.raises(CopyRequired) as caught:
        c.acquired(REFUSED[why](), 0, False)
    assert str(caught.value).startswith(f"column 'x' is not as Arrow has it: {why}\n")
    assert caught.value.remedy == (
        "LEND_COPY_IF_NEEDED in the flags (a copy, counted), or a lend_column, which describes it as it lies"
    )


@pytest.mark.parametrize("why", ["byte order", "days of 8 bytes"])
def test_what_no_description_has_words_for_is_refused_with_one(c, why):
    with pytest.raises(CopyRequired) as caught:
        c.acquired(REFUSED[why]())
    assert str(caught.value).startswith(f"column 'x' is not as Arrow has it: {why}\n")
    assert caught.value.remedy == "LEND_COPY_IF_NEEDED in the flags (a copy, counted)"


def test_a_child_that_arrow_has_no_words_for_is_refused_by_its_name(c):
    column = forms.structs([{"b": 1.5, "t": "x"}, {"b": None, "t": None}], child_form="nan")
    with pytest.raises(CopyRequired, match="within it column 'b': nulls as NaN"):
        c.acquired(column)


def converting_bytes(column):
    """What its draft tells."""
    return arrow_form(column).nbytes


@pytest.mark.parametrize("why", REFUSED)
def test_where_a_copy_is_allowed_it_becomes_arrows_and_is_counted(c, why):
    column = REFUSED[why]()
    with lend.copies() as made:
        schema, array = c.pass_on(column, COPY_IF_NEEDED)
    assert lend.column((schema, array)).tolist() == lend.column(column.__arrow_c_array__()).tolist()
    assert made.bytes == converting_bytes(column)


def test_what_is_as_arrow_has_it_is_not_copied_where_it_might_be(c):
    with lend.copies() as made:
        c.acquired(forms.numbers("int64", ROWS, "bits"), COPY_IF_NEEDED)
    assert made.count == 0


def test_a_copy_that_is_asked_for_is_made_and_keeps_nothing_alive(c):
    made = Made(Node("l", 2, buffers=[None, struct.pack("2q", 5, 6)]))
    schema, array = c.pass_on(made, COPY)
    assert made.released == {"": 1}
    assert lend.column((schema, array)).tolist() == [5, 6]


def test_a_copy_of_what_is_on_a_device_is_refused_as_none_can_be_made(c):
    column = lend.column(OnDevice(Node("l", 1, buffers=[None, ADDRESS]), 2, 0))
    with pytest.raises(NotHostAccessible, match='device="cpu"'):
        c.pass_on(column, COPY)


def stream(*parts):
    return Streamed(parts[0], parts)


def longs(*values):
    return Node("l", len(values), buffers=[None, struct.pack(f"{len(values)}q", *values)], name="n")


def test_several_chunks_are_refused_by_their_number(c):
    with pytest.raises(CopyRequired, match=r"column 'n' has 2 chunks, and one Arrow array is asked for"):
        c.acquired(stream(longs(1), longs(2, 3)))


def test_several_chunks_are_joined_where_a_copy_is_allowed(c):
    assert c.acquired(stream(longs(1), longs(2, 3)), COPY_IF_NEEDED)["values"] == packed("q", [1, 2, 3])


def test_one_chunk_with_elements_is_one_array(c):
    assert c.acquired(stream(longs(), longs(2, 3), longs()))["values"] == packed("q", [2, 3])


def test_a_stream_without_arrays_is_an_array_without_elements(c):
    assert c.acquired(Streamed(longs(), []))["length"] == 0


def row(count):
    children = [longs(*range(count)), Node("l", count, buffers=[None, bytes(8 * count)], name="m")]
    return Node("+s", count, buffers=[None], children=children)


def test_a_table_is_one_array_of_structs(c):
    said = c.acquired(lend.table({"a": [1.5, 2.5] and forms.numbers("float64", [1.5, 2.5]), "b": b"xy"}))
    assert (said["format"], said["length"], said["children"]) == ("+s", 2, 2)


def test_a_dict_is_a_table(c):
    assert c.acquired({"b": b"xyz"})["children"] == 1


def test_a_frame_is_a_table(c):
    pandas = pytest.importorskip("pandas", reason="a frame of pandas")
    said = c.acquired(pandas.DataFrame({"a": [1, 2], "b": [1.5, 2.5]}), COPY_IF_NEEDED)
    assert (said["format"], said["children"]) == ("+s", 2)


def test_a_table_of_several_chunks_is_refused_by_their_number(c):
    with pytest.raises(CopyRequired, match="this table has 2 chunks, and one Arrow array is asked for"):
        c.acquired(lend.table(stream(row(1), row(2))))


def test_a_table_of_several_chunks_is_joined_where_a_copy_is_allowed(c):
    schema, array = c.pass_on(lend.table(stream(row(1), row(2))), COPY_IF_NEEDED)
    assert lend.table((schema, array))["n"].tolist() == [0, 0, 1]


def test_a_table_whose_rows_did_not_come_is_refused(c):
    with pytest.raises(UnsupportedLayout, match="the rows of a lazy table are still in its stream"):
        c.acquired(lend.table(stream(row(1)), lazy=True))


def test_what_is_no_column_is_refused_in_the_words_of_column(c):
    with pytest.raises(NotLendable) as caught:
        c.acquired(3)
    with pytest.raises(NotLendable) as expected:
        lend.column(3)
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("flags", [1, 256, COPY | 512])
def test_flags_that_nothing_means_are_refused(c, flags):
    with pytest.raises(ValueError, match="which this lend does not know; it has LEND_COPY_IF_NEEDED and LEND_COPY"):
        c.acquired(b"x", flags)


def test_a_description_that_was_not_initialised_is_refused(c):
    with pytest.raises(ValueError, match="not initialised with LEND_COLUMN_INIT: struct_size 8"):
        c.uninitialised(b"x")


@pytest.mark.parametrize("described", [True, False])
def test_memory_of_a_device_is_told_with_its_device_and_not_read(c, described):
    class Numbered(CudaInterface):
        def __dlpack_device__(self):
            return 2, 1

    said = c.acquired(Numbered(shape=(3,), typestr="<i8", stream=None, strides=None), 0, described)
    assert (said["device"], said["device_id"], said["event"], said["values"]) == (2, 1, 0, None)


def test_the_array_holds_the_memory_and_gives_it_back_once_on_a_thread_without_the_gil(c):
    made = Made(Node("l", 2, buffers=[None, struct.pack("2q", 5, 6)]))
    c.keep(made)
    gc.collect()
    assert made.released == {}
    c.drop()
    assert made.released == {"": 1}


@pytest.mark.parametrize("flags", [0, COPY_IF_NEEDED])
def test_a_refusal_gives_back_what_was_taken_once(c, flags):
    made = stream(longs(1), Node("l", 1, buffers=[None, None]))
    with pytest.raises(lend.errors.LendError):
        c.acquired(made, flags)
    gc.collect()
    assert made.released == 1
    assert [part.released for part in made.made] == [{"": 1}, {"": 1}]

"""What only columns have (text of any width, dates, nested types, dictionaries): made of Arrow's schemas, and told."""

import re
import subprocess
import sys

import pytest

from lend.dtypes import DType
from lend.errors import MalformedDescriptor, UnsupportedType

# format -> name, kind, bits, the plain dtype of the same bytes
LEAVES = {
    "n": ("null", "null", 0, None), "b": ("bool_packed", "bool", 1, None), "u": ("utf8", "utf8", 0, None),
    "U": ("large_utf8", "large_utf8", 0, None), "vu": ("utf8_view", "utf8_view", 0, None),
    "z": ("binary", "binary", 0, None), "Z": ("large_binary", "large_binary", 0, None),
    "vz": ("binary_view", "binary_view", 0, None), "tdD": ("date32", "date", 32, "int32"),
    "tdm": ("date64", "date", 64, "int64"), "tts": ("time32[s]", "time", 32, "int32"),
    "ttm": ("time32[ms]", "time", 32, "int32"), "ttu": ("time64[us]", "time", 64, "int64"),
    "ttn": ("time64[ns]", "time", 64, "int64"), "tiM": ("interval[month]", "interval", 32, "int32"),
    "tiD": ("interval[day_time]", "interval", 64, "opaque[8]"),
    "tin": ("interval[month_day_nano]", "interval", 128, "opaque[16]"),
    "tsu:Europe/Paris": ("datetime64[us, Europe/Paris]", "datetime", 64, "int64"),
    "tss:+02:00": ("datetime64[s, +02:00]", "datetime", 64, "int64"),
    "tsm:Z": ("datetime64[ms, Z]", "datetime", 64, "int64"),
    "tsn:utc": ("datetime64[ns, utc]", "datetime", 64, "int64"),
    "d:10,2": ("decimal128(10, 2)", "decimal", 128, "opaque[16]"),
    "d:9,-3,32": ("decimal32(9, -3)", "decimal", 32, "int32"),
    "d:18,0,64": ("decimal64(18, 0)", "decimal", 64, "int64"),
    "d:38,38": ("decimal128(38, 38)", "decimal", 128, "opaque[16]"),
    "d:76,80,256": ("decimal256(76, 80)", "decimal", 256, "opaque[32]"),
}  # fmt: skip


@pytest.mark.parametrize("format", LEAVES)
def test_a_type_without_parts_is_read_and_written_again(format):
    name, kind, bits, storage = LEAVES[format]
    dtype = DType.from_arrow(format)
    assert (dtype.name, dtype.kind, dtype.bits, dtype.itemsize) == (name, kind, bits, bits // 8)
    assert dtype.arrow == format
    assert dtype.storage == storage


def test_bools_of_a_bit_share_bytes():
    assert [DType(name).shares_bytes for name in ("bool_packed", "utf8", "date32")] == [True, False, False]


@pytest.mark.parametrize("name", ["date32", "utf8", "datetime64[us, UTC]", "decimal256(40, 2)", "list[int8]"])
def test_a_type_of_columns_has_one_lane_and_only_the_order_of_this_machine(name):
    dtype = DType(name)
    assert (dtype.lanes, dtype.byteorder, dtype.is_native, dtype.has_objects) == (1, None, True, False)
    assert dtype.newbyteorder("swap") == dtype.newbyteorder("native") == dtype


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("date32", "D"),
        ("date64", "ms"),
        ("time32[s]", "s"),
        ("time64[ns]", "ns"),
        ("datetime64[us, Z]", "us"),
        ("interval[month]", None),
        ("utf8", None),
        ("decimal32(3, 1)", None),
    ],
)
def test_the_unit_of_what_has_one_is_told(name, unit):
    assert DType(name).unit == unit


@pytest.mark.parametrize(
    "zone", ["UTC", "utc", "Z", "+02:00", "-05:30", " UTC ", "]", "a, b", "é", "'", '"', "\\", "\udc80"]
)
def test_the_text_of_a_zone_is_carried_unchanged(zone):
    dtype = DType.from_arrow(f"tsu:{zone}")
    assert (dtype.zone, dtype.unit, dtype.arrow) == (zone, "us", f"tsu:{zone}")
    assert DType(dtype.name).zone == zone


def test_no_zone_is_a_naive_time():
    assert DType.from_arrow("tsu:") == "datetime64[us]"
    assert DType.from_arrow("tsu:").zone is None


def test_a_decimal_is_written_in_one_way():
    dtype = DType.from_arrow("d:010,-02,128")
    assert (dtype.arrow, dtype.name, dtype.precision, dtype.scale) == ("d:10,-2", "decimal128(10, -2)", 10, -2)


def test_plain_dtypes_have_nothing_of_columns():
    plain = DType("int32")
    assert plain.storage is plain
    assert plain.children == ()
    told = (
        "value_type",
        "dictionary",
        "ordered",
        "zone",
        "precision",
        "scale",
        "extension",
        "length",
        "names",
        "fields",
    )
    assert [getattr(plain, name) for name in told] == [None] * len(told)


PLAIN = """
import sys
from lend.dtypes import DType
assert DType.from_arrow("l") == DType("<i8") and DType("int8").storage and not DType("int8").children
print(sorted(name for name in sys.modules if name.startswith("lend.dtypes.")))
"""


def test_plain_dtypes_load_nothing_of_columns():
    run = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True)
    assert run.stdout == "['lend.dtypes.dtype']\n"


# -- nested ------------------------------------------------------------------------------------------------------------

ENTRIES = ("entries", DType.from_arrow("+s", fields=[("key", "utf8", False), ("value", "int32")]), False)
NESTED = {
    "list[utf8]": ("+l", [("item", "utf8")]),
    "large_list[int8]": ("+L", [("item", "int8")]),
    "list_view[date32]": ("+vl", [("item", "date32")]),
    "large_list_view[bool_packed]": ("+vL", [("item", "bool_packed")]),
    "fixed_list[float32, 3]": ("+w:3", [("item", "float32")]),
    "struct{a: int32, b: utf8}": ("+s", [("a", "int32"), ("b", "utf8")]),
    "struct{}": ("+s", []),
    "map[utf8, int32]": ("+m", [ENTRIES]),
    "union_dense{0 a: int32, 5 b: utf8}": ("+ud:0,5", [("a", "int32"), ("b", "utf8")]),
    "union_sparse{7 a: int32}": ("+us:7", [("a", "int32")]),
    "union_dense{}": ("+ud:", []),
    "run_end[int32, utf8]": ("+r", [("run_ends", "int32", False), ("values", "utf8")]),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_nested_type_is_made_of_its_children(name):
    format, fields = NESTED[name]
    dtype = DType.from_arrow(format, fields=fields)
    assert dtype.name == name
    assert dtype.kind == re.match("[a-z_]+", name)[0]
    assert dtype.arrow == format
    assert dtype.children == tuple((child, DType(inner)) for child, inner, *_ in fields)
    assert (dtype.bits, dtype.itemsize, dtype.storage, dtype.shares_bytes) == (0, 0, None, False)
    assert DType(name) == dtype


def test_lists_tell_what_they_are_of():
    for name in NESTED:
        dtype = DType(name)
        of = {"map": None, "struct": None, "union_dense": None, "union_sparse": None, "run_end": "utf8"}
        assert dtype.value_type == of.get(dtype.kind, dtype.children and dtype.children[0][1])
    assert DType("fixed_list[int8, 0]").length == 0


def test_the_fields_of_a_struct_are_those_of_a_record():
    struct, record = DType("struct{a: int32, b: float64}"), DType([("a", "int32"), ("b", "float64")])
    assert struct.names == record.names == ("a", "b")
    assert {name: field.dtype for name, field in struct.fields.items()} == {
        name: field.dtype for name, field in record.fields.items()
    }
    assert struct.fields["b"].offset is None


def test_fields_of_one_name_are_all_children():
    dtype = DType.from_arrow("+s", fields=[("a", "int32"), ("a", "utf8")])
    assert dtype.names == ("a", "a")
    assert dtype.children == (("a", DType("int32")), ("a", DType("utf8")))
    assert dtype.fields["a"].dtype == "int32"


MALFORMED = {
    "list has one as types within it, and 0 came with it": ("+l", {}),
    "list has one as types within it, and 2 came": ("+l", {"fields": [("a", "int8"), ("b", "int8")]}),
    "fixed_list has one as types within it, and 0 came": ("+w:3", {}),
    "map has one as types within it, and 0 came": ("+m", {}),
    "a map is of structs of a key and a value, not of int8": ("+m", {"fields": [("entries", "int8")]}),
    "a map is of structs of a key and a value, not of struct{a: int8}": (
        "+m", {"fields": [("entries", "struct{a: int8}")]},
    ),
    "run_end has two as types within it, and 1 came": ("+r", {"fields": [("run_ends", "int32")]}),
    "the ends of runs are int16, int32 or int64, not uint32": (
        "+r", {"fields": [("run_ends", "uint32"), ("values", "utf8")]},
    ),
    "union_sparse of 2 ids has as many as types within it, and 0 came": ("+us:0,1", {}),
    "int32 has none as types within it, and 1 came": ("i", {"fields": [("a", "int8")]}),
    "utf8 has none as types within it, and 1 came": ("u", {"fields": [("a", "int8")]}),
    "the indices of a dictionary are integers of 8 to 64 bits, not float32": ("f", {"dictionary": "utf8"}),
    "the indices of a dictionary are integers of 8 to 64 bits, not int128": ("_pli128", {"dictionary": "utf8"}),
    "the indices of a dictionary are integers of 8 to 64 bits, not utf8": ("u", {"dictionary": "utf8"}),
    "the index of a dictionary has none as types within it, and 1 came": (
        "c", {"dictionary": "utf8", "fields": [("a", "int8")]},
    ),
    "the name 'a\\x00b' of a field is no text that a schema can have": ("+s", {"fields": [("a\0b", "int8")]}),
    "the name '\\ud800' of a field is no text": ("+s", {"fields": [("\ud800", "int8")]}),
    "the name '\\ud800' of an extension type is not UTF-8": ("i", {"extension": ("\ud800", b"")}),
}  # fmt: skip


@pytest.mark.parametrize("fact", MALFORMED)
def test_what_hangs_on_a_format_and_contradicts_it_is_malformed(fact):
    format, parts = MALFORMED[fact]
    with pytest.raises(MalformedDescriptor, match=re.escape(fact)):
        DType.from_arrow(format, **parts)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"fields": ["int8"]}, "a field is a tuple"),
        ({"fields": [("a",)]}, "a field is a tuple"),
        ({"fields": [(b"a", "int8")]}, "the name of a field is a str, not bytes"),
        ({"fields": [("a", None)]}, "takes a dtype"),
        ({"fields": [("a", "int8", True, "text")]}, "the metadata of a field is bytes or None, not str"),
        ({"extension": (3, b"")}, "an extension is a pair"),
        ({"extension": ("a", 3)}, "an extension is a pair"),
    ],
)
def test_parts_of_the_wrong_class_are_type_errors(parts, said):
    with pytest.raises(TypeError, match=said):
        DType.from_arrow("+s", **parts)


def listed(dtype):
    return DType.from_arrow("+l", fields=[("item", dtype)])


def double(dtype):
    return DType.from_arrow("+s", fields=[("a", dtype), ("b", dtype)])


def nest(depth, within=listed):
    dtype = DType("int8")
    for _ in range(depth):
        dtype = within(dtype)
    return dtype


def test_types_within_types_have_an_end():
    deepest = nest(64)
    assert DType(deepest.name) == deepest
    for make in (nest, lambda depth: DType("list[" * depth + "int8" + "]" * depth)):
        with pytest.raises(UnsupportedType, match="types within types to a depth of 64, not deeper"):
            make(65)


def test_a_type_that_doubles_itself_has_an_end():
    with pytest.raises(UnsupportedType, match="no type whose name would have more than"):
        nest(64, double)


# -- dictionaries and extension types ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [False, True])
def test_a_dictionary_has_indices_and_values(ordered):
    dtype = DType.from_arrow("C", dictionary="utf8_view", ordered=ordered)
    assert dtype.name == f"dictionary[uint8, utf8_view{', ordered' * ordered}]"
    assert (dtype.kind, dtype.arrow, dtype.ordered, dtype.bits, dtype.itemsize) == ("dictionary", "C", ordered, 8, 1)
    assert (dtype.storage, dtype.dictionary, dtype.value_type, dtype.children) == (
        "uint8",
        "utf8_view",
        "utf8_view",
        (),
    )


def test_the_values_of_a_dictionary_may_be_what_arrow_cannot_say():
    dtype = DType.from_arrow("c", dictionary="object")
    assert dtype.dictionary.has_objects
    assert not dtype.has_objects
    assert DType("dictionary[int8, >complex64]").dictionary == ">complex64"


@pytest.mark.parametrize(
    ("format", "parts", "storage"),
    [
        ("w:16", {}, "opaque[16]"), ("tdD", {}, "int32"), ("u", {}, None), ("b", {}, None),
        ("C", {"dictionary": "utf8"}, "uint8"),
        ("+s", {"fields": [("a", "int32")]}, None), ("w:0", {}, "opaque[0]"),
    ],
)  # fmt: skip
def test_an_extension_type_is_its_storage_and_two_texts(format, parts, storage):
    base = DType.from_arrow(format, **parts)
    dtype = DType.from_arrow(format, extension=(b"vendor.of::it", b"\xff\0{}"), **parts)
    assert (dtype.kind, dtype.arrow, dtype.value_type) == ("extension", format, base)
    assert dtype.extension == ("vendor.of::it", b"\xff\0{}")
    assert dtype.name == f"extension[vendor.of::it, {base}]"
    assert (dtype.bits, dtype.itemsize, dtype.shares_bytes) == (base.bits, base.itemsize, base.shares_bytes)
    assert (dtype.children, dtype.dictionary, dtype.ordered) == (base.children, base.dictionary, base.ordered)
    assert dtype.storage == storage == base.storage


@pytest.mark.parametrize("name", [b"\xff\xfe", "a, b", "", "]", "it's"])
def test_any_name_of_an_extension_type_is_carried(name):
    dtype = DType.from_arrow("i", extension=(name, None))
    assert dtype.extension == (name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name, None)
    if name:
        assert DType(dtype.name) == dtype


def test_bools_of_a_byte_are_no_extension_type():
    assert DType.from_arrow("c", extension=("arrow.bool8", b"")) == DType("bool")
    assert DType.from_arrow("c", extension=(b"arrow.bool8", None)).name == "bool"


@pytest.mark.parametrize(("format", "metadata"), [("C", b""), ("c", b"more")])
def test_what_only_calls_itself_bool8_stays_what_it_is(format, metadata):
    assert DType.from_arrow(format, extension=("arrow.bool8", metadata)).kind == "extension"


def test_a_list_of_an_extension_type_has_its_metadata():
    uuid = DType.from_arrow("w:16", extension=("arrow.uuid", b"x"))
    assert DType.from_arrow("+l", fields=[("item", uuid)]).value_type.extension == ("arrow.uuid", b"x")

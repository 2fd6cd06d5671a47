"""DType: what names one, what it tells, what it equals."""

import copy
import ctypes
import pickle
import re
import sys

import pytest

import lend
from lend.dtypes import DType
from lend.errors import UnsupportedType
from support.names import plain_repr

LONG_DOUBLE = ctypes.sizeof(ctypes.c_longdouble)
SWAPPED = ">" if sys.byteorder == "little" else "<"


class Spelled:
    """A dtype that tells its typestr, its name and its size, as NumPy's do."""

    names = subdtype = None

    def __init__(self, typestr, name, itemsize):
        self.str, self.name, self.itemsize = typestr, name, itemsize


class dtype:
    """A dtype that is known by its text alone, as torch's are."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text


@pytest.mark.parametrize(
    ("made_from", "name"),
    [(bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128"), (DType("int8"), "int8")],
)
def test_python_numbers_and_dtypes_name_a_dtype(made_from, name):
    assert DType(made_from).name == name


@pytest.mark.parametrize(
    ("name", "kind", "bits", "itemsize", "lanes"),
    [
        ("bool", "bool", 8, 1, 1),
        ("int16", "int", 16, 2, 1),
        ("uint128", "uint", 128, 16, 1),
        ("float32", "float", 32, 4, 1),
        ("longdouble", "float", 8 * LONG_DOUBLE, LONG_DOUBLE, 1),
        ("bfloat16", "bfloat", 16, 2, 1),
        ("complex64", "complex", 64, 8, 1),
        ("datetime64[ns]", "datetime", 64, 8, 1),
        ("timedelta64[25s]", "timedelta", 64, 8, 1),
        ("opaque[7]", "opaque", 56, 7, 1),
        ("handle", "handle", 64, 8, 1),
        ("float32x4", "float", 32, 16, 4),
    ],
)
def test_dtype_tells_its_kind_and_sizes(name, kind, bits, itemsize, lanes):
    dtype = DType(name)
    assert (dtype.kind, dtype.bits, dtype.itemsize, dtype.lanes) == (kind, bits, itemsize, lanes)


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "opaque[7]", "int8x4"])
def test_single_bytes_have_no_byte_order(name):
    dtype = DType(name)
    assert (dtype.byteorder, dtype.is_native, dtype.newbyteorder("swap")) == (None, True, dtype)


@pytest.mark.parametrize("order", ["little", "big"])
def test_byte_order_is_told(order):
    dtype = DType("int32").newbyteorder(order)
    assert (dtype.byteorder, dtype.is_native) == (order, order == sys.byteorder)


def test_other_byte_order_shows_in_the_name():
    assert str(DType("datetime64[ns]").newbyteorder("swap")) == SWAPPED + "datetime64[ns]"


def test_swapping_twice_is_the_same_dtype():
    assert DType("complex64").newbyteorder("swap").newbyteorder("swap") == DType("complex64")


def test_native_order_of_a_swapped_dtype_is_native():
    assert DType(SWAPPED + "i4").newbyteorder("native") == DType("int32")


@pytest.mark.parametrize("order", ["<", "Big", "", None, 1])
def test_unknown_byte_order_is_a_value_error(order):
    with pytest.raises(ValueError, match="a byte order is"):
        DType("int32").newbyteorder(order)


@pytest.mark.parametrize(
    ("name", "unit", "multiplier"),
    [("datetime64[ns]", "ns", 1), ("timedelta64[25s]", "s", 25), ("datetime64", "generic", 1), ("int64", None, None)],
)
def test_unit_and_multiplier_are_told(name, unit, multiplier):
    assert (DType(name).unit, DType(name).multiplier) == (unit, multiplier)


def test_dtypes_differ_by_order_unit_multiplier_and_lanes():
    names = ["int64", SWAPPED + "int64", "uint64", "int64x2", "datetime64[ns]", "datetime64[2ns]", "datetime64[us]"]
    assert len({DType(name) for name in names}) == len(names)


NAMES = ["float32", "bool", SWAPPED + "int32", "datetime64[25s]", "float32x4", "opaque[7]", "text[2]", "longdouble"]


@pytest.mark.parametrize("name", [*NAMES, "int4_packedx2", "float8_e5m2", "object"])
def test_dtype_equals_its_name_and_has_its_hash(name):
    dtype = DType(name)
    assert dtype == name == dtype
    assert hash(dtype) == hash(name)
    assert {name: 1}[dtype] == 1


@pytest.mark.parametrize("text", ["<f4", "f", "float64", "Float32", "no dtype", "", "=float32", "<float32"])
def test_dtype_equals_no_other_text(text):
    assert DType("float32") != text


@pytest.mark.parametrize("thing", [None, 1, b"float32", float, ("float32",)], ids=plain_repr)
def test_dtype_equals_nothing_else(thing):
    assert DType("float32") != thing


def test_a_record_equals_no_text():
    record = DType([("a", "int32")])
    assert record != record.name
    assert record == DType(record)


def test_long_double_is_also_known_by_its_size():
    assert DType(f"float{8 * LONG_DOUBLE}") == DType("longdouble")


def test_pickle_spells_the_byte_order_out():
    other = "<" if sys.byteorder == "little" else ">"
    assert DType("int32").__reduce__() == (DType, (other + "int32",))


def test_pickle_tells_the_size_of_a_long_double():
    assert DType("longdouble").__reduce__()[1][0].endswith(f"float{8 * LONG_DOUBLE}")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_dtype_survives_every_pickle_protocol(protocol):
    dtype = DType(">timedelta64[25s]")
    assert pickle.loads(pickle.dumps(dtype, protocol)) == dtype


@pytest.mark.parametrize("travel", [copy.copy, copy.deepcopy])
def test_dtype_survives_copy(travel):
    assert travel(DType("float32x4")) == DType("float32x4")


def test_dtype_is_immutable():
    with pytest.raises(AttributeError):
        DType("int8").name = "int16"


def test_dtype_cannot_be_made_of_nothing():
    with pytest.raises(TypeError):
        DType()


def test_dtype_cannot_be_subclassed():
    with pytest.raises(TypeError):
        type("Mine", (DType,), {})


@pytest.mark.parametrize(("slip", "near"), [("flaot32", "float32"), ("datetime64[sn]", "datetime64")])
def test_slip_of_the_pen_is_a_value_error_with_near_names(slip, near):
    with pytest.raises(ValueError, match=f"names no dtype; near: .*{near}"):
        DType(slip)


@pytest.mark.parametrize(
    "text",
    [
        *["", "x", "<", "float", "int", "float32x", "float32x0", "float32x65536", "float32x-1", "x4", "float32xx4"],
        *["<<int32", "|int32", "opaque", "opaque[]", "opaque[-1]", "opaque[7", "opaque[7]]", "opaque[4294967296]"],
        *["datetime64[]", "datetime64[", "datetime64x2", "datetime64[ns]x2", "opaque[7]x2", "int32\0", "int3²", "é"],
    ],
)
def test_text_that_names_no_dtype_is_a_value_error(text):
    with pytest.raises(ValueError, match="names no dtype"):
        DType(text)


ELSEWHERE = {
    "double": "'float64'", "int": "'int64' or 'int32'", "d": "'float64'", "float": "'float64' or 'float32'",
    "long": "'int64'", "half": "'float16'", "torch.float32": "'float32'", "torch.half": "'float16'",
    "np.float64": "'float64'", "jnp.bfloat16": "'bfloat16'", "Float64": "'float64'", "INT32": "'int32'",
    "Int64": "'int64'", "f32": "'float32'", "u64": "'uint64'", "fp16": "'float16'", "bool_": "'bool'", "?": "'bool'",
    SWAPPED + "double": f"'{SWAPPED}float64'", "<int": "'<int64' or '<int32'", "size_t": "'uint64'",
    "string": "'utf8' or 'text[8]' (of 8 characters)", "str": "'utf8' or 'text[8]' (of 8 characters)",
    "bytes": "'bytes[8]' (of 8 bytes)",
    "datetime": "'datetime64[ns]'", "complex": "'complex128' or 'complex64'",
}  # fmt: skip


@pytest.mark.parametrize("text", ELSEWHERE)
def test_the_spelling_of_another_library_is_refused_with_what_was_meant(text):
    with pytest.raises(ValueError, match="names no dtype") as caught:
        DType(text)
    assert str(caught.value).endswith(f"; did you mean {ELSEWHERE[text]}?")


def test_every_name_that_is_suggested_is_one():
    from lend.dtypes import refusals

    for names in refusals._ELSEWHERE.values():
        for name in names.split(" "):
            assert str(DType(name)) == name


CODES = {
    "?": "bool", "b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32", "q": "int64",
    "Q": "uint64", "n": "int64", "N": "uint64", "P": "uint64", "e": "float16", "f": "float32", "d": "float64",
    "g": "longdouble", "Ze": "complex32", "Zf": "complex64", "Zd": "complex128", "Zg": "clongdouble", "F": "complex64",
    "D": "complex128", "G": "clongdouble", "O": "object", "c": "bytes[1]", "7s": "bytes[7]", "3w": "text[3]",
    "7x": "opaque[7]",
}  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_a_struct_code_with_its_byte_order_in_front_names_a_dtype(code):
    native = DType(CODES[code])
    other = "big" if sys.byteorder == "little" else "little"
    assert DType("=" + code) == DType("@" + code) == DType("^" + code) == native
    assert DType(SWAPPED + code) == native.newbyteorder(other)
    assert DType("!" + code) == native.newbyteorder("big")


@pytest.mark.parametrize("code", CODES)
def test_without_its_byte_order_a_struct_code_is_no_name(code):
    with pytest.raises(ValueError, match="names no dtype"):
        DType(code)


@pytest.mark.parametrize("text", ["=2i", "<??", "=id", "=(2)d", "=T{i:a:}", "=", "=Z"])
def test_several_struct_codes_are_no_name(text):
    with pytest.raises(ValueError, match="names no dtype"):
        DType(text)


@pytest.mark.parametrize(("code", "meant"), [("l", "'int64' or 'int32'"), ("L", "'uint64' or 'uint32'")])
def test_a_long_is_not_guessed_where_a_format_and_numpy_differ(code, meant):
    assert DType("@" + code) == DType.from_format(code)
    with pytest.raises(ValueError, match=f"did you mean {meant}"):
        DType("=" + code)


def test_a_registered_name_names_its_dtype():
    lend.register_dtype("test_named16", "uint16")
    assert DType("test_named16") == DType("=test_named16") == "uint16"
    assert DType(SWAPPED + "test_named16") == SWAPPED + "uint16"
    assert DType([("a", "test_named16")]).fields["a"].dtype == "uint16"
    assert lend.view(bytearray(4)).reinterpret("test_named16").tolist() == [0, 0]
    lend.register_dtype("test_named16", "uint16")
    with pytest.raises(ValueError, match="is registered as uint16, and cannot be int16 as well"):
        lend.register_dtype("test_named16", "int16")


@pytest.mark.parametrize(("cls", "name"), [(bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")])
def test_a_class_of_python_is_the_dtype_of_its_values(cls, name):
    assert DType(cls) == name


@pytest.mark.parametrize(("cls", "name"), [(str, "text[8]"), (bytes, "bytes[8]"), (object, "object")])
def test_a_class_of_python_that_has_no_width_is_refused_with_a_name(cls, name):
    with pytest.raises(TypeError, match=re.escape(f"did you mean '{name}'")):
        DType(cls)


@pytest.mark.parametrize("thing", [None, 3, 3.0, b"<i4", object(), object, list, ctypes.c_int], ids=plain_repr)
def test_what_is_no_dtype_is_a_type_error(thing):
    with pytest.raises(TypeError, match="takes a dtype, its name or its typestr"):
        DType(thing)


def test_subclass_of_str_is_read_as_text():
    class Text(str):
        __slots__ = ()

        def startswith(self, *args):
            raise AssertionError("a method of the subclass was called")

    assert DType(Text("float32")) == DType("float32")


@pytest.mark.parametrize(
    ("typestr", "name", "itemsize", "read"),
    [
        ("<i4", "int32", 4, "<int32"),
        (">f8", "float64", 8, ">float64"),
        ("|V7", "void56", 7, "opaque[7]"),
        ("<V2", "bfloat16", 2, "<bfloat16"),
        (">V2", "bfloat16", 2, ">bfloat16"),
        ("|V2", "bfloat16", 2, "bfloat16"),
    ],
)
def test_foreign_dtype_is_read_by_typestr_and_told_by_name_when_it_calls_itself_void(typestr, name, itemsize, read):
    assert DType(Spelled(typestr, name, itemsize)) == DType(read)


@pytest.mark.parametrize(
    ("typestr", "name", "itemsize"),
    [
        *[("|V1", "int1", 1), ("|V2", "float8_e4m3fn", 2), ("|V4", "bfloat16", 4)],
        *[("StringDType()", "StringDType128", 16), ("\ud800", "x", 1), ("|V2", "é", 2), ("|O08", "category", 8)],
    ],
)
def test_foreign_dtype_that_lend_lacks_is_unsupported_and_never_opaque(typestr, name, itemsize):
    with pytest.raises(UnsupportedType, match="lend has no dtype for"):
        DType(Spelled(typestr, name, itemsize))


@pytest.mark.parametrize("attribute", ["names", "subdtype"])
def test_record_or_subarray_is_not_taken_for_bytes(attribute):
    record = Spelled("|V4", "void32", 4)
    setattr(record, attribute, ("a",))
    with pytest.raises(UnsupportedType, match="lend has no dtype for"):
        DType(record)


@pytest.mark.parametrize(("text", "name"), [("torch.float32", "float32"), ("mlx.core.bfloat16", "bfloat16")])
def test_dtype_known_by_its_text_is_read(text, name):
    assert DType(dtype(text)) == DType(name)


@pytest.mark.parametrize("text", ["torch.qint8", "torch.int1", "torch.quint4x2", "", "é"])
def test_dtype_known_by_its_text_that_lend_lacks_is_unsupported(text):
    with pytest.raises(UnsupportedType, match="lend has no dtype for"):
        DType(dtype(text))


@pytest.mark.parametrize("name", ["Q", "q", "double", "long", "object_", "generic", " ", "None", ">x9", "=foreign", ""])
def test_a_name_that_means_something_else_is_not_registered(name):
    with pytest.raises(ValueError, match=r"name of (NumPy|lend)'s own|registered by its name"):
        lend.register_dtype(name, "int8")

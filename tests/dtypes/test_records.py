"""Record types: how they are described, compared, named, refused; fixed bytes, text and objects beside them."""

import pickle
import sys
import threading

import pytest

import lend
from lend.dtypes import DType, records
from lend.errors import UnsupportedType

PAIR = [("a", "int32"), ("b", ">float64")]


def test_a_record_has_fields_in_their_order_with_offsets():
    dtype = DType(PAIR)
    assert (dtype.kind, dtype.names, dtype.itemsize, dtype.lanes) == ("record", ("a", "b"), 12, 1)
    assert [(name, field.dtype, field.offset) for name, field in dtype.fields.items()] == [
        ("a", DType("int32"), 0),
        ("b", DType(">float64"), 4),
    ]


def test_titles_and_subarrays_stand_in_the_field():
    dtype = DType([(("Title", "a"), "uint8", (2, 3)), ("b", "bool", 4)])
    assert dtype.fields["a"] == (DType("uint8"), 0, (2, 3), "Title")
    assert dtype.fields["b"].shape == (4,)
    assert dtype.itemsize == 10


def test_a_dict_says_offsets_and_itemsize():
    dtype = DType({"names": ["b", "a"], "formats": ["int32", ("u1", (2,))], "offsets": [4, 0], "itemsize": 16})
    assert dtype.itemsize == 16
    assert dtype.names == ("b", "a")
    assert dtype.fields["b"].offset == 4


def test_an_aligned_record_without_offsets_is_laid_out_as_by_a_c_compiler():
    dtype = DType({"names": ["a", "b"], "formats": ["uint8", "float64"], "aligned": True})
    assert (dtype.fields["b"].offset, dtype.itemsize) == (8, 16)


def test_equal_descriptions_are_one_type_whatever_they_were_said_in():
    spelled = [DType(PAIR), DType.from_format("T{i:a:>d:b:}"), DType("T{=i:a:>d:b:}"), DType.from_typestr("|V12", PAIR)]
    assert len(set(spelled)) == 1
    assert len({dtype.record_number for dtype in spelled}) == 1


def test_the_align_flag_is_kept_and_decides_nothing():
    said = {"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 16}
    plain, aligned = DType(said), DType({**said, "aligned": True})
    assert plain == aligned
    assert hash(plain) == hash(aligned)
    assert plain.record_number != aligned.record_number
    nested = [DType([("n", inner)]) for inner in (plain, aligned)]
    assert nested[0] == nested[1]


@pytest.mark.parametrize(
    "other",
    [
        [("a", "int32"), ("c", ">float64")],
        [("a", "int32"), ("b", "<float64")],
        [("a", "int32"), ("b", ">float64", (1,))],
        [(("t", "a"), "int32"), ("b", ">float64")],
        {"names": ["a", "b"], "formats": ["int32", ">float64"], "itemsize": 13},
        {"names": ["b", "a"], "formats": [">float64", "int32"], "offsets": [4, 0]},
    ],
    ids=str,
)
def test_records_that_differ_anywhere_are_unequal(other):
    assert DType(other) != DType(PAIR)


@pytest.mark.parametrize(
    "said",
    [
        PAIR,
        [],
        [(("t", "a"), "bytes[3]", (2,)), ("n", [("x", "text[2]"), ("y", "object")])],
        {"names": ["a"], "formats": ["bool"], "offsets": [3], "itemsize": 8, "aligned": True},
        {"names": [], "formats": [], "offsets": [], "itemsize": 5},
    ],
    ids=str,
)
def test_repr_and_pickle_make_the_same_type(said):
    dtype = DType(said)
    assert eval(repr(dtype)) == dtype
    again = pickle.loads(pickle.dumps(dtype))
    assert (again, again.record_number) == (dtype, dtype.record_number)


def test_the_name_tells_the_fields_and_is_cut():
    assert str(DType(PAIR)) == "record{a: int32, b: >float64}"
    assert len(str(DType([(f"field{i}", "int32") for i in range(1000)]))) < 200


def test_byte_order_is_that_of_the_fields():
    dtype = DType(PAIR)
    assert not dtype.is_native
    assert dtype.byteorder is None
    assert dtype.newbyteorder("native") == DType([("a", "int32"), ("b", "float64")])
    assert dtype.newbyteorder("swap").newbyteorder("swap") == dtype


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ([("a", "int32"), ("a", "int8")], ValueError),
        ([("a", "int32"), (("a", "b"), "int8")], ValueError),
        ([("a",)], ValueError),
        (["int32"], ValueError),
        ([("a", "int32", -1)], ValueError),
        ([("a", "int32", (1,) * 65)], ValueError),
        ([("a", "int32", "x")], ValueError),
        ([("a", "nonsense")], ValueError),
        ([(1, "int32")], ValueError),
        ([("a", "opaque[4294967295]"), ("b", "uint8")], ValueError),
        ([("a", "int32", (2**40, 2**40))], ValueError),
        ({"names": ["a"]}, ValueError),
        ({"names": ["a"], "formats": ["u1", "u1"]}, ValueError),
        ({"names": ["a"], "formats": ["u4"], "offsets": [-1]}, ValueError),
        ({"names": ["a"], "formats": ["u4"], "itemsize": 3}, ValueError),
        ({"names": ["a"], "formats": ["u4"], "offsets": [0.5]}, ValueError),
        ([("a", None)], TypeError),
        (PAIR * 9000, UnsupportedType),
    ],
    ids=lambda said: f"{said!s:.40}",
)
def test_a_description_that_is_none_is_refused(said, kind):
    with pytest.raises(kind):
        DType(said)


def test_a_description_that_holds_itself_is_refused():
    said = []
    said.append(("a", said))
    with pytest.raises(UnsupportedType, match="depth"):
        DType(said)


def test_records_within_records_have_a_greatest_depth():
    dtype = DType("uint8")
    for _ in range(records.MOST_DEPTH):
        dtype = DType([("a", dtype)])
    with pytest.raises(UnsupportedType, match="depth"):
        DType([("a", dtype)])


def test_a_process_keeps_so_many_types_and_says_so(monkeypatch):
    monkeypatch.setattr(records, "MOST_TYPES", len(records._TYPES))
    with pytest.raises(UnsupportedType, match="record types"):
        DType([("never met before", "opaque[12345]")])


def test_threads_that_meet_a_record_at_once_get_one_type():
    found = []
    barrier = threading.Barrier(8)

    def meet():
        barrier.wait()
        found.extend(DType([(f"raced{i}", "int16")]).record_number for i in range(50))

    threads = [threading.Thread(target=meet) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 50
    assert len(found) == 400


@pytest.mark.parametrize("said", [PAIR, [("a", "object")], "bytes[3]", "text[3]", "object"], ids=str)
def test_dlpack_is_named_where_it_has_no_word(said):
    with pytest.raises(UnsupportedType, match="DLPack cannot say"):
        DType(said).dlpack


def test_bytes_and_text_have_a_length():
    assert (DType("bytes[7]").length, DType("bytes[7]").itemsize, DType("bytes[7]").byteorder) == (7, 7, None)
    assert (DType("text[7]").length, DType("text[7]").itemsize) == (7, 28)
    assert DType("text[7]").byteorder == sys.byteorder
    assert (DType("int8").length, DType("int8").fields, DType("int8").names) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "format", "typestr"),
    [("bytes[7]", "7s", "|S7"), ("bytes[0]", "0s", "|S0"), ("object", "O", "|O"), (">text[7]", ">7w", ">U7")],
)
def test_bytes_text_and_objects_have_their_spellings(name, format, typestr):
    dtype = DType(name)
    assert str(dtype) == name
    if sys.byteorder == "little" or ">" not in name:
        assert dtype.format == format
    assert DType.from_format(format) == DType.from_typestr(typestr) == dtype
    assert dtype.typestr == typestr


def test_one_character_is_one_byte():
    assert DType.from_format("c") == DType.from_format("s") == DType("bytes[1]")


# -- registered names --------------------------------------------------------------------------------------------------


class Foreign:
    """A dtype of some library."""

    str = "|V2"

    def __init__(self, name, itemsize=2):
        self.name, self.itemsize = name, itemsize


def test_a_foreign_dtype_is_read_as_it_was_registered():
    with pytest.raises(UnsupportedType, match="lend has no dtype"):
        DType(Foreign("posit16"))
    lend.register_dtype("posit16", "uint16")
    lend.register_dtype("posit16", "<u2" if sys.byteorder == "little" else ">u2")
    assert DType(Foreign("posit16")) == DType("uint16")


def test_an_array_of_a_registered_dtype_is_lent():
    class Array:
        dtype = Foreign("posit16_of_an_array")

        def __init__(self):
            self.block = bytearray(b"\1\0\2\0")
            self.__array_interface__ = {"shape": (2,), "typestr": "|V2", "data": self.block, "version": 3}

    with pytest.raises(UnsupportedType):
        lend.view(Array())
    lend.register_dtype("posit16_of_an_array", "<u2")
    assert lend.view(Array()).tolist() == [1, 2]


@pytest.mark.parametrize("typestr", ["|V2", "<V2", ">V2"])
def test_an_array_and_its_registered_dtype_are_of_one_byte_order(typestr):
    class Array:
        dtype = Foreign("posit16_backwards")

        def __init__(self):
            self.__array_interface__ = {"shape": (2,), "typestr": typestr, "data": bytearray(b"\1\0\2\0"), "version": 3}

    swapped = typestr[0] == (">" if sys.byteorder == "little" else "<")
    lend.register_dtype("posit16_backwards", DType("uint16").newbyteorder("swap"))
    Array.dtype.str = typestr
    assert DType(Array.dtype).is_native == swapped
    assert lend.view(Array()).dtype == DType(Array.dtype)


def test_an_array_whose_registered_dtype_is_a_record_of_swapped_fields_says_so():
    class Array:
        dtype = Foreign("posit_record")

        def __init__(self):
            self.__array_interface__ = {"shape": (2,), "typestr": "|V2", "data": bytearray(b"\1\0\2\0"), "version": 3}

    made = DType([("a", "uint16")]).newbyteorder("swap")
    lend.register_dtype("posit_record", made)
    assert lend.view(Array()).dtype == made
    assert not lend.view(Array()).dtype.is_native


@pytest.mark.parametrize(
    ("name", "dtype", "why"),
    [
        ("void16", "int16", "name of NumPy's own"),
        ("str64", "int64", "name of NumPy's own"),
        ("float32", "int32", "name of lend's own"),
        ("", "int32", "by its name"),
        (3, "int32", "by its name"),
        ("pointer", "object", "never become pointers"),
    ],
)
def test_a_registration_that_contradicts_is_refused(name, dtype, why):
    with pytest.raises(ValueError, match=why):
        lend.register_dtype(name, dtype)


def test_a_registered_dtype_of_another_size_is_refused():
    lend.register_dtype("posit_of_two", "uint16")
    with pytest.raises(UnsupportedType, match="registered as uint16"):
        DType(Foreign("posit_of_two", itemsize=4))
    with pytest.raises(ValueError, match="registered as uint16"):
        lend.register_dtype("posit_of_two", "uint32")


def test_a_field_whose_name_is_no_text_has_no_format():
    with pytest.raises(UnsupportedType, match="field name"):
        _ = DType([("\ud800", "int32")]).format


@pytest.mark.parametrize(
    "said",
    [{"names": ["a"], "formats": ["float64"], "itemsize": 12, "aligned": True}, "T{4294967295x}"],
    ids=["aligned in name only", "too large"],
)
def test_a_record_that_numpy_refuses_is_refused_as_what_it_is(said):
    pytest.importorskip("numpy")
    with pytest.raises(UnsupportedType, match="NumPy cannot say"):
        _ = DType(said).__numpy_dtype__
    with pytest.raises(UnsupportedType):
        lend.to(lend.View.from_pointer(4096, (0,), said, owner=said), "numpy")


@pytest.mark.parametrize("name", ["int4_packed", "int4_packedx3", "float6_e2m3fn_packedx2"])
def test_a_field_of_a_record_has_whole_bytes(name):
    with pytest.raises(UnsupportedType, match=rf"field 'b' of a record has whole bytes, and several {name} share one"):
        DType([("a", "int32"), ("b", name)])

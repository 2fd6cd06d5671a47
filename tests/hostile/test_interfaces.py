"""Malformed `__array_interface__` dicts and `__array_struct__` capsules: refused naming the key (DESC-1 to DESC-7)."""

import struct

import pytest

import lend
from lend.errors import LendError
from support import children
from support.malformed import interfaces
from support.names import plain_repr, plain_str
from support.producers import ABSENT, ArrayInterface, ArrayStruct, PropertyRaises

NAMES = list(interfaces()[2])
TAKES = pytest.mark.parametrize("take", [lend.view, lend.buffer], ids=["view", "buffer"])


class Shows:
    """An object with the facts as its `__array_interface__`."""

    def __init__(self, facts, memory=None):
        self.__array_interface__, self.memory = facts, memory


def malformed(name):
    memory, good, table = interfaces()
    changes, told = table[name]
    facts = {key: value for key, value in (good | changes).items() if value is not ABSENT}
    return Shows(facts, memory), told


@TAKES
@pytest.mark.parametrize("name", NAMES)
def test_a_malformed_interface_is_refused_naming_the_key(name, take):
    obj, told = malformed(name)
    with pytest.raises(LendError, match=f"(?s){told}"):
        take(obj)


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_interface_holds_nothing_of_its_buffer(name):
    obj, _ = malformed(name)
    with pytest.raises(LendError):
        lend.view(obj)
    lender = obj.__array_interface__.get("data")
    if isinstance(lender, bytearray):
        lender.append(0)


@pytest.mark.parametrize("typestr", ["<f3", "<i3", "<c4", "<u5", "|b2", "<f1"])
def test_a_number_of_a_size_that_does_not_exist_is_refused_as_a_view(typestr):
    with pytest.raises(LendError, match=typestr[1:]):
        lend.view(ArrayInterface(bytes(64), (2,), typestr))


@pytest.mark.parametrize("facts", [None, 5, "shape", [], (), object(), {"shape"}], ids=plain_repr)
def test_an_interface_that_is_no_dict_is_refused(facts):
    with pytest.raises(LendError, match="__array_interface__"):
        lend.view(Shows(facts))


def test_nothing_malformed_ends_the_process():
    out = children.run_clean("""
        import lend
        from support.malformed import interfaces
        from support.producers import ABSENT, ArrayStruct
        memory, good, table = interfaces()
        class Shows: pass
        for name, (changes, _) in table.items():
            obj = Shows()
            obj.__array_interface__ = {k: v for k, v in (good | changes).items() if v is not ABSENT}
            for take in (lend.view, lend.buffer):
                try: print("accepted", name, take(obj))
                except lend.errors.LendError: pass
        wrong = [{"two": 3}, {"nd": -1}, {"nd": 65}, {"nd": 2**30}, {"data": 0}, {"itemsize": 0}, {"itemsize": -4}]
        for facts in wrong:
            try: print("accepted", facts, lend.view(ArrayStruct(bytes(16), (4,), **({"itemsize": 4} | facts))))
            except lend.errors.LendError: pass
        print("done")
    """)
    assert out == "done\n"


STRUCTS = {
    "another first word": ({"two": 3}, "two|3"),
    "nd -1": ({"nd": -1}, "nd|-1"),
    "nd 65": ({"nd": 65}, "64|65"),
    "nd 2**30": ({"nd": 2**30}, "nd|64"),
    "no data": ({"data": 0}, "data|NULL|pointer"),
    "a float of 3 bytes": ({"itemsize": 3}, "f3|3"),
    "an item size of 0": ({"itemsize": 0}, "itemsize|0"),
    "a negative item size": ({"itemsize": -4}, "itemsize|-4"),
    "strides that overflow": ({"strides": (2**62,)}, "stride"),
    "objects": ({"kind": "O", "itemsize": 8}, "O|object"),
}


@pytest.mark.parametrize("name", STRUCTS)
def test_a_malformed_struct_is_refused_naming_the_field(name):
    facts, told = STRUCTS[name]
    with pytest.raises(LendError, match=f"(?s){told}"):
        lend.view(ArrayStruct(bytes(32), (4,), **{"itemsize": 4, **facts}))


@pytest.mark.parametrize("answer", [None, 5, b"capsule", object(), {}], ids=plain_repr)
def test_a_struct_that_is_no_capsule_is_refused(answer):
    kind = type("Shows", (), {"__array_struct__": answer})
    with pytest.raises(LendError):
        lend.view(kind())


def test_a_capsule_with_a_name_is_no_array_struct():
    import datetime

    kind = type("Shows", (), {"__array_struct__": datetime.datetime_CAPI})
    with pytest.raises(LendError):
        lend.view(kind())


@pytest.mark.parametrize("strides", [None, (4,), (-4,), (0,)], ids=plain_str)
def test_the_last_byte_of_a_buffer_may_be_used_and_no_more(strides):
    offset = 12 if strides == (-4,) else 0
    lender = bytearray(struct.pack("<4f", 1, 2, 3, 4))
    view = lend.view(
        Shows({"version": 3, "shape": (4,), "typestr": "<f4", "data": lender, "offset": offset, "strides": strides})
    )
    right = {None: [1, 2, 3, 4], (4,): [1, 2, 3, 4], (-4,): [4, 3, 2, 1], (0,): [1, 1, 1, 1]}[strides]
    assert view.tolist() == right
    with pytest.raises(BufferError):
        lender.append(0)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2**40)], ids=plain_str)
@pytest.mark.parametrize("data", [(0, False), bytearray(0), bytearray(1)], ids=plain_repr)
def test_an_empty_array_needs_no_memory(shape, data):
    view = lend.view(Shows({"version": 3, "shape": shape, "typestr": "<f4", "data": data}))
    assert (view.shape, view.size) == (shape, 0)


@pytest.mark.parametrize("version", [None, 2, 3, 99, "3", ABSENT], ids=plain_repr)
def test_the_version_is_not_believed_either_way(version):
    obj = ArrayInterface(struct.pack("<2f", 1, 2), (2,), "<f4", version=version)
    assert lend.view(obj).tolist() == [1.0, 2.0]


def test_bool_bytes_other_than_zero_and_one_count_as_true_in_a_copy():
    obj = ArrayInterface(bytes([0, 1, 2, 255]), (4,), "|b1")
    assert lend.view(obj).tolist() == [False, True, True, True]
    assert [bool(byte) for byte in lend.view(obj, copy=True).tobytes()] == [False, True, True, True]


NAMED = ["__array_interface__", "__array_struct__", "__dlpack__", "__array__"]


@pytest.mark.parametrize("name", NAMED)
def test_a_property_that_fails_becomes_ours_with_its_text(name):
    error = RuntimeError("backend not loaded")
    with pytest.raises(LendError, match="backend not loaded"):
        lend.view(PropertyRaises(error, name))


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError, SystemExit])
def test_a_property_that_raises_what_must_not_be_caught_lets_it_pass(name, error):
    with pytest.raises(error) as caught:
        lend.view(PropertyRaises(error(), name))
    assert type(caught.value) is error

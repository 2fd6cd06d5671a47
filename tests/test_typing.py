"""lend.typing: the Protocols match what offers the protocol, and `import lend` does not load them."""

import array
import sys

import pytest

import lend
from lend import typing as types
from support import children
from support.arrow_structs import Made, Node, Streamed
from support.counting import CountingDLPack
from support.device_producers import CudaInterface, SyclInterface
from support.producers import ArrayInterface, ArrayMethod, ArrayStruct, Span

MATCHES = {
    "SupportsDLPack": lambda: CountingDLPack(8, (8,)),
    "SupportsArrayInterface": lambda: ArrayInterface(bytes(8), (8,), "|u1"),
    "SupportsCudaArrayInterface": CudaInterface,
    "SupportsSyclUsmArrayInterface": SyclInterface,
    "SupportsArrayStruct": lambda: ArrayStruct(bytes(8), (8,)),
    "SupportsArray": lambda: ArrayMethod(array.array("d", [1.0])),
    "SupportsPointer": lambda: Span(bytes(8)),
    "SupportsArrowArray": lambda: Made(Node("n", 1, 1)),
    "SupportsArrowStream": lambda: Streamed(Node("n"), []),
}


@pytest.mark.parametrize("name", MATCHES)
def test_object_with_the_protocol_matches(name):
    assert isinstance(MATCHES[name](), getattr(types, name))


@pytest.mark.parametrize("name", MATCHES)
def test_object_without_the_protocol_does_not_match(name):
    assert not isinstance([1, 2], getattr(types, name))


MEMBERS = {
    "SupportsCudaArrayInterface": "__cuda_array_interface__",
    "SupportsSyclUsmArrayInterface": "__sycl_usm_array_interface__",
}


@pytest.mark.parametrize("name", MEMBERS)
def test_view_matches_an_interface_of_devices_where_its_memory_is_there(name):
    assert isinstance(lend.view(MATCHES[name]()), getattr(types, name))
    # from Python 3.12 on the class alone is looked at, and the class has the descriptor
    assert isinstance(lend.view(b"1234"), getattr(types, name)) == (sys.version_info >= (3, 12))
    assert not hasattr(lend.view(b"1234"), MEMBERS[name])


ON_HOST = ["SupportsDLPack", "SupportsArrayInterface", "SupportsArrayStruct", "SupportsArray"]


@pytest.mark.parametrize("name", ON_HOST)
def test_view_matches_what_it_speaks(name):
    assert isinstance(lend.view(array.array("d", [1.0])), getattr(types, name))


@pytest.mark.parametrize("name", sorted(name for name in types.__all__ if name.startswith("Supports")))
def test_protocol_names_who_implements_it(name):
    assert "Implemented by" in getattr(types, name).__doc__


def test_every_way_in_is_part_of_what_is_taken():
    named = {name for name in types.__all__ if name.startswith("Supports")}
    assert {part.__name__ for part in types.IntoColumn.__args__} == named


@pytest.mark.parametrize("name", ["SupportsArrowArray", "SupportsArrowStream"])
def test_column_and_table_match_what_they_speak(name):
    column = lend.column(Made(Node("n", 1, 1)))
    assert isinstance(column, getattr(types, name))
    assert isinstance(lend.table({"a": column}), getattr(types, name))


def test_import_of_lend_does_not_load_the_types():
    assert children.run_clean("import lend, sys; print('lend.typing' in sys.modules)").split() == ["False"]

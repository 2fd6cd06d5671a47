"""What Cython may cimport from lend: the constants of lend.h, all of them, and nothing that the header has not."""

import pathlib
import re

import pytest

import lend

FOLDER = pathlib.Path(lend.get_include())
HEADER = re.sub(r"/\*.*?\*/", "", (FOLDER / "lend.h").read_text(encoding="utf-8"), flags=re.DOTALL)
CIMPORTED = (FOLDER.parent / "__init__.pxd").read_text(encoding="utf-8")
CONSTANTS = re.findall(r"\bLEND_\w+", " ".join(re.findall(r"^enum \{(.*?)^\};", HEADER, re.MULTILINE | re.DOTALL)))


@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_constant_of_the_header_may_be_cimported(constant):
    assert re.search(rf"\b{constant}\b", CIMPORTED)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\blend_\w+|\bLEND_\w+", CIMPORTED))))
def test_what_may_be_cimported_stands_in_the_header(name):
    assert re.search(rf"\b{name}\b", HEADER)

"""The two headers as text and beside each other: one struct, one release, no warning of a strict compiler."""

import pathlib
import re

import pytest

import lend
from support.counting import CountingBuffer, CountingDLPack

INCLUDE = pathlib.Path(__file__).parent.parent.parent / "src" / "lend" / "include"
BEGIN, END = "/* -- the struct", "/* -- end of the struct"


def text(name):
    return (INCLUDE / name).read_text(encoding="utf-8")


def struct_of(name):
    """What stands between the two marker lines, both included."""
    lines = text(name).splitlines()
    first, last = ([n for n, line in enumerate(lines) if line.startswith(marker)] for marker in (BEGIN, END))
    assert (len(first), len(last)) == (1, 1)
    return lines[first[0] : last[0] + 1]


def test_both_headers_have_the_same_struct():
    assert len(struct_of("lend.h")) > 100
    assert struct_of("lend_take.h") == struct_of("lend.h")


def test_the_header_says_its_version_and_its_licence():
    head = text("lend_take.h")[:2500]
    assert "Apache License, Version 2.0" in head
    assert "SPDX-License-Identifier: Apache-2.0" in head
    assert re.match(r"/\* lend_take\.h (\d+\.\d+):", head).group(1) == re.search(
        r'#define LEND_TAKE_VERSION "([^"]+)"', text("lend_take.h")
    ).group(1)


def test_the_version_is_there_when_compiled(taker):
    assert f"lend_take.h {taker.module.version}:" in text("lend_take.h")


def test_it_includes_nothing_but_python_and_the_standard_library():
    found = re.findall(r"^\s*#\s*include\s+(\S+)", text("lend_take.h"), flags=re.MULTILINE)
    standard = {"<stddef.h>", "<stdint.h>", "<stdio.h>", "<stdlib.h>", "<string.h>", "<stdarg.h>"}
    assert set(found) <= standard | {"<Python.h>"}


def test_every_function_is_static_inline():
    body = text("lend_take.h").partition(END)[2]
    defined = re.findall(r"^(?!\s|typedef|struct|#|/|\}|enum|extern)(.*?)\b(lend_take\w*)\(", body, flags=re.MULTILINE)
    assert len(defined) > 40
    assert [name for kind, name in defined if not kind.startswith("static inline ")] == []


def test_names_of_its_own_begin_with_lend_take():
    body = text("lend_take.h").partition(END)[2]
    names = re.findall(r"^#define (\w+)|^static inline [\w *]+?[ *](\w+)\(|^} (\w+);", body, flags=re.MULTILINE)
    flat = ["".join(parts) for parts in names]
    assert len(flat) > 50
    assert [name for name in flat if not name.lower().startswith("lend_take")] == []


def test_what_take_gave_lend_release_gives_back(both):
    exporter = CountingBuffer(bytes(8))
    taken = both(exporter)
    assert exporter.live == 1
    both.module.release_by_lend(taken.capsule)
    assert exporter.audit() == []
    both.module.release_by_lend(taken.capsule)
    taken.release()
    assert exporter.audit() == []


def test_what_lend_gave_take_release_gives_back(both):
    producer = CountingDLPack(bytes(16), (4,))
    capsule = both.module.acquire(producer)
    assert producer.live == 1
    both.module.release(capsule)
    assert (producer.deleted_by_consumer, producer.audit()) == (1, [])
    both.module.release(capsule)
    assert producer.audit() == []


@pytest.mark.parametrize("source", [bytearray(24), memoryview(bytes(24)).cast("d"), memoryview(bytearray(9))[::-2]])
def test_both_fill_the_same_struct(both, source):
    ours, theirs = both(source), both.module.facts(both.module.acquire(source))
    assert both.module.facts(ours.capsule) == theirs
    assert theirs["ptr"] == lend.view(source).ptr

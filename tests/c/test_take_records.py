"""Formats of records: lend_take.h counts their bytes, as lend does, and refuses an itemsize that they are not of."""

import random

import pytest

import lend
from support.counting import CountingBuffer

RECORD = 133
WRONG = [
    ("T{i:a:}", 3), ("T{i:a:}", 1), ("T{b:a:d:b:}", 9), ("=T{b:a:d:b:}", 8), ("<T{i:a:}", 8), ("T{5s:a:}", 4),
    ("T{(2,3)h:a:}", 11), ("T{3i:a:}", 8), ("T{2w:a:}", 4), ("T{T{d:a:}:b:}", 4), ("T{Zd:a:}", 8), ("T{4x}", 3),
    ("T{i:a:", 4), ("T{i:a:}}", 4), ("T{i:a:q}i}", 12), ("T{y:a:}", 1), ("T{i:a}", 4), ("T{(2i:a:}", 8),
    ("T{(,)i:a:}", 4), ("T{99999999999b:a:}", 4), ("T{(4294967295,4294967295)i:a:}", 4), ("T{O:a:}", 8),
    ("T{" * 40 + "b" + "}" * 40, 1),
]  # fmt: skip


def records(text, itemsize):
    return CountingBuffer(bytes(512), format=text, itemsize=itemsize, shape=(2,))


@pytest.mark.parametrize(("text", "itemsize"), WRONG)
def test_a_record_of_another_size_than_its_format_is_refused(taker, text, itemsize):
    exporter = records(text, itemsize)
    with pytest.raises(BufferError, match=r"its buffer format 'T?.*is not understood as one dtype of \d+ bytes"):
        taker(exporter)
    assert exporter.audit() == []


RIGHT = [
    ("T{i:a:}", 4), ("T{i:a:}", 5), ("T{b:a:d:b:}", 16), ("=T{b:a:d:b:}", 9), ("T{b:a:=d:b:}", 9), ("T{d:a:b:b:}", 16),
    ("T{(2,3)h:a:}", 12), ("T{3i:a:}", 12), ("T{T{b:a:d:b:}:c:b:d:}", 24), ("<T{l:a:}", 4),
    ("<T{l:a:}", 8), ("T{b:a:xxx=i:b:}", 8), ("T{b:O&}:b:c:}", 2), ("T{g:a:}", 16), ("T{b:a:Zf:b:}", 12),
]  # fmt: skip


@pytest.mark.parametrize(("text", "itemsize"), RIGHT)
def test_a_record_of_the_size_of_its_format_is_taken(taker, text, itemsize):
    assert taker(records(text, itemsize)).dtype == (RECORD, "|", 0, 0, 1, itemsize, 1)


def drawn(dice, depth=0):
    """A record's format, mostly one that there may be."""
    parts = []
    for number in range(dice.randint(0, 3)):
        parts.append(dice.choice(["", "", "", "(2)", "(0)", "(2,3)", "()"]))
        parts.append(dice.choice(["", "", "", *"@=<>^!"]))
        parts.append(dice.choice(["", "", "", "0", "3"]))
        if depth < 3 and dice.random() < 0.2:
            parts.append(drawn(dice, depth + 1))
        else:
            parts.append(dice.choice([*"?bBhHiIlLqQnNPefdgxswc", "Zf", "Zd", "Zg", "p", "X", "}"]))
        parts.append(dice.choice(["", f":{number}:"]))
    return f"T{{{''.join(parts)}}}"


@pytest.mark.parametrize("seed", range(6))
def test_both_readers_of_formats_count_the_same_bytes(taker, seed):
    dice = random.Random(seed)
    wrong = []
    for _ in range(60):
        text = dice.choice(["", "", *"<>=@^"]) + drawn(dice)
        for itemsize in {1, 4, 8, 12, dice.randint(1, 100)}:
            exporter = records(text, itemsize)
            try:
                expected = lend.view(exporter).itemsize
            except lend.LendError:
                expected = None
            try:
                said = taker(exporter).itemsize
            except BufferError:
                said = None
            if said != expected:
                wrong.append((text, itemsize, said, expected))
    assert wrong == []

"""Iterating a View gives its parts, one at a time."""

from typing import NamedTuple

import pytest

import lend
from lend.errors import LeaseLost
from support.counting import CountingBuffer


class Pair(NamedTuple):
    row: int
    column: int


def test_the_parts_come_in_order():
    assert [part.item() for part in lend.view(b"abc")] == [97, 98, 99]


def test_one_part_is_made_at_a_time():
    parts = iter(lend.view(bytes(10**9 // 8)))
    assert next(parts).item() == 0


def test_a_release_in_between_ends_it_with_the_reason():
    exporter = CountingBuffer(b"abcd")
    view = lend.view(exporter)
    parts = iter(view)
    next(parts)
    view.release()
    with pytest.raises(LeaseLost):
        next(parts)


def test_iteration_over_no_dimension_is_refused_at_once():
    with pytest.raises(TypeError, match="0-d"):
        iter(lend.view(b"a")[0])


def test_a_named_tuple_is_an_index():
    assert lend.view(b"abcd").reshape(2, 2)[Pair(1, 0)].item() == ord("c")

"""Numbers that no memory has are answered or refused in words, never with a bare overflow."""

import ctypes
import sys

import pytest

import lend
from lend.errors import MalformedDescriptor, UnsupportedLayout

HUGE = 2**70
BLOCK = (ctypes.c_char * 64)()
ADDRESS = ctypes.addressof(BLOCK)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: lend.View.from_pointer(ADDRESS, (HUGE,), "uint8", owner=BLOCK),
        lambda: lend.View.from_pointer(ADDRESS, (2**62, 2**62), "uint8", owner=BLOCK),
        lambda: lend.View.from_pointer(ADDRESS, (2,), "uint8", strides=(HUGE,), owner=BLOCK),
        lambda: lend.View.from_pointer(HUGE, (2,), "uint8", owner=BLOCK),
        lambda: lend.Buffer.from_pointer(ADDRESS, HUGE, owner=BLOCK),
        lambda: lend.buffer(b"abc").view(offset=HUGE),
        lambda: lend.buffer(b"abc").view(offset=-HUGE),
        lambda: lend.buffer(b"abc").view(shape=HUGE),
    ],
)
def test_a_number_beyond_64_bits_is_a_malformed_descriptor(ask):
    with pytest.raises(MalformedDescriptor):
        ask()


def test_an_extent_beyond_64_bits_is_refused_also_beside_an_empty_one():
    with pytest.raises(ValueError, match="an extent fits 64 bits"):
        lend.view(b"").reshape(HUGE, 0)


def test_an_empty_view_takes_no_extents_whose_product_does_not_fit():
    with pytest.raises(UnsupportedLayout, match="does not fit the address space"):
        lend.view(b"").reshape(2**40, 2**40, 0)


def test_an_empty_view_reinterpreted_takes_no_items_too_large_for_its_extents():
    with pytest.raises(UnsupportedLayout, match="does not fit the address space"):
        lend.view(b"").reshape(2**60, 0).reinterpret("opaque[100]")


def test_an_index_beyond_64_bits_is_out_of_bounds():
    with pytest.raises(IndexError, match="out of bounds"):
        lend.view(b"abc")[HUGE]


def test_a_slice_beyond_64_bits_is_cut():
    assert lend.view(b"abc")[-HUGE:HUGE].shape == (3,)


def test_the_size_of_a_view_counts_the_memory_it_pins_and_not_its_repetitions():
    row = lend.View.from_pointer(ADDRESS, (2**40, 2**20), "uint8", strides=(0, 0), owner=BLOCK)
    assert sys.getsizeof(row) < 1000


def test_an_alignment_that_no_address_has_is_refused():
    with pytest.raises(ValueError, match="at multiples of 1073741824 bytes at most"):
        lend.view(b"abc", align=HUGE, copy=True)


def test_elements_of_no_bytes_are_counted_all_the_same():
    with pytest.raises(MalformedDescriptor):
        lend.View.from_pointer(ADDRESS, (2**40, 2**40), "opaque[0]", owner=BLOCK)

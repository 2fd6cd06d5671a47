"""Reshape, reinterpret and iterate, worked out on shapes and strides alone."""

from operator import index

from lend._core.letting_go import lets_go
from lend.errors import UnsupportedLayout
from lend.views import packed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from lend.views.view import View

    Layout = tuple[tuple[int, ...], tuple[int, ...] | None]

LARGEST = 2**63 - 1


@lets_go
def plan(view: "View", shape: "Sequence[int]") -> "Layout":
    """Extents and strides of the same memory under another shape; UnsupportedLayout when there are none.

    The dimensions of the old shape are matched against those of the new in groups of equal product; a group can be
    shared when its old dimensions run on from each other.
    """
    new = _completed(view, shape)
    if view.strides is None:
        return new, None  # they share bytes, and stay in their order
    if view.size == 0:
        return new, _row_major(new, view.itemsize)
    old = [(extent, stride) for extent, stride in zip(view.shape, view.strides, strict=True) if extent != 1]
    strides = [0] * len(new)
    i = j = 0
    while i < len(old) and j < len(new):
        first_i, first_j = i, j
        have, want = old[i][0], new[j]
        while have != want:
            if have < want:
                i += 1
                have *= old[i][0]
            else:
                j += 1
                want *= new[j]
        for k in range(first_i, i):
            if old[k][1] != old[k + 1][0] * old[k + 1][1]:
                raise UnsupportedLayout.build(
                    f"shape {tuple(view.shape)} with strides {tuple(view.strides)} cannot be seen as {new} without a "
                    "copy",
                    came=_came(view),
                    remedy="v.copy().reshape(...)",
                )
        step = old[i][1]
        for k in range(j, first_j - 1, -1):
            strides[k] = step
            step *= new[k]
        i += 1
        j += 1
    for k in range(j, len(new)):  # what is left are extents of 1
        strides[k] = view.itemsize
    return new, tuple(strides)


@lets_go
def reinterpreted(view: "View", itemsize: int) -> "Layout":
    """Extents and strides under another item size: the last dimension changes, as `numpy.ndarray.view` has it."""
    assert view.strides is not None, "views/packed.py has these"
    if itemsize == view.itemsize:
        return view.shape, view.strides
    if view.ndim == 0 or itemsize == 0 or view.itemsize == 0:
        raise UnsupportedLayout.build(
            f"items of {view.itemsize} bytes cannot be seen as items of {itemsize} bytes"
            + ("" if view.ndim else " in 0 dimensions"),
            came=_came(view),
            remedy="v.reshape(1).reinterpret(...), in one dimension" if itemsize and view.itemsize else None,
        )
    *outer, last = view.shape
    if last != 1 and view.size and view.strides[-1] != view.itemsize:
        raise UnsupportedLayout.build(
            f"the last dimension (stride {view.strides[-1]}) has gaps: items of {itemsize} bytes would span them",
            came=_came(view),
            remedy="v.copy().reinterpret(...), or a dtype of the same size",
        )
    if last * view.itemsize % itemsize:
        most = _dividing(last, view.itemsize, itemsize)
        raise UnsupportedLayout.build(
            f"the last dimension has {last * view.itemsize} bytes, no whole number of {itemsize}-byte items",
            came=_came(view),
            remedy=f"a part of it that divides, such as v[..., :{most}]"
            if most
            else f"a dtype whose items are smaller, or more memory: no part of it fills an item of {itemsize} bytes",
        )
    return (*outer, last * view.itemsize // itemsize), (*view.strides[:-1], itemsize)


@lets_go
def place(view: "View", indices: "Sequence[Any]") -> "tuple[tuple[int, ...], int]":
    """An index of one element, as plain integers from 0 on, and its number in row-major order."""
    if len(indices) != view.ndim:
        raise IndexError(f"item() takes an index for each of {view.ndim} dimensions, not {len(indices)}")
    found = []
    number = 0
    for dim, (entry, extent) in enumerate(zip(indices, view.shape, strict=True)):
        at = index(entry)
        if not -extent <= at < extent:
            raise IndexError(f"index {at} is out of bounds for dimension {dim} of extent {extent}")
        found.append(at % extent)
        number = number * extent + found[-1]
    return tuple(found), number


def _dividing(extent: int, old: int, new: int) -> int:
    """The largest extent up to this one whose items of `old` bytes are a whole number of `new` bytes."""
    from math import gcd

    return extent - extent % (new // gcd(old, new))


def _completed(view: "View", shape: "Sequence[int]") -> "tuple[int, ...]":
    shape = [index(extent) for extent in shape]  # read once, and exactly an int: an object may answer anything
    known = 1
    for extent in shape:
        if extent < -1:
            raise ValueError(f"an extent is not negative (-1 once for the rest), got {tuple(shape)}")
        if extent > LARGEST:
            raise ValueError(f"an extent fits 64 bits, got {tuple(shape)}")
        known *= 1 if extent == -1 else extent
    free = list(shape).count(-1)
    if free > 1:
        raise ValueError(f"one extent can be -1, got {tuple(shape)}")
    if free:
        if known == 0 or view.size % known:
            raise ValueError(f"{view.size} elements cannot be shaped as {tuple(shape)}")
        return tuple(view.size // known if extent == -1 else extent for extent in shape)
    if known != view.size:
        raise ValueError(f"{view.size} elements cannot be shaped as {tuple(shape)}")
    return tuple(shape)


def _row_major(shape: "tuple[int, ...]", itemsize: int) -> "tuple[int, ...]":
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
        if step > LARGEST:
            step = itemsize  # of nothing: an empty shape may have extents whose product does not fit
    return tuple(reversed(strides))


def _came(view: "View") -> str:
    from lend.views import describe

    return describe.came(view)


@lets_go
def elements(view: "View") -> "Iterator[View]":
    """The parts along the first dimension, one at a time; what a release ends is said at the next."""
    if view.strides is None:
        packed.rows(view)
    return _elements(view)


def _elements(view: "View") -> "Iterator[View]":
    for i in range(len(view)):
        yield view[i]

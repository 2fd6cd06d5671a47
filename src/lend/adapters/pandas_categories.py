"""Columns with a dictionary as pandas' categories: codes of the smallest signed width, and values that differ."""

from lend._core import copies, kernels
from lend.columns import joining, recoding, refusals
from lend.columns.anatomy import Anatomy, stored_as
from lend.columns.drafts import producers
from lend.columns.isolating import isolated
from lend.columns.scalars import is_nan
from lend.errors import LendError, UnsupportedType
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lend.adapters.pandas_giving import Giving
    from lend.columns.column import Column


def fits(column: "Column") -> bool:
    """Whether pandas has an Index of these values that loses none: it hashes them, knows no NaN, takes -0.0 for 0.0."""
    zeros = set()
    for chunk in column.chunks:
        words = chunk.dictionary
        assert words is not None
        kind = words.dtype.kind
        # its times of a day have no nanoseconds
        if kind in ("bfloat", "complex", "struct", "map", "union") or words.dtype.name == "time64[ns]":
            return False
        if kind == "float":
            numbers = words.tolist()
            zeros |= {repr(number) for number in numbers if number == 0}
            if words.dtype.bits not in (32, 64) or len(zeros) > 1 or any(map(is_nan, numbers)):
                return False
    return True


def give(giving: "Giving", copy: bool, plan: "Callable[..., Giving]") -> "Giving":
    """Codes of the smallest signed width, -1 for null, and categories that are different ones.

    Chunks with dictionaries of their own get one together: all values in the order in which they first come.
    """
    column = giving.column
    full = [part for part in column.chunks if len(part)] or [column.chunks[0]]
    union = _Union()
    mappings: list[list[int]] = []
    for chunk in full:  # no comprehension: the frame of one keeps what it closes over, and an error the frame
        mappings.append(union.add(chunk))  # noqa: PERF401
    if len(union.words) > 1 and column.dtype.ordered and not all(map(_rises, mappings)):
        raise _orders_conflict(column)
    categories = len(union.seen)
    draft = None
    if len(full) == 1:
        keeps = union.places[0] is None
        words = full[0].dictionary
        assert words is not None
        target = None if keeps else words[:categories]
        draft = recoding.codes_with_sentinel(full[0], mappings[0] if not keeps else None, target)
        draft = isolated(draft) if copy else draft
        giving.wrote(draft.nbytes, *draft.reasons)
        giving.kept |= producers(draft)
    else:
        width = next(size for size in (1, 2, 4, 8) if categories <= 1 << (8 * size - 1))
        told = [f"{len(full)} chunks"] + (["dictionaries brought into one"] if len(union.words) > 1 else [])
        giving.wrote(len(column) * width, *told)
    inner = [plan(words, copy=copy) for words in union.words]
    for part in inner:
        giving.holds(part)

    def made() -> "Any":
        import pandas as pd

        index = None
        for part, places in zip(inner, union.places, strict=True):
            found = pd.Index(part.make())
            found = found if places is None else found.take(places)
            index = found if index is None else index.append(found)
        if draft is not None:
            codes = draft.make()
            _check_codes(codes, categories)
            array = _array(codes, stored_as(codes.dtype).name, copy) if len(codes) else []
        else:
            array = _codes(column, full, mappings, width, told)
        return pd.Categorical.from_codes(array, categories=index, ordered=bool(column.dtype.ordered), validate=False)

    giving.values = made
    return giving


class _Union:
    """The dictionaries of several chunks, and all their values, each once, in the order in which they come.

    Attributes
    ----------
    words : list of Column
        The dictionaries that differ.
    places : list of (list of int or None)
        For each the values that were not there before; None where these are all, in their order.
    seen : dict
        Each value, and its place among all.
    """

    def __init__(self) -> None:
        self.words: list[Column] = []
        self.places: list[list[int] | None] = []
        self.mappings: list[list[int]] = []
        self.seen: dict[Any, int] = {}

    def add(self, chunk: "Column") -> "list[int]":
        """For each index of a chunk the one among all, -1 for a value that is null."""
        words = chunk.dictionary
        assert words is not None
        for known, mapping in zip(self.words, self.mappings, strict=True):
            if joining.same_values(known, words):
                return mapping
        mapping, places, first = [], [], not self.words
        for place, key in enumerate(_keys(words)):
            if key is not None and key not in self.seen:
                self.seen[key] = len(self.seen)
                places.append(place)
            mapping.append(-1 if key is None else self.seen[key])
        self.words.append(words)
        self.mappings.append(mapping)
        self.places.append(None if first and len(places) == len(mapping) else places)
        return mapping


def _rises(mapping: "list[int]") -> bool:
    """Whether the order of a dictionary is that of all."""
    there = [index for index in mapping if index >= 0]
    return there == sorted(there)


def _orders_conflict(column: "Column") -> UnsupportedType:
    return UnsupportedType.build(
        f"the chunks of {refusals.named(column)} have ordered dictionaries whose orders conflict",
        came=refusals.came(column),
        remedy="lend.column(x).chunks, each by itself; or categories without an order",
    )


def _codes(
    column: "Column", chunks: "list[Column]", mappings: "list[list[int]]", width: int, why: "list[str]"
) -> "Any":
    """The indices of all chunks among the values of all, as pandas has them."""
    import numpy as np

    memory = values.fresh(len(column) * width)
    at = memory.ptr
    for chunk, mapping in zip(chunks, mappings, strict=True):
        recoding._recode(Anatomy(chunk), width, mapping, at)
        at += len(chunk) * width
    copies.note(refusals.came(column), ", ".join(why), len(column) * width)
    return np.asarray(memory).view(f"int{8 * width}")


def _check_codes(codes: "Column", limit: int) -> None:
    parts = Anatomy(codes)
    if not parts.n:
        return
    mask, _held = parts.any_mask()
    wrong = kernels.check_indices(parts.at(0), parts.step, parts.width, 1, *mask, limit, parts.n)
    if wrong >= 0:
        raise refusals.contradicts(codes, f"the index at element {wrong} is none of its {limit} dictionary values")


def _keys(words: "Column") -> "list[Any]":
    """The values of a dictionary, by which they are told apart; None of null."""
    try:
        return joining.told_apart(words)
    except LendError:
        parts = Anatomy(words)  # of times that Python has no objects for: the numbers
        lost = [False] * parts.n if not words.null_count else recoding._lost(words)
        numbers = parts.gathered(0, parts.n).reinterpret(f"int{8 * parts.width}").tolist()
        return [None if gone else number for number, gone in zip(numbers, lost, strict=True)]


def _array(column: "Column", name: str, writable: bool) -> "Any":
    """The indices as an ndarray over the same memory."""
    import numpy as np

    parts = Anatomy(column)
    buffer = column.buffers["data"]
    array = np.asarray(buffer.view(f"opaque[{parts.width}]", (parts.n,), (parts.step,), parts.at(0) - buffer.ptr))
    made = array.view(name)
    made.flags.writeable = writable
    return made

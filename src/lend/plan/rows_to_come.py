"""What the rows of who gives them once may still refuse: `lend.explain` tells it before they come."""

from lend.adapters.frame_takers import ONE_CHUNK
from lend.adapters.verdicts import format_of, parts_of
from lend.columns.scalars import base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lend.dtypes import DType
    from lend.plan.frame_arrays import Asked
    from lend.plan.frame_drafts import FrameDraft

_TIMES = ("datetime", "timedelta")
_INEXACT = "integers beside nulls that float64 does not hold exactly, and NaN beside nulls"


def of_arrays(dtypes: "Iterable[DType]", asked: "Asked") -> "list[str]":
    """Notes of a way to arrays."""
    dtypes = [base(dtype) for dtype in dtypes]
    may = []
    if asked.nulls == "nan":
        may.append(_INEXACT)
    elif asked.nulls not in (None, "mask", "object"):
        may += _nulls(asked.nulls)
    elif (
        asked.nulls is None
        and not asked.masked
        and (asked.wish.storage or any(dtype.kind not in _TIMES for dtype in dtypes))
    ):
        may.append("nulls, of which an array has no word (nulls= says how they are shown)")
    if asked.nulls != "object" and any(dtype.children for dtype in dtypes):
        may.append("rows that are null, and lists of several lengths")
    if asked.copy is False:
        may.append("whatever must be copied, several chunks among it")
    return _note(may)


def of_frames(draft: "FrameDraft") -> "list[str]":
    """Notes of a way to a library of columns, or to a callable."""
    may: list[str] = []
    for policy in draft.nulls.values() if type(draft.nulls) is dict else (draft.nulls,):
        told = [_INEXACT] if policy == "nan" else [] if policy == "struct" else _nulls(policy)
        may += [note for note in told if note not in may]
    if draft.form in ONE_CHUNK:
        may.append(f"several chunks, as {draft.form.rpartition('.')[2]} has one")
    if draft.copy is False and draft.taker is not None and not draft.taker.arrow:
        may.append("whatever must be copied")
    if draft.taker is not None and draft.taker.name == "duckdb":
        dtypes = [part for column in draft.columns() for part in parts_of(column.dtype)]
        if any(format_of(dtype) == "tin" for dtype in dtypes):
            may.append("intervals of nanoseconds, which duckdb drops")
    return _note(may)


def _nulls(asked: "Any") -> "list[str]":
    if asked == "forbid":
        return ['nulls, by nulls="forbid"']
    return [] if asked is None or isinstance(asked, str) else [f"nulls that cannot be filled with {asked[1]!r:.60}"]


def _note(may: "list[str]") -> "list[str]":
    return [f"may be refused when the rows come: {'; '.join(may)}"] if may else []

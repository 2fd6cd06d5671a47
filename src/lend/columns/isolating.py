"""Drafts of columns that share no memory with what they are made of."""

from functools import partial

from lend._core import kernels
from lend.columns.drafts import Draft, Writing
from lend.columns.joining import compact
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.columns.drafts import Filling


def isolated(draft: Draft, why: str = "copy=True") -> Draft:
    """The draft whose column shares no memory with its source."""
    if draft.same:
        made = compact(draft.source)
        made.reasons = made.reasons or [why]
        return made
    if draft.chunks is not None:
        draft.chunks = [isolated(chunk) for chunk in draft.chunks]
    draft.buffers = {role: _owned(part) for role, part in draft.buffers.items()}
    draft.children = [isolated(child) for child in draft.children]
    if draft.dictionary is not None:
        draft.dictionary = isolated(draft.dictionary)
    if why not in draft.reasons:
        draft.reasons = [*draft.reasons, why]
    return draft


def _owned(part: "Filling") -> "Filling":
    if isinstance(part, tuple):
        return tuple(_owned(each) for each in part)  # type: ignore[misc]
    if isinstance(part, Writing):
        return part
    return Writing(part.nbytes, partial(_gather, part))


def _gather(part: View, to: int) -> None:
    if len(part):
        assert part.strides is not None
        kernels.gather(to, part.itemsize, part.ptr, part.strides[0], part.itemsize, 1, len(part))

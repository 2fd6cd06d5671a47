"""Text of NumPy's (of one width, of any length, of Python objects) as that of Arrow: made by pyarrow or polars."""

from lend._core import copies, kernels
from lend.adapters import pandas_kinds as kinds
from lend.adapters.asking import guarded
from lend.adapters.rules import is_installed
from lend.columns import refusals
from lend.errors import CopyRequired, UnsupportedLayout, UnsupportedType
from lend.protocols.classes import bases_of, full_name
from lend.views import describe, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.adapters.columns import Take
    from lend.columns.column import Column
    from lend.views.view import View

_LIBRARIES = ("pyarrow", "polars")


def library(what: str, came: str, first: str = "pyarrow") -> str:
    """Which library makes it; refused where none is there that could."""
    known = sorted(_LIBRARIES, key=lambda name: name != first)
    found = next((name for name in known if is_installed(name)), None)
    if found is None:
        raise UnsupportedType.build(
            f"{what} is of NumPy's strings, which pyarrow or polars makes text of, and neither is installed",
            came=came,
            remedy="install pyarrow or polars",
        )
    return found


def column_of(column: "Column", first: str) -> "Column":
    """Text of one width, made anew in a counted copy."""
    from lend.adapters.columns import named
    from lend.front_columns import take_column

    came = refusals.came(column)
    found = column.tolist()
    return named(_made(found, refusals.named(column), came, take_column, first, column.dtype.kind), column.name)


def is_padded(column: "Column") -> bool:
    """Whether NULs of which NumPy knows nothing end one of its fixed bytes, which are made binary without them then."""
    return column.dtype.kind == "bytes" and any(map(_ends_with_nul, column.chunks))


def _ends_with_nul(chunk: "Column") -> bool:
    from lend.columns.anatomy import Anatomy

    parts = Anatomy(chunk)
    if not parts.n or not parts.width:
        return False
    last = values.fresh(parts.n)
    kernels.gather(last.ptr, 1, parts.at(0) + parts.width - 1, parts.step, 1, 1, parts.n)
    return b"\0" in bytes(last)


def nbytes_of(column: "Column", first: str) -> int:
    """Bytes of the text that `column_of` makes; what is made to count them is counted nowhere."""
    with copies.LookedAt() as made:
        column_of(column, first)
    return made[0].nbytes


def holds_strings(obj: "Any") -> bool:
    """Whether it is an ndarray of strings of any length, which has no memory that could be lent."""
    return any(full_name(base) == "numpy.ndarray" for base in bases_of(type(obj))) and _kind(obj) == "T"


@guarded
def _kind(obj: "Any") -> str:
    return str(obj.dtype.kind)


def of_strings(obj: "Any", take: "Take", copy: "bool | None") -> "Column":
    """Strings of any length, in a counted copy; what stands for null is null."""
    came, found = guarded(lambda asked: _strings(asked, copy))(obj)
    return _made(found, "this array", came, take)


def _strings(obj: "Any", copy: "bool | None") -> "tuple[str, list[Any]]":
    came = f"{full_name(type(obj))}, {obj.dtype}{list(obj.shape)}"
    if obj.ndim != 1:
        raise UnsupportedLayout.build(
            f"a column has one dimension, and this has {obj.ndim}",
            came=came,
            remedy="lend.column(x[:, i])" if obj.ndim == 2 else "x.reshape(-1)",
        )
    _check(copy, came)
    return came, [value if isinstance(value, str) else None for value in obj.tolist()]


def of_objects(view: "View", take: "Take", copy: "bool | None") -> "Column | None":
    """Python's strings, None for null; None where anything else is among them."""
    found = view.tolist() if view.dtype.kind == "object" else []
    if not any(isinstance(value, str) for value in found):
        return None
    if not all(value is None or isinstance(value, str) for value in found):
        return None
    _check(copy, describe.came(view))
    return _made(found, "this array", describe.came(view), take)


def _check(copy: "bool | None", came: str) -> None:
    if copy is False:
        raise CopyRequired.build(
            "text is made anew of NumPy's strings, and copy=False forbids that (strings)",
            came=came,
            remedy="copy=None, which makes text of them in a counted copy",
        )


def _made(
    found: "list[Any]", what: str, came: str, take: "Take", first: str = "pyarrow", kind: str = "text"
) -> "Column":
    name = library(what, came, first)
    module: Any = kinds.imported(name)
    try:
        if name == "polars":
            made = module.Series(found, dtype=module.String if kind == "text" else module.Binary)
        else:
            made = module.array(found, type=module.large_string() if kind == "text" else module.large_binary())
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        why = kinds.why_no_text(found, what, "strings that are no text")
        raise UnsupportedType.from_producer(error, why, door=name, came=came) from error
    column = take(made, None)
    copies.note(came, f"strings of NumPy's as {'text' if kind == 'text' else 'binary'}", kinds.nbytes_of(made))
    return column

"""Arrays of nanoarrow: by Arrow's own methods, but for those that it ends the process on when it gives them."""

import sys

from lend.adapters.asking import guarded
from lend.errors import UnsupportedType
from lend.protocols.classes import bases_of, full_name, module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lend.adapters.columns import Take

_CLASSES = {"CArray", "Array"}
_VIEWS = {"vu": "text in views", "vz": "bytes in views"}
_MENDED = (0, 10)  # 0.9 counts one buffer too few where an array of views is given again


def serves(cls: type) -> bool:
    return any(
        full_name(base).rpartition(".")[2] in _CLASSES and module_of(base).partition(".")[0] == "nanoarrow"
        for base in bases_of(cls)
    )


def column(obj: "Any", take: "Take", copy: "bool | None") -> "Any":
    _check(obj)
    return _streamed(obj) if _chunks(obj) != 1 else obj


def table(obj: "Any", keys: "Iterable[str | int] | None", take: "Take", copy: "bool | None") -> "Any":
    _check(obj)
    return obj


@guarded
def _chunks(obj: "Any") -> int:
    """Chunks of an Array, which has no single array of several; a CArray is one."""
    return int(getattr(obj, "n_chunks", 1))


@guarded
def _streamed(obj: "Any") -> "Any":
    return sys.modules["nanoarrow"].c_array_stream(obj)


def _check(obj: "Any") -> None:
    found = _unsafe(obj)
    if found is not None:
        raise UnsupportedType.build(
            f"nanoarrow {sys.modules['nanoarrow'].__version__!s:.20} ends the process when it gives {_VIEWS[found]}",
            came=full_name(type(obj)),
            remedy="what the array was made of; or nanoarrow.c_array_stream(x) of that, which hands it on as it came",
        )


@guarded
def _unsafe(obj: "Any") -> "str | None":
    """The format of views, where there are any in an array of a version that does not give them right."""
    nanoarrow = sys.modules["nanoarrow"]
    if _version(nanoarrow.__version__) >= _MENDED:
        return None
    return _views_in(nanoarrow.c_schema(obj.schema))


def _version(text: str) -> "tuple[int, ...]":
    from re import findall

    return tuple(int(part) for part in findall("[0-9]+", text)[:2])


def _views_in(schema: "Any") -> "str | None":
    if schema.format in _VIEWS:
        return str(schema.format)
    inner = [*schema.children, *([] if schema.dictionary is None else [schema.dictionary])]
    return next((found for found in map(_views_in, inner) if found is not None), None)

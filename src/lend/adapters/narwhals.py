"""Columns and tables of narwhals: what it wraps is taken, which loses nothing on the way."""

from lend.adapters.asking import guarded
from lend.protocols.classes import shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lend.adapters.columns import Take


def serves(cls: type) -> bool:
    return shows(cls, "to_native")


@guarded
def native(obj: "Any") -> "Any":
    return obj.to_native()


def column(obj: "Any", take: "Take", copy: "bool | None") -> "Any":
    return take(native(obj), copy)


def table(obj: "Any", keys: "Iterable[str | int] | None", take: "Take", copy: "bool | None") -> "Any":
    return native(obj)

"""Tables as a list of array interfaces, for consumers in C that read columns by their addresses.

XGBoost, whose form it is, reads nulls as bits: https://xgboost.readthedocs.io/en/stable/c.html (columnar input).
"""

from lend._core.letting_go import lets_go
from lend.columns import converting, interfaces
from lend.columns.column import Column
from lend.columns.joining import nothing
from lend.errors import LendError
from lend.tables import index_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.tables.table import Table
    from lend.views.view import View


class Interfaces(list["dict[str, Any]"]):
    """What is told of each column; holds the memory."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        super().__init__()
        self._held: list[Any] = []


@lets_go
def listed(table: "Table") -> Interfaces:
    """`Table.array_interfaces`."""
    from lend.tables import refusals

    table, made = index_note.without(table), Interfaces()
    for name, column in zip(table.names, table.columns, strict=True):
        try:
            made.append(_told(column, made._held))
        except LendError as error:
            refusals.add_name(error, name)
            raise
    return made


def _told(column: Column, held: "list[Any]") -> "dict[str, Any]":
    if not column.device.is_host:
        from lend.protocols.refusals import not_host

        raise not_host(column, None)
    column = converting.unpacked(converting.combined(column) if column.chunks else nothing(column))
    if column.dtype.dictionary is not None:
        column = _codes(column)
    view = interfaces.lying(column)
    for way in (converting.contiguous, converting.compact):
        if not _walks(view):
            column = way(column)
            view = interfaces.lying(column)
    if column.dtype.kind == "bool":
        view = view.reinterpret("uint8")  # they read no bools
    facts = view.__array_interface__
    held.append(view)
    if column.null_count:
        address, keeper = interfaces.bit_mask(column)
        held.append(keeper)
        facts["mask"] = {
            "data": (address, True), "shape": (len(column),), "strides": None, "typestr": "<t1", "version": 3,
        }  # fmt: skip
    return facts


def _walks(view: "View") -> bool:
    """Whether who counts steps in elements, forward and aligned, reads it right."""
    step = view.strides[0] if view.strides else 0
    forward = view.size < 2 or (step > 0 and step % view.itemsize == 0)
    return not view.size or (forward and view.aligned and bool(view.dtype.is_native))


def _codes(column: Column) -> Column:
    """The indices of a dictionary as numbers, null where the value that they lead to is."""
    from lend.columns.anatomy import Anatomy, stored_as
    from lend.columns.drafts import kept, lead_of

    parts = Anatomy(column)
    if column.dictionary is not None and column.dictionary.null_count:
        column = converting.codes_with_sentinel(column)
        parts = Anatomy(column)
    draft = kept(parts, lead_of(parts, keeps_bits=parts.form == "bitmask"))
    draft.dtype, draft.dictionary = stored_as(parts.dtype), None
    return draft.made()

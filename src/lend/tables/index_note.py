"""The index of a frame of pandas among the columns of a table: it goes along, noted, and is no data of arrays."""

from json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from lend.tables.table import Table

# in the metadata, a JSON object: "index", names of columns and their labels; "range"; "labels"; "names" of these;
# "selected" where the columns of the index were chosen by who has the table
KEY = b"lend.pandas"


def _said(metadata: "Mapping[bytes, bytes]") -> "dict[str, Any]":
    if KEY not in metadata:
        return {}
    try:
        said = loads(metadata[KEY])
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _places(said: "dict[str, Any]", names: "Sequence[str]") -> "list[int]":
    """Where the columns of an index are; nowhere if one of them is missing."""
    found: list[int] = []
    try:
        levels = [str(name) for name, _ in said.get("index", ())]
    except (TypeError, ValueError):
        return []
    for level in levels:
        place = next((i for i, name in enumerate(names) if name == level and i not in found), None)
        if place is None:
            return []
        found.append(place)
    return found


def after_selection(metadata: "dict[bytes, bytes]", names: "Sequence[str]") -> "dict[bytes, bytes] | None":
    """The metadata of a table whose columns were chosen: an index that was chosen is data. None: as it was."""
    said = _said(metadata)
    if not _places(said, names):
        return None
    return {**metadata, KEY: dumps({**said, "selected": True}).encode()}


def index_of(table: "Table") -> "list[int]":
    """The places of the columns that came along as an index, and were not chosen since."""
    said = _said(table.metadata)
    return [] if said.get("selected") else _places(said, table.names)


def without(table: "Table") -> "Table":
    """The table without them."""
    found = index_of(table)
    return table.select([i for i in range(table.num_columns) if i not in found]) if found else table

"""The index of a frame and the labels that are no text: which columns say them, and what the metadata keeps."""

from lend._core import copies
from lend.adapters import pandas_kinds as kinds
from lend.adapters.asking import guarded
from lend.adapters.columns import article
from lend.errors import UnsupportedType
from lend.tables.index_note import KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

PANDAS = b"pandas"
MODES = (None, "column", "drop", "metadata")


def take(made: "Any", frame: "Any", labels: "list[Any]", mode: "str | None", column_of: "Any", wish: "Any") -> None:
    """Put the index of a frame before the columns, or into the metadata, as the mode says."""
    from json import dumps

    if mode not in MODES:
        raise ValueError(f'index is None, "column", "drop" or "metadata", not {mode!r:.60}')
    said: dict[str, Any] = {}
    index = frame.index
    if not is_default(index) and mode != "drop":
        if mode == "metadata":
            if not kinds.is_index_of(index, "Range"):
                raise UnsupportedType.build(
                    f"index='metadata' keeps a RangeIndex, and this is {article(type(index).__name__)}",
                    came=f"pandas {index.dtype}[{len(index)}]",
                    remedy="index=None, which makes columns of it",
                )
            said["range"] = [index.start, index.stop, index.step, written(index.name)]
        else:
            levels = list(index.names)
            columns, told = [], []
            for number, (label, name) in enumerate(zip(levels, level_names(index), strict=True)):
                columns.append(column_of(_level(index, number, name, wish), name, wish))
                told.append([name, written(label)])
            made.columns[:0] = columns
            made.names[:0] = [name for name, _ in told]
            if mode is None:
                said["index"] = told
    if any(type(label) is not str for label in labels):
        said["labels"] = [written(label) for label in labels]
    if any(name is not None for name in frame.columns.names):
        said["names"] = [written(name) for name in frame.columns.names]
    if said:
        made.metadata[KEY] = dumps(said).encode()


def noted(obj: "Any", mode: "str | None" = None, back: bool = False) -> "list[str]":
    """What becomes of the index of a DataFrame or Series, to be told by a plan; of a default one nothing.

    `back`: it goes to pandas, where it is the index again.
    """
    names = carried(obj)
    if names is None:
        return []
    if not names or mode == "array":
        return [f"the index is no part of {'an array' if mode == 'array' else 'a column'}, and is not carried"]
    if mode == "drop":
        return ["the index is left out"]
    if mode == "metadata" or (back and mode is None):
        return [] if back else ["the index is kept in the metadata"]
    return [f"the index becomes the column{'' if len(names) == 1 else 's'} {', '.join(map(repr, names))}"]


@guarded
def carried(obj: "Any") -> "list[str] | None":
    """The columns that an index becomes: of a Series none. None where there is none that says anything."""
    index = getattr(obj, "index", None)  # an Index has none
    if index is None or not hasattr(type(obj), "index") or is_default(index):
        return None
    return level_names(index) if hasattr(type(obj), "columns") else []


def level_names(index: "Any") -> "list[str]":
    """The names that its levels have as columns."""
    return [
        kinds.text_of(label) if label is not None else f"__index_level_{number}__"
        for number, label in enumerate(index.names)
    ]


def _level(index: "Any", number: int, name: str, wish: "Any") -> "Any":
    """One level of an index, as one that is lend's alone."""
    if not kinds.is_index_of(index, "Multi"):
        return index.copy(deep=False)
    came = f"pandas.MultiIndex[{len(index)}]"
    if len(index):
        wish.check(kinds.called(name), "is a level of a MultiIndex, whose values lie nowhere", came, 'index="drop"')
    level = index.get_level_values(number)
    copies.note(came, "a level of a MultiIndex as values", level.nbytes)
    return level


def is_default(index: "Any") -> bool:
    """RangeIndex(0, n, 1) without a name, which says nothing."""
    return kinds.is_index_of(index, "Range") and index.name is None and index.start == 0 and index.step == 1


def written(label: "Any") -> "Any":
    """A label as JSON can say it; of what it cannot say the text."""
    if label is None or type(label) in (str, int, bool):
        return label
    if isinstance(label, tuple):
        return {"tuple": [written(part) for part in label]}
    if hasattr(label, "isoformat"):
        return {"time": label.isoformat()}
    if isinstance(label, float):
        return {"float": repr(float(label))}
    if hasattr(label, "__index__"):
        return int(label)
    return str(label)


def _read(said: "Any") -> "Any":
    """The label again; KeyError, TypeError or ValueError of what is none."""
    if isinstance(said, dict):
        if "tuple" in said:
            return tuple(_read(part) for part in said["tuple"])
        if "time" in said:
            from pandas import Timestamp

            return Timestamp(said["time"])
        return float(said["float"])
    hash(said)
    return said


def places(said: "Mapping[str, Any]", names: "Sequence[str]", index: "str | None") -> "list[int]":
    """The columns that are the index again in pandas; none where one of them is missing."""
    levels = said.get("index", []) if index != "column" else []
    found: list[int] = []
    for name, _ in levels:
        found += [place for place, other in enumerate(names) if other == name and place not in found][:1]
    return found if len(found) == len(levels) else []


def told(metadata: "Mapping[bytes, bytes]") -> "dict[str, Any]":
    """What the metadata of a table keeps of a frame, its labels read; nothing of what contradicts itself.

    "index": names of columns and their labels; "range": start, stop, step, name; "labels"; "names" of those.
    """
    from json import loads

    try:
        if KEY not in metadata and PANDAS in metadata:
            return _checked(_told_by_pandas(loads(metadata[PANDAS])))
        return _checked(loads(metadata.get(KEY, b"{}")))
    except (ValueError, KeyError, TypeError):
        return {}


def _checked(said: "Any") -> "dict[str, Any]":
    found: dict[str, Any] = {}
    if "range" in said:
        *numbers, name = said["range"]
        start, stop, step = numbers
        if not step or any(type(number) is not int or abs(number) >= 1 << 62 for number in numbers):
            raise ValueError("no range")
        found["range"] = (start, stop, step, _read(name))
    if "index" in said:
        found["index"] = [(str(name), _read(label)) for name, label in said["index"]]
    for key in ("labels", "names"):
        if key in said:
            found[key] = [_read(label) for label in said[key]]
    return found


def _told_by_pandas(said: "Any") -> "dict[str, Any]":
    """The same of what pandas itself says to Arrow, as pyarrow writes it."""
    levels = said["index_columns"]
    if len(levels) == 1 and isinstance(levels[0], dict):
        found = levels[0]
        return {"range": [found["start"], found["stop"], found["step"], found["name"]]}
    names = {part["field_name"]: part["name"] for part in said["columns"]}
    return {"index": [[name, names[name]] for name in levels]}


def labels_of(said: "dict[str, Any]", names: "list[str]") -> "list[Any]":
    """The labels of some columns: those that were told of their names, of the others the names."""
    known: dict[str, list[Any]] = {}
    for label in said.get("labels", ()):
        known.setdefault(kinds.text_of(label), []).append(label)
    # of several labels of one text the first is of the first column: what stands in the middle is not left out
    return [known[name].pop(0) if known.get(name) else name for name in names]

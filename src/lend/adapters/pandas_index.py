"""The index of a frame and the labels that are no text: which columns say them, and what the metadata keeps."""

from lend.adapters import pandas_kinds as kinds
from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KEY = b"lend.pandas"  # a JSON object: "index": names of columns and their labels; "range"; "labels"
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
            if not is_range(index):
                raise UnsupportedType.build(
                    f"index='metadata' keeps a RangeIndex, and this is {kinds.article(type(index).__name__)}",
                    came=f"pandas {index.dtype}[{len(index)}]",
                    remedy="index=None, which makes columns of it",
                )
            said["range"] = [index.start, index.stop, index.step, written(index.name)]
        else:
            levels = list(index.names)
            columns, told = [], []
            for number, label in enumerate(levels):
                level = index.get_level_values(number) if len(levels) > 1 else index
                name = kinds.text_of(label) if label is not None else f"__index_level_{number}__"
                columns.append(column_of(level, name, wish))
                told.append([name, written(label)])
            made.columns[:0] = columns
            made.names[:0] = [name for name, _ in told]
            if mode is None:
                said["index"] = told
    if any(type(label) is not str for label in labels):
        said["labels"] = [written(label) for label in labels]
    if said:
        made.metadata[KEY] = dumps(said).encode()


def is_range(index: "Any") -> bool:
    return hasattr(index, "start") and hasattr(index, "step") and not hasattr(index, "freq")


def is_default(index: "Any") -> bool:
    """RangeIndex(0, n, 1) without a name, which says nothing."""
    return is_range(index) and index.name is None and index.start == 0 and index.step == 1


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


def read(said: "Any") -> "Any":
    """The label again."""
    if not isinstance(said, dict):
        return said
    if "tuple" in said:
        return tuple(read(part) for part in said["tuple"])
    if "time" in said:
        from pandas import Timestamp

        return Timestamp(said["time"])
    return float(said["float"])


def told(metadata: "Mapping[bytes, bytes]") -> "dict[str, Any]":
    """What the metadata of a table keeps of a frame."""
    from json import loads

    try:
        found = loads(metadata.get(KEY, b"{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}

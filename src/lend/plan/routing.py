"""Which of the two planners has the way of an object to a target: that of arrays, or that of columns and tables."""

from lend.plan import targets
from lend.protocols.classes import module_of, shows, shows_columns
from lend.protocols.dlpack import capsule_offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OURS = ("lend.columns.column", "lend.tables.table")


def goes_as_a_frame(obj: "Any", target: "Any", asked: bool) -> bool:
    """Whether plan/frames.py has the way: of columns and tables, and to libraries that take nothing else.

    `asked`: by an option or by `nulls=` it was asked for what only columns have.
    """
    from lend.plan import frames

    cls = type(obj)
    if module_of(cls) in OURS or (target is not None and targets.is_masked(target)):
        return True
    if asked and frames.taker_of(target) is None and is_for_arrays(target):
        return True
    from lend import front_columns
    from lend.adapters import columns

    arrow = columns.of_buffers(cls) or shows_columns(cls)
    arrow = arrow or ((cls is tuple or capsule_offered(obj) is not None) and front_columns.gives_once(obj))
    found = frames.taker_of(target)
    if found is None and is_call(target):
        return issubclass(cls, dict) or (arrow and not frames.is_one_column(obj))
    if found is None or arrow or issubclass(cls, dict) or found[0].name not in targets.ADAPTERS:
        return found is not None
    return targets.resolve(target).library is None  # a class that is made of columns alone


def is_of_columns(obj: "Any") -> bool:
    """Whether an object has nulls, chunks or columns, of which `lend.view` may know nothing."""
    from lend.adapters import columns

    cls = type(obj)
    if issubclass(cls, dict) or shows_columns(cls) or shows(cls, "__arrow_array__"):
        return True
    return columns.adapter_of(cls) is not None


def is_frame(cls: type) -> bool:
    """Whether a class offers what no array does, and is told of as columns."""
    if shows(cls, "__arrow_c_device_array__") and not (shows(cls, "__arrow_c_array__") or shows(cls, "__dlpack__")):
        return not shows(cls, "__array_interface__")
    return any(shows(cls, name) for name in ("__arrow_c_stream__", "__arrow_c_device_stream__", "__dataframe__"))


def is_of_arrow(cls: type) -> bool:
    return (
        shows(cls, "__arrow_c_array__")
        or shows(cls, "__arrow_c_device_array__")
        or (shows(cls, "__arrow_c_stream__") and not module_of(cls).startswith("pandas"))
    )


def takes_columns(target: "Any") -> bool:
    """Whether a column can go to a target, whatever it becomes there."""
    from lend.plan import frames

    return frames.taker_of(target) is not None or is_for_arrays(target)


def is_call(target: "Any") -> bool:
    """Whether a target is a callable of nobody's that lend knows, which takes columns as they lie."""
    return target is not None and callable(target) and targets.resolve(target).library is None


def is_for_arrays(target: "Any") -> bool:
    from lend.plan import frame_arrays

    return frame_arrays.serves(target)

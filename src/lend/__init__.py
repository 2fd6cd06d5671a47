"""lend: hand memory from one Python library to another without copying it, and never lie about it.

`lend.view(x)` is the memory of any array, `lend.buffer(x)` its bytes, `lend.to(x, target)` hands it on,
`lend.explain(x, target)` says beforehand what that would copy and why. What cannot be carried is refused with a
sentence.
"""

from lend.front import buffer, view

__version__ = "0.1.0.dev0"

# the rest of the front door is loaded when somebody asks for it: name -> (module, attribute)
_ROOMS = {
    "Buffer": ("lend.views.buffers", "Buffer"),
    "Column": ("lend.columns.column", "Column"),
    "DType": ("lend.dtypes.dtype", "DType"),
    "Device": ("lend.device", "Device"),
    "LendError": ("lend.errors", "LendError"),
    "Nulls": ("lend.columns.nullness", "Nulls"),
    "Producer": ("lend.views.producer", "Producer"),
    "View": ("lend.views.view", "View"),
    "column": ("lend.front_columns", "column"),
    "copies": ("lend._core.copies", "copies"),
    "errors": ("lend.errors", None),
    "explain": ("lend.plan", "explain"),
    "get_include": ("lend.building", "get_include"),
    "loans": ("lend.inspection.loans", "loans"),
    "register_dtype": ("lend.dtypes.foreign", "register_dtype"),
    "show_versions": ("lend.inspection.versions", "show_versions"),
    "Table": ("lend.tables.table", "Table"),
    "table": ("lend.front_columns", "table"),
    "to": ("lend.plan.ways", "to"),
    "typing": ("lend.typing", None),
}

__all__ = [
    "Buffer",
    "Column",
    "DType",
    "Device",
    "LendError",
    "Nulls",
    "Producer",
    "Table",
    "View",
    "buffer",
    "column",
    "copies",
    "errors",
    "explain",
    "get_include",
    "loans",
    "register_dtype",
    "show_versions",
    "table",
    "to",
    "typing",
    "view",
]


TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend import errors, typing
    from lend._core.copies import copies
    from lend.building import get_include
    from lend.columns.column import Column
    from lend.columns.nullness import Nulls
    from lend.device import Device
    from lend.dtypes.dtype import DType
    from lend.dtypes.foreign import register_dtype
    from lend.front_columns import column, table
    from lend.inspection.loans import loans
    from lend.inspection.versions import show_versions
    from lend.plan import explain
    from lend.plan.ways import to
    from lend.tables.table import Table
    from lend.views.buffers import Buffer
    from lend.views.producer import Producer
    from lend.views.view import View
else:
    # hidden from type checkers, who would believe any name
    def __getattr__(name: str) -> object:
        if name not in _ROOMS:
            raise AttributeError(f"module 'lend' has no attribute {name!r}")
        room, attribute = _ROOMS[name]
        module = __import__(room, fromlist=["*"])
        value = module if attribute is None else getattr(module, attribute)
        globals()[name] = value
        return value


del TYPE_CHECKING


def __dir__() -> "list[str]":
    # what is loaded on the way is no part of it
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})

"""The type of one element and its spellings."""

__all__ = ["DType"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.dtypes.dtype import DType
else:
    # a package that imported its own modules would wait for a thread that imports one of them, and that for it
    def __getattr__(name: str) -> object:
        if name != "DType":
            raise AttributeError(f"module 'lend.dtypes' has no attribute {name!r}")
        from lend.dtypes import dtype

        globals()[name] = dtype.DType
        return dtype.DType

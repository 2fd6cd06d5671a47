"""The type of one element and its spellings."""

from lend.dtypes.dtype import DType

__all__ = ["DType"]

"""How tests ask the adapter of pandas, past the doors of lend."""

from lend.adapters import pandas as adapter
from lend.front_columns import column as column_of_anything


def take(obj, copy=None):
    return column_of_anything(obj)


def column(series, **wishes):
    """A Series as a Column, of which nothing is copied unless it says so."""
    return adapter.column_of(series, take, **wishes)


def columns(frame, **wishes):
    return adapter.columns_of(frame, take, **wishes)

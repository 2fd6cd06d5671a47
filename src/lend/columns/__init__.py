"""Columns: one-dimensional data with nulls, text and nesting, of one chunk or several."""

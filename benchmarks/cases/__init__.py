"""The tables, as data."""

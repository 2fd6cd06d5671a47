"""Types of lend.devices.columns."""

from lend.columns.column import Column

def on_host(column: Column, sync: str | None = None) -> Column: ...

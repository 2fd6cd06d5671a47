"""Types of lend.columns.parts."""

from typing import Any

from lend.columns.column import Column
from lend.views.view import View

def buffers(column: Column) -> dict[str, Any]: ...
def view(column: Column) -> View: ...
def interface(column: Column) -> dict[str, Any]: ...

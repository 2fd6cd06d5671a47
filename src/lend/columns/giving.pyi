"""Types of lend.columns.giving."""

from typing_extensions import CapsuleType

from lend.columns.column import Column

def schema(column: Column) -> CapsuleType: ...

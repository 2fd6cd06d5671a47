"""Types of lend.plan.ways."""

from typing import Any

def to(
    obj: Any,
    target: Any = None,
    *,
    copy: bool | None = None,
    device: object = None,
    nulls: Any = None,
    alias_readonly: bool = False,
    **options: Any,
) -> Any: ...

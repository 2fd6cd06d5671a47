"""Types of lend._core.arrow_owners."""

from typing import ClassVar, Literal, final

from lend._core.owners import Owner

@final
class SchemaOwner: ...

@final
class ArrowOwner(Owner):
    kind: ClassVar[Literal["arrow"]]
    @property
    def producer_type(self) -> str: ...
    @property
    def ptr(self) -> int: ...
    @property
    def place(self) -> tuple[int, int]: ...

@final
class Mark: ...

@final
class StreamOwner: ...

"""Types of lend._core.owners."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Never, final

class Owner:
    kind: ClassVar[Literal["none", "buffer", "dlpack", "object", "device", "memory", "callback", "arrow"]]
    # made by lend alone: no argument has this type
    def __init__(self, made_by_lend_alone: Never, /) -> None: ...
    # None when a bare capsule lent the memory
    @property
    def producer(self) -> Any: ...
    @property
    def producer_type(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ptr(self) -> int: ...
    @property
    def exports(self) -> int: ...
    # told by its address, and never memory of the object that keeps it alive
    @property
    def apart(self) -> bool: ...

@final
class BufferOwner(Owner):
    kind: ClassVar[Literal["buffer"]]

@final
class DLPackOwner(Owner):
    kind: ClassVar[Literal["dlpack"]]

@final
class ObjectOwner(Owner):
    kind: ClassVar[Literal["object"]]

@final
class DeviceOwner(Owner):
    kind: ClassVar[Literal["device"]]
    @property
    def stream(self) -> int | Literal["unknown"] | None: ...
    # a queue, a context, a capsule or a filter string of SYCL
    @property
    def context(self) -> Any: ...

@final
class MemoryOwner(Owner):
    kind: ClassVar[Literal["memory"]]
    @property
    def producer_type(self) -> str: ...

@final
class DriverOwner(Owner):
    kind: ClassVar[Literal["memory"]]
    @property
    def producer_type(self) -> str: ...

@final
class CallbackOwner(Owner):
    kind: ClassVar[Literal["callback"]]
    @property
    def producer_type(self) -> str: ...

@final
class Protocol:
    def __init__(
        self,
        *,
        name: str,
        dunder: str,
        carries: str = "array",
        devices: Iterable[int] = (1,),
        readonly: bool = False,
        strided: bool = True,
        nulls: bool = False,
        spec: str = "",
        offered: Callable[[Any], Protocol | None] | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def dunder(self) -> str: ...
    @property
    def carries(self) -> str: ...
    @property
    def devices(self) -> frozenset[int]: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def strided(self) -> bool: ...
    @property
    def nulls(self) -> bool: ...
    @property
    def spec(self) -> str: ...
    @property
    def offered(self) -> Callable[[Any], Protocol | None] | None: ...

def type_name_of(producer: object) -> str: ...
def living(classes: tuple[type, ...]) -> list[Any]: ...

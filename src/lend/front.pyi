"""Types of lend.front."""

from typing import Any, Literal

from typing_extensions import CapsuleType

from lend._core.owners import Protocol
from lend.protocols.buffer import BUFFER as BUFFER
from lend.typing import IntoView
from lend.views.buffers import Buffer
from lend.views.view import View

OWN: Protocol

def view(
    obj: IntoView | CapsuleType,
    *,
    copy: bool | None = None,
    writable: bool | None = None,
    device: object = None,
    stream: Any = None,
    dtype: object = None,
    ndim: int | None = None,
    order: Literal["C", "F"] | None = None,
    align: int | None = None,
) -> View: ...
def buffer(obj: IntoView | CapsuleType, *, copy: bool | None = None, writable: bool | None = None) -> Buffer: ...
def view_after(obj: Any, refused_by: Protocol, refusal: BaseException) -> View: ...
def forget() -> None: ...

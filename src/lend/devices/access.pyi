"""Types of lend.devices.access."""

from typing import overload

from lend.views.buffers import Buffer
from lend.views.view import View

class Access:
    name: str
    host: bool | None
    wait: str
    asked: bool
    copied: bool
    address: int
    ordinal: int
    row: int

def access(lent: View | Buffer) -> Access: ...
@overload
def on_host(lent: View, sync: str | None = None, signed: bool = False) -> View: ...
@overload
def on_host(lent: Buffer, sync: str | None = None, signed: bool = False) -> Buffer: ...
def rows() -> list[tuple[str, str, str]]: ...

"""Types of lend.devices.access."""

from lend.views.buffers import Buffer
from lend.views.view import View

class Access:
    name: str
    host: bool | None
    wait: str
    copied: bool
    address: int
    ordinal: int
    row: int

def access(lent: View | Buffer) -> Access: ...
def on_host[T: (View, Buffer)](lent: T, sync: str | None = None, signed: bool = False) -> T: ...
def rows() -> list[tuple[str, str, str]]: ...

"""Types of lend.devices.ordering."""

from lend.views.buffers import Buffer
from lend.views.view import View

def order(lent: View | Buffer, stream: int | None) -> None: ...
def number(lent: View | Buffer) -> int: ...

"""Types of lend.devices.ordering."""

from lend.views.buffers import Buffer
from lend.views.view import View

def order(lent: View | Buffer, stream: int | None) -> None: ...
def used_by(lent: View | Buffer, stream: int) -> None: ...

"""Types of lend.devices.copying."""

from lend.views.view import View

def to_host(view: View, why: str, sync: str | None = None) -> View: ...

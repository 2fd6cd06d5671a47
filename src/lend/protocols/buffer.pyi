"""Types of lend.protocols.buffer."""

from lend._core.owners import Protocol

BUFFER: Protocol
SCALAR: Protocol

def buffer_offered(obj: object) -> Protocol | None: ...

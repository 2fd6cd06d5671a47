"""Types of lend.protocols.dlpack."""

from lend._core.owners import Protocol

DLPACK: Protocol
CAPSULE: Protocol

def capsule_offered(obj: object) -> Protocol | None: ...
def announced_device(obj: object) -> int | None: ...

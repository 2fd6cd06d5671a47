"""Types of lend.adapters.torch_guards."""

from lend._core.owners import Protocol

GUARDED_RECORD: Protocol

def protocol_for(cls: type) -> Protocol | None: ...

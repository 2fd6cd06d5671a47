"""Types of lend.protocols.dlpack_exchange."""

from lend._core.owners import Protocol

EXCHANGE: Protocol

def table_offered(obj: object) -> Protocol | None: ...

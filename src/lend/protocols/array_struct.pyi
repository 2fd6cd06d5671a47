"""Types of lend.protocols.array_struct."""

from lend._core.owners import Protocol

ARRAY_STRUCT: Protocol

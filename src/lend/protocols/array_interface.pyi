"""Types of lend.protocols.array_interface."""

from lend._core.owners import Protocol

ARRAY_INTERFACE: Protocol

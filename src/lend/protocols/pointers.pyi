"""Types of lend.protocols.pointers."""

from lend._core.owners import Protocol

POINTERS: Protocol

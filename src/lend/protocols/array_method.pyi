"""Types of lend.protocols.array_method."""

from lend._core.owners import Protocol

ARRAY_METHOD: Protocol

"""Types of lend.devices.checking."""

from lend._core.owners import Protocol

def checked(protocol: Protocol) -> Protocol: ...

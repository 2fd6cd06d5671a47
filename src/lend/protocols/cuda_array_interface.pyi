"""Types of lend.protocols.cuda_array_interface."""

from lend._core.owners import Protocol

CUDA_ARRAY_INTERFACE: Protocol

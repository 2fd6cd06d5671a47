"""Types of lend.protocols.sycl_usm."""

from lend._core.owners import Protocol

SYCL_USM: Protocol

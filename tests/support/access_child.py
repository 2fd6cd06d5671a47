"""Names for the snippets that look at rows of the table in a child with the double; see access_rows."""

import ctypes
import json
import struct
import sys

import numpy as np

import lend
from lend.devices.access import access
from lend.errors import LendError, MalformedDescriptor, NotHostAccessible, StreamError
from support import counting, host_exports
from support.access_rows import Pages, arrow
from support.fakecuda import fake
from support.fakecuda.described import (
    UNTOLD,
    CudaArray,
    CudaArray0,
    CudaArray2,
    LyingInterface,
    LyingStruct,
    Memory,
    buffer_over,
)  # fmt: skip
from support.fakecuda.tensors import (
    CPU,
    CUDA,
    CUDA_HOST,
    CUDA_MANAGED,
    ONEAPI,
    ROCM,
    ROCM_HOST,
    ExchangeTensor,
    Tensor,
)  # fmt: skip
from support.host_exports import COUNT, SIZE, numbers

__all__ = [
    "COUNT", "CPU", "CUDA", "CUDA_HOST", "CUDA_MANAGED", "FIRST", "ONEAPI", "ROCM", "ROCM_HOST", "SIZE", "UNTOLD",
    "CudaArray", "CudaArray0", "CudaArray2", "ExchangeTensor", "LendError", "LyingInterface", "LyingStruct",
    "MalformedDescriptor", "Memory", "NotHostAccessible", "Pages", "StreamError", "Tensor", "access", "arrow",
    "buffer_over", "counting", "ctypes", "cuda", "fake", "host_exports", "json", "lend", "np", "numbers", "outcomes",
    "says", "show", "struct", "sys", "tensor",
]  # fmt: skip

FIRST = numbers([1, 2, 3, 4])


def tensor(memory, device, **said):
    return Tensor(memory, (COUNT,), dtype=(1, 32, 1), device=device, **said)


def cuda(memory, **said):
    return CudaArray(memory, (COUNT,), "<u4", **said)


def says(obj):
    found = access(lend.view(obj))
    return [found.name, found.host, found.wait]


def outcomes(take, begin=lambda data: None):
    """What comes of every export of a View and a Buffer: the usual, and which ways come to something else."""
    usual, others = host_exports.told(host_exports.tried(host_exports.VIEW, take, begin))
    found, rest = host_exports.told(host_exports.tried(host_exports.BUFFER, lambda: lend.buffer(take()), begin))
    return [sorted({usual, found}), sorted({*others, *rest})]


def show(*found):
    print(json.dumps(found))

"""Objects that describe memory of a device by a dict alone, as the libraries do that have one.

No driver is needed: the addresses are made up, and whoever reads what lies there crashes.
"""

from .producers import ABSENT

ADDRESS = 0x7F00_0000_0000  # mapped nowhere
CUDA, SYCL = "__cuda_array_interface__", "__sycl_usm_array_interface__"


class Described:
    """`facts` as the interface of its class, every reading of it counted; `ABSENT` removes a key."""

    usual: dict = {}

    def __init__(self, **changed):
        self.reads = 0
        facts = self.usual | changed
        self.facts = {key: value for key, value in facts.items() if value is not ABSENT}

    def told(self):
        self.reads += 1
        return self.facts


class CudaInterface(Described):
    """`__cuda_array_interface__` alone, as numba writes it: version 3, the stream told."""

    usual = {"shape": (2, 3), "typestr": "<f4", "data": (ADDRESS, False), "strides": None, "version": 3, "stream": None}
    __cuda_array_interface__ = property(Described.told)


class SyclInterface(Described):
    """`__sycl_usm_array_interface__` alone, as dpctl writes it."""

    usual = {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (ADDRESS, False),
        "strides": None,
        "offset": 0,
        "syclobj": "opencl:gpu:0",
        "version": 1,
    }
    __sycl_usm_array_interface__ = property(Described.told)


class TorchLike(CudaInterface):
    """Version 2, so without a stream; never says read-only."""

    usual = CudaInterface.usual | {"version": 2, "stream": ABSENT}


class CudfLike(CudaInterface):
    """Version 3 without the stream."""

    usual = CudaInterface.usual | {"shape": (4,), "typestr": "<i8", "stream": ABSENT}


class RmmLike(CudaInterface):
    """Bytes, with the pointer and the size beside the dict."""

    usual = CudaInterface.usual | {"shape": (64,), "typestr": "|u1", "version": 2, "stream": ABSENT}
    ptr, size = ADDRESS, 64


class PyarrowCudaLike(CudaInterface):
    """A CudaBuffer: signed bytes, version 2, strides None."""

    usual = RmmLike.usual | {"typestr": "|i1"}


LIKE = {kind.__name__: kind for kind in (CudaInterface, TorchLike, CudfLike, RmmLike, PyarrowCudaLike)}


def announcing(kind, device):
    """The same class with a `__dlpack_device__`, and without `__dlpack__`."""
    return type(f"{kind.__name__}Announcing", (kind,), {"__dlpack_device__": lambda self: device})

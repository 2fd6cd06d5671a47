"""The order in which an unknown type is asked for its protocols: the ones that lose least and cost least come first.

To add a protocol, write one file with its record and put the record here.
"""

from lend.protocols.array_interface import ARRAY_INTERFACE
from lend.protocols.array_method import ARRAY_METHOD
from lend.protocols.array_struct import ARRAY_STRUCT
from lend.protocols.buffer import BUFFER
from lend.protocols.cuda_array_interface import CUDA_ARRAY_INTERFACE
from lend.protocols.dlpack import CAPSULE, DLPACK
from lend.protocols.dlpack_exchange import EXCHANGE
from lend.protocols.pointers import POINTERS
from lend.protocols.sycl_usm import SYCL_USM

__all__ = ["ORDER"]

ORDER = (
    CAPSULE, EXCHANGE, BUFFER, ARRAY_STRUCT, DLPACK, CUDA_ARRAY_INTERFACE, SYCL_USM, ARRAY_INTERFACE, POINTERS,
    ARRAY_METHOD,
)  # fmt: skip

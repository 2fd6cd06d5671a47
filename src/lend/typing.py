"""What lend takes, as types: one Protocol for each way in; `IntoView`, `IntoColumn` and `IntoTable` for all of them.

For signatures of your own functions that pass what they get to `lend.view`. Nothing here is a base class that others
must use: an object matches by what it has. `import lend` does not load this module.

Examples
--------
>>> import lend
>>> from lend.typing import IntoView
>>> def total(x: IntoView) -> float:
...     return sum(lend.view(x, ndim=1).tolist())
>>> total(b"123")
150
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

__all__ = [
    "IntoColumn",
    "IntoTable",
    "IntoView",
    "SupportsArray",
    "SupportsArrayInterface",
    "SupportsArrayStruct",
    "SupportsArrowArray",
    "SupportsArrowStream",
    "SupportsBuffer",
    "SupportsCudaArrayInterface",
    "SupportsDLPack",
    "SupportsPointer",
    "SupportsSyclUsmArrayInterface",
]


class SupportsBuffer(Protocol):
    """The Python buffer protocol, PEP 688.

    Implemented by bytes, bytearray, memoryview, array.array, mmap.mmap, ctypes arrays, numpy.ndarray, pyarrow.Buffer,
    jax.Array on the host, and lend.View and lend.Buffer. For type checkers only: before Python 3.12 no object shows the
    method, so an isinstance test is none; `memoryview(x)` is.
    """

    def __buffer__(self, flags: int, /) -> memoryview:
        """Open a buffer over the memory of this object."""


@runtime_checkable
class SupportsDLPack(Protocol):
    """DLPack's Python side, https://dmlc.github.io/dlpack/latest/python_spec.html.

    Implemented by numpy.ndarray, torch.Tensor, jax.Array, cupy.ndarray, tvm_ffi.Tensor, pyarrow.Array,
    mlx.core.array, paddle.Tensor, and lend.View and lend.Buffer.
    """

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """Make a capsule with a DLPack tensor; newer producers take max_version, dl_device and copy, too."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Tell (device type, device id)."""


@runtime_checkable
class SupportsArrayInterface(Protocol):
    """NumPy's array interface, https://numpy.org/doc/stable/reference/arrays.interface.html.

    Implemented by numpy.ndarray and NumPy's scalars, PIL.Image.Image, pygame.BufferProxy, and lend.View and
    lend.Buffer.
    """

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Tell address, shape, strides and type of the memory."""


@runtime_checkable
class SupportsArrayStruct(Protocol):
    """The C side of the array interface: a capsule with a PyArrayInterface.

    Implemented by numpy.ndarray and NumPy's scalars, pygame.BufferProxy, and lend.View and lend.Buffer.
    """

    @property
    def __array_struct__(self) -> Any:
        """Make a capsule that tells address, shape, strides and type of the memory."""


@runtime_checkable
class SupportsCudaArrayInterface(Protocol):
    """The CUDA array interface, https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html.

    Implemented by cupy.ndarray, numba's DeviceNDArray, torch.Tensor and jax.Array on CUDA, cudf.Series,
    rmm.DeviceBuffer, pyarrow.cuda.CudaBuffer, and lend.View and lend.Buffer of CUDA memory.
    """

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Tell address, shape, strides, type and stream of the memory."""


@runtime_checkable
class SupportsSyclUsmArrayInterface(Protocol):
    """SYCL's interface for unified shared memory, version 1.

    Implemented by dpctl.tensor.usm_ndarray, dpnp.ndarray, and lend.View and lend.Buffer of memory that came by it.
    """

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        """Tell address, shape, strides, type and SYCL context of the memory."""


@runtime_checkable
class SupportsArray(Protocol):
    """An object that can make itself a NumPy array; taken last, and only where it promises not to copy.

    Implemented by pandas.Series and pandas.Index, xarray.DataArray, polars.Series, torch.Tensor, jax.Array,
    pyarrow.Array, and lend.View.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Make a NumPy array of this object."""


@runtime_checkable
class SupportsPointer(Protocol):
    """An address and a size: the Buffer of dataframe-api issue 39 and of the dataframe interchange protocol.

    Implemented by the buffers of `__dataframe__`, rmm.DeviceBuffer, and lend.Buffer. The size is `nbytes`, `bufsize` or
    `size`.
    """

    @property
    def ptr(self) -> int:
        """Address of the first byte."""


@runtime_checkable
class SupportsArrowArray(Protocol):
    """Arrow's PyCapsule interface of one array.

    https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html

    Implemented by pyarrow.Array and pyarrow.RecordBatch, nanoarrow.Array, arro3.core.Array and arro3.core.RecordBatch,
    and lend.Column; by lend.Table where it is of one chunk.
    """

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Make two capsules: of the type and of the array."""


@runtime_checkable
class SupportsArrowStream(Protocol):
    """Arrow's PyCapsule interface of a stream of arrays; of structs it is a table.

    Implemented by pyarrow.Table, pyarrow.ChunkedArray and pyarrow.RecordBatchReader, polars.DataFrame and
    polars.Series, pandas.DataFrame, DuckDB's relations, arro3.core.Table, nanoarrow.ArrayStream, and lend.Column and
    lend.Table.
    """

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Make a capsule of a stream."""


IntoView: TypeAlias = (
    SupportsBuffer
    | SupportsDLPack
    | SupportsArrayStruct
    | SupportsArrayInterface
    | SupportsCudaArrayInterface
    | SupportsSyclUsmArrayInterface
    | SupportsArray
    | SupportsPointer
)
"""Whatever `lend.view` and `lend.buffer` take, a bare DLPack capsule aside, which has no type to name."""

IntoColumn: TypeAlias = SupportsArrowArray | SupportsArrowStream | IntoView
"""Whatever `lend.column` takes, bare capsules aside."""

IntoTable: TypeAlias = SupportsArrowStream | SupportsArrowArray | dict[str, Any] | IntoView
"""Whatever `lend.table` takes, bare capsules aside: the values of a dict are what `lend.column` takes."""

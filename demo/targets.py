"""To whom memory is lent, and how each library itself tells what it then holds: address, dtype, shape and values."""

import ctypes
import math

from addresses import of_buffer, of_image


class Target:
    """One column of the tables.

    Attributes
    ----------
    label : str
        How the tables call it.
    aim : object
        What `lend.to` is given: a name, a class or a callable.
    address : callable
        Of the first element of what was made; None where it cannot be told.
    values : callable
        The elements of what was made, as bytes in row-major order.
    facts : callable or None
        dtype and shape of what was made; None where it only holds bytes.
    foreign : tuple of Exception classes
        With what a callable refuses by itself.
    """

    def __init__(self, label, aim, address, values, facts=None, foreign=()):
        self.label = label
        self.aim = aim
        self.address = address
        self.values = values
        self.facts = facts
        self.foreign = foreign


def by_name(libs):
    """The targets that have a name."""
    if libs.numpy is not None:
        yield Target("numpy", "numpy", lambda x: x.ctypes.data, lambda x: x.tobytes(), _dtype_and_shape)
    if libs.torch is not None:
        yield Target("torch", "torch", lambda x: x.data_ptr(), _read_tensor, _dtype_and_shape)
    if libs.jax is not None:
        read = libs.jax.device_get
        yield Target("jax", "jax", lambda x: x.unsafe_buffer_pointer(), lambda x: read(x).tobytes(), _dtype_and_shape)
    if libs.pyarrow is not None:
        yield Target("pyarrow", "pyarrow", _arrow_address, _read_arrow, _arrow_facts)
    yield Target("memoryview", "memoryview", of_buffer, lambda x: x.tobytes(), _memoryview_facts)


def by_class(libs):
    """Targets that are a class of a library, or any callable."""
    if libs.pyarrow is not None:
        pa = libs.pyarrow
        yield Target("pyarrow.Tensor", pa.Tensor, _arrow_address, _read_arrow, _arrow_facts)
        yield Target("pyarrow.Buffer", pa.Buffer, lambda x: x.address, lambda x: x.to_pybytes())
    if libs.tvm_ffi is not None:
        yield Target("tvm_ffi.Tensor", libs.tvm_ffi.Tensor, lambda x: x.data_ptr(), _read_packed, _dtype_and_shape)
    if libs.PIL is not None:
        refuses = (TypeError, ValueError)
        make = libs.PIL.Image.fromarray
        yield Target("Image.fromarray", make, of_image, lambda x: x.tobytes(), _image_facts, refuses)


def _dtype_and_shape(x):
    return str(x.dtype).removeprefix("torch."), tuple(x.shape)


def _read_tensor(x):
    x = x.contiguous()
    return ctypes.string_at(x.data_ptr(), x.nbytes)


def _read_packed(x):
    """Read a tvm_ffi.Tensor without gaps, which is all that the demo makes."""
    if not x.is_contiguous():
        raise ValueError(f"strides {x.strides}")
    return ctypes.string_at(x.data_ptr(), math.prod(x.shape) * x.dtype.itemsize)


# -- pyarrow: an Array, or where there are several dimensions a Tensor --------------------------------------------

_ARROW_NAMES = {"halffloat": "float16", "float": "float32", "double": "float64"}


def _arrow_address(x):
    return x.buffers()[1].address if hasattr(x, "buffers") else of_buffer(x)


def _read_arrow(x):
    if not hasattr(x, "buffers"):
        return memoryview(x).tobytes()
    if str(x.type) == "bool":
        return bytes(x.to_pylist())
    return x.buffers()[1].to_pybytes()[: len(x) * x.type.bit_width // 8]


def _arrow_facts(x):
    shape = (len(x),) if hasattr(x, "buffers") else tuple(x.shape)
    name = str(x.type).replace("timestamp", "datetime64")
    return _ARROW_NAMES.get(name, name), shape


# -- Pillow: an image, which has a mode where others have a dtype --------------------------------------------------

_MODES = {"L": "uint8", "I": "int32", "F": "float32"}


def _image_facts(x):
    return _MODES.get(x.mode, x.mode), x.size[::-1]


# -- memoryview ---------------------------------------------------------------------------------------------------


def _memoryview_facts(x):
    if x.format == "?":
        return "bool", x.shape
    kind = "float" if x.format in "efd" else "int" if x.format.islower() else "uint"
    return f"{kind}{8 * x.itemsize}", x.shape

"""What is lent: one object of each kind, with its values and its address as its own library tells them."""

import array
import ctypes
import mmap
import tempfile

from addresses import of_buffer, of_image

import lend

MEGABYTE = 1_000_000


class Source:
    """An object to be lent, and what is known of it without lend.

    Attributes
    ----------
    label : str
        How the tables call it.
    obj : object
    dtype : str
    shape : tuple of int
    values : bytes
        Of its elements in row-major order.
    address : int or None
        Of its first element; None if its library does not tell.
    """

    def __init__(self, kind, obj, dtype, shape, values, address, note=""):
        self.label = f"{kind} {dtype}[{','.join(map(str, shape))}]{note}"
        self.obj = obj
        self.dtype = dtype
        self.shape = tuple(shape)
        self.values = values
        self.address = address


def sources(libs):
    """One row of the tables after the other."""
    if libs.numpy is not None:
        yield from _numpy(libs.numpy)
    if libs.torch is not None:
        tensor = libs.torch.arange(250_000, dtype=libs.torch.float32).reshape(500, 500)
        yield _tensor("torch", tensor)
    if libs.jax is not None:
        x = libs.jax.numpy.arange(250_000, dtype="float32")
        values = libs.jax.device_get(x).tobytes()
        yield Source("jax", x, x.dtype.name, x.shape, values, x.unsafe_buffer_pointer())
    if libs.pyarrow is not None:
        x = libs.pyarrow.array(range(125_000), libs.pyarrow.float64())
        data = x.buffers()[1]
        yield Source("pyarrow", x, "float64", (len(x),), data.to_pybytes()[: 8 * len(x)], data.address)
    if libs.tvm_ffi is not None and libs.torch is not None:
        tensor = libs.torch.arange(250_000, dtype=libs.torch.int32)
        yield _tensor("tvm_ffi", tensor, libs.tvm_ffi.from_dlpack(tensor))
    yield from _files()
    if libs.PIL is not None:
        image = libs.PIL.Image.frombytes("L", (1000, 1000), _pattern(MEGABYTE))
        yield Source("Pillow", image, "uint8", (1000, 1000), image.tobytes(), of_image(image))
    yield from _builtin()


def _pattern(nbytes):
    """Bytes of which no two neighbours, and no two rows, are alike."""
    return (bytes(range(251)) * (nbytes // 251 + 1))[:nbytes]


def _numpy(numpy):
    matrix = numpy.arange(250_000, dtype="float32").reshape(500, 500)
    for made, note in (
        (matrix, ""),
        (matrix.reshape(-1)[::-1], "[::-1]"),
        (numpy.arange(MEGABYTE) % 3 == 0, ""),
        (numpy.arange(125_000).astype("datetime64[s]"), ""),
        (numpy.arange(4, dtype="int32"), ""),
    ):
        yield Source("numpy", made, made.dtype.name, made.shape, made.tobytes(), made.ctypes.data, note)


def _tensor(library, tensor, obj=None):
    """A row for a torch tensor, or for the object of another library over the same memory."""
    values = ctypes.string_at(tensor.data_ptr(), tensor.nbytes)
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Source(library, tensor if obj is None else obj, dtype, tensor.shape, values, tensor.data_ptr())


def _files():
    """The same file mapped twice: for reading, and for writing."""
    with tempfile.TemporaryFile() as file:
        file.write(_pattern(MEGABYTE))
        file.flush()
        for access, kind in ((mmap.ACCESS_READ, "mmap (r)"), (mmap.ACCESS_WRITE, "mmap (rw)")):
            mapped = mmap.mmap(file.fileno(), MEGABYTE, access=access)
            yield Source(kind, mapped, "uint8", (MEGABYTE,), _pattern(MEGABYTE), of_buffer(mapped))


def _builtin():
    for obj in (_pattern(MEGABYTE), bytearray(_pattern(MEGABYTE)), bytearray(b"a tiny bytearray")):
        yield Source(type(obj).__name__, obj, "uint8", (len(obj),), bytes(obj), of_buffer(obj))
    numbers = array.array("i", range(250_000))
    told = "int32", (len(numbers),), numbers.tobytes(), numbers.buffer_info()[0]
    yield Source("array", numbers, *told)
    yield Source("lend.View", lend.view(numbers), *told)

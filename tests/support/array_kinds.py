"""Arrays of every kind that the libraries have, by name: dtypes, layouts, one protocol alone, and what is no array."""

import array
import ctypes
import struct

import pytest

from . import device_producers as devices
from . import masked, producers
from .counting import CountingBuffer, CountingDLPack, CountingExchange
from .sources import SOURCES

FLOATS = struct.pack("<6f", 0, 1, 2, 3, 4, 5)


def numpy_arrays():
    np = pytest.importorskip("numpy")
    base = np.arange(24)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    window = np.lib.stride_tricks.as_strided
    yield "no dimensions", np.array(7.0)
    yield "C order", base.reshape(2, 3, 4)
    yield "Fortran order", np.asfortranarray(base.reshape(4, 6))
    yield "transposed", base.reshape(2, 3, 4).transpose(2, 0, 1)
    yield "every second", base[::2]
    yield "backwards", base[::-1]
    yield "backwards both ways", base.reshape(4, 6)[::-1, ::-2]
    yield "a column", base.reshape(4, 6)[:, 1]
    yield "a field of records", np.zeros(3, [("a", "i1"), ("b", "<f8")])["b"]
    yield "broadcast", np.broadcast_to(np.arange(3.0), (2, 3))
    yield "overlapping windows", window(np.arange(6.0), (4, 3), (8, 8))
    yield "one row with an odd stride", np.ndarray((1, 3), "f8", bytearray(24), strides=(4, 8))
    yield "empty", np.zeros((1, 8, 0, 128))
    yield "empty with gaps", base.reshape(4, 6)[:0, ::2]
    yield "nothing at all", np.zeros(0)
    yield "read-only", frozen
    yield "unaligned", np.ndarray((3,), "f8", bytearray(25), offset=1)
    yield "over bytes", np.frombuffer(b"12345678", "i4")
    yield "64 dimensions", np.zeros((1,) * 64)
    for name in ("?", *"bhilqBHILQefdFD", "S3", "U2", "V5", "M8[s]", "M8[25us]", "m8[ns]", "M8[Y]", "S0", "U0"):
        yield f"dtype {name}", np.zeros(3, name)
        yield f"dtype {name}, swapped", np.zeros(3, np.dtype(name).newbyteorder())
    for name in ("M8", "m8", "O", "g", "G"):
        yield f"dtype {name}", np.zeros(3, name)
    yield "records", np.zeros(3, [("a", "f4"), ("b", "i2")])
    yield "records of one field", np.zeros(3, [("a", "f8")])
    yield "masked", np.ma.array([1, 2], mask=[0, 1])
    yield "masked, of nothing", np.ma.array([1, 2])
    for scalar in (np.float64(1), np.float16(1), np.complex64(2), np.bool_(True), np.str_("ab"), np.bytes_(b"ab"),
                   np.void(b"abc"), np.longdouble(1), np.datetime64("2020"), np.timedelta64(1, "s"),
                   np.array([(1, 2)], "i4,i4")[0]):  # fmt: skip
        yield f"scalar {type(scalar).__name__} {scalar.dtype.char}", scalar


def small_floats():
    np, ml_dtypes = pytest.importorskip("numpy"), pytest.importorskip("ml_dtypes")
    for name in sorted(vars(ml_dtypes)):
        if name.startswith(("bfloat", "float", "int", "uint")) and name[-1] != "_":
            dtype = np.dtype(getattr(ml_dtypes, name))
            yield name, np.zeros(3, dtype)
            yield f"{name} with gaps", np.zeros(6, dtype)[::-2]
    yield "bfloat16, swapped", np.zeros(3, np.dtype(ml_dtypes.bfloat16).newbyteorder())


def tensors():
    torch = pytest.importorskip("torch")
    names = [name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)]
    for name in names:
        if "int8" not in name or name in ("int8", "uint8"):  # quantized ones need a scale
            try:
                yield f"dtype {name}", torch.arange(16, dtype=torch.uint8).view(getattr(torch, name))
            except RuntimeError:
                yield f"dtype {name}", torch.zeros(2, dtype=getattr(torch, name))
    square = torch.arange(12.0).reshape(3, 4)

    class Subclass(torch.Tensor):
        pass

    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, *args, **keywords):
            raise NotImplementedError

    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(4)
    yield "transposed", square.T
    yield "a part", square[::2, 1:]
    yield "expanded", torch.ones(3, 1).expand(2, 3, 4)
    yield "empty", torch.zeros(0, 3)
    yield "no dimensions", torch.tensor(1.0)
    yield "that requires a gradient", torch.ones(2, requires_grad=True)
    yield "conjugate", torch.tensor([1 + 2j]).conj()
    yield "negative", torch.tensor([1 + 2j]).conj().imag
    yield "a parameter", torch.nn.Parameter(torch.ones(2))
    yield "a parameter without a gradient", torch.nn.Parameter(torch.ones(2), requires_grad=False)
    yield "sparse", torch.eye(2).to_sparse()
    yield "meta", torch.empty(2, device="meta")
    yield "fake", fake
    yield "a wrapper", torch.Tensor._make_wrapper_subclass(Wrapper, (4,), dtype=torch.float32)
    yield "a subclass", torch.ones(3).as_subclass(Subclass)


def jax_arrays():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    for name in ("float32", "int32", "uint8", "bool", "complex64", "bfloat16", "float16", "int4", "float8_e4m3fn"):
        yield f"dtype {name}", jnp.zeros(3, name)
    yield "two dimensions", jnp.arange(6.0).reshape(2, 3)
    yield "transposed", jnp.arange(6.0).reshape(2, 3).T
    yield "empty", jnp.zeros((0, 3))
    yield "a key", jax.random.key(0)


def arrow_arrays():
    pa = pytest.importorskip("pyarrow")
    yield "integers", pa.array([1, 2])
    yield "a slice", pa.array([1, 2, 3])[1:]
    yield "floats", pa.array([1.5])
    yield "with nulls", pa.array([1, None])
    yield "bits", pa.array([True])
    yield "text", pa.array(["a"])
    yield "times", pa.array([1], pa.timestamp("s"))
    yield "chunks", pa.chunked_array([[1, 2]])
    yield "a buffer", pa.py_buffer(b"abc")
    yield "a writable buffer", pa.py_buffer(bytearray(b"abc"))
    yield "a scalar", pa.scalar(1)
    yield "a tensor", pa.Tensor.from_numpy(pytest.importorskip("numpy").zeros((2, 3)))


def plain():
    class Padded(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int8), ("b", ctypes.c_int32)]

    class Either(ctypes.Union):
        _fields_ = [("a", ctypes.c_int8), ("b", ctypes.c_int32)]

    for code in "bBhHiIlLqQfd":
        yield f"array.array {code}", array.array(code, [1, 2])
    yield "memoryview", memoryview(b"abcdef")[::-2]
    yield "memoryview of shape", memoryview(bytes(24)).cast("d").cast("B").cast("i", (2, 3))
    yield "a structure", (Padded * 2)()
    yield "a union", Either()
    yield "ctypes matrix", ((ctypes.c_int * 3) * 2)()
    yield "ctypes big-endian", (ctypes.c_int.__ctype_be__ * 2)()
    yield "ctypes wchar", (ctypes.c_wchar * 3)()
    yield "ctypes char", ctypes.c_char(b"a")
    yield "ctypes bool", ctypes.c_bool(True)
    yield "ctypes pointer", ctypes.c_void_p(3)
    yield "ctypes long double", ctypes.c_longdouble(1)
    yield "ctypes objects", (ctypes.py_object * 2)()
    for value in (3, "text", [1], None, object(), 1.5, {}, len):
        yield f"{value!r:.12}", value


def with_fields(obj, **fields):
    vars(obj).update(fields)
    return obj


def one_protocol():
    np = pytest.importorskip("numpy")
    yield "the interface of NumPy", producers.Only(np.arange(3.0), "__array_interface__")
    yield "the struct of NumPy", producers.Only(np.arange(3.0), "__array_struct__")
    yield "DLPack of NumPy", producers.only_dlpack(np.arange(3.0))
    yield "DLPack on the object", producers.Only(np.arange(3.0), "__dlpack__", "__dlpack_device__")
    yield "an interface", producers.ArrayInterface(FLOATS, (2, 3), "<f4", readonly=True)
    yield "a struct", producers.ArrayStruct(FLOATS, (6,), itemsize=4)
    yield "a method", producers.ArrayMethod(np.arange(3.0))
    for size in ("size", "bufsize", "nbytes"):
        yield f"a pointer and {size}", producers.Span(FLOATS, size=size)
    yield "a negative size", with_fields(producers.Span(FLOATS), size=-1)
    yield "a pointer 0", with_fields(producers.Span(FLOATS), ptr=0)
    for kind in (producers.StreamOnly, producers.NoKeywords, producers.CopyIgnored, producers.Raises,
                 producers.DeviceRaises, CountingDLPack, CountingExchange):  # fmt: skip
        yield kind.__name__, kind(FLOATS, (6,))
    yield "legacy only", CountingDLPack(FLOATS, (6,), protocol="legacy")
    yield "no strides", CountingDLPack(FLOATS, (2, 3), strides=None)
    yield "an offset", CountingDLPack(FLOATS, (4,), byte_offset=8)
    yield "an unaligned offset", CountingDLPack(FLOATS, (4,), byte_offset=3)
    yield "read-only", CountingDLPack(FLOATS, (6,), flags=1)
    yield "a bool of one bit", CountingDLPack(FLOATS, (6,), dtype=(6, 1, 1))
    yield "two lanes", CountingDLPack(FLOATS, (3,), dtype=(2, 32, 2))
    yield "None", producers.Gives(None)
    yield "a property that raises", producers.PropertyRaises(RuntimeError("no"), "__array_interface__")
    yield "every attribute", producers.AnswersEverything()
    yield "a buffer", CountingBuffer(FLOATS, format="f", itemsize=4)
    yield "a buffer without a format", CountingBuffer(FLOATS, format=None, itemsize=4)
    for name, kind in devices.LIKE.items():
        yield name, kind()
        yield f"{name} announcing cuda:1", devices.announcing(kind, (2, 1))()
        for announced in ((3, 0), (10, 1), (11, 0), (13, 0)):
            yield f"{name} announcing {announced}", devices.announcing(kind, announced)()
    yield "SYCL", devices.SyclInterface()
    for device in (1, 2, 3, 7, 8, 10, 11, 12, 13, 14, 15):
        yield f"device {device}", CountingDLPack(FLOATS, (6,), device=(device, 3))


def libraries():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    yield "polars", pl.Series([1, 2])
    yield "pandas", pd.Series([1, 2])
    yield "pandas index", pd.Index([1.5])
    yield "pandas times", pd.Series(pd.to_datetime(["2020-01-01"]))
    yield "tvm", pytest.importorskip("tvm_ffi").from_dlpack(pytest.importorskip("numpy").arange(3.0))


def masked_ones():
    for name, make in (masked.BY_ATTRIBUTE | masked.BY_INTERFACE).items():
        yield name, make()
        yield f"{name}, of nothing", make(None)
        if name in masked.BY_ATTRIBUTE:
            yield f"{name}, False", make(False)


def sources():
    for name, make in SOURCES.items():
        try:
            yield name, make()
        except pytest.skip.Exception:  # of a library that is not here
            continue


KINDS = {
    "sources": sources,
    "numpy": numpy_arrays,
    "ml_dtypes": small_floats,
    "torch": tensors,
    "jax": jax_arrays,
    "pyarrow": arrow_arrays,
    "plain": plain,
    "one protocol": one_protocol,
    "libraries": libraries,
    "masks": masked_ones,
}

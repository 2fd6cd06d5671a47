"""Arrays in: each source becomes one object that owns a lease on its memory."""

from harness.case import Row, Table, Target, floor, ours, peer

NDARRAY = "import numpy as np\na = np.zeros(1000, 'f4')"
CUBE = "import numpy as np\na = np.zeros((8, 16, 32), 'f4')"
TORCH = "import torch\nt = torch.{}"
AT = "a.ctypes.data"


def buffer_source(name, setup):
    """A row for an object that has the buffer protocol and nothing else."""
    return Row(
        name,
        (
            floor("reach", "imp(b)", "imp = F.imp"),
            ours("view", "view(b)"),
            ours("buffer", "buffer(b)"),
            peer("memoryview", "memoryview(b)"),
            peer("np.frombuffer", "take(b)", "take = np.frombuffer"),
        ),
        (Target("view", "reach", 1.5), Target("view", "memoryview", 0.95), Target("buffer", "memoryview", 0.95)),
        setup=setup,
        address="np.frombuffer(b, 'u1').ctypes.data",
    )


def torch_source(name, make, against_floor, against_tvm, headline):
    """A row for a tensor of one dtype; the floor and tvm_ffi guard nothing."""
    return Row(
        name,
        (
            floor("exchange table, no guards", "own(t)", "own = F.dlx_own"),
            floor("reach", "imp(t)", "imp = F.imp"),
            ours("view", "view(t)"),
            peer("tvm_ffi.from_dlpack", "take(t)", "import tvm_ffi\ntake = tvm_ffi.from_dlpack"),
            peer("t.numpy()", "t.numpy()", "import numpy", "r.ctypes.data"),
            peer("np.from_dlpack", "take(t)", "import numpy\ntake = numpy.from_dlpack", "r.ctypes.data"),
            peer("torch.from_dlpack", "take(t)", "take = torch.from_dlpack"),
            peer("nanobind ndarray argument", "take(t)", "from nanobind_peer import take"),
        ),
        (
            Target("view", "exchange table, no guards", against_floor),
            Target("view", "tvm_ffi.from_dlpack", against_tvm, headline),
        ),
        setup=TORCH.format(make),
        address="t.data_ptr()",
    )


STORED = """
class Stored:
    __slots__ = ("__array_interface__", "kept")
o = Stored()
o.kept = a
o.__array_interface__ = a.__array_interface__
"""

BUILT = """
import operator
class Built:
    __array_struct__ = property(operator.attrgetter("kept.__array_struct__"))
o = Built()
o.kept = a
"""

ROWS = (
    Row(
        "exact ndarray",
        (
            floor("Py_buffer", "own(a)", "own = F.buf_own"),
            floor("reach, by NumPy's C API", "imp(a)", "imp = F.imp"),
            ours("view", "view(a)"),
            ours("buffer", "buffer(a)"),
            peer("memoryview", "memoryview(a)"),
            peer("nanobind ndarray argument", "take(a)", "from nanobind_peer import take"),
            peer("pyarrow.py_buffer", "take(a)", "import pyarrow\ntake = pyarrow.py_buffer", "r.address"),
            peer("np.from_dlpack", "take(a)", "take = np.from_dlpack", "r.ctypes.data"),
            peer("tvm_ffi.from_dlpack", "take(a)", "import tvm_ffi\ntake = tvm_ffi.from_dlpack"),
            peer(
                "cuda.core StridedMemoryView",
                "take(a, -1)",
                "from cuda.core.utils import StridedMemoryView\ntake = StridedMemoryView.from_dlpack",
                "r.ptr",
            ),
            peer("torch.from_numpy", "take(a)", "import torch\ntake = torch.from_numpy", "r.data_ptr()"),
            peer("torch.from_dlpack", "take(a)", "import torch\ntake = torch.from_dlpack", "r.data_ptr()"),
            peer("pyarrow.array", "take(a)", "import pyarrow\ntake = pyarrow.array"),
        ),
        (
            Target("view", "memoryview", 0.8, headline=True),
            Target("view", "Py_buffer", 1.6),
            Target("view", "nanobind ndarray argument", 0.87),
            Target("buffer", "memoryview", 0.8),
        ),
        setup=NDARRAY,
        address=AT,
    ),
    Row(
        "ndarray, 3-D",
        (
            floor("Py_buffer", "own(a)", "own = F.buf_own"),
            ours("view", "view(a)"),
            peer("memoryview", "memoryview(a)"),
            peer("np.from_dlpack", "take(a)", "take = np.from_dlpack", "r.ctypes.data"),
        ),
        (Target("view", "memoryview", 0.8), Target("view", "Py_buffer", 1.6)),
        setup=CUBE,
        address=AT,
    ),
    buffer_source("bytes", "import numpy as np\nb = bytes(4000)"),
    buffer_source("bytearray", "import numpy as np\nb = bytearray(4000)"),
    buffer_source("memoryview", "import numpy as np\nb = memoryview(bytearray(4000))"),
    Row(
        "pyarrow.Buffer",
        (
            floor("Py_buffer", "own(b)", "own = F.buf_own"),
            ours("view", "view(b)"),
            ours("buffer", "buffer(b)"),
            peer("memoryview", "memoryview(b)"),
        ),
        (Target("view", "memoryview", 0.95), Target("buffer", "memoryview", 0.95)),
        setup="import pyarrow\nb = pyarrow.py_buffer(bytes(4000))",
        address="b.address",
    ),
    Row(
        "ndarray by DLPack",
        (
            floor("versioned", "own(a)", "own = F.dlv_own"),
            floor("legacy", "own(a)", "own = F.dl_own"),
            ours("view of its capsule", "view(a.__dlpack__(max_version=(1, 1)))"),
            peer("np.from_dlpack", "take(a)", "take = np.from_dlpack", "r.ctypes.data"),
            peer("tvm_ffi.from_dlpack", "take(a)", "import tvm_ffi\ntake = tvm_ffi.from_dlpack"),
            peer(
                "pyarrow.Array.from_dlpack",
                "take(a)",
                "import pyarrow\ntake = pyarrow.Array.from_dlpack",
                "r.buffers()[1].address",
            ),
        ),
        (Target("view of its capsule", "versioned", 1.7), Target("view of its capsule", "np.from_dlpack", 0.9)),
        setup=NDARRAY,
        address=AT,
    ),
    Row(
        "any C producer of DLPack",
        (
            floor("versioned", "own(p)", "own = F.dlv_own"),
            floor("legacy", "own(p)", "own = F.dl_own"),
            floor("reach", "imp(p)", "imp = F.imp"),
            ours("view", "view(p)"),
            peer("np.from_dlpack", "take(p)", "take = np.from_dlpack", "r.ctypes.data"),
            peer("tvm_ffi.from_dlpack", "take(p)", "import tvm_ffi\ntake = tvm_ffi.from_dlpack"),
            peer("torch.from_dlpack", "take(p)", "import torch\ntake = torch.from_dlpack", "r.data_ptr()"),
            peer("jax.dlpack.from_dlpack", "take(p)", "import jax.dlpack\ntake = jax.dlpack.from_dlpack"),
        ),
        (Target("view", "versioned", 1.7), Target("view", "np.from_dlpack", 0.75)),
        setup=NDARRAY + "\nimport peersfloor\np = peersfloor.dlpack_only(a)",
        address=AT,
    ),
    Row(
        "tvm_ffi.Tensor",
        (
            floor("versioned", "own(t)", "own = F.dlv_own"),
            floor("exchange table", "own(t)", "own = F.dlx_own"),
            floor("reach", "imp(t)", "imp = F.imp"),
            ours("view", "view(t)"),
            peer("np.from_dlpack", "take(t)", "take = np.from_dlpack", "r.ctypes.data"),
            peer("tvm_ffi.from_dlpack", "take(t)", "take = tvm_ffi.from_dlpack"),
        ),
        (Target("view", "versioned", 1.7), Target("view", "np.from_dlpack", 0.9)),
        setup=NDARRAY + "\nimport tvm_ffi\nt = tvm_ffi.from_dlpack(a)",
        address=AT,
    ),
    torch_source("torch tensor, integer, all guards", "arange(1000)", 2.0, 0.65, headline=True),
    torch_source("torch tensor, bool, all guards", "zeros(1000, dtype=torch.bool)", 2.0, 0.65, headline=True),
    torch_source("torch tensor, uint8, all guards", "zeros(1000, dtype=torch.uint8)", 2.0, 0.65, headline=True),
    torch_source("torch tensor, floating, all guards", "zeros(1000)", 3.5, 1.1, headline=True),
    torch_source("torch tensor, complex, all guards", "zeros(1000, dtype=torch.complex64)", 3.5, 1.1, headline=False),
    Row(
        "cuda.core StridedMemoryView",
        (
            floor("exchange table", "own(s)", "own = F.dlx_own"),
            ours("view", "view(s)"),
            peer("tvm_ffi.from_dlpack", "take(s)", "import tvm_ffi\ntake = tvm_ffi.from_dlpack"),
            peer("np.from_dlpack", "take(s)", "take = np.from_dlpack", "r.ctypes.data"),
        ),
        (Target("view", "exchange table", 1.3), Target("view", "tvm_ffi.from_dlpack", 0.85)),
        setup=NDARRAY
        + "\nfrom cuda.core.utils import StridedMemoryView\ns = StridedMemoryView.from_any_interface(a, stream_ptr=-1)",
        address=AT,
    ),
    Row(
        "pyarrow.Array by DLPack",
        (
            floor("reach", "imp(p)", "imp = F.imp"),
            ours("view", "view(p)"),
            peer("np.from_dlpack", "take(p)", "take = np.from_dlpack", "r.ctypes.data"),
            peer("torch.from_dlpack", "take(p)", "import torch\ntake = torch.from_dlpack", "r.data_ptr()"),
        ),
        (Target("view", "reach", 1.3), Target("view", "np.from_dlpack", 0.85)),
        setup="import numpy as np\nimport pyarrow\np = pyarrow.array(np.arange(1000))",
        address="p.buffers()[1].address",
    ),
    Row(
        "jax CPU array, by buffer",
        (
            floor("Py_buffer", "own(j)", "own = F.buf_own"),
            ours("view", "view(j)"),
            peer("memoryview", "memoryview(j)", "", "np.asarray(r).ctypes.data"),
            peer("np.asarray", "take(j)", "take = np.asarray", "r.ctypes.data"),
            peer("np.from_dlpack", "take(j)", "take = np.from_dlpack", "r.ctypes.data"),
            peer("tvm_ffi.from_dlpack", "take(j)", "import tvm_ffi\ntake = tvm_ffi.from_dlpack"),
            peer("jax.dlpack.from_dlpack", "take(j)", "import jax.dlpack\ntake = jax.dlpack.from_dlpack"),
        ),
        (Target("view", "memoryview", 1.0),),
        setup="import numpy as np\nimport jax.numpy\nj = jax.numpy.zeros(1000, 'f4')",
        address="j.unsafe_buffer_pointer()",
    ),
    Row(
        "jax bfloat16, by DLPack",
        (
            floor("versioned", "own(j)", "own = F.dlv_own"),
            ours("view", "view(j)"),
            peer("nanobind ndarray argument", "take(j)", "from nanobind_peer import take"),
            peer("np.from_dlpack of its float32 twin", "take(k)", "take = np.from_dlpack"),
            peer("tvm_ffi.from_dlpack", "take(j)", "import tvm_ffi\ntake = tvm_ffi.from_dlpack"),
        ),
        (Target("view", "versioned", 1.05), Target("view", "np.from_dlpack of its float32 twin", 0.95)),
        setup="import numpy as np\nimport jax.numpy\nj, k = (jax.numpy.zeros(1000, d) for d in ('bfloat16', 'f4'))",
        address="j.unsafe_buffer_pointer()",
    ),
    Row(
        "__array_struct__, built when asked",
        (
            floor("struct", "own(o)", "own = F.as_own"),
            ours("view", "view(o)"),
            peer("np.asarray", "take(o)", "take = np.asarray", "r.ctypes.data"),
        ),
        (Target("view", "struct", 1.6), Target("view", "np.asarray", 0.35)),
        setup=NDARRAY + BUILT,
        address=AT,
    ),
    Row(
        "stored __array_interface__",
        (
            floor("dict", "own(o)", "own = F.ai_own"),
            ours("view", "view(o)"),
            peer("np.asarray", "take(o)", "take = np.asarray", "r.ctypes.data"),
            peer("building NumPy's own dict", "a.__array_interface__"),
        ),
        (Target("view", "dict", 2.0), Target("view", "np.asarray", 0.4)),
        setup=NDARRAY + STORED,
        address=AT,
    ),
    Row(
        "view of our own view",
        (
            ours("view", "view(v)", "v = view(a)"),
            peer("a[:]", "a[:]"),
        ),
        (Target("view", "a[:]", 2.0),),
        setup=NDARRAY,
        address=AT,
    ),
)

TABLE = Table("in", "Arrays in", ROWS)

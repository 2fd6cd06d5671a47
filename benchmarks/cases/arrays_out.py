"""Out of our View: each protocol it gives, and whole ways from one library to another."""

import dataclasses

from harness.case import Row, Table, Target, floor, ours, peer

NDARRAY = "import numpy as np\na = np.zeros(1000, 'f4')"
AT = "a.ctypes.data"
V = "v = view(a)"
OBJECT = "o = F.buf_own(a)"  # the floor's object, over the same array
TVM = "import tvm_ffi\nt = tvm_ffi.from_dlpack(a)"
TORCH = "import torch\nt = torch.zeros(1000)"
JAX = "import jax.numpy\nj = jax.numpy.zeros(1000, 'f4')"
CUDA = "from cuda.core.utils import StridedMemoryView\ns = StridedMemoryView.from_any_interface(a, stream_ptr=-1)"
HAND = "import torch\nhand = torch._C._from_dlpack"


def by_hand(name, statement, setup="", pointer=""):
    """What a user who knows both libraries would write instead of `lend.to`."""
    return dataclasses.replace(out(name, statement, setup, pointer), role="peer")


def out(name, statement, setup="", pointer=""):
    return ours(name, statement, f"from lend import view\n{V}\n{setup}", pointer)


ROWS = (
    Row(
        "__dlpack_device__()",
        (
            floor("C", "o.__dlpack_device__()", OBJECT),
            out("view", "v.__dlpack_device__()"),
            peer("tvm_ffi", "t.__dlpack_device__()", TVM),
            peer("numpy", "a.__dlpack_device__()"),
            peer("jax", "j.__dlpack_device__()", JAX),
            peer("torch", "t.__dlpack_device__()", TORCH),
        ),
        (Target("view", "C", 2.5), Target("view", "tvm_ffi", 0.85)),
        setup=NDARRAY,
    ),
    Row(
        "__dlpack__(), legacy",
        (
            floor("C", "o.__dlpack__()", OBJECT),
            out("view", "v.__dlpack__()"),
            peer("numpy", "a.__dlpack__()"),
            peer("tvm_ffi", "t.__dlpack__()", TVM),
            peer("cuda.core", "s.__dlpack__()", CUDA),
        ),
        (Target("view", "C", 1.4), Target("view", "numpy", 1.0)),
        setup=NDARRAY,
    ),
    Row(
        "__dlpack__(max_version=(1, 1))",
        (
            floor("C", "o.__dlpack__(max_version=(1, 1))", OBJECT),
            out("view", "v.__dlpack__(max_version=(1, 1))"),
            peer("tvm_ffi", "t.__dlpack__(max_version=(1, 1))", TVM),
            peer("numpy", "a.__dlpack__(max_version=(1, 1))"),
            peer("cuda.core", "s.__dlpack__(max_version=(1, 1))", CUDA),
            peer("pyarrow, which takes no max_version", "p.__dlpack__()", "import pyarrow\np = pyarrow.array(a)"),
            peer("torch", "t.__dlpack__(max_version=(1, 1))", TORCH),
            peer("jax", "j.__dlpack__(max_version=(1, 1))", JAX),
        ),
        (
            Target("view", "tvm_ffi", 1.0, headline=True),
            Target("view", "numpy", 1.3, headline=True),
            Target("view", "C", 1.4),
        ),
        setup=NDARRAY,
    ),
    Row(
        "memoryview(v)",
        (
            floor("C", "memoryview(o)", OBJECT),
            out("view", "memoryview(v)", "", "np.asarray(r).ctypes.data"),
            peer("numpy", "memoryview(a)"),
            peer("arro3 Buffer", "memoryview(b)", "import arro3.core\nb = arro3.core.Buffer(a.tobytes())"),
            peer("pyarrow.Buffer", "memoryview(b)", "import pyarrow\nb = pyarrow.py_buffer(a)"),
            peer("jax", "memoryview(j)", JAX),
        ),
        (Target("view", "C", 1.1), Target("view", "numpy", 0.85)),
        setup=NDARRAY,
        address=AT,
    ),
    Row(
        "__array_interface__",
        (
            out("view", "v.__array_interface__", "", "r['data'][0]"),
            peer("numpy", "a.__array_interface__"),
        ),
        (Target("view", "numpy", 0.35),),
        setup=NDARRAY,
        address=AT,
    ),
    Row(
        "__array_struct__",
        (
            out("view", "v.__array_struct__"),
            peer("numpy", "a.__array_struct__"),
        ),
        (Target("view", "numpy", 1.0),),
        setup=NDARRAY,
    ),
    Row(
        "np.from_dlpack(v)",
        (
            floor("of a C producer", "take(o)", OBJECT),
            out("of a view", "take(v)", "", "r.ctypes.data"),
            peer("of an ndarray", "take(a)"),
        ),
        (Target("of a view", "of a C producer", 1.1), Target("of a view", "of an ndarray", 1.0)),
        setup=NDARRAY + "\ntake = np.from_dlpack",
        address=AT,
    ),
    Row(
        "np.asarray(v), by buffer",
        (
            floor("of a C producer", "take(o)", OBJECT),
            out("of a view", "take(v)", "", "r.ctypes.data"),
            peer("of a memoryview", "take(m)", "m = memoryview(a)"),
        ),
        (Target("of a view", "of a C producer", 1.1),),
        setup=NDARRAY + "\ntake = np.asarray",
        address=AT,
    ),
    Row(
        "view to torch.Tensor",
        (
            floor("a C producer, by torch._C._from_dlpack", "hand(o.__dlpack__())", OBJECT, "r.data_ptr()"),
            out("by torch._C._from_dlpack", "hand(v.__dlpack__())", "", "r.data_ptr()"),
            out("the same, versioned", "hand(v.__dlpack__(max_version=(1, 1)))", "", "r.data_ptr()"),
            peer("torch.from_numpy(a)", "take(a)", "take = torch.from_numpy", "r.data_ptr()"),
            peer("torch.from_dlpack(a)", "take(a)", "take = torch.from_dlpack", "r.data_ptr()"),
        ),
        (
            Target("by torch._C._from_dlpack", "a C producer, by torch._C._from_dlpack", 1.3),
            Target("by torch._C._from_dlpack", "torch.from_numpy(a)", 1.0),
        ),
        setup=f"{NDARRAY}\n{HAND}",
        address=AT,
    ),
    Row(
        "ndarray to view to torch.Tensor",
        (
            ours("view, then torch._C._from_dlpack", "hand(view(a).__dlpack__())", "", "r.data_ptr()"),
            peer("torch.from_dlpack(a)", "take(a)", "take = torch.from_dlpack", "r.data_ptr()"),
        ),
        (Target("view, then torch._C._from_dlpack", "torch.from_dlpack(a)", 0.5),),
        setup=f"{NDARRAY}\n{HAND}",
        address=AT,
    ),
    Row(
        'lend.to(v, "numpy")',
        (
            out("to", 'to(v, "numpy")', "from lend import to", "r.ctypes.data"),
            by_hand("by hand: np.asarray(v)", "hand(v)", "hand = np.asarray", "r.ctypes.data"),
        ),
        (Target("to", "by hand: np.asarray(v)", 2.0, headline=True),),
        setup=NDARRAY,
        address=AT,
    ),
    Row(
        'lend.to(v, "torch")',
        (
            out("to", 'to(v, "torch")', "import torch\nfrom lend import to", "r.data_ptr()"),
            by_hand("by hand: torch._C._from_dlpack", "hand(v.__dlpack__())", HAND, "r.data_ptr()"),
        ),
        (Target("to", "by hand: torch._C._from_dlpack", 2.0, headline=True),),
        setup=NDARRAY,
        address=AT,
    ),
)

TABLE = Table("out", "Out of our View", ROWS)

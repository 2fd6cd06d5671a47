"""The minimal implementation (lend/minimal.py) beside the maximal one and its peers: docs/minimal-and-maximal.md."""

from harness.case import Row, Table, Target, ours, peer

MINIMAL = "from lend import minimal\ntake = minimal.{}"


def source(name, setup, address, *peers, most=None):
    """A row for one kind of array; `most` is how many times the maximal one minimal may take."""
    return Row(
        name,
        (
            ours("view", "view(x)"),
            ours("buffer", "buffer(x)"),
            ours("minimal.array", "take(x)", MINIMAL.format("array")),
            ours("minimal.buffer", "take(x)", MINIMAL.format("buffer")),
            *peers,
        ),
        (Target("minimal.array", "view", most),) if most else (),
        setup=setup,
        address=address,
    )


ROWS = (
    source(
        "ndarray",
        "import numpy as np\nx = np.zeros(1000, 'f4')",
        "x.ctypes.data",
        peer("memoryview", "memoryview(x)"),
    ),
    source(
        "bytearray",
        "import numpy as np\nx = bytearray(4000)",
        "np.frombuffer(x, 'u1').ctypes.data",
        peer("memoryview", "memoryview(x)"),
    ),
    source(
        "torch tensor, float32",
        "import torch\nx = torch.zeros(1000)",
        "x.data_ptr()",
        peer("np.from_dlpack", "take(x)", "import numpy\ntake = numpy.from_dlpack", "r.ctypes.data"),
    ),
    Row(
        "Arrow array, int64 with nulls",
        (
            ours("minimal.column", "take(x)", MINIMAL.format("column"), ""),
            peer("the producer's own capsules", "x.__arrow_c_array__()"),
            peer("pyarrow.array", "take(x)", "take = pa.array"),
            peer("arro3.core.Array", "take(x)", "import arro3.core\ntake = arro3.core.Array.from_arrow"),
        ),
        setup="import pyarrow as pa\nx = pa.array([1, None] * 500)",
    ),
    Row(
        "Arrow record batch, three columns",
        (
            ours("minimal.column", "take(x)", MINIMAL.format("column"), ""),
            peer("the producer's own capsules", "x.__arrow_c_array__()"),
            peer("pyarrow.record_batch", "take(x)", "take = pa.record_batch"),
            peer("arro3.core.RecordBatch", "take(x)", "import arro3.core\ntake = arro3.core.RecordBatch.from_arrow"),
        ),
        setup="import pyarrow as pa\nx = pa.record_batch({'a': [1, None], 'b': ['x', 'y'], 'c': [1.5, 2.5]})",
    ),
)

TABLE = Table("both", "Minimal and maximal", ROWS)

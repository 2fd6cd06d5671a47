"""The minimal implementation (lend/minimal.py) beside the maximal one and its peers: docs/minimal-and-maximal.md."""

from harness.case import Row, Table, Target, ours, peer

MINIMAL = "from lend import minimal\ntake = minimal.{}"
# pyarrow hands an array of its own back as it is: it imports the capsules of what is none
FOREIGN = """class Foreign:
    def __init__(self, whole): self.whole = whole
    def __arrow_c_array__(self, requested_schema=None): return self.whole.__arrow_c_array__(requested_schema)"""


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


def columns(name, setup, capsules, *peers):
    """A row for one kind of column, which lend reads by minimal alone so far."""
    return Row(
        name,
        (
            ours("minimal.column", "take(x)", MINIMAL.format("column"), ""),
            peer("the producer's own capsules", capsules),
            *peers,
        ),
        setup=setup,
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
        peer("the producer's own calls", "x.__dlpack_device__(), x.__dlpack__(max_version=(1, 3))"),
        peer("np.from_dlpack", "take(x)", "import numpy\ntake = numpy.from_dlpack", "r.ctypes.data"),
    ),
    columns(
        "Arrow array, int64 with nulls",
        "import pyarrow as pa\nx = pa.array([1, None] * 500)",
        "x.__arrow_c_array__()",
        peer("pyarrow.array of a foreign object", "take(x)", f"{FOREIGN}\nx, take = Foreign(x), pa.array"),
        peer("arro3.core.Array", "take(x)", "import arro3.core\ntake = arro3.core.Array.from_arrow"),
        peer("nanoarrow.c_array", "take(x)", "import nanoarrow\ntake = nanoarrow.c_array"),
    ),
    columns(
        "Arrow record batch, three columns",
        "import pyarrow as pa\nx = pa.record_batch({'a': [1, None], 'b': ['x', 'y'], 'c': [1.5, 2.5]})",
        "x.__arrow_c_array__()",
        peer("pyarrow.record_batch", "take(x)", f"{FOREIGN}\nx, take = Foreign(x), pa.record_batch"),
        peer("arro3.core.RecordBatch", "take(x)", "import arro3.core\ntake = arro3.core.RecordBatch.from_arrow"),
        peer("nanoarrow.c_array", "take(x)", "import nanoarrow\ntake = nanoarrow.c_array"),
    ),
    columns(
        "polars series, int64 with nulls",
        "import polars\nx = polars.Series([1, None] * 500)",
        "x.__arrow_c_stream__()",
        peer("pyarrow.chunked_array", "take(x)", "import pyarrow\ntake = pyarrow.chunked_array"),
        peer("arro3.core.ChunkedArray", "take(x)", "import arro3.core\ntake = arro3.core.ChunkedArray.from_arrow"),
        peer("nanoarrow.Array", "take(x)", "import nanoarrow\ntake = nanoarrow.Array"),
    ),
)

TABLE = Table("both", "Minimal and maximal", ROWS)

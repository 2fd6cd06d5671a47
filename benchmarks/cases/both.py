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


def columns(name, setup, address, *peers, capsules=None, at="", more=()):
    """A row for one kind of column: its data begin at `address`, whoever shows them; `at` is which of a table's."""
    shown, lies = f"{at}.buffers", f"{at}.buffers['data'].ptr"
    return Row(
        name,
        (
            ours("column", "column(x)", "", "r" + lies),
            ours("column, and buffers of one", f"column(x){shown}", "", "r['data'].ptr"),
            *more,
            ours("minimal.column", "take(x)", MINIMAL.format("column"), "r" + lies),
            *([peer("the producer's own capsules", capsules)] if capsules else []),
            *peers,
        ),
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
        peer("the producer's own calls", "x.__dlpack_device__(), x.__dlpack__(max_version=(1, 3))"),
        peer("np.from_dlpack", "take(x)", "import numpy\ntake = numpy.from_dlpack", "r.ctypes.data"),
    ),
    columns(
        "Arrow array, int64 with nulls",
        "import pyarrow as pa\nx = pa.array([1, None] * 500)",
        "x.buffers()[1].address",
        peer("pyarrow.array of a foreign object", "take(x)", f"{FOREIGN}\nx, take = Foreign(x), pa.array"),
        peer("arro3.core.Array", "take(x)", "import arro3.core\ntake = arro3.core.Array.from_arrow"),
        peer("nanoarrow.c_array", "take(x)", "import nanoarrow\ntake = nanoarrow.c_array"),
        capsules="x.__arrow_c_array__()",
    ),
    columns(
        "Arrow record batch, three columns",
        "import pyarrow as pa\nx = pa.record_batch({'a': [1, None], 'b': ['x', 'y'], 'c': [1.5, 2.5]})",
        "x.column(0).buffers()[1].address",
        peer("pyarrow.record_batch", "take(x)", f"{FOREIGN}\nx, take = Foreign(x), pa.record_batch"),
        peer("arro3.core.RecordBatch", "take(x)", "import arro3.core\ntake = arro3.core.RecordBatch.from_arrow"),
        peer("nanoarrow.c_array", "take(x)", "import nanoarrow\ntake = nanoarrow.c_array"),
        capsules="x.__arrow_c_array__()",
        at=".children[0]",
        more=(ours("table", "table(x)", "", "r[0].buffers['data'].ptr"),),
    ),
    columns(
        "polars series, int64 with nulls",
        "import polars\nx = polars.Series([1, None] * 500)",
        "x.to_arrow().buffers()[1].address",
        peer("pyarrow.chunked_array", "take(x)", "import pyarrow\ntake = pyarrow.chunked_array"),
        peer("arro3.core.ChunkedArray", "take(x)", "import arro3.core\ntake = arro3.core.ChunkedArray.from_arrow"),
        peer("nanoarrow.Array", "take(x)", "import nanoarrow\ntake = nanoarrow.Array"),
        capsules="x.__arrow_c_stream__()",
    ),
    columns(
        "masked array of NumPy, int64",
        "import numpy as np\nx = np.ma.MaskedArray(np.arange(1000), np.arange(1000) % 2 == 1)",
        "x.data.ctypes.data",
        peer("its own data and mask", "(x.data, x.mask)", "", "r[0].ctypes.data"),
    ),
)

TABLE = Table("both", "Minimal and maximal", ROWS)

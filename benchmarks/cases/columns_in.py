"""Columns and tables in: each source becomes one object that owns a lease, or several, on its memory."""

from harness.case import Row, Table, Target, ours, peer

ARROW = "import pyarrow as pa\na = pa.array({})"
TEN = "import pyarrow as pa\nt = pa.table([pa.array(range(1000)) for _ in range(10)], names=list('abcdefghij'))"
FRAME = "import polars as pl\nd = pl.DataFrame({f'c{i}': range(1000) for i in range(10)})"
CHUNKS = (
    "import polars as pl\nd = pl.concat([pl.DataFrame({f'c{i}': range(500) for i in range(10)})] * 2, rechunk=False)"
)
BLOCKS = "import numpy as np\nimport pandas as pd\np = pd.DataFrame(np.zeros((1000, 100)))"
MIXED = """
import pandas as pd
kinds = ["int64", "float64", "Int64", "bool"] * 25
p = pd.DataFrame({f"c{i}": pd.Series(range(1000), dtype=kind) for i, kind in enumerate(kinds)})
"""
WRAPPED = """
import pyarrow as pa
class Wrapped:
    __slots__ = ("lender",)
    def __init__(self, lender):
        self.lender = lender
    def __arrow_c_array__(self, requested_schema=None):
        return self.lender.__arrow_c_array__()
w = Wrapped(a)
take = pa.array
"""


def arrow_column(name, values):
    return Row(
        name,
        (
            ours("column", "column(a)", pointer=""),
            peer("nanoarrow.c_array", "take(a)", "import nanoarrow\ntake = nanoarrow.c_array"),
            peer("arro3 Array.from_arrow", "take(a)", "from arro3.core import Array\ntake = Array.from_arrow"),
            peer("pa.array of it", "take(w)", WRAPPED),
        ),
        (Target("column", "nanoarrow.c_array", 0.7, headline=True),),
        setup=ARROW.format(values),
    )


def arrow_table(name, setup, against, at_most, source="t"):
    return Row(
        name,
        (
            ours("table", f"table({source})", pointer=""),
            ours("table and each column", f"[*table({source})]", pointer=""),
            peer("arro3 Table.from_arrow", f"take({source})", "from arro3.core import Table\ntake = Table.from_arrow"),
            peer("pyarrow.table", f"take({source})", "import pyarrow\ntake = pyarrow.table"),
        ),
        (Target("table", against, at_most, headline=True),),
        setup=setup,
    )


def pandas_table(name, setup):
    return Row(
        name,
        (
            ours("table", "table(p)", pointer=""),
            peer("pyarrow.Table.from_pandas", "take(p)", "import pyarrow\ntake = pyarrow.Table.from_pandas"),
            peer("polars.from_pandas", "take(p)", "import polars\ntake = polars.from_pandas"),
        ),
        (Target("table", "pyarrow.Table.from_pandas", 1.0),),
        setup=setup,
    )


TABLE = Table(
    "columns",
    "Columns and tables in",
    (
        arrow_column("Arrow column of integers", "range(1000)"),
        arrow_column("Arrow column of text with nulls", "['a', None] * 500"),
        arrow_table("pyarrow table, 10 columns", TEN, "arro3 Table.from_arrow", 0.6),
        arrow_table("polars frame, 10 columns", FRAME, "arro3 Table.from_arrow", 1.0, "d"),
        arrow_table("polars frame of two chunks, 10 columns", CHUNKS, "arro3 Table.from_arrow", 1.0, "d"),
        pandas_table("pandas frame, one block of 100 columns", BLOCKS),
        pandas_table("pandas frame, 100 columns of four kinds", MIXED),
    ),
)

"""Hand one real frame round all libraries of columns, check every cell of it, and print what came of it.

Run by `make demo`. The frame is written to a Parquet file first and read by each library from there, so that each has
its own: numbers, nulls, text, categories, times with a zone, a nested column. What arrived is compared with what was
written, in full; whether a column was shared is told by the addresses of its buffers. Exit status 1 if one claim does
not hold.
"""

import importlib
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import report

import lend

ROWS = 300_000
LIBRARIES = {"pyarrow": "pyarrow", "polars": "polars", "pandas": "pandas", "arro3": "arro3-core", "duckdb": "duckdb"}
TARGETS = ("pyarrow", "polars", "pandas", "arro3", "duckdb")
WORDS = ("ash", "birch", "cedar", "douglasie", "eiche, die ältere", "fichte")


def written(pa):
    """The frame as it is written: one of each kind of column, with nulls in most."""
    numbers = range(ROWS)
    start = datetime(2026, 3, 29, tzinfo=UTC)
    texts = [None if i % 11 == 0 else f"{WORDS[i % 6]} {i}" for i in numbers]
    return pa.table({
        "id": pa.array(numbers, pa.int64()),
        "weight": pa.array([None if i % 7 == 0 else i / 8 for i in numbers], pa.float64()),
        "small": pa.array([None if i % 5 == 0 else i % 100 for i in numbers], pa.int16()),
        "felled": pa.array([None if i % 13 == 0 else i % 3 == 0 for i in numbers], pa.bool_()),
        "note": pa.array(texts, pa.string()),
        "kind": pa.array([WORDS[i % 6] for i in numbers]).dictionary_encode(),
        "seen": pa.array([start + timedelta(seconds=i) for i in numbers], pa.timestamp("us", "Europe/Paris")),
        "rings": pa.array([None if i % 17 == 0 else [i % 50, i % 9][: i % 3] for i in numbers], pa.list_(pa.int32())),
    })  # fmt: skip


def readers(libs, path):
    """How each library reads the file: label, and a function."""
    pa = libs["pyarrow"]
    parquet = importlib.import_module("pyarrow.parquet")
    yield "pyarrow.Table", lambda: parquet.read_table(path)
    if libs.get("polars"):
        yield "polars.DataFrame", lambda: libs["polars"].read_parquet(path, use_pyarrow=False)
    if libs.get("pandas"):
        yield "pandas, Arrow inside", lambda: libs["pandas"].read_parquet(path, dtype_backend="pyarrow")
    if libs.get("arro3"):
        yield "arro3.Table", lambda: libs["arro3"].core.Table.from_arrow(parquet.read_table(path))
    if libs.get("duckdb"):
        yield "duckdb relation", lambda: libs["duckdb"].read_parquet(str(path))
    yield "lend.Table", lambda: lend.table(pa.table(parquet.read_table(path)))


class Arrived:
    """One hand-over: what was said of it, and what is so."""

    def __init__(self, obj, target, expected):
        self.faults = []
        self.shared = self.columns = 0
        source = lend.table(obj) if not isinstance(obj, lend.Table) else obj
        plan = lend.explain(source, target)  # of obj itself its own library would get itself
        began = time.perf_counter()
        made = lend.to(source, target)
        self.seconds = time.perf_counter() - began
        back = lend.table(made)
        if list(back.names) != list(expected):
            self.faults.append(f"columns {back.names}, not {list(expected)}")
        said_shared = {column.name for column in source} - {
            step.what.partition("'")[2].rpartition("'")[0] for step in plan.copies
        }
        for ours, theirs in zip(source, back, strict=True):
            self._compare(ours, theirs, expected[ours.name], ours.name in said_shared)

    def _compare(self, ours, theirs, values, said_shared):
        """Every value against what was written; the addresses against what was said."""
        self.columns += 1
        if theirs.tolist() != values:
            self.faults.append(f"column {ours.name!r} arrived with other values")
        same = addresses(ours) <= addresses(theirs)
        self.shared += same
        if said_shared and not same:
            self.faults.append(f"column {ours.name!r} was said to be shared, and lies elsewhere")


def addresses(column):
    """Where the data of all chunks begins: values, offsets, indices; validity is counted with them."""
    found = set()
    for chunk in column.chunks:
        for role, buffer in chunk.buffers.items():
            if role in ("data", "views") and buffer.nbytes:
                found.add(buffer.ptr)
        for child in chunk.children:
            found |= addresses(child)
    return found


def main():
    """Run it; the exit status."""
    libs = {}
    for name, package in LIBRARIES.items():
        try:
            libs[name] = importlib.import_module(name if name != "arro3" else "arro3.core") and sys.modules[name]
        except ImportError:
            print(f"{package} is not installed: skipped")
    if "pyarrow" not in libs:
        print("the frame is written by pyarrow, which is not here: no second table")
        return 0
    frame = written(libs["pyarrow"])
    expected = {name: frame[name].to_pylist() for name in frame.column_names}
    faults, refusals = [], []
    targets = [target for target in TARGETS if target in libs]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.parquet"
        importlib.import_module("pyarrow.parquet").write_table(frame, path, row_group_size=100_000)
        report.head(f"a frame of {ROWS:,} rows and {len(expected)} columns, {report.size(path.stat().st_size)} on disk")
        sources = [(label, read()) for label, read in readers(libs, path)]
        first = max(len(label) for label, _ in sources)
        report.head(" ".join([f"{'':<{first}}", *(f"  {target:<16}" for target in targets)]).rstrip())
        for label, obj in sources:
            cells = []
            for target in targets:
                try:
                    done = Arrived(obj, target, expected)
                except lend.LendError as refusal:
                    cells.append(report.REFUSED)
                    refusals.append(f"{label} to {target}: {refusal.fact}")
                    continue
                faults += [f"{label} to {target}: {fault}" for fault in done.faults]
                cells.append(f"{done.shared}/{done.columns} {report.time(done.seconds)}")
            print(" ".join([f"{label:<{first}}", *(f"  {cell:<16}" for cell in cells)]).rstrip())
    print()
    arrived = (len(sources) * len(targets) - len(refusals)) * len(expected) * ROWS
    report.wrapped(
        "Columns whose memory the target shares, of all, and the time of lend.to. The others are copied by the target, "
        "as lend.explain says of each: polars keeps text in views, duckdb has a format of its own. All "
        f"{arrived:,} values that arrived were compared with what was written.",
        0,
    )
    for refusal in refusals:
        report.wrapped(f"refused: {refusal}")
    for fault in faults:
        print(f"  {report.coloured('does not hold', 'fault')}: {fault}")
    if not faults:
        print("  every claim holds: values, nulls, names, and what was said to be shared")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

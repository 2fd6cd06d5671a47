"""`lend.table(x)` itself, handed to seaborn, scikit-learn, LightGBM and xgboost where there is no pyarrow."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

from support.frame_consumers import CONSUMERS, LIBRARIES

# what a frame of the library needs besides, until it is lent
ALSO = {"duckdb": ("pyarrow",), "arro3": ("pyarrow",), "narwhals": ("polars",)}


@pytest.mark.slow
@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_is_taken_by_consumers_that_know_no_arrow_and_its_values_arrive(library, consumer):
    for name in (library, consumer, "numpy", "pandas", *ALSO.get(library, ())):
        pytest.importorskip(name) if name not in CONSUMERS else skip_without(name)
    found = subprocess.run(
        [sys.executable, "-m", "support.frame_consumers", library, consumer],
        cwd=pathlib.Path(__file__).parent.parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (found.returncode, found.stdout.strip()) == (0, "all arrived"), found.stderr[-4000:]


def skip_without(name):
    """Skip where a consumer is missing; it is loaded in the other process alone."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")

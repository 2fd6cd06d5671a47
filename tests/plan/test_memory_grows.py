"""What the process grows by when a large frame is handed on: nothing where nothing is copied, else what was told."""

import json

import pytest

from support import children

MEASURE = """
import gc, json
import numpy as np
import lend

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def through(make, target):
    small = make(1000)
    for _ in range(3):  # what the libraries load and set up once is not counted
        lend.explain(small, target)
        lend.to(small, target)
    large = make(16_000_000)
    told = lend.explain(large, target).bytes_copied
    gc.collect()
    before = resident()
    made = lend.to(large, target)
    return told, resident() - before

"""


def measured(source):
    return json.loads(children.run_clean(MEASURE + source))


@pytest.mark.parametrize("target", ["pyarrow", "polars", "pandas", "arro3"])
def test_a_gigabyte_that_is_shared_grows_the_process_by_less_than_a_megabyte(target):
    for name in ("numpy", target):
        pytest.importorskip(name)
    # nobody wrote to this memory, so that even a read of it all would show where pages are made for it
    told, grown = measured(
        f"print(json.dumps(through(lambda n: {{f'c{{i}}': np.zeros(n) for i in range(8)}}, {target!r})))"
    )
    assert told == 0
    assert grown < 1_000_000


def test_a_frame_of_pandas_grows_the_process_by_nothing_on_the_way_to_arrow():
    for name in ("pandas", "pyarrow"):
        pytest.importorskip(name)
    told, grown = measured(
        "import pandas as pd\n"
        "print(json.dumps(through(lambda n: pd.DataFrame(np.zeros((8, n)).T, copy=False), 'pyarrow')))"
    )
    assert told == 0
    assert grown < 1_000_000


def test_what_is_copied_grows_the_process_by_what_was_told():
    for name in ("numpy", "pyarrow"):
        pytest.importorskip(name)
    told, grown = measured("print(json.dumps(through(lambda n: {'a': np.zeros(2 * n)[::2]}, 'pyarrow')))")
    assert told == 128_000_000
    assert abs(grown - told) < 0.02 * told

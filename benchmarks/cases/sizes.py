"""Independence of size: nothing that shares memory may look at all of it."""

from harness.case import Row, Table, Target, ours

BOTH = "import numpy as np\nsmall, large = np.zeros(1000, 'f4'), np.zeros(10_000_000, 'f4')"
VIEWS = "from lend import view\nv, w = view(small), view(large)"


def same(name, statement, setup=""):
    """One statement over `x`, run on a small and on a large array (or view)."""
    small, large = "1000 elements", "10 000 000 elements"
    cases = [
        ours(label, statement, f"{setup}\nx = {value}", "")
        for label, value in ((small, "v" if setup else "small"), (large, "w" if setup else "large"))
    ]
    return Row(name, tuple(cases), (Target(large, small, 1.15),), setup=BOTH)


ROWS = (
    same("view", "view(x)"),
    same("buffer", "buffer(x)"),
    same("__dlpack__", "x.__dlpack__(max_version=(1, 1))", VIEWS),
    same("memoryview", "memoryview(x)", VIEWS),
    same("__array_interface__", "x.__array_interface__", VIEWS),
    same('to "numpy"', 'to(x, "numpy")', VIEWS),
)

TABLE = Table("size", "Independence of size", ROWS)

"""The first lines of a test run: what exactly is tested, and beside which libraries."""

import gc
import importlib.metadata
import sys
import sysconfig

import pytest
from hypothesis import settings

# no test fails for the time it took: machines are noisy
settings.register_profile("lend", deadline=None)
settings.load_profile("lend")

LIBRARIES = ["numpy", "torch", "jax", "pyarrow", "arro3-core", "apache-tvm-ffi", "ml_dtypes", "pillow"]


def version(distribution):
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def pytest_report_header():
    versions = {name: version(name) for name in LIBRARIES}
    present = ", ".join(f"{name} {found}" for name, found in versions.items() if found)
    absent = ", ".join(name for name, found in versions.items() if not found)
    build = "free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else "with the GIL"
    return [
        f"lend {version('lend')} on {sys.implementation.name} {sys.version.split()[0]}, {build}",
        f"beside {present or 'no other library'}" + (f"; absent: {absent}" if absent else ""),
    ]


@pytest.fixture(scope="module", autouse=True)
def _what_was_there():
    """What was there before takes no time in a collection: tens of thousands of tests, and the libraries."""
    gc.collect()
    gc.freeze()

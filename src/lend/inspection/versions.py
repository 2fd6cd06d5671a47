"""`show_versions()`: lend, the interpreter, and the libraries beside which lend runs; none of them is imported."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import sysconfig
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["show_versions", "versions"]

# distributions, by the names under which they are installed
LIBRARIES = (
    "numpy",
    "torch",
    "jax",
    "jaxlib",
    "ml_dtypes",
    "tensorflow",
    "mlx",
    "apache-tvm-ffi",
    "pillow",
    "pyarrow",
    "nanoarrow",
    "arro3-core",
    "pandas",
    "polars",
    "duckdb",
    "dask",
    "ray",
    "cuda-core",
    "cupy",
    "cupy-cuda11x",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "cudf-cu12",
    "cudf-cu13",
)


def version_of(distribution: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Name and version of lend, the interpreter, the platform, and every known library that is installed.

    Examples
    --------
    >>> from lend.inspection.versions import versions
    >>> import lend
    >>> versions()["lend"] == lend.__version__
    True
    """
    build = ", free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    told = {
        "lend": sys.modules["lend"].__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()}{build})",
        "platform": f"{platform.platform()}, {sys.byteorder}-endian",
    }
    found = ((name, version_of(name)) for name in LIBRARIES)
    return told | {name: version for name, version in found if version is not None}


def show_versions(file: TextIO | None = None) -> None:
    """Print the versions that a bug report needs: lend, python, platform, and the libraries that are installed.

    Imports none of the libraries; their versions are read from what the installer wrote.

    Parameters
    ----------
    file : text file, optional
        Where to print; standard output when not given.

    Examples
    --------
    >>> import lend
    >>> lend.show_versions()  # doctest: +ELLIPSIS
    lend ...
    python ...
    """
    told = versions()
    width = max(map(len, told))
    lines = [f"{name:<{width}} {version}\n" for name, version in told.items()]
    (sys.stdout if file is None else file).write("".join(lines))

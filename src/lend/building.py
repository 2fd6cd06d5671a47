"""What a build of a C, C++ or Cython module needs to know of lend."""

from pathlib import Path
from shlex import quote


def get_include() -> str:
    """The folder of `lend.h` and `lend_take.h`, for the include path of a compiler.

    Returns
    -------
    str
        An absolute path in the installed package.

    Examples
    --------
    >>> import lend, os
    >>> sorted(os.listdir(lend.get_include()))[0]
    'lend.h'
    """
    return str(Path(__file__).parent / "include")


def pkgconfigdir() -> str:
    """The folder of `lend.pc`, for PKG_CONFIG_PATH: what `python -m lend --pkgconfigdir` prints."""
    return str(Path(__file__).parent / "pkgconfig")


def cflags() -> str:
    """The flags for a C or C++ compiler, quoted for a shell: what `python -m lend --cflags` prints."""
    return quote(f"-I{get_include()}")

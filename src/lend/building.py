"""What a build of a C, C++ or Cython module needs to know of lend."""

from pathlib import Path


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

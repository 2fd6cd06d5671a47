"""A .npy file as a View: the file is mapped, not read, and its header parsed without NumPy.

The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3.
"""

from __future__ import annotations

import ast
import mmap
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lend.dtypes import DType
from lend.errors import LendError, UnsupportedType
from lend.front import buffer

if TYPE_CHECKING:
    from lend.views.view import View

MAGIC = b"\x93NUMPY"
_LONGEST = 1 << 20  # of a header: a real one has a few hundred bytes, and this is parsed as Python


# how other files begin that are met in the place of one
_KINDS = {b"PK\x03\x04": "a .npz (or other zip file)", b"\x89HDF": "an HDF5 file", b"PAR1": "a Parquet file"}


class BadFile(Exception):
    """A file that is not what its name says, in one sentence."""


def map_npy(path: str) -> View:
    r"""Lend the array of a .npy file as a read-only View over the mapped file; no data is read.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    View
        Its owner keeps the file mapped.

    Raises
    ------
    OSError
        When the file cannot be opened or mapped.
    BadFile
        When it is not a .npy file of version 1 to 3, or is cut short.
    UnsupportedType
        When its array has elements for which lend has no dtype: Python objects, records, strings.

    Examples
    --------
    >>> from pathlib import Path
    >>> from lend.cli.npy import map_npy
    >>> header = b"{'descr': '<i2', 'fortran_order': False, 'shape': (3,)}\n"
    >>> begin = b"\x93NUMPY\x01\x00" + bytes([len(header), 0])
    >>> _ = Path("three.npy").write_bytes(begin + header + b"\1\0\2\0\3\0")
    >>> map_npy("three.npy").tolist()
    [1, 2, 3]
    """
    with Path(path).open("rb") as file:
        if not file.seek(0, 2):
            raise BadFile(f"{path} is empty")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    descr, fortran, shape, start = _header(path, mapped)
    _check_elements(path, descr, shape)
    try:
        flat = buffer(mapped)
        row_major = flat.view(descr, shape[::-1] if fortran else shape, offset=start)
    except (LendError, TypeError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise BadFile(f"the array of {path}, {descr!r} of shape {shape}, cannot be shown: {first}") from error
    return row_major.T if fortran else row_major


def _check_elements(path: str, descr: Any, shape: tuple[int, ...]) -> None:
    """Refuse elements that lie pickled in the file."""
    kind = descr.lstrip("<>|=")[:1] if isinstance(descr, str) else ""
    if kind == "O" or (isinstance(descr, list) and _has_objects(descr)):
        holds = "Python objects, which lie pickled in it"
        remedy = f"its values as numbers, if you trust it: numpy:load({path!r}, allow_pickle=True).astype('float64')"
    else:
        return
    came = f"{path}, {descr!r:.200} of shape {shape}"
    raise UnsupportedType.build(f"{path} holds {holds}", came=came, remedy=remedy)


def _has_objects(descr: list[Any]) -> bool:
    """Whether a record has pointers to Python objects; what is no record is refused later."""
    try:
        return DType(descr).has_objects
    except (LendError, TypeError, ValueError):
        return False


def _header(path: str, mapped: mmap.mmap) -> tuple[Any, bool, tuple[int, ...], int]:
    """(descr, fortran_order, shape, offset of the data)."""
    if mapped[:6] != MAGIC:
        kind = (
            f"it begins as {_KINDS[mapped[:4]]} does" if mapped[:4] in _KINDS else f"it does not begin with {MAGIC!r}"
        )
        raise BadFile(f"{path} is no .npy file: {kind}")
    if len(mapped) < 12:
        raise BadFile(f"{path} is cut short inside its header")
    major, minor = mapped[6], mapped[7]
    if major not in (1, 2, 3):
        raise BadFile(f"{path} has version {major}.{minor} of the .npy format; 1 to 3 are read")
    start, pattern = (10, "<H") if major == 1 else (12, "<I")
    (length,) = struct.unpack_from(pattern, mapped, 8)
    if start + length > len(mapped):
        raise BadFile(f"{path} is cut short inside its header")
    if length > _LONGEST:
        raise BadFile(f"{path} has a header of {length} bytes; up to {_LONGEST} are read")
    text = mapped[start : start + length].decode("utf-8" if major == 3 else "latin-1", "replace")
    try:
        facts = ast.literal_eval(text.strip())
        descr, fortran, shape = facts["descr"], facts["fortran_order"], facts["shape"]
    except (KeyError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        raise BadFile(f"the header of {path} is no dict with descr, fortran_order and shape") from error
    whole = isinstance(shape, tuple) and all(type(extent) is int and extent >= 0 for extent in shape)
    if not whole or not isinstance(fortran, bool):
        raise BadFile(f"the header of {path} has the shape {shape!r:.60} and fortran_order {fortran!r:.60}")
    return descr, fortran, shape, start + length

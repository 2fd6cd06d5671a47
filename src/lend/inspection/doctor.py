"""What `lend doctor` tells: what is installed, which protocols its objects offer, and by which of them lend takes them.

For each library one tiny object is made on the host, so the library is imported here, and only here. What fails is
told, not raised: a broken installation is what somebody runs a doctor for.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from lend.errors import CopyRequired, LendError
from lend.front import view
from lend.inspection.versions import version_of, versions
from lend.plan.facts import protocol_of
from lend.protocols.order import ORDER
from lend.protocols.refusals import name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["LIBRARIES", "examine", "render"]

# what a library with a missing or wrong shared object, driver or dependency raises
_BROKEN = (ImportError, OSError, AttributeError, RuntimeError)


class _Sample(NamedTuple):
    """How a tiny object of one library is made, and how the library itself tells its address."""

    module: str
    make: Callable[[Any], Any]
    address: Callable[[Any], int] | None = None
    distribution: str | None = None


def _jax_array(jax: Any) -> Any:
    return jax.numpy.arange(4, dtype="float32")


def _tvm_tensor(tvm_ffi: Any) -> Any:
    from array import array

    return tvm_ffi.from_dlpack(view(array("d", [1.0, 2.0])))


SAMPLES = {
    "bytes": _Sample("builtins", lambda _: b"12345678"),
    "memoryview": _Sample("builtins", lambda _: memoryview(b"12345678")),
    "array": _Sample("array", lambda module: module.array("d", [1.0, 2.0]), lambda obj: obj.buffer_info()[0]),
    "mmap": _Sample("mmap", lambda module: module.mmap(-1, 16)),
    "numpy": _Sample("numpy", lambda module: module.arange(4.0), lambda obj: obj.ctypes.data, "numpy"),
    "torch": _Sample("torch", lambda module: module.arange(4.0), lambda obj: obj.data_ptr(), "torch"),
    "jax": _Sample("jax", _jax_array, lambda obj: obj.unsafe_buffer_pointer(), "jax"),
    "pyarrow": _Sample(
        "pyarrow", lambda module: module.array([1.0, 2.0]), lambda obj: obj.buffers()[1].address, "pyarrow"
    ),
    "pillow": _Sample("PIL.Image", lambda module: module.new("L", (4, 4)), None, "pillow"),
    "tvm_ffi": _Sample("tvm_ffi", _tvm_tensor, None, "apache-tvm-ffi"),
}
LIBRARIES = tuple(SAMPLES)


def examine(libraries: Iterable[str] = LIBRARIES) -> dict[str, Any]:
    """Look at installed libraries: versions, the protocols that their objects offer, and which of them lend takes.

    Imports the libraries named. Where jax is imported by this, it is told to stay on the host.

    Parameters
    ----------
    libraries : iterable of str, optional
        Some of `LIBRARIES`; all of them when not given.

    Returns
    -------
    dict
        "versions", and "libraries": one dict for each, ready for JSON. Its keys: "library", "version", "status" ("ok",
        "not installed", "broken", "refused"), and as far as it came "object", "offers", "taken_by", "shared", "reason".
        "shared" is True where a View has the address that the library itself tells, or, where a library tells none,
        where two Views have the same.

    Examples
    --------
    >>> from lend.inspection.doctor import examine
    >>> [found] = examine(["array"])["libraries"]
    >>> found["object"], found["taken_by"], found["shared"]
    ('array.array', 'buffer protocol', True)
    """
    return {"versions": versions(), "libraries": [_examine(library, SAMPLES[library]) for library in libraries]}


def _examine(library: str, sample: _Sample) -> dict[str, Any]:
    version = None if sample.distribution is None else version_of(sample.distribution)
    found: dict[str, Any] = {"library": library, "version": version}
    top = sample.module.partition(".")[0]
    if top not in sys.modules and importlib.util.find_spec(top) is None:
        return found | {"status": "not installed"}
    try:
        module = _imported(sample.module)
        obj = sample.make(module)
        address = None if sample.address is None else sample.address(obj)
    except _BROKEN as error:
        return found | {"status": "broken", "reason": f"{type(error).__name__}: {error}"}
    found |= {"object": name(obj), "offers": _offers(obj)}
    try:
        first, second = view(obj), view(obj)
    except CopyRequired:
        # its library writes it out at each asking
        taken = view(obj, copy=True)
        return found | {"status": "ok", "taken_by": protocol_of(obj, taken), "shared": False}
    except LendError as refusal:
        return found | {"status": "refused", "reason": refusal.fact or str(refusal)}
    shared = first.ptr == (second.ptr if address is None else address)
    return found | {"status": "ok", "taken_by": protocol_of(obj, first), "shared": shared}


def _imported(module: str) -> Any:
    """Import a library; jax, when it is new here, for the host only: its first array starts every device there is."""
    fresh = module not in sys.modules
    imported = importlib.import_module(module)
    if fresh and module == "jax":
        imported.config.update("jax_platforms", "cpu")
    return imported


def _offers(obj: Any) -> list[str]:
    """Names of the protocols that obj shows, in the order in which lend tries them."""
    return [
        protocol.name
        for protocol in ORDER
        if (hasattr(obj, protocol.dunder) if protocol.offered is None else protocol.offered(obj) is not None)
    ]


def render(found: dict[str, Any]) -> str:
    """Lay out what `examine` found as text: the versions, then one line for each library.

    Examples
    --------
    >>> from lend.inspection.doctor import examine, render
    >>> print(render(examine(["bytes"])))  # doctest: +ELLIPSIS
    lend ...
    library  object  taken by         memory  offers
    bytes    bytes   buffer protocol  shared  buffer protocol
    """
    width = max(map(len, found["versions"]))
    lines = [f"{key:<{width}} {version}" for key, version in found["versions"].items()]
    rows = [("library", "object", "taken by", "memory", "offers"), *map(_row, found["libraries"])]
    # the last cell of a row is as long as it likes
    widths = [max((len(row[i]) for row in rows if len(row) > i + 1), default=0) for i in range(4)]
    for row in rows:
        *cells, last = row
        padded = [f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=False)]
        lines.append("".join(padded) + last)
    lines.insert(-len(rows), "")
    return "\n".join(lines)


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    """The cells of one library's line; fewer where there is a reason to tell instead."""
    library = f"{entry['library']} {entry['version']}" if entry["version"] else entry["library"]
    match entry["status"]:
        case "not installed":
            return library, "not installed"
        case "broken":
            return library, f"broken: {entry['reason']}"
        case "refused":
            return library, entry["object"], f"refused: {entry['reason']}"
    memory = "shared" if entry["shared"] else "copied"
    return library, entry["object"], entry["taken_by"], memory, ", ".join(entry["offers"])

"""Moving memory from one library to another: `to` does it, `explain` tells beforehand what it would do."""

from lend.plan import planner
from lend.plan.steps import Plan, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Plan", "Step", "explain", "to"]


def to(
    obj: "Any",
    target: "Any" = None,
    *,
    copy: "bool | None" = None,
    device: "Any" = None,
    nulls: "Any" = None,
    alias_readonly: bool = False,
    **options: "Any",
) -> "Any":
    """Hand the memory of an object to a library, a class or a callable; copied only when it must be.

    Parameters
    ----------
    obj : object
        Whatever `lend.view` takes; also a tensor whose value torch has still to write out, and a buffer with rows
        behind pointers, which are copied.
    target : str, module, class or callable
        "numpy", "torch", "jax", "pyarrow", "memoryview" or "tvm_ffi", the module, a class of it such as
        `numpy.ndarray`; or any callable, which is called with a View (with a Buffer if obj is one). Without a target,
        and with `device`, a View or Buffer of our own is returned.
    copy : bool, optional
        None (default): copy only what the target cannot take otherwise, and never between devices. True: always into
        fresh, writable, 64-byte aligned memory of lend's own. False: never; what would need a copy is refused.
    device : Device, str or pair, optional
        Where the memory must be. The only way to have it moved, which is built for memory that the host can read.
    nulls : optional
        For columns; arrays have none.
    alias_readonly : bool, optional
        True: you promise not to write, and read-only memory is shared with a target that cannot mark it so.
    **options
        Options of the target; none of those above has any yet.

    Returns
    -------
    object
        A numpy.ndarray, torch.Tensor, jax.Array, pyarrow.Array (one dimension), pyarrow.Tensor, pyarrow.Buffer (of a
        Buffer), memoryview or tvm_ffi.Tensor; or what the callable returned. It holds the lease as long as it lives.

    Raises
    ------
    CopyRequired
        With copy=False, when the target cannot take the memory as it lies.
    UnsupportedType, UnsupportedLayout
        When the target has no such dtype, or would lose values, whatever was copied.
    NotHostAccessible
        When the memory is on a device.
    LeaseLost
        When obj is a View that was released, or whose producer moved the memory since.
    ValueError, ImportError, TypeError
        When the target is unknown, not installed, or does not know an option.

    Examples
    --------
    >>> import lend
    >>> memory = bytearray(b"abcd")
    >>> m = lend.to(memory, "memoryview")
    >>> m[0] = ord("x")
    >>> memory
    bytearray(b'xbcd')
    >>> lend.to(b"1234", bytes)
    b'1234'
    """
    return planner.draw(obj, target, copy, device, nulls, alias_readonly, options).carry_out()


def explain(
    obj: "Any",
    target: "Any" = None,
    *,
    copy: "bool | None" = None,
    device: "Any" = None,
    nulls: "Any" = None,
    alias_readonly: bool = False,
    **options: "Any",
) -> Plan:
    """Tell what `lend.to` with the same arguments would do: by which protocols, what is copied, by whom and why.

    It is the very plan that `lend.to` carries out; what that would refuse is refused here with the same error. Nothing
    is copied, no lease is held afterwards, and a capsule stays unconsumed.

    Parameters
    ----------
    obj, target, copy, device, nulls, alias_readonly, **options
        As for `lend.to`. Without a target and a device the plan says what came, and to which installed libraries it
        can go.

    Returns
    -------
    Plan
        Printable, with `.steps`, `.copies` and `.bytes_copied`.

    Raises
    ------
    LendError, ValueError, ImportError, TypeError
        As `lend.to`.

    Examples
    --------
    >>> import lend
    >>> lend.explain(b"1234", "memoryview", copy=True).bytes_copied
    4
    """
    if target is None and device is None and not options and nulls is None:
        return planner.survey(obj)
    return planner.draw(obj, target, copy, device, nulls, alias_readonly, options).written_down()

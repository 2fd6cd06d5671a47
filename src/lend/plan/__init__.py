"""Moving memory from one library to another: `to` does it, `explain` tells beforehand what it would do."""

from lend._core.letting_go import lets_go

__all__ = ["Plan", "Step", "explain", "to"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.plan.steps import Plan, Step
    from lend.plan.ways import to
else:
    # a package that imported its own modules would wait for a thread that imports one of them, and that for it
    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'lend.plan' has no attribute {name!r}")
        from lend.plan import steps, ways

        globals()[name] = value = getattr(ways if name == "to" else steps, name)
        return value


@lets_go
def explain(
    obj: "Any",
    target: "Any" = None,
    *,
    copy: "bool | None" = None,
    device: "Any" = None,
    nulls: "Any" = None,
    alias_readonly: bool = False,
    **options: "Any",
) -> "Plan":
    """Tell what `lend.to` with the same arguments would do: by which protocols, what is copied, by whom and why.

    It is the very plan that `lend.to` carries out; what that would refuse is refused here with the same error. Nothing
    is copied, no lease is held afterwards, and a capsule stays unconsumed. Of a reader, whose rows are left in it, the
    types are judged, as `lend.to` does before it reads; a note says what the rows may be refused for.

    Parameters
    ----------
    obj, target, copy, device, nulls, alias_readonly, **options
        As for `lend.to`. Without a target and a device the plan says what came, and what `lend.to` with the same
        `copy` and `alias_readonly` would do for each installed library.

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
        from lend.plan.surveys import survey

        return survey(obj, copy, alias_readonly)
    from lend.plan import drawing

    drawn = drawing.draw(obj, target, copy, device, nulls, alias_readonly, options, looking=True)
    return drawn.written_down()

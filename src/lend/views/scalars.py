"""int(), float() and complex() of what is lent: the value of the number that it is, never its bytes read as text."""

from lend.views import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.views.buffers import Buffer
    from lend.views.view import View

_NUMBERS = frozenset({
    "bool", "int", "uint", "float", "bfloat", "complex", "float8", "float6", "float4", "int4", "uint4", "int2", "uint2",
})  # fmt: skip


def number(lent: "View | Buffer", cls: type) -> "Any":
    """What `int(lent)` and its like answer.

    Raises
    ------
    TypeError
        For what is not one number, or of another kind.
    """
    if not describe.is_view(lent):
        raise TypeError(f"{cls.__name__}() of a Buffer, which is bytes and no number: b.view(dtype).item(index) is one")
    why = no_number(lent, cls)
    if why is not None:
        raise TypeError(why)
    return cls(lent.item())


def no_number(facts: "Any", cls: type) -> "str | None":
    """Why a View with these facts is no number of that class; None when it is one."""
    dtype, shape, name = facts.dtype, facts.shape, cls.__name__
    if dtype.kind not in _NUMBERS or dtype.lanes > 1:
        remedy = "v.item() is the value" if not shape else "v.tolist() has the values"
        return f"{name}() takes a number, and this View is of {dtype}: {remedy}"
    if shape:
        remedy = "v.item(index) is one value, v.tolist() has all"
        return f"{name}() takes one number, and this View is {describe.layout(facts)}: {remedy}"
    if dtype.kind == "complex" and cls is not complex:
        return f"{name}() of a complex number ({dtype}): v.item().real is its real part"
    return None

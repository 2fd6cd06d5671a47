"""What operators answer: int() and its like the value of the number that it is, never its bytes read as text."""

from lend._core.letting_go import lets_go
from lend.views import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Never

    from lend.views.buffers import Buffer
    from lend.views.view import View

_NUMBERS = frozenset(
    "bool int uint float bfloat complex float8 float6 float4 int4 uint4 int2 uint2".split()  # noqa: SIM905 - shorter
)


@lets_go
def number(view: "View", cls: type) -> "Any":
    """What `int(view)` and its like answer; TypeError for what is not one number, or of another kind."""
    dtype, shape = view.dtype, view.shape
    remedy = "v.item(index) is one value, v.tolist() has all"
    if not shape:
        remedy = "v.item() is the value"
        if dtype.kind in _NUMBERS and dtype.lanes == 1:
            if dtype.kind != "complex" or cls is complex:
                return cls(view.item())
            remedy = "v.item().real is its real part"
    raise TypeError(f"{cls.__name__}() takes one number, and this View is {describe.layout(view)}: {remedy}")


@lets_go
def assign(lent: "View | Buffer", index: object) -> "Never":
    """What `v[0] = 1` answers: a TypeError that says what is written to in its place."""
    name = type(lent).__name__
    if lent.readonly:
        raise TypeError(
            f"this {name} is read-only, and a {name} is never assigned to: lend.{name.lower()}(x, copy=True), handed on"
        )
    raise TypeError(
        f'a {name} is not assigned to; hand it on, and write there: lend.to(v, "numpy")[0] = 1, memoryview(v)[0] = 1'
    )

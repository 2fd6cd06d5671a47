"""Reprs and descriptions of Buffer and View: in Python, where they are easy to change; they never touch the memory."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

    from lend.views.buffers import Buffer
    from lend.views.view import View


def no_index(entry: object) -> TypeError:
    """Make the exception for an index that is no position: a View is not gathered from."""
    cls = type(entry)
    remedy = "numpy.asarray(v)[index] copies the elements that a list, an array or a mask names"
    if cls is float or cls is str:
        remedy = "int(i), or i // j where i / j was meant" if cls is float else 'v["name"] is of records alone'
    return TypeError(
        f"an index is an integer, slice, Ellipsis, None or the name of a field, not {cls.__name__}; {remedy}"
    )


def facts(v: "View") -> str:
    """float32[3, 4] of numpy.ndarray: what a message or the tally of copies calls a View."""
    return f"{layout(v)} of {v.owner.producer_type}"


def came(obj: "View | Buffer") -> str:
    """What a refusal shows of our own objects: everything but the values."""
    if obj.released:
        return f"{type(obj).__name__} <released>"
    return _body(obj)


def view(v: "View") -> str:
    return "<View released>" if v.released else f"<View {_body(v)}>"


def buffer(b: "Buffer") -> str:
    return "<Buffer released>" if b.released else f"<Buffer {_body(b)}>"


def _is_view(obj: "View | Buffer") -> "TypeGuard[View]":
    return hasattr(obj, "shape")


def layout(v: "View") -> str:
    return f"{v.dtype}[{', '.join(map(str, v.shape))}]"


def _body(obj: "View | Buffer") -> str:
    words = []
    if _is_view(obj):
        words.append(f"{layout(obj)} on {obj.device}")
        if not obj.c_contiguous:
            words.append(f"strides {obj.strides}")
        if not obj.aligned:
            words.append("unaligned")
    else:
        words.append(f"{obj.nbytes} bytes on {obj.device}")
    if obj.readonly:
        words.append("read-only")
    owner = obj.owner
    words.append(f"lent by {owner.producer_type}")
    if owner.exports:
        words.append("1 open export" if owner.exports == 1 else f"{owner.exports} open exports")
    return ", ".join(words)


def html(v: "View") -> str:
    """A small table for notebooks: layout, place, owner."""
    if v.released:
        return "<pre>&lt;View released&gt;</pre>"
    owner = v.owner
    rows = [
        ("dtype", v.dtype),
        ("shape", v.shape),
        ("strides", "none: several share a byte" if v.strides is None else f"{v.strides} bytes"),
        ("device", v.device),
        ("address", f"{v.ptr:#x}, {'aligned' if v.aligned else 'unaligned'}"),
        ("writable", "no" if v.readonly else "yes"),
        ("owner", f"{owner.kind} lease on {owner.nbytes} bytes of {owner.producer_type}"),
        ("open exports", owner.exports),
    ]
    cells = "".join(f"<tr><th>{as_text(label)}</th><td>{as_text(value)}</td></tr>" for label, value in rows)
    return f"<table>{cells}</table>"


def as_text(value: object) -> str:
    """Anything as text inside HTML."""
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

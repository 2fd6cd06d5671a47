"""Pickle (PEP 574): Views and Buffers by value, with protocol 5 their bytes out of band.

What is sent is the block that the elements fill, and no byte of what lies around it; type, shape and strides go in
band. Memory with gaps is made compact first, once, by the sender. https://peps.python.org/pep-0574/
"""

from pickle import PickleBuffer

from lend import front
from lend._core import copies
from lend._core.letting_go import lets_go
from lend.dtypes import DType, records
from lend.errors import MalformedDescriptor
from lend.views import describe, values
from lend.views.buffers import Buffer
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Layout = tuple[tuple[int, ...], tuple[int, ...] | None, int]

_REMEDY = "give pickle.loads the buffers in the order in which pickle.dumps gave them"


@lets_go
def reduce(lent: "View | Buffer", protocol: int) -> "tuple[Any, ...]":
    """What `__reduce_ex__` answers: how to make it again, and of what.

    Raises
    ------
    NotHostAccessible
        For memory on a device that the host may not read: it is copied to the host by name, never in silence.
    """
    if not lent.device.is_host:
        from lend.devices import access

        lent = access.on_host(lent)
    lent.verify()  # bytes are read for good here: memory that moved away is not
    if isinstance(lent, Buffer):
        return _buffer, (_block(lent, protocol), lent.readonly)
    view = lent
    if not _fills_its_block(view):
        view = values.copied(view, "C", False, "pickle: the memory has gaps")
    block = view.buffer
    blank = records.blanks(view.dtype)
    layout = (view.shape, view.strides, view.ptr - block.ptr if view.size else 0)
    sent = _block(block, protocol) if blank is None else _blanked(block, blank, protocol, lent.readonly)
    return _view, (sent, view.dtype, layout, lent.readonly)


def _block(block: Buffer, protocol: int) -> "Any":
    """The bytes, for protocol 5 as a buffer that may travel out of band."""
    if protocol >= 5:
        return PickleBuffer(block)
    copies.note(describe.came(block), f"pickle protocol {protocol} has bytes in band only", block.nbytes)
    return bytes(block) if block.readonly else bytearray(block)


def _blanked(block: Buffer, blank: bytes, protocol: int, readonly: bool) -> "Any":
    """The bytes of records, 0 where they are of no field: a field may have been left out there, and was not lent."""
    keep = int.from_bytes(blank * (block.nbytes // len(blank)), "little")
    kept = (int.from_bytes(bytes(block), "little") & keep).to_bytes(block.nbytes, "little")
    copies.note(describe.came(block), "pickle: bytes of no field stay behind", block.nbytes)
    made = kept if readonly else bytearray(kept)
    return PickleBuffer(made) if protocol >= 5 else made


def _fills_its_block(view: View) -> bool:
    """Whether the elements leave no gap between the lowest and the highest; they may lie in any order, or repeat."""
    if view.strides is None:
        return True
    step = view.itemsize
    for stride, extent in sorted(
        (abs(stride), extent) for stride, extent in zip(view.strides, view.shape, strict=True)
    ):
        if extent > 1 and stride:
            if stride != step:
                return False
            step *= extent
    return True


def _view(block: "Any", dtype: DType, layout: "Layout", readonly: bool) -> View:
    """Make a View of bytes that were received, whatever holds them and however they are aligned."""
    shape, strides, offset = layout
    received = _received(block, readonly)
    made: View = received.view(dtype, shape, strides, offset)
    spanned = made.buffer.nbytes
    if received.nbytes != spanned:
        raise MalformedDescriptor.build(
            f"the bytes of a pickled View are {spanned}, and {received.nbytes} were received",
            came=describe.came(received),
            remedy=_REMEDY,
        )
    return made


def _buffer(block: "Any", readonly: bool) -> Buffer:
    """Make a Buffer of bytes that were received."""
    return _received(block, readonly)


def _received(block: "Any", readonly: bool) -> Buffer:
    """The bytes; read-only if they were so where they came from, or are here."""
    try:
        made = front.buffer(block)
    except TypeError as error:
        raise MalformedDescriptor.build(
            f"the bytes of a pickled View came as {type(block).__name__}, which is no buffer", remedy=_REMEDY
        ) from error
    if not _is_one_run(block):
        # a Buffer would show what lies between them
        raise MalformedDescriptor.build(
            f"the bytes of a pickled View came as {type(block).__name__} with gaps, or backwards",
            came=describe.came(made),
            remedy="give pickle.loads contiguous buffers, such as bytes(x)",
        )
    return front.buffer(made, writable=False) if readonly else made


def _is_one_run(block: "Any") -> bool:
    """Whether the bytes that were received are all the bytes from the first to the last, in the order they came in."""
    try:
        return memoryview(block).contiguous
    except (TypeError, BufferError):
        if isinstance(block, Buffer):
            return True
        view = front.view(block)
        return view.c_contiguous or view.f_contiguous

"""Facts: what the rules of a target judge, of memory that was taken or that will be there when `to` takes it."""

from lend import doors, front
from lend.device import Device
from lend.views import describe, packed
from lend.views.buffers import Buffer
from lend.views.producer import Producer
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.dtypes import DType


class Facts:
    """The facts of one piece of memory; fields as those of View.

    Attributes
    ----------
    came : str
        What a message shows of it.
    alignment_promised : int
        Of memory that is still to be written: what its address will be a multiple of. Of memory that is there the
        address itself tells.
    """

    __slots__ = (
        "_came", "_told", "aligned", "alignment_promised", "c_contiguous", "device", "dtype", "f_contiguous",
        "itemsize", "nbytes", "ptr", "readonly", "shape", "size", "strides", "untold", "view",
    )  # fmt: skip

    view: "View | None"
    dtype: "DType"
    device: Device
    shape: "tuple[int, ...]"
    strides: "tuple[int, ...] | None"
    size: int
    nbytes: int
    itemsize: int
    ptr: int
    readonly: bool
    untold: bool
    c_contiguous: bool
    f_contiguous: bool
    aligned: bool
    alignment_promised: int

    @classmethod
    def of(cls, view: "View") -> "Facts":
        """The facts of memory that was taken."""
        self = cls.__new__(cls)
        self.view = view
        self._came = None
        self.alignment_promised = 1 << 62
        self.dtype = view.dtype
        self.device = view.device
        self.shape = view.shape
        self.strides = view.strides
        self.size = view.size
        self.nbytes = view.nbytes
        self.itemsize = view.itemsize
        self.ptr = view.ptr
        self.readonly = view.readonly
        self.untold = view.writability_untold
        self.c_contiguous = view.c_contiguous
        self.f_contiguous = view.f_contiguous
        self.aligned = view.aligned
        return self

    @classmethod
    def fresh(cls, dtype: "DType", shape: "tuple[int, ...]", came: str) -> "Facts":
        """The facts of a row-major copy that is still to be made, at a 64-byte boundary; `came`: place and lender."""
        self = cls.__new__(cls)
        self.view = None
        self._came = None
        self._told = came
        self.dtype = dtype
        self.device = Device("cpu")
        self.alignment_promised = 64
        self.shape = shape
        self.itemsize = dtype.itemsize
        strides = []
        size = 1
        for extent in reversed(shape):
            strides.append(size * self.itemsize)
            size *= extent
        self.strides = None if dtype.shares_bytes else tuple(reversed(strides))
        self.size = size
        self.nbytes = (size * packed.bits_of(dtype) + 7) // 8 if dtype.shares_bytes else size * self.itemsize
        self.ptr = 0
        self.readonly = self.untold = False
        self.c_contiguous = self.aligned = True
        self.f_contiguous = len(shape) <= 1
        return self

    def on_host(self, address: int) -> "Facts":
        """The same memory, read by the host at this address."""
        other = type(self).__new__(type(self))
        for name in self.__slots__:
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        other.tell(self.came)
        other.device = Device("cpu")
        other.ptr = address
        return other

    def brought(self) -> "Facts":
        """The same values in fresh memory of the host, to which the driver copies them."""
        other = type(self).fresh(self.dtype, self.shape, "")
        other.view = self.view  # to be copied from
        if self.f_contiguous and not self.c_contiguous:
            other.strides, other.c_contiguous, other.f_contiguous = self.strides, False, True
        other.tell(self.came)
        return other

    def sent(self, device: Device) -> "Facts":
        """The same values in fresh memory of a device, to which the driver copies them."""
        other = type(self).fresh(self.dtype, self.shape, "")
        other.view = self.view
        other.device = device
        other.tell(self.came)
        return other

    _came: "str | None"
    _told: str

    def tell(self, came: str) -> None:
        """Say what messages show of it: of memory of a column, the column."""
        self._came = came

    def _describe(self) -> str:
        """What a refusal shows of it, as of a View."""
        return self.came

    @property
    def came(self) -> str:
        """What a message shows of it: worked out only when something is said."""
        if self._came is None:
            if self.view is not None:
                self._came = describe.came(self.view)
            else:
                place, comma, lender = self._told.partition(", ")
                marked = ", read-only" if self.readonly else ""
                self._came = f"{self.dtype}[{', '.join(map(str, self.shape))}] {place}{marked}{comma}{lender}"
        return self._came


# what memory on the host that is held by its object was not taken by
_NEVER_HOST = ("buffer protocol", "CUDA array interface", "SYCL USM array interface")
# what an array struct has no word for
_NOT_IN_STRUCTS = ("datetime", "timedelta", "opaque", "bytes", "text", "object", "record")


def protocol_of(obj: "Any", view: View) -> str:
    """The protocol by which a View of obj was taken, told by its lease and the doors of obj."""
    if type(obj) is View or type(obj) is Buffer or issubclass(type(obj), Producer):
        return "lend itself"
    owner = view.owner
    pending = getattr(doors.adapter_of(obj), "unresolved", None)
    written = None if pending is None else pending(obj)
    if written is not None:
        return str(written.door)
    if owner.kind == "buffer" and owner.producer is not obj:
        return "array method"
    if owner.kind == "device":
        return "SYCL USM array interface" if view.device.name == "oneapi" else "CUDA array interface"
    names = [door.protocol.name for door in doors.doors_of(obj, front.OWN)]
    if owner.kind == "buffer" and "buffer protocol" in names:
        return "buffer protocol"
    dlpack = [name for name in names if name.startswith("DLPack")]
    if owner.kind == "dlpack":
        return dlpack[0] if dlpack else "DLPack"
    others = [name for name in names if name not in dlpack and name not in _NEVER_HOST]
    if "array struct" in others and view.dtype.kind in _NOT_IN_STRUCTS:
        others.remove("array struct")
    return others[0] if others else "unknown"

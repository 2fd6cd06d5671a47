"""Whether what a given buffer says of its elements is what a column takes them for: width alone tells no double."""

from lend.columns import roles, scalars
from lend.dtypes.dtype import DType
from lend.errors import MalformedDescriptor
from lend.protocols.classes import bases_of, full_name
from lend.views import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.columns.column import Column
    from lend.views.view import View

_BITS, _OFFSETS = 1, 3  # of _core/arrow_layout.pxd: bools of one bit, text between offsets
_MEANT = "lend.buffer(x), where these bytes are meant all the same"


def check(column: "Column", layout: int, place: int, role: str, by_bits: bool, width: int, part: "View") -> None:
    """Refuse elements that their object tells as others than the column has; bytes that nobody tells of may be any.

    `by_bits` says of a validity that it is one of bits. Widths and byte orders were compared before.
    """
    told = part.dtype.newbyteorder("native")
    if told.kind == "opaque" or told in ("uint8", "bytes[1]") or (told == "int8" and _is_of_arrow(part.owner.producer)):
        return
    if (role == "validity" and by_bits) or layout == _BITS:
        # words of bits are unsigned; signed numbers and bools say an element each
        wanted, fits = "bits, eight to a byte", (told.kind == "uint" and part.dtype.is_native) or told == "int8"
    elif role == "validity":
        wanted, fits = "bytes of 0 and 1", told in ("bool", "int8")
    elif role == "variadic" or (layout == _OFFSETS and place == 2):
        wanted, fits = "bytes", told.kind == "bytes" or told == "int8"
    elif role == "views":
        wanted, fits = "views of 16 bytes", told.kind in ("record", "bytes")
    elif role != "data":
        number = DType(f"int{8 * roles.width_of(layout, place, width)}")
        wanted, fits = str(number), told == number
    else:
        wanted, fits = str(column.dtype), _is_stored(column.dtype, told)
    if not fits:
        raise _told_otherwise(column, role, wanted, part)


def _is_of_arrow(producer: object) -> bool:
    """Whether it is a Buffer of pyarrow's, which calls its bytes int8, whatever they are."""
    return any(full_name(base) == "pyarrow.lib.Buffer" for base in bases_of(type(producer)))


def _is_stored(dtype: DType, told: DType) -> bool:
    """Whether elements of `told` are what a column of `dtype` stores: its own, its numbers, or times of its unit."""
    inner = scalars.base(dtype)
    stored = inner.storage
    if stored is None or told in (inner.newbyteorder("native") if inner is stored else inner, stored):
        return True
    if inner.kind == "bool":
        return told == "int8"  # what Arrow's bool8 stores
    if stored.kind == "opaque":
        return told.kind in ("bytes", "record")
    if inner.kind in ("datetime", "date", "timedelta", "time"):
        kind = "datetime" if inner.kind in ("datetime", "date") else "timedelta"
        alike = told.kind == kind and (told.unit, told.multiplier) == (inner.unit, inner.multiplier or 1)
        return alike or told == f"int{8 * (stored.itemsize or 0)}"
    return False


def _told_otherwise(column: "Column", role: str, wanted: str, part: "View") -> MalformedDescriptor:
    remedy = _MEANT
    if part.dtype == "bool":
        remedy += "; " + (
            'nulls=Nulls("bytemask", missing=0) for a mask that is True where it is valid'
            if role == "validity"
            else 'the dtype "bool" for bools of a byte each'
        )
    return MalformedDescriptor.build(
        f"the buffer {role!r} says that its elements are {part.dtype}, "
        f"and a column of {column.dtype} has {wanted} there",
        came=describe.came(part),
        remedy=remedy,
    )

"""What lend makes of columns before a library of Arrow data takes them: Arrow's form, nulls as `nulls=` asks, a copy.

Each is a draft, which tells its bytes before it is carried out.
"""

from functools import partial

from lend._core import kernels
from lend.adapters import text
from lend.adapters.verdicts import TO_COME
from lend.columns import forms, inside, refusals, roles, run_refusals
from lend.columns.anatomy import Anatomy
from lend.columns.column import Column
from lend.columns.drafts import NONE, Draft, Writing, each_chunk, kept, lead_of, unchanged
from lend.columns.isolating import isolated
from lend.columns.joining import nothing
from lend.columns.masked_structs import NAME
from lend.columns.runs import Wish
from lend.columns.scalars import base
from lend.dtypes import DType
from lend.errors import UnsupportedType
from lend.views import values
from lend.views.view import View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.columns.drafts import Filling

_FILLABLE = ("bool", "int", "uint", "float", "bfloat", "datetime", "timedelta", "date", "time")
# what puts a value under the nulls of text there
_FILLERS = {
    "polars": ", and fill_null of polars", "pyarrow": ", and fill_null of pyarrow", "duckdb": ", and coalesce() there",
}  # fmt: skip
_STRUCTS = ("pyarrow", "polars", "arro3")


class ToCome:
    """Stands for the draft of a column whose rows did not come yet: what will be written nobody knows."""

    same = False
    nbytes = None

    def __init__(self, source: Column) -> None:
        self.source, self.reasons = source, [TO_COME]


class MadeText:
    """Stands for the draft of text of NumPy's, of which a library makes text."""

    same = False

    def __init__(self, source: Column, taker: str) -> None:
        self.source, self.taker = source, taker
        name = text.library(refusals.named(source), refusals.came(source), taker)
        made = "text of NumPy's strings" if source.dtype.kind == "text" else "binary of NumPy's bytes, without padding"
        self.reasons = [f"{name} makes {made}"]

    @property
    def nbytes(self) -> int:
        """Bytes of the text, which is made to tell: of a plan alone, or of what `copy=False` refuses."""
        return text.nbytes_of(self.source, self.taker) if len(self.source) else 0

    def make(self) -> Column:
        return text.column_of(self.source, self.taker)


def shown(column: Column) -> Column:
    """A column with the type that a library will be given, for it to judge."""
    if column.dtype.kind == "text":
        return Column.from_buffers("large_utf8", 0, {"data": b""}, name=column.name)
    if text.is_padded(column):
        return Column.from_buffers("large_binary", 0, {"data": b""}, name=column.name)
    return column


def draft_of(column: Column, library: str, nulls: "Any", copy: "bool | None", *, to_come: bool = False) -> "Any":
    """The draft of a column for a library that takes Arrow data."""
    if nulls in ("mask", "nan", "object") or (nulls == "struct" and library not in _STRUCTS):
        raise _no_policy(nulls, library, column)
    if to_come and (copy is True or nulls is not None):
        if nulls == "struct":
            _check_struct(column, library)
        return ToCome(column)
    if nulls == "forbid":
        inside.forbid_nulls(column, Wish(library, nulls))
    if type(nulls) is tuple and column.null_count:
        draft = each_chunk(column, partial(_filled, value=nulls[1], library=library))
    elif column.dtype.kind == "text" or (nulls != "struct" and text.is_padded(column)):
        return MadeText(column, library)
    elif nulls == "struct":
        draft = each_chunk(column, partial(_struct, missing=_missing(column), library=library))
    else:
        draft = forms.arrow_form(column, reader=library)
    return isolated(draft) if copy is True else draft


def copy_of(column: Column, *, to_come: bool = False) -> "Any":
    """The draft of a column as it lies, in memory of its own."""
    return ToCome(column) if to_come else isolated(unchanged(column))


def _no_policy(nulls: str, library: str, column: Column) -> UnsupportedType:
    remedies = ["nulls=None: the nulls as they are, which Arrow data has a bit for"]
    if nulls == "mask" and library in _STRUCTS:
        remedies = ['nulls="struct": the values and a mask of bytes beside them']
    return UnsupportedType.build(
        f"{library} takes Arrow data, in which nulls={nulls!r} is no way to show nulls",
        wanted=library,
        came=refusals.came(column),
        remedy=remedies,
    )


# -- a value under nulls -----------------------------------------------------------------------------------------------


def _filled(column: Column, value: "Any", library: str) -> Draft:
    """A value of the dtype's own under the nulls, in Arrow's form."""
    parts = Anatomy(column)
    is_bool = parts.layout == "bits" or parts.dtype.kind == "bool"
    odd = parts.layout not in ("fixed", "bits") or base(parts.dtype).kind not in _FILLABLE
    if odd or parts.dtype.dictionary is not None:
        raise UnsupportedType.build(
            f"{refusals.named(column)} is of {parts.dtype!s:.200}, under whose nulls lend puts no value",
            wanted=library,
            came=refusals.came(column),
            remedy=f'lend.to(x, "{library}", nulls=None): its nulls as they are{_FILLERS.get(library, "")}',
        )
    if is_bool:
        if value is not True and value is not False:
            raise run_refusals.no_value(column, value, Wish(library))
        if roles.is_bool8(column.metadata):  # bytes that stay bytes
            return forms.filled(column, value) if parts.null_count() else forms.arrow_form(column)
        draft = _without_validity(parts, DType.from_arrow("b"))
        draft.buffers = {"data": Writing((parts.n + 7) // 8, partial(_bits, parts, bytes([value])))} if parts.n else {}
        return draft
    if isinstance(value, bool):
        raise run_refusals.no_value(column, value, Wish(library))
    whole = forms.filled(column, value)
    if parts.dtype.kind == "datetime" and parts.dtype.unit == "D" and parts.width == 8:
        raise UnsupportedType.build(
            f"{refusals.named(column)} is of days of 8 bytes, which Arrow does not have",
            came=refusals.came(column),
            remedy=f'lend.to(x, "{library}", nulls=None); or x.astype("datetime64[s]") before, and then this',
        )
    return whole if parts.null_count() else forms.arrow_form(column)  # of chunks, some have no null


def _without_validity(parts: Anatomy, dtype: DType) -> Draft:
    draft = kept(parts)
    draft.dtype, draft.nulls = dtype, NONE
    draft.buffers.pop("validity", None)
    draft.reasons = ["a value under nulls"] if parts.n else []
    return draft


def _bits(parts: Anatomy, value: bytes, to: int) -> None:
    """Bools as bits, with a value under nulls: by way of bytes."""
    n = parts.n
    room, filled = values.fresh(n), values.fresh(n)
    if parts.layout == "bits":
        kernels.bits_to_bytes(room.ptr, 1, parts.data, parts.offset, 0, n)
    else:
        parts.gather(room.ptr, 0, n)
    mask, _held = parts.any_mask()
    kernels.fill_nulls(filled.ptr, room.ptr, 1, 1, *mask, value, n)
    kernels.bytes_to_bits(to, 0, filled.ptr, 1, 0, n)


# -- values and a mask of bytes ----------------------------------------------------------------------------------------


def _struct(column: Column, missing: int, library: str) -> Draft:
    """struct<values, mask: bool8> of a column with a mask of bytes, both shared; of other columns a mask is made.

    Which truth of the mask says null stands in the metadata of the extension type: b"1" or b"0".
    """
    parts = _check_struct(column, library)
    n = parts.n
    lead = lead_of(parts, keeps_bits=parts.layout == "bits")
    inner = kept(parts, lead)
    told: Filling | None = None
    if parts.form == "bytemask" and parts.missing == missing:
        told = inner.buffers.get("validity")
        told = told[lead:] if isinstance(told, View) else told
    inner.buffers.pop("validity", None)
    inner.nulls = NONE
    if not isinstance(told, View) or told.strides != (1,):
        told = Writing(n, lambda to: forms.write_mask(parts, to, 0, n))
    values_draft = forms.arrow_form(inner.made())
    mask = Draft(column, DType("int8"), n, 0)
    if n:
        mask.buffers = {"data": told}
    of_bytes = roles.blob_of(roles.BOOL8) if roles.is_bool8(column.metadata) else None
    dtype = DType.from_arrow(
        "+s",
        fields=[
            ("values", values_draft.dtype, True, of_bytes),
            ("mask", mask.dtype, False, roles.blob_of(roles.BOOL8)),
        ],
        extension=(NAME, str(missing).encode()),
    )
    draft = Draft(column, dtype, n, 0)
    draft.metadata = roles.unextended(column.metadata)  # an extension type of its own is that of the values
    draft.children = [values_draft, mask]
    if isinstance(told, Writing) and n:
        draft.reasons = ["a mask of bytes"]
    draft.reasons += [reason for reason in values_draft.reasons if reason not in draft.reasons]
    return draft


def _check_struct(column: Column, library: str) -> Anatomy:
    parts = Anatomy(column if column.chunks else nothing(column))
    if parts.layout not in ("fixed", "bits") or parts.dtype.dictionary is not None:
        raise UnsupportedType.build(
            f"{refusals.named(column)} is of {parts.dtype!s:.200}, and a mask of bytes is shared of numbers alone",
            came=refusals.came(column),
            remedy=f'lend.to(x, "{library}", nulls=None): its nulls as they are',
        )
    return parts


def _missing(column: Column) -> int:
    """Which truth of the mask says null: that of all masks which can be shared, else 1."""
    chunks = [Anatomy(chunk) for chunk in column.chunks if len(chunk)]
    if chunks and all(each.form == "bytemask" and not each.missing and each.mask_step == 1 for each in chunks):
        return 0
    return 1

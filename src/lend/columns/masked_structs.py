"""What `nulls="struct"` makes of a column, taken again: values and a byte for each that says whether it is null.

Arrow has no mask of bytes; the extension type `lend.masked` over struct<values, mask> carries one as it lies. Its
metadata is the truth of the mask that says null, b"0" or b"1".
"""

from lend._core.letting_go import lets_go
from lend.columns import roles
from lend.columns.anatomy import Anatomy
from lend.columns.column import Column
from lend.columns.drafts import kept, lead_of
from lend.columns.nullness import Nulls
from lend.views import values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lend.views.view import View

NAME = "lend.masked"


@lets_go
def recognised(column: Column) -> Column:
    """The column with a mask that was given as such a struct; any other, and what somebody has changed, as it is."""
    told = column.dtype.extension
    if told is None or told[0] != NAME or told[1] not in (b"0", b"1") or not column.device.is_host:
        return column
    if [name for name, _ in column.dtype.children] != ["values", "mask"] or column.null_count:
        return column
    n = len(column)
    inner, mask = (child[column.offset : column.offset + n] for child in column.children)
    if mask.dtype not in ("bool", "int8") or mask.null_count or inner.null_count or inner.dtype.dictionary is not None:
        return column
    parts = Anatomy(inner)
    if parts.layout not in ("fixed", "bits"):
        return column
    lead = lead_of(parts, keeps_bits=parts.layout == "bits")
    buffers = kept(parts, lead).buffers
    buffers.pop("validity", None)
    if n:
        start, seen = mask.offset - lead, mask.buffers["data"].view("uint8")
        # bits begin a byte, and elements before the column have no mask where that is not cut of more
        buffers["validity"] = seen[start : start + lead + n] if start >= 0 else _led(lead, seen[mask.offset :][:n])
    return Column.from_buffers(
        inner.dtype,
        n,
        buffers,
        nulls=Nulls("bytemask", int(told[1])) if n else "none",
        offset=lead if n else 0,
        name=column.name,
        metadata={**roles.unextended(column.metadata), **inner.metadata},
    )


def _led(lead: int, mask: "View") -> "View":
    """A mask behind bytes that nobody looks at."""
    from lend._core import copies, kernels

    made = values.fresh(lead + len(mask))
    kernels.gather(made.ptr + lead, 1, mask.ptr, 1, 1, 1, len(mask))
    copies.note("a mask of bytes", "bools that do not begin a byte", made.nbytes)
    return made

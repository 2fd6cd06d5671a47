"""The `descr` of the array interfaces, written: a list of fields, with padding as `('', '|Vn')`."""

from lend.dtypes import records
from lend.errors import UnsupportedType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lend.dtypes.dtype import DType


def write(dtype: "DType") -> "list[tuple[Any, ...]]":
    """The descr of a type; UnsupportedType where it has none."""
    if dtype.kind != "record":
        return [("", dtype.typestr)]
    record = records.record_of(dtype)
    if not record.is_in_order():
        raise UnsupportedType.build(
            "the array interface cannot say a record whose fields overlap or stand out of order",
            remedy='one field at a time: v["name"]',
        )
    if not record.fields and record.itemsize:
        raise UnsupportedType.build("the array interface cannot say a record of bytes without a field")
    said: list[tuple[Any, ...]] = []
    at = 0
    for name, field in record.fields.items():
        if field.offset > at:
            said.append(("", f"|V{field.offset - at}"))
        inner = write(field.dtype) if field.dtype.kind == "record" else field.dtype.typestr
        entry = (name if field.title is None else (field.title, name), inner)
        said.append((*entry, field.shape) if field.shape else entry)
        at = field.offset + records.bytes_of(field)
    if record.itemsize > at:
        said.append(("", f"|V{record.itemsize - at}"))
    return said

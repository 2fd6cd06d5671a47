"""Columns made of what is no column yet: a field of records, the same memory with another form of nulls."""
cimport cython
from libc.string cimport memcpy

from lend._core.arrow_layout cimport LAYOUT_FIXED, LAYOUT_NULL
from lend._core.column cimport (
    COLUMN_CHUNKED, NULLS_BITMASK, NULLS_BYTEMASK, NULLS_NAN, NULLS_NAT, NULLS_NONE, NULLS_SENTINEL,
)
from lend._core.owners cimport Owner
from lend._core.record cimport READONLY, Record, check_layout
from lend.columns.column cimport Column, chunked
from lend.dtypes.dtype cimport DType
from lend.tables.table cimport Table, twin
from lend.views.view cimport View, hold, view_of

from lend.tables import refusals


def field_view(View view not None, Py_ssize_t offset, DType dtype not None):
    """One field of records on a line, as a View over the same memory, under the same lease."""
    cdef Record facts, record
    cdef Owner owner = hold(view, &facts)
    memcpy(&record, &facts, sizeof(Record))
    record.data = NULL if facts.data is NULL else facts.data + offset
    record.itemsize = dtype.itemsize
    record.exports = 0
    record.dtype = dtype.code
    record.flags = facts.flags & READONLY
    check_layout(&record)
    return view_of(owner, &record)


def with_nulls(Column column not None, kind, value):
    """The same memory, of which other elements are null: by their value, or none at all."""
    cdef Column part
    cdef Column made
    cdef int form = {"none": NULLS_NONE, "nan": NULLS_NAN, "nat": NULLS_NAT, "sentinel": NULLS_SENTINEL}[kind]
    if column.record.flags & COLUMN_CHUNKED:
        if not column.parts:
            return twin(column, None)
        return chunked([with_nulls(part, kind, value) for part in column.parts], column.types)
    if column.record.nulls in (NULLS_BITMASK, NULLS_BYTEMASK) or column.record.layout == LAYOUT_NULL:
        count = column.null_count
        if count:
            raise refusals.masked_nulls(column, count, value if kind == "sentinel" else kind)
    made = twin(column, None)
    made.counted = -1
    if form != NULLS_NONE and made.record.layout != LAYOUT_FIXED:
        raise refusals.no_null_value(column, value if kind == "sentinel" else kind)
    made.record.nulls = form
    made.record.null_count = 0 if form == NULLS_NONE else -1
    made.sentinel = value if form == NULLS_SENTINEL else None
    return made


def joined(Column column not None, list chunks not None):
    """Chunks of the type of a column as one Column."""
    cdef Column made = chunked(chunks, column.types)
    if not chunks:
        made = twin(column, None)
    return made


def inner(Table table not None):
    """What a Table keeps of lend's own: leases, its Columns, and those that it handed out."""
    with cython.critical_section(table):
        return table.arrays, tuple(table.made or ()), tuple(table.handed or ())

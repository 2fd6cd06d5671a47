"""The record of a column: plain facts about one chunk of it, whichever protocol told them. Nothing here touches memory.

The address of element i of a buffer is always `buffer + (offset + i) * width`, its validity always number `offset + i`.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t

from lend._core.arrow cimport ArrowArray, ArrowSchema
from lend.dtypes.code cimport Code

cdef enum:
    # forms of nulls
    NULLS_NONE = 0       # a promise of the producer
    NULLS_NAN = 1        # such values are null
    NULLS_SENTINEL = 2
    NULLS_BITMASK = 3
    NULLS_BYTEMASK = 4
    NULLS_NAT = 5

    # places in ColumnRecord.buffers
    VALIDITY = 0
    FIRST = 1            # data, offsets, views, type ids
    SECOND = 2           # what offsets lead into; sizes; offsets of a dense union

    # ColumnRecord.flags
    COLUMN_READONLY = 1
    COLUMN_RELEASED = 2
    COLUMN_CHUNKED = 4   # several chunks: only length is true of all
    COLUMN_TOLD = 8      # its address left by an array interface, which never gives it back
    COLUMN_UNVOUCHED = 16  # put together of loose buffers: what they lead to nobody has looked at yet


ctypedef struct ColumnRecord:
    Py_ssize_t length
    Py_ssize_t offset        # in elements, of every buffer
    Py_ssize_t null_count    # by the column's own form; -1: not counted yet
    char* buffers[3]         # NULL: there is none, or nothing is in it
    Py_ssize_t sizes[3]      # bytes from the pointer on; -1: the producer did not say
    Py_ssize_t steps[2]      # bytes from one byte of a mask, and from one element, to the next
    ArrowArray* node         # the array itself, for what stands only there (children); NULL: of another protocol
    ArrowSchema* type        # the same of its type
    Code code                # of elements of a fixed width
    int32_t device_id
    uint32_t width           # bytes of an element or of an offset; elements of a fixed list
    uint8_t device_type
    uint8_t layout
    uint8_t nulls
    uint8_t missing          # of a mask: the bit, or the truth of the byte, that says null
    uint8_t flags

"""lend_acquire_arrow of include/lend.h: any column or table as Arrow's structs, and what these have no words for."""
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy, memset

from lend._core.arrow cimport ArrowDeviceArray, ArrowSchema
from lend._core.arrow_layout cimport LAYOUT_FIXED
from lend._core.column cimport (
    FIRST, NULLS_BITMASK, NULLS_BYTEMASK, NULLS_NAN, NULLS_NAT, NULLS_NONE, NULLS_SENTINEL, VALIDITY,
    ColumnRecord,
)
from lend.capi cimport set_arrow_way
from lend.columns.column cimport Column

from lend import capi_columns

cdef extern from "lend.h" nogil:
    const uint32_t LEND_READONLY
    const uint32_t LEND_C_CONTIGUOUS
    const int LEND_NULLS_NONE
    const int LEND_NULLS_NAN
    const int LEND_NULLS_SENTINEL
    const int LEND_NULLS_BITMASK
    const int LEND_NULLS_BYTEMASK
    const int LEND_NULLS_NAT

    # again, with its size: lend/__init__.pxd is for others, who have no business with that
    ctypedef struct lend_column:
        uint32_t struct_size
        uint32_t flags
        int32_t nulls
        int32_t missing
        int64_t null_count
        const void* mask
        int64_t mask_bit
        int64_t mask_stride
        const void* data
        int64_t stride
        uint32_t width
        uint32_t sentinel_size
        unsigned char[32] sentinel
        int32_t device_type
        int32_t device_id

if ((LEND_NULLS_NONE, LEND_NULLS_NAN, LEND_NULLS_SENTINEL, LEND_NULLS_BITMASK, LEND_NULLS_BYTEMASK, LEND_NULLS_NAT)
        != (NULLS_NONE, NULLS_NAN, NULLS_SENTINEL, NULLS_BITMASK, NULLS_BYTEMASK, NULLS_NAT)):
    raise ImportError("lend.h and lend's columns number the forms of nulls differently")


cdef int acquire_arrow(PyObject* obj, uint32_t flags, void* schema, void* array, void* told) except -1:
    cdef lend_column* said = <lend_column*> told
    cdef ArrowSchema* kind
    cdef ArrowDeviceArray* held
    cdef object given, pair, sentinel
    if said is not NULL and said.struct_size < sizeof(lend_column):
        raise capi_columns.wrong_struct(said.struct_size)
    given, pair, sentinel = capi_columns.offered(<object> obj, flags, said is not NULL)
    kind = <ArrowSchema*> PyCapsule_GetPointer((<tuple> pair)[0], "arrow_schema")
    held = <ArrowDeviceArray*> PyCapsule_GetPointer((<tuple> pair)[1], "arrow_device_array")
    if said is not NULL:
        tell(given, said, sentinel, held)
    # the capsules are our own, and nothing can fail any more
    (<ArrowSchema*> schema)[0] = kind[0]
    kind.release = NULL
    (<ArrowDeviceArray*> array)[0] = held[0]
    held.array.release = NULL
    return 0


cdef int tell(object given, lend_column* said, bytes sentinel, const ArrowDeviceArray* array) except -1:
    """Write down how the elements and the nulls of a column of one chunk lie; of a table that no row is null."""
    cdef ColumnRecord* facts
    cdef uint32_t size = said.struct_size
    memset(said, 0, sizeof(lend_column))
    said.struct_size = size
    said.device_type = array.device_type
    said.device_id = <int32_t> array.device_id
    said.flags = LEND_READONLY
    if type(given) is not Column:
        return 0
    facts = &(<Column> given).record
    said.nulls = facts.nulls
    said.null_count = facts.null_count
    if not given.readonly:  # with all that is below it
        said.flags = 0
    if facts.layout == LAYOUT_FIXED:
        said.width = facts.width
        said.stride = facts.steps[1]
        if facts.buffers[FIRST] is not NULL:
            said.data = facts.buffers[FIRST] + facts.offset * facts.steps[1]
    if facts.layout != LAYOUT_FIXED or facts.steps[1] == facts.width or facts.length < 2:
        said.flags |= LEND_C_CONTIGUOUS
    if facts.nulls == NULLS_BITMASK or facts.nulls == NULLS_BYTEMASK:
        said.missing = facts.missing
        if facts.buffers[VALIDITY] is NULL:
            said.nulls = LEND_NULLS_NONE
            said.null_count = 0
        elif facts.nulls == NULLS_BITMASK:
            said.mask = facts.buffers[VALIDITY]
            said.mask_bit = facts.offset
        else:
            said.mask = facts.buffers[VALIDITY] + facts.offset * facts.steps[0]
            said.mask_stride = facts.steps[0]
    if sentinel is not None:
        said.sentinel_size = <uint32_t> len(sentinel)
        memcpy(said.sentinel, PyBytes_AS_STRING(sentinel), len(sentinel))
    return 0


set_arrow_way(acquire_arrow)

"""What a lend_request asks for, and whether memory lies so: as lend_take.h judges it, which has the say on dtypes."""
from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcmp

from lend._core.c_view cimport LEND_ALIGNED, lend_view
from lend._core.record cimport MAX_DIMS, WANT_ANY, WANT_WRITABLE
from lend._core.seldom cimport seldom
from lend.dtypes.c_dtype cimport LEND_ANY_TYPE, LEND_OPAQUE, code_from_c, lend_dtype
from lend.dtypes.code cimport Code
from lend.dtypes.dtype cimport dtype_from_code

cdef extern from "lend.h" nogil:
    const uint32_t LEND_READONLY
    const uint32_t LEND_C_CONTIGUOUS
    const uint32_t LEND_F_CONTIGUOUS
    const uint32_t LEND_EXCLUSIVE
    const uint32_t LEND_OPAQUE_HANDLE
    const uint32_t LEND_SYNC_UNKNOWN
    const uint32_t LEND_WRITABLE
    const uint32_t LEND_C_ORDER
    const uint32_t LEND_F_ORDER
    const uint32_t LEND_COPY_IF_NEEDED
    const uint32_t LEND_COPY
    const uint32_t LEND_NEED_ALIGNED

    ctypedef struct lend_request:
        uint32_t struct_size
        uint32_t flags
        lend_dtype dtype
        int32_t ndim
        uint32_t align
        int32_t device_type
        int32_t device_id
        void* stream

# the dtypes of requests have one judge, for who has lend and for who has the header alone
cdef extern from "lend_take.h" nogil:
    const char* lend_take_doubt(const lend_dtype* said)
    bint lend_take_same_type(const lend_dtype* said, const lend_dtype* held)

cdef enum:
    KNOWN_REQUEST = 63 << 8   # LEND_WRITABLE to LEND_NEED_ALIGNED
    BOTH_ORDERS = 6 << 8      # LEND_C_ORDER | LEND_F_ORDER


cdef inline object capi_refusals():
    seldom()
    from lend import capi_refusals
    return capi_refusals


cdef inline bint can_be_met(const lend_request* request) noexcept nogil:
    """Whether the numbers of a request mean something."""
    return (not request.flags & ~KNOWN_REQUEST and request.flags & BOTH_ORDERS != BOTH_ORDERS
            and -1 <= request.ndim <= MAX_DIMS and not request.align & (request.align - 1)
            and request.align <= 1 << 30 and request.device_type >= 0)


cdef inline bint same_type(const lend_dtype* said, const lend_dtype* held) noexcept nogil:
    """Whether elements are of the dtype that was asked for; not, where there is none such."""
    return memcmp(said, held, sizeof(lend_dtype)) == 0 or means_the_same(said, held)


cdef inline bint means_the_same(const lend_dtype* said, const lend_dtype* held) noexcept nogil:
    """The same for what is not said word for word: an order of single bytes, an itemsize left open."""
    seldom()
    return lend_take_doubt(said) is NULL and lend_take_same_type(said, held)


cdef inline bint code_wanted(const lend_dtype* said, Code* out) noexcept nogil:
    """The dtype that is asked for, where it is one of lend's by itself: no record, no object, no size left open."""
    seldom()
    cdef lend_dtype whole = said[0]
    cdef uint32_t bits = <uint32_t> said.bits * said.lanes
    if whole.code < LEND_OPAQUE and not whole.itemsize and not bits & 7:
        whole.itemsize = bits >> 3
    return code_from_c(&whole, out)


cdef inline bint meets(const lend_view* view, const lend_request* request) noexcept nogil:
    """Whether memory lies as requested."""
    cdef bint hosted = view.device_type == 1    # of any other the driver is asked, and the work waited for
    cdef size_t place = <size_t> (view.byte_offset if view.flags & LEND_OPAQUE_HANDLE else <size_t> view.data)
    if request.flags & LEND_COPY or (request.flags & LEND_WRITABLE and view.flags & LEND_READONLY):
        return False
    if request.ndim != view.ndim and request.ndim != -1:
        return False
    if request.flags & LEND_C_ORDER and not view.flags & LEND_C_CONTIGUOUS:
        return False
    if request.flags & LEND_F_ORDER and not view.flags & LEND_F_CONTIGUOUS:
        return False
    if request.dtype.code != LEND_ANY_TYPE and not same_type(&request.dtype, &view.dtype):
        return False
    if request.align > 1 and place % request.align and view.nbytes:
        return False
    if request.flags & LEND_NEED_ALIGNED and not view.flags & LEND_ALIGNED:
        return False
    if request.stream is not NULL and not hosted:
        return False
    if request.device_type == 0:
        return True
    if request.device_type == 1:
        return hosted
    return view.device_type == request.device_type and request.device_id in (-1, view.device_id)


cdef inline int wanted(const lend_request* request) except -1:
    if request.struct_size < sizeof(lend_request) or not can_be_met(request):
        raise capi_refusals().wrong_request((request.struct_size, request.flags, request.flags & ~KNOWN_REQUEST,
                                             request.ndim, request.align, request.device_type), sizeof(lend_request))
    if lend_take_doubt(&request.dtype) is not NULL:
        raise wrong_dtype(&request.dtype)
    # what may be copied need not be writable as it lies
    if request.flags & LEND_WRITABLE and not request.flags & (LEND_COPY | LEND_COPY_IF_NEEDED):
        return WANT_WRITABLE
    return WANT_ANY


cdef inline object wrong_dtype(const lend_dtype* said):
    seldom()
    cdef const char* doubt = lend_take_doubt(said)
    return capi_refusals().wrong_dtype(b"code" if doubt is NULL else doubt, said.code, said.bits, said.lanes,
                                       said.itemsize)


cdef inline tuple asked_of(const lend_request* request):
    """What a copy has to be given to be as requested: dtype, order and alignment, None or 0 where any will do."""
    seldom()
    cdef Code code
    dtype = None
    if request.dtype.code != LEND_ANY_TYPE and code_wanted(&request.dtype, &code):
        dtype = dtype_from_code(code)
    order = "C" if request.flags & LEND_C_ORDER else "F" if request.flags & LEND_F_ORDER else None
    return dtype, order, request.align

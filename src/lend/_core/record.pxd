"""The record: plain facts about one piece of strided memory, and the checks every descriptor must pass.

A protocol file fills a record from its wire format and writes its wire format from a record; `View` embeds one. Nothing
here touches the memory described.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from lend._core.checked cimport add_overflows, mul_overflows
from lend._core.seldom cimport seldom
from lend.dtypes.code cimport Code, code_shared_bits

cdef enum:
    INLINE_DIMS = 8      # shapes and strides up to this many dimensions lie in the record itself
    MAX_DIMS = 64        # lend's own limit: that of the buffer protocol

    # Record.flags
    READONLY = 1
    C_CONTIGUOUS = 2
    F_CONTIGUOUS = 4
    INLINE_LEASE = 8     # the holder is the exporter, the Py_buffer lies in the View
    EXCLUSIVE = 16       # a private copy: DLPack's IS_COPIED
    HANDLE = 32          # the device has no addresses: `data` is an offset into the owner's opaque handle
    UNTOLD = 64          # the producer could not say whether it is writable: unversioned DLPack
    RELEASED = 128
    INLINE_TENSOR = 512  # the holder is the producer, the DLPack tensor's pointer lies in the View
    INLINE = 520         # either
    GATHERED = 1024      # rows behind pointers, just copied into memory of lend's own
    UNBOUNDED = 256      # only a pointer is known: the extent of the memory cannot be checked
    ADDRESS_TOLD = 2048  # by an array interface, which nobody gives back: release() keeps the lease till the end
    DERIVED = 4096       # made of something lent, or of words: not as a producer showed it

    # the request of a caller
    WANT_ANY = 0
    WANT_WRITABLE = 1
    WANT_BYTES = 2       # untyped: a format that is not understood is no obstacle
    WANT_COPY = 4        # it is copied in any case: `__array__` may make a new array

    # DLPack device codes that the core must know by name
    DEVICE_CPU = 1
    DEVICE_CUDA_HOST = 3
    DEVICE_ROCM_HOST = 11
    DEVICE_CUDA_MANAGED = 13

    # answers of check_layout
    LAYOUT_OK = 0
    LAYOUT_NEGATIVE = 1   # an extent below zero
    LAYOUT_TOO_LARGE = 2  # the number of bytes does not fit
    LAYOUT_TOO_WIDE = 3   # the strides reach further than an address can


cdef extern from *:
    """
    #define LEND_FARTHEST (PY_SSIZE_T_MAX / 2)  /* no address space holds a wider span */
    """
    const Py_ssize_t FARTHEST "LEND_FARTHEST"
    const Py_ssize_t PY_SSIZE_T_MAX


ctypedef struct Record:
    char* data            # address of element 0 (HANDLE: offset of it)
    uint32_t itemsize     # 0: no bytes at all, or a packed dtype of which several share a byte; then strides are 0
    int exports           # open Py_buffers of the object that embeds this record
    Code dtype
    int32_t device_id
    uint8_t device_type   # DLPack's code
    uint8_t ndim
    uint16_t flags
    Py_ssize_t dims[16]   # shape, then strides in bytes; above 8 dimensions a pointer to both


cdef inline Py_ssize_t* shape_of(const Record* record) noexcept nogil:
    if record.ndim <= INLINE_DIMS:
        return <Py_ssize_t*> record.dims
    return <Py_ssize_t*> record.dims[0]


cdef inline Py_ssize_t* strides_of(const Record* record) noexcept nogil:
    if record.ndim <= INLINE_DIMS:
        return <Py_ssize_t*> record.dims + INLINE_DIMS
    return <Py_ssize_t*> record.dims[0] + record.ndim


cdef inline bint set_ndim(Record* record, int ndim) noexcept nogil:
    """Make room for ndim extents and strides (0 <= ndim <= MAX_DIMS); False: no memory."""
    cdef Py_ssize_t* far
    if ndim > INLINE_DIMS:
        far = <Py_ssize_t*> malloc(2 * ndim * sizeof(Py_ssize_t))
        if far is NULL:
            return False
        record.dims[0] = <Py_ssize_t> far
    record.ndim = ndim
    return True


cdef inline void clear_dims(Record* record) noexcept nogil:
    """Free what set_ndim took; the record is 0-d afterwards."""
    if record.ndim > INLINE_DIMS:
        free(<Py_ssize_t*> record.dims[0])
    record.ndim = 0


cdef inline bint copy_record(Record* to, const Record* source) noexcept nogil:
    """Copy the facts; exports and what belongs to the embedding object are not facts about memory. False: no memory."""
    memcpy(to, source, sizeof(Record))
    to.exports = 0
    to.flags = source.flags & ~(INLINE | RELEASED | ADDRESS_TOLD)
    if source.ndim > INLINE_DIMS:
        to.ndim = 0
        if not set_ndim(to, source.ndim):
            return False
        memcpy(shape_of(to), shape_of(source), 2 * source.ndim * sizeof(Py_ssize_t))
    return True


cdef inline Py_ssize_t element_count(const Record* record) noexcept nogil:
    """Product of the extents; of a checked record it cannot overflow."""
    cdef Py_ssize_t n = 1
    cdef Py_ssize_t* shape = shape_of(record)
    cdef int i
    for i in range(record.ndim):
        n *= shape[i]
    return n


cdef inline Py_ssize_t byte_count(const Record* record) noexcept nogil:
    """Bytes of the elements (not of the span)."""
    if record.itemsize == 0:
        return packed_bytes(record)
    return element_count(record) * record.itemsize


cdef inline Py_ssize_t packed_bytes(const Record* record) noexcept nogil:
    """The bytes that packed elements fill, the last maybe in part; of a checked record it cannot overflow."""
    seldom()
    return (element_count(record) * code_shared_bits(record.dtype) + 7) >> 3


cdef inline bint is_packed(const Record* record) noexcept nogil:
    """Whether several elements share a byte: no strides, row-major, and the first begins a byte."""
    return record.itemsize == 0 and code_shared_bits(record.dtype) != 0


cdef inline bint read_by_host(int device_type) noexcept nogil:
    """Kinds of memory that the host may read without asking a driver, and without waiting for anything."""
    return device_type == DEVICE_CPU


cdef inline bint on_host(const Record* record) noexcept nogil:
    """Whether the host may read the memory of a record so."""
    return read_by_host(record.device_type)


cdef inline bint has_addresses(int device_type) noexcept nogil:
    """False for devices whose `data` is an opaque handle (OpenCL, Vulkan, Metal, WebGPU) and for unknown ones."""
    return device_type in (1, 2, 3, 9, 10, 11, 12, 13, 14, 16, 17, 18)


cdef inline void column_major(Record* record) noexcept nogil:
    """Fill the strides of an F-contiguous array; overflow is check_layout's to find."""
    cdef Py_ssize_t step = record.itemsize
    cdef int i
    for i in range(record.ndim):
        strides_of(record)[i] = step
        if shape_of(record)[i] > 1 and mul_overflows(step, shape_of(record)[i], &step):
            step = 0


cdef inline void row_major(Record* record) noexcept nogil:
    """Fill the strides of a C-contiguous array; overflow is check_layout's to find."""
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef Py_ssize_t step = record.itemsize
    cdef int i
    for i in range(record.ndim - 1, -1, -1):
        strides[i] = step
        # an extent of 0 must not make the strides of the others 0; a wild one must not overflow here
        if shape[i] > 1 and mul_overflows(step, shape[i], &step):
            step = 0


cdef inline int check_layout(Record* record) noexcept nogil:
    """Check shape and strides of a record from outside; set the contiguity flags and the read-only one of overlaps.

    A size-1 dimension decides nothing; zero size is contiguous both ways; a zero stride over more than one element is
    read-only, as one element stands at several places. Returns a LAYOUT_ code.
    """
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef Py_ssize_t total = record.itemsize
    cdef Py_ssize_t elements = 1
    cdef Py_ssize_t step = record.itemsize
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t high = record.itemsize
    cdef Py_ssize_t reach
    cdef bint empty = False
    cdef bint overlap = False
    cdef bint wide = False
    cdef int flags = C_CONTIGUOUS | F_CONTIGUOUS
    cdef int i
    if record.ndim == 1 and strides[0] == total and 0 <= shape[0] <= 0x7FFFFFFF:
        # plain and short of any overflow (an item has at most 32 bits of size): most of what comes
        record.flags = record.flags | C_CONTIGUOUS | F_CONTIGUOUS
        return LAYOUT_OK
    if total == 0 and code_shared_bits(record.dtype):
        return check_packed(record)
    for i in range(record.ndim - 1, -1, -1):
        if shape[i] < 0:
            return LAYOUT_NEGATIVE
        if shape[i] == 0:
            empty = True
        elif shape[i] > 1:
            if strides[i] != total:
                flags &= ~C_CONTIGUOUS
            if strides[i] == 0:
                overlap = True
            # items of no bytes are counted all the same
            if mul_overflows(total, shape[i], &total) or mul_overflows(elements, shape[i], &elements):
                return LAYOUT_TOO_LARGE
            if (mul_overflows(shape[i] - 1, strides[i], &reach)
                    or add_overflows(low if reach < 0 else high, reach, &low if reach < 0 else &high)):
                wide = True  # unless nothing is there to be reached
    if empty:
        # no element lies anywhere: the natural strides, so that no consumer stumbles over those that were said
        row_major(record)
        record.flags = record.flags | C_CONTIGUOUS | F_CONTIGUOUS
        return LAYOUT_OK
    if wide or low < -FARTHEST or high > FARTHEST or high - low > FARTHEST:
        return LAYOUT_TOO_WIDE
    if record.ndim > 1 and total != record.itemsize:
        for i in range(record.ndim):
            if shape[i] > 1:
                if strides[i] != step:
                    flags &= ~F_CONTIGUOUS
                step *= shape[i]
    elif not flags & C_CONTIGUOUS:
        flags &= ~F_CONTIGUOUS
    if overlap and total:     # items of no bytes stand nowhere
        flags |= READONLY
    record.flags = (record.flags & ~(C_CONTIGUOUS | F_CONTIGUOUS)) | flags
    return LAYOUT_OK


cdef inline int check_packed(Record* record) noexcept nogil:
    """The same where several elements share a byte: they lie row-major, and strides, which say nothing, become 0."""
    seldom()
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t bits = code_shared_bits(record.dtype)
    cdef int wide = 0
    cdef bint empty = False
    cdef int i
    for i in range(record.ndim):
        strides_of(record)[i] = 0
        if shape[i] < 0:
            return LAYOUT_NEGATIVE
        if shape[i] == 0:
            empty = True
        elif shape[i] > 1:
            wide += 1
            if mul_overflows(bits, shape[i], &bits):
                return LAYOUT_TOO_LARGE
    if bits > PY_SSIZE_T_MAX - 7:
        return LAYOUT_TOO_LARGE
    record.flags |= C_CONTIGUOUS
    if empty or wide <= 1:
        record.flags |= F_CONTIGUOUS
    else:
        record.flags &= ~F_CONTIGUOUS
    return LAYOUT_OK


cdef inline void span_of(const Record* record, Py_ssize_t* low, Py_ssize_t* high) noexcept nogil:
    """Lowest and highest byte touched, relative to element 0, of a checked record: [low, high). Items of no bytes touch
    none, whatever their strides."""
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef Py_ssize_t reach
    cdef int i
    low[0] = 0
    high[0] = record.itemsize
    if record.itemsize == 0:
        high[0] = packed_bytes(record)
        return  # other items of no bytes touch none, wherever their strides lead
    for i in range(record.ndim):
        if shape[i] == 0:
            low[0] = 0
            high[0] = 0
            return
        reach = (shape[i] - 1) * strides[i]
        if reach < 0:
            low[0] += reach
        else:
            high[0] += reach


cdef inline bint has_gaps(const Record* record) noexcept nogil:
    """Whether bytes between the lowest and the highest, of a checked record, belong to no element; elements may lie in
    any order, or repeat."""
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef size_t filled = record.itemsize, least, step
    cdef uint64_t counted = 0
    cdef int i, nearest
    if record.flags & (C_CONTIGUOUS | F_CONTIGUOUS) or filled == 0:
        return False
    for i in range(record.ndim):
        if shape[i] == 0:
            return False
    while True:
        # by growing steps: what is filled so far is repeated at each, and a step beyond its end leaves bytes out
        nearest = -1
        least = 0
        for i in range(record.ndim):
            if shape[i] == 1 or counted >> i & 1:
                continue
            step = <size_t> strides[i] if strides[i] >= 0 else 0 - <size_t> strides[i]
            if nearest < 0 or step < least:
                nearest = i
                least = step
        if nearest < 0:
            return False
        if least > filled:
            return True
        filled += <size_t> (shape[nearest] - 1) * least
        counted |= <uint64_t> 1 << nearest


cdef inline Py_ssize_t item_alignment(const Record* record) noexcept nogil:
    """The alignment a compiled program expects of one element: that of its scalar lane, 1 for opaque bytes."""
    cdef Py_ssize_t size = record.itemsize
    if record.dtype.kind == 0:       # KIND_OPAQUE
        return 1
    if record.dtype.kind == 13:      # KIND_RECORD
        return 1 << (record.dtype.order_unit & 7)
    if record.dtype.bits:
        size = record.dtype.bits >> 3
        if record.dtype.kind == 6:   # KIND_COMPLEX: the halves
            size >>= 1
    return 16 if size > 16 else size


cdef inline bint is_aligned(const Record* record) noexcept nogil:
    """True when every element lies at a multiple of its alignment."""
    cdef Py_ssize_t need = item_alignment(record)
    cdef Py_ssize_t* shape = shape_of(record)
    cdef Py_ssize_t* strides = strides_of(record)
    cdef int i
    if need <= 1:
        return True
    for i in range(record.ndim):
        if shape[i] == 0:
            return True
    if <size_t> record.data % <size_t> need:
        return False
    for i in range(record.ndim):
        if shape[i] > 1 and strides[i] % need:
            return False
    return True

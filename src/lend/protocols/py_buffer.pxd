"""Reading a Py_buffer: every field checked before any is believed (PB-I5), in C alone."""
from libc.stdint cimport UINT32_MAX, uint8_t
from libc.string cimport strchr

from lend._core.c_view cimport lend_view, put_plain, record_plain
from lend._core.record cimport (
    C_CONTIGUOUS, DEVICE_CPU, LAYOUT_OK, LAYOUT_TOO_WIDE, MAX_DIMS, READONLY, WANT_BYTES, WANT_WRITABLE, Record,
    byte_count, check_layout, row_major, set_ndim, shape_of, span_of, strides_of,
)
from lend._core.seldom cimport seldom
from lend.dtypes.c_dtype cimport lend_dtype, number_to_c
from lend.dtypes.code cimport KIND_OPAQUE, Code, code_has_objects, code_hides_objects, code_itemsize, make_code
from lend.dtypes.struct_format cimport FORMATS, code_from_format, code_from_letter, format_holds_objects

cdef extern from *:
    """
    static const char lend_wrong_format[] = "format";
    """
    const char* WRONG_FORMAT "lend_wrong_format"     # by its address: more than one letter, and not read here

cdef enum:
    LETTERS = 256     # a table of dtypes, by the letter of a format


cdef inline void fill_plain_letters(lend_dtype* letters) noexcept:
    """Those that put_letter may meet: a number in this machine's byte order; of the others the itemsize stays 0."""
    seldom()
    cdef Code code
    cdef char[2] text
    cdef int letter
    text[1] = 0
    for letter in range(128):
        text[0] = <char> letter
        if code_from_letter(text, FORMATS[letter].native, &code):
            number_to_c(code, &letters[letter])


cdef inline bint put_letter(const Py_buffer* lease, lend_view* view, const lend_dtype* letters) noexcept nogil:
    """Write a Py_buffer down that is plain, and of one letter; False: it must be looked at closely."""
    cdef const lend_dtype* dtype
    if lease.format is NULL:
        return False
    dtype = &letters[<uint8_t> lease.format[0]]
    return (lease.itemsize == dtype.itemsize and lease.itemsize and lease.format[1] == 0
            and lease.suboffsets is NULL and lease.shape is not NULL and lease.strides is not NULL
            and put_plain(view, lease.buf, dtype, lease.ndim, lease.shape, lease.strides, False,
                          READONLY if lease.readonly else 0)
            and view.nbytes == <size_t> lease.len)


cdef inline bint read_letter(const Py_buffer* lease, Record* record, int want, lend_view* view,
                             const lend_dtype* letters) noexcept nogil:
    """Read such a Py_buffer into both the record and the view; False: into neither."""
    if want & WANT_WRITABLE and lease.readonly or not put_letter(lease, view, letters):
        view.data = NULL
        return False
    code_from_letter(lease.format, lease.itemsize, &record.dtype)
    record_plain(record, view)
    return True


cdef inline bint leaves_addresses(const Record* record) noexcept nogil:
    """True when the lowest or the highest byte cannot be an address."""
    cdef size_t address = <size_t> record.data
    cdef Py_ssize_t low, high
    span_of(record, &low, &high)
    return (low < 0 and address <= <size_t> -low) or address + <size_t> high < address


cdef inline const char* examine(const Py_buffer* lease, Record* record, int want, const Code* known,
                                const Py_ssize_t* inner, int inner_dims) noexcept nogil:
    """Read a Py_buffer into the record; NULL, or the name of the field that is wrong.

    With `known` the format was read already: items of that dtype, each standing in a subarray of `inner_dims` extents.
    """
    cdef Py_ssize_t* shape
    cdef Py_ssize_t* strides
    cdef int layout
    cdef int i
    if lease.ndim < 0 or lease.ndim + inner_dims > MAX_DIMS:
        return "ndim"
    if lease.itemsize < 0 or lease.itemsize > <Py_ssize_t> UINT32_MAX:
        return "itemsize"
    if not set_ndim(record, lease.ndim + inner_dims):
        return "memory"
    record.data = <char*> lease.buf
    record.itemsize = <unsigned int> lease.itemsize
    record.device_type = DEVICE_CPU
    record.device_id = 0
    record.flags = READONLY if lease.readonly else 0
    if known is not NULL:
        record.dtype = known[0]
        record.itemsize = <unsigned int> code_itemsize(known[0])
    elif (not code_from_letter(lease.format, lease.itemsize, &record.dtype)
            and not code_from_format(lease.format, lease.itemsize, &record.dtype)):
        # what is asked for bytes alone needs no meaning, but for records: something may have been left out of them
        if not want & WANT_BYTES or format_holds_objects(lease.format) or (
                lease.format is not NULL and strchr(lease.format, c"T") is not NULL):
            return WRONG_FORMAT
        record.dtype = make_code(KIND_OPAQUE, 0, record.itemsize)
    if want & WANT_BYTES and code_has_objects(record.dtype):
        return "objects"
    if want & WANT_BYTES and want & WANT_WRITABLE and code_hides_objects(record.dtype):
        return "left out"
    if lease.ndim and lease.shape is NULL:
        return "shape"
    if lease.suboffsets is not NULL:
        for i in range(lease.ndim):
            if lease.suboffsets[i] >= 0:
                return "suboffsets" if lease.strides is not NULL else "rows"
    if record.ndim:
        shape = shape_of(record)
        strides = strides_of(record)
        for i in range(lease.ndim):
            shape[i] = lease.shape[i]
        for i in range(inner_dims):
            shape[lease.ndim + i] = inner[i]
        if lease.strides is not NULL:
            if inner_dims:
                row_major(record)
            for i in range(lease.ndim):
                strides[i] = lease.strides[i]
        else:
            row_major(record)
    layout = check_layout(record)
    if layout != LAYOUT_OK:
        return "strides" if layout == LAYOUT_TOO_WIDE else "layout"
    if byte_count(record) != lease.len:
        return "len"
    if want & WANT_WRITABLE and record.flags & READONLY:
        return "readonly"
    if (lease.buf is NULL and lease.len) or <size_t> lease.buf + <size_t> lease.len < <size_t> lease.buf:
        return "buf"
    if not record.flags & C_CONTIGUOUS and leaves_addresses(record):
        return "strides"
    return NULL

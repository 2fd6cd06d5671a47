"""Gather: copy strided elements to contiguous memory, bytes swapped if asked. No GIL, any alignment, no allocation."""
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from lend._core.kernels cimport gather as gather_run
from lend._core.record cimport MAX_DIMS, Record, element_count, packed_bytes, shape_of, strides_of
from lend._core.seldom cimport seldom
from lend.dtypes.code cimport KIND_BOOL, Code, code_shared_bits, code_swap_size

cdef extern from * nogil:
    """
    /* a bool is one byte that is 0 or 1; whatever else a producer left there counts as true */
    static void lend_gather_bools(char *to, const char *from, Py_ssize_t n, Py_ssize_t step, Py_ssize_t lanes) {
        if (lanes == 1)
            for (Py_ssize_t i = 0; i < n; i++) to[i] = from[i * step] != 0;
        else
            for (Py_ssize_t i = 0; i < n; i++)
                for (Py_ssize_t k = 0; k < lanes; k++) to[i * lanes + k] = from[i * step + k] != 0;
    }
    static void lend_swap(char *at, Py_ssize_t bytes, Py_ssize_t unit) {
        for (char *end = at + bytes; at < end; at += unit)
            for (Py_ssize_t i = 0, j = unit - 1; i < j; i++, j--) { char x = at[i]; at[i] = at[j]; at[j] = x; }
    }
    """
    void gather_bools "lend_gather_bools"(char* to, const char* source, Py_ssize_t n, Py_ssize_t step, Py_ssize_t lanes)
    void swap_bytes "lend_swap"(char* at, Py_ssize_t nbytes, Py_ssize_t unit)


cdef inline void gather_packed(char* to, const Record* source) noexcept nogil:
    """Copy elements that share bytes; what is in the last byte beyond them is somebody else's, and becomes 0."""
    seldom()
    cdef Py_ssize_t nbytes = packed_bytes(source)
    cdef Py_ssize_t rest
    if nbytes:
        memcpy(to, source.data, nbytes)
        rest = element_count(source) * code_shared_bits(source.dtype) & 7
        if rest:
            to[nbytes - 1] = <char> (<uint8_t> to[nbytes - 1] & ((1 << rest) - 1))


cdef inline void gather(char* to, const Record* source, bint fortran, bint swap) noexcept nogil:
    """Copy the elements of a checked record to contiguous memory in row-major (or column-major) order."""
    cdef Py_ssize_t[MAX_DIMS] extent
    cdef Py_ssize_t[MAX_DIMS] step
    cdef Py_ssize_t[MAX_DIMS] at
    cdef Py_ssize_t* shape = shape_of(source)
    cdef Py_ssize_t* strides = strides_of(source)
    cdef Py_ssize_t size = source.itemsize
    cdef const char* here = source.data
    cdef int dims = 0
    cdef Py_ssize_t unit = 1
    cdef int i, k
    if size == 0:
        gather_packed(to, source)
        return  # else any number of items of no bytes
    if swap:
        unit = code_swap_size(source.dtype)
    # dimensions from the fastest in the destination to the slowest; those that run on are one
    for i in range(source.ndim):
        k = i if fortran else source.ndim - 1 - i
        if shape[k] == 0:
            return
        if shape[k] == 1:
            continue
        if dims and step[dims - 1] * extent[dims - 1] == strides[k]:
            extent[dims - 1] *= shape[k]
            continue
        extent[dims] = shape[k]
        step[dims] = strides[k]
        at[dims] = 0
        dims += 1
    if dims == 0:
        extent[0] = 1
        step[0] = size
        dims = 1
    while True:
        if source.dtype.kind == KIND_BOOL:
            gather_bools(to, here, extent[0], step[0], source.dtype.param)
        else:
            gather_run(to, size, here, step[0], size, unit, extent[0])
        to += extent[0] * size
        i = 1
        while i < dims:
            at[i] += 1
            here += step[i]
            if at[i] < extent[i]:
                break
            here -= at[i] * step[i]
            at[i] = 0
            i += 1
        if i == dims:
            break

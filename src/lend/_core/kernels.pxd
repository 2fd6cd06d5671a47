"""The kernels for Cython: kernels.h, where each is told."""
from libc.stdint cimport int64_t

cdef extern from "kernels.h" nogil:
    ctypedef struct Mask "lend_mask":
        const void* data  # NULL: all are valid
        int64_t at        # bits: where they begin
        int64_t step      # 0: bits; else bytes, so far from one to the next
        int invert        # 1: true is null

    enum:
        INTEGER "LEND_AS_INTEGER"
        FLOAT "LEND_AS_FLOAT"
        BFLOAT "LEND_AS_BFLOAT"
        ENDS "LEND_ENDS"
        MONOTONE "LEND_MONOTONE"
        EACH "LEND_EACH"

    int64_t bytes_to_bits "lend_bytes_to_bits"(
        void* to, int64_t at, const void* source, int64_t step, int invert, int64_t n)
    void bits_to_bytes "lend_bits_to_bytes"(
        void* to, int64_t step, const void* source, int64_t offset, int invert, int64_t n)
    int64_t copy_bits "lend_copy_bits"(
        void* to, int64_t at, const void* source, int64_t offset, int invert, int64_t n)
    int64_t and_bits "lend_and_bits"(
        void* to, int64_t at, const void* a, int64_t a_offset, const void* b, int64_t b_offset, int64_t n)
    int64_t nulls_to_bits "lend_nulls_to_bits"(
        void* to, int64_t at, const void* source, int64_t step, int size, int kind, const void* value, int64_t n)
    int64_t nulls_to_bytes "lend_nulls_to_bytes"(
        void* to, int64_t to_step, const void* source, int64_t step, int size, int kind, const void* value, int invert,
        int64_t n)
    void gather "lend_gather"(
        void* to, int64_t to_step, const void* source, int64_t step, int64_t size, int64_t swap, int64_t n)
    void fill_nulls "lend_fill_nulls"(
        void* to, const void* source, int64_t step, int64_t size, Mask mask, const void* value, int64_t n)
    int64_t to_float64 "lend_to_float64"(
        void* to, const void* source, int64_t step, int size, int is_signed, Mask mask, const void* null, int64_t n)
    void widen "lend_widen"(void* to, const void* source, int64_t step, int64_t base, int64_t n)
    int64_t narrow "lend_narrow"(
        void* to, const void* source, int64_t step, int64_t base, int check, int64_t n)
    int64_t check_offsets "lend_check_offsets"(const void* source, int size, int64_t n)
    int64_t check_indices "lend_check_indices"(
        const void* source, int64_t step, int size, int is_signed, Mask mask, int64_t limit, int64_t n)
    int64_t remap "lend_remap"(
        void* to, int to_size, const void* source, int64_t step, int size, int is_signed, Mask mask, const void* map,
        int64_t limit, int64_t n)

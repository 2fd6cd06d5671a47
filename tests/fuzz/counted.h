/* Included before everything else where the fuzzer compiles lend: its own allocations are counted, and can be made to
 * fail. After each input the count must be where it was. */
#ifndef LEND_FUZZ_COUNTED_H
#define LEND_FUZZ_COUNTED_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#include <stdlib.h>

extern void *lend_fuzz_malloc(size_t size);
extern void *lend_fuzz_calloc(size_t count, size_t size);
extern void lend_fuzz_free(void *block);

#define malloc lend_fuzz_malloc
#define calloc lend_fuzz_calloc
#define free lend_fuzz_free
#undef PyMem_RawMalloc
#undef PyMem_RawFree
#define PyMem_RawMalloc lend_fuzz_malloc
#define PyMem_RawFree lend_fuzz_free

#endif

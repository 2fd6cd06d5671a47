/* The kernels as functions of Python: one function reads the arguments of all, all of which are integers; a wrapper
 * of Cython's for each would be larger than the kernels. An address may be None (NULL), and that of a value a bytes
 * object. */
#ifndef LEND_KERNEL_TABLE_H
#define LEND_KERNEL_TABLE_H

#include <Python.h>

#include "kernels.h"

#define LEND_MOST_ARGUMENTS 13
#define LEND_NO_RESULT INT64_MIN

#define LEND_AT(i) ((void *)(intptr_t)a[i])
#define LEND_VALID(i) ((lend_mask){LEND_AT(i), a[i + 1], a[i + 2], (int)a[i + 3]})

/* name, count of arguments, their names, what is told of it, the call */
#define LEND_KERNELS(K)                                                                                            \
    K(bytes_to_bits, 6, "to, at, source, step, invert, n", "Count of zeros written.",                              \
      lend_bytes_to_bits(LEND_AT(0), a[1], LEND_AT(2), a[3], (int)a[4], a[5]))                                     \
    K(bits_to_bytes, 6, "to, step, source, offset, invert, n", "None.",                                            \
      (lend_bits_to_bytes(LEND_AT(0), a[1], LEND_AT(2), a[3], (int)a[4], a[5]), LEND_NO_RESULT))                   \
    K(copy_bits, 6, "to, at, source, offset, invert, n", "Count of zeros; `to` None: only that.",                  \
      lend_copy_bits(LEND_AT(0), a[1], LEND_AT(2), a[3], (int)a[4], a[5]))                                         \
    K(and_bits, 7, "to, at, first, first_offset, second, second_offset, n", "Count of zeros; `to` None: only that.",\
      lend_and_bits(LEND_AT(0), a[1], LEND_AT(2), a[3], LEND_AT(4), a[5], a[6]))                                   \
    K(nulls_to_bits, 8, "to, at, source, step, size, kind, value, n", "Count of nulls; 0: nothing was written.",   \
      lend_nulls_to_bits(LEND_AT(0), a[1], LEND_AT(2), a[3], (int)a[4], (int)a[5], LEND_AT(6), a[7]))              \
    K(nulls_to_bytes, 9, "to, to_step, source, step, size, kind, value, invert, n", "Count of nulls.",             \
      lend_nulls_to_bytes(LEND_AT(0), a[1], LEND_AT(2), a[3], (int)a[4], (int)a[5], LEND_AT(6), (int)a[7], a[8]))  \
    K(gather, 7, "to, to_step, source, step, size, swap, n", "None.",                                              \
      (lend_gather(LEND_AT(0), a[1], LEND_AT(2), a[3], a[4], a[5], a[6]), LEND_NO_RESULT))                         \
    K(fill_nulls, 10, "to, source, step, size, mask, at, mask_step, invert, value, n", "None.",                    \
      (lend_fill_nulls(LEND_AT(0), LEND_AT(1), a[2], a[3], LEND_VALID(4), LEND_AT(8), a[9]), LEND_NO_RESULT))      \
    K(to_float64, 11, "to, source, step, size, signed, mask, at, mask_step, invert, null, n",                      \
      "First valid row that has no exact float64, or -1.",                                                         \
      lend_to_float64(LEND_AT(0), LEND_AT(1), a[2], (int)a[3], (int)a[4], LEND_VALID(5), LEND_AT(9), a[10]))       \
    K(widen, 5, "to, source, step, base, n", "None.",                                                              \
      (lend_widen(LEND_AT(0), LEND_AT(1), a[2], a[3], a[4]), LEND_NO_RESULT))                                      \
    K(narrow, 6, "to, source, step, base, check, n", "A row that does not fit or falls, or -1.",                   \
      lend_narrow(LEND_AT(0), LEND_AT(1), a[2], a[3], (int)a[4], a[5]))                                            \
    K(check_offsets, 3, "source, size, n", "First that is negative or falls, or -1.",                              \
      lend_check_offsets(LEND_AT(0), (int)a[1], a[2]))                                                             \
    K(check_indices, 10, "source, step, size, signed, mask, at, mask_step, invert, limit, n",                      \
      "First valid row out of range, or -1.",                                                                      \
      lend_check_indices(LEND_AT(0), a[1], (int)a[2], (int)a[3], LEND_VALID(4), a[8], a[9]))                       \
    K(remap, 13, "to, to_size, source, step, size, signed, mask, at, mask_step, invert, map, limit, n",            \
      "First valid row out of range, or -1.",                                                                      \
      lend_remap(LEND_AT(0), (int)a[1], LEND_AT(2), a[3], (int)a[4], (int)a[5], LEND_VALID(6), LEND_AT(10), a[11], \
                 a[12]))

#define LEND_KERNEL(name, count, names, text, call) lend_kernel_##name,
enum { LEND_KERNELS(LEND_KERNEL) LEND_KERNEL_COUNT };
#undef LEND_KERNEL

static int64_t lend_run_kernel(long which, const int64_t *a) {
    switch (which) {
#define LEND_KERNEL(name, count, names, text, call) \
    case lend_kernel_##name: return call;
        LEND_KERNELS(LEND_KERNEL)
#undef LEND_KERNEL
    }
    return LEND_NO_RESULT;
}

static PyObject *lend_call_kernel(PyObject *self, PyObject *const *given, Py_ssize_t count) {
#define LEND_KERNEL(name, count, names, text, call) count,
    static const unsigned char counts[] = {LEND_KERNELS(LEND_KERNEL)};
#undef LEND_KERNEL
    const long which = PyLong_AsLong(self);
    int64_t a[LEND_MOST_ARGUMENTS], result;
    if (count != counts[which])
        return PyErr_Format(PyExc_TypeError, "%zd arguments of %d", count, counts[which]);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (given[i] == Py_None) {
            a[i] = 0;
        } else if (PyBytes_Check(given[i])) {
            a[i] = (intptr_t)PyBytes_AS_STRING(given[i]);
        } else {
            a[i] = PyLong_AsLongLong(given[i]);
            if (a[i] == -1 && PyErr_Occurred()) return NULL;
        }
    }
    Py_BEGIN_ALLOW_THREADS
    result = lend_run_kernel(which, a);
    Py_END_ALLOW_THREADS
    if (result == LEND_NO_RESULT) Py_RETURN_NONE;
    return PyLong_FromLongLong(result);
}

/* Puts a function for each kernel, and the words of kernels.h, among the names of a module. */
static int lend_add_kernels(PyObject *names_of_module, PyObject *module) {
#define LEND_KERNEL(name, count, names, text, call) \
    {#name, (PyCFunction)(void (*)(void))lend_call_kernel, METH_FASTCALL, #name "(" names ", /)\n--\n\n" text},
    static PyMethodDef methods[] = {LEND_KERNELS(LEND_KERNEL)};
#undef LEND_KERNEL
    static const struct {
        const char *name;
        long value;
    } words[] = {{"INTEGER", LEND_AS_INTEGER}, {"FLOAT", LEND_AS_FLOAT},       {"BFLOAT", LEND_AS_BFLOAT},
                 {"ENDS", LEND_ENDS},       {"MONOTONE", LEND_MONOTONE}, {"EACH", LEND_EACH}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        PyObject *value = PyLong_FromLong(words[i].value);
        if (value == NULL || PyDict_SetItemString(names_of_module, words[i].name, value) < 0) {
            Py_XDECREF(value);
            return -1;
        }
        Py_DECREF(value);
    }
    for (long i = 0; i < LEND_KERNEL_COUNT; i++) {
        PyObject *which = PyLong_FromLong(i), *function = NULL;
        if (which != NULL) function = PyCFunction_NewEx(&methods[i], which, module);
        Py_XDECREF(which);
        if (function == NULL || PyDict_SetItemString(names_of_module, methods[i].ml_name, function) < 0) {
            Py_XDECREF(function);
            return -1;
        }
        Py_DECREF(function);
    }
    return 0;
}

#endif

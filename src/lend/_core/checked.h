/* Integer and atomic helpers that C11 leaves to the compiler: overflow-checked products and sums, an export counter
 * that several threads may touch, and the question whether the interpreter is going away. */
#ifndef LEND_CHECKED_H
#define LEND_CHECKED_H

#include <Python.h>

#if defined(__GNUC__) || defined(__clang__)
#define lend_mul_overflows(a, b, out) __builtin_mul_overflow((Py_ssize_t)(a), (Py_ssize_t)(b), (out))
#define lend_add_overflows(a, b, out) __builtin_add_overflow((Py_ssize_t)(a), (Py_ssize_t)(b), (out))
#define lend_atomic_add(p, n) __atomic_add_fetch((p), (n), __ATOMIC_SEQ_CST)
#define lend_atomic_get(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#else
#include <intrin.h>
static inline int lend_mul_overflows(Py_ssize_t a, Py_ssize_t b, Py_ssize_t *out) {
    if (a != 0 && b != 0) {
        if ((a == -1 && b == PY_SSIZE_T_MIN) || (b == -1 && a == PY_SSIZE_T_MIN)) return 1;
        if (a > 0 ? (b > 0 ? a > PY_SSIZE_T_MAX / b : b < PY_SSIZE_T_MIN / a)
                  : (b > 0 ? a < PY_SSIZE_T_MIN / b : b < PY_SSIZE_T_MAX / a)) return 1;
    }
    *out = a * b;
    return 0;
}
static inline int lend_add_overflows(Py_ssize_t a, Py_ssize_t b, Py_ssize_t *out) {
    if (b > 0 ? a > PY_SSIZE_T_MAX - b : a < PY_SSIZE_T_MIN - b) return 1;
    *out = a + b;
    return 0;
}
#define lend_atomic_add(p, n) (_InterlockedExchangeAdd((volatile long *)(p), (n)) + (n))
#define lend_atomic_get(p) _InterlockedExchangeAdd((volatile long *)(p), 0)
#endif

/* A callback on a thread of somebody else's may come when the interpreter is going or gone: then nothing of Python
 * may be touched, and leaking is right. */
static inline int lend_interpreter_gone(void) {
    if (!Py_IsInitialized()) return 1;
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() && !PyGILState_Check();
#else
    return _Py_IsFinalizing() && !PyGILState_Check();
#endif
}

/* Whether this thread holds the GIL: a third of what taking it once more costs. No by doubt, in sub-interpreters. */
static inline int lend_holds_gil(void) {
    PyThreadState *mine = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX >= 0x030D0000
    return mine != NULL && mine == PyThreadState_GetUnchecked();
#else
    return mine != NULL && mine == _PyThreadState_UncheckedGet();
#endif
}

/* Cython treats Py_buffer.obj as a counted reference of its own; a lease that moves needs the bare pointer. */
static inline PyObject *lend_buffer_obj(Py_buffer *buffer) { return buffer->obj; }
static inline void lend_set_buffer_obj(Py_buffer *buffer, PyObject *obj) { buffer->obj = obj; }

#endif

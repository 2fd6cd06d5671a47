/* A loan of a loan of a loan ...: when the last goes, each takes the next with it. Beyond some depth the rest waits until
 * the outermost has ended, so that a long chain needs no deep C stack. CPython's own guard (the trashcan) lets ten
 * thousand levels pass since 3.13, which is more than the stack of a thread holds.
 */
#ifndef LEND_UNWINDING_H
#define LEND_UNWINDING_H

#include <Python.h>
#include <stdlib.h>

#if defined(_MSC_VER)
#define LEND_THREAD_LOCAL __declspec(thread)
#else
#define LEND_THREAD_LOCAL _Thread_local
#endif

#define LEND_DEEPEST 40

typedef struct {
    PyObject *object; /* nobody refers to it any more, and the collector does not see it */
    destructor unmake;
} lend_waiting;

typedef struct {
    int depth;
    size_t count, room;
    lend_waiting *waiting;
} lend_unwinding_state;

static LEND_THREAD_LOCAL lend_unwinding_state lend_unwinding;

static int lend_put_aside(lend_unwinding_state *state, PyObject *object, destructor unmake) {
    if (state->count == state->room) {
        size_t room = state->room ? 2 * state->room : 64;
        lend_waiting *more = (lend_waiting *)realloc(state->waiting, room * sizeof(lend_waiting));
        if (more == NULL) return 0; /* then it goes deeper */
        state->waiting = more;
        state->room = room;
    }
    state->waiting[state->count].object = object;
    state->waiting[state->count++].unmake = unmake;
    return 1;
}

/* Unmake an object now, or when those that it is nested in have ended. */
static inline void lend_unmake_in_turn(PyObject *object, destructor unmake) {
    lend_unwinding_state *state = &lend_unwinding;
    if (state->depth >= LEND_DEEPEST && lend_put_aside(state, object, unmake)) return;
    state->depth++;
    unmake(object);
    state->depth--;
    if (state->depth == 0 && state->count) {
        while (state->count) {
            lend_waiting next = state->waiting[--state->count];
            state->depth++;
            next.unmake(next.object);
            state->depth--;
        }
        free(state->waiting);
        state->waiting = NULL;
        state->room = 0;
    }
}

/* Classes that Cython makes: what it wrote as tp_dealloc is called in turn. */
static struct {
    PyTypeObject *type;
    destructor dealloc;
} lend_guarded[8];

static void lend_guarded_dealloc(PyObject *object) {
    int i = 0;
    while (lend_guarded[i].type != Py_TYPE(object)) i++;
    PyObject_GC_UnTrack(object);
    lend_unmake_in_turn(object, lend_guarded[i].dealloc);
}

static inline void lend_guard(PyObject *type) {
    int i = 0;
    while (lend_guarded[i].type != NULL) i++;
    lend_guarded[i].type = (PyTypeObject *)type;
    lend_guarded[i].dealloc = ((PyTypeObject *)type)->tp_dealloc;
    ((PyTypeObject *)type)->tp_dealloc = lend_guarded_dealloc;
}

#endif

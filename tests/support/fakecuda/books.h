/* books.c: the events that live. */
#ifndef LEND_FAKECUDA_BOOKS_H
#define LEND_FAKECUDA_BOOKS_H
#include "double.h"

void note_event(Event *e);
int is_event(const Event *e);
int forget_event(Event *e); /* 0: it was none */
#define EVENT_OR_FAIL(x, e)    \
    Event *x = (Event *)(e);   \
    if (!is_event(x)) return CUDA_ERROR_INVALID_HANDLE
#endif

/* Which events and streams live: one that was destroyed is refused, and not looked at, and a test counts what is left. */
#include "double.h"
#include "books.h"

enum { MANY = 4096 };
static Event *events[MANY];

void note_event(Event *e) {
    int i;
    LOCK();
    for (i = 0; i < MANY && events[i]; i++) {}
    if (i < MANY) events[i] = e;
    UNLOCK();
    if (i == MANY) { fprintf(stderr, "fakecuda: more than %d events\n", MANY); abort(); }
}

static int place_of(const Event *e) {
    int i;
    for (i = 0; i < MANY && (!e || events[i] != e); i++) {}
    return i;
}

int is_event(const Event *e) {
    LOCK();
    int i = place_of(e);
    UNLOCK();
    return i < MANY;
}

int forget_event(Event *e) {
    LOCK();
    int i = place_of(e);
    if (i < MANY) events[i] = NULL;
    UNLOCK();
    return i < MANY;
}

HOOK int fakecuda_live_events(void) {
    int n = 0;
    LOCK();
    for (int i = 0; i < MANY; i++) n += events[i] != NULL;
    UNLOCK();
    return n;
}

HOOK int fakecuda_live_streams(void) {
    int n = 0;
    LOCK();
    for (Stream *s = streams; s; s = s->nextall) n += !s->destroyed && !(s >= per_thread && s < per_thread + MAXDEV);
    UNLOCK();
    return n;
}

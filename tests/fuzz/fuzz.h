/* The fuzzer of lend's ways in: what its parts share.
 *
 * One input is one story: its first byte chooses the path on which memory comes in, the next ones say what the producer
 * claims, then how lend is asked for it, and the rest what a user does with what came out. A byte that is missing reads
 * as 0, and 0 always means the well-behaved choice.
 */
#ifndef LEND_FUZZ_H
#define LEND_FUZZ_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dlpack.h"
#include "lend.h"

typedef __int128 wide;

/* -- input.c: reading the input -------------------------------------------------------------------------------------- */

typedef struct input {
    const uint8_t *at;
    const uint8_t *end;
} input;

uint8_t next_byte(input *in);
int64_t next_number(input *in);              /* small mostly, sometimes near a limit, sometimes any */
uint8_t next_odd(input *in);                 /* 0 mostly, else 1 to 31 */
int next_text(input *in, char *to, int room); /* a text of the input's own; its length */
PyObject *next_integer(input *in);           /* an int, of any size */
PyObject *next_object(input *in, int depth); /* anything, or NULL with an exception set */
PyObject *next_sizes(input *in, int most);   /* a tuple of integers, mostly */
PyObject *next_dtype(input *in);             /* a dtype, its name, or nonsense */
PyObject *named(const char *name);           /* an object with a name */
extern int strange_made;                     /* an object that raises was made of this input */
extern int objects_told;                     /* elements may be said to be pointers to objects */
void next_request(input *in, lend_request *request);

/* -- oracle.c: what must hold ---------------------------------------------------------------------------------------- */

extern char *arena; /* memory that is there, between pages that are not; it can only be read */
extern const int64_t ARENA;

/* which exceptions may come out of a call, beside what the producer raised itself */
enum { LEND_ERROR = 1, TYPE_ERROR = 2, VALUE_ERROR = 4, INDEX_ERROR = 8, ATTRIBUTE_ERROR = 16, OVERFLOW_ERROR = 32,
       BUFFER_ERROR = 64, MEMORY_ERROR = 128, KEY_ERROR = 256 };

void say(const char *format, ...);       /* what happens, where LEND_FUZZ_SAY is set */
_Noreturn void fault(const char *format, ...);
void refused(unsigned allowed); /* judge and clear the exception that must be set */
void expect_none(const char *where); /* no exception may be pending */
int returned(PyObject *result, unsigned allowed); /* a result without an exception, or a refusal; 1 for a result */

struct facts;
void check_view(const lend_view *view, const struct facts *told);
void check_object(PyObject *object, const struct facts *told); /* a View or a Buffer of lend's */
int is_readable(const lend_view *view, int trusted);          /* the elements lie in memory that is there, and are few */
void check_bytes(const lend_view *view, PyObject *bytes, int fortran);
void check_leftovers(void);
void check_tensor(const DLTensor *tensor);

/* -- described.c: what a producer claims ------------------------------------------------------------------------------ */

#define HELD_DIMS 66

typedef struct facts {
    /* the dtype in every spelling; NULL where the spelling has no word */
    const char *format, *typestr, *name;
    char format_text[64], typestr_text[64];
    uint8_t code, bits;
    uint16_t lanes;
    int64_t itemsize;
    /* the layout; arrays end where the memory ends */
    int32_t ndim;
    int held;
    int64_t *shape, *strides, *steps; /* strides in bytes, steps in elements; NULL: not told */
    int64_t *suboffsets;
    char *data;
    uint64_t byte_offset;
    int64_t len;
    int32_t device_type, device_id;
    int readonly;
    uint32_t major, minor;
    uint64_t flags;
    uint8_t mood, mood_at, form; /* which answer misbehaves, and how; which form a capsule has */
    /* what is known about where the memory must lie; low == high: nothing */
    const char *low, *high;
    int untold; /* a key of the interface is something else: nothing can be compared */
    int64_t *room[3];
} facts;

enum { MOOD_NONE, MOOD_BUFFER_ERROR, MOOD_RUNTIME_ERROR, MOOD_INTERRUPT, MOOD_SILENT, MOOD_MEMORY_ERROR, MOOD_TYPE_ERROR,
       MOOD_ATTRIBUTE_ERROR, MOOD_VALUE_ERROR, MOOD_RECURSION_ERROR, MOOD_OTHER_ANSWER, MOOD_NO_OBJECT, MOOD_PROXY,
       MOOD_INLINE_SHAPE, MOOD_WRITABLE_LIE, MOOD_NO_DELETER, MOOD_SECOND_TIME, MOODS };

facts *new_facts(void);                 /* for this input */
void fill_facts(facts *f, input *in);
void fill_rows(facts *f, input *in);    /* rows behind pointers, true ones */
void forget_facts(void);
int start_facts(void);
int64_t natural_stride(const facts *f, int dim); /* saturated */
const facts *single_told(PyObject *made); /* what a producer of one protocol told, for comparison; NULL otherwise */

/* -- producers.c, dlpack.c: hostile objects ---------------------------------------------------------------------------- */

enum { OFFER_BUFFER, OFFER_TABLE, OFFER_STRUCT, OFFER_DLPACK, OFFER_DEVICE, OFFER_INTERFACE, OFFER_POINTER, OFFER_ARRAY,
       OFFER_CUDA, OFFER_SYCL, OFFER_NBYTES, OFFER_BUFSIZE, OFFER_SIZE, OFFER_DTYPE, OFFER_FLAGS, OFFER_BASE, OFFER_MASK,
       OFFERS };

typedef struct producer {
    PyObject_HEAD
    facts *told;
    unsigned offers;
    int table; /* which exchange table its type has */
    int calls;
    PyObject *answers[OFFERS]; /* what attributes answer */
} producer;

extern long live_producers, open_buffers, live_tensors, live_structs, raised_by_producers;

int start_producers(PyObject *module);
PyObject *make_producer(input *in, unsigned offers);
int misbehaves(facts *f, int at); /* 1 with an exception set (or none, on purpose) if this answer is the one */
PyObject *tensor_capsule(facts *f);
PyObject *producer_dlpack(PyObject *self, PyObject *args, PyObject *kw);
PyObject *exchange_capsule(int which);
void *new_tensor(facts *f, int versioned);
void drop_tensors(void);
#define TABLES 6

/* -- arrow.c, arrow_uses.c: Arrow's structs ------------------------------------------------------------------------------- */

extern long live_arrow;
PyObject *make_arrow_source(input *in, int table, int streamed); /* two capsules, or that of a stream */
PyObject *make_arrow(input *in, unsigned streamed);              /* taken and used: nothing is left to ask for */

/* -- paths.c, takers.c, uses.c: the three tables ------------------------------------------------------------------------ */

typedef struct path {
    const char *name;
    PyObject *(*make)(input *in, unsigned argument); /* what lend is asked for, or NULL if there is nothing to ask for */
    unsigned argument;
} path;
extern const path paths[];
extern const int path_count;

#define SLOTS 8

typedef struct slot {
    PyObject *object;
    int trusted; /* all of its memory is lend's own */
} slot;

typedef struct story {
    PyObject *made; /* by the path */
    slot held[SLOTS];
    int current;
    lend_view leases[4]; /* given back at the end */
    int lease_count;
    Py_buffer buffers[4];
    int buffer_count;
} story;

void take(story *s, input *in);
void use(story *s, input *in);
void keep(story *s, PyObject *object, int trusted); /* a View, a Buffer or something else; takes the reference */


extern const int taker_count, use_count;

/* what of lend is called, found once */
extern struct known {
    PyObject *view, *buffer, *to, *view_type, *buffer_type, *dtype, *device, *forget, *lend_error, *pickled_view,
        *pickled_buffer, *clear_copies, *explain;
    DLPackExchangeAPI *table;
} lend;
int start_known(void);

void run_input(const uint8_t *data, size_t size);
extern long taken;
extern long lend_fuzz_blocks, lend_fuzz_fail_in, lend_fuzz_failed;

#endif

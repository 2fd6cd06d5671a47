/* The drivers of GPUs that this process has loaded: what they say of a pointer, waiting, events and copies.
 *
 * Nothing is loaded and nothing started here: a library that is not in the process already has no memory that could be
 * asked about. No context is made, and the current one is left as it was found. Numbers and layouts are those of the
 * public references: https://docs.nvidia.com/cuda/cuda-driver-api/ and
 * https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hip_runtime_api_reference.html
 */
#ifndef LEND_DRIVER_H
#define LEND_DRIVER_H
#include <stddef.h>
#include <stdint.h>

enum { LEND_DRIVER_CUDA = 2, LEND_DRIVER_HIP = 10 }; /* by DLPack's code of the device */

enum { /* what the driver calls a piece of memory */
    LEND_MEMORY_UNKNOWN = 0,
    LEND_MEMORY_HOST = 1,
    LEND_MEMORY_DEVICE = 2,
};

enum { /* answers of ours, beside those of the driver, which are above 0 */
    LEND_DRIVER_OK = 0,
    LEND_DRIVER_NOT_INITIALIZED = 3, /* of CUDA and HIP alike */
    LEND_DRIVER_ABSENT = -1,         /* there is no such driver in this process, or it lacks the function */
    LEND_DRIVER_CAPTURING = -2,      /* the stream is being captured: nothing may wait */
    LEND_DRIVER_CONTEXT = -3,        /* the device has no active context: nothing was ever begun on it here */
};

typedef struct { /* what a driver says of one address */
    int type;    /* LEND_MEMORY_... */
    int managed;
    int pooled;
    int ordinal;      /* -2: unknown */
    uintptr_t host;   /* where the host may read it; 0: nowhere */
    uintptr_t device; /* where a device may; 0: nowhere, or not told */
    uintptr_t start;  /* of the allocation; size 0: not told */
    size_t size;
} lend_pointer_facts;

typedef struct { /* what it says of one device */
    int pageable;   /* it reaches memory of malloc */
    int concurrent; /* the host may touch managed memory while work runs */
} lend_device_facts;

typedef struct lend_driver lend_driver;

/* A block of three dimensions to copy, in bytes and rows; the innermost lies without gaps on both sides. */
typedef struct {
    uintptr_t to, from;
    size_t width, height, depth;        /* bytes, rows, slices */
    size_t to_pitch, from_pitch;        /* bytes from row to row */
    size_t to_slice, from_slice;        /* rows from slice to slice */
    int to_device, from_device;         /* 1: memory of the device, 0: of the host */
} lend_block;

/* The driver of one kind, or NULL: it is not in this process. Cheap when nothing was loaded since it was last asked. */
const lend_driver *lend_find_driver(int kind);

/* Its own name for an error; never NULL. */
const char *lend_driver_error(const lend_driver *driver, int error);

int lend_ask_pointer(const lend_driver *driver, uintptr_t address, lend_pointer_facts *facts);
int lend_ask_device(const lend_driver *driver, int ordinal, lend_device_facts *facts);

/* Make the context of a device current that is active already, and the one that was again. */
typedef struct { int entered, ordinal, mode; } lend_entered; /* mode: the thread's, of captures */
int lend_enter(const lend_driver *driver, int ordinal, lend_entered *entered);
/* That of a stream, which may be another device's than the memory that it works on: events are of its context alone. The
 * default streams are taken for those of the device that is named. */
int lend_enter_of(const lend_driver *driver, uintptr_t stream, int ordinal, lend_entered *entered);
void lend_leave(const lend_driver *driver, lend_entered *entered);

/* Between enter and leave. Streams as the driver has them: 0 or 1 the default one, 2 the thread's, else a handle. */
int lend_is_capturing(const lend_driver *driver, uintptr_t stream, int *capturing);
int lend_wait_stream(const lend_driver *driver, uintptr_t stream);
int lend_wait_device(const lend_driver *driver);
int lend_new_stream(const lend_driver *driver, uintptr_t *stream);
int lend_end_stream(const lend_driver *driver, uintptr_t stream);
int lend_new_event(const lend_driver *driver, void **event);
int lend_end_event(const lend_driver *driver, void *event);
int lend_record_event(const lend_driver *driver, void *event, uintptr_t stream);
int lend_is_event_done(const lend_driver *driver, void *event, int *done);
int lend_wait_event(const lend_driver *driver, void *event);
int lend_order_after(const lend_driver *driver, uintptr_t stream, void *event);
int lend_copy(const lend_driver *driver, uintptr_t to, uintptr_t from, size_t size, uintptr_t stream);
int lend_copy_block(const lend_driver *driver, const lend_block *block, uintptr_t stream);
int lend_allocate(const lend_driver *driver, size_t size, uintptr_t *address);
int lend_free(const lend_driver *driver, uintptr_t address);

/* Whether the host's pages are there, where memory begins and ends: the system is asked, and nothing touched. */
int lend_is_mapped(uintptr_t address, size_t size);

/* Whether this process was forked after a driver was found: what was asked before is worth nothing then. */
int lend_has_forked(void);

#endif

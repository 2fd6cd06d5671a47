/* See driver.h. */
#define _GNU_SOURCE
#include "driver.h"

#include <string.h>

#if defined(__linux__)
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DEVICES = 64, INVALID_CONTEXT = 201 };

enum { /* CUpointer_attribute */
    PTR_MEMORY_TYPE = 2,
    PTR_DEVICE_POINTER = 3,
    PTR_HOST_POINTER = 4,
    PTR_IS_MANAGED = 8,
    PTR_DEVICE_ORDINAL = 9,
    PTR_RANGE_START = 11,
    PTR_RANGE_SIZE = 12,
    PTR_POOL = 17
};

enum { DEV_PAGEABLE = 88, DEV_CONCURRENT = 89 }; /* CUdevice_attribute */

typedef struct { /* CUDA_MEMCPY3D */
    size_t src_x, src_y, src_z, src_lod;
    unsigned src_type;
    const void *src_host;
    unsigned long long src_device;
    void *src_array, *reserved0;
    size_t src_pitch, src_height;
    size_t dst_x, dst_y, dst_z, dst_lod;
    unsigned dst_type;
    void *dst_host;
    unsigned long long dst_device;
    void *dst_array, *reserved1;
    size_t dst_pitch, dst_height;
    size_t width, height, depth;
} block_arguments;

/* hipPointerAttribute_t, as HIP 6 and 7 have it, and HIP 5, whose first field counts from 0 for the host */
typedef struct {
    int type, device;
    void *device_pointer, *host_pointer;
    int managed;
    unsigned flags;
} hip_pointer;

struct lend_driver {
    int kind, version;
    /* CUDA's */
    int (*pointer_attributes)(unsigned, int *, void **, unsigned long long);
    int (*device_get)(int *, int);
    int (*device_attribute)(int *, int, int);
    int (*primary_state)(int, unsigned *, int *);
    int (*primary_retain)(void **, int);
    int (*primary_release)(int);
    int (*context_push)(void *);
    int (*context_pop)(void **);
    int (*context_current)(void **);
    int (*context_device)(int *);
    int (*error_name)(int, const char **);
    int (*memcpy_plain)(unsigned long long, unsigned long long, size_t, void *);
    int (*memcpy_block)(const block_arguments *, void *);
    int (*allocate)(unsigned long long *, size_t);
    int (*release)(unsigned long long);
    /* HIP's, where they differ */
    int (*hip_pointer)(hip_pointer *, const void *);
    int (*hip_get_device)(int *);
    int (*hip_set_device)(int);
    int (*hip_memcpy)(void *, const void *, size_t, int, void *);
    int (*hip_memcpy_rows)(void *, size_t, const void *, size_t, size_t, size_t, int, void *);
    int (*hip_malloc)(void **, size_t);
    int (*hip_free)(void *);
    const char *(*hip_error_name)(int);
    int (*hip_peek_error)(void), (*hip_forget_error)(void);
    /* alike in both */
    int (*synchronize)(void);
    int (*capture_mode)(int *);
    int (*stream_create)(void **, unsigned);
    int (*stream_destroy)(void *);
    int (*stream_synchronize)(void *);
    int (*stream_capturing)(void *, int *);
    int (*stream_context)(void *, void **);
    int (*stream_wait_event)(void *, void *, unsigned);
    int (*event_create)(void **, unsigned);
    int (*event_destroy)(void *);
    int (*event_record)(void *, void *);
    int (*event_query)(void *);
    int (*event_synchronize)(void *);
};

static lend_driver cuda, hip;
static int found[2];
static int is_child;
static int forked; /* HIP was in use, and this is a child: it would not answer there, or not come back */

static void note_fork(void) {
    is_child = 1;
    forked = __atomic_load_n(&found[1], __ATOMIC_ACQUIRE);
}

int lend_has_forked(void) { return is_child; }

static int is_page(uintptr_t address) {
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)address, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EFAULT; /* forbidden: then nobody knows */
}

int lend_is_mapped(uintptr_t address, size_t size) { return is_page(address) && is_page(address + size - 1); }

/* -- finding ------------------------------------------------------------------------------------------------------- */

static int read_adds(struct dl_phdr_info *info, size_t size, void *adds) {
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
        *(unsigned long long *)adds = info->dlpi_adds;
    return 1; /* the first says it for all */
}

static void *symbol(void *library, const char *prefix, const char *name) {
    static const char *const ends[] = {"_v2", ""};
    char whole[64];
    for (int i = 0; i < 2; i++) {
        snprintf(whole, sizeof whole, "%s%s%s", prefix, name, ends[i]);
        void *found = dlsym(library, whole);
        if (found != NULL) return found;
    }
    return NULL;
}

#define FIND(field, prefix, name) (*(void **)&driver->field = symbol(library, prefix, name))

static int find_alike(lend_driver *driver, void *library, const char *prefix) {
    FIND(capture_mode, prefix, "ThreadExchangeStreamCaptureMode");
    return FIND(stream_create, prefix, driver->kind == LEND_DRIVER_CUDA ? "StreamCreate" : "StreamCreateWithFlags")
        && FIND(stream_destroy, prefix, "StreamDestroy") && FIND(stream_synchronize, prefix, "StreamSynchronize")
        && FIND(stream_capturing, prefix, "StreamIsCapturing") && FIND(stream_wait_event, prefix, "StreamWaitEvent")
        && FIND(event_create, prefix, driver->kind == LEND_DRIVER_CUDA ? "EventCreate" : "EventCreateWithFlags")
        && FIND(event_destroy, prefix, "EventDestroy") && FIND(event_record, prefix, "EventRecord")
        && FIND(event_query, prefix, "EventQuery") && FIND(event_synchronize, prefix, "EventSynchronize");
}

static int find_cuda(lend_driver *driver, void *library) {
    driver->kind = LEND_DRIVER_CUDA;
    FIND(memcpy_block, "cu", "Memcpy3DAsync");
    FIND(stream_context, "cu", "StreamGetCtx");
    return find_alike(driver, library, "cu") && FIND(pointer_attributes, "cu", "PointerGetAttributes")
        && FIND(device_get, "cu", "DeviceGet") && FIND(device_attribute, "cu", "DeviceGetAttribute")
        && FIND(primary_state, "cu", "DevicePrimaryCtxGetState") && FIND(primary_retain, "cu", "DevicePrimaryCtxRetain")
        && FIND(primary_release, "cu", "DevicePrimaryCtxRelease") && FIND(context_push, "cu", "CtxPushCurrent")
        && FIND(context_pop, "cu", "CtxPopCurrent") && FIND(context_current, "cu", "CtxGetCurrent")
        && FIND(context_device, "cu", "CtxGetDevice") && FIND(error_name, "cu", "GetErrorName")
        && FIND(memcpy_plain, "cu", "MemcpyAsync")
        && FIND(allocate, "cu", "MemAlloc") && FIND(release, "cu", "MemFree")
        && FIND(synchronize, "cu", "CtxSynchronize");
}

static int find_hip(lend_driver *driver, void *library) {
    driver->kind = LEND_DRIVER_HIP;
    FIND(hip_memcpy_rows, "hip", "Memcpy2DAsync");
    FIND(hip_peek_error, "hip", "PeekAtLastError");
    FIND(hip_forget_error, "hip", "GetLastError");
    return find_alike(driver, library, "hip") && FIND(hip_pointer, "hip", "PointerGetAttributes")
        && FIND(hip_get_device, "hip", "GetDevice") && FIND(hip_set_device, "hip", "SetDevice")
        && FIND(hip_memcpy, "hip", "MemcpyAsync") && FIND(hip_malloc, "hip", "Malloc") && FIND(hip_free, "hip", "Free")
        && FIND(hip_error_name, "hip", "GetErrorName") && FIND(synchronize, "hip", "DeviceSynchronize");
}

static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long seen[2]; /* libraries loaded when a driver was last not found, and one more */

static int look_for(lend_driver *driver, int kind) {
    lend_driver made = {0};
    char name[32];
    if (kind == LEND_DRIVER_CUDA) {
        void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (library == NULL || !find_cuda(&made, library)) return 0;
    } else {
        int known = 0;
        for (int version = 9; version >= 5 && !known; version--) {
            snprintf(name, sizeof name, "libamdhip64.so.%d", version);
            void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
            made.version = version;
            known = library != NULL && find_hip(&made, library);
        }
        if (!known) return 0;
    }
    *driver = made;
    return 1;
}

const lend_driver *lend_find_driver(int kind) {
    static int told;
    const int which = kind == LEND_DRIVER_HIP;
    lend_driver *driver = which ? &hip : &cuda;
    unsigned long long adds = 0;
    if (__atomic_load_n(&found[which], __ATOMIC_ACQUIRE)) return driver;
    if (kind != LEND_DRIVER_CUDA && kind != LEND_DRIVER_HIP) return NULL;
    dl_iterate_phdr(read_adds, &adds);
    if (adds && __atomic_load_n(&seen[which], __ATOMIC_RELAXED) == adds + 1) return NULL;
    pthread_mutex_lock(&finding);
    if (!found[which] && look_for(driver, kind)) {
        if (!told) pthread_atfork(NULL, NULL, note_fork);
        told = 1;
        __atomic_store_n(&found[which], 1, __ATOMIC_RELEASE);
    } else if (!found[which]) {
        __atomic_store_n(&seen[which], adds + 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&finding);
    return found[which] ? driver : NULL;
}

const char *lend_driver_error(const lend_driver *driver, int error) {
    const char *name = NULL;
    if (error == LEND_DRIVER_ABSENT) return "no driver in this process";
    if (error == LEND_DRIVER_CAPTURING) return "the stream is being captured";
    if (error == LEND_DRIVER_CONTEXT) error = INVALID_CONTEXT;
    if (driver != NULL && driver->kind == LEND_DRIVER_CUDA) driver->error_name(error, &name);
    else if (driver != NULL) name = driver->hip_error_name(error);
    return name == NULL ? "an error without a name" : name;
}

/* -- questions ----------------------------------------------------------------------------------------------------- */

/* HIP keeps the error of a call for whoever asks after the last one; what a question of ours came to is no error. */
static int is_clean(const lend_driver *driver) {
    return driver->hip_forget_error != NULL && driver->hip_peek_error != NULL && driver->hip_peek_error() == 0;
}

static int ask_hip(const lend_driver *driver, uintptr_t address, lend_pointer_facts *facts) {
    hip_pointer told = {0};
    int clean, error;
    if (forked) return LEND_DRIVER_NOT_INITIALIZED;
    clean = is_clean(driver);
    error = driver->hip_pointer(&told, (const void *)address);
    if (error && clean) driver->hip_forget_error();
    if (error == 1) return LEND_DRIVER_OK; /* invalid value: memory that HIP does not know, to its older versions */
    if (error) return error;
    if (driver->version <= 5) told.type = told.managed ? 3 : told.type == 0 ? 1 : told.type == 1 ? 2 : 0;
    facts->managed = told.managed || told.type == 3;
    facts->type = told.type == 1 ? LEND_MEMORY_HOST
        : told.type == 2 || facts->managed ? LEND_MEMORY_DEVICE : LEND_MEMORY_UNKNOWN;
    facts->ordinal = facts->type == LEND_MEMORY_UNKNOWN ? -2 : told.device;
    facts->host = (uintptr_t)told.host_pointer;
    facts->device = (uintptr_t)told.device_pointer;
    return LEND_DRIVER_OK;
}

int lend_ask_pointer(const lend_driver *driver, uintptr_t address, lend_pointer_facts *facts) {
    unsigned type = 0, managed = 0;
    int ordinal = -2, error;
    unsigned long long device = 0, start = 0;
    void *host = NULL, *pool = NULL;
    size_t size = 0;
    int asked[] = {PTR_MEMORY_TYPE, PTR_IS_MANAGED, PTR_DEVICE_ORDINAL, PTR_HOST_POINTER,
                   PTR_RANGE_START, PTR_RANGE_SIZE, PTR_DEVICE_POINTER, PTR_POOL};
    void *answers[] = {&type, &managed, &ordinal, &host, &start, &size, &device, &pool};
    *facts = (lend_pointer_facts){.ordinal = -2};
    if (driver == NULL) return LEND_DRIVER_ABSENT;
    if (driver->kind == LEND_DRIVER_HIP) return ask_hip(driver, address, facts);
    error = driver->pointer_attributes(8, asked, answers, address);
    if (error == 1) error = driver->pointer_attributes(7, asked, answers, address); /* the last is of CUDA 11.2 */
    if (error) return error;
    *facts = (lend_pointer_facts){.type = (int)type, .managed = managed != 0, .pooled = pool != NULL,
                                  .ordinal = ordinal, .host = (uintptr_t)host, .device = device,
                                  .start = start, .size = size};
    return LEND_DRIVER_OK;
}

/* What CUDA calls a device; it is asked once for each. */
static int device_of(const lend_driver *driver, int ordinal, int *device) {
    static int known[DEVICES]; /* and 1 */
    const int kept = ordinal >= 0 && ordinal < DEVICES && !forked;
    int error;
    if (kept && (*device = __atomic_load_n(&known[ordinal], __ATOMIC_RELAXED) - 1) >= 0) return LEND_DRIVER_OK;
    error = driver->device_get(device, ordinal);
    if (!error && kept) __atomic_store_n(&known[ordinal], *device + 1, __ATOMIC_RELAXED);
    return error;
}

int lend_ask_device(const lend_driver *driver, int ordinal, lend_device_facts *facts) {
    static int known[DEVICES]; /* 1 and two bits, once asked: what a device is does not change */
    int device, pageable = 0, concurrent = 0, error;
    *facts = (lend_device_facts){0, 0};
    if (driver == NULL || driver->kind != LEND_DRIVER_CUDA) return LEND_DRIVER_ABSENT;
    if (ordinal >= 0 && ordinal < DEVICES) {
        int bits = __atomic_load_n(&known[ordinal], __ATOMIC_RELAXED);
        if (bits) {
            *facts = (lend_device_facts){(bits & 2) != 0, (bits & 4) != 0};
            return LEND_DRIVER_OK;
        }
    }
    error = device_of(driver, ordinal, &device);
    if (!error) error = driver->device_attribute(&pageable, DEV_PAGEABLE, device);
    if (!error) error = driver->device_attribute(&concurrent, DEV_CONCURRENT, device);
    if (error) return error;
    *facts = (lend_device_facts){pageable != 0, concurrent != 0};
    if (ordinal >= 0 && ordinal < DEVICES)
        __atomic_store_n(&known[ordinal], 1 | (pageable ? 2 : 0) | (concurrent ? 4 : 0), __ATOMIC_RELAXED);
    return LEND_DRIVER_OK;
}

/* -- the current context ------------------------------------------------------------------------------------------- */

enum { RELAXED = 2 };

static int enter(const lend_driver *driver, int ordinal, lend_entered *entered) {
    unsigned flags;
    int device, here, active = 0, error;
    void *context = NULL;
    if (driver->kind == LEND_DRIVER_HIP) {
        error = driver->hip_get_device(&here);
        if (error || ordinal < 0 || here == ordinal) return error;
        error = driver->hip_set_device(ordinal);
        entered->entered = !error;
        entered->ordinal = here;
        return error;
    }
    error = driver->context_current(&context);
    if (error) return error;
    if (ordinal < 0) return context == NULL ? LEND_DRIVER_CONTEXT : LEND_DRIVER_OK;
    error = device_of(driver, ordinal, &device);
    if (error) return error;
    if (context != NULL && driver->context_device(&here) == 0 && here == device) return LEND_DRIVER_OK;
    error = driver->primary_state(device, &flags, &active);
    if (error) return error;
    if (!active) return LEND_DRIVER_CONTEXT; /* to retain it would make it */
    error = driver->primary_retain(&context, device);
    if (error) return error;
    error = driver->context_push(context);
    if (error) driver->primary_release(device);
    entered->entered = !error;
    entered->ordinal = device;
    return error;
}

static int enter_of(const lend_driver *driver, void *stream, lend_entered *entered) {
    void *context = NULL;
    int error = driver->stream_context(stream, &context);
    if (!error) error = driver->context_push(context);
    entered->entered = !error;
    entered->ordinal = -1; /* it is whoever made the stream that keeps its context */
    return error;
}

enum { HANDLES = 3 }; /* below are the default streams, each device's own */

int lend_enter_of(const lend_driver *driver, uintptr_t stream, int ordinal, lend_entered *entered) {
    int error;
    *entered = (lend_entered){.ordinal = ordinal, .mode = -1};
    if (driver == NULL) return LEND_DRIVER_ABSENT;
    if (forked && driver->kind == LEND_DRIVER_HIP) return LEND_DRIVER_NOT_INITIALIZED;
    if (stream < HANDLES || driver->stream_context == NULL || enter_of(driver, (void *)stream, entered)) {
        error = enter(driver, ordinal, entered);
        if (error) return error;
    }
    if (driver->capture_mode == NULL) return LEND_DRIVER_OK;
    /* what is done with streams of ours ends no capture of others' */
    entered->mode = RELAXED;
    if (driver->capture_mode(&entered->mode)) entered->mode = -1;
    return LEND_DRIVER_OK;
}

int lend_enter(const lend_driver *driver, int ordinal, lend_entered *entered) {
    return lend_enter_of(driver, 0, ordinal, entered);
}

void lend_leave(const lend_driver *driver, lend_entered *entered) {
    if (entered->mode >= 0) driver->capture_mode(&entered->mode);
    entered->mode = -1;
    if (!entered->entered) return;
    if (driver->kind == LEND_DRIVER_HIP) {
        driver->hip_set_device(entered->ordinal);
    } else {
        driver->context_pop(NULL);
        if (entered->ordinal >= 0) driver->primary_release(entered->ordinal);
    }
    entered->entered = 0;
}

/* -- streams and events -------------------------------------------------------------------------------------------- */

enum { NON_BLOCKING = 1, NO_TIMING = 2, CAPTURE_IMPLICIT = 906 };

/* 1 is CUDA's legacy stream, which array interfaces tell; HIP has no such number, and its default stream is that. */
static void *handle_of(const lend_driver *driver, uintptr_t stream) {
    return (void *)(driver->kind == LEND_DRIVER_HIP && stream == 1 ? 0 : stream);
}
#define handle(stream) handle_of(driver, stream)

int lend_is_capturing(const lend_driver *driver, uintptr_t stream, int *capturing) {
    int clean = driver->kind == LEND_DRIVER_HIP && is_clean(driver);
    int error = driver->stream_capturing(handle(stream), capturing);
    if (error && clean) driver->hip_forget_error();
    if (error == CAPTURE_IMPLICIT) { /* the legacy stream, beside a capture that it would disturb */
        *capturing = 1;
        return LEND_DRIVER_OK;
    }
    return error;
}

int lend_wait_stream(const lend_driver *driver, uintptr_t stream) { return driver->stream_synchronize(handle(stream)); }

int lend_wait_device(const lend_driver *driver) { return driver->synchronize(); }

int lend_new_stream(const lend_driver *driver, uintptr_t *stream) {
    return driver->stream_create((void **)stream, NON_BLOCKING);
}

int lend_end_stream(const lend_driver *driver, uintptr_t stream) { return driver->stream_destroy(handle(stream)); }

int lend_new_event(const lend_driver *driver, void **event) { return driver->event_create(event, NO_TIMING); }

int lend_end_event(const lend_driver *driver, void *event) { return driver->event_destroy(event); }

int lend_record_event(const lend_driver *driver, void *event, uintptr_t stream) {
    return driver->event_record(event, handle(stream));
}

int lend_is_event_done(const lend_driver *driver, void *event, int *done) {
    int clean = driver->kind == LEND_DRIVER_HIP && is_clean(driver);
    int error = driver->event_query(event);
    if (error && clean) driver->hip_forget_error();
    *done = error == 0;
    return error == 600 ? LEND_DRIVER_OK : error; /* not ready */
}

int lend_wait_event(const lend_driver *driver, void *event) { return driver->event_synchronize(event); }

int lend_order_after(const lend_driver *driver, uintptr_t stream, void *event) {
    return driver->stream_wait_event(handle(stream), event, 0);
}

/* -- copies and memory --------------------------------------------------------------------------------------------- */

enum { HIP_ANY_TO_ANY = 4 };

int lend_copy(const lend_driver *driver, uintptr_t to, uintptr_t from, size_t size, uintptr_t stream) {
    if (driver->kind == LEND_DRIVER_HIP)
        return driver->hip_memcpy((void *)to, (const void *)from, size, HIP_ANY_TO_ANY, handle(stream));
    return driver->memcpy_plain(to, from, size, handle(stream));
}

/* Without a call for blocks. */
static int copy_rows(const lend_driver *driver, const lend_block *block, uintptr_t stream) {
    int error = 0;
    for (size_t slice = 0; slice < block->depth && !error; slice++) {
        uintptr_t to = block->to + slice * block->to_slice * block->to_pitch;
        uintptr_t from = block->from + slice * block->from_slice * block->from_pitch;
        if (driver->hip_memcpy_rows != NULL) {
            error = driver->hip_memcpy_rows((void *)to, block->to_pitch, (const void *)from, block->from_pitch,
                                            block->width, block->height, HIP_ANY_TO_ANY, handle(stream));
            continue;
        }
        for (size_t row = 0; row < block->height && !error; row++)
            error = lend_copy(driver, to + row * block->to_pitch, from + row * block->from_pitch, block->width, stream);
    }
    return error;
}

int lend_copy_block(const lend_driver *driver, const lend_block *block, uintptr_t stream) {
    if (driver->memcpy_block == NULL) return copy_rows(driver, block, stream);
    block_arguments told = {
        .src_type = block->from_device ? LEND_MEMORY_DEVICE : LEND_MEMORY_HOST,
        .src_host = block->from_device ? NULL : (const void *)block->from,
        .src_device = block->from_device ? block->from : 0,
        .src_pitch = block->from_pitch,
        .src_height = block->from_slice,
        .dst_type = block->to_device ? LEND_MEMORY_DEVICE : LEND_MEMORY_HOST,
        .dst_host = block->to_device ? NULL : (void *)block->to,
        .dst_device = block->to_device ? block->to : 0,
        .dst_pitch = block->to_pitch,
        .dst_height = block->to_slice,
        .width = block->width,
        .height = block->height,
        .depth = block->depth,
    };
    return driver->memcpy_block(&told, handle(stream));
}

int lend_allocate(const lend_driver *driver, size_t size, uintptr_t *address) {
    unsigned long long told = 0;
    void *pointer = NULL;
    int error;
    if (driver->kind == LEND_DRIVER_HIP) {
        error = driver->hip_malloc(&pointer, size);
        *address = (uintptr_t)pointer;
        return error;
    }
    error = driver->allocate(&told, size);
    *address = told;
    return error;
}

int lend_free(const lend_driver *driver, uintptr_t address) {
    return driver->kind == LEND_DRIVER_HIP ? driver->hip_free((void *)address) : driver->release(address);
}

#else /* no driver is looked for on other systems */

struct lend_driver { int kind; };
typedef const lend_driver *lend_the_driver;

int lend_has_forked(void) { return 0; }
int lend_is_mapped(uintptr_t address, size_t size) { return 1; }
const lend_driver *lend_find_driver(int kind) { return NULL; }
const char *lend_driver_error(lend_the_driver driver, int error) { return "no driver in this process"; }
void lend_leave(lend_the_driver driver, lend_entered *entered) {}
#define LEND_NO_DRIVER(name, ...) int name(lend_the_driver driver, __VA_ARGS__) { return LEND_DRIVER_ABSENT; }
LEND_NO_DRIVER(lend_ask_pointer, uintptr_t address, lend_pointer_facts *facts)
LEND_NO_DRIVER(lend_ask_device, int ordinal, lend_device_facts *facts)
LEND_NO_DRIVER(lend_enter, int ordinal, lend_entered *entered)
LEND_NO_DRIVER(lend_enter_of, uintptr_t stream, int ordinal, lend_entered *entered)
LEND_NO_DRIVER(lend_is_capturing, uintptr_t stream, int *capturing)
LEND_NO_DRIVER(lend_wait_stream, uintptr_t stream)
int lend_wait_device(lend_the_driver driver) { return LEND_DRIVER_ABSENT; }
LEND_NO_DRIVER(lend_new_stream, uintptr_t *stream)
LEND_NO_DRIVER(lend_end_stream, uintptr_t stream)
LEND_NO_DRIVER(lend_new_event, void **event)
LEND_NO_DRIVER(lend_end_event, void *event)
LEND_NO_DRIVER(lend_record_event, void *event, uintptr_t stream)
LEND_NO_DRIVER(lend_is_event_done, void *event, int *done)
LEND_NO_DRIVER(lend_wait_event, void *event)
LEND_NO_DRIVER(lend_order_after, uintptr_t stream, void *event)
LEND_NO_DRIVER(lend_copy, uintptr_t to, uintptr_t from, size_t size, uintptr_t stream)
LEND_NO_DRIVER(lend_copy_block, const lend_block *block, uintptr_t stream)
LEND_NO_DRIVER(lend_allocate, size_t size, uintptr_t *address)
LEND_NO_DRIVER(lend_free, uintptr_t address)

#endif

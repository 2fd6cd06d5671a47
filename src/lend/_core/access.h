/* Whether the host may touch a piece of memory, and what must be waited for first: one table, and the one function that
 * finds the row. Location, reachability, order and lifetime are four questions; a product's name or an attribute of the
 * system answers none of them for a given address.
 */
#ifndef LEND_ACCESS_H
#define LEND_ACCESS_H
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

enum lend_row {
    LEND_ROW_EMPTY,        /* no bytes: nothing is asked and nothing waited for */
    LEND_ROW_HOST,         /* pageable memory: the host's by its producer's word, and no device's by the driver's */
    LEND_ROW_PINNED_TOLD,  /* declared pinned, and no driver has begun that could be asked */
    LEND_ROW_PAGES,        /* pageable memory that a GPU library calls its own, where devices reach it (HMM, ATS) */
    LEND_ROW_PAGES_BARE,   /* the same by a bare descriptor: nobody's object says that it lives */
    LEND_ROW_PINNED,       /* pinned or registered */
    LEND_ROW_ALIAS,        /* the device's address of registered or pinned memory, which has another for the host */
    LEND_ROW_MANAGED,      /* managed, and the host may touch it while work runs */
    LEND_ROW_MANAGED_POOL, /* declared managed; the driver calls it pinned, as some call what comes of a pool */
    LEND_ROW_MANAGED_IDLE, /* managed, and the host may touch it only while the whole device is idle */
    LEND_ROW_DEVICE,       /* memory of the device */
    LEND_ROW_DEVICE_SEEN,  /* the same, that the driver gives a host address for (one memory for both) */
    LEND_ROW_UNKNOWN,      /* declared a device's; the driver does not know it: freed, or somebody else's */
    LEND_ROW_NO_DRIVER,    /* declared a device's; no driver has begun that could be asked: after a fork, too */
    LEND_ROW_CONTRADICTED, /* declared the host's; the driver says that it is a device's */
    LEND_ROW_OUTSIDE,      /* reaches beyond the allocation that it begins in */
    LEND_ROW_ROCM_HOST,    /* hipHostMalloc, hipHostRegister */
    LEND_ROW_ROCM_MANAGED, /* hipMallocManaged */
    LEND_ROW_ROCM_DEVICE,  /* hipMalloc: documented as visible to the host with a large BAR */
    LEND_ROW_USM_DEVICE,   /* SYCL's three kinds, as the owner tells them, and one that nobody told */
    LEND_ROW_USM_SHARED,
    LEND_ROW_USM_HOST,
    LEND_ROW_USM_UNTOLD,
    LEND_ROW_HANDLE,       /* OpenCL, Metal, Vulkan ...: what is told is no address */
    LEND_ROW_OTHER,        /* an address of a device that no driver known here could be asked about */
    LEND_ROWS
};

enum { LEND_HOST_NO, LEND_HOST_YES, LEND_HOST_SIGNED /* only where the caller signs for it by name */ };
enum { LEND_WAIT_NOTHING, LEND_WAIT_PRODUCER /* for the work that the producer knows of */, LEND_WAIT_DEVICE };

typedef struct {
    unsigned char host; /* LEND_HOST_... */
    unsigned char wait; /* LEND_WAIT_... */
    const char *name;
} lend_access_row;

static const lend_access_row lend_access[LEND_ROWS] = {
    [LEND_ROW_EMPTY] = {LEND_HOST_YES, LEND_WAIT_NOTHING, "empty"},
    [LEND_ROW_HOST] = {LEND_HOST_YES, LEND_WAIT_NOTHING, "host"},
    [LEND_ROW_PINNED_TOLD] = {LEND_HOST_YES, LEND_WAIT_NOTHING, "pinned, as told"},
    [LEND_ROW_PAGES] = {LEND_HOST_YES, LEND_WAIT_PRODUCER, "pages of the host that the device reaches"},
    [LEND_ROW_PAGES_BARE] = {LEND_HOST_SIGNED, LEND_WAIT_DEVICE, "pages of the host, as a bare descriptor"},
    [LEND_ROW_PINNED] = {LEND_HOST_YES, LEND_WAIT_PRODUCER, "pinned"},
    [LEND_ROW_ALIAS] = {LEND_HOST_YES, LEND_WAIT_PRODUCER, "the device's address of pinned memory"},
    [LEND_ROW_MANAGED] = {LEND_HOST_YES, LEND_WAIT_PRODUCER, "managed"},
    [LEND_ROW_MANAGED_POOL] = {LEND_HOST_YES, LEND_WAIT_PRODUCER, "managed, of a pool"},
    [LEND_ROW_MANAGED_IDLE] = {LEND_HOST_SIGNED, LEND_WAIT_DEVICE, "managed, for the host while the device is idle"},
    [LEND_ROW_DEVICE] = {LEND_HOST_NO, LEND_WAIT_PRODUCER, "device"},
    [LEND_ROW_DEVICE_SEEN] = {LEND_HOST_SIGNED, LEND_WAIT_PRODUCER, "device, with an address for the host"},
    [LEND_ROW_UNKNOWN] = {LEND_HOST_NO, LEND_WAIT_NOTHING, "unknown to the driver"},
    [LEND_ROW_NO_DRIVER] = {LEND_HOST_NO, LEND_WAIT_NOTHING, "device, as told"},
    [LEND_ROW_CONTRADICTED] = {LEND_HOST_NO, LEND_WAIT_NOTHING, "device, called the host's"},
    [LEND_ROW_OUTSIDE] = {LEND_HOST_NO, LEND_WAIT_NOTHING, "beyond its allocation"},
    [LEND_ROW_ROCM_HOST] = {LEND_HOST_YES, LEND_WAIT_PRODUCER, "ROCm pinned"},
    [LEND_ROW_ROCM_MANAGED] = {LEND_HOST_YES, LEND_WAIT_PRODUCER, "ROCm managed"},
    [LEND_ROW_ROCM_DEVICE] = {LEND_HOST_SIGNED, LEND_WAIT_PRODUCER, "ROCm device, with an address for the host"},
    [LEND_ROW_USM_DEVICE] = {LEND_HOST_NO, LEND_WAIT_PRODUCER, "USM device"},
    [LEND_ROW_USM_SHARED] = {LEND_HOST_YES, LEND_WAIT_PRODUCER, "USM shared"},
    [LEND_ROW_USM_HOST] = {LEND_HOST_YES, LEND_WAIT_PRODUCER, "USM host"},
    [LEND_ROW_USM_UNTOLD] = {LEND_HOST_NO, LEND_WAIT_NOTHING, "USM of a kind that is not told"},
    [LEND_ROW_HANDLE] = {LEND_HOST_NO, LEND_WAIT_NOTHING, "a handle"},
    [LEND_ROW_OTHER] = {LEND_HOST_NO, LEND_WAIT_NOTHING, "a device of another kind"},
};

typedef struct { /* what is known of a piece of memory before its row is found */
    int declared;       /* by its producer: DLPack's code; 0: by nobody */
    int handle;         /* what is told is a handle of the device's, and no address */
    int produced;       /* a living object of the producer's is held */
    int usm;            /* of SYCL, what the owner says: 0 nothing, 1 device, 2 shared, 3 host */
    uintptr_t low;      /* its lowest byte */
    size_t nbytes;      /* up to the highest */
    int begun;          /* a driver is there and answered */
    int mapped;         /* of what it does not know: the host's pages are there */
    lend_pointer_facts pointer;
    lend_device_facts device; /* of the device that was declared */
} lend_access_facts;

enum { LEND_CPU = 1, LEND_CUDA = 2, LEND_CUDA_HOST = 3, LEND_ROCM = 10, LEND_ROCM_HOST = 11, LEND_MANAGED = 13,
       LEND_ONEAPI = 14 };

static inline int lend_lies_within(uintptr_t low, size_t nbytes, uintptr_t start, size_t size) {
    return low >= start && nbytes <= size && low - start <= size - nbytes;
}

/* By range, not by the address where it begins. Of a registration with two addresses either may be told. */
static inline int lend_reaches_beyond(const lend_access_facts *facts) {
    const lend_pointer_facts *pointer = &facts->pointer;
    return pointer->size && !lend_lies_within(facts->low, facts->nbytes, pointer->start, pointer->size)
        && !lend_lies_within(pointer->host, facts->nbytes, pointer->start, pointer->size);
}

static inline enum lend_row lend_row_of_host_address(const lend_access_facts *facts) {
    const lend_pointer_facts *pointer = &facts->pointer;
    if (pointer->host == 0) return LEND_ROW_DEVICE;
    if (lend_reaches_beyond(facts)) return LEND_ROW_OUTSIDE;
    if (pointer->host != facts->low) return LEND_ROW_ALIAS;
    /* managed memory of a pool is called pinned, and may be touched no sooner than other managed memory */
    if ((pointer->pooled || facts->declared == LEND_MANAGED) && !facts->device.concurrent) return LEND_ROW_MANAGED_IDLE;
    return facts->declared == LEND_MANAGED ? LEND_ROW_MANAGED_POOL : LEND_ROW_PINNED;
}

static inline enum lend_row lend_row_of_rocm(const lend_access_facts *facts) {
    const lend_pointer_facts *pointer = &facts->pointer;
    if (!facts->begun) return facts->declared == LEND_ROCM_HOST ? LEND_ROW_PINNED_TOLD : LEND_ROW_NO_DRIVER;
    if (pointer->managed) return LEND_ROW_ROCM_MANAGED;
    if (pointer->type == LEND_MEMORY_HOST)
        return !pointer->host ? LEND_ROW_DEVICE : pointer->host == facts->low ? LEND_ROW_ROCM_HOST : LEND_ROW_ALIAS;
    if (pointer->type == LEND_MEMORY_DEVICE)
        return pointer->host == facts->low ? LEND_ROW_ROCM_DEVICE : LEND_ROW_DEVICE;
    return LEND_ROW_UNKNOWN;
}

/* The questions in their order: the producer's declaration is the first truth, the driver's answer the check on it. */
static inline enum lend_row lend_row_of(const lend_access_facts *facts) {
    const lend_pointer_facts *pointer = &facts->pointer;
    const int declared = facts->declared;
    if (facts->nbytes == 0) return LEND_ROW_EMPTY;
    if (facts->handle) return LEND_ROW_HANDLE;
    if (declared == LEND_ROCM || declared == LEND_ROCM_HOST) return lend_row_of_rocm(facts);
    if (declared == LEND_ONEAPI)
        return facts->usm == 1 ? LEND_ROW_USM_DEVICE : facts->usm == 2 ? LEND_ROW_USM_SHARED
             : facts->usm == 3 ? LEND_ROW_USM_HOST : LEND_ROW_USM_UNTOLD;
    if (declared > LEND_CPU && declared != LEND_CUDA && declared != LEND_CUDA_HOST && declared != LEND_MANAGED)
        return LEND_ROW_OTHER;
    if (!facts->begun)
        return declared <= LEND_CPU ? LEND_ROW_HOST
             : declared == LEND_CUDA_HOST ? LEND_ROW_PINNED_TOLD : LEND_ROW_NO_DRIVER;
    if (pointer->managed) { /* first: the type of managed memory is where it happens to sit */
        if (lend_reaches_beyond(facts)) return LEND_ROW_OUTSIDE;
        return facts->device.concurrent ? LEND_ROW_MANAGED : LEND_ROW_MANAGED_IDLE;
    }
    if (pointer->type == LEND_MEMORY_HOST) return lend_row_of_host_address(facts);
    if (pointer->type == LEND_MEMORY_DEVICE) {
        if (declared == LEND_CPU || declared == LEND_CUDA_HOST) return LEND_ROW_CONTRADICTED;
        return pointer->host == facts->low ? LEND_ROW_DEVICE_SEEN : LEND_ROW_DEVICE;
    }
    if (declared <= LEND_CPU) return LEND_ROW_HOST;
    if (!facts->device.pageable || !facts->mapped) return LEND_ROW_UNKNOWN;
    return facts->produced ? LEND_ROW_PAGES : LEND_ROW_PAGES_BARE;
}

#endif

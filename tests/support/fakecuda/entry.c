/* Entry points by name. */
#include "double.h"
#include <dlfcn.h>

API cuInit(unsigned flags);
API cuGetExportTable(const void **t, const CUuuid *u) { /* private tables are not offered */
    ENTER();
    *t = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
API cuGetProcAddress_v2(const char *sym, void **pfn, int version, unsigned long long flags, int *status) {
    static const char *const suffix[] = {"_v4", "_v3", "_v2", ""};
    static void *self;
    char name[256];
    Dl_info info;
    if (!self && dladdr((void *)&cuInit, &info)) self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *pfn = NULL;
    for (int i = 0; i < 4 && !*pfn; i++) {
        snprintf(name, sizeof name, "%s%s", sym, suffix[i]);
        *pfn = dlsym(self, name);
    }
    if (status) *status = *pfn ? 0 : 1; /* found, or no such symbol */
    if (!*pfn && G.trace > 1) fprintf(stderr, "fakecuda: no symbol %s (%d)\n", sym, version);
    return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
API cuGetProcAddress(const char *sym, void **pfn, int version, unsigned long long flags) {
    return cuGetProcAddress_v2(sym, pfn, version, flags, NULL);
}

/* Knobs, arenas, fork, calls counted and failed, and the report of a fault. */
#include "double.h"
#include <signal.h>
#include <sys/syscall.h>

struct Knobs G;
const char *const model_name[] = {"discrete", "hmm", "ats", "jetson", "wsl"};
Arena dev_arena[MAXDEV], managed_arena;
CUresult sticky;
pthread_mutex_t mu;

#define MAXCOUNT 512
#define MAXFAIL 16
static struct { const char *name; unsigned long n; } counter[MAXCOUNT];
static int ncounter;
static struct { char name[64]; int code, times; } failing[MAXFAIL]; /* times < 0: always */
static struct sigaction before;

/* "cuMemAlloc" names cuMemAlloc_v2, too. */
static int is_called(const char *full, const char *name) {
    size_t len = strlen(name);
    return !strncmp(full, name, len) && (!full[len] || !strncmp(full + len, "_v", 2));
}

static int outlives_the_call(CUresult code) { /* errors after which a context is of no more use */
    return code == CUDA_ERROR_ILLEGAL_ADDRESS || code == CUDA_ERROR_LAUNCH_TIMEOUT
        || (code >= CUDA_ERROR_HARDWARE_STACK_ERROR && code <= CUDA_ERROR_LAUNCH_FAILED);
}

CUresult enter(const char *name) {
    CUresult answer = CUDA_SUCCESS;
    int i;
    LOCK();
    for (i = 0; i < ncounter && counter[i].name != name; i++) {}
    if (i == ncounter && ncounter < MAXCOUNT) counter[ncounter++].name = name;
    if (i < MAXCOUNT) counter[i].n++;
    for (i = 0; i < MAXFAIL; i++) {
        if (!failing[i].times || !is_called(name, failing[i].name)) continue;
        if (failing[i].times > 0) failing[i].times--;
        answer = failing[i].code;
        if (outlives_the_call(answer)) sticky = answer;
        break;
    }
    UNLOCK();
    if (G.trace) fprintf(stderr, "fakecuda: %s%s\n", name, answer ? " (fails, as asked)" : "");
    return answer;
}

/* ------------------------------------------------------------------------------------------------ hooks */
HOOK unsigned long fakecuda_calls(const char *name) {
    unsigned long n = 0;
    LOCK();
    for (int i = 0; i < ncounter; i++) if (is_called(counter[i].name, name)) n += counter[i].n;
    UNLOCK();
    return n;
}
static unsigned long calls_of(const char *beginning) {
    unsigned long n = 0;
    LOCK();
    for (int i = 0; i < ncounter; i++) if (!strncmp(counter[i].name, beginning, strlen(beginning))) n += counter[i].n;
    UNLOCK();
    return n;
}
HOOK unsigned long fakecuda_copies(void) { return calls_of("cuMemcpy"); }
HOOK unsigned long fakecuda_all_calls(void) { return calls_of("cu"); }
HOOK void fakecuda_reset_calls(void) {
    LOCK();
    for (int i = 0; i < ncounter; i++) counter[i].n = 0;
    UNLOCK();
}
HOOK int fakecuda_fail(const char *name, int code, int times) { /* times 0: no longer */
    int done = -1;
    LOCK();
    for (int i = 0; i < MAXFAIL; i++) if (!strcmp(failing[i].name, name)) failing[i].times = 0;
    for (int i = 0; i < MAXFAIL && done; i++) {
        if (failing[i].times) continue;
        snprintf(failing[i].name, sizeof failing[i].name, "%s", name);
        failing[i].code = code;
        failing[i].times = times;
        done = 0;
    }
    UNLOCK();
    return done;
}
HOOK int fakecuda_context_depth(void) { return ctx_depth; }
HOOK int fakecuda_context_refs(int dev) { return primary[dev].refs; }

/* ------------------------------------------------------------------------------------------------ start */
int env_int(const char *name, int otherwise) {
    const char *v = getenv(name);
    return v && *v ? atoi(v) : otherwise;
}
static int env_is(const char *name, const char *what) {
    const char *v = getenv(name);
    return v && !strcmp(v, what);
}
int memory_file(const char *name, size_t size) { /* by number: older C libraries lack the function */
    int fd = (int)syscall(SYS_memfd_create, name, 1u); /* closed on exec */
    if (fd < 0 || !ftruncate(fd, (off_t)size)) return fd;
    close(fd);
    return -1;
}
static void make_arena(Arena *a, const char *name, size_t size, int prot) {
    int fd = memory_file(name, size);
    if (fd < 0) { perror("fakecuda: memfd"); abort(); }
    void *v = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
    void *s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (v == MAP_FAILED || s == MAP_FAILED) { perror("fakecuda: mmap"); abort(); }
    *a = (Arena){(uintptr_t)v, (uintptr_t)s, size, 0, fd};
}

/* Says what the host touched, then dies as without it: the instruction runs again under the handler from before. */
static void fault(int number, siginfo_t *info, void *context) {
    char line[160];
    const char *what = what_lies_at((uintptr_t)info->si_addr);
    int n = what ? snprintf(line, sizeof line, "fakecuda: the host touched %s at %p\n", what, info->si_addr) : 0;
    if (n > 0 && write(2, line, (size_t)n) < 0) _exit(70);
    sigaction(SIGSEGV, &before, NULL);
}

static void init_lock(void) {
    pthread_mutexattr_t at;
    pthread_mutexattr_init(&at);
    pthread_mutexattr_settype(&at, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mu, &at);
}
static void before_fork(void) { LOCK(); }
static void fork_parent(void) { UNLOCK(); }
static void fork_child(void) {
    init_lock();
    G.forked = !G.forkshare;
}

static void read_failures(const char *text) { /* name:code, name:code:times, ... */
    char name[64];
    int code, times, used;
    while (text && *text) {
        times = -1;
        if (sscanf(text, "%63[^:]:%d%n:%d%n", name, &code, &used, &times, &used) < 2) {
            fprintf(stderr, "fakecuda: FAKECUDA_FAIL is name:code[:times], ... and not %s\n", text);
            abort();
        }
        fakecuda_fail(name, code, times);
        text += used;
        if (*text == ',') text++;
    }
}

__attribute__((constructor)) static void start(void) {
    init_lock();
    for (int i = M_DISCRETE; i <= M_WSL; i++) if (env_is("FAKECUDA_MODEL", model_name[i])) G.model = i;
    G.ndev = env_int("FAKECUDA_DEVICES", 2);
    if (G.ndev > MAXDEV) G.ndev = MAXDEV;
    G.lazy = !env_is("FAKECUDA_ASYNC", "eager");
    G.trace = env_int("FAKECUDA_TRACE", 0);
    G.devhost = env_int("FAKECUDA_DEVICE_HOST_ACCESS", 0);
    G.nodevice = env_int("FAKECUDA_NODEVICE", 0);
    G.disjoint = env_int("FAKECUDA_REGISTER_DISJOINT", 0);
    G.forkshare = env_is("FAKECUDA_FORK", "share");
    G.cma = G.model != M_JETSON && G.model != M_WSL;
    read_failures(getenv("FAKECUDA_FAIL"));
    size_t size = (size_t)env_int("FAKECUDA_ARENA_MB", 256) << 20;
    for (int i = 0; i < G.ndev; i++) {
        make_arena(&dev_arena[i], "fakecuda-device", size, G.devhost ? PROT_READ | PROT_WRITE : PROT_NONE);
        legacy[i].dev = per_thread[i].dev = primary[i].dev = i;
        per_thread[i].nextall = streams;
        streams = &per_thread[i];
    }
    make_arena(&managed_arena, "fakecuda-managed", size, PROT_READ | PROT_WRITE);
    struct sigaction ours = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigaction(SIGSEGV, &ours, &before);
    pthread_atfork(before_fork, fork_parent, fork_child);
}

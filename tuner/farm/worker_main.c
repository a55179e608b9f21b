/* tiletune-worker: the process that compiles, or that owns the GPU, on behalf of a tuning run. Started by
 * the library, never by hand. It dies with its parent, and leaves Ctrl-C to it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "tuner/farm/roles.h"

/* What this process has of the memory that RLIMIT_DATA counts: a sanitizer's shadow is beyond any limit. */
static size_t data_bytes(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A compiler that wants more fails over its kernel, and does not take the machine's memory with it. */
static void limit_memory(size_t bytes) {
    if (bytes && data_bytes() < bytes)
        setrlimit(RLIMIT_DATA, &(struct rlimit){bytes, bytes});
}

/* There is a compiler for each CPU. The tuner and the GPU worker, which the GPU waits for, need little time,
 * but at once. */
static void step_back(void) {
    enum { NICER = 10 };
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICER);
}

/* A compile frees some 10 MB in the end, and the next asks for as much: what Linux does not get back it need
 * not clear again. */
static void keep_memory(void) {
#ifdef __GLIBC__
    enum { LARGEST_BLOCK = 32 << 20, ALL = 1 << 30 };
    mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK);
    mallopt(M_TRIM_THRESHOLD, ALL);
#endif
}

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    if (argc == 3 && strcmp(argv[1], "compile") == 0) {
        limit_memory((size_t)strtoull(argv[2], NULL, 10));
        step_back();
        keep_memory();
        return tt__compile_worker();
    }
    if (argc == 3 && strcmp(argv[1], "gpu") == 0)
        return tt__gpu_worker(atoi(argv[2]));
    fprintf(stderr, "tiletune-worker is started by tiletune itself; the program to use is `tune`\n");
    return 2;
}

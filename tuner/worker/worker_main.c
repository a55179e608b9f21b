/*
 * tiletune-worker: the process that compiles, or that uses the GPU, during a tuning run. The library starts
 * it. It dies with its parent and ignores Ctrl-C.
 */
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

#include "base/clock.h"
#include "code/nvrtc.h"
#include "tuner/farm/protocol.h"
#include "tuner/worker/gpu_worker.h"

/* Memory that RLIMIT_DATA counts. A sanitizer's shadow memory is beyond any limit. */
static size_t data_bytes(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A compiler that needs more fails, and does not use up the machine's memory. */
static void limit_memory(size_t bytes) {
    if (bytes && data_bytes() < bytes)
        setrlimit(RLIMIT_DATA, &(struct rlimit){bytes, bytes});
}

/* There is one compiler per CPU. The tuner and the GPU worker need little CPU time, but without delay. */
static void step_back(void) {
    enum { NICER = 10 };
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICER);
}

/* A compile frees about 10 MB, and the next needs as much. The kernel need not clear memory that the process
 * keeps. */
static void keep_memory(void) {
#ifdef __GLIBC__
    enum { LARGEST_BLOCK = 32 << 20, ALL = 1 << 30 };
    mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK);
    mallopt(M_TRIM_THRESHOLD, ALL);
#endif
}

/* `top` and `ps -e` show the file that a compiler is working on. */
static void be_called(const char *path) {
    const char *slash = strrchr(path, '/');
    prctl(PR_SET_NAME, slash ? slash + 1 : path); /* Linux keeps 15 characters */
}

static tt_status compile(const tt__str *request, tt__str *cubin, tt__msg_compiled *reply) {
    size_t at = 0;
    const tt__msg_compile *m = tt__wire_take(request, &at, sizeof *m);
    const char *name = m ? tt__wire_take(request, &at, m->name_size) : NULL;
    const char *source = name ? tt__wire_take(request, &at, m->source_size) : NULL;
    const char *options = source ? tt__wire_take(request, &at, m->options_size) : NULL;
    if (!options)
        return TT_E_IO;
    be_called(name);
    reply->begin_s = tt__now_s();
    tt_status status = tt__nvrtc_compile(cubin, name, source, options, m->n_options, m->cc);
    if (status == TT_E_NO_MEMORY) /* it ran out of memory with this kernel, and may do others */
        status = tt__fail(TT_E_COMPILE, "%s: the compiler has run out of memory", name);
    reply->end_s = tt__now_s();
    be_called("tiletune-worker");
    return status;
}

static int compile_worker(void) {
    tt__msg_hello hello = {0};
    tt__fill_done(&hello.done, tt__nvrtc_open());
    tt__copy(hello.nvrtc, sizeof hello.nvrtc, tt__nvrtc_version());
    if (tt__wire_reply(TT__MSG_HELLO, &(struct iovec){&hello, sizeof hello}, 1) != TT_OK)
        return 1;
    if (hello.done.status == TT_OK)
        tt__nvrtc_warm_up(); /* in parallel with the driver's start; a failure shows in the first request */
    tt__str request = {0}, cubin = {0};
    uint32_t type;
    while (tt__wire_recv(TT__WIRE_FD, &type, &request) == TT_OK && type == TT__MSG_COMPILE) {
        tt__msg_compiled reply = {0};
        cubin.len = 0;
        tt__fill_done(&reply.done, compile(&request, &cubin, &reply));
        struct iovec parts[] = {{&reply, sizeof reply}, {cubin.text, cubin.len}};
        if (tt__wire_reply(TT__MSG_COMPILED, parts, 2) != TT_OK)
            break;
    }
    tt__str_free(&request);
    tt__str_free(&cubin);
    return 0;
}

int main(int argc, char **argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE,
              &(struct rlimit){0, 0}); /* a crash of a kernel is a result, and needs no core file */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    if (argc == 3 && strcmp(argv[1], "compile") == 0) {
        limit_memory((size_t)strtoull(argv[2], NULL, 10));
        step_back();
        keep_memory();
        return compile_worker();
    }
    if (argc == 3 && strcmp(argv[1], "gpu") == 0)
        return tt__gpu_worker(atoi(argv[2]));
    fprintf(stderr, "tiletune-worker is started by tiletune itself; the program to use is `tune`\n");
    return 2;
}

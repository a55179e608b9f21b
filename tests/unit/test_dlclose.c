/* A host that loads the library, asks it and unloads it again, as plug-ins do, gets its memory back. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tiletune.h"

#define LOAD(name) ((__typeof__(&name))(intptr_t)dlsym(lib, #name))

static int cycle(const char *path) {
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_problem p = TT_INIT(tt_problem);
    tt_choice choice = TT_INIT(tt_choice);
    tt_ctx *ctx = NULL;
    opts.db_path = ":memory:";
    opts.gpu = "NVIDIA H200";
    p.rows = p.cols = 4096;
    int failed = LOAD(tt_open)(&ctx, &opts) != TT_OK || LOAD(tt_best)(&choice, ctx, &p) != TT_OK;
    if (failed)
        fprintf(stderr, "%s\n", LOAD(tt_last_error)());
    LOAD(tt_close)(&ctx);
    return dlclose(lib) != 0 || failed;
}

int main(int argc, char **argv) {
    enum { CYCLES = 20, BYTES_MAX = 1000 };
    if (argc != 2 || cycle(argv[1]) || cycle(argv[1])) /* after this the C library has what it keeps */
        return 1;
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < CYCLES; i++)
        if (cycle(argv[1]))
            return 1;
    long each = ((long)mallinfo2().uordblks - (long)before) / CYCLES;
    printf("%ld bytes a cycle\n", each);
    return each > BYTES_MAX;
}

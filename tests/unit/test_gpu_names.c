/* Parts of a GPU's name: no GPU is chosen among several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "db/store.h"
#include "dispatch/store_layers.h"
#include "tiletune.h"

static char folder[] = "/tmp/tiletune-names-XXXXXX";

static int enter(void **state) {
    (void)state;
    unsetenv("TILETUNE_SYSTEM_DB");
    return mkdtemp(folder) ? 0 : -1;
}

static int leave(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* A store that knows these GPUs. The second may be NULL. */
static const char *store_of(const char *first, const char *second) {
    static char paths[8][128];
    static size_t n;
    char *path = paths[n++];
    const char *names[] = {first, second};
    tt__store *store;
    int64_t id;
    snprintf(path, sizeof *paths, "%s/%zu.db", folder, n);
    assert_int_equal(tt__store_open(&store, path, TT__STORE_READ_WRITE), TT_OK);
    for (size_t i = 0; i < 2 && names[i]; i++) {
        tt__gpu gpu = {.cc = 90,
                       .sm_count = 114,
                       .memory_bytes = (int64_t)80 << 30,
                       .l2_bytes = 50 << 20,
                       .max_threads_per_block = 1024,
                       .shared_per_block = 227 << 10};
        snprintf(gpu.name, sizeof gpu.name, "%s", names[i]);
        assert_int_equal(tt__store_gpu(store, &gpu, &id), TT_OK);
    }
    tt__store_close(&store);
    return path;
}

/* `says`: of the message, or NULL if there is an answer. */
static void ask(const char *db, const char *gpu, const char *says) {
    tt_ctx *ctx;
    tt_choice choice = TT_INIT(tt_choice);
    tt_problem p = TT_INIT(tt_problem);
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = db;
    opts.gpu = gpu;
    p.rows = p.cols = 64;
    assert_int_equal(tt_open(&ctx, &opts), TT_OK);
    tt_status status = tt_best(&choice, ctx, &p);
    if (status != (says ? TT_E_INVALID : TT_OK) || (says && !strstr(tt_last_error(), says)))
        fail_msg("%s: %d: %s", gpu, status, tt_last_error());
    tt_close(&ctx);
}

static void of_the_store(void **state) {
    (void)state;
    const char *db = store_of("NVIDIA H100 PCIe", "NVIDIA H100 NVL");
    ask(db, "nvidia h100 pcie", NULL);
    ask(db, "NVL", NULL);
    ask(db, "h100", "several GPUs match");
    setenv("TILETUNE_SYSTEM_DB", db, 1);
    ask(":memory:", "NVL", NULL);
    ask(":memory:", "h100", "several GPUs match");
    ask(store_of("NVIDIA H100 SXM", NULL), "h100", NULL); /* one's own store comes first */
    setenv("TILETUNE_SYSTEM_DB", store_of("NVIDIA L40", NULL), 1);
    db = store_of("NVIDIA L40S", "NVIDIA L40G");
    ask(db, "nvidia l40", NULL); /* the whole name of another layer's */
    ask(db, "l40", "several GPUs match");
    unsetenv("TILETUNE_SYSTEM_DB");
}

static void of_what_is_shipped(void **state) {
    (void)state;
    const char *first = tt__n_shipped ? tt__shipped[0].gpu.name : "", *other = NULL;
    for (size_t i = 0; i < tt__n_shipped && !other; i++)
        other = strcmp(tt__shipped[i].gpu.name, first) != 0 ? tt__shipped[i].gpu.name : NULL;
    if (!other)
        skip();
    ask(":memory:", first, NULL);
    ask(":memory:", other, NULL);
    ask(":memory:", "nvidia", "several GPUs that come with tiletune match: ");
    ask(":memory:", "a100", "with tiletune come: ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_store),
        cmocka_unit_test(of_what_is_shipped),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}

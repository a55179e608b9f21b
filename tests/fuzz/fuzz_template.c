/* Any bytes as a kernel template: refused with a place and a sentence, or a space whose every member is
 * legal. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "template/task.h"

static const tt__gpu gpu = {.name = "A GPU",
                            .cc = 90,
                            .sm_count = 132,
                            .memory_bytes = INT64_C(80) << 30,
                            .l2_bytes = 50 << 20,
                            .max_threads_per_block = 1024,
                            .shared_per_block = 232448};
static const tt__problem problem = {.op = "transpose",
                                    .rows = 1000,
                                    .cols = 512,
                                    .lds = 512,
                                    .ldd = 1000,
                                    .batch = 1,
                                    .src_stride = 512000,
                                    .dst_stride = 512000,
                                    .elem_size = 4,
                                    .align = 16};

/* Its own problem has a workload, and each metric a value; the texts that are asked for by hand are any
 * bytes, too. */
static void look_at_task(const tt__template *t, const tt__problem *p, const char *text) {
    tt__workload w;
    tt__problem copy, other;
    double value, part;
    bool has;
    tt_status status = tt__workload_of(&w, t, &gpu, p);
    fuzz_want(status == TT_OK ||
                  ((status == TT_E_TEMPLATE || status == TT_E_UNSUPPORTED) && *tt_last_error()),
              "a workload");
    for (int i = 0; i < w.n && status == TT_OK; i++)
        fuzz_want(w.arrays[i].direction == TT__SCALAR || tt__array_bytes(&w.arrays[i]) > 0, "a length");
    for (size_t i = 0; i < t->task->n_metrics; i++)
        fuzz_want(tt__metric_value(&value, t, i, &gpu, p, NULL, 10) == TT_OK, "a metric");
    fuzz_want(tt__task_copy(&copy, &part, &has, t, &gpu, p) == TT_OK && part > 0, "a copy");
    status = tt__task_problem(&other, t, text);
    fuzz_want(status == TT_OK || ((status == TT_E_INVALID || status == TT_E_TEMPLATE) && *tt_last_error()),
              "a problem");
    fuzz_want(tt__variables_distance(p, p) == 0, "no distance from itself");
}

static void look_at(const tt__template *t, const char *text) {
    tt__space space = {0};
    tt__problem own = problem;
    if (t->own) {
        fuzz_want(tt__task_problem(&own, t, NULL) == TT_OK, "a problem of its own");
        look_at_task(t, &own, text);
    }
    tt_status status = tt__space_add(&space, t, &gpu, &own);
    fuzz_want(status == TT_OK || (status == TT_E_TEMPLATE && *tt_last_error()), "a space");
    for (size_t i = 0; i < space.n && i < 16; i++) {
        tt__candidate again;
        tt__str options = {0};
        int n;
        fuzz_want(tt__space_resolve(&again, t, &gpu, &own, space.items[i].config) == TT_OK, "a legal member");
        status = tt__config_options(&options, &n, &space.items[i], &own);
        fuzz_want(status == TT_OK || status == TT_E_TEMPLATE, "options of the compiler");
        tt__str_free(&options);
        fuzz_want(memcmp(&again.launch, &space.items[i].launch, sizeof again.launch) == 0, "one geometry");
        fuzz_want(memcmp(again.derived, space.items[i].derived, sizeof again.derived) == 0, "one derivation");
    }
    tt__space_free(&space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tt__template *t;
    char *text = malloc(size + 1);
    fuzz_want(text != NULL, "memory");
    memcpy(text, data, size);
    text[size] = '\0';
    tt_status status = tt__template_parse(&t, "fuzz.cu", text);
    if (status == TT_OK)
        look_at(t, strrchr(text, '\n') ? strrchr(text, '\n') : text);
    else
        fuzz_want(status == TT_E_TEMPLATE && *tt_last_error(), "a refusal");
    tt__template_free(&t);
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static const char *const words[] = {"//@",
                                        "kernel",
                                        "op",
                                        "param",
                                        "runtime",
                                        "derived",
                                        "where",
                                        "block",
                                        "grid",
                                        "shared",
                                        "launch",
                                        "early",
                                        "args",
                                        "default",
                                        "transpose",
                                        "transpose_in_place",
                                        "copy",
                                        "rows",
                                        "cols",
                                        "lds",
                                        "ldd",
                                        "batch",
                                        "src_stride",
                                        "dst_stride",
                                        "elem_size",
                                        "align",
                                        "max_threads_per_block",
                                        "max_shared_bytes",
                                        "sm_count",
                                        "cc",
                                        "l2_bytes",
                                        "ceil_div(",
                                        "min(",
                                        "max(",
                                        "abs(",
                                        "log2(",
                                        "iif(",
                                        "coalesce(",
                                        "AND",
                                        "OR",
                                        "NOT",
                                        "IN (",
                                        "BETWEEN",
                                        "CASE WHEN",
                                        "THEN",
                                        "ELSE",
                                        "END",
                                        "IS",
                                        "NULL",
                                        "+",
                                        "-",
                                        "*",
                                        "/",
                                        "%",
                                        "<<",
                                        ">>",
                                        "&",
                                        "|",
                                        "~",
                                        "=",
                                        "<>",
                                        "<=",
                                        "(",
                                        ")",
                                        ",",
                                        "'fast'",
                                        "'",
                                        "\"",
                                        "dst",
                                        "src",
                                        "i32",
                                        "i64",
                                        "f32",
                                        "extern \"C\"",
                                        "tiled",
                                        "--",
                                        "/*",
                                        ";",
                                        "SELECT",
                                        "[",
                                        "`",
                                        "\t",
                                        "\n",
                                        "=",
                                        "TILE",
                                        "MODE",
                                        "ORDER",
                                        "TILE=32",
                                        "1.5",
                                        "sqlite_master",
                                        "load_extension(",
                                        "randomblob("};
    return fuzz_mutate_words(data, size, max_size, seed, words, sizeof words / sizeof *words);
}

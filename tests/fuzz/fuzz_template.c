/* Any bytes as a kernel template: refused with a place and a sentence, or a space whose every member is
 * legal. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "template/template.h"

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

static void look_at(const tt__template *t) {
    tt__space space = {0};
    tt_status status = tt__space_add(&space, t, &gpu, &problem);
    fuzz_want(status == TT_OK || (status == TT_E_TEMPLATE && *tt_last_error()), "a space");
    for (size_t i = 0; i < space.n && i < 16; i++) {
        tt__candidate again;
        fuzz_want(tt__space_resolve(&again, t, &gpu, &problem, space.items[i].config) == TT_OK,
                  "a legal member");
        fuzz_want(memcmp(&again.launch, &space.items[i].launch, sizeof again.launch) == 0, "one geometry");
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
        look_at(t);
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
                                        "where",
                                        "block",
                                        "grid",
                                        "shared",
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

/*
 * Any bytes as a kernel template. They are refused with a place and a message, or make a space of legal
 * configurations.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"

enum { WORDS_MAX = 200 };

static const tt__gpu gpu = {.name = "A GPU",
                            .cc = 90,
                            .sm_count = 132,
                            .memory_bytes = INT64_C(80) << 30,
                            .l2_bytes = 50 << 20,
                            .max_threads_per_block = 1024,
                            .shared_per_block = 232448};

/* Any text is a problem of the operation or is refused; what is one has words, and is not far from itself. */
static void look_at_problem(const tt__operation *op, const char *name, const char *text) {
    tt__problem p, again;
    tt__str settings = {0};
    char words[TT__PROBLEM_TEXT_MAX];
    bool same;
    tt__facts facts;
    tt_status status = tt__operation_problem(&p, op, name, text);
    fuzz_want(status == TT_OK || ((status == TT_E_INVALID || status == TT_E_TEMPLATE) && *tt_last_error()),
              "a problem");
    if (status != TT_OK)
        return;
    fuzz_want(tt__operation_distance(op, &p, &p, &same) <= 0 && same, "no distance from itself");
    fuzz_want(*tt__problem_text(words, &p), "words");
    fuzz_want(tt__facts_of(&facts, op, NULL, &p) == TT_OK, "facts");
    fuzz_want(tt__facts_offset(&facts) >= 0 && tt__facts_offset(&facts) < 16, "an offset");
    fuzz_want(tt__problem_add_unusual(&settings, op, &p) == TT_OK, "what is unusual");
    status = tt__operation_problem(&again, op, name, tt__str_text(&settings));
    fuzz_want(status == TT_OK && tt__problem_same(&p, &again), "the same from what is unusual");
    tt__str_free(&settings);
}

/* Its problem has a workload, and each metric a value. */
static void look_at_operation(const tt__template *t, const tt__problem *p) {
    tt__workload w;
    tt__problem copy;
    double value;
    tt_status status = tt__workload_of(&w, t, &gpu, p);
    fuzz_want(status == TT_OK ||
                  ((status == TT_E_TEMPLATE || status == TT_E_UNSUPPORTED) && *tt_last_error()),
              "a workload");
    for (int i = 0; i < w.n && status == TT_OK; i++)
        fuzz_want(w.arrays[i].direction == TT__SCALAR || tt__array_bytes(&w.arrays[i]) > 0, "a length");
    for (size_t i = 0; i < t->operation->n_metrics; i++)
        fuzz_want(tt__metric_value(&value, t, i, &gpu, p, NULL, 10) == TT_OK, "a metric");
    fuzz_want(!tt__problem_copy(&copy, p) || tt__problem_number(&copy, "bytes", 0) > 0, "a copy");
}

static void look_at(const tt__template *t, const char *text) {
    tt__space space = {0};
    tt__problem p;
    fuzz_want(tt__operation_sample(&p, t->operation, t->op) == TT_OK, "an ordinary problem");
    look_at_problem(t->operation, t->op, text);
    look_at_operation(t, &p);
    tt_status status = tt__space_add(&space, t, &gpu, &p);
    fuzz_want(status == TT_OK || (status == TT_E_TEMPLATE && *tt_last_error()), "a space");
    for (size_t i = 0; i < space.n && i < 16; i++) {
        tt__candidate again;
        tt__str options = {0};
        int n;
        fuzz_want(tt__space_resolve(&again, t, &gpu, &p, space.items[i].config) == TT_OK, "a legal member");
        status = tt__config_options(&options, &n, &space.items[i], &p);
        fuzz_want(status == TT_OK || status == TT_E_TEMPLATE, "options of the compiler");
        tt__str_free(&options);
        fuzz_want(memcmp(&again.configuration.pass, &space.items[i].pass, sizeof space.items[i].pass) == 0,
                  "one geometry");
        fuzz_want(memcmp(again.configuration.derived, space.items[i].derived,
                         sizeof again.configuration.derived) == 0,
                  "one derivation");
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
    static char text[] =
        "//@#kernel#op#defines#problem#type#require#shape#near#same#sample#moves#buffer#scalar#reference#"
        "metric#tolerance#axpby#bytes#inout#time_ns#param#runtime#derived#where#block#grid#shared#launch#"
        "early#args#default#transpose#transpose_in_place#copy#rows#cols#lds#ldd#batch#src_stride#"
        "dst_stride#elem_size#align#max_threads_per_block#max_shared_bytes#sm_count#cc#l2_bytes#"
        "ceil_div(#min(#max(#abs(#log2(#iif(#coalesce(#AND#OR#NOT#IN (#BETWEEN#CASE WHEN#THEN#ELSE#END#"
        "IS#NULL#+#-#*#/#%#<<#>>#&#|#~#=#<>#<=#(#)#,#'fast'#'#\"#dst#src#i32#i64#f32#extern \"C\"#tiled#"
        "--#/*#;#SELECT#[#`#\t#\n#TILE#MODE#ORDER#TILE=32#1.5#sqlite_master#load_extension(#randomblob(#"
        "e4m3#e5m2#bf16#u32#u8#bool#elem#3u#4294967295u#0.5f#1e3#let#when#repeat#swap#include#options#"
        "-DX=1#maxrregcount#constant#verify#data#per configuration#limit#expect#objective minimize#"
        "macros variables#prefer#in#out#scratch#uniform#normal#zeros#float#half";
    static const char *words[WORDS_MAX];
    static size_t n;
    n = n ? n : fuzz_split(words, WORDS_MAX, text);
    return fuzz_mutate_words(data, size, max_size, seed, words, n);
}

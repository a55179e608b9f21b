/*
 * Every pipe and every reason to wait that CUPTI knows, from Turing to Blackwell
 * (tests/data/cupti-names.txt), and the rule that names it. A test holds this table to CUPTI's names and to
 * the rules.
 */
#include <math.h>

#include "base/limits.h"
#include "tuner/explain/explain.h"

#define PIPE(name, member, words, rule)                                                                      \
    { false, name, TT__C_PIPE_##member, words, rule, NULL }
#define STALL(name, member, words, rule)                                                                     \
    { true, name, TT__C_STALL_##member, words, rule, NULL }

const tt__cause tt__causes[] = {
    PIPE("adu", ADU, "constants and barriers", "constant_bound"),
    PIPE("alu", ALU, "whole numbers and logic", "instruction_bound"),
    PIPE("cbu", CBU, "branches", "branch_bound"),
    PIPE("fma", FMA, "single precision", "fp32_bound"),
    PIPE("fmaheavy", FMAHEAVY, "products of whole numbers and conversions of halves", "multiply_bound"),
    PIPE("fp16", FP16, "half precision", "fp16_bound"),
    PIPE("fp64", FP64, "double precision", "fp64_bound"),
    PIPE("lsu", LSU, "loads, stores and shuffles", "lsu_bound"),
    PIPE("tc", TC, "tensor cores", "tensor_bound"),
    PIPE("tensor", TENSOR, "tensor cores", "tensor_bound"),
    PIPE("tex", TEX, "textures", "texture_bound"),
    PIPE("tma", TMA, "bulk copies", "bulk_copy_bound"),
    PIPE("uniform", UNIFORM, "values that a warp shares", "uniform_bound"),
    PIPE("xu", XU, "special functions and conversions", "special_bound"),
    {false, "aluheavy", TT__COUNTER_COUNT, "", NULL, "it is a half of alu, which is counted"},
    {false, "fmalite", TT__COUNTER_COUNT, "", NULL, "it is a half of fma, which is counted"},
    {false, "ipa", TT__COUNTER_COUNT, "", NULL, "only graphics interpolates attributes"},
    {false, "tmem", TT__COUNTER_COUNT, "", NULL, "what it moves is for tc, which is counted"},
    {false, "workid", TT__COUNTER_COUNT, "", NULL, "a block asks for its next piece of work once"},
    STALL("barrier", BARRIER, "barriers", "over_synchronised"),
    STALL("branch_resolving", BRANCH, "branches", "branch_bound"),
    STALL("dispatch_stall", DISPATCH, "dispatch", "dispatch_stalls"),
    STALL("drain", DRAIN, "stores at the end", "store_drain"),
    STALL("gmma", GMMA, "tensor cores", "tensor_waits"),
    STALL("imc_miss", IMC, "constants", "constant_misses"),
    STALL("lg_throttle", LG, "LSU queue", "lsu_queue"),
    STALL("long_scoreboard", LONG, "loads", "latency"),
    STALL("math_pipe_throttle", MATH, "math pipes", "pipe_bound"),
    STALL("membar", MEMBAR, "fences", "fences"),
    STALL("mio_throttle", MIO, "shared queue", "shared_queue"),
    STALL("no_instruction", NO_INSTRUCTION, "code", "instruction_cache"),
    STALL("short_scoreboard", SHORT, "shared memory", "shared_latency"),
    STALL("sleeping", SLEEPING, "sleep", "sleeping"),
    STALL("tex_throttle", TEX, "texture queue", "texture_queue"),
    STALL("wait", WAIT, "arithmetic", "dependency_chain"),
    {true, "misc", TT__C_STALL_MISC, "other reasons", NULL, "CUPTI says no more, so it is not known"},
    {true, "not_selected", TT__C_STALL_NOT_SELECTED, "its turn", NULL,
     "another warp issues in its place, so no time is lost"},
    {true, "selected", TT__COUNTER_COUNT, "", NULL, "the warp issues, so it does not wait"},
    {true, "mio_throttle_pipe_mio", TT__COUNTER_COUNT, "", NULL, "it is a part of mio_throttle"},
};
const size_t tt__n_causes = TT__COUNT(tt__causes);

/* The largest counter of a kind, but for one cause. */
static const tt__cause *most(const tt__explain_facts *f, bool stall, const tt__cause *but) {
    const tt__cause *best = NULL;
    for (size_t i = 0; i < tt__n_causes; i++) {
        const tt__cause *c = &tt__causes[i];
        if (c->stall == stall && c->counter != TT__COUNTER_COUNT && c->counter != TT__C_STALL_NOT_SELECTED &&
            c != but && isfinite(f->counted.values[c->counter]) &&
            (!best || f->counted.values[c->counter] > f->counted.values[best->counter]))
            best = c;
    }
    return best;
}

const tt__cause *tt__cause_waits(const tt__explain_facts *f, const tt__cause *but) {
    return tt__facts_counted(f) ? most(f, true, but) : NULL;
}

const tt__cause *tt__cause_busiest(const tt__explain_facts *f) {
    return tt__facts_counted(f) ? most(f, false, NULL) : NULL;
}

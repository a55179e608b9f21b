/* See the header. */
#include "tuner/explain/explain_facts.h"

#include <math.h>

#include "base/sizes.h"
#include "tuner/explain/occupancy.h"

/* ---- Causes ---- */

/*
 * Every pipe and every reason to wait that CUPTI knows, from Turing to Blackwell
 * (tests/data/cupti-names.txt), and the rule that names it. A test holds this table to CUPTI's names and to
 * the rules.
 */
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

/* ---- Measures ---- */

enum { SECTOR_BYTES = 32 };

double tt__m_c(const tt__explain_facts *f, tt__counter i) {
    double v = f->counted.values[i];
    return isfinite(v) ? v : 0;
}

double tt__m_part(double a, double b) {
    return b > 0 ? a / b : 0;
}

double tt__m_clamp(double x) {
    return x < 0 || !isfinite(x) ? 0 : x > 1 ? 1 : x;
}

double tt__m_waits(const tt__explain_facts *f, tt__counter stall) {
    double all = 0;
    for (int i = TT__C_STALL_BARRIER; i < TT__COUNTER_COUNT; i++)
        all += i == TT__C_STALL_NOT_SELECTED ? 0 : tt__m_c(f, (tt__counter)i);
    return tt__m_part(tt__m_c(f, stall), all);
}

double tt__m_of_active(const tt__explain_facts *f, tt__counter percent) {
    double active = tt__m_part(tt__m_c(f, TT__C_SM_ACTIVE_MAX), tt__m_c(f, TT__C_SM_ELAPSED));
    return tt__m_clamp(tt__m_part(tt__m_c(f, percent) / 100, active));
}

double tt__m_dram_gbps(const tt__explain_facts *f) {
    return tt__m_part(tt__m_c(f, TT__C_DRAM_READ) + tt__m_c(f, TT__C_DRAM_WRITTEN), f->time_us * 1e3);
}

double tt__m_dram_use(const tt__explain_facts *f) {
    double most = f->copy_dram_gbps > 0 ? f->copy_dram_gbps : 0.9 * f->peak_gbps;
    return tt__m_clamp(tt__m_part(tt__m_dram_gbps(f), most));
}

double tt__m_shared_use(const tt__explain_facts *f) {
    return tt__m_part(tt__m_c(f, TT__C_SHARED_WAVEFRONTS), f->sm_count * tt__m_c(f, TT__C_SM_ACTIVE_AVG));
}

double tt__m_conflicts(const tt__explain_facts *f) {
    double meet = fmax(0, tt__m_c(f, TT__C_SHARED_ATOMIC_WAVEFRONTS) - tt__m_c(f, TT__C_SHARED_ATOMICS));
    double conflicts = fmax(0, tt__m_c(f, TT__C_BANK_CONFLICTS) - meet);
    return tt__m_clamp(tt__m_part(conflicts, tt__m_c(f, TT__C_SHARED_WAVEFRONTS)));
}

double tt__m_l2_use(const tt__explain_facts *f) {
    if (f->l2_gbps <= 0)
        return tt__m_of_active(f, TT__C_L2_BUSY);
    return tt__m_clamp(
        tt__m_part(SECTOR_BYTES * tt__m_c(f, TT__C_L2_SECTORS), f->time_us * 1e3 * f->l2_gbps));
}

double tt__m_l1_use(const tt__explain_facts *f) {
    return tt__m_clamp(fmax(tt__m_shared_use(f), tt__m_of_active(f, TT__C_L1_BUSY)));
}

double tt__m_spilled(const tt__explain_facts *f) {
    return tt__m_part(tt__m_c(f, TT__C_LOCAL_LOADS) + tt__m_c(f, TT__C_LOCAL_STORES), tt__m_sectors(f));
}

double tt__m_memory_use(const tt__explain_facts *f) {
    double l1 = tt__m_of_active(f, TT__C_L1_BUSY) - tt__m_shared_use(f);
    return tt__m_clamp(fmax(fmax(tt__m_dram_use(f), tt__m_l2_use(f)), l1));
}

double tt__m_sectors(const tt__explain_facts *f) {
    return tt__m_c(f, TT__C_LOAD_SECTORS) + tt__m_c(f, TT__C_STORE_SECTORS) + tt__m_c(f, TT__C_LOCAL_LOADS) +
           tt__m_c(f, TT__C_LOCAL_STORES);
}

double tt__m_load_width(const tt__explain_facts *f) {
    return f->counted.sass.loads > 0 ? f->counted.sass.load_bytes / f->counted.sass.loads : 4;
}

double tt__m_store_width(const tt__explain_facts *f) {
    return f->counted.sass.stores > 0 ? f->counted.sass.store_bytes / f->counted.sass.stores : 4;
}

double tt__m_slices(const tt__explain_facts *f) {
    return fmax(1, tt__m_part(tt__m_c(f, TT__C_L2_SLICE_MAX), tt__m_c(f, TT__C_L2_SLICE_AVG)));
}

double tt__m_atomics(const tt__explain_facts *f) {
    double n = tt__m_c(f, TT__C_ATOMIC_REQUESTS) + tt__m_c(f, TT__C_REDUCTION_REQUESTS);
    return tt__m_part(n, n + tt__m_c(f, TT__C_LOAD_REQUESTS) + tt__m_c(f, TT__C_STORE_REQUESTS));
}

double tt__m_waves(const tt__explain_facts *f) {
    return tt__m_part(f->blocks, (double)f->resident * f->sm_count);
}

double tt__m_sm_idle(const tt__explain_facts *f) {
    return tt__m_clamp(1 - tt__m_part(tt__m_c(f, TT__C_SM_ACTIVE_AVG), tt__m_c(f, TT__C_SM_ACTIVE_MAX)));
}

double tt__m_last_wave_idle(const tt__explain_facts *f) {
    double w = tt__m_waves(f);
    return 1 - w / ceil(w);
}

double tt__m_us_a_launch(const tt__explain_facts *f) {
    return tt__m_part(f->time_us, f->launches);
}

double tt__m_copies(const tt__explain_facts *f) {
    return f->copy_gbps > 0 ? tt__m_part(f->time_us * 1e3 * f->copy_gbps, f->moved_bytes) : 0;
}

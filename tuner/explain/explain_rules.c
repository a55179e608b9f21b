/*
 * What counters mean. Each rule has a planted kernel of its name in tests/planted/, for which it must be
 * named first. A fault's share is about the part of the time that it costs. A limit's share is how much of
 * the hardware is used. explain_phrases.c says it in words.
 */
#include <math.h>
#include <stdlib.h>

#include "tuner/explain/explain_measures.h"
#include "tuner/explain/explain_phrases.h"

enum { WARP = 32, SECTOR_BYTES = 32 };

/* ---- The rules ------------------------------------------------------------------------------------------
 */

static double uncoalesced_reads(const tt__explain_facts *f) {
    double excess = tt__m_load_excess(f);
    return excess < 1.7 ? 0
                        : (1 - 1 / excess) * tt__m_memory_matters(f) *
                              tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS), tt__m_sectors(f));
}

/* What is left if nothing else explains the time. */
static double guess_pattern(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    double loaded = tt__m_part(f->blocks * f->threads * s->load_bytes, f->in_bytes);
    return tt__m_copies(f) > 3 && loaded > 0.9 && loaded < 1.5 && s->all < 300 && s->shared == 0 &&
                   s->fp64 == 0
               ? 0.5
               : 0;
}

static double uncoalesced_writes(const tt__explain_facts *f) {
    double excess = tt__m_store_excess(f);
    return excess < 1.7 ? 0
                        : (1 - 1 / excess) * tt__m_memory_matters(f) *
                              tt__m_part(tt__m_c(f, TT__C_STORE_SECTORS), tt__m_sectors(f));
}

/* Where the L1 cache hits, the second line costs as much as the first; elsewhere the additional sectors cost.
 */
static double misaligned(const tt__explain_facts *f) {
    double excess = tt__m_load_excess(f), hits = tt__m_clamp(tt__m_c(f, TT__C_L1_HIT) / 100);
    return excess < 1.05 || excess >= 1.7
               ? 0
               : (hits / 2 + (1 - hits) * (1 - 1 / excess)) * tt__m_memory_matters(f);
}

static double bank_conflicts(const tt__explain_facts *f) {
    return tt__m_part(tt__m_c(f, TT__C_BANK_CONFLICTS), tt__m_c(f, TT__C_SHARED_WAVEFRONTS)) *
           tt__m_clamp(tt__m_shared_use(f));
}

static double guess_banks(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    bool much = s->shared > 0.05 * s->all && s->barriers < 0.1 * s->shared &&
                s->fp32 + s->fp64 + s->fp16 < 2 * s->shared;
    return much && tt__m_copies(f) > 3 ? 0.6 : 0;
}

static double low_by_registers(const tt__explain_facts *f) {
    return tt__m_is_limited(f, true) && !tt__m_is_limited(f, false)
               ? tt__m_idle(f) * tt__m_waits(f, TT__C_STALL_LONG) * (1 - f->occupancy)
               : 0;
}

static double guess_registers(const tt__explain_facts *f) {
    return tt__m_is_limited(f, true) && !tt__m_is_limited(f, false) && tt__m_copies(f) > 1.5
               ? 1 - f->occupancy
               : 0;
}

static double low_by_shared(const tt__explain_facts *f) {
    return tt__m_is_limited(f, false) ? tt__m_idle(f) * tt__m_waits(f, TT__C_STALL_LONG) * (1 - f->occupancy)
                                      : 0;
}

static double guess_shared(const tt__explain_facts *f) {
    return tt__m_is_limited(f, false) && tt__m_copies(f) > 1.5 ? 1 - f->occupancy : 0;
}

static double spills(const tt__explain_facts *f) {
    return f->counted.local_bytes ? tt__m_spilled(f) * tt__m_memory_matters(f) : 0;
}

static double guess_spills(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return f->counted.local_bytes ? tt__m_part(s->local, s->local + s->loads + s->stores + s->shared) : 0;
}

/* A slice that is asked for one sector again and again is slower than its peak. */
static double partition_camping(const tt__explain_facts *f) {
    double slices = tt__m_slices(f), use = tt__m_of_active(f, TT__C_L2_BUSY) * slices;
    bool hot = use > 0.3 || (slices > 8 && tt__m_waits_for_memory(f) > 0.5);
    return slices < 1.5 || !hot || tt__m_atomics(f) > 0.1 ? 0 : (1 - 1 / slices) * tt__m_memory_matters(f);
}

static double divergent(const tt__explain_facts *f) {
    double lanes = tt__m_c(f, TT__C_LANES);
    return lanes > 0 ? tt__m_clamp(1 - lanes / WARP) * tt__m_clamp(1 - tt__m_waits_for_memory(f)) : 0;
}

static double guess_divergent(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return s->branches >= 6 * TT__SASS_LOOP && s->branches > 0.02 * s->all && tt__m_copies(f) > 3 ? 0.7 : 0;
}

static double few_blocks(const tt__explain_facts *f) {
    return f->blocks < f->sm_count && tt__m_us_a_launch(f) > 4 ? 1 - tt__m_part(f->blocks, f->sm_count) : 0;
}

static double guess_tail(const tt__explain_facts *f) {
    double w = tt__m_waves(f);
    return f->blocks >= f->sm_count && w > 1 && tt__m_us_a_launch(f) > 4 ? tt__m_last_wave_idle(f) : 0;
}

static double tail_effect(const tt__explain_facts *f) {
    double w = tt__m_waves(f);
    return f->blocks >= f->sm_count && w > 1 && w < 16 && tt__m_us_a_launch(f) > 4 ? tt__m_sm_idle(f) : 0;
}

static double atomic_adds(const tt__explain_facts *f) {
    return tt__m_atomics(f) < 0.05
               ? 0
               : tt__m_waits_for_memory(f) * fmax(tt__m_atomics(f), 1 - 1 / tt__m_slices(f));
}

static double guess_atomics(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    double share = tt__m_part(s->atomics, s->atomics + s->loads + s->stores);
    return share > 0.2 && tt__m_copies(f) > 2 ? 0.9 : 0;
}

static double latency(const tt__explain_facts *f) {
    return tt__m_idle(f) * tt__m_waits(f, TT__C_STALL_LONG) * f->occupancy;
}

static double guess_latency(const tt__explain_facts *f) {
    bool loads = f->counted.sass.loads >= TT__SASS_LOOP;
    return loads && f->blocks >= f->sm_count && tt__m_waves(f) < 0.5 && tt__m_copies(f) > 3
               ? 1 - tt__m_waves(f)
               : 0;
}

/* Parts of sectors that are written are read first. Other rules name what is not coalesced or spilled. */
static double cache_thrash(const tt__explain_facts *f) {
    double needed = f->in_bytes * tt__m_load_excess(f), read = tt__m_c(f, TT__C_DRAM_READ);
    if (tt__m_store_excess(f) > 1.7)
        needed += f->out_bytes * tt__m_store_excess(f);
    return f->in_bytes > 0 && read > 1.5 * needed
               ? (1 - needed / read) * tt__m_dram_matters(f) * tt__m_clamp(1 - tt__m_spilled(f))
               : 0;
}

static double guess_thrash(const tt__explain_facts *f) {
    double loaded = f->blocks * f->threads * f->counted.sass.load_bytes;
    return f->in_bytes > 0x1p26 && loaded > 1.9 * f->in_bytes && tt__m_copies(f) > 1.5
               ? 1 - f->in_bytes / loaded
               : 0;
}

static double guess_uncached(const tt__explain_facts *f) {
    double loaded = f->blocks * f->threads * f->counted.sass.load_bytes;
    return f->in_bytes <= 0x1p26 && loaded > 4 * f->in_bytes && tt__m_copies(f) > 1.5 &&
                   f->counted.sass.shared == 0
               ? 0.9 * (1 - f->in_bytes / loaded)
               : 0;
}

static double uncached_reuse(const tt__explain_facts *f) {
    double read = tt__m_c(f, TT__C_LOAD_SECTORS) * SECTOR_BYTES, needed = f->in_bytes * tt__m_load_excess(f);
    if (tt__m_c(f, TT__C_L1_HIT) > 30 || read < 1.5 * needed || f->in_bytes <= 0)
        return 0;
    double others = tt__m_clamp(1 - cache_thrash(f)) * tt__m_clamp(1 - tt__m_issue_use(f)) / tt__m_slices(f);
    return (1 - needed / read) * tt__m_clamp(1.4 * tt__m_l2_use(f)) * others;
}

static double over_synchronised(const tt__explain_facts *f) {
    return tt__m_waits(f, TT__C_STALL_BARRIER) * tt__m_idle(f);
}

static double guess_barriers(const tt__explain_facts *f) {
    double share = tt__m_part(f->counted.sass.barriers, f->counted.sass.all);
    return share > 0.05 ? 0.8 : 0;
}

static double host_bound(const tt__explain_facts *f) {
    return tt__m_us_a_launch(f) > 0 ? tt__m_clamp(1.9 - tt__m_us_a_launch(f) / 3.5) * 0.97 : 0;
}

/* A conversion that is nearly as fast as a copy has no matrix product. */
static bool could_use_tensor_cores(const tt__explain_facts *f) {
    const double copies = tt__m_copies(f);
    return f->halves && f->counted.sass.tensor == 0 && (copies == 0 || copies > 1.5);
}

static double tensor_unused(const tt__explain_facts *f) {
    return could_use_tensor_cores(f)
               ? tt__m_clamp((tt__m_c(f, TT__C_PIPE_FMA) + tt__m_c(f, TT__C_PIPE_TENSOR)) / 50) * 0.9
               : 0;
}

static double guess_tensor(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return could_use_tensor_cores(f) && tt__m_part(s->fp16 + s->fp32, s->all) > 0.25 ? 0.9 : 0;
}

/* ---- Limits ---------------------------------------------------------------------------------------------
 */

static double fp64_bound(const tt__explain_facts *f) {
    return tt__m_c(f, TT__C_PIPE_FP64) / 100;
}

static double guess_fp64(const tt__explain_facts *f) {
    double share = tt__m_part(f->counted.sass.fp64, f->counted.sass.all);
    return share > 0.3 && tt__m_copies(f) > 1.5 ? share : 0;
}

static double fp32_bound(const tt__explain_facts *f) {
    return tt__m_c(f, TT__C_PIPE_FMA) / 100;
}

static double guess_fp32(const tt__explain_facts *f) {
    double share = tt__m_part(f->counted.sass.fp32, f->counted.sass.all);
    return share > 0.4 && tt__m_copies(f) > 1.5 ? share : 0;
}

/* Half precision without tensor instructions uses the same pipe. */
static double tensor_bound(const tt__explain_facts *f) {
    return f->counted.sass.fp16 > 0 && f->counted.sass.tensor == 0 ? 0 : tt__m_c(f, TT__C_PIPE_TENSOR) / 100;
}

/* Where arithmetic on numbers is most of what is issued, that is the better name for the limit. */
static double instruction_bound(const tt__explain_facts *f) {
    double arithmetic = fmax(tt__m_c(f, TT__C_PIPE_FMA), tt__m_c(f, TT__C_PIPE_FP64)),
           issued = tt__m_c(f, TT__C_ISSUED);
    bool other = arithmetic > tt__m_c(f, TT__C_PIPE_ALU) && arithmetic > 0.6 * issued;
    return fmax(other ? 0.8 * issued : issued, tt__m_c(f, TT__C_PIPE_ALU)) / 100;
}

static double guess_instructions(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    double others = s->loads + s->stores + s->local + s->shared + s->fp32 + s->fp64 + s->fp16 + s->tensor;
    return tt__m_copies(f) > 1.5 && tt__m_part(others, s->all) < 0.2 ? 0.7 : 0;
}

static double guess_memory(const tt__explain_facts *f) {
    return tt__m_copies(f) > 0 && tt__m_copies(f) < 1.3 ? 1 / tt__m_copies(f) : 0;
}

/* The name, the share by counters and without them, the sentence, and the counters that it needs. */
#define RULE(limit, name, counted, guessed, say, ...)                                                        \
    { name, limit, {__VA_ARGS__}, counted, guessed, say }
#define FAULT(...) RULE(false, __VA_ARGS__)
#define LIMIT(...) RULE(true, __VA_ARGS__)

static const tt__rule rules[] = {
    FAULT("uncoalesced_reads", uncoalesced_reads, guess_pattern, tt__say_reads, TT__C_LOAD_SECTORS,
          TT__C_LOAD_REQUESTS, TT__C_L2_BUSY),
    FAULT("uncoalesced_writes", uncoalesced_writes, NULL, tt__say_writes, TT__C_STORE_SECTORS,
          TT__C_STORE_REQUESTS, TT__C_L2_BUSY),
    FAULT("bank_conflicts", bank_conflicts, guess_banks, tt__say_banks, TT__C_BANK_CONFLICTS,
          TT__C_SHARED_WAVEFRONTS),
    FAULT("low_occupancy_registers", low_by_registers, guess_registers, tt__say_registers, TT__C_STALL_LONG,
          TT__C_ISSUED),
    FAULT("low_occupancy_shared", low_by_shared, guess_shared, tt__say_shared, TT__C_STALL_LONG,
          TT__C_ISSUED),
    FAULT("spills", spills, guess_spills, tt__say_spills, TT__C_LOCAL_LOADS, TT__C_LOCAL_STORES),
    FAULT("partition_camping", partition_camping, NULL, tt__say_camping, TT__C_L2_SLICE_MAX,
          TT__C_L2_SLICE_AVG, TT__C_L2_BUSY),
    FAULT("divergent_branches", divergent, guess_divergent, tt__say_divergent, TT__C_LANES, TT__C_STALL_LONG),
    FAULT("few_blocks", few_blocks, few_blocks, tt__say_few, 0),
    FAULT("tail_effect", tail_effect, guess_tail, tt__say_tail, TT__C_SM_ACTIVE_AVG, TT__C_SM_ACTIVE_MAX),
    FAULT("atomics", atomic_adds, guess_atomics, tt__say_atomics, TT__C_ATOMIC_REQUESTS,
          TT__C_REDUCTION_REQUESTS),
    FAULT("latency", latency, guess_latency, tt__say_latency, TT__C_STALL_LONG, TT__C_ISSUED),
    FAULT("cache_thrash", cache_thrash, guess_thrash, tt__say_thrash, TT__C_DRAM_READ),
    FAULT("misaligned_vectors", misaligned, NULL, tt__say_misaligned, TT__C_LOAD_SECTORS,
          TT__C_LOAD_REQUESTS),
    FAULT("uncached_reuse", uncached_reuse, guess_uncached, tt__say_uncached, TT__C_LOAD_SECTORS,
          TT__C_L1_HIT, TT__C_L2_BUSY),
    FAULT("over_synchronised", over_synchronised, guess_barriers, tt__say_barriers, TT__C_STALL_BARRIER,
          TT__C_ISSUED),
    FAULT("host_bound", host_bound, host_bound, tt__say_host, 0),
    FAULT("tensor_cores_unused", tensor_unused, guess_tensor, tt__say_tensor, TT__C_PIPE_FMA),
    LIMIT("fp64_bound", fp64_bound, guess_fp64, tt__say_fp64, TT__C_PIPE_FP64),
    LIMIT("instruction_bound", instruction_bound, guess_instructions, tt__say_instructions, TT__C_ISSUED,
          TT__C_PIPE_ALU),
    LIMIT("fp32_bound", fp32_bound, guess_fp32, tt__say_fp32, TT__C_PIPE_FMA),
    LIMIT("tensor_bound", tensor_bound, NULL, tt__say_tensor_bound, TT__C_PIPE_TENSOR),
    LIMIT("memory_bound", tt__m_dram_use, guess_memory, tt__say_memory, TT__C_DRAM_READ, TT__C_DRAM_WRITTEN),
    LIMIT("l2_bound", tt__m_l2_use, NULL, tt__say_l2, TT__C_L2_BUSY),
    LIMIT("shared_bound", tt__m_l1_use, NULL, tt__say_shared_bound, TT__C_SHARED_WAVEFRONTS, TT__C_L1_BUSY),
};

/* ---- Which come first -----------------------------------------------------------------------------------
 */

static const double grave = 0.18, slight = 0.1, used_up = 0.6;

/* Grave faults, limits, slight faults. */
static int rank(const tt__rule_finding *x) {
    return x->rule->limit ? 1 : x->share >= grave ? 0 : 2;
}

static int by_weight(const void *a, const void *b) {
    const tt__rule_finding *x = a, *y = b;
    if (rank(x) != rank(y))
        return rank(x) - rank(y);
    return (x->share < y->share) - (x->share > y->share);
}

static bool has_needed(const tt__rule *r, const tt__explain_facts *f) {
    for (int i = 0; i < TT__NEEDS_MAX && r->needs[i] && tt__facts_counted(f); i++)
        if (!isfinite(f->counted.values[r->needs[i]]))
            return false;
    return true;
}

int tt__rules_apply(tt__rule_finding out[TT__FINDINGS_MAX], const tt__explain_facts *f) {
    int n = 0;
    for (size_t i = 0; i < TT__COUNT(rules); i++) {
        const tt__rule *r = &rules[i];
        double (*of)(const tt__explain_facts *) = tt__facts_counted(f) ? r->counted : r->guessed;
        double share = of && has_needed(r, f) ? of(f) : 0;
        if (share >= (r->limit ? used_up : slight) || (r->limit && !tt__facts_counted(f) && share > 0))
            out[n++] = (tt__rule_finding){r, share};
    }
    qsort(out, (size_t)n, sizeof *out, by_weight);
    return n;
}

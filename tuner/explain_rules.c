/*
 * What counters mean. Each rule has a planted kernel of its name in tests/planted/, for which it must be
 * named first. A fault's share is about the part of the time that it costs. A limit's share is how much of
 * the hardware is used.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tuner/explain_measures.h"

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

static void say_reads(tt__str *out, const tt__explain_facts *f) {
    if (!tt__facts_counted(f)) {
        tt__str_add(out, "Each value is moved once, but slowly: probably reads or writes are not coalesced.");
        return;
    }
    tt__str_addf(out, "Reads are not coalesced: a request of a warp takes %.1f sectors where %.0f would do.",
                 tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS), tt__m_c(f, TT__C_LOAD_REQUESTS)),
                 fmax(1, tt__m_load_width(f)));
}

static double uncoalesced_writes(const tt__explain_facts *f) {
    double excess = tt__m_store_excess(f);
    return excess < 1.7 ? 0
                        : (1 - 1 / excess) * tt__m_memory_matters(f) *
                              tt__m_part(tt__m_c(f, TT__C_STORE_SECTORS), tt__m_sectors(f));
}

static void say_writes(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "Writes are not coalesced: a request of a warp takes %.1f sectors where %.0f would do.",
                 tt__m_part(tt__m_c(f, TT__C_STORE_SECTORS), tt__m_c(f, TT__C_STORE_REQUESTS)),
                 fmax(1, tt__m_store_width(f)));
}

/* Where the L1 cache hits, the second line costs as much as the first; elsewhere the additional sectors cost.
 */
static double misaligned(const tt__explain_facts *f) {
    double excess = tt__m_load_excess(f), hits = tt__m_clamp(tt__m_c(f, TT__C_L1_HIT) / 100);
    return excess < 1.05 || excess >= 1.7
               ? 0
               : (hits / 2 + (1 - hits) * (1 - 1 / excess)) * tt__m_memory_matters(f);
}

static void say_misaligned(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "Warps read across the edges of sectors: a request takes %.2f sectors where %.0f would do; "
                 "begin rows at multiples of 32 bytes.",
                 tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS), tt__m_c(f, TT__C_LOAD_REQUESTS)),
                 fmax(1, tt__m_load_width(f)));
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

static void say_banks(tt__str *out, const tt__explain_facts *f) {
    if (!tt__facts_counted(f)) {
        tt__str_add(out, "Shared memory is used much: probably bank conflicts; pad its rows.");
        return;
    }
    tt__str_addf(out,
                 "Bank conflicts: %.0f %% of the accesses to shared memory only repeat others; pad its rows.",
                 100 * tt__m_part(tt__m_c(f, TT__C_BANK_CONFLICTS), tt__m_c(f, TT__C_SHARED_WAVEFRONTS)));
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

static void say_registers(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out,
        "%d registers a thread leave room for %.0f %% of an SM's warps, too few to hide the wait for "
        "memory.",
        f->regs, 100 * f->occupancy);
}

static double low_by_shared(const tt__explain_facts *f) {
    return tt__m_is_limited(f, false) ? tt__m_idle(f) * tt__m_waits(f, TT__C_STALL_LONG) * (1 - f->occupancy)
                                      : 0;
}

static double guess_shared(const tt__explain_facts *f) {
    return tt__m_is_limited(f, false) && tt__m_copies(f) > 1.5 ? 1 - f->occupancy : 0;
}

static void say_shared(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out,
        "%.0f KB of shared memory a block leave room for %.0f %% of an SM's warps, too few to hide the "
        "wait for memory.",
        f->shared_bytes / 1024.0, 100 * f->occupancy);
}

static double spilled(const tt__explain_facts *f) {
    return tt__m_part(tt__m_c(f, TT__C_LOCAL_LOADS) + tt__m_c(f, TT__C_LOCAL_STORES), tt__m_sectors(f));
}

static double spills(const tt__explain_facts *f) {
    return f->counted.local_bytes ? spilled(f) * tt__m_memory_matters(f) : 0;
}

static double guess_spills(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return f->counted.local_bytes ? tt__m_part(s->local, s->local + s->loads + s->stores + s->shared) : 0;
}

static void say_spills(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "Registers spill: each thread keeps %d bytes in local memory", f->counted.local_bytes);
    if (tt__facts_counted(f))
        tt__str_addf(out, ", which is %.0f %% of the L1 cache's traffic", 100 * spilled(f));
    tt__str_add(out, ".");
}

/* A slice that is asked for one sector again and again is slower than its peak. */
static double partition_camping(const tt__explain_facts *f) {
    double slices = tt__m_slices(f), use = tt__m_of_active(f, TT__C_L2_BUSY) * slices;
    bool hot = use > 0.3 || (slices > 8 && tt__m_waits_for_memory(f) > 0.5);
    return slices < 1.5 || !hot || tt__m_atomics(f) > 0.1 ? 0 : (1 - 1 / slices) * tt__m_memory_matters(f);
}

static void say_camping(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out, "One slice of the L2 cache gets %.1f times the average's accesses, and the others wait for it.",
        tt__m_slices(f));
}

static double divergent(const tt__explain_facts *f) {
    double lanes = tt__m_c(f, TT__C_LANES);
    return lanes > 0 ? tt__m_clamp(1 - lanes / WARP) * tt__m_clamp(1 - tt__m_waits_for_memory(f)) : 0;
}

static double guess_divergent(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return s->branches >= 6 * TT__SASS_LOOP && s->branches > 0.02 * s->all && tt__m_copies(f) > 3 ? 0.7 : 0;
}

static void say_divergent(tt__str *out, const tt__explain_facts *f) {
    if (!tt__facts_counted(f)) {
        tt__str_add(out,
                    "There are many loops side by side: probably the lanes of a warp take several ways.");
        return;
    }
    tt__str_addf(out, "Branches diverge: an instruction works for %.1f of the warp's 32 lanes.",
                 tt__m_c(f, TT__C_LANES));
}

static double few_blocks(const tt__explain_facts *f) {
    return f->blocks < f->sm_count && tt__m_us_a_launch(f) > 4 ? 1 - tt__m_part(f->blocks, f->sm_count) : 0;
}

static void say_few(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "%.0f block%s for %d SMs: the others have nothing to do.", f->blocks,
                 f->blocks > 1 ? "s" : "", f->sm_count);
}

static double guess_tail(const tt__explain_facts *f) {
    double w = tt__m_waves(f);
    return f->blocks >= f->sm_count && w > 1 && tt__m_us_a_launch(f) > 4 ? 1 - w / ceil(w) : 0;
}

static double tail_effect(const tt__explain_facts *f) {
    double active = tt__m_part(tt__m_c(f, TT__C_SM_ACTIVE_AVG), tt__m_c(f, TT__C_SM_ACTIVE_MAX));
    double w = tt__m_waves(f);
    return f->blocks >= f->sm_count && w > 1 && w < 16 && tt__m_us_a_launch(f) > 4 ? tt__m_clamp(1 - active)
                                                                                   : 0;
}

static void say_tail(tt__str *out, const tt__explain_facts *f) {
    double share = tt__facts_counted(f) ? tail_effect(f) : guess_tail(f);
    tt__str_addf(
        out,
        "The last blocks run alone: %.0f blocks are %.2f waves, and an SM idles for %.0f %% of the time.",
        f->blocks, tt__m_waves(f), 100 * share);
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

static void say_atomics(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(
            out,
            "Atomics: %.0f %% of the requests to memory, and the busiest slice of the L2 cache gets %.1f "
            "times the average.",
            100 * tt__m_atomics(f), tt__m_slices(f));
    else
        tt__str_add(out, "Atomics: threads wait for each other's; add up in a block first.");
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

static void say_latency(tt__str *out, const tt__explain_facts *f) {
    if (!tt__facts_counted(f)) {
        tt__str_addf(out, "The blocks fill %.0f %% of the SMs' warps, too few to hide the wait for loads.",
                     100 * tt__m_waves(f));
        return;
    }
    tt__str_addf(
        out,
        "Latency: %.0f %% of the waiting is for loads, while memory works at %.0f %%; have more loads in "
        "flight.",
        100 * tt__m_waits(f, TT__C_STALL_LONG), 100 * tt__m_clamp(tt__m_memory_use(f)));
}

/* Parts of sectors that are written are read first. Other rules name what is not coalesced or spilled. */
static double cache_thrash(const tt__explain_facts *f) {
    double needed = f->in_bytes * tt__m_load_excess(f), read = tt__m_c(f, TT__C_DRAM_READ);
    if (tt__m_store_excess(f) > 1.7)
        needed += f->out_bytes * tt__m_store_excess(f);
    return f->in_bytes > 0 && read > 1.5 * needed
               ? (1 - needed / read) * tt__m_dram_matters(f) * tt__m_clamp(1 - spilled(f))
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

static void say_thrash(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(
            out, "Data is read %.1f times from memory, because the L2 cache has lost it before its next use.",
            tt__m_part(tt__m_c(f, TT__C_DRAM_READ), f->in_bytes));
    else
        tt__str_addf(
            out, "Threads read %.1f times as much as there is; if that is far apart, the L2 cache loses it.",
            tt__m_part(f->blocks * f->threads * f->counted.sass.load_bytes, f->in_bytes));
}

static double uncached_reuse(const tt__explain_facts *f) {
    double read = tt__m_c(f, TT__C_LOAD_SECTORS) * SECTOR_BYTES, needed = f->in_bytes * tt__m_load_excess(f);
    if (tt__m_c(f, TT__C_L1_HIT) > 30 || read < 1.5 * needed || f->in_bytes <= 0)
        return 0;
    double others = tt__m_clamp(1 - cache_thrash(f)) * tt__m_clamp(1 - tt__m_issue_use(f)) / tt__m_slices(f);
    return (1 - needed / read) * tt__m_clamp(1.4 * tt__m_l2_use(f)) * others;
}

static void say_uncached(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(
            out,
            "Data is read %.1f times through the L2 cache, and the L1 cache serves %.0f %% of that; keep it "
            "in shared memory.",
            tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS) * SECTOR_BYTES, f->in_bytes), tt__m_c(f, TT__C_L1_HIT));
    else
        tt__str_addf(
            out,
            "Threads read %.1f times as much as there is; what a block reads again belongs in shared memory.",
            tt__m_part(f->blocks * f->threads * f->counted.sass.load_bytes, f->in_bytes));
}

static double over_synchronised(const tt__explain_facts *f) {
    return tt__m_waits(f, TT__C_STALL_BARRIER) * tt__m_idle(f);
}

static double guess_barriers(const tt__explain_facts *f) {
    double share = tt__m_part(f->counted.sass.barriers, f->counted.sass.all);
    return share > 0.05 ? 0.8 : 0;
}

static void say_barriers(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out, "Barriers: %.0f %% of the waiting is at __syncthreads().",
                     100 * tt__m_waits(f, TT__C_STALL_BARRIER));
    else
        tt__str_addf(out, "Barriers: one for each %.0f instructions.",
                     tt__m_part(f->counted.sass.all, f->counted.sass.barriers));
}

static double host_bound(const tt__explain_facts *f) {
    return tt__m_us_a_launch(f) > 0 ? tt__m_clamp(1.9 - tt__m_us_a_launch(f) / 3.5) * 0.97 : 0;
}

static void say_host(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out,
        "A launch of %.1f us is about what the GPU needs to start and end any kernel: do more in one, or use "
        "a CUDA graph.",
        tt__m_us_a_launch(f));
}

static double tensor_unused(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return f->halves && s->tensor == 0
               ? tt__m_clamp((tt__m_c(f, TT__C_PIPE_FMA) + tt__m_c(f, TT__C_PIPE_TENSOR)) / 50) * 0.9
               : 0;
}

static double guess_tensor(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return f->halves && s->tensor == 0 && tt__m_part(s->fp16 + s->fp32, s->all) > 0.25 ? 0.9 : 0;
}

static void say_tensor(tt__str *out, const tt__explain_facts *f) {
    (void)f;
    tt__str_add(out, "Half precision is multiplied without tensor cores, which are many times as fast.");
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

static void say_fp64(tt__str *out, const tt__explain_facts *f) {
    double share = tt__facts_counted(f) ? fp64_bound(f) : guess_fp64(f);
    if (tt__facts_counted(f))
        tt__str_addf(out, "Double precision is the limit: its pipes work at %.0f %%.", 100 * share);
    else
        tt__str_addf(out, "Double precision is %.0f %% of the instructions.", 100 * share);
}

static double fp32_bound(const tt__explain_facts *f) {
    return tt__m_c(f, TT__C_PIPE_FMA) / 100;
}

static double guess_fp32(const tt__explain_facts *f) {
    double share = tt__m_part(f->counted.sass.fp32, f->counted.sass.all);
    return share > 0.4 && tt__m_copies(f) > 1.5 ? share : 0;
}

static void say_fp32(tt__str *out, const tt__explain_facts *f) {
    double share = tt__facts_counted(f) ? fp32_bound(f) : guess_fp32(f);
    if (tt__facts_counted(f))
        tt__str_addf(out, "Arithmetic is the limit: the pipes for FMA work at %.0f %%.", 100 * share);
    else
        tt__str_addf(out, "Single precision is %.0f %% of the instructions.", 100 * share);
}

/* Half precision without tensor instructions uses the same pipe. */
static double tensor_bound(const tt__explain_facts *f) {
    return f->counted.sass.fp16 > 0 && f->counted.sass.tensor == 0 ? 0 : tt__m_c(f, TT__C_PIPE_TENSOR) / 100;
}

static void say_tensor_bound(tt__str *out, const tt__explain_facts *f) {
    double share = tensor_bound(f);
    tt__str_addf(out, "The tensor cores are the limit: they work at %.0f %%.", 100 * share);
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

static void say_instructions(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(
            out,
            "Instructions are the limit: schedulers issue in %.0f %% of the cycles, the integer pipe works "
            "at %.0f %%.",
            tt__m_c(f, TT__C_ISSUED), tt__m_c(f, TT__C_PIPE_ALU));
    else
        tt__str_add(
            out, "Instructions are probably the limit: few of them are arithmetic on numbers or move data.");
}

static double memory_bound(const tt__explain_facts *f) {
    return tt__m_clamp(tt__m_dram_use(f));
}

static double guess_memory(const tt__explain_facts *f) {
    return tt__m_copies(f) > 0 && tt__m_copies(f) < 1.3 ? 1 / tt__m_copies(f) : 0;
}

static void say_memory(tt__str *out, const tt__explain_facts *f) {
    double share = memory_bound(f);
    double copy = tt__m_part(1, tt__m_copies(f));
    tt__str_add(out, "Memory is the limit: ");
    if (tt__facts_counted(f))
        tt__str_addf(out, "it moves %.0f GB/s, %.0f %% of what the tuned copy gets.", tt__m_dram_gbps(f),
                     100 * share);
    else
        tt__str_addf(out, "it runs at %.0f %% of the tuned copy.", 100 * copy);
}

static double l2_bound(const tt__explain_facts *f) {
    return tt__m_l2_use(f);
}

static void say_l2(tt__str *out, const tt__explain_facts *f) {
    double share = l2_bound(f);
    tt__str_addf(
        out, "The L2 cache is the limit: it gives %.0f %% of what it can, and %.0f %% of its sectors hit.",
        100 * share, tt__m_c(f, TT__C_L2_HIT));
}

static double shared_bound(const tt__explain_facts *f) {
    return tt__m_clamp(fmax(tt__m_shared_use(f), tt__m_of_active(f, TT__C_L1_BUSY)));
}

static void say_shared_bound(tt__str *out, const tt__explain_facts *f) {
    double share = shared_bound(f);
    tt__str_addf(out, "Shared memory and the L1 cache are the limit: they work at %.0f %%.", 100 * share);
}

const tt__rule tt__rules[] = {
    {"uncoalesced_reads",
     false,
     {TT__C_LOAD_SECTORS, TT__C_LOAD_REQUESTS, TT__C_L2_BUSY},
     uncoalesced_reads,
     guess_pattern,
     say_reads},
    {"uncoalesced_writes",
     false,
     {TT__C_STORE_SECTORS, TT__C_STORE_REQUESTS, TT__C_L2_BUSY},
     uncoalesced_writes,
     NULL,
     say_writes},
    {"bank_conflicts",
     false,
     {TT__C_BANK_CONFLICTS, TT__C_SHARED_WAVEFRONTS},
     bank_conflicts,
     guess_banks,
     say_banks},
    {"low_occupancy_registers",
     false,
     {TT__C_STALL_LONG, TT__C_ISSUED},
     low_by_registers,
     guess_registers,
     say_registers},
    {"low_occupancy_shared",
     false,
     {TT__C_STALL_LONG, TT__C_ISSUED},
     low_by_shared,
     guess_shared,
     say_shared},
    {"spills", false, {TT__C_LOCAL_LOADS, TT__C_LOCAL_STORES}, spills, guess_spills, say_spills},
    {"partition_camping",
     false,
     {TT__C_L2_SLICE_MAX, TT__C_L2_SLICE_AVG, TT__C_L2_BUSY},
     partition_camping,
     NULL,
     say_camping},
    {"divergent_branches", false, {TT__C_LANES, TT__C_STALL_LONG}, divergent, guess_divergent, say_divergent},
    {"few_blocks", false, {0}, few_blocks, few_blocks, say_few},
    {"tail_effect", false, {TT__C_SM_ACTIVE_AVG, TT__C_SM_ACTIVE_MAX}, tail_effect, guess_tail, say_tail},
    {"atomics",
     false,
     {TT__C_ATOMIC_REQUESTS, TT__C_REDUCTION_REQUESTS},
     atomic_adds,
     guess_atomics,
     say_atomics},
    {"latency", false, {TT__C_STALL_LONG, TT__C_ISSUED}, latency, guess_latency, say_latency},
    {"cache_thrash", false, {TT__C_DRAM_READ}, cache_thrash, guess_thrash, say_thrash},
    {"misaligned_vectors",
     false,
     {TT__C_LOAD_SECTORS, TT__C_LOAD_REQUESTS},
     misaligned,
     NULL,
     say_misaligned},
    {"uncached_reuse",
     false,
     {TT__C_LOAD_SECTORS, TT__C_L1_HIT, TT__C_L2_BUSY},
     uncached_reuse,
     guess_uncached,
     say_uncached},
    {"over_synchronised",
     false,
     {TT__C_STALL_BARRIER, TT__C_ISSUED},
     over_synchronised,
     guess_barriers,
     say_barriers},
    {"host_bound", false, {0}, host_bound, host_bound, say_host},
    {"tensor_cores_unused", false, {TT__C_PIPE_FMA}, tensor_unused, guess_tensor, say_tensor},
    {"fp64_bound", true, {TT__C_PIPE_FP64}, fp64_bound, guess_fp64, say_fp64},
    {"instruction_bound",
     true,
     {TT__C_ISSUED, TT__C_PIPE_ALU},
     instruction_bound,
     guess_instructions,
     say_instructions},
    {"fp32_bound", true, {TT__C_PIPE_FMA}, fp32_bound, guess_fp32, say_fp32},
    {"tensor_bound", true, {TT__C_PIPE_TENSOR}, tensor_bound, NULL, say_tensor_bound},
    {"memory_bound", true, {TT__C_DRAM_READ, TT__C_DRAM_WRITTEN}, memory_bound, guess_memory, say_memory},
    {"l2_bound", true, {TT__C_L2_BUSY}, l2_bound, NULL, say_l2},
    {"shared_bound", true, {TT__C_SHARED_WAVEFRONTS, TT__C_L1_BUSY}, shared_bound, NULL, say_shared_bound},
};
const size_t tt__n_rules = sizeof tt__rules / sizeof *tt__rules;

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
    for (size_t i = 0; i < tt__n_rules; i++) {
        const tt__rule *r = &tt__rules[i];
        double (*of)(const tt__explain_facts *) = tt__facts_counted(f) ? r->counted : r->guessed;
        double share = of && has_needed(r, f) ? of(f) : 0;
        if (share >= (r->limit ? used_up : slight) || (r->limit && !tt__facts_counted(f) && share > 0))
            out[n++] = (tt__rule_finding){r, share};
    }
    qsort(out, (size_t)n, sizeof *out, by_weight);
    return n;
}

/* The rules of explain_rules.c in words: a sentence for each, by counters or without. */
#include "tuner/explain/explain_phrases.h"

#include <math.h>

#include "tuner/explain/explain_measures.h"

enum { SECTOR_BYTES = 32 };

void tt__say_reads(tt__str *out, const tt__explain_facts *f) {
    if (!tt__facts_counted(f)) {
        tt__str_add(out, "Each value is moved once, but slowly: probably reads or writes are not coalesced.");
        return;
    }
    tt__str_addf(out, "Reads are not coalesced: a request of a warp takes %.1f sectors where %.0f would do.",
                 tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS), tt__m_c(f, TT__C_LOAD_REQUESTS)),
                 fmax(1, tt__m_load_width(f)));
}

void tt__say_writes(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "Writes are not coalesced: a request of a warp takes %.1f sectors where %.0f would do.",
                 tt__m_part(tt__m_c(f, TT__C_STORE_SECTORS), tt__m_c(f, TT__C_STORE_REQUESTS)),
                 fmax(1, tt__m_store_width(f)));
}

void tt__say_misaligned(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "Warps read across the edges of sectors: a request takes %.2f sectors where %.0f would do; "
                 "begin rows at multiples of 32 bytes.",
                 tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS), tt__m_c(f, TT__C_LOAD_REQUESTS)),
                 fmax(1, tt__m_load_width(f)));
}

void tt__say_banks(tt__str *out, const tt__explain_facts *f) {
    if (!tt__facts_counted(f)) {
        tt__str_add(out, "Shared memory is used much: probably bank conflicts; pad its rows.");
        return;
    }
    tt__str_addf(out,
                 "Bank conflicts: %.0f %% of the accesses to shared memory only repeat others; pad its rows.",
                 100 * tt__m_part(tt__m_c(f, TT__C_BANK_CONFLICTS), tt__m_c(f, TT__C_SHARED_WAVEFRONTS)));
}

void tt__say_registers(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out,
        "%d registers a thread leave room for %.0f %% of an SM's warps, too few to hide the wait for "
        "memory.",
        f->regs, 100 * f->occupancy);
}

void tt__say_shared(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out,
        "%.0f KB of shared memory a block leave room for %.0f %% of an SM's warps, too few to hide the "
        "wait for memory.",
        f->shared_bytes / 1024.0, 100 * f->occupancy);
}

void tt__say_spills(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "Registers spill: each thread keeps %d bytes in local memory", f->counted.local_bytes);
    if (tt__facts_counted(f))
        tt__str_addf(out, ", which is %.0f %% of the L1 cache's traffic", 100 * tt__m_spilled(f));
    tt__str_add(out, ".");
}

void tt__say_camping(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out, "One slice of the L2 cache gets %.1f times the average's accesses, and the others wait for it.",
        tt__m_slices(f));
}

void tt__say_divergent(tt__str *out, const tt__explain_facts *f) {
    if (!tt__facts_counted(f)) {
        tt__str_add(out,
                    "There are many loops side by side: probably the lanes of a warp take several ways.");
        return;
    }
    tt__str_addf(out, "Branches diverge: an instruction works for %.1f of the warp's 32 lanes.",
                 tt__m_c(f, TT__C_LANES));
}

void tt__say_few(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "%.0f block%s for %d SMs: the others have nothing to do.", f->blocks,
                 f->blocks > 1 ? "s" : "", f->sm_count);
}

void tt__say_tail(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out,
        "The last blocks run alone: %.0f blocks are %.2f waves, and an SM idles for %.0f %% of the time.",
        f->blocks, tt__m_waves(f), 100 * (tt__facts_counted(f) ? tt__m_sm_idle(f) : tt__m_last_wave_idle(f)));
}

void tt__say_atomics(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(
            out,
            "Atomics: %.0f %% of the requests to memory, and the busiest slice of the L2 cache gets %.1f "
            "times the average.",
            100 * tt__m_atomics(f), tt__m_slices(f));
    else
        tt__str_add(out, "Atomics: threads wait for each other's; add up in a block first.");
}

void tt__say_latency(tt__str *out, const tt__explain_facts *f) {
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

void tt__say_thrash(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(
            out, "Data is read %.1f times from memory, because the L2 cache has lost it before its next use.",
            tt__m_part(tt__m_c(f, TT__C_DRAM_READ), f->in_bytes));
    else
        tt__str_addf(
            out, "Threads read %.1f times as much as there is; if that is far apart, the L2 cache loses it.",
            tt__m_part(f->blocks * f->threads * f->counted.sass.load_bytes, f->in_bytes));
}

void tt__say_uncached(tt__str *out, const tt__explain_facts *f) {
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

void tt__say_barriers(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out, "Barriers: %.0f %% of the waiting is at __syncthreads().",
                     100 * tt__m_waits(f, TT__C_STALL_BARRIER));
    else
        tt__str_addf(out, "Barriers: one for each %.0f instructions.",
                     tt__m_part(f->counted.sass.all, f->counted.sass.barriers));
}

void tt__say_host(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out,
        "A launch of %.1f us is about what the GPU needs to start and end any kernel: do more in one, or use "
        "a CUDA graph.",
        tt__m_us_a_launch(f));
}

void tt__say_tensor(tt__str *out, const tt__explain_facts *f) {
    (void)f;
    tt__str_add(out, "Half precision is multiplied without tensor cores, which are many times as fast.");
}

void tt__say_fp64(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out, "Double precision is the limit: its pipes work at %.0f %%.",
                     tt__m_c(f, TT__C_PIPE_FP64));
    else
        tt__str_addf(out, "Double precision is %.0f %% of the instructions.",
                     100 * tt__m_part(f->counted.sass.fp64, f->counted.sass.all));
}

void tt__say_fp32(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out, "Arithmetic is the limit: the pipes for FMA work at %.0f %%.",
                     tt__m_c(f, TT__C_PIPE_FMA));
    else
        tt__str_addf(out, "Single precision is %.0f %% of the instructions.",
                     100 * tt__m_part(f->counted.sass.fp32, f->counted.sass.all));
}

void tt__say_tensor_bound(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "The tensor cores are the limit: they work at %.0f %%.", tt__m_c(f, TT__C_PIPE_TENSOR));
}

void tt__say_instructions(tt__str *out, const tt__explain_facts *f) {
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

void tt__say_memory(tt__str *out, const tt__explain_facts *f) {
    double copy = tt__m_part(1, tt__m_copies(f));
    tt__str_add(out, "Memory is the limit: ");
    if (tt__facts_counted(f))
        tt__str_addf(out, "it moves %.0f GB/s, %.0f %% of what the tuned copy gets.", tt__m_dram_gbps(f),
                     100 * tt__m_clamp(tt__m_dram_use(f)));
    else
        tt__str_addf(out, "it runs at %.0f %% of the tuned copy.", 100 * copy);
}

void tt__say_l2(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(
        out, "The L2 cache is the limit: it gives %.0f %% of what it can, and %.0f %% of its sectors hit.",
        100 * tt__m_l2_use(f), tt__m_c(f, TT__C_L2_HIT));
}

void tt__say_shared_bound(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "Shared memory and the L1 cache are the limit: they work at %.0f %%.",
                 100 * tt__m_l1_use(f));
}

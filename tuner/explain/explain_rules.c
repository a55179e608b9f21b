/*
 * What counters mean. Rules with a planted kernel in tests/planted/ must be named first for it. A fault's
 * share is about the part of the time that it costs. A limit's share is how much of the hardware is used.
 * explain_facts.c says which rule names which pipe and which reason to wait, and explain_phrases.c says it
 * in words.
 */
#include "tuner/explain/explain_rules.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/explain/occupancy.h"

enum { WARP = 32, SECTOR_BYTES = 32, SHARED_MAX_BYTES = 228 * 1024 };

static double waits_for_memory(const tt__explain_facts *f) {
    return tt__m_waits(f, TT__C_STALL_LONG) + tt__m_waits(f, TT__C_STALL_LG) +
           tt__m_waits(f, TT__C_STALL_DRAIN);
}

/* How hard the busiest part of an SM works. */
static double issue_use(const tt__explain_facts *f) {
    double most = fmax(tt__m_shared_use(f), tt__m_c(f, TT__C_ISSUED) / 100);
    for (size_t i = 0; i < tt__n_causes; i++)
        if (!tt__causes[i].stall && tt__causes[i].counter != TT__COUNTER_COUNT &&
            tt__causes[i].counter != TT__C_PIPE_ADU) /* which is also busy while warps wait at barriers */
            most = fmax(most, tt__m_c(f, (tt__counter)tt__causes[i].counter) / 100);
    return most;
}

/* Nothing is busy: time passes while warps wait. */
static double idle(const tt__explain_facts *f) {
    return tt__m_clamp(1 - fmax(tt__m_memory_use(f), issue_use(f)));
}

/* It takes as long as the copy of its bytes, and memory is as busy. No better access can save a tenth. */
static bool is_as_fast_as_copy(const tt__explain_facts *f) {
    return tt__m_copies(f) > 0.9 && tt__m_copies(f) < 1.1 && tt__m_dram_use(f) > 0.9;
}

/* How much memory matters for the time. */
static double memory_matters(const tt__explain_facts *f) {
    return is_as_fast_as_copy(f)
               ? 0
               : fmax(tt__m_memory_use(f), waits_for_memory(f) * tt__m_clamp(1 - issue_use(f)));
}

/* The same for memory beyond the L2 cache. */
static double dram_matters(const tt__explain_facts *f) {
    return fmax(tt__m_dram_use(f), tt__m_waits(f, TT__C_STALL_LONG) * idle(f));
}

/* Sectors of a load or store over those that its lanes need; 1: coalesced. 32 lanes of w bytes need w
 * sectors. */
static double load_excess(const tt__explain_facts *f) {
    return fmax(1, tt__m_part(tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS), tt__m_c(f, TT__C_LOAD_REQUESTS)),
                              fmax(1, tt__m_load_width(f))));
}

static double store_excess(const tt__explain_facts *f) {
    return fmax(1, tt__m_part(tt__m_part(tt__m_c(f, TT__C_STORE_SECTORS), tt__m_c(f, TT__C_STORE_REQUESTS)),
                              fmax(1, tt__m_store_width(f))));
}

/* What limits the blocks of an SM: would more fit if they needed less of this? */
static bool is_limited(const tt__explain_facts *f, bool by_regs) {
    tt__block_needs needs = {f->threads, by_regs ? 16 : f->regs, by_regs ? f->shared_bytes : 0};
    return f->occupancy > 0 && tt__resident_blocks(f->cc, &needs) > f->resident;
}

/* Shares from which on a fault is grave, is named at all, and a limit is one. */
static const double grave = 0.18, slight = 0.1, used_up = 0.6;

/* The part of the time that warps wait for this while nothing is busy. */
static double lost(const tt__explain_facts *f, tt__counter stall) {
    return tt__m_waits(f, stall) * idle(f);
}

static double pipe(const tt__explain_facts *f, tt__counter c) {
    return tt__m_clamp(tt__m_c(f, c) / 100);
}

/* The part of a thread's instructions. */
static double of_code(const tt__explain_facts *f, double n) {
    return tt__m_clamp(tt__m_part(n, f->counted.sass.all));
}

/* ---- Memory ---------------------------------------------------------------------------------------------
 */

static double uncoalesced_reads(const tt__explain_facts *f) {
    double excess = load_excess(f);
    return excess < 1.7 ? 0
                        : (1 - 1 / excess) * memory_matters(f) *
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
    double excess = store_excess(f);
    return excess < 1.7 ? 0
                        : (1 - 1 / excess) * memory_matters(f) *
                              tt__m_part(tt__m_c(f, TT__C_STORE_SECTORS), tt__m_sectors(f));
}

/* Where the L1 cache hits, the second line costs as much as the first; elsewhere the additional sectors cost.
 */
static double misaligned(const tt__explain_facts *f) {
    double excess = load_excess(f), hits = tt__m_clamp(tt__m_c(f, TT__C_L1_HIT) / 100);
    return excess < 1.05 || excess >= 1.7 ? 0
                                          : (hits / 2 + (1 - hits) * (1 - 1 / excess)) * memory_matters(f);
}

static double bank_conflicts(const tt__explain_facts *f) {
    return tt__m_conflicts(f) * tt__m_clamp(tt__m_shared_use(f));
}

static double guess_banks(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    bool much = s->shared > 0.05 * s->all && s->barriers < 0.1 * s->shared &&
                s->fp32 + s->fp64 + s->fp16 < 2 * s->shared;
    return much && tt__m_copies(f) > 3 ? 0.6 : 0;
}

static double low_by_registers(const tt__explain_facts *f) {
    return is_limited(f, true) && !is_limited(f, false)
               ? idle(f) * tt__m_waits(f, TT__C_STALL_LONG) * (1 - f->occupancy)
               : 0;
}

static double guess_registers(const tt__explain_facts *f) {
    bool loads = f->counted.sass.loads >= TT__SASS_LOOP;
    return loads && is_limited(f, true) && !is_limited(f, false) && tt__m_copies(f) > 1.5 ? 1 - f->occupancy
                                                                                          : 0;
}

static double low_by_shared(const tt__explain_facts *f) {
    return is_limited(f, false) ? idle(f) * tt__m_waits(f, TT__C_STALL_LONG) * (1 - f->occupancy) : 0;
}

static double guess_shared(const tt__explain_facts *f) {
    return is_limited(f, false) && tt__m_copies(f) > 1.5 ? 1 - f->occupancy : 0;
}

/* Of the instructions that use local memory, those of arrays. */
static double indexed(const tt__explain_facts *f) {
    return tt__m_clamp(tt__m_part(f->counted.sass.local_indexed, f->counted.sass.local));
}

/* An array is filled at constant indices, which look like spilled registers. */
static bool has_arrays(const tt__explain_facts *f) {
    return indexed(f) > 0.1;
}

static double local_share(const tt__explain_facts *f) {
    return f->counted.local_bytes ? tt__m_spilled(f) * memory_matters(f) : 0;
}

static double guess_local(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return f->counted.local_bytes ? tt__m_part(s->local, s->local + s->loads + s->stores + s->shared) : 0;
}

static double spills(const tt__explain_facts *f) {
    return has_arrays(f) ? 0 : local_share(f);
}

static double guess_spills(const tt__explain_facts *f) {
    return has_arrays(f) ? 0 : guess_local(f);
}

static double local_arrays(const tt__explain_facts *f) {
    return has_arrays(f) ? local_share(f) : 0;
}

static double guess_arrays(const tt__explain_facts *f) {
    return has_arrays(f) ? guess_local(f) : 0;
}

/* A slice that is asked for one sector again and again is slower than its peak. */
static double partition_camping(const tt__explain_facts *f) {
    double slices = tt__m_slices(f), use = tt__m_of_active(f, TT__C_L2_BUSY) * slices;
    bool hot = use > 0.3 || (slices > 8 && waits_for_memory(f) > 0.5);
    return slices < 1.5 || !hot || tt__m_atomics(f) > 0.1 ? 0 : (1 - 1 / slices) * memory_matters(f);
}

/* An atomic that the hardware lacks is a loop of about six instructions around a compare and swap. This is
 * the part of all instructions that belongs to such loops. */
static double swaps(const tt__explain_facts *f) {
    enum { LOOP = 6 };
    return f->counted.sass.shared_cas > 0 ? tt__m_clamp(LOOP * tt__m_part(tt__m_c(f, TT__C_SHARED_ATOMICS),
                                                                          tt__m_c(f, TT__C_INSTRUCTIONS)))
                                          : 0;
}

static double waits_for_shared(const tt__explain_facts *f) {
    return tt__m_waits(f, TT__C_STALL_SHORT) + tt__m_waits(f, TT__C_STALL_MIO);
}

/* An atomic takes a turn for each of the lanes that meet, or compares and swaps again. */
static double shared_atomics(const tt__explain_facts *f) {
    double n = tt__m_c(f, TT__C_SHARED_ATOMICS), turns = tt__m_c(f, TT__C_SHARED_ATOMIC_WAVEFRONTS);
    double meet =
        tt__m_clamp(1 - tt__m_part(n, turns)) * tt__m_part(turns, tt__m_c(f, TT__C_SHARED_WAVEFRONTS));
    double again = swaps(f) * tt__m_clamp(1 - tt__m_c(f, TT__C_LANES) / WARP);
    return n > 0
               ? tt__m_clamp(fmax(meet, again)) * fmax(waits_for_shared(f), tt__m_clamp(tt__m_shared_use(f)))
               : 0;
}

static double guess_shared_atomics(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return tt__m_copies(f) > 2 && (s->shared_cas > 0 || of_code(f, s->shared_atomics) > 0.1) ? 0.8 : 0;
}

static double divergent(const tt__explain_facts *f) {
    double lanes = tt__m_c(f, TT__C_LANES);
    return lanes > 0 ? tt__m_clamp(1 - lanes / WARP) * tt__m_clamp(1 - waits_for_memory(f)) * (1 - swaps(f))
                     : 0;
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

/* What is more than the last wave costs comes from blocks that work longer. */
static double tail_effect(const tt__explain_facts *f) {
    double w = tt__m_waves(f);
    return f->blocks >= f->sm_count && w > 1 && w < 16 && tt__m_us_a_launch(f) > 4
               ? fmin(tt__m_sm_idle(f), tt__m_last_wave_idle(f))
               : 0;
}

/* The part of the warps that should be there and are not. */
static double missing_warps(const tt__explain_facts *f) {
    double expected = f->occupancy * fmin(1, tt__m_waves(f)) * 100;
    return tt__m_clamp(1 - tt__m_part(tt__m_c(f, TT__C_OCCUPANCY), expected));
}

/* SMs do not begin and end together. In one wave, those that work longest show it, and the blocks that have
 * ended. */
static double uneven_blocks(const tt__explain_facts *f) {
    const double skew_cycles = 4000;
    double idle = tt__m_sm_idle(f) - tt__m_part(skew_cycles, tt__m_c(f, TT__C_SM_ACTIVE_MAX)),
           w = tt__m_waves(f);
    if (f->blocks < f->sm_count || idle < slight)
        return 0;
    return w <= 1 ? fmax(idle, missing_warps(f)) : tt__m_clamp(idle - (w < 16 ? tt__m_last_wave_idle(f) : 0));
}

/* Cycles that a warp waits at a barrier: for each instruction, over the barriers among them. */
static double cycles_at_barrier(const tt__explain_facts *f) {
    return tt__m_part(tt__m_c(f, TT__C_STALL_BARRIER), of_code(f, f->counted.sass.barriers));
}

/* Warps of a block that work longer keep the places of those that have ended, or let them wait at a barrier.
 * A wait that is longer than that for a load, where loads are not what is waited for, shows the latter. */
static double uneven_warps(const tt__explain_facts *f) {
    const double long_cycles = 1500;
    double cycles = tt__m_part(tt__m_c(f, TT__C_SM_ACTIVE_AVG), tt__m_waves(f)), gone = 0, held = 0;
    if (f->threads > WARP && tt__m_waves(f) >= 2 && cycles > long_cycles)
        gone = missing_warps(f) - tt__m_sm_idle(f);
    if (cycles_at_barrier(f) > long_cycles)
        held = tt__m_waits(f, TT__C_STALL_BARRIER) - tt__m_waits(f, TT__C_STALL_LONG);
    return fmax(0, fmax(gone, held)) * idle(f);
}

static double atomic_adds(const tt__explain_facts *f) {
    double share = tt__m_atomics(f);
    return share < 0.05 ? 0
                        : waits_for_memory(f) * fmax(share, 1 - 1 / tt__m_slices(f)) *
                              tt__m_clamp(1 - tt__m_dram_use(f));
}

static double guess_atomics(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    double share = tt__m_part(s->atomics, s->atomics + s->loads + s->stores);
    return share > 0.2 && tt__m_copies(f) > 2 ? 0.9 : 0;
}

/* Loads wait behind atomics, too. */
static double latency(const tt__explain_facts *f) {
    return lost(f, TT__C_STALL_LONG) * f->occupancy * tt__m_clamp(1 - atomic_adds(f));
}

static double guess_latency(const tt__explain_facts *f) {
    bool loads = f->counted.sass.loads >= TT__SASS_LOOP;
    return loads && f->blocks >= f->sm_count && tt__m_waves(f) < 0.5 && tt__m_copies(f) > 3
               ? 1 - tt__m_waves(f)
               : 0;
}

/* Parts of sectors that are written are read first. Other rules name what is not coalesced or spilled. */
static double cache_thrash(const tt__explain_facts *f) {
    double needed = f->in_bytes * load_excess(f), read = tt__m_c(f, TT__C_DRAM_READ);
    if (store_excess(f) > 1.7)
        needed += f->out_bytes * store_excess(f);
    return f->in_bytes > 0 && read > 1.5 * needed
               ? (1 - needed / read) * dram_matters(f) * tt__m_clamp(1 - tt__m_spilled(f))
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
    double read = tt__m_c(f, TT__C_LOAD_SECTORS) * SECTOR_BYTES, needed = f->in_bytes * load_excess(f);
    if (tt__m_c(f, TT__C_L1_HIT) > 30 || read < 1.5 * needed || f->in_bytes <= 0)
        return 0;
    double others = tt__m_clamp(1 - cache_thrash(f)) * tt__m_clamp(1 - issue_use(f)) / tt__m_slices(f);
    others *= tt__m_clamp(
        tt__m_part(SHARED_MAX_BYTES, read / f->blocks)); /* may be read again by other blocks only */
    return (1 - needed / read) * tt__m_clamp(1.4 * tt__m_l2_use(f)) * others;
}

static double over_synchronised(const tt__explain_facts *f) {
    return lost(f, TT__C_STALL_BARRIER) * tt__m_clamp(1 - uneven_warps(f));
}

static double guess_barriers(const tt__explain_facts *f) {
    double share = tt__m_part(f->counted.sass.barriers, f->counted.sass.all);
    return share > 0.05 ? 0.8 : 0;
}

static double host_bound(const tt__explain_facts *f) {
    return tt__m_us_a_launch(f) > 0 ? tt__m_clamp(1.9 - tt__m_us_a_launch(f) / 3.5) * 0.97 : 0;
}

/* A product of matrices reads each number for many others, from shared memory or a cache. Numbers of which
 * each is read once make no product, however much they are multiplied. */
static bool could_use_tensor_cores(const tt__explain_facts *f) {
    enum { AGAIN = 8, WAVEFRONT_BYTES = 128 };
    const double copies = tt__m_copies(f);
    const tt__sass *s = &f->counted.sass;
    double read = tt__facts_counted(f) ? tt__m_c(f, TT__C_SHARED_WAVEFRONTS) * WAVEFRONT_BYTES +
                                             tt__m_c(f, TT__C_LOAD_SECTORS) * SECTOR_BYTES
                                       : f->blocks * f->threads * (s->load_bytes + 4 * s->shared);
    return f->halves && s->tensor == 0 && s->fp16 + s->fp32 > s->conversions && read > AGAIN * f->in_bytes &&
           (copies == 0 || copies > 1.5);
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

/* ---- What arithmetic is spent on ------------------------------------------------------------------------
 */

/* The instructions of a division, of which three are for special functions and conversions. */
enum { DIVISION = 20, DIVISION_XU = 3 };

/* The arithmetic is in double precision, and no number that comes or goes is. */
static bool needs_no_doubles(const tt__explain_facts *f) {
    return f->counted.sass.fp64 > 0 && !f->doubles;
}

static double unneeded_doubles(const tt__explain_facts *f) {
    return needs_no_doubles(f) ? fmax(pipe(f, TT__C_PIPE_FP64), pipe(f, TT__C_PIPE_XU)) : 0;
}

static double guess_doubles(const tt__explain_facts *f) {
    return needs_no_doubles(f) && of_code(f, f->counted.sass.fp64) > 0.1 && tt__m_copies(f) > 1.5 ? 0.8 : 0;
}

static double integer_division(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    double xu = tt__m_clamp(tt__m_part(DIVISION_XU * s->divisions, s->special + s->conversions));
    return fmax(xu * pipe(f, TT__C_PIPE_XU), of_code(f, DIVISION * s->divisions) * issue_use(f));
}

static double guess_division(const tt__explain_facts *f) {
    double share = of_code(f, DIVISION * f->counted.sass.divisions);
    return share > 0.5 && tt__m_copies(f) > 1.5 ? share : 0;
}

/* Those that a division or an unneeded double does not explain. */
static double converted(const tt__explain_facts *f) {
    const tt__sass *s = &f->counted.sass;
    return needs_no_doubles(f) ? 0 : fmax(0, s->conversions - (DIVISION_XU - 1) * s->divisions);
}

static double conversions(const tt__explain_facts *f) {
    double n = converted(f), xu = tt__m_clamp(tt__m_part(n, n + f->counted.sass.special));
    double share = of_code(f, n);
    return share < 0.15 ? 0 : fmax(share * issue_use(f), xu * pipe(f, TT__C_PIPE_XU));
}

static double guess_conversions(const tt__explain_facts *f) {
    double share = of_code(f, converted(f));
    return share > 0.25 && tt__m_copies(f) > 1.5 ? share : 0;
}

static double constant_divergence(const tt__explain_facts *f) {
    double n = tt__m_c(f, TT__C_LDC), replays = tt__m_c(f, TT__C_LDC_REPLAYS);
    return tt__m_part(replays, n + replays) *
           fmax(pipe(f, TT__C_PIPE_ADU), waits_for_shared(f) + tt__m_waits(f, TT__C_STALL_IMC));
}

static double guess_constants(const tt__explain_facts *f) {
    return of_code(f, f->counted.sass.constants) > 0.1 && tt__m_copies(f) > 3 ? 0.6 : 0;
}

/* Constants at computed addresses go through a queue that they share with shared memory. Every kernel reads
 * its few arguments so, too. */
static double constant_misses(const tt__explain_facts *f) {
    double n = tt__m_c(f, TT__C_LDC), misses = tt__m_clamp(tt__m_part(tt__m_c(f, TT__C_LDC_MISSES), n));
    double many = tt__m_clamp(20 * tt__m_part(n, tt__m_c(f, TT__C_INSTRUCTIONS)));
    return fmax(lost(f, TT__C_STALL_IMC), misses * many * waits_for_shared(f));
}

static double narrow_loads(const tt__explain_facts *f) {
    double width = tt__m_load_width(f),
           reads = tt__m_part(tt__m_c(f, TT__C_LOAD_REQUESTS), tt__m_c(f, TT__C_INSTRUCTIONS));
    double use = fmax(pipe(f, TT__C_PIPE_LSU), fmax(tt__m_l1_use(f), tt__m_waits(f, TT__C_STALL_LG)));
    return width < 4 && reads > 0.1 ? (1 - width / 4) * use * tt__m_clamp(1 - tt__m_dram_use(f)) : 0;
}

/* ---- What warps wait for --------------------------------------------------------------------------------
 */

static double instruction_cache(const tt__explain_facts *f) {
    return tt__m_waits(f, TT__C_STALL_NO_INSTRUCTION) * tt__m_clamp(1 - issue_use(f));
}

static double guess_code(const tt__explain_facts *f) {
    return f->counted.sass.code_bytes > 131072 && tt__m_copies(f) > 1.5 ? 0.7 : 0;
}

static double dependency_chain(const tt__explain_facts *f) {
    return 0.9 * lost(f, TT__C_STALL_WAIT);
}

static double shared_latency(const tt__explain_facts *f) {
    return 0.9 * lost(f, TT__C_STALL_SHORT) *
           tt__m_clamp(1 - shared_atomics(f) - constant_divergence(f) - constant_misses(f));
}

static double fences(const tt__explain_facts *f) {
    return tt__m_waits(f, TT__C_STALL_MEMBAR) * tt__m_clamp(1 - issue_use(f));
}

static double guess_fences(const tt__explain_facts *f) {
    return f->counted.sass.fences >= TT__SASS_LOOP && tt__m_copies(f) > 1.5 ? 0.8 : 0;
}

static double sleeping(const tt__explain_facts *f) {
    return tt__m_waits(f, TT__C_STALL_SLEEPING) * tt__m_clamp(1 - issue_use(f));
}

static double guess_sleep(const tt__explain_facts *f) {
    return f->counted.sass.sleeps > 0 && tt__m_copies(f) > 3 ? 0.9 : 0;
}

static double branch_bound(const tt__explain_facts *f) {
    double cbu = pipe(f, TT__C_PIPE_CBU);
    return fmax(cbu > used_up ? cbu : 0, lost(f, TT__C_STALL_BRANCH));
}

static double store_drain(const tt__explain_facts *f) {
    return 0.9 * lost(f, TT__C_STALL_DRAIN);
}

static double lsu_queue(const tt__explain_facts *f) {
    return 0.9 * lost(f, TT__C_STALL_LG);
}

static double shared_queue(const tt__explain_facts *f) {
    return 0.9 * lost(f, TT__C_STALL_MIO) *
           tt__m_clamp(1 - shared_atomics(f) - constant_divergence(f) - constant_misses(f));
}

static double texture_queue(const tt__explain_facts *f) {
    return 0.9 * lost(f, TT__C_STALL_TEX);
}

static double tensor_waits(const tt__explain_facts *f) {
    return 0.9 * lost(f, TT__C_STALL_GMMA);
}

/* They come with much arithmetic, too, so all other causes are likelier. */
static double dispatch_stalls(const tt__explain_facts *f) {
    return 0.5 * lost(f, TT__C_STALL_DISPATCH);
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
    return f->counted.sass.fp16 > 0 && f->counted.sass.tensor == 0
               ? 0
               : fmax(pipe(f, TT__C_PIPE_TENSOR), pipe(f, TT__C_PIPE_TC));
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

static double multiply_bound(const tt__explain_facts *f) {
    return tt__m_c(f, TT__C_PIPE_FMAHEAVY) > 1.5 * tt__m_c(f, TT__C_PIPE_FMA) ? pipe(f, TT__C_PIPE_FMAHEAVY)
                                                                              : 0;
}

static double fp16_bound(const tt__explain_facts *f) {
    return pipe(f, TT__C_PIPE_FP16);
}

static double lsu_bound(const tt__explain_facts *f) {
    return pipe(f, TT__C_PIPE_LSU);
}

/* The rest of what this pipe does is for barriers. */
static double constant_bound(const tt__explain_facts *f) {
    double n = tt__m_c(f, TT__C_LDC),
           barriers = of_code(f, f->counted.sass.barriers) * tt__m_c(f, TT__C_INSTRUCTIONS);
    return pipe(f, TT__C_PIPE_ADU) * tt__m_clamp(1 - tt__m_part(barriers, n + barriers));
}

static double texture_bound(const tt__explain_facts *f) {
    return pipe(f, TT__C_PIPE_TEX);
}

static double bulk_copy_bound(const tt__explain_facts *f) {
    return pipe(f, TT__C_PIPE_TMA);
}

static double uniform_bound(const tt__explain_facts *f) {
    return pipe(f, TT__C_PIPE_UNIFORM);
}

static double special_bound(const tt__explain_facts *f) {
    return pipe(f, TT__C_PIPE_XU);
}

static double guess_special(const tt__explain_facts *f) {
    double share = of_code(f, f->counted.sass.special);
    return share > 0.2 && tt__m_copies(f) > 1.5 ? fmin(1, 4 * share)
                                                : 0; /* one takes as long as eight others */
}

static double pipe_bound(const tt__explain_facts *f) {
    return tt__m_waits(f, TT__C_STALL_MATH);
}

static double guess_tensor_bound(const tt__explain_facts *f) {
    double share = of_code(f, f->counted.sass.tensor);
    return share > 0.3 && tt__m_copies(f) > 1.5 ? share : 0;
}

/* What goes to memory passes the L2 cache, twice or more on GPUs whose cache has two halves. */
static double l2_bound(const tt__explain_facts *f) {
    enum { TIMES = 4 };
    double memory = tt__m_c(f, TT__C_DRAM_READ) + tt__m_c(f, TT__C_DRAM_WRITTEN);
    bool passes = tt__m_c(f, TT__C_L2_SECTORS) * SECTOR_BYTES < TIMES * memory;
    return passes && tt__m_dram_use(f) > 0.85 ? 0 : tt__m_l2_use(f);
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
    FAULT("local_arrays", local_arrays, guess_arrays, tt__say_arrays, TT__C_LOCAL_LOADS, TT__C_LOCAL_STORES),
    FAULT("shared_atomics", shared_atomics, guess_shared_atomics, tt__say_shared_atomics,
          TT__C_SHARED_ATOMICS, TT__C_SHARED_ATOMIC_WAVEFRONTS, TT__C_STALL_SHORT),
    FAULT("uneven_blocks", uneven_blocks, NULL, tt__say_uneven_blocks, TT__C_SM_ACTIVE_AVG,
          TT__C_SM_ACTIVE_MAX, TT__C_OCCUPANCY),
    FAULT("uneven_warps", uneven_warps, NULL, tt__say_uneven_warps, TT__C_OCCUPANCY, TT__C_STALL_BARRIER,
          TT__C_ISSUED),
    FAULT("unneeded_doubles", unneeded_doubles, guess_doubles, tt__say_doubles, TT__C_PIPE_FP64,
          TT__C_PIPE_XU),
    FAULT("integer_division", integer_division, guess_division, tt__say_division, TT__C_PIPE_XU,
          TT__C_ISSUED),
    FAULT("conversions", conversions, guess_conversions, tt__say_conversions, TT__C_PIPE_XU, TT__C_ISSUED),
    FAULT("constant_divergence", constant_divergence, guess_constants, tt__say_constants, TT__C_LDC,
          TT__C_LDC_REPLAYS),
    FAULT("constant_misses", constant_misses, NULL, tt__say_constant_misses, TT__C_STALL_IMC),
    FAULT("narrow_loads", narrow_loads, NULL, tt__say_narrow, TT__C_LOAD_REQUESTS, TT__C_PIPE_LSU,
          TT__C_STALL_LG),
    FAULT("instruction_cache", instruction_cache, guess_code, tt__say_code, TT__C_STALL_NO_INSTRUCTION,
          TT__C_ISSUED),
    FAULT("dependency_chain", dependency_chain, NULL, tt__say_chain, TT__C_STALL_WAIT, TT__C_ISSUED),
    FAULT("shared_latency", shared_latency, NULL, tt__say_shared_latency, TT__C_STALL_SHORT, TT__C_ISSUED),
    FAULT("fences", fences, guess_fences, tt__say_fences, TT__C_STALL_MEMBAR, TT__C_ISSUED),
    FAULT("sleeping", sleeping, guess_sleep, tt__say_sleep, TT__C_STALL_SLEEPING, TT__C_ISSUED),
    FAULT("branch_bound", branch_bound, NULL, tt__say_branches, TT__C_PIPE_CBU, TT__C_STALL_BRANCH),
    FAULT("store_drain", store_drain, NULL, tt__say_drain, TT__C_STALL_DRAIN, TT__C_ISSUED),
    FAULT("lsu_queue", lsu_queue, NULL, tt__say_lsu_queue, TT__C_STALL_LG, TT__C_ISSUED),
    FAULT("shared_queue", shared_queue, NULL, tt__say_shared_queue, TT__C_STALL_MIO, TT__C_ISSUED),
    FAULT("texture_queue", texture_queue, NULL, tt__say_texture_queue, TT__C_STALL_TEX, TT__C_ISSUED),
    FAULT("tensor_waits", tensor_waits, NULL, tt__say_tensor_waits, TT__C_STALL_GMMA, TT__C_ISSUED),
    FAULT("dispatch_stalls", dispatch_stalls, NULL, tt__say_dispatch, TT__C_STALL_DISPATCH, TT__C_ISSUED),
    FAULT("host_bound", host_bound, host_bound, tt__say_host, 0),
    FAULT("tensor_cores_unused", tensor_unused, guess_tensor, tt__say_tensor, TT__C_PIPE_FMA),
    LIMIT("fp64_bound", fp64_bound, guess_fp64, tt__say_fp64, TT__C_PIPE_FP64),
    LIMIT("instruction_bound", instruction_bound, guess_instructions, tt__say_instructions, TT__C_ISSUED,
          TT__C_PIPE_ALU),
    LIMIT("fp32_bound", fp32_bound, guess_fp32, tt__say_fp32, TT__C_PIPE_FMA),
    LIMIT("multiply_bound", multiply_bound, NULL, tt__say_multiply, TT__C_PIPE_FMAHEAVY, TT__C_PIPE_FMA),
    LIMIT("fp16_bound", fp16_bound, NULL, tt__say_fp16, TT__C_PIPE_FP16),
    LIMIT("special_bound", special_bound, guess_special, tt__say_special, TT__C_PIPE_XU),
    LIMIT("lsu_bound", lsu_bound, NULL, tt__say_lsu, TT__C_PIPE_LSU),
    LIMIT("constant_bound", constant_bound, NULL, tt__say_constant_bound, TT__C_PIPE_ADU),
    LIMIT("texture_bound", texture_bound, NULL, tt__say_textures, TT__C_PIPE_TEX),
    LIMIT("bulk_copy_bound", bulk_copy_bound, NULL, tt__say_bulk, TT__C_PIPE_TMA),
    LIMIT("uniform_bound", uniform_bound, NULL, tt__say_uniform, TT__C_PIPE_UNIFORM),
    LIMIT("pipe_bound", pipe_bound, NULL, tt__say_pipe, TT__C_STALL_MATH),
    LIMIT("tensor_bound", tensor_bound, guess_tensor_bound, tt__say_tensor_bound, TT__C_PIPE_TENSOR),
    LIMIT("memory_bound", tt__m_dram_use, guess_memory, tt__say_memory, TT__C_DRAM_READ, TT__C_DRAM_WRITTEN),
    LIMIT("l2_bound", l2_bound, NULL, tt__say_l2, TT__C_L2_BUSY, TT__C_L2_SECTORS),
    LIMIT("shared_bound", tt__m_l1_use, NULL, tt__say_shared_bound, TT__C_SHARED_WAVEFRONTS, TT__C_L1_BUSY),
};

/* ---- Which come first -----------------------------------------------------------------------------------
 */

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

const tt__rule *tt__rule_at(size_t i) {
    return i < TT__COUNT(rules) ? &rules[i] : NULL;
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

/* The rules of explain_rules.c in words: a sentence for each, by counters or without. */
#include "tuner/explain/explain_phrases.h"

#include <math.h>

#include "kernel/model/template.h"
#include "tuner/explain/occupancy.h"

enum { SECTOR_BYTES = 32 };

void tt__say_reads(tt__str *out, const tt__explain_facts *f) {
    if (!tt__facts_counted(f)) {
        tt__str_add(out, "Each value is moved once, but slowly: probably reads or writes are not coalesced.");
        return;
    }
    tt__str_addf(out,
                 "Reads are not coalesced: a request of a warp takes %.1f sectors where %.0f would do; let "
                 "neighbouring lanes read neighbouring addresses.",
                 tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS), tt__m_c(f, TT__C_LOAD_REQUESTS)),
                 fmax(1, tt__m_load_width(f)));
}

void tt__say_writes(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "Writes are not coalesced: a request of a warp takes %.1f sectors where %.0f would do; let "
                 "neighbouring lanes write neighbouring addresses.",
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
                 100 * tt__m_conflicts(f));
}

void tt__say_registers(tt__str *out, const tt__explain_facts *f) {
    tt__block_needs needs = {f->threads, f->regs, f->shared_bytes};
    while (needs.regs > TT__REGS_MIN && tt__resident_blocks(f->cc, &needs) <= f->resident)
        needs.regs--;
    tt__str_addf(out,
                 "%d registers a thread leave room for %.0f %% of an SM's warps, too few to hide the wait "
                 "for memory; try //@ maxrregcount %d, with which %.0f %% fit, or have more loads in flight.",
                 f->regs, 100 * f->occupancy, needs.regs, 100 * tt__occupancy(f->cc, &needs));
}

void tt__say_shared(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "%.0f KB of shared memory a block leave room for %.0f %% of an SM's warps, too few to hide "
                 "the wait for memory; use less, or have more loads in flight.",
                 f->shared_bytes / 1024.0, 100 * f->occupancy);
}

void tt__say_spills(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "Registers spill: each thread keeps %d bytes in local memory", f->counted.local_bytes);
    if (tt__facts_counted(f))
        tt__str_addf(out, ", which is %.0f %% of the L1 cache's traffic", 100 * tt__m_spilled(f));
    tt__str_add(out, "; allow more registers (maxrregcount, __launch_bounds__), or keep fewer values.");
}

void tt__say_arrays(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "An array of %d bytes of each thread is indexed at run time, so it is in local memory",
                 f->counted.local_bytes);
    if (tt__facts_counted(f))
        tt__str_addf(out, ", which is %.0f %% of the L1 cache's traffic", 100 * tt__m_spilled(f));
    tt__str_add(out, "; unroll the loops that index it, or keep it in shared memory.");
}

void tt__say_camping(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "One slice of the L2 cache gets %.1f times the average's accesses, and the others wait for "
                 "it; spread accesses over more addresses.",
                 tt__m_slices(f));
}

void tt__say_divergent(tt__str *out, const tt__explain_facts *f) {
    if (!tt__facts_counted(f)) {
        tt__str_add(out,
                    "There are many loops side by side: probably the lanes of a warp take several ways.");
        return;
    }
    tt__str_addf(out,
                 "Branches diverge: an instruction works for %.1f of the warp's 32 lanes; give work of one "
                 "kind to a whole warp.",
                 tt__m_c(f, TT__C_LANES));
}

void tt__say_few(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "%.0f block%s for %d SMs: the others have nothing to do; start more and smaller blocks.",
                 f->blocks, f->blocks > 1 ? "s" : "", f->sm_count);
}

void tt__say_tail(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "The last blocks run alone: %.0f blocks are %.2f waves, and an SM idles for %.0f %% of the "
                 "time; make blocks smaller, or their number a multiple of what fits.",
                 f->blocks, tt__m_waves(f),
                 100 * (tt__facts_counted(f) ? tt__m_sm_idle(f) : tt__m_last_wave_idle(f)));
}

void tt__say_atomics(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out,
                     "Atomics: %.0f %% of the requests to memory, and the busiest slice of the L2 cache gets "
                     "%.1f times the average; add up in a block first.",
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
    tt__str_addf(out,
                 "Latency: %.0f %% of the waiting is for loads, while memory works at %.0f %%; have more "
                 "loads in flight.",
                 100 * tt__m_waits(f, TT__C_STALL_LONG), 100 * tt__m_clamp(tt__m_memory_use(f)));
}

void tt__say_thrash(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out,
                     "Data is read %.1f times from memory, because the L2 cache has lost it before its next "
                     "use; finish one part of it before the next.",
                     tt__m_part(tt__m_c(f, TT__C_DRAM_READ), f->in_bytes));
    else
        tt__str_addf(
            out, "Threads read %.1f times as much as there is; if that is far apart, the L2 cache loses it.",
            tt__m_part(f->blocks * f->threads * f->counted.sass.load_bytes, f->in_bytes));
}

void tt__say_uncached(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out,
                     "Data is read %.1f times through the L2 cache, and the L1 cache serves %.0f %% of that; "
                     "keep it in shared memory.",
                     tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS) * SECTOR_BYTES, f->in_bytes),
                     tt__m_c(f, TT__C_L1_HIT));
    else
        tt__str_addf(
            out,
            "Threads read %.1f times as much as there is; what a block reads again belongs in shared memory.",
            tt__m_part(f->blocks * f->threads * f->counted.sass.load_bytes, f->in_bytes));
}

void tt__say_barriers(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out,
                     "Barriers: %.0f %% of the waiting is at __syncthreads(); do more between two of them, "
                     "or use smaller blocks.",
                     100 * tt__m_waits(f, TT__C_STALL_BARRIER));
    else
        tt__str_addf(out, "Barriers: one for each %.0f instructions.",
                     tt__m_part(f->counted.sass.all, f->counted.sass.barriers));
}

void tt__say_host(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "A launch of %.1f us is about what the GPU needs to start and end any kernel%s: do more in "
                 "one%s.",
                 tt__m_us_a_launch(f), f->in_graph ? ", also in a CUDA graph" : "",
                 f->in_graph ? "" : ", or use a CUDA graph");
}

void tt__say_tensor(tt__str *out, const tt__explain_facts *f) {
    (void)f;
    tt__str_add(
        out,
        "Half precision is multiplied without tensor cores, which are many times as fast: use mma or wgmma.");
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
    if (tt__facts_counted(f))
        tt__str_addf(out, "The tensor cores are the limit: they work at %.0f %%.",
                     fmax(tt__m_c(f, TT__C_PIPE_TENSOR), tt__m_c(f, TT__C_PIPE_TC)));
    else
        tt__str_addf(out, "Tensor cores get %.0f %% of the instructions.",
                     100 * tt__m_part(f->counted.sass.tensor, f->counted.sass.all));
}

void tt__say_instructions(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out,
                     "Instructions are the limit: schedulers issue in %.0f %% of the cycles, the integer "
                     "pipe works at %.0f %%.",
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
    tt__str_addf(out,
                 "The L2 cache is the limit: it gives %.0f %% of what it can, and %.0f %% of its sectors "
                 "hit; read data fewer times, by larger tiles.",
                 100 * tt__m_l2_use(f), tt__m_c(f, TT__C_L2_HIT));
}

void tt__say_shared_bound(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "Shared memory and the L1 cache are the limit: they work at %.0f %%.",
                 100 * tt__m_l1_use(f));
}

void tt__say_shared_atomics(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(
            out,
            "Atomics in shared memory meet: each takes %.1f turns, and an instruction works for %.1f lanes",
            tt__m_part(tt__m_c(f, TT__C_SHARED_ATOMIC_WAVEFRONTS), tt__m_c(f, TT__C_SHARED_ATOMICS)),
            tt__m_c(f, TT__C_LANES));
    else
        tt__str_add(out, "Atomics in shared memory: lanes probably wait for each other's");
    tt__str_add(out, "; add up in registers or in the warp first, or give each warp its own sums.");
}

void tt__say_uneven_blocks(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "Blocks have uneven work: the average SM works for %.0f %% of the time of the busiest, the "
                 "least busy for %.0f %%; split long blocks, or let blocks fetch work.",
                 100 * tt__m_part(tt__m_c(f, TT__C_SM_ACTIVE_AVG), tt__m_c(f, TT__C_SM_ACTIVE_MAX)),
                 100 * tt__m_part(tt__m_c(f, TT__C_SM_ACTIVE_MIN), tt__m_c(f, TT__C_SM_ACTIVE_MAX)));
}

void tt__say_uneven_warps(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "The warps of a block have uneven work: %.0f %% of an SM's warps are there where %.0f %% "
                 "have room, and %.0f %% of the waiting is at barriers; spread the work over all warps.",
                 tt__m_c(f, TT__C_OCCUPANCY), 100 * f->occupancy, 100 * tt__m_waits(f, TT__C_STALL_BARRIER));
}

void tt__say_doubles(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "%.0f %% of the instructions are in double precision, though no buffer is",
                 100 * tt__m_part(f->counted.sass.fp64, f->counted.sass.all));
    if (tt__facts_counted(f))
        tt__str_addf(out, ": its pipe works at %.0f %%, that for conversions at %.0f %%",
                     tt__m_c(f, TT__C_PIPE_FP64), tt__m_c(f, TT__C_PIPE_XU));
    tt__str_add(out, "; write 0.5f for 0.5, unless the digits are needed.");
}

void tt__say_division(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "Whole numbers are divided by one that the compiler does not know, which takes about "
                      "20 instructions each time");
    if (tt__facts_counted(f))
        tt__str_addf(out, ", and the pipe for conversions works at %.0f %%", tt__m_c(f, TT__C_PIPE_XU));
    tt__str_add(out,
                "; divide by constants or powers of two, or multiply by a reciprocal that is computed once.");
}

void tt__say_conversions(tt__str *out, const tt__explain_facts *f) {
    const tt__cause *busiest = tt__cause_busiest(f);
    tt__str_addf(out, "%.0f %% of the instructions convert numbers from one format to another",
                 100 * tt__m_part(f->counted.sass.conversions, f->counted.sass.all));
    if (busiest)
        tt__str_addf(out, ", and the busiest pipe, for %s, works at %.0f %%", busiest->words,
                     f->counted.values[busiest->counter]);
    tt__str_add(out, "; convert once, or compute in the format of the data.");
}

void tt__say_constants(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out,
                     "Lanes read constant memory at different addresses: each read is repeated %.1f times",
                     tt__m_part(tt__m_c(f, TT__C_LDC_REPLAYS), tt__m_c(f, TT__C_LDC)));
    else
        tt__str_add(
            out,
            "Constant memory is read at computed addresses: if they differ between lanes, each has its turn");
    tt__str_add(out, "; keep such a table in shared or global memory.");
}

void tt__say_constant_misses(tt__str *out, const tt__explain_facts *f) {
    tt__str_add(out, "Constants miss their cache");
    if (tt__m_c(f, TT__C_LDC) > 0)
        tt__str_addf(out, ": %.1f misses for each read",
                     tt__m_part(tt__m_c(f, TT__C_LDC_MISSES), tt__m_c(f, TT__C_LDC)));
    tt__str_add(out, "; use fewer at a time, or keep them in shared memory.");
}

void tt__say_narrow(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "Loads are narrow: %.0f byte%s a lane, and loads are %.0f %% of the instructions; load 4 to "
                 "16 bytes at a time.",
                 tt__m_load_width(f), tt__m_load_width(f) > 1 ? "s" : "",
                 100 * tt__m_part(tt__m_c(f, TT__C_LOAD_REQUESTS), tt__m_c(f, TT__C_INSTRUCTIONS)));
}

void tt__say_code(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out, "Instructions arrive late: the code has %.0f KB", f->counted.sass.code_bytes / 1024);
    if (tt__facts_counted(f))
        tt__str_addf(out, ", and %.0f %% of the waiting is for it",
                     100 * tt__m_waits(f, TT__C_STALL_NO_INSTRUCTION));
    tt__str_add(out, "; unroll less.");
}

void tt__say_chain(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "Each instruction waits for the one before: %.0f %% of the waiting, with %.1f warps for a "
                 "scheduler; compute several independent values in a thread, or have more warps.",
                 100 * tt__m_waits(f, TT__C_STALL_WAIT), 0.16 * tt__m_c(f, TT__C_OCCUPANCY));
}

void tt__say_shared_latency(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "%.0f %% of the waiting is for results of shared memory or special functions, which are "
                 "busy for %.0f %% of the time; have more of them in flight.",
                 100 * tt__m_waits(f, TT__C_STALL_SHORT),
                 100 * tt__m_clamp(fmax(tt__m_shared_use(f), tt__m_c(f, TT__C_PIPE_XU) / 100)));
}

void tt__say_fences(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out, "Fences: %.0f %% of the waiting is at __threadfence()",
                     100 * tt__m_waits(f, TT__C_STALL_MEMBAR));
    else
        tt__str_add(out, "Fences: __threadfence() is in a loop");
    tt__str_add(out, "; fence once, behind the last store, or use __threadfence_block().");
}

void tt__say_sleep(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        tt__str_addf(out, "Warps sleep: %.0f %% of the waiting is in __nanosleep(); sleep for shorter times.",
                     100 * tt__m_waits(f, TT__C_STALL_SLEEPING));
    else
        tt__str_add(out, "Warps sleep in __nanosleep(); sleep for shorter times.");
}

static void say_waits(tt__str *out, const tt__explain_facts *f, tt__counter stall, const char *for_what) {
    tt__str_addf(out, "%.0f %% of the waiting is %s", 100 * tt__m_waits(f, stall), for_what);
}

void tt__say_drain(tt__str *out, const tt__explain_facts *f) {
    say_waits(out, f, TT__C_STALL_DRAIN,
              "at the end of a warp, for its last stores; store earlier, or write whole sectors.");
}

void tt__say_lsu_queue(tt__str *out, const tt__explain_facts *f) {
    say_waits(out, f, TT__C_STALL_LG,
              "for room in the queue of loads and stores; make them fewer and wider.");
}

void tt__say_shared_queue(tt__str *out, const tt__explain_facts *f) {
    say_waits(out, f, TT__C_STALL_MIO,
              "for room in the queue of shared memory, shuffles and special functions; make accesses "
              "wider, or use registers.");
}

void tt__say_texture_queue(tt__str *out, const tt__explain_facts *f) {
    say_waits(out, f, TT__C_STALL_TEX,
              "for room in the queue of textures; fetch fewer of them, or load from memory.");
}

void tt__say_tensor_waits(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "%.0f %% of the waiting is for the tensor cores, which work at %.0f %%; have a second "
                 "product in flight.",
                 100 * tt__m_waits(f, TT__C_STALL_GMMA), tt__m_c(f, TT__C_PIPE_TENSOR));
}

void tt__say_dispatch(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "%.0f %% of the waiting is for the dispatcher, which holds an instruction back when its "
                 "operands or its pipe are not free; mix kinds of instructions.",
                 100 * tt__m_waits(f, TT__C_STALL_DISPATCH));
}

/* "The pipe for X is the limit: it works at N %". */
static void say_limit(tt__str *out, const tt__explain_facts *f, tt__counter counter, const char *advice) {
    for (size_t i = 0; i < tt__n_causes; i++)
        if (tt__causes[i].counter == (int)counter)
            tt__str_addf(out, "The pipe for %s is the limit: it works at %.0f %%%s", tt__causes[i].words,
                         tt__m_c(f, counter), advice);
}

void tt__say_multiply(tt__str *out, const tt__explain_facts *f) {
    say_limit(out, f, TT__C_PIPE_FMAHEAVY, "; shifts and additions use another one.");
}

void tt__say_fp16(tt__str *out, const tt__explain_facts *f) {
    say_limit(out, f, TT__C_PIPE_FP16, "; compute two numbers at a time (half2).");
}

void tt__say_special(tt__str *out, const tt__explain_facts *f) {
    if (tt__facts_counted(f))
        say_limit(out, f, TT__C_PIPE_XU,
                  "; use fewer roots, exponentials, sines and divisions, or polynomials.");
    else
        tt__str_addf(out, "Special functions are %.0f %% of the instructions.",
                     100 * tt__m_part(f->counted.sass.special, f->counted.sass.all));
}

void tt__say_branches(tt__str *out, const tt__explain_facts *f) {
    tt__str_addf(out,
                 "Branches are the limit: their pipe works at %.0f %%, and %.0f %% of the waiting is for "
                 "them; unroll loops, or select values in place of code.",
                 tt__m_c(f, TT__C_PIPE_CBU), 100 * tt__m_waits(f, TT__C_STALL_BRANCH));
}

void tt__say_lsu(tt__str *out, const tt__explain_facts *f) {
    say_limit(out, f, TT__C_PIPE_LSU, "; make accesses wider, or exchange less.");
}

void tt__say_constant_bound(tt__str *out, const tt__explain_facts *f) {
    say_limit(out, f, TT__C_PIPE_ADU, "; keep constants in registers.");
}

void tt__say_textures(tt__str *out, const tt__explain_facts *f) {
    say_limit(out, f, TT__C_PIPE_TEX, "; load from memory what needs no filter.");
}

void tt__say_bulk(tt__str *out, const tt__explain_facts *f) {
    say_limit(out, f, TT__C_PIPE_TMA, "; copy larger pieces.");
}

void tt__say_uniform(tt__str *out, const tt__explain_facts *f) {
    say_limit(out, f, TT__C_PIPE_UNIFORM, "; compute some of them in each lane.");
}

void tt__say_pipe(tt__str *out, const tt__explain_facts *f) {
    const tt__cause *busiest = tt__cause_busiest(f);
    tt__str_addf(out, "Arithmetic is the limit: %.0f %% of the waiting is for a pipe",
                 100 * tt__m_waits(f, TT__C_STALL_MATH));
    if (busiest)
        tt__str_addf(out, ", and the busiest, for %s, works at %.0f %%", busiest->words,
                     f->counted.values[busiest->counter]);
    tt__str_add(out, ".");
}

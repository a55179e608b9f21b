/* The sentences of the rules. Each adds one to `out`, by counters or without. */
#ifndef TT_TUNER_EXPLAIN_EXPLAIN_PHRASES_H
#define TT_TUNER_EXPLAIN_EXPLAIN_PHRASES_H

#include "base/str.h"
#include "tuner/explain/explain_facts.h"

/* Adds a sentence. */
typedef void tt__say_fn(tt__str *out, const tt__explain_facts *f);

tt__say_fn tt__say_reads, tt__say_writes, tt__say_misaligned, tt__say_banks, tt__say_registers,
    tt__say_shared, tt__say_spills, tt__say_camping, tt__say_divergent, tt__say_few, tt__say_tail,
    tt__say_atomics, tt__say_latency, tt__say_thrash, tt__say_uncached, tt__say_barriers, tt__say_host,
    tt__say_tensor, tt__say_fp64, tt__say_fp32, tt__say_tensor_bound, tt__say_instructions, tt__say_memory,
    tt__say_l2, tt__say_shared_bound, tt__say_arrays, tt__say_shared_atomics, tt__say_uneven_blocks,
    tt__say_uneven_warps, tt__say_doubles, tt__say_division, tt__say_conversions, tt__say_constants,
    tt__say_constant_misses, tt__say_narrow, tt__say_code, tt__say_chain, tt__say_shared_latency,
    tt__say_fences, tt__say_sleep, tt__say_drain, tt__say_lsu_queue, tt__say_shared_queue,
    tt__say_texture_queue, tt__say_tensor_waits, tt__say_dispatch, tt__say_multiply, tt__say_fp16,
    tt__say_special, tt__say_branches, tt__say_lsu, tt__say_constant_bound, tt__say_textures, tt__say_bulk,
    tt__say_uniform, tt__say_pipe;

#endif

/* The sentences of the rules. Each adds one to `out`, by counters or without. */
#ifndef TT_TUNER_EXPLAIN_EXPLAIN_PHRASES_H
#define TT_TUNER_EXPLAIN_EXPLAIN_PHRASES_H

#include "tuner/explain/explain.h"

tt__say_fn tt__say_reads, tt__say_writes, tt__say_misaligned, tt__say_banks, tt__say_registers,
    tt__say_shared, tt__say_spills, tt__say_camping, tt__say_divergent, tt__say_few, tt__say_tail,
    tt__say_atomics, tt__say_latency, tt__say_thrash, tt__say_uncached, tt__say_barriers, tt__say_host,
    tt__say_tensor, tt__say_fp64, tt__say_fp32, tt__say_tensor_bound, tt__say_instructions, tt__say_memory,
    tt__say_l2, tt__say_shared_bound;

#endif

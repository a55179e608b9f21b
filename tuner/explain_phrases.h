/* The sentences of the rules. Each adds one to `out`, by counters or without, as tt__rule.say. */
#ifndef TT_TUNER_EXPLAIN_PHRASES_H
#define TT_TUNER_EXPLAIN_PHRASES_H

#include "base/str.h"
#include "tuner/explain.h"

void tt__say_reads(tt__str *out, const tt__explain_facts *f);
void tt__say_writes(tt__str *out, const tt__explain_facts *f);
void tt__say_misaligned(tt__str *out, const tt__explain_facts *f);
void tt__say_banks(tt__str *out, const tt__explain_facts *f);
void tt__say_registers(tt__str *out, const tt__explain_facts *f);
void tt__say_shared(tt__str *out, const tt__explain_facts *f);
void tt__say_spills(tt__str *out, const tt__explain_facts *f);
void tt__say_camping(tt__str *out, const tt__explain_facts *f);
void tt__say_divergent(tt__str *out, const tt__explain_facts *f);
void tt__say_few(tt__str *out, const tt__explain_facts *f);
void tt__say_tail(tt__str *out, const tt__explain_facts *f);
void tt__say_atomics(tt__str *out, const tt__explain_facts *f);
void tt__say_latency(tt__str *out, const tt__explain_facts *f);
void tt__say_thrash(tt__str *out, const tt__explain_facts *f);
void tt__say_uncached(tt__str *out, const tt__explain_facts *f);
void tt__say_barriers(tt__str *out, const tt__explain_facts *f);
void tt__say_host(tt__str *out, const tt__explain_facts *f);
void tt__say_tensor(tt__str *out, const tt__explain_facts *f);
void tt__say_fp64(tt__str *out, const tt__explain_facts *f);
void tt__say_fp32(tt__str *out, const tt__explain_facts *f);
void tt__say_tensor_bound(tt__str *out, const tt__explain_facts *f);
void tt__say_instructions(tt__str *out, const tt__explain_facts *f);
void tt__say_memory(tt__str *out, const tt__explain_facts *f);
void tt__say_l2(tt__str *out, const tt__explain_facts *f);
void tt__say_shared_bound(tt__str *out, const tt__explain_facts *f);

#endif

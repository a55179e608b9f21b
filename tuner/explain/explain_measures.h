/* What several rules ask of the facts. Shares are parts of 1. A counter that is unknown counts as 0. */
#ifndef TT_TUNER_EXPLAIN_EXPLAIN_MEASURES_H
#define TT_TUNER_EXPLAIN_EXPLAIN_MEASURES_H

#include "tuner/explain/explain.h"

/* A counter; 0 if it is unknown. */
double tt__m_c(const tt__explain_facts *f, tt__counter i);
double tt__m_part(double a, double b);
double tt__m_clamp(double x);
/* The part of all waiting that is for this reason. */
double tt__m_waits(const tt__explain_facts *f, tt__counter stall);
double tt__m_waits_for_memory(const tt__explain_facts *f);
/* A part of the whole range, as a part of the time that the SMs work. A range begins and ends some time
 * apart. */
double tt__m_of_active(const tt__explain_facts *f, tt__counter percent);
/* The rate of the memory in bytes a nanosecond. */
double tt__m_dram_gbps(const tt__explain_facts *f);
/* As a part of what the tuned copy gets. */
double tt__m_dram_use(const tt__explain_facts *f);
double tt__m_shared_use(const tt__explain_facts *f);
/* The part of the accesses to shared memory that conflicts of banks add. Lanes whose atomics meet are no
 * conflict: padding does not help them. */
double tt__m_conflicts(const tt__explain_facts *f);
/* The rate of the L2 cache, as a part of what was measured, or else of what is said to be possible. */
double tt__m_l2_use(const tt__explain_facts *f);
/* How hard shared memory and the L1 cache work. */
double tt__m_l1_use(const tt__explain_facts *f);
/* The part of the L1 cache's traffic that is of spilled registers. */
double tt__m_spilled(const tt__explain_facts *f);
/* How hard the busiest part of the memory system works. Shared memory uses the L1 cache's hardware. */
double tt__m_memory_use(const tt__explain_facts *f);
/* How hard the busiest part of an SM works. */
double tt__m_issue_use(const tt__explain_facts *f);
/* Nothing is busy: time passes while warps wait. */
double tt__m_idle(const tt__explain_facts *f);
/* How much memory matters for the time. */
double tt__m_memory_matters(const tt__explain_facts *f);
/* The same for memory beyond the L2 cache. */
double tt__m_dram_matters(const tt__explain_facts *f);
double tt__m_sectors(const tt__explain_facts *f);
double tt__m_load_width(const tt__explain_facts *f);
double tt__m_store_width(const tt__explain_facts *f);
/* Sectors of a load or store over those that its lanes need; 1: coalesced. 32 lanes of w bytes need w
 * sectors. */
double tt__m_load_excess(const tt__explain_facts *f);
double tt__m_store_excess(const tt__explain_facts *f);
/* How much busier the busiest slice of the L2 cache is than the average one. */
double tt__m_slices(const tt__explain_facts *f);
double tt__m_atomics(const tt__explain_facts *f);
double tt__m_waves(const tt__explain_facts *f);
/* The part of the time that an average SM idles while another works, by counters. */
double tt__m_sm_idle(const tt__explain_facts *f);
/* The part of all waves that is empty in the last one. */
double tt__m_last_wave_idle(const tt__explain_facts *f);
double tt__m_us_a_launch(const tt__explain_facts *f);
/* How many times longer it takes than the tuned copy of as many bytes. */
double tt__m_copies(const tt__explain_facts *f);
/* What limits the blocks of an SM: would more fit if they needed less of this? */
bool tt__m_is_limited(const tt__explain_facts *f, bool by_regs);

#endif

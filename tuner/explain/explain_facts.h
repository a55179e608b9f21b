/*
 * The facts of an explanation: what is known about one configuration, and what several rules ask of that.
 * Shares are parts of 1. A counter that is unknown counts as 0.
 */
#ifndef TT_TUNER_EXPLAIN_EXPLAIN_FACTS_H
#define TT_TUNER_EXPLAIN_EXPLAIN_FACTS_H

#include "tuner/measure/counters.h"

/* What is known about one configuration. 0: unknown, if nothing else is said. */
typedef struct tt__explain_facts {
    int cc, sm_count;
    double peak_gbps;           /* of the memory, theoretical */
    double time_us;             /* median of paired rounds */
    double moved_bytes;         /* that the problem must read and write */
    double in_bytes, out_bytes; /* of its buffers */
    double copy_gbps;           /* of the tuned copy of as many bytes */
    double copy_dram_gbps;      /* the same by its counters */
    double l2_gbps;             /* what the L2 cache gives at most, measured */
    bool in_graph;              /* the problem is launched in CUDA graphs */
    bool halves, doubles;       /* some of its numbers are f16 or bf16, or f64 */
    int launches;               /* kernels of one launch */
    double blocks;              /* of the largest kernel, as all below */
    int threads;                /* of a block */
    int regs, shared_bytes;     /* shared: static and dynamic */
    int resident;               /* blocks that an SM holds at once */
    double occupancy;           /* theoretical */
    tt__counted counted;
} tt__explain_facts;

/* Are there counters? */
static inline bool tt__facts_counted(const tt__explain_facts *f) {
    return f->counted.n_replays > 0;
}

/* ---- Causes ---- */

/* A pipe of an SM, or a reason for a warp to wait, that CUPTI knows. A rule names it, or it bounds no kernel.
 */
typedef struct tt__cause {
    bool stall;        /* a reason to wait; else a pipe */
    const char *name;  /* CUPTI's */
    int counter;       /* a tt__counter; TT__COUNTER_COUNT: it is not counted */
    const char *words; /* "waits for ..." or "the pipe for ..." */
    const char *rule;  /* that names it; NULL: none ... */
    const char *never; /* ... because of this */
} tt__cause;

extern const tt__cause tt__causes[];
extern const size_t tt__n_causes;

/* The reason that warps wait for most, and the next. NULL: none is counted. */
const tt__cause *tt__cause_waits(const tt__explain_facts *f, const tt__cause *but);
const tt__cause *tt__cause_busiest(const tt__explain_facts *f);

/* ---- Measures ---- */

/* A counter; 0 if it is unknown. */
double tt__m_c(const tt__explain_facts *f, tt__counter i);
double tt__m_part(double a, double b);
double tt__m_clamp(double x);
/* The part of all waiting that is for this reason. */
double tt__m_waits(const tt__explain_facts *f, tt__counter stall);
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
double tt__m_sectors(const tt__explain_facts *f);
double tt__m_load_width(const tt__explain_facts *f);
double tt__m_store_width(const tt__explain_facts *f);
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

#endif

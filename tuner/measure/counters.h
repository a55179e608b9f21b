/*
 * The hardware counters that an explanation reads, and what the GPU worker tells of one configuration.
 */
#ifndef TT_TUNER_MEASURE_COUNTERS_H
#define TT_TUNER_MEASURE_COUNTERS_H

#include "base/model.h"
#include "code/cubin.h"

/* X(member, CUPTI's name of the metric). The order of the list is the order in JSON. */
#define TT__COUNTERS(X)                                                                                      \
    X(TIME_NS, "gpu__time_duration.sum")                                                                     \
    X(DRAM_READ, "dram__bytes_read.sum")                                                                     \
    X(DRAM_WRITTEN, "dram__bytes_write.sum")                                                                 \
    X(DRAM_BUSY, "dram__throughput.avg.pct_of_peak_sustained_elapsed")                                       \
    X(L2_SECTORS, "lts__t_sectors.sum")                                                                      \
    X(L2_SLICE_AVG, "lts__t_sectors.avg")                                                                    \
    X(L2_SLICE_MAX, "lts__t_sectors.max")                                                                    \
    X(L2_BUSY, "lts__t_sectors.avg.pct_of_peak_sustained_elapsed")                                           \
    X(L2_HIT, "lts__t_sector_hit_rate.pct")                                                                  \
    X(L1_HIT, "l1tex__t_sector_hit_rate.pct")                                                                \
    X(L1_BUSY, "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed")                          \
    X(LOAD_SECTORS, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")                                        \
    X(LOAD_REQUESTS, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")                                      \
    X(STORE_SECTORS, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")                                       \
    X(STORE_REQUESTS, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")                                     \
    X(ATOMIC_REQUESTS, "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum")                                  \
    X(REDUCTION_REQUESTS, "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum")                                \
    X(LOCAL_LOADS, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum")                                          \
    X(LOCAL_STORES, "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum")                                         \
    X(SHARED_WAVEFRONTS, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")                                   \
    X(BANK_CONFLICTS, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")                                  \
    X(OCCUPANCY, "sm__warps_active.avg.pct_of_peak_sustained_active")                                        \
    X(SM_ACTIVE_AVG, "sm__cycles_active.avg")                                                                \
    X(SM_ACTIVE_MIN, "sm__cycles_active.min")                                                                \
    X(SM_ACTIVE_MAX, "sm__cycles_active.max")                                                                \
    X(SM_ELAPSED, "sm__cycles_elapsed.max")                                                                  \
    X(INSTRUCTIONS, "smsp__inst_executed.sum")                                                               \
    X(ISSUED, "smsp__issue_active.avg.pct_of_peak_sustained_active")                                         \
    X(LANES, "smsp__thread_inst_executed_per_inst_executed.ratio")                                           \
    X(LDC, "smsp__inst_executed_op_ldc.sum")                                                                 \
    X(LDC_REPLAYS, "sm__idc_divergent_instruction_replays.sum")                                              \
    X(LDC_MISSES, "idc__requests_lookup_miss.sum")                                                           \
    X(SHARED_ATOMICS, "smsp__inst_executed_op_shared_atom.sum")                                              \
    X(SHARED_ATOMIC_WAVEFRONTS, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum")                    \
    TT__PIPES(X)                                                                                             \
    TT__STALLS(X)

/* How hard each pipe of an SM works. FMAHEAVY is the half of FMA that multiplies whole numbers, too. */
#define TT__ISSUES(pipe) "sm__inst_executed_pipe_" pipe ".avg.pct_of_peak_sustained_active"
#define TT__WORKS(pipe)  "sm__pipe_" pipe "_cycles_active.avg.pct_of_peak_sustained_active"
#define TT__PIPES(X)                                                                                         \
    X(PIPE_ADU, TT__ISSUES("adu"))                                                                           \
    X(PIPE_ALU, TT__ISSUES("alu"))                                                                           \
    X(PIPE_CBU, TT__ISSUES("cbu"))                                                                           \
    X(PIPE_FMA, TT__WORKS("fma"))                                                                            \
    X(PIPE_FMAHEAVY, TT__WORKS("fmaheavy"))                                                                  \
    X(PIPE_FP16, TT__ISSUES("fp16"))                                                                         \
    X(PIPE_FP64, TT__WORKS("fp64"))                                                                          \
    X(PIPE_LSU, TT__ISSUES("lsu"))                                                                           \
    X(PIPE_TC, TT__WORKS("tc"))                                                                              \
    X(PIPE_TENSOR, TT__WORKS("tensor"))                                                                      \
    X(PIPE_TEX, TT__ISSUES("tex"))                                                                           \
    X(PIPE_TMA, TT__WORKS("tma"))                                                                            \
    X(PIPE_UNIFORM, TT__ISSUES("uniform"))                                                                   \
    X(PIPE_XU, TT__ISSUES("xu"))

/* Warps that wait, for each issued instruction. */
#define TT__STALL(reason) "smsp__average_warps_issue_stalled_" reason "_per_issue_active.ratio"
#define TT__STALLS(X)                                                                                        \
    X(STALL_BARRIER, TT__STALL("barrier"))                                                                   \
    X(STALL_BRANCH, TT__STALL("branch_resolving"))                                                           \
    X(STALL_DISPATCH, TT__STALL("dispatch_stall"))                                                           \
    X(STALL_DRAIN, TT__STALL("drain"))                                                                       \
    X(STALL_GMMA, TT__STALL("gmma"))                                                                         \
    X(STALL_IMC, TT__STALL("imc_miss"))                                                                      \
    X(STALL_LG, TT__STALL("lg_throttle"))                                                                    \
    X(STALL_LONG, TT__STALL("long_scoreboard"))                                                              \
    X(STALL_MATH, TT__STALL("math_pipe_throttle"))                                                           \
    X(STALL_MEMBAR, TT__STALL("membar"))                                                                     \
    X(STALL_MIO, TT__STALL("mio_throttle"))                                                                  \
    X(STALL_MISC, TT__STALL("misc"))                                                                         \
    X(STALL_NO_INSTRUCTION, TT__STALL("no_instruction"))                                                     \
    X(STALL_NOT_SELECTED, TT__STALL("not_selected"))                                                         \
    X(STALL_SHORT, TT__STALL("short_scoreboard"))                                                            \
    X(STALL_SLEEPING, TT__STALL("sleeping"))                                                                 \
    X(STALL_TEX, TT__STALL("tex_throttle"))                                                                  \
    X(STALL_WAIT, TT__STALL("wait"))

typedef enum tt__counter {
#define TT__NAME(member, metric) TT__C_##member,
    TT__COUNTERS(TT__NAME)
#undef TT__NAME
        TT__COUNTER_COUNT
} tt__counter;

/* CUPTI's names, by tt__counter. */
static inline const char *const *tt__counter_metrics(void) {
    static const char *const metrics[TT__COUNTER_COUNT] = {
#define TT__METRIC(member, metric) metric,
        TT__COUNTERS(TT__METRIC)
#undef TT__METRIC
    };
    return metrics;
}

/* One cold launch of a configuration, counted. */
typedef struct tt__counted {
    double values[TT__COUNTER_COUNT]; /* NaN: unknown */
    int n_replays;                    /* launches that it took to count everything; 0: nothing was counted */
    tt__sass sass;                    /* instructions of its main kernel */
    int local_bytes;                  /* of a thread: spilled registers, and arrays with variable indices */
    char why[TT__REASON_MAX];         /* why nothing was counted, and what to do; or "" */
} tt__counted;

#endif

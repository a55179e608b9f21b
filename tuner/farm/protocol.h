/* What the tuner and its workers say to each other. Requests go down, each has one reply. */
#ifndef TT_TUNER_FARM_PROTOCOL_H
#define TT_TUNER_FARM_PROTOCOL_H

#include "base/hash.h"
#include "base/str.h"
#include "base/workload.h"

enum {
    /* worker -> tuner, once, when it has started: tt__msg_hello */
    TT__MSG_HELLO = 1,
    /* compile: tt__msg_compile, then name, source, options; reply tt__msg_compiled, then the cubin */
    TT__MSG_COMPILE,
    TT__MSG_COMPILED,
    /* gpu, once, and before all else: nothing; reply tt__msg_described, as soon as CUDA has started */
    TT__MSG_DESCRIBE,
    TT__MSG_DESCRIBED,
    /* gpu: tt__msg_problem, then the cubins of checker and reference; reply tt__msg_opened */
    TT__MSG_PROBLEM,
    TT__MSG_OPENED,
    /* gpu: tt__msg_trial, then the cubin; reply tt__msg_tried */
    TT__MSG_TRIAL,
    TT__MSG_TRIED,
    /* gpu: tt__msg_finals, then n times (tt__msg_trial, cubin); reply tt__msg_done,
     * tt__clock_falls, n times tt__trial */
    TT__MSG_FINALS,
    TT__MSG_FINISHED,
};

/* A status with its sentence, as it crosses from one process to the other. */
typedef struct tt__msg_done {
    tt_status status;
    char error[TT__REASON_MAX * 2];
} tt__msg_done;

static inline void tt__fill_done(tt__msg_done *done, tt_status status) {
    done->status = status;
    tt__copy(done->error, sizeof done->error, status == TT_OK ? "" : tt_last_error());
}

typedef struct tt__msg_hello {
    tt__msg_done done;
    char nvrtc[16];                  /* compile worker */
    char gpu_name[TT__GPU_NAME_MAX]; /* gpu worker: tt__nvml_name */
} tt__msg_hello;

typedef struct tt__msg_described {
    tt__msg_done done;
    tt__gpu gpu;
    char driver[32];
    int cuda_version;
} tt__msg_described;

typedef struct tt__msg_compile {
    int cc, n_options;
    size_t name_size, source_size, options_size; /* with their NULs */
} tt__msg_compile;

typedef struct tt__msg_compiled {
    tt__msg_done done;
    double begin_s, end_s; /* on tt__now_s's clock, like all such times here */
} tt__msg_compiled;

typedef struct tt__msg_problem {
    tt__problem problem;
    tt__workload work;
    size_t checker_size, reference_size; /* each padded to whole 16 bytes; reference_size 0: there is none */
} tt__msg_problem;

typedef struct tt__msg_opened {
    tt__msg_done done;
    double context_begin_s, context_end_s; /* while it made its CUDA context; 0: before */
    double begin_s, end_s;
} tt__msg_opened;

typedef struct tt__msg_trial {
    tt__symbols symbols;
    char key[TT__HASH_SIZE]; /* the cubin's: what is loaded already need not be loaded again */
    tt__launch launch;
    double cutoff_us; /* screening stops early beyond it; 0: never */
    int offset;       /* tt__problem_offset of the problem that the configuration was chosen for */
    bool copy;        /* the launch is the copy's */
    size_t cubin_size;
} tt__msg_trial;

/* When the worker became idle, got this request, and finished each part of it; a part that was skipped has
 * the time of the one before. */
typedef struct tt__trial_times {
    double idle_s, begin_s, loaded_s, verified_s, end_s;
} tt__trial_times;

/* How often samples were taken again because the clocks had fallen, since the last message. */
typedef struct tt__clock_falls {
    int n;
    unsigned usual_mhz, lowest_mhz; /* of the SMs */
    char why[48];                   /* or "" */
} tt__clock_falls;

typedef struct tt__msg_tried {
    tt__trial_times times;
    unsigned sm_mhz; /* 0: not known */
    tt__clock_falls falls;
    tt__trial trial;
} tt__msg_tried;

typedef struct tt__msg_finals {
    int n;
    tt__rounds rounds;
} tt__msg_finals;

#endif

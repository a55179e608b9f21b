/*
 * The messages between the tuner and its workers: type, size, bytes, over a stream socket. Each request has
 * one reply. Both ends are from the same build, so structs are sent as they are.
 */
#ifndef TT_TUNER_FARM_PROTOCOL_H
#define TT_TUNER_FARM_PROTOCOL_H

#include <stdint.h>
#include <sys/uio.h>

#include "base/hash.h"
#include "base/model.h"
#include "base/str.h"
#include "tuner/measure/counters.h"
#include "tuner/measure/verify.h"

enum { TT__FINALISTS_MAX = 32 }; /* of one request for finals */

enum {
    /* worker -> tuner, once, when it has started: tt__msg_hello */
    TT__MSG_HELLO = 1,
    /* compile: tt__msg_compile, then name, source, options; reply tt__msg_compiled, then the cubin */
    TT__MSG_COMPILE,
    TT__MSG_COMPILED,
    /* gpu, once, before all others: nothing; reply tt__msg_described, when CUDA has started */
    TT__MSG_DESCRIBE,
    TT__MSG_DESCRIBED,
    /* gpu: tt__msg_problem, then the cubins of the checker's parts and of the reference; reply tt__msg_opened
     */
    TT__MSG_PROBLEM,
    TT__MSG_OPENED,
    /* gpu: tt__msg_trial, then the cubin; reply tt__msg_tried */
    TT__MSG_TRIAL,
    TT__MSG_TRIED,
    /* gpu: tt__msg_finals, then n times (tt__msg_trial, cubin); reply tt__msg_finished, n times tt__trial */
    TT__MSG_FINALS,
    TT__MSG_FINISHED,
    /* gpu: tt__msg_trial, then the cubin; reply tt__msg_counted */
    TT__MSG_COUNT,
    TT__MSG_COUNTED,
    /* gpu: tt__bits_ask, then tt__msg_trial and the cubin; reply tt__msg_bits_found */
    TT__MSG_BITS,
    TT__MSG_BITS_FOUND,
    /* gpu: the cubin of the checker's peaks; reply tt__msg_peaked */
    TT__MSG_PEAKS,
    TT__MSG_PEAKED,
};

/* A status and its sentence, sent between processes. */
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
    char gpu_name[TT__GPU_NAME_MAX]; /* from the gpu worker: tt__nvml_name */
} tt__msg_hello;

typedef struct tt__msg_described {
    tt__msg_done done;
    tt__gpu gpu;
    char driver[32];
    int cuda_version;
    bool counts_energy;
} tt__msg_described;

typedef struct tt__msg_compile {
    int cc, n_options;
    size_t name_size, source_size, options_size; /* including their NULs */
} tt__msg_compile;

typedef struct tt__msg_compiled {
    tt__msg_done done;
    double begin_s, end_s; /* on the clock of tt__now_s, as all times here */
} tt__msg_compiled;

typedef struct tt__msg_problem {
    tt__problem problem;
    tt__workload work;
    bool fresh_data;                                         /* of tt__verifier_open */
    size_t checker_sizes[TT__CHECKER_PARTS], reference_size; /* each padded to 16 bytes; 0: none */
} tt__msg_problem;

typedef struct tt__msg_opened {
    tt__msg_done done;
    double context_begin_s, context_end_s; /* while its CUDA context was created; 0: before */
    double begin_s, end_s;
    char notes[TT__REASON_MAX * 2]; /* what the reference's results leave unchecked, a line each; or "" */
} tt__msg_opened;

typedef struct tt__msg_trial {
    tt__symbols symbols;
    char key[TT__HASH_SIZE]; /* key of the cubin, which may already be loaded */
    tt__launch launch;
    tt__checks checks;
    double cutoff_us; /* screening stops early above it; 0: never */
    int offset;       /* tt__facts_offset of the configuration's problem */
    bool copy;        /* this launch is the copy */
    size_t cubin_size;
} tt__msg_trial;

/* When the worker became idle, received this request, and finished each part. A skipped part has the time of
 * the previous one. */
typedef struct tt__trial_times {
    double idle_s, begin_s, loaded_s, verified_s, end_s;
} tt__trial_times;

/* How many samples were repeated because clocks fell, since the last message. */
typedef struct tt__clock_falls {
    int n;
    unsigned usual_mhz, lowest_mhz; /* of the SMs */
    char why[48];                   /* or "" */
} tt__clock_falls;

typedef struct tt__msg_tried {
    tt__trial_times times;
    unsigned sm_mhz; /* 0: unknown */
    tt__clock_falls falls;
    tt__trial trial;
} tt__msg_tried;

typedef struct tt__msg_counted {
    tt__msg_done done;
    tt__counted counted;
} tt__msg_counted;

typedef struct tt__msg_bits_found {
    tt__msg_done done;
    tt__bits_found found;
} tt__msg_bits_found;

typedef struct tt__msg_peaked {
    tt__msg_done done;
    tt__peaks peaks;
} tt__msg_peaked;

typedef struct tt__msg_finals {
    int n;
    tt__rounds rounds;
    double train_s; /* above 0: energies are measured, too */
} tt__msg_finals;

typedef struct tt__msg_finished {
    tt__msg_done done;
    tt__clock_falls falls;
} tt__msg_finished;

/* ---- Sending and receiving -------------------------------------------------------------------- */

enum { TT__WIRE_PARTS_MAX = 128 };

/* Sends one message of n <= TT__WIRE_PARTS_MAX parts completely. TT_E_IO: the other end is closed. */
tt_status tt__wire_send(int fd, uint32_t type, const struct iovec *parts, int n);

/* Sends a worker's reply, and rings the bell after it, or earlier if the socket is full. The tuner polls the
 * bell, not the socket: Linux tends to wake the receiver of a message on the sender's CPU, where the GPU
 * worker would have to wait.
 * TT_E_IO: there is no bell. */
tt_status tt__wire_reply(uint32_t type, const struct iovec *parts, int n);

/* Descriptors that a worker inherits: its socket, and an eventfd that counts its replies. */
enum { TT__WIRE_FD = 3, TT__WIRE_BELL = 4 };

/* Waits for one message, which replaces the payload. TT_E_IO: the other end is closed. */
tt_status tt__wire_recv(int fd, uint32_t *type, tt__str *payload);

/* Takes `size` bytes from a payload at *at. NULL (and TT_E_IO as last error) if there are fewer. */
const void *tt__wire_take(const tt__str *payload, size_t *at, size_t size);

#endif

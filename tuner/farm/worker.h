/*
 * A worker process, seen from the tuner. It is started, gets requests, is killed if it takes too long, and is
 * replaced if it dies. A crash of a compiler or kernel ends only its worker.
 */
#ifndef TT_TUNER_FARM_WORKER_H
#define TT_TUNER_FARM_WORKER_H

#include <sys/types.h>

#include "tuner/farm/protocol.h"
#include "tuner/farm/wire.h"

typedef struct tt__worker {
    pid_t pid; /* 0: not running */
    int fd, bell;
    bool busy;          /* a reply is expected */
    double deadline_s;  /* on the clock of tt__now_s, while busy */
    double seen_s;      /* while busy: when tt__worker_wait_any last looked ... */
    double computed_s;  /* ... and the caller's CPU time then */
    size_t job;         /* the caller's number for the current request */
    size_t ahead_bytes; /* largest request that can be sent while it is busy */
    bool ahead;         /* another request is waiting ... */
    size_t job_ahead;
    double timeout_ahead_s;
} tt__worker;

/* Starts `tiletune-worker ROLE ARG`. It is busy until its hello, which must come within timeout_s. */
tt_status tt__worker_start(tt__worker *w, const char *role, const char *arg, double timeout_s);
/* Kills and reaps it. Does nothing if it is not running. */
void tt__worker_stop(tt__worker *w);

/* Has an idle worker died? The next request would be blamed for it. */
bool tt__worker_gone(const tt__worker *w);

/* Sends a request to a worker that is idle, or busy without a waiting request. A waiting request must fit the
 * socket's buffer (ahead_bytes), or this blocks. Its time limit begins at its turn. It is lost with the
 * worker. A dead worker is no error here, but shows in tt__worker_wait_any. */
void tt__worker_ask(tt__worker *w, size_t job, double timeout_s, uint32_t type, const struct iovec *parts,
                    int n);

typedef enum tt__event_kind {
    TT__EVENT_REPLY,
    TT__EVENT_TIMEOUT,
    TT__EVENT_CRASHED,
    TT__EVENT_NONE
} tt__event_kind;

typedef struct tt__event {
    tt__event_kind kind;
    size_t worker;   /* index */
    size_t job;      /* the caller's number: of the replied or the lost request */
    uint32_t type;   /* REPLY */
    char reason[96]; /* CRASHED, TIMEOUT: "was killed by signal 11 (Segmentation fault)" */
} tt__event;

/* Waits up to wait_s for the first event of busy workers. REPLY: the payload is filled in, and the worker is
 * idle, or busy with its waiting request. TIMEOUT, CRASHED: the worker was stopped. NONE: nothing happened,
 * or a signal came. Time limits leave out the time in which this process was stopped, as by Ctrl-Z. */
tt_status tt__worker_wait_any(tt__worker *workers, size_t n, double wait_s, tt__event *event,
                              tt__str *payload);

#endif

/* A worker process seen from the tuner: started, given requests, killed when it takes too long, replaced
 * when it dies. A compiler or kernel that crashes takes only a worker with it. */
#ifndef TT_TUNER_FARM_WORKER_H
#define TT_TUNER_FARM_WORKER_H

#include <sys/types.h>

#include "tuner/farm/protocol.h"
#include "tuner/farm/wire.h"

typedef struct tt__worker {
    pid_t pid; /* 0: not running */
    int fd, bell;
    bool busy;          /* a reply is due */
    double deadline_s;  /* on tt__now_s()'s clock, while busy */
    size_t job;         /* the caller's, of the request under way */
    size_t ahead_bytes; /* a request of so many can be sent while it is busy */
    bool ahead;         /* another request waits behind it ... */
    size_t job_ahead;
    double timeout_ahead_s;
} tt__worker;

/* Starts `tiletune-worker ROLE ARG`; its hello is due within timeout_s: the worker is busy at once. */
tt_status tt__worker_start(tt__worker *w, const char *role, const char *arg, double timeout_s);
/* Ends it, by force, and reaps it. NULL-safe for one that is not running. */
void tt__worker_stop(tt__worker *w);

/* Has an idle worker died? What it is asked then would be blamed for it. */
bool tt__worker_gone(const tt__worker *w);

/* Sends a request to an idle worker, or to a busy one that has no other waiting. A waiting request must
 * fit the socket's buffer (ahead_bytes), or this blocks; its time limit starts when its turn comes, and it
 * is lost with the worker. A dead worker is no error here: the wait reports it. */
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
    size_t job;      /* the caller's: what was replied to, or what the worker was at */
    uint32_t type;   /* REPLY */
    char reason[96]; /* CRASHED, TIMEOUT: "killed by signal 11 (Segmentation fault)" */
} tt__event;

/* Waits for the first event among busy workers, at most wait_s. REPLY fills the payload; the worker is
 * then idle, or busy with the waiting request. TIMEOUT and CRASHED: the worker has been stopped. NONE:
 * nothing yet, or a signal came. */
tt_status tt__worker_wait_any(tt__worker *workers, size_t n, double wait_s, tt__event *event,
                              tt__str *payload);

#endif

/*
 * A timeline of a run in Chrome's trace format (chrome://tracing, Perfetto): a row for each process, spans,
 * counters. The file is complete JSON after every write, so that it survives a kill. Use it from one thread.
 * All functions except tt__trace_open ignore a NULL trace.
 */
#ifndef TT_TUNER_FARM_TRACE_H
#define TT_TUNER_FARM_TRACE_H

#include <stdint.h>

#include "base/status.h"

typedef struct tt__trace tt__trace;

/* Creates the file, or leaves it as it is. Time 0 is now. TT_E_IO says the file and the reason. */
tt_status tt__trace_open(tt__trace **out, const char *path);
/* Empties the file, and writes from now on. A later call does nothing. */
void tt__trace_begin(tt__trace *trace);
/* Writes the rest, or removes a file that it made for nothing. Returns the errno of the first failed write,
 * or 0. */
int tt__trace_close(tt__trace **trace);

/* Names a row. Rows are shown in the order of their numbers. */
void tt__trace_row(tt__trace *trace, int row, const char *name);

typedef struct tt__span {
    int row;
    const char *name;
    double begin_s, end_s;       /* on the clock of tt__now_s, which all processes share */
    const char *kernel, *config; /* NULL: not about a configuration */
    const char *note;            /* a few words, or NULL */
} tt__span;

void tt__trace_span(tt__trace *trace, const tt__span *span);

/* One counter with several values, from now on. */
typedef struct tt__count {
    const char *name;
    int64_t value;
} tt__count;

void tt__trace_count(tt__trace *trace, const char *name, const tt__count *counts, int n);

#endif

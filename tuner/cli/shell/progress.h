/*
 * Progress on standard error: a bar on a terminal, plain lines elsewhere.
 */
#ifndef TT_TUNER_CLI_SHELL_PROGRESS_H
#define TT_TUNER_CLI_SHELL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "tiletune.h"

enum { TT__BAR_BESTS = 12 };

typedef struct tt__bar {
    bool quiet;  /* show nothing */
    bool replay; /* marks every line as replayed */
    bool terminal;
    double last_s; /* when something was shown last; 0: never */
    size_t problem;
    char phase[16];
    bool curve;     /* the terminal can show the best so far as a curve */
    size_t n_bests; /* of this search; the last ones are kept */
    double bests[TT__BAR_BESTS];
} tt__bar;

void tt__bar_start(tt__bar *bar, bool quiet, bool replay);
void tt__bar_update(tt__bar *bar, const tt_progress *p);
/* Shows a line above the bar, unless `quiet`. */
void tt__bar_note(tt__bar *bar, const char *line);
/* Removes the bar. */
void tt__bar_end(tt__bar *bar);
/* The same for a signal handler that is about to exit. */
void tt__bar_abandon(void);

#endif

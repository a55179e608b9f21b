/*
 * The figures about one problem of a report. Each has a title, a note and a name.
 */
#ifndef TT_TUNER_CLI_REPORT_REPORT_FIGURES_H
#define TT_TUNER_CLI_REPORT_REPORT_FIGURES_H

#include "tuner/cli/report/report.h"

/* Appends those that have something to say about its trials. */
void tt__figures(tt__str *out, const tt__details *d);

#endif

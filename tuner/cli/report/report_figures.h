/*
 * The figures of a report that need axes of their own. Each has a title, a note and a name.
 */
#ifndef TT_TUNER_CLI_REPORT_REPORT_FIGURES_H
#define TT_TUNER_CLI_REPORT_REPORT_FIGURES_H

#include "tuner/cli/report/report_html.h"

/* All trials in their order, and the best so far. */
void tt__figure_search(tt__str *out, const tt__details *d);
/* What each value of each parameter costs. */
void tt__figure_effects(tt__str *out, const tt__details *d);
/* The best of each combination of two parameters. */
void tt__figure_heat(tt__str *out, const tt__details *d);
/* Operations a second over operations a byte, below the copy and measured peaks. */
void tt__figure_roofline(tt__str *out, const tt__details *d);
/* Time against energy of the configurations whose energy is known. */
void tt__figure_energy(tt__str *out, const tt__details *d);
/* Bandwidth over the bytes moved, a line for each kind of problem. Nothing with fewer than two problems. */
void tt__figure_bandwidth(tt__str *out, const tt__page *page);

#endif

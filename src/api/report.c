/*
 * Reports of tt_tune.
 */
#include <stdlib.h>

#include "tiletune.h"

void tt_report_free(tt_report **report) {
    if (!report)
        return;
    free(*report);
    *report = NULL;
}

const tt_result *tt_report_result(const tt_report *report, size_t i) {
    return report && i < report->n_results ? &report->results[i] : NULL;
}

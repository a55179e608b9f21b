/*
 * The report as one HTML page.
 */
#ifndef TT_TUNER_CLI_REPORT_REPORT_HTML_H
#define TT_TUNER_CLI_REPORT_REPORT_HTML_H

#include "tuner/cli/report/report.h"

tt_status tt__report_html(tt__str *out, const tt__report *r);

#endif

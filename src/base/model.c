/* The names of trial statuses. */
#include "base/model.h"

#include "base/workload.h"

const char *tt__trial_status_name(tt__trial_status s) {
    static const char *const name[] = {"ok",      "compile_error", "launch_error", "wrong_result",
                                       "timeout", "crashed",       "skipped"};
    return (unsigned)s < TT__TRIAL_STATUS_COUNT ? name[s] : "unknown";
}

const char *const tt__directions[TT__DIRECTION_COUNT] = {"in",      "out",    "inout",
                                                         "scratch", "scalar", "constant"};

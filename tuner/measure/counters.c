/* The names of the counters, and which kernel they are mainly about. */
#include "tuner/measure/counters.h"

const char *const tt__counter_metrics[TT__COUNTER_COUNT] = {
#define TT__METRIC(member, metric) metric,
    TT__COUNTERS(TT__METRIC)
#undef TT__METRIC
};

int tt__main_pass(const tt__launch *launch) {
    double most = -1;
    int best = 0;
    for (int i = 0; i < launch->n_passes; i++) {
        const tt__pass *p = &launch->passes[i];
        double threads = p->off ? 0 : tt__pass_blocks(p) * tt__pass_threads(p);
        if (threads > most) {
            most = threads;
            best = i;
        }
    }
    return best;
}

/* The table of strategies, and what several of them need. */
#include "tuner/strategy.h"

#include <math.h>

#include "base/str.h"
#include "tuner/random.h"

static const tt__strategy *const strategies[] = {
    &tt__strategy_surrogate, &tt__strategy_model,  &tt__strategy_local,
    &tt__strategy_genetic,   &tt__strategy_random, &tt__strategy_exhaustive,
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

const tt__strategy *tt__strategy_at(size_t n) {
    return n < STRATEGIES ? strategies[n] : NULL;
}

size_t tt__strategy_window(const tt__strategy *s, size_t n_tried) {
    return s->window == SIZE_MAX ? SIZE_MAX : s->window + n_tried / 4;
}

tt_status tt__strategy_find(const tt__strategy **out, const char *name) {
    tt__str names = {0};
    for (size_t i = 0; i < STRATEGIES; i++) {
        if (strcmp(strategies[i]->name, name) == 0) {
            *out = strategies[i];
            tt__str_free(&names);
            return TT_OK;
        }
        tt__str_addf(&names, "%s%s", i ? ", " : "", strategies[i]->name);
    }
    tt_status status =
        tt__fail(TT_E_INVALID, "unknown strategy \"%s\": there are %s", name, tt__str_text(&names));
    tt__str_free(&names);
    return status;
}

double tt__strategy_log_time(const tt__trial *t, double slowest_us) {
    return log(t->status == TT__TRIAL_OK && t->time_us > 0 ? t->time_us : 2 * fmax(slowest_us, 1e-3));
}

void tt__strategy_range(const tt__view *view, double *fastest_us, double *slowest_us) {
    *fastest_us = *slowest_us = 0;
    for (size_t i = 0; i < view->space->n; i++) {
        double us = view->known[i] == TT__TRIED && view->trials[i].status == TT__TRIAL_OK
                        ? view->trials[i].time_us
                        : 0;
        if (us > 0 && (*fastest_us == 0 || us < *fastest_us))
            *fastest_us = us;
        if (us > *slowest_us)
            *slowest_us = us;
    }
}

int64_t tt__strategy_any(const tt__view *view, uint64_t *random) {
    size_t n = 0, i = 0;
    for (size_t k = 0; k < view->space->n; k++)
        n += view->known[k] == TT__UNTRIED;
    if (n == 0)
        return TT__NOTHING;
    for (size_t skip = tt__random_below(random, n); view->known[i] != TT__UNTRIED || skip-- > 0;)
        i++;
    return (int64_t)i;
}

int64_t tt__strategy_start(const tt__view *view, size_t *at) {
    while (*at < view->n_starts) {
        size_t i = view->starts[(*at)++];
        if (view->known[i] == TT__UNTRIED)
            return (int64_t)i;
    }
    return TT__NOTHING;
}

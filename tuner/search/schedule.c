/*
 * The schedule of the finals: their stages, and how long they take.
 */
#include "tuner/search/schedule.h"

#include <math.h>

const double tt__within_reach = 1.06;

const tt__stage_of_finals tt__stages[TT__STAGES] = {
    {{7, 7, 0.03, 1, false}, TT__CONTENDERS_MAX, TT__COPIES_MAX, 1.03, 1, 2}, /* the same in every heat */
    {{9, 21, 0.04, 1, false}, 11, 2, 1.02, 4, 7},
    {{22, 30, 0.05, 1, false}, 6, 1, 1.01, 4, 15},
    {{TT__FINAL_ROUNDS, TT__FINAL_ROUNDS_MAX, 0.16, 1, false}, 0, 0, 0, 3, TT__FINAL_ROUNDS},
};

const tt__rounds tt__rounds_if_long = {11, 30, 0.16, 1, false};

bool tt__schedule_is_long(const tt__search *search) {
    return isfinite(search->limits.deadline_s) && search->best != TT__NOTHING &&
           tt__search_best_us(search) >= TT__LONG_US;
}

bool tt__search_passed(const tt__search *search, int64_t i) {
    return search->known[i] == TT__TRIED && search->trials[i].status == TT__TRIAL_OK &&
           !tt__search_has_other_bits(search, i);
}

bool tt__search_is_beyond(const tt__search *search, int64_t i, double times) {
    return search->trials[i].time_us > search->trials[search->best].time_us * times;
}

/* With n contenders. Launches take a little longer than their times: there is the flush, too. */
static double last_s(const tt__search *search, size_t n) {
    static const double slack = 1.5, setup_s = 0.1;
    enum { BESIDE_US = 60 };
    const bool is_long = tt__schedule_is_long(search);
    double launch_s = (tt__search_best_us(search) + BESIDE_US) * 1e-6, sum_s = 0;
    size_t beside = search->t->operation->moves ? TT__COPIES_MAX : 1; /* the default is at least one */
    for (size_t i = is_long ? TT__STAGES - 1 : 0; i < TT__STAGES; i++) {
        const tt__rounds *rounds = is_long ? &tt__rounds_if_long : &tt__stages[i].rounds;
        const size_t next = tt__stages[i].contenders;
        if (next > 0 && n <= next)
            continue;
        sum_s += fmax(rounds->worth_s, rounds->least * (double)(n + beside) * launch_s);
        n = next > 0 ? next : n;
    }
    return setup_s + slack * sum_s;
}

size_t tt__schedule_contenders(const tt__search *search, double *expected_s) {
    const size_t most =
        tt__schedule_is_long(search) ? tt__stages[TT__STAGES - 2].contenders : TT__CONTENDERS_MAX;
    size_t n = 0;
    for (int64_t i = 0; i < (int64_t)search->space.n && n < most; i++)
        n += tt__search_passed(search, i) && !tt__search_is_beyond(search, i, tt__within_reach);
    while ((*expected_s = last_s(search, n)) > search->limits.finals_s && n > 1)
        n--;
    return n;
}

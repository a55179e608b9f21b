/*
 * What all backends share.
 */
#include "tuner/backend/backend.h"

tt_status tt__backend_finals(tt__backend *b, const tt__configuration *const *c, size_t n, tt__rounds rounds,
                             double lap_us, double train_s, tt__trial *trials) {
    bool done = false;
    TT_TRY(b->ops->finals_ask(b, c, n, rounds, lap_us, train_s));
    while (!done) {
        size_t id;
        tt__trial other;
        TT_TRY(b->ops->wait(b, &id, &other));
        if (id != TT__NO_TRIAL)
            return tt__fail(TT_E_INTERNAL, "a trial has ended during finals");
        TT_TRY(b->ops->finals_take(b, &done, trials));
    }
    return TT_OK;
}

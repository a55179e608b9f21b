/* tt_open and tt_close: the parts put together. What tunes is said by `tt__tuner`: api/tune.c has one,
 * api/no_tuner.c, for programs that only look up and launch, has none. */
#include "dispatch/context.h"

#include "api/sized.h"
#include "api/tuner.h"

tt_status tt_open(tt_ctx **out, const tt_open_opts *opts) {
    tt_open_opts all;
    if (!out)
        return tt__fail(TT_E_INVALID, "tt_open: out is NULL");
    *out = NULL;
    TT_TRY(TT__SIZED_IN(&all, opts, 1, tt_open_opts));
    return tt__context_open(out, &all, tt__tuner);
}

void tt_close(tt_ctx **ctx) {
    if (!ctx || !*ctx)
        return;
    tt__context_close(*ctx);
    *ctx = NULL;
}

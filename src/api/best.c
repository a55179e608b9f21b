/* tt_best. */
#include "api/problem.h"
#include "api/sized.h"
#include "dispatch/ladder.h"

tt_status tt_best(tt_choice *out, tt_ctx *ctx, const tt_problem *problem) {
    tt__question q;
    tt_choice choice = TT_INIT(tt_choice);
    TT_TRY(tt__sized_check(out, "tt_choice"));
    tt__sized_out(out, &choice, sizeof choice);
    TT_TRY(tt__question_of(&q, ctx, problem));
    TT_TRY(tt__best(&choice, ctx, q.templates, &q.problem));
    tt__sized_out(out, &choice, sizeof choice);
    return TT_OK;
}

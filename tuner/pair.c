/* See the header. */
#include "tuner/pair.h"

#include "base/clock.h"
#include "template/task.h"

/* The copy that a problem is compared with, its limits, and those of the problem itself. */
typedef struct outline {
    tt__problem copy;
    double part;
    bool has_copy;
    tt__limits limits, copy_limits;
} outline;

static tt_status draw(outline *o, const tt__session *s, const tt__problem *p, size_t n_left) {
    const tt__template *t = tt__template_set_for(s->templates, p);
    *o = (outline){.part = 1, .limits = tt__limits_of(s->opts, s->end_s, n_left)};
    o->copy_limits = tt__limits_of_copy(&o->limits);
    return t ? tt__task_copy(&o->copy, &o->part, &o->has_copy, t, &s->gpu, p) : TT_OK;
}

static tt_status open_both(tt__session *s, const tt__problem *p, size_t n_left, tt__pair *out) {
    outline o;
    TT_TRY(draw(&o, s, p, n_left));
    out->has_copy = o.has_copy;
    TT_TRY(tt__search_open(s, p, &o.limits, &out->search));
    out->search.copy_part = o.part;
    if (o.has_copy) /* what it wants comes before what is expected */
        TT_TRY(tt__search_open(s, &o.copy, &o.copy_limits, &out->copy));
    return tt__search_expect(s, &out->search);
}

tt_status tt__pair_foresee(tt__session *s, const tt__problem *p, size_t n_left) {
    double since_s = tt__now_s();
    outline o;
    TT_TRY(draw(&o, s, p, n_left));
    if (o.has_copy)
        TT_TRY(tt__search_foresee(s, &o.copy, &o.copy_limits));
    TT_TRY(tt__search_foresee(s, p, &o.limits));
    tt__session_phase(s, "expect", p, &since_s);
    return TT_OK;
}

tt_status tt__pair_open(tt__session *s, const tt__problem *p, size_t n_left, tt__pair *out) {
    double since_s = tt__now_s();
    *out = (tt__pair){.copy.best = TT__NOTHING, .search.best = TT__NOTHING};
    tt_status status = open_both(s, p, n_left, out);
    if (status != TT_OK)
        tt__pair_close(out);
    out->open = status == TT_OK;
    tt__session_phase(s, "expect", p, &since_s);
    return status;
}

void tt__pair_close(tt__pair *pair) {
    tt__search_close(&pair->copy);
    tt__search_close(&pair->search);
    pair->open = false;
}

tt_status tt__pair_run_copy(tt__session *s, tt__pair *pair, size_t n_left) {
    double since_s = tt__now_s();
    const tt__limits limits = tt__limits_of(s->opts, s->end_s, n_left);
    if (!pair->has_copy || pair->copy_done)
        return TT_OK;
    pair->copy.limits = tt__limits_of_copy(&limits);
    TT_TRY(tt__search_run(s, &pair->copy, "copy"));
    pair->copy_done = true;
    tt__session_phase(s, "search", &pair->copy.problem, &since_s);
    return TT_OK;
}

tt_status tt__pair_run(tt__session *s, tt__pair *pair, size_t n_left) {
    pair->search.limits = tt__limits_of(s->opts, s->end_s, n_left);
    TT_TRY(tt__pair_run_copy(s, pair, n_left));
    double since_s = tt__now_s();
    TT_TRY(tt__search_run(s, &pair->search, "search"));
    tt__session_phase(s, "search", &pair->search.problem, &since_s);
    return TT_OK;
}

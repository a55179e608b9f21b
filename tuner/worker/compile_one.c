/*
 * A farm with one compiler.
 */
#include "tuner/worker/compile_one.h"

static tt_status start(tt__compiler *c) {
    tt__workers *workers = &c->workers;
    if (!c->open)
        TT_TRY(tt__workers_open(workers, &(int){0}, 1, 1, NULL, NULL));
    c->open = true;
    if (workers->items[workers->n_gpus].pid)
        return TT_OK;
    TT_TRY(tt__workers_start(workers, workers->n_gpus));
    TT_TRY(tt__workers_wait_for(workers, workers->n_gpus, TT__MSG_HELLO));
    return tt__workers_adopt(&((const tt__msg_hello *)workers->payload.text)->done);
}

static const char advice[] = "templates, constexpr functions or unrolled loops may be too much for it";

static tt_status wait(tt__workers *workers, const char *name, double timeout_s) {
    tt__event e;
    do
        TT_TRY(tt__worker_wait_any(workers->items, workers->n, tt__workers_poll_s, &e, &workers->payload));
    while (e.kind == TT__EVENT_NONE);
    if (e.kind == TT__EVENT_REPLY)
        return TT_OK;
    if (e.kind == TT__EVENT_TIMEOUT)
        return tt__fail(TT_E_COMPILE, "%s: compiled longer than %g s: %s", name, timeout_s, advice);
    return tt__fail(TT_E_COMPILE, "%s: its compiler, which may take %lld MB of memory, %s: %s", name,
                    (long long)(tt__workers_compiler_bytes(workers) >> 20), e.reason, advice);
}

tt_status tt__compile_one(tt__compiler *c, tt__str *cubin, const char *name, const char *source,
                          const tt__str *options, int n_options, int cc, double timeout_s) {
    enum { USUAL_S = 60 };
    tt__workers *workers = &c->workers;
    timeout_s = timeout_s > 0 ? timeout_s : USUAL_S;
    TT_TRY(start(c));
    workers->gpu.cc = cc;
    tt__workers_ask_compile(workers, workers->n_gpus, name, source, options, n_options, timeout_s);
    TT_TRY(wait(workers, name, timeout_s));
    const tt__msg_compiled *m = (const tt__msg_compiled *)workers->payload.text;
    if (m->done.status == TT_E_COMPILE && strstr(m->done.error, "out of memory"))
        return tt__fail(TT_E_COMPILE, "%s: its compiler needs more than %lld MB of memory: %s", name,
                        (long long)(tt__workers_compiler_bytes(workers) >> 20), advice);
    TT_TRY(tt__workers_adopt(&m->done));
    tt__str_addn(cubin, (const char *)(m + 1), workers->payload.len - sizeof *m);
    return tt__str_check(cubin);
}

void tt__compiler_close(tt__compiler *c) {
    if (c->open)
        tt__workers_close(&c->workers);
    *c = (tt__compiler){0};
}

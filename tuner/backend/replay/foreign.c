/* See the header. */
#include "tuner/backend/replay/foreign.h"

#include "kernel/space/config.h"

tt__gpu tt__typical_gpu(void) {
    return (tt__gpu){.name = "a typical GPU",
                     .cc = 90,
                     .sm_count = 132,
                     .max_threads_per_block = 1024,
                     .shared_per_block = 227 << 10,
                     .memory_bytes = INT64_C(80) << 30,
                     .l2_bytes = INT64_C(50) << 20};
}

/* A configuration that failed may violate constraints. */
static tt_status fits(const tt__foreign *f, char config[TT__CONFIG_MAX], bool ran) {
    size_t choice[TT__PARAMS_MAX];
    tt__candidate c;
    TT_TRY(tt__config_parse(choice, f->space, config));
    tt__config_format(config, f->space, choice);
    tt_status status = ran ? tt__space_resolve(&c, f->space, &f->gpu, &f->problem, config) : TT_OK;
    return status == TT_E_UNSUPPORTED
               ? tt__fail_prefix(TT_E_INVALID, "its result is correct, but it is no configuration here")
               : status;
}

tt__foreign tt__foreign_of(const tt__template *t, const tt__problem *p, const tt__gpu *gpu) {
    return (tt__foreign){.gpu = *gpu, .problem = *p, .kernel = t->kernel, .fits = fits, .space = t};
}

/* tt_kernel_tune: tt_tune for a kernel of somebody's own. */
#include <stdlib.h>

#include "dispatch/own_kernel.h"
#include "template/task.h"
#include "tuner/session.h"

tt_status tt_kernel_tune(tt_report **out, tt_kernel *kernel, const char *const *problems, size_t n_problems,
                         const tt_tune_opts *opts) {
    tt__problem *p = calloc(n_problems ? n_problems : 1, sizeof *p);
    tt_status status = p ? TT_OK : tt__fail_memory(n_problems * sizeof *p);
    *out = NULL;
    for (size_t i = 0; i < n_problems && status == TT_OK; i++)
        status = tt__task_problem(&p[i], kernel->t, problems[i]);
    if (status == TT_OK)
        status = tt__tune(
            out, kernel->ctx,
            &(tt__tune_call){
                .n = n_problems, .problems = p, .path = kernel->t->path, .source = kernel->t->source},
            opts);
    free(p);
    return status;
}

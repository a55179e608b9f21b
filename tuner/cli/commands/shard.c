/*
 * Problem i belongs to shard i modulo N. Neighbours on a command line are often of similar size, so shards
 * then have about the same work.
 */
#include "tuner/cli/commands/shard.h"

#include <stdlib.h>
#include <string.h>

enum { SHARDS_MAX = 100000 };

/* The number at the start of `text`, which the character `end` follows; -1 if it is none. */
static int64_t number(const char *text, char end) {
    size_t n = strspn(text, "0123456789");
    return n > 0 && n < 10 && text[n] == end ? atoll(text) : -1;
}

/* A number in the environment; `missing` without the variable, or if it has no name. */
static tt_status from_env(const char *name, int64_t missing, int64_t *out) {
    const char *text = name ? secure_getenv(name) : NULL;
    *out = text ? number(text, '\0') : missing;
    return text && *out < 0 ? tt__fail(TT_E_INVALID, "%s is \"%.64s\", which is not a number", name, text)
                            : TT_OK;
}

static tt_status set(tt__cli_args *args, int64_t k, int64_t n, const char *text) {
    if (n < 1 || n > SHARDS_MAX || k < 1 || k > n)
        return tt__fail(TT_E_INVALID, "\"%s\" is not a shard: write K/N with K from 1 to N, as in 3/16",
                        text);
    args->shard = k;
    args->n_shards = n;
    return TT_OK;
}

/* Schedulers count tasks from any first number, in steps. */
static tt_status set_auto(tt__cli_args *args) {
    static const struct {
        const char *sign, *id, *count, *first, *step; /* sign: the variable that is set where it runs */
    } schedulers[] = {
        {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
         "SLURM_ARRAY_TASK_STEP"},
        {"JOB_COMPLETION_INDEX", "JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", NULL, NULL},
        {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", NULL, NULL}, /* srun */
    };
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        const char *id_name = schedulers[i].id, *count_name = schedulers[i].count;
        int64_t id, count, first = 0, step = 1;
        if (!secure_getenv(schedulers[i].sign))
            continue;
        TT_TRY(from_env(id_name, -1, &id));
        TT_TRY(from_env(count_name, -1, &count));
        if (count < 0)
            return tt__fail(TT_E_INVALID, "%s is set, but %s is not: set it to the number of shards", id_name,
                            count_name);
        TT_TRY(from_env(schedulers[i].first, 0, &first));
        TT_TRY(from_env(schedulers[i].step, 1, &step));
        int64_t at = step > 0 ? (id - first) / step : -1;
        if (at < 0 || at >= count || id - first != at * step)
            return tt__fail(TT_E_INVALID,
                            "%s is %lld, and %s is %lld: use an array without gaps, as in 0-15, or write K/N",
                            id_name, (long long)id, count_name, (long long)count);
        return set(args, at + 1, count, id_name);
    }
    return tt__fail(TT_E_INVALID,
                    "auto, but none of SLURM_ARRAY_TASK_ID (an array), SLURM_STEP_NUM_TASKS (srun) and "
                    "JOB_COMPLETION_INDEX is set: write K/N");
}

tt_status tt__cli_set_shard(tt__cli_args *args, const char *value) {
    if (strcmp(value, "auto") == 0)
        return set_auto(args);
    const char *slash = strchr(value, '/');
    return set(args, number(value, '/'), slash ? number(slash + 1, '\0') : -1, value);
}

tt_status tt__cli_set_shard_by(tt__cli_args *args, const char *value) {
    args->by_configuration = strcmp(value, "configuration") == 0;
    return args->by_configuration || strcmp(value, "problem") == 0
               ? TT_OK
               : tt__fail(TT_E_INVALID, "\"%s\" cannot be divided: write problem or configuration", value);
}

size_t tt__cli_shard_take(const tt__cli_args *args, tt_problem *problems, size_t n, tt__tune_call *call) {
    if (!args->n_shards)
        return n;
    if (args->by_configuration) {
        call->part = (tt__space_part){args->shard - 1, args->n_shards};
        return n;
    }
    size_t taken = 0;
    for (size_t i = (size_t)args->shard - 1; i < n; i += (size_t)args->n_shards)
        problems[taken++] = problems[i];
    return taken;
}

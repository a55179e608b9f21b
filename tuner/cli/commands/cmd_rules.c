/*
 * `tune rules`: makes rules from the trials of the store, or of recordings, and says what they lose on
 * problems that they do not know.
 */
#include <stdlib.h>
#include <string.h>

#include "db/exchange/recording.h"
#include "kernel/load/builtin.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/table.h"
#include "tuner/run/rules.h"

typedef struct making {
    const tt__cli_args *args;
    tt__template_set templates;
    tt__gpu gpu;
    tt__evidence *evidence;
    tt__table table;
    tt__rule_score total;
} making;

static const tt__column columns[] = {
    {"rule", false, TT__WRAP}, {"configurations", true, TT__KEEP}, {"problems", true, TT__KEEP},
    {"lost", true, TT__KEEP},  {"at worst", true, TT__KEEP},       {"default lost", true, TT__KEEP},
    {"worst", true, TT__KEEP}, {"slower than it", true, TT__KEEP},
};

static tt_status add_recording(making *m, const char *path, bool first) {
    tt__recording *r = NULL;
    int64_t gpu_id;
    tt_status status;
    TT_GOTO(tt__recording_open(&r, path));
    if (first)
        m->gpu = *tt__recording_gpu(r);
    else if (!tt__same_gpu(&m->gpu, tt__recording_gpu(r)))
        TT_GOTO(tt__fail(TT_E_INVALID, "%s is of an %s, and %s of an %s: one GPU at a time", path,
                         tt__recording_gpu(r)->name, m->args->files[0], m->gpu.name));
    TT_GOTO(tt__store_known_gpu(tt__recording_store(r), &m->gpu, &gpu_id));
    TT_GOTO(tt__evidence_add(m->evidence, tt__recording_store(r), gpu_id, m->args->op));
out:
    tt__recording_close(&r);
    return status;
}

static tt_status read_evidence(making *m) {
    tt__store *store = NULL;
    int64_t gpu_id;
    tt_status status;
    TT_GOTO(tt__template_set_open(&m->templates, m->args->templates, m->args->n_templates));
    TT_GOTO(tt__evidence_open(&m->evidence, &m->templates, &m->gpu));
    for (size_t i = 0; i < m->args->n_files; i++)
        TT_GOTO(add_recording(m, m->args->files[i], i == 0));
    if (m->args->n_files)
        goto out;
    TT_GOTO(tt__cli_store_open(&store, m->args, TT__STORE_READ_ONLY));
    TT_GOTO(tt__store_find_gpu(store, m->args->gpu ? m->args->gpu : "", &m->gpu, &gpu_id));
    TT_GOTO(tt__evidence_add(m->evidence, store, gpu_id, m->args->op));
out:
    tt__store_close(&store);
    return status;
}

static void describe(tt__str *out, const tt__problem *p) {
    tt__str_add(out, p->op);
    if (p->n)
        tt__str_add(out, ", ");
    tt__problem_add_settings(out, p, ", ");
    if (p->warm)
        tt__str_add(out, ", warm");
    if (p->unverified)
        tt__str_add(out, ", not verified");
}

static void add_row(making *m, const char *name, int n_configs, const tt__rule_score *s) {
    tt__table *t = &m->table;
    tt__table_cell(t, "%s", name);
    tt__table_cell(t, n_configs ? "%d" : "-", n_configs);
    tt__table_cell(t, "%zu", s->n);
    tt__table_cell(t, "%.1f%%", 100 * (s->mean - 1));
    tt__table_cell(t, "%.1f%%", 100 * (s->worst - 1));
    tt__table_cell(t, "%.1f%%", 100 * (s->default_mean - 1));
    tt__table_cell(t, "%.1f%%", 100 * (s->default_worst - 1));
    tt__table_cell(t, s->n_slower ? "%zu, by %.1f%%" : "none", s->n_slower, 100 * (s->slowest - 1));
}

static tt_status judge(making *m, size_t at) {
    const int most = m->args->configs ? (int)m->args->configs : TT__RULE_CONFIGS_MAX;
    const tt__problem *group = tt__evidence_group(m->evidence, at);
    tt__rule_score score;
    tt__rule *rule = NULL;
    tt__str name = {0};
    tt_status status;
    TT_GOTO(tt__evidence_rule(&rule, m->evidence, at, most));
    TT_GOTO(tt__evidence_judge(&score, m->evidence, at, most, (size_t)m->args->folds));
    describe(&name, group);
    TT_GOTO(tt__str_check(&name));
    add_row(m, name.text, rule ? rule->n_configs : 0, &score);
    tt__rule_score_add(&m->total, &score);
out:
    tt__rule_free(&rule);
    tt__str_free(&name);
    return status;
}

static tt_status judge_all(making *m) {
    size_t n;
    TT_TRY(tt__evidence_groups(&n, m->evidence));
    if (n == 0)
        return tt__fail(TT_E_NO_WINNER, "a rule needs trials of two problems at least, of one operation");
    for (size_t i = 0; i < n; i++)
        TT_TRY(judge(m, i));
    if (n > 1)
        add_row(m, "all", 0, &m->total);
    return TT_OK;
}

static int run(const tt__cli_args *args) {
    making m = {.args = args, .table = {.n_columns = TT__COUNT(columns), .columns = columns}};
    tt_status status = read_evidence(&m);
    if (status == TT_OK)
        status = judge_all(&m);
    if (status == TT_OK) {
        printf("%s: what rules lose on problems that they do not know, over the best configuration\n\n",
               m.gpu.name);
        status = tt__table_show(&m.table);
    }
    tt__evidence_close(&m.evidence);
    tt__template_set_close(&m.templates);
    tt__table_free(&m.table);
    return tt__cli_fail(status);
}

static tt_status check(const tt__cli_args *args) {
    if (args->configs > TT__RULE_CONFIGS_MAX)
        return tt__fail(TT_E_INVALID, "--configs %lld: a rule has at most %d", (long long)args->configs,
                        TT__RULE_CONFIGS_MAX);
    return TT_OK;
}

static const tt__cli_option options[] = {
    TT__READ("configs", "K", tt__cli_read_count, configs, "configurations that a rule may have; default 8"),
    TT__READ("folds", "N", tt__cli_read_count, folds,
             "parts of the problems; each is left out once.\nDefault: each problem by itself"),
    TT__READ("op", "NAME", tt__cli_read_once, op, "only of this operation"),
    TT__OPT_TEMPLATE,
    TT__OPT_GPU("the store's GPU; a part of its name is enough"),
    TT__OPT_DB,
    TT__OPTS_END,
};

const tt__cli_command tt__cmd_rules = {
    .name = "rules",
    .usage = "tune rules [RECORDING...] [options]",
    .summary = "what rules lose on problems that were never measured",
    .notes = "A rule says which of a few configurations suits a problem that nobody measured. This makes the "
             "rules of\n"
             "recordings, or of the store, and judges them on problems left out. It needs no GPU.\n"
             "\n"
             "Example:\n"
             "  tune rules recordings/h200*.json\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};

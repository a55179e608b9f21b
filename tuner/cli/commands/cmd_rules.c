/*
 * `tune rules`: makes rules from the trials of the store, or of recordings, and says what they lose on
 * problems that they do not know.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "db/exchange/recording.h"
#include "db/field.h"
#include "dispatch/store_layers.h"
#include "kernel/load/builtin.h"
#include "tuner/cli/shell/options.h"
#include "tuner/cli/shell/table.h"
#include "tuner/run/rules.h"

typedef struct making {
    const tt__cli_args *args;
    tt__template_set templates;
    tt__gpu gpu;
    tt__store *store; /* NULL: the trials are of recordings */
    int64_t gpu_id;
    tt__evidence *evidence;
    tt__table table;
    size_t n;
    tt__rule_score total;
    tt__str written, out;
    tt__json json; /* of `out` */
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
    const tt__gpu *gpu = tt__recording_gpu(r);
    if (first)
        m->gpu = *gpu;
    const bool another = !tt__same_gpu(&m->gpu, gpu);
    if (another && (!m->args->other_gpus || m->gpu.cc != gpu->cc))
        TT_GOTO(tt__fail(TT_E_INVALID, "%s is of an %s, and %s of an %s: %s", path, gpu->name,
                         m->args->files[0], m->gpu.name,
                         m->gpu.cc == gpu->cc ? "--other-gpus lets a rule learn from both"
                                              : "one architecture at a time"));
    TT_GOTO(tt__store_known_gpu(tt__recording_store(r), gpu, &gpu_id));
    TT_GOTO(tt__evidence_add(m->evidence, tt__recording_store(r), gpu_id, m->args->op, another));
out:
    tt__recording_close(&r);
    return status;
}

static tt_status read_evidence(making *m) {
    tt_status status;
    TT_GOTO(tt__template_set_open(&m->templates, m->args->templates, m->args->n_templates));
    TT_GOTO(tt__evidence_open(&m->evidence, &m->templates, &m->gpu));
    for (size_t i = 0; i < m->args->n_files; i++)
        TT_GOTO(add_recording(m, m->args->files[i], i == 0));
    if (m->args->n_files)
        goto out;
    TT_GOTO(tt__cli_store_open(&m->store, m->args, TT__STORE_UPDATE));
    TT_GOTO(tt__store_find_gpu(m->store, m->args->gpu ? m->args->gpu : "", &m->gpu, &m->gpu_id));
    TT_GOTO(tt__evidence_add(m->evidence, m->store, m->gpu_id, m->args->op, false));
out:
    return status;
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

static void add_case(void *user, const tt__rule_case *c) {
    tt__json *j = user;
    tt__json_open(j, NULL, '{');
    tt__cli_json_problem(j, c->problem);
    TT__JSON_KNOWN(j, {"time_us", c->us, 7}, {"best_us", c->best_us, 7}, {"default_us", c->default_us, 7});
    tt__json_close(j, '}');
}

/* The rule of a group, and what it loses. NULL: there is none. */
static tt_status make(making *m, size_t at, tt__tuning_rule **rule, tt__rule_score *score) {
    const int most = m->args->configs ? (int)m->args->configs : TT__RULE_CONFIGS_MAX;
    TT_TRY(tt__evidence_rule(rule, m->evidence, at, most));
    return *rule ? tt__evidence_judge(score, m->evidence, at, most, (size_t)m->args->folds) : TT_OK;
}

static tt_status take_shipped(making *m, size_t at, tt__tuning_rule **rule, tt__rule_score *score) {
    for (size_t i = 0; i < tt__n_shipped_rules && !*rule; i++) {
        if (!tt__same_gpu(&tt__shipped_rules[i].gpu, &m->gpu) && !m->args->other_gpus)
            continue;
        TT_TRY(tt__rule_read(rule, tt__shipped_rules[i].text));
        if (!tt__evidence_score(score, m->evidence, at, *rule))
            tt__rule_free(rule);
    }
    return TT_OK;
}

static tt_status judge(making *m, size_t at) {
    tt__rule_score score = {.each = add_case, .user = &m->json};
    tt__tuning_rule *rule = NULL;
    tt__str name = {0};
    tt_status status;
    TT_GOTO((m->args->shipped ? take_shipped : make)(m, at, &rule, &score));
    tt__cli_add_group(&name, tt__evidence_group(m->evidence, at));
    TT_GOTO(tt__str_check(&name));
    if (rule && score.n) {
        add_row(m, name.text, rule->n_configs, &score);
        tt__rule_score_add(&m->total, &score);
        m->n++;
        tt__str_add(&m->written, "\n");
        tt__rule_write(&m->written, rule);
        if (m->store && !m->args->shipped)
            status = tt__store_rule_put(m->store, m->gpu_id, rule, tt__unix_ms());
    }
out:
    tt__rule_free(&rule);
    tt__str_free(&name);
    return status;
}

/* Of a kernel that --template names, or built in? */
static bool is_op(const making *m, const char *op) {
    for (size_t i = 0; i < m->templates.n; i++)
        if (strcmp(m->templates.items[i]->op, op) == 0)
            return true;
    return false;
}

static tt_status judge_all(making *m) {
    size_t n;
    TT_TRY(tt__evidence_groups(&n, m->evidence));
    for (size_t i = 0; i < n; i++)
        TT_TRY(judge(m, i));
    if (!n && m->args->op && !is_op(m, m->args->op)) {
        const tt__operation *none;
        return tt__operation_builtin(&none, m->args->op);
    }
    if (!m->n)
        return tt__fail(TT_E_NO_WINNER, "%s",
                        n && m->args->shipped ? "no rule for these problems comes with tiletune"
                        : n                   ? "no configuration is faster than the default"
                            : "a rule needs trials of two problems at least, of one operation");
    if (m->n > 1)
        add_row(m, "all", 0, &m->total);
    return tt__str_check(&m->written);
}

/* A line with the GPU, then rules, each after an empty line; scripts/shipped.py reads it. */
static tt_status fill(tt__str *out, void *user) {
    const making *m = user;
    tt__json j = {.out = out};
    tt__json_open(&j, NULL, '{');
    tt__fields_write_json(&j, tt__gpu_fields, TT__GPU_FIELDS, &m->gpu);
    tt__json_close(&j, '}');
    tt__str_add(out, "\n");
    tt__str_add(out, m->written.text);
    return tt__str_check(out);
}

static tt_status show(making *m) {
    if (m->args->json) {
        tt__json_close(&m->json, ']');
        return tt__cli_print_json(&m->json);
    }
    printf("%s: what %s, over the best configuration\n\n", m->gpu.name,
           m->args->shipped ? "rules that come with tiletune lose, also on problems that they know"
                            : "rules lose on problems that they do not know");
    return tt__table_show(&m->table);
}

static int run(const tt__cli_args *args) {
    making m = {.args = args, .table = {.n_columns = TT__COUNT(columns), .columns = columns}};
    m.json.out = &m.out;
    tt_status status = read_evidence(&m);
    tt__cli_json_begin(&m.json);
    tt__json_string(&m.json, "gpu", m.gpu.name);
    tt__json_open(&m.json, "problems", '[');
    if (status == TT_OK)
        status = judge_all(&m);
    if (status == TT_OK)
        status = show(&m);
    if (status == TT_OK && args->output)
        status = tt__cli_write_output(args, fill, &m);
    tt__store_close(&m.store);
    tt__evidence_close(&m.evidence);
    tt__template_set_close(&m.templates);
    tt__table_free(&m.table);
    tt__str_free(&m.written);
    tt__str_free(&m.out);
    return tt__cli_fail(status);
}

static tt_status check(const tt__cli_args *args) {
    TT_TRY(tt__cli_check_output(args, args->output));
    if (args->configs > TT__RULE_CONFIGS_MAX)
        return tt__fail(TT_E_INVALID, "--configs %lld: a rule has at most %d", (long long)args->configs,
                        TT__RULE_CONFIGS_MAX);
    if (args->folds == 1)
        return tt__fail(TT_E_INVALID, "--folds 1 leaves nothing to learn from: at least 2 are needed");
    return TT_OK;
}

static const tt__cli_option options[] = {
    TT__READ("configs", "K", tt__cli_read_count, configs, "configurations that a rule may have; default 8"),
    TT__READ("folds", "N", tt__cli_read_count, folds,
             "parts of the problems; each is left out once.\nDefault: each problem by itself"),
    TT__READ("op", "NAME", tt__cli_read_once, op, "only of this operation"),
    TT__FLAG("shipped", shipped, "judge the rules that come with tiletune instead"),
    TT__FLAG("other-gpus", other_gpus,
             "also learn from recordings of other GPUs than the first one's,\nof its architecture; with "
             "--shipped judge their rules"),
    TT__TEXT("output", "FILE", output, "write the rules to this file"),
    TT__OPT_JSON,
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
             "recordings, or of the store, which keeps them, and judges them on problems left out. It needs "
             "no GPU.\n"
             "Those of a kernel of yours come with \"tune --kernel FILE.cu --configs K\".\n"
             "\n"
             "Example:\n"
             "  tune rules recordings/h200*.json*\n",
    .options = options,
    .takes_files = true,
    .check = check,
    .run = run,
};

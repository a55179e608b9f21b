/*
 * Rules: their text, what they choose, and how they are made from trials and judged on problems left out.
 */
#include "base/rule.h"

#include <math.h>

#include "db/exchange/export.h"
#include "db/exchange/merge.h"
#include "db/exchange/recording.h"
#include "db/upkeep.h"
#include "dispatch/store_layers.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "store_fixture.h"
#include "tuner/run/rules.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEAD                                                                                                 \
    "rule 1 transpose warm\nfor elem_size=4\naxis rows 0.75\naxis cols 0.75\n"                               \
    "config small " A64 " A=1 B=2\nconfig large " A64 " A=2 B=2\n"
#define SIX "else A=1\nelse A=2\nelse A=3\nelse A=4\nelse A=5\nelse A=6\n"
static const char text[] =
    HEAD "else A=0 B=2\nelse A=0 B=0\nat 1000000 352 355: 90 0 -\nat 800000000 10000 10000: 0 400 20\n";

static tt__tuning_rule *must_read(const char *from) {
    tt__tuning_rule *r;
    assert_ok(tt__rule_read(&r, from));
    return r;
}

static void text_is_kept(void **state) {
    (void)state;
    tt__tuning_rule *r = must_read(text);
    tt__str out = {0};
    assert_int_equal(r->n_configs, 2);
    assert_int_equal(r->n_points, 2);
    assert_string_equal(r->configs[1].config, "A=2 B=2");
    assert_int_equal(r->configs[0].n_variants, 0);
    assert_int_equal(r->configs[1].n_variants, 2);
    assert_string_equal(r->configs[1].variants[1], "A=0 B=0");
    assert_true(isnan(r->points[0].losses[2]));
    assert_float_equal((double)r->points[1].losses[1], 0.4, 1e-6);
    tt__rule_write(&out, r);
    assert_string_equal(tt__str_text(&out), text);
    tt__str_free(&out);
    tt__rule_free(&r);
}

/* As many settings as a problem may have, with the longest names; the smallest weight, and the most bytes. */
static void extremes_are_kept(void **state) {
    (void)state;
    tt__str in = {0}, out = {0};
    tt__str_add(&in, "rule 1 scale text " A64 "\nfor ");
    for (int i = 0; i < TT__VARIABLES_MAX; i++)
        tt__str_addf(&in, "%sv%0*d=17592186044416", i ? "," : "", TT__NAME_MAX - 2, i);
    tt__str_add(&in, "\naxis n 1e-05\nconfig scale " A64 " X=2\nat 1152921504606846976 -1: 20000 0\n");
    tt__tuning_rule *r = must_read(tt__str_text(&in));
    tt__rule_write(&out, r);
    assert_string_equal(tt__str_text(&out), in.text);
    tt__str_free(&in);
    tt__str_free(&out);
    tt__rule_free(&r);
}

static void bad_text_is_refused(void **state) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "line 1"},
        {"rule 2 transpose\n", "line 1 is \"rule 2 transpose\", which this version does not read"},
        {"for elem_size=4\n", "line 1"},
        {"rule 1 transpose hot\n", "line 1"},
        {"rule 1 transpose text 12\n", "line 1"},
        {"rule 1 transpose\nfor elem_size=0\n", "line 2"},
        {"rule 1 transpose\nrule 1 transpose\n", "line 2"},
        {"rule 1 transpose\naxis rows -1\n", "line 2"},
        {"rule 1 transpose\naxis rows 1e999\n", "line 2"},
        {"rule 1 transpose\naxis rows 1e-\n", "line 2"},
        {"rule 1 transpose\naxis rows nan\n", "line 2"},
        {"rule 1 transpose\nconfig small abc A=1\n", "line 2"},
        {"rule 1 transpose\nelse A=1\n", "line 2 is \"else A=1\""},
        {HEAD SIX "else A=7\n", "line 13 is \"else A=7\""},
        {HEAD "at 1000000 352 355: 90 0 -\nelse A=1\n", "line 8"},
        {HEAD, "line 7 is \"\","},
        {HEAD "at 1000000 352: 90 0 -\n", "line 7"},
        {HEAD "at 1000000 352 0: 90 0 -\n", "line 7"},
        {HEAD "at 1000000 352 3.5: 90 0 -\n", "line 7"},
        {HEAD "at 1000000 352 355: 90 0\n", "line 7"},
        {HEAD "at 1000000 352 355: 90 0 99999\n", "line 7"},
        {HEAD "at 1000000 352 355: 90 0 - 4\n", "line 7"},
        {HEAD "at 1000000 352 355: 90 0 -\naxis batch 1\n", "line 8"},
        {HEAD "at 1000000 352 355: 90 0 -", "line 7"},
    };
    (void)state;
    for (size_t i = 0; i < TT__COUNT(cases); i++) {
        tt__tuning_rule *r;
        assert_fails(tt__rule_read(&r, cases[i].text), TT_E_INVALID, cases[i].says);
        assert_null(r);
    }
    tt__str many = {0};
    tt__tuning_rule *r;
    tt__str_add(&many, HEAD);
    for (int i = 0; i <= TT__RULE_POINTS_MAX; i++)
        tt__str_add(&many, "at 1000000 352 355: 90 0 -\n");
    assert_fails(tt__rule_read(&r, many.text), TT_E_INVALID, "line 263");
    tt__str_free(&many);
}

/* A gain of less than 1 % may be none. */
static void a_small_gain_is_left(void **state) {
    (void)state;
    for (int gain = 8; gain <= 30; gain += 22) { /* thousandths */
        tt__str in = {0};
        int order[TT__RULE_CHOICES_MAX];
        tt__problem p = square(353);
        p.warm = true;
        tt__str_addf(&in, HEAD "at %.0f 353 353: %d 0 90\n", p.moved_bytes, gain);
        tt__tuning_rule *r = must_read(tt__str_text(&in));
        tt__rule_order(order, r, &p);
        assert_int_equal(order[0], gain == 8 ? TT__RULE_DEFAULT : 1);
        assert_int_equal(order[1], gain == 8 ? 1 : TT__RULE_DEFAULT);
        tt__rule_free(&r);
        tt__str_free(&in);
    }
}

/* Far from all points, too, what they say counts. */
static void far_problems_follow_great_losses(void **state) {
    (void)state;
    for (int loss = 90; loss <= 500; loss += 410) { /* of the default, in thousandths */
        tt__str in = {0};
        int order[TT__RULE_CHOICES_MAX];
        tt__problem near = square(353), far = square(50000);
        far.warm = true;
        tt__str_addf(&in, HEAD "at %.0f 353 353: %d 0 90\n", near.moved_bytes, loss);
        tt__tuning_rule *r = must_read(tt__str_text(&in));
        tt__rule_order(order, r, &far);
        assert_int_equal(order[0], loss == 90 ? TT__RULE_DEFAULT : 1);
        tt__rule_free(&r);
        tt__str_free(&in);
    }
}

static void near_problems_decide(void **state) {
    (void)state;
    tt__tuning_rule *r = must_read(text);
    int order[TT__RULE_CHOICES_MAX];
    tt__problem p = square(350);
    assert_false(tt__rule_is_for(r, &p));
    p.warm = p.in_graph = true;
    assert_false(tt__rule_is_for(r, &p));
    p.in_graph = false;
    assert_true(tt__rule_is_for(r, &p));
    assert_int_equal(tt__rule_order(order, r, &p), 3);
    assert_int_equal(order[0], 1);
    p = square(9000);
    p.warm = true;
    tt__rule_order(order, r, &p);
    assert_int_equal(order[0], TT__RULE_DEFAULT);
    assert_int_equal(order[1], 2);
    assert_int_equal(order[2], 1);
    tt__problem_set(&p, "elem_size", 8);
    assert_false(tt__rule_is_for(r, &p));
    tt__rule_free(&r);
}

/* ---- Making -------------------------------------------------------------------------------------------- */

static const char kernel[] = "//@ kernel saxpy\n//@ problem n 4096\n//@ type T f32 f64\n"
                             "//@ param BLOCK 32 64 128 256\n//@ default BLOCK=32\n"
                             "//@ buffer y T n out\n//@ metric gbps 8 * n / time_ns\n"
                             "//@ block BLOCK\n//@ grid 1\n//@ args y\n"
                             "//@ reference r\n//@ block 1\n//@ grid 1\n//@ args y\n"
                             "extern \"C\" void saxpy() { BLOCK; } void r();\n";

typedef struct made {
    tt__template_set set;
    tt__store *store;
    int64_t gpu, run;
    tt__evidence *evidence;
} made;

static void start_with(made *m, const char *source) {
    tt__template *t;
    *m = (made){0};
    assert_ok(tt__template_parse(&t, "saxpy.cu", source));
    assert_ok(tt__template_set_add(&m->set, t));
    assert_ok(tt__store_open_scratch(&m->store));
    assert_ok(tt__store_gpu(m->store, &h100, &m->gpu));
    assert_ok(tt__store_run_begin(m->store, m->gpu, &env1, "measured", &m->run));
    assert_ok(tt__evidence_open(&m->evidence, &m->set, &h100));
}

static void start(made *m) {
    start_with(m, kernel);
}

static void stop(made *m) {
    tt__evidence_close(&m->evidence);
    tt__store_close(&m->store);
    tt__template_set_close(&m->set);
}

static tt__problem problem_of(const made *m, int64_t n) {
    char values[32];
    tt__problem p;
    snprintf(values, sizeof values, "n=%lld", (long long)n);
    assert_ok(tt__operation_problem(&p, m->set.items[0]->operation, "saxpy", values));
    return p;
}

static void measured_as(made *m, int64_t n, const char *config, double time_us) {
    const tt__problem p = problem_of(m, n);
    const tt__trial trial = good(time_us);
    int64_t problem, id;
    assert_ok(tt__store_problem(m->store, &p, &problem));
    assert_ok(tt__store_config(m->store, "saxpy", "saxpy", m->set.items[0]->hash, config, &id));
    assert_ok(tt__store_trial_put(m->store, m->run, problem, id, TT__STAGE_SCREEN, &trial));
}

static void measured(made *m, int64_t n, int block, double time_us) {
    char config[32];
    snprintf(config, sizeof config, "BLOCK=%d", block);
    measured_as(m, n, config, time_us);
}

/* Small problems like blocks of 64, large ones those of 256. */
static void measure_all(made *m) {
    for (int64_t n = 1 << 10; n <= 1 << 24; n *= 4) {
        const bool small = n < 1 << 17;
        const double least = 4 + (double)n * 1e-3;
        measured(m, n, 32, least * 1.3);
        measured(m, n, 64, least * (small ? 1 : 1.2));
        measured(m, n, 128, least * 1.25);
        measured(m, n, 256, least * (small ? 1.2 : 1));
    }
    assert_ok(tt__evidence_add(m->evidence, m->store, m->gpu, NULL, false));
}

static void trials_make_a_rule(void **state) {
    (void)state;
    made m;
    size_t n;
    tt__tuning_rule *r;
    int order[TT__RULE_CHOICES_MAX];
    start(&m);
    measure_all(&m);
    assert_ok(tt__evidence_groups(&n, m.evidence));
    assert_int_equal(n, 1);
    assert_int_equal(tt__evidence_group(m.evidence, 0)->n, 1); /* T=f32 */
    assert_ok(tt__evidence_rule(&r, m.evidence, 0, 2));
    assert_int_equal(r->n_configs, 2);
    for (int64_t size = 3000; size < 1 << 24; size *= 3) {
        const tt__problem p = problem_of(&m, size);
        tt__rule_order(order, r, &p);
        assert_int_not_equal(order[0], TT__RULE_DEFAULT);
        const char *config = r->configs[order[0] - 1].config;
        if (size < 1 << 15 || size > 1 << 19)
            assert_string_equal(config, size < 1 << 17 ? "BLOCK=64" : "BLOCK=256");
    }
    tt__rule_free(&r);
    assert_ok(tt__evidence_rule(&r, m.evidence, 0, 1));
    assert_int_equal(r->n_configs, 1);
    tt__rule_free(&r);
    stop(&m);
}

static void left_out_problems_judge_it(void **state) {
    (void)state;
    made m;
    tt__rule_score s = {0};
    size_t n;
    start(&m);
    measure_all(&m);
    assert_ok(tt__evidence_groups(&n, m.evidence));
    assert_ok(tt__evidence_judge(&s, m.evidence, 0, 2, 0));
    assert_int_equal(s.n, 8);
    assert_float_equal(s.default_mean, 1.3, 1e-3);
    assert_true(s.mean < 1.05 && s.worst < 1.21 && s.n_slower == 0);
    s = (tt__rule_score){0};
    assert_ok(tt__evidence_judge(&s, m.evidence, 0, 1, 4));
    assert_true(s.mean > 1.05 && s.mean < 1.3);
    stop(&m);
}

/* What is switched on is legal for some problems only. Elsewhere the same without it stands for it, so that
 * one configuration does for all. Without A and B is what one problem needs, and what no problem has is not
 * kept. */
static void what_is_not_legal_is_switched_off(void **state) {
    static const char switches[] =
        "//@ kernel saxpy\n//@ problem n 4096\n//@ type T f32 f64\n//@ param BLOCK 32 64\n//@ param A 0 1\n"
        "//@ param B 0 2\n//@ param C 1 2\n//@ default BLOCK=32 A=0 B=0 C=1\n"
        "//@ buffer y T n out\n//@ block BLOCK\n//@ grid A + B + C\n//@ args y\n"
        "//@ reference r\n//@ block 1\n//@ grid 1\n//@ args y\n"
        "extern \"C\" void saxpy() { BLOCK; } void r();\n";
    static const char *const legal[] = {"BLOCK=64 A=1 B=2 C=2", "BLOCK=64 A=1 B=0 C=2",
                                        "BLOCK=64 A=0 B=0 C=2", "BLOCK=64 A=1 B=2 C=2"};
    (void)state;
    made m;
    size_t n;
    tt__tuning_rule *r;
    tt__rule_score s = {0};
    start_with(&m, switches);
    for (int i = 0; i < 4; i++) {
        measured_as(&m, 5000 + i, legal[i], 10 + i);
        measured_as(&m, 5000 + i, "BLOCK=32 A=0 B=0 C=1", 15);
    }
    assert_ok(tt__evidence_add(m.evidence, m.store, m.gpu, NULL, false));
    assert_ok(tt__evidence_groups(&n, m.evidence));
    assert_ok(tt__evidence_rule(&r, m.evidence, 0, 1));
    assert_string_equal(r->configs[0].config, legal[0]);
    assert_int_equal(r->configs[0].n_variants, 2);
    assert_string_equal(r->configs[0].variants[0], legal[1]);
    assert_string_equal(r->configs[0].variants[1], legal[2]);
    for (size_t i = 0; i < r->n_points; i++)
        assert_float_equal((double)r->points[i].losses[1], 0, 1e-6);
    tt__rule_free(&r);
    assert_ok(tt__evidence_judge(&s, m.evidence, 0, 1, 0));
    assert_int_equal(s.n, 4);
    assert_true(s.n_slower == 0 && s.worst < 1.001);
    stop(&m);
}

/* Nothing is gained, so that there is no rule; and one problem is not enough. */
static void without_a_gain_there_is_none(void **state) {
    (void)state;
    made m;
    size_t n;
    tt__tuning_rule *r;
    start(&m);
    measured(&m, 5000, 64, 10);
    assert_ok(tt__evidence_add(m.evidence, m.store, m.gpu, NULL, false));
    assert_ok(tt__evidence_groups(&n, m.evidence));
    assert_int_equal(n, 0);
    stop(&m);
    start(&m);
    for (int64_t size = 1000; size < 1000000; size *= 10) {
        measured(&m, size, 32, 10);
        measured(&m, size, 64, 12);
    }
    assert_ok(tt__evidence_add(m.evidence, m.store, m.gpu, "saxpy", false));
    assert_ok(tt__evidence_groups(&n, m.evidence));
    assert_int_equal(n, 1);
    assert_ok(tt__evidence_rule(&r, m.evidence, 0, 8));
    assert_null(r);
    stop(&m);
}

/* ---- In stores -------------------------------------------------------------------------------------------
 */

typedef struct kept {
    int n;
    char text[1024];
    int64_t unix_ms;
} kept;

static tt_status keep(void *user, int64_t gpu_id, const char *of, int64_t unix_ms) {
    kept *k = user;
    assert_true(gpu_id > 0);
    k->n++;
    k->unix_ms = unix_ms;
    tt__copy(k->text, sizeof k->text, of);
    return TT_OK;
}

static kept rules_of(tt__store *s) {
    kept k = {0};
    assert_ok(tt__store_rules(s, 0, keep, &k));
    return k;
}

static tt__store *store_with_rule(const char *name, int64_t unix_ms) {
    tt__store *s = must_open(a_store(name, 2, 50, 2));
    tt__tuning_rule *r = must_read(text);
    assert_ok(tt__store_rule_put(s, 1, r, unix_ms));
    tt__rule_free(&r);
    return s;
}

static void the_newer_one_stays(void **state) {
    (void)state;
    tt__store *s = store_with_rule("a.db", 100), *to = store_with_rule("b.db", 50);
    tt__tuning_rule *r = must_read(HEAD "at 1000000 352 355: 90 0 -\n");
    tt__merged merged = {0};
    assert_ok(tt__store_rule_put(s, 1, r, 99));
    kept k = rules_of(s);
    assert_int_equal(k.n, 1);
    assert_string_equal(k.text, text);
    assert_ok(tt__store_rule_put(to, 1, r, 60));
    assert_int_equal(rules_of(to).unix_ms, 60);
    assert_ok(tt__store_begin(to));
    assert_ok(tt__store_merge(to, s, &(tt__merge_opts){.locked = true}, &merged));
    assert_ok(tt__store_commit(to));
    k = rules_of(to);
    assert_int_equal(k.n, 1);
    assert_int_equal(k.unix_ms, 100);
    assert_string_equal(k.text, text);
    tt__rule_free(&r);
    tt__store_close(&s);
    tt__store_close(&to);
}

static void recordings_have_them(void **state) {
    (void)state;
    tt__store *s = store_with_rule("a.db", 100);
    tt__recording *r;
    tt__str json = {0}, part = {0};
    assert_ok(tt__recording_export(s, 1, NULL, "", &json));
    write_file(in_dir("r.json"), json.text, json.len);
    assert_ok(tt__recording_open(&r, in_dir("r.json")));
    const kept k = rules_of(tt__recording_store(r));
    assert_int_equal(k.n, 1);
    assert_string_equal(k.text, text);
    tt__recording_close(&r);
    char *rules = strstr(json.text, "\"rules\":[");
    memcpy(rules, "\"rules\":{", 9);
    write_file(in_dir("bad.json"), json.text, json.len);
    assert_fails(tt__recording_open(&r, in_dir("bad.json")), TT_E_INVALID, "");
    memcpy(rules, "\"rules\":[", 9);
    memcpy(strstr(json.text, "axis rows"), "axes", 4);
    write_file(in_dir("bad.json"), json.text, json.len);
    assert_fails(tt__recording_open(&r, in_dir("bad.json")), TT_E_INVALID,
                 "metadata.rules[0]: a rule's line 3");
    assert_ok(tt__recording_export(s, 1, &(tt__recording_part){.op = "transpose"}, "", &part));
    assert_null(strstr(part.text, "\"rules\"")); /* a part has none */
    tt__str_free(&part);
    tt__str_free(&json);
    tt__store_close(&s);
}

static void count_finding(void *user, const char *finding) {
    int *n = user;
    *n += strstr(finding, "rule 1: a rule's line 1") != NULL;
}

/* It is left out of look-ups, the check finds it, and an export does not pass it on. */
static void a_damaged_one_is_found(void **state) {
    (void)state;
    tt__store *s = store_with_rule("a.db", 100);
    tt__checked checked;
    tt_open_opts opts = TT_INIT(tt_open_opts);
    tt_ctx *ctx;
    tt_choice choice = TT_INIT(tt_choice);
    tt_problem p = TT_INIT(tt_problem);
    tt__str json = {0};
    int n = 0;
    tt__store_close(&s);
    const char *path = in_dir("a.db");
    raw_sql(path, "UPDATE rule SET text = 'what'");
    s = must_open(path);
    assert_ok(tt__store_check(s, count_finding, &n, &checked));
    assert_int_equal(n, 1);
    assert_fails(tt__recording_export(s, 1, NULL, "", &json), TT_E_INVALID, "a rule's line 1");
    tt__str_free(&json);
    tt__store_close(&s);
    opts.db_path = path;
    opts.gpu = h100.name;
    assert_ok(tt_open(&ctx, &opts));
    p.rows = p.cols = 777;
    assert_ok(tt_best(&choice, ctx, &p));
    tt_close(&ctx);
}

/* A lock file answers by its rules where the default is allowed, and not otherwise. */
static void a_lock_file_chooses_by_it(void **state) {
    (void)state;
    const char *path = a_store("lock.db", 2, 50, 2);
    tt__store *s = must_open(path);
    tt__tuning_rule *r = must_read(tt__shipped_rules[0].text);
    assert_ok(tt__store_rule_put(s, 1, r, 100));
    tt__store_close(&s);
    for (int allowed = 0; allowed < 2; allowed++) {
        tt_open_opts opts = TT_INIT(tt_open_opts);
        tt_choice choice = TT_INIT(tt_choice);
        tt_problem p = TT_INIT(tt_problem);
        tt_ctx *ctx;
        opts.lock_file = path;
        opts.lock_default = allowed;
        opts.gpu = h100.name;
        assert_ok(tt_open(&ctx, &opts));
        p.rows = p.cols = 777;
        p.elem_size = (int)tt__problem_number(&r->group, "elem_size", 0);
        assert_int_equal(tt_best(&choice, ctx, &p), allowed ? TT_OK : TT_E_NO_WINNER);
        if (allowed) {
            assert_int_equal(choice.match, TT_MATCH_RULE);
            assert_string_equal(choice.layer, "user");
        }
        tt_close(&ctx);
    }
    tt__rule_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_kept),
        cmocka_unit_test(extremes_are_kept),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(far_problems_follow_great_losses),
        cmocka_unit_test(near_problems_decide),
        cmocka_unit_test(a_small_gain_is_left),
        cmocka_unit_test(trials_make_a_rule),
        cmocka_unit_test(left_out_problems_judge_it),
        cmocka_unit_test(what_is_not_legal_is_switched_off),
        cmocka_unit_test(without_a_gain_there_is_none),
        TEST(the_newer_one_stays),
        TEST(recordings_have_them),
        TEST(a_damaged_one_is_found),
        TEST(a_lock_file_chooses_by_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

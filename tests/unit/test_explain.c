/* The rules of `tune explain`, on counters of planted kernels that a GPU has run (tests/planted/fixture.py).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "tuner/explain/explain.h"

typedef struct planted {
    char name[64], expected[64];
    bool control;
    tt__explain_facts facts;
} planted;

/* The columns of a fixture, and the member that each one is about. */
typedef struct columns {
    int n;
    char names[128][96];
} columns;

static const struct {
    const char *name;
    size_t offset;
} ints[] =
    {
#define OF(name, member)                                                                                     \
    { name, offsetof(tt__explain_facts, member) }
        OF("cc", cc),
        OF("sm_count", sm_count),
        OF("launches", launches),
        OF("threads", threads),
        OF("regs", regs),
        OF("shared_bytes", shared_bytes),
        OF("resident_blocks", resident),
        OF("local_bytes", counted.local_bytes),
        OF("replays", counted.n_replays),
},
  doubles[] = {
      OF("peak_gbps", peak_gbps),
      OF("l2_gbps", l2_gbps),
      OF("time_us", time_us),
      OF("moved_bytes", moved_bytes),
      OF("in_bytes", in_bytes),
      OF("out_bytes", out_bytes),
      OF("copy_gbps", copy_gbps),
      OF("copy_dram_gbps", copy_dram_gbps),
      OF("blocks", blocks),
      OF("occupancy", occupancy),
      OF("sass.all", counted.sass.all),
      OF("sass.loads", counted.sass.loads),
      OF("sass.load_bytes", counted.sass.load_bytes),
      OF("sass.stores", counted.sass.stores),
      OF("sass.store_bytes", counted.sass.store_bytes),
      OF("sass.local", counted.sass.local),
      OF("sass.shared", counted.sass.shared),
      OF("sass.atomics", counted.sass.atomics),
      OF("sass.barriers", counted.sass.barriers),
      OF("sass.fp32", counted.sass.fp32),
      OF("sass.fp64", counted.sass.fp64),
      OF("sass.fp16", counted.sass.fp16),
      OF("sass.tensor", counted.sass.tensor),
      OF("sass.special", counted.sass.special),
      OF("sass.branches", counted.sass.branches),
      OF("sass.local_indexed", counted.sass.local_indexed),
      OF("sass.shared_atomics", counted.sass.shared_atomics),
      OF("sass.shared_cas", counted.sass.shared_cas),
      OF("sass.constants", counted.sass.constants),
      OF("sass.conversions", counted.sass.conversions),
      OF("sass.divisions", counted.sass.divisions),
      OF("sass.fences", counted.sass.fences),
      OF("sass.sleeps", counted.sass.sleeps),
      OF("sass.code_bytes", counted.sass.code_bytes),
#undef OF
};

/* Where a double of this name is; NULL: there is none. */
static double *double_of(tt__explain_facts *f, const char *name) {
    for (size_t i = 0; i < TT__COUNT(doubles); i++)
        if (strcmp(doubles[i].name, name) == 0)
            return (double *)((char *)f + doubles[i].offset);
    for (int i = 0; i < TT__COUNTER_COUNT; i++)
        if (strcmp(tt__counter_metrics()[i], name) == 0)
            return &f->counted.values[i];
    return NULL;
}

static void set(tt__explain_facts *f, const char *name, double value) {
    double *at = double_of(f, name);
    if (at)
        *at = value;
    else if (strcmp(name, "halves") == 0)
        f->halves = value > 0;
    else if (strcmp(name, "doubles") == 0)
        f->doubles = value > 0;
    for (size_t i = 0; i < TT__COUNT(ints); i++)
        if (strcmp(ints[i].name, name) == 0)
            *(int *)((char *)f + ints[i].offset) = (int)value;
}

/* A counter that a fixture lacks is unknown. */
static void read_line(planted *out, const columns *all, char *at) {
    char *rest, *word = strtok_r(at, " \n", &rest);
    *out = (planted){0};
    for (int i = 0; i < TT__COUNTER_COUNT; i++)
        out->facts.counted.values[i] = (double)NAN;
    for (int i = 0; i < all->n; i++, word = strtok_r(NULL, " \n", &rest)) {
        assert_non_null(word);
        if (i == 0)
            snprintf(out->name, sizeof out->name, "%s", word);
        else if (i == 1)
            snprintf(out->expected, sizeof out->expected, "%s", word);
        else if (i == 2)
            out->control = *word == '1';
        else
            set(&out->facts, all->names[i], strtod(word, NULL));
    }
    assert_null(word);
}

static void read_columns(columns *out, char *line) {
    char *rest;
    out->n = 0;
    for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        assert_true(out->n < (int)TT__COUNT(out->names));
        snprintf(out->names[out->n++], sizeof *out->names, "%s", word);
    }
}

/* What GPUs counted of the planted kernels. `uncounted`: so many are named by times and code alone. */
static const struct {
    const char *name;
    int n, uncounted;
} fixtures[] = {{"planted-h100.txt", 20, 17}, {"planted-h200.txt", 78, 50}};

/* Calls `fn` for each kernel of a fixture. */
static void for_each_of(const char *fixture, void (*fn)(const planted *p, void *user), void *user) {
    char path[512];
    static char line[16384];
    static columns all;
    planted p;
    snprintf(path, sizeof path, "%s/%s", getenv("TT_TEST_DATA"), fixture);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    read_columns(&all, line);
    while (fgets(line, sizeof line, f)) {
        read_line(&p, &all, line);
        fn(&p, user);
    }
    fclose(f);
}

static void for_each(void (*fn)(const planted *p, void *user), void *user) {
    for (size_t i = 0; i < TT__COUNT(fixtures); i++)
        for_each_of(fixtures[i].name, fn, user);
}

static const char *first_named(const tt__explain_facts *f) {
    tt__rule_finding found[TT__FINDINGS_MAX];
    return tt__rules_apply(found, f) ? found[0].rule->name : "nothing";
}

typedef struct score {
    int n, right, n_blamed;
    bool counted;
} score;

static void try_one(const planted *p, void *user) {
    score *s = user;
    tt__explain_facts facts = p->facts;
    if (!s->counted)
        facts.counted.n_replays = 0;
    tt__rule_finding found[TT__FINDINGS_MAX];
    const int n = tt__rules_apply(found, &facts);
    const char *named = n ? found[0].rule->name : "nothing";
    s->n++;
    s->right += strcmp(named, p->expected) == 0;
    if (strcmp(named, p->expected) != 0)
        print_message("%s: %s is named first\n", p->name, named);
    for (int i = 0; i < n && p->control; i++)
        if (!found[i].rule->limit) {
            s->n_blamed++;
            print_message("%s: %s is named, which it has not\n", p->name, found[i].rule->name);
        }
}

/* All are named first, and no control is blamed. */
static void test_with_counters(void **state) {
    (void)state;
    for (size_t i = 0; i < TT__COUNT(fixtures); i++) {
        score s = {.counted = true};
        for_each_of(fixtures[i].name, try_one, &s);
        assert_int_equal(s.n, fixtures[i].n);
        assert_int_equal(s.right, s.n);
        assert_int_equal(s.n_blamed, 0);
    }
}

static void test_without_counters(void **state) {
    (void)state;
    for (size_t i = 0; i < TT__COUNT(fixtures); i++) {
        score s = {.counted = false};
        for_each_of(fixtures[i].name, try_one, &s);
        print_message("%s: %d of %d without counters\n", fixtures[i].name, s.right, s.n);
        assert_true(s.right >= fixtures[i].uncounted);
        assert_int_equal(s.n_blamed, 0);
    }
}

/* Without counters, what is named wrongly is called a guess. */
static void try_certain(const planted *p, void *user) {
    tt__explanation *e = calloc(1, sizeof *e);
    bool guessed = false;
    assert_non_null(e);
    e->n = 1;
    e->items[0].trial = (tt__trial){.status = TT__TRIAL_OK, .time_us = p->facts.time_us};
    e->items[0].facts = p->facts;
    e->items[0].facts.counted.n_replays = 0;
    e->n_findings = tt__rules_apply(e->findings, &e->items[0].facts);
    tt__explain_tell(e);
    for (int i = 0; i < e->n_sentences; i++)
        guessed |= strstr(e->sentences[i], "is a guess") || strstr(e->sentences[i], "is not known");
    if (!guessed && strcmp(e->findings[0].rule->name, p->expected) != 0) {
        ++*(int *)user;
        print_message("%s: for sure %s, but it is %s\n", p->name, e->sentences[0], p->expected);
    }
    free(e);
}

static void test_certain(void **state) {
    int n = 0;
    (void)state;
    for_each(try_certain, &n);
    assert_int_equal(n, 0);
}

/* What takes as long as the copy of its bytes has no access pattern to mend, whatever its loads look like. */
static void try_as_fast_as_copy(const planted *p, void *user) {
    tt__explain_facts facts = p->facts;
    if (strcmp(p->name, "uncoalesced_reads") != 0)
        return;
    ++*(int *)user;
    facts.time_us = 1.04 * facts.moved_bytes / facts.copy_gbps / 1e3;
    set(&facts, "gpu__time_duration.sum", facts.time_us * 1e3);
    facts.counted.values[TT__C_DRAM_READ] = facts.copy_dram_gbps * facts.time_us * 1e3;
    facts.counted.values[TT__C_DRAM_WRITTEN] = 0;
    assert_string_equal(first_named(&facts), "memory_bound");
    facts.time_us *= 1.2; /* there is something to save */
    assert_string_equal(first_named(&facts), "uncoalesced_reads");
}

static void test_as_fast_as_copy(void **state) {
    int n = 0;
    (void)state;
    for_each(try_as_fast_as_copy, &n);
    assert_true(n > 0);
}

/* Conversions of half precision multiply, too. What is nearly as fast as a copy is no matrix product. */
static void try_conversion(const planted *p, void *user) {
    tt__explain_facts facts = p->facts;
    if (strcmp(p->name, "tensor_cores_unused") != 0)
        return;
    ++*(int *)user;
    for (int counted = 0; counted < 2; counted++) {
        facts.counted.n_replays = counted ? p->facts.counted.n_replays : 0;
        facts.time_us = p->facts.time_us;
        assert_string_equal(first_named(&facts), "tensor_cores_unused");
        facts.time_us = 1.4 * facts.moved_bytes / facts.copy_gbps / 1e3;
        assert_string_not_equal(first_named(&facts), "tensor_cores_unused");
    }
}

static void test_conversions(void **state) {
    int n = 0;
    (void)state;
    for_each(try_conversion, &n);
    assert_int_equal(n, TT__COUNT(fixtures));
}

/* What is launched in a graph is not told to use one. */
static void try_in_graph(const planted *p, void *user) {
    tt__explain_facts facts = p->facts;
    if (strcmp(p->name, "host_bound") != 0)
        return;
    ++*(int *)user;
    for (int in_graph = 0; in_graph < 2; in_graph++) {
        tt__str text = {0};
        tt__rule_finding found[TT__FINDINGS_MAX];
        facts.in_graph = in_graph;
        assert_true(tt__rules_apply(found, &facts) > 0);
        found[0].rule->say(&text, &facts);
        const char *says = in_graph ? "any kernel, also in a CUDA graph: do more in one."
                                    : "any kernel: do more in one, or use a CUDA graph.";
        assert_non_null(strstr(tt__str_text(&text), says));
        tt__str_free(&text);
    }
}

static void test_graph(void **state) {
    int n = 0;
    (void)state;
    for_each(try_in_graph, &n);
    assert_int_equal(n, TT__COUNT(fixtures));
}

/* A rule without its counters is silent, and no rule says more than it can know. */
static void try_missing(const planted *p, void *user) {
    (void)user;
    tt__rule_finding found[TT__FINDINGS_MAX];
    for (int missing = 1; missing < TT__COUNTER_COUNT; missing++) {
        tt__explain_facts facts = p->facts;
        facts.counted.values[missing] = strtod("nan", NULL);
        int n = tt__rules_apply(found, &facts);
        for (int i = 0; i < n; i++) {
            tt__str text = {0};
            for (int k = 0; k < TT__NEEDS_MAX; k++)
                assert_int_not_equal((int)found[i].rule->needs[k], missing);
            assert_true(found[i].share > 0 && found[i].share <= 1);
            found[i].rule->say(&text, &facts);
            assert_null(strstr(tt__str_text(&text), " nan"));
            assert_null(strstr(tt__str_text(&text), " inf"));
            tt__str_free(&text);
        }
    }
}

static void test_missing(void **state) {
    (void)state;
    for_each(try_missing, NULL);
}

static void explain(const planted *p, void *user) {
    (void)user;
    tt__explanation *e = calloc(1, sizeof *e);
    assert_non_null(e);
    e->n = 2;
    for (int i = 0; i < 2; i++) {
        e->items[i].facts = p->facts;
        e->items[i].trial = (tt__trial){.status = TT__TRIAL_OK, .time_us = p->facts.time_us};
    }
    e->items[1].role = TT__ROLE_NEIGHBOUR;
    e->items[1].slower = 0.25;
    e->items[1].facts.counted.values[TT__C_INSTRUCTIONS] *= 2;
    strcpy(e->items[1].param, "UNROLL");
    strcpy(e->items[1].value, "4");
    strcpy(e->items[1].winners, "2");
    e->n_findings = tt__rules_apply(e->findings, &e->items[0].facts);
    tt__explain_tell(e);
    assert_in_range(e->n_sentences, 1, TT__SENTENCES_MAX);
    bool told = false;
    for (int i = 0; i < e->n_sentences; i++)
        told |=
            strcmp(e->sentences[i], "UNROLL=4 in place of 2 is 25.0 % slower (instructions +100 %).") == 0;
    assert_true(told);
    free(e);
}

/* The advice is what the author of a kernel can try: the annotation, with the most registers that help. */
static void test_says_how_many_registers(void **state) {
    (void)state;
    tt__explain_facts f = {.cc = 90, .threads = 256, .regs = 168, .resident = 1, .occupancy = 0.125};
    tt__str text = {0};
    tt__say_registers(&text, &f);
    assert_string_equal(
        tt__str_text(&text),
        "168 registers a thread leave room for 12 % of an SM's warps, too few to hide the wait for memory; "
        "try //@ maxrregcount 128, with which 25 % fit, or have more loads in flight.");
    tt__str_free(&text);
}

static void test_sentences(void **state) {
    (void)state;
    for_each(explain, NULL);
}

static void add_neighbour(tt__explanation *e, const char *param, const char *value, double slower,
                          const tt__explain_facts *facts) {
    tt__explained *x = &e->items[e->n++];
    x->role = TT__ROLE_NEIGHBOUR;
    x->trial = (tt__trial){.status = TT__TRIAL_OK, .time_us = 10 * (1 + slower)};
    x->slower = slower;
    x->facts = *facts;
    strcpy(x->param, param);
    strcpy(x->value, value);
    strcpy(x->winners, "2");
}

/* What only the compiled code suggests is called a guess, also beside what the launch shows. */
static void test_guesses(void **state) {
    (void)state;
    static const char *const says[] = {"That is a guess from times", "The latter is a guess from times"};
    tt__explanation *e = calloc(1, sizeof *e);
    int told = 0;
    assert_non_null(e);
    for (int few = 0; few < 2; few++) {
        e->n = 1;
        e->items[0].trial = (tt__trial){.status = TT__TRIAL_OK, .time_us = 100};
        e->items[0].facts = (tt__explain_facts){.sm_count = 132,
                                                .time_us = 100,
                                                .launches = 1,
                                                .moved_bytes = 1e6,
                                                .copy_gbps = 1000,
                                                .blocks = few ? 2 : 132,
                                                .threads = 256,
                                                .counted.sass = {.all = 20, .atomics = 8, .loads = 2}};
        e->n_findings = tt__rules_apply(e->findings, &e->items[0].facts);
        assert_string_equal(e->findings[few].rule->name, "atomics");
        assert_string_equal(e->findings[0].rule->name, few ? "few_blocks" : "atomics");
        tt__explain_tell(e);
        for (int i = 0; i < e->n_sentences; i++)
            told |= strstr(e->sentences[i], says[few]) ? 1 << few : 0;
    }
    assert_int_equal(told, 3);
    free(e);
}

/* A neighbour that was slower in half of the rounds is not slower. */
static void test_noise(void **state) {
    (void)state;
    tt__explanation *e = calloc(1, sizeof *e);
    const tt__explain_facts facts = {.launches = 1};
    assert_non_null(e);
    e->n = 1;
    e->items[0].trial = (tt__trial){.status = TT__TRIAL_OK, .time_us = 10, .n_samples = 15};
    add_neighbour(e, "UNROLL", "4", 0.03, &facts);
    e->items[1].trial.n_samples = 15;
    for (int steady = 0; steady < 2; steady++) {
        for (int i = 0; i < 15; i++) {
            e->items[0].trial.samples_us[i] = 10;
            e->items[1].trial.samples_us[i] = steady || i % 2 == 0 ? 10.3F : 9.8F;
        }
        tt__explain_tell(e);
        assert_int_equal(!!strstr(e->sentences[0], "UNROLL=4 in place of 2 is 3.0 % slower"), steady);
        assert_int_equal(!!strstr(e->sentences[0], "slower beyond the noise"), !steady);
    }
    free(e);
}

/* Each parameter is told once, by its worse neighbour, with the counter that got worse: fewer warps are
 * worse, more instructions are. A neighbour that is faster comes first. */
static void test_parameters(void **state) {
    (void)state;
    static const char *const expected[] = {
        "FAST=1 in place of 2 is 5.0 % faster now: tune again with --force.",
        "UNROLL=4 in place of 2 is 25.0 % slower (occupancy -50 %).",
        "THREADS=4 in place of 2 is 3.0 % slower (instructions +100 %).",
    };
    tt__explanation *e = calloc(1, sizeof *e);
    tt__explain_facts same = {.counted.n_replays = 1}, fewer_warps, more_work;
    assert_non_null(e);
    same.counted.values[TT__C_OCCUPANCY] = 80;
    same.counted.values[TT__C_INSTRUCTIONS] = 1000;
    fewer_warps = more_work = same;
    fewer_warps.counted.values[TT__C_OCCUPANCY] = 40;
    fewer_warps.counted.values[TT__C_INSTRUCTIONS] = 900;
    more_work.counted.values[TT__C_OCCUPANCY] = 100;
    more_work.counted.values[TT__C_INSTRUCTIONS] = 2000;
    e->n = 1;
    e->items[0] = (tt__explained){.trial = {.status = TT__TRIAL_OK, .time_us = 10}, .facts = same};
    add_neighbour(e, "THREADS", "4", 0.03, &more_work);
    add_neighbour(e, "UNROLL", "1", 0.1, &more_work);
    add_neighbour(e, "UNROLL", "4", 0.25, &fewer_warps);
    add_neighbour(e, "NOISE", "4", 0.005, &more_work);
    add_neighbour(e, "FAST", "1", -0.05, &same);
    tt__explain_tell(e);
    int at = 0;
    while (at < e->n_sentences && strcmp(e->sentences[at], expected[0]) != 0)
        at++;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(e->sentences[at + (int)i], expected[i]);
    for (int i = 0; i < e->n_sentences; i++)
        assert_null(strstr(e->sentences[i], "UNROLL=1"));
    free(e);
}

/* ---- The causes ----------------------------------------------------------------------------------------
 */

static const tt__cause *cause_named(bool stall, const char *name) {
    for (size_t i = 0; i < tt__n_causes; i++)
        if (tt__causes[i].stall == stall && strcmp(tt__causes[i].name, name) == 0)
            return &tt__causes[i];
    return NULL;
}

static bool is_rule(const char *name) {
    for (size_t i = 0; tt__rule_at(i); i++)
        if (strcmp(tt__rule_at(i)->name, name) == 0)
            return true;
    return false;
}

/* Each pipe and each reason that CUPTI knows has a rule, or a word why none is needed. */
static void test_causes_are_complete(void **state) {
    char path[512], line[256], kind[16], name[64];
    size_t n = 0;
    (void)state;
    snprintf(path, sizeof path, "%s/cupti-names.txt", getenv("TT_TEST_DATA"));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (*line == '#')
            continue;
        assert_int_equal(sscanf(line, "%15s %63s", kind, name), 2);
        if (!cause_named(strcmp(kind, "stall") == 0, name))
            fail_msg("nothing is said of the %s %s", kind, name);
        n++;
    }
    fclose(f);
    assert_int_equal(n, tt__n_causes);
    for (size_t i = 0; i < tt__n_causes; i++) {
        const tt__cause *c = &tt__causes[i];
        assert_true(!c->rule == !!c->never);
        assert_true(!c->rule || (is_rule(c->rule) && c->counter != TT__COUNTER_COUNT && *c->words));
    }
}

static void test_counters_have_causes(void **state) {
    static const int counters[] = {
#define COUNTER(member, metric) TT__C_##member,
        TT__PIPES(COUNTER) TT__STALLS(COUNTER)
#undef COUNTER
    };
    (void)state;
    for (size_t i = 0; i < TT__COUNT(counters); i++) {
        const char *metric = tt__counter_metrics()[counters[i]];
        int n = 0;
        for (size_t k = 0; k < tt__n_causes; k++)
            if (tt__causes[k].counter == counters[i]) {
                n++;
                assert_non_null(strstr(metric, tt__causes[k].name));
                assert_true(tt__causes[k].stall == !!strstr(metric, "stalled"));
            }
        if (n != 1)
            fail_msg("%s has %d causes", metric, n);
    }
}

/* A GPU that has nothing to do. */
static tt__explain_facts idle_facts(void) {
    tt__explain_facts f = {
        .cc = 90,
        .sm_count = 132,
        .peak_gbps = 4800,
        .time_us = 1000,
        .moved_bytes = 1e6,
        .in_bytes = 1e6,
        .launches = 1,
        .blocks = 132 * 64,
        .threads = 256,
        .regs = 32,
        .resident = 8,
        .occupancy = 1,
        .counted = {.n_replays = 1, .sass = {.all = 100, .barriers = 10, .loads = 5, .load_bytes = 20}}};
    static const int times[] = {TT__C_SM_ACTIVE_AVG, TT__C_SM_ACTIVE_MIN, TT__C_SM_ACTIVE_MAX,
                                TT__C_SM_ELAPSED};
    for (size_t i = 0; i < TT__COUNT(times); i++)
        f.counted.values[times[i]] = 1.5e6;
    f.counted.values[TT__C_OCCUPANCY] = 100;
    f.counted.values[TT__C_LANES] = 32;
    f.counted.values[TT__C_ISSUED] = 5;
    return f;
}

/* A pipe that is all used up, and a reason that all warps wait for, are named by the rule that the table
 * says. */
static void test_causes_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < tt__n_causes; i++) {
        const tt__cause *c = &tt__causes[i];
        tt__explain_facts f = idle_facts();
        if (c->counter == TT__COUNTER_COUNT)
            continue;
        f.counted.values[c->counter] = c->stall ? 5 : 96;
        const char *named = first_named(&f), *expected = c->rule ? c->rule : "nothing";
        if (strcmp(named, expected) != 0)
            fail_msg("%s %s: %s is named in place of %s", c->stall ? "stall" : "pipe", c->name, named,
                     expected);
    }
}

/* Where no rule applies, numbers say what is known. */
static void test_unknown(void **state) {
    tt__explanation *e = calloc(1, sizeof *e);
    (void)state;
    assert_non_null(e);
    e->n = 1;
    e->items[0] = (tt__explained){.trial = {.status = TT__TRIAL_OK, .time_us = 10}, .facts = idle_facts()};
    double *v = e->items[0].facts.counted.values;
    v[TT__C_STALL_MISC] = 6;
    v[TT__C_STALL_NOT_SELECTED] = 50;
    v[TT__C_PIPE_ALU] = 55;
    v[TT__C_ISSUED] = 55;
    v[TT__C_STALL_WAIT] = 1.5;
    e->n_findings = tt__rules_apply(e->findings, &e->items[0].facts);
    tt__explain_tell(e);
    assert_int_equal(e->n_sentences, 1);
    assert_string_equal(e->sentences[0], "What limits it is not known: 80 % of the waiting is for other "
                                         "reasons and 20 % for arithmetic, and the "
                                         "busiest pipe, for whole numbers and logic, works at 55 %.");
    e->items[0].facts.counted.n_replays = 0;
    e->n_findings = 0;
    tt__explain_tell(e);
    assert_string_equal(e->sentences[0],
                        "Nothing is used up and no rule applies: what limits it is not known.");
    free(e);
}

/* Where no copy was counted, memory gives nine tenths of its theoretical rate at most. */
static void test_memory_without_a_copy(void **state) {
    (void)state;
    tt__explain_facts f = {.time_us = 1, .peak_gbps = 1000, .counted.values[TT__C_DRAM_READ] = 450e3};
    assert_true(fabs(tt__m_dram_use(&f) - 0.5) < 1e-9);
    f.copy_dram_gbps = 600;
    assert_true(fabs(tt__m_dram_use(&f) - 0.75) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_counters),
        cmocka_unit_test(test_certain),
        cmocka_unit_test(test_as_fast_as_copy),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_without_counters),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_says_how_many_registers),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_causes_are_complete),
        cmocka_unit_test(test_counters_have_causes),
        cmocka_unit_test(test_causes_are_named),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_memory_without_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

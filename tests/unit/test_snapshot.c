/*
 * What is known in memory: the distance of winners from a problem, which of them are looked at, their order,
 * and when it is read again.
 */
#include "dispatch/snapshot.h"

#include <math.h>

#include "base/random.h"
#include "dispatch/store_layers.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/operation.h"
#include "store_fixture.h"

/* A GPU of an architecture without shipped winners. */
static tt__gpu a_gpu(const char *name, int cc) {
    tt__gpu gpu = h100;
    tt__copy(gpu.name, sizeof gpu.name, name);
    gpu.cc = cc;
    return gpu;
}

static void crown(const char *path, const tt__gpu *gpu, const tt__problem *p) {
    tt__store *s = must_open(path);
    tt__winner w = a_winner(50);
    int64_t gpu_id, problem, config, run;
    assert_ok(tt__store_gpu(s, gpu, &gpu_id));
    assert_ok(tt__store_problem(s, p, &problem));
    assert_ok(tt__store_config(s, "k", p->op, "abcd", "A=1", &config));
    assert_ok(tt__store_run_begin(s, gpu_id, &env1, "measured", &run));
    assert_ok(tt__store_winner_put(s, run, problem, config, &w));
    tt__store_close(&s);
}

/* Two numbers and a type. */
static tt__template *saxpy_file;

static int open_saxpy(void **state) {
    (void)state;
    return tt__template_parse(&saxpy_file, "saxpy.cu",
                              "//@ kernel saxpy\n//@ problem n 4096\n//@ problem m 64\n//@ type T f32 f64\n"
                              "//@ buffer y T n out\n//@ block 1\n//@ grid 1\n//@ args y\n"
                              "//@ reference r\n//@ block 1\n//@ grid 1\n//@ args y\n"
                              "extern \"C\" void saxpy(); void r();\n") == TT_OK
               ? 0
               : -1;
}

static int close_saxpy(void **state) {
    (void)state;
    tt__template_free(&saxpy_file);
    return 0;
}

static const tt__operation *operation_of(const tt__problem *p) {
    const tt__operation *op;
    if (*p->text)
        return saxpy_file->operation;
    assert_ok(tt__operation_builtin(&op, p->op));
    return op;
}

static tt__problem own(const char *text) {
    tt__problem p;
    assert_ok(tt__operation_problem(&p, saxpy_file->operation, "saxpy", text));
    return p;
}

typedef struct asking {
    tt_ctx *ctx;
    const tt__snapshot *known;
    tt__lead leads[TT__LEADS_MAX];
    size_t n;
} asking;

static void open_store(asking *a, const char *path) {
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.db_path = path;
    assert_ok(tt_open(&a->ctx, &opts));
    assert_ok(tt__knowledge_read(&a->known, a->ctx));
}

static void close_store(asking *a) {
    tt__knowledge_release(a->ctx, a->known);
    tt_close(&a->ctx);
}

static void ask(asking *a, const tt__gpu *gpu, const tt__problem *p, bool anything, double within) {
    a->n = tt__snapshot_near(a->leads, a->known, operation_of(p), gpu, p, anything, within);
}

/* The distance of the only winner of a new store; -1: it is not looked at. Shipped winners are ignored. */
static double distance(const tt__gpu *there, const tt__problem *measured, const tt__problem *wanted,
                       bool anything, double within) {
    const char *path = in_dir("one.db");
    tt__gpu here = a_gpu("here", 80);
    asking a;
    double found = -1;
    remove(path);
    crown(path, there, measured);
    open_store(&a, path);
    ask(&a, &here, wanted, anything, within);
    for (size_t i = 0; i < a.n; i++)
        if (a.leads[i].layer == TT__LAYER_USER) {
            assert_true(found < 0);
            found = a.leads[i].distance;
            assert_int_equal(a.leads[i].here, strcmp(there->name, "here") == 0);
        }
    close_store(&a);
    return found;
}

static void change(tt__problem *p, const char *const *names, int64_t number) {
    for (size_t i = 0; names[i]; i++)
        tt__problem_set(p, names[i], number);
}

/* Distances as docs/store.md has them; that of the very same is 0. */
static void each_dimension_counts(void **state) {
    (void)state;
    tt__problem p = square(1024), other[12];
    const struct {
        double near, anything; /* -1: not looked at */
    } expected[] = {{1, 1},  {2, 2},  {2, 2},   {1, 1}, {0.25, 0.25}, {0.25, 0.25},
                    {-1, 2}, {-1, 1}, {-1, -1}, {0, 0}, {-1, 1},      {-1, 2}};
    for (size_t i = 0; i < 12; i++)
        other[i] = p;
    change(&other[0], (const char *[]){"rows", "ldd", NULL}, 512);
    change(&other[1], (const char *[]){"cols", "lds", NULL}, 4096);
    change(&other[2], (const char *[]){"batch", NULL}, 4);
    change(&other[3], (const char *[]){"align", NULL}, 4);
    change(&other[4], (const char *[]){"lds", NULL}, 2048);
    change(&other[5], (const char *[]){"ldd", NULL}, 2048);
    change(&other[6], (const char *[]){"elem_size", NULL}, 1);
    other[7].warm = true;
    strcpy(other[8].op, "transpose_in_place");
    other[10].in_graph = true;
    other[11].warm = other[11].in_graph = true;
    tt__gpu here = a_gpu("here", 80);
    for (size_t i = 0; i < 12; i++)
        for (int anything = 0; anything < 2; anything++) {
            double got = distance(&here, &other[i], &p, anything, 64),
                   want = anything ? expected[i].anything : expected[i].near;
            if (fabs(got - want) > 1e-9)
                fail_msg("problem %zu, anything %d: %g, expected %g", i, anything, got, want);
        }
}

static void elsewhere(void **state) {
    (void)state;
    tt__problem p = square(1024);
    tt__gpu other = a_gpu("other", 80), newer = a_gpu("newer", 90);
    assert_true(distance(&other, &p, &p, false, 64) == 1.5);
    assert_true(distance(&other, &p, &p, true, 64) == 1.5);
    assert_true(distance(&newer, &p, &p, false, 64) < 0);
    assert_true(distance(&newer, &p, &p, true, 64) == 2.5);
}

/* What is farther away than asked for is not looked at, larger or smaller. */
static void within(void **state) {
    (void)state;
    tt__gpu here = a_gpu("here", 80);
    tt__problem p = square(1024), small = square(512), large = square(2048);
    for (int i = 0; i < 2; i++) {
        const tt__problem *q = i ? &small : &large;
        assert_true(distance(&here, q, &p, false, 2) == 2);
        assert_true(distance(&here, q, &p, false, 1.99) < 0);
    }
}

/* The same for users' kernels. An unverified winner does not answer a verified problem. Another file with a
 * kernel of that name is ignored. */
static void kernels_of_ones_own(void **state) {
    (void)state;
    enum { AS_IT_IS, UNVERIFIED, OF_ANOTHER_FILE, OF_ANOTHER_OP };
    static const struct {
        const char *measured;
        int as;
        double near, anything;
    } cases[] = {
        {"n=4096", AS_IT_IS, 0, 0},          {"n=1024", AS_IT_IS, 2, 2},
        {"T=f64,n=4096", AS_IT_IS, 1, 1},    {"n=4096,m=128", AS_IT_IS, 1, 1},
        {"n=4096 warm", AS_IT_IS, -1, 1},    {"n=4096", UNVERIFIED, -1, -1},
        {"n=4096", OF_ANOTHER_FILE, -1, -1}, {"n=4096", OF_ANOTHER_OP, -1, -1},
    };
    tt__gpu here = a_gpu("here", 80), newer = a_gpu("newer", 90);
    tt__problem p = own(NULL), unverified = p, small = own("n=1024");
    unverified.unverified = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__problem q = own(cases[i].measured);
        q.unverified = cases[i].as == UNVERIFIED;
        if (cases[i].as == OF_ANOTHER_FILE)
            memset(q.text, 'f', sizeof q.text - 1);
        if (cases[i].as == OF_ANOTHER_OP)
            strcpy(q.op, "daxpy");
        for (int anything = 0; anything < 2; anything++) {
            double got = distance(&here, &q, &p, anything, 64),
                   want = anything ? cases[i].anything : cases[i].near;
            if (fabs(got - want) > 1e-9)
                fail_msg("case %zu, anything %d: %g, expected %g", i, anything, got, want);
        }
    }
    static const struct {
        int64_t measured, wanted;
        double far;
    } flags[] = {{0, 0, 0}, {-1, -1, 0}, {0, -1, 1}, {-1, 0, 1},
                 {0, 1, 1}, {-1, 1, 2},  {8, 0, 4},  {-1, 8, 5}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        tt__problem a = p, b = p;
        tt__problem_set(&a, "n", flags[i].measured);
        tt__problem_set(&b, "n", flags[i].wanted);
        assert_float_equal(distance(&here, &a, &b, false, 64), flags[i].far, 1e-9);
    }
    assert_true(distance(&newer, &p, &p, false, 3) < 0);
    assert_true(distance(&newer, &p, &p, true, 3) == 2.5);
    assert_true(distance(&here, &p, &unverified, false, 0) == 0); /* the other way round it does */
    assert_true(distance(&here, &small, &p, false, 2) == 2);
    assert_true(distance(&here, &small, &p, false, 1.99) < 0);
}

/* Shipped winners for this architecture, operation and element size; with `anything`, all of the
 * operation. */
static void what_is_shipped(void **state) {
    (void)state;
    tt__problem asked[] = {square(3000), square(3000), square(3000)};
    tt__problem_set(&asked[1], "elem_size", 2);
    strcpy(asked[2].op, "transpose_in_place");
    asking a;
    open_store(&a, ":memory:");
    for (size_t k = 0; tt__n_shipped && k < 3; k++)
        for (int anything = 0; anything < 2; anything++) {
            size_t n = 0;
            ask(&a, &tt__shipped[0].gpu, &asked[k], anything, INFINITY);
            for (size_t i = 0; i < tt__n_shipped; i++) {
                const tt__problem *p = &tt__shipped[i].problem;
                n += strcmp(p->op, asked[k].op) == 0 &&
                     (anything || (tt__shipped[i].gpu.cc == tt__shipped[0].gpu.cc && !p->warm &&
                                   tt__problem_elem_size(p) == tt__problem_elem_size(&asked[k])));
            }
            assert_int_equal(a.n, n < TT__LEADS_MAX ? n : TT__LEADS_MAX);
        }
    close_store(&a);
}

/* Nearest first; of those that are as near, the user's before the system's, and the one that came first. */
static void the_order(void **state) {
    (void)state;
    const char *user = in_dir("user.db"), *system = in_dir("system.db");
    tt__gpu here = a_gpu("here", 80);
    for (int is_own = 0; is_own < 2; is_own++) {
        tt__problem p = is_own ? own("n=64") : square(1024), near[] = {p, p}, far = p;
        if (is_own) {
            tt__problem_set(&near[0], "m", 128);
            tt__problem_set(&near[1], "n", 128);
            tt__problem_set(&far, "n", 256);
        } else {
            change(&near[0], (const char *[]){"rows", "ldd", NULL}, 2048);
            change(&near[1], (const char *[]){"cols", "lds", NULL}, 2048);
            change(&far, (const char *[]){"cols", "lds", NULL}, 4096);
        }
        for (int swapped = 0; swapped < 2; swapped++) {
            asking a;
            remove(user);
            remove(system);
            crown(user, &here, &far);
            for (int i = 0; i < 2; i++) {
                crown(system, &here, &near[i ^ swapped]);
                crown(user, &here, &near[i ^ swapped]);
            }
            setenv("TILETUNE_SYSTEM_DB", system, 1);
            open_store(&a, user);
            ask(&a, &here, &p, false, 64);
            assert_int_equal(a.n, 5);
            for (int i = 0; i < 4; i++) {
                tt__winner w;
                assert_true(a.leads[i].distance == 1 && a.leads[i].here);
                assert_int_equal(a.leads[i].layer, i < 2 ? TT__LAYER_USER : TT__LAYER_SYSTEM);
                tt__snapshot_fetch(a.known, &a.leads[i], &w);
                assert_true(tt__problem_same(&w.problem, &near[i % 2 ^ swapped]));
                assert_true(tt__same_gpu(&w.gpu, &here) && tt__same_env(&w.env, &env1));
                assert_string_equal(w.kernel, "k");
                assert_string_equal(w.hash, "abcd");
                assert_string_equal(w.config, "A=1");
                assert_string_equal(w.source, "measured");
            }
            assert_true(a.leads[4].distance == 2);
            close_store(&a);
            unsetenv("TILETUNE_SYSTEM_DB");
        }
    }
}

static tt__problem random_matrix(uint64_t *seed, size_t rows, size_t cols) {
    tt__problem p = square(1);
    int64_t r = 1 + (int64_t)tt__random_below(seed, rows), c = 1 + (int64_t)tt__random_below(seed, cols);
    tt__problem_set(&p, "rows", r);
    tt__problem_set(&p, "ldd", r);
    tt__problem_set(&p, "cols", c);
    tt__problem_set(&p, "lds", c);
    return p;
}

/* Random winners: the nearest are those that a look at all of them finds. */
static void the_nearest_of_many(void **state) {
    (void)state;
    enum { WINNERS = 400, ASKED = 60 };
    static tt__problem measured[WINNERS];
    const char *path = in_dir("many.db");
    tt__gpu here = a_gpu("here", 80), there = a_gpu("there", 80);
    uint64_t seed = 1;
    tt__winner w = a_winner(50);
    int64_t gpu_id[2], run[2], config, id;
    remove(path);
    tt__store *s = must_open(path);
    assert_ok(tt__store_config(s, "k", "transpose", "abcd", "A=1", &config));
    for (int i = 0; i < 2; i++) {
        assert_ok(tt__store_gpu(s, i ? &there : &here, &gpu_id[i]));
        assert_ok(tt__store_run_begin(s, gpu_id[i], &env1, "measured", &run[i]));
    }
    assert_ok(tt__store_begin(s));
    for (size_t i = 0; i < WINNERS; i++) {
        measured[i] = random_matrix(&seed, 5000, 5000);
        assert_ok(tt__store_problem(s, &measured[i], &id));
        assert_ok(tt__store_winner_put(s, run[i % 2], id, config, &w));
    }
    assert_ok(tt__store_commit(s));
    tt__store_close(&s);
    asking a;
    open_store(&a, path);
    for (int k = 0; k < ASKED; k++) {
        tt__problem p = random_matrix(&seed, 20000, 9000);
        double all[WINNERS], best = INFINITY;
        size_t closer = 0;
        bool same;
        ask(&a, &here, &p, false, INFINITY);
        for (size_t i = 0; i < WINNERS; i++) {
            all[i] = tt__operation_distance(operation_of(&p), &p, &measured[i], &same) + (i % 2 ? 1.5 : 0);
            best = all[i] < best ? all[i] : best;
        }
        assert_int_equal(a.n, TT__LEADS_MAX);
        assert_true(a.leads[0].distance == best);
        for (size_t i = 0; i < WINNERS; i++)
            closer += all[i] < a.leads[TT__LEADS_MAX - 1].distance;
        assert_true(closer < TT__LEADS_MAX);
        for (size_t i = 1; i < a.n; i++)
            assert_true(a.leads[i - 1].distance <= a.leads[i].distance);
    }
    close_store(&a);
}

/* A snapshot stays as it is while it is used, and the next one has what was stored since. */
static void a_change_is_seen(void **state) {
    (void)state;
    const char *path = in_dir("changing.db");
    tt__gpu here = a_gpu("here", 80);
    tt__problem p = square(3000), q = square(5000);
    tt__winner w;
    asking a;
    remove(path);
    crown(path, &here, &p);
    open_store(&a, path);
    assert_true(tt__snapshot_winner(a.known, TT__LAYER_USER, &here, &p, &w));
    assert_true(tt__problem_same(&w.problem, &p));
    assert_false(tt__snapshot_winner(a.known, TT__LAYER_USER, &here, &q, &w));
    assert_true(tt__snapshot_layers(a.known, &p) >> TT__LAYER_USER & 1);
    assert_false(tt__snapshot_layers(a.known, &p) >> TT__LAYER_SYSTEM & 1);
    crown(path, &here, &q);
    const tt__snapshot *new = tt__knowledge_now(a.ctx); /* or a second has passed by now */
    tt__knowledge_release(a.ctx, new);
    tt__knowledge_forget(a.ctx);
    new = tt__knowledge_now(a.ctx);
    assert_ptr_not_equal(new, a.known);
    assert_false(tt__snapshot_layers(a.known, &q) >> TT__LAYER_USER & 1);
    assert_true(tt__snapshot_winner(new, TT__LAYER_USER, &here, &q, &w));
    tt__knowledge_release(a.ctx, new);
    close_store(&a);
}

/* A row that cannot be read leaves the others. */
static void a_damaged_problem_is_left_out(void **state) {
    (void)state;
    const char *path = in_dir("damaged.db");
    tt__gpu here = a_gpu("here", 80);
    tt__problem p = square(3000), q = square(5000);
    tt__winner w;
    asking a;
    remove(path);
    crown(path, &here, &p);
    crown(path, &here, &q);
    static const char *const keys[] = {"rows", "rows=x", "=5", "rows=-1", "rows=1,,cols=2"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "UPDATE problem SET key = '%s' WHERE id = 1", keys[i]);
        raw_sql(path, sql);
        open_store(&a, path);
        assert_false(tt__snapshot_winner(a.known, TT__LAYER_USER, &here, &p, &w));
        assert_true(tt__snapshot_winner(a.known, TT__LAYER_USER, &here, &q, &w));
        close_store(&a);
    }
}

/* An answer stands until the stores change, and only for its GPU and problem. */
static void answers_are_noted(void **state) {
    (void)state;
    tt__gpu here = a_gpu("here", 80), other = a_gpu("other", 80);
    tt__problem p = square(3000), q = square(3001);
    tt_choice said = TT_INIT(tt_choice), c;
    uint64_t number;
    asking a;
    open_store(&a, ":memory:");
    strcpy(said.kernel, "k");
    assert_false(tt__knowledge_noted(a.ctx, &here, &p, &c, &number));
    tt__knowledge_note(a.ctx, &here, &p, &said, number);
    assert_false(tt__knowledge_noted(a.ctx, &here, &p, &c, &number)); /* only asked for once */
    tt__knowledge_note(a.ctx, &here, &p, &said, number);
    assert_true(tt__knowledge_noted(a.ctx, &here, &p, &c, &number));
    assert_string_equal(c.kernel, "k");
    assert_false(tt__knowledge_noted(a.ctx, &other, &p, &c, &number));
    assert_false(tt__knowledge_noted(a.ctx, &here, &q, &c, &number));
    tt__knowledge_forget(a.ctx);
    assert_false(tt__knowledge_noted(a.ctx, &here, &p, &c, &number));
    close_store(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_dimension_counts), TEST(elsewhere),        TEST(within),
        TEST(kernels_of_ones_own),   TEST(what_is_shipped),  TEST(the_order),
        TEST(the_nearest_of_many),   TEST(a_change_is_seen), TEST(a_damaged_problem_is_left_out),
        TEST(answers_are_noted),
    };
    return cmocka_run_group_tests(tests, open_saxpy, close_saxpy);
}

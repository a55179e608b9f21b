/*
 * The model's view of launches, and the Gaussian process over it.
 */
#include <math.h>

#include "space_fixture.h"
#include "tuner/strategy/gp.h"

static const char tiles[] = "kernel tiles\nop transpose\nparam W 16 32 64\nparam H 16 32 128\nparam PAD 0 "
                            "1\nparam ORDER 0 1\nparam VL 4 8\n"
                            "block 8, 32\ngrid iif(ORDER = 0, ceil_div(cols, W), ceil_div(rows, H)), "
                            "iif(ORDER = 0, ceil_div(rows, H), "
                            "ceil_div(cols, W))\nshared W * (H + PAD) * elem_size\nargs dst, src\ndefault "
                            "W=16 H=32 PAD=1 ORDER=0 VL=4\n";

/* Tiles and block order are read from launches, whatever the parameters' names are. */
static void test_tiles_are_seen(void **state) {
    (void)state;
    field f;
    field_open(&f, tiles, NULL);
    for (size_t i = 0; i < f.space.n; i++) {
        const tt__geometry *g = &f.model.geometry[i];
        assert_true(g->read_run == 4 * field_value(&f, i, "W"));
        assert_true(g->write_run == 4 * field_value(&f, i, "H"));
        assert_int_equal(g->down, field_value(&f, i, "ORDER") ? 1 : -1);
        assert_true(g->threads == 256);
        assert_true(g->thread_bytes == 4.0 * field_value(&f, i, "W") * field_value(&f, i, "H") / 256);
        assert_int_equal(g->unpadded, field_value(&f, i, "PAD") == 0);
        assert_true(g->read_access == field_value(&f, i, "VL"));
        assert_true(g->write_access == 4);
        /* Of two cache lines, and of one again. */
        double w = field_value(&f, i, "W"), h = field_value(&f, i, "H");
        assert_true(f.model.costs[i][TT__COST_READ_RUN] == (w == 16 ? 3 : w == 32 ? 1 : 0));
        assert_true(f.model.costs[i][TT__COST_WRITE_RUN] == (h == 16 ? 3 : h == 32 ? 1 : 0));
    }
    field_close(&f);
}

/* Bytes of an access: for VL, VS and V at least one element, for VEC exactly so many. A parameter or a
 * derived value has the name. WIDE_LOAD and WIDE_STORE come after the parameters, and so correct them. */
static void test_accesses(void **state) {
    (void)state;
    field f;
    field_open(
        &f,
        "kernel vectors\nop transpose\nparam VL 2 4 8\nparam VS 2 16\nlet WIDE_LOAD 2 * VL\n"
        "let WIDE_STORE iif(VL = 8, 8, VS)\nblock 32\ngrid rows\nargs dst, src\ndefault VL=4 VS=16\n",
        "kernel bytes\nop transpose\nparam WORDS 1 2\nlet VEC 2 * WORDS\nderived KEEP WORDS > 1\nblock 32\n"
        "grid rows\nargs dst, src\ndefault WORDS=1\n");
    for (size_t i = 0; i < f.space.n; i++) {
        const tt__geometry *g = &f.model.geometry[i];
        bool vectors = f.space.items[i].t == f.t[0];
        int words = field_value(&f, i, "WORDS"), vl = field_value(&f, i, "VL"), vs = field_value(&f, i, "VS");
        if (vl == 8)
            vs = 8;
        assert_true(g->read_access == (vectors ? 2 * vl : 2 * words));
        assert_true(g->write_access == (vectors ? vs < 4 ? 4 : vs : 2 * words));
        assert_int_equal(g->keeps, !vectors && words > 1);
    }
    field_close(&f);
}

/* One long list of blocks, and a template that cannot say what it does on a matrix of one row. */
static void test_odd_templates(void **state) {
    (void)state;
    field f;
    field_open(&f,
               "kernel list\nop transpose\nparam W 16 32 64\nblock 256\n"
               "grid ceil_div(cols, W) * ceil_div(rows, 32)\nargs dst, src\ndefault W=16\n",
               "kernel large\nop transpose\nparam W 16 32\nwhere rows >= 1000\nblock 256\ngrid rows / "
               "W\nargs dst, src\n"
               "default W=16\n");
    for (size_t i = 0; i < f.space.n; i++) {
        const tt__geometry *g = &f.model.geometry[i];
        bool list = f.space.items[i].t == f.t[0];
        assert_true(g->read_run == (list ? 4 * field_value(&f, i, "W") : 0));
        assert_true(g->write_run == (list ? 128 : 0));
        assert_true(isfinite(f.model.log_time[i]));
    }
    field_close(&f);
}

static void test_cheaper_is_better(void **state) {
    (void)state;
    field f;
    double best = INFINITY, worst = -INFINITY;
    size_t at_best = 0, at_worst = 0;
    field_open(&f, tiles, NULL);
    for (size_t i = 0; i < f.space.n; i++) {
        if (f.model.log_time[i] < best)
            best = f.model.log_time[at_best = i];
        if (f.model.log_time[i] > worst)
            worst = f.model.log_time[at_worst = i];
    }
    assert_int_equal(field_value(&f, at_best, "W"), 64); /* 256 bytes in a row */
    assert_int_equal(field_value(&f, at_best, "PAD"), 1);
    assert_int_equal(field_value(&f, at_best, "ORDER"), 1);
    assert_int_equal(field_value(&f, at_worst, "W"), 16);
    assert_int_equal(field_value(&f, at_worst, "PAD"), 0);
    field_close(&f);
}

/* Which coordinates are words, and which have distances. */
static void test_coordinates(void **state) {
    (void)state;
    static const char text[] =
        "kernel words\nop transpose\nparam W 16 32 64\nparam ORDER 0 1 2 3\nparam UNROLL 0 1 2 4 8\n"
        "param MODE plain other\nparam V 1 2\nblock 256\ngrid rows\nargs dst, src\n"
        "default W=16 ORDER=0 UNROLL=0 MODE=plain V=1\n";
    static const bool words[] = {true,  false, false, false, false, /* from the launch, the kernel first */
                                 false, true,  false, true,  false};
    field f;
    field_open(&f, text, NULL);
    assert_int_equal(f.model.n_coords, sizeof words / sizeof *words);
    for (size_t k = 0; k < f.model.n_coords; k++)
        assert_int_equal(f.model.words[k], words[k]);
    field_close(&f);
}

/* If the arrays exceed the cache, reads are kept and writes are not. If they fit, it is the reverse. */
static void test_cache_hints(void **state) {
    (void)state;
    static const char text[] =
        "kernel hints\nop transpose\nparam STREAM 0 1 2\nparam KEEP 0 1\nblock 256\ngrid rows\n"
        "args dst, src\ndefault STREAM=0 KEEP=0\n";
    static const struct {
        int64_t l2_bytes;
        double none, streams, keeps;
    } cases[] = {{INT64_C(1) << 25, 0.7, 1, 0}, /* 4096 x 4096 of 4 bytes, read and written: 1 << 27 */
                 {INT64_C(1) << 26, 0, 0, 0},   /* either, not both */
                 {INT64_C(1) << 27, 1, 0, 1}};
    field f;
    field_open(&f, text, NULL);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tt__gpu gpu = field_gpu;
        tt__cost_model m;
        gpu.l2_bytes = cases[k].l2_bytes;
        assert_ok(tt__cost_model_open(&m, &f.space, &gpu, &f.problem, NULL));
        for (size_t i = 0; i < f.space.n; i++) {
            int stream = field_value(&f, i, "STREAM");
            bool keeps = stream == 2 || field_value(&f, i, "KEEP");
            double cost = stream == 1 ? cases[k].streams : keeps ? cases[k].keeps : cases[k].none;
            assert_true(m.costs[i][TT__COST_CACHE_HINT] == cost);
        }
        tt__cost_model_close(&m);
    }
    field_close(&f);
    field_open(&f, tiles, NULL); /* so it is with the order of blocks: down is better, where it matters */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tt__gpu gpu = field_gpu;
        tt__cost_model m;
        gpu.l2_bytes = cases[k].l2_bytes;
        assert_ok(tt__cost_model_open(&m, &f.space, &gpu, &f.problem, NULL));
        for (size_t i = 0; i < f.space.n; i++)
            assert_true(m.costs[i][TT__COST_ORDER] == (k == 0 && field_value(&f, i, "ORDER") == 0));
        tt__cost_model_close(&m);
    }
    field_close(&f);
}

static void test_gp(void **state) {
    (void)state;
    field f;
    tt__gp *gp;
    const double *mean, *deviation;
    field_open(&f, tiles, NULL);
    assert_ok(tt__gp_open(&gp, &tt__gp_sum, &f.model, NULL));
    assert_ok(tt__gp_add(gp, 3));
    tt__gp_set(gp, 0, 0.5);
    tt__gp_predict(gp, &mean, &deviation);
    assert_true(fabs(mean[3] - 0.5) < 0.01);
    assert_true(fabs(mean[20] - 0.5) < 0.05); /* most of it is what all share */
    assert_true(deviation[3] < 0.02 && deviation[20] > 2 * deviation[3]);

    /* One that is under way makes sure, but tells nothing. */
    double before = mean[7], unsure = deviation[20];
    assert_ok(tt__gp_add(gp, 20));
    tt__gp_predict(gp, &mean, &deviation);
    assert_true(mean[7] == before && deviation[20] < unsure / 2);
    tt__gp_set(gp, 1, 0.8);
    tt__gp_predict(gp, &mean, &deviation);
    assert_true(fabs(mean[20] - 0.8) < 0.02 && fabs(mean[3] - 0.5) < 0.02);
    assert_int_equal(gp->n_rows, 2);
    assert_int_equal(gp->rows[1], 20);

    /* The same trial twice only averages. */
    assert_ok(tt__gp_add(gp, 20));
    tt__gp_set(gp, 2, 0.9);
    tt__gp_predict(gp, &mean, &deviation);
    assert_true(fabs(mean[20] - 0.85) < 0.02);
    tt__gp_close(gp);
    field_close(&f);
}

/* A fit finds out that times depend on one coordinate only. */
static void test_gp_fit(void **state) {
    (void)state;
    field f;
    tt__gp *gp;
    const double *mean, *deviation;
    double error[2] = {0};
    field_open(&f, tiles, NULL);
    assert_ok(tt__gp_open(&gp, &tt__gp_product, &f.model, NULL));
    for (size_t r = 0; r < 24; r++) {
        size_t i = r * 7 % f.space.n;
        assert_ok(tt__gp_add(gp, i));
        tt__gp_set(gp, r, field_value(&f, i, "W") / 32.0);
    }
    for (int fitted = 0; fitted < 2; fitted++) {
        if (fitted)
            assert_ok(tt__gp_fit(gp));
        tt__gp_predict(gp, &mean, &deviation);
        for (size_t i = 0; i < f.space.n; i++)
            error[fitted] += fabs(mean[i] - field_value(&f, i, "W") / 32.0);
    }
    if (error[1] >= error[0] / 2)
        fail_msg("error %g before the fit, %g after it", error[0], error[1]);
    tt__gp_close(gp);
    field_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_are_seen),
        cmocka_unit_test(test_odd_templates),
        cmocka_unit_test(test_cheaper_is_better),
        cmocka_unit_test(test_coordinates),
        cmocka_unit_test(test_cache_hints),
        cmocka_unit_test(test_accesses),
        cmocka_unit_test(test_gp),
        cmocka_unit_test(test_gp_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

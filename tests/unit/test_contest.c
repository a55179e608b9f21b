/*
 * The choice of variants in bench-peers, and its results, with invented times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/peers.h"

enum { SCREEN, PICK, FINAL, STAGES, FAKES_MAX = 8 };

/* A variant: its times in us, by stage. */
typedef struct fake {
    float us[STAGES];
    int slow_of_8;                     /* of so many rounds of eight it takes 4 % longer */
    bool is_wrong, fails, fails_again; /* again: when it is loaded once more */
    int lined_up[STAGES], released, reloaded;
} fake;

static struct {
    fake of[BENCH_PEERS][FAKES_MAX];
    size_t n[BENCH_PEERS];
    int rounds[STAGES], entrants, n_checked, n_gated, n_final; /* n_final: rounds */
    bool ours_in_place, others_in_place;
    bool arrays_warm;
    int n_warm; /* calls of bench_rounds */
    int64_t l2_bytes;
    bench_result cold;
    char detail[16], note[BENCH_NOTE_MAX];
    bench_peer peers[BENCH_PEERS];
} now;

const char *const bench_regime_names[BENCH_REGIMES] = {"cold", "warm", "graph-cold", "graph-warm"};

static tt_status launch(const void *self, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    (void)self, (void)dst, (void)src, (void)stream;
    return TT_OK;
}

static void release(void *self) {
    ((fake *)self)->released++;
}

static tt_status reload(void *self) {
    fake *f = self;
    f->reloaded++;
    return f->fails_again ? tt__fail(TT_E_NO_MEMORY, "refused") : TT_OK;
}

static tt_status open_fakes(bench_peer *peer, bench *b, const bench_case *c) {
    (void)b, (void)c;
    peer->variants = calloc(FAKES_MAX, sizeof *peer->variants);
    for (peer->n = 0; peer->n < now.n[peer->id]; peer->n++) {
        bench_variant *v = &peer->variants[peer->n];
        *v = (bench_variant){.launch = launch, .self = &now.of[peer->id][peer->n], .release = release};
        v->detail[0] = (char)('a' + peer->n);
        if (peer->id != BENCH_MEMCPY)
            v->reload = reload;
    }
    return peer->n ? TT_OK : tt__fail(TT_E_UNSUPPORTED, "nobody");
}

const bench_peer_kind bench_peer_kinds[BENCH_PEERS] = {
    {"ours", BENCH_IS_TRANSPOSE, open_fakes}, {"memcpy", BENCH_IS_COPY, open_fakes},
    {"copy", BENCH_IS_COPY, open_fakes},      {"mirrored", BENCH_IS_PERMUTATION, open_fakes},
    {"geam", BENCH_IS_TRANSPOSE, open_fakes}, {"cutensor", BENCH_IS_TRANSPOSE, open_fakes}};

void bench_gate_again(bench_timer *t) {
    (void)t;
    now.n_gated++;
}

tt_status bench_rounds(bench_timer *t, const bench_variant *const *variants, const bool *in_place, int n,
                       int rounds, bench_regime regime, float *us, int *failed) {
    (void)t;
    assert_int_equal(bench_is_warm(regime), now.arrays_warm);
    now.n_warm += now.arrays_warm;
    int stage = rounds == 3 ? SCREEN : rounds == 9 || rounds == 25 ? PICK : FINAL;
    now.rounds[stage] = rounds;
    *failed = -1;
    for (int i = 0; i < n; i++) {
        fake *f = variants[i]->self;
        f->lined_up[stage]++;
        if (f->fails && stage == FINAL) {
            *failed = i;
            tt__fail(TT_E_CUDA, "refused");
            return TT_OK;
        }
        bool is_ours = f >= now.of[BENCH_OURS] && f < now.of[BENCH_OURS + 1];
        *(is_ours ? &now.ours_in_place : &now.others_in_place) |= in_place[i];
        for (int r = 0; r < rounds; r++)
            us[i * rounds + r] = f->us[stage] * ((now.n_final + r) % 8 < f->slow_of_8 ? 1.04f : 1);
    }
    now.entrants = n;
    now.n_final += stage == FINAL ? rounds : 0;
    return TT_OK;
}

tt_status bench_check(bench *b, const bench_case *c, const bench_variant *v, bench_check_kind kind,
                      CUdeviceptr dst, CUdeviceptr src) {
    (void)b, (void)c, (void)kind, (void)dst, (void)src;
    now.n_checked++;
    return ((fake *)v->self)->is_wrong ? tt__fail(TT_E_INTERNAL, "wrong") : TT_OK;
}

void bench_report_case(bench_report *r, const bench *b, const bench_case *c, const bench_contest *contests,
                       const bench_result *results, const bench_clocks *clocks, const char *note) {
    (void)r, (void)b, (void)c, (void)clocks;
    assert_string_equal(note, "");
    now.cold = results[BENCH_COLD];
    if (now.cold.peers[BENCH_COPY].in)
        tt__copy(now.detail, sizeof now.detail, now.cold.peers[BENCH_COPY].detail);
    memcpy(now.peers, contests[0].peers, sizeof now.peers);
}

void bench_peer_close(bench_peer *peer) {
    free(peer->variants);
}

tt_status bench_timer_case(bench_timer *t, const bench_case *c) {
    (void)t;
    now.arrays_warm = c->public.warm;
    return TT_OK;
}
void bench_timer_end_case(bench_timer *t) {
    (void)t;
}
void bench_timer_memory(const bench_timer *t, CUdeviceptr *base, size_t *bytes, CUdeviceptr *dst,
                        CUdeviceptr *src) {
    (void)t;
    *base = *bytes = *dst = *src = 0;
}
int bench_launches(bench_regime regime) {
    return regime == BENCH_COLD || regime == BENCH_WARM;
}
tt_status bench_fill(bench *b, CUdeviceptr ptr, size_t bytes) {
    (void)b, (void)ptr, (void)bytes;
    return TT_OK;
}
bench_clocks bench_clocks_now(const bench *b) {
    (void)b;
    return (bench_clocks){0};
}

static CUresult synchronize(void) {
    return CUDA_SUCCESS;
}

/* Ours takes 10 us, the driver's copy 9; of six tuned copies d is the fastest at last, e and f never were. */
static void set_up(void) {
    static const float copies[][STAGES] = {{4, 8.2f, 9}, {5, 8, 8.5f}, {6, 8.1f, 9.5f},
                                           {7, 8.3f, 8}, {8, 1, 1},    {9, 1, 1}};
    memset(&now, 0, sizeof now);
    now.l2_bytes = 1 << 10;
    now.of[BENCH_OURS][0] = (fake){.us = {10, 10, 10}};
    now.of[BENCH_MEMCPY][0] = (fake){.us = {9, 9, 9}};
    now.n[BENCH_OURS] = now.n[BENCH_MEMCPY] = 1;
    for (int i = 0; i < 6; i++)
        memcpy(now.of[BENCH_COPY][i].us, copies[i], sizeof copies[i]);
    now.n[BENCH_COPY] = 6;
    for (int i = 0; i < 3; i++)
        now.of[BENCH_MIRRORED][i] = (fake){.us = {(float)(8 - i), (float)(12 + i), (float)(12 + i)}};
    now.n[BENCH_MIRRORED] = 3;
    now.of[BENCH_MIRRORED][1].us[PICK] = 11.99f; /* in most rounds, but not on the average */
    now.of[BENCH_MIRRORED][1].slow_of_8 = now.of[BENCH_COPY][3].slow_of_8 = 3;
}

/* A square, cold alone if the cache is small. */
static void run(int side, bool in_place) {
    static const tt__driver driver = {.cuCtxSynchronize = synchronize};
    bench_options options = {0};
    bench b = {.options = &options, .cu = &driver, .gpu = {.l2_bytes = now.l2_bytes}};
    bench_case c = {.name = "case", .public = TT_INIT(tt_problem)};
    bench_report report = {0};
    c.public.rows = c.public.cols = side;
    c.public.elem_size = 4;
    c.public.in_place = in_place;
    assert_int_equal(bench_matrix(&c.problem, &c.public), TT_OK);
    assert_true(bench_run_case(&b, &c, &report));
}

static void expect_ratio(const tt__ratio *r, double ratio) {
    assert_true(r->median > ratio - 1e-6 && r->median < ratio + 1e-6);
}

/* Four copies stay in the rounds that count, and the fastest there is the yardstick, the driver's beside it.
 */
static void best_of_four_copies(void **state) {
    (void)state;
    set_up();
    run(1024, false);
    const bench_measured *m = now.cold.peers;
    assert_int_equal(now.entrants, 1 + 1 + 4 + 1);
    assert_int_equal(now.cold.rounds, 127);
    assert_int_equal(now.rounds[PICK], 25);
    assert_string_equal(now.detail, "d");
    assert_true(m[BENCH_COPY].us == 8 && m[BENCH_MIRRORED].us == 12);
    expect_ratio(&m[BENCH_OURS].ratio, 1);
    expect_ratio(&m[BENCH_COPY].ratio, 0.8);
    expect_ratio(&m[BENCH_MEMCPY].ratio, 0.9);
    expect_ratio(&m[BENCH_MEMCPY].over_copy, 9.0 / 8);
    assert_true(m[BENCH_COPY].over_copy.median == 0 && !m[BENCH_GEAM].in && !m[BENCH_CUTENSOR].in);
    assert_string_equal(now.peers[BENCH_GEAM].note, "nobody");
    for (int i = 0; i < 6; i++) { /* dropped variants are freed */
        assert_int_equal(now.of[BENCH_COPY][i].lined_up[FINAL] > 0, i < 4);
        assert_int_equal(now.of[BENCH_COPY][i].released, i >= 4);
    }
    assert_true(now.of[BENCH_MIRRORED][0].lined_up[FINAL] > 0); /* chosen by more rounds than the first */
    assert_int_equal(now.of[BENCH_MIRRORED][1].released + now.of[BENCH_MIRRORED][2].released, 2);
    assert_int_equal(now.n_checked, 1 + 1 + 4 + 1);
}

static void large_and_in_place(void **state) {
    (void)state;
    set_up();
    run(8192, true);
    assert_int_equal(now.cold.rounds, 31);
    assert_int_equal(now.rounds[PICK], 9);
    assert_true(now.ours_in_place && !now.others_in_place);
    set_up();
    run(8191, false);
    assert_int_equal(now.cold.rounds, 127);
    assert_false(now.ours_in_place);
}

/* Other variants of a peer stay. After three wrong ones, no more are tried. */
static void wrong_ones_are_out(void **state) {
    (void)state;
    set_up();
    now.of[BENCH_COPY][3].is_wrong = now.of[BENCH_MIRRORED][0].is_wrong = true;
    run(1024, false);
    assert_string_equal(now.detail, "e"); /* the next by the first rounds took its place */
    assert_int_equal(now.entrants, 1 + 1 + 4 + 1);
    assert_int_equal(now.of[BENCH_COPY][3].lined_up[FINAL], 0);
    assert_true(now.of[BENCH_MIRRORED][1].lined_up[FINAL] > 0);
    assert_true(!now.peers[BENCH_COPY].broken && now.peers[BENCH_COPY].in);
    assert_string_equal(now.peers[BENCH_COPY].note, "d: wrong");
    set_up();
    for (int i = 0; i < 3; i++)
        now.of[BENCH_COPY][i + 3].is_wrong = now.of[BENCH_MIRRORED][i].is_wrong = true;
    run(1024, false);
    assert_string_equal(now.detail, "b");
    assert_int_equal(now.entrants, 1 + 1 + 3);
    assert_true(now.peers[BENCH_MIRRORED].broken && !now.peers[BENCH_MIRRORED].in);
    set_up();
    for (int i = 0; i < 3; i++)
        now.of[BENCH_COPY][i].is_wrong = true;
    run(1024, false);
    assert_int_equal(now.entrants, 1 + 1 + 1);
    assert_true(now.peers[BENCH_COPY].broken && !now.peers[BENCH_COPY].in);
    assert_int_equal(now.n_checked, 1 + 1 + 3 + 1);
}

/* Out of the rounds goes a peer with all its variants; the others are measured without it. */
static void refused_ones_are_out(void **state) {
    (void)state;
    set_up();
    now.of[BENCH_COPY][2].fails = true;
    run(1024, false);
    assert_int_equal(now.entrants, 3);
    assert_true(!now.cold.peers[BENCH_COPY].in && now.cold.peers[BENCH_MEMCPY].in);
    expect_ratio(&now.cold.peers[BENCH_MIRRORED].ratio, 1.2);
    assert_true(now.cold.peers[BENCH_MEMCPY].over_copy.median == 0);
    set_up();
    now.of[BENCH_COPY][2].fails_again = true;
    run(1024, false);
    assert_int_equal(now.of[BENCH_COPY][2].reloaded, 1);
    assert_int_equal(now.entrants, 3);
    assert_true(!now.cold.peers[BENCH_COPY].in && now.cold.peers[BENCH_MEMCPY].in);
}

/* Kernels of short problems are loaded 21 times, and each has all of its rounds; others stay where they are.
 */
static void short_ones_are_loaded_again(void **state) {
    static const struct { int side, loads; } cases[] = {{2048, 21}, {2290, 1}};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const int loads = cases[k].loads;
        set_up();
        run(cases[k].side, false);
        assert_int_equal(now.cold.rounds, 127);
        assert_int_equal(now.n_final, 127);
        assert_int_equal(now.n_gated, 2 + 2 + 1); /* two rankings of two peers, and once for all loads */
        for (int i = 0; i < 6; i++) {
            assert_int_equal(now.of[BENCH_COPY][i].lined_up[FINAL], i < 4 ? loads : 0);
            assert_int_equal(now.of[BENCH_COPY][i].reloaded, i < 4 ? loads - 1 : 0);
        }
        assert_int_equal(now.of[BENCH_OURS][0].reloaded, loads - 1);
        assert_int_equal(now.of[BENCH_MEMCPY][0].lined_up[FINAL], loads);
        expect_ratio(&now.cold.peers[BENCH_MEMCPY].over_copy, 9.0 / 8);
    }
}

/* Warm regimes are measured with arrays of a warm case. */
static void warm_has_arrays_of_its_own(void **state) {
    (void)state;
    set_up();
    run(1024, false);
    assert_int_equal(now.n_warm, 0);
    set_up();
    now.l2_bytes = 1 << 30;
    run(1024, false);
    assert_true(now.n_warm > 0 && now.arrays_warm && now.cold.peers[BENCH_OURS].in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_of_four_copies),         cmocka_unit_test(large_and_in_place),
        cmocka_unit_test(wrong_ones_are_out),          cmocka_unit_test(refused_ones_are_out),
        cmocka_unit_test(short_ones_are_loaded_again), cmocka_unit_test(warm_has_arrays_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* One case: every peer enters with its fastest variant that is correct, and all are measured in the same
 * rounds. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/peers.h"

enum {
    ROUNDS_SMALL = 127,
    ROUNDS_LARGE = 31,
    ROUNDS_GRAPH = 21,
    ROUNDS_SCREEN = 3,
    ROUNDS_PICK = 25,
    ROUNDS_PICK_LARGE = 9,
    PICKED = 4,       /* variants that are measured again to choose the one */
    SHORT_LOADS = 21, /* where the code of a short kernel lies is worth some percent in a graph */
    MAY_BE_WRONG = 3  /* variants that may be wrong before the peer is out */
};
/* Read and written. Launches up to `large_bytes` differ by several percent from one to the next. */
static const double large_bytes = 512 << 20, short_bytes = 40 << 20;

static bool is_large(const bench_case *c) {
    return c->problem.moved_bytes >= large_bytes;
}

static bool is_short(const bench_case *c) {
    return c->problem.moved_bytes <= short_bytes;
}

static void put_note(bench_peer *peer, const char *text) {
    peer->in = false;
    tt__copy(peer->note, sizeof peer->note, text);
}

static bool lost(const bench *b) {
    return b->cu->cuCtxSynchronize() != CUDA_SUCCESS;
}

/* ---- Choosing a peer's variant ------------------------------------------------------------------------- */

typedef struct timed_variant {
    double us;
    bench_variant variant;
} timed_variant;

static int by_time(const void *a, const void *b) {
    double x = ((const timed_variant *)a)->us, y = ((const timed_variant *)b)->us;
    return (x > y) - (x < y);
}

static void remove_variant(bench_peer *peer, size_t at) {
    if (peer->variants[at].release)
        peer->variants[at].release(peer->variants[at].self);
    peer->n--;
    for (size_t i = at; i < peer->n; i++)
        peer->variants[i] = peer->variants[i + 1];
}

/* Sorts the first n variants by their times over so many rounds: by the mean of the middle half, because
 * short times differ by less than a tick of the clock. One that fails is removed. */
static tt_status rank(bench *b, bench_peer *peer, size_t n, int rounds, bench_regime regime) {
    static float us[BENCH_VARIANTS_MAX * ROUNDS_PICK];
    static timed_variant timed[BENCH_VARIANTS_MAX];
    const bench_variant *variants[BENCH_VARIANTS_MAX];
    const bool in_place[BENCH_VARIANTS_MAX] = {false};
    int failed = 0;
    bench_gate_again(b->timer);
    while (n > 0) {
        for (size_t i = 0; i < n; i++)
            variants[i] = &peer->variants[i];
        TT_TRY(bench_rounds(b->timer, variants, in_place, (int)n, rounds, regime, us, &failed));
        if (failed < 0)
            break;
        put_note(peer, tt_last_error());
        peer->broken = true; /* unless another variant works */
        remove_variant(peer, (size_t)failed);
        n--;
    }
    for (size_t i = 0; i < n; i++)
        timed[i] = (timed_variant){tt__midmean(&us[i * (size_t)rounds], (size_t)rounds), peer->variants[i]};
    qsort(timed, n, sizeof *timed, by_time);
    for (size_t i = 0; i < n; i++)
        peer->variants[i] = timed[i].variant;
    return TT_OK;
}

/* The yardstick is to be the fastest there is, whatever runs before it: the best few stay until the end. */
static size_t n_measured(const bench_peer *peer) {
    size_t most = peer->id == BENCH_COPY ? PICKED : 1;
    return peer->n < most ? peer->n : most;
}

/* Makes the fastest correct variants the first ones, and drops the others. */
static tt_status settle(bench *b, const bench_case *c, bench_peer *peer) {
    bench_regime regime = c->public.warm ? BENCH_WARM : BENCH_COLD;
    CUdeviceptr base, dst, src;
    size_t bytes;
    bench_timer_memory(b->timer, &base, &bytes, &dst, &src);
    if (peer->n > 1)
        TT_TRY(rank(b, peer, peer->n, ROUNDS_SCREEN, regime));
    if (peer->n > 1)
        TT_TRY(rank(b, peer, peer->n < PICKED ? peer->n : PICKED,
                    is_large(c) ? ROUNDS_PICK_LARGE : ROUNDS_PICK, regime));
    if (peer->n == 0)
        return TT_OK;
    size_t right = 0;
    for (int wrong = 0; right < n_measured(peer) && wrong < MAY_BE_WRONG;) {
        bench_variant *variant = &peer->variants[right];
        if (bench_check(b, c, variant, bench_peer_kinds[peer->id].check, dst, src) == TT_OK) {
            right++;
            continue;
        }
        char note[BENCH_NOTE_MAX];
        snprintf(note, sizeof note, "%.80s: %.150s", variant->detail, tt_last_error());
        put_note(peer, note);
        if (lost(b))
            return TT_E_CUDA;
        remove_variant(peer, right);
        wrong++;
    }
    while (peer->n > right) /* the others were not checked */
        remove_variant(peer, peer->n - 1);
    peer->in = right > 0;
    peer->broken = !peer->in;
    return TT_OK;
}

static tt_status enter(bench *b, const bench_case *c, bench_peer *peer, bench_peer_id id) {
    *peer = (bench_peer){.id = id};
    if (b->options->without[id]) {
        put_note(peer, "left out on request");
        return TT_OK;
    }
    if (bench_peer_kinds[id].open(peer, b, c) != TT_OK) {
        put_note(peer, tt_last_error());
        return lost(b) ? TT_E_CUDA : TT_OK;
    }
    return settle(b, c, peer);
}

/* ---- One case ------------------------------------------------------------------------------------------ */

bool bench_wanted(const bench *b, const bench_case *c, bench_regime regime) {
    bool random = strcmp(c->group, "random") == 0;
    switch (regime) {
    case BENCH_COLD:
        return true;
    case BENCH_WARM: /* beyond that nothing is left of the last launch */
        return !random && c->problem.moved_bytes <= 4.0 * (double)b->gpu.l2_bytes;
    default:
        return !random && is_short(c) && bench_launches(regime) > 0;
    }
}

bool bench_wanted_warm(const bench *b, const bench_case *c) {
    return bench_wanted(b, c, BENCH_WARM) || bench_wanted(b, c, BENCH_GRAPH_WARM);
}

tt_status bench_warm_case(bench_case *out, const bench_case *c) {
    *out = *c;
    out->public.warm = 1;
    return bench_matrix(&out->problem, &out->public);
}

static int rounds_for(const bench *b, const bench_case *c, bench_regime regime) {
    if (b->options->rounds)
        return b->options->rounds;
    if (regime == BENCH_GRAPH_COLD || regime == BENCH_GRAPH_WARM)
        return ROUNDS_GRAPH;
    return is_large(c) ? ROUNDS_LARGE : ROUNDS_SMALL;
}

enum { ENTRANTS_MAX = BENCH_PEERS + PICKED };

/* A measured variant of a peer. */
typedef struct entrant {
    int peer;
    const bench_variant *variant;
} entrant;

static int line_up(entrant *e, const bench_peer *peers, const bool *out) {
    int n = 0;
    for (int i = 0; i < BENCH_PEERS; i++)
        for (size_t k = 0; peers[i].in && !out[i] && k < n_measured(&peers[i]); k++)
            e[n++] = (entrant){i, &peers[i].variants[k]};
    return n;
}

/* Fills in results of the rounds: the fastest variant of each peer. */
static void compare(const entrant *e, int n, int rounds, const float *us, bench_result *result) {
    const float *of[BENCH_PEERS] = {NULL};
    for (int i = 0; i < n; i++) {
        const float *mine = &us[i * rounds], **best = &of[e[i].peer];
        if (*best && tt__midmean(*best, (size_t)rounds) <= tt__midmean(mine, (size_t)rounds))
            continue;
        *best = mine;
        result->peers[e[i].peer] = (bench_measured){
            .in = true, .us = tt__median(mine, (size_t)rounds), .detail = e[i].variant->detail};
    }
    for (int i = 0; i < BENCH_PEERS; i++) {
        bench_measured *m = &result->peers[i];
        if (m->in && of[BENCH_OURS])
            m->ratio = tt__paired_ratio(of[i], of[BENCH_OURS], (size_t)rounds);
        if (m->in && i == BENCH_MEMCPY && of[BENCH_COPY])
            m->over_copy = tt__paired_ratio(of[i], of[BENCH_COPY], (size_t)rounds);
    }
}

static int reload(const entrant *e, int n) {
    for (int i = 0; i < n; i++)
        if (e[i].variant->reload && e[i].variant->reload(e[i].variant->self) != TT_OK)
            return i;
    return -1;
}

/* Runs rounds with n entrants. A short problem reloads its kernels several times. *failed as in
 * bench_rounds. */
static tt_status run_rounds(bench *b, const bench_case *c, const entrant *e, int n, int rounds,
                            bench_regime regime, float *us, int *failed) {
    static float part[ENTRANTS_MAX * TT__SAMPLES_MAX];
    const bench_variant *variants[ENTRANTS_MAX];
    bool in_place[ENTRANTS_MAX];
    const int loads = !is_short(c) ? 1 : rounds < SHORT_LOADS ? rounds : SHORT_LOADS;
    for (int i = 0; i < n; i++) {
        variants[i] = e[i].variant;
        in_place[i] = e[i].peer == BENCH_OURS && c->public.in_place;
    }
    for (int load = 0; load < loads; load++) {
        const int from = rounds * load / loads, many = rounds * (load + 1) / loads - from;
        if ((*failed = load ? reload(e, n) : -1) >= 0)
            return TT_OK;
        TT_TRY(bench_rounds(b->timer, variants, in_place, n, many, regime, part, failed));
        if (*failed >= 0)
            return TT_OK;
        for (int i = 0; i < n; i++)
            memcpy(&us[i * rounds + from], &part[i * many], (size_t)many * sizeof *us);
    }
    return TT_OK;
}

/* Measures all that are in, in the same rounds. One that fails is out of this regime. */
static tt_status measure(bench *b, const bench_case *c, const bench_peer *peers, bench_regime regime,
                         bench_result *result) {
    static float us[ENTRANTS_MAX * TT__SAMPLES_MAX];
    bool out[BENCH_PEERS] = {false};
    entrant e[ENTRANTS_MAX];
    int rounds = rounds_for(b, c, regime), failed = 0, n = 0;
    bench_gate_again(b->timer);
    while (failed >= 0) {
        n = line_up(e, peers, out);
        if (n == 0)
            return TT_OK;
        TT_TRY(run_rounds(b, c, e, n, rounds, regime, us, &failed));
        if (failed < 0)
            break;
        int peer = e[failed].peer;
        fprintf(stderr, "%s: %s is out of %s: %s\n", c->name, bench_peer_kinds[peer].name,
                bench_regime_names[regime], tt_last_error());
        out[peer] = true;
        if (lost(b))
            return TT_E_CUDA;
    }
    result->rounds = rounds;
    result->launches = bench_launches(regime);
    compare(e, n, rounds, us, result);
    return TT_OK;
}

/* All peers enter; what is warm chooses among its variants warm, and looks ours up as warm. */
static tt_status enter_all(bench *b, const bench_case *c, bench_peer *peers) {
    for (int i = 0; i < BENCH_PEERS; i++)
        TT_TRY(enter(b, c, &peers[i], (bench_peer_id)i));
    return peers[BENCH_OURS].in ? TT_OK
                                : tt__fail(TT_E_NO_WINNER, "no result of ours: %s", peers[BENCH_OURS].note);
}

static tt_status measure_regimes(bench *b, const bench_case *c, const bench_contest *contest, bool warm,
                                 bench_result *results, bench_clocks *clocks) {
    for (int r = 0; r < BENCH_REGIMES; r++)
        if (bench_is_warm((bench_regime)r) == warm && bench_wanted(b, c, (bench_regime)r)) {
            TT_TRY(measure(b, c, contest->peers, (bench_regime)r, &results[r]));
            if (r == BENCH_COLD)
                *clocks = bench_clocks_now(b);
        }
    return TT_OK;
}

tt_status bench_make_arrays(bench *b, const bench_case *c) {
    CUdeviceptr base, dst, src;
    size_t bytes;
    TT_TRY(bench_timer_case(b->timer, c));
    bench_timer_memory(b->timer, &base, &bytes, &dst, &src);
    return bench_fill(b, base, bytes);
}

static tt_status measure_all(bench *b, const bench_case *c, bench_contest *contests, bench_result *results,
                             bench_clocks *clocks) {
    bench_case warm;
    TT_TRY(bench_make_arrays(b, c));
    TT_TRY(enter_all(b, c, contests[0].peers));
    TT_TRY(measure_regimes(b, c, &contests[0], false, results, clocks));
    if (!bench_wanted_warm(b, c))
        return TT_OK;
    TT_TRY(bench_warm_case(&warm, c));
    TT_TRY(bench_make_arrays(b, &warm));
    TT_TRY(enter_all(b, &warm, contests[1].peers));
    return measure_regimes(b, c, &contests[1], true, results, clocks);
}

bool bench_run_case(bench *b, const bench_case *c, bench_report *report) {
    bench_contest contests[2] = {{{{0}}}};
    bench_result results[BENCH_REGIMES] = {{0}};
    bench_clocks clocks = {0};
    char note[512] = "";
    if (measure_all(b, c, contests, results, &clocks) != TT_OK)
        tt__copy(note, sizeof note, tt_last_error());
    bool is_lost = lost(b);
    bench_report_case(report, b, c, contests, results, &clocks, note);
    for (int i = 0; i < 2 * BENCH_PEERS; i++)
        bench_peer_close(&contests[i / BENCH_PEERS].peers[i % BENCH_PEERS]);
    bench_timer_end_case(b->timer);
    if (is_lost)
        fprintf(stderr,
                "bench-peers: the CUDA context is lost in case \"%s\": %s; go on with the others through "
                "--cases FILE or --without PEER\n",
                c->name, note);
    return !is_lost;
}

/*
 * bench-peers --graphs: is another configuration best in a CUDA graph of many launches than in separate ones?
 *
 * The best configurations of a problem's trials run in both ways. The winners of each way are chosen in one
 * half of the loads, and compared in the other half, so that luck in the choice does not count.
 */
#include <stdio.h>

#include "bench/peers.h"

enum { BEST_MAX = 10, LOADS = 10, ROUNDS = 5, ROUNDS_OF_GRAPH = 3 };
static const double worth = 0.01; /* a difference that counts */

/* Microseconds of each configuration, the median of the rounds of each load. */
typedef struct times {
    float us[BEST_MAX][LOADS];
} times;

typedef struct count {
    int problems, other;
    double lost, most;
} count;

/* The mean over every second load, from `half` on. */
static double mean(const times *t, size_t i, int half) {
    double sum = 0;
    for (int load = half; load < LOADS; load += 2)
        sum += t->us[i][load];
    return sum / (LOADS / 2);
}

static size_t best(const times *t, size_t n, int half) {
    size_t at = 0;
    for (size_t i = 1; i < n; i++)
        if (mean(t, i, half) < mean(t, at, half))
            at = i;
    return at;
}

static tt_status measure(bench *b, const bench_peer *peer, bench_regime regime, int rounds, int load,
                         times *out) {
    const bench_variant *variants[BEST_MAX];
    const bool in_place[BEST_MAX] = {false};
    float us[BEST_MAX * ROUNDS];
    int failed;
    for (size_t i = 0; i < peer->n; i++)
        variants[i] = &peer->variants[i];
    bench_gate_again(b->timer);
    TT_TRY(bench_rounds(b->timer, variants, in_place, (int)peer->n, rounds, regime, us, &failed));
    if (failed >= 0)
        return tt__fail(TT_E_CUDA, "%s: %s", peer->variants[failed].detail, tt_last_error());
    for (size_t i = 0; i < peer->n; i++)
        out->us[i][load] = (float)tt__median(&us[i * (size_t)rounds], (size_t)rounds);
    return TT_OK;
}

static tt_status measure_loads(bench *b, const bench_peer *peer, bool warm, times *separate, times *graph) {
    for (int load = 0; load < LOADS; load++) {
        for (size_t i = 0; i < peer->n && load; i++)
            TT_TRY(peer->variants[i].reload(peer->variants[i].self));
        TT_TRY(measure(b, peer, warm ? BENCH_WARM : BENCH_COLD, ROUNDS, load, separate));
        TT_TRY(measure(b, peer, warm ? BENCH_GRAPH_WARM : BENCH_GRAPH_COLD, ROUNDS_OF_GRAPH, load, graph));
    }
    return TT_OK;
}

static void judge(const bench_case *c, const bench_peer *peer, const times *separate, const times *graph,
                  count *k) {
    double lost = 0;
    for (int half = 0; half < 2; half++)
        lost += mean(graph, best(separate, peer->n, half), !half) /
                    mean(graph, best(graph, peer->n, half), !half) -
                1;
    lost /= 2;
    const size_t s = best(separate, peer->n, 0), g = best(graph, peer->n, 0);
    k->problems++;
    k->other += lost > worth;
    k->lost += lost;
    k->most = lost > k->most ? lost : k->most;
    printf("%-28s %-5s %8.2f %8.2f %+6.1f %%  %s%s%s\n", c->name, c->public.warm ? "warm" : "cold",
           mean(separate, s, 1), mean(graph, g, 1), 100 * lost, peer->variants[s].detail, s == g ? "" : " | ",
           s == g ? "" : peer->variants[g].detail);
    fflush(stdout);
}

static tt_status run_case(bench *b, const bench_case *c, count *k) {
    static times separate, graph;
    bench_peer peer = {0};
    tt_status status;
    TT_GOTO(bench_make_arrays(b, c));
    TT_GOTO(bench_best_open(&peer, b, c));
    if (peer.n > BEST_MAX)
        TT_GOTO(tt__fail(TT_E_INTERNAL, "%zu configurations", peer.n));
    if (peer.n < 2)
        TT_GOTO(tt__fail(TT_E_NO_WINNER, "it has one configuration"));
    TT_GOTO(measure_loads(b, &peer, c->public.warm, &separate, &graph));
    judge(c, &peer, &separate, &graph, k);
out:
    bench_peer_close(&peer);
    bench_timer_end_case(b->timer);
    return status;
}

tt_status bench_graphs(bench *b, const bench_cases *cases) {
    count counts[2] = {{0}};
    if (!bench_timer_has_graphs(b->timer))
        return tt__fail(TT_E_UNSUPPORTED, "the driver has no graphs");
    printf("%-28s %-5s %8s %8s %8s  %s\n", "problem", "", "separate", "in graph", "lost",
           "best in separate launches | in a graph");
    for (int cold = 0; cold < 2; cold++)
        for (size_t i = 0; i < cases->n; i++) {
            bench_case c = cases->items[i];
            if (!cold)
                TT_TRY(bench_warm_case(&c, &cases->items[i]));
            if (run_case(b, &c, &counts[cold]) != TT_OK)
                fprintf(stderr, "%s: %s\n", c.name, tt_last_error());
            if (b->cu->cuCtxSynchronize() != CUDA_SUCCESS)
                return TT_E_CUDA;
        }
    for (int cold = 0; cold < 2; cold++)
        if (counts[cold].problems)
            printf("%s: in %d of %d problems another configuration is best in a graph by more than %.0f %%; "
                   "mean "
                   "%.2f %%, most %.1f %%\n",
                   cold ? "cold" : "warm", counts[cold].other, counts[cold].problems, 100 * worth,
                   100 * counts[cold].lost / counts[cold].problems, 100 * counts[cold].most);
    return TT_OK;
}

/*
 * bench-peers --graphs: what is tuning in CUDA graphs worth? A problem has a winner of separate launches and
 * one of launches in a graph. Both run in both ways, side by side, and are loaded anew several times.
 */
#include <stdio.h>
#include <string.h>

#include "bench/peers.h"

enum { SEPARATE, IN_GRAPH, WINNERS, LOADS = 10, ROUNDS = 5, ROUNDS_OF_GRAPH = 3 };

/* Microseconds of each winner, the median of the rounds of each load. */
typedef struct times {
    float us[WINNERS][LOADS];
} times;

typedef struct count {
    int problems, same, better, worse; /* better, worse: the graph's winner in a graph, beyond the noise */
    double gained, most, least;
} count;

static tt_status measure(bench *b, const bench_peer *peer, bench_regime regime, int rounds, int load,
                         times *out) {
    const bench_variant *variants[WINNERS] = {&peer->variants[SEPARATE], &peer->variants[IN_GRAPH]};
    const bool in_place[WINNERS] = {false};
    float us[WINNERS * ROUNDS];
    int failed;
    bench_gate_again(b->timer);
    TT_TRY(bench_rounds(b->timer, variants, in_place, WINNERS, rounds, regime, us, &failed));
    if (failed >= 0)
        return tt__fail(TT_E_CUDA, "%s: %s", peer->variants[failed].detail, tt_last_error());
    for (size_t i = 0; i < WINNERS; i++)
        out->us[i][load] = (float)tt__median(&us[i * (size_t)rounds], (size_t)rounds);
    return TT_OK;
}

static tt_status measure_loads(bench *b, const bench_peer *peer, bool warm, times *separate, times *graph) {
    for (int load = 0; load < LOADS; load++) {
        for (size_t i = 0; i < WINNERS && load; i++)
            TT_TRY(peer->variants[i].reload(peer->variants[i].self));
        TT_TRY(measure(b, peer, warm ? BENCH_WARM : BENCH_COLD, ROUNDS, load, separate));
        TT_TRY(measure(b, peer, warm ? BENCH_GRAPH_WARM : BENCH_GRAPH_COLD, ROUNDS_OF_GRAPH, load, graph));
    }
    return TT_OK;
}

/* The times of both winners, and by how much the separate one takes longer than the graph's. */
static tt__ratio print_times(const times *t) {
    const tt__ratio r = tt__paired_ratio(t->us[SEPARATE], t->us[IN_GRAPH], LOADS);
    printf(" %7.2f %7.2f %+6.1f %% [%+5.1f, %+5.1f]", tt__median(t->us[SEPARATE], LOADS),
           tt__median(t->us[IN_GRAPH], LOADS), 100 * (r.median - 1), 100 * (r.low - 1), 100 * (r.high - 1));
    return r;
}

static void judge(const bench_case *c, const bench_peer *peer, const times *separate, const times *graph,
                  count *k) {
    printf("%-28s %-5s", c->name, c->public.warm ? "warm" : "cold");
    print_times(separate);
    const tt__ratio r = print_times(graph);
    printf("  %s | %s\n", peer->variants[SEPARATE].detail, peer->variants[IN_GRAPH].detail);
    k->better += r.low > 1;
    k->worse += r.high < 1;
    k->gained += r.median - 1;
    k->most = r.median - 1 > k->most ? r.median - 1 : k->most;
    k->least = r.median - 1 < k->least ? r.median - 1 : k->least;
}

static tt_status add_winner(bench_peer *peer, bench *b, const bench_case *c) {
    TT_TRY(bench_ours_open(peer, b, c));
    const bench_peer last = {.n = 1, .variants = &peer->variants[peer->n - 1]};
    return bench_ours_match(&last) == TT_MATCH_EXACT
               ? TT_OK
               : tt__fail(TT_E_NO_WINNER, "the store has no winner of it%s: tune it with --tune",
                          c->public.in_graph ? " in a graph" : "");
}

static tt_status run_case(bench *b, const bench_case *c, count *k) {
    static times separate, graph;
    bench_case in_graph = *c;
    bench_peer peer = {0};
    tt_status status;
    in_graph.public.in_graph = 1;
    TT_GOTO(bench_make_arrays(b, c));
    TT_GOTO(add_winner(&peer, b, c));
    TT_GOTO(add_winner(&peer, b, &in_graph));
    k->problems++;
    if (strcmp(peer.variants[SEPARATE].detail, peer.variants[IN_GRAPH].detail) == 0) {
        k->same++;
        printf("%-28s %-5s the same winner: %s\n", c->name, c->public.warm ? "warm" : "cold",
               peer.variants[SEPARATE].detail);
    } else {
        TT_GOTO(measure_loads(b, &peer, c->public.warm, &separate, &graph));
        judge(c, &peer, &separate, &graph, k);
    }
    fflush(stdout);
out:
    bench_peer_close(&peer);
    bench_timer_end_case(b->timer);
    return status;
}

tt_status bench_graphs(bench *b, const bench_cases *cases) {
    count counts[2] = {{0}};
    printf("%-34s %-38s %-38s  winner of separate launches | in a graph\n", "us of both winners",
           "separate launches", "in a graph");
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
    for (int cold = 0; cold < 2; cold++) {
        const count *k = &counts[cold];
        if (k->problems)
            printf("%s: %d problems, %d with the same winner. In a graph, that of the graph is faster beyond "
                   "the noise in "
                   "%d and slower in %d; mean gain %.2f %%, from %.1f to %.1f %%\n",
                   cold ? "cold" : "warm", k->problems, k->same, k->better, k->worse,
                   100 * k->gained / k->problems, 100 * k->least, 100 * k->most);
    }
    return TT_OK;
}

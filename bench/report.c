/* The table on stdout, and the JSON that scripts/performance.py reads. The file is rewritten after every
 * case. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "bench/peers.h"

/* bench/results/peers-nvidia-h200-20260131.json (peers-narrow-...), or, away from the source tree, in the
 * current folder. */
static void default_path(bench_report *r, const bench *b) {
    const char *folder = "bench/results/";
    char gpu[TT__GPU_NAME_MAX];
    size_t n = 0;
    for (const char *c = b->gpu.name; *c && n + 1 < sizeof gpu; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9');
        if (*c >= 'A' && *c <= 'Z')
            gpu[n++] = (char)(*c - 'A' + 'a');
        else if (plain)
            gpu[n++] = *c;
        else if (n && gpu[n - 1] != '-')
            gpu[n++] = '-';
    }
    gpu[n] = '\0';
    snprintf(
        r->path, sizeof r->path, "%speers-%s%s-%.4s%.2s%.2s.json", access(folder, W_OK) == 0 ? folder : "",
        strcmp(b->options->cases, "narrow") == 0 ? "narrow-" : "", gpu, r->date, r->date + 5, r->date + 8);
}

void bench_report_open(bench_report *r, const bench *b) {
    time_t now = time(NULL);
    struct tm utc;
    *r = (bench_report){0};
    gmtime_r(&now, &utc);
    strftime(r->date, sizeof r->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (b->options->output)
        tt__copy(r->path, sizeof r->path, b->options->output);
    else
        default_path(r, b);
    printf("%-28s %-10s %10s %7s  %-22s %8s %8s %8s %8s  %s\n", "case", "regime", "ours us", "GB/s",
           "of copy [95 %]", "memcpy", "mirrored", "x geam", "x cuT.", "match");
}

/* ---- The table ----------------------------------------------------------------------------------------- */

static void print_ratio(const bench_measured *m) {
    if (m->in)
        printf(" %8.3f", m->ratio.median);
    else
        printf(" %8s", "-");
}

static void print_regime(const bench_case *c, const bench_contest *contests, const bench_result *result,
                         bench_regime regime) {
    const bench_peer *peers = contests[bench_is_warm(regime)].peers;
    const bench_measured *ours = &result->peers[BENCH_OURS], *copy = &result->peers[BENCH_COPY];
    char of_copy[48] = "-";
    if (copy->in)
        snprintf(of_copy, sizeof of_copy, "%.3f [%.3f, %.3f]", copy->ratio.median, copy->ratio.low,
                 copy->ratio.high);
    printf("%-28s %-10s %10.2f %7.0f  %-22s", regime == BENCH_COLD ? c->name : "", bench_regime_names[regime],
           ours->us, tt__problem_gbps(&c->problem, ours->us), of_copy);
    print_ratio(&result->peers[BENCH_MEMCPY]);
    print_ratio(&result->peers[BENCH_MIRRORED]);
    print_ratio(&result->peers[BENCH_GEAM]);
    print_ratio(&result->peers[BENCH_CUTENSOR]);
    bool first = regime == BENCH_COLD || regime == BENCH_WARM;
    printf("  %s\n", first ? tt_match_name(bench_ours_match(&peers[BENCH_OURS])) : "");
}

static void print_case(const bench_case *c, const bench_contest *contests, const bench_result *results,
                       const char *note) {
    for (int r = 0; r < BENCH_REGIMES; r++)
        if (results[r].launches && results[r].peers[BENCH_OURS].in)
            print_regime(c, contests, &results[r], (bench_regime)r);
    if (note[0])
        printf("%-28s %s\n", c->name, note);
    for (int i = 0; i < 2 * BENCH_PEERS; i++) {
        const bench_peer *peer = &contests[i / BENCH_PEERS].peers[i % BENCH_PEERS];
        if (peer->broken)
            printf("%-28s %s is out%s: %s\n", "", bench_peer_kinds[i % BENCH_PEERS].name,
                   i < BENCH_PEERS ? "" : " of what is warm", peer->note);
    }
    fflush(stdout);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void put_measured(tt__json *j, const bench_case *c, const bench_measured *m, int id) {
    tt__json_open(j, bench_peer_kinds[id].name, '{');
    if (id == BENCH_COPY) /* of several that were measured */
        tt__json_string(j, "detail", m->detail);
    tt__json_number(j, "us", m->us, 6);
    tt__json_number(j, "gbps", tt__problem_gbps(&c->problem, m->us), 5);
    tt__json_number(j, "ratio", m->ratio.median, 5);
    tt__json_number(j, "low", m->ratio.low, 5);
    tt__json_number(j, "high", m->ratio.high, 5);
    if (m->over_copy.median > 0) {
        tt__json_open(j, "over_copy", '{');
        tt__json_number(j, "ratio", m->over_copy.median, 5);
        tt__json_number(j, "low", m->over_copy.low, 5);
        tt__json_number(j, "high", m->over_copy.high, 5);
        tt__json_close(j, '}');
    }
    tt__json_close(j, '}');
}

static void put_peers(tt__json *j, const char *key, const bench_peer *peers) {
    tt__json_open(j, key, '{');
    for (int i = 0; i < BENCH_PEERS; i++) {
        tt__json_open(j, bench_peer_kinds[i].name, '{');
        if (peers[i].in)
            tt__json_string(j, "detail", peers[i].variants[0].detail);
        if (peers[i].in && i == BENCH_OURS)
            tt__json_string(j, "match", tt_match_name(bench_ours_match(&peers[i])));
        if (peers[i].note[0])
            tt__json_string(j, "note", peers[i].note);
        tt__json_close(j, '}');
    }
    tt__json_close(j, '}');
}

static void put_regimes(tt__json *j, const bench_case *c, const bench_result *results) {
    tt__json_open(j, "regimes", '{');
    for (int r = 0; r < BENCH_REGIMES; r++) {
        if (!results[r].launches)
            continue;
        tt__json_open(j, bench_regime_names[r], '{');
        tt__json_int(j, "rounds", results[r].rounds);
        tt__json_int(j, "launches", results[r].launches);
        for (int i = 0; i < BENCH_PEERS; i++)
            if (results[r].peers[i].in)
                put_measured(j, c, &results[r].peers[i], i);
        tt__json_close(j, '}');
    }
    tt__json_close(j, '}');
}

static void put_clocks(tt__json *j, const bench_clocks *clocks) {
    char limited[24];
    if (!clocks->known)
        return;
    snprintf(limited, sizeof limited, "0x%llx", clocks->limited);
    tt__json_open(j, "clocks", '{');
    tt__json_int(j, "sm_mhz", clocks->sm_mhz);
    tt__json_int(j, "mem_mhz", clocks->mem_mhz);
    tt__json_int(j, "celsius", clocks->celsius);
    tt__json_int(j, "watts", clocks->watts);
    tt__json_string(j, "limited", limited);
    tt__json_close(j, '}');
}

static void put_case(tt__str *out, const bench_case *c, const bench_contest *contests,
                     const bench_result *results, const bench_clocks *clocks, const char *note) {
    const tt_problem *p = &c->public;
    tt__json j = {.out = out};
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"rows", p->rows},
                   {"cols", p->cols},
                   {"lds", p->lds},
                   {"ldd", p->ldd},
                   {"batch", p->batch},
                   {"in_place", p->in_place},
                   {"elem_size", p->elem_size},
                   {"align", p->align}};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "group", c->group);
    tt__json_string(&j, "name", c->name);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tt__json_int(&j, numbers[i].key, numbers[i].value);
    if (note[0])
        tt__json_string(&j, "note", note);
    put_peers(&j, "peers", contests[0].peers);
    if (results[BENCH_WARM].launches || results[BENCH_GRAPH_WARM].launches)
        put_peers(&j, "peers_warm", contests[1].peers);
    put_regimes(&j, c, results);
    put_clocks(&j, clocks);
    tt__json_close(&j, '}');
}

void bench_report_case(bench_report *r, const bench *b, const bench_case *c, const bench_contest *contests,
                       const bench_result *results, const bench_clocks *clocks, const char *note) {
    print_case(c, contests, results, note);
    r->n_failed += !results[BENCH_COLD].peers[BENCH_OURS].in;
    if (r->n_cases++)
        tt__str_add(&r->cases, ",\n");
    put_case(&r->cases, c, contests, results, clocks, note);
    if (bench_report_write(r, b) != TT_OK)
        fprintf(stderr, "bench-peers: %s\n", tt_last_error());
}

static void put_all(tt__str *out, const bench_report *r, const bench *b) {
    tt__json j = {.out = out};
    tt__json_open(&j, NULL, '{');
    tt__json_string(&j, "program", "bench-peers");
    tt__json_string(&j, "version", tt_version());
    tt__json_string(&j, "commit", b->options->commit);
    tt__json_string(&j, "date", r->date);
    tt__json_open(&j, "gpu", '{');
    tt__json_string(&j, "name", b->gpu.name);
    tt__json_string(&j, "mig", b->gpu.mig);
    tt__json_int(&j, "cc", b->gpu.cc);
    tt__json_int(&j, "sm_count", b->gpu.sm_count);
    tt__json_int(&j, "memory_bytes", b->gpu.memory_bytes);
    tt__json_int(&j, "l2_bytes", b->gpu.l2_bytes);
    tt__json_number(&j, "peak_gbps", b->gpu.peak_gbps, 5);
    tt__json_close(&j, '}');
    tt__json_string(&j, "driver", b->env.driver);
    tt__json_string(&j, "nvrtc", b->env.nvrtc);
    tt__json_string(&j, "cublas", b->cublas);
    tt__json_string(&j, "cutensor", b->cutensor);
    tt__json_string(&j, "set", b->options->cases);
    tt__json_open(&j, "cases", '[');
    tt__str_add(out, "\n");
    tt__str_add(out, tt__str_text(&r->cases));
    tt__json_close(&j, ']');
    tt__json_close(&j, '}');
    tt__str_add(out, "\n");
}

tt_status bench_report_write(bench_report *r, const bench *b) {
    char fresh[600];
    tt__str out = {0};
    snprintf(fresh, sizeof fresh, "%s.part", r->path);
    put_all(&out, r, b);
    tt_status status = tt__str_check(&out);
    FILE *f = status == TT_OK ? fopen(fresh, "w") : NULL;
    bool written = f && fwrite(out.text, 1, out.len, f) == out.len;
    written = f && fclose(f) == 0 && written;
    if (status == TT_OK && (!written || rename(fresh, r->path) != 0))
        status = tt__fail(TT_E_IO, "%s cannot be written: %s", r->path, strerror(errno));
    tt__str_free(&out);
    return status;
}

/* The problems: the classes with targets, a few of each for a quick look, random shapes from a fixed seed,
 * narrow ones, or a file. */
#include <math.h>
#include <stdio.h>

#include "base/grow.h"
#include "base/read_file.h"

#include "bench/peers.h"

enum { RANDOM_SHAPES = 60, RANDOM_QUICK = 5 };
static const double random_least_bytes = 4 << 20, random_most_bytes = 512 << 20;

typedef struct row {
    const char *group;
    int64_t rows, cols;
    int elem_sizes; /* sum of those wanted: 1 + 2 + 4 + 8 + 16 */
    int quick;      /* sum of those also wanted in the quick set */
    int64_t batch;
    int in_place;
} row;

/* The groups are those of scripts/performance.py. */
static const row table[] = {
    {"square-small", 512, 512, 4, 4, 0, 0},
    {"square-small", 1024, 1024, 4, 4, 0, 0},
    {"square-medium", 2048, 2048, 4, 4, 0, 0},
    {"square-medium", 4096, 4096, 4, 4, 0, 0},
    {"large-4", 8192, 8192, 4, 4, 0, 0},
    {"large-4", 16384, 16384, 4, 4, 0, 0},
    {"large-4", 20480, 20480, 4, 0, 0, 0},
    {"large-4", 32768, 32768, 4, 0, 0, 0},
    {"large-2", 16384, 16384, 2, 2, 0, 0},
    {"large-2", 32768, 32768, 2, 0, 0, 0},
    {"large-1", 16384, 16384, 1, 1, 0, 0},
    {"large-1", 32768, 32768, 1, 0, 0, 0},
    {"large-8-16", 8192, 8192, 8 + 16, 8, 0, 0},
    {"large-8-16", 16384, 16384, 8, 0, 0, 0},
    {"large-8-16", 4096, 4096, 16, 16, 0, 0},
    {"rectangular", 64, 4 << 20, 4, 4, 0, 0},
    {"rectangular", 4 << 20, 64, 4, 4, 0, 0},
    {"rectangular", 256, 1 << 20, 4, 0, 0, 0},
    {"rectangular", 1 << 20, 256, 4, 0, 0, 0},
    {"rectangular", 2048, 128 << 10, 4, 0, 0, 0},
    {"rectangular", 128 << 10, 2048, 4, 0, 0, 0},
    {"rectangular", 64, 4 << 20, 2, 0, 0, 0},
    {"rectangular", 4 << 20, 64, 2, 0, 0, 0},
    {"batch", 1024, 1024, 2, 2, 64, 0},
    {"in-place", 16384, 16384, 4, 4, 0, 1},
    {"in-place", 4096, 4096, 4, 0, 0, 1},
    {"no-multiple", 10000, 12004, 4, 4, 0, 0},
    {"no-multiple", 10000, 12016, 1 + 2, 0, 0, 0},
    {"no-multiple", 5002, 6006, 8 + 16, 0, 0, 0},
    {"no-multiple", 4100, 8204, 4, 0, 0, 0},
    {"odd", 8191, 8191, 1 + 2 + 4 + 8, 1 + 4, 0, 0},
    {"odd", 10001, 10001, 1 + 2 + 4 + 8, 0, 0, 0},
    {"odd", 4095, 4097, 1 + 2 + 4 + 8, 4, 0, 0},
};

/* Cases where large tiles do not fit: AoS to SoA and back, images by channel, small matrices in batches, and
 * in-place rows that begin anywhere. */
static const row narrow[] = {
    {"few-columns", 1 << 24, 3, 1 + 2 + 4 + 8, 0, 0, 0},
    {"few-columns", 1 << 24, 4, 1 + 4, 0, 0, 0},
    {"few-columns", 1 << 25, 2, 4, 0, 0, 0},
    {"few-columns", 1 << 23, 8, 4, 0, 0, 0},
    {"few-columns", 1 << 22, 16, 2 + 4, 0, 0, 0},
    {"few-columns", 1 << 26, 1, 4, 0, 0, 0},
    {"few-columns", 1000000, 3, 4, 0, 0, 0},
    {"few-columns", 5000011, 7, 4, 0, 0, 0},
    {"few-columns", 224 * 224, 3, 1 + 4, 0, 64, 0},
    {"few-columns", 512, 49, 2, 0, 1024, 0},
    {"few-rows", 3, 1 << 24, 1 + 2 + 4 + 8, 0, 0, 0},
    {"few-rows", 4, 1 << 24, 1 + 4, 0, 0, 0},
    {"few-rows", 2, 1 << 25, 4, 0, 0, 0},
    {"few-rows", 8, 1 << 23, 4, 0, 0, 0},
    {"few-rows", 16, 1 << 22, 2 + 4, 0, 0, 0},
    {"few-rows", 1, 1 << 26, 4, 0, 0, 0},
    {"few-rows", 3, 1000000, 4, 0, 0, 0},
    {"few-rows", 7, 5000011, 4, 0, 0, 0},
    {"few-rows", 3, 224 * 224, 1 + 4, 0, 64, 0},
    {"few-rows", 49, 512, 2, 0, 1024, 0},
    {"few-rows", 70, 1 << 22, 1, 0, 0, 0},
    {"few-rows", 100, 1000000, 2, 0, 0, 0},
    {"small", 3, 3, 8, 0, 1000000, 0},
    {"small", 4, 4, 4, 0, 4000000, 0},
    {"small", 8, 8, 4, 0, 1000000, 0},
    {"small", 8, 8, 4, 0, 60000, 0},
    {"small", 16, 16, 1 + 2, 0, 400000, 0},
    {"small", 32, 32, 4, 0, 65536, 0},
    {"small", 64, 64, 1, 0, 70000, 0},
    {"small", 100, 30, 4, 0, 4096, 0},
    {"small", 6, 6, 4, 0, 1000000, 1},
    {"small", 15, 15, 1, 0, 1000000, 0},
    {"small", 33, 33, 2, 0, 65536, 0},
    {"small", 127, 129, 2, 0, 8192, 0},
    {"small", 64, 197, 2, 0, 4096, 0},
    {"small", 100, 100, 4, 0, 16384, 0},
    {"small", 100, 100, 4, 0, 4096, 1},
    {"in-place-lines", 8208, 8208, 1 + 2 + 4, 0, 0, 1},
    {"in-place-lines", 5001, 5001, 16, 0, 0, 1},
    {"in-place-odd", 8191, 8191, 1 + 2 + 4 + 8, 0, 0, 1},
    {"in-place-odd", 10001, 10001, 2, 0, 0, 1},
    {"in-place-odd", 333, 333, 4, 0, 500, 1},
};

/* Narrow ones with gaps between rows, 4 bytes. */
static const struct {
    int64_t rows, cols, lds, ldd, batch;
} gaps[] = {
    {1 << 24, 3, 4, 0, 0}, {1 << 24, 3, 8, 0, 0}, {3, 1 << 24, 0, 4, 0},
    {8, 8, 9, 0, 500000},  {8, 8, 0, 9, 500000},
};

static tt_status add(bench_cases *out, const char *group, const tt_problem *p) {
    TT_TRY(TT__GROW(out->items, out->n));
    bench_case *c = &out->items[out->n];
    *c = (bench_case){.public = *p};
    TT_TRY(bench_matrix(&c->problem, &c->public));
    p = &c->public;
    tt__copy(c->group, sizeof c->group, group);
    char pitch[32] = "", batch[24] = "";
    if (p->lds != p->cols || p->ldd != p->rows)
        snprintf(pitch, sizeof pitch, " ld %lld/%lld", (long long)p->lds, (long long)p->ldd);
    if (p->batch > 1)
        snprintf(batch, sizeof batch, "%lld x ", (long long)p->batch);
    snprintf(c->name, sizeof c->name, "%d B %s%lld x %lld%s%s", p->elem_size, batch, (long long)p->rows,
             (long long)p->cols, pitch, p->in_place ? " in place" : "");
    out->n++;
    return TT_OK;
}

static tt_status add_shape(bench_cases *out, const char *group, int64_t rows, int64_t cols, int elem_size) {
    tt_problem p = TT_INIT(tt_problem);
    p.rows = rows;
    p.cols = cols;
    p.elem_size = elem_size;
    return add(out, group, &p);
}

static tt_status add_rows(bench_cases *out, const row *rows, size_t n, bool quick) {
    for (size_t i = 0; i < n; i++)
        for (int e = 1; e <= 16; e *= 2) {
            const row *r = &rows[i];
            if (!((quick ? r->quick : r->elem_sizes) & e))
                continue;
            tt_problem p = TT_INIT(tt_problem);
            p.rows = r->rows;
            p.cols = r->cols;
            p.elem_size = e;
            p.batch = r->batch;
            p.in_place = r->in_place;
            TT_TRY(add(out, r->group, &p));
        }
    return TT_OK;
}

static tt_status add_narrow(bench_cases *out) {
    TT_TRY(add_rows(out, narrow, sizeof narrow / sizeof *narrow, false));
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        tt_problem p = TT_INIT(tt_problem);
        p.rows = gaps[i].rows;
        p.cols = gaps[i].cols;
        p.lds = gaps[i].lds;
        p.ldd = gaps[i].ldd;
        p.batch = gaps[i].batch;
        TT_TRY(add(out, "gaps", &p));
    }
    return TT_OK;
}

static double uniform(uint64_t *state) { /* xorshift64: the same shapes on every machine */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
}

static int64_t round_to(double n, int64_t unit) {
    int64_t m = (int64_t)(n / (double)unit + 0.5);
    return (m < 1 ? 1 : m) * unit;
}

/* All types in turn; size and aspect ratio log-uniform; a third multiples of 32, a third with rows of whole
 * 16 bytes, a third anything. */
static tt_status add_random(bench_cases *out, int n) {
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < n; i++) {
        int e = 1 << i % 5;
        double elements =
            random_least_bytes * pow(random_most_bytes / random_least_bytes, uniform(&state)) / e;
        double aspect = pow(64, 2 * uniform(&state) - 1);
        int64_t unit = i / 5 % 3 == 0 ? 32 : i / 5 % 3 == 1 ? 16 / e : 1;
        TT_TRY(add_shape(out, "random", round_to(sqrt(elements * aspect), unit),
                         round_to(sqrt(elements / aspect), unit), e));
    }
    return TT_OK;
}

#define LINE_FORMAT "ROWS COLS [ELEM_SIZE [LDS LDD [BATCH [IN_PLACE]]]]"

static tt_status add_file(bench_cases *out, const char *path) {
    tt__str text = {0};
    TT_TRY(tt__read_file(&text, path));
    tt_status status = TT_OK;
    char *state = NULL, *rest = NULL;
    int number = 0;
    for (char *line = text.text; line && status == TT_OK; line = state) {
        state = strchr(line, '\n');
        if (state)
            *state++ = '\0';
        number++;
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        long long v[7] = {0, 0, 4, 0, 0, 0, 0};
        int n = 0, used = 0;
        for (char *at = line; n < 7 && sscanf(at, "%lld%n", &v[n], &used) == 1; n++)
            rest = at += used;
        if (n < 2 || rest[strspn(rest, " \t\r")]) {
            status = tt__fail(TT_E_INVALID, "%s:%d: expected " LINE_FORMAT, path, number);
            break;
        }
        tt_problem p = TT_INIT(tt_problem);
        p.rows = v[0];
        p.cols = v[1];
        p.elem_size = (int)v[2];
        p.lds = v[3];
        p.ldd = v[4];
        p.batch = v[5];
        p.in_place = v[6] != 0;
        status = add(out, "file", &p);
        if (status != TT_OK)
            tt__fail_prefix(status, "%s:%d", path, number);
    }
    tt__str_free(&text);
    return status;
}

tt_status bench_cases_get(bench_cases *out, const char *which) {
    *out = (bench_cases){0};
    if (strcmp(which, "narrow") == 0)
        return add_narrow(out);
    bool quick = strcmp(which, "quick") == 0;
    if (!quick && strcmp(which, "default") != 0)
        return add_file(out, which);
    TT_TRY(add_rows(out, table, sizeof table / sizeof *table, quick));
    return add_random(out, quick ? RANDOM_QUICK : RANDOM_SHAPES);
}

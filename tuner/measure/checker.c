/*
 * The layout of operands on the device, and the kernels of the checker, which fill and compare them.
 */
#include "tuner/measure/checker.h"

#include "base/str.h"
#include "kernel/space/space.h"

CUdeviceptr tt__verify_finding(const tt__verifier *v, int i) {
    return v->findings + (CUdeviceptr)i * sizeof(tt__finding);
}

/* ---- What lies where ----------------------------------------------------------------------------------- */

/* Shifts a base address, so that it is aligned to exactly as many bytes as the problem says. */
size_t tt__verify_shift(const tt__workload *w) {
    return w->align < 16 ? (size_t)w->align : 0;
}

size_t tt__verify_area_bytes(const tt__workload *w, int i) {
    return (TT__GUARD + tt__verify_shift(w) + (size_t)tt__array_bytes(&w->arrays[i]) + TT__GUARD + 15) / 16 *
           16;
}

bool tt__verify_is_result(const tt__array *a) {
    return a->direction == TT__OUT || a->direction == TT__INOUT;
}

bool tt__verify_is_known(const tt__workload *w, const tt__array *a) {
    return tt__verify_is_result(a) && (w->has_reference || a->expect[0]);
}

/* An input of random bits needs no copy: its seed makes it again. */
bool tt__verify_is_kept(const tt__array *a) {
    return a->direction == TT__INOUT || (a->direction == TT__IN && (a->init != TT__INIT_RANDOM || a->filled));
}

bool tt__verify_is_masked(const tt__workload *w, const tt__array *a) {
    return a->direction == TT__OUT && tt__verify_is_known(w, a);
}

int64_t tt__verify_bytes(const tt__workload *w) {
    int64_t sum = 0;
    for (int i = 0; i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        int64_t bytes = (int64_t)tt__verify_area_bytes(w, i);
        if (a->direction != TT__SCALAR)
            sum += bytes + tt__verify_is_kept(a) * bytes + tt__verify_is_known(w, a) * bytes +
                   tt__verify_is_masked(w, a) * bytes / 8;
    }
    return sum;
}

/* Results start from one common seed, and each input has its own, so that no two inputs are equal. */
unsigned tt__verify_seed(const tt__workload *w, int i) {
    return w->arrays[i].direction == TT__OUT ? TT__SEED_OUTPUT : i == 0 ? TT__SEED_INPUT : (unsigned)(16 + i);
}

/* ---- The checker's kernels ----------------------------------------------------------------------------- */

CUresult tt__verify_launch(const tt__verifier *v, CUfunction fn, int64_t n, void **args) {
    int64_t blocks = (n + 255) / 256; /* a kernel's loop covers more items */
    return v->cu->cuLaunchKernel(fn,
                                 blocks < 1      ? 1
                                 : blocks > 8192 ? 8192
                                                 : (unsigned)blocks,
                                 1, 1, 256, 1, 1, 0, v->stream, args, NULL);
}

CUresult tt__verify_fill(const tt__verifier *v, CUdeviceptr ptr, size_t bytes, unsigned seed, int inverted) {
    long long n = (long long)(bytes / 4);
    return tt__verify_launch(v, v->fill, n, (void *[]){&ptr, &n, &seed, &inverted});
}

tt_status tt__verifier_randomise(const tt__verifier *v, CUdeviceptr ptr, size_t bytes) {
    TT_TRY(tt__cu_check(tt__verify_fill(v, ptr, bytes, TT__SEED_OUTPUT, 0), "tt_fill"));
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling %zu bytes", bytes);
}

CUresult tt__verify_move(const tt__verifier *v, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return v->cu->cuMemcpyDtoDAsync(to, from, bytes, v->stream);
}

CUresult tt__verify_renew(const tt__verifier *v, int i, CUdeviceptr to, int inverted) {
    const tt__area *area = &v->areas[i];
    return area->before ? tt__verify_move(v, to, area->before, area->bytes)
                        : tt__verify_fill(v, to, area->bytes, tt__verify_seed(&v->work, i), inverted);
}

CUresult tt__verifier_initial(const tt__verifier *v, int i, CUdeviceptr to) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    if (a->direction != TT__IN && a->direction != TT__INOUT)
        return CUDA_SUCCESS;
    return tt__verify_move(v, to, (area->before ? area->before : area->live) + area->head,
                           (size_t)tt__array_bytes(a));
}

CUresult tt__verifier_spread(const tt__verifier *v, CUdeviceptr slots, size_t bytes, size_t stride,
                             size_t n_slots) {
    long long words = (long long)(bytes / 16), step = (long long)(stride / 16), n = (long long)n_slots;
    unsigned rows = n_slots > 32768 ? 32768 : (unsigned)n_slots - 1;
    int64_t blocks = (words + 255) / 256;
    if (n_slots < 2)
        return CUDA_SUCCESS;
    return v->cu->cuLaunchKernel(v->spread, blocks > 1024 ? 1024 : (unsigned)blocks, rows, 1, 256, 1, 1, 0,
                                 v->stream, (void *[]){&slots, &words, &step, &n}, NULL);
}

/* Must the result be right bit for bit? Inputs must not change at all. */
static bool is_exact(const tt__workload *w, int i) {
    const tt__array *a = &w->arrays[i];
    return a->direction == TT__IN || a->type == TT__TYPE_ELEM ||
           (w->abs_tolerance <= 0 && w->rel_tolerance <= 0 && w->scale_tolerance <= 0);
}

bool tt__verify_has_numbers(const tt__workload *w) {
    for (int i = 0; i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        if (a->direction == TT__SCALAR)
            continue;
        if (a->init == TT__INIT_UNIFORM || a->init == TT__INIT_NORMAL || a->init == TT__INIT_SORTED ||
            a->init == TT__INIT_PERMUTATION || !is_exact(w, i))
            return true;
    }
    return false;
}

void tt__verify_candidate(tt__candidate *out, const tt__workload *w) {
    *out = (tt__candidate){0};
    tt__copy(out->config, sizeof out->config, tt__verify_has_numbers(w) ? "NUMBERS=1" : "NUMBERS=0");
}

/* Results are poisoned by inverting the expected bits. For a whole number with a tolerance, the inverse -n -
 * 1 may be acceptable, so the upper bit of each byte is flipped instead. */
static unsigned poison_bits(const tt__verifier *v, int i) {
    return is_exact(&v->work, i) || tt__types[v->work.arrays[i].type].floating ? ~0u : 0x80808080u;
}

/* Checks that random bits are unchanged, from byte `from` of the area on. */
static CUresult check_bits(tt__verifier *v, int i, CUdeviceptr area, size_t from, size_t bytes,
                           CUdeviceptr found) {
    long long begin = (long long)from, end = (long long)(from + bytes);
    unsigned seed = tt__verify_seed(&v->work, i);
    return tt__verify_launch(v, v->check_fill, (long long)(bytes / 4),
                             (void *[]){&area, &begin, &end, &seed, &found});
}

CUresult tt__verify_guards(tt__verifier *v, int i, CUdeviceptr at, CUdeviceptr found) {
    const tt__area *area = &v->areas[i];
    size_t tail = area->head + (size_t)tt__array_bytes(&v->work.arrays[i]);
    CUresult r = check_bits(v, i, at, 0, area->head, found);
    return r == CUDA_SUCCESS ? check_bits(v, i, at, tail, area->bytes - tail, found) : r;
}

static CUresult compare(tt__verifier *v, int i, CUdeviceptr with, CUdeviceptr found) {
    const tt__array *a = &v->work.arrays[i];
    tt__area *area = &v->areas[i];
    long long words = (long long)(area->bytes / 16), head = (long long)area->head, count = a->count;
    int type = a->type, size = a->elem_size;
    double most = area->tolerance, part = v->work.rel_tolerance;
    if (is_exact(&v->work, i))
        return tt__verify_launch(v, v->compare, words, (void *[]){&area->live, &with, &words, &found});
    return tt__verify_launch(
        v, v->compare_numbers, words,
        (void *[]){&area->live, &with, &words, &head, &count, &type, &size, &most, &part, &found});
}

CUresult tt__verify_area(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    CUdeviceptr found = tt__verify_finding(v, i);
    if (area->reference)
        return compare(v, i, area->reference, found);
    if (a->direction == TT__IN)
        return area->before ? compare(v, i, area->before, found)
                            : check_bits(v, i, area->live, 0, area->bytes, found);
    return tt__verify_guards(v, i, area->live, found); /* the expected contents are unknown */
}

tt_status tt__verify_check(tt__verifier *v, CUresult (*look)(tt__verifier *v, int i),
                           tt__finding found[TT__OPERANDS_MAX], const char *what) {
    TT_TRY(tt__cu_check(tt__verify_move(v, v->findings, v->findings + TT__FINDINGS_BYTES, TT__FINDINGS_BYTES),
                        "%s", what));
    for (int i = 0; i < v->work.n; i++)
        if (v->work.arrays[i].direction != TT__SCALAR)
            TT_TRY(tt__cu_check(look(v, i), "%s", what));
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "%s", what));
    return tt__cu_check(v->cu->cuMemcpyDtoH(found, v->findings, TT__FINDINGS_BYTES), "cuMemcpyDtoH");
}

tt_status tt__verify_sum(tt__verifier *v, uint64_t *out) {
    CUdeviceptr sum = v->findings;
    TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(sum, 0, sizeof *out, v->stream), "cuMemsetD8Async"));
    for (int i = 0; i < v->work.n; i++) {
        const tt__area *area = &v->areas[i];
        CUdeviceptr kept[] = {area->before, area->reference, area->written};
        for (unsigned k = 0; k < 3; k++) {
            long long n = (long long)(area->bytes / (k == 2 ? 8 : 1) / 4);
            unsigned seed = 64 + 3 * (unsigned)i + k;
            if (kept[k])
                TT_TRY(tt__cu_check(tt__verify_launch(v, v->sum, n, (void *[]){&kept[k], &n, &seed, &sum}),
                                    "tt_sum"));
        }
    }
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "tt_sum"));
    return tt__cu_check(v->cu->cuMemcpyDtoH(out, sum, sizeof *out), "cuMemcpyDtoH");
}

CUresult tt__verify_poison(tt__verifier *v) {
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; i < v->work.n && r == CUDA_SUCCESS; i++) {
        tt__area *area = &v->areas[i];
        long long words = (long long)(area->bytes / 16);
        unsigned flip = poison_bits(v, i);
        if (area->written)
            r = tt__verify_launch(v, v->poison, words,
                                  (void *[]){&area->live, &area->reference, &area->written, &words, &flip});
        else if (area->reference && area->before)
            r = tt__verify_move(v, area->live, area->before, area->bytes);
        else if (area->live && v->work.arrays[i].direction != TT__IN &&
                 v->work.arrays[i].direction != TT__CONSTANT)
            r = tt__verify_fill(v, area->live, area->bytes, tt__verify_seed(&v->work, i), 0);
        /* The array of this configuration may be shorter than the one in `before`. Random bits follow it. */
        if (r == CUDA_SUCCESS && v->work.arrays[i].direction == TT__INOUT && !area->reference)
            r = tt__verifier_initial(v, i, area->live + area->head);
    }
    return r;
}

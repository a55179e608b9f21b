/* Filling arrays, and looking at the result of a peer: with plain loops on the device, once before it is
 * timed. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/peers.h"
#include "bench/texts.h"
#include "code/nvrtc.h"
#include "tuner/measure/verify.h"

enum { POISON = 0x40 /* sets the bit that bench_fill clears in every second byte */, THREADS = 256 };

struct bench_checker {
    CUmodule module;
    CUfunction fill, count_wrong, sum;
    CUdeviceptr report;
    CUstream stream;
    const tt__driver *cu;
};

static tt_status load(bench_checker *k, bench *b, int elem_size) {
    char option[32];
    tt__str cubin = {0};
    snprintf(option, sizeof option, "-DELEM_SIZE=%d", elem_size);
    tt_status status = tt__nvrtc_compile(&cubin, "check.cu", bench_text("check.cu"), option, 1, b->gpu.cc);
    if (status == TT_OK)
        status = tt__cu_check(k->cu->cuModuleLoadData(&k->module, cubin.text), "cuModuleLoadData (check.cu)");
    tt__str_free(&cubin);
    TT_TRY(status);
    const struct {
        CUfunction *fn;
        const char *name;
    } wanted[] = {{&k->fill, "bench_fill"}, {&k->count_wrong, "bench_count_wrong"}, {&k->sum, "bench_sum"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        TT_TRY(tt__cu_check(k->cu->cuModuleGetFunction(wanted[i].fn, k->module, wanted[i].name),
                            "cuModuleGetFunction (%s)", wanted[i].name));
    return tt__cu_check(k->cu->cuMemAlloc(&k->report, sizeof(uint64_t)), "cuMemAlloc");
}

static void unload(bench_checker *k) {
    if (k->report)
        k->cu->cuMemFree(k->report);
    if (k->module)
        k->cu->cuModuleUnload(k->module);
    free(k);
}

static tt_status checker(bench_checker **out, bench *b, int elem_size) {
    *out = b->checkers[elem_size];
    if (*out)
        return TT_OK;
    bench_checker *k = calloc(1, sizeof *k);
    if (!k)
        return tt__fail_memory(sizeof *k);
    k->cu = b->cu;
    k->stream = b->stream;
    tt_status status = load(k, b, elem_size);
    if (status != TT_OK)
        unload(k);
    else
        *out = b->checkers[elem_size] = k;
    return status;
}

tt_status bench_flusher(bench *b, CUfunction *fill) {
    tt__str cubin = {0};
    tt_status status =
        tt__nvrtc_compile(&cubin, tt__checker[0].name, tt__checker[0].source, "-DPART=0", 1, b->gpu.cc);
    if (status == TT_OK)
        status = tt__cu_check(b->cu->cuModuleLoadData(&b->flusher, cubin.text), "cuModuleLoadData (tt_fill)");
    if (status == TT_OK)
        status = tt__cu_check(b->cu->cuModuleGetFunction(fill, b->flusher, "tt_fill"),
                              "cuModuleGetFunction (tt_fill)");
    tt__str_free(&cubin);
    return status;
}

void bench_checkers_close(bench *b) {
    if (b->flusher)
        b->cu->cuModuleUnload(b->flusher);
    b->flusher = NULL;
    for (size_t i = 0; i < sizeof b->checkers / sizeof *b->checkers; i++) {
        if (b->checkers[i])
            unload(b->checkers[i]);
        b->checkers[i] = NULL;
    }
}

static tt_status run(bench_checker *k, CUfunction fn, int64_t items, void **args, const char *what) {
    int64_t blocks = (items + THREADS - 1) / THREADS, most = 1 << 16;
    unsigned grid = (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
    TT_TRY(tt__cu_check(k->cu->cuLaunchKernel(fn, grid, 1, 1, THREADS, 1, 1, 0, k->stream, args, NULL), "%s",
                        what));
    return tt__cu_check(k->cu->cuStreamSynchronize(k->stream), "%s", what);
}

static tt_status run_report(bench_checker *k, CUfunction fn, int64_t items, void **args, uint64_t *result) {
    const uint64_t zero = 0;
    TT_TRY(tt__cu_check(k->cu->cuMemcpyHtoD(k->report, &zero, sizeof zero), "cuMemcpyHtoD"));
    TT_TRY(run(k, fn, items, args, "checking"));
    return tt__cu_check(k->cu->cuMemcpyDtoH(result, k->report, sizeof *result), "cuMemcpyDtoH");
}

tt_status bench_fill(bench *b, CUdeviceptr ptr, size_t bytes) {
    bench_checker *k;
    long long n = (long long)(bytes / 4);
    TT_TRY(checker(&k, b, 4));
    return run(k, k->fill, n, (void *[]){&ptr, &n}, "bench_fill");
}

static tt_status count_wrong(bench *b, const tt_problem *p, CUdeviceptr dst, CUdeviceptr src, bool transposed,
                             uint64_t *wrong) {
    bench_checker *k;
    TT_TRY(checker(&k, b, p->elem_size));
    long long rows = p->rows, cols = p->cols, lds = p->lds, ldd = p->ldd;
    long long batch = p->batch, src_stride = p->src_stride, dst_stride = p->dst_stride;
    int flag = transposed;
    if (!transposed) { /* a copy of as many bytes, dense */
        lds = ldd = cols;
        src_stride = dst_stride = rows * cols;
    }
    return run_report(
        k, k->count_wrong, rows * cols * batch,
        (void *[]){&dst, &src, &rows, &cols, &lds, &ldd, &batch, &src_stride, &dst_stride, &flag, &k->report},
        wrong);
}

static tt_status sum(bench *b, int elem_size, CUdeviceptr array, int64_t rows, int64_t cols, int64_t ld,
                     uint64_t *result) {
    bench_checker *k;
    TT_TRY(checker(&k, b, elem_size));
    long long r = rows, c = cols, l = ld;
    return run_report(k, k->sum, rows * cols, (void *[]){&array, &r, &c, &l, &k->report}, result);
}

static tt_status judge(bench *b, const tt_problem *p, bench_check_kind kind, CUdeviceptr dst, CUdeviceptr src,
                       uint64_t *wrong) {
    if (kind != BENCH_IS_PERMUTATION)
        return count_wrong(b, p, dst, src, kind == BENCH_IS_TRANSPOSE, wrong);
    uint64_t before, after;
    TT_TRY(sum(b, p->elem_size, src, p->rows, p->cols, p->lds, &before));
    TT_TRY(sum(b, p->elem_size, dst, p->cols, p->rows, p->ldd, &after));
    *wrong = before != after;
    return TT_OK;
}

tt_status bench_check(bench *b, const bench_case *c, const bench_variant *v, bench_check_kind kind,
                      CUdeviceptr dst, CUdeviceptr src) {
    const tt_problem *p = &c->public;
    bool in_place = kind == BENCH_IS_TRANSPOSE && p->in_place;
    uint64_t wrong = 0;
    TT_TRY(tt__cu_check(b->cu->cuMemsetD8Async(dst, POISON, (size_t)bench_dst_bytes(p), b->stream),
                        "cuMemsetD8Async"));
    TT_TRY(judge(b, p, kind, dst, src, &wrong));
    if (wrong == 0)
        return tt__fail(TT_E_INTERNAL, "the check finds nothing wrong with a poisoned result");
    if (in_place)
        TT_TRY(tt__cu_check(b->cu->cuMemcpyDtoDAsync(dst, src, (size_t)bench_src_bytes(p), b->stream),
                            "cuMemcpyDtoDAsync"));
    TT_TRY(v->launch(v->self, dst, in_place ? dst : src, b->stream));
    TT_TRY(tt__cu_check(b->cu->cuStreamSynchronize(b->stream), "%s", v->detail));
    TT_TRY(judge(b, p, kind, dst, src, &wrong));
    if (wrong)
        return tt__fail(TT_E_INTERNAL, "WRONG RESULT%s",
                        kind == BENCH_IS_PERMUTATION ? "" : ": not as the reference");
    return TT_OK;
}

/* The verifier: see the header. An output area is [guard][array][guard], the same in the reference, where
 * guards and the space between rows hold random bits that nobody may touch. */
#include "tuner/verify.h"

#include <stdio.h>

#include "base/str.h"

enum { GUARD = 4096, SEED_SRC = 1, SEED_GUARD = 2, CHECKED_BY_CPU = 64 };

/* What the comparisons found; on the device a clear one lies behind it. */
typedef struct report {
    uint64_t n_wrong, first_wrong;     /* 16-byte words of the output area */
    uint64_t n_changed, first_changed; /* 4-byte words of the source */
} report;
static const report nothing_found = {0, UINT64_MAX, 0, UINT64_MAX};

static uint32_t mix(uint64_t i, uint32_t seed) { /* as in verify.cu */
    uint32_t h = (uint32_t)i * 0x9e3779b1u ^ ((uint32_t)(i >> 32) + seed) * 0x85ebca77u;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

/* A base address that is aligned to exactly what the problem says. */
static size_t shift(const tt__problem *p) {
    return p->align < 16 ? (size_t)p->align : 0;
}
static size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}
static size_t src_alloc(const tt__problem *p) {
    return round_up(shift(p) + (size_t)tt__src_bytes(p), 16);
}
static size_t out_alloc(const tt__problem *p) {
    return round_up(GUARD + shift(p) + (size_t)tt__dst_bytes(p) + GUARD, 16);
}

int64_t tt__verify_bytes(const tt__problem *p) {
    return (int64_t)(src_alloc(p) + 2 * out_alloc(p));
}

static CUresult run(tt__verifier *v, CUfunction fn, unsigned gx, unsigned gy, unsigned gz, void **args) {
    return v->cu->cuLaunchKernel(fn, gx, gy, gz, 256, 1, 1, 0, v->stream, args, NULL);
}

/* A grid for n independent items; the kernels stride beyond it. */
static unsigned blocks(int64_t n) {
    int64_t b = (n + 255) / 256;
    return b < 1 ? 1 : b > 8192 ? 8192 : (unsigned)b;
}

/* Runs a kernel over all elements of matrices of rows x cols. */
static CUresult run_over(tt__verifier *v, CUfunction fn, int64_t rows, int64_t cols, void **args) {
    enum { GRID_YZ_MAX = 32768 };
    int64_t batch = v->problem.batch;
    return run(v, fn, blocks(cols), rows < GRID_YZ_MAX ? (unsigned)rows : GRID_YZ_MAX,
               batch < GRID_YZ_MAX ? (unsigned)batch : GRID_YZ_MAX, args);
}

static CUresult fill(tt__verifier *v, CUdeviceptr ptr, size_t bytes, unsigned seed) {
    long long n = (long long)(bytes / 4);
    return run(v, v->fill, blocks(n), 1, 1, (void *[]){&ptr, &n, &seed});
}

tt_status tt__verifier_randomise(tt__verifier *v, CUdeviceptr ptr, size_t bytes) {
    TT_TRY(tt__cu_check(fill(v, ptr, bytes, SEED_GUARD), "tt_fill"));
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling %zu bytes", bytes);
}

/* The byte at an offset of the source's allocation, as tt_fill made it. */
static unsigned char src_byte(uint64_t offset) {
    return (unsigned char)(mix(offset / 4, SEED_SRC) >> 8 * (offset % 4));
}

static tt_status check_reference(tt__verifier *v) {
    const tt__problem *p = &v->problem;
    uint64_t e = (uint64_t)p->elem_size;
    for (int i = 0; i < CHECKED_BY_CPU; i++) {
        /* The corners first, then anywhere. */
        uint64_t r = i < 4 ? (i & 1 ? (uint64_t)p->rows - 1 : 0) : mix((uint64_t)i, 7) % (uint64_t)p->rows;
        uint64_t c = i < 4 ? (i & 2 ? (uint64_t)p->cols - 1 : 0) : mix((uint64_t)i, 8) % (uint64_t)p->cols;
        uint64_t b = i < 4 ? (uint64_t)i % (uint64_t)p->batch : mix((uint64_t)i, 9) % (uint64_t)p->batch;
        uint64_t at = b * (uint64_t)p->dst_stride +
                      (tt__dst_transposed(p) ? c * (uint64_t)p->ldd + r : r * (uint64_t)p->ldd + c);
        unsigned char got[16], want[16];
        CUdeviceptr element = v->ref_base + GUARD + shift(p) + at * e;
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(got, element, e), "reading the reference"));
        for (uint64_t k = 0; k < e; k++)
            want[k] = src_byte(shift(p) + (b * (uint64_t)p->src_stride + r * (uint64_t)p->lds + c) * e + k);
        if (memcmp(got, want, e))
            return tt__fail(TT_E_INTERNAL, "the reference is wrong at row %llu, column %llu: the GPU, its driver "
                                           "or NVRTC miscomputes a plain copy loop",
                            (unsigned long long)r, (unsigned long long)c);
    }
    return TT_OK;
}

static tt_status build_reference(tt__verifier *v) {
    const tt__problem *p = &v->problem;
    long long rows = p->rows, cols = p->cols, lds = p->lds, ldd = p->ldd;
    long long batch = p->batch, src_stride = p->src_stride, dst_stride = p->dst_stride;
    int transposed = tt__dst_transposed(p);
    CUdeviceptr ref = v->ref_base + GUARD + shift(p), src = v->src;
    TT_TRY(tt__cu_check(fill(v, v->src_base, v->src_alloc, SEED_SRC), "tt_fill"));
    TT_TRY(tt__cu_check(fill(v, v->ref_base, v->out_alloc, SEED_GUARD), "tt_fill"));
    TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoDAsync(v->out_base, v->ref_base, v->out_alloc, v->stream),
                        "cuMemcpyDtoDAsync"));
    TT_TRY(tt__cu_check(run_over(v, v->reference, rows, cols,
                                 (void *[]){&ref, &src, &rows, &cols, &lds, &ldd, &batch, &src_stride, &dst_stride,
                                            &transposed}),
                        "tt_reference"));
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "building the reference"));
    return check_reference(v);
}

tt_status tt__verifier_open(tt__verifier *v, const tt__driver *cu, CUstream stream, const tt__problem *p,
                            const void *checker_cubin) {
    *v = (tt__verifier){.cu = cu, .stream = stream, .problem = *p};
    v->src_alloc = src_alloc(p);
    v->out_alloc = out_alloc(p);
    tt_status status;
    TT_GOTO(tt__cu_check(cu->cuModuleLoadData(&v->module, checker_cubin), "cuModuleLoadData (checker)"));
    const struct {
        CUfunction *fn;
        const char *name;
    } fns[] = {{&v->fill, "tt_fill"},
               {&v->check_fill, "tt_check_fill"},
               {&v->reference, "tt_reference"},
               {&v->poison, "tt_poison"},
               {&v->compare, "tt_compare"}};
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++)
        TT_GOTO(tt__cu_check(cu->cuModuleGetFunction(fns[i].fn, v->module, fns[i].name), "cuModuleGetFunction (%s)",
                             fns[i].name));
    const struct {
        CUdeviceptr *ptr;
        size_t bytes;
    } memory[] = {{&v->src_base, v->src_alloc},
                  {&v->out_base, v->out_alloc},
                  {&v->ref_base, v->out_alloc},
                  {&v->report, 2 * sizeof(report)}};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        TT_GOTO(tt__cu_check(cu->cuMemAlloc(memory[i].ptr, memory[i].bytes), "cuMemAlloc (%zu bytes)",
                             memory[i].bytes));
    TT_GOTO(tt__cu_check(cu->cuMemcpyHtoD(v->report + sizeof(report), &nothing_found, sizeof nothing_found),
                         "cuMemcpyHtoD"));
    v->src = v->src_base + shift(p);
    v->out = v->out_base + GUARD + shift(p);
    TT_GOTO(build_reference(v));
    return TT_OK;
out:
    tt__verifier_close(v);
    return status;
}

void tt__verifier_close(tt__verifier *v) {
    CUdeviceptr memory[] = {v->src_base, v->out_base, v->ref_base, v->report};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (memory[i])
            v->cu->cuMemFree(memory[i]);
    if (v->module)
        v->cu->cuModuleUnload(v->module);
    *v = (tt__verifier){0};
}

/* Words for the first wrong byte at or behind 16-byte word `word` of the output area. */
static tt_status explain(tt__verifier *v, uint64_t word, uint64_t n_words, tt__trial *trial) {
    const tt__problem *p = &v->problem;
    unsigned char got[16], want[16];
    TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(got, v->out_base + word * 16, 16), "cuMemcpyDtoH"));
    TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(want, v->ref_base + word * 16, 16), "cuMemcpyDtoH"));
    int k = 0;
    while (k < 15 && got[k] == want[k])
        k++;
    int64_t at = (int64_t)(word * 16) + k - GUARD - (int64_t)shift(p);
    int64_t element = at / p->elem_size, matrix = p->batch > 1 ? element / p->dst_stride : 0;
    int64_t row = (element - matrix * p->dst_stride) / p->ldd, col = (element - matrix * p->dst_stride) % p->ldd;
    if (at < 0)
        snprintf(trial->reason, sizeof trial->reason, "wrote %lld bytes before the destination", (long long)-at);
    else if (at >= tt__dst_bytes(p))
        snprintf(trial->reason, sizeof trial->reason, "wrote %lld bytes behind the end of the destination",
                 (long long)(at - tt__dst_bytes(p)));
    else if (col >= tt__dst_cols(p) || row >= tt__dst_rows(p))
        snprintf(trial->reason, sizeof trial->reason,
                 "wrote between the rows of the destination, behind row %lld of matrix %lld", (long long)row,
                 (long long)matrix);
    else
        snprintf(trial->reason, sizeof trial->reason,
                 "first wrong element at dst[%lld][%lld] of matrix %lld: byte is 0x%02x, should be 0x%02x; %llu pieces of 16 bytes "
                 "differ",
                 (long long)row, (long long)col, (long long)matrix, got[k], want[k], (unsigned long long)n_words);
    return TT_OK;
}

/* Guards and the space between rows become the reference's, elements what tt_poison says. */
static tt_status poison(tt__verifier *v) {
    const tt__problem *p = &v->problem;
    long long rows = tt__dst_rows(p), cols = tt__dst_cols(p), ldd = p->ldd, batch = p->batch, stride = p->dst_stride;
    CUdeviceptr out = v->out, ref = v->ref_base + (v->out - v->out_base), src = tt__in_place(p) ? v->src : 0;
    bool dense = ldd == cols && (batch == 1 || stride == rows * ldd);
    size_t head = (size_t)(v->out - v->out_base), tail = head + (size_t)tt__dst_bytes(p);
    const struct {
        size_t at, bytes;
    } kept[] = {{0, dense ? head : v->out_alloc}, {tail, dense ? v->out_alloc - tail : 0}};
    for (int i = 0; i < 2; i++)
        if (kept[i].bytes)
            TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoDAsync(v->out_base + kept[i].at, v->ref_base + kept[i].at,
                                                         kept[i].bytes, v->stream),
                                "cuMemcpyDtoDAsync"));
    return tt__cu_check(
        run_over(v, v->poison, rows, cols, (void *[]){&out, &ref, &src, &rows, &cols, &ldd, &batch, &stride}),
        "tt_poison");
}

/* Queues both comparisons behind the kernel and waits once, for all three. */
static tt_status check(tt__verifier *v, report *found) {
    long long n = (long long)(v->out_alloc / 16), words = (long long)(v->src_alloc / 4);
    unsigned seed = SEED_SRC;
    CUdeviceptr at = v->report, changed = v->report + offsetof(report, n_changed);
    TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoDAsync(at, at + sizeof *found, sizeof *found, v->stream), "kernel"));
    TT_TRY(tt__cu_check(
        run(v, v->compare, blocks(n), 1, 1, (void *[]){&v->out_base, &v->ref_base, &n, &at}), "kernel"));
    TT_TRY(tt__cu_check(
        run(v, v->check_fill, blocks(words), 1, 1, (void *[]){&v->src_base, &words, &seed, &changed}), "kernel"));
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "kernel"));
    return tt__cu_check(v->cu->cuMemcpyDtoH(found, at, sizeof *found), "cuMemcpyDtoH");
}

tt_status tt__verify(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch, tt__trial *trial) {
    TT_TRY(poison(v));
    CUresult r = tt__kernel_launch(kernel, v->cu, launch, v->out, v->src, v->stream);
    if (r != CUDA_SUCCESS) {
        tt__cu_check(r, "launch");
        trial->status = TT__TRIAL_LAUNCH_ERROR;
        tt__copy(trial->reason, sizeof trial->reason, tt_last_error());
        return TT_OK;
    }
    report found;
    TT_TRY(check(v, &found));
    if (found.n_wrong) {
        trial->status = TT__TRIAL_WRONG_RESULT;
        TT_TRY(explain(v, found.first_wrong, found.n_wrong, trial));
    }
    if (found.n_changed) { /* or every later configuration would be called wrong */
        trial->status = TT__TRIAL_WRONG_RESULT;
        snprintf(trial->reason, sizeof trial->reason, "wrote to the source, first at byte %llu",
                 (unsigned long long)found.first_changed * 4);
        TT_TRY(tt__cu_check(fill(v, v->src_base, v->src_alloc, SEED_SRC), "tt_fill"));
    }
    return TT_OK;
}

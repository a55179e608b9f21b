/* The verifier: see the header. */
#include "tuner/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/str.h"

enum { GUARD = 4096 };

/* What the comparisons found for one operand; on the device a clear set lies behind. */
typedef struct finding {
    uint64_t n, first; /* 16-byte words that differ, and a byte of the area */
} finding;
enum { FINDINGS_BYTES = TT__OPERANDS_MAX * sizeof(finding) };

static CUdeviceptr finding_of(const tt__verifier *v, int i) {
    return v->findings + (CUdeviceptr)i * sizeof(finding);
}

uint32_t tt__mix(uint64_t i, uint32_t seed) { /* as in verify.cu */
    uint32_t h = (uint32_t)i * 0x9e3779b1u ^ ((uint32_t)(i >> 32) + seed) * 0x85ebca77u;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

/* ---- What lies where ----------------------------------------------------------------------------------- */

/* A base address that is aligned to exactly what the problem says. */
static size_t shift(const tt__workload *w) {
    return w->align < 16 ? (size_t)w->align : 0;
}

static size_t area_bytes(const tt__workload *w, int i) {
    return (GUARD + shift(w) + (size_t)tt__array_bytes(&w->arrays[i]) + GUARD + 15) / 16 * 16;
}

static bool is_result(const tt__array *a) {
    return a->direction == TT__OUT || a->direction == TT__INOUT;
}

static bool is_known(const tt__workload *w, const tt__array *a) {
    return is_result(a) && (w->has_reference || a->expect[0]);
}

/* An input of random bits needs no copy: the seed makes it again. */
static bool is_kept(const tt__array *a) {
    return a->direction == TT__INOUT || (a->direction == TT__IN && a->init != TT__INIT_RANDOM);
}

static bool is_masked(const tt__workload *w, const tt__array *a) {
    return a->direction == TT__OUT && is_known(w, a);
}

int64_t tt__verify_bytes(const tt__workload *w) {
    int64_t sum = 0;
    for (int i = 0; i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        int64_t bytes = (int64_t)area_bytes(w, i);
        if (a->direction != TT__SCALAR)
            sum += bytes + is_kept(a) * bytes + is_known(w, a) * bytes + is_masked(w, a) * bytes / 8;
    }
    return sum;
}

/* Results start from the same random bits, others from their own, so that no two inputs are alike. */
static unsigned seed_of(const tt__workload *w, int i) {
    return w->arrays[i].direction == TT__OUT ? TT__SEED_OUTPUT : i == 0 ? TT__SEED_INPUT : (unsigned)(16 + i);
}

/* ---- The checker's kernels ----------------------------------------------------------------------------- */

static CUresult run(const tt__verifier *v, CUfunction fn, int64_t n, void **args) {
    int64_t blocks = (n + 255) / 256; /* the kernels stride beyond it */
    return v->cu->cuLaunchKernel(fn, blocks < 1 ? 1 : blocks > 8192 ? 8192 : (unsigned)blocks, 1, 1, 256, 1, 1, 0,
                                 v->stream, args, NULL);
}

static CUresult fill(const tt__verifier *v, CUdeviceptr ptr, size_t bytes, unsigned seed, int inverted) {
    long long n = (long long)(bytes / 4);
    return run(v, v->fill, n, (void *[]){&ptr, &n, &seed, &inverted});
}

tt_status tt__verifier_randomise(tt__verifier *v, CUdeviceptr ptr, size_t bytes) {
    TT_TRY(tt__cu_check(fill(v, ptr, bytes, TT__SEED_OUTPUT, 0), "tt_fill"));
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling %zu bytes", bytes);
}

static CUresult move(const tt__verifier *v, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return v->cu->cuMemcpyDtoDAsync(to, from, bytes, v->stream);
}

CUresult tt__verifier_initial(const tt__verifier *v, int i, CUdeviceptr to) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    if (a->direction != TT__IN && a->direction != TT__INOUT)
        return CUDA_SUCCESS;
    return move(v, to, (area->before ? area->before : area->live) + area->head, (size_t)tt__array_bytes(a));
}

CUresult tt__verifier_spread(const tt__verifier *v, CUdeviceptr slots, size_t bytes, size_t stride, size_t n_slots) {
    long long words = (long long)(bytes / 16), step = (long long)(stride / 16), n = (long long)n_slots;
    unsigned rows = n_slots > 32768 ? 32768 : (unsigned)n_slots - 1;
    int64_t blocks = (words + 255) / 256;
    if (n_slots < 2)
        return CUDA_SUCCESS;
    return v->cu->cuLaunchKernel(v->spread, blocks > 1024 ? 1024 : (unsigned)blocks, rows, 1, 256, 1, 1, 0, v->stream,
                                 (void *[]){&slots, &words, &step, &n}, NULL);
}

static tt_status open_checker(tt__verifier *v, const void *cubin) {
    const struct {
        CUfunction *fn;
        const char *name;
    } fns[] = {{&v->fill, "tt_fill"},       {&v->check_fill, "tt_check_fill"},
               {&v->numbers, "tt_numbers"}, {&v->written, "tt_written"},
               {&v->poison, "tt_poison"},   {&v->compare, "tt_compare"},
               {&v->spread, "tt_spread"},   {&v->compare_numbers, "tt_compare_numbers"},
               {&v->sum, "tt_sum"}};
    TT_TRY(tt__cu_check(v->cu->cuLibraryLoadData(&v->library, cubin, NULL, NULL, 0, NULL, NULL, 0),
                        "cuLibraryLoadData (checker)"));
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        CUkernel kernel;
        TT_TRY(tt__cu_check(v->cu->cuLibraryGetKernel(&kernel, v->library, fns[i].name), "cuLibraryGetKernel (%s)",
                            fns[i].name));
        TT_TRY(tt__cu_check(v->cu->cuKernelGetFunction(fns[i].fn, kernel), "cuKernelGetFunction (%s)", fns[i].name));
    }
    return TT_OK;
}

/* ---- Opening ------------------------------------------------------------------------------------------- */

static tt_status allocate(tt__verifier *v, CUdeviceptr *out, size_t bytes) {
    return tt__cu_check(v->cu->cuMemAlloc(out, bytes), "cuMemAlloc (%zu bytes)", bytes);
}

static tt_status open_area(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    tt__area *area = &v->areas[i];
    v->operands[i] = &area->operand;
    if (a->direction == TT__SCALAR) {
        tt__launch one = {.n_passes = 1, .passes = {{.n_args = 1}}, .args = {{.type = a->type}}};
        one.args[0].i = (int64_t)a->low;
        one.args[0].f = a->low;
        tt__arg_value constants[TT__ARGS_MAX];
        tt__kernel_constants(constants, &one);
        area->scalar = constants[0];
        v->operands[i] = &area->scalar;
        return TT_OK;
    }
    area->bytes = area_bytes(&v->work, i);
    area->head = GUARD + shift(&v->work);
    TT_TRY(allocate(v, &area->live, area->bytes));
    area->operand = area->live + area->head;
    if (is_kept(a))
        TT_TRY(allocate(v, &area->before, area->bytes));
    if (is_known(&v->work, a))
        TT_TRY(allocate(v, &area->reference, area->bytes));
    if (is_masked(&v->work, a))
        TT_TRY(allocate(v, &area->written, area->bytes / 8));
    return tt__cu_check(fill(v, area->live, area->bytes, seed_of(&v->work, i), 0), "tt_fill");
}

/* Raw data, which must be as long as the array. */
static tt_status read_data(const tt__verifier *v, const char *path, const tt__array *a, CUdeviceptr to) {
    tt__str data = {0};
    struct stat is;
    if (stat(path, &is) != 0)
        return tt__fail(TT_E_IO, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(is.st_mode)) /* a pipe may have no end */
        return tt__fail(TT_E_IO, "%s is no file", path);
    if (is.st_size != tt__array_bytes(a))
        return tt__fail(TT_E_IO, "%s has %lld bytes, but %s has %lld: %lld elements of %d bytes", path,
                        (long long)is.st_size, a->name, (long long)tt__array_bytes(a), (long long)a->count,
                        a->elem_size);
    TT_TRY(tt__read_file(&data, path));
    /* What is queued to be filled is filled before, and the copy has ended before whatever is queued next. */
    tt_status status = tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling");
    if (status == TT_OK && data.len != (size_t)tt__array_bytes(a))
        status = tt__fail(TT_E_IO, "%s changed while it was read", path);
    else if (status == TT_OK)
        status = tt__cu_check(v->cu->cuMemcpyHtoD(to, data.text, data.len), "cuMemcpyHtoD (%s)", path);
    if (status == TT_OK)
        status = tt__cu_check(v->cu->cuCtxSynchronize(), "cuMemcpyHtoD (%s)", path);
    tt__str_free(&data);
    return status;
}

static tt_status init_array(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    tt__area *area = &v->areas[i];
    const size_t bytes = (size_t)tt__array_bytes(a);
    long long n = a->count;
    int type = a->type, normal = a->init == TT__INIT_NORMAL;
    unsigned seed = seed_of(&v->work, i);
    double low = a->low, high = a->high;
    if (a->direction != TT__IN && a->direction != TT__INOUT)
        return TT_OK;
    switch (a->init) {
    case TT__INIT_RANDOM:
        break; /* the area is */
    case TT__INIT_UNIFORM:
    case TT__INIT_NORMAL:
        TT_TRY(tt__cu_check(run(v, v->numbers, n,
                                (void *[]){&area->operand, &n, &type, &normal, &low, &high, &seed}),
                            "tt_numbers"));
        break;
    case TT__INIT_ZEROS:
        TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(area->operand, 0, bytes, v->stream), "cuMemsetD8Async"));
        break;
    case TT__INIT_FILE:
        TT_TRY(read_data(v, a->file, a, area->operand));
        break;
    case TT__INIT_COPY:
        if (tt__array_bytes(&v->work.arrays[a->from]) < (int64_t)bytes)
            return tt__fail(TT_E_INVALID, "%s is to hold what %s does, which is shorter", a->name,
                            v->work.arrays[a->from].name);
        TT_TRY(tt__cu_check(move(v, area->operand, v->areas[a->from].operand, bytes), "cuMemcpyDtoDAsync"));
    }
    return area->before ? tt__cu_check(move(v, area->before, area->live, area->bytes), "cuMemcpyDtoDAsync") : TT_OK;
}

/* Everything as it is before a run, results in `live` or, if `to_reference`, beside it. */
static tt_status prepare_reference(tt__verifier *v, void *operands[], CUdeviceptr held[], bool second) {
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        tt__area *area = &v->areas[i];
        operands[i] = v->operands[i];
        if (!is_result(a) || !area->reference)
            continue;
        CUdeviceptr to = second ? area->live : area->reference;
        held[i] = to + area->head;
        operands[i] = &held[i];
        TT_TRY(tt__cu_check(area->before ? move(v, to, area->before, area->bytes)
                                         : fill(v, to, area->bytes, seed_of(&v->work, i), second),
                            "preparing the reference"));
    }
    return TT_OK;
}

static tt_status run_reference(tt__verifier *v, const tt__kernel *kernel) {
    for (int turn = 0; turn < 2; turn++) { /* the second one only tells what is written */
        void *operands[TT__OPERANDS_MAX];
        CUdeviceptr held[TT__OPERANDS_MAX];
        TT_TRY(prepare_reference(v, operands, held, turn == 1));
        TT_TRY(tt__cu_check(tt__kernel_launch(kernel, v->cu, &v->work.launch, operands, v->stream),
                            "launching the reference %s", v->work.reference.name[0]));
    }
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "the reference %s", v->work.reference.name[0]);
}

/* What a file says is right is all of the array, and nothing around it. */
static tt_status take_expected(tt__verifier *v) {
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        tt__area *area = &v->areas[i];
        const size_t bytes = (size_t)tt__array_bytes(a);
        if (!a->expect[0])
            continue;
        TT_TRY(tt__cu_check(fill(v, area->reference, area->bytes, seed_of(&v->work, i), 0), "tt_fill"));
        TT_TRY(tt__cu_check(fill(v, area->live, area->bytes, seed_of(&v->work, i), 1), "tt_fill"));
        TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling"));
        TT_TRY(read_data(v, a->expect, a, area->reference + area->head));
        TT_TRY(tt__cu_check(move(v, area->live + area->head, area->reference + area->head, bytes), "cuMemcpyDtoDAsync"));
        if (area->before) /* the guards of what is given, not of a result */
            TT_TRY(tt__cu_check(move(v, area->reference, area->before, area->head), "cuMemcpyDtoDAsync"));
        size_t tail = area->head + bytes;
        if (area->before)
            TT_TRY(tt__cu_check(move(v, area->reference + tail, area->before + tail, area->bytes - tail),
                                "cuMemcpyDtoDAsync"));
    }
    return TT_OK;
}

static tt_status find_written(tt__verifier *v) {
    for (int i = 0; i < v->work.n; i++) {
        tt__area *area = &v->areas[i];
        long long words = (long long)(area->bytes / 16);
        unsigned seed = seed_of(&v->work, i);
        if (area->written)
            TT_TRY(tt__cu_check(
                run(v, v->written, words, (void *[]){&area->reference, &area->live, &words, &seed, &area->written}),
                "tt_written"));
    }
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "building the reference");
}

/* Must it be right bit for bit? Inputs must not change at all. */
static bool is_exact(const tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    return a->direction == TT__IN || a->type == TT__TYPE_ELEM ||
           (v->work.abs_tolerance <= 0 && v->work.rel_tolerance <= 0);
}

/* The inverse of a whole number, -n - 1, may be within its tolerance: the upper bit of each byte is far off. */
static unsigned poison_bits(const tt__verifier *v, int i) {
    return is_exact(v, i) || tt__types[v->work.arrays[i].type].floating ? ~0u : 0x80808080u;
}

/* Random bits that must still be there, from byte `from` of the area on. */
static CUresult check_bits(tt__verifier *v, int i, CUdeviceptr area, size_t from, size_t bytes, CUdeviceptr found) {
    long long begin = (long long)from, end = (long long)(from + bytes);
    unsigned seed = seed_of(&v->work, i);
    return run(v, v->check_fill, (long long)(bytes / 4), (void *[]){&area, &begin, &end, &seed, &found});
}

static CUresult check_guards(tt__verifier *v, int i, CUdeviceptr at, CUdeviceptr found) {
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
    double most = v->work.abs_tolerance, part = v->work.rel_tolerance;
    if (is_exact(v, i))
        return run(v, v->compare, words, (void *[]){&area->live, &with, &words, &found});
    return run(v, v->compare_numbers, words,
               (void *[]){&area->live, &with, &words, &head, &count, &type, &size, &most, &part, &found});
}

static CUresult check_area(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    CUdeviceptr found = finding_of(v, i);
    if (area->reference)
        return compare(v, i, area->reference, found);
    if (a->direction == TT__IN)
        return area->before ? compare(v, i, area->before, found)
                            : check_bits(v, i, area->live, 0, area->bytes, found);
    return check_guards(v, i, area->live, found); /* of the array nobody knows what it should hold */
}

/* Starts with nothing found, queues the comparisons, and waits once, for all that was queued before, too. */
static tt_status check(tt__verifier *v, CUresult (*look)(tt__verifier *v, int i), finding found[TT__OPERANDS_MAX],
                       const char *what) {
    TT_TRY(tt__cu_check(move(v, v->findings, v->findings + FINDINGS_BYTES, FINDINGS_BYTES), "%s", what));
    for (int i = 0; i < v->work.n; i++)
        if (v->work.arrays[i].direction != TT__SCALAR)
            TT_TRY(tt__cu_check(look(v, i), "%s", what));
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "%s", what));
    return tt__cu_check(v->cu->cuMemcpyDtoH(found, v->findings, FINDINGS_BYTES), "cuMemcpyDtoH");
}

/* What the reference may have done to an operand: written around its results, or to what it only reads. */
static CUresult look_behind_reference(tt__verifier *v, int i) {
    const tt__area *area = &v->areas[i];
    if (v->work.arrays[i].direction == TT__IN)
        return check_area(v, i);
    return check_guards(v, i, area->reference ? area->reference : area->live, finding_of(v, i));
}

/* A reference that overruns would make overrunning right, and all else wrong. */
static tt_status check_reference(tt__verifier *v) {
    finding found[TT__OPERANDS_MAX];
    TT_TRY(check(v, look_behind_reference, found, "the reference"));
    for (int i = 0; i < v->work.n; i++)
        if (found[i].n)
            return tt__fail(TT_E_INVALID, "the reference %s writes %s %s (byte %lld of it): it may write its results only",
                            v->work.reference.name[0],
                            v->work.arrays[i].direction == TT__IN ? "to the input" : "before or behind",
                            v->work.arrays[i].name, (long long)found[i].first - (long long)v->areas[i].head);
    return TT_OK;
}

/* All that runs are judged by, in a number. */
static tt_status sum_kept(tt__verifier *v, uint64_t *out) {
    CUdeviceptr sum = v->findings;
    TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(sum, 0, sizeof *out, v->stream), "cuMemsetD8Async"));
    for (int i = 0; i < v->work.n; i++) {
        const tt__area *area = &v->areas[i];
        CUdeviceptr kept[] = {area->before, area->reference, area->written};
        for (unsigned k = 0; k < 3; k++) {
            long long n = (long long)(area->bytes / (k == 2 ? 8 : 1) / 4);
            unsigned seed = 64 + 3 * (unsigned)i + k;
            if (kept[k])
                TT_TRY(tt__cu_check(run(v, v->sum, n, (void *[]){&kept[k], &n, &seed, &sum}), "tt_sum"));
        }
    }
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "tt_sum"));
    return tt__cu_check(v->cu->cuMemcpyDtoH(out, sum, sizeof *out), "cuMemcpyDtoH");
}

static tt_status build_reference(tt__verifier *v, const void *cubin) {
    if (v->work.has_reference && cubin) {
        tt__kernel kernel;
        TT_TRY(tt__kernel_load(&kernel, v->cu, cubin, &v->work.reference, &v->work.launch));
        tt_status status = run_reference(v, &kernel);
        tt__kernel_unload(&kernel, v->cu);
        TT_TRY(status);
        TT_TRY(check_reference(v));
    }
    TT_TRY(take_expected(v));
    TT_TRY(find_written(v));
    TT_TRY(sum_kept(v, &v->kept));
    return tt__is_matrix(&v->problem) ? tt__verify_matrix_reference(v) : TT_OK;
}

tt_status tt__verifier_open(tt__verifier *v, const tt__driver *cu, CUstream stream, const tt__problem *p,
                            const tt__workload *w, const void *checker_cubin, const void *reference_cubin) {
    finding clear[TT__OPERANDS_MAX];
    tt_status status = TT_OK;
    *v = (tt__verifier){.cu = cu, .stream = stream, .problem = *p, .work = *w};
    for (int i = 0; i < TT__OPERANDS_MAX; i++)
        clear[i] = (finding){0, UINT64_MAX};
    TT_GOTO(open_checker(v, checker_cubin));
    for (int i = 0; i < w->n; i++)
        TT_GOTO(open_area(v, i));
    TT_GOTO(allocate(v, &v->findings, 2 * FINDINGS_BYTES));
    TT_GOTO(tt__cu_check(cu->cuMemcpyHtoD(v->findings + FINDINGS_BYTES, clear, sizeof clear), "cuMemcpyHtoD"));
    for (int i = 0; i < w->n; i++)
        TT_GOTO(init_array(v, i));
    TT_GOTO(build_reference(v, reference_cubin));
    return TT_OK;
out:
    tt__verifier_close(v);
    return status;
}

void tt__verifier_close(tt__verifier *v) {
    for (int i = 0; i < v->work.n; i++) {
        const tt__area *area = &v->areas[i];
        CUdeviceptr memory[] = {area->live, area->before, area->reference, area->written};
        for (size_t k = 0; k < sizeof memory / sizeof *memory; k++)
            if (memory[k])
                v->cu->cuMemFree(memory[k]);
    }
    if (v->findings)
        v->cu->cuMemFree(v->findings);
    if (v->library)
        v->cu->cuLibraryUnload(v->library);
    *v = (tt__verifier){0};
}

/* ---- One configuration --------------------------------------------------------------------------------- */

/* What a run may find in its operands. */
static CUresult poison(tt__verifier *v) {
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; i < v->work.n && r == CUDA_SUCCESS; i++) {
        tt__area *area = &v->areas[i];
        long long words = (long long)(area->bytes / 16);
        unsigned flip = poison_bits(v, i);
        if (area->written)
            r = run(v, v->poison, words, (void *[]){&area->live, &area->reference, &area->written, &words, &flip});
        else if (v->work.arrays[i].direction == TT__INOUT)
            r = move(v, area->live, area->before, area->bytes);
        else if (area->live && v->work.arrays[i].direction != TT__IN)
            r = fill(v, area->live, area->bytes, seed_of(&v->work, i), 0);
    }
    return r;
}

/* Words for what was found in a result: where it lies, and both values. */
static tt_status explain(tt__verifier *v, int i, const finding *found, tt__trial *trial) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    unsigned char got[16], want[16];
    size_t word = found->first / 16 * 16, k = found->first % 16;
    CUdeviceptr with = area->reference ? area->reference : area->before;
    if (with) {
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(got, area->live + word, 16), "cuMemcpyDtoH"));
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(want, with + word, 16), "cuMemcpyDtoH"));
        while (k < 15 && got[k] == want[k])
            k++;
    }
    int64_t at = (int64_t)(word + k) - (int64_t)area->head, bytes = tt__array_bytes(a);
    const char *name = tt__is_matrix(&v->problem) ? "the destination" : a->name;
    if (at < 0)
        snprintf(trial->reason, sizeof trial->reason, "wrote %lld bytes before %s", (long long)-at, name);
    else if (at >= bytes)
        snprintf(trial->reason, sizeof trial->reason, "wrote %lld bytes behind the end of %s",
                 (long long)(at - bytes), name);
    else if (tt__is_matrix(&v->problem)) {
        char place[TT__REASON_MAX / 2];
        tt__explain_matrix(v, at, place, sizeof place);
        if (strncmp(place, "wrote", 5) == 0)
            tt__copy(trial->reason, sizeof trial->reason, place);
        else
            snprintf(trial->reason, sizeof trial->reason,
                     "first wrong element at %s: byte is 0x%02x, should be 0x%02x; %llu pieces of 16 bytes differ",
                     place, got[k], want[k], (unsigned long long)found->n);
    } else {
        char is[48], should[48], tolerance[80] = "";
        unsigned char elements[2][16];
        int64_t element = at / a->elem_size;
        CUdeviceptr offset = area->head + (CUdeviceptr)(element * a->elem_size);
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(elements[0], area->live + offset, (size_t)a->elem_size),
                            "cuMemcpyDtoH"));
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(elements[1], with + offset, (size_t)a->elem_size), "cuMemcpyDtoH"));
        if (v->work.abs_tolerance > 0 || v->work.rel_tolerance > 0)
            snprintf(tolerance, sizeof tolerance, " (tolerance: abs %g, rel %g)", v->work.abs_tolerance,
                     v->work.rel_tolerance);
        snprintf(trial->reason, sizeof trial->reason,
                 "first wrong element at %s[%lld]: is %s, should be %s%s; %llu pieces of 16 bytes differ", a->name,
                 (long long)element, tt__type_text(is, sizeof is, a->type, a->elem_size, elements[0]),
                 tt__type_text(should, sizeof should, a->type, a->elem_size, elements[1]), tolerance,
                 (unsigned long long)found->n);
    }
    return TT_OK;
}

/* An input that was written to is made again, or every later configuration would be called wrong. */
static tt_status repair(tt__verifier *v, int i, const finding *found, tt__trial *trial) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    unsigned char is[16], was[16];
    size_t word = found->first / 16 * 16, k = found->first % 16;
    if (area->before) { /* whose comparison knows the word only */
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(is, area->live + word, 16), "cuMemcpyDtoH"));
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(was, area->before + word, 16), "cuMemcpyDtoH"));
        while (k < 15 && is[k] == was[k])
            k++;
    }
    int64_t at = (int64_t)(word + k) - (int64_t)area->head;
    if (at >= 0 && at < tt__array_bytes(a))
        snprintf(trial->reason, sizeof trial->reason, "wrote to the %s, first at byte %lld",
                 tt__is_matrix(&v->problem) ? "source" : a->name, (long long)at);
    else
        snprintf(trial->reason, sizeof trial->reason, "wrote %s the %s", at < 0 ? "before" : "behind the end of",
                 tt__is_matrix(&v->problem) ? "source" : a->name);
    return tt__cu_check(area->before ? move(v, area->live, area->before, area->bytes)
                                     : fill(v, area->live, area->bytes, seed_of(&v->work, i), 0),
                        "repairing %s", a->name);
}

/* One that wrote far away may have changed what the next ones are compared with: then this worker is of no more use. */
static tt_status check_kept(tt__verifier *v, const tt__trial *trial) {
    uint64_t now;
    TT_TRY(sum_kept(v, &now));
    return now == v->kept ? TT_OK
                          : tt__fail(TT_E_CUDA, "%s, and wrote over what results are compared with", trial->reason);
}

tt_status tt__verify(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch, tt__trial *trial) {
    TT_TRY(tt__cu_check(poison(v), "tt_poison"));
    CUresult r = tt__kernel_launch(kernel, v->cu, launch, v->operands, v->stream);
    if (r != CUDA_SUCCESS) {
        tt__cu_check(r, "launch");
        trial->status = TT__TRIAL_LAUNCH_ERROR;
        tt__copy(trial->reason, sizeof trial->reason, tt_last_error());
        return TT_OK;
    }
    finding found[TT__OPERANDS_MAX];
    TT_TRY(check(v, check_area, found, "kernel"));
    for (int i = 0; i < v->work.n; i++) {
        if (!found[i].n)
            continue;
        bool input = v->work.arrays[i].direction == TT__IN;
        if (input || trial->status == TT__TRIAL_OK)
            TT_TRY(input ? repair(v, i, &found[i], trial) : explain(v, i, &found[i], trial));
        trial->status = TT__TRIAL_WRONG_RESULT;
    }
    return trial->status == TT__TRIAL_OK ? TT_OK : check_kept(v, trial);
}

/*
 * Opens the verifier: fills the arrays, runs the reference, and checks that the reference wrote nothing else.
 */
#include "tuner/verifier.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/read_file.h"
#include "base/str.h"
#include "tuner/verify.h"

static tt_status open_checker(tt__verifier *v, const void *cubin) {
    const struct {
        CUfunction *fn;
        const char *name;
        bool numbers;
    } fns[] = {{&v->fill, "tt_fill", false},       {&v->check_fill, "tt_check_fill", false},
               {&v->written, "tt_written", false}, {&v->poison, "tt_poison", false},
               {&v->compare, "tt_compare", false}, {&v->sum, "tt_sum", false},
               {&v->spread, "tt_spread", false},   {&v->numbers, "tt_numbers", true},
               {&v->squares, "tt_squares", true},  {&v->compare_numbers, "tt_compare_numbers", true}};
    const bool has_numbers = tt__verify_has_numbers(&v->work);
    TT_TRY(tt__cu_check(v->cu->cuLibraryLoadData(&v->library, cubin, NULL, NULL, 0, NULL, NULL, 0),
                        "cuLibraryLoadData (checker)"));
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        CUkernel kernel;
        if (fns[i].numbers && !has_numbers)
            continue;
        TT_TRY(tt__cu_check(v->cu->cuLibraryGetKernel(&kernel, v->library, fns[i].name),
                            "cuLibraryGetKernel (%s)", fns[i].name));
        TT_TRY(tt__cu_check(v->cu->cuKernelGetFunction(fns[i].fn, kernel), "cuKernelGetFunction (%s)",
                            fns[i].name));
    }
    return TT_OK;
}

static tt_status allocate(tt__verifier *v, CUdeviceptr *out, size_t bytes) {
    return tt__cu_check(v->cu->cuMemAlloc(out, bytes), "cuMemAlloc (%zu bytes)", bytes);
}

static tt_status open_area(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    tt__area *area = &v->areas[i];
    v->operands[i] = &area->operand;
    if (a->direction == TT__SCALAR) {
        tt__launch one = {.n_passes = 1, .passes = {{.n_args = 1}}, .args = {{.type = a->type}}};
        if (tt__types[a->type].floating)
            one.args[0].f = a->low;
        else
            one.args[0].i = (int64_t)a->low;
        tt__arg_value constants[TT__ARGS_MAX];
        tt__kernel_constants(constants, &one);
        area->scalar = constants[0];
        v->operands[i] = &area->scalar;
        return TT_OK;
    }
    area->bytes = tt__verify_area_bytes(&v->work, i);
    area->head = TT__GUARD + tt__verify_shift(&v->work);
    TT_TRY(allocate(v, &area->live, area->bytes));
    area->operand = area->live + area->head;
    if (tt__verify_is_kept(a))
        TT_TRY(allocate(v, &area->before, area->bytes));
    if (tt__verify_is_known(&v->work, a))
        TT_TRY(allocate(v, &area->reference, area->bytes));
    if (tt__verify_is_masked(&v->work, a))
        TT_TRY(allocate(v, &area->written, area->bytes / 8));
    return tt__cu_check(tt__verify_fill(v, area->live, area->bytes, tt__verify_seed(&v->work, i), 0),
                        "tt_fill");
}

/* Reads raw data, which must be as long as the array. */
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
    TT_TRY(tt__read_file_max(&data, path, (size_t)tt__array_bytes(a)));
    /* The queued fill must end before the copy, and the copy before later work. */
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
    int type = a->type;
    int kind = a->init == TT__INIT_NORMAL        ? 1
               : a->init == TT__INIT_SORTED      ? 2
               : a->init == TT__INIT_PERMUTATION ? 3
                                                 : 0; /* as in verify.cu */
    unsigned seed = tt__verify_seed(&v->work, i);
    double low = a->low, high = a->high;
    if (a->direction != TT__IN && a->direction != TT__INOUT && a->direction != TT__CONSTANT)
        return TT_OK;
    switch (a->init) {
    case TT__INIT_RANDOM:
        break; /* the area is random already */
    case TT__INIT_UNIFORM:
    case TT__INIT_NORMAL:
    case TT__INIT_SORTED:
    case TT__INIT_PERMUTATION:
        TT_TRY(
            tt__cu_check(tt__verify_launch(v, v->numbers, n,
                                           (void *[]){&area->operand, &n, &type, &kind, &low, &high, &seed}),
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
        TT_TRY(tt__cu_check(tt__verify_move(v, area->operand, v->areas[a->from].operand, bytes),
                            "cuMemcpyDtoDAsync"));
    }
    return area->before
               ? tt__cu_check(tt__verify_move(v, area->before, area->live, area->bytes), "cuMemcpyDtoDAsync")
               : TT_OK;
}

tt_status tt__verifier_constants(const tt__verifier *v, const tt__kernel *kernel) {
    bool any = false;
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        CUdeviceptr at;
        if (a->direction != TT__CONSTANT)
            continue;
        TT_TRY(tt__kernel_constant(&at, kernel, v->cu, a->name, (size_t)tt__array_bytes(a)));
        if (at)
            TT_TRY(tt__cu_check(tt__verify_move(v, at, v->areas[i].operand, (size_t)tt__array_bytes(a)),
                                "filling the constant %s", a->name));
        any |= at != 0;
    }
    return any ? tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling constants") : TT_OK;
}

/* Fills everything as before a run. Results are in `live` or, with `to_reference`, in `reference`. */
static tt_status prepare_reference(tt__verifier *v, void *operands[], CUdeviceptr held[], bool second) {
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        tt__area *area = &v->areas[i];
        operands[i] = v->operands[i];
        if (!tt__verify_is_result(a) || !area->reference)
            continue;
        CUdeviceptr to = second ? area->live : area->reference;
        held[i] = to + area->head;
        operands[i] = &held[i];
        TT_TRY(tt__cu_check(area->before
                                ? tt__verify_move(v, to, area->before, area->bytes)
                                : tt__verify_fill(v, to, area->bytes, tt__verify_seed(&v->work, i), second),
                            "preparing the reference"));
    }
    return TT_OK;
}

static tt_status run_reference(tt__verifier *v, const tt__kernel *kernel) {
    for (int turn = 0; turn < 2; turn++) { /* the second run only shows which bytes are written */
        void *operands[TT__OPERANDS_MAX];
        CUdeviceptr held[TT__OPERANDS_MAX];
        TT_TRY(prepare_reference(v, operands, held, turn == 1));
        TT_TRY(tt__cu_check(tt__kernel_launch(kernel, v->cu, &v->work.launch, operands, v->stream),
                            "launching the reference %s", v->work.reference.name[0]));
    }
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "the reference %s", v->work.reference.name[0]);
}

/* Data from a file covers the whole array, and nothing around it. */
static tt_status take_expected(tt__verifier *v) {
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        tt__area *area = &v->areas[i];
        const size_t bytes = (size_t)tt__array_bytes(a);
        if (!a->expect[0])
            continue;
        TT_TRY(tt__cu_check(tt__verify_fill(v, area->reference, area->bytes, tt__verify_seed(&v->work, i), 0),
                            "tt_fill"));
        TT_TRY(tt__cu_check(tt__verify_fill(v, area->live, area->bytes, tt__verify_seed(&v->work, i), 1),
                            "tt_fill"));
        TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling"));
        TT_TRY(read_data(v, a->expect, a, area->reference + area->head));
        TT_TRY(tt__cu_check(tt__verify_move(v, area->live + area->head, area->reference + area->head, bytes),
                            "cuMemcpyDtoDAsync"));
        if (area->before) /* guards of inputs, not of results */
            TT_TRY(tt__cu_check(tt__verify_move(v, area->reference, area->before, area->head),
                                "cuMemcpyDtoDAsync"));
        size_t tail = area->head + bytes;
        if (area->before)
            TT_TRY(tt__cu_check(
                tt__verify_move(v, area->reference + tail, area->before + tail, area->bytes - tail),
                "cuMemcpyDtoDAsync"));
    }
    return TT_OK;
}

/* The tolerance of each result by its scale: a fraction of the root mean square of the right result. */
static tt_status find_scales(tt__verifier *v) {
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        tt__area *area = &v->areas[i];
        CUdeviceptr at = area->reference + area->head, sum = v->findings;
        long long n = a->count;
        int type = a->type;
        double total = 0;
        area->tolerance = v->work.abs_tolerance;
        if (!area->reference || v->work.scale_tolerance <= 0 || a->type == TT__TYPE_ELEM)
            continue;
        TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(sum, 0, sizeof total, v->stream), "cuMemsetD8Async"));
        TT_TRY(tt__cu_check(tt__verify_launch(v, v->squares, n, (void *[]){&at, &n, &type, &sum}),
                            "tt_squares"));
        TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "tt_squares"));
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(&total, sum, sizeof total), "cuMemcpyDtoH"));
        double scale = v->work.scale_tolerance * sqrt(total / (double)n);
        area->tolerance = scale > area->tolerance ? scale : area->tolerance;
    }
    return TT_OK;
}

static tt_status find_written(tt__verifier *v) {
    for (int i = 0; i < v->work.n; i++) {
        tt__area *area = &v->areas[i];
        long long words = (long long)(area->bytes / 16);
        unsigned seed = tt__verify_seed(&v->work, i);
        if (area->written)
            TT_TRY(tt__cu_check(
                tt__verify_launch(v, v->written, words,
                                  (void *[]){&area->reference, &area->live, &words, &seed, &area->written}),
                "tt_written"));
    }
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "building the reference");
}

/* Checks whether the reference wrote around its results, or to its inputs. */
static CUresult look_behind_reference(tt__verifier *v, int i) {
    const tt__area *area = &v->areas[i];
    if (v->work.arrays[i].direction == TT__IN)
        return tt__verify_area(v, i);
    return tt__verify_guards(v, i, area->reference ? area->reference : area->live, tt__verify_finding(v, i));
}

/* If the reference overran, verifying would accept overruns. */
static tt_status check_reference(tt__verifier *v) {
    tt__finding found[TT__OPERANDS_MAX];
    TT_TRY(tt__verify_check(v, look_behind_reference, found, "the reference"));
    for (int i = 0; i < v->work.n; i++)
        if (found[i].n)
            return tt__fail(TT_E_INVALID,
                            "the reference %s writes %s %s (byte %lld of it): it may write its results only",
                            v->work.reference.name[0],
                            v->work.arrays[i].direction == TT__IN ? "to the input" : "before or behind",
                            v->work.arrays[i].name, (long long)found[i].first - (long long)v->areas[i].head);
    return TT_OK;
}

static tt_status build_reference(tt__verifier *v, const void *cubin, size_t n) {
    if (v->work.has_reference && cubin) {
        tt__kernel kernel;
        TT_TRY(tt__kernel_load(&kernel, v->cu, cubin, n, &v->work.reference, &v->work.launch));
        tt_status status = tt__verifier_constants(v, &kernel);
        if (status == TT_OK)
            status = run_reference(v, &kernel);
        tt__kernel_unload(&kernel, v->cu);
        TT_TRY(status);
        TT_TRY(check_reference(v));
    }
    TT_TRY(take_expected(v));
    TT_TRY(find_scales(v));
    TT_TRY(find_written(v));
    TT_TRY(tt__verify_sum(v, &v->kept));
    return TT_OK;
}

tt_status tt__verifier_open(tt__verifier *v, const tt__driver *cu, CUstream stream, const tt__problem *p,
                            const tt__workload *w, const void *checker_cubin, const void *reference_cubin,
                            size_t reference_size) {
    tt__finding clear[TT__OPERANDS_MAX];
    tt_status status = TT_OK;
    *v = (tt__verifier){.cu = cu, .stream = stream, .problem = *p, .work = *w};
    for (int i = 0; i < TT__OPERANDS_MAX; i++)
        clear[i] = (tt__finding){0, UINT64_MAX};
    TT_GOTO(open_checker(v, checker_cubin));
    for (int i = 0; i < w->n; i++)
        TT_GOTO(open_area(v, i));
    TT_GOTO(allocate(v, &v->findings, 2 * TT__FINDINGS_BYTES));
    TT_GOTO(tt__cu_check(cu->cuMemcpyHtoD(v->findings + TT__FINDINGS_BYTES, clear, sizeof clear),
                         "cuMemcpyHtoD"));
    for (int i = 0; i < w->n; i++)
        TT_GOTO(init_array(v, i));
    TT_GOTO(build_reference(v, reference_cubin, reference_size));
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

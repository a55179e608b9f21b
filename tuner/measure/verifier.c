/*
 * Opens the verifier: fills the arrays, with the file's own kernels too, and runs the reference.
 */
#include "tuner/measure/verifier.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/read_file.h"
#include "base/str.h"
#include "tuner/measure/verify.h"

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
tt_status tt__verifier_read(const tt__verifier *v, const char *path, const tt__array *a, CUdeviceptr to) {
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
    case TT__INIT_INDEX: /* a kernel of `data` fills it */
        break;           /* the area is random already */
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
        TT_TRY(tt__verifier_read(v, a->file, a, area->operand));
        break;
    case TT__INIT_COPY:
        if (tt__array_bytes(&v->work.arrays[a->from]) < (int64_t)bytes)
            return tt__fail(TT_E_INVALID, "%s is to hold what %s does, which is shorter", a->name,
                            v->work.arrays[a->from].name);
        TT_TRY(tt__cu_check(tt__verify_move(v, area->operand, v->areas[a->from].operand, bytes),
                            "cuMemcpyDtoDAsync"));
    }
    return TT_OK;
}

static CUresult guards_of(tt__verifier *v, int i) {
    return tt__verify_guards(v, i, v->areas[i].live, tt__verify_finding(v, i));
}

/* Runs the `data` kernels, and checks that they stay within their buffers. */
static tt_status run_data(tt__verifier *v, const void *cubin, size_t n) {
    const tt__launch *launch = &v->work.filling;
    tt__finding found[TT__OPERANDS_MAX];
    tt__kernel kernel;
    TT_TRY(tt__kernel_load(&kernel, v->cu, cubin, n, &v->work.data, launch));
    tt_status status = tt__verifier_constants(v, &kernel);
    if (status == TT_OK)
        status = tt__cu_check(tt__kernel_launch(&kernel, v->cu, launch, v->operands, v->stream),
                              "launching the data's kernel %s", v->work.data.name[0]);
    if (status == TT_OK)
        status =
            tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "the data's kernel %s", v->work.data.name[0]);
    tt__kernel_unload(&kernel, v->cu);
    TT_TRY(status);
    TT_TRY(tt__verify_check(v, guards_of, found, "the data"));
    for (int i = 0; i < v->work.n; i++)
        if (found[i].n)
            return tt__fail(TT_E_INVALID, "a kernel of `data` writes before or behind %s (byte %lld of it)",
                            v->work.arrays[i].name, (long long)found[i].first - (long long)v->areas[i].head);
    return TT_OK;
}

/* Fills everything, and keeps copies. A copy of another buffer is one of what `data` made of that. */
static tt_status init_all(tt__verifier *v, const void *cubin, size_t n) {
    for (int i = 0; i < v->work.n; i++)
        TT_TRY(init_array(v, i));
    if (v->work.filling.n_passes) {
        TT_TRY(run_data(v, cubin, n));
        for (int i = 0; i < v->work.n; i++)
            if (v->work.arrays[i].init == TT__INIT_COPY && !v->work.arrays[i].filled)
                TT_TRY(init_array(v, i));
    }
    for (int i = 0; i < v->work.n; i++) {
        const tt__area *area = &v->areas[i];
        if (area->before)
            TT_TRY(
                tt__cu_check(tt__verify_move(v, area->before, area->live, area->bytes), "cuMemcpyDtoDAsync"));
    }
    return TT_OK;
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

static tt_status open_reference(tt__verifier *v, const void *cubin, size_t n) {
    tt__kernel kernel;
    if (!v->work.has_reference || !cubin)
        return tt__verifier_reference(v, NULL, NULL);
    TT_TRY(tt__kernel_load(&kernel, v->cu, cubin, n, &v->work.reference, &v->work.launch));
    tt_status status = tt__verifier_constants(v, &kernel);
    if (status == TT_OK)
        status = tt__verifier_reference(v, &kernel, &v->work.launch);
    tt__kernel_unload(&kernel, v->cu);
    return status;
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
    for (int i = 0; i < 2; i++)
        TT_GOTO(tt__cu_check(cu->cuEventCreate(&v->events[i], CU_EVENT_BLOCKING_SYNC), "cuEventCreate"));
    TT_GOTO(allocate(v, &v->findings, 2 * TT__FINDINGS_BYTES));
    TT_GOTO(tt__cu_check(cu->cuMemcpyHtoD(v->findings + TT__FINDINGS_BYTES, clear, sizeof clear),
                         "cuMemcpyHtoD"));
    TT_GOTO(tt__cu_check(cu->cuCtxSynchronize(), "cuMemcpyHtoD")); /* else the stream may overtake the copy */
    TT_GOTO(init_all(v, reference_cubin, reference_size));
    if (!w->per_config)
        TT_GOTO(open_reference(v, reference_cubin, reference_size));
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
    for (int i = 0; i < 2; i++)
        if (v->events[i])
            v->cu->cuEventDestroy(v->events[i]);
    if (v->library)
        v->cu->cuLibraryUnload(v->library);
    *v = (tt__verifier){0};
}

/*
 * What results must be: runs the reference or reads files, and checks that the reference wrote nothing else.
 */
#include <math.h>
#include <string.h>

#include "tuner/measure/verifier.h"

/* Fills everything as before a run. Results are in `live` or, with `to_reference`, in `reference`. */
static tt_status prepare_reference(tt__verifier *v, void *operands[], CUdeviceptr held[], bool second) {
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        tt__area *area = &v->areas[i];
        operands[i] = v->operands[i];
        if (a->direction == TT__SCRATCH) /* an earlier kernel's may have been longer */
            TT_TRY(tt__cu_check(tt__verify_renew(v, i, area->live, 0), "preparing the reference"));
        if (!tt__verify_is_result(a) || !area->reference)
            continue;
        CUdeviceptr to = second ? area->live : area->reference;
        held[i] = to + area->head;
        operands[i] = &held[i];
        TT_TRY(tt__cu_check(tt__verify_renew(v, i, to, second), "preparing the reference"));
    }
    return TT_OK;
}

static tt_status run_reference(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch) {
    for (int turn = 0; turn < 2; turn++) { /* the second run only shows which bytes are written */
        void *operands[TT__OPERANDS_MAX];
        CUdeviceptr held[TT__OPERANDS_MAX];
        TT_TRY(prepare_reference(v, operands, held, turn == 1));
        TT_TRY(tt__cu_check(tt__kernel_launch(kernel, v->cu, launch, operands, v->stream),
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
        TT_TRY(tt__cu_check(tt__verify_renew(v, i, area->reference, 0), "preparing what is expected"));
        TT_TRY(tt__cu_check(tt__verify_fill(v, area->live, area->bytes, tt__verify_seed(&v->work, i), 1),
                            "tt_fill"));
        TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling"));
        TT_TRY(tt__verifier_read(v, a->expect, a, area->reference + area->head));
        TT_TRY(tt__cu_check(tt__verify_move(v, area->live + area->head, area->reference + area->head, bytes),
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

tt_status tt__verifier_reference(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch) {
    if (kernel) {
        TT_TRY(run_reference(v, kernel, launch));
        TT_TRY(check_reference(v));
    }
    TT_TRY(take_expected(v));
    TT_TRY(find_scales(v));
    TT_TRY(find_written(v));
    return tt__verify_sum(v, &v->kept);
}

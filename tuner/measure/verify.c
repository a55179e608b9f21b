/* See the header. */
#include "tuner/measure/verify.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/str.h"

/* Does the reference not write this byte of the area? */
static tt_status reference_leaves(tt__verifier *v, const tt__area *area, size_t byte, bool *leaves) {
    unsigned char bits = 0xff;
    if (area->written)
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(&bits, area->written + byte / 8, 1), "cuMemcpyDtoH"));
    *leaves = !(bits >> byte % 8 & 1);
    return TT_OK;
}

/* Says both values of a wrong element. */
static tt_status explain_element(tt__verifier *v, int i, int64_t element, CUdeviceptr with,
                                 const tt__finding *found, tt__trial *trial) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    char is[48], should[48], tolerance[80] = "";
    unsigned char elements[3][16];
    bool kept = false;
    CUdeviceptr offset = area->head + (CUdeviceptr)(element * a->elem_size);
    TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(elements[0], area->live + offset, (size_t)a->elem_size),
                        "cuMemcpyDtoH"));
    TT_TRY(
        tt__cu_check(v->cu->cuMemcpyDtoH(elements[1], with + offset, (size_t)a->elem_size), "cuMemcpyDtoH"));
    if (area->before && with != area->before) {
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(elements[2], area->before + offset, (size_t)a->elem_size),
                            "cuMemcpyDtoH"));
        kept = memcmp(elements[1], elements[2], (size_t)a->elem_size) == 0;
    }
    if (area->tolerance > 0 || v->work.rel_tolerance > 0)
        tt__format(tolerance, sizeof tolerance, " (tolerance: abs %g, rel %g)", area->tolerance,
                   v->work.rel_tolerance);
    snprintf(trial->reason, sizeof trial->reason,
             "first wrong element at %s[%lld]: is %s, should be %s%s%s; %llu pieces of 16 bytes differ",
             a->name, (long long)element, tt__type_text(is, sizeof is, a->type, a->elem_size, elements[0]),
             tt__type_text(should, sizeof should, a->type, a->elem_size, elements[1]),
             kept ? " as before, since the reference does not change it" : "", tolerance,
             (unsigned long long)found->n);
    return TT_OK;
}

/* Finds the first byte of a finding, from the array's start on. A comparison finds a word of 16. */
static tt_status find_byte(tt__verifier *v, const tt__area *area, const tt__finding *found, CUdeviceptr with,
                           int64_t *at) {
    unsigned char is[16], should[16];
    size_t word = found->first / 16 * 16, k = found->first % 16;
    if (with) {
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(is, area->live + word, 16), "cuMemcpyDtoH"));
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(should, with + word, 16), "cuMemcpyDtoH"));
        while (k < 15 && is[k] == should[k])
            k++;
    }
    *at = (int64_t)(word + k) - (int64_t)area->head;
    return TT_OK;
}

/* Describes a wrong result: its place, and both values. */
static tt_status explain(tt__verifier *v, int i, const tt__finding *found, tt__trial *trial) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    CUdeviceptr with = area->reference ? area->reference : area->before;
    int64_t at, bytes = tt__array_bytes(a);
    bool leaves;
    TT_TRY(find_byte(v, area, found, with, &at));
    if (at < 0) {
        snprintf(trial->reason, sizeof trial->reason, "wrote before %s, first %lld bytes before it", a->name,
                 (long long)-at);
        return TT_OK;
    }
    if (at >= bytes) {
        snprintf(trial->reason, sizeof trial->reason, "wrote to %s[%lld], and %s has %lld elements", a->name,
                 (long long)(at / a->elem_size), a->name, (long long)a->count);
        return TT_OK;
    }
    TT_TRY(reference_leaves(v, area, area->head + (size_t)at, &leaves));
    if (leaves) {
        snprintf(trial->reason, sizeof trial->reason, "wrote to %s[%lld], which the reference does not write",
                 a->name, (long long)(at / a->elem_size));
        return TT_OK;
    }
    return explain_element(v, i, at / a->elem_size, with, found, trial);
}

/* An overwritten input is restored. Otherwise every later configuration would seem wrong. */
static tt_status repair(tt__verifier *v, int i, const tt__finding *found, tt__trial *trial) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    int64_t at;
    TT_TRY(find_byte(v, area, found, area->before, &at));
    if (at >= 0 && at < tt__array_bytes(a))
        snprintf(trial->reason, sizeof trial->reason, "wrote to %s[%lld], and %s is an input", a->name,
                 (long long)(at / a->elem_size), a->name);
    else
        snprintf(trial->reason, sizeof trial->reason, "wrote %s the input %s",
                 at < 0 ? "before" : "beyond the end of", a->name);
    return tt__cu_check(tt__verify_renew(v, i, area->live, 0), "repairing %s", a->name);
}

/* A kernel with wild writes may have changed the data that results are compared with. Then the worker
 * ends. */
static tt_status check_kept(tt__verifier *v, const tt__trial *trial) {
    uint64_t now;
    TT_TRY(tt__verify_sum(v, &now));
    return now == v->kept
               ? TT_OK
               : tt__fail(TT_E_CUDA, "%s, and wrote over what results are compared with", trial->reason);
}

/* The time between the events, unless the host took so long in between that it may count. */
static tt_status elapsed(const tt__verifier *v, double host_s, double *launch_us) {
    const double negligible = 0.05;
    float ms;
    TT_TRY(tt__cu_check(v->cu->cuEventElapsedTime(&ms, v->events[0], v->events[1]), "cuEventElapsedTime"));
    *launch_us = host_s * 1e3 <= negligible * (double)ms ? 1e3 * (double)ms : 0;
    return TT_OK;
}

tt_status tt__verify(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch, tt__trial *trial,
                     double *launch_us) {
    TT_TRY(tt__cu_check(tt__verify_poison(v), "tt_poison"));
    const double begin_s = tt__now_s();
    if (launch_us)
        TT_TRY(tt__cu_check(v->cu->cuEventRecord(v->events[0], v->stream), "cuEventRecord"));
    CUresult r = tt__kernel_launch(kernel, v->cu, launch, v->operands, v->stream);
    if (r != CUDA_SUCCESS) {
        tt__cu_check(r, "launch");
        trial->status = TT__TRIAL_LAUNCH_ERROR;
        tt__copy(trial->reason, sizeof trial->reason, tt_last_error());
        return TT_OK;
    }
    tt__finding found[TT__OPERANDS_MAX];
    if (launch_us)
        TT_TRY(tt__cu_check(v->cu->cuEventRecord(v->events[1], v->stream), "cuEventRecord"));
    const double host_s = tt__now_s() - begin_s;
    TT_TRY(tt__verify_check(v, tt__verify_area, found, "kernel"));
    if (launch_us)
        TT_TRY(elapsed(v, host_s, launch_us));
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

tt_status tt__verify_error(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                           tt__trial *trial) {
    const char *name = v->work.verify.name[0];
    CUdeviceptr at = v->findings;
    void *operands[TT__OPERAND_ERROR + 1];
    double error = 0;
    memcpy(operands, v->operands, sizeof v->operands);
    operands[TT__OPERAND_ERROR] = &at;
    TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(at, 0, sizeof error, v->stream), "cuMemsetD8Async"));
    TT_TRY(tt__cu_check(tt__kernel_launch(kernel, v->cu, launch, operands, v->stream), "launching %s", name));
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "%s", name));
    TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(&error, at, sizeof error), "cuMemcpyDtoH"));
    if (error <= v->work.limit) /* false for what is no number */
        return TT_OK;
    trial->status = TT__TRIAL_WRONG_RESULT;
    tt__format(trial->reason, sizeof trial->reason, "%s finds an error of %g, and the limit is %g", name,
               error, v->work.limit);
    return TT_OK;
}

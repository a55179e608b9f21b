/*
 * Does the reference leave something to be found? If it writes nothing, or the same value everywhere, a
 * kernel that computes nothing passes.
 */
#include "tuner/measure/verify_survey.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { COUNTS = 3 };

/* Queues a kernel that counts, and waits for its numbers. */
static tt_status count(tt__verifier *v, CUfunction fn, int64_t n, void **args, uint64_t out[COUNTS]) {
    const size_t bytes = COUNTS * sizeof *out;
    TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(v->findings, 0, bytes, v->stream), "cuMemsetD8Async"));
    TT_TRY(tt__cu_check(tt__verify_add_up(v, fn, n, args), "looking at the reference"));
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "looking at the reference"));
    return tt__cu_check(v->cu->cuMemcpyDtoH(out, v->findings, bytes), "cuMemcpyDtoH");
}

__attribute__((format(printf, 2, 3))) static void note(tt__verifier *v, const char *fmt, ...) {
    const size_t used = strlen(v->notes);
    va_list args;
    va_start(args, fmt);
    if (used < sizeof v->notes)
        tt__vformat(v->notes + used, sizeof v->notes - used, fmt, args);
    va_end(args);
}

/* Would a result of zeros pass, or of one number? NaN everywhere counts as one value. */
static tt_status look_at_numbers(tt__verifier *v, int i, bool *zeros_pass, bool *one_passes, bool *is_nan) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    CUdeviceptr at = area->reference + area->head, written = area->written;
    long long head = (long long)area->head, n = a->count;
    int type = a->type, size = a->elem_size;
    double most = area->tolerance, part = a->rel_tolerance;
    uint64_t counts[COUNTS];
    TT_TRY(count(v, v->telling, n,
                 (void *[]){&at, &written, &head, &n, &type, &size, &most, &part, &v->findings}, counts));
    *is_nan = counts[0] == 0;
    *zeros_pass = counts[1] == 0;
    *one_passes = counts[2] == 0 && n > 1;
    return TT_OK;
}

static tt_status look_at(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    tt__area *area = &v->areas[i];
    const char *name = v->work.reference.name[0];
    CUdeviceptr at = area->reference;
    long long head = (long long)area->head, n = a->count;
    int size = a->elem_size;
    unsigned char first[16];
    char text[48];
    uint64_t counts[COUNTS]; /* written; other than the one before; written in part */
    bool zeros_pass = false, one_passes = false, is_nan = false;
    TT_TRY(count(v, v->survey, n, (void *[]){&at, &area->written, &head, &n, &size, &v->findings}, counts));
    if (counts[0] == 0)
        return tt__fail(
            TT_E_INVALID,
            "the reference %s writes nothing of %s, so nothing of it can be checked: if it writes "
            "it, look at its grid; if not, %s is no `out` buffer",
            name, a->name, a->name);
    v->whole &= counts[2] == 0;
    if (counts[0] < (uint64_t)n)
        note(v, "the reference %s writes %llu of %lld elements of %s\n", name, (unsigned long long)counts[0],
             n, a->name);
    TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(first, at + area->head, (size_t)size), "cuMemcpyDtoH"));
    if (!tt__verify_is_exact(a))
        TT_TRY(look_at_numbers(v, i, &zeros_pass, &one_passes, &is_nan));
    else if (counts[1] == 0 && counts[0] == (uint64_t)n)
        zeros_pass = memcmp(first, (const char[16]){0}, (size_t)size) == 0;
    if (is_nan || (counts[1] == 0 && n > 1 && counts[0] == (uint64_t)n))
        note(v, "the right result %s is %s everywhere: " TT__NOTHING_PASSES "\n", a->name,
             tt__type_text(text, sizeof text, a->type, size, first));
    else if (zeros_pass)
        note(v, "a result %s of zeros is %s: " TT__NOTHING_PASSES "\n", a->name,
             tt__verify_is_exact(a) ? "right" : "within the tolerance");
    else if (one_passes)
        note(v, "a result %s that is %s everywhere is within the tolerance: " TT__NOTHING_PASSES "\n",
             a->name, tt__type_text(text, sizeof text, a->type, size, first));
    return TT_OK;
}

/* Only of kernels of users: the references of built-in operations are tested, and write whole elements. */
tt_status tt__verify_survey(tt__verifier *v) {
    v->notes[0] = '\0';
    v->whole = true;
    for (int i = 0; i < v->work.n && tt__problem_is_users(&v->problem); i++)
        if (v->areas[i].written)
            TT_TRY(look_at(v, i));
    return TT_OK;
}

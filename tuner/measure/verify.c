/*
 * Does a kernel compute what the reference computes?
 *
 * What can be known. A kernel is a function of everything that it can see: its arguments, the memory behind
 * them, all other memory, the history of the device. It is right if its results depend on the inputs alone,
 * and as the reference's do. No test proves that. A run refutes it, if the run differs from the reference's
 * in something that must not matter. So a verifier changes all of that which it can, and keeps the rest.
 *
 *   what must not matter                    how it differs
 *   what the results held before            poison: the reference with random bits inverted, other ones in
 *                                           each run; for a scratch buffer, random bits
 *   what lies around the arrays             guards: random bits for the reference; for a trial, infinities in
 *                                           front of and after the inputs, of either sign
 *   what the numbers happen to be           two sets of inputs, of both signs and several magnitudes; where
 *                                           a kernel is judged, other ones in each run
 *   where the arrays lie                    the first set is aligned to what is promised and to no more; the
 *                                           second as when timed, by default to 256 bytes
 *   how often, and after what, it runs      once before it is timed, and twice afterwards
 *   that it is verified at all              once, in the memory where it is timed, without guards; in strict
 *                                           finals (tt__rounds) in half of the rounds
 *   what others have left                   random bits in shared memory; in strict finals no results of
 *                                           other launches, the values that __device__ variables began with,
 *                                           and nothing beside the arrays where they are timed
 *   how long the arrays are                 a neighbouring problem, which fits no tile (kernels of users)
 *
 * Poison must be wrong in each byte, else a byte that a kernel leaves out might be right by luck. It must not
 * be a function of the result that a kernel can invert, else `y = ~y` is right. Hence the upper bits of each
 * byte are inverted always, and the others at random. In a number that may be off, the sign and the exponent
 * are in the upper bits, so that poison is no number within a tolerance.
 *
 * Guards, inputs, and the bytes that the reference does not write must be unchanged. What that is, the
 * reference shows: it runs twice, on random bits and on their inverse, and what keeps both was not written.
 * If that shows that it writes whole elements of 4 bytes or more, it runs once on the second data and at
 * other sizes: an element that keeps all of its random bits was not written.
 *
 * What is compared with lies in the same memory as everything else, so a wild write may hit it. A checksum of
 * it is looked at when a run was wrong, and the worker ends if that has changed. A kernel might also find the
 * right results there and copy them, so they are hidden by random bits.
 *
 * What this cannot find: a race that was not lost in any of the runs; dependence on what stays the same, as
 * on the lengths, where no neighbour is tried; a mistake that the reference shares; one that is smaller than
 * the tolerance; and a kernel that was made to recognise a verifier by other things than those above.
 */
#include "tuner/measure/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

/* ---- Explaining what is wrong ------------------------------------------------------------------------- */

/* Does the reference not write this byte of the area? */
static tt_status reference_leaves(tt__verifier *v, const tt__area *area, size_t byte, bool *leaves) {
    unsigned char bits = 0xff;
    if (area->written)
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(&bits, area->written + byte / 8, 1), "cuMemcpyDtoH"));
    *leaves = !(bits >> byte % 8 & 1);
    return TT_OK;
}

/* Reads bytes of what an area is compared with: the right results are hidden. */
static tt_status read_right(tt__verifier *v, const tt__area *area, CUdeviceptr with, size_t at,
                            unsigned char *out, size_t n) {
    TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(out, with + at, n), "cuMemcpyDtoH"));
    for (size_t k = 0; k < n && v->key && with == area->reference; k++)
        out[k] ^= (unsigned char)(tt__verify_mix((at + k) / 4, v->key) >> 8 * ((at + k) % 4));
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
    TT_TRY(read_right(v, area, with, offset, elements[1], (size_t)a->elem_size));
    if (area->before && with != area->before) {
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(elements[2], area->before + offset, (size_t)a->elem_size),
                            "cuMemcpyDtoH"));
        kept = memcmp(elements[1], elements[2], (size_t)a->elem_size) == 0;
    }
    tt__type_text(is, sizeof is, a->type, a->elem_size, elements[0]);
    tt__type_text(should, sizeof should, a->type, a->elem_size, elements[1]);
    if (strcmp(is, should) == 0) { /* two NaN */
        tt__type_text(is, sizeof is, TT__TYPE_ELEM, a->elem_size, elements[0]);
        tt__type_text(should, sizeof should, TT__TYPE_ELEM, a->elem_size, elements[1]);
    }
    if (!tt__verify_is_exact(a))
        tt__format(tolerance, sizeof tolerance, " (tolerance: abs %g, rel %g)", area->tolerance,
                   a->rel_tolerance);
    snprintf(trial->reason, sizeof trial->reason,
             "first wrong element at %s[%lld]: is %s, should be %s%s%s; %llu pieces of 16 bytes differ",
             a->name, (long long)element, is, should,
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
        TT_TRY(read_right(v, area, with, word, should, 16));
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
tt_status tt__verify_kept(tt__verifier *v, const char *reason) {
    uint64_t now;
    TT_TRY(tt__verify_sum(v, &now));
    return now == v->kept ? TT_OK
                          : tt__fail(TT_E_CUDA, "%s, and wrote over what results are compared with", reason);
}

/* The bits of a word of poison that are always inverted, and those that may be. Sign and exponent of a number
 * that may be off decide: they make it wrong by 2 or more, and by more than itself. In a whole number they
 * must not add up to what undoes the upper bit. */
static void poison_bits(const tt__array *a, unsigned *always, unsigned *maybe) {
    static const unsigned upper[] = {[1] = 0xc0c0c0c0u, [2] = 0xc080c080u, [4] = 0xc0808080u};
    static const unsigned whole[] = {[1] = 0x40404040u, [2] = 0x407f407fu, [4] = 0x407f7f7fu};
    const int k = a->elem_size < 4 ? a->elem_size : 4;
    *always = 0x80808080u;
    *maybe = 0x7f7f7f7fu;
    if (tt__verify_is_exact(a))
        return;
    if (tt__types[a->type].floating) {
        *always = upper[k];
        *maybe = ~upper[k];
    } else {
        *maybe = whole[k];
    }
}

CUresult tt__verify_poison(tt__verifier *v) {
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; i < v->work.n && r == CUDA_SUCCESS; i++) {
        tt__area *area = &v->areas[i];
        long long words = (long long)(area->bytes / 16);
        unsigned always, maybe, seed = tt__verify_seed(v, i) + 64;
        poison_bits(&v->work.arrays[i], &always, &maybe);
        if (area->written)
            r = tt__verify_launch(v, v->poison, words,
                                  (void *[]){&area->live, &area->reference, &area->written, &words, &always,
                                             &maybe, &seed, &v->key});
        else if (area->reference && area->before)
            r = tt__verify_move(v, area->live, area->before, area->bytes);
        else if (area->live && v->work.arrays[i].direction != TT__IN &&
                 v->work.arrays[i].direction != TT__CONSTANT)
            r = v->work.arrays[i].by_config ? tt__verify_fill(v, area->live, area->bytes, seed - 64, 0)
                                            : tt__verify_renew(v, i, area->live, 0);
        /* The array of this configuration may be shorter than the one in `before`. Random bits follow it. */
        if (r == CUDA_SUCCESS && v->work.arrays[i].direction == TT__INOUT && !area->reference)
            r = tt__verifier_initial(v, i, area->live + area->head);
    }
    return r;
}

CUresult tt__verify_soil(tt__verifier *v) {
    enum { THREADS = 1024 };
    unsigned seed = v->soil_seed++;
    return v->cu->cuLaunchKernel(v->soil, v->soil_blocks, 1, 1, THREADS, 1, 1, 4 * v->soil_words, v->stream,
                                 (void *[]){&v->soil_words, &seed}, NULL);
}

static int64_t class_of(const tt__verifier *v, const tt__finding found[TT__OPERANDS_MAX]) {
    uint64_t hash = 0;
    int64_t bits = TT__BITS_EXACT;
    for (int i = 0; i < v->work.n; i++) {
        if (!tt__verify_has_bits(v, i))
            continue;
        hash = (hash ^ found[i].bits) * 0x9e3779b97f4a7c15ull;
        bits = (int64_t)(hash >> 1);
        bits += bits < TT__BITS_HASH ? TT__BITS_HASH : 0;
    }
    return bits;
}

/* Keeps the class of a right result, or finds that it was another one before. */
static void classify(const tt__verifier *v, const tt__finding *found, tt__trial *trial) {
    const int64_t bits = class_of(v, found);
    if (v->set == TT__FIRST_DATA)
        trial->bits = trial->bits == TT__BITS_UNKNOWN || trial->bits == bits ? bits : TT__BITS_UNSTABLE;
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
    if (v->key)
        TT_TRY(tt__cu_check(tt__verify_soil(v), "tt_soil"));
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
    if (launch_us)
        TT_TRY(tt__cu_check(v->cu->cuEventRecord(v->events[1], v->stream), "cuEventRecord"));
    const double host_s = tt__now_s() - begin_s;
    TT_TRY(tt__verify_results(v, trial));
    return launch_us ? elapsed(v, host_s, launch_us) : TT_OK;
}

tt_status tt__verify_results(tt__verifier *v, tt__trial *trial) {
    tt__finding found[TT__OPERANDS_MAX];
    TT_TRY(tt__verify_check(v, tt__verify_area, found, "kernel"));
    for (int i = 0; i < v->work.n; i++) {
        if (!found[i].n)
            continue;
        bool input = v->work.arrays[i].direction == TT__IN;
        if (input || trial->status == TT__TRIAL_OK)
            TT_TRY(input ? repair(v, i, &found[i], trial) : explain(v, i, &found[i], trial));
        trial->status = TT__TRIAL_WRONG_RESULT;
    }
    if (trial->status == TT__TRIAL_OK)
        classify(v, found, trial);
    return trial->status == TT__TRIAL_OK ? TT_OK : tt__verify_kept(v, trial->reason);
}

static tt_status find_error(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                            double *error) {
    const char *name = v->work.verify.name[0];
    CUdeviceptr at = v->findings;
    void *operands[TT__OPERAND_ERROR + 1];
    memcpy(operands, v->operands, sizeof v->operands);
    operands[TT__OPERAND_ERROR] = &at;
    TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(at, 0, sizeof *error, v->stream), "cuMemsetD8Async"));
    TT_TRY(tt__cu_check(tt__kernel_launch(kernel, v->cu, launch, operands, v->stream), "launching %s", name));
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "%s", name));
    return tt__cu_check(v->cu->cuMemcpyDtoH(error, at, sizeof *error), "cuMemcpyDtoH");
}

tt_status tt__verify_error(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                           tt__trial *trial) {
    double error = 0;
    TT_TRY(find_error(v, kernel, launch, &error));
    if (error <= v->work.limit) /* false for NaN */
        return TT_OK;
    trial->status = TT__TRIAL_WRONG_RESULT;
    tt__format(trial->reason, sizeof trial->reason, "%s finds an error of %g, and the limit is %g",
               v->work.verify.name[0], error, v->work.limit);
    return TT_OK;
}

tt_status tt__verify_refuses(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                             tt__trial *trial) {
    double error = 0;
    TT_TRY(tt__cu_check(tt__verify_poison(v), "tt_poison"));
    TT_TRY(find_error(v, kernel, launch, &error));
    if (!(error <= v->work.limit))
        return TT_OK;
    trial->status = TT__TRIAL_WRONG_RESULT;
    tt__format(trial->reason, sizeof trial->reason,
               "the verify kernel %s accepts what is there before any kernel has run (random bits in `out` "
               "buffers): it finds an error of %g, and the limit is %g",
               v->work.verify.name[0], error, v->work.limit);
    return TT_OK;
}

/* ---- Which class of equal bits is a configuration in? ---- */

/* Two sums of the same numbers in another order differ by rounding. Of a large result some element nearly
 * always does. A small one, such as a single sum, is often the same by luck: one of 32 bits has about an even
 * chance. So the fewer elements there are, the more inputs are tried. Each is launched twice, after other
 * poison and with other bits in shared memory, so that an order that changes from launch to launch shows,
 * too.
 */

static int64_t n_elements(const tt__verifier *v, const tt__bits_ask *ask) {
    int64_t n = 0;
    for (int i = 0; i < v->work.n; i++)
        if (tt__verify_has_bits(v, i))
            n += ask->counts[i] ? ask->counts[i] : v->work.arrays[i].count;
    return n;
}

/* One launch on the current inputs. */
static tt_status launch_once(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                             const tt__bits_ask *ask, int64_t *bits) {
    tt__finding found[TT__OPERANDS_MAX];
    int64_t all[TT__OPERANDS_MAX];
    TT_TRY(tt__cu_check(tt__verify_poison(v), "tt_poison"));
    if (v->key)
        TT_TRY(tt__cu_check(tt__verify_soil(v), "tt_soil"));
    TT_TRY(tt__cu_check(tt__kernel_launch(kernel, v->cu, launch, v->operands, v->stream), "launch"));
    for (int i = 0; i < v->work.n; i++) {
        all[i] = v->work.arrays[i].count;
        if (ask->counts[i])
            v->work.arrays[i].count = ask->counts[i];
    }
    tt_status status = tt__verify_check(v, tt__verify_bits, found, "kernel");
    if (status == TT_OK)
        *bits = class_of(v, found);
    for (int i = 0; i < v->work.n; i++)
        v->work.arrays[i].count = all[i];
    return status;
}

/* ---- How far two results are apart --------------------------------------------------------------------- */

/* Numbers in the order of their values, so that neighbours differ by 1. */
static int64_t ordered(const unsigned char *at, int size) {
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)size);
    const uint64_t sign = UINT64_C(1) << (8 * size - 1);
    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

static void count_differing(const tt__array *a, const unsigned char *x, const unsigned char *y,
                            tt__bits_found *out) {
    const bool floating = a->type != TT__TYPE_ELEM && tt__types[a->type].floating && a->elem_size <= 8;
    for (int64_t k = 0; k < a->count; k++, x += a->elem_size, y += a->elem_size) {
        if (memcmp(x, y, (size_t)a->elem_size) == 0)
            continue;
        out->n_differ++;
        if (!floating)
            continue;
        const double apart = (double)ordered(x, a->elem_size) - (double)ordered(y, a->elem_size);
        const double ulps = apart < 0 ? -apart : apart;
        out->ulps = ulps > out->ulps ? ulps : out->ulps;
    }
    out->n += a->count;
}

static tt_status read_results(tt__verifier *v, tt__kept_bits *out) {
    for (int i = 0; i < v->work.n; i++)
        out->n += tt__verify_has_bits(v, i) ? (size_t)tt__array_bytes(&v->work.arrays[i]) : 0;
    out->bytes = malloc(out->n ? out->n : 1);
    if (!out->bytes)
        return tt__fail_memory(out->n);
    unsigned char *at = out->bytes;
    for (int i = 0; i < v->work.n; i++) {
        const size_t bytes = (size_t)tt__array_bytes(&v->work.arrays[i]);
        if (!tt__verify_has_bits(v, i))
            continue;
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(at, v->areas[i].live + v->areas[i].head, bytes),
                            "cuMemcpyDtoH"));
        at += bytes;
    }
    return TT_OK;
}

/* Of the results that are there now. */
static tt_status keep_and_compare(tt__verifier *v, const tt__bits_ask *ask, tt__kept_bits *kept,
                                  tt__bits_found *out) {
    tt__kept_bits now = {0};
    if (!ask->keeps && !ask->compares)
        return TT_OK;
    tt_status status = read_results(v, &now);
    size_t at = 0;
    for (int i = 0; i < v->work.n && status == TT_OK && ask->compares && now.n == kept->n; i++)
        if (tt__verify_has_bits(v, i)) {
            count_differing(&v->work.arrays[i], now.bytes + at, kept->bytes + at, out);
            at += (size_t)tt__array_bytes(&v->work.arrays[i]);
        }
    if (status == TT_OK && ask->keeps) {
        free(kept->bytes);
        *kept = now;
    } else {
        free(now.bytes);
    }
    return status;
}

/* ---- All inputs ---------------------------------------------------------------------------------------- */

static tt_status launch_on_all(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                               const tt__bits_ask *ask, tt__kept_bits *kept, tt__bits_found *out) {
    enum { MOST = 16, FEW = 1024, SOME = 65536, FIRST_OF_MORE = TT__SECOND_DATA + 1 };
    const int64_t n = n_elements(v, ask);
    const int n_inputs = n == 0 || ask->first_only ? 1 : n < FEW ? MOST : n < SOME ? MOST / 4 : 2;
    uint64_t hash = 0;
    bool unstable = false;
    for (int k = 0; k < n_inputs; k++) {
        int64_t bits, again;
        if (k > 0) {
            TT_TRY(tt__verifier_refill(v, FIRST_OF_MORE + k - 1));
            TT_TRY(tt__verifier_constants(v, kernel));
        }
        TT_TRY(launch_once(v, kernel, launch, ask, &bits));
        TT_TRY(launch_once(v, kernel, launch, ask, &again));
        if (k == 0)
            TT_TRY(keep_and_compare(v, ask, kept, out));
        unstable |= bits != again;
        hash = (hash ^ (uint64_t)bits) * UINT64_C(0x9e3779b97f4a7c15);
    }
    const int64_t all = (int64_t)(hash >> 1);
    out->bits = unstable              ? TT__BITS_UNSTABLE
                : n == 0              ? TT__BITS_EXACT
                : all < TT__BITS_HASH ? all + TT__BITS_HASH
                                      : all;
    return TT_OK;
}

tt_status tt__bits_find(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                        const tt__bits_ask *ask, tt__kept_bits *kept, tt__bits_found *out) {
    *out = (tt__bits_found){0};
    tt_status status = launch_on_all(v, kernel, launch, ask, kept, out);
    if (status != TT_E_CUDA && v->set != TT__FIRST_DATA) {
        TT_TRY(tt__verifier_refill(v, TT__FIRST_DATA));
        TT_TRY(tt__verifier_constants(v, kernel));
    }
    return status;
}

/*
 * Which class of equal bits is a configuration in?
 *
 * Two sums of the same numbers in another order differ by rounding. Of a large result some element nearly
 * always does. A small one, such as a single sum, is often the same by luck: one of 32 bits has about an even
 * chance. So the fewer elements there are, the more inputs are tried. Each is launched twice, after other
 * poison and with other bits in shared memory, so that an order that changes from launch to launch shows,
 * too.
 */
#include "tuner/measure/bits.h"

#include <stdlib.h>
#include <string.h>

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
        *bits = tt__verify_class(v, found);
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

static void compare(const tt__array *a, const unsigned char *x, const unsigned char *y, tt__bits_found *out) {
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
            compare(&v->work.arrays[i], now.bytes + at, kept->bytes + at, out);
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

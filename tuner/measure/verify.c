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
 *   what the numbers happen to be           two sets of inputs, of both signs and several magnitudes
 *   where the arrays lie                    the first set is aligned to what is promised and to no more; the
 *                                           second as when timed, by default to 256 bytes
 *   how often, and after what, it runs      once before it is timed, and twice afterwards
 *   that it is verified at all              once, in the memory where it is timed, without guards; in strict
 *                                           finals (tt__rounds) in half of the rounds
 *   what others have left                   random bits in shared memory; in strict finals no results of
 * other launches, and the values that __device__ variables began with how long the arrays are a neighbouring
 * problem, which fits no tile (kernels of users)
 *
 * Poison must be wrong in each byte, else a byte that a kernel leaves out might be right by luck. It must not
 * be a function of the result that a kernel can invert, else `y = ~y` is right. Hence the upper bits of each
 * byte are inverted always, and the others at random. In a number that may be off, the sign and the exponent
 * are in the upper bits, so that poison is no number within a tolerance.
 *
 * Guards, inputs, and the bytes that the reference does not write must be unchanged. What that is, the
 * reference shows: it runs twice, on random bits and on their inverse, and what keeps both was not written.
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
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

CUdeviceptr tt__verify_finding(const tt__verifier *v, int i) {
    return v->findings + (CUdeviceptr)i * sizeof(tt__finding);
}

/* ---- What lies where ----------------------------------------------------------------------------------- */

size_t tt__verify_area_bytes(const tt__workload *w, int i) {
    return (TT__GUARD + (size_t)w->align + (size_t)tt__array_bytes(&w->arrays[i]) + TT__GUARD + 15) / 16 * 16;
}

bool tt__verify_is_result(const tt__array *a) {
    return a->direction == TT__OUT || a->direction == TT__INOUT;
}

bool tt__verify_is_known(const tt__workload *w, const tt__array *a) {
    return tt__verify_is_result(a) && (w->has_reference || a->expect[0]);
}

/* An input of random bits needs no copy: its seed makes it again. */
bool tt__verify_is_kept(const tt__array *a) {
    return a->direction == TT__INOUT || (a->direction == TT__IN && (a->init != TT__INIT_RANDOM || a->filled));
}

bool tt__verify_is_masked(const tt__workload *w, const tt__array *a) {
    return a->direction == TT__OUT && tt__verify_is_known(w, a);
}

int64_t tt__verify_bytes(const tt__workload *w) {
    int64_t sum = 0;
    for (int i = 0; i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        int64_t bytes = (int64_t)tt__verify_area_bytes(w, i);
        if (a->direction != TT__SCALAR)
            sum += bytes + tt__verify_is_kept(a) * bytes + tt__verify_is_known(w, a) * bytes +
                   tt__verify_is_masked(w, a) * bytes / 8;
    }
    return sum;
}

/* Each input has its own, so that no two are equal, and the same in each run. No kernel may know the others.
 */
unsigned tt__verify_seed(const tt__verifier *v, int i) {
    enum { SEED_INPUT = 16, SEEDS_OF_A_SET = 1000 };
    const tt__direction direction = v->work.arrays[i].direction;
    const unsigned seed = (unsigned)(SEED_INPUT + i) + SEEDS_OF_A_SET * (unsigned)v->set;
    return direction == TT__OUT || direction == TT__SCRATCH ? seed ^ v->salt : seed;
}

static bool is_input(const tt__array *a) {
    return a->direction == TT__IN || a->direction == TT__INOUT;
}

/* One whose length each configuration chooses may be written just beyond it, so random bits follow it. */
static bool has_guards(const tt__array *a) {
    return a->direction == TT__IN || (a->direction == TT__INOUT && !a->by_config);
}

/* ---- The kernels of verify.cu ---------------------------------------------------------------------------
 */

CUresult tt__verify_launch(const tt__verifier *v, CUfunction fn, int64_t n, void **args) {
    int64_t blocks = (n + 255) / 256; /* a kernel's loop covers more items */
    return v->cu->cuLaunchKernel(fn,
                                 blocks < 1      ? 1
                                 : blocks > 8192 ? 8192
                                                 : (unsigned)blocks,
                                 1, 1, 256, 1, 1, 0, v->stream, args, NULL);
}

CUresult tt__verify_fill(const tt__verifier *v, CUdeviceptr ptr, size_t bytes, unsigned seed, int inverted) {
    long long n = (long long)(bytes / 4);
    return tt__verify_launch(v, v->fill, n, (void *[]){&ptr, &n, &seed, &inverted});
}

tt_status tt__verifier_randomise(const tt__verifier *v, CUdeviceptr ptr, size_t bytes) {
    enum { SEED = 2 };
    TT_TRY(tt__cu_check(tt__verify_fill(v, ptr, bytes, SEED, 0), "tt_fill"));
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling %zu bytes", bytes);
}

CUresult tt__verify_move(const tt__verifier *v, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return v->cu->cuMemcpyDtoDAsync(to, from, bytes, v->stream);
}

static CUresult guard(const tt__verifier *v, int i, CUdeviceptr at, CUdeviceptr found);

CUresult tt__verify_renew(const tt__verifier *v, int i, CUdeviceptr to, int inverted) {
    const tt__area *area = &v->areas[i];
    if (area->before)
        return tt__verify_move(v, to, area->before, area->bytes);
    CUresult r = tt__verify_fill(v, to, area->bytes, tt__verify_seed(v, i), inverted);
    return r == CUDA_SUCCESS && has_guards(&v->work.arrays[i]) ? guard(v, i, to, 0) : r;
}

CUresult tt__verifier_initial(const tt__verifier *v, int i, CUdeviceptr to) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    if (!is_input(a))
        return CUDA_SUCCESS;
    return tt__verify_move(v, to, (area->before ? area->before : area->live) + area->head,
                           (size_t)tt__array_bytes(a));
}

CUresult tt__verifier_spread(const tt__verifier *v, CUdeviceptr slots, size_t bytes, size_t stride,
                             size_t n_slots) {
    long long words = (long long)(bytes / 16), step = (long long)(stride / 16), n = (long long)n_slots;
    unsigned rows = n_slots > 32768 ? 32768 : (unsigned)n_slots - 1;
    int64_t blocks = (words + 255) / 256;
    if (n_slots < 2)
        return CUDA_SUCCESS;
    return v->cu->cuLaunchKernel(v->spread, blocks > 1024 ? 1024 : (unsigned)blocks, rows, 1, 256, 1, 1, 0,
                                 v->stream, (void *[]){&slots, &words, &step, &n}, NULL);
}

/* Inputs must not change at all. */
bool tt__verify_is_exact(const tt__array *a) {
    return !tt__verify_is_result(a) || a->type == TT__TYPE_ELEM ||
           (a->abs_tolerance <= 0 && a->rel_tolerance <= 0 && a->scale_tolerance <= 0);
}

bool tt__verify_has_numbers(const tt__workload *w) {
    for (int i = 0; i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        if (a->direction == TT__SCALAR)
            continue;
        if (a->init == TT__INIT_UNIFORM || a->init == TT__INIT_NORMAL || a->init == TT__INIT_SORTED ||
            a->init == TT__INIT_PERMUTATION || a->init == TT__INIT_MIXED || !tt__verify_is_exact(a))
            return true;
    }
    return false;
}

void tt__verify_candidate(tt__candidate *out, const tt__workload *w) {
    *out = (tt__candidate){0};
    tt__copy(out->config, sizeof out->config, tt__verify_has_numbers(w) ? "NUMBERS=1" : "NUMBERS=0");
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

/* What shows if a kernel reads it: infinity and, in the second set, minus infinity. A sum, a maximum or a
 * minimum takes it over, and 0 times it is NaN. E4M3 has none. Whole numbers are near the largest and near
 * the smallest, with random bits below. */
static void showing_bits(const tt__verifier *v, const tt__array *a, uint64_t *fixed, uint64_t *mask) {
    static const uint64_t of[TT__TYPE_COUNT][2] = {
        [TT__TYPE_F64] = {0x7ff0ull << 48, 0xfff0ull << 48},
        [TT__TYPE_F32] = {0x7f800000, 0xff800000},
        [TT__TYPE_F16] = {0x7c00, 0xfc00},
        [TT__TYPE_BF16] = {0x7f80, 0xff80},
        [TT__TYPE_E4M3] = {0x7f, 0xfe},
        [TT__TYPE_E5M2] = {0x7c, 0xfc},
    };
    const int shift = 8 * (a->elem_size - 1);
    const bool second = v->set == TT__SECOND_DATA;
    *fixed = 0;
    *mask = UINT64_MAX;
    if (!v->shows || a->type == TT__TYPE_ELEM)
        return;
    *fixed = of[a->type][second];
    *mask = 0;
    if (*fixed == 0) {
        *fixed = (second ? 0x80ull : 0x7cull) << shift;
        *mask = (4ull << shift) - 1;
    }
}

/* Writes the guards of an input or, with a finding, compares them. */
static CUresult guard(const tt__verifier *v, int i, CUdeviceptr at, CUdeviceptr found) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    long long head = (long long)area->head, tail = (long long)area->tail, bytes = (long long)area->bytes;
    uint64_t fixed, mask;
    int size = a->elem_size <= 8 && a->type != TT__TYPE_ELEM ? a->elem_size : 1;
    unsigned seed = tt__verify_seed(v, i) ^ v->salt;
    showing_bits(v, a, &fixed, &mask);
    return tt__verify_launch(v, v->guard, head + bytes - tail,
                             (void *[]){&at, &head, &tail, &bytes, &fixed, &mask, &size, &seed, &found});
}

tt_status tt__verify_show(tt__verifier *v, bool shows) {
    v->shows = shows;
    for (int i = 0; i < v->work.n; i++) {
        const tt__area *area = &v->areas[i];
        CUdeviceptr copies[] = {area->live, area->before, area->reference};
        for (int k = 0; k < 3 && has_guards(&v->work.arrays[i]); k++)
            if (copies[k])
                TT_TRY(tt__cu_check(guard(v, i, copies[k], 0), "tt_guard"));
    }
    return TT_OK;
}

/* Checks that random bits are unchanged, from byte `from` of the area on. */
static CUresult check_bits(tt__verifier *v, int i, CUdeviceptr area, size_t from, size_t bytes,
                           CUdeviceptr found) {
    long long begin = (long long)from, end = (long long)(from + bytes);
    unsigned seed = tt__verify_seed(v, i);
    return tt__verify_launch(v, v->check_fill, (long long)(bytes / 4),
                             (void *[]){&area, &begin, &end, &seed, &found});
}

CUresult tt__verify_guards(tt__verifier *v, int i, CUdeviceptr at, CUdeviceptr found) {
    const tt__area *area = &v->areas[i];
    if (has_guards(&v->work.arrays[i]))
        return guard(v, i, at, found);
    size_t tail = area->head + (size_t)tt__array_bytes(&v->work.arrays[i]);
    CUresult r = check_bits(v, i, at, 0, area->head, found);
    return r == CUDA_SUCCESS ? check_bits(v, i, at, tail, area->bytes - tail, found) : r;
}

static CUresult compare(tt__verifier *v, int i, CUdeviceptr with, CUdeviceptr found) {
    const tt__array *a = &v->work.arrays[i];
    tt__area *area = &v->areas[i];
    long long words = (long long)(area->bytes / 16), head = (long long)area->head, count = a->count;
    int type = a->type, size = a->elem_size;
    double most = area->tolerance, part = a->rel_tolerance;
    unsigned key = with == area->reference ? v->key : 0;
    if (tt__verify_is_exact(a))
        return tt__verify_launch(v, v->compare, words, (void *[]){&area->live, &with, &words, &key, &found});
    return tt__verify_launch(
        v, v->compare_numbers, words,
        (void *[]){&area->live, &with, &words, &head, &count, &type, &size, &most, &part, &key, &found});
}

/* ---- The class of equal bits ----------------------------------------------------------------------------
 */

/* The second data lie elsewhere, so that their hashes say nothing new of the class. */
bool tt__verify_has_bits(const tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    return tt__verify_is_result(a) && v->set != TT__SECOND_DATA &&
           !(tt__verify_is_exact(a) && v->areas[i].reference);
}

/* Queues the hash of a result. Only what the reference writes counts: the rest holds other random bits in
 * each run. */
CUresult tt__verify_bits(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    CUdeviceptr found = tt__verify_finding(v, i);
    long long head = (long long)area->head, tail = head + (long long)tt__array_bytes(a);
    enum { WORDS_MAX = 2048 * 256 }; /* enough for the memory's rate, and fewer atomics */
    if (!tt__verify_has_bits(v, i))
        return CUDA_SUCCESS;
    int64_t words = (tail - head) / 16 + 1;
    return tt__verify_launch(v, v->bits, words < WORDS_MAX ? words : WORDS_MAX,
                             (void *[]){(void *)&area->live, (void *)&area->written, &head, &tail, &found});
}

int64_t tt__verify_class(const tt__verifier *v, const tt__finding found[TT__OPERANDS_MAX]) {
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
    const int64_t bits = tt__verify_class(v, found);
    if (v->set == TT__FIRST_DATA)
        trial->bits = trial->bits == TT__BITS_UNKNOWN || trial->bits == bits ? bits : TT__BITS_UNSTABLE;
}

CUresult tt__verify_area(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    CUdeviceptr found = tt__verify_finding(v, i);
    CUresult hashed = tt__verify_bits(v, i);
    if (hashed != CUDA_SUCCESS)
        return hashed;
    if (area->reference)
        return compare(v, i, area->reference, found);
    if (a->direction != TT__IN)
        return tt__verify_guards(v, i, area->live, found); /* the expected contents are unknown */
    if (area->before)
        return compare(v, i, area->before, found);
    CUresult r = guard(v, i, area->live, found);
    return r == CUDA_SUCCESS ? check_bits(v, i, area->live, area->head, area->tail - area->head, found) : r;
}

tt_status tt__verify_check(tt__verifier *v, CUresult (*look)(tt__verifier *v, int i),
                           tt__finding found[TT__OPERANDS_MAX], const char *what) {
    TT_TRY(tt__cu_check(tt__verify_move(v, v->findings, v->findings + TT__FINDINGS_BYTES, TT__FINDINGS_BYTES),
                        "%s", what));
    for (int i = 0; i < v->work.n; i++)
        if (v->work.arrays[i].direction != TT__SCALAR)
            TT_TRY(tt__cu_check(look(v, i), "%s", what));
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "%s", what));
    return tt__cu_check(v->cu->cuMemcpyDtoH(found, v->findings, TT__FINDINGS_BYTES), "cuMemcpyDtoH");
}

tt_status tt__verify_sum(tt__verifier *v, uint64_t *out) {
    CUdeviceptr sum = v->findings;
    TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(sum, 0, sizeof *out, v->stream), "cuMemsetD8Async"));
    for (int i = 0; i < v->work.n; i++) {
        const tt__area *area = &v->areas[i];
        CUdeviceptr kept[] = {area->before, area->reference, area->written};
        for (unsigned k = 0; k < 3; k++) {
            long long n = (long long)(area->bytes / (k == 2 ? 8 : 1) / 4);
            unsigned seed = 64 + 3 * (unsigned)i + k;
            if (kept[k])
                TT_TRY(tt__cu_check(tt__verify_launch(v, v->sum, n, (void *[]){&kept[k], &n, &seed, &sum}),
                                    "tt_sum"));
        }
    }
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "tt_sum"));
    return tt__cu_check(v->cu->cuMemcpyDtoH(out, sum, sizeof *out), "cuMemcpyDtoH");
}

/* ---- Explaining what is wrong ------------------------------------------------------------------------- */

/* Does the reference not write this byte of the area? */
static tt_status reference_leaves(tt__verifier *v, const tt__area *area, size_t byte, bool *leaves) {
    unsigned char bits = 0xff;
    if (area->written)
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(&bits, area->written + byte / 8, 1), "cuMemcpyDtoH"));
    *leaves = !(bits >> byte % 8 & 1);
    return TT_OK;
}

/* As `mix` of verify.cu. */
static unsigned mix(uint64_t i, unsigned seed) {
    unsigned h = (unsigned)i * 0x9e3779b1u ^ ((unsigned)(i >> 32) + seed) * 0x85ebca77u;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

/* Reads bytes of what an area is compared with: the right results are hidden. */
static tt_status read_right(tt__verifier *v, const tt__area *area, CUdeviceptr with, size_t at,
                            unsigned char *out, size_t n) {
    TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(out, with + at, n), "cuMemcpyDtoH"));
    for (size_t k = 0; k < n && v->key && with == area->reference; k++)
        out[k] ^= (unsigned char)(mix((at + k) / 4, v->key) >> 8 * ((at + k) % 4));
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
    if (!tt__verify_is_exact(a))
        tt__format(tolerance, sizeof tolerance, " (tolerance: abs %g, rel %g)", area->tolerance,
                   a->rel_tolerance);
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

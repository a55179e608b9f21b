/* The verifier: see the header. */
#include "tuner/verify.h"

#include <stdio.h>

#include "base/str.h"
#include "tuner/verify_parts.h"

CUdeviceptr tt__verify_finding(const tt__verifier *v, int i) {
    return v->findings + (CUdeviceptr)i * sizeof(tt__finding);
}

uint32_t tt__mix(uint64_t i, uint32_t seed) { /* as in verify.cu */
    uint32_t h = (uint32_t)i * 0x9e3779b1u ^ ((uint32_t)(i >> 32) + seed) * 0x85ebca77u;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

/* ---- What lies where ----------------------------------------------------------------------------------- */

/* A base address that is aligned to exactly what the problem says. */
size_t tt__verify_shift(const tt__workload *w) {
    return w->align < 16 ? (size_t)w->align : 0;
}

size_t tt__verify_area_bytes(const tt__workload *w, int i) {
    return (TT__GUARD + tt__verify_shift(w) + (size_t)tt__array_bytes(&w->arrays[i]) + TT__GUARD + 15) / 16 *
           16;
}

bool tt__verify_is_result(const tt__array *a) {
    return a->direction == TT__OUT || a->direction == TT__INOUT;
}

bool tt__verify_is_known(const tt__workload *w, const tt__array *a) {
    return tt__verify_is_result(a) && (w->has_reference || a->expect[0]);
}

/* An input of random bits needs no copy: the seed makes it again. */
bool tt__verify_is_kept(const tt__array *a) {
    return a->direction == TT__INOUT || (a->direction == TT__IN && a->init != TT__INIT_RANDOM);
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

/* Results start from the same random bits, others from their own, so that no two inputs are alike. */
unsigned tt__verify_seed(const tt__workload *w, int i) {
    return w->arrays[i].direction == TT__OUT ? TT__SEED_OUTPUT : i == 0 ? TT__SEED_INPUT : (unsigned)(16 + i);
}

/* ---- The checker's kernels ----------------------------------------------------------------------------- */

CUresult tt__verify_launch(const tt__verifier *v, CUfunction fn, int64_t n, void **args) {
    int64_t blocks = (n + 255) / 256; /* the kernels stride beyond it */
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
    TT_TRY(tt__cu_check(tt__verify_fill(v, ptr, bytes, TT__SEED_OUTPUT, 0), "tt_fill"));
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling %zu bytes", bytes);
}

CUresult tt__verify_move(const tt__verifier *v, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return v->cu->cuMemcpyDtoDAsync(to, from, bytes, v->stream);
}

CUresult tt__verifier_initial(const tt__verifier *v, int i, CUdeviceptr to) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    if (a->direction != TT__IN && a->direction != TT__INOUT)
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

/* Must it be right bit for bit? Inputs must not change at all. */
static bool is_exact(const tt__workload *w, int i) {
    const tt__array *a = &w->arrays[i];
    return a->direction == TT__IN || a->type == TT__TYPE_ELEM ||
           (w->abs_tolerance <= 0 && w->rel_tolerance <= 0);
}

bool tt__verify_has_numbers(const tt__workload *w) {
    for (int i = 0; i < w->n; i++) {
        const tt__array *a = &w->arrays[i];
        if (a->direction == TT__SCALAR)
            continue;
        if (a->init == TT__INIT_UNIFORM || a->init == TT__INIT_NORMAL || !is_exact(w, i))
            return true;
    }
    return false;
}

const char *tt__verify_config(const tt__workload *w) {
    return tt__verify_has_numbers(w) ? "NUMBERS=1" : "NUMBERS=0";
}

/* The inverse of a whole number, -n - 1, may be within its tolerance: the upper bit of
 * each byte is far off. */
static unsigned poison_bits(const tt__verifier *v, int i) {
    return is_exact(&v->work, i) || tt__types[v->work.arrays[i].type].floating ? ~0u : 0x80808080u;
}

/* Random bits that must still be there, from byte `from` of the area on. */
static CUresult check_bits(tt__verifier *v, int i, CUdeviceptr area, size_t from, size_t bytes,
                           CUdeviceptr found) {
    long long begin = (long long)from, end = (long long)(from + bytes);
    unsigned seed = tt__verify_seed(&v->work, i);
    return tt__verify_launch(v, v->check_fill, (long long)(bytes / 4),
                             (void *[]){&area, &begin, &end, &seed, &found});
}

CUresult tt__verify_guards(tt__verifier *v, int i, CUdeviceptr at, CUdeviceptr found) {
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
    if (is_exact(&v->work, i))
        return tt__verify_launch(v, v->compare, words, (void *[]){&area->live, &with, &words, &found});
    return tt__verify_launch(
        v, v->compare_numbers, words,
        (void *[]){&area->live, &with, &words, &head, &count, &type, &size, &most, &part, &found});
}

CUresult tt__verify_area(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    CUdeviceptr found = tt__verify_finding(v, i);
    if (area->reference)
        return compare(v, i, area->reference, found);
    if (a->direction == TT__IN)
        return area->before ? compare(v, i, area->before, found)
                            : check_bits(v, i, area->live, 0, area->bytes, found);
    return tt__verify_guards(v, i, area->live, found); /* of the array nobody knows what it should hold */
}

/* Starts with nothing found, queues the comparisons, and waits once, for all that was queued before, too. */
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
/* All that runs are judged by, in a number. */
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

/* ---- One configuration --------------------------------------------------------------------------------- */

/* What a run may find in its operands. */
static CUresult poison(tt__verifier *v) {
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; i < v->work.n && r == CUDA_SUCCESS; i++) {
        tt__area *area = &v->areas[i];
        long long words = (long long)(area->bytes / 16);
        unsigned flip = poison_bits(v, i);
        if (area->written)
            r = tt__verify_launch(v, v->poison, words,
                                  (void *[]){&area->live, &area->reference, &area->written, &words, &flip});
        else if (v->work.arrays[i].direction == TT__INOUT)
            r = tt__verify_move(v, area->live, area->before, area->bytes);
        else if (area->live && v->work.arrays[i].direction != TT__IN)
            r = tt__verify_fill(v, area->live, area->bytes, tt__verify_seed(&v->work, i), 0);
    }
    return r;
}

/* Words for what was found in a result: where it lies, and both values. */
static tt_status explain(tt__verifier *v, int i, const tt__finding *found, tt__trial *trial) {
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
            snprintf(
                trial->reason, sizeof trial->reason,
                "first wrong element at %s: byte is 0x%02x, should be 0x%02x; %llu pieces of 16 bytes differ",
                place, got[k], want[k], (unsigned long long)found->n);
    } else {
        char is[48], should[48], tolerance[80] = "";
        unsigned char elements[2][16];
        int64_t element = at / a->elem_size;
        CUdeviceptr offset = area->head + (CUdeviceptr)(element * a->elem_size);
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(elements[0], area->live + offset, (size_t)a->elem_size),
                            "cuMemcpyDtoH"));
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(elements[1], with + offset, (size_t)a->elem_size),
                            "cuMemcpyDtoH"));
        if (v->work.abs_tolerance > 0 || v->work.rel_tolerance > 0)
            snprintf(tolerance, sizeof tolerance, " (tolerance: abs %g, rel %g)", v->work.abs_tolerance,
                     v->work.rel_tolerance);
        snprintf(trial->reason, sizeof trial->reason,
                 "first wrong element at %s[%lld]: is %s, should be %s%s; %llu pieces of 16 bytes differ",
                 a->name, (long long)element,
                 tt__type_text(is, sizeof is, a->type, a->elem_size, elements[0]),
                 tt__type_text(should, sizeof should, a->type, a->elem_size, elements[1]), tolerance,
                 (unsigned long long)found->n);
    }
    return TT_OK;
}

/* An input that was written to is made again, or every later configuration would be called wrong. */
static tt_status repair(tt__verifier *v, int i, const tt__finding *found, tt__trial *trial) {
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
        snprintf(trial->reason, sizeof trial->reason, "wrote %s the %s",
                 at < 0 ? "before" : "behind the end of", tt__is_matrix(&v->problem) ? "source" : a->name);
    return tt__cu_check(area->before
                            ? tt__verify_move(v, area->live, area->before, area->bytes)
                            : tt__verify_fill(v, area->live, area->bytes, tt__verify_seed(&v->work, i), 0),
                        "repairing %s", a->name);
}

/* One that wrote far away may have changed what the next ones are compared with: then this worker is of no
 * more use. */
static tt_status check_kept(tt__verifier *v, const tt__trial *trial) {
    uint64_t now;
    TT_TRY(tt__verify_sum(v, &now));
    return now == v->kept
               ? TT_OK
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
    return trial->status == TT__TRIAL_OK ? TT_OK : check_kept(v, trial);
}

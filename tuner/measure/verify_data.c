/*
 * What a verifier has on the device: fills the arrays, with the file's own kernels too, runs the reference or
 * reads files, and queues the comparisons with it.
 */
#include "tuner/measure/verify_data.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/read_file.h"
#include "base/str.h"
#include "tuner/measure/verify_survey.h"

enum { GUARD = 4096, FINDINGS_BYTES = TT__OPERANDS_MAX * sizeof(tt__finding) };

static CUdeviceptr finding_of(const tt__verifier *v, int i) {
    return v->findings + (CUdeviceptr)i * sizeof(tt__finding);
}

/* ---- What lies where ----------------------------------------------------------------------------------- */

static size_t area_bytes(const tt__workload *w, int i) {
    return (GUARD + (size_t)w->align + (size_t)tt__array_bytes(&w->arrays[i]) + GUARD + 15) / 16 * 16;
}

bool tt__verify_is_result(const tt__array *a) {
    return a->direction == TT__OUT || a->direction == TT__INOUT;
}

static bool is_known(const tt__workload *w, const tt__array *a) {
    return tt__verify_is_result(a) && (w->has_reference || a->expect[0]);
}

/* An input of random bits needs no copy: its seed makes it again. */
static bool is_kept(const tt__array *a) {
    return a->direction == TT__INOUT || (a->direction == TT__IN && (a->init != TT__INIT_RANDOM || a->filled));
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

/* Each input has its own, so that no two are equal, and without fresh data the same in each run. No kernel
 * may know the others. */
unsigned tt__verify_seed(const tt__verifier *v, int i) {
    enum { SEED_INPUT = 16, SEEDS_OF_A_SET = 1000 };
    const tt__direction direction = v->work.arrays[i].direction;
    const unsigned seed = (unsigned)(SEED_INPUT + i) + SEEDS_OF_A_SET * (unsigned)v->set;
    return direction == TT__OUT || direction == TT__SCRATCH || v->fresh_data ? seed ^ v->salt : seed;
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

unsigned tt__verify_mix(uint64_t i, unsigned seed) {
    unsigned h = (unsigned)i * 0x9e3779b1u ^ ((unsigned)(i >> 32) + seed) * 0x85ebca77u;
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

CUresult tt__verify_launch(const tt__verifier *v, CUfunction fn, int64_t n, void **args) {
    enum { EACH = 4 * 256 };                /* a thread starts for several items */
    int64_t blocks = (n + EACH - 1) / EACH; /* a kernel's loop covers more */
    return v->cu->cuLaunchKernel(fn,
                                 blocks < 1      ? 1
                                 : blocks > 8192 ? 8192
                                                 : (unsigned)blocks,
                                 1, 1, 256, 1, 1, 0, v->stream, args, NULL);
}

CUresult tt__verify_add_up(const tt__verifier *v, CUfunction fn, int64_t n, void **args) {
    enum { THREADS_MAX = 2048 * 256 }; /* enough for the memory's rate */
    return tt__verify_launch(v, fn, n < THREADS_MAX ? n : THREADS_MAX, args);
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

static bool uses_numbers(const tt__workload *w) {
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

int tt__verify_parts(const tt__problem *p, const tt__workload *w) {
    enum { FIRST_OF_USERS = 2, FIRST_OF_NUMBERS = 3 }; /* of the parts of verify.cu */
    return uses_numbers(w) ? TT__CHECKER_PARTS : tt__problem_is_users(p) ? FIRST_OF_NUMBERS : FIRST_OF_USERS;
}

void tt__verify_configuration(tt__configuration *out, int part) {
    *out = (tt__configuration){0};
    snprintf(out->config, sizeof out->config, "PART=%d", part);
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
    unsigned seed = tt__verify_seed(v, i) ^ v->salt * 0x85ebca6bu; /* the salt may be in both */
    showing_bits(v, a, &fixed, &mask);
    return tt__verify_launch(v, v->guard, head + bytes - tail,
                             (void *[]){&at, &head, &tail, &bytes, &fixed, &mask, &size, &seed, &found});
}

static tt_status show_guards(tt__verifier *v, bool shows) {
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

static CUresult check_guards(tt__verifier *v, int i, CUdeviceptr at, CUdeviceptr found) {
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
    CUdeviceptr found = finding_of(v, i);
    long long head = (long long)area->head, tail = head + (long long)tt__array_bytes(a);
    if (!tt__verify_has_bits(v, i))
        return CUDA_SUCCESS;
    return tt__verify_add_up(v, v->bits, (tail - head) / 16 + 1,
                             (void *[]){(void *)&area->live, (void *)&area->written, &head, &tail, &found});
}

CUresult tt__verify_area(tt__verifier *v, int i) {
    const tt__array *a = &v->work.arrays[i];
    const tt__area *area = &v->areas[i];
    CUdeviceptr found = finding_of(v, i);
    CUresult hashed = tt__verify_bits(v, i);
    if (hashed != CUDA_SUCCESS)
        return hashed;
    if (area->reference)
        return compare(v, i, area->reference, found);
    if (a->direction != TT__IN)
        return check_guards(v, i, area->live, found); /* the expected contents are unknown */
    if (area->before)
        return compare(v, i, area->before, found);
    CUresult r = guard(v, i, area->live, found);
    return r == CUDA_SUCCESS ? check_bits(v, i, area->live, area->head, area->tail - area->head, found) : r;
}

tt_status tt__verify_check(tt__verifier *v, CUresult (*look)(tt__verifier *v, int i),
                           tt__finding found[TT__OPERANDS_MAX], const char *what) {
    TT_TRY(tt__cu_check(tt__verify_move(v, v->findings, v->findings + FINDINGS_BYTES, FINDINGS_BYTES), "%s",
                        what));
    for (int i = 0; i < v->work.n; i++)
        if (v->work.arrays[i].direction != TT__SCALAR)
            TT_TRY(tt__cu_check(look(v, i), "%s", what));
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "%s", what));
    return tt__cu_check(v->cu->cuMemcpyDtoH(found, v->findings, FINDINGS_BYTES), "cuMemcpyDtoH");
}

CUresult tt__verify_add_words(const tt__verifier *v, CUdeviceptr words, long long n, unsigned seed,
                              CUdeviceptr sum) {
    long long stride = 0, slots = 1;
    return tt__verify_add_up(v, v->sum, n, (void *[]){&words, &n, &stride, &slots, &seed, &sum});
}

tt_status tt__verify_sum(tt__verifier *v, uint64_t *out) {
    CUdeviceptr sum = v->findings;
    TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(sum, 0, sizeof *out, v->stream), "cuMemsetD8Async"));
    for (int i = 0; i < v->work.n; i++) {
        const tt__area *area = &v->areas[i];
        CUdeviceptr kept[] = {area->before, area->reference, area->written};
        for (unsigned k = 0; k < 3; k++) {
            const long long n = (long long)(area->bytes / (k == 2 ? 8 : 1) / 4);
            if (kept[k])
                TT_TRY(tt__cu_check(tt__verify_add_words(v, kept[k], n, 64 + 3 * (unsigned)i + k, sum),
                                    "tt_sum"));
        }
    }
    TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "tt_sum"));
    return tt__cu_check(v->cu->cuMemcpyDtoH(out, sum, sizeof *out), "cuMemcpyDtoH");
}

/* ---- Opening ---- */

static tt_status open_kernels(tt__verifier *v, const void *const *cubins) {
    const struct {
        CUfunction *fn;
        const char *name;
        int part; /* as in verify.cu */
    } fns[] = {{&v->fill, "tt_fill", 0},
               {&v->written, "tt_written", 0},
               {&v->poison, "tt_poison", 0},
               {&v->sum, "tt_sum", 0},
               {&v->check_fill, "tt_check_fill", 1},
               {&v->guard, "tt_guard", 1},
               {&v->compare, "tt_compare", 1},
               {&v->spread, "tt_spread", 1},
               {&v->hide, "tt_hide", 2},
               {&v->soil, "tt_soil", 2},
               {&v->fill_each, "tt_fill_each", 2},
               {&v->bits, "tt_bits", 2},
               {&v->survey, "tt_survey", 2},
               {&v->numbers, "tt_numbers", 3},
               {&v->sample, "tt_sample", 4},
               {&v->telling, "tt_telling", 4},
               {&v->squares, "tt_squares", 4},
               {&v->compare_numbers, "tt_compare_numbers", 5}};
    const int n_parts = tt__verify_parts(&v->problem, &v->work);
    for (int i = 0; i < n_parts; i++)
        TT_TRY(
            tt__cu_check(v->cu->cuLibraryLoadData(&v->libraries[i], cubins[i], NULL, NULL, 0, NULL, NULL, 0),
                         "cuLibraryLoadData (verifier)"));
    for (size_t i = 0; i < sizeof fns / sizeof *fns; i++) {
        CUkernel kernel;
        if (fns[i].part >= n_parts)
            continue;
        TT_TRY(tt__cu_check(v->cu->cuLibraryGetKernel(&kernel, v->libraries[fns[i].part], fns[i].name),
                            "cuLibraryGetKernel (%s)", fns[i].name));
        TT_TRY(tt__cu_check(v->cu->cuKernelGetFunction(fns[i].fn, kernel), "cuKernelGetFunction (%s)",
                            fns[i].name));
    }
    return TT_OK;
}

/* How much shared memory a multiprocessor has, and how many there are. */
static tt_status open_soil(tt__verifier *v) {
    int bytes, blocks;
    CUdevice dev;
    TT_TRY(tt__cu_check(v->cu->cuCtxGetDevice(&dev), "cuCtxGetDevice"));
    TT_TRY(tt__cu_check(
        v->cu->cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, dev),
        "cuDeviceGetAttribute"));
    TT_TRY(tt__cu_check(v->cu->cuDeviceGetAttribute(&blocks, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev),
                        "cuDeviceGetAttribute"));
    v->soil_words = (unsigned)bytes / 4;
    v->soil_blocks = (unsigned)blocks;
    v->soil_seed = v->salt;
    return tt__cu_check(
        v->cu->cuFuncSetAttribute(v->soil, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
        "tt_soil: %d bytes of dynamic shared memory", bytes);
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
    area->bytes = area_bytes(&v->work, i);
    area->head = GUARD + (size_t)(v->set == TT__FIRST_DATA ? v->work.align : v->work.offset);
    area->tail = area->head + (size_t)tt__array_bytes(a);
    TT_TRY(allocate(v, &area->live, area->bytes));
    area->operand = area->live + area->head;
    if (is_kept(a))
        TT_TRY(allocate(v, &area->before, area->bytes));
    if (is_known(&v->work, a))
        TT_TRY(allocate(v, &area->reference, area->bytes));
    if (is_masked(&v->work, a))
        TT_TRY(allocate(v, &area->written, area->bytes / 8));
    return tt__cu_check(tt__verify_fill(v, area->live, area->bytes, tt__verify_seed(v, i), 0), "tt_fill");
}

/* Reads raw data, which must be as long as the array. */
static tt_status read_raw(const tt__verifier *v, const char *path, const tt__array *a, CUdeviceptr to) {
    tt__str data = {0};
    struct stat is;
    if (stat(path, &is) != 0)
        return tt__fail(TT_E_IO, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(is.st_mode)) /* a pipe may have no end */
        return tt__fail(TT_E_INVALID, "%s is no file", path);
    if (is.st_size != tt__array_bytes(a))
        return tt__fail(TT_E_INVALID, "%s has %lld bytes, but %s has %lld: %lld elements of %d bytes", path,
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
               : a->init == TT__INIT_MIXED       ? (v->set == TT__SECOND_DATA ? 5 : 4)
                                                 : 0; /* as in verify.cu */
    unsigned seed = tt__verify_seed(v, i);
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
    case TT__INIT_MIXED:
        TT_TRY(
            tt__cu_check(tt__verify_launch(v, v->numbers, n,
                                           (void *[]){&area->operand, &n, &type, &kind, &low, &high, &seed}),
                         "tt_numbers"));
        break;
    case TT__INIT_ZEROS:
        TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(area->operand, 0, bytes, v->stream), "cuMemsetD8Async"));
        break;
    case TT__INIT_FILE:
        TT_TRY(read_raw(v, a->file, a, area->operand));
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
    return check_guards(v, i, v->areas[i].live, finding_of(v, i));
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

/* What a file or a kernel of `data` holds stays as it is. */
static bool is_refilled(const tt__array *a) {
    return (a->direction == TT__IN || a->direction == TT__INOUT || a->direction == TT__CONSTANT) &&
           !a->filled && a->init != TT__INIT_FILE && a->init != TT__INIT_INDEX;
}

tt_status tt__verifier_refill(tt__verifier *v, int set) {
    v->set = (tt__data_set)set;
    for (int i = 0; i < v->work.n; i++) {
        const tt__area *area = &v->areas[i];
        if (!is_refilled(&v->work.arrays[i]))
            continue;
        if (v->work.arrays[i].init == TT__INIT_RANDOM)
            TT_TRY(tt__cu_check(tt__verify_fill(v, area->live, area->bytes, tt__verify_seed(v, i), 0),
                                "tt_fill"));
        TT_TRY(init_array(v, i));
        if (area->before)
            TT_TRY(
                tt__cu_check(tt__verify_move(v, area->before, area->live, area->bytes), "cuMemcpyDtoDAsync"));
    }
    return show_guards(v, v->shows);
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

/* ---- The reference ------------------------------------------------------------------------------------- */

/* Fills everything as before a run. Results are in `reference`, and those of the second run in `live`. */
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

/* Must the reference run twice? After one run it is not known of each byte whether it was written: one in 256
 * is what it was before. But if it writes whole elements, then of four bytes that it writes one has changed.
 * Each configuration may have another reference. */
static bool runs_twice(const tt__verifier *v) {
    const bool whole = v->whole && !v->work.per_config;
    bool twice = false;
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        const bool tells = whole && a->elem_size % 4 == 0 && v->areas[i].head % 4 == 0;
        twice |= v->areas[i].written && !tells;
    }
    return twice;
}

static tt_status run_reference(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                               bool second) {
    void *operands[TT__OPERANDS_MAX];
    CUdeviceptr held[TT__OPERANDS_MAX];
    TT_TRY(prepare_reference(v, operands, held, second));
    TT_TRY(tt__cu_check(tt__kernel_launch(kernel, v->cu, launch, operands, v->stream),
                        "launching the reference %s", v->work.reference.name[0]));
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "the reference %s", v->work.reference.name[0]);
}

/* Has each byte of the last element of each result changed? At another size a reference may end within one.
 */
static tt_status ends_whole(tt__verifier *v, bool *whole) {
    *whole = true;
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        const tt__area *area = &v->areas[i];
        const size_t size = (size_t)a->elem_size, at = area->head + (size_t)tt__array_bytes(a) - size;
        unsigned char is[16];
        if (!area->written)
            continue;
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(is, area->reference + at, size), "cuMemcpyDtoH"));
        for (size_t k = at; k < at + size; k++)
            *whole &=
                is[k - at] != (unsigned char)(tt__verify_mix(k / 4, tt__verify_seed(v, i)) >> 8 * (k % 4));
    }
    return TT_OK;
}

/* The second run only shows which bytes are written. */
static tt_status run_as_needed(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch,
                               bool *twice) {
    bool whole = true;
    TT_TRY(run_reference(v, kernel, launch, false));
    if (!*twice && v->key && v->set == TT__FIRST_DATA)
        TT_TRY(ends_whole(v, &whole));
    *twice |= !whole;
    return *twice ? run_reference(v, kernel, launch, true) : TT_OK;
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
        TT_TRY(
            tt__cu_check(tt__verify_fill(v, area->live, area->bytes, tt__verify_seed(v, i), 1), "tt_fill"));
        TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "filling"));
        TT_TRY(read_raw(v, a->expect, a, area->reference + area->head));
        TT_TRY(tt__cu_check(tt__verify_move(v, area->live + area->head, area->reference + area->head, bytes),
                            "cuMemcpyDtoDAsync"));
    }
    return TT_OK;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What is this many times above the median of a sample has no part in a scale: one number of 3e38 would
 * excuse all others. */
static tt_status find_outlier(tt__verifier *v, int i, double *least) {
    enum { SAMPLE = 4096, TIMES = 1024 };
    double *sample = malloc(SAMPLE * sizeof *sample); /* large for a stack */
    const tt__area *area = &v->areas[i];
    CUdeviceptr at = area->reference + area->head, written = area->written, out;
    long long head = (long long)area->head, count = v->work.arrays[i].count, n = SAMPLE;
    int type = v->work.arrays[i].type, size = v->work.arrays[i].elem_size;
    size_t kept = 0;
    tt_status status =
        sample ? allocate(v, &out, SAMPLE * sizeof *sample) : tt__fail_memory(SAMPLE * sizeof *sample);
    if (status != TT_OK)
        goto out;
    status = tt__cu_check(
        tt__verify_launch(v, v->sample, n, (void *[]){&at, &written, &head, &count, &type, &size, &out, &n}),
        "tt_sample");
    if (status == TT_OK)
        status = tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "tt_sample");
    if (status == TT_OK)
        status = tt__cu_check(v->cu->cuMemcpyDtoH(sample, out, SAMPLE * sizeof *sample), "cuMemcpyDtoH");
    v->cu->cuMemFree(out);
    if (status != TT_OK)
        goto out;
    for (size_t k = 0; k < SAMPLE; k++) /* zeros say nothing of the others, or are not written */
        if (isfinite(sample[k]) && sample[k] != 0)
            sample[kept++] = fabs(sample[k]);
    qsort(sample, kept, sizeof *sample, by_size);
    *least = kept ? TIMES * sample[kept / 2] : DBL_MAX;
out:
    free(sample);
    return status;
}

/* The tolerance of each result by its scale: a fraction of the root mean square of the right result, without
 * what the reference does not write. */
static tt_status find_scales(tt__verifier *v) {
    for (int i = 0; i < v->work.n; i++) {
        const tt__array *a = &v->work.arrays[i];
        tt__area *area = &v->areas[i];
        CUdeviceptr at = area->reference + area->head, sum = v->findings;
        long long head = (long long)area->head, n = a->count;
        int type = a->type, size = a->elem_size;
        double most, total[2];
        area->tolerance = a->abs_tolerance;
        if (!area->reference || tt__verify_is_exact(a) || a->scale_tolerance <= 0)
            continue;
        TT_TRY(find_outlier(v, i, &most));
        TT_TRY(tt__cu_check(v->cu->cuMemsetD8Async(sum, 0, sizeof total, v->stream), "cuMemsetD8Async"));
        TT_TRY(tt__cu_check(
            tt__verify_add_up(v, v->squares, n,
                              (void *[]){&at, &area->written, &head, &n, &type, &size, &most, &sum}),
            "tt_squares"));
        TT_TRY(tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "tt_squares"));
        TT_TRY(tt__cu_check(v->cu->cuMemcpyDtoH(total, sum, sizeof total), "cuMemcpyDtoH"));
        double scale = total[1] > 0 ? a->scale_tolerance * sqrt(total[0] / total[1]) : 0;
        area->tolerance = scale > area->tolerance ? scale : area->tolerance;
    }
    return TT_OK;
}

static tt_status find_written(tt__verifier *v, bool ran_twice) {
    for (int i = 0; i < v->work.n; i++) {
        tt__area *area = &v->areas[i];
        long long words = (long long)(area->bytes / 16);
        unsigned seed = tt__verify_seed(v, i);
        CUdeviceptr twice = ran_twice ? area->live : 0;
        if (area->written)
            TT_TRY(tt__cu_check(
                tt__verify_launch(v, v->written, words,
                                  (void *[]){&area->reference, &twice, &words, &seed, &area->written}),
                "tt_written"));
    }
    return tt__cu_check(v->cu->cuStreamSynchronize(v->stream), "building the reference");
}

/* Checks whether the reference wrote around its results, or to its inputs. */
static CUresult look_behind_reference(tt__verifier *v, int i) {
    const tt__area *area = &v->areas[i];
    if (v->work.arrays[i].direction == TT__IN)
        return tt__verify_area(v, i);
    return check_guards(v, i, area->reference ? area->reference : area->live, finding_of(v, i));
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

/* No kernel may find the right results in memory, such as at a fixed distance from its own, and copy them. */
static tt_status hide_results(tt__verifier *v) {
    for (int i = 0; i < v->work.n && v->key; i++) {
        tt__area *area = &v->areas[i];
        long long words = (long long)(area->bytes / 4);
        if (area->reference)
            TT_TRY(tt__cu_check(
                tt__verify_launch(v, v->hide, words, (void *[]){&area->reference, &words, &v->key}),
                "tt_hide"));
    }
    return TT_OK;
}

tt_status tt__verifier_reference(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch) {
    bool twice = runs_twice(v);
    if (kernel) {
        if (v->shows)
            TT_TRY(show_guards(v, false));
        TT_TRY(run_as_needed(v, kernel, launch, &twice));
        TT_TRY(check_reference(v));
    }
    TT_TRY(take_expected(v));
    TT_TRY(find_written(v, twice));
    TT_TRY(find_scales(v));
    TT_TRY(tt__verify_survey(v));
    TT_TRY(show_guards(v, true));
    TT_TRY(hide_results(v));
    return tt__verify_sum(v, &v->kept);
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
                            const tt__workload *w, tt__data_set set, bool fresh_data, bool whole,
                            const void *const *checker_cubins, const void *reference_cubin,
                            size_t reference_size) {
    tt__finding clear[TT__OPERANDS_MAX];
    tt_status status = TT_OK;
    memset(v, 0, sizeof *v);
    v->cu = cu;
    v->stream = stream;
    v->problem = *p;
    v->work = *w;
    v->set = set;
    v->fresh_data = fresh_data;
    v->whole = whole || !tt__problem_is_users(p);
    v->salt = (unsigned)(uint64_t)(tt__now_s() * 1e6) | 0x10000; /* no seed of an input */
    v->key = tt__problem_is_users(p) ? v->salt * 0x9e3779b1u | 1 : 0;
    for (int i = 0; i < TT__OPERANDS_MAX; i++)
        clear[i] = (tt__finding){.first = UINT64_MAX};
    TT_GOTO(open_kernels(v, checker_cubins));
    TT_GOTO(v->key ? open_soil(v) : TT_OK);
    for (int i = 0; i < w->n; i++)
        TT_GOTO(open_area(v, i));
    TT_GOTO(show_guards(v, false));
    for (int i = 0; i < 2; i++)
        TT_GOTO(tt__cu_check(cu->cuEventCreate(&v->events[i], CU_EVENT_BLOCKING_SYNC), "cuEventCreate"));
    TT_GOTO(allocate(v, &v->findings, 2 * FINDINGS_BYTES));
    TT_GOTO(
        tt__cu_check(cu->cuMemcpyHtoD(v->findings + FINDINGS_BYTES, clear, sizeof clear), "cuMemcpyHtoD"));
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
    for (int i = 0; i < TT__CHECKER_PARTS; i++)
        if (v->libraries[i])
            v->cu->cuLibraryUnload(v->libraries[i]);
    *v = (tt__verifier){0};
}

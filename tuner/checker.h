/* Operands on the device, and the checker's kernels (verify.cu), which fill and compare them. */
#ifndef TT_TUNER_CHECKER_H
#define TT_TUNER_CHECKER_H

#include "base/workload.h"
#include "gpu/kernel.h"
#include "template/template.h"

/* An operand on the device. Areas are [guard][array][guard] and whole 16-byte words. */
typedef struct tt__area {
    size_t bytes, head; /* of the area; to the start of the array */
    CUdeviceptr live;   /* what a kernel under test works on */
    CUdeviceptr
        before; /* what `inout`, and `in` that no seed can make again, hold before a run; 0: not kept */
    CUdeviceptr reference; /* what `out` and `inout` must hold afterwards; 0: nobody knows */
    CUdeviceptr written;   /* of `out`: a bit for each byte that the reference writes; 0: none */
    CUdeviceptr operand;   /* of the array in `live`, as kernels get it */
    tt__arg_value scalar;
} tt__area;

typedef struct tt__verifier {
    const tt__driver *cu;
    CUstream stream;
    tt__problem problem;
    tt__workload work;
    tt__area areas[TT__OPERANDS_MAX];
    void *operands[TT__OPERANDS_MAX]; /* of tt__kernel_launch */
    CUdeviceptr findings;
    CUlibrary library;
    CUfunction fill, check_fill, numbers, written, poison, compare, compare_numbers, spread, sum;
    uint64_t kept; /* sum of all that runs are judged by */
} tt__verifier;

/* The checker's kernels (verify.cu), one member, and the candidate to compile them as; it has no template. */
extern const tt__builtin tt__checker[];
extern const size_t tt__n_checker;
void tt__verify_candidate(tt__candidate *out, const tt__workload *w);

/* Device memory that a verifier for this workload takes, in bytes. */
int64_t tt__verify_bytes(const tt__workload *w);

/* Fills device memory with random bits (bytes rounded down to 4). */
tt_status tt__verifier_randomise(const tt__verifier *v, CUdeviceptr ptr, size_t bytes);

/* Copies what operand i holds before a run to `to`, asynchronously; nothing if that is of no account. */
CUresult tt__verifier_initial(const tt__verifier *v, int i, CUdeviceptr to);
/* Copies the first slot of so many bytes, a multiple of 16, to all that lie `stride` bytes apart. */
CUresult tt__verifier_spread(const tt__verifier *v, CUdeviceptr slots, size_t bytes, size_t stride,
                             size_t n_slots);

/* ---- What tt__verifier_open and tt__verify share ---- */

enum { TT__GUARD = 4096 };

/* What the comparisons found for one operand; on the device a clear set lies behind. */
typedef struct tt__finding {
    uint64_t n, first; /* 16-byte words that differ, and a byte of the area */
} tt__finding;
enum { TT__FINDINGS_BYTES = TT__OPERANDS_MAX * sizeof(tt__finding) };

/* What is kept of an operand. */
size_t tt__verify_shift(const tt__workload *w);
size_t tt__verify_area_bytes(const tt__workload *w, int i);
bool tt__verify_is_result(const tt__array *a);
bool tt__verify_is_known(const tt__workload *w, const tt__array *a);
bool tt__verify_is_kept(const tt__array *a);
bool tt__verify_has_numbers(const tt__workload *w); /* that are made or compared as such */
bool tt__verify_is_masked(const tt__workload *w, const tt__array *a);
unsigned tt__verify_seed(const tt__workload *w, int i);
CUdeviceptr tt__verify_finding(const tt__verifier *v, int i);

/* The checker's kernels, over n items; queued. */
CUresult tt__verify_launch(const tt__verifier *v, CUfunction fn, int64_t n, void **args);
CUresult tt__verify_fill(const tt__verifier *v, CUdeviceptr ptr, size_t bytes, unsigned seed, int inverted);
CUresult tt__verify_move(const tt__verifier *v, CUdeviceptr to, CUdeviceptr from, size_t bytes);

/* Looks for what is wrong with an operand, or only around it at `at`; queued. */
CUresult tt__verify_area(tt__verifier *v, int i);
CUresult tt__verify_guards(tt__verifier *v, int i, CUdeviceptr at, CUdeviceptr found);
/* Starts with nothing found, queues `look` for each buffer, and waits for all that is queued. */
tt_status tt__verify_check(tt__verifier *v, CUresult (*look)(tt__verifier *v, int i),
                           tt__finding found[TT__OPERANDS_MAX], const char *what);
/* All that runs are judged by, in a number. */
tt_status tt__verify_sum(tt__verifier *v, uint64_t *out);
/* Gives operands what a run may find in them; queued. */
CUresult tt__verify_poison(tt__verifier *v);

enum { TT__SEED_INPUT = 1, TT__SEED_OUTPUT = 2 };
/* The 32 random bits of tt_fill at word i. */
uint32_t tt__mix(uint64_t i, uint32_t seed);

#endif

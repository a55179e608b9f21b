/* What the files of the verifier share: opening it (verify_open.c), and running with it (verify.c). */
#ifndef TT_TUNER_VERIFY_PARTS_H
#define TT_TUNER_VERIFY_PARTS_H

#include "tuner/verify.h"

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
/* Starts with nothing found, queues `look` for each buffer, and waits once, for all that was queued before,
 * too. */
tt_status tt__verify_check(tt__verifier *v, CUresult (*look)(tt__verifier *v, int i),
                           tt__finding found[TT__OPERANDS_MAX], const char *what);
/* All that runs are judged by, in a number. */
tt_status tt__verify_sum(tt__verifier *v, uint64_t *out);

#endif

/*
 * Verification on the device. Every operand lies between guard bands; what a kernel must write is poisoned
 * before each run; afterwards all of it, guards and inputs too, is compared on the GPU with what a reference
 * left: bit for bit, or within a tolerance.
 *
 * Lives in the GPU worker; all calls on its one stream.
 */
#ifndef TT_TUNER_VERIFY_H
#define TT_TUNER_VERIFY_H

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

/* The text of the checker's kernels (verify.cu), one member, to be compiled with tt__config_options of no
 * template and the configuration that the workload needs. */
extern const tt__builtin tt__checker[];
extern const size_t tt__n_checker;
const char *tt__verify_config(const tt__workload *w);

/* Device memory that a verifier for this workload takes, in bytes. */
int64_t tt__verify_bytes(const tt__workload *w);

/* Allocates, fills, runs the reference, whose cubin may be NULL if there is none. TT_E_NO_MEMORY, TT_E_CUDA,
 * TT_E_IO if a file of data cannot be read or has another size. */
tt_status tt__verifier_open(tt__verifier *v, const tt__driver *cu, CUstream stream, const tt__problem *p,
                            const tt__workload *w, const void *checker_cubin, const void *reference_cubin);
void tt__verifier_close(tt__verifier *v);

/* Runs the kernel once and compares. The trial's status becomes ok, launch_error or wrong_result, with its
 * reason. Returns TT_E_CUDA when the CUDA context is no longer usable. */
tt_status tt__verify(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch, tt__trial *trial);

/* Fills device memory with random bits (bytes rounded down to 4). */
tt_status tt__verifier_randomise(const tt__verifier *v, CUdeviceptr ptr, size_t bytes);

/* Copies what operand i holds before a run to `to`, asynchronously; nothing if that is of no account. */
CUresult tt__verifier_initial(const tt__verifier *v, int i, CUdeviceptr to);
/* Copies the first slot of so many bytes, a multiple of 16, to all that lie `stride` bytes apart. */
CUresult tt__verifier_spread(const tt__verifier *v, CUdeviceptr slots, size_t bytes, size_t stride,
                             size_t n_slots);

/* ---- Matrices, whose places have rows and columns (verify_matrix.c) ---- */

/* Compares some elements of a matrix problem's reference with what the CPU says; others are trusted. */
tt_status tt__verify_matrix_reference(tt__verifier *v);
/* Words for a wrong byte of the destination, `at` bytes from its start. */
void tt__explain_matrix(const tt__verifier *v, int64_t at, char *out, size_t size);

enum { TT__SEED_INPUT = 1, TT__SEED_OUTPUT = 2 };
/* The 32 random bits of tt_fill at word i. */
uint32_t tt__mix(uint64_t i, uint32_t seed);

#endif

/*
 * The data of a verifier on the device: areas for the operands, what they hold before a run, and what is
 * right afterwards. All calls are in the one stream of the GPU worker. verify.cu has the kernels.
 */
#ifndef TT_TUNER_MEASURE_VERIFY_DATA_H
#define TT_TUNER_MEASURE_VERIFY_DATA_H

#include "base/model.h"
#include "gpu/kernel.h"
#include "kernel/model/template.h"
#include "kernel/space/space.h"

enum { TT__CHECKER_PARTS = 6 }; /* of verify.cu */

/* An operand on the device. An area is [guard][array][guard], in whole 16-byte words. */
typedef struct tt__area {
    size_t bytes, head, tail; /* size of the area; where the array begins and ends, if it is the longest */
    CUdeviceptr live;         /* the copy that the tested kernel works on */
    CUdeviceptr
        before; /* contents before a run, of `inout` and of an `in` that no seed makes again; 0: not kept */
    CUdeviceptr reference; /* expected contents of `out` and `inout`; 0: unknown */
    CUdeviceptr written;   /* for `out`: one bit for each byte that the reference writes; 0: none */
    CUdeviceptr operand;   /* address of the array in `live`, as kernels get it */
    double tolerance;      /* how far a number may be off */
    tt__arg_value scalar;
} tt__area;

/* The data of a verifier. Every configuration is run on the first set, and those that may win also on the
 * second: other numbers, at other addresses, between other guards. */
typedef enum tt__data_set { TT__FIRST_DATA, TT__SECOND_DATA } tt__data_set;

typedef struct tt__verifier {
    const tt__driver *cu;
    CUstream stream;
    tt__problem problem;
    tt__workload work;
    tt__data_set set;
    bool fresh_data;
    bool whole;    /* the reference writes an element as a whole or not at all, as far as is known */
    unsigned salt; /* of everything that a kernel must not depend on; it differs from run to run */
    unsigned key;  /* the right results are hidden with it; 0: they are not, for built-in operations */
    unsigned soil_words, soil_blocks; /* shared memory of a multiprocessor, and how many there are */
    unsigned soil_seed;               /* of the next bits that are left there */
    bool shows; /* the guards of inputs hold what a trial sees, not what the reference saw */
    tt__area areas[TT__OPERANDS_MAX];
    void *operands[TT__OPERANDS_MAX]; /* of tt__kernel_launch */
    CUdeviceptr findings;
    CUevent events[2]; /* around the launch of the kernel; the CPU stand-in knows them by their flag */
    CUlibrary libraries[TT__CHECKER_PARTS];
    CUfunction fill, check_fill, guard, numbers, squares, sample, written, survey, telling, poison, compare,
        compare_numbers, spread, sum, fill_each, hide, soil, bits;
    uint64_t kept; /* checksum of all data that runs are compared with */
    char
        notes[TT__REASON_MAX * 2]; /* what the results of the reference leave unchecked, a line each; or "" */
} tt__verifier;

/* The verifier's own kernels (verify.cu). */
extern const tt__builtin tt__checker[];
extern const size_t tt__n_checker;
/* How many of their parts a problem needs, from 0 on. The first trial waits for them. */
int tt__verify_parts(const tt__problem *p, const tt__workload *w);
/* The candidate to compile a part with. It has no template. */
void tt__verify_configuration(tt__configuration *out, int part);

/* Bytes of device memory that a verifier for this workload needs. */
int64_t tt__verify_bytes(const tt__workload *w);

/* Allocates, fills, and runs the reference (cubin NULL: none). There are tt__verify_parts checkers.
 * TT_E_NO_MEMORY, TT_E_CUDA, TT_E_IO if a data file cannot be read or has the wrong size, or TT_E_INVALID as
 * below. With fresh_data, inputs hold other numbers in each run, so that no kernel can bring the answer
 * along. `whole`: a verifier of the operation, for other data or another size, has found that. */
tt_status tt__verifier_open(tt__verifier *v, const tt__driver *cu, CUstream stream, const tt__problem *p,
                            const tt__workload *w, tt__data_set set, bool fresh_data, bool whole,
                            const void *const *checker_cubins, const void *reference_cubin,
                            size_t reference_size);
void tt__verifier_close(tt__verifier *v);
/* Makes what results are compared with, by a loaded kernel (NULL: from files only). TT_E_INVALID: the
 * reference writes something else, or nothing of a result. */
tt_status tt__verifier_reference(tt__verifier *v, const tt__kernel *kernel, const tt__launch *launch);

/* Fills device memory with random bits. `bytes` is rounded down to a multiple of 4. */
tt_status tt__verifier_randomise(const tt__verifier *v, CUdeviceptr ptr, size_t bytes);
/* Gives the __constant__ arrays of a loaded kernel their data. TT_E_TEMPLATE if one has another size. */
tt_status tt__verifier_constants(const tt__verifier *v, const tt__kernel *kernel);
/* Copies operand i's initial contents to `to`, asynchronously. Does nothing if they do not matter. */
CUresult tt__verifier_initial(const tt__verifier *v, int i, CUdeviceptr to);
/* Copies the first slot to all other slots, `stride` bytes apart. `bytes` is a multiple of 16. */
CUresult tt__verifier_spread(const tt__verifier *v, CUdeviceptr slots, size_t bytes, size_t stride,
                             size_t n_slots);

/* Gives the inputs other numbers, which nothing can be compared with until they are TT__FIRST_DATA again. */
tt_status tt__verifier_refill(tt__verifier *v, int set);

/* ---- What verify.c asks ---- */

/* The result of comparing one operand. On the device a cleared set follows. */
typedef struct tt__finding {
    uint64_t n, first; /* number of different 16-byte words; offset in the area of a different byte */
    uint64_t bits;     /* a hash of a result */
} tt__finding;

/* As `mix` of verify.cu: what tt_fill writes into word i. */
unsigned tt__verify_mix(uint64_t i, unsigned seed);
bool tt__verify_is_result(const tt__array *a);
bool tt__verify_is_exact(const tt__array *a);
unsigned tt__verify_seed(const tt__verifier *v, int i);

/* Queues one of the verifier's kernels over n items. */
CUresult tt__verify_launch(const tt__verifier *v, CUfunction fn, int64_t n, void **args);
/* The same for a kernel of which each thread ends with atomics on the same numbers, which wait for each
 * other. */
CUresult tt__verify_add_up(const tt__verifier *v, CUfunction fn, int64_t n, void **args);
CUresult tt__verify_fill(const tt__verifier *v, CUdeviceptr ptr, size_t bytes, unsigned seed, int inverted);
CUresult tt__verify_move(const tt__verifier *v, CUdeviceptr to, CUdeviceptr from, size_t bytes);
/* Makes the area at `to` like operand i's before a run: from the copy that is kept, or of random bits. */
CUresult tt__verify_renew(const tt__verifier *v, int i, CUdeviceptr to, int inverted);

/* Has an operand bits of its own? What must be the reference's, bit for bit, has none. */
bool tt__verify_has_bits(const tt__verifier *v, int i);
/* Queues the hash of its bits, if it has any. */
CUresult tt__verify_bits(tt__verifier *v, int i);
/* Queues the comparison of an operand. */
CUresult tt__verify_area(tt__verifier *v, int i);
/* Clears the findings, queues `look` for each buffer, and waits for all queued work. */
tt_status tt__verify_check(tt__verifier *v, CUresult (*look)(tt__verifier *v, int i),
                           tt__finding found[TT__OPERANDS_MAX], const char *what);
/* Queues a reading of so many words, and adds their checksum to *sum. */
CUresult tt__verify_add_words(const tt__verifier *v, CUdeviceptr words, long long n, unsigned seed,
                              CUdeviceptr sum);
/* Computes a checksum of all data that runs are compared with. */
tt_status tt__verify_sum(tt__verifier *v, uint64_t *out);

#endif

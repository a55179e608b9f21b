/*
 * Shared by the sweeps of the built-in templates: shapes, their configurations, and a process for each CPU.
 * On the CPU stand-in or on a GPU.
 */
#ifndef TT_TESTS_SWEEP_H
#define TT_TESTS_SWEEP_H

#include "base/str.h"
#include "bench/matrix.h"
#include "device/device.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"

/* Templates in place take part if the shape is square, or has neither gaps nor a batch. */
typedef struct sweep_shape {
    int64_t rows, cols, lds, ldd;
    int elem_size, align;
    int64_t batch, src_stride, dst_stride;
    int max_blocks;   /* leaves it to the large tiles; 0: for all configurations */
    const char *with; /* for those, all of them, that have this; NULL: for all */
    bool sampled;     /* a sample of those is enough */
    int64_t l2_bytes; /* of the GPU's L2 cache; 0: as the device is described */
    int rest;         /* for configurations that no earlier shape had: the row of the rest, from 1 */
} sweep_shape;
extern sweep_shape sweep_shapes[]; /* from sweep_main() on */
extern size_t sweep_n_shapes;

/* A failure of anything but a configuration ends the process. */
#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != TT_OK) {                                                                               \
            fprintf(stderr, "%s: %s\n", #call, tt_last_error());                                             \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

/* Fills in the defaults of a matrix and makes it a problem of an operation: in place, or the copy of as many
 * bytes. False if it is no problem of that one: in place are squares, or rectangles without gaps; other
 * operations have no matrix. */
bool sweep_ask(tt__problem *p, tt_problem *matrix, const char *op);
tt_problem sweep_matrix(const sweep_shape *s);
/* Is the configuration one for this shape? */
bool sweep_is_for(const sweep_shape *s, const tt__configuration *c);

/* Opens the device. A GPU is described with the stand-in's numbers where templates use them. The same shapes
 * then have the same configurations, which are right with any real numbers. */
bool sweep_open_device(tt__gpu *gpu);

/* The cubins that a process has compiled. */
enum { SWEEP_BUCKETS = 4096 };
typedef struct sweep_cubins {
    struct sweep_cubin *buckets[SWEEP_BUCKETS];
} sweep_cubins;
uint64_t sweep_hash(uint64_t hash, const char *text, size_t len);
/* The hash of a source with these options. Where processes share the work by it, each kernel is compiled
 * once, but those that all of them need. */
uint64_t sweep_hash_kernel(const char *name, const tt__str *options);
/* A hash without macros that are a size of the problem, because there is no limit to those. */
uint64_t sweep_hash_kind(const char *name, const tt__str *options);
/* Takes ownership of the options. The result lives as long as the cubins. */
const char *sweep_compile(sweep_cubins *all, const char *name, const char *source, tt__str *options, int n,
                          int cc);
void sweep_cubins_free(sweep_cubins *all);

size_t sweep_n_processes(void);
/* Zeroed memory that the processes will share. */
void *sweep_shared(size_t bytes);
/* Forks a process for each CPU; how many of them ended badly. `share` does not return. */
int sweep_deal_out(void (*share)(size_t number, size_t n));

/* Runs the test in processes of its own, or says that there is no device; what main returns. */
int sweep_main(const char *name, void (*test)(void **state));

#endif

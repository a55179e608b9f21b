/* A device for tests: a context, memory and streams through the same driver table the library uses. The same
 * tests run on a GPU and on the CPU stand-in. */
#ifndef TT_TESTS_DEVICE_H
#define TT_TESTS_DEVICE_H

#include <pthread.h>

#include "base/problem.h"
#include "gpu/driver.h"
#include "tiletune.h"

/* Makes device 0's primary context current; false if there is no driver or no GPU. */
bool device_open(void);
/* The exit code of a test program without a device: skipped, or failed if TILETUNE_REQUIRE_GPU says that
 * there is one. */
int device_missing(void);
/* Has arrived when it returns: cuMemcpyHtoD may return earlier, and a CU_STREAM_NON_BLOCKING stream does not
 * wait for the copy. */
CUresult device_put(CUdeviceptr to, const void *from, size_t bytes);
extern const tt__driver *cu;

/* Fails the running test, with the library's or CUDA's words. */
#define OK(call)    device_ok((call), #call, __FILE__, __LINE__)
#define CU_OK(call) device_ok(tt__cu_check((call), "%s", #call), #call, __FILE__, __LINE__)
void device_ok(tt_status s, const char *what, const char *file, int line);

/* Waits for all threads. Then fails the running test if one has returned NULL: until all have ended, they use
 * what a test that fails takes from them. */
void device_join(const pthread_t *threads, int n);

/* A group's setup and teardown: a library with a store in memory. */
extern tt_ctx *device_ctx;
int device_enter(void **state);
int device_leave(void **state);

/* Is this the CPU stand-in, where large sizes take too long? */
bool device_is_host(void);

/* May a test take long? On a GPU, and on the stand-in with TT_LONG (or TT_SWEEP) set, as by
 * `scripts/test --all`. An empty TT_LONG counts as none. */
bool device_may_take_long(void);

/* Puts a driver function that the library does not use into the function pointer at `fn`. */
void device_symbol(void *fn, const char *name);

/* CUDA graphs. The library itself does not use them. */
typedef struct device_graphs {
    CUresult (*begin_capture)(CUstream stream, CUstreamCaptureMode mode);
    CUresult (*end_capture)(CUstream stream, CUgraph *out);
    CUresult (*instantiate)(CUgraphExec *out, CUgraph graph, unsigned long long flags);
    CUresult (*launch)(CUgraphExec exec, CUstream stream);
    CUresult (*destroy)(CUgraph graph);
    CUresult (*destroy_exec)(CUgraphExec exec);
} device_graphs;
void device_graphs_open(device_graphs *g);

/* Counts objects and allocations that still exist; 0 on a GPU, which cannot tell. */
long device_objects(void);

/* tt_best, tt_plan_create and tt_tune of a kernel file, for problems as texts. */
tt_status kernel_best(tt_choice *out, tt_kernel *kernel, const char *values);
tt_status kernel_plan(tt_plan **out, tt_kernel *kernel, const char *values);
enum { KERNEL_PROBLEMS_MAX = 4 };
tt_status kernel_tune(tt_report **out, tt_kernel *kernel, const char *const *values, size_t n,
                      const tt_tune_opts *opts);

tt_problem matrix_of(int64_t rows, int64_t cols, int64_t lds, int64_t ldd, int elem_size);
/* The matrix as a problem of this operation; for the copy as many bytes. */
tt__problem matrix_for(const char *op, tt_problem matrix);

/* dst[c][r] == src[r][c] for all elements, with leading dimensions in elements. */
bool transposed(const unsigned char *dst, const unsigned char *src, int64_t rows, int64_t cols, int64_t lds,
                int64_t ldd, int elem_size);

#endif

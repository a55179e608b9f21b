/*
 * The Python module's additions to tiletune.h: calls in the CUDA context of a tensor's device, with addresses
 * as integers. `device` is a CUDA ordinal; its primary context is current during the call, which is
 * the one that PyTorch, CuPy and JAX use. No context is current if there is no such device. -1: the context
 * that is current already.
 */
#ifndef TILETUNE_NATIVE_H
#define TILETUNE_NATIVE_H

#include "tiletune.h"

tt_status tt_py_permute(tt_ctx *ctx, const tt_permutation *permutation, uintptr_t dst, uintptr_t src,
                        uintptr_t stream, int device);
tt_status tt_py_best(tt_choice *out, tt_ctx *ctx, const tt_problem *problem, int device);
tt_status tt_py_plan(tt_plan **out, tt_ctx *ctx, const tt_problem *problem, int device);
tt_status tt_py_set_constant(tt_plan *plan, const char *name, const void *data, size_t bytes, int device);
tt_status tt_py_launch(const tt_plan *plan, void *const *args, size_t n, uintptr_t stream, int device);

/* Makes a tt_permutation of an array of this shape, in a block of TT_PY_HEAD + 5 * rank words. The arrays
 * that it points to follow it: dims, strides, and axes last; between them stand the shape and strides of the
 * result. Returns 0 if the library does not take such an array, 2 if the result is a view of it, else 1. axes
 * are right. */
enum { TT_PY_HEAD = 8 };
int tt_py_permutation(int64_t *block, const int64_t *shape, const int64_t *strides, const int *axes, int rank,
                      int itemsize);

/* The device that an address belongs to; -1 if the driver does not know it. */
int tt_py_device_of(uintptr_t address);

/* Waits for a stream. Returns CUDA's error, or 0. */
int tt_py_synchronize(uintptr_t stream, int device);

#endif

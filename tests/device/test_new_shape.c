/*
 * Kernels that come with the library. This program is linked with some that tools/cubins.c has made for
 * compute capability 9.0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/problem.h"
#include "device.h"
#include "dispatch/ladder.h"
#include "dispatch/store_layers.h"
#include "gpu/device.h"

static tt__gpu here;

/* A tensor whose kernel is there. */
static bool find_shape(tt_permutation *p, int64_t dims[3]) {
    for (int i = 0; i < 500; i++) {
        tt__problem problem;
        tt__candidate c;
        tt_choice choice = TT_INIT(tt_choice);
        tt__str cubin = {0};
        dims[0] = 20 + i / 5;
        p->elem_size = 1 << i % 5;
        OK(tt__permutation_problem(&problem, p, 16));
        OK(tt__ladder(device_ctx, &device_ctx->templates, &here, &problem, &choice, &c));
        OK(tt__shipped_find(&here, &problem, &c.configuration, &cubin));
        const bool found = cubin.len > 0;
        tt__str_free(&cubin);
        if (found)
            return true;
    }
    return false;
}

static void needs_no_compiler(void **state) {
    enum { MIDDLE = 12, LAST = 15, BYTES = 120 * MIDDLE * LAST * 16 };
    static unsigned char src[BYTES], dst[BYTES];
    int64_t dims[] = {20, MIDDLE, LAST};
    const int perm[] = {2, 1, 0};
    tt_permutation p = {.size = sizeof p, .rank = 3, .elem_size = 4, .dims = dims, .perm = perm};
    CUdeviceptr from, to;
    (void)state;
    OK(tt__device_current(&here));
    assert_true(find_shape(&p, dims));
    for (size_t i = 0; i < BYTES; i++)
        src[i] = (unsigned char)(i * 7 + i / 251);
    CU_OK(cu->cuMemAlloc(&from, BYTES));
    CU_OK(cu->cuMemAlloc(&to, BYTES));
    CU_OK(device_put(from, src, BYTES));
    const long before = device_objects();
    OK(tt_permute(device_ctx, &p, to, from, NULL));
    assert_true(device_objects() > before + 1); /* the others of the family are loaded, too */
    CU_OK(cu->cuCtxSynchronize());
    CU_OK(cu->cuMemcpyDtoH(dst, to, BYTES));
    const size_t e = (size_t)p.elem_size;
    for (int64_t i = 0, at = 0; i < LAST; i++)
        for (int64_t j = 0; j < MIDDLE; j++)
            for (int64_t k = 0; k < dims[0]; k++, at++)
                assert_memory_equal(dst + e * (size_t)at, src + e * (size_t)((k * MIDDLE + j) * LAST + i), e);
    CU_OK(cu->cuMemFree(from));
    CU_OK(cu->cuMemFree(to));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(needs_no_compiler)};
    if (!device_open())
        return device_missing();
    return cmocka_run_group_tests(tests, device_enter, device_leave);
}

/* The functions of a plan, on a driver whose copies from pageable memory arrive late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dispatch/plan.h"
#include "tiletune.h"

static int constant, staged; /* the constant on the device, and its data on the way */
static int launched_with;

static CUresult get_global(CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name) {
    (void)library;
    assert_string_equal(name, "weights");
    *at = (CUdeviceptr)(uintptr_t)&constant;
    *bytes = sizeof constant;
    return CUDA_SUCCESS;
}

/* As CUDA does, it returns when it has read the data, and the device may get them later. */
static CUresult copy(CUdeviceptr at, const void *data, size_t bytes) {
    assert_int_equal(at, (uintptr_t)&constant);
    memcpy(&staged, data, bytes);
    return CUDA_SUCCESS;
}

static CUresult synchronize(CUstream stream) {
    if (stream == CU_STREAM_LEGACY)
        constant = staged;
    return CUDA_SUCCESS;
}

/* In a stream that does not wait for the legacy one. */
static CUresult launch(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                       unsigned bz, unsigned shared, CUstream stream, void **args, void **extra) {
    (void)fn, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
    (void)shared, (void)stream, (void)args, (void)extra;
    launched_with = constant;
    return CUDA_SUCCESS;
}

static void constants_arrive_before_launches(void **state) {
    (void)state;
    const tt__driver cu = {.cuLibraryGetGlobal = get_global,
                           .cuMemcpyHtoD = copy,
                           .cuStreamSynchronize = synchronize,
                           .cuLaunchKernel = launch};
    tt_plan plan = {.cu = &cu,
                    .misaligned = 15,
                    .kernel = {.n_passes = 1},
                    .launch = {.n_passes = 1},
                    .n_buffers = 2,
                    .n_constants = 1,
                    .parameters = &(tt__parameter){.name = "weights", .bytes = sizeof constant},
                    .missing = 1};
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(tt_plan_set_constant(&plan, "weights", &i, sizeof i), TT_OK);
        assert_int_equal(tt_plan_launch(&plan, 4096, 8192, (CUstream)(uintptr_t)4096), TT_OK);
        assert_int_equal(launched_with, i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_arrive_before_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

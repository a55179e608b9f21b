/*
 * Facts read from a cubin equal those of the driver after loading, for the default configurations of all
 * built-in templates. The CPU stand-in has no cubins that can be read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "code/cubin.h"
#include "code/nvrtc.h"
#include "device.h"
#include "gpu/device.h"
#include "gpu/kernel.h"
#include "kernel/load/builtin.h"
#include "kernel/load/parse.h"
#include "kernel/space/config.h"
#include "kernel/space/operation.h"
#include "kernel/space/space.h"

/* Uses the first of its operation's samples that is possible here, or the default as it is. */
static void resolve(tt__candidate *c, tt__problem *p, const tt__template *t, const tt__gpu *gpu) {
    for (size_t i = 0; i < t->operation->n_samples; i++) {
        OK(tt__operation_problem(p, t->operation, t->op, t->operation->samples[i].text));
        if (tt__space_resolve(c, t, gpu, p, t->default_config) == TT_OK)
            return;
    }
    *c = (tt__candidate){.configuration.t = t};
    tt__copy(c->configuration.config, sizeof c->configuration.config, t->default_config);
}

static void compare(const tt__template *t, const tt__gpu *gpu) {
    tt__str options, cubin = {0};
    int n;
    tt__problem p;
    tt__candidate c;
    tt__cubin_needs needs;
    tt__kernel kernel;
    resolve(&c, &p, t, gpu);
    OK(tt__config_options(&options, &n, &c.configuration, &p));
    OK(tt__nvrtc_compile(&cubin, t->path, t->source, tt__str_text(&options), n, gpu->cc));
    tt_status status = tt__cubin_read(&needs, cubin.text, cubin.len, t->kernel);
    if (device_is_host()) {
        assert_int_equal(status, TT_E_UNSUPPORTED);
    } else {
        int stack = -1;
        OK(status);
        OK(tt__kernel_load(&kernel, cu, cubin.text, cubin.len, &t->symbols, &(tt__launch){.n_passes = 1}));
        CUresult (*attribute)(int *, CUfunction_attribute, CUfunction);
        device_symbol(&attribute, "cuFuncGetAttribute");
        CU_OK(attribute(&stack, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel.fns[0]));
        print_message("%s: %d registers, %d bytes shared, %d of stack\n", t->kernel, kernel.regs,
                      kernel.static_shared_bytes, stack);
        assert_int_equal(needs.regs, kernel.regs);
        assert_int_equal(needs.static_shared_bytes, kernel.static_shared_bytes);
        assert_int_equal(needs.stack_bytes, stack);
        tt__kernel_unload(&kernel, cu);
    }
    tt__str_free(&options);
    tt__str_free(&cubin);
}

static void says_what_the_driver_says(void **state) {
    (void)state;
    tt__gpu gpu;
    tt__template_set set;
    OK(tt__device_gpu(&gpu, 0));
    OK(tt__template_set_open(&set, NULL, 0));
    for (size_t i = 0; i < set.n; i++)
        compare(set.items[i], &gpu);
    tt__template_set_close(&set);
    static const char both[] =
        "//@ kernel both\n//@ op copy\n//@ param HELD 16 64\n//@ block 32\n//@ grid 1\n"
        "//@ args dst, src\n//@ default HELD=64\n"
        "extern \"C\" __global__ void both(int *p, const int *q) {\n"
        "    __shared__ int tile[100]; int held[HELD];\n"
        "    for (int i = 0; i < HELD; i++) held[q[i] & (HELD - 1)] = q[i + 1];\n"
        "    tile[threadIdx.x] = held[q[2] & (HELD - 1)]; __syncthreads();\n"
        "    p[threadIdx.x] = tile[q[3]]; }\n";
    tt__template *t;
    OK(tt__template_parse(&t, "both.cu", both));
    compare(t, &gpu);
    tt__template_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_what_the_driver_says)};
    if (!device_open())
        return device_missing();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

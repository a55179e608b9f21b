/* Sources for the real NVRTC: what few of them want, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/nvrtc.h"

enum { EXIT_SKIPPED = 77, CC = 90 };

/* Textures are left out of a first attempt. */
static void compiles_what_few_want(void **state) {
    (void)state;
    static const char source[] =
        "extern \"C\" __global__ void k(float *p, cudaTextureObject_t t) { *p = tex2D<float>(t, 1.0f, N); }";
    tt__str cubin = {0};
    if (tt__nvrtc_compile(&cubin, "texture.cu", source, "-DN=2.0f", 1, CC) != TT_OK)
        fail_msg("%s", tt_last_error());
    assert_memory_equal(cubin.text, "\177ELF", 4);
    tt__str_free(&cubin);
}

/* The reason is that of the source, not of an attempt without something. */
static void says_what_is_wrong(void **state) {
    (void)state;
    static const char source[] = "extern \"C\" __global__ void k(float *p, cudaTextureObject_t t) {\n"
                                 "    *p = tex2D<float>(t, 1.0f, absent);\n"
                                 "}\n";
    static const char warned[] = "__device__ int f() { int unused; return 1.5f; }\n"
                                 "extern \"C\" __global__ void k(int *p) { *p = absent; }\n";
    tt__str cubin = {0};
    assert_int_equal(tt__nvrtc_compile(&cubin, "warned.cu", warned, "", 0, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "NVRTC_ERROR_COMPILATION: warned.cu(2): error: identifier"));
    static const char includes[] = "#include <stdio.h>\nextern \"C\" __global__ void k(int *p) {}\n";
    assert_int_equal(tt__nvrtc_compile(&cubin, "includes.cu", includes, "", 0, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "includes.cu(1): catastrophic error: could not open source file "
                                            "\"stdio.h\""));
    assert_non_null(strstr(tt_last_error(),
                           ": NVRTC looks for headers in no folder. #include \"FILE\" takes in a "
                           "file beside the kernel, and headers of the host"));
    assert_int_equal(tt__nvrtc_compile(&cubin, "wrong.cu", source, "", 0, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "wrong.cu(2): error: identifier \"absent\" is undefined"));
    assert_null(strstr(tt_last_error(), "cudaTextureObject_t\" is undefined"));
    assert_int_equal(cubin.len, 0);
    assert_int_equal(tt__nvrtc_compile(&cubin, "option.cu", source, "--no-such-option", 1, CC), TT_E_COMPILE);
    assert_non_null(strstr(tt_last_error(), "no-such-option"));
    tt__str_free(&cubin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_what_few_want),
        cmocka_unit_test(says_what_is_wrong),
    };
    if (tt__nvrtc_open() != TT_OK) {
        print_message("%s\n", tt_last_error());
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

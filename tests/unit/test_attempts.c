/*
 * Which compiles NVRTC gets, and how often, with an NVRTC that only notes them.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "code/nvrtc.h"
#include "code/source.h"

static char *asked;
static const int *n_open;

static void expect(const char *name, tt_status status, const char *attempts) {
    tt__str cubin = {0};
    asked[0] = '\0';
    assert_int_equal(tt__nvrtc_compile(&cubin, name, "", "-DN=1\0-DM=2", 2, 90), status);
    assert_string_equal(asked, attempts);
    assert_int_equal(cubin.len, status == TT_OK ? sizeof "image" : 0); /* once */
    assert_int_equal(*n_open, 0);
    tt__str_free(&cubin);
}

static void leaves_out_what_few_want(void **state) {
    (void)state;
    expect("plain.cu", TT_OK, "--minimal ");
    expect("textures.cu", TT_OK, "--minimal -DM=2 ");
    expect("old.cu", TT_OK, "--minimal -DM=2 ");
    expect("host.cu", TT_OK, "--minimal --minimal ");
}

/* The last word is that of the attempt with everything; what no option can help is not tried again. */
static void says_why_once(void **state) {
    (void)state;
    expect("wrong.cu", TT_E_COMPILE, "--minimal -DM=2 ");
    assert_string_equal(tt_last_error(), "wrong.cu: NVRTC_ERROR_COMPILATION: of the second attempt");
    expect("memory.cu", TT_E_COMPILE, "--minimal ");
}

/* Less is cut only for an error that cutting can make: the whole of a large file may take a minute. */
static void cuts_less_where_something_lacks(void **state) {
    (void)state;
    static const char source[] = "int unused() { return 1; }\nint main() {}\n__global__ void k() {}\n";
    static const struct {
        const char *name, *attempts;
    } cases[] = {
        {"asserts.cu", "--minimal --no-cache "},
        {"lacks.cu", "--minimal --no-cache --minimal --no-cache --minimal --no-cache "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__str cubin = {0};
        asked[0] = '\0';
        assert_int_equal(tt__nvrtc_compile(&cubin, cases[i].name, source, TT__USERS "k", 1, 90),
                         TT_E_COMPILE);
        assert_string_equal(asked, cases[i].attempts);
        tt__str_free(&cubin);
    }
}

static void names_an_nvrtc_for_the_gpu(void **state) {
    (void)state;
    tt__str cubin = {0};
    assert_int_equal(tt__nvrtc_compile(&cubin, "old.cu", "", "", 0, 70), TT_E_UNSUPPORTED);
    assert_string_equal(
        tt_last_error(),
        "NVRTC 13.0 cannot compile for compute capability 7.0, only for: 90; NVRTC 12 knows older "
        "GPUs (it is in the pip package nvidia-cuda-nvrtc-cu12): name its libnvrtc.so.12 in "
        "TILETUNE_NVRTC");
    assert_int_equal(tt__nvrtc_compile(&cubin, "new.cu", "", "", 0, 130), TT_E_UNSUPPORTED);
    assert_non_null(
        strstr(tt_last_error(), "only for: 90; install a newer one, or name it in TILETUNE_NVRTC"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_out_what_few_want),
        cmocka_unit_test(says_why_once),
        cmocka_unit_test(cuts_less_where_something_lacks),
        cmocka_unit_test(names_an_nvrtc_for_the_gpu),
    };
    void *lib = dlopen(getenv("TILETUNE_NVRTC"), RTLD_NOW);
    asked = lib ? dlsym(lib, "fake_nvrtc_asked") : NULL;
    n_open = lib ? dlsym(lib, "fake_nvrtc_open") : NULL;
    return asked && n_open ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

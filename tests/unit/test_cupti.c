/* What is said of a CUPTI that cannot be used, the first time and again. */
#include "store_fixture.h"

#include <dlfcn.h>

#include "gpu/cupti.h"

static void refuses(const char *says) {
    static const char *const metrics[] = {"sm__cycles"};
    tt__cupti *c;
    for (int i = 0; i < 2; i++) {
        assert_fails(tt__cupti_open(&c, NULL, 0, metrics, 1), TT_E_UNSUPPORTED, says);
        assert_null(c);
    }
}

static void says_that_there_is_none(void **state) {
    (void)state;
    setenv("TILETUNE_CUPTI", "/nonexistent.so", 1);
    refuses("TILETUNE_CUPTI names /nonexistent.so, which cannot be loaded: ");
    setenv("TILETUNE_CUPTI", TT_FAKE_NVRTC, 1);
    refuses("the CUPTI that was found has no cuptiProfilerInitialize");
    assert_null(dlopen(TT_FAKE_NVRTC, RTLD_NOW | RTLD_NOLOAD)); /* it was closed */
}

static void says_again_why_it_does_not_start(void **state) {
    (void)state;
    setenv("TILETUNE_CUPTI", TT_FAKE_CUPTI, 1);
    setenv("FAKE_CUPTI_INITIALIZE", "35", 1);
    refuses("the driver allows hardware counters only to root");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_that_there_is_none),
        cmocka_unit_test(says_again_why_it_does_not_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

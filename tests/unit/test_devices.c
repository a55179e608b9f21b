/* The devices of a run, by kind: on GPUs that are made up. The linker replaces tt__device_gpu and
 * tt__nvml_alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"
#include "gpu/device.h"
#include "gpu/nvml.h"
#include "tuner/run/tune.h"

/* A device from BROKEN on cannot be used, and one from ABSENT on is not there. Below, there are n_kinds. */
enum { BROKEN = 100, ABSENT = 200 };
static int n_kinds, n_asked, n_alike;
static char message[256];

tt_status __wrap_tt__device_gpu(tt__gpu *out, int ordinal);
tt_status __wrap_tt__device_gpu(tt__gpu *out, int ordinal) {
    n_asked++;
    if (ordinal >= ABSENT || ordinal < 0)
        return tt__fail(TT_E_NO_DEVICE, "no device %d", ordinal);
    if (ordinal >= BROKEN)
        return tt__fail(TT_E_CUDA, "device %d is broken", ordinal);
    *out = (tt__gpu){.cc = 90, .sm_count = 132};
    snprintf(out->name, sizeof out->name, "GPU %c", 'A' + ordinal % n_kinds);
    return TT_OK;
}

int __wrap_tt__nvml_alike(void);
int __wrap_tt__nvml_alike(void) {
    return n_alike;
}

static void keep_message(void *user, const char *line) {
    (void)user;
    snprintf(message, sizeof message, "%s", line);
}

static tt__devices found;

static tt_status find(const int *devices, size_t n, const char *replay) {
    const tt_tune_opts opts = {
        .device = 7, .devices = devices, .n_devices = n, .replay = replay, .on_message = keep_message};
    n_asked = 0;
    message[0] = '\0';
    return tt__devices_of(&found, &opts);
}

/* "0 2; 1" are the ordinals of two kinds. */
static void expect(const char *kinds) {
    char text[256] = "";
    for (size_t k = 0; k < found.n_kinds; k++)
        for (size_t i = 0; i < found.kinds[k].n; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d",
                     i   ? " "
                     : k ? "; "
                         : "",
                     found.kinds[k].ordinals[i]);
    assert_string_equal(text, kinds);
}

static void test_sorts_by_kind(void **state) {
    (void)state;
    static const int devices[] = {4, 1, 2, 3};
    n_kinds = 2;
    assert_int_equal(find(devices, 4, NULL), TT_OK);
    expect("4 2; 1 3");
    assert_string_equal(found.kinds[0].gpu.name, "GPU A");
    assert_string_equal(found.kinds[1].gpu.name, "GPU B");
}

/* A single device is described by its worker, and a recording needs none. */
static void test_asks_no_driver_for_one(void **state) {
    (void)state;
    static const int devices[] = {5, 6};
    assert_int_equal(find(NULL, 0, NULL), TT_OK);
    expect("7");
    assert_int_equal(find(devices, 1, NULL), TT_OK);
    expect("5");
    assert_int_equal(find(devices, 2, "a recording"), TT_OK);
    expect("5");
    assert_int_equal(n_asked, 0);
}

/* NVML knows that 0 to 3 are alike, and nothing of others. */
static void test_asks_no_driver_for_twins(void **state) {
    (void)state;
    static const int devices[] = {3, 1, 4};
    n_kinds = 2;
    n_alike = 4;
    assert_int_equal(find(devices, 2, NULL), TT_OK);
    expect("3 1");
    assert_int_equal(n_asked, 0);
    assert_int_equal(find(devices, 3, NULL), TT_OK);
    expect("3 1; 4");
    n_alike = 0;
}

static void test_leaves_out_what_is_broken(void **state) {
    (void)state;
    static const int some[] = {0, BROKEN, 2}, none[] = {BROKEN, BROKEN + 1}, absent[] = {0, ABSENT, 2},
                     negative[] = {-1, -2};
    n_kinds = 1;
    assert_int_equal(find(some, 3, NULL), TT_OK);
    expect("0 2");
    assert_string_equal(message, "device 100 is left out: device 100 is broken");
    assert_int_equal(find(none, 2, NULL), TT_E_CUDA);
    assert_int_equal(find(absent, 3, NULL), TT_E_NO_DEVICE);
    assert_int_equal(n_asked, 2);
    assert_int_equal(find(negative, 2, NULL), TT_E_NO_DEVICE);
}

static void test_limits(void **state) {
    (void)state;
    int devices[TT__GPUS_MAX + 1];
    for (int i = 0; i <= TT__GPUS_MAX; i++)
        devices[i] = i;
    n_kinds = 1;
    assert_int_equal(find(devices, TT__GPUS_MAX, NULL), TT_OK);
    assert_int_equal(found.kinds[0].n, TT__GPUS_MAX);
    assert_int_equal(find(devices, TT__GPUS_MAX + 1, NULL), TT_E_INVALID);
    assert_string_equal(tt_last_error(), "65 devices: at most 64 take part in one run");
    n_kinds = TT__KINDS_MAX;
    assert_int_equal(find(devices, TT__KINDS_MAX, NULL), TT_OK);
    assert_int_equal(found.n_kinds, TT__KINDS_MAX);
    n_kinds++;
    assert_int_equal(find(devices, TT__KINDS_MAX + 1, NULL), TT_E_INVALID);
    devices[2] = 0;
    assert_int_equal(find(devices, 3, NULL), TT_E_INVALID);
    assert_string_equal(tt_last_error(), "device 0 is named twice: name each once");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorts_by_kind),
        cmocka_unit_test(test_asks_no_driver_for_one),
        cmocka_unit_test(test_asks_no_driver_for_twins),
        cmocka_unit_test(test_leaves_out_what_is_broken),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

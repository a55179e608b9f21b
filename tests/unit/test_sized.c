/* Structs of programs that are older or newer than the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/sized.h"
#include "tiletune.h"

/* The library's struct. An older program has the first two members, a newer one four. */
typedef struct known {
    size_t size;
    int64_t first;
    int64_t second;
} known;
typedef struct older {
    size_t size;
    int64_t first;
} older;
typedef struct newer {
    size_t size;
    int64_t first, second, third;
} newer;

static void a_smaller_one_has_defaults(void **state) {
    (void)state;
    const older in = {sizeof in, 7};
    known full = {1, 2, 3};
    assert_int_equal(TT__SIZED_IN(&full, &in, 0, known), TT_OK);
    assert_int_equal(full.size, sizeof full);
    assert_int_equal(full.first, 7);
    assert_int_equal(full.second, 0);
}

static void of_a_larger_one_the_rest_is_zero(void **state) {
    (void)state;
    newer in = {sizeof in, 7, 8, 0};
    known full;
    assert_int_equal(TT__SIZED_IN(&full, &in, 0, known), TT_OK);
    assert_int_equal(full.size, sizeof full);
    assert_int_equal(full.first, 7);
    assert_int_equal(full.second, 8);
    ((char *)&in)[sizeof in - 1] = 1; /* the last byte counts, too */
    assert_int_equal(TT__SIZED_IN(&full, &in, 0, known), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "known: size is 32, and byte 31 is not zero"));
    assert_non_null(strstr(tt_last_error(), "this tiletune (" TT_VERSION ") knows 24 bytes"));
    in.third = 1;
    assert_int_equal(TT__SIZED_IN(&full, &in, 0, known), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "byte 24 is not zero"));
}

static void refuses_what_has_no_size(void **state) {
    (void)state;
    for (size_t size = 0; size <= sizeof(size_t); size += sizeof(size_t)) {
        const known in = {size, 7, 8};
        known full;
        assert_int_equal(TT__SIZED_IN(&full, &in, 0, known), TT_E_INVALID);
        assert_non_null(strstr(tt_last_error(), "start from TT_INIT(known)"));
        assert_int_equal(tt__sized_check(&in, "known"), TT_E_INVALID);
        assert_int_equal(TT__SIZED_IN(&full, &in, 1, known), TT_E_INVALID);
    }
}

/* Such a size ends in the middle of a member: half a pointer would be read. */
static void refuses_half_a_member(void **state) {
    (void)state;
    const struct {
        size_t size;
        const char *db_path;
    } opts = {0, ":memory:"};
    for (size_t size = sizeof(size_t) + 1; size <= 4 * sizeof(size_t); size++) {
        char bytes[4 * sizeof(size_t)] = {0};
        known full;
        memcpy(bytes, &opts, sizeof opts);
        memcpy(bytes, &size, sizeof size);
        const tt_status wanted = size % sizeof(size_t) ? TT_E_INVALID : TT_OK;
        assert_int_equal(tt__sized_check(bytes, "known"), wanted);
        assert_int_equal(TT__SIZED_IN(&full, bytes, 1, known), wanted);
        tt_ctx *ctx = NULL;
        assert_int_equal(tt_open(&ctx, (const tt_open_opts *)(const void *)bytes), wanted);
        assert_true((ctx != NULL) == (wanted == TT_OK));
        tt_close(&ctx);
    }
    (void)tt__sized_check(&(known){12, 0, 0}, "known");
    assert_string_equal(tt_last_error(), "known: size is 12 (start from TT_INIT(known))");
}

static void null_is_all_defaults_where_it_may_be(void **state) {
    (void)state;
    known full = {1, 2, 3};
    const known none = {sizeof none, 0, 0};
    assert_int_equal(TT__SIZED_IN(&full, NULL, 1, known), TT_OK);
    assert_memory_equal(&full, &none, sizeof full);
    assert_int_equal(TT__SIZED_IN(&full, NULL, 0, known), TT_E_INVALID);
    assert_string_equal(tt_last_error(), "known is NULL");
    assert_int_equal(tt__sized_check(NULL, "known"), TT_E_INVALID);
}

/* No byte after a smaller struct is written. A larger one is written completely. */
static void writes_what_there_is_room_for(void **state) {
    (void)state;
    const known full = {sizeof full, 7, 8};
    struct {
        older out;
        int64_t behind;
    } small = {{sizeof small.out, 1}, 99};
    tt__sized_out(&small.out, &full, sizeof full);
    assert_int_equal(small.out.size, sizeof small.out);
    assert_int_equal(small.out.first, 7);
    assert_int_equal(small.behind, 99);
    newer large = {sizeof large, 1, 2, 3};
    tt__sized_out(&large, &full, sizeof full);
    assert_int_equal(large.size, sizeof large);
    assert_int_equal(large.second, 8);
    assert_int_equal(large.third, 0);
}

/* The functions of the library take such structs. */
static void the_library_takes_them(void **state) {
    (void)state;
    struct {
        tt_problem problem;
        int64_t later;
    } asked = {TT_INIT(tt_problem), 0};
    struct {
        size_t size;
        tt_match match;
        char kernel[64];
    } choice = {sizeof choice, TT_MATCH_EXACT, ""};
    tt_choice whole = TT_INIT(tt_choice);
    struct {
        size_t size;
        const char *db_path, *gpu;
    } opts = {sizeof opts, ":memory:", "NVIDIA H200"};
    tt_ctx *ctx;
    assert_int_equal(tt_open(&ctx, (const tt_open_opts *)(const void *)&opts), TT_OK);
    asked.problem.rows = asked.problem.cols = 4096;
    asked.problem.size = sizeof asked;
    assert_int_equal(tt_best((tt_choice *)(void *)&choice, ctx, &asked.problem), TT_OK);
    assert_int_equal(choice.size, sizeof choice);
    assert_int_equal(tt_best(&whole, ctx, &asked.problem), TT_OK);
    assert_string_equal(choice.kernel, whole.kernel);
    assert_int_equal(choice.match, whole.match);
    asked.later = 1;
    assert_int_equal(tt_best(&whole, ctx, &asked.problem), TT_E_INVALID);
    assert_non_null(strstr(tt_last_error(), "tt_problem: size is"));
    whole.size = 0;
    asked.later = 0;
    assert_int_equal(tt_best(&whole, ctx, &asked.problem), TT_E_INVALID);
    tt_close(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smaller_one_has_defaults),
        cmocka_unit_test(of_a_larger_one_the_rest_is_zero),
        cmocka_unit_test(refuses_what_has_no_size),
        cmocka_unit_test(refuses_half_a_member),
        cmocka_unit_test(null_is_all_defaults_where_it_may_be),
        cmocka_unit_test(writes_what_there_is_room_for),
        cmocka_unit_test(the_library_takes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

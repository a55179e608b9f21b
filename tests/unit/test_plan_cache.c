/*
 * The plan cache alone: threads look up while one adds. Run it under ThreadSanitizer. With a driver a race
 * would not show, because the driver's lock puts all calls in order.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/matrix.h"

enum { PLANS = 3000, READERS = 6 };

static tt__plan_cache cache;
static _Atomic int added;

/* Plans are told apart and never looked into: any address will do. */
static char plans[PLANS];

static tt_plan *plan(int i) {
    return (tt_plan *)(void *)&plans[i];
}

static tt__plan_key key_of(int i) {
    tt__plan_key key;
    tt_problem p = TT_INIT(tt_problem);
    p.rows = 1 + i % 50;
    p.cols = 1 + i / 50;
    tt__matrix_key(&key, &p, 7, 16);
    return key;
}

static void *read_all(void *arg) {
    (void)arg;
    for (int n; (n = added) < PLANS;)
        for (int i = 0; i < PLANS; i += 7) {
            tt__plan_key key = key_of(i);
            tt_plan *found = tt__plan_cache_find(&cache, &key);
            if (found ? found != plan(i) : i < n)
                return &cache;
        }
    return NULL;
}

static void found_while_others_are_added(void **state) {
    (void)state;
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, NULL), 0);
    for (int i = 0; i < PLANS; i++) {
        tt__plan_key key = key_of(i);
        assert_int_equal(tt__plan_cache_add(&cache, &key, plan(i), false), TT_OK);
        added = i + 1;
    }
    for (int i = 0; i < READERS; i++) {
        void *wrong;
        pthread_join(readers[i], &wrong);
        assert_null(wrong);
    }
    for (int i = 0; i < PLANS; i++) {
        tt__plan_key key = key_of(i);
        assert_ptr_equal(tt__plan_cache_find(&cache, &key), plan(i));
    }
    tt__plan_cache_free(&cache);
    tt__plan_key key = key_of(0);
    assert_null(tt__plan_cache_find(&cache, &key));
}

/* A difference in any field, the context or the addresses makes another key. */
static void every_field_counts(void **state) {
    (void)state;
    tt__plan_key keys[16];
    size_t n = 0;
    tt_problem p = TT_INIT(tt_problem);
    p.rows = p.cols = 64;
    tt__matrix_key(&keys[n++], &p, 1, 16);
    tt__matrix_key(&keys[n++], &p, 2, 16);
    tt__matrix_key(&keys[n++], &p, 1, 8);
    int64_t *const wide[] = {&p.rows, &p.cols, &p.lds, &p.ldd, &p.batch, &p.src_stride, &p.dst_stride};
    int *const narrow[] = {&p.elem_size, &p.align, &p.in_place, &p.warm};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        *wide[i] += 128;
        tt__matrix_key(&keys[n++], &p, 1, 16);
        *wide[i] -= 128;
    }
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        *narrow[i] = 1;
        tt__matrix_key(&keys[n++], &p, 1, 16);
        *narrow[i] = 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(&keys[i], &keys[k], sizeof keys[i]);
    for (size_t i = 0; i < n; i++) {
        assert_null(tt__plan_cache_find(&cache, &keys[i]));
        assert_int_equal(tt__plan_cache_add(&cache, &keys[i], plan((int)i), false), TT_OK);
    }
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(tt__plan_cache_find(&cache, &keys[i]), plan((int)i));
    tt__plan_cache_free(&cache);
}

/* Keys that differ in the last word alone meet in one slot sooner or later. */
static void contexts_are_told_apart(void **state) {
    (void)state;
    tt_problem p = TT_INIT(tt_problem);
    p.rows = p.cols = 64;
    for (int i = 0; i < PLANS; i++) {
        tt__plan_key key;
        tt__matrix_key(&key, &p, (unsigned long long)i, 16);
        assert_null(tt__plan_cache_find(&cache, &key));
        assert_int_equal(tt__plan_cache_add(&cache, &key, plan(i), false), TT_OK);
        assert_ptr_equal(tt__plan_cache_find(&cache, &key), plan(i));
    }
    tt__plan_cache_free(&cache);
}

/* Filling in the defaults twice gives the same key, and the same problem. */
static void a_full_key_is_its_own(void **state) {
    (void)state;
    static const tt_problem problems[] = {
        {.size = sizeof(tt_problem), .rows = 100, .cols = 30},
        {.size = sizeof(tt_problem), .rows = 64, .cols = 64, .elem_size = 2, .batch = 3, .in_place = 1},
        {.size = sizeof(tt_problem),
         .rows = 9,
         .cols = 7,
         .lds = 12,
         .ldd = 10,
         .align = 4,
         .src_stride = 5000},
        {.size = sizeof(tt_problem), .rows = 8, .cols = 8, .in_place = 1, .warm = 1},
    };
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        tt__problem p, again;
        tt__plan_key full, written;
        assert_int_equal(tt__matrix_problem(&p, &problems[i]), TT_OK);
        tt_problem public = tt__matrix_of(&p);
        assert_int_equal(tt__matrix_problem(&again, &public), TT_OK);
        assert_true(tt__problem_same(&p, &again));
        tt_problem twice = tt__matrix_of(&again);
        tt__matrix_key(&full, &twice, 5, twice.align);
        tt__matrix_key(&written, &public, 5, public.align);
        assert_memory_equal(&full, &written, sizeof full);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_while_others_are_added),
        cmocka_unit_test(every_field_counts),
        cmocka_unit_test(contexts_are_told_apart),
        cmocka_unit_test(a_full_key_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

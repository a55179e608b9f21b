/*
 * The plan cache alone: threads look up while one adds and gives up. Run it under ThreadSanitizer and
 * AddressSanitizer. With a driver a race would not show, because the driver's lock puts all calls in order.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/problem.h"
#include "dispatch/plan.h"

enum { PLANS = 3000, READERS = 6, SMALL = 64, HOT = 5 };

static tt__plan_cache cache;
static _Atomic int added;
static _Thread_local atomic_uint *inside; /* from entering to leaving */

/* A plan that is told apart by a number. */
static tt_plan *plan(int i) {
    tt_plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->n_buffers = i;
    return p;
}

static tt__plan_key key_of(int i) {
    tt__plan_key key;
    tt_problem p = TT_INIT(tt_problem);
    p.rows = 1 + i % 50;
    p.cols = 1 + i / 50;
    tt__matrix_key(&key, &p, 7, 16);
    return key;
}

/* Its number, or -1: it is not there. */
static int find(int i) {
    const tt__plan_key key = key_of(i);
    const tt_plan *p = tt__plan_cache_enter(&cache, &key, &inside);
    const int number = p ? p->n_buffers : -1;
    if (p)
        tt__plan_cache_leave(inside);
    return number;
}

static void add(int i) {
    const tt__plan_key key = key_of(i);
    tt__plan_cache_add(&cache, &key, plan(i));
}

/* What is found is right, and while nothing is given up, everything is found. */
static void *read_all(void *arg) {
    for (int n; (n = added) < PLANS;)
        for (int i = 0; i < PLANS; i += arg ? 1 : 7) {
            const int found = find(i);
            if (found >= 0 ? found != i : !arg && i < n)
                return &cache;
        }
    return NULL;
}

static void read_while_adding(size_t cap, void *arg) {
    pthread_t readers[READERS];
    added = 0;
    assert_int_equal(tt__plan_cache_open(&cache, cap), TT_OK);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, arg), 0);
    for (int i = 0; i < PLANS; i++) {
        add(i);
        added = i + 1;
    }
    int n_wrong = 0;
    for (int i = 0; i < READERS; i++) { /* all of them, before one fails the test: they use the cache */
        void *wrong;
        pthread_join(readers[i], &wrong);
        n_wrong += wrong != NULL;
    }
    assert_int_equal(n_wrong, 0);
}

static void found_while_others_are_added(void **state) {
    (void)state;
    read_while_adding(PLANS, NULL);
    for (int i = 0; i < PLANS; i++)
        assert_int_equal(find(i), i);
    tt__plan_cache_free(&cache);
}

/* Readers use plans that are given up meanwhile. */
static void used_while_others_are_given_up(void **state) {
    (void)state;
    read_while_adding(SMALL, &cache);
    int n = 0;
    for (int i = 0; i < PLANS; i++)
        n += find(i) == i;
    assert_int_equal(n, SMALL);
    assert_int_equal(find(PLANS - 1), PLANS - 1);
    tt__plan_cache_free(&cache);
}

/* What is used again and again stays, however many others come. */
static void the_least_used_go_first(void **state) {
    (void)state;
    assert_int_equal(tt__plan_cache_open(&cache, SMALL), TT_OK);
    for (int i = 0; i < PLANS; i++) {
        add(i);
        for (int k = 0; k < HOT && k < i; k++)
            assert_int_equal(find(k), k);
    }
    tt__plan_cache_free(&cache);
}

static size_t n_waiting(void) {
    size_t n = 0;
    for (const tt__plan_entry *e = cache.waiting; e; e = e->given_up)
        n++;
    for (const tt__plan_entry *e = cache.given_up; e; e = e->given_up)
        n++;
    return n;
}

/* A plan that a thread uses outlives its place in the cache, and is freed after that. */
static void a_plan_in_use_stays(void **state) {
    (void)state;
    const tt__plan_key key = key_of(0);
    assert_int_equal(tt__plan_cache_open(&cache, 1), TT_OK);
    add(0);
    const tt_plan *used = tt__plan_cache_enter(&cache, &key, &inside);
    assert_non_null(used);
    for (int i = 1; i < HOT; i++)
        add(i);
    assert_int_equal(find(0), -1);
    assert_int_equal(used->n_buffers, 0);
    assert_int_equal(n_waiting(), HOT - 1);
    tt__plan_cache_leave(inside);
    add(HOT);
    assert_int_equal(n_waiting(), 0);
    tt__plan_cache_clear(&cache);
    assert_int_equal(find(HOT), -1);
    assert_int_equal(n_waiting(), 0);
    tt__plan_cache_free(&cache);
}

/* A plan goes when its last key goes. */
static void a_plan_has_several_keys(void **state) {
    (void)state;
    const tt__plan_key first = key_of(1), second = key_of(2), third = key_of(3);
    assert_int_equal(tt__plan_cache_open(&cache, 2), TT_OK);
    add(1);
    assert_null(tt__plan_cache_enter_any(&cache, &second, &third, &inside));
    const tt_plan *p = tt__plan_cache_enter_any(&cache, &second, &first, &inside);
    assert_non_null(p);
    tt__plan_cache_leave(inside);
    assert_ptr_equal(tt__plan_cache_enter_any(&cache, &second, &third, &inside), p);
    tt__plan_cache_leave(inside);
    add(3);
    assert_int_equal(find(1), -1);
    assert_int_equal(find(2), 1);
    add(4);
    add(5);
    assert_int_equal(find(2), -1);
    tt__plan_cache_free(&cache);
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
    int *const narrow[] = {&p.elem_size, &p.align, &p.in_place, &p.warm, &p.in_graph};
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
    assert_int_equal(tt__plan_cache_open(&cache, PLANS), TT_OK);
    for (size_t i = 0; i < n; i++) {
        assert_null(tt__plan_cache_enter(&cache, &keys[i], &inside));
        tt__plan_cache_add(&cache, &keys[i], plan((int)i));
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tt__plan_cache_enter(&cache, &keys[i], &inside)->n_buffers, i);
        tt__plan_cache_leave(inside);
    }
    tt__plan_cache_free(&cache);
}

/* Keys that differ in the last word alone meet in one slot sooner or later. */
static void contexts_are_told_apart(void **state) {
    (void)state;
    tt_problem p = TT_INIT(tt_problem);
    p.rows = p.cols = 64;
    assert_int_equal(tt__plan_cache_open(&cache, PLANS), TT_OK);
    for (int i = 0; i < PLANS; i++) {
        tt__plan_key key;
        tt__matrix_key(&key, &p, (unsigned long long)i, 16);
        assert_null(tt__plan_cache_enter(&cache, &key, &inside));
        tt__plan_cache_add(&cache, &key, plan(i));
        assert_int_equal(tt__plan_cache_enter(&cache, &key, &inside)->n_buffers, i);
        tt__plan_cache_leave(inside);
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
        {.size = sizeof(tt_problem), .rows = 8, .cols = 8, .in_graph = 1},
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
        cmocka_unit_test(found_while_others_are_added), cmocka_unit_test(used_while_others_are_given_up),
        cmocka_unit_test(the_least_used_go_first),      cmocka_unit_test(a_plan_in_use_stays),
        cmocka_unit_test(a_plan_has_several_keys),      cmocka_unit_test(every_field_counts),
        cmocka_unit_test(contexts_are_told_apart),      cmocka_unit_test(a_full_key_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A store that was filled under a wrong clock is as good as any. */
#include "store_fixture.h"

#include <time.h>

#include "base/clock.h"
#include "db/exchange/merge.h"
#include "db/upkeep.h"

static time_t now_s;

/* Replaces the C library's. */
int clock_gettime(clockid_t clock, struct timespec *t) {
    static long steady_ns;
    steady_ns += 1000;
    *t = clock == CLOCK_REALTIME ? (struct timespec){.tv_sec = now_s}
                                 : (struct timespec){1000, steady_ns % 1000000000};
    return 0;
}

static void fail_finding(void *user, const char *what) {
    (void)user;
    fail_msg("%s", what);
}

static void keeps_within_what_is_merged(void **state) {
    (void)state;
    static const time_t times[] = {-5, 0, INT64_C(4102444801), INT64_C(1) << 40};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char name[32];
        tt__store *s, *to;
        tt__checked checked;
        tt__merged merged = {0};
        now_s = times[i];
        assert_true(tt__unix_ms() > 0 && tt__unix_ms() <= TT__UNIX_MS_MAX);
        snprintf(name, sizeof name, "s%zu.db", i);
        s = must_open(in_dir(name));
        ids id = some_ids(s);
        tt__trial t = good(50);
        tt__winner w = a_winner(50);
        w.unix_ms = 0; /* now */
        assert_ok(tt__store_trial_put(s, id.run, id.problem, id.config, TT__STAGE_SCREEN, &t));
        assert_ok(tt__store_winner_put(s, id.run, id.problem, id.config, &w));
        assert_ok(tt__store_run_end(s, id.run));
        assert_ok(tt__store_check(s, fail_finding, NULL, &checked));
        to = must_open(":memory:");
        assert_ok(tt__store_begin(to));
        assert_ok(tt__store_merge(to, s, &(tt__merge_opts){.trusted = true}, &merged));
        assert_ok(tt__store_commit(to));
        assert_int_equal(merged.winners, 1);
        tt__store_close(&to);
        tt__store_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(keeps_within_what_is_merged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The winners that come with the library. */
#include "dispatch/store_layers.h"

#include <math.h>

#include "db/exchange/recording.h"
#include "store_fixture.h"

static bool elects(tt__store *s, const tt__winner *w) {
    tt__winner imported;
    int64_t problem;
    bool found;
    assert_ok(tt__store_known_problem(s, &w->problem, &problem));
    assert_ok(tt__store_winner_get(s, 1, problem, &imported, &found));
    return found && strcmp(imported.config, w->config) == 0 && strcmp(imported.kernel, w->kernel) == 0 &&
           fabs(imported.time_us - w->time_us) < 1e-3 && fabs(imported.copy_us - w->copy_us) < 1e-3;
}

/* scripts/shipped.py, which the build runs, elects the same winners as an import. */
static void ships_whom_an_import_elects(void **state) {
    (void)state;
    static const char *const gpus[] = {"h200", "h100"}, *const parts[] = {"",        "-1byte",  "-2bytes",
                                                                          "-8bytes", "-shapes", "-narrow"};
    enum { PARTS = sizeof parts / sizeof *parts, NAMES = 2 * PARTS };
    tt__recording *r[NAMES];
    for (size_t i = 0; i < NAMES; i++) {
        char path[256];
        snprintf(path, sizeof path, TT_SOURCE_DIR "/recordings/%s%s.json", gpus[i / PARTS], parts[i % PARTS]);
        assert_ok(tt__recording_open_t4(&r[i], path, NULL));
    }
    for (size_t k = 0; k < tt__n_shipped; k++) {
        const tt__winner *w = &tt__shipped[k];
        bool elected = false;
        for (size_t i = 0; i < NAMES; i++)
            elected |= elects(tt__recording_store(r[i]), w);
        if (!elected)
            fail_msg("%s of %lld x %lld ships with %s %s, %g us, which no import elects", w->problem.op,
                     (long long)tt__problem_number(&w->problem, "rows", 0),
                     (long long)tt__problem_number(&w->problem, "cols", 0), w->kernel, w->config, w->time_us);
    }
    for (size_t i = 0; i < NAMES; i++)
        tt__recording_close(&r[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(ships_whom_an_import_elects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

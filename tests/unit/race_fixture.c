/* See the header. */
#include "race_fixture.h"

#include "tuner/finals/winner.h"

void race_open(race *r, bool both) {
    *r = (race){.copy = {.best = TT__NOTHING}};
    bench_open(&r->b, both);
    r->b.backend.alike = true;
    r->b.backend.step_us = 0;
    r->b.backend.tick_us = 0.1f;
    r->b.backend.n_ticks = 3; /* of seven: no median shows them */
    bench_search(&r->b, &tt__no_limits, &r->all);
}

void race_run(race *r) {
    r->b.backend.n_stages = 0;
    assert_ok(bench_elect(&r->b.s, &r->all, &r->copy, &r->result));
}

void race_close(race *r) {
    tt__search_close(&r->all);
    tt__search_close(&r->copy);
    bench_close(&r->b);
}

void expect_elected(const race *r, size_t at) {
    assert_string_equal(r->result.config, r->all.space.items[at].config);
    assert_string_equal(r->result.kernel, r->all.space.items[at].t->kernel);
}

void expect_stages(const race *r, const size_t *n_in, size_t n) {
    const tt__rounds *rounds = r->b.backend.rounds;
    assert_int_equal(r->b.backend.n_stages, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r->b.backend.n_in[i], n_in[i]);
        if (i > 0 && rounds[i].least != rounds[i - 1].least) /* no heat: never as many samples */
            assert_true(rounds[i].least > rounds[i - 1].most);
    }
}

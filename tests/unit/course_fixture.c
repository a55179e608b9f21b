/* See the header. */
#include "course_fixture.h"

#include <math.h>

/* Names that the model knows nothing of. */
static const char hills[] =
    "kernel hills\nop transpose\n"
    "param A 1 2 4 8 16 32 64 128\nparam B 1 2 4 8 16 32 64 128\nparam C 0 1 2 3\n"
    "param MODE plain other\nwhere A * B BETWEEN 16 AND 1024\nblock 256\n"
    "grid ceil_div(rows * cols, 256 * 16)\nargs dst, src\ndefault A=4 B=4 C=0 MODE=plain\n";

static double hill(const field *f, size_t i) {
    double a = log2(field_value(f, i, "A")) - 5, b = log2(field_value(f, i, "B")) - 2;
    double c = field_value(f, i, "C") == 2 ? 0 : 0.1,
           mode = strstr(f->space.items[i].config, "other") ? 0 : 0.2;
    return 100 * exp(0.02 * a * a + 0.03 * b * b + 0.01 * fabs(a * b) + c + mode);
}

void course_hills(field *f, const char *beside) {
    field_open(f, hills, beside);
    for (size_t i = 0; i < f->space.n; i++)
        field_set(f, i, f->space.items[i].t == f->t[0] ? hill(f, i) : 400);
}

void course_play(course *c, field *f, const tt__strategy *s, uint64_t seed, size_t window, size_t most) {
    size_t waiting[64], n_waiting = 0, n_named = 0;
    void *self;
    *c = (course){0};
    memset(f->known, 0, f->space.n * sizeof *f->known);
    assert_ok(s->open(&self, &f->view, seed));
    for (;;) {
        int64_t i = 0;
        while (n_waiting < window && n_named < most) {
            assert_ok(s->next(&i, self, &f->view));
            if (i == TT__NOTHING)
                break;
            assert_in_range(i, 0, f->space.n - 1);
            assert_int_equal(f->known[i], TT__UNTRIED);
            f->known[i] = TT__PENDING;
            waiting[n_waiting++] = (size_t)i;
            n_named++;
        }
        if (n_waiting == 0)
            break;
        size_t done = waiting[0];
        memmove(waiting, waiting + 1, --n_waiting * sizeof *waiting);
        f->known[done] = TT__TRIED;
        c->tried[c->n++] = done;
        if (!c->to_goal && f->trials[done].status == TT__TRIAL_OK &&
            f->trials[done].time_us <= f->best_us / 0.99)
            c->to_goal = c->n;
    }
    s->close(self);
}

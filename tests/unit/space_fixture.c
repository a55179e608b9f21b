/* A space to search without a GPU. */
#include "space_fixture.h"

#include "base/str.h"
#include "kernel/load/parse.h"
#include "kernel/space/space.h"
#include "problem_fixture.h"

const tt__gpu field_gpu = {.name = "NVIDIA H200",
                           .cc = 90,
                           .sm_count = 132,
                           .memory_bytes = INT64_C(150109880320),
                           .l2_bytes = 62914560,
                           .max_threads_per_block = 1024,
                           .shared_per_block = 232448};

tt__template *field_template(const char *annotations) {
    tt__str text = {0};
    tt__template *t;
    for (const char *line = annotations; *line; line += strspn(line, "\n")) {
        int n = (int)strcspn(line, "\n");
        tt__str_addf(&text, "//@ %.*s\n", n, line);
        line += n;
    }
    tt__str_addf(&text, "extern \"C\" __global__ void %.*s() {}\n", (int)strcspn(annotations + 7, "\n"),
                 annotations + 7);
    assert_ok(tt__template_parse(&t, "test.cu", tt__str_text(&text)));
    tt__str_free(&text);
    return t;
}

void field_open(field *f, const char *first, const char *second) {
    *f = (field){.problem = square_of(4096, 4)};
    f->t[0] = field_template(first);
    f->t[1] = second ? field_template(second) : NULL;
    for (int i = 0; i < 2 && f->t[i]; i++)
        assert_ok(tt__space_add(&f->space, f->t[i], &field_gpu, &f->problem));
    f->known = calloc(f->space.n, sizeof *f->known);
    f->trials = calloc(f->space.n, sizeof *f->trials);
    assert_non_null(f->known);
    assert_non_null(f->trials);
    assert_ok(tt__cost_model_open(&f->model, &f->space, &field_gpu, &f->problem, NULL));
    f->view = (tt__view){.space = &f->space, .model = &f->model, .known = f->known, .trials = f->trials};
}

void field_close(field *f) {
    tt__cost_model_close(&f->model);
    tt__space_free(&f->space);
    free(f->known);
    free(f->trials);
    for (int i = 0; i < 3; i++)
        tt__template_free(&f->t[i]);
}

int field_value(const field *f, size_t index, const char *name) {
    const tt__template *t = f->space.items[index].t;
    for (size_t k = 0; k < t->n_params; k++)
        if (strcmp(t->params[k].name, name) == 0)
            return atoi(t->params[k].values[f->space.items[index].choice[k]]);
    return -1;
}

void field_set(field *f, size_t index, double us) {
    f->trials[index] =
        (tt__screened){.status = us > 0 ? TT__TRIAL_OK : TT__TRIAL_LAUNCH_ERROR, .time_us = us};
    if (us > 0 && (f->best_us == 0 || us < f->best_us))
        f->best_us = us;
}

/*
 * Writes winners without code, for those who compile a kernel themselves: a header with the parameters, and
 * JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "code/nvrtc.h"
#include "kernel/space/config.h"
#include "kernel/space/workload.h"
#include "tuner/cli/commands/exported.h"

/* ---- JSON -----------------------------------------------------------------------------------------------
 */

static void write_three(tt__json *j, const char *key, const unsigned values[3]) {
    tt__json_open(j, key, '[');
    for (int i = 0; i < 3; i++)
        tt__json_int(j, NULL, values[i]);
    tt__json_close(j, ']');
}

static void write_launches(tt__json *j, const tt__exported *x) {
    const tt__candidate *c = &x->code.candidate;
    tt__json_open(j, "launches", '[');
    for (int i = 0; i < c->launch.n_passes; i++) {
        const tt__pass *p = &c->launch.passes[i];
        const unsigned cluster[] = {p->cluster[0], p->cluster[1], p->cluster[2]};
        if (p->off)
            continue;
        tt__json_open(j, NULL, '{');
        tt__json_string(j, "kernel", c->t->symbols.name[i]);
        write_three(j, "grid", p->grid);
        write_three(j, "block", p->block);
        tt__json_int(j, "shared_bytes", p->shared_bytes);
        tt__json_int(j, "times", 1 + p->repeats);
        if (p->joins) /* it is in the loop of the launch above */
            tt__json_int(j, "together", 1);
        if (p->cooperative)
            tt__json_int(j, "cooperative", 1);
        if (p->cluster[0])
            write_three(j, "cluster", cluster);
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
}

/* The compiler's options for the configuration, without those that are the library's own. */
static tt_status write_options(tt__json *j, const tt__exported *x) {
    tt__str options = {0};
    int n;
    TT_TRY(tt__config_options(&options, &n, &x->code.candidate, &x->problem));
    const char *at = options.text;
    tt__json_open(j, "options", '[');
    for (int i = 0; i < n; i++, at += strlen(at) + 1)
        if (*at == '-')
            tt__json_string(j, NULL, at);
    tt__json_close(j, ']');
    tt__str_free(&options);
    return TT_OK;
}

static tt_status write_arguments(tt__json *j, const tt__exported *x) {
    tt__workload *w = malloc(sizeof *w);
    if (!w)
        return tt__fail_memory(sizeof *w);
    tt_status status =
        tt__workload_arrays(w, x->code.candidate.t, &x->gpu, &x->problem, x->code.choice.config);
    tt__json_open(j, "arguments", '[');
    for (int i = 0; i < w->n && status == TT_OK; i++) {
        const tt__array *a = &w->arrays[i];
        tt__json_open(j, NULL, '{');
        TT__JSON_STRINGS(j, {"name", a->name}, {"direction", tt__directions[a->direction]},
                         {"type", tt__types[a->type].name});
        tt__json_int(j, "bytes", tt__array_bytes(a));
        tt__json_close(j, '}');
    }
    tt__json_close(j, ']');
    free(w);
    return status;
}

static tt_status write_winner(tt__json *j, const tt__exported *x) {
    char gpu[TT__GPU_TEXT_MAX];
    const tt__winner *w = &x->winner;
    tt__json_open(j, NULL, '{');
    tt__cli_json_problem(j, &x->problem);
    tt__json_string(j, "gpu", tt__gpu_text(gpu, &x->gpu));
    tt__json_int(j, "cc", x->gpu.cc);
    TT__JSON_STRINGS(j, {"kernel", x->code.choice.kernel}, {"file", x->code.candidate.t->path},
                     {"template", x->code.candidate.t->hash});
    tt__json_config(j, "config", x->code.choice.config);
    TT_TRY(write_options(j, x));
    write_launches(j, x);
    TT_TRY(write_arguments(j, x));
    tt__json_number(j, "time_us", tt__cli_known(w->time_us), 7);
    TT__JSON_STRINGS(j, {"match", tt_match_name(x->code.choice.match)}, {"why", x->code.choice.why},
                     {"source", w->source}, {"driver", w->env.driver}, {"nvrtc", w->env.nvrtc},
                     {"date", w->unix_ms ? tt__cli_when(TT__WHEN_ISO, w->unix_ms).text : ""},
                     {"program", x->program}, {"verified", tt__exported_verified(x)});
    tt__json_close(j, '}');
    return tt__str_check(j->out);
}

static tt_status fill_json(tt__str *out, void *user) {
    const tt__exports *e = user;
    tt__json j = {.out = out};
    tt__cli_json_begin(&j);
    tt__json_open(&j, "winners", '[');
    for (size_t i = 0; i < e->n; i++)
        TT_TRY(write_winner(&j, &e->items[i]));
    tt__json_close(&j, ']');
    tt__json_close(&j, '}');
    tt__str_add(out, "\n");
    return tt__str_check(out);
}

tt_status tt__export_json(tt__exports *exports, const tt__cli_args *args) {
    return tt__cli_write(args->output, "wb", fill_json, exports);
}

/* ---- A header -------------------------------------------------------------------------------------------
 */

/* In capital letters; what no name may have becomes '_'. */
static void add_capitals(tt__str *out, const char *text) {
    for (; *text; text++) {
        const char c = (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
        tt__str_addn(out, tt__is_alnum(c) ? &c : "_", 1);
    }
}

/* Macros and types that the code gets when tiletune compiles it. */
static tt_status add_macros(tt__str *out, const tt__exported *x) {
    static const char type[] = TT__TYPEDEF;
    tt__str options = {0};
    int n;
    TT_TRY(tt__config_options(&options, &n, &x->code.candidate, &x->problem));
    const char *at = options.text;
    for (int i = 0; i < n; i++, at += strlen(at) + 1) {
        const char *sign = strchr(at, '=');
        if (strncmp(at, "-D", 2) == 0 && sign)
            tt__str_addf(out, "#define %.*s %s\n", (int)(sign - at - 2), at + 2, sign + 1);
        if (strncmp(at, type, sizeof type - 1) != 0 || !sign)
            continue;
        at += sizeof type - 1;
        if (strncmp(sign + 1, "__", 2) == 0)
            tt__str_addf(out, "#include <cuda_%s.h>\n", strstr(sign, "bfloat") ? "bf16" : "fp16");
        tt__str_addf(out, "typedef %s %.*s;\n", sign + 1, (int)(sign - at), at);
    }
    tt__str_free(&options);
    return tt__str_check(out);
}

/* Parameters that are no macros in the code: arguments of kernels and of C++ templates. */
static void add_others(tt__str *out, const tt__exported *x) {
    const tt__template *t = x->code.candidate.t;
    for (size_t i = 0; i < t->n_params; i++) {
        const tt__param *p = &t->params[i];
        if (!p->runtime && !p->as_template)
            continue;
        tt__str_add(out, "#define TUNED_");
        add_capitals(out, p->name);
        tt__str_addf(out, " %s\n", p->values[x->code.candidate.choice[i]]);
    }
}

static void add_three(tt__str *out, const char *kernel, const char *what, const unsigned values[3]) {
    tt__str_add(out, "#define ");
    add_capitals(out, kernel);
    tt__str_addf(out, "_%s %u, %u, %u\n", what, values[0], values[1], values[2]);
}

static tt_status add_gpu(tt__str *out, const tt__exported *x) {
    const tt__candidate *c = &x->code.candidate;
    tt__str about = {0};
    tt_status status = tt__exported_about(&about, x);
    for (char *at = about.text; at && (at = strstr(at, "*/"));)
        *at = ' '; /* it must not end the comment */
    tt__str_addf(out, "/* %s */\n", tt__str_text(&about));
    tt__str_free(&about);
    TT_TRY(status);
    TT_TRY(add_macros(out, x));
    add_others(out, x);
    for (int i = 0; i < c->launch.n_passes; i++) {
        const tt__pass *p = &c->launch.passes[i];
        const char *name = c->t->symbols.name[i];
        if (p->off)
            continue;
        add_three(out, name, "GRID", p->grid);
        add_three(out, name, "BLOCK", p->block);
        tt__str_add(out, "#define ");
        add_capitals(out, name);
        tt__str_addf(out, "_SHARED_BYTES %u\n", p->shared_bytes);
    }
    return tt__str_check(out);
}

static void add_gpu_name(tt__str *out, const tt__exported *x) {
    char gpu[TT__GPU_TEXT_MAX];
    tt__str_add(out, "TUNED_FOR_");
    add_capitals(out, tt__gpu_text(gpu, &x->gpu));
}

static tt_status fill_header(tt__str *out, void *user) {
    const tt__exports *e = user;
    tt__str_addf(out, "/* What tiletune %s tuned. Made by `tune export --format header`: do not edit. */\n",
                 TT_VERSION);
    for (size_t i = 0; i < e->n; i++) {
        if (e->n > 1) {
            tt__str_add(out, i ? "\n#elif defined(" : "\n#if defined(");
            add_gpu_name(out, &e->items[i]);
            tt__str_add(out, ")\n");
        }
        TT_TRY(add_gpu(out, &e->items[i]));
    }
    if (e->n > 1) {
        tt__str_add(out, "\n#else\n#error \"define one of");
        for (size_t i = 0; i < e->n; i++) {
            tt__str_add(out, i ? ", " : " ");
            add_gpu_name(out, &e->items[i]);
        }
        tt__str_add(out, "\"\n#endif\n");
    }
    return tt__str_check(out);
}

tt_status tt__export_header(tt__exports *exports, const tt__cli_args *args) {
    for (size_t i = 1; i < exports->n; i++)
        if (!tt__problem_same(&exports->items[0].problem, &exports->items[i].problem))
            return tt__fail(TT_E_INVALID,
                            "a header is of one problem, and here are winners of several: choose one with "
                            "--size, --shape, --permute, --op, --kernel or --problem");
    return tt__cli_write(args->output, "wb", fill_header, exports);
}

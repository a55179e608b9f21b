/*
 * getopt_long finds options. Its '?' and ':' become messages that name the argument and say what is right. A
 * setter (values.c) gets one value, and fails with a message that the option's name is prefixed to here.
 */
#include "tuner/cli/shell/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "api/matrix.h"
#include "api/permutation.h"
#include "base/suggest.h"

enum {
    OPTIONS_MAX = 48,
    FIRST_OPTION = 256, /* getopt's return value for the first row of the table */
};

static const char *help_call(const tt__cli_command *c, char *out, size_t size) {
    snprintf(out, size, "tune %s%s--help", c->name, *c->name ? " " : "");
    return out;
}

/* getopt returned '?': an unknown or ambiguous option, or a value where none belongs. */
static tt_status fail_unknown(const tt__cli_command *c, const char *arg) {
    char help[64];
    const char *word = strncmp(arg, "--", 2) == 0 ? arg + 2 : "";
    int n = (int)strcspn(word, "=");
    const char *prefixed[2];
    size_t n_prefixed = 0;
    tt__suggest near = tt__suggest_for(word, (size_t)n);
    for (const tt__cli_option *o = c->options; n && o->name; o++) {
        bool prefix = strncmp(o->name, word, (size_t)n) == 0;
        if (prefix && !o->name[n] && word[n])
            return tt__fail(TT_E_INVALID, "--%s takes no value, but was given \"%s\"", o->name, word + n + 1);
        if (prefix && n_prefixed < 2)
            prefixed[n_prefixed++] = o->name;
        tt__suggest_try(&near, o->name);
    }
    if (n_prefixed == 2)
        return tt__fail(TT_E_INVALID, "--%.*s could be --%s or --%s", n, word, prefixed[0], prefixed[1]);
    if (near.best)
        return tt__fail(TT_E_INVALID, "unknown option --%.*s; did you mean --%s?", n, word, near.best);
    return tt__fail(TT_E_INVALID, "unknown option %.64s; \"%s\" lists the options", arg,
                    help_call(c, help, sizeof help));
}

static tt_status apply(tt__cli_args *args, const tt__cli_option *o, const char *value) {
    if (value && !*value)
        return tt__fail(TT_E_INVALID, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
    tt_status s = TT_OK;
    void *at = (char *)args + o->at;
    if (o->set)
        s = o->set(args, value);
    else if (o->read)
        s = o->read(at, value);
    else if (o->arg)
        *(const char **)at = value;
    else
        *(bool *)at = true;
    return s == TT_OK ? s : tt__fail_prefix(s, "--%s", o->name);
}

/* --permute and --dims as a permutation, checked. */
static tt_status finish_permutation(tt__cli_args *args) {
    tt__problem checked;
    if (!args->permute || !args->dims)
        return tt__fail(TT_E_INVALID, "--permute and --dims go together, as in --permute 0,2,1,3 --dims "
                                      "32,2048,16,64");
    if (args->n_perm != args->n_sizes)
        return tt__fail(TT_E_INVALID, "--permute %s has %d axes and --dims %s has %d", args->permute,
                        args->n_perm, args->dims, args->n_sizes);
    args->permutation = (tt_permutation){.size = sizeof args->permutation,
                                         .rank = args->n_perm,
                                         .elem_size = args->elem_size,
                                         .dims = args->sizes,
                                         .perm = args->perm,
                                         .align = (int)args->align,
                                         .warm = args->warm};
    return tt__permutation_problem(&checked, &args->permutation, args->align ? (int)args->align : 16);
}

static tt_status finish(tt__cli_args *args) {
    for (size_t i = 0; i < args->n_problems; i++) {
        tt_problem *p = &args->problems[i];
        tt__problem checked;
        *p = (tt_problem){.size = sizeof *p,
                          .rows = p->rows,
                          .cols = p->cols,
                          .elem_size = args->elem_size ? args->elem_size : 4,
                          .batch = args->batch,
                          .lds = args->lds,
                          .ldd = args->ldd,
                          .align = (int)args->align,
                          .in_place = args->in_place,
                          .warm = args->warm};
        TT_TRY(tt__matrix_problem(&checked, p));
    }
    return args->permute || args->dims ? finish_permutation(args) : TT_OK;
}

static tt_status fail_stray(const tt__cli_command *c, const char *word) {
    char help[64];
    if (isdigit((unsigned char)*word) && c->options[0].set == tt__cli_set_sizes)
        return tt__fail(TT_E_INVALID, "unexpected \"%s\"; sizes are given as --%s %s", word,
                        c->options[0].name, word);
    return tt__fail(TT_E_INVALID,
                    "unexpected \"%s\"; a command comes first (\"tune help\"), and \"%s\" lists "
                    "the options",
                    word, help_call(c, help, sizeof help));
}

/* Handles one result of getopt. `arg` is the last argument it used. */
static tt_status take(tt__cli_args *args, const tt__cli_command *c, int found, const char *arg) {
    bool missing = found == ':';
    const tt__cli_option *o = &c->options[(missing ? optopt : found) - FIRST_OPTION];
    bool swallowed =
        o->arg && optarg == arg && strncmp(optarg, "--", 2) == 0; /* the value is the next option */
    return apply(args, o, missing || swallowed ? "" : optarg);
}

tt_status tt__cli_parse(tt__cli_args *out, const tt__cli_command *c, int argc, char **argv) {
    struct option longs[OPTIONS_MAX + 1] = {{0}};
    *out = (tt__cli_args){0};
    for (int i = 0; c->options[i].name && i < OPTIONS_MAX; i++)
        longs[i] = (struct option){c->options[i].name, c->options[i].arg ? required_argument : no_argument,
                                   NULL, FIRST_OPTION + i};
    optind = 0; /* glibc: start again */
    opterr = 0;
    for (int found; (found = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) {
        if (found == '?' && optopt &&
            optopt < FIRST_OPTION) /* in a cluster of short options, optind has not moved */
            return fail_unknown(c, (char[]){'-', (char)optopt, '\0'});
        const char *arg = argv[optind - 1];
        if (found == '?')
            return fail_unknown(c, arg);
        if (found == 'h')
            out->help = true;
        else
            TT_TRY(take(out, c, found, arg));
        if (out->help)
            return TT_OK;
    }
    if (c->takes_files) {
        out->n_files = (size_t)(argc - optind);
        out->files = (const char *const *)argv + optind;
        optind = argc;
    }
    return optind < argc ? fail_stray(c, argv[optind]) : finish(out);
}

void tt__cli_args_free(tt__cli_args *args) {
    free(args->problems);
    free(args->templates);
    free(args->texts);
    for (size_t i = 0; i < args->n_only; i++)
        free(args->only[i]);
    free(args->only);
    *args = (tt__cli_args){0};
}

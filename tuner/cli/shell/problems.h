/*
 * The problems on a command line: matrices, those of --op, or those of --kernel.
 */
#ifndef TT_TUNER_CLI_SHELL_PROBLEMS_H
#define TT_TUNER_CLI_SHELL_PROBLEMS_H

#include "kernel/load/builtin.h"
#include "kernel/model/template.h"
#include "tuner/cli/shell/cli.h"

typedef struct tt__cli_problems {
    size_t n;
    tt_problem *items; /* owned, and so is their kernel */
    tt_kernel *kernel; /* NULL: none */
} tt__cli_problems;

/* Close it with tt__cli_problems_close, also after a failure. */
tt_status tt__cli_problems_open(tt__cli_problems *out, tt_ctx *ctx, const tt__cli_args *args);
void tt__cli_problems_close(tt__cli_problems *p);

/* Checks that --kernel, --op, --problem, shapes and layouts fit together. TT_E_INVALID. */
tt_status tt__cli_check_problems(const tt__cli_args *args);

/* Adds the regime of --warm and --graph to what the problem's text says. */
void tt__cli_set_regime(tt__problem *p, const tt__cli_args *args);
/* Does the command line say how a matrix lies in memory? */
bool tt__cli_has_layout(const tt__cli_args *args);

/* As tt__cli_check_problems, and there must be exactly one problem. `does` is for the message: "answers for
 * one". */
tt_status tt__cli_check_one(const tt__cli_args *args, const char *command, const char *does);

/* Does --kernel NAME|FILE.cu name a file? */
bool tt__cli_is_file(const char *kernel);
/* --kernel, among the built-in templates and those of --template, or in a file of its own. Close `set`. */
tt_status tt__cli_find_template(tt__template_set *set, const tt__cli_args *args, const tt__template **out);
/* --problem, --size or --shape, of that template; without any, the default problem. */
tt_status tt__cli_find_problem(const tt__template *t, const tt__cli_args *args, tt__problem *out);

enum { TT__WORDS_MAX = 1024 };

/* `text` with the name that --dtype gave in place of "elem_size=N". Returns out. */
char *tt__cli_words(char out[TT__WORDS_MAX], const tt__cli_args *args, const char *text);
/* A problem of the command line in its own words: `problem`, as the library writes it, or a permutation as
 * --permute and --dims name it: "0,2,1,3 of 32x2048x16x64, f16". Returns out. */
char *tt__cli_asked(char out[TT__WORDS_MAX], const tt__cli_args *args, const char *problem);
/* The same for an error: puts its text into the words of the command line. Returns the status. */
tt_status tt__cli_reword(tt_status status, const tt__cli_args *args);
/* Writes --dtype, --permute and --dims into the open object, if they were given. */
void tt__cli_json_asked(tt__json *j, const tt__cli_args *args);

#endif

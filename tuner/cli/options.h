/*
 * Parses a command line by a command's table of options. Defines options that several commands share.
 */
#ifndef TT_CLI_OPTIONS_H
#define TT_CLI_OPTIONS_H

#include <stddef.h>

#include "tuner/cli/cli.h"
#include "tuner/cli/values.h"

/* Fills `out`; free it, also after a failure. argv[0] is skipped. With --help only `help` is set.
 * TT_E_INVALID names the option and its value, and says what is right. */
tt_status tt__cli_parse(tt__cli_args *out, const tt__cli_command *command, int argc, char **argv);
void tt__cli_args_free(tt__cli_args *args);

/* A matrix of this shape, with the other options. */
tt_problem tt__cli_problem(const tt__cli_args *args, int64_t rows, int64_t cols);

#define TT__OPT_DB                                                                                           \
    {                                                                                                        \
        "db", "PATH", "the store; default $TILETUNE_DB, else tiletune/tiletune.db in\nyour data folder",     \
            NULL, offsetof(tt__cli_args, db)                                                                 \
    }
#define TT__OPT_JSON                                                                                         \
    { "json", NULL, "print one JSON object instead of text", NULL, offsetof(tt__cli_args, json) }
#define TT__OPT_GPU(help)                                                                                    \
    { "gpu", "NAME", help, NULL, offsetof(tt__cli_args, gpu) }
#define TT__OPTS_ELEMENT                                                                                     \
    {"elem-size", "N", "bytes of an element: 1, 2, 4, 8 or 16; default 4", tt__cli_set_elem_size, 0}, {      \
        "dtype", "TYPE", "the same by name: u8 f16 bf16 f32 f64 c64 c128 ...", tt__cli_set_dtype, 0          \
    }
/* The layout of a matrix, and its elements. */
#define TT__OPTS_LAYOUT                                                                                      \
    TT__OPTS_ELEMENT, {"batch", "N", "matrices of each shape; default 1", tt__cli_set_batch, 0},             \
        {"lds", "N", "leading dimension of the source, in elements; default COLS", tt__cli_set_lds, 0},      \
        {"ldd", "N", "leading dimension of the destination; default ROWS", tt__cli_set_ldd, 0},              \
        {"align", "N",                                                                                       \
         "bytes that divide all addresses, pitches and strides;\ndefault what the pitches allow, "           \
         "at most 16",                                                                                       \
         tt__cli_set_align, 0},                                                                              \
        {"warm", NULL, "the L2 cache may hold the data; tuned and stored separately", NULL,                  \
         offsetof(tt__cli_args, warm)},                                                                      \
    {                                                                                                        \
        "in-place", NULL, "transpose matrices onto themselves", NULL, offsetof(tt__cli_args, in_place)       \
    }
/* One matrix, and what is done with it. */
#define TT__OPTS_MATRIX(verb)                                                                                \
    {"size", "N", "the square matrix to " verb, tt__cli_set_sizes, 0},                                       \
        {"shape", "RxC", "the matrix of R rows and C columns to " verb, tt__cli_set_shapes, 0},              \
        TT__OPTS_LAYOUT
#define TT__OPTS_PERMUTATION                                                                                 \
    {"permute", "AXIS[,AXIS...]",                                                                            \
     "permute a tensor: axis i of the result is this axis of the\nsource, as in numpy and PyTorch",          \
     tt__cli_set_permute, 0},                                                                                \
    {                                                                                                        \
        "dims", "N[,N...]", "the tensor's dimensions, the outermost first", tt__cli_set_dims, 0              \
    }
#define TT__OPT_COMPILE_TIMEOUT                                                                              \
    {                                                                                                        \
        "compile-timeout", "S", "seconds until a compiler is given up; default 60",                          \
            tt__cli_set_compile_timeout, 0                                                                   \
    }
#define TT__OPTS_SEARCH                                                                                      \
    {"effort", "LEVEL", "quick, standard (the default) or exhaustive: how many\nconfigurations are tried",   \
     tt__cli_set_effort, 0},                                                                                 \
        {"budget", "TIME", "end after this time, as in 10s, 500ms or 2m", tt__cli_set_budget, 0},            \
        {"max-trials", "N", "configurations to try for each problem, whatever the effort",                   \
         tt__cli_set_max_trials, 0},                                                                         \
        {"seed", "N", "of the search, default 0: the same seed searches the same way", tt__cli_set_seed, 0}, \
    {                                                                                                        \
        "strategy", "NAME",                                                                                  \
            "surrogate, model, local, genetic, random or exhaustive;\nby default the search chooses",        \
            tt__cli_set_strategy, 0                                                                          \
    }
#define TT__OPT_TEMPLATE                                                                                     \
    {                                                                                                        \
        "template", "FILE", "a template of yours that competes with the built-in ones;\nmay be repeated",    \
            tt__cli_add_template, 0                                                                          \
    }
#define TT__OPT_PROBLEM                                                                                      \
    {                                                                                                        \
        "problem", "NAME=VALUE[,...]",                                                                       \
            "variables of an operation or kernel; others have their defaults.\nMay be repeated",             \
            tt__cli_add_text, 0                                                                              \
    }
#define TT__OPTS_OPERATION                                                                                   \
    {"op", "NAME", "a built-in operation instead of a transpose", NULL, offsetof(tt__cli_args, op)},         \
        {"kernel", "FILE.cu", "a kernel of yours instead; \"tune new\" writes one", NULL,                    \
         offsetof(tt__cli_args, kernel_file)},                                                               \
        TT__OPT_PROBLEM
#define TT__OPT_HELP                                                                                         \
    { "help", NULL, "this text", NULL, offsetof(tt__cli_args, help) }
#define TT__OPT_END                                                                                          \
    { NULL, NULL, NULL, NULL, 0 }
/* Help, and the end of a table. */
#define TT__OPTS_END TT__OPT_HELP, TT__OPT_END

#endif

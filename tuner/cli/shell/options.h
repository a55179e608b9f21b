/*
 * Parses a command line by a command's table of options. Defines options that several commands share.
 */
#ifndef TT_TUNER_CLI_SHELL_OPTIONS_H
#define TT_TUNER_CLI_SHELL_OPTIONS_H

#include <stddef.h>

#include "tuner/cli/shell/cli.h"

/* Fills `out`; free it, also after a failure. argv[0] is skipped. With --help only `help` is set.
 * TT_E_INVALID names the option and its value, and says what is right. */
tt_status tt__cli_parse(tt__cli_args *out, const tt__cli_command *command, int argc, char **argv);
void tt__cli_args_free(tt__cli_args *args);
/* The letter of the option's short form; '\0' if it has none. */
char tt__cli_letter(const tt__cli_option *option);

/* TT_E_INVALID says what is wrong with the value, and what is right. */
tt_status tt__cli_set_sizes(tt__cli_args *args, const char *value);
tt_status tt__cli_set_shapes(tt__cli_args *args, const char *value);
tt_status tt__cli_set_elem_size(tt__cli_args *args, const char *value);
tt_status tt__cli_set_dtype(tt__cli_args *args, const char *value);
tt_status tt__cli_set_permute(tt__cli_args *args, const char *value);
tt_status tt__cli_set_dims(tt__cli_args *args, const char *value);
tt_status tt__cli_set_align(tt__cli_args *args, const char *value);
tt_status tt__cli_set_device(tt__cli_args *args, const char *value);
/* The same without lists and "all". */
tt_status tt__cli_set_one_device(tt__cli_args *args, const char *value);
tt_status tt__cli_set_jobs(tt__cli_args *args, const char *value);
tt_status tt__cli_add_only(tt__cli_args *args, const char *value);
tt_status tt__cli_set_effort(tt__cli_args *args, const char *value);
tt_status tt__cli_set_budget(tt__cli_args *args, const char *value);
tt_status tt__cli_set_max_trials(tt__cli_args *args, const char *value);
tt_status tt__cli_set_seed(tt__cli_args *args, const char *value);
tt_status tt__cli_set_strategy(tt__cli_args *args, const char *value);
tt_status tt__cli_set_older_than(tt__cli_args *args, const char *value);
tt_status tt__cli_add_template(tt__cli_args *args, const char *value);
tt_status tt__cli_add_text(tt__cli_args *args, const char *value);

/* Readers: a number of at least 1 into an int64_t, and seconds into a double. */
tt_status tt__cli_read_count(void *out, const char *value);
tt_status tt__cli_read_seconds(void *out, const char *value);
/* A text. A second one would drop the first without a word, where users may expect both. */
tt_status tt__cli_read_once(void *out, const char *value);

/* Types that messages and completions name; others are known, too. */
#define TT__DTYPES "u8 i8 f16 bf16 i16 f32 i32 f64 i64 c64 c128"

/* Rows of a table of options: a flag, a text, a value that a reader puts into its field, a value that a
 * setter takes, and the same for one of some words. */
#define TT__FLAG(name, field, help)                                                                          \
    { name, NULL, help, "", NULL, NULL, offsetof(tt__cli_args, field) }
#define TT__TEXT(name, arg, field, help)                                                                     \
    { name, arg, help, "", NULL, NULL, offsetof(tt__cli_args, field) }
#define TT__READ(name, arg, reader, field, help)                                                             \
    { name, arg, help, "", NULL, reader, offsetof(tt__cli_args, field) }
#define TT__SET(name, arg, setter, help) TT__WORD(name, arg, "", setter, help)
#define TT__WORD(name, arg, values, setter, help)                                                            \
    { name, arg, help, values, setter, NULL, 0 }

#define TT__OPT_DB                                                                                           \
    TT__TEXT("db", "PATH", db,                                                                               \
             "the store; default $TILETUNE_DB, else tiletune/tiletune.db in\nyour data folder")
#define TT__OPT_JSON      TT__FLAG("json", json, "print one JSON object instead of text")
#define TT__OPT_GPU(help) TT__TEXT("gpu", "NAME", gpu, help)
#define TT__OPTS_ELEMENT                                                                                     \
    TT__WORD("elem-size", "N", "1 2 4 8 16", tt__cli_set_elem_size,                                          \
             "bytes of an element: 1, 2, 4, 8 or 16; default 4"),                                            \
        TT__WORD("dtype", "TYPE", TT__DTYPES, tt__cli_set_dtype,                                             \
                 "the same by name: u8 f16 bf16 f32 f64 c64 c128 ...")
/* The layout of a matrix, and its elements. */
#define TT__OPTS_LAYOUT                                                                                      \
    TT__OPTS_ELEMENT,                                                                                        \
        TT__READ("batch", "N", tt__cli_read_count, batch, "matrices of each shape; default 1"),              \
        TT__READ("lds", "N", tt__cli_read_count, lds,                                                        \
                 "leading dimension of the source, in elements; default COLS"),                              \
        TT__READ("ldd", "N", tt__cli_read_count, ldd, "leading dimension of the destination; default ROWS"), \
        TT__WORD(                                                                                            \
            "align", "N", "1 2 4 8 16", tt__cli_set_align,                                                   \
            "bytes that divide all addresses, pitches and strides;\ndefault what the pitches allow, at "     \
            "most 16"),                                                                                      \
        TT__FLAG("warm", warm, "the L2 cache may hold the data; tuned and stored separately"),               \
        TT__FLAG("graph", in_graph, "it runs in CUDA graphs of many launches; tuned and stored separately"), \
        TT__FLAG("in-place", in_place, "transpose matrices onto themselves")
/* One matrix, and what is done with it. */
#define TT__OPTS_MATRIX(verb)                                                                                \
    TT__SET("size", "N", tt__cli_set_sizes, "the square matrix to " verb),                                   \
        TT__SET("shape", "RxC", tt__cli_set_shapes, "the matrix of R rows and C columns to " verb),          \
        TT__OPTS_LAYOUT
#define TT__OPTS_PERMUTATION                                                                                 \
    TT__SET("permute", "AXIS[,AXIS...]", tt__cli_set_permute,                                                \
            "permute a tensor: axis i of the result is this axis of the\nsource, as in numpy and PyTorch"),  \
        TT__SET("dims", "N[,N...]", tt__cli_set_dims, "the tensor's dimensions, the outermost first")
#define TT__OPT_TRIAL_TIMEOUT                                                                                \
    TT__READ("trial-timeout", "S", tt__cli_read_seconds, trial_timeout_s,                                    \
             "seconds until a configuration is given up; default 10")
#define TT__OPT_COMPILE_TIMEOUT                                                                              \
    TT__READ("compile-timeout", "S", tt__cli_read_seconds, compile_timeout_s,                                \
             "seconds until a compiler is given up; default 60")
#define TT__OPTS_SEARCH                                                                                      \
    TT__WORD("effort", "LEVEL", "quick standard exhaustive", tt__cli_set_effort,                             \
             "quick, standard (the default) or exhaustive: how many\nconfigurations are tried"),             \
        TT__SET("budget", "TIME", tt__cli_set_budget, "end after this time, as in 10s, 500ms or 2m"),        \
        TT__SET("max-trials", "N", tt__cli_set_max_trials,                                                   \
                "configurations to try for each problem, whatever the effort;\nthe default is tried in any " \
                "case"),                                                                                     \
        TT__SET("seed", "N", tt__cli_set_seed,                                                               \
                "of the search, default 0: the same seed searches the same way"),                            \
        TT__WORD("strategy", "NAME", "surrogate model random exhaustive", tt__cli_set_strategy,              \
                 "surrogate, model, random or exhaustive;\nby default the search chooses")
#define TT__OPT_TEMPLATE                                                                                     \
    TT__SET("template", "FILE", tt__cli_add_template,                                                        \
            "a template of yours that competes with the built-in ones;\nmay be repeated")
#define TT__OPT_PROBLEM                                                                                      \
    TT__SET("problem", "NAME=VALUE[,...]", tt__cli_add_text,                                                 \
            "variables of an operation or kernel; others have their defaults.\nMay be repeated")
#define TT__OPTS_OPERATION                                                                                   \
    TT__READ("op", "NAME", tt__cli_read_once, op, "a built-in operation instead of a transpose"),            \
        TT__READ("kernel", "FILE.cu", tt__cli_read_once, kernel_file,                                        \
                 "a kernel of yours instead; \"tune new\" writes one"),                                      \
        TT__OPT_PROBLEM
#define TT__OPT_HELP TT__FLAG("help", help, "this text")
#define TT__OPT_END                                                                                          \
    { .name = NULL }
/* Help, and the end of a table. */
#define TT__OPTS_END TT__OPT_HELP, TT__OPT_END

#endif

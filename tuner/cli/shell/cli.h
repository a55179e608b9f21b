/*
 * Shared by all commands of `tune`: their arguments, their entries in the table, exit codes, error output,
 * and common text forms.
 *
 * Results go to standard output, everything else to standard error. Use it from one thread.
 */
#ifndef TT_TUNER_CLI_SHELL_CLI_H
#define TT_TUNER_CLI_SHELL_CLI_H

#include "tiletune.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "base/str.h"
#include "db/store.h"
#include "tuner/run/tune.h"

enum {
    TT__EXIT_OK = 0,
    TT__EXIT_NO_WINNER = 1, /* or another failure */
    TT__EXIT_USAGE = 2,
    TT__EXIT_NO_DEVICE = 3, /* device, driver or NVRTC */
    TT__EXIT_DB = 4,
    TT__EXIT_INTERRUPTED = 130,
};

enum { TT__COLUMNS = 80 }; /* of text that is not fitted to a terminal */

/* The arguments of all commands. Texts are borrowed from argv. */
typedef struct tt__cli_args {
    bool help, version, json, csv, force, quiet, verbose;
    int device;
    size_t n_devices; /* 0: `device` alone */
    int devices[64];  /* of --device 0,2,5 */
    bool all_devices;
    const char *replay; /* the file of --device replay:FILE */
    size_t n_problems;
    tt_problem *problems; /* checked, without duplicates, elem_size filled in */
    int elem_size;        /* for all problems, as the following options; 0: not given */
    const char *dtype;    /* its name, if --dtype gave it */
    int64_t batch, lds, ldd, align;
    bool in_place, warm, in_graph;
    size_t n_templates;
    const char **templates;
    int jobs;
    size_t n_only;
    char **only; /* owned */
    double trial_timeout_s, compile_timeout_s;
    const char *trace;
    double budget_s;
    tt_effort effort;
    int64_t max_trials, seed;
    const char *strategy;
    const char *op, *kernel_file; /* --op and --kernel, with their problems as text */
    size_t n_texts;
    const char **texts;
    const char *permute, *dims; /* as given; `permutation` has them as numbers */
    int perm[TT_RANK_MAX];
    int64_t sizes[TT_RANK_MAX];
    int n_perm, n_sizes;
    tt_permutation permutation;
    bool unverified, transpose;
    const char *db, *lock, *gpu, *output, *commit, *database, *kernel, *against, *collected;
    const char *format, *get;
    int cc; /* 80 is 8.0; 0: not given */
    tt__objective objective;
    bool same_bits;
    const char *class_of;
    bool reads; /* the context's store is opened read-only */
    bool energy, stale, finals, other_gpus, all, dry_run, shipped;
    int64_t shard, n_shards; /* from 1; 0: all problems */
    bool by_configuration;   /* what shards divide */
    int64_t older_than_days; /* 0: not given */
    int64_t configs, folds;  /* of rules; 0: not given */
    size_t n_files;          /* arguments that belong to no option */
    const char *const *files;
} tt__cli_args;

/* One option of a command. getopt's table, the help and completions are made from it. `set` receives the
 * value. Without `set`, `at` is an offset in tt__cli_args: of what `read` fills in, of a `const char *` (if
 * `arg` is set), or of a bool. */
typedef struct tt__cli_option {
    const char *name;
    const char *arg;    /* as shown in the help; NULL: the option is a flag */
    const char *help;   /* lines after the first are indented */
    const char *values; /* that it takes, with blanks between them; "" if they cannot be listed */
    tt_status (*set)(tt__cli_args *args, const char *value);
    tt_status (*read)(void *out, const char *value);
    size_t at;
} tt__cli_option;

/* Consecutive options. */
typedef struct tt__cli_group {
    const char *title, *first; /* the name of its first option */
} tt__cli_group;

typedef struct tt__cli_command {
    const char *name;              /* "": tuning itself */
    const char *usage;             /* follows "Usage: " */
    const char *summary;           /* a line */
    const char *notes;             /* the end of the help */
    const tt__cli_option *options; /* the last has no name */
    const tt__cli_group *groups;   /* of options, in the help; the last has no title. NULL: one group */
    bool takes_files;              /* it takes file names without an option, in args->files */
    /* Checks how options fit together, before anything is opened; NULL: no check. TT_E_INVALID. */
    tt_status (*check)(const tt__cli_args *args);
    int (*run)(
        const tt__cli_args *args); /* runs after `check`, prints its error, and returns the exit code */
} tt__cli_command;

/* Prints "tune: " and the last error. Returns the exit code of `s`. TT_OK prints nothing and returns 0. */
int tt__cli_fail(tt_status s);

/* Prints text that may have names of files and other text of users: without control characters. */
void tt__cli_say(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes what was printed before standard error says something. A failure is left to tt__cli_flush. */
void tt__cli_flush_early(void);

/* Does standard output have all that was printed? Else TT_E_IO, once. */
tt_status tt__cli_flush(void);

/* The path in --db, or the library's default. */
tt_status tt__cli_store_path(tt__str *out, const tt__cli_args *args);
/* Opens the store, and never creates it. TT_E_DB says so if it does not exist yet. */
tt_status tt__cli_store_open(tt__store **out, const tt__cli_args *args, tt__store_mode mode);
/* The same failure, for a run that asks the store but would make one. */
tt_status tt__cli_store_check(const tt__cli_args *args);
/* Is the default store missing, or its path unknown because HOME is not set? Some commands can answer without
 * it. */
bool tt__cli_storeless(const tt__cli_args *args);
/* Appends the GPUs that have winners: "NVIDIA A100, NVIDIA H100". NULL: winners are not counted. */
tt_status tt__cli_store_gpus(tt__str *out, size_t *n_winners, tt__store *store);

/* Finds the GPU that open->gpu names, in the store or among the shipped winners; without a name, the device.
 */
tt_status tt__cli_find_gpu(tt__gpu *out, const tt_open_opts *open);
/* The first device here; with --gpu only *out's name is set, to that. TT_E_INVALID lists the GPUs in the
 * store. */
tt_status tt__cli_choose_gpu(tt__gpu *out, const tt__cli_args *args);

/* A text by value, for the call that prints it: tt__cli_time(us).text. */
typedef struct tt__short {
    char text[32];
} tt__short;

/* "45.12 us", "1.234 ms"; "-" for 0. */
tt__short tt__cli_time(double us);
/* "97.4%"; "-" for 0. */
tt__short tt__cli_percent(double fraction);
/* "8 s", "2 min 05 s", "1 h 02 min". */
tt__short tt__cli_duration(double seconds);
/* "1 winner", "2 winners". */
tt__short tt__cli_count(int64_t n, const char *noun);

/* A time in UTC, as strftime() writes it with this format; "" if its year is too large. */
#define TT__WHEN_ISO "%Y-%m-%dT%H:%M:%SZ"
tt__short tt__cli_when(const char *format, int64_t unix_ms);

/* Raised when a member of some command's JSON goes, or changes its meaning. docs/cli.schema.json has them
 * all. */
enum { TT__JSON_VERSION = 1 };
/* Opens the object that a command prints, with the version. */
void tt__cli_json_begin(tt__json *j);
/* Writes the operation, its variables and the regime into the open object. */
void tt__cli_json_problem(tt__json *j, const tt__problem *p);
/* Appends problems that a rule is for: "transpose, elem_size=4, warm". */
void tt__cli_add_group(tt__str *out, const tt__problem *p);
/* Writes texts into the open object: {key, text}, ... */
#define TT__JSON_STRINGS(j, ...) tt__cli_json_strings(j, (const char *const[][2]){__VA_ARGS__, {NULL, NULL}})
void tt__cli_json_strings(tt__json *j, const char *const members[][2]);
/* Writes the class of equal bits, and whether rows depend on their number, into the open object, if they are
 * known. */
void tt__cli_json_bits(tt__json *j, const char *bits, int batch_invariant);
/* What follows the class in a table: ", batch invariant", ", not batch invariant" or "". */
const char *tt__cli_batch(int batch_invariant);
/* For JSON: 0, which means unknown, becomes NaN, which is written as null. */
double tt__cli_known(double value);
/* Writes numbers into the open object: {key, value, digits}, ... 0 means unknown. */
#define TT__JSON_KNOWN(j, ...) tt__cli_json_known(j, (const tt__cli_number[]){__VA_ARGS__, {NULL, 0, 0}})
typedef struct tt__cli_number {
    const char *key;
    double value;
    int digits;
} tt__cli_number;
void tt__cli_json_known(tt__json *j, const tt__cli_number *numbers);
/* Appends a text as a quoted cell of CSV, on one line. A text that spreadsheets would take for a formula
 * begins with a single quote. */
void tt__cli_csv(tt__str *out, const char *text);

/* Checks a file that will be written. TT_E_INVALID: it would take the place of a database, or of a file that
 * the command reads, under whatever name: a header or data of a kernel, too. NULL is no file. */
tt_status tt__cli_check_output(const tt__cli_args *args, const char *path);
/* Writes a file, which `fill` fills; NULL: standard output. After a failure the old one is as it was, and no
 * partial file remains. With the mode "wx" it must be new. A file that cannot be replaced is written in
 * place, and a failure leaves a part there. That is a device, or a file in a read-only folder. Or it is
 * mounted, open here, or has a second name or another owner. Or its group cannot be given, and has rights of
 * its own. */
typedef tt_status (*tt__cli_fill_fn)(tt__str *out, void *user);
tt_status tt__cli_write(const char *path, const char *mode, tt__cli_fill_fn fill, void *user);
/* The same of --output, which is replaced, and says on standard error what it wrote. */
tt_status tt__cli_write_output(const tt__cli_args *args, tt__cli_fill_fn fill, void *user);
/* Closes the object, prints it and a newline, and frees the text. */
tt_status tt__cli_print_json(tt__json *j);

/* The terminal's width in columns ($COLUMNS first); 0 if `fd` is no terminal. */
int tt__cli_columns(int fd);

#endif

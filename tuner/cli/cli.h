/*
 * What the commands of the program `tune` share: their arguments, their table rows, how a failure becomes
 * a line and an exit code, and a few words that all of them print.
 *
 * Results go to standard output, everything else to standard error. One thread only.
 */
#ifndef TT_CLI_CLI_H
#define TT_CLI_CLI_H

#include "tiletune.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "base/str.h"
#include "db/store.h"

enum {
    TT__EXIT_OK = 0,
    TT__EXIT_NO_WINNER = 1, /* and whatever else went wrong on the way */
    TT__EXIT_USAGE = 2,
    TT__EXIT_NO_DEVICE = 3, /* device, driver or NVRTC */
    TT__EXIT_DB = 4,
    TT__EXIT_INTERRUPTED = 130,
};

/* All that any command takes. Texts are borrowed from argv. */
typedef struct tt__cli_args {
    bool help, version, json, csv, force, quiet;
    int device;
    const char *replay; /* the file of --device replay:FILE */
    size_t n_problems;
    tt_problem *problems; /* elem_size filled in, each checked, none twice */
    int elem_size;        /* 0: not given; so are these, which hold for every problem */
    int64_t batch, lds, ldd, align;
    bool in_place, warm;
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
    const char *op, *kernel_file; /* --op, --kernel, and their problems as they are written */
    size_t n_texts;
    const char **texts;
    bool unverified, transpose;
    const char *db, *gpu, *output, *commit, *database, *kernel;
    int cc; /* 80 is 8.0; 0: not given */
    bool stale, other_gpus, dry_run;
    int64_t older_than_days; /* 0: not given */
    size_t n_files;          /* what stands without an option */
    const char *const *files;
} tt__cli_args;

/* One option of one command: getopt's table and the help are made from it. `set` gets the value; without
 * `set`, `at` is the offset in tt__cli_args of a `const char *` (with `arg`) or of a bool (without). */
typedef struct tt__cli_option {
    const char *name;
    const char *arg;  /* as the help shows it; NULL: the option is a flag */
    const char *help; /* lines after the first are indented to match */
    tt_status (*set)(tt__cli_args *args, const char *value);
    size_t at;
} tt__cli_option;

typedef struct tt__cli_command {
    const char *name;              /* "" is tuning itself */
    const char *usage;             /* behind "Usage: " */
    const char *summary;           /* a line */
    const char *notes;             /* ends the help */
    const tt__cli_option *options; /* the last has no name */
    bool takes_files;              /* names without an option, in args->files */
    /* What options have to do with each other, before anything is opened; NULL: nothing. TT_E_INVALID. */
    tt_status (*check)(const tt__cli_args *args);
    int (*run)(const tt__cli_args *args); /* what `check` has passed; the exit code; has printed its error */
} tt__cli_command;

extern const tt__cli_command tt__cmd_tune, tt__cmd_best, tt__cmd_list, tt__cmd_show, tt__cmd_doctor,
    tt__cmd_export, tt__cmd_import, tt__cmd_merge, tt__cmd_prune, tt__cmd_vacuum, tt__cmd_check,
    tt__cmd_study, tt__cmd_new, tt__cmd_import_t1;

/* The exit code for a status. */
int tt__cli_exit_code(tt_status s);
/* Prints "tune: " and the last error, and returns the exit code of `s` (0 for TT_OK, silently). */
int tt__cli_fail(tt_status s);

/* --db, or where the library would look. */
tt_status tt__cli_store_path(tt__str *out, const tt__cli_args *args);
/* Opens the store to read it. TT_E_DB says so if there is none yet. */
tt_status tt__cli_store_open(tt__store **out, const tt__cli_args *args);
/* Opens the store that is there to change it; as tt__cli_store_open otherwise. */
tt_status tt__cli_store_open_to_write(tt__store **out, const tt__cli_args *args);
/* Is there no store at the default place yet (and no --db)? Then nothing was ever tuned. */
bool tt__cli_store_absent(const tt__cli_args *args);
/* Or is there no place for it, since HOME is not set? What needs no store answers all the same. */
bool tt__cli_storeless(const tt__cli_args *args);
/* Appends "NVIDIA A100, NVIDIA H100": the GPUs that have winners; `n` counts them and may be NULL. */
tt_status tt__cli_store_gpus(tt__str *out, size_t *n, tt__store *store);

/* --gpu; or else the name of the first device here. TT_E_INVALID lists what the store could answer for. */
tt_status tt__cli_choose_gpu(char *out, size_t size, const tt__cli_args *args);

/* `tune check FILE.cu`; the exit code. */
int tt__cli_check_template(const tt__cli_args *args, const char *path);

/* "45.12 us", "1.234 ms"; "-" for 0. */
const char *tt__cli_time(char *out, size_t size, double us);
/* "97.4%"; "-" for 0. */
const char *tt__cli_percent(char *out, size_t size, double fraction);
/* "8 s", "2 min 05 s", "1 h 02 min". */
const char *tt__cli_duration(char *out, size_t size, double seconds);

/* "1 winner", "2 winners". */
const char *tt__cli_count(char *out, size_t size, int64_t n, const char *noun);

/* The operation, its variables, and the regime, as members of the object that is open. */
void tt__cli_json_problem(tt__json *j, const tt__problem *p);
/* A number for JSON where 0 means unknown: becomes null. */
double tt__cli_known(double value);
/* Writes a file that is not there yet; TT_E_IO if it is, and no part of one stays behind. */
tt_status tt__cli_write_new(const char *path, const char *text, size_t n);
/* Prints a finished JSON text and a newline; an exit code. Frees `text`. */
int tt__cli_print_json(tt__str *text);

/* Columns of the terminal behind `fd` ($COLUMNS wins); 0 if it is none. */
int tt__cli_columns(int fd);

#endif

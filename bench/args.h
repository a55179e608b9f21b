/* The options of the programs in this folder, as tables. */
#ifndef TT_BENCH_ARGS_H
#define TT_BENCH_ARGS_H

#include <unistd.h> /* optind */

typedef enum bench_arg_kind { BENCH_TEXT, BENCH_INT, BENCH_REAL, BENCH_FLAG } bench_arg_kind;

typedef struct bench_arg {
    const char *name;
    bench_arg_kind kind;
    void *to; /* const char **, int *, double * or bool *, in the order of the kinds */
} bench_arg;

/* Reads the options; a row without a name ends the table. `optind` is then the first word that is none.
 * Returns -1 to go on, or an exit status after it has printed the usage: for --help, or for a mistake. */
int bench_args_read(const bench_arg *args, const char *usage, int argc, char **argv);
/* Prints the usage as an error. Returns the exit status. */
int bench_args_wrong(const char *usage);

#endif

/*
 * What `tune export` writes for programs that do without tiletune: winners with their launches and code.
 */
#ifndef TT_TUNER_CLI_COMMANDS_EXPORTED_H
#define TT_TUNER_CLI_COMMANDS_EXPORTED_H

#include "dispatch/plan.h"
#include "tuner/cli/shell/problems.h"

typedef struct tt__exported {
    tt__problem problem;
    tt__gpu gpu;
    const tt__operation *op; /* borrowed from the context */
    const char *asked;       /* the permutation in the words of the command line; "": none */
    tt__plan_code code;
    tt__winner winner;
    char program[64]; /* that measured it; "": not known */
} tt__exported;

typedef struct tt__exports {
    tt_ctx *ctx;
    size_t n;
    tt__exported *items; /* in the order of operations, problems and GPUs */
    size_t n_left_out;   /* winners of kernels whose files are not named */
    tt__str left_out;    /* their operations: "saxpy, softmax" */
    char asked[TT__WORDS_MAX];
} tt__exports;

/* The problems that the command line names, or all winners of its store or lock file; on the GPU that it
 * names, or on all. With `code`, they have code, and what the store lacks is compiled. Close it, also after a
 * failure.
 * TT_E_NO_WINNER: there is none, or none for a problem that is named. */
tt_status tt__exports_open(tt__exports *out, const tt__cli_args *args, bool code);
void tt__exports_close(tt__exports *exports);

/* Appends where a winner comes from, and how it was verified: "saxpy VEC=4: 12.3 us on NVIDIA H200, ...". */
tt_status tt__exported_about(tt__str *out, const tt__exported *x);

/* "verified against its reference kernel, bit for bit"; static storage. */
const char *tt__exported_verified(const tt__exported *x);

/* Write to --output: a C file with code, and its header beside it. */
tt_status tt__export_c(tt__exports *exports, const tt__cli_args *args);
/* Parameters and launches as macros for one problem, on each GPU. */
tt_status tt__export_header(tt__exports *exports, const tt__cli_args *args);
/* All of the winners but their code. */
tt_status tt__export_json(tt__exports *exports, const tt__cli_args *args);

#endif

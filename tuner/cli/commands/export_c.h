/*
 * Winners with their launches and code, for programs that do without tiletune, and a C file of them.
 */
#ifndef TT_TUNER_CLI_COMMANDS_EXPORT_C_H
#define TT_TUNER_CLI_COMMANDS_EXPORT_C_H

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
    tt__str about;    /* where it comes from, and how it was verified */
} tt__exported;

typedef struct tt__exports {
    tt_ctx *ctx;
    size_t n;
    tt__exported *items; /* in the order of operations, problems and GPUs */
    size_t n_left_out;   /* winners of kernels whose files are not named */
    tt__str left_out;    /* their operations: "saxpy, softmax" */
    char asked[TT__WORDS_MAX];
} tt__exports;

/* Writes them to --output: a C file with code, and its header beside it. */
tt_status tt__export_c(const tt__exports *exports, const tt__cli_args *args);
/* TT_E_INVALID: this file is one of those, so another format must not replace it. */
tt_status tt__export_c_spares(const char *path);

#endif

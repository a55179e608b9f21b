/*
 * Asks which configuration is best, and says why. It needs no GPU and no header of CUDA. With an installed
 * tiletune:
 *
 *   cc best.c -o best $(pkg-config --cflags --libs tiletune)
 *   ./best [GPU [SIZE]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "tiletune.h"

int main(int argc, char **argv) {
    tt_ctx *ctx = NULL;
    tt_choice choice = TT_INIT(tt_choice);
    tt_problem problem = TT_INIT(tt_problem);
    tt_open_opts opts = TT_INIT(tt_open_opts);
    opts.gpu = argc > 1 ? argv[1] : "NVIDIA H200";
    problem.rows = problem.cols = argc > 2 ? atoll(argv[2]) : 4096;
    if (tt_open(&ctx, &opts) != TT_OK || tt_best(&choice, ctx, &problem) != TT_OK) {
        fprintf(stderr, "%s\n", tt_last_error());
        tt_close(&ctx);
        return 1;
    }
    printf("%s %s: %s\n", choice.kernel, choice.config, tt_match_name(choice.match));
    tt_close(&ctx);
    return 0;
}

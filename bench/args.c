/* See the header. */
#include "bench/args.h"

#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARGS_MAX = 16, FIRST = 256 };

int bench_args_wrong(const char *usage) {
    fputs(usage, stderr);
    return 2;
}

int bench_args_read(const bench_arg *args, const char *usage, int argc, char **argv) {
    struct option longs[ARGS_MAX + 2] = {{"help", no_argument, NULL, 'h'}};
    for (int i = 0; args[i].name && i < ARGS_MAX; i++)
        longs[i + 1] = (struct option){
            args[i].name, args[i].kind == BENCH_FLAG ? no_argument : required_argument, NULL, FIRST + i};
    for (int found; (found = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
        char *end = optarg;
        long value;
        if (found == 'h')
            return fputs(usage, stdout) < 0;
        if (found < FIRST)
            return bench_args_wrong(usage);
        const bench_arg *arg = &args[found - FIRST];
        switch (arg->kind) {
        case BENCH_TEXT:
            *(const char **)arg->to = optarg;
            continue;
        case BENCH_FLAG:
            *(bool *)arg->to = true;
            continue;
        case BENCH_INT:
            value = strtol(optarg, &end, 10);
            if (value < INT_MIN || value > INT_MAX)
                return bench_args_wrong(usage);
            *(int *)arg->to = (int)value;
            break;
        case BENCH_REAL:
            *(double *)arg->to = strtod(optarg, &end);
            break;
        }
        if (end == optarg || *end)
            return bench_args_wrong(usage);
    }
    return -1;
}

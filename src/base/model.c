/* The names of GPUs and of trial statuses. */
#include "base/model.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

const char *tt__gpu_text(char out[static TT__GPU_TEXT_MAX], const tt__gpu *gpu) {
    snprintf(out, TT__GPU_TEXT_MAX, "%s%s%s", gpu->name, *gpu->mig ? " MIG " : "", gpu->mig);
    return out;
}

void tt__gpu_set_text(tt__gpu *gpu, const char *text) {
    const char *mig = strstr(text, " MIG ");
    mig = mig == text ? NULL : mig; /* no name is empty */
    size_t size = mig ? (size_t)(mig - text) + 1 : sizeof gpu->name;
    tt__copy(gpu->name, size < sizeof gpu->name ? size : sizeof gpu->name, text);
    tt__copy(gpu->mig, sizeof gpu->mig, mig ? mig + strlen(" MIG ") : "");
}

tt__gpu_match tt__gpu_matches(const tt__gpu *gpu, const char *words) {
    char text[TT__GPU_TEXT_MAX];
    tt__gpu parts; /* earlier versions stored the text of an imported GPU as its name */
    tt__gpu_set_text(&parts, tt__gpu_text(text, gpu));
    return tt__same_letters(text, words)         ? TT__GPU_TEXT
           : tt__same_letters(parts.name, words) ? TT__GPU_NAME
           : tt__has_letters(parts.name, words)  ? TT__GPU_PART
           : tt__has_letters(text, words)        ? TT__GPU_TEXT_PART
                                                 : TT__GPU_OTHER;
}

const char *tt__trial_status_name(tt__trial_status s) {
    static const char *const name[] = {"ok",           "compile_error",   "launch_error",
                                       "wrong_result", "timeout",         "crashed",
                                       "skipped",      "compile_timeout", "compiler_crashed"};
    return (unsigned)s < TT__TRIAL_STATUS_COUNT ? name[s] : "unknown";
}

static const char *const bits_words[TT__BITS_HASH] = {"", "unstable", "exact"};

const char *tt__bits_text(char out[static TT__BITS_TEXT_MAX], int64_t bits) {
    if (bits >= 0 && bits < TT__BITS_HASH)
        tt__copy(out, TT__BITS_TEXT_MAX, bits_words[bits]);
    else
        snprintf(out, TT__BITS_TEXT_MAX, "%016llx", (unsigned long long)bits);
    return out;
}

int64_t tt__bits_read(const char *text) {
    enum { DIGITS = TT__BITS_TEXT_MAX - 1 };
    for (int i = 0; i < TT__BITS_HASH; i++)
        if (strcmp(text, bits_words[i]) == 0)
            return i;
    if (strlen(text) != DIGITS || strspn(text, "0123456789abcdef") != DIGITS || *text > '7')
        return -1;
    const int64_t bits = strtoll(text, NULL, 16);
    return bits >= TT__BITS_HASH ? bits : -1;
}

const char *tt__trial_advice(tt__trial_status s) {
    static const char *const advice[TT__TRIAL_STATUS_COUNT] = {
        [TT__TRIAL_COMPILE_ERROR] = "compile one alone: `tune check` shows the compiler's message",
        [TT__TRIAL_LAUNCH_ERROR] =
            "see with `tune check` what a block needs; too much of it is what a `where` line can forbid, "
            "anything else is for `args`, `block` and `grid` to say right",
        [TT__TRIAL_WRONG_RESULT] = "check the kernel against its reference, and the `tolerance`; an `out` "
                                   "buffer that it adds to must be `inout` with `zeros`",
        [TT__TRIAL_TIMEOUT] =
            "a trial verifies the kernel and launches it several times: allow some twenty launches with "
            "--trial-timeout (tt_tune_opts.trial_timeout_s), or try a smaller problem",
        [TT__TRIAL_CRASHED] = "look for accesses outside the buffers: are lengths and bounds right?",
        [TT__TRIAL_COMPILE_TIMEOUT] = "allow its compiler more with --compile-timeout "
                                      "(tt_tune_opts.compile_timeout_s), or let it unroll less",
        [TT__TRIAL_COMPILER_CRASHED] = "templates, constexpr functions or unrolled loops may need too much "
                                       "memory; fewer compilers: --jobs"};
    return (unsigned)s < TT__TRIAL_STATUS_COUNT && advice[s] ? advice[s] : "";
}

const char *const tt__directions[TT__DIRECTION_COUNT] = {"in",      "out",    "inout",
                                                         "scratch", "scalar", "constant"};

int tt__main_pass(const tt__launch *launch) {
    double most = -1;
    int best = 0;
    for (int i = 0; i < launch->n_passes; i++) {
        const tt__pass *p = &launch->passes[i];
        double threads = p->off ? 0 : tt__pass_blocks(p) * tt__pass_threads(p);
        if (threads > most) {
            most = threads;
            best = i;
        }
    }
    return best;
}

/*
 * There is one run at a time. The signal handler only counts signals.
 */
#include "tuner/cli/shell/running.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "gpu/device.h"
#include "gpu/nvml.h"
#include "tuner/cli/shell/problems.h"
#include "tuner/cli/shell/progress.h"

static volatile sig_atomic_t interrupts;

static void on_signal(int signal) {
    (void)signal;
    if (interrupts++) {
        tt__bar_abandon();
        _exit(TT__EXIT_INTERRUPTED);
    }
}

/* A signal that was ignored at the start (nohup, a job in the background) stays ignored. */
static void catch_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = on_signal}, old; /* no SA_RESTART: waits end early */
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &act, NULL);
}

typedef struct session {
    const tt__cli_args *args;
    tt__bar bar;
    char problem[TT__PROBLEM_TEXT_MAX]; /* the last one whose progress was shown, in the library's words */
    bool told;                          /* the interrupt was reported */
} session;

static void on_progress(void *user, const tt_progress *p) {
    session *s = user;
    char words[TT__WORDS_MAX];
    tt_progress asked = *p;
    tt__copy(s->problem, sizeof s->problem, p->text);
    asked.text = tt__cli_asked(words, s->args, p->text);
    tt__bar_update(&s->bar, &asked);
}

static void on_message(void *user, const char *line) {
    session *s = user;
    char words[TT__WORDS_MAX], whole[2 * TT__WORDS_MAX];
    const size_t n = strlen(s->problem);
    const bool begins = n && strncmp(line, s->problem, n) == 0 && line[n] == ':';
    snprintf(whole, sizeof whole, "%s%s", begins ? tt__cli_asked(words, s->args, s->problem) : "",
             begins ? line + n : tt__cli_words(words, s->args, line));
    tt__bar_note(&s->bar, whole);
}

static int should_stop(void *user) {
    session *s = user;
    if (interrupts && !s->told) {
        s->told = true;
        tt__bar_note(&s->bar, "stopping; once more to leave at once");
    }
    return interrupts > 0;
}

/* --device all. TT_E_NO_DEVICE if there is none. */
static tt_status find_devices(int *devices, size_t most, size_t *n) {
    int count = tt__nvml_alike();
    if (count == 0)
        TT_TRY(tt__device_count(&count));
    if (count == 0)
        return tt__fail(TT_E_NO_DEVICE, "no CUDA device is visible: see nvidia-smi, CUDA_VISIBLE_DEVICES");
    for (*n = 0; *n < most && *n < (size_t)count; ++*n)
        devices[*n] = (int)*n;
    return TT_OK;
}

tt_status tt__cli_running(const tt__cli_args *args, tt__running_fn fn, void *user) {
    session s = {.args = args};
    int devices[sizeof args->devices / sizeof *args->devices];
    tt_ctx *ctx = NULL;
    tt_open_opts open = TT_INIT(tt_open_opts);
    tt_tune_opts opts = TT_INIT(tt_tune_opts);
    open.db_path = args->db ? args->db : args->replay ? ":memory:" : NULL;
    opts.device = args->device;
    opts.devices = args->devices;
    opts.n_devices = args->n_devices;
    opts.replay = args->replay;
    opts.templates = args->templates;
    opts.n_templates = args->n_templates;
    opts.jobs = args->jobs;
    opts.force = args->force;
    opts.trial_timeout_s = args->trial_timeout_s;
    opts.compile_timeout_s = args->compile_timeout_s;
    opts.only = (const char *const *)args->only;
    opts.n_only = args->n_only;
    opts.trace_path = args->trace;
    opts.effort = args->effort;
    opts.budget_s = args->budget_s;
    opts.max_trials = (size_t)args->max_trials;
    opts.seed = (uint64_t)args->seed;
    opts.strategy = args->strategy;
    opts.unverified = args->unverified;
    opts.on_progress = on_progress;
    opts.on_message = on_message;
    opts.should_stop = should_stop;
    opts.user = &s;
    tt__bar_start(&s.bar, args->quiet, args->replay != NULL);
    catch_signals();
    tt__store_stop_when(should_stop, &s);
    tt_status status = TT_OK;
    if (args->all_devices) {
        status = find_devices(devices, sizeof devices / sizeof *devices, &opts.n_devices);
        opts.devices = devices;
    }
    if (status == TT_OK)
        status = tt_open(&ctx, &open);
    if (status == TT_OK)
        status = fn(user, ctx, &opts);
    tt__store_stop_when(NULL, NULL);
    tt__bar_end(&s.bar);
    tt_close(&ctx);
    return tt__cli_reword(status, args);
}

int tt__cli_interrupted(const tt__cli_args *args) {
    const char *db = args->db ? args->db : args->replay ? ":memory:" : "";
    if (strcmp(db, ":memory:") == 0)
        fprintf(stderr, "tune: interrupted; nothing is kept without a store\n");
    else
        fprintf(stderr,
                "tune: interrupted; what was measured is kept: run the same command again%s to go on\n",
                args->force ? " without --force" : "");
    return TT__EXIT_INTERRUPTED;
}

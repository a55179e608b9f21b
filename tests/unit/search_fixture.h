/* A session of searches and elections on a backend that makes its times up. */
#ifndef TT_TESTS_SEARCH_FIXTURE_H
#define TT_TESTS_SEARCH_FIXTURE_H

#include "kernel/load/builtin.h"
#include "kernel/space/space.h"
#include "space_fixture.h"
#include "tuner/run/tune.h"
#include "tuner/search/search.h"
#include "tuner/search/search_loop.h"
#include "tuner/search/with_copy.h"

enum { SPACE = 20, SPACE_OF_BOTH = 40, STAGES_MAX = 8, OPENED_MAX = 8 };
extern const char numbers[]; /* a template of SPACE configurations, the default first */
extern const char letters[]; /* another template, where the model expects STREAM=0 to be faster */

/* A trial takes `us` (10) plus its index, or just `us` if all are alike. In the finals it takes 10 us plus
 * step_us for each one before it. Its first n_ticks samples take a tick longer, those of the fastest a tick
 * less. */
typedef struct fake {
    tt__backend base;
    const tt__expected *expected;
    size_t waiting[SPACE_OF_BOTH], n_waiting, most_waiting, n_opened, n_prepared, n_compilers;
    const tt__configuration *waiting_for[SPACE_OF_BOTH];
    const tt__configuration *submitted[SPACE_OF_BOTH]; /* the first of them */
    size_t n_submitted, most_soon;                     /* most_soon: in the list of that name */
    size_t wanted;                                     /* trials; 0: any number */
    size_t kept;      /* the part of these that is kept for templates without a trial */
    double cutoff_us; /* of the last one */
    double us;
    int n_samples; /* of each */
    bool finals_known, alike;
    size_t room;         /* for so many trials; 0: for all */
    size_t n_unrecorded; /* so many at the front of the space */
    double step_us;
    float tick_us;
    int n_ticks;
    const tt__configuration *fastest; /* if not set: the sixth of the first entrants of the finals */
    const tt__configuration *earlier; /* the finals have fewer samples of it, of 1 us each */
    bool slow_default;                /* the first of the space takes 20 us */
    bool wrong;                       /* no trial passes */
    size_t n_wrong;                   /* so many are wrong in the first stage of the finals */
    double late_us;                   /* so much is added to the first trial of a problem */
    size_t lucky_at;                  /* this one of the space takes 1 us at the first try; 0: none */
    size_t n_lucky;
    size_t n_trials;       /* since the last problem */
    size_t fast_at;        /* this one of the space takes 1 us; 0: none */
    const double *true_us; /* of A=a B=b at 2a + b: samples are up to 2 % off, and the screening of the
                              default 10 % more */
    uint64_t dice;
    size_t n_stages;         /* of the finals, and heats of them */
    size_t n_in[STAGES_MAX]; /* entrants of each stage */
    tt__rounds rounds[STAGES_MAX];
    tt__trial asked[TT__FINALISTS_MAX]; /* of finals that were asked for */
    size_t n_asked, n_energies;
    tt__problem opened[OPENED_MAX]; /* the first n_opened */
    size_t cannot_open;             /* this one, from 1; 0: none */
    double lap_us[STAGES_MAX];
    size_t fails_at;     /* the stage that fails, from 1; 0: none */
    double first_late_s; /* with bench_open_awaiting: the first result comes so late */
    size_t in_time;      /* with bench_open_awaiting: compiled before end_s; the others are not */
    double end_s;        /* of the last await_until */
    double awaited_s[SPACE_OF_BOTH + 1]; /* its values, at each `wait` */
    size_t n_waits;
    size_t lost_at; /* the stage that no entrant passes, from 1; 0: none */
    tt_status fails_with;
} fake;

typedef struct bench {
    field f;
    fake backend;
    tt__template_set set;
    tt_tune_opts opts;
    tt__tune_call call;
    tt__session s;
    tt__expected expected;
    bool is_short;      /* the effort that is wanted is that of short problems */
    size_t patience;    /* of expect_known */
    char message[1024]; /* the last one */
} bench;

/* Both templates, or numbers alone; of the next searches the third is `words`, which is like numbers. */
void bench_open(bench *b, bool both);
/* One template. So many configurations compile, and then the backend is stuck until its await_until. */
void bench_open_awaiting(bench *b, size_t in_time);
void bench_add_words(bench *b);
void bench_close(bench *b);
void bench_begin_run(bench *b, const char *source);
/* Holds the finals of a search, and elects. */
tt_status bench_elect(tt__session *s, tt__search *search, const tt__search *copy, tt_result *result);
/* Release with tt__search_close. */
void bench_search(bench *b, const tt__limits *limits, tt__search *out);
/* The configurations that compilers may work on before the search. */
size_t bench_expected(const bench *b);
const char *bench_expected_config(const bench *b, size_t i);

#endif

/*
 * tiletune: finds the fastest way to run an operation on this GPU, by measuring, and remembers it.
 *
 * The library answers three questions: which configuration is best (tt_best, needs no GPU), give me something
 * that I can launch (tt_plan_*, tt_transpose), and measure it now (tt_tune).
 *
 * Problems    A problem is one of three: a matrix to transpose (rows, cols, ...), a built-in operation (`op`), or
 *             a kernel file of yours (`kernel`). A matrix is a row-major source of `rows` x `cols` elements; its
 *             destination is row-major, `cols` x `rows`. Leading dimensions count elements.
 * Units       Names end in their unit. GB/s are 10^9 bytes per second, bytes read plus bytes written.
 * Ownership   `T **out` gives the caller an object with one matching free, or NULL on failure. Strings passed in
 *             are copied. A returned `const T *` is borrowed from the object it came from.
 * Structs     A struct of the caller starts with `size`, its sizeof; TT_INIT sets it. Zero in any other input
 *             field means the default. A program may be older or newer than the library: a smaller struct has
 *             the defaults for the rest, and the rest of a larger one must be zero (TT_E_INVALID otherwise).
 *             Structs of the library (tt_progress, tt_report, tt_result) grow at their end only.
 * Errors      What can fail returns tt_status. tt_last_error() has the sentence behind it. A NULL handle is
 *             TT_E_INVALID; functions that free ignore it.
 * Threads     A tt_ctx may be used from many threads at once, except in tt_close. A tt_plan is immutable and may
 *             be launched from any thread whose current CUDA context is the plan's. Neither may be used in a
 *             child process after fork.
 * Manners     The library never prints, never exits, never changes the environment, and works in the CUDA
 *             context that is current in the caller's thread.
 */
#ifndef TILETUNE_H
#define TILETUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TT_API __attribute__((visibility("default")))
#else
#define TT_API
#endif

/* CUDA driver types, as <cuda.h> declares them, so that a query needs no CUDA Toolkit to compile. */
typedef unsigned long long CUdeviceptr;
typedef struct CUstream_st *CUstream;

#define TT_VERSION_MAJOR  0
#define TT_VERSION_MINOR  2
#define TT_VERSION_PATCH  0
#define TT_VERSION        "0.2.0"
#define TT_VERSION_NUMBER (TT_VERSION_MAJOR * 10000 + TT_VERSION_MINOR * 100 + TT_VERSION_PATCH)

/* A struct with its size set and all else at its default: `tt_problem p = TT_INIT(tt_problem);` */
#ifdef __cplusplus
#define TT_INIT(type) (tt_sized_<type>())
#else
#define TT_INIT(type)                                                                                        \
    { .size = sizeof(type) }
#endif

typedef enum tt_status {
    TT_OK = 0,
    TT_E_INVALID,     /* an argument, option or input file is wrong; nothing was done */
    TT_E_UNSUPPORTED, /* no template can solve this problem (element size, alignment, size limits) */
    TT_E_NO_WINNER,   /* every configuration of a problem failed, or nothing was ever tuned for it */
    TT_E_NO_DRIVER,   /* libcuda.so.1 is missing, unusable, or too old for NVRTC's cubins */
    TT_E_NO_DEVICE,   /* no such CUDA device, or no current CUDA context */
    TT_E_NO_NVRTC,    /* NVRTC is needed to compile, and cannot be loaded */
    TT_E_CUDA,        /* a CUDA call failed */
    TT_E_COMPILE,     /* NVRTC refused a kernel */
    TT_E_TEMPLATE,    /* a kernel template has a bad annotation */
    TT_E_DB,          /* the store cannot be opened, read or written */
    TT_E_NO_MEMORY,   /* host or device memory is exhausted */
    TT_E_IO,          /* a file, pipe or process could not be used */
    TT_E_INTERRUPTED, /* stopped on request; what was measured is stored */
    TT_E_INTERNAL,    /* a bug in tiletune: please report it with the text of tt_last_error() */
    TT_E_CAPTURE      /* a graph is being captured, and what is asked for must be done before */
} tt_status;

/* A few words for a status; static storage. */
TT_API const char *tt_strerror(tt_status s);

/* The sentence behind the last failure in this thread, "" if there was none. Borrowed until the next
 * failing call in the same thread. */
TT_API const char *tt_last_error(void);

/* The version of the library that is loaded: compare with TT_VERSION, TT_VERSION_NUMBER. */
TT_API const char *tt_version(void);
TT_API int tt_version_number(void);

typedef struct tt_ctx tt_ctx;
typedef struct tt_plan tt_plan;
typedef struct tt_kernel tt_kernel;

/* ---- Opening ---------------------------------------------------------------------------------- */

typedef struct tt_open_opts {
    size_t size;
    const char *db_path; /* NULL: $TILETUNE_DB, else $XDG_DATA_HOME/tiletune/tiletune.db, else
                            ~/.local/share/tiletune/tiletune.db. ":memory:" keeps nothing. */
    const char *gpu;     /* answer tt_best for this GPU (name as in `tune list`); NULL: the GPU of the
                            current CUDA context */
    int read_only;       /* 1: never write, and never create the file */
    const char *const *templates; /* n_templates paths of .cu files, known beside the built-in ones */
    size_t n_templates;
    double tune_budget_s; /* > 0: a plan of a problem that was never measured on this GPU is tuned first, for
                             about so many seconds. Once in a tt_ctx; one at a time for all processes with one
                             store; never while a graph is captured, in a read-only store, with `gpu`, or for a
                             kernel without a reference. If tuning fails, the best known configuration serves.
                             0: the best known configuration serves at once */
    int no_early_launch;  /* 1: no kernel begins before the one in front of it in its stream has ended. 0: from
                             compute capability 9.0 on most do (programmatic dependent launch), and wait on the
                             device for what it wrote */
} tt_open_opts;

/* Opens the store, creating it if need be. Needs no GPU. `opts` may be NULL. Below the store there are two layers
 * that are only read: the system's store ($TILETUNE_SYSTEM_DB or /etc/tiletune/tiletune.db; "" : none) and the
 * winners that come with the library.
 * TT_E_DB if the file is no database, damaged, of a newer schema, writable by others, or cannot be reached;
 * or if $TILETUNE_SYSTEM_DB names such a one. TT_E_TEMPLATE or TT_E_IO of a file among `templates`. */
TT_API tt_status tt_open(tt_ctx **out, const tt_open_opts *opts);

/* Frees *ctx and the plans that tt_transpose cached in it (plans from tt_plan_create live on), and sets it to
 * NULL. No other thread may be using it; of launches and graphs the same holds as in tt_plan_free. */
TT_API void tt_close(tt_ctx **ctx);

/* ---- Kernels of your own ---------------------------------------------------------------------- */

/* Opens a .cu file whose annotations say what it works on (docs/own-kernels.md). With `source` its text is given,
 * and `path` stands for it in messages; headers and data files are looked for beside `path`. The store keeps
 * results under the hash of the text with the headers it includes: two files never answer for each other.
 * `ctx` must outlive it. Many threads may use it at once, except in tt_kernel_close. TT_E_TEMPLATE says
 * "path:line:column: what is wrong"; TT_E_IO if the file cannot be read; TT_E_INVALID if it is a template with an
 * `op`: that is one for tt_open_opts.templates. */
TT_API tt_status tt_kernel_open(tt_kernel **out, tt_ctx *ctx, const char *path, const char *source);
/* Sets *kernel to NULL. Plans live on. */
TT_API void tt_kernel_close(tt_kernel **kernel);
/* The name of its (first) kernel; borrowed. */
TT_API const char *tt_kernel_name(const tt_kernel *kernel);

/* ---- Problems and choices --------------------------------------------------------------------- */

typedef struct tt_problem {
    size_t size;
    int64_t rows, cols; /* of the source, in elements; > 0, with gaps and batch 2^44 at most */
    int64_t lds;        /* elements from one source row to the next, >= cols; 0: cols */
    int64_t ldd;        /* elements from one destination row to the next, >= rows; 0: rows, in place lds */
    int elem_size;      /* bytes: 1, 2, 4, 8 or 16; 0: 4 */
    int align;          /* bytes that divide both base addresses, row pitches and batch strides: 1, 2, 4, 8
                           or 16, elem_size at least; 0, or more than pitches and strides allow: what these
                           allow, base addresses taken as multiples of 16 */
    int64_t batch;      /* so many matrices of this shape; 0: 1 */
    int64_t src_stride; /* elements from one source matrix to the next; 0: rows * lds */
    int64_t dst_stride; /* elements from one destination matrix to the next; 0: cols * ldd */
    int in_place;       /* 1: dst and src are one array; square matrices only, lds = ldd and equal strides */
    int warm;           /* 1: the L2 cache may hold the arrays, as after the kernel that made them. Warm and cold
                           problems are tuned and stored separately */

    /* Of another operation. Everything above but `warm` is zero then. */
    const char *op;     /* a built-in operation, as in `tune --op`; NULL: a transpose, or what `kernel` says */
    tt_kernel *kernel;  /* a kernel of yours; NULL: none */
    const char *values; /* of the operation's variables: "n=1000000, T=f32"; what is not named gets its default.
                           The word warm is as good as `warm` */
} tt_problem;

/* The rung of the look-up ladder that an answer stands on. */
typedef enum tt_match {
    TT_MATCH_EXACT = 0, /* measured on this GPU for this very problem, and still valid */
    TT_MATCH_STALE,     /* the same, but template, driver or the way of measuring have changed since */
    TT_MATCH_NEAREST,   /* this GPU, the nearest problem that was measured, if it is not far */
    TT_MATCH_OTHER_GPU, /* another GPU of the same compute capability, where that is nearer */
    TT_MATCH_DEFAULT    /* never measured: what does well elsewhere, or a template's default */
} tt_match;

/* "exact", "stale", "nearest", "other-gpu", "default"; static storage. */
TT_API const char *tt_match_name(tt_match m);

/* Texts that do not fit end in "...". Of the names and the configuration all fit. */
typedef struct tt_choice {
    size_t size; /* set by the caller */
    tt_match match;
    char kernel[64];    /* name of the kernel template */
    char config[256];   /* "TILE_DIM=32 BLOCK_ROWS=8 ..." */
    char gpu[96];       /* where it was measured; "" for TT_MATCH_DEFAULT */
    int64_t rows, cols; /* the problem it was measured for; 0 if it has no such variables, and for
                           TT_MATCH_DEFAULT */
    double time_us;     /* median of a launch there, cold or warm as that problem is; 0 for TT_MATCH_DEFAULT */
    double gbps;        /* what the operation's metric gbps says of it; 0: unknown */
    char why[224];      /* why it is not exact, "" if it is */
    char problem[384];  /* the problem it was measured for, in words; "" for TT_MATCH_DEFAULT */
    char layer[16];     /* what knew it: "user" (the store), "system", "shipped"; "" for a template's default */
    int unverified;     /* 1: a kernel of yours that names neither a reference nor what to expect: whether its
                           results are right is not known, on whichever rung the answer stands */
} tt_choice;

/* The best known configuration for a problem. Reads the store only: needs neither a GPU nor NVRTC if tt_open was
 * told the GPU; else the CUDA context that is current in this thread says which GPU it is.
 * TT_E_NO_DEVICE if it is not told and no context is current; TT_E_INVALID if the GPU is unknown or the problem is
 * none; TT_E_UNSUPPORTED if no template fits. */
TT_API tt_status tt_best(tt_choice *out, tt_ctx *ctx, const tt_problem *problem);

/* ---- Launching -------------------------------------------------------------------------------- */

/* Makes a plan in the current CUDA context: looks the problem up, takes the cubin from the store or compiles it
 * with NVRTC (and stores it), and loads it. The plan outlives `ctx` and the kernel. Its CUDA context must be
 * current whenever it is launched. Making a plan disturbs no graph that is being captured, but takes its time
 * (about a millisecond from the store, tenths of a second to compile, tt_open_opts.tune_budget_s to tune): make
 * plans before. TT_E_NO_NVRTC if it has to be compiled and cannot be; TT_E_UNSUPPORTED if no template fits. */
TT_API tt_status tt_plan_create(tt_plan **out, tt_ctx *ctx, const tt_problem *problem);

/* Sets *plan to NULL. No launch of the plan may be in flight, and graphs that captured one must not be launched
 * any more. Any context may be current or none, and the plan's own may be gone. */
TT_API void tt_plan_free(tt_plan **plan);

/* What the plan will run; borrowed until the plan is freed. */
TT_API const tt_choice *tt_plan_choice(const tt_plan *plan);

/* Enqueues a transpose, or another operation that goes from one buffer to another, on `stream` (NULL: the
 * context's default stream). Asynchronous, allocates nothing, may be captured in a graph. It keeps the stream's
 * order, also where its blocks begin before the kernel in front of it has ended (compute capability 9.0 and
 * later). In a captured graph such a launch becomes a programmatic edge: code that lists edges must use
 * cudaGraphGetEdges_v2. What goes wrong on the device shows in a later CUDA call, as with any kernel.
 * dst and src are device addresses and must keep the alignment the plan was made for (TT_E_INVALID otherwise). In
 * place they must be the same; else the arrays must not overlap, of which only equal addresses are noticed. */
TT_API tt_status tt_plan_launch(const tt_plan *plan, CUdeviceptr dst, CUdeviceptr src, CUstream stream);

/* What a launch is given, in the order in which the operation declares its buffers and scalars. */
typedef struct tt_argument {
    size_t size;           /* set by the caller */
    const char *name;      /* texts are borrowed from the plan */
    const char *type;      /* "f32" */
    const char *direction; /* "in", "out", "inout", "scratch" (of no account before and after), "scalar" */
    int64_t count;         /* elements; 0 of a scalar */
    size_t bytes;          /* that a buffer must have; 0 of a scalar */
} tt_argument;

TT_API size_t tt_plan_n_arguments(const tt_plan *plan);
/* TT_E_INVALID if there is no argument i. */
TT_API tt_status tt_plan_argument(tt_argument *out, const tt_plan *plan, size_t i);

/* Enqueues the launch, all kernels of the file in their order; otherwise as tt_plan_launch. args[i] points to
 * argument i: to a CUdeviceptr, as aligned as the plan was made for (16 bytes unless the problem says less), or
 * to a scalar of its type. n is tt_plan_n_arguments. A plan whose file has scratch buffers must not be launched
 * twice at once on the same. */
TT_API tt_status tt_plan_launch_args(const tt_plan *plan, void *const *args, size_t n, CUstream stream);

/* tt_plan_create and tt_plan_launch for a matrix, with a cache of plans inside `ctx`, one for each problem, CUDA
 * context and alignment of the pointers (`problem->align` may stay 0: the pointers are looked at; TT_E_INVALID if
 * one is no multiple of the size of an element). A plan that is there is found without a lock or an allocation,
 * from any number of threads at once, and serves until tt_close, whatever is tuned meanwhile. While `stream` is
 * captured only such a plan can be used: TT_E_CAPTURE otherwise, and the capture goes on. */
TT_API tt_status tt_transpose(tt_ctx *ctx, const tt_problem *problem, CUdeviceptr dst, CUdeviceptr src,
                              CUstream stream);

/* ---- Tuning ----------------------------------------------------------------------------------- */

typedef enum tt_source { TT_SOURCE_MEASURED = 0, TT_SOURCE_STORED, TT_SOURCE_REPLAYED } tt_source;

/* "measured", "stored", "replayed"; static storage. */
TT_API const char *tt_source_name(tt_source s);

typedef struct tt_progress { /* borrowed for the duration of the call-back */
    size_t problem, n_problems;
    int64_t rows, cols; /* 0 if the problem has no such variables */
    const char *text;   /* the problem in words, as in tt_result.problem */
    const char *phase;  /* "copy", "search", "finals" */
    size_t done, total; /* configurations of this problem */
    size_t failed;      /* of those done: trials that are not ok */
    double best_us;     /* 0: none yet */
    const char *best_config;
    double eta_s; /* rough time left for the whole run; < 0: unknown */
} tt_progress;

/* How many configurations of each problem are tried; those stored count. */
typedef enum tt_effort {
    TT_EFFORT_STANDARD = 0, /* one or two hundred, chosen by a search that learns from them: seconds */
    TT_EFFORT_QUICK,        /* some dozens */
    TT_EFFORT_EXHAUSTIVE    /* every one */
} tt_effort;

typedef struct tt_tune_opts {
    size_t size;
    int device;                   /* CUDA ordinal */
    const char *replay;           /* a recording to search instead of a device; NULL: measure */
    const char *const *templates; /* n_templates paths of .cu files that compete beside the built-in ones;
                                     those of tt_open_opts do so only if they are named here too */
    size_t n_templates;
    int jobs;                 /* compile processes; 0: one per CPU */
    int force;                /* 1: measure again what is already stored */
    double trial_timeout_s;   /* a configuration that takes longer is killed, and a reference of yours that
                                 takes six times as long; 0: 10, or a quarter of the budget but 1 at least */
    double compile_timeout_s; /* and so is a compiler; 0: 60, or a quarter but 5 */
    const char *const *only;  /* if n_only: no kernels compete but these, by name */
    size_t n_only;
    const char *trace_path; /* a timeline of the run, Chrome trace format; NULL: none */
    void (*on_progress)(void *user, const tt_progress *p);
    void (*on_message)(void *user, const char *line); /* notes a user may want, without newline */
    int (*should_stop)(void *user);                   /* polled; non-zero ends the run */
    void *user;
    tt_effort effort;
    size_t max_trials;    /* of each problem, in place of what the effort says; 0: as the effort says */
    double budget_s;      /* wall time from the call to the stored winners; 0: no end */
    uint64_t seed;        /* of the search: the same seed, store and recording give the same search */
    const char *strategy; /* NULL: what suits; `tune --help` lists them */
    int unverified;       /* 1: a kernel of yours that names no reference may be tuned; its results say so */
} tt_tune_opts;

/* Texts that do not fit end in "...". */
typedef struct tt_result {
    int64_t rows, cols, batch; /* 0 if the problem has no such variables */
    int elem_size, in_place, warm;
    char kernel[64]; /* "" : no winner */
    char config[256];
    double time_us, gbps;      /* median over the interleaved final rounds */
    double copy_us;            /* the tuned copy of as many bytes, measured in the same rounds */
    double copy_fraction;      /* copy_us / time_us, median of the paired ratios */
    double peak_fraction;      /* of the memory's theoretical rate; 0: unknown */
    double speedup_vs_default; /* over the template's default configuration, paired; 0: unknown */
    size_t trials, failed;     /* configurations tried for this problem, and those that did not pass */
    tt_source source;
    char note[256];    /* why there is no winner, or what the budget left out, or "" */
    size_t space;      /* configurations that there are for this problem */
    char problem[384]; /* in words: "4096x4096", or "n=4096, T=f32" */
    char metrics[192]; /* of the operation, but for a transpose: "gbps 4012.3, gflops 668.7" */
    int unverified;    /* 1: whether the kernel's results are right is not known */
} tt_result;

typedef struct tt_report {
    char gpu[96];
    char driver[32], nvrtc[16];
    double wall_s;
    size_t n_results;
    const tt_result *results; /* use tt_report_result: a newer library may have larger ones */
} tt_report;

/* Tunes the problems one after the other and stores every trial as it comes in and the winners. The problems of a
 * call are matrices and built-in operations, or of one kernel of yours. What is stored and valid is not measured
 * again. Compiling and measuring happen in worker processes, children of the caller that are awaited by their
 * numbers: nothing a kernel does can harm the caller, and the caller's CUDA contexts are not touched.
 * Arrays of 256 MB and more in all are measured at up to four places of the memory, which takes up to half of
 * what is free meanwhile; what has to fit are the buffers, and copies to verify with. *out is also set, with what
 * is known, on TT_E_INTERRUPTED and TT_E_NO_WINNER. TT_E_INVALID if `ctx` was opened read-only, a problem cannot
 * fit the device's memory, or a kernel names no reference and opts->unverified is 0.
 *
 * The call-backs run in the caller's thread and may use `ctx`, but neither tune with it nor close it. Other
 * threads may use it meanwhile; with a store ":memory:" they wait until the tuning is done. */
TT_API tt_status tt_tune(tt_report **out, tt_ctx *ctx, const tt_problem *problems, size_t n_problems,
                         const tt_tune_opts *opts);
/* The i-th result, or NULL; borrowed from the report. */
TT_API const tt_result *tt_report_result(const tt_report *report, size_t i);
TT_API void tt_report_free(tt_report **report);

#ifdef __cplusplus
} /* extern "C" */
template <typename T> inline T tt_sized_() {
    T t = T();
    t.size = sizeof(T);
    return t;
}
#endif

#endif /* TILETUNE_H */

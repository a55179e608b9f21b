/*
 * tiletune finds the fastest way to run an operation on this GPU. It measures, and it remembers the results.
 *
 * The library does three things: it names the best configuration (tt_best, needs no GPU), it makes something
 * to launch (tt_plan_*, tt_transpose), and it measures (tt_tune).
 *
 * Problems: a problem is one of three: a matrix to transpose (`rows`, `cols`, ...), a built-in operation
 * (`op`), or a kernel file of yours (`kernel`). The source matrix is row-major, `rows` x `cols` elements. The
 * destination is row-major, `cols` x `rows`. Leading dimensions count elements.
 *
 * Units: names end in their unit. GB/s are 10^9 bytes per second, bytes read plus bytes written.
 *
 * Ownership: `T **out` receives an object with one matching free function, or NULL on failure. Strings passed
 * in are copied. A returned `const T *` is borrowed from the object it came from.
 *
 * Structs: a struct of the caller starts with `size`, its sizeof. TT_INIT sets it. In any other input field,
 * zero means the default. A program may be older or newer than the library. A smaller struct gets defaults
 * for the missing fields. A larger one must have zeros there (TT_E_INVALID otherwise). Structs of the library
 * (tt_progress, tt_report, tt_result) grow only at their end.
 *
 * Errors: a function that can fail returns tt_status. tt_last_error() says in one sentence what went wrong. A
 * NULL handle is TT_E_INVALID. Functions that free ignore NULL.
 *
 * Threads: many threads may use one tt_ctx at once, except in tt_close. A tt_plan is immutable. Any thread
 * may launch it if the plan's CUDA context is current there. A stack of 64 KB is enough for every call.
 *
 * Processes: after fork neither may be used in the child (TT_E_INVALID), where tt_close only forgets. If a
 * context was open at the fork, the child cannot open one either (TT_E_DB), because SQLite's locks do not
 * survive. Close all contexts before the fork, or let the child exec a program.
 *
 * Manners: the library never prints, never exits and never changes the environment. It works in the CUDA
 * context that is current in the caller's thread.
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

/* CUDA driver types as <cuda.h> declares them. A program that only queries compiles without the CUDA
 * Toolkit. */
typedef unsigned long long CUdeviceptr;
typedef struct CUstream_st *CUstream;

#define TT_VERSION_MAJOR  0
#define TT_VERSION_MINOR  2
#define TT_VERSION_PATCH  0
#define TT_VERSION        "0.2.0"
#define TT_VERSION_NUMBER (TT_VERSION_MAJOR * 10000 + TT_VERSION_MINOR * 100 + TT_VERSION_PATCH)

/* A struct with its size set and all other fields zero: `tt_problem p = TT_INIT(tt_problem);` */
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
    TT_E_CAPTURE      /* a graph is being captured; do what was asked for before the capture */
} tt_status;

/* A few words for a status, also an unknown one; static storage. */
TT_API const char *tt_strerror(tt_status s);

/* One sentence about the last failure in this thread; "" if there was none. Borrowed until the next failing
 * call in the same thread. Look at it only after a call has failed. */
TT_API const char *tt_last_error(void);

/* The version of the loaded library, to compare with TT_VERSION and TT_VERSION_NUMBER; static storage. */
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
    const char *gpu;     /* tt_best answers and plans are made for this GPU (name as in `tune list`), whose
                            compute capability the device must have to load them (else TT_E_CUDA); NULL: the GPU
                            of the current CUDA context */
    int read_only;       /* 1: never write, and never create the file */
    const char *const *templates; /* n_templates paths of .cu files, in addition to the built-in ones */
    size_t n_templates;
    /* > 0: the first plan of a problem that was never measured on this GPU tunes it first, for about so many
     * seconds. A tt_ctx tunes each problem once. All processes that share the store tune one at a time. There
     * is no tuning while a graph is captured, in a read-only store, with `gpu`, or for a kernel without a
     * reference. If tuning fails, the best known configuration is used, or TT_E_NO_WINNER says that the
     * default failed, too. 0: the best known configuration is used at once. */
    double tune_budget_s;
    /* 1: a kernel begins only after the previous one in its stream has ended. 0: most kernels begin earlier
     * from compute capability 9.0 on (programmatic dependent launch). They wait on the device before they
     * touch memory. */
    int no_early_launch;
    /* A file of `tune lock`: only its winners are used, also stale ones, so that all processes that open it
     * run the same. It is never written. A problem that it lacks is TT_E_NO_WINNER; if `lock_default` is
     * 1, it gets what the file's rules choose, or its template's default. Leave db_path and tune_budget_s
     * out. NULL: no lock. */
    const char *lock_file;
    int lock_default;
    /* How many plans tt_transpose and tt_permute keep. Those that were not used lately are given up first. 0:
     * 4096, which take some 15 MB of host memory. */
    int plans_kept;
    /* A file that collects what is launched without an exact winner: the problem, the GPU, how often, and
     * what a launch takes by estimate. `tune --collected FILE` tunes those that cost most. Counts are added
     * every few seconds, at tt_close, and when the process exits; many processes may share a file. A launch
     * costs a few nanoseconds more. NULL: $TILETUNE_COLLECT; if that is not set either, nothing is collected.
     */
    const char *collect_file;
} tt_open_opts;

/* Opens the store and creates it if needed. Needs no GPU. `opts` may be NULL. A process may have several
 * contexts, also of one store. tt_close frees it. Two more layers are only read:
 * the system store ($TILETUNE_SYSTEM_DB or /etc/tiletune/tiletune.db; "" means none) and the winners that
 * come with the library. They also serve where no default store is and none can be made, as without a HOME
 * that can be written. What is compiled is then kept in memory, and tt_tune is TT_E_DB, because its results
 * would be lost.
 *
 * TT_E_DB: a store is no database, damaged, of a newer schema, writable by others, or cannot be reached, or
 * there is no `lock_file`. This holds for a file that $TILETUNE_SYSTEM_DB names, too. After a fork see above.
 * TT_E_TEMPLATE, TT_E_IO: a file among `templates` is bad. TT_E_INVALID, TT_E_IO: `collect_file` is something
 * else, or cannot be written. */
TT_API tt_status tt_open(tt_ctx **out, const tt_open_opts *opts);

/* Frees *ctx and the plans that tt_transpose cached in it, and sets it to NULL. Plans from tt_plan_create
 * live on. No other thread may be using it. For cached plans the same holds as in tt_plan_free. */
TT_API void tt_close(tt_ctx **ctx);

/* ---- Kernels of your own ---------------------------------------------------------------------- */

/* Opens a .cu file whose annotations say what it computes (docs/annotations.md). If `source` is given, it is
 * the text, and `path` is used in messages and to find headers and data files beside it. The store keeps
 * results under the hash of the text including its headers, so files whose code or annotations differ never
 * share results. Other comments and white space do not count. `ctx` must outlive the kernel. Many threads may
 * use it at once, except in tt_kernel_close, which frees it. Nothing is compiled yet.
 *
 * TT_E_TEMPLATE: "path:line:column: what is wrong". TT_E_IO: the file cannot be read. TT_E_INVALID: the file
 * is a template with an `op`; those belong in tt_open_opts.templates. */
TT_API tt_status tt_kernel_open(tt_kernel **out, tt_ctx *ctx, const char *path, const char *source);
/* Frees the kernel and sets *kernel to NULL. Plans live on; problems that name it must not be used again. */
TT_API void tt_kernel_close(tt_kernel **kernel);
/* The name of its first kernel; borrowed until it is closed. "" for NULL. */
TT_API const char *tt_kernel_name(const tt_kernel *kernel);

/* ---- Problems and choices --------------------------------------------------------------------- */

/* The dimensions of a tensor in another order: axis i of the destination is axis perm[i] of the source, as
 * transpose of numpy and permute of PyTorch number them. The destination is dense (contiguous). */
enum { TT_RANK_MAX = 64 };
typedef struct tt_permutation {
    size_t size;
    int rank;               /* 1 to TT_RANK_MAX. At most 16 dimensions may remain after neighbours that stay
                               neighbours were merged (TT_E_UNSUPPORTED) */
    int elem_size;          /* bytes: 1, 2, 4, 8 or 16; 0: 4 */
    const int64_t *dims;    /* of the source, the outermost first; > 0; at most 2^44 elements */
    const int *perm;        /* each of 0 to rank - 1 once */
    const int64_t *strides; /* of the source, in elements, each at least 1, no two indices at one place;
                               NULL: dense */
    int align;              /* both addresses are multiples of so many bytes: 1, 2, 4, 8 or 16, at least
                               elem_size; 0: 16 */
    int warm;               /* as in tt_problem */
    int in_graph;           /* as in tt_problem */
} tt_permutation;

typedef struct tt_problem {
    size_t size;
    int64_t rows, cols; /* of the source, in elements; > 0; at most 2^44 including gaps and batch */
    int64_t lds;        /* elements from one source row to the next, >= cols; 0: cols */
    int64_t ldd;        /* elements from one destination row to the next, >= rows; 0: rows, in place lds */
    int elem_size;      /* bytes: 1, 2, 4, 8 or 16; 0: 4 */
    /* Bytes that divide both base addresses, row pitches and batch strides: 1, 2, 4, 8 or 16, at least
     * elem_size. 0, or too large for the pitches and strides: the largest that they allow. Base addresses are
     * then taken as multiples of 16. */
    int align;
    int64_t batch;      /* number of matrices of this shape; 0: 1 */
    int64_t src_stride; /* elements from one source matrix to the next; 0: rows * lds */
    int64_t dst_stride; /* elements from one destination matrix to the next; 0: cols * ldd */
    int in_place; /* 1: dst and src are one array. A square matrix has lds = ldd and equal strides; other
                     matrices have no gaps and no batch, and need `scratch` */
    int warm;     /* 1: the L2 cache may hold the arrays, as after the kernel that wrote them. Warm and cold
                     problems are tuned and stored separately */

    /* Another operation. All fields above except `warm` are zero then. */
    const char *op;    /* a built-in operation, as in `tune --op`; NULL: a transpose, or what `kernel` says */
    tt_kernel *kernel; /* a kernel of yours; NULL: none */
    const char *values; /* values of its variables: "n=1000000, T=f32". The others get their defaults. The
                           words "warm" and "in_graph" do the same as these fields */
    const tt_permutation *permutation; /* a permutation instead of all that, read by the call; NULL: none.
                           It may be tuned and planned as a copy or a transpose that does the same */
    /* Device memory of the caller, for a matrix in place with rows != cols: rows * cols * elem_size / 100
     * bytes, at least 16, at a multiple of 16 bytes. Its content is ignored before and after. tt_transpose
     * uses it for this launch, a plan for every tt_plan_launch, so one launch at a time. Other problems
     * ignore it. */
    CUdeviceptr scratch;
    /* 1: it is launched in CUDA graphs of many launches, where kernels overlap and another configuration may
     * be best. Such problems are tuned in graphs and stored separately; each may be warm or cold. */
    int in_graph;
} tt_problem;

/* The rung of the look-up ladder that an answer comes from. */
typedef enum tt_match {
    TT_MATCH_EXACT = 0, /* measured on this GPU for this problem, and still valid */
    TT_MATCH_STALE,     /* the same, but the template, the driver or the measuring method has changed since */
    TT_MATCH_NEAREST,   /* measured on this GPU for the nearest problem, if it is near enough */
    TT_MATCH_OTHER_GPU, /* measured on another GPU of the same compute capability, if that is nearer */
    TT_MATCH_DEFAULT,   /* never measured: a configuration that does well elsewhere, or the template's default
                         */
    TT_MATCH_RULE       /* not measured: a rule chose it by what other problems took on this GPU; comes before
                           TT_MATCH_NEAREST */
} tt_match;

/* "exact", "stale", "nearest", "other-gpu", "default", "rule"; static storage. */
TT_API const char *tt_match_name(tt_match m);

/* Texts that do not fit end in "...". Names and configurations always fit. */
typedef struct tt_choice {
    size_t size; /* set by the caller */
    tt_match match;
    char kernel[64];    /* name of the kernel template */
    char config[256];   /* "TILE_DIM=32 BLOCK_ROWS=8 ..." */
    char gpu[96];       /* the GPU it, or the rule, was measured on; "" for TT_MATCH_DEFAULT */
    int64_t rows, cols; /* of that problem; 0 if it has no such variables, or none was measured */
    double time_us;     /* median time of a launch, cold or warm as in that problem; 0: none was measured */
    double gbps;        /* the operation's metric gbps; 0: unknown */
    char why[224];      /* why the match is not exact; "" if it is */
    char problem[384];  /* the problem it was measured for, in words; "" if there is none */
    char layer[16];     /* where it was found: "user" (the store), "system", "shipped"; "" for a template's
                           default */
    int unverified; /* 1: a kernel of yours has neither a reference nor expected data, so its results are not
                       verified */
    char bits[24];  /* its class of equal bits, as in tt_result, for the problem it was measured for */
    int batch_invariant; /* likewise */
} tt_choice;

/* The best known configuration for a problem. It only reads the store, and needs neither a GPU nor NVRTC if
 * tt_open was given the GPU's name. Otherwise the CUDA context that is current in this thread says which GPU
 * it is. It takes microseconds, also for a problem that no store has, once the first such problem has made
 * the context read the stores. Winners of other processes are seen within a second, of a large store within
 * seconds.
 *
 * TT_E_NO_DRIVER, TT_E_NO_DEVICE: no name was given, and there is no driver or no current context.
 * TT_E_INVALID: the GPU is unknown or the problem is not valid. TT_E_UNSUPPORTED: no template fits.
 * TT_E_NO_WINNER: only a default is left, and it failed when this problem was tuned. */
TT_API tt_status tt_best(tt_choice *out, tt_ctx *ctx, const tt_problem *problem);

/* ---- Launching -------------------------------------------------------------------------------- */

/* Makes a plan in the current CUDA context: looks the problem up, takes the cubin from the store or compiles
 * and stores it, and loads it. The plan outlives `ctx` and the kernel. Its CUDA context must be current at
 * each launch. Making a plan is safe while a graph is captured, but takes time, so make plans before. It
 * takes about a millisecond with a stored cubin, tenths of a second to compile. Tuning takes
 * tt_open_opts.tune_budget_s. tt_plan_free frees it.
 *
 * TT_E_NO_DRIVER, TT_E_NO_DEVICE: there is no driver, or no current context. TT_E_NO_NVRTC: the kernel must
 * be compiled, and NVRTC is missing. TT_E_COMPILE: NVRTC refuses it. TT_E_TEMPLATE: the compiled kernel is
 * not as its annotations say. TT_E_CUDA, TT_E_NO_MEMORY: the driver cannot load it. TT_E_INVALID,
 * TT_E_UNSUPPORTED, TT_E_NO_WINNER: as in tt_best. */
TT_API tt_status tt_plan_create(tt_plan **out, tt_ctx *ctx, const tt_problem *problem);

/* Frees the plan and sets *plan to NULL. No launch of it may be in flight. Graphs that captured it must
 * not be launched any more. Any context may be current, or none. The plan's own context may already be
 * destroyed. */
TT_API void tt_plan_free(tt_plan **plan);

/* The configuration that the plan runs; borrowed until the plan is freed. NULL for NULL. It is that of
 * tt_best, unless nobody tuned the problem and that kernel would be compiled for its sizes alone, as for a
 * narrow matrix: then it is a kernel that gets the sizes as arguments. */
TT_API const tt_choice *tt_plan_choice(const tt_plan *plan);

/* Enqueues an operation with one source and one destination buffer, such as a transpose, on `stream` (NULL:
 * the context's default stream). It is asynchronous, allocates nothing and may be captured in a graph. As
 * with any kernel, an error on the device shows in a later CUDA call.
 *
 * dst and src are device addresses, as aligned as the plan requires (TT_E_INVALID otherwise). In place, they
 * must be equal, and a rectangle needs tt_problem.scratch (or tt_plan_launch_args). Out of place, the arrays
 * must not overlap; only equal addresses are detected. TT_E_CUDA: the driver refuses the launch, because the
 * plan's context is not current or an earlier error has broken it, for instance.
 *
 * The order of the stream is kept, even if the kernel's blocks begin before the previous kernel has ended
 * (compute capability 9.0 and later). In a captured graph such a launch becomes a programmatic edge: code
 * that lists edges must use cudaGraphGetEdges_v2. */
TT_API tt_status tt_plan_launch(const tt_plan *plan, CUdeviceptr dst, CUdeviceptr src, CUstream stream);

/* An argument of a launch. Arguments are in the order of declaration: the operation's buffers and
 * scalars, without those that only the reference gets, or `data` and `verify` kernels. */
typedef struct tt_argument {
    size_t size;      /* set by the caller */
    const char *name; /* this and the other texts are borrowed from the plan */
    const char *type; /* "f32" */
    /* "in", "out", "inout", "scratch" (its content is ignored before and after the launch), or "scalar" */
    const char *direction;
    int64_t
        count;    /* number of elements, of this plan's configuration; 0 for a scalar. f32x4 counts as four */
    size_t bytes; /* size that a buffer must have; 0 for a scalar */
} tt_argument;

/* How many there are: 2 for a matrix that is not in place, its source and its destination. 0 for NULL. */
TT_API size_t tt_plan_n_arguments(const tt_plan *plan);
/* TT_E_INVALID if there is no argument i. */
TT_API tt_status tt_plan_argument(tt_argument *out, const tt_plan *plan, size_t i);

/* Copies `bytes` bytes of host memory into a constant of the plan, a __constant__ array that the file
 * declares by a `constant` line. Each constant needs its data before the first launch, and keeps it. The
 * plan's context must be current, and no launch of the plan in flight, nor another thread using it. The data
 * is copied when the call returns. Each plan has constants of its own.
 *
 * TT_E_INVALID: there is no constant of that name, or `bytes` is not its size. TT_E_CUDA: the copy failed. */
TT_API tt_status tt_plan_set_constant(tt_plan *plan, const char *name, const void *data, size_t bytes);

/* Enqueues the launch: all kernels of the file, in order. Otherwise it does the same as tt_plan_launch.
 * `args` has n = tt_plan_n_arguments pointers. args[i] points to a CUdeviceptr, aligned as the plan requires
 * (16 bytes unless the problem says less; scratch buffers always 16), or to a scalar of its type, which is
 * read before the call returns. Buffers must not overlap; only an address that is given twice, of which one
 * is written, is detected. If the file has scratch buffers, two launches at once need two sets of them. */
TT_API tt_status tt_plan_launch_args(const tt_plan *plan, void *const *args, size_t n, CUstream stream);

/* tt_plan_create and tt_plan_launch for a matrix, with the errors of both. `ctx` caches one plan for each
 * problem, CUDA context and alignment of the pointers. `problem->align` may stay 0: the pointers are checked
 * instead (TT_E_INVALID if one is no multiple of the element size).
 *
 * A cached plan is found without a lock or an allocation, from any number of threads at once. It stays in use
 * even if tuning finds a better one, until tt_close, or until it is given up for others
 * (tt_open_opts.plans_kept). While `stream` is captured, only a cached plan can be used. Otherwise the call
 * returns TT_E_CAPTURE, and the capture goes on.
 *
 * The code of a cached plan stays loaded until tt_close, also if the plan is given up, because a launch may
 * be in flight, and a graph may have captured it. So a captured graph works until tt_close. Shapes share
 * code, so their number does not matter, but for rectangles in place, where each has code of its own. */
TT_API tt_status tt_transpose(tt_ctx *ctx, const tt_problem *problem, CUdeviceptr dst, CUdeviceptr src,
                              CUstream stream);

/* The same for a permutation, whose `dims`, `perm` and `strides` are read during the call. Its `align` may
 * stay 0, too: the pointers are checked instead. The arrays must not overlap; only equal addresses are
 * detected. */
TT_API tt_status tt_permute(tt_ctx *ctx, const tt_permutation *permutation, CUdeviceptr dst, CUdeviceptr src,
                            CUstream stream);

/* ---- Tuning ----------------------------------------------------------------------------------- */

typedef enum tt_source { TT_SOURCE_MEASURED = 0, TT_SOURCE_STORED, TT_SOURCE_REPLAYED } tt_source;

/* "measured", "stored", "replayed"; static storage. */
TT_API const char *tt_source_name(tt_source s);

typedef struct tt_progress { /* borrowed during the call-back */
    size_t problem, n_problems;
    int64_t rows, cols; /* 0 if the problem has no such variables */
    const char *text;   /* the problem in words, as in tt_result.problem */
    const char *phase;  /* "copy", "search", "finals" */
    size_t done, total; /* configurations of this problem */
    size_t failed;      /* trials among `done` that are not ok */
    double best_us;     /* 0: none yet */
    const char *best_config;
    double eta_s; /* rough time left for the whole run; < 0: unknown */
} tt_progress;

/* How many configurations of each problem are tried. Stored trials count. */
typedef enum tt_effort {
    TT_EFFORT_STANDARD = 0, /* one or two hundred, chosen by a search that learns from them: seconds */
    TT_EFFORT_QUICK,        /* some dozens */
    TT_EFFORT_EXHAUSTIVE    /* every one */
} tt_effort;

typedef struct tt_tune_opts {
    size_t size;
    int device;         /* CUDA ordinal */
    const char *replay; /* a recording to search instead of a device; NULL: measure */
    /* n_templates paths of .cu files that compete with the built-in ones. Those of tt_open_opts take part
     * only if they are named here, too. */
    const char *const *templates;
    size_t n_templates;
    int jobs;               /* compile processes; 0: one per CPU */
    int force;              /* 1: measure stored configurations again */
    double trial_timeout_s; /* a configuration that takes longer is killed. A reference of yours may take six
                               times as long. 0: 10 s, or a quarter of the largest part of the budget that
                               a problem has, but at least 1 s */
    double compile_timeout_s; /* as above, for a compiler. 0: 60 s, or half of that part, at least 10 s */
    const char *const *only;  /* if n_only > 0: only these kernels compete, by name */
    size_t n_only;
    const char *trace_path; /* a timeline of the run in Chrome's trace format; NULL: none */
    /* Call-backs return: an exception of C++ or a longjmp out of one leaves worker processes and locks
     * behind. */
    void (*on_progress)(void *user, const tt_progress *p);
    void (*on_message)(void *user, const char *line); /* notes for the user, without newline */
    int (*should_stop)(void *user);                   /* polled; non-zero ends the run */
    void *user;
    tt_effort effort;
    size_t max_trials;    /* of each problem, instead of the number that the effort implies; 0: that number */
    double budget_s;      /* wall time from the call to the stored winners; 0: unlimited */
    uint64_t seed;        /* of the search: the same seed, store and recording give the same search */
    const char *strategy; /* NULL: chosen automatically; `tune --help` lists them */
    int unverified;       /* 1: allow tuning a kernel of yours without a reference; its results say so */
    /* If n_devices > 0: these CUDA ordinals instead of `device`. GPUs that are alike share each search, and
     * one of them holds its finals. GPUs that differ are tuned one kind after the other, and the report has
     * the results of all problems for each kind. */
    const int *devices;
    size_t n_devices;
    int same_bits; /* 1: the winner's results have the same bits as those of the default configuration */
    const char *class_of; /* with same_bits: as those of this configuration in place of the default */
} tt_tune_opts;

/* Texts that do not fit end in "...". */
typedef struct tt_result {
    int64_t rows, cols, batch; /* 0 if the problem has no such variables */
    int elem_size, in_place, warm;
    char kernel[64]; /* "" : no winner */
    char config[256];
    double time_us, gbps;      /* median of the interleaved final rounds */
    double copy_us;            /* the tuned copy of the same number of bytes, measured in the same rounds */
    double copy_fraction;      /* copy_us / time_us, median of the paired ratios */
    double peak_fraction;      /* fraction of the memory's theoretical rate; 0: unknown */
    double speedup_vs_default; /* over the template's default configuration, paired; 0: unknown */
    size_t trials, failed;     /* configurations tried for this problem, and those that failed */
    tt_source source;
    char note[256];    /* why there is no winner, what the budget left out, or why a default failed; or "" */
    size_t space;      /* number of configurations of this problem */
    char problem[384]; /* in words: "4096x4096", or "n=4096, T=f32" */
    char metrics[192]; /* the operation's metrics: "gbps 4012.3, gflops 668.7"; "" if it has none */
    int unverified;    /* 1: the kernel's results were not verified */
    /* The winner's class: configurations of a problem with the same one computed the same bits. "exact": all
     * results are the reference's, bit for bit; "unstable": two launches differed; "": unknown. */
    char bits[24];
    /* With tt_tune_opts.same_bits what that costs: the winner's time over that of the fastest (1: it is the
     * fastest; 0: unknown), in which fraction of elements that one differs, and by how many units in the last
     * place at most (0: they are no floating-point numbers). */
    double same_bits_cost, differing, ulps;
    int batch_invariant; /* does a row stay the same when rows are added? 0: unknown, 1: yes, 2: no */
    int in_graph;        /* as in tt_problem */
    char op[64]; /* the operation: "transpose", "axpby"; that of a kernel file has its kernel's name */
} tt_result;

typedef struct tt_report {
    char gpu[96]; /* "A, B" for several kinds: results are in this order. "..." ends a long text */
    char driver[32], nvrtc[16];
    double wall_s;
    size_t n_results;
    const tt_result *results; /* read them with tt_report_result: a newer library may have larger structs */
} tt_report;

/* Tunes the problems one after the other, or side by side on several GPUs, and returns when all have ended. A
 * call takes matrices and built-in operations, or problems of one kernel of yours. `problems` are n_problems
 * structs, at least one, all as large as the first says. `opts` may be NULL. Each trial is stored when it
 * ends, and so are the winners. Stored and valid trials are not measured again. tt_report_free frees *out. It
 * is also set, with the results so far, on TT_E_INTERRUPTED and TT_E_NO_WINNER.
 *
 * Worker processes compile and measure, so a faulty kernel cannot harm the caller. The caller's CUDA contexts
 * are not touched. Workers are children of the caller, and each is awaited by its process id.
 *
 * Buffers and the copies to verify with must fit the device's memory. Arrays of 256 MB and more in total are
 * measured at up to four places of the memory. This takes up to half of the free memory.
 *
 * The call-backs run in the caller's thread. They may use `ctx`, but must neither tune with it nor close it.
 * Other threads may use it meanwhile. With a store ":memory:" they wait until the tuning has ended.
 *
 * TT_E_INVALID: `ctx` was opened read-only, a problem does not fit the device's memory, or a kernel has no
 * reference and opts->unverified is 0. TT_E_NO_DRIVER, TT_E_NO_DEVICE, TT_E_NO_NVRTC: what measuring needs is
 * missing. TT_E_DB: results cannot be kept. TT_E_IO: a template, a recording or tiletune-worker cannot be
 * used. TT_E_UNSUPPORTED: no template fits a problem, or this is libtiletune-launch, which has no tuner. */
TT_API tt_status tt_tune(tt_report **out, tt_ctx *ctx, const tt_problem *problems, size_t n_problems,
                         const tt_tune_opts *opts);
/* Result i, or NULL; borrowed from the report. */
TT_API const tt_result *tt_report_result(const tt_report *report, size_t i);
/* Frees the report with its results and sets *report to NULL. */
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

/*
 * A kernel template: one annotated .cu file, read into the parameters, constraints and geometry that its
 * leading comment block declares. kernel_templates/README.md explains the annotations to their authors.
 *
 * A tt__template is immutable once parsed and may be used from any thread.
 */
#ifndef TT_TEMPLATE_TEMPLATE_H
#define TT_TEMPLATE_TEMPLATE_H

#include "base/hash.h"
#include "base/str.h"
#include "base/workload.h"

enum {
    TT__PARAMS_MAX = 16,
    TT__VALUES_MAX = 256, /* of a parameter: a place among them fits a byte (tuner/points.h) */
    TT__WHERES_MAX = 32,
    TT__TYPES_MAX = 12, /* that a `type` may stand for */
    TT__SHAPE_MAX = 4,
    TT__REQUIRES_MAX = 8,
    TT__SAMPLES_OF_MAX = 8,
    TT__METRICS_MAX = 4,
    TT__OPTIONS_MAX = 16,
    TT__DERIVED_MAX = 12,
    TT__FILE_MAX = 128,
    TT__CONFIGS_MAX = 65536, /* legal configurations of one template for one problem */
};

/* An SQL scalar expression and where it stands, for messages. */
typedef struct tt__expr {
    char *text; /* NULL: not given */
    int line, column;
} tt__expr;

typedef struct tt__param {
    char name[TT__NAME_MAX];
    int line, column;
    bool runtime; /* reaches the kernel through `args` alone: all its values share one cubin */
    size_t n_values;
    char **values; /* as written: integers, or words passed to the kernel as they are */
} tt__param;

/* A value that follows from the problem, the device and the parameters. It is no part of a configuration. The
 * expressions of wheres and launches know it, and so do the ones below it. */
typedef struct tt__derived {
    char name[TT__NAME_MAX];
    bool macro;     /* `derived`; else `let`, a name for expressions alone */
    int column;     /* of the name, in the line of */
    tt__expr value; /* an integer */
} tt__derived;

/* How one kernel is launched. */
typedef struct tt__geometry_expr {
    tt__expr block[3], grid[3]; /* missing dimensions are 1 */
    tt__expr shared;            /* dynamic shared memory in bytes; missing is 0 */
    int first_arg, n_args;      /* of the template's args */
    bool early;                 /* tt__pass, where the device can */
    int line, column;           /* of its name behind `kernel` or `reference`; line 0: there is none */
} tt__geometry_expr;

typedef struct tt__arg_expr {
    tt__type type;  /* TT__TYPE_NONE: an operand */
    int operand;    /* of the operation */
    tt__expr value; /* its text is the operand's name, where it is one */
} tt__arg_expr;

/* ---- The operation: what is computed on what, whatever computes it ------------------------------------ */

/* A number that makes a problem, or a type that does. */
typedef struct tt__variable {
    char name[TT__NAME_MAX];
    tt__expr value; /* its default, of the variables before it; not given: every problem must say it */
    size_t n_types; /* 0: a number */
    tt__type types[TT__TYPES_MAX]; /* the first is the default */
    double weight;                 /* of a doubling, in the distance of two problems */
    bool same; /* winners of problems that differ in it answer for each other as a default only */
} tt__variable;

/* What the caller gives to a launch: a buffer, or a scalar. */
typedef struct tt__operand {
    char name[TT__NAME_MAX];
    bool scalar;
    tt__type type;
    int variable;   /* the one that is its type; -1: `type` says it */
    tt__expr count; /* of a buffer's elements */
    tt__direction direction;
    bool usual_init;           /* what suits the type: uniform for floating point, else random */
    tt__init init;             /* of in and inout */
    double low, high;          /* of TT__INIT_UNIFORM; of a scalar `low` is its value */
    int from;                  /* of TT__INIT_COPY: the operand */
    char file[TT__FILE_MAX];   /* of TT__INIT_FILE: beside the template */
    char expect[TT__FILE_MAX]; /* what it must hold afterwards, beside the template; "" : what the reference
                                  says */
} tt__operand;

typedef struct tt__metric {
    char name[TT__NAME_MAX];
    tt__expr value; /* of time_ns */
} tt__metric;

typedef struct tt__operation {
    const struct tt__template *t; /* in whose text it stands */
    size_t n_variables;
    tt__variable variables[TT__VARIABLES_MAX];
    size_t n_operands;
    tt__operand operands[TT__OPERANDS_MAX];
    bool has_reference; /* else the operands' files say what is right, or nothing does */
    tt__symbols reference;
    tt__geometry_expr launch;
    double abs_tolerance, rel_tolerance; /* both 0: bit for bit */
    size_t n_metrics;
    tt__metric metrics[TT__METRICS_MAX];
    int objective; /* the metric that is to be best; -1: the time */
    bool maximize;
    size_t n_shape; /* the variables that name a problem, as in 4096x8192; 0: all do, as in n=4096 */
    int shape[TT__SHAPE_MAX];
    size_t n_requires; /* what holds for every problem */
    tt__expr requires[TT__REQUIRES_MAX];
    bool moves;  /* reads each byte once and writes it once, and does nothing else: the cost model applies */
    int tile[3]; /* of the source that tiles are read from: rows, columns, leading dimension; -1: no tiles */
    size_t n_samples; /* ordinary problems, for which a template's default should be legal */
    tt__expr samples[TT__SAMPLES_OF_MAX]; /* "rows=4096 cols=4096" */
} tt__operation;

typedef struct tt__template {
    char *path;                /* for messages: "transpose_tiled.cu", or the user's path */
    char *source;              /* the whole file, and the headers it includes (template/include.h) */
    char hash[TT__HASH_SIZE];  /* of `source` */
    char kernel[TT__NAME_MAX]; /* of the first pass: the template's own name */
    char op[TT__NAME_MAX]; /* that it competes for; of a template with an operation of its own its own name */
    int op_line, op_column;
    size_t n_params;
    tt__param params[TT__PARAMS_MAX];
    size_t n_derived;
    tt__derived derived[TT__DERIVED_MAX];
    size_t n_wheres;
    tt__expr wheres[TT__WHERES_MAX];
    int n_passes;
    tt__symbols symbols; /* of the passes */
    tt__geometry_expr passes[TT__PASSES_MAX];
    int n_args;
    tt__arg_expr args[2 * TT__ARGS_MAX]; /* of all passes and of the reference */
    size_t n_options;
    char *options[TT__OPTIONS_MAX]; /* more of them for the compiler */
    tt__expr max_regs;              /* registers a thread may have; not given: as many as it likes */
    char default_config[TT__CONFIG_MAX];
    size_t n_defines; /* names of a built-in operation, whose file this is; 0: it is a template */
    char *defines[TT__SHAPE_MAX];
    tt__operation *own;             /* what it declares itself, or NULL */
    const tt__operation *operation; /* `own`, or that of its op */
} tt__template;

/* Parses the text of a template; `path` is for messages. TT_E_TEMPLATE says "path:line:column: what was
 * found, what was expected". Every expression is checked to compile and to use known names only, and the
 * default configuration to be legal for some ordinary problem on some ordinary GPU. */
tt_status tt__template_parse(tt__template **out, const char *path, const char *source);
/* The same of a text that may include headers from beside `path`. */
tt_status tt__template_parse_at(tt__template **out, const char *path, const char *source);
/* As above from a file: TT_E_IO if it cannot be read. */
tt_status tt__template_load(tt__template **out, const char *path);
void tt__template_free(tt__template **t);
/* How many there are in this process. */
size_t tt__templates_alive(void);

/* The templates built into the library: n texts, names and sources, in alphabetical order. */
typedef struct tt__builtin {
    const char *name; /* "transpose_tiled.cu" */
    const char *source;
    const char *hash; /* of the source, made when the library is; NULL: not made */
} tt__builtin;
extern const tt__builtin tt__builtins[];
extern const size_t tt__n_builtins;
/* Reads one of them. It passes all that tt__template_parse checks, or a test would have failed: so its
 * expressions are not tried again in every process that opens a context. */
tt_status tt__template_builtin(tt__template **out, const tt__builtin *builtin);

/* The built-in operation of that name ("transpose"), or NULL and the status: TT_E_INVALID if there is none.
 * It lives as long as the process. */
tt_status tt__operation_builtin(const tt__operation **out, const char *name);
/* The files that define them, as tt__builtins. */
extern const tt__builtin tt__ops[];
extern const size_t tt__n_ops;

/* The templates a run knows: the built-in ones and those of the user. */
typedef struct tt__template_set {
    size_t n;
    tt__template **items;
} tt__template_set;

/* Parses all built-in templates, then the files named; TT_E_INVALID if two have one kernel name. */
tt_status tt__template_set_open(tt__template_set *out, const char *const *paths, size_t n_paths);
/* Adds one, and takes it over, also on failure: TT_E_INVALID if there is one of its name. */
tt_status tt__template_set_add(tt__template_set *set, tt__template *t);
void tt__template_set_close(tt__template_set *set);
/* Is the problem one of the template's operation? Of a user's file that includes its text. */
bool tt__template_does(const tt__template *t, const tt__problem *p);
/* The first that does what the problem asks for, or NULL. */
const tt__template *tt__template_set_for(const tt__template_set *set, const tt__problem *p);
/* The template of that kernel name, or NULL. */
const tt__template *tt__template_set_find(const tt__template_set *set, const char *kernel);

/* Does it compete, if of each op for which `only` names templates (by kernel) no others
 * shall? n 0: all do. */
bool tt__template_competes(const tt__template_set *set, const tt__template *t, const char *const *only,
                           size_t n);
/* TT_E_INVALID if one of these names no template of the set. */
tt_status tt__template_set_check(const tt__template_set *set, const char *const *only, size_t n);

/* ---- The space: which configurations a problem on a GPU allows, and how each is launched -------------- */

typedef struct tt__candidate {
    const tt__template *t;            /* borrowed */
    char config[TT__CONFIG_MAX];      /* "TILE_DIM=32 BLOCK_ROWS=8", in the order of declaration */
    int64_t derived[TT__DERIVED_MAX]; /* what it makes of the problem it is for */
    int offset;                       /* tt__problem_offset of that */
    double weight; /* a time is worth so many times itself to the operation's objective; 1: the time is the
                      objective */
    tt__launch launch;
} tt__candidate;

typedef struct tt__space {
    size_t n;
    tt__candidate *items;
} tt__space; /* zero-initialise */

/* Appends all legal configurations of the template for this problem, the default first, then in the order
 * of declaration (first parameter slowest). Legal: every `where` holds (NULL does not), the block has at most
 * gpu->max_threads_per_block threads and is at most 1024 x 1024 x 64, dynamic shared memory fits
 * gpu->shared_per_block, the grid is within CUDA's limits (x < 2^31, y and z < 65536), and every i32 argument
 * fits 32 bits. A template of another op adds nothing. On failure the space stays as it was: TT_E_TEMPLATE if
 * the geometry of a configuration is nothing that can be launched (NULL, no integer, zero or negative), if
 * what is derived from it is no integer, or if the space is too large. */
tt_status tt__space_add(tt__space *space, const tt__template *t, const tt__gpu *gpu, const tt__problem *p);
/* Appends one that tt__space_resolve made. */
tt_status tt__space_append(tt__space *space, const tt__candidate *c);
void tt__space_free(tt__space *space);

/* The parts of a launch that can exceed a limit of the device or of CUDA. */
typedef enum tt__part {
    TT__PART_BLOCK,
    TT__PART_GRID,
    TT__PART_SHARED,
    TT__PART_ARGS,
    TT__PART_COUNT
} tt__part;

/* What makes a space as large as it is. */
typedef struct tt__survey {
    double combinations; /* of all values: more than can be counted one by one, perhaps */
    struct {
        size_t removed, alone; /* combinations for which it does not hold; for which all others do */
    } wheres[TT__WHERES_MAX];
    size_t beyond[TT__PART_COUNT]; /* of those for which all hold: by the part that exceeds a limit */
    size_t legal;
} tt__survey;

/* Goes through all combinations. TT_E_TEMPLATE as tt__space_add, and if they are too many to go through:
 * `combinations` is there then, too. */
tt_status tt__space_survey(tt__survey *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p);

/* The launch of one configuration for one problem. TT_E_UNSUPPORTED (and the constraint that says no) if it
 * is not legal there, TT_E_INVALID if the text is no configuration of the template. */
tt_status tt__space_resolve(tt__candidate *out, const tt__template *t, const tt__gpu *gpu,
                            const tt__problem *p, const char *config);

/* That of an operation's reference, which is compiled with the default configuration. Fails likewise. */
tt_status tt__space_reference(tt__candidate *out, const tt__operation *operation, const tt__gpu *gpu,
                              const tt__problem *p);

/* The compiler options that a configuration means for the problem it is for, "-DTILE_DIM=32" each, what is
 * derived and "-DELEM_SIZE=4"; frees with tt__str_free. The options stand one behind the other, each with its
 * NUL; *n counts them. Without a template (the checker): those of its configuration alone. */
tt_status tt__config_options(tt__str *out, int *n, const tt__candidate *c, const tt__problem *p);

/* May a file say this option to NVRTC? Only what says how code is made: nothing that reads or writes files,
 * makes something else than a cubin for this GPU, or takes the next word for its value. */
bool tt__option_allowed(const char *option, size_t n);

/* A configuration with all else that makes its cubin for a problem another one: the types of its variables,
 * and what is derived. Without a template, who knows only the configuration gets what it begins with. */
enum { TT__BUILD_MAX = TT__CONFIG_MAX + (TT__VARIABLES_MAX + TT__DERIVED_MAX) * (TT__NAME_MAX + 24) };
void tt__config_build(char out[TT__BUILD_MAX], const tt__candidate *c, const tt__problem *p);

#endif

/*
 * A kernel template: one annotated .cu file. Parsing it gives its parameters, constraints, geometry and, if
 * it declares one, its operation. docs/annotations.md is the reference of the annotations.
 *
 * A tt__template is immutable once parsed, and any thread may use it.
 */
#ifndef TT_KERNEL_MODEL_TEMPLATE_H
#define TT_KERNEL_MODEL_TEMPLATE_H

#include <stdatomic.h>

#include "base/hash.h"
#include "base/model.h"
#include "base/str.h"

enum {
    TT__PARAMS_MAX = 32,
    TT__VALUES_MAX = 256, /* per parameter; an index fits a byte */
    TT__WHERES_MAX = 32,
    TT__TYPES_MAX = 12, /* choices of one `type` */
    TT__SHAPE_MAX = 4,
    TT__REQUIRES_MAX = 8,
    TT__SAMPLES_OF_MAX = 8,
    TT__METRICS_MAX = 4,
    TT__OPTIONS_MAX = 16,
    TT__DERIVED_MAX = 12,
    TT__FIELDS_MAX = 128,
    TT__MAPS_MAX = 16,
    TT__FILE_MAX = 128,
    TT__CONFIGS_MAX = 65536, /* legal configurations of one template that are listed; of more, a sample */
    TT__SAMPLE_MAX = 8192,   /* its size */
    TT__REGS_MIN = 16,       /* that `maxrregcount` may say */
    TT__REGS_MAX = 255,
    TT__PROBLEM_TEXT_MAX = 320,
};

/* What an expression comes to. */
typedef enum tt__value_kind { TT__VALUE_NULL, TT__VALUE_INT, TT__VALUE_REAL, TT__VALUE_TEXT } tt__value_kind;

typedef struct tt__value {
    tt__value_kind kind;
    union {               /* NULL: i is 0 */
        int64_t i;        /* INT */
        double f;         /* REAL */
        const char *text; /* TEXT; it lives as long as the template */
    };
} tt__value;

static inline tt__value tt__value_null(void) {
    return (tt__value){TT__VALUE_NULL, {0}};
}
static inline tt__value tt__value_int(int64_t i) {
    return (tt__value){TT__VALUE_INT, {i}};
}
/* What is not a number is NULL. */
static inline tt__value tt__value_real(double f) {
    return f == f ? (tt__value){TT__VALUE_REAL, {.f = f}} : tt__value_null();
}
static inline tt__value tt__value_word(const char *text) {
    return (tt__value){TT__VALUE_TEXT, {.text = text}};
}
static inline bool tt__value_is_number(tt__value v) {
    return v.kind == TT__VALUE_INT || v.kind == TT__VALUE_REAL;
}
/* 0 if it is none. */
static inline double tt__value_number(tt__value v) {
    return v.kind == TT__VALUE_INT ? (double)v.i : v.kind == TT__VALUE_REAL ? v.f : 0;
}
/* Less than 0, 0, or more: the order of two values that are not NULL. */
int tt__value_compare(tt__value a, tt__value b);
/* The value for a message: "3", "0.5", "NULL (a division by zero?)". Returns out. */
char *tt__value_text(char out[TT__NAME_MAX], tt__value v);
/* Is it a condition that holds: a number other than 0? */
static inline bool tt__value_holds(tt__value v) {
    return v.kind == TT__VALUE_INT ? v.i != 0 : v.kind == TT__VALUE_REAL && v.f != 0;
}

/* An expression with SQL's operators, and its place, for messages. */
typedef struct tt__expr {
    char *text; /* NULL: not given */
    int line, column;
    uint32_t uses;               /* a bit for each parameter that it uses, also by `let` lines */
    const struct tt__code *code; /* kernel/expression/expr.h; NULL: not compiled, or not given */
} tt__expr;

typedef struct tt__param {
    char name[TT__NAME_MAX];
    int line, column;
    bool runtime;     /* a kernel argument only: all its values share one cubin */
    bool as_template; /* only in the template arguments of kernels, and no macro */
    size_t n_values;
    char **values;          /* as written: integers, or words that the kernel gets unchanged */
    const tt__value *typed; /* the same for expressions */
} tt__param;

/* A value that follows from the problem, the device and the parameters, and is not part of a configuration.
 * Wheres, launches and later derived values can use it. */
typedef struct tt__derived {
    char name[TT__NAME_MAX];
    bool macro;     /* true: `derived`; false: `let`, a name for expressions only */
    int column;     /* where its name is, in `line` */
    tt__expr value; /* an integer */
} tt__derived;

/* How one kernel is launched. */
typedef struct tt__geometry_expr {
    tt__expr block[3], grid[3]; /* missing dimensions are 1 */
    tt__expr cluster[3];        /* blocks of a cluster; the first is missing: as the code says */
    tt__expr shared;            /* dynamic shared memory in bytes; not given: 0 */
    tt__expr when, repeat;      /* missing: always, once */
    char turn[TT__NAME_MAX]; /* the number of a turn of `repeat`, which args may have; "": it has no name */
    tt__expr from, step;     /* of it; missing: 0, and 1 or what leaves it alone */
    tt__progress progress;
    bool joins; /* as in tt__pass */
    char swap[2][TT__NAME_MAX];
    int swap_of[2], swap_line; /* the operands of these names; line 0: there are none */
    int first_arg, n_args;     /* in the template's args */
    bool early;                /* as in tt__pass, if the device supports it */
    bool cooperative;          /* as in tt__pass */
    int line, column;          /* of its name in `kernel` or `reference`; line 0: none */
} tt__geometry_expr;

/* Kernels of the file that are launched beside those that are tuned. */
typedef enum tt__role { TT__REFERENCE, TT__VERIFY, TT__DATA, TT__ROLE_COUNT } tt__role;

/* "reference", "verify", "data"; static storage. */
extern const char *const tt__roles[TT__ROLE_COUNT];

typedef struct tt__aside {
    int n; /* launches; 0: there are none */
    tt__symbols symbols;
    tt__geometry_expr launches[TT__PASSES_MAX];
} tt__aside;

typedef struct tt__arg_expr {
    tt__type type;             /* TT__TYPE_NONE: an operand */
    bool by_value;             /* a struct or a vector: its fields, or permute_any.h if it has none */
    int first_field, n_fields; /* in the template's fields */
    int map;                   /* 1 + the index of a tensor map; 0: it is none */
    bool of_turn;              /* the number of the turn */
    int operand;               /* index in the operation's operands, or TT__OPERAND_ERROR */
    tt__expr value;            /* if it is an operand, its text is the operand's name */
} tt__arg_expr;

/* A number of a struct by value, or several that are the same, or an operand. */
typedef struct tt__struct_member {
    tt__type type;    /* TT__TYPE_NONE: the operand */
    int lanes, align; /* align: bytes, of the first */
    int operand;      /* `value` has its name */
    tt__expr value;
} tt__struct_member;

/* `tensormap`: a buffer as the tensor memory accelerator sees it. */
typedef struct tt__map_expr {
    char name[TT__NAME_MAX];
    tt__expr buffer; /* its name */
    int operand;
    int rank;
    tt__expr dims[TT__RANK_MAX], box[TT__RANK_MAX];
    tt__expr strides[TT__RANK_MAX], steps[TT__RANK_MAX]; /* not given: dense, and 1 */
    tt__expr swizzle, l2;                                /* bytes; not given: 0 */
    bool fills_nan;
} tt__map_expr;

/* ---- The operation: the computation and its data, without a kernel to tune ----------------------------- */

/* A variable of a problem: a number, or a type. */
typedef struct tt__variable {
    char name[TT__NAME_MAX];
    tt__expr value; /* its default, from variables before it; not given: every problem must set it */
    int least;      /* 1, or TT__NUMBER_LEAST for what is no size */
    size_t n_types; /* 0: a number */
    tt__type types[TT__TYPES_MAX]; /* the first is the default */
    double weight;                 /* adds so much to the distance of two problems per doubling */
    bool same;                     /* problems that differ in it use each other's winners only as a default */
} tt__variable;

/* How far a number may be off: all 0, not at all. */
typedef struct tt__tolerance {
    double abs, rel;
    double scale; /* of the root mean square of the right result */
    int line;     /* of its annotation; 0: none */
} tt__tolerance;

/* An argument that the caller gives to a launch: a buffer or a scalar. */
typedef struct tt__operand {
    char name[TT__NAME_MAX];
    bool scalar;
    tt__type type;
    int variable;   /* the variable that is its type; -1: `type` is */
    int lanes;      /* numbers of an element: 4 for f32x4 */
    tt__expr count; /* elements of a buffer */
    bool by_config; /* the length depends on parameters */
    bool filled;    /* a `data` kernel gets it */
    bool aside;     /* no tuned kernel gets it, so it is no argument of a plan */
    tt__direction direction;
    bool usual_init;           /* default for the type: mixed for floating point, otherwise random */
    tt__init init;             /* for in and inout */
    bool usual_bounds;         /* of sorted: none are given */
    tt__expr bounds[2];        /* of uniform and sorted, if they are no plain numbers: else low and high */
    double low, high;          /* for TT__INIT_UNIFORM; `low` is a scalar's value */
    tt__expr index;            /* for TT__INIT_INDEX: CUDA C++, of `i` and the problem's numbers */
    int from;                  /* for TT__INIT_COPY: the operand */
    char file[TT__FILE_MAX];   /* for TT__INIT_FILE: a file beside the template */
    char expect[TT__FILE_MAX]; /* a file beside the template with the expected result; "": the reference gives
                                  it */
    tt__tolerance tolerance;   /* of this operand, in place of the operation's */
} tt__operand;

typedef struct tt__metric {
    char name[TT__NAME_MAX];
    tt__expr value; /* of time_ns */
} tt__metric;

typedef struct tt__operation {
    const struct tt__template *t; /* the template that declares it */
    size_t n_variables;
    tt__variable variables[TT__VARIABLES_MAX];
    size_t n_operands;
    tt__operand operands[TT__OPERANDS_MAX];
    tt__aside asides[TT__ROLE_COUNT]; /* without reference and verify, the operands' files have the right
                                         results, or nothing is verified */
    bool per_config;                  /* the reference is launched for each configuration */
    bool by_default;                  /* the reference is the default configuration */
    double limit;                     /* of the error that `verify` finds */
    tt__tolerance tolerance;          /* of floating-point numbers */
    size_t n_metrics;
    tt__metric metrics[TT__METRICS_MAX];
    int objective; /* index of the metric to optimize; -1: the time */
    bool maximize;
    size_t n_shape; /* variables in the problem's short name, as in 4096x8192; 0: all, as in n=4096 */
    int shape[TT__SHAPE_MAX];
    size_t n_requires; /* constraints on every problem */
    tt__expr requires[TT__REQUIRES_MAX];
    bool macros; /* the code has the numbers of a problem as macros */
    bool moves;  /* reads and writes each byte once and does nothing else, so the cost model applies */
    char
        batch[TT__NAME_MAX]; /* the variable that counts rows, the outermost dimension of buffers; "": none */
    int tile[3];             /* for tiles read from the source: rows, columns, leading dimension; -1: none */
    tt__expr prefer;         /* names of templates: whose default comes first where nothing was measured */
    size_t n_samples;        /* ordinary problems; a template's default should be legal for them */
    tt__expr samples[TT__SAMPLES_OF_MAX]; /* "rows=4096 cols=4096" */
} tt__operation;

typedef struct tt__template {
    char *path;               /* for messages: "transpose_tiled.cu", or the user's path */
    char *source;             /* the whole file with its headers pasted in (kernel/annotation/include.h) */
    char hash[TT__HASH_SIZE]; /* of the tokens of `source`; of a built-in one of all its bytes */
    char hash_of_bytes[TT__HASH_SIZE]; /* which stores of earlier versions have; "" for a built-in one */
    char kernel[TT__NAME_MAX];         /* of the first pass; this is the template's name */
    char op[TT__NAME_MAX]; /* the operation it competes for; if it declares its own operation, the template's
                              name */
    int op_line, op_column;
    tt__expr config; /* of `default` */
    size_t n_params;
    tt__param params[TT__PARAMS_MAX];
    size_t n_derived;
    tt__derived derived[TT__DERIVED_MAX];
    size_t n_wheres;
    tt__expr wheres[TT__WHERES_MAX];
    int n_passes;
    tt__symbols symbols; /* kernel names of the passes */
    tt__geometry_expr passes[TT__PASSES_MAX];
    int n_args;
    tt__arg_expr args[(1 + TT__ROLE_COUNT) * TT__ARGS_MAX]; /* of all passes and asides */
    int n_fields;
    tt__struct_member fields[TT__FIELDS_MAX]; /* of args that are structs */
    size_t n_maps;
    tt__map_expr maps[TT__MAPS_MAX];
    size_t n_options;
    tt__expr
        options[TT__OPTIONS_MAX]; /* additional compiler options; {NAME} stands for a parameter's value */
    tt__expr max_regs;            /* limit on registers per thread; not given: none */
    char default_config[TT__CONFIG_MAX];
    size_t default_choice[TT__PARAMS_MAX]; /* the same: the index of each parameter's value */
    size_t n_defines; /* > 0: the file defines a built-in operation of these names, and is no template */
    char *defines[TT__SHAPE_MAX];
    bool sized_by_args; /* a struct has the problem's numbers, and no macro does: all problems share cubins */
    tt__operation *own; /* the operation that this file declares, or NULL */
    const tt__operation *operation;      /* `own`, or the one that `op` names */
    const struct tt__builtin *unread;    /* only path, hash, kernel and op are known; see tt__template_read */
    _Atomic(struct tt__template *) read; /* the whole of an unread one, once it was needed */
    size_t n_kept;
    void **kept; /* the memory behind all pointers above */
} tt__template;

/* Makes a template with nothing in it. Free with tt__template_free. */
tt_status tt__template_empty(tt__template **out);
/* Copies n characters. The copy lives as long as the template. */
tt_status tt__template_keep(tt__template *t, char **out, const char *text, size_t n);
/* Keeps memory from malloc as long as the template; frees it on failure. */
tt_status tt__template_keep_memory(tt__template *t, void *memory);
void tt__template_free(tt__template **t);
/* The parameter or the variable of this name (n characters), or NULL. `op` may be NULL. */
const tt__param *tt__template_param(const tt__template *t, const char *name, size_t n);
const tt__variable *tt__operation_variable(const tt__operation *op, const char *name, size_t n);
/* Where a launch of the template names the operand: as an argument, in a struct or in a tensor map. NULL: it
 * does not get it. */
const tt__expr *tt__template_gets(const tt__template *t, const tt__geometry_expr *g, int operand);
/* Does it get the operand, or change its place? */
bool tt__template_uses(const tt__template *t, const tt__geometry_expr *g, int operand);
/* Operand i of the template's own operation becomes operand to[i], wherever it is named. */
void tt__template_reorder(tt__template *t, const int *to);
/* The number of templates in this process. */
size_t tt__templates_alive(void);

/* A file that is built into the library. */
typedef struct tt__builtin {
    const char *name; /* "transpose_tiled.cu" */
    const char *source;
    const char *hash; /* SHA-256 of the source, computed at build time; NULL: not computed */
} tt__builtin;

#endif

/*
 * A problem: an operation, a value for each of its variables, and whether it is warm, in a graph or
 * unverified. It is plain data that can be copied and sent between processes of the same build.
 *
 * The operation says what its variables mean (kernel/space/operation.h). Only two names mean the same in all
 * operations: `elem_size` is the bytes of an element, and the arrays' addresses are multiples of `align`.
 */
#ifndef TT_BASE_PROBLEM_H
#define TT_BASE_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/sizes.h"
#include "base/str.h"
#include "base/type.h"

/* Of the numbers of problems. Most variables start at 1; 0 and -1 are for flags and the like. */
enum { TT__NUMBER_LEAST = -1 };

/* The value of a variable: a number of at least TT__NUMBER_LEAST, or an element type. */
typedef struct tt__setting {
    char name[TT__NAME_MAX];
    tt__type type; /* TT__TYPE_NONE: a number */
    int64_t number;
} tt__setting;

typedef struct tt__problem {
    char op[TT__NAME_MAX];    /* the operation's name */
    char text[TT__HASH_SIZE]; /* hash of the user's file that declares the operation; "" for a built-in one */
    bool warm;                /* the L2 cache may hold the arrays already */
    bool in_graph;            /* it is launched in CUDA graphs of many launches */
    bool unverified;          /* there is no reference to verify with */
    double moved_bytes; /* bytes read plus written, as the metric gbps counts them; 0: unknown. Not compared
                           by tt__problem_same */
    int n;
    tt__setting settings[TT__VARIABLES_MAX]; /* in the order of declaration */
} tt__problem;

/* Is its operation declared by a user's file? */
static inline bool tt__problem_is_users(const tt__problem *p) {
    return p->text[0] != '\0';
}
/* What to say after its name: "", ", warm", ", in a graph", ", warm, in a graph". Static storage. */
const char *tt__problem_regime(const tt__problem *p);
/* The regime is the same: both cold or warm, and both in graphs or not. */
static inline bool tt__problem_same_regime(const tt__problem *a, const tt__problem *b) {
    return a->warm == b->warm && a->in_graph == b->in_graph;
}
/* An order for qsort and bsearch; 0: they are the same problem. */
int tt__problem_compare(const void *a, const void *b);
static inline bool tt__problem_same(const tt__problem *a, const tt__problem *b) {
    return tt__problem_compare(a, b) == 0;
}
/* Is it a problem of this operation? `text` is "" for a built-in one. */
bool tt__problem_is_of(const tt__problem *p, const char *op, const char *text);
/* A hash of all that tt__problem_same compares. */
uint64_t tt__problem_hash(const tt__problem *p);

/* Compares 8 bytes at once: a look-up compares hundreds of names, most of them equal. */
static inline bool tt__same_name(const char a[static TT__NAME_MAX], const char b[static TT__NAME_MAX]) {
    const uint64_t ones = UINT64_MAX / 255;
    uint64_t x = ones, y = ones;
    for (size_t i = 0; i < TT__NAME_MAX && !((x - ones) & ~x & ones << 7); i += sizeof x) { /* no NUL yet */
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        if (x != y)
            return strcmp(a, b) == 0;
    }
    return true;
}
/* The setting of that name, or NULL. */
const tt__setting *tt__problem_setting(const tt__problem *p, const char *name);
/* The same if it is probably at place i. */
const tt__setting *tt__problem_setting_at(const tt__problem *p, size_t i,
                                          const char name[static TT__NAME_MAX]);
/* The number of that name, or `otherwise` if the problem has none. */
int64_t tt__problem_number(const tt__problem *p, const char *name, int64_t otherwise);
/* Changes the number of that name; adds it at the end if it is new. TT__VARIABLES_MAX must not be exceeded.
 */
void tt__problem_set(tt__problem *p, const char *name, int64_t number);
void tt__problem_set_type(tt__problem *p, const char *name, tt__type type);

/* The least number that a problem's variable of this name may have. Those of built-in operations are sizes.
 */
int64_t tt__problem_least(const tt__problem *p, const char *name);

/* A number on a scale on which two that are a doubling apart are 1 apart. 0 and -1 are one and two below 1.
 */
double tt__number_log(int64_t number);

/* GB/s (10^9 bytes); 0: unknown. */
double tt__problem_gbps(const tt__problem *p, double time_us);

/* Bytes of an element: `elem_size`, otherwise the size of the last type, otherwise 4. */
int tt__problem_elem_size(const tt__problem *p);
/* `align`, or 16 if the problem has none. */
int tt__problem_align(const tt__problem *p);

/* Appends all settings with `between` between them: "n=4096,T=f32". */
void tt__problem_add_settings(tt__str *out, const tt__problem *p, const char *between);
/* Reads what tt__problem_add_settings writes with a comma between; false if it is something else. */
bool tt__problem_take_settings(tt__problem *p, const char *text);
/* The value as text: "4096", "f32". Returns out. */
enum { TT__SETTING_TEXT_MAX = 24 };
const char *tt__setting_text(char out[TT__SETTING_TEXT_MAX], const tt__setting *s);

#endif

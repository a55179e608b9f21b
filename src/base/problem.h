/*
 * A problem: an operation, a value for each of its variables, and how it is asked for. Plain data: copied
 * freely, sent between processes of the same build as it is.
 *
 * What the variables mean is the operation's business (template/operation.h). Only two names mean something
 * to everybody: `elem_size`, the bytes of an element, and `align`, what the arrays' addresses are multiples
 * of.
 */
#ifndef TT_BASE_PROBLEM_H
#define TT_BASE_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/type.h"

/* The value of a variable: a number of at least 1, or an element type. */
typedef struct tt__setting {
    char name[TT__NAME_MAX];
    tt__type type; /* TT__TYPE_NONE: it is the number */
    int64_t number;
} tt__setting;

typedef struct tt__problem {
    char op[TT__NAME_MAX];    /* the operation's name */
    char text[TT__HASH_SIZE]; /* of an operation that a user's file declares: the hash of the file; else "" */
    bool warm;                /* the L2 cache may hold the arrays already */
    bool unverified;          /* no reference says what is right */
    double moved_bytes;       /* read plus written, what its metric gbps counts; 0: unknown. A fact about the
                                 problem, and no part of what tells it from others */
    int n;
    tt__setting settings[TT__VARIABLES_MAX]; /* in the order of declaration */
} tt__problem;

/* Does a user's file declare its operation? */
static inline bool tt__problem_is_users(const tt__problem *p) {
    return p->text[0] != '\0';
}
/* Are they the same problem? */
bool tt__problem_same(const tt__problem *a, const tt__problem *b);
/* Is it a problem of this operation? `text` is "" for a built-in one. */
bool tt__problem_is_of(const tt__problem *p, const char *op, const char *text);
/* A hash of all that tt__problem_same compares. */
uint64_t tt__problem_hash(const tt__problem *p);

/* The setting of that name, or NULL. */
const tt__setting *tt__problem_setting(const tt__problem *p, const char *name);
/* The number of that name, or `otherwise` if the problem has none. */
int64_t tt__problem_number(const tt__problem *p, const char *name, int64_t otherwise);
/* Changes the number of that name; adds it at the end if it is new. TT__VARIABLES_MAX must not be exceeded.
 */
void tt__problem_set(tt__problem *p, const char *name, int64_t number);
void tt__problem_set_type(tt__problem *p, const char *name, tt__type type);

/* GB/s of 10^9 bytes; 0: unknown. */
double tt__problem_gbps(const tt__problem *p, double time_us);

/* Bytes of an element: `elem_size`, else those of the last type, else 4. */
int tt__problem_elem_size(const tt__problem *p);
/* `align`, or else 16. */
int tt__problem_align(const tt__problem *p);

/* Appends "n=4096,T=f32": all settings, each `between` two. */
void tt__problem_add_settings(tt__str *out, const tt__problem *p, const char *between);
/* The value as text: "4096", "f32". Returns out. */
enum { TT__SETTING_TEXT_MAX = 24 };
const char *tt__setting_text(char out[TT__SETTING_TEXT_MAX], const tt__setting *s);

#endif

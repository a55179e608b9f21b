/*
 * Shared by all functions that read `//@` lines: the current position, and how to cut up a line.
 */
#ifndef TT_KERNEL_ANNOTATION_WORDS_H
#define TT_KERNEL_ANNOTATION_WORDS_H

#include "kernel/model/template.h"

typedef struct tt__slice {
    const char *at;
    size_t n;
} tt__slice;

typedef struct tt__reader {
    tt__template *t;
    int line;
    const char *line_start;
    const char *keyword;
    tt__geometry_expr *launch; /* the kernel that `block`, `grid`, `shared` and `args` belong to */
    const char *symbol;        /* its name */
} tt__reader;

/* A span as arguments of "%.*s", shortened for a message. */
#define TT__SHOW(s) ((int)((s).n > 60 ? 60 : (s).n)), (s).at
#define TT__READ_FAIL(r, where, ...)                                                                         \
    tt__template_fail((r)->t->path, (r)->line, tt__read_column(r, where), __VA_ARGS__)

static inline int tt__read_column(const tt__reader *r, const char *at) {
    return (int)(at - r->line_start) + 1;
}

bool tt__is_blank(char c);
tt__slice tt__trim(tt__slice s);
bool tt__slice_is(tt__slice s, const char *word);
/* Removes the first word from `rest`. */
tt__slice tt__take_word(tt__slice *rest);
/* The same, with the words behind it that belong to a type of C++, as in `long long n`. */
tt__slice tt__take_type(tt__slice *rest);
/* Removes the text before the next comma outside parentheses from `rest`. False after the last item. */
bool tt__take_item(tt__slice *item, tt__slice *rest);

/* Removes what stands before the first of `words` from `rest`, which then begins with that word. Returns its
 * index; `n`: none of them is there, and all of `rest` is before. */
size_t tt__take_until(tt__slice *before, tt__slice *rest, const char *const *words, size_t n);

tt_status tt__read_expr(tt__reader *r, tt__expr *out, tt__slice s);
/* Reads an identifier. The rest of the line is a remark. */
tt_status tt__read_name(tt__reader *r, char *out, size_t size, tt__slice rest);
/* A kernel: a name, or an instance of a template as in "ns::reduce<T, BLOCK>"; what follows is a remark.
 * `name` (TT__NAME_MAX) gets the plain name in it. */
tt_status tt__read_kernel(tt__reader *r, char symbol[TT__SYMBOL_MAX], char *name, tt__slice rest);
/* Reads a name that has no other meaning in expressions. */
tt_status tt__read_new_name(tt__reader *r, char *out, size_t size, tt__slice rest);

/* Takes the number of lanes off a type: f32x4 is four f32, as float4 or a struct has them. */
tt_status tt__take_lanes(tt__reader *r, tt__slice *word, int *lanes);

/* How often a keyword may appear. OF_LAUNCH: once for each kernel and the reference. */
typedef enum tt__times { TT__ONCE, TT__OF_LAUNCH, TT__OFTEN } tt__times;

/* DECLARES: it is optional. A file that has it declares its own operation, which is there when it is read. */
typedef enum tt__need { TT__OPTIONAL, TT__REQUIRED, TT__DECLARES } tt__need;

typedef struct tt__keyword {
    const char *word;
    tt_status (*read)(tt__reader *r, tt__slice rest);
    tt__times times;
    tt__need need;
    const char *form;
} tt__keyword;

enum { TT__KEYWORDS_MAX = 40 }; /* of a table */

#endif

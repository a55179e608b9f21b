/*
 * Just enough of C++ to tell code from comments and texts in quotes. Nothing is parsed: NVRTC compiles it.
 */
#ifndef TT_CODE_CXX_H
#define TT_CODE_CXX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Replaces comments by blanks. */
void tt__cxx_blank_comments(char *source);
/* Replaces comments and texts in quotes by blanks, and directives too. A condition (`#if`, `#endif`) becomes
 * a semicolon, because it ends what is before it. */
void tt__cxx_blank_all(char *source);

/* Appends what a compiler sees of the text, for a hash: its tokens, and annotations (`//@ ...`) as they are.
 * Other comments, white space and `#line` do not count, except in a text that uses __LINE__ or __FILE__, of
 * which all counts. Texts that a compiler sees differently never give the same. */
void tt__cxx_tokens(tt__str *out, const char *source);

/* What a line begins in. */
typedef enum tt__cxx_inside {
    TT__CXX_CODE,
    TT__CXX_COMMENT, /* one of several lines */
    TT__CXX_RAW_TEXT,
    TT__CXX_CONTINUED, /* the line before ends with a backslash */
} tt__cxx_inside;

/* Goes through the lines of a text. Zero-initialise, then set `source`. */
typedef struct tt__cxx_lines {
    const char *source;
    const char *at; /* this line, without its '\n' */
    size_t n;
    int number;
    tt__cxx_inside inside;
    int since;           /* the line in which that begins, if it is not CODE */
    const char *comment; /* the // comment that begins in this line, or NULL */
    /* The same of the next line, and what is known to be apart. */
    tt__cxx_inside next_inside;
    int next_since;
    const char *scanned;
} tt__cxx_lines;

/* False after the last line. */
bool tt__cxx_next_line(tt__cxx_lines *l);

#endif

/* What reads the `//@` lines of a template shares: where it is, and how it cuts a line up. */
#ifndef TT_TEMPLATE_READER_H
#define TT_TEMPLATE_READER_H

#include "template/template.h"

#define TT__COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct tt__span {
    const char *at;
    size_t n;
} tt__span;

typedef struct tt__reader {
    tt__template *t;
    tt__expr *config; /* the text of `default` */
    int line;
    const char *line_start;
    const char *keyword;
    tt__geometry_expr *launch; /* that `block`, `grid`, `shared` and `args` are about */
} tt__reader;

/* A span for "%.*s", cut where it gets too long for a message. */
#define TT__SHOW(s) ((int)((s).n > 60 ? 60 : (s).n)), (s).at
#define TT__READ_FAIL(r, where, ...)                                                                         \
    tt__template_fail((r)->t->path, (r)->line, tt__read_column(r, where), __VA_ARGS__)

static inline int tt__read_column(const tt__reader *r, const char *at) {
    return (int)(at - r->line_start) + 1;
}

tt__span tt__trim(tt__span s);
bool tt__span_is(tt__span s, const char *word);
/* Takes the first word off `rest`. */
tt__span tt__take_word(tt__span *rest);
/* Takes what stands in front of the next comma outside parentheses off `rest`; false after the last. */
bool tt__take_item(tt__span *item, tt__span *rest);

tt_status tt__span_copy(char **out, tt__span s);
tt_status tt__read_expr(tt__reader *r, tt__expr *out, tt__span s);
/* An identifier; what follows it on the line is a remark. */
tt_status tt__read_name(tt__reader *r, char *out, size_t size, tt__span rest);
/* A number, all of the span. */
tt_status tt__read_number(tt__reader *r, double *out, tt__span s);
/* A name that expressions do not use otherwise. */
tt_status tt__read_new_name(tt__reader *r, char *out, size_t size, tt__span rest);

/* ---- Keywords of an operation (annotation_operation.c) ---- */

tt_status tt__read_problem(tt__reader *r, tt__span rest);
tt_status tt__read_type(tt__reader *r, tt__span rest);
tt_status tt__read_buffer(tt__reader *r, tt__span rest);
tt_status tt__read_scalar(tt__reader *r, tt__span rest);
tt_status tt__read_reference(tt__reader *r, tt__span rest);
tt_status tt__read_expect(tt__reader *r, tt__span rest);
tt_status tt__read_tolerance(tt__reader *r, tt__span rest);
tt_status tt__read_metric(tt__reader *r, tt__span rest);
tt_status tt__read_objective(tt__reader *r, tt__span rest);
tt_status tt__read_require(tt__reader *r, tt__span rest);
tt_status tt__read_shape(tt__reader *r, tt__span rest);
tt_status tt__read_near(tt__reader *r, tt__span rest);
tt_status tt__read_moves(tt__reader *r, tt__span rest);
tt_status tt__read_sample(tt__reader *r, tt__span rest);

/* After the last line: what an operation needs is there, and names of operands become their
 * numbers. TT_E_TEMPLATE. */
tt_status tt__operation_finish(tt__template *t);

#endif

/* What the files share that make a T1 file a kernel file: how far that is. */
#ifndef TT_TUNER_T1_CONVERT_H
#define TT_TUNER_T1_CONVERT_H

#include "template/template.h"
#include "tuner/t1/python.h"
#include "tuner/t1/t1.h"

enum { TT__T1_SCOPE_MAX = TT__T1_PARAMS_MAX + 1 };

typedef struct tt__t1_values {
    const char *name;
    bool folded; /* has one value, and is a macro of the text instead of a parameter */
    size_t n, wanted;
    const char **values; /* in the arena */
} tt__t1_values;

typedef struct tt__t1_work {
    const tt__t1 *t1;
    const char *path;
    tt__py_arena arena;
    size_t n_params;
    tt__t1_values params[TT__T1_PARAMS_MAX];
    size_t n_names;
    tt__py_name names[TT__T1_SCOPE_MAX]; /* of conditions and launches */
    tt__py_name lists[TT__T1_SCOPE_MAX]; /* of lengths: a parameter is the list of its values */
    tt__py problem[3];
    size_t n_problem;
    const char *operands[TT__OPERANDS_MAX];
    size_t n_operands;
    tt__str body;   /* annotations: operands, parameters, ... */
    tt__str *notes; /* a sentence a line */
} tt__t1_work;

/* The last error with the file's name and the place in front. */
tt_status tt__t1_at(const tt__t1_work *w, tt_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void tt__t1_note(tt__str *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- space.c ---- */

/* Parameters and the problem's size, so that their names are known; then what they say in annotations. */
tt_status tt__t1_params(tt__t1_work *w);
tt_status tt__t1_problem(tt__t1_work *w);
tt_status tt__t1_write_params(tt__t1_work *w);
tt_status tt__t1_write_conditions(tt__t1_work *w);
bool tt__t1_has(const tt__t1_work *w, const char *param);

/* ---- launch.c, operands.c ---- */

tt_status tt__t1_write_launch(tt__t1_work *w);
tt_status tt__t1_write_options(tt__t1_work *w);
tt_status tt__t1_write_operands(tt__t1_work *w);

#endif

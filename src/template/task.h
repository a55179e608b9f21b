/*
 * Problems of a task: from text to values and back, and what a problem works on, as it lies in memory.
 */
#ifndef TT_TEMPLATE_TASK_H
#define TT_TEMPLATE_TASK_H

#include "base/workload.h"
#include "template/template.h"

/* A problem of the template's own task from "n=4096,T=f32" (also with blanks for commas; what is not named
 * gets its default; NULL or "": all do; the word warm asks for the regime). TT_E_INVALID says which word is
 * wrong. */
tt_status tt__task_problem(tt__problem *out, const tt__template *t, const char *text);

/* The buffers and the reference of a problem on a GPU. TT_E_TEMPLATE if a length or the reference's geometry
 * is nothing that can be, TT_E_UNSUPPORTED if the reference cannot be launched. */
tt_status tt__workload_of(tt__workload *out, const tt__template *t, const tt__gpu *gpu, const tt__problem *p);

/* A metric of a configuration (NULL: the default one), for a time; 0 if it comes to
 * nothing that is a number. */
tt_status tt__metric_value(double *out, const tt__template *t, size_t metric, const tt__gpu *gpu,
                           const tt__problem *p, const char *config, double time_us);

/* The copy of as many bytes as a problem moves: what it is compared with. Of a task of its own that is what
 * its metric `gbps` says; without one *has is false. *part is the problem's bytes as a part of the copy's,
 * nearly 1. */
tt_status tt__task_copy(tt__problem *out, double *part, bool *has, const tt__template *t, const tt__gpu *gpu,
                        const tt__problem *p);

/* Does a reference, or a file, say what is right? */
bool tt__task_verifies(const tt__task *task);

/* The metric of that name, or -1. */
int tt__metric_named(const tt__task *task, const char *name);

#endif

/* A T1 file (db/t1.h) as a kernel file of ours: its annotations, then the kernel's own text. */
#ifndef TT_TUNER_T1_T1_H
#define TT_TUNER_T1_T1_H

#include "db/t1.h"

/* Appends the kernel file. `path` names the T1 file in messages, `source` is the text of its KernelFile.
 * `notes` gets a sentence a line for what could not be taken over; they stand in the file as well. What comes
 * out passes tt__template_parse. TT_E_INVALID names the file, the member and what is wrong with it. */
tt_status tt__t1_convert(tt__str *out, tt__str *notes, const tt__t1 *t1, const char *path,
                         const char *source);

/* TT_E_INVALID unless it is about a CUDA kernel that is no C++ template: to be asked before its file is
 * opened. */
tt_status tt__t1_check_kernel(const tt__t1 *t1, const char *path);

/* Appends the kernel's text as a template needs it: extern "C", without annotations. TT_E_INVALID has a
 * sentence about it. */
tt_status tt__t1_source(tt__str *out, tt__str *notes, const char *source, const char *kernel);

#endif

/*
 * Writes recordings: the trials of a GPU as T4 JSON, or as a cache file of Kernel Tuner.
 */
#ifndef TT_DB_EXCHANGE_EXPORT_H
#define TT_DB_EXCHANGE_EXPORT_H

#include "db/store.h"

/* Which trials of a GPU: NULL is all. Borrowed. */
typedef struct tt__recording_part {
    const char *op, *kernel;
    const tt__problem *problem;
} tt__recording_part;
/* Appends trials of one GPU as T4 JSON: the newest ones of both stages, in the newest environment. For
 * each kernel they are of its newest text, and for each problem the finals are of one run. Replayed trials
 * are used only if there are no others. `commit` names the source revision ("" if unknown). `part` NULL: all
 * trials. After a failure, ignore what was appended. TT_E_NO_WINNER: the store has none. */
tt_status tt__recording_export(tt__store *s, int64_t gpu_id, const tt__recording_part *part,
                               const char *commit, tt__str *out);
/* Appends the same trials as a cache file of Kernel Tuner 1.x, one for each configuration: that of the
 * screening, because all of those were measured alike. TT_E_INVALID: they are not of one kernel and one
 * problem. */
tt_status tt__recording_export_cache(tt__store *s, int64_t gpu_id, const tt__recording_part *part,
                                     tt__str *out);

/* Appends the path of a recording in the folder of the file `beside` that lists the problem, on a GPU of that
 * name. Nothing is appended if there is none. It reads only the heads of files. */
void tt__recording_find(tt__str *out, const char *beside, const tt__gpu *gpu, const tt__problem *p);

#endif

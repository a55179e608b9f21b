/*
 * What the stores and the library know, in memory: all winners and rules of all layers, and which problems a
 * store has.
 * A look-up of a new problem asks no SQL and waits for nobody.
 *
 * Knowledge is an immutable snapshot. It is read when a problem is first asked for that no store has, and
 * again when a store has changed: at most once a second, and seldom enough to take a twentieth of the time.
 * The thread that notices reads it, while others go on with the previous one.
 */
#ifndef TT_DISPATCH_SNAPSHOT_H
#define TT_DISPATCH_SNAPSHOT_H

#include "base/rule.h"
#include "dispatch/store_layers.h"

typedef struct tt__snapshot tt__snapshot;
typedef struct tt__knowledge tt__knowledge; /* of a context */

tt_status tt__knowledge_open(tt__knowledge **out);
void tt__knowledge_close(tt__knowledge *knowledge);

/* The snapshot of now, to be released; NULL if none was read yet. Locks as tt__knowledge_read. */
const tt__snapshot *tt__knowledge_now(tt_ctx *ctx);
/* The same, but reads one if there is none. Takes ctx->lock for that. */
tt_status tt__knowledge_read(const tt__snapshot **out, tt_ctx *ctx);
void tt__knowledge_release(tt_ctx *ctx, const tt__snapshot *known);
/* Reads it again, because this context has changed its store. */
void tt__knowledge_forget(tt_ctx *ctx);

/* The context's GPU: the one that tt_open named, or that of the current CUDA context. */
tt_status tt__knowledge_gpu(tt_ctx *ctx, tt__gpu *gpu);

/* ---- Answers of before, in a table of fixed size ----------------------------------------------------- */

/* *number is that of the knowledge, for tt__knowledge_note. False: nothing is noted. */
bool tt__knowledge_noted(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, tt_choice *out,
                         uint64_t *number);
/* The second time that a problem is asked for, since most are asked for once. May replace another answer.
 * Does nothing if memory is short. */
void tt__knowledge_note(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, const tt_choice *choice,
                        uint64_t number);

/* ---- A snapshot -------------------------------------------------------------------------------------- */

/* A bit for each layer that has the problem, and whose store may have trials of it. */
unsigned tt__snapshot_layers(const tt__snapshot *known, const tt__problem *p);
/* The winner of the very problem on this GPU in a layer. */
bool tt__snapshot_winner(const tt__snapshot *known, tt__layer layer, const tt__gpu *gpu, const tt__problem *p,
                         tt__winner *out);

/* The first layer's rule for such problems on this GPU, or on `another` one of its architecture, whose name
 * is *of. NULL: there is none. It lives as long as the snapshot. */
const tt__tuning_rule *tt__snapshot_rule(tt__layer *layer, const char **of, const tt__snapshot *known,
                                         const tt__gpu *gpu, bool another, const tt__problem *p);

typedef struct tt__lead {
    double distance; /* tt__operation_distance, plus a distance for another GPU or regime */
    uint32_t winner;
    tt__layer layer;
    bool here; /* measured on this GPU */
} tt__lead;
enum { TT__LEADS_MAX = 64 };

/* Finds the nearest winners of a problem's operation, within a distance: nearest first, then in the order of
 * layers and stores. `anything` includes winners of other architectures and regimes, and of problems that
 * differ in a variable declared `same`. Returns how many.
 *
 * It looks at no more than some 30,000 winners, those whose first number is nearest. */
size_t tt__snapshot_near(tt__lead leads[TT__LEADS_MAX], const tt__snapshot *known, const tt__operation *op,
                         const tt__gpu *gpu, const tt__problem *p, bool anything, double within);
/* The winner of a lead. What ranks no winner, such as figures of the copy, is 0. */
void tt__snapshot_fetch(const tt__snapshot *known, const tt__lead *lead, tt__winner *out);

#endif

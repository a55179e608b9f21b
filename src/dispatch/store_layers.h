/*
 * The sources of answers, in order: the user's store, the system store, and winners that ship with the
 * library. Only the first is ever written. Says also whether a stored winner is still valid.
 */
#ifndef TT_DISPATCH_STORE_LAYERS_H
#define TT_DISPATCH_STORE_LAYERS_H

#include "db/store.h"
#include "dispatch/context.h"
#include "kernel/load/builtin.h"
#include "kernel/space/space.h"

typedef enum tt__layer { TT__LAYER_USER, TT__LAYER_SYSTEM, TT__LAYER_SHIPPED, TT__LAYER_COUNT } tt__layer;

/* "user", "system", "shipped"; static storage. */
extern const char *const tt__layer_names[TT__LAYER_COUNT];
/* The store of a layer; NULL if it has none. Borrowed. */
tt__store *tt__layer_store(const tt_ctx *ctx, tt__layer layer);

/* The path of the system store, "" if there is none, and whether the environment names it. */
tt_status tt__system_path(tt__str *out, bool *named);
/* Opens the system store read-only. NULL if there is none. A store that cannot be used is an error only if
 * the environment names it; `tune doctor` reports it in any case. */
tt_status tt__system_open(tt__store **out);

/* The lowest layer: winners and rules that come with the library, made from recordings/ when it is built. */
extern const tt__winner tt__shipped[];
extern const size_t tt__n_shipped;

typedef struct tt__shipped_rule {
    tt__gpu gpu;
    const char *text; /* base/rule.h */
} tt__shipped_rule;
extern const tt__shipped_rule tt__shipped_rules[];
extern const size_t tt__n_shipped_rules;

/* Compiled kernels that come with the library, for problems that nobody has tuned (tools/cubins.c). A program
 * that links the static library has none. */
typedef struct tt__shipped_cubin {
    const char *hash, *build; /* of the template; tt__config_build */
    int cc, elem_size;
    size_t at, packed_bytes, bytes; /* in tt__shipped_code, by zlib */
} tt__shipped_cubin;
extern const tt__shipped_cubin tt__shipped_cubins[];
extern const size_t tt__n_shipped_cubins;
extern const unsigned char tt__shipped_code[];

/* Appends the names of the GPUs whose winners ship: "NVIDIA H200, NVIDIA H100", or "none". */
void tt__shipped_names(tt__str *out);

/* The shipped winner of the very problem on this GPU. False: there is none. */
bool tt__shipped_winner(const tt__gpu *gpu, const tt__problem *p, tt__winner *out);

/* tt__store_find_gpu in the first layer that knows the name. gpu_id is its id in the user's store, or -1.
 * TT_E_INVALID: *gpu is one of several that match, or all zeros. */
tt_status tt__layers_find_gpu(tt_ctx *ctx, const char *name, tt__gpu *gpu, int64_t *gpu_id);
/* The same without a context. A store that is not there is NULL. */
tt_status tt__stores_find_gpu(tt__store *user, tt__store *system, const char *name, tt__gpu *gpu,
                              int64_t *gpu_id);

/* Appends the cubin of a configuration's last measurement, from the first layer that has it. */
tt_status tt__layers_cubin(tt_ctx *ctx, const tt__gpu *gpu, const tt__problem *p, const tt__configuration *c,
                           tt__str *out, bool *found);
/* Appends a cubin that comes with the library; nothing if it is damaged. And that of a configuration; nothing
 * if there is none. */
tt_status tt__shipped_unpack(tt__str *out, const tt__shipped_cubin *s);
tt_status tt__shipped_find(const tt__gpu *gpu, const tt__problem *p, const tt__configuration *c,
                           tt__str *out);

/*
 * Writes why the winner is stale, or "" if it is valid. The GPU and the problem were compared by the look-up.
 * Compared here are the template's text, the measuring method, the driver and NVRTC. `driver` and `nvrtc` are
 * those of the machine that has the winner's GPU; NULL or "" are not compared. Give `nvrtc` only if the
 * measured cubin is gone.
 */
void tt__winner_staleness(char *why, size_t size, const tt__winner *w, const tt__template_set *templates,
                          const char *driver, const char *nvrtc);

#endif

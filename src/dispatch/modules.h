/*
 * The loaded code of plans. Plans whose machine code is the same share one library of the driver, so the
 * number of libraries does not grow with the number of shapes.
 */
#ifndef TT_DISPATCH_MODULES_H
#define TT_DISPATCH_MODULES_H

#include "gpu/kernel.h"
#include "kernel/space/config.h"

typedef struct tt__modules tt__modules; /* of a context; lives until its last module is gone, too */
typedef struct tt__module tt__module;

/* What machine code depends on. */
typedef struct tt__module_key {
    const tt__template *t;
    int cc, elem_size;
    char build[TT__BUILD_MAX];
} tt__module_key;

tt_status tt__modules_open(tt__modules **out);
/* Unloads what is pinned. What plans still use stays until they are freed. */
void tt__modules_close(tt__modules *all);

/* The code for one more user, in the current CUDA context and for this launch. *out is NULL if it is not
 * loaded. From any thread. */
tt_status tt__module_find(tt__module **out, tt__kernel *kernel, tt__modules *all, const tt__module_key *key,
                          const tt__driver *cu, const tt__launch *launch);
/* Takes loaded code over, for one user. With `key` NULL it is never found, because its user changes it. On
 * failure it is unloaded. */
tt_status tt__module_add(tt__module **out, tt__modules *all, const tt__module_key *key, const tt__driver *cu,
                         tt__kernel *loaded);
/* Keeps it loaded until tt__modules_close. */
void tt__module_pin(tt__module *module);
/* The last user unloads it. From any thread, also after tt__modules_close. */
void tt__module_release(tt__module *module);

#endif

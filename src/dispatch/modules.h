/*
 * The loaded code of plans. Plans whose machine code is the same share a module, so the number of modules
 * does not grow with the number of shapes. A context's modules outlive it, because plans of the caller do.
 * Any thread may call any function.
 */
#ifndef TT_DISPATCH_MODULES_H
#define TT_DISPATCH_MODULES_H

#include "gpu/kernel.h"
#include "kernel/model/template.h"
#include "kernel/space/config.h"

typedef struct tt__modules tt__modules; /* of a context; lives until its last module is gone, too */
typedef struct tt__module tt__module;

tt_status tt__modules_open(tt__modules **out);
/* Unloads what is pinned. What plans still use stays until they are freed. */
void tt__modules_close(tt__modules *all);

/* What machine code depends on. */
typedef struct tt__module_key {
    const tt__template *t;
    int cc, elem_size;
    char build[TT__BUILD_MAX];
} tt__module_key;

/* The code for one more user, in the current CUDA context and for this launch. *out is NULL if it is not
 * loaded. */
tt_status tt__module_find(tt__module **out, tt__kernel *kernel, tt__modules *all, const tt__module_key *key,
                          const tt__driver *cu, const tt__launch *launch);
/* Takes loaded code over, for one user. If another thread has added the same meanwhile, it is unloaded, and
 * *loaded becomes the other. With `key` NULL it is never found, because its user changes it. On failure it is
 * unloaded. */
tt_status tt__module_add(tt__module **out, tt__modules *all, const tt__module_key *key, const tt__driver *cu,
                         const tt__launch *launch, tt__kernel *loaded);
/* The last user unloads it. From any thread, also after tt__modules_close. NULL is nothing. */
void tt__module_release(tt__module *m);
/* Keeps it loaded until tt__modules_close. */
void tt__module_pin(tt__module *m);

/* A thread that compiles. */
typedef struct tt__module_maker {
    const tt__module_key *key;
    uint64_t number;
    struct tt__module_maker *next;
} tt__module_maker;

/* Until tt__module_compile_end those who want to compile this code, too, wait. If it fails, all of them try
 * at once. Meanwhile the thread takes no lock that one of them may hold. */
void tt__module_compile_begin(tt__modules *all, tt__module_maker *me);
void tt__module_compile_end(tt__modules *all, const tt__module_maker *me);

/* Kernels of which a new shape may get any. */
typedef struct tt__module_family {
    int cc, elem_size;
    char op[TT__NAME_MAX];
} tt__module_family;

/* Is it the first time that the family is asked for? */
bool tt__modules_is_first(tt__modules *all, const tt__module_family *f);

#endif

/* Compares what the driver or a cubin says about a kernel with its launch. */
#include "gpu/fit.h"

#include "code/cubin.h"

static const char advice[] = "make `args` name what the kernel takes, in its order";

tt_status tt__fit_parameter(const char *kernel, const tt__launch *launch, int pass, size_t i, size_t bytes) {
    const tt__pass *p = &launch->passes[pass];
    const tt__arg *a = i < (size_t)p->n_args ? &launch->args[p->first_arg + (int)i] : NULL;
    if (!a || bytes == (size_t)a->bytes)
        return TT_OK;
    return tt__fail(TT_E_TEMPLATE,
                    "parameter %zu of %s has %zu bytes, but item %zu of its `args`%s%s%s has %d: %s", i + 1,
                    kernel, bytes, i + 1, a->type == TT__TYPE_NONE ? "" : " (",
                    a->made == TT__MADE_MAP ? "tensormap"
                    : a->by_value           ? "struct"
                                            : tt__types[a->type].name,
                    a->type == TT__TYPE_NONE ? "" : ")", a->bytes, advice);
}

tt_status tt__fit_count(const char *kernel, const tt__launch *launch, int pass, size_t n) {
    int wanted = launch->passes[pass].n_args;
    if (n == (size_t)wanted)
        return TT_OK;
    return tt__fail(TT_E_TEMPLATE, "%s has %zu parameter%s, but its `args` has %d item%s: %s", kernel, n,
                    n == 1 ? "" : "s", wanted, wanted == 1 ? "" : "s", advice);
}

tt_status tt__fit_constant(const char *name, size_t has, size_t bytes) {
    return has == bytes
               ? TT_OK
               : tt__fail(TT_E_TEMPLATE,
                          "the constant %s has %zu bytes in the code, but its line says %zu: make the "
                          "array as long as the line says",
                          name, has, bytes);
}

static tt_status fit_block(const tt__cubin_entry *e, const char *kernel, const unsigned block[3]) {
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    bool exact = e->block[0] && memcmp(e->block, block, sizeof e->block) != 0;
    if (exact)
        return tt__fail(TT_E_TEMPLATE, "a block of %s is %ux%ux%u, but __block_size__ allows only %ux%ux%u",
                        kernel, block[0], block[1], block[2], e->block[0], e->block[1], e->block[2]);
    if (e->max_threads && threads > e->max_threads)
        return tt__fail(TT_E_TEMPLATE,
                        "a block of %s has %llu threads, but __launch_bounds__ allows only %llu", kernel,
                        (unsigned long long)threads, (unsigned long long)e->max_threads);
    return TT_OK;
}

tt_status tt__fit_cluster(const char *kernel, const tt__launch *launch, int pass, const unsigned has[3]) {
    const tt__pass *p = &launch->passes[pass];
    for (int i = 0; i < 3 && has[0]; i++) {
        if (p->cluster[0] && p->cluster[i] != has[i])
            return tt__fail(
                TT_E_TEMPLATE,
                "`cluster` of %s is %u, %u, %u, but __cluster_dims__ in its code says %u, %u, %u: "
                "take one of the two away",
                kernel, p->cluster[0], p->cluster[1], p->cluster[2], has[0], has[1], has[2]);
        if (has[i] && p->grid[i] % has[i])
            return tt__fail(
                TT_E_TEMPLATE,
                "a grid of %s has %ux%ux%u blocks, which is no multiple of its clusters of "
                "%ux%ux%u (__cluster_dims__): round `grid` up, as in 4 * ceil_div(n, 4 * THREADS)",
                kernel, p->grid[0], p->grid[1], p->grid[2], has[0], has[1], has[2]);
    }
    return TT_OK;
}

tt_status tt__fit_cubin(const void *cubin, size_t size, const char *kernel, const tt__launch *launch,
                        int pass) {
    tt__cubin_entry e;
    tt_status status = tt__cubin_entry_read(&e, cubin, size, kernel);
    if (status != TT_OK)
        return status == TT_E_UNSUPPORTED ? TT_OK : status;
    for (int i = 0; i < e.n_parameters && i < TT__ARGS_MAX; i++)
        TT_TRY(tt__fit_parameter(kernel, launch, pass, (size_t)i, e.parameter_bytes[i]));
    if (e.n_parameters >= 0)
        TT_TRY(tt__fit_count(kernel, launch, pass, (size_t)e.n_parameters));
    TT_TRY(tt__fit_cluster(kernel, launch, pass, e.cluster));
    return fit_block(&e, kernel, launch->passes[pass].block);
}

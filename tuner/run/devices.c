/*
 * Sorts the devices of a run by kind. Identical GPUs share one search.
 */
#include "tuner/run/devices.h"

#include "base/str.h"
#include "gpu/device.h"
#include "gpu/nvml.h"

static tt_status check(const tt_tune_opts *opts) {
    if (opts->n_devices > TT__GPUS_MAX)
        return tt__fail(TT_E_INVALID, "%zu devices: at most %d take part in one run", opts->n_devices,
                        TT__GPUS_MAX);
    if (opts->n_devices && !opts->devices)
        return tt__fail(TT_E_INVALID, "devices is NULL, but n_devices is %zu", opts->n_devices);
    for (size_t i = 0; i < opts->n_devices; i++)
        for (size_t k = 0; k < i; k++)
            if (opts->devices[i] == opts->devices[k])
                return tt__fail(TT_E_INVALID, "device %d is named twice: name each once", opts->devices[i]);
    return TT_OK;
}

static tt_status add(tt__devices *d, const tt__gpu *gpu, int ordinal) {
    size_t kind = 0;
    while (kind < d->n_kinds && !tt__same_gpu(&d->kinds[kind].gpu, gpu))
        kind++;
    if (kind == TT__KINDS_MAX)
        return tt__fail(TT_E_INVALID, "more than %d kinds of GPU: name fewer devices", TT__KINDS_MAX);
    if (kind == d->n_kinds)
        d->kinds[d->n_kinds++].gpu = *gpu;
    d->kinds[kind].ordinals[d->kinds[kind].n++] = ordinal;
    return TT_OK;
}

/* NVML is asked first, because CUDA takes long to start. Each worker checks that its GPU is like the others.
 */
static bool are_alike(const tt_tune_opts *opts) {
    const int n = tt__nvml_alike();
    bool are = true;
    for (size_t i = 0; i < opts->n_devices; i++)
        are &= opts->devices[i] >= 0 && opts->devices[i] < n;
    return are;
}

tt_status tt__devices_of(tt__devices *out, const tt_tune_opts *opts) {
    tt_status status = TT_OK;
    char line[512];
    *out = (tt__devices){.n_kinds = 0};
    TT_TRY(check(opts));
    if (opts->replay || opts->n_devices < 2)
        return add(out, &(tt__gpu){.cc = 0}, opts->n_devices ? opts->devices[0] : opts->device);
    const bool alike = are_alike(opts);
    for (size_t i = 0; i < opts->n_devices; i++) {
        tt__gpu gpu = {.cc = 0};
        tt_status found = alike ? TT_OK : tt__device_gpu(&gpu, opts->devices[i]);
        if (found == TT_OK) {
            TT_TRY(add(out, &gpu, opts->devices[i]));
            continue;
        }
        status = found;
        if (found != TT_E_CUDA) /* there is no such device, or no driver */
            return found;
        tt__format(line, sizeof line, "device %d is left out: %s", opts->devices[i], tt_last_error());
        if (opts->on_message)
            opts->on_message(opts->user, line);
    }
    return out->n_kinds ? TT_OK : status;
}

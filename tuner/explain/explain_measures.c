/* See the header. */
#include "tuner/explain/explain_measures.h"

#include <math.h>

#include "tuner/explain/occupancy.h"

enum { SECTOR_BYTES = 32 };

double tt__m_c(const tt__explain_facts *f, tt__counter i) {
    double v = f->counted.values[i];
    return isfinite(v) ? v : 0;
}

double tt__m_part(double a, double b) {
    return b > 0 ? a / b : 0;
}

double tt__m_clamp(double x) {
    return x < 0 || !isfinite(x) ? 0 : x > 1 ? 1 : x;
}

double tt__m_waits(const tt__explain_facts *f, tt__counter stall) {
    double all = 0;
    for (int i = TT__C_STALL_BARRIER; i < TT__COUNTER_COUNT; i++)
        all += i == TT__C_STALL_NOT_SELECTED ? 0 : tt__m_c(f, (tt__counter)i);
    return tt__m_part(tt__m_c(f, stall), all);
}

double tt__m_waits_for_memory(const tt__explain_facts *f) {
    return tt__m_waits(f, TT__C_STALL_LONG) + tt__m_waits(f, TT__C_STALL_LG) +
           tt__m_waits(f, TT__C_STALL_DRAIN);
}

double tt__m_of_active(const tt__explain_facts *f, tt__counter percent) {
    double active = tt__m_part(tt__m_c(f, TT__C_SM_ACTIVE_MAX), tt__m_c(f, TT__C_SM_ELAPSED));
    return tt__m_clamp(tt__m_part(tt__m_c(f, percent) / 100, active));
}

double tt__m_dram_gbps(const tt__explain_facts *f) {
    return tt__m_part(tt__m_c(f, TT__C_DRAM_READ) + tt__m_c(f, TT__C_DRAM_WRITTEN), f->time_us * 1e3);
}

double tt__m_dram_use(const tt__explain_facts *f) {
    double most = f->copy_dram_gbps > 0 ? f->copy_dram_gbps : 0.9 * f->peak_gbps;
    return tt__m_clamp(tt__m_part(tt__m_dram_gbps(f), most));
}

double tt__m_shared_use(const tt__explain_facts *f) {
    return tt__m_part(tt__m_c(f, TT__C_SHARED_WAVEFRONTS), f->sm_count * tt__m_c(f, TT__C_SM_ACTIVE_AVG));
}

double tt__m_conflicts(const tt__explain_facts *f) {
    double meet = fmax(0, tt__m_c(f, TT__C_SHARED_ATOMIC_WAVEFRONTS) - tt__m_c(f, TT__C_SHARED_ATOMICS));
    double conflicts = fmax(0, tt__m_c(f, TT__C_BANK_CONFLICTS) - meet);
    return tt__m_clamp(tt__m_part(conflicts, tt__m_c(f, TT__C_SHARED_WAVEFRONTS)));
}

double tt__m_l2_use(const tt__explain_facts *f) {
    if (f->l2_gbps <= 0)
        return tt__m_of_active(f, TT__C_L2_BUSY);
    return tt__m_clamp(
        tt__m_part(SECTOR_BYTES * tt__m_c(f, TT__C_L2_SECTORS), f->time_us * 1e3 * f->l2_gbps));
}

double tt__m_l1_use(const tt__explain_facts *f) {
    return tt__m_clamp(fmax(tt__m_shared_use(f), tt__m_of_active(f, TT__C_L1_BUSY)));
}

double tt__m_spilled(const tt__explain_facts *f) {
    return tt__m_part(tt__m_c(f, TT__C_LOCAL_LOADS) + tt__m_c(f, TT__C_LOCAL_STORES), tt__m_sectors(f));
}

double tt__m_memory_use(const tt__explain_facts *f) {
    double l1 = tt__m_of_active(f, TT__C_L1_BUSY) - tt__m_shared_use(f);
    return tt__m_clamp(fmax(fmax(tt__m_dram_use(f), tt__m_l2_use(f)), l1));
}

double tt__m_issue_use(const tt__explain_facts *f) {
    double most = fmax(tt__m_shared_use(f), tt__m_c(f, TT__C_ISSUED) / 100);
    for (size_t i = 0; i < tt__n_causes; i++)
        if (!tt__causes[i].stall && tt__causes[i].counter != TT__COUNTER_COUNT &&
            tt__causes[i].counter != TT__C_PIPE_ADU) /* which is also busy while warps wait at barriers */
            most = fmax(most, tt__m_c(f, (tt__counter)tt__causes[i].counter) / 100);
    return most;
}

double tt__m_idle(const tt__explain_facts *f) {
    return tt__m_clamp(1 - fmax(tt__m_memory_use(f), tt__m_issue_use(f)));
}

double tt__m_memory_matters(const tt__explain_facts *f) {
    return fmax(tt__m_memory_use(f), tt__m_waits_for_memory(f) * tt__m_clamp(1 - tt__m_issue_use(f)));
}

double tt__m_dram_matters(const tt__explain_facts *f) {
    return fmax(tt__m_dram_use(f), tt__m_waits(f, TT__C_STALL_LONG) * tt__m_idle(f));
}

double tt__m_sectors(const tt__explain_facts *f) {
    return tt__m_c(f, TT__C_LOAD_SECTORS) + tt__m_c(f, TT__C_STORE_SECTORS) + tt__m_c(f, TT__C_LOCAL_LOADS) +
           tt__m_c(f, TT__C_LOCAL_STORES);
}

double tt__m_load_width(const tt__explain_facts *f) {
    return f->counted.sass.loads > 0 ? f->counted.sass.load_bytes / f->counted.sass.loads : 4;
}

double tt__m_store_width(const tt__explain_facts *f) {
    return f->counted.sass.stores > 0 ? f->counted.sass.store_bytes / f->counted.sass.stores : 4;
}

double tt__m_load_excess(const tt__explain_facts *f) {
    return fmax(1, tt__m_part(tt__m_part(tt__m_c(f, TT__C_LOAD_SECTORS), tt__m_c(f, TT__C_LOAD_REQUESTS)),
                              fmax(1, tt__m_load_width(f))));
}

double tt__m_store_excess(const tt__explain_facts *f) {
    return fmax(1, tt__m_part(tt__m_part(tt__m_c(f, TT__C_STORE_SECTORS), tt__m_c(f, TT__C_STORE_REQUESTS)),
                              fmax(1, tt__m_store_width(f))));
}

double tt__m_slices(const tt__explain_facts *f) {
    return fmax(1, tt__m_part(tt__m_c(f, TT__C_L2_SLICE_MAX), tt__m_c(f, TT__C_L2_SLICE_AVG)));
}

double tt__m_atomics(const tt__explain_facts *f) {
    double n = tt__m_c(f, TT__C_ATOMIC_REQUESTS) + tt__m_c(f, TT__C_REDUCTION_REQUESTS);
    return tt__m_part(n, n + tt__m_c(f, TT__C_LOAD_REQUESTS) + tt__m_c(f, TT__C_STORE_REQUESTS));
}

double tt__m_waves(const tt__explain_facts *f) {
    return tt__m_part(f->blocks, (double)f->resident * f->sm_count);
}

double tt__m_sm_idle(const tt__explain_facts *f) {
    return tt__m_clamp(1 - tt__m_part(tt__m_c(f, TT__C_SM_ACTIVE_AVG), tt__m_c(f, TT__C_SM_ACTIVE_MAX)));
}

double tt__m_last_wave_idle(const tt__explain_facts *f) {
    double w = tt__m_waves(f);
    return 1 - w / ceil(w);
}

double tt__m_us_a_launch(const tt__explain_facts *f) {
    return tt__m_part(f->time_us, f->launches);
}

double tt__m_copies(const tt__explain_facts *f) {
    return f->copy_gbps > 0 ? tt__m_part(f->time_us * 1e3 * f->copy_gbps, f->moved_bytes) : 0;
}

bool tt__m_is_limited(const tt__explain_facts *f, bool by_regs) {
    tt__block_needs needs = {f->threads, by_regs ? 16 : f->regs, by_regs ? f->shared_bytes : 0};
    return f->occupancy > 0 && tt__resident_blocks(f->cc, &needs) > f->resident;
}

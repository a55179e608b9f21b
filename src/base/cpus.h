/* CPUs to run processes on. */
#ifndef TT_BASE_CPUS_H
#define TT_BASE_CPUS_H

#include <sched.h>
#include <unistd.h>

/* The number of CPUs that this thread and its children may use, at least 1. taskset and batch systems allow
 * fewer than are online. */
static inline int tt__n_cpus(void) {
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof set, &set) == 0
                 ? CPU_COUNT(&set)
                 : sysconf(_SC_NPROCESSORS_ONLN); /* the set is too small from 1025 CPUs on */
    return n < 1 ? 1 : (int)n;
}

#endif

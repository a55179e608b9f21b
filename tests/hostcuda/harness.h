/*
 * Shared by the tests of the stand-ins. Every case runs in a child process, because most of the tested state
 * (environment, sticky errors, crashes) belongs to a process.
 */
#ifndef HOSTCUDA_HARNESS_H
#define HOSTCUDA_HARNESS_H

#include "gpu/driver.h"

#include <nvrtc.h>
#include <stdbool.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            harness_fail(__FILE__, __LINE__, #condition);                                                    \
    } while (0)
#define CHECK_CU(call, expected) harness_check_cu(call, expected, __FILE__, __LINE__, #call)
#define OK(call)                 CHECK_CU(call, CUDA_SUCCESS)

extern tt__driver cu; /* the driver stand-in: after harness_open_driver */

enum { HARNESS_FAILED = 99 }; /* exit status of a child where a CHECK failed */

void harness_init(const char *directory); /* where libcuda.so.1 and libnvrtc.so are */
void harness_fail(const char *file, int line, const char *what) __attribute__((noreturn));
void harness_check_cu(CUresult r, CUresult expected, const char *file, int line, const char *what);

/* Runs fn in a child with "NAME=VALUE;NAME=VALUE" (separated by '|') in its environment. Returns its exit
 * status, or minus the signal that ended it; it gets SIGALRM after `seconds`. */
int harness_child(const char *environment, int (*fn)(void), int seconds);

void harness_open_driver(void);  /* loads it, cuInit */
void harness_open_context(void); /* and makes device 0's primary context current */
void *harness_driver_symbol(const char *name);

/* Compiles with the NVRTC stand-in, options separated by spaces. The cubin is the caller's to free, NULL if
 * it failed; *log, if asked for, too. */
char *harness_compile(const char *source, const char *options, size_t *n_bytes, char **log);
/* Compiles, loads, and looks the kernel up; a failure ends the process. */
CUfunction harness_kernel(const char *source, const char *options, const char *kernel);
char *harness_template(const char *file); /* the text of one of kernel_templates/ */
CUdeviceptr harness_alloc(size_t bytes);
CUresult harness_launch(CUfunction fn, unsigned grid, unsigned bx, unsigned by, unsigned shared, void **args);

#endif

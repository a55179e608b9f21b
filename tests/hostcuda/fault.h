/*
 * Faults scripted in $HOSTCUDA_FAULTS: "MATCH:EFFECT;...", where MATCH is "A=1,B=2" (all of them must be
 * among the facts of a program: its -D options and kernel=NAME), "driver", or empty. README.md has the list.
 */
#ifndef HOSTCUDA_FAULT_H
#define HOSTCUDA_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#define HOSTCUDA_EFFECTS(X)                                                                                  \
    X(COMPILE_ERROR, "compile_error")                                                                        \
    X(COMPILE_HANG, "compile_hang")                                                                          \
    X(COMPILE_CRASH, "compile_crash")                                                                        \
    X(COMPILE_SLOW, "compile_slow")                                                                          \
    X(LOAD_ERROR, "load_error")                                                                              \
    X(LAUNCH_ERROR, "launch_error")                                                                          \
    X(HANG, "hang")                                                                                          \
    X(ILLEGAL_ADDRESS, "illegal_address")                                                                    \
    X(CRASH, "crash")                                                                                        \
    X(WRONG, "wrong")                                                                                        \
    X(WRONG_ONCE, "wrong_once")                                                                              \
    X(OOB, "oob")                                                                                            \
    X(SLOW, "slow")                                                                                          \
    X(HUNGRY, "hungry")                                                                                      \
    X(NO_DEVICE, "no_device")                                                                                \
    X(INIT_ERROR, "init_error")                                                                              \
    X(INIT_CRASH, "init_crash")                                                                              \
    X(INIT_SLOW, "init_slow")                                                                                \
    X(CALL_FAILS, "call_fails")                                                                              \
    X(ALLOC_FAILS, "alloc_fails")

typedef enum hostcuda_effect {
#define HOSTCUDA_ENUM(id, text) HOSTCUDA_##id,
    HOSTCUDA_EFFECTS(HOSTCUDA_ENUM)
#undef HOSTCUDA_ENUM
        HOSTCUDA_EFFECT_COUNT
} hostcuda_effect;

typedef struct hostcuda_faults {
    bool on[HOSTCUDA_EFFECT_COUNT];
    double value[HOSTCUDA_EFFECT_COUNT]; /* the value after "=", otherwise 1 */
} hostcuda_faults;

/* The effects that befall something with these facts, n_bytes of NUL-terminated strings. A rule that cannot
 * be read ends the process: a test that scripts nonsense has to know. */
hostcuda_faults hostcuda_faults_for(const char *facts, size_t n_bytes);

#endif

/*
 * Switching between stacks. ucontext would do, but saves the signal mask by a system call each time. That is
 * most of the run time of a kernel with barriers. So x86-64 has its own switch, and others use ucontext.
 */
#ifndef HOSTCUDA_SWITCH_H
#define HOSTCUDA_SWITCH_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define HOSTCUDA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOSTCUDA_ASAN 1
#endif
#endif

/* -DHOSTCUDA_UCONTEXT tries the portable way on x86-64 too. */
#if defined(__x86_64__) && !defined(HOSTCUDA_UCONTEXT)
#define HOSTCUDA_OWN_SWITCH 1
#else
#include <ucontext.h>
#endif

typedef struct hostcuda_stack {
    void *bottom; /* lowest address */
    size_t bytes;
#if defined(HOSTCUDA_OWN_SWITCH)
    void *sp;
#else
    ucontext_t context;
#endif
} hostcuda_stack;

/* Maps a stack with a guard page; `entry` runs on it at the first switch, and must never return. */
void hostcuda_stack_open(hostcuda_stack *s, void (*entry)(void));
/* Forgets what runs on it: the next switch enters `entry` again. */
void hostcuda_stack_reset(hostcuda_stack *s, void (*entry)(void));
/* Saves where we are in *from and goes on in *to. `from` of the process's own stack starts zeroed. */
void hostcuda_stack_switch(hostcuda_stack *from, hostcuda_stack *to);
/* The first thing `entry` does. */
void hostcuda_stack_entered(void);

#endif

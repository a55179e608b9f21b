/* See switch.h. AddressSanitizer is told of every switch, or it would take a fiber's stack for an overrun. */
#include "switch.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(HOSTCUDA_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK_BYTES = 512 << 10 };
#else
enum { STACK_BYTES = 128 << 10 };
#endif

#if defined(HOSTCUDA_OWN_SWITCH)
void hostcuda_switch(void **save, void *load);
__asm__(".text\n"
        ".type hostcuda_switch, @function\n"
        ".hidden hostcuda_switch\n"
        ".globl hostcuda_switch\n"
        "hostcuda_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n"
        "    jmp *%rcx\n" /* a ret would always be predicted wrong */
        ".size hostcuda_switch, . - hostcuda_switch\n");
#endif

void hostcuda_stack_open(hostcuda_stack *s, void (*entry)(void)) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, STACK_BYTES + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect(map, page, PROT_NONE) != 0)
        abort();
    s->bottom = map + page;
    /* Tops at the same distance from a page would all fall into the same few cache lines. */
    static size_t n_open;
    s->bytes = STACK_BYTES - n_open++ % 64 * 320;
    hostcuda_stack_reset(s, entry);
}

void hostcuda_stack_reset(hostcuda_stack *s, void (*entry)(void)) {
#if defined(HOSTCUDA_ASAN)
    __asan_unpoison_memory_region(s->bottom, s->bytes);
#endif
#if defined(HOSTCUDA_OWN_SWITCH)
    /* Six registers, then the return address of the switch. On entry the stack is as after a call. */
    void **top = (void **)((char *)s->bottom + s->bytes) - 3;
    *--top = (void *)(uintptr_t)entry;
    s->sp = top - 6;
#else
    getcontext(&s->context);
    s->context.uc_stack.ss_sp = s->bottom;
    s->context.uc_stack.ss_size = s->bytes;
    s->context.uc_link = NULL;
    makecontext(&s->context, entry, 0);
#endif
}

#if defined(HOSTCUDA_ASAN)
/* Only on arrival does the sanitizer tell the bounds of the stack we came from: that is how those of the
 * process's own stack become known. */
static hostcuda_stack *left;

static void arrived(void *fake) {
    const void *bottom;
    __sanitizer_finish_switch_fiber(fake, &bottom, &left->bytes);
    left->bottom = (void *)(uintptr_t)bottom;
}
#endif

void hostcuda_stack_switch(hostcuda_stack *from, hostcuda_stack *to) {
#if defined(HOSTCUDA_ASAN)
    void *fake = NULL;
    left = from;
    __sanitizer_start_switch_fiber(&fake, to->bottom, to->bytes);
#endif
#if defined(HOSTCUDA_OWN_SWITCH)
    hostcuda_switch(&from->sp, to->sp);
#else
    swapcontext(&from->context, &to->context);
#endif
#if defined(HOSTCUDA_ASAN)
    arrived(fake);
#endif
}

void hostcuda_stack_entered(void) {
#if defined(HOSTCUDA_ASAN)
    arrived(NULL);
#endif
}

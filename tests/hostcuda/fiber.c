/*
 * The scheduler. A fiber takes threads that have not begun and runs them to their end, one after the other.
 * A thread that has to wait keeps its fiber, and another fiber goes on with the rest. So a kernel
 * without barriers costs one switch a block. Order is fixed: results do not depend on timing. With
 * $HOSTCUDA_ORDER every other launch begins with the last thread of the last block.
 */
#include "fiber.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "switch.h"

/* RUNNING also stands for not begun: s.next tells these apart. */
typedef enum state { RUNNING = 0, READY, AT_BLOCK_BARRIER, AT_WARP_BARRIER, DONE } state;

typedef struct fiber {
    hostcuda_stack stack;
    int is_open;
} fiber;

static struct scheduler {
    const hostcuda_kernel *kernel;
    hostcuda_env *env;
    void **args;
    unsigned n, next, done, at_block_barrier;
    bool backwards; /* this launch begins with the last block and thread */
    CUresult error; /* not CUDA_SUCCESS: aborted */
    uint3 index[HOSTCUDA_THREADS_MAX];
    uint8_t states[HOSTCUDA_THREADS_MAX];
    struct warp {
        unsigned waiting, wanted; /* lanes at its barrier, and those that they wait for */
        unsigned ended;           /* or never were */
    } warps[HOSTCUDA_THREADS_MAX / HOSTCUDA_WARP];
    fiber *owner[HOSTCUDA_THREADS_MAX]; /* threads that have begun and not ended */
    fiber *current;
    fiber *idle[HOSTCUDA_THREADS_MAX];
    unsigned n_idle;
    hostcuda_stack main_stack;
    unsigned long long exchange[HOSTCUDA_THREADS_MAX];
} s;

static fiber fibers[HOSTCUDA_THREADS_MAX];

static void set_thread(unsigned t) {
    s.env->thread = s.index[t];
    s.env->linear = t;
}

static void release_block(void) {
    for (unsigned t = 0; t < s.n; t++)
        if (s.states[t] == AT_BLOCK_BARRIER)
            s.states[t] = READY;
    s.at_block_barrier = 0;
}

/* A warp goes on when all that the masks of its waiting lanes ask for wait too, or have ended. */
static void release_warp(struct warp *w) {
    const unsigned first = (unsigned)(w - s.warps) * HOSTCUDA_WARP;
    if (w->wanted & ~(w->waiting | w->ended))
        return;
    for (unsigned lanes = w->waiting; lanes; lanes &= lanes - 1)
        s.states[first + (unsigned)__builtin_ctz(lanes)] = READY;
    w->waiting = w->wanted = 0;
}

/* Leaves the running thread waiting, and comes back when it is its turn again. */
static void wait_as(state why) {
    const unsigned t = s.env->linear;
    s.states[t] = (uint8_t)why;
    if (why == AT_BLOCK_BARRIER && ++s.at_block_barrier + s.done == s.n)
        release_block();
    if (why == AT_WARP_BARRIER)
        release_warp(&s.warps[t / HOSTCUDA_WARP]);
    if (s.states[t] == READY && why != READY) {
        s.states[t] = RUNNING;
        return;
    }
    hostcuda_stack_switch(&s.current->stack, &s.main_stack);
}

static void block_barrier(void) {
    wait_as(AT_BLOCK_BARRIER);
}

static void warp_barrier(unsigned mask) {
    struct warp *w = &s.warps[s.env->linear / HOSTCUDA_WARP];
    w->waiting |= 1u << s.env->linear % HOSTCUDA_WARP;
    w->wanted |= mask;
    wait_as(AT_WARP_BARRIER);
}

static void yield(void) {
    wait_as(READY);
}

static void give_up(CUresult error, const char *what) {
    fprintf(stderr, "hostcuda: %s in thread %u of block (%u, %u, %u)\n", what, s.env->linear, s.env->block.x,
            s.env->block.y, s.env->block.z);
    s.error = error;
    hostcuda_stack_switch(&s.current->stack, &s.main_stack);
}

static void trap(void) {
    give_up(CUDA_ERROR_LAUNCH_FAILED, "a trap");
}

static void misaligned(const char *file, unsigned line) {
    char what[256];
    snprintf(what, sizeof what, "%s:%u: a misaligned address", file, line);
    give_up(CUDA_ERROR_MISALIGNED_ADDRESS, what);
}

static unsigned long long clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

static void run_new_threads(void) {
    fiber *self = s.current;
    while (s.next < s.n) {
        const unsigned k = s.next++, t = s.backwards ? s.n - 1 - k : k;
        s.owner[t] = self;
        set_thread(t);
        s.kernel->call(s.args);
        s.states[t] = DONE;
        s.done++;
        if (s.at_block_barrier && s.at_block_barrier + s.done == s.n)
            release_block();
        struct warp *w = &s.warps[t / HOSTCUDA_WARP];
        w->ended |= 1u << t % HOSTCUDA_WARP;
        release_warp(w);
    }
}

static void fiber_main(void) {
    hostcuda_stack_entered();
    for (;;) {
        run_new_threads();
        s.idle[s.n_idle++] = s.current;
        hostcuda_stack_switch(&s.current->stack, &s.main_stack);
    }
}

static void resume(fiber *f) {
    s.current = f;
    hostcuda_stack_switch(&s.main_stack, &f->stack);
}

/* If no thread can continue, the kernel has a deadlock. */
static CUresult run_block(void) {
    memset(s.states, RUNNING, s.n);
    s.next = s.done = s.at_block_barrier = 0;
    for (unsigned first = 0; first < s.n; first += HOSTCUDA_WARP)
        s.warps[first / HOSTCUDA_WARP] =
            (struct warp){.ended = s.n - first < HOSTCUDA_WARP ? ~0u << (s.n - first) : 0};
    while (s.done < s.n && s.error == CUDA_SUCCESS) {
        bool progress = false;
        while (s.next < s.n && s.error == CUDA_SUCCESS) {
            fiber *f = s.idle[--s.n_idle];
            if (!f->is_open)
                hostcuda_stack_open(&f->stack, fiber_main);
            f->is_open = 1;
            resume(f);
            progress = true;
        }
        for (unsigned t = 0; t < s.n && s.error == CUDA_SUCCESS; t++) {
            if (s.states[t] != READY)
                continue;
            s.states[t] = RUNNING;
            set_thread(t);
            resume(s.owner[t]);
            progress = true;
        }
        if (!progress) {
            fprintf(stderr, "hostcuda: deadlock: %u threads of block (%u, %u, %u) wait for good\n",
                    s.n - s.done, s.env->block.x, s.env->block.y, s.env->block.z);
            s.error = CUDA_ERROR_LAUNCH_FAILED;
        }
    }
    return s.error;
}

static void begin_launch(const hostcuda_kernel *kernel, hostcuda_env *env, uint3 grid, uint3 block,
                         void **args) {
    s.kernel = kernel;
    s.env = env;
    s.args = args;
    s.n = block.x * block.y * block.z;
    s.error = CUDA_SUCCESS;
    s.n_idle = 0;
    for (unsigned i = s.n; i-- > 0;)
        s.idle[s.n_idle++] = &fibers[i];
    for (unsigned z = 0, t = 0; z < block.z; z++)
        for (unsigned y = 0; y < block.y; y++)
            for (unsigned x = 0; x < block.x; x++)
                s.index[t++] = (uint3){x, y, z};
    memset(s.exchange, 0xA5, sizeof s.exchange);
    *env = (hostcuda_env){.block_dim = block,
                          .grid_dim = grid,
                          .exchange = s.exchange,
                          .block_barrier = block_barrier,
                          .warp_barrier = warp_barrier,
                          .yield = yield,
                          .trap = trap,
                          .misaligned = misaligned,
                          .clock = clock_ns};
}

/* Threads that will never end still lie on their stacks: all start anew. */
static void abandon_fibers(void) {
    for (unsigned i = 0; i < HOSTCUDA_THREADS_MAX; i++)
        if (fibers[i].is_open)
            hostcuda_stack_reset(&fibers[i].stack, fiber_main);
}

CUresult hostcuda_run_grid(const hostcuda_kernel *kernel, hostcuda_env *env, uint3 grid, uint3 block,
                           size_t shared_bytes, void **args) {
    void *dynamic = NULL;
    CUresult result = CUDA_SUCCESS;
    s.backwards = !s.backwards && getenv("HOSTCUDA_ORDER");
    if (grid.x == 0)
        return CUDA_SUCCESS;
    if (posix_memalign(&dynamic, 256, shared_bytes) != 0)
        abort();
    begin_launch(kernel, env, grid, block, args);
    env->dynamic = dynamic;
    for (unsigned z = 0; z < grid.z && result == CUDA_SUCCESS; z++)
        for (unsigned y = 0; y < grid.y && result == CUDA_SUCCESS; y++)
            for (unsigned x = 0; x < grid.x && result == CUDA_SUCCESS; x++) {
                env->block = s.backwards ? (uint3){grid.x - 1 - x, grid.y - 1 - y, grid.z - 1 - z}
                                         : (uint3){x, y, z};
                memset(dynamic, 0xA5, shared_bytes);
                result = run_block();
            }
    if (result != CUDA_SUCCESS)
        abandon_fibers();
    free(dynamic);
    return result;
}

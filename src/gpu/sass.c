/*
 * Since Volta an instruction has 16 bytes. The lowest nine bits say what it does, and the next three where
 * its operands are. The numbers were found by compiling code with known instructions for 8.0, 9.0 and 10.0,
 * and a test does so again.
 */
#include "gpu/sass.h"

#include <stdint.h>
#include <string.h>

#include "gpu/cubin.h"

enum {
    OP_BITS = 0x1ff,
    INSTRUCTION_BYTES = 16,
    BRA = 0x147,
    CC_FIRST = 70,
    CC_SPLIT_OFFSET = 90, /* from here on a branch has eight bits of its offset apart */
    DEPTH_MAX = 3,
    LOOPS_MAX = 128,
};

/* Which member counts it, and whether it has a width. */
static const struct {
    int op;
    size_t member, bytes; /* bytes 0: no width */
} kinds[] = {
#define OF(member) offsetof(tt__sass, member)
    {0x180, OF(loads), OF(load_bytes)},
    {0x181, OF(loads), OF(load_bytes)}, /* LD, LDG */
    {0x1ae, OF(loads), OF(load_bytes)}, /* LDGSTS */
    {0x185, OF(stores), OF(store_bytes)},
    {0x186, OF(stores), OF(store_bytes)}, /* ST, STG */
    {0x183, OF(local), 0},
    {0x187, OF(local), 0}, /* LDL, STL */
    {0x184, OF(shared), 0},
    {0x188, OF(shared), 0}, /* LDS, STS */
    {0x18a, OF(atomics), 0},
    {0x18e, OF(atomics), 0}, /* ATOM, RED */
    {0x1a6, OF(atomics), 0},
    {0x1a8, OF(atomics), 0}, /* REDG, ATOMG */
    {0x1a9, OF(atomics), 0},
    {0x18c, OF(atomics), 0}, /* ATOMG.CAS, ATOMS */
    {0x18d, OF(atomics), 0},
    {0x11d, OF(barriers), 0}, /* ATOMS.CAS, BAR */
    {0x020, OF(fp32), 0},
    {0x021, OF(fp32), 0}, /* FMUL, FADD */
    {0x023, OF(fp32), 0},
    {0x028, OF(fp64), 0}, /* FFMA, DMUL */
    {0x029, OF(fp64), 0},
    {0x02b, OF(fp64), 0}, /* DADD, DFMA */
    {0x030, OF(fp16), 0},
    {0x031, OF(fp16), 0}, /* HADD2, HFMA2 */
    {0x032, OF(fp16), 0},
    {0x03c, OF(tensor), 0}, /* HMUL2, HMMA */
    {0x037, OF(tensor), 0},
    {0x03f, OF(tensor), 0}, /* IMMA, DMMA */
    {0x1f0, OF(tensor), 0},
    {0x108, OF(special), 0}, /* HGMMA, MUFU */
    {BRA, OF(branches), 0},
#undef OF
};

typedef struct code {
    const unsigned char *bytes;
    size_t n; /* instructions */
    int cc;
    size_t n_loops, loops[LOOPS_MAX][2]; /* first and last instruction */
} code;

static uint64_t word(const code *c, size_t i, int half) {
    uint64_t w;
    memcpy(&w, c->bytes + i * INSTRUCTION_BYTES + (size_t)half * sizeof w, sizeof w);
    return w;
}

static int op_at(const code *c, size_t i) {
    return (int)(word(c, i, 0) & OP_BITS);
}

/* Where the branch at i leads to. */
static int64_t target(const code *c, size_t i) {
    uint64_t low = word(c, i, 0);
    int64_t words = (int32_t)(low >> 32) >> 2;
    if (c->cc >= CC_SPLIT_OFFSET)
        words = words * 256 + (int64_t)(low >> 16 & 255);
    return (int64_t)i + 1 + words / (INSTRUCTION_BYTES / 4);
}

/* The bytes that each lane moves: 8, 8, 16, 16, 32, 64 or 128 bits. */
static double width(const code *c, size_t i) {
    static const double bytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
    return bytes[word(c, i, 1) >> 9 & 7];
}

/* A branch back makes a loop of what it jumps over. Loops beyond the first LOOPS_MAX do not count. */
static void find_loops(code *c) {
    for (size_t i = 0; i < c->n && c->n_loops < LOOPS_MAX; i++)
        if (op_at(c, i) == BRA && target(c, i) >= 0 && target(c, i) < (int64_t)i) {
            c->loops[c->n_loops][0] = (size_t)target(c, i);
            c->loops[c->n_loops++][1] = i;
        }
}

static double weight(const code *c, size_t at) {
    double w = 1;
    int depth = 0;
    for (size_t i = 0; i < c->n_loops && depth < DEPTH_MAX; i++)
        if (c->loops[i][0] <= at && at <= c->loops[i][1]) {
            w *= TT__SASS_LOOP;
            depth++;
        }
    return w;
}

static void count(tt__sass *out, const code *c, size_t i) {
    const double w = weight(c, i);
    const int op = op_at(c, i);
    out->all += w;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (kinds[k].op == op) {
            *(double *)((char *)out + kinds[k].member) += w;
            if (kinds[k].bytes)
                *(double *)((char *)out + kinds[k].bytes) += w * width(c, i);
        }
}

/* Code ends with branches to themselves and NOPs, up to a multiple of 128 bytes. */
static size_t used(const code *c) {
    enum { NOP = 0x118 };
    size_t n = c->n;
    while (n > 0 &&
           (op_at(c, n - 1) == NOP || (op_at(c, n - 1) == BRA && target(c, n - 1) == (int64_t)n - 1)))
        n--;
    return n;
}

tt_status tt__sass_read(tt__sass *out, const void *cubin, size_t n, const char *kernel, int cc) {
    code c = {.cc = cc};
    size_t bytes;
    *out = (tt__sass){0};
    TT_TRY(tt__cubin_code(&c.bytes, &bytes, cubin, n, kernel));
    if (cc < CC_FIRST)
        return TT_OK;
    c.n = bytes / INSTRUCTION_BYTES;
    c.n = used(&c);
    find_loops(&c);
    for (size_t i = 0; i < c.n; i++)
        count(out, &c, i);
    return TT_OK;
}

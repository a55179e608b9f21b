/*
 * Since Volta an instruction has 16 bytes. The lowest nine bits say what it does, and the next three where
 * its operands are. The numbers were found by compiling code with known instructions for 8.0, 9.0 and 10.0,
 * and a test does so again.
 */
#include "code/sass.h"

#include <stdint.h>
#include <string.h>

#include "code/cubin.h"

enum {
    OP_BITS = 0x1ff,
    INSTRUCTION_BYTES = 16,
    BRA = 0x147,
    CC_FIRST = 70,
    CC_SPLIT_OFFSET = 90, /* from here on a branch has eight bits of its offset apart */
    DEPTH_MAX = 3,
    LOOPS_MAX = 128,
    OPS_MAX = 7,
};

/* Which member counts it, and whether it has a width. */
static const struct {
    size_t member, bytes; /* bytes 0: no width */
    int ops[OPS_MAX];     /* 0: no more */
} kinds[] = {
#define OF(member) offsetof(tt__sass, member)
    {OF(loads), OF(load_bytes), {0x180, 0x181, 0x1ae}}, /* LD, LDG, LDGSTS */
    {OF(stores), OF(store_bytes), {0x185, 0x186}},      /* ST, STG */
    {OF(local), 0, {0x183, 0x187}},                     /* LDL, STL */
    {OF(shared), 0, {0x184, 0x188}},                    /* LDS, STS */
    {OF(atomics), 0, {0x18a, 0x18e, 0x1a6, 0x1a8, 0x1a9, 0x18c, 0x18d}},
    /* ATOM, RED, REDG, ATOMG, ATOMG.CAS, ATOMS, ATOMS.CAS */
    {OF(barriers), 0, {0x11d}},                    /* BAR */
    {OF(fp32), 0, {0x020, 0x021, 0x023}},          /* FMUL, FADD, FFMA */
    {OF(fp64), 0, {0x028, 0x029, 0x02b}},          /* DMUL, DADD, DFMA */
    {OF(fp16), 0, {0x030, 0x031, 0x032}},          /* HADD2, HFMA2, HMUL2 */
    {OF(tensor), 0, {0x03c, 0x037, 0x03f, 0x1f0}}, /* HMMA, IMMA, DMMA, HGMMA */
    {OF(special), 0, {0x108}},                     /* MUFU */
    {OF(branches), 0, {BRA}},
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
        for (size_t n = 0; n < OPS_MAX && kinds[k].ops[n]; n++)
            if (kinds[k].ops[n] == op) {
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

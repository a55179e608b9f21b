/*
 * Since Volta an instruction has 16 bytes. The lowest nine bits say what it does, and the next three where
 * its operands are. The numbers were found by compiling code with known instructions for 8.0, 9.0 and 10.0,
 * and a test does so again.
 */
#include "code/sass.h"

#include <stdbool.h>
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

/* ---- Which instructions count ---------------------------------------------------------------------------
 */

/* The register that an address is in. */
static int base(const code *c, size_t i) {
    return (int)(word(c, i, 0) >> 24 & 255);
}

/* Spilled registers have addresses in the stack's frame, which R1 holds. */
static bool not_in_frame(const code *c, size_t i) {
    enum { FRAME = 1 };
    return base(c, i) != FRAME;
}

static bool has_register(const code *c, size_t i) {
    enum { RZ = 255 };
    return base(c, i) != RZ;
}

/* HADD2.F32 adds nothing: it makes a float of a half. */
static bool gives_float(const code *c, size_t i) {
    return word(c, i, 1) >> 14 & 1;
}

static bool gives_half(const code *c, size_t i) {
    return !gives_float(c, i);
}

/* Only divisions round up when they convert, before a reciprocal. */
static bool rounds_up(const code *c, size_t i) {
    return (word(c, i, 1) >> 14 & 3) == 2;
}

/* Which member counts it, whether it has a width, and which of these instructions count. */
static const struct {
    size_t member, bytes; /* bytes 0: no width */
    bool (*only)(const code *c, size_t i);
    int ops[OPS_MAX]; /* 0: no more */
} kinds[] = {
#define OF(member) offsetof(tt__sass, member)
    {OF(loads), OF(load_bytes), NULL, {0x180, 0x181, 0x1ae}}, /* LD, LDG, LDGSTS */
    {OF(stores), OF(store_bytes), NULL, {0x185, 0x186}},      /* ST, STG */
    {OF(local), 0, NULL, {0x183, 0x187}},                     /* LDL, STL */
    {OF(local_indexed), 0, not_in_frame, {0x183, 0x187}},
    {OF(shared), 0, NULL, {0x184, 0x188}},                       /* LDS, STS */
    {OF(atomics), 0, NULL, {0x18a, 0x18e, 0x1a6, 0x1a8, 0x1a9}}, /* ATOM, RED, REDG, ATOMG, ATOMG.CAS */
    {OF(shared_atomics), 0, NULL, {0x18c, 0x18d}},               /* ATOMS, ATOMS.CAS */
    {OF(shared_cas), 0, NULL, {0x18d}},                          /* ATOMS.CAS */
    {OF(constants), 0, has_register, {0x182}},                   /* LDC */
    {OF(barriers), 0, NULL, {0x11d}},                            /* BAR */
    {OF(fp32), 0, NULL, {0x020, 0x021, 0x023}},                  /* FMUL, FADD, FFMA */
    {OF(fp64), 0, NULL, {0x028, 0x029, 0x02b}},                  /* DMUL, DADD, DFMA */
    {OF(fp16), 0, NULL, {0x031, 0x032}},                         /* HFMA2, HMUL2 */
    {OF(fp16), 0, has_register, {0x035}},                     /* HFMA2.MMA; without one it loads a constant */
    {OF(fp16), 0, gives_half, {0x030}},                       /* HADD2 */
    {OF(tensor), 0, NULL, {0x03c, 0x037, 0x03f, 0x1f0}},      /* HMMA, IMMA, DMMA, HGMMA */
    {OF(special), 0, NULL, {0x108}},                          /* MUFU */
    {OF(conversions), 0, gives_float, {0x030}},               /* HADD2.F32 */
    {OF(conversions), 0, NULL, {0x03e, 0x045}},               /* F2FP, I2FP */
    {OF(conversions), 0, NULL, {0x104, 0x105, 0x106, 0x107}}, /* F2F, F2I, I2F, FRND */
    {OF(conversions), 0, NULL, {0x110, 0x111, 0x112, 0x113}}, /* the same of 64 bits */
    {OF(divisions), 0, rounds_up, {0x106, 0x112}},            /* I2F.RP */
    {OF(fences), 0, NULL, {0x192}},                           /* MEMBAR */
    {OF(sleeps), 0, NULL, {0x15d}},                           /* NANOSLEEP */
    {OF(branches), 0, NULL, {BRA}},
#undef OF
};

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
            if (kinds[k].ops[n] == op && (!kinds[k].only || kinds[k].only(c, i))) {
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
    out->code_bytes = (double)(c.n * INSTRUCTION_BYTES);
    find_loops(&c);
    for (size_t i = 0; i < c.n; i++)
        count(out, &c, i);
    return TT_OK;
}

/*
 * The section .nv.info is a list of attributes. Each has a byte for its format, a byte for its kind, and two
 * bytes for its value. In the sized format these two bytes are the number of bytes that follow. We read
 * attributes that are pairs: the kernel's index in the symbol table, and a value. Parameters and launch
 * bounds are in a section of the same kind for each kernel, .nv.info.NAME. Shared memory is a section for
 * each kernel. Since sm_90 it includes the 1024 bytes that the system reserves in each block, which the
 * driver does not count as the kernel's. Every offset is checked before it is used.
 */
#include "code/cubin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* ---- Appended names: pairs of texts, each with its NUL; then their length in 4 bytes; then the mark */

static const char mark[8] = {'t', 't', 'n', 'a', 'm', 'e', 's', '\n'};
enum { PADDING_MAX = 15 };

tt_status tt__lowered_add(tt__str *cubin, const char *(*pairs)[2], size_t n) {
    size_t start = cubin->len;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            tt__str_addn(cubin, pairs[i][k], strlen(pairs[i][k]) + 1);
    uint32_t length = (uint32_t)(cubin->len - start);
    tt__str_addn(cubin, (const char *)&length, sizeof length);
    tt__str_addn(cubin, mark, sizeof mark);
    return tt__str_check(cubin);
}

/* The list's begin and length; NULL if there is none. */
static const char *find_list(const char *bytes, size_t n, size_t *length) {
    uint32_t said;
    for (size_t k = 0; k < PADDING_MAX && n && !bytes[n - 1]; k++)
        n--;
    if (n < sizeof mark + sizeof said || memcmp(bytes + n - sizeof mark, mark, sizeof mark) != 0)
        return NULL;
    n -= sizeof mark + sizeof said;
    memcpy(&said, bytes + n, sizeof said);
    if (said > n || said == 0 || bytes[n - 1])
        return NULL;
    *length = said;
    return bytes + n - said;
}

const char *tt__lowered_name(const void *cubin, size_t n, const char *name) {
    size_t length = 0;
    const char *at = find_list(cubin, n, &length), *end = at ? at + length : NULL;
    while (at && at < end) {
        const char *lowered = at + strlen(at) + 1;
        if (lowered >= end)
            break;
        if (strcmp(at, name) == 0)
            return lowered;
        at = lowered + strlen(lowered) + 1;
    }
    return name;
}

bool tt__lowered_is_plain(const char *name) {
    return !strpbrk(name, "<:");
}

/* ---- The file */

enum { SECTION_MAX = 1024 }; /* characters of a section's name: C++ makes long ones */

enum {
    FORMAT_SIZED = 4,
    ATTRIBUTE_MAX_THREADS = 0x05, /* three dimensions, whose product counts */
    ATTRIBUTE_EXACT_BLOCK = 0x10, /* three dimensions */
    ATTRIBUTE_FRAME_SIZE = 0x11,
    ATTRIBUTE_PARAMETER = 0x17, /* its place is in the second word, its size in the upper bits of the third */
    ATTRIBUTE_PARAMETERS_SIZE = 0x19, /* of all together, as the attribute's value */
    ATTRIBUTE_REGS = 0x2f,
    ATTRIBUTE_CLUSTER = 0x3d,         /* three dimensions */
    ATTRIBUTE_LARGE_PARAMETER = 0x45, /* the size is the third word */
    PARAMETER_SIZE_SHIFT = 18,
    SYMBOL_KERNEL = 0x10, /* in st_other */
    PAIR_BYTES = 8,
    TRIPLE_BYTES = 12,
    RESERVED_SHARED_BYTES = 1024,
    OLD_ABI = 7, /* its e_flags have the architecture in the lowest byte */
};

typedef struct image {
    const unsigned char *bytes;
    size_t n;
    Elf64_Ehdr header;
    Elf64_Shdr names; /* the section that has the names of sections */
    Elf64_Shdr symbols, symbol_names;
    size_t n_symbols;
} image;

static bool take(const image *im, void *out, uint64_t at, size_t size) {
    if (at > im->n || size > im->n - at)
        return false;
    memcpy(out, im->bytes + at, size);
    return true;
}

static bool take_section(const image *im, Elf64_Shdr *out, unsigned index) {
    return index < im->header.e_shnum &&
           take(im, out, im->header.e_shoff + (uint64_t)index * sizeof *out, sizeof *out) &&
           (out->sh_type == SHT_NOBITS ||
            (out->sh_offset <= im->n && out->sh_size <= im->n - out->sh_offset));
}

/* Does the string at `offset` in this string section have the first n characters of `text`? */
static bool begins(const image *im, const Elf64_Shdr *texts, uint64_t offset, const char *text, size_t n) {
    return texts->sh_type != SHT_NOBITS && offset <= texts->sh_size && n <= texts->sh_size - offset &&
           memcmp(im->bytes + texts->sh_offset + offset, text, n) == 0;
}

static bool is_text(const image *im, const Elf64_Shdr *texts, uint64_t offset, const char *text) {
    return begins(im, texts, offset, text, strlen(text) + 1);
}

static bool find_section(const image *im, Elf64_Shdr *out, const char *name) {
    for (unsigned i = 0; i < im->header.e_shnum; i++)
        if (take_section(im, out, i) && is_text(im, &im->names, out->sh_name, name))
            return true;
    return false;
}

static bool open_image(image *im, const void *bytes, size_t n) {
    *im = (image){.bytes = bytes, .n = n};
    if (!take(im, &im->header, 0, sizeof im->header) || memcmp(im->header.e_ident, ELFMAG, SELFMAG) != 0 ||
        im->header.e_ident[EI_CLASS] != ELFCLASS64 || im->header.e_shoff > n ||
        !take_section(im, &im->names, im->header.e_shstrndx))
        return false;
    if (find_section(im, &im->symbols, ".symtab") && im->symbols.sh_type == SHT_SYMTAB &&
        take_section(im, &im->symbol_names, im->symbols.sh_link))
        im->n_symbols = im->symbols.sh_size / sizeof(Elf64_Sym);
    return true;
}

static bool take_symbol(const image *im, Elf64_Sym *out, size_t index) {
    return index < im->n_symbols && take(im, out, im->symbols.sh_offset + index * sizeof *out, sizeof *out);
}

typedef struct attribute {
    unsigned char kind;
    uint16_t value;
    bool sized;
    uint32_t words[3]; /* the first of what follows */
} attribute;

/* The next attribute of a section, from *at on. */
static bool next_attribute(attribute *out, const image *im, const Elf64_Shdr *info, uint64_t *at) {
    unsigned char head[4];
    uint64_t end = info->sh_offset + info->sh_size;
    *out = (attribute){0};
    if (info->sh_type == SHT_NOBITS || *at + sizeof head > end || !take(im, head, *at, sizeof head))
        return false;
    *at += sizeof head;
    out->kind = head[1];
    out->sized = head[0] == FORMAT_SIZED;
    memcpy(&out->value, head + 2, sizeof out->value);
    if (!out->sized)
        return true;
    take(im, out->words, *at, out->value < sizeof out->words ? out->value : sizeof out->words);
    *at += out->value;
    return true;
}

static void read_info(tt__cubin_needs *out, const image *im, const Elf64_Shdr *info, const char *kernel) {
    attribute a;
    Elf64_Sym symbol;
    for (uint64_t at = info->sh_offset; next_attribute(&a, im, info, &at);)
        if (a.sized && a.value == PAIR_BYTES &&
            (a.kind == ATTRIBUTE_REGS || a.kind == ATTRIBUTE_FRAME_SIZE) && a.words[1] <= INT32_MAX &&
            take_symbol(im, &symbol, a.words[0]) && is_text(im, &im->symbol_names, symbol.st_name, kernel))
            *(a.kind == ATTRIBUTE_REGS ? &out->regs : &out->stack_bytes) = (int)a.words[1];
}

/* Does the size of shared memory include what CUDA reserves from 9.0 on? NVRTC 12.2 has no section that says
 * so. */
static bool has_reserved(const image *im) {
    Elf64_Shdr section;
    return find_section(im, &section, ".nv.shared.reserved.0") ||
           (im->header.e_ident[EI_ABIVERSION] <= OLD_ABI && (im->header.e_flags & 0xff) >= 90);
}

tt_status tt__cubin_read(tt__cubin_needs *out, const void *bytes, size_t n, const char *kernel) {
    image im;
    Elf64_Shdr section;
    char shared[SECTION_MAX];
    *out = (tt__cubin_needs){0};
    kernel = tt__lowered_name(bytes, n, kernel);
    snprintf(shared, sizeof shared, ".nv.shared.%s", kernel);
    if (open_image(&im, bytes, n) && find_section(&im, &section, ".nv.info"))
        read_info(out, &im, &section, kernel);
    if (out->regs < 1)
        return tt__fail(TT_E_UNSUPPORTED, "the compiled code does not say how many registers %s takes",
                        kernel);
    if (find_section(&im, &section, shared) && section.sh_size <= INT32_MAX) {
        int bytes = (int)section.sh_size;
        bool reserved = bytes >= RESERVED_SHARED_BYTES && has_reserved(&im);
        out->static_shared_bytes = bytes - (reserved ? RESERVED_SHARED_BYTES : 0);
    }
    return TT_OK;
}

/* ---- How a kernel may be launched ---------------------------------------------------------------------- */

enum { SYMBOL_TEXT_MAX = 160 };

/* The name of a symbol if it is a kernel: where it begins, and perhaps not all of its text. */
static bool kernel_name(const image *im, size_t index, uint64_t *at, char out[SYMBOL_TEXT_MAX]) {
    Elf64_Sym symbol;
    const Elf64_Shdr *names = &im->symbol_names;
    if (!take_symbol(im, &symbol, index) || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        !(symbol.st_other & SYMBOL_KERNEL) || names->sh_type == SHT_NOBITS ||
        symbol.st_name >= names->sh_size)
        return false;
    size_t most = names->sh_size - symbol.st_name;
    *at = symbol.st_name;
    snprintf(out, SYMBOL_TEXT_MAX, "%.*s", (int)(most < SYMBOL_TEXT_MAX ? most : SYMBOL_TEXT_MAX),
             (const char *)im->bytes + names->sh_offset + symbol.st_name);
    return true;
}

/* The next name in what C++ makes of names, from *at on, and its length: "saxpy" in _Z5saxpyPf. NULL: names
 * of template arguments follow, or none. */
static const char *next_name(const char **at, size_t *n) {
    while (**at && **at != 'I' && (**at < '0' || **at > '9'))
        ++*at;
    for (*n = 0; **at >= '0' && **at <= '9'; ++*at)
        *n = *n * 10 + (size_t)(**at - '0');
    const char *name = *at;
    if (*n == 0 || *n > strlen(name))
        return NULL;
    *at += *n;
    return name;
}

static bool is_mangled(const char *symbol) {
    return strncmp(symbol, "_Z", 2) == 0;
}

/* Did C++ make the symbol of this name, perhaps in namespaces? */
static bool is_of(const char *symbol, const char *name) {
    const char *at = symbol + 2, *next;
    size_t n;
    while (is_mangled(symbol) && (next = next_name(&at, &n)))
        if (n == strlen(name) && memcmp(next, name, n) == 0)
            return true;
    return false;
}

/* Is it there? If not, which are? */
static tt_status find_kernel(const image *im, const char *kernel) {
    enum { SHOWN = 4 };
    char name[SYMBOL_TEXT_MAX], mangled[SYMBOL_TEXT_MAX] = "";
    tt__str all = {0};
    size_t n = 0;
    uint64_t at;
    bool found = false;
    for (size_t i = 0; i < im->n_symbols && !found; i++) {
        if (!kernel_name(im, i, &at, name))
            continue;
        found = is_text(im, &im->symbol_names, at, kernel);
        if (is_of(name, kernel))
            memcpy(mangled, name, sizeof mangled);
        if (++n <= SHOWN)
            tt__str_addf(&all, "%s%s", n > 1 ? ", " : "", name);
    }
    if (!found && *mangled)
        tt__fail(TT_E_TEMPLATE, "C++ calls the kernel %s %s: write extern \"C\" __global__", kernel, mangled);
    else if (!found)
        tt__fail(TT_E_TEMPLATE, "the compiled code has no kernel %s: it has %s%s", kernel,
                 n ? tt__str_text(&all) : "none", n > SHOWN ? " and more" : "");
    tt__str_free(&all);
    return found ? TT_OK : TT_E_TEMPLATE;
}

/* Has the code nothing for these bytes of a section: no bits, and no address that loading puts there? */
static bool is_zero(const image *im, unsigned index, const Elf64_Shdr *section, const Elf64_Sym *symbol) {
    Elf64_Shdr moves;
    Elf64_Addr to;
    for (uint64_t i = 0; i < symbol->st_size && section->sh_type != SHT_NOBITS; i++)
        if (symbol->st_value + i >= section->sh_size || im->bytes[section->sh_offset + symbol->st_value + i])
            return false;
    for (unsigned i = 0; i < im->header.e_shnum; i++)
        if (take_section(im, &moves, i) && (moves.sh_type == SHT_REL || moves.sh_type == SHT_RELA) &&
            moves.sh_info == index && moves.sh_entsize >= sizeof(Elf64_Rel))
            for (uint64_t at = 0; at < moves.sh_size; at += moves.sh_entsize)
                if (take(im, &to, moves.sh_offset + at, sizeof to) && to - symbol->st_value < symbol->st_size)
                    return false;
    return true;
}

bool tt__cubin_next_variable(tt__cubin_variable *out, tt__cubin_kind kind, const void *bytes, size_t n,
                             size_t *at) {
    static const char *const sections[] = {".nv.constant", ".nv.global"};
    image im;
    Elf64_Sym symbol;
    Elf64_Shdr section;
    if (!open_image(&im, bytes, n) || im.symbol_names.sh_type == SHT_NOBITS)
        return false;
    while (take_symbol(&im, &symbol, (*at)++)) {
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_name >= im.symbol_names.sh_size ||
            !take_section(&im, &section, symbol.st_shndx) ||
            !begins(&im, &im.names, section.sh_name, sections[kind], strlen(sections[kind])))
            continue;
        out->name = (const char *)im.bytes + im.symbol_names.sh_offset + symbol.st_name;
        if (!memchr(out->name, 0, im.symbol_names.sh_size - symbol.st_name) ||
            (kind == TT__CUBIN_CONSTANTS && strncmp(out->name, "_ZZ", 3) == 0))
            continue;
        out->bytes = symbol.st_size;
        out->zero = is_zero(&im, symbol.st_shndx, &section, &symbol);
        return true;
    }
    return false;
}

const char *tt__cubin_plain_name(const char *symbol, size_t *n) {
    const char *plain = symbol, *at = symbol + 2, *next;
    size_t length;
    *n = strlen(symbol);
    while (is_mangled(symbol) && (next = next_name(&at, &length))) {
        plain = next;
        *n = length;
    }
    return plain;
}

void tt__cubin_arrays(tt__str *out, const void *bytes, size_t n) {
    tt__cubin_variable c;
    for (size_t at = 0; tt__cubin_next_variable(&c, TT__CUBIN_CONSTANTS, bytes, n, &at);)
        if (is_mangled(c.name))
            tt__str_addn(out, c.name, strlen(c.name) + 1);
}

const char *tt__cubin_array(const tt__str *arrays, const char *name, const char *last) {
    const char *at = last ? last + strlen(last) + 1 : arrays->text;
    for (; at && at < arrays->text + arrays->len; at += strlen(at) + 1) {
        size_t n;
        const char *plain = tt__cubin_plain_name(at, &n);
        if (n == strlen(name) && memcmp(plain, name, n) == 0)
            return at;
    }
    return NULL;
}

static void read_parameter(tt__cubin_entry *out, const attribute *a, int *n_seen) {
    uint32_t place = a->words[1] & UINT16_MAX;
    uint32_t size = a->kind == ATTRIBUTE_PARAMETER ? a->words[2] >> PARAMETER_SIZE_SHIFT : a->words[2];
    if (place < TT__ARGS_MAX)
        out->parameter_bytes[place] = size;
    if ((int)place >= out->n_parameters)
        out->n_parameters = (int)place + 1;
    ++*n_seen;
}

static void read_entry(tt__cubin_entry *out, const image *im, const Elf64_Shdr *info) {
    attribute a;
    int n_seen = 0;
    bool has_parameters = false;
    for (uint64_t at = info->sh_offset; next_attribute(&a, im, info, &at);) {
        bool triple = a.sized && a.value == TRIPLE_BYTES;
        has_parameters |= !a.sized && a.kind == ATTRIBUTE_PARAMETERS_SIZE && a.value;
        if (triple && (a.kind == ATTRIBUTE_PARAMETER || a.kind == ATTRIBUTE_LARGE_PARAMETER))
            read_parameter(out, &a, &n_seen);
        if (triple && a.kind == ATTRIBUTE_MAX_THREADS)
            out->max_threads = (uint64_t)a.words[0] * a.words[1] * a.words[2];
        if (triple && a.kind == ATTRIBUTE_EXACT_BLOCK)
            memcpy(out->block, a.words, sizeof out->block);
        if (triple && a.kind == ATTRIBUTE_CLUSTER)
            memcpy(out->cluster, a.words, sizeof out->cluster);
    }
    if (n_seen != out->n_parameters || (has_parameters && n_seen == 0))
        out->n_parameters = -1;
}

tt_status tt__cubin_entry_read(tt__cubin_entry *out, const void *bytes, size_t n, const char *kernel) {
    image im;
    Elf64_Shdr section;
    char info[SECTION_MAX];
    *out = (tt__cubin_entry){.n_parameters = 0};
    kernel = tt__lowered_name(bytes, n, kernel);
    if (!open_image(&im, bytes, n) || im.n_symbols == 0)
        return tt__fail(TT_E_UNSUPPORTED, "the compiled code is no cubin");
    TT_TRY(find_kernel(&im, kernel));
    snprintf(info, sizeof info, ".nv.info.%s", kernel);
    if (find_section(&im, &section, info))
        read_entry(out, &im, &section);
    else
        out->n_parameters = -1;
    return TT_OK;
}

tt_status tt__cubin_code(const unsigned char **out, size_t *size, const void *bytes, size_t n,
                         const char *kernel) {
    image im;
    Elf64_Shdr section;
    char name[SECTION_MAX];
    *size = 0;
    snprintf(name, sizeof name, ".text.%s", tt__lowered_name(bytes, n, kernel));
    if (!open_image(&im, bytes, n) || !find_section(&im, &section, name) || section.sh_type == SHT_NOBITS)
        return tt__fail(TT_E_UNSUPPORTED, "the compiled code has no kernel %s", kernel);
    *out = im.bytes + section.sh_offset;
    *size = section.sh_size;
    return TT_OK;
}

/* ---- Instructions
 *
 * Since Volta each has 16 bytes. The lowest nine bits say what it does, and the next three where its operands
 * are. The numbers were found by compiling code with known instructions for 8.0, 9.0 and 10.0, and a test
 * does so again. */

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

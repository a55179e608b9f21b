/*
 * The section .nv.info is a list of attributes. Each has a byte for its format, a byte for its kind, and two
 * bytes for its value. In the sized format these two bytes are the number of bytes that follow. We read
 * attributes that are pairs: the kernel's index in the symbol table, and a value. Shared memory is a section
 * for each kernel. Since sm_90 it includes the 1024 bytes that the system reserves in each block, which the
 * driver does not count as the kernel's. Every offset is checked before it is used.
 */
#include "gpu/cubin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    FORMAT_SIZED = 4,
    ATTRIBUTE_FRAME_SIZE = 0x11,
    ATTRIBUTE_REGS = 0x2f,
    PAIR_BYTES = 8,
    RESERVED_SHARED_BYTES = 1024,
};

typedef struct image {
    const unsigned char *bytes;
    size_t n;
    Elf64_Ehdr header;
    Elf64_Shdr names; /* the section that has the names of sections */
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

/* Is the string at `offset` in this string section equal to `text`? */
static bool is_text(const image *im, const Elf64_Shdr *texts, uint64_t offset, const char *text) {
    size_t n = strlen(text) + 1;
    return texts->sh_type != SHT_NOBITS && offset <= texts->sh_size && n <= texts->sh_size - offset &&
           memcmp(im->bytes + texts->sh_offset + offset, text, n) == 0;
}

static bool find_section(const image *im, Elf64_Shdr *out, const char *name) {
    for (unsigned i = 0; i < im->header.e_shnum; i++)
        if (take_section(im, out, i) && is_text(im, &im->names, out->sh_name, name))
            return true;
    return false;
}

/* Is the symbol with this index the kernel? */
static bool is_kernel(const image *im, uint32_t index, const char *kernel) {
    Elf64_Shdr symbols, names;
    Elf64_Sym symbol;
    return find_section(im, &symbols, ".symtab") && symbols.sh_type == SHT_SYMTAB &&
           take_section(im, &names, symbols.sh_link) && index < symbols.sh_size / sizeof symbol &&
           take(im, &symbol, symbols.sh_offset + (uint64_t)index * sizeof symbol, sizeof symbol) &&
           is_text(im, &names, symbol.st_name, kernel);
}

static void read_info(tt__cubin_needs *out, const image *im, const Elf64_Shdr *info, const char *kernel) {
    unsigned char head[4];
    for (uint64_t at = info->sh_offset, end = at + info->sh_size; at + sizeof head <= end;) {
        uint16_t size = 0;
        uint32_t pair[2];
        if (!take(im, head, at, sizeof head))
            return;
        at += sizeof head;
        if (head[0] != FORMAT_SIZED)
            continue;
        memcpy(&size, head + 2, sizeof size);
        if (size == PAIR_BYTES && (head[1] == ATTRIBUTE_REGS || head[1] == ATTRIBUTE_FRAME_SIZE) &&
            take(im, pair, at, sizeof pair) && pair[1] <= INT32_MAX && is_kernel(im, pair[0], kernel))
            *(head[1] == ATTRIBUTE_REGS ? &out->regs : &out->stack_bytes) = (int)pair[1];
        at += size;
    }
}

tt_status tt__cubin_read(tt__cubin_needs *out, const void *bytes, size_t n, const char *kernel) {
    image im = {.bytes = bytes, .n = n};
    Elf64_Shdr section;
    char shared[128];
    *out = (tt__cubin_needs){0};
    snprintf(shared, sizeof shared, ".nv.shared.%s", kernel);
    if (take(&im, &im.header, 0, sizeof im.header) && memcmp(im.header.e_ident, ELFMAG, SELFMAG) == 0 &&
        im.header.e_ident[EI_CLASS] == ELFCLASS64 && im.header.e_shoff <= n &&
        take_section(&im, &im.names, im.header.e_shstrndx) && find_section(&im, &section, ".nv.info") &&
        section.sh_type != SHT_NOBITS)
        read_info(out, &im, &section, kernel);
    if (out->regs < 1)
        return tt__fail(TT_E_UNSUPPORTED, "the compiled code does not say how many registers %s takes",
                        kernel);
    if (find_section(&im, &section, shared) && section.sh_size <= INT32_MAX) {
        int bytes = (int)section.sh_size;
        bool reserved =
            find_section(&im, &section, ".nv.shared.reserved.0") && bytes >= RESERVED_SHARED_BYTES;
        out->static_shared_bytes = bytes - (reserved ? RESERVED_SHARED_BYTES : 0);
    }
    return TT_OK;
}

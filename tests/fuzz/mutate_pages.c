/* SQLite databases, changed so that they stay databases: mostly a value of a record or its type, sometimes
 * the head of a page or where its cells are. The size of the file stays what it is. The format is that of
 * https://sqlite.org/fileformat2.html. */
#include "mutate_pages.h"

#include <stdbool.h>
#include <string.h>

#include "fuzz.h"

typedef struct page {
    uint8_t *at; /* the page */
    size_t size, head;
} page;

static size_t get16(const uint8_t *p) {
    return (size_t)p[0] << 8 | p[1];
}

/* Reads the varint at *at; false where it leaves the page. */
static bool varint(const page *p, size_t *at, uint64_t *out) {
    *out = 0;
    for (int i = 0; i < 9 && *at < p->size; i++) {
        uint8_t byte = p->at[(*at)++];
        *out = i == 8 ? *out << 8 | byte : *out << 7 | (byte & 0x7f);
        if (!(byte & 0x80) || i == 8)
            return true;
    }
    return false;
}

static size_t value_size(uint64_t type) {
    static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return type < 12 ? sizes[type] : (size_t)((type - 12) / 2 & 0xffff);
}

/* Another type of the same size, or a type that takes slightly more or less of the next bytes. */
static uint8_t other_type(uint8_t type, unsigned *r) {
    static const uint8_t empty[] = {0, 8, 9, 12, 13};
    if (fuzz_random(r, 4) == 0)
        return (uint8_t)fuzz_random(r, 30);
    if (value_size(type) == 0)
        return empty[fuzz_random(r, sizeof empty)];
    if (type == 6 || type == 7)
        return type ^ 1;
    return type >= 12 ? type ^ 1 : (uint8_t)(1 + fuzz_random(r, 7));
}

static void change_value(uint8_t *value, size_t n, unsigned *r) {
    static const uint64_t whole[] = {0,
                                     1,
                                     2,
                                     UINT64_MAX,
                                     INT64_MAX,
                                     (uint64_t)INT64_MIN,
                                     1u << 31,
                                     UINT64_C(1) << 44,
                                     UINT64_C(4102444800001),
                                     0x7ff0000000000000,
                                     0x7ff8000000000000,
                                     0xfff0000000000000,
                                     0x7fefffffffffffff,
                                     1};
    uint64_t number = whole[fuzz_random(r, sizeof whole / sizeof *whole)];
    if (n == 0)
        return;
    if (n <= 8 && fuzz_random(r, 2))
        for (size_t i = 0; i < n; i++)
            value[n - 1 - i] = (uint8_t)(number >> 8 * i);
    else if (fuzz_random(r, 2))
        value[fuzz_random(r, n)] = (uint8_t) " =_/.0aZ-\0\x7f\xff\t"[fuzz_random(r, 13)];
    else
        LLVMFuzzerMutate(value, n, n);
}

/* Changes the record of a cell with its payload at `at`. */
static void change_record(page *p, size_t at, unsigned *r) {
    size_t types = at, columns[64], n = 0;
    uint64_t head, type;
    if (!varint(p, &types, &head) || head > p->size || at + head > p->size)
        return;
    size_t value = at + (size_t)head, wanted = fuzz_random(r, 64), found = 0, found_n = 0;
    for (; types < at + head && n < 64; n++) {
        columns[n] = types;
        if (!varint(p, &types, &type))
            return;
        if (n <= wanted) { /* the last one, if there are fewer */
            found = value;
            found_n = value_size(type);
        }
        value += value_size(type);
    }
    if (n == 0)
        return;
    size_t column = wanted < n ? wanted : fuzz_random(r, n);
    if (fuzz_random(r, 3) == 0)
        p->at[columns[column]] = other_type(p->at[columns[column]], r);
    else if (found + found_n <= p->size)
        change_value(p->at + found, found_n, r);
}

static void change_cell(page *p, size_t n_cells, size_t pointers, unsigned *r) {
    uint64_t length, row;
    size_t at = pointers + 2 * fuzz_random(r, n_cells);
    if (at + 2 > p->size)
        return;
    at = get16(p->at + at);
    uint8_t type = p->at[p->head];
    at += type == 2 || type == 5 ? 4 : 0; /* the child */
    size_t start = at;
    if (type == 5) { /* only a row number */
        if (at < p->size)
            p->at[at] ^= (uint8_t)(1u << fuzz_random(r, 7));
        return;
    }
    if (!varint(p, &at, &length) || (type == 13 && !varint(p, &at, &row)))
        return;
    if (fuzz_random(r, 16) == 0)
        p->at[start + fuzz_random(r, at - start)] ^= (uint8_t)(1u << fuzz_random(r, 7));
    else
        change_record(p, at, r);
}

size_t fuzz_mutate_pages(uint8_t *d, size_t size, size_t max_size, unsigned seed) {
    unsigned r = seed;
    size_t page_size = size < 512 ? 0 : get16(d + 16) == 1 ? 65536 : get16(d + 16);
    if (page_size < 512 || page_size & (page_size - 1) || size < 2 * page_size || fuzz_random(&r, 64) == 0)
        return LLVMFuzzerMutate(d, size, max_size);
    size_t pages = size / page_size, which = 0;
    for (int i = 0; i < 8 && (which == 0 || get16(d + which * page_size + 3) == 0); i++)
        which = fuzz_random(&r, pages); /* the first if need be: most of its changes are no database */
    page p = {d + which * page_size, page_size, which == 0 ? 100 : 0};
    size_t pointers = p.head + (p.at[p.head] < 8 ? 12 : 8), n_cells = get16(p.at + p.head + 3);
    unsigned what = fuzz_random(&r, 64);
    if (what == 0)
        p.at[p.head + fuzz_random(&r, 12)] ^= (uint8_t)(1u << fuzz_random(&r, 8));
    else if (what == 1)
        memmove(p.at, d + fuzz_random(&r, pages) * page_size, page_size);
    else if (what == 2 && n_cells && pointers + 2 * n_cells <= page_size)
        memmove(p.at + pointers + 2 * fuzz_random(&r, n_cells),
                p.at + pointers + 2 * fuzz_random(&r, n_cells), 2);
    else if (n_cells)
        change_cell(&p, n_cells, pointers, &r);
    else
        return LLVMFuzzerMutate(d, size, max_size);
    return size;
}

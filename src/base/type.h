/*
 * Element types of buffers and types of arguments: a table with their names here and in CUDA C++.
 */
#ifndef TT_BASE_TYPE_H
#define TT_BASE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tt__type {
    TT__TYPE_NONE = 0,
    TT__TYPE_BOOL,
    TT__TYPE_I8,
    TT__TYPE_U8,
    TT__TYPE_I16,
    TT__TYPE_U16,
    TT__TYPE_I32,
    TT__TYPE_U32,
    TT__TYPE_I64,
    TT__TYPE_U64,
    TT__TYPE_F16,
    TT__TYPE_BF16,
    TT__TYPE_F32,
    TT__TYPE_F64,
    TT__TYPE_E4M3,
    TT__TYPE_E5M2,
    TT__TYPE_ELEM, /* elem_size bytes of anything */
    TT__TYPE_COUNT
} tt__type;

typedef struct tt__type_info {
    const char *name; /* "f32" */
    const char *cuda; /* "float". For f16, bf16 and fp8, the type of their bits, because NVRTC knows them only
                         with headers */
    int size;         /* bytes; 0: elem_size */
    bool floating;
    double most;   /* of a floating type */
    bool argument; /* may be the type of an expression in `args` */
} tt__type_info;

/* Indexed by tt__type. All fields of TT__TYPE_NONE are empty. */
extern const tt__type_info tt__types[TT__TYPE_COUNT];

/* The type of that name, or TT__TYPE_NONE. */
tt__type tt__type_named(const char *name, size_t n);

enum { TT__TYPE_TEXT_MAX = 16 };
/* The name here of a type of C++: "i64" for long long, "f32x2" for float2. False: it is none. */
bool tt__type_meant(char out[TT__TYPE_TEXT_MAX], const char *name, size_t n);
/* Bytes of a type by its name here or in C++, with lanes, as in f32x4, or as a pointer; 0: it is none. */
int tt__type_bytes(const char *name, size_t n);

/* Bytes of an element; elem_size if the type has no size of its own. */
static inline int tt__type_size(tt__type type, int elem_size) {
    return tt__types[type].size ? tt__types[type].size : elem_size;
}

/* The least and the largest number of a type. Of 64 bits they are rounded to a double. */
void tt__type_range(double *least, double *most, tt__type type);

/* Writes a number of the type: `f` of a floating one, else `i`. Not for fp8 and TT__TYPE_ELEM. */
void tt__type_store(void *to, tt__type type, int64_t i, double f);

/* The element at `at` as text: "3.5", "-7", "0x00ff". Returns out. */
char *tt__type_text(char *out, size_t size, tt__type type, int elem_size, const void *at);

#endif

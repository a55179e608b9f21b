/*
 * Members of structs as tables, to read rows, and for JSON in both directions. The order is that of the
 * columns in db/sql.h.
 */
#ifndef TT_DB_FIELD_H
#define TT_DB_FIELD_H

#include "base/hash.h"
#include "base/json.h"
#include "base/model.h"

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct sqlite3_context sqlite3_context;

typedef enum tt__field_kind { TT__FIELD_TEXT, TT__FIELD_INT, TT__FIELD_I64, TT__FIELD_F64 } tt__field_kind;

typedef struct tt__field {
    const char *name; /* name of the column, and path in the JSON object */
    tt__field_kind kind;
    size_t offset, size; /* size: of the array for a text */
    double min, max;     /* allowed range; for a text, of its length */
    bool optional;       /* may be missing in JSON, which means "" or 0 */
} tt__field;

#define TT__FIELD_TEXT_OF(type, m, path, min, opt)                                                           \
    { path, TT__FIELD_TEXT, offsetof(type, m), sizeof(((type *)0)->m), min, sizeof(((type *)0)->m) - 1, opt }
#define TT__FIELD_NUM_OF(type, m, path, kind, min, max, opt)                                                 \
    { path, kind, offsetof(type, m), 0, min, max, opt }

enum { TT__GPU_FIELDS = 9, TT__GPU_ID_FIELDS = 5, TT__ENV_FIELDS = 3 };
extern const tt__field tt__gpu_fields[TT__GPU_FIELDS]; /* the first TT__GPU_ID_FIELDS identify a GPU */
extern const tt__field tt__env_fields[TT__ENV_FIELDS];

/* Reads members from columns from `first` on. Returns the column after them. */
int tt__fields_read(sqlite3_stmt *stmt, int first, const tt__field *f, size_t n, void *object);
/* The same, if type, range and length of all columns are right. Otherwise TT_E_INVALID names the field. */
tt_status tt__fields_read_checked(sqlite3_stmt *stmt, int first, const tt__field *f, size_t n, void *object);

void tt__fields_write_json(tt__json *j, const tt__field *f, size_t n, const void *object);

/* A value of JSON. Those inside an object or array follow it. */
typedef struct tt__member {
    const char *key;  /* NULL in an array */
    const char *type; /* object, array, text, integer, real, true, false or null */
    const char *text; /* of a text without quotes, of a number as it is written, of true 1, of false 0 */
    int len;          /* of the text */
    double number;
    size_t span; /* how many values it is, with those inside */
} tt__member;

/* The members of an object or array, one after the other; NULL: there is none. */
static inline const tt__member *tt__member_first(const tt__member *of) {
    return of->span > 1 ? of + 1 : NULL;
}
static inline const tt__member *tt__member_next(const tt__member *of, const tt__member *v) {
    return v + v->span < of + of->span ? v + v->span : NULL;
}
/* The first of this name; NULL: there is none, or no object. */
const tt__member *tt__member_named(const tt__member *of, const char *key);

/* Reads the members of an object (NULL: there is none). The fields are named `prefix` and the member's name:
 * "" or "times.". TT_E_INVALID says "member is this: expected that". The caller adds the place. */
tt_status tt__fields_read_json(const tt__member *of, const char *prefix, const tt__field *f, size_t n,
                               void *object);

/* ---- Checks of rows and texts, for import, merge and `tune check` ------------------------------- */

/* Names must be words without repetition, numbers 1 to 2^44, types known. The meaning of variables is not
 * checked. */
tt_status tt__check_problem(const tt__problem *p);
/* A kernel's name must be an identifier. */
tt_status tt__check_kernel(const char *kernel);
/* "TILE_DIM=32 MODE=fast": names and words, separated by single blanks. "" is a template without
 * parameters. */
tt_status tt__check_config(const char *config);

/* These read columns from `at` on: a GPU, an environment, or a configuration (kernel, op, hash, text). */
tt_status tt__checked_gpu(sqlite3_stmt *stmt, int at, tt__gpu *out);
tt_status tt__checked_env(sqlite3_stmt *stmt, int at, tt__env *out);

typedef struct tt__checked_text {
    char kernel[TT__NAME_MAX], op[TT__NAME_MAX], hash[TT__HASH_SIZE], config[TT__CONFIG_MAX];
} tt__checked_text;
tt_status tt__checked_config(sqlite3_stmt *stmt, int at, tt__checked_text *out);

#endif

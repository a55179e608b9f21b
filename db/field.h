/*
 * The members of tt__gpu and tt__env as tables, so that statements, JSON out and JSON in go
 * through one list each. The order is that of the columns in db/sql.h.
 */
#ifndef TT_DB_FIELD_H
#define TT_DB_FIELD_H

#include <sqlite3.h>

#include "base/json.h"
#include "base/model.h"

typedef enum tt__field_kind { TT__FIELD_TEXT, TT__FIELD_INT, TT__FIELD_I64, TT__FIELD_F64 } tt__field_kind;

typedef struct tt__field {
    const char *name; /* column, and path below its JSON object */
    tt__field_kind kind;
    size_t offset, size; /* size: of a text's array */
    double min, max;     /* legal range in JSON; of a text's length */
    bool optional;       /* may be missing in JSON: then "" or 0 */
} tt__field;

#define TT__FIELD_TEXT_OF(type, m, path, min, opt)                                                           \
    { path, TT__FIELD_TEXT, offsetof(type, m), sizeof(((type *)0)->m), min, sizeof(((type *)0)->m) - 1, opt }
#define TT__FIELD_NUM_OF(type, m, path, kind, min, max, opt)                                                 \
    { path, kind, offsetof(type, m), 0, min, max, opt }

enum { TT__GPU_FIELDS = 9, TT__GPU_ID_FIELDS = 5, TT__ENV_FIELDS = 3 };
extern const tt__field tt__gpu_fields[TT__GPU_FIELDS]; /* the first TT__GPU_ID_FIELDS are its identity */
extern const tt__field tt__env_fields[TT__ENV_FIELDS];

/* Binds members to the parameters from `first` on. The object must outlive the statement's use. */
int tt__fields_bind(sqlite3_stmt *stmt, int first, const tt__field *f, size_t n, const void *object);
/* Reads members from the columns from `first` on; returns the column after them. */
int tt__fields_read(sqlite3_stmt *stmt, int first, const tt__field *f, size_t n, void *object);

/* Checks the columns that tt__fields_read would read: type, range, length. TT_E_INVALID
 * says which is what. */
tt_status tt__fields_check(sqlite3_stmt *stmt, int first, const tt__field *f, size_t n);

void tt__fields_write_json(tt__json *j, const tt__field *f, size_t n, const void *object);
/* Prepares a statement that takes an object's JSON as ?1, for tt__fields_read_json. NULL: out of memory. */
sqlite3_stmt *tt__fields_prepare_json(sqlite3 *db, const tt__field *f, size_t n);
/* Reads one object (`len` bytes of valid JSON). TT_E_INVALID says "member is this, expected that"; put
 * the object's place in front. */
tt_status tt__fields_read_json(sqlite3_stmt *stmt, const tt__field *f, size_t n, void *object,
                               const char *json, int len);

#endif

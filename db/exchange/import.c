/*
 * Takes a JSON file apart, of which a window is in memory. Its long parts are found by brackets and strings
 * alone. Each member of a part, and everything else, is then parsed in its place: a text ends with a NUL
 * where its quote was, so nothing is copied. Files of other tuners are told apart. docs/recordings.md says
 * which parts are read.
 */
#include "db/exchange/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/read_file.h"
#include "base/str.h"

/* ---- The bytes of a file, unpacked ------------------------------------------------------------------- */

#ifndef TT__IMPORT_PIECE
#define TT__IMPORT_PIECE (1 << 17) /* tests have less, so that members do not fit */
#endif
enum { UNPACKED_MAX = 1 << 29, GZIP = 16 + MAX_WBITS, PIECE = TT__IMPORT_PIECE };

typedef struct tt__unpacking {
    int fd;
    size_t size, at;    /* of a file that is not packed, and how much of it has been read */
    bool packed, ended; /* ended: all of it is unpacked */
    z_stream z;
    unsigned char in[PIECE];
} unpacking;

static tt_status open_bytes(tt__import *m) {
    size_t n;
    unpacking *f = m->file = calloc(1, sizeof *f);
    if (!f)
        return tt__fail_memory(sizeof *f);
    f->fd = -1;
    TT_TRY(tt__read_open(m->path, TT__FILE_BYTES_MAX, &f->fd, &f->size));
    TT_TRY(tt__read_on(f->fd, m->path, f->in, sizeof f->in, &n));
    if (n >= 2 && memcmp(f->in, "\x1f\x8b", 2) == 0) {
        if (inflateInit2(&f->z, GZIP) != Z_OK)
            return tt__fail_memory(0);
        f->packed = true;
    }
    return TT_OK;
}

static void close_bytes(tt__import *m) {
    if (m->file && m->file->packed)
        inflateEnd(&m->file->z);
    if (m->file && m->file->fd >= 0)
        close(m->file->fd);
    free(m->file);
    free(m->window.text);
}

/* What follows is read from here on. A packed file is read from its start again. */
static tt_status seek_to(tt__import *m, size_t offset) {
    unpacking *f = m->file;
    m->window.len = 0;
    m->base = f->at = f->packed ? 0 : offset;
    f->ended = false;
    f->z.avail_in = 0;
    if (f->packed)
        inflateReset(&f->z);
    return lseek(f->fd, (off_t)f->at, SEEK_SET) >= 0 ? TT_OK : tt__fail(TT_E_IO, "cannot read %s", m->path);
}

static tt_status unpack(tt__import *m, char *out, size_t size, size_t *n) {
    unpacking *f = m->file;
    int rc = Z_OK;
    f->z.next_out = (unsigned char *)out;
    f->z.avail_out = (unsigned)size;
    while (rc == Z_OK && f->z.avail_out && !f->ended) {
        size_t got = f->z.avail_in;
        if (!got) {
            TT_TRY(tt__read_on(f->fd, m->path, f->in, sizeof f->in, &got));
            f->z.next_in = f->in;
            f->z.avail_in = (unsigned)got;
        }
        rc = inflate(&f->z, Z_NO_FLUSH);
        f->ended = rc == Z_STREAM_END;
    }
    *n = size - f->z.avail_out;
    if (rc == Z_MEM_ERROR)
        return tt__fail_memory(0);
    if (rc != Z_OK && !f->ended)
        return tt__fail(TT_E_INVALID, "%s: gzip cannot unpack it (%s): is the file complete?", m->path,
                        f->z.msg ? f->z.msg : "it ends too early");
    return f->z.total_out <= UNPACKED_MAX
               ? TT_OK
               : tt__fail(TT_E_INVALID, "%s: more than %d bytes when unpacked: too large for a recording",
                          m->path, UNPACKED_MAX);
}

static tt_status read_bytes(tt__import *m, char *out, size_t size, size_t *n) {
    unpacking *f = m->file;
    *n = 0;
    if (f->packed)
        return unpack(m, out, size, n);
    if (f->at == f->size)
        return tt__read_end(f->fd, m->path, f->size);
    TT_TRY(tt__read_on(f->fd, m->path, out, size < f->size - f->at ? size : f->size - f->at, n));
    f->at += *n;
    return TT_OK;
}

/* Adds a piece to the window, or as much as it has already. *n: so many bytes; 0: the file has ended. */
static tt_status read_more(tt__import *m, size_t *n) {
    const size_t size = m->window.len > PIECE ? m->window.len : PIECE, cap = m->window.len + size + 1;
    if (cap > m->window.cap) {
        char *text = realloc(m->window.text, cap);
        if (!text)
            return tt__fail_memory(cap);
        m->window.text = text;
        m->window.cap = cap;
    }
    TT_TRY(read_bytes(m, m->window.text + m->window.len, size, n));
    m->window.len += *n;
    m->window.text[m->window.len] = '\0';
    return TT_OK;
}

/* Takes away what is before `at` in the window. */
static void drop_before(tt__import *m, size_t at) {
    m->window.len -= at;
    m->base += at;
    if (m->window.len)
        memmove(m->window.text, m->window.text + at, m->window.len);
}

static tt_status fail_changed(const tt__import *m) {
    return tt__fail(TT_E_IO, "cannot read %s: it was changed meanwhile", m->path);
}

/* Makes the window begin there. */
static tt_status go_to(tt__import *m, size_t offset) {
    size_t n;
    if (!m->file->packed || offset < m->base)
        TT_TRY(seek_to(m, offset));
    while (m->base + m->window.len < offset) {
        drop_before(m, m->window.len);
        TT_TRY(read_more(m, &n));
        if (!n)
            return fail_changed(m);
    }
    drop_before(m, offset - m->base);
    return TT_OK;
}

typedef struct hashing {
    tt__import *m;
    const char *lacks; /* what follows the text */
} hashing;

static tt_status next_piece(void *user, tt__hash_part *piece) {
    hashing *h = user;
    tt__import *m = h->m;
    size_t n = 0;
    drop_before(m, m->window.len);
    if (m->base < m->end) {
        TT_TRY(read_more(m, &n));
        *piece = (tt__hash_part){m->window.text, n < m->end - m->base ? n : m->end - m->base};
    }
    if (!n) {
        *piece = (tt__hash_part){h->lacks, strlen(h->lacks)};
        h->lacks = "";
    }
    return TT_OK;
}

tt_status tt__import_hash(tt__import *m, char out[TT__HASH_SIZE]) {
    TT_TRY(seek_to(m, 0));
    return tt__hash_pieces(out, next_piece, &(hashing){m, m->cut ? "}}" : ""});
}

/* ---- JSON in its place ------------------------------------------------------------------------------- */

enum { DEPTH_MAX = 1000, VALUES_MAX = 1 << 20 };

typedef struct parser {
    tt__parsed *out;
    int depth;
    bool no_memory, too_many;
} parser;

static inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static char *skip_blanks(char *at) {
    while (is_blank(*at))
        at++;
    return at;
}

static char *put_utf8(char *out, unsigned c) {
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *out++ = (char)((0xff00 >> (more + 1) & 0xff) | c >> 6 * more);
    for (int i = more - 1; i >= 0; i--)
        *out++ = (char)(0x80 | (c >> 6 * i & 0x3f));
    return out;
}

/* Four hexadecimal digits; -1: they are not. */
static int read_hex(const char *at) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef", *digit = at[i] ? strchr(digits, at[i] | 0x20) : NULL;
        if (!digit || (at[i] < '0'))
            return -1;
        value = value << 4 | (int)(digit - digits);
    }
    return value;
}

/* What follows a backslash. NULL: there is no such escape. */
static char *read_escape(char **at, char *out) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = *(*at)++, *name = c ? strchr(names, c) : NULL;
    if (name) {
        *out = values[name - names];
        return out + 1;
    }
    int high = c == 'u' ? read_hex(*at) : -1;
    if (high < 0)
        return NULL;
    *at += 4;
    const int low = high >> 10 == 0x36 && (*at)[0] == '\\' && (*at)[1] == 'u' ? read_hex(*at + 2) : -1;
    if (low >> 10 != 0x37)
        return put_utf8(out, (unsigned)high);
    *at += 6;
    return put_utf8(out, 0x10000u + (((unsigned)high & 0x3ff) << 10 | ((unsigned)low & 0x3ff)));
}

/* Reads a text at its first quote, and makes the last one a NUL. Returns what follows; NULL: it is no text.
 */
static char *parse_text(char *at, const char **text, int *len) {
    char *out = ++at;
    *text = at;
    while (*at != '"') {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            *out++ = *at++;
        else if (at++, !(out = read_escape(&at, out)))
            return NULL;
    }
    *out = '\0';
    *len = (int)(out - *text);
    return at + 1;
}

/* Few digits need no strtod: both numbers are exact, and a division rounds only once. */
static double read_number(const char *at, uint64_t digits, int n, int places) {
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    if (n >= (int)TT__COUNT(powers))
        return tt__strtod(at, NULL);
    const double value = (double)digits / powers[places];
    return *at == '-' ? -value : value;
}

static char *parse_number(char *at, tt__member *v) {
    enum { MANY = 1000 }; /* an exponent, or too many digits */
    char *from = at;
    uint64_t digits = 0;
    int n = 0, places = 0;
    v->type = "integer";
    at += *at == '-';
    if (!is_digit(*at) || (*at == '0' && is_digit(at[1])))
        return NULL;
    for (; is_digit(*at); at++, n++)
        digits = digits * 10 + (uint64_t)(*at - '0');
    if (*at == '.') {
        v->type = "real";
        if (!is_digit(*++at))
            return NULL;
        for (; is_digit(*at); at++, n++, places++)
            digits = digits * 10 + (uint64_t)(*at - '0');
    }
    if (*at == 'e' || *at == 'E') {
        v->type = "real";
        n = MANY;
        at++;
        at += *at == '+' || *at == '-';
        if (!is_digit(*at))
            return NULL;
        while (is_digit(*at))
            at++;
    }
    v->text = from;
    v->len = (int)(at - from);
    v->number = read_number(from, digits, n, places);
    return at;
}

static char *parse_word(char *at, tt__member *v) {
    static const struct { const char *word, *text; } words[] = {{"true", "1"}, {"false", "0"}, {"null", ""}};
    for (size_t i = 0; i < TT__COUNT(words); i++) {
        const size_t n = strlen(words[i].word);
        if (strncmp(at, words[i].word, n) != 0)
            continue;
        v->type = words[i].word;
        v->text = words[i].text;
        v->len = (int)strlen(v->text);
        v->number = *v->text == '1';
        return at + n;
    }
    return NULL;
}

static char *parse_value(parser *p, char *at, const char *key);

static char *parse_members(parser *p, char *at) {
    const char last = *at == '{' ? '}' : ']';
    char next = ',';
    at = skip_blanks(at + 1);
    if (*at == last)
        return at + 1;
    while (next == ',') {
        const char *key = NULL;
        int len;
        if (last == '}') {
            if (*at != '"' || !(at = parse_text(at, &key, &len)))
                return NULL;
            at = skip_blanks(at);
            if (*at != ':')
                return NULL;
            at = skip_blanks(at + 1);
        }
        char *end = parse_value(p, at, key);
        if (!end)
            return NULL;
        at = skip_blanks(end);
        next = *at;
        *end = '\0'; /* of a number */
        at = skip_blanks(at + (next != '\0'));
    }
    return next == last ? at : NULL;
}

static bool push(parser *p, const tt__member *v) {
    tt__parsed *out = p->out;
    if ((p->too_many = out->n == VALUES_MAX))
        return false;
    if (out->n == out->cap) {
        const size_t cap = out->cap ? 2 * out->cap : 64;
        tt__member *items = realloc(out->items, cap * sizeof *items);
        if ((p->no_memory = !items))
            return false;
        out->items = items;
        out->cap = cap;
    }
    out->items[out->n++] = *v;
    return true;
}

/* Returns what follows; NULL: it is not JSON. */
static char *parse_value(parser *p, char *at, const char *key) {
    const size_t self = p->out->n;
    tt__member v = {.key = key, .text = ""};
    if (!push(p, &v))
        return NULL;
    if (*at == '{' || *at == '[') {
        v.type = *at == '{' ? "object" : "array";
        at = ++p->depth <= DEPTH_MAX ? parse_members(p, at) : NULL;
        p->depth--;
    } else if (*at == '"') {
        v.type = "text";
        at = parse_text(at, &v.text, &v.len);
    } else {
        at = is_digit(*at) || *at == '-' ? parse_number(at, &v) : parse_word(at, &v);
    }
    v.span = p->out->n - self;
    p->out->items[self] = v;
    return at;
}

/* Parses a text that ends with a NUL, and changes it. *yes: it is JSON. */
static tt_status parse(const tt__import *m, tt__parsed *out, char *text, bool *yes) {
    parser p = {.out = out};
    out->n = 0;
    char *end = parse_value(&p, skip_blanks(text), NULL);
    *yes = end && !*skip_blanks(end);
    if (p.too_many)
        return tt__fail(TT_E_INVALID, "%s: more than %d values in one place: too many for a recording",
                        m->path, VALUES_MAX);
    return p.no_memory ? tt__fail_memory(out->cap * sizeof *out->items) : TT_OK;
}

/* ---- Parts ------------------------------------------------------------------------------------------- */

static const struct {
    const char *outer, *name, *path; /* outer "": the file's own object */
    char bracket;
} parts[TT__FILE_COUNT] = {{"", "results", "results", '['},
                           {"", "cache", "cache", '{'},
                           {"metadata", "problems", "metadata.problems", '['}};

/* Of the file's own object and of its metadata all other objects and arrays may be long, too, and are
 * emptied. UNUSED: in one of them. */
static const char *const used[2][4] = {{"metadata", "tune_params_keys"},
                                       {"gpu", "environment", "kernels", "rules"}};
enum { UNUSED = TT__FILE_COUNT + 1 };

/* What matters where parts and members are told apart. */
enum { PLAIN, QUOTE, BACKSLASH, OPEN, CLOSE, COMMA, END };
static const unsigned char kinds[256] = {['"'] = QUOTE, ['\\'] = BACKSLASH, ['{'] = OPEN,  ['['] = OPEN,
                                         ['}'] = CLOSE, [']'] = CLOSE,      [','] = COMMA, ['\0'] = END};

/* A walk over the brackets of a text, piece by piece. */
typedef struct scan {
    tt__import *m;
    size_t depth, part_depth;
    char open[2];     /* the outermost brackets */
    char keys[2][24]; /* the last texts in them, cut */
    size_t n_key;
    char *key;   /* one is being read */
    bool inside; /* a text */
    int escape;  /* so many characters of \u0000 have come */
    bool ends;   /* a bracket too many was closed */
    int part;    /* tt__file_part, UNUSED, or TT__FILE_COUNT: in none */
    size_t kept; /* of the piece, begins to be kept there */
    size_t last; /* place and kind of the last character that is not blank */
    unsigned char last_kind;
} scan;

static tt_status fail_nul(const scan *s, bool escaped, size_t at) {
    return escaped
               ? tt__fail(TT_E_INVALID, "%s: a text has a NUL character at offset %zu", s->m->path, at - 5)
               : tt__fail(TT_E_INVALID, "%s: not JSON: a NUL byte at offset %zu", s->m->path, at);
}

/* A name with an escape may be any. */
static bool is_unused(const scan *s) {
    const char *const *names = used[s->depth - 1], *key = s->keys[s->depth - 1];
    bool is = !strchr(key, '\\') && (s->depth == 1 || strcmp(s->keys[0], "metadata") == 0);
    for (size_t i = 0; is && i < TT__COUNT(*used) && names[i]; i++)
        is = strcmp(key, names[i]) != 0;
    return is;
}

/* The part that begins with this bracket, UNUSED, or TT__FILE_COUNT. */
static int part_at(const scan *s, char bracket) {
    int p = 0;
    const size_t depth = s->depth;
    if (s->part != TT__FILE_COUNT || depth < 1 || depth > 2 || s->open[0] != '{' || s->open[depth - 1] != '{')
        return TT__FILE_COUNT;
    while (p < TT__FILE_COUNT &&
           !(parts[p].bracket == bracket && strcmp(s->keys[depth - 1], parts[p].name) == 0 &&
             (depth == 2 ? strcmp(s->keys[0], parts[p].outer) == 0 : !*parts[p].outer)))
        p++;
    if (p < TT__FILE_COUNT)
        return s->m->parts[p].begin ? TT__FILE_COUNT : p;
    return is_unused(s) ? UNUSED : TT__FILE_COUNT;
}

static void open_bracket(scan *s, size_t at) {
    tt__import *m = s->m;
    const char bracket = m->window.text[at];
    const int begins = part_at(s, bracket);
    if (s->depth < 2)
        s->open[s->depth] = bracket;
    s->depth++;
    if (begins == TT__FILE_COUNT)
        return;
    s->part = begins;
    s->part_depth = s->depth;
    if (begins < TT__FILE_COUNT)
        m->parts[begins].begin = m->base + at + 1;
    tt__str_addn(&m->rest_text, m->window.text + s->kept, at + 1 - s->kept);
}

static void close_bracket(scan *s, size_t at) {
    s->ends = s->ends || !s->depth;
    s->depth -= s->depth > 0;
    if (s->part == TT__FILE_COUNT || s->depth >= s->part_depth)
        return;
    if (s->part < TT__FILE_COUNT)
        s->m->parts[s->part].end = s->m->base + at;
    s->part = TT__FILE_COUNT;
    s->kept = at;
}

static void begin_text(scan *s) {
    s->inside = true;
    s->n_key = 0;
    s->key = s->part == TT__FILE_COUNT && s->depth >= 1 && s->depth <= 2 ? s->keys[s->depth - 1] : NULL;
}

/* A character in a text. */
static tt_status take_character(scan *s, size_t at) {
    static const char nul[] = "u0000";
    const char c = s->m->window.text[at];
    if (s->escape && (s->escape == 1 || c == nul[s->escape - 1])) {
        s->escape = c == nul[s->escape - 1] ? s->escape + 1 : 0;
        return s->escape == sizeof nul ? fail_nul(s, true, s->m->base + at) : TT_OK;
    }
    s->escape = c == '\\';
    s->inside = c != '"';
    if (!c)
        return fail_nul(s, false, s->m->base + at);
    if (s->key && c == '"')
        s->key[s->n_key] = '\0';
    else if (s->key && s->n_key < sizeof *s->keys - 1)
        s->key[s->n_key++] = c;
    return TT_OK;
}

static tt_status scan_piece(scan *s) {
    tt__import *m = s->m;
    const char *text = m->window.text;
    const size_t len = m->window.len;
    s->kept = 0;
    for (size_t at = 0; at < len; at++) {
        if (!s->inside || !(s->escape || s->key))
            while (at < len && !kinds[(unsigned char)text[at]])
                at++;
        if (at == len)
            break;
        const unsigned char kind = kinds[(unsigned char)text[at]];
        if (s->inside)
            TT_TRY(take_character(s, at));
        else if (kind == QUOTE)
            begin_text(s);
        else if (kind == OPEN)
            open_bracket(s, at);
        else if (kind == CLOSE)
            close_bracket(s, at);
        else if (kind == END)
            return fail_nul(s, false, m->base + at);
    }
    if (s->part == TT__FILE_COUNT)
        tt__str_addn(&m->rest_text, text + s->kept, len - s->kept);
    for (size_t at = len; at > 0; at--)
        if (!is_blank(text[at - 1])) {
            s->last = m->base + at - 1;
            s->last_kind = kinds[(unsigned char)text[at - 1]];
            break;
        }
    return TT_OK;
}

/* While Kernel Tuner runs, its cache file ends with a comma. */
static void end_cache(scan *s) {
    tt__import *m = s->m;
    m->cut = !s->inside && s->part == TT__FILE_CACHE && s->depth == s->part_depth;
    if (!m->cut)
        return;
    m->parts[TT__FILE_CACHE].end = m->end = s->last + (s->last_kind != COMMA);
    tt__str_add(&m->rest_text, "}}");
    s->depth = 0;
}

static tt_status split(tt__import *m) {
    scan s = {.m = m, .part = TT__FILE_COUNT};
    bool yes = false;
    size_t n, bytes;
    TT_TRY(seek_to(m, 0));
    do {
        drop_before(m, m->window.len);
        TT_TRY(read_more(m, &n));
        TT_TRY(scan_piece(&s));
    } while (n);
    m->end = bytes = m->base;
    end_cache(&s);
    TT_TRY(tt__str_check(&m->rest_text));
    if (m->rest_text.len && !s.depth && !s.ends && !s.inside)
        TT_TRY(parse(m, &m->rest, m->rest_text.text, &yes));
    return yes ? TT_OK
               : tt__fail(TT_E_INVALID, "%s: not valid JSON (%zu bytes): is the file complete?", m->path,
                          bytes);
}

tt_status tt__import_open(tt__import *m) {
    TT_TRY(open_bytes(m));
    return split(m);
}

void tt__import_close(tt__import *m) {
    close_bytes(m);
    tt__str_free(&m->rest_text);
    tt__str_free(&m->configs.names);
    tt__str_free(&m->configs.name);
    free(m->configs.slots);
    free(m->rest.items);
    free(m->part.items);
}

/* ---- Members of a part -------------------------------------------------------------------------------- */

tt_status tt__import_object(tt__import *m, const tt__member *in, const char *name, const char *where,
                            const tt__member **out) {
    *out = tt__member_named(in, name);
    return *out && *(*out)->type == 'o'
               ? TT_OK
               : tt__fail(TT_E_INVALID, "%s: %s is %s: expected an object, as `tune export` writes it",
                          m->path, where, *out ? (*out)->type : "missing");
}

static const tt__member *find_part(const tt__import *m, tt__file_part part) {
    const tt__member *in =
        *parts[part].outer ? tt__member_named(m->rest.items, parts[part].outer) : m->rest.items;
    return in ? tt__member_named(in, parts[part].name) : NULL;
}

tt_status tt__import_begin(tt__import *m, tt__file_part part) {
    const tt__member *found = find_part(m, part);
    const char *type = parts[part].bracket == '[' ? "array" : "object";
    const bool is_other = found && strcmp(found->type, type) != 0;
    if (!m->parts[part].begin || is_other) /* a name with an escape begins none */
        return tt__fail(TT_E_INVALID, "%s: %s is %s: expected an %s, as `tune export` writes it", m->path,
                        parts[part].path, is_other ? found->type : "missing", type);
    m->walked = part;
    m->n_members = 0;
    m->more = true;
    m->at = 0;
    return go_to(m, m->parts[part].begin);
}

/* The end of a member, at the comma behind it, or `end`. */
static size_t end_of_member(const char *text, size_t at, size_t end) {
    bool inside = false;
    for (size_t depth = 0; at < end; at++) {
        const unsigned char kind = kinds[(unsigned char)text[at]];
        if (!kind)
            continue;
        if (kind == QUOTE)
            inside = !inside;
        else if (inside)
            at += kind == BACKSLASH;
        else if (kind == COMMA && !depth)
            return at;
        else
            depth = depth + (kind == OPEN) - (kind == CLOSE && depth);
    }
    return end;
}

/* Reads on until the window has the next member. */
static tt_status find_end(tt__import *m, size_t *last) {
    const size_t part_end = m->parts[m->walked].end;
    for (;;) {
        size_t n, end = part_end - m->base;
        const bool whole = end <= m->window.len;
        *last = end_of_member(m->window.text, m->at, whole ? end : m->window.len);
        m->more = *last < (whole ? end : m->window.len);
        if (whole || m->more)
            return TT_OK;
        drop_before(m, m->at);
        m->at = 0;
        TT_TRY(read_more(m, &n));
        if (!n)
            return fail_changed(m);
    }
}

/* The value of a member of an object. Of what is no member all is returned, which is not JSON. */
static char *skip_key(char *at) {
    const char *key;
    int len;
    char *value = *at == '"' ? parse_text(at, &key, &len) : NULL;
    value = value ? skip_blanks(value) : NULL;
    return value && *value == ':' ? skip_blanks(value + 1) : at;
}

/* *any: there is a member. *yes: it is JSON. */
static tt_status take_member(tt__import *m, bool *any, bool *yes) {
    size_t last;
    TT_TRY(find_end(m, &last));
    m->window.text[last] = '\0';
    char *at = skip_blanks(m->window.text + m->at);
    m->at = last + 1;
    *yes = false;
    *any = m->more || m->n_members || *at;
    if (!*any)
        return TT_OK;
    snprintf(m->place, sizeof m->place, "%s[%zu]", parts[m->walked].path, m->n_members++);
    return parse(m, &m->part, parts[m->walked].bracket == '{' ? skip_key(at) : at, yes);
}

/* One measurement that is no number does not cost the others of hours. */
tt_status tt__import_leave_out(tt__import *m) {
    if (m->r->n_left_out++ == 0)
        tt__copy_short(m->r->left_out, sizeof m->r->left_out, tt_last_error());
    return TT_OK;
}

bool tt__import_next(tt__import *m, const tt__member **out, tt_status *status) {
    bool any = false, yes = false;
    while (*status == TT_OK && m->more) {
        *status = take_member(m, &any, &yes);
        *out = m->part.items;
        if (*status != TT_OK || !any || yes)
            break;
        *status = tt__fail(TT_E_INVALID, "%s: %s is not valid JSON", m->path, m->place);
        if (m->cache)
            *status = tt__import_leave_out(m);
        any = false;
    }
    return *status == TT_OK && any;
}

/* ---- Configurations, which many results share -------------------------------------------------- */

typedef struct tt__known_config known_config;

static known_config *find_slot(const tt__known_configs *k, uint64_t hash, const char *name) {
    size_t at = hash & k->mask;
    while (k->slots[at].name &&
           (k->slots[at].hash != hash || strcmp(k->names.text + k->slots[at].name, name) != 0))
        at = (at + 1) & k->mask;
    return &k->slots[at];
}

/* Keeps half of the slots free. */
static tt_status grow_configs(tt__known_configs *k) {
    tt__known_configs more = *k;
    if (k->slots && 2 * k->n <= k->mask)
        return TT_OK;
    more.mask = k->slots ? 2 * k->mask + 1 : 255;
    more.slots = calloc(more.mask + 1, sizeof *more.slots);
    if (!more.slots)
        return tt__fail_memory((more.mask + 1) * sizeof *more.slots);
    for (size_t i = 0; k->slots && i <= k->mask; i++)
        if (k->slots[i].name)
            *find_slot(&more, k->slots[i].hash, k->names.text + k->slots[i].name) = k->slots[i];
    free(k->slots);
    *k = more;
    return TT_OK;
}

static tt_status check_new(const tt__import *m, const char *kernel, const char *config) {
    tt_status status = tt__check_kernel(kernel);
    if (status == TT_OK)
        status = tt__check_config(config);
    return status == TT_OK ? TT_OK : tt__fail_prefix(status, "%s: %s", m->path, m->place);
}

tt_status tt__import_config(tt__import *m, const char *kernel, const char *op, const tt__str *config,
                            int64_t *id) {
    tt__known_configs *k = &m->configs;
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    TT_TRY(grow_configs(k));
    k->name.len = 0;
    tt__str_add(&k->name, kernel);
    tt__str_addn(&k->name, " ", 1);
    tt__str_add(&k->name, op);
    tt__str_addn(&k->name, " ", 1);
    tt__str_addn(&k->name, tt__str_text(config), config->len);
    TT_TRY(tt__str_check(&k->name));
    for (size_t i = 0; i < k->name.len; i++)
        hash = (hash ^ (unsigned char)k->name.text[i]) * UINT64_C(1099511628211);
    known_config *slot = find_slot(k, hash, k->name.text);
    if (!slot->name) {
        const char *hash_of_text = tt__recording_hash(m->r, kernel);
        int64_t known;
        TT_TRY(check_new(m, kernel, tt__str_text(config)));
        TT_TRY(tt__store_config(m->r->store, kernel, op, hash_of_text ? hash_of_text : "",
                                tt__str_text(config), &known));
        tt__str_addn(&k->names, "", 1);
        *slot = (known_config){hash, k->names.len, known};
        tt__str_addn(&k->names, k->name.text, k->name.len);
        k->n++;
        TT_TRY(tt__str_check(&k->names));
    }
    *id = slot->id;
    return TT_OK;
}

/* ---- What it is -------------------------------------------------------------------------------- */

double tt__import_unit_ms(const char *unit) {
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"milliseconds", 1}, {"miliseconds", 1},     {"ms", 1},    {"seconds", 1e3},
                 {"s", 1e3},          {"microseconds", 1e-3}, {"us", 1e-3}, {"nanoseconds", 1e-6},
                 {"ns", 1e-6}};
    for (size_t i = 0; i < TT__COUNT(units); i++)
        if (tt__same_letters(unit, units[i].unit))
            return units[i].ms;
    return 0;
}

static tt_status read_unit(tt__import *m) {
    const tt__member *metadata = tt__member_named(m->rest.items, "metadata");
    const tt__member *unit = metadata ? tt__member_named(metadata, "timeunit") : NULL;
    const bool given = unit && strcmp(unit->type, "null") != 0;
    m->ms_per_unit = given ? tt__import_unit_ms(unit->text) : 1;
    return m->ms_per_unit > 0
               ? TT_OK
               : tt__fail(TT_E_INVALID,
                          "%s: metadata.timeunit is \"%.40s\": expected seconds, milliseconds, "
                          "microseconds or nanoseconds",
                          m->path, unit->text);
}

static tt_status fail_stranger(const tt__import *m, bool ktt) {
    return ktt ? tt__fail(TT_E_INVALID,
                          "%s: the output of KTT, which is not T4: its results have to become T4 first",
                          m->path)
               : tt__fail(TT_E_INVALID,
                          "%s: not a recording that `tune export` wrote, nor T4 results, nor a cache file of "
                          "Kernel "
                          "Tuner: it has no \"results\" and no \"cache\"",
                          m->path);
}

tt_status tt__import_tell(tt__import *m) {
    const tt__member *all = m->rest.items, *metadata = tt__member_named(all, "metadata");
    const tt__member *cache = find_part(m, TT__FILE_CACHE);
    if (metadata && tt__member_named(metadata, "format")) {
        m->foreign = NULL;
        return TT_OK;
    }
    m->cache = !find_part(m, TT__FILE_RESULTS);
    if (m->cache && !(cache && *cache->type == 'o'))
        return fail_stranger(m, tt__member_named(all, "Results"));
    if (!m->foreign || m->foreign->missing)
        return tt__fail(
            TT_E_INVALID, "%s: %s, which does not say %sthe kernel and the problem: %s", m->path,
            m->cache ? "a cache file of Kernel Tuner" : "T4 of another tuner", m->cache ? "" : "the GPU, ",
            m->foreign ? m->foreign->missing : "\"tune import\" takes it with --gpu and --kernel");
    m->ms_per_unit = 1;
    return m->cache ? TT_OK : read_unit(m);
}

tt_status tt__import_foreign_gpu(tt__import *m) {
    const char *slash = strrchr(m->path, '/');
    const tt__member *named = tt__member_named(m->rest.items, m->cache ? "device_name" : "device");
    const char *device = named && strcmp(named->type, "text") == 0 ? named->text : NULL;
    tt__gpu *gpu = &m->r->gpu;
    char text[TT__GPU_TEXT_MAX];
    *gpu = m->foreign->gpu;
    if (!*gpu->name)
        tt__gpu_set_text(gpu, device && *device ? device : slash ? slash + 1 : m->path);
    else if (device && !tt__has_letters(device, tt__gpu_text(text, gpu)) && !tt__has_letters(text, device))
        return tt__fail(TT_E_INVALID, "%s: device_name is \"%.90s\", and --gpu is %s", m->path, device, text);
    return TT_OK;
}

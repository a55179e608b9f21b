/*
 * Writes winners as a C file and its header. Tables and launches are made from the same numbers that a plan
 * has. What is the same in each file is in export_header.in and export_runtime.in.
 */
#include "tuner/cli/commands/export_c.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/read_file.h"
#include "code/cubin.h"
#include "kernel/load/builtin.h"
#include "kernel/space/operation.h"
#include "kernel/space/workload.h"
#include "tuner/cli/shell/files.h"

enum { PREFIX_MAX = 64, PORTABLE_CLUSTER_MAX = 8 };

typedef struct image {
    char hash[TT__HASH_SIZE];
} image;

typedef struct writing {
    const tt__exports *exports;
    char prefix[PREFIX_MAX], capitals[PREFIX_MAX]; /* "tuned_", "TUNED_" */
    tt__str source, header;                        /* paths */
    size_t n_images;
    image *images;
    size_t n_libraries; /* those of images, then one for each kernel with constants */
    int n_functions;    /* of the launch that has most */
    bool attributes;    /* some launch has some */
    tt__workload *workload;
    tt__str code, launches, rows, names; /* images; functions that launch; the table; all problems' names */
} writing;

/* ---- Names ----------------------------------------------------------------------------------------------
 */

static bool is_letter(char c) {
    return tt__is_alnum(c) || c == '_';
}

/* A text as part of a name: other characters become one '_'. */
static void add_word(tt__str *out, const char *text, bool capital) {
    for (; *text; text++) {
        char c = tt__is_alnum(*text) ? *text : '_';
        if (c == '_' && (!out->len || out->text[out->len - 1] == '_'))
            continue;
        if (capital && c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        tt__str_addn(out, &c, 1);
    }
    while (out->len && out->text[out->len - 1] == '_')
        out->text[--out->len] = '\0';
}

/* An operation's name as part of a function's: "reduce<T>" is reduce_T_. Returns out. */
static const char *op_name(char out[TT__NAME_MAX], const tt__problem *p) {
    size_t i = 0;
    for (; p->op[i]; i++)
        out[i] = is_letter(p->op[i]) ? p->op[i] : '_';
    out[i] = '\0';
    return out;
}

/* Words that name nothing in C or C++. */
static bool is_keyword(const char *name) {
    static const char words[] =
        " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept "
        "const "
        "const_cast constexpr continue co_await co_return co_yield decltype default delete do double "
        "dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
        "mutable "
        "namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
        "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast "
        "struct "
        "switch template this thread_local throw true try typedef typeid typename union unsigned using "
        "virtual "
        "void volatile wchar_t while xor xor_eq ";
    char padded[TT__NAME_MAX + 3];
    snprintf(padded, sizeof padded, " %s ", name);
    return strstr(words, padded) != NULL;
}

/* Appends text of a file that comes with the program: prefixes and the words between two @ are replaced. */
static tt_status add_file(tt__str *out, const writing *w, const char *text, const char *(*words)[2]) {
    for (char before = ' '; *text; before = text[-1]) {
        const bool start = !is_letter(before);
        if (start && strncmp(text, "tuned_", 6) == 0) {
            tt__str_add(out, w->prefix);
            text += 6;
        } else if (start && strncmp(text, "TUNED_", 6) == 0) {
            tt__str_add(out, w->capitals);
            text += 6;
        } else if (*text == '@') {
            const size_t n = strcspn(text + 1, "@");
            for (size_t i = 0; words[i][0]; i++)
                if (strlen(words[i][0]) == n && strncmp(words[i][0], text + 1, n) == 0)
                    tt__str_add(out, words[i][1]);
            text += n + 2;
        } else {
            tt__str_addn(out, text++, 1);
        }
    }
    return tt__str_check(out);
}

/* Text in a comment, which it must not end. */
static void add_comment(tt__str *out, const char *text) {
    for (; *text; text++) {
        tt__str_addn(out, text, 1);
        if ((*text == '*' && text[1] == '/') || (*text == '/' && text[1] == '*'))
            tt__str_add(out, " ");
    }
}

static void add_string(tt__str *out, const char *text) {
    tt__str_add(out, "\"");
    for (; *text; text++)
        tt__str_addf(out, strchr("\"\\?", *text) ? "\\%c" : (unsigned char)*text < ' ' ? " " : "%c", *text);
    tt__str_add(out, "\"");
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- Code -----------------------------------------------------------------------------------------------
 */

static void add_words(tt__str *out, const char *bytes, size_t n) {
    enum { IN_A_LINE = 5 };
    for (size_t i = 0; 8 * i < n; i++) {
        uint64_t word = 0;
        const size_t left = n - 8 * i;
        memcpy(&word, bytes + 8 * i, left < 8 ? left : 8);
        tt__str_addf(out, "%s0x%016" PRIx64 ",", i % IN_A_LINE ? " " : "\n    ", word);
    }
}

/* Writes each image once. Its number, or -1 if it is empty. */
static tt_status add_image(writing *w, const tt__str *code, const char *what, int cc, int *number) {
    char hash[TT__HASH_SIZE];
    *number = -1;
    if (!code->len)
        return TT_OK;
    tt__hash(hash, code->text, code->len);
    for (size_t i = 0; i < w->n_images; i++)
        if (strcmp(w->images[i].hash, hash) == 0) {
            *number = (int)i;
            return TT_OK;
        }
    TT_TRY(TT__GROW(w->images, w->n_images));
    *number = (int)w->n_images;
    tt__copy(w->images[w->n_images++].hash, sizeof hash, hash);
    tt__str_addf(&w->code, "/* %s for compute capability %d.%d, %zu bytes */\n", what, cc / 10, cc % 10,
                 code->len);
    tt__str_addf(&w->code, "static const unsigned long long %simage_%d[] = {", w->prefix, *number);
    add_words(&w->code, code->text, code->len);
    tt__str_add(&w->code, "\n};\n\n");
    return tt__str_check(&w->code);
}

/* ---- Launches -------------------------------------------------------------------------------------------
 */

/* The values that are the same in each launch, as the kernel reads them: `first` has the place of each. */
static void add_values(tt__str *out, const tt__launch *l, int first[TT__ARGS_MAX]) {
    int n = 0;
    for (int s = 0; s < l->n_passes; s++)
        for (int k = 0; k < l->passes[s].n_args && !l->passes[s].off; k++) {
            const int i = l->passes[s].first_arg + k;
            const tt__arg *a = &l->args[i];
            char bytes[sizeof(uint64_t)] = {0};
            if ((!a->by_value && a->type == TT__TYPE_NONE) || a->made == TT__MADE_MAP ||
                a->made == TT__MADE_OF_TURN)
                continue;
            tt__str_add(out, n ? "" : "    static const unsigned long long c[] = {");
            first[i] = n;
            if (a->by_value) {
                add_words(out, (const char *)&l->args[a->i], a->bytes);
                n += (a->bytes + 7) / 8;
                continue;
            }
            tt__type_store(bytes, (tt__type)a->type, a->i, a->f);
            add_words(out, bytes, sizeof bytes);
            tt__str_addf(out, tt__types[a->type].floating ? " /* %s %.9g */" : " /* %s %.0f */",
                         tt__types[a->type].name, tt__types[a->type].floating ? a->f : (double)a->i);
            n++;
        }
    tt__str_add(out, n ? "};\n" : "");
}

static bool has_attributes(const tt__pass *p) {
    return p->early || p->cooperative || p->cluster[0];
}

/* Where the address of an operand's value is, by now. */
static void add_operand(tt__str *out, const tt__launch *l, int operand) {
    tt__str_addf(out, "%s[%d]", l->swaps ? "b" : "a", operand);
}

/* The struct with the addresses and scalars of this launch. */
static void add_struct(tt__str *out, const tt__launch *l, const tt__arg *a, int k, int first,
                       const char *indent) {
    const char *from = (const char *)&l->args[a->i] + ((size_t)a->bytes + 7) / 8 * 8;
    tt__str_addf(out, "%sunsigned long long m%d[%d];\n%smemcpy(m%d, &c[%d], sizeof m%d);\n", indent, k,
                 (a->bytes + 7) / 8, indent, k, first, k);
    for (int i = 0; i < a->n_places; i++) {
        tt__place place;
        memcpy(&place, from + (size_t)i * sizeof place, sizeof place);
        tt__str_addf(out, "%smemcpy((char *)m%d + %u, ", indent, k, place.at);
        add_operand(out, l, place.operand);
        tt__str_addf(out, ", %u);\n", place.bytes);
    }
}

/* As map_type() of gpu/kernel.c. */
static const char *map_type(tt__type type) {
    const int size = tt__types[type].size;
    return type == TT__TYPE_F16    ? "FLOAT16"
           : type == TT__TYPE_BF16 ? "BFLOAT16"
           : type == TT__TYPE_F32  ? "FLOAT32"
           : type == TT__TYPE_F64  ? "FLOAT64"
           : type == TT__TYPE_I32  ? "INT32"
           : type == TT__TYPE_I64  ? "INT64"
           : size == 1             ? "UINT8"
           : size == 2             ? "UINT16"
           : size == 4             ? "UINT32"
                                   : "UINT64";
}

/* A tensor map of the buffer of this launch. */
static void add_map(tt__str *out, const tt__launch *l, const tt__arg *a, int k, const char *indent) {
    static const char *const swizzles[] = {"NONE", "32B", "64B", "NONE", "128B"};
    static const char *const lines[] = {"NONE", "L2_64B", "L2_128B", "NONE", "L2_256B"};
    tt__tensor_map m;
    memcpy(&m, &l->args[a->i], sizeof m);
    tt__str_addf(out, "%sCUtensorMap m%d TILETUNE_ALIGN_64;\n%sstatic const cuuint64_t dims%d[] = {", indent,
                 k, indent, k);
    for (int i = 0; i < m.rank; i++)
        tt__str_addf(out, "%s%u", i ? ", " : "", m.dims[i]);
    tt__str_addf(out, "}, strides%d[] = {", k);
    for (int i = 0; i + 1 < m.rank; i++)
        tt__str_addf(out, "%s%" PRIu64, i ? ", " : "", m.strides[i]);
    tt__str_addf(out, "%s};\n%sstatic const cuuint32_t box%d[] = {", m.rank > 1 ? "" : "0", indent, k);
    for (int i = 0; i < m.rank; i++)
        tt__str_addf(out, "%s%u", i ? ", " : "", m.box[i]);
    tt__str_addf(out, "}, steps%d[] = {", k);
    for (int i = 0; i < m.rank; i++)
        tt__str_addf(out, "%s%u", i ? ", " : "", m.steps[i]);
    tt__str_addf(out,
                 "};\n%sr = cuTensorMapEncodeTiled(&m%d, CU_TENSOR_MAP_DATA_TYPE_%s, %u, "
                 "(void *)(uintptr_t)*(const CUdeviceptr *)",
                 indent, k, map_type((tt__type)m.type), m.rank);
    add_operand(out, l, a->operand);
    tt__str_addf(
        out,
        ", dims%d, strides%d, box%d, steps%d, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_%s, "
        "CU_TENSOR_MAP_L2_PROMOTION_%s, CU_TENSOR_MAP_FLOAT_OOB_FILL_%s);\n%sif (r != CUDA_SUCCESS)\n%s    "
        "return r;\n",
        k, k, k, k, swizzles[m.swizzle_bytes / 32], lines[m.l2_bytes / 64],
        m.fills_nan ? "NAN_REQUEST_ZERO_FMA" : "NONE", indent, indent);
}

static void add_argument(tt__str *out, const tt__launch *l, const tt__arg *a, int k, int first) {
    if (a->made == TT__MADE_OF_TURN)
        tt__str_add(out, "&n"); /* little-endian, so that it is right for shorter types, too */
    else if (a->made == TT__MADE_MAP)
        tt__str_addf(out, "&m%d", k);
    else if (a->made == TT__MADE_STRUCT)
        tt__str_addf(out, "m%d", k);
    else if (a->by_value || a->type != TT__TYPE_NONE)
        tt__str_addf(out, "(void *)&c[%d]", first);
    else
        add_operand(out, l, a->operand);
}

static void add_call(writing *w, const tt__launch *l, int s, const int first[TT__ARGS_MAX],
                     const char *indent, const char *into) {
    const tt__pass *p = &l->passes[s];
    tt__str *out = &w->launches;
    for (int k = 0; k < p->n_args; k++) {
        const tt__arg *a = &l->args[p->first_arg + k];
        if (a->made == TT__MADE_STRUCT)
            add_struct(out, l, a, k, first[p->first_arg + k], indent);
        if (a->made == TT__MADE_MAP)
            add_map(out, l, a, k, indent);
    }
    for (int k = 0; k < p->n_args; k++) {
        tt__str_addf(out, k ? ", " : "%svoid *p[] = {", indent);
        add_argument(out, l, &l->args[p->first_arg + k], k, first[p->first_arg + k]);
    }
    tt__str_add(out, p->n_args ? "};\n" : "");
    if (has_attributes(p))
        tt__str_addf(
            out,
            "%sstatic const unsigned grid[] = {%u, %u, %u}, block[] = {%u, %u, %u}, cluster[] = {%u, "
            "%u, %u};\n%s%s %slaunch_with(f[%d], grid, block, %u, %d, %d, cluster, s, %s);\n",
            indent, p->grid[0], p->grid[1], p->grid[2], p->block[0], p->block[1], p->block[2], p->cluster[0],
            p->cluster[1], p->cluster[2], indent, into, w->prefix, s, p->shared_bytes, p->early,
            p->cooperative, p->n_args ? "p" : "NULL");
    else
        tt__str_addf(out, "%s%s cuLaunchKernel(f[%d], %u, %u, %u, %u, %u, %u, %u, s, %s, NULL);\n", indent,
                     into, s, p->grid[0], p->grid[1], p->grid[2], p->block[0], p->block[1], p->block[2],
                     p->shared_bytes, p->n_args ? "p" : "NULL");
    if (p->swap[0] != p->swap[1])
        tt__str_addf(out, "%svoid *const held = b[%d];\n%sb[%d] = b[%d];\n%sb[%d] = held;\n", indent,
                     p->swap[0], indent, p->swap[0], p->swap[1], indent, p->swap[1]);
}

/* Does a launch have arguments that are made in such a way? */
static bool makes(const tt__launch *l, tt__made made) {
    for (int s = 0; s < l->n_passes; s++)
        for (int k = 0; k < l->passes[s].n_args && !l->passes[s].off; k++)
            if (l->args[l->passes[s].first_arg + k].made == made)
                return true;
    return false;
}

static bool takes_operands(const tt__launch *l) {
    for (int s = 0; s < l->n_passes; s++)
        for (int k = 0; k < l->passes[s].n_args && !l->passes[s].off; k++) {
            const tt__arg *a = &l->args[l->passes[s].first_arg + k];
            if ((!a->by_value && a->type == TT__TYPE_NONE) || a->made == TT__MADE_MAP || a->n_places)
                return true;
        }
    return l->swaps;
}

/* The turns of a loop: of pass s, and of those behind it that join. */
static void add_loop(writing *w, const tt__launch *l, int s, int end, const int first[TT__ARGS_MAX]) {
    const tt__pass *p = &l->passes[s];
    tt__str *out = &w->launches;
    if (makes(l, TT__MADE_OF_TURN)) /* no turn comes after the last, so its number is not needed */
        tt__str_addf(
            out,
            "    for (long long i = 0, n = %d; i < %d && r == CUDA_SUCCESS; i++, n = i < %d ? n %s %d : n) "
            "{\n        (void)n;\n",
            p->from, 1 + p->repeats, 1 + p->repeats,
            p->progress == TT__PROGRESS_BY      ? "+"
            : p->progress == TT__PROGRESS_TIMES ? "*"
                                                : "/",
            p->progress == TT__PROGRESS_BY || p->step ? p->step : 1);
    else
        tt__str_addf(out, "    for (int i = 0; i < %d && r == CUDA_SUCCESS; i++) {\n", 1 + p->repeats);
    for (int k = s; k < end; k++) {
        if (l->passes[k].off)
            continue;
        tt__str_add(out, end == s + 1 ? "" : k == s ? "        {\n" : "        if (r == CUDA_SUCCESS) {\n");
        add_call(w, l, k, first, end == s + 1 ? "        " : "            ", "r =");
        tt__str_add(out, end == s + 1 ? "" : "        }\n");
    }
    tt__str_add(out, "    }\n");
}

/* All passes: the loops and exchanges of tt__kernel_launch_with, written out. */
static void add_launch(writing *w, const tt__launch *l, int n_args, int number) {
    tt__str *out = &w->launches;
    int first[TT__ARGS_MAX] = {0};
    const bool plain = l->n_passes == 1 && !l->passes[0].off && !l->passes[0].repeats && !l->swaps &&
                       !makes(l, TT__MADE_OF_TURN) && !makes(l, TT__MADE_MAP);
    tt__str_addf(out, "static CUresult launch_%d(const CUfunction *f, void *const *a, CUstream s) {\n",
                 number);
    add_values(out, l, first);
    tt__str_add(out, takes_operands(l) ? "" : "    (void)a;\n");
    if (plain) {
        add_call(w, l, 0, first, "    ", "return");
        tt__str_add(out, "}\n\n");
        return;
    }
    for (int i = 0; i < n_args && l->swaps; i++)
        tt__str_addf(out, i ? ", a[%d]" : "    void *b[] = {a[%d]", i);
    tt__str_add(out, l->swaps ? "};\n" : "");
    tt__str_add(out, "    CUresult r = CUDA_SUCCESS;\n");
    for (int s = 0, end; s < l->n_passes; s = end) {
        for (end = s + 1; end < l->n_passes && l->passes[end].joins;)
            end++;
        if (!l->passes[s].off)
            add_loop(w, l, s, end, first);
    }
    tt__str_add(out, "    return r;\n}\n\n");
}

/* ---- Rows -----------------------------------------------------------------------------------------------
 */

/* Functions with the most dynamic shared memory that a pass gives them. */
static void add_functions(writing *w, const tt__exported *x, int number) {
    const tt__launch *l = &x->code.candidate.launch;
    const tt__symbols *symbols = &x->code.candidate.configuration.t->symbols;
    tt__str *out = &w->launches;
    tt__str_addf(out, "static const %sfunction functions_%d[] = {", w->prefix, number);
    for (int i = 0; i < l->n_passes; i++) {
        unsigned most = 0;
        bool large = false; /* the driver wants to be asked for large clusters */
        for (int k = 0; k < l->n_passes; k++) {
            if (strcmp(symbols->name[k], symbols->name[i]) != 0)
                continue;
            most = l->passes[k].shared_bytes > most ? l->passes[k].shared_bytes : most;
            large |= tt__pass_cluster(&l->passes[k]) > PORTABLE_CLUSTER_MAX;
        }
        tt__str_add(out, i ? ", {" : "{");
        add_string(out, tt__lowered_name(x->code.cubin.text, x->code.cubin.len, symbols->name[i]));
        tt__str_addf(out, ", %u, %d}", most, large);
    }
    tt__str_add(out, "};\n");
    w->n_functions = l->n_passes > w->n_functions ? l->n_passes : w->n_functions;
}

/* Arguments of the caller, with constants behind them. */
static tt_status add_arguments(writing *w, const tt__exported *x, int number, int *n_args, int *n_constants) {
    const int align = tt__problem_align(&x->problem);
    enum { SCRATCH_ALIGN = 16 };
    tt__str *out = &w->launches, arrays = {0};
    TT_TRY(tt__workload_arrays(w->workload, x->code.candidate.configuration.t, &x->gpu, &x->problem,
                               x->code.candidate.configuration.config));
    tt__cubin_arrays(&arrays, x->code.cubin.text, x->code.cubin.len);
    *n_args = *n_constants = 0;
    tt__str_addf(out, "static const %sargument args_%d[] = {", w->prefix, number);
    for (int i = 0; i < w->workload->n && !w->workload->arrays[i].aside; i++) {
        const tt__array *a = &w->workload->arrays[i];
        const bool constant = a->direction == TT__CONSTANT, buffer = tt__array_is_buffer(a);
        const char *mangled = constant ? tt__cubin_array(&arrays, a->name, NULL) : NULL;
        tt__str_add(out, i ? ",\n    " : "\n    ");
        tt__str_addf(out, "{\"%s\", ", a->name);
        if (mangled)
            add_string(out, mangled);
        else
            tt__str_add(out, "NULL");
        tt__str_addf(out, ", %lld, %d, %d}", (long long)tt__array_bytes(a),
                     !buffer                       ? 0
                     : a->direction == TT__SCRATCH ? SCRATCH_ALIGN
                                                   : align,
                     buffer && a->direction != TT__IN);
        ++*(constant ? n_constants : n_args);
    }
    tt__str_add(out, "};\n");
    tt__str_free(&arrays);
    return tt__str_check(out);
}

static tt_status add_row(writing *w, const tt__exported *x, int number, int problem) {
    const int cc = x->gpu.cc;
    int cubin, ptx, n_args, n_constants;
    char gpu[TT__GPU_TEXT_MAX];
    tt_status status;
    TT_GOTO(add_image(w, &x->code.cubin, "machine code", cc, &cubin));
    TT_GOTO(add_image(w, &x->code.ptx, "PTX", cc, &ptx));
    tt__str_add(&w->launches, "/* ");
    add_comment(&w->launches, tt__str_text(&x->about));
    tt__str_add(&w->launches, " */\n");
    add_functions(w, x, number);
    TT_GOTO(add_arguments(w, x, number, &n_args, &n_constants));
    add_launch(w, &x->code.candidate.launch, n_args, number);
    for (int i = 0; i < x->code.candidate.launch.n_passes; i++)
        w->attributes |= has_attributes(&x->code.candidate.launch.passes[i]);
    /* Constants are data in the code, so kernels with constants share no libraries. */
    const int own = (int)w->n_libraries;
    w->n_libraries += n_constants ? 2 : 0;
    tt__str_addf(&w->rows, "    {%d, %d, %d, ", problem, cc, x->gpu.sm_count);
    add_string(&w->rows, tt__gpu_text(gpu, &x->gpu));
    if (n_constants)
        tt__str_addf(&w->rows, ", %d, %sN_IMAGES + %d, %d, %sN_IMAGES + %d", cubin, w->capitals, own, ptx,
                     w->capitals, own + 1);
    else
        tt__str_addf(&w->rows, ", %d, %d, %d, %d", cubin, cubin, ptx, ptx);
    tt__str_addf(&w->rows, ", %d, %d, %d, functions_%d, args_%d, launch_%d,\n     ",
                 x->code.candidate.launch.n_passes, n_args, n_constants, number, number, number);
    add_string(&w->rows, tt__str_text(&x->about));
    tt__str_add(&w->rows, "},\n");
    TT_GOTO(tt__str_check(&w->rows));
out:
    return status;
}

/* ---- Problems -------------------------------------------------------------------------------------------
 */

/* Is item i the first of its problem, or of its operation? */
static bool is_first(const tt__exports *e, size_t i, bool operation) {
    if (i == 0)
        return true;
    const tt__problem *a = &e->items[i - 1].problem, *b = &e->items[i].problem;
    return operation ? strcmp(a->op, b->op) != 0 || strcmp(a->text, b->text) != 0 : !tt__problem_same(a, b);
}

/* The enumerator of a problem: TUNED_TRANSPOSE_4096X4096. A name that is there already gets a number. */
static tt_status problem_name(tt__str *out, const writing *w, const tt__exported *x, int problem) {
    char text[TT__PROBLEM_TEXT_MAX];
    tt__str padded = {0};
    tt__str_add(out, w->capitals);
    add_word(out, *x->asked ? "permute" : x->problem.op, true);
    tt__str_add(out, "_");
    add_word(out, *x->asked ? x->asked : tt__problem_text(text, &x->problem), true);
    if (x->problem.warm)
        tt__str_add(out, "_WARM");
    if (x->problem.in_graph)
        tt__str_add(out, "_IN_GRAPH");
    tt__str_addf(&padded, " %s ", tt__str_text(out));
    if (strstr(tt__str_text(&w->names), tt__str_text(&padded)))
        tt__str_addf(out, "_%d", problem);
    tt__str_free(&padded);
    return tt__str_check(out);
}

/* The variables by which problems of an operation are told apart: those that some problem changes. */
static tt_status find_variables(bool used[TT__VARIABLES_MAX], const tt__exports *e, size_t first) {
    bool usual[TT__VARIABLES_MAX];
    const tt__operation *op = e->items[first].op;
    memset(used, 0, TT__VARIABLES_MAX * sizeof *used);
    for (size_t i = first; i < e->n && (i == first || !is_first(e, i, true)); i++) {
        TT_TRY(tt__operation_usual(usual, op, &e->items[i].problem));
        for (size_t v = 0; v < op->n_variables; v++)
            used[v] |= !usual[v];
    }
    return TT_OK;
}

static void add_find_head(tt__str *out, const writing *w, const tt__operation *op, const char *name,
                          const bool *used) {
    const char *between = "";
    tt__str_addf(out, "int %sfind_%s(", w->prefix, name);
    for (size_t v = 0; v < op->n_variables; v++)
        if (used[v]) {
            tt__str_addf(out, "%s%s%s%s", between, op->variables[v].n_types ? "const char *" : "int64_t ",
                         op->variables[v].name, is_keyword(op->variables[v].name) ? "_" : "");
            between = ", ";
        }
    tt__str_add(out, *between ? ")" : "void)");
}

static void add_find(tt__str *out, const writing *w, size_t first, const bool *used) {
    const tt__exports *e = w->exports;
    const tt__operation *op = e->items[first].op;
    int problem = -1;
    for (size_t i = 0; i <= first; i++)
        problem += is_first(e, i, false);
    char name[TT__NAME_MAX];
    add_find_head(out, w, op, op_name(name, &e->items[first].problem), used);
    tt__str_add(out, " {\n");
    for (size_t i = first; i < e->n && (i == first || !is_first(e, i, true)); i++) {
        const char *between = "";
        if (i > first && !is_first(e, i, false))
            continue;
        problem += i > first;
        tt__str_add(out, "    if (");
        for (size_t v = 0; v < op->n_variables; v++) {
            const char *variable = op->variables[v].name, *end = is_keyword(variable) ? "_" : "";
            const tt__setting *s = tt__problem_setting_at(&e->items[i].problem, v, variable);
            if (!used[v] || !s)
                continue;
            if (s->type == TT__TYPE_NONE)
                tt__str_addf(out, "%s%s%s == %lld", between, variable, end, (long long)s->number);
            else
                tt__str_addf(out, "%sstrcmp(%s%s, \"%s\") == 0", between, variable, end,
                             tt__types[s->type].name);
            between = " && ";
        }
        tt__str_addf(out, "%s)\n        return %d;\n", *between ? "" : "1", problem);
    }
    tt__str_add(out, "    return -1;\n}\n\n");
}

/* ---- Operations -----------------------------------------------------------------------------------------
 */

/* In C. NULL: it is not the same for all problems of the operation, and is given by its address. */
static const char *scalar_type(const tt__exports *e, size_t first, const tt__operand *o) {
    tt__type type = o->type;
    for (size_t i = first; o->variable >= 0 && i < e->n && (i == first || !is_first(e, i, true)); i++) {
        const tt__setting *s = tt__problem_setting_at(&e->items[i].problem, (size_t)o->variable,
                                                      e->items[first].op->variables[o->variable].name);
        if (!s || (i > first && s->type != type))
            return NULL;
        type = s->type;
    }
    return type == TT__TYPE_ELEM || o->lanes > 1 ? NULL
           : type == TT__TYPE_BOOL               ? "unsigned char"
                                                 : tt__types[type].cuda;
}

static bool is_argument(const tt__operand *o) {
    return o->direction != TT__CONSTANT && !o->aside;
}

static void add_launch_head(tt__str *out, const writing *w, size_t first, const char *name) {
    const tt__operation *op = w->exports->items[first].op;
    tt__str_addf(out, "int %slaunch_%s(const %splan *plan", w->prefix, name, w->prefix);
    for (size_t i = 0; i < op->n_operands; i++) {
        const tt__operand *o = &op->operands[i];
        if (!is_argument(o))
            continue;
        const char *type = o->scalar ? scalar_type(w->exports, first, o) : NULL;
        if (!o->scalar)
            tt__str_addf(out, ", CUdeviceptr d_%s", o->name);
        else
            tt__str_addf(out, ", %s%sh_%s", type ? type : "const void *", type ? " " : "", o->name);
    }
    tt__str_add(out, ", CUstream stream)");
}

static void add_typed_launch(tt__str *out, const writing *w, size_t first, const char *name,
                             int first_problem, int last_problem) {
    const tt__operation *op = w->exports->items[first].op;
    int n = 0;
    add_launch_head(out, w, first, name);
    tt__str_add(out, " {\n");
    for (size_t i = 0; i < op->n_operands; i++) {
        const tt__operand *o = &op->operands[i];
        if (!is_argument(o))
            continue;
        tt__str_add(out, n++ ? ", " : "    void *args[] = {");
        tt__str_addf(out,
                     !o->scalar                          ? "&d_%s"
                     : scalar_type(w->exports, first, o) ? "&h_%s"
                                                         : "(void *)h_%s",
                     o->name);
    }
    tt__str_add(out, n ? "};\n" : "");
    tt__str_addf(out,
                 "    if (!plan || !plan->row || plan->row->problem < %d || plan->row->problem > %d)\n"
                 "        return %sE_INVALID;\n"
                 "    return %slaunch(plan, args, %d, stream);\n}\n\n",
                 first_problem, last_problem, w->capitals, w->prefix, n);
}

/* What a plan takes: "src (in, elem), dst (out, elem)". */
static void add_operands(tt__str *out, const tt__operation *op) {
    for (size_t i = 0; i < op->n_operands && !op->operands[i].aside; i++) {
        const tt__operand *o = &op->operands[i];
        tt__str_addf(out, "%s%s (%s, %s)", i ? ", " : "", o->name,
                     tt__directions[o->scalar ? TT__SCALAR : o->direction],
                     o->variable >= 0 ? op->variables[o->variable].name : tt__types[o->type].name);
    }
}

static tt_status add_operation(tt__str *declarations, tt__str *functions, const writing *w, size_t first,
                               int first_problem, int last_problem) {
    const tt__exported *x = &w->exports->items[first];
    bool used[TT__VARIABLES_MAX];
    char name[TT__NAME_MAX];
    op_name(name, &x->problem);
    TT_TRY(find_variables(used, w->exports, first));
    tt__str_addf(declarations, "\n/* %s: ", x->problem.op);
    add_operands(declarations, x->op);
    tt__str_add(declarations, " */\n");
    add_find_head(declarations, w, x->op, name, used);
    tt__str_add(declarations, ";\n");
    add_launch_head(declarations, w, first, name);
    tt__str_add(declarations, ";\n");
    add_find(functions, w, first, used);
    add_typed_launch(functions, w, first, name, first_problem, last_problem);
    return tt__str_check(functions);
}

/* ---- Files ----------------------------------------------------------------------------------------------
 */

static tt_status write_rows(writing *w, tt__str *names) {
    const tt__exports *e = w->exports;
    int problem = -1;
    for (size_t i = 0; i < e->n; i++) {
        if (is_first(e, i, false)) {
            tt__str name = {0};
            tt_status status = problem_name(&name, w, &e->items[i], ++problem);
            tt__str_addf(names, "    %s = %d,\n", tt__str_text(&name), problem);
            tt__str_addf(&w->names, " %s ", tt__str_text(&name));
            tt__str_free(&name);
            TT_TRY(status);
        }
        TT_TRY(add_row(w, &e->items[i], (int)i, problem));
    }
    tt__str_addf(names, "    %sN_PROBLEMS = %d\n", w->capitals, problem + 1);
    return tt__str_check(names);
}

static tt_status write_operations(const writing *w, tt__str *declarations, tt__str *functions) {
    const tt__exports *e = w->exports;
    int problem = -1;
    for (size_t i = 0; i < e->n; i++) {
        problem += is_first(e, i, false);
        if (!is_first(e, i, true))
            continue;
        int last = problem;
        for (size_t k = i + 1; k < e->n && !is_first(e, k, true); k++)
            last += is_first(e, k, false);
        TT_TRY(add_operation(declarations, functions, w, i, problem, last));
    }
    return TT_OK;
}

static tt_status fill_header(tt__str *out, const writing *w, const char *names, const char *declarations) {
    char functions[16];
    const tt__exported *x = &w->exports->items[0];
    const char *first = tt__str_text(&w->names) + 1;
    tt__str example = {0}, launch = {0};
    char name[TT__NAME_MAX];
    tt__str_addn(&example, first, strcspn(first, " "));
    tt__str_addf(&launch, "%slaunch_%s(&plan", w->prefix, op_name(name, &x->problem));
    for (size_t i = 0; i < x->op->n_operands; i++)
        if (is_argument(&x->op->operands[i]))
            tt__str_addf(&launch, ", %s", x->op->operands[i].name);
    tt__str_add(&launch, ", stream)");
    snprintf(functions, sizeof functions, "%d", w->n_functions);
    const char *words[][2] = {{"header", base_name(tt__str_text(&w->header))},
                              {"source", base_name(tt__str_text(&w->source))},
                              {"problem", tt__str_text(&example)},
                              {"launch", tt__str_text(&launch)},
                              {"problems", names},
                              {"operations", declarations},
                              {"functions", functions},
                              {NULL, NULL}};
    tt_status status = add_file(out, w, tt__cli_files[TT__FILE_EXPORT_HEADER].source, words);
    tt__str_free(&example);
    tt__str_free(&launch);
    return status;
}

static tt_status fill_source(tt__str *out, const writing *w, const char *functions) {
    char count[32], early[PREFIX_MAX + 32] = "";
    if (w->attributes)
        snprintf(early, sizeof early, "    %sread_driver();\n", w->prefix);
    const char *words[][2] = {{"early", early}, {NULL, NULL}};
    snprintf(count, sizeof count, "%s", tt__cli_count((int64_t)w->exports->n, "winner").text);
    tt__str_addf(
        out,
        "/*\n * Kernels that tiletune tuned, with their code: %s, written by tiletune %s (%s).\n"
        " * Made by `tune export --format c`. Do not edit: export again. %s says how to use it.\n */\n"
        "#include \"%s\"\n\n#include <pthread.h>\n#include <string.h>\n\n"
        "#if CUDA_VERSION < 12000\n#error \"CUDA 12 or newer is needed\"\n#endif\n\n",
        count, TT_VERSION, tt__commit, base_name(tt__str_text(&w->header)),
        base_name(tt__str_text(&w->header)));
    tt__str_addf(out, "static const char %sof_file[] = \"%s, written by tiletune %s (%s)\";\n\n", w->prefix,
                 count, TT_VERSION, tt__commit);
    TT_TRY(add_file(out, w, tt__cli_files[TT__FILE_EXPORT_TYPES].source, words));
    if (w->attributes)
        TT_TRY(add_file(out, w, tt__cli_files[TT__FILE_EXPORT_ATTRIBUTES].source, words));
    tt__str_addn(out, tt__str_text(&w->code), w->code.len);
    tt__str_addn(out, tt__str_text(&w->launches), w->launches.len);
    tt__str_addf(out, "enum { %sN_IMAGES = %zu, %sN_LIBRARIES = %zu };\n\n", w->capitals, w->n_images,
                 w->capitals, w->n_images + w->n_libraries);
    tt__str_addf(out, "static const %srow %srows[] = {\n%s};\n\n", w->prefix, w->prefix,
                 tt__str_text(&w->rows));
    tt__str_addf(out, "static const void *const %simages[] = {", w->prefix);
    for (size_t i = 0; i < w->n_images; i++)
        tt__str_addf(out, "%s%simage_%zu", i ? ", " : "", w->prefix, i);
    tt__str_add(out, "};\n\n");
    TT_TRY(add_file(out, w, tt__cli_files[TT__FILE_EXPORT_RUNTIME].source, words));
    tt__str_add(out, "\n/* ---- Operations ---- */\n\n");
    tt__str_add(out, functions);
    return tt__str_check(out);
}

typedef struct text {
    const tt__str *text;
} text;

static tt_status fill_text(tt__str *out, void *user) {
    const text *t = user;
    tt__str_addn(out, tt__str_text(t->text), t->text->len);
    return tt__str_check(out);
}

/* The format of `tune export` that wrote the file; "": another program did; NULL: it is missing or empty. */
static tt_status read_format(const char *path, const char **out) {
    static const char *const formats[] = {"c", "header"};
    char head[1024] = "", mark[64];
    size_t n = 0;
    *out = NULL;
    if (access(path, F_OK) != 0)
        return TT_OK;
    TT_TRY(tt__read_start(path, head, sizeof head - 1, &n));
    head[n] = '\0';
    *out = n ? "" : NULL;
    for (size_t i = 0; i < TT__COUNT(formats); i++) {
        snprintf(mark, sizeof mark, "Made by `tune export --format %s`", formats[i]);
        if (strstr(head, mark))
            *out = formats[i];
    }
    return TT_OK;
}

static tt_status fail_there(const char *path, const char *format) {
    return tt__fail(TT_E_INVALID, "%s is there, made by `tune export --format %s`: name another file", path,
                    format);
}

/* A file of somebody else is not replaced: nobody named the header. */
static tt_status check_file(const char *path) {
    const char *format;
    TT_TRY(read_format(path, &format));
    if (!format || strcmp(format, "c") == 0)
        return TT_OK;
    return *format ? fail_there(path, format)
                   : tt__fail(TT_E_INVALID, "%s is there, and tune export did not make it: name another file",
                              path);
}

tt_status tt__export_c_spares(const char *path) {
    const char *format;
    struct stat is;
    if (stat(path, &is) != 0 || !S_ISREG(is.st_mode) || access(path, R_OK) != 0)
        return TT_OK; /* as /dev/stdout */
    TT_TRY(read_format(path, &format));
    return format && strcmp(format, "c") == 0 ? fail_there(path, format) : TT_OK;
}

/* The header's path, and the prefix of names: both from that of the source. */
static tt_status name_files(writing *w, const tt__cli_args *args) {
    const char *output = args->output;
    const char *name = base_name(output), *dot = strrchr(name, '.');
    if (!dot || dot == name ||
        (strcmp(dot, ".c") != 0 && strcmp(dot, ".cc") != 0 && strcmp(dot, ".cpp") != 0 &&
         strcmp(dot, ".cu") != 0))
        return tt__fail(TT_E_INVALID, "--output %s: name a C file, as in tuned.c; tuned.h will be beside it",
                        output);
    for (const char *c = name; *c; c++)
        if (*c == '"' || *c == '\\' || tt__is_control(c))
            return tt__fail(TT_E_INVALID,
                            "--output %s: C cannot include a header of that name: choose one without quotes, "
                            "backslashes and line breaks",
                            output);
    tt__str_add(&w->source, output);
    tt__str_addn(&w->header, output, (size_t)(dot - output));
    tt__str_add(&w->header, ".h");
    TT_TRY(tt__str_check(&w->header));
    size_t n = 0;
    if (*name >= '0' && *name <= '9')
        w->prefix[n++] = '_';
    for (; name < dot && n < PREFIX_MAX - 2; name++)
        w->prefix[n++] = (char)(tt__is_alnum(*name) ? *name : '_');
    w->prefix[n] = '_';
    for (size_t i = 0; w->prefix[i]; i++) {
        const char c = w->prefix[i];
        w->capitals[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    TT_TRY(tt__cli_check_output(args, tt__str_text(&w->header)));
    TT_TRY(check_file(tt__str_text(&w->header)));
    return check_file(output);
}

static tt_status write_files(writing *w) {
    tt__str names = {0}, declarations = {0}, functions = {0}, header = {0}, source = {0};
    tt_status status;
    TT_GOTO(write_rows(w, &names));
    TT_GOTO(write_operations(w, &declarations, &functions));
    TT_GOTO(fill_header(&header, w, tt__str_text(&names), tt__str_text(&declarations)));
    TT_GOTO(fill_source(&source, w, tt__str_text(&functions)));
    TT_GOTO(tt__cli_write(tt__str_text(&w->header), "wb", fill_text, &(text){&header}));
    TT_GOTO(tt__cli_write(tt__str_text(&w->source), "wb", fill_text, &(text){&source}));
    tt__cli_say(stderr, "tune: wrote %s, %.0f KB, and %s: %s\n", tt__str_text(&w->source),
                (double)source.len / 1e3, tt__str_text(&w->header),
                tt__cli_count((int64_t)w->exports->n, "winner").text);
out:
    tt__str_free(&names);
    tt__str_free(&declarations);
    tt__str_free(&functions);
    tt__str_free(&header);
    tt__str_free(&source);
    return status;
}

tt_status tt__export_c(const tt__exports *exports, const tt__cli_args *args) {
    writing w = {.exports = exports};
    tt_status status;
    TT_GOTO(name_files(&w, args));
    w.workload = malloc(sizeof *w.workload);
    if (!w.workload)
        TT_GOTO(tt__fail_memory(sizeof *w.workload));
    TT_GOTO(write_files(&w));
out:
    free(w.workload);
    free(w.images);
    tt__str *const texts[] = {&w.source, &w.header, &w.code, &w.launches, &w.rows, &w.names};
    for (size_t i = 0; i < TT__COUNT(texts); i++)
        tt__str_free(texts[i]);
    return status;
}

/*
 * cuBLAS geam and cuTENSOR's permutation, loaded at run time. If one of them is missing, the rest still runs.
 * The few types and values below are those of cublas_api.h (12 and 13) and cutensor.h (2.x). In both, handles
 * are pointers and enumerations are ints.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/peers.h"

enum { OP_N = 0, OP_T = 1, OP_IDENTITY = 1, ALGO_DEFAULT = -1, ALGO_DEFAULT_PATIENT = -6, JIT_NONE = 0 };
enum { R_32F = 0, R_64F = 1, R_16F = 2, C_32F = 4, C_64F = 5, SCALAR_TYPE = 1 };

/* Ones and zeros; a real scalar is the first half of a complex one. */
static const float one_f[2] = {1, 0}, zero_f[2] = {0, 0};
static const double one_d[2] = {1, 0}, zero_d[2] = {0, 0};

typedef struct symbol {
    const char *name;
    void *member; /* address of the function pointer */
} symbol;

static tt_status take_symbols(void *lib, const char *path, const symbol *symbols, size_t n) {
    for (size_t i = 0; i < n; i++) {
        void *address = dlsym(lib, symbols[i].name);
        if (!address)
            return tt__fail(TT_E_UNSUPPORTED, "%s has no %s", path, symbols[i].name);
        memcpy(symbols[i].member, &address, sizeof address);
    }
    return TT_OK;
}

static tt_status not_loaded(const char *what) {
    const char *why = dlerror();
    return tt__fail(TT_E_UNSUPPORTED, "%s cannot be loaded: %.160s", what, why ? why : "it is not installed");
}

/* Where the dynamic linker looks, in the toolkit, and among Python's packages. */
static void *find_library(const char *forced, const char *const *names, char *path, size_t size) {
    const char *home = getenv("CUDA_HOME"), *venv = getenv("VIRTUAL_ENV");
    char patterns[8][512];
    int n = 0;
    snprintf(patterns[n++], sizeof *patterns, "%s/lib64/", home && *home ? home : "/usr/local/cuda");
    snprintf(patterns[n++], sizeof *patterns, "/usr/local/cuda/lib64/");
    if (venv)
        snprintf(patterns[n++], sizeof *patterns, "%s/lib/python3*/site-packages/{nvidia/*,cutensor}/lib/",
                 venv);
    snprintf(patterns[n++], sizeof *patterns,
             "/{usr,usr/local,opt/*,opt/*/.venv}/lib/python3*/{site,dist}-packages/{nvidia/*,cutensor}/lib/");
    for (; *names || forced; names++) {
        void *lib = dlopen(forced ? forced : *names, RTLD_NOW | RTLD_LOCAL);
        tt__copy(path, size, forced ? forced : *names);
        for (int i = 0; i < n && !lib && !forced; i++) {
            glob_t found = {0};
            char pattern[600];
            snprintf(pattern, sizeof pattern, "%.480s%.64s", patterns[i], *names);
            glob(pattern, GLOB_BRACE, NULL, &found);
            for (size_t k = 0; k < found.gl_pathc && !lib; k++) {
                lib = dlopen(found.gl_pathv[k], RTLD_NOW | RTLD_LOCAL);
                tt__copy(path, size, found.gl_pathv[k]);
            }
            globfree(&found);
        }
        if (lib || forced)
            return lib;
    }
    return NULL;
}

/* ---- cuBLAS -------------------------------------------------------------------------------------------- */

typedef void *cublas_handle;
typedef int (*geam_fn)(cublas_handle handle, int transa, int transb, int m, int n, const void *alpha,
                       const void *a, int lda, const void *beta, const void *b, int ldb, void *c, int ldc);

static struct {
    bool tried;
    char error[BENCH_NOTE_MAX];
    cublas_handle handle;
    int (*create)(cublas_handle *handle);
    int (*destroy)(cublas_handle handle);
    int (*set_stream)(cublas_handle handle, CUstream stream);
    int (*get_version)(cublas_handle handle, int *version);
    geam_fn s, d, c, z;
} blas;

typedef struct geam_call {
    geam_fn fn;
    const void *one, *zero;
    int rows, cols, lds, ldd;
    bool b_is_c; /* else B is NULL, which beta = 0 allows */
} geam_call;

static tt_status cublas_failed(int r, const char *what) {
    return r == 0 ? TT_OK : tt__fail(TT_E_CUDA, "%s: cuBLAS status %d", what, r);
}

/* cuBLAS and cuTENSOR need it and may not know where it is; what is loaded already they find by its name. */
static void preload_cublaslt(void) {
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    char path[512];
    find_library(NULL, names, path, sizeof path);
}

static tt_status open_cublas(bench *b) {
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", NULL};
    char path[512];
    if (!b->options->cublas)
        preload_cublaslt();
    void *lib = find_library(b->options->cublas, names, path, sizeof path);
    if (!lib)
        return not_loaded("cuBLAS");
    TT_TRY(take_symbols(lib, path,
                        (const symbol[]){{"cublasCreate_v2", &blas.create},
                                         {"cublasDestroy_v2", &blas.destroy},
                                         {"cublasSetStream_v2", &blas.set_stream},
                                         {"cublasGetVersion_v2", &blas.get_version},
                                         {"cublasSgeam", &blas.s},
                                         {"cublasDgeam", &blas.d},
                                         {"cublasCgeam", &blas.c},
                                         {"cublasZgeam", &blas.z}},
                        8));
    int version = 0;
    TT_TRY(cublas_failed(blas.create(&blas.handle), "cublasCreate"));
    TT_TRY(cublas_failed(blas.set_stream(blas.handle, b->stream), "cublasSetStream"));
    TT_TRY(cublas_failed(blas.get_version(blas.handle, &version), "cublasGetVersion"));
    snprintf(b->cublas, sizeof b->cublas, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    return TT_OK;
}

/* Row-major rows x cols is column-major cols x rows. */
static tt_status launch_geam(const void *self, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    const geam_call *g = self;
    (void)stream; /* the handle's */
    void *out = (void *)(uintptr_t)dst;
    const void *in = (const void *)(uintptr_t)src;
    return cublas_failed(g->fn(blas.handle, OP_T, OP_N, g->rows, g->cols, g->one, in, g->lds, g->zero,
                               g->b_is_c ? out : NULL, g->ldd, out, g->ldd),
                         "geam");
}

tt_status bench_geam_open(bench_peer *peer, bench *b, const bench_case *c) {
    const tt_problem *p = &c->public;
    const struct {
        int elem_size;
        const char *name;
        geam_fn *fn;
        const void *one, *zero;
    } types[] = {{4, "Sgeam", &blas.s, one_f, zero_f},
                 {8, "Dgeam", &blas.d, one_d, zero_d},
                 {8, "Cgeam", &blas.c, one_f, zero_f},
                 {16, "Zgeam", &blas.z, one_d, zero_d}};
    if (p->elem_size < 4 || p->batch > 1 || p->in_place)
        return tt__fail(TT_E_UNSUPPORTED, "geam has no %s",
                        p->elem_size < 4 ? "such type" : "such operation");
    if (!blas.tried) {
        blas.tried = true;
        if (open_cublas(b) != TT_OK)
            tt__copy(blas.error, sizeof blas.error, tt_last_error());
    }
    if (blas.error[0])
        return tt__fail(TT_E_UNSUPPORTED, "%s", blas.error);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int b_is_c = 0; b_is_c < 2 && types[i].elem_size == p->elem_size; b_is_c++) {
            geam_call *g = malloc(sizeof *g);
            if (!g)
                return tt__fail_memory(sizeof *g);
            *g = (geam_call){*types[i].fn, types[i].one, types[i].zero, (int)p->rows,
                             (int)p->cols, (int)p->lds,  (int)p->ldd,   b_is_c};
            bench_variant v = {.launch = launch_geam, .self = g, .release = free};
            snprintf(v.detail, sizeof v.detail, "%s, B = %s", types[i].name, b_is_c ? "C" : "NULL");
            TT_TRY(bench_variant_add(peer, &v));
        }
    return TT_OK;
}

/* ---- cuTENSOR ------------------------------------------------------------------------------------------ */

typedef void *tensor_object;

static struct {
    bool tried;
    char error[BENCH_NOTE_MAX];
    tensor_object handle;
    const tensor_object *desc_32f, *desc_64f;
    int (*create)(tensor_object *handle);
    int (*destroy)(tensor_object handle);
    size_t (*version)(void);
    const char *(*error_string)(int status);
    int (*tensor)(tensor_object handle, tensor_object *desc, uint32_t n_modes, const int64_t *extent,
                  const int64_t *stride, int data_type, uint32_t alignment);
    int (*tensor_free)(tensor_object desc);
    int (*permutation)(tensor_object handle, tensor_object *desc, tensor_object a, const int32_t *mode_a,
                       int op_a, tensor_object b, const int32_t *mode_b, tensor_object compute);
    int (*operation_get)(tensor_object handle, tensor_object desc, int attribute, void *buf, size_t size);
    int (*operation_free)(tensor_object desc);
    int (*preference)(tensor_object handle, tensor_object *preference, int algo, int jit);
    int (*preference_free)(tensor_object preference);
    int (*plan)(tensor_object handle, tensor_object *plan, tensor_object desc, tensor_object preference,
                uint64_t workspace);
    int (*plan_free)(tensor_object plan);
    int (*permute)(tensor_object handle, tensor_object plan, const void *alpha, const void *a, void *b,
                   CUstream stream);
} tensor;

typedef struct permute_call {
    tensor_object plan;
    const void *one;
} permute_call;

static tt_status cutensor_failed(int r, const char *what) {
    return r == 0 ? TT_OK : tt__fail(TT_E_UNSUPPORTED, "%s: %s", what, tensor.error_string(r));
}

static tt_status open_cutensor(bench *b) {
    static const char *const names[] = {"libcutensor.so.2", NULL};
    char path[512];
    if (!blas.tried)
        preload_cublaslt();
    void *lib = find_library(b->options->cutensor, names, path, sizeof path);
    if (!lib)
        return not_loaded("cuTENSOR");
    TT_TRY(take_symbols(lib, path,
                        (const symbol[]){{"cutensorCreate", &tensor.create},
                                         {"cutensorDestroy", &tensor.destroy},
                                         {"cutensorGetVersion", &tensor.version},
                                         {"cutensorGetErrorString", &tensor.error_string},
                                         {"cutensorCreateTensorDescriptor", &tensor.tensor},
                                         {"cutensorDestroyTensorDescriptor", &tensor.tensor_free},
                                         {"cutensorCreatePermutation", &tensor.permutation},
                                         {"cutensorOperationDescriptorGetAttribute", &tensor.operation_get},
                                         {"cutensorDestroyOperationDescriptor", &tensor.operation_free},
                                         {"cutensorCreatePlanPreference", &tensor.preference},
                                         {"cutensorDestroyPlanPreference", &tensor.preference_free},
                                         {"cutensorCreatePlan", &tensor.plan},
                                         {"cutensorDestroyPlan", &tensor.plan_free},
                                         {"cutensorPermute", &tensor.permute},
                                         {"CUTENSOR_COMPUTE_DESC_32F", &tensor.desc_32f},
                                         {"CUTENSOR_COMPUTE_DESC_64F", &tensor.desc_64f}},
                        16));
    TT_TRY(cutensor_failed(tensor.create(&tensor.handle), "cutensorCreate"));
    size_t version = tensor.version();
    snprintf(b->cutensor, sizeof b->cutensor, "%zu.%zu.%zu", version / 10000, version / 100 % 100,
             version % 100);
    return TT_OK;
}

static tt_status launch_permute(const void *self, CUdeviceptr dst, CUdeviceptr src, CUstream stream) {
    const permute_call *call = self;
    return cutensor_failed(tensor.permute(tensor.handle, call->plan, call->one, (const void *)(uintptr_t)src,
                                          (void *)(uintptr_t)dst, stream),
                           "cutensorPermute");
}

static void release_permute(void *self) {
    permute_call *call = self;
    if (call->plan)
        tensor.plan_free(call->plan);
    free(call);
}

/* One variant for one way of choosing the kernel. */
static tt_status add_plan(bench_peer *peer, tensor_object operation, int algo, const char *name) {
    tensor_object preference = NULL;
    int scalar = 0;
    permute_call *call = calloc(1, sizeof *call);
    if (!call)
        return tt__fail_memory(sizeof *call);
    tt_status status =
        cutensor_failed(tensor.operation_get(tensor.handle, operation, SCALAR_TYPE, &scalar, sizeof scalar),
                        "the scalar's type");
    if (status == TT_OK && scalar != R_32F && scalar != C_32F && scalar != R_64F && scalar != C_64F)
        status = tt__fail(TT_E_UNSUPPORTED, "cuTENSOR wants a scalar of type %d", scalar);
    call->one = scalar == R_64F || scalar == C_64F ? (const void *)one_d : one_f;
    if (status == TT_OK)
        status = cutensor_failed(tensor.preference(tensor.handle, &preference, algo, JIT_NONE),
                                 "cutensorCreatePlanPreference");
    if (status == TT_OK)
        status = cutensor_failed(tensor.plan(tensor.handle, &call->plan, operation, preference, 0),
                                 "cutensorCreatePlan");
    if (preference)
        tensor.preference_free(preference);
    if (status != TT_OK) {
        release_permute(call);
        return status;
    }
    bench_variant v = {.launch = launch_permute, .self = call, .release = release_permute};
    snprintf(v.detail, sizeof v.detail, "%s", name);
    return bench_variant_add(peer, &v);
}

static tt_status add_type(bench_peer *peer, const tt_problem *p, int type, bool is_double, const char *name) {
    enum { ALIGN = 128 };
    const int64_t extent_a[] = {p->cols, p->rows, p->batch}, stride_a[] = {1, p->lds, p->src_stride};
    const int64_t extent_b[] = {p->rows, p->cols, p->batch}, stride_b[] = {1, p->ldd, p->dst_stride};
    const int32_t mode_a[] = {'c', 'r', 'b'}, mode_b[] = {'r', 'c', 'b'};
    uint32_t modes = p->batch > 1 ? 3 : 2;
    tensor_object a = NULL, b = NULL, operation = NULL,
                  compute = is_double ? *tensor.desc_64f : *tensor.desc_32f;
    char patient[64];
    snprintf(patient, sizeof patient, "%s, patient", name);
    tt_status status =
        cutensor_failed(tensor.tensor(tensor.handle, &a, modes, extent_a, stride_a, type, ALIGN),
                        "cutensorCreateTensorDescriptor");
    if (status == TT_OK)
        status = cutensor_failed(tensor.tensor(tensor.handle, &b, modes, extent_b, stride_b, type, ALIGN),
                                 "cutensorCreateTensorDescriptor");
    if (status == TT_OK)
        status = cutensor_failed(
            tensor.permutation(tensor.handle, &operation, a, mode_a, OP_IDENTITY, b, mode_b, compute),
            "cutensorCreatePermutation");
    if (status == TT_OK)
        status = add_plan(peer, operation, ALGO_DEFAULT, name);
    if (status == TT_OK) /* it may not exist for permutations */
        add_plan(peer, operation, ALGO_DEFAULT_PATIENT, patient);
    if (operation)
        tensor.operation_free(operation);
    if (b)
        tensor.tensor_free(b);
    if (a)
        tensor.tensor_free(a);
    return status;
}

tt_status bench_cutensor_open(bench_peer *peer, bench *b, const bench_case *c) {
    static const struct {
        int elem_size, type;
        bool is_double;
        const char *name;
    } types[] = {{2, R_16F, false, "R_16F"},
                 {4, R_32F, false, "R_32F"},
                 {8, R_64F, true, "R_64F"},
                 {8, C_32F, false, "C_32F"},
                 {16, C_64F, true, "C_64F"}};
    const tt_problem *p = &c->public;
    tt_status status = TT_OK;
    if (p->elem_size == 1 || p->in_place)
        return tt__fail(TT_E_UNSUPPORTED, "cuTENSOR has no %s",
                        p->elem_size == 1 ? "such type" : "such operation");
    if (!tensor.tried) {
        tensor.tried = true;
        if (open_cutensor(b) != TT_OK)
            tt__copy(tensor.error, sizeof tensor.error, tt_last_error());
    }
    if (tensor.error[0])
        return tt__fail(TT_E_UNSUPPORTED, "%s", tensor.error);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].elem_size == p->elem_size) {
            tt_status added = add_type(peer, p, types[i].type, types[i].is_double, types[i].name);
            status = added != TT_OK ? added : status;
        }
    return peer->n ? TT_OK : status;
}

void bench_libraries_close(void) {
    if (blas.handle)
        blas.destroy(blas.handle);
    if (tensor.handle)
        tensor.destroy(tensor.handle);
    memset(&blas, 0, sizeof blas); /* the next caller opens them again */
    memset(&tensor, 0, sizeof tensor);
}

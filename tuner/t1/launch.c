/* The kernel of a T1 file: how it is launched, what it works on, what is right, and the
 * compiler's options. */
#include <string.h>

#include "tuner/t1/convert.h"

/* ---- The launch ---------------------------------------------------------------------------------------- */

static tt_status whole(tt__t1_work *w, tt__py *out, const char *text, const char *member, int axis) {
    tt_status status = tt__py_read(out, &w->arena, text, w->names, w->n_names);
    if (status == TT_OK)
        status = tt__py_whole(out, &w->arena);
    if (status == TT_OK)
        return TT_OK;
    return axis < 0 ? tt__t1_at(w, status, "KernelSpecification.%s \"%.200s\"", member, text)
                    : tt__t1_at(w, status, "KernelSpecification.%s.%c \"%.200s\"", member, "XYZ"[axis], text);
}

/* Three numbers, of which the last are left out where they are 1. */
static tt_status write_dims(tt__t1_work *w, const char *keyword, const tt__py dims[3]) {
    int n = 3;
    while (n > 1 && dims[n - 1].constant && dims[n - 1].value == 1)
        n--;
    tt__str_addf(&w->body, "//@ %-8s", keyword);
    for (int i = 0; i < n; i++) {
        const char *text;
        TT_TRY(tt__py_text(&text, &w->arena, &dims[i]));
        tt__str_addf(&w->body, "%s %s", i ? "," : "", text);
    }
    tt__str_add(&w->body, "\n");
    return tt__str_check(&w->body);
}

/* Where a file says nothing, the threads are those parameters that Kernel Tuner takes for them. */
static tt_status read_block(tt__t1_work *w, tt__py block[3]) {
    static const char *const usual[3] = {"block_size_x", "block_size_y", "block_size_z"};
    char *const *local = w->t1->local;
    bool given = local[0] || local[1] || local[2];
    if (!given && !tt__t1_has(w, usual[0]))
        return tt__fail(TT_E_INVALID,
                        "%s: KernelSpecification.LocalSize.X is missing: expected a text or a number",
                        w->path);
    for (int i = 0; i < 3; i++) {
        const char *text = given ? local[i] : tt__t1_has(w, usual[i]) ? usual[i] : NULL;
        TT_TRY(whole(w, &block[i], text ? text : "1", "LocalSize", i));
    }
    return TT_OK;
}

/* As Kernel Tuner has it: the problem's size, divided. */
static tt_status grid_of_problem(tt__t1_work *w, tt__py grid[3]) {
    static const char *const usual[3] = {"block_size_x", "block_size_y", "block_size_z"};
    for (int i = 0; i < 3; i++) {
        char *div = w->t1->div[i];
        tt__py by = tt__py_integer(1);
        grid[i] = tt__py_integer(1);
        if ((size_t)i >= w->n_problem)
            continue;
        if (div || tt__t1_has(w, usual[i]))
            TT_TRY(whole(w, &by, div ? div : usual[i], "GridDiv", i));
        grid[i] = w->problem[i];
        if (!by.constant || by.value != 1)
            TT_TRY(tt__py_ceil(&grid[i], &w->arena, w->problem[i], by));
    }
    return TT_OK;
}

static tt_status read_grid(tt__t1_work *w, const tt__py block[3], tt__py grid[3]) {
    const tt__t1 *t1 = w->t1;
    const char *type = t1->size_type ? t1->size_type : "CUDA";
    bool divided = t1->div[0] || t1->div[1] || t1->div[2];
    bool threads = strcmp(type, "OpenCL") == 0;
    if (t1->problem[0] && (divided || !t1->global[0])) {
        if (t1->global[0])
            tt__t1_note(
                w->notes,
                "GlobalSize is not used: ProblemSize and GridDiv say the grid, as Kernel Tuner reads it");
        return grid_of_problem(w, grid);
    }
    if (!t1->global[0])
        return tt__fail(TT_E_INVALID,
                        "%s: KernelSpecification.GlobalSize.X is missing: expected a text or a number",
                        w->path);
    if (!threads && strcmp(type, "CUDA") != 0 && strcmp(type, "Vulkan") != 0)
        return tt__fail(
            TT_E_INVALID,
            "%s: KernelSpecification.GlobalSizeType is \"%.40s\": expected CUDA, OpenCL or Vulkan", w->path,
            type);
    for (int i = 0; i < 3; i++) {
        TT_TRY(whole(w, &grid[i], t1->global[i] ? t1->global[i] : "1", "GlobalSize", i));
        if (threads)
            TT_TRY(tt__py_ceil(&grid[i], &w->arena, grid[i], block[i]));
    }
    return TT_OK;
}

tt_status tt__t1_write_launch(tt__t1_work *w) {
    tt__py block[3], grid[3], shared;
    const char *text;
    TT_TRY(read_block(w, block));
    TT_TRY(read_grid(w, block, grid));
    TT_TRY(write_dims(w, "block", block));
    TT_TRY(write_dims(w, "grid", grid));
    if (!w->t1->shared)
        return TT_OK;
    TT_TRY(whole(w, &shared, w->t1->shared, "SharedMemory", -1));
    if (shared.constant && shared.value == 0)
        return TT_OK;
    TT_TRY(tt__py_text(&text, &w->arena, &shared));
    tt__str_addf(&w->body, "//@ shared   %s\n", text);
    return tt__str_check(&w->body);
}

/* ---- Options ------------------------------------------------------------------------------------------- */

tt_status tt__t1_write_options(tt__t1_work *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->t1->n_options; i++) {
        const char *option = w->t1->options[i];
        bool known = tt__option_allowed(option, strlen(option));
        if (!known || n == TT__OPTIONS_MAX) {
            tt__t1_note(w->notes, "the compiler's option %.60s is left out: %s", option,
                        strstr(option, "-std=") ? "kernels are C++17"
                        : known                 ? "there are too many"
                                                : "NVRTC does not have it, or it names a file");
            continue;
        }
        tt__str_addf(&w->body, "%s%s", n++ ? " " : "//@ options  ", option);
    }
    tt__str_add(&w->body, n ? "\n" : "");
    return tt__str_check(&w->body);
}

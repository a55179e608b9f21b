/*
 * A winner's inputs. If any of them changes, the winner is stale.
 */
#include "dispatch/store_layers.h"

#include "store_fixture.h"

/* The inputs of a result, each changed once. */
typedef struct world {
    tt__gpu gpu;
    tt__problem problem;
    char hash[TT__HASH_SIZE], driver[32], nvrtc[16], library[16], kernel[TT__NAME_MAX];
} world;

#define INPUT(m, kind)                                                                                       \
    { #m, kind, offsetof(world, m) }
static const struct {
    const char *name;
    enum { A_TEXT, AN_INT, A_FLAG, AN_I64, SOME_MEMORY } kind;
    size_t offset;
} inputs[] = {
    INPUT(gpu.name, A_TEXT),
    INPUT(gpu.mig, A_TEXT),
    INPUT(gpu.cc, AN_INT),
    INPUT(gpu.sm_count, AN_INT),
    INPUT(gpu.memory_bytes, SOME_MEMORY),
    INPUT(problem.op, A_TEXT),
    INPUT(problem.text, A_TEXT),
    INPUT(problem.warm, A_FLAG),
    INPUT(problem.in_graph, A_FLAG),
    INPUT(problem.unverified, A_FLAG),
    INPUT(problem.n, AN_INT),
    INPUT(problem.settings[0].name, A_TEXT),
    INPUT(problem.settings[0].type, AN_INT),
    INPUT(problem.settings[1].name, A_TEXT),
    INPUT(problem.settings[1].number, AN_I64),
    INPUT(hash, A_TEXT),
    INPUT(kernel, A_TEXT),
    INPUT(driver, A_TEXT),
    INPUT(nvrtc, A_TEXT),
    INPUT(library, A_TEXT),
};

static void change(world *w, size_t input) {
    char *at = (char *)w + inputs[input].offset;
    if (inputs[input].kind == A_TEXT)
        *at = *at == 'Z' ? 'Y' : 'Z';
    else if (inputs[input].kind == A_FLAG)
        *(bool *)at = !*(bool *)at;
    else if (inputs[input].kind == AN_INT)
        *(int *)(void *)at *= 2;
    else if (inputs[input].kind == AN_I64)
        *(int64_t *)(void *)at *= 2;
    else
        *(int64_t *)(void *)at += *(int64_t *)(void *)at / 10;
}

/* Does what was measured in one world hold in another? By the key, and by the validators. */
static bool holds(const world *then, const world *now) {
    tt__store *s = must_open(":memory:");
    tt__template t = {0};
    tt__template *items[] = {&t};
    const tt__template_set set = {1, items};
    const tt__env env_then = {0};
    tt__env env = env_then;
    tt__winner w = a_winner(50);
    int64_t gpu, problem, config, run;
    bool found = false;
    char why[160];
    tt__copy(env.driver, sizeof env.driver, then->driver);
    tt__copy(env.nvrtc, sizeof env.nvrtc, then->nvrtc);
    tt__copy(env.library, sizeof env.library, then->library);
    assert_ok(tt__store_gpu(s, &then->gpu, &gpu));
    assert_ok(tt__store_problem(s, &then->problem, &problem));
    assert_ok(tt__store_config(s, then->kernel, then->problem.op, then->hash, "A=1", &config));
    assert_ok(tt__store_run_begin(s, gpu, &env, "measured", &run));
    assert_ok(tt__store_winner_put(s, run, problem, config, &w));

    tt__copy(t.kernel, sizeof t.kernel, now->kernel);
    tt__copy(t.hash, sizeof t.hash, now->hash);
    assert_ok(tt__store_known_gpu(s, &now->gpu, &gpu));
    assert_ok(tt__store_known_problem(s, &now->problem, &problem));
    if (gpu >= 0 && problem >= 0)
        assert_ok(tt__store_winner_get(s, gpu, problem, &w, &found));
    if (found)
        tt__winner_staleness(why, sizeof why, &w, &set, now->driver, now->nvrtc);
    tt__store_close(&s);
    return found && !*why;
}

static void every_input_counts(void **state) {
    (void)state;
    world base = {.gpu = h100,
                  .problem = saxpy('a', TT__TYPE_I8, 4096),
                  .hash = "abcd",
                  .driver = "580.159.04",
                  .nvrtc = "13.0",
                  .library = TT__METHOD,
                  .kernel = "saxpy"};
    base.problem.text[0] = '\0'; /* of a user's file the kernel need not be at hand */
    tt__problem_set(&base.problem, "m", 5);
    tt__problem_set(&base.problem, "k", 6);
    base.problem.n = 2; /* twice as many are four */
    assert_true(holds(&base, &base));
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        world other = base;
        change(&other, i);
        bool is_method = strcmp(inputs[i].name, "library") == 0; /* this build's method is a constant */
        if (!is_method && holds(&base, &other))
            fail_msg("%s has changed, and the result still holds", inputs[i].name);
        if (holds(&other, &base))
            fail_msg("%s was another, and the result holds", inputs[i].name);
    }
    world other = base; /* one input will differ */
    other.gpu.memory_bytes += other.gpu.memory_bytes / 30;
    other.gpu.l2_bytes++;
    assert_true(holds(&base, &other));
    *other.driver = *other.nvrtc = '\0'; /* unknown here: not compared */
    assert_true(holds(&base, &other));
}

/* The fields that identify a GPU and an environment are those that the table above changes. */
static void the_table_is_complete(void **state) {
    (void)state;
    for (size_t i = 0; i < TT__GPU_ID_FIELDS + TT__ENV_FIELDS; i++) {
        char name[64];
        size_t k = 0, n = sizeof inputs / sizeof *inputs;
        if (i < TT__GPU_ID_FIELDS)
            snprintf(name, sizeof name, "gpu.%s", tt__gpu_fields[i].name);
        else
            snprintf(name, sizeof name, "%s", tt__env_fields[i - TT__GPU_ID_FIELDS].name);
        while (k < n && strcmp(inputs[k].name, name) != 0)
            k++;
        if (k == n)
            fail_msg("%s identifies results, and no test changes it", name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(every_input_counts), TEST(the_table_is_complete)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A set-uid program takes nothing from its caller's environment. Needs root to make one.
 */
#include "store_fixture.h"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/install_dirs.h"
#include "dispatch/store_layers.h"

enum { CALLER = 65534, OWNER = 65533, SKIPPED = 77 };

static int attempt(void) {
    tt__str path = {0};
    bool named = true;
    if (!getauxval(AT_SECURE))
        return SKIPPED; /* a file system without set-uid programs */
    check(tt__store_default_path(&path) == TT_E_INVALID);
    check(tt__system_path(&path, &named) == TT_OK && !named);
    tt__str_free(&path);
    check(tt__worker_path(&path) != TT_OK || strcmp(tt__str_text(&path), "/bin/true") != 0);
    tt__str_free(&path);
    return 0;
}

static void ignores_the_environment(void **state) {
    (void)state;
    char command[512];
    const char *program = in_dir("set-uid");
    if (geteuid() != 0)
        skip();
    snprintf(command, sizeof command, "cp /proc/%d/exe %s && chown %d %s && chmod 4755 %s", (int)getpid(),
             program, OWNER, program, program);
    assert_int_equal(system(command), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *argv[] = {(char *)"set-uid", (char *)"attempt", NULL};
        char *env[] = {
            (char *)"TILETUNE_DB=/evil.db",        (char *)"XDG_DATA_HOME=/evil",       (char *)"HOME=/evil",
            (char *)"TILETUNE_SYSTEM_DB=/evil.db", (char *)"TILETUNE_WORKER=/bin/true", NULL};
        if (setgid(CALLER) != 0 || setuid(CALLER) != 0)
            _exit(SKIPPED);
        execve(program, argv, env);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) /* LeakSanitizer fails at a normal exit, because it cannot stop a process whose rights have
                     changed */
        _exit(attempt());
    const struct CMUnitTest tests[] = {TEST(ignores_the_environment)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

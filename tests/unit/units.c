/* Runs the tests of a module: units MODULE. They are one program, because to link one each takes longer than
 * to run it. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define UNIT(name) int unit_##name(void);
UNITS
#undef UNIT

static const struct {
    const char *name;
    int (*run)(void);
} modules[] = {
#define UNIT(name) {#name, unit_##name},
    UNITS
#undef UNIT
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < sizeof modules / sizeof *modules; i++)
        if (strcmp(modules[i].name, argv[1]) == 0)
            return modules[i].run();
    fprintf(stderr, "units: no module, or one without tests\n");
    return 2;
}

/* Headers in the text of a template: which come in, how often, under which lines, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/annotation/include.h"
#include "kernel/load/parse.h"
#include "kernel/model/template.h"
#include "write_in.h"

/* Six lines. */
#define MINE                                                                                                 \
    "//@ kernel mine\n//@ op copy\n//@ block 1\n//@ grid 1\n//@ args dst\nextern \"C\" void mine();\n"

static char folder[] = "/tmp/tt-template-XXXXXX";

static tt_status load_with(tt__template **t, const char *code) {
    char path[256];
    tt__str text = {0};
    tt__str_addf(&text, "%s%s", MINE, code);
    write_in(folder, "mine.cu", tt__str_text(&text));
    tt__str_free(&text);
    snprintf(path, sizeof path, "%s/mine.cu", folder);
    return tt__template_load(t, path);
}

/* The code, its `#line`s left out, ends like this. */
static void expect_code(const char *code, const char *expected) {
    tt__template *t;
    tt__str plain = {0};
    assert_int_equal(load_with(&t, code), TT_OK);
    for (const char *at = t->source + strlen(MINE); *at; at += strcspn(at, "\n") + 1)
        if (strncmp(at, "#line ", 6) != 0 && *at != '\n')
            tt__str_addf(&plain, "%.*s\n", (int)strcspn(at, "\n"), at);
    assert_string_equal(tt__str_text(&plain), expected);
    tt__str_free(&plain);
    tt__template_free(&t);
}

static void headers_are_part_of_the_text(void **state) {
    (void)state;
    char first[TT__HASH_SIZE];
    tt__template *t;
    write_in(folder, "a.h", "int a;\n#include \"sub/b.h\"\nint z;\n");
    write_in(folder, "sub/b.h", "int b;\n#  include \"c.h\" // beside b.h");
    write_in(folder, "sub/c.h", "#pragma once\nint c;\n");
    assert_int_equal(load_with(&t, "#include \"a.h\"\nint end;\n"), TT_OK);
    assert_non_null(strstr(
        t->source, "\n#line 1 \"a.h\"\nint a;\n#line 1 \"sub/b.h\"\nint b;\n#line 1 \"c.h\"\n\nint c;\n"
                   "#line 3 \"sub/b.h\"\n#line 3 \"a.h\"\nint z;\n#line 8 \"mine.cu\"\nint end;\n"));
    assert_null(strstr(t->source, folder)); /* or moving the files would change the hash */
    tt__copy(first, sizeof first, t->hash);
    tt__template_free(&t);
    write_in(folder, "sub/c.h", "#pragma once\nint changed;\n");
    assert_int_equal(load_with(&t, "#include \"a.h\"\nint end;\n"), TT_OK);
    assert_string_not_equal(t->hash, first);
    tt__template_free(&t);
}

static void headers_come_in_as_often_as_they_should(void **state) {
    (void)state;
    char absolute[64], line[256], whole[256];
    write_in(folder, "once.h", "# pragma  once\nint once;\n");
    write_in(folder, "each.h", "int each;\n");
    write_in(folder, "loop.h", "#include \"pool.h\"\nint loop;\n");
    write_in(folder, "pool.h", "#include \"loop.h\"\nint pool;\n");
    expect_code("#include \"once.h\"\n#include \"./once.h\"\n", "int once;\n");
    expect_code("#include \"each.h\"\n#include\"each.h\" /* again */\n", "int each;\nint each;\n");
    write_in(folder, "if.h", "#ifdef X\n#pragma once\n#endif\nint once;\n");
    expect_code("#if Y\n#include \"if.h\"\n#endif\n#if Z\n#include \"if.h\"\n#endif\n",
                "#if Y\n#ifdef X\n#endif\nint once;\n#endif\n#if Z\n#endif\n");
    expect_code("#include \"loop.h\"\n", "int pool;\nint loop;\n");
    expect_code("/* x\n#include \"each.h\"\n*/ int y; // #include \"each.h\"\n",
                "/* x\n#include \"each.h\"\n*/ int y; // #include \"each.h\"\n");
    expect_code("const char *s = \"/*\"; char c = '\"';\n#include \"each.h\"\n",
                "const char *s = \"/*\"; char c = '\"';\nint each;\n");
    expect_code("#include \"nosuch.h\" // a remark\n#include <each.h>\n#includes\n",
                "#include <nosuch.h> // a remark\n#include <each.h>\n#includes\n");
    write_in(folder, "quiet.h", "/*\n#pragma once\n*/\nint quiet;\n");
    expect_code("#pragma once\nint x;\n", "#pragma once\nint x;\n"); /* of the text itself it says nothing */
    expect_code("#include \"quiet.h\"\n#include \"quiet.h\"\n",
                "/*\n#pragma once\n*/\nint quiet;\n/*\n#pragma once\n*/\nint quiet;\n");
    static const char *const no_comments[] = {"const char *s = \"\\\"/*\";\n", "int y; // no /* comment\n",
                                              "int y; /* one */ // /*\n"};
    static const char *const comments[] = {"/*/ int y;\n", "int n = 1'000; /* it's one\n"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "%s#include \"each.h\"\n", no_comments[i]);
        snprintf(whole, sizeof whole, "%sint each;\n", no_comments[i]);
        expect_code(line, whole);
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "%s#include \"each.h\"\n*/\n", comments[i]);
        expect_code(line, line);
    }
    snprintf(absolute, sizeof absolute, "%s/each.h", folder);
    snprintf(line, sizeof line, "#include <%s>\n#include \"%s\"\n", absolute, absolute);
    expect_code(line, "int each;\nint each;\n");
}

/* Some editors begin files with a byte order mark. */
static void marks_of_byte_order_are_no_text(void **state) {
    (void)state;
    char path[256];
    tt__template *t;
    write_in(folder, "mark.h", "\xEF\xBB\xBF#pragma once\nint mark;\n");
    expect_code("#include \"mark.h\"\n#include \"mark.h\"\n", "int mark;\n");
    write_in(folder, "marked.cu", "\xEF\xBB\xBF#include \"mark.h\"\n" MINE);
    snprintf(path, sizeof path, "%s/marked.cu", folder);
    assert_int_equal(tt__template_load(&t, path), TT_OK);
    const char start[] = "#line 1 \"mark.h\"\n\nint mark;\n";
    assert_int_equal(strncmp(t->source, start, strlen(start)), 0);
    tt__template_free(&t);
}

static void headers_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *code, *says;
    } cases[] = {
        {"\n#include NAME\n", "mine.cu:8:10: `#include NAME`: expected \"FILE\" or <FILE>"},
        {"#include \"open\n", "mine.cu:7:10: `#include \"open`"},
        {"#include \"sub\"\n", "mine.cu:7:10: "},
        {"#include \"nul.h\"\n", "/nul.h: not a text file"},
        {"#include \"huge.h\"\n", "/huge.h: 4194305 bytes, the limit is 4194304"},
        {"#include \"macro.h\"\n", "macro.h:2:10: `#include M`"},
        {"#include \"\"\n", "mine.cu:7:10: `#include \"\"`: expected \"FILE\" or <FILE>"},
        {"#include \"n33.h\"\n", "mine.cu:7:10: headers include each other more than 32 deep"},
        {"#include \"large.h\"\n#include \"large.h\"\n",
         "with all that it includes it has more than 4194304 bytes"},
        {"#include \"large.h\"\n#include \"n2.h\"\n//@ parm X 1\n", "mine.cu:9:5: unknown annotation 'parm'"},
        {"\n#include \"twice.h\"\n",
         "twice.h:3:1: `//@ param` is in a header, where no annotation counts: move it to "},
        {"\n\n#include \"late.h\"\n", "late.h:3:1: `//@ where` is in a header"},
        {"#include \"each.h\"\n//@ where B > 1\n", "mine.cu:8:11: unknown name B"},
        {"#line 7 \"gen.py\"\n//@ where B > 1\n", "mine.cu:8:11: unknown name B"},
        {"#line 1 \"mine.cu\"\n\n#line 500\n//@ where B > 1\n", "mine.cu:10:11: unknown name B"},
        {"#include \"moved.h\"\n#line 1 \"x\"\n#include \"each.h\"\n//@ where B > 1\n",
         "mine.cu:10:11: unknown name B"},
        {"\n#include \"moved.h\"\n#include \"late.h\"\n", "late.h:3:1: `//@ where` is in a header"},
        {"#include \"late.h\"\n#include \"n2.h\"\n", "late.h:3:1: "},
        {"#include \"of_late.h\"\n", "late.h:3:1: "},
        {"/* ... */ //@ param A 1\n", "mine.cu:7:11: `//@ param` stands behind something else"},
    };
    char name[16], text[32], path[256];
    for (int i = 40; i > 0; i--) {
        snprintf(name, sizeof name, "n%d.h", i);
        snprintf(text, sizeof text, "#include \"n%d.h\"\n\n", i - 1);
        write_in(folder, name, text);
    }
    write_in(folder, "twice.h", "\n\n//@ param A 1 2 1\n");
    write_in(folder, "late.h", "#include \"each.h\"\n\n//@ where B > 1\n");
    write_in(folder, "of_late.h", "\n#include \"late.h\"\n");
    write_in(folder, "moved.h", "#line 500\n#line 1 \"y\"\n#include \"each.h\"\n#line 12 \"mine.cu\"\n\n");
    write_in(folder, "macro.h", "#define M \"each.h\"\n#include M\n");
    char *large = malloc(3 << 20);
    assert_non_null(large);
    memset(large, '\n', 3 << 20);
    large[(3 << 20) - 1] = '\0';
    write_in(folder, "large.h", large);
    free(large);
    write_in(folder, "huge.h", "");
    snprintf(path, sizeof path, "%s/huge.h", folder);
    assert_int_equal(truncate(path, (4 << 20) + 1), 0);
    snprintf(path, sizeof path, "%s/nul.h", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite("a\0b", 1, 3, f), 3);
    fclose(f);
    tt__template *deep;
    assert_int_equal(load_with(&deep, "#include \"n32.h\"\n"), TT_OK);
    tt__template_free(&deep);
    tt__str longest = {0};
    tt__str_addf(&longest, "#include \"%0*d.h\"\n", TT__PATH_MAX, 0);
    assert_int_equal(load_with(&deep, tt__str_text(&longest)), TT_E_TEMPLATE);
    assert_non_null(strstr(tt_last_error(), "written out"));
    tt__str_free(&longest);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt__template *t;
        if (load_with(&t, cases[i].code) != TT_E_TEMPLATE || !strstr(tt_last_error(), cases[i].says))
            fail_msg("%s\n  found    %s\n  expected %s", cases[i].code, tt_last_error(), cases[i].says);
        assert_null(t);
    }
}

/* Any text comes to an end, at most with a template's error. */
static void survives_mutations(void **state) {
    (void)state;
    static const char *const pieces[] = {
        "#include ", "\"loop.h\"", "\"once.h\"",  "<",           "\"",
        "/*",        "*/",         "//",          "\n",          "#",
        "'",         "\\",         "each.h",      "\"mix.h\"\n", "\n#pragma once\n",
        " ",         "\r\n",       "\"each.h\"\n"};
    uint32_t random = 1;
    for (int i = 0; i < 3000; i++) {
        tt__str text = {0}, out = {0};
        char path[256];
        for (int k = 0; k < 40; k++) {
            random = random * 1664525u + 1013904223u;
            tt__str_add(&text, pieces[(random >> 8) % (sizeof pieces / sizeof *pieces)]);
        }
        if (i % 2)
            write_in(folder, "mix.h",
                     tt__str_text(&text)); /* which the next one may include, and it itself */
        snprintf(path, sizeof path, "%s/mine.cu", folder);
        tt_status status = tt__include_expand(&out, path, tt__str_text(&text));
        if (status != TT_OK && status != TT_E_TEMPLATE)
            fail_msg("status %d: %s\n%s", status, tt_last_error(), tt__str_text(&text));
        tt__str_free(&text);
        tt__str_free(&out);
    }
}

/* A `#line` has a text of C, and positions in the file are right. */
static void names_are_written_as_texts(void **state) {
    (void)state;
    char path[256];
    tt__template *t;
    write_in(folder, "a\\b.h", "int a;\n");
    write_in(folder, "\"c.cu", MINE "#include \"a\\b.h\"\nint end;\n");
    write_in(folder, "\"d.cu", MINE "#include \"a\\b.h\"\n//@ where B > 1\n");
    snprintf(path, sizeof path, "%s/\"c.cu", folder);
    assert_int_equal(tt__template_load(&t, path), TT_OK);
    assert_string_equal(t->source + strlen(MINE),
                        "#line 1 \"a\\\\b.h\"\nint a;\n#line 8 \"\\\"c.cu\"\nint end;\n");
    tt__template_free(&t);
    snprintf(path, sizeof path, "%s/\"d.cu", folder);
    assert_int_equal(tt__template_load(&t, path), TT_E_TEMPLATE);
    assert_non_null(strstr(tt_last_error(), "\"d.cu:8:11: unknown name B"));
}

static int make_folder(void **state) {
    (void)state;
    char path[256];
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/sub", folder);
    return mkdir(path, 0700);
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* Folders of `include` lines are searched after the file's own, and for <FILE> they are the only ones. */
static void folders_are_looked_through(void **state) {
    (void)state;
    tt__template *t;
    write_in(folder, "sub/only.h", "int only;\n#include \"beside.h\"\n");
    write_in(folder, "sub/beside.h", "int beside;\n");
    write_in(folder, "sub/both.h", "int wrong;\n");
    write_in(folder, "both.h", "int right;\n");
    expect_code("//@ include sub\n#include <only.h>\n#include \"both.h\"\n#include <absent.h>\n",
                "//@ include sub\nint only;\nint beside;\nint right;\n#include <absent.h>\n");
    expect_code("#include <only.h>\n", "#include <only.h>\n");
    assert_int_equal(load_with(&t,
                               "//@ include a\n//@ include b\n//@ include c\n//@ include d\n//@ include e\n"
                               "//@ include f\n//@ include g\n//@ include h\n//@ include i\n"),
                     TT_E_TEMPLATE);
    assert_non_null(strstr(tt_last_error(), "mine.cu:15: more than 8 `include` lines"));
}

static void missing_folders_are_named(void **state) {
    (void)state;
    char expected[256];
    tt__template *t;
    tt__str says = {0};
    assert_int_equal(load_with(&t, "//@ include sub\n//@ include NOWHERE\n// //@ include comment\n"
                                   "//@ include both.h\n//@ include /tmp\n"),
                     TT_OK);
    assert_int_equal(tt__include_missing(&says, t->path, t->source), TT_OK);
    snprintf(expected, sizeof expected,
             "`include NOWHERE`: there is no folder %s/NOWHERE/\n`include both.h`: there is no folder "
             "%s/both.h/",
             folder, folder);
    assert_string_equal(tt__str_text(&says), expected);
    tt__str_free(&says);
    tt__template_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_part_of_the_text),
        cmocka_unit_test(headers_come_in_as_often_as_they_should),
        cmocka_unit_test(marks_of_byte_order_are_no_text),
        cmocka_unit_test(headers_are_refused),
        cmocka_unit_test(folders_are_looked_through),
        cmocka_unit_test(missing_folders_are_named),
        cmocka_unit_test(names_are_written_as_texts),
        cmocka_unit_test(survives_mutations),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

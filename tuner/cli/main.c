/*
 * The program `tune`: chooses the command, and prints help from the tables of commands and options.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/cli/pages.h"
#include "tuner/cli/shell/cli.h"
#include "tuner/cli/shell/options.h"

static int flow_words(const char *line, int n, int indent, int used) {
    for (const char *end = line + n; line < end;) {
        int word = (int)strcspn(line, " \n");
        if (used && indent + used + 1 + word > TT__COLUMNS - 1) {
            printf("\n%*s", indent, "");
            used = 0;
        }
        printf("%s%.*s", used ? " " : "", word, line);
        used += word + (used ? 1 : 0);
        line += word;
        line += strspn(line, " \n");
    }
    return used;
}

/* Prints `text` from column `indent` on, in lines that end before TT__COLUMNS. Newlines in it are blanks, but
 * lines that begin with a blank stay as they are. */
static void flow(const char *text, int indent) {
    int used = 0;
    for (int n; *text; text += n + (text[n] == '\n')) {
        n = (int)strcspn(text, "\n");
        if (n && *text != ' ') {
            used = flow_words(text, n, indent, used);
            continue;
        }
        printf("%s%.*s\n", used ? "\n" : "", n, text);
        used = 0;
    }
    if (used)
        putchar('\n');
}

static void print_option(const tt__cli_option *o) {
    enum { HELP_COLUMN = 28 };
    char left[64];
    const char letter[] = {'-', tt__cli_letter(o), ',', ' ', '\0'};
    snprintf(left, sizeof left, "  %s--%s%s%s", letter[1] ? letter : "", o->name, o->arg ? " " : "",
             o->arg ? o->arg : "");
    bool fits = strlen(left) < HELP_COLUMN;
    printf("%-*s", fits ? HELP_COLUMN : 0, left);
    if (!fits)
        printf("\n%*s", HELP_COLUMN, "");
    flow(o->help, HELP_COLUMN);
}

static void print_commands(FILE *f) {
    fprintf(f, "Commands:\n");
    for (size_t i = 1; i < tt__cli_all.n; i++) {
        if (*tt__cli_title(i))
            fprintf(f, " %s\n", tt__cli_title(i));
        fprintf(f, "  %-9s %s\n", tt__cli_all.items[i]->name, tt__cli_all.items[i]->summary);
    }
    fprintf(f, "  %-9s %s\n", "help", "help on one of these");
}

static void print_options(const tt__cli_command *c) {
    const tt__cli_group *next = c->groups;
    if (!next)
        printf("\nOptions:\n");
    for (const tt__cli_option *o = c->options; o->name; o++) {
        if (next && next->title && strcmp(next->first, o->name) == 0)
            printf("\n%s:\n", next++->title);
        print_option(o);
    }
}

static void print_help(const tt__cli_command *c) {
    char head[256];
    snprintf(head, sizeof head, "tune%s%s: %s", *c->name ? " " : "", c->name, c->summary);
    printf("Usage: %s\n\n", c->usage);
    flow(head, 0);
    print_options(c);
    printf("\n");
    if (!*c->name) {
        print_commands(stdout);
        printf("\n");
    }
    flow(c->notes, 0);
}

static int print_short_help(void) {
    fprintf(stderr, "Usage: %s\n       tune COMMAND [options]\n\n", tt__cli_all.items[0]->usage);
    print_commands(stderr);
    fprintf(stderr, "\n\"tune --help\" lists the options. To start: tune --device 0 --sizes 4096,8192\n");
    return TT__EXIT_USAGE;
}

static const char help_forms[] =
    "\"tune help [COMMAND]\", \"tune help --man [COMMAND]\" or \"tune help --completion bash|zsh|fish\"";

static int help(int argc, char **argv) {
    const char *form = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
    const int at = *form ? 2 : 1;
    const char *word = argv[at];
    bool man = strcmp(form, "--man") == 0;
    if (argc > at + 1)
        return tt__cli_fail(
            tt__fail(TT_E_INVALID, "unexpected \"%s\"; help takes one word: %s", argv[at + 1], help_forms));
    if (strcmp(form, "--completion") == 0)
        return tt__cli_fail(tt__cli_print_completion(word ? word : ""));
    if (*form && !man && strcmp(form, "--help") != 0 && strcmp(form, "-h") != 0)
        return tt__cli_fail(tt__fail(TT_E_INVALID, "unknown option %s; it is %s", form, help_forms));
    const tt__cli_command *c = word ? tt__cli_find(word) : tt__cli_all.items[0];
    if (!c)
        return tt__cli_fail(TT_E_INVALID);
    if (man)
        tt__cli_print_man(c);
    else
        print_help(c);
    return TT__EXIT_OK;
}

static int dispatch(const tt__cli_command *c, int argc, char **argv) {
    tt__cli_args args;
    tt_status status = tt__cli_parse(&args, c, argc, argv);
    int code = TT__EXIT_OK;
    if (status != TT_OK)
        code = tt__cli_fail(status);
    else if (args.help)
        print_help(c);
    else if (args.version)
        puts("tune " TT_VERSION);
    else if (c->check && (status = c->check(&args)) != TT_OK)
        code = tt__cli_fail(status);
    else
        code = c->run(&args);
    tt__cli_args_free(&args);
    return code;
}

/* If results did not reach their reader, the command has failed. */
static int close_output(int code) {
    const int failed = tt__cli_fail(tt__cli_flush());
    return failed && code == TT__EXIT_OK ? TT__EXIT_NO_WINNER : code;
}

int main(int argc, char **argv) {
    static char pages[1 << 16]; /* then the last write is the one that fails, and errno says why */
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, pages, _IOFBF, sizeof pages);
    unsetenv("TILETUNE_COLLECT"); /* programs collect; what `tune` asks and launches is its own */
    signal(SIGXFSZ, SIG_IGN);     /* a write beyond `ulimit -f` fails with a message instead */
    if (argc < 2)
        return print_short_help();
    if (argv[1][0] == '-')
        return close_output(dispatch(tt__cli_all.items[0], argc, argv));
    if (strcmp(argv[1], "help") == 0)
        return close_output(help(argc - 1, argv + 1));
    const tt__cli_command *c = tt__cli_find(argv[1]);
    return c ? close_output(dispatch(c, argc - 1, argv + 1)) : tt__cli_fail(TT_E_INVALID);
}

/* Manual pages. */
#include "tuner/cli/pages.h"

#include <ctype.h>
#include <string.h>

static const char released[] = "2026-11-25"; /* TT_VERSION */

static const struct {
    const char *name, *text;
} exits[] =
    {
        {"0", "Done."},
        {"1", "A problem has no winner, or something else failed on the way."},
        {"2", "Usage: a bad option, value or file."},
        {"3", "No device, driver or NVRTC, or CUDA failed."},
        {"4", "The store cannot be opened, read or written."},
        {"130", "Interrupted; what was measured is kept."},
},
  environment[] = {
      {"TILETUNE_DB", "The store. --db goes before it."},
      {"TILETUNE_WHO", "who measured, as \"tune show\" says it. Default: user@host. Empty: nothing."},
      {"TILETUNE_TRUST_STORE", "A store that is used, with its cubins, also where others can write it; 1: all stores."},
      {"XDG_DATA_HOME",
       "Without TILETUNE_DB the store is tiletune/tiletune.db in this folder; default ~/.local/share."},
      {"TILETUNE_SYSTEM_DB",
       "A store that is only read, asked after yours; default /etc/tiletune/tiletune.db, empty: none."},
      {"TILETUNE_CUPTI", "The libcupti.so to load for tune explain."},
      {"TILETUNE_NVRTC", "The libnvrtc.so to load, in place of those that are searched for."},
      {"TILETUNE_WORKER",
       "The program tiletune-worker, in place of the one beside the library or in libexec."},
      {"TILETUNE_DEBUG", "If set, what workers, compiler and driver write to standard error is shown."},
      {"COLUMNS", "On a terminal, the width that tables are fitted to, in place of the terminal's."},
      {"NO_COLOR", "If set, no colour, which is used on a terminal only."},
};

static void put_char(char c) {
    if (c == '-' || c == '\\')
        printf("\\%c", c == '-' ? '-' : 'e');
    else
        putchar(c);
}

/* As running text that starts after `column` columns. Hyphens are those of options, and no line is a request.
 */
static void put(const char *text, size_t n, size_t column) {
    enum { LINE_MAX_COLUMNS = 72 }; /* in the source of the page; the reader fills lines anew */
    for (const char *end = text + n; text < end; text += strspn(text, " \n")) {
        size_t word = strcspn(text, " \n");
        word = word < (size_t)(end - text) ? word : (size_t)(end - text);
        if (column) {
            bool fits = column + 1 + word <= LINE_MAX_COLUMNS;
            putchar(fits ? ' ' : '\n');
            column = fits ? column + 1 : 0;
        }
        if (!column && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        for (size_t i = 0; i < word; i++)
            put_char(text[i]);
        column += word;
        text += word;
    }
}

static void put_text(const char *text) {
    put(text, strlen(text), 0);
}

/* Lines that begin with a blank stay as they are; all others become paragraphs. */
static void put_notes(const char *text) {
    for (size_t n; *text; text += n) {
        const char *end = text;
        n = strcspn(text, "\n") + 1;
        if (*text == '\n') {
            printf(".PP\n");
        } else if (*text == ' ') {
            printf(".nf\n");
            for (size_t i = 0; i < n; i++)
                put_char(text[i]);
            printf(".fi\n");
        } else {
            while (*end && *end != ' ' && *end != '\n')
                end += strcspn(end, "\n") + 1;
            n = (size_t)(end - text);
            put(text, n, 0);
            printf("\n");
        }
    }
}

static void put_item(const char *name, const char *text) {
    printf(".TP\n.B ");
    put_text(name);
    printf("\n");
    put_text(text);
    printf("\n");
}

static void put_options(const tt__cli_command *c) {
    printf(".SH OPTIONS\n");
    for (const tt__cli_option *o = c->options; o->name; o++) {
        printf(".TP\n\\fB%s\\-\\-", strcmp(o->name, "help") == 0 ? "\\-h\\fR, \\fB" : "");
        put_text(o->name);
        printf("\\fR");
        if (o->arg) {
            printf(" \\fI");
            put_text(o->arg);
            printf("\\fR");
        }
        printf("\n");
        put_text(o->help);
        printf("\n");
    }
}

/* The rest of "usage: tune best ...", with the name in bold. */
static void put_usage(const tt__cli_command *c) {
    size_t n = strlen("tune") + (*c->name ? 1 + strlen(c->name) : 0);
    printf(".SH SYNOPSIS\n.B ");
    put(c->usage, n, 0);
    printf("\n");
    put_text(c->usage + n + strspn(c->usage + n, " "));
    printf("\n");
    if (!*c->name)
        printf(".br\n\\fBtune\\fR \\fICOMMAND\\fR [options]\n");
}

static void put_commands(void) {
    printf(".SH COMMANDS\n");
    for (size_t i = 1; i < tt__cli_all.n; i++) {
        printf(".TP\n.BR tune\\-%s (1)\n", tt__cli_all.items[i]->name);
        put_text(tt__cli_all.items[i]->summary);
        printf("\n");
    }
}

void tt__cli_print_man(const tt__cli_command *c) {
    bool whole = !*c->name;
    printf(".TH TUNE%s", whole ? "" : "\\-");
    for (const char *p = c->name; *p; p++)
        put_char((char)toupper((unsigned char)*p));
    printf(" 1 \"%s\" \"tiletune %s\" \"tiletune\"\n.SH NAME\ntune%s", released, TT_VERSION,
           whole ? "" : "\\-");
    put_text(c->name);
    printf(" \\-");
    put(c->summary, strlen(c->summary), strlen("tune- -") + strlen(c->name));
    printf("\n");
    put_usage(c);
    printf(".SH DESCRIPTION\n");
    put_notes(c->notes);
    if (whole)
        put_commands();
    put_options(c);
    if (!whole) {
        printf(".SH SEE ALSO\n.BR tune (1)\nhas the exit codes and the environment.\n");
        return;
    }
    printf(".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++)
        put_item(exits[i].name, exits[i].text);
    printf(".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
        put_item(environment[i].name, environment[i].text);
}

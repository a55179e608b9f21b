/*
 * The table of commands, and what is made from it: manual pages and completions. Nothing else names all
 * commands.
 */
#include "tuner/cli/pages.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "tuner/cli/shell/options.h"

extern const tt__cli_command tt__cmd_tune, tt__cmd_best, tt__cmd_list, tt__cmd_show, tt__cmd_doctor,
    tt__cmd_explain, tt__cmd_export, tt__cmd_import, tt__cmd_lock, tt__cmd_merge, tt__cmd_finals,
    tt__cmd_prune, tt__cmd_vacuum, tt__cmd_check, tt__cmd_study, tt__cmd_report, tt__cmd_new,
    tt__cmd_import_t1, tt__cmd_judge, tt__cmd_rules;

static const tt__cli_command *const commands[] = {
    &tt__cmd_tune,      &tt__cmd_best,   &tt__cmd_list,   &tt__cmd_show,   &tt__cmd_report,
    &tt__cmd_explain,   &tt__cmd_study,  &tt__cmd_new,    &tt__cmd_check,  &tt__cmd_judge,
    &tt__cmd_import_t1, &tt__cmd_export, &tt__cmd_lock,   &tt__cmd_import, &tt__cmd_merge,
    &tt__cmd_finals,    &tt__cmd_rules,  &tt__cmd_doctor, &tt__cmd_prune,  &tt__cmd_vacuum,
};

static const struct {
    const tt__cli_command *first;
    const char *title;
} groups[] = {
    {&tt__cmd_best, "what is known:"},
    {&tt__cmd_explain, "why a kernel is as fast as it is:"},
    {&tt__cmd_new, "kernels of your own:"},
    {&tt__cmd_export, "results for programs and other machines:"},
    {&tt__cmd_doctor, "the machine and the store:"},
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

const tt__cli_commands tt__cli_all = {commands, N_COMMANDS};

const char *tt__cli_title(size_t i) {
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
        if (groups[k].first == commands[i])
            return groups[k].title;
    return "";
}

const tt__cli_command *tt__cli_find(const char *word) {
    tt__suggest near = tt__suggest_for(word, strlen(word));
    for (size_t i = 1; i < N_COMMANDS; i++) {
        if (strcmp(word, commands[i]->name) == 0)
            return commands[i];
        tt__suggest_try(&near, commands[i]->name);
    }
    tt__suggest_try(&near, "help");
    if (*word && strspn(word, "0123456789,") == strlen(word))
        tt__fail(TT_E_INVALID, "unexpected \"%s\"; sizes are given as --sizes %s", word, word);
    else
        tt__fail(TT_E_INVALID, "unknown command \"%s\"%s", word,
                 near.best ? tt__suggest_text(&near) : "; \"tune --help\" lists them");
    return NULL;
}

/* ---- Manual pages -----------------------------------------------------------------------------------------
 */

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
      {"TILETUNE_TRUST_STORE",
       "A store that is used, with its cubins, also where others can write it; 1: all stores."},
      {"XDG_DATA_HOME",
       "Without TILETUNE_DB the store is tiletune/tiletune.db in this folder; default ~/.local/share."},
      {"TILETUNE_SYSTEM_DB",
       "A store that is only read, asked after yours; default /etc/tiletune/tiletune.db, empty: none."},
      {"TILETUNE_CUPTI", "The libcupti.so to load for tune explain."},
      {"TILETUNE_NVRTC", "The libnvrtc.so to load, in place of those that are searched for."},
      {"TILETUNE_WORKER",
       "The program tiletune-worker, in place of the one beside the library or in libexec."},
      {"TILETUNE_COLLECT",
       "A file that collects what programs launch without an exact winner, for --collected. "
       "tt_open_opts.collect_file goes before it."},
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
static void put_words(const char *text, size_t n, size_t column) {
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
    put_words(text, strlen(text), 0);
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
            put_words(text, n, 0);
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
        printf(".TP\n\\fB");
        if (tt__cli_letter(o))
            printf("\\-%c\\fR, \\fB", tt__cli_letter(o));
        printf("\\-\\-");
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
    put_words(c->usage, n, 0);
    printf("\n");
    put_text(c->usage + n + strspn(c->usage + n, " "));
    printf("\n");
    if (!*c->name)
        printf(".br\n\\fBtune\\fR \\fICOMMAND\\fR [options]\n");
}

static void put_command_items(void) {
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
    put_words(c->summary, strlen(c->summary), strlen("tune- -") + strlen(c->name));
    printf("\n");
    put_usage(c);
    printf(".SH DESCRIPTION\n");
    put_notes(c->notes);
    if (whole)
        put_command_items();
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

/* ---- Completions ------------------------------------------------------------------------------------------
 */

static bool takes_file(const tt__cli_option *o) {
    return o->arg && (strncmp(o->arg, "FILE", 4) == 0 || strcmp(o->arg, "PATH") == 0);
}

static bool takes_device(const tt__cli_option *o) {
    return o->set == tt__cli_set_device || o->set == tt__cli_set_one_device;
}

/* Writes text inside single quotes, on one line, with a backslash before each of the `special` characters. */
static void put_quoted(const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (*text == '\n')
            putchar(' ');
        else
            printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

/* ---- bash ---- */

/* The completions after each option of `c` that takes a value. */
static void put_bash_values(const tt__cli_command *c) {
    for (const tt__cli_option *o = c->options; o->name; o++)
        if (takes_device(o))
            printf("                --%s) _tune_device; return ;;\n", o->name);
        else if (takes_file(o))
            printf("                --%s) _tune_reply -f; return ;;\n", o->name);
        else if (o->arg)
            printf("                --%s) _tune_reply -W '%s'; return ;;\n", o->name, o->values);
}

static void put_command_names(void) {
    for (size_t i = 1; i < tt__cli_all.n; i++)
        printf("%s ", tt__cli_all.items[i]->name);
    printf("help");
}

static void put_bash_command(const tt__cli_command *c) {
    printf("        %s)\n            words='", *c->name ? c->name : "*");
    for (const tt__cli_option *o = c->options; o->name; o++)
        printf("%s--%s", o == c->options ? "" : " ", o->name);
    printf("'\n            case $prev in\n");
    put_bash_values(c);
    printf("            esac\n");
    if (c->takes_files)
        printf("            [[ $cur == -* ]] || { _tune_reply -f; return; }\n");
    printf("            ;;\n");
}

/* Readline takes ':' and '=' for words of their own. Of "replay:FILE" only the part
 * after ':' is replaced then. */
static void put_bash(void) {
    printf("# bash completion for tune, made by: tune help --completion bash\n"
           "_tune_reply() { mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\"); }\n"
           "_tune_device() {\n"
           "    local before=''\n"
           "    case $cur in\n"
           "        replay:*) before=replay: cur=${cur#replay:} ;;\n"
           "        *)\n"
           "            _tune_reply -W '0 replay:'\n"
           "            [[ ${COMPREPLY[*]} != replay: ]] || compopt -o nospace 2>/dev/null\n"
           "            return\n"
           "            ;;\n"
           "    esac\n"
           "    _tune_reply -f\n"
           "    [[ $COMP_WORDBREAKS == *:* ]] || COMPREPLY=(\"${COMPREPLY[@]/#/$before}\")\n"
           "}\n"
           "_tune() {\n"
           "    local i=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev words\n"
           "    COMPREPLY=()\n"
           "    if [[ $cur == : ]]; then\n"
           "        cur=${COMP_WORDS[--i]}:\n"
           "    elif ((i > 1)) && [[ ${COMP_WORDS[i - 1]} == : ]]; then\n"
           "        cur=${COMP_WORDS[i - 2]}:$cur i=$((i - 2))\n"
           "    fi\n"
           "    if [[ $cur == = ]]; then\n"
           "        cur=''\n"
           "    elif ((i > 1)) && [[ ${COMP_WORDS[i - 1]} == = ]]; then\n"
           "        i=$((i - 1))\n"
           "    fi\n"
           "    prev=${COMP_WORDS[i - 1]}\n"
           "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 1; i < tt__cli_all.n; i++)
        put_bash_command(tt__cli_all.items[i]);
    printf("        help) words='--man --completion' ;;\n");
    put_bash_command(tt__cli_all.items[0]);
    printf("    esac\n    if [[ $cur != -* ]]; then\n"
           "        ((COMP_CWORD == 1)) || [[ $prev == help ]] || return\n        words='");
    put_command_names();
    printf("'\n    fi\n    _tune_reply -W \"$words\"\n}\ncomplete -o filenames -F _tune tune\n");
}

/* ---- zsh ---- */

static void put_zsh_options(const tt__cli_command *c) {
    printf("_arguments");
    for (const tt__cli_option *o = c->options; o->name; o++) {
        printf(" \\\n                '*--%s[", o->name);
        put_quoted(o->help, "[]\\");
        printf("]");
        if (o->arg) {
            printf(":");
            put_quoted(o->arg, ":\\");
            printf(takes_file(o)     ? ":_files"
                   : takes_device(o) ? ":_tune_device"
                   : *o->values      ? ":(%s)"
                                     : ":",
                   o->values);
        }
        printf("'");
    }
    printf("%s\n            ;;\n", c->takes_files ? " \\\n                '*:FILE:_files'" : "");
}

static void put_zsh(void) {
    printf("#compdef tune\n# made by: tune help --completion zsh\n"
           "_tune_device() {\n"
           "    if compset -P replay:; then _files; else compadd 0; compadd -S '' replay:; fi\n"
           "}\n"
           "_tune() {\n"
           "    local -a commands\n"
           "    commands=(\n");
    for (size_t i = 1; i < tt__cli_all.n; i++) {
        printf("        '%s:", tt__cli_all.items[i]->name);
        put_quoted(tt__cli_all.items[i]->summary, ":\\");
        printf("'\n");
    }
    printf("        'help:help on one of these'\n    )\n"
           "    if [[ $PREFIX != -* ]] && ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n"
           "        _describe command commands\n        return\n    fi\n"
           "    case $words[2] in\n");
    for (size_t i = 1; i < tt__cli_all.n; i++) {
        printf(
            "        %s)\n            words=(\"${(@)words[2,-1]}\")\n            ((CURRENT--))\n            ",
            tt__cli_all.items[i]->name);
        put_zsh_options(tt__cli_all.items[i]);
    }
    printf("        *)\n            ");
    put_zsh_options(tt__cli_all.items[0]);
    printf("    esac\n}\n[[ $funcstack[1] != _tune ]] || _tune \"$@\"\n");
}

/* ---- fish ---- */

static void put_fish_options(const tt__cli_command *c) {
    for (const tt__cli_option *o = c->options; o->name; o++) {
        printf("complete -c tune -n '%s__fish_seen_subcommand_from ", *c->name ? "" : "not ");
        if (*c->name)
            printf("%s", c->name);
        else
            put_command_names();
        printf("' -l %s", o->name);
        if (tt__cli_letter(o))
            printf(" -s %c", tt__cli_letter(o));
        printf("%s -d '", takes_file(o) ? " -r -F" : o->arg ? " -x" : "");
        put_quoted(o->help, "\\");
        printf(o->arg && takes_device(o) ? "' -a '(__tune_device)'\n"
               : *o->values              ? "' -a '%s'\n"
                                         : "'\n",
               o->values);
    }
}

static void put_fish(void) {
    printf("# fish completion for tune, made by: tune help --completion fish\n"
           "function __tune_device\n"
           "    set -l word (commandline -ct | string replace -r '^--device=' '')\n"
           "    if string match -q 'replay:*' -- $word\n"
           "        printf 'replay:%%s\\n' (__fish_complete_path (string replace replay: '' -- $word))\n"
           "    else\n"
           "        printf '%%s\\n' 0 replay:\n"
           "    end\n"
           "end\n"
           "complete -c tune -f\n");
    for (size_t i = 1; i < tt__cli_all.n; i++) {
        printf("complete -c tune -n __fish_use_subcommand -a %s -d '", tt__cli_all.items[i]->name);
        put_quoted(tt__cli_all.items[i]->summary, "\\");
        printf("'\n");
    }
    printf("complete -c tune -n __fish_use_subcommand -a help -d 'help on one of these'\n"
           "complete -c tune -n '__fish_seen_subcommand_from help' -a '");
    put_command_names();
    printf("'\n");
    for (size_t i = 0; i < tt__cli_all.n; i++) {
        if (tt__cli_all.items[i]->takes_files)
            printf("complete -c tune -n '__fish_seen_subcommand_from %s' -F\n", tt__cli_all.items[i]->name);
        put_fish_options(tt__cli_all.items[i]);
    }
}

tt_status tt__cli_print_completion(const char *shell) {
    static const struct {
        const char *name;
        void (*put)(void);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].put();
            return TT_OK;
        }
    return tt__fail(TT_E_INVALID, "no completion for \"%s\"; there is one for bash, zsh and fish", shell);
}

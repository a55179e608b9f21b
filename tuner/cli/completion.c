/*
 * Shell completions. Only values that are files are completed.
 */
#include "tuner/cli/pages.h"

#include <string.h>

static bool takes_file(const tt__cli_option *o) {
    return o->arg && (strcmp(o->arg, "FILE") == 0 || strcmp(o->arg, "PATH") == 0);
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

static bool seen_before(const tt__cli_commands *all, size_t command, const char *name) {
    for (size_t i = 0; i < command; i++)
        for (const tt__cli_option *o = all->items[i]->options; o->name; o++)
            if (strcmp(o->name, name) == 0)
                return true;
    return false;
}

/* "--db|--template": the options of all commands that take a file, or that take another value. */
static void put_pattern(const tt__cli_commands *all, bool files) {
    const char *before = "";
    for (size_t i = 0; i < all->n; i++)
        for (const tt__cli_option *o = all->items[i]->options; o->name; o++)
            if (o->arg && takes_file(o) == files && !seen_before(all, i, o->name)) {
                printf("%s--%s", before, o->name);
                before = "|";
            }
}

static void put_names(const tt__cli_command *c) {
    for (const tt__cli_option *o = c->options; o->name; o++)
        printf("%s--%s", o == c->options ? "" : " ", o->name);
}

static void put_commands(const tt__cli_commands *all, const char *between) {
    for (size_t i = 1; i < all->n; i++)
        printf("%s%s", all->items[i]->name, between);
    printf("help");
}

/* After commands that take files without an option, other words complete to files. */
static void put_bash_files(const tt__cli_commands *all) {
    const char *before = "";
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i]->takes_files) {
            printf("%s%s", before, all->items[i]->name);
            before = "|";
        }
}

static void put_bash(const tt__cli_commands *all) {
    printf("# bash completion for tune, made by: tune help --completion bash\n"
           "_tune() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words\n"
           "    COMPREPLY=()\n"
           "    case $prev in\n"
           "        ");
    put_pattern(all, true);
    printf(")\n            mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n            return\n            "
           ";;\n"
           "        ");
    put_pattern(all, false);
    printf(") return ;;\n    esac\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 1; i < all->n; i++) {
        printf("        %s) words='", all->items[i]->name);
        put_names(all->items[i]);
        printf("' ;;\n");
    }
    printf("        help) words='--man --completion' ;;\n        *) words='");
    put_names(all->items[0]);
    printf("' ;;\n    esac\n    if [[ $cur != -* ]]; then\n"
           "        if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == @(");
    put_bash_files(all);
    printf(") ]]; then\n            mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n            return\n   "
           "     fi\n"
           "        ((COMP_CWORD == 1)) || [[ $prev == help ]] || return\n        words='");
    put_commands(all, " ");
    printf("'\n    fi\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\n"
           "complete -o filenames -F _tune tune\n");
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
            printf(":%s", takes_file(o) ? "_files" : "");
        }
        printf("'");
    }
    printf("%s\n            ;;\n", c->takes_files ? " \\\n                '*:FILE:_files'" : "");
}

static void put_zsh(const tt__cli_commands *all) {
    printf("#compdef tune\n# made by: tune help --completion zsh\n"
           "_tune() {\n"
           "    local -a commands\n"
           "    commands=(\n");
    for (size_t i = 1; i < all->n; i++) {
        printf("        '%s:", all->items[i]->name);
        put_quoted(all->items[i]->summary, ":\\");
        printf("'\n");
    }
    printf("        'help:help on one of these'\n    )\n"
           "    if [[ $PREFIX != -* ]] && ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n"
           "        _describe command commands\n        return\n    fi\n"
           "    case $words[2] in\n");
    for (size_t i = 1; i < all->n; i++) {
        printf(
            "        %s)\n            words=(\"${(@)words[2,-1]}\")\n            ((CURRENT--))\n            ",
            all->items[i]->name);
        put_zsh_options(all->items[i]);
    }
    printf("        *)\n            ");
    put_zsh_options(all->items[0]);
    printf("    esac\n}\n_tune \"$@\"\n");
}

/* ---- fish ---- */

static void put_fish_options(const tt__cli_command *c, const tt__cli_commands *all) {
    for (const tt__cli_option *o = c->options; o->name; o++) {
        printf("complete -c tune -n '%s__fish_seen_subcommand_from ", *c->name ? "" : "not ");
        if (*c->name)
            printf("%s", c->name);
        else
            put_commands(all, " ");
        printf("' -l %s%s%s -d '", o->name, strcmp(o->name, "help") == 0 ? " -s h" : "",
               takes_file(o) ? " -r -F"
               : o->arg      ? " -x"
                             : "");
        put_quoted(o->help, "\\");
        printf("'\n");
    }
}

static void put_fish(const tt__cli_commands *all) {
    printf("# fish completion for tune, made by: tune help --completion fish\ncomplete -c tune -f\n");
    for (size_t i = 1; i < all->n; i++) {
        printf("complete -c tune -n __fish_use_subcommand -a %s -d '", all->items[i]->name);
        put_quoted(all->items[i]->summary, "\\");
        printf("'\n");
    }
    printf("complete -c tune -n __fish_use_subcommand -a help -d 'help on one of these'\n"
           "complete -c tune -n '__fish_seen_subcommand_from help' -a '");
    put_commands(all, " ");
    printf("'\n");
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i]->takes_files)
            printf("complete -c tune -n '__fish_seen_subcommand_from %s' -F\n", all->items[i]->name);
        put_fish_options(all->items[i], all);
    }
}

tt_status tt__cli_print_completion(const char *shell, const tt__cli_commands *all) {
    static const struct {
        const char *name;
        void (*put)(const tt__cli_commands *all);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].put(all);
            return TT_OK;
        }
    return tt__fail(TT_E_INVALID, "no completion for \"%s\"; there is one for bash, zsh and fish", shell);
}

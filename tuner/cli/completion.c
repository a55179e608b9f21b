/*
 * Shell completions. Values that are files, devices or words of a list are completed.
 */
#include "tuner/cli/pages.h"
#include "tuner/cli/shell/options.h"

#include <string.h>

static bool takes_file(const tt__cli_option *o) {
    return o->arg && (strncmp(o->arg, "FILE", 4) == 0 || strcmp(o->arg, "PATH") == 0);
}

static bool takes_device(const tt__cli_option *o) {
    return o->set == tt__cli_set_device;
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

static void put_commands(void) {
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
    put_commands();
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
            put_commands();
        printf("' -l %s%s%s -d '", o->name, strcmp(o->name, "help") == 0 ? " -s h" : "",
               takes_file(o) ? " -r -F"
               : o->arg      ? " -x"
                             : "");
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
    put_commands();
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

/* SPDX-License-Identifier: MIT */
/* The bash completion script: for every command its options, and the names that values can have. Where nothing is
 * known, bash completes file names. */
#include "completion.h"

#include <stdio.h>
#include <string.h>

static void put_word(const char *name) {
    printf(" %s", name);
}

static void put_commands(void) {
    const char *last = "";
    for (const cli_command *const *command = cli_commands; *command; command++) {
        size_t length = strcspn((*command)->name, " ");
        if (strlen(last) < length || strncmp(last, (*command)->name, length) != 0 ||
            (last[length] && last[length] != ' '))
            printf(" %.*s", (int)length, (*command)->name);
        last = (*command)->name;
    }
}

static void end_family(void) {
    printf("\"; fi\n        command=\"$command ${line[2]}\" ;;\n");
}

/* The second words of two-word commands: "data" has "make" and "inspect". */
static void put_families(void) {
    const char *last = "";
    size_t last_length = 0;
    for (const cli_command *const *command = cli_commands; *command; command++) {
        const char *space = strchr((*command)->name, ' ');
        size_t length = space ? (size_t)(space - (*command)->name) : 0;
        if (space && (length != last_length || strncmp(last, (*command)->name, length) != 0)) {
            if (last_length)
                end_family();
            printf("    %.*s)\n        if [ \"$at\" -eq 2 ]; then words=\"", (int)length, (*command)->name);
        }
        if (space) {
            printf(" %s", space + 1);
            last = (*command)->name;
            last_length = length;
        }
    }
    if (last_length)
        end_family();
}

static void put_values(const cli_option *option) {
    cli_value_kind kind = option->kind == CLI_CHOICE ? CLI_VALUE_WORDS : cli_value_of(option->value);
    if (option->letter)
        printf("        -%c|--%s) ", option->letter, option->name);
    else
        printf("        --%s) ", option->name);
    if (kind == CLI_VALUE_FILE || kind == CLI_VALUE_FOLDER) {
        printf("return ;;\n");
        return;
    }
    printf("words=\"");
    cli_value_names(kind, option->value, put_word);
    printf("\"; value=1 ;;\n");
}

static void put_command(const cli_command *command) {
    const cli_option *option;
    printf("    \"%s\")\n        options=\"", command->name);
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        printf(" --%s", option->name);
    printf("\"\n        operands=\"");
    for (const char *at = command->operands; *at;) {
        char word[64];
        size_t length = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        cli_value_names(cli_value_of(word), word, put_word);
        at += length;
        at += strspn(at, " ");
    }
    printf("\"\n        case $previous in\n");
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        if (option->kind != CLI_FLAG)
            put_values(option);
    printf("        esac ;;\n");
}

void cli_completion_bash(void) {
    printf(
        "# SPDX-License-Identifier: MIT\n# bash completion for locus; made by 'locus completion bash'\n\n_locus()\n{\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} at=$COMP_CWORD\n"
        "    local -a line=(\"${COMP_WORDS[@]}\")\n"
        "    while [ \"${line[1]}\" = --plugin ] && [ \"$at\" -gt 2 ]; do\n"
        "        line=(\"${line[0]}\" \"${line[@]:3}\")\n        at=$((at - 2))\n    done\n"
        "    local command=${line[1]} options= operands= words= value=\n    COMPREPLY=()\n"
        "    [ \"$command\" != --plugin ] || return\n"
        "    if [ \"$at\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    put_commands();
    printf(" --plugin --help --version\" -- \"$current\"))\n        return\n    fi\n    case $command in\n");
    put_families();
    printf("    esac\n    case $command in\n");
    for (const cli_command *const *command = cli_commands; *command; command++)
        put_command(*command);
    printf("    esac\n    if [ -z \"$value\" ]; then\n        case $current in\n        -*) words=$options ;;\n"
           "        *) words=\"$words $operands\" ;;\n        esac\n    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n\ncomplete -o default -F _locus locus\n");
}

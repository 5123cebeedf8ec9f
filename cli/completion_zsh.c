/* SPDX-License-Identifier: MIT */
/* The zsh completion script: commands with their summaries, options with their help, values by kind. */
#include "completion.h"

#include <stdio.h>
#include <string.h>

/* A text inside single quotes, inside _arguments' brackets: quotes, brackets, colons and backslashes are escaped. */
static void put_quoted(const char *text) {
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
}

static void put_word(const char *name) {
    printf("%s ", name);
}

/* The action of _arguments for a value. */
static void put_action(cli_value_kind kind, const char *word) {
    switch (kind) {
    case CLI_VALUE_FILE:
        fputs("_files", stdout);
        break;
    case CLI_VALUE_FOLDER:
        fputs("_files -/", stdout);
        break;
    case CLI_VALUE_ENCODING:
    case CLI_VALUE_TASK:
    case CLI_VALUE_ATTENTION:
    case CLI_VALUE_WORDS:
        putchar('(');
        cli_value_names(kind, word, put_word);
        putchar(')');
        break;
    case CLI_VALUE_OTHER:
        putchar(' ');
        break;
    }
}

static void put_option(const cli_option *option) {
    fputs(" \\\n            ", stdout);
    if (option->letter)
        printf("'(-%c --%s)'{-%c,--%s}'[", option->letter, option->name, option->letter, option->name);
    else
        printf("'--%s[", option->name);
    put_quoted(option->help);
    putchar(']');
    if (option->kind != CLI_FLAG) {
        putchar(':');
        put_quoted(option->kind == CLI_CHOICE ? option->name : option->value);
        putchar(':');
        put_action(option->kind == CLI_CHOICE ? CLI_VALUE_WORDS : cli_value_of(option->value), option->value);
    }
    putchar('\'');
}

static void put_operands(const char *operands) {
    size_t number = 1;
    for (const char *at = operands; *at; number++) {
        char word[64];
        size_t length = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (strstr(word, "…"))
            printf(" \\\n            '*:");
        else
            printf(" \\\n            '%zu:", number);
        put_quoted(word);
        putchar(':');
        put_action(cli_value_of(word), word);
        putchar('\'');
        at += length;
        at += strspn(at, " ");
    }
}

static void put_command(const cli_command *command) {
    const cli_option *option;
    printf("    '%s')\n        _arguments -s -S", command->name);
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        put_option(option);
    put_operands(command->operands);
    printf(" ;;\n");
}

/* What the commands of a family do together. */
static const char *family_summary(const char *name) {
    return strncmp(name, "plot ", 5) == 0 ? "draws groups, similarities and spectra"
                                          : "makes or shows samples of a task";
}

/* Names and summaries for _describe: of one word, or the second words of the family `first`. */
static void put_descriptions(const char *first) {
    const char *last = "";
    size_t length = first ? strlen(first) : 0;
    for (const cli_command *const *command = cli_commands; *command; command++) {
        const char *name = (*command)->name, *space = strchr(name, ' ');
        if (first ? (space && (size_t)(space - name) == length && strncmp(name, first, length) == 0) : !space) {
            printf("        '%s:", first ? space + 1 : name);
            put_quoted((*command)->summary);
            printf("'\n");
        } else if (!first && strncmp(last, name, strcspn(name, " ") + 1) != 0) {
            printf("        '%.*s:%s'\n", (int)strcspn(name, " "), name, family_summary(name));
        }
        last = name;
    }
}

static void put_families(void) {
    const char *last = "";
    for (const cli_command *const *command = cli_commands; *command; command++) {
        const char *name = (*command)->name, *space = strchr(name, ' ');
        char first[64];
        if (!space || strncmp(last, name, (size_t)(space - name) + 1) == 0) {
            last = name;
            continue;
        }
        snprintf(first, sizeof first, "%.*s", (int)(space - name), name);
        printf("    if [[ $command == %s ]]; then\n        if (( CURRENT == 3 )); then\n            choices=(\n",
               first);
        put_descriptions(first);
        printf("            )\n            _describe -t commands 'what' choices\n            return\n        fi\n"
               "        command=\"$command $words[3]\"\n        shift words\n        (( CURRENT-- ))\n    fi\n");
        last = name;
    }
}

void cli_completion_zsh(void) {
    printf(
        "#compdef locus\n# SPDX-License-Identifier: MIT\n# zsh completion for locus; made by 'locus completion zsh'\n\n"
        "_locus()\n{\n    local -a choices\n    while [[ $words[2] == --plugin ]] && (( CURRENT > 3 )); do\n"
        "        words=($words[1] ${words[4,-1]})\n        (( CURRENT -= 2 ))\n    done\n"
        "    if [[ $words[2] == --plugin ]] && (( CURRENT == 3 )); then\n        _files -g '*.so'\n        return\n"
        "    fi\n    local command=$words[2]\n    if (( CURRENT == 2 )); then\n        "
        "choices=(\n");
    put_descriptions(NULL);
    printf("        )\n        _describe -t commands 'locus command' choices\n        return\n    fi\n");
    put_families();
    printf("    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (const cli_command *const *command = cli_commands; *command; command++)
        put_command(*command);
    printf("    esac\n}\n\n_locus \"$@\"\n");
}

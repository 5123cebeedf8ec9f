/* SPDX-License-Identifier: MIT */
/* The text of --help, made from the same tables that parse options. Wrapped at 100 columns. */
#include "command.h"
#include "options.h"
#include "output.h"
#include "train_options.h"

#include <stdio.h>
#include <string.h>

/* ": copy, reverse, …" */
static void list_tasks(char *text, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < lab_task_count() && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? ": " : ", ", lab_task_at(i)->name);
}

static void print_option(const cli_option *option) {
    enum { HELP_COLUMN = 30 };
    char left[160], help[512], tasks[256] = "";
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->kind == CLI_FLAG ? "" : " ",
             option->kind == CLI_FLAG ? "" : option->value);
    if (option->kind != CLI_FLAG && strncmp(option->value, CLI_TASK_VALUE, strlen(CLI_TASK_VALUE)) == 0)
        list_tasks(tasks, sizeof tasks);
    snprintf(help, sizeof help, "%s%s%s%s%s", option->help, tasks, option->initial ? " (default: " : "",
             option->initial ? option->initial : "", option->initial ? ")" : "");
    fputs(left, stdout);
    size_t width = lab_text_width(left);
    if (width + 2 > HELP_COLUMN) {
        putchar('\n');
        width = 0;
    }
    cli_print_wrapped(help, width, HELP_COLUMN);
}

/* Paragraphs are parted by an empty line; single line ends are spaces. */
static void print_paragraphs(const char *text) {
    while (*text) {
        char paragraph[2048];
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        snprintf(paragraph, sizeof paragraph, "%.*s", (int)length, text);
        cli_print_wrapped(paragraph, 0, 0);
        text += length + (end ? 2 : 0);
        fputs(*text ? "\n" : "", stdout);
    }
}

void cli_usage(const cli_command *command) {
    printf("locus %s: %s\n\nusage: locus %s%s%s [options]\n", command->name, command->summary, command->name,
           command->operands[0] ? " " : "", command->operands);
    if (command->details[0]) {
        putchar('\n');
        print_paragraphs(command->details);
    }
    printf("\noptions:\n");
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        print_option(option);
    if (command->examples[0]) {
        printf("\nexample%s:\n", strchr(command->examples, '\n') == strrchr(command->examples, '\n') ? "" : "s");
        for (const char *line = command->examples; *line;) {
            size_t length = strcspn(line, "\n");
            printf("  %.*s\n", (int)length, line);
            line += length + (line[length] == '\n');
        }
    }
}

/* SPDX-License-Identifier: MIT */
/* locus completion: completion scripts for shells and the man page, generated from the same tables that parse
 * options. The files in completions/ and man/ are its output; a test compares them. */
#include "completion.h"
#include "output.h"
#include "task/task.h"

#include <locus/attention_kind.h>
#include <string.h>

cli_value_kind cli_value_of(const char *word) {
    /* By how the word begins: "SPEC,…" and "SPEC" alike. */
    static const struct {
        const char *begin;
        cli_value_kind kind;
    } kinds[] = {{"FILE", CLI_VALUE_FILE},       {"DIR", CLI_VALUE_FOLDER},    {"SPEC", CLI_VALUE_ENCODING},
                 {"[NAME]", CLI_VALUE_ENCODING}, {"TASK", CLI_VALUE_TASK},     {"[TASK", CLI_VALUE_TASK},
                 {"T,T", CLI_VALUE_TASK},        {"KIND", CLI_VALUE_ATTENTION}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(word, kinds[i].begin, strlen(kinds[i].begin)) == 0)
            return kinds[i].kind;
    return strcmp(word, "P") == 0 ? CLI_VALUE_FILE : strchr(word, '|') ? CLI_VALUE_WORDS : CLI_VALUE_OTHER;
}

void cli_value_names(cli_value_kind kind, const char *word, void (*put)(const char *name)) {
    const locus_encoding_info *info;
    const lab_task *task;
    const locus_attention_kind_info *attention;
    char name[64];
    for (size_t i = 0; kind == CLI_VALUE_ENCODING && (info = locus_encoding_registry_at(i)) != NULL; i++)
        put(info->name);
    for (size_t i = 0; kind == CLI_VALUE_ATTENTION && (attention = locus_attention_registry_at(i)) != NULL; i++)
        put(attention->name);
    for (size_t i = 0; kind == CLI_VALUE_TASK && i < lab_task_count() && (task = lab_task_at(i)) != NULL; i++)
        put(task->name);
    for (const char *at = word + strspn(word, "["); kind == CLI_VALUE_WORDS && *at;) {
        size_t length = strcspn(at, "|]");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        put(name);
        at += length;
        at += strspn(at, "|]…");
    }
}

static int run(cli_arguments *arguments) {
    static const struct {
        const char *name;
        void (*write)(void);
    } kinds[] = {{"bash", cli_completion_bash}, {"zsh", cli_completion_zsh}, {"man", cli_completion_man}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(arguments->operands[0], kinds[i].name) == 0) {
            kinds[i].write();
            return 0;
        }
    }
    return cli_usage_error("completion: '%s' is not one of bash, zsh, man", arguments->operands[0]);
}

const cli_command cli_command_completion = {
    .name = "completion",
    .summary = "prints a completion script for bash or zsh, or the man page",
    .operands = "bash|zsh|man",
    .details = "",
    .examples = "locus completion bash > ~/.local/share/bash-completion/completions/locus\n"
                "locus completion zsh > ~/.zfunc/_locus\n",
    .run = run,
};

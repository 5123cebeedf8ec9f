/* SPDX-License-Identifier: MIT */
/* What may stand next on a command line. A word of several parts (a list with commas, a spec with options) is completed
 * in its last one: what stands before it is kept. */
#include "completion.h"
#include "output.h"
#include "task/task.h"
#include "train/store/store.h"

#include <locus/attention_kind.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The word to complete: what is kept of it, and the beginning of what is offered. */
typedef struct place {
    const char *word;
    size_t kept;
    bool quoted; /* in an open quote, where parentheses do not end a word */
} place;

static void offer(const place *at, const char *word, const char *end, const char *meaning) {
    const char *begun = at->word + at->kept;
    if (strncmp(word, begun, strlen(begun)) == 0)
        cli_print("%.*s%s%s\t%s\n", (int)at->kept, at->word, word, end, meaning);
}

/* "a|b|c", also with brackets around it. */
static void offer_choices(const place *at, const char *choices) {
    char word[64];
    for (choices += strspn(choices, "[|"); *choices; choices += strspn(choices, "|]…")) {
        const size_t length = strcspn(choices, "|]");
        snprintf(word, sizeof word, "%.*s", (int)length, choices);
        offer(at, word, "", "");
        choices += length;
    }
}

/* ---- specs ---- */

/* Encodings, or kinds of attention: a name with a summary and options. */
typedef struct entry {
    const char *name, *summary;
    const locus_option_info *options;
    size_t option_count;
} entry;

static bool entry_at(bool attention, size_t index, entry *found) {
    if (attention) {
        const locus_attention_kind_info *info = locus_attention_registry_at(index);
        *found = info ? (entry){info->name, info->summary, info->options, info->option_count} : (entry){0};
    } else {
        const locus_encoding_info *info = locus_encoding_registry_at(index);
        *found = info ? (entry){info->name, info->summary, info->options, info->option_count} : (entry){0};
    }
    return found->name != NULL;
}

/* Where the last part of a spec begins, and the term in whose parentheses that is. */
typedef struct spec_place {
    size_t name, part, depth;
    bool value;
} spec_place;

static spec_place find_place(const char *text) {
    spec_place at = {0};
    for (size_t i = 0; text[i]; i++) {
        at.depth += text[i] == '(';
        at.depth -= text[i] == ')' && at.depth > 0;
        if (at.depth == 0 && strchr(",+/* )", text[i]))
            at.name = at.part = i + 1;
        else if (at.depth == 1 && strchr("(, =", text[i]))
            at.part = i + 1;
        if (at.depth == 1 && strchr("(,=", text[i]))
            at.value = text[i] == '=';
    }
    return at;
}

static void offer_values(const place *at, const locus_option_info *option) {
    if (option->kind == LOCUS_OPTION_CHOICE)
        offer_choices(at, option->values);
    else if (option->kind == LOCUS_OPTION_GROUP)
        offer_choices(at, "seq|cycle:|tree:|grid:");
    else if (option->initial[0])
        offer(at, option->initial, "", "the default");
}

/* Inside the parentheses of `term`: an option's name, or a value of the option that stands before. */
static void offer_options(const place *at, spec_place inside, const entry *term) {
    for (size_t i = 0; i < term->option_count; i++) {
        const locus_option_info *option = &term->options[i];
        const size_t length = strlen(option->name);
        const char *before = at->word + inside.part - 1 - length;
        if (!inside.value)
            offer(at, option->name, "=", option->meaning);
        else if (inside.part > length && strncmp(before, option->name, length) == 0 && strchr("(, ", before[-1]))
            offer_values(at, option);
    }
}

static void offer_spec(place at, bool attention) {
    const spec_place inside = find_place(at.word);
    const size_t length = strcspn(at.word + inside.name, "(");
    entry term;
    at.kept = inside.part;
    for (size_t i = 0; entry_at(attention, i, &term); i++) {
        const bool same = strlen(term.name) == length && strncmp(at.word + inside.name, term.name, length) == 0;
        if (inside.depth == 0)
            offer(&at, term.name, "", term.summary);
        if (inside.depth == 0 && same && at.quoted && term.option_count > 0)
            offer(&at, term.name, "(", "with options");
        if (inside.depth == 1 && same)
            offer_options(&at, inside, &term);
    }
}

/* ---- values by the word that help shows for them ---- */

static void offer_tasks(place at) {
    const char *comma = strrchr(at.word, ',');
    at.kept = comma ? (size_t)(comma + 1 - at.word) : 0;
    for (size_t i = 0; i < lab_task_count(); i++)
        offer(&at, lab_task_at(i)->name, "", lab_task_at(i)->summary);
}

/* A store may be a stranger's, and what is offered comes to stand on a command line: names that are more to a shell
 * than letters are not offered. They remain to be called by their numbers. */
static bool is_plain(const char *name) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    return name[0] != '\0' && name[0] != '-' && name[strspn(name, plain)] == '\0';
}

static void offer_runs(const place *at, const char *path) {
    lab_store *store = NULL;
    lab_run *runs = NULL;
    size_t count = 0;
    if (access(path, R_OK) != 0 || lab_store_open_reading(&store, path, NULL) != LOCUS_OK)
        return;
    if (lab_store_runs(store, NULL, &runs, &count, NULL) != LOCUS_OK)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_plain(runs[i].name))
            offer(at, runs[i].name, "", lab_run_state_name(runs[i].state));
        lab_run_free(&runs[i]);
    }
    free(runs);
    lab_store_close(&store);
}

static void offer_value(place at, const char *shown, const char *store) {
    static const char *const kinds[] = {"FILE", "DIR", "SPEC", "[NAME]", "TASK", "[TASK", "T,T", "KIND", "RUN", "[RUN"};
    size_t kind = 0;
    while (kind < sizeof kinds / sizeof *kinds && strncmp(shown, kinds[kind], strlen(kinds[kind])) != 0)
        kind++;
    if (kind == 0 || strcmp(shown, "P") == 0) {
        cli_print("files\n");
        return;
    }
    cli_print(kind == 1 ? "folders\n" : "words\n");
    if (kind == 2 || kind == 3 || kind == 7)
        offer_spec(at, kind == 7);
    else if (kind >= 4 && kind <= 6)
        offer_tasks(at);
    else if (kind == 8 || kind == 9)
        offer_runs(&at, store);
    else if (strchr(shown, '|'))
        offer_choices(&at, shown);
}

/* ---- the line ---- */

static void offer_command_options(const place *at, const cli_command *command) {
    const cli_option *option;
    char name[64];
    cli_print("words\n");
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        snprintf(name, sizeof name, "--%s", option->name);
        offer(at, name, "", option->help);
    }
}

/* The option that `word` is ("--name", "--name=value", "-n"), if it has a value. */
static const cli_option *valued_option(const cli_command *command, const char *word) {
    size_t index;
    const bool is_one = word[0] == '-' && word[1] != '\0';
    const cli_option *option = is_one ? cli_option_of_word(command, word, &index) : NULL;
    return option && option->kind != CLI_FLAG ? option : NULL;
}

/* The word of "SPEC [SPEC…]" that operand `index` is; "" beyond the last. */
static void operand_word(const char *operands, size_t index, char *word, size_t size) {
    word[0] = '\0';
    for (size_t i = 0; *operands && (i <= index || strstr(operands, "…")); i++) {
        const size_t length = strcspn(operands, " ");
        if (i <= index)
            snprintf(word, size, "%.*s", (int)length, operands);
        operands += length;
        operands += strspn(operands, " ");
        if (!*operands && i < index && !strstr(word, "…"))
            word[0] = '\0';
    }
}

static void answer_command(const cli_command *command, char *const *words, size_t count, place at) {
    const cli_option *option = NULL;
    const char *store = "runs/locus.db";
    size_t operands = 0;
    char word[64];
    for (size_t i = 0; i + 1 < count; i++) {
        const bool takes_value = option != NULL;
        if (takes_value && strcmp(option->name, "store") == 0)
            store = words[i];
        operands += !takes_value && words[i][0] != '-';
        option = takes_value || strchr(words[i], '=') ? NULL : valued_option(command, words[i]);
    }
    const char *equals = strchr(at.word, '=');
    if (!option && strncmp(at.word, "--", 2) == 0 && equals) { /* --name=value, in one word */
        option = valued_option(command, at.word);
        at.word = equals + 1;
    }
    if (option) {
        offer_value(at, option->value, store);
    } else if (at.word[0] == '-') {
        offer_command_options(&at, command);
    } else {
        operand_word(command->operands, operands, word, sizeof word);
        offer_value(at, word, store);
    }
}

/* The commands that begin with `family`, by their next words; each first word once. */
static void offer_commands(const place *at, const cli_command *const *commands, const char *family) {
    const size_t length = strlen(family);
    char word[64], last[64] = "";
    for (const cli_command *const *command = commands; *command; command++) {
        const char *name = (*command)->name, *rest = name + length + (length > 0);
        if (length > 0 && (strncmp(name, family, length) != 0 || name[length] != ' '))
            continue;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(rest, " "), rest);
        if (strcmp(word, last) != 0)
            offer(at, word, "", strchr(rest, ' ') ? "several commands" : (*command)->summary);
        memcpy(last, word, sizeof last);
    }
}

/* A shell that cuts words at '=' gives it as a word of its own, which is no part of any. */
static size_t drop_equals(char *const *words, size_t count, char **kept) {
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], "=") != 0 || i == 0)
            kept[left++] = words[i];
        else if (i + 1 == count)
            kept[left++] = words[i] + 1;
    return left;
}

static void answer(const cli_command *const *commands, char *const *words, size_t count, place at) {
    while (count > 2 && strcmp(words[0], "--plugin") == 0) {
        words += 2;
        count -= 2;
    }
    if (count == 2 && strcmp(words[0], "--plugin") == 0) {
        cli_print("files\n");
        return;
    }
    const size_t help = count > 1 && strcmp(words[0], "help") == 0;
    for (const cli_command *const *command = commands; *command && count > help; command++) {
        const char *name = (*command)->name, *space = strchr(name, ' ');
        const size_t first = strcspn(name, " "), taken = space ? 2 : 1;
        if (count > taken && strlen(words[0]) == first && strncmp(words[0], name, first) == 0 &&
            (!space || strcmp(words[1], space + 1) == 0)) {
            answer_command(*command, words + taken, count - taken, at);
            return;
        }
    }
    cli_print("words\n");
    if (count - help == 1) {
        offer_commands(&at, commands, "");
        offer_choices(&at, help ? "" : "--plugin|--help|--version");
    } else if (count - help == 2) {
        offer_commands(&at, commands, words[help]);
    }
}

void cli_completion_words(const cli_command *const *commands, char *const *words, size_t count) {
    char **kept = calloc(count + 2, sizeof *kept), empty[] = "";
    if (!kept)
        return;
    size_t left = drop_equals(words, count, kept);
    if (left == 0)
        kept[left++] = empty;
    place at = {.word = kept[left - 1]};
    at.quoted = at.word[0] == '\'' || at.word[0] == '"';
    at.word += at.quoted;
    answer(commands, kept, left, at);
    free(kept);
}

/* SPDX-License-Identifier: MIT */
/* Which options belong to which kinds of tasks. */
#include "train_options.h"

#include "command.h"
#include "output.h"
#include "train/config.h"

#include <string.h>

enum {
    WORDS = 1 << LAB_TASK_WORDS,
    TREES = 1 << LAB_TASK_TREES,
    IMAGES = 1 << LAB_TASK_IMAGES,
    PROBLEMS = 1 << LAB_TASK_PROBLEMS,
    TEXTS = 1 << LAB_TASK_TEXT,
    EXPRESSIONS = 1 << LAB_TASK_EXPRESSIONS
};

typedef struct kind_option {
    const char *name;
    unsigned kinds;
    const char *instead; /* what one of the other kinds has in its place */
    unsigned instead_kind;
} kind_option;

static const kind_option kind_options[] = {
    {"length", WORDS | PROBLEMS, "depth", TREES},
    {"length-deviation", WORDS | PROBLEMS, "depth-deviation", TREES},
    {"lengths", WORDS, "depths", TREES},
    {"test-lengths", WORDS, "test-depths", TREES},
    {"symbols", WORDS | TREES | PROBLEMS, NULL, 0},
    {"order", TREES, NULL, 0},
    {"tree-paths", TREES, NULL, 0},
    {"depth", TREES, "length", WORDS},
    {"depth", TREES, "expression-depth", EXPRESSIONS},
    {"depth-deviation", TREES, "length-deviation", WORDS},
    {"depths", TREES, "lengths", WORDS},
    {"test-depths", TREES, "test-lengths", WORDS},
    {"arity", TREES, "arguments", EXPRESSIONS},
    {"data", IMAGES | TEXTS | EXPRESSIONS, NULL, 0},
    {"augment", IMAGES, NULL, 0},
    {"sequence", PROBLEMS | TEXTS | EXPRESSIONS, "length", WORDS},
    {"digits", PROBLEMS, NULL, 0},
    {"target", EXPRESSIONS, NULL, 0},
    {"preset", EXPRESSIONS, NULL, 0},
    {"expression-depth", EXPRESSIONS, "depth", TREES},
    {"arguments", EXPRESSIONS, "arity", TREES},
    {"shortest", EXPRESSIONS, NULL, 0},
    {"longest", EXPRESSIONS, NULL, 0},
    {"pool", EXPRESSIONS, NULL, 0},
    {"output", PROBLEMS | TEXTS, NULL, 0},
    {"pretrained", EXPRESSIONS, NULL, 0},
    {"dev-samples", WORDS | TREES | PROBLEMS | TEXTS | EXPRESSIONS, "test-samples", IMAGES},
    {"greedy-samples", WORDS | TREES | PROBLEMS, NULL, 0},
    {"embedding-init", WORDS | TREES | PROBLEMS | TEXTS | EXPRESSIONS, NULL, 0},
    {"position-scale", WORDS | TREES | PROBLEMS | TEXTS | EXPRESSIONS, NULL, 0},
    {"logit-scale", WORDS | TREES | PROBLEMS | TEXTS, NULL, 0},
};

static bool has_option(const cli_command *command, const char *name) {
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        if (strcmp(option->name, name) == 0)
            return true;
    return false;
}

static bool given(const cli_arguments *arguments, const char *name) {
    return has_option(arguments->command, name) && cli_given_by_user(arguments, name);
}

/* "words, trees and problems" */
static const char *list_kinds(unsigned kinds, char text[96]) {
    static const char *const names[LAB_TASK_KINDS] = {"words", "trees", "images", "problems", "text", "expressions"};
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < LAB_TASK_KINDS; k++) {
        if ((kinds & 1u << k) != 0) {
            const bool last = kinds >> (k + 1) == 0;
            used += (size_t)snprintf(text + used, 96 - used, "%s%s", used == 0 ? "" : last ? " and " : ", ", names[k]);
        }
    }
    return text;
}

/* An option of the kind that this task of it has no use for; NULL: there is none. */
static const char *useless(const cli_arguments *arguments, const lab_task *task) {
    const lab_task_options *has = &task->published;
    const struct {
        const char *name;
        bool useless;
    } options[] = {
        {"digits", has->digits == 0},          {"symbols", has->symbols == 0},
        {"length", !(has->length_mean > 0.0)}, {"length-deviation", !(has->length_mean > 0.0)},
        {"greedy-samples", !task->solved},
    };
    for (size_t i = 0; task->kind == LAB_TASK_PROBLEMS && i < sizeof options / sizeof *options; i++)
        if (options[i].useless && given(arguments, options[i].name))
            return options[i].name;
    return NULL;
}

/* What another kind has in an option's place, if this is that kind. */
static const char *instead_of(const char *name, unsigned kind) {
    for (size_t i = 0; i < sizeof kind_options / sizeof *kind_options; i++)
        if (strcmp(kind_options[i].name, name) == 0 && kind_options[i].instead_kind == kind)
            return kind_options[i].instead;
    return NULL;
}

int cli_refuse_other_kinds(const cli_arguments *arguments, const lab_task *task) {
    const unsigned kind = 1u << task->kind;
    char whose[96], own[96];
    for (size_t i = 0; i < sizeof kind_options / sizeof *kind_options; i++) {
        const kind_option *option = &kind_options[i];
        if ((option->kinds & kind) != 0 || !given(arguments, option->name))
            continue;
        const char *instead = instead_of(option->name, kind);
        return instead != NULL ? cli_usage_error("--%s is for %s; %s has --%s", option->name,
                                                 list_kinds(option->kinds, whose), task->name, instead)
                               : cli_usage_error("--%s is for %s; %s is of %s", option->name,
                                                 list_kinds(option->kinds, whose), task->name, list_kinds(kind, own));
    }
    const char *name = useless(arguments, task);
    return name == NULL ? 0 : cli_usage_error("--%s: %s has none", name, task->name);
}

int cli_refuse_pretrained(const cli_arguments *arguments, const lab_task *task) {
    static const char *const names[] = {"dim",           "heads",   "kv-heads", "attention",      "layers",
                                        "feed-forward",  "dropout", "norm",     "embedding-init", "setup",
                                        "position-scale"};
    for (size_t i = 0; given(arguments, "pretrained") && i < sizeof names / sizeof *names; i++)
        if (given(arguments, names[i]))
            return cli_usage_error("--%s: the pretrained encoder says it itself; leave it out", names[i]);
    if (task->kind == LAB_TASK_EXPRESSIONS && given(arguments, "sequence") && !given(arguments, "pretrained"))
        return cli_usage_error(
            "--sequence is for --pretrained, which cuts word pieces; other encoders read expressions whole");
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Parses options from declarative tables. See options.h for the rules. Every failure is one line that says which
 * command, what is wrong, and what to do; parsing never guesses. */
#include "options.h"
#include "bound/spec_text.h"
#include "figures/svg_file.h"
#include "foreign_options.h"
#include "io/word_distance.h"
#include "output.h"
#include "task_table.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cli_option option_json = CLI_ROW_FLAG("json", "print the result as JSON");
static const cli_option option_format =
    CLI_ROW_CHOICE("format", CLI_FORMATS, "how tables are printed; --json is short for json");
static const cli_option option_quiet = CLI_ROW_FLAG("quiet", "no progress bar and no notes");
static const cli_option option_threads = {
    "threads", 0, CLI_INTEGER, "N", NULL, "threads to compute with (default: one for each processor)", 1, 1024};
static const cli_option option_help = {"help", 'h', CLI_FLAG, NULL, NULL, "this text", 0, 0};

const cli_option *cli_option_at(const cli_command *command, size_t index) {
    if (index < command->option_count)
        return &command->options[index];
    index -= command->option_count;
    const size_t of_tasks = cli_task_option_count(command->tasks);
    if (index < of_tasks)
        return cli_task_option_at(command->tasks, index);
    index -= of_tasks;
    const struct {
        bool taken;
        const cli_option *option;
    } shared[] = {{(command->shared & CLI_JSON) != 0, &option_json},
                  {(command->shared & CLI_FORMAT) != 0, &option_format},
                  {(command->shared & CLI_QUIET) != 0, &option_quiet},
                  {(command->shared & CLI_THREADS) != 0, &option_threads},
                  {true, &option_help}};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (shared[i].taken && index-- == 0)
            return shared[i].option;
    return NULL;
}

size_t cli_option_find(const cli_command *command, const char *name) {
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        if (strcmp(option->name, name) == 0)
            return i;
    return SIZE_MAX;
}

const cli_option *cli_option_of_word(const cli_command *command, const char *word, size_t *index) {
    const cli_option *option;
    size_t length = strcspn(word + 2, "=");
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        bool is_long = word[1] == '-' && strlen(option->name) == length && !strncmp(word + 2, option->name, length);
        bool is_short = word[1] != '-' && option->letter && word[1] == option->letter && word[2] == '\0';
        if (is_long || is_short) {
            *index = i;
            return option;
        }
    }
    return NULL;
}

/* ---- memory: a program that cannot hold its own command line says so and ends ---- */

static void *allocate(size_t bytes) {
    void *block = calloc(1, bytes ? bytes : 1);
    if (!block)
        exit(cli_failure("out of memory while reading the command line"));
    return block;
}

static char *copy_text(const char *text, size_t length) {
    char *copy = allocate(length + 1);
    memcpy(copy, text, length);
    return copy;
}

/* ---- nearest names ---- */

const char *cli_nearest(const char *word, const char *const *known, size_t count) {
    const char *nearest = NULL;
    size_t length = strlen(word), best = length / 3 + 1;
    best = best > 3 ? 3 : best;
    for (size_t i = 0; i < count; i++) {
        size_t distance = lab_word_distance(word, known[i]);
        if (length >= 3 && strncmp(word, known[i], length) == 0)
            distance = 1; /* the beginning of a name is near, however long the name */
        if (distance < best || (distance == best && !nearest)) {
            best = distance;
            nearest = known[i];
        }
    }
    return nearest;
}

/* ---- choices ---- */

/* Choice `index` of "a|b|c": its start and length; NULL past the end. */
static const char *choice_at(const char *choices, size_t index, size_t *length) {
    for (;; index--) {
        *length = strcspn(choices, "|");
        if (index == 0)
            return choices;
        if (choices[*length] == '\0')
            return NULL;
        choices += *length + 1;
    }
}

static bool find_choice(const char *choices, const char *word, size_t *index) {
    size_t length = 0;
    for (size_t i = 0;; i++) {
        const char *choice = choice_at(choices, i, &length);
        if (!choice)
            return false;
        if (strlen(word) == length && strncmp(choice, word, length) == 0) {
            *index = i;
            return true;
        }
    }
}

static int bad_choice(const cli_command *command, const cli_option *option, const char *word) {
    char names[16][32];
    const char *known[16];
    size_t count = 0, length = 0;
    for (const char *choice; count < 16 && (choice = choice_at(option->value, count, &length)) != NULL; count++) {
        snprintf(names[count], sizeof names[count], "%.*s", (int)length, choice);
        known[count] = names[count];
    }
    const char *near = cli_nearest(word, known, count);
    return cli_usage_error("%s: --%s is one of %s, not '%s'%s%s%s", command->name, option->name, option->value, word,
                           near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* ---- values ---- */

static bool parse_integer(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    *value = number;
    return errno == 0 && end != text && *end == '\0' && !isspace((unsigned char)text[0]);
}

static bool parse_number(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value) && !isspace((unsigned char)text[0]);
}

static int check_number(const cli_command *command, const cli_option *option, const char *text) {
    int64_t integer = 0;
    double number = 0;
    bool whole = option->kind == CLI_INTEGER;
    if (whole ? !parse_integer(text, &integer) : !parse_number(text, &number)) {
        return cli_usage_error("%s: --%s needs %s, not '%s'", command->name, option->name,
                               whole ? "an integer" : "a number", text);
    }
    number = whole ? (double)integer : number;
    if (option->least < option->most && !(number >= option->least && number <= option->most)) {
        const int digits = whole ? 15 : 6; /* as many as a limit has */
        if (option->most >= CLI_MANY) {
            return cli_usage_error("%s: --%s must be at least %g, not %s", command->name, option->name, option->least,
                                   text);
        }
        return cli_usage_error("%s: --%s must be from %.*g to %.*g, not %s", command->name, option->name, digits,
                               option->least, digits, option->most, text);
    }
    return 0;
}

static void free_items(cli_given *given) {
    for (size_t i = 0; i < given->item_count; i++)
        free(given->items[i]);
    free(given->items);
    free(given->integers);
    given->items = NULL;
    given->integers = NULL;
    given->item_count = 0;
}

static int split_list(const cli_command *command, const cli_option *option, cli_given *given) {
    free_items(given);
    given->items = allocate(CLI_MAX_LIST * sizeof *given->items);
    for (const char *at = given->text;; at++) {
        size_t length = lab_spec_span(at, ","), space = strspn(at, " ");
        space = space > length ? length : space;
        size_t end = length;
        while (end > space && at[end - 1] == ' ')
            end--;
        if (end == space)
            return cli_usage_error("%s: --%s has an empty item in '%s'", command->name, option->name, given->text);
        if (given->item_count == CLI_MAX_LIST)
            return cli_usage_error("%s: --%s has more than %d items", command->name, option->name, CLI_MAX_LIST);
        given->items[given->item_count++] = copy_text(at + space, end - space);
        at += length;
        if (*at == '\0')
            return 0;
    }
}

static int add_text(const cli_command *command, const cli_option *option, cli_given *given) {
    if (given->items == NULL)
        given->items = allocate(CLI_MAX_LIST * sizeof *given->items);
    if (given->item_count == CLI_MAX_LIST)
        return cli_usage_error("%s: --%s is given more than %d times", command->name, option->name, CLI_MAX_LIST);
    given->items[given->item_count++] = copy_text(given->text, strlen(given->text));
    return 0;
}

static int set_value(const cli_command *command, const cli_option *option, cli_given *given, const char *text) {
    size_t index;
    given->text = text;
    switch (option->kind) {
    case CLI_INTEGER:
    case CLI_NUMBER:
        return check_number(command, option, text);
    case CLI_CHOICE:
        return find_choice(option->value, text, &index) ? 0 : bad_choice(command, option, text);
    case CLI_LIST:
        return split_list(command, option, given);
    case CLI_TEXTS:
        return add_text(command, option, given);
    case CLI_FLAG:
    case CLI_TEXT:
        break;
    }
    return 0;
}

static void set_defaults(cli_arguments *arguments) {
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(arguments->command, i)) != NULL; i++) {
        cli_given *given = &arguments->values[i];
        const char *initial = option->initial;
        if (option->kind == CLI_CHOICE && !initial) {
            snprintf(given->choice, sizeof given->choice, "%.*s", (int)strcspn(option->value, "|"), option->value);
            initial = given->choice;
        }
        if (initial) {
            int status = set_value(arguments->command, option, given, initial);
            assert(status == 0);
            (void)status;
        }
    }
}

/* ---- words ---- */

/* A word such as -3, -.5, -5:10 or -2+1 is a value, never an option; so is "-" alone. */
static bool is_option_word(const char *word) {
    if (word[0] != '-' || word[1] == '\0')
        return false;
    return !isdigit((unsigned char)word[1]) && !(word[1] == '.' && isdigit((unsigned char)word[2]));
}

static size_t option_count(const cli_command *command) {
    size_t count = 0;
    while (cli_option_at(command, count) != NULL)
        count++;
    return count;
}

/* The command's option for what another tool calls `name`; NULL: none is known. */
static const char *other_name(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < cli_foreign_option_count; i++) {
        for (size_t k = 0; lab_word_among(name, cli_foreign_options[i].theirs) && k < count; k++)
            if (strcmp(cli_foreign_options[i].ours, names[k]) == 0)
                return names[k];
    }
    return NULL;
}

static int unknown_option(const cli_command *command, const char *word) {
    char name[64];
    const char *start = word + strspn(word, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(start, "="), start);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    if (strcmp(name, "plugin") == 0) {
        return cli_usage_error("%s: --plugin stands before the command: locus --plugin FILE.so %s …", command->name,
                               command->name);
    }
    const size_t count = option_count(command);
    const char **names = allocate(count * sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = cli_option_at(command, i)->name;
    const char *near = other_name(name, names, count);
    near = near ? near : cli_nearest(name, names, count);
    free(names);
    if (near) {
        return cli_usage_error("%s: unknown option %.*s; did you mean --%s?", command->name, (int)strcspn(word, "="),
                               word, near);
    }
    return cli_usage_error("%s: unknown option %.*s; 'locus %s --help' lists the options", command->name,
                           (int)strcspn(word, "="), word, command->name);
}

/* Takes the option at argv[*at] and its value. */
static int take_option(cli_arguments *arguments, int argc, char **argv, int *at) {
    const cli_command *command = arguments->command;
    const char *word = argv[*at], *value = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t index = 0;
    const cli_option *option = cli_option_of_word(command, word, &index);
    if (!option)
        return unknown_option(command, word);
    cli_given *given = &arguments->values[index];
    if (option->kind == CLI_FLAG) {
        if (value)
            return cli_usage_error("%s: --%s takes no value", command->name, option->name);
        given->given = true;
        given->text = "on";
        return 0;
    }
    if (value)
        value++;
    else if (*at + 1 < argc && !is_option_word(argv[*at + 1]))
        value = argv[++*at];
    else
        return cli_usage_error("%s: --%s needs a value (%s)", command->name, option->name, option->value);
    given->given = true;
    return set_value(command, option, given, value);
}

/* Checks the number of operands against "SPEC", "RUN [RUN…]", "[NAME]". */
static int check_operands(const cli_arguments *arguments) {
    const cli_command *command = arguments->command;
    size_t least = 0, most = 0;
    char missing[48] = "";
    for (const char *word = command->operands; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        const char *dots = strstr(word, "…");
        bool optional = word[0] == '[', many = dots != NULL && dots < word + length;
        if (!optional && least++ == arguments->operand_count)
            snprintf(missing, sizeof missing, "%.*s", (int)length, word);
        most = many ? SIZE_MAX : most + (most < SIZE_MAX);
        word += length;
    }
    if (missing[0]) {
        return cli_usage_error("%s: %s is missing; usage: locus %s %s [options]", command->name, missing, command->name,
                               command->operands);
    }
    if (arguments->operand_count > most) {
        return cli_usage_error("%s: '%s' is one word too many; usage: locus %s%s%s [options]", command->name,
                               arguments->operands[most], command->name, command->operands[0] ? " " : "",
                               command->operands);
    }
    return 0;
}

/* --format and its short form agree: json is both. */
static int settle_format(cli_arguments *arguments) {
    const size_t of_json = cli_option_find(arguments->command, "json");
    const size_t of_format = cli_option_find(arguments->command, "format");
    if (of_json == SIZE_MAX || of_format == SIZE_MAX)
        return 0;
    cli_given *json = &arguments->values[of_json], *format = &arguments->values[of_format];
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): what is given has a text
    if (json->given && format->given && strcmp(format->text, "json") != 0) {
        return cli_usage_error("%s: --json and --format %s: one of them, please", arguments->command->name,
                               format->text);
    }
    if (json->given)
        format->text = "json";
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): what is not given has its default
    json->given = strcmp(format->text, "json") == 0;
    cli_form = (lab_table_format)cli_choice(arguments, "format");
    return 0;
}

int cli_arguments_parse(cli_arguments *arguments, const cli_command *command, int argc, char **argv) {
    memset(arguments, 0, sizeof *arguments);
    arguments->command = command;
    arguments->values = allocate(option_count(command) * sizeof *arguments->values);
    arguments->operands = allocate(((size_t)argc + 1) * sizeof *arguments->operands);
    int status = 0;
    bool options_end = false;
    set_defaults(arguments);
    for (int i = 0; i < argc && status == 0; i++)
        if (options_end || !is_option_word(argv[i]))
            arguments->operands[arguments->operand_count++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            options_end = true;
        else
            status = take_option(arguments, argc, argv, &i);
    if (status == 0 && !cli_flag(arguments, "help"))
        status = check_operands(arguments);
    return status ? status : settle_format(arguments);
}

void cli_arguments_free(cli_arguments *arguments) {
    for (size_t i = 0; arguments->values && i < option_count(arguments->command); i++)
        free_items(&arguments->values[i]);
    free(arguments->values);
    free(arguments->operands);
    memset(arguments, 0, sizeof *arguments);
}

/* ---- asking ---- */

static size_t index_of(const cli_arguments *arguments, const char *name) {
    const size_t index = cli_option_find(arguments->command, name);
    assert(index != SIZE_MAX && "an option that the command's table does not have");
    return index != SIZE_MAX ? index : 0;
}

bool cli_flag(const cli_arguments *arguments, const char *name) {
    return arguments->values[index_of(arguments, name)].given;
}

bool cli_given_by_user(const cli_arguments *arguments, const char *name) {
    return arguments->values[index_of(arguments, name)].given;
}

const char *cli_text(const cli_arguments *arguments, const char *name) {
    return arguments->values[index_of(arguments, name)].text;
}

int64_t cli_integer(const cli_arguments *arguments, const char *name) {
    const char *text = cli_text(arguments, name);
    int64_t value = 0;
    return text && parse_integer(text, &value) ? value : 0;
}

double cli_number(const cli_arguments *arguments, const char *name) {
    const char *text = cli_text(arguments, name);
    double value = 0;
    return text && parse_number(text, &value) ? value : 0;
}

size_t cli_choice(const cli_arguments *arguments, const char *name) {
    size_t index = index_of(arguments, name), choice = 0;
    const cli_option *option = cli_option_at(arguments->command, index);
    assert(option && option->kind == CLI_CHOICE);
    (void)find_choice(option->value, arguments->values[index].text, &choice); /* parsing has refused all others */
    return choice;
}

size_t cli_list(const cli_arguments *arguments, const char *name, char ***items) {
    const cli_given *given = &arguments->values[index_of(arguments, name)];
    *items = given->items;
    return given->item_count;
}

int cli_set(cli_arguments *arguments, const char *name, const char *value) {
    const size_t index = index_of(arguments, name);
    cli_given *given = &arguments->values[index];
    given->given = true;
    return set_value(arguments->command, cli_option_at(arguments->command, index), given, value);
}

const char *cli_given_beside(const cli_arguments *arguments, const char *names) {
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(arguments->command, i)) != NULL; i++)
        if (arguments->values[i].given && !lab_word_among(option->name, names))
            return option->name;
    return NULL;
}

int cli_require(const cli_arguments *arguments, const char *name) {
    if (cli_text(arguments, name))
        return 0;
    const cli_option *option = cli_option_at(arguments->command, index_of(arguments, name));
    return cli_usage_error("%s: --%s %s is missing; 'locus %s --help' shows an example", arguments->command->name, name,
                           option->value, arguments->command->name);
}

int cli_need_picture(const cli_arguments *arguments) {
    const int status = cli_require(arguments, "output");
    const char *path = cli_text(arguments, "output");
    return status != 0 || lab_picture_named(path)
               ? status
               : cli_usage_error("%s: --output %s: must end in " LAB_PICTURE_ENDS ", its name is its format",
                                 arguments->command->name, path);
}

int cli_list_integers(cli_arguments *arguments, const char *name, int64_t least, int64_t most, const int64_t **values,
                      size_t *count) {
    cli_given *given = &arguments->values[index_of(arguments, name)];
    free(given->integers);
    given->integers = allocate((given->item_count + 1) * sizeof *given->integers);
    for (size_t i = 0; i < given->item_count; i++) {
        if (!parse_integer(given->items[i], &given->integers[i]) || given->integers[i] < least ||
            given->integers[i] > most) {
            return cli_usage_error("%s: --%s needs integers from %lld to %lld separated by commas, not '%s'",
                                   arguments->command->name, name, (long long)least, (long long)most, given->items[i]);
        }
    }
    *values = given->integers;
    *count = given->item_count;
    return 0;
}

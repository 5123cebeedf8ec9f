/* SPDX-License-Identifier: MIT */
/* See vary.h. */
#include "vary.h"

#include "bound/spec_text.h"
#include "output.h"
#include "task_table.h"

#include <stdlib.h>
#include <string.h>

/* ---- one axis ---- */

static int find_option(const char *text, const cli_option **found) {
    const size_t count = cli_task_option_count(LAB_OPTION_TRAINED);
    const char **names = calloc(count + 1, sizeof *names);
    char name[64];
    if (names == NULL)
        return cli_failure("out of memory");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    for (size_t i = 0; i < count; i++) {
        const cli_option *option = cli_task_option_at(LAB_OPTION_TRAINED, i);
        names[i] = option->name;
        if (strcmp(name, names[i]) == 0) {
            free(names);
            *found = option;
            return option->kind != CLI_LIST ? 0 : cli_usage_error("--vary: --%s is a list already", name);
        }
    }
    const char *near = cli_nearest(name, names, count);
    free(names);
    return cli_usage_error("--vary: no task has an option '%s'%s%s%s", name, near != NULL ? "; did you mean '" : "",
                           near != NULL ? near : "; 'locus compare --help' lists them", near != NULL ? "'?" : "");
}

static int take_values(struct cli_vary_axis *axis, const char *text, const char *whole) {
    for (const char *at = text;; at++) {
        const size_t length = lab_spec_span(at, ",");
        if (length == 0)
            return cli_usage_error("--vary: '%s' has an empty value", whole);
        if (axis->count == CLI_VARY_POINTS)
            return cli_usage_error("--vary: '%.60s …' has more than %d values", whole, CLI_VARY_POINTS);
        char *value = strndup(at, length);
        if (value == NULL)
            return cli_failure("out of memory");
        for (size_t i = 0; i < axis->count; i++) {
            if (strcmp(axis->values[i], value) == 0) {
                free(value);
                return cli_usage_error("--vary: '%s' has '%s' twice", whole, axis->values[i]);
            }
        }
        axis->values[axis->count++] = value;
        at += length;
        if (*at == '\0')
            return 0;
    }
}

static int read_axis(cli_vary *vary, const cli_arguments *arguments, const char *text) {
    const char *values = strchr(text, '=');
    const cli_option *option = NULL;
    if (values == NULL || values == text)
        return cli_usage_error("--vary: '%s' is no OPTION=VALUE,VALUE", text);
    const int status = find_option(text, &option);
    if (status != 0)
        return status;
    if (cli_given_by_user(arguments, option->name))
        return cli_usage_error("--vary %s and --%s say the same: give one of them", option->name, option->name);
    for (size_t i = 0; i < vary->count; i++)
        if (strcmp(vary->axes[i].name, option->name) == 0)
            return cli_usage_error("--vary: '%s' is given twice; 'OPTION=VALUE,VALUE' has several values",
                                   option->name);
    if (vary->count == CLI_VARY_MOST)
        return cli_usage_error("--vary: at most %d options are varied at once", CLI_VARY_MOST);
    struct cli_vary_axis *axis = &vary->axes[vary->count++];
    *axis = (struct cli_vary_axis){.name = option->name, .values = calloc(CLI_VARY_POINTS, sizeof *axis->values)};
    return axis->values == NULL ? cli_failure("out of memory") : take_values(axis, values + 1, text);
}

/* ---- the grid ---- */

int cli_vary_read(cli_vary *vary, const cli_arguments *arguments) {
    char **texts;
    const size_t count = cli_list(arguments, "vary", &texts);
    int status = 0;
    *vary = (cli_vary){.points = 1};
    for (size_t i = 0; status == 0 && i < count; i++) {
        status = read_axis(vary, arguments, texts[i]);
        vary->points *= status == 0 ? vary->axes[vary->count - 1].count : 1;
        if (vary->points > CLI_VARY_POINTS)
            return cli_usage_error("--vary: the grid has more than %d points", CLI_VARY_POINTS);
    }
    return status;
}

void cli_vary_free(cli_vary *vary) {
    for (size_t i = 0; i < vary->count; i++) {
        for (size_t k = 0; k < vary->axes[i].count; k++)
            free(vary->axes[i].values[k]);
        free(vary->axes[i].values);
    }
    *vary = (cli_vary){0};
}

int cli_vary_set(const cli_vary *vary, size_t point, cli_arguments *arguments, char text[CLI_VARY_TEXT]) {
    int status = 0;
    size_t below = vary->points;
    text[0] = '\0';
    for (size_t i = 0; status == 0 && i < vary->count; i++) {
        const struct cli_vary_axis *axis = &vary->axes[i];
        const size_t used = strlen(text);
        below /= axis->count;
        const char *value = axis->values[point / below % axis->count];
        status = cli_set(arguments, axis->name, value);
        snprintf(text + used, CLI_VARY_TEXT - used, "%s%s %s", used > 0 ? ", " : "", axis->name, value);
    }
    return status;
}

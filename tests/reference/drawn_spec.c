/* SPDX-License-Identifier: MIT */
/* See drawn_spec.h. */
#include "reference/drawn_spec.h"

#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS = 40, VALUE = 200, TERMS = 3, REPAIRS = 24, TRIES = 12 };

typedef struct draft {
    const locus_encoding_info *info;
    bool given[OPTIONS];
    char value[OPTIONS][VALUE];
} draft;

typedef struct drawing {
    chooser *choices;
    const locus_shape *shape;
    const char *group;
    size_t axes; /* of a grid or seq, else 0 */
} drawing;

/* ---- values ---- */

static void draw_integer(const drawing *d, const char *values, char *text) {
    const char *least = strstr(values, "≥ "), *from = strstr(values, "from "), *to = strstr(values, "to ");
    const long low = least ? strtol(least + strlen("≥ "), NULL, 10) : from ? strtol(from + 5, NULL, 10) : 0;
    const uint64_t spans[] = {4, 12, 40};
    long value = low + (long)choose(d->choices, spans[choose(d->choices, 3)]);
    if (from && to && value > strtol(to + 3, NULL, 10))
        value = strtol(to + 3, NULL, 10);
    (void)snprintf(text, VALUE, "%ld", value);
}

static void draw_number(const drawing *d, const char *values, char *text) {
    const double u = choose_unit(d->choices);
    if (strstr(values, "≤ 1"))
        (void)snprintf(text, VALUE, "%.4g", 0.05 + 0.95 * u);
    else if (strstr(values, "> 0"))
        (void)snprintf(text, VALUE, "%.4g", pow(10, 4 * u - 1));
    else
        (void)snprintf(text, VALUE, "%.4g", 40 * u - 20);
}

/* Numbers that add up to `sum`, or as many as there are pairs. */
static void draw_list(const drawing *d, const char *values, char *text) {
    const bool whole = strstr(values, "integers") || strstr(values, "a number of pairs");
    const size_t dim = strstr(values, "integers") ? d->shape->head_dim : d->shape->head_dim / 2;
    const size_t parts = d->axes > 0 ? d->axes : 1 + (strchr(d->group, '*') != NULL);
    const size_t count = whole ? parts : dim;
    size_t left = dim, at = 0;
    for (size_t i = 0; i < count && at < VALUE - 16; i++) {
        const size_t most = left > count - i ? left - (count - i) + 1 : 1;
        const size_t part = i + 1 == count ? left : 1 + choose(d->choices, most);
        left -= part < left ? part : left;
        if (whole)
            at += (size_t)snprintf(text + at, VALUE - at, "%s%zu", i ? ":" : "", part);
        else
            at += (size_t)snprintf(text + at, VALUE - at, "%s%.3g", i ? ":" : "", 0.5 + 4 * choose_unit(d->choices));
    }
}

static void draw_choice(const drawing *d, const char *values, char *text) {
    size_t count = 1;
    for (const char *at = values; *at; at++)
        count += *at == '|';
    const char *at = values;
    for (size_t chosen = choose(d->choices, count); chosen > 0; chosen--)
        at = strchr(at, '|') + 1;
    (void)snprintf(text, VALUE, "%.*s", (int)strcspn(at, "|"), at);
}

static void draw_value(const drawing *d, const locus_option_info *option, char *text) {
    const char *values = option->values;
    if (strcmp(values, "group") == 0 || strcmp(values, "seq or grid:r") == 0)
        (void)snprintf(text, VALUE, "%s", d->group);
    else if (strstr(values, "proportional") && choose_chance(d->choices, 30))
        (void)snprintf(text, VALUE, "proportional:%.3g", 0.05 + 0.95 * choose_unit(d->choices));
    else if (strstr(values, "even integer"))
        (void)snprintf(text, VALUE, "%zu", 2 * (1 + (size_t)choose(d->choices, (d->shape->head_dim + 1) / 2)));
    else if (strncmp(values, "a:b:", 4) == 0)
        draw_list(d, values, text);
    else if (strchr(values, '|'))
        draw_choice(d, values, text);
    else if (strncmp(values, "off", 3) == 0 && choose_chance(d->choices, 20))
        (void)snprintf(text, VALUE, "off");
    else if (strstr(values, "learned:") && choose_chance(d->choices, 50))
        (void)snprintf(text, VALUE, "learned:%.3g", 0.5 + 0.5 * choose_unit(d->choices));
    else if (strstr(values, "axes") || strcmp(option->name, "axes") == 0)
        (void)snprintf(text, VALUE, "%zu", d->axes > 0 ? d->axes : 1);
    else if (strstr(values, "integer"))
        draw_integer(d, values, text);
    else
        draw_number(d, values, text);
}

/* ---- one term ---- */

static void give(const drawing *d, draft *term, size_t option) {
    if (!reference_taught(term->info->name, term->info->options[option].name))
        return;
    draw_value(d, &term->info->options[option], term->value[option]);
    term->given[option] = strcmp(term->value[option], "fixed") != 0; /* drawn inside: no parameter holds it */
}

/* The more options an encoding has, the more often it comes. */
static const locus_encoding_info *draw_name(chooser *choices) {
    size_t all = 0, i = 0;
    for (size_t pass = 0; pass < 2; pass++) {
        size_t left = pass ? choose(choices, all) : 0;
        for (i = 0; i < locus_encoding_registry_size(); i++) {
            const locus_encoding_info *info = locus_encoding_registry_at(i);
            const size_t weight = reference_taught(info->name, NULL) ? 3 + info->option_count : 0;
            if (pass && left < weight)
                return info;
            left -= pass ? weight : 0;
            all += pass ? 0 : weight;
        }
    }
    return locus_encoding_registry_at(0);
}

static void draw_term(const drawing *d, draft *term) {
    const size_t few = choose(d->choices, 4);
    memset(term, 0, sizeof *term);
    term->info = draw_name(d->choices);
    const size_t count = term->info->option_count < OPTIONS ? term->info->option_count : OPTIONS;
    for (size_t i = 0; i < few && count > 0; i++)
        give(d, term, choose(d->choices, count));
    for (size_t i = 0; i < count; i++) { /* what positions are of must agree with the others */
        const char *name = term->info->options[i].name;
        if (strcmp(name, "group") == 0 || (strcmp(name, "axes") == 0 && d->axes > 1))
            give(d, term, i);
        if (strcmp(name, "k") == 0 && strncmp(d->group, "tree:", 5) == 0) {
            term->given[i] = true;
            (void)snprintf(term->value[i], VALUE, "%s", d->group + 5);
        }
    }
}

static void write_term(const draft *term, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "%s", term->info->name);
    bool any = false;
    for (size_t i = 0; i < term->info->option_count && i < OPTIONS && at < size; i++)
        if (term->given[i]) {
            at += (size_t)snprintf(text + at, size - at, "%s%s=%s", any ? ", " : "(", term->info->options[i].name,
                                   term->value[i]);
            any = true;
        }
    if (any && at < size)
        (void)snprintf(text + at, size - at, ")");
}

/* By what the message says; false if there is nothing to do. */
static bool mend(const drawing *d, draft *term, const locus_error *error) {
    const size_t count = term->info->option_count < OPTIONS ? term->info->option_count : OPTIONS;
    char wanted[80];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(wanted, sizeof wanted, "%s=", term->info->options[i].name);
        if (!term->given[i] && strstr(error->message, wanted) && choose_chance(d->choices, 90)) {
            give(d, term, i);
            if (term->given[i])
                return true;
        }
    }
    for (size_t i = 0; i < count; i++)
        if (term->given[i] && strcmp(error->argument, term->info->options[i].name) == 0) {
            term->given[i] = false;
            return true;
        }
    for (size_t i = 0; i < count; i++)
        if (term->given[i]) {
            term->given[i] = false;
            return true;
        }
    return false;
}

/* Whether the term can be used with the shape. */
static bool can_be(const char *text, const locus_shape *shape, locus_error *error) {
    locus_encoding *encoding = NULL;
    size_t count = 0;
    memset(error, 0, sizeof *error);
    const bool fine = locus_encoding_parse(text, &encoding, error) == LOCUS_OK &&
                      locus_encoding_parameter_count(encoding, shape, &count, error) == LOCUS_OK;
    locus_encoding_destroy(&encoding);
    return fine;
}

static void mend_shape(locus_shape *shape, const drawing *d, const locus_error *error) {
    if (strcmp(error->argument, "value_dim") == 0)
        shape->value_dim = shape->head_dim;
    if (strcmp(error->argument, "model_dim") == 0)
        shape->model_dim = (shape->model_dim + 2) / 2 * 4;
    if (strcmp(error->argument, "head_dim") == 0) {
        size_t unit = 2;
        for (const char *at = d->group; *at; at++)
            unit += *at == '*' ? 2 : 0;
        unit *= strncmp(d->group, "grid:", 5) == 0 ? (size_t)(d->group[5] - '0') : 1;
        unit *= strchr(d->group, '*') && strstr(d->group, "grid:") ? 3 : 1;
        const bool same = shape->value_dim == shape->head_dim;
        shape->head_dim = (shape->head_dim / unit + 1) * unit;
        shape->value_dim = same ? shape->head_dim : shape->value_dim;
    }
}

static bool draw_good_term(const drawing *d, locus_shape *shape, draft *term, char *text, size_t size) {
    locus_error error;
    for (int try = 0; try < TRIES; try++) {
        draw_term(d, term);
        for (int repair = 0; repair < REPAIRS; repair++) {
            write_term(term, text, size);
            if (can_be(text, shape, &error))
                return true;
            if (error.status == LOCUS_ERROR_SHAPE)
                mend_shape(shape, d, &error);
            if (can_be(text, shape, &error))
                return true;
            if (!mend(d, term, &error))
                break;
        }
    }
    return false;
}

bool drawn_spec_make(chooser *choices, locus_shape *shape, drawn_spec *spec) {
    static const char *const groups[] = {"seq",         "grid:2",         "grid:3",        "cycle:7",    "cycle:12",
                                         "tree:1",      "tree:2",         "tree:3",        "seq*tree:2", "cycle:5*seq",
                                         "seq*cycle:4", "tree:2*cycle:3", "seq*seq*tree:1"};
    const size_t others = sizeof groups / sizeof groups[0];
    const char *group = choose_chance(choices, 55) ? groups[choose(choices, others)] : groups[0];
    const drawing d = {.choices = choices,
                       .shape = shape,
                       .group = group,
                       .axes = strcmp(group, "seq") == 0         ? 1
                               : strncmp(group, "grid:", 5) == 0 ? (size_t)(group[5] - '0')
                                                                 : 0};
    const size_t terms = choose_chance(choices, 50) ? 1 + choose(choices, TERMS) : 1;
    locus_error error;
    memset(spec, 0, sizeof *spec);
    (void)snprintf(spec->group, sizeof spec->group, "%s", group);
    for (size_t t = 0; t < terms; t++) {
        char term_text[512], sum[sizeof spec->text];
        draft term;
        if (!draw_good_term(&d, shape, &term, term_text, sizeof term_text))
            break;
        const int length = snprintf(sum, sizeof sum, "%s%s%s", spec->text, t > 0 ? " + " : "", term_text);
        if (length > 0 && (size_t)length < sizeof sum && (t == 0 || can_be(sum, shape, &error)))
            memcpy(spec->text, sum, sizeof sum);
    }
    return locus_encoding_parse(spec->text, &spec->encoding, &error) == LOCUS_OK && can_be(spec->text, shape, &error);
}

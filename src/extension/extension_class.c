/* SPDX-License-Identifier: MIT */
/* The functions of a registered encoding's class, the same for all of them: the description says what differs. */
#include "extension/extension_class.h"

#include "algebra/group_access.h"
#include "core/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- options ---- */

static double number_of(const locus_option_info *info, const locus_option_value *value) {
    switch (info->kind) {
    case LOCUS_OPTION_CHOICE:
        return (double)value->choice;
    case LOCUS_OPTION_NUMBER:
    case LOCUS_OPTION_INTEGER:
        return value->number;
    case LOCUS_OPTION_OFF_OR_NUMBER:
    case LOCUS_OPTION_OFF_OR_INTEGER:
        return value->choice == 0 ? NAN : value->number;
    default:
        return NAN;
    }
}

static locus_status read_option(const locus_term *term, size_t index, locus_owned *memory,
                                locus_extension_option *option, locus_error *error) {
    const locus_signature signature = locus_class_signature(term->class);
    const locus_option_info *info = &term->class->info.options[index];
    const locus_option_value *value = &term->options[index];
    const bool said = value->given || info->initial[0] != '\0';
    const size_t length = said ? locus_option_print(&signature, index, value, NULL, 0) : 0;
    char *text = locus_owned_get(memory, length + 1, 1);
    double *list = locus_owned_get(memory, value->count, sizeof *list);
    if (!text || !list)
        return locus_owned_fail(error);
    if (said)
        (void)locus_option_print(&signature, index, value, text, length + 1);
    if (value->count > 0)
        memcpy(list, value->list, value->count * sizeof *list);
    *option = (locus_extension_option){text, said ? number_of(info, value) : NAN, value->count, list};
    return LOCUS_OK;
}

locus_status locus_extension_options(const locus_term *term, locus_owned *memory,
                                     const locus_extension_option **options, locus_error *error) {
    const size_t count = term->class->info.option_count;
    locus_extension_option *own = locus_owned_get(memory, count, sizeof *own);
    if (!own)
        return locus_owned_fail(error);
    *options = own;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < count && status == LOCUS_OK; i++)
        status = read_option(term, i, memory, &own[i], error);
    return status;
}

/* ---- group and laws ---- */

static void group_text(const locus_term *term, char *text, size_t size) {
    const char *group = locus_extension_of(term)->description.group;
    (void)snprintf(text, size, "%s", group ? group : "");
}

static bool is_score(const locus_encoding_description *description) {
    return description->kind == LOCUS_EXTENSION_BIAS || description->kind == LOCUS_EXTENSION_FACTOR;
}

static unsigned needs(const locus_term *term) {
    return locus_extension_of(term)->description.traits & (LOCUS_TRAIT_LENGTH | LOCUS_TRAIT_CAUSAL);
}

/* A cache finds scores by differences of whole numbers; others are asked for with every token. */
static bool follows(const locus_term *term, bool reals) {
    const locus_encoding_description *description = &locus_extension_of(term)->description;
    return is_score(description) && (reals || (description->laws & LOCUS_LAW_RELATIVITY) == 0);
}

/* ---- parameters ---- */

#define ELEMENTS_MAX ((int64_t)1 << 32) /* of a parameter */

/* 0: none that a tensor can have. */
static int64_t extent_of(const locus_term *term, const locus_shape *shape, int64_t extent) {
    switch (extent) {
    case LOCUS_EXTENT_HEADS:
        return (int64_t)shape->heads;
    case LOCUS_EXTENT_HEAD_DIM:
        return (int64_t)shape->head_dim;
    case LOCUS_EXTENT_PAIRS:
        return (int64_t)(shape->head_dim / 2);
    default:
        break;
    }
    if (extent > 0)
        return extent;
    const double number = term->options[LOCUS_EXTENT_OPTION(extent)].number;
    return number >= 1 && number <= (double)ELEMENTS_MAX ? (int64_t)number : 0;
}

static locus_status make_parameter(const locus_term *term, const locus_shape *shape,
                                   const locus_extension_parameter *described, locus_parameter *parameter,
                                   locus_error *error) {
    int64_t elements = 1;
    *parameter = (locus_parameter){.rank = described->rank, .constraint = described->constraint};
    (void)snprintf(parameter->name, sizeof parameter->name, "%s", described->name);
    for (size_t i = 0; i < described->rank; i++) {
        const int64_t extent = extent_of(term, shape, described->shape[i]);
        if (extent < 1 || extent > ELEMENTS_MAX / elements)
            return locus_fail(error, LOCUS_ERROR_SHAPE, described->name,
                              "the parameter '%s' of '%s' cannot have its dimension %zu: sizes are at least 1, and all "
                              "elements at most 2^32",
                              described->name, term->class->info.name, i);
        parameter->shape[i] = extent;
        elements *= extent;
    }
    return LOCUS_OK;
}

static locus_status check_shape(const locus_term *term, const locus_shape *shape, locus_error *error) {
    const locus_encoding_description *description = &locus_extension_of(term)->description;
    const char *name = term->class->info.name;
    const size_t coordinates = locus_group_coordinates(locus_term_group(term));
    if (coordinates > LOCUS_COORDINATES_MAX)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "group", "'%s' takes groups of at most %d coordinates", name,
                          LOCUS_COORDINATES_MAX);
    return locus_shape_check(shape, is_score(description) ? 0 : LOCUS_NEEDS_HEAD_DIM, name, error);
}

static bool acts_on_values(const locus_encoding_description *description) {
    return (description->flags & LOCUS_EXTENSION_VALUES) != 0;
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    const locus_encoding_description *description = &locus_extension_of(term)->description;
    locus_status status = check_shape(term, shape, error);
    if (status == LOCUS_OK && acts_on_values(description) && locus_shape_value_dim(shape) != shape->head_dim)
        status = locus_fail(error, LOCUS_ERROR_SHAPE, "value_dim",
                            "'%s' acts on values too, which are %zu wide: queries are %zu", description->name,
                            locus_shape_value_dim(shape), shape->head_dim);
    for (size_t p = 0; p < description->parameter_count && status == LOCUS_OK; p++)
        status = make_parameter(term, shape, &description->parameters[p], &list[(*count)++], error);
    return status;
}

/* ---- binding ---- */

static locus_status begin(const locus_term *term, const locus_shape *shape, locus_extension_bound *bound,
                          locus_owned *memory, locus_error *error) {
    const locus_extension *own = locus_extension_of(term);
    const locus_encoding_description *description = &own->description;
    *bound =
        (locus_extension_bound){.own = own,
                                .heads = shape->heads,
                                .head_dim = shape->head_dim,
                                .tables = (description->flags & LOCUS_EXTENSION_HEADS_ALIKE) != 0 ? 1 : shape->heads};
    for (size_t p = 0; p < description->parameter_count; p++) {
        locus_parameter parameter;
        locus_status status = make_parameter(term, shape, &description->parameters[p], &parameter, error);
        if (status != LOCUS_OK)
            return status;
        bound->counts[p] = locus_parameter_elements(&parameter);
        bound->elements += bound->counts[p];
    }
    return locus_extension_options(term, memory, &bound->options, error);
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    locus_extension_bound *own = bound;
    locus_status status = begin(term, shape, own, memory, error);
    if (status == LOCUS_OK)
        status = locus_extension_bind_turn(own, memory, error);
    for (size_t p = 0; status == LOCUS_OK && p < own->own->description.parameter_count; p++)
        own->values[p] = values[p];
    return status;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    const locus_encoding_description *description = &locus_extension_of(term)->description;
    locus_owned memory = {0};
    locus_extension_bound bound;
    uint64_t index = 0;
    locus_status status = begin(term, draw->shape, &bound, &memory, error);
    for (size_t p = 0; p < description->parameter_count && status == LOCUS_OK; p++) {
        const locus_extension_parameter *described = &description->parameters[p];
        for (size_t i = 0; i < bound.counts[p]; i++, index++)
            draw->values[p][i] =
                described->initial +
                (described->deviation > 0 ? described->deviation * locus_random_normal(&draw->random, index) : 0);
        if (description->initialise)
            status = locus_extension_draw(&bound, p, bound.counts[p], draw->values[p], error);
    }
    locus_owned_release(&memory);
    return status;
}

/* ---- placing ---- */

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_extension_bound *own = bound;
    if (is_score(&own->own->description))
        return locus_extension_place_score(own, places, memory, placed, error);
    return locus_extension_place_turn(own, places, memory, placed, error);
}

void locus_extension_class_fill(locus_extension *extension) {
    const locus_encoding_description *description = &extension->description;
    locus_encoding_class *class = &extension->class;
    class->info.sites = is_score(description) ? (unsigned)LOCUS_SITE_SCORE : (unsigned)LOCUS_SITE_QUERY_KEY;
    if (acts_on_values(description))
        class->info.sites |= LOCUS_SITE_VALUE;
    class->registered = true;
    class->shape = LOCUS_NEEDS_HEADS;
    class->bound_bytes = sizeof(locus_extension_bound);
    class->laws = description->laws;
    class->reals = (description->traits & LOCUS_TRAIT_REALS) != 0;
    class->group_text = group_text;
    class->needs = needs;
    class->follows = follows;
    class->parameters = parameters;
    class->initialise = description->parameter_count > 0 ? initialise : NULL;
    class->bind = bind;
    class->place = place;
}

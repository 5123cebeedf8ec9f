/* SPDX-License-Identifier: MIT */
/* See rope_sections.h. */
#include "operators/rotary/rope_sections.h"

#include "core/error.h"

#include <assert.h>
#include <stdio.h>

static size_t axes_of(const locus_term *term) {
    const size_t sections = term->options[LOCUS_ROPE_SECTIONS].count;
    return sections > 0 ? sections : (size_t)term->options[LOCUS_ROPE_AXES].number;
}

void locus_rope_group_text(const locus_term *term, char *text, size_t size) {
    const size_t axes = axes_of(term);
    if (axes > 1 && axes <= LOCUS_COORDINATES_MAX)
        (void)snprintf(text, size, "grid:%zu", axes);
}

static locus_status take_equal(const locus_term *term, size_t pairs, locus_rope_sections *sections,
                               locus_error *error) {
    const size_t axes = sections->axes;
    if (pairs < axes)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "axes",
                          "'%s' turns %zu dimensions, too few for %zu axes: a pair for each needs %zu",
                          term->class->info.name, 2 * pairs, axes, 2 * axes);
    if (pairs % axes != 0)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "axes",
                          "'%s' cannot share %zu pairs equally among %zu axes: give sections=a:b:…, or rotate=%zu",
                          term->class->info.name, pairs, axes, 2 * (pairs / axes) * axes);
    for (size_t axis = 0; axis <= axes; axis++)
        sections->first[axis] = pairs / axes * axis;
    return LOCUS_OK;
}

/* order=interleaved takes pairs axis, k + axis, 2k + axis, … from axis 0. */
static locus_status check_interleaved(const locus_term *term, const locus_rope_sections *sections, size_t pairs,
                                      locus_error *error) {
    for (size_t axis = 1; axis < sections->axes; axis++) {
        const size_t size = sections->first[axis + 1] - sections->first[axis];
        const size_t room = pairs > axis ? (pairs - axis - 1) / sections->axes + 1 : 0;
        if (size > room)
            return locus_fail(error, LOCUS_ERROR_SHAPE, "sections",
                              "section %zu (from 0) of '%s' has %zu pairs: order=interleaved can give it %zu of the "
                              "%zu pairs at most",
                              axis, term->class->info.name, size, room, pairs);
    }
    return LOCUS_OK;
}

static locus_status take_sections(const locus_term *term, size_t pairs, locus_rope_sections *sections,
                                  locus_error *error) {
    const locus_option_value *given = &term->options[LOCUS_ROPE_SECTIONS];
    for (size_t axis = 0; axis < sections->axes; axis++)
        sections->first[axis + 1] = sections->first[axis] + (size_t)given->list[axis];
    const size_t sum = sections->first[sections->axes];
    if (sum == pairs)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_SHAPE, "sections",
                      "the sections of '%s' add up to %zu pairs: %zu dimensions turn, which are %zu pairs",
                      term->class->info.name, sum, 2 * pairs, pairs);
}

static locus_status check_lists(const locus_term *term, const locus_rope_sections *sections, size_t pairs,
                                locus_error *error) {
    const size_t count = term->options[LOCUS_ROPE_SHORT].count;
    if (term->options[LOCUS_ROPE_SCALING].choice != LOCUS_SCALING_LONGROPE)
        return LOCUS_OK;
    for (size_t axis = 0; axis < sections->axes; axis++) {
        const size_t own = sections->axial ? sections->first[axis + 1] - sections->first[axis] : pairs;
        if (own != count)
            return locus_fail(error, LOCUS_ERROR_SHAPE, "short",
                              "the lists short and long of '%s' have %zu numbers: %zu dimensions turn%s, so %zu are "
                              "needed",
                              term->class->info.name, count, 2 * own, sections->axes > 1 ? " with an axis" : "", own);
    }
    return LOCUS_OK;
}

locus_status locus_rope_sections_get(const locus_term *term, size_t pairs, locus_rope_sections *sections,
                                     locus_error *error) {
    const locus_option_value *options = term->options;
    const bool listed = options[LOCUS_ROPE_SECTIONS].count > 0;
    *sections = (locus_rope_sections){.axes = axes_of(term)};
    sections->axial = options[LOCUS_ROPE_FREQUENCIES].given
                          ? options[LOCUS_ROPE_FREQUENCIES].choice == LOCUS_FREQUENCIES_AXIAL
                          : !listed;
    sections->axial = sections->axial && sections->axes > 1;
    sections->blocks = sections->axial && !listed;
    sections->interleaved = sections->axes > 1 && options[LOCUS_ROPE_ORDER].choice == LOCUS_ORDER_INTERLEAVED;
    locus_status status =
        listed ? take_sections(term, pairs, sections, error) : take_equal(term, pairs, sections, error);
    if (status == LOCUS_OK && sections->interleaved)
        status = check_interleaved(term, sections, pairs, error);
    return status == LOCUS_OK ? check_lists(term, sections, pairs, error) : status;
}

static size_t axis_of(const locus_rope_sections *sections, size_t pair) {
    assert(sections->axes > 0);
    const size_t axis = pair % sections->axes;
    return pair < sections->axes * (sections->first[axis + 1] - sections->first[axis]) ? axis : 0;
}

void locus_rope_sections_sort(const locus_rope_sections *sections, uint32_t *places) {
    const size_t pairs = sections->first[sections->axes];
    size_t next[LOCUS_COORDINATES_MAX];
    for (size_t axis = 0; axis < sections->axes; axis++)
        next[axis] = sections->first[axis];
    for (size_t i = 0; i < pairs; i++)
        places[i] = (uint32_t)next[axis_of(sections, i)]++;
}

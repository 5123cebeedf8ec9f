/* SPDX-License-Identifier: MIT */
/* rope: rotary encoding (Su et al. 2021, RoFormer, equation 34). Pairs of a head's first r dimensions turn by p·ω_i
 * with ω_i = base^(−2i/r), the same in all heads; the rest stands still. rotate=proportional:f: pairs (i, i + d/2),
 * frequencies over d, ω_i = 0 for i ≥ ⌊f·d/2⌋. learned=on: parameter `frequencies` [r/2].
 *
 * roper is rope(values=on): values are turned by +p, the output by −p. */
#include "encoding/class.h"
#include "encoding/rotary.h"

#include "core/error.h"

#include <math.h>

enum { PAIRS, BASE, ROTATE, LEARNED, SIDE, VALUES };

typedef struct locus_rope {
    locus_rotary rotary;
    bool values;
} locus_rope;

static bool acts_on_values(const locus_term *term) {
    return term->class == &locus_roper_class || term->options[VALUES].choice == 1;
}

static unsigned sites(const locus_term *term) {
    return LOCUS_SITE_QUERY_KEY | (acts_on_values(term) ? (unsigned)LOCUS_SITE_VALUE : 0u);
}

static const char *conflict(const locus_term *term, size_t *option) {
    *option = PAIRS;
    if (term->options[ROTATE].choice == 2 && term->options[PAIRS].given && term->options[PAIRS].choice == 0)
        return "rotate=proportional turns pairs (i, i + d/2): leave out pairs=interleaved";
    return NULL;
}

/* Dimensions that the frequencies are spread over; twice the number of pairs. */
static size_t rotated(const locus_term *term, const locus_shape *shape) {
    return term->options[ROTATE].choice == 1 ? (size_t)term->options[ROTATE].number : shape->head_dim;
}

static locus_status check(const locus_term *term, const locus_shape *shape, locus_error *error) {
    const char *name = term->class->info.name;
    locus_status status = locus_shape_need_heads(shape, name, error);
    if (status != LOCUS_OK)
        return status;
    size_t dimensions = rotated(term, shape);
    if (dimensions % 2 != 0)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "head_dim",
                          "'%s' turns pairs: head_dim must be even, not %zu (or give rotate=%zu)", name,
                          shape->head_dim, shape->head_dim - 1);
    if (dimensions > shape->head_dim)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "rotate", "'%s' cannot turn %zu of %zu head dimensions", name,
                          dimensions, shape->head_dim);
    if (acts_on_values(term) && locus_shape_value_dim(shape) != shape->head_dim)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "value_dim",
                          "'%s' turns values as it turns queries: value_dim must be head_dim (%zu), not %zu", name,
                          shape->head_dim, locus_shape_value_dim(shape));
    return LOCUS_OK;
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    locus_status status = check(term, shape, error);
    if (status == LOCUS_OK && term->options[LEARNED].choice == 1)
        list[(*count)++] = (locus_parameter){"frequencies", 1, {(int64_t)rotated(term, shape) / 2}};
    return status;
}

static void fill_frequencies(const locus_term *term, const locus_shape *shape, double *theta) {
    size_t dimensions = rotated(term, shape), pairs = dimensions / 2;
    locus_rotary_frequencies(term->options[BASE].number, dimensions, pairs, theta);
    if (term->options[ROTATE].choice == 2)
        for (size_t i = (size_t)(term->options[ROTATE].number * (double)dimensions / 2); i < pairs; i++)
            theta[i] = 0;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)error;
    fill_frequencies(term, draw->shape, draw->values[0]);
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values,
                         locus_owned *memory, void **bound, locus_error *error) {
    size_t pairs = rotated(term, shape) / 2;
    locus_rope *own = locus_owned_get(memory, 1, sizeof *own);
    double *theta = locus_owned_get(memory, pairs, sizeof *theta);
    locus_angle_fine *fine = locus_owned_get(memory, 1, sizeof *fine);
    if (!own || !theta || !fine)
        return locus_owned_fail(error, pairs, sizeof *theta);
    const bool learned = term->options[LEARNED].choice == 1;
    if (learned)
        for (size_t i = 0; i < pairs; i++)
            theta[i] = values[0][i];
    else
        fill_frequencies(term, shape, theta);
    own->values = acts_on_values(term);
    own->rotary = (locus_rotary){.heads = shape->heads,
                                 .dim = shape->head_dim,
                                 .pairs = pairs,
                                 .tables = 1,
                                 .half_pairs = term->options[PAIRS].choice == 1 || term->options[ROTATE].choice == 2,
                                 .side = (locus_side)term->options[SIDE].choice,
                                 .learned = learned ? LOCUS_LEARN_ANGLES : LOCUS_LEARN_NOTHING,
                                 .angles_slice = {0, 1, 0},
                                 .axes = 1,
                                 .fine = fine};
    *bound = own;
    return locus_angle_fine_create(fine, 1, pairs, theta, memory, error);
}

static locus_status place(const void *bound, const locus_places *places, size_t first_parameter, locus_owned *memory,
                          locus_placed *placed, locus_error *error) {
    const locus_rope *own = bound;
    (void)first_parameter;
    locus_status status = locus_rotary_place(&own->rotary, &places->items[0], memory, &placed->query_key, error);
    placed->value = own->values ? placed->query_key : NULL;
    return status;
}

static size_t normal(const void *bound, locus_normal_part parts[LOCUS_LIST_MAX]) {
    const locus_rope *own = bound;
    parts[0] = (locus_normal_part){.rotary = &own->rotary};
    return 1;
}

static const locus_option_info options[] = {
    {"pairs", "interleaved|half", "interleaved", "pairs (2i, 2i + 1), or (i, i + r/2)"},
    {"base", "number > 0", "10000", "frequencies are base^(−2i/r)"},
    {"rotate", "even integer ≥ 2, or proportional:f with 0 < f ≤ 1", "", "how many dimensions turn; all if not given"},
    {"learned", "off|on", "off", "the frequencies are parameters"},
    {"side", "both|query|key", "both", "which side turns; one alone makes positions absolute"},
    {"values", "off|on", "off", "turns values, too, and the output back (RoPER)"},
};
static const locus_option_rule rules[] = {
    {LOCUS_OPTION_CHOICE, 0, 0, false, NULL},     {LOCUS_OPTION_NUMBER, 0, 1e300, true, NULL},
    {LOCUS_OPTION_ROTATE, 2, 65536, false, NULL}, {LOCUS_OPTION_CHOICE, 0, 0, false, NULL},
    {LOCUS_OPTION_CHOICE, 0, 0, false, NULL},     {LOCUS_OPTION_CHOICE, 0, 0, false, NULL},
};
#define LATER \
    "scaling|factor|original|fast|slow|attention|mscale|mscale_all|truncate|low|high|short|long|axes|frequencies|" \
    "sections|order|xpos|gamma|centre"

const locus_encoding_class locus_rope_class = {
    .info = {.name = "rope",
             .summary = "rotates pairs of query and key dimensions by position × frequency",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE,
             .learned = "frequencies (learned=on)",
             .source = "Su et al. 2021, RoFormer",
             .options = options,
             .option_count = sizeof options / sizeof options[0]},
    .rules = rules,
    .laws = LOCUS_LAWS_ALL,
    .later = LATER,
    .angles = true,
    .sites = sites,
    .conflict = conflict,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
    .normal = normal,
};

/* All of rope's options but the last, which it implies. */
const locus_encoding_class locus_roper_class = {
    .info = {.name = "roper",
             .summary = "rope that also rotates values, and the output back",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE,
             .learned = "frequencies (learned=on)",
             .source = "Harik and Jayasiri, Rotary positional embeddings with relative distances (RoPER)",
             .options = options,
             .option_count = VALUES},
    .rules = rules,
    .laws = LOCUS_LAWS_ALL,
    .later = LATER,
    .angles = true,
    .sites = sites,
    .conflict = conflict,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
    .normal = normal,
};

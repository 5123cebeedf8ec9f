/* SPDX-License-Identifier: MIT */
/* rope: rotary encoding (Su et al. 2021, RoFormer, equation 34). Pairs of a head's first r dimensions turn by p·ω_i
 * with ω_i = base^(−2i/r), the same in all heads; the rest stands still. rotate=proportional:f: pairs (i, i + d/2),
 * frequencies over d, ω_i = 0 for i ≥ ⌊f·d/2⌋. learned=on: parameter `frequencies` [r/2], which begins as the scaled
 * frequencies.
 *
 *   scaling=   frequencies for longer texts, and the attention factor of YaRN and LongRoPE: rope_frequencies.h
 *   axes=      several numbers for a position, on grid:k: rope_sections.h
 *   xpos=      xPos (Sun et al. 2022, A length-extrapolatable transformer): ζ_i = (2i + gamma·r)/((1 + gamma)·r);
 *              queries are also multiplied by ζ_i^((p − centre)/xpos), keys by the inverse. Scores fall with m − n
 *              where a query at m looks back to a key at n, and grow without bound where it looks ahead: attention
 *              must be causal (locus_plan_needs_causal). A position further than 30,720 from the centre is an error,
 *              or nearer, where float32 would overflow before.
 *
 * dynamic and longrope depend on the length that a plan is made for. A cached key is as old as the plan it was turned
 * with: after the length has grown beyond `original` it no longer goes with new queries.
 *
 * turn=backward negates all frequencies (nanochat).
 *
 * roper is rope(values=on): values are turned by +p, the output by −p. They never see the attention factor. */
#include "operators/rotary/rope_frequencies.h"
#include "operators/rotary/rope_sections.h"
#include "operators/rotary/rotary.h"

#include "core/error.h"

#include <math.h>

#define XPOS_RANGE 30720.0
#define XPOS_STRETCH 80.0 /* e^80 is the furthest that a float32 can be stretched with room for the data */

typedef struct locus_rope {
    locus_rotary rotary;
    const locus_rotary *beyond; /* of lengths above `original`: LongRoPE's second list; else NULL */
    const locus_term *term;     /* the binding's encoding holds it */
    locus_rope_sections sections;
    bool values;
} locus_rope;

static unsigned sites(const locus_term *term) {
    return LOCUS_SITE_QUERY_KEY | (locus_rope_acts_on_values(term) ? (unsigned)LOCUS_SITE_VALUE : 0u);
}

/* What stretches is no rotation, and the product of two steps is stretched twice; scores still know only distances. */
static unsigned laws_of(const locus_term *term) {
    const bool stretches = term->options[LOCUS_ROPE_XPOS].choice == 1 || locus_rope_attention(term) != 1;
    return stretches ? (unsigned)LOCUS_LAW_RELATIVITY : (unsigned)LOCUS_LAWS_ALL;
}

/* Dimensions that the frequencies are spread over; twice the number of pairs. */
static size_t rotated(const locus_term *term, const locus_shape *shape) {
    const locus_option_value *rotate = &term->options[LOCUS_ROPE_ROTATE];
    return rotate->choice == LOCUS_ROTATE_FIRST ? (size_t)rotate->number : shape->head_dim;
}

static locus_status check(const locus_term *term, const locus_shape *shape, locus_error *error) {
    const char *name = term->class->info.name;
    locus_rope_sections sections;
    const size_t dimensions = rotated(term, shape);
    if (dimensions % 2 != 0)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "head_dim",
                          "'%s' turns pairs: head_dim must be even, not %zu (or give rotate=%zu)", name,
                          shape->head_dim, shape->head_dim - 1);
    if (dimensions > shape->head_dim)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "rotate", "'%s' cannot turn %zu of %zu head dimensions", name,
                          dimensions, shape->head_dim);
    if (locus_rope_acts_on_values(term) && locus_shape_value_dim(shape) != shape->head_dim)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "value_dim",
                          "'%s' turns values as it turns queries: value_dim must be head_dim (%zu), not %zu", name,
                          shape->head_dim, locus_shape_value_dim(shape));
    return locus_rope_sections_get(term, dimensions / 2, &sections, error);
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    locus_status status = check(term, shape, error);
    if (status == LOCUS_OK && term->options[LOCUS_ROPE_LEARNED].choice == 1)
        list[(*count)++] =
            (locus_parameter){.name = "frequencies", .rank = 1, .shape = {(int64_t)rotated(term, shape) / 2}};
    return status;
}

/* In the order of pairs. Axial ones begin afresh on each axis. */
static void fill_frequencies(const locus_term *term, const locus_rope_sections *sections, size_t length,
                             double *theta) {
    const size_t pairs = sections->first[sections->axes];
    const locus_option_value *rotate = &term->options[LOCUS_ROPE_ROTATE];
    if (!sections->axial)
        locus_rope_frequencies(term, length, pairs, theta);
    for (size_t axis = 0; sections->axial && axis < sections->axes; axis++)
        locus_rope_frequencies(term, length, sections->first[axis + 1] - sections->first[axis],
                               theta + sections->first[axis]);
    if (rotate->choice == LOCUS_ROTATE_PROPORTIONAL)
        for (size_t i = (size_t)(rotate->number * (double)pairs); i < pairs; i++)
            theta[i] = 0;
    for (size_t i = 0; term->options[LOCUS_ROPE_TURN].choice == LOCUS_TURN_BACKWARD && i < pairs; i++)
        theta[i] = -theta[i];
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    locus_rope_sections sections;
    locus_status status = locus_rope_sections_get(term, rotated(term, draw->shape) / 2, &sections, error);
    if (status == LOCUS_OK)
        fill_frequencies(term, &sections, 0, draw->values[0]);
    return status;
}

/* ---- binding ---- */

/* ln ζ_i/xpos, and how far positions may go. */
static locus_status bind_growth(locus_rotary *rotary, const locus_term *term, locus_owned *memory, locus_error *error) {
    const double gamma = term->options[LOCUS_ROPE_GAMMA].number, scale = term->options[LOCUS_ROPE_XPOS].number;
    const size_t pairs = rotary->pairs;
    double *growth = locus_owned_get(memory, pairs, sizeof *growth);
    if (!growth)
        return locus_owned_fail(error);
    for (size_t i = 0; i < pairs; i++)
        growth[i] = log(((double)i / (double)pairs + gamma) / (1 + gamma)) / scale;
    rotary->range = fmin(XPOS_RANGE, XPOS_STRETCH / fabs(growth[0]));
    return locus_rotary_bind_growth(rotary, growth, term->options[LOCUS_ROPE_CENTRE].number, memory, error);
}

/* The tables of `rotary`, whose layout is there, for a length or from learned values. */
static locus_status bind_tables(const locus_rope *own, size_t length, const double *values, locus_rotary *rotary,
                                locus_owned *memory, locus_error *error) {
    double *theta = locus_owned_get(memory, rotary->pairs, sizeof *theta);
    if (!theta)
        return locus_owned_fail(error);
    for (size_t i = 0; values && i < rotary->pairs; i++)
        theta[i] = values[i];
    if (!values)
        fill_frequencies(own->term, &own->sections, length, theta);
    for (size_t i = 0; i < rotary->pairs; i++)
        if (!isfinite(theta[i]))
            return locus_fail(error, LOCUS_ERROR_NUMERIC, "frequencies",
                              "the frequency of pair %zu of '%s' is not finite: its scaling is out of range", i,
                              own->term->class->info.name);
    locus_status status = locus_rotary_bind_parts(rotary, theta, memory, error);
    if (status == LOCUS_OK && own->term->options[LOCUS_ROPE_XPOS].choice == 1)
        status = bind_growth(rotary, own->term, memory, error);
    return status;
}

static const char *not_normal(const locus_term *term) {
    if (term->options[LOCUS_ROPE_XPOS].choice == 1)
        return "xpos stretches, so its operators are no rotations";
    if (locus_rope_attention(term) != 1)
        return "its attention factor stretches, so its operators are no rotations (fold with attention=1, and multiply "
               "the score's scale by the factor's square)";
    return locus_rope_depends_on_length(term) ? "its frequencies depend on the length" : NULL;
}

static locus_rotary layout_of(const locus_term *term, const locus_shape *shape, const locus_rope *own) {
    const locus_option_value *options = term->options;
    const bool learned = options[LOCUS_ROPE_LEARNED].choice == 1;
    const bool half =
        options[LOCUS_ROPE_PAIRS].choice == 1 || options[LOCUS_ROPE_ROTATE].choice == LOCUS_ROTATE_PROPORTIONAL;
    return (locus_rotary){.heads = shape->heads,
                          .dim = shape->head_dim,
                          .pairs = rotated(term, shape) / 2,
                          .tables = 1,
                          .half_pairs = half,
                          .side = (locus_side)options[LOCUS_ROPE_SIDE].choice,
                          .learned = learned ? LOCUS_LEARN_ANGLES : LOCUS_LEARN_NOTHING,
                          .angles_slice = {0, 1, 0},
                          .axes = own->sections.axes,
                          .blocks = half && own->sections.blocks ? own->sections.axes : 1,
                          .factor = locus_rope_attention(term),
                          .not_normal = not_normal(term)};
}

static locus_status bind_axes(locus_rope *own, locus_owned *memory, locus_error *error) {
    locus_rotary *rotary = &own->rotary;
    if (rotary->axes > 1)
        rotary->parts = own->sections.first;
    if (!own->sections.interleaved)
        return LOCUS_OK;
    uint32_t *places = locus_owned_get(memory, rotary->pairs, sizeof *places);
    if (!places)
        return locus_owned_fail(error);
    locus_rope_sections_sort(&own->sections, places);
    rotary->places = places;
    return LOCUS_OK;
}

/* Tables for every length that is known now: LongRoPE has two. */
static locus_status bind_lengths(locus_rope *own, const double *values, locus_owned *memory, locus_error *error) {
    locus_status status = bind_tables(own, 0, values, &own->rotary, memory, error);
    if (status != LOCUS_OK || own->term->options[LOCUS_ROPE_SCALING].choice != LOCUS_SCALING_LONGROPE)
        return status;
    locus_rotary *beyond = locus_owned_get(memory, 1, sizeof *beyond);
    if (!beyond)
        return locus_owned_fail(error);
    *beyond = own->rotary;
    own->beyond = beyond;
    return bind_tables(own, SIZE_MAX, NULL, beyond, memory, error);
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    locus_rope *own = bound;
    *own = (locus_rope){.term = term, .values = locus_rope_acts_on_values(term)};
    locus_status status = locus_rope_sections_get(term, rotated(term, shape) / 2, &own->sections, error);
    if (status != LOCUS_OK)
        return status;
    own->rotary = layout_of(term, shape, own);
    status = bind_axes(own, memory, error);
    if (status == LOCUS_OK)
        status = bind_lengths(own, own->rotary.learned ? values[0] : NULL, memory, error);
    return status;
}

/* ---- placed ---- */

/* A rotary for one length. */
typedef struct locus_rope_request {
    const locus_rope *rope;
    size_t length;
} locus_rope_request;

static locus_status make_dynamic(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_rope_request *asked = request;
    locus_rotary *fresh = table;
    *fresh = asked->rope->rotary;
    return bind_tables(asked->rope, asked->length, NULL, fresh, memory, error);
}

static const locus_table_kind dynamic_kind = {sizeof(locus_rotary), make_dynamic};

/* The rotary for a length, made now if it is dynamic; a cache holds it from one placing to the next. */
static locus_status choose(const locus_rope *own, const locus_places *places, const locus_rotary **chosen,
                           locus_owned *memory, locus_error *error) {
    const size_t length = places->length;
    *chosen = &own->rotary;
    if (!locus_rope_depends_on_length(own->term) || (double)length <= own->term->options[LOCUS_ROPE_ORIGINAL].number)
        return LOCUS_OK;
    if (own->beyond) {
        *chosen = own->beyond;
        return LOCUS_OK;
    }
    const locus_rope_request request = {own, length};
    const locus_table_asked asked = {&dynamic_kind, &request, sizeof request, &request};
    const void *table = NULL;
    const locus_status status = locus_tables_get(places->items[0].held, &asked, memory, &table, error);
    *chosen = table;
    return status;
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_rope *own = bound;
    const locus_rotary *rotary = NULL;
    locus_status status = choose(own, places, &rotary, memory, error);
    if (status == LOCUS_OK)
        status = locus_rotary_place(rotary, places, 0, memory, &placed->query_key, error);
    placed->value = own->values ? placed->query_key : NULL;
    return status;
}

static size_t normal(const void *bound, locus_normal_part parts[LOCUS_COORDINATES_MAX]) {
    const locus_rope *own = bound;
    parts[0] = locus_rotary_normal(&own->rotary, 0, 0);
    return 1;
}

/* An attention factor m makes operators m·R(p): two of them in a row have it twice. */
static locus_moving moving(const void *bound) {
    const locus_rotary *rotary = &((const locus_rope *)bound)->rotary;
    const bool stretched = rotary->factor > 0 && rotary->side != LOCUS_SIDE_QUERY;
    return (locus_moving){.refused = rotary->growth && rotary->centre != 0 ? "stretches around a centre" : NULL,
                          .factor = stretched ? rotary->factor : 1,
                          .turning = stretched ? 2 * rotary->pairs : 0};
}

static bool learns(const locus_term *term) {
    return term->options[LOCUS_ROPE_LEARNED].choice == 1;
}

static unsigned needs(const locus_term *term) {
    return (locus_rope_depends_on_length(term) ? (unsigned)LOCUS_TRAIT_LENGTH : 0u) |
           (term->options[LOCUS_ROPE_XPOS].choice ? (unsigned)LOCUS_TRAIT_CAUSAL : 0u);
}

/* What rope and roper have in common. */
#define ROPE \
    .kept = 1u << LOCUS_ROPE_LEARNED, .shape = LOCUS_NEEDS_HEADS | LOCUS_NEEDS_HEAD_DIM, \
    .bound_bytes = sizeof(locus_rope), .laws = LOCUS_LAWS_ALL, .reals = true, .group_text = locus_rope_group_text, \
    .sites = sites, .laws_of = laws_of, .conflict = locus_rope_conflict, .learns = learns, .needs = needs, \
    .parameters = parameters, .initialise = initialise, .bind = bind, .place = place, .normal = normal, \
    .moving = moving

const locus_encoding_class locus_rope_class = {
    .info = {.name = "rope",
             .summary = "rotates pairs of query and key dimensions by position × frequency",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE,
             .learned = "frequencies (learned=on)",
             .source = "Su et al. 2021, RoFormer",
             .options = locus_rope_option_infos,
             .option_count = LOCUS_ROPE_OPTIONS},
    ROPE,
};

/* All of rope's options but the last, which it implies. */
const locus_encoding_class locus_roper_class = {
    .info = {.name = "roper",
             .summary = "rope that also rotates values, and the output back",
             .sites = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE,
             .learned = "frequencies (learned=on)",
             .source = "Harik and Jayasiri, Rotary positional embeddings with relative distances (RoPER)",
             .options = locus_rope_option_infos,
             .option_count = LOCUS_ROPE_VALUES},
    ROPE,
};

/* SPDX-License-Identifier: MIT */
/* Turns by angles that a callback says, and operators that are its matrices: asked for once for every distinct position
 * of a plan, and every head unless they are alike. */
#include "extension/extension_class.h"

#include "core/error.h"
#include "operators/liere/liere.h"
#include "operators/rotary/rotary.h"
#include "spec/distinct.h"
#include "spec/points.h"

#include <string.h>

/* ---- distinct positions, as callbacks are told of them ---- */

static locus_status write_points(const locus_places *places, const locus_distinct_positions *distinct,
                                 locus_extension_places *told, locus_owned *memory, locus_error *error) {
    locus_point_words words;
    locus_status status = locus_point_words_make(places, &words, memory, error);
    if (status != LOCUS_OK)
        return status;
    const size_t coordinates = places->count, numbers = distinct->count * coordinates;
    double *values = locus_owned_get(memory, numbers, sizeof *values);
    locus_extension_word *spelt = words.trees ? locus_owned_get(memory, numbers, sizeof *spelt) : NULL;
    if (!values || (words.trees && !spelt))
        return locus_owned_fail(error);
    for (size_t p = 0; p < distinct->count; p++) {
        const bool key = distinct->query.first[p + 1] == distinct->query.first[p];
        const locus_position_tokens *side = key ? &distinct->key : &distinct->query;
        locus_point_write(places, &words, key, side->tokens[side->first[p]], values + p * coordinates,
                          spelt ? spelt + p * coordinates : NULL);
    }
    *told = (locus_extension_places){
        .count = distinct->count, .coordinates = coordinates, .length = places->length, .query = {values, spelt}};
    return LOCUS_OK;
}

/* What follows from positions alone, of all plans on them. */
typedef struct extension_points {
    locus_distinct_positions distinct;
    locus_extension_places places;
} extension_points;

static locus_status make_points(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_places *places = request;
    extension_points *own = table;
    const locus_status status = locus_distinct_positions_find(places, &own->distinct, memory, error);
    return status == LOCUS_OK ? write_points(places, &own->distinct, &own->places, memory, error) : status;
}

static const locus_table_kind points_kind = {sizeof(extension_points), make_points};

static locus_status find_points(const locus_places *places, locus_owned *memory, extension_points *points,
                                locus_error *error) {
    const locus_table_asked asked = {&points_kind, NULL, 0, places};
    const void *found = NULL;
    const locus_status status = locus_tables_get(places->tables, &asked, memory, &found, error);
    if (status == LOCUS_OK) {
        *points = *(const extension_points *)found;
        points->places.length = places->length;
    }
    return status;
}

/* ---- turns ---- */

typedef struct extension_turn {
    const locus_extension_bound *bound;
    locus_extension_places places;
    locus_rotary_given given;
} extension_turn;

static void learn(const void *own, size_t head, const double *upstream, double *work, const locus_tensor *parameters) {
    const extension_turn *turn = own;
    locus_extension_learn(turn->bound, &turn->places, head, upstream, work, parameters);
}

static locus_status place_turn(const locus_extension_bound *bound, const locus_places *places,
                               const extension_points *points, locus_owned *memory, const locus_operator **placed,
                               locus_error *error) {
    const size_t pairs = bound->head_dim / 2, each = points->places.count * pairs;
    locus_owned passing = {0};
    extension_turn *turn = locus_owned_get(memory, 1, sizeof *turn);
    double *angles = locus_owned_get(&passing, bound->tables * each, sizeof *angles);
    locus_status status = turn && angles ? LOCUS_OK : locus_owned_fail(error);
    for (size_t t = 0; t < bound->tables && status == LOCUS_OK; t++)
        status = locus_extension_ask(bound, &points->places, t, angles + t * each, error);
    if (status == LOCUS_OK) {
        turn->bound = bound;
        turn->places = points->places;
        turn->given = (locus_rotary_given){.count = points->distinct.count,
                                           .query = points->distinct.query.numbers,
                                           .key = points->distinct.key.numbers,
                                           .angles = angles,
                                           .learn = learn,
                                           .own = turn,
                                           .work = bound->elements};
        status = locus_rotary_place_given(bound->rotary, &places->items[0], &turn->given, memory, placed, error);
    }
    if (turn)
        turn->given.angles = NULL;
    locus_owned_release(&passing);
    return status;
}

/* ---- matrices ---- */

typedef struct extension_matrices {
    const locus_extension_bound *bound;
    locus_extension_places places;
    locus_matrices_given given;
} extension_matrices;

static void learn_matrices(const void *own, size_t table, const double *upstream, double *work,
                           const locus_tensor *parameters) {
    const extension_matrices *matrices = own;
    locus_extension_learn(matrices->bound, &matrices->places, table, upstream, work, parameters);
}

/* [positions, tables, dim, dim] */
static locus_status ask_matrices(const locus_extension_bound *bound, const locus_extension_places *places,
                                 double *matrices, locus_error *error) {
    const size_t square = bound->head_dim * bound->head_dim, count = places->count, tables = bound->tables;
    locus_owned passing = {0};
    double *own = locus_owned_get(&passing, count * square, sizeof *own);
    locus_status status = own ? LOCUS_OK : locus_owned_fail(error);
    for (size_t t = 0; t < tables && status == LOCUS_OK; t++) {
        status = locus_extension_ask(bound, places, t, own, error);
        for (size_t p = 0; p < count && status == LOCUS_OK; p++)
            memcpy(matrices + (p * tables + t) * square, own + p * square, square * sizeof *own);
    }
    locus_owned_release(&passing);
    return status;
}

static locus_status place_matrices(const locus_extension_bound *bound, const locus_places *places,
                                   const extension_points *points, locus_owned *memory,
                                   const locus_whole_operator **placed, locus_error *error) {
    const char *name = bound->own->class.info.name;
    const size_t square = bound->head_dim * bound->head_dim, each = bound->tables * square * sizeof(double);
    if (points->places.count > places->workspace / each)
        return locus_fail(
            error, LOCUS_ERROR_UNSUPPORTED, name,
            "the matrices of '%s' at %zu positions are too many for the plan's workspace of %zu bytes: give "
            "more, or plan fewer tokens at a time",
            name, points->places.count, places->workspace);
    extension_matrices *own = locus_owned_get(memory, 1, sizeof *own);
    double *matrices = locus_owned_get(memory, points->places.count * bound->tables * square, sizeof *matrices);
    if (!own || !matrices)
        return locus_owned_fail(error);
    own->bound = bound;
    own->places = points->places;
    own->given = (locus_matrices_given){.heads = bound->heads,
                                        .tables = bound->tables,
                                        .dim = bound->head_dim,
                                        .matrices = matrices,
                                        .learn = bound->elements > 0 ? learn_matrices : NULL,
                                        .own = own,
                                        .work = bound->elements};
    const locus_status status = ask_matrices(bound, &points->places, matrices, error);
    return status == LOCUS_OK ? locus_matrices_place(&own->given, places, &points->distinct, memory, placed, error)
                              : status;
}

/* ---- both ---- */

locus_status locus_extension_bind_turn(locus_extension_bound *bound, locus_owned *memory, locus_error *error) {
    const locus_encoding_description *description = &bound->own->description;
    if (description->kind != LOCUS_EXTENSION_ANGLES)
        return LOCUS_OK;
    locus_rotary *rotary = locus_owned_get(memory, 1, sizeof *rotary);
    if (!rotary)
        return locus_owned_fail(error);
    bound->rotary = rotary;
    *rotary = (locus_rotary){.heads = bound->heads,
                             .dim = bound->head_dim,
                             .tables = bound->tables,
                             .half_pairs = (description->flags & LOCUS_EXTENSION_HALF_PAIRS) != 0,
                             .learned = description->parameter_count > 0 ? LOCUS_LEARN_ANGLES : LOCUS_LEARN_NOTHING};
    return locus_rotary_bind_given(rotary, memory, error);
}

locus_status locus_extension_place_turn(const locus_extension_bound *bound, const locus_places *places,
                                        locus_owned *memory, locus_placed *placed, locus_error *error) {
    const bool values = (bound->own->description.flags & LOCUS_EXTENSION_VALUES) != 0;
    extension_points points;
    locus_status status = find_points(places, memory, &points, error);
    if (status == LOCUS_OK && bound->rotary)
        status = place_turn(bound, places, &points, memory, &placed->query_key, error);
    else if (status == LOCUS_OK)
        status = place_matrices(bound, places, &points, memory, &placed->query_key_whole, error);
    if (status == LOCUS_OK && values) {
        placed->value = placed->query_key;
        placed->value_whole = placed->query_key_whole;
    }
    return status;
}

/* SPDX-License-Identifier: MIT */
/* A rotary as data: the tables that its walks read, which pair follows which axis, the basis. See docs/forms.md. */
#include "operators/rotary/rotary.h"
#include "spec/form_writer.h"

#define QUERY_KEY (1u << LOCUS_ROLE_QUERY | 1u << LOCUS_ROLE_KEY)

static unsigned acting_roles(locus_side side) {
    const unsigned values = 1u << LOCUS_ROLE_VALUE | 1u << LOCUS_ROLE_OUTPUT;
    return values | (side == LOCUS_SIDE_QUERY ? 1u << LOCUS_ROLE_QUERY
                     : side == LOCUS_SIDE_KEY ? 1u << LOCUS_ROLE_KEY
                                              : QUERY_KEY);
}

static const char *law_of(const locus_rotary *rotary) {
    static const char *const laws[] = {[LOCUS_ORTHOGONAL_SKEW] = "skew",
                                       [LOCUS_ORTHOGONAL_CAYLEY] = "cayley",
                                       [LOCUS_ORTHOGONAL_HOUSEHOLDER] = "householder"};
    return rotary->A ? laws[rotary->kind] : "";
}

/* ---- pairs ---- */

static void add_pairs(const locus_rotary *rotary, locus_form_writer *writer) {
    int64_t *pair = locus_form_take(writer, 2 * rotary->pairs, sizeof *pair);
    const size_t blocks = rotary->blocks > 1 ? rotary->blocks : 1, n = rotary->pairs / blocks;
    for (size_t i = 0; pair && i < rotary->pairs; i++) {
        const size_t x = rotary->half_pairs ? i / n * 2 * n + i % n : 2 * i;
        pair[2 * i] = (int64_t)x;
        pair[2 * i + 1] = (int64_t)(rotary->half_pairs ? x + n : x + 1);
    }
    locus_form_add(writer, "pair", LOCUS_FORM_INT64, pair, LOCUS_FORM_SHAPE((int64_t)rotary->pairs, 2));
}

static size_t place_of(const locus_rotary *rotary, size_t pair) {
    return rotary->places ? rotary->places[pair] : pair;
}

/* Which pairs the columns of an axis' tables are of, where these are not all pairs in their order. */
static void add_columns(const locus_rotary *rotary, size_t axis, locus_form_writer *writer) {
    const size_t first = rotary->parts ? rotary->parts[axis] : 0, count = rotary->fine[axis].rates.pairs;
    if (!rotary->parts && !rotary->places)
        return;
    int64_t *columns = locus_form_take(writer, count, sizeof *columns);
    for (size_t i = 0; columns && i < rotary->pairs; i++)
        if (place_of(rotary, i) - first < count)
            columns[place_of(rotary, i) - first] = (int64_t)i;
    locus_form_add(writer, locus_form_name(writer, "columns", axis), LOCUS_FORM_INT64, columns,
                   LOCUS_FORM_SHAPE((int64_t)count));
}

/* ---- angles ---- */

static void add_table(const locus_angle_table *table, size_t axis, const char *const names[2],
                      locus_form_writer *writer) {
    const int64_t tables = (int64_t)table->base->rates.tables, pairs = (int64_t)table->base->rates.pairs;
    locus_form_add(writer, locus_form_name(writer, names[0], axis), LOCUS_FORM_FLOAT64, table->coarse,
                   LOCUS_FORM_SHAPE(tables, (int64_t)table->coarse_count, pairs, 2));
    locus_form_add(writer, locus_form_name(writer, names[1], axis), LOCUS_FORM_FLOAT64, table->base->fine,
                   LOCUS_FORM_SHAPE(tables, LOCUS_FINE, pairs, 2));
}

static void add_indices(const locus_token_side *side, size_t axis, const char *const names[2],
                        locus_form_writer *writer) {
    locus_form_add(writer, locus_form_name(writer, names[0], axis), LOCUS_FORM_UINT32, side->coarse,
                   LOCUS_FORM_SHAPE((int64_t)side->tokens));
    locus_form_add(writer, locus_form_name(writer, names[1], axis), LOCUS_FORM_UINT32, side->fine,
                   LOCUS_FORM_SHAPE((int64_t)side->tokens));
}

/* Given angles follow from no position: placements number these. */
static void add_axis(const locus_rotary_operator *op, size_t axis, locus_form_writer *writer) {
    static const char *const tables[2] = {"coarse", "fine"}, *const key_tables[2] = {"coarse_of_keys", "fine_of_keys"};
    static const char *const query[2] = {"query_coarse", "query_fine"}, *const key[2] = {"key_coarse", "key_fine"};
    const locus_placement *placement = &op->placement[axis];
    add_table(&op->angles[axis], axis, tables, writer);
    if (op->key_angles)
        add_table(&op->key_angles[axis], axis, key_tables, writer);
    add_indices(&placement->query, axis, query, writer);
    add_indices(&placement->key, axis, key, writer);
    add_columns(op->rotary, axis, writer);
    if (!op->given)
        locus_form_positions(writer, axis, placement);
}

/* ---- what angles follow from ---- */

/* Each pair follows one axis, whose number is told where there are several. */
static void add_parts(const locus_rotary *rotary, locus_form_writer *writer) {
    double *theta = locus_form_take(writer, rotary->pairs, sizeof *theta);
    int64_t *follows = rotary->parts ? locus_form_take(writer, rotary->pairs, sizeof *follows) : NULL;
    if (writer->status != LOCUS_OK)
        return;
    for (size_t i = 0; i < rotary->pairs; i++) {
        const size_t place = place_of(rotary, i);
        size_t axis = 0;
        while (rotary->parts && rotary->parts[axis + 1] <= place)
            axis++;
        theta[i] = rotary->fine[axis].rates.theta[place - (rotary->parts ? rotary->parts[axis] : 0)];
        if (follows)
            follows[i] = (int64_t)axis;
    }
    locus_form_add(writer, "frequencies", LOCUS_FORM_FLOAT64, theta, LOCUS_FORM_SHAPE(1, 1, (int64_t)rotary->pairs));
    if (rotary->learned & LOCUS_LEARN_ANGLES)
        locus_form_learned(writer, rotary->angles_slice.tensor, rotary->angles_slice.first);
    locus_form_add(writer, "axis", LOCUS_FORM_INT64, follows, LOCUS_FORM_SHAPE((int64_t)rotary->pairs));
}

static void add_frequencies(const locus_rotary *rotary, locus_form_writer *writer) {
    const size_t tables = rotary->fine[0].rates.tables, axes = rotary->axes, pairs = rotary->pairs;
    double *theta = locus_form_take(writer, tables * axes * pairs, sizeof *theta);
    for (size_t i = 0; theta && i < tables * axes * pairs; i++)
        theta[i] = rotary->fine[i / pairs % axes].rates.theta[i / (axes * pairs) * pairs + i % pairs];
    locus_form_add(writer, "frequencies", LOCUS_FORM_FLOAT64, theta,
                   LOCUS_FORM_SHAPE((int64_t)tables, (int64_t)axes, (int64_t)pairs));
    if (rotary->learned & LOCUS_LEARN_ANGLES)
        locus_form_learned(writer, rotary->angles_slice.tensor, rotary->angles_slice.first);
}

static void add_rates(const locus_rotary *rotary, locus_form_writer *writer) {
    const locus_angle_rates *rates = &rotary->fine[0].rates;
    if (rates->period > 0) {
        locus_form_whole(writer, "period", rates->period);
        locus_form_add(writer, "multiples", LOCUS_FORM_INT64, rates->multiples,
                       LOCUS_FORM_SHAPE((int64_t)rates->pairs));
    } else if (rotary->parts || rotary->places) {
        add_parts(rotary, writer);
    } else {
        add_frequencies(rotary, writer);
    }
    locus_form_add(writer, "growth", LOCUS_FORM_FLOAT64, rotary->growth, LOCUS_FORM_SHAPE((int64_t)rotary->pairs));
    if (rotary->growth)
        locus_form_number(writer, "centre", rotary->centre);
}

/* ---- the basis ---- */

static void add_flips(const locus_rotary *rotary, locus_form_writer *writer) {
    int64_t *flip = rotary->flip ? locus_form_take(writer, rotary->tables, sizeof *flip) : NULL;
    for (size_t table = 0; flip && table < rotary->tables; table++)
        flip[table] = (int64_t)rotary->flip[table];
    locus_form_add(writer, "flip", LOCUS_FORM_INT64, flip, LOCUS_FORM_SHAPE((int64_t)rotary->tables));
}

static void add_basis(const locus_rotary *rotary, locus_form_writer *writer) {
    const int64_t tables = (int64_t)rotary->tables, dim = (int64_t)rotary->dim;
    const unsigned learned = rotary->learned & (LOCUS_LEARN_GENERATOR | LOCUS_LEARN_BASIS);
    locus_form_add(writer, "basis", LOCUS_FORM_FLOAT64, rotary->basis_float64, LOCUS_FORM_SHAPE(tables, dim, dim));
    add_flips(rotary, writer);
    if (!rotary->A)
        return;
    locus_form_add(writer, rotary->sigma ? "generator" : "free_basis", LOCUS_FORM_FLOAT64, rotary->A,
                   LOCUS_FORM_SHAPE(tables, 1, dim, dim));
    if (learned)
        locus_form_learned(writer, rotary->matrix_slice.tensor, rotary->matrix_slice.first);
}

void locus_rotary_form(const locus_operator *base, locus_form_writer *writer) {
    const locus_rotary_operator *op = (const locus_rotary_operator *)base;
    const locus_rotary *rotary = op->rotary;
    locus_form_begin(writer, LOCUS_FORM_TURN, rotary->dim, op->given ? "given" : law_of(rotary));
    locus_form_limit(writer, acting_roles(rotary->side));
    locus_form_whole(writer, "axes", (int64_t)rotary->axes);
    locus_form_number(writer, "factor", rotary->factor > 0 ? rotary->factor : 1);
    add_pairs(rotary, writer);
    for (size_t axis = 0; axis < rotary->axes; axis++)
        add_axis(op, axis, writer);
    if (!op->given)
        add_rates(rotary, writer);
    add_basis(rotary, writer);
}

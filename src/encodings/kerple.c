/* SPDX-License-Identifier: MIT */
/* kerple: a learned logarithmic bias, the kernel that was published as the best (Chi et al. 2022, equation 5, "log");
 * the distance is the group's.
 *
 *   s_mn −= a_h · ln(1 + b_h · distance),   a_h, b_h > 0
 *
 * Parameters `a`, `b` [heads], drawn as the published code does: a from U(0, 2), b from U(0, 1), both at least 0.01.
 * They are the numbers themselves, not exponents of others: a binding refuses those that training pushed to 0 or below
 * (LOCUS_CONSTRAINT_POSITIVE).
 *
 *   da_h = −Σ g ln(1 + b_h d) = Σ g·bias / a_h,   db_h = −a_h Σ g d/(1 + b_h d)
 *
 * A gradient slot holds the two sums. */
#include "scores/distance_table.h"
#include "spec/form_writer.h"

#include <math.h>

enum { GROUP };

typedef struct locus_kerple {
    size_t heads;
    const double *a, *b; /* [heads] */
} locus_kerple;

typedef struct locus_kerple_term {
    locus_score_term base;
    const locus_kerple *kerple;
    locus_distance_table table;
    const double *turns; /* [heads, cells] d/(1 + b d) */
} locus_kerple_term;

static void fill(const void *own, size_t head, size_t count, const double *distance, double *values) {
    const locus_kerple *kerple = own;
    for (size_t i = 0; i < count; i++)
        values[i] = -kerple->a[head] * log1p(kerple->b[head] * distance[i]);
}

static void fill_turns(const void *own, size_t head, size_t count, const double *distance, double *values) {
    const double b = ((const locus_kerple *)own)->b[head];
    for (size_t i = 0; i < count; i++)
        values[i] = distance[i] / (1 + b * distance[i]);
}

/* ---- parameters ---- */

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)term, (void)error;
    list[(*count)++] = (locus_parameter){
        .name = "a", .rank = 1, .shape = {(int64_t)shape->heads}, .constraint = LOCUS_CONSTRAINT_POSITIVE};
    list[(*count)++] = (locus_parameter){
        .name = "b", .rank = 1, .shape = {(int64_t)shape->heads}, .constraint = LOCUS_CONSTRAINT_POSITIVE};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)term, (void)error;
    const size_t heads = draw->shape->heads;
    for (size_t h = 0; h < heads; h++) {
        draw->values[0][h] = fmax(0.01, 2 * locus_random_uniform(&draw->random, h));
        draw->values[1][h] = fmax(0.01, locus_random_uniform(&draw->random, heads + h));
    }
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    (void)term, (void)memory, (void)error;
    *(locus_kerple *)bound = (locus_kerple){shape->heads, values[0], values[1]};
    return LOCUS_OK;
}

/* ---- the term ---- */

/* sums[0] += Σ g·bias, sums[1] += Σ g·d/(1 + b d). */
static void row_backward(const locus_score_term *term, const locus_score_call *call, const void *gradient, void *slot) {
    const locus_kerple_term *own = (const locus_kerple_term *)term;
    const locus_score_rows *rows = &own->table.rows;
    double bias[LOCUS_SCORE_RUN], distance[LOCUS_SCORE_RUN], turns[LOCUS_SCORE_RUN], *sums = slot;
    locus_score_call wide = *call;
    wide.dtype = LOCUS_FLOAT64;
    for (locus_score_call piece = locus_score_before(&wide); locus_score_next(&wide, &piece);) {
        const size_t at = locus_score_rows_at(rows, &piece), done = piece.key_first - call->key_first;
        const double *turn = turns, *values = locus_distance_table_row(&own->table, &piece, bias);
        if (at != SIZE_MAX) {
            turn = own->turns + call->head * rows->cells + at;
        } else {
            locus_score_rows_distance(rows, &piece, distance);
            fill_turns(own->kerple, call->head, piece.count, distance, turns);
        }
        sums[0] += locus_score_dot(call->dtype, gradient, done, piece.count, values);
        sums[1] += locus_score_dot(call->dtype, gradient, done, piece.count, turn);
    }
}

static size_t slot_bytes(const locus_score_term *term) {
    (void)term;
    return 2 * sizeof(double);
}

static void reduce(const locus_score_term *term, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                   const locus_tensor *tensors) {
    const locus_kerple *kerple = ((const locus_kerple_term *)term)->kerple;
    const double *sums = locus_slots_fold(slots, slot_count, slot_stride, 2);
    if (!sums)
        return;
    locus_tensor_add(&tensors[0], head, sums[0] / kerple->a[head]);
    locus_tensor_add(&tensors[1], head, -kerple->a[head] * sums[1]);
}

static void form(const locus_score_term *term, locus_form_writer *writer) {
    const locus_kerple_term *own = (const locus_kerple_term *)term;
    const int64_t heads = (int64_t)own->kerple->heads;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "logarithm");
    (void)locus_distance_table_form(&own->table, writer);
    locus_form_add(writer, "a", LOCUS_FORM_FLOAT64, own->kerple->a, LOCUS_FORM_SHAPE(heads));
    locus_form_learned(writer, 0, 0);
    locus_form_add(writer, "b", LOCUS_FORM_FLOAT64, own->kerple->b, LOCUS_FORM_SHAPE(heads));
    locus_form_learned(writer, 1, 0);
}

static const locus_score_class score_class = {
    .row_backward = row_backward, .slot_bytes = slot_bytes, .reduce = reduce, .form = form};

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_kerple *kerple = bound;
    locus_kerple_term *own = placed->own;
    *own = (locus_kerple_term){
        .base = {&score_class, LOCUS_SCORE_BIAS, &own->table, NULL},
        .kerple = kerple,
        .table = {.fill = fill, .own = kerple, .heads = kerple->heads, .more = kerple->heads, .term = &own->base}};
    placed->score = &own->base;
    locus_status status = locus_distance_table_create(&own->table, places, memory, error);
    if (status == LOCUS_OK)
        own->turns = locus_distance_table_beside(&own->table, fill_turns, memory, error);
    return status == LOCUS_OK && !own->turns ? LOCUS_ERROR_MEMORY : status;
}

static const locus_option_info options[] = {
    {"group", "group", "seq", "whose distance the bias follows", LOCUS_OPTION_GROUP, 0, 0, false},
};

const locus_encoding_class locus_kerple_class = {
    .info = {.name = "kerple",
             .summary = "a bias on scores that falls with the logarithm of the distance, as steep as each head learns",
             .sites = LOCUS_SITE_SCORE,
             .learned = "a, b",
             .source = "Chi et al. 2022, KERPLE: kernelized relative positional embedding",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS,
    .bound_bytes = sizeof(locus_kerple),
    .placed_bytes = sizeof(locus_kerple_term),
    .reals = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};

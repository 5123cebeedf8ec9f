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
#include "scores/bias_table.h"
#include "spec/form_writer.h"

#include "core/error.h"

#include <math.h>

enum { GROUP };

typedef struct locus_kerple {
    size_t heads;
    const double *a, *b; /* [heads] */
} locus_kerple;

typedef struct locus_kerple_term {
    locus_score_term base;
    const locus_kerple *kerple;
    locus_bias_table table;
    const double *turns; /* [heads, cells] d/(1 + b d) */
} locus_kerple_term;

static double value(const void *own, size_t head, double distance) {
    const locus_kerple *kerple = own;
    return -kerple->a[head] * log1p(kerple->b[head] * distance);
}

static double turn_of(const locus_kerple *kerple, size_t head, double distance) {
    return distance / (1 + kerple->b[head] * distance);
}

/* ---- parameters ---- */

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)term;
    if (shape->heads == 0)
        return locus_shape_need_heads(shape, "kerple", error);
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

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values,
                         locus_owned *memory, void **bound, locus_error *error) {
    (void)term;
    locus_kerple *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error, 1, sizeof *own);
    *own = (locus_kerple){shape->heads, values[0], values[1]};
    *bound = own;
    return LOCUS_OK;
}

/* ---- the term ---- */

static const void *row(const locus_score_term *term, const locus_score_call *call, void *scratch) {
    return locus_bias_table_row(&((const locus_kerple_term *)term)->table, call, scratch);
}

/* At most LOCUS_SCORE_RUN keys: sums[0] = Σ g·bias, sums[1] = Σ g·d/(1 + b d). */
static void sum_piece(const locus_kerple_term *own, const locus_score_call *call, size_t done, const void *gradient,
                      double *sums) {
    double bias[LOCUS_SCORE_RUN], turns[LOCUS_SCORE_RUN];
    const locus_score_rows *rows = &own->table.rows;
    const double *turn = turns;
    locus_score_call wide = *call;
    wide.dtype = LOCUS_FLOAT64;
    const double *values = locus_bias_table_row(&own->table, &wide, bias);
    const size_t at = locus_score_rows_at(rows, call);
    if (at != SIZE_MAX) {
        turn = own->turns + call->head * rows->cells + at;
    } else {
        locus_score_rows_distance(rows, call, turns);
        for (size_t j = 0; j < call->count; j++)
            turns[j] = turn_of(own->kerple, call->head, turns[j]);
    }
    sums[0] += locus_score_dot(call->dtype, gradient, done, call->count, values);
    sums[1] += locus_score_dot(call->dtype, gradient, done, call->count, turn);
}

static void row_backward(const locus_score_term *term, const locus_score_call *call, const void *gradient, void *slot) {
    const locus_kerple_term *own = (const locus_kerple_term *)term;
    locus_score_call piece = *call;
    for (size_t done = 0; done < call->count; done += piece.count) {
        const size_t left = call->count - done;
        piece.key_first = call->key_first + done;
        piece.count = left < LOCUS_SCORE_RUN ? left : LOCUS_SCORE_RUN;
        sum_piece(own, &piece, done, gradient, slot);
    }
}

static size_t slot_bytes(const locus_score_term *term) {
    (void)term;
    return LOCUS_ALIGNMENT;
}

static void reduce(const locus_score_term *term, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                   const locus_tensor *tensors) {
    const locus_kerple *kerple = ((const locus_kerple_term *)term)->kerple;
    double sums[2] = {0, 0};
    for (size_t s = 0; s < slot_count; s++)
        for (size_t i = 0; i < 2; i++)
            sums[i] += ((const double *)(const void *)((const char *)slots + s * slot_stride))[i];
    locus_tensor_add(&tensors[0], head, sums[0] / kerple->a[head]);
    locus_tensor_add(&tensors[1], head, -kerple->a[head] * sums[1]);
}

static void form(const locus_score_term *term, locus_form_writer *writer) {
    const locus_kerple_term *own = (const locus_kerple_term *)term;
    const int64_t heads = (int64_t)own->kerple->heads;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "logarithm");
    (void)locus_bias_table_form(&own->table, writer);
    locus_form_add(writer, "a", LOCUS_FORM_FLOAT64, own->kerple->a, LOCUS_FORM_SHAPE(heads));
    locus_form_learned(writer, 0, 0);
    locus_form_add(writer, "b", LOCUS_FORM_FLOAT64, own->kerple->b, LOCUS_FORM_SHAPE(heads));
    locus_form_learned(writer, 1, 0);
}

static const locus_score_class score_class = {
    .row = row, .row_backward = row_backward, .slot_bytes = slot_bytes, .reduce = reduce, .form = form};

static locus_status place(const void *bound, const locus_places *places, size_t first_parameter, locus_owned *memory,
                          locus_placed *placed, locus_error *error) {
    (void)first_parameter;
    const locus_kerple *kerple = bound;
    locus_kerple_term *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error, 1, sizeof *own);
    own->base = (locus_score_term){&score_class, LOCUS_SCORE_BIAS};
    own->kerple = kerple;
    own->table = (locus_bias_table){.value = value, .own = kerple, .heads = kerple->heads, .more = kerple->heads};
    locus_status status = locus_bias_table_create(&own->table, places, memory, error);
    if (status != LOCUS_OK)
        return status;
    const size_t cells = own->table.rows.cells;
    double *turns = locus_owned_get(memory, kerple->heads * cells, sizeof *turns);
    if (!turns)
        return locus_owned_fail(error, kerple->heads * cells, sizeof *turns);
    for (size_t h = 0; h < kerple->heads; h++)
        for (size_t i = 0; i < cells; i++)
            turns[h * cells + i] = turn_of(kerple, h, own->table.rows.distance[i]);
    own->turns = turns;
    placed->score = &own->base;
    return LOCUS_OK;
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
             .options = options,
             .option_count = sizeof options / sizeof options[0]},
    .reals = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};

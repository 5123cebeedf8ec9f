/* SPDX-License-Identifier: MIT */
/* See decay_factor.h. The slot sums gradient · distance · rate^distance; reduce divides by the rate once. Powers are
 * listed by distance at most to where they stay 0, 1 or ∞ for good. */
#include "scores/decay_factor.h"

#include "core/error.h"
#include "scores/distance_table.h"
#include "spec/form_writer.h"

#include <math.h>

typedef struct locus_decay_term {
    locus_score_term base;
    double rate;
    bool learned;
    size_t parameter;
    locus_distance_table powers;
    const double *moments; /* [cells] distance · factor, 0 where that is infinite; of a learned rate */
} locus_decay_term;

static void fill_powers(const void *own, size_t head, size_t count, const double *distance, double *values) {
    const double rate = ((const locus_decay_term *)own)->rate;
    (void)head;
    for (size_t i = 0; i < count; i++)
        values[i] = pow(rate, distance[i]);
}

/* From which distance on powers no longer change. */
static double settled_at(double rate) {
    const double below = 746.0, above = 710.0; /* e^−746 is 0, e^710 is ∞ */
    return rate == 1 ? 1 : rate < 1 ? ceil(below / -log(rate)) : ceil(above / log(rate));
}

/* ---- rows ---- */

/* One piece of at most LOCUS_SCORE_RUN keys: Σ gradient · distance · factor, added up from the left. */
static double sum_backward(const locus_decay_term *own, const locus_score_call *call, const void *gradient,
                           double sum) {
    double distance[LOCUS_SCORE_RUN], room[LOCUS_SCORE_RUN];
    locus_score_call wide = *call;
    wide.dtype = LOCUS_FLOAT64;
    const double *factor = locus_distance_table_row(&own->powers, &wide, room);
    locus_score_rows_distance(&own->powers.rows, call, distance);
    for (size_t j = 0; j < call->count; j++) {
        const double g = locus_score_gradient(call->dtype, gradient, j);
        if (g != 0) /* a masked key's factor may be infinite where a learned rate is above 1 */
            sum += g * distance[j] * factor[j];
    }
    return sum;
}

static void row_backward(const locus_score_term *term, const locus_score_call *call, const void *gradient, void *slot) {
    const locus_decay_term *own = (const locus_decay_term *)term;
    const size_t at = locus_score_rows_at(&own->powers.rows, call);
    const char *from = gradient;
    double sum = 0;
    if (at != SIZE_MAX) {
        *(double *)slot += locus_score_dot(call->dtype, gradient, 0, call->count, own->moments + at);
        return;
    }
    for (locus_score_call piece = locus_score_before(call); locus_score_next(call, &piece);) {
        sum = sum_backward(own, &piece, from, sum);
        from += piece.count * locus_dtype_size(call->dtype);
    }
    *(double *)slot += sum;
}

static size_t slot_bytes(const locus_score_term *term) {
    return ((const locus_decay_term *)term)->learned ? sizeof(double) : 0;
}

static void reduce(const locus_score_term *term, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                   const locus_tensor *tensors) {
    const locus_decay_term *own = (const locus_decay_term *)term;
    const double *sum = locus_slots_fold(slots, slot_count, slot_stride, 1);
    (void)head;
    if (sum)
        locus_tensor_add(&tensors[own->parameter], 0, *sum / own->rate);
}

static void form(const locus_score_term *term, locus_form_writer *writer) {
    const locus_decay_term *own = (const locus_decay_term *)term;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "power");
    locus_form_multiplies(writer);
    (void)locus_distance_table_form(&own->powers, writer);
    locus_form_add(writer, "rate", LOCUS_FORM_FLOAT64, &own->rate, LOCUS_FORM_SHAPE(1));
    if (own->learned)
        locus_form_learned(writer, own->parameter, 0);
}

static const locus_score_class score_class = {
    .row_backward = row_backward, .slot_bytes = slot_bytes, .reduce = reduce, .form = form, .heads_alike = true};

/* ---- placing ---- */

static locus_status make_moments(locus_decay_term *own, locus_owned *memory, locus_error *error) {
    const locus_score_rows *rows = &own->powers.rows;
    double *moments = locus_owned_get(memory, rows->cells, sizeof *moments);
    if (!moments)
        return locus_owned_fail(error);
    for (size_t i = 0; i < rows->cells; i++) {
        const double moment = rows->distance[i] * own->powers.wide[i];
        moments[i] = isfinite(moment) ? moment : 0; /* as above */
    }
    own->moments = moments;
    return LOCUS_OK;
}

locus_status locus_decay_place(const locus_decay *decay, const locus_places *places, locus_owned *memory,
                               locus_placed *placed, locus_error *error) {
    if (!decay->acts)
        return LOCUS_OK;
    locus_decay_term *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error);
    *own = (locus_decay_term){.base = {&score_class, LOCUS_SCORE_FACTOR, &own->powers, NULL},
                              .rate = decay->rate,
                              .learned = decay->learned,
                              .parameter = decay->parameter,
                              .powers = {.fill = fill_powers,
                                         .own = own,
                                         .heads = 1,
                                         .settled = settled_at(decay->rate),
                                         .more = decay->learned,
                                         .term = &own->base}};
    placed->score = &own->base;
    const locus_status status = locus_distance_table_create(&own->powers, places, memory, error);
    return status == LOCUS_OK && decay->learned ? make_moments(own, memory, error) : status;
}

/* ---- the rate ---- */

locus_decay locus_decay_of(const locus_option_value *value) {
    return (locus_decay){.acts = value->choice != 0, .learned = value->choice == 2, .rate = value->number};
}

void locus_decay_parameter(const locus_decay *decay, locus_parameter *list, size_t *count) {
    if (decay->learned)
        list[(*count)++] =
            (locus_parameter){.name = "rate", .rank = 1, .shape = {1}, .constraint = LOCUS_CONSTRAINT_POSITIVE};
}

void locus_decay_initialise(const locus_decay *decay, size_t parameter, double *const *values) {
    if (decay->learned)
        values[parameter][0] = decay->rate;
}

void locus_decay_bind(locus_decay *decay, size_t parameter, const double *const *values) {
    decay->parameter = parameter;
    if (decay->learned)
        decay->rate = values[parameter][0];
}

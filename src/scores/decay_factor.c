/* SPDX-License-Identifier: MIT */
/* See decay_factor.h. The slot sums gradient · distance · rate^distance; reduce divides by the rate once.
 *
 * Powers are listed by distance up to the longest one, or to where they stay 0, 1 or ∞ for good; only where that list
 * would be longer than a few numbers for a token is pow called for each pair. All ways give the same bits. */
#include "scores/decay_factor.h"

#include "core/error.h"
#include "scores/score_row.h"
#include "spec/form_writer.h"

#include <math.h>

#define NUMBERS 2 /* of a distance: a double and a float */

/* rate^0, rate^1, …; what is longer has the last one. */
typedef struct power_list {
    size_t count; /* 0: none */
    const float *narrow;
    const double *wide;
} power_list;

typedef struct locus_decay_term {
    locus_score_term base;
    double rate;
    bool learned;
    size_t parameter;
    locus_score_rows rows;
    const float *narrow; /* [rows.cells] */
    const double *wide;
    const double *moments; /* [rows.cells] distance · factor, 0 where that is infinite; of a learned rate */
    power_list powers;     /* without cells */
} locus_decay_term;

/* ---- powers ---- */

static double power_of(const power_list *powers, double rate, double distance) {
    if (powers->count == 0)
        return pow(rate, distance);
    const double last = (double)(powers->count - 1);
    return powers->wide[(size_t)(distance < last ? distance : last)];
}

/* From which distance on powers no longer change. */
static double settled_at(double rate) {
    const double below = 746.0, above = 710.0; /* e^−746 is 0, e^710 is ∞ */
    return rate == 1 ? 0 : rate < 1 ? ceil(below / -log(rate)) : ceil(above / log(rate));
}

static locus_status list_powers(power_list *powers, double rate, double last, locus_owned *memory, locus_error *error) {
    const size_t count = (size_t)last + 1;
    float *narrow = locus_owned_get(memory, count, sizeof *narrow);
    double *wide = locus_owned_get(memory, count, sizeof *wide);
    if (!narrow || !wide)
        return locus_owned_fail(error, count, sizeof *wide);
    for (size_t i = 0; i < count; i++) {
        wide[i] = pow(rate, (double)i);
        narrow[i] = (float)wide[i];
    }
    *powers = (power_list){count, narrow, wide};
    return LOCUS_OK;
}

/* Lists nothing where the list would be too long, or distances are no whole numbers. */
static locus_status make_powers(power_list *powers, double rate, const locus_score_rows *rows,
                                const locus_places *places, locus_owned *memory, locus_error *error) {
    const double settled = settled_at(rate), last = settled < rows->most ? settled : rows->most;
    *powers = (power_list){0};
    if (!rows->whole || last >= locus_score_list_most(places, NUMBERS))
        return LOCUS_OK;
    return list_powers(powers, rate, last, memory, error);
}

/* ---- rows ---- */

static void look_up(const locus_decay_term *own, const locus_score_call *call, void *out) {
    int32_t steps[LOCUS_SCORE_RUN];
    const float *narrow = own->powers.narrow;
    const double *wide = own->powers.wide;
    const int32_t last = own->powers.count <= INT32_MAX ? (int32_t)(own->powers.count - 1) : INT32_MAX;
    locus_distances_steps(own->rows.distances, call, steps);
    for (size_t j = 0; j < call->count; j++)
        steps[j] = steps[j] < last ? steps[j] : last;
    if (call->dtype == LOCUS_FLOAT32)
        for (size_t j = 0; j < call->count; j++)
            ((float *)out)[j] = narrow[steps[j]];
    else
        for (size_t j = 0; j < call->count; j++)
            ((double *)out)[j] = wide[steps[j]];
}

static void compute(const locus_decay_term *own, const locus_score_call *call, void *out) {
    double distance[LOCUS_SCORE_RUN];
    locus_distances_row(own->rows.distances, call, distance);
    for (size_t j = 0; j < call->count; j++) {
        double factor = power_of(&own->powers, own->rate, distance[j]);
        if (call->dtype == LOCUS_FLOAT32)
            ((float *)out)[j] = (float)factor;
        else
            ((double *)out)[j] = factor;
    }
}

static const void *row(const locus_score_term *term, const locus_score_call *call, void *scratch) {
    const locus_decay_term *own = (const locus_decay_term *)term;
    const bool single = call->dtype == LOCUS_FLOAT32;
    const size_t at = locus_score_rows_at(&own->rows, call);
    if (at != SIZE_MAX)
        return single ? (const void *)(own->narrow + at) : own->wide + at;
    if (own->rows.cells > 0 && single)
        locus_score_rows_copy_float32(&own->rows, call, own->narrow, scratch);
    else if (own->rows.cells > 0)
        locus_score_rows_copy_float64(&own->rows, call, own->wide, scratch);
    else {
        const bool listed = own->powers.count > 0 && locus_distances_fit(own->rows.distances);
        locus_score_call piece = *call;
        char *out = scratch;
        for (size_t left = call->count; left > 0; left -= piece.count) {
            piece.count = left < LOCUS_SCORE_RUN ? left : LOCUS_SCORE_RUN;
            (listed ? look_up : compute)(own, &piece, out);
            out += piece.count * locus_dtype_size(call->dtype);
            piece.key_first += piece.count;
        }
    }
    return scratch;
}

/* One piece of at most LOCUS_SCORE_RUN keys: Σ gradient · distance · factor, added up from the left. */
static double sum_backward(const locus_decay_term *own, const locus_score_call *call, const void *gradient,
                           double sum) {
    double distance[LOCUS_SCORE_RUN];
    double factor[LOCUS_SCORE_RUN];
    locus_score_rows_distance(&own->rows, call, distance);
    if (own->rows.cells > 0)
        locus_score_rows_copy_float64(&own->rows, call, own->wide, factor);
    else
        for (size_t j = 0; j < call->count; j++)
            factor[j] = power_of(&own->powers, own->rate, distance[j]);
    for (size_t j = 0; j < call->count; j++) {
        double g = call->dtype == LOCUS_FLOAT32 ? (double)((const float *)gradient)[j] : ((const double *)gradient)[j];
        if (g != 0) /* a masked key's factor may be infinite where a learned rate is above 1 */
            sum += g * distance[j] * factor[j];
    }
    return sum;
}

static void row_backward(const locus_score_term *term, const locus_score_call *call, const void *gradient, void *slot) {
    const locus_decay_term *own = (const locus_decay_term *)term;
    const size_t at = locus_score_rows_at(&own->rows, call);
    const char *from = gradient;
    locus_score_call piece = *call;
    double sum = 0;
    if (at != SIZE_MAX) {
        *(double *)slot += locus_score_dot(call->dtype, gradient, 0, call->count, own->moments + at);
        return;
    }
    for (size_t left = call->count; left > 0; left -= piece.count) {
        piece.count = left < LOCUS_SCORE_RUN ? left : LOCUS_SCORE_RUN;
        sum = sum_backward(own, &piece, from, sum);
        from += piece.count * locus_dtype_size(call->dtype);
        piece.key_first += piece.count;
    }
    *(double *)slot += sum;
}

static size_t slot_bytes(const locus_score_term *term) {
    return ((const locus_decay_term *)term)->learned ? LOCUS_ALIGNMENT : 0;
}

static void reduce(const locus_score_term *term, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                   const locus_tensor *tensors) {
    const locus_decay_term *own = (const locus_decay_term *)term;
    double sum = 0;
    (void)head;
    for (size_t s = 0; s < slot_count; s++)
        sum += *(const double *)(const void *)((const char *)slots + s * slot_stride);
    locus_tensor_add(&tensors[own->parameter], 0, sum / own->rate);
}

static void form(const locus_score_term *term, locus_form_writer *writer) {
    const locus_decay_term *own = (const locus_decay_term *)term;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "power");
    locus_form_multiplies(writer);
    const locus_score_form form = locus_score_rows_form(&own->rows, writer);
    const double *values = own->wide;
    if (form.made) {
        double *made = locus_form_take(writer, form.cells, sizeof *made);
        for (size_t i = 0; made && i < form.cells; i++)
            made[i] = power_of(&own->powers, own->rate, form.distance[i]);
        values = made;
    }
    locus_form_add(writer, "values", LOCUS_FORM_FLOAT64, values, LOCUS_FORM_SHAPE(1, (int64_t)form.cells));
    locus_form_add(writer, "rate", LOCUS_FORM_FLOAT64, &own->rate, LOCUS_FORM_SHAPE(1));
    if (own->learned)
        locus_form_learned(writer, own->parameter, 0);
}

static const locus_score_class score_class = {
    .row = row, .row_backward = row_backward, .slot_bytes = slot_bytes, .reduce = reduce, .form = form};

/* ---- placing ---- */

static locus_status fill_cells(locus_decay_term *own, const locus_places *places, locus_owned *memory,
                               locus_error *error) {
    const size_t cells = own->rows.cells;
    float *narrow = locus_owned_get(memory, cells, sizeof *narrow);
    double *wide = locus_owned_get(memory, cells, sizeof *wide);
    double *moments = locus_owned_get(memory, own->learned ? cells : 0, sizeof *moments);
    if (!narrow || !wide || !moments)
        return locus_owned_fail(error, cells, sizeof *wide);
    locus_owned passing = {0};
    power_list powers;
    locus_status status = make_powers(&powers, own->rate, &own->rows, places, &passing, error);
    for (size_t i = 0; status == LOCUS_OK && i < cells; i++) {
        wide[i] = power_of(&powers, own->rate, own->rows.distance[i]);
        narrow[i] = (float)wide[i];
        const double moment = own->rows.distance[i] * wide[i];
        if (own->learned) /* a masked key's factor may be infinite where the rate is above 1 */
            moments[i] = isfinite(moment) ? moment : 0;
    }
    locus_owned_release(&passing);
    own->narrow = narrow;
    own->wide = wide;
    own->moments = moments;
    return status;
}

locus_status locus_decay_place(const locus_decay *decay, const locus_places *places, locus_owned *memory,
                               locus_placed *placed, locus_error *error) {
    const size_t tables = NUMBERS + (decay->learned ? 1 : 0); /* distances are counted by their maker */
    if (!decay->acts)
        return LOCUS_OK;
    locus_decay_term *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error, 1, sizeof *own);
    *own = (locus_decay_term){.base = {&score_class, LOCUS_SCORE_FACTOR},
                              .rate = decay->rate,
                              .learned = decay->learned,
                              .parameter = decay->parameter};
    locus_status status = locus_score_rows_create(&own->rows, places, tables, false, memory, error);
    if (status == LOCUS_OK && own->rows.cells > 0)
        status = fill_cells(own, places, memory, error);
    else if (status == LOCUS_OK)
        status = make_powers(&own->powers, own->rate, &own->rows, places, memory, error);
    placed->score = &own->base;
    return status;
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

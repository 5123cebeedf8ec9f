/* SPDX-License-Identifier: MIT */
/* decay: a score is multiplied by rate^|m − n| before the softmax (Kogkalidis et al. 2024). learned=on: parameter
 * `rate` [1].
 *
 *   ds/drate = s · |m − n| · rate^(|m − n| − 1)
 *
 * The slot sums gradient · |m − n| · rate^|m − n|; reduce divides by the rate once. */
#include "encoding/score_row.h"

#include "core/error.h"

#include <math.h>

enum { RATE, LEARNED, GROUP };

typedef struct locus_decay {
    double rate;
    bool learned;
} locus_decay;

typedef struct locus_decay_term {
    locus_score_term base;
    const locus_placement *placement;
    double rate;
    bool learned;
    locus_score_range range;
    const float *row_float32; /* [range.count] */
    const double *row_float64;
} locus_decay_term;

static double factor_at(const locus_decay_term *own, const locus_score_call *call, size_t index) {
    return pow(own->rate, locus_score_distance(own->placement, call, index));
}

static const void *row(const locus_score_term *term, const locus_score_call *call, void *scratch) {
    const locus_decay_term *own = (const locus_decay_term *)term;
    size_t at = locus_score_row_at(own->placement, own->range, call);
    if (at != SIZE_MAX)
        return call->dtype == LOCUS_FLOAT32 ? (const void *)(own->row_float32 + at) : own->row_float64 + at;
    for (size_t j = 0; j < call->count; j++)
        if (call->dtype == LOCUS_FLOAT32)
            ((float *)scratch)[j] = (float)factor_at(own, call, j);
        else
            ((double *)scratch)[j] = factor_at(own, call, j);
    return scratch;
}

static void row_backward(const locus_score_term *term, const locus_score_call *call, const void *gradient, void *slot) {
    const locus_decay_term *own = (const locus_decay_term *)term;
    size_t at = locus_score_row_at(own->placement, own->range, call);
    double sum = 0;
    for (size_t j = 0; j < call->count; j++) {
        double factor = at != SIZE_MAX ? own->row_float64[at + j] : factor_at(own, call, j);
        double g = call->dtype == LOCUS_FLOAT32 ? (double)((const float *)gradient)[j] : ((const double *)gradient)[j];
        if (g != 0) /* a masked key's factor may be infinite where a learned rate is above 1 */
            sum += g * locus_score_distance(own->placement, call, j) * factor;
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
    locus_tensor_add(&tensors[0], 0, sum / own->rate);
}

static const locus_score_class score_class = {
    .row = row, .row_backward = row_backward, .slot_bytes = slot_bytes, .reduce = reduce};

locus_status locus_decay_place(double rate, bool learned, const locus_placement *placement, locus_owned *memory,
                               const locus_score_term **placed, locus_error *error) {
    const locus_score_range range = locus_score_range_of(placement);
    locus_decay_term *own = locus_owned_get(memory, 1, sizeof *own);
    float *narrow = locus_owned_get(memory, range.count, sizeof *narrow);
    double *wide = locus_owned_get(memory, range.count, sizeof *wide);
    if (!own || !narrow || !wide)
        return locus_owned_fail(error, range.count, sizeof *wide);
    for (size_t i = 0; i < range.count; i++) {
        wide[i] = pow(rate, fabs((double)(range.first + (int64_t)i)));
        narrow[i] = (float)wide[i];
    }
    *own = (locus_decay_term){{&score_class, LOCUS_SCORE_FACTOR}, placement, rate, learned, range, narrow, wide};
    *placed = &own->base;
    return LOCUS_OK;
}

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    if (shape->heads == 0)
        return locus_shape_need_heads(shape, "decay", error);
    if (term->options[LEARNED].choice == 1)
        list[(*count)++] = (locus_parameter){"rate", 1, {1}};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)error;
    draw->values[0][0] = term->options[RATE].number;
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values,
                         locus_owned *memory, void **bound, locus_error *error) {
    (void)shape;
    locus_decay *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error, 1, sizeof *own);
    own->learned = term->options[LEARNED].choice == 1;
    own->rate = own->learned ? values[0][0] : term->options[RATE].number;
    *bound = own;
    if (own->rate > 0)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_NUMERIC, "rate", "the rate of 'decay' is %g: it must be above 0", own->rate);
}

static locus_status place(const void *bound, const locus_placement *placement, size_t first_parameter,
                          locus_owned *memory, locus_placed *placed, locus_error *error) {
    (void)first_parameter;
    const locus_decay *own = bound;
    return locus_decay_place(own->rate, own->learned, placement, memory, &placed->score, error);
}

static const locus_option_info options[] = {
    {"rate", "number with 0 < rate ≤ 1", "0.98", "the factor for one step of distance"},
    {"learned", "off|on", "off", "the rate is a parameter"},
    {"group", "group equal to seq", "seq", "whose distance the decay follows"},
};
static const locus_option_rule rules[] = {
    {LOCUS_OPTION_NUMBER, 0, 1, true, NULL},
    {LOCUS_OPTION_CHOICE, 0, 0, false, NULL},
    {LOCUS_OPTION_GROUP, 0, 0, false, NULL},
};

const locus_encoding_class locus_decay_class = {
    .info = {.name = "decay",
             .summary = "multiplies scores by rate^distance",
             .sites = LOCUS_SITE_SCORE,
             .learned = "rate (learned=on)",
             .source = "Kogkalidis et al. 2024, Algebraic positional encodings",
             .options = options,
             .option_count = sizeof options / sizeof options[0]},
    .rules = rules,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};

/* SPDX-License-Identifier: MIT */
/* t5: a learned bias for each bucket of relative positions and head (Raffel et al. 2020, section 2.1; the buckets are
 * those of the published code).
 *
 *   s_mn += bias[bucket(n − m)][h]
 *   direction=both     N = buckets/2, u = |n − m|, N is added to the bucket where n > m
 *   direction=causal   N = buckets, u = max(m − n, 0)
 *   e = ⌊N/2⌋: bucket u for u < e, else min(N − 1, e + ⌊ln(u/e)/ln(max/e)·(N − e)⌋)
 *
 * The published code takes that logarithm in float32, and so does this file, step for step: where the ratio is a whole
 * number (u = 16, 32, 64 of the defaults) a rounding decides on which side the bucket's edge lies.
 *
 * On groups other than `seq` a step has no direction: all buckets are for distances, u = distance, N = buckets. Real
 * positions: n − m, and distances, are cut to whole numbers.
 *
 * Scores of T5 are not divided by sqrt(head_dim): say `t5 + scores(scale=1)`.
 *
 * Parameter `bias` [buckets, heads], drawn as the published code does from N(0, 1/D), D the model dimension, or heads ·
 * head_dim where the shape has none. A gradient slot holds the sums of a head's buckets. */
#include "scores/distance_table.h"
#include "spec/form_writer.h"

#include <math.h>

enum { BUCKETS, MOST, DIRECTION, GROUP };

typedef struct locus_t5 {
    size_t buckets, heads;
    bool line, both;           /* positions are on `seq`; and buckets on both sides */
    size_t most;               /* from this distance on a side has one bucket */
    const uint16_t *bucket_of; /* [most + 1] of one side */
    const double *bias;        /* [buckets, heads] */
} locus_t5;

/* Which bucket each cell is in. */
typedef struct locus_t5_cells {
    const uint16_t *buckets; /* [cells] */
    const uint32_t *same;    /* [cells] how many cells from here on, this one included, are of one bucket */
} locus_t5_cells;

typedef struct locus_t5_term {
    locus_score_term base;
    const locus_t5 *t5;
    locus_distance_table table;
    const locus_t5_cells *cells;
} locus_t5_term;

static bool on_line(const locus_term *term) {
    return locus_group_equal(term->options[GROUP].group, NULL);
}

static size_t side_buckets(const locus_term *term) {
    const size_t buckets = (size_t)term->options[BUCKETS].number;
    return on_line(term) && term->options[DIRECTION].choice == 0 ? buckets / 2 : buckets;
}

static const char *conflict(const locus_term *term, size_t *option) {
    if (!on_line(term) && term->options[DIRECTION].given) {
        *option = DIRECTION;
        return "'direction' of 't5' is of steps on 'seq': leave it out on another group, whose buckets are for "
               "distances";
    }
    *option = BUCKETS;
    if (side_buckets(term) < 2 || (side_buckets(term) * 2 != (size_t)term->options[BUCKETS].number && on_line(term) &&
                                   term->options[DIRECTION].choice == 0))
        return "'buckets' of 't5' must be even, and at least 4, with direction=both";
    *option = MOST;
    const size_t half = side_buckets(term) / 2;
    if (term->options[MOST].number <= (double)half)
        return "'max' of 't5' must be above half of the buckets of one direction";
    return NULL;
}

/* ---- buckets ---- */

/* In float32 as the published code; products and quotients are rounded one by one. */
static size_t side_bucket(size_t u, size_t count, size_t most) {
    const size_t exact = count / 2;
    if (u < exact)
        return u;
    const float ratio = (float)u / (float)exact;
    const float share = (float)log((double)ratio) / (float)log((double)most / (double)exact);
    const float place = share * (float)(count - exact);
    const size_t bucket = exact + (size_t)place;
    return bucket < count ? bucket : count - 1;
}

static size_t bucket_at(const locus_t5 *t5, double apart) {
    const double most = (double)t5->most, side = t5->line && !t5->both ? -apart : fabs(apart);
    const size_t u = side < 1 ? 0 : side < most ? (size_t)side : t5->most;
    return t5->bucket_of[u] + (t5->line && t5->both && apart >= 1 ? t5->buckets / 2 : 0);
}

static void fill(const void *own, size_t head, size_t count, const double *distance, double *values) {
    const locus_t5 *t5 = own;
    for (size_t i = 0; i < count; i++)
        values[i] = t5->bias[bucket_at(t5, distance[i]) * t5->heads + head];
}

/* ---- parameters ---- */

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)error;
    list[(*count)++] = (locus_parameter){
        .name = "bias", .rank = 2, .shape = {(int64_t)term->options[BUCKETS].number, (int64_t)shape->heads}};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)error;
    const locus_shape *shape = draw->shape;
    const size_t inner = shape->heads * (shape->head_dim ? shape->head_dim : 1);
    const double deviation = 1 / sqrt((double)(shape->model_dim ? shape->model_dim : inner));
    const size_t count = (size_t)term->options[BUCKETS].number * shape->heads;
    for (size_t i = 0; i < count; i++)
        draw->values[0][i] = deviation * locus_random_normal(&draw->random, i);
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    const size_t buckets = (size_t)term->options[BUCKETS].number, most = (size_t)term->options[MOST].number;
    uint16_t *bucket_of = locus_owned_get(memory, most + 1, sizeof *bucket_of);
    if (!bucket_of)
        return locus_owned_fail(error);
    for (size_t u = 0; u <= most; u++)
        bucket_of[u] = (uint16_t)side_bucket(u, side_buckets(term), most);
    *(locus_t5 *)bound = (locus_t5){.buckets = buckets,
                                    .heads = shape->heads,
                                    .line = on_line(term),
                                    .both = term->options[DIRECTION].choice == 0,
                                    .most = most,
                                    .bucket_of = bucket_of,
                                    .bias = values[0]};
    return LOCUS_OK;
}

/* ---- the term ---- */

/* Where cells lie in one piece, runs of one bucket; else pair by pair. */
static void row_backward(const locus_score_term *term, const locus_score_call *call, const void *gradient, void *slot) {
    const locus_t5_term *own = (const locus_t5_term *)term;
    const size_t at = locus_score_rows_at(&own->table.rows, call);
    double distance[LOCUS_SCORE_RUN], *sums = slot;
    for (size_t done = 0, run; at != SIZE_MAX && done < call->count; done += run) {
        const size_t left = call->count - done, same = own->cells->same[at + done];
        run = same < left ? same : left;
        sums[own->cells->buckets[at + done]] += locus_score_sum(call->dtype, gradient, done, run);
    }
    locus_score_call piece = locus_score_before(call);
    while (at == SIZE_MAX && locus_score_next(call, &piece)) {
        const size_t done = piece.key_first - call->key_first;
        locus_score_rows_distance(&own->table.rows, &piece, distance);
        for (size_t j = 0; j < piece.count; j++)
            sums[bucket_at(own->t5, distance[j])] += locus_score_gradient(call->dtype, gradient, done + j);
    }
}

static size_t slot_bytes(const locus_score_term *term) {
    return ((const locus_t5_term *)term)->t5->buckets * sizeof(double);
}

static void reduce(const locus_score_term *term, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                   const locus_tensor *tensors) {
    const locus_t5 *t5 = ((const locus_t5_term *)term)->t5;
    const double *sums = locus_slots_fold(slots, slot_count, slot_stride, t5->buckets);
    for (size_t b = 0; sums && b < t5->buckets; b++)
        locus_tensor_add(&tensors[0], b * t5->heads + head, sums[b]);
}

static void form(const locus_score_term *term, locus_form_writer *writer) {
    const locus_t5_term *own = (const locus_t5_term *)term;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "bucket");
    const locus_score_form form = locus_distance_table_form(&own->table, writer);
    int64_t *buckets = locus_form_take(writer, form.cells, sizeof *buckets);
    for (size_t i = 0; buckets && i < form.cells; i++)
        buckets[i] = (int64_t)bucket_at(own->t5, form.distance[i]);
    locus_form_add(writer, "bucket", LOCUS_FORM_INT64, buckets, LOCUS_FORM_SHAPE((int64_t)form.cells));
    locus_form_add(writer, "bias", LOCUS_FORM_FLOAT64, own->t5->bias,
                   LOCUS_FORM_SHAPE((int64_t)own->t5->buckets, (int64_t)own->t5->heads));
    locus_form_learned(writer, 0, 0);
}

static const locus_score_class score_class = {
    .row_backward = row_backward, .slot_bytes = slot_bytes, .reduce = reduce, .form = form};

static locus_status fill_cells(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_t5_term *own = request;
    const locus_score_rows *rows = &own->table.rows;
    uint16_t *buckets = locus_owned_get(memory, rows->cells, sizeof *buckets);
    uint32_t *same = locus_owned_get(memory, rows->cells, sizeof *same);
    if (!buckets || !same)
        return locus_owned_fail(error);
    for (size_t i = rows->cells; i-- > 0;) {
        buckets[i] = (uint16_t)bucket_at(own->t5, rows->distance[i]);
        same[i] = i + 1 < rows->cells && buckets[i + 1] == buckets[i] ? same[i + 1] + 1 : 1;
    }
    *(locus_t5_cells *)table = (locus_t5_cells){buckets, same};
    return LOCUS_OK;
}

static const locus_table_kind cells_kind = {sizeof(locus_t5_cells), fill_cells};

static locus_status take_cells(locus_t5_term *own, const locus_places *places, locus_owned *memory,
                               locus_error *error) {
    const locus_t5 *t5 = own->t5;
    const size_t key[] = {(uintptr_t)own->table.rows.distance, t5->buckets, t5->most, t5->line, t5->both};
    const locus_table_asked asked = {&cells_kind, key, sizeof key, own};
    const void *table = NULL;
    const locus_status status = locus_tables_get(places->tables, &asked, memory, &table, error);
    own->cells = table;
    return status;
}

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_t5 *t5 = bound;
    locus_t5_term *own = placed->own;
    *own = (locus_t5_term){
        .base = {&score_class, LOCUS_SCORE_BIAS, &own->table, NULL},
        .t5 = t5,
        .table = {.fill = fill, .own = t5, .heads = t5->heads, .directed = t5->line, .more = 1, .term = &own->base}};
    placed->score = &own->base;
    const locus_status status = locus_distance_table_create(&own->table, places, memory, error);
    return status == LOCUS_OK ? take_cells(own, places, memory, error) : status;
}

static const locus_option_info options[] = {
    {"buckets", "integer from 2 to 4096", "32", "of distances, both directions together", LOCUS_OPTION_INTEGER, 2, 4096,
     false},
    {"max", "integer from 2 to 1048576", "128", "distances from here on share a bucket", LOCUS_OPTION_INTEGER, 2,
     1048576, false},
    {"direction", "both|causal", "both", "both: keys before and behind a query have buckets of their own",
     LOCUS_OPTION_CHOICE, 0, 0, false},
    {"group", "group", "seq", "whose distance has buckets; direction is for seq", LOCUS_OPTION_GROUP, 0, 0, false},
};

const locus_encoding_class locus_t5_class = {
    .info = {.name = "t5",
             .summary = "a learned bias on scores for each bucket of distances and head",
             .sites = LOCUS_SITE_SCORE,
             .learned = "bias",
             .source = "Raffel et al. 2020, Exploring the limits of transfer learning",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_HEADS,
    .bound_bytes = sizeof(locus_t5),
    .placed_bytes = sizeof(locus_t5_term),
    .reals = true,
    .laws = LOCUS_LAW_RELATIVITY,
    .conflict = conflict,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};

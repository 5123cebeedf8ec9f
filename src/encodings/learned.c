/* SPDX-License-Identifier: MIT */
/* learned: a table of vectors, one for each position 0 … size − 1, added to a token's embedding (Gehring et al. 2017).
 * Parameter `table` [size, model_dim], drawn from N(0, deviation²). A position outside the table is an error of the
 * plan.
 *
 * The deviation is kept in canonical texts where it is given, because a text without one meant 0.02 in version 0.1.
 *
 * Gradient: dL/dtable[p] = Σ over tokens at p of dL/dy. The plan lists its tokens by position, so each row of the table
 * is one piece, summed in double in the order of the tokens. */
#include "spec/class.h"
#include "spec/form_writer.h"

#include "core/error.h"
#include "kernels/kernels.h"

#include <string.h>

enum { SIZE, DEVIATION };

#define SUM_COLUMNS 256 /* columns summed at a time, on the stack */

typedef struct locus_learned {
    size_t size, dim;
    const double *table_float64;
    const float *table_float32;
} locus_learned;

/* A plan's tokens by position. */
typedef struct locus_learned_order {
    const uint64_t *tokens; /* in use, by position, then by token */
    const size_t *starts;   /* [rows + 1] where each position's tokens begin */
    size_t rows;            /* positions in use */
} locus_learned_order;

typedef struct locus_learned_embedding {
    locus_embedding base;
    const locus_learned *learned;
    const int64_t *positions;
    const locus_learned_order *order;
} locus_learned_embedding;

static locus_status parameters(const locus_term *term, const locus_shape *shape, locus_parameter *list, size_t *count,
                               locus_error *error) {
    (void)error;
    list[(*count)++] = (locus_parameter){
        .name = "table", .rank = 2, .shape = {(int64_t)term->options[SIZE].number, (int64_t)shape->model_dim}};
    return LOCUS_OK;
}

static locus_status initialise(const locus_term *term, const locus_draw *draw, locus_error *error) {
    (void)error;
    const size_t count = (size_t)term->options[SIZE].number * draw->shape->model_dim;
    const double deviation = term->options[DEVIATION].number;
    for (size_t i = 0; i < count; i++)
        draw->values[0][i] = deviation * locus_random_normal(&draw->random, i);
    return LOCUS_OK;
}

static locus_status bind(const locus_term *term, const locus_shape *shape, const double *const *values, void *bound,
                         locus_owned *memory, locus_error *error) {
    size_t size = (size_t)term->options[SIZE].number, count = size * shape->model_dim;
    const float *narrow = locus_owned_round(memory, values[0], count, error);
    *(locus_learned *)bound = (locus_learned){size, shape->model_dim, values[0], narrow};
    return narrow ? LOCUS_OK : LOCUS_ERROR_MEMORY;
}

/* ---- acting ---- */

#define ADD_ROWS(real, bits) \
    static void add_##real(const locus_learned_embedding *own, const locus_embedding_call *call) { \
        const size_t dim = own->learned->dim; \
        for (size_t t = 0; t < call->count; t++) { \
            const real *x = (const real *)call->x + (ptrdiff_t)t * call->x_stride; \
            const real *row = own->learned->table_float##bits + (size_t)own->positions[call->first + t] * dim; \
            real *y = (real *)call->y + (ptrdiff_t)t * call->y_stride; \
            if (call->sign > 0) { \
                locus_kernels_float##bits##_get()->add(dim, x, row, y); \
                continue; \
            } \
            if (y != x) \
                memcpy(y, x, dim * sizeof *y); \
            locus_kernels_float##bits##_get()->axpy(dim, (real)call->sign, row, y); \
        } \
    }
ADD_ROWS(float, 32)
ADD_ROWS(double, 64)

static void add(const locus_embedding *embedding, const locus_embedding_call *call) {
    const locus_learned_embedding *own = (const locus_learned_embedding *)embedding;
    if (call->dtype == LOCUS_FLOAT32)
        add_float(own, call);
    else
        add_double(own, call);
}

static size_t gradient_pieces(const locus_embedding *embedding) {
    return ((const locus_learned_embedding *)embedding)->order->rows;
}

static void sum_rows(const locus_learned_embedding *own, size_t piece, const locus_embedding_rows *gy, size_t column,
                     size_t columns, double *sum) {
    memset(sum, 0, columns * sizeof *sum);
    for (size_t i = own->order->starts[piece]; i < own->order->starts[piece + 1]; i++) {
        const ptrdiff_t at = locus_token_rows_at(&gy->rows, gy->side, own->order->tokens[i]) + (ptrdiff_t)column;
        if (gy->dtype == LOCUS_FLOAT64)
            locus_kernels_float64_get()->add_wide(columns, (const double *)gy->rows.data + at, sum);
        else
            locus_kernels_float32_get()->add_wide(columns, (const float *)gy->rows.data + at, sum);
    }
}

static void gradient(const locus_embedding *embedding, size_t piece, double sign, const locus_embedding_rows *gy,
                     const locus_tensor *tensors) {
    const locus_learned_embedding *own = (const locus_learned_embedding *)embedding;
    const size_t dim = own->learned->dim;
    size_t row = (size_t)own->positions[own->order->tokens[own->order->starts[piece]]] * dim;
    double sum[SUM_COLUMNS];
    for (size_t column = 0; column < dim; column += SUM_COLUMNS) {
        size_t columns = dim - column < SUM_COLUMNS ? dim - column : SUM_COLUMNS;
        sum_rows(own, piece, gy, column, columns, sum);
        for (size_t j = 0; j < columns; j++)
            locus_tensor_add(&tensors[0], row + column + j, sign * sum[j]);
    }
}

static void form(const locus_embedding *embedding, locus_form_writer *writer) {
    const locus_learned_embedding *own = (const locus_learned_embedding *)embedding;
    locus_form_begin(writer, LOCUS_FORM_VECTORS, own->learned->dim, "");
    locus_form_add(writer, "vectors", LOCUS_FORM_FLOAT64, own->learned->table_float64,
                   LOCUS_FORM_SHAPE((int64_t)own->learned->size, (int64_t)own->learned->dim));
    locus_form_learned(writer, 0, 0);
    locus_form_add(writer, "row", LOCUS_FORM_INT64, own->positions,
                   LOCUS_FORM_SHAPE((int64_t)writer->places->items[0].query.tokens));
}

static const locus_embedding_class embedding_class = {
    .add = add, .gradient_pieces = gradient_pieces, .gradient = gradient, .form = form};

/* ---- placing ---- */

static locus_status check_positions(const locus_token_side *side, size_t size, locus_error *error) {
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t i = 0; i < side->runs[r].count; i++) {
            int64_t position = side->values[side->runs[r].first + i];
            if (position < 0 || position >= (int64_t)size)
                return locus_fail(
                    error, LOCUS_ERROR_POSITION, "positions",
                    "position %lld of token %zu is outside the learned table of %zu rows (0 … %zu): raise "
                    "'size' or move the positions",
                    (long long)position, side->runs[r].first + i, size, size - 1);
        }
    return LOCUS_OK;
}

/* Tokens in the order of their positions, those of one position as they come: a few by insertion, else by counting, 12
 * bits of the position at a time, so that a large table costs a few tokens nothing. */
enum { FEW = 32, DIGIT_BITS = 12, DIGITS = 1 << DIGIT_BITS };

static void insert_tokens(const int64_t *values, size_t count, uint64_t *tokens) {
    for (size_t i = 1; i < count; i++) {
        const uint64_t token = tokens[i];
        size_t at = i;
        for (; at > 0 && values[tokens[at - 1]] > values[token]; at--)
            tokens[at] = tokens[at - 1];
        tokens[at] = token;
    }
}

static void count_digit(const int64_t *values, unsigned shift, size_t count, const uint64_t *from, uint64_t *to) {
    size_t starts[DIGITS + 1] = {0};
    for (size_t i = 0; i < count; i++)
        starts[((size_t)values[from[i]] >> shift) % DIGITS + 1]++;
    for (size_t d = 0; d < DIGITS; d++)
        starts[d + 1] += starts[d];
    for (size_t i = 0; i < count; i++)
        to[starts[((size_t)values[from[i]] >> shift) % DIGITS]++] = from[i];
}

/* `other` is scratch; `size` of the table is at most 2^24. */
static void sort_tokens(const locus_token_side *side, size_t size, uint64_t *other, uint64_t *tokens) {
    size_t count = 0;
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t i = 0; i < side->runs[r].count; i++)
            tokens[count++] = side->runs[r].first + i;
    if (count <= FEW) {
        insert_tokens(side->values, count, tokens);
        return;
    }
    count_digit(side->values, 0, count, tokens, other);
    if (size > DIGITS)
        count_digit(side->values, DIGIT_BITS, count, other, tokens);
    else
        memcpy(tokens, other, count * sizeof *tokens);
}

/* What an order is made from. */
typedef struct locus_learned_request {
    const locus_token_side *side;
    size_t size; /* of the table */
} locus_learned_request;

static locus_status list_rows(const locus_learned_request *asked, locus_learned_order *order, locus_owned *memory,
                              locus_error *error) {
    locus_owned passing = {0};
    const locus_token_side *side = asked->side;
    size_t size = asked->size, most = side->used < size ? side->used : size;
    uint64_t *other = locus_owned_get(&passing, side->used, sizeof *other);
    uint64_t *tokens = locus_owned_get(memory, side->used, sizeof *tokens);
    size_t *starts = locus_owned_get(memory, most + 1, sizeof *starts);
    locus_status status = LOCUS_OK;
    if (!other || !tokens || !starts) {
        status = locus_owned_fail(error);
        goto done;
    }
    sort_tokens(side, size, other, tokens);
    for (size_t i = 0; i < side->used; i++)
        if (i == 0 || side->values[tokens[i]] != side->values[tokens[i - 1]])
            starts[order->rows++] = i;
    starts[order->rows] = side->used;
    order->tokens = tokens;
    order->starts = starts;
done:
    locus_owned_release(&passing);
    return status;
}

static locus_status make_order(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_learned_request *asked = request;
    const locus_status status = check_positions(asked->side, asked->size, error);
    return status == LOCUS_OK ? list_rows(asked, table, memory, error) : status;
}

static const locus_table_kind order_kind = {sizeof(locus_learned_order), make_order};

static locus_status place(const void *bound, const locus_places *places, locus_owned *memory, locus_placed *placed,
                          locus_error *error) {
    const locus_placement *placement = &places->items[0];
    locus_learned_embedding *own = placed->own;
    own->base.class = &embedding_class;
    own->learned = bound;
    own->positions = placement->query.values;
    placed->embedding = &own->base;
    const locus_learned_request request = {&placement->query, own->learned->size};
    const locus_table_asked asked = {&order_kind, &own->learned->size, sizeof own->learned->size, &request};
    const void *table = NULL;
    const locus_status status = locus_tables_get(places->tables, &asked, memory, &table, error);
    own->order = table;
    return status;
}

static const locus_option_info options[] = {
    {"size", "integer from 1 to 16777216", "512", "rows of the table; positions 0 to size − 1", LOCUS_OPTION_INTEGER, 1,
     16777216, false},
    {"deviation", "number ≥ 0", "1", "of the numbers that the table begins with; as large as those of the tokens",
     LOCUS_OPTION_NUMBER, 0, 1e6, false},
};

const locus_encoding_class locus_learned_class = {
    .info = {.name = "learned",
             .summary = "a learned vector for each position, added to the embedding",
             .sites = LOCUS_SITE_EMBEDDING,
             .learned = "table",
             .source = "Gehring et al. 2017, Convolutional sequence to sequence learning",
             LOCUS_OPTIONS(options)},
    .shape = LOCUS_NEEDS_MODEL_DIM,
    .bound_bytes = sizeof(locus_learned),
    .placed_bytes = sizeof(locus_learned_embedding),
    .kept = 1u << DEVIATION,
    .parameters = parameters,
    .initialise = initialise,
    .bind = bind,
    .place = place,
};

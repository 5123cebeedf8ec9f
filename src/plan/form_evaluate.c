/* SPDX-License-Identifier: MIT */
/* See form_evaluate.h. */
#include "plan/form_evaluate.h"

#include "core/call.h"
#include "scores/distance_table.h"

#include <string.h>

/* ---- operators: unit vectors go in, columns come out ---- */

/* One role of an operator. */
typedef struct locus_form_columns {
    locus_role role;
    const locus_operator *local;
    const locus_whole_operator *whole;
    size_t heads, dim;
    const locus_token_side *side;
    const locus_position_tokens *tokens; /* of each position */
    double *matrices;                    /* [positions, heads, dim, dim] */
    double *x, *y;                       /* [dim] of a local operator, else [tokens, heads, dim] */
    void *scratch;
} locus_form_columns;

static bool stands_with_queries(locus_role role) {
    return role == LOCUS_ROLE_QUERY || role == LOCUS_ROLE_OUTPUT;
}

/* Of an output the operator itself, ⌈p⌉, as of all others: its forward is ⌈p⌉ᵀ. */
static locus_direction direction_of(locus_role role) {
    return role == LOCUS_ROLE_OUTPUT ? LOCUS_INVERSE : LOCUS_FORWARD;
}

static void put_column(const locus_form_columns *columns, size_t position, size_t head, size_t column,
                       const double *y) {
    const size_t dim = columns->dim;
    double *matrix = columns->matrices + (position * columns->heads + head) * dim * dim;
    for (size_t i = 0; i < dim; i++)
        matrix[i * dim + column] = y[i];
}

/* All columns of a position's matrices, at one of its tokens. */
static void make_local(const locus_form_columns *columns, size_t position, size_t token) {
    const locus_operator *op = columns->local;
    locus_operator_call call = {.role = columns->role,
                                .direction = direction_of(columns->role),
                                .dtype = LOCUS_FLOAT64,
                                .first = token,
                                .count = 1,
                                .x = columns->x,
                                .x_stride = (ptrdiff_t)columns->dim,
                                .scale = 1,
                                .scratch = columns->scratch};
    for (call.head = 0; call.head < columns->heads; call.head++)
        for (size_t column = 0; column < columns->dim; column++) {
            memset(columns->x, 0, columns->dim * sizeof *columns->x);
            columns->x[column] = 1;
            op->class->forward(op, &call, columns->y, (ptrdiff_t)columns->dim);
            put_column(columns, position, call.head, column, columns->y);
        }
}

/* One column of all matrices, from what all tokens became. */
static void take_column(const locus_form_columns *columns, size_t positions, size_t column) {
    for (size_t p = 0; p < positions; p++) {
        const size_t first = columns->tokens->first[p];
        for (size_t h = 0; first < columns->tokens->first[p + 1] && h < columns->heads; h++)
            put_column(columns, p, h, column,
                       columns->y + (columns->tokens->tokens[first] * columns->heads + h) * columns->dim);
    }
}

static void make_whole(const locus_form_columns *columns, size_t positions) {
    const size_t dim = columns->dim, vectors = columns->side->tokens * columns->heads;
    const ptrdiff_t head = (ptrdiff_t)dim, row = (ptrdiff_t)(columns->heads * dim);
    const locus_whole_stream stream = {.role = columns->role,
                                       .direction = direction_of(columns->role),
                                       .x = {.data = columns->x, .token = row, .head = head},
                                       .y = {.data = columns->y, .token = row, .head = head}};
    const locus_whole_call call = {
        .dtype = LOCUS_FLOAT64, .count = 1, .streams = &stream, .workspace = columns->scratch};
    for (size_t column = 0; column < dim && !locus_call_cancelled(); column++) {
        memset(columns->x, 0, vectors * dim * sizeof *columns->x);
        for (size_t v = 0; v < vectors; v++)
            columns->x[v * dim + column] = 1;
        columns->whole->class->forward(columns->whole, &call);
        take_column(columns, positions, column);
    }
}

static size_t scratch_bytes(const locus_form_columns *columns) {
    return columns->local
               ? columns->local->class->scratch_bytes(columns->local, LOCUS_FLOAT64, 1)
               : columns->whole->class->workspace_bytes(columns->whole, LOCUS_FLOAT64, &columns->role, 1, false);
}

static void write_role(locus_form_columns columns, const locus_distinct_positions *distinct,
                       locus_form_writer *writer) {
    const bool query = stands_with_queries(columns.role);
    const size_t vectors = columns.local ? 1 : columns.side->tokens * columns.heads;
    const int64_t dim = (int64_t)columns.dim;
    locus_form_begin(writer, LOCUS_FORM_MATRICES, columns.dim, "");
    locus_form_limit(writer, 1u << columns.role);
    columns.tokens = query ? &distinct->query : &distinct->key;
    columns.matrices =
        locus_form_take(writer, distinct->count * columns.heads * columns.dim * columns.dim, sizeof(double));
    columns.x = locus_form_take(writer, vectors * columns.dim, sizeof *columns.x);
    columns.y = locus_form_take(writer, vectors * columns.dim, sizeof *columns.y);
    columns.scratch = locus_form_take(writer, scratch_bytes(&columns), 1);
    if (writer->status != LOCUS_OK)
        return;
    for (size_t p = 0; columns.local && p < distinct->count && !locus_call_cancelled(); p++)
        if (columns.tokens->first[p] < columns.tokens->first[p + 1])
            make_local(&columns, p, columns.tokens->tokens[columns.tokens->first[p]]);
    if (columns.whole)
        make_whole(&columns, distinct->count);
    locus_form_add(writer, "matrices", LOCUS_FORM_FLOAT64, columns.matrices,
                   LOCUS_FORM_SHAPE((int64_t)distinct->count, (int64_t)columns.heads, dim, dim));
    locus_form_add(writer, query ? "query_matrix" : "key_matrix", LOCUS_FORM_UINT32, columns.tokens->numbers,
                   LOCUS_FORM_SHAPE((int64_t)columns.side->tokens));
}

void locus_form_evaluate_operator(const locus_operator *local, const locus_whole_operator *whole, size_t dim,
                                  locus_form_writer *writer) {
    static const locus_role roles[] = {LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY, LOCUS_ROLE_VALUE, LOCUS_ROLE_OUTPUT};
    const locus_placement *first = &writer->places->items[0];
    locus_distinct_positions distinct;
    if (!locus_form_distinguish(writer, &distinct))
        return;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0] && writer->status == LOCUS_OK; i++) {
        const locus_form_columns columns = {.role = roles[i],
                                            .local = local,
                                            .whole = whole,
                                            .heads = writer->kv_heads,
                                            .dim = dim,
                                            .side = stands_with_queries(roles[i]) ? &first->query : &first->key};
        if (writer->roles & 1u << roles[i])
            write_role(columns, &distinct, writer);
    }
}

/* ---- scores ---- */

typedef struct locus_form_pairs {
    const locus_score_term *term;
    size_t head;
    double *values; /* of the head */
} locus_form_pairs;

static void fill_pairs(void *context, const locus_score_call *call, size_t cell) {
    const locus_form_pairs *pairs = context;
    double scratch[LOCUS_SCORE_RUN];
    locus_score_call piece = *call;
    piece.head = pairs->head;
    for (size_t done = 0; done < call->count; done += piece.count) {
        const size_t left = call->count - done;
        piece.key_first = call->key_first + done;
        piece.count = left < LOCUS_SCORE_RUN ? left : LOCUS_SCORE_RUN;
        const double *row = locus_score_term_row(pairs->term, &piece, scratch);
        memcpy(pairs->values + cell + done, row, piece.count * sizeof *row);
    }
}

void locus_form_evaluate_score(const locus_score_term *term, locus_form_writer *writer) {
    const size_t cells = locus_score_pairs(writer->places, NULL, NULL), heads = writer->heads;
    locus_form_begin(writer, LOCUS_FORM_CELLS, 0, "");
    if (term->kind == LOCUS_SCORE_FACTOR)
        locus_form_multiplies(writer);
    locus_score_pairs_form(writer);
    double *values = locus_form_take(writer, heads * cells, sizeof *values);
    for (size_t h = 0; values && h < heads; h++) {
        locus_form_pairs pairs = {term, h, values + h * cells};
        (void)locus_score_pairs(writer->places, fill_pairs, &pairs);
    }
    locus_form_add(writer, "values", LOCUS_FORM_FLOAT64, values, LOCUS_FORM_SHAPE((int64_t)heads, (int64_t)cells));
}

/* ---- vectors ---- */

void locus_form_evaluate_embedding(const locus_embedding *embedding, size_t dim, locus_form_writer *writer) {
    const locus_embedding_class *class = embedding->class;
    locus_distinct_positions distinct;
    locus_form_begin(writer, LOCUS_FORM_VECTORS, dim, "");
    if (!locus_form_distinguish(writer, &distinct))
        return;
    const size_t count = locus_form_query_positions(&distinct);
    double *vectors = locus_form_take(writer, count * dim, sizeof *vectors);
    void *scratch =
        locus_form_take(writer, class->scratch_bytes ? class->scratch_bytes(embedding, LOCUS_FLOAT64) : 0, 1);
    for (size_t i = 0; vectors && scratch && i < count && !locus_call_cancelled(); i++) {
        const locus_embedding_call call = {.dtype = LOCUS_FLOAT64,
                                           .sign = 1,
                                           .first = distinct.query.tokens[distinct.query.first[i]],
                                           .count = 1,
                                           .x = vectors + i * dim,
                                           .x_stride = (ptrdiff_t)dim,
                                           .y = vectors + i * dim,
                                           .y_stride = (ptrdiff_t)dim,
                                           .scratch = scratch};
        class->add(embedding, &call);
    }
    locus_form_add(writer, "vectors", LOCUS_FORM_FLOAT64, vectors, LOCUS_FORM_SHAPE((int64_t)count, (int64_t)dim));
    locus_form_add(writer, "row", LOCUS_FORM_UINT32, distinct.query.numbers,
                   LOCUS_FORM_SHAPE((int64_t)writer->places->items[0].query.tokens));
}

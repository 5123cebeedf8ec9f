/* SPDX-License-Identifier: MIT */
/* What forward and backward share: operators over runs of tokens, panels, and the scores of a strip of a tile.
 *
 *   s = q'·k'ᵀ (the scale is in q')  + content terms  ·factors  + biases, each row over the keys that it sees
 *
 * Included by attention_float32.c and attention_float64.c, which define
 *   real, REAL_DTYPE, KERNELS (type), KERNELS_GET (function), REAL_EXP, REAL_LOG.
 *
 * Letters: a lane is one worker's state; ld a row's stride in scratch. All panels are [keys/128][dim][128]. */
#ifndef LOCUS_ATTENTION_TILE_BODY_H
#define LOCUS_ATTENTION_TILE_BODY_H

typedef struct lane {
    const attention_job *job;
    const KERNELS *kernels;
    size_t head, sequence;
    locus_sequence_span span;
    size_t ld_key, ld_value; /* strides of scratch rows of head_dim and value_dim */
    void *operator_scratch;
    real *term_row, *product_row, *keep_row; /* [ATTENTION_KEY_BLOCK] */
    real *content;                           /* [ATTENTION_STRIP][ATTENTION_CONTENT_WIDTH] */
} lane;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t padded(size_t count, size_t of) {
    return (count + of - 1) / of * of;
}

static real *row_of(const attention_view *view, size_t token, size_t head) {
    return (real *)view->data + (ptrdiff_t)token * view->token + (ptrdiff_t)head * view->head;
}

/* Keys [key, key + count) that row `row` of the sequence sees: the first so many of them. */
static size_t seen_of(const lane *l, size_t row, size_t key, size_t count) {
    size_t seen = locus_attention_seen(l->job, l->sequence, &l->span, row);
    return seen <= key ? 0 : smaller(seen - key, count);
}

static size_t operator_scratch_bytes(const attention_job *job) {
    size_t bytes = 0;
    const locus_operator *operators[2] = {job->query_key, job->value_operator};
    for (int i = 0; i < 2; i++)
        if (operators[i]) {
            size_t needed = operators[i]->class->scratch_bytes(operators[i], REAL_DTYPE, ATTENTION_KEY_BLOCK);
            bytes = needed > bytes ? needed : bytes;
        }
    return bytes;
}

static void carve_lane(const attention_job *job, attention_carver *carver, lane *l) {
    bool content = job->content_key || job->content_value;
    l->job = job;
    l->kernels = KERNELS_GET();
    l->ld_key = padded(job->head_dim, LOCUS_ALIGNMENT / sizeof(real));
    l->ld_value = padded(job->value_dim, LOCUS_ALIGNMENT / sizeof(real));
    l->operator_scratch = locus_attention_carve(carver, operator_scratch_bytes(job), 1);
    l->term_row = locus_attention_carve(carver, ATTENTION_KEY_BLOCK, sizeof(real));
    l->product_row = locus_attention_carve(carver, ATTENTION_KEY_BLOCK, sizeof(real));
    l->keep_row = locus_attention_carve(carver, ATTENTION_KEY_BLOCK, sizeof(real));
    l->content = locus_attention_carve(carver, content ? ATTENTION_STRIP * ATTENTION_CONTENT_WIDTH : 0, sizeof(real));
}

/* ---- operators ---- */

typedef struct run {
    locus_role role;
    locus_direction direction;
    size_t first, count; /* tokens of the role's buffer */
    real scale;
} run;

static size_t role_dim(const lane *l, locus_role role) {
    return role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT ? l->job->value_dim : l->job->head_dim;
}

static const locus_operator *role_operator(const lane *l, locus_role role) {
    return role == LOCUS_ROLE_VALUE || role == LOCUS_ROLE_OUTPUT ? l->job->value_operator : l->job->query_key;
}

static locus_operator_call operator_call(const lane *l, const run *r, const real *x, ptrdiff_t x_stride) {
    locus_operator_call call = {r->role, r->direction, LOCUS_INNER, REAL_DTYPE,         l->head, r->first, r->count,
                                x,       x_stride,     r->scale,    l->operator_scratch};
    return call;
}

/* Rows of one head lie heads·dim apart, too far for the processor to guess the next one: all are asked for at once. */
static void prefetch_rows(const real *x, ptrdiff_t stride, size_t rows, size_t dim) {
    const size_t line = LOCUS_ALIGNMENT / sizeof(real);
    for (size_t i = 0; x && i < rows; i++)
        for (size_t d = 0; d < dim; d += line)
            __builtin_prefetch(x + (ptrdiff_t)i * stride + d);
}

static void copy_rows(const lane *l, const run *r, const real *x, ptrdiff_t x_stride, real *y, ptrdiff_t y_stride) {
    size_t dim = role_dim(l, r->role);
    for (size_t i = 0; i < r->count; i++, x += x_stride, y += y_stride) {
        if (r->scale != (real)1)
            l->kernels->scale(dim, r->scale, x, y);
        else if (x != y)
            memcpy(y, x, dim * sizeof(real));
    }
}

/* y = scale · operator x, in blocks that the operator's scratch is made for. */
static void operate(const lane *l, run r, const real *x, ptrdiff_t x_stride, real *y, ptrdiff_t y_stride) {
    const locus_operator *op = role_operator(l, r.role);
    if (!op) {
        copy_rows(l, &r, x, x_stride, y, y_stride);
        return;
    }
    for (size_t left = r.count; left > 0; left -= r.count) {
        r.count = smaller(left, ATTENTION_KEY_BLOCK);
        locus_operator_call call = operator_call(l, &r, x, x_stride);
        op->class->forward(op, &call, y, y_stride);
        x += (ptrdiff_t)r.count * x_stride;
        y += (ptrdiff_t)r.count * y_stride;
        r.first += r.count;
    }
}

/* Differentiates operate: gx = scale · operatorᵀ gy, and the parameters' gradient into the slot (NULL: not wanted). */
static void operate_backward(const lane *l, run r, const real *x, ptrdiff_t x_stride, const real *gy,
                             ptrdiff_t gy_stride, real *gx, ptrdiff_t gx_stride, void *slot) {
    const locus_operator *op = role_operator(l, r.role);
    if (!op) {
        copy_rows(l, &r, gy, gy_stride, gx, gx_stride);
        return;
    }
    for (size_t left = r.count; left > 0; left -= r.count) {
        r.count = smaller(left, ATTENTION_KEY_BLOCK);
        locus_operator_call call = operator_call(l, &r, x, x_stride);
        op->class->backward(op, &call, gy, gy_stride, gx, gx_stride, slot);
        x = x ? x + (ptrdiff_t)r.count * x_stride : NULL;
        gy += (ptrdiff_t)r.count * gy_stride;
        gx += (ptrdiff_t)r.count * gx_stride;
        r.first += r.count;
    }
}

/* ---- panels ---- */

/* Rows become [count/128][dim][128]; columns past the end are zero, so that a tile may be computed a little wider. */
static void fill_columns(const lane *l, size_t count, size_t dim, const real *rows, ptrdiff_t ld, real *columns) {
    for (size_t first = 0; first < count; first += ATTENTION_KEY_BLOCK) {
        size_t width = smaller(count - first, ATTENTION_KEY_BLOCK);
        real *block = columns + first * dim;
        l->kernels->transpose(width, dim, rows + (ptrdiff_t)first * ld, ld, block, ATTENTION_KEY_BLOCK);
        if (width % 16 != 0)
            for (size_t d = 0; d < dim; d++)
                memset(block + d * ATTENTION_KEY_BLOCK + width, 0, (padded(width, 16) - width) * sizeof(real));
    }
}

/* Tables of the relative content terms, transposed once for a call. */
static void fill_table_columns(const KERNELS *kernels, size_t rows, size_t dim, const void *table, void *columns) {
    if (columns)
        kernels->transpose(rows, dim, table, (ptrdiff_t)dim, columns, (ptrdiff_t)rows);
}

/* ---- a strip: rows of a tile that share one width ---- */

typedef struct strip {
    size_t row, rows; /* of the sequence's queries */
    size_t key, keys; /* of the sequence's keys; keys = those that the last row sees */
    real *score;      /* [rows][ATTENTION_KEY_BLOCK] */
} strip;

/* Strips of a tile that the mask does not cut are as tall as the tile. */
static size_t strip_rows(const lane *l, size_t row, size_t rows, size_t key, size_t keys) {
    return seen_of(l, row, key, keys) == seen_of(l, row + rows - 1, key, keys) ? rows : ATTENTION_STRIP;
}

/* Computed a little wider than seen: whole vectors are faster, and the surplus is never read. */
static void strip_products(const lane *l, const strip *s, size_t dim, const real *left, ptrdiff_t ld,
                           const real *columns) {
    l->kernels->gemm(s->rows, padded(s->keys, 16), dim, left, ld, 1, columns, ATTENTION_KEY_BLOCK, s->score,
                     ATTENTION_KEY_BLOCK, false);
}

static const real *term_values(const lane *l, const locus_score_term *term, const strip *s, size_t row, size_t count) {
    locus_score_call call = {REAL_DTYPE, l->head, l->span.query_first + row, l->span.key_first + s->key, count};
    return term->class->row(term, &call, l->term_row);
}

/* s = s · factors + biases. */
static void apply_terms(const lane *l, const strip *s, size_t row, size_t count, real *score) {
    for (size_t t = 0; t < l->job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(l->job->plan, t);
        const real *values = term_values(l, term, s, row, count);
        if (term->kind == LOCUS_SCORE_FACTOR)
            l->kernels->multiply(count, score, values, score);
        else
            l->kernels->add(count, score, values, score);
    }
}

/* What each weight of a row is multiplied by: 0 or 1/(1 − p). A row is a query token and a head. */
static void dropout_keep(const lane *l, const strip *s, size_t row, size_t count) {
    uint64_t id = (uint64_t)(l->span.query_first + row) * l->job->heads + l->head;
    l->kernels->dropout_row(count, &l->job->dropout_key, id, s->key, l->job->dropout, l->keep_row);
}

static void drop_scores(const lane *l, size_t count, real *score) {
    for (size_t j = 0; j < count; j++)
        score[j] = l->keep_row[j] == 0 ? (real)-1e8 : score[j];
}

#endif

/* SPDX-License-Identifier: MIT */
/* A lane, one worker's state: what its rows see, operators over runs of tokens, and what is asked for ahead.
 *
 * Query head h reads key-value head h / group: operators know the latter only, score terms the former.
 *
 * The bodies of attention_softmax_typed.c, in one element type (kernels/real.h). Letters: ld a row's stride in
 * scratch. */
#ifndef LOCUS_ATTENTION_LANE_BODY_H
#define LOCUS_ATTENTION_LANE_BODY_H

#include "attention/attention_rows_body.h"

/* A run of ATTENTION_QUERY_BLOCK rows: what they see together, and a run of keys that each of them sees. */
typedef struct row_block {
    attention_seen all;
    attention_range core;
} row_block;

/* Rows of a tensor that are needed soon. */
typedef struct coming_rows {
    const char *at;
    ptrdiff_t stride; /* bytes from one row to the next */
    size_t bytes, left;
} coming_rows;

enum {
    COMING_STREAMS = 8,
    ASK_ROWS = 8, /* asked for at a time, */
    ASK_EVERY = 4 /* between so many rows of a softmax, and between tiles of a product */
};

typedef struct lane {
    const attention_job *job;
    const KERNELS *kernels;
    size_t head, kv, sequence; /* the query's head, the key-value head */
    locus_sequence_span span;
    attention_seen *seen; /* of rows seen_first, seen_first + 1, … of the sequence */
    size_t seen_first;
    row_block *blocks;       /* of the same rows */
    size_t ld_key, ld_value; /* strides of scratch rows of head_dim and value_dim */
    void *operator_scratch;
    real *term_row, *product_row, *keep_row; /* [ATTENTION_KEY_BLOCK] */
    real *content;                           /* [ATTENTION_STRIP][ATTENTION_CONTENT_WIDTH] */
    real *widened;                           /* [ATTENTION_KEY_BLOCK][dim], where keys and values are of a half type */
    real *bias_row;                          /* [ATTENTION_KEY_BLOCK], with a bias */
    int32_t *steps; /* the job's distances of rows, ld_steps apart: of the keys of a panel; or, where that is 0, of a
                       row's [ATTENTION_KEY_BLOCK]; NULL: not kept */
    real *values;   /* of the job's only term, laid out as they are, where it is asked for them again; or NULL */
    size_t ld_steps;
    const int32_t *row_steps; /* those of the row at hand, from the first column that it sees; NULL: not made */
    const real *row_values;
    bool measured;     /* an earlier head has made them */
    bool plain;        /* from products to weights in one step of the kernels */
    size_t *from, *to; /* [ATTENTION_QUERY_BLOCK] */
    /* With pairs (attention_pairs_body.h): */
    const locus_kernels_bfloat16 *pairs; /* NULL: without */
    const locus_kernels_half *halves;
    size_t ld_half_key, ld_half_value; /* strides of rows of bfloat16 */
    uint16_t *half_rows, *half_pairs;  /* [128][the longer stride]; [the longer stride/16][64/2][16][2] */
    real *turned;                      /* [128][ld_turned] */
    size_t ld_turned;
    coming_rows coming[COMING_STREAMS]; /* what is still to be asked for: [asked, coming_streams) */
    size_t coming_streams, asked;
    bool cut;   /* some tile was not seen whole */
    bool apart; /* weights meet the rows that they see, alone; see "numbers that are not finite" */
} lane;

/* Head g of the group of a key-value head. */
static void choose_head(lane *l, size_t kv, size_t g) {
    l->kv = kv;
    l->head = kv * l->job->group + g;
}

/* Rows of the lane's sequence and head: of queries, outputs and their numbers; of keys and values. */
static real *query_row(const lane *l, const attention_view *view, size_t token) {
    return row_of(view, l->sequence, l->span.query_first, token, l->head);
}

static real *key_row(const lane *l, const attention_view *view, size_t token) {
    return row_of(view, l->sequence, l->span.key_first, token, l->kv);
}

/* What a row sees of the keys [key, key + count): columns [from, to) but for [gap, gap_end). */
typedef struct cut {
    size_t from, to, gap, gap_end;
} cut;

static size_t column_of(size_t at, size_t key, size_t count) {
    return at <= key ? 0 : smaller(at - key, count);
}

static cut cut_of(const lane *l, size_t row, size_t key, size_t count) {
    const attention_seen *seen = &l->seen[row - l->seen_first];
    cut c = {column_of(seen->low, key, count), column_of(seen->high, key, count), 0, 0};
    if (seen->kept_high > key && seen->kept_low < seen->kept_high) { /* the kept keys come first */
        const size_t from = column_of(seen->kept_low, key, count), to = column_of(seen->kept_high, key, count);
        if (c.from >= c.to)
            c = (cut){from, to, 0, 0};
        else if (from < to)
            c = (cut){from, c.to, to, c.from};
    }
    if (c.from >= c.to)
        c.from = c.to = 0;
    return c;
}

static size_t block_rows(size_t count, size_t block) {
    return smaller(count - block * ATTENTION_QUERY_BLOCK, ATTENTION_QUERY_BLOCK);
}

static row_block look_at_block(const attention_seen *seen, size_t rows) {
    row_block block = {seen[0], {seen[0].low, seen[0].high}};
    for (size_t i = 1; i < rows; i++) {
        block.all = locus_attention_seen_join(&block.all, &seen[i]);
        block.core.low = seen[i].low > block.core.low ? seen[i].low : block.core.low;
        block.core.high = smaller(seen[i].high, block.core.high);
    }
    return block;
}

/* Fills in what rows [first, first + count) of the lane's sequence see; returns what they see together. */
static attention_seen look(lane *l, size_t first, size_t count) {
    attention_seen all = {0, 0, 0, 0};
    l->seen_first = first;
    locus_attention_see_rows(&l->job->sight, l->sequence, &l->span, first, count, l->seen);
    for (size_t b = 0; b * ATTENTION_QUERY_BLOCK < count; b++) {
        l->blocks[b] = look_at_block(l->seen + b * ATTENTION_QUERY_BLOCK, block_rows(count, b));
        all = locus_attention_seen_join(&all, &l->blocks[b].all);
    }
    return all;
}

/* That which begins at `row`. */
static const row_block *block_at(const lane *l, size_t row) {
    return &l->blocks[(row - l->seen_first) / ATTENTION_QUERY_BLOCK];
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

static void carve_pairs(const attention_job *job, attention_carver *carver, lane *l) {
    const size_t block = ATTENTION_KEY_BLOCK, rows = ATTENTION_QUERY_BLOCK;
    l->pairs = job->pairs;
    l->halves = locus_kernels_half_get();
    l->ld_half_key = padded(job->head_dim, LOCUS_PAIRS_DEPTH);
    l->ld_half_value = padded(job->value_dim, LOCUS_PAIRS_DEPTH);
    l->ld_turned = l->ld_key > l->ld_value ? l->ld_key : l->ld_value;
    const size_t longer = l->ld_half_key > l->ld_half_value ? l->ld_half_key : l->ld_half_value;
    if (!job->pairs)
        return;
    l->half_rows = locus_attention_carve(carver, block * longer, sizeof(uint16_t));
    l->half_pairs = locus_attention_carve(carver, longer * rows, sizeof(uint16_t));
    l->turned = locus_attention_carve(carver, block * l->ld_turned, sizeof(real));
}

/* Nothing is to be asked for. */
static void expect_none(lane *l) {
    l->coming_streams = l->asked = 0;
}

/* `rows`: how many of a sequence the lane looks at together. */
static void carve_lane(const attention_job *job, attention_carver *carver, size_t rows, lane *l) {
    bool content = job->content_key || job->content_value;
    l->job = job;
    l->kernels = KERNELS_GET();
    l->cut = l->apart = false;
    expect_none(l);
    l->plain = job->term_count == 0 && !job->biased && job->cap == 0 && job->dropout == 0 && job->sight.keep == 0 &&
               job->scale > 0;
    l->ld_key = padded(job->head_dim, LOCUS_ALIGNMENT / sizeof(real));
    l->ld_value = padded(job->value_dim, LOCUS_ALIGNMENT / sizeof(real));
    l->seen = locus_attention_carve(carver, rows, sizeof *l->seen);
    l->blocks = locus_attention_carve(carver, rows / ATTENTION_QUERY_BLOCK + 1, sizeof *l->blocks);
    l->from = locus_attention_carve(carver, ATTENTION_QUERY_BLOCK, sizeof *l->from);
    l->to = locus_attention_carve(carver, ATTENTION_QUERY_BLOCK, sizeof *l->to);
    l->operator_scratch = locus_attention_carve(carver, operator_scratch_bytes(job), 1);
    l->term_row = locus_attention_carve(carver, ATTENTION_KEY_BLOCK, sizeof(real));
    l->product_row = locus_attention_carve(carver, ATTENTION_KEY_BLOCK, sizeof(real));
    l->keep_row = locus_attention_carve(carver, ATTENTION_KEY_BLOCK, sizeof(real));
    l->content = locus_attention_carve(carver, content ? ATTENTION_STRIP * ATTENTION_CONTENT_WIDTH : 0, sizeof(real));
    const size_t longer = l->ld_key > l->ld_value ? l->ld_key : l->ld_value;
    l->bias_row = locus_attention_carve(carver, job->biased ? ATTENTION_KEY_BLOCK : 0, sizeof(real));
    l->widened =
        locus_attention_carve(carver, job->kept == REAL_DTYPE ? 0 : ATTENTION_KEY_BLOCK * longer, sizeof(real));
    l->steps = locus_attention_carve(carver, job->distances ? ATTENTION_KEY_BLOCK : 0, sizeof *l->steps);
    l->ld_steps = 0;
    l->row_steps = NULL;
    l->row_values = l->values = NULL;
    l->measured = false;
    carve_pairs(job, carver, l);
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

static locus_operator_call operator_call(const lane *l, const run *r, const real *x, ptrdiff_t x_stride,
                                         real *entered) {
    return (locus_operator_call){.role = r->role,
                                 .direction = r->direction,
                                 .coordinates = LOCUS_INNER,
                                 .dtype = REAL_DTYPE,
                                 .head = l->kv,
                                 .first = r->first,
                                 .count = r->count,
                                 .x = x,
                                 .x_stride = x_stride,
                                 .scale = r->scale,
                                 .scratch = l->operator_scratch,
                                 .entered = entered,
                                 .entered_stride = (ptrdiff_t)l->ld_key};
}

/* Rows of one head lie heads·dim apart, too far for the processor to guess the next one: all are asked for at once. */
static void prefetch_rows(const real *x, ptrdiff_t stride, size_t rows, size_t dim) {
    const size_t line = LOCUS_ALIGNMENT / sizeof(real);
    for (size_t i = 0; x && i < rows; i++)
        for (size_t d = 0; d < dim; d += line)
            __builtin_prefetch(x + (ptrdiff_t)i * stride + d);
}

/* ---- keys and values as they lie ---- */

typedef struct kept_rows {
    const real *data;
    ptrdiff_t stride;
} kept_rows;

static const attention_view *kept_view(const lane *l, locus_role role) {
    return role == LOCUS_ROLE_KEY ? &l->job->key : &l->job->value;
}

static bool of_keys(locus_role role) {
    return role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
}

static locus_dtype row_dtype(const lane *l, locus_role role) {
    return of_keys(role) ? l->job->kept : l->job->stored;
}

/* Elements from the view's data to a token of the lane's sequence and head. */
static ptrdiff_t row_offset(const lane *l, const attention_view *view, locus_role role, size_t token) {
    const size_t first = of_keys(role) ? l->span.key_first : l->span.query_first;
    return locus_token_rows_shift(view, l->sequence, first) + (ptrdiff_t)token * view->token +
           (ptrdiff_t)(of_keys(role) ? l->kv : l->head) * view->head;
}

/* The same for keys or values: four lines of every row, then the next four, since a row's own loop would take longer
 * than what it asks for. */
static void prefetch_kept(const lane *l, locus_role role, size_t token, size_t rows) {
    if (rows == 0)
        return;
    const attention_view *view = kept_view(l, role);
    const size_t size = locus_dtype_size(l->job->kept), bytes = role_dim(l, role) * size, line = LOCUS_ALIGNMENT;
    const char *column = (const char *)view->data + row_offset(l, view, role, token) * (ptrdiff_t)size;
    const ptrdiff_t stride = view->token * (ptrdiff_t)size;
    size_t at = 0;
    for (; at + 4 * line <= bytes; at += 4 * line, column += 4 * line) {
        const char *x = column;
        for (size_t i = 0; i < rows; i++, x += stride) {
            __builtin_prefetch(x);
            __builtin_prefetch(x + line);
            __builtin_prefetch(x + 2 * line);
            __builtin_prefetch(x + 3 * line);
        }
    }
    for (; at < bytes; at += line, column += line)
        for (size_t i = 0; i < rows; i++)
            __builtin_prefetch(column + (ptrdiff_t)i * stride);
}

/* ---- what comes next ----
 *
 * Short sequences are over before the processor has guessed what is read next. So rows that an item writes, and those
 * that the next one begins with, are asked for a few at a time between products: all at once they would wait for one
 * another, and the products behind for them. */

/* Adds rows of the lane's sequence and head. */
static void expect(lane *l, const attention_view *view, locus_role role, size_t first, size_t count) {
    const size_t size = locus_dtype_size(row_dtype(l, role)), dim = role_dim(l, role);
    if (view->data && count > 0)
        l->coming[l->coming_streams++] =
            (coming_rows){(const char *)view->data + row_offset(l, view, role, first) * (ptrdiff_t)size,
                          view->token * (ptrdiff_t)size, dim * size, smaller(count, ATTENTION_KEY_BLOCK)};
}

/* Which item and head come after one; NULL: nobody knows. */
typedef struct coming_item {
    const attention_item *item;
    size_t kv, g; /* the key-value head, and the query head of its group */
} coming_item;

/* The lane stands at another item and head; returns where it was. */
static lane stand_at(lane *l, coming_item there) {
    const lane here = *l;
    l->sequence = there.item->sequence;
    l->span = locus_plan_span(l->job->plan, l->sequence);
    choose_head(l, there.kv, there.g);
    return here;
}

static void stand_back(lane *l, const lane *here) {
    l->sequence = here->sequence;
    l->span = here->span;
    l->kv = here->kv;
    l->head = here->head;
}

static bool asks(const lane *l) {
    return l->asked < l->coming_streams;
}

static void ask(lane *l, size_t rows) {
    for (; rows > 0 && asks(l); rows--) {
        coming_rows *coming = &l->coming[l->asked];
        for (size_t byte = 0; byte < coming->bytes; byte += LOCUS_ALIGNMENT)
            __builtin_prefetch(coming->at + byte, 1, 2);
        coming->at += coming->stride;
        l->asked += --coming->left == 0;
    }
}

/* A product, a few rows at a time. */
static void product_asking(lane *l, size_t M, size_t N, size_t K, const real *a, ptrdiff_t a_row, ptrdiff_t a_column,
                           const real *b, ptrdiff_t ldb, real *c, ptrdiff_t ldc, bool accumulate) {
    const size_t most = l->kernels->tile_rows;
    while (M > 0) {
        const size_t rows = asks(l) ? smaller(M, most) : M;
        ask(l, ASK_ROWS);
        l->kernels->gemm(rows, N, K, a, a_row, a_column, b, ldb, c, ldc, accumulate);
        a += (ptrdiff_t)rows * a_row;
        c += (ptrdiff_t)rows * ldc;
        M -= rows;
    }
}

/* Rows of the lane's head, a role's own: the caller's, or those of a half type widened, at most ATTENTION_KEY_BLOCK of
 * them, into l->widened. */
static kept_rows rows_at(const lane *l, const attention_view *view, locus_role role, size_t token, size_t count) {
    const ptrdiff_t at = row_offset(l, view, role, token);
#if LOCUS_REAL_BITS == 32
    if (row_dtype(l, role) != REAL_DTYPE) {
        const size_t dim = role_dim(l, role), ld = dim == l->job->head_dim ? l->ld_key : l->ld_value;
        const uint16_t *from = (const uint16_t *)view->data + at;
        void (*const widen)(size_t, const uint16_t *, float *) =
            row_dtype(l, role) == LOCUS_FLOAT16 ? l->halves->widen_float16 : l->halves->widen_bfloat16;
        for (size_t i = 0; i < count; i++, from += view->token)
            widen(dim, from, l->widened + i * ld);
        return (kept_rows){l->widened, (ptrdiff_t)ld};
    }
#endif
    (void)count;
    return (kept_rows){view->data ? (const real *)view->data + at : NULL, view->token};
}

static kept_rows kept_at(const lane *l, locus_role role, size_t token, size_t count) {
    return rows_at(l, kept_view(l, role), role, token, count);
}

static void copy_rows(const lane *l, const run *r, const real *x, ptrdiff_t x_stride, real *y, ptrdiff_t y_stride) {
    size_t dim = role_dim(l, r->role);
    for (size_t i = 0; i < r->count; i++, x += x_stride, y += y_stride)
        if (r->scale != (real)1)
            l->kernels->scale(dim, r->scale, x, y);
        else if (x != y)
            memcpy(y, x, dim * sizeof(real));
}

/* y = scale · operator x, in blocks that the operator's scratch is made for. `entered`: [count][ld_key], see
 * locus_operator_call, or NULL. */
static void operate_entering(const lane *l, run r, const real *x, ptrdiff_t x_stride, real *y, ptrdiff_t y_stride,
                             real *entered) {
    const locus_operator *op = role_operator(l, r.role);
    if (!op) {
        copy_rows(l, &r, x, x_stride, y, y_stride);
        return;
    }
    for (size_t left = r.count; left > 0; left -= r.count) {
        r.count = smaller(left, ATTENTION_KEY_BLOCK);
        locus_operator_call call = operator_call(l, &r, x, x_stride, entered);
        op->class->forward(op, &call, y, y_stride);
        x += (ptrdiff_t)r.count * x_stride;
        y += (ptrdiff_t)r.count * y_stride;
        entered = entered ? entered + r.count * l->ld_key : NULL;
        r.first += r.count;
    }
}

static void operate(const lane *l, run r, const real *x, ptrdiff_t x_stride, real *y, ptrdiff_t y_stride) {
    operate_entering(l, r, x, x_stride, y, y_stride, NULL);
}

/* Differentiates operate: gx = scale · operatorᵀ gy, and the parameters' gradient into the slot (NULL: not wanted). */
static void operate_backward_entered(const lane *l, run r, const real *x, ptrdiff_t x_stride, const real *gy,
                                     ptrdiff_t gy_stride, real *gx, ptrdiff_t gx_stride, void *slot, real *entered) {
    const locus_operator *op = role_operator(l, r.role);
    if (!op) {
        copy_rows(l, &r, gy, gy_stride, gx, gx_stride);
        return;
    }
    for (size_t left = r.count; left > 0; left -= r.count) {
        r.count = smaller(left, ATTENTION_KEY_BLOCK);
        locus_operator_call call = operator_call(l, &r, x, x_stride, entered);
        op->class->backward(op, &call, gy, gy_stride, gx, gx_stride, slot);
        x = x ? x + (ptrdiff_t)r.count * x_stride : NULL;
        gy += (ptrdiff_t)r.count * gy_stride;
        gx += (ptrdiff_t)r.count * gx_stride;
        entered = entered ? entered + r.count * l->ld_key : NULL;
        r.first += r.count;
    }
}

static void operate_backward(const lane *l, run r, const real *x, ptrdiff_t x_stride, const real *gy,
                             ptrdiff_t gy_stride, real *gx, ptrdiff_t gx_stride, void *slot) {
    operate_backward_entered(l, r, x, x_stride, gy, gy_stride, gx, gx_stride, slot, NULL);
}

#endif

/* SPDX-License-Identifier: MIT */
/* The walk of rotary.h for one element type. The including file defines REAL, WIDTH (float32 or float64) and COMPOSES
 * (1: angles of many heads by steps, see turn_by_steps).
 *
 * T tokens of a block, D head dimension, x̂ = Uᵀx and ĝ = Uᵀg as rows: X̂ = X·U. In the standard basis x̂ is x. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define T(name) JOIN(name##_, WIDTH)
#define KERNELS(walk) ((walk)->op->JOIN(kernels_, WIDTH))
#define SCRATCH(walk, what) ((REAL *)(void *)((char *)(walk)->call->scratch + (walk)->scratch.what))

static size_t least_rows(size_t a, size_t b) {
    return a < b ? a : b;
}

static const REAL *T(x_row)(const locus_rotary_walk *walk, size_t token, size_t head) {
    return (const REAL *)walk->call->x + (ptrdiff_t)token * walk->call->x_stride +
           (ptrdiff_t)head * walk->heads->x_head;
}

static REAL *T(y_row)(const locus_rotary_walk *walk, size_t token, size_t head) {
    return (REAL *)walk->heads->y + (ptrdiff_t)token * walk->heads->y_stride + (ptrdiff_t)head * walk->heads->y_head;
}

static const REAL *T(g_row)(const locus_rotary_walk *walk, size_t token, size_t head) {
    return (const REAL *)walk->heads->gy + (ptrdiff_t)token * walk->heads->gy_stride +
           (ptrdiff_t)head * walk->heads->gy_head;
}

/* Asks for rows of one head before they are needed: computing angles or products would leave the memory idle. */
static void T(fetch)(const REAL *rows, size_t count, ptrdiff_t stride, size_t dim) {
    for (size_t i = 0; i < count; i++) {
        const char *row = (const char *)(rows + (ptrdiff_t)i * stride);
        for (size_t byte = 0; byte < dim * sizeof(REAL); byte += 64)
            __builtin_prefetch(row + byte, 1, 2);
    }
}

/* Cosines and sines of `rows` places in the two-level tables: those of all heads side by side, unless heads share
 * them. */
static size_t T(angles)(const locus_rotary_walk *walk, const locus_angle_table *table, locus_heads_range heads,
                        const uint32_t *coarse, const uint32_t *fine, size_t rows, REAL *cosine, REAL *sine) {
    const locus_rotary *rotary = walk->op->rotary;
    size_t tables = rotary->tables == 1 ? 1 : heads.count;
    size_t first = rotary->tables == 1 ? 0 : walk->call->head + heads.first;
    for (size_t i = 0; i < tables; i++)
        KERNELS(walk)->angles(rows, rotary->pairs, locus_angle_coarse_of(table, first + i), coarse,
                              locus_angle_fine_of(table, first + i), fine, cosine + i * rotary->pairs,
                              sine + i * rotary->pairs, (ptrdiff_t)(tables * rotary->pairs));
    return tables;
}

static void T(copy)(const locus_rotary_walk *walk) {
    for (size_t t = 0; t < walk->call->count; t++)
        for (size_t h = 0; h < walk->heads->count; h++)
            KERNELS(walk)->scale(walk->op->rotary->dim, (REAL)walk->call->scale, T(x_row)(walk, t, h),
                                 T(y_row)(walk, t, h));
}

/* ---- turning rows ---- */

typedef struct T(turn) {
    locus_heads_range heads;
    size_t token, rows;
    double sign;
    const REAL *from;
    ptrdiff_t from_row, from_head;
    REAL *to;
    ptrdiff_t to_row, to_head;
} T(turn);

static locus_rotation T(rotation)(const locus_rotary_walk *walk, const T(turn) * turn, size_t rows) {
    const locus_rotary *rotary = walk->op->rotary;
    return (locus_rotation){.rows = rows,
                            .heads = turn->heads.count,
                            .D = rotary->dim,
                            .pairs = rotary->pairs,
                            .half_pairs = rotary->half_pairs,
                            .source_row = turn->from_row,
                            .source_head = turn->from_head,
                            .target_row = turn->to_row,
                            .target_head = turn->to_head};
}

/* Every token with angles of its own, rounded once from double. */
static void T(turn_exactly)(const locus_rotary_walk *walk, const T(turn) * turn) {
    const size_t most = turn->heads.count > 1 ? LOCUS_TURN_ROWS : LOCUS_BASIS_ROWS;
    REAL *cosine = SCRATCH(walk, cosine), *sine = SCRATCH(walk, sine);
    for (size_t done = 0; done < turn->rows; done += most) {
        size_t rows = least_rows(most, turn->rows - done), at = walk->call->first + turn->token + done;
        size_t tables = T(angles)(walk, &walk->op->angles, turn->heads, walk->side->coarse + at, walk->side->fine + at,
                                  rows, cosine, sine);
        locus_rotation shape = T(rotation)(walk, turn, rows);
        shape.table_row = (ptrdiff_t)(tables * walk->op->rotary->pairs);
        shape.table_head = tables == 1 ? 0 : (ptrdiff_t)walk->op->rotary->pairs;
        KERNELS(walk)->rotate(&shape, (REAL)turn->sign, (REAL)walk->call->scale, cosine, sine,
                              turn->from + (ptrdiff_t)done * turn->from_row, turn->to + (ptrdiff_t)done * turn->to_row);
    }
}

#if COMPOSES
/* Where every head has angles of its own, computing them all in double for every token would cost more than turning. So
 * in float p = 8b + f: the angle of 8b comes from double, once for up to 8 tokens, and the kernel multiplies it with
 * step f. An angle is then off by a rounding or two of float instead of half of one, at any position alike; and it
 * depends on the position alone, not on the tokens around it. */
static void T(turn_by_steps)(const locus_rotary_walk *walk, const T(turn) * turn) {
    const locus_angle_fine *base = walk->op->angles.base;
    const size_t row = base->tables * base->pairs, width = turn->heads.count * base->pairs;
    const size_t own = (walk->call->head + turn->heads.first) * base->pairs, at = walk->call->first + turn->token;
    REAL *cosine = SCRATCH(walk, cosine), *sine = SCRATCH(walk, sine);
    for (size_t done = 0; done < turn->rows;) {
        const locus_step_runs runs = locus_step_runs_find(walk->side, at + done, turn->rows - done);
        (void)T(angles)(walk, &walk->op->angles, turn->heads, runs.coarse, runs.fine, runs.count, cosine, sine);
        for (size_t i = 0; i < runs.count; done += runs.rows[i++]) {
            locus_rotation shape = T(rotation)(walk, turn, runs.rows[i]);
            size_t step = (walk->side->fine[at + done] & (LOCUS_STEPS - 1)) * row + own;
            shape.table_row = (ptrdiff_t)row;
            shape.table_head = (ptrdiff_t)base->pairs;
            shape.base_cosine = cosine + i * width;
            shape.base_sine = sine + i * width;
            KERNELS(walk)->rotate(&shape, (REAL)turn->sign, (REAL)walk->call->scale, base->step_cosine + step,
                                  base->step_sine + step, turn->from + (ptrdiff_t)done * turn->from_row,
                                  turn->to + (ptrdiff_t)done * turn->to_row);
        }
    }
}
#endif

static void T(turn_rows)(const locus_rotary_walk *walk, const T(turn) * turn) {
#if COMPOSES
    if (walk->op->rotary->tables > 1) {
        T(turn_by_steps)(walk, turn);
        return;
    }
#endif
    T(turn_exactly)(walk, turn);
}

/* ---- standard basis: all heads of a token at once ---- */

static void T(turn_all)(const locus_rotary_walk *walk) {
    const size_t count = walk->call->count;
    for (size_t t = 0; t < count; t += LOCUS_BASIS_ROWS) {
        size_t rows = least_rows(LOCUS_BASIS_ROWS, count - t);
        const T(turn) turn = {{0, walk->heads->count},
                              t,
                              rows,
                              walk->sign,
                              T(x_row)(walk, t, 0),
                              walk->call->x_stride,
                              walk->heads->x_head,
                              T(y_row)(walk, t, 0),
                              walk->heads->y_stride,
                              walk->heads->y_head};
        T(turn_rows)(walk, &turn);
    }
}

/* gx = R(−pθ) gy; dL/dθ += Σ p·(x̂ ∧ gx), the wedge product of pairs: it is that of y and gy, both turned back. */
static void T(learn_angles)(const locus_rotary_walk *walk) {
    const locus_rotary *rotary = walk->op->rotary;
    const locus_operator_heads *heads = walk->heads;
    const size_t count = walk->call->count;
    double *weights = (double *)(void *)SCRATCH(walk, weights);
    for (size_t t = 0; t < count; t += LOCUS_BASIS_ROWS) {
        size_t rows = least_rows(LOCUS_BASIS_ROWS, count - t);
        const T(turn) turn = {{0, heads->count},
                              t,
                              rows,
                              -walk->sign,
                              T(g_row)(walk, t, 0),
                              heads->gy_stride,
                              heads->gy_head,
                              T(y_row)(walk, t, 0),
                              heads->y_stride,
                              heads->y_head};
        T(turn_rows)(walk, &turn);
        for (size_t r = 0; r < rows; r++) /* the kernel sums gx·y − gy·x, the negative */
            weights[r] = -walk->sign * (double)walk->side->values[walk->call->first + t + r];
        for (size_t h = 0; h < heads->count; h++)
            KERNELS(walk)->angle_gradient(rows, rotary->pairs, rotary->half_pairs, weights, T(x_row)(walk, t, h),
                                          walk->call->x_stride, T(y_row)(walk, t, h), heads->y_stride,
                                          (double *)(void *)((char *)heads->slots + h * heads->slot_stride));
    }
}

/* ---- a basis of its own: one head at a time ---- */

typedef struct T(rows) {
    const REAL *data;
    ptrdiff_t stride;
} T(rows);

static const REAL *T(basis)(const locus_rotary_walk *walk, size_t head, bool transposed) {
    const locus_rotary *rotary = walk->op->rotary;
    const REAL *matrices = transposed ? rotary->JOIN(transposed_, WIDTH) : rotary->JOIN(basis_, WIDTH);
    size_t table = rotary->tables == 1 ? 0 : walk->call->head + head;
    return matrices + table * rotary->dim * rotary->dim;
}

/* rows · U, into contiguous scratch; or the rows themselves if they are in the basis already. */
static T(rows)
    T(enter)(const locus_rotary_walk *walk, size_t head, bool enters, T(rows) in, size_t count, REAL *scratch) {
    size_t dim = walk->op->rotary->dim;
    if (!enters)
        return in;
    KERNELS(walk)->gemm(count, dim, dim, in.data, in.stride, 1, T(basis)(walk, head, false), (ptrdiff_t)dim, scratch,
                        (ptrdiff_t)dim, false);
    return (T(rows)){scratch, (ptrdiff_t)dim};
}

static void T(leave)(const locus_rotary_walk *walk, size_t head, const REAL *rows, size_t count, REAL *out,
                     ptrdiff_t stride) {
    size_t dim = walk->op->rotary->dim;
    KERNELS(walk)->gemm(count, dim, dim, rows, (ptrdiff_t)dim, 1, T(basis)(walk, head, true), (ptrdiff_t)dim, out,
                        stride, false);
}

/* Rows of one head. */
static void T(turn_block)(const locus_rotary_walk *walk, size_t head, size_t token, size_t count, double sign,
                          T(rows) from, REAL *to, ptrdiff_t to_stride) {
    const T(turn) turn = {{head, 1}, token, count, sign, from.data, from.stride, 0, to, to_stride, 0};
    T(turn_rows)(walk, &turn);
}

static void T(basis_block)(const locus_rotary_walk *walk, size_t head, size_t token, size_t rows) {
    size_t dim = walk->op->rotary->dim;
    REAL *hat = SCRATCH(walk, x), *y = T(y_row)(walk, token, head);
    T(rows)
    in = T(enter)(walk, head, walk->into, (T(rows)){T(x_row)(walk, token, head), walk->call->x_stride}, rows, hat);
    if (!walk->out_of) {
        T(turn_block)(walk, head, token, rows, walk->sign, in, y, walk->heads->y_stride);
        return;
    }
    T(turn_block)(walk, head, token, rows, walk->sign, in, hat, (ptrdiff_t)dim);
    T(leave)(walk, head, hat, rows, y, walk->heads->y_stride);
}

static void T(basis_all)(const locus_rotary_walk *walk) {
    const size_t count = walk->call->count, heads = walk->heads->count, dim = walk->op->rotary->dim;
    for (size_t t = 0; t < count; t += LOCUS_BASIS_ROWS) {
        size_t rows = least_rows(LOCUS_BASIS_ROWS, count - t);
        for (size_t h = 0; h < heads; h++) {
            if (h + 1 < heads)
                T(fetch)(T(x_row)(walk, t, h + 1), rows, walk->call->x_stride, dim);
            else if (t + rows < count)
                T(fetch)
            (T(x_row)(walk, t + rows, 0), least_rows(LOCUS_BASIS_ROWS, count - t - rows), walk->call->x_stride, dim);
            T(basis_block)(walk, h, t, rows);
        }
    }
}

void JOIN(locus_rotary_run_, WIDTH)(const locus_rotary_walk *walk) {
    if (!walk->acts)
        T(copy)(walk);
    else if (walk->op->rotary->JOIN(basis_, WIDTH))
        T(basis_all)(walk);
    else
        T(turn_all)(walk);
}

/* ---- sums over tokens for the gradient of S ---- */

/* c (+)= aᵀ b over `rows` tokens, for D columns of each. */
static void T(outer_sum)(const locus_rotary_walk *walk, size_t columns, size_t rows, T(rows) a, T(rows) b, REAL *c,
                         bool accumulate) {
    KERNELS(walk)->gemm(columns, columns, rows, a.data, 1, a.stride, b.data, b.stride, c, (ptrdiff_t)columns,
                        accumulate);
}

/* One run of near blocks: moments Σ u^(2m+1) (R(−pθ/2) ĝ)(R(pθ/2) x̂)ᵀ, u = p/span. */
static void T(moment_run)(const locus_rotary_walk *walk, const locus_near_run *near, size_t rows, T(rows) x, T(rows) g,
                          REAL *sums, bool accumulate) {
    const locus_rotary *rotary = walk->op->rotary;
    const double *weights = (double *)(void *)SCRATCH(walk, weights);
    REAL *half_x = SCRATCH(walk, half_x), *half_g = SCRATCH(walk, half_g);
    const REAL *cosine = SCRATCH(walk, half_cosine) + near->first / 2,
               *sine = SCRATCH(walk, half_sine) + near->first / 2;
    locus_rotation shape = {.rows = rows,
                            .heads = 1,
                            .D = near->count,
                            .pairs = near->pairs,
                            .table_row = (ptrdiff_t)rotary->pairs,
                            .source_row = x.stride,
                            .target_row = (ptrdiff_t)near->count};
    KERNELS(walk)->rotate(&shape, (REAL)walk->sign, 1, cosine, sine, x.data + near->first, half_x);
    shape.source_row = g.stride;
    KERNELS(walk)->rotate(&shape, (REAL)-walk->sign, (REAL)walk->call->scale, cosine, sine, g.data + near->first,
                          half_g);
    for (size_t m = 0; m < LOCUS_NEAR_MOMENTS; m++) {
        for (size_t r = 0; r < rows; r++)
            KERNELS(walk)->scale(near->count, (REAL)(m == 0 ? weights[r] : weights[r] * weights[r]),
                                 half_g + r * near->count, half_g + r * near->count);
        T(outer_sum)
        (walk, near->count, rows, (T(rows)){half_g, (ptrdiff_t)near->count}, (T(rows)){half_x, (ptrdiff_t)near->count},
         sums + m * near->count * near->count, accumulate);
    }
}

static void T(moment_runs)(const locus_rotary_walk *walk, size_t head, size_t token, size_t rows, T(rows) x, T(rows) g,
                           bool accumulate) {
    const locus_rotary_operator *op = walk->op;
    size_t table = op->rotary->tables == 1 ? 0 : walk->call->head + head;
    REAL *sums = SCRATCH(walk, moments);
    if (op->near_first[table] == op->near_first[table + 1])
        return;
    const size_t at = walk->call->first + token;
    (void)T(angles)(walk, &op->half, (locus_heads_range){head, 1}, walk->side->coarse + at, walk->side->fine + at, rows,
                    SCRATCH(walk, half_cosine), SCRATCH(walk, half_sine));
    for (size_t i = op->near_first[table]; i < op->near_first[table + 1]; i++) {
        T(moment_run)(walk, &op->near[i], rows, x, g, sums, accumulate);
        sums += LOCUS_NEAR_MOMENTS * op->near[i].count * op->near[i].count;
    }
}

static void T(flush)(const locus_rotary_walk *walk, size_t head, locus_skew_slot slot) {
    const locus_rotary_operator *op = walk->op;
    size_t dim = op->rotary->dim, table = op->rotary->tables == 1 ? 0 : walk->call->head + head;
    const REAL *forward = SCRATCH(walk, forward), *backward = SCRATCH(walk, backward), *sums = SCRATCH(walk, moments);
    for (size_t i = 0; i < dim * dim; i++)
        slot.forward[i] += (double)forward[i];
    for (size_t i = 0; i < dim * dim; i++)
        slot.backward[i] += (double)backward[i];
    for (size_t n = op->near_first[table]; n < op->near_first[table + 1]; n++) {
        const locus_near_run *near = &op->near[n];
        for (size_t m = 0; m < LOCUS_NEAR_MOMENTS; m++)
            for (size_t i = 0; i < near->count; i++)
                for (size_t j = 0; j < near->count; j++)
                    slot.moment[m][(near->first + i) * dim + near->first + j] += (double)*sums++;
    }
}

/* y = scale·U R(pθ) Uᵀ x, by blocks: gx = scale·U R(−pθ) Uᵀ gy, and the sums that dL/dS is made of. */
static void T(learn_block)(const locus_rotary_walk *walk, size_t head, size_t token, size_t rows, bool accumulate,
                           double *diagonal) {
    const locus_rotary *rotary = walk->op->rotary;
    const locus_operator_heads *heads = walk->heads;
    const size_t dim = rotary->dim;
    double *weights = (double *)(void *)SCRATCH(walk, weights);
    REAL *turned = SCRATCH(walk, turned), *gx = T(y_row)(walk, token, head), *hat = SCRATCH(walk, x);
    T(rows)
    x = T(enter)(walk, head, walk->into, (T(rows)){T(x_row)(walk, token, head), walk->call->x_stride}, rows, hat);
    T(rows)
    g = T(enter)(walk, head, walk->out_of, (T(rows)){T(g_row)(walk, token, head), heads->gy_stride}, rows,
                 SCRATCH(walk, g));
    if (!walk->into) { /* the products below want their right side packed */
        for (size_t r = 0; r < rows; r++)
            memcpy(hat + r * dim, x.data + (ptrdiff_t)r * x.stride, dim * sizeof(REAL));
        x = (T(rows)){hat, (ptrdiff_t)dim};
    }
    for (size_t r = 0; r < rows; r++)
        weights[r] = walk->sign * (double)walk->side->values[walk->call->first + token + r] / walk->op->span;
    T(moment_runs)(walk, head, token, rows, x, g, accumulate);
    const T(rows) out = {turned, (ptrdiff_t)dim};
    T(turn_block)(walk, head, token, rows, walk->sign, x, turned, (ptrdiff_t)dim);
    T(outer_sum)(walk, dim, rows, g, out, SCRATCH(walk, forward), accumulate);
    T(turn_block)(walk, head, token, rows, -walk->sign, g, turned, (ptrdiff_t)dim);
    T(outer_sum)(walk, dim, rows, out, x, SCRATCH(walk, backward), accumulate);
    KERNELS(walk)->angle_gradient(rows, rotary->pairs, false, weights, x.data, x.stride, turned, (ptrdiff_t)dim,
                                  diagonal);
    if (walk->into)
        T(leave)(walk, head, turned, rows, gx, heads->y_stride);
    else
        for (size_t r = 0; r < rows; r++)
            memcpy(gx + (ptrdiff_t)r * heads->y_stride, turned + r * dim, dim * sizeof(REAL));
}

static void T(learn_skew)(const locus_rotary_walk *walk) {
    const size_t count = walk->call->count, dim = walk->op->rotary->dim;
    for (size_t begin = 0; begin < count; begin += LOCUS_FLUSH_ROWS) {
        size_t end = begin + least_rows(LOCUS_FLUSH_ROWS, count - begin);
        for (size_t h = 0; h < walk->heads->count; h++) {
            locus_skew_slot slot =
                locus_skew_slot_at(walk->op, (char *)walk->heads->slots + h * walk->heads->slot_stride);
            for (size_t t = begin; t < end; t += LOCUS_BASIS_ROWS) {
                size_t rows = least_rows(LOCUS_BASIS_ROWS, end - t);
                bool last = t + rows == end;
                size_t token = last ? begin : t + rows, head = last ? h + 1 : h; /* what comes next */
                size_t next = head < walk->heads->count ? least_rows(LOCUS_BASIS_ROWS, end - token) : 0;
                if (next > 0) {
                    T(fetch)(T(x_row)(walk, token, head), next, walk->call->x_stride, dim);
                    T(fetch)(T(g_row)(walk, token, head), next, walk->heads->gy_stride, dim);
                }
                T(learn_block)(walk, h, t, rows, t > begin, slot.diagonal);
            }
            T(flush)(walk, h, slot);
        }
    }
}

void JOIN(locus_rotary_learn_, WIDTH)(const locus_rotary_walk *walk) {
    if (walk->op->rotary->learned == LOCUS_LEARN_SKEW)
        T(learn_skew)(walk);
    else
        T(learn_angles)(walk);
}

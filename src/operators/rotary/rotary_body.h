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

/* Cosines of `rows` places in the two-level tables of one axis, and the sines right behind them; those of all heads
 * side by side, unless heads share them. Returns the width of a row. */
static size_t T(axis_phases)(const locus_rotary_walk *walk, const locus_angle_table *table, locus_heads_range heads,
                             const uint32_t *coarse, const uint32_t *fine, size_t rows, REAL *phase) {
    const size_t pairs = table->base->rates.pairs;
    const bool shared = table->base->rates.tables == 1;
    const size_t tables = shared ? 1 : heads.count, first = shared ? 0 : walk->call->head + heads.first;
    const size_t width = tables * pairs;
    for (size_t i = 0; i < tables; i++)
        KERNELS(walk)->angles(rows, pairs, locus_angle_coarse_of(table, first + i), coarse,
                              locus_angle_fine_of(table, first + i), fine, phase + i * pairs,
                              phase + rows * width + i * pairs, (ptrdiff_t)width);
    return width;
}

/* The same where each pair follows one axis: every axis has its own columns of the rows, so all of them together cost
 * what one does; pairs that are not in the axes' order are put back into their own. */
static size_t T(part_phases)(const locus_rotary_walk *walk, size_t first, size_t rows) {
    const locus_rotary *rotary = walk->op->rotary;
    const size_t width = rotary->pairs;
    REAL *phase = SCRATCH(walk, phase), *sorted = rotary->places ? SCRATCH(walk, factor) : phase;
    for (size_t axis = 0; axis < rotary->axes; axis++) {
        const locus_token_side *side = locus_rotary_side(walk, axis);
        const locus_angle_table *table = &walk->angles[axis];
        REAL *own = sorted + rotary->parts[axis];
        KERNELS(walk)->angles(rows, rotary->parts[axis + 1] - rotary->parts[axis], locus_angle_coarse_of(table, 0),
                              side->coarse + first, locus_angle_fine_of(table, 0), side->fine + first, own,
                              own + rows * width, (ptrdiff_t)width);
    }
    for (size_t row = 0; rotary->places && row < 2 * rows; row++)
        for (size_t i = 0; i < width; i++)
            phase[row * width + i] = sorted[row * width + rotary->places[i]];
    return width;
}

/* The same for the sum of all axes' angles: the phases are multiplied, which is to turn one by the other. With `runs`,
 * rows are those of the runs' first tokens, with the last axis at the beginning of its block of 8. */
static size_t T(phases)(const locus_rotary_walk *walk, locus_heads_range heads, size_t first, size_t rows,
                        const locus_step_runs *runs) {
    const locus_rotary *rotary = walk->op->rotary;
    REAL *phase = SCRATCH(walk, phase), *factor = SCRATCH(walk, factor);
    size_t width = 0;
    if (rotary->parts)
        return T(part_phases)(walk, first, rows);
    for (size_t axis = 0; axis < rotary->axes; axis++) {
        const locus_token_side *side = locus_rotary_side(walk, axis);
        uint32_t coarse[LOCUS_BASE_ROWS], fine[LOCUS_BASE_ROWS];
        for (size_t i = 0; runs && i < rows; i++) {
            coarse[i] = side->coarse[runs->first[i]];
            fine[i] = side->fine[runs->first[i]];
            fine[i] -= axis + 1 == rotary->axes ? fine[i] & (LOCUS_STEPS - 1) : 0;
        }
        width = T(axis_phases)(walk, &walk->angles[axis], heads, runs ? coarse : side->coarse + first,
                               runs ? fine : side->fine + first, rows, axis == 0 ? phase : factor);
        const locus_rotation all = {
            .rows = 1, .heads = 1, .D = 2 * rows * width, .pairs = rows * width, .half_pairs = true};
        if (axis > 0)
            KERNELS(walk)->rotate(&all, 1, 1, factor, factor + rows * width, phase, phase);
    }
    return width;
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
    bool ready; /* the phases of these rows are there already */
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

/* Half pairs within blocks. To the kernel a block is a head of its own and a head is a row, so that a token's row is
 * still walked once, in order. */
static void T(turn_blocks)(const locus_rotary_walk *walk, const locus_rotation *all, REAL sign, REAL scale,
                           const REAL *cosine, const REAL *sine, const REAL *from, REAL *to) {
    const size_t blocks = walk->op->rotary->blocks, pairs = all->pairs / blocks;
    locus_rotation part = *all;
    part.heads = blocks;
    part.pairs = pairs;
    part.D = 2 * pairs;
    part.table_head = (ptrdiff_t)pairs;
    part.source_head = part.target_head = (ptrdiff_t)part.D;
    if (all->heads == 1) {
        KERNELS(walk)->rotate(&part, sign, scale, cosine, sine, from, to);
        return;
    }
    part.rows = all->heads;
    part.table_row = 0;
    part.source_row = all->source_head;
    part.target_row = all->target_head;
    for (ptrdiff_t row = 0; row < (ptrdiff_t)all->rows; row++)
        KERNELS(walk)->rotate(&part, sign, scale, cosine + row * all->table_row, sine + row * all->table_row,
                              from + row * all->source_row, to + row * all->target_row);
}

/* Half pairs within blocks, or an attention factor, which the rest of a head is not multiplied by. */
static void T(turn_apart)(const locus_rotary_walk *walk, const locus_rotation *all, REAL sign, const REAL *cosine,
                          const REAL *from, REAL *to) {
    const REAL *sine = cosine + all->rows * walk->op->rotary->pairs;
    const REAL stretched = (REAL)(walk->call->scale * walk->factor);
    const size_t turned = 2 * all->pairs;
    locus_rotation part = *all;
    part.D = turned;
    if (walk->op->rotary->blocks > 1)
        T(turn_blocks)(walk, &part, sign, stretched, cosine, sine, from, to);
    else
        KERNELS(walk)->rotate(&part, sign, stretched, cosine, sine, from, to);
    part.pairs = 0;
    part.D = all->D - turned;
    if (part.D > 0)
        KERNELS(walk)->rotate(&part, sign, (REAL)walk->call->scale, cosine, sine, from + turned, to + turned);
}

/* Every token with angles of its own, rounded once from double. */
static void T(turn_exactly)(const locus_rotary_walk *walk, const T(turn) * turn) {
    const size_t pairs = walk->op->rotary->pairs;
    const size_t most = turn->heads.count > 1 ? LOCUS_TURN_ROWS : LOCUS_BASIS_ROWS;
    const REAL *phase = SCRATCH(walk, phase);
    for (size_t done = 0; done < turn->rows; done += most) {
        const size_t rows = least_rows(most, turn->rows - done), at = walk->call->first + turn->token + done;
        const size_t width = turn->ready ? pairs : T(phases)(walk, turn->heads, at, rows, NULL);
        locus_rotation shape = T(rotation)(walk, turn, rows);
        shape.table_row = (ptrdiff_t)width;
        shape.table_head = width == pairs ? 0 : (ptrdiff_t)pairs;
        const REAL *from = turn->from + (ptrdiff_t)done * turn->from_row;
        REAL *to = turn->to + (ptrdiff_t)done * turn->to_row;
        if (walk->factor == 1 && walk->op->rotary->blocks <= 1)
            KERNELS(walk)->rotate(&shape, (REAL)turn->sign, (REAL)walk->call->scale, phase, phase + rows * width, from,
                                  to);
        else
            T(turn_apart)(walk, &shape, (REAL)turn->sign, phase, from, to);
    }
}

#if COMPOSES
/* Where every head has angles of its own, computing them all in double for every token would cost more than turning. So
 * in float p = 8b + f: the angle of 8b comes from double, once for up to 8 tokens, and the kernel multiplies it with
 * step f; a run that stands still takes one step for all. An angle is then off by a rounding or two of float instead of
 * half of one, at any position alike; and it depends on the position alone, not on the tokens around it. Of several
 * axes the last is the one that steps: it is what rises along the rows of a grid. */
static void T(turn_by_steps)(const locus_rotary_walk *walk, const T(turn) * turn) {
    const locus_rotary *rotary = walk->op->rotary;
    const locus_angle_fine *base = &rotary->fine[rotary->axes - 1];
    const locus_token_side *last = locus_rotary_side(walk, rotary->axes - 1);
    const size_t row = base->rates.tables * rotary->pairs, at = walk->call->first + turn->token;
    const size_t own = (walk->call->head + turn->heads.first) * rotary->pairs;
    const REAL *phase = SCRATCH(walk, phase);
    for (size_t done = 0; done < turn->rows;) {
        const locus_step_runs runs = locus_step_runs_find(walk, at + done, turn->rows - done);
        const size_t width = T(phases)(walk, turn->heads, 0, runs.count, &runs);
        for (size_t i = 0; i < runs.count; done += runs.rows[i++]) {
            locus_rotation shape = T(rotation)(walk, turn, runs.rows[i]);
            size_t step = (last->fine[at + done] & (LOCUS_STEPS - 1)) * row + own;
            shape.table_row = runs.rises[i] ? (ptrdiff_t)row : 0;
            shape.table_head = (ptrdiff_t)rotary->pairs;
            shape.base_cosine = phase + i * width;
            shape.base_sine = phase + (runs.count + i) * width;
            KERNELS(walk)->rotate(&shape, (REAL)turn->sign, (REAL)walk->call->scale, base->step_cosine + step,
                                  base->step_sine + step, turn->from + (ptrdiff_t)done * turn->from_row,
                                  turn->to + (ptrdiff_t)done * turn->to_row);
        }
    }
}
#endif

/* An odd last coordinate that changes sign with every step; pairs that do have it in their angles. */
static void T(flip_last)(const locus_rotary_walk *walk, const T(turn) * turn) {
    const locus_rotary *rotary = walk->op->rotary;
    const int64_t *values = locus_rotary_side(walk, 0)->values + walk->call->first + turn->token;
    for (size_t head = 0; head < turn->heads.count; head++) {
        const size_t table = rotary->tables == 1 ? 0 : walk->call->head + turn->heads.first + head;
        REAL *column = turn->to + (ptrdiff_t)head * turn->to_head + rotary->dim - 1;
        for (size_t r = 0; rotary->flip[table] < rotary->dim && r < turn->rows; r++)
            if (values[r] % 2 != 0)
                column[(ptrdiff_t)r * turn->to_row] = -column[(ptrdiff_t)r * turn->to_row];
    }
}

static void T(turn_rows)(const locus_rotary_walk *walk, const T(turn) * turn) {
    const locus_rotary *rotary = walk->op->rotary;
#if COMPOSES
    if (rotary->fine[0].rates.tables > 1)
        T(turn_by_steps)(walk, turn);
    else
#endif
        T(turn_exactly)(walk, turn);
    if (rotary->flip && rotary->dim % 2 != 0)
        T(flip_last)(walk, turn);
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
                              walk->heads->y_head,
                              false};
        T(turn_rows)(walk, &turn);
    }
}

/* dL/dθ += Σ p·(x̂ ∧ gx) on every axis, the wedge product of pairs: it is that of y and gy, both turned back. Pairs
 * that follow one axis each and stand side by side are summed for their own alone; else what is too much is dropped
 * later. */
static void T(sum_angles)(const locus_rotary_walk *walk, size_t token, size_t rows, const REAL *x, ptrdiff_t x_stride,
                          const REAL *gx, ptrdiff_t gx_stride, double *sums) {
    const locus_rotary *rotary = walk->op->rotary;
    const bool apart = rotary->parts && !rotary->places && (!rotary->half_pairs || rotary->blocks > 1);
    double *weights = (double *)(void *)SCRATCH(walk, weights);
    for (size_t axis = 0; axis < rotary->axes; axis++) {
        const locus_token_side *side = locus_rotary_side(walk, axis);
        const size_t first = apart ? rotary->parts[axis] : 0;
        const size_t pairs = apart ? rotary->parts[axis + 1] - first : rotary->pairs;
        for (size_t r = 0; r < rows; r++) /* the kernel sums gx·y − gy·x, the negative */
            weights[r] = -walk->sign * locus_token_position(side, walk->call->first + token + r);
        KERNELS(walk)->angle_gradient(rows, pairs, rotary->half_pairs, weights, x + 2 * first, x_stride, gx + 2 * first,
                                      gx_stride, sums + axis * rotary->pairs + first);
    }
}

/* gx = R(−p) gy, and the sums. */
static void T(learn_angles)(const locus_rotary_walk *walk) {
    const locus_operator_heads *heads = walk->heads;
    const size_t count = walk->call->count;
    for (size_t t = 0; t < count && !locus_call_cancelled(); t += LOCUS_BASIS_ROWS) {
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
                              heads->y_head,
                              false};
        T(turn_rows)(walk, &turn);
        for (size_t h = 0; h < heads->count; h++)
            T(sum_angles)
        (walk, t, rows, T(x_row)(walk, t, h), walk->call->x_stride, T(y_row)(walk, t, h), heads->y_stride,
         locus_rotary_slot_at(walk->op, (char *)heads->slots + h * heads->slot_stride).angles);
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

/* Rows that are needed next. They are asked for a few at a time, between products: a burst of requests would have to
 * wait for one another, and products that wait for memory leave the processor idle. */
typedef struct T(coming) {
    const REAL *rows[2];
    ptrdiff_t stride[2];
    size_t left, step; /* rows, and how many are asked for at a time */
} T(coming);

static void T(ask)(T(coming) * coming, size_t dim) {
    const size_t count = least_rows(coming->step, coming->left);
    for (size_t stream = 0; stream < 2 && coming->rows[stream]; stream++) {
        for (size_t i = 0; i < count; i++) {
            const char *row = (const char *)(coming->rows[stream] + (ptrdiff_t)i * coming->stride[stream]);
            for (size_t byte = 0; byte < dim * sizeof(REAL); byte += 64)
                __builtin_prefetch(row + byte, 1, 3);
        }
        if (count < coming->left)
            coming->rows[stream] += (ptrdiff_t)count * coming->stride[stream];
    }
    coming->left -= count;
}

/* rows · matrix */
static void T(multiply)(const locus_rotary_walk *walk, T(rows) in, size_t count, const REAL *matrix, T(coming) * coming,
                        REAL *out, ptrdiff_t stride) {
    const size_t dim = walk->op->rotary->dim,
                 most = LOCUS_PRODUCT_ELEMENTS / dim > 8 ? LOCUS_PRODUCT_ELEMENTS / dim : 8;
    for (size_t done = 0; done < count; done += most) {
        T(ask)(coming, dim);
        KERNELS(walk)->gemm(least_rows(most, count - done), dim, dim, in.data + (ptrdiff_t)done * in.stride, in.stride,
                            1, matrix, (ptrdiff_t)dim, out + (ptrdiff_t)done * stride, stride, false);
    }
}

/* rows · U, into contiguous scratch; or the rows themselves if they are in the basis already. */
static T(rows) T(enter)(const locus_rotary_walk *walk, size_t head, bool enters, T(rows) in, size_t count,
                        T(coming) * coming, REAL *scratch) {
    if (!enters)
        return in;
    T(multiply)(walk, in, count, T(basis)(walk, head, false), coming, scratch, (ptrdiff_t)walk->op->rotary->dim);
    return (T(rows)){scratch, (ptrdiff_t)walk->op->rotary->dim};
}

static void T(leave)(const locus_rotary_walk *walk, size_t head, const REAL *rows, size_t count, T(coming) * coming,
                     REAL *out, ptrdiff_t stride) {
    const T(rows) in = {rows, (ptrdiff_t)walk->op->rotary->dim};
    T(multiply)(walk, in, count, T(basis)(walk, head, true), coming, out, stride);
}

/* Heads that share angles find the phases of a block ready. */
static bool T(prepare)(const locus_rotary_walk *walk, size_t token, size_t rows) {
    if (walk->op->rotary->fine[0].rates.tables > 1)
        return false;
    (void)T(phases)(walk, (locus_heads_range){0, 1}, walk->call->first + token, rows, NULL);
    return true;
}

/* Some tokens of one head. */
typedef struct T(block) {
    size_t head, token, rows;
    bool ready; /* see prepare */
} T(block);

static void T(turn_block)(const locus_rotary_walk *walk, T(block) block, double sign, T(rows) from, REAL *to,
                          ptrdiff_t to_stride) {
    const T(turn) turn = {{block.head, 1}, block.token, block.rows, sign, from.data, from.stride, 0, to,
                          to_stride,       0,           block.ready};
    T(turn_rows)(walk, &turn);
}

static void T(basis_block)(const locus_rotary_walk *walk, T(block) block, T(coming) * coming) {
    const size_t head = block.head, rows = block.rows, dim = walk->op->rotary->dim;
    const T(rows) given = {T(x_row)(walk, block.token, head), walk->call->x_stride};
    REAL *hat = SCRATCH(walk, x), *y = T(y_row)(walk, block.token, head);
    const T(rows) in = T(enter)(walk, head, walk->into, given, rows, coming, hat);
    if (!walk->out_of) {
        T(turn_block)(walk, block, walk->sign, in, y, walk->heads->y_stride);
        return;
    }
    T(turn_block)(walk, block, walk->sign, in, hat, (ptrdiff_t)dim);
    T(leave)(walk, head, hat, rows, coming, y, walk->heads->y_stride);
}

/* Of the next head, or of the first one's next tokens. */
static T(coming) T(coming_rows)(const locus_rotary_walk *walk, T(block) block) {
    const bool last = block.head + 1 == walk->heads->count;
    const size_t token = last ? block.token + block.rows : block.token;
    const size_t left = last ? least_rows(LOCUS_BASIS_ROWS, walk->call->count - token) : block.rows;
    T(coming) coming = {.left = left, .step = LOCUS_ASK_ROWS};
    if (left > 0)
        coming.rows[0] = T(x_row)(walk, token, last ? 0 : block.head + 1);
    coming.stride[0] = walk->call->x_stride;
    return coming;
}

static void T(basis_all)(const locus_rotary_walk *walk) {
    const size_t count = walk->call->count;
    for (size_t t = 0; t < count; t += LOCUS_BASIS_ROWS) {
        const size_t rows = least_rows(LOCUS_BASIS_ROWS, count - t);
        const bool ready = T(prepare)(walk, t, rows);
        for (size_t h = 0; h < walk->heads->count; h++) {
            const T(block) block = {h, t, rows, ready};
            T(coming) coming = T(coming_rows)(walk, block);
            T(basis_block)(walk, block, &coming);
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

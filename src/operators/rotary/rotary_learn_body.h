/* SPDX-License-Identifier: MIT */
/* Gradients of matrices for one element type, in rotary_typed.c, whose vocabulary it speaks: sums over tokens, by
 * blocks of one head, in the data's own type for a group of tokens and then in double. What becomes of the sums:
 * rotary_reduce.c. */
/* c (+)= aᵀ b over `rows` tokens, for dim columns of each. */
static void outer_sum(const locus_rotary_walk *walk, size_t rows, rotary_rows a, rotary_rows b, real *c,
                      bool accumulate) {
    const size_t dim = walk->op->rotary->dim;
    KERNELS_OF(walk)->gemm(dim, dim, rows, a.data, 1, a.stride, b.data, b.stride, c, (ptrdiff_t)dim, accumulate);
}

/* Rows of ĝ by u, u³ and u⁵ (LOCUS_NEAR_MOMENTS) side by side, u = p/span. What flips is also multiplied by (−1)^p. */
static void weigh(const locus_rotary_walk *walk, const locus_near_run *near, rotary_block block, const real *g,
                  real *weighted) {
    const int64_t *values = locus_rotary_side(walk, 0)->values + walk->call->first + block.token;
    const double *weights = (double *)(void *)SCRATCH(walk, weights);
    const size_t count = near->count;
    for (size_t r = 0; r < block.rows; r++) {
        const real first = (real)(near->flips && values[r] % 2 != 0 ? -weights[r] : weights[r]);
        const real square = (real)(weights[r] * weights[r]);
        real *row = weighted + r * LOCUS_NEAR_MOMENTS * count;
        for (size_t i = 0; i < count; i++) {
            const real once = first * g[r * count + i], thrice = square * once;
            row[i] = once;
            row[count + i] = thrice;
            row[2 * count + i] = square * thrice;
        }
    }
}

/* One run of near blocks: moments Σ u^(2m+1) (R(−pθ/2) ĝ)(R(pθ/2) x̂)ᵀ, all of them in one product. `half` are the half
 * angles of the run's first pair. */
static void moment_run(const locus_rotary_walk *walk, const locus_near_run *near, rotary_block block, rotary_rows x,
                       rotary_rows g, const real *half, real *sums, bool accumulate) {
    const size_t pairs = walk->op->half_fine.rates.pairs, rows = block.rows, count = near->count;
    real *half_x = SCRATCH(walk, half_x), *half_g = SCRATCH(walk, half_g), *weighted = SCRATCH(walk, weighted);
    const real *sine = half + rows * pairs;
    locus_rotation shape = {.rows = rows,
                            .heads = 1,
                            .D = count,
                            .pairs = near->pairs,
                            .table_row = (ptrdiff_t)pairs,
                            .source_row = x.stride,
                            .target_row = (ptrdiff_t)count};
    KERNELS_OF(walk)->rotate(&shape, (real)walk->sign, 1, half, sine, x.data + near->first, half_x);
    shape.source_row = g.stride;
    KERNELS_OF(walk)->rotate(&shape, (real)-walk->sign, (real)walk->call->scale, half, sine, g.data + near->first,
                             half_g);
    weigh(walk, near, block, half_g, weighted);
    KERNELS_OF(walk)->gemm(LOCUS_NEAR_MOMENTS * count, count, rows, weighted, 1,
                           (ptrdiff_t)(LOCUS_NEAR_MOMENTS * count), half_x, (ptrdiff_t)count, sums, (ptrdiff_t)count,
                           accumulate);
}

static size_t table_of(const locus_rotary_walk *walk, size_t head) {
    return walk->op->rotary->tables == 1 ? 0 : walk->call->head + head;
}

static void moment_runs(const locus_rotary_walk *walk, rotary_block block, rotary_rows x, rotary_rows g,
                        bool accumulate) {
    const locus_rotary_operator *op = walk->op;
    const size_t table = table_of(walk, block.head), at = walk->call->first + block.token;
    const locus_token_side *side = locus_rotary_side(walk, 0);
    real *sums = SCRATCH(walk, moments), *half = SCRATCH(walk, half);
    if (op->near_first[table] == op->near_first[table + 1])
        return;
    (void)axis_phases(walk, &op->half, (locus_heads_range){block.head, 1}, side->coarse + at, side->fine + at,
                      block.rows, half);
    for (size_t i = op->near_first[table]; i < op->near_first[table + 1]; i++) {
        moment_run(walk, &op->near[i], block, x, g, half, sums, accumulate);
        half += op->near[i].pairs;
        sums += LOCUS_NEAR_MOMENTS * op->near[i].count * op->near[i].count;
    }
}

static void flush(const locus_rotary_walk *walk, size_t head, const locus_rotary_slot *slot) {
    const locus_rotary_operator *op = walk->op;
    size_t dim = op->rotary->dim, table = table_of(walk, head);
    const real *forward = SCRATCH(walk, forward), *backward = SCRATCH(walk, backward), *sums = SCRATCH(walk, moments);
    KERNELS_OF(walk)->add_wide(dim * dim, forward, slot->forward);
    KERNELS_OF(walk)->add_wide(dim * dim, backward, slot->backward);
    for (size_t n = op->near_first ? op->near_first[table] : 0; op->near_first && n < op->near_first[table + 1]; n++) {
        const locus_near_run *near = &op->near[n];
        for (size_t m = 0; m < LOCUS_NEAR_MOMENTS; m++)
            for (size_t i = 0; i < near->count; i++)
                for (size_t j = 0; j < near->count; j++)
                    slot->moment[m][(near->first + i) * dim + near->first + j] += (double)*sums++;
    }
}

/* Weights p/span, and the moments of near angles. */
static void begin_powers(const locus_rotary_walk *walk, rotary_block block, rotary_rows x, rotary_rows g,
                         bool accumulate) {
    const locus_token_side *side = locus_rotary_side(walk, 0);
    double *weights = (double *)(void *)SCRATCH(walk, weights);
    for (size_t r = 0; r < block.rows; r++)
        weights[r] = walk->sign * locus_token_position(side, walk->call->first + block.token + r) / walk->op->span;
    moment_runs(walk, block, x, g, accumulate);
}

/* What is summed of x̂ and R(−p)ĝ alone. */
static void sum_wedges(const locus_rotary_walk *walk, rotary_block block, rotary_rows x, const real *turned,
                       const locus_rotary_slot *slot) {
    const locus_rotary *rotary = walk->op->rotary;
    if (rotary->learned & LOCUS_LEARN_GENERATOR)
        KERNELS_OF(walk)->angle_gradient(block.rows, rotary->pairs, false, (double *)(void *)SCRATCH(walk, weights),
                                         x.data, x.stride, turned, (ptrdiff_t)rotary->dim, slot->diagonal);
    if (rotary->learned & LOCUS_LEARN_ANGLES)
        sum_angles(walk, block.token, block.rows, x.data, x.stride, turned, (ptrdiff_t)rotary->dim, slot->angles);
}

/* y = scale·U R(p) Uᵀ x, by blocks: gx = scale·U R(−p) Uᵀ gy, and the sums that gradients are made of. */
static void learn_block(const locus_rotary_walk *walk, rotary_block block, rotary_coming *coming, bool accumulate,
                        const locus_rotary_slot *slot) {
    const locus_operator_heads *heads = walk->heads;
    const size_t dim = walk->op->rotary->dim, head = block.head, token = block.token, rows = block.rows;
    real *turned = SCRATCH(walk, turned), *gx = y_row(walk, token, head), *hat = SCRATCH(walk, x);
    const rotary_rows x_given = {x_row(walk, token, head), walk->call->x_stride};
    const rotary_rows g_given = {g_row(walk, token, head), heads->gy_stride};
    rotary_rows x = {entered_rows(walk, token), walk->call->entered_stride};
    if (!x.data)
        x = enter(walk, head, walk->into, x_given, rows, coming, hat);
    const rotary_rows g = enter(walk, head, walk->out_of, g_given, rows, coming, SCRATCH(walk, g));
    if (!walk->into) { /* the products below want their right side packed */
        for (size_t r = 0; r < rows; r++)
            memcpy(hat + r * dim, x.data + (ptrdiff_t)r * x.stride, dim * sizeof(real));
        x = (rotary_rows){hat, (ptrdiff_t)dim};
    }
    if (walk->op->rotary->learned & LOCUS_LEARN_GENERATOR)
        begin_powers(walk, block, x, g, accumulate);
    const rotary_rows out = {turned, (ptrdiff_t)dim};
    turn_block(walk, block, walk->sign, x, turned, (ptrdiff_t)dim);
    outer_sum(walk, rows, g, out, SCRATCH(walk, forward), accumulate);
    turn_block(walk, block, -walk->sign, g, turned, (ptrdiff_t)dim);
    outer_sum(walk, rows, out, x, SCRATCH(walk, backward), accumulate);
    sum_wedges(walk, block, x, turned, slot);
    if (walk->into)
        leave(walk, head, turned, rows, coming, gx, heads->y_stride);
    else
        for (size_t r = 0; r < rows; r++)
            memcpy(gx + (ptrdiff_t)r * heads->y_stride, turned + r * dim, dim * sizeof(real));
}

/* Of the same head, or of the next one from the group's first token on. */
static rotary_coming coming_both(const locus_rotary_walk *walk, rotary_block block, size_t begin, size_t end) {
    const bool last = block.token + block.rows == end;
    const size_t token = last ? begin : block.token + block.rows, head = last ? block.head + 1 : block.head;
    if (head >= walk->heads->count)
        return (rotary_coming){.left = 0};
    return (rotary_coming){{x_row(walk, token, head), g_row(walk, token, head)},
                           {walk->call->x_stride, walk->heads->gy_stride},
                           least_rows(LOCUS_BASIS_ROWS, end - token),
                           LOCUS_ASK_ROWS};
}

/* Tokens at one place: see rotary_standing.c. gx may be g: it goes through scratch. */
static void learn_standing(const locus_rotary_walk *walk, rotary_block block, const locus_rotary_slot *slot,
                           size_t begin, size_t end) {
    const locus_operator_heads *heads = walk->heads;
    const size_t dim = walk->op->rotary->dim, square = dim * dim;
    const ptrdiff_t ld = (ptrdiff_t)dim, x_stride = walk->call->x_stride, g_stride = heads->gy_stride;
    const double *matrix = locus_rotary_standing_matrix(walk, block.head, block.token);
    real *turn = SCRATCH(walk, x), *sum = SCRATCH(walk, g), *turned = SCRATCH(walk, turned);
    for (size_t i = 0; i < square; i++)
        turn[i] = (real)matrix[i];
    for (size_t done = 0, rows; done < block.rows; done += rows) {
        rows = least_rows(LOCUS_BASIS_ROWS, block.rows - done);
        const size_t token = block.token + done;
        const rotary_rows x = {x_row(walk, token, block.head), x_stride};
        const rotary_rows g = {g_row(walk, token, block.head), g_stride};
        rotary_coming coming = coming_both(walk, (rotary_block){block.head, token, rows, false}, begin, end);
        coming.step = 2 * LOCUS_ASK_ROWS;
        ask(&coming, dim);
        KERNELS_OF(walk)->gemm(dim, dim, rows, g.data, 1, g.stride, x.data, x.stride, sum, ld, done > 0);
        multiply(walk, g, rows, turn, &coming, turned, ld);
        real *gx = y_row(walk, token, block.head);
        for (size_t r = 0; r < rows; r++)
            memcpy(gx + (ptrdiff_t)r * heads->y_stride, turned + r * dim, dim * sizeof(real));
    }
    double *wide = locus_rotary_standing_sum(walk);
    for (size_t i = 0; i < square; i++)
        wide[i] = (double)sum[i];
    locus_rotary_standing_add(walk, block.head, block.token, slot);
}

/* A group of tokens of one head. */
static void learn_group(const locus_rotary_walk *walk, size_t head, size_t begin, size_t end) {
    const locus_rotary_slot slot =
        locus_rotary_slot_at(walk->op, (char *)walk->heads->slots + head * walk->heads->slot_stride);
    bool summed = false;
    for (size_t t = begin, rows; t < end; t += rows) {
        const size_t standing = locus_rotary_standing_rows(walk, t, end - t);
        rows = standing > 0 ? standing : least_rows(LOCUS_BASIS_ROWS, end - t);
        rotary_block block = {head, t, rows, false};
        if (standing > 0) {
            learn_standing(walk, block, &slot, begin, end);
        } else {
            rotary_coming coming = coming_both(walk, block, begin, end);
            block.ready = prepare(walk, t, rows);
            learn_block(walk, block, &coming, summed, &slot);
            summed = true;
        }
    }
    if (summed)
        flush(walk, head, &slot);
}

static void learn_matrices(const locus_rotary_walk *walk) {
    const size_t count = walk->call->count;
    for (size_t begin = 0; begin < count && !locus_call_cancelled(); begin += LOCUS_FLUSH_ROWS)
        for (size_t h = 0; h < walk->heads->count; h++)
            learn_group(walk, h, begin, begin + least_rows(LOCUS_FLUSH_ROWS, count - begin));
}

void REAL_NAME(locus_rotary_learn)(const locus_rotary_walk *walk) {
    if (walk->op->rotary->learned & (LOCUS_LEARN_GENERATOR | LOCUS_LEARN_BASIS))
        learn_matrices(walk);
    else
        learn_angles(walk);
}

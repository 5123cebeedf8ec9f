/* SPDX-License-Identifier: MIT */
/* The loops of softmax-free attention, for one element type; see attention_soft.h. d and dv are a head's dimensions, m
 * the landmarks of a sequence. Columns of landmarks hold the scale: a product with them, plus the landmark's norm,
 * minus the row's own, is the kernel's exponent. */
#ifndef LOCUS_ATTENTION_SOFT_BODY_H
#define LOCUS_ATTENTION_SOFT_BODY_H

typedef struct soft_walk {
    const attention_soft_job *job;
    const attention_turn *turn;
    const KERNELS *kernels;
    size_t sequence, d, dv, m;
    locus_sequence_span span;
    real *tile, *weights, *sums; /* [SOFT_BLOCK][m] twice; [m] */
    /* the middle: [m, m] but for rows of values and landmarks */
    double *matrix, *inverse, *g_matrix, *work, *summed, *weighted, *g_summed, *query_marks, *key_marks, *columns;
} soft_walk;

static size_t soft_carve(const attention_soft_job *job, void *base, soft_walk *w) {
    attention_carver carver = {base, 0};
    const size_t m = job->most, d = job->turn.head_dim, dv = job->turn.value_dim, size = sizeof(double);
    const size_t square = product_of(m, m);
    const bool backward = job->turn.pass == LOCUS_PASS_BACKWARD;
    w->tile = kinds_carve(&carver, SOFT_BLOCK * m);
    w->weights = kinds_carve(&carver, SOFT_BLOCK * m);
    w->sums = kinds_carve(&carver, m);
    w->matrix = locus_attention_carve(&carver, square, size);
    w->inverse = locus_attention_carve(&carver, square, size);
    w->g_matrix = locus_attention_carve(&carver, backward ? square : 0, size);
    w->work = locus_attention_carve(&carver, locus_attention_soft_middle_work(m, job->iterations, backward), size);
    w->summed = locus_attention_carve(&carver, m * dv, size);
    w->weighted = locus_attention_carve(&carver, m * dv, size);
    w->g_summed = locus_attention_carve(&carver, backward ? m * dv : 0, size);
    w->query_marks = locus_attention_carve(&carver, m * d, size);
    w->key_marks = locus_attention_carve(&carver, m * d, size);
    w->columns = locus_attention_carve(&carver, m * d, size);
    return carver.used;
}

static size_t soft_scratch(const attention_turn *turn) {
    soft_walk w;
    return soft_carve((const attention_soft_job *)turn, NULL, &w);
}

static soft_walk soft_walk_of(const attention_soft_job *job, size_t worker, size_t sequence) {
    soft_walk w = {.job = job, .turn = &job->turn, .kernels = KERNELS_GET(), .sequence = sequence};
    soft_carve(job, job->turn.workers + worker * job->turn.worker_bytes, &w);
    w.d = job->turn.head_dim;
    w.dv = job->turn.value_dim;
    w.span = locus_plan_span(job->turn.plan, sequence);
    w.m = locus_attention_soft_landmarks(job, &w.span);
    return w;
}

static size_t soft_unit(const soft_walk *w, size_t head) {
    return w->sequence * w->turn->heads + head;
}

static size_t soft_key_unit(const soft_walk *w, size_t kv_head) {
    return w->sequence * w->turn->kv_heads + kv_head;
}

/* The matrix of landmarks number `index`, of `columns` elements for each. */
static real *soft_matrix(const soft_walk *w, void *matrices, size_t index, size_t columns) {
    return (real *)matrices + index * w->job->most * columns;
}

static real *soft_query(const soft_walk *w, attention_view view, size_t row, size_t head) {
    return kinds_row(view, w->sequence, w->span.query_first, row, head);
}

static real *soft_key(const soft_walk *w, attention_view view, size_t key, size_t kv_head) {
    return kinds_row(view, w->sequence, w->span.key_first, key, kv_head);
}

/* ---- landmarks ---- */

/* Means of runs of `tokens` rows from `row` on, their columns times the scale, and −scale·|mean|²/2. */
static void soft_pool(const soft_walk *w, const real *row, ptrdiff_t stride, size_t tokens, real *marks, real *columns,
                      real *norms) {
    double *sum = w->query_marks;
    for (size_t i = 0; i < w->m; i++) {
        const size_t first = locus_attention_soft_run(i, tokens, w->m);
        const size_t end = locus_attention_soft_run(i + 1, tokens, w->m);
        double norm = 0;
        memset(sum, 0, w->d * sizeof *sum);
        for (size_t t = first; t < end; t++)
            for (size_t j = 0; j < w->d; j++)
                sum[j] += (double)row[(ptrdiff_t)t * stride + (ptrdiff_t)j];
        for (size_t j = 0; j < w->d; j++) {
            const real mean = (real)(sum[j] / (double)(end - first));
            marks[i * w->d + j] = mean;
            columns[j * w->m + i] = (real)w->job->scale * mean;
            norm += (double)mean * (double)mean;
        }
        norms[i] = (real)(-0.5 * w->job->scale * norm);
    }
}

static void soft_pool_task(void *context, size_t index, size_t worker) {
    const attention_soft_job *job = context;
    const size_t heads = job->turn.heads, kv_heads = job->turn.kv_heads, units = job->turn.sequences * heads;
    const bool keys = index >= units;
    const size_t unit = keys ? index - units : index, width = keys ? kv_heads : heads, head = unit % width;
    const soft_walk w = soft_walk_of(job, worker, unit / width);
    const attention_view view = keys ? job->turn.key : job->turn.query;
    if (w.m == 0)
        return;
    soft_pool(&w, keys ? soft_key(&w, view, 0, head) : soft_query(&w, view, 0, head), view.token,
              keys ? w.span.key_count : w.span.query_count,
              soft_matrix(&w, keys ? job->key_marks : job->query_marks, unit, w.d),
              soft_matrix(&w, keys ? job->key_columns : job->query_columns, unit, w.d),
              soft_matrix(&w, keys ? job->key_norms : job->query_norms, unit, 1));
}

/* ---- the kernel ---- */

/* tile[i, j] = K(x_i, landmark j) of `count` rows. */
static void soft_kernel(const soft_walk *w, size_t count, const real *x, ptrdiff_t stride, const real *columns,
                        const real *norms) {
    const KERNELS *k = w->kernels;
    k->gemm(count, w->m, w->d, x, stride, 1, columns, (ptrdiff_t)w->m, w->tile, (ptrdiff_t)w->m, false);
    for (size_t i = 0; i < count; i++) {
        real *row = w->tile + i * w->m;
        const real *own = x + (ptrdiff_t)i * stride;
        k->add(w->m, row, norms, row);
        k->exp_sum(w->m, (real)(0.5 * w->job->scale) * k->dot(w->d, own, own), row);
    }
}

typedef struct soft_gradients {
    const real *marks; /* [m, d] */
    real *g_marks;     /* [m, d], added to; what each landmark has of itself is left to soft_marks_end */
    real *sums;        /* [m]: how often it is to be taken off */
    real *g_x;         /* rows added to, or NULL */
    ptrdiff_t g_stride;
} soft_gradients;

/* weights = dL/dK of the tile: with W = scale·(dL/dK ∘ K), dx_i += Σ_j W_ij (y_j − x_i) and dy_j += Σ_i W_ij (x_i −
 * y_j). */
static void soft_kernel_backward(const soft_walk *w, size_t count, const real *x, ptrdiff_t stride,
                                 const soft_gradients *to) {
    const KERNELS *k = w->kernels;
    for (size_t i = 0; i < count; i++) {
        real *row = w->weights + i * w->m, sum = 0;
        k->multiply(w->m, row, w->tile + i * w->m, row);
        k->scale(w->m, (real)w->job->scale, row, row);
        k->add(w->m, to->sums, row, to->sums);
        for (size_t j = 0; j < w->m; j++)
            sum += row[j];
        if (to->g_x)
            k->axpy(w->d, -sum, x + (ptrdiff_t)i * stride, to->g_x + (ptrdiff_t)i * to->g_stride);
    }
    if (to->g_x)
        k->gemm(count, w->d, w->m, w->weights, (ptrdiff_t)w->m, 1, to->marks, (ptrdiff_t)w->d, to->g_x, to->g_stride,
                true);
    kinds_add_products(k, count, w->weights, (ptrdiff_t)w->m, w->m, x, stride, w->d, to->g_marks);
}

static void soft_marks_end(const soft_walk *w, const soft_gradients *to) {
    for (size_t j = 0; j < w->m; j++)
        w->kernels->axpy(w->d, -to->sums[j], to->marks + j * w->d, to->g_marks + j * w->d);
}

/* ---- P = K(q̃, k')·v', then M = X·P ---- */

static size_t soft_block(size_t done, size_t count) {
    return count - done < SOFT_BLOCK ? count - done : SOFT_BLOCK;
}

static void soft_keys_task(void *context, size_t index, size_t worker) {
    const attention_soft_job *job = context;
    const size_t head = index % job->turn.heads, kv_head = head / job->turn.group;
    const attention_piece *piece = &job->turn.keys.pieces[index / job->turn.heads];
    const soft_walk w = soft_walk_of(job, worker, piece->sequence);
    const attention_turn *turn = w.turn;
    const real *columns = soft_matrix(&w, job->query_columns, soft_unit(&w, head), w.d);
    const real *norms = soft_matrix(&w, job->query_norms, soft_unit(&w, head), 1);
    real *sum = soft_matrix(&w, job->key_partials, index, w.dv);
    memset(sum, 0, w.m * w.dv * sizeof *sum);
    for (size_t done = 0; w.m > 0 && done < piece->count; done += SOFT_BLOCK) {
        const size_t count = soft_block(done, piece->count), key = piece->first + done;
        soft_kernel(&w, count, soft_key(&w, turn->key, key, kv_head), turn->key.token, columns, norms);
        kinds_add_products(w.kernels, count, w.tile, (ptrdiff_t)w.m, w.m, soft_key(&w, turn->value, key, kv_head),
                           turn->value.token, w.dv, sum);
    }
}

/* sum[m, columns] = the partials of a unit's pieces, in their order. */
static void soft_fold(const soft_walk *w, const attention_cut *cut, void *partials, size_t head, size_t columns,
                      real *sum) {
    memset(sum, 0, w->m * columns * sizeof *sum);
    for (size_t p = cut->of[w->sequence]; p < cut->of[w->sequence + 1]; p++)
        w->kernels->add(w->m * columns, sum, soft_matrix(w, partials, p * w->turn->heads + head, columns), sum);
}

static void soft_widen(size_t count, const real *from, double *to) {
    for (size_t i = 0; i < count; i++)
        to[i] = (double)from[i];
}

static void soft_narrow(size_t count, const double *from, real *to) {
    for (size_t i = 0; i < count; i++)
        to[i] = (real)from[i];
}

/* A = K(q̃, k̃), in double. */
static void soft_middle_matrix(const soft_walk *w, size_t head) {
    soft_widen(w->m * w->d, soft_matrix(w, w->job->query_marks, soft_unit(w, head), w->d), w->query_marks);
    soft_widen(w->m * w->d, soft_matrix(w, w->job->key_marks, soft_key_unit(w, head / w->turn->group), w->d),
               w->key_marks);
    const locus_kernels_float64 *k = locus_kernels_float64_get();
    const ptrdiff_t m = (ptrdiff_t)w->m, d = (ptrdiff_t)w->d;
    const double half = -0.5 * w->job->scale;
    k->transpose(w->m, w->d, w->key_marks, d, w->columns, m);
    k->scale(w->m * w->d, w->job->scale, w->columns, w->columns);
    for (size_t j = 0; j < w->m; j++)
        w->matrix[j] = half * k->dot(w->d, w->key_marks + j * w->d, w->key_marks + j * w->d);
    for (size_t i = 1; i < w->m; i++)
        memcpy(w->matrix + i * w->m, w->matrix, w->m * sizeof *w->matrix);
    k->gemm(w->m, w->m, w->d, w->query_marks, d, 1, w->columns, m, w->matrix, m, true);
    for (size_t i = 0; i < w->m; i++) {
        const double *own = w->query_marks + i * w->d;
        k->exp_sum(w->m, -half * k->dot(w->d, own, own), w->matrix + i * w->m);
    }
}

static void soft_middle_task(void *context, size_t unit, size_t worker) {
    const attention_soft_job *job = context;
    const size_t head = unit % job->turn.heads;
    const soft_walk w = soft_walk_of(job, worker, unit / job->turn.heads);
    const ptrdiff_t m = (ptrdiff_t)w.m, dv = (ptrdiff_t)w.dv;
    real *summed = soft_matrix(&w, job->summed, unit, w.dv), *weighted = soft_matrix(&w, job->weighted, unit, w.dv);
    if (w.m == 0)
        return;
    soft_fold(&w, &job->turn.keys, job->key_partials, head, w.dv, summed);
    soft_middle_matrix(&w, head);
    locus_attention_soft_inverse(w.m, job->iterations, w.matrix, w.inverse, w.work);
    soft_widen(w.m * w.dv, summed, w.summed);
    locus_kernels_float64_get()->gemm(w.m, w.dv, w.m, w.inverse, m, 1, w.summed, dv, w.weighted, dv, false);
    soft_narrow(w.m * w.dv, w.weighted, weighted);
    if (job->turn.pass == LOCUS_PASS_FORWARD)
        return;
    w.kernels->transpose(w.m, w.dv, weighted, dv, soft_matrix(&w, job->weighted_columns, unit, w.dv), m);
    memcpy(job->inverses + unit * job->most * job->most, w.inverse, w.m * w.m * sizeof *w.inverse);
}

static void soft_prepare(attention_turn *turn) {
    const size_t units = turn->sequences * turn->heads;
    locus_parallel_for(units + turn->sequences * turn->kv_heads, soft_pool_task, turn);
    locus_parallel_for(turn->keys.count * turn->heads, soft_keys_task, turn);
    locus_parallel_for(units, soft_middle_task, turn);
}

/* ---- o' = K(q', k̃)·M ---- */

static void soft_queries_task(void *context, size_t index, size_t worker) {
    const attention_soft_job *job = context;
    const size_t head = index % job->turn.heads;
    const attention_piece *piece = &job->turn.queries.pieces[index / job->turn.heads];
    const soft_walk w = soft_walk_of(job, worker, piece->sequence);
    const attention_turn *turn = w.turn;
    const size_t keys = soft_key_unit(&w, head / turn->group);
    for (size_t done = 0; done < piece->count; done += SOFT_BLOCK) {
        const size_t count = soft_block(done, piece->count), row = piece->first + done;
        if (w.m > 0)
            soft_kernel(&w, count, soft_query(&w, turn->query, row, head), turn->query.token,
                        soft_matrix(&w, job->key_columns, keys, w.d), soft_matrix(&w, job->key_norms, keys, 1));
        w.kernels->gemm(count, w.dv, w.m, w.tile, (ptrdiff_t)w.m, 1,
                        soft_matrix(&w, job->weighted, soft_unit(&w, head), w.dv), (ptrdiff_t)w.dv,
                        soft_query(&w, turn->output, row, head), turn->output.token, false);
        for (size_t r = 0; r < count; r++)
            kinds_set(soft_query(&w, turn->log_sum_exp, row + r, head), w.span.key_count > 0 ? 0 : -(double)INFINITY);
    }
}

static void soft_forward(attention_turn *turn) {
    soft_prepare(turn);
    locus_parallel_for(turn->queries.count * turn->heads, soft_queries_task, turn);
}

/* ---- backward ---- */

/* Landmarks are means of queries and of keys: both gradients come by way of either. */
static bool soft_wants_kernels(const attention_turn *turn) {
    return turn->wants_query || turn->wants_key;
}

/* o' = F·M, F = K(q', k̃): dM += Fᵀ·do', dF = do'·Mᵀ. */
static void soft_queries_backward_task(void *context, size_t index, size_t worker) {
    const attention_soft_job *job = context;
    const size_t head = index % job->turn.heads;
    const attention_piece *piece = &job->turn.queries.pieces[index / job->turn.heads];
    const soft_walk w = soft_walk_of(job, worker, piece->sequence);
    const attention_turn *turn = w.turn;
    const size_t keys = soft_key_unit(&w, head / turn->group);
    real *g_weighted = soft_matrix(&w, job->g_weighted_partials, index, w.dv);
    soft_gradients to = {.marks = soft_matrix(&w, job->key_marks, keys, w.d),
                         .g_marks = soft_matrix(&w, job->g_key_mark_partials, index, w.d),
                         .sums = w.sums,
                         .g_stride = turn->g_query.token};
    if (turn->wants_query)
        kinds_zero_rows(turn->g_query, soft_query(&w, turn->g_query, piece->first, head), piece->count, w.d);
    if (w.m == 0)
        return;
    memset(g_weighted, 0, w.m * w.dv * sizeof *g_weighted);
    memset(to.g_marks, 0, w.m * w.d * sizeof *to.g_marks);
    memset(to.sums, 0, w.m * sizeof *to.sums);
    for (size_t done = 0; done < piece->count; done += SOFT_BLOCK) {
        const size_t count = soft_block(done, piece->count), row = piece->first + done;
        const real *query = soft_query(&w, turn->query, row, head), *grad = soft_query(&w, turn->g_output, row, head);
        soft_kernel(&w, count, query, turn->query.token, soft_matrix(&w, job->key_columns, keys, w.d),
                    soft_matrix(&w, job->key_norms, keys, 1));
        kinds_add_products(w.kernels, count, w.tile, (ptrdiff_t)w.m, w.m, grad, turn->g_output.token, w.dv, g_weighted);
        if (!soft_wants_kernels(turn))
            continue;
        w.kernels->gemm(count, w.m, w.dv, grad, turn->g_output.token, 1,
                        soft_matrix(&w, job->weighted_columns, soft_unit(&w, head), w.dv), (ptrdiff_t)w.m, w.weights,
                        (ptrdiff_t)w.m, false);
        to.g_x = turn->wants_query ? soft_query(&w, turn->g_query, row, head) : NULL;
        soft_kernel_backward(&w, count, query, turn->query.token, &to);
    }
    soft_marks_end(&w, &to);
}

/* As in soft_kernel_backward: to[i] += Σ_j W_ij (others_j − own_i), W_ij at i·row + j·column. */
static void soft_middle_side(const soft_walk *w, ptrdiff_t row, ptrdiff_t column, const double *own,
                             const double *others, double *to) {
    const locus_kernels_float64 *k = locus_kernels_float64_get();
    const ptrdiff_t d = (ptrdiff_t)w->d;
    k->gemm(w->m, w->d, w->m, w->g_matrix, row, column, others, d, to, d, true);
    for (size_t i = 0; i < w->m; i++) {
        double sum = 0;
        for (size_t j = 0; j < w->m; j++)
            sum += w->g_matrix[(ptrdiff_t)i * row + (ptrdiff_t)j * column];
        k->axpy(w->d, -sum, own + i * w->d, to + i * w->d);
    }
}

/* dA to the landmarks, [m, d]: g_query is set, g_key added to. */
static void soft_middle_marks(const soft_walk *w, real *g_query, real *g_key) {
    const ptrdiff_t m = (ptrdiff_t)w->m;
    const size_t count = w->m * w->d;
    for (size_t i = 0; i < w->m * w->m; i++)
        w->g_matrix[i] *= w->job->scale * w->matrix[i];
    memset(w->columns, 0, count * sizeof *w->columns);
    soft_middle_side(w, m, 1, w->query_marks, w->key_marks, w->columns);
    soft_narrow(count, w->columns, g_query);
    soft_widen(count, g_key, w->columns);
    soft_middle_side(w, 1, m, w->key_marks, w->query_marks, w->columns);
    soft_narrow(count, w->columns, g_key);
}

/* M = X·P, X = newton(A): dP = Xᵀ·dM, dX = dM·Pᵀ. */
static void soft_middle_backward_task(void *context, size_t unit, size_t worker) {
    const attention_soft_job *job = context;
    const locus_kernels_float64 *k = locus_kernels_float64_get();
    const size_t head = unit % job->turn.heads;
    const soft_walk w = soft_walk_of(job, worker, unit / job->turn.heads);
    const ptrdiff_t m = (ptrdiff_t)w.m, dv = (ptrdiff_t)w.dv;
    real *g_weighted = soft_matrix(&w, job->g_weighted, unit, w.dv);
    real *g_summed = soft_matrix(&w, job->g_summed, unit, w.dv);
    real *g_key_marks = soft_matrix(&w, job->g_key_marks, unit, w.d);
    double *g_inverse = w.inverse;
    if (w.m == 0)
        return;
    soft_fold(&w, &job->turn.queries, job->g_weighted_partials, head, w.dv, g_weighted);
    soft_fold(&w, &job->turn.queries, job->g_key_mark_partials, head, w.d, g_key_marks);
    soft_middle_matrix(&w, head);
    soft_widen(w.m * w.dv, g_weighted, w.weighted);
    k->gemm(w.m, w.dv, w.m, job->inverses + unit * job->most * job->most, 1, m, w.weighted, dv, w.g_summed, dv, false);
    soft_narrow(w.m * w.dv, w.g_summed, g_summed);
    w.kernels->transpose(w.m, w.dv, g_summed, dv, soft_matrix(&w, job->g_summed_columns, unit, w.dv), m);
    if (!soft_wants_kernels(w.turn))
        return;
    soft_widen(w.m * w.dv, soft_matrix(&w, job->summed, unit, w.dv), w.summed);
    k->transpose(w.m, w.dv, w.summed, dv, w.g_summed, m);
    k->gemm(w.m, w.m, w.dv, w.weighted, dv, 1, w.g_summed, m, g_inverse, m, false);
    locus_attention_soft_inverse_backward(w.m, job->iterations, w.matrix, g_inverse, w.g_matrix, w.work);
    soft_middle_marks(&w, soft_matrix(&w, job->g_query_marks, unit, w.d), g_key_marks);
}

/* P = Eᵀ·v', E = K(k', q̃): dv' = E·dP, dE = v'·dPᵀ; heads of a group add up. */
static void soft_keys_backward_block(const soft_walk *w, size_t key, size_t count, size_t head, soft_gradients *to) {
    const attention_soft_job *job = w->job;
    const attention_turn *turn = w->turn;
    const size_t kv_head = head / turn->group, unit = soft_unit(w, head);
    const real *x = soft_key(w, turn->key, key, kv_head);
    soft_kernel(w, count, x, turn->key.token, soft_matrix(w, job->query_columns, unit, w->d),
                soft_matrix(w, job->query_norms, unit, 1));
    if (turn->wants_value)
        w->kernels->gemm(count, w->dv, w->m, w->tile, (ptrdiff_t)w->m, 1, soft_matrix(w, job->g_summed, unit, w->dv),
                         (ptrdiff_t)w->dv, soft_key(w, turn->g_value, key, kv_head), turn->g_value.token, true);
    if (!soft_wants_kernels(turn))
        return;
    w->kernels->gemm(count, w->m, w->dv, soft_key(w, turn->value, key, kv_head), turn->value.token, 1,
                     soft_matrix(w, job->g_summed_columns, unit, w->dv), (ptrdiff_t)w->m, w->weights, (ptrdiff_t)w->m,
                     false);
    to->g_x = turn->wants_key ? soft_key(w, turn->g_key, key, kv_head) : NULL;
    soft_kernel_backward(w, count, x, turn->key.token, to);
}

static void soft_keys_backward_task(void *context, size_t index, size_t worker) {
    const attention_soft_job *job = context;
    const attention_turn *turn = &job->turn;
    const size_t kv_head = index % turn->kv_heads;
    const attention_piece *piece = &job->turn.keys.pieces[index / turn->kv_heads];
    const soft_walk w = soft_walk_of(job, worker, piece->sequence);
    if (turn->wants_key)
        kinds_zero_rows(turn->g_key, soft_key(&w, turn->g_key, piece->first, kv_head), piece->count, w.d);
    if (turn->wants_value)
        kinds_zero_rows(turn->g_value, soft_key(&w, turn->g_value, piece->first, kv_head), piece->count, w.dv);
    for (size_t g = 0; w.m > 0 && g < turn->group; g++) {
        const size_t head = kv_head * turn->group + g;
        soft_gradients to = {
            .marks = soft_matrix(&w, job->query_marks, soft_unit(&w, head), w.d),
            .g_marks = soft_matrix(&w, job->g_query_mark_partials, index / turn->kv_heads * turn->heads + head, w.d),
            .sums = w.sums,
            .g_stride = turn->g_key.token};
        memset(to.g_marks, 0, w.m * w.d * sizeof *to.g_marks);
        memset(to.sums, 0, w.m * sizeof *to.sums);
        for (size_t done = 0; done < piece->count; done += SOFT_BLOCK)
            soft_keys_backward_block(&w, piece->first + done, soft_block(done, piece->count), head, &to);
        soft_marks_end(&w, &to);
    }
}

static void soft_query_marks_task(void *context, size_t unit, size_t worker) {
    const attention_soft_job *job = context;
    const soft_walk w = soft_walk_of(job, worker, unit / job->turn.heads);
    real *sum = soft_matrix(&w, job->g_query_marks, unit, w.d);
    const attention_cut *cut = &job->turn.keys;
    for (size_t p = cut->of[w.sequence]; w.m > 0 && p < cut->of[w.sequence + 1]; p++)
        w.kernels->add(w.m * w.d, sum,
                       soft_matrix(&w, job->g_query_mark_partials, p * job->turn.heads + unit % job->turn.heads, w.d),
                       sum);
}

/* A token gets its run's share of the landmark's gradient. `row`: of the gradient, of token `first` of `tokens`. */
static void soft_spread(const soft_walk *w, const attention_piece *piece, size_t tokens, const real *g_marks, real *row,
                        ptrdiff_t stride) {
    for (size_t t = piece->first; t < piece->first + piece->count; t++, row += stride) {
        const size_t mark = ((t + 1) * w->m - 1) / tokens;
        const size_t run =
            locus_attention_soft_run(mark + 1, tokens, w->m) - locus_attention_soft_run(mark, tokens, w->m);
        w->kernels->axpy(w->d, 1 / (real)run, g_marks + mark * w->d, row);
    }
}

static void soft_spread_task(void *context, size_t index, size_t worker) {
    const attention_soft_job *job = context;
    const attention_turn *turn = &job->turn;
    const size_t queries = job->turn.queries.count * turn->heads;
    const bool keys = index >= queries;
    const size_t own = keys ? index - queries : index, width = keys ? turn->kv_heads : turn->heads, head = own % width;
    const attention_piece *piece = &(keys ? job->turn.keys : job->turn.queries).pieces[own / width];
    const soft_walk w = soft_walk_of(job, worker, piece->sequence);
    if (w.m == 0 || !(keys ? turn->wants_key : turn->wants_query))
        return;
    if (!keys) {
        soft_spread(&w, piece, w.span.query_count, soft_matrix(&w, job->g_query_marks, soft_unit(&w, head), w.d),
                    soft_query(&w, turn->g_query, piece->first, head), turn->g_query.token);
        return;
    }
    for (size_t g = 0; g < turn->group; g++)
        soft_spread(&w, piece, w.span.key_count,
                    soft_matrix(&w, job->g_key_marks, soft_unit(&w, head * turn->group + g), w.d),
                    soft_key(&w, turn->g_key, piece->first, head), turn->g_key.token);
}

static void soft_backward(attention_turn *turn) {
    const size_t units = turn->sequences * turn->heads, queries = turn->queries.count * turn->heads;
    soft_prepare(turn);
    locus_parallel_for(queries, soft_queries_backward_task, turn);
    locus_parallel_for(units, soft_middle_backward_task, turn);
    locus_parallel_for(turn->keys.count * turn->kv_heads, soft_keys_backward_task, turn);
    if (!soft_wants_kernels(turn))
        return;
    locus_parallel_for(units, soft_query_marks_task, turn);
    locus_parallel_for(queries + turn->keys.count * turn->kv_heads, soft_spread_task, turn);
}

const attention_bodies REAL_NAME(locus_attention_soft) = {
    .scratch = soft_scratch, .forward = soft_forward, .backward = soft_backward};

#endif

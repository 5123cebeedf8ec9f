/* SPDX-License-Identifier: MIT */
/* Embeddings for locus_apply: y = x ± Σ e over the terms. The tokens in use are cut into pieces of equal size by shape,
 * which run in parallel, so results do not depend on threads. Rows of half types are widened a few at a time, all terms
 * are added, and the sum is rounded once; gradients of parameters see a float32 copy of gy.
 *
 *   workspace   | scratch and widened rows [workers] |     or, for gradients of half types, | gy | */
#include "kernels/half_rows.h"
#include "plan/apply_job.h"

#include <locus/parallel.h>

#define PIECE_BYTES 131072 /* of data */
#define PIECE_TOKENS 64    /* at least */

const locus_embedding *locus_apply_embedding(const locus_plan *plan, size_t term, locus_role role) {
    const locus_placed *placed = &plan->terms[term]->placed;
    return role == LOCUS_ROLE_ENCODED ? placed->encoded : placed->embedding;
}

static double sign_of(const locus_apply_job *job) {
    return job->direction == LOCUS_INVERSE ? -1 : 1;
}

/* ---- sizes ---- */

static size_t scratch_bytes(const locus_apply_job *job, locus_dtype dtype) {
    size_t bytes = 0;
    for (size_t i = 0; i < job->plan->term_count; i++) {
        const locus_embedding *embedding = locus_apply_embedding(job->plan, i, job->site.role);
        if (!embedding || !embedding->class->scratch_bytes)
            continue;
        const size_t own = embedding->class->scratch_bytes(embedding, locus_dtype_working(dtype));
        bytes = own > bytes ? own : bytes;
    }
    return locus_aligned(bytes);
}

static size_t desk_bytes(const locus_apply_job *job, locus_dtype dtype) {
    const size_t rows = locus_dtype_is_half(dtype) ? LOCUS_EMBEDDING_ROWS * job->site.dim * sizeof(float) : 0;
    return scratch_bytes(job, dtype) + locus_aligned(rows);
}

static bool learns_anything(const locus_apply_job *job) {
    for (size_t i = 0; i < job->plan->term_count; i++) {
        const locus_embedding *embedding = locus_apply_embedding(job->plan, i, job->site.role);
        if (embedding && embedding->class->gradient_pieces &&
            (job->site.side->limit || embedding->class->gradient_pieces(embedding) > 0))
            return true;
    }
    return false;
}

size_t locus_apply_embedding_bytes(const locus_apply_job *job, locus_dtype dtype, bool learns) {
    const size_t desks = locus_threads() * desk_bytes(job, dtype);
    const size_t copy = learns && learns_anything(job) ? locus_apply_wide_bytes(&job->site, dtype) : 0;
    return desks > copy ? desks : copy;
}

/* ---- forward ---- */

/* One execution. */
typedef struct locus_embedding_walk {
    const locus_apply_job *job;
    locus_token_rows x, y;
    size_t piece, desk, scratch; /* tokens of a piece; bytes */
} locus_embedding_walk;

typedef struct locus_apply_piece {
    const locus_embedding_walk *walk;
    char *desk;
} locus_apply_piece;

static void *row(const locus_apply_job *job, const locus_token_rows *rows, size_t token) {
    return (char *)rows->data +
           locus_token_rows_at(rows, job->site.side, token) * (ptrdiff_t)locus_dtype_size(job->y->dtype);
}

/* How many of `count` tokens, `token` and those behind it, lie together in both tensors. */
static size_t together(const locus_embedding_walk *walk, size_t token, size_t count) {
    const bool apart = walk->x.apart || walk->y.apart;
    const size_t left = apart ? locus_token_side_find(walk->job->site.side, token).end - token : count;
    return left < count ? left : count;
}

/* All terms on a few rows: the first reads what `call` says, further ones what it wrote. */
static void add_terms(const locus_apply_job *job, locus_embedding_call call) {
    for (size_t i = 0; i < job->plan->term_count; i++) {
        const locus_embedding *embedding = locus_apply_embedding(job->plan, i, job->site.role);
        if (!embedding)
            continue;
        embedding->class->add(embedding, &call);
        call.x = call.y;
        call.x_stride = call.y_stride;
    }
}

static void add_widened(const locus_apply_piece *piece, locus_embedding_call call) {
    const locus_apply_job *job = piece->walk->job;
    const size_t dim = job->site.dim;
    float *rows = (float *)(void *)(piece->desk + piece->walk->scratch);
    const locus_half_rows from = {job->x->dtype, 1, dim, call.x_stride, 0},
                          to = {job->y->dtype, 1, dim, call.y_stride, 0};
    locus_half_rows_widen(&from, call.count, call.x, rows);
    void *y = call.y;
    call.dtype = LOCUS_FLOAT32;
    call.x = call.y = rows;
    call.x_stride = call.y_stride = (ptrdiff_t)dim;
    add_terms(job, call);
    locus_half_rows_narrow(&to, call.count, rows, y);
}

static void embed_tokens(void *context, size_t first, size_t count) {
    const locus_apply_piece *piece = context;
    const locus_embedding_walk *walk = piece->walk;
    const locus_apply_job *job = walk->job;
    for (size_t done = 0, block; done < count; done += block) {
        const size_t left = together(walk, first + done, count - done);
        block = left < LOCUS_EMBEDDING_ROWS ? left : LOCUS_EMBEDDING_ROWS;
        const locus_embedding_call call = {.dtype = job->y->dtype,
                                           .sign = sign_of(job),
                                           .first = first + done,
                                           .count = block,
                                           .x = row(job, &walk->x, first + done),
                                           .x_stride = walk->x.token,
                                           .y = row(job, &walk->y, first + done),
                                           .y_stride = walk->y.token,
                                           .scratch = piece->desk};
        if (locus_dtype_is_half(call.dtype))
            add_widened(piece, call);
        else
            add_terms(job, call);
    }
}

static size_t piece_tokens(const locus_apply_job *job) {
    const size_t bytes = job->site.dim * locus_dtype_size(job->y->dtype);
    return bytes > 0 && PIECE_BYTES / bytes > PIECE_TOKENS ? PIECE_BYTES / bytes : PIECE_TOKENS;
}

static void run_piece(void *context, size_t index, size_t worker) {
    const locus_embedding_walk *walk = context;
    const locus_apply_job *job = walk->job;
    const size_t begin = index * walk->piece, end = begin + walk->piece, used = job->site.side->used;
    locus_apply_piece piece = {walk, walk->desk > 0 ? job->workspace + worker * walk->desk : NULL};
    locus_token_side_walk(job->site.side, begin, end < used ? end : used, embed_tokens, &piece);
}

void locus_apply_embedding_run(const locus_apply_job *job) {
    const locus_dtype dtype = job->y->dtype;
    locus_embedding_walk walk = {.job = job,
                                 .x = locus_apply_rows(&job->site, job->x),
                                 .y = locus_apply_rows(&job->site, job->y),
                                 .piece = piece_tokens(job),
                                 .desk = desk_bytes(job, dtype),
                                 .scratch = scratch_bytes(job, dtype)};
    locus_parallel_for((job->site.side->used + walk.piece - 1) / walk.piece, run_piece, &walk);
}

/* ---- gradients ---- */

typedef struct locus_embedding_gradient_job {
    const locus_apply_job *job;
    const locus_embedding *embedding;
    locus_embedding_rows gy;
    const locus_tensor *parameters;
} locus_embedding_gradient_job;

static void run_gradient(void *context, size_t piece, size_t worker) {
    const locus_embedding_gradient_job *own = context;
    (void)worker;
    own->embedding->class->gradient(own->embedding, piece, sign_of(own->job), &own->gy, own->parameters);
}

void locus_apply_embedding_gradients(const locus_apply_job *job) {
    if (!learns_anything(job))
        return;
    const int64_t shape[] = {(int64_t)job->site.tokens, (int64_t)job->site.dim};
    const locus_tensor wide = locus_tensor_view(job->workspace, LOCUS_FLOAT32, 2, shape);
    const bool half = locus_dtype_is_half(job->gy->dtype);
    if (half)
        locus_apply_convert(&job->site, job->gy, wide.data, false);
    for (size_t i = 0; i < job->plan->term_count; i++) {
        const locus_embedding *embedding = locus_apply_embedding(job->plan, i, job->site.role);
        if (!embedding || !embedding->class->gradient_pieces)
            continue;
        const locus_tensor *gy = half ? &wide : job->gy;
        locus_embedding_gradient_job own = {job,
                                            embedding,
                                            {gy->dtype, locus_apply_rows(&job->site, gy), job->site.side},
                                            job->parameters + locus_binding_parameters(job->plan->binding)->first[i]};
        locus_parallel_for(embedding->class->gradient_pieces(embedding), run_gradient, &own);
    }
}

/* SPDX-License-Identifier: MIT */
/* See operate.h. Workspace:
 *
 *   slots [pieces, heads] | scratch [workers] */
#include "encoding/operate.h"

#include <locus/parallel.h>
#include <string.h>

#define PIECE_BYTES 131072 /* of data, where the work is only to walk it */
#define BASIS_TOKENS 64    /* or so many tokens, where there are products to do */
#define GRADIENT_PIECES 16 /* so many slots for each head, at most */
#define GRADIENT_TOKENS 256
#define GRADIENT_FEW 1024 /* up to so many tokens threads matter more than what a slot costs */

/* How the tokens in use are cut, by shape only. */
typedef struct locus_operate_cut {
    size_t piece_tokens, pieces;
    size_t slot_bytes, scratch_bytes;
} locus_operate_cut;

/* One execution. */
typedef struct locus_operate_job {
    const locus_operate *operate;
    const locus_whole_stream *stream;
    locus_operate_cut cut;
    bool learns;
    char *slots, *scratch;
} locus_operate_job;

typedef struct locus_operate_piece {
    const locus_operate_job *job;
    size_t index, worker;
} locus_operate_piece;

/* ---- sizes ---- */

static size_t rounded(size_t bytes) {
    return (bytes + LOCUS_ALIGNMENT - 1) / LOCUS_ALIGNMENT * LOCUS_ALIGNMENT;
}

static size_t quotient_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

/* With slots: few pieces, each of whole groups of GRADIENT_TOKENS. */
static locus_operate_cut cut_of(const locus_operate *operate, bool learns) {
    const locus_operator_class *class = operate->op->class;
    const size_t used = operate->side->used,
                 token_bytes = operate->heads * operate->dim * locus_dtype_size(operate->dtype);
    locus_operate_cut cut = {.piece_tokens = PIECE_BYTES / (token_bytes ? token_bytes : 1)};
    if (cut.piece_tokens < BASIS_TOKENS)
        cut.piece_tokens = BASIS_TOKENS;
    if (learns) {
        const size_t least = used > GRADIENT_FEW ? 2 * GRADIENT_TOKENS : GRADIENT_TOKENS;
        size_t groups = quotient_up(quotient_up(used, least), GRADIENT_PIECES);
        cut.piece_tokens = least * (groups ? groups : 1);
        cut.slot_bytes = rounded(class->slot_bytes(operate->op));
    }
    cut.pieces = quotient_up(used, cut.piece_tokens);
    cut.scratch_bytes = rounded(class->heads_scratch_bytes(operate->op, operate->dtype, operate->heads));
    return cut;
}

static bool learns_anything(const locus_operate *operate) {
    return operate->op->class->slot_bytes(operate->op) > 0;
}

size_t locus_operate_bytes(const locus_operate *operate, bool learns) {
    const locus_operate_cut cut = cut_of(operate, learns && learns_anything(operate));
    return cut.pieces * operate->heads * cut.slot_bytes + locus_threads() * cut.scratch_bytes;
}

/* ---- execution ---- */

static char *row_at(const void *data, size_t token, ptrdiff_t row, locus_dtype dtype) {
    return (char *)data + (ptrdiff_t)token * row * (ptrdiff_t)locus_dtype_size(dtype);
}

static void *scratch_of(const locus_operate_job *job, size_t worker) {
    return job->cut.scratch_bytes > 0 ? job->scratch + worker * job->cut.scratch_bytes : NULL;
}

static void visit_tokens(void *context, size_t first, size_t count) {
    const locus_operate_piece *piece = context;
    const locus_operate_job *job = piece->job;
    const locus_operate *operate = job->operate;
    const locus_whole_stream *stream = job->stream;
    const locus_operator *op = operate->op;
    locus_operator_call call = {.role = stream->role,
                                .direction = stream->direction,
                                .coordinates = LOCUS_OUTER,
                                .dtype = operate->dtype,
                                .first = first,
                                .count = count,
                                .scale = 1,
                                .scratch = scratch_of(job, piece->worker)};
    locus_operator_heads heads = {.count = operate->heads,
                                  .y = row_at(stream->y, first, stream->y_row, operate->dtype),
                                  .y_stride = stream->y_row,
                                  .y_head = stream->y_head};
    if (stream->x) {
        call.x = row_at(stream->x, first, stream->x_row, operate->dtype);
        call.x_stride = stream->x_row;
        heads.x_head = stream->x_head;
    }
    if (!stream->gy) {
        op->class->forward_heads(op, &call, &heads);
        return;
    }
    heads.gy = row_at(stream->gy, first, stream->gy_row, operate->dtype);
    heads.gy_stride = stream->gy_row;
    heads.gy_head = stream->gy_head;
    if (job->learns) {
        heads.slots = job->slots + piece->index * operate->heads * job->cut.slot_bytes;
        heads.slot_stride = job->cut.slot_bytes;
    }
    op->class->backward_heads(op, &call, &heads);
}

static void run_piece(void *context, size_t index, size_t worker) {
    const locus_operate_job *job = context;
    const locus_operate_cut *cut = &job->cut;
    const size_t begin = index * cut->piece_tokens, used = job->operate->side->used;
    const size_t end = begin + cut->piece_tokens < used ? begin + cut->piece_tokens : used;
    locus_operate_piece piece = {job, index, worker};
    if (job->learns)
        memset(job->slots + index * job->operate->heads * cut->slot_bytes, 0, job->operate->heads * cut->slot_bytes);
    locus_token_side_walk(job->operate->side, begin, end, visit_tokens, &piece);
}

static locus_operate_job job_of(const locus_operate *operate, const locus_whole_stream *stream, bool learns,
                                void *workspace) {
    locus_operate_job job = {.operate = operate, .stream = stream, .cut = cut_of(operate, learns), .learns = learns};
    job.slots = workspace;
    job.scratch = workspace ? job.slots + job.cut.pieces * operate->heads * job.cut.slot_bytes : NULL;
    return job;
}

void locus_operate_forward(const locus_operate *operate, const locus_whole_stream *stream, void *workspace) {
    locus_operate_job job = job_of(operate, stream, false, workspace);
    locus_parallel_for(job.cut.pieces, run_piece, &job);
}

/* ---- parameters ---- */

static void reduce_head(void *context, size_t head, size_t worker) {
    const locus_operate_job *job = context;
    const locus_operator *op = job->operate->op;
    (void)worker;
    op->class->reduce(op, head, job->slots + head * job->cut.slot_bytes, job->cut.pieces,
                      job->operate->heads * job->cut.slot_bytes, job->operate->parameters);
}

static void reduce_heads(locus_operate_job *job) {
    if (job->operate->op->heads_apart) {
        locus_parallel_for(job->operate->heads, reduce_head, job);
        return;
    }
    for (size_t head = 0; head < job->operate->heads; head++)
        reduce_head(job, head, 0);
}

void locus_operate_backward(const locus_operate *operate, const locus_whole_stream *stream, void *workspace) {
    const bool learns = operate->parameters && learns_anything(operate);
    locus_whole_stream given = *stream;
    if (!learns)
        given.x = NULL;
    locus_operate_job job = job_of(operate, &given, learns, workspace);
    locus_parallel_for(job.cut.pieces, run_piece, &job);
    if (learns && job.cut.pieces > 0)
        reduce_heads(&job);
}

/* ---- copies ---- */

#define COPY_TOKENS 1024

typedef struct locus_operate_copying {
    const locus_operate *operate;
    const char *from;
    ptrdiff_t from_row, from_head;
    char *to;
    ptrdiff_t to_row, to_head;
} locus_operate_copying;

static void copy_tokens(void *context, size_t first, size_t count) {
    const locus_operate_copying *copying = context;
    const locus_operate *operate = copying->operate;
    const ptrdiff_t size = (ptrdiff_t)locus_dtype_size(operate->dtype);
    for (size_t t = first; t < first + count; t++)
        for (size_t h = 0; h < operate->heads; h++) {
            const ptrdiff_t token = (ptrdiff_t)t, head = (ptrdiff_t)h;
            memcpy(copying->to + (token * copying->to_row + head * copying->to_head) * size,
                   copying->from + (token * copying->from_row + head * copying->from_head) * size,
                   operate->dim * (size_t)size);
        }
}

static void copy_piece(void *context, size_t index, size_t worker) {
    const locus_operate_copying *copying = context;
    const locus_token_side *side = copying->operate->side;
    const size_t begin = index * COPY_TOKENS, left = side->used - begin;
    (void)worker;
    locus_token_side_walk(side, begin, begin + (left < COPY_TOKENS ? left : COPY_TOKENS), copy_tokens, context);
}

void locus_operate_copy(const locus_operate *operate, const locus_whole_stream *stream) {
    const bool backward = stream->gy != NULL;
    locus_operate_copying copying = {.operate = operate,
                                     .from = backward ? stream->gy : stream->x,
                                     .from_row = backward ? stream->gy_row : stream->x_row,
                                     .from_head = backward ? stream->gy_head : stream->x_head,
                                     .to = stream->y,
                                     .to_row = stream->y_row,
                                     .to_head = stream->y_head};
    if (copying.from != copying.to)
        locus_parallel_for(quotient_up(operate->side->used, COPY_TOKENS), copy_piece, &copying);
}

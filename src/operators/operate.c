/* SPDX-License-Identifier: MIT */
/* See operate.h. Workspace:
 *
 *   slots [pieces, heads] | desks [workers] of the operator's scratch | widened rows of x or gy | of x beside gy */
#include "operators/operate.h"

#include "kernels/half_rows.h"

#include <locus/parallel.h>
#include <string.h>

#define PIECE_BYTES 131072 /* of data, where the work is only to walk it */
#define BASIS_TOKENS 64    /* or so many tokens, where there are products to do */
#define GRADIENT_PIECES 16 /* so many slots for each head, at most */
#define GRADIENT_TOKENS 256
#define WIDENED_BYTES 65536 /* of a block of half rows, as floats */
#define GRADIENT_FEW 1024   /* up to so many tokens threads matter more than what a slot costs */

/* How the tokens in use are cut, by shape only. */
typedef struct locus_operate_cut {
    size_t piece_tokens, pieces;
    size_t slot_bytes, scratch_bytes;
    size_t widened_rows, widened_bytes; /* of half types: rows of a block, bytes of one */
    size_t desk_bytes;
} locus_operate_cut;

/* One execution. */
typedef struct locus_operate_job {
    const locus_operate *operate;
    const locus_whole_stream *stream;
    locus_operate_cut cut;
    bool learns;
    char *slots, *desks;
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

static size_t groups_of(const locus_operate *operate) {
    return operate->groups ? operate->groups : 1;
}

/* Heads of the operator that one call is for: with slots, one for each head of the operator. */
static size_t call_heads(const locus_operate *operate, bool learns) {
    return operate->op->heads_alike && !learns ? operate->heads * groups_of(operate) : operate->heads;
}

static void cut_desk(locus_operate_cut *cut, const locus_operate *operate, bool learns) {
    const locus_operator_class *class = operate->op->class;
    cut->scratch_bytes = rounded(
        class->heads_scratch_bytes(operate->op, locus_dtype_working(operate->dtype), call_heads(operate, learns)));
    if (locus_dtype_is_half(operate->dtype)) {
        const size_t row = operate->heads * groups_of(operate) * operate->dim * sizeof(float);
        cut->widened_rows = row > 0 && WIDENED_BYTES / row > 1 ? WIDENED_BYTES / row : 1;
        cut->widened_bytes = rounded(cut->widened_rows * row);
    }
    cut->desk_bytes = cut->scratch_bytes + (learns ? 2 : 1) * cut->widened_bytes;
}

/* With slots: few pieces, each of whole groups of GRADIENT_TOKENS. */
static locus_operate_cut cut_of(const locus_operate *operate, bool learns) {
    const locus_operator_class *class = operate->op->class;
    const size_t used = operate->side->used,
                 token_bytes = operate->heads * groups_of(operate) * operate->dim * locus_dtype_size(operate->dtype);
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
    cut_desk(&cut, operate, learns);
    return cut;
}

static bool learns_anything(const locus_operate *operate) {
    return operate->op->class->slot_bytes(operate->op) > 0;
}

size_t locus_operate_bytes(const locus_operate *operate, bool learns) {
    const locus_operate_cut cut = cut_of(operate, learns && learns_anything(operate));
    return cut.pieces * operate->heads * cut.slot_bytes + locus_threads() * cut.desk_bytes;
}

/* ---- execution ---- */

static char *row_at(const void *data, size_t token, ptrdiff_t row, locus_dtype dtype) {
    return (char *)data + (ptrdiff_t)token * row * (ptrdiff_t)locus_dtype_size(dtype);
}

static char *desk_of(const locus_operate_piece *piece) {
    return piece->job->cut.desk_bytes > 0 ? piece->job->desks + piece->worker * piece->job->cut.desk_bytes : NULL;
}

static const void *elements_at(const void *data, ptrdiff_t elements, locus_dtype dtype) {
    return (const char *)data + elements * (ptrdiff_t)locus_dtype_size(dtype);
}

/* One call for `count` tokens from `first` on, whose rows `rows` points at: heads g, g + groups, … of these. */
static void act_on_group(const locus_operate_piece *piece, const locus_whole_stream *rows, size_t g,
                         locus_operator_call *call) {
    const locus_operate_job *job = piece->job;
    const locus_operator *op = job->operate->op;
    const size_t count = call_heads(job->operate, job->learns);
    const ptrdiff_t apart = count == job->operate->heads ? (ptrdiff_t)groups_of(job->operate) : 1;
    locus_operator_heads heads = {.count = count,
                                  .y = (char *)rows->y +
                                       (ptrdiff_t)g * rows->y_head * (ptrdiff_t)locus_dtype_size(call->dtype),
                                  .y_stride = rows->y_row,
                                  .y_head = rows->y_head * apart};
    if (rows->x) {
        call->x = elements_at(rows->x, (ptrdiff_t)g * rows->x_head, call->dtype);
        call->x_stride = rows->x_row;
        heads.x_head = rows->x_head * apart;
    }
    if (!rows->gy) {
        op->class->forward_heads(op, call, &heads);
        return;
    }
    heads.gy = elements_at(rows->gy, (ptrdiff_t)g * rows->gy_head, call->dtype);
    heads.gy_stride = rows->gy_row;
    heads.gy_head = rows->gy_head * apart;
    if (job->learns) {
        heads.slots = job->slots + piece->index * job->operate->heads * job->cut.slot_bytes;
        heads.slot_stride = job->cut.slot_bytes;
    }
    op->class->backward_heads(op, call, &heads);
}

static void act(const locus_operate_piece *piece, const locus_whole_stream *rows, size_t first, size_t count) {
    const locus_operate *operate = piece->job->operate;
    const size_t calls = call_heads(operate, piece->job->learns) == operate->heads ? groups_of(operate) : 1;
    for (size_t g = 0; g < calls; g++) {
        locus_operator_call call = {.role = rows->role,
                                    .direction = rows->direction,
                                    .coordinates = LOCUS_OUTER,
                                    .dtype = locus_dtype_working(operate->dtype),
                                    .first = first,
                                    .count = count,
                                    .scale = 1,
                                    .scratch = desk_of(piece)};
        act_on_group(piece, rows, g, &call);
    }
}

/* The stream's rows from a token on. */
static locus_whole_stream rows_from(const locus_operate_job *job, size_t token) {
    const locus_dtype dtype = job->operate->dtype;
    locus_whole_stream rows = *job->stream;
    rows.y = row_at(rows.y, token, rows.y_row, dtype);
    rows.x = rows.x ? row_at(rows.x, token, rows.x_row, dtype) : NULL;
    rows.gy = rows.gy ? row_at(rows.gy, token, rows.gy_row, dtype) : NULL;
    return rows;
}

/* One block of half rows: what comes in is widened, the operator acts in place, what it leaves is rounded. */
static void act_widened(const locus_operate_piece *piece, const locus_whole_stream *rows, size_t first, size_t count) {
    const locus_operate *operate = piece->job->operate;
    const locus_operate_cut *cut = &piece->job->cut;
    const size_t heads = operate->heads * groups_of(operate), row = heads * operate->dim;
    float *turned = (float *)(void *)(desk_of(piece) + cut->scratch_bytes);
    float *beside = (float *)(void *)(desk_of(piece) + cut->scratch_bytes + cut->widened_bytes);
    locus_half_rows half = {.dtype = operate->dtype, .heads = heads, .dim = operate->dim};
    locus_whole_stream wide = {.role = rows->role,
                               .direction = rows->direction,
                               .y = turned,
                               .y_row = (ptrdiff_t)row,
                               .y_head = (ptrdiff_t)operate->dim};
    if (rows->x) {
        wide.x = rows->gy ? beside : turned;
        wide.x_row = wide.y_row, wide.x_head = wide.y_head;
        half.row = rows->x_row, half.head = rows->x_head;
        locus_half_rows_widen(&half, count, rows->x, rows->gy ? beside : turned);
    }
    if (rows->gy) {
        wide.gy = turned;
        wide.gy_row = wide.y_row, wide.gy_head = wide.y_head;
        half.row = rows->gy_row, half.head = rows->gy_head;
        locus_half_rows_widen(&half, count, rows->gy, turned);
    }
    act(piece, &wide, first, count);
    half.row = rows->y_row, half.head = rows->y_head;
    locus_half_rows_narrow(&half, count, turned, rows->y);
}

static void visit_tokens(void *context, size_t first, size_t count) {
    const locus_operate_piece *piece = context;
    const bool half = locus_dtype_is_half(piece->job->operate->dtype);
    const size_t most = half ? piece->job->cut.widened_rows : count;
    for (size_t done = 0; done < count; done += most) {
        const size_t left = count - done, block = left < most ? left : most;
        const locus_whole_stream rows = rows_from(piece->job, first + done);
        if (half)
            act_widened(piece, &rows, first + done, block);
        else
            act(piece, &rows, first + done, block);
    }
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
    job.desks = workspace ? job.slots + job.cut.pieces * operate->heads * job.cut.slot_bytes : NULL;
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
        for (size_t h = 0; h < operate->heads * groups_of(operate); h++) {
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

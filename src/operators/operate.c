/* SPDX-License-Identifier: MIT */
/* See operate.h. Workspace:
 *
 *   slots [pieces, heads] | desks [workers] of the operator's scratch | rows of x or gy | of x beside gy
 *
 * Rows of a desk are those of half types, widened; and, where sequences stand apart, one head's of a block of
 * GRADIENT_TOKENS that several sequences share: what operators sum up in the data's own type before they add it to a
 * slot is then what they sum up of packed tokens. Nothing else depends on how tokens come together. */
#include "operators/operate.h"

#include "kernels/half_rows.h"
#include "spec/wide_rows.h"

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
    size_t widened_rows; /* of half types: rows of a block */
    size_t rows_bytes;   /* of one of a desk's blocks of rows */
    size_t desk_bytes;
} locus_operate_cut;

/* One execution. */
typedef struct locus_operate_job {
    const locus_operate *operate;
    const locus_whole_stream *stream;
    bool apart; /* some tensor's sequences stand apart */
    locus_operate_cut cut;
    bool learns;
    char *slots, *desks;
} locus_operate_job;

typedef struct locus_operate_piece {
    const locus_operate_job *job;
    size_t index, worker;
} locus_operate_piece;

/* ---- sizes ---- */

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
    cut->scratch_bytes = locus_aligned(
        class->heads_scratch_bytes(operate->op, locus_dtype_working(operate->dtype), call_heads(operate, learns)));
    if (locus_dtype_is_half(operate->dtype)) {
        const size_t row = operate->heads * groups_of(operate) * operate->dim * sizeof(float);
        cut->widened_rows = row > 0 && WIDENED_BYTES / row > 1 ? WIDENED_BYTES / row : 1;
        cut->rows_bytes = locus_aligned(cut->widened_rows * row);
    } else if (learns) {
        cut->rows_bytes = locus_aligned(GRADIENT_TOKENS * operate->dim * locus_dtype_size(operate->dtype));
    }
    cut->desk_bytes = cut->scratch_bytes + (learns ? 2 : 1) * cut->rows_bytes;
}

/* As many pieces with slots as any number of tokens up to `used` is cut into: see cut_of. */
static size_t most_pieces(size_t used) {
    const size_t few = quotient_up(used < GRADIENT_FEW ? used : GRADIENT_FEW, GRADIENT_TOKENS);
    const size_t many = quotient_up(used, 2 * GRADIENT_TOKENS), most = few > many ? few : many;
    return most < GRADIENT_PIECES ? most : GRADIENT_PIECES;
}

/* With slots: few pieces, each of whole groups of GRADIENT_TOKENS. */
static locus_operate_cut cut_of(const locus_operate *operate, bool learns) {
    const size_t used = operate->side->used;
    locus_operate_cut cut = {.piece_tokens = BASIS_TOKENS};
    if (used > BASIS_TOKENS) {
        const size_t token_bytes =
            operate->heads * groups_of(operate) * operate->dim * locus_dtype_size(operate->dtype);
        const size_t fit = PIECE_BYTES / (token_bytes ? token_bytes : 1);
        cut.piece_tokens = fit > BASIS_TOKENS ? fit : BASIS_TOKENS;
    }
    if (learns) {
        const size_t least = used > GRADIENT_FEW ? 2 * GRADIENT_TOKENS : GRADIENT_TOKENS;
        size_t groups = quotient_up(quotient_up(used, least), GRADIENT_PIECES);
        cut.piece_tokens = least * (groups ? groups : 1);
        cut.slot_bytes = locus_aligned(locus_operator_slot_bytes(operate->op));
    }
    cut.pieces = used <= BASIS_TOKENS ? used > 0 : quotient_up(used, cut.piece_tokens);
    if (learns && operate->side->limit)
        cut.pieces = most_pieces(used);
    cut_desk(&cut, operate, learns);
    return cut;
}

size_t locus_operate_bytes(const locus_operate *operate, bool learns) {
    const locus_operate_cut cut = cut_of(operate, learns && locus_operator_slot_bytes(operate->op) > 0);
    return cut.pieces * operate->heads * cut.slot_bytes + locus_threads() * cut.desk_bytes;
}

/* ---- rows ---- */

static char *desk_of(const locus_operate_piece *piece) {
    return piece->job->cut.desk_bytes > 0 ? piece->job->desks + piece->worker * piece->job->cut.desk_bytes : NULL;
}

static char *rows_of_desk(const locus_operate_piece *piece, size_t block) {
    return desk_of(piece) + piece->job->cut.scratch_bytes + block * piece->job->cut.rows_bytes;
}

/* NULL where there are no rows. */
static void *elements_at(const locus_token_rows *rows, ptrdiff_t elements, locus_dtype dtype) {
    return rows->data ? (char *)rows->data + elements * (ptrdiff_t)locus_dtype_size(dtype) : NULL;
}

static void begin_at(locus_token_rows *rows, const locus_operate *operate, size_t token) {
    rows->data = elements_at(rows, rows->data ? locus_token_rows_at(rows, operate->side, token) : 0, operate->dtype);
}

/* The stream's rows from a token on, as far as they lie together. */
static locus_whole_stream rows_from(const locus_operate_job *job, size_t token) {
    locus_whole_stream rows = *job->stream;
    begin_at(&rows.x, job->operate, token);
    begin_at(&rows.gy, job->operate, token);
    begin_at(&rows.y, job->operate, token);
    return rows;
}

/* How many of `count` tokens, `token` and those behind it, lie together in all tensors. */
static size_t together(const locus_operate_job *job, size_t token, size_t count) {
    const size_t left = job->apart ? locus_token_side_find(job->operate->side, token).end - token : count;
    return left < count ? left : count;
}

/* ---- execution ---- */

/* Heads g, g + groups, … of the rows: the operator's, or all. */
typedef struct locus_operate_heads {
    size_t g, count;
} locus_operate_heads;

/* One call for tokens whose rows `rows` points at. */
static void act_on_heads(const locus_operate_piece *piece, const locus_whole_stream *rows, locus_operate_heads which,
                         locus_operator_call *call) {
    const locus_operate_job *job = piece->job;
    const locus_operator *op = job->operate->op;
    const ptrdiff_t apart = which.count <= job->operate->heads ? (ptrdiff_t)groups_of(job->operate) : 1;
    const ptrdiff_t head = (ptrdiff_t)which.g;
    locus_operator_heads heads = {.count = which.count,
                                  .y = elements_at(&rows->y, head * rows->y.head, call->dtype),
                                  .y_stride = rows->y.token,
                                  .y_head = rows->y.head * apart};
    if (rows->x.data) {
        call->x = elements_at(&rows->x, head * rows->x.head, call->dtype);
        call->x_stride = rows->x.token;
        heads.x_head = rows->x.head * apart;
    }
    if (!rows->gy.data) {
        op->class->forward_heads(op, call, &heads);
        return;
    }
    heads.gy = elements_at(&rows->gy, head * rows->gy.head, call->dtype);
    heads.gy_stride = rows->gy.token;
    heads.gy_head = rows->gy.head * apart;
    if (job->learns) {
        heads.slots = job->slots + piece->index * job->operate->heads * job->cut.slot_bytes;
        heads.slot_stride = job->cut.slot_bytes;
    }
    op->class->backward_heads(op, call, &heads);
}

static locus_operator_call call_of(const locus_operate_piece *piece, size_t first, size_t count) {
    const locus_operate_job *job = piece->job;
    return (locus_operator_call){.role = job->stream->role,
                                 .direction = job->stream->direction,
                                 .coordinates = LOCUS_OUTER,
                                 .dtype = locus_dtype_working(job->operate->dtype),
                                 .first = first,
                                 .count = count,
                                 .scale = 1,
                                 .scratch = desk_of(piece)};
}

static void act(const locus_operate_piece *piece, const locus_whole_stream *rows, size_t first, size_t count) {
    const locus_operate *operate = piece->job->operate;
    const size_t heads = call_heads(operate, piece->job->learns);
    const size_t calls = heads == operate->heads ? groups_of(operate) : 1;
    for (size_t g = 0; g < calls; g++) {
        locus_operator_call call = call_of(piece, first, count);
        act_on_heads(piece, rows, (locus_operate_heads){g, heads}, &call);
    }
}

/* ---- blocks of half rows: what comes in is widened, the operator acts in place, what it leaves is rounded ---- */

static locus_wide_rows wide_rows_of(const locus_operate *operate, const locus_token_rows *rows) {
    return (locus_wide_rows){operate->side, *rows, operate->dtype, operate->heads * groups_of(operate), operate->dim};
}

static void act_widened(const locus_operate_piece *piece, size_t first, size_t count) {
    const locus_operate_job *job = piece->job;
    const locus_whole_stream *stream = job->stream;
    const locus_wide_rows x = wide_rows_of(job->operate, &stream->x), gy = wide_rows_of(job->operate, &stream->gy),
                          y = wide_rows_of(job->operate, &stream->y);
    const locus_token_rows turned = {
        .data = rows_of_desk(piece, 0), .token = (ptrdiff_t)(y.heads * y.dim), .head = (ptrdiff_t)y.dim};
    locus_whole_stream wide = {.role = stream->role, .direction = stream->direction, .y = turned};
    if (stream->x.data) {
        wide.x = turned;
        wide.x.data = rows_of_desk(piece, stream->gy.data != NULL);
        locus_wide_rows_copy(&x, first, count, wide.x.data, false);
    }
    if (stream->gy.data) {
        wide.gy = turned;
        locus_wide_rows_copy(&gy, first, count, wide.gy.data, false);
    }
    act(piece, &wide, first, count);
    locus_wide_rows_copy(&y, first, count, wide.y.data, true);
}

/* ---- gradients where sequences stand apart ---- */

/* Head `head` of the tensor, from a token on, to or from rows of a desk. */
static void copy_rows(const locus_operate_job *job, const locus_token_rows *rows, size_t head,
                      const locus_operator_call *call, char *desk, bool back) {
    const size_t bytes = job->operate->dim * locus_dtype_size(call->dtype);
    for (size_t i = 0; i < call->count; i++, desk += bytes) {
        locus_token_rows row = *rows;
        begin_at(&row, job->operate, call->first + i);
        char *there = elements_at(&row, (ptrdiff_t)head * row.head, call->dtype);
        memcpy(back ? there : desk, back ? desk : there, bytes);
    }
}

/* One head of a block that several sequences share. */
static void learn_shared(const locus_operate_piece *piece, size_t g, size_t head, locus_operator_call call) {
    const locus_operate_job *job = piece->job;
    const locus_operator *op = job->operate->op;
    const size_t own = head * groups_of(job->operate) + g;
    char *gy = rows_of_desk(piece, 0), *x = rows_of_desk(piece, 1);
    copy_rows(job, &job->stream->gy, own, &call, gy, false);
    copy_rows(job, &job->stream->x, own, &call, x, false);
    call.head = head;
    call.x = x;
    call.x_stride = (ptrdiff_t)job->operate->dim;
    const locus_operator_heads one = {.count = 1,
                                      .gy = gy,
                                      .gy_stride = call.x_stride,
                                      .y = gy,
                                      .y_stride = call.x_stride,
                                      .slots = job->slots +
                                               (piece->index * job->operate->heads + head) * job->cut.slot_bytes,
                                      .slot_stride = job->cut.slot_bytes};
    op->class->backward_heads(op, &call, &one);
    copy_rows(job, &job->stream->y, own, &call, gy, true);
}

/* As act does a run of tokens that lie together: group by group, block by block. */
static void learn_apart(const locus_operate_piece *piece, size_t first, size_t count) {
    const locus_operate_job *job = piece->job;
    for (size_t g = 0; g < groups_of(job->operate); g++)
        for (size_t done = 0; done < count; done += GRADIENT_TOKENS) {
            const size_t token = first + done, left = count - done;
            locus_operator_call call = call_of(piece, token, left < GRADIENT_TOKENS ? left : GRADIENT_TOKENS);
            if (together(job, token, call.count) == call.count) {
                const locus_whole_stream rows = rows_from(job, token);
                act_on_heads(piece, &rows, (locus_operate_heads){g, job->operate->heads}, &call);
                continue;
            }
            for (size_t head = 0; head < job->operate->heads; head++)
                learn_shared(piece, g, head, call);
        }
}

/* ---- pieces ---- */

static void visit_tokens(void *context, size_t first, size_t count) {
    const locus_operate_piece *piece = context;
    const locus_operate_job *job = piece->job;
    const bool half = locus_dtype_is_half(job->operate->dtype);
    if (!half && job->learns && job->apart) {
        learn_apart(piece, first, count);
        return;
    }
    for (size_t done = 0, block; done < count; done += block) {
        const size_t left = count - done;
        block =
            half ? (left < job->cut.widened_rows ? left : job->cut.widened_rows) : together(job, first + done, left);
        if (half) {
            act_widened(piece, first + done, block);
        } else {
            const locus_whole_stream rows = rows_from(job, first + done);
            act(piece, &rows, first + done, block);
        }
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

/* Filled in place: what is written piece by piece and then copied as a whole waits for its stores. */
static void begin(locus_operate_job *job, const locus_operate *operate, const locus_whole_stream *stream, bool learns,
                  void *workspace) {
    job->operate = operate;
    job->stream = stream;
    job->apart = stream->x.apart || stream->gy.apart || stream->y.apart;
    job->cut = cut_of(operate, learns);
    job->learns = learns;
    job->slots = workspace;
    job->desks = workspace ? job->slots + job->cut.pieces * operate->heads * job->cut.slot_bytes : NULL;
}

void locus_operate_forward(const locus_operate *operate, const locus_whole_stream *stream, void *workspace) {
    locus_operate_job job;
    begin(&job, operate, stream, false, workspace);
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
    const bool learns = operate->parameters && locus_operator_slot_bytes(operate->op) > 0;
    locus_whole_stream given = *stream;
    if (!learns)
        given.x = (locus_token_rows){0};
    locus_operate_job job;
    begin(&job, operate, &given, learns, workspace);
    locus_parallel_for(job.cut.pieces, run_piece, &job);
    if (learns && job.cut.pieces > 0)
        reduce_heads(&job);
}

/* ---- copies ---- */

#define COPY_TOKENS 1024

typedef struct locus_operate_copying {
    const locus_operate *operate;
    locus_token_rows from, to;
} locus_operate_copying;

static void copy_tokens(void *context, size_t first, size_t count) {
    const locus_operate_copying *copying = context;
    const locus_operate *operate = copying->operate;
    const locus_token_rows *from = &copying->from, *to = &copying->to;
    const ptrdiff_t size = (ptrdiff_t)locus_dtype_size(operate->dtype);
    for (size_t t = first; t < first + count; t++) {
        const char *source = (const char *)from->data + locus_token_rows_at(from, operate->side, t) * size;
        char *target = (char *)to->data + locus_token_rows_at(to, operate->side, t) * size;
        for (size_t h = 0; h < operate->heads * groups_of(operate); h++)
            memcpy(target + (ptrdiff_t)h * to->head * size, source + (ptrdiff_t)h * from->head * size,
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
    locus_operate_copying copying = {
        .operate = operate, .from = stream->gy.data ? stream->gy : stream->x, .to = stream->y};
    if (copying.from.data != copying.to.data)
        locus_parallel_for(quotient_up(operate->side->used, COPY_TOKENS), copy_piece, &copying);
}

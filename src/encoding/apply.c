/* SPDX-License-Identifier: MIT */
/* locus_apply and its backward: one site, alone, on strided views.
 *
 * Operators are run by operate.c, or run themselves where they act on whole tensors. Embeddings are walked here:
 * the tokens in use are cut into pieces of equal size by shape, which run in parallel. So results do not depend
 * on threads. Workspace: that of the operator, or the embeddings' scratch [workers]. */
#include "encoding/operate.h"
#include "encoding/plan_access.h"

#include "core/error.h"

#include <locus/parallel.h>

#define PIECE_BYTES 131072 /* of data */
#define PIECE_TOKENS 64    /* at least */

typedef struct locus_apply_site {
    locus_role role;
    size_t rank, tokens, heads, dim; /* what a tensor must be */
    const locus_token_side *side;
    const locus_operator *op; /* NULL: nothing turns, or */
    const locus_whole_operator *whole;
    size_t parameters; /* where the operator's own begin */
    bool embeds;
} locus_apply_site;

/* One execution. */
typedef struct locus_apply_job {
    const locus_plan *plan;
    locus_apply_site site;
    locus_direction direction;
    const locus_tensor *x, *gy, *y; /* y is gx in backward; x may be NULL there */
    const locus_tensor *parameters; /* NULL: no gradient */
    bool learns;
    char *workspace;
    size_t piece_tokens, pieces, scratch_bytes; /* of embeddings */
} locus_apply_job;

/* ---- what a role means ---- */

static bool embeds(const locus_plan *plan) {
    for (size_t i = 0; i < plan->term_count; i++)
        if (plan->placed[i].embedding)
            return true;
    return false;
}

static locus_apply_site site_of(const locus_plan *plan, locus_role role) {
    const locus_shape *shape = &plan->binding->shape;
    const bool keys = role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
    locus_apply_site site = {.role = role, .rank = 3, .heads = shape->heads};
    site.side = keys ? &plan->places.items[0].key : &plan->places.items[0].query;
    site.tokens = site.side->tokens;
    switch (role) {
    case LOCUS_ROLE_TOKEN:
        site.rank = 2;
        site.heads = 1;
        site.dim = shape->model_dim;
        site.embeds = embeds(plan);
        break;
    case LOCUS_ROLE_QUERY:
    case LOCUS_ROLE_KEY:
        site.dim = shape->head_dim;
        site.op = plan->query_key;
        site.whole = plan->query_key_whole;
        site.parameters = locus_plan_query_key_parameters(plan);
        break;
    case LOCUS_ROLE_VALUE:
    case LOCUS_ROLE_OUTPUT:
        site.dim = shape->value_dim;
        site.op = plan->value;
        site.whole = plan->value_whole;
        site.parameters = locus_plan_value_parameters(plan);
        break;
    }
    return site;
}

static bool is_role(locus_role role) {
    return role >= LOCUS_ROLE_TOKEN && role <= LOCUS_ROLE_OUTPUT;
}

/* ---- sizes, by shape only ---- */

static bool site_learns(const locus_apply_site *site) {
    if (site->whole)
        return site->whole->class->learns(site->whole);
    return site->op && site->op->class->slot_bytes(site->op) > 0;
}

static locus_operate operate_of(const locus_apply_job *job, locus_dtype dtype) {
    const locus_apply_site *site = &job->site;
    return (locus_operate){.op = site->op,
                           .side = site->side,
                           .heads = site->heads,
                           .dim = site->dim,
                           .dtype = dtype,
                           .parameters = job->learns ? job->parameters + site->parameters : NULL};
}

static size_t embedding_scratch(const locus_plan *plan, locus_dtype dtype) {
    size_t bytes = 0;
    for (size_t i = 0; i < plan->term_count; i++) {
        const locus_embedding *embedding = plan->placed[i].embedding;
        size_t own = embedding ? embedding->class->scratch_bytes(embedding, dtype) : 0;
        bytes = own > bytes ? own : bytes;
    }
    return (bytes + LOCUS_ALIGNMENT - 1) / LOCUS_ALIGNMENT * LOCUS_ALIGNMENT;
}

static void cut_pieces(locus_apply_job *job, locus_dtype dtype) {
    const locus_apply_site *site = &job->site;
    const size_t token_bytes = site->heads * site->dim * locus_dtype_size(dtype);
    job->piece_tokens = PIECE_BYTES / (token_bytes ? token_bytes : 1);
    if (job->piece_tokens < PIECE_TOKENS)
        job->piece_tokens = PIECE_TOKENS;
    job->pieces = (site->side->used + job->piece_tokens - 1) / job->piece_tokens;
    job->scratch_bytes = site->embeds ? embedding_scratch(job->plan, dtype) : 0;
}

static size_t workspace_bytes(locus_apply_job *job, locus_dtype dtype, bool backward, bool learns) {
    const locus_apply_site *site = &job->site;
    if (site->whole)
        return site->whole->class->workspace_bytes(site->whole, dtype, &site->role, 1, backward);
    if (site->op) {
        locus_operate operate = operate_of(job, dtype);
        return locus_operate_bytes(&operate, learns);
    }
    cut_pieces(job, dtype);
    return locus_threads() * job->scratch_bytes;
}

size_t locus_apply_workspace(const locus_plan *plan, locus_role role, locus_dtype dtype) {
    if (!plan || !is_role(role))
        return 0;
    locus_apply_job job = {.plan = plan, .site = site_of(plan, role)};
    size_t forward = workspace_bytes(&job, dtype, false, false);
    size_t backward = workspace_bytes(&job, dtype, true, site_learns(&job.site));
    return forward > backward ? forward : backward;
}

/* ---- checks ---- */

static locus_status check_tensor(const locus_apply_site *site, const locus_tensor *tensor, const char *name,
                                 locus_error *error) {
    if (!tensor || (!tensor->data && locus_tensor_count(tensor) > 0))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, name, "%s is NULL or has no data", name);
    if (tensor->dtype != LOCUS_FLOAT32 && tensor->dtype != LOCUS_FLOAT64)
        return locus_fail(error, LOCUS_ERROR_DTYPE, name, "%s must be float32 or float64", name);
    if (tensor->rank != site->rank)
        return locus_fail(error, LOCUS_ERROR_SHAPE, name, "%s has rank %zu: expected %s", name, tensor->rank,
                          site->rank == 2 ? "[tokens, model_dim]" : "[tokens, heads, dim]");
    const size_t wanted[] = {site->tokens, site->rank == 2 ? site->dim : site->heads, site->dim};
    for (size_t i = 0; i < site->rank; i++)
        if (tensor->shape[i] < 0 || (size_t)tensor->shape[i] != wanted[i])
            return locus_fail(error, LOCUS_ERROR_SHAPE, name, "%s has size %lld in dimension %zu: expected %zu", name,
                              (long long)tensor->shape[i], i, wanted[i]);
    if (tensor->stride[site->rank - 1] != 1 && tensor->shape[site->rank - 1] > 1)
        return locus_fail(error, LOCUS_ERROR_SHAPE, name, "%s must have stride 1 in its last dimension, not %lld", name,
                          (long long)tensor->stride[site->rank - 1]);
    return LOCUS_OK;
}

/* The tensor where it differs from x: same shape, same type; if it begins where x does, it must be x. */
static locus_status check_pair(const locus_apply_site *site, const locus_tensor *from, const locus_tensor *to,
                               const char *from_name, const char *to_name, locus_error *error) {
    locus_status status = check_tensor(site, from, from_name, error);
    if (status == LOCUS_OK)
        status = check_tensor(site, to, to_name, error);
    if (status != LOCUS_OK)
        return status;
    if (from->dtype != to->dtype)
        return locus_fail(error, LOCUS_ERROR_DTYPE, to_name, "%s and %s must have one element type", from_name,
                          to_name);
    for (size_t i = 0; from->data == to->data && i < site->rank; i++)
        if (from->stride[i] != to->stride[i] && from->shape[i] > 1)
            return locus_fail(error, LOCUS_ERROR_SHAPE, to_name,
                              "%s begins where %s does but has other strides: give the same view or another buffer",
                              to_name, from_name);
    return LOCUS_OK;
}

static locus_status check_role(const locus_plan *plan, locus_role role, locus_direction direction, locus_error *error) {
    if (!plan)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "plan", "plan is NULL");
    if (!is_role(role))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "role", "there is no role %d", (int)role);
    if (direction != LOCUS_FORWARD && direction != LOCUS_INVERSE)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "direction", "there is no direction %d", (int)direction);
    return LOCUS_OK;
}

static locus_status take_workspace(locus_apply_job *job, locus_workspace workspace, locus_error *error) {
    size_t needed = workspace_bytes(job, job->y->dtype, job->gy != NULL, job->learns);
    if (needed == 0)
        return LOCUS_OK;
    if (!workspace.data || workspace.bytes < needed)
        return locus_fail(error, LOCUS_ERROR_MEMORY, "workspace",
                          "the workspace has %zu bytes: %zu are needed (ask locus_apply_workspace)",
                          workspace.data ? workspace.bytes : 0, needed);
    if ((uintptr_t)workspace.data % LOCUS_ALIGNMENT != 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "workspace", "the workspace must be aligned to %d bytes",
                          LOCUS_ALIGNMENT);
    job->workspace = workspace.data;
    return LOCUS_OK;
}

/* ---- execution ---- */

static char *element(const locus_tensor *tensor, size_t token) {
    return (char *)tensor->data +
           (ptrdiff_t)token * (ptrdiff_t)tensor->stride[0] * (ptrdiff_t)locus_dtype_size(tensor->dtype);
}

static ptrdiff_t head_stride(const locus_tensor *tensor) {
    return tensor->rank == 3 ? (ptrdiff_t)tensor->stride[1] : 0;
}

typedef struct locus_apply_piece {
    const locus_apply_job *job;
    size_t worker;
} locus_apply_piece;

/* y = x ± Σ e: the first embedding reads x, further ones y. */
static void embed_tokens(void *context, size_t first, size_t count) {
    const locus_apply_piece *piece = context;
    const locus_apply_job *job = piece->job;
    const locus_tensor *from = job->x;
    char *scratch = job->scratch_bytes > 0 ? job->workspace + piece->worker * job->scratch_bytes : NULL;
    for (size_t i = 0; i < job->plan->term_count; i++) {
        const locus_embedding *embedding = job->plan->placed[i].embedding;
        if (!embedding)
            continue;
        for (size_t done = 0; done < count; done += LOCUS_EMBEDDING_ROWS) {
            size_t rows = count - done < LOCUS_EMBEDDING_ROWS ? count - done : LOCUS_EMBEDDING_ROWS;
            const locus_embedding_call call = {.dtype = job->y->dtype,
                                               .sign = job->direction == LOCUS_INVERSE ? -1 : 1,
                                               .first = first + done,
                                               .count = rows,
                                               .x = element(from, first + done),
                                               .x_stride = (ptrdiff_t)from->stride[0],
                                               .y = element(job->y, first + done),
                                               .y_stride = (ptrdiff_t)job->y->stride[0],
                                               .scratch = scratch};
            embedding->class->add(embedding, &call);
        }
        from = job->y;
    }
}

static void run_piece(void *context, size_t index, size_t worker) {
    const locus_apply_job *job = context;
    const size_t begin = index * job->piece_tokens, used = job->site.side->used;
    const size_t end = begin + job->piece_tokens < used ? begin + job->piece_tokens : used;
    locus_apply_piece piece = {job, worker};
    locus_token_side_walk(job->site.side, begin, end, embed_tokens, &piece);
}

typedef struct locus_embedding_gradient_job {
    const locus_apply_job *job;
    const locus_embedding *embedding;
    const locus_tensor *parameters;
} locus_embedding_gradient_job;

static void embedding_gradient(void *context, size_t piece, size_t worker) {
    const locus_embedding_gradient_job *own = context;
    (void)worker;
    own->embedding->class->gradient(own->embedding, piece, own->job->direction == LOCUS_INVERSE ? -1 : 1, own->job->gy,
                                    own->parameters);
}

/* Before gx is written, which may be gy. */
static void embedding_gradients(const locus_apply_job *job) {
    for (size_t i = 0; i < job->plan->term_count; i++) {
        const locus_embedding *embedding = job->plan->placed[i].embedding;
        if (!embedding || !embedding->class->gradient_pieces)
            continue;
        locus_embedding_gradient_job own = {job, embedding, job->parameters + job->plan->binding->list.first[i]};
        locus_parallel_for(embedding->class->gradient_pieces(embedding), embedding_gradient, &own);
    }
}

/* ---- operators ---- */

static locus_whole_stream stream_of(const locus_apply_job *job) {
    locus_whole_stream stream = {.role = job->site.role,
                                 .direction = job->direction,
                                 .y = job->y->data,
                                 .y_row = (ptrdiff_t)job->y->stride[0],
                                 .y_head = head_stride(job->y)};
    if (job->x) {
        stream.x = job->x->data;
        stream.x_row = (ptrdiff_t)job->x->stride[0];
        stream.x_head = head_stride(job->x);
    }
    if (job->gy) {
        stream.gy = job->gy->data;
        stream.gy_row = (ptrdiff_t)job->gy->stride[0];
        stream.gy_head = head_stride(job->gy);
    }
    return stream;
}

static void run_whole(const locus_apply_job *job) {
    const locus_whole_operator *whole = job->site.whole;
    const locus_whole_stream stream = stream_of(job);
    const locus_whole_call call = {.dtype = job->y->dtype,
                                   .count = 1,
                                   .streams = &stream,
                                   .parameters = job->learns ? job->parameters + job->site.parameters : NULL,
                                   .workspace = job->workspace};
    if (job->gy)
        whole->class->backward(whole, &call);
    else
        whole->class->forward(whole, &call);
}

static void run_local(const locus_apply_job *job) {
    const locus_operate operate = operate_of(job, job->y->dtype);
    const locus_whole_stream stream = stream_of(job);
    if (job->gy)
        locus_operate_backward(&operate, &stream, job->workspace);
    else
        locus_operate_forward(&operate, &stream, job->workspace);
}

/* Where nothing acts, and for the gradient of what embeddings add. */
static void run_copy(const locus_apply_job *job) {
    const locus_operate operate = operate_of(job, job->y->dtype);
    const locus_whole_stream stream = stream_of(job);
    locus_operate_copy(&operate, &stream);
}

static void run(locus_apply_job *job) {
    if (job->site.whole)
        run_whole(job);
    else if (job->site.op)
        run_local(job);
    else if (job->site.embeds && !job->gy)
        locus_parallel_for(job->pieces, run_piece, job);
    else
        run_copy(job);
}

/* ---- the public calls ---- */

locus_status locus_apply(const locus_plan *plan, locus_role role, locus_direction direction, const locus_tensor *x,
                         const locus_tensor *y, locus_workspace workspace, locus_error *error) {
    locus_status status = check_role(plan, role, direction, error);
    if (status != LOCUS_OK)
        return status;
    locus_apply_job job = {.plan = plan, .site = site_of(plan, role), .direction = direction, .x = x, .y = y};
    status = check_pair(&job.site, x, y, "x", "y", error);
    if (status == LOCUS_OK)
        status = take_workspace(&job, workspace, error);
    if (status == LOCUS_OK)
        run(&job);
    return status;
}

locus_status locus_apply_backward(const locus_plan *plan, locus_role role, locus_direction direction,
                                  const locus_apply_gradients *gradients, locus_workspace workspace,
                                  locus_error *error) {
    locus_status status = check_role(plan, role, direction, error);
    if (status != LOCUS_OK)
        return status;
    if (!gradients)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "gradients", "gradients is NULL");
    locus_apply_job job = {.plan = plan,
                           .site = site_of(plan, role),
                           .direction = direction,
                           .x = gradients->x,
                           .gy = gradients->gy,
                           .y = gradients->gx,
                           .parameters = gradients->parameters};
    status = check_pair(&job.site, job.gy, job.y, "gy", "gx", error);
    if (status == LOCUS_OK && job.parameters)
        status = locus_parameter_list_check(&plan->binding->list, job.parameters, gradients->parameter_count,
                                            "gradients", error);
    job.learns = job.parameters && site_learns(&job.site);
    if (status == LOCUS_OK && job.learns && !job.x)
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "x",
                            "x is NULL: the gradients of the parameters need the input of locus_apply");
    if (status == LOCUS_OK && job.learns)
        status = check_pair(&job.site, job.gy, job.x, "gy", "x", error);
    if (status == LOCUS_OK)
        status = take_workspace(&job, workspace, error);
    if (status != LOCUS_OK)
        return status;
    if (!job.learns)
        job.x = NULL;
    if (job.parameters && job.site.embeds)
        embedding_gradients(&job);
    run(&job);
    return LOCUS_OK;
}

/* SPDX-License-Identifier: MIT */
/* locus_apply and its backward: one site, alone, on strided views. What a role means, checks, and who does it:
 * operate.c runs local operators, apply_whole.c those on whole tensors, apply_embedding.c adds vectors. Queries and
 * outputs have `heads` heads, G = heads / kv_heads of them to each of the operator's. */
#include "plan/apply_job.h"

#include "core/call.h"
#include "core/error.h"
#include "core/sized.h"
#include "kernels/half_rows.h"
#include "spec/row_check.h"

/* ---- what a role means ---- */

static bool embeds(const locus_plan *plan, locus_role role) {
    for (size_t i = 0; i < plan->term_count; i++)
        if (locus_apply_embedding(plan, i, role))
            return true;
    return false;
}

static locus_apply_site site_of(const locus_plan *plan, locus_role role) {
    const locus_shape *shape = &plan->binding->shape;
    const bool keys = role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
    const size_t kv_heads = locus_shape_kv_heads(shape);
    locus_apply_site site = {.role = role, .rank = 3, .heads = keys ? kv_heads : shape->heads};
    site.groups = keys || kv_heads == 0 ? 1 : shape->heads / kv_heads;
    site.side = keys ? &plan->places.items[0].key : &plan->places.items[0].query;
    site.tokens = site.side->tokens;
    switch (role) {
    case LOCUS_ROLE_TOKEN:
    case LOCUS_ROLE_ENCODED:
        site.rank = 2;
        site.heads = site.groups = 1;
        site.dim = shape->model_dim;
        site.embeds = embeds(plan, role);
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
    return role >= LOCUS_ROLE_TOKEN && role <= LOCUS_ROLE_ENCODED;
}

/* ---- sizes, by shape only ---- */

static locus_operate operate_of(const locus_apply_job *job, locus_dtype dtype) {
    const locus_apply_site *site = &job->site;
    return (locus_operate){.op = site->op,
                           .side = site->side,
                           .heads = site->heads / site->groups,
                           .groups = site->groups,
                           .dim = site->dim,
                           .dtype = dtype,
                           .parameters = job->learns ? job->parameters + site->parameters : NULL};
}

/* `learns`: backward with gradients of parameters. */
static size_t workspace_bytes(const locus_apply_job *job, locus_dtype dtype, bool backward, bool learns) {
    const locus_apply_site *site = &job->site;
    const locus_operate operate = operate_of(job, dtype);
    if (site->whole)
        return locus_apply_whole_bytes(job, dtype, backward, learns);
    if (site->op)
        return locus_operate_bytes(&operate, learns);
    return site->embeds ? locus_apply_embedding_bytes(job, dtype, learns) : 0;
}

static size_t most_bytes(const void *context) {
    const locus_apply_job *job = context;
    const size_t forward = workspace_bytes(job, job->dtype, false, false);
    const size_t backward = workspace_bytes(job, job->dtype, true,
                                            locus_operator_learns(job->site.op, job->site.whole) || job->site.embeds);
    return forward > backward ? forward : backward;
}

size_t locus_apply_workspace(const locus_plan *plan, locus_role role, locus_dtype dtype,
                             const locus_execution *execution) {
    if (!plan || !is_role(role) || locus_dtype_size(dtype) == 0)
        return 0;
    const locus_apply_job job = {.plan = plan, .site = site_of(plan, role), .dtype = dtype};
    return locus_call_needs(execution, most_bytes, &job);
}

/* ---- checks ---- */

static locus_rows_wanted wanted_of(const locus_apply_site *site, const locus_tensor *tensor, const char *name) {
    const locus_rows_kind kind = site->rank == 2 ? LOCUS_ROWS_VECTORS : LOCUS_ROWS_HEADS;
    return (locus_rows_wanted){.name = name,
                               .tensor = tensor,
                               .kind = kind,
                               .tokens = site->tokens,
                               .heads = site->heads,
                               .dim = site->dim,
                               .sequences = site->side->sequences,
                               .longest = locus_rows_apart(tensor, kind) ? locus_token_side_longest(site->side) : 0};
}

/* Two tensors of one shape and type. */
static locus_status check_pair(const locus_rows_wanted *from, const locus_rows_wanted *to, locus_error *error) {
    locus_status status = locus_rows_check(from, error);
    if (status == LOCUS_OK)
        status = locus_rows_check(to, error);
    if (status == LOCUS_OK && from->tensor->dtype != to->tensor->dtype)
        return locus_fail(error, LOCUS_ERROR_DTYPE, to->name, "%s and %s must have one element type", from->name,
                          to->name);
    return status;
}

/* What is written may be what is read, but share nothing with it otherwise. */
static locus_status check_written(const locus_rows_wanted *from, locus_rows_wanted *to, locus_error *error) {
    to->written = true;
    const locus_status status = check_pair(from, to, error);
    if (status == LOCUS_OK && !locus_rows_same(from, to) && locus_rows_overlap(from, to))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, to->name,
                          "%s overlaps %s but is not the same view: give the same view, or memory of its own", to->name,
                          from->name);
    return status;
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

static size_t bytes_needed(const void *context) {
    const locus_apply_job *job = context;
    const bool learns = job->learns || (job->site.embeds && job->parameters);
    return workspace_bytes(job, job->dtype, job->gy != NULL, learns);
}

/* ---- execution ---- */

/* Rows that are copied: nothing acts, or it is the gradient of what embeddings add to. */
static void act(const locus_apply_job *job) {
    if (job->site.whole) {
        locus_apply_whole_run(job);
        return;
    }
    if (job->site.embeds && !job->gy) {
        locus_apply_embedding_run(job);
        return;
    }
    const locus_operate operate = operate_of(job, job->y->dtype);
    locus_whole_stream stream;
    locus_apply_stream(job, &stream);
    if (!job->site.op)
        locus_operate_copy(&operate, &stream);
    else if (job->gy)
        locus_operate_backward(&operate, &stream, job->workspace);
    else
        locus_operate_forward(&operate, &stream, job->workspace);
}

/* Parameters' gradients of embeddings before gx is written, which may be gy. Without tokens there may be no data
 * either, and nothing to do. */
static locus_status run(locus_apply_job *job, locus_call *call, locus_error *error) {
    job->dtype = job->y->dtype;
    const locus_status status = locus_call_fit(call, bytes_needed, job, "locus_apply_workspace", error);
    if (status != LOCUS_OK)
        return status;
    job->workspace = call->workspace.bytes > 0 ? call->workspace.data : NULL;
    if (job->site.side->used > 0 && job->gy && job->parameters && job->site.embeds)
        locus_apply_embedding_gradients(job);
    if (job->site.side->used > 0)
        act(job);
    return LOCUS_OK;
}

/* ---- the public calls ---- */

static locus_status check_and_run(locus_apply_job *job, locus_call *call, locus_error *error) {
    const locus_rows_wanted x = wanted_of(&job->site, job->x, "x");
    locus_rows_wanted y = wanted_of(&job->site, job->y, "y");
    const locus_status status = check_written(&x, &y, error);
    return status == LOCUS_OK ? run(job, call, error) : status;
}

locus_status locus_apply(const locus_plan *plan, locus_role role, locus_direction direction, const locus_tensor *x,
                         const locus_tensor *y, const locus_execution *execution, locus_error *error) {
    locus_call call;
    locus_status status = check_role(plan, role, direction, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    locus_apply_job job = {.plan = plan, .site = site_of(plan, role), .direction = direction, .x = x, .y = y};
    return locus_call_end(&call, check_and_run(&job, &call, error), error);
}

static locus_status check_and_run_backward(locus_apply_job *job, const locus_apply_gradients *gradients,
                                           locus_call *call, locus_error *error) {
    const locus_rows_wanted gy = wanted_of(&job->site, job->gy, "gy"), x = wanted_of(&job->site, job->x, "x");
    locus_rows_wanted gx = wanted_of(&job->site, job->y, "gx");
    locus_status status = check_written(&gy, &gx, error);
    if (status == LOCUS_OK && job->parameters)
        status = locus_parameter_list_check(locus_binding_parameters(job->plan->binding), job->parameters,
                                            gradients->parameter_count, "gradients", error);
    job->learns = job->parameters && locus_operator_learns(job->site.op, job->site.whole);
    if (status == LOCUS_OK && job->learns && !job->x)
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "x",
                            "x is NULL: the gradients of the parameters need the input of locus_apply");
    if (status == LOCUS_OK && job->learns)
        status = check_pair(&gy, &x, error);
    if (status == LOCUS_OK && job->learns && locus_rows_overlap(&x, &gx))
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "gx",
                            "gx overlaps x, which the gradients of the parameters need: give it memory of its own");
    if (!job->learns)
        job->x = NULL;
    return status == LOCUS_OK ? run(job, call, error) : status;
}

locus_status locus_apply_backward(const locus_plan *plan, locus_role role, locus_direction direction,
                                  const locus_apply_gradients *gradients, const locus_execution *execution,
                                  locus_error *error) {
    locus_call call;
    locus_status status = check_role(plan, role, direction, error);
    if (status == LOCUS_OK && !gradients)
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "gradients", "gradients is NULL");
    static const locus_sized kind = {sizeof *gradients, sizeof *gradients, "gradients"};
    locus_apply_gradients own = {.size = sizeof own};
    if (status == LOCUS_OK)
        status = locus_sized_read_or_zero(&own, &kind, gradients, error);
    if (status == LOCUS_OK)
        status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    locus_apply_job job = {.plan = plan,
                           .site = site_of(plan, role),
                           .direction = direction,
                           .x = own.x,
                           .gy = own.gy,
                           .y = own.gx,
                           .parameters = own.parameters};
    return locus_call_end(&call, check_and_run_backward(&job, &own, &call, error), error);
}

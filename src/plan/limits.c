/* SPDX-License-Identifier: MIT */
/* See limits.h. A plan on empty sequences is made as any plan is, with initial values of what the encoding learns. Then
 * it is told how many tokens there may be, and each object how large it may get, with whatever values. */
#include "plan/limits.h"

#include "algebra/group_access.h"
#include "core/error.h"
#include "core/sized.h"
#include "plan/plan_access.h"
#include "spec/levels.h"

#include <stdint.h>

#define THREADS_MAX 65536
#define DEFAULT_WORKSPACE ((size_t)1 << 30)

const locus_limits *locus_plan_limits(const locus_plan *plan) {
    return plan->limits;
}

/* ---- what the caller says ---- */

static locus_status check_counts(const locus_workspace_limits *given, locus_error *error) {
    const size_t counts[] = {given->sequences, given->queries, given->keys};
    const char *const names[] = {"sequences", "queries", "keys"};
    for (size_t i = 0; i < 3; i++)
        if (counts[i] > UINT32_MAX)
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, names[i], "limits.%s is %zu: a plan has at most %u of them",
                              names[i], counts[i], UINT32_MAX);
    if (given->threads > THREADS_MAX)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "threads", "limits.threads is %zu: give at most %d, or 0",
                          given->threads, THREADS_MAX);
    if (locus_dtype_size(given->dtype) == 0)
        return locus_fail(error, LOCUS_ERROR_DTYPE, "dtype",
                          "limits.dtype is %d; use float32, float64, float16 or bfloat16", (int)given->dtype);
    return LOCUS_OK;
}

static locus_status read_limits(locus_workspace_limits *own, const locus_workspace_limits *given, locus_error *error) {
    static const locus_sized kind = {sizeof *own, sizeof *own, "limits"};
    *own = (locus_workspace_limits){.size = sizeof *own};
    if (!given)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "limits", "limits is NULL: say how large batches get");
    locus_status status = locus_sized_read(own, &kind, given, error);
    if (status == LOCUS_OK)
        status = check_counts(own, error);
    own->threads = own->threads ? own->threads : locus_threads();
    own->sequences = own->sequences ? own->sequences : 1;
    own->keys = own->keys ? own->keys : own->queries;
    return status;
}

static size_t longest(size_t given, size_t tokens) {
    return given > 0 && given < tokens ? given : tokens;
}

static locus_limits settle(const locus_workspace_limits *given) {
    return (locus_limits){.sequences = given->sequences,
                          .queries = given->queries,
                          .keys = given->keys,
                          .longest_query = longest(given->longest_queries, given->queries),
                          .longest_key = longest(given->longest_keys, given->keys),
                          .depth = given->depth,
                          .workspace = given->plan_workspace ? given->plan_workspace : DEFAULT_WORKSPACE};
}

/* Products of sizes stay far below what a size_t holds. */
static locus_status check_products(const locus_workspace_limits *given, const locus_shape *shape, locus_error *error) {
    const size_t dims[] = {shape->head_dim, locus_shape_value_dim(shape)};
    const double dim = (double)(dims[0] > dims[1] ? dims[0] : dims[1]) + 1, heads = (double)shape->heads + 1;
    const double tokens = (double)given->queries + (double)given->keys;
    const double rows = tokens + (double)given->sequences + 64 * (double)given->threads;
    const double bytes = 64 * rows * (heads * dim * dim + (double)shape->model_dim);
    if (bytes < 0x1p62)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "limits",
                      "batches of %zu queries and %zu keys of this shape are more than memory can hold", given->queries,
                      given->keys);
}

/* ---- a binding and positions to make a plan of ---- */

static locus_status draw(const locus_encoding *encoding, const locus_shape *shape, locus_tensor *values, size_t count,
                         locus_owned *memory, locus_error *error) {
    for (size_t i = 0; i < count; i++) {
        locus_parameter info = {.size = sizeof info};
        const locus_status status = locus_encoding_parameter(encoding, shape, i, &info, error);
        if (status != LOCUS_OK)
            return status;
        values[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info.rank, info.shape);
        values[i].data = locus_owned_get(memory, locus_tensor_count(&values[i]), sizeof(double));
        if (!values[i].data)
            return locus_owned_fail(error);
    }
    return locus_encoding_initialise(encoding, shape, 0, values, count, error);
}

static locus_status bind(locus_binding **binding, const locus_encoding *encoding, const locus_shape *shape,
                         locus_error *error) {
    locus_owned memory = {0};
    size_t count = 0;
    locus_status status = locus_encoding_parameter_count(encoding, shape, &count, error);
    locus_tensor *values = status == LOCUS_OK ? locus_owned_get(&memory, count, sizeof *values) : NULL;
    if (status == LOCUS_OK && !values)
        status = locus_owned_fail(error);
    if (status == LOCUS_OK)
        status = draw(encoding, shape, values, count, &memory, error);
    if (status == LOCUS_OK)
        status = locus_binding_create(binding, encoding, shape, values, count, error);
    locus_owned_release(&memory);
    return status;
}

/* So many sequences without tokens. */
static locus_status stand(locus_positions **positions, const locus_group *group, size_t sequences, locus_error *error) {
    static const size_t no_words[] = {0, 0};
    const size_t coordinates = locus_group_coordinates(group);
    locus_owned memory = {0};
    const size_t *offsets = locus_owned_get(&memory, sequences + 1, sizeof *offsets); /* all 0 */
    locus_position_column *columns = locus_owned_get(&memory, coordinates, sizeof *columns);
    locus_status status = offsets && columns ? LOCUS_OK : locus_owned_fail(error);
    for (size_t c = 0; status == LOCUS_OK && c < coordinates; c++)
        columns[c] = (locus_position_column){
            .size = sizeof *columns,
            .starts = locus_group_coordinate(group, c).kind == LOCUS_COORDINATE_TREE ? no_words : NULL};
    const locus_packing packing = {sizeof packing, sequences, offsets, NULL};
    if (status == LOCUS_OK)
        status = locus_positions_create_columns(positions, group, &packing, columns, error);
    locus_owned_release(&memory);
    return status;
}

static locus_status check_depth(const locus_workspace_limits *given, const locus_group *group, locus_error *error) {
    if (!locus_group_has_tree(group) || (given->depth > 0 && given->depth <= UINT32_MAX))
        return LOCUS_OK;
    if (given->depth > 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "depth",
                          "limits.depth is %zu: words have at most 2^32 - 1 letters", given->depth);
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, "depth",
                      "limits.depth is 0: positions on a tree are words; say how many letters the longest one has");
}

/* ---- as large as it may get ---- */

static void widen_side(const locus_token_side *side, size_t tokens) {
    locus_token_side *own = (locus_token_side *)(uintptr_t)side;
    own->tokens = own->used = tokens;
    own->limit = true;
}

/* One sequence is as long as any. */
static void widen_items(const locus_placement *items, size_t count, const locus_limits *limits) {
    for (size_t c = 0; c < count; c++) {
        const locus_placement *placement = &items[c];
        widen_side(&placement->query, limits->queries);
        widen_side(&placement->key, limits->keys);
        *(locus_sequence_span *)(uintptr_t)placement->spans =
            (locus_sequence_span){0, limits->longest_query, 0, limits->longest_key};
    }
}

/* With the copies that are split in levels. */
static locus_status widen_places(const locus_places *places, const locus_limits *limits, locus_error *error) {
    const locus_placement *split = NULL;
    const locus_status status = locus_levels_get(places, &split, NULL, error);
    if (status != LOCUS_OK)
        return status;
    widen_items(places->items, places->count, limits);
    widen_items(split, places->count, limits);
    return LOCUS_OK;
}

static void widen_local(const locus_operator *op, const locus_limits *limits) {
    if (op && op->class->widen)
        op->class->widen((locus_operator *)(uintptr_t)op, limits);
}

static void widen_whole(const locus_whole_operator *op, const locus_limits *limits) {
    if (op && op->class->widen)
        op->class->widen((locus_whole_operator *)(uintptr_t)op, limits);
}

/* The plan's ground is nobody else's: its positions were made for it. */
static locus_status widen(locus_plan *plan, const locus_limits *limits, locus_error *error) {
    plan->limits = limits;
    const locus_status status = widen_places(&plan->places, limits, error);
    if (status != LOCUS_OK)
        return status;
    widen_local(plan->query_key, limits); /* values are turned by the same, or by none */
    widen_whole(plan->query_key_whole, limits);
    for (size_t i = 0; i < plan->score_count; i++)
        if (plan->scores[i]->class->widen)
            plan->scores[i]->class->widen((locus_score_term *)(uintptr_t)plan->scores[i], limits);
    return LOCUS_OK;
}

/* ---- all of it ---- */

static void run_nothing(void *state, size_t count, locus_task *task, void *context) {
    (void)state, (void)count, (void)task, (void)context;
}

static locus_status make_plan(locus_limit_plan *own, const locus_binding *binding, locus_error *error) {
    const locus_group *group = locus_binding_group(binding);
    locus_positions *queries = NULL; /* and keys: of none of either it says nothing */
    locus_plan_options options = locus_plan_options_default();
    options.workspace = own->limits.workspace;
    locus_status status = check_depth(&own->given, group, error);
    if (status == LOCUS_OK)
        status = stand(&queries, group, own->limits.sequences, error);
    if (status == LOCUS_OK)
        status = locus_plan_create_with(&own->plan, binding, queries, NULL, &options, error);
    if (status == LOCUS_OK)
        status = widen(own->plan, &own->limits, error);
    locus_positions_destroy(&queries);
    return status;
}

locus_status locus_limit_plan_open(locus_limit_plan *own, const locus_encoding *encoding,
                                   const locus_workspace_limits *limits, locus_error *error) {
    locus_binding *binding = NULL;
    own->plan = NULL;
    locus_status status = read_limits(&own->given, limits, error);
    if (status == LOCUS_OK)
        status = bind(&binding, encoding, own->given.shape, error);
    if (status == LOCUS_OK)
        status = check_products(&own->given, &binding->shape, error);
    if (status == LOCUS_OK) {
        own->limits = settle(&own->given);
        own->executor = (locus_executor){sizeof own->executor, run_nothing, own->given.threads, NULL};
        own->execution = locus_execution_default();
        own->execution.executor = &own->executor;
        status = make_plan(own, binding, error);
    }
    locus_binding_destroy(&binding);
    return status;
}

void locus_limit_plan_close(locus_limit_plan *own) {
    locus_plan_destroy(&own->plan);
}

locus_status locus_apply_workspace_bound(const locus_encoding *encoding, const locus_workspace_limits *limits,
                                         locus_role role, size_t *bytes, locus_error *error) {
    locus_limit_plan own;
    if (!bytes)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "bytes", "bytes is NULL: give a place for the result");
    if (role < LOCUS_ROLE_TOKEN || role > LOCUS_ROLE_ENCODED)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "role", "there is no role %d", (int)role);
    const locus_status status = locus_limit_plan_open(&own, encoding, limits, error);
    *bytes = status == LOCUS_OK ? locus_apply_workspace(own.plan, role, own.given.dtype, &own.execution) : 0;
    locus_limit_plan_close(&own);
    return status;
}

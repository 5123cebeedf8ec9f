/* SPDX-License-Identifier: MIT */
/* The rotary operator: which direction and which basis a call means, scratch, and the class that executors call. */
#include "operators/rotary/rotary.h"

#include "core/error.h"
#include "spec/levels.h"

/* ---- scratch ---- */

static size_t take(size_t *total, size_t bytes) {
    size_t at = *total;
    *total += locus_aligned(bytes);
    return at;
}

static size_t moment_elements(const locus_rotary_operator *op) {
    size_t most = op->widened ? LOCUS_NEAR_MOMENTS * op->rotary->dim * op->rotary->dim : 0;
    for (size_t table = 0; op->near_first && table < op->rotary->tables; table++) {
        size_t elements = 0;
        for (size_t i = op->near_first[table]; i < op->near_first[table + 1]; i++)
            elements += LOCUS_NEAR_MOMENTS * op->near[i].count * op->near[i].count;
        most = elements > most ? elements : most;
    }
    return most;
}

/* Vectors in another basis, what generators learn by, and near angles come with a basis of one's own alone. */
static size_t lay_basis(locus_rotary_scratch *scratch, const locus_rotary_operator *op, size_t size, size_t total) {
    const locus_rotary *rotary = op->rotary;
    const size_t dim = rotary->dim, rows = LOCUS_BASIS_ROWS, block = rows * dim * size;
    const bool matrices = rotary->learned & (LOCUS_LEARN_GENERATOR | LOCUS_LEARN_BASIS);
    scratch->half = take(&total, 2 * op->half_fine.rates.pairs * size * rows);
    scratch->x = take(&total, block);
    scratch->g = take(&total, matrices ? block : 0);
    scratch->turned = take(&total, matrices ? block : 0);
    scratch->half_x = take(&total, rows * op->near_widest * size);
    scratch->half_g = take(&total, rows * op->near_widest * size);
    scratch->weighted = take(&total, LOCUS_NEAR_MOMENTS * rows * op->near_widest * size);
    scratch->forward = take(&total, matrices ? dim * dim * size : 0);
    scratch->backward = take(&total, matrices ? dim * dim * size : 0);
    scratch->moments = take(&total, moment_elements(op) * size);
    return total;
}

/* Where what begins, in bytes; returns their number. */
static size_t lay_scratch(locus_rotary_scratch *scratch, const locus_rotary_operator *op, locus_dtype dtype,
                          size_t heads) {
    const locus_rotary *rotary = op->rotary;
    const size_t size = locus_dtype_size(dtype), rows = LOCUS_BASIS_ROWS;
    const bool basis = rotary->basis_float64 != NULL, own = rotary->fine[0].rates.tables > 1;
    const size_t many = own && !basis ? LOCUS_TURN_ROWS * heads : 0;
    const size_t angles = 2 * rotary->pairs * size * (many > rows ? many : rows);
    size_t total = 0;
    *scratch = (locus_rotary_scratch){0};
    scratch->phase = take(&total, angles);
    scratch->factor = take(&total, rotary->axes > 1 ? angles : 0);
    if (basis)
        total = lay_basis(scratch, op, size, total);
    scratch->weights = take(&total, LOCUS_BASIS_ROWS * sizeof(double));
    scratch->standing = take(&total, locus_rotary_may_stand(rotary) ? locus_rotary_standing_bytes(rotary) : 0);
    return total;
}

static size_t heads_scratch_bytes(const locus_operator *op, locus_dtype dtype, size_t heads) {
    locus_rotary_scratch scratch;
    return lay_scratch(&scratch, (const locus_rotary_operator *)op, dtype, heads);
}

static size_t scratch_bytes(const locus_operator *op, locus_dtype dtype, size_t count) {
    (void)count;
    return heads_scratch_bytes(op, dtype, 1);
}

/* Neighbouring angles are near where positions are far: all of them, at worst. Given angles are those of each distinct
 * position. */
static void widen(locus_operator *op, const locus_limits *limits) {
    locus_rotary_operator *own = (locus_rotary_operator *)op;
    if (own->given)
        ((locus_rotary_given *)(uintptr_t)own->given)->count = limits->queries + limits->keys;
    if (!(own->rotary->learned & LOCUS_LEARN_GENERATOR))
        return;
    own->widened = true;
    own->near_widest = own->rotary->dim;
    own->moments = LOCUS_NEAR_MOMENTS;
    own->half_fine.rates.pairs = own->rotary->pairs;
}

/* ---- what a call means ---- */

/* INNER is where the basis has been entered and not left: after the operator of queries, keys and values, before that
 * of the output. One-sided encodings have no such place: one side is never turned, so nothing cancels. */
static void walk_begin(locus_rotary_walk *walk, const locus_operator *op, const locus_operator_call *call,
                       const locus_operator_heads *heads) {
    const locus_rotary_operator *own = (const locus_rotary_operator *)op;
    const bool query_key = call->role == LOCUS_ROLE_QUERY || call->role == LOCUS_ROLE_KEY;
    const bool queries = call->role == LOCUS_ROLE_QUERY || call->role == LOCUS_ROLE_OUTPUT;
    const locus_side side = own->rotary->side;
    const bool inner = call->coordinates == LOCUS_INNER && !(query_key && side != LOCUS_SIDE_BOTH);
    walk->op = own;
    walk->call = call;
    walk->heads = heads;
    walk->queries = queries;
    lay_scratch(&walk->scratch, own, call->dtype, heads->count);
    walk->acts = !query_key || side == LOCUS_SIDE_BOTH || (side == LOCUS_SIDE_QUERY) == queries;
    walk->factor = query_key && walk->acts && own->rotary->factor > 0 ? own->rotary->factor : 1;
    walk->angles = queries || !own->key_angles ? own->angles : own->key_angles;
    walk->sign = (call->role == LOCUS_ROLE_OUTPUT) == (call->direction == LOCUS_INVERSE) ? 1 : -1;
    walk->into = !inner || walk->sign > 0;
    walk->out_of = !inner || walk->sign < 0;
}

static void forward_heads(const locus_operator *op, const locus_operator_call *call,
                          const locus_operator_heads *heads) {
    locus_rotary_walk walk;
    walk_begin(&walk, op, call, heads);
    if (call->dtype == LOCUS_FLOAT32)
        locus_rotary_run_float32(&walk);
    else
        locus_rotary_run_float64(&walk);
}

/* Without a gradient of parameters, backward is the forward operator turned round: gx = scale·opᵀ gy. */
static void turn_back(const locus_rotary_walk *walk) {
    locus_operator_call call = *walk->call;
    locus_operator_heads heads = *walk->heads;
    locus_rotary_walk back = *walk;
    call.x = heads.gy;
    call.entered = NULL;
    call.x_stride = heads.gy_stride;
    heads.x_head = heads.gy_head;
    back.call = &call;
    back.heads = &heads;
    back.sign = -walk->sign;
    back.into = walk->out_of;
    back.out_of = walk->into;
    if (call.dtype == LOCUS_FLOAT32)
        locus_rotary_run_float32(&back);
    else
        locus_rotary_run_float64(&back);
}

static void backward_heads(const locus_operator *op, const locus_operator_call *call,
                           const locus_operator_heads *heads) {
    locus_rotary_walk walk;
    walk_begin(&walk, op, call, heads);
    if (!walk.acts || !heads->slots || walk.op->rotary->learned == LOCUS_LEARN_NOTHING)
        turn_back(&walk);
    else if (call->dtype == LOCUS_FLOAT32)
        locus_rotary_learn_float32(&walk);
    else
        locus_rotary_learn_float64(&walk);
}

static void forward(const locus_operator *op, const locus_operator_call *call, void *y, ptrdiff_t y_stride) {
    const locus_operator_heads one = {.count = 1, .y = y, .y_stride = y_stride};
    forward_heads(op, call, &one);
}

static void backward(const locus_operator *op, const locus_operator_call *call, const void *gy, ptrdiff_t gy_stride,
                     void *gx, ptrdiff_t gx_stride, void *slot) {
    const locus_operator_heads one = {
        .count = 1, .gy = gy, .gy_stride = gy_stride, .y = gx, .y_stride = gx_stride, .slots = slot};
    backward_heads(op, call, &one);
}

static const locus_operator_class rotary_operator_class = {
    .scratch_bytes = scratch_bytes,
    .forward = forward,
    .backward = backward,
    .slot_bytes = locus_rotary_slot_bytes,
    .reduce = locus_rotary_reduce,
    .heads_scratch_bytes = heads_scratch_bytes,
    .forward_heads = forward_heads,
    .backward_heads = backward_heads,
    .form = locus_rotary_form,
    .widen = widen,
};

/* Between whole steps there is no reflection. */
static locus_status check_steps(const locus_rotary *rotary, const locus_placement *placement, locus_error *error) {
    for (size_t table = 0; placement->query.reals && rotary->flip && table < rotary->tables; table++)
        if (rotary->flip[table] < rotary->dim)
            return locus_fail(error, LOCUS_ERROR_POSITION, "positions",
                              "the generator of head %zu reflects, which needs whole positions: these are real numbers",
                              table);
    return LOCUS_OK;
}

locus_status locus_rotary_begin(const locus_rotary *rotary, const locus_placement *placement, locus_owned *memory,
                                locus_rotary_operator **made, locus_angle_table **angles, locus_error *error) {
    locus_rotary_operator *op = *made = locus_owned_get(memory, 1, sizeof *op);
    *angles = locus_owned_get(memory, rotary->axes, sizeof **angles);
    if (!op || !*angles)
        return locus_owned_fail(error);
    op->base.class = &rotary_operator_class;
    op->base.heads_apart = rotary->tables == rotary->heads;
    op->base.heads_alike = rotary->tables == 1;
    op->base.enters =
        rotary->basis_float64 != NULL && (rotary->learned & (LOCUS_LEARN_GENERATOR | LOCUS_LEARN_BASIS)) != 0;
    op->base.causal_only = rotary->growth != NULL;
    op->rotary = rotary;
    op->placement = placement;
    op->angles = *angles;
    op->kernels_float32 = locus_kernels_float32_get();
    op->kernels_float64 = locus_kernels_float64_get();
    return LOCUS_OK;
}

locus_status locus_rotary_place(const locus_rotary *rotary, const locus_places *places, size_t first,
                                locus_owned *memory, const locus_operator **placed, locus_error *error) {
    const locus_placement *placement = NULL;
    locus_rotary_operator *op = NULL;
    locus_angle_table *angles = NULL;
    locus_status status = locus_levels_get(places, &placement, memory, error);
    if (status != LOCUS_OK)
        return status;
    placement += first;
    status = locus_rotary_begin(rotary, placement, memory, &op, &angles, error);
    if (status == LOCUS_OK)
        status = check_steps(rotary, placement, error);
    for (size_t axis = 0; axis < rotary->axes && status == LOCUS_OK; axis++)
        status = locus_angle_table_create(&angles[axis], &rotary->fine[axis], &placement[axis], memory, error);
    if (status == LOCUS_OK && rotary->growth)
        status = locus_rotary_place_growth(op, memory, error);
    if (status == LOCUS_OK && (rotary->learned & LOCUS_LEARN_GENERATOR) && !placement->held)
        status = locus_rotary_find_near(op, memory, error);
    *placed = op ? &op->base : NULL;
    return status;
}

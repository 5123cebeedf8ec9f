/* SPDX-License-Identifier: MIT */
/* Re-basing turned keys: ⌈a⌉ at every token, in place.
 *
 *   ⌈a + p⌉ k = ⌈a⌉ (⌈p⌉ k)     a homomorphism; the group need not be abelian, since a is composed on the left
 *
 * An attention factor m makes operators m·R(p), which is none: then ⌈a⌉ is applied and m divided out again. xPos with
 * its centre at 0 is one. Tokens pass in pieces, so that the plan's memory does not depend on how many there are. */
#include "attention/cache/cache_inside.h"

#include "core/call.h"
#include "core/error.h"
#include "core/tensor_check.h"
#include "kernels/half_rows.h"
#include "plan/plan_access.h"

#define PIECE 256

/* ---- what can be shifted ---- */

static locus_moving moving_of(const locus_binding *binding, size_t i) {
    const locus_term *term = &binding->encoding->terms[i];
    const locus_encoding_class *class = term->class;
    const unsigned laws = class->laws_of ? class->laws_of(term) : class->laws;
    if (!(locus_term_sites(term) & (LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE)))
        return (locus_moving){.factor = 1};
    if (class->moving)
        return class->moving(locus_binding_state(binding, i));
    return (locus_moving){.refused =
                              laws & LOCUS_LAW_HOMOMORPHISM ? NULL : "maps positions to operators by no homomorphism",
                          .factor = 1};
}

locus_status locus_cache_check_shift(const locus_binding *binding, locus_error *error) {
    for (size_t i = 0; i < binding->encoding->term_count; i++) {
        const locus_moving moving = moving_of(binding, i);
        if (moving.refused)
            return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "shift",
                              "'%s' %s: turned keys cannot be moved, turn them anew at their new positions",
                              binding->encoding->terms[i].class->info.name, moving.refused);
    }
    return LOCUS_OK;
}

/* What keys are multiplied by once more when they are turned again; one term at most turns keys. */
static double factor_of(const locus_binding *binding, size_t *turning) {
    double factor = 1;
    for (size_t i = 0; i < binding->encoding->term_count; i++) {
        const locus_moving moving = moving_of(binding, i);
        if (moving.turning > 0)
            factor = moving.factor, *turning = moving.turning;
    }
    return factor;
}

/* ---- making ---- */

static locus_status create_plan(locus_plan **plan, const locus_binding *binding, const locus_path *a,
                                const locus_plan_options *options, size_t tokens, locus_error *error) {
    const size_t offsets[] = {0, tokens};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    const locus_path *paths[PIECE];
    locus_positions *positions = NULL;
    for (size_t i = 0; i < tokens; i++)
        paths[i] = a;
    locus_status status = locus_positions_create_paths(&positions, locus_path_group(a), &packing, paths, error);
    if (status == LOCUS_OK)
        status = locus_plan_create_with(plan, binding, positions, NULL, options, error);
    locus_positions_destroy(&positions);
    return status;
}

static locus_status fit_rooms(cache_shifter *shifter, const locus_binding *binding, locus_error *error) {
    static const locus_role roles[] = {LOCUS_ROLE_KEY, LOCUS_ROLE_VALUE};
    static const locus_dtype dtypes[] = {LOCUS_FLOAT32, LOCUS_FLOAT64};
    const size_t key_dim = binding->shape.head_dim, value_dim = locus_shape_value_dim(&binding->shape);
    size_t most = 0;
    for (size_t i = 0; i < 8; i++) {
        const size_t bytes = locus_apply_workspace(shifter->plans[i & 1], roles[i >> 1 & 1], dtypes[i >> 2], NULL);
        most = bytes > most ? bytes : most;
    }
    locus_status status = locus_cache_room_fit(&shifter->workspace, most, error);
    const size_t row = locus_shape_kv_heads(&binding->shape) * (key_dim > value_dim ? key_dim : value_dim);
    return status == LOCUS_OK ? locus_cache_room_fit(&shifter->wide, shifter->piece * row * sizeof(float), error)
                              : status;
}

locus_status locus_cache_shifter_create(cache_shifter *shifter, const locus_binding *binding, const locus_path *a,
                                        const locus_plan_options *options, size_t tokens, locus_error *error) {
    *shifter = (cache_shifter){.tokens = tokens, .piece = tokens < PIECE ? tokens : PIECE, .undo = 1};
    locus_status status = locus_cache_check_shift(binding, error);
    const double factor = status == LOCUS_OK ? factor_of(binding, &shifter->turning) : 1;
    shifter->undo = 1 / factor;
    if (status == LOCUS_OK && tokens >= PIECE)
        status = create_plan(&shifter->plans[0], binding, a, options, PIECE, error);
    if (status == LOCUS_OK && tokens % PIECE > 0)
        status = create_plan(&shifter->plans[1], binding, a, options, tokens % PIECE, error);
    if (status == LOCUS_OK)
        status = fit_rooms(shifter, binding, error);
    if (status != LOCUS_OK)
        locus_cache_shifter_destroy(shifter);
    return status;
}

void locus_cache_shifter_destroy(cache_shifter *shifter) {
    locus_plan_destroy(&shifter->plans[0]);
    locus_plan_destroy(&shifter->plans[1]);
    locus_release(shifter->workspace.data, shifter->workspace.bytes);
    locus_release(shifter->wide.data, shifter->wide.bytes);
    *shifter = (cache_shifter){0};
}

/* ---- running ---- */

static void scale_rows(size_t count, size_t dim, double factor, const cache_rows *rows) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < dim; j++) {
            const ptrdiff_t at = (ptrdiff_t)i * rows->stride + (ptrdiff_t)j;
            if (rows->dtype == LOCUS_FLOAT64)
                ((double *)rows->data)[at] *= factor;
            else
                ((float *)rows->data)[at] = (float)((double)((float *)rows->data)[at] * factor);
        }
}

/* One piece of float32 or float64, in place. */
static void run_piece(const cache_shifter *shifter, const locus_plan *plan, locus_role role,
                      const locus_tensor *piece) {
    const locus_execution execution = locus_cache_execution(&shifter->workspace);
    locus_error error; /* tensors have been checked, and the call knows whether it was cancelled: of callbacks */
    const locus_status status = locus_apply(plan, role, LOCUS_FORWARD, piece, piece, &execution, &error);
    if (status != LOCUS_OK)
        locus_call_fail(&error);
    for (size_t h = 0; role == LOCUS_ROLE_KEY && shifter->undo != 1 && h < (size_t)piece->shape[1]; h++) {
        const cache_rows rows = locus_cache_rows_of(piece, h, 0, 0);
        scale_rows((size_t)piece->shape[0], shifter->turning, shifter->undo, &rows);
    }
}

static void convert_heads(const locus_tensor *from, const locus_tensor *to) {
    for (size_t h = 0; h < (size_t)from->shape[1]; h++) {
        const cache_rows source = locus_cache_rows_of(from, h, 0, 0), target = locus_cache_rows_of(to, h, 0, 0);
        locus_cache_convert((size_t)from->shape[0], (size_t)from->shape[2], &source, &target);
    }
}

void locus_cache_shifter_run(const cache_shifter *shifter, locus_role role, const locus_tensor *keys) {
    for (size_t done = 0, count; done < shifter->tokens; done += count) {
        locus_tensor piece = *keys;
        count = shifter->tokens - done < PIECE ? shifter->tokens - done : PIECE;
        piece.data = locus_cache_rows_of(keys, 0, 0, done).data;
        piece.shape[0] = (int64_t)count;
        const locus_plan *plan = shifter->plans[count < PIECE];
        if (!locus_dtype_is_half(keys->dtype)) {
            run_piece(shifter, plan, role, &piece);
            continue;
        }
        const locus_tensor wide = locus_tensor_view(shifter->wide.data, LOCUS_FLOAT32, 3, piece.shape);
        convert_heads(&piece, &wide);
        run_piece(shifter, plan, role, &wide);
        convert_heads(&wide, &piece);
    }
}

/* ---- the public call ---- */

static locus_status check_keys(const locus_binding *binding, locus_role role, const locus_tensor *keys,
                               locus_error *error) {
    const size_t heads = locus_shape_kv_heads(&binding->shape);
    const size_t dim = role == LOCUS_ROLE_KEY ? binding->shape.head_dim : locus_shape_value_dim(&binding->shape);
    const locus_status status = locus_tensor_check(keys, "keys", error);
    if (status != LOCUS_OK)
        return status;
    const bool apart = keys->rank == 4;
    if ((keys->rank != 3 && !apart) || keys->shape[0] < 0 || keys->shape[1] != (int64_t)heads ||
        (apart && keys->shape[2] < 0) || keys->shape[apart ? 3 : 2] != (int64_t)dim)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "keys",
                          "keys must be [tokens, %zu, %zu] or [sequences, %zu, length, %zu]", heads, dim, heads, dim);
    if (keys->stride[keys->rank - 1] != 1 && dim > 1)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "keys", "keys must have stride 1 in their last dimension, not %lld",
                          (long long)keys->stride[keys->rank - 1]);
    return locus_tensor_check_data(keys, true, "keys", error);
}

/* One entry of a batch as [length, heads, dim]. */
static locus_tensor entry_of(const locus_tensor *keys, int64_t index) {
    const locus_tensor entry = {.data = (char *)keys->data +
                                        index * keys->stride[0] * (int64_t)locus_dtype_size(keys->dtype),
                                .dtype = keys->dtype,
                                .rank = 3,
                                .shape = {keys->shape[2], keys->shape[1], keys->shape[3]},
                                .stride = {keys->stride[2], keys->stride[1], keys->stride[3]}};
    return entry;
}

/* Plans are made once, for pieces of any entry. */
static locus_status shift_keys(const locus_binding *binding, const locus_path *a, const locus_plan_options *options,
                               locus_role role, const locus_tensor *keys, locus_error *error) {
    cache_shifter shifter;
    const bool apart = keys->rank == 4, empty = locus_tensor_count(keys) == 0;
    const size_t tokens = empty ? 0 : (size_t)keys->shape[apart ? 2 : 0];
    const locus_status status = locus_cache_shifter_create(&shifter, binding, a, options, tokens, error);
    if (status != LOCUS_OK)
        return status;
    for (int64_t s = 0; apart && !empty && s < keys->shape[0] && !locus_call_cancelled(); s++) {
        const locus_tensor entry = entry_of(keys, s);
        locus_cache_shifter_run(&shifter, role, &entry);
    }
    if (!apart)
        locus_cache_shifter_run(&shifter, role, keys);
    locus_cache_shifter_destroy(&shifter);
    return LOCUS_OK;
}

locus_status locus_keys_shift(const locus_binding *binding, const locus_path *a, const locus_plan_options *options,
                              locus_role role, const locus_tensor *keys, locus_error *error) {
    if (!binding || !a || !keys)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT,
                          !binding ? "binding"
                          : a      ? "keys"
                                   : "a",
                          "%s is NULL",
                          !binding ? "binding"
                          : a      ? "keys"
                                   : "a");
    if (role != LOCUS_ROLE_KEY && role != LOCUS_ROLE_VALUE)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "role", "only keys and values are shifted, not role %d",
                          (int)role);
    locus_status status = check_keys(binding, role, keys, error);
    if (status != LOCUS_OK)
        return status;
    locus_plan_options chosen;
    locus_call call;
    status = locus_plan_options_read(&chosen, options, error);
    if (status != LOCUS_OK)
        return status;
    status = locus_call_begin(&call, chosen.execution, error);
    if (status != LOCUS_OK)
        return status;
    chosen.execution = NULL; /* the plans are made inside of this call */
    return locus_call_end(&call, shift_keys(binding, a, &chosen, role, keys, error), error);
}

/* SPDX-License-Identifier: MIT */
/* locus_apply against y = W x, and its backward against Wᵀ gy and central differences in the parameters. */
#include "reference/drawn_tensor.h"
#include "reference/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct apply_call {
    drawn_world *world;
    trial *result;
    const trial_hostility *hostility;
    locus_role role;
    locus_direction direction;
    locus_dtype dtype;
    const reference_tokens *tokens;
    size_t heads, shared, dim, count; /* heads 0: [tokens, dim] */
    double *x, *gy;
} apply_call;

static bool is_token(locus_role role) {
    return role == LOCUS_ROLE_TOKEN || role == LOCUS_ROLE_ENCODED;
}

static const double *operator_of(const apply_call *call) {
    const reference_operators *all = &call->world->operators;
    return call->role == LOCUS_ROLE_QUERY    ? all->query
           : call->role == LOCUS_ROLE_KEY    ? all->key
           : call->role == LOCUS_ROLE_VALUE  ? all->value
           : call->role == LOCUS_ROLE_OUTPUT ? all->output
                                             : NULL;
}

static bool is_transposed(const apply_call *call) {
    return (call->role == LOCUS_ROLE_OUTPUT) != (call->direction == LOCUS_INVERSE);
}

/* y of the reference, with the parameters as they are. */
static void define(const apply_call *call, const double *x, double *y) {
    const reference_model *model = &call->world->model;
    reference_turn(operator_of(call), call->tokens, call->heads ? call->heads : 1, call->shared, call->dim,
                   is_transposed(call), x, y);
    if (!is_token(call->role))
        return;
    double *added = reference_zeros(call->dim, sizeof *added);
    const unsigned site = call->role == LOCUS_ROLE_TOKEN ? LOCUS_SITE_EMBEDDING : LOCUS_SITE_ENCODED;
    for (size_t s = 0; s < call->tokens->sequences; s++)
        for (size_t t = call->tokens->first[s]; t < call->tokens->first[s] + call->tokens->count[s]; t++) {
            reference_embedding(model, site, &call->tokens->at[t], added);
            for (size_t i = 0; i < call->dim; i++)
                y[t * call->dim + i] = x[t * call->dim + i] + (call->direction == LOCUS_INVERSE ? -added[i] : added[i]);
        }
    free(added);
}

static void draw_call(apply_call *call, chooser *choices) {
    const locus_shape *shape = &call->world->shape;
    call->role = (locus_role)(1 + choose(choices, 6));
    call->direction = choose_chance(choices, 35) ? LOCUS_INVERSE : LOCUS_FORWARD;
    call->dtype = trial_dtype(choices);
    const bool keys = call->role == LOCUS_ROLE_KEY || call->role == LOCUS_ROLE_VALUE;
    const bool values = call->role == LOCUS_ROLE_VALUE || call->role == LOCUS_ROLE_OUTPUT;
    call->tokens = keys ? &call->world->keys.tokens : &call->world->queries.tokens;
    call->heads = is_token(call->role) ? 0 : keys ? shape->kv_heads : shape->heads;
    call->shared = keys ? 1 : shape->heads / shape->kv_heads;
    call->dim = is_token(call->role) ? shape->model_dim : values ? shape->value_dim : shape->head_dim;
    call->count = call->tokens->tokens * (call->heads ? call->heads : 1) * call->dim;
    call->x = reference_zeros(call->count, sizeof *call->x);
    call->gy = reference_zeros(call->count, sizeof *call->gy);
    chooser stream = chooser_stream(choices);
    const double size = choose_chance(choices, 20) ? exp(4 * choose_normal(&stream) / 3) : 1;
    for (size_t i = 0; i < call->count; i++) {
        call->x[i] = drawn_round(call->dtype, size * choose_normal(&stream));
        call->gy[i] = drawn_round(call->dtype, choose_normal(&stream));
    }
    if (call->hostility && choose_chance(choices, 20))
        trial_poison(choices, call->x, call->count);
}

/* Largest |W x| + |x| that any element has, by magnitudes. */
static double *magnitudes(const apply_call *call, const double *x) {
    const double *W = operator_of(call);
    const size_t row = call->dim * (call->heads ? call->heads : 1);
    double *size = reference_zeros(call->count, sizeof *size);
    for (size_t i = 0; i < call->count; i++) {
        const double *own = x + i / call->dim * call->dim;
        double square = 0, norm = 1;
        for (size_t c = 0; c < call->dim; c++)
            square += isfinite(own[c]) ? own[c] * own[c] : 0;
        if (W && i / row < call->tokens->tokens) {
            const double *matrix = W + i / call->dim / call->shared * call->dim * call->dim;
            for (size_t c = 0; c < call->dim * call->dim; c++)
                norm = fmax(norm, fabs(matrix[c]));
        }
        size[i] = norm * sqrt(square) + (W ? 0 : 4);
    }
    return size;
}

static void compare(const apply_call *call, const char *what, const double *x, const double *got, const double *want) {
    const double eps = drawn_rounding(call->dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32);
    const double angles = TRIAL_ANGLE * reference_angle(&call->world->model);
    const double once = drawn_rounding(call->dtype);
    double *size = magnitudes(call, x);
    const size_t row = call->dim * (call->heads ? call->heads : 1);
    for (size_t s = 0; s < call->tokens->sequences; s++)
        for (size_t i = call->tokens->first[s] * row; i < (call->tokens->first[s] + call->tokens->count[s]) * row;
             i++) {
            if (!isfinite(want[i]))
                continue;
            const double tolerance = (TRIAL_ROUNDINGS * eps + angles) * size[i] + 2 * once * fabs(want[i]);
            trial_compare_stored(call->result, what, i, call->dtype, got[i], want[i],
                                 tolerance + (call->dtype == LOCUS_FLOAT16 ? 6e-8 : 0));
        }
    free(size);
}

/* ---- forward ---- */

static void run_forward(apply_call *call, chooser *choices) {
    trial *result = call->result;
    const bool in_place = choose_chance(choices, 25);
    drawn_tensor x = drawn_tensor_make(choices, call->dtype, call->tokens, call->heads, call->dim);
    drawn_tensor y = drawn_tensor_make(choices, call->dtype, call->tokens, call->heads, call->dim);
    drawn_tensor *out = in_place ? &x : &y;
    trial_workspace workspace =
        trial_workspace_make(locus_apply_workspace(call->world->plan, call->role, call->dtype, NULL));
    locus_error error = {.status = LOCUS_OK};
    double *want = reference_zeros(call->count, sizeof *want), *got = reference_zeros(call->count, sizeof *got);
    drawn_tensor_put(&x, call->x);
    drawn_tensor_watch(&x);
    drawn_tensor_watch(&y);
    locus_tensor views[] = {x.view, out->view};
    if (call->hostility && choose_chance(choices, 10))
        trial_workspace_shrink(&workspace, choices);
    locus_workspace lent = workspace.lent;
    const int lengths[] = {x.length, out->length};
    const char *wrong =
        call->hostility && choose_chance(choices, 15) ? trial_damage(choices, views, lengths, 2, &lent) : NULL;
    const size_t before = trial_allocations(call->hostility);
    const locus_execution execution = locus_execution_in(lent);
    const locus_status status =
        locus_apply(call->world->plan, call->role, call->direction, &views[0], &views[1], &execution, &error);
    trial_check_allocations(result, call->hostility, before);
    if (wrong && status == LOCUS_OK && call->count > 0)
        trial_fail(result, "apply took %s", wrong);
    if (status != LOCUS_OK) {
        trial_refuse(result, &error);
        if (!drawn_tensor_untouched(out, NULL))
            trial_fail(result, "apply was refused and wrote all the same: %s", error.message);
    } else if (!wrong) {
        define(call, call->x, want);
        drawn_tensor_get(out, got);
        compare(call, "y", call->x, got, want);
        result->compared = true;
        if (!drawn_tensor_untouched(out, call->tokens) || (!in_place && !drawn_tensor_untouched(&x, NULL)))
            trial_fail(result, "apply wrote outside of y's tokens");
    }
    if (!trial_workspace_free(&workspace))
        trial_fail(result, "apply wrote outside of its workspace");
    drawn_tensor_free(&x);
    drawn_tensor_free(&y);
    free(want);
    free(got);
}

/* ---- backward ---- */

/* Σ gy·y of the reference. */
static double loss(const apply_call *call) {
    double *y = reference_zeros(call->count, sizeof *y), sum = 0;
    const size_t row = call->dim * (call->heads ? call->heads : 1);
    define(call, call->x, y);
    for (size_t s = 0; s < call->tokens->sequences; s++)
        for (size_t i = call->tokens->first[s] * row; i < (call->tokens->first[s] + call->tokens->count[s]) * row; i++)
            sum += call->gy[i] * y[i];
    free(y);
    return sum;
}

static double moved_loss(apply_call *call, const trial_direction *direction, double step) {
    drawn_world *world = call->world;
    const reference_operators kept = world->operators;
    trial_move(world, direction, step);
    world->operators = reference_operators_make(&world->model);
    const double at = loss(call);
    reference_operators_free(&world->operators);
    world->operators = kept;
    trial_move(world, direction, -step);
    return at;
}

static void compare_parameters(apply_call *call, chooser *choices, double *const *gradients) {
    const double eps = drawn_rounding(call->dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32);
    trial_direction direction = trial_direction_make(call->world, choices);
    const double step = 1e-4 / direction.reach;
    const double up = moved_loss(call, &direction, step), down = moved_loss(call, &direction, -step);
    double *size = magnitudes(call, call->x), sum = 0, square = 0;
    for (size_t i = 0; i < call->count; i++) {
        sum += fabs(call->gy[i]) * size[i];
        square += call->gy[i] * call->gy[i] * size[i] * size[i];
    }
    const double tolerance =
        direction.reach * (1e-7 * sum + (TRIAL_ROUNDINGS * eps + TRIAL_ANGLE * direction.reach) * sqrt(square));
    trial_compare(call->result, "dL/dparameters", 0, trial_along(call->world, &direction, gradients),
                  (up - down) / (2 * step), tolerance);
    trial_direction_free(&direction);
    free(size);
}

/* Whether x is finite. */
static bool is_whole(const apply_call *call) {
    for (size_t i = 0; i < call->count; i++)
        if (!isfinite(call->x[i]))
            return false;
    return true;
}

static void run_backward(apply_call *call, chooser *choices) {
    trial *result = call->result;
    drawn_world *world = call->world;
    drawn_tensor x = drawn_tensor_make(choices, call->dtype, call->tokens, call->heads, call->dim);
    drawn_tensor gy = drawn_tensor_make(choices, call->dtype, call->tokens, call->heads, call->dim);
    drawn_tensor gx = drawn_tensor_make(choices, call->dtype, call->tokens, call->heads, call->dim);
    const bool in_place = choose_chance(choices, 25), learns = choose_chance(choices, 85);
    drawn_tensor *out = in_place ? &gy : &gx;
    locus_tensor tensors[REFERENCE_TENSORS];
    double *gradients[REFERENCE_TENSORS] = {NULL};
    locus_error error = {.status = LOCUS_OK};
    for (size_t i = 0; i < world->tensor_count; i++) {
        gradients[i] = reference_zeros(world->elements[i], sizeof **gradients);
        tensors[i] = locus_tensor_view(gradients[i], LOCUS_FLOAT64, world->info[i].rank, world->info[i].shape);
    }
    drawn_tensor_put(&x, call->x);
    drawn_tensor_put(&gy, call->gy);
    drawn_tensor_watch(&x);
    drawn_tensor_watch(&gy);
    drawn_tensor_watch(&gx);
    const locus_apply_gradients asked = {.x = learns ? &x.view : NULL,
                                         .gy = &gy.view,
                                         .gx = &out->view,
                                         .parameters = learns ? tensors : NULL,
                                         .parameter_count = learns ? world->tensor_count : 0};
    trial_workspace workspace = trial_workspace_make(locus_apply_workspace(world->plan, call->role, call->dtype, NULL));
    const size_t before_call = trial_allocations(call->hostility);
    const locus_execution execution = locus_execution_in(workspace.lent);
    if (locus_apply_backward(world->plan, call->role, call->direction, &asked, &execution, &error) != LOCUS_OK) {
        trial_refuse(result, &error);
    } else {
        apply_call back = *call;
        double *want = reference_zeros(call->count, sizeof *want), *got = reference_zeros(call->count, sizeof *got);
        drawn_tensor_get(out, got);
        reference_turn(operator_of(call), call->tokens, call->heads ? call->heads : 1, call->shared, call->dim,
                       !is_transposed(call), call->gy, want);
        compare(&back, "gx", call->gy, got, want);
        trial_check_allocations(result, call->hostility, before_call);
        if (learns && world->tensor_count > 0 && is_whole(call))
            compare_parameters(call, choices, gradients);
        result->backward = true;
        if (!drawn_tensor_untouched(out, call->tokens) || !drawn_tensor_untouched(&x, NULL))
            trial_fail(result, "apply_backward wrote outside of gx's tokens");
        free(want);
        free(got);
    }
    if (!trial_workspace_free(&workspace))
        trial_fail(result, "apply_backward wrote outside of its workspace");
    for (size_t i = 0; i < world->tensor_count; i++)
        free(gradients[i]);
    drawn_tensor_free(&x);
    drawn_tensor_free(&gy);
    drawn_tensor_free(&gx);
}

void trial_apply(drawn_world *world, chooser *choices, const trial_hostility *hostility, trial *result) {
    apply_call call = {.world = world, .result = result, .hostility = hostility};
    *result = (trial){.state = TRIAL_FINE, .where = ""};
    draw_call(&call, choices);
    run_forward(&call, choices);
    if (result->state == TRIAL_FINE && choose_chance(choices, 60))
        run_backward(&call, choices);
    const size_t length = strlen(result->message);
    if (result->state == TRIAL_FAILED)
        (void)snprintf(result->message + length, sizeof result->message - length, " (type %d, role %d, direction %d)",
                       (int)call.dtype, (int)call.role, (int)call.direction);
    free(call.x);
    free(call.gy);
}

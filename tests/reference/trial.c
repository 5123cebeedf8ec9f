/* SPDX-License-Identifier: MIT */
/* What trials share. See trial.h. */
#include "reference/trial.h"

#include "sanitized.h"

#include <locus/memory.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before and behind a workspace; what jumps far is seen there where no sanitizer watches. */
enum { FRONT = SANITIZED(0, 16384), GUARD = SANITIZED(64, 16384), GUARD_BYTE = 0xa5 };

void trial_fail(trial *result, const char *format, ...) {
    va_list arguments;
    if (result->state == TRIAL_FAILED)
        return;
    result->state = TRIAL_FAILED;
    va_start(arguments, format);
    (void)vsnprintf(result->message, sizeof result->message, format, arguments);
    va_end(arguments);
}

void trial_refuse(trial *result, const locus_error *error) {
    const char *message = error->message;
    if (error->status == LOCUS_OK || message[0] == '\0' || strchr(message, '\n') || !memchr(message, 0, 464)) {
        trial_fail(result, "refused with status %d and the message \"%s\"", (int)error->status, message);
        return;
    }
    result->state = TRIAL_REFUSED;
    (void)snprintf(result->message, sizeof result->message, "%s: %s", error->argument, message);
}

void trial_compare(trial *result, const char *what, size_t index, double got, double want, double tolerance) {
    if (got == want || isnan(want))
        return; /* NaN: the reference does not say */
    const double share = fabs(got - want) / tolerance;
    if (!(share <= result->worst)) {
        result->worst = share;
        result->where = what;
    }
    if (!(share <= 1))
        trial_fail(result, "%s[%zu] is %.17g, not %.17g: off by %.3g, tolerance %.3g", what, index, got, want,
                   got - want, tolerance);
}

double trial_overflow(locus_dtype dtype) {
    switch (dtype) {
    case LOCUS_FLOAT16:
        return 65520;
    case LOCUS_BFLOAT16:
        return ldexp(511.0 / 256, 127);
    case LOCUS_FLOAT32:
        return ldexp(33554431.0 / 16777216, 127);
    default:
        return INFINITY;
    }
}

void trial_compare_stored(trial *result, const char *what, size_t index, locus_dtype dtype, double got, double want,
                          double tolerance) {
    if (isinf(got) && signbit(got) == signbit(want) && fabs(want) + tolerance >= trial_overflow(dtype))
        return;
    trial_compare(result, what, index, got, want, tolerance);
}

locus_dtype trial_dtype(chooser *choices) {
    static const locus_dtype types[] = {LOCUS_FLOAT64, LOCUS_FLOAT32, LOCUS_FLOAT32,
                                        LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16};
    return types[choose(choices, sizeof types / sizeof types[0])];
}

trial_workspace trial_workspace_make(size_t bytes) {
    trial_workspace workspace = {{NULL, bytes}, FRONT + bytes + GUARD};
    unsigned char *all = locus_allocate(workspace.all);
    if (!all)
        abort();
    memset(all, GUARD_BYTE, workspace.all); /* what is read before it is written shows */
    workspace.lent.data = all + FRONT;
    return workspace;
}

static bool is_guard(const unsigned char *from, size_t count) {
    return count == 0 || (from[0] == GUARD_BYTE && memcmp(from, from + 1, count - 1) == 0);
}

bool trial_workspace_free(trial_workspace *workspace) {
    unsigned char *all = (unsigned char *)workspace->lent.data - FRONT;
    const size_t behind = FRONT + workspace->lent.bytes;
    const bool whole = is_guard(all, FRONT) && is_guard(all + behind, workspace->all - behind);
    locus_release(all, workspace->all);
    return whole;
}

/* ---- hostility ---- */

static const char *damage_workspace(chooser *choices, locus_workspace *workspace) {
    if (workspace->bytes == 0)
        return NULL;
    if (choose_chance(choices, 50)) {
        workspace->data = NULL;
        return "a workspace without data";
    }
    workspace->data = (unsigned char *)workspace->data + 8;
    return "a workspace that is not aligned";
}

void trial_workspace_shrink(trial_workspace *workspace, chooser *choices) {
    const size_t bytes = workspace->lent.bytes;
    if (bytes > 0)
        workspace->lent.bytes -= 1 + (size_t)choose(choices, choose_chance(choices, 50) && bytes > 256 ? 256 : bytes);
}

/* A length may be any that is long enough. */
static const char *damage_shape(chooser *choices, locus_tensor *tensor, int length) {
    static const int64_t changes[] = {1, -1, 7, INT64_MAX / 4, INT64_MIN / 4};
    const size_t dimension = choose(choices, tensor->rank);
    const int64_t change = changes[choose(choices, sizeof changes / sizeof changes[0])];
    tensor->shape[dimension] += (int)dimension == length ? INT64_MIN / 4 : change;
    return "a tensor of another shape";
}

/* Not one between which and the tensor's only a length stands: it might be the other layout. */
static const char *damage_rank(locus_tensor *tensor, size_t rank) {
    if (rank + 1 >= tensor->rank && rank <= tensor->rank + 1)
        return NULL;
    tensor->rank = rank;
    return "a tensor of another rank";
}

const char *trial_damage(chooser *choices, locus_tensor *tensors, const int *lengths, size_t count,
                         locus_workspace *workspace) {
    static const int types[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_FLOAT16, LOCUS_BFLOAT16, 0, 99};
    const size_t which = choose(choices, count);
    locus_tensor *tensor = &tensors[which];
    const int type = types[choose(choices, sizeof types / sizeof types[0])];
    const size_t rank = (size_t)choose(choices, 7);
    switch (choose(choices, 6)) {
    case 0:
        if ((int)tensor->dtype == type || count < 2)
            return NULL;
        memcpy(&tensor->dtype, &type, sizeof type);
        return "a tensor of another type";
    case 1:
        return damage_rank(tensor, rank);
    case 2:
        return damage_shape(choices, tensor, lengths[which]);
    case 3:
        if (tensor->shape[tensor->rank - 1] < 2 || locus_tensor_count(tensor) == 0)
            return NULL;
        tensor->stride[tensor->rank - 1] = 2 + (int64_t)choose(choices, 3);
        return "a tensor whose last stride is not 1";
    case 4:
        if (locus_tensor_count(tensor) == 0)
            return NULL;
        tensor->data = NULL;
        return "a tensor without data";
    default:
        return damage_workspace(choices, workspace);
    }
}

void trial_poison(chooser *choices, double *values, size_t count) {
    static const double poisons[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = choose(choices, 3) + 1; i > 0 && count > 0; i--)
        values[choose(choices, count)] = poisons[choose(choices, 3)];
}

size_t trial_allocations(const trial_hostility *hostility) {
    return hostility && hostility->allocations ? *hostility->allocations : 0;
}

void trial_check_allocations(trial *result, const trial_hostility *hostility, size_t before) {
    if (trial_allocations(hostility) != before)
        trial_fail(result, "a call that executes allocated %zu times", trial_allocations(hostility) - before);
}

/* ---- directions ---- */

trial_direction trial_direction_make(const drawn_world *world, chooser *choices) {
    trial_direction direction = {{NULL}, 1 + reference_angle(&world->model)};
    chooser stream = chooser_stream(choices);
    const size_t count = world->tensor_count;
    const size_t only = count > 0 && choose_chance(choices, 60) ? choose(choices, count) : count;
    for (size_t i = 0; i < count; i++) {
        direction.of[i] = reference_zeros(world->elements[i], sizeof **direction.of);
        for (size_t e = 0; e < world->elements[i] && (only == count || only == i); e++)
            direction.of[i][e] = choose_normal(&stream);
    }
    return direction;
}

void trial_direction_free(trial_direction *direction) {
    for (size_t i = 0; i < REFERENCE_TENSORS; i++)
        free(direction->of[i]);
    memset(direction, 0, sizeof *direction);
}

void trial_move(drawn_world *world, const trial_direction *direction, double step) {
    for (size_t i = 0; i < world->tensor_count; i++)
        for (size_t e = 0; e < world->elements[i]; e++)
            world->values[i][e] += step * direction->of[i][e];
}

double trial_along(const drawn_world *world, const trial_direction *direction, double *const *gradients) {
    double sum = 0;
    for (size_t i = 0; i < world->tensor_count; i++)
        for (size_t e = 0; e < world->elements[i]; e++)
            sum += gradients[i][e] * direction->of[i][e];
    return sum;
}

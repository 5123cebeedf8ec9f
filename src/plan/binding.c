/* SPDX-License-Identifier: MIT */
/* Bindings: parameter values are copied as double and handed to each term, which makes of them what it needs to act.
 * See binding.h for what bindings share. */
#include "plan/binding.h"

#include "core/call.h"
#include "core/error.h"
#include "core/hash.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- shares ---- */

static locus_bound *retain_bound(locus_bound *bound) {
    atomic_fetch_add(&bound->owners, 1);
    return bound;
}

static void release_bound(locus_bound *bound) {
    if (!bound || atomic_fetch_sub(&bound->owners, 1) != 1)
        return;
    locus_owned_release(&bound->memory);
    locus_release(bound, sizeof *bound);
}

static void release_list(locus_bound_list *list) {
    if (list && atomic_fetch_sub(&list->owners, 1) == 1)
        locus_release(list, sizeof *list);
}

/* ---- values ---- */

static bool all_finite(const double *values, size_t count) {
    size_t finite = 0;
    for (size_t i = 0; i < count; i++)
        finite += fabs(values[i]) <= DBL_MAX;
    return finite == count;
}

static locus_status fail_value(const locus_parameter *parameter, const double *values, locus_error *error) {
    const size_t count = locus_parameter_elements(parameter);
    const bool positive = parameter->constraint == LOCUS_CONSTRAINT_POSITIVE;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return locus_fail(error, LOCUS_ERROR_NUMERIC, parameter->name,
                              "the parameter '%s' is not finite at element %zu", parameter->name, i);
        if (parameter->constraint != LOCUS_CONSTRAINT_NONE && (values[i] == 0 || (positive && values[i] < 0)))
            return locus_fail(error, LOCUS_ERROR_NUMERIC, parameter->name,
                              "the parameter '%s' is %g at element %zu: it must be %s", parameter->name, values[i], i,
                              positive ? "above 0" : "another number than 0");
    }
    return LOCUS_OK;
}

static bool all_allowed(locus_constraint constraint, const double *values, size_t count) {
    size_t allowed = 0;
    for (size_t i = 0; constraint == LOCUS_CONSTRAINT_POSITIVE && i < count; i++)
        allowed += values[i] > 0;
    for (size_t i = 0; constraint == LOCUS_CONSTRAINT_NONZERO && i < count; i++)
        allowed += values[i] != 0;
    return constraint == LOCUS_CONSTRAINT_NONE || allowed == count;
}

static locus_status copy_values(const locus_parameter *parameter, const locus_tensor *tensor, double *values,
                                locus_error *error) {
    const size_t count = locus_parameter_elements(parameter);
    const locus_tensor copy = locus_tensor_view(values, LOCUS_FLOAT64, parameter->rank, parameter->shape);
    const locus_status status = locus_tensor_convert(tensor, &copy, error);
    if (status != LOCUS_OK || (all_finite(values, count) && all_allowed(parameter->constraint, values, count)))
        return status;
    return fail_value(parameter, values, error);
}

static size_t count_values(const locus_parameter *parameters, size_t count) {
    size_t values = 0;
    for (size_t i = 0; i < count; i++)
        values += locus_parameter_elements(&parameters[i]);
    return values;
}

/* The term's own values; `each` [parameters] is where those of each parameter begin. */
static locus_status take_values(locus_bound *bound, const locus_parameter *parameters, size_t count,
                                const locus_tensor *tensors, const double **each, locus_error *error) {
    bound->count = count_values(parameters, count);
    double *values = locus_owned_take(&bound->memory, bound->count, sizeof *values);
    if (!values)
        return locus_owned_fail(error);
    bound->values = values;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < count && status == LOCUS_OK; i++) {
        each[i] = values;
        status = copy_values(&parameters[i], &tensors[i], values, error);
        values += locus_parameter_elements(&parameters[i]);
    }
    return status;
}

/* ---- terms ---- */

static bool same_values(const locus_bound *a, const locus_bound *b) {
    return a->count == b->count && (a->count == 0 || memcmp(a->values, b->values, a->count * sizeof *a->values) == 0);
}

/* Term number i; that of `before`, if there is one, where its values are the same. */
static locus_status bind_term(const locus_binding *binding, size_t i, const locus_tensor *tensors,
                              const locus_binding *before, locus_bound **bound, locus_error *error) {
    const locus_parameter_list *list = locus_binding_parameters(binding);
    const locus_term *term = &binding->encoding->terms[i];
    const locus_shape shape = locus_term_shape(term, &binding->shape);
    const double *each[LOCUS_TERM_PARAMETERS_MAX] = {NULL};
    const size_t first = list->first[i], count = list->first[i + 1] - first;
    locus_status status = LOCUS_OK;
    if (before && count == 0) {
        *bound = retain_bound(before->terms[i]);
        return LOCUS_OK;
    }
    locus_bound *fresh = *bound = locus_allocate(sizeof *fresh);
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    *fresh = (locus_bound){.count = 0};
    atomic_init(&fresh->owners, 1);
    if (count > 0)
        status = take_values(fresh, &list->items[first], count, &tensors[first], each, error);
    if (status == LOCUS_OK && before && same_values(fresh, before->terms[i])) {
        *bound = retain_bound(before->terms[i]);
        release_bound(fresh);
        return LOCUS_OK;
    }
    if (status != LOCUS_OK || !term->class->bind)
        return status;
    fresh->state = locus_owned_get(&fresh->memory, 1, term->class->bound_bytes);
    return fresh->state ? term->class->bind(term, &shape, each, fresh->state, &fresh->memory, error)
                        : locus_owned_fail(error);
}

static locus_status bind_terms(locus_binding *binding, const locus_tensor *tensors, size_t count,
                               const locus_binding *before, locus_error *error) {
    locus_status status =
        locus_parameter_list_check(locus_binding_parameters(binding), tensors, count, "parameters", error);
    for (size_t i = 0; status == LOCUS_OK && i < binding->encoding->term_count; i++)
        status = bind_term(binding, i, tensors, before, &binding->terms[i], error);
    return status;
}

/* ---- making ---- */

static locus_status begin_binding(locus_binding **binding, const locus_encoding *encoding, locus_error *error) {
    locus_binding *fresh = *binding = locus_allocate(sizeof *fresh);
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    *fresh = (locus_binding){
        .encoding = locus_encoding_retain(encoding),
    };
    atomic_init(&fresh->owners, 1);
    return LOCUS_OK;
}

static locus_status list_parameters(locus_binding *binding, const locus_shape *shape, locus_error *error) {
    locus_bound_list *list = binding->list = locus_allocate(sizeof *list);
    if (!list)
        return locus_fail_memory(error, sizeof *list);
    atomic_init(&list->owners, 1);
    const locus_status status = locus_parameter_list_get(binding->encoding, shape, &list->list, error);
    if (status != LOCUS_OK)
        return status;
    binding->shape = list->list.shape;
    binding->shape.value_dim = locus_shape_value_dim(&binding->shape);
    binding->shape.kv_heads = locus_shape_kv_heads(&binding->shape);
    return LOCUS_OK;
}

locus_status locus_binding_create(locus_binding **binding, const locus_encoding *encoding, const locus_shape *shape,
                                  const locus_tensor *parameters, size_t count, locus_error *error) {
    return locus_binding_create_with(binding, encoding, shape, parameters, count, NULL, error);
}

locus_status locus_binding_create_with(locus_binding **binding, const locus_encoding *encoding,
                                       const locus_shape *shape, const locus_tensor *parameters, size_t count,
                                       const locus_execution *execution, locus_error *error) {
    if (!binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "binding", "binding is NULL: give a place for the result");
    *binding = NULL;
    locus_binding *fresh = NULL;
    locus_call call;
    locus_status status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    status = begin_binding(&fresh, encoding, error);
    if (status == LOCUS_OK)
        status = list_parameters(fresh, shape, error);
    if (status == LOCUS_OK)
        status = bind_terms(fresh, parameters, count, NULL, error);
    status = locus_call_end(&call, status, error);
    if (status != LOCUS_OK)
        locus_binding_destroy(&fresh);
    *binding = fresh;
    return status;
}

locus_status locus_binding_update(locus_binding **binding, const locus_tensor *parameters, size_t count,
                                  locus_error *error) {
    return locus_binding_update_with(binding, parameters, count, NULL, error);
}

locus_status locus_binding_update_with(locus_binding **binding, const locus_tensor *parameters, size_t count,
                                       const locus_execution *execution, locus_error *error) {
    if (!binding || !*binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "binding", "binding is NULL");
    const locus_binding *before = *binding;
    locus_binding *fresh = NULL;
    locus_call call;
    locus_status status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    status = begin_binding(&fresh, before->encoding, error);
    if (status == LOCUS_OK) {
        fresh->shape = before->shape;
        fresh->list = before->list;
        atomic_fetch_add(&fresh->list->owners, 1);
        status = bind_terms(fresh, parameters, count, before, error);
    }
    status = locus_call_end(&call, status, error);
    locus_binding_destroy(status == LOCUS_OK ? binding : &fresh);
    if (status == LOCUS_OK)
        *binding = fresh;
    return status;
}

/* ---- owners ---- */

/* The count of owners is the one thing about a binding that changes. */
locus_binding *locus_binding_retain(const locus_binding *binding) {
    locus_binding *shared = (locus_binding *)(uintptr_t)binding;
    if (shared)
        atomic_fetch_add(&shared->owners, 1);
    return shared;
}

void locus_binding_destroy(locus_binding **binding) {
    if (!binding || !*binding)
        return;
    locus_binding *gone = *binding;
    *binding = NULL;
    if (atomic_fetch_sub(&gone->owners, 1) != 1)
        return;
    for (size_t i = 0; i < LOCUS_TERMS_MAX; i++)
        release_bound(gone->terms[i]);
    release_list(gone->list);
    locus_encoding_destroy(&gone->encoding);
    locus_release(gone, sizeof *gone);
}

/* ---- comparing ---- */

static bool same_shape(const locus_shape *a, const locus_shape *b) {
    return a->heads == b->heads && a->head_dim == b->head_dim && a->value_dim == b->value_dim &&
           a->model_dim == b->model_dim && a->kv_heads == b->kv_heads;
}

/* Updates share their list. */
bool locus_binding_alike(const locus_binding *a, const locus_binding *b) {
    return a->list == b->list || (same_shape(&a->shape, &b->shape) && locus_encoding_equal(a->encoding, b->encoding));
}

int locus_binding_equal(const locus_binding *a, const locus_binding *b) {
    if (a == b || !a || !b)
        return a == b;
    bool same = locus_binding_alike(a, b);
    for (size_t i = 0; same && i < a->encoding->term_count; i++)
        same = a->terms[i] == b->terms[i] || same_values(a->terms[i], b->terms[i]);
    return same;
}

uint64_t locus_binding_hash(const locus_binding *binding) {
    if (!binding)
        return 0;
    const locus_shape *shape = &binding->shape;
    const uint64_t sizes[] = {shape->heads, shape->head_dim, shape->value_dim, shape->model_dim, shape->kv_heads};
    uint64_t hash = locus_hash_bytes(locus_encoding_hash(binding->encoding), sizes, sizeof sizes);
    for (size_t i = 0; i < binding->encoding->term_count; i++) {
        const locus_bound *bound = binding->terms[i];
        hash = bound->count > 0 ? locus_hash_bytes(hash, bound->values, bound->count * sizeof *bound->values) : hash;
    }
    return hash;
}

const locus_group *locus_binding_group(const locus_binding *binding) {
    return binding ? binding->encoding->group : NULL;
}

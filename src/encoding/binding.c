/* SPDX-License-Identifier: MIT */
/* Bindings: parameter values are copied as double and handed to each term, which makes of them what it needs to act. */
#include "encoding/binding.h"

#include "core/error.h"

#include <math.h>
#include <string.h>

typedef struct locus_bound_states {
    locus_owned memory;
    void *bound[LOCUS_TERMS_MAX];
} locus_bound_states;

static locus_status copy_values(const locus_parameter *parameter, const locus_tensor *tensor, double *values,
                                locus_error *error) {
    size_t elements = locus_parameter_elements(parameter);
    for (size_t i = 0; i < elements; i++) {
        values[i] = tensor->dtype == LOCUS_FLOAT64 ? ((const double *)tensor->data)[i]
                                                   : (double)((const float *)tensor->data)[i];
        if (!isfinite(values[i]))
            return locus_fail(error, LOCUS_ERROR_NUMERIC, parameter->name,
                              "the parameter '%s' is not finite at element %zu", parameter->name, i);
    }
    return LOCUS_OK;
}

static locus_status copy_parameters(const locus_parameter_list *list, const locus_tensor *tensors, locus_owned *memory,
                                    const double **values, locus_error *error) {
    for (size_t i = 0; i < list->count; i++) {
        size_t elements = locus_parameter_elements(&list->items[i]);
        double *copy = locus_owned_get(memory, elements, sizeof *copy);
        if (!copy)
            return locus_owned_fail(error, elements, sizeof *copy);
        locus_status status = copy_values(&list->items[i], &tensors[i], copy, error);
        if (status != LOCUS_OK)
            return status;
        values[i] = copy;
    }
    return LOCUS_OK;
}

/* On failure nothing is left behind. */
static locus_status bind_terms(const locus_binding *binding, const locus_tensor *parameters, size_t count,
                               locus_bound_states *states, locus_error *error) {
    const double *values[LOCUS_TERMS_MAX * LOCUS_TERM_PARAMETERS_MAX] = {NULL};
    locus_owned passing = {0};
    *states = (locus_bound_states){0};
    locus_status status = locus_parameter_list_check(&binding->list, parameters, count, "parameters", error);
    if (status == LOCUS_OK)
        status = copy_parameters(&binding->list, parameters, &passing, values, error);
    for (size_t i = 0; status == LOCUS_OK && i < binding->encoding->term_count; i++) {
        const locus_term *term = &binding->encoding->terms[i];
        const locus_shape shape = locus_term_shape(term, &binding->shape);
        if (term->class->bind)
            status = term->class->bind(term, &shape, values + binding->list.first[i], &states->memory,
                                       &states->bound[i], error);
    }
    locus_owned_release(&passing);
    if (status != LOCUS_OK)
        locus_owned_release(&states->memory);
    return status;
}

static void take_states(locus_binding *binding, const locus_bound_states *states) {
    binding->memory = states->memory;
    memcpy(binding->bound, states->bound, sizeof binding->bound);
}

locus_status locus_binding_create(locus_binding **binding, const locus_encoding *encoding, const locus_shape *shape,
                                  const locus_tensor *parameters, size_t count, locus_error *error) {
    if (!binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "binding", "binding is NULL: give a place for the result");
    *binding = NULL;
    locus_parameter_list list;
    locus_status status = locus_parameter_list_get(encoding, shape, &list, error);
    if (status != LOCUS_OK)
        return status;
    locus_binding *fresh = locus_allocate(sizeof *fresh);
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    memset(fresh, 0, sizeof *fresh);
    fresh->encoding = locus_encoding_share(encoding);
    fresh->shape = *shape;
    fresh->shape.value_dim = locus_shape_value_dim(shape);
    fresh->shape.kv_heads = locus_shape_kv_heads(shape);
    fresh->list = list;
    locus_bound_states states;
    status = bind_terms(fresh, parameters, count, &states, error);
    if (status == LOCUS_OK)
        take_states(fresh, &states);
    else
        locus_binding_destroy(&fresh);
    *binding = fresh;
    return status;
}

locus_status locus_binding_update(locus_binding *binding, const locus_tensor *parameters, size_t count,
                                  locus_error *error) {
    if (!binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "binding", "binding is NULL");
    locus_bound_states states;
    locus_status status = bind_terms(binding, parameters, count, &states, error);
    if (status != LOCUS_OK)
        return status;
    locus_owned_release(&binding->memory);
    take_states(binding, &states);
    return LOCUS_OK;
}

const locus_group *locus_binding_group(const locus_binding *binding) {
    return binding ? binding->encoding->group : NULL;
}

void locus_binding_destroy(locus_binding **binding) {
    if (!binding || !*binding)
        return;
    locus_owned_release(&(*binding)->memory);
    locus_encoding_destroy(&(*binding)->encoding);
    locus_release(*binding, sizeof **binding);
    *binding = NULL;
}

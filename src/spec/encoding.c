/* SPDX-License-Identifier: MIT */
/* What a parsed encoding can say without positions: its sites, its learned tensors and their initial values. */
#include "spec/class.h"

#include "core/call.h"
#include "core/error.h"
#include "core/sized.h"
#include "core/tensor_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Purpose of the library's random numbers for initial values; the step is the term. */
#define RANDOM_INITIALISE 0x10u

unsigned locus_encoding_sites(const locus_encoding *encoding) {
    unsigned sites = 0;
    for (size_t i = 0; encoding && i < encoding->term_count; i++)
        sites |= locus_term_sites(&encoding->terms[i]);
    return sites;
}

/* Acted on one side only, scores depend on where both stand. */
static bool is_one_sided(const locus_term *term) {
    for (size_t i = 0; i < term->class->info.option_count; i++)
        if (strcmp(term->class->info.options[i].name, "side") == 0)
            return term->options[i].choice != 0;
    return false;
}

unsigned locus_encoding_laws(const locus_encoding *encoding) {
    unsigned laws = LOCUS_LAWS_ALL;
    for (size_t i = 0; encoding && i < encoding->term_count; i++) {
        const locus_term *term = &encoding->terms[i];
        const bool operates = (locus_term_sites(term) & LOCUS_SITE_QUERY_KEY) != 0;
        laws &= (term->class->laws_of ? term->class->laws_of(term) : term->class->laws) |
                (operates ? 0u : (unsigned)(LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL));
        laws &= is_one_sided(term) ? ~(unsigned)LOCUS_LAW_RELATIVITY : ~0u;
    }
    return laws;
}

static bool term_learns(const locus_term *term) {
    return term->class->learns ? term->class->learns(term) : term->class->initialise != NULL;
}

/* A cache keeps queries as operators leave them: terms that multiply them before cannot stand beside an operator. */
static bool can_be_cached(const locus_encoding *encoding) {
    bool multiplies = false;
    for (size_t i = 0; i < encoding->term_count; i++)
        multiplies = multiplies || encoding->terms[i].class->multiplies;
    return !multiplies || !(locus_encoding_sites(encoding) & (LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE));
}

unsigned locus_encoding_traits(const locus_encoding *encoding) {
    if (!encoding)
        return 0;
    unsigned traits = LOCUS_TRAIT_REALS | (can_be_cached(encoding) ? (unsigned)LOCUS_TRAIT_CACHED : 0u);
    for (size_t i = 0; i < encoding->term_count; i++) {
        const locus_term *term = &encoding->terms[i];
        traits |= term->class->registered ? (unsigned)LOCUS_TRAIT_OWN : 0u;
        traits |= term_learns(term) ? (unsigned)LOCUS_TRAIT_LEARNS : 0u;
        traits |= term->class->needs ? term->class->needs(term) : 0u;
        traits &= term->class->reals ? ~0u : ~(unsigned)LOCUS_TRAIT_REALS;
    }
    return traits;
}

const locus_group *locus_encoding_group(const locus_encoding *encoding) {
    return encoding ? encoding->group : NULL;
}

locus_shape locus_shape_default(void) {
    return (locus_shape){.size = sizeof(locus_shape)};
}

/* What a caller gave, at its size. */
static locus_status read_shape(const locus_shape *given, locus_shape *shape, locus_error *error) {
    static const locus_sized kind = {sizeof *shape, sizeof *shape, "shape"};
    *shape = locus_shape_default();
    if (!given)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "shape", "shape is NULL");
    return locus_sized_read_or_zero(shape, &kind, given, error);
}

/* ---- the list of learned tensors ---- */

#define DIMENSION_MAX 65536 /* of heads and dimensions: keeps every product of sizes far from overflow */

static locus_status check_shape(const locus_shape *shape, locus_error *error) {
    const size_t sizes[] = {shape->heads, shape->head_dim, shape->value_dim, shape->model_dim, shape->kv_heads};
    const char *const names[] = {"heads", "head_dim", "value_dim", "model_dim", "kv_heads"};
    for (size_t i = 0; i < 5; i++)
        if (sizes[i] > DIMENSION_MAX)
            return locus_fail(error, LOCUS_ERROR_SHAPE, names[i], "%s is %zu: at most %d is possible", names[i],
                              sizes[i], DIMENSION_MAX);
    if (shape->kv_heads > 0 && (shape->heads == 0 || shape->heads % shape->kv_heads != 0))
        return locus_fail(error, LOCUS_ERROR_SHAPE, "kv_heads",
                          "%zu query heads cannot share %zu key and value heads: kv_heads must divide heads",
                          shape->heads, shape->kv_heads);
    return LOCUS_OK;
}

static void prefix_name(locus_parameter *parameter, size_t term) {
    char name[sizeof parameter->name];
    (void)snprintf(name, sizeof name, "%zu.%.*s", term, (int)sizeof name - 24, parameter->name);
    memcpy(parameter->name, name, sizeof name);
}

locus_status locus_parameter_list_get(const locus_encoding *encoding, const locus_shape *shape,
                                      locus_parameter_list *list, locus_error *error) {
    list->count = 0;
    if (!encoding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "encoding", "encoding is NULL");
    locus_status status = read_shape(shape, &list->shape, error);
    if (status == LOCUS_OK)
        status = check_shape(&list->shape, error);
    for (size_t i = 0; status == LOCUS_OK && i < encoding->term_count; i++) {
        const locus_term *term = &encoding->terms[i];
        size_t own = 0;
        const locus_shape seen = locus_term_shape(term, &list->shape);
        list->first[i] = list->count;
        status = locus_shape_check(&seen, term->class->shape, term->class->info.name, error);
        if (status == LOCUS_OK && term->class->parameters)
            status = term->class->parameters(term, &seen, list->items + list->count, &own, error);
        for (size_t j = 0; status == LOCUS_OK && encoding->term_count > 1 && j < own; j++)
            prefix_name(&list->items[list->count + j], i);
        list->count += own;
        list->first[i + 1] = list->count;
    }
    return status;
}

locus_status locus_encoding_parameter_count(const locus_encoding *encoding, const locus_shape *shape, size_t *count,
                                            locus_error *error) {
    locus_parameter_list list;
    if (!count)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "count", "count is NULL: give a place for the result");
    locus_status status = locus_parameter_list_get(encoding, shape, &list, error);
    *count = status == LOCUS_OK ? list.count : 0;
    return status;
}

locus_status locus_encoding_parameter(const locus_encoding *encoding, const locus_shape *shape, size_t index,
                                      locus_parameter *parameter, locus_error *error) {
    static const locus_sized kind = {sizeof *parameter, sizeof *parameter, "parameter"};
    locus_parameter_list list;
    if (!parameter)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "parameter", "parameter is NULL: give a place for the result");
    locus_status status = locus_parameter_list_get(encoding, shape, &list, error);
    if (status != LOCUS_OK)
        return status;
    if (index >= list.count)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "index", "there is no parameter %zu: the encoding has %zu",
                          index, list.count);
    return locus_sized_write(parameter, &kind, &list.items[index], error);
}

/* ---- tensors that stand for them ---- */

static bool is_contiguous(const locus_tensor *tensor) {
    int64_t expected = 1;
    for (size_t i = tensor->rank; i-- > 0;) {
        if (tensor->shape[i] != 1 && tensor->stride[i] != expected)
            return false;
        expected *= tensor->shape[i];
    }
    return true;
}

static locus_status check_tensor(const locus_parameter *wanted, const locus_tensor *tensor, const char *what,
                                 locus_error *error) {
    if (!tensor->data)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, wanted->name, "the tensor '%s' of %s has no data", wanted->name,
                          what);
    const locus_status status = locus_tensor_check(tensor, wanted->name, error);
    if (status != LOCUS_OK)
        return status;
    if (tensor->rank != wanted->rank)
        return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name, "the tensor '%s' of %s has rank %zu: expected %zu",
                          wanted->name, what, tensor->rank, wanted->rank);
    for (size_t i = 0; i < wanted->rank; i++)
        if (tensor->shape[i] != wanted->shape[i])
            return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name,
                              "the tensor '%s' of %s has size %lld in dimension %zu: expected %lld", wanted->name, what,
                              (long long)tensor->shape[i], i, (long long)wanted->shape[i]);
    if (!is_contiguous(tensor))
        return locus_fail(error, LOCUS_ERROR_SHAPE, wanted->name, "the tensor '%s' of %s must be contiguous",
                          wanted->name, what);
    return LOCUS_OK;
}

locus_status locus_parameter_list_check(const locus_parameter_list *list, const locus_tensor *tensors, size_t count,
                                        const char *what, locus_error *error) {
    if (count != list->count)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, what, "%zu tensors of %s are given: the encoding has %zu", count,
                          what, list->count);
    if (count > 0 && !tensors)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, what, "%s is NULL: the encoding has %zu", what, count);
    for (size_t i = 0; i < count; i++) {
        locus_status status = check_tensor(&list->items[i], &tensors[i], what, error);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}

/* ---- initial values ---- */

/* Values are drawn in double and rounded, so all types start alike. */
static locus_status initialise_term(const locus_encoding *encoding, size_t index, const locus_parameter_list *list,
                                    locus_draw draw, const locus_tensor *parameters, locus_error *error) {
    const locus_term *term = &encoding->terms[index];
    double *values[LOCUS_TERM_PARAMETERS_MAX] = {NULL};
    size_t first = list->first[index], count = list->first[index + 1] - first;
    locus_owned memory = {0};
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < count; i++) {
        size_t elements = locus_parameter_elements(&list->items[first + i]);
        values[i] = locus_owned_get(&memory, elements, sizeof(double));
        if (!values[i])
            status = locus_owned_fail(error);
    }
    draw.values = values;
    draw.random.step = (uint32_t)index;
    const locus_shape shape = locus_term_shape(term, draw.shape);
    draw.shape = &shape;
    if (status == LOCUS_OK && count > 0)
        status = term->class->initialise(term, &draw, error);
    for (size_t i = 0; status == LOCUS_OK && i < count; i++) {
        const locus_parameter *parameter = &list->items[first + i];
        const locus_tensor drawn = locus_tensor_view(values[i], LOCUS_FLOAT64, parameter->rank, parameter->shape);
        status = locus_tensor_convert(&drawn, &parameters[first + i], error);
    }
    locus_owned_release(&memory);
    return status;
}

static locus_status initialise(const locus_encoding *encoding, const locus_shape *shape, uint64_t seed,
                               const locus_tensor *parameters, size_t count, locus_error *error) {
    locus_parameter_list list;
    locus_status status = locus_parameter_list_get(encoding, shape, &list, error);
    if (status == LOCUS_OK)
        status = locus_parameter_list_check(&list, parameters, count, "parameters", error);
    const locus_draw draw = {.shape = &list.shape, .random = {.seed = seed, .purpose = RANDOM_INITIALISE, .step = 0}};
    for (size_t i = 0; status == LOCUS_OK && i < encoding->term_count; i++)
        status = initialise_term(encoding, i, &list, draw, parameters, error);
    return status;
}

locus_status locus_encoding_initialise_with(const locus_encoding *encoding, const locus_shape *shape, uint64_t seed,
                                            const locus_tensor *parameters, size_t count,
                                            const locus_execution *execution, locus_error *error) {
    locus_call call;
    const locus_status status = locus_call_begin(&call, execution, error);
    if (status != LOCUS_OK)
        return status;
    return locus_call_end(&call, initialise(encoding, shape, seed, parameters, count, error), error);
}

locus_status locus_encoding_initialise(const locus_encoding *encoding, const locus_shape *shape, uint64_t seed,
                                       const locus_tensor *parameters, size_t count, locus_error *error) {
    return locus_encoding_initialise_with(encoding, shape, seed, parameters, count, NULL, error);
}

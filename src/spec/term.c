/* SPDX-License-Identifier: MIT */
/* What classes and everybody else ask of one term of a spec (class.h): where it acts, its group, its shape. */
#include "spec/class.h"

#include "algebra/group_access.h"
#include "core/error.h"

unsigned locus_term_sites(const locus_term *term) {
    return term->class->sites ? term->class->sites(term) : term->class->info.sites;
}

bool locus_term_is_initial(const locus_term *term, size_t option) {
    const locus_signature signature = locus_class_signature(term->class);
    return locus_option_is_initial(&signature, option, &term->options[option]);
}

size_t locus_class_group_option(const locus_encoding_class *class) {
    for (size_t i = 0; i < class->info.option_count; i++)
        if (class->info.options[i].kind == LOCUS_OPTION_GROUP)
            return i;
    return SIZE_MAX;
}

const locus_group *locus_term_group(const locus_term *term) {
    const size_t option = locus_class_group_option(term->class);
    if (term->group)
        return term->group;
    if (option != SIZE_MAX)
        return term->options[option].group;
    return term->class->any_group ? NULL : locus_group_sequence();
}

locus_shape locus_term_shape(const locus_term *term, const locus_shape *shape) {
    locus_shape own = *shape;
    if (locus_term_sites(term) & (LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE))
        own.heads = locus_shape_kv_heads(shape);
    return own;
}

locus_status locus_shape_check(const locus_shape *shape, unsigned needs, const char *name, locus_error *error) {
    if ((needs & LOCUS_NEEDS_MODEL_DIM) && shape->model_dim == 0)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "model_dim", "'%s' acts on embeddings: give the shape's model_dim",
                          name);
    if (((needs & LOCUS_NEEDS_HEADS) && shape->heads == 0) || ((needs & LOCUS_NEEDS_HEAD_DIM) && shape->head_dim == 0))
        return locus_fail(error, LOCUS_ERROR_SHAPE, shape->heads ? "head_dim" : "heads",
                          "'%s' acts on heads: give the shape's heads (now %zu) and head_dim (now %zu)", name,
                          shape->heads, shape->head_dim);
    return LOCUS_OK;
}

size_t locus_parameter_elements(const locus_parameter *parameter) {
    size_t elements = 1;
    for (size_t i = 0; i < parameter->rank; i++)
        elements *= (size_t)parameter->shape[i];
    return elements;
}

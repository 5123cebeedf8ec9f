/* SPDX-License-Identifier: MIT */
/* A binding as plans see it: the terms with their bound states. Bindings are immutable. An update makes another one,
 * which shares what did not change:
 *
 *   binding ──► encoding
 *           ──► names and shapes of the parameters      shared by all updates
 *           ──► term 0 ──► its values, its bound state  shared where no value changed
 *           ──► term 1 … */
#ifndef LOCUS_BINDING_H
#define LOCUS_BINDING_H

#include "spec/class.h"

/* A term made ready, and the values that it was made from. */
typedef struct locus_bound {
    atomic_size_t owners;
    locus_owned memory;
    const double *values; /* of all its parameters, one behind the other; NULL: it has none */
    size_t count;         /* of values */
    void *state;          /* what its class made of them, or NULL */
} locus_bound;

typedef struct locus_bound_list {
    atomic_size_t owners;
    locus_parameter_list list;
} locus_bound_list;

struct locus_binding {
    atomic_size_t owners;
    locus_encoding *encoding; /* a share */
    locus_shape shape;        /* value_dim and kv_heads resolved */
    locus_bound_list *list;
    locus_bound *terms[LOCUS_TERMS_MAX];
};

static inline const locus_parameter_list *locus_binding_parameters(const locus_binding *binding) {
    return &binding->list->list;
}

/* Whether both are of equal encodings and shapes: what is planned for one can be planned for the other. */
bool locus_binding_alike(const locus_binding *a, const locus_binding *b);

/* What the class of a term made of its parameters; NULL: nothing. */
static inline const void *locus_binding_state(const locus_binding *binding, size_t term) {
    return binding->terms[term]->state;
}

#endif

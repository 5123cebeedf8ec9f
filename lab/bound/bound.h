/* SPDX-License-Identifier: MIT */
/* An encoding with a shape and with values of its parameters, bound; and the calls that look at it from outside: what
 * it does to vectors, and the scores that it gives to pairs. */
#ifndef LAB_BOUND_H
#define LAB_BOUND_H

#include <locus/locus.h>
#include <stdbool.h>

/* Owns all that it points to. Zeros are an empty one, which lab_bound_close takes, too. */
typedef struct lab_bound {
    locus_encoding *encoding;
    locus_binding *binding; /* NULL until lab_bound_bind */
    locus_shape shape;      /* set before lab_bound_list */
    size_t count;           /* parameter tensors */
    locus_parameter *infos; /* [count] */
    locus_tensor *values;   /* [count], contiguous float64 */
    bool keys_only;         /* side=key: the operator acts on keys, not on queries */
    size_t length;          /* of the sequence, for encodings that depend on it; 0: the largest position + 1 */
} lab_bound;

/* In order: the encoding of a spec (SPEC, with a place in the text); its parameters for bound->shape, all zero; values
 * drawn from a seed; bound as they are now, and again after a change. Close it whatever came of them. */
locus_status lab_bound_parse(lab_bound *bound, const char *spec, locus_error *error);
locus_status lab_bound_list(lab_bound *bound, locus_error *error);
locus_status lab_bound_draw(lab_bound *bound, uint64_t seed, locus_error *error);
locus_status lab_bound_bind(lab_bound *bound, locus_error *error);
void lab_bound_close(lab_bound *bound);

/* lab_bound_list for `shape`, then values from `path`, or from `seed` if it is NULL, then lab_bound_bind. A dimension
 * of the shape that is 0 belongs to sites that the caller does not use: it is filled in, since terms there must still
 * have a shape; a table of the file decides the model's dimension. IO, naming `path` and the tensor: one is missing, or
 * of another shape, holds integers, or a number that is not finite. */
locus_status lab_bound_open(lab_bound *bound, const locus_shape *shape, const char *path, uint64_t seed,
                            locus_error *error);

/* A parameter's name without its term, which *term receives: "2.angles" is "angles" of term 2; without a number the
 * term is 0. */
const char *lab_parameter_base(const char *name, size_t *term);

/* The values of a term's parameter by that name; NULL: it has none. */
const locus_tensor *lab_bound_values(const lab_bound *bound, size_t term, const char *base);

/* The canonical text, from malloc, however long; NULL without memory. */
char *lab_spec_of(const locus_encoding *encoding);

/* A plan for bound->length. `keys` NULL: they stand where the queries stand. `how` says threads and who may end the
 * call; NULL: the defaults. */
locus_status lab_bound_plan(const lab_bound *bound, const locus_positions *queries, const locus_positions *keys,
                            const locus_execution *how, locus_plan **plan, locus_error *error);

/* locus_apply in place, locus_attention_forward and the like, each in a workspace that lives for the call. `how` as
 * above. */
locus_status lab_apply(const locus_plan *plan, locus_role role, locus_direction direction, const locus_tensor *x,
                       const locus_execution *how, locus_error *error);
locus_status lab_attend(const locus_plan *plan, const locus_attention_options *options,
                        const locus_attention_tensors *tensors, const locus_execution *how, locus_error *error);

locus_status lab_plan_backward(const locus_plan *plan, const locus_attention_options *options,
                               const locus_attention_tensors *tensors, const locus_attention_gradients *gradients,
                               const locus_execution *how, locus_error *error);
locus_status lab_plan_weights(const locus_plan *plan, const locus_attention_options *options,
                              const locus_attention_weights_call *call, const locus_execution *how, locus_error *error);

/* Room for the gradients of bound->count parameters, float64, all zero; from malloc. */
locus_status lab_bound_gradients(const lab_bound *bound, locus_tensor **gradients, locus_error *error);
void lab_bound_gradients_free(const lab_bound *bound, locus_tensor **gradients);

/* lab_attend for pairs: where every sequence of the plan is one query and one key, tensors->log_sum_exp receives the
 * scores themselves, q'·k'·scale with factors and biases, and the output is the value as the value site leaves it.
 * `scale` 0: 1/√d. */
locus_status lab_attend_pairs(const locus_plan *plan, double scale, const locus_attention_tensors *tensors,
                              locus_error *error);

#endif

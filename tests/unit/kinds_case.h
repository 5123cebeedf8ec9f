/* SPDX-License-Identifier: MIT */
/* A case of linear, softmax-free or clustered attention for tests: its plan and data, the library's run of it, and its
 * dense definition written down naively in double (operators through locus_apply, everything else from formulas). */
#ifndef TESTS_KINDS_CASE_H
#define TESTS_KINDS_CASE_H

#include <locus/locus.h>
#include <stdbool.h>

#define KINDS_PARAMETERS 8

/* Zero means: the default, or none. On groups other than `seq` positions are made up. */
typedef struct kinds_case {
    const char *spec;
    size_t heads, kv_heads, head_dim, value_dim, sequences;
    const size_t *query_lengths, *key_lengths; /* key_lengths NULL: self-attention */
    size_t gap;                                /* unused tokens behind each sequence */
    int64_t start;                             /* position of the first token */
    double spread;                             /* queries gather around as few centres as this says; 0: none */
    bool same;                                 /* keys are the queries */
    double said;                               /* the scale that the spec says, for the definition */
    locus_attention_options options;
} kinds_case;

/* Contiguous doubles, exact in float32: [tokens, heads, dim]. */
typedef struct kinds_world {
    const kinds_case *test;
    locus_encoding *encoding;
    locus_binding *binding;
    locus_plan *plan;
    locus_positions *queries, *keys;
    locus_shape shape;
    size_t *query_offsets, *key_offsets, T, N, parameter_count;
    locus_parameter parameters[KINDS_PARAMETERS];
    locus_tensor values[KINDS_PARAMETERS]; /* float64 */
    double *q, *k, *v, *go;
    double *o, *log_sum_exp, *dq, *dk, *dv, *gradients[KINDS_PARAMETERS];
} kinds_world;

void kinds_make(kinds_world *world, const kinds_case *test);
void kinds_free(kinds_world *world);
void kinds_update(kinds_world *world); /* after a change of world->values */

size_t kinds_queries(const kinds_world *world); /* elements of q, k, v, o */
size_t kinds_keys(const kinds_world *world);
size_t kinds_values(const kinds_world *world);
size_t kinds_outputs(const kinds_world *world);

/* Forward and, unless `forward_only`, backward into the results; tensors are scattered (odd strides) if `scattered`. */
void kinds_run(kinds_world *world, locus_dtype dtype, bool scattered, bool forward_only);

/* o and log_sum_exp by definition; caller frees. */
typedef struct kinds_dense {
    double *o, *log_sum_exp;
} kinds_dense;
kinds_dense kinds_define(const kinds_world *world);

/* Both, compared for tokens of sequences: |got − want| ≤ tolerance·(1 + |want|). */
void kinds_check(const kinds_case *test, locus_dtype dtype, double tolerance);

/* The same bits on 1, 2 and 3 threads. */
void kinds_check_threads(const kinds_case *test, locus_dtype dtype);

/* Shifting all positions changes nothing. */
void kinds_check_relativity(kinds_case test, double tolerance);

/* Backward in float32 against backward in float64. */
void kinds_check_types(const kinds_case *test, double tolerance);

/* Sums begin with 0, to the last bit: values of 0 have results of 0, and where results have gradients of 0 all have. */
void kinds_check_zeros(const kinds_case *test);

/* Forward must fail with UNSUPPORTED or ARGUMENT and one line that names `word`. */
void kinds_check_refused(const kinds_case *test, const char *word);

/* Derivatives along a random direction in q, k, v and each parameter, by central differences. */
void kinds_check_directions(const kinds_case *test, double step, double tolerance);

#endif

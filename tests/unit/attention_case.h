/* SPDX-License-Identifier: MIT */
/* A case of attention for tests: its plan, its data, the library's run of it, and a naive dense oracle in double that
 * stores all scores. The oracle takes operators from locus_apply and everything else from the formulas of the spec
 * reference. */
#ifndef TESTS_ATTENTION_CASE_H
#define TESTS_ATTENTION_CASE_H

#include <locus/locus.h>
#include <stdbool.h>

#define ATTENTION_PARAMETERS 8

/* Zero means: the default, or none. On groups other than `seq` positions are made up, each start giving others. */
typedef struct attention_case {
    const char *spec;
    size_t heads, head_dim, value_dim;
    size_t sequences;
    const size_t *query_lengths, *key_lengths; /* key_lengths NULL: self-attention */
    size_t gap;                                /* unused tokens behind each sequence */
    int64_t query_start, key_start;            /* position of the first token */
    int64_t step;                              /* between positions; 0: 1, and without explicit values */
    locus_mask mask;
    const size_t *prefix;
    double scale, dropout;
    locus_dropout dropout_on;
    /* what the spec's score terms are, for the oracle (tables and rates come from the parameters) */
    bool alibi, unscaled;
    double decay;
    size_t window;
    size_t kv_heads; /* 0: heads */
    double cap;
    size_t sliding, keep; /* attention's window and what is kept outside of it */
    size_t chunk;         /* of scores(chunk=…) */
    double beta;          /* of temperature(length=stride, beta=…) */
    size_t stride;
    bool said;      /* scale, cap and window are in the spec (a term `scores`), not among the options */
    bool documents; /* runs of 3 and more keys, their numbers falling; some queries are of a document without keys */
    bool turned;    /* inputs are taken as turned */
} attention_case;

/* Contiguous doubles, [tokens, heads or kv_heads, dim]. Values are exact in float32, so that one set serves both
 * types. */
typedef struct attention_arrays {
    double *q, *k, *v, *go;                 /* given */
    double *o, *log_sum_exp, *dq, *dk, *dv; /* results */
    double *gradients[ATTENTION_PARAMETERS];
} attention_arrays;

typedef struct attention_world {
    const attention_case *test;
    locus_encoding *encoding;
    locus_binding *binding;
    locus_plan *plan;
    locus_positions *queries, *keys;
    locus_shape shape;
    locus_attention_options options;
    size_t *query_offsets, *key_offsets, *query_lengths, *key_lengths;
    int64_t *query_values, *key_values; /* by token, on `seq` */
    int32_t *query_documents, *key_documents;
    size_t kv_heads;
    double *distances; /* [T, N] on other groups, else NULL */
    size_t T, N, parameter_count;
    locus_parameter parameters[ATTENTION_PARAMETERS];
    locus_tensor values[ATTENTION_PARAMETERS]; /* float64 */
    locus_workspace workspace;                 /* kept from run to run */
} attention_world;

/* How the tensors lie in memory. FUSED: q, k, v in one [tokens, 3, heads, dim] buffer (self-attention of equal
 * dimensions), o, do and the gradients of inputs likewise; SCATTERED: odd strides with room between rows. */
typedef enum attention_memory { ATTENTION_PLAIN, ATTENTION_FUSED, ATTENTION_SCATTERED } attention_memory;

void attention_world_make(attention_world *world, const attention_case *test);
void attention_world_free(attention_world *world);

/* After a change of world->values. */
void attention_world_update(attention_world *world);

attention_arrays attention_arrays_make(const attention_world *world);
void attention_arrays_free(attention_arrays *arrays);
size_t attention_parameter_size(const attention_world *world, size_t index);

/* The library's forward and, unless `forward_only`, backward, from arrays->q, k, v, go into the results. Fails the test
 * on an error. */
void attention_run(attention_world *world, attention_arrays *arrays, locus_dtype dtype, attention_memory memory,
                   bool forward_only);
void attention_oracle(const attention_world *world, attention_arrays *arrays);

/* Fails unless every element agrees within tolerance·(1 + |want|), NaN and infinities included. Only tokens of
 * sequences. */
void attention_compare(const attention_world *world, const attention_arrays *got, const attention_arrays *want,
                       double tolerance);

/* Both, for one type and layout. */
void attention_check(const attention_case *test, locus_dtype dtype, attention_memory memory, double tolerance);

/* The same for float64, and for float32 with its own tolerance. Under sanitizers one in three cases is taken, with one
 * of the two, in turn. */
void attention_check_types(const attention_case *test, attention_memory memory, double tolerance_float32);

#endif

/* SPDX-License-Identifier: MIT */
/* The plain dense double reference: everything that a plan does, written as one would write it down, with a d × d
 * matrix for every position and a loop for every pair of tokens. Nothing here calls the library's kernels, plans or
 * tables; of the library it uses what a parsed spec says of itself (terms, options, group) and the random numbers of
 * dropout.
 *
 * Positions are the reference's own (reference_position), and so is what they mean. Gradients are not written down:
 * they are central differences of these functions. Memory that cannot be had ends the process: these are tests. */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <locus/attention.h>
#include <stdbool.h>

enum { REFERENCE_AXES = 6, REFERENCE_LETTERS = 12, REFERENCE_TENSORS = 24 };

/* One token's, by coordinates of the group: a number on axes and cycles (0 … n − 1), a reduced word of signed branches
 * on trees. */
typedef struct reference_position {
    double value[REFERENCE_AXES];
    int64_t word[REFERENCE_AXES][REFERENCE_LETTERS];
    size_t letters[REFERENCE_AXES];
} reference_position;

/* Sequence s stands at tokens first[s] … first[s] + count[s] − 1. */
typedef struct reference_tokens {
    size_t sequences, tokens;
    const size_t *first, *count;
    const reference_position *at; /* [tokens] */
} reference_tokens;

/* An encoding with a shape and parameter values, in place. Of the shape everything is said: no 0 for a default. */
typedef struct reference_model {
    const locus_encoding *encoding;
    const locus_group *group; /* of the positions */
    locus_shape shape;
    size_t tensor_count;
    const locus_parameter *info;
    double *const *values;
    size_t length; /* of the sequences; 0: the largest position + 1 */
    const reference_tokens *queries, *keys;
} reference_model;

void *reference_zeros(size_t count, size_t size);
double reference_most(double a, double b); /* the larger one; b only if it is finite */

/* NULL, or the first "encoding.option" of the registry that the reference has not been taught. */
const char *reference_untaught(void);
bool reference_taught(const char *encoding, const char *option);

/* ---- what a spec says (reference_spec.c) ---- */

size_t reference_terms(const reference_model *model);
bool reference_term_is(const reference_model *model, size_t term, const char *name);
/* Whether option `name` of the term is `text`; false where it has no such option. */
bool reference_says(const reference_model *model, size_t term, const char *name, const char *text);
bool reference_given(const reference_model *model, size_t term, const char *name); /* not empty, not "off" */
double reference_number(const reference_model *model, size_t term, const char *name);
size_t reference_list(const reference_model *model, size_t term, const char *name, double *list, size_t most);
/* A learned tensor of the term, or NULL. */
const double *reference_values(const reference_model *model, size_t term, const char *name);
double reference_length(const reference_model *model); /* the length that frequencies may depend on */

/* ---- groups (reference_group.c) ---- */

double reference_distance(const locus_group *group, const reference_position *a, const reference_position *b);

/* ---- operators ---- */

typedef enum reference_role { REFERENCE_QUERY, REFERENCE_KEY, REFERENCE_VALUE } reference_role;

/* ⌈p⌉ of one head of keys and values, W [head_dim, head_dim] row-major (values: value_dim is head_dim then). False, and
 * nothing written, where nothing acts. */
bool reference_operator(const reference_model *model, size_t head, const reference_position *p, reference_role role,
                        double *W);
/* A term's part of it: reference_rope.c; reference_algebraic.c. */
bool reference_rope(const reference_model *model, size_t term, const reference_position *p, reference_role role,
                    double *W);
bool reference_algebraic(const reference_model *model, size_t term, size_t head, const reference_position *p,
                         double *W);
/* The largest |angle| that a position of the model is turned by: what rounding of angles grows with. */
double reference_angle(const reference_model *model);

/* All of a model: [tokens, kv_heads, d, d], or NULL where nothing acts. `output` is ⌈p⌉ at the queries' positions. */
typedef struct reference_operators {
    double *query, *key, *value, *output;
} reference_operators;
reference_operators reference_operators_make(const reference_model *model);
void reference_operators_free(reference_operators *operators);

/* y = W x for every token of a sequence and head, or Wᵀ x; W NULL: a copy. `heads` of x; `shared` of them go with one
 * head of W. */
void reference_turn(const double *W, const reference_tokens *tokens, size_t heads, size_t shared, size_t dim,
                    bool transposed, const double *x, double *y);

/* ---- vectors added to tokens (reference_embedding.c) ---- */

/* What the encoding adds to a token at p, [model_dim], for `site` LOCUS_SITE_EMBEDDING or LOCUS_SITE_ENCODED. */
void reference_embedding(const reference_model *model, unsigned site, const reference_position *p, double *vector);

/* ---- attention ---- */

/* What is added to scores: [sequences, heads, queries, keys] in C order, an extent of 1 serving all. */
typedef struct reference_bias {
    size_t extent[4];
    double *values; /* NULL: none */
} reference_bias;

/* Contiguous [tokens, heads, dim]. `outputs` of queries that stand in no sequence are left as they are. */
typedef struct reference_call {
    const reference_model *model;
    const reference_operators *operators;
    const locus_attention_options *options;
    const double *query, *key, *value;
    reference_bias bias; /* options->bias as numbers: the options' own is not read */
    double *output, *log_sum_exp;
    double
        *weights; /* softmax: [tokens, heads, weight_row], by key of the sequence, before dropout; NULL: not wanted */
    size_t weight_row;
    double score; /* out: the largest sum of magnitudes that one score is made of */
    double mass;  /* out: the largest |number| that outputs are sums of, with weights that sum to 1 */
    /* Of clustered attention: which query is of which cluster, [tokens, heads]. Given and known, they are taken as they
     * are: derivatives take them as constant. */
    size_t *clusters;
    bool clusters_known;
    double margin; /* out: by how much a query is nearer to its cluster than to the next, relative, at least */
} reference_call;
void reference_attention(reference_call *call);

/* One sequence and head of a call, ready for the loops: [tokens of the sequence, dim] each. */
typedef struct reference_head {
    const reference_call *call;
    size_t sequence, head, kv_head, m, n; /* queries and keys */
    const double *q, *k, *v, *raw;        /* turned; raw: queries before any operator */
    double *o, *beside, *log_sum_exp;     /* beside: content that no operator undoes */
    double scale, cap;
    size_t window, keep, chunk;
    double score, mass, margin;
} reference_head;
void reference_softmax(reference_head *head); /* reference_softmax.c */
void reference_kinds(reference_head *head);   /* reference_kinds.c: linear, soft, clustered */
double reference_dropout(const reference_head *head, size_t row, size_t key);
bool reference_sees(const reference_head *head, size_t query, size_t key);
double reference_bias_of(const reference_head *head, size_t query, size_t key); /* 0 without */

/* Factor and bias of a pair by all terms (reference_score.c), of tokens of the buffers. */
void reference_terms_of_score(const reference_model *model, size_t head, size_t query, size_t key, double *factor,
                              double *bias);

#endif

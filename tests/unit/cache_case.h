/* SPDX-License-Identifier: MIT */
/* A case of decoding for tests: a spec with drawn parameters, positions on its group, made-up queries, keys and values
 * for whole sequences, plans over them, and a cache that is filled with pieces of them. */
#ifndef TESTS_CACHE_CASE_H
#define TESTS_CACHE_CASE_H

#include <locus/locus.h>
#include <stdbool.h>

#define CACHE_CASE_PARAMETERS 8
#define CACHE_CASE_SEQUENCES 3

typedef struct cache_case {
    const char *spec;
    locus_dtype dtype;                           /* of data and cache */
    size_t heads, kv_heads, head_dim, value_dim; /* 0: 4, 2, 8, 8 */
    size_t sequences;
    size_t lengths[CACHE_CASE_SEQUENCES]; /* tokens of each sequence in the end */
    int64_t start;                        /* position of each first token, on axes and cycles */
    size_t room;                          /* capacity; 0: the longest sequence */
    /* filled in */
    locus_shape shape;
    locus_encoding *encoding;
    locus_binding *binding;
    const locus_group *group;
    size_t offsets[CACHE_CASE_SEQUENCES + 1], tokens;
    double *q, *k, *v; /* [tokens, heads or kv_heads, dim], exact in every type */
    locus_cache *cache;
} cache_case;

void cache_case_open(cache_case *c);
void cache_case_close(cache_case *c);

/* Position number `index` of every sequence as text; numbers count along axes, round a grid's rows, down a tree. */
void cache_case_text(const cache_case *c, size_t index, char *text, size_t size);
locus_path *cache_case_path(const cache_case *c, size_t index);

/* Tokens [first[s], first[s] + count[s]) of each sequence, packed. */
typedef struct cache_part {
    size_t first[CACHE_CASE_SEQUENCES], count[CACHE_CASE_SEQUENCES], offsets[CACHE_CASE_SEQUENCES + 1];
} cache_part;
cache_part cache_case_all(const cache_case *c);
locus_positions *cache_case_positions(const cache_case *c, const cache_part *part);

/* Their rows of q, k or v in a type, contiguous; free them. */
locus_tensor cache_case_rows(const cache_case *c, const cache_part *part, char which, locus_dtype dtype);
locus_tensor cache_case_zeros(size_t tokens, size_t heads, size_t dim, locus_dtype dtype);
void cache_case_free(locus_tensor *tensor);
double cache_case_number(const locus_tensor *tensor, size_t token, size_t head, size_t j);

/* Appends a part of keys and values; and attends with its queries, into `output` (packed alike), unless NULL. */
void cache_case_append(cache_case *c, const cache_part *part);
void cache_case_attend(cache_case *c, const cache_part *part, const locus_attention_options *options,
                       const locus_tensor *output);

/* The next part of a filling that takes pieces of several lengths; false: there is nothing left. `at`: a number of the
 * filling's own, 0 at first. */
bool cache_case_next(const cache_case *c, cache_part *part, size_t *at);

locus_plan *cache_case_plan(const cache_case *c, const cache_part *part);
locus_tensor cache_case_applied(const cache_case *c, const locus_plan *plan, locus_role role, const locus_tensor *x);
void cache_case_need(const cache_case *c, locus_status status, const locus_error *error);

#endif

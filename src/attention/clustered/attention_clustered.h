/* SPDX-License-Identifier: MIT */
/* Clustered attention (Vyas, Katharopoulos and Fleuret 2020, section 3.2): the queries of each sequence and head are
 * clustered, weights are computed for the centroids only, and every query takes its centroid's output.
 *
 *   c_j = mean of the q'_m of cluster j;  a_j = softmax_n(scale · c_j·k'_n);  o'_m = Σ_n a_{j(m),n} v'_n
 *
 * q' are the queries after their operators. The paper hashes queries to sign bits of random projections and runs
 * k-means on these; here Lloyd's k-means runs on the queries themselves, from C of them spread evenly over the
 * sequence, for `iterations` rounds: it needs no random numbers, and as distances do not change when all queries are
 * turned alike, only relative positions matter (signs of projections would change). Ties go to the first cluster; a
 * cluster that loses all its queries keeps its centroid. There are at most as many clusters as queries.
 *
 * log_sum_exp of a query is its centroid's. Dropout drops weights of centroids: row (first query token of the sequence
 * + cluster)·heads + head, by keys of the sequence. The backward makes the clusters again and goes through the means;
 * which query belongs where is taken as constant. Refused: causal masks (a centroid has no place in a sequence), and
 * what needs scores of each query. */
#ifndef LOCUS_ATTENTION_CLUSTERED_H
#define LOCUS_ATTENTION_CLUSTERED_H

#include "attention/attention_turn.h"

enum { CLUSTERED_PIECE = 1024, CLUSTERED_ROWS = 64, CLUSTERED_PANEL = 128 };

/* A unit is one head of one sequence: number sequence·heads + head. Matrices by cluster have room for `most` rows. */
typedef struct attention_clustered_job {
    attention_turn turn;
    double scale, dropout;
    locus_random dropout_key;
    size_t most, iterations;
    uint32_t *cluster;                      /* [heads, T] of each query */
    void *centroids, *columns, *norms;      /* [units] of [C, d], [d, C], and |c|²/2 [C] */
    double *members;                        /* [units][C] how many */
    void *partials;                         /* [query pieces, heads] of [C, d], or of do' [C, dv] */
    double *member_partials;                /* [query pieces, heads][C] */
    void *results, *log_sums;               /* [units] of [C, dv], and [C] */
    void *g_results, *shares, *g_centroids; /* backward: [units] of [C, dv], do·o [C], [C, d] */
    void *g_partials;                       /* [key pieces, heads] of [C, d] */
    double *share_sums;                     /* [units][C] */
} attention_clustered_job;

static inline size_t locus_attention_clustered_count(const attention_clustered_job *job,
                                                     const locus_sequence_span *span) {
    return job->most < span->query_count ? job->most : span->query_count;
}

extern const attention_bodies locus_attention_clustered_float32, locus_attention_clustered_float64;

#endif

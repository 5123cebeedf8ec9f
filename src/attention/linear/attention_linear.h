/* SPDX-License-Identifier: MIT */
/* Linear attention (Katharopoulos, Vyas, Pappas and Fleuret 2020) with operators behind the feature map (Su et al.
 * 2021, equation 19):
 *
 *   φ(x) = elu(x) + 1
 *   o'_m = Σ_{n ≤ seen(m)} (⌈p_m⌉φ(q_m) · ⌈p_n⌉φ(k_n)) v'_n / z_m      z_m = Σ_{n ≤ seen(m)} φ(q_m)·φ(k_n)
 *
 * The denominator has no operators, so it stays positive; log_sum_exp is ln z. There is no 1/sqrt(d): a scale that is
 * asked for multiplies queries before φ. With S_m = Σ k'_nᵀ v'_n, c_m = Σ φ(k_n) over the keys that m sees:
 *
 *   forward    o'_m = q'_m S_m / z_m,  z_m = φ(q_m)·c_m
 *   backward   g_m = do'_m / z_m,  e_m = −(do_m·o_m)/z_m
 *              dq'_m = g_m S_mᵀ,  dφ(q_m) += e_m c_m
 *              dk'_n = v'_n R_nᵀ,  dv'_n = k'_n R_n,  dφ(k_n) += r_n
 *              R_n = Σ q'_mᵀ g_m,  r_n = Σ e_m φ(q_m)  over the queries m that see n
 *
 * Linear in length, causal or not: sums over pieces of LINEAR_PIECE tokens are made in parallel, added up in order, and
 * each piece then walks its tokens by chunks of LINEAR_CHUNK: a product with the state, plus a masked product within
 * the chunk. Refused: what needs scores, dropout, and queries that come turned (they must pass φ first). */
#ifndef LOCUS_ATTENTION_LINEAR_H
#define LOCUS_ATTENTION_LINEAR_H

#include "attention/attention_turn.h"

enum { LINEAR_PIECE = 512, LINEAR_CHUNK = 64 };

typedef struct attention_linear_job {
    attention_turn turn;
    locus_mask mask;
    const size_t *prefix;
    double scale;
    size_t state_size; /* elements: a matrix [d, dv] or [dv, d], and a vector [d] */
    /* [pieces + sequences, kv_heads, state_size]: slot p of a sequence holds the sum of its pieces before p (keys), or
     * from p on (queries). */
    void *key_states, *query_states;
    locus_tensor feature_query, feature_key;     /* φ */
    attention_view query_features, key_features; /* of the same */
    attention_view given;                        /* do */
    attention_view rest_query, rest_key, scaled; /* e c and r if operators stand between; g */
    void *inverse, *share;                       /* [heads, T]: 1/z, e */
} attention_linear_job;

/* Keys that query `row` of a sequence sees, and the first query that sees key `key`: both never fall. */
size_t locus_attention_linear_seen(const attention_linear_job *job, size_t sequence, const locus_sequence_span *span,
                                   size_t row);
size_t locus_attention_linear_first(const attention_linear_job *job, size_t sequence, const locus_sequence_span *span,
                                    size_t key);

/* Number of the slot of key states that queries from `row` on start with; and of query states, for keys up to `key`. */
size_t locus_attention_linear_key_slot(const attention_linear_job *job, size_t sequence,
                                       const locus_sequence_span *span, size_t row);
size_t locus_attention_linear_query_slot(const attention_linear_job *job, size_t sequence,
                                         const locus_sequence_span *span, size_t key);

extern const attention_bodies locus_attention_linear_float32, locus_attention_linear_float64;

#endif

/* SPDX-License-Identifier: MIT */
/* Softmax-free attention (SOFT: Lu et al. 2021): a Gaussian kernel by landmarks, nothing is divided by a row's sum.
 *
 *   K(x, y) = exp(−scale·|x − y|²/2),  scale = 1/sqrt(d) unless asked for: the paper's exp(−|x − y|²/(2·sqrt(d)))
 *   o' = K(q', k̃) · X · K(q̃, k') · v'           X ≈ K(q̃, k̃)⁺
 *
 * q̃ and k̃ are m landmarks: the means of q' and k' (after the operators, so that only relative positions matter) over m
 * runs of tokens, run i from ⌊i·n/m⌋ to ⌊(i+1)·n/m⌋; m is at most the sequence's queries and keys. The paper pools by a
 * strided convolution or by means; what is learned there belongs to a model. It has q = k, where this is its formula;
 * with q ≠ k the middle is no longer symmetric, so the pseudo-inverse is Newton's as for any matrix (Ben-Israel and
 * Cohen 1966):
 *
 *   X₀ = α Aᵀ,  α = 1/(‖A‖₁·‖A‖∞),  X ← 2X − X A X,  `iterations` times
 *
 * For a symmetric A the paper asks for α < 2/‖A‖₁², and the authors' program begins at 2/‖A‖₁² and halves it while
 * ‖I − A X₀‖ is above 1.01. One halving is taken here, always: at the bound itself equal landmarks give X = 0, and a
 * search has no derivative. A fixed number of steps leaves (1 − (1 − ασ²)^(2^steps))/σ of a singular value σ instead of
 * 1/σ: the small ones, which are noise, are damped. The m × m part is computed in double whatever the data, since
 * rounding errors in the null space double with each step. The authors' later normalisation of A is not applied.
 *
 * The backward goes through the Newton steps as they were made, α included. log_sum_exp is 0: weights are not
 * normalised. Refused: causal masks (landmarks look ahead), dropout, and what needs scores. */
#ifndef LOCUS_ATTENTION_SOFT_H
#define LOCUS_ATTENTION_SOFT_H

#include "attention/attention_turn.h"

enum { SOFT_PIECE = 512, SOFT_BLOCK = 64 };

/* A unit is one head of one sequence: number sequence·heads + head. Matrices of landmarks have room for `most` rows. */
typedef struct attention_soft_job {
    attention_turn turn;
    double scale;
    size_t most, iterations;
    /* of each unit (of keys: sequence·kv_heads + head): landmarks [m, d], transposed [d, m], −scale·|landmark|²/2 */
    void *query_marks, *query_columns, *query_norms, *key_marks, *key_columns, *key_norms;
    void *key_partials;      /* [key pieces, heads][m, dv] of K(q̃, k')v' */
    void *summed, *weighted; /* [units][m, dv]: P = K(q̃, k')v', M = X·P */
    double *inverses;        /* [units][most, most]: X, kept for the backward */
    /* backward: partials [query pieces, heads] of dM [m, dv] and dk̃ [m, d], [key pieces, heads] of dq̃ [m, d];
     * [units] */
    void *g_weighted_partials, *g_key_mark_partials, *g_query_mark_partials;
    void *g_weighted, *weighted_columns, *g_summed, *g_summed_columns, *g_query_marks, *g_key_marks;
} attention_soft_job;

/* Landmarks of a sequence, and the first token of run `index` of n tokens. */
size_t locus_attention_soft_landmarks(const attention_soft_job *job, const locus_sequence_span *span);
static inline size_t locus_attention_soft_run(size_t index, size_t tokens, size_t marks) {
    return index * tokens / marks;
}

/* ---- the m × m part, in double ---- */

/* Doubles of scratch; backward keeps every step. */
size_t locus_attention_soft_middle_work(size_t m, size_t iterations, bool backward);
/* X [m, m] from A [m, m]. */
void locus_attention_soft_inverse(size_t m, size_t iterations, const double *A, double *X, double *work);
/* dA from dX, which is used up. */
void locus_attention_soft_inverse_backward(size_t m, size_t iterations, const double *A, double *dX, double *dA,
                                           double *work);

extern const attention_bodies locus_attention_soft_float32, locus_attention_soft_float64;

#endif

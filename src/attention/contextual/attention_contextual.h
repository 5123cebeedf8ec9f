/* SPDX-License-Identifier: MIT */
/* Softmax attention with contextual positions, CoPE (Golovneva et al. 2024). A key's position depends on all keys
 * between it and the query, so scores are not made tile by tile but in whole rows, of CONTEXTUAL_ROWS queries at a
 * time:
 *
 *   x = q'·k',  σ = sigmoid(x) or sigmoid(scale·x),  p_n = min(most, Σ_{j = n..m} σ_j)        over keys that m sees
 *   s_n = scale·x_n + (1 − f) q·E[⌊p_n⌋] + f q·E[⌊p_n⌋ + 1],  f = p_n − ⌊p_n⌋                q before any operator
 *   then as elsewhere: soft cap, factors, biases, the call's bias, softmax with a sink
 *
 *   backward, from ds: dE[⌊p⌋] += (1 − f) ds q, dE[⌊p⌋ + 1] += f ds q, the same for dq from E;
 *   dp_n = ds_n (q·E[⌊p⌋ + 1] − q·E[⌊p⌋]) where p_n < most, else 0
 *   dσ_j = Σ_{n ≤ j} dp_n,  dx = scale·ds + dσ·σ(1 − σ) (times scale where the gate sees it scaled)
 *
 * A key that the call's bias hides by −∞ has no gate: it counts for nobody.
 *
 * From the query back, gates are added up until the sum reaches `most`: from there on all keys share its row, and no
 * sums are made; nor gates, but for the rest of a block. A worker's memory is linear in the keys of one sequence: its
 * rows of scores, and the head's keys and values as products pass over them many times, transposed or as rows that lie
 * next to each other, with their gradients. Weights are made again in the backward pass, from the log-sum-exp. */
#ifndef LOCUS_ATTENTION_CONTEXTUAL_H
#define LOCUS_ATTENTION_CONTEXTUAL_H

#include "attention/attention_bias.h"
#include "attention/attention_seen.h"
#include "attention/attention_turn.h"
#include "attention/attention_weights.h"

enum {
    CONTEXTUAL_ROWS = 32,      /* queries whose rows are made at a time; dk and dv are read and written once for them */
    CONTEXTUAL_PIECE = 256,    /* queries that a forward task makes with one set of keys and values in scratch */
    CONTEXTUAL_BIAS_ROWS = 64, /* queries of a rectangle of a bias's gradient */
    CONTEXTUAL_BLOCK = 128 /* keys of a transposed block, and of a call of a score term; a multiple of 8 (dropout) */
};

/* Byte offsets into one gradient slot, and its size. */
typedef struct contextual_slots {
    size_t table; /* [most + 1, head_dim] of the element type */
    size_t sinks; /* one double */
    size_t terms; /* one behind the other */
    size_t bytes; /* 0: not wanted */
} contextual_slots;

typedef struct contextual_job {
    attention_turn turn; /* whose queries are cut in a forward */
    const locus_plan *plan;
    attention_sight sight;
    attention_settled settled;
    const locus_contextual_table *table;
    const void *rows; /* of the call's element type: [most + 1, head_dim] */
    double gate_scale;
    size_t row_count, ld_rows; /* most + 1, and the stride of q·Eᵀ */
    size_t term_count, max_keys;
    bool drop_weights, drop_logits, slots_wanted;
    const double *sinks; /* [heads], or NULL */
    double dropout;
    locus_random dropout_key;
    bool biased;                 /* the options have a bias */
    attention_bias bias, g_bias; /* it, and where its gradient is wanted */
    attention_choice choice;     /* of weights */
    size_t groups;               /* tasks for each head, of pieces or of sequences */
    attention_view raw_query, raw_g_query;
    locus_tensor own_raw_gradient; /* where operators act: E's part of dq, apart */
    contextual_slots slots;
    char *row_columns, *slot_data; /* Eᵀ; slots [heads, groups] */
} contextual_job;

extern const attention_bodies locus_attention_contextual_float32, locus_attention_contextual_float64;

#endif

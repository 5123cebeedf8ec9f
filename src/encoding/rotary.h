/* SPDX-License-Identifier: MIT */
/* The one mechanism of rotary and algebraic encodings of a sequence:
 *
 *   ⌈p⌉ = U R(pθ) Uᵀ        R(a) turns pair i by a_i, (x, y) → (x cos a_i − y sin a_i, x sin a_i + y cos a_i)
 *
 * Rotary: U = I, θ the frequencies, shared by heads. Algebraic: U and θ from the block form of the generator's
 * logarithm S = A − Aᵀ, for each head. Coordinates without a pair stand still.
 *
 *   OUTER   y = U R(pθ) Uᵀ x               two products with d × d matrices for blocks of tokens
 *   INNER   ŷ = R(pθ) Uᵀ x, o = U R(−pθ) ô  one product: the outer U cancels in scores, and in values and output
 *
 * The gradient of S is taken from sums over tokens in the basis U (linalg.h): see rotary_reduce.c. */
#ifndef LOCUS_ROTARY_H
#define LOCUS_ROTARY_H

#include "encoding/angle_table.h"
#include "encoding/sites.h"
#include "kernels/kernels.h"

typedef enum locus_side { LOCUS_SIDE_BOTH = 0, LOCUS_SIDE_QUERY = 1, LOCUS_SIDE_KEY = 2 } locus_side;

typedef enum locus_rotary_learning {
    LOCUS_LEARN_NOTHING = 0,
    LOCUS_LEARN_ANGLES = 1, /* θ, first parameter of the term: [tables, …, pairs] */
    LOCUS_LEARN_SKEW = 2    /* A of S = A − Aᵀ, first parameter of the term: [tables, 1, dim, dim] */
} locus_rotary_learning;

/* Bound: read-only, shared by plans. */
typedef struct locus_rotary {
    size_t heads, dim, pairs;
    size_t tables;   /* heads, or 1: all heads alike */
    bool half_pairs; /* pairs (i, i + pairs), else (2i, 2i + 1) */
    locus_side side; /* of queries and keys, which one is turned; values are always */
    locus_rotary_learning learned;
    locus_angle_fine fine; /* with θ, [tables, pairs] */
    /* [tables, dim, dim], U and Uᵀ row-major; NULL: the standard basis */
    const double *basis_float64, *transposed_float64;
    const float *basis_float32, *transposed_float32;
} locus_rotary;

/* Neighbouring blocks of S whose angles are so near for the plan's positions that their gradient needs moments. */
typedef struct locus_near_run {
    size_t first, count; /* coordinates */
    size_t pairs;
} locus_near_run;

typedef struct locus_rotary_operator {
    locus_operator base;
    const locus_rotary *rotary;
    const locus_placement *placement;
    locus_angle_table angles;
    const locus_kernels_float32 *kernels_float32;
    const locus_kernels_float64 *kernels_float64;
    /* for the gradient of S */
    double span;              /* positions are divided by it: max |p|, at least 1 */
    const double *span_theta; /* [tables, pairs] span·θ */
    size_t moments;           /* how many moments, 1 if no run is near */
    const size_t *near_first; /* [tables + 1] where each table's runs begin */
    const locus_near_run *near;
    size_t near_widest;         /* most coordinates of a run, 0: none */
    locus_angle_fine half_fine; /* of θ/2, only if there are runs */
    locus_angle_table half;
} locus_rotary_operator;

/* The frequencies base^(−2i/r), i < r/2. */
void locus_rotary_frequencies(double base, size_t rotated, size_t pairs, double *theta);

locus_status locus_rotary_place(const locus_rotary *rotary, const locus_placement *placement, locus_owned *memory,
                                const locus_operator **placed, locus_error *error);

/* ---- gradients (rotary_reduce.c) ---- */

/* Two blocks are near if span·|θ_i ∓ θ_j| is below this; then so many moments replace the quotient: the series stops
 * short by (x/2)⁶/7! = 3e-12, and the quotient's cancellation costs a factor 10 of the sums' rounding. */
#define LOCUS_NEAR 0.1
#define LOCUS_NEAR_MOMENTS 3

/* The slot of one head, in doubles. `inner` is scratch of reduce. */
typedef struct locus_skew_slot {
    double *forward, *backward, *inner;
    double *moment[LOCUS_NEAR_MOMENTS];
    double *diagonal; /* [pairs] */
} locus_skew_slot;
locus_skew_slot locus_skew_slot_at(const locus_rotary_operator *op, void *slot);

size_t locus_rotary_slot_bytes(const locus_operator *op);
void locus_rotary_reduce(const locus_operator *op, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                         const locus_tensor *parameters);

/* Finds the near runs of every table. */
locus_status locus_rotary_find_near(locus_rotary_operator *op, locus_owned *memory, locus_error *error);

/* ---- one walk over tokens, written once for both element types (rotary_body.h) ---- */

#define LOCUS_TURN_ROWS 16   /* tokens whose angles are computed at a time where all heads are turned together */
#define LOCUS_BASE_ROWS 8    /* runs of tokens whose first angles are computed at a time */
#define LOCUS_BASIS_ROWS 64  /* tokens of a block that changes basis */
#define LOCUS_FLUSH_ROWS 256 /* tokens summed in the data's own type before they are added to doubles */

/* Byte offsets into an operator's scratch. */
typedef struct locus_rotary_scratch {
    size_t cosine, sine, half_cosine, half_sine, x, g, turned, half_x, half_g, forward, backward, moments, weights,
        total;
} locus_rotary_scratch;

typedef struct locus_rotary_walk {
    const locus_rotary_operator *op;
    const locus_operator_call *call;
    const locus_operator_heads *heads;
    const locus_token_side *side;
    locus_rotary_scratch scratch;
    bool acts;         /* else y = scale·x */
    double sign;       /* of the positions: R(sign·pθ) */
    bool into, out_of; /* whether Uᵀ is applied before and U after */
} locus_rotary_walk;

/* Of a walk's heads, some neighbours. */
typedef struct locus_heads_range {
    size_t first, count;
} locus_heads_range;

/* Tokens cut where positions stop rising by one, and where a block of 8 positions ends: the place of each run's block
 * in the two-level tables, and its length. */
typedef struct locus_step_runs {
    size_t count;
    uint32_t coarse[LOCUS_BASE_ROWS], fine[LOCUS_BASE_ROWS];
    size_t rows[LOCUS_BASE_ROWS];
} locus_step_runs;
locus_step_runs locus_step_runs_find(const locus_token_side *side, size_t first, size_t count);

/* y from call->x */
void locus_rotary_run_float32(const locus_rotary_walk *walk);
void locus_rotary_run_float64(const locus_rotary_walk *walk);
/* gx (heads->y) from heads->gy, and slots from call->x; the walk describes the forward operator. */
void locus_rotary_learn_float32(const locus_rotary_walk *walk);
void locus_rotary_learn_float64(const locus_rotary_walk *walk);

#endif

/* SPDX-License-Identifier: MIT */
/* The one mechanism of rotary and algebraic encodings of sequences, cycles and grids:
 *
 *   ⌈p⌉ = U R(p) Uᵀ        R(p) turns pair i by a_i(p), (x, y) → (x cos a_i − y sin a_i, x sin a_i + y cos a_i)
 *
 * Coordinates without a pair stand still. What U and a are:
 *
 *   rope        U = I                              a = p·θ, θ the frequencies, shared by heads; of several axes each
 *                                                  pair follows one
 *   axis        U, θ from the block form of W      a = p·θ, and where W reflects, a factor (−1)^p (orthogonal.h)
 *   cycle of n  U = Q from its own parameters      a = 2π·(m·p mod n)/n, m whole, the same in all heads
 *   mixed       U = I                              a = Σ_a p_a·θ_a over several axes
 *   string      U from its own parameters          a = Σ_a p_a·θ_a
 *   given       U = I                              a as somebody else says for each distinct position
 *
 *   OUTER   y = U R(p) Uᵀ x               two products with d × d matrices for blocks of tokens
 *   INNER   ŷ = R(p) Uᵀ x, o = U R(−p) ô  one product: the outer U cancels in scores, and in values and output
 *
 * Rope's operators may also stretch. An attention factor multiplies all pairs of queries and keys, and of nothing
 * else. xPos multiplies pair i of a query by e^{(p − centre)·λ_i} and of a key by the inverse: tables of complex
 * numbers that are longer or shorter than 1, at no cost where they are applied (rotary_growth.c). A transpose turns
 * back and stretches the same way, and dL/dθ = p·(x ∧ gx) holds as it stands: stretching one side of a wedge product
 * is stretching the other.
 *
 * Gradients are taken from sums over tokens in the basis U: see rotary_reduce.c. */
#ifndef LOCUS_ROTARY_H
#define LOCUS_ROTARY_H

#include "kernels/kernels.h"
#include "linalg/orthogonal.h"
#include "operators/angle_table.h"
#include "operators/product.h"

typedef enum locus_side { LOCUS_SIDE_BOTH = 0, LOCUS_SIDE_QUERY = 1, LOCUS_SIDE_KEY = 2 } locus_side;

/* A mask. */
typedef enum locus_rotary_learning {
    LOCUS_LEARN_NOTHING = 0,
    LOCUS_LEARN_ANGLES = 1,    /* θ: [tables, axes, pairs] */
    LOCUS_LEARN_GENERATOR = 2, /* A of W, whose powers turn: [tables, dim, dim], one axis */
    LOCUS_LEARN_BASIS = 4      /* A of U: [tables, dim, dim] */
} locus_rotary_learning;

/* Bound: read-only, shared by plans. */
typedef struct locus_rotary {
    size_t heads, dim, pairs;
    size_t tables;   /* of parameters and bases: heads, or 1: all heads alike */
    bool half_pairs; /* pairs (i, i + pairs), else (2i, 2i + 1) */
    locus_side side; /* of queries and keys, which one is turned; values are always */
    unsigned learned;
    locus_parameter_slice angles_slice, matrix_slice; /* where the parameters stand among the term's */
    size_t axes;                                      /* whose angles add up: 1, or several */
    const locus_angle_fine *fine; /* [axes], each with as many tables as the rotary, or with one for all heads */
    /* where each pair follows one axis alone: fine[a] is of its own pairs only */
    const size_t *parts; /* [axes + 1]: sorted by axis, those of axis a are number parts[a] … parts[a + 1] − 1; NULL:
                               each pair follows all axes */
    const uint32_t *places; /* [pairs] the number of each pair so sorted; NULL: they are in that order */
    size_t blocks;          /* half pairs lie within as many blocks of the head, (2bn + j, 2bn + n + j); 0: one */
    /* operators that stretch: see above */
    double factor;                    /* of attention; 0: 1 */
    const locus_angle_fine *key_fine; /* [1] of keys, where `fine` is of queries; NULL: the same for both */
    const double *growth;             /* [pairs] λ; NULL: 0 */
    double centre, range;             /* range: the furthest that a position may be from the centre */
    const char *not_normal;           /* why there is no normal form (fold.h), or NULL */
    /* [tables, dim, dim], U and Uᵀ row-major; NULL: the standard basis */
    const double *basis_float64, *transposed_float64;
    const float *basis_float32, *transposed_float32;
    /* of generators and bases that are learned */
    locus_orthogonal_kind kind;
    const double *A;     /* [tables, dim, dim] */
    const double *sigma; /* generators: [tables, pairs] */
    /* a basis exp(A − Aᵀ): the block form of A − Aᵀ, [tables, dim, dim] and [tables, pairs] */
    const double *skew_basis, *skew_angles;
    const size_t *flip; /* [tables] coordinates from this one on change sign with every step; NULL: none do */
} locus_rotary;

/* ---- binding (rotary_bind.c); heads, dim, side and tables are set by the caller ---- */

/* Angles of an axis in the standard basis, pairs (2i, 2i + 1); theta [tables, pairs] outlives the rotary. */
locus_status locus_rotary_bind_angles(locus_rotary *rotary, const double *theta, locus_owned *memory,
                                      locus_error *error);

/* θ in the order of pairs, by axis where `parts` say so; one table. */
locus_status locus_rotary_bind_parts(locus_rotary *rotary, const double *theta, locus_owned *memory,
                                     locus_error *error);

/* After that, for one axis: growth [pairs] (outlives the rotary), centre and range are set, and key_fine is made. */
locus_status locus_rotary_bind_growth(locus_rotary *rotary, const double *growth, double centre, locus_owned *memory,
                                      locus_error *error);

/* Several axes: theta [tables, axes, pairs], copied. */
locus_status locus_rotary_bind_axes(locus_rotary *rotary, size_t axes, const double *theta, locus_owned *memory,
                                    locus_error *error);

/* A cycle of n: pair i turns by 2π·m_i/n, m_i = max(1, round(n·ω_i/2π)), ω_i rope's frequencies. */
locus_status locus_rotary_bind_cycle(locus_rotary *rotary, int64_t n, locus_owned *memory, locus_error *error);

/* U from A [tables, dim, dim], which outlives the rotary. NUMERIC names the head. */
locus_status locus_rotary_bind_basis(locus_rotary *rotary, locus_orthogonal_kind kind, const double *A,
                                     locus_owned *memory, locus_error *error);

/* U and angles of the powers of W from A [tables, dim, dim], which outlives the rotary. NUMERIC names the head. */
locus_status locus_rotary_bind_powers(locus_rotary *rotary, locus_orthogonal_kind kind, const double *A,
                                      locus_owned *memory, locus_error *error);

/* Angles are given with the plan: pairs of the standard basis, no frequencies. */
locus_status locus_rotary_bind_given(locus_rotary *rotary, locus_owned *memory, locus_error *error);

/* ---- placed ---- */

/* Angles that somebody else says. They are no multiples of positions, so each distinct position has a coarse row of its
 * own, all fine rows are 1, and the gradient is that of each angle. */
typedef struct locus_rotary_given {
    size_t count;                /* distinct positions */
    const uint32_t *query, *key; /* [tokens] which a token stands on */
    const double *angles;        /* [tables, count, pairs]; only read while the operator is placed */
    /* What the parameters' gradients get from a head's: `upstream` [count, pairs], `work` as many doubles as said.
     * Called for one head after the other. */
    void (*learn)(const void *own, size_t head, const double *upstream, double *work, const locus_tensor *parameters);
    const void *own;
    size_t work;
} locus_rotary_given;

/* Neighbouring blocks of W whose angles are so near for the plan's positions that their gradient needs moments. */
typedef struct locus_near_run {
    size_t first, count; /* coordinates */
    size_t pairs;
    bool flips; /* among those that change sign with every step */
} locus_near_run;

typedef struct locus_rotary_operator {
    locus_operator base;
    const locus_rotary *rotary;
    const locus_placement *placement; /* [axes] */
    const locus_angle_table *angles;  /* [axes] */
    const locus_angle_table *key_angles;
    const locus_rotary_given *given; /* NULL: angles follow from frequencies */
    const locus_kernels_float32 *kernels_float32;
    const locus_kernels_float64 *kernels_float64;
    /* for the gradient of W */
    double span;                /* positions are divided by it: max |p|, at least 1 */
    const double *span_theta;   /* [tables, pairs] span·θ */
    size_t moments;             /* how many moments, 1 if no run is near */
    const size_t *near_first;   /* [tables + 1] where each table's runs begin; NULL: no generators are learned */
    const locus_near_run *near; /* by table */
    size_t near_widest;         /* most coordinates of a run, 0: none */
    bool widened;               /* of a plan of limits: all of a head may be near */
    locus_angle_fine half_fine; /* of θ/2 of the pairs in runs, in their order; only if there are runs */
    locus_angle_table half;
} locus_rotary_operator;

/* The frequencies base^(−2i/r), i < r/2. */
void locus_rotary_frequencies(double base, size_t rotated, size_t pairs, double *theta);

/* On coordinate `first`, and those behind it as far as the rotary has axes. */
locus_status locus_rotary_place(const locus_rotary *rotary, const locus_places *places, size_t first,
                                locus_owned *memory, const locus_operator **placed, locus_error *error);

/* `first` says which tokens there are; `given` outlives the operator. */
locus_status locus_rotary_place_given(const locus_rotary *rotary, const locus_placement *first,
                                      const locus_rotary_given *given, locus_owned *memory,
                                      const locus_operator **placed, locus_error *error);

/* An operator whose angles are still to be made. */
locus_status locus_rotary_begin(const locus_rotary *rotary, const locus_placement *placement, locus_owned *memory,
                                locus_rotary_operator **op, locus_angle_table **angles, locus_error *error);

/* Coarse tables of queries and of keys that grow (rotary_growth.c). POSITION out of range, naming the token. */
locus_status locus_rotary_place_growth(locus_rotary_operator *op, locus_owned *memory, locus_error *error);

/* Its normal form (rotary_normal.c), as a part of the head from dimension `first` on. */
locus_normal_part locus_rotary_normal(const locus_rotary *rotary, size_t first, size_t coordinate);

/* The operator as data (rotary_form.c). */
void locus_rotary_form(const locus_operator *op, locus_form_writer *writer);

/* ---- gradients (rotary_reduce.c) ---- */

/* Two blocks are near if span·|θ_i ∓ θ_j| is below this; then so many moments replace the quotient: the series stops
 * short by (x/2)⁶/7! = 3e-12, and the quotient's cancellation costs a factor 10 of the sums' rounding. */
#define LOCUS_NEAR 0.1
#define LOCUS_NEAR_MOMENTS 3

/* The slot of one head, in doubles: sums, and scratch of reduce. Parts that the rotary does not learn are empty. */
typedef struct locus_rotary_slot {
    double *angles;             /* [axes, pairs]; of given angles [positions, pairs] */
    double *forward, *backward; /* [dim, dim] */
    double *moment[LOCUS_NEAR_MOMENTS];
    double *diagonal; /* [pairs] */
    double *inner, *gradient, *work;
    size_t sums, total; /* doubles: what is summed stands first */
} locus_rotary_slot;
locus_rotary_slot locus_rotary_slot_at(const locus_rotary_operator *op, void *slot);

size_t locus_rotary_slot_bytes(const locus_operator *op);
void locus_rotary_reduce(const locus_operator *op, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                         const locus_tensor *parameters);

/* Finds the near runs of every table. */
locus_status locus_rotary_find_near(locus_rotary_operator *op, locus_owned *memory, locus_error *error);

/* ---- one walk over tokens, written once for both element types (rotary_typed.c) ---- */

#define LOCUS_TURN_ROWS 16         /* tokens whose angles are computed at a time where all heads are turned together */
#define LOCUS_BASE_ROWS 8          /* runs of tokens whose first angles are computed at a time */
#define LOCUS_BASIS_ROWS 64        /* tokens of a block that changes basis */
#define LOCUS_PRODUCT_ELEMENTS 512 /* of a piece of a block that is multiplied at a time */
#define LOCUS_ASK_ROWS 8           /* rows that are asked for between two of those */
#define LOCUS_FLUSH_ROWS 256       /* tokens summed in the data's own type before they are added to doubles */

/* Byte offsets into an operator's scratch. `phase` holds cosines, and sines right behind them; `factor` those of one
 * axis more, `half` those of half angles. */
typedef struct locus_rotary_scratch {
    size_t phase, factor, half, x, g, turned, half_x, half_g, weighted, forward, backward, moments, weights, standing;
} locus_rotary_scratch;

typedef struct locus_rotary_walk {
    const locus_rotary_operator *op;
    const locus_operator_call *call;
    const locus_operator_heads *heads;
    bool queries; /* stands where queries stand */
    locus_rotary_scratch scratch;
    bool acts;                       /* else y = scale·x */
    double sign;                     /* of the positions: R(sign·p) */
    double factor;                   /* of pairs, beside the call's scale */
    const locus_angle_table *angles; /* [axes] */
    bool into, out_of;               /* whether Uᵀ is applied before and U after */
} locus_rotary_walk;

/* Of a walk's heads, some neighbours. */
typedef struct locus_heads_range {
    size_t first, count;
} locus_heads_range;

/* Where the walk's tokens stand on an axis. */
static inline const locus_token_side *locus_rotary_side(const locus_rotary_walk *walk, size_t axis) {
    const locus_placement *placement = &walk->op->placement[axis];
    return walk->queries ? &placement->query : &placement->key;
}

/* Tokens cut into runs on which the last axis rises by one, within a block of 8 positions, or stands still, and all
 * other axes stand still. Real-valued positions have no second level: their runs stand still. */
typedef struct locus_step_runs {
    size_t count, rows;
    size_t first[LOCUS_BASE_ROWS];
    locus_rotation_run run[LOCUS_BASE_ROWS];
} locus_step_runs;
locus_step_runs locus_step_runs_find(const locus_rotary_walk *walk, size_t first, size_t count);

/* ---- runs of tokens at one place (rotary_standing.c) ---- */

bool locus_rotary_may_stand(const locus_rotary *rotary);
size_t locus_rotary_standing_bytes(const locus_rotary *rotary); /* of scratch */

/* How many tokens from number `token` of the call's on stand at one place, at most `most`; 0 if they are too few to be
 * worth while. */
size_t locus_rotary_standing_rows(const locus_rotary_walk *walk, size_t token, size_t most);

/* [dim, dim], in scratch: gx = g·matrix for rows of such tokens. */
const double *locus_rotary_standing_matrix(const locus_rotary_walk *walk, size_t head, size_t token);

/* In scratch, for the caller to fill with Σ g xᵀ [dim, dim] of a run, which standing_add folds into the slot and uses
 * up. */
double *locus_rotary_standing_sum(const locus_rotary_walk *walk);
void locus_rotary_standing_add(const locus_rotary_walk *walk, size_t head, size_t token, const locus_rotary_slot *slot);

/* y from call->x */
void locus_rotary_run_float32(const locus_rotary_walk *walk);
void locus_rotary_run_float64(const locus_rotary_walk *walk);
/* gx (heads->y) from heads->gy, and slots from call->x; the walk describes the forward operator. */
void locus_rotary_learn_float32(const locus_rotary_walk *walk);
void locus_rotary_learn_float64(const locus_rotary_walk *walk);

#endif

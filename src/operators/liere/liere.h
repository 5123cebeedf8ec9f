/* SPDX-License-Identifier: MIT */
/* LieRE's operator on a grid: ⌈p⌉ = exp(Σ_a p_a S_a), S_a = A_a − A_aᵀ free and not commuting (Ostmeier et al. 2024).
 * It is no homomorphism and has no eigenbasis for all positions: each distinct position has a matrix of its own,
 *
 *   M = exp(S(p)) = U R(θ) Uᵀ,   S(p) = Σ_a p_a S_a = U Λ Uᵀ
 *
 * So positions are found once for a plan, queries and keys together, and tokens are grouped by position: every matrix
 * acts on all of its tokens in one product. Matrices are made in double. They are kept in the plan where they take less
 * than a quarter of its workspace, else made again in every call, one for each worker at a time. Backward:
 *
 *   y = M x:   dL/dM = Σ_tokens g xᵀ → dL/dS(p) → dL/dS_a = Σ_p p_a dL/dS(p) → dL/dA_a = G − Gᵀ */
#ifndef LOCUS_LIERE_H
#define LOCUS_LIERE_H

#include "kernels/kernels.h"
#include "spec/class.h"
#include "spec/distinct.h"

/* Bound: read-only, shared by plans. */
typedef struct locus_liere {
    size_t heads, dim, axes;
    size_t tables;      /* heads, or 1: all heads alike */
    unsigned sides;     /* mask: 1 queries are acted on, 2 keys are; values always are */
    const double *skew; /* [tables, axes, dim, dim] S_a */
} locus_liere;

locus_status locus_liere_place(const locus_liere *liere, const locus_places *places, locus_owned *memory,
                               const locus_whole_operator **placed, locus_error *error);

/* ---- rows (liere_typed.c), once for each element type ---- */

#define LOCUS_LIERE_ROWS 64 /* rows of a block */

/* A worker's memory. Of the element type: blocks x, g, y [rows, dim]; tile, matrix, transposed [dim, dim]. */
typedef struct locus_liere_scratch {
    void *x, *g, *y, *tile;
    void *matrix, *transposed; /* M and Mᵀ */
    double *exponential, *basis, *angles, *skew, *gradient, *work;
    size_t bytes;
} locus_liere_scratch;

/* The rows of a stream that one matrix acts on. */
typedef struct locus_liere_rows {
    const locus_whole_stream *stream;
    const locus_token_side *side;
    const uint32_t *tokens;
    size_t count;       /* tokens × heads */
    size_t head, heads; /* the first head, and how many */
    size_t dim;
    bool turns; /* y = M x, else Mᵀ x */
} locus_liere_rows;

/* Of an operator on `heads` heads, what a matrix finds its rows by; matrices are of one head, or tables is 1. */
typedef struct locus_liere_ground {
    const locus_placement *placement;
    const locus_distinct_positions *distinct;
    size_t heads, tables, dim;
} locus_liere_ground;

/* All rows of a stream at one position, of a table's heads. */
locus_liere_rows locus_liere_rows_at(const locus_liere_ground *ground, const locus_whole_stream *stream,
                                     size_t position, size_t table);

/* A worker's memory laid out from `base` on; NULL: `bytes` alone is meant. */
locus_liere_scratch locus_liere_scratch_at(size_t dim, locus_dtype dtype, char *base);

/* M and Mᵀ in the element type. */
void locus_liere_fill_float32(size_t dim, const double *M, const locus_liere_scratch *scratch);
void locus_liere_fill_float64(size_t dim, const double *M, const locus_liere_scratch *scratch);

/* Forward if the stream has no gy. Backward: gx, and unless `gradient` is NULL, gradient [dim, dim] += dL/dM. */
void locus_liere_run_float32(const locus_liere_rows *rows, const locus_liere_scratch *scratch, double *gradient);
void locus_liere_run_float64(const locus_liere_rows *rows, const locus_liere_scratch *scratch, double *gradient);

/* ---- matrices that somebody else says (liere_given.c) ---- */

typedef struct locus_matrices_given {
    size_t heads, tables, dim; /* tables: heads, or 1 */
    const double *matrices;    /* [positions, tables, dim, dim] in the order of the distinct positions */
    /* What the parameters' gradients get from a table's: `upstream` [positions, dim, dim], `work` as many doubles as
     * said. Called for one table after the other. NULL: nothing is learned. */
    void (*learn)(const void *own, size_t table, const double *upstream, double *work, const locus_tensor *parameters);
    const void *own;
    size_t work;
} locus_matrices_given;

/* `given` outlives the operator. */
locus_status locus_matrices_place(const locus_matrices_given *given, const locus_places *places,
                                  const locus_distinct_positions *distinct, locus_owned *memory,
                                  const locus_whole_operator **placed, locus_error *error);

#endif

/* SPDX-License-Identifier: MIT */
/* One execution of locus_apply or its backward, as apply.c hands it to who does it: operate.c for local operators,
 * apply_whole.c for those on whole tensors, apply_embedding.c. */
#ifndef LOCUS_APPLY_JOB_H
#define LOCUS_APPLY_JOB_H

#include "operators/operate.h"
#include "plan/plan_access.h"
#include "spec/wide_rows.h"

typedef struct locus_apply_site {
    locus_role role;
    size_t rank, tokens, heads, dim; /* what a packed tensor must be: 3, or 2 of vectors of the model */
    size_t groups;                   /* of heads that go with one of the operator's: query heads, or 1 */
    const locus_token_side *side;
    const locus_operator *op; /* NULL: nothing turns, or */
    const locus_whole_operator *whole;
    size_t parameters; /* where the operator's own begin */
    bool embeds;
} locus_apply_site;

typedef struct locus_apply_job {
    const locus_plan *plan;
    locus_apply_site site;
    locus_direction direction;
    const locus_tensor *x, *gy, *y; /* y is gx in backward; x may be NULL there */
    locus_dtype dtype;              /* of the tensors */
    const locus_tensor *parameters; /* NULL: no gradient */
    bool learns;                    /* gradients of the operator's parameters */
    char *workspace;
} locus_apply_job;

/* The rows of a tensor of the role's. */
static inline locus_token_rows locus_apply_rows(const locus_apply_site *site, const locus_tensor *tensor) {
    locus_token_rows rows = site->rank == 2 ? locus_token_rows_of_vectors(tensor) : locus_token_rows_of(tensor);
    if (rows.apart)
        locus_token_rows_settle(&rows, site->side);
    return rows;
}

/* The tensors as one stream: x, y in forward; gy, gx (y) and, where there is something to learn, x in backward. */
void locus_apply_stream(const locus_apply_job *job, locus_whole_stream *stream);

/* Bytes of a float32 copy of a tensor of a half type, for what can't be done in blocks (operators on whole tensors,
 * gradients of embeddings); 0 for other types. */
static inline size_t locus_apply_wide_bytes(const locus_apply_site *site, locus_dtype dtype) {
    return locus_dtype_is_half(dtype) ? locus_aligned(site->tokens * site->heads * site->dim * sizeof(float)) : 0;
}

/* Tokens in use, to such a copy, packed, or with `narrow` back. */
static inline void locus_apply_convert(const locus_apply_site *site, const locus_tensor *tensor, float *wide,
                                       bool narrow) {
    const locus_wide_rows rows = {site->side, locus_apply_rows(site, tensor), tensor->dtype, site->heads, site->dim};
    locus_wide_rows_copy_all(&rows, wide, narrow);
}

/* `learns`: backward with gradients of parameters. Sizes depend on the plan, `dtype` and locus_threads() only. */
size_t locus_apply_whole_bytes(const locus_apply_job *job, locus_dtype dtype, bool backward, bool learns);
void locus_apply_whole_run(const locus_apply_job *job);

/* The embedding of a term for this role, or NULL. */
const locus_embedding *locus_apply_embedding(const locus_plan *plan, size_t term, locus_role role);
size_t locus_apply_embedding_bytes(const locus_apply_job *job, locus_dtype dtype, bool learns);
void locus_apply_embedding_run(const locus_apply_job *job);
/* Before gx is written, which may be gy. */
void locus_apply_embedding_gradients(const locus_apply_job *job);

#endif

/* SPDX-License-Identifier: MIT */
/* Float32 copies of tensors of half types, for what can't be done in blocks: operators on whole tensors, and gradients
 * of embeddings. */
#include "kernels/half_rows.h"
#include "plan/apply_job.h"

#include <locus/parallel.h>

#define PIECE_TOKENS 256

typedef struct locus_wide_copy {
    const locus_apply_site *site;
    locus_token_rows tensor;
    locus_half_rows rows;
    const float *from; /* NULL: the tensor is read */
    float *to;
} locus_wide_copy;

static void copy_tokens(void *context, size_t first, size_t count) {
    const locus_wide_copy *copy = context;
    const locus_token_side *side = copy->site->side;
    for (size_t t = first, end; t < first + count; t = end) { /* as many as lie together */
        end = copy->tensor.apart ? locus_token_side_find(side, t).end : first + count;
        end = end < first + count ? end : first + count;
        const size_t at = t * copy->rows.heads * copy->rows.dim;
        uint16_t *half = (uint16_t *)copy->tensor.data + locus_token_rows_at(&copy->tensor, side, t);
        if (copy->from)
            locus_half_rows_narrow(&copy->rows, end - t, copy->from + at, half);
        else
            locus_half_rows_widen(&copy->rows, end - t, half, copy->to + at);
    }
}

static void copy_piece(void *context, size_t index, size_t worker) {
    const locus_wide_copy *copy = context;
    const locus_token_side *side = copy->site->side;
    const size_t begin = index * PIECE_TOKENS, left = side->used - begin;
    (void)worker;
    locus_token_side_walk(side, begin, begin + (left < PIECE_TOKENS ? left : PIECE_TOKENS), copy_tokens, context);
}

static void run(locus_wide_copy *copy, const locus_tensor *tensor) {
    copy->tensor = locus_apply_rows(copy->site, tensor);
    copy->rows =
        (locus_half_rows){tensor->dtype, copy->site->heads, copy->site->dim, copy->tensor.token, copy->tensor.head};
    locus_parallel_for((copy->site->side->used + PIECE_TOKENS - 1) / PIECE_TOKENS, copy_piece, copy);
}

size_t locus_apply_wide_bytes(const locus_apply_site *site, locus_dtype dtype) {
    return locus_dtype_is_half(dtype) ? locus_aligned(site->tokens * site->heads * site->dim * sizeof(float)) : 0;
}

void locus_apply_widen(const locus_apply_site *site, const locus_tensor *from, float *to) {
    locus_wide_copy copy = {.site = site, .to = to};
    run(&copy, from);
}

void locus_apply_narrow(const locus_apply_site *site, const float *from, const locus_tensor *to) {
    locus_wide_copy copy = {.site = site, .from = from};
    run(&copy, to);
}

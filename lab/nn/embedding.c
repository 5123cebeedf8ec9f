/* SPDX-License-Identifier: MIT */
/* Gather and scatter-add of embedding rows. Tokens are checked by the caller. */
#include "nn/embedding.h"
#include "nn/clones.h"
#include <locus/parallel.h>

enum { COLUMNS = 32 }; /* of one piece of the backward: two cache lines of each row */

LAB_CLONES static void row_scale(size_t count, float scale, const float *restrict x, float *restrict y) {
    for (size_t j = 0; j < count; ++j)
        y[j] = scale * x[j];
}

void lab_embedding_forward(lab_rows rows, size_t dim, const int32_t *tokens, const float *table, float scale,
                           float *x) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r)
        row_scale(dim, scale, table + (size_t)tokens[r] * dim, x + r * dim);
}

typedef struct scatter {
    size_t count, dim;
    const int32_t *tokens;
    const float *gx;
    float scale, *gradient;
} scatter;

LAB_CLONES static void scatter_columns(const scatter *s, size_t first, size_t columns) {
    for (size_t t = 0; t < s->count; ++t) {
        const float *restrict from = s->gx + t * s->dim + first;
        float *restrict to = s->gradient + (size_t)s->tokens[t] * s->dim + first;
        for (size_t j = 0; j < columns; ++j)
            to[j] += s->scale * from[j];
    }
}

static void scatter_task(void *context, size_t index, size_t worker) {
    (void)worker;
    const scatter *s = context;
    size_t first = index * COLUMNS;
    scatter_columns(s, first, s->dim - first < COLUMNS ? s->dim - first : COLUMNS);
}

void lab_embedding_backward(size_t count, size_t dim, const int32_t *tokens, const float *gx, float scale,
                            float *gradient) {
    scatter s = {count, dim, tokens, gx, scale, gradient};
    locus_parallel_for((dim + COLUMNS - 1) / COLUMNS, scatter_task, &s);
}

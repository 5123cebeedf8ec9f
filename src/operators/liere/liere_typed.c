/* SPDX-License-Identifier: MIT */
/* The rows of liere.h in one element type (kernels/real.h). Rows are gathered into blocks, multiplied,
 * and scattered: row number r is token r / heads, head r % heads. */
#include "kernels/real.h"
#include "operators/liere/liere.h"

#include <string.h>

static real *row_at(const locus_liere_rows *rows, const locus_token_rows *tensor, size_t index) {
    return (real *)tensor->data + locus_token_rows_at(tensor, rows->side, rows->tokens[index / rows->heads]) +
           (ptrdiff_t)(rows->head + index % rows->heads) * tensor->head;
}

static void gather(const locus_liere_rows *rows, const locus_token_rows *from, size_t first, size_t count,
                   real *block) {
    for (size_t i = 0; i < count; i++)
        memcpy(block + i * rows->dim, row_at(rows, from, first + i), rows->dim * sizeof(real));
}

static void scatter(const locus_liere_rows *rows, const real *block, size_t first, size_t count,
                    const locus_token_rows *to) {
    for (size_t i = 0; i < count; i++)
        memcpy(row_at(rows, to, first + i), block + i * rows->dim, rows->dim * sizeof(real));
}

void REAL_NAME(locus_liere_fill)(size_t dim, const double *M, const locus_liere_scratch *scratch) {
    real *matrix = scratch->matrix;
    for (size_t i = 0; i < dim * dim; i++)
        matrix[i] = (real)M[i];
    KERNELS_GET()->transpose(dim, dim, matrix, (ptrdiff_t)dim, scratch->transposed, (ptrdiff_t)dim);
}

/* y = M x: dM += g xᵀ. y = Mᵀ x: dM += x gᵀ. */
static void add_gradient(const locus_liere_rows *rows, const locus_liere_scratch *scratch, size_t count,
                         double *gradient) {
    const real *left = rows->turns ? scratch->g : scratch->x, *right = rows->turns ? scratch->x : scratch->g;
    const real *tile = scratch->tile;
    const ptrdiff_t ld = (ptrdiff_t)rows->dim;
    KERNELS_GET()->gemm(rows->dim, rows->dim, count, left, 1, ld, right, ld, scratch->tile, ld, false);
    for (size_t i = 0; i < rows->dim * rows->dim; i++)
        gradient[i] += (double)tile[i];
}

/* Rows of a block are multiplied from the right: x Mᵀ is M x. */
void REAL_NAME(locus_liere_run)(const locus_liere_rows *rows, const locus_liere_scratch *scratch, double *gradient) {
    const locus_whole_stream *stream = rows->stream;
    const bool back = stream->gy.data != NULL;
    const real *right = rows->turns != back ? scratch->transposed : scratch->matrix;
    const ptrdiff_t ld = (ptrdiff_t)rows->dim;
    for (size_t first = 0; first < rows->count; first += LOCUS_LIERE_ROWS) {
        const size_t left = rows->count - first, count = left < LOCUS_LIERE_ROWS ? left : LOCUS_LIERE_ROWS;
        if (back)
            gather(rows, &stream->gy, first, count, scratch->g);
        if (!back || gradient)
            gather(rows, &stream->x, first, count, scratch->x);
        if (gradient)
            add_gradient(rows, scratch, count, gradient);
        KERNELS_GET()->gemm(count, rows->dim, rows->dim, back ? scratch->g : scratch->x, ld, 1, right, ld, scratch->y,
                            ld, false);
        scatter(rows, scratch->y, first, count, &stream->y);
    }
}

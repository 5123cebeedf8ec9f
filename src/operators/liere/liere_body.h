/* SPDX-License-Identifier: MIT */
/* The rows of liere.h for one element type. The including file defines REAL and WIDTH (float32 or float64). Rows are
 * gathered into blocks, multiplied, and scattered: row number r is token r / heads, head r % heads. */
#include "operators/liere/liere.h"

#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define T(name) JOIN(name##_, WIDTH)
#define KERNELS() JOIN(locus_kernels_, JOIN(WIDTH, _get))()

static REAL *T(row_at)(const locus_liere_rows *rows, const locus_token_rows *tensor, size_t index) {
    return (REAL *)tensor->data + locus_token_rows_at(tensor, rows->side, rows->tokens[index / rows->heads]) +
           (ptrdiff_t)(rows->head + index % rows->heads) * tensor->head;
}

static void T(gather)(const locus_liere_rows *rows, const locus_token_rows *from, size_t first, size_t count,
                      REAL *block) {
    for (size_t i = 0; i < count; i++)
        memcpy(block + i * rows->dim, T(row_at)(rows, from, first + i), rows->dim * sizeof(REAL));
}

static void T(scatter)(const locus_liere_rows *rows, const REAL *block, size_t first, size_t count,
                       const locus_token_rows *to) {
    for (size_t i = 0; i < count; i++)
        memcpy(T(row_at)(rows, to, first + i), block + i * rows->dim, rows->dim * sizeof(REAL));
}

void JOIN(locus_liere_fill_, WIDTH)(size_t dim, const double *M, const locus_liere_scratch *scratch) {
    REAL *matrix = scratch->matrix;
    for (size_t i = 0; i < dim * dim; i++)
        matrix[i] = (REAL)M[i];
    KERNELS()->transpose(dim, dim, matrix, (ptrdiff_t)dim, scratch->transposed, (ptrdiff_t)dim);
}

/* y = M x: dM += g xᵀ. y = Mᵀ x: dM += x gᵀ. */
static void T(add_gradient)(const locus_liere_rows *rows, const locus_liere_scratch *scratch, size_t count,
                            double *gradient) {
    const REAL *left = rows->turns ? scratch->g : scratch->x, *right = rows->turns ? scratch->x : scratch->g;
    const REAL *tile = scratch->tile;
    const ptrdiff_t ld = (ptrdiff_t)rows->dim;
    KERNELS()->gemm(rows->dim, rows->dim, count, left, 1, ld, right, ld, scratch->tile, ld, false);
    for (size_t i = 0; i < rows->dim * rows->dim; i++)
        gradient[i] += (double)tile[i];
}

/* Rows of a block are multiplied from the right: x Mᵀ is M x. */
void JOIN(locus_liere_run_, WIDTH)(const locus_liere_rows *rows, const locus_liere_scratch *scratch, double *gradient) {
    const locus_whole_stream *stream = rows->stream;
    const bool back = stream->gy.data != NULL;
    const REAL *right = rows->turns != back ? scratch->transposed : scratch->matrix;
    const ptrdiff_t ld = (ptrdiff_t)rows->dim;
    for (size_t first = 0; first < rows->count; first += LOCUS_LIERE_ROWS) {
        const size_t left = rows->count - first, count = left < LOCUS_LIERE_ROWS ? left : LOCUS_LIERE_ROWS;
        if (back)
            T(gather)(rows, &stream->gy, first, count, scratch->g);
        if (!back || gradient)
            T(gather)(rows, &stream->x, first, count, scratch->x);
        if (gradient)
            T(add_gradient)(rows, scratch, count, gradient);
        KERNELS()->gemm(count, rows->dim, rows->dim, back ? scratch->g : scratch->x, ld, 1, right, ld, scratch->y, ld,
                        false);
        T(scatter)(rows, scratch->y, first, count, &stream->y);
    }
}

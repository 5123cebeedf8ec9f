/* SPDX-License-Identifier: MIT */
/* Tokens are the rows of every activation. A layer's functions work on a range of rows, alone, without threads: the
 * model cuts a batch into chunks by its shape only and runs whole chains of layers on each chunk while it is in the
 * cache. What chunks have in common (sums over tokens) goes into partial rows, one for each chunk, which are folded
 * in order, in double: so results don't depend on the number of threads. */
#ifndef LAB_ROWS_H
#define LAB_ROWS_H

#include "nn/numbers.h"

typedef struct lab_rows {
    size_t first, count;
} lab_rows;

/* Number of chunks that `rows` rows are cut into: some 400 rows each at most, at least 8 chunks if there are 16 rows
 * for each. */
size_t lab_chunk_count(size_t rows);
lab_rows lab_chunk_at(size_t rows, size_t chunk);

/* sum[j] += row[j] */
void lab_row_add(size_t columns, const float *row, float *sum);
/* sum[j] += Σ_r x[r, j] over the range, x [rows, columns]. */
void lab_column_sum(lab_rows rows, size_t columns, lab_numbers x, float *sum);

/* target[j] = Σ_chunk partial[chunk, j], in double. */
void lab_column_fold(size_t chunks, size_t columns, const float *partials, size_t stride, float *target);

#endif

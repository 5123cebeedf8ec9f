/* SPDX-License-Identifier: MIT */
/* Chunks of tokens, and sums over tokens by chunk: float within a chunk (some 400 rows), double across chunks. */
#include "nn/rows.h"
#include "nn/clones.h"

enum { CHUNK_ROWS = 416, CHUNK_LEAST = 16, CHUNK_WANTED = 8, CHUNK_ROUND = 8 };

/* Chunks of full size are counted in fours, so that few threads end together. Larger ones would pack the weights less
 * often (800 rows: 4 % faster steps on two cores) but leave less to share out. */
size_t lab_chunk_count(size_t rows) {
    size_t full = (rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
    if (full > CHUNK_WANTED)
        return (full + 3) / 4 * 4;
    size_t small = (rows + CHUNK_LEAST - 1) / CHUNK_LEAST;
    return small < CHUNK_WANTED ? small : CHUNK_WANTED;
}

/* Sizes differ by at most CHUNK_ROUND rows: matrix kernels like multiples of 8. */
lab_rows lab_chunk_at(size_t rows, size_t chunk) {
    size_t chunks = lab_chunk_count(rows);
    size_t blocks = (rows + CHUNK_ROUND - 1) / CHUNK_ROUND;
    size_t first = blocks * chunk / chunks * CHUNK_ROUND;
    size_t end = blocks * (chunk + 1) / chunks * CHUNK_ROUND;
    if (end > rows)
        end = rows;
    return (lab_rows){first, end - first};
}

LAB_CLONES static void row_add(size_t columns, const float *restrict row, float *restrict sum) {
    for (size_t j = 0; j < columns; ++j)
        sum[j] += row[j];
}

void lab_row_add(size_t columns, const float *row, float *sum) {
    row_add(columns, row, sum);
}

LAB_CLONES static void row_add_halves(size_t columns, const uint16_t *restrict row, float *restrict sum) {
    for (size_t j = 0; j < columns; ++j)
        sum[j] += lab_widened(row[j]);
}

void lab_column_sum(lab_rows rows, size_t columns, lab_numbers x, float *sum) {
    for (size_t r = rows.first; r < rows.first + rows.count; ++r) {
        const void *row = lab_numbers_from(x, r * columns).data;
        if (x.half)
            row_add_halves(columns, row, sum);
        else
            row_add(columns, row, sum);
    }
}

void lab_column_fold(size_t chunks, size_t columns, const float *partials, size_t stride, float *target) {
    enum { BLOCK = 64 };
    for (size_t first = 0; first < columns; first += BLOCK) {
        size_t count = columns - first < BLOCK ? columns - first : BLOCK;
        double total[BLOCK] = {0};
        for (size_t chunk = 0; chunk < chunks; ++chunk) {
            const float *partial = partials + chunk * stride + first;
            for (size_t j = 0; j < count; ++j)
                total[j] += (double)partial[j];
        }
        for (size_t j = 0; j < count; ++j)
            target[first + j] = (float)total[j];
    }
}

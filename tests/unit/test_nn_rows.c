/* SPDX-License-Identifier: MIT */
/* Chunks of tokens cover a batch exactly once; sums over tokens; embedding rows; the random bits of dropout. */
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/rows.h"
#include <locus/locus.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void chunks_cover_rows_once(void **state) {
    (void)state;
    assert_int_equal(lab_chunk_count(0), 0);
    for (size_t rows = 1; rows < 9000; rows += rows < 300 ? 1 : 97) {
        size_t next = 0, chunks = lab_chunk_count(rows);
        assert_true(chunks >= 1);
        for (size_t chunk = 0; chunk < chunks; ++chunk) {
            lab_rows part = lab_chunk_at(rows, chunk);
            assert_int_equal(part.first, next);
            assert_true(part.count > 0 && part.count <= 424);
            next += part.count;
        }
        assert_int_equal(next, rows);
    }
}

static void column_sums_fold_to_the_whole(void **state) {
    (void)state;
    enum { ROWS = 700, COLUMNS = 75 };
    static float x[ROWS * COLUMNS], partials[64 * COLUMNS], sum[COLUMNS];
    locus_random random = {3, LOCUS_RANDOM_USER, 0};
    for (size_t i = 0; i < ROWS * COLUMNS; ++i)
        x[i] = (float)locus_random_normal(&random, i);
    size_t chunks = lab_chunk_count(ROWS);
    assert_true(chunks <= 64);
    for (size_t chunk = 0; chunk < chunks; ++chunk)
        lab_column_sum(lab_chunk_at(ROWS, chunk), COLUMNS, lab_floats(x), partials + chunk * COLUMNS);
    lab_column_fold(chunks, COLUMNS, partials, COLUMNS, sum);
    for (size_t j = 0; j < COLUMNS; ++j) {
        double wanted = 0.0;
        for (size_t r = 0; r < ROWS; ++r)
            wanted += (double)x[r * COLUMNS + j];
        assert_true(fabs((double)sum[j] - wanted) < 1e-4);
    }
}

static void embedding_gathers_and_scatters(void **state) {
    (void)state;
    enum { TOKENS = 90, DIM = 70, SYMBOLS = 5 };
    static float table[SYMBOLS * DIM], x[TOKENS * DIM], gradient[SYMBOLS * DIM];
    int32_t tokens[TOKENS];
    for (size_t i = 0; i < SYMBOLS * DIM; ++i) {
        table[i] = (float)i;
        gradient[i] = 1.0f;
    }
    for (size_t t = 0; t < TOKENS; ++t)
        tokens[t] = (int32_t)(t * t % SYMBOLS);
    lab_embedding_forward((lab_rows){10, 50}, DIM, tokens, table, 0.5f, x);
    for (size_t t = 0; t < TOKENS; ++t) {
        for (size_t j = 0; j < DIM; ++j) {
            bool inside = t >= 10 && t < 60;
            assert_true(x[t * DIM + j] == (inside ? 0.5f * table[(size_t)tokens[t] * DIM + j] : 0.0f));
        }
    }
    for (size_t i = 0; i < TOKENS * DIM; ++i)
        x[i] = (float)(i % 7);
    lab_embedding_backward(TOKENS, DIM, tokens, x, 2.0f, gradient);
    for (size_t s = 0; s < SYMBOLS; ++s) {
        for (size_t j = 0; j < DIM; ++j) {
            float wanted = 1.0f;
            for (size_t t = 0; t < TOKENS; ++t)
                if ((size_t)tokens[t] == s)
                    wanted += 2.0f * x[t * DIM + j];
            assert_true(gradient[s * DIM + j] == wanted); /* small integers: exact */
        }
    }
}

/* The words of a row are those of the header's formula, at whatever column a draw begins. */
static void dropout_draws_the_documented_words(void **state) {
    (void)state;
    enum { COLUMNS = 2100 };
    lab_dropout dropout = lab_dropout_make(0.1, (locus_random){11, LOCUS_RANDOM_USER + 4, 6});
    assert_int_equal(dropout.threshold, 6554);
    assert_true(fabs((double)dropout.scale - 65536.0 / (65536.0 - 6554.0)) < 1e-6);
    assert_int_equal(lab_dropout_make(0.0, dropout.key).threshold, 0);
    for (size_t first = 0; first < COLUMNS; first += LAB_DROPOUT_RUN) {
        size_t count = COLUMNS - first < LAB_DROPOUT_RUN ? COLUMNS - first : LAB_DROPOUT_RUN;
        lab_dropout_bits bits;
        lab_dropout_draw(&dropout, 3, COLUMNS, first, count, &bits);
        for (size_t j = 0; j < count; ++j) {
            uint32_t words[4];
            size_t column = first + j;
            locus_random_block(&dropout.key, 3 * ((COLUMNS + 7) / 8) + column / 8, words);
            uint32_t wanted = words[column % 8 / 2] >> (column % 2 * 16) & 0xffffu;
            assert_int_equal(bits.halves[j], wanted);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_cover_rows_once),
        cmocka_unit_test(column_sums_fold_to_the_whole),
        cmocka_unit_test(embedding_gathers_and_scatters),
        cmocka_unit_test(dropout_draws_the_documented_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Matrix products against plain loops in double: every transposition, strides with gaps, keeping, tiles, depth 0,
 * threads. */
#include "nn/gemm.h"
#include "threads_only.h"
#include <locus/locus.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void fill(float *x, size_t count, uint32_t purpose) {
    locus_random random = {7, LOCUS_RANDOM_USER + purpose, 0};
    for (size_t i = 0; i < count; ++i)
        x[i] = (float)(2.0 * locus_random_uniform(&random, i) - 1.0);
}

typedef struct operands {
    lab_product product;
    float *left, *right, *result, *before;
    size_t result_count;
} operands;

/* `gap` further numbers after each row of every matrix. */
static operands operands_make(size_t rows, size_t columns, size_t depth, unsigned flags, size_t gap) {
    bool lt = flags & 1, rt = flags & 2;
    size_t left_rows = lt ? depth : rows, left_stride = (lt ? rows : depth) + gap;
    size_t right_rows = rt ? columns : depth, right_stride = (rt ? depth : columns) + gap;
    operands o = {.result_count = rows * (columns + gap)};
    o.left = malloc((left_rows * left_stride + 1) * sizeof(float));
    o.right = malloc((right_rows * right_stride + 1) * sizeof(float));
    o.result = malloc(o.result_count * sizeof(float));
    o.before = malloc(o.result_count * sizeof(float));
    fill(o.left, left_rows * left_stride, 1);
    fill(o.right, right_rows * right_stride, 2);
    fill(o.result, o.result_count, 3);
    memcpy(o.before, o.result, o.result_count * sizeof(float));
    o.product = (lab_product){.rows = rows,
                              .columns = columns,
                              .depth = depth,
                              .left = o.left,
                              .right = o.right,
                              .result = o.result,
                              .left_stride = left_stride,
                              .right_stride = right_stride,
                              .result_stride = columns + gap,
                              .left_transposed = lt,
                              .right_transposed = rt,
                              .keep = (flags & 4) != 0};
    return o;
}

static void operands_free(operands *o) {
    free(o->left);
    free(o->right);
    free(o->result);
    free(o->before);
}

static double element(const lab_product *p, size_t i, size_t j) {
    double sum = 0.0;
    for (size_t k = 0; k < p->depth; ++k) {
        float a = p->left_transposed ? p->left[k * p->left_stride + i] : p->left[i * p->left_stride + k];
        float b = p->right_transposed ? p->right[j * p->right_stride + k] : p->right[k * p->right_stride + j];
        sum += (double)a * (double)b;
    }
    return sum;
}

static void check(const operands *o) {
    const lab_product *p = &o->product;
    double tolerance = 1e-6 * (sqrt((double)p->depth) + 2.0);
    for (size_t i = 0; i < p->rows; ++i) {
        for (size_t j = 0; j < p->result_stride; ++j) {
            size_t at = i * p->result_stride + j;
            if (j >= p->columns) {
                assert_true(o->result[at] == o->before[at]); /* gaps stay */
                continue;
            }
            double wanted = element(p, i, j) + (p->keep ? (double)o->before[at] : 0.0);
            assert_true(fabs((double)o->result[at] - wanted) <= tolerance);
        }
    }
}

static void products_match_plain_loops(void **state) {
    (void)state;
    static const size_t sizes[][3] = {{1, 1, 1}, {3, 5, 7}, {17, 16, 33}, {64, 22, 48}, {40, 96, 0}, {130, 70, 200}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        for (unsigned flags = 0; flags < 8; ++flags) {
            for (size_t gap = 0; gap < 6; gap += 5) {
                operands o = operands_make(sizes[s][0], sizes[s][1], sizes[s][2], flags, gap);
                lab_product_run(&o.product);
                check(&o);
                operands_free(&o);
            }
        }
    }
}

/* More than one tile in both directions, one row and column more than tiles have, several products in one loop, and the
 * same bits with one thread and with three. */
static void parallel_products_are_exact_in_tiles(void **state) {
    (void)state;
    enum { COUNT = 6 };
    static const size_t sizes[COUNT][3] = {{300, 530, 37}, {5, 1030, 64}, {257, 3, 90},
                                           {65, 513, 3},   {385, 1, 4},   {128, 512, 2}};
    operands list[2][COUNT];
    for (size_t run = 0; run < 2; ++run) {
        lab_product products[COUNT];
        assert_int_equal(locus_threads_set(run == 0 ? 1 : 3), LOCUS_OK);
        for (size_t i = 0; i < COUNT; ++i) {
            list[run][i] = operands_make(sizes[i][0], sizes[i][1], sizes[i][2], (unsigned)i + 1, 3);
            products[i] = list[run][i].product;
        }
        lab_products_parallel(products, COUNT);
    }
    for (size_t i = 0; i < COUNT; ++i) {
        check(&list[0][i]);
        assert_memory_equal(list[0][i].result, list[1][i].result, list[0][i].result_count * sizeof(float));
        operands_free(&list[0][i]);
        operands_free(&list[1][i]);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

static void empty_results_are_left_alone(void **state) {
    (void)state;
    lab_product none = {.rows = 0, .columns = 4, .depth = 4};
    lab_product_run(&none);
    lab_products_parallel(&none, 1);
    lab_products_parallel(NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_match_plain_loops),
        cmocka_unit_test(parallel_products_are_exact_in_tiles),
        cmocka_unit_test(empty_results_are_left_alone),
    };
    threads_only("parallel_products*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

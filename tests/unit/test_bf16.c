/* SPDX-License-Identifier: MIT */
/* bfloat16 operands and products of them, against the public conversion and against sums in double, on the processor's
 * own units and, in a process of its own, without them.
 *
 * A product of rounded operands differs from the exact one by what float32 loses in adding `depth` terms, in whatever
 * order: at most depth · 2⁻²⁴ Σ|a b|, and a result that is kept rounds once more. Rounding an operand moves it by at
 * most 2⁻⁸ of itself (8 bits of significand, to nearest): two of them move Σ a b by at most (2⁻⁷ + 2⁻¹⁶) Σ|a b|. */
#include "nn/bf16_primitive.h"
#include "nn/linear.h"
#include "sanitized.h"
#include "threads_only.h"
#include "unit/child_exit.h"

#include <dnnl.h>
#include <locus/locus.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

static void fill(float *x, size_t count, uint32_t purpose) {
    const locus_random random = {7, LOCUS_RANDOM_USER + purpose, 0};
    for (size_t i = 0; i < count; ++i)
        x[i] = (float)(2.0 * locus_random_uniform(&random, i) - 1.0);
}

/* By the library: to bfloat16 and back. */
static float *rounded_all(const float *x, size_t count) {
    const int64_t shape[] = {(int64_t)count};
    uint16_t *halves = malloc((count + 1) * sizeof *halves);
    float *copy = malloc((count + 1) * sizeof *copy);
    assert_true(halves && copy);
    memcpy(copy, x, count * sizeof *copy);
    const locus_tensor floats = locus_tensor_view(copy, LOCUS_FLOAT32, 1, shape);
    const locus_tensor middle = locus_tensor_view(halves, LOCUS_BFLOAT16, 1, shape);
    if (count > 0) {
        assert_int_equal(locus_tensor_convert(&floats, &middle, NULL), LOCUS_OK);
        assert_int_equal(locus_tensor_convert(&middle, &floats, NULL), LOCUS_OK);
    }
    free(halves);
    return copy;
}

/* ---- operands ---- */

static void test_rounding(void **state) {
    (void)state;
    static const uint32_t bits[] = {0,          0x80000000, 1,          0x00007fff, 0x00008000, 0x00008001, 0x00018000,
                                    0x3f800000, 0x3f807fff, 0x3f808000, 0x3f808001, 0x3f818000, 0x3fffffff, 0x7f7fffff,
                                    0x7f7f7fff, 0x7f7f8000, 0x7f800000, 0xff800000, 0xbf818000, 0x00800000};
    enum { COUNT = sizeof bits / sizeof *bits, DEPTH = 32 };
    float values[COUNT], back[DEPTH];
    uint16_t halves[DEPTH];
    memcpy(values, bits, sizeof values);
    const lab_bf16_source source = {lab_floats(values), COUNT, false};
    lab_bf16_pack_left(&source, 0, 1, COUNT, DEPTH, halves);
    lab_bf16_unpack_left(halves, DEPTH, back);
    float *wanted = rounded_all(values, COUNT);
    assert_memory_equal(back, wanted, sizeof values);
    free(wanted);
    for (size_t i = COUNT; i < DEPTH; ++i)
        assert_int_equal(halves[i], 0);
    const uint32_t nothing[] = {0x7f800001, 0xffffffff, 0x7fc00000, 0x7fffffff};
    float not_a_number[4];
    memcpy(not_a_number, nothing, sizeof nothing);
    const lab_bf16_source others = {lab_floats(not_a_number), 4, false};
    lab_bf16_pack_left(&others, 0, 1, 4, DEPTH, halves);
    lab_bf16_unpack_left(halves, DEPTH, back);
    for (size_t i = 0; i < 4; ++i)
        assert_true(isnan(back[i]));
}

/* Both ways to store an operand give the same words; what is beyond is 0, and the way back is one. */
static void check_layout(size_t outer, size_t depth) {
    const size_t depth_to = lab_bf16_round(depth, LAB_BF16_DEPTH), wide = lab_bf16_round(outer, LAB_BF16_COLUMNS);
    float *x = malloc(outer * depth * sizeof *x), *turned = malloc(outer * depth * sizeof *x);
    float *back = malloc(wide * depth_to * sizeof *back);
    uint16_t *a = malloc(wide * depth_to * sizeof *a), *b = malloc(wide * depth_to * sizeof *b);
    assert_true(x && turned && back && a && b);
    fill(x, outer * depth, 1);
    for (size_t o = 0; o < outer; ++o)
        for (size_t k = 0; k < depth; ++k)
            turned[k * outer + o] = x[o * depth + k];
    const lab_bf16_source plain = {lab_floats(x), depth, false}, other = {lab_floats(turned), outer, true};
    lab_bf16_pack_left(&plain, 0, outer, depth, depth_to, a);
    lab_bf16_pack_left(&other, 0, outer, depth, depth_to, b);
    assert_memory_equal(a, b, outer * depth_to * sizeof *a);
    const lab_bf16_source right = {lab_floats(turned), outer, false}, right_turned = {lab_floats(x), depth, true};
    for (size_t c = 0; c < outer; c += LAB_BF16_COLUMNS) {
        lab_bf16_pack_right(&right, c, outer, depth, depth_to, a + c * depth_to);
        lab_bf16_pack_right(&right_turned, c, outer, depth, depth_to, b + c * depth_to);
    }
    assert_memory_equal(a, b, wide * depth_to * sizeof *a);
    lab_bf16_unpack_right(a, depth_to, wide, back);
    float *wanted = rounded_all(turned, outer * depth);
    for (size_t k = 0; k < depth_to; ++k)
        for (size_t o = 0; o < wide; ++o) {
            const float here = k < depth && o < outer ? wanted[k * outer + o] : 0.0f;
            assert_memory_equal(&back[k * wide + o], &here, sizeof here);
        }
    free(wanted);
    free(x), free(turned), free(back), free(a), free(b);
}

static void test_layout(void **state) {
    (void)state;
    static const size_t outers[] = {1, 15, 16, 63, 64, 65, 200}, depths[] = {1, 2, 31, 32, 33, 100};
    for (size_t i = 0; i < sizeof outers / sizeof *outers; ++i)
        for (size_t j = 0; j < sizeof depths / sizeof *depths; ++j)
            check_layout(outers[i], depths[j]);
}

/* ---- products ---- */

typedef struct operands {
    lab_product product;
    float *left, *right, *result, *before;
    float *left_rounded, *right_rounded;
    size_t result_count;
} operands;

/* `gap` further numbers after each row of every matrix. flags: left and right transposed, keep. */
static operands operands_make(size_t rows, size_t columns, size_t depth, unsigned flags, size_t gap) {
    const bool lt = flags & 1, rt = flags & 2;
    const size_t left_rows = lt ? depth : rows, left_stride = (lt ? rows : depth) + gap;
    const size_t right_rows = rt ? columns : depth, right_stride = (rt ? depth : columns) + gap;
    operands o = {.result_count = rows * (columns + gap)};
    o.left = malloc((left_rows * left_stride + 1) * sizeof(float));
    o.right = malloc((right_rows * right_stride + 1) * sizeof(float));
    o.result = malloc((o.result_count + 1) * sizeof(float));
    o.before = malloc((o.result_count + 1) * sizeof(float));
    assert_true(o.left && o.right && o.result && o.before);
    fill(o.left, left_rows * left_stride, 1);
    fill(o.right, right_rows * right_stride, 2);
    fill(o.result, o.result_count, 3);
    o.left_rounded = rounded_all(o.left, left_rows * left_stride);
    o.right_rounded = rounded_all(o.right, right_rows * right_stride);
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
                              .keep = (flags & 4) != 0,
                              .bf16 = true};
    return o;
}

static void operands_free(operands *o) {
    free(o->left), free(o->right), free(o->result), free(o->before), free(o->left_rounded), free(o->right_rounded);
}

/* Some 300 places of a result, or all of them. */
static void check_result(const operands *o) {
    const lab_product *p = &o->product;
    const size_t count = p->rows * p->columns, step = count / 300 + 1;
    for (size_t at = 0; at < count; at += step) {
        const size_t i = at / p->columns, j = at % p->columns, place = i * p->result_stride + j;
        double sum = 0.0, whole = 0.0, size = 0.0, kept = p->keep ? (double)o->before[place] : 0.0;
        for (size_t k = 0; k < p->depth; ++k) {
            const size_t a = p->left_transposed ? k * p->left_stride + i : i * p->left_stride + k;
            const size_t b = p->right_transposed ? j * p->right_stride + k : k * p->right_stride + j;
            const double term = (double)p->left[a] * (double)p->right[b];
            sum += (double)o->left_rounded[a] * (double)o->right_rounded[b];
            whole += term;
            size += fabs(term);
        }
        const double got = (double)o->result[place], slabs = (double)(p->depth / 2048 + 1);
        const double lost = 0x1p-24 * ((double)p->depth * (1.0 + 0x1p-6) * size + (slabs + 1.0) * (fabs(kept) + size));
        if (!(fabs(got - sum - kept) <= lost))
            fail_msg("%zu × %zu × %zu, (%zu, %zu): %.9g, not %.9g ± %.2g", p->rows, p->columns, p->depth, i, j, got,
                     sum + kept, lost);
        assert_true(fabs(got - whole - kept) <= lost + (0x1p-7 + 0x1p-16) * size);
    }
    for (size_t i = 0; i < p->rows; ++i) /* what lies between rows is nobody's */
        assert_memory_equal(o->result + i * p->result_stride + p->columns,
                            o->before + i * p->result_stride + p->columns,
                            (p->result_stride - p->columns) * sizeof(float));
}

static void check_parallel(size_t rows, size_t columns, size_t depth, unsigned flags, size_t gap) {
    operands o = operands_make(rows, columns, depth, flags, gap);
    lab_weight_gradients(&o.product, 1);
    assert_false(lab_products_lost());
    check_result(&o);
    operands_free(&o);
}

static void test_products(void **state) {
    (void)state;
    static const size_t shapes[][3] = {{1, 1, 1},     {3, 5, 7},      {16, 64, 32},   {17, 65, 33},
                                       {130, 22, 64}, {64, 520, 100}, {100, 48, 300}, {33, 70, 2300}};
    size_t number = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (unsigned flags = 0; flags < 8; ++flags)
            for (size_t gap = 0; gap < 8; gap += 5)
                if (!left_out(number++, 3))
                    check_parallel(shapes[s][0], shapes[s][1], shapes[s][2], flags, gap);
    check_parallel(5, 6, 0, 0, 1);
    check_parallel(5, 6, 0, 4, 1);
    lab_weight_gradients(NULL, 0);
}

/* Several at once, of which some end before others. */
static void test_list(void **state) {
    (void)state;
    enum { COUNT = 4 };
    static const size_t depths[COUNT] = {70, 2100, 0, 2048};
    operands o[COUNT];
    lab_product products[COUNT];
    for (size_t i = 0; i < COUNT; ++i) {
        o[i] = operands_make(30 + 50 * i, 90 - 20 * i, depths[i], 1, i);
        products[i] = o[i].product;
    }
    lab_weight_gradients(products, COUNT);
    for (size_t i = 0; i < COUNT; ++i) {
        check_result(&o[i]);
        operands_free(&o[i]);
    }
    assert_false(lab_products_lost());
}

static lab_bf16_matrix matrix_make(const operands *o) {
    const lab_product *p = &o->product;
    const lab_bf16_source source = {lab_floats(p->right), p->right_stride, p->right_transposed};
    lab_bf16_matrix matrix = {p->depth, p->columns, NULL};
    matrix.values = malloc(lab_bf16_matrix_size(p->depth, p->columns) * sizeof *matrix.values);
    assert_non_null(matrix.values);
    for (size_t b = 0; b < lab_bf16_matrix_blocks(&matrix); ++b)
        lab_bf16_matrix_block_fill(&matrix, &source, b);
    return matrix;
}

/* Chunks of a layer's rows: all numbers of them up to 40, and some larger. */
static void check_matrix(size_t rows, size_t columns, size_t depth, unsigned flags) {
    operands o = operands_make(rows, columns, depth, flags, rows % 3);
    lab_bf16_matrix matrix = matrix_make(&o);
    lab_bf16_rows call = {.rows = rows,
                          .left = lab_floats(o.left),
                          .left_stride = o.product.left_stride,
                          .result = lab_floats(o.result),
                          .result_stride = o.product.result_stride,
                          .keep = o.product.keep};
    lab_bf16_multiply(&matrix, &call);
    check_result(&o);
    if (columns > LAB_BF16_COLUMNS) { /* a part of the columns again */
        call.first = LAB_BF16_COLUMNS;
        call.columns = columns - LAB_BF16_COLUMNS;
        call.result = lab_floats(o.result + LAB_BF16_COLUMNS);
        memcpy(o.result, o.before, o.result_count * sizeof *o.result);
        lab_bf16_multiply(&matrix, &call);
        call.first = 0;
        call.columns = LAB_BF16_COLUMNS;
        call.result = lab_floats(o.result);
        lab_bf16_multiply(&matrix, &call);
        check_result(&o);
    }
    assert_false(lab_products_lost());
    free(matrix.values);
    operands_free(&o);
}

static void test_matrix(void **state) {
    (void)state;
    for (size_t rows = 1; rows <= 40; ++rows)
        check_matrix(rows, 22 + rows, 27 + rows, rows % 2 ? 2 : 6);
    check_matrix(300, 600, 130, 2);
    check_matrix(417, 520, 64, 4);
    check_matrix(0, 4, 4, 0);
}

/* ---- numbers that are bfloat16 already ---- */

static uint16_t *halves_of(const float *x, size_t count) {
    uint16_t *halves = malloc((count + 1) * sizeof *halves);
    assert_non_null(halves);
    lab_bf16_round_row(count, x, halves);
    return halves;
}

/* x[column …] += row + column: whoever gives other places than these is found out. */
static void finish_row(const void *context, size_t row, size_t column, size_t count, float *x) {
    (void)context;
    for (size_t j = 0; j < count; ++j)
        x[j] += (float)(row + column + j);
}

/* Rows that are rounded already give the bits of those that a product rounds; a result that is rounded has those of
 * the floats, finished. */
static void check_half_rows(size_t rows, size_t columns, size_t depth, size_t gap) {
    static const lab_row_finish finish = {finish_row, NULL, 3};
    operands o = operands_make(rows, columns, depth, 2, gap);
    lab_bf16_matrix matrix = matrix_make(&o);
    const size_t left_stride = o.product.left_stride, stride = o.product.result_stride;
    uint16_t *left = halves_of(o.left, rows * left_stride), *got = halves_of(o.before, o.result_count);
    uint16_t *beside = halves_of(o.before, o.result_count);
    lab_bf16_rows call = {.rows = rows,
                          .left = lab_floats(o.left),
                          .left_stride = left_stride,
                          .result = lab_floats(o.result),
                          .result_stride = stride};
    lab_bf16_multiply(&matrix, &call);
    call.left = (lab_numbers){left, true};
    call.result = lab_floats(o.before);
    lab_bf16_multiply(&matrix, &call);
    call.result = (lab_numbers){got, true};
    call.finish = &finish;
    lab_bf16_multiply(&matrix, &call);
    for (size_t i = 0; i < rows; ++i) {
        float *row = o.result + i * stride;
        assert_memory_equal(row, o.before + i * stride, columns * sizeof *row);
        finish_row(NULL, 3 + i, 0, columns, row);
        lab_bf16_round_row(columns, row, beside + i * stride);
        assert_memory_equal(beside + i * stride, got + i * stride, stride * sizeof *got);
    }
    assert_false(lab_products_lost());
    free(left), free(got), free(beside), free(matrix.values);
    operands_free(&o);
}

static void test_half_rows(void **state) {
    (void)state;
    for (size_t rows = 1; rows <= 33; ++rows)
        check_half_rows(rows, 20 + rows, 31 + rows, rows % 2);
    check_half_rows(417, 1100, 64, 0); /* rows that are an operand as they are, and the last runs, which are not */
    check_half_rows(288, 70, 32, 0);
}

static void check_half_gradient(size_t rows, size_t columns, size_t depth, unsigned flags) {
    operands o = operands_make(rows, columns, depth, flags, 1);
    const size_t left_rows = flags & 1 ? depth : rows, right_rows = flags & 2 ? columns : depth;
    uint16_t *left = halves_of(o.left, left_rows * o.product.left_stride);
    uint16_t *right = halves_of(o.right, right_rows * o.product.right_stride);
    lab_product half = o.product;
    half.result = o.before;
    half.left = half.right = NULL;
    half.left_half = left;
    half.right_half = right;
    lab_weight_gradients(&half, 1);
    lab_weight_gradients(&o.product, 1);
    for (size_t i = 0; i < rows; ++i)
        assert_memory_equal(o.result + i * half.result_stride, o.before + i * half.result_stride,
                            columns * sizeof(float));
    free(left), free(right);
    operands_free(&o);
}

static void test_half_gradients(void **state) {
    (void)state;
    for (unsigned flags = 0; flags < 4; ++flags) {
        check_half_gradient(5, 7, 3, flags);
        check_half_gradient(65, 130, 33, flags);
    }
    check_half_gradient(40, 70, 2300, 1);
}

static void test_half_sums(void **state) {
    (void)state;
    enum { ROWS = 5, COLUMNS = 37 };
    float x[ROWS * COLUMNS], sum[COLUMNS] = {0}, wanted[COLUMNS] = {0};
    fill(x, ROWS * COLUMNS, 4);
    uint16_t *halves = halves_of(x, ROWS * COLUMNS);
    float *rounded = rounded_all(x, ROWS * COLUMNS);
    lab_column_sum((lab_rows){1, 3}, COLUMNS, lab_floats(rounded), wanted);
    lab_column_sum((lab_rows){1, 3}, COLUMNS, (lab_numbers){halves, true}, sum);
    assert_memory_equal(sum, wanted, sizeof sum);
    free(halves), free(rounded);
}

/* More shapes than are kept, twice; under a sanitizer once. */
static void test_many_shapes(void **state) {
    (void)state;
    for (size_t turn = 0; turn < SANITIZED(1, 2); ++turn)
        for (size_t i = 0; i < 550; ++i)
            check_matrix(16, 1 + i % 110, 32 * (1 + i / 110), 0);
}

/* The same bits for any number of threads. */
static void test_threads(void **state) {
    (void)state;
    enum { M = 300, N = 600, K = 2300 };
    operands o = operands_make(M, N, K, 1, 3);
    float *first = malloc(o.result_count * sizeof *first);
    assert_non_null(first);
    for (size_t threads = 1; threads <= 4; ++threads) {
        assert_int_equal(locus_threads_set(threads), LOCUS_OK);
        memcpy(o.result, o.before, o.result_count * sizeof *o.result);
        lab_weight_gradients(&o.product, 1);
        if (threads == 1)
            memcpy(first, o.result, o.result_count * sizeof *first);
        assert_memory_equal(first, o.result, o.result_count * sizeof *first);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
    free(first);
    operands_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),  cmocka_unit_test(test_layout),    cmocka_unit_test(test_products),
        cmocka_unit_test(test_list),      cmocka_unit_test(test_matrix),    cmocka_unit_test(test_many_shapes),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_half_rows), cmocka_unit_test(test_half_gradients),
        cmocka_unit_test(test_half_sums),
    };
    threads_only("test_threads");
    int without = 1;
    (void)fflush(NULL);
    const pid_t child = fork(); /* before oneDNN looks at the processor, and before there are threads */
    if (child == 0) {
        if (dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2) == dnnl_success && lab_bf16_has_units())
            child_exit(1);
        const int failed = cmocka_run_group_tests_name("without bfloat16 units", tests, NULL, NULL);
        (void)fflush(NULL);
        child_exit(failed != 0);
    }
    if (child < 0 || waitpid(child, &without, 0) != child)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL) != 0 || !WIFEXITED(without) || WEXITSTATUS(without) != 0;
}

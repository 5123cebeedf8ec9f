/* SPDX-License-Identifier: MIT */
/* Matrix products over dnnl_sgemm, which is the same call in oneDNN 2 and 3. It is made from inside
 * locus_parallel_for pieces, on one thread each: measured 450 GFLOP/s on two cores, against 420 with oneDNN's own
 * threads, and the pool is never left.
 *
 * Sizes measured on one core (peak 230 GFLOP/s): results of 128 × 512 with a depth of 6400 run at 225, the whole 2048
 * × 512 at 190, since the packed panels of a tile stay in the second-level cache. */
#include "nn/gemm.h"
#include <dnnl.h>
#include <locus/parallel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* oneDNN takes its thread count from OpenMP's per-thread setting. */
void omp_set_num_threads(int threads);

enum { TILE_ROWS = 128, TILE_COLUMNS = 512, TILE_ROWS_SMALL = 64, SMALL_TILES = 4 };

static atomic_bool lost, without_code;

bool lab_products_lost(void) {
    return atomic_exchange(&lost, false);
}

int lab_products_level(void) {
    return (int)dnnl_get_effective_cpu_isa();
}

void lab_products_lose(void) {
    atomic_store(&lost, true);
}

/* ---- generated code ---- */

bool lab_products_without_code(void) {
    return atomic_load(&without_code);
}

/* rows × 2 equal sums of 2^24, 1 and -2^24, at some distance from each other. */
static dnnl_status_t probe(dnnl_dim_t rows, float *result) {
    enum { DEPTH = 128, AWAY = 64 };
    float left[2 * DEPTH] = {0}, right[2 * DEPTH];
    for (size_t i = 0; i < 2 * (size_t)DEPTH; ++i)
        right[i] = 1.0f;
    for (size_t r = 0; r < 2; ++r) {
        left[r * DEPTH] = 0x1p24f;
        left[r * DEPTH + 1] = 1.0f;
        left[r * DEPTH + AWAY] = -0x1p24f;
    }
    return dnnl_sgemm('N', 'T', rows, 2, DEPTH, 1.0f, left, DEPTH, right, DEPTH, 0.0f, result, 2);
}

/* oneDNN makes code for products of float32 in three sets, each when it is first needed, and all of a set at once. A
 * set that could not be made is never tried again. What oneDNN 3 does then depends on the set (oneDNN 2 crashes):
 *
 *   that of all products       computes with plain loops, and returns success
 *   that of 2 to 15 rows       (AVX-512) computes with the third set, and returns success
 *   that of small operands     returns an error
 *
 * So products are made here before all others. The first one's sum is 1 where the terms of several lanes are added at
 * the end, as generated code does at every level, and 0 where each term is added to the last one's sum, as plain loops
 * do. The second one has two rows: if its set fails, so does the third, since a thread that has once failed to make
 * code makes no more. */
static void make_code(void) {
    float result[4] = {0};
    if ((dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_sse41) == 0)
        return; /* there is no generated code for this processor */
    const bool first = probe(1, result) == dnnl_success && result[0] == 1.0f;
    if (!first || probe(2, result) != dnnl_success)
        atomic_store(&without_code, true);
}

void lab_products_alone(void) {
    static _Thread_local int single; /* the setting belongs to the thread and stays */
    static pthread_once_t made = PTHREAD_ONCE_INIT;
    if (!single) {
        omp_set_num_threads(1);
        single = 1;
        (void)pthread_once(&made, make_code);
    }
}

/* ---- products ---- */

static void product_clear(const lab_product *product) {
    if (product->keep)
        return;
    for (size_t r = 0; r < product->rows; ++r)
        memset(product->result + r * product->result_stride, 0, product->columns * sizeof(float));
}

void lab_product_run(const lab_product *product) {
    if (product->rows == 0 || product->columns == 0)
        return;
    if (product->depth == 0) {
        product_clear(product);
        return;
    }
    lab_products_alone();
    /* Shapes and strides are checked by the caller's types; it can only fail for want of memory, for packed panels. */
    dnnl_status_t status =
        dnnl_sgemm(product->left_transposed ? 'T' : 'N', product->right_transposed ? 'T' : 'N',
                   (dnnl_dim_t)product->rows, (dnnl_dim_t)product->columns, (dnnl_dim_t)product->depth, 1.0f,
                   product->left, (dnnl_dim_t)product->left_stride, product->right, (dnnl_dim_t)product->right_stride,
                   product->keep ? 1.0f : 0.0f, product->result, (dnnl_dim_t)product->result_stride);
    if (status != dnnl_success)
        lab_products_lose();
}

static size_t tiles_across(const lab_product *product) {
    return (product->columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
}

/* Rows of a product's tiles: fewer where there are few tiles. */
static size_t tile_rows(const lab_product *product) {
    const size_t tiles = (product->rows + TILE_ROWS - 1) / TILE_ROWS * tiles_across(product);
    return tiles < SMALL_TILES ? TILE_ROWS_SMALL : TILE_ROWS;
}

static size_t tile_count(const lab_product *product) {
    const size_t rows = tile_rows(product);
    return (product->rows + rows - 1) / rows * tiles_across(product);
}

static void tile_run(const lab_product *product, size_t tile) {
    const size_t rows = tile_rows(product), across = tiles_across(product);
    const size_t row = tile / across * rows, column = tile % across * TILE_COLUMNS, left = product->columns - column;
    lab_product part = *product;
    part.rows = product->rows - row < rows ? product->rows - row : rows;
    part.columns = left < TILE_COLUMNS ? left : TILE_COLUMNS;
    part.left += product->left_transposed ? row : row * product->left_stride;
    part.right += product->right_transposed ? column * product->right_stride : column;
    part.result += row * product->result_stride + column;
    lab_product_run(&part);
}

typedef struct product_list {
    const lab_product *products;
    size_t count;
} product_list;

static void list_task(void *context, size_t index, size_t worker) {
    (void)worker;
    const product_list *list = context;
    for (size_t i = 0; i < list->count; ++i) {
        size_t tiles = tile_count(&list->products[i]);
        if (index < tiles) {
            tile_run(&list->products[i], index);
            return;
        }
        index -= tiles;
    }
}

void lab_products_parallel(const lab_product *products, size_t count) {
    product_list list = {products, count};
    size_t tiles = 0;
    for (size_t i = 0; i < count; ++i)
        tiles += tile_count(&products[i]);
    locus_parallel_for(tiles, list_task, &list);
}

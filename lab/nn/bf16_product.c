/* SPDX-License-Identifier: MIT */
/* Rows of a result are made in runs of 256, 128, 64, 32 and 16, so that few shapes of primitives serve all numbers of
 * rows; the last run may have rows that nobody wants. Columns are made in panels of 512, whose right operand stays in
 * the second-level cache. What is no run of whole rows of the result, or is to be added to it, is made elsewhere first,
 * since oneDNN's fast products leave no gaps between rows.
 *
 * Where the depth is long, as tokens are in gradients of weights, it is cut into slabs of 2048: operands of one slab
 * are laid out by all threads, then all tiles add it to their results. A slab's depth is rounded up to a multiple of
 * 64, from 256 on of 256, for few shapes again. Runs, panels, slabs and tiles follow from shapes, and each is one
 * thread's: no bit depends on the number of threads. */
#include "nn/bf16_product.h"
#include "nn/bf16_primitive.h"
#include "nn/rows.h"
#include "nn/thread_scratch.h"
#include <locus/parallel.h>
#include <string.h>

enum { RUN_MOST = 256, PANEL = 512, SLAB = 2048, SLAB_ROUND = 256, SLAB_ROUND_SMALL = 64 };

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* ---- laid-out operands ---- */

typedef struct half_product {
    lab_bf16_shape shape;
    const uint16_t *left, *right; /* left: with rows up to a multiple of LAB_BF16_ROWS, the last ones anything */
    float *result;
    size_t result_stride;
    bool keep;
} half_product;

/* The float32 product of the rounded operands. */
static void widened_run(const half_product *own) {
    const lab_bf16_shape *s = &own->shape;
    float *left = lab_thread_scratch(LAB_SCRATCH_RESULT, (s->rows + s->columns) * s->depth * sizeof *left);
    if (left == NULL) {
        lab_products_lose();
        return;
    }
    float *right = left + s->rows * s->depth;
    lab_bf16_unpack_left(own->left, s->rows * s->depth, left);
    lab_bf16_unpack_right(own->right, s->depth, s->columns, right);
    lab_product_run(&(lab_product){.rows = s->rows,
                                   .columns = s->columns,
                                   .depth = s->depth,
                                   .left = left,
                                   .left_stride = s->depth,
                                   .right = right,
                                   .right_stride = s->columns,
                                   .result = own->result,
                                   .result_stride = own->result_stride,
                                   .keep = own->keep});
}

static void primitive_run(const half_product *own, float *result) {
    if (!lab_bf16_primitive_run(&own->shape, own->left, own->right, result))
        lab_products_lose();
}

/* By way of memory without gaps; the first `rows` rows are wanted. */
static void aside_run(const half_product *own, size_t rows) {
    const size_t columns = own->shape.columns;
    float *result = lab_thread_scratch(LAB_SCRATCH_RESULT, own->shape.rows * columns * sizeof *result);
    if (result == NULL) {
        lab_products_lose();
        return;
    }
    primitive_run(own, result);
    for (size_t r = 0; r < rows; ++r)
        if (own->keep)
            lab_row_add(columns, result + r * columns, own->result + r * own->result_stride);
        else
            memcpy(own->result + r * own->result_stride, result + r * columns, columns * sizeof *result);
}

static void half_product_run(const half_product *own) {
    if (!lab_bf16_has_units()) {
        widened_run(own);
        return;
    }
    half_product part = *own;
    for (size_t row = 0, run = RUN_MOST; row < own->shape.rows; row += run) {
        const size_t left = own->shape.rows - row;
        while (run > lab_bf16_round(left, LAB_BF16_ROWS))
            run /= 2;
        part.shape.rows = run;
        part.left = own->left + row * own->shape.depth;
        part.result = own->result + row * own->result_stride;
        if (left < run || own->keep || own->result_stride != own->shape.columns)
            aside_run(&part, least(left, run));
        else
            primitive_run(&part, part.result);
    }
}

/* ---- products with a matrix ---- */

static size_t depth_of(const lab_bf16_matrix *matrix) {
    return lab_bf16_round(matrix->depth, LAB_BF16_DEPTH);
}

size_t lab_bf16_matrix_size(size_t depth, size_t columns) {
    return lab_bf16_round(depth, LAB_BF16_DEPTH) * lab_bf16_round(columns, LAB_BF16_COLUMNS);
}

size_t lab_bf16_matrix_blocks(const lab_bf16_matrix *matrix) {
    return lab_bf16_round(matrix->columns, LAB_BF16_COLUMNS) / LAB_BF16_COLUMNS;
}

void lab_bf16_matrix_block_fill(const lab_bf16_matrix *matrix, const lab_bf16_source *source, size_t block) {
    const size_t depth = depth_of(matrix);
    lab_bf16_pack_right(source, block * LAB_BF16_COLUMNS, matrix->columns, matrix->depth, depth,
                        matrix->values + block * LAB_BF16_COLUMNS * depth);
}

/* The panel whose results begin at row `row` and column `column`: made as floats, then rounded. */
static void rounded_panel_run(half_product *panel, const lab_bf16_rows *call, size_t row, size_t column) {
    const size_t columns = panel->shape.columns;
    float *result = lab_thread_scratch(LAB_SCRATCH_PANEL, call->rows * columns * sizeof *result);
    if (result == NULL) {
        lab_products_lose();
        return;
    }
    panel->result = result;
    panel->result_stride = columns;
    half_product_run(panel);
    for (size_t r = 0; r < call->rows; ++r) {
        if (call->finish)
            call->finish->run(call->finish->context, call->finish->first + row + r, call->first + column, columns,
                              result + r * columns);
        lab_bf16_round_row(columns, result + r * columns,
                           (uint16_t *)call->result.data + r * call->result_stride + column);
    }
}

/* `row`: where these rows begin among all that are asked for. */
static void panels_run(const lab_bf16_matrix *matrix, const lab_bf16_rows *call, size_t row, const uint16_t *left) {
    const size_t depth = depth_of(matrix), columns = call->columns > 0 ? call->columns : matrix->columns - call->first;
    for (size_t c = 0; c < columns; c += PANEL) {
        half_product panel = {.shape = {call->rows, least(columns - c, PANEL), depth},
                              .left = left,
                              .right = matrix->values + (call->first + c) * depth,
                              .result_stride = call->result_stride,
                              .keep = call->keep};
        if (call->result.half) {
            rounded_panel_run(&panel, call, row, c);
            continue;
        }
        panel.result = (float *)call->result.data + c;
        half_product_run(&panel);
    }
}

/* Rows that are an operand as they are. */
static bool is_laid_out(const lab_bf16_rows *call, size_t depth) {
    return call->left.half && call->left_stride == depth && call->rows % LAB_BF16_ROWS == 0;
}

void lab_bf16_multiply(const lab_bf16_matrix *matrix, const lab_bf16_rows *call) {
    const size_t depth = depth_of(matrix), most = least(lab_bf16_round(call->rows, LAB_BF16_ROWS), RUN_MOST);
    uint16_t *left = lab_thread_scratch(LAB_SCRATCH_LEFT, most * depth * sizeof *left);
    if (left == NULL) {
        lab_products_lose();
        return;
    }
    lab_bf16_rows part = *call;
    for (size_t row = 0; row < call->rows; row += RUN_MOST) {
        part.rows = least(call->rows - row, RUN_MOST);
        part.left = lab_numbers_from(call->left, row * call->left_stride);
        part.result = lab_numbers_from(call->result, row * call->result_stride);
        const lab_bf16_source source = {part.left, call->left_stride, false};
        if (!is_laid_out(&part, depth))
            lab_bf16_pack_left(&source, 0, part.rows, matrix->depth, depth, left);
        panels_run(matrix, &part, row, is_laid_out(&part, depth) ? part.left.data : left);
    }
}

/* ---- products with a long depth ---- */

/* One slab of all products of a call; `operands`: where the first product's stand, left, then right. */
typedef struct slab_call {
    const lab_product *products;
    size_t count, first; /* of the depth */
    uint16_t *operands;
} slab_call;

typedef struct slab_part {
    const lab_product *product;
    size_t depth, depth_to; /* of this slab; 0: the product has ended before */
    size_t left, right;     /* where its operands begin among all */
} slab_part;

static size_t blocks_of(size_t count) {
    return lab_bf16_round(count, LAB_BF16_COLUMNS) / LAB_BF16_COLUMNS;
}

/* Where product i's operands stand: behind those of the others. */
static slab_part part_of(const slab_call *call, size_t i) {
    slab_part part = {.left = 0};
    for (size_t p = 0; p <= i; ++p) {
        const lab_product *product = part.product = &call->products[p];
        part.left = p > 0 ? part.right + blocks_of(call->products[p - 1].columns) * LAB_BF16_COLUMNS * part.depth_to
                          : part.left;
        part.depth = product->depth > call->first ? least(product->depth - call->first, SLAB) : 0;
        part.depth_to = lab_bf16_round(part.depth, part.depth < SLAB_ROUND ? SLAB_ROUND_SMALL : SLAB_ROUND);
        part.right = part.left + blocks_of(product->rows) * LAB_BF16_COLUMNS * part.depth_to;
    }
    return part;
}

/* A whole operand, from number `from` on. */
static lab_bf16_source source_of(const float *floats, const uint16_t *halves, size_t from, size_t stride,
                                 bool transposed) {
    const lab_numbers all = halves ? (lab_numbers){(void *)(uintptr_t)halves, true} : lab_floats(floats);
    return (lab_bf16_source){lab_numbers_from(all, from), stride, transposed};
}

/* One block of 64 rows of a left operand, or of 64 columns of a right one. */
static void operand_fill(const slab_call *call, const slab_part *part, size_t block) {
    const lab_product *p = part->product;
    const size_t lefts = blocks_of(p->rows);
    if (block < lefts) {
        const size_t from = call->first * (p->left_transposed ? p->left_stride : 1);
        const lab_bf16_source source = source_of(p->left, p->left_half, from, p->left_stride, p->left_transposed);
        const size_t first = block * LAB_BF16_COLUMNS;
        lab_bf16_pack_left(&source, first, least(p->rows - first, LAB_BF16_COLUMNS), part->depth, part->depth_to,
                           call->operands + part->left + first * part->depth_to);
        return;
    }
    const size_t from = call->first * (p->right_transposed ? 1 : p->right_stride);
    const lab_bf16_source source = source_of(p->right, p->right_half, from, p->right_stride, p->right_transposed);
    const size_t first = (block - lefts) * LAB_BF16_COLUMNS;
    lab_bf16_pack_right(&source, first, p->columns, part->depth, part->depth_to,
                        call->operands + part->right + first * part->depth_to);
}

static size_t operand_blocks(const slab_part *part) {
    return part->depth > 0 ? blocks_of(part->product->rows) + blocks_of(part->product->columns) : 0;
}

/* Pieces of all products are counted through: runs number `index` of them. */
static void piece_run(const slab_call *call, size_t index, size_t (*count)(const slab_part *part),
                      void (*run)(const slab_call *call, const slab_part *part, size_t piece)) {
    for (size_t i = 0; i < call->count; ++i) {
        const slab_part part = part_of(call, i);
        const size_t pieces = count(&part);
        if (index < pieces) {
            run(call, &part, index);
            return;
        }
        index -= pieces;
    }
}

static void operands_task(void *context, size_t index, size_t worker) {
    (void)worker;
    piece_run(context, index, operand_blocks, operand_fill);
}

enum { TILE_ROWS = 128, TILE_COLUMNS = 512 };

static size_t tiles_across(const slab_part *part) {
    return (part->product->columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
}

static size_t tile_count(const slab_part *part) {
    return part->depth > 0 ? (part->product->rows + TILE_ROWS - 1) / TILE_ROWS * tiles_across(part) : 0;
}

static void tile_run(const slab_call *call, const slab_part *part, size_t tile) {
    const lab_product *p = part->product;
    const size_t row = tile / tiles_across(part) * TILE_ROWS, column = tile % tiles_across(part) * TILE_COLUMNS;
    half_product_run(&(half_product){.shape = {.rows = least(p->rows - row, TILE_ROWS),
                                               .columns = least(p->columns - column, TILE_COLUMNS),
                                               .depth = part->depth_to},
                                     .left = call->operands + part->left + row * part->depth_to,
                                     .right = call->operands + part->right + column * part->depth_to,
                                     .result = p->result + row * p->result_stride + column,
                                     .result_stride = p->result_stride,
                                     .keep = p->keep || call->first > 0});
}

static void tiles_task(void *context, size_t index, size_t worker) {
    (void)worker;
    piece_run(context, index, tile_count, tile_run);
}

static void slab_run(slab_call *call) {
    size_t blocks = 0, tiles = 0;
    for (size_t i = 0; i < call->count; ++i) {
        const slab_part part = part_of(call, i);
        blocks += operand_blocks(&part);
        tiles += tile_count(&part);
    }
    if (tiles == 0)
        return;
    locus_parallel_for(blocks, operands_task, call);
    locus_parallel_for(tiles, tiles_task, call);
}

/* The first slab is the longest of every product. */
static bool operands_fit(slab_call *call) {
    size_t elements = 0;
    for (size_t i = 0; i < call->count; ++i) {
        const slab_part part = part_of(call, i);
        elements += operand_blocks(&part) * LAB_BF16_COLUMNS * part.depth_to;
    }
    call->operands = lab_thread_scratch(LAB_SCRATCH_OPERANDS, elements * sizeof *call->operands);
    return call->operands != NULL || elements == 0;
}

static void clear_without_depth(const lab_product *product) {
    if (product->depth == 0)
        lab_product_run(product);
}

void lab_bf16_products_parallel(const lab_product *products, size_t count) {
    slab_call call = {.products = products, .count = count};
    size_t depth = 0;
    for (size_t i = 0; i < count; ++i) {
        clear_without_depth(&products[i]);
        depth = products[i].depth > depth ? products[i].depth : depth;
    }
    if (!operands_fit(&call)) {
        lab_products_lose();
        return;
    }
    for (; call.first < depth; call.first += SLAB)
        slab_run(&call);
}

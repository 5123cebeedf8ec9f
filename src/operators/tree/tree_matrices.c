/* SPDX-License-Identifier: MIT */
/* See tree_matrices.h. */
#include "operators/tree/tree_matrices.h"

#include "core/call.h"
#include "kernels/kernels.h"

#include <assert.h>
#include <locus/parallel.h>

#include <string.h>

const double *locus_tree_generator(const locus_tree_operator *op, size_t table, uint32_t generator, bool transposed) {
    const locus_tree *tree = op->tree;
    const size_t branch = op->layout.used[generator / 2];
    const double *matrices = transposed != (generator % 2 == 1) ? tree->transposed : tree->generators;
    return matrices + (table * tree->branches + branch) * tree->dim * tree->dim;
}

static const double *matrix_above(const locus_tree_operator *op, const locus_tree_chunk *chunk,
                                  const locus_tree_desk *desk, uint32_t parent) {
    const size_t elements = op->tree->dim * op->tree->dim;
    if (parent >= chunk->anchor && parent < chunk->anchor + chunk->anchors)
        return desk->P + (parent - chunk->anchor) * elements;
    return desk->checkpoints + op->layout.anchors[parent].checkpoint * elements;
}

/* ---- forward ---- */

void locus_tree_make_chunk(const locus_tree_operator *op, const locus_tree_chunk *chunk, const locus_tree_desk *desk,
                           bool leading) {
    const locus_kernels_float64 *kernels = locus_kernels_float64_get();
    const size_t dim = op->tree->dim, elements = dim * dim;
    assert(desk->made != NULL);
    for (uint32_t i = 0; i < chunk->anchors && !locus_call_cancelled(); i++) {
        const locus_tree_anchor *anchor = &op->layout.anchors[chunk->anchor + i];
        double *P = desk->made + i * elements;
        if (leading && !anchor->leads)
            continue;
        const double *W = locus_tree_generator(op, desk->table, anchor->generator, false);
        if (anchor->parent == LOCUS_TREE_NONE)
            memcpy(P, W, elements * sizeof *P);
        else
            kernels->gemm(dim, dim, dim, matrix_above(op, chunk, desk, anchor->parent), (ptrdiff_t)dim, 1, W,
                          (ptrdiff_t)dim, P, (ptrdiff_t)dim, false);
        assert(anchor->checkpoint == LOCUS_TREE_NONE || desk->checkpoints != NULL);
        if (anchor->checkpoint != LOCUS_TREE_NONE)
            memcpy(desk->checkpoints + anchor->checkpoint * elements, P, elements * sizeof *P);
    }
}

typedef struct locus_tree_keeping {
    const locus_tree_operator *op;
    double *matrices;
    float *rounded, *transposed;
} locus_tree_keeping;

static void keep_table(void *context, size_t table, size_t worker) {
    const locus_tree_keeping *keeping = context;
    const locus_tree_operator *op = keeping->op;
    const size_t dim = op->tree->dim, elements = dim * dim, anchors = op->layout.anchor_count;
    double *P = keeping->matrices + table * anchors * elements;
    float *rounded = keeping->rounded + table * anchors * elements;
    float *transposed = keeping->transposed + table * anchors * elements;
    const locus_tree_desk desk = {.table = table, .P = P, .made = P};
    (void)worker;
    locus_tree_make_chunk(op, &op->layout.chunks[0], &desk, false);
    for (size_t a = 0; a < anchors && !locus_call_cancelled();
         a++, P += elements, rounded += elements, transposed += elements) {
        for (size_t i = 0; i < elements; i++)
            rounded[i] = (float)P[i];
        locus_kernels_float32_get()->transpose(dim, dim, rounded, (ptrdiff_t)dim, transposed, (ptrdiff_t)dim);
    }
}

void locus_tree_make_kept(const locus_tree_operator *op, double *matrices, float *rounded, float *transposed) {
    locus_tree_keeping keeping = {op, matrices, rounded, transposed};
    locus_parallel_for(op->tree->tables, keep_table, &keeping);
}

/* ---- backward ---- */

static void add_slot(size_t count, const char *slot, bool is_double, double *sum) {
    const double *doubles = (const double *)(const void *)slot;
    const float *floats = (const float *)(const void *)slot;
    for (size_t i = 0; is_double && i < count; i++)
        sum[i] += doubles[i];
    for (size_t i = 0; !is_double && i < count; i++)
        sum[i] += (double)floats[i];
}

static void fold_parts(const locus_tree_operator *op, const locus_tree_chunk *chunk, const locus_tree_desk *desk,
                       bool exact) {
    const locus_tree_layout *layout = &op->layout;
    const size_t elements = op->tree->dim * op->tree->dim;
    const uint32_t *used = layout->slot_used + chunk->slot, *anchor = layout->slot_anchor + chunk->piece;
    for (uint32_t p = chunk->part; p < chunk->part + chunk->parts; p++) {
        const locus_tree_part *part = &layout->parts[p];
        for (uint32_t i = part->slot; i < part->slot + part->slots; i++)
            add_slot(elements, desk->slots + i * desk->slot_bytes, exact || part->exact, desk->dW + used[i] * elements);
        for (uint32_t i = part->piece; i < part->piece + part->pieces; i++)
            add_slot(elements, desk->pieces + i * desk->slot_bytes, exact || part->exact,
                     desk->dP + (anchor[i] - chunk->anchor) * elements);
    }
}

/* dW += dP_c, or its transpose: the parent is the root. */
static void add_direct(size_t dim, const double *dP, bool transposed, double *dW) {
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            dW[i * dim + j] += transposed ? dP[j * dim + i] : dP[i * dim + j];
}

static void walk_anchor(const locus_tree_operator *op, const locus_tree_chunk *chunk, const locus_tree_desk *desk,
                        uint32_t index) {
    const locus_kernels_float64 *kernels = locus_kernels_float64_get();
    const size_t dim = op->tree->dim, elements = dim * dim;
    const ptrdiff_t ld = (ptrdiff_t)dim;
    const locus_tree_anchor *anchor = &op->layout.anchors[chunk->anchor + index];
    const bool turned = anchor->generator % 2 == 1;
    const uint32_t parent = anchor->parent;
    double *dP = desk->dP + index * elements, *dW = desk->dW + (anchor->generator / 2) * elements;
    for (size_t i = 0; anchor->checkpoint != LOCUS_TREE_NONE && i < elements; i++)
        dP[i] += desk->boundary[anchor->checkpoint * elements + i];
    if (parent == LOCUS_TREE_NONE) {
        add_direct(dim, dP, turned, dW);
        return;
    }
    const double *P = matrix_above(op, chunk, desk, parent);
    double *above = parent >= chunk->anchor && parent < chunk->anchor + chunk->anchors
                        ? desk->dP + (parent - chunk->anchor) * elements
                        : desk->boundary + op->layout.anchors[parent].checkpoint * elements;
    kernels->gemm(dim, dim, dim, turned ? dP : P, 1, ld, turned ? P : dP, ld, dW, ld, true);
    kernels->gemm(dim, dim, dim, dP, ld, 1, locus_tree_generator(op, desk->table, anchor->generator, true), ld, above,
                  ld, true);
}

void locus_tree_walk_back(const locus_tree_operator *op, const locus_tree_chunk *chunk, const locus_tree_desk *desk,
                          bool exact) {
    if (chunk->anchors > 0)
        memset(desk->dP, 0, chunk->anchors * op->tree->dim * op->tree->dim * sizeof *desk->dP);
    fold_parts(op, chunk, desk, exact);
    for (uint32_t i = chunk->anchors; i-- > 0 && !locus_call_cancelled();)
        walk_anchor(op, chunk, desk, i);
}

/* SPDX-License-Identifier: MIT */
/* Generators of a tree from parameters, and dL/dW back to them. Generators are made in parallel, each with work of its
 * own. Block forms of learned SKEW generators are kept: backward needs them again. For ANGLES, W has blocks
 * [cos θ −sin θ; sin θ cos θ] on the pairs (2i, 2i + 1):
 *
 *   dL/dθ_i = cos θ_i (G_10 − G_01) − sin θ_i (G_00 + G_11),   G = dL/dW */
#include "operators/tree/tree_matrices.h"
#include "operators/tree/tree_store.h"

#include "core/error.h"
#include "kernels/kernels.h"
#include "linalg/block_form.h"

#include <locus/parallel.h>

#include <math.h>
#include <string.h>

/* ---- bind ---- */

typedef struct locus_tree_making {
    const locus_tree *tree;
    const double *A; /* [tables, branches, elements] */
    double *generators, *transposed, *bases, *work;
    float *generators_float32, *transposed_float32;
    unsigned char *failed; /* [tables, branches] */
    size_t work_count;     /* doubles for each worker */
} locus_tree_making;

static size_t parameter_elements(const locus_tree *tree) {
    return tree->learned == LOCUS_TREE_ANGLES ? tree->dim / 2 : tree->dim * tree->dim;
}

static bool keeps_bases(const locus_tree *tree) {
    return tree->learned == LOCUS_TREE_ORTHOGONAL && tree->kind == LOCUS_ORTHOGONAL_SKEW;
}

static size_t basis_elements(size_t dim) {
    return dim * dim + dim / 2;
}

/* W = exp(A − Aᵀ) = U R(θ) Uᵀ; work holds 2·dim² + dim + locus_skew_work(dim). */
static locus_status exponentiate(size_t dim, const double *A, double *basis, double *W, double *work) {
    double *theta = basis + dim * dim, *S = work, *rest = S + dim * dim;
    double *cosine = S, *sine = cosine + dim / 2, *products = sine + dim / 2;
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            S[i * dim + j] = A[i * dim + j] - A[j * dim + i];
    locus_status status = locus_skew_schur(dim, S, basis, theta, rest);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < dim / 2; i++) {
        cosine[i] = cos(theta[i]);
        sine[i] = sin(theta[i]);
    }
    locus_block_compose(&(locus_block_form){dim, basis, cosine, sine, 1.0}, W, products);
    return LOCUS_OK;
}

static void turn_pairs(size_t dim, const double *theta, double *W) {
    memset(W, 0, dim * dim * sizeof *W);
    for (size_t i = 0; i + 1 < dim; i += 2) {
        W[i * dim + i] = W[(i + 1) * dim + i + 1] = cos(theta[i / 2]);
        W[(i + 1) * dim + i] = sin(theta[i / 2]);
        W[i * dim + i + 1] = -W[(i + 1) * dim + i];
    }
}

static void make_generator(void *context, size_t index, size_t worker) {
    const locus_tree_making *making = context;
    const locus_tree *tree = making->tree;
    const size_t dim = tree->dim, elements = dim * dim;
    const double *A = making->A + index * parameter_elements(tree);
    double *W = making->generators + index * elements;
    float *rounded = making->generators_float32 + index * elements;
    double *work = making->work + worker * making->work_count;
    if (tree->learned == LOCUS_TREE_ANGLES)
        turn_pairs(dim, A, W);
    else if (keeps_bases(tree))
        making->failed[index] = exponentiate(dim, A, making->bases + index * basis_elements(dim), W, work) != LOCUS_OK;
    else
        making->failed[index] = locus_orthogonal_make(tree->kind, dim, A, W, work) != LOCUS_OK;
    for (size_t i = 0; i < elements; i++)
        rounded[i] = (float)W[i];
    locus_kernels_float64_get()->transpose(dim, dim, W, (ptrdiff_t)dim, making->transposed + index * elements,
                                           (ptrdiff_t)dim);
    locus_kernels_float32_get()->transpose(dim, dim, rounded, (ptrdiff_t)dim,
                                           making->transposed_float32 + index * elements, (ptrdiff_t)dim);
}

static locus_status make_all(locus_tree_making *making, locus_error *error) {
    const locus_tree *tree = making->tree;
    const size_t count = tree->tables * tree->branches;
    locus_owned short_lived = {0};
    locus_tree_store store = {&short_lived, error, LOCUS_OK};
    const size_t own = 2 * tree->dim * tree->dim + tree->dim + locus_skew_work(tree->dim);
    const size_t theirs = locus_orthogonal_work(tree->dim), workers = locus_threads();
    making->work_count = own > theirs ? own : theirs;
    making->work = locus_tree_take(&store, workers * making->work_count, sizeof *making->work);
    making->failed = locus_tree_take(&store, count, 1);
    locus_status status = store.status;
    if (status == LOCUS_OK)
        locus_parallel_for_at_most(workers, count, make_generator, making);
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        if (making->failed[i])
            status = locus_fail(error, LOCUS_ERROR_NUMERIC, "generators",
                                "the generator of branch %zu of head %zu gives no orthogonal matrix: its parameters "
                                "must be finite, and reflection vectors not zero",
                                i % tree->branches + 1, i / tree->branches);
    locus_owned_release(&short_lived);
    return status;
}

/* The term's parameters, of this coordinate's generators only. */
static void copy_values(const locus_tree *tree, const double *values, double *copy) {
    const size_t elements = parameter_elements(tree);
    for (size_t table = 0; table < tree->tables; table++)
        memcpy(copy + table * tree->branches * elements,
               values + locus_parameter_slice_at(tree->slice, table, 0, elements),
               tree->branches * elements * sizeof *copy);
}

locus_status locus_tree_bind(locus_tree *tree, const double *const *values, const double *A, locus_owned *memory,
                             locus_error *error) {
    const size_t count = tree->tables * tree->branches, numbers = count * tree->dim * tree->dim;
    const bool learns = tree->learned != LOCUS_TREE_FIXED;
    locus_tree_store store = {memory, error, LOCUS_OK};
    double *copy = locus_tree_take(&store, learns ? count * parameter_elements(tree) : 0, sizeof *copy);
    locus_tree_making making = {
        .tree = tree,
        .generators = locus_tree_take(&store, numbers, sizeof(double)),
        .transposed = locus_tree_take(&store, numbers, sizeof(double)),
        .bases = locus_tree_take(&store, keeps_bases(tree) ? count * basis_elements(tree->dim) : 0, sizeof(double)),
        .generators_float32 = locus_tree_take(&store, numbers, sizeof(float)),
        .transposed_float32 = locus_tree_take(&store, numbers, sizeof(float))};
    if (store.status != LOCUS_OK)
        return store.status;
    if (learns)
        copy_values(tree, values[tree->slice.tensor], copy);
    making.A = learns ? copy : A;
    tree->parameters = learns ? copy : NULL;
    tree->bases = keeps_bases(tree) ? making.bases : NULL;
    tree->generators = making.generators;
    tree->transposed = making.transposed;
    tree->generators_float32 = making.generators_float32;
    tree->transposed_float32 = making.transposed_float32;
    return make_all(&making, error);
}

/* ---- back to parameters ---- */

typedef struct locus_tree_spreading {
    const locus_tree_operator *op;
    const double *dW;
    const locus_tensor *parameters;
    char *scratch;
} locus_tree_spreading;

size_t locus_tree_spread_bytes(const locus_tree *tree) {
    return locus_aligned((2 * tree->dim * tree->dim + locus_orthogonal_work(tree->dim)) * sizeof(double));
}

static void angles_backward(size_t dim, const double *theta, const double *G, double *G_theta) {
    for (size_t i = 0; i + 1 < dim; i += 2)
        G_theta[i / 2] = cos(theta[i / 2]) * (G[(i + 1) * dim + i] - G[i * dim + i + 1]) -
                         sin(theta[i / 2]) * (G[i * dim + i] + G[(i + 1) * dim + i + 1]);
}

/* work holds dim² + locus_orthogonal_work(dim). */
static void exponential_backward(size_t dim, const double *basis, const double *G, double *G_A, double *work) {
    double *G_S = work;
    locus_skew_exp_backward(dim, basis, basis + dim * dim, G, G_S, work + dim * dim);
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            G_A[i * dim + j] = G_S[i * dim + j] - G_S[j * dim + i];
}

/* W was made from these parameters: what fails here is a gradient that is not finite, which parameters then show. */
static void fill_nan(size_t count, double *values) {
    for (size_t i = 0; i < count; i++)
        values[i] = NAN;
}

static void spread_generator(void *context, size_t index, size_t worker) {
    const locus_tree_spreading *spreading = context;
    const locus_tree_operator *op = spreading->op;
    const locus_tree *tree = op->tree;
    const size_t used = op->layout.used_count, table = index / used, branch = op->layout.used[index % used];
    const size_t elements = parameter_elements(tree), matrix = tree->dim * tree->dim;
    const double *A = tree->parameters + (table * tree->branches + branch) * elements;
    const double *G = spreading->dW + index * matrix;
    double *G_A = (double *)(void *)(spreading->scratch + worker * locus_tree_spread_bytes(tree));
    memset(G_A, 0, elements * sizeof *G_A);
    if (tree->learned == LOCUS_TREE_ANGLES)
        angles_backward(tree->dim, A, G, G_A);
    else if (tree->bases)
        exponential_backward(tree->dim, tree->bases + (table * tree->branches + branch) * basis_elements(tree->dim), G,
                             G_A, G_A + matrix);
    else if (locus_orthogonal_backward(tree->kind, tree->dim, A, G, G_A, G_A + matrix) != LOCUS_OK)
        fill_nan(elements, G_A);
    locus_tensor_add_numbers(&spreading->parameters[tree->slice.tensor],
                             locus_parameter_slice_at(tree->slice, table, branch, elements), elements, G_A);
}

void locus_tree_spread(const locus_tree_operator *op, const double *dW, const locus_tensor *parameters, char *scratch) {
    locus_tree_spreading spreading = {op, dW, parameters, scratch};
    locus_parallel_for(op->tree->tables * op->layout.used_count, spread_generator, &spreading);
}

/* SPDX-License-Identifier: MIT */
/* Generators of a tree from parameters, and dL/dW back to them. Generators are made when a plan first uses them, in
 * parallel, each with work of its own. Block forms of learned SKEW generators are kept: backward needs them again.
 * For ANGLES, W has blocks [cos θ −sin θ; sin θ cos θ] on the pairs (2i, 2i + 1):
 *
 *   dL/dθ_i = cos θ_i (G_10 − G_01) − sin θ_i (G_00 + G_11),   G = dL/dW */
#include "operators/tree/tree_matrices.h"
#include "operators/tree/tree_store.h"

#include "core/error.h"
#include "kernels/kernels.h"
#include "linalg/block_form.h"

#include <locus/parallel.h>

#include <math.h>
#include <sched.h>
#include <string.h>

#define FAR_OUT 1e100

/* ---- making ---- */

/* Of a generator: it is made by one thread, once. */
enum { UNMADE, CLAIMED, MADE, FAILED };

typedef struct locus_tree_making {
    const locus_tree *tree;
    const uint32_t *branches; /* [count], or NULL: all */
    size_t count;
    double *work;
    size_t work_count; /* doubles for each worker */
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

static locus_status make_generator(const locus_tree *tree, size_t index, double *work) {
    const size_t dim = tree->dim, elements = dim * dim;
    const double *A = tree->A + index * parameter_elements(tree);
    double *W = tree->generators + index * elements;
    float *rounded = tree->generators_float32 + index * elements;
    locus_status status = LOCUS_OK;
    if (tree->learned == LOCUS_TREE_ANGLES)
        turn_pairs(dim, A, W);
    else if (keeps_bases(tree))
        status = exponentiate(dim, A, tree->bases + index * basis_elements(dim), W, work);
    else
        status = locus_orthogonal_make(tree->kind, dim, A, W, work);
    for (size_t i = 0; status == LOCUS_OK && i < elements; i++)
        rounded[i] = (float)W[i];
    if (status != LOCUS_OK)
        return status;
    locus_kernels_float64_get()->transpose(dim, dim, W, (ptrdiff_t)dim, tree->transposed + index * elements,
                                           (ptrdiff_t)dim);
    locus_kernels_float32_get()->transpose(dim, dim, rounded, (ptrdiff_t)dim,
                                           tree->transposed_float32 + index * elements, (ptrdiff_t)dim);
    return LOCUS_OK;
}

static size_t number_of(const locus_tree_making *making, size_t index) {
    const size_t table = index / making->count, at = index % making->count;
    return table * making->tree->branches + (making->branches ? making->branches[at] : at);
}

/* Another thread that is at it is at this one alone, and waits for nobody. */
static void make_once(void *context, size_t index, size_t worker) {
    const locus_tree_making *making = context;
    const size_t number = number_of(making, index);
    _Atomic(int) *state = &making->tree->states[number];
    int found = UNMADE;
    if (atomic_compare_exchange_strong(state, &found, CLAIMED))
        atomic_store(state, make_generator(making->tree, number, making->work + worker * making->work_count) == LOCUS_OK
                                ? MADE
                                : FAILED);
    while (atomic_load(state) == CLAIMED)
        (void)sched_yield();
}

static locus_status fail_generator(const locus_tree *tree, size_t number, locus_error *error) {
    return locus_fail(error, LOCUS_ERROR_NUMERIC, "generators",
                      "the generator of branch %zu of head %zu gives no orthogonal matrix: its parameters must be "
                      "finite, and reflection vectors not zero",
                      number % tree->branches + 1, number / tree->branches);
}

static locus_status make_missing(locus_tree_making *making, locus_error *error) {
    const locus_tree *tree = making->tree;
    const size_t count = tree->tables * making->count;
    const size_t workers = count < locus_threads() ? count : locus_threads();
    const size_t own = 2 * tree->dim * tree->dim + tree->dim + locus_skew_work(tree->dim);
    const size_t theirs = locus_orthogonal_work(tree->dim);
    locus_owned passing = {0};
    making->work_count = own > theirs ? own : theirs;
    making->work = locus_owned_get(&passing, workers * making->work_count, sizeof *making->work);
    if (!making->work)
        return locus_owned_fail(error);
    locus_parallel_for_at_most(workers, count, make_once, making);
    locus_owned_release(&passing);
    for (size_t i = 0; i < count; i++)
        if (atomic_load(&tree->states[number_of(making, i)]) == FAILED)
            return fail_generator(tree, number_of(making, i), error);
    return LOCUS_OK;
}

locus_status locus_tree_need(const locus_tree *tree, const uint32_t *branches, size_t count, locus_error *error) {
    locus_tree_making making = {.tree = tree, .branches = branches, .count = branches ? count : tree->branches};
    bool missing = false;
    for (size_t i = 0; i < tree->tables * making.count && !missing; i++)
        missing = atomic_load(&tree->states[number_of(&making, i)]) != MADE;
    return missing ? make_missing(&making, error) : LOCUS_OK;
}

/* ---- bind ---- */

/* The term's parameters, of this coordinate's generators only: where they are, unless another coordinate's stand
 * between them. */
static const double *values_of(const locus_tree *tree, const double *values, locus_tree_store *store) {
    const size_t elements = parameter_elements(tree), row = tree->branches * elements;
    if (tree->slice.generators == tree->branches)
        return values;
    double *copy = locus_tree_take(store, tree->tables * row, sizeof *copy);
    for (size_t table = 0; copy && table < tree->tables; table++)
        memcpy(copy + table * row, values + locus_parameter_slice_at(tree->slice, table, 0, elements),
               row * sizeof *copy);
    return copy;
}

/* Whether a generator may fail to be made: a number is far out, or all of a row are next to 0. Those are tried at once,
 * so that a binding says what is wrong with its parameters. */
static bool is_doubtful(const locus_tree *tree, const double *A) {
    for (size_t i = 0; i < tree->dim; i++, A += tree->dim) {
        double most = 0;
        for (size_t j = 0; j < tree->dim; j++)
            most = !(fabs(A[j]) <= most) ? fabs(A[j]) : most;
        if (!(most < FAR_OUT) || (tree->kind == LOCUS_ORTHOGONAL_HOUSEHOLDER && most < 1 / FAR_OUT))
            return true;
    }
    return false;
}

static locus_status try_doubtful(const locus_tree *tree, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < tree->tables * tree->branches && status == LOCUS_OK; i++) {
        const uint32_t branch = (uint32_t)(i % tree->branches);
        if (tree->learned != LOCUS_TREE_ANGLES && is_doubtful(tree, tree->A + i * tree->dim * tree->dim))
            status = locus_tree_need(tree, &branch, 1, error);
    }
    return status;
}

locus_status locus_tree_bind(locus_tree *tree, const double *const *values, const double *A, locus_owned *memory,
                             locus_error *error) {
    const size_t count = tree->tables * tree->branches, numbers = count * tree->dim * tree->dim;
    locus_tree_store store = {memory, error, LOCUS_OK};
    tree->A = tree->learned != LOCUS_TREE_FIXED ? values_of(tree, values[tree->slice.tensor], &store) : A;
    tree->states = locus_tree_take(&store, count, sizeof *tree->states); /* UNMADE is 0 */
    tree->generators = locus_tree_room(&store, numbers, sizeof(double));
    tree->transposed = locus_tree_room(&store, numbers, sizeof(double));
    if (keeps_bases(tree))
        tree->bases = locus_tree_room(&store, count * basis_elements(tree->dim), sizeof(double));
    tree->generators_float32 = locus_tree_room(&store, numbers, sizeof(float));
    tree->transposed_float32 = locus_tree_room(&store, numbers, sizeof(float));
    return store.status == LOCUS_OK ? try_doubtful(tree, error) : store.status;
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
    const double *A = tree->A + (table * tree->branches + branch) * elements;
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

/* SPDX-License-Identifier: MIT */
/* What a plan prepares for a tree: which nodes become anchors, how they are cut, and the anchors' matrices, if they can
 * be kept. The layout follows from positions and sizes, so all plans on these positions share it; matrices follow from
 * the generators, so all layers of a model do.
 *
 * When a node is worth a matrix: P_c = P_a W and its two products backward are 3·dim³ multiply-adds in double, which
 * take as long as 6·dim³ in float. A vector that goes the edge alone costs dim² forward and 3 to 4 dim² backward. So
 * from about 1.5·dim vectors on the matrix is cheaper. Measured, the time hardly changes from 1.25·dim to 4·dim; 2·dim
 * (LOCUS_TREE_VECTORS) holds few matrices, and bounds the vectors that go an edge alone. */
#include "operators/tree/tree_matrices.h"
#include "operators/tree/tree_store.h"

#include <string.h>

/* ---- which nodes ---- */

static void count_side(locus_tree_nodes *nodes, size_t s, const locus_token_side *side) {
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t i = 0; i < side->runs[r].count; i++)
            nodes->own[s][side->values[side->runs[r].first + i]]++;
    memcpy(nodes->below[s], nodes->own[s], nodes->trie.count * sizeof *nodes->below[s]);
    for (uint32_t i = nodes->trie.count; i-- > 1;)
        nodes->below[s][nodes->trie.parent[i]] += nodes->below[s][i];
}

/* With keys where queries stand, each token stands for a query and a key. */
static double vectors_through(const locus_tree_nodes *nodes, uint32_t node) {
    double tokens =
        nodes->sides == 1 ? 2.0 * nodes->below[0][node] : (double)nodes->below[0][node] + (double)nodes->below[1][node];
    return tokens * (double)nodes->each;
}

static size_t choose_anchors(locus_tree_nodes *nodes, double threshold) {
    size_t count = 0;
    nodes->made[0] = true;
    for (uint32_t i = 1; i < nodes->trie.count; i++) {
        nodes->made[i] = nodes->made[nodes->trie.parent[i]] && vectors_through(nodes, i) > threshold;
        count += nodes->made[i];
    }
    return count;
}

/* Numbers the generators that act on some vector. */
static size_t number_generators(locus_tree_nodes *nodes, uint32_t *number, uint32_t *used) {
    size_t count = 0;
    for (uint32_t i = 1; i < nodes->trie.count; i++) {
        const int64_t branch = nodes->trie.branch[i];
        const size_t generator = (size_t)(branch < 0 ? -branch : branch) - 1;
        if (nodes->below[0][i] == 0 && (nodes->sides == 1 || nodes->below[1][i] == 0))
            continue;
        if (number[generator] == 0) {
            used[count++] = (uint32_t)generator;
            number[generator] = (uint32_t)count;
        }
        nodes->generator[i] = 2 * (number[generator] - 1) + (branch < 0);
    }
    return count;
}

static void take_nodes(locus_tree_nodes *nodes, locus_tree_store *store) {
    const size_t count = nodes->trie.count;
    for (size_t s = 0; s < nodes->sides; s++) {
        nodes->own[s] = locus_tree_take(store, count, sizeof(uint32_t));
        nodes->below[s] = locus_tree_take(store, count, sizeof(uint32_t));
    }
    nodes->anchor = locus_tree_take(store, count, sizeof(uint32_t));
    nodes->made = locus_tree_take(store, count, sizeof(bool));
    nodes->node = locus_tree_take(store, count, sizeof(uint32_t));
    nodes->generator = locus_tree_take(store, count, sizeof(uint32_t));
}

/* ---- how many matrices there may be ---- */

static size_t square_root(size_t value) {
    size_t root = 1;
    while (root * root < value)
        root++;
    return root;
}

/* Bytes of a table's matrices and gradients with `anchors` in chunks of `most`: P, dP and a slot in a chunk, P and dP
 * at each checkpoint. */
static double chunk_bytes(const locus_tree *tree, size_t anchors, size_t most) {
    double matrices = 3.0 * (double)most + 2.0 * (2.0 * (double)anchors / (double)most + 1.0);
    return matrices * (double)(tree->dim * tree->dim * sizeof(double));
}

/* What a layout is made from. */
typedef struct locus_tree_request {
    const locus_tree *tree; /* its sizes only */
    const locus_placement *placement;
    bool shared; /* keys stand where queries stand */
    size_t workspace;
} locus_tree_request;

typedef struct locus_tree_laid {
    locus_tree_layout layout;
    bool keeps;
} locus_tree_laid;

/* Chooses anchors, fewer if the workspace is too small even for chunks; returns how many a chunk may have. */
static size_t choose(const locus_tree_request *asked, locus_tree_nodes *nodes, locus_tree_laid *laid) {
    const locus_tree *tree = asked->tree;
    const double matrix = (double)(tree->dim * tree->dim);
    // NOLINTNEXTLINE(cert-flp30-c): doubling is exact
    for (double threshold = LOCUS_TREE_VECTORS * (double)tree->dim;; threshold *= 2) {
        const size_t count = choose_anchors(nodes, threshold);
        const size_t kept = 2 * sizeof(double); /* P, and both ways round in float */
        laid->layout.anchor_count = count;
        laid->keeps = (double)(tree->tables * count * kept) * matrix <= (double)asked->workspace / 4;
        if (laid->keeps)
            return SIZE_MAX;
        const size_t most = square_root(2 * count);
        if (chunk_bytes(tree, count, most) <= (double)asked->workspace / 2)
            return most;
    }
}

/* So many parts that the slots of all tables are a small share of the workspace. */
static size_t choose_parts(const locus_tree_request *asked, const locus_tree_layout *layout) {
    const locus_tree *tree = asked->tree;
    const double slots = (double)(tree->tables * layout->used_count * tree->dim * tree->dim * sizeof(double));
    size_t parts = LOCUS_TREE_PARTS;
    while (parts > 1 && (double)parts * slots > (double)asked->workspace / 8)
        parts /= 2;
    return parts;
}

/* ---- all of it ---- */

static locus_status lay_out(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_tree_request *asked = request;
    locus_tree_laid *laid = table;
    locus_owned passing = {0};
    locus_tree_store store = {&passing, error, LOCUS_OK}, kept = {memory, error, LOCUS_OK};
    const locus_tree *tree = asked->tree;
    const locus_token_side *sides[] = {&asked->placement->query, &asked->placement->key};
    locus_tree_nodes nodes = {
        .trie = asked->placement->trie, .sides = asked->shared ? 1 : 2, .each = tree->tables == 1 ? tree->heads : 1};
    take_nodes(&nodes, &store);
    const size_t generators = tree->branches < nodes.trie.count ? tree->branches : nodes.trie.count;
    uint32_t *number = locus_tree_take(&store, tree->branches, sizeof *number);
    uint32_t *used = locus_tree_take(&kept, generators, sizeof *used);
    locus_status status = store.status != LOCUS_OK ? store.status : kept.status;
    if (status == LOCUS_OK) {
        for (size_t s = 0; s < nodes.sides; s++)
            count_side(&nodes, s, sides[s]); // NOLINT(clang-analyzer-core.CallAndMessage): two sides at most
        laid->layout.sides = nodes.sides;
        laid->layout.used_count = number_generators(&nodes, number, used);
        laid->layout.used = used;
        const size_t most = choose(asked, &nodes, laid);
        status = locus_tree_cut_chunks(&nodes, most, &laid->layout, memory, error);
    }
    if (status == LOCUS_OK)
        status = locus_tree_cut_blocks(&nodes, sides, choose_parts(asked, &laid->layout), &laid->layout, memory, error);
    locus_owned_release(&passing);
    return status;
}

static const locus_table_kind laid_kind = {sizeof(locus_tree_laid), lay_out};

static locus_status take_layout(locus_tree_operator *op, const locus_places *places, size_t coordinate,
                                locus_owned *memory, locus_error *error) {
    const locus_tree *tree = op->tree;
    const size_t key[] = {coordinate, tree->dim, tree->tables, tree->heads, tree->branches, places->workspace};
    const locus_tree_request request = {tree, &places->items[coordinate], places->shared, places->workspace};
    const locus_table_asked asked = {&laid_kind, key, sizeof key, &request};
    const void *table = NULL;
    const locus_status status = locus_tables_get(places->tables, &asked, memory, &table, error);
    if (status != LOCUS_OK)
        return status;
    op->layout = ((const locus_tree_laid *)table)->layout;
    op->keeps = ((const locus_tree_laid *)table)->keeps;
    return LOCUS_OK;
}

static locus_status keep_matrices(locus_tree_operator *op, locus_owned *memory, locus_error *error) {
    const size_t numbers = op->tree->tables * op->layout.anchor_count * op->tree->dim * op->tree->dim;
    locus_tree_store store = {memory, error, LOCUS_OK};
    double *matrices = locus_tree_take(&store, numbers, sizeof *matrices);
    float *rounded = locus_tree_take(&store, numbers, sizeof *rounded);
    float *transposed = locus_tree_take(&store, numbers, sizeof *transposed);
    if (store.status != LOCUS_OK)
        return store.status;
    op->matrices = matrices;
    op->matrices_float32 = rounded;
    op->transposed_float32 = transposed;
    locus_tree_make_kept(op, matrices, rounded, transposed);
    return LOCUS_OK;
}

locus_status locus_tree_place(const locus_tree *tree, const locus_places *places, size_t coordinate,
                              locus_owned *memory, const locus_whole_operator **placed, locus_error *error) {
    const locus_placement *placement = &places->items[coordinate];
    locus_tree_operator *op = locus_owned_get(memory, 1, sizeof *op);
    if (!op)
        return locus_owned_fail(error);
    op->base.class = &locus_tree_class;
    op->tree = tree;
    op->side[0] = &placement->query;
    op->side[1] = &placement->key;
    op->workspace = places->workspace;
    locus_status status = take_layout(op, places, coordinate, memory, error);
    if (status == LOCUS_OK)
        status = locus_tree_need(tree, op->layout.used, op->layout.used_count, error);
    if (status == LOCUS_OK && op->keeps)
        status = keep_matrices(op, memory, error);
    if (status == LOCUS_OK)
        *placed = &op->base;
    return status;
}

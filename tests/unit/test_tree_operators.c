/* SPDX-License-Identifier: MIT */
/* Operators of trees against the plainest oracle there is: each token's generators applied to its vector one after
 * another, in double. Positions are made by hand, so that every shape of tree occurs: bushes with signed branches,
 * stars, combs, paths, one node alone, nothing at all. Gradients by central differences; results in chunks, by threads,
 * in place and in float32 against those in double. */
#include "operators/tree/tree_layout.h"
#include "sanitized.h"
#include "threads_only.h"

#include <locus/parallel.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- random numbers ---- */

static const locus_random stream = {.seed = 31, .purpose = LOCUS_RANDOM_USER};
static uint64_t drawn;

/* One of so many that are drawn once: to draw each anew takes longer than all else. */
static double normal(void) {
    enum { MANY = 40009 };
    static double kept[MANY];
    static size_t count;
    for (; count < MANY; count++)
        kept[count] = locus_random_normal(&stream, count);
    return kept[drawn++ % MANY];
}

static size_t below(size_t bound) {
    return (size_t)locus_random_below(&stream, drawn++, bound);
}

static void *grab(size_t count, size_t size) {
    void *block = calloc(count + 1, size);
    assert_non_null(block);
    return block;
}

static double *normals(size_t count, double deviation) {
    double *values = grab(count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = deviation * normal();
    return values;
}

/* ---- positions by hand ---- */

typedef enum shape { BUSH, STAR, COMB, PATH, LONE, CROWD, FAN, HALVES, NOTHING } shape;

#define GAP 3 /* unused tokens before, between and behind the two sequences */

typedef struct grove {
    locus_trie *trie;
    size_t turn;
    int64_t *values[2];
    locus_token_run runs[2][2];
    locus_placement placement;
    locus_places places;
} grove;

static uint32_t step(grove *g, uint32_t node, int64_t branch) {
    uint32_t next = 0;
    assert_int_equal(locus_trie_step(g->trie, node, branch, &next, NULL), LOCUS_OK);
    return next;
}

static int64_t any_branch(size_t branches) {
    int64_t branch = (int64_t)below(branches) + 1;
    return below(3) == 0 ? -branch : branch;
}

static uint32_t wander(grove *g, size_t steps, size_t branches) {
    uint32_t node = 0;
    for (size_t i = 0; i < steps; i++)
        node = step(g, node, any_branch(branches));
    return node;
}

static uint32_t along(grove *g, size_t steps) {
    uint32_t node = 0;
    for (size_t i = 0; i < steps; i++)
        node = step(g, node, i % 5 == 4 ? -2 : 1);
    return node;
}

/* The node of token number `index`. */
static uint32_t place_token(grove *g, shape kind, size_t index, size_t size, size_t branches) {
    switch (kind) {
    case BUSH:
        return wander(g, below(size + 1), branches);
    case STAR:
        return step(g, 0, any_branch(branches));
    case COMB:
        return step(g, along(g, index % size), 3);
    case PATH:
        return along(g, index % size);
    case LONE:
        return along(g, index == 0 ? size : index % 3);
    case CROWD:
        return along(g, size);
    case FAN: /* `size` tokens on each letter */
        return step(g, 0, (int64_t)(index / size) + 1);
    case HALVES: /* every second one on words of two letters, the others nowhere */
        index /= 2 * size;
        return g->turn++ % 2 ? step(g, step(g, 0, (int64_t)(index / branches) + 1), (int64_t)(index % branches) + 1)
                             : 0;
    case NOTHING:
        break;
    }
    return 0;
}

static void fill_side(grove *g, size_t s, size_t tokens, shape kind, size_t size, size_t branches) {
    locus_token_side *side = s ? &g->placement.key : &g->placement.query;
    size_t first = tokens / 3, second = tokens - first;
    g->runs[s][0] = (locus_token_run){GAP, first, 0};
    g->runs[s][1] = (locus_token_run){2 * GAP + first, second, first};
    g->values[s] = grab(tokens + 3 * GAP, sizeof(int64_t));
    for (size_t i = 0; i < tokens; i++)
        g->values[s][GAP + i + (i >= first ? GAP : 0)] = place_token(g, kind, i, size, branches);
    *side = (locus_token_side){.values = g->values[s],
                               .tokens = tokens + 3 * GAP,
                               .used = tokens,
                               .runs = g->runs[s],
                               .run_count = tokens ? 2 : 0};
}

/* keys == SIZE_MAX: where queries stand. */
static void plant(grove *g, shape kind, size_t size, size_t branches, size_t queries, size_t keys) {
    memset(g, 0, sizeof *g);
    assert_int_equal(locus_trie_create(&g->trie, NULL), LOCUS_OK);
    fill_side(g, 0, queries, kind, size, branches);
    if (keys == SIZE_MAX)
        g->placement.key = g->placement.query;
    else
        fill_side(g, 1, keys, kind, size, branches);
    g->placement.trie = locus_trie_look(g->trie);
    g->places =
        (locus_places){.count = 1, .items = &g->placement, .shared = keys == SIZE_MAX, .workspace = (size_t)1 << 30};
}

static void fell(grove *g) {
    locus_trie_destroy(&g->trie);
    free(g->values[0]);
    free(g->values[1]);
}

/* ---- generators and plans ---- */

typedef struct bench {
    locus_tree tree;
    size_t
        elements; /* of the parameter: [tables, generators, …] with one generator before this tree's and one behind */
    double *parameter;
    locus_owned bound, placed;
    const locus_whole_operator *op;
} bench;

typedef struct make {
    size_t heads, tables, dim, branches;
    unsigned sides;
    locus_tree_learning learned;
    locus_orthogonal_kind kind;
} make;

static void bind(bench *b) {
    const double *values[2] = {NULL, b->parameter};
    locus_owned_release(&b->bound);
    locus_error error = {0};
    locus_status status = locus_tree_bind(&b->tree, values, b->parameter, &b->bound, &error);
    if (status != LOCUS_OK)
        fail_msg("%s", error.message);
}

/* ---- what is laid out, whatever it computes ---- */

/* Entries follow one another in a level, groups by generator; passes are the tokens of all levels but the first.
 * Returns whether the levels are so many that they are walked in double. */
static bool check_levels(const locus_tree_layout *layout, const locus_tree_block *block) {
    for (size_t s = 0; s < layout->sides; s++) {
        uint64_t passes = 0;
        for (uint32_t l = 0; l < block->levels; l++) {
            const locus_tree_level *level = &layout->levels[block->level + l];
            uint32_t tokens = 0;
            assert_true(level[0].entry < level[1].entry && (l > 0) == (level[0].group < level[1].group));
            for (uint32_t e = level[0].entry; e < level[1].entry; e++) {
                const locus_tree_rows *rows = &layout->rows[e * layout->sides + s];
                assert_true(rows->start == tokens && rows->own <= rows->count);
                tokens += rows->count;
            }
            for (uint32_t i = level[0].group; i + 1 < level[1].group; i++)
                assert_true(layout->groups[i].generator < layout->groups[i + 1].generator &&
                            layout->groups[i].first < layout->groups[i + 1].first);
            if (l == 0)
                assert_int_equal(tokens, block->tokens[s]);
            passes += l > 0 ? tokens : 0;
        }
        assert_true(passes == block->passes[s]);
    }
    return block->levels > LOCUS_TREE_EXACT_LEVELS + 1;
}

/* Slots of a part are its own, one for each generator and each anchor that it meets. */
static void check_slots(const locus_tree_layout *layout, const locus_tree_chunk *chunk, const locus_tree_part *part) {
    bool exact = false;
    for (uint32_t b = part->block; b < part->block + part->blocks; b++) {
        const locus_tree_block *block = &layout->blocks[b];
        const locus_tree_level *level = &layout->levels[block->level], *last = level + block->levels;
        exact |= check_levels(layout, block);
        for (uint32_t i = level->group; i < last->group; i++) {
            const locus_tree_group *group = &layout->groups[i];
            assert_in_range(group->slot, part->slot, part->slot + part->slots - 1);
            assert_int_equal(layout->slot_used[chunk->slot + group->slot], group->generator / 2);
        }
        for (uint32_t p = 0; p < level[1].entry - level[0].entry; p++) {
            const locus_tree_piece *piece = &layout->pieces[block->piece + p];
            if (piece->anchor == LOCUS_TREE_NONE)
                continue;
            assert_in_range(piece->slot, part->piece, part->piece + part->pieces - 1);
            assert_int_equal(layout->slot_anchor[chunk->piece + piece->slot], piece->anchor);
        }
    }
    for (uint32_t i = part->slot; i < part->slot + part->slots; i++)
        for (uint32_t j = part->slot; j < i; j++)
            assert_true(layout->slot_used[chunk->slot + i] != layout->slot_used[chunk->slot + j]);
    for (uint32_t i = part->piece + 1; i < part->piece + part->pieces; i++)
        assert_true(layout->slot_anchor[chunk->piece + i - 1] < layout->slot_anchor[chunk->piece + i]);
    assert_int_equal(part->exact, exact);
}

static uint64_t work_of(const locus_tree_block *block) {
    return 1 + block->tokens[0] + (uint64_t)block->tokens[1] + 2 * (block->passes[0] + block->passes[1]);
}

/* Slots of all tables are an eighth of the workspace, or one part's. */
static uint64_t parts_of(const bench *b, const locus_tree_layout *layout, size_t workspace) {
    const size_t slots = b->tree.tables * layout->used_count * b->tree.dim * b->tree.dim * sizeof(double);
    uint64_t parts = LOCUS_TREE_PARTS;
    for (; parts > 1 && 8 * parts * slots > workspace; parts /= 2)
        ;
    return parts;
}

/* Parts follow one another; each ends with the block that takes it over its share, of `most` parts. */
static void check_parts(const locus_tree_layout *layout, const locus_tree_chunk *chunk, uint64_t most) {
    const locus_tree_part *parts = &layout->parts[chunk->part];
    uint32_t block = chunk->block, slots = 0, pieces = 0;
    uint64_t total = 0, done = 0;
    most = most < chunk->blocks ? most : chunk->blocks;
    for (uint32_t b = 0; b < chunk->blocks; b++)
        total += work_of(&layout->blocks[chunk->block + b]);
    assert_true(chunk->parts <= most);
    for (uint32_t p = 0; p < chunk->parts; p++) {
        assert_true(parts[p].block == block && parts[p].blocks > 0 && parts[p].slot == slots &&
                    parts[p].piece == pieces);
        for (uint32_t b = 0; b < parts[p].blocks; b++, block++) {
            assert_true(b == 0 || done < total * (p + 1) / most);
            done += work_of(&layout->blocks[block]);
        }
        assert_true(done >= total * (p + 1) / most);
        slots += parts[p].slots;
        pieces += parts[p].pieces;
        check_slots(layout, chunk, &parts[p]);
    }
    assert_true(block == chunk->block + chunk->blocks && slots == chunk->slots && pieces == chunk->pieces);
}

/* Blocks take all tokens in their order; of two neighbours in a chunk neither could have taken the other. */
static void check_layout(const bench *b, const grove *g) {
    const locus_tree_operator *op = (const locus_tree_operator *)b->op;
    const locus_tree_layout *layout = &op->layout;
    const locus_token_side *sides[] = {&g->placement.query, &g->placement.key};
    const size_t each = (b->tree.tables == 1 ? b->tree.heads : 1) * (layout->sides == 1 ? 2 : 1);
    size_t rows[2] = {0, 0}, slots = 0, pieces = 0, before = 0;
    uint32_t block = 0, token[2] = {0, 0};
    bool exact = false;
    assert_int_equal(layout->sides, g->places.shared ? 1 : 2);
    for (size_t c = 0; c < layout->chunk_count; c++) {
        const locus_tree_chunk *chunk = &layout->chunks[c];
        assert_int_equal(chunk->block, block);
        for (uint32_t i = 0; i < chunk->blocks; i++, block++) {
            const locus_tree_block *at = &layout->blocks[block];
            size_t vectors = 0;
            for (size_t s = 0; s < layout->sides; s++) {
                assert_int_equal(at->token[s], token[s]);
                token[s] += at->tokens[s];
                vectors += at->tokens[s] * each;
                rows[s] = at->tokens[s] > rows[s] ? at->tokens[s] : rows[s];
            }
            assert_true(vectors > 0 && (i == 0 || before + vectors > LOCUS_TREE_BLOCK_VECTORS));
            before = vectors;
        }
        check_parts(layout, chunk, parts_of(b, layout, g->places.workspace));
        for (uint32_t p = 0; p < chunk->parts; p++)
            exact |= layout->parts[chunk->part + p].exact;
        slots = chunk->slots > slots ? chunk->slots : slots;
        pieces = chunk->pieces > pieces ? chunk->pieces : pieces;
    }
    assert_true(block == layout->block_count && exact == layout->exact);
    assert_true(slots == layout->slots_most && pieces == layout->pieces_most);
    for (size_t s = 0; s < layout->sides; s++)
        assert_true(token[s] == sides[s]->used && rows[s] == layout->rows_most[s]);
}

static void put(bench *b, const grove *g) {
    locus_owned_release(&b->placed);
    assert_int_equal(locus_tree_place(&b->tree, &g->places, 0, &b->placed, &b->op, NULL), LOCUS_OK);
}

static void open_bench(bench *b, make m, const grove *g) {
    const bool angles = m.learned == LOCUS_TREE_ANGLES, fixed = m.learned == LOCUS_TREE_FIXED;
    *b = (bench){.tree = {.heads = m.heads,
                          .dim = m.dim,
                          .branches = m.branches,
                          .tables = m.tables,
                          .sides = m.sides,
                          .learned = m.learned,
                          .kind = m.kind,
                          .slice = {1, m.branches + (fixed ? 0 : 2), fixed ? 0 : 1}}};
    b->elements = m.tables * b->tree.slice.generators * (angles ? m.dim / 2 : m.dim * m.dim);
    b->parameter = normals(b->elements, 0.4);
    bind(b);
    put(b, g);
    check_layout(b, g);
}

static void close_bench(bench *b) {
    locus_owned_release(&b->bound);
    locus_owned_release(&b->placed);
    free(b->parameter);
}

/* ---- streams ---- */

typedef struct flow {
    locus_role role;
    locus_direction direction;
    double *x, *gy, *y; /* [tokens, heads, dim] with a head stride of dim + 1, tokens last to first where role is KEY */
} flow;

static bool on_keys(locus_role role) {
    return role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
}

static const locus_token_side *side_of(const grove *g, locus_role role) {
    return on_keys(role) ? &g->placement.key : &g->placement.query;
}

static size_t row_of(const bench *b) {
    return b->tree.heads * (b->tree.dim + 1) + 2;
}

static size_t numbers_of(const bench *b, const grove *g, locus_role role) {
    return side_of(g, role)->tokens * row_of(b);
}

static void fill_flow(const bench *b, const grove *g, flow *f, locus_role role, locus_direction direction) {
    const size_t count = numbers_of(b, g, role);
    *f = (flow){role, direction, normals(count, 1), normals(count, 1), normals(count, 1)};
}

static void drain(flow *f) {
    free(f->x);
    free(f->gy);
    free(f->y);
}

/* Runs the operator over `count` flows; float32 through narrow copies. gradients NULL: forward, unless backward. */
typedef struct job {
    locus_dtype dtype;
    bool backward, in_place;
    double *gradients; /* [elements], accumulated into; NULL: not wanted */
} job;

static void *as_dtype(const double *from, size_t count, locus_dtype dtype) {
    void *copy = grab(count, sizeof(double));
    for (size_t i = 0; i < count; i++)
        if (dtype == LOCUS_FLOAT64)
            ((double *)copy)[i] = from[i];
        else
            ((float *)copy)[i] = (float)from[i];
    return copy;
}

static void back_to_double(const void *from, size_t count, locus_dtype dtype, double *to) {
    for (size_t i = 0; i < count; i++)
        to[i] = dtype == LOCUS_FLOAT64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

typedef struct copies {
    void *data[LOCUS_WHOLE_STREAMS_MAX][3]; /* x, gy, y */
    locus_role roles[LOCUS_WHOLE_STREAMS_MAX];
    locus_whole_stream streams[LOCUS_WHOLE_STREAMS_MAX];
} copies;

static void copy_flow(const bench *b, const grove *g, const flow *f, const job *what, copies *to, size_t i) {
    const ptrdiff_t row = (ptrdiff_t)row_of(b), head = (ptrdiff_t)b->tree.dim + 1;
    const double *from[3] = {f->x, f->gy, f->y};
    for (size_t k = 0; k < 3; k++)
        to->data[i][k] = as_dtype(from[k], numbers_of(b, g, f->role), what->dtype);
    to->roles[i] = f->role;
    const bool x = what->gradients || !what->backward;
    const size_t y = !what->in_place ? 2 : what->backward ? 1 : 0;
    to->streams[i] =
        (locus_whole_stream){.role = f->role,
                             .direction = f->direction,
                             .x = {.data = x ? to->data[i][0] : NULL, .token = row, .head = head},
                             .gy = {.data = what->backward ? to->data[i][1] : NULL, .token = row, .head = head},
                             .y = {.data = to->data[i][y], .token = row, .head = head}};
}

static void call_class(const bench *b, const copies *all, size_t count, const job *what,
                       const locus_tensor *gradients) {
    const size_t bytes = b->op->class->workspace_bytes(b->op, what->dtype, all->roles, count, what->backward) + 1;
    const locus_whole_call call = {.dtype = what->dtype,
                                   .count = count,
                                   .streams = all->streams,
                                   .parameters = gradients,
                                   .workspace = locus_allocate(bytes)};
    assert_non_null(call.workspace);
    memset(call.workspace, 0x7f, bytes); /* nothing may count on zeros */
    if (what->backward)
        b->op->class->backward(b->op, &call);
    else
        b->op->class->forward(b->op, &call);
    locus_release(call.workspace, bytes);
}

static void operate(const bench *b, const grove *g, flow *flows, size_t count, const job *what) {
    copies all;
    const bool learns = what->backward && what->gradients;
    for (size_t i = 0; i < count; i++)
        copy_flow(b, g, &flows[i], what, &all, i);
    const int64_t extent[1] = {(int64_t)b->elements};
    void *gradients = as_dtype(learns ? what->gradients : b->parameter, b->elements, what->dtype);
    const locus_tensor tensors[2] = {{0}, locus_tensor_view(gradients, what->dtype, 1, extent)};
    call_class(b, &all, count, what, learns ? tensors : NULL);
    for (size_t i = 0; i < count; i++) {
        back_to_double(all.streams[i].y.data, numbers_of(b, g, flows[i].role), what->dtype, flows[i].y);
        for (size_t k = 0; k < 3; k++)
            free(all.data[i][k]);
    }
    if (learns)
        back_to_double(gradients, b->elements, what->dtype, what->gradients);
    free(gradients);
}

/* ---- the oracle ---- */

static void apply_generator(const bench *b, size_t table, int64_t branch, bool transposed, double *v) {
    const size_t dim = b->tree.dim, index = (size_t)(branch < 0 ? -branch : branch) - 1;
    const double *W = b->tree.generators + (table * b->tree.branches + index) * dim * dim;
    double out[16] = {0};
    assert_true(dim <= 16);
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            out[i] += (transposed != (branch < 0) ? W[j * dim + i] : W[i * dim + j]) * v[j];
    memcpy(v, out, dim * sizeof *v);
}

/* v ← W_b1 … W_bt v, or its transpose. */
static void apply_word(const bench *b, const grove *g, size_t table, uint32_t node, bool transposed, double *v) {
    const locus_trie_view *trie = &g->placement.trie;
    const size_t depth = trie->depth[node];
    int64_t *word = grab(depth, sizeof *word);
    for (size_t i = depth; i-- > 0; node = trie->parent[node])
        word[i] = trie->branch[node];
    for (size_t i = 0; i < depth; i++)
        apply_generator(b, table, word[transposed ? i : depth - 1 - i], transposed, v);
    free(word);
}

static bool acts(const bench *b, locus_role role) {
    return role == LOCUS_ROLE_QUERY ? (b->tree.sides & 1) : role == LOCUS_ROLE_KEY ? (b->tree.sides & 2) : true;
}

static bool is_used(const locus_token_side *side, size_t token) {
    for (size_t r = 0; r < side->run_count; r++)
        if (token >= side->runs[r].first && token < side->runs[r].first + side->runs[r].count)
            return true;
    return false;
}

/* The largest difference between f->y and what it must be, `before` where nothing is to be written. */
static double worst(const bench *b, const grove *g, const flow *f, const double *from, const double *before,
                    bool backward) {
    const locus_token_side *side = side_of(g, f->role);
    const size_t dim = b->tree.dim, row = row_of(b);
    const bool transposed = ((f->role == LOCUS_ROLE_OUTPUT) != (f->direction == LOCUS_INVERSE)) != backward;
    double largest = 0, *expected = grab(row, sizeof *expected);
    for (size_t t = 0; t < side->tokens; t++) {
        memcpy(expected, before + t * row, row * sizeof *expected);
        for (size_t h = 0; h < b->tree.heads && is_used(side, t); h++) {
            double *v = expected + h * (dim + 1);
            memcpy(v, from + t * row + h * (dim + 1), dim * sizeof *v);
            if (acts(b, f->role))
                apply_word(b, g, b->tree.tables == 1 ? 0 : h, (uint32_t)side->values[t], transposed, v);
        }
        for (size_t i = 0; i < row; i++)
            largest = fmax(largest, fabs(expected[i] - f->y[t * row + i]));
    }
    free(expected);
    return largest;
}

static void check_flows(const bench *b, const grove *g, const locus_role *roles, size_t count,
                        locus_direction direction, const job *what, double tolerance) {
    flow flows[LOCUS_WHOLE_STREAMS_MAX];
    double *before[LOCUS_WHOLE_STREAMS_MAX];
    for (size_t i = 0; i < count; i++) {
        fill_flow(b, g, &flows[i], roles[i], direction);
        const double *target = !what->in_place ? flows[i].y : what->backward ? flows[i].gy : flows[i].x;
        before[i] = as_dtype(target, numbers_of(b, g, roles[i]), LOCUS_FLOAT64);
    }
    operate(b, g, flows, count, what);
    for (size_t i = 0; i < count; i++) {
        const double found =
            worst(b, g, &flows[i], what->backward ? flows[i].gy : flows[i].x, before[i], what->backward);
        if (!(found < tolerance))
            fail_msg("role %d direction %d: off by %g", (int)roles[i], (int)direction, found);
        drain(&flows[i]);
        free(before[i]);
    }
}

static const locus_role all_roles[] = {LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY, LOCUS_ROLE_VALUE, LOCUS_ROLE_OUTPUT};

/* All roles together and each alone, both directions and dtypes, forward and backward, in place and out of place; under
 * a sanitizer one of three combinations. */
static void check_everything(const bench *b, const grove *g) {
    static size_t number;
    double *gradients = grab(b->elements, sizeof *gradients);
    for (unsigned bits = 0; bits < 32; bits++) {
        const locus_direction direction = bits & 1 ? LOCUS_INVERSE : LOCUS_FORWARD;
        const bool wide = (bits & 2) != 0, learns = (bits & 16) != 0 && b->tree.learned != LOCUS_TREE_FIXED;
        const job what = {wide ? LOCUS_FLOAT64 : LOCUS_FLOAT32, (bits & 4) != 0, (bits & 8) != 0,
                          learns ? gradients : NULL};
        const double tolerance = wide ? 1e-11 : 3e-5;
        if (left_out(number++, 3))
            continue;
        check_flows(b, g, all_roles, 4, direction, &what, tolerance);
        check_flows(b, g, all_roles + bits % 4, 1, direction, &what, tolerance);
    }
    free(gradients);
}

static void test_every_shape(void **state) {
    (void)state;
    static const struct {
        shape kind;
        size_t size, branches, queries, keys, dim;
    } cases[] = {{BUSH, 6, 2, 60, SIZE_MAX, 6},  {BUSH, 5, 3, 41, 23, 5},         {BUSH, 9, 5, 7, 90, 16},
                 {STAR, 1, 5, 50, 20, 7},        {COMB, 30, 3, 60, SIZE_MAX, 4},  {PATH, 60, 2, 60, 45, 8},
                 {LONE, 150, 2, 2, SIZE_MAX, 9}, {CROWD, 4, 2, 70, 1, 3},         {NOTHING, 0, 1, 9, SIZE_MAX, 4},
                 {BUSH, 3, 2, 0, 12, 6},         {NOTHING, 0, 1, 0, SIZE_MAX, 4}, {BUSH, 4, 1, 30, SIZE_MAX, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t shared = SANITIZED(i % 2, 0); shared < SANITIZED(i % 2 + 1, 2); shared++) {
            grove g;
            bench b;
            plant(&g, cases[i].kind, cases[i].size, cases[i].branches, cases[i].queries, cases[i].keys);
            const make m = {3,
                            shared ? 1 : 3,
                            cases[i].dim,
                            cases[i].branches,
                            3,
                            i % 2 ? LOCUS_TREE_FIXED : LOCUS_TREE_ORTHOGONAL,
                            LOCUS_ORTHOGONAL_SKEW};
            open_bench(&b, m, &g);
            check_everything(&b, &g);
            close_bench(&b);
            fell(&g);
        }
}

/* Enough tokens for several blocks, parts and pieces of one anchor. */
static void test_many_blocks(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        grove g;
        bench b;
        plant(&g, i == 0 ? BUSH : i == 1 ? CROWD : PATH, i == 2 ? 200 : 5, 3, 2500, i == 1 ? 1500 : SIZE_MAX);
        open_bench(&b, (make){2, i == 0 ? 1 : 2, 8, 3, 3, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW}, &g);
        double *gradients = grab(b.elements, sizeof *gradients);
        const job forward = {LOCUS_FLOAT32, false, false, NULL}, back = {LOCUS_FLOAT32, true, true, gradients};
        check_flows(&b, &g, all_roles, 2, LOCUS_FORWARD, &forward, 3e-5);
        check_flows(&b, &g, all_roles + 2, 2, LOCUS_FORWARD, &back, 3e-5);
        free(gradients);
        close_bench(&b);
        fell(&g);
    }
}

static void test_sides(void **state) {
    (void)state;
    for (unsigned sides = 0; sides < 4; sides++) {
        grove g;
        bench b;
        plant(&g, BUSH, 5, 2, 40, sides % 2 ? 30 : SIZE_MAX);
        open_bench(&b, (make){2, 2, 6, 2, sides, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW}, &g);
        check_everything(&b, &g);
        close_bench(&b);
        fell(&g);
    }
}

/* ---- gradients of parameters ---- */

static double loss(const bench *b, const grove *g, flow *flows, size_t count) {
    const job what = {LOCUS_FLOAT64, false, false, NULL};
    double sum = 0;
    operate(b, g, flows, count, &what);
    for (size_t i = 0; i < count; i++) {
        const locus_token_side *side = side_of(g, flows[i].role);
        for (size_t t = 0; t < side->tokens; t++)
            for (size_t h = 0; h < b->tree.heads && is_used(side, t); h++)
                for (size_t j = 0; j < b->tree.dim; j++) {
                    size_t at = t * row_of(b) + h * (b->tree.dim + 1) + j;
                    sum += flows[i].y[at] * flows[i].gy[at];
                }
    }
    return sum;
}

/* dL/dp by differences of fourth order. Depth multiplies what a step does, so steps are the smaller. */
static double slope(bench *b, const grove *g, flow *flows, size_t count, double *parameter) {
    static const double offsets[] = {-2, -1, 1, 2}, weights[] = {1, -8, 8, -1};
    const double kept = *parameter;
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < g->placement.trie.count; i++)
        deepest = g->placement.trie.depth[i] > deepest ? g->placement.trie.depth[i] : deepest;
    const double size = 3e-3 / (deepest + 1.0);
    double sum = 0;
    for (size_t i = 0; i < 4; i++) {
        *parameter = kept + offsets[i] * size;
        bind(b);
        put(b, g);
        sum += weights[i] * loss(b, g, flows, count);
    }
    *parameter = kept;
    return sum / (12 * size);
}

/* All elements if there are few, else some of them, fewer under a sanitizer; those of generators that are not this
 * tree's must stay. */
static void check_gradients(bench *b, const grove *g, const locus_role *roles, size_t count) {
    flow flows[LOCUS_WHOLE_STREAMS_MAX];
    for (size_t i = 0; i < count; i++)
        fill_flow(b, g, &flows[i], roles[i], i % 2 ? LOCUS_INVERSE : LOCUS_FORWARD);
    double *gradients = grab(b->elements, sizeof *gradients), *narrow = grab(b->elements, sizeof *narrow);
    const job what = {LOCUS_FLOAT64, true, false, gradients}, single = {LOCUS_FLOAT32, true, false, narrow};
    for (size_t i = 0; i < b->elements; i++)
        gradients[i] = narrow[i] = 0.25; /* accumulated into */
    operate(b, g, flows, count, &what);
    operate(b, g, flows, count, &single);
    double largest = 1;
    for (size_t i = 0; i < b->elements; i++)
        largest = fmax(largest, fabs(gradients[i]));
    for (size_t i = 0; i < b->elements; i++)
        if (!(fabs(gradients[i] - narrow[i]) < 1e-4 * largest))
            fail_msg("element %zu: %g in float32, %g in float64", i, narrow[i], gradients[i]);
    const size_t elements = b->elements, stride = elements / SANITIZED(8, 60);
    for (size_t i = 0; i < elements; i += 1 + (stride > 1 ? below(stride) : 0)) {
        const double measured = slope(b, g, flows, count, &b->parameter[i]);
        if (!(fabs(measured - (gradients[i] - 0.25)) < 1e-8 * largest))
            fail_msg("element %zu: %.10g by difference, %.10g", i, measured, gradients[i] - 0.25);
    }
    bind(b);
    put(b, g);
    for (size_t i = 0; i < count; i++)
        drain(&flows[i]);
    free(gradients);
    free(narrow);
}

static double *learned_gradients(const bench *b, const grove *g, flow *flows, size_t count, locus_dtype dtype) {
    double *gradients = grab(b->elements, sizeof *gradients);
    const job what = {dtype, true, false, gradients};
    operate(b, g, flows, count, &what);
    return gradients;
}

/* S = A − Aᵀ has no diagonal: not the smallest number there. A generator that no token takes has no gradient. */
static void check_exact_zeros(const bench *b, const grove *g) {
    const size_t dim = b->tree.dim, square = dim * dim, generators = b->tree.slice.generators;
    flow f;
    fill_flow(b, g, &f, LOCUS_ROLE_QUERY, LOCUS_FORWARD);
    double *gradients = learned_gradients(b, g, &f, 1, LOCUS_FLOAT64);
    for (size_t i = 0; i < b->elements; i++) {
        const size_t generator = i / square % generators, at = i % square;
        if (at % (dim + 1) == 0 || generator == 0 || generator + 1 == generators)
            assert_true(gradients[i] == 0);
    }
    free(gradients);
    drain(&f);
}

static void test_gradients(void **state) {
    (void)state;
    static const struct {
        shape kind;
        size_t size, branches, queries, keys, dim, tables;
        locus_tree_learning learned;
        locus_orthogonal_kind generator;
    } cases[] = {{BUSH, 5, 3, 20, 15, 5, 2, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW},
                 {BUSH, 6, 2, 50, SIZE_MAX, 4, 1, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW},
                 {BUSH, 4, 2, 20, 10, 4, 2, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_CAYLEY},
                 {BUSH, 4, 2, 20, 10, 5, 2, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_HOUSEHOLDER},
                 {BUSH, 4, 3, 20, SIZE_MAX, 6, 2, LOCUS_TREE_ANGLES, LOCUS_ORTHOGONAL_SKEW},
                 {COMB, 12, 3, 24, SIZE_MAX, 3, 2, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW},
                 {LONE, 80, 2, 1, SIZE_MAX, 4, 2, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW},
                 {LONE, 1500, 2, 1, SIZE_MAX, 3, 1, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        grove g;
        bench b;
        plant(&g, cases[i].kind, cases[i].size, cases[i].branches, cases[i].queries, cases[i].keys);
        open_bench(&b,
                   (make){2, cases[i].tables, cases[i].dim, cases[i].branches, 3, cases[i].learned, cases[i].generator},
                   &g);
        check_gradients(&b, &g, all_roles, cases[i].size > 1000 ? 2 : 4);
        if (cases[i].learned == LOCUS_TREE_ORTHOGONAL && cases[i].generator != LOCUS_ORTHOGONAL_HOUSEHOLDER)
            check_exact_zeros(&b, &g);
        close_bench(&b);
        fell(&g);
    }
}

/* ---- chunks and threads ---- */

/* The workspace in which all matrices can just not be kept. */
static size_t just_too_small(const bench *b) {
    const locus_tree_operator *op = (const locus_tree_operator *)b->op;
    return 4 * 16 * b->tree.tables * op->layout.anchor_count * b->tree.dim * b->tree.dim - 1;
}

/* Of all that are made one after another, none has more anchors than are asked for, about √2n of n, and two neighbours
 * have more together. */
static void check_chunks(const locus_tree_layout *layout) {
    size_t anchors = 0, most = 1, largest = 0;
    while (most * most < 2 * layout->anchor_count)
        most++;
    for (size_t c = 0; c < layout->chunk_count; c++) {
        const locus_tree_chunk *chunk = &layout->chunks[c];
        assert_int_equal(chunk->anchor, anchors);
        assert_true(chunk->anchors <= most && (c == 0 || chunk->anchors > 0));
        anchors += chunk->anchors;
        largest = chunk->anchors > largest ? chunk->anchors : largest;
    }
    assert_int_equal(anchors, layout->anchor_count);
    assert_int_equal(layout->anchors_most, largest);
    assert_true(layout->chunk_count <= 2 * anchors / most + 2);
}

/* With a workspace so small that matrices are made in chunks, or hardly at all. */
static void test_chunks(void **state) {
    (void)state;
    static const shape kinds[] = {BUSH, COMB, PATH, LONE};
    for (size_t k = 0; k < 4; k++)
        for (size_t w = SANITIZED(k, 0); w < SANITIZED(k + 1, 4); w++) {
            grove g;
            bench b;
            plant(&g, kinds[k], kinds[k] == BUSH ? 9 : 130, 3, 400, k % 2 ? SIZE_MAX : 300);
            open_bench(&b, (make){3, w == 1 ? 1 : 3, 4, 3, 3, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW}, &g);
            flow flows[2];
            fill_flow(&b, &g, &flows[0], LOCUS_ROLE_KEY, LOCUS_FORWARD);
            fill_flow(&b, &g, &flows[1], LOCUS_ROLE_OUTPUT, LOCUS_FORWARD);
            double *whole = learned_gradients(&b, &g, flows, 2, LOCUS_FLOAT64);
            g.places.workspace = just_too_small(&b) >> (2 * w);
            put(&b, &g);
            const locus_tree_operator *op = (const locus_tree_operator *)b.op;
            check_layout(&b, &g);
            if (w == 0 && kinds[k] != LONE)
                assert_true(!op->keeps && op->layout.chunk_count > 3);
            if (!op->keeps)
                check_chunks(&op->layout);
            double *pieces = learned_gradients(&b, &g, flows, 2, LOCUS_FLOAT64), largest = 1;
            for (size_t i = 0; i < b.elements; i++)
                largest = fmax(largest, fabs(whole[i]));
            for (size_t i = 0; i < b.elements; i++)
                if (!(fabs(whole[i] - pieces[i]) < 1e-11 * largest))
                    fail_msg("element %zu: %.12g whole, %.12g in chunks", i, whole[i], pieces[i]);
            const job forward = {LOCUS_FLOAT64, false, false, NULL}, back = {LOCUS_FLOAT64, true, false, NULL};
            check_flows(&b, &g, all_roles, 4, LOCUS_FORWARD, &forward, 1e-11);
            check_flows(&b, &g, all_roles, 4, LOCUS_INVERSE, &back, 1e-11);
            free(whole);
            free(pieces);
            drain(&flows[0]);
            drain(&flows[1]);
            close_bench(&b);
            fell(&g);
        }
}

/* Where a block, a chunk, a part and a tail are just full. */
static void test_edges(void **state) {
    static const struct {
        shape kind;
        size_t size, queries, keys, heads, dim, anchors;
        bool exact;
        uint32_t blocks, tokens[2][2]; /* of how many blocks, and what the first two hold */
    } cases[] = {
        {NOTHING, 0, 511, 513, 2, 4, 0, false, 2, {{511, 1}, {0, 512}}}, /* 1024 vectors */
        {NOTHING, 0, 512, 513, 2, 4, 0, false, 3, {{512, 0}, {0, 512}}},
        {NOTHING, 0, 513, SIZE_MAX, 2, 4, 0, false, 3, {{256}, {256}}},
        {NOTHING, 0, 16384, 0, 2, 4, 0, false, 32, {{512}, {512}}}, /* parts of two blocks */
        {FAN, 16, 528, 0, 2, 16, 0, false, 2, {{512}, {16}}},       /* as many vectors as a matrix costs */
        {FAN, 17, 17, 0, 2, 16, 1, false, 1, {{17}}},
        {FAN, 8, 8, SIZE_MAX, 2, 16, 0, false, 1, {{8}}},
        {FAN, 9, 9, SIZE_MAX, 2, 16, 1, false, 1, {{9}}},
        {FAN, 16, 8, 8, 2, 16, 0, false, 1, {{8, 8}}},
        {FAN, 16, 9, 8, 2, 16, 1, false, 1, {{9, 8}}},
        {FAN, 17, 1020, 0, 2, 16, 60, false, 2, {{512}, {508}}},
        {HALVES, 2, 5000, 0, 8, 16, 52, false, 40, {{128}, {128}}}, /* half of the work is in the tails */
        {LONE, LOCUS_TREE_EXACT_LEVELS, 1, 0, 1, 4, 0, false, 1, {{1}}},
        {LONE, LOCUS_TREE_EXACT_LEVELS + 1, 1, 0, 1, 4, 0, true, 1, {{1}}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        grove g;
        bench b;
        plant(&g, cases[i].kind, cases[i].size, 24, cases[i].queries, cases[i].keys);
        open_bench(&b, (make){cases[i].heads, 1, cases[i].dim, 64, 3, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW},
                   &g);
        const locus_tree_layout *layout = &((const locus_tree_operator *)b.op)->layout;
        if (layout->anchor_count != cases[i].anchors || layout->block_count != cases[i].blocks)
            fail_msg("case %zu: %zu anchors, %zu blocks", i, layout->anchor_count, layout->block_count);
        assert_int_equal(layout->exact, cases[i].exact);
        for (size_t n = 0; n < 2 && n < layout->block_count; n++)
            assert_memory_equal(layout->blocks[n].tokens, cases[i].tokens[n], sizeof cases[i].tokens[n]);
        close_bench(&b);
        fell(&g);
    }
}

/* Eight anchors side by side are kept as long as their matrices take a quarter of the workspace, then go into two
 * chunks of √16, as long as these take half of it: 3·4 matrices and two for each of 5 checkpoints. */
static void test_full_chunks(void **state) {
    enum { MATRIX = 4 * 4 * sizeof(double) };
    static const struct {
        size_t workspace, chunks;
        uint32_t anchors[3];
    } cases[] = {{4 * 8 * 2 * MATRIX, 1, {8}},
                 {4 * 8 * 2 * MATRIX - 1, 3, {0, 4, 4}},
                 {2 * 22 * MATRIX, 3, {0, 4, 4}},
                 {2 * 22 * MATRIX - 1, 1, {0}}};
    grove g;
    bench b;
    (void)state;
    plant(&g, FAN, 20, 8, 160, 0);
    open_bench(&b, (make){1, 1, 4, 8, 3, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW}, &g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        g.places.workspace = cases[i].workspace;
        put(&b, &g);
        check_layout(&b, &g);
        const locus_tree_operator *op = (const locus_tree_operator *)b.op;
        assert_int_equal(op->layout.chunk_count, cases[i].chunks);
        assert_int_equal(op->keeps, cases[i].chunks == 1);
        for (size_t c = 0; c < cases[i].chunks; c++)
            assert_int_equal(op->layout.chunks[c].anchors, cases[i].anchors[c]);
    }
    close_bench(&b);
    fell(&g);
}

/* 32 blocks in 16 parts, in half of them where slots would take more than an eighth of the workspace, and so on. */
static void test_parts_in_a_workspace(void **state) {
    grove g;
    bench b;
    (void)state;
    plant(&g, CROWD, 1, 1, 16384, 0);
    open_bench(&b, (make){2, 1, 4, 1, 3, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW}, &g);
    const locus_tree_layout *layout = &((const locus_tree_operator *)b.op)->layout;
    assert_int_equal(layout->used_count, 1);
    for (uint32_t parts = LOCUS_TREE_PARTS; parts > 1; parts /= 2)
        for (size_t less = 0; less < 2; less++) {
            g.places.workspace = 8 * parts * 4 * 4 * sizeof(double) - less;
            put(&b, &g);
            check_layout(&b, &g);
            layout = &((const locus_tree_operator *)b.op)->layout;
            assert_true(layout->chunk_count == 1 && layout->block_count == 32);
            assert_int_equal(layout->chunks[0].parts, less ? parts / 2 : parts);
        }
    close_bench(&b);
    fell(&g);
}

static void test_threads(void **state) {
    (void)state;
    for (size_t w = 0; w < 2; w++) {
        grove g;
        bench b;
        plant(&g, BUSH, 8, 3, 3000, SIZE_MAX);
        g.places.workspace = w ? 300000 : (size_t)1 << 30;
        open_bench(&b, (make){3, 3, 8, 3, 3, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW}, &g);
        double *gradients[2], *y[2];
        for (size_t i = 0; i < 2; i++) {
            flow f;
            drawn = 1000000;
            assert_int_equal(locus_threads_set(i ? 3 : 1), LOCUS_OK);
            fill_flow(&b, &g, &f, LOCUS_ROLE_QUERY, LOCUS_FORWARD);
            put(&b, &g);
            gradients[i] = learned_gradients(&b, &g, &f, 1, LOCUS_FLOAT32);
            y[i] = f.y;
            f.y = NULL;
            drain(&f);
        }
        assert_memory_equal(gradients[0], gradients[1], b.elements * sizeof(double));
        assert_memory_equal(y[0], y[1], numbers_of(&b, &g, LOCUS_ROLE_QUERY) * sizeof(double));
        for (size_t i = 0; i < 2; i++)
            free(gradients[i]), free(y[i]);
        assert_int_equal(locus_threads_set(0), LOCUS_OK);
        close_bench(&b);
        fell(&g);
    }
}

/* ---- exactness ---- */

/* Paths of 1,000 steps in float32: tails in double, and matrices made in double, against the oracle in double. */
static void test_depth(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        grove g;
        bench b;
        plant(&g, i ? PATH : LONE, 1000, 2, i ? SANITIZED(300, 1000) : 2, SIZE_MAX);
        open_bench(&b, (make){1, 1, 16, 2, 3, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW}, &g);
        const job what = {LOCUS_FLOAT32, false, false, NULL};
        check_flows(&b, &g, all_roles, 2, LOCUS_FORWARD, &what, 3e-6);
        close_bench(&b);
        fell(&g);
    }
}

/* A token 20,000 steps down costs 20,000 products with a vector, and keeps its length. */
static void test_very_long(void **state) {
    (void)state;
    grove g;
    bench b;
    plant(&g, LONE, 20000, 2, 3, SIZE_MAX);
    open_bench(&b, (make){1, 1, 8, 2, 3, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_HOUSEHOLDER}, &g);
    double *gradients = grab(b.elements, sizeof *gradients);
    const job what = {LOCUS_FLOAT32, true, true, gradients};
    check_flows(&b, &g, all_roles, 1, LOCUS_FORWARD, &what, 3e-6);
    free(gradients);
    close_bench(&b);
    fell(&g);
}

static void test_bad_generator(void **state) {
    (void)state;
    locus_tree tree = {.heads = 2, .dim = 3, .branches = 2, .tables = 2, .kind = LOCUS_ORTHOGONAL_HOUSEHOLDER};
    double A[36];
    for (size_t i = 0; i < 36; i++)
        A[i] = i / 9 == 3 ? 0 : (double)i + 1;
    locus_owned memory = {0};
    locus_error error = {0};
    assert_int_equal(locus_tree_bind(&tree, NULL, A, &memory, &error), LOCUS_ERROR_NUMERIC);
    assert_non_null(strstr(error.message, "branch 2 of head 1"));
    locus_owned_release(&memory);
}

/* ---- refused memory ---- */

static size_t allowed;

static void *allow(void *state, size_t bytes, size_t alignment) {
    (void)state;
    if (allowed == 0)
        return NULL;
    allowed--;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void let_go(void *state, void *block, size_t bytes) {
    (void)state;
    (void)bytes;
    free(block);
}

/* Whichever allocation fails, place says so and leaves nothing that its owner does not release. */
static void test_refused_memory(void **state) {
    (void)state;
    const locus_allocator miser = {sizeof miser, allow, let_go, NULL};
    grove g;
    bench b;
    plant(&g, BUSH, 5, 2, 50, 40);
    allowed = SIZE_MAX;
    assert_int_equal(locus_allocator_set(&miser, NULL), LOCUS_OK);
    open_bench(&b, (make){2, 2, 4, 2, 3, LOCUS_TREE_ORTHOGONAL, LOCUS_ORTHOGONAL_SKEW}, &g);
    size_t refusals = 0;
    for (bool done = false; !done; refusals++) {
        locus_owned_release(&b.placed);
        allowed = refusals;
        const locus_status status = locus_tree_place(&b.tree, &g.places, 0, &b.placed, &b.op, NULL);
        assert_true(status == LOCUS_OK || status == LOCUS_ERROR_MEMORY);
        done = status == LOCUS_OK;
    }
    assert_true(refusals > 5);
    allowed = SIZE_MAX;
    check_everything(&b, &g);
    close_bench(&b);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
    fell(&g);
}

/* ---- memory ---- */

enum { BEHIND = 64, UNTOUCHED = 0xA5 };

/* Every block has bytes behind it that nobody may write. */
static void *allocate_fenced(void *state, size_t bytes, size_t alignment) {
    unsigned char *block = aligned_alloc(alignment, (bytes + BEHIND + alignment - 1) / alignment * alignment);
    (void)state;
    if (block)
        memset(block + bytes, UNTOUCHED, BEHIND);
    return block;
}

static void release_fenced(void *state, void *block, size_t bytes) {
    (void)state;
    for (size_t i = 0; i < BEHIND; i++)
        if (((const unsigned char *)block)[bytes + i] != UNTOUCHED) {
            (void)fprintf(stderr, "behind a block of %zu bytes, byte %zu was written\n", bytes, i);
            abort();
        }
    free(block);
}

int main(void) {
    const locus_allocator fenced = {sizeof fenced, allocate_fenced, release_fenced, NULL};
    assert_int_equal(locus_allocator_set(&fenced, NULL), LOCUS_OK);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shape),    cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_sides),          cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_chunks),         cmocka_unit_test(test_edges),
        cmocka_unit_test(test_full_chunks),    cmocka_unit_test(test_parts_in_a_workspace),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_very_long),      cmocka_unit_test(test_bad_generator),
        cmocka_unit_test(test_refused_memory),
    };
    threads_only("test_threads");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

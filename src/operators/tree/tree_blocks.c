/* SPDX-License-Identifier: MIT */
/* Orders the tokens of a tree and cuts them into blocks, parts and slots (tree_layout.h). Three walks, linear in nodes
 * and tokens, without recursion: parents stand before children in the trie, so sizes are summed backward, and places in
 * depth-first order are dealt out forward.
 *
 * A draft of a block is a list of pieces: some of an anchor's own tokens, and a run, in depth-first order, of whole
 * subtrees of its tail. */
#include "core/call.h"
#include "operators/tree/tree_layout.h"
#include "operators/tree/tree_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct locus_draft_piece {
    uint32_t anchor; /* or NONE */
    uint32_t token[2], own[2], count[2];
    uint32_t first, end; /* of its tail, in depth-first order */
} locus_draft_piece;

typedef struct locus_block_cutter {
    const locus_tree_nodes *nodes;
    locus_tree_layout *layout;
    size_t parts_most;
    /* depth-first order of nodes, grouped by anchor */
    uint32_t *place;    /* by node */
    uint32_t *order;    /* by place: the node */
    uint32_t *size;     /* by node: nodes of its subtree in its tail, itself included */
    uint32_t *token[2]; /* by place: first own token */
    /* drafts */
    locus_draft_piece *drafts;
    uint32_t *draft_block; /* [blocks + 1]: first piece */
    uint32_t draft_count, block_count;
    uint32_t next[2]; /* tokens drafted */
    uint64_t held;    /* vectors in the open block */
    bool open;
    /* emission */
    uint32_t *entry;    /* by node */
    uint32_t *fill[2];  /* by entry */
    uint32_t *by_level; /* [levels] */
    uint32_t *sorted;   /* nodes of a block */
    uint64_t *keys;
    uint32_t *stamp; /* by used generator: part + 1 that has a slot for it */
    uint32_t *slot_of;
    locus_tree_block *blocks;
    locus_tree_piece *pieces;
    locus_tree_level *levels;
    locus_tree_group *groups;
    locus_tree_rows *rows;
    locus_tree_part *parts;
    uint32_t *slot_used, *slot_anchor;
    uint32_t entry_count, level_count, group_count, part_count, slot_count, piece_slots;
} locus_block_cutter;

/* ---- depth-first order ---- */

static bool in_tail(const locus_tree_nodes *nodes, uint32_t node) {
    return !nodes->made[node] && (nodes->below[0][node] > 0 || (nodes->sides == 2 && nodes->below[1][node] > 0));
}

static void order_nodes(locus_block_cutter *cutter, uint32_t *cursor) {
    const locus_tree_nodes *nodes = cutter->nodes;
    const locus_trie_view *trie = &nodes->trie;
    for (uint32_t i = trie->count; i-- > 1;) {
        const bool tail = in_tail(nodes, i);
        cutter->size[i] += tail || nodes->made[i];
        if (tail)
            cutter->size[trie->parent[i]] += cutter->size[i];
    }
    cutter->size[0]++;
    cutter->place[0] = 0;
    uint32_t next = cutter->size[0];
    for (size_t a = 0; a < cutter->layout->anchor_count; a++) {
        cutter->place[nodes->node[a]] = next;
        next += cutter->size[nodes->node[a]];
    }
    for (uint32_t i = 0; i < trie->count; i++) {
        if (!nodes->made[i]) {
            if (!in_tail(nodes, i))
                continue;
            cutter->place[i] = cursor[trie->parent[i]];
            cursor[trie->parent[i]] += cutter->size[i];
        }
        cursor[i] = cutter->place[i] + 1;
        cutter->order[cutter->place[i]] = i;
    }
}

static void order_tokens(locus_block_cutter *cutter, size_t s, const locus_token_side *side, uint32_t *tokens,
                         size_t places) {
    const locus_tree_nodes *nodes = cutter->nodes;
    uint32_t *first = cutter->token[s], sum = 0;
    for (size_t p = 0; p < places; p++) {
        first[p] = sum;
        sum += nodes->own[s][cutter->order[p]];
    }
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t i = 0; i < side->runs[r].count; i++) {
            size_t token = side->runs[r].first + i;
            tokens[first[cutter->place[side->values[token]]]++] = (uint32_t)token;
        }
    for (size_t p = 0; p < places; p++)
        first[p] -= nodes->own[s][cutter->order[p]];
}

/* ---- drafts ---- */

static uint64_t token_weight(const locus_tree_nodes *nodes) {
    return nodes->each * (nodes->sides == 1 ? 2 : 1);
}

static uint64_t vectors_below(const locus_tree_nodes *nodes, uint32_t node) {
    uint64_t tokens = nodes->below[0][node] + (nodes->sides == 2 ? (uint64_t)nodes->below[1][node] : 0);
    return tokens * token_weight(nodes);
}

static void close_block(locus_block_cutter *cutter) {
    if (!cutter->open)
        return;
    cutter->draft_block[++cutter->block_count] = cutter->draft_count;
    cutter->open = false;
    cutter->held = 0;
}

static locus_draft_piece *open_piece(locus_block_cutter *cutter, uint32_t anchor) {
    if (!cutter->open || cutter->drafts[cutter->draft_count - 1].anchor != anchor)
        cutter->drafts[cutter->draft_count++] =
            (locus_draft_piece){.anchor = anchor, .token = {cutter->next[0], cutter->next[1]}};
    cutter->open = true;
    return &cutter->drafts[cutter->draft_count - 1];
}

/* As many of an anchor's own tokens as fit, block after block. */
static void draft_own(locus_block_cutter *cutter, uint32_t anchor, uint32_t node) {
    const locus_tree_nodes *nodes = cutter->nodes;
    const uint64_t weight = token_weight(nodes);
    for (size_t s = 0; s < nodes->sides; s++) {
        uint32_t left = nodes->own[s][node];
        while (left > 0) {
            if (cutter->held + weight > LOCUS_TREE_BLOCK_VECTORS)
                close_block(cutter);
            uint64_t room = (LOCUS_TREE_BLOCK_VECTORS - cutter->held) / weight;
            uint32_t taken = room < 1 ? 1 : room < left ? (uint32_t)room : left;
            locus_draft_piece *piece = open_piece(cutter, anchor);
            piece->own[s] += taken;
            piece->count[s] += taken;
            cutter->next[s] += taken;
            cutter->held += taken * weight;
            left -= taken;
        }
    }
}

static void draft_subtree(locus_block_cutter *cutter, uint32_t anchor, uint32_t node) {
    const locus_tree_nodes *nodes = cutter->nodes;
    const uint64_t vectors = vectors_below(nodes, node);
    if (cutter->held + vectors > LOCUS_TREE_BLOCK_VECTORS)
        close_block(cutter);
    locus_draft_piece *piece = open_piece(cutter, anchor);
    if (piece->end == 0)
        piece->first = cutter->place[node];
    piece->end = cutter->place[node] + cutter->size[node];
    for (size_t s = 0; s < nodes->sides; s++) {
        piece->count[s] += nodes->below[s][node];
        cutter->next[s] += nodes->below[s][node];
    }
    cutter->held += vectors;
}

static void draft_anchor(locus_block_cutter *cutter, uint32_t anchor, uint32_t node) {
    draft_own(cutter, anchor, node);
    const uint32_t end = cutter->place[node] + cutter->size[node];
    for (uint32_t p = cutter->place[node] + 1; p < end; p += cutter->size[cutter->order[p]])
        draft_subtree(cutter, anchor, cutter->order[p]);
}

/* Blocks do not reach from one chunk into another. */
static void draft_chunks(locus_block_cutter *cutter, locus_tree_chunk *chunks) {
    for (size_t c = 0; c < cutter->layout->chunk_count; c++) {
        chunks[c].block = cutter->block_count;
        if (c == 0)
            draft_anchor(cutter, LOCUS_TREE_NONE, LOCUS_TRIE_ROOT);
        for (uint32_t a = chunks[c].anchor; a < chunks[c].anchor + chunks[c].anchors; a++)
            draft_anchor(cutter, a, cutter->nodes->node[a]);
        close_block(cutter);
        chunks[c].blocks = cutter->block_count - chunks[c].block;
    }
}

/* ---- levels ---- */

static int compare_keys(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static uint32_t level_of(const locus_block_cutter *cutter, const locus_draft_piece *piece, uint32_t node) {
    const locus_trie_view *trie = &cutter->nodes->trie;
    return trie->depth[node] - (piece->anchor == LOCUS_TREE_NONE ? 0 : trie->depth[cutter->nodes->node[piece->anchor]]);
}

/* Nodes of the tails by level into `sorted`; by_level becomes each level's end. Returns the number of levels. */
static uint32_t sort_by_level(locus_block_cutter *cutter, const locus_draft_piece *pieces, uint32_t count) {
    uint32_t deepest = 0, *ends = cutter->by_level;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t p = pieces[i].first; p < pieces[i].end; p++) {
            uint32_t level = level_of(cutter, &pieces[i], cutter->order[p]);
            for (; deepest < level; deepest++)
                ends[deepest + 1] = 0;
            ends[level]++;
        }
    ends[0] = 0;
    for (uint32_t level = 1, sum = 0; level <= deepest; level++) {
        uint32_t own = ends[level];
        ends[level] = sum;
        sum += own;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t p = pieces[i].first; p < pieces[i].end; p++)
            cutter->sorted[ends[level_of(cutter, &pieces[i], cutter->order[p])]++] = cutter->order[p];
    return deepest + 1;
}

/* Nodes of one level by generator, else as they were. */
static void sort_by_generator(locus_block_cutter *cutter, uint32_t *nodes, size_t count) {
    bool sorted = true;
    for (size_t i = 0; i < count; i++) {
        cutter->keys[i] = (uint64_t)cutter->nodes->generator[nodes[i]] << 32 | cutter->place[nodes[i]];
        sorted = sorted && (i == 0 || cutter->keys[i - 1] <= cutter->keys[i]);
    }
    if (sorted)
        return;
    qsort(cutter->keys, count, sizeof *cutter->keys, compare_keys);
    for (size_t i = 0; i < count; i++)
        nodes[i] = cutter->order[cutter->keys[i] & UINT32_MAX];
}

/* One more entry of a level in which `before` tokens stand already. */
static void add_entry(locus_block_cutter *cutter, const locus_tree_rows *given, uint32_t before[2]) {
    const size_t sides = cutter->nodes->sides;
    assert(sides <= 2);
    for (size_t s = 0; s < sides; s++) {
        locus_tree_rows *rows = &cutter->rows[cutter->entry_count * sides + s];
        *rows = given[s];
        rows->start = rows->target = before[s];
        before[s] += rows->count;
        cutter->fill[s][cutter->entry_count] = rows->start + rows->own;
    }
    cutter->entry_count++;
}

static void add_pieces(locus_block_cutter *cutter, locus_tree_block *block, const locus_draft_piece *pieces,
                       uint32_t count) {
    uint32_t before[2] = {0, 0};
    for (uint32_t i = 0; i < count; i++) {
        const locus_draft_piece *piece = &pieces[i];
        const locus_tree_rows rows[2] = {{piece->token[0], piece->own[0], 0, piece->count[0], 0},
                                         {piece->token[1], piece->own[1], 0, piece->count[1], 0}};
        add_entry(cutter, rows, before);
    }
    memcpy(block->tokens, before, sizeof before);
}

static void add_level(locus_block_cutter *cutter, locus_tree_block *block, const uint32_t *nodes, size_t count) {
    const locus_tree_nodes *all = cutter->nodes;
    uint32_t before[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        locus_tree_rows rows[2] = {{0}, {0}};
        for (size_t s = 0; s < all->sides; s++)
            rows[s] = (locus_tree_rows){.token = cutter->token[s][cutter->place[nodes[i]]],
                                        .own = all->own[s][nodes[i]],
                                        .count = all->below[s][nodes[i]]};
        if (i == 0 || all->generator[nodes[i]] != all->generator[nodes[i - 1]])
            cutter->groups[cutter->group_count++] =
                (locus_tree_group){cutter->entry_count, all->generator[nodes[i]], 0};
        cutter->entry[nodes[i]] = cutter->entry_count;
        add_entry(cutter, rows, before);
    }
    block->passes[0] += before[0];
    block->passes[1] += before[1];
}

/* Where rows go in the level above: children follow each other depth-first. */
static void aim(locus_block_cutter *cutter, const locus_draft_piece *pieces, uint32_t count, uint32_t first_entry) {
    const size_t sides = cutter->nodes->sides;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t p = pieces[i].first; p < pieces[i].end; p++) {
            const uint32_t node = cutter->order[p], above = cutter->nodes->trie.parent[node];
            const uint32_t parent = cutter->nodes->made[above] ? first_entry + i : cutter->entry[above];
            for (size_t s = 0; s < sides; s++) {
                locus_tree_rows *rows = &cutter->rows[cutter->entry[node] * sides + s];
                rows->target = cutter->fill[s][parent];
                cutter->fill[s][parent] += rows->count;
            }
        }
}

static void emit_block(locus_block_cutter *cutter, uint32_t index) {
    locus_tree_block *block = &cutter->blocks[index];
    const uint32_t piece = cutter->draft_block[index], count = cutter->draft_block[index + 1] - piece;
    const locus_draft_piece *pieces = &cutter->drafts[piece];
    const uint32_t first = cutter->entry_count;
    block->levels = sort_by_level(cutter, pieces, count);
    block->level = cutter->level_count;
    block->piece = piece;
    memcpy(block->token, pieces[0].token, sizeof block->token);
    cutter->levels[cutter->level_count++] = (locus_tree_level){first, cutter->group_count};
    add_pieces(cutter, block, pieces, count);
    for (uint32_t level = 1, begin = 0; level < block->levels; begin = cutter->by_level[level++]) {
        cutter->levels[cutter->level_count++] = (locus_tree_level){cutter->entry_count, cutter->group_count};
        sort_by_generator(cutter, cutter->sorted + begin, cutter->by_level[level] - begin);
        add_level(cutter, block, cutter->sorted + begin, cutter->by_level[level] - begin);
    }
    cutter->levels[cutter->level_count++] = (locus_tree_level){cutter->entry_count, cutter->group_count};
    aim(cutter, pieces, count, first);
    locus_tree_layout *layout = cutter->layout;
    for (size_t s = 0; s < cutter->nodes->sides; s++)
        if (block->tokens[s] > layout->rows_most[s])
            layout->rows_most[s] = block->tokens[s];
    for (uint32_t i = 0; i < count; i++)
        cutter->pieces[piece + i] = (locus_tree_piece){pieces[i].anchor, LOCUS_TREE_NONE};
}

/* ---- parts and slots ---- */

static uint64_t block_weight(const locus_tree_block *block) {
    return 1 + block->tokens[0] + (uint64_t)block->tokens[1] + 2 * (block->passes[0] + block->passes[1]);
}

static void number_slots(locus_block_cutter *cutter, locus_tree_chunk *chunk, locus_tree_part *part) {
    for (uint32_t b = part->block; b < part->block + part->blocks; b++) {
        const locus_tree_block *block = &cutter->blocks[b];
        part->exact = part->exact || block->levels > LOCUS_TREE_EXACT_LEVELS + 1;
        const locus_tree_level *levels = &cutter->levels[block->level];
        for (uint32_t g = levels[0].group; g < levels[block->levels].group; g++) {
            uint32_t used = cutter->groups[g].generator / 2;
            if (cutter->stamp[used] != cutter->part_count + 1) {
                cutter->stamp[used] = cutter->part_count + 1;
                cutter->slot_of[used] = chunk->slots++;
                cutter->slot_used[cutter->slot_count++] = used;
            }
            cutter->groups[g].slot = cutter->slot_of[used];
        }
        for (uint32_t p = block->piece; p < cutter->draft_block[b + 1]; p++) {
            uint32_t anchor = cutter->pieces[p].anchor;
            if (anchor == LOCUS_TREE_NONE)
                continue;
            if (chunk->pieces == part->piece || cutter->slot_anchor[cutter->piece_slots - 1] != anchor) {
                chunk->pieces++;
                cutter->slot_anchor[cutter->piece_slots++] = anchor;
            }
            cutter->pieces[p].slot = chunk->pieces - 1;
        }
    }
}

static void cut_parts(locus_block_cutter *cutter, locus_tree_chunk *chunk) {
    const size_t most = chunk->blocks < cutter->parts_most ? chunk->blocks : cutter->parts_most;
    uint64_t total = 0, done = 0;
    for (uint32_t b = 0; b < chunk->blocks; b++)
        total += block_weight(&cutter->blocks[chunk->block + b]);
    chunk->part = cutter->part_count;
    chunk->slot = cutter->slot_count;
    chunk->piece = cutter->piece_slots;
    for (uint32_t b = 0; b < chunk->blocks;) {
        locus_tree_part *part = &cutter->parts[cutter->part_count];
        *part = (locus_tree_part){.block = chunk->block + b, .slot = chunk->slots, .piece = chunk->pieces};
        const uint64_t until = total * (++chunk->parts) / most;
        do {
            done += block_weight(&cutter->blocks[chunk->block + b]);
            part->blocks++;
            b++;
        } while (b < chunk->blocks && done < until);
        number_slots(cutter, chunk, part);
        part->slots = chunk->slots - part->slot;
        part->pieces = chunk->pieces - part->piece;
        cutter->layout->exact = cutter->layout->exact || part->exact;
        cutter->part_count++;
    }
}

static void keep_most(size_t *most, size_t value) {
    *most = value > *most ? value : *most;
}

/* ---- memory ---- */

static void take_orders(locus_block_cutter *cutter, locus_tree_store *store) {
    const size_t count = cutter->nodes->trie.count;
    cutter->place = locus_tree_take(store, count, sizeof(uint32_t));
    cutter->order = locus_tree_take(store, count, sizeof(uint32_t));
    cutter->size = locus_tree_take(store, count, sizeof(uint32_t));
    cutter->entry = locus_tree_take(store, count, sizeof(uint32_t));
    for (size_t s = 0; s < cutter->nodes->sides; s++)
        cutter->token[s] = locus_tree_take(store, count, sizeof(uint32_t));
}

/* Two blocks in a row hold more than one may: so many there can be; and a block adds one piece to those of anchors. */
static void take_drafts(locus_block_cutter *cutter, locus_tree_store *store) {
    const size_t blocks =
        (size_t)(2 * (vectors_below(cutter->nodes, LOCUS_TRIE_ROOT) / LOCUS_TREE_BLOCK_VECTORS + 1) * 2) +
        2 * cutter->layout->chunk_count;
    cutter->drafts = locus_tree_take(store, blocks + cutter->layout->anchor_count + 1, sizeof *cutter->drafts);
    cutter->draft_block = locus_tree_take(store, blocks + 1, sizeof(uint32_t));
}

static void take_levels(locus_block_cutter *cutter, size_t tails, locus_tree_store *passing, locus_tree_store *kept) {
    const size_t sides = cutter->nodes->sides, blocks = cutter->block_count, pieces = cutter->draft_count;
    for (size_t s = 0; s < sides; s++)
        cutter->fill[s] = locus_tree_take(passing, tails + pieces, sizeof(uint32_t));
    cutter->by_level = locus_tree_take(passing, tails + 2, sizeof(uint32_t));
    cutter->sorted = locus_tree_take(passing, tails, sizeof(uint32_t));
    cutter->keys = locus_tree_take(passing, tails, sizeof *cutter->keys);
    cutter->stamp = locus_tree_take(passing, cutter->layout->used_count, sizeof(uint32_t));
    cutter->slot_of = locus_tree_take(passing, cutter->layout->used_count, sizeof(uint32_t));
    cutter->blocks = locus_tree_take(kept, blocks, sizeof *cutter->blocks);
    cutter->pieces = locus_tree_take(kept, pieces, sizeof *cutter->pieces);
    cutter->levels = locus_tree_take(kept, tails + 2 * blocks, sizeof *cutter->levels);
    cutter->groups = locus_tree_take(kept, tails, sizeof *cutter->groups);
    cutter->rows = locus_tree_take(kept, (tails + pieces) * sides, sizeof *cutter->rows);
    cutter->parts = locus_tree_take(kept, blocks, sizeof *cutter->parts);
    cutter->slot_used = locus_tree_take(kept, tails, sizeof(uint32_t));
    cutter->slot_anchor = locus_tree_take(kept, pieces, sizeof(uint32_t));
}

static void hand_over(const locus_block_cutter *cutter, const locus_tree_chunk *chunks) {
    locus_tree_layout *layout = cutter->layout;
    layout->block_count = cutter->block_count;
    layout->parts = cutter->parts;
    layout->blocks = cutter->blocks;
    layout->pieces = cutter->pieces;
    layout->levels = cutter->levels;
    layout->groups = cutter->groups;
    layout->rows = cutter->rows;
    layout->slot_used = cutter->slot_used;
    layout->slot_anchor = cutter->slot_anchor;
    for (size_t c = 0; c < layout->chunk_count; c++) {
        keep_most(&layout->anchors_most, chunks[c].anchors);
        keep_most(&layout->slots_most, chunks[c].slots);
        keep_most(&layout->pieces_most, chunks[c].pieces);
    }
}

/* ---- all of it ---- */

static void order_all(locus_block_cutter *cutter, const locus_token_side *const *sides, locus_tree_store *passing,
                      locus_tree_store *kept) {
    const size_t count = cutter->nodes->trie.count;
    uint32_t *cursor = locus_tree_take(passing, count, sizeof *cursor);
    uint32_t *tokens[2] = {NULL, NULL};
    const size_t sides_count = cutter->nodes->sides;
    assert(sides_count <= 2);
    take_orders(cutter, passing);
    for (size_t s = 0; s < sides_count; s++)
        tokens[s] = locus_tree_take(kept, sides[s]->used, sizeof(uint32_t));
    if (passing->status != LOCUS_OK || kept->status != LOCUS_OK)
        return;
    order_nodes(cutter, cursor);
    size_t places = cutter->size[0];
    for (size_t a = 0; a < cutter->layout->anchor_count; a++)
        places += cutter->size[cutter->nodes->node[a]];
    for (size_t s = 0; s < sides_count; s++) {
        order_tokens(cutter, s, sides[s], tokens[s], places);
        cutter->layout->tokens[s] = tokens[s];
    }
    take_drafts(cutter, passing);
}

locus_status locus_tree_cut_blocks(const locus_tree_nodes *nodes, const locus_token_side *const *sides, size_t parts,
                                   locus_tree_layout *layout, locus_owned *memory, locus_error *error) {
    locus_owned short_lived = {0};
    locus_tree_store passing = {&short_lived, error, LOCUS_OK}, kept = {memory, error, LOCUS_OK};
    locus_block_cutter cutter = {.nodes = nodes, .layout = layout, .parts_most = parts};
    locus_tree_chunk *chunks = locus_tree_take(&kept, layout->chunk_count, sizeof *chunks);
    order_all(&cutter, sides, &passing, &kept);
    if (passing.status == LOCUS_OK && kept.status == LOCUS_OK) {
        memcpy(chunks, layout->chunks, layout->chunk_count * sizeof *chunks);
        layout->chunks = chunks;
        draft_chunks(&cutter, chunks);
        size_t tails = 0;
        for (uint32_t d = 0; d < cutter.draft_count; d++)
            tails += cutter.drafts[d].end - cutter.drafts[d].first;
        take_levels(&cutter, tails, &passing, &kept);
    }
    locus_status status = passing.status != LOCUS_OK ? passing.status : kept.status;
    for (uint32_t b = 0; b < cutter.block_count && status == LOCUS_OK; b++) {
        emit_block(&cutter, b);
        status = locus_call_check(error);
    }
    if (status == LOCUS_OK) {
        for (size_t c = 0; c < layout->chunk_count; c++)
            cut_parts(&cutter, &chunks[c]);
        hand_over(&cutter, chunks);
    }
    locus_owned_release(&short_lived);
    return status;
}

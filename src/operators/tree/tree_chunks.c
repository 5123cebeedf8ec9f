/* SPDX-License-Identifier: MIT */
/* Cuts the anchors of a tree into chunks, bottom up: a node's children, with what is left of their subtrees, go into
 * one bin after another; a bin that the next child would overfill becomes a chunk, the last bin stays with the node. So
 * a chunk has at most `most` anchors, and two neighbouring bins hold more than that: about 2·anchors/most chunks at
 * most. Children stand behind their parents in the trie, so one walk from the last node to the first does it. */
#include "operators/tree/tree_layout.h"
#include "operators/tree/tree_store.h"

#include <assert.h>

typedef struct locus_tree_bins {
    uint32_t *held;  /* by node: anchors in its open bin */
    uint32_t *open;  /* by node: number of its open bin */
    uint32_t *in;    /* by node: bin that it lies in */
    uint32_t *chunk; /* by bin: chunk that it became, counted from the last; NONE */
    uint32_t count, chunks;
} locus_tree_bins;

static void close_bin(locus_tree_bins *bins, uint32_t node) {
    bins->chunk[bins->open[node]] = bins->chunks++;
    bins->open[node] = LOCUS_TREE_NONE;
    bins->held[node] = 0;
}

static void put(locus_tree_bins *bins, uint32_t parent, uint32_t child, size_t most) {
    const uint32_t weight = bins->held[child] + 1;
    if (bins->open[parent] != LOCUS_TREE_NONE && bins->held[parent] + (size_t)weight > most)
        close_bin(bins, parent);
    if (bins->open[parent] == LOCUS_TREE_NONE) {
        bins->chunk[bins->count] = LOCUS_TREE_NONE;
        bins->open[parent] = bins->count++;
    }
    bins->in[child] = bins->open[parent];
    bins->held[parent] += weight;
    if (bins->held[parent] >= most)
        close_bin(bins, parent);
}

/* Which chunk each anchor is in (by node): 0 holds what is left below the root, parents' chunks come first. */
static void number_chunks(const locus_tree_nodes *nodes, size_t most, locus_tree_bins *bins, uint32_t *chunk_of) {
    const locus_trie_view *trie = &nodes->trie;
    for (uint32_t i = 0; i < trie->count; i++)
        bins->open[i] = LOCUS_TREE_NONE;
    for (uint32_t i = trie->count; i-- > 1;)
        if (nodes->made[i])
            put(bins, trie->parent[i], i, most);
    chunk_of[0] = 0;
    for (uint32_t i = 1; i < trie->count; i++) {
        if (!nodes->made[i])
            continue;
        uint32_t closed = bins->chunk[bins->in[i]];
        chunk_of[i] = closed == LOCUS_TREE_NONE ? chunk_of[trie->parent[i]] : bins->chunks - closed;
    }
}

/* Anchors by chunk, and inside in the trie's order. */
static void number_anchors(locus_tree_nodes *nodes, const uint32_t *chunk_of, locus_tree_chunk *chunks, size_t count) {
    const uint32_t nodes_count = nodes->trie.count;
    for (uint32_t i = 1; i < nodes_count; i++)
        if (nodes->made[i])
            chunks[chunk_of[i]].anchors++;
    for (size_t c = 1; c < count; c++)
        chunks[c].anchor = chunks[c - 1].anchor + chunks[c - 1].anchors;
    for (size_t c = 0; c < count; c++)
        chunks[c].anchors = 0;
    nodes->anchor[0] = LOCUS_TREE_NONE;
    for (uint32_t i = 1; i < nodes_count; i++) {
        if (!nodes->made[i]) {
            nodes->anchor[i] = nodes->anchor[nodes->trie.parent[i]];
            continue;
        }
        locus_tree_chunk *chunk = &chunks[chunk_of[i]];
        nodes->anchor[i] = chunk->anchor + chunk->anchors++;
        nodes->node[nodes->anchor[i]] = i;
    }
}

static void link_anchors(const locus_tree_nodes *nodes, const uint32_t *chunk_of, locus_tree_chunk *chunks,
                         locus_tree_anchor *anchors, locus_tree_layout *layout) {
    for (size_t a = 0; a < layout->anchor_count; a++)
        anchors[a].checkpoint = LOCUS_TREE_NONE;
    chunks[0].parent = LOCUS_TREE_NONE;
    for (uint32_t a = 0; a < layout->anchor_count; a++) {
        const uint32_t node = nodes->node[a], above = nodes->trie.parent[node];
        anchors[a].generator = nodes->generator[node];
        anchors[a].parent = nodes->anchor[above];
        if (chunk_of[node] == 0 || chunk_of[node] == chunk_of[above])
            continue;
        chunks[chunk_of[node]].parent = anchors[a].parent;
        if (above != LOCUS_TRIE_ROOT && anchors[anchors[a].parent].checkpoint == LOCUS_TREE_NONE)
            anchors[anchors[a].parent].checkpoint = (uint32_t)layout->checkpoint_count++;
    }
    for (size_t a = layout->anchor_count; a-- > 0;) {
        anchors[a].leads = anchors[a].leads || anchors[a].checkpoint != LOCUS_TREE_NONE;
        const uint32_t above = nodes->trie.parent[nodes->node[a]];
        if (anchors[a].leads && above != LOCUS_TRIE_ROOT && chunk_of[above] == chunk_of[nodes->node[a]])
            anchors[anchors[a].parent].leads = true;
    }
}

locus_status locus_tree_cut_chunks(locus_tree_nodes *nodes, size_t most, locus_tree_layout *layout, locus_owned *memory,
                                   locus_error *error) {
    const size_t count = nodes->trie.count;
    locus_owned passing = {0};
    locus_tree_store short_lived = {&passing, error, LOCUS_OK}, kept = {memory, error, LOCUS_OK};
    locus_tree_bins bins = {.held = locus_tree_take(&short_lived, count, sizeof(uint32_t)),
                            .open = locus_tree_take(&short_lived, count, sizeof(uint32_t)),
                            .in = locus_tree_take(&short_lived, count, sizeof(uint32_t)),
                            .chunk = locus_tree_take(&short_lived, count, sizeof(uint32_t))};
    uint32_t *chunk_of = locus_tree_take(&short_lived, count, sizeof *chunk_of);
    if (short_lived.status == LOCUS_OK) {
        assert(bins.held && bins.open && bins.in && bins.chunk && chunk_of);
        number_chunks(nodes, most, &bins, chunk_of);
        layout->chunk_count = (size_t)bins.chunks + 1;
        locus_tree_chunk *chunks = locus_tree_take(&kept, layout->chunk_count, sizeof *chunks);
        locus_tree_anchor *anchors = locus_tree_take(&kept, layout->anchor_count, sizeof *anchors);
        if (kept.status == LOCUS_OK) {
            number_anchors(nodes, chunk_of, chunks, layout->chunk_count);
            link_anchors(nodes, chunk_of, chunks, anchors, layout);
        }
        layout->chunks = chunks;
        layout->anchors = anchors;
    }
    locus_owned_release(&passing);
    return short_lived.status != LOCUS_OK ? short_lived.status : kept.status;
}

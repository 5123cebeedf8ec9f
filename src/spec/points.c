/* SPDX-License-Identifier: MIT */
/* See points.h. A node's word is that of its parent and one branch more; each is written out, so that it can be read as
 * an array. */
#include "spec/points.h"

#include "core/error.h"

#include <string.h>

static size_t count_branches(const locus_trie_view *trie) {
    size_t branches = 0;
    for (uint32_t node = 0; node < trie->count; node++)
        branches += trie->depth[node];
    return branches;
}

static locus_status write_words(const locus_trie_view *trie, size_t most, const locus_extension_word **nodes,
                                locus_owned *memory, locus_error *error) {
    const size_t total = count_branches(trie);
    if (total > most / sizeof(int64_t))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "positions",
                          "the words of a tree's %u nodes have %zu branches: more than the plan's workspace holds",
                          trie->count, total);
    locus_extension_word *words = locus_owned_get(memory, trie->count, sizeof *words);
    int64_t *branches = locus_owned_get(memory, total, sizeof *branches);
    if (!words || !branches)
        return locus_owned_fail(error);
    for (uint32_t node = 0; node < trie->count; node++) {
        const size_t length = trie->depth[node];
        words[node] = (locus_extension_word){branches, length};
        if (length > 0) {
            memcpy(branches, words[trie->parent[node]].branches, (length - 1) * sizeof *branches);
            branches[length - 1] = trie->branch[node];
        }
        branches += length;
    }
    *nodes = words;
    return LOCUS_OK;
}

locus_status locus_point_words_make(const locus_places *places, locus_point_words *words, locus_owned *memory,
                                    locus_error *error) {
    const locus_extension_word **nodes = locus_owned_get(memory, places->count, sizeof *nodes);
    if (!nodes)
        return locus_owned_fail(error);
    *words = (locus_point_words){.nodes = nodes};
    locus_status status = LOCUS_OK;
    for (size_t c = 0; c < places->count && status == LOCUS_OK; c++) {
        if (places->items[c].coordinate.kind != LOCUS_COORDINATE_TREE)
            continue;
        words->trees = true;
        status = write_words(&places->items[c].trie, places->workspace, &nodes[c], memory, error);
    }
    return status;
}

void locus_point_write(const locus_places *places, const locus_point_words *words, bool keys, size_t token,
                       double *values, locus_extension_word *spelt) {
    for (size_t c = 0; c < places->count; c++) {
        const locus_placement *item = &places->items[c];
        const locus_token_side *side = keys ? &item->key : &item->query;
        if (words->nodes[c]) {
            spelt[c] = words->nodes[c][side->values[token]];
            values[c] = (double)spelt[c].length;
        } else {
            values[c] = locus_token_position(side, token);
        }
    }
}

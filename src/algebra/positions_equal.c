/* SPDX-License-Identifier: MIT */
/* Equality and hash of positions: group, packing and the positions of all tokens that belong to a sequence. Words on
 * trees are equal as words: the same words may be numbered differently, in the order in which they came. */
#include "algebra/group_access.h"
#include "algebra/positions_access.h"

#include "core/hash.h"

#include <string.h>

#define HASHED_LETTERS 8 /* of a word, the last ones: beside its length enough to tell most apart */

/* ---- equality ---- */

static bool same_packing(const locus_positions *a, const locus_positions *b) {
    bool same = locus_positions_sequences(a) == locus_positions_sequences(b) &&
                locus_positions_tokens(a) == locus_positions_tokens(b);
    for (size_t s = 0; same && s < locus_positions_sequences(a); s++) {
        const locus_positions_run left = locus_positions_sequence(a, s), right = locus_positions_sequence(b, s);
        same = left.first == right.first && left.count == right.count;
    }
    return same;
}

/* Over the tokens of all sequences, 64 bits each. */
static bool same_elements(const locus_positions *of, const void *a, const void *b) {
    const size_t size = sizeof(int64_t);
    bool same = true;
    for (size_t s = 0; same && s < locus_positions_sequences(of); s++) {
        const locus_positions_run run = locus_positions_sequence(of, s);
        same = run.count == 0 ||
               memcmp((const char *)a + run.first * size, (const char *)b + run.first * size, run.count * size) == 0;
    }
    return same;
}

static bool same_word(const locus_trie_view *a, uint32_t left, const locus_trie_view *b, uint32_t right) {
    bool same = a->depth[left] == b->depth[right];
    for (; same && left != LOCUS_TRIE_ROOT; left = a->parent[left], right = b->parent[right])
        same = a->branch[left] == b->branch[right];
    return same;
}

static bool same_numbering(const locus_trie_view *a, const locus_trie_view *b) {
    return a->count == b->count && memcmp(a->parent, b->parent, a->count * sizeof *a->parent) == 0 &&
           memcmp(a->branch, b->branch, a->count * sizeof *a->branch) == 0;
}

static bool same_words(const locus_positions *a, const locus_positions *b, size_t coordinate) {
    const locus_trie_view left = locus_trie_look(locus_positions_trie(a, coordinate));
    const locus_trie_view right = locus_trie_look(locus_positions_trie(b, coordinate));
    const int64_t *from = locus_positions_values(a, coordinate), *to = locus_positions_values(b, coordinate);
    if (same_numbering(&left, &right))
        return same_elements(a, from, to);
    bool same = true;
    for (size_t s = 0; same && s < locus_positions_sequences(a); s++) {
        const locus_positions_run run = locus_positions_sequence(a, s);
        for (size_t t = run.first; same && t < run.first + run.count; t++)
            same = same_word(&left, (uint32_t)from[t], &right, (uint32_t)to[t]);
    }
    return same;
}

static bool same_coordinate(const locus_positions *a, const locus_positions *b, size_t coordinate) {
    const void *left = locus_positions_real_bits(a, coordinate), *right = locus_positions_real_bits(b, coordinate);
    if (locus_positions_trie(a, coordinate))
        return same_words(a, b, coordinate);
    if (left || right)
        return left && right && same_elements(a, left, right);
    return same_elements(a, locus_positions_values(a, coordinate), locus_positions_values(b, coordinate));
}

int locus_positions_equal(const locus_positions *a, const locus_positions *b) {
    if (a == b || !a || !b)
        return a == b;
    bool same = locus_group_equal(locus_positions_group(a), locus_positions_group(b)) && same_packing(a, b);
    const size_t coordinates = same ? locus_group_coordinates(locus_positions_group(a)) : 0;
    for (size_t c = 0; same && c < coordinates; c++)
        same = same_coordinate(a, b, c);
    return same;
}

/* ---- hash ---- */

static uint64_t hash_word(uint64_t hash, const locus_trie_view *trie, uint32_t node) {
    hash = locus_hash_word(hash, trie->depth[node]);
    for (size_t i = 0; i < HASHED_LETTERS && node != LOCUS_TRIE_ROOT; i++, node = trie->parent[node])
        hash = locus_hash_word(hash, (uint64_t)trie->branch[node]);
    return hash;
}

static uint64_t hash_run(uint64_t hash, const locus_positions *positions, size_t coordinate, locus_positions_run run) {
    const locus_trie *trie = locus_positions_trie(positions, coordinate);
    const int64_t *values = locus_positions_values(positions, coordinate);
    const int64_t *reals = locus_positions_real_bits(positions, coordinate);
    if (!trie)
        return locus_hash_bytes(hash, (reals ? reals : values) + run.first, run.count * sizeof *values);
    const locus_trie_view view = locus_trie_look(trie);
    for (size_t t = run.first; t < run.first + run.count; t++)
        hash = hash_word(hash, &view, (uint32_t)values[t]);
    return hash;
}

uint64_t locus_positions_hash(const locus_positions *positions) {
    if (!positions)
        return 0;
    const locus_group *group = locus_positions_group(positions);
    const size_t coordinates = locus_group_coordinates(group);
    uint64_t hash = locus_hash_word(locus_group_hash(group), locus_positions_tokens(positions));
    for (size_t s = 0; s < locus_positions_sequences(positions); s++) {
        const locus_positions_run run = locus_positions_sequence(positions, s);
        hash = locus_hash_word(locus_hash_word(hash, run.first), run.count);
        for (size_t c = 0; run.count > 0 && c < coordinates; c++)
            hash = hash_run(hash, positions, c, run);
    }
    return hash;
}

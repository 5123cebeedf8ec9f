/* SPDX-License-Identifier: MIT */
/* The position of a token as a path: integers as they stand, words spelled from their node up to the root. */
#include "algebra/path_access.h"
#include "algebra/positions_access.h"
#include "core/error.h"

static size_t word_length(const locus_positions *positions, size_t coordinate, size_t token) {
    const locus_trie *trie = locus_positions_trie(positions, coordinate);
    return trie ? locus_trie_look(trie).depth[locus_positions_values(positions, coordinate)[token]] : 0;
}

/* From the node up to the root: the word from its end. */
static void spell(locus_trie_view trie, uint32_t node, int64_t *letters) {
    for (size_t i = trie.depth[node]; i-- > 0; node = trie.parent[node])
        letters[i] = trie.branch[node];
}

static void fill(locus_path *path, const locus_positions *positions, size_t token) {
    size_t used = 0;
    for (size_t c = 0; c < locus_group_coordinates(path->group); c++) {
        const locus_trie *trie = locus_positions_trie(positions, c);
        const int64_t value = locus_positions_values(positions, c)[token];
        const size_t count = word_length(positions, c, token);
        path->parts[c] = (locus_path_part){trie ? (int64_t)count : value, used};
        if (trie)
            spell(locus_trie_look(trie), (uint32_t)value, path->letters + used);
        used += count;
    }
}

locus_status locus_positions_path(const locus_positions *positions, size_t token, locus_path **path,
                                  locus_error *error) {
    if (path)
        *path = NULL;
    if (!path || !positions)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, path ? "positions" : "path", "%s is NULL: give one",
                          path ? "positions" : "path");
    if (token >= locus_positions_tokens(positions))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "token", "there is no token %zu: the buffer has %zu", token,
                          locus_positions_tokens(positions));
    if (locus_positions_reals(positions, 0))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "positions",
                          "these positions are real numbers, which are no paths");
    const locus_group *group = locus_positions_group(positions);
    size_t coordinates = locus_group_coordinates(group), letters = 0;
    for (size_t c = 0; c < coordinates; c++)
        letters += word_length(positions, c, token);
    locus_status status = locus_path_allocate(path, group, coordinates, letters, error);
    if (status == LOCUS_OK)
        fill(*path, positions, token);
    return status;
}

/* SPDX-License-Identifier: MIT */
/* Positions of a packed batch: sequences of different lengths laid end to end, no padding anywhere. The tensors that go
 * with them are packed alike, or have a sequence in each entry of a batch (tensor.h).
 *
 *   tokens    | a0 a1 a2 | b0 b1 | c0 c1 c2 c3 |        offsets = { 0, 3, 5, 9 }
 *
 * With `lengths`, sequence s occupies tokens offsets[s] … offsets[s] + lengths[s] − 1 of a buffer with gaps (a
 * key–value cache with room to grow); without, it reaches to offsets[s + 1].
 *
 * A position is an element of a group: one value for each coordinate (group.h). Words on trees are kept as nodes of a
 * trie, each distinct prefix once for the whole batch. */
#ifndef LOCUS_POSITIONS_H
#define LOCUS_POSITIONS_H

#include <locus/path.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_positions locus_positions; /* opaque, immutable, counted; may be shared by threads */

typedef struct locus_packing {
    size_t size; /* sizeof(locus_packing): the struct may grow at its end */
    size_t sequences;
    const size_t *offsets; /* [sequences + 1], not decreasing; offsets[sequences] = tokens of the buffer */
    const size_t *lengths; /* [sequences], or NULL */
} locus_packing;

/* For groups without trees; `group` NULL means `seq`. Copies what it is given. `values` is [tokens, coordinates], rows
 * next to each other: one int64 for each token of the buffer and coordinate (gaps included, their values are not read).
 * NULL, on `seq` and `cycle` only, means 0, 1, 2, … in each sequence. Values on a cycle are reduced mod n. On axes
 * |value| ≤ 2^62 (encodings take ±2^40); POSITION for a value out of range. ARGUMENT if the group has a
 * tree. */
LOCUS_API LOCUS_MUST_USE locus_status locus_positions_create(locus_positions **positions, const locus_group *group,
                                                             const locus_packing *packing, const int64_t *values,
                                                             locus_error *error);

/* Real-valued positions, times or coordinates, on `seq` and `grid:r` (`group` NULL means `seq`): `values` [tokens,
 * coordinates], finite, |value| ≤ 2^40 (rows of gaps are not read). Encodings that need whole steps (tables,
 * reflections) refuse them. Whole numbers mean what they mean in locus_positions_create, to the same bits; where all of
 * them are whole, so are the positions, for every encoding. ARGUMENT if the group has other coordinates than axes. */
LOCUS_API LOCUS_MUST_USE locus_status locus_positions_create_real(locus_positions **positions, const locus_group *group,
                                                                  const locus_packing *packing, const double *values,
                                                                  locus_error *error);

/* The values of one coordinate, for any group. Axes and cycles: `values` [tokens]. Trees, in one of two ways:
 *
 *   words   branches[starts[t]] … branches[starts[t + 1] − 1] is the word of token t: signed branches, ±1 … ±k, not
 *           necessarily reduced; starts [tokens + 1].
 *   nodes   values [tokens] names each token's node in a tree (or forest of one root) of `node_count` nodes: node i is
 *           reached from node parents[i] < i by the signed branch branches[i]; node 0 is the root (parents[0] and
 *           branches[0] are not read). Nodes may repeat one another; so a path-shaped tree of depth t takes t nodes,
 *           not t² letters. */
typedef struct locus_position_column {
    size_t size;             /* sizeof(locus_position_column): the struct may grow at its end */
    const int64_t *values;   /* [tokens] axes, cycles, and trees by nodes */
    const int64_t *branches; /* trees */
    const size_t *starts;    /* trees by words, else NULL */
    const size_t *parents;   /* trees by nodes, else NULL */
    size_t node_count;
} locus_position_column;

/* `columns` [coordinates of the group], each as long as the first one's size says. POSITION for a value or a branch out
 * of range, naming the token. */
LOCUS_API LOCUS_MUST_USE locus_status locus_positions_create_columns(locus_positions **positions,
                                                                     const locus_group *group,
                                                                     const locus_packing *packing,
                                                                     const locus_position_column *columns,
                                                                     locus_error *error);

/* The same from paths, one for each token of the buffer (NULL in gaps). */
LOCUS_API LOCUS_MUST_USE locus_status locus_positions_create_paths(locus_positions **positions,
                                                                   const locus_group *group,
                                                                   const locus_packing *packing,
                                                                   const locus_path *const *paths, locus_error *error);

/* One more owner; from any thread. Returns its argument. */
LOCUS_API locus_positions *locus_positions_retain(const locus_positions *positions);

/* Lets go of one owner's share. Accepts NULL; nulls the pointer. */
LOCUS_API void locus_positions_destroy(locus_positions **positions);

/* Whether both have the same group, the same packing, and the same position for every token that belongs to a sequence:
 * real ones bit for bit, words on trees letter for letter. NULL equals NULL only. Equal positions have equal hashes; a
 * hash reads all positions. */
LOCUS_API int locus_positions_equal(const locus_positions *a, const locus_positions *b);
LOCUS_API uint64_t locus_positions_hash(const locus_positions *positions);

LOCUS_API size_t locus_positions_tokens(const locus_positions *positions);            /* of the buffer, gaps included */
LOCUS_API size_t locus_positions_sequences(const locus_positions *positions);         /* number of sequences */
LOCUS_API const locus_group *locus_positions_group(const locus_positions *positions); /* borrowed; never NULL */

/* The position of one token as a path of its own. UNSUPPORTED for real-valued positions, which are no paths. */
LOCUS_API LOCUS_MUST_USE locus_status locus_positions_path(const locus_positions *positions, size_t token,
                                                           locus_path **path, locus_error *error);

#ifdef __cplusplus
}
#endif
#endif

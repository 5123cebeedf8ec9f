/* SPDX-License-Identifier: MIT */
/* Positions of a packed batch: sequences of different lengths laid end to end, no padding anywhere.
 *
 *   tokens    | a0 a1 a2 | b0 b1 | c0 c1 c2 c3 |        offsets = { 0, 3, 5, 9 }
 *
 * With `lengths`, sequence s occupies tokens offsets[s] … offsets[s] + lengths[s] − 1 of a buffer with gaps (a
 * key–value cache with room to grow); without, it reaches to offsets[s + 1]. */
#ifndef LOCUS_POSITIONS_H
#define LOCUS_POSITIONS_H

#include <locus/group.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct locus_positions locus_positions; /* opaque, immutable, may be shared by threads */

typedef struct locus_packing {
    size_t sequences;
    const size_t
        *offsets; /* [sequences + 1], not decreasing, offsets[0] ≥ 0; offsets[sequences] = tokens of the buffer */
    const size_t *lengths; /* [sequences], or NULL */
} locus_packing;

/* Copies what it is given. `values` holds one int64 for each token of the buffer (gaps included, their values are not
 * read); NULL means 0, 1, 2, … in each sequence. Values are positions on `group` (NULL means `seq`); |value| ≤ 2^40.
 * Fails with POSITION for a value out of range, UNSUPPORTED for a group other than `seq`. */
LOCUS_API LOCUS_MUST_USE locus_status locus_positions_create(locus_positions **positions, const locus_group *group,
                                                             const locus_packing *packing, const int64_t *values,
                                                             locus_error *error);

/* Accepts NULL; nulls the pointer. */
LOCUS_API void locus_positions_destroy(locus_positions **positions);

LOCUS_API size_t locus_positions_tokens(const locus_positions *positions);    /* of the buffer, gaps included */
LOCUS_API size_t locus_positions_sequences(const locus_positions *positions); /* number of sequences */

#ifdef __cplusplus
}
#endif
#endif

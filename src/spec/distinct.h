/* SPDX-License-Identifier: MIT */
/* The distinct positions of a plan, of queries and keys together, and the tokens that stand on each. Real positions are
 * distinct as numbers are. In the places' tables, or in the memory given where they have none. */
#ifndef LOCUS_DISTINCT_H
#define LOCUS_DISTINCT_H

#include "spec/placement.h"

/* Tokens in use of one side, those of one position next to each other, in rising order. */
typedef struct locus_position_tokens {
    const uint32_t *first; /* [positions + 1] */
    const uint32_t *tokens;
    const uint32_t *numbers; /* [tokens of the buffer] the position's number; gaps hold 0 */
} locus_position_tokens;

typedef struct locus_distinct_positions {
    size_t count;
    const int64_t *values; /* [count, coordinates], in the order in which tokens bring them, queries first; of real
                              positions their bits */
    locus_position_tokens query, key;
} locus_distinct_positions;

locus_status locus_distinct_positions_find(const locus_places *places, locus_distinct_positions *distinct,
                                           locus_owned *memory, locus_error *error);

#endif

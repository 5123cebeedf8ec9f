/* SPDX-License-Identifier: MIT */
/* Where the tokens of a plan stand, prepared for all of its encodings: spans of sequences, the tokens in use, and for
 * each coordinate of the group the tokens' values; for trees one trie of queries and keys together. For angle tables
 * values are split in two levels, where somebody asks for it (levels.h):
 *
 *   p = 64·c + f, 0 ≤ f < 64 (floor division)
 *
 * `coarse` lists the distinct c of queries and keys in rising order; each token has the index of its c and its f. So
 * tables need 64 fine rows and one coarse row for each c: about one for 64 positions in a row, never more than one for
 * a token. Among real positions whole ones are split as ever, so that they get the same bits;
 * any other is a coarse row of its own, with f = 0. */
#ifndef LOCUS_PLACEMENT_H
#define LOCUS_PLACEMENT_H

#include "algebra/positions_access.h"
#include "spec/owned.h"
#include "spec/sites.h"
#include "spec/tables.h"

#define LOCUS_FINE 64
#define LOCUS_POSITION_MAX ((int64_t)1 << 40) /* that encodings take on an axis, either way */

/* Tokens in use, as the fewest unbroken runs of the buffer. */
typedef struct locus_token_run {
    size_t first, count;
    size_t before; /* tokens in the runs before */
} locus_token_run;

typedef struct locus_token_side {
    const int64_t *values; /* [tokens]; of a tree: nodes of the placement's trie; of real positions: rounded down */
    const double *reals;   /* [tokens] real-valued positions on an axis, on both sides; else NULL */
    size_t tokens;         /* of the buffer */
    size_t used;
    const locus_token_run *runs;
    size_t run_count;
    bool consecutive; /* in every sequence positions rise by one */
    const uint32_t
        *ahead; /* [tokens], if not consecutive: how many tokens from here on, this one included, rise by one */
    const uint32_t
        *coarse; /* [tokens] index into locus_placement.coarse; NULL on trees, and where values are not split */
    const uint32_t *fine;             /* [tokens], or NULL with it */
    const locus_sequence_span *spans; /* [sequences]: the placement's, of whose keys or queries the tokens are */
    size_t sequences;
    bool keys;
    bool limit; /* of a plan of limits: there are no tokens, but may be as many */
} locus_token_side;

/* One coordinate of the group. */
typedef struct locus_placement {
    locus_coordinate coordinate;
    size_t sequences;
    const locus_sequence_span *spans;
    locus_token_side query, key;
    const int64_t *coarse;      /* [coarse_count]; NULL where values are not split (levels.h) */
    const double *coarse_reals; /* instead, of real positions: 64c or p, each distinct one; else NULL */
    size_t coarse_count;
    double reach;   /* max |p| over queries and keys */
    double highest; /* max p, or 0; in a cache 0, since nobody asks there */
    int64_t nearest_apart,
        farthest_apart; /* extremes of key position − query position within sequences; 0, 0 if none. For score terms */
    locus_trie_view trie; /* trees: the nodes that values name; count 0 for other coordinates */
    locus_tables *held;   /* of a cache: what one placing leaves to the next, and nothing is learned; else NULL */
} locus_placement;

/* All coordinates. Tokens in use and spans are the same in each. */
typedef struct locus_places {
    const locus_group *group;
    size_t count;
    const locus_placement *items; /* [count] */
    bool shared;                  /* keys stand where queries stand */
    size_t length;                /* of the sequences, as the caller says or the largest position + 1 */
    size_t workspace;             /* bytes that an execution's workspace should stay below */
    locus_tables *tables;         /* of what follows from positions alone; NULL where places grow */
    bool grows; /* of a key–value cache: after `place` tokens, their positions and spans change (arrays stay where they
                   are), and extremes are bounds: no tables over tokens, pairs or differences */
    unsigned left_out; /* of a key–value cache: sites (locus_site) at which nobody asks what acts; it is not placed */
} locus_places;

static inline bool locus_places_ask(const locus_places *places, locus_site site) {
    return !(places->left_out & (unsigned)site);
}

static inline double locus_token_position(const locus_token_side *side, size_t token) {
    return side->reals ? side->reals[token] : (double)side->values[token];
}

/* The coarse position (64c or p) and f of a real position, |p| ≤ 2^40. */
static inline double locus_real_split(double position, uint32_t *fine) {
    const int64_t whole = (int64_t)position, left = (whole % LOCUS_FINE + LOCUS_FINE) % LOCUS_FINE;
    const bool is_whole = (double)whole == position;
    *fine = is_whole ? (uint32_t)left : 0;
    return is_whole ? (double)(whole - left) : position;
}

/* The c of a position: floor division without signs, which is a shift. */
static inline int64_t locus_block_of(int64_t position) {
    const uint64_t half = (uint64_t)1 << 63;
    return (int64_t)(((uint64_t)position + half) / LOCUS_FINE) - (int64_t)(half / LOCUS_FINE);
}

/* Calls visit(context, first, count) for tokens number begin … end − 1 of those in use, in unbroken pieces. */
typedef void locus_token_visit(void *context, size_t first, size_t count);
void locus_token_side_walk(const locus_token_side *side, size_t begin, size_t end, locus_token_visit *visit,
                           void *context);

/* A sequence by its number, and the one that a token in use is of. */
typedef struct locus_token_sequence {
    size_t number, first, end; /* its tokens */
} locus_token_sequence;
locus_token_sequence locus_token_side_sequence(const locus_token_side *side, size_t number);
locus_token_sequence locus_token_side_find(const locus_token_side *side, size_t token);

/* Tokens of the longest sequence. */
size_t locus_token_side_longest(const locus_token_side *side);

/* Says of rows where all sequences' shifts are 0 that they are packed: batches of one, [sequences, length, heads, dim]
 * transposed, all of one length. */
void locus_token_rows_settle(locus_token_rows *rows, const locus_token_side *side);

/* Elements from the rows' data to a token in use, head 0. */
static inline ptrdiff_t locus_token_rows_at(const locus_token_rows *rows, const locus_token_side *side, size_t token) {
    const ptrdiff_t at = (ptrdiff_t)token * rows->token;
    if (!rows->apart)
        return at;
    const locus_token_sequence sequence = locus_token_side_find(side, token);
    return at + locus_token_rows_shift(rows, sequence.number, sequence.first);
}

#endif

/* SPDX-License-Identifier: MIT */
/* How the work on a tree's nodes is laid out when a plan is made: from positions only, once, for all layers.
 *
 * Anchors are the nodes whose matrices are made: those through which more vectors pass than their products cost; and
 * the root, whose matrix is the identity. An anchor's parent is an anchor. Every other node with tokens at or below it
 * is in the tail of its nearest anchor. Tokens are ordered by anchor and, inside, depth-first by node, so that the
 * tokens below any node of a tail are neighbours.
 *
 *   chunk   anchors whose matrices are made together: whole sibling subtrees below one parent, less what is below them
 *           in chunks of their own. Parents' chunks come first. One chunk alone if all matrices can be kept.
 *   part    blocks of a chunk that share slots for gradients: by shape, never by thread
 *   block   some anchors (or a piece of one anchor's tokens) with whole subtrees of their tails: about BLOCK_VECTORS
 *           rows, that one worker takes through the tails level by level
 *   entry   a node in a block. Level 0 are the anchors ("pieces"), level l is l edges below them. Inside a level
 *           entries are sorted by signed branch: a group of entries is one product with one generator.
 *
 * A token has one row for each stream on its side, and for each head if all heads share a table. At level l there is a
 * row for each token whose node is l or more edges below its anchor; an entry's rows are neighbours, first those of
 * its own tokens, then those of its children in the order of `token`. With m_s rows for a token of side s, everything
 * that counts tokens is scaled:  row = m_0·x_0 + m_1·x_1. */
#ifndef LOCUS_TREE_LAYOUT_H
#define LOCUS_TREE_LAYOUT_H

#include "operators/tree/tree.h"

#define LOCUS_TREE_NONE UINT32_MAX

/* An entry's tokens of one side. */
typedef struct locus_tree_rows {
    uint32_t token;  /* first own one in `tokens` */
    uint32_t own;    /* tokens of the node itself */
    uint32_t start;  /* tokens before it in its level of the block */
    uint32_t count;  /* tokens at and below the node, in the block */
    uint32_t target; /* where they stand in the level above; level 0: start */
} locus_tree_rows;

/* W_b acts on entries first … next group's first − 1. */
typedef struct locus_tree_group {
    uint32_t first;
    uint32_t generator; /* 2·used + (1 for Wᵀ): an index into `used` */
    uint32_t slot;      /* of the part, for dL/dW */
} locus_tree_group;

typedef struct locus_tree_level {
    uint32_t entry, group; /* first ones; the next level's end them, the last level's is a sentinel */
} locus_tree_level;

typedef struct locus_tree_piece {
    uint32_t anchor; /* or NONE: the root */
    uint32_t slot;   /* of the chunk, for dL/dP */
} locus_tree_piece;

typedef struct locus_tree_block {
    uint32_t level, levels; /* levels[level + levels] is the sentinel */
    uint32_t piece;         /* of its first entry; there is one for each entry of level 0 */
    uint32_t token[2];      /* first of its tokens on each side, */
    uint32_t tokens[2];     /* and how many */
    uint64_t passes[2];     /* Σ over levels ≥ 1 of tokens */
} locus_tree_block;

typedef struct locus_tree_part {
    uint32_t block, blocks;
    uint32_t slot, slots;   /* of dL/dW, in `slot_used` from the chunk's on */
    uint32_t piece, pieces; /* of dL/dP, in `slot_anchor` from the chunk's on */
    bool exact;             /* some tail is so long that it is walked in double */
} locus_tree_part;

typedef struct locus_tree_chunk {
    uint32_t anchor, anchors;
    uint32_t parent; /* anchor above, NONE: the root */
    uint32_t block, blocks, part, parts;
    uint32_t slots, slot;   /* of all its parts, and where they begin in slot_used */
    uint32_t pieces, piece; /* and in slot_anchor */
} locus_tree_chunk;

typedef struct locus_tree_anchor {
    uint32_t parent;     /* NONE: the root. An anchor of the same chunk with a lower number, or the chunk's parent */
    uint32_t generator;  /* as in groups */
    uint32_t checkpoint; /* where its matrix is kept for other chunks, or NONE */
    bool leads;          /* it has one, or some anchor of its chunk below it has */
} locus_tree_anchor;

typedef struct locus_tree_layout {
    size_t sides; /* 1 if keys stand where queries stand */
    const uint32_t *tokens[2];
    size_t rows_most[2];  /* of a block */
    bool exact;           /* some part is */
    const uint32_t *used; /* [used_count] generators that occur */
    size_t used_count;

    size_t chunk_count, anchor_count, checkpoint_count, block_count;
    const locus_tree_chunk *chunks;
    const locus_tree_anchor *anchors;
    const locus_tree_part *parts;
    const locus_tree_block *blocks;
    const locus_tree_piece *pieces;
    const locus_tree_level *levels;
    const locus_tree_group *groups;
    const locus_tree_rows *rows; /* [entries, sides] */
    const uint32_t *slot_used, *slot_anchor;
    size_t anchors_most, slots_most, pieces_most; /* of a chunk */
} locus_tree_layout;

/* Vectors that must pass through a node, in units of dim, for its matrix to be made. */
#define LOCUS_TREE_VECTORS 2
/* Rows of a block: many enough for products of a level's groups, few enough for the second cache level. */
#define LOCUS_TREE_BLOCK_VECTORS 1024
/* Tails longer than this are walked in double: rounding W to float turns it by about 1e-8. */
#define LOCUS_TREE_EXACT_LEVELS 64
#define LOCUS_TREE_PARTS 16 /* of a chunk, at most */

/* The operator. Matrices P of anchors, if all can be kept: [tables, anchors, dim, dim]; else NULL. */
typedef struct locus_tree_operator {
    locus_whole_operator base;
    const locus_tree *tree;
    const locus_token_side *side[2]; /* queries, keys */
    locus_tree_layout layout;
    size_t workspace;           /* bytes that execution should stay below */
    const locus_limits *limits; /* of a plan of limits; else NULL */
    bool keeps;
    const double *matrices;
    const float *matrices_float32, *transposed_float32;
} locus_tree_operator;

extern const locus_whole_class locus_tree_class;

/* What differs between layouts: which of them takes the most depends on the call. */
typedef struct locus_tree_variant {
    bool keeps;      /* all anchors' matrices */
    size_t sides;    /* 1: keys stand where queries stand */
    bool keys_first; /* blocks are full of keys, else of queries */
} locus_tree_variant;

/* What sizes depend on, as large as in any layout of this kind for positions within the limits (tree_limits.c); false:
 * there is none of this kind. */
bool locus_tree_layout_limit(const locus_tree *tree, const locus_limits *limits, const locus_tree_variant *variant,
                             locus_tree_layout *layout);
void locus_tree_widen(locus_whole_operator *op, const locus_limits *limits);

/* The operator as data (tree_form.c). */
void locus_tree_form(const locus_whole_operator *op, locus_form_writer *writer);

/* ---- steps of locus_tree_place ---- */

/* What is known of each node; arrays by node, in memory that place lets go of. */
typedef struct locus_tree_nodes {
    locus_trie_view trie;
    size_t sides;
    uint32_t *own[2], *below[2]; /* tokens at the node; at and below it */
    uint32_t *anchor;            /* the node's own number if it is one, else that of the anchor whose tail it is in;
                                    NONE: the root's */
    bool *made;                  /* whether it is an anchor; true for the root */
    uint32_t *node;              /* [anchors] */
    uint32_t *generator;         /* 2·used + sign */
    size_t each;                 /* vectors that a token stands for */
} locus_tree_nodes;

/* Fills everything but the root's own fields of chunks: which anchors are in which, at most `most` in one. */
locus_status locus_tree_cut_chunks(locus_tree_nodes *nodes, size_t most, locus_tree_layout *layout, locus_owned *memory,
                                   locus_error *error);

/* Orders tokens and makes blocks, parts and slots. parts: at most so many for each chunk. */
locus_status locus_tree_cut_blocks(const locus_tree_nodes *nodes, const locus_token_side *const *sides, size_t parts,
                                   locus_tree_layout *layout, locus_owned *memory, locus_error *error);

#endif

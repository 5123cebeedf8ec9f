/* SPDX-License-Identifier: MIT */
/* Random expressions by rejection: shapes are drawn one after another until one has a length that fits, and only its
 * tokens are written. A sample has two streams of 32-bit words, keyed by (seed, set, sample): the first decides shapes,
 * the second the digits and operators of the one that is kept, one word for each token.
 *
 *   shape, a word w for each node above the depth limit, in the order in which they are read:
 *     w < 2³⁰      an operator, so with probability 1/4; it has 2 + ⌊w (K − 1) / 2³⁰⌋ arguments (Lemire 2019: where
 *                  w (K − 1) mod 2³⁰ < 2³⁰ mod (K − 1), which would favour some, a further word decides)
 *     otherwise    a digit
 *
 * While a shape is drawn, `length` is the least that it can still have: an operator with n arguments takes one token's
 * place and makes n + 2 of it. Once that is too much the rest of the tree is of no interest. */
#include "task/listops/listops.h"

#include <locus/random.h>

#define PURPOSE_SHAPE (LOCUS_RANDOM_USER + 0x1400u) /* + the set */
#define PURPOSE_SYMBOL (LOCUS_RANDOM_USER + 0x1500u)
#define MOST_WORDS ((uint64_t)1 << 26) /* of one sample: 7 million of the seed's trees */

enum { BLOCKS = 64, WORDS = 4 * BLOCKS };
#define MASK ((1u << 30) - 1)

/* Words of a stream one after another, from any place on. */
typedef struct stream {
    locus_random random;
    uint64_t begin; /* number of words[0] */
    size_t at;
    uint32_t words[WORDS];
} stream;

static void stream_load(stream *s, uint64_t first_block) {
    locus_random_blocks(&s->random, first_block, BLOCKS, s->words);
    s->begin = 4 * first_block;
    s->at = 0;
}

static void stream_seek(stream *s, uint64_t word) {
    stream_load(s, word / 4);
    s->at = (size_t)(word % 4);
}

static inline uint32_t stream_next(stream *s) {
    if (s->at == WORDS)
        stream_load(s, s->begin / 4 + BLOCKS);
    return s->words[s->at++];
}

static uint64_t stream_place(const stream *s) {
    return s->begin + s->at;
}

/* Arguments of the next node; 0: it is a digit. */
static inline size_t draw_arguments(stream *s, uint32_t choices) {
    uint32_t word = stream_next(s);
    if (word > MASK)
        return 0;
    uint64_t product = (uint64_t)word * choices;
    while ((product & MASK) < (MASK + 1) % choices)
        product = (uint64_t)(stream_next(s) & MASK) * choices;
    return 2 + (size_t)(product >> 30);
}

/* The length of the next shape; one that is too long is left in the middle, its length is at least `longest`. */
static size_t draw_length(stream *s, const lab_expression_options *sizes) {
    size_t left[LAB_LISTOPS_MOST_DEPTH + 1], level = 1, length = 1; /* left: nodes to be drawn at each depth */
    left[1] = 1;
    while (level > 0) {
        const size_t arguments = level < sizes->depth ? draw_arguments(s, (uint32_t)sizes->arguments - 1) : 0;
        if (arguments > 0) {
            length += arguments + 1;
            if (length >= sizes->longest)
                return length;
            left[++level] = arguments;
            continue;
        }
        while (level > 0 && --left[level] == 0)
            level--;
    }
    return length;
}

lab_listops_shape lab_listops_shape_draw(const lab_expression_options *sizes, uint64_t seed, lab_set set,
                                         uint32_t sample) {
    stream s = {.random = {seed, PURPOSE_SHAPE + (uint32_t)set, sample}, .at = WORDS};
    lab_listops_shape shape = {0};
    stream_seek(&s, 0);
    do {
        shape.first = stream_place(&s);
        shape.length = draw_length(&s, sizes);
        shape.trees++;
        if (shape.length > sizes->shortest && shape.length < sizes->longest)
            return shape;
    } while (stream_place(&s) < MOST_WORDS && sizes->depth > 1);
    shape.length = 0;
    return shape;
}

/* ---- tokens ---- */

/* ⌊word · bound / 2³²⌋ without bias; where a word would favour some numbers, another stream decides. */
static int32_t below(const stream *s, uint32_t word, uint64_t token, uint32_t bound) {
    const uint64_t product = (uint64_t)word * bound;
    if ((uint32_t)product < (0u - bound) % bound)
        return (int32_t)locus_random_below(&s->random, ((uint64_t)1 << 40) + token, bound);
    return (int32_t)(product >> 32);
}

static int32_t draw_symbol(stream *s, bool is_operator) {
    const uint64_t token = stream_place(s);
    const uint32_t word = stream_next(s);
    return is_operator ? LAB_LISTOPS_MIN + below(s, word, token, 4) : LAB_LISTOPS_ZERO + below(s, word, token, 10);
}

void lab_listops_shape_fill(const lab_expression_options *sizes, const lab_listops_shape *shape, uint64_t seed,
                            lab_set set, uint32_t sample, int32_t *tokens) {
    stream shapes = {.random = {seed, PURPOSE_SHAPE + (uint32_t)set, sample}};
    stream symbols = {.random = {seed, PURPOSE_SYMBOL + (uint32_t)set, sample}};
    size_t left[LAB_LISTOPS_MOST_DEPTH + 1], level = 1, at = 0;
    left[1] = 1;
    stream_seek(&shapes, shape->first);
    stream_seek(&symbols, 0);
    tokens[at++] = LAB_LISTOPS_START;
    while (level > 0) {
        const size_t arguments = level < sizes->depth ? draw_arguments(&shapes, (uint32_t)sizes->arguments - 1) : 0;
        tokens[at++] = draw_symbol(&symbols, arguments > 0);
        if (arguments > 0) {
            left[++level] = arguments;
            continue;
        }
        while (level > 0 && --left[level] == 0)
            if (--level > 0)
                tokens[at++] = LAB_LISTOPS_END;
    }
}

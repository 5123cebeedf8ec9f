/* SPDX-License-Identifier: MIT */
/* Stochastic depth (Huang et al. 2016), for each sample and branch by itself, as in the compact convolutional
 * Transformer (Hassani et al. 2021): which samples every sublayer has.
 *
 * Sample i of sublayer s stays unless (w + 1/2) / 2³² < p, where w is word 0 of block i of the sublayer's stream, at
 * purpose 4 s after the key's. */
#include "model/stack.h"

enum { PER_LAYER = 2, WORDS = 4 }; /* sublayers of an encoder's layer; words of a block */

static bool stays(const locus_random *key, double p, size_t sample) {
    uint32_t words[WORDS];
    locus_random_blocks(key, sample, 1, words);
    return ((double)words[0] + 0.5) / 4294967296.0 >= p;
}

/* A sublayer that has all samples needs no rows of its own. */
static void sublayer_draw(lab_sublayer *sublayer, size_t *before, size_t samples, const locus_random *key, double p) {
    before[0] = 0;
    for (size_t i = 0; i < samples; ++i)
        before[i + 1] = before[i] + stays(key, p, i);
    sublayer->before = before[samples] < samples ? before : NULL;
}

void lab_depth_draw(lab_stack *stack, const lab_depth *depth) {
    const size_t samples = stack->sample_tokens > 0 ? stack->tokens / stack->sample_tokens : 0;
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        lab_sublayer *sublayer = &stack->sublayers[s];
        const size_t layer = s / PER_LAYER;
        const double p = depth->rate * (double)layer;
        sublayer->before = NULL;
        sublayer->branch_scale = 0.0f;
        if (!(p > 0.0))
            continue;
        locus_random key = depth->key;
        key.purpose += 4 * (uint32_t)s;
        sublayer_draw(sublayer, stack->before + s * (samples + 1), samples, &key, p);
        if (depth->rescaled && p < 1.0)
            sublayer->branch_scale = (float)(1.0 / (1.0 - p));
    }
}

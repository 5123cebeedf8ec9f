/* SPDX-License-Identifier: MIT */
/* A small attention for tests of what acts on scores: an encoding with parameters, packed sequences with a gap of one
 * token behind each, data, and the library's run of it in either type. */
#ifndef TESTS_SCORE_SCENE_H
#define TESTS_SCORE_SCENE_H

#include "../property/encoding_rig.h"

typedef struct score_scene {
    rig r;
    locus_attention_options options;
    size_t sequences;
    size_t query_lengths[4], key_lengths[4], query_offsets[5], key_offsets[5];
    size_t T, N, query_row, key_row, value_row, output_row; /* tokens; elements of a token */
    double *q, *k, *v, *go, *o, *log_sum_exp, *dq, *dk, *dv;
} score_scene;

/* `reals`: positions are a third of a step apart from whole numbers, else whole; keys begin at 0, queries so that both
 * end together. Parameters that begin with 0 (table, sinks) are drawn. */
typedef struct score_layout {
    size_t sequences;
    size_t queries[4], keys[4];
    bool reals;
} score_layout;

void score_scene_open(score_scene *s, const char *spec, locus_shape shape, const score_layout *layout);
void score_scene_close(score_scene *s);

/* Forward, and backward too if asked for; parameter gradients (doubles) begin with 0. Gaps of results hold `gap`
 * (float32 results are widened). */
void score_scene_run(score_scene *s, locus_dtype dtype, bool backward);
#define SCORE_SCENE_GAP 77.0

/* Σ do ∘ o over the tokens of sequences, forward in double. */
double score_scene_loss(score_scene *s);

/* Whether a token is of a sequence. */
bool score_scene_used(const score_scene *s, bool keys, size_t token);

#endif

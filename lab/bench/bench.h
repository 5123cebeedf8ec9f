/* SPDX-License-Identifier: MIT */
/* Speed of this machine with this build, in process. Every figure is the fastest of the calls that fit into a third of
 * a second, of `least` at least, with the median beside it. Published comparisons with other programs are made by the
 * programs in bench/. */
#ifndef LAB_BENCH_H
#define LAB_BENCH_H

#include "train/train.h"

typedef struct lab_timing {
    double best, median; /* seconds */
} lab_timing;

typedef struct lab_bench {
    locus_shape shape; /* heads and their dimension, of apply and attention */
    size_t least;      /* calls */
} lab_bench;

/* Whether an encoding can be bound to the heads, and placed at so many tokens. */
locus_status lab_bench_check(const lab_bench *bench, const char *spec, size_t tokens, locus_error *error);

/* Operators on [tokens, heads, head_dim], in place, float32; 0 where the encoding has none. And the floor of that:
 * every element read, negated, written. */
locus_status lab_bench_apply(const lab_bench *bench, const char *spec, size_t tokens, lab_timing *timing,
                             locus_error *error);
locus_status lab_bench_negation(const lab_bench *bench, size_t tokens, lab_timing *timing, locus_error *error);

/* Causal attention of one sequence, forward and backward; `workspace`: bytes of the latter. */
locus_status lab_bench_attention(const lab_bench *bench, const char *spec, size_t tokens, lab_timing timings[2],
                                 size_t *workspace, locus_error *error);

/* One training step of a configuration's model and batch, whose encoding is set. */
typedef struct lab_bench_step_facts {
    lab_timing timing;
    size_t tokens; /* of inputs and targets, with one end token for each sample */
    size_t arena_bytes;
} lab_bench_step_facts;
locus_status lab_bench_step(const lab_bench *bench, const char *spec, lab_train_config *config,
                            lab_bench_step_facts *facts, locus_error *error);

#endif

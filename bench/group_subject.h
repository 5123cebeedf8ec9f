/* SPDX-License-Identifier: MIT */
/* What benches of groups share: an encoding on given positions with its buffers' workspace, one call for each pass,
 * timing, and the product peak of the machine. A failure prints one line and ends the program with 1. */
#ifndef BENCH_GROUP_SUBJECT_H
#define BENCH_GROUP_SUBJECT_H

#include <locus/locus.h>
#include <stdbool.h>

#define BENCH_PARAMETERS 4

typedef struct group_subject {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_plan *plan;
    size_t heads, dim, count; /* parameters: float64 values, float32 gradients */
    locus_tensor values[BENCH_PARAMETERS], gradients[BENCH_PARAMETERS];
    size_t workspace_bytes;    /* what float32 queries and keys need */
    locus_workspace workspace; /* serves float64, too */
} group_subject;

typedef struct bench_time {
    double best, median; /* seconds */
    size_t runs;
} bench_time;

double bench_seconds(void);
void bench_check(locus_status status, const locus_error *error);
void *bench_memory(size_t bytes);
float *bench_numbers(size_t count, unsigned stream); /* in [−1, 1), the same for the same stream */

/* Initial parameters of seed 1, binding; no plan. */
void group_subject_open(group_subject *subject, const char *spec, size_t heads, size_t dim);
/* Plan and workspace for these positions, in place of those before. */
void group_subject_place(group_subject *subject, const locus_positions *positions);
void group_subject_close(group_subject *subject);

/* Contiguous [tokens, heads, dim]. */
locus_tensor group_subject_view(const group_subject *subject, void *data, locus_dtype dtype, size_t tokens);

/* In place. Backward takes x and turns g = dL/dy into dL/dx, gradients of parameters included. */
void group_subject_forward(const group_subject *subject, locus_role role, const locus_tensor *x);
void group_subject_backward(const group_subject *subject, locus_role role, const locus_tensor *x,
                            const locus_tensor *g);

/* Runs `work` once to warm up, then at least `least` times and until `budget` seconds are over. */
bench_time bench_measure(void (*work)(void *), void *context, size_t least, double budget);

/* Floating-point operations in a second of a large product on all threads (oneDNN). */
double bench_product_peak(double budget);

#endif

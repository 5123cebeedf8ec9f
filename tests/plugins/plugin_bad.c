/* SPDX-License-Identifier: MIT */
/* Encodings that do not do what they say: one promises relativity and depends on the query's position, one promises to
 * be a homomorphism and turns by the square of the position, one says NaN behind position 3, one fails. */
#include <locus/extension.h>
#include <math.h>
#include <stdio.h>

static locus_status absolute(const locus_extension_batch *batch, double *values, locus_error *error) {
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        values[i] = sin(batch->query.values[i]);
    return LOCUS_OK;
}

static locus_status squares(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t pairs = batch->head_dim / 2;
    (void)error;
    for (size_t i = 0; i < batch->count * pairs; i++)
        values[i] = 1e-3 * batch->query.values[i / pairs] * batch->query.values[i / pairs];
    return LOCUS_OK;
}

static locus_status hole(const locus_extension_batch *batch, double *values, locus_error *error) {
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        values[i] = batch->distance[i] > 3 ? NAN : 0;
    return LOCUS_OK;
}

static locus_status failing(const locus_extension_batch *batch, double *values, locus_error *error) {
    (void)batch, (void)values;
    (void)snprintf(error->message, sizeof error->message, "no table for this length");
    return LOCUS_ERROR_IO;
}

#define RELATIVE \
    .size = sizeof(locus_encoding_description), .summary = "for tests", .kind = LOCUS_EXTENSION_BIAS, \
    .laws = LOCUS_LAW_RELATIVITY

static const locus_encoding_description one = {RELATIVE, .name = "bad-absolute", .values = absolute};
static const locus_encoding_description two = {.size = sizeof two,
                                               .name = "bad-squares",
                                               .summary = "for tests",
                                               .kind = LOCUS_EXTENSION_ANGLES,
                                               .laws = LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL,
                                               .values = squares};
static const locus_encoding_description three = {RELATIVE, .name = "bad-hole", .values = hole};
static const locus_encoding_description four = {RELATIVE, .name = "bad-failing", .values = failing};
LOCUS_PLUGIN(&one, &two, &three, &four);

/* SPDX-License-Identifier: MIT */
/* An encoding of one's own: pairs of a head's dimensions turn at speeds that each head learns.
 *
 *   angle of pair j of head h at position p = speed_hj · p          speeds begin as most^(−j / (pairs − 1))
 *
 *   cc -shared -fPIC -I include wheels.c -lm -o wheels.so
 *   locus --plugin wheels.so check 'wheels(most=100)' */
#include <locus/extension.h>
#include <math.h>

static locus_status values(const locus_extension_batch *batch, double *values, locus_error *error) {
    const size_t pairs = batch->head_dim / 2;
    const double *speed = batch->parameters[0] + batch->head * pairs;
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t j = 0; j < pairs; j++)
            values[i * pairs + j] = speed[j] * batch->query.values[i];
    return LOCUS_OK;
}

static locus_status gradient(const locus_extension_batch *batch, const double *upstream, double *const *gradients,
                             locus_error *error) {
    const size_t pairs = batch->head_dim / 2;
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t j = 0; j < pairs; j++)
            gradients[0][batch->head * pairs + j] += upstream[i * pairs + j] * batch->query.values[i];
    return LOCUS_OK;
}

static locus_status initialise(const locus_extension_batch *batch, size_t parameter, size_t elements, double *values,
                               locus_error *error) {
    const size_t pairs = batch->head_dim / 2;
    (void)parameter, (void)error;
    for (size_t i = 0; i < elements; i++)
        values[i] = pow(batch->options[0].number, -(double)(i % pairs) / (double)(pairs > 1 ? pairs - 1 : 1));
    return LOCUS_OK;
}

static const locus_option_info options[] = {
    {"most", "number ≥ 1", "1000", "how much slower the slowest pair is", LOCUS_OPTION_NUMBER, 1, 1e9, false}};
static const locus_extension_parameter parameters[] = {
    {sizeof parameters[0], "speed", 2, {LOCUS_EXTENT_HEADS, LOCUS_EXTENT_PAIRS}, 1, 0, LOCUS_CONSTRAINT_NONE}};

static const locus_encoding_description wheels = {
    .size = sizeof wheels,
    .name = "wheels",
    .summary = "turns pairs of query and key dimensions at speeds that each head learns",
    .kind = LOCUS_EXTENSION_ANGLES,
    .laws = LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL | LOCUS_LAW_RELATIVITY,
    .traits = LOCUS_TRAIT_REALS,
    .option_count = 1,
    .options = options,
    .parameter_count = 1,
    .parameters = parameters,
    .values = values,
    .gradient = gradient,
    .initialise = initialise};
LOCUS_PLUGIN(&wheels);

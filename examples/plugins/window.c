/* SPDX-License-Identifier: MIT */
/* An encoding of one's own: a bias that makes each head look through a Gaussian window as wide as it learns.
 *
 *   s_mn −= (distance / width_h)² / 2          width_h begins as width·(h + 1)
 *
 *   cc -shared -fPIC -I include window.c -o window.so
 *   locus --plugin window.so train --task copy --encoding 'window(width=3) + rope' */
#include <locus/extension.h>

static locus_status values(const locus_extension_batch *batch, double *values, locus_error *error) {
    const double width = batch->parameters[0][batch->head];
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        values[i] = -batch->distance[i] * batch->distance[i] / (2 * width * width);
    return LOCUS_OK;
}

/* d/dwidth of −distance² / (2 width²) */
static locus_status gradient(const locus_extension_batch *batch, const double *upstream, double *const *gradients,
                             locus_error *error) {
    const double width = batch->parameters[0][batch->head];
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        gradients[0][batch->head] += upstream[i] * batch->distance[i] * batch->distance[i] / (width * width * width);
    return LOCUS_OK;
}

static locus_status initialise(const locus_extension_batch *batch, size_t parameter, size_t elements, double *values,
                               locus_error *error) {
    (void)parameter, (void)error;
    for (size_t h = 0; h < elements; h++)
        values[h] = batch->options[0].number * (double)(h + 1);
    return LOCUS_OK;
}

static const locus_option_info options[] = {
    {"width", "number > 0", "4", "where the first head's window begins", LOCUS_OPTION_NUMBER, 0, 1e6, true},
    {"group", "group", "seq", "whose distance it is", LOCUS_OPTION_GROUP, 0, 0, false}};
static const locus_extension_parameter parameters[] = {
    {sizeof parameters[0], "width", 1, {LOCUS_EXTENT_HEADS}, 1, 0, LOCUS_CONSTRAINT_NONZERO}};

static const locus_encoding_description window = {.size = sizeof window,
                                                  .name = "window",
                                                  .summary = "a bias that looks through a learned Gaussian window",
                                                  .kind = LOCUS_EXTENSION_BIAS,
                                                  .laws = LOCUS_LAW_RELATIVITY,
                                                  .traits = LOCUS_TRAIT_REALS,
                                                  .option_count = 2,
                                                  .options = options,
                                                  .parameter_count = 1,
                                                  .parameters = parameters,
                                                  .values = values,
                                                  .gradient = gradient,
                                                  .initialise = initialise};
LOCUS_PLUGIN(&window);

/* SPDX-License-Identifier: MIT */
/* The least that can be registered: one number for all, without parameters. */
#ifndef REGISTERED_PLAIN_H
#define REGISTERED_PLAIN_H

#include <locus/locus.h>

static inline locus_status constant(const locus_extension_batch *batch, double *values, locus_error *error) {
    (void)error;
    for (size_t i = 0; i < batch->count; i++)
        values[i] = *(const double *)batch->context;
    return LOCUS_OK;
}

static inline locus_status nothing(const locus_extension_batch *batch, const double *upstream, double *const *gradients,
                                   locus_error *error) {
    (void)batch, (void)upstream, (void)gradients, (void)error;
    return LOCUS_OK;
}

static inline locus_encoding_description plain(const char *name) {
    static double one = 1;
    return (locus_encoding_description){.size = sizeof(locus_encoding_description),
                                        .name = name,
                                        .summary = "the same for all",
                                        .kind = LOCUS_EXTENSION_BIAS,
                                        .laws = LOCUS_LAW_RELATIVITY,
                                        .context = &one,
                                        .values = constant};
}

#endif

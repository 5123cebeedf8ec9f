/* SPDX-License-Identifier: MIT */
/* All encodings, one line for each. Their order is that of listings. */
#include "encoding/class.h"

static const locus_encoding_class *const classes[] = {
    &locus_none_class,       &locus_sinusoidal_class, &locus_learned_class,     &locus_chebyshev_class,
    &locus_shiv_quirk_class, &locus_relative_class,   &locus_rope_class,        &locus_roper_class,
    &locus_alibi_class,      &locus_decay_class,      &locus_t5_class,          &locus_kerple_class,
    &locus_fire_class,       &locus_cope_class,       &locus_temperature_class, &locus_scores_class,
    &locus_algebraic_class,  &locus_mixed_class,      &locus_string_class,      &locus_liere_class,
};

#define CLASS_COUNT (sizeof classes / sizeof classes[0])

const locus_encoding_class *locus_class_at(size_t index) {
    return index < CLASS_COUNT ? classes[index] : NULL;
}

size_t locus_encoding_registry_size(void) {
    return CLASS_COUNT;
}

const locus_encoding_info *locus_encoding_registry_at(size_t index) {
    return index < CLASS_COUNT ? &classes[index]->info : NULL;
}

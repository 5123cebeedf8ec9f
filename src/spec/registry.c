/* SPDX-License-Identifier: MIT */
/* All encodings, one line for each. Their order is that of listings. Each is a locus_<name>_class of src/encodings. */
#include "spec/class.h"

/* clang-format off */
#define ENCODINGS(_) \
    _(none) \
    _(sinusoidal) \
    _(learned) \
    _(chebyshev) \
    _(shiv_quirk) \
    _(relative) \
    _(rope) \
    _(roper) \
    _(alibi) \
    _(decay) \
    _(t5) \
    _(kerple) \
    _(fire) \
    _(cope) \
    _(temperature) \
    _(scores) \
    _(algebraic) \
    _(mixed) \
    _(string) \
    _(liere)
/* clang-format on */

#define DECLARED(name) extern const locus_encoding_class locus_##name##_class;
#define LISTED(name) &locus_##name##_class,
ENCODINGS(DECLARED)

static const locus_encoding_class *const classes[] = {ENCODINGS(LISTED)};

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

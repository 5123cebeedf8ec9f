/* SPDX-License-Identifier: MIT */
/* A part of a batch: of its n samples those from ⌊n · index / count⌋ on, up to the next part's first. Parts of parts
 * are parts: of 4 · k parts, each k in a row are one of 4. A part may be empty. */
#ifndef LAB_CUT_H
#define LAB_CUT_H

#include <stddef.h>

typedef struct lab_cut {
    size_t index, count;
} lab_cut;

static inline size_t lab_cut_first(lab_cut cut, size_t samples) {
    return samples * cut.index / cut.count;
}

static inline size_t lab_cut_samples(lab_cut cut, size_t samples) {
    return samples * (cut.index + 1) / cut.count - samples * cut.index / cut.count;
}

#endif

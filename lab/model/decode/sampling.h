/* SPDX-License-Identifier: MIT */
/* How the next token is chosen of its logits. */
#ifndef LAB_SAMPLING_H
#define LAB_SAMPLING_H

#include "model/model.h"

#define LAB_PURPOSE_SAMPLING (LOCUS_RANDOM_USER + 0x30000u)

/* ARGUMENT for a temperature below 0 or a top_p outside (0, 1]. `sampling` may be NULL. */
locus_status lab_sampling_check(const lab_sampling *sampling, locus_error *error);

/* Whether there is anything to draw: else the most probable token is taken. */
bool lab_sampling_draws(const lab_sampling *sampling);

/* What is chosen: number `token` of what sample `sample` gets. */
typedef struct lab_sampling_place {
    size_t sample, token;
} lab_sampling_place;

/* One of `count` logits, which are overwritten; of equal logits the first counts as the greatest. `order`
 * [count] is scratch. Without anything to draw: the greatest, `order` may be NULL and nothing is written. */
size_t lab_sampling_choose(const lab_sampling *sampling, const lab_sampling_place *place, size_t count, float *logits,
                           uint32_t *order);

#endif

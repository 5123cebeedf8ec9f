/* SPDX-License-Identifier: MIT */
/* See score_row.h. */
#include "encoding/score_row.h"

#define RANGE_FOR_TOKEN 4
#define RANGE_ALWAYS 65536

locus_score_range locus_score_range_of(const locus_placement *placement) {
    size_t tokens = placement->query.used > placement->key.used ? placement->query.used : placement->key.used;
    uint64_t range = (uint64_t)(placement->farthest_apart - placement->nearest_apart) + 1;
    if (tokens == 0 || range > (uint64_t)tokens * RANGE_FOR_TOKEN + RANGE_ALWAYS)
        return (locus_score_range){0, 0};
    return (locus_score_range){placement->nearest_apart, (size_t)range};
}

size_t locus_score_row_at(const locus_placement *placement, locus_score_range range, const locus_score_call *call) {
    const locus_token_side *keys = &placement->key;
    bool consecutive = keys->consecutive || (call->count > 0 && keys->ahead[call->key_first] >= call->count);
    if (range.count == 0 || call->count == 0 || !consecutive)
        return SIZE_MAX;
    return (size_t)(keys->values[call->key_first] - placement->query.values[call->query] - range.first);
}

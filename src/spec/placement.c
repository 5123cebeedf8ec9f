/* SPDX-License-Identifier: MIT */
/* See placement.h. */
#include "spec/placement.h"

void locus_token_side_walk(const locus_token_side *side, size_t begin, size_t end, locus_token_visit *visit,
                           void *context) {
    size_t low = 0, high = side->run_count;
    while (low < high) { /* the first run that reaches beyond begin */
        size_t middle = low + (high - low) / 2;
        if (side->runs[middle].before + side->runs[middle].count <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t r = low; r < side->run_count && begin < end; r++) {
        const locus_token_run *run = &side->runs[r];
        size_t skip = begin - run->before, left = run->count - skip, wanted = end - begin;
        size_t count = left < wanted ? left : wanted;
        visit(context, run->first + skip, count);
        begin += count;
    }
}

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

locus_token_sequence locus_token_side_sequence(const locus_token_side *side, size_t number) {
    const locus_sequence_span *span = &side->spans[number];
    const size_t first = side->keys ? span->key_first : span->query_first;
    return (locus_token_sequence){number, first, first + (side->keys ? span->key_count : span->query_count)};
}

/* Sequences lie in order; one without tokens begins where the next one does, at the latest. */
locus_token_sequence locus_token_side_find(const locus_token_side *side, size_t token) {
    size_t low = 0, high = side->sequences;
    while (high - low > 1) { /* the last that does not begin behind the token */
        const size_t middle = low + (high - low) / 2;
        if (locus_token_side_sequence(side, middle).first <= token)
            low = middle;
        else
            high = middle;
    }
    return locus_token_side_sequence(side, low);
}

size_t locus_token_side_longest(const locus_token_side *side) {
    size_t longest = 0;
    for (size_t s = 0; s < side->sequences; s++) {
        const locus_token_sequence sequence = locus_token_side_sequence(side, s);
        const size_t count = sequence.end - sequence.first;
        longest = count > longest ? count : longest;
    }
    return longest;
}

void locus_token_rows_settle(locus_token_rows *rows, const locus_token_side *side) {
    for (size_t s = 0; rows->apart && s < side->sequences; s++) {
        const locus_token_sequence sequence = locus_token_side_sequence(side, s);
        if (sequence.first < sequence.end && locus_token_rows_shift(rows, s, sequence.first) != 0)
            return;
    }
    rows->apart = false;
}

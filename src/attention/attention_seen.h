/* SPDX-License-Identifier: MIT */
/* Which keys a query sees, and what a call's options and the encoding's settings of scores come to together.
 *
 * Query i of m stands at index t = i + (n − m) of a sequence's n keys. It sees key j if all of these hold:
 *
 *   mask       full: always; causal: j ≤ t; prefix: j ≤ t or j < prefix
 *   window     |t − j| < window, or j < keep; without a window always
 *   documents  both are of one document; without documents always
 *   chunk      ⌊j/chunk⌋ = ⌊t/chunk⌋; without chunks always
 *
 * So what it sees are at most two runs of keys: of the first `keep`, and of those near it. */
#ifndef LOCUS_ATTENTION_SEEN_H
#define LOCUS_ATTENTION_SEEN_H

#include "plan/plan_sites.h"

#include <locus/attention.h>

/* [kept_low, kept_high) and [low, high), keys of the sequence, in this order and not touching each other. One run alone
 * is the second; low = high: it sees nothing. */
typedef struct attention_seen {
    size_t kept_low, kept_high, low, high;
} attention_seen;

typedef struct attention_range {
    size_t low, high;
} attention_range;

typedef struct attention_sight {
    const locus_plan *plan;
    locus_mask mask;
    const size_t *prefix;
    size_t window, keep; /* 0: no window */
    size_t chunk;        /* 0: no chunks */
    const int32_t *query_documents, *key_documents;
    attention_range *ranges; /* with documents, [tokens of the query buffer]: the keys of its document */
} attention_sight;

/* What options leave open is what the encoding says. */
typedef struct attention_settled {
    double scale, cap; /* cap 0: none */
    size_t window, keep, chunk;
} attention_settled;
attention_settled locus_attention_settle(const locus_plan *plan, const locus_attention_options *options);

/* Reads neither the prefix nor the documents. */
void locus_attention_sight_init(attention_sight *sight, const locus_plan *plan, const locus_attention_options *options);

/* How many `ranges` there must be: 0 without documents. */
size_t locus_attention_sight_ranges(const attention_sight *sight);
/* Puts the documents' ranges into `ranges`, which the sight then reads. Documents are checked by attention_check.h. */
void locus_attention_sight_place(attention_sight *sight, attention_range *ranges);

attention_seen locus_attention_see(const attention_sight *sight, size_t sequence, const locus_sequence_span *span,
                                   size_t row);

/* The same of rows first, first + 1, … */
void locus_attention_see_rows(const attention_sight *sight, size_t sequence, const locus_sequence_span *span,
                              size_t first, size_t count, attention_seen *seen);

/* The smallest runs that hold those of both. */
attention_seen locus_attention_seen_join(const attention_seen *a, const attention_seen *b);

/* Whether a key of [first, first + count) is among them. */
static inline bool locus_attention_seen_any(const attention_seen *seen, size_t first, size_t count) {
    const size_t end = first + count;
    return (seen->low < end && seen->high > first && seen->low < seen->high) ||
           (seen->kept_low < end && seen->kept_high > first && seen->kept_low < seen->kept_high);
}

#endif

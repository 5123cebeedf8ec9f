/* SPDX-License-Identifier: MIT */
/* See attention_seen.h. Masks and windows are arithmetic; documents are looked up once for a call. */
#include "attention/attention_seen.h"

#include <math.h>
#include <string.h>

attention_settled locus_attention_settle(const locus_plan *plan, const locus_attention_options *options) {
    const locus_score_settings none = {0}, *said = locus_plan_score_settings(plan);
    said = said ? said : &none;
    attention_settled settled = {
        options->scale != 0.0 ? options->scale : said->scale, options->cap != 0.0 ? options->cap : said->cap,
        options->window ? options->window : said->window, options->keep ? options->keep : said->keep, said->chunk};
    if (settled.scale == 0.0)
        settled.scale = 1.0 / sqrt((double)locus_plan_shape(plan)->head_dim);
    return settled;
}

void locus_attention_sight_init(attention_sight *sight, const locus_plan *plan,
                                const locus_attention_options *options) {
    const attention_settled settled = locus_attention_settle(plan, options);
    *sight = (attention_sight){.plan = plan,
                               .mask = options->mask,
                               .prefix = options->prefix,
                               .window = settled.window,
                               .keep = settled.window ? settled.keep : 0,
                               .chunk = settled.chunk,
                               .query_documents = options->query_documents,
                               .key_documents = options->key_documents};
}

/* ---- documents ---- */

size_t locus_attention_sight_ranges(const attention_sight *sight) {
    return sight->query_documents && sight->key_documents ? locus_plan_query_tokens(sight->plan) : 0;
}

/* The run of `document` among keys, sought from `from` on and then round from the start; empty where it is not. */
static attention_range document_run(const int32_t *keys, size_t count, int32_t document, size_t from) {
    for (size_t tried = 0; tried < count; tried++) {
        size_t at = from + tried < count ? from + tried : from + tried - count;
        if (keys[at] != document)
            continue;
        attention_range run = {at, at + 1};
        while (run.low > 0 && keys[run.low - 1] == document)
            run.low--;
        while (run.high < count && keys[run.high] == document)
            run.high++;
        return run;
    }
    return (attention_range){0, 0};
}

static void place_sequence(attention_sight *sight, const locus_sequence_span *span) {
    const int32_t *queries = sight->query_documents + span->query_first, *keys = sight->key_documents + span->key_first;
    attention_range run = {0, 0};
    for (size_t i = 0; i < span->query_count; i++) {
        if (i == 0 || queries[i] != queries[i - 1]) /* the next document mostly begins where the last one ends */
            run = document_run(keys, span->key_count, queries[i], run.high < span->key_count ? run.high : 0);
        sight->ranges[span->query_first + i] = run;
    }
}

void locus_attention_sight_place(attention_sight *sight, attention_range *ranges) {
    sight->ranges = ranges;
    if (locus_attention_sight_ranges(sight) == 0)
        return;
    for (size_t s = 0; s < locus_plan_sequences(sight->plan); s++) {
        const locus_sequence_span span = locus_plan_span(sight->plan, s);
        place_sequence(sight, &span);
    }
}

/* ---- one query ---- */

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Empty runs are [0, 0); runs that touch are one. */
static attention_seen tidy(attention_range kept, attention_range near) {
    if (near.low >= near.high) {
        near = kept;
        kept = (attention_range){0, 0};
    }
    if (near.low >= near.high)
        return (attention_seen){0, 0, 0, 0};
    if (kept.low >= kept.high)
        return (attention_seen){0, 0, near.low, near.high};
    if (kept.high >= near.low)
        return (attention_seen){0, 0, least(kept.low, near.low), most(kept.high, near.high)};
    return (attention_seen){kept.low, kept.high, near.low, near.high};
}

static attention_range both(attention_range a, attention_range b) {
    return (attention_range){most(a.low, b.low), least(a.high, b.high)};
}

/* The keys of the chunk that a query stands in; after = t + 1 + m. Nothing stands before the first key. */
static attention_range chunk_of(size_t chunk, size_t after, const locus_sequence_span *span) {
    if (after <= span->query_count)
        return (attention_range){0, 0};
    const size_t index = after - 1 - span->query_count, first = index - index % chunk;
    return (attention_range){first, chunk < span->key_count - first ? first + chunk : span->key_count};
}

/* By the mask alone a query sees all keys up to some. after = t + 1 + m: aligned at the ends, the last query sees the
 * last key. */
static size_t seen_until(const attention_sight *sight, size_t sequence, const locus_sequence_span *span, size_t row) {
    const size_t keys = span->key_count, after = row + 1 + keys;
    if (sight->mask == LOCUS_MASK_FULL)
        return keys;
    const size_t until = after > span->query_count ? least(after - span->query_count, keys) : 0;
    return sight->mask == LOCUS_MASK_PREFIX ? most(until, least(sight->prefix[sequence], keys)) : until;
}

attention_seen locus_attention_see(const attention_sight *sight, size_t sequence, const locus_sequence_span *span,
                                   size_t row) {
    const size_t keys = span->key_count;
    const size_t after = row + 1 + keys; /* t + 1 + m */
    attention_range near = {0, seen_until(sight, sequence, span, row)}, kept = {0, 0};
    if (sight->window > 0) {
        const size_t window = least(sight->window, keys + span->query_count); /* no sum overflows */
        kept.high = least(sight->keep, near.high);
        near.low = after > span->query_count + window ? after - span->query_count - window : 0;
        const size_t end = after - 1 + window; /* t + window + m */
        near.high = least(near.high, end > span->query_count ? end - span->query_count : 0);
    }
    if (sight->ranges) {
        near = both(near, sight->ranges[span->query_first + row]);
        kept = both(kept, sight->ranges[span->query_first + row]);
    }
    if (sight->chunk > 0) {
        const attention_range own = chunk_of(sight->chunk, after, span);
        near = both(near, own);
        kept = both(kept, own);
    }
    return tidy(kept, near);
}

void locus_attention_see_rows(const attention_sight *sight, size_t sequence, const locus_sequence_span *span,
                              size_t first, size_t count, attention_seen *seen) {
    const bool simple = sight->window == 0 && sight->chunk == 0 && !sight->ranges;
    for (size_t i = 0; i < count; i++)
        seen[i] = simple ? (attention_seen){0, 0, 0, seen_until(sight, sequence, span, first + i)}
                         : locus_attention_see(sight, sequence, span, first + i);
}

static attention_range hull(attention_range a, attention_range b) {
    if (a.low >= a.high)
        return b;
    if (b.low >= b.high)
        return a;
    return (attention_range){least(a.low, b.low), most(a.high, b.high)};
}

attention_seen locus_attention_seen_join(const attention_seen *a, const attention_seen *b) {
    if (a->kept_high == 0 && b->kept_high == 0 && a->low < a->high && b->low < b->high) /* nearly always */
        return (attention_seen){0, 0, least(a->low, b->low), most(a->high, b->high)};
    const attention_range kept =
        hull((attention_range){a->kept_low, a->kept_high}, (attention_range){b->kept_low, b->kept_high});
    return tidy(kept, hull((attention_range){a->low, a->high}, (attention_range){b->low, b->high}));
}

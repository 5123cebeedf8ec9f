/* SPDX-License-Identifier: MIT */
/* Distinct positions of a plan, over all coordinates, whole or real: a hash table of tokens, at most half full. */
#include "spec/form_writer.h"

#include <string.h>

#define NOTHING UINT32_MAX

typedef struct locus_form_search {
    const locus_places *places;
    size_t mask;     /* slots − 1, a power of two */
    uint32_t *slots; /* numbers of positions */
    uint32_t *sample;
    bool *of_key;
    size_t count;
} locus_form_search;

static const locus_token_side *side_of(const locus_placement *placement, bool key) {
    return key ? &placement->key : &placement->query;
}

static uint64_t bits_of(const locus_token_side *side, size_t token) {
    uint64_t bits = (uint64_t)side->values[token];
    const double real = side->reals ? side->reals[token] + 0.0 : 0; /* −0 is 0 */
    if (side->reals)
        memcpy(&bits, &real, sizeof bits);
    return bits;
}

static size_t hash_of(const locus_places *places, size_t token, bool key) {
    uint64_t hash = 0;
    for (size_t c = 0; c < places->count; c++) {
        hash = (hash ^ bits_of(side_of(&places->items[c], key), token)) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return (size_t)hash;
}

static bool is_at(const locus_form_search *search, uint32_t number, size_t token, bool key) {
    bool same = true;
    for (size_t c = 0; c < search->places->count && same; c++) {
        const locus_placement *item = &search->places->items[c];
        same = bits_of(side_of(item, search->of_key[number]), search->sample[number]) ==
               bits_of(side_of(item, key), token);
    }
    return same;
}

static uint32_t find(locus_form_search *search, size_t token, bool key) {
    size_t at = hash_of(search->places, token, key) & search->mask;
    for (; search->slots[at] != NOTHING; at = (at + 1) & search->mask)
        if (is_at(search, search->slots[at], token, key))
            return search->slots[at];
    search->sample[search->count] = (uint32_t)token;
    search->of_key[search->count] = key;
    search->slots[at] = (uint32_t)search->count;
    return (uint32_t)search->count++;
}

static void number_side(locus_form_search *search, bool key, uint32_t *numbers) {
    const locus_token_side *side = side_of(&search->places->items[0], key);
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t i = 0; i < side->runs[r].count; i++)
            numbers[side->runs[r].first + i] = find(search, side->runs[r].first + i, key);
}

bool locus_form_distinguish(locus_form_writer *writer, bool keys, locus_form_distinct *distinct) {
    const locus_placement *first = &writer->places->items[0];
    const bool both = keys && !writer->places->shared;
    const size_t most = first->query.used + (both ? first->key.used : 0);
    locus_form_search search = {.places = writer->places, .mask = 15};
    while (search.mask < 2 * most)
        search.mask = 2 * search.mask + 1;
    uint32_t *query = locus_form_take(writer, first->query.tokens, sizeof *query);
    uint32_t *key = both ? locus_form_take(writer, first->key.tokens, sizeof *key) : query;
    search.slots = locus_form_take(writer, search.mask + 1, sizeof *search.slots);
    search.sample = locus_form_take(writer, most, sizeof *search.sample);
    search.of_key = locus_form_take(writer, most, sizeof *search.of_key);
    if (writer->status != LOCUS_OK)
        return false;
    memset(search.slots, 0xff, (search.mask + 1) * sizeof *search.slots);
    number_side(&search, false, query);
    if (both)
        number_side(&search, true, key);
    *distinct = (locus_form_distinct){search.count, query, keys ? key : NULL, search.sample, search.of_key};
    return true;
}

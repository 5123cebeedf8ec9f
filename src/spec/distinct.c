/* SPDX-License-Identifier: MIT */
/* Distinct positions of a plan and the tokens that stand on each: a hash table over the values of all coordinates (open
 * addressing, at most half full), then a counting sort of the tokens. Memory is linear in the tokens. */
#include "spec/distinct.h"

#include "core/error.h"

#include <assert.h>
#include <string.h>

#define NOTHING UINT32_MAX

typedef struct locus_position_table {
    const locus_places *places;
    size_t mask; /* slots − 1, slots a power of two */
    uint32_t *slots;
    int64_t *values; /* [room, coordinates] */
    size_t count;
    int64_t *wanted; /* [coordinates] the position that is looked for */
} locus_position_table;

static size_t hash_of(const int64_t *values, size_t count) {
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ (uint64_t)values[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return (size_t)hash;
}

/* Number of the wanted position, which the table takes in if it is new. */
static uint32_t find(locus_position_table *table) {
    const size_t coordinates = table->places->count, bytes = coordinates * sizeof *table->wanted;
    size_t at = hash_of(table->wanted, coordinates) & table->mask;
    for (; table->slots[at] != NOTHING; at = (at + 1) & table->mask)
        if (memcmp(table->values + table->slots[at] * coordinates, table->wanted, bytes) == 0)
            return table->slots[at];
    memcpy(table->values + table->count * coordinates, table->wanted, bytes);
    table->slots[at] = (uint32_t)table->count;
    return (uint32_t)table->count++;
}

static const locus_token_side *side_of(const locus_placement *placement, bool keys) {
    return keys ? &placement->key : &placement->query;
}

/* A coordinate that equals another where the numbers do: −0 is 0. */
static int64_t comparable(const locus_placement *placement, bool keys, size_t token) {
    const locus_token_side *side = side_of(placement, keys);
    if (!placement->query.reals)
        return side->values[token];
    const double real = locus_token_position(side, token) + 0.0;
    int64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

/* The position's number of every token in use. */
static void number_side(locus_position_table *table, bool keys, uint32_t *numbers) {
    const locus_placement *items = table->places->items;
    const locus_token_side *side = side_of(&items[0], keys);
    assert(table->wanted != NULL);
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t i = 0; i < side->runs[r].count; i++) {
            const size_t token = side->runs[r].first + i;
            for (size_t c = 0; c < table->places->count; c++)
                table->wanted[c] = comparable(&items[c], keys, token);
            numbers[token] = find(table);
        }
}

static locus_status group_side(const locus_token_side *side, const uint32_t *numbers, size_t positions,
                               locus_position_tokens *grouped, locus_owned *memory, locus_error *error) {
    uint32_t *first = locus_owned_get(memory, positions + 2, sizeof *first);
    uint32_t *tokens = locus_owned_get(memory, side->used, sizeof *tokens);
    if (!first || !tokens)
        return locus_owned_fail(error);
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t i = 0; i < side->runs[r].count; i++)
            first[numbers[side->runs[r].first + i] + 2]++;
    for (size_t p = 2; p <= positions + 1; p++)
        first[p] += first[p - 1];
    for (size_t r = 0; r < side->run_count; r++) /* first[p + 1] moves from where p begins to where it ends */
        for (size_t i = 0; i < side->runs[r].count; i++) {
            const size_t token = side->runs[r].first + i;
            tokens[first[numbers[token] + 1]++] = (uint32_t)token;
        }
    *grouped = (locus_position_tokens){first, tokens, numbers};
    return LOCUS_OK;
}

static locus_status make_table(locus_position_table *table, locus_owned *memory, locus_error *error) {
    const locus_placement *placement = &table->places->items[0];
    const size_t most = placement->query.used + (table->places->shared ? 0 : placement->key.used);
    size_t slots = 16;
    while (slots < 2 * most)
        slots *= 2;
    table->mask = slots - 1;
    table->slots = locus_owned_get(memory, slots, sizeof *table->slots);
    table->values = locus_owned_get(memory, (most + 1) * table->places->count, sizeof *table->values);
    if (!table->slots || !table->values)
        return locus_owned_fail(error);
    table->wanted = table->values + most * table->places->count;
    for (size_t i = 0; i < slots; i++)
        table->slots[i] = NOTHING;
    return LOCUS_OK;
}

static locus_status find_all(locus_position_table *table, locus_distinct_positions *distinct, locus_owned *memory,
                             locus_error *error) {
    const locus_placement *placement = &table->places->items[0];
    const locus_token_side *sides[] = {&placement->query, &placement->key};
    const size_t count = table->places->shared ? 1 : 2;
    uint32_t *numbers[2] = {NULL, NULL};
    locus_position_tokens grouped[2] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    for (size_t i = 0; i < count; i++) {
        numbers[i] = locus_owned_get(memory, sides[i]->tokens, sizeof *numbers[i]);
        if (!numbers[i])
            return locus_owned_fail(error);
        number_side(table, i == 1, numbers[i]);
    }
    int64_t *values = locus_owned_get(memory, table->count * table->places->count, sizeof *values);
    if (!values)
        return locus_owned_fail(error);
    memcpy(values, table->values, table->count * table->places->count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        locus_status status = group_side(sides[i], numbers[i], table->count, &grouped[i], memory, error);
        if (status != LOCUS_OK)
            return status;
    }
    *distinct = (locus_distinct_positions){table->count, values, grouped[0], grouped[count - 1]};
    return LOCUS_OK;
}

static locus_status make(const void *request, void *found, locus_owned *memory, locus_error *error) {
    locus_position_table table = {.places = request};
    locus_owned passing = {0};
    locus_status status = make_table(&table, &passing, error);
    if (status == LOCUS_OK)
        status = find_all(&table, found, memory, error);
    locus_owned_release(&passing);
    return status;
}

static const locus_table_kind distinct_kind = {sizeof(locus_distinct_positions), make};

locus_status locus_distinct_positions_find(const locus_places *places, locus_distinct_positions *distinct,
                                           locus_owned *memory, locus_error *error) {
    const locus_table_asked asked = {&distinct_kind, NULL, 0, places};
    const void *found = NULL;
    const locus_status status = locus_tables_get(places->tables, &asked, memory, &found, error);
    if (status == LOCUS_OK)
        *distinct = *(const locus_distinct_positions *)found;
    return status;
}

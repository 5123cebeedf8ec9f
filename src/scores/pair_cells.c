/* SPDX-License-Identifier: MIT */
/* See pair_cells.h. What follows from positions alone is in the places' tables. */
#include "scores/pair_cells.h"

#include "algebra/group_access.h"
#include "core/error.h"
#include "spec/distinct.h"
#include "spec/points.h"

#include <string.h>

/* ---- how many cells each kind has; SIZE_MAX: too many, or it cannot be had ---- */

enum { BY_DIFFERENCE, BY_PLACE, BY_PAIR, KINDS };

static size_t count_differences(const locus_places *places) {
    size_t count = 1;
    for (size_t c = 0; c < places->count; c++) {
        const locus_placement *axis = &places->items[c];
        const uint64_t spread = (uint64_t)axis->farthest_apart - (uint64_t)axis->nearest_apart + 1; /* 0: 2^64 */
        if (axis->coordinate.kind == LOCUS_COORDINATE_TREE || axis->query.reals || axis->key.reals || spread == 0 ||
            spread > INT32_MAX / count)
            return SIZE_MAX;
        count *= (size_t)spread;
    }
    return count;
}

static size_t count_pairs(const locus_places *places) {
    size_t count = 0;
    for (size_t s = 0; s < places->items[0].sequences && count <= INT32_MAX; s++) {
        const locus_sequence_span *span = &places->items[0].spans[s];
        if (span->query_count > 0 && span->key_count > INT32_MAX / span->query_count)
            return SIZE_MAX;
        count += locus_score_rows_repeat(places, s) ? 0 : span->query_count * span->key_count;
    }
    return count <= INT32_MAX ? count : SIZE_MAX;
}

/* Numbers of distinct positions among those of one side alone: rows of queries, columns of keys. */
typedef struct pair_side {
    uint32_t *of; /* [positions], UINT32_MAX: not on this side */
    size_t count;
} pair_side;

static locus_status number_side(const locus_distinct_positions *distinct, const locus_position_tokens *tokens,
                                pair_side *side, locus_owned *passing, locus_error *error) {
    side->of = locus_owned_get(passing, distinct->count, sizeof *side->of);
    if (!side->of)
        return locus_owned_fail(error);
    for (size_t p = 0; p < distinct->count; p++)
        side->of[p] = tokens->first[p + 1] > tokens->first[p] ? (uint32_t)side->count++ : UINT32_MAX;
    return LOCUS_OK;
}

typedef struct pair_making {
    const locus_places *places;
    locus_pair_cells *cells;
    locus_owned *memory, passing;
    locus_distinct_positions distinct;
    pair_side query, key; /* by place */
    size_t counts[KINDS];
    int kind;
    locus_point_words words;
    const locus_distances *distances;
    size_t room; /* for cells that are read */
    uint32_t *read;
    double *points[2], *distance; /* of queries and keys */
    locus_extension_word *spelt[2];
} pair_making;

static locus_status count_places(pair_making *making, locus_error *error) {
    const locus_places *places = making->places;
    locus_status status = locus_distinct_positions_find(places, &making->distinct, &making->passing, error);
    if (status == LOCUS_OK)
        status = number_side(&making->distinct, &making->distinct.query, &making->query, &making->passing, error);
    if (status == LOCUS_OK)
        status = number_side(&making->distinct, &making->distinct.key, &making->key, &making->passing, error);
    const size_t rows = making->query.count, columns = making->key.count;
    making->counts[BY_PLACE] = rows > 0 && columns > INT32_MAX / rows ? SIZE_MAX : rows * columns;
    return status;
}

/* Differences of whole numbers, though more than can be counted: a cache's plan follows positions without being placed
 * again, which nothing but a table of differences allows. */
static bool has_differences(const locus_places *places) {
    bool has = true;
    for (size_t c = 0; c < places->count; c++) {
        const locus_placement *axis = &places->items[c];
        has = has && axis->coordinate.kind != LOCUS_COORDINATE_TREE && !axis->query.reals && !axis->key.reals;
    }
    return has;
}

static locus_status choose(pair_making *making, const locus_pair_asked *asked, locus_error *error) {
    const locus_places *places = making->places;
    size_t *counts = making->counts;
    counts[BY_DIFFERENCE] = asked->relative ? count_differences(places) : SIZE_MAX;
    if (places->grows && asked->relative && counts[BY_DIFFERENCE] == SIZE_MAX && has_differences(places))
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, asked->name,
                          "the scores of '%s' in a cache are a table of differences, and positions so far from each "
                          "other have too many: begin with smaller ones",
                          asked->name);
    counts[BY_PLACE] = SIZE_MAX;
    counts[BY_PAIR] = places->grows && counts[BY_DIFFERENCE] < SIZE_MAX ? SIZE_MAX : count_pairs(places);
    if (!places->grows) {
        const locus_status status = count_places(making, error);
        if (status != LOCUS_OK)
            return status;
    }
    for (int kind = BY_DIFFERENCE; kind < KINDS; kind++)
        making->kind = counts[kind] < counts[making->kind] ? kind : making->kind;
    making->cells->living = places->grows && making->kind == BY_DIFFERENCE ? places : NULL;
    const size_t cells = counts[making->kind], words = places->count * 2;
    const size_t each = asked->bytes + sizeof(uint32_t) + (words + 1) * sizeof(double) +
                        (locus_group_has_tree(places->group) ? words * sizeof(locus_extension_word) : 0);
    if (cells > places->workspace / each)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, asked->name,
                          "the scores of '%s' at these positions are too many for the plan's workspace of %zu bytes: "
                          "give more, or plan fewer tokens at a time",
                          asked->name, places->workspace);
    return LOCUS_OK;
}

/* ---- where cells begin ---- */

static void set_places(pair_making *making, uint32_t *query, uint32_t *key) {
    const locus_distinct_positions *distinct = &making->distinct;
    const locus_placement *first = &making->places->items[0];
    const size_t rows = making->query.count, columns = making->key.count;
    /* where there are none, all tokens are in gaps */
    for (size_t t = 0; t < first->query.tokens; t++)
        query[t] = rows > 0 ? making->query.of[distinct->query.numbers[t]] * (uint32_t)columns : 0;
    for (size_t t = 0; t < first->key.tokens; t++)
        key[t] = columns > 0 ? making->key.of[distinct->key.numbers[t]] : 0;
}

static void set_pairs(const locus_places *places, uint32_t *query, uint32_t *key) {
    size_t base = 0, end = 0;
    for (size_t s = 0; s < places->items[0].sequences; s++) {
        const locus_sequence_span *span = &places->items[0].spans[s];
        base = locus_score_rows_repeat(places, s) ? base : end;
        for (size_t j = 0; j < span->key_count; j++)
            key[span->key_first + j] = (uint32_t)j;
        for (size_t i = 0; i < span->query_count; i++)
            query[span->query_first + i] = (uint32_t)(base + i * span->key_count);
        end = base + span->query_count * span->key_count;
    }
}

static locus_status set_rows(pair_making *making, locus_error *error) {
    const locus_placement *first = &making->places->items[0];
    locus_score_rows *rows = &making->cells->rows;
    rows->cells = making->counts[making->kind];
    if (making->cells->living)
        return LOCUS_OK;
    uint32_t *query = locus_owned_get(making->memory, first->query.tokens, sizeof *query);
    uint32_t *key = locus_owned_get(making->memory, first->key.tokens, sizeof *key);
    uint32_t *ahead = locus_owned_get(making->memory, first->key.tokens, sizeof *ahead);
    if (!query || !key || !ahead)
        return locus_owned_fail(error);
    if (making->kind == BY_PLACE) {
        set_places(making, query, key);
    } else if (making->kind == BY_PAIR) {
        set_pairs(making->places, query, key);
    } else {
        locus_score_rows_strides(making->places, false, query);
        locus_score_rows_strides(making->places, true, key);
    }
    rows->scattered = locus_score_rows_ahead(first, key, ahead);
    rows->query = query;
    rows->key = key;
    rows->ahead = ahead;
    return LOCUS_OK;
}

/* ---- who speaks for a cell ---- */

static locus_status take_room(pair_making *making, locus_error *error) {
    const size_t room = making->room = making->cells->rows.cells, numbers = room * making->places->count;
    const bool all = making->kind == BY_DIFFERENCE;
    locus_status status = locus_point_words_make(making->places, &making->words, making->memory, error);
    if (status != LOCUS_OK)
        return status;
    bool fits = true;
    making->read = all ? NULL : locus_owned_get(making->memory, room, sizeof *making->read);
    making->distance = locus_owned_get(making->memory, room, sizeof *making->distance);
    for (size_t side = 0; side < 2; side++) {
        making->points[side] = locus_owned_get(making->memory, numbers, sizeof *making->points[side]);
        if (making->words.trees)
            making->spelt[side] = locus_owned_get(making->memory, numbers, sizeof *making->spelt[side]);
        fits = fits && making->points[side] && (!making->words.trees || making->spelt[side]);
    }
    return fits && making->distance && (all || making->read) ? LOCUS_OK : locus_owned_fail(error);
}

static void write_point(pair_making *making, size_t item, bool keys, size_t token) {
    const size_t at = item * making->places->count;
    locus_extension_word *spelt = making->words.trees ? making->spelt[keys] + at : NULL;
    locus_point_write(making->places, &making->words, keys, token, making->points[keys] + at, spelt);
}

/* One query with the keys of its sequence: those whose cells have nobody yet. */
static void write_row(pair_making *making, const locus_sequence_span *span, size_t query, bool *seen,
                      double *distance) {
    const locus_score_rows *rows = &making->cells->rows;
    bool measured = false;
    for (size_t j = 0; j < span->key_count; j++) {
        const size_t key = span->key_first + j, item = making->cells->count;
        const uint32_t cell = rows->query[query] + rows->key[key];
        if (seen[cell])
            continue;
        if (!measured) {
            const locus_score_call call = {LOCUS_FLOAT64, 0, query, span->key_first, span->key_count, NULL};
            locus_distances_row(making->distances, &call, distance);
            measured = true;
        }
        seen[cell] = true;
        making->read[item] = cell;
        making->distance[item] = distance[j];
        write_point(making, item, false, query);
        write_point(making, item, true, key);
        making->cells->count++;
    }
}

static locus_status write_pairs(pair_making *making, locus_error *error) {
    const locus_placement *first = &making->places->items[0];
    const size_t cells = making->cells->rows.cells;
    bool *seen = locus_owned_get(&making->passing, cells, sizeof *seen);
    double *distance = locus_owned_get(&making->passing, first->key.tokens, sizeof *distance);
    if (!seen || !distance)
        return locus_owned_fail(error);
    for (size_t s = 0; s < first->sequences; s++)
        for (size_t i = 0; i < first->spans[s].query_count && making->cells->count < cells; i++)
            write_row(making, &first->spans[s], first->spans[s].query_first + i, seen, distance);
    making->cells->cell = making->read;
    return LOCUS_OK;
}

/* Extremes of a side's tokens in use. */
static void find_extremes(const locus_token_side *side, int64_t *lowest, int64_t *highest) {
    bool any = false;
    for (size_t r = 0; r < side->run_count; r++)
        for (size_t t = side->runs[r].first; t < side->runs[r].first + side->runs[r].count; t++) {
            *lowest = any && *lowest < side->values[t] ? *lowest : side->values[t];
            *highest = any && *highest > side->values[t] ? *highest : side->values[t];
            any = true;
        }
}

/* Where queries and keys begin on an axis. A cache's may be anywhere. */
typedef struct pair_reach {
    int64_t query, key;
    bool any;
} pair_reach;

static pair_reach reach_of(const locus_placement *axis, bool grows) {
    int64_t low[2] = {0, 0}, high = 0;
    if (!grows) {
        find_extremes(&axis->query, &low[0], &high);
        find_extremes(&axis->key, &low[1], &high);
    }
    return (pair_reach){low[0], low[1], grows};
}

/* A query that, with the key so far from it, lies within the reach of both sides. */
static int64_t query_for(const pair_reach *reach, int64_t apart) {
    if (reach->any)
        return apart < 0 ? -apart : 0;
    return reach->query + apart < reach->key ? reach->key - apart : reach->query;
}

static locus_status write_differences(pair_making *making, locus_error *error) {
    const locus_places *places = making->places;
    const size_t count = making->cells->count = making->cells->rows.cells;
    int64_t *apart = locus_owned_get(&making->passing, places->count, sizeof *apart);
    if (!apart)
        return locus_owned_fail(error);
    size_t stride = 1;
    for (size_t c = places->count; c-- > 0;) {
        const locus_placement *axis = &places->items[c];
        const size_t spread = (size_t)(axis->farthest_apart - axis->nearest_apart) + 1;
        const pair_reach reach = reach_of(axis, places->grows);
        for (size_t step = 0; step < spread; step++) { /* all cells with this difference on this axis */
            const int64_t difference = axis->nearest_apart + (int64_t)step;
            const int64_t query = query_for(&reach, difference);
            for (size_t block = step * stride; block < count; block += spread * stride)
                for (size_t cell = block; cell < block + stride; cell++) {
                    making->points[0][cell * places->count + c] = (double)query;
                    making->points[1][cell * places->count + c] = (double)(query + difference);
                }
        }
        stride *= spread;
    }
    for (size_t cell = 0; cell < count; cell++) {
        for (size_t c = 0; c < places->count; c++)
            apart[c] =
                (int64_t)(making->points[1][cell * places->count + c] - making->points[0][cell * places->count + c]);
        making->distance[cell] = locus_distances_of(making->distances, apart);
    }
    return LOCUS_OK;
}

/* ---- making ---- */

typedef struct pair_request {
    const locus_places *places;
    const locus_pair_asked *asked;
} pair_request;

static locus_status make_cells(pair_making *making, const locus_pair_asked *asked, locus_error *error) {
    locus_status status = choose(making, asked, error);
    if (status == LOCUS_OK)
        status = set_rows(making, error);
    if (status == LOCUS_OK)
        status = take_room(making, error);
    if (status == LOCUS_OK)
        status = locus_distances_make(making->places, &making->passing, &making->distances, error);
    if (status == LOCUS_OK)
        status = (making->kind == BY_DIFFERENCE ? write_differences : write_pairs)(making, error);
    return status;
}

static locus_status make(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const pair_request *own = request;
    locus_pair_cells *cells = table;
    pair_making making = {.places = own->places, .cells = cells, .memory = memory};
    const locus_status status = make_cells(&making, own->asked, error);
    locus_owned_release(&making.passing);
    cells->query = making.points[0];
    cells->key = making.points[1];
    cells->query_words = making.spelt[0];
    cells->key_words = making.spelt[1];
    cells->distance = making.distance;
    return status;
}

static const locus_table_kind cells_kind = {sizeof(locus_pair_cells), make};

locus_status locus_pair_cells_create(locus_pair_cells *cells, const locus_places *places, const locus_pair_asked *asked,
                                     locus_owned *memory, locus_error *error) {
    const size_t key[] = {asked->relative, asked->bytes, places->workspace};
    const pair_request request = {places, asked};
    const locus_table_asked table = {&cells_kind, key, sizeof key, &request};
    const void *found = NULL;
    const locus_status status = locus_tables_get(places->tables, &table, memory, &found, error);
    if (status == LOCUS_OK)
        *cells = *(const locus_pair_cells *)found;
    return status;
}

/* ---- rows ---- */

/* Of a cache: the cell of a pair as it stands. */
static size_t living_cell(const locus_places *places, size_t query, size_t key) {
    size_t cell = 0;
    for (size_t c = 0; c < places->count; c++) {
        const locus_placement *axis = &places->items[c];
        const int64_t apart = axis->key.values[key] - axis->query.values[query];
        cell = cell * (size_t)(axis->farthest_apart - axis->nearest_apart + 1) + (size_t)(apart - axis->nearest_apart);
    }
    return cell;
}

static void copy_living(const locus_places *places, const locus_score_call *call, const void *table, void *out) {
    for (size_t j = 0; j < call->count; j++) {
        const size_t cell = living_cell(places, call->query, call->key_first + j);
        if (call->dtype == LOCUS_FLOAT32)
            ((float *)out)[j] = ((const float *)table)[cell];
        else
            ((double *)out)[j] = ((const double *)table)[cell];
    }
}

const void *locus_pair_cells_row(const locus_pair_cells *cells, const locus_score_call *call, const void *table,
                                 void *scratch) {
    if (cells->living) {
        copy_living(cells->living, call, table, scratch);
        return scratch;
    }
    const size_t at = locus_score_rows_at(&cells->rows, call);
    if (at != SIZE_MAX)
        return (const char *)table + at * locus_dtype_size(call->dtype);
    if (call->dtype == LOCUS_FLOAT32)
        locus_score_rows_copy_float32(&cells->rows, call, table, scratch);
    else
        locus_score_rows_copy_float64(&cells->rows, call, table, scratch);
    return scratch;
}

void locus_pair_cells_add(const locus_pair_cells *cells, const locus_score_call *call, const void *gradient,
                          double *sums) {
    const uint32_t base = cells->rows.query[call->query], *keys = cells->rows.key + call->key_first;
    if (call->dtype == LOCUS_FLOAT32)
        for (size_t j = 0; j < call->count; j++)
            sums[(uint32_t)(base + keys[j])] += (double)((const float *)gradient)[j];
    else
        for (size_t j = 0; j < call->count; j++)
            sums[(uint32_t)(base + keys[j])] += ((const double *)gradient)[j];
}

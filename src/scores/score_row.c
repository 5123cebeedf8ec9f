/* SPDX-License-Identifier: MIT */
/* See score_row.h. */
#include "scores/score_row.h"

#include "core/loop_clones.h"

#include <string.h>

/* Cells by difference, of one coordinate and of several; positions far apart may have more than tokens ask for. */
#define LINE_FOR_TOKEN 4
#define LINE_ALWAYS 65536
#define GRID_FOR_TOKEN 16
#define GRID_ALWAYS 16384
/* Numbers in all tables over cells by pair, or over what cells by difference have beyond the tokens. */
#define PAIR_NUMBERS_FOR_TOKEN 512
#define NUMBERS_ALWAYS ((size_t)1 << 22)

#define SHORT_PIECE 8

static size_t tokens_of(const locus_places *places) {
    const locus_placement *first = &places->items[0];
    return first->query.used > first->key.used ? first->query.used : first->key.used;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t line_most(const locus_places *places, size_t tables) {
    return tokens_of(places) * LINE_FOR_TOKEN + least(LINE_ALWAYS, NUMBERS_ALWAYS / (tables + 1));
}

double locus_score_list_most(const locus_places *places, size_t tables) {
    return (double)line_most(places, tables);
}

/* ---- cells by difference ---- */

static uint64_t spread_of(const locus_placement *axis) {
    return (uint64_t)axis->farthest_apart - (uint64_t)axis->nearest_apart + 1; /* 0: 2^64 */
}

/* How many; 0 if they are too many. */
static size_t count_differences(const locus_places *places, size_t tables) {
    const size_t tokens = tokens_of(places);
    const size_t most = places->count == 1
                            ? line_most(places, tables)
                            : tokens * GRID_FOR_TOKEN + least(GRID_ALWAYS, NUMBERS_ALWAYS / (tables + 1));
    size_t count = tokens > 0;
    for (size_t c = 0; c < places->count && count > 0; c++) {
        const uint64_t spread = spread_of(&places->items[c]);
        const bool steps = places->items[c].coordinate.kind != LOCUS_COORDINATE_TREE && !places->items[c].query.reals &&
                           !places->items[c].key.reals;
        const bool fits = steps && spread > 0 && spread <= most / count && count * spread <= INT32_MAX;
        count = fits ? count * (size_t)spread : 0;
    }
    return count;
}

void locus_score_rows_strides(const locus_places *places, bool keys, uint32_t *cells) {
    uint32_t stride = 1;
    for (size_t c = places->count; c-- > 0;) {
        const locus_placement *axis = &places->items[c];
        const locus_token_side *side = keys ? &axis->key : &axis->query;
        for (size_t t = 0; t < side->tokens; t++) {
            const uint32_t value = (uint32_t)((uint64_t)side->values[t]);
            cells[t] +=
                keys ? value * stride : ((uint32_t)0 - value - (uint32_t)(uint64_t)axis->nearest_apart) * stride;
        }
        stride *= (uint32_t)spread_of(axis);
    }
}

/* Walks all tuples of differences in the order of the cells. */
static bool next_difference(const locus_places *places, int64_t *apart) {
    for (size_t c = places->count; c-- > 0;) {
        if (apart[c] < places->items[c].farthest_apart) {
            apart[c]++;
            return true;
        }
        apart[c] = places->items[c].nearest_apart;
    }
    return false;
}

static locus_status fill_differences(const locus_places *places, const locus_distances *distances, bool directed,
                                     double *distance, locus_error *error) {
    locus_owned passing = {0};
    int64_t *apart = locus_owned_get(&passing, places->count, sizeof *apart);
    if (!apart)
        return locus_owned_fail(error);
    for (size_t c = 0; c < places->count; c++)
        apart[c] = places->items[c].nearest_apart;
    do
        *distance++ = directed ? (double)apart[0] : locus_distances_of(distances, apart);
    while (next_difference(places, apart));
    locus_owned_release(&passing);
    return LOCUS_OK;
}

/* ---- cells by pair ---- */

static bool same_values(const locus_token_side *side, size_t first, size_t before, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (side->values[first + i] != side->values[before + i] ||
            (side->reals && side->reals[first + i] != side->reals[before + i]))
            return false;
    return true;
}

bool locus_score_rows_repeat(const locus_places *places, size_t sequence) {
    if (sequence == 0)
        return false;
    const locus_sequence_span *span = &places->items[0].spans[sequence], *before = span - 1;
    bool same = span->query_count == before->query_count && span->key_count == before->key_count;
    for (size_t c = 0; c < places->count && same; c++) {
        const locus_placement *axis = &places->items[c];
        same = same_values(&axis->query, span->query_first, before->query_first, span->query_count) &&
               same_values(&axis->key, span->key_first, before->key_first, span->key_count);
    }
    return same;
}

static size_t count_pairs(const locus_places *places, size_t tables) {
    const size_t tokens = tokens_of(places);
    const size_t most = (tokens * PAIR_NUMBERS_FOR_TOKEN + NUMBERS_ALWAYS) / (tables + 1);
    size_t count = 0;
    for (size_t s = 0; s < places->items[0].sequences; s++) {
        const locus_sequence_span *span = &places->items[0].spans[s];
        if (span->query_count == 0 || span->key_count == 0)
            continue;
        if (span->key_count > (most - count) / span->query_count) {
            if (!locus_score_rows_repeat(places, s))
                return 0;
            continue;
        }
        count += locus_score_rows_repeat(places, s) ? 0 : span->query_count * span->key_count;
    }
    return count <= INT32_MAX ? count : 0;
}

static void fill_pairs(const locus_places *places, const locus_distances *distances, bool directed, uint32_t *query,
                       uint32_t *key, double *distance) {
    size_t base = 0, end = 0;
    for (size_t s = 0; s < places->items[0].sequences; s++) {
        const locus_sequence_span *span = &places->items[0].spans[s];
        const bool fresh = !locus_score_rows_repeat(places, s);
        base = fresh ? end : base;
        for (size_t j = 0; j < span->key_count; j++)
            key[span->key_first + j] = (uint32_t)j;
        for (size_t i = 0; i < span->query_count; i++) {
            const locus_score_call call = {LOCUS_FLOAT64,   0,   span->query_first + i, span->key_first,
                                           span->key_count, NULL};
            query[span->query_first + i] = (uint32_t)(base + i * span->key_count);
            if (fresh)
                (directed ? locus_distances_apart : locus_distances_row)(distances, &call,
                                                                         distance + base + i * span->key_count);
        }
        end = base + span->query_count * span->key_count;
    }
}

/* ---- both ---- */

bool locus_score_rows_ahead(const locus_placement *first, const uint32_t *key, uint32_t *ahead) {
    size_t pieces = 0;
    for (size_t s = 0; s < first->sequences; s++)
        for (size_t i = first->spans[s].key_count; i-- > 0;) {
            const size_t t = first->spans[s].key_first + i;
            const bool follows = i + 1 < first->spans[s].key_count && key[t + 1] - key[t] == 1;
            ahead[t] = follows ? ahead[t + 1] + 1 : 1;
            pieces += !follows;
        }
    return pieces * SHORT_PIECE > first->key.used;
}

/* What rows are made from. Of one kind of cells there is one table, whoever asks for it. */
typedef struct locus_rows_request {
    const locus_places *places;
    size_t tables; /* how many numbers a term keeps for each cell */
    bool directed;
    bool by_pair; /* what was chosen for them */
    size_t cells;
} locus_rows_request;

static locus_status make_cells(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_rows_request *asked = request;
    const locus_places *places = asked->places;
    const locus_placement *first = &places->items[0];
    locus_score_rows *rows = table;
    *rows = (locus_score_rows){.cells = asked->cells, .directed = asked->directed};
    uint32_t *query = locus_owned_get(memory, first->query.tokens, sizeof *query);
    uint32_t *key = locus_owned_get(memory, first->key.tokens, sizeof *key);
    uint32_t *ahead = locus_owned_get(memory, first->key.tokens, sizeof *ahead);
    double *distance = locus_owned_get(memory, rows->cells, sizeof *distance);
    if (!query || !key || !ahead || !distance)
        return locus_owned_fail(error);
    locus_owned passing = {0};
    const locus_distances *distances = NULL;
    locus_status status = locus_distances_make(places, &passing, &distances, error);
    if (status == LOCUS_OK) {
        rows->most = locus_distances_most(distances);
        rows->whole = locus_distances_whole(distances);
        if (asked->by_pair) {
            fill_pairs(places, distances, rows->directed, query, key, distance);
        } else {
            locus_score_rows_strides(places, false, query);
            locus_score_rows_strides(places, true, key);
            status = fill_differences(places, distances, rows->directed, distance, error);
            rows->line = places->count == 1 && first->coordinate.kind == LOCUS_COORDINATE_AXIS;
            rows->origin = -first->nearest_apart;
        }
        rows->scattered = locus_score_rows_ahead(first, key, ahead);
    }
    locus_owned_release(&passing);
    rows->query = query;
    rows->key = key;
    rows->ahead = ahead;
    rows->distance = distance;
    return status;
}

static const locus_table_kind cells_kind = {sizeof(locus_score_rows), make_cells};

static locus_status get_cells(const locus_rows_request *request, locus_score_rows *rows, locus_owned *memory,
                              locus_error *error) {
    const size_t key[] = {request->cells, request->by_pair, request->directed};
    const locus_table_asked asked = {&cells_kind, key, sizeof key, request};
    const void *found = NULL;
    const locus_status status = locus_tables_get(request->places->tables, &asked, memory, &found, error);
    if (status == LOCUS_OK)
        *rows = *(const locus_score_rows *)found;
    return status;
}

static locus_status make_rows(const void *request, void *table, locus_owned *memory, locus_error *error) {
    locus_rows_request asked = *(const locus_rows_request *)request;
    const locus_places *places = asked.places;
    locus_score_rows *rows = table;
    const size_t differences = places->grows ? 0 : count_differences(places, asked.tables);
    size_t pairs = 0;
    if (!places->grows && (places->count > 1 || differences == 0))
        pairs = count_pairs(places, asked.tables);
    asked.by_pair = pairs > 0;
    asked.cells = asked.by_pair ? pairs : differences;
    if (asked.cells > 0)
        return get_cells(&asked, rows, memory, error);
    *rows = (locus_score_rows){.directed = asked.directed};
    locus_status status = locus_distances_create(places, memory, &rows->distances, error);
    rows->most = status == LOCUS_OK ? locus_distances_most(rows->distances) : 0;
    rows->whole = status == LOCUS_OK && locus_distances_whole(rows->distances);
    return status;
}

static const locus_table_kind rows_kind = {sizeof(locus_score_rows), make_rows};

locus_status locus_score_rows_create(locus_score_rows *rows, const locus_places *places, size_t tables, bool directed,
                                     locus_owned *memory, locus_error *error) {
    const size_t key[] = {tables, directed};
    const locus_rows_request request = {.places = places, .tables = tables, .directed = directed};
    const locus_table_asked asked = {&rows_kind, key, sizeof key, &request};
    const void *found = NULL;
    const locus_status status = locus_tables_get(places->tables, &asked, memory, &found, error);
    if (status == LOCUS_OK)
        *rows = *(const locus_score_rows *)found;
    return status;
}

/* ---- rows ---- */

#define COPY_ROWS(real, name) \
    void name(const locus_score_rows *rows, const locus_score_call *call, const real *table, real *out) { \
        const uint32_t base = rows->query[call->query], *keys = rows->key + call->key_first; \
        size_t length; \
        for (size_t j = 0; rows->scattered && j < call->count; j++) \
            out[j] = table[base + keys[j]]; \
        for (size_t j = 0; !rows->scattered && j < call->count; j += length) { \
            const size_t ahead = rows->ahead[call->key_first + j], left = call->count - j; \
            const real *piece = table + (uint32_t)(base + keys[j]); \
            length = ahead < left ? ahead : left; \
            for (size_t i = 0; i < length; i++) \
                out[j + i] = piece[i]; \
        } \
    }
COPY_ROWS(float, locus_score_rows_copy_float32)
COPY_ROWS(double, locus_score_rows_copy_float64)

void locus_score_rows_distance(const locus_score_rows *rows, const locus_score_call *call, double *out) {
    if (rows->cells > 0)
        locus_score_rows_copy_float64(rows, call, rows->distance, out);
    else if (call->steps)
        for (size_t j = 0; j < call->count; j++)
            out[j] = (double)call->steps[j];
    else
        (rows->directed ? locus_distances_apart : locus_distances_row)(rows->distances, call, out);
}

/* ---- sums: eight at a time, so that they run at vector speed in an order of their own ---- */

enum { SUMS = 8 };

static double fold_sums(const double *sum) {
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

#define SUM_ROWS(real, sum_name, dot_name) \
    LOCUS_CLONES static double sum_name(const real *x, size_t count) { \
        double sum[SUMS] = {0}; \
        size_t j = 0; \
        for (; j + SUMS <= count; j += SUMS) \
            for (size_t i = 0; i < SUMS; i++) \
                sum[i] += (double)x[j + i]; \
        for (size_t i = 0; j + i < count; i++) \
            sum[i] += (double)x[j + i]; \
        return fold_sums(sum); \
    } \
    LOCUS_CLONES static double dot_name(const real *x, const double *weight, size_t count) { \
        double sum[SUMS] = {0}; \
        size_t j = 0; \
        for (; j + SUMS <= count; j += SUMS) \
            for (size_t i = 0; i < SUMS; i++) \
                sum[i] += (double)x[j + i] * weight[j + i]; \
        for (size_t i = 0; j + i < count; i++) \
            sum[i] += (double)x[j + i] * weight[j + i]; \
        return fold_sums(sum); \
    }
SUM_ROWS(float, score_sum_float32, score_dot_float32)
SUM_ROWS(double, score_sum_float64, score_dot_float64)

double locus_score_sum(locus_dtype dtype, const void *gradient, size_t first, size_t count) {
    return dtype == LOCUS_FLOAT32 ? score_sum_float32((const float *)gradient + first, count)
                                  : score_sum_float64((const double *)gradient + first, count);
}

double locus_score_dot(locus_dtype dtype, const void *gradient, size_t first, size_t count, const double *weight) {
    return dtype == LOCUS_FLOAT32 ? score_dot_float32((const float *)gradient + first, weight, count)
                                  : score_dot_float64((const double *)gradient + first, weight, count);
}

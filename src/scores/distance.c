/* SPDX-License-Identifier: MIT */
/* See distance.h. The group falls into parts: grids (the axes of one factor), cycles, trees. Distances of the parts add
 * up.
 *
 * The floor of a square root is exact where the sum of squares is: sqrt is rounded correctly, and √(k² − 1) lies more
 * than half a unit in the last place below k as long as k² < 2^24 in floats, k² < 2^52 in doubles. Larger sums are
 * whole numbers of 128 bits, and the root of their rounded value is put right. */
#include "scores/distance.h"

#include "core/error.h"
#include "core/loop_clones.h"
#include "scores/tree_distance.h"

#include <math.h>

__extension__ typedef unsigned __int128 wide_sum;

#define RUN LOCUS_TREE_BLOCK /* keys at a time */
#define FLOAT_SUM 16777216.0
#define DOUBLE_SUM 4503599627370496.0

typedef enum part_kind {
    PART_LINE = 0,        /* one axis */
    PART_GRID_FLOAT = 1,  /* several: sums of squares fit a float, */
    PART_GRID_DOUBLE = 2, /* a double, */
    PART_GRID_WIDE = 3,   /* or neither */
    PART_CYCLE = 4,
    PART_TREE = 5
} part_kind;

typedef struct part {
    part_kind kind;
    const locus_placement *axes; /* [count]: coordinates first, first + 1, … */
    size_t first, count;
    const locus_tree_distance *tree;
} part;

struct locus_distances {
    size_t count;
    const part *parts;
    bool real; /* positions are: of one part, of axes */
    double most;
};

/* ---- one pair ---- */

static uint64_t absolute(int64_t apart) {
    return apart < 0 ? (uint64_t)0 - (uint64_t)apart : (uint64_t)apart;
}

/* ⌊√sum⌋. The first guess is off by a few units at most; a step of Newton's brings it within one. */
static uint64_t floor_root(wide_sum sum) {
    if (sum < (wide_sum)DOUBLE_SUM)
        return (uint64_t)sqrt((double)sum);
    wide_sum root = (wide_sum)sqrt((double)sum);
    root = (root + sum / root) / 2;
    while (root * root > sum)
        root--;
    while ((root + 1) * (root + 1) <= sum)
        root++;
    return (uint64_t)root;
}

static uint64_t shorter_way(uint64_t apart, int64_t size) {
    const uint64_t other = (uint64_t)size - apart;
    return apart < other ? apart : other;
}

/* Distance of two values of the part's coordinates that lie so far apart; not of trees. */
static uint64_t apart_of(const part *p, const int64_t *apart) {
    if (p->kind == PART_LINE)
        return absolute(apart[0]);
    if (p->kind == PART_CYCLE)
        return shorter_way(absolute(apart[0]), p->axes[0].coordinate.size);
    wide_sum sum = 0;
    for (size_t a = 0; a < p->count; a++)
        sum += (wide_sum)absolute(apart[a]) * absolute(apart[a]);
    return floor_root(sum);
}

double locus_distances_of(const locus_distances *distances, const int64_t *apart) {
    double sum = 0;
    for (size_t i = 0; i < distances->count; i++)
        sum += (double)apart_of(&distances->parts[i], apart + distances->parts[i].first);
    return sum;
}

static int64_t between(const locus_placement *axis, size_t query, size_t key) {
    return axis->key.values[key] - axis->query.values[query];
}

static bool is_real(const part *p) {
    return p->axes[0].query.reals || p->axes[0].key.reals;
}

static double real_between(const locus_placement *axis, size_t query, size_t key) {
    return locus_token_position(&axis->key, key) - locus_token_position(&axis->query, query);
}

/* The floor of the norm: where all differences are whole as exact as that of whole positions. */
static double real_distance(const part *p, size_t query, size_t key) {
    wide_sum exact = 0;
    double sum = 0;
    bool whole = true;
    if (p->count == 1)
        return fabs(real_between(&p->axes[0], query, key));
    for (size_t a = 0; a < p->count; a++) {
        const double apart = fabs(real_between(&p->axes[a], query, key)), steps = floor(apart);
        whole = whole && apart == steps;
        exact += (wide_sum)(uint64_t)steps * (uint64_t)steps;
        sum += apart * apart;
    }
    return whole ? (double)floor_root(exact) : floor(sqrt(sum));
}

static double part_distance(const part *p, size_t query, size_t key) {
    if (is_real(p))
        return real_distance(p, query, key);
    if (p->kind == PART_TREE)
        return (double)locus_tree_distance_pair(p->tree, query, key);
    if (p->count == 1) {
        const int64_t apart = between(&p->axes[0], query, key);
        return (double)apart_of(p, &apart);
    }
    wide_sum sum = 0;
    for (size_t a = 0; a < p->count; a++) {
        const uint64_t apart = absolute(between(&p->axes[a], query, key));
        sum += (wide_sum)apart * apart;
    }
    return (double)floor_root(sum);
}

/* ---- rows of whole numbers below 2^31: all differences of axes are, too ---- */

static int32_t narrow(int64_t apart) {
    return (int32_t)apart;
}

static void add_line(const locus_placement *axis, const locus_score_call *call, int32_t *restrict steps) {
    const int64_t *keys = axis->key.values + call->key_first, query = axis->query.values[call->query];
    for (size_t j = 0; j < call->count; j++) {
        int32_t apart = narrow(keys[j] - query);
        steps[j] += apart < 0 ? -apart : apart;
    }
}

static void add_cycle(const locus_placement *axis, const locus_score_call *call, int32_t *restrict steps) {
    const int64_t *keys = axis->key.values + call->key_first, query = axis->query.values[call->query];
    const int64_t size = axis->coordinate.size;
    if (size > INT32_MAX) {
        for (size_t j = 0; j < call->count; j++)
            steps[j] += (int32_t)shorter_way(absolute(keys[j] - query), size);
        return;
    }
    for (size_t j = 0; j < call->count; j++) {
        int32_t apart = narrow(keys[j] - query), one = apart < 0 ? -apart : apart, other = (int32_t)size - one;
        steps[j] += one < other ? one : other;
    }
}

LOCUS_CLONES static void add_grid_float(const part *p, const locus_score_call *call, int32_t *restrict steps) {
    float sum[RUN];
    for (size_t a = 0; a < p->count; a++) {
        const int64_t *keys = p->axes[a].key.values + call->key_first, query = p->axes[a].query.values[call->query];
        for (size_t j = 0; j < call->count; j++) {
            float apart = (float)narrow(keys[j] - query);
            sum[j] = a == 0 ? apart * apart : sum[j] + apart * apart;
        }
    }
    for (size_t j = 0; j < call->count; j++)
        steps[j] += (int32_t)sqrtf(sum[j]); // NOLINT(clang-analyzer-core.CallAndMessage): there is an axis
}

static void add_grid_double(const part *p, const locus_score_call *call, int32_t *restrict steps) {
    double sum[RUN] = {0};
    for (size_t a = 0; a < p->count; a++) {
        const int64_t *keys = p->axes[a].key.values + call->key_first, query = p->axes[a].query.values[call->query];
        for (size_t j = 0; j < call->count; j++) {
            double apart = (double)narrow(keys[j] - query);
            sum[j] += apart * apart;
        }
    }
    for (size_t j = 0; j < call->count; j++)
        steps[j] += (int32_t)sqrt(sum[j]);
}

/* At most RUN keys. */
static void add_part(const part *p, const locus_score_call *call, int32_t *steps) {
    switch (p->kind) {
    case PART_LINE:
        add_line(&p->axes[0], call, steps);
        return;
    case PART_GRID_FLOAT:
        add_grid_float(p, call, steps);
        return;
    case PART_GRID_DOUBLE:
        add_grid_double(p, call, steps);
        return;
    case PART_GRID_WIDE:
        for (size_t j = 0; j < call->count; j++)
            steps[j] += (int32_t)part_distance(p, call->query, call->key_first + j);
        return;
    case PART_CYCLE:
        add_cycle(&p->axes[0], call, steps);
        return;
    case PART_TREE:
        locus_tree_distance_add(p->tree, call->query, call->key_first, call->count, steps);
        return;
    }
}

void locus_distances_steps(const locus_distances *distances, const locus_score_call *call, int32_t *steps) {
    locus_score_call piece = *call;
    for (size_t left = call->count; left > 0; left -= piece.count) {
        piece.count = left < RUN ? left : RUN;
        for (size_t j = 0; j < piece.count; j++)
            steps[j] = 0;
        for (size_t i = 0; i < distances->count; i++)
            add_part(&distances->parts[i], &piece, steps);
        piece.key_first += piece.count;
        steps += piece.count;
    }
}

/* ---- rows of doubles ---- */

static void far_row(const locus_distances *distances, const locus_score_call *call, double *out) {
    for (size_t j = 0; j < call->count; j++) {
        out[j] = 0;
        for (size_t i = 0; i < distances->count; i++)
            out[j] += part_distance(&distances->parts[i], call->query, call->key_first + j);
    }
}

void locus_distances_row(const locus_distances *distances, const locus_score_call *call, double *out) {
    if (!locus_distances_fit(distances)) {
        far_row(distances, call, out);
        return;
    }
    int32_t steps[RUN];
    locus_score_call piece = *call;
    for (size_t left = call->count; left > 0; left -= piece.count) {
        piece.count = left < RUN ? left : RUN;
        locus_distances_steps(distances, &piece, steps);
        for (size_t j = 0; j < piece.count; j++)
            out[j] = (double)steps[j];
        piece.key_first += piece.count;
        out += piece.count;
    }
}

void locus_distances_apart(const locus_distances *distances, const locus_score_call *call, double *out) {
    const locus_placement *axis = &distances->parts[0].axes[0];
    for (size_t j = 0; j < call->count; j++)
        out[j] = distances->real ? real_between(axis, call->query, call->key_first + j)
                                 : (double)between(axis, call->query, call->key_first + j);
}

double locus_distances_most(const locus_distances *distances) {
    return distances->most;
}

bool locus_distances_whole(const locus_distances *distances) {
    return !distances->real || distances->parts[0].count > 1;
}

bool locus_distances_fit(const locus_distances *distances) {
    return !distances->real && distances->most <= INT32_MAX;
}

/* ---- making ---- */

/* Values of real positions are rounded down: their differences are short by less than one. */
static uint64_t widest(const locus_placement *axis) {
    const uint64_t near = absolute(axis->nearest_apart), far = absolute(axis->farthest_apart);
    return (near > far ? near : far) + (axis->query.reals || axis->key.reals);
}

static double prepare_grid(part *p) {
    wide_sum sum = 0;
    for (size_t a = 0; a < p->count; a++)
        sum += (wide_sum)widest(&p->axes[a]) * widest(&p->axes[a]);
    const double bound = (double)sum;
    p->kind = p->count == 1        ? PART_LINE
              : bound < FLOAT_SUM  ? PART_GRID_FLOAT
              : bound < DOUBLE_SUM ? PART_GRID_DOUBLE
                                   : PART_GRID_WIDE;
    return (double)floor_root(sum);
}

static double prepare_cycle(part *p) {
    const uint64_t half = (uint64_t)p->axes[0].coordinate.size / 2, far = widest(&p->axes[0]);
    p->kind = PART_CYCLE;
    return (double)(far < half ? far : half);
}

static locus_status prepare_part(part *p, double *most, locus_owned *memory, locus_error *error) {
    locus_status status = LOCUS_OK;
    switch (p->axes[0].coordinate.kind) {
    case LOCUS_COORDINATE_AXIS:
        *most += prepare_grid(p);
        break;
    case LOCUS_COORDINATE_CYCLE:
        *most += prepare_cycle(p);
        break;
    case LOCUS_COORDINATE_TREE:
        p->kind = PART_TREE;
        status = locus_tree_distance_create(p->axes, memory, &p->tree, error);
        *most += status == LOCUS_OK ? (double)locus_tree_distance_most(p->tree) : 0;
        break;
    }
    return status;
}

static locus_status make(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_places *places = request;
    locus_distances *own = table;
    part *parts = locus_owned_get(memory, places->count, sizeof *parts);
    if (!parts)
        return locus_owned_fail(error);
    own->parts = parts;
    for (size_t c = 0; c < places->count; c++) {
        const bool joins = c > 0 && places->items[c].coordinate.factor == places->items[c - 1].coordinate.factor;
        if (joins)
            parts[own->count - 1].count++;
        else
            parts[own->count++] = (part){.axes = &places->items[c], .first = c, .count = 1};
    }
    for (size_t i = 0; i < own->count; i++) {
        locus_status status = prepare_part(&parts[i], &own->most, memory, error);
        if (status != LOCUS_OK)
            return status;
        own->real = own->real || is_real(&parts[i]);
    }
    return LOCUS_OK;
}

static const locus_table_kind distances_kind = {sizeof(locus_distances), make};

static locus_status get(locus_tables *tables, const locus_places *places, locus_owned *memory,
                        const locus_distances **distances, locus_error *error) {
    const locus_table_asked asked = {&distances_kind, NULL, 0, places};
    const void *found = NULL;
    const locus_status status = locus_tables_get(tables, &asked, memory, &found, error);
    *distances = found;
    return status;
}

locus_status locus_distances_create(const locus_places *places, locus_owned *memory, const locus_distances **distances,
                                    locus_error *error) {
    return get(places->tables, places, memory, distances, error);
}

locus_status locus_distances_make(const locus_places *places, locus_owned *memory, const locus_distances **distances,
                                  locus_error *error) {
    return get(NULL, places, memory, distances, error);
}

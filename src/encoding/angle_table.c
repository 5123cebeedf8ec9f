/* SPDX-License-Identifier: MIT */
/* See angle_table.h. Coarse rows are themselves products of two levels (4096 and 64 positions): two roundings more, far
 * below float's and at double's own. Long tables share both factors, which replaces a cosine and a sine by a complex
 * product; short ones make them where they are wanted, to the same bits. */
#include "encoding/angle_table.h"

#include <locus/parallel.h>

#include <assert.h>
#include <math.h>
#include <string.h>

#define QUARTER_TURN 1.57079632679489661923

#define LOW_LINEAR 1e-8 /* its square is below the last bit */

/* (cos, sin) of x·θ; x·θ = high + low exactly. From about 2^26 turns on low is no small angle. */
static void exact_angle(double x, double theta, double *out) {
    const double high = x * theta, low = fma(x, theta, -high);
    const double cosine = cos(high), sine = sin(high);
    const bool small = fabs(low) < LOW_LINEAR;
    const double low_cosine = small ? 1 : cos(low), low_sine = small ? low : sin(low);
    out[0] = cosine * low_cosine - low_sine * sine;
    out[1] = sine * low_cosine + low_sine * cosine;
}

/* a·b mod n, a, b < n < 2^63 */
static uint64_t multiply_modulo(uint64_t a, uint64_t b, uint64_t n) {
    if (n <= UINT32_MAX)
        return a * b % n;
    uint64_t product = 0;
    for (; b > 0; b >>= 1) { /* doubling stays below 2^64 */
        if (b & 1)
            product = product + a < n ? product + a : product + a - n;
        a = 2 * a < n ? 2 * a : 2 * a - n;
    }
    return product;
}

/* With r = m·x mod n, folds 2πr/n = π·s/n, s = 2r, into the first eighth of a turn by comparisons of integers. What is
 * left is (π/2)·k/n with 0 ≤ k ≤ n/2. */
void locus_angle_of_cycle(int64_t multiple, int64_t x, int64_t period, double *out) {
    const uint64_t n = (uint64_t)period, r = multiply_modulo((uint64_t)multiple % n, (uint64_t)x % n, n);
    const bool below = r > n - r, left = 2 * (below ? n - r : r) > n - 2 * (below ? n - r : r);
    uint64_t s = 2 * (below ? n - r : r); /* at most n */
    s = left ? n - s : s;                 /* at most n/2 */
    const bool steep = 2 * s > n - 2 * s;
    const double angle = QUARTER_TURN * ((double)(steep ? n - 2 * s : 2 * s) / (double)n);
    const double cosine = steep ? sin(angle) : cos(angle), sine = steep ? cos(angle) : sin(angle);
    out[0] = left ? -cosine : cosine;
    out[1] = below ? -sine : sine;
}

/* The row of position x in one table. */
static void angle_row(const locus_angle_rates *rates, size_t table, int64_t x, double *row) {
    const size_t flips = rates->flip_pairs && x % 2 != 0 ? rates->flip_pairs[table] : rates->pairs;
    for (size_t i = 0; i < rates->pairs; i++)
        if (rates->period > 0)
            locus_angle_of_cycle(rates->multiples[i], x, rates->period, row + 2 * i);
        else
            exact_angle((double)x, rates->theta[table * rates->pairs + i], row + 2 * i);
    for (size_t i = 2 * flips; i < 2 * rates->pairs; i++)
        row[i] = -row[i];
}

/* `row` may be b. */
static void product_row(size_t pairs, const double *a, const double *b, double *row) {
    for (size_t i = 0; i < 2 * pairs; i += 2) {
        const double cosine = b[i], sine = b[i + 1];
        row[i] = a[i] * cosine - a[i + 1] * sine;
        row[i + 1] = a[i] * sine + a[i + 1] * cosine;
    }
}

/* ---- fine ---- */

typedef struct locus_fine_job {
    const locus_angle_rates *rates;
    double *rows;
} locus_fine_job;

static void fill_fine(void *context, size_t index, size_t worker) {
    const locus_fine_job *job = context;
    (void)worker;
    for (size_t f = 0; f < LOCUS_FINE; f++)
        angle_row(job->rates, index, (int64_t)f, job->rows + (index * LOCUS_FINE + f) * job->rates->pairs * 2);
}

/* In the order of a token's row: all heads of one step side by side. */
static locus_status make_steps(locus_angle_fine *fine, locus_owned *memory, locus_error *error) {
    const size_t pairs = fine->rates.pairs, row = fine->rates.tables * pairs;
    float *cosine = locus_owned_get(memory, LOCUS_STEPS * row, sizeof *cosine);
    float *sine = locus_owned_get(memory, LOCUS_STEPS * row, sizeof *sine);
    if (!cosine || !sine)
        return locus_owned_fail(error, LOCUS_STEPS * row, sizeof *sine);
    for (size_t f = 0; f < LOCUS_STEPS; f++)
        for (size_t i = 0; i < row; i++) {
            const double *at = fine->fine + ((i / pairs * LOCUS_FINE + f) * pairs + i % pairs) * 2;
            cosine[f * row + i] = (float)at[0];
            sine[f * row + i] = (float)at[1];
        }
    fine->step_cosine = cosine;
    fine->step_sine = sine;
    return LOCUS_OK;
}

locus_status locus_angle_fine_make(locus_angle_fine *fine, const locus_angle_rates *rates, locus_owned *memory,
                                   locus_error *error) {
    const size_t elements = rates->tables * LOCUS_FINE * rates->pairs * 2;
    double *rows = locus_owned_get(memory, elements, sizeof *rows);
    if (!rows)
        return locus_owned_fail(error, elements, sizeof *rows);
    locus_fine_job job = {rates, rows};
    locus_parallel_for(rates->tables, fill_fine, &job);
    *fine = (locus_angle_fine){.rates = *rates, .fine = rows};
    return rates->tables > 1 ? make_steps(fine, memory, error) : LOCUS_OK;
}

locus_status locus_angle_fine_create(locus_angle_fine *fine, size_t tables, size_t pairs, const double *theta,
                                     locus_owned *memory, locus_error *error) {
    const locus_angle_rates rates = {.tables = tables, .pairs = pairs, .theta = theta};
    return locus_angle_fine_make(fine, &rates, memory, error);
}

/* ---- coarse ---- */

#define PIECE 256 /* coarse rows of one task: 16,384 positions in a row */
#define MANY 128  /* more rows than these are worth a table of steps */

typedef struct locus_coarse_job {
    const locus_angle_fine *base;
    const int64_t *blocks;
    const double *reals; /* instead of blocks */
    size_t count, pieces;
    double *rows;                       /* [tables, count, pairs, 2] */
    double *anchors;                    /* [tables, pieces, pairs, 2] */
    double *steps;                      /* [tables, 64, pairs, 2] of 64·f·θ, or NULL */
    const locus_angle_memo_item *known; /* or NULL */
} locus_coarse_job;

static void fill_steps(void *context, size_t index, size_t worker) {
    const locus_coarse_job *job = context;
    size_t pairs = job->base->rates.pairs;
    (void)worker;
    for (size_t f = 0; f < LOCUS_FINE; f++)
        angle_row(&job->base->rates, index, (int64_t)(f * LOCUS_FINE),
                  job->steps + (index * LOCUS_FINE + f) * pairs * 2);
}

/* Where `block` stands in the memo, or SIZE_MAX. */
static size_t find_known(const locus_angle_memo_item *known, int64_t block) {
    size_t low = 0, high = known ? known->count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (known->blocks[middle] < block)
            low = middle + 1;
        else
            high = middle;
    }
    return known && low < known->count && known->blocks[low] == block ? low : SIZE_MAX;
}

/* The first of the 64 blocks that share an anchor. */
static int64_t anchor_of(int64_t block) {
    return block - (block % LOCUS_FINE + LOCUS_FINE) % LOCUS_FINE;
}

/* An anchor has cosines of its own, other rows are one product away from theirs: roundings never pile up. Blocks are
 * even positions, so that pairs that change sign with every step don't here. On a cycle every row has its own cosines,
 * which are exact. `anchor` holds the row of `*held`. */
static void make_row(const locus_coarse_job *job, size_t table, int64_t block, int64_t *held, double *anchor,
                     double *row) {
    const locus_angle_rates *rates = &job->base->rates;
    const size_t pairs = rates->pairs;
    const int64_t from = anchor_of(block), step = block - from;
    if (rates->period > 0) {
        angle_row(rates, table, block * LOCUS_FINE, row);
        return;
    }
    if (*held != from)
        angle_row(rates, table, from * LOCUS_FINE, anchor);
    *held = from;
    const double *turn = job->steps ? job->steps + (table * LOCUS_FINE + (size_t)step) * pairs * 2 : NULL;
    if (step == 0) {
        memcpy(row, anchor, 2 * pairs * sizeof *row);
        return;
    }
    if (!turn) {
        angle_row(rates, table, step * LOCUS_FINE, row);
        turn = row;
    }
    product_row(pairs, anchor, turn, row);
}

/* The row of a real position; a block's is that of whole positions, to the same bits. */
static void make_real_row(const locus_coarse_job *job, size_t table, double position, int64_t *held, double *anchor,
                          double *row) {
    const locus_angle_rates *rates = &job->base->rates;
    const int64_t block = (int64_t)(position / LOCUS_FINE);
    if ((double)(block * LOCUS_FINE) == position) {
        make_row(job, table, block, held, anchor, row);
        return;
    }
    for (size_t pair = 0; pair < rates->pairs; pair++)
        exact_angle(position, rates->theta[table * rates->pairs + pair], row + 2 * pair);
}

static void fill_coarse(void *context, size_t index, size_t worker) {
    const locus_coarse_job *job = context;
    (void)worker;
    size_t table = index / job->pieces, first = index % job->pieces * PIECE;
    const size_t row = job->base->rates.pairs * 2;
    const size_t end = first + PIECE < job->count ? first + PIECE : job->count;
    int64_t held = INT64_MIN;
    for (size_t i = first; i < end; i++) {
        double *to = job->rows + (table * job->count + i) * row;
        if (job->reals) {
            make_real_row(job, table, job->reals[i], &held, job->anchors + index * row, to);
            continue;
        }
        const size_t known = find_known(job->known, job->blocks[i]);
        if (known != SIZE_MAX)
            memcpy(to, job->known->rows + (table * job->known->count + known) * row, row * sizeof *to);
        else
            make_row(job, table, job->blocks[i], &held, job->anchors + index * row, to);
    }
}

/* ---- what is remembered ---- */

static size_t item_bytes(size_t room, size_t row_bytes) {
    return room * (row_bytes + sizeof(int64_t));
}

static double last_rate(const locus_angle_rates *rates) {
    const size_t count = rates->tables * rates->pairs;
    return rates->period > 0 || count == 0 ? 0 : rates->theta[count - 1];
}

/* Frequencies that a plan makes for its length may come to stand where others stood. */
static bool is_of(const locus_angle_memo_item *item, const locus_angle_fine *base) {
    const locus_angle_rates *a = &item->rates, *b = &base->rates;
    return item->base == base && a->tables == b->tables && a->pairs == b->pairs && a->theta == b->theta &&
           a->period == b->period && item->last == last_rate(b);
}

static locus_angle_memo_item *memo_item(struct locus_angle_memo *memo, const locus_angle_fine *base) {
    size_t at = 0;
    while (memo && at < memo->count && memo->items[at].base != base)
        at++;
    if (!memo || at == LOCUS_ANGLE_MEMO_ITEMS)
        return NULL;
    locus_angle_memo_item *item = &memo->items[at];
    if (at < memo->count && is_of(item, base))
        return item;
    if (at < memo->count)
        locus_release(item->rows, item_bytes(item->room, item->row_bytes));
    else
        memo->count++;
    *item = (locus_angle_memo_item){.base = base,
                                    .rates = base->rates,
                                    .last = last_rate(&base->rates),
                                    .row_bytes = base->rates.tables * base->rates.pairs * 2 * sizeof(double)};
    return item;
}

/* Where memory is refused, nothing is remembered. */
static void remember(locus_angle_memo_item *item, const locus_coarse_job *job) {
    if (job->count > item->room) {
        locus_release(item->rows, item_bytes(item->room, item->row_bytes));
        item->room = 2 * job->count;
        item->rows = locus_allocate(item_bytes(item->room, item->row_bytes));
        item->room = item->rows ? item->room : 0;
    }
    item->count = 0;
    if (!item->rows)
        return;
    item->count = job->count;
    item->blocks = (int64_t *)(void *)((char *)item->rows + item->room * item->row_bytes);
    memcpy(item->rows, job->rows, item->count * item->row_bytes);
    memcpy(item->blocks, job->blocks, item->count * sizeof *item->blocks);
}

size_t locus_angle_memo_bytes(const struct locus_angle_memo *memo) {
    size_t bytes = 0;
    for (size_t i = 0; i < memo->count; i++)
        bytes += item_bytes(memo->items[i].room, memo->items[i].row_bytes);
    return bytes;
}

void locus_angle_memo_release(struct locus_angle_memo *memo) {
    for (size_t i = 0; i < memo->count; i++)
        locus_release(memo->items[i].rows, item_bytes(memo->items[i].room, memo->items[i].row_bytes));
    memo->count = 0;
}

/* ---- both ---- */

static bool same_blocks(const locus_angle_memo_item *item, const locus_coarse_job *job) {
    return item->count == job->count &&
           (job->count == 0 || memcmp(item->blocks, job->blocks, job->count * sizeof *job->blocks) == 0);
}

static locus_status run_job(locus_coarse_job *job, locus_owned *passing, locus_error *error) {
    const size_t tables = job->base->rates.tables, row = job->base->rates.pairs * 2;
    const size_t steps = job->count > MANY && !job->reals && job->base->rates.period == 0 ? tables * LOCUS_FINE : 0;
    job->anchors = locus_owned_get(passing, tables * job->pieces * row, sizeof *job->anchors);
    job->steps = steps > 0 ? locus_owned_get(passing, steps * row, sizeof *job->steps) : NULL;
    if (!job->anchors || (steps > 0 && !job->steps))
        return locus_owned_fail(error, steps * row, sizeof *job->steps);
    if (steps > 0)
        locus_parallel_for(tables, fill_steps, job);
    locus_parallel_for(tables * job->pieces, fill_coarse, job);
    return LOCUS_OK;
}

locus_status locus_angle_table_create(locus_angle_table *table, const locus_angle_fine *base,
                                      const locus_placement *placement, locus_owned *memory, locus_error *error) {
    const size_t tables = base->rates.tables, pairs = base->rates.pairs, count = placement->coarse_count;
    locus_angle_memo_item *item = placement->coarse_reals ? NULL : memo_item(placement->memo, base);
    locus_coarse_job job = {.base = base,
                            .blocks = placement->coarse,
                            .reals = placement->coarse_reals,
                            .count = count,
                            .pieces = (count + PIECE - 1) / PIECE,
                            .known = item};
    job.rows = locus_owned_get(memory, tables * count * pairs * 2, sizeof *job.rows);
    if (!job.rows)
        return locus_owned_fail(error, tables * count * pairs * 2, sizeof *job.rows);
    *table = (locus_angle_table){base, count, job.rows};
    if (item && same_blocks(item, &job)) {
        assert(item->rows != NULL);
        memcpy(job.rows, item->rows, count * item->row_bytes);
        return LOCUS_OK;
    }
    locus_owned passing = {0};
    locus_status status = run_job(&job, placement->memo ? memory : &passing, error);
    locus_owned_release(&passing);
    if (status == LOCUS_OK && item)
        remember(item, &job);
    return status;
}

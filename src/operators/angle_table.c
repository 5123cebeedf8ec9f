/* SPDX-License-Identifier: MIT */
/* See angle_table.h. Coarse rows are themselves products of two levels (4096 and 64 positions): two roundings more, far
 * below float's and at double's own. Fixed frequencies, once a plan wants it, and long tables share both factors, which
 * replaces a cosine and a sine by a complex product; short tables make them where they are wanted, to the same bits.
 *
 * A cache places a few new tokens again and again: of 64 positions in a row all but the first find their coarse row
 * among those of the time before (locus_placement.held). */
#include "operators/angle_table.h"

#include "core/call.h"

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

/* Blocks that nobody made, that a thread makes, that all may read. */
enum { BLOCKS_NONE, BLOCKS_BUSY, BLOCKS_MADE };

typedef struct locus_fine_job {
    const locus_angle_rates *rates;
    int64_t apart; /* positions from one row to the next */
    double *rows;  /* [tables, 64, pairs, 2] */
} locus_fine_job;

static void fill_table(void *context, size_t index, size_t worker) {
    const locus_fine_job *job = context;
    (void)worker;
    for (size_t i = 0; i < LOCUS_FINE; i++)
        angle_row(job->rates, index, (int64_t)i * job->apart,
                  job->rows + (index * LOCUS_FINE + i) * job->rates->pairs * 2);
}

locus_status locus_angle_fine_make(locus_angle_fine *fine, const locus_angle_rates *rates, locus_owned *memory,
                                   locus_error *error) {
    const size_t elements = rates->tables * LOCUS_FINE * rates->pairs * 2;
    locus_fine_job job = {rates, 1, locus_owned_take(memory, elements, sizeof *job.rows)};
    locus_angle_blocks *blocks = rates->fixed ? locus_owned_get(memory, 1, sizeof *blocks) : NULL;
    if (blocks) {
        atomic_init(&blocks->state, BLOCKS_NONE);
        blocks->rows = locus_owned_take(memory, elements, sizeof *blocks->rows);
    }
    if (!job.rows || (rates->fixed && (!blocks || !blocks->rows)))
        return locus_owned_fail(error);
    locus_parallel_for(rates->tables, fill_table, &job);
    *fine = (locus_angle_fine){.rates = *rates, .fine = job.rows, .blocks = blocks};
    return LOCUS_OK;
}

static bool has_blocks(const locus_angle_fine *base) {
    return base->blocks && atomic_load(&base->blocks->state) == BLOCKS_MADE;
}

/* The same, made now if nobody did: not while another thread makes them, nor in a cancelled call. The caller then makes
 * what it needs, to the same bits. */
static bool make_blocks(const locus_angle_fine *base) {
    int none = BLOCKS_NONE;
    if (!base->blocks || has_blocks(base) || !atomic_compare_exchange_strong(&base->blocks->state, &none, BLOCKS_BUSY))
        return has_blocks(base);
    locus_fine_job job = {&base->rates, LOCUS_FINE, base->blocks->rows};
    locus_parallel_for(base->rates.tables, fill_table, &job);
    atomic_store(&base->blocks->state, locus_call_cancelled() ? BLOCKS_NONE : BLOCKS_MADE);
    return has_blocks(base);
}

/* Steps in the order of a token's row, all heads of one side by side; eighths close together, which far apart would
 * fall into the same lines of a cache. */
locus_status locus_angle_steps_make(locus_angle_fine *fine, locus_owned *memory, locus_error *error) {
    const size_t row = fine->rates.pairs * 2, tables = fine->rates.tables, elements = LOCUS_STEPS * tables * row;
    const size_t rows = LOCUS_FINE / LOCUS_STEPS;
    float *steps = locus_owned_get(memory, elements, sizeof *steps);
    double *eighths = locus_owned_get(memory, tables * rows * row, sizeof *eighths);
    if (!steps || !eighths)
        return locus_owned_fail(error);
    for (size_t f = 0; f < LOCUS_STEPS; f++)
        for (size_t i = 0; i < tables * row; i++)
            steps[f * tables * row + i] = (float)fine->fine[(i / row * LOCUS_FINE + f) * row + i % row];
    for (size_t i = 0; i < tables * rows; i++)
        memcpy(eighths + i * row, fine->fine + i * LOCUS_STEPS * row, row * sizeof *eighths);
    fine->steps = steps;
    fine->eighths = eighths;
    return LOCUS_OK;
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
    const double *steps;                /* [tables, 64, pairs, 2] of 64·f·θ, or NULL */
    const struct locus_held_rows *held; /* or NULL */
} locus_coarse_job;

/* ---- rows that a cache holds ---- */

#define HELD_ROWS 8 /* beside two for each sequence */

/* The last blocks of a placing, in rising order. */
typedef struct locus_held_rows {
    size_t count, room;
    int64_t *blocks; /* [room] */
    double *rows;    /* [tables, room, pairs, 2] */
} locus_held_rows;

typedef struct locus_held_request {
    const locus_angle_rates *rates;
    size_t sequences;
} locus_held_request;

static locus_status make_held(const void *request, void *table, locus_owned *memory, locus_error *error) {
    const locus_held_request *asked = request;
    locus_held_rows *held = table;
    held->room = HELD_ROWS + 2 * asked->sequences;
    const size_t numbers = asked->rates->tables * held->room * asked->rates->pairs * 2;
    held->blocks = locus_owned_get(memory, held->room, sizeof *held->blocks);
    held->rows = locus_owned_get(memory, numbers, sizeof *held->rows);
    return held->blocks && held->rows ? LOCUS_OK : locus_owned_fail(error);
}

static const locus_table_kind held_kind = {sizeof(locus_held_rows), make_held};

/* Of these frequencies, which live as long as the cache. NULL: none are held. */
static locus_held_rows *held_rows(const locus_angle_fine *base, const locus_placement *placement) {
    const locus_held_request request = {&base->rates, placement->sequences};
    const locus_table_asked asked = {&held_kind, &base, sizeof base, &request};
    const void *table = NULL;
    if (!placement->held || placement->coarse_reals)
        return NULL;
    return locus_tables_get(placement->held, &asked, NULL, &table, NULL) == LOCUS_OK
               ? (locus_held_rows *)(uintptr_t)table /* the cache's thread alone reads and writes it */
               : NULL;
}

/* Where `block` stands among them, or SIZE_MAX. */
static size_t find_held(const locus_held_rows *held, int64_t block) {
    size_t low = 0, high = held ? held->count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (held->blocks[middle] < block)
            low = middle + 1;
        else
            high = middle;
    }
    return held && low < held->count && held->blocks[low] == block ? low : SIZE_MAX;
}

static void hold(locus_held_rows *held, const locus_coarse_job *job) {
    const size_t row = job->base->rates.pairs * 2, first = job->count > held->room ? job->count - held->room : 0;
    held->count = job->count - first;
    memcpy(held->blocks, job->blocks + first, held->count * sizeof *held->blocks);
    for (size_t table = 0; table < job->base->rates.tables; table++)
        memcpy(held->rows + table * held->room * row, job->rows + (table * job->count + first) * row,
               held->count * row * sizeof *held->rows);
}

/* ---- rows ---- */

/* The first of the 64 blocks that share an anchor. */
static int64_t anchor_of(int64_t block) {
    return block - (block % LOCUS_FINE + LOCUS_FINE) % LOCUS_FINE;
}

/* An anchor has cosines of its own, other rows are one product away from theirs: roundings never pile up. Blocks are
 * even positions, so that pairs that change sign with every step don't here. On a cycle every row has its own cosines,
 * which are exact. `anchor` holds the row of `*anchored`. */
static void make_row(const locus_coarse_job *job, size_t table, int64_t block, int64_t *anchored, double *anchor,
                     double *row) {
    const locus_angle_rates *rates = &job->base->rates;
    const size_t pairs = rates->pairs;
    const int64_t from = anchor_of(block), step = block - from;
    const double *turn = job->steps ? job->steps + (table * LOCUS_FINE + (size_t)step) * pairs * 2 : NULL;
    if (turn && from == 0) {
        memcpy(row, turn, 2 * pairs * sizeof *row);
        return;
    }
    if (rates->period > 0 || from == 0) {
        angle_row(rates, table, block * LOCUS_FINE, row);
        return;
    }
    if (*anchored != from)
        angle_row(rates, table, from * LOCUS_FINE, anchor);
    *anchored = from;
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
static void make_real_row(const locus_coarse_job *job, size_t table, double position, int64_t *anchored, double *anchor,
                          double *row) {
    const locus_angle_rates *rates = &job->base->rates;
    const int64_t block = (int64_t)(position / LOCUS_FINE);
    if ((double)(block * LOCUS_FINE) == position) {
        make_row(job, table, block, anchored, anchor, row);
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
    int64_t anchored = INT64_MIN;
    for (size_t i = first; i < end; i++) {
        double *to = job->rows + (table * job->count + i) * row;
        if (job->reals) {
            make_real_row(job, table, job->reals[i], &anchored, job->anchors + index * row, to);
            continue;
        }
        const size_t held = find_held(job->held, job->blocks[i]);
        if (held != SIZE_MAX)
            memcpy(to, job->held->rows + (table * job->held->room + held) * row, row * sizeof *to);
        else
            make_row(job, table, job->blocks[i], &anchored, job->anchors + index * row, to);
    }
}

/* ---- the table ---- */

/* Blocks 0, 1, 2, … that the frequencies' own rows serve. */
static bool are_first_blocks(const locus_placement *placement) {
    const size_t count = placement->coarse_count; /* in rising order */
    return !placement->coarse_reals && count <= LOCUS_FINE && placement->coarse[0] == 0 &&
           placement->coarse[count - 1] == (int64_t)count - 1;
}

static locus_status run_job(locus_coarse_job *job, locus_owned *passing, locus_error *error) {
    const locus_angle_rates *rates = &job->base->rates;
    const size_t tables = rates->tables, row = rates->pairs * 2;
    const bool many = job->count > MANY && !job->reals && rates->period == 0;
    const bool made = many ? make_blocks(job->base) : has_blocks(job->base);
    const size_t elements = many && !made ? tables * LOCUS_FINE * row : 0;
    locus_fine_job steps = {rates, LOCUS_FINE, NULL};
    job->anchors = locus_owned_take(passing, tables * job->pieces * row, sizeof *job->anchors);
    steps.rows = elements > 0 ? locus_owned_take(passing, elements, sizeof *steps.rows) : NULL;
    if (!job->anchors || (elements > 0 && !steps.rows))
        return locus_owned_fail(error);
    if (elements > 0)
        locus_parallel_for(tables, fill_table, &steps);
    job->steps = made ? job->base->blocks->rows : steps.rows;
    locus_parallel_for(tables * job->pieces, fill_coarse, job);
    return locus_call_check(error); /* rows that a cancelled loop left out may not be held */
}

locus_status locus_angle_table_create(locus_angle_table *table, const locus_angle_fine *base,
                                      const locus_placement *placement, locus_owned *memory, locus_error *error) {
    const size_t tables = base->rates.tables, pairs = base->rates.pairs, count = placement->coarse_count;
    if (base->blocks && are_first_blocks(placement) && make_blocks(base)) {
        *table = (locus_angle_table){base, LOCUS_FINE, base->blocks->rows};
        return LOCUS_OK;
    }
    locus_held_rows *held = held_rows(base, placement);
    locus_coarse_job job = {.base = base,
                            .blocks = placement->coarse,
                            .reals = placement->coarse_reals,
                            .count = count,
                            .pieces = (count + PIECE - 1) / PIECE,
                            .held = held};
    locus_owned passing = {0};
    job.rows = locus_owned_take(memory, tables * count * pairs * 2, sizeof *job.rows);
    if (!job.rows)
        return locus_owned_fail(error);
    *table = (locus_angle_table){base, count, job.rows};
    const locus_status status = run_job(&job, placement->held ? memory : &passing, error);
    locus_owned_release(&passing);
    if (status == LOCUS_OK && held)
        hold(held, &job);
    return status;
}

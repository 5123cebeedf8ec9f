/* SPDX-License-Identifier: MIT */
/* Numbers by distance (distance_table.h): by cell, in a list by distance, or made as they are asked for. Whichever it
 * is, a row is what the term says of each distance, to the bit; and no more numbers are made than the choice needs. */
#include "../property/encoding_rig.h"
#include "plan/placing.h"
#include "scores/distance_table.h"

enum { MOST = 80, HEADS = 2 };

/* What a term says: the same from `settled` on, if that is not 0. */
typedef struct said {
    double settled;
    size_t asked;
} said;

static const double slopes[HEADS] = {0.3, 0.7}; /* or it falls with the distance */

static double value_of(double settled, size_t head, double distance) {
    const double at = settled > 0 && distance > settled ? settled : distance;
    return (double)(head + 1) * 100 + 1 / (3 + fabs(at)) + (at < 0);
}

static void fill(const void *own, size_t head, size_t count, const double *distance, double *values) {
    said *s = (said *)(uintptr_t)own;
    s->asked += count;
    for (size_t i = 0; i < count; i++)
        values[i] = value_of(s->settled, head, distance[i]);
}

typedef struct table_case {
    size_t tokens;
    int64_t step; /* between tokens, but for the first two, which are neighbours */
    bool directed, falls;
    double settled;
    size_t heads, more;
    size_t cells, count, asked; /* what is made, and what is asked for */
} table_case;

static double value_at(const table_case *c, size_t head, double distance) {
    return c->falls ? -slopes[head] * distance : value_of(c->settled, head, distance);
}

/* One row, and once more from distances that the caller has made. */
static void check_row(const locus_distance_table *table, const locus_places *places, const table_case *c,
                      locus_score_call call) {
    const locus_placement *first = &places->items[0];
    const bool computed = table->rows.distances && !c->directed && locus_distances_fit(table->rows.distances);
    int32_t steps[MOST];
    double want[MOST];
    for (size_t j = 0; j < call.count; j++) {
        const int64_t apart = first->key.values[call.key_first + j] - first->query.values[call.query];
        steps[j] = (int32_t)llabs(apart);
        want[j] = value_at(c, c->heads > 1 ? call.head : 0, (double)(c->directed ? apart : llabs(apart)));
    }
    for (int given = 0; given < 1 + computed; given++) {
        float narrow[MOST];
        double wide[MOST];
        call.steps = given ? steps : NULL;
        const bool single = call.dtype == LOCUS_FLOAT32;
        const void *row = locus_distance_table_row(table, &call, single ? (void *)narrow : wide);
        for (size_t j = 0; j < call.count; j++)
            if (single)
                assert_true(((const float *)row)[j] == (float)want[j]);
            else
                assert_true(((const double *)row)[j] == want[j]);
        if (given)
            locus_score_rows_distance(&table->rows, &call, wide);
        for (size_t j = 0; given && j < call.count; j++)
            assert_true(wide[j] == (double)steps[j]);
    }
}

static void check_rows(const locus_distance_table *table, const locus_places *places, const table_case *c) {
    for (size_t head = 0; head < HEADS; head++)
        for (size_t query = 0; query < c->tokens; query += 1 + c->tokens / 7)
            for (size_t from = 0; from < c->tokens; from += 1 + c->tokens / 4) {
                check_row(table, places, c,
                          (locus_score_call){LOCUS_FLOAT32, head, query, from, c->tokens - from, NULL});
                check_row(table, places, c,
                          (locus_score_call){LOCUS_FLOAT64, head, query, from, c->tokens - from, NULL});
            }
}

static void check_case(const table_case *c) {
    int64_t values[MOST];
    said own = {.settled = c->settled};
    locus_places places;
    locus_owned memory = {0};
    for (size_t t = 0; t < c->tokens; t++)
        values[t] = t < 2 ? (int64_t)t : (int64_t)(t - 1) * c->step;
    locus_positions *positions = rig_positions(values, c->tokens);
    rig_ok(locus_places_create(&places, positions, positions, &memory, error));
    locus_distance_table table = {.fill = c->falls ? NULL : fill,
                                  .own = &own,
                                  .slopes = c->falls ? slopes : NULL,
                                  .heads = c->heads,
                                  .directed = c->directed,
                                  .settled = c->settled,
                                  .more = c->more};
    rig_ok(locus_distance_table_create(&table, &places, &memory, error));
    assert_int_equal(table.rows.cells, c->cells);
    assert_int_equal(table.count, c->count);
    assert_int_equal(own.asked, c->asked);
    assert_int_equal(table.wide == NULL, c->falls);
    for (size_t h = 0; h < c->heads && c->cells > 0; h++)
        for (size_t i = 0; i < c->cells; i++) {
            const double want = value_at(c, h, table.rows.distance[i]);
            assert_true(c->falls || table.wide[h * c->count + i] == want);
            assert_true(table.narrow[h * c->count + i] == (float)want);
        }
    check_rows(&table, &places, c);
    if (c->cells > 0) {
        const double *beside = locus_distance_table_beside(&table, fill, &memory, NULL);
        for (size_t i = 0; i < c->heads * c->cells; i++)
            assert_true(beside[i] == value_of(c->settled, i / c->cells, table.rows.distance[i % c->cells]));
    }
    locus_owned_release(&memory);
    locus_positions_destroy(&positions);
}

static void tables_say_what_terms_say(void **state) {
    static const table_case cases[] = {
        /* 41 differences of 21 distances */
        {3, 20, false, false, 0, 2, 0, 41, 41, 2 * 21},
        {3, 20, false, false, 0, 1, 0, 41, 41, 21},
        {3, 20, true, false, 0, 2, 0, 41, 41, 2 * 41},
        {3, 20, false, true, 0, 2, 0, 41, 41, 0},
        {3, 20, false, false, 5, 2, 0, 41, 41, 2 * 6},
        {3, 20, false, false, 19, 2, 0, 41, 41, 2 * 20},
        {3, 20, false, false, 40, 2, 0, 41, 41, 2 * 21},
        /* nine pairs, up to 2^39 apart */
        {3, (int64_t)1 << 39, false, false, 0, 2, 0, 9, 9, 2 * 9},
        {3, (int64_t)1 << 39, false, false, 4, 2, 0, 9, 9, 2 * 5},
        {3, (int64_t)1 << 39, false, false, 8, 2, 0, 9, 9, 2 * 9},
        {3, (int64_t)1 << 39, false, true, 0, 2, 0, 9, 9, 0},
        /* 70² pairs are too many beside 1,023 other numbers; a list has 4·70 and 2^22/1028 numbers, 4360, at most */
        {70, 1000000, false, false, 100, 2, 1023, 0, 101, 2 * 101},
        {70, 1000000, false, false, 4358, 2, 1023, 0, 4359, 2 * 4359},
        {70, 1000000, false, false, 4359, 2, 1023, 0, 0, 0},
        {70, 1000000, false, false, 0, 2, 1023, 0, 0, 0},
        {70, (int64_t)1 << 33, false, false, 100, 2, 1023, 0, 101, 2 * 101}, /* beyond 32 bits: not looked up */
        {70, 1000000, true, false, 100, 2, 1023, 0, 0, 0},
        {70, 1000000, false, true, 0, 2, 1023, 0, 0, 0},
        {70, (int64_t)1 << 33, false, true, 0, 2, 1023, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_say_what_terms_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

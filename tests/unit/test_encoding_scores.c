/* SPDX-License-Identifier: MIT */
/* Score terms row by row: ALiBi's slopes, decay's factors and their gradient on every group, tables against computed
 * rows, content tables. */
#include "../property/group_positions.h"
#include "plan/plan_sites.h"
#include "sanitized.h"
#include "scores/distance_table.h"

#include <stdio.h>

static void *row_of(const rig *r, size_t term, locus_score_call call, void *scratch) {
    const locus_score_term *score = locus_plan_score_term(r->plan, term);
    return (void *)(uintptr_t)locus_score_term_row(score, &call, scratch);
}

static void test_alibi_slopes(void **state) {
    (void)state;
    const double twelve[] = {-1, -2, -3, -4, -5, -6, -7, -8, -0.5, -1.5, -2.5, -3.5};
    double scratch[2];
    for (size_t heads = 1; heads <= 128; heads += SANITIZED(11, 1)) {
        rig r;
        size_t power = 1;
        while (power * 2 <= heads)
            power *= 2;
        rig_open(&r, "alibi", rig_shape(heads, 8, 0, 0), NULL, 2);
        for (size_t h = 0; h < heads; h++) {
            const locus_score_call call = {LOCUS_FLOAT64, h, 0, 0, 2, NULL};
            const double *row = row_of(&r, 0, call, scratch);
            double exponent = h < power ? -8.0 * (double)(h + 1) / (double)power
                                        : -4.0 * (double)(2 * (h - power) + 1) / (double)power;
            assert_true(row[0] == 0 && row[1] == -exp2(exponent));
            if (heads == 12)
                assert_true(fabs(log2(-row[1]) - twelve[h]) < 1e-14);
        }
        rig_close(&r);
    }
}

/* All rows of all heads and types against the definition. */
static void check_rows(const rig *r, size_t term, const int64_t *m, const int64_t *n, size_t keys,
                       double (*want)(double distance, size_t head)) {
    double wide[64];
    float narrow[64];
    for (size_t h = 0; h < r->shape.heads; h++)
        for (size_t q = 0; q < locus_plan_query_tokens(r->plan); q++)
            for (size_t first = 0; first < keys; first += 3) {
                const locus_score_call call = {LOCUS_FLOAT64, h, q, first, keys - first, NULL};
                locus_score_call short_call = call;
                short_call.dtype = LOCUS_FLOAT32;
                const double *d = row_of(r, term, call, wide);
                const float *f = row_of(r, term, short_call, narrow);
                for (size_t j = 0; j < keys - first; j++) {
                    double expected = want(fabs((double)(n[first + j] - m[q])), h);
                    assert_true(fabs(d[j] - expected) <= 1e-15 * fabs(expected));
                    assert_true(f[j] == (float)d[j]);
                }
            }
}

static double alibi_of(double distance, size_t head) {
    return -distance * exp2(-4.0 * (double)(head + 1)); /* 2 heads */
}

static double decay_of(double distance, size_t head) {
    (void)head;
    return pow(0.9, distance);
}

static void test_rows(void **state) {
    (void)state;
    const int64_t consecutive[] = {-2, -1, 0, 1, 2, 3, 4, 5, 6}, mixed[] = {5, 6, 7, 100, 101, -3, -2, -1, 0};
    const int64_t huge[] = {0, 1, 2, 10000000, 10000001, 5, 6, 7, -20000000};
    const int64_t *const sets[] = {consecutive, mixed, huge};
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 0; b < 3; b++) {
            rig r;
            rig_bind(&r, "alibi + decay(rate=0.9)", rig_shape(2, 4, 0, 0), 1);
            rig_place(&r, rig_positions(sets[a], 7), rig_positions(sets[b], 9));
            assert_int_equal(locus_plan_score_terms(r.plan), 2);
            assert_int_equal(locus_plan_score_term(r.plan, 0)->kind, LOCUS_SCORE_FACTOR);
            assert_int_equal(locus_plan_score_term(r.plan, 1)->kind, LOCUS_SCORE_BIAS);
            check_rows(&r, 0, sets[a], sets[b], 9, decay_of);
            check_rows(&r, 1, sets[a], sets[b], 9, alibi_of);
            rig_close(&r);
        }
}

/* Consecutive keys get pointers into one table: no filling, and two queries side by side share it. */
static void test_rows_are_shared(void **state) {
    (void)state;
    rig r;
    double scratch[50];
    rig_open(&r, "algebraic(decay=0.97)", rig_shape(2, 4, 0, 0), NULL, 50);
    const locus_score_call call = {LOCUS_FLOAT64, 0, 10, 0, 50, NULL}, next = {LOCUS_FLOAT64, 1, 11, 0, 50, NULL};
    const double *row = row_of(&r, 0, call, scratch), *other = row_of(&r, 0, next, scratch);
    assert_true(row != scratch && other == row - 1);
    rig_close(&r);
}

static void test_decay_gradient(void **state) {
    (void)state;
    const int64_t scattered[] = {0, 5, 2, 90, 4, 300000, 1};
    uint64_t random = 1;
    for (int table = 0; table < 2; table++) {
        rig r;
        rig_open(&r, "decay(rate=0.95, learned=on)", rig_shape(1, 4, 0, 0), table ? NULL : scattered, 7);
        double *g = rig_normal(49, &random), *rate = r.values[0].data, loss[2] = {0, 0}, scratch[7],
               slots[2][8] = {{0}};
        assert_true(*rate == 0.95);
        const locus_score_term *term = locus_plan_score_term(r.plan, 0);
        assert_true(term->class->slot_bytes(term) <= sizeof slots[0]);
        for (size_t q = 0; q < 7; q++) {
            const locus_score_call call = {LOCUS_FLOAT64, 0, q, 0, 7, NULL};
            term->class->row_backward(term, &call, g + q * 7, slots[q % 2]);
        }
        term->class->reduce(term, 0, slots, 2, sizeof slots[0], r.gradients);
        for (int side = 0; side < 2; side++) {
            *rate = 0.95 + (side ? -1e-6 : 1e-6);
            rig_update(&r);
            for (size_t q = 0; q < 7; q++) {
                const locus_score_call call = {LOCUS_FLOAT64, 0, q, 0, 7, NULL};
                const double *row = row_of(&r, 0, call, scratch);
                for (size_t j = 0; j < 7; j++)
                    loss[side] += g[q * 7 + j] * row[j];
            }
        }
        assert_true(fabs((loss[0] - loss[1]) / 2e-6 - *(double *)r.gradients[0].data) < 1e-7);
        free(g);
        rig_close(&r);
    }
}

/* ---- other groups ---- */

enum { GROUP_TOKENS = 30 };

static const char *const groups[] = {
    "cycle:6",    "cycle:1000000007",      "grid:2",       "grid:3", "tree:1", "tree:2", "cycle:5*cycle:4",
    "seq*tree:3", "grid:2*cycle:7*tree:2", "tree:4*tree:2"};

/* Both dtypes and heads of `alibi + decay` against the formula, all queries, runs that begin anywhere. */
static void check_group_rows(const rig *r, size_t sequence) {
    const locus_sequence_span span = locus_plan_span(r->plan, sequence);
    const locus_positions *keys = r->keys ? r->keys : r->queries;
    double wide[GROUP_TOKENS];
    float narrow[GROUP_TOKENS];
    for (size_t q = span.query_first; q < span.query_first + span.query_count; q++)
        for (size_t first = 0; first < span.key_count; first += 1 + q % 7)
            for (size_t head = 0; head < 2; head++)
                for (size_t term = 0; term < 2; term++) {
                    const locus_score_call call = {LOCUS_FLOAT64,          head, q, span.key_first + first,
                                                   span.key_count - first, NULL};
                    locus_score_call short_call = call;
                    short_call.dtype = LOCUS_FLOAT32;
                    const double *d = row_of(r, term, call, wide);
                    const float *f = row_of(r, term, short_call, narrow);
                    for (size_t j = 0; j < call.count; j++) {
                        const double distance = group_distance(r->queries, q, keys, call.key_first + j);
                        const double want = term ? alibi_of(distance, head) : decay_of(distance, head);
                        assert_true(d[j] == want && f[j] == (float)want);
                    }
                }
}

static void open_group(rig *r, const char *spec, const char *group, locus_shape shape) {
    char text[160];
    size_t length = 0;
    for (; *spec; spec++) /* '@' stands for the group */
        length += (size_t)snprintf(text + length, sizeof text - length, *spec == '@' ? "%s" : "%.1s",
                                   *spec == '@' ? group : spec);
    rig_bind(r, text, shape, 1);
}

/* Cells by difference and by pair, shared by sequences or not, and rows computed from positions near and far. */
static void test_groups(void **state) {
    (void)state;
    static const int64_t reaches[] = {3, 1000, 3000000, (int64_t)1 << 36};
    const size_t own[] = {GROUP_TOKENS, 7, 1, GROUP_TOKENS}, same[] = {20, 20, 20, 20}, other[] = {3, 25, 0, 11};
    uint64_t random = 0;
    size_t number = 0;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (size_t reach = 0; reach < 4; reach++)
            for (int way = 0; way < 3; way++) {
                if (left_out(number++, 3))
                    continue;
                rig r;
                const group_drawing queries = {groups[g], 4, way == 1 ? same : own, reaches[reach], way == 1};
                const group_drawing keys = {groups[g], 4, other, reaches[reach], false};
                open_group(&r, "alibi(group=@) + decay(rate=0.9, group=@)", groups[g], rig_shape(2, 4, 0, 0));
                rig_place(&r, group_positions(&queries, &random), way == 2 ? group_positions(&keys, &random) : NULL);
                for (size_t s = 0; s < 4; s++)
                    check_group_rows(&r, s);
                rig_close(&r);
            }
}

/* A row of a short sequence, bit for bit the same beside a long one, which leaves no room for tables. */
static void test_ways_agree(void **state) {
    (void)state;
    enum { LONG = 2200, KEYS = 25 };
    const size_t lengths[] = {KEYS, LONG};
    size_t pointers = 0, computed = 0;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (int far = 0; far < 2; far++) {
            rig alone, beside;
            uint64_t random = 5;
            const group_drawing one = {groups[g], 1, lengths, far ? (int64_t)1 << 36 : 9000, false};
            const group_drawing both = {groups[g], 2, lengths, one.reach, false};
            open_group(&alone, "alibi(group=@) + decay(rate=0.999, group=@)", groups[g], rig_shape(2, 4, 0, 0));
            open_group(&beside, "alibi(group=@) + decay(rate=0.999, group=@)", groups[g], rig_shape(2, 4, 0, 0));
            rig_place(&alone, group_positions(&one, &random), NULL);
            random = 5;
            rig_place(&beside, group_positions(&both, &random), NULL);
            for (size_t i = 0; i < 2 * KEYS * 4; i++) {
                double wide[2][KEYS];
                const size_t term = i % 2, q = i / 8;
                const locus_dtype dtype = i % 4 < 2 ? LOCUS_FLOAT32 : LOCUS_FLOAT64;
                const locus_score_call call = {dtype, i / 4 % 2, q, 0, KEYS, NULL};
                const void *a = row_of(&alone, term, call, wide[0]), *b = row_of(&beside, term, call, wide[1]);
                pointers += a != wide[0];
                computed += b == wide[1];
                assert_memory_equal(a, b, KEYS * locus_dtype_size(dtype));
            }
            rig_close(&alone);
            rig_close(&beside);
        }
    assert_true(pointers > 2000 && computed > 2000);
}

/* Learned rates on other groups, with tables and without. */
static void test_group_gradient(void **state) {
    (void)state;
    const size_t lengths[] = {9, 2200};
    uint64_t random = 3, noise = 1;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (size_t sequences = 1; sequences <= 2; sequences++) {
            rig r;
            const group_drawing drawing = {groups[g], sequences, lengths, 40, false};
            open_group(&r, "decay(rate=0.95, learned=on, group=@)", groups[g], rig_shape(1, 4, 0, 0));
            rig_place(&r, group_positions(&drawing, &random), NULL);
            double *g_row = rig_normal(9, &noise), *rate = r.values[0].data, loss[2] = {0, 0}, scratch[9],
                   slot[8] = {0};
            const locus_score_term *term = locus_plan_score_term(r.plan, 0);
            const locus_score_call call = {LOCUS_FLOAT64, 0, 4, 0, 9, NULL};
            term->class->row_backward(term, &call, g_row, slot);
            term->class->reduce(term, 0, slot, 1, sizeof slot, r.gradients);
            for (int side = 0; side < 2; side++) {
                *rate = 0.95 + (side ? -1e-6 : 1e-6);
                rig_update(&r);
                const double *row = row_of(&r, 0, call, scratch);
                for (size_t j = 0; j < 9; j++)
                    loss[side] += g_row[j] * row[j];
            }
            const double numeric = (loss[0] - loss[1]) / 2e-6, got = *(double *)r.gradients[0].data;
            assert_true(fabs(numeric - got) < 1e-7 * (1 + fabs(got)) && (got != 0 || numeric == 0));
            free(g_row);
            rig_close(&r);
        }
}

static void test_content_table(void **state) {
    (void)state;
    const int64_t queries[] = {4, -2, 9}, keys[] = {0, 1};
    rig r;
    rig_bind(&r, "alibi + relative(window=3, values=on, scaled=off)", rig_shape(2, 4, 6, 0), 1);
    rig_place(&r, rig_positions(queries, 3), rig_positions(keys, 2));
    const locus_content_table *table = locus_plan_content_table(r.plan);
    assert_non_null(table);
    assert_true(table->window == 3 && !table->scaled && table->key_parameter == 0 && table->value_parameter == 1);
    assert_string_equal(r.info[0].name, "1.key_table");
    assert_string_equal(r.info[1].name, "1.value_table");
    assert_true(r.info[0].shape[0] == 7 && r.info[0].shape[1] == 4 && r.info[1].shape[0] == 7 &&
                r.info[1].shape[1] == 6);
    for (size_t i = 0; i < 28; i++) {
        assert_true(table->key_float64[i] == ((double *)r.values[0].data)[i]);
        assert_true(table->key_float32[i] == (float)table->key_float64[i]);
    }
    for (size_t i = 0; i < 42; i++)
        assert_true(table->value_float64[i] == ((double *)r.values[1].data)[i]);
    assert_memory_equal(table->query_positions, queries, sizeof queries);
    assert_memory_equal(table->key_positions, keys, sizeof keys);
    rig_close(&r);
    rig_open(&r, "relative", rig_shape(2, 4, 6, 0), NULL, 3);
    table = locus_plan_content_table(r.plan);
    assert_true(table->window == 100 && table->scaled && !table->value_float32 && !table->value_float64);
    rig_close(&r);
}

/* A learned rate that training has pushed to 0 is refused; the binding keeps its old value. */
static void test_bad_rate(void **state) {
    (void)state;
    rig r;
    locus_error failure = {0};
    rig_open(&r, "decay(learned=on)", rig_shape(1, 4, 0, 0), NULL, 3);
    for (int i = 0; i < 2; i++) {
        *(double *)r.values[0].data = i ? -0.5 : (double)NAN;
        assert_int_equal(locus_binding_update(&r.binding, r.values, 1, &failure), LOCUS_ERROR_NUMERIC);
        assert_string_equal(failure.argument, "rate");
    }
    locus_plan_destroy(&r.plan);
    rig_ok(locus_plan_create(&r.plan, r.binding, r.queries, NULL, error));
    double scratch[3];
    const locus_score_call call = {LOCUS_FLOAT64, 0, 0, 0, 3, NULL};
    assert_true(fabs(((double *)row_of(&r, 0, call, scratch))[1] - 0.98) < 1e-15);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alibi_slopes),    cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_are_shared), cmocka_unit_test(test_decay_gradient),
        cmocka_unit_test(test_content_table),   cmocka_unit_test(test_bad_rate),
        cmocka_unit_test(test_groups),          cmocka_unit_test(test_ways_agree),
        cmocka_unit_test(test_group_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Terms at the score, row by row: t5, kerple and fire against their definitions on every group and on real positions,
 * from tables and without them; what each of them refuses; settings of scores; sums that cannot be. */
#include "../property/group_positions.h"
#include "plan/plan_sites.h"
#include "scores/distance_table.h"

#include <stdio.h>

static const void *row_of(const rig *r, size_t term, locus_score_call call, void *scratch) {
    const locus_score_term *score = locus_plan_score_term(r->plan, term);
    return locus_score_term_row(score, &call, scratch);
}

/* ---- definitions ---- */

static size_t t5_side(double u, size_t count, double most) {
    const size_t exact = count / 2;
    if (u < (double)exact)
        return (size_t)u;
    const double place = log(u / (double)exact) / log(most / (double)exact) * (double)(count - exact);
    const size_t bucket = exact + (size_t)(place + 1e-9);
    return bucket < count ? bucket : count - 1;
}

/* buckets=8, max=20; apart = key − query. */
static double t5_of(const rig *r, double apart, size_t head, int way) {
    const double *bias = r->values[0].data, steps = trunc(apart);
    size_t bucket = 0;
    if (way == 0)
        bucket = t5_side(fabs(steps), 4, 20) + (steps > 0 ? 4 : 0);
    else if (way == 1)
        bucket = t5_side(fmax(-steps, 0), 8, 20);
    else
        bucket = t5_side(floor(fabs(apart)), 8, 20);
    return bias[bucket * r->shape.heads + head];
}

static double kerple_of(const rig *r, double distance, size_t head) {
    const double *a = r->values[0].data, *b = r->values[1].data;
    return -a[head] * log(1 + b[head] * distance);
}

static double fire_of(const rig *r, double query, double distance, size_t head) {
    const double *w = r->values[0].data, *b = r->values[1].data, *out = r->values[2].data, *base = r->values[3].data;
    const double c = fabs(*(double *)r->values[4].data), threshold = fabs(*(double *)r->values[5].data);
    const size_t hidden = (size_t)r->info[0].shape[0];
    const double x = log(1 + c * distance) / log(1 + c * fmax(query, threshold));
    double sum = base[head];
    for (size_t i = 0; i < hidden; i++)
        sum += out[head * hidden + i] * fmax(0, w[i] * x + b[i]);
    return sum;
}

/* ---- on seq: consecutive, mixed and far positions, whole and real ---- */

enum { TOKENS = 40 };

typedef struct line_case {
    double query[TOKENS], key[TOKENS];
    size_t keys, queries;
    bool reals;
} line_case;

static locus_positions *line_positions(const double *values, size_t count, bool reals) {
    int64_t whole[TOKENS];
    const size_t offsets[] = {0, count};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_positions *positions = NULL;
    for (size_t i = 0; i < count; i++)
        whole[i] = (int64_t)values[i];
    if (reals)
        rig_ok(locus_positions_create_real(&positions, NULL, &packing, values, error));
    else
        rig_ok(locus_positions_create(&positions, NULL, &packing, whole, error));
    return positions;
}

static double want_on_line(const rig *r, const char *name, const line_case *test, size_t q, size_t k, size_t head) {
    const double apart = test->key[k] - test->query[q];
    if (strcmp(name, "kerple") == 0)
        return kerple_of(r, fabs(apart), head);
    if (strncmp(name, "fire", 4) == 0)
        return fire_of(r, test->query[q], fabs(apart), head);
    return t5_of(r, apart, head, strstr(name, "causal") != NULL);
}

static void check_line(const char *spec, const line_case *test) {
    rig r;
    double wide[TOKENS];
    float narrow[TOKENS];
    rig_bind(&r, spec, rig_shape(3, 4, 0, 0), 5);
    rig_place(&r, line_positions(test->query, test->queries, test->reals),
              line_positions(test->key, test->keys, test->reals));
    for (size_t h = 0; h < 3; h++)
        for (size_t q = 0; q < test->queries; q++)
            for (size_t first = 0; first < test->keys; first += 7) {
                locus_score_call call = {LOCUS_FLOAT64, h, q, first, test->keys - first, NULL};
                const double *d = row_of(&r, 0, call, wide);
                call.dtype = LOCUS_FLOAT32;
                const float *f = row_of(&r, 0, call, narrow);
                for (size_t j = 0; j < call.count; j++) {
                    const double want = want_on_line(&r, spec, test, q, first + j, h);
                    if (!(fabs(d[j] - want) <= 1e-12 * (1 + fabs(want)) &&
                          fabs((double)f[j] - want) <= 2e-6 * (1 + fabs(want))))
                        fail_msg("%s: head %zu, %g and %g: %.17g and %.9g, not %.17g", spec, h, test->query[q],
                                 test->key[first + j], d[j], (double)f[j], want);
                }
            }
    rig_close(&r);
}

static void test_line(void **state) {
    (void)state;
    static const char *const specs[] = {"t5(buckets=8, max=20)", "t5(buckets=8, max=20, direction=causal)", "kerple",
                                        "fire(hidden=9, L=6.3)", "fire(hidden=32, c=2)"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        for (int way = 0; way < 6; way++) {
            line_case test = {.keys = TOKENS, .queries = 11, .reals = way % 2 == 1};
            for (size_t t = 0; t < TOKENS; t++) {
                const double mixed = (double)(t * 17 % 23) - 9, far = mixed * 1e9;
                test.key[t] = way < 2 ? (double)t - 3 : way < 4 ? mixed : far;
                test.query[t] = way < 2 ? (double)t * 3 : way < 4 ? mixed + 4 : far / 2;
                if (test.reals) {
                    test.key[t] += 0.3 * (double)(t % 4);
                    test.query[t] += 0.25 * (double)(t % 3);
                }
            }
            check_line(specs[i], &test);
        }
}

/* Consecutive keys: a pointer into one table, for neighbours of the query too. */
static void test_rows_are_shared(void **state) {
    (void)state;
    static const char *const specs[] = {"t5", "kerple"};
    for (size_t i = 0; i < 2; i++)
        for (int dtype = LOCUS_FLOAT32; dtype <= LOCUS_FLOAT64; dtype++) {
            rig r;
            double scratch[50];
            rig_open(&r, specs[i], rig_shape(2, 4, 0, 0), NULL, 50);
            const locus_score_call call = {(locus_dtype)dtype, 1, 10, 0, 50, NULL},
                                   next = {(locus_dtype)dtype, 1, 11, 0, 50, NULL};
            const char *row = row_of(&r, 0, call, scratch), *other = row_of(&r, 0, next, scratch);
            assert_true(row != (const char *)scratch && other == row - locus_dtype_size((locus_dtype)dtype));
            rig_close(&r);
        }
}

/* Two tokens far apart are no reason for a table of all that lies between them for each of many heads. */
static void test_few_far(void **state) {
    (void)state;
    static const char *const specs[] = {"t5", "kerple", "alibi"};
    const int64_t values[] = {0, 30000};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        rig r;
        rig_bind(&r, specs[i], rig_shape(128, 4, 0, 0), 5);
        rig_place(&r, rig_positions(values, 2), NULL);
        assert_true(locus_plan_bytes(r.plan) < (size_t)1 << 20);
        rig_close(&r);
    }
}

/* ---- other groups ---- */

static const char *const groups[] = {"cycle:6", "cycle:1000000007", "grid:2",     "grid:3",
                                     "tree:2",  "cycle:5*cycle:4",  "seq*tree:3", "grid:2*cycle:7*tree:2"};

static void test_groups(void **state) {
    (void)state;
    enum { KEYS = 25, LONG = 2200 };
    const size_t lengths[] = {KEYS, LONG};
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (int way = 0; way < 8; way++) { /* t5 or kerple; near or far; tables by pair or not */
            rig r;
            char spec[96];
            uint64_t random = 5;
            const bool t5 = way % 2 == 0;
            const group_drawing drawing = {groups[g], way < 4 ? 1 : 2, lengths, way % 4 < 2 ? 40 : (int64_t)1 << 36,
                                           false};
            (void)snprintf(spec, sizeof spec, t5 ? "t5(buckets=8, max=20, group=%s)" : "kerple(group=%s)", groups[g]);
            rig_bind(&r, spec, rig_shape(2, 4, 0, 0), 1);
            rig_place(&r, group_positions(&drawing, &random), NULL);
            for (size_t i = 0; i < KEYS * 2; i++) {
                double wide[KEYS];
                float narrow[KEYS];
                locus_score_call call = {LOCUS_FLOAT64, i % 2, i / 2, i % 5, KEYS - i % 5, NULL};
                const double *d = row_of(&r, 0, call, wide);
                call.dtype = LOCUS_FLOAT32;
                const float *f = row_of(&r, 0, call, narrow);
                for (size_t j = 0; j < call.count; j++) {
                    const double distance = group_distance(r.queries, call.query, r.queries, call.key_first + j);
                    const double want = t5 ? t5_of(&r, distance, i % 2, 2) : kerple_of(&r, distance, i % 2);
                    assert_true(fabs(d[j] - want) <= 1e-13 * (1 + fabs(want)) && f[j] == (float)d[j]);
                }
            }
            rig_close(&r);
        }
}

/* Real coordinates on a grid: the floor of the norm, and of whole ones what whole positions give. */
static void test_real_grid(void **state) {
    (void)state;
    enum { COUNT = 12 };
    const size_t offsets[] = {0, COUNT};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    for (int whole = 0; whole < 2; whole++) {
        double values[2 * COUNT], wide[COUNT];
        rig r;
        locus_group *group = NULL;
        locus_positions *positions = NULL;
        rig_ok(locus_group_parse("grid:2", &group, error));
        for (size_t i = 0; i < 2 * COUNT; i++)
            values[i] = (double)(i * 7 % 11) * (whole ? 3 : 0.7) + (whole && i == 5 ? 1e10 : 0);
        rig_ok(locus_positions_create_real(&positions, group, &packing, values, error));
        rig_bind(&r, "alibi(group=grid:2) + decay(rate=0.9, group=grid:2)", rig_shape(2, 4, 0, 0), 1);
        rig_place(&r, positions, NULL);
        for (size_t q = 0; q < COUNT; q++)
            for (size_t term = 0; term < 2; term++) {
                const locus_score_call call = {LOCUS_FLOAT64, 0, q, 0, COUNT, NULL};
                const double *row = row_of(&r, term, call, wide);
                for (size_t j = 0; j < COUNT; j++) {
                    const double distance =
                        floor(hypot(values[2 * j] - values[2 * q], values[2 * j + 1] - values[2 * q + 1]));
                    const double want = term ? -distance / 16 : pow(0.9, distance);
                    assert_true(fabs(row[j] - want) <= 1e-9 * fabs(want));
                }
            }
        rig_close(&r);
        locus_group_destroy(&group);
    }
}

/* Decay and ALiBi of times: no list of powers can serve them. */
static void test_real_line(void **state) {
    (void)state;
    const double times[] = {0, 0.25, 1.5, 1.75, 100.125, -3.5};
    double wide[6];
    rig r;
    rig_bind(&r, "alibi + decay(rate=0.9)", rig_shape(2, 4, 0, 0), 1);
    rig_place(&r, line_positions(times, 6, true), NULL);
    for (size_t q = 0; q < 6; q++)
        for (size_t j = 0; j < 6; j++) {
            const locus_score_call call = {LOCUS_FLOAT64, 1, q, j, 1, NULL};
            const double distance = fabs(times[j] - times[q]);
            assert_true(fabs(*(const double *)row_of(&r, 0, call, wide) - pow(0.9, distance)) < 1e-15);
            assert_true(*(const double *)row_of(&r, 1, call, wide) == -distance / 256);
        }
    rig_close(&r);
}

/* ---- initial values ---- */

static void test_initial(void **state) {
    (void)state;
    rig r;
    rig_open(&r, "kerple", rig_shape(64, 4, 0, 0), NULL, 2);
    for (size_t h = 0; h < 64; h++) {
        const double a = ((double *)r.values[0].data)[h], b = ((double *)r.values[1].data)[h];
        assert_true(a >= 0.01 && a < 2 && b >= 0.01 && b < 1);
    }
    rig_close(&r);
    rig_open(&r, "fire", rig_shape(4, 8, 0, 0), NULL, 2);
    assert_int_equal(r.count, 6);
    assert_true(r.info[2].shape[0] == 4 && r.info[2].shape[1] == 32);
    assert_true(*(double *)r.values[4].data == 0.1 && *(double *)r.values[5].data == 512);
    rig_close(&r);
    rig_open(&r, "cope + scores(sinks=on)", rig_shape(4, 8, 0, 0), NULL, 2);
    assert_string_equal(r.info[0].name, "0.table");
    assert_true(r.info[0].shape[0] == 65 && r.info[0].shape[1] == 8);
    assert_string_equal(r.info[1].name, "1.sinks");
    assert_true(r.info[1].shape[0] == 4 && ((double *)r.values[1].data)[3] == 0);
    rig_close(&r);
    double sum = 0;
    rig_open(&r, "t5", rig_shape(16, 4, 0, 400), NULL, 2);
    for (size_t i = 0; i < 512; i++)
        sum += pow(((double *)r.values[0].data)[i], 2);
    assert_true(fabs(sqrt(sum / 512) - 0.05) < 0.005);
    rig_close(&r);
}

/* ---- what is refused ---- */

static void bad_spec(const char *spec, const char *part) {
    locus_encoding *encoding = NULL;
    locus_error error = {0};
    if (locus_encoding_parse(spec, &encoding, &error) != LOCUS_ERROR_SPEC || !strstr(error.message, part))
        fail_msg("'%s': %s", spec, error.message);
}

static void test_specs(void **state) {
    (void)state;
    bad_spec("t5(buckets=7)", "must be even");
    bad_spec("t5(buckets=2)", "at least 4");
    bad_spec("t5(max=8)", "must be above half");
    bad_spec("t5(buckets=64, max=32, direction=causal)", "must be above half");
    bad_spec("t5(group=tree:2, direction=both)", "leave it out");
    bad_spec("scores(keep=4)", "needs a window");
    bad_spec("scores(window=2.5)", "off or an integer");
    bad_spec("scores(window=0)", "off or an integer");
    bad_spec("scores(chunk=2.5)", "off or an integer");
    bad_spec("scores(chunk=0)", "off or an integer");
    bad_spec("temperature(growth=log, beta=0.2)", "for growth=steps");
    bad_spec("temperature(least=0)", "for growth=log");
    bad_spec("temperature(length=1)", "integer");
    bad_spec("scores(scale=0)", "number > 0");
    bad_spec("scores(cap=-1)", "number > 0");
    bad_spec("scores + rope + scores", "a sum can have one such term");
    bad_spec("cope + cope", "a sum can have one such term");
    bad_spec("relative + cope", "'relative' and 'cope' both bring a table");
    bad_spec("cope(gate=maybe)", "raw|scaled");
    bad_spec("fire + alibi(group=tree:2)", "a sum needs one group");
}

static void test_texts(void **state) {
    (void)state;
    static const char *const specs[] = {
        "t5",
        "t5(buckets=64, max=256, direction=causal)",
        "t5(group=tree:2)",
        "kerple(group=grid:2)",
        "fire(hidden=8)",
        "cope(max=32, gate=scaled) + rope",
        "alibi(group=tree:2) + cope + scores(scale=1, cap=50, window=4096, keep=4, sinks=on)"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        locus_encoding *encoding = NULL;
        char text[160];
        rig_ok(locus_encoding_parse(specs[i], &encoding, error));
        (void)locus_encoding_text(encoding, text, sizeof text);
        assert_string_equal(text, specs[i]);
        locus_encoding_destroy(&encoding);
    }
}

static void bad_values(const char *spec, size_t parameter, size_t at, double value, const char *part) {
    rig r;
    locus_error error = {0};
    rig_open(&r, spec, rig_shape(3, 4, 0, 0), NULL, 2);
    ((double *)r.values[parameter].data)[at] = value;
    assert_int_equal(locus_binding_update(&r.binding, r.values, r.count, &error), LOCUS_ERROR_NUMERIC);
    if (!strstr(error.message, part))
        fail_msg("%s: %s", spec, error.message);
    rig_close(&r);
}

static void test_values(void **state) {
    (void)state;
    bad_values("kerple", 0, 2, 0, "the parameter 'a' is 0 at element 2: it must be above 0");
    bad_values("kerple", 1, 1, -0.5, "the parameter 'b' is -0.5 at element 1: it must be above 0");
    bad_values("fire", 4, 0, 0, "the parameter 'c' is 0 at element 0: it must be another number than 0");
    bad_values("fire", 5, 0, 0, "the parameter 'L' is 0 at element 0");
}

/* Every head count that a shape may have has slopes of its own, in float32 too; more are refused. */
static void test_alibi_heads(void **state) {
    (void)state;
    enum { MOST = 65536 };
    rig r;
    float *slopes = calloc(MOST, sizeof *slopes);
    locus_encoding *encoding = NULL;
    locus_error failure = {0};
    size_t count = 0;
    assert_non_null(slopes);
    rig_open(&r, "alibi", rig_shape(MOST, 4, 0, 0), NULL, 2);
    for (size_t h = 0; h < MOST; h++) {
        double scratch;
        const locus_score_call call = {LOCUS_FLOAT32, h, 0, 1, 1, NULL};
        slopes[h] = -*(const float *)row_of(&r, 0, call, &scratch);
        assert_true(slopes[h] >= 0x1p-8f && slopes[h] < 1 && (h == 0 || slopes[h] < slopes[h - 1]));
    }
    rig_close(&r);
    free(slopes);
    rig_ok(locus_encoding_parse("alibi", &encoding, error));
    const locus_shape shape = rig_shape(MOST + 1, 4, 0, 0);
    assert_int_equal(locus_encoding_parameter_count(encoding, &shape, &count, &failure), LOCUS_ERROR_SHAPE);
    assert_non_null(strstr(failure.message, "heads is 65537: at most 65536"));
    locus_encoding_destroy(&encoding);
}

/* ---- settings ---- */

static void test_settings(void **state) {
    (void)state;
    rig r;
    rig_open(&r, "rope + scores(scale=0.25, cap=30, window=5, keep=2, sinks=on)", rig_shape(3, 4, 0, 0), NULL, 2);
    const locus_score_settings *settings = locus_plan_score_settings(r.plan);
    assert_non_null(settings);
    assert_true(settings->scale == 0.25 && settings->cap == 30 && settings->window == 5 && settings->keep == 2);
    assert_true(settings->sinks && settings->sinks[2] == 0 && settings->sinks_parameter == 0);
    assert_int_equal(locus_plan_score_terms(r.plan), 0);
    rig_close(&r);
    rig_open(&r, "scores", rig_shape(3, 4, 0, 0), NULL, 2);
    settings = locus_plan_score_settings(r.plan);
    assert_true(settings && settings->scale == 0 && settings->cap == 0 && settings->window == 0 && !settings->sinks);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),      cmocka_unit_test(test_rows_are_shared), cmocka_unit_test(test_few_far),
        cmocka_unit_test(test_groups),    cmocka_unit_test(test_initial),         cmocka_unit_test(test_real_grid),
        cmocka_unit_test(test_real_line), cmocka_unit_test(test_specs),           cmocka_unit_test(test_texts),
        cmocka_unit_test(test_values),    cmocka_unit_test(test_alibi_heads),     cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

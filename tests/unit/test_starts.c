/* SPDX-License-Identifier: MIT */
/* What parameters begin with, against docs/encodings.md: means, deviations and tails of everything that is drawn. The
 * bounds are five standard errors of the moment, of so many independent numbers. */
#include "../property/encoding_rig.h"

static const struct {
    const char *spec, *parameter;
    double deviation; /* of a normal distribution round 0 */
} drawn[] = {
    {"learned(size=300)", "table", 1},
    {"learned(size=300, deviation=0.02)", "table", 0.02},
    {"relative(window=60, values=on)", "key_table", 0.17677669529663687},   /* 1/√32 */
    {"relative(window=60, values=on)", "value_table", 0.17677669529663687}, /* 1/√32 */
    {"t5(buckets=400)", "bias", 0.08838834764831843},                       /* 1/√128 */
    {"string(group=grid:2)", "basis", 0.01},
    {"algebraic(group=seq, init=identity)", "", 0.01},
};

static void check_normal(const char *spec, const locus_tensor *tensor, double deviation) {
    const double *x = tensor->data;
    const size_t count = locus_tensor_count(tensor);
    const double n = (double)count;
    double mean = 0, square = 0, fourth = 0;
    size_t within = 0;
    assert_true(count >= 500);
    for (size_t i = 0; i < count; i++) {
        const double z = x[i] / deviation;
        mean += z / n;
        square += z * z / n;
        fourth += z * z * z * z / n;
        within += fabs(z) < 1;
        assert_true(fabs(z) < 6);
    }
    if (fabs(mean) > 5 / sqrt(n) || fabs(square - 1) > 5 * sqrt(2 / n) || fabs(fourth - 3) > 5 * sqrt(96 / n) ||
        fabs((double)within / n - 0.6827) > 5 * sqrt(0.2166 / n))
        fail_msg("%s: mean %g, variance %g, fourth moment %g, within one deviation %g", spec, mean, square, fourth,
                 (double)within / n);
}

static void drawn_parameters(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        locus_shape shape = locus_shape_default();
        shape.heads = 4;
        shape.head_dim = 32;
        shape.value_dim = 32;
        shape.model_dim = 128;
        locus_encoding *encoding = NULL;
        locus_parameter info[8];
        locus_tensor values[8];
        size_t count = 0;
        bool found = false;
        assert_int_equal(locus_encoding_parse(drawn[i].spec, &encoding, NULL), LOCUS_OK);
        assert_int_equal(locus_encoding_parameter_count(encoding, &shape, &count, NULL), LOCUS_OK);
        assert_in_range(count, 1, 8);
        for (size_t p = 0; p < count; p++) {
            info[p].size = sizeof *info;
            assert_int_equal(locus_encoding_parameter(encoding, &shape, p, &info[p], NULL), LOCUS_OK);
            values[p] = locus_tensor_view(NULL, LOCUS_FLOAT64, info[p].rank, info[p].shape);
            values[p].data = calloc(locus_tensor_count(&values[p]) + 1, sizeof(double));
            assert_non_null(values[p].data);
        }
        assert_int_equal(locus_encoding_initialise(encoding, &shape, 5, values, count, NULL), LOCUS_OK);
        for (size_t p = 0; p < count; p++) {
            const char *point = strrchr(info[p].name, '.');
            if (!*drawn[i].parameter || strcmp(point ? point + 1 : info[p].name, drawn[i].parameter) == 0) {
                check_normal(drawn[i].spec, &values[p], drawn[i].deviation);
                found = true;
            }
            free(values[p].data);
        }
        assert_true(found);
        locus_encoding_destroy(&encoding);
    }
}

/* y [dim, heads, dim]: the columns of each head's matrix for the tokens' step; x: room for as many. */
static void take_step(rig *r, size_t heads, size_t dim, double *x, double *y) {
    memset(x, 0, dim * heads * dim * sizeof *x);
    for (size_t t = 0; t < dim; t++)
        for (size_t h = 0; h < heads; h++)
            x[(t * heads + h) * dim + t] = 1;
    rig_apply(r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, dim, x, y);
}

/* Reflections have no parameters that mean the identity: init=identity has angles of deviation 0.01. A matrix is then
 * ‖W − 1‖² = Σ 4 − 4 cos θ ≈ 2 Σ θ² off, and an odd dimension has one direction more that is turned round. */
static void reflections_begin_near_the_identity(void **state) {
    (void)state;
    enum { HEADS = 24, TOKENS = 33, MOST = TOKENS * HEADS * TOKENS };
    static double x[MOST], y[MOST];
    for (size_t dim = 32; dim <= 33; dim++) {
        locus_shape shape = locus_shape_default();
        shape.heads = HEADS;
        shape.head_dim = dim;
        rig r;
        int64_t ones[TOKENS];
        for (size_t t = 0; t < TOKENS; t++)
            ones[t] = 1;
        rig_open(&r, "algebraic(group=seq, generator=householder, init=identity)", shape, ones, dim);
        take_step(&r, HEADS, dim, x, y);
        double off = 0;
        const double pairs = HEADS * 16;
        for (size_t i = 0; i < dim * HEADS * dim; i++)
            off += (y[i] - x[i]) * (y[i] - x[i]);
        if (dim % 2 != 0) /* −1 in place of 1 */
            off -= 4 * HEADS;
        const double variance = off / (2 * pairs * 0.01 * 0.01);
        if (fabs(variance - 1) > 5 * sqrt(2 / pairs))
            fail_msg("dimension %zu: angles have %g times the variance", dim, variance);
        rig_close(&r);
    }
}

/* init=random is uniform among the rotations, and of an odd dimension among what turns one direction round: the mean
 * trace of either is 0, its variance 1. */
static void random_reflections_are_uniform(void **state) {
    (void)state;
    enum { HEADS = 400, MOST = 5 };
    static double x[MOST * HEADS * MOST], y[MOST * HEADS * MOST];
    const int64_t ones[MOST] = {1, 1, 1, 1, 1};
    for (size_t dim = 3; dim <= MOST; dim++) {
        locus_shape shape = locus_shape_default();
        shape.heads = HEADS;
        shape.head_dim = dim;
        rig r;
        rig_open(&r, "algebraic(group=seq, generator=householder, init=random)", shape, ones, dim);
        take_step(&r, HEADS, dim, x, y);
        double mean = 0, square = 0;
        for (size_t h = 0; h < HEADS; h++) {
            double trace = 0;
            for (size_t t = 0; t < dim; t++)
                trace += y[(t * HEADS + h) * dim + t];
            mean += trace / HEADS;
            square += trace * trace / HEADS;
        }
        if (fabs(mean) > 5 / sqrt(HEADS) || fabs(square - 1) > 0.4)
            fail_msg("dimension %zu: traces have a mean of %g and a mean square of %g", dim, mean, square);
        rig_close(&r);
    }
}

/* ---- to the number ---- */

/* Element i of what a term draws, and in which order: a seed gives the same start on every machine. */
static double uniform(uint64_t seed, uint32_t term, uint64_t i) {
    const locus_random stream = {.seed = seed, .purpose = 0x10, .step = term};
    return locus_random_uniform(&stream, i);
}

static double normal(uint64_t seed, uint32_t term, uint64_t i) {
    const locus_random stream = {.seed = seed, .purpose = 0x10, .step = term};
    return locus_random_normal(&stream, i);
}

static const double *values_of(const rig *r, const char *name) {
    for (size_t p = 0; p < r->count; p++)
        if (strcmp(r->info[p].name, name) == 0)
            return r->values[p].data;
    fail_msg("no parameter '%s'", name);
    return NULL;
}

#define EACH(name, count, want) \
    do { \
        const double *x = values_of(&r, name); \
        for (size_t i = 0; i < (count); i++) \
            assert_true(x[i] == (want)); \
    } while (0)

static void starts_are_those_of_a_stream(void **state) {
    enum { SEED = 9 };
    rig r;
    (void)state;
    rig_bind(&r, "kerple + alibi + kerple", rig_shape(3, 8, 0, 0), SEED);
    EACH("0.a", 3, fmax(0.01, 2 * uniform(SEED, 0, i)));
    EACH("0.b", 3, fmax(0.01, uniform(SEED, 0, 3 + i)));
    EACH("2.a", 3, fmax(0.01, 2 * uniform(SEED, 2, i)));
    EACH("2.b", 3, fmax(0.01, uniform(SEED, 2, 3 + i)));
    rig_close(&r);
    rig_bind(&r, "none + fire(hidden=5, c=0.5, L=30)", rig_shape(3, 8, 0, 0), SEED);
    const double inner = 1 / sqrt(5);
    EACH("1.hidden_weight", 5, 2 * uniform(SEED, 1, i) - 1);
    EACH("1.hidden_bias", 5, 2 * uniform(SEED, 1, 5 + i) - 1);
    EACH("1.output_weight", 15, inner * (2 * uniform(SEED, 1, 10 + i) - 1));
    EACH("1.output_bias", 3, inner * (2 * uniform(SEED, 1, 25 + i) - 1));
    EACH("1.c", 1, 0.5);
    EACH("1.L", 1, 30);
    rig_close(&r);
    rig_bind(&r, "relative(window=3, values=on)", rig_shape(2, 8, 5, 0), SEED);
    EACH("key_table", 56, normal(SEED, 0, i) / sqrt(8));
    EACH("value_table", 35, normal(SEED, 0, 56 + i) / sqrt(5));
    rig_close(&r);
    rig_bind(&r, "learned(size=7, deviation=0.25)", rig_shape(2, 8, 0, 6), SEED);
    EACH("table", 42, 0.25 * normal(SEED, 0, i));
    rig_close(&r);
    rig_bind(&r, "t5(buckets=6)", rig_shape(2, 8, 0, 0), SEED); /* without a model's dimension that of all heads */
    EACH("bias", 12, 1 / sqrt(16) * normal(SEED, 0, i));
    rig_close(&r);
    rig_bind(&r, "t5(buckets=6)", rig_shape(2, 8, 0, 10), SEED);
    EACH("bias", 12, 1 / sqrt(10) * normal(SEED, 0, i));
    rig_close(&r);
    rig_bind(&r, "t5(buckets=6)", rig_shape(3, 0, 0, 0), SEED);
    EACH("bias", 18, 1 / sqrt(3) * normal(SEED, 0, i));
    rig_close(&r);
    rig_bind(&r, "shiv-quirk(depth=3)", rig_shape(0, 0, 0, 20), SEED);
    EACH("decays", 3, 0.7 + (0.999 - 0.7) * uniform(SEED, 0, i));
    rig_close(&r);
    rig_bind(&r, "cope(max=4) + scores(sinks=on)", rig_shape(3, 8, 0, 0), SEED);
    EACH("0.table", 40, 0);
    EACH("1.sinks", 3, 0);
    rig_close(&r);
    rig_bind(&r, "string(group=seq, heads=shared, decay=learned:0.75)", rig_shape(3, 8, 0, 0), SEED);
    EACH("basis", 64, 0.01 * normal(SEED, 0, i));
    EACH("frequencies", 4, (double)powl(10000, -2 * (long double)i / 8));
    EACH("rate", 1, 0.75);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_parameters), cmocka_unit_test(reflections_begin_near_the_identity),
        cmocka_unit_test(random_reflections_are_uniform), cmocka_unit_test(starts_are_those_of_a_stream)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What parameters begin with, where it is no normal distribution, against docs/encodings.md: even draws by their ends,
 * mean and variance (bounds of five standard errors), rope's frequencies and their lengths over random directions,
 * matrices of Haar's measure by orthogonality and moments, rates by the option. */
#include <locus/locus.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 };

typedef struct start {
    const char *spec;
    locus_encoding *encoding;
    locus_parameter info[MOST];
    locus_tensor values[MOST];
    size_t count;
} start;

static start start_of(const char *spec, size_t heads, size_t head_dim, uint64_t seed) {
    start s = {.spec = spec};
    locus_error error = {0};
    locus_shape shape = locus_shape_default();
    shape.heads = heads;
    shape.head_dim = head_dim;
    shape.value_dim = head_dim;
    shape.model_dim = heads * head_dim;
    assert_int_equal(locus_encoding_parse(spec, &s.encoding, &error), LOCUS_OK);
    assert_int_equal(locus_encoding_parameter_count(s.encoding, &shape, &s.count, &error), LOCUS_OK);
    assert_in_range(s.count, 1, MOST);
    for (size_t p = 0; p < s.count; p++) {
        s.info[p].size = sizeof *s.info;
        assert_int_equal(locus_encoding_parameter(s.encoding, &shape, p, &s.info[p], &error), LOCUS_OK);
        s.values[p] = locus_tensor_view(NULL, LOCUS_FLOAT64, s.info[p].rank, s.info[p].shape);
        s.values[p].data = calloc(locus_tensor_count(&s.values[p]) + 1, sizeof(double));
        assert_non_null(s.values[p].data);
    }
    if (locus_encoding_initialise(s.encoding, &shape, seed, s.values, s.count, &error) != LOCUS_OK)
        fail_msg("%s: %s", spec, error.message);
    return s;
}

static void start_free(start *s) {
    for (size_t p = 0; p < s->count; p++)
        free(s->values[p].data);
    locus_encoding_destroy(&s->encoding);
}

/* The parameter of a name, without its term's. */
static const double *values_of(const start *s, const char *name, size_t *count) {
    for (size_t p = 0; p < s->count; p++) {
        const char *point = strrchr(s->info[p].name, '.');
        if (strcmp(point ? point + 1 : s->info[p].name, name) == 0) {
            *count = locus_tensor_count(&s->values[p]);
            return s->values[p].data;
        }
    }
    fail_msg("%s has no parameter '%s'", s->spec, name);
    return NULL;
}

static void assert_near(const char *what, double have, double want, double most) {
    if (!(fabs(have - want) <= most))
        fail_msg("%s: %.17g, not %.17g (± %g)", what, have, want, most);
}

/* ---- even draws ---- */

static const struct {
    const char *spec, *parameter;
    size_t heads, dim;
    double low, high, least; /* least: what is drawn below it is it */
} evens[] = {
    {"kerple", "a", 4000, 2, 0, 2, 0.01},
    {"kerple", "b", 4000, 2, 0, 1, 0.01},
    {"shiv-quirk(depth=2)", "decays", 1, 4096, 0.7, 0.999, 0},
    {"fire(hidden=4096)", "hidden_weight", 2, 2, -1, 1, -1},
    {"fire(hidden=4096)", "hidden_bias", 2, 2, -1, 1, -1},
    {"fire(hidden=1024)", "output_weight", 8, 2, -0.03125, 0.03125, -1},
    {"fire(hidden=4)", "output_bias", 4000, 2, -0.5, 0.5, -1},
};

/* Means of x and of x² over [low, high] of max(x, least). */
static void check_even(size_t i) {
    start s = start_of(evens[i].spec, evens[i].heads, evens[i].dim, 3);
    size_t count = 0;
    const double *x = values_of(&s, evens[i].parameter, &count);
    const double n = (double)count, low = evens[i].low, high = evens[i].high, width = high - low;
    const double cut = fmax(evens[i].least, low);
    double mean = 0, square = 0, smallest = INFINITY, largest = -INFINITY;
    assert_true(count >= 500);
    for (size_t e = 0; e < count; e++) {
        mean += x[e] / n;
        square += (x[e] - (low + high) / 2) * (x[e] - (low + high) / 2) / n;
        smallest = fmin(smallest, x[e]);
        largest = fmax(largest, x[e]);
    }
    assert_near(evens[i].parameter, mean, (low + high) / 2 + (cut - low) * (cut - low) / (2 * width),
                5 * width / sqrt(12 * n));
    assert_near(evens[i].parameter, square, width * width / 12,
                5 * width * width / sqrt(180 * n) + 1e-3 * width * width);
    /* Nothing outside, and the ends are reached: a share of 12/n is left out with probability e^-12. */
    assert_true(smallest >= cut && largest < high);
    assert_true(smallest < cut + 12 * width / n && largest > high - 12 * width / n);
    start_free(&s);
}

static void even_draws(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof evens / sizeof *evens; i++)
        check_even(i);
}

/* ---- given numbers ---- */

static void options_are_where_parameters_begin(void **state) {
    static const struct {
        const char *spec, *parameter;
        double value;
    } given[] = {{"fire(c=0.25, L=100)", "c", 0.25},           {"fire(c=0.25, L=100)", "L", 100},
                 {"decay(rate=0.3, learned=on)", "rate", 0.3}, {"algebraic(decay=learned:0.9)", "rate", 0.9},
                 {"mixed(decay=learned:0.8)", "rate", 0.8},    {"string(decay=learned:0.7)", "rate", 0.7},
                 {"liere(decay=learned:0.6)", "rate", 0.6}};
    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        start s = start_of(given[i].spec, 2, 8, 1);
        size_t count = 0;
        const double *x = values_of(&s, given[i].parameter, &count);
        assert_int_equal(count, 1);
        assert_near(given[i].spec, x[0], given[i].value, 0);
        start_free(&s);
    }
}

static void rope_begins_with_its_frequencies(void **state) {
    (void)state;
    enum { DIM = 16 };
    size_t count = 0;
    start s = start_of("rope(learned=on, base=500)", 3, DIM, 1);
    const double *x = values_of(&s, "frequencies", &count);
    assert_int_equal(count, DIM / 2);
    for (size_t i = 0; i < count; i++)
        assert_near("rope", x[i], pow(500, -2.0 * (double)i / DIM), 1e-14);
    start_free(&s);
    /* On one axis mixed is rope, for each head. */
    s = start_of("mixed(group=seq, base=500)", 3, DIM, 1);
    x = values_of(&s, "frequencies", &count);
    assert_int_equal(count, 3 * DIM / 2);
    for (size_t i = 0; i < count; i++)
        assert_near("mixed", x[i], pow(500, -2.0 * (double)(i % (DIM / 2)) / DIM), 1e-14);
    start_free(&s);
    /* Angles of algebraic are rope's; of a tree's branches, dealt out in turn from a head as many times as wide. */
    s = start_of("algebraic(group=tree:2, generator=angles)", 1, DIM, 1);
    x = s.values[0].data;
    assert_int_equal(locus_tensor_count(&s.values[0]), DIM);
    for (size_t i = 0; i < DIM; i++)
        assert_near("tree", x[i], pow(10000, -2.0 * (double)(i % 8 * 2 + i / 8) / (2 * DIM)), 1e-14);
    start_free(&s);
}

/* ---- directions and matrices ---- */

/* [H, axes, d/2]: each run of pairs goes along one direction of its head, the directions are at right angles, lengths
 * fall as rope's do over each run, and over many heads every axis has its share. */
static void mixed_begins_in_directions(void **state) {
    static const char *const specs[] = {"mixed(base=10)", "string(base=10)"};
    enum { HEADS = 600, PAIRS = 6, RUN = 3 };
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        size_t count = 0;
        start s = start_of(specs[k], HEADS, 2 * PAIRS, 9);
        const double *x = values_of(&s, "frequencies", &count);
        double square = 0, fourth = 0, sum = 0;
        assert_int_equal(count, HEADS * 2 * PAIRS);
        for (size_t h = 0; h < HEADS; h++) {
            const double *on[2] = {x + h * 2 * PAIRS, x + h * 2 * PAIRS + PAIRS};
            for (size_t i = 0; i < PAIRS; i++) {
                const double length = pow(10, -4.0 * (double)(i % RUN) / (2 * PAIRS));
                const size_t first = i / RUN * RUN;
                assert_near("length", hypot(on[0][i], on[1][i]), length, 1e-12);
                assert_near("one direction", on[0][i] * on[1][first] - on[1][i] * on[0][first], 0, 1e-12);
                assert_true(on[0][i] * on[0][first] + on[1][i] * on[1][first] > 0);
            }
            assert_near("right angles", on[0][0] * on[0][RUN] + on[1][0] * on[1][RUN], 0, 1e-12);
            const double c = on[0][0];
            sum += c / HEADS;
            square += c * c / HEADS;
            fourth += c * c * c * c / HEADS;
        }
        assert_near("mean", sum, 0, 5 * sqrt(0.5 / HEADS)); /* cos of an even angle: 0, 1/2, 3/8 */
        assert_near("square", square, 0.5, 5 * sqrt(0.125 / HEADS));
        assert_near("fourth", fourth, 0.375, 5 * sqrt(0.133 / HEADS));
        start_free(&s);
    }
}

/* Tr Sⁿ of S = A − Aᵀ at A [dim, dim]: n = 2 and 4 tell the angles of two pairs. */
static void skew_traces(const double *A, size_t dim, double *second, double *fourth) {
    double S[16], T[16];
    assert_int_equal(dim, 4);
    *second = *fourth = 0;
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            S[i * dim + j] = A[i * dim + j] - A[j * dim + i];
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++) {
            T[i * dim + j] = 0;
            for (size_t k = 0; k < dim; k++)
                T[i * dim + j] += S[i * dim + k] * S[k * dim + j];
        }
    for (size_t i = 0; i < dim; i++) {
        *second += T[i * dim + i];
        for (size_t j = 0; j < dim; j++)
            *fourth += T[i * dim + j] * T[j * dim + i];
    }
}

/* rope's angles 1 and 1/100 in a basis that is random: traces are the angles', elements are spread evenly. */
static void rope_in_a_random_basis(void **state) {
    static const struct {
        const char *spec;
        double axes; /* that the angles are divided by */
    } cases[] = {{"algebraic(init=rope)", 1}, {"liere(group=grid:2)", 2}, {"algebraic(group=tree:2)", 1}};
    enum { HEADS = 500 };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        start s = start_of(cases[k].spec, HEADS, 4, 11);
        const double *A = s.values[0].data, scale = 1 / cases[k].axes;
        const size_t matrices = locus_tensor_count(&s.values[0]) / 16;
        const double n = (double)matrices, a = scale, b = 0.01 * scale;
        double sum[16] = {0}, squares[16] = {0};
        assert_true(matrices >= HEADS);
        for (size_t m = 0; m < matrices; m++) {
            double second, fourth;
            skew_traces(A + 16 * m, 4, &second, &fourth);
            assert_near(cases[k].spec, second, -2 * (a * a + b * b), 1e-12);
            assert_near(cases[k].spec, fourth, 2 * (pow(a, 4) + pow(b, 4)), 1e-12);
            for (size_t e = 0; e < 16; e++) {
                sum[e] += A[16 * m + e] / n;
                squares[e] += A[16 * m + e] * A[16 * m + e] / n;
            }
        }
        for (size_t e = 0; e < 16; e++) { /* of 12 elements off the diagonal each has a twelfth of Tr SᵀS / 4 */
            const double share = e % 5 == 0 ? 0 : (a * a + b * b) / 24;
            assert_near(cases[k].spec, sum[e], 0, 5 * sqrt(share / n) + 1e-15);
            assert_near(cases[k].spec, squares[e], share, 5 * share * sqrt(2 / n) + 1e-15);
        }
        start_free(&s);
    }
}

/* Haar's angles over SO(4) have the density ∝ (cos a − cos b)² on [0, π]²: E cos a = 0, E (cos a + cos b)² = 1/4, as
 * E (Tr W)² = 1 says; alone, the density of a is ∝ cos² a + 1/2, so that E cos² a = 5/8. */
static void random_angles_are_those_of_haar(void **state) {
    static const char spec[] = "algebraic(generator=angles, init=random)";
    enum { HEADS = 3000 };
    (void)state;
    start s = start_of(spec, HEADS, 4, 13);
    const double *x = s.values[0].data;
    double mean = 0, square = 0, trace = 0;
    assert_int_equal(locus_tensor_count(&s.values[0]), 2 * HEADS);
    for (size_t h = 0; h < HEADS; h++) {
        const double a = cos(x[2 * h]), b = cos(x[2 * h + 1]);
        mean += (a + b) / (2 * HEADS);
        square += (a * a + b * b) / (2 * HEADS);
        trace += (a + b) * (a + b) / HEADS;
    }
    assert_near(spec, mean, 0, 5 * sqrt(0.25 / 4 / HEADS));
    assert_near(spec, square, 0.625, 5 * 0.35 / sqrt(2 * HEADS));
    assert_near(spec, trace, 0.25, 5 * 0.35 / sqrt(HEADS));
    start_free(&s);
}

/* Angles that begin near 0: normal, of deviation 0.01, on axes and trees alike. */
static void identity_begins_with_small_angles(void **state) {
    static const char *const specs[] = {"algebraic(generator=angles, init=identity)",
                                        "algebraic(group=tree:3, generator=angles, init=identity)"};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        start s = start_of(specs[k], 400, 6, 17);
        const double *x = s.values[0].data, n = (double)locus_tensor_count(&s.values[0]);
        double mean = 0, square = 0, fourth = 0;
        assert_true(n >= 1200);
        for (size_t e = 0; e < (size_t)n; e++) {
            const double z = x[e] / 0.01;
            mean += z / n;
            square += z * z / n;
            fourth += z * z * z * z / n;
        }
        assert_near(specs[k], mean, 0, 5 / sqrt(n));
        assert_near(specs[k], square, 1, 5 * sqrt(2 / n));
        assert_near(specs[k], fourth, 3, 5 * sqrt(96 / n));
        start_free(&s);
    }
}

/* What is drawn belongs to the seed. */
static void seeds_differ(void **state) {
    static const char *const specs[] = {"kerple",    "shiv-quirk(depth=2)",   "fire", "mixed", "string", "liere",
                                        "algebraic", "algebraic(init=random)"};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        start one = start_of(specs[i], 2, 8, 1), same = start_of(specs[i], 2, 8, 1), two = start_of(specs[i], 2, 8, 2);
        for (size_t p = 0; p < one.count; p++)
            assert_memory_equal(one.values[p].data, same.values[p].data,
                                locus_tensor_count(&one.values[p]) * sizeof(double));
        assert_memory_not_equal(one.values[0].data, two.values[0].data,
                                locus_tensor_count(&one.values[0]) * sizeof(double));
        start_free(&one);
        start_free(&same);
        start_free(&two);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_draws),
        cmocka_unit_test(options_are_where_parameters_begin),
        cmocka_unit_test(rope_begins_with_its_frequencies),
        cmocka_unit_test(mixed_begins_in_directions),
        cmocka_unit_test(rope_in_a_random_basis),
        cmocka_unit_test(random_angles_are_those_of_haar),
        cmocka_unit_test(identity_begins_with_small_angles),
        cmocka_unit_test(seeds_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Scalings of rope: what is said of contradictions and where it points, what the attention factor multiplies and what
 * not, what depends on the length, and what has a normal form; and RoPER's printed algebra. Frequencies themselves:
 * tests/golden/test_golden_rope.c. */
#include "../property/encoding_rig.h"

#include <locus/fold.h>
#include <stdio.h>

/* ---- texts ---- */

static void bad(const char *spec, const char *pointed, const char *words) {
    locus_encoding *encoding = NULL;
    locus_error error = {0};
    const char *at = strstr(spec, pointed);
    assert_non_null(at);
    assert_int_equal(locus_encoding_parse(spec, &encoding, &error), LOCUS_ERROR_SPEC);
    if (error.offset != at - spec || error.length != (ptrdiff_t)strlen(pointed) || !strstr(error.message, words))
        fail_msg("'%s' points to %d+%d: %s", spec, (int)error.offset, (int)error.length, error.message);
}

static void contradictions_are_named(void **state) {
    (void)state;
    bad("rope(factor=2)", "factor=2", "say which with scaling=");
    bad("rope(scaling=linear)", "scaling=linear", "needs factor=");
    bad("rope(scaling=ntk, original=64)", "original=64", "is for scaling=dynamic");
    bad("rope(scaling=linear, factor=0)", "0", "number > 0");
    bad("rope(scaling=linear, factor=-2)", "-2", "number > 0");
    bad("rope(scaling=linear, factor=2, fast=32)", "fast=32", "for scaling=yarn");
    bad("rope(scaling=dynamic, factor=2)", "scaling=dynamic", "needs original=");
    bad("rope(scaling=dynamic, factor=2, original=0.5)", "0.5", "integer ≥ 2");
}

static void yarn_contradicts_itself(void **state) {
    (void)state;
    bad("rope(scaling=yarn, factor=2)", "scaling=yarn", "needs original=");
    bad("rope(scaling=yarn, original=64)", "scaling=yarn", "needs factor=");
    bad("rope(scaling=yarn, factor=2, original=64, fast=0.5)", "fast=0.5", "below slow");
    bad("rope(scaling=yarn, factor=2, original=64, slow=40)", "slow=40", "below slow");
    bad("rope(base=1, scaling=yarn, factor=2, original=64)", "base=1", "base above 1");
    bad("rope(scaling=yarn, factor=2, original=64, mscale=1)", "mscale=1", "go together");
    bad("rope(scaling=yarn, factor=2, original=64, mscale_all=1)", "mscale_all=1", "go together");
    bad("rope(scaling=yarn, factor=2, original=64, attention=1, mscale=1, mscale_all=1)", "attention=1", "leave out");
    bad("rope(scaling=yarn, factor=2, original=64, low=2)", "low=2", "for scaling=llama3");
}

static void lists_and_lengths_contradict(void **state) {
    (void)state;
    bad("rope(scaling=llama3, factor=8, original=64, low=5)", "low=5", "low must not be above high");
    bad("rope(scaling=llama3, factor=8, original=64, high=0.5)", "high=0.5", "low must not be above high");
    bad("rope(scaling=longrope, factor=8, original=64, long=1:2)", "scaling=longrope", "needs short= and long=");
    bad("rope(scaling=longrope, factor=8, short=1:2, long=1:2)", "scaling=longrope", "needs original=");
    bad("rope(scaling=longrope, original=64, short=1:2, long=1:2)", "scaling=longrope", "needs factor=");
    bad("rope(scaling=longrope, factor=8, original=64, short=1:2, long=1:2:3)", "long=1:2:3", "the same length");
    bad("rope(scaling=longrope, factor=8, original=64, short=1:0, long=1:2)", "1:0", "a number > 0 for each pair");
    bad("rope(learned=on, scaling=dynamic, factor=8, original=64)", "learned=on", "cannot depend on the length");
    bad("rope(learned=on, scaling=longrope, factor=8, original=64, short=1, long=1)", "learned=on", "cannot depend");
    bad("rope(rotate=proportional:0.5, scaling=ntk, factor=2)", "scaling=ntk", "scaling=linear alone");
}

/* Lists have as many numbers as half of the longest head. */
static void lists_are_no_longer_than_heads(void **state) {
    enum { MOST = 32768 };
    static char ones[2 * MOST + 2], spec[4 * MOST + 200];
    locus_encoding *encoding = NULL;
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        for (size_t i = 0; i < MOST + more; i++)
            ones[2 * i] = '1', ones[2 * i + 1] = i + 1 < MOST + more ? ':' : '\0';
        (void)snprintf(spec, sizeof spec, "rope(scaling=longrope, factor=2, original=64, short=%s, long=%s)", ones,
                       ones);
        locus_error failure = {0};
        const locus_status status = locus_encoding_parse(spec, &encoding, &failure);
        assert_int_equal(status, more ? LOCUS_ERROR_SPEC : LOCUS_OK);
        assert_string_equal(failure.argument, more ? "short" : "");
        assert_int_equal(failure.length, more ? 2 * MOST + 1 : 0);
        locus_encoding_destroy(&encoding);
    }
}

static void axes_contradict(void **state) {
    (void)state;
    bad("rope(axes=2, sections=1:2:3)", "sections=1:2:3", "one section for each");
    bad("rope(axes=0)", "0", "integer from 1 to 32");
    bad("rope(axes=33)", "33", "integer from 1 to 32");
    bad("rope(sections=1:1.5)", "1:1.5", "a number of pairs");
    bad("rope(sections=0:4)", "0:4", "a number of pairs");
    bad("rope(frequencies=running)", "frequencies=running", "for several axes");
    bad("rope(order=interleaved)", "order=interleaved", "for several axes");
    bad("rope(axes=2, order=interleaved)", "order=interleaved", "that run on");
    bad("rope(sections=2:2, frequencies=axial, order=interleaved)", "order=interleaved", "that run on");
    bad("rope(axes=2, rotate=proportional:0.5)", "axes=2", "one axis");
    bad("rope(sections=1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1)",
        "sections=1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1", "at most 32 axes");
    bad("rope(sections=2:2) + alibi", "alibi", "a sum needs one group");
}

static void xpos_contradicts(void **state) {
    (void)state;
    bad("rope(gamma=0.5)", "gamma=0.5", "give xpos=512");
    bad("rope(centre=5)", "centre=5", "give xpos=512");
    bad("rope(xpos=512, values=on)", "xpos=512", "leave out xpos");
    bad("roper(xpos=512)", "xpos=512", "leave out xpos");
    bad("rope(xpos=512, side=key)", "xpos=512", "side=both");
    bad("rope(xpos=512, axes=2)", "xpos=512", "one axis");
    bad("rope(xpos=0)", "0", "off, or number > 0");
}

static void canonical(const char *spec, const char *wanted) {
    locus_encoding *encoding = NULL;
    char text[512];
    rig_ok(locus_encoding_parse(spec, &encoding, error));
    (void)locus_encoding_text(encoding, text, sizeof text);
    assert_string_equal(text, wanted);
    locus_encoding_destroy(&encoding);
}

static void texts_go_round(void **state) {
    const char *const same[] = {
        "rope(pairs=half, scaling=yarn, factor=4, original=32768, mscale=0.707, mscale_all=1, truncate=off)",
        "rope(scaling=longrope, factor=32, original=4096, short=1:1.05, long=1.25:60)",
        "rope(sections=16:24:24)",
        "rope(frequencies=axial, sections=20:20)",
        "rope(axes=3, frequencies=axial)",
        "rope(axes=3, sections=24:20:20, order=interleaved)",
        "rope(xpos=512, gamma=0.5, centre=-3.25)",
        "roper(scaling=llama3, factor=8, original=8192)",
        "rope(scaling=linear, factor=2, values=on)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        canonical(same[i], same[i]);
    canonical("rope(scaling=yarn, original=64, factor=2, fast=32, truncate=on)",
              "rope(scaling=yarn, factor=2, original=64)");
    canonical("rope(scaling=none, axes=1, xpos=off, gamma=0.4, low=1)", "rope");
}

/* ---- shapes ---- */

static void bad_shape(const char *spec, size_t dim, const char *argument, const char *words) {
    locus_encoding *encoding = NULL;
    const locus_shape shape = {.heads = 2, .head_dim = dim};
    locus_error failure = {0};
    size_t count = 0;
    rig_ok(locus_encoding_parse(spec, &encoding, error));
    assert_int_equal(locus_encoding_parameter_count(encoding, &shape, &count, &failure), LOCUS_ERROR_SHAPE);
    assert_string_equal(failure.argument, argument);
    if (!strstr(failure.message, words))
        fail_msg("'%s': %s", spec, failure.message);
    locus_encoding_destroy(&encoding);
}

static void shapes_are_checked(void **state) {
    (void)state;
    bad_shape("rope(sections=16:24:24)", 64, "sections", "add up to 64 pairs: 64 dimensions turn, which are 32 pairs");
    bad_shape("rope(sections=3:4, rotate=16)", 64, "sections", "add up to 7 pairs");
    bad_shape("rope(axes=3)", 64, "axes",
              "'rope' cannot share 32 pairs equally among 3 axes: give sections=a:b:…, or rotate=60");
    bad_shape("rope(axes=3)", 4, "axes", "'rope' turns 4 dimensions, too few for 3 axes: a pair for each needs 6");
    bad_shape("rope(axes=3, frequencies=running)", 64, "axes", "give sections=a:b:");
    bad_shape("rope(sections=2:14, order=interleaved)", 32, "sections",
              "section 1 (from 0) of 'rope' has 14 pairs: order=interleaved can give it 8 of the 16 pairs at most");
    bad_shape("rope(scaling=longrope, factor=2, original=64, short=1:1, long=1:1)", 8, "short", "so 4 are needed");
    bad_shape("rope(axes=2, scaling=longrope, factor=2, original=64, short=1:1:1:1, long=1:1:1:1)", 8, "short",
              "4 dimensions turn with an axis, so 2 are needed");
    bad_shape("rope(frequencies=axial, sections=2:2:4, scaling=longrope, factor=2, original=64, short=1:1, long=1:1)",
              16, "short", "8 dimensions turn with an axis, so 4 are needed");
}

/* ---- the attention factor ---- */

static double norm(const double *x, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

enum { TOKENS = 20, DIM = 10 };

/* Stretched: the first `turned` elements of a row; the rest stands still. */
static void check_factor(const char *spec, locus_role role, size_t turned, double factor) {
    uint64_t random = 3;
    rig r;
    rig_open(&r, spec, rig_shape(2, DIM, 0, 0), NULL, TOKENS);
    double *x = rig_normal(TOKENS * 2 * DIM, &random), *y = rig_normal(TOKENS * 2 * DIM, &random);
    for (locus_direction direction = LOCUS_FORWARD; direction <= LOCUS_INVERSE; direction++) {
        rig_apply(&r, role, direction, LOCUS_FLOAT64, TOKENS, x, y);
        for (size_t row = 0; row < TOKENS * 2; row++) {
            const double *from = x + row * DIM, *to = y + row * DIM;
            assert_true(fabs(norm(to, turned) - factor * norm(from, turned)) < 1e-13);
            for (size_t i = turned; i < DIM; i++)
                assert_true(to[i] == from[i]);
        }
    }
    free(x), free(y);
    rig_close(&r);
}

static void the_factor_is_that_of_turned_queries_and_keys(void **state) {
    const char *const spec = "roper(rotate=8, pairs=half, scaling=yarn, factor=4, original=64, attention=1.25)";
    (void)state;
    check_factor(spec, LOCUS_ROLE_QUERY, 8, 1.25);
    check_factor(spec, LOCUS_ROLE_KEY, 8, 1.25);
    check_factor(spec, LOCUS_ROLE_VALUE, 8, 1);
    check_factor(spec, LOCUS_ROLE_OUTPUT, 8, 1);
    const char *const one_sided = "rope(side=query, scaling=yarn, factor=4, original=64)";
    check_factor(one_sided, LOCUS_ROLE_QUERY, 10, 0.1 * log(4) + 1);
    check_factor(one_sided, LOCUS_ROLE_KEY, 0, 1);
    check_factor("rope(axes=1, scaling=yarn, factor=4, original=64, mscale=2, mscale_all=0.5)", LOCUS_ROLE_KEY, 10,
                 (0.2 * log(4) + 1) / (0.05 * log(4) + 1));
}

static void laws_follow_the_factor(void **state) {
    static const struct {
        const char *spec;
        unsigned laws;
    } cases[] = {
        {"rope", LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL | LOCUS_LAW_RELATIVITY},
        {"rope(scaling=ntk, factor=8)", LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL | LOCUS_LAW_RELATIVITY},
        {"rope(scaling=yarn, factor=8, original=64)", LOCUS_LAW_RELATIVITY},
        {"rope(scaling=yarn, factor=8, original=64, attention=1)",
         LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL | LOCUS_LAW_RELATIVITY},
        {"rope(scaling=yarn, factor=8, original=64, side=key)", 0},
        {"rope(xpos=512)", LOCUS_LAW_RELATIVITY},
        {"rope(sections=2:3)", LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL | LOCUS_LAW_RELATIVITY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        locus_encoding *encoding = NULL;
        rig_ok(locus_encoding_parse(cases[i].spec, &encoding, error));
        assert_int_equal(locus_encoding_laws(encoding), cases[i].laws);
        locus_encoding_destroy(&encoding);
    }
}

static void what_cannot_fold_says_so(void **state) {
    static const char *const cases[][2] = {
        {"rope(scaling=yarn, factor=8, original=64)", "attention factor"},
        {"rope(xpos=512)", "xpos stretches"},
        {"rope(scaling=dynamic, factor=8, original=64)", "depend on the length"},
        {"rope(scaling=longrope, factor=1, original=64, short=1:1, long=2:2)", "depend on the length"},
    };
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        rig r;
        locus_fold_shape shape = {.size = sizeof shape};
        locus_error error = {0};
        rig_bind(&r, cases[i][0], rig_shape(2, 4, 0, 0), 1);
        assert_int_equal(locus_fold_measure(r.binding, &shape, &error), LOCUS_ERROR_UNSUPPORTED);
        if (!strstr(error.message, cases[i][1]))
            fail_msg("%s", error.message);
        rig_close(&r);
    }
}

/* ---- lengths ---- */

/* What one token at position 3 becomes, alone or with a last token further on. */
static void turn_at_three(const char *spec, int64_t last, size_t length, double *y) {
    const int64_t values[] = {3, last};
    locus_plan_options options = locus_plan_options_default();
    options.length = length;
    rig r;
    rig_bind(&r, spec, rig_shape(1, 4, 0, 0), 1);
    r.queries = rig_positions(values, 2);
    rig_ok(locus_plan_create_with(&r.plan, r.binding, r.queries, NULL, &options, error));
    double x[8] = {1, 0, 1, 0};
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, 2, x, x);
    memcpy(y, x, 4 * sizeof *y);
    rig_close(&r);
}

/* The length is the largest position + 1 unless the plan is told another. */
static void lengths_choose_frequencies(void **state) {
    const char *const specs[] = {"rope(scaling=dynamic, factor=2, original=64)",
                                 "rope(scaling=longrope, factor=1, original=64, short=1:1, long=2:8)"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        double plain[4], y[4];
        turn_at_three("rope", 5, 0, plain);
        turn_at_three(specs[i], 63, 0, y);
        assert_memory_equal(y, plain, sizeof y);
        turn_at_three(specs[i], 200, 64, y);
        assert_memory_equal(y, plain, sizeof y);
        turn_at_three(specs[i], 64, 0, y);
        const double omega = i == 0 ? pow(10000 * pow(2 * 65.0 / 64 - 1, 2), -0.5) : 0.01 / 8;
        assert_true(fabs(atan2(y[3], y[2]) / 3 - omega) < 1e-16);
        double told[4];
        turn_at_three(specs[i], 5, 65, told);
        assert_memory_equal(y, told, sizeof y);
    }
}

/* ---- RoPER's printed algebra ---- */

/* RoPE(ô_n, −n) = Σ_i a_ni RoPE(v_i, (i − n)θ), for a pair. */
static void roper_rotates_by_what_is_between(void **state) {
    enum { COUNT = 9 };
    uint64_t random = 12;
    double *v = rig_normal(COUNT * 4, &random), turned[COUNT * 4], a[COUNT][COUNT], o[COUNT * 4];
    (void)state;
    rig r;
    rig_open(&r, "roper", rig_shape(1, 4, 0, 0), NULL, COUNT);
    rig_apply(&r, LOCUS_ROLE_VALUE, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, v, turned);
    for (size_t n = 0; n < COUNT; n++)
        for (size_t i = 0; i < COUNT; i++)
            a[n][i] = fabs(rig_random(&random));
    memset(o, 0, sizeof o);
    for (size_t n = 0; n < COUNT; n++)
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < 4; j++)
                o[4 * n + j] += a[n][i] * turned[4 * i + j];
    rig_apply(&r, LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, LOCUS_FLOAT64, COUNT, o, o);
    for (size_t n = 0; n < COUNT; n++)
        for (size_t pair = 0; pair < 2; pair++) {
            const double theta = pair == 0 ? 1 : 0.01;
            double first = 0, second = 0;
            for (size_t i = 0; i < COUNT; i++) {
                const double angle = ((double)i - (double)n) * theta, *at = v + 4 * i + 2 * pair;
                first += a[n][i] * at[0] * cos(angle) - a[n][i] * at[1] * sin(angle);
                second += a[n][i] * at[1] * cos(angle) + a[n][i] * at[0] * sin(angle);
            }
            assert_true(fabs(o[4 * n + 2 * pair] - first) < 1e-13);
            assert_true(fabs(o[4 * n + 2 * pair + 1] - second) < 1e-13);
        }
    free(v);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contradictions_are_named),
        cmocka_unit_test(yarn_contradicts_itself),
        cmocka_unit_test(lists_and_lengths_contradict),
        cmocka_unit_test(lists_are_no_longer_than_heads),
        cmocka_unit_test(axes_contradict),
        cmocka_unit_test(xpos_contradicts),
        cmocka_unit_test(texts_go_round),
        cmocka_unit_test(shapes_are_checked),
        cmocka_unit_test(the_factor_is_that_of_turned_queries_and_keys),
        cmocka_unit_test(laws_follow_the_factor),
        cmocka_unit_test(what_cannot_fold_says_so),
        cmocka_unit_test(lengths_choose_frequencies),
        cmocka_unit_test(roper_rotates_by_what_is_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

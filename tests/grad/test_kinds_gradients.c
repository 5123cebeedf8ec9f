/* SPDX-License-Identifier: MIT */
/* Central differences of linear, softmax-free and clustered attention in double, element by element: dq, dk, dv and
 * every parameter of the encoding.
 *
 * Loss L = Σ do ∘ o. Step 1e-5 on values of order 1: truncation about 1e-10 times the third derivative, rounding about
 * 1e-16·|L|/1e-5. The inverse of softmax-free attention has derivatives of order 10 to 100: its tolerance is wider. */
#include "kind_of.h"
#include "sanitized.h"
#include "unit/kinds_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double STEP = 1e-5;

static const char *const specs[] = {
    "none",
    "rope(learned=on)",
    "rope(learned=on, pairs=half, rotate=4, side=query)",
    "rope(values=on, learned=on)",
    "algebraic(group=seq)",
    "algebraic(group=seq, values=on, heads=shared)",
    "algebraic(group=tree:2, values=on)",
    "liere(group=seq, values=on)",
};

typedef struct setting {
    const char *kind;
    locus_mask mask;
    bool cross, groups;
    double scale, dropout;
    double tolerance;
} setting;

static const setting settings[] = {
    {"linear", LOCUS_MASK_FULL, true, true, 0, 0, 1e-8},
    {"linear", LOCUS_MASK_CAUSAL, false, false, 0.5, 0, 1e-8},
    {"linear", LOCUS_MASK_CAUSAL, true, true, 0, 0, 1e-8},
    {"linear", LOCUS_MASK_PREFIX, true, false, 0, 0, 1e-8},
    {"soft(landmarks=3, iterations=6)", LOCUS_MASK_FULL, false, false, 0, 0, 2e-6},
    {"soft(landmarks=3, iterations=6)", LOCUS_MASK_FULL, true, true, 0.8, 0, 2e-6},
    {"clustered(clusters=2, iterations=3)", LOCUS_MASK_FULL, false, false, 0, 0, 1e-8},
    {"clustered(clusters=2, iterations=3)", LOCUS_MASK_FULL, true, true, 0.8, 0.3, 1e-8},
};

static double loss(kinds_world *world) {
    double sum = 0;
    kinds_run(world, LOCUS_FLOAT64, false, true);
    for (size_t i = 0; i < kinds_outputs(world); i++)
        sum += world->go[i] * world->o[i];
    return sum;
}

static void compare(const kinds_world *world, const setting *s, const char *name, size_t at, double analytic,
                    double numeric) {
    if (!(fabs(analytic - numeric) <= s->tolerance * (1 + fabs(numeric))))
        fail_msg("%s, '%s', mask %d, cross %d: d%s[%zu] is %.12g, but differences say %.12g", s->kind,
                 world->test->spec, (int)s->mask, (int)s->cross, name, at, analytic, numeric);
}

/* Every element; in a sanitizer's build, where thousands of calls with the same reads and writes are slow, a few of
 * each tensor. */
enum { ELEMENT_STRIDE = SANITIZED(29, 1) };

static void check_array(kinds_world *world, const setting *s, const char *name, double *values, size_t count,
                        const double *gradient, bool parameter) {
    for (size_t i = 0; i < count; i += ELEMENT_STRIDE) {
        const double value = values[i];
        double ends[2];
        for (int side = 0; side < 2; side++) {
            values[i] = value + (side ? -STEP : STEP);
            if (parameter)
                kinds_update(world);
            ends[side] = loss(world);
        }
        values[i] = value;
        compare(world, s, name, i, gradient[i], (ends[0] - ends[1]) / (2 * STEP));
    }
    if (parameter)
        kinds_update(world);
}

static void check(const char *spec, const setting *s) {
    const size_t lengths[] = {4, 1, 0, 3}, keys[] = {3, 2, 2, 5}, prefix[] = {3, 0, 0, 1};
    kinds_case test = {.spec = spec, .heads = s->groups ? 4 : 2, .kv_heads = 2, .head_dim = 6, .sequences = 4};
    kinds_world world;
    test.query_lengths = lengths;
    test.key_lengths = s->cross ? keys : NULL;
    test.options = locus_attention_default();
    test.options.kind = kind_of(s->kind);
    test.options.mask = s->mask;
    test.options.prefix = prefix;
    test.options.scale = s->scale;
    test.options.dropout = s->dropout;
    test.options.dropout_key = (locus_random){3, LOCUS_RANDOM_USER + 1, 3};
    kinds_make(&world, &test);
    kinds_run(&world, LOCUS_FLOAT64, false, false);
    check_array(&world, s, "q", world.q, kinds_queries(&world), world.dq, false);
    check_array(&world, s, "k", world.k, kinds_keys(&world), world.dk, false);
    check_array(&world, s, "v", world.v, kinds_values(&world), world.dv, false);
    for (size_t p = 0; p < world.parameter_count; p++)
        check_array(&world, s, world.parameters[p].name, world.values[p].data, locus_tensor_count(&world.values[p]),
                    world.gradients[p], true);
    kinds_free(&world);
}

static void test_central_differences(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        for (size_t s = 0; s < sizeof settings / sizeof settings[0]; s++)
            check(specs[i], &settings[s]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_central_differences)};
    if (locus_threads_set(1) != LOCUS_OK) /* thousands of tiny calls */
        return EXIT_FAILURE;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

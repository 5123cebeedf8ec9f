/* SPDX-License-Identifier: MIT */
/* Central differences of attention in double: dq, dk, dv and every parameter of every encoding, under masks, windows,
 * documents and dropout, with heads in groups, soft caps and sinks.
 *
 * Loss L = Σ do ∘ o. Step 1e-5 on values of order 1: truncation about 1e-10 (third derivatives of order 1 to 10),
 * rounding about 1e-16·|L|/1e-5 ≈ 1e-10; tolerance 2e-7 relative to 1 + |gradient|, which a wrong factor anywhere
 * exceeds by far. */
#include "sanitized.h"
#include "unit/attention_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double STEP = 1e-5, TOLERANCE = 2e-7;

static const char *const specs[] = {
    "none",
    "rope(learned=on)",
    "rope(learned=on, pairs=half, rotate=4, side=query)",
    "rope(values=on, learned=on)",
    "algebraic(group=seq)",
    "algebraic(group=seq, init=identity)",
    "algebraic(group=seq, values=on)",
    "algebraic(group=seq, heads=shared)",
    "algebraic(group=seq, generator=angles, values=on)",
    "algebraic(group=tree:2, values=on)",
    "algebraic(group=cycle:4*tree:2, split=2:4, values=on, decay=learned:0.9)",
    "liere(values=on)",
    "liere(group=seq, heads=shared, side=key, values=on, decay=learned:0.9)",
    "relative(window=2)",
    "relative(window=3, values=on)",
    "relative(window=2, values=on, scaled=off)",
    "decay(rate=0.9, learned=on)",
    "decay(rate=0.95, learned=on) + decay(rate=0.9, learned=on)",
    "relative(window=2, values=on) + algebraic(group=seq, values=on) + decay(rate=0.9, learned=on) + alibi",
    "scores(sinks=on)",
    "scores(sinks=on) + rope(values=on, learned=on) + decay(rate=0.9, learned=on)",
};

typedef struct setting {
    locus_mask mask;
    double dropout;
    locus_dropout dropout_on;
    bool cross;
    size_t kv_heads, sliding, keep;
    double cap;
    bool documents, turned;
} setting;

static const setting settings[] = {
    {LOCUS_MASK_FULL, 0, LOCUS_DROPOUT_WEIGHTS, true, 0, 0, 0, 0, false, false},
    {LOCUS_MASK_CAUSAL, 0, LOCUS_DROPOUT_WEIGHTS, false, 0, 0, 0, 0, false, false},
    {LOCUS_MASK_PREFIX, 0.3, LOCUS_DROPOUT_WEIGHTS, false, 0, 0, 0, 0, false, false},
    {LOCUS_MASK_CAUSAL, 0.3, LOCUS_DROPOUT_LOGITS, true, 0, 0, 0, 0, false, false},
    {LOCUS_MASK_CAUSAL, 0, LOCUS_DROPOUT_WEIGHTS, false, 1, 3, 1, 1.5, false, false},
    {LOCUS_MASK_FULL, 0.3, LOCUS_DROPOUT_WEIGHTS, true, 1, 2, 2, 2, true, false},
    {LOCUS_MASK_PREFIX, 0, LOCUS_DROPOUT_WEIGHTS, false, 1, 0, 0, 1, false, true},
};

static double loss(attention_world *world, attention_arrays *arrays) {
    double sum = 0;
    attention_run(world, arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, true);
    for (size_t i = 0; i < world->T * world->shape.heads * world->shape.value_dim; i++)
        sum += arrays->go[i] * arrays->o[i];
    return sum;
}

static void compare(const attention_world *world, const char *name, size_t at, double analytic, double numeric) {
    if (fabs(analytic - numeric) > TOLERANCE * (1 + fabs(numeric)))
        fail_msg("'%s', mask %d: d%s[%zu] is %.12g, but differences say %.12g", world->test->spec,
                 (int)world->test->mask, name, at, analytic, numeric);
}

/* Every element; in a sanitizer's build, where thousands of calls with the same reads and writes are slow, a few of
 * each tensor. */
enum { ELEMENT_STRIDE = SANITIZED(29, 1) };

static void check_inputs(attention_world *world, const char *name, double *values, size_t count,
                         const double *gradient) {
    attention_arrays other = attention_arrays_make(world);
    double *const copies[] = {other.q, other.k, other.v};
    double *moved = copies[name[0] == 'q' ? 0 : name[0] == 'k' ? 1 : 2];
    for (size_t i = 0; i < count; i += ELEMENT_STRIDE) {
        moved[i] = values[i] + STEP;
        double up = loss(world, &other);
        moved[i] = values[i] - STEP;
        double down = loss(world, &other);
        moved[i] = values[i];
        compare(world, name, i, gradient[i], (up - down) / (2 * STEP));
    }
    attention_arrays_free(&other);
}

static void check_parameters(attention_world *world, attention_arrays *arrays) {
    attention_arrays other = attention_arrays_make(world);
    for (size_t p = 0; p < world->parameter_count; p++) {
        double *values = world->values[p].data;
        for (size_t i = 0; i < attention_parameter_size(world, p); i += ELEMENT_STRIDE) {
            double value = values[i];
            values[i] = value + STEP;
            attention_world_update(world);
            double up = loss(world, &other);
            values[i] = value - STEP;
            attention_world_update(world);
            double down = loss(world, &other);
            values[i] = value;
            compare(world, world->parameters[p].name, i, arrays->gradients[p][i], (up - down) / (2 * STEP));
        }
    }
    attention_world_update(world);
    attention_arrays_free(&other);
}

static void check(const char *spec, const setting *s) {
    const size_t lengths[] = {5, 1, 4}, keys[] = {3, 2, 6}, prefix[] = {3, 0, 1};
    attention_case test = {.spec = spec, .heads = 2, .head_dim = 6, .sequences = 3, .query_lengths = lengths};
    test.key_lengths = s->cross ? keys : NULL;
    test.mask = s->mask;
    test.prefix = prefix;
    test.dropout = s->dropout;
    test.dropout_on = s->dropout_on;
    test.kv_heads = s->kv_heads;
    test.sliding = s->sliding;
    test.keep = s->keep;
    test.cap = s->cap;
    test.documents = s->documents;
    test.turned = s->turned;
    if (s->turned && strstr(spec, "relative") && strstr(spec, "algebraic"))
        return; /* refused: content terms need queries that are not turned */
    attention_world world;
    attention_world_make(&world, &test);
    attention_arrays arrays = attention_arrays_make(&world);
    attention_run(&world, &arrays, LOCUS_FLOAT64, ATTENTION_PLAIN, false);
    size_t row = test.heads * test.head_dim, key_row = world.kv_heads * test.head_dim;
    check_inputs(&world, "q", arrays.q, world.T * row, arrays.dq);
    check_inputs(&world, "k", arrays.k, world.N * key_row, arrays.dk);
    check_inputs(&world, "v", arrays.v, world.N * key_row, arrays.dv);
    check_parameters(&world, &arrays);
    attention_arrays_free(&arrays);
    attention_world_free(&world);
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

/* SPDX-License-Identifier: MIT */
/* Central differences in double of everything that acts on scores: t5, kerple, fire, cope and the settings of scores,
 * with masks, windows, documents, dropout, grouped-query heads, real positions and sums; for all inputs and parameters
 * of small cases, and along one random direction of all of them together for long ones, whose rows fall into many
 * blocks.
 *
 * Loss L = Σ do ∘ o. Step 1e-5 on values of order 1, tolerance 2e-7·(1 + |gradient|) as in test_attention_gradients.c.
 * */
#include "sanitized.h"
#include "unit/score_scene.h"

static const double STEP = 1e-5, TOLERANCE = 2e-7;

typedef struct gradient_case {
    const char *spec;
    locus_mask mask;
    double dropout;
    locus_dropout dropout_on;
    size_t heads, kv_heads;
    bool reals, documents;
} gradient_case;

#define W LOCUS_DROPOUT_WEIGHTS
#define S LOCUS_DROPOUT_LOGITS
#define FULL LOCUS_MASK_FULL
#define CAUSAL LOCUS_MASK_CAUSAL

static const gradient_case cases[] = {
    {"t5(buckets=8, max=6)", FULL, 0, W, 2, 2, false, false},
    {"t5(buckets=5, max=4, direction=causal)", CAUSAL, 0.3, W, 4, 2, true, false},
    {"kerple", FULL, 0, W, 2, 1, false, false},
    {"kerple + decay(rate=0.9, learned=on)", CAUSAL, 0.3, S, 2, 2, true, false},
    {"fire(hidden=5, L=2.4)", FULL, 0, W, 2, 2, false, false},
    {"fire(hidden=4, c=0.6, L=1.7) + alibi", CAUSAL, 0.3, W, 4, 2, true, false},
    {"fire(hidden=3, L=40) + kerple + t5(buckets=4, max=3)", CAUSAL, 0, W, 2, 2, false, false},
    {"alibi(scaled=on) + kerple", CAUSAL, 0, W, 2, 1, false, false},
    {"temperature(length=3, beta=0.7) + kerple", CAUSAL, 0, W, 2, 2, true, false},
    {"temperature(growth=log, length=3, least=0.5) + decay(rate=0.9, learned=on)", FULL, 0.3, W, 4, 2, false, false},
    {"scores(chunk=3, sinks=on) + kerple", FULL, 0, W, 2, 2, false, false},
    {"rope(turn=backward, learned=on) + scores(chunk=4, window=3, keep=1)", CAUSAL, 0, W, 2, 1, false, true},
    {"cope(max=3)", CAUSAL, 0, W, 2, 2, false, false},
    {"cope(max=3, gate=scaled)", CAUSAL, 0.3, W, 4, 2, false, false},
    {"cope(max=2)", CAUSAL, 0.3, S, 2, 1, true, false},
    {"rope(learned=on) + cope(max=3)", CAUSAL, 0, W, 4, 2, false, false},
    {"cope(max=3) + rope(values=on, learned=on)", CAUSAL, 0, W, 2, 2, false, false},
    {"cope(max=3) + algebraic(values=on)", CAUSAL, 0, W, 2, 2, false, false},
    {"kerple + cope(max=3) + decay(rate=0.9, learned=on) + decay(rate=0.8, learned=on)", CAUSAL, 0, W, 2, 2, false,
     false},
    {"cope(max=3) + scores(scale=0.7, cap=1.3, window=3, keep=1, sinks=on)", CAUSAL, 0, W, 4, 2, false, false},
    {"cope(max=3) + scores(chunk=4) + temperature(length=2)", CAUSAL, 0, W, 2, 2, false, false},
    {"cope(max=3) + scores(sinks=on)", CAUSAL, 0.3, W, 2, 2, false, true},
    {"cope(max=3) + scores(window=2, keep=2) + decay(rate=0.9, learned=on)", CAUSAL, 0, W, 2, 2, false, true},
};

static void open_case(score_scene *s, const gradient_case *test, const score_layout *layout, int32_t *documents) {
    const locus_shape shape = {.heads = test->heads, .kv_heads = test->kv_heads, .head_dim = 6, .value_dim = 6};
    score_scene_open(s, test->spec, shape, layout);
    s->options.mask = test->mask;
    s->options.dropout = test->dropout;
    s->options.dropout_on = test->dropout_on;
    for (size_t t = 0; test->documents && t < s->T; t++)
        documents[t] = (int32_t)(t % 20 / 3);
    s->options.query_documents = s->options.key_documents = test->documents ? documents : NULL;
}

/* ---- element by element, under a sanitizer a few of each tensor ---- */

enum { ELEMENT_STRIDE = SANITIZED(29, 1) };

static void compare(const gradient_case *test, const char *name, size_t at, double got, double want) {
    if (!(fabs(got - want) <= TOLERANCE * (1 + fabs(want))))
        fail_msg("'%s', mask %d: d%s[%zu] is %.12g, but differences say %.12g", test->spec, (int)test->mask, name, at,
                 got, want);
}

static double difference(score_scene *s, double *place, bool parameter) {
    const double value = *place;
    double loss[2];
    for (int side = 0; side < 2; side++) {
        *place = value + (side ? -STEP : STEP);
        if (parameter)
            rig_update(&s->r);
        loss[side] = score_scene_loss(s);
    }
    *place = value;
    return (loss[0] - loss[1]) / (2 * STEP);
}

static double *copied(const double *values, size_t count) {
    double *copy = malloc((count + 1) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, values, count * sizeof *copy);
    return copy;
}

static void check_inputs(score_scene *s, const gradient_case *test) {
    const size_t counts[] = {s->T * s->query_row, s->N * s->key_row, s->N * s->value_row};
    const size_t rows[] = {s->query_row, s->key_row, s->value_row};
    double *const inputs[] = {s->q, s->k, s->v}, *const given[] = {s->dq, s->dk, s->dv};
    static const char *const names[] = {"q", "k", "v"};
    double *gradients[3];
    for (size_t i = 0; i < 3; i++)
        gradients[i] = copied(given[i], counts[i]);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < counts[i]; j += ELEMENT_STRIDE)
            if (score_scene_used(s, i > 0, j / rows[i]))
                compare(test, names[i], j, gradients[i][j], difference(s, inputs[i] + j, false));
            else
                assert_true(gradients[i][j] == SCORE_SCENE_GAP);
    for (size_t i = 0; i < 3; i++)
        free(gradients[i]);
}

static void check_parameters(score_scene *s, const gradient_case *test) {
    double *gradients[RIG_TENSORS];
    for (size_t p = 0; p < s->r.count; p++)
        gradients[p] = copied(s->r.gradients[p].data, rig_elements(&s->r.info[p]));
    for (size_t p = 0; p < s->r.count; p++)
        for (size_t i = 0; i < rig_elements(&s->r.info[p]); i += ELEMENT_STRIDE)
            compare(test, s->r.info[p].name, i, gradients[p][i],
                    difference(s, (double *)s->r.values[p].data + i, true));
    rig_update(&s->r);
    for (size_t p = 0; p < s->r.count; p++)
        free(gradients[p]);
}

static void test_elements(void **state) {
    (void)state;
    int32_t documents[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        score_scene s;
        const bool same = cases[i].documents;
        const score_layout layout = {2, {5, 2}, {same ? 5 : 6, same ? 2 : 4}, cases[i].reals};
        open_case(&s, &cases[i], &layout, documents);
        score_scene_run(&s, LOCUS_FLOAT64, true);
        check_inputs(&s, &cases[i]);
        score_scene_run(&s, LOCUS_FLOAT64, true);
        check_parameters(&s, &cases[i]);
        score_scene_close(&s);
    }
}

/* ---- one direction of everything, long rows ---- */

static void move(score_scene *s, double *const *directions, double by) {
    double *const inputs[] = {s->q, s->k, s->v};
    const size_t counts[] = {s->T * s->query_row, s->N * s->key_row, s->N * s->value_row};
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < counts[i]; j++)
            inputs[i][j] += by * directions[i][j];
    for (size_t p = 0; p < s->r.count; p++)
        for (size_t j = 0; j < rig_elements(&s->r.info[p]); j++)
            ((double *)s->r.values[p].data)[j] += by * directions[3 + p][j];
    rig_update(&s->r);
}

static double slope_along(const score_scene *s, double *const *directions) {
    double *const gradients[] = {s->dq, s->dk, s->dv};
    const size_t counts[] = {s->T * s->query_row, s->N * s->key_row, s->N * s->value_row};
    const size_t rows[] = {s->query_row, s->key_row, s->value_row};
    double sum = 0;
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < counts[i]; j++)
            sum += score_scene_used(s, i > 0, j / rows[i]) ? gradients[i][j] * directions[i][j] : 0;
    for (size_t p = 0; p < s->r.count; p++)
        for (size_t j = 0; j < rig_elements(&s->r.info[p]); j++)
            sum += ((double *)s->r.gradients[p].data)[j] * directions[3 + p][j];
    return sum;
}

/* Of so many pairs some cross a kink (a position that passes a whole number, a unit of fire), about as many as the step
 * is long: it is short, and the tolerance that of rounding, 1e-16·|L|/1e-7 and some. */
static void test_direction(void **state) {
    (void)state;
    static const char *const specs[] = {
        "t5",
        "t5(direction=causal)",
        "kerple",
        "fire",
        "cope(max=16) + kerple",
        "cope(max=150)",
        "cope(max=16, gate=scaled) + rope(learned=on) + scores(window=140, keep=3, sinks=on, cap=2)",
    };
    const score_layout layout = {2, {40, 300}, {40, 420}, false};
    uint64_t noise = 99;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        score_scene s;
        const locus_shape shape = {.heads = 2, .kv_heads = 1, .head_dim = 8, .value_dim = 6};
        double *directions[3 + RIG_TENSORS], loss[2];
        score_scene_open(&s, specs[i], shape, &layout);
        s.options.mask = LOCUS_MASK_CAUSAL;
        directions[0] = rig_normal(s.T * s.query_row, &noise);
        directions[1] = rig_normal(s.N * s.key_row, &noise);
        directions[2] = rig_normal(s.N * s.value_row, &noise);
        for (size_t p = 0; p < s.r.count; p++)
            directions[3 + p] = rig_normal(rig_elements(&s.r.info[p]), &noise);
        score_scene_run(&s, LOCUS_FLOAT64, true);
        const double got = slope_along(&s, directions), step = 1e-7;
        for (int side = 0; side < 2; side++) {
            move(&s, directions, side ? -2 * step : step);
            loss[side] = score_scene_loss(&s);
        }
        const double want = (loss[0] - loss[1]) / (2 * step);
        if (!(fabs(got - want) <= 1e-6 * (1 + fabs(want))))
            fail_msg("'%s': the slope is %.12g, but differences say %.12g", specs[i], got, want);
        for (size_t p = 0; p < 3 + s.r.count; p++)
            free(directions[p]);
        score_scene_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_elements), cmocka_unit_test(test_direction)};
    if (locus_threads_set(1) != LOCUS_OK) /* thousands of tiny calls */
        return EXIT_FAILURE;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

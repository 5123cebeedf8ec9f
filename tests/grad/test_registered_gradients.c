/* SPDX-License-Identifier: MIT */
/* Central differences in double of the parameters of encodings from outside, on several groups, with masks and beside
 * terms of the library. Step 1e-5 on values of order 1, tolerance 2e-7·(1 + |gradient|) as in
 * test_attention_gradients.c. */
#include "gradient_case.h"
#include "registered_case.h"
#include "registered_scene.h"

static const double STEP = 1e-5, TOLERANCE = 2e-7;

static double loss_at(scene *s, double *place, double value) {
    *place = value;
    rig_update(&s->r);
    return scene_loss(s);
}

static void check(const char *spec, const group_drawing *queries, const group_drawing *keys, locus_mask mask) {
    scene s;
    double *got[RIG_TENSORS];
    scene_open(&s, spec, queries, keys);
    s.options.mask = mask;
    scene_run(&s, LOCUS_FLOAT64, true);
    for (size_t p = 0; p < s.r.count; p++) {
        const size_t bytes = rig_elements(&s.r.info[p]) * sizeof(double);
        got[p] = malloc(bytes);
        assert_non_null(got[p]);
        memcpy(got[p], s.r.gradients[p].data, bytes);
    }
    for (size_t p = 0; p < s.r.count; p++)
        for (size_t i = 0; i < rig_elements(&s.r.info[p]); i++) {
            double *place = (double *)s.r.values[p].data + i, before = *place;
            const double above = loss_at(&s, place, before + STEP), below = loss_at(&s, place, before - STEP);
            const double want = (above - below) / (2 * STEP);
            *place = before;
            if (!(fabs(got[p][i] - want) <= TOLERANCE * (1 + fabs(want))))
                fail_msg("'%s': d%s[%zu] is %.12g, but differences say %.12g", spec, s.r.info[p].name, i, got[p][i],
                         want);
        }
    for (size_t p = 0; p < s.r.count; p++)
        free(got[p]);
    scene_close(&s);
}

static void test_scores(void **state) {
    const size_t lengths[] = {9, 4}, others[] = {7, 5};
    const group_drawing seq = {"seq", 2, lengths, 12, false}, keys = {"seq", 2, others, 12, false};
    const group_drawing far = {"seq", 2, lengths, (int64_t)1 << 30, false};
    const group_drawing tree = {"tree:2", 2, lengths, 9, false}, leaves = {"tree:2", 2, others, 9, false};
    const group_drawing grid = {"grid:2", 2, lengths, 4, false};
    (void)state;
    check("own-kerple", &seq, NULL, LOCUS_MASK_FULL);
    check("own-kerple + own-wave + rope(learned=on)", &seq, &keys, LOCUS_MASK_FULL);
    check("own-kerple", &far, NULL, LOCUS_MASK_CAUSAL);
    check("own-kerple(group=grid:2) + decay(rate=0.9, learned=on, group=grid:2)", &grid, NULL, LOCUS_MASK_CAUSAL);
    check("own-wave", &seq, NULL, LOCUS_MASK_CAUSAL);
    check("own-wave + scores(cap=1.3, window=5)", &seq, NULL, LOCUS_MASK_CAUSAL);
    check("own-branches", &tree, &leaves, LOCUS_MASK_FULL);
    check("own-branches(most=2) + own-kerple(group=tree:2)", &tree, NULL, LOCUS_MASK_FULL);
}

/* Through attention, as angles of queries, keys, values and outputs. */
static void test_turns(void **state) {
    const size_t lengths[] = {9, 4}, others[] = {7, 5};
    const group_drawing seq = {"seq", 2, lengths, 12, false}, keys = {"seq", 2, others, 12, false};
    const group_drawing tree = {"tree:2", 2, lengths, 9, false}, mixed = {"seq*tree:2", 2, lengths, 5, false};
    (void)state;
    check("own-turn", &seq, NULL, LOCUS_MASK_FULL);
    check("own-turn + own-kerple", &seq, &keys, LOCUS_MASK_FULL);
    check("own-turn(group=tree:2)", &tree, NULL, LOCUS_MASK_CAUSAL);
    check("own-shear", &seq, &keys, LOCUS_MASK_FULL);
    check("own-spin", &seq, &keys, LOCUS_MASK_FULL);
    check("own-spin(group=seq*tree:2) + own-kerple(group=seq*tree:2)", &mixed, NULL, LOCUS_MASK_CAUSAL);
    check("own-shear(group=tree:2) + own-branches", &tree, NULL, LOCUS_MASK_CAUSAL);
    check("own-turn(group=seq*tree:2) + alibi(group=seq*tree:2)", &mixed, NULL, LOCUS_MASK_FULL);
}

/* One role after the other, inputs too. */
static void test_apply(void **state) {
    static const int64_t positions[] = {3, -2, 7, 7, 0, 11, 3};
    static const locus_role roles[] = {LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY, LOCUS_ROLE_VALUE, LOCUS_ROLE_OUTPUT};
    (void)state;
    static const char *const specs[] = {"own-turn", "own-shear", "own-spin"};
    for (size_t i = 0; i < 3 * sizeof roles / sizeof *roles; i++) {
        gradient_case c = {.role = roles[i / 3], .tokens = 7, .reach = 12};
        rig_open(&c.r, specs[i % 3], rig_shape(3, 7, 7, 0), positions, 7);
        check_case(&c, 2e-7);
        rig_close(&c.r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scores), cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_apply)};
    locus_error error;
    if (own_register(&error) != LOCUS_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

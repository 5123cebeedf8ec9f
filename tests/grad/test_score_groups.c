/* SPDX-License-Identifier: MIT */
/* Attention with decay and ALiBi on every group: against a dense oracle made of paths, the learned rate's gradient
 * against central differences, the same bits on any number of threads, memory linear in tokens.
 *
 * Loss L = Σ do ∘ o in double; step 1e-5, tolerance 1e-7 as in test_attention_gradients.c. */
#include "../property/group_positions.h"
#include "sanitized.h"
#include "threads_only.h"

#include <stdio.h>

enum { HEADS = 2, DIM = 4, WIDTH = HEADS * DIM };

static const char *const groups[] = {"seq", "cycle:6", "grid:2", "tree:2", "seq*tree:3", "cycle:5*grid:2*tree:2"};

typedef struct scene {
    rig r;
    size_t tokens, keys;
    double *q, *k, *v, *go, *o, *dq, *dk, *dv;
} scene;

static void open_scene(scene *s, const char *group, size_t query_count, size_t key_count, int64_t reach) {
    char spec[160];
    uint64_t random = 3, noise = 1;
    const size_t query_lengths[] = {query_count, 3}, key_lengths[] = {key_count, 5};
    const group_drawing queries = {group, 2, query_lengths, reach, false}, keys = {group, 2, key_lengths, reach, false};
    (void)snprintf(spec, sizeof spec, "alibi(group=%s) + decay(rate=0.95, learned=on, group=%s)", group, group);
    rig_bind(&s->r, spec, rig_shape(HEADS, DIM, 0, 0), 1);
    rig_place(&s->r, group_positions(&queries, &random), group_positions(&keys, &random));
    s->tokens = locus_positions_tokens(s->r.queries);
    s->keys = locus_positions_tokens(s->r.keys);
    s->q = rig_normal(s->tokens * WIDTH, &noise);
    s->k = rig_normal(s->keys * WIDTH, &noise);
    s->v = rig_normal(s->keys * WIDTH, &noise);
    s->go = rig_normal(s->tokens * WIDTH, &noise);
    s->o = rig_normal(s->tokens * WIDTH, &noise);
    s->dq = rig_normal(s->tokens * WIDTH, &noise);
    s->dk = rig_normal(s->keys * WIDTH, &noise);
    s->dv = rig_normal(s->keys * WIDTH, &noise);
}

static void close_scene(scene *s) {
    double *const arrays[] = {s->q, s->k, s->v, s->go, s->o, s->dq, s->dk, s->dv};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    rig_close(&s->r);
}

static void run(scene *s, bool backward) {
    const rig *r = &s->r;
    const locus_attention_options options = locus_attention_default();
    const int64_t sums[] = {(int64_t)s->tokens, HEADS};
    locus_tensor q = rig_view(r, LOCUS_ROLE_QUERY, s->q, LOCUS_FLOAT64, s->tokens), dq = q, o = q, go = q;
    locus_tensor k = rig_view(r, LOCUS_ROLE_KEY, s->k, LOCUS_FLOAT64, s->keys), v = k, dk = k, dv = k;
    double *log_sum_exp = calloc(s->tokens * HEADS, sizeof *log_sum_exp);
    locus_tensor lse = locus_tensor_view(log_sum_exp, LOCUS_FLOAT64, 2, sums);
    v.data = s->v, o.data = s->o, go.data = s->go, dq.data = s->dq, dk.data = s->dk, dv.data = s->dv;
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, &lse};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &go,
                                                 .query = &dq,
                                                 .key = &dk,
                                                 .value = &dv,
                                                 .parameters = s->r.gradients,
                                                 .parameter_count = s->r.count};
    for (int pass = 0; pass <= backward; pass++) {
        const locus_workspace workspace = rig_lend(locus_attention_workspace(
            r->plan, &options, LOCUS_FLOAT64, pass ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD, NULL));
        assert_non_null(log_sum_exp);
        const locus_execution execution = locus_execution_in(workspace);
        if (pass)
            rig_ok(locus_attention_backward(r->plan, &options, &tensors, &gradients, &execution, error));
        else
            rig_ok(locus_attention_forward(r->plan, &options, &tensors, &execution, error));
        rig_workspace_free(workspace);
    }
    free(log_sum_exp);
}

/* ---- against the formula ---- */

static void oracle_row(const scene *s, size_t query, size_t first, size_t count, size_t head, double *out) {
    double total = 0;
    memset(out, 0, DIM * sizeof *out);
    for (size_t j = first; j < first + count; j++) {
        const double distance = group_distance(s->r.queries, query, s->r.keys, j);
        double score = 0;
        for (size_t d = 0; d < DIM; d++)
            score += s->q[query * WIDTH + head * DIM + d] * s->k[j * WIDTH + head * DIM + d] / sqrt(DIM);
        score = score * pow(0.95, distance) - exp2(-4.0 * (double)(head + 1)) * distance;
        total += exp(score);
        for (size_t d = 0; d < DIM; d++)
            out[d] += exp(score) * s->v[j * WIDTH + head * DIM + d];
    }
    for (size_t d = 0; d < DIM; d++)
        out[d] /= total;
}

static void check_forward(const scene *s, size_t query_count, size_t key_count) {
    double want[DIM];
    for (size_t q = 0; q < s->tokens; q++) {
        const bool second = q > query_count; /* a gap stands behind each sequence */
        if (q == query_count || q == s->tokens - 1)
            continue;
        for (size_t h = 0; h < HEADS; h++) {
            oracle_row(s, q, second ? key_count + 1 : 0, second ? 5 : key_count, h, want);
            for (size_t d = 0; d < DIM; d++)
                assert_true(fabs(s->o[q * WIDTH + h * DIM + d] - want[d]) < 1e-12);
        }
    }
}

static double loss(scene *s, size_t query_count) {
    double sum = 0;
    run(s, false);
    for (size_t q = 0; q < s->tokens; q++)
        for (size_t i = 0; i < WIDTH && q != query_count && q != s->tokens - 1; i++)
            sum += s->o[q * WIDTH + i] * s->go[q * WIDTH + i];
    return sum;
}

static void test_against_formula(void **state) {
    (void)state;
    static const size_t counts[] = {7, 150};
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (size_t i = 0; i < 2; i++) {
            scene s;
            open_scene(&s, groups[g], 9, counts[i], 5);
            run(&s, true);
            check_forward(&s, 9, counts[i]);
            assert_string_equal(s.r.info[0].name, "1.rate");
            double *rate = s.r.values[0].data, difference = 0;
            for (int side = 0; side < 2; side++) {
                *rate = 0.95 + (side ? -1e-5 : 1e-5);
                rig_update(&s.r);
                difference += (side ? -1 : 1) * loss(&s, 9) / 2e-5;
            }
            const double got = *(double *)s.r.gradients[0].data;
            if (fabs(difference - got) > 1e-7 * (1 + fabs(got)))
                fail_msg("%s: drate is %.12g, but differences say %.12g", groups[g], got, difference);
            assert_true(got != 0);
            close_scene(&s);
        }
}

/* ---- threads ---- */

static void test_threads(void **state) {
    enum { QUERIES = SANITIZED(150, 300), KEYS = SANITIZED(300, 1500) };
    (void)state;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        scene one, many;
        open_scene(&one, groups[g], QUERIES, KEYS, 1000);
        open_scene(&many, groups[g], QUERIES, KEYS, 1000);
        assert_int_equal(locus_threads_set(3), LOCUS_OK);
        run(&many, true);
        assert_int_equal(locus_threads_set(threads_alone() ? 3 : 1), LOCUS_OK);
        run(&one, true);
        assert_memory_equal(one.o, many.o, one.tokens * WIDTH * sizeof(double));
        assert_memory_equal(one.dq, many.dq, one.tokens * WIDTH * sizeof(double));
        assert_memory_equal(one.dk, many.dk, one.keys * WIDTH * sizeof(double));
        assert_true(*(double *)one.r.gradients[0].data == *(double *)many.r.gradients[0].data);
        close_scene(&one);
        close_scene(&many);
    }
    assert_int_equal(locus_threads_set(1), LOCUS_OK);
}

/* ---- memory ---- */

/* Twice the tokens, about twice the plan; where tables over pairs would be 8 GiB. */
static void test_memory(void **state) {
    (void)state;
    size_t bytes[2];
    for (size_t i = 0; i < 2; i++) {
        const size_t lengths[] = {(size_t)16000 << i};
        uint64_t random = 0;
        rig r;
        const group_drawing drawing = {"seq*tree:300", 1, lengths, 1000000, false};
        rig_bind(&r, "decay(group=seq*tree:300) + alibi(group=seq*tree:300)", rig_shape(8, 64, 0, 0), 1);
        rig_place(&r, group_positions(&drawing, &random), NULL);
        bytes[i] = locus_plan_bytes(r.plan);
        rig_close(&r);
    }
    assert_true(bytes[1] < bytes[0] * 5 / 2 && bytes[1] < (size_t)64 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_formula),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_memory),
    };
    threads_only("test_threads");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

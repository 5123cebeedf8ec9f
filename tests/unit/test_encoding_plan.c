/* SPDX-License-Identifier: MIT */
/* Shapes, parameters, bindings, plans and apply from the caller's side: what is accepted and what is refused, gaps,
 * strided and in-place views, memory, threads. */
#include "../property/encoding_rig.h"
#include "threads_only.h"

#include <pthread.h>
#include <stdio.h>

static void refuse_shape(const char *spec, locus_shape shape, const char *argument) {
    locus_encoding *encoding = NULL;
    locus_error failure = {0};
    size_t count = 99;
    rig_ok(locus_encoding_parse(spec, &encoding, error));
    assert_int_equal(locus_encoding_parameter_count(encoding, &shape, &count, &failure), LOCUS_ERROR_SHAPE);
    assert_string_equal(failure.argument, argument);
    assert_true(strlen(failure.message) > 0);
    locus_binding *binding = NULL;
    assert_int_equal(locus_binding_create(&binding, encoding, &shape, NULL, 0, NULL), LOCUS_ERROR_SHAPE);
    assert_null(binding);
    locus_encoding_destroy(&encoding);
}

static void test_shapes(void **state) {
    (void)state;
    refuse_shape("rope", rig_shape(0, 8, 0, 0), "heads");
    refuse_shape("rope", rig_shape(2, 0, 0, 0), "head_dim");
    refuse_shape("rope", rig_shape(2, 7, 0, 0), "head_dim");
    refuse_shape("rope(rotate=10)", rig_shape(2, 8, 0, 0), "rotate");
    refuse_shape("roper", rig_shape(2, 8, 6, 0), "value_dim");
    refuse_shape("algebraic(generator=angles)", rig_shape(2, 7, 0, 0), "head_dim");
    refuse_shape("algebraic(values=on)", rig_shape(2, 7, 8, 0), "value_dim");
    refuse_shape("sinusoidal", rig_shape(0, 0, 0, 7), "model_dim");
    refuse_shape("sinusoidal", rig_shape(2, 8, 0, 0), "model_dim");
    refuse_shape("learned(size=4)", rig_shape(2, 8, 0, 0), "model_dim");
    refuse_shape("alibi", rig_shape(0, 8, 0, 0), "heads");
    refuse_shape("rope", rig_shape(2, 100000, 0, 0), "head_dim");
    rig r;
    rig_open(&r, "rope(rotate=6)", rig_shape(2, 7, 5, 0), NULL, 3); /* an odd head with an even turn */
    rig_close(&r);
    rig_open(&r, "algebraic", rig_shape(2, 7, 5, 0), NULL, 3);
    rig_close(&r);
}

static void expect_parameter(const char *spec, locus_shape shape, size_t index, const char *name, size_t rank,
                             const int64_t *sizes) {
    locus_encoding *encoding = NULL;
    locus_parameter parameter = {.size = sizeof parameter};
    rig_ok(locus_encoding_parse(spec, &encoding, error));
    rig_ok(locus_encoding_parameter(encoding, &shape, index, &parameter, error));
    assert_string_equal(parameter.name, name);
    assert_int_equal(parameter.rank, rank);
    for (size_t i = 0; i < rank; i++)
        assert_int_equal(parameter.shape[i], sizes[i]);
    locus_encoding_destroy(&encoding);
}

static void test_parameters(void **state) {
    (void)state;
    const locus_shape shape = rig_shape(4, 6, 5, 10);
    expect_parameter("algebraic", shape, 0, "generators", 4, (const int64_t[]){4, 1, 6, 6});
    expect_parameter("algebraic(heads=shared)", shape, 0, "generators", 4, (const int64_t[]){1, 1, 6, 6});
    expect_parameter("algebraic(generator=angles)", shape, 0, "angles", 3, (const int64_t[]){4, 1, 3});
    expect_parameter("rope(learned=on)", shape, 0, "frequencies", 1, (const int64_t[]){3});
    expect_parameter("rope(learned=on, rotate=4)", shape, 0, "frequencies", 1, (const int64_t[]){2});
    expect_parameter("learned(size=9)", shape, 0, "table", 2, (const int64_t[]){9, 10});
    expect_parameter("decay(learned=on)", shape, 0, "rate", 1, (const int64_t[]){1});
    expect_parameter("relative(window=2, values=on)", shape, 1, "value_table", 2, (const int64_t[]){5, 5});
    expect_parameter("none + algebraic + decay(learned=on)", shape, 0, "1.generators", 4,
                     (const int64_t[]){4, 1, 6, 6});
    expect_parameter("none + algebraic + decay(learned=on)", shape, 1, "2.rate", 1, (const int64_t[]){1});
    locus_encoding *encoding = NULL;
    locus_parameter parameter = {.size = sizeof parameter};
    rig_ok(locus_encoding_parse("algebraic(generator=fixed)", &encoding, error));
    assert_int_equal(locus_encoding_parameter(encoding, &shape, 0, &parameter, NULL), LOCUS_ERROR_ARGUMENT);
    locus_encoding_destroy(&encoding);
}

/* The same seed the same numbers, in both types; another seed others; a term's stream does not depend on other terms'
 * kind. */
static void test_initialise(void **state) {
    (void)state;
    const locus_shape shape = rig_shape(2, 6, 0, 0);
    rig a, b, c;
    rig_bind(&a, "algebraic", shape, 3);
    rig_bind(&b, "algebraic", shape, 3);
    rig_bind(&c, "algebraic", shape, 4);
    assert_memory_equal(a.values[0].data, b.values[0].data, 72 * sizeof(double));
    assert_memory_not_equal(a.values[0].data, c.values[0].data, 72 * sizeof(double));
    float narrow[72];
    const locus_tensor tensor = locus_tensor_view(narrow, LOCUS_FLOAT32, 4, a.info[0].shape);
    rig_ok(locus_encoding_initialise(a.encoding, &shape, 3, &tensor, 1, error));
    for (size_t i = 0; i < 72; i++)
        assert_true(narrow[i] == (float)((double *)a.values[0].data)[i]);
    rig_close(&a), rig_close(&b), rig_close(&c);

    double sum = 0, squares = 0;
    rig_bind(&a, "learned(size=100, deviation=0.02)", rig_shape(0, 0, 0, 100), 1);
    for (size_t i = 0; i < 10000; i++) {
        sum += ((double *)a.values[0].data)[i];
        squares += ((double *)a.values[0].data)[i] * ((double *)a.values[0].data)[i];
    }
    assert_true(fabs(sum / 10000) < 1e-3 && fabs(sqrt(squares / 10000) - 0.02) < 1e-3);
    rig_close(&a);
}

/* init=rope turns by rope's angles: the trace of ⌈1⌉ is 2 Σ cos ω. */
static void test_rope_angles(void **state) {
    (void)state;
    const int64_t one[] = {1, 1, 1, 1, 1, 1};
    const char *const specs[] = {"algebraic", "algebraic(generator=angles)", "algebraic(generator=fixed)"};
    for (size_t s = 0; s < 3; s++) {
        rig r;
        double x[36] = {0}, want = 0, trace = 0;
        rig_open(&r, specs[s], rig_shape(1, 6, 0, 0), one, 6);
        for (size_t i = 0; i < 6; i++)
            x[i * 7] = 1;
        rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, 6, x, x);
        for (size_t i = 0; i < 3; i++)
            want += 2 * cos(pow(10000, -2.0 * (double)i / 6));
        for (size_t i = 0; i < 6; i++)
            trace += x[i * 7];
        assert_true(fabs(want - trace) < 1e-13);
        rig_close(&r);
    }
}

static void test_bindings_refuse(void **state) {
    (void)state;
    rig r;
    locus_error failure = {0};
    locus_binding *binding = NULL;
    rig_bind(&r, "algebraic", rig_shape(2, 4, 0, 0), 1);
    assert_int_equal(locus_binding_create(&binding, r.encoding, &r.shape, r.values, 0, &failure), LOCUS_ERROR_ARGUMENT);
    locus_tensor wrong = r.values[0];
    wrong.shape[3] = 5;
    assert_int_equal(locus_binding_create(&binding, r.encoding, &r.shape, &wrong, 1, &failure), LOCUS_ERROR_SHAPE);
    assert_string_equal(failure.argument, "generators");
    wrong = r.values[0];
    wrong.rank = 3;
    assert_int_equal(locus_binding_create(&binding, r.encoding, &r.shape, &wrong, 1, &failure), LOCUS_ERROR_SHAPE);
    wrong = r.values[0];
    wrong.stride[3] = 2;
    assert_int_equal(locus_binding_create(&binding, r.encoding, &r.shape, &wrong, 1, &failure), LOCUS_ERROR_SHAPE);
    wrong = r.values[0];
    wrong.dtype = (locus_dtype)9;
    assert_int_equal(locus_binding_create(&binding, r.encoding, &r.shape, &wrong, 1, &failure), LOCUS_ERROR_DTYPE);
    ((double *)r.values[0].data)[5] = INFINITY;
    assert_int_equal(locus_binding_create(&binding, r.encoding, &r.shape, r.values, 1, &failure), LOCUS_ERROR_NUMERIC);
    assert_null(binding);
    assert_true(strstr(failure.message, "element 5") != NULL);
    rig_close(&r);
}

static void test_learned_positions(void **state) {
    (void)state;
    const int64_t bad[] = {0, 3, 7, 2}, negative[] = {0, -1, 2, 3};
    rig r;
    locus_error failure = {0};
    rig_bind(&r, "learned(size=7)", rig_shape(0, 0, 0, 4), 1);
    for (int i = 0; i < 2; i++) {
        r.queries = rig_positions(i ? negative : bad, 4);
        assert_int_equal(locus_plan_create(&r.plan, r.binding, r.queries, NULL, &failure), LOCUS_ERROR_POSITION);
        assert_null(r.plan);
        assert_true(strstr(failure.message, i ? "position -1 of token 1" : "position 7 of token 2") != NULL);
        assert_true(strstr(failure.message, "7 rows") != NULL);
        locus_positions_destroy(&r.queries);
    }
    rig_close(&r);
}

/* The first token that is too far, in the sequence that it is of; what lies in a gap is nobody's. */
static void test_far_positions(void **state) {
    (void)state;
    const int64_t most = (int64_t)1 << 40;
    const size_t offsets[] = {0, 3, 7, 7, 9}, lengths[] = {2, 3, 0, 1};
    static const struct {
        size_t token, sequence; /* sequence 9: a gap */
    } places[] = {{0, 0}, {1, 0}, {2, 9}, {3, 1}, {5, 1}, {6, 9}, {7, 3}, {8, 9}};
    const locus_packing packing = {sizeof packing, 4, offsets, lengths};
    rig r;
    rig_bind(&r, "rope", rig_shape(1, 4, 0, 0), 1);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int side = -1; side <= 1; side += 2)
            for (int64_t beyond = 0; beyond < 2; beyond++) {
                int64_t values[9] = {0};
                char want[160];
                locus_error failure = {0};
                locus_positions *positions = NULL;
                locus_plan *plan = NULL;
                values[places[i].token] = side * (most + beyond);
                rig_ok(locus_positions_create(&positions, NULL, &packing, values, error));
                const locus_status status = locus_plan_create(&plan, r.binding, positions, NULL, &failure);
                const bool refused = beyond && places[i].sequence < 9;
                assert_int_equal(status, refused ? LOCUS_ERROR_POSITION : LOCUS_OK);
                (void)snprintf(want, sizeof want,
                               "position %lld of token %zu (sequence %zu) is out of range for an encoding: use -2^40 "
                               "to 2^40",
                               (long long)values[places[i].token], places[i].token, places[i].sequence);
                if (refused)
                    assert_string_equal(failure.message, want);
                locus_plan_destroy(&plan);
                locus_positions_destroy(&positions);
            }
    rig_close(&r);
}

/* The blog's example: length 4, dimension 8, every row of norm 2; and the definition, far away and negative too. */
static void test_sinusoid(void **state) {
    (void)state;
    const int64_t places[] = {0, 1, 2, 3, 1000000, -77};
    for (int concatenated = 0; concatenated < 2; concatenated++) {
        rig r;
        double y[48] = {0};
        rig_open(&r, concatenated ? "sinusoidal(layout=concatenated)" : "sinusoidal", rig_shape(0, 0, 0, 8), places, 6);
        rig_apply(&r, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, LOCUS_FLOAT64, 6, y, y);
        for (size_t t = 0; t < 6; t++) {
            double norm = 0;
            for (size_t i = 0; i < 4; i++) {
                double frequency = pow(10000, concatenated ? -(double)i / 3 : -2.0 * (double)i / 8);
                double angle = (double)places[t] * frequency, *row = y + t * 8;
                double sine = concatenated ? row[i] : row[2 * i], cosine = concatenated ? row[i + 4] : row[2 * i + 1];
                assert_true(fabs(sine - sin(angle)) < 2e-10 && fabs(cosine - cos(angle)) < 2e-10);
                norm += sine * sine + cosine * cosine;
            }
            assert_true(fabs(sqrt(norm) - 2) < 1e-14);
        }
        rig_apply(&r, LOCUS_ROLE_TOKEN, LOCUS_INVERSE, LOCUS_FLOAT64, 6, y, y);
        for (size_t i = 0; i < 48; i++)
            assert_true(y[i] == 0);
        rig_close(&r);
    }
}

/* Gaps keep what they hold, strided views are walked rightly, and all agrees with the plain call. */
static void test_gaps_and_strides(void **state) {
    (void)state;
    enum { TOKENS = 12, WIDE = 40 };
    const size_t offsets[] = {1, 5, 5, 12}, lengths[] = {3, 0, 6};
    const int64_t values[TOKENS] = {0, 4, 5, 6, 999, 70, 71, 72, 80, 81, -9, 999};
    const locus_packing packing = {sizeof packing, 3, offsets, lengths};
    const char *const specs[] = {"rope", "algebraic", "algebraic(generator=angles)", "none", "alibi"};
    uint64_t random = 9;
    for (size_t s = 0; s < 5; s++) {
        rig gaps, plain;
        locus_positions *positions = NULL;
        rig_bind(&gaps, specs[s], rig_shape(2, 6, 0, 0), 7);
        rig_ok(locus_positions_create(&positions, NULL, &packing, values, error));
        rig_place(&gaps, positions, NULL);
        rig_open(&plain, specs[s], rig_shape(2, 6, 0, 0), values, TOKENS);
        double *x = rig_normal(TOKENS * WIDE, &random), *y = rig_normal(TOKENS * WIDE, &random), before[TOKENS * WIDE];
        double packed[TOKENS * 12], want[TOKENS * 12];
        memcpy(before, y, sizeof before);
        locus_tensor xt = rig_view(&gaps, LOCUS_ROLE_QUERY, x + 3, LOCUS_FLOAT64, TOKENS), yt = xt;
        xt.stride[0] = WIDE, xt.stride[1] = 7;
        yt.data = y + 20;
        yt.stride[0] = WIDE, yt.stride[1] = -9;
        for (size_t i = 0; i < TOKENS * 12; i++)
            packed[i] = x[i / 12 * WIDE + 3 + i % 12 / 6 * 7 + i % 6];
        locus_workspace workspace = rig_workspace(&gaps, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
        const locus_execution execution = locus_execution_in(workspace);
        rig_ok(locus_apply(gaps.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &xt, &yt, &execution, error));
        rig_workspace_free(workspace);
        rig_apply(&plain, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, TOKENS, packed, want);
        for (size_t t = 0; t < TOKENS; t++) {
            bool used = (t >= 1 && t < 4) || (t >= 5 && t < 11);
            for (size_t i = 0; used && i < 12; i++) {
                size_t at = t * WIDE + 20 - i / 6 * 9 + i % 6;
                assert_true(fabs(y[at] - want[t * 12 + i]) < 1e-15);
                before[at] = y[at];
            }
        }
        assert_memory_equal(before, y, sizeof before); /* nothing else was touched */
        free(x), free(y);
        rig_close(&gaps), rig_close(&plain);
    }
}

static void test_apply_refuses(void **state) {
    (void)state;
    rig r;
    locus_error failure = {0};
    double x[24] = {0}, y[24];
    rig_open(&r, "algebraic", rig_shape(2, 4, 0, 0), NULL, 3);
    locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64), small = {workspace.data, 8},
                    none = {NULL, 0};
    locus_tensor xt = rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT64, 3),
                 yt = rig_view(&r, LOCUS_ROLE_QUERY, y, LOCUS_FLOAT64, 3);
    locus_tensor wrong = xt;
    const locus_execution execution = locus_execution_in(workspace), in_small = locus_execution_in(small),
                          in_none = locus_execution_in(none);
#define refused(status, call) assert_int_equal(call, status)
    refused(LOCUS_ERROR_MEMORY, locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &xt, &yt, &in_small, &failure));
    refused(LOCUS_ERROR_MEMORY, locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &xt, &yt, &in_none, &failure));
    refused(LOCUS_ERROR_ARGUMENT, locus_apply(r.plan, (locus_role)0, LOCUS_FORWARD, &xt, &yt, &execution, &failure));
    refused(LOCUS_ERROR_ARGUMENT,
            locus_apply(r.plan, LOCUS_ROLE_QUERY, (locus_direction)3, &xt, &yt, &execution, &failure));
    refused(LOCUS_ERROR_ARGUMENT, locus_apply(NULL, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &xt, &yt, &execution, &failure));
    refused(LOCUS_ERROR_ARGUMENT,
            locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, NULL, &yt, &execution, &failure));
    refused(LOCUS_ERROR_SHAPE, locus_apply(r.plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &xt, &yt, &execution, &failure));
    wrong.shape[0] = 2;
    refused(LOCUS_ERROR_SHAPE, locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &wrong, &yt, &execution, &failure));
    wrong = xt, wrong.stride[2] = 2;
    refused(LOCUS_ERROR_SHAPE, locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &wrong, &yt, &execution, &failure));
    wrong = xt, wrong.stride[1] = 8;
    refused(LOCUS_ERROR_ARGUMENT,
            locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &xt, &wrong, &execution, &failure));
    wrong = yt, wrong.dtype = LOCUS_FLOAT32;
    refused(LOCUS_ERROR_DTYPE, locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &xt, &wrong, &execution, &failure));
    wrong = xt, wrong.dtype = (locus_dtype)7;
    refused(LOCUS_ERROR_DTYPE,
            locus_apply(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &wrong, &wrong, &execution, &failure));
    locus_apply_gradients gradients = {.gy = &xt, .gx = &yt, .parameters = r.gradients, .parameter_count = 1};
    refused(LOCUS_ERROR_ARGUMENT,
            locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, &failure));
    assert_string_equal(failure.argument, "x");
    gradients.parameter_count = 2;
    refused(LOCUS_ERROR_ARGUMENT,
            locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, &failure));
    gradients = (locus_apply_gradients){.gy = &xt, .gx = &yt}; /* not wanted: x may be missing */
    rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, error));
    rig_workspace_free(workspace);
    rig_close(&r);
}

/* Memory is linear: a plan of a million positions costs a few bytes for each, and no d × d matrix. */
static void test_plan_memory(void **state) {
    (void)state;
    enum { COUNT = 1000000 };
    const char *const specs[] = {"rope", "algebraic", "algebraic(generator=angles)"};
    for (size_t s = 0; s < 3; s++) {
        rig r;
        rig_open(&r, specs[s], rig_shape(2, 16, 0, 0), NULL, COUNT);
        assert_true(locus_plan_bytes(r.plan) > COUNT * sizeof(int64_t));
        assert_true(locus_plan_bytes(r.plan) < COUNT * 32);
        rig_close(&r);
    }
    rig one, two;
    rig_open(&one, "rope + alibi + decay", rig_shape(2, 16, 0, 0), NULL, 10000);
    rig_open(&two, "rope + alibi + decay", rig_shape(2, 16, 0, 0), NULL, 20000);
    assert_true(locus_plan_bytes(two.plan) < locus_plan_bytes(one.plan) * 2 + 4096);
    rig_close(&one), rig_close(&two);
}

/* Positions 0, 2^30, −2^30, …: spread out, so no table of differences and one coarse row each; still right. */
static void test_spread_positions(void **state) {
    (void)state;
    const int64_t spread[] = {0, (int64_t)1 << 40, -((int64_t)1 << 40), 12345678901, 5};
    rig r;
    double x[20], y[20];
    rig_open(&r, "rope + alibi", rig_shape(1, 4, 0, 0), spread, 5);
    assert_true(locus_plan_bytes(r.plan) < 100000);
    for (size_t i = 0; i < 20; i++)
        x[i] = i % 2 == 0;
    rig_apply(&r, LOCUS_ROLE_KEY, LOCUS_FORWARD, LOCUS_FLOAT64, 5, x, y);
    for (size_t t = 0; t < 5; t++)
        assert_true(fabs(y[t * 4] - cos((double)spread[t])) < 1e-15);
    rig_close(&r);
}

typedef struct worker {
    const rig *r;
    double *x, *y;
    locus_workspace workspace;
    locus_status status;
} worker;

enum { SHARED_TOKENS = 700 };

static void *apply_in_thread(void *context) {
    worker *w = context;
    locus_tensor x = rig_view(w->r, LOCUS_ROLE_QUERY, w->x, LOCUS_FLOAT64, SHARED_TOKENS), y = x;
    y.data = w->y;
    const locus_execution execution = locus_execution_in(w->workspace);
    for (int i = 0; i < 5 && w->status == LOCUS_OK; i++)
        w->status = locus_apply(w->r->plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &y, &execution, NULL);
    return NULL;
}

/* One plan, four threads, distinct workspaces: the same bits. And the same bits for any number of threads. */
static void test_threads(void **state) {
    (void)state;
    uint64_t random = 4;
    rig r;
    rig_open(&r, "algebraic", rig_shape(2, 8, 0, 0), NULL, SHARED_TOKENS);
    const size_t elements = SHARED_TOKENS * 16;
    double *x = rig_normal(elements, &random), *want = calloc(elements, sizeof *want),
           *gradient = calloc(128, sizeof *gradient);
    pthread_t threads[4];
    worker workers[4];
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, SHARED_TOKENS, x, want);
    for (size_t i = 0; i < 4; i++) {
        workers[i] =
            (worker){&r, x, calloc(elements, sizeof *x), rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64), LOCUS_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, apply_in_thread, &workers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].status, LOCUS_OK);
        assert_memory_equal(workers[i].y, want, elements * sizeof *want);
        free(workers[i].y);
        rig_workspace_free(workers[i].workspace);
    }
    for (size_t count = 1; count <= 3; count++) {
        rig_ok(locus_threads_set(count));
        memset(r.gradients[0].data, 0, 128 * sizeof(double));
        locus_tensor xt = rig_view(&r, LOCUS_ROLE_QUERY, x, LOCUS_FLOAT64, SHARED_TOKENS), yt = xt;
        yt.data = want;
        locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
        locus_apply_gradients gradients = {
            .x = &xt, .gy = &xt, .gx = &yt, .parameters = r.gradients, .parameter_count = 1};
        const locus_execution execution = locus_execution_in(workspace);
        rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, error));
        rig_workspace_free(workspace);
        if (count == 1)
            memcpy(gradient, r.gradients[0].data, 128 * sizeof(double));
        assert_memory_equal(gradient, r.gradients[0].data, 128 * sizeof(double));
    }
    rig_ok(locus_threads_set(0));
    free(x), free(want), free(gradient);
    rig_close(&r);
}

static void test_plan_refuses(void **state) {
    (void)state;
    rig r;
    locus_error failure = {0};
    locus_plan *plan = NULL;
    rig_open(&r, "rope", rig_shape(1, 4, 0, 0), NULL, 3);
    const size_t offsets[] = {0, 1, 3};
    const locus_packing packing = {sizeof packing, 2, offsets, NULL};
    locus_positions *two = NULL;
    rig_ok(locus_positions_create(&two, NULL, &packing, NULL, error));
    assert_int_equal(locus_plan_create(&plan, r.binding, r.queries, two, &failure), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(failure.argument, "keys");
    assert_int_equal(locus_plan_create(&plan, NULL, r.queries, NULL, &failure), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_plan_create(&plan, r.binding, NULL, NULL, &failure), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_plan_create(NULL, r.binding, r.queries, NULL, &failure), LOCUS_ERROR_ARGUMENT);
    locus_plan_destroy(NULL);
    locus_positions_destroy(&two);
    rig_close(&r);
    rig_open(&r, "rope + alibi + relative", rig_shape(1, 4, 0, 0), NULL, 0); /* no tokens at all */
    double nothing[1];
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, 0, nothing, nothing);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),           cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_initialise),       cmocka_unit_test(test_rope_angles),
        cmocka_unit_test(test_bindings_refuse),  cmocka_unit_test(test_learned_positions),
        cmocka_unit_test(test_far_positions),    cmocka_unit_test(test_sinusoid),
        cmocka_unit_test(test_gaps_and_strides), cmocka_unit_test(test_apply_refuses),
        cmocka_unit_test(test_plan_memory),      cmocka_unit_test(test_spread_positions),
        cmocka_unit_test(test_threads),          cmocka_unit_test(test_plan_refuses),
    };
    threads_only("test_threads");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Attention with contextual positions (cope) against the definition written down densely, over rows of several blocks,
 * saturated and not, with windows, kept keys, documents, caps, sinks and other terms; the same bits on any number of
 * threads; gaps untouched; what is refused. Gradients: tests/grad/test_score_gradients.c. */
#include "sanitized.h"
#include "score_scene.h"
#include "threads_only.h"

typedef struct dense_case {
    const char *spec;
    size_t most, window, keep; /* window 0: none */
    double scale, cap;         /* scale 0: 1/sqrt(d) */
    bool gate_scaled, sinks, kerple, documents;
} dense_case;

static const dense_case cases[] = {
    {"cope(max=4)", 4, 0, 0, 0, 0, false, false, false, false},
    {"cope", 64, 0, 0, 0, 0, false, false, false, false},
    {"cope(max=200, gate=scaled)", 200, 0, 0, 0, 0, true, false, false, false},
    {"cope(max=5) + scores(scale=0.3, cap=1.5, window=140, keep=3, sinks=on)", 5, 140, 3, 0.3, 1.5, false, true, false,
     false},
    {"cope(max=40) + scores(window=9, keep=20) + kerple", 40, 9, 20, 0, 0, false, false, true, false},
    {"cope(max=40) + kerple", 40, 0, 0, 0, 0, false, false, true, true},
    {"cope(max=7) + scores(window=150)", 7, 150, 0, 0, 0, false, false, false, true},
};

static const double *parameter(const score_scene *s, const char *name) {
    for (size_t i = 0; i < s->r.count; i++) {
        const char *point = strrchr(s->r.info[i].name, '.');
        if (strcmp(point ? point + 1 : s->r.info[i].name, name) == 0)
            return s->r.values[i].data;
    }
    return NULL;
}

static double dot(const double *x, const double *y, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

static bool sees(const score_scene *s, const dense_case *test, size_t sequence, size_t i, size_t j) {
    const int64_t t = (int64_t)(i + s->key_lengths[sequence]) - (int64_t)s->query_lengths[sequence],
                  back = t - (int64_t)j;
    if (back < 0 || (test->window && back >= (int64_t)test->window && j >= test->keep))
        return false;
    return !test->documents || s->options.query_documents[s->query_offsets[sequence] + i] ==
                                   s->options.key_documents[s->key_offsets[sequence] + j];
}

/* What dropout multiplies a weight by, replayed from its definition in kernels.h: p is a multiple of 2⁻¹⁶ here. */
static double replayed(const score_scene *s, size_t token, size_t head, size_t key) {
    const double p = s->options.dropout;
    const uint64_t row = (uint64_t)token * s->r.shape.heads + head;
    uint32_t words[4];
    if (p == 0 || s->options.dropout_on != LOCUS_DROPOUT_WEIGHTS)
        return 1;
    locus_random_block(&s->options.dropout_key, (row << 28) + key / 8, words);
    const uint32_t half = words[key % 8 / 2] >> (key % 2 * 16) & 0xffff;
    return half < (uint32_t)(p * 65536) ? 0 : 1 / (1 - p);
}

/* One row: output and log-sum-exp. */
static double dense_row(const score_scene *s, const dense_case *test, size_t sequence, size_t i, size_t head,
                        double *out) {
    const locus_shape *shape = &s->r.shape;
    const size_t dim = shape->head_dim, keys = s->key_lengths[sequence], kv = head / (shape->heads / shape->kv_heads);
    const double *q = s->q + (s->query_offsets[sequence] + i) * s->query_row + head * dim;
    const double *table = parameter(s, "table"), *a = parameter(s, "a"), *b = parameter(s, "b");
    const double scale = test->scale != 0 ? test->scale : 1 / sqrt((double)dim);
    const double t = (double)i + (double)keys - (double)s->query_lengths[sequence];
    double place = 0, total = test->sinks ? exp(parameter(s, "sinks")[head]) : 0;
    bool any = false;
    memset(out, 0, shape->value_dim * sizeof *out);
    for (size_t j = keys; j-- > 0;) {
        const size_t key = s->key_offsets[sequence] + j;
        const double product = dot(q, s->k + key * s->key_row + kv * dim, dim);
        if (!sees(s, test, sequence, i, j))
            continue;
        any = true;
        place += 1 / (1 + exp(-product * (test->gate_scaled ? scale : 1)));
        const double at = fmin(place, (double)test->most), low = floor(at), part = at - low;
        double score = product * scale + (1 - part) * dot(q, table + (size_t)low * dim, dim) +
                       part * dot(q, table + (size_t)ceil(at) * dim, dim);
        score = test->cap != 0 ? test->cap * tanh(score / test->cap) : score;
        score -= test->kerple ? a[head] * log(1 + b[head] * (t - (double)j)) : 0;
        total += exp(score);
        const double keep = replayed(s, s->query_offsets[sequence] + i, head, j);
        for (size_t d = 0; d < shape->value_dim; d++)
            out[d] += keep * exp(score) * s->v[key * s->value_row + kv * shape->value_dim + d];
    }
    for (size_t d = 0; any && d < shape->value_dim; d++)
        out[d] /= total;
    return any ? log(total) : -(double)INFINITY;
}

static void compare(const score_scene *s, const dense_case *test, double tolerance) {
    const size_t dim = s->r.shape.value_dim;
    double want[16];
    for (size_t n = 0; n < s->sequences; n++)
        for (size_t i = 0; i < s->query_lengths[n]; i++)
            for (size_t h = 0; h < s->r.shape.heads; h++) {
                const size_t token = s->query_offsets[n] + i;
                const double sum = dense_row(s, test, n, i, h, want),
                             got = s->log_sum_exp[token * s->r.shape.heads + h];
                if (!(got == sum || fabs(got - sum) <= tolerance * (1 + fabs(sum))))
                    fail_msg("'%s': log-sum-exp of token %zu is %.12g, not %.12g", test->spec, token, got, sum);
                for (size_t d = 0; d < dim; d++)
                    if (!(fabs(s->o[token * s->output_row + h * dim + d] - want[d]) <= tolerance * (1 + fabs(want[d]))))
                        fail_msg("'%s': output %zu of token %zu is %.12g, not %.12g", test->spec, d, token,
                                 s->o[token * s->output_row + h * dim + d], want[d]);
            }
    for (size_t t = 0; t < s->T; t++)
        for (size_t i = 0; i < s->output_row && !score_scene_used(s, false, t); i++)
            assert_true(s->o[t * s->output_row + i] == SCORE_SCENE_GAP);
}

static void open_case(score_scene *s, const dense_case *test, int32_t *documents) {
    const locus_shape shape = {.heads = 4, .kv_heads = 2, .head_dim = 8, .value_dim = 5};
    const score_layout layout = {3, {7, 300, 20}, {7, test->documents ? 300 : 410, test->documents ? 20 : 4}, false};
    score_scene_open(s, test->spec, shape, &layout);
    s->options.mask = LOCUS_MASK_CAUSAL;
    for (size_t t = 0; t < 400; t++)
        documents[t] = (int32_t)(t / 170);
    if (test->documents)
        s->options.query_documents = s->options.key_documents = documents;
}

static void test_dense(void **state) {
    (void)state;
    int32_t documents[400];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        score_scene s;
        open_case(&s, &cases[i], documents);
        score_scene_run(&s, LOCUS_FLOAT64, false);
        if (!IS_SANITIZED)
            compare(&s, &cases[i], 1e-11);
        score_scene_run(&s, LOCUS_FLOAT32, false);
        compare(&s, &cases[i], 2e-4); /* a position of 60 counts gates that are each off by a rounding or two */
        score_scene_close(&s);
    }
}

/* Forward with dropped weights, against the same definition: some are dropped, some are not. */
static void test_dense_with_dropout(void **state) {
    (void)state;
    int32_t documents[400];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        score_scene s;
        open_case(&s, &cases[i], documents);
        s.options.dropout = 0.25;
        s.options.dropout_key = (locus_random){77, LOCUS_RANDOM_USER + 1, 5};
        size_t dropped = 0;
        for (size_t key = 0; key < 200; key++)
            dropped += replayed(&s, 3, 1, key) == 0;
        assert_in_range(dropped, 20, 90);
        score_scene_run(&s, LOCUS_FLOAT64, false);
        if (!IS_SANITIZED)
            compare(&s, &cases[i], 1e-11);
        score_scene_run(&s, LOCUS_FLOAT32, false);
        if (!IS_SANITIZED)
            compare(&s, &cases[i], 4e-4);
        score_scene_close(&s);
    }
}

/* Float32 gradients against those in double. */
static void test_narrow_gradients(void **state) {
    (void)state;
    int32_t documents[400];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        score_scene wide, narrow;
        open_case(&wide, &cases[i], documents);
        open_case(&narrow, &cases[i], documents);
        score_scene_run(&wide, LOCUS_FLOAT64, true);
        score_scene_run(&narrow, LOCUS_FLOAT32, true);
        double apart = 0, length = 0;
        for (size_t j = 0; j < wide.N * wide.key_row; j++) {
            apart += pow(wide.dk[j] - narrow.dk[j], 2);
            length += pow(wide.dk[j], 2);
        }
        for (size_t j = 0; j < wide.T * wide.query_row; j++) {
            apart += pow(wide.dq[j] - narrow.dq[j], 2);
            length += pow(wide.dq[j], 2);
        }
        assert_true(sqrt(apart) < 1e-3 * sqrt(length));
        score_scene_close(&wide);
        score_scene_close(&narrow);
    }
}

static void test_threads(void **state) {
    (void)state;
    score_scene one, many;
    int32_t documents[400];
    open_case(&one, &cases[3], documents);
    open_case(&many, &cases[3], documents);
    assert_int_equal(locus_threads_set(1), LOCUS_OK);
    score_scene_run(&one, LOCUS_FLOAT32, true);
    assert_int_equal(locus_threads_set(3), LOCUS_OK);
    score_scene_run(&many, LOCUS_FLOAT32, true);
    assert_memory_equal(one.o, many.o, one.T * one.output_row * sizeof(double));
    assert_memory_equal(one.dq, many.dq, one.T * one.query_row * sizeof(double));
    assert_memory_equal(one.dk, many.dk, one.N * one.key_row * sizeof(double));
    assert_memory_equal(one.dv, many.dv, one.N * one.value_row * sizeof(double));
    for (size_t p = 0; p < one.r.count; p++)
        assert_memory_equal(one.r.gradients[p].data, many.r.gradients[p].data,
                            rig_elements(&one.r.info[p]) * sizeof(double));
    score_scene_close(&one);
    score_scene_close(&many);
    assert_int_equal(locus_threads_set(1), LOCUS_OK);
}

/* Every score of a row dropped: the weights of what it sees are equal then, in both passes. With a bias every third key
 * is hidden; with a window of one key, two are kept that are not the first, which are of another document. Gradients
 * come from those rows alone. */
static void check_all_dropped(const char *spec, const locus_tensor *bias) {
    enum { DIM = 4 };
    const locus_shape shape = {.heads = 1, .kv_heads = 1, .head_dim = DIM, .value_dim = DIM};
    const score_layout layout = {1, {60}, {60}, false};
    score_scene s;
    size_t found = 0;
    double dv[60 * DIM] = {0};
    const bool window = strchr(spec, '+') != NULL;
    bool seen[60] = {false};
    int32_t documents[60];
    for (size_t t = 0; t < 60; t++)
        documents[t] = t >= 3;
    score_scene_open(&s, spec, shape, &layout);
    s.options.query_documents = s.options.key_documents = window ? documents : NULL;
    s.options.mask = LOCUS_MASK_CAUSAL;
    s.options.dropout = 0.8;
    s.options.dropout_on = LOCUS_DROPOUT_LOGITS;
    s.options.bias = bias;
    score_scene_run(&s, LOCUS_FLOAT64, false);
    for (size_t t = 0; t < 60; t++) {
        const bool dropped = s.log_sum_exp[t] < -5e7 && isfinite(s.log_sum_exp[t]);
        found += dropped && t > 2;
        double count = 0, mean[DIM] = {0};
        for (size_t j = 0; j <= t; j++) {
            seen[j] = bias ? j % 3 != 1 : !window || (documents[j] == documents[t] && (j == t || j < 5));
            count += seen[j];
        }
        for (size_t d = 0; d < DIM && !dropped; d++)
            s.go[t * DIM + d] = 0;
        for (size_t j = 0; j <= t && dropped; j++)
            for (size_t d = 0; d < DIM && seen[j]; d++) {
                mean[d] += s.v[j * DIM + d] / count;
                dv[j * DIM + d] += s.go[t * DIM + d] / count;
            }
        for (size_t d = 0; d < DIM && dropped; d++)
            assert_true(fabs(s.o[t * DIM + d] - mean[d]) < 1e-6); /* exp of sums near −10⁸ */
    }
    assert_true(found > 0);
    score_scene_run(&s, LOCUS_FLOAT64, true);
    for (size_t t = 0; t < 60 * DIM; t++) {
        assert_true(s.dq[t] == 0 && s.dk[t] == 0);
        assert_true(fabs(s.dv[t] - dv[t]) < 1e-14);
    }
    score_scene_close(&s);
}

static void test_all_dropped(void **state) {
    (void)state;
    float hidden[60] = {0};
    for (size_t j = 1; j < 60; j += 3)
        hidden[j] = -INFINITY;
    const int64_t sizes[] = {1, 60};
    const locus_tensor bias = locus_tensor_view(hidden, LOCUS_FLOAT32, 2, sizes);
    check_all_dropped("cope(max=3)", NULL);
    check_all_dropped("cope(max=3)", &bias);
    check_all_dropped("cope(max=3) + scores(window=1, keep=5)", NULL);
}

static void refuse(const char *spec, locus_mask mask, bool turned, locus_status wanted, const char *part) {
    rig r;
    rig_open(&r, spec, rig_shape(2, 4, 0, 0), NULL, 3);
    locus_attention_options options = locus_attention_default();
    options.mask = mask;
    options.turned = turned;
    double values[4][24] = {{0}};
    const int64_t shape[] = {3, 2, 4};
    locus_tensor t[4];
    for (size_t i = 0; i < 4; i++)
        t[i] = locus_tensor_view(values[i], LOCUS_FLOAT64, 3, shape);
    const locus_attention_tensors tensors = {sizeof tensors, &t[0], &t[1], &t[2], &t[3], NULL};
    locus_error error = {0};
    const locus_workspace none = {NULL, 0};
    const locus_execution execution = locus_execution_in(none);
    const locus_status status = locus_attention_forward(r.plan, &options, &tensors, &execution, &error);
    if (status != wanted || !strstr(error.message, part))
        fail_msg("status %d: %s", (int)status, error.message);
    rig_close(&r);
}

static void test_refused(void **state) {
    (void)state;
    refuse("cope", LOCUS_MASK_FULL, false, LOCUS_ERROR_UNSUPPORTED, "the mask must be causal");
    refuse("cope + rope", LOCUS_MASK_CAUSAL, true, LOCUS_ERROR_ARGUMENT, "without turned");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_dense_with_dropout),
        cmocka_unit_test(test_narrow_gradients),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_all_dropped),
        cmocka_unit_test(test_refused),
    };
    threads_only("test_threads");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

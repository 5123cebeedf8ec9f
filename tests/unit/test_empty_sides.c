/* SPDX-License-Identifier: MIT */
/* Sequences with queries or keys alone, and batches of nothing else, in every kind of attention, with a bias and every
 * gradient asked for: what nobody sees is exactly 0, what nobody scores leaves a bias's gradient 0, and nothing is
 * divided by how much work there is. */
#include "kind_of.h"
#include "unit/attention_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HEADS = 4, KV_HEADS = 2, DIM = 8, SEQUENCES = 3 };
enum { Q, K, V, GO, GS, O, S, DQ, DK, DV, TENSORS }; /* GS and S: of log-sum-exp */

static const char *const specs[] = {"none",
                                    "rope(learned=on)",
                                    "cope",
                                    "rope + cope(max=3) + scores(sinks=on)",
                                    "alibi + decay(rate=0.9, learned=on)",
                                    "relative(window=3, values=on)",
                                    "fire",
                                    "liere(group=seq, values=on)",
                                    "algebraic(group=tree:2, values=on)"};
static const char *const kinds[] = {"softmax", "linear", "soft(landmarks=3)", "clustered(clusters=3)"};

/* Queries and keys of each sequence. */
static const struct {
    size_t sequences, queries[SEQUENCES], keys[SEQUENCES];
} batches[] = {{0, {0}, {0}},       {1, {0}, {0}},       {1, {3}, {0}},       {1, {0}, {3}},
               {2, {3, 2}, {0, 0}}, {2, {0, 0}, {3, 2}}, {2, {3, 0}, {0, 2}}, {3, {0, 2, 3}, {1, 3, 0}}};

/* Extents of biases; 0: as many as there are. Longest sequences have 3. */
static const struct {
    size_t rank;
    int64_t shape[4];
} biases[] = {{0, {0}}, {2, {1, 1}}, {2, {4, 200}}, {2, {3, 3}}, {2, {4, 1}}, {3, {HEADS, 1, 5}}, {4, {0, 1, 3, 4}}};

typedef struct scene {
    attention_world world;
    attention_case test;
    locus_tensor t[TENSORS], bias, g_bias, parameters[ATTENTION_PARAMETERS];
} scene;

static locus_tensor filled(locus_dtype dtype, size_t rank, const int64_t *shape, double value) {
    locus_tensor tensor = locus_tensor_view(NULL, dtype, rank, shape), one;
    const int64_t single[] = {1};
    tensor.data = calloc(locus_tensor_count(&tensor) + 1, locus_dtype_size(dtype));
    assert_non_null(tensor.data);
    one = locus_tensor_view(&value, LOCUS_FLOAT64, 1, single);
    for (size_t i = 0; i < locus_tensor_count(&tensor); i++) {
        const locus_tensor to = locus_tensor_view((char *)tensor.data + i * locus_dtype_size(dtype), dtype, 1, single);
        assert_int_equal(locus_tensor_convert(&one, &to, NULL), LOCUS_OK);
    }
    return tensor;
}

static double element(const locus_tensor *tensor, size_t i) {
    const int64_t single[] = {1};
    double value;
    const locus_tensor to = locus_tensor_view(&value, LOCUS_FLOAT64, 1, single);
    const locus_tensor from =
        locus_tensor_view((char *)tensor->data + i * locus_dtype_size(tensor->dtype), tensor->dtype, 1, single);
    assert_int_equal(locus_tensor_convert(&from, &to, NULL), LOCUS_OK);
    return value;
}

static void begin(scene *s, const char *spec, size_t batch, locus_dtype dtype, size_t bias) {
    *s = (scene){.test = {.spec = spec,
                          .heads = HEADS,
                          .kv_heads = KV_HEADS,
                          .head_dim = DIM,
                          .sequences = batches[batch].sequences,
                          .query_lengths = batches[batch].queries,
                          .key_lengths = batches[batch].keys,
                          .mask = LOCUS_MASK_CAUSAL}};
    attention_world_make(&s->world, &s->test);
    const locus_dtype sums = dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32;
    for (int i = 0; i < TENSORS; i++) {
        const bool keys = i == K || i == V || i == DK || i == DV, row = i == GS || i == S;
        const int64_t shape[] = {(int64_t)(keys ? s->world.N : s->world.T), keys ? KV_HEADS : HEADS, DIM};
        s->t[i] = filled(row ? sums : dtype, row ? 2 : 3, shape, i <= GS ? 0.5 : (double)NAN);
    }
    for (size_t i = 0; i < s->world.parameter_count; i++)
        s->parameters[i] = filled(LOCUS_FLOAT64, s->world.values[i].rank, s->world.values[i].shape, 0);
    if (biases[bias].rank == 0)
        return;
    int64_t shape[4];
    for (size_t i = 0; i < 4; i++)
        shape[i] = biases[bias].shape[i] ? biases[bias].shape[i] : (int64_t)s->test.sequences;
    s->bias = filled(dtype, biases[bias].rank, shape, 0.25);
    s->g_bias = filled(dtype, biases[bias].rank, shape, (double)NAN);
    s->world.options.bias = &s->bias;
}

static void end(scene *s) {
    for (int i = 0; i < TENSORS; i++)
        free(s->t[i].data);
    for (size_t i = 0; i < s->world.parameter_count; i++)
        free(s->parameters[i].data);
    free(s->bias.data);
    free(s->g_bias.data);
    attention_world_free(&s->world);
}

static bool run(scene *s, locus_pass pass, locus_error *error) {
    const attention_world *w = &s->world;
    locus_tensor *t = s->t;
    const bool sums = w->options.kind == NULL;
    const locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[S]};
    const locus_attention_gradients gradients = {.size = sizeof gradients,
                                                 .output = &t[GO],
                                                 .query = &t[DQ],
                                                 .key = &t[DK],
                                                 .value = &t[DV],
                                                 .parameters = s->parameters,
                                                 .parameter_count = w->parameter_count,
                                                 .log_sum_exp = sums ? &t[GS] : NULL,
                                                 .bias = s->g_bias.data ? &s->g_bias : NULL};
    const size_t bytes = locus_attention_workspace(w->plan, &w->options, t[Q].dtype, pass, NULL);
    const locus_workspace lent = {bytes > 0 ? locus_allocate(bytes) : NULL, bytes};
    const locus_execution execution = locus_execution_in(lent);
    const locus_status status =
        pass == LOCUS_PASS_FORWARD
            ? locus_attention_forward(w->plan, &w->options, &tensors, &execution, error)
            : locus_attention_backward(w->plan, &w->options, &tensors, &gradients, &execution, error);
    locus_release(lent.data, lent.bytes);
    if (status != LOCUS_OK && status != LOCUS_ERROR_UNSUPPORTED)
        fail_msg("%s, %s: %s", s->test.spec, locus_attention_kind_entry(w->options.kind)->name, error->message);
    return status == LOCUS_OK;
}

/* Rows of tokens whose sequence has nothing on the other side are 0; the others are numbers. */
static void check_rows(const scene *s, int index, bool keys) {
    const attention_world *w = &s->world;
    const size_t row = (size_t)(keys ? KV_HEADS : HEADS) * DIM;
    for (size_t q = 0; q < s->test.sequences; q++) {
        const size_t first = keys ? w->key_offsets[q] : w->query_offsets[q];
        const size_t count = keys ? w->key_lengths[q] : w->query_lengths[q];
        const bool alone = (keys ? w->query_lengths[q] : w->key_lengths[q]) == 0;
        for (size_t i = first * row; i < (first + count) * row; i++) {
            const double value = element(&s->t[index], i);
            if (alone ? value != 0 : !isfinite(value))
                fail_msg("%s, %s: tensor %d of sequence %zu is %g", s->test.spec,
                         locus_attention_kind_entry(w->options.kind)->name, index, q, value);
        }
    }
}

/* What is added to no score has no gradient. With a bias for all pairs it is hard to say which: only where there is no
 * pair at all. */
static void check_bias(const scene *s) {
    bool pairs = false;
    for (size_t q = 0; q < s->test.sequences; q++)
        pairs = pairs || (s->world.query_lengths[q] > 0 && s->world.key_lengths[q] > 0);
    for (size_t i = 0; s->g_bias.data && i < locus_tensor_count(&s->g_bias); i++) {
        const double value = element(&s->g_bias, i);
        if (pairs ? !isfinite(value) : value != 0)
            fail_msg("%s: element %zu of the bias's gradient is %g", s->test.spec, i, value);
    }
    for (size_t p = 0; p < s->world.parameter_count; p++)
        for (size_t i = 0; i < locus_tensor_count(&s->parameters[p]); i++) {
            const double value = element(&s->parameters[p], i);
            const bool sinks = strstr(s->world.parameters[p].name, "sinks") != NULL;
            if (pairs || sinks ? !isfinite(value) : value != 0)
                fail_msg("%s: element %zu of the gradient of %s is %g", s->test.spec, i, s->world.parameters[p].name,
                         value);
        }
}

static void try_case(const char *spec, const char *kind, size_t batch, locus_dtype dtype, size_t bias, size_t *done) {
    locus_error error = {.status = LOCUS_OK};
    scene s;
    begin(&s, spec, batch, dtype, bias);
    s.world.options.kind = kind_of(kind);
    if (strncmp(kind, "soft", 4) == 0 || strncmp(kind, "clustered", 9) == 0)
        s.world.options.mask = s.world.options.kind ? LOCUS_MASK_FULL : LOCUS_MASK_CAUSAL;
    if (run(&s, LOCUS_PASS_FORWARD, &error)) {
        check_rows(&s, O, false);
        assert_true(run(&s, LOCUS_PASS_BACKWARD, &error));
        check_rows(&s, DQ, false);
        check_rows(&s, DK, true);
        check_rows(&s, DV, true);
        check_bias(&s);
        (*done)++;
    }
    end(&s);
}

static void nothing_on_one_side(void **state) {
    static const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_FLOAT64, LOCUS_BFLOAT16};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t done = 0;
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
            for (size_t batch = 0; batch < sizeof batches / sizeof *batches; batch++)
                for (size_t bias = 0; bias < (k == 0 ? sizeof biases / sizeof *biases : 1); bias++)
                    try_case(specs[i], kinds[k], batch, types[(i + batch + bias) % 3], bias, &done);
        assert_true(done >= 4 * sizeof batches / sizeof *batches);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_on_one_side)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

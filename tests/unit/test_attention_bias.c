/* SPDX-License-Identifier: MIT */
/* The bias of a call: laws (zeros change no bit, −∞ where a mask hides is the mask, a gradient of what one element
 * serves is the sum of gradients of its copies), the same bits on any number of threads, and refusals. Values and
 * gradients in all shapes are compared by property.differential and golden.golden_bias. */
#include "attention/attention_bias.h"
#include "kind_of.h"
#include "property/encoding_rig.h"
#include "sanitized.h"
#include "threads_only.h"
#include "unit/attention_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HEADS = 4, DIM = 8, LONGEST = 300 };
enum { Q, K, V, GO, O, DQ, DK, DV, TENSORS };
static const size_t lengths[] = {70, 1, LONGEST, 16};

typedef struct scene {
    attention_world world;
    attention_case test;
    locus_tensor t[TENSORS], sums;
    locus_tensor bias, g_bias;
} scene;

static locus_tensor zeros(locus_dtype dtype, size_t rank, const int64_t *shape) {
    locus_tensor tensor = locus_tensor_view(NULL, dtype, rank, shape);
    tensor.data = calloc(locus_tensor_count(&tensor) + 1, locus_dtype_size(dtype));
    assert_non_null(tensor.data);
    return tensor;
}

static void fill(const locus_tensor *tensor, size_t salt) {
    for (size_t i = 0; i < locus_tensor_count(tensor); i++) {
        const double value = (double)((i * 37 + i / 7 * 11 + salt * 5) % 29) / 16 - 0.875;
        if (tensor->dtype == LOCUS_FLOAT64)
            ((double *)tensor->data)[i] = value;
        else
            ((float *)tensor->data)[i] = (float)value;
    }
}

/* `shape`: of the bias, or NULL. */
static void begin(scene *s, const char *spec, locus_mask mask, locus_dtype dtype, size_t rank, const int64_t *shape) {
    *s = (scene){.test = {.spec = spec,
                          .heads = HEADS,
                          .kv_heads = 2,
                          .head_dim = DIM,
                          .sequences = 4,
                          .query_lengths = lengths,
                          .mask = mask}};
    attention_world_make(&s->world, &s->test);
    for (int i = 0; i < TENSORS; i++) {
        const bool shared = i == K || i == V || i == DK || i == DV;
        const int64_t own[] = {(int64_t)s->world.T, shared ? 2 : HEADS, DIM};
        s->t[i] = zeros(dtype, 3, own);
        if (i <= GO)
            fill(&s->t[i], (size_t)i);
    }
    s->sums = zeros(dtype, 2, s->t[Q].shape);
    if (!shape)
        return;
    s->bias = zeros(dtype, rank, shape);
    s->g_bias = zeros(dtype, rank, shape);
    memset(s->g_bias.data, 0x5a, locus_tensor_count(&s->g_bias) * locus_dtype_size(dtype)); /* all is written */
    s->world.options.bias = &s->bias;
}

static void end(scene *s) {
    for (int i = 0; i < TENSORS; i++)
        free(s->t[i].data);
    free(s->sums.data);
    free(s->bias.data);
    free(s->g_bias.data);
    attention_world_free(&s->world);
}

static locus_status run(scene *s, locus_error *error) {
    locus_tensor *t = s->t, parameters[ATTENTION_PARAMETERS];
    const attention_world *w = &s->world;
    for (size_t i = 0; i < w->parameter_count; i++)
        parameters[i] = zeros(LOCUS_FLOAT64, w->values[i].rank, w->values[i].shape);
    const locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &s->sums};
    const locus_attention_gradients gradients = {.size = sizeof gradients,
                                                 .output = &t[GO],
                                                 .query = &t[DQ],
                                                 .key = &t[DK],
                                                 .value = &t[DV],
                                                 .parameters = parameters,
                                                 .parameter_count = w->parameter_count,
                                                 .bias = s->g_bias.data ? &s->g_bias : NULL};
    locus_status status = LOCUS_OK;
    for (int pass = 0; pass < 2 && status == LOCUS_OK; pass++) {
        locus_workspace lent = {
            NULL, locus_attention_workspace(w->plan, &w->options, t[Q].dtype, (locus_pass)pass, NULL) + 64};
        lent.data = locus_allocate(lent.bytes);
        assert_non_null(lent.data);
        const locus_execution execution = locus_execution_in(lent);
        status = pass == 0 ? locus_attention_forward(w->plan, &w->options, &tensors, &execution, error)
                           : locus_attention_backward(w->plan, &w->options, &tensors, &gradients, &execution, error);
        locus_release(lent.data, lent.bytes);
    }
    for (size_t i = 0; i < w->parameter_count; i++)
        free(parameters[i].data);
    return status;
}

static void run_well(scene *s) {
    locus_error error = {.status = LOCUS_OK};
    if (run(s, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
}

static void same_bits(const scene *a, const scene *b) {
    for (int i = O; i < TENSORS; i++)
        assert_memory_equal(a->t[i].data, b->t[i].data, locus_tensor_count(&a->t[i]) * locus_dtype_size(a->t[i].dtype));
    assert_memory_equal(a->sums.data, b->sums.data, locus_tensor_count(&a->sums) * locus_dtype_size(a->sums.dtype));
}

static void zeros_change_no_bit(void **state) {
    static const char *const specs[] = {"rope", "alibi + scores(sinks=on, cap=4)", "relative(window=20, values=on)",
                                        "cope(max=9) + decay"};
    const int64_t shape[] = {LONGEST + 3, LONGEST};
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        scene with, without;
        begin(&without, specs[i], LOCUS_MASK_CAUSAL, LOCUS_FLOAT32, 0, NULL);
        begin(&with, specs[i], LOCUS_MASK_CAUSAL, LOCUS_FLOAT32, 2, shape);
        run_well(&without);
        run_well(&with);
        same_bits(&without, &with);
        end(&without);
        end(&with);
    }
}

static void an_infinite_bias_is_the_mask(void **state) {
    const int64_t shape[] = {1, LONGEST, LONGEST};
    (void)state;
    scene masked, biased;
    begin(&masked, "rope + alibi", LOCUS_MASK_CAUSAL, LOCUS_FLOAT64, 0, NULL);
    begin(&biased, "rope + alibi", LOCUS_MASK_FULL, LOCUS_FLOAT64, 3, shape);
    for (size_t i = 0; i < LONGEST * LONGEST; i++)
        ((double *)biased.bias.data)[i] = i % LONGEST > i / LONGEST ? -INFINITY : 0;
    run_well(&masked);
    run_well(&biased);
    for (int i = O; i < TENSORS; i++)
        for (size_t j = 0; j < locus_tensor_count(&masked.t[i]); j++) {
            const double got = ((double *)biased.t[i].data)[j], want = ((double *)masked.t[i].data)[j];
            assert_true(fabs(got - want) <= 1e-13 * (1 + fabs(want)));
        }
    for (size_t i = 0; i < LONGEST * LONGEST; i++)
        if (i % LONGEST > i / LONGEST)
            assert_true(((double *)biased.g_bias.data)[i] == 0);
    end(&masked);
    end(&biased);
}

/* The same for a window: keys outside of it have no gates. */
static void an_infinite_bias_is_the_window(void **state) {
    static const char *const specs[] = {"rope", "cope(max=9)", "relative(window=30, values=on)"};
    const int64_t shape[] = {LONGEST, LONGEST};
    (void)state;
    for (size_t spec = 0; spec < 3; spec++) {
        scene masked, biased;
        begin(&masked, specs[spec], LOCUS_MASK_CAUSAL, LOCUS_FLOAT64, 2, shape);
        begin(&biased, specs[spec], LOCUS_MASK_CAUSAL, LOCUS_FLOAT64, 2, shape);
        masked.world.options.window = 12;
        fill(&masked.bias, 3);
        fill(&biased.bias, 3);
        for (size_t i = 0; i < LONGEST; i++)
            for (size_t j = 0; j + 12 <= i; j++)
                ((double *)biased.bias.data)[i * LONGEST + j] = -INFINITY;
        run_well(&masked);
        run_well(&biased);
        for (int i = GO; i < TENSORS; i++) {
            const locus_tensor *one = i == GO ? &masked.g_bias : &masked.t[i];
            const locus_tensor *other = i == GO ? &biased.g_bias : &biased.t[i];
            for (size_t j = 0; j < locus_tensor_count(one); j++) {
                const double got = ((double *)other->data)[j], want = ((double *)one->data)[j];
                assert_true(fabs(got - want) <= 1e-13 * (1 + fabs(want)));
            }
        }
        end(&masked);
        end(&biased);
    }
}

/* Between kept keys and the window nobody sees a value that is no number. */
static void unseen_values_give_no_gradient(void **state) {
    enum { WINDOW = 12, KEPT = 3, AT = 20 };
    const int64_t shape[] = {LONGEST, LONGEST};
    (void)state;
    scene s;
    begin(&s, "rope", LOCUS_MASK_CAUSAL, LOCUS_FLOAT64, 2, shape);
    s.world.options.window = WINDOW;
    s.world.options.keep = KEPT;
    const size_t token = lengths[0] + lengths[1] + AT, row = 2 * DIM;
    for (size_t i = 0; i < row; i++)
        ((double *)s.t[V].data)[token * row + i] = NAN;
    run_well(&s);
    for (size_t i = AT + WINDOW; i < LONGEST; i++)
        for (size_t j = 0; j < LONGEST; j++) {
            const double got = ((double *)s.g_bias.data)[i * LONGEST + j];
            assert_true(j < KEPT || (j + WINDOW > i && j <= i) ? isfinite(got) : got == 0);
        }
    end(&s);
}

static void a_row_of_infinities_is_empty(void **state) {
    const int64_t shape[] = {1, 1};
    (void)state;
    scene s;
    begin(&s, "rope", LOCUS_MASK_FULL, LOCUS_FLOAT32, 2, shape);
    *(float *)s.bias.data = -INFINITY;
    run_well(&s);
    for (int i = O; i < TENSORS; i++)
        for (size_t j = 0; j < locus_tensor_count(&s.t[i]); j++)
            assert_true(((float *)s.t[i].data)[j] == 0);
    for (size_t j = 0; j < locus_tensor_count(&s.sums); j++)
        assert_true(((float *)s.sums.data)[j] == -INFINITY);
    assert_true(*(float *)s.g_bias.data == 0);
    end(&s);
}

/* Element [s, h, i, j] of a bias whose extents may be 1. */
static double *element(const locus_tensor *bias, const size_t index[4]) {
    int64_t at = 0;
    for (size_t d = 0; d < 4; d++)
        at += bias->shape[d] == 1 ? 0 : (int64_t)index[d] * bias->stride[d];
    return (double *)bias->data + at;
}

/* Which dimensions are 1; under sanitizers, which look at memory alone, none, every second one, the others, all. */
enum { KIND_STRIDE = SANITIZED(5, 1) };

static void check_sums(const char *spec) {
    const int64_t full[] = {4, HEADS, LONGEST, LONGEST};
    for (size_t kind = 0; kind < 16; kind += KIND_STRIDE) {
        int64_t shape[4];
        for (size_t d = 0; d < 4; d++)
            shape[d] = kind >> d & 1 ? 1 : full[d];
        scene whole, shared;
        begin(&whole, spec, LOCUS_MASK_CAUSAL, LOCUS_FLOAT64, 4, full);
        begin(&shared, spec, LOCUS_MASK_CAUSAL, LOCUS_FLOAT64, 4, shape);
        fill(&shared.bias, kind);
        double *sums = calloc(locus_tensor_count(&shared.bias), sizeof *sums);
        locus_tensor summed = shared.bias;
        assert_non_null(sums);
        summed.data = sums;
        size_t at[4];
        for (size_t i = 0; i < locus_tensor_count(&whole.bias); i++) {
            for (size_t d = 4, rest = i; d-- > 0; rest /= (size_t)full[d])
                at[d] = rest % (size_t)full[d];
            *element(&whole.bias, at) = *element(&shared.bias, at);
        }
        run_well(&whole);
        run_well(&shared);
        same_bits(&whole, &shared);
        for (size_t i = 0; i < locus_tensor_count(&whole.bias); i++) {
            for (size_t d = 4, rest = i; d-- > 0; rest /= (size_t)full[d])
                at[d] = rest % (size_t)full[d];
            *element(&summed, at) += *element(&whole.g_bias, at);
        }
        for (size_t i = 0; i < locus_tensor_count(&shared.bias); i++)
            assert_true(fabs(((double *)shared.g_bias.data)[i] - sums[i]) < 1e-12);
        free(sums);
        end(&whole);
        end(&shared);
    }
}

static void shared_elements_get_sums(void **state) {
    (void)state;
    check_sums("rope");
    check_sums("cope(max=9)");
}

static void same_bits_on_any_number_of_threads(void **state) {
    const int64_t shapes[][4] = {{1, 1, LONGEST, LONGEST}, {1, HEADS, LONGEST, LONGEST}, {4, 1, 1, LONGEST}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        scene one, more;
        assert_int_equal(locus_threads_set(1), LOCUS_OK);
        begin(&one, "algebraic(group=seq, values=on)", LOCUS_MASK_CAUSAL, LOCUS_FLOAT32, 4, shapes[i]);
        fill(&one.bias, i);
        run_well(&one);
        for (size_t threads = 2; threads <= 3; threads++) {
            assert_int_equal(locus_threads_set(threads), LOCUS_OK);
            begin(&more, "algebraic(group=seq, values=on)", LOCUS_MASK_CAUSAL, LOCUS_FLOAT32, 4, shapes[i]);
            fill(&more.bias, i);
            run_well(&more);
            same_bits(&one, &more);
            assert_memory_equal(one.g_bias.data, more.g_bias.data, locus_tensor_count(&one.g_bias) * sizeof(float));
            end(&more);
        }
        end(&one);
        assert_int_equal(locus_threads_set(0), LOCUS_OK);
    }
}

/* ---- refusals ---- */

static void refuse(scene *s, locus_status status, const char *argument) {
    locus_error error = {.status = LOCUS_OK};
    assert_int_equal(run(s, &error), status);
    assert_string_equal(error.argument, argument);
    assert_true(strlen(error.message) > 15);
    assert_null(strchr(error.message, '\n'));
    end(s);
}

static void bad_biases_are_refused(void **state) {
    const int64_t good[] = {4, HEADS, LONGEST, LONGEST};
    (void)state;
    for (size_t d = 0; d < 4; d++)
        for (int64_t less = 1; less <= good[d] && less <= 3; less += 2) {
            scene s;
            begin(&s, "rope", LOCUS_MASK_FULL, LOCUS_FLOAT32, 4, good);
            s.bias.shape[d] -= less;
            if (s.bias.shape[d] != 1)
                refuse(&s, LOCUS_ERROR_SHAPE, "bias");
            else
                end(&s);
        }
    scene s;
    for (int kind = 0; kind < 13; kind++) {
        begin(&s, "rope", LOCUS_MASK_CAUSAL, LOCUS_FLOAT32, 4, good);
        void *data = s.bias.data, *own = s.g_bias.data;
        const char *argument = kind < 5 || kind == 7 || kind == 8 ? "bias" : "gradients.bias";
        locus_status status = LOCUS_ERROR_SHAPE;
        if (kind == 0)
            s.bias.rank = 1;
        if (kind == 1)
            s.bias.rank = 5;
        if (kind == 2)
            status = LOCUS_ERROR_DTYPE, s.bias.dtype = (locus_dtype)77;
        if (kind == 3)
            status = LOCUS_ERROR_ARGUMENT, s.bias.data = NULL;
        if (kind == 4)
            status = LOCUS_ERROR_UNSUPPORTED, s.bias.device = (locus_device)1;
        if (kind == 5)
            s.g_bias.shape[3]--;
        if (kind == 6)
            s.g_bias.stride[2] = 0;
        if (kind == 7)
            status = LOCUS_ERROR_UNSUPPORTED, s.world.options.kind = kind_of("soft"),
            s.world.options.mask = LOCUS_MASK_FULL;
        if (kind == 8)
            status = LOCUS_ERROR_UNSUPPORTED, s.world.options.kind = kind_of("linear");
        if (kind == 9)
            status = LOCUS_ERROR_ARGUMENT, s.world.options.bias = NULL;
        if (kind == 10)
            status = LOCUS_ERROR_ARGUMENT, s.g_bias.data = s.bias.data;
        if (kind == 11)
            status = LOCUS_ERROR_ARGUMENT, s.bias.data = s.t[O].data, argument = "output";
        if (kind == 12)
            s.g_bias.rank = 3;
        locus_error error = {.status = LOCUS_OK};
        assert_int_equal(run(&s, &error), status);
        assert_string_equal(error.argument, argument);
        assert_null(strchr(error.message, '\n'));
        s.bias.data = data;
        s.g_bias.data = own;
        end(&s);
    }
}

/* No row or no column is enough where no sequence has any. */
static void a_bias_of_nothing(void **state) {
    (void)state;
    static const size_t counts[][2] = {{3, 0}, {0, 3}, {0, 0}};
    for (size_t i = 0; i < 3; i++) {
        const int64_t shape[] = {(int64_t)counts[i][0], (int64_t)counts[i][1]};
        float none = 0;
        const locus_tensor bias = locus_tensor_view(&none, LOCUS_FLOAT32, 2, shape);
        rig r;
        rig_bind(&r, "alibi", rig_shape(2, 4, 0, 0), 1);
        rig_place(&r, rig_positions(NULL, counts[i][0]), rig_positions(NULL, counts[i][1]));
        rig_ok(locus_attention_bias_check(r.plan, &bias, error));
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_change_no_bit),
        cmocka_unit_test(an_infinite_bias_is_the_mask),
        cmocka_unit_test(an_infinite_bias_is_the_window),
        cmocka_unit_test(a_row_of_infinities_is_empty),
        cmocka_unit_test(unseen_values_give_no_gradient),
        cmocka_unit_test(shared_elements_get_sums),
        cmocka_unit_test(a_bias_of_nothing),
        cmocka_unit_test(same_bits_on_any_number_of_threads),
        cmocka_unit_test(bad_biases_are_refused),
    };
    threads_only("same_bits*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

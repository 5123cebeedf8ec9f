/* SPDX-License-Identifier: MIT */
/* See score_scene.h. */
#include "score_scene.h"

#include <stdio.h>

static void lay_out(const score_layout *layout, const size_t *lengths, size_t *own, size_t *offsets) {
    offsets[0] = 0;
    for (size_t s = 0; s < layout->sequences; s++) {
        own[s] = lengths[s];
        offsets[s + 1] = offsets[s] + lengths[s] + 1;
    }
}

static locus_positions *make_positions(const score_scene *s, bool keys, bool reals) {
    const size_t *offsets = keys ? s->key_offsets : s->query_offsets;
    const size_t *lengths = keys ? s->key_lengths : s->query_lengths;
    const size_t tokens = offsets[s->sequences];
    double *real = calloc(tokens + 1, sizeof *real);
    int64_t *whole = calloc(tokens + 1, sizeof *whole);
    assert_true(real && whole);
    for (size_t i = 0; i < s->sequences; i++)
        for (size_t j = 0; j < lengths[i]; j++) {
            const size_t t = offsets[i] + j;
            whole[t] = (int64_t)j + (keys ? 0 : (int64_t)s->key_lengths[i] - (int64_t)s->query_lengths[i]);
            real[t] = (double)whole[t] + (j % 3 == 1 ? 1.0 / 3 : 0);
        }
    const locus_packing packing = {sizeof packing, s->sequences, offsets, lengths};
    locus_positions *positions = NULL;
    if (reals)
        rig_ok(locus_positions_create_real(&positions, NULL, &packing, real, error));
    else
        rig_ok(locus_positions_create(&positions, NULL, &packing, whole, error));
    free(real);
    free(whole);
    return positions;
}

static void draw_parameters(rig *r, uint64_t *noise) {
    for (size_t i = 0; i < r->count; i++) {
        const char *point = strrchr(r->info[i].name, '.'), *name = point ? point + 1 : r->info[i].name;
        double *values = r->values[i].data;
        if (strcmp(name, "table") == 0 || strcmp(name, "sinks") == 0)
            for (size_t j = 0; j < rig_elements(&r->info[i]); j++)
                values[j] = rig_random(noise);
    }
    rig_ok(locus_binding_update(&r->binding, r->values, r->count, error));
}

void score_scene_open(score_scene *s, const char *spec, locus_shape shape, const score_layout *layout) {
    uint64_t noise = 1;
    memset(s, 0, sizeof *s);
    rig_bind(&s->r, spec, shape, 3);
    draw_parameters(&s->r, &noise);
    s->sequences = layout->sequences;
    lay_out(layout, layout->queries, s->query_lengths, s->query_offsets);
    lay_out(layout, layout->keys, s->key_lengths, s->key_offsets);
    s->T = s->query_offsets[s->sequences];
    s->N = s->key_offsets[s->sequences];
    rig_place(&s->r, make_positions(s, false, layout->reals), make_positions(s, true, layout->reals));
    const size_t kv = shape.kv_heads ? shape.kv_heads : shape.heads;
    const size_t value_dim = shape.value_dim ? shape.value_dim : shape.head_dim;
    s->query_row = shape.heads * shape.head_dim;
    s->key_row = kv * shape.head_dim;
    s->value_row = kv * value_dim;
    s->output_row = shape.heads * value_dim;
    s->options = locus_attention_default();
    s->options.dropout_key = (locus_random){20240711, LOCUS_RANDOM_USER + 1, 5};
    s->q = rig_normal(s->T * s->query_row, &noise);
    s->k = rig_normal(s->N * s->key_row, &noise);
    s->v = rig_normal(s->N * s->value_row, &noise);
    s->go = rig_normal(s->T * s->output_row, &noise);
    s->o = rig_normal(s->T * s->output_row, &noise);
    s->log_sum_exp = rig_normal(s->T * shape.heads, &noise);
    s->dq = rig_normal(s->T * s->query_row, &noise);
    s->dk = rig_normal(s->N * s->key_row, &noise);
    s->dv = rig_normal(s->N * s->value_row, &noise);
    for (size_t t = 0; t < s->T; t++) /* exact in float32, so that both types are given the same */
        for (size_t i = 0; i < s->query_row; i++)
            s->q[t * s->query_row + i] = (double)(float)s->q[t * s->query_row + i];
}

void score_scene_close(score_scene *s) {
    double *const arrays[] = {s->q, s->k, s->v, s->go, s->o, s->log_sum_exp, s->dq, s->dk, s->dv};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    rig_close(&s->r);
}

/* ---- runs ---- */

enum { Q, K, V, GO, O, SUMS, DQ, DK, DV, TENSORS };

static void copy_in(const locus_tensor *tensor, const double *values) {
    for (size_t i = 0; i < locus_tensor_count(tensor); i++)
        if (tensor->dtype == LOCUS_FLOAT32)
            ((float *)tensor->data)[i] = (float)values[i];
        else
            ((double *)tensor->data)[i] = values[i];
}

static void copy_out(const locus_tensor *tensor, double *values) {
    for (size_t i = 0; i < locus_tensor_count(tensor); i++)
        values[i] = tensor->dtype == LOCUS_FLOAT32 ? (double)((float *)tensor->data)[i] : ((double *)tensor->data)[i];
}

static void attend(score_scene *s, const locus_tensor *t, bool backward) {
    const locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[SUMS]};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[GO],
                                                 .query = &t[DQ],
                                                 .key = &t[DK],
                                                 .value = &t[DV],
                                                 .parameters = s->r.gradients,
                                                 .parameter_count = s->r.count};
    for (int pass = 0; pass <= backward; pass++) {
        const locus_pass which = pass ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD;
        const locus_workspace workspace =
            rig_lend(locus_attention_workspace(s->r.plan, &s->options, t[Q].dtype, which, NULL));
        const locus_execution execution = locus_execution_in(workspace);
        if (pass)
            rig_ok(locus_attention_backward(s->r.plan, &s->options, &tensors, &gradients, &execution, error));
        else
            rig_ok(locus_attention_forward(s->r.plan, &s->options, &tensors, &execution, error));
        rig_workspace_free(workspace);
    }
}

void score_scene_run(score_scene *s, locus_dtype dtype, bool backward) {
    const locus_shape *shape = &s->r.shape;
    const size_t kv = shape->kv_heads ? shape->kv_heads : shape->heads;
    const size_t tokens[TENSORS] = {s->T, s->N, s->N, s->T, s->T, s->T, s->T, s->N, s->N};
    const size_t heads[TENSORS] = {shape->heads, kv, kv, shape->heads, shape->heads, shape->heads,
                                   shape->heads, kv, kv};
    const size_t value_dim = s->value_row / kv;
    const size_t dims[TENSORS] = {shape->head_dim, shape->head_dim, value_dim, value_dim, value_dim, 1,
                                  shape->head_dim, shape->head_dim, value_dim};
    double *const arrays[TENSORS] = {s->q, s->k, s->v, s->go, s->o, s->log_sum_exp, s->dq, s->dk, s->dv};
    locus_tensor t[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        const int64_t sizes[] = {(int64_t)tokens[i], (int64_t)heads[i], (int64_t)dims[i]};
        t[i] = locus_tensor_view(NULL, dtype, i == SUMS ? 2 : 3, sizes);
        t[i].data = calloc(locus_tensor_count(&t[i]) + 1, sizeof(double));
        assert_non_null(t[i].data);
        for (size_t j = 0; i >= O && j < locus_tensor_count(&t[i]); j++)
            arrays[i][j] = SCORE_SCENE_GAP;
        copy_in(&t[i], arrays[i]);
    }
    for (size_t i = 0; i < s->r.count; i++)
        memset(s->r.gradients[i].data, 0, rig_elements(&s->r.info[i]) * sizeof(double));
    attend(s, t, backward);
    for (int i = 0; i < TENSORS; i++) {
        if (i >= O)
            copy_out(&t[i], arrays[i]);
        free(t[i].data);
    }
}

bool score_scene_used(const score_scene *s, bool keys, size_t token) {
    const size_t *offsets = keys ? s->key_offsets : s->query_offsets;
    for (size_t i = 0; i < s->sequences; i++)
        if (token >= offsets[i] && token < offsets[i + 1])
            return token < offsets[i] + (keys ? s->key_lengths : s->query_lengths)[i];
    return false;
}

double score_scene_loss(score_scene *s) {
    double sum = 0;
    score_scene_run(s, LOCUS_FLOAT64, false);
    for (size_t t = 0; t < s->T; t++)
        for (size_t i = 0; score_scene_used(s, false, t) && i < s->output_row; i++)
            sum += s->o[t * s->output_row + i] * s->go[t * s->output_row + i];
    return sum;
}

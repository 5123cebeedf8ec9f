/* SPDX-License-Identifier: MIT */
/* A small attention over drawn positions of any group, for tests of encodings from outside: its outputs and all of its
 * gradients, in either type. */
#ifndef TESTS_REGISTERED_SCENE_H
#define TESTS_REGISTERED_SCENE_H

#include "property/group_positions.h"

enum { SCENE_HEADS = 3, SCENE_DIM = 6, SCENE_WIDTH = SCENE_HEADS * SCENE_DIM };
enum { SCENE_Q, SCENE_K, SCENE_V, SCENE_GO, SCENE_O, SCENE_SUMS, SCENE_DQ, SCENE_DK, SCENE_DV, SCENE_TENSORS };

typedef struct scene {
    rig r;
    size_t tokens[2];            /* of queries, of keys */
    double *data[SCENE_TENSORS]; /* as wide as they are long: results of float32 are widened; gaps hold 0 */
    locus_attention_options options;
} scene;

static inline size_t scene_rows(const scene *s, int which) {
    const bool keys = which == SCENE_K || which == SCENE_V || which == SCENE_DK || which == SCENE_DV;
    return s->tokens[keys];
}

static inline size_t scene_count(const scene *s, int which) {
    return scene_rows(s, which) * (which == SCENE_SUMS ? SCENE_HEADS : SCENE_WIDTH);
}

/* `keys` NULL: they stand where queries stand; the scene has the positions from now on. Data are exact in float32. */
static inline void scene_stand(scene *s, const char *spec, locus_positions *queries, locus_positions *keys) {
    uint64_t noise = 11;
    memset(s, 0, sizeof *s);
    rig_bind(&s->r, spec, rig_shape(SCENE_HEADS, SCENE_DIM, 0, 0), 3);
    rig_place(&s->r, queries, keys);
    s->tokens[0] = locus_positions_tokens(queries);
    s->tokens[1] = locus_positions_tokens(keys ? keys : queries);
    s->options = locus_attention_default();
    for (int i = 0; i < SCENE_TENSORS; i++) {
        s->data[i] = rig_normal(scene_count(s, i), &noise);
        for (size_t j = 0; j < scene_count(s, i); j++)
            s->data[i][j] = (double)(float)s->data[i][j];
    }
}

static inline void scene_open(scene *s, const char *spec, const group_drawing *queries, const group_drawing *keys) {
    uint64_t state = 5;
    locus_positions *own = group_positions(queries, &state);
    scene_stand(s, spec, own, keys ? group_positions(keys, &state) : NULL);
}

static inline void scene_close(scene *s) {
    for (int i = 0; i < SCENE_TENSORS; i++)
        free(s->data[i]);
    rig_close(&s->r);
}

/* The status of the pass that failed, or of the last one. */
static inline locus_status scene_try(scene *s, locus_dtype dtype, bool backward, locus_error *failure) {
    locus_tensor t[SCENE_TENSORS];
    for (int i = 0; i < SCENE_TENSORS; i++) {
        const int64_t shape[] = {(int64_t)scene_rows(s, i), SCENE_HEADS, SCENE_DIM};
        t[i] = locus_tensor_view(calloc(scene_count(s, i) + 1, sizeof(double)), dtype, i == SCENE_SUMS ? 2 : 3, shape);
        const locus_tensor own = locus_tensor_view(s->data[i], LOCUS_FLOAT64, t[i].rank, shape);
        if (i < SCENE_O)
            rig_ok(locus_tensor_convert(&own, &t[i], error));
    }
    for (size_t i = 0; i < s->r.count; i++)
        memset(s->r.gradients[i].data, 0, rig_elements(&s->r.info[i]) * sizeof(double));
    const locus_attention_tensors tensors = {sizeof tensors, &t[SCENE_Q], &t[SCENE_K],
                                             &t[SCENE_V],    &t[SCENE_O], &t[SCENE_SUMS]};
    const locus_attention_gradients gradients = {.size = sizeof gradients,
                                                 .output = &t[SCENE_GO],
                                                 .query = &t[SCENE_DQ],
                                                 .key = &t[SCENE_DK],
                                                 .value = &t[SCENE_DV],
                                                 .parameters = s->r.gradients,
                                                 .parameter_count = s->r.count};
    locus_status status = LOCUS_OK;
    for (int pass = 0; pass <= backward && status == LOCUS_OK; pass++) {
        const locus_pass which = pass ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD;
        const locus_workspace workspace =
            rig_lend(locus_attention_workspace(s->r.plan, &s->options, dtype, which, NULL));
        const locus_execution execution = locus_execution_in(workspace);
        if (pass)
            status = locus_attention_backward(s->r.plan, &s->options, &tensors, &gradients, &execution, failure);
        else
            status = locus_attention_forward(s->r.plan, &s->options, &tensors, &execution, failure);
        rig_workspace_free(workspace);
    }
    for (int i = 0; i < SCENE_TENSORS; i++) {
        const locus_tensor own = locus_tensor_view(s->data[i], LOCUS_FLOAT64, t[i].rank, t[i].shape);
        if (i >= SCENE_O)
            rig_ok(locus_tensor_convert(&t[i], &own, error));
        free(t[i].data);
    }
    return status;
}

static inline void scene_run(scene *s, locus_dtype dtype, bool backward) {
    rig_ok(scene_try(s, dtype, backward, error));
}

/* Σ do ∘ o, forward in double. */
static inline double scene_loss(scene *s) {
    double sum = 0;
    scene_run(s, LOCUS_FLOAT64, false);
    for (size_t i = 0; i < scene_count(s, SCENE_O); i++)
        sum += s->data[SCENE_O][i] * s->data[SCENE_GO][i];
    return sum;
}

#endif

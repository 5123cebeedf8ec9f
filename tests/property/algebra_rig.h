/* SPDX-License-Identifier: MIT */
/* What tests of groups share: random elements, plans on them, operators read off by applying to unit vectors, and
 * attention in one call. */
#ifndef TESTS_ALGEBRA_RIG_H
#define TESTS_ALGEBRA_RIG_H

#include "encoding_rig.h"

#include <stdio.h>

#define ALGEBRA_TEXT 512

/* How far random elements go: |value| on axes, letters of a word. */
typedef struct algebra_reach {
    int64_t value;
    size_t letters;
} algebra_reach;

static inline locus_group *algebra_group(const char *text) {
    locus_group *group = NULL;
    rig_ok(locus_group_parse(text, &group, error));
    return group;
}

static inline int64_t algebra_below(uint64_t *state, int64_t bound) {
    const locus_random stream = {.seed = 4711, .purpose = LOCUS_RANDOM_USER, .step = 1};
    return (int64_t)locus_random_below(&stream, (*state)++, (uint64_t)bound);
}

/* Signed branches, not necessarily reduced; half of the words only go down. */
static inline size_t algebra_word(int64_t branches, size_t letters, uint64_t *state, int64_t *word) {
    const size_t length = (size_t)algebra_below(state, (int64_t)letters + 1);
    const bool down = algebra_below(state, 2) == 0;
    for (size_t i = 0; i < length; i++) {
        word[i] = 1 + algebra_below(state, branches);
        if (!down && algebra_below(state, 2) == 0)
            word[i] = -word[i];
    }
    return length;
}

static inline size_t algebra_coordinate_text(locus_coordinate coordinate, algebra_reach reach, uint64_t *state,
                                             char *text, size_t size) {
    if (coordinate.kind != LOCUS_COORDINATE_TREE)
        return (size_t)snprintf(text, size, "%lld",
                                (long long)(algebra_below(state, 2 * reach.value + 1) - reach.value));
    int64_t word[64];
    assert_true(reach.letters <= 64);
    const size_t length = algebra_word(coordinate.size, reach.letters, state, word);
    size_t used = length == 0 ? (size_t)snprintf(text, size, "0") : 0;
    for (size_t i = 0; i < length; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%lld", i > 0 && word[i] > 0 ? "+" : "", (long long)word[i]);
    return used;
}

static inline locus_path *algebra_path(const locus_group *group, const char *text) {
    locus_path *path = NULL;
    rig_ok(locus_path_parse(group, text, &path, error));
    return path;
}

static inline locus_path *algebra_random_path(const locus_group *group, algebra_reach reach, uint64_t *state) {
    const size_t count = locus_group_coordinates(group);
    char text[ALGEBRA_TEXT];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", i > 0 ? "," : count > 1 ? "(" : "");
        used +=
            algebra_coordinate_text(locus_group_coordinate(group, i), reach, state, text + used, sizeof text - used);
        assert_true(used + 2 < sizeof text);
    }
    if (count > 1)
        (void)snprintf(text + used, sizeof text - used, ")");
    return algebra_path(group, text);
}

static inline locus_path *algebra_sum(const locus_path *a, const locus_path *b) {
    locus_path *sum = NULL;
    rig_ok(locus_path_compose(a, b, &sum, error));
    return sum;
}

/* One sequence of paths. */
static inline locus_positions *algebra_positions(const locus_group *group, locus_path *const *paths, size_t count) {
    const size_t offsets[] = {0, count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create_paths(&positions, group, &packing, (const locus_path *const *)paths, error));
    return positions;
}

static inline locus_positions *algebra_random_positions(const locus_group *group, algebra_reach reach, size_t count,
                                                        uint64_t *state) {
    locus_path **paths = calloc(count + 1, sizeof(locus_path *));
    assert_non_null(paths);
    for (size_t i = 0; i < count; i++)
        paths[i] = algebra_random_path(group, reach, state);
    locus_positions *positions = algebra_positions(group, paths, count);
    for (size_t i = 0; i < count; i++)
        locus_path_destroy(&paths[i]);
    free(paths);
    return positions;
}

/* Random parameters in place of the initial ones; before rig_place. */
static inline void algebra_scatter(rig *r, double scale, uint64_t *state) {
    for (size_t p = 0; p < r->count; p++)
        for (size_t i = 0; i < rig_elements(&r->info[p]); i++)
            ((double *)r->values[p].data)[i] = strstr(r->info[p].name, "rate") ? 0.93 : scale * rig_random(state);
    rig_ok(locus_binding_update(&r->binding, r->values, r->count, error));
}

/* A scale at which generators of a spec are neither near the identity nor wild. */
static inline double algebra_scale(const char *spec) {
    return strstr(spec, "householder") || strstr(spec, "angles") ? 1 : strncmp(spec, "liere", 5) == 0 ? 0.1 : 0.3;
}

/* ⌈p⌉ of every position and head as matrices [position, head, dim, dim]. */
static inline double *algebra_operators(const rig *r, size_t count) {
    const size_t dim = r->shape.head_dim, row = r->shape.heads * dim;
    double *x = calloc(count * row, sizeof *x), *y = calloc(count * row, sizeof *y);
    double *all = calloc(count * row * dim, sizeof *all);
    assert_true(x && y && all);
    for (size_t c = 0; c < dim; c++) {
        for (size_t i = 0; i < count * row; i++)
            x[i] = i % dim == c;
        rig_apply(r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT64, count, x, y);
        for (size_t i = 0; i < count * row; i++)
            all[i * dim + c] = y[i];
    }
    free(x), free(y);
    return all;
}

/* max |A·B − C|, A or B transposed on request; C NULL: the identity. */
static inline double algebra_product_error(size_t n, const double *A, bool a_transposed, const double *B,
                                           bool b_transposed, const double *C) {
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = C ? -C[i * n + j] : -(double)(i == j);
            for (size_t k = 0; k < n; k++)
                sum += (a_transposed ? A[k * n + i] : A[i * n + k]) * (b_transposed ? B[j * n + k] : B[k * n + j]);
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

/* ---- attention: full mask, arrays of doubles or floats as `dtype` says ---- */

typedef struct algebra_attention {
    size_t tokens;
    locus_dtype dtype;
    void *q, *k, *v, *go;    /* given */
    void *o, *dq, *dk, *dv;  /* results; go NULL: no backward */
    locus_tensor *gradients; /* r->count tensors, added to; NULL: not wanted */
} algebra_attention;

static inline void algebra_attend(const rig *r, const algebra_attention *a) {
    locus_tensor t[8];
    void *const data[] = {a->q, a->k, a->v, a->go, a->o, a->dq, a->dk, a->dv};
    for (size_t i = 0; i < 8; i++) {
        const bool value = i == 2 || i == 3 || i == 4 || i == 7;
        t[i] = rig_view(r, value ? LOCUS_ROLE_VALUE : LOCUS_ROLE_QUERY, data[i], a->dtype, a->tokens);
    }
    const int64_t rows[] = {(int64_t)a->tokens, (int64_t)r->shape.heads};
    locus_tensor log_sum_exp =
        locus_tensor_view(calloc(a->tokens * r->shape.heads + 1, sizeof(double)), a->dtype, 2, rows);
    const locus_attention_options options = locus_attention_default();
    size_t forward = locus_attention_workspace(r->plan, &options, a->dtype, LOCUS_PASS_FORWARD, NULL);
    size_t backward = locus_attention_workspace(r->plan, &options, a->dtype, LOCUS_PASS_BACKWARD, NULL);
    locus_workspace workspace = {NULL, forward > backward ? forward : backward};
    workspace.data = locus_allocate(workspace.bytes + 1);
    assert_true(workspace.data && log_sum_exp.data);
    const locus_attention_tensors tensors = {sizeof tensors, &t[0], &t[1], &t[2], &t[4], &log_sum_exp};
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_attention_forward(r->plan, &options, &tensors, &execution, error));
    if (a->go) {
        const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                     .output = &t[3],
                                                     .query = &t[5],
                                                     .key = &t[6],
                                                     .value = &t[7],
                                                     .parameters = a->gradients,
                                                     .parameter_count = a->gradients ? r->count : 0};
        rig_ok(locus_attention_backward(r->plan, &options, &tensors, &gradients, &execution, error));
    }
    locus_release(workspace.data, workspace.bytes + 1);
    free(log_sum_exp.data);
}

#endif

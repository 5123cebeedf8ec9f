/* SPDX-License-Identifier: MIT */
/* What examples 3 to 9 and 12 share: from a spec and positions written as text to operators on vectors. Every call of
 * the library is here once, in its order: parse, initialise, bind, paths, positions, plan, apply. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <locus/locus.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXAMPLE_HEAD_DIM = 24, EXAMPLE_PARAMETERS = 4 };

typedef struct example {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_tensor parameters[EXAMPLE_PARAMETERS]; /* float64; what the encoding learns */
    size_t parameter_count;
} example;

/* An example's way with errors: say what the library says, and stop. */
static inline void example_need(locus_status status, const locus_error *error) {
    if (status != LOCUS_OK) {
        (void)fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

/* One head of 24 dimensions, with parameters as they are before training. */
static inline void example_open(example *e, const char *spec) {
    locus_error error = {0};
    locus_shape shape = locus_shape_default();
    shape.heads = 1;
    shape.head_dim = EXAMPLE_HEAD_DIM;
    *e = (example){0};
    example_need(locus_encoding_parse(spec, &e->encoding, &error), &error);
    example_need(locus_encoding_parameter_count(e->encoding, &shape, &e->parameter_count, &error), &error);
    for (size_t i = 0; i < e->parameter_count; i++) {
        locus_parameter info = {.size = sizeof info};
        example_need(locus_encoding_parameter(e->encoding, &shape, i, &info, &error), &error);
        e->parameters[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info.rank, info.shape);
        e->parameters[i].data = calloc(locus_tensor_count(&e->parameters[i]), sizeof(double));
        if (!e->parameters[i].data)
            exit(1);
    }
    example_need(locus_encoding_initialise(e->encoding, &shape, 7, e->parameters, e->parameter_count, &error), &error);
    example_need(locus_binding_create(&e->binding, e->encoding, &shape, e->parameters, e->parameter_count, &error),
                 &error);
}

static inline void example_close(example *e) {
    for (size_t i = 0; i < e->parameter_count; i++)
        free(e->parameters[i].data);
    locus_binding_destroy(&e->binding);
    locus_encoding_destroy(&e->encoding);
}

static inline locus_path *example_path(const locus_group *group, const char *text) {
    locus_error error = {0};
    locus_path *path = NULL;
    example_need(locus_path_parse(group, text, &path, &error), &error);
    return path;
}

/* A plan for one sequence whose tokens stand at the paths written in `texts`. */
static inline locus_plan *example_plan(const example *e, const char *const *texts, size_t count) {
    locus_error error = {0};
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    const size_t offsets[] = {0, count};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    const locus_group *group = locus_encoding_group(e->encoding);
    locus_path **paths = calloc(count, sizeof(locus_path *));
    if (!paths)
        exit(1);
    for (size_t i = 0; i < count; i++)
        paths[i] = example_path(group, texts[i]);
    example_need(locus_positions_create_paths(&positions, group, &packing, (const locus_path *const *)paths, &error),
                 &error);
    example_need(locus_plan_create(&plan, e->binding, positions, NULL, &error), &error);
    locus_positions_destroy(&positions);
    for (size_t i = 0; i < count; i++)
        locus_path_destroy(&paths[i]);
    free(paths);
    return plan;
}

/* rows[t] = ⌈position of token t⌉ vector, for the same vector everywhere. */
static inline void example_act(const locus_plan *plan, locus_role role, const double *vector, size_t count,
                               double (*rows)[EXAMPLE_HEAD_DIM]) {
    locus_error error = {0};
    const int64_t sizes[] = {(int64_t)count, 1, EXAMPLE_HEAD_DIM};
    const locus_tensor x = locus_tensor_view(rows, LOCUS_FLOAT64, 3, sizes);
    locus_workspace workspace = {NULL, locus_apply_workspace(plan, role, LOCUS_FLOAT64, NULL)};
    workspace.data = workspace.bytes > 0 ? locus_allocate(workspace.bytes) : NULL;
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < EXAMPLE_HEAD_DIM; i++)
            rows[t][i] = vector[i];
    const locus_execution execution = locus_execution_in(workspace);
    example_need(locus_apply(plan, role, LOCUS_FORWARD, &x, &x, &execution, &error), &error);
    locus_release(workspace.data, workspace.bytes);
}

/* scores[m·count + n] = ⌈p_m⌉q · ⌈p_n⌉k for one query and one key vector at all positions: what the encoding alone adds
 * to attention. q and k are drawn, of norm about 1. */
static inline void example_scores(const locus_plan *plan, size_t count, double *scores) {
    const locus_random random = {3, LOCUS_RANDOM_USER, 0};
    double vector[2][EXAMPLE_HEAD_DIM];
    double(*query)[EXAMPLE_HEAD_DIM] = calloc(2 * count, sizeof *query), (*key)[EXAMPLE_HEAD_DIM] = query + count;
    if (!query)
        exit(1);
    for (size_t i = 0; i < EXAMPLE_HEAD_DIM; i++) {
        vector[0][i] = locus_random_normal(&random, i) / sqrt(EXAMPLE_HEAD_DIM);
        vector[1][i] = vector[0][i];
    }
    example_act(plan, LOCUS_ROLE_QUERY, vector[0], count, query);
    example_act(plan, LOCUS_ROLE_KEY, vector[1], count, key);
    for (size_t m = 0; m < count; m++)
        for (size_t n = 0; n < count; n++) {
            double sum = 0;
            for (size_t i = 0; i < EXAMPLE_HEAD_DIM; i++)
                sum += query[m][i] * key[n][i];
            scores[m * count + n] = sum;
        }
    free(query);
}

/* Prints "−a + b" and the distance, as `locus path GROUP a b` does. */
static inline void example_relative(const locus_group *group, const char *a, const char *b) {
    locus_error error = {0};
    char text[256];
    int64_t distance = 0;
    locus_path *from = example_path(group, a), *to = example_path(group, b), *relative = NULL;
    example_need(locus_path_relative(from, to, &relative, &error), &error);
    example_need(locus_path_distance(from, to, &distance, &error), &error);
    (void)locus_path_text(relative, text, sizeof text);
    (void)printf("from %s to %s: path %s, distance %lld\n", a, b, text, (long long)distance);
    locus_path_destroy(&relative);
    locus_path_destroy(&to);
    locus_path_destroy(&from);
}

#endif

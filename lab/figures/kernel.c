/* SPDX-License-Identifier: MIT */
/* Measures the score kernel through the public calls: every pair (query, key) is a packed sequence of one token
 * each, so that attention's log-sum-exp is the score itself, with operators, content tables, factors and biases as
 * they are. */
#include "figures/kernel.h"

#include "bound/bound.h"
#include "io/fail.h"

#include <math.h>
#include <stdlib.h>

#define DIRECTIONS 24
#define PURPOSE (LOCUS_RANDOM_USER + 0x52u)

void lab_kernel_free(lab_kernel *kernel) {
    free(kernel->distance); // NOLINT(clang-analyzer-unix.Malloc): it forgets that the next line wrote NULL
    *kernel = (lab_kernel){0};
}

static locus_status make_room(lab_kernel *kernel, size_t reach, locus_error *error) {
    size_t count = 2 * reach + 1;
    double *block = calloc(4 * count, sizeof *block);
    if (!block)
        return lab_fail_memory(error, "a score kernel");
    kernel->count = count;
    kernel->distance = block;
    kernel->mean = block + count;
    kernel->low = block + 2 * count;
    kernel->high = block + 3 * count;
    for (size_t i = 0; i < count; i++)
        block[i] = (double)i - (double)reach;
    return LOCUS_OK;
}

/* ---- scores ---- */

typedef struct pairs {
    size_t count; /* of packed pairs: distances times directions, directions fastest */
    locus_plan *plan;
    float *vectors, *output, *scores; /* [count, heads, head_dim] twice; [count, heads] */
} pairs;

static void pairs_free(pairs *p) {
    locus_plan_destroy(&p->plan);
    free(p->vectors);
    free(p->output);
    free(p->scores);
}

static locus_status plan_pairs(pairs *p, const lab_kernel *kernel, const locus_binding *binding, locus_error *error) {
    size_t *offsets = malloc((p->count + 1) * sizeof *offsets);
    int64_t *here = calloc(p->count, sizeof *here), *there = calloc(p->count, sizeof *there);
    locus_positions *queries = NULL, *keys = NULL;
    locus_status status = offsets && here && there ? LOCUS_OK : lab_fail_memory(error, "a score kernel");
    for (size_t i = 0; status == LOCUS_OK && i <= p->count; i++) {
        offsets[i] = i;
        if (i < p->count)
            there[i] = (int64_t)kernel->distance[i / DIRECTIONS];
    }
    const locus_packing packing = {.size = sizeof packing, .sequences = p->count, .offsets = offsets};
    if (status == LOCUS_OK)
        status = locus_positions_create(&queries, locus_binding_group(binding), &packing, here, error);
    if (status == LOCUS_OK)
        status = locus_positions_create(&keys, locus_binding_group(binding), &packing, there, error);
    if (status == LOCUS_OK)
        status = locus_plan_create(&p->plan, binding, queries, keys, error);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    free(offsets);
    free(here);
    free(there);
    return status;
}

/* Heads of queries that share one of keys. */
static size_t group_of(const locus_shape *shape) {
    return shape->kv_heads > 0 ? shape->heads / shape->kv_heads : 1;
}

void lab_draw_direction(float *vector, size_t dim, const locus_random *random, uint64_t first) {
    double norm = 0;
    for (size_t i = 0; i < dim; i++) {
        const double x = locus_random_normal(random, first + i);
        vector[i] = (float)x;
        norm += x * x;
    }
    for (size_t i = 0; i < dim; i++)
        vector[i] = (float)(vector[i] / sqrt(norm));
}

/* The same directions at every distance, own ones for each head of keys, of length 1. */
static void draw_directions(float *vectors, size_t count, const locus_shape *shape) {
    const locus_random random = {.seed = 0, .purpose = PURPOSE};
    const size_t heads = shape->heads, dim = shape->head_dim, group = group_of(shape);
    for (size_t i = 0; i < count; i++) {
        for (size_t h = 0; h < heads; h++) {
            const size_t first = ((i % DIRECTIONS) * heads + h / group * group) * dim;
            lab_draw_direction(vectors + (i * heads + h) * dim, dim, &random, first);
        }
    }
}

static locus_status score_pairs(pairs *p, const locus_shape *shape, locus_error *error) {
    const int64_t sizes[3] = {(int64_t)p->count, (int64_t)shape->heads, (int64_t)shape->head_dim};
    const int64_t group = (int64_t)group_of(shape);
    locus_tensor q = locus_tensor_view(p->vectors, LOCUS_FLOAT32, 3, sizes), o = q, k = q;
    k.shape[1] /= group; /* the first head of each group */
    k.stride[1] *= group;
    locus_tensor s = locus_tensor_view(p->scores, LOCUS_FLOAT32, 2, sizes);
    o.data = p->output;
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &k, &o, &s};
    return lab_attend_pairs(p->plan, 1, &tensors, error);
}

/* Mean and deviation over the directions and heads of one distance. */
static void gather(lab_kernel *kernel, const pairs *p, size_t heads) {
    size_t group = DIRECTIONS * heads;
    for (size_t i = 0; i < kernel->count; i++) {
        double sum = 0, squares = 0;
        for (size_t j = 0; j < group; j++) {
            double s = p->scores[i * group + j];
            sum += s;
            squares += s * s;
        }
        double mean = sum / (double)group, spread = sqrt(fmax(squares / (double)group - mean * mean, 0));
        kernel->mean[i] = mean;
        kernel->low[i] = mean - spread;
        kernel->high[i] = mean + spread;
    }
}

static locus_status compute_scores(lab_kernel *kernel, const locus_binding *binding, const locus_shape *shape,
                                   locus_error *error) {
    pairs p = {.count = kernel->count * DIRECTIONS};
    size_t elements = p.count * shape->heads * shape->head_dim;
    p.vectors = calloc(elements, sizeof *p.vectors);
    p.output = calloc(elements, sizeof *p.output);
    p.scores = calloc(p.count * shape->heads, sizeof *p.scores);
    locus_status status = p.vectors && p.output && p.scores ? plan_pairs(&p, kernel, binding, error)
                                                            : lab_fail_memory(error, "a score kernel");
    if (status == LOCUS_OK) {
        draw_directions(p.vectors, p.count, shape);
        status = score_pairs(&p, shape, error);
    }
    if (status == LOCUS_OK)
        gather(kernel, &p, shape->heads);
    pairs_free(&p);
    return status;
}

/* ---- embeddings ---- */

static locus_status table_rows(double *rows, size_t count, const locus_binding *binding, size_t dim,
                               locus_error *error) {
    const size_t offsets[2] = {0, count};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    const int64_t sizes[2] = {(int64_t)count, (int64_t)dim};
    locus_tensor x = locus_tensor_view(rows, LOCUS_FLOAT64, 2, sizes);
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_status status = locus_positions_create(&positions, locus_binding_group(binding), &packing, NULL, error);
    if (status == LOCUS_OK)
        status = locus_plan_create(&plan, binding, positions, NULL, error);
    if (status == LOCUS_OK)
        status = lab_apply(plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &x, NULL, error);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    return status;
}

double lab_cosine(const double *a, const double *b, size_t dim) {
    double product = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < dim; i++) {
        product += a[i] * b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
    }
    return aa > 0 && bb > 0 ? product / sqrt(aa * bb) : 0;
}

/* Rows 0 … 2·reach; the query stands in the middle. */
static locus_status compute_table(lab_kernel *kernel, const locus_binding *binding, const locus_shape *shape,
                                  locus_error *error) {
    size_t count = kernel->count, dim = shape->model_dim;
    double *rows = calloc(count * dim, sizeof *rows);
    locus_status status =
        rows ? table_rows(rows, count, binding, dim, error) : lab_fail_memory(error, "a score kernel");
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        kernel->mean[i] = kernel->low[i] = kernel->high[i] = lab_cosine(rows + (count / 2) * dim, rows + i * dim, dim);
    free(rows);
    return status;
}

locus_status lab_kernel_compute(lab_kernel *kernel, const locus_binding *binding, unsigned sites,
                                const locus_shape *shape, size_t reach, locus_error *error) {
    *kernel = (lab_kernel){0};
    const unsigned at_scores = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_SCORE;
    bool embedding = (sites & LOCUS_SITE_EMBEDDING) && !(sites & at_scores);
    locus_status status = LOCUS_ERROR_POSITION;
    for (; reach > 0 && status == LOCUS_ERROR_POSITION; reach /= 2) {
        lab_kernel_free(kernel);
        kernel->embedding = embedding;
        status = make_room(kernel, reach, error);
        if (status == LOCUS_OK) {
            status = embedding ? compute_table(kernel, binding, shape, error)
                               : compute_scores(kernel, binding, shape, error);
        }
    }
    if (status != LOCUS_OK)
        lab_kernel_free(kernel);
    return status;
}

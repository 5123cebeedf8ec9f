/* SPDX-License-Identifier: MIT */
/* Measures how similar positions of any group are to one of them, through the public calls: every pair of the origin
 * and a position is a packed sequence of one token each, so that attention's log-sum-exp is the score itself. */
#include "figures/figure.h"

#include "bound/bound.h"
#include "bound/position_list.h"
#include "figures/kernel.h"
#include "io/fail.h"

#include <math.h>
#include <stdlib.h>

#define DIRECTIONS 32
#define PURPOSE (LOCUS_RANDOM_USER + 0x54u)

void lab_similarity_free(lab_similarity *similarity) {
    free(similarity->mean);
    *similarity = (lab_similarity){0};
}

locus_status lab_figure_plan(locus_plan **plan, const lab_figure_subject *subject, const locus_positions *queries,
                             const locus_positions *keys, locus_error *error) {
    locus_plan_options options = locus_plan_options_default();
    options.length = subject->length;
    return locus_plan_create_with(plan, subject->binding, queries, keys, &options, error);
}

typedef struct similarity_job {
    lab_similarity *result;
    const lab_figure_subject *subject;
    const locus_shape *shape; /* the subject's */
    size_t count;
    locus_positions *origins, *positions; /* one token for each sequence */
    locus_plan *plan;
    float *vectors, *output, *scores;
} similarity_job;

static void close_job(similarity_job *job) {
    locus_positions_destroy(&job->origins);
    locus_positions_destroy(&job->positions);
    locus_plan_destroy(&job->plan);
    free(job->vectors);
    free(job->output);
    free(job->scores);
}

static locus_status place(similarity_job *job, const locus_path *const *paths, const locus_path *origin,
                          locus_error *error) {
    const locus_group *group = locus_path_group(origin);
    locus_status status = lab_path_positions(&origin, 1, group, job->count, true, &job->origins, error);
    if (status == LOCUS_OK)
        status = lab_path_positions(paths, job->count, group, 1, true, &job->positions, error);
    return status;
}

/* ---- scores ---- */

/* One direction of length 1 for each head, at every position. */
static void draw_direction(similarity_job *job, size_t direction) {
    const locus_random random = {.seed = 0, .purpose = PURPOSE, .step = (uint32_t)direction};
    const size_t dim = job->shape->head_dim, width = job->shape->heads * dim;
    for (size_t h = 0; h < job->shape->heads; h++)
        lab_draw_direction(job->vectors + h * dim, dim, &random, h * dim);
    for (size_t i = width; i < job->count * width; i++)
        job->vectors[i] = job->vectors[i - width];
}

static locus_status score_direction(similarity_job *job, size_t direction, locus_error *error) {
    const size_t heads = job->shape->heads;
    const int64_t sizes[3] = {(int64_t)job->count, (int64_t)heads, (int64_t)job->shape->head_dim};
    locus_tensor q = locus_tensor_view(job->vectors, LOCUS_FLOAT32, 3, sizes), o = q;
    locus_tensor s = locus_tensor_view(job->scores, LOCUS_FLOAT32, 2, sizes);
    const locus_attention_tensors tensors = {sizeof tensors, &q, &q, &q, &o, &s};
    o.data = job->output;
    draw_direction(job, direction);
    const locus_status status = lab_attend_pairs(job->plan, 1, &tensors, error);
    for (size_t i = 0; status == LOCUS_OK && i < job->count * heads; i++) {
        double score = job->scores[i];
        job->result->mean[i / heads] += score;
        job->result->deviation[i / heads] += score * score;
    }
    return status;
}

static locus_status compute_scores(similarity_job *job, locus_error *error) {
    const size_t heads = job->shape->heads, elements = job->count * heads * job->shape->head_dim;
    job->vectors = calloc(elements, sizeof *job->vectors);
    job->output = calloc(elements, sizeof *job->output);
    job->scores = calloc(job->count * heads, sizeof *job->scores);
    if (!job->vectors || !job->output || !job->scores)
        return lab_fail_memory(error, "vectors");
    locus_status status = lab_figure_plan(&job->plan, job->subject, job->origins, job->positions, error);
    for (size_t i = 0; i < DIRECTIONS && status == LOCUS_OK; i++)
        status = score_direction(job, i, error);
    for (size_t i = 0; i < job->count; i++) {
        double mean = job->result->mean[i] / (double)(DIRECTIONS * heads);
        double square = job->result->deviation[i] / (double)(DIRECTIONS * heads);
        job->result->mean[i] = mean;
        job->result->deviation[i] = sqrt(fmax(0, square - mean * mean));
    }
    return status;
}

/* ---- embeddings ---- */

static locus_status table_rows(similarity_job *job, const locus_positions *positions, double *rows,
                               locus_error *error) {
    const bool tokens = (locus_encoding_sites(job->subject->encoding) & LOCUS_SITE_EMBEDDING) != 0;
    const locus_role role = tokens ? LOCUS_ROLE_TOKEN : LOCUS_ROLE_ENCODED;
    const int64_t sizes[2] = {(int64_t)job->count, (int64_t)job->shape->model_dim};
    const locus_tensor x = locus_tensor_view(rows, LOCUS_FLOAT64, 2, sizes);
    locus_plan_destroy(&job->plan);
    locus_status status = lab_figure_plan(&job->plan, job->subject, positions, NULL, error);
    return status == LOCUS_OK ? lab_apply(job->plan, role, LOCUS_FORWARD, &x, NULL, error) : status;
}

static locus_status compute_table(similarity_job *job, locus_error *error) {
    const size_t dim = job->shape->model_dim;
    double *rows = calloc(2 * job->count * dim, sizeof *rows), *origin = rows ? rows + job->count * dim : NULL;
    locus_status status = rows ? table_rows(job, job->positions, rows, error) : lab_fail_memory(error, "a table");
    if (status == LOCUS_OK)
        status = table_rows(job, job->origins, origin, error);
    for (size_t i = 0; status == LOCUS_OK && i < job->count; i++)
        job->result->mean[i] = lab_cosine(rows + i * dim, origin, dim);
    free(rows);
    return status;
}

locus_status lab_similarity_compute(lab_similarity *similarity, const lab_figure_subject *subject,
                                    const locus_path *const *paths, size_t count, const locus_path *origin,
                                    locus_error *error) {
    const unsigned at_scores = LOCUS_SITE_QUERY_KEY | LOCUS_SITE_SCORE;
    const unsigned vectors = LOCUS_SITE_EMBEDDING | LOCUS_SITE_ENCODED;
    const unsigned sites = locus_encoding_sites(subject->encoding);
    *similarity = (lab_similarity){.count = count, .embedding = (sites & vectors) && !(sites & at_scores)};
    similarity->mean = calloc(2 * count + 1, sizeof *similarity->mean);
    if (!similarity->mean)
        return lab_fail_memory(error, "a similarity");
    similarity->deviation = similarity->mean + count;
    similarity_job job = {.result = similarity, .subject = subject, .shape = subject->shape, .count = count};
    locus_status status = place(&job, paths, origin, error);
    if (status == LOCUS_OK)
        status = similarity->embedding ? compute_table(&job, error) : compute_scores(&job, error);
    close_job(&job);
    if (status != LOCUS_OK)
        lab_similarity_free(similarity);
    return status;
}

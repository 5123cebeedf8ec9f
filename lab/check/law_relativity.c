/* SPDX-License-Identifier: MIT */
/* Relativity: scores and outputs of a query at c + a and a key at c + b are those at a and b, whatever c. Every pair is
 * a packed sequence of one token each, so that the log-sum-exp is the score, and the output the value itself with what
 * the value site does to it. Vectors are those of tokens: an encoding at the embedding adds to them first. */
#include "check/law_job.h"

#include "bound/position_list.h"

#include <math.h>
#include <string.h>

#define PAIRS 96 /* whose scores are compared */

/* Packed pairs of one query and one key: the first half at (a, b), the second at (c + a, c + b), with the same
 * vectors. */
typedef struct law_pairs {
    lab_position_list queries, keys; /* [2·PAIRS] */
    locus_plan *plan, *swapped;      /* swapped: the keys' positions as queries, for their embedding */
    lab_array query, key, value, output, score;
} law_pairs;

static void pairs_close(law_pairs *pairs) {
    lab_array *const arrays[] = {&pairs->query, &pairs->key, &pairs->value, &pairs->output, &pairs->score};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        lab_array_free(arrays[i]);
    locus_plan_destroy(&pairs->plan);
    locus_plan_destroy(&pairs->swapped);
    lab_position_list_free(&pairs->queries);
    lab_position_list_free(&pairs->keys);
}

/* A shift, a query and a key, drawn in that order. */
static locus_status draw_pair(law_job *job, lab_element_kind kind, locus_path **q, locus_path **k, locus_error *error) {
    locus_path *shift = NULL;
    locus_status status = lab_element_draw(&job->elements, LAB_ELEMENT_ANY, &shift, error);
    if (status == LOCUS_OK)
        status = lab_element_draw(&job->elements, kind, q, error);
    if (status == LOCUS_OK)
        status = lab_element_draw(&job->elements, kind, k, error);
    if (status == LOCUS_OK)
        status = locus_path_compose(shift, *q, &q[PAIRS], error);
    if (status == LOCUS_OK)
        status = locus_path_compose(shift, *k, &k[PAIRS], error);
    locus_path_destroy(&shift);
    return status;
}

static locus_status draw_pairs(law_job *job, law_pairs *pairs, locus_error *error) {
    locus_status status = lab_path_list_open(&pairs->queries, job->group, 2 * PAIRS, error);
    if (status == LOCUS_OK)
        status = lab_path_list_open(&pairs->keys, job->group, 2 * PAIRS, error);
    for (size_t i = 0; i < PAIRS && status == LOCUS_OK; i++) {
        status = draw_pair(job, i % 2 ? LAB_ELEMENT_ANY : LAB_ELEMENT_SHORT, &pairs->queries.paths[i],
                           &pairs->keys.paths[i], error);
    }
    return status;
}

static locus_status plan_pairs(const law_job *job, law_pairs *pairs, locus_error *error) {
    locus_positions *queries = NULL, *keys = NULL;
    locus_status status = lab_positions_apart(&queries, &pairs->queries, error);
    if (status == LOCUS_OK)
        status = lab_positions_apart(&keys, &pairs->keys, error);
    if (status == LOCUS_OK)
        status = lab_bound_plan(job->bound, queries, keys, NULL, &pairs->plan, error);
    if (status == LOCUS_OK)
        status = lab_bound_plan(job->bound, keys, queries, NULL, &pairs->swapped, error);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    return status;
}

static locus_status fill_pairs(const law_job *job, law_pairs *pairs, locus_error *error) {
    const int64_t shape[3] = {2 * PAIRS, (int64_t)job->heads, (int64_t)job->dim};
    lab_array *const arrays[] = {&pairs->query, &pairs->key, &pairs->value};
    locus_status status = lab_array_create(&pairs->output, LAB_F64, 3, shape, error);
    if (status == LOCUS_OK)
        status = lab_array_create(&pairs->score, LAB_F64, 2, shape, error);
    for (size_t i = 0; i < 3 && status == LOCUS_OK; i++) {
        status = lab_array_create(arrays[i], LAB_F64, 3, shape, error);
        if (status == LOCUS_OK) {
            size_t half = lab_array_count(arrays[i]) / 2;
            law_draw_vectors(arrays[i], job->elements.random.seed, (uint32_t)(2 + i));
            memcpy((double *)arrays[i]->data + half, arrays[i]->data, half * sizeof(double));
        }
    }
    return status;
}

/* Vectors of tokens, seen as [tokens, heads·dim], get what the embedding adds. */
static locus_status embed(const locus_plan *plan, const lab_array *array, locus_error *error) {
    lab_array tokens = *array;
    tokens.rank = 2;
    tokens.shape[1] = array->shape[1] * array->shape[2];
    const locus_tensor x = lab_array_tensor(&tokens);
    return lab_apply(plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &x, NULL, error);
}

static locus_status attend_pairs(const law_job *job, const law_pairs *pairs, locus_error *error) {
    const locus_tensor query = lab_array_tensor(&pairs->query), key = lab_array_tensor(&pairs->key);
    const locus_tensor value = lab_array_tensor(&pairs->value), output = lab_array_tensor(&pairs->output);
    const locus_tensor score = lab_array_tensor(&pairs->score);
    const locus_attention_tensors tensors = {sizeof tensors, &query, &key, &value, &output, &score};
    locus_status status = LOCUS_OK;
    if (locus_encoding_sites(job->bound->encoding) & LOCUS_SITE_EMBEDDING) {
        status = embed(pairs->plan, &pairs->query, error);
        if (status == LOCUS_OK)
            status = embed(pairs->swapped, &pairs->key, error);
        if (status == LOCUS_OK)
            status = embed(pairs->swapped, &pairs->value, error);
    }
    return status == LOCUS_OK ? lab_attend_pairs(pairs->plan, 0, &tensors, error) : status;
}

/* Scores may be large (a bias of 10⁶ steps): their error is relative beyond 1. */
static void compare_pairs(const lab_array *array, double *most) {
    size_t half = lab_array_count(array) / 2;
    const double *x = array->data;
    for (size_t i = 0; i < half; i++)
        law_raise(most, (x[half + i] - x[i]) / fmax(1, fabs(x[i])));
}

/* Tables have an end, and only one side of the origin: elements are drawn ever smaller until all positions exist. */
static void draw_smaller(lab_elements *elements) {
    elements->reach = elements->forward ? elements->reach / 2 : elements->reach;
    elements->depth = elements->forward ? elements->depth / 2 : elements->depth;
    elements->forward = true;
}

/* Draws until all positions exist, or there is nothing left to draw. */
static locus_status place_pairs(law_job *job, law_pairs *pairs, locus_error *error) {
    locus_status planned = LOCUS_ERROR_POSITION;
    for (bool last = false; planned == LOCUS_ERROR_POSITION && !last;) {
        last = job->elements.forward && job->elements.reach == 0 && job->elements.depth == 0;
        pairs_close(pairs);
        *pairs = (law_pairs){0};
        const locus_status drawn = draw_pairs(job, pairs, error);
        if (drawn != LOCUS_OK)
            return drawn;
        planned = plan_pairs(job, pairs, error);
        draw_smaller(&job->elements);
    }
    return planned;
}

locus_status law_relativity(law_job *job, double *most, locus_error *error) {
    law_pairs pairs = {0};
    locus_status status = place_pairs(job, &pairs, error);
    if (status == LOCUS_OK)
        status = fill_pairs(job, &pairs, error);
    if (status == LOCUS_OK)
        status = attend_pairs(job, &pairs, error);
    if (status == LOCUS_OK) {
        compare_pairs(&pairs.score, most);
        compare_pairs(&pairs.output, most);
    }
    pairs_close(&pairs);
    return status;
}

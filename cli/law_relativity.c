/* SPDX-License-Identifier: MIT */
/* Relativity: scores and outputs of a query at c + a and a key at c + b are those at a and b, whatever c. Every pair is
 * a packed sequence of one token each, so that the log-sum-exp is the score, and the output the value itself with what
 * the value site does to it. Vectors are those of tokens: an encoding at the embedding adds to them first. */
#include "law_job.h"
#include "output.h"

#include <math.h>
#include <string.h>

#define PAIRS 96 /* whose scores are compared */

/* Packed pairs of one query and one key: the first half at (a, b), the second at (c + a, c + b), with the same
 * vectors. */
typedef struct law_pairs {
    cli_paths queries, keys;    /* [2·PAIRS] */
    locus_plan *plan, *swapped; /* swapped: the keys' positions as queries, for their embedding */
    lab_array query, key, value, output, score;
} law_pairs;

static void pairs_close(law_pairs *pairs) {
    lab_array *const arrays[] = {&pairs->query, &pairs->key, &pairs->value, &pairs->output, &pairs->score};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        lab_array_free(arrays[i]);
    locus_plan_destroy(&pairs->plan);
    locus_plan_destroy(&pairs->swapped);
    cli_paths_close(&pairs->queries);
    cli_paths_close(&pairs->keys);
}

static int draw_pairs(law_job *job, law_pairs *pairs) {
    locus_error error = {.offset = -1};
    int status = cli_paths_open(&pairs->queries, 2 * PAIRS);
    status = status ? status : cli_paths_open(&pairs->keys, 2 * PAIRS);
    for (size_t i = 0; i < PAIRS && status == 0; i++) {
        locus_path *shift = NULL;
        cli_element_kind kind = i % 2 ? CLI_ELEMENT_ANY : CLI_ELEMENT_SHORT;
        locus_path **q = &pairs->queries.items[i], **k = &pairs->keys.items[i];
        status = cli_element_draw(&job->elements, CLI_ELEMENT_ANY, &shift);
        status = status ? status : cli_element_draw(&job->elements, kind, q);
        status = status ? status : cli_element_draw(&job->elements, kind, k);
        if (status == 0 && (locus_path_compose(shift, *q, &q[PAIRS], &error) != LOCUS_OK ||
                            locus_path_compose(shift, *k, &k[PAIRS], &error) != LOCUS_OK))
            status = cli_error(&error);
        locus_path_destroy(&shift);
    }
    return status;
}

static locus_status plan_pairs(const law_job *job, law_pairs *pairs, locus_error *error) {
    const locus_binding *binding = job->encoding->binding;
    locus_plan_options options = locus_plan_options_default();
    options.length = job->encoding->length;
    locus_positions *queries = NULL, *keys = NULL;
    locus_status status = cli_paths_positions(&pairs->queries, job->group, 1, true, &queries, error);
    if (status == LOCUS_OK)
        status = cli_paths_positions(&pairs->keys, job->group, 1, true, &keys, error);
    if (status == LOCUS_OK)
        status = locus_plan_create_with(&pairs->plan, binding, queries, keys, &options, error);
    if (status == LOCUS_OK)
        status = locus_plan_create_with(&pairs->swapped, binding, keys, queries, &options, error);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    return status;
}

static int fill_pairs(const law_job *job, law_pairs *pairs) {
    const int64_t shape[3] = {2 * PAIRS, (int64_t)job->heads, (int64_t)job->dim};
    lab_array *const arrays[] = {&pairs->query, &pairs->key, &pairs->value};
    int status = cli_array_like(&pairs->output, LAB_F64, 3, shape);
    status = status ? status : cli_array_like(&pairs->score, LAB_F64, 2, shape);
    for (size_t i = 0; i < 3 && status == 0; i++) {
        status = cli_array_like(arrays[i], LAB_F64, 3, shape);
        if (status == 0) {
            size_t half = lab_array_count(arrays[i]) / 2;
            law_draw_vectors(arrays[i], job->elements.random.seed, (uint32_t)(2 + i));
            memcpy((double *)arrays[i]->data + half, arrays[i]->data, half * sizeof(double));
        }
    }
    return status;
}

/* Vectors of tokens, seen as [tokens, heads·dim], get what the embedding adds. */
static int embed(const locus_plan *plan, const lab_array *array) {
    lab_array tokens = *array;
    tokens.rank = 2;
    tokens.shape[1] = array->shape[1] * array->shape[2];
    return law_apply(plan, LOCUS_ROLE_TOKEN, &tokens);
}

static int attend_pairs(const law_job *job, law_pairs *pairs) {
    locus_error error = {.offset = -1};
    locus_workspace workspace = {0};
    locus_attention_options options = locus_attention_default();
    options.mask = LOCUS_MASK_CAUSAL; /* one query, one key: it hides nothing, and some encodings need it */
    locus_tensor query = cli_array_tensor(&pairs->query), key = cli_array_tensor(&pairs->key);
    locus_tensor value = cli_array_tensor(&pairs->value), output = cli_array_tensor(&pairs->output);
    locus_tensor score = cli_array_tensor(&pairs->score);
    const locus_attention_tensors tensors = {sizeof tensors, &query, &key, &value, &output, &score};
    int status = 0;
    if (locus_encoding_sites(job->encoding->encoding) & LOCUS_SITE_EMBEDDING) {
        status = embed(pairs->plan, &pairs->query);
        status = status ? status : embed(pairs->swapped, &pairs->key);
        status = status ? status : embed(pairs->swapped, &pairs->value);
    }
    status = status ? status
                    : cli_workspace_open(&workspace, locus_attention_workspace(pairs->plan, &options, LOCUS_FLOAT64,
                                                                               LOCUS_PASS_FORWARD, NULL));
    const locus_execution execution = locus_execution_in(workspace);
    if (status == 0 && locus_attention_forward(pairs->plan, &options, &tensors, &execution, &error) != LOCUS_OK)
        status = cli_error(&error);
    cli_workspace_close(&workspace);
    return status;
}

/* Scores may be large (a bias of 10⁶ steps): their error is relative beyond 1. */
static void compare_pairs(const lab_array *array, double *most) {
    size_t half = lab_array_count(array) / 2;
    const double *x = array->data;
    for (size_t i = 0; i < half; i++)
        law_raise(most, (x[half + i] - x[i]) / fmax(1, fabs(x[i])));
}

/* Tables have an end, and only one side of the origin: elements are drawn ever smaller until all positions exist. */
static void draw_smaller(cli_elements *elements) {
    elements->reach = elements->forward ? elements->reach / 2 : elements->reach;
    elements->depth = elements->forward ? elements->depth / 2 : elements->depth;
    elements->forward = true;
}

int law_relativity(law_job *job, double *most) {
    locus_error error = {.offset = -1};
    locus_status planned = LOCUS_ERROR_POSITION;
    law_pairs pairs = {0};
    const cli_elements before = job->elements;
    int status = 0;
    for (bool last = false; status == 0 && planned == LOCUS_ERROR_POSITION && !last;) {
        last = job->elements.forward && job->elements.reach == 0 && job->elements.depth == 0;
        pairs_close(&pairs);
        pairs = (law_pairs){0};
        status = draw_pairs(job, &pairs);
        planned = status ? LOCUS_OK : plan_pairs(job, &pairs, &error);
        draw_smaller(&job->elements);
    }
    job->elements.reach = before.reach;
    job->elements.depth = before.depth;
    job->elements.forward = before.forward;
    status = status == 0 && planned != LOCUS_OK ? cli_error(&error) : status;
    status = status ? status : fill_pairs(job, &pairs);
    status = status ? status : attend_pairs(job, &pairs);
    if (status == 0) {
        compare_pairs(&pairs.score, most);
        compare_pairs(&pairs.output, most);
    }
    pairs_close(&pairs);
    return status;
}

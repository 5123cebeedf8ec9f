/* SPDX-License-Identifier: MIT */
/* Scores of one query against every position: one sequence of one query and one key for each, so that attention's
 * log-sum-exp is the score. q and k are chosen so that q'·k' is 1 (undone by the operators) for factors, or 0 for
 * biases. */
#include "bound/acting.h"
#include "bound/encoded.h"
#include "bound/spec_text.h"
#include "io/fail.h"

#include <string.h>

typedef struct score_row {
    lab_array *out;
    lab_bound scored; /* the terms that act on scores */
    locus_plan *plan;
    lab_array query, key, value, output, scores; /* [n, H, d] …, scores [n, H] */
} score_row;

static void close_row(score_row *row) {
    lab_array *const arrays[] = {&row->query, &row->key, &row->value, &row->output, &row->scores};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        lab_array_free(arrays[i]);
    locus_plan_destroy(&row->plan);
    lab_bound_close(&row->scored);
}

static locus_status open_arrays(score_row *row, size_t count, locus_error *error) {
    const int64_t n = (int64_t)count, heads = (int64_t)row->scored.shape.heads;
    const int64_t shape[3] = {n, heads, (int64_t)row->scored.shape.head_dim}, all[3] = {heads, n, n};
    lab_array *const arrays[] = {&row->query, &row->key, &row->value, &row->output};
    locus_status status = lab_array_create(row->out, LAB_F64, 3, all, error);
    if (status == LOCUS_OK)
        status = lab_array_create(&row->scores, LAB_F64, 2, shape, error);
    for (size_t i = 0; i < 4 && status == LOCUS_OK; i++)
        status = lab_array_create(arrays[i], LAB_F64, 3, shape, error);
    return status;
}

static locus_status plan_row(score_row *row, const lab_position_list *list, size_t query, locus_error *error) {
    locus_positions *queries = NULL, *keys = NULL;
    locus_status status = lab_positions_repeated(&queries, list, query, error);
    if (status == LOCUS_OK)
        status = lab_positions_apart(&keys, list, error);
    if (status == LOCUS_OK)
        status = lab_bound_plan(&row->scored, queries, keys, NULL, &row->plan, error);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    return status;
}

/* vectors[t, h] = ⌈p_t⌉ᵀ e_0, so that the operator makes e_0 of it. */
static locus_status undo_operator(const score_row *row, locus_role role, const lab_array *vectors, locus_error *error) {
    const size_t rows = (size_t)(vectors->shape[0] * vectors->shape[1]), dim = (size_t)vectors->shape[2];
    const locus_tensor tensor = lab_array_tensor(vectors);
    double *x = vectors->data;
    memset(x, 0, rows * dim * sizeof *x);
    for (size_t i = 0; i < rows; i++)
        x[i * dim] = 1;
    return lab_apply(row->plan, role, LOCUS_INVERSE, &tensor, NULL, error);
}

/* out[h, query, n] += sign · score. */
static locus_status add_row(score_row *row, size_t index, double sign, locus_error *error) {
    const locus_tensor query = lab_array_tensor(&row->query), key = lab_array_tensor(&row->key);
    const locus_tensor value = lab_array_tensor(&row->value), output = lab_array_tensor(&row->output);
    const locus_tensor sums = lab_array_tensor(&row->scores);
    const locus_attention_tensors tensors = {sizeof tensors, &query, &key, &value, &output, &sums};
    const locus_status status = lab_attend_pairs(row->plan, 1, &tensors, error);
    const size_t heads = (size_t)row->scores.shape[1], n = (size_t)row->scores.shape[0];
    const double *scores = row->scores.data;
    double *out = row->out->data;
    for (size_t i = 0; status == LOCUS_OK && i < heads * n; i++)
        out[(i / n * n + index) * n + i % n] += sign * scores[i % n * heads + i / n];
    return status;
}

/* Bias: the score of q = 0. Factor: the score of q'·k' = 1, less the bias. */
static locus_status measure_row(score_row *row, size_t index, bool factors, locus_error *error) {
    memset(row->query.data, 0, lab_array_count(&row->query) * sizeof(double));
    locus_status status = add_row(row, index, factors ? -1 : 1, error);
    if (!factors)
        return status;
    if (status == LOCUS_OK)
        status = undo_operator(row, LOCUS_ROLE_QUERY, &row->query, error);
    if (status == LOCUS_OK)
        status = undo_operator(row, LOCUS_ROLE_KEY, &row->key, error);
    return status == LOCUS_OK ? add_row(row, index, 1, error) : status;
}

/* Shaw's content term depends on the query: without content it is nothing, and it must not leak into the factors. */
static locus_status silence_content(lab_bound *bound, locus_error *error) {
    bool changed = false;
    for (size_t i = 0; i < bound->count; i++) {
        size_t term;
        if (strcmp(lab_parameter_base(bound->infos[i].name, &term), "key_table") == 0) {
            memset(bound->values[i].data, 0, locus_tensor_count(&bound->values[i]) * sizeof(double));
            changed = true;
        }
    }
    return changed ? lab_bound_bind(bound, error) : LOCUS_OK;
}

/* CoPE's positions are sums over queries and keys: there is no bias without them. */
static locus_status refuse_content(const lab_bound *bound, locus_error *error) {
    for (size_t i = 0; i < locus_encoding_term_count(bound->encoding); i++) {
        if (strcmp(locus_encoding_term(bound->encoding, i)->name, "cope") == 0) {
            return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                            "encode: 'cope' depends on queries and keys: it has no scores without them; "
                            "'locus attend' computes with it");
        }
    }
    return LOCUS_OK;
}

locus_status lab_encoded_scores(lab_array *out, const lab_bound *bound, const lab_position_list *list, bool factors,
                                locus_error *error) {
    score_row row = {.out = out};
    *out = (lab_array){0};
    locus_status status = refuse_content(bound, error);
    if (status == LOCUS_OK)
        status = lab_acting_scores(&row.scored, bound, error);
    if (status == LOCUS_OK)
        status = silence_content(&row.scored, error);
    if (status == LOCUS_OK)
        status = open_arrays(&row, list->count, error);
    for (size_t m = 0; m < list->count && status == LOCUS_OK; m++) {
        status = plan_row(&row, list, m, error);
        if (status == LOCUS_OK)
            status = measure_row(&row, m, factors, error);
        locus_plan_destroy(&row.plan);
    }
    close_row(&row);
    return status;
}

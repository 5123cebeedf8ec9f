/* SPDX-License-Identifier: MIT */
/* See encoded.h. Tables and operators; scores are in encoded_scores.c. */
#include "bound/encoded.h"

#include <string.h>

static locus_status plan_sequence(const lab_bound *bound, const lab_position_list *list, locus_plan **plan,
                                  locus_error *error) {
    locus_positions *positions = NULL;
    locus_status status = lab_positions_one_sequence(&positions, list, error);
    if (status == LOCUS_OK)
        status = lab_bound_plan(bound, positions, NULL, NULL, plan, error);
    locus_positions_destroy(&positions);
    return status;
}

locus_status lab_encoded_table(lab_array *out, const lab_bound *bound, const lab_position_list *list,
                               locus_error *error) {
    const bool tokens = (locus_encoding_sites(bound->encoding) & LOCUS_SITE_EMBEDDING) != 0;
    const locus_role role = tokens ? LOCUS_ROLE_TOKEN : LOCUS_ROLE_ENCODED;
    const int64_t shape[2] = {(int64_t)list->count, (int64_t)bound->shape.model_dim};
    locus_plan *plan = NULL;
    *out = (lab_array){0};
    locus_status status = plan_sequence(bound, list, &plan, error);
    if (status == LOCUS_OK)
        status = lab_array_create(out, LAB_F64, 2, shape, error);
    const locus_tensor x = lab_array_tensor(out);
    if (status == LOCUS_OK)
        status = lab_apply(plan, role, LOCUS_FORWARD, &x, NULL, error);
    locus_plan_destroy(&plan);
    return status;
}

/* Column j of every operator is what becomes of the unit vector e_j. */
static locus_status fill_operators(lab_array *out, const locus_plan *plan, locus_role role, const lab_array *vectors,
                                   locus_error *error) {
    const size_t rows = (size_t)(vectors->shape[0] * vectors->shape[1]), dim = (size_t)vectors->shape[2];
    const locus_tensor tensor = lab_array_tensor(vectors);
    double *x = vectors->data;
    float *to = out->data;
    locus_status status = LOCUS_OK;
    for (size_t j = 0; j < dim && status == LOCUS_OK; j++) {
        memset(x, 0, rows * dim * sizeof *x);
        for (size_t row = 0; row < rows; row++)
            x[row * dim + j] = 1;
        status = lab_apply(plan, role, LOCUS_FORWARD, &tensor, NULL, error);
        for (size_t row = 0; row < rows; row++)
            for (size_t i = 0; i < dim; i++)
                to[(row * dim + i) * dim + j] = (float)x[row * dim + i];
    }
    return status;
}

locus_status lab_encoded_operators(lab_array *out, const lab_bound *bound, const lab_position_list *list,
                                   locus_error *error) {
    const int64_t dim = (int64_t)bound->shape.head_dim;
    const int64_t shape[4] = {(int64_t)list->count, (int64_t)bound->shape.heads, dim, dim};
    locus_plan *plan = NULL;
    lab_array vectors = {0};
    *out = (lab_array){0};
    locus_status status = plan_sequence(bound, list, &plan, error);
    if (status == LOCUS_OK)
        status = lab_array_create(out, LAB_F32, 4, shape, error);
    if (status == LOCUS_OK)
        status = lab_array_create(&vectors, LAB_F64, 3, shape, error);
    if (status == LOCUS_OK)
        status = fill_operators(out, plan, bound->keys_only ? LOCUS_ROLE_KEY : LOCUS_ROLE_QUERY, &vectors, error);
    lab_array_free(&vectors);
    locus_plan_destroy(&plan);
    return status;
}

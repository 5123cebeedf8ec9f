/* SPDX-License-Identifier: MIT */
/* Operators on queries, keys and values: which term acts where, and ⌈p⌉ x token by token. */
#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_rope(const reference_model *model, size_t term) {
    return reference_term_is(model, term, "rope") || reference_term_is(model, term, "roper");
}

/* Of queries and keys `side` says which one is turned; values are, where they are asked for. */
static bool acts_on(const reference_model *model, size_t term, reference_role role) {
    if (role == REFERENCE_VALUE)
        return is_rope(model, term) || reference_says(model, term, "values", "on");
    return !reference_says(model, term, "side", role == REFERENCE_QUERY ? "key" : "query");
}

bool reference_operator(const reference_model *model, size_t head, const reference_position *p, reference_role role,
                        double *W) {
    for (size_t term = 0; term < reference_terms(model); term++) {
        if (!acts_on(model, term, role))
            continue;
        if (is_rope(model, term) ? reference_rope(model, term, p, role, W)
                                 : reference_algebraic(model, term, head, p, W))
            return true;
    }
    return false;
}

static double *operators_of(const reference_model *model, const reference_tokens *tokens, reference_role role) {
    const size_t heads = model->shape.kv_heads, square = model->shape.head_dim * model->shape.head_dim;
    double *all = reference_zeros(tokens->tokens * heads * square, sizeof *all);
    for (size_t s = 0; s < tokens->sequences; s++)
        for (size_t t = tokens->first[s]; t < tokens->first[s] + tokens->count[s]; t++)
            for (size_t h = 0; h < heads; h++)
                if (!reference_operator(model, h, &tokens->at[t], role, all + (t * heads + h) * square)) {
                    free(all);
                    return NULL;
                }
    return all;
}

reference_operators reference_operators_make(const reference_model *model) {
    return (reference_operators){.query = operators_of(model, model->queries, REFERENCE_QUERY),
                                 .key = operators_of(model, model->keys, REFERENCE_KEY),
                                 .value = operators_of(model, model->keys, REFERENCE_VALUE),
                                 .output = operators_of(model, model->queries, REFERENCE_VALUE)};
}

void reference_operators_free(reference_operators *operators) {
    free(operators->query);
    free(operators->key);
    free(operators->value);
    free(operators->output);
    *operators = (reference_operators){NULL, NULL, NULL, NULL};
}

void reference_turn(const double *W, const reference_tokens *tokens, size_t heads, size_t shared, size_t dim,
                    bool transposed, const double *x, double *y) {
    if (!W) {
        memcpy(y, x, tokens->tokens * heads * dim * sizeof *y);
        return;
    }
    for (size_t s = 0; s < tokens->sequences; s++)
        for (size_t row = tokens->first[s] * heads; row < (tokens->first[s] + tokens->count[s]) * heads; row++) {
            const double *own = W + row / shared * dim * dim;
            for (size_t i = 0; i < dim; i++) {
                y[row * dim + i] = 0;
                for (size_t j = 0; j < dim; j++)
                    y[row * dim + i] += own[transposed ? j * dim + i : i * dim + j] * x[row * dim + j];
            }
        }
}

/* ---- how far angles go ---- */

static double furthest(const reference_tokens *tokens, size_t coordinates) {
    double most = 0;
    for (size_t s = 0; s < tokens->sequences; s++)
        for (size_t t = tokens->first[s]; t < tokens->first[s] + tokens->count[s]; t++)
            for (size_t c = 0; c < coordinates; c++)
                most = fmax(most, fabs(tokens->at[t].value[c]) + (double)tokens->at[t].letters[c]);
    return most;
}

/* A bound: positions times the largest rate there can be, 1 for rope's own frequencies, the sum of all magnitudes of a
 * row for matrices. */
double reference_angle(const reference_model *model) {
    const size_t coordinates = locus_group_coordinates(model->group);
    const double reach = fmax(furthest(model->queries, coordinates), furthest(model->keys, coordinates));
    double rate = 1;
    for (size_t i = 0; i < model->tensor_count; i++) {
        size_t elements = 1;
        for (size_t r = 0; r < model->info[i].rank; r++)
            elements *= (size_t)model->info[i].shape[r];
        for (size_t e = 0; e < elements; e++)
            rate = fmax(rate, fabs(model->values[i][e]) * (double)model->shape.head_dim);
    }
    return reach * rate * (double)coordinates;
}

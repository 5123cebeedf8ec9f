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

/* NULL: nothing acts, or there is nothing to act on. */
static double *operators_of(const reference_model *model, const reference_tokens *tokens, reference_role role) {
    bool acts = true, any = false;
    const size_t heads = model->shape.kv_heads, square = model->shape.head_dim * model->shape.head_dim;
    double *all = reference_zeros(tokens->tokens * heads * square, sizeof *all);
    for (size_t s = 0; s < tokens->sequences; s++)
        for (size_t t = tokens->first[s]; t < tokens->first[s] + tokens->count[s]; t++, any = true)
            for (size_t h = 0; acts && h < heads; h++)
                acts = reference_operator(model, h, &tokens->at[t], role, all + (t * heads + h) * square);
    if (acts && any)
        return all;
    free(all);
    return NULL;
}

/* Whether a learned matrix acts there: it knows no roles, so that one set of operators serves all. */
static bool matrices_act(const reference_model *model, reference_role role) {
    for (size_t term = 0; term < reference_terms(model); term++)
        for (size_t i = 0; i < 4; i++) {
            static const char *const names[] = {"algebraic", "mixed", "string", "liere"};
            if (reference_term_is(model, term, names[i]) && acts_on(model, term, role))
                return true;
        }
    return false;
}

/* As operators_of; taken from `known`, operators of the tokens `of`, where they are the same. */
static double *take_or_make(const reference_model *model, const reference_tokens *tokens, reference_role role,
                            const double *known, const reference_tokens *of) {
    const size_t count = tokens->tokens * model->shape.kv_heads * model->shape.head_dim * model->shape.head_dim;
    if (!known || tokens->at != of->at || !matrices_act(model, role))
        return operators_of(model, tokens, role);
    double *copy = reference_zeros(count, sizeof *copy);
    memcpy(copy, known, count * sizeof *copy);
    return copy;
}

reference_operators reference_operators_make(const reference_model *model) {
    const reference_tokens *queries = model->queries, *keys = model->keys;
    reference_operators all = {.query = operators_of(model, queries, REFERENCE_QUERY)};
    const double *known = matrices_act(model, REFERENCE_QUERY) ? all.query : NULL;
    all.key = take_or_make(model, keys, REFERENCE_KEY, known, queries);
    const reference_tokens *of = known ? queries : keys;
    known = known ? known : matrices_act(model, REFERENCE_KEY) ? all.key : NULL;
    all.value = take_or_make(model, keys, REFERENCE_VALUE, known, of);
    all.output = take_or_make(model, queries, REFERENCE_VALUE, known, of);
    return all;
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
 * row for matrices; and once more, wherever tokens stand, for the bases that are made of matrices. */
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
    return (1 + reach) * rate * (double)coordinates;
}

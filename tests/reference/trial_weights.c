/* SPDX-License-Identifier: MIT */
/* locus_attention_weights of heads and queries that are drawn, against the reference's weights. */
#include "reference/drawn_tensor.h"
#include "reference/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct chosen {
    size_t sequence, head_count, query_count, keys;
    size_t *heads, *queries; /* with all of them where none are named in the call */
    bool all_heads, all_queries;
} chosen;

static size_t *draw_list(chooser *choices, size_t below, size_t *count, bool *all) {
    *all = choose_chance(choices, 50);
    *count = *all ? below : choose(choices, below + 3);
    size_t *list = reference_zeros(*count + 1, sizeof *list);
    size_t at = choose(choices, below);
    for (size_t i = 0; i < *count; i++) { /* mostly neighbours */
        list[i] = *all ? i : at;
        at = choose_chance(choices, 80) ? at + 1 : (size_t)choose(choices, below);
        at = at < below ? at : 0;
    }
    return list;
}

static chosen draw_chosen(const drawn_world *world, chooser *choices) {
    chosen c = {.sequence = choose(choices, world->queries.tokens.sequences)};
    c.keys = world->keys.count[c.sequence];
    c.heads = draw_list(choices, world->shape.heads, &c.head_count, &c.all_heads);
    c.queries = draw_list(choices, world->queries.count[c.sequence], &c.query_count, &c.all_queries);
    if (world->queries.count[c.sequence] == 0)
        c.query_count = 0;
    return c;
}

static void compare(const trial_weights_case *test, const chosen *c, const double *got, locus_dtype dtype,
                    trial *result) {
    const drawn_world *world = test->world;
    const double eps = drawn_rounding(dtype), least = dtype == LOCUS_FLOAT16 ? 6e-8 : 1e-36;
    locus_attention_options options = *test->options;
    options.dropout = 0;
    double *o = reference_zeros(world->queries.tokens.tokens * world->shape.heads * world->shape.value_dim, sizeof *o);
    double *lse = reference_zeros(world->queries.tokens.tokens * world->shape.heads, sizeof *lse);
    double *v = reference_zeros(world->keys.tokens.tokens * world->shape.kv_heads * world->shape.value_dim, sizeof *v);
    double *all = reference_zeros(world->queries.tokens.tokens * world->shape.heads * test->longest + 1, sizeof *all);
    reference_call call = {.model = &world->model,
                           .operators = &world->operators,
                           .options = &options,
                           .query = test->query_values,
                           .key = test->key_values,
                           .value = v,
                           .bias = test->bias,
                           .output = o,
                           .log_sum_exp = lse,
                           .weights = all,
                           .weight_row = test->longest};
    reference_attention(&call);
    for (size_t h = 0; h < c->head_count; h++)
        for (size_t i = 0; i < c->query_count; i++)
            for (size_t j = 0; j < c->keys; j++) {
                const size_t row = (world->queries.tokens.first[c->sequence] + c->queries[i]) * world->shape.heads;
                const double want = all[(row + c->heads[h]) * test->longest + j];
                const size_t at = (h * c->query_count + i) * c->keys + j;
                if (isfinite(want))
                    trial_compare(result, "weight", at, got[at], want, (2 * test->tolerance + 2 * eps) * want + least);
            }
    free(o);
    free(lse);
    free(v);
    free(all);
}

void trial_weights(const trial_weights_case *test, chooser *choices, trial *result) {
    const drawn_world *world = test->world;
    if (world->queries.tokens.sequences == 0)
        return;
    chosen c = draw_chosen(world, choices);
    const locus_dtype dtype = trial_dtype(choices);
    const size_t first = 0;
    const reference_tokens rows = {.sequences = 1, .tokens = c.head_count, .first = &first, .count = &c.head_count};
    drawn_tensor weights = drawn_tensor_packed(choices, dtype, &rows, c.query_count, c.keys);
    if (c.head_count > 0 && c.query_count > 0 && c.keys > 0) {
        locus_error error = {.status = LOCUS_OK};
        const locus_attention_weights_call call = {.size = sizeof call,
                                                   .query = test->query,
                                                   .key = test->key,
                                                   .weights = &weights.view,
                                                   .sequence = c.sequence,
                                                   .heads = c.all_heads ? NULL : c.heads,
                                                   .head_count = c.head_count,
                                                   .queries = c.all_queries ? NULL : c.queries,
                                                   .query_count = c.query_count};
        trial_workspace workspace = trial_workspace_make(
            locus_attention_weights_workspace(world->plan, test->options, test->query->dtype, NULL));
        const locus_execution execution = locus_execution_in(workspace.lent);
        double *got = reference_zeros(c.head_count * c.query_count * c.keys, sizeof *got);
        drawn_tensor_watch(&weights);
        if (locus_attention_weights(world->plan, test->options, &call, &execution, &error) != LOCUS_OK)
            trial_fail(result, "weights were refused where attention was not: %s", error.message);
        if (!trial_workspace_free(&workspace))
            trial_fail(result, "weights wrote outside of its workspace");
        if (!drawn_tensor_untouched(&weights, &rows))
            trial_fail(result, "weights were written outside of their tensor");
        drawn_tensor_get(&weights, got);
        if (result->state == TRIAL_FINE)
            compare(test, &c, got, dtype, result);
        free(got);
    }
    drawn_tensor_free(&weights);
    free(c.heads);
    free(c.queries);
}

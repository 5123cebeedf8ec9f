/* SPDX-License-Identifier: MIT */
/* Draws the case, fills caches piece by piece, and computes the same with whole plans. */
#include "cache_case.h"

#include "attention/cache/cache_inside.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void cache_case_need(const cache_case *c, locus_status status, const locus_error *error) {
    if (status != LOCUS_OK)
        fail_msg("%s: %s", c->spec, error->message);
}

/* ---- parameters and data ---- */

static void bind_drawn(cache_case *c) {
    locus_tensor values[CACHE_CASE_PARAMETERS];
    size_t count = 0;
    locus_error error;
    cache_case_need(c, locus_encoding_parse(c->spec, &c->encoding, &error), &error);
    cache_case_need(c, locus_encoding_parameter_count(c->encoding, &c->shape, &count, &error), &error);
    assert_true(count <= CACHE_CASE_PARAMETERS);
    for (size_t i = 0; i < count; i++) {
        locus_parameter info = {.size = sizeof info};
        size_t elements = 1;
        cache_case_need(c, locus_encoding_parameter(c->encoding, &c->shape, i, &info, &error), &error);
        for (size_t d = 0; d < info.rank; d++)
            elements *= (size_t)info.shape[d];
        values[i] = locus_tensor_view(calloc(elements + 1, sizeof(double)), LOCUS_FLOAT64, info.rank, info.shape);
    }
    cache_case_need(c, locus_encoding_initialise(c->encoding, &c->shape, 5, values, count, &error), &error);
    cache_case_need(c, locus_binding_create(&c->binding, c->encoding, &c->shape, values, count, &error), &error);
    for (size_t i = 0; i < count; i++)
        free(values[i].data);
}

/* Sixteenths up to ±2: exact in bfloat16. */
static double *draw(size_t count, uint32_t stream) {
    const locus_random random = {17, LOCUS_RANDOM_USER, stream};
    double *numbers = malloc((count + 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = ((double)locus_random_below(&random, i, 65) - 32) / 16;
    return numbers;
}

void cache_case_open(cache_case *c) {
    locus_error error;
    size_t longest = 0;
    c->heads = c->heads ? c->heads : 4;
    c->kv_heads = c->kv_heads ? c->kv_heads : 2;
    c->head_dim = c->head_dim ? c->head_dim : 8;
    c->value_dim = c->value_dim ? c->value_dim : 8;
    c->shape = (locus_shape){.heads = c->heads,
                             .kv_heads = c->kv_heads,
                             .head_dim = c->head_dim,
                             .value_dim = c->value_dim,
                             .model_dim = 16};
    bind_drawn(c);
    c->group = locus_binding_group(c->binding);
    for (size_t s = 0; s < c->sequences; s++) {
        c->offsets[s + 1] = c->offsets[s] + c->lengths[s];
        longest = c->lengths[s] > longest ? c->lengths[s] : longest;
    }
    c->tokens = c->offsets[c->sequences];
    c->q = draw(c->tokens * c->heads * c->head_dim, 1);
    c->k = draw(c->tokens * c->kv_heads * c->head_dim, 2);
    c->v = draw(c->tokens * c->kv_heads * c->value_dim, 3);
    locus_cache_options options = locus_cache_options_default();
    options.sequences = c->sequences;
    options.capacity = c->room ? c->room : longest;
    options.dtype = c->dtype;
    options.length = 400;
    cache_case_need(c, locus_cache_create(&c->cache, c->binding, &options, &error), &error);
}

void cache_case_close(cache_case *c) {
    locus_cache_destroy(&c->cache);
    locus_binding_destroy(&c->binding);
    locus_encoding_destroy(&c->encoding);
    free(c->q);
    free(c->k);
    free(c->v);
}

/* ---- positions ---- */

static size_t write_word(size_t index, int64_t branches, char *text, size_t size) {
    size_t used = 0;
    for (size_t node = index % 97; node > 0; node = (node - 1) / (size_t)branches)
        used += (size_t)snprintf(text + used, size - used, "%s%d", used ? "+" : "",
                                 (int)((node - 1) % (size_t)branches) + 1);
    return used ? used : (size_t)snprintf(text, size, "0");
}

void cache_case_text(const cache_case *c, size_t index, char *text, size_t size) {
    const size_t count = locus_group_coordinates(c->group);
    size_t used = 0;
    if (count > 1)
        used += (size_t)snprintf(text, size, "(");
    for (size_t i = 0; i < count; i++) {
        const locus_coordinate at = locus_group_coordinate(c->group, i);
        used += (size_t)snprintf(text + used, size - used, "%s", i ? "," : "");
        const size_t row = i == 0 && count > 1 ? index / 7 : i > 0 && i + 1 < count ? index % 5 : index;
        const size_t number = count > 1 && i + 1 == count ? index % 7 : row;
        if (at.kind == LOCUS_COORDINATE_TREE)
            used += write_word(index, at.size, text + used, size - used);
        else
            used += (size_t)snprintf(text + used, size - used, "%lld", (long long)((int64_t)number + c->start));
    }
    if (count > 1)
        (void)snprintf(text + used, size - used, ")");
}

locus_path *cache_case_path(const cache_case *c, size_t index) {
    char text[256];
    locus_path *path;
    locus_error error;
    cache_case_text(c, index, text, sizeof text);
    cache_case_need(c, locus_path_parse(c->group, text, &path, &error), &error);
    return path;
}

cache_part cache_case_all(const cache_case *c) {
    cache_part part = {.first = {0}};
    for (size_t s = 0; s < c->sequences; s++) {
        part.count[s] = c->lengths[s];
        part.offsets[s + 1] = part.offsets[s] + c->lengths[s];
    }
    return part;
}

locus_positions *cache_case_positions(const cache_case *c, const cache_part *part) {
    const size_t tokens = part->offsets[c->sequences];
    locus_path **paths = calloc(tokens + 1, sizeof(locus_path *));
    locus_positions *positions;
    locus_error error;
    for (size_t s = 0; s < c->sequences; s++)
        for (size_t i = 0; i < part->count[s]; i++)
            paths[part->offsets[s] + i] = cache_case_path(c, part->first[s] + i);
    const locus_packing packing = {sizeof packing, c->sequences, part->offsets, NULL};
    cache_case_need(
        c, locus_positions_create_paths(&positions, c->group, &packing, (const locus_path *const *)paths, &error),
        &error);
    for (size_t t = 0; t < tokens; t++)
        locus_path_destroy(&paths[t]);
    free(paths);
    return positions;
}

/* ---- tensors ---- */

locus_tensor cache_case_zeros(size_t tokens, size_t heads, size_t dim, locus_dtype dtype) {
    const int64_t extents[] = {(int64_t)tokens, (int64_t)heads, (int64_t)dim};
    return locus_tensor_view(calloc(tokens * heads * dim + 1, sizeof(double)), dtype, 3, extents);
}

void cache_case_free(locus_tensor *tensor) {
    free(tensor->data);
    tensor->data = NULL;
}

locus_tensor cache_case_rows(const cache_case *c, const cache_part *part, char which, locus_dtype dtype) {
    const size_t heads = which == 'q' ? c->heads : c->kv_heads, dim = which == 'v' ? c->value_dim : c->head_dim;
    double *from = which == 'q' ? c->q : which == 'k' ? c->k : c->v;
    locus_tensor rows = cache_case_zeros(part->offsets[c->sequences], heads, dim, dtype);
    const size_t row = heads * dim;
    for (size_t s = 0; s < c->sequences; s++) {
        const cache_rows source = {from + (c->offsets[s] + part->first[s]) * row, LOCUS_FLOAT64, (ptrdiff_t)row},
                         target = {(char *)rows.data + part->offsets[s] * row * locus_dtype_size(dtype), dtype,
                                   (ptrdiff_t)row};
        locus_cache_convert(part->count[s], row, &source, &target);
    }
    return rows;
}

double cache_case_number(const locus_tensor *tensor, size_t token, size_t head, size_t j) {
    double number = 0;
    cache_rows from = locus_cache_rows_of(tensor, head, 0, token);
    from.data = (char *)from.data + j * locus_dtype_size(tensor->dtype);
    const cache_rows to = {&number, LOCUS_FLOAT64, 1};
    locus_cache_convert(1, 1, &from, &to);
    return number;
}

/* ---- the cache ---- */

void cache_case_append(cache_case *c, const cache_part *part) {
    locus_positions *positions = cache_case_positions(c, part);
    locus_tensor k = cache_case_rows(c, part, 'k', c->dtype), v = cache_case_rows(c, part, 'v', c->dtype);
    locus_error error;
    cache_case_need(c, locus_cache_append(c->cache, positions, &k, &v, NULL, &error), &error);
    locus_positions_destroy(&positions);
    cache_case_free(&k);
    cache_case_free(&v);
}

void cache_case_attend(cache_case *c, const cache_part *part, const locus_attention_options *options,
                       const locus_tensor *output) {
    locus_tensor q = cache_case_rows(c, part, 'q', c->dtype);
    locus_error error;
    cache_case_need(c, locus_cache_attend(c->cache, options, &q, output, NULL, &error), &error);
    cache_case_free(&q);
}

bool cache_case_next(const cache_case *c, cache_part *part, size_t *at) {
    static const size_t pieces[] = {5, 1, 0, 1, 33, 1, 1, 2, 70, 1, 9, 64, 1};
    bool any = false;
    for (size_t s = 0; s < c->sequences; s++) {
        const size_t done = locus_cache_length(c->cache, s), left = c->lengths[s] - done;
        const size_t wanted = pieces[(*at + 3 * s) % (sizeof pieces / sizeof *pieces)];
        part->first[s] = done;
        part->count[s] = wanted < left ? wanted : left;
        part->offsets[s + 1] = part->offsets[s] + part->count[s];
        any = any || left > 0;
    }
    (*at)++;
    return any;
}

/* ---- plans over all ---- */

locus_plan *cache_case_plan(const cache_case *c, const cache_part *part) {
    locus_positions *positions = cache_case_positions(c, part);
    locus_plan_options options = locus_plan_options_default();
    locus_plan *plan;
    locus_error error;
    options.length = 400;
    cache_case_need(c, locus_plan_create_with(&plan, c->binding, positions, NULL, &options, &error), &error);
    locus_positions_destroy(&positions);
    return plan;
}

locus_tensor cache_case_applied(const cache_case *c, const locus_plan *plan, locus_role role, const locus_tensor *x) {
    locus_tensor y = cache_case_zeros((size_t)x->shape[0], (size_t)x->shape[1], (size_t)x->shape[2], x->dtype);
    locus_workspace workspace = {.bytes = locus_apply_workspace(plan, role, x->dtype, NULL) + 1};
    locus_error error;
    workspace.data = locus_allocate(workspace.bytes);
    const locus_execution execution = locus_execution_in(workspace);
    cache_case_need(c, locus_apply(plan, role, LOCUS_FORWARD, x, &y, &execution, &error), &error);
    locus_release(workspace.data, workspace.bytes);
    return y;
}

/* SPDX-License-Identifier: MIT */
/* See attention_maps.h. */
#include "model/attention_maps.h"

#include "io/fail.h"
#include "io/grow.h"
#include "model/model_parts.h"

#include <stdlib.h>

enum { LINE = 64 }; /* a workspace begins one of the cache */

typedef struct collector {
    lab_attention_maps *maps;
    const lab_model *model;
} collector;

static lab_attention_map *add_map(lab_attention_maps *maps) {
    return LAB_GROW(maps->maps, maps->count, maps->room, 16) ? &maps->maps[maps->count] : NULL;
}

static locus_status weigh(const lab_attention_call *call, const lab_attention_map *map, locus_error *error) {
    const size_t bytes =
        locus_attention_weights_workspace(call->plan, call->options, call->tensors->query->dtype, NULL);
    void *room = aligned_alloc(LINE, bytes / LINE * LINE + LINE);
    if (room == NULL)
        return lab_fail_memory(error, "attention weights");
    const int64_t shape[] = {(int64_t)map->heads, (int64_t)map->queries, (int64_t)map->keys};
    const locus_tensor weights = locus_tensor_view(map->weights, LOCUS_FLOAT32, 3, shape);
    const locus_attention_weights_call wanted = {
        .size = sizeof wanted, .query = call->tensors->query, .key = call->tensors->key, .weights = &weights};
    const locus_execution execution = locus_execution_in((locus_workspace){room, bytes});
    const locus_status status = locus_attention_weights(call->plan, call->options, &wanted, &execution, error);
    free(room);
    return status;
}

static locus_status see(void *context, const lab_attention_call *call, locus_error *error) {
    const collector *own = context;
    const lab_stack *stack = call->stack;
    lab_attention_map *map = add_map(own->maps);
    if (map == NULL)
        return lab_fail_memory(error, "attention weights");
    const bool cross = call->sublayer->kind == LAB_CROSS_ATTENTION;
    *map = (lab_attention_map){.decoder = stack == &own->model->decoder,
                               .cross = cross,
                               .layer = (size_t)(call->sublayer - stack->sublayers) / stack->layer_sublayers,
                               .heads = stack->heads,
                               .queries = stack->tokens,
                               .keys = cross ? stack->memory_tokens : stack->tokens};
    map->weights = calloc(map->heads * map->queries * map->keys + 1, sizeof *map->weights);
    if (map->weights == NULL)
        return lab_fail_memory(error, "attention weights");
    own->maps->count++;
    const locus_status status = weigh(call, map, error);
    if (status != LOCUS_ERROR_UNSUPPORTED)
        return status;
    free(map->weights);
    own->maps->count--;
    own->maps->without++;
    return LOCUS_OK;
}

locus_status lab_attention_maps_make(lab_attention_maps *maps, lab_model *model, const lab_batch *batch,
                                     locus_error *error) {
    collector own = {maps, model};
    const lab_attention_watch watch = {see, &own};
    lab_score score = {0};
    *maps = (lab_attention_maps){0};
    if (batch->samples != 1)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "batch", "weights are looked at sample by sample, not of %zu",
                        batch->samples);
    model->watch = &watch;
    locus_status status = lab_model_evaluate(model, batch, &score, error);
    model->watch = NULL;
    if (status == LOCUS_OK && maps->count == 0) {
        status = lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "attention",
                          "attention '%s' makes no weight for each query and key: only softmax does",
                          model->config.attention);
    }
    if (status != LOCUS_OK)
        lab_attention_maps_free(maps);
    return status;
}

void lab_attention_maps_free(lab_attention_maps *maps) {
    for (size_t i = 0; i < maps->count; i++)
        free(maps->maps[i].weights);
    free(maps->maps);
    *maps = (lab_attention_maps){0};
}

/* SPDX-License-Identifier: MIT */
/* See decode_caches.h. */
#include "model/decode/decode_caches.h"

#include "io/fail.h"
#include <stdlib.h>

bool lab_decode_caches_serve(const lab_model *model) {
    const lab_stack *stack = &model->decoder;
    for (size_t s = 0; s < stack->sublayer_count; ++s)
        if (stack->sublayers[s].kind != LAB_FEED_FORWARD &&
            !(locus_attention_kind_entry(stack->sublayers[s].attention)->abilities & LOCUS_ATTENTION_SCORES))
            return false;
    return true;
}

/* What the encoder gave, [tokens, kv_heads, head_dim] from number `first` of a row on. */
static locus_tensor memory_view(const lab_stack *stack, const lab_sublayer *sublayer, size_t tokens, size_t first) {
    const int64_t head_dim = (int64_t)(stack->dim / stack->heads), row = 2 * (int64_t)stack->kv_dim;
    return (locus_tensor){.data = lab_numbers_from(sublayer->memory_projected, first).data,
                          .dtype = sublayer->half ? LOCUS_BFLOAT16 : LOCUS_FLOAT32,
                          .rank = 3,
                          .shape = {(int64_t)tokens, (int64_t)stack->kv_heads, head_dim},
                          .stride = {row, head_dim, 1}};
}

static locus_status memory_keep(locus_cache *cache, const lab_stack *stack, const lab_sublayer *sublayer,
                                const locus_positions *memory, locus_error *error) {
    const size_t tokens = locus_positions_tokens(memory);
    const locus_tensor key = memory_view(stack, sublayer, tokens, 0),
                       value = memory_view(stack, sublayer, tokens, stack->kv_dim);
    return locus_cache_append(cache, memory, &key, &value, NULL, error);
}

locus_status lab_decode_caches_create(lab_decode_caches *caches, const lab_model *model, const lab_decode_room *room,
                                      locus_error *error) {
    const lab_stack *stack = &model->decoder;
    *caches = (lab_decode_caches){.count = stack->sublayer_count,
                                  .kept = calloc(stack->sublayer_count + 1, sizeof *caches->kept)};
    locus_status status = caches->kept ? LOCUS_OK : lab_fail_memory(error, "decoding");
    for (size_t s = 0; s < stack->sublayer_count && status == LOCUS_OK; ++s) {
        const lab_sublayer *sublayer = &stack->sublayers[s];
        const bool cross = sublayer->kind == LAB_CROSS_ATTENTION;
        locus_cache_options options = locus_cache_options_default();
        options.sequences = room->sequences;
        options.capacity = cross ? room->memory_longest : room->longest;
        options.dtype = sublayer->half ? LOCUS_BFLOAT16 : LOCUS_FLOAT32;
        if (sublayer->kind == LAB_FEED_FORWARD)
            continue;
        status = locus_cache_create(&caches->kept[s], model->encodings[sublayer->encoding].binding, &options, error);
        if (status == LOCUS_OK && cross)
            status = memory_keep(caches->kept[s], stack, sublayer, room->memory, error);
    }
    return status;
}

void lab_decode_caches_destroy(lab_decode_caches *caches) {
    for (size_t s = 0; caches->kept && s < caches->count; ++s)
        locus_cache_destroy(&caches->kept[s]);
    free(caches->kept);
    *caches = (lab_decode_caches){0};
}

/* SPDX-License-Identifier: MIT */
/* Where the activations of a batch stand in the arena. Encoder and decoder keep their own activations for the
 * backward; the gradients' buffers serve the decoder first, then the encoder. */
#include "io/fail.h"
#include "model/model_parts.h"
#include <stdlib.h>

static void place_stack(lab_arena *arena, lab_stack *stack) {
    size_t T = stack->tokens, N = stack->memory_tokens, D = stack->dim, F = stack->feed_forward, K = stack->kv_dim;
    for (size_t j = 0; j <= stack->sublayer_count; ++j) {
        lab_stream_join *join = &stack->joins[j];
        bool norm = join->norm.gain != NULL;
        join->sum = lab_arena_floats(arena, T * D);
        join->y = norm ? lab_arena_floats(arena, T * D) : join->sum;
        join->mean = norm ? lab_arena_floats(arena, T) : NULL;
        join->inverse = norm ? lab_arena_floats(arena, T) : NULL;
    }
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        lab_sublayer *sublayer = &stack->sublayers[s];
        bool attention = sublayer->kind != LAB_FEED_FORWARD, cross = sublayer->kind == LAB_CROSS_ATTENTION;
        sublayer->projected = lab_arena_floats(arena, T * (attention ? (cross ? D : D + 2 * K) : F));
        sublayer->memory_projected = cross ? lab_arena_floats(arena, N * 2 * K) : NULL;
        sublayer->context = attention ? lab_arena_floats(arena, T * D) : NULL;
        sublayer->log_sum_exp = attention ? lab_arena_floats(arena, T * stack->heads) : NULL;
    }
}

static void place_memory_gradients(lab_arena *arena, lab_stack *stack) {
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        bool cross = stack->sublayers[s].kind == LAB_CROSS_ATTENTION;
        stack->sublayers[s].memory_gradient =
            cross ? lab_arena_floats(arena, stack->memory_tokens * 2 * stack->kv_dim) : NULL;
    }
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static void place_gradients(lab_arena *arena, lab_stack *one, lab_stack *other) {
    size_t T = larger(one->tokens, other->tokens), D = one->dim;
    size_t width = larger(one->partial_width, other->partial_width);
    size_t chunks = larger(lab_chunk_count(one->tokens), lab_chunk_count(other->tokens));
    one->gy = lab_arena_floats(arena, T * D);
    one->carry = lab_arena_floats(arena, T * D);
    one->branch[0] = lab_arena_floats(arena, T * D);
    one->branch[1] = lab_arena_floats(arena, T * D);
    one->context = lab_arena_floats(arena, T * D);
    one->hidden = lab_arena_floats(arena, T * one->feed_forward);
    one->projected = lab_arena_floats(arena, T * (D + 2 * one->kv_dim));
    one->partials = lab_arena_floats(arena, chunks * width);
    other->gy = one->gy, other->carry = one->carry, other->context = one->context, other->hidden = one->hidden;
    other->branch[0] = one->branch[0], other->branch[1] = one->branch[1];
    other->projected = one->projected, other->partials = one->partials;
}

static void place_all(lab_arena *arena, lab_model *model, const lab_batch_size *size) {
    size_t M = size->decoder_tokens;
    lab_step_buffers *step = &model->step;
    step->input = lab_arena_take(arena, M, sizeof *step->input);
    step->target = lab_arena_take(arena, M, sizeof *step->target);
    step->correct = lab_arena_take(arena, M, sizeof *step->correct);
    step->losses = lab_arena_take(arena, lab_chunk_count(M), sizeof *step->losses);
    step->target_offsets = lab_arena_take(arena, size->samples + 1, sizeof *step->target_offsets);
    step->logits = lab_arena_floats(arena, M * model->config.vocabulary);
    place_stack(arena, &model->encoder);
    place_stack(arena, &model->decoder);
    if (!size->backward)
        return;
    place_memory_gradients(arena, &model->decoder);
    place_gradients(arena, &model->decoder, &model->encoder);
}

static void stack_size(lab_stack *stack, size_t tokens, size_t memory_tokens, size_t end_width) {
    stack->tokens = tokens;
    stack->memory_tokens = memory_tokens;
    stack->end_width = end_width;
    stack->partial_width = lab_stack_partial_width(stack);
}

locus_status lab_activations_fit(lab_model *model, const lab_batch_size *size, locus_error *error) {
    size_t memory_sums = model->config.decoder_layers * 2 * model->decoder.kv_dim;
    stack_size(&model->encoder, size->encoder_tokens, 0, memory_sums);
    stack_size(&model->decoder, size->decoder_tokens, size->encoder_tokens, 0);
    lab_arena counting = {0};
    place_all(&counting, model, size);
    if (counting.used > model->arena.capacity) {
        free(model->arena.block);
        model->arena = (lab_arena){.block = lab_block_allocate(counting.used), .capacity = counting.used};
        if (model->arena.block == NULL) {
            model->arena.capacity = 0;
            return lab_fail(error, LOCUS_ERROR_MEMORY, "batch",
                            "no memory for %zu MiB of activations: use a smaller batch or model", counting.used >> 20);
        }
    }
    model->arena.used = 0;
    place_all(&model->arena, model, size);
    return LOCUS_OK;
}

locus_status lab_workspace_fit(lab_model *model, size_t bytes, locus_error *error) {
    if (bytes <= model->workspace.bytes)
        return LOCUS_OK;
    free(model->workspace.data);
    model->workspace = (locus_workspace){lab_block_allocate(bytes), bytes};
    if (model->workspace.data)
        return LOCUS_OK;
    model->workspace.bytes = 0;
    return lab_fail(error, LOCUS_ERROR_MEMORY, "batch",
                    "no memory for %zu MiB of attention workspace: use a smaller batch", bytes >> 20);
}

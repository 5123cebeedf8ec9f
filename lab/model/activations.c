/* SPDX-License-Identifier: MIT */
/* Where the activations of a batch stand in the arena. Encoder and decoder keep their own activations for the
 * backward; the gradients' buffers serve the decoder first, then the encoder. Where no backward follows, layers take
 * turns in the same buffers. */
#include "io/fail.h"
#include "model/model_parts.h"
#include <stdlib.h>

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Without a backward nothing is kept: a join needs what stands on the stream before it, so two take turns. */
static void place_join(lab_arena *arena, lab_stack *stack, size_t j, bool keep) {
    const size_t T = stack->tokens, D = stack->dim;
    lab_stream_join *join = &stack->joins[j];
    const lab_stream_join *again = !keep && j >= 3 ? &stack->joins[j - 2] : NULL;
    bool norm = join->norm.gain != NULL;
    join->sum = again ? again->sum : lab_arena_floats(arena, T * D);
    join->packed = keep && stack->leaves_out && stack->stream_is_y ? lab_arena_floats(arena, T * D) : NULL;
    if (norm && again && again->norm.gain) {
        join->y = again->y, join->mean = again->mean, join->inverse = again->inverse;
        return;
    }
    join->y = norm ? lab_arena_floats(arena, T * D) : join->sum;
    join->mean = norm ? lab_arena_floats(arena, T) : NULL;
    join->inverse = norm ? lab_arena_floats(arena, T) : NULL;
}

static void place_sublayer(lab_arena *arena, const lab_stack *stack, lab_sublayer *sublayer) {
    const size_t T = stack->tokens, N = stack->memory_tokens, D = stack->dim, F = stack->feed_forward;
    const size_t K = stack->kv_dim;
    const bool attention = sublayer->kind != LAB_FEED_FORWARD, cross = sublayer->kind == LAB_CROSS_ATTENTION;
    static const lab_numbers none;
    sublayer->projected = lab_arena_numbers(arena, T * (attention ? (cross ? D : D + 2 * K) : F), sublayer->half);
    sublayer->hidden = none;
    if (!attention)
        sublayer->hidden = stack->gelu ? lab_arena_numbers(arena, T * F, false) : sublayer->projected;
    sublayer->memory_projected = cross ? lab_arena_numbers(arena, N * 2 * K, sublayer->half) : none;
    sublayer->context = attention ? lab_arena_numbers(arena, T * D, sublayer->half) : none;
    sublayer->log_sum_exp = attention ? lab_arena_floats(arena, T * stack->heads) : NULL;
}

/* The first sublayer of the same kind, with activations of the same size, or NULL. */
static const lab_sublayer *alike(const lab_stack *stack, size_t s) {
    for (size_t i = 0; i < s; ++i)
        if (stack->sublayers[i].kind == stack->sublayers[s].kind &&
            stack->sublayers[i].half == stack->sublayers[s].half)
            return &stack->sublayers[i];
    return NULL;
}

static void place_next(lab_arena *arena, const lab_stack *stack, size_t s, bool keep) {
    lab_sublayer *own = &stack->sublayers[s];
    const lab_sublayer *first = keep ? NULL : alike(stack, s);
    if (first == NULL) {
        place_sublayer(arena, stack, own);
        return;
    }
    own->projected = first->projected;
    own->hidden = first->hidden;
    own->context = first->context;
    own->log_sum_exp = first->log_sum_exp;
    if (own->kind == LAB_CROSS_ATTENTION) /* of all layers at once: the encoder's end makes them */
        own->memory_projected = lab_arena_numbers(arena, stack->memory_tokens * 2 * stack->kv_dim, own->half);
}

/* In the order in which they are computed: a backward is done with all that stands behind the place where it is. */
void lab_place_stack(lab_arena *arena, lab_stack *stack, bool keep) {
    place_join(arena, stack, 0, keep);
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        place_next(arena, stack, s, keep);
        place_join(arena, stack, s + 1, keep);
    }
}

/* Whether all attentions, or all feed-forward blocks, have bfloat16. */
static bool all_half(const lab_stack *stack, bool attention) {
    for (size_t s = 0; s < stack->sublayer_count; ++s)
        if ((stack->sublayers[s].kind != LAB_FEED_FORWARD) == attention && !stack->sublayers[s].half)
            return false;
    return true;
}

void lab_place_gradients(lab_arena *arena, lab_stack *one, lab_stack *other) {
    size_t T = larger(one->tokens, other->tokens), D = one->dim;
    size_t width = larger(one->partial_width, other->partial_width);
    size_t chunks = larger(lab_stack_chunks(one), lab_stack_chunks(other));
    const size_t number = lab_number_size(all_half(one, true) && all_half(other, true));
    one->gy = lab_arena_floats(arena, T * D);
    one->carry = lab_arena_floats(arena, T * D);
    one->branch[0] = lab_arena_floats(arena, T * D);
    one->branch[1] = lab_arena_floats(arena, T * D);
    one->context = lab_arena_take(arena, T * D, number);
    one->hidden = lab_arena_numbers(arena, T * one->feed_forward, all_half(one, false) && all_half(other, false)).data;
    one->projected = lab_arena_take(arena, T * (D + 2 * one->kv_dim), number);
    one->partials = lab_arena_floats(arena, chunks * width);
    other->gy = one->gy, other->carry = one->carry, other->context = one->context, other->hidden = one->hidden;
    other->branch[0] = one->branch[0], other->branch[1] = one->branch[1];
    other->projected = one->projected, other->partials = one->partials;
}

void lab_place_predictions(lab_arena *arena, lab_model *model, const lab_batch_size *size) {
    const size_t M = size->decoder_tokens;
    lab_step_buffers *step = &model->step;
    step->input = lab_arena_take(arena, M, sizeof *step->input);
    step->target = lab_arena_take(arena, M, sizeof *step->target);
    step->correct = lab_arena_take(arena, M, sizeof *step->correct);
    step->target_offsets = lab_arena_take(arena, size->samples + 1, sizeof *step->target_offsets);
    const size_t slab = lab_slab_rows(model, size->predicted);
    step->losses = lab_arena_take(arena, lab_chunk_count(slab), sizeof *step->losses);
    step->logits = lab_arena_floats(arena, slab * model->config.vocabulary);
}

void lab_place_class_head(lab_arena *arena, lab_model *model, const lab_batch_size *size, size_t chunks) {
    const size_t n = size->samples, D = model->config.dim;
    lab_step_buffers *step = &model->step;
    step->correct = lab_arena_take(arena, n, sizeof *step->correct);
    step->losses = lab_arena_take(arena, chunks, sizeof *step->losses);
    step->logits = lab_arena_floats(arena, n * model->config.classes);
    model->head.pooled = lab_arena_floats(arena, n * D);
    model->head.pooled_gradient = size->backward ? lab_arena_floats(arena, n * D) : NULL;
}

static void stack_size(lab_stack *stack, size_t tokens, size_t memory_tokens) {
    stack->tokens = tokens;
    stack->memory_tokens = memory_tokens;
    stack->partial_width = lab_stack_partial_width(stack);
}

locus_status lab_activations_fit(lab_model *model, const lab_batch_size *size, locus_error *error) {
    void (*const place)(lab_arena *, lab_model *, const lab_batch_size *) = model->config.architecture->place;
    stack_size(&model->encoder, size->encoder_tokens, 0);
    stack_size(&model->decoder, size->decoder_tokens, size->encoder_tokens);
    lab_arena counting = {0};
    place(&counting, model, size);
    if (counting.used > model->arena.capacity) {
        model->lending.count = 0; /* nothing goes back there */
        free(model->arena.block);
        model->arena = (lab_arena){.block = lab_block_allocate(counting.used), .capacity = counting.used};
        if (model->arena.block == NULL) {
            model->arena.capacity = 0;
            return lab_fail(error, LOCUS_ERROR_MEMORY, "batch",
                            "no memory for %zu MiB of activations: use a smaller batch or model", counting.used >> 20);
        }
    }
    model->arena.used = 0;
    place(&model->arena, model, size);
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

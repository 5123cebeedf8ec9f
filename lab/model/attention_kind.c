/* SPDX-License-Identifier: MIT */
/* Which attention each sublayer has: the one that is asked for in the encoder, or in a decoder alone, and elsewhere
 * where it can serve; else softmax. Asked by executing it on a few tokens, so that what a kind or an encoding refuses
 * is told before a training begins. */
#include "io/fail.h"
#include "model/token_positions.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 2, KEYS = 3 }; /* of what is tried */

/* One attention of the model, with everything that a try needs. */
typedef struct trial {
    const lab_model *model;
    const lab_stack *stack;
    locus_attention_options options;
    locus_plan *plan;
    size_t queries, keys;
    float *numbers; /* zeros, [queries + 2·keys rows] and outputs */
    locus_workspace workspace;
} trial;

static locus_status positions_make(const lab_model *model, size_t tokens, locus_positions **positions,
                                   locus_error *error) {
    const size_t offsets[] = {0, tokens};
    if (model->config.architecture->images)
        return lab_image_positions_make(model, positions, 1, tokens, error);
    return lab_positions_make(model, positions,
                              &(locus_packing){.size = sizeof(locus_packing), .sequences = 1, .offsets = offsets}, NULL,
                              error);
}

static locus_status plan_make(trial *t, size_t index, bool cross, locus_error *error) {
    locus_positions *queries = NULL, *keys = NULL;
    locus_status status = positions_make(t->model, t->queries, &queries, error);
    if (status == LOCUS_OK && cross)
        status = positions_make(t->model, t->keys, &keys, error);
    if (status == LOCUS_OK)
        status = locus_plan_create(&t->plan, t->model->encodings[index].binding, queries, keys, error);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    return status;
}

static locus_tensor view(float *data, size_t tokens, size_t heads, const lab_stack *stack) {
    const int64_t shape[] = {(int64_t)tokens, (int64_t)heads, (int64_t)(stack->dim / stack->heads)};
    return locus_tensor_view(data, LOCUS_FLOAT32, 3, shape);
}

static locus_status execute(const trial *t, locus_error *error) {
    const lab_stack *stack = t->stack;
    float *key = t->numbers + t->queries * stack->dim, *value = key + t->keys * stack->kv_dim;
    float *result = value + t->keys * stack->kv_dim, *sums = result + t->queries * stack->dim;
    const locus_tensor q = view(t->numbers, t->queries, stack->heads, stack);
    const locus_tensor k = view(key, t->keys, stack->kv_heads, stack), v = view(value, t->keys, stack->kv_heads, stack);
    const locus_tensor o = view(result, t->queries, stack->heads, stack);
    const locus_tensor s =
        locus_tensor_view(sums, LOCUS_FLOAT32, 2, (int64_t[]){(int64_t)t->queries, (int64_t)stack->heads});
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &o, &s};
    const locus_execution execution = locus_execution_in(t->workspace);
    return locus_attention_forward(t->plan, &t->options, &tensors, &execution, error);
}

static locus_status trial_run(trial *t, locus_error *error) {
    const lab_stack *stack = t->stack;
    const size_t rows = 2 * t->queries * stack->dim + 2 * t->keys * stack->kv_dim + t->queries * stack->heads;
    t->workspace.bytes = locus_attention_workspace(t->plan, &t->options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
    t->workspace.data = lab_block_allocate(t->workspace.bytes);
    t->numbers = calloc(rows, sizeof *t->numbers);
    if (!t->numbers || !t->workspace.data)
        return lab_fail_memory(error, "a trial of the attention");
    return execute(t, error);
}

/* Whether the attention reads and writes tensors of bfloat16 as they are, both ways. */
static bool takes_half(const trial *t) {
    return t->model->config.precision == LAB_BF16 &&
           !locus_attention_widens(t->plan, &t->options, LOCUS_BFLOAT16, LOCUS_PASS_FORWARD) &&
           !locus_attention_widens(t->plan, &t->options, LOCUS_BFLOAT16, LOCUS_PASS_BACKWARD);
}

/* Whether a sublayer can have this kind of attention, and whether its tensors are then bfloat16; why it cannot is told
 * in `error`. */
static locus_status try_kind(const lab_model *model, const lab_stack *stack, lab_sublayer *sublayer,
                             const locus_attention_kind *kind, locus_error *error) {
    const bool cross = sublayer->kind == LAB_CROSS_ATTENTION, images = model->config.architecture->images;
    const size_t grid = images ? lab_convolution_grid(model->config.image_side) : 0;
    const size_t queries = images ? grid * grid : QUERIES; /* an image has as many as that */
    trial t = {.model = model,
               .stack = stack,
               .options = locus_attention_default(),
               .queries = queries,
               .keys = cross ? KEYS : queries};
    t.options.kind = kind;
    t.options.mask = cross ? LOCUS_MASK_FULL : stack->mask;
    t.options.dropout = lab_attention_dropout(kind, model->config.attention_dropout);
    t.options.dropout_on = lab_attention_dropout_on(kind, model->config.attention_dropout_on);
    locus_status status = plan_make(&t, sublayer->encoding, cross, error);
    if (status == LOCUS_OK)
        status = trial_run(&t, error);
    sublayer->half = status == LOCUS_OK && takes_half(&t);
    locus_plan_destroy(&t.plan);
    free(t.numbers);
    free(t.workspace.data);
    return status;
}

static locus_status choose(const lab_model *model, const lab_stack *stack, lab_sublayer *sublayer, bool fall_back,
                           locus_error *error) {
    const locus_attention_kind *asked = model->attention;
    sublayer->attention = asked;
    locus_status status = try_kind(model, stack, sublayer, asked, error);
    /* A table shorter than a try says nothing about the attention; but images have as many tokens as the try. */
    if (status == LOCUS_ERROR_POSITION && !model->config.architecture->images)
        return LOCUS_OK;
    if (status == LOCUS_OK || !fall_back || !asked || status == LOCUS_ERROR_MEMORY)
        return status;
    sublayer->attention = NULL;
    return try_kind(model, stack, sublayer, NULL, error);
}

/* Sublayers of one kind with one encoding choose alike: the first of them is tried. */
static const lab_sublayer *chosen_alike(const lab_stack *stack, size_t index) {
    const lab_sublayer *own = &stack->sublayers[index];
    for (size_t s = 0; s < index; ++s)
        if (stack->sublayers[s].kind == own->kind && stack->sublayers[s].encoding == own->encoding)
            return &stack->sublayers[s];
    return NULL;
}

static locus_status stack_choose(const lab_model *model, lab_stack *stack, bool fall_back, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t s = 0; s < stack->sublayer_count && status == LOCUS_OK; ++s) {
        lab_sublayer *sublayer = &stack->sublayers[s];
        const lab_sublayer *alike = chosen_alike(stack, s);
        if (sublayer->kind == LAB_FEED_FORWARD)
            continue;
        if (alike)
            sublayer->attention = alike->attention, sublayer->half = alike->half;
        else
            status = choose(model, stack, sublayer, fall_back, error);
    }
    return status;
}

locus_status lab_model_attention(lab_model_config *config, const char *text, locus_error *error) {
    locus_attention_kind *kind = NULL;
    char canonical[LAB_ATTENTION_SIZE];
    locus_status status = locus_attention_kind_parse(text, &kind, error);
    if (status == LOCUS_OK && locus_attention_kind_text(kind, canonical, sizeof canonical) >= sizeof canonical)
        status = lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "attention", "the text of an attention is at most %d bytes",
                          LAB_ATTENTION_SIZE - 1);
    if (status == LOCUS_OK)
        snprintf(config->attention, sizeof config->attention, "%s", strcmp(canonical, "softmax") == 0 ? "" : canonical);
    locus_attention_kind_destroy(&kind);
    return status;
}

locus_status lab_attention_choose(lab_model *model, locus_error *error) {
    const bool pair = model->config.architecture->memory;
    locus_status status = LOCUS_OK;
    if (model->config.attention[0] != '\0')
        status = locus_attention_kind_parse(model->config.attention, &model->attention, error);
    if (status == LOCUS_OK)
        status = stack_choose(model, &model->encoder, false, error);
    return status == LOCUS_OK ? stack_choose(model, &model->decoder, pair, error) : status;
}

/* SPDX-License-Identifier: MIT */
/* The plans of a batch: one for each encoding that a stack's layers have, and each of its attentions. */
#include "model/token_positions.h"

static bool stack_has(const lab_stack *stack, size_t index) {
    for (size_t s = 0; s < stack->sublayer_count; ++s)
        if (stack->sublayers[s].kind != LAB_FEED_FORWARD && stack->sublayers[s].encoding == index)
            return true;
    return false;
}

static locus_status place_create(lab_stack_position *place, const locus_binding *binding,
                                 const lab_stack_tokens *tokens, locus_error *error) {
    locus_status status = locus_plan_create(&place->self_plan, binding, tokens->queries, tokens->keys, error);
    if (status == LOCUS_OK && tokens->memory)
        status = locus_plan_create(&place->cross_plan, binding, tokens->queries, tokens->memory, error);
    return status;
}

locus_status lab_places_create(const lab_model *model, const lab_stack *stack, lab_stack_position *places,
                               const lab_stack_tokens *tokens, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < model->encoding_count; ++i) {
        const lab_encoding *own = &model->encodings[i];
        places[i] = (lab_stack_position){.parameter_gradients = model->position_gradients + own->first,
                                         .parameter_count = own->count};
        if (status == LOCUS_OK && stack_has(stack, i))
            status = place_create(&places[i], own->binding, tokens, error);
    }
    return status;
}

void lab_places_destroy(const lab_model *model, lab_stack_position *places) {
    for (size_t i = 0; i < model->encoding_count; ++i) {
        locus_plan_destroy(&places[i].cross_plan);
        locus_plan_destroy(&places[i].self_plan);
    }
}

/* All nodes of trees are the root here: what ends is a table by numbers. */
locus_status lab_model_reaches(const lab_model *model, size_t tokens, locus_error *error) {
    const size_t offsets[2] = {0, tokens};
    const locus_packing packing = {.sequences = 1, .offsets = offsets};
    locus_positions *positions = NULL;
    locus_status status = lab_positions_make(model, &positions, &packing, NULL, error);
    for (size_t i = 0; i < model->encoding_count && status == LOCUS_OK; ++i) {
        locus_plan *plan = NULL;
        status = locus_plan_create(&plan, model->encodings[i].binding, positions, NULL, error);
        locus_plan_destroy(&plan);
    }
    locus_positions_destroy(&positions);
    return status;
}

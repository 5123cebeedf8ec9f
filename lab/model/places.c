/* SPDX-License-Identifier: MIT */
/* The plans of a batch: one for each encoding that a stack's layers have, and each of its attentions. */
#include "model/token_positions.h"

static bool stack_has(const lab_stack *stack, size_t index) {
    for (size_t s = 0; s < stack->sublayer_count; ++s)
        if (stack->sublayers[s].kind != LAB_FEED_FORWARD && stack->sublayers[s].encoding == index)
            return true;
    return false;
}

static void place_destroy(lab_place *place) {
    locus_plan_destroy(&place->plan);
    locus_positions_destroy(&place->queries);
    locus_positions_destroy(&place->keys);
}

static locus_status place_fit(lab_place *place, const locus_binding *binding, const locus_positions *queries,
                              const locus_positions *keys, locus_error *error) {
    if (place->plan && locus_positions_equal(place->queries, queries) && locus_positions_equal(place->keys, keys))
        return locus_plan_refresh(&place->plan, binding, NULL, error);
    place_destroy(place);
    const locus_status status = locus_plan_create(&place->plan, binding, queries, keys, error);
    if (status == LOCUS_OK) {
        place->queries = locus_positions_retain(queries);
        place->keys = keys ? locus_positions_retain(keys) : NULL;
    }
    return status;
}

locus_status lab_places_fit(const lab_model *model, const lab_stack *stack, lab_stack_position *places,
                            const lab_stack_tokens *tokens, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < model->encoding_count && status == LOCUS_OK; ++i) {
        const lab_encoding *own = &model->encodings[i];
        places[i].parameter_gradients = model->position_gradients + own->first;
        places[i].parameter_count = own->count;
        if (stack_has(stack, i))
            status = place_fit(&places[i].self, own->binding, tokens->queries, tokens->keys, error);
        if (status == LOCUS_OK && stack_has(stack, i) && tokens->memory)
            status = place_fit(&places[i].cross, own->binding, tokens->queries, tokens->memory, error);
    }
    return status;
}

void lab_places_destroy(const lab_model *model, lab_stack_position *places) {
    for (size_t i = 0; i < model->encoding_count; ++i) {
        place_destroy(&places[i].self);
        place_destroy(&places[i].cross);
    }
}

/* All nodes of trees are the root here: what ends is a table by numbers. */
locus_status lab_model_reaches(const lab_model *model, size_t tokens, locus_error *error) {
    const size_t offsets[2] = {0, tokens};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
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

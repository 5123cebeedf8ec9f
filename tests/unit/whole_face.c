/* SPDX-License-Identifier: MIT */
/* See whole_face.h. */
#include "whole_face.h"

#include "operators/operate.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static locus_operate operate_of(const whole_face *face, locus_role role, locus_dtype dtype) {
    const bool keys = role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
    return (locus_operate){.op = face->op,
                           .side = keys ? &face->places->items[0].key : &face->places->items[0].query,
                           .heads = face->heads,
                           .dim = face->dim,
                           .dtype = dtype};
}

static size_t workspace_bytes(const locus_whole_operator *op, locus_dtype dtype, const locus_role *roles, size_t count,
                              bool backward) {
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const locus_operate operate = operate_of((const whole_face *)op, roles[i], dtype);
        const size_t bytes = locus_operate_bytes(&operate, backward);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void run(const locus_whole_operator *op, const locus_whole_call *call, bool backward) {
    whole_face *face = (whole_face *)op; /* made by whole_face_make, not const */
    assert_in_range(call->count, 1, LOCUS_WHOLE_STREAMS_MAX);
    face->calls++;
    face->streams += call->count;
    for (size_t i = 0; i < call->count; i++) {
        locus_operate operate = operate_of(face, call->streams[i].role, call->dtype);
        operate.parameters = call->parameters;
        assert_int_equal(call->streams[i].gy.data != NULL, backward);
        assert_int_equal(call->streams[i].x.data != NULL, !backward || call->parameters != NULL);
        if (backward)
            locus_operate_backward(&operate, &call->streams[i], call->workspace);
        else
            locus_operate_forward(&operate, &call->streams[i], call->workspace);
    }
}

static void forward(const locus_whole_operator *op, const locus_whole_call *call) {
    run(op, call, false);
}

static void backward(const locus_whole_operator *op, const locus_whole_call *call) {
    run(op, call, true);
}

static bool learns(const locus_whole_operator *op) {
    const locus_operator *local = ((const whole_face *)op)->op;
    return local->class->slot_bytes(local) > 0;
}

static const locus_whole_class face_class = {
    .workspace_bytes = workspace_bytes, .forward = forward, .backward = backward, .learns = learns};

whole_face whole_face_make(const locus_operator *op, const locus_places *places, size_t heads, size_t dim) {
    return (whole_face){.base = {&face_class}, .op = op, .places = places, .heads = heads, .dim = dim};
}

void whole_face_put(locus_plan *plan, whole_face *query_key, whole_face *value) {
    if (query_key) {
        plan->query_key = NULL;
        plan->query_key_whole = &query_key->base;
    }
    if (value) {
        plan->value = NULL;
        plan->value_whole = &value->base;
    }
}

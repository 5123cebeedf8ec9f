/* SPDX-License-Identifier: MIT */
/* Weights as bfloat16 products read them: of every linear layer W and Wᵀ, laid out once a step, since every chunk of
 * tokens reads all of them. They stand in one block; the weights themselves stay float32, and the optimiser changes
 * these. */
#include "io/fail.h"
#include "model/model_parts.h"
#include <locus/parallel.h>
#include <stdlib.h>

/* What a matrix is made of: op(source) [depth, columns]. */
typedef struct weights {
    lab_bf16_source source;
    size_t depth, columns;
} weights;

/* Called with each matrix of the model. */
typedef void matrix_visit(void *context, lab_bf16_matrix *matrix, const weights *own);

static void visit_linear(lab_linear *linear, matrix_visit *call, void *context) {
    const size_t in = linear->inputs, out = linear->outputs;
    if (linear->weight == NULL)
        return;
    call(context, &linear->forward, &(weights){{lab_floats(linear->weight), in, true}, in, out});
    call(context, &linear->backward, &(weights){{lab_floats(linear->weight), in, false}, out, in});
}

static void visit_stack(const lab_stack *stack, matrix_visit *call, void *context) {
    for (size_t s = 0; s < stack->sublayer_count; ++s) {
        lab_sublayer *sublayer = &stack->sublayers[s];
        visit_linear(&sublayer->project, call, context);
        visit_linear(&sublayer->memory, call, context);
        visit_linear(&sublayer->output, call, context);
    }
}

static void visit_all(lab_model *model, matrix_visit *call, void *context) {
    lab_convolution *convolution = &model->convolution;
    visit_stack(&model->encoder, call, context);
    visit_stack(&model->decoder, call, context);
    visit_linear(&model->output, call, context);
    visit_linear(&model->head.pooler, call, context);
    visit_linear(&model->head.classifier, call, context);
    if (convolution->weight == NULL)
        return;
    const size_t patch = convolution->channels * LAB_CONVOLUTION_TAPS;
    call(context, &convolution->forward,
         &(weights){{lab_floats(convolution->weight), patch, true}, patch, convolution->filters});
}

/* ---- room ---- */

typedef struct room {
    uint16_t *block; /* NULL: counting */
    size_t used;
} room;

static void matrix_place(void *context, lab_bf16_matrix *matrix, const weights *own) {
    room *free_part = context;
    *matrix = (lab_bf16_matrix){own->depth, own->columns, free_part->block ? free_part->block + free_part->used : NULL};
    free_part->used += lab_bf16_matrix_size(own->depth, own->columns);
}

locus_status lab_rounded_weights_create(lab_model *model, locus_error *error) {
    if (model->config.precision != LAB_BF16)
        return LOCUS_OK;
    room own = {NULL, 0};
    visit_all(model, matrix_place, &own);
    own.block = model->rounded_weights = lab_block_allocate(own.used * sizeof *own.block);
    if (own.block == NULL)
        return lab_fail_memory(error, "the model's weights as bfloat16");
    own.used = 0;
    visit_all(model, matrix_place, &own);
    lab_rounded_weights_fill(model);
    return LOCUS_OK;
}

/* ---- values ---- */

enum { MOST_TASKS = 64 };

/* Blocks of all matrices, counted through; task i does every MOST_TASKS-th of them. */
typedef struct filling {
    lab_model *model;
    size_t task, block;
} filling;

static void matrix_fill(void *context, lab_bf16_matrix *matrix, const weights *own) {
    filling *call = context;
    for (size_t b = 0; b < lab_bf16_matrix_blocks(matrix); ++b)
        if (call->block++ % MOST_TASKS == call->task)
            lab_bf16_matrix_block_fill(matrix, &own->source, b);
}

static void fill_task(void *context, size_t task, size_t worker) {
    (void)worker;
    filling own = {context, task, 0};
    visit_all(own.model, matrix_fill, &own);
}

void lab_rounded_weights_fill(const lab_model *model) {
    if (model->rounded_weights)
        locus_parallel_for(MOST_TASKS, fill_task, (void *)(uintptr_t)model);
}

/* SPDX-License-Identifier: MIT */
/* The classifier of token sequences:
 *
 *   tokens → embedding (+ vectors of the encoding + token types) → [LayerNorm] → encoder (+ vectors)
 *          → first row or mean of the rows → [tanh(W x + b)] → classifier → cross-entropy
 *
 * and the gradients of its mean over samples. With the LayerNorm, token types and the pooler it is BERT (Devlin et al.
 * 2018): the norm stands before the embedding's dropout, so it is no part of the encoder's first join. Sequences end
 * anywhere in the encoder's chunks: what stands behind it is computed sequence by sequence, once it is done. */
#include "io/fail.h"
#include "model/token_positions.h"
#include "nn/embedding.h"
#include "task/task.h"
#include <math.h>
#include <string.h>

/* What stands before and behind the encoder beside the embedding and the head, and what a batch of n sequences, T
 * tokens, needs. */
typedef struct text_part {
    float *types, *types_gradient; /* [token_types, D]; NULL: there are none */
    lab_norm embedding_norm;       /* gain NULL: there is none */
    size_t samples;                /* n */
    const size_t *offsets;         /* [n + 1], the batch's */
    int32_t *token_types;          /* [T], with types */
    float *embedded;               /* [T, D], with an embedding norm: what it reads */
    float *mean, *inverse;         /* [T], likewise */
    float *rows, *rows_gradient;   /* [n, D]: what is taken of each sequence; without a pooler the head's own */
    float *sums;                   /* [chunks of samples, classes + D]: of bias gradients */
} text_part;

/* ---- parts ---- */

static void declare(lab_declaration *d, lab_model *model) {
    const lab_model_config *config = &model->config;
    text_part *text = model->part;
    (void)lab_declare_embedding(d);
    if (config->token_types > 0) {
        const lab_slot types = lab_declare(d, "types.weight", config->token_types, config->dim, 0.02);
        text->types = types.value, text->types_gradient = types.gradient;
    }
    if (config->embedding_norm)
        text->embedding_norm = lab_declare_norm(d, "embedding_norm");
    lab_declare_stack(d, "encoder", &model->encoder);
    if (config->head == LAB_HEAD_POOLER)
        model->head.pooler = lab_declare_dense(d, "pooler", config->dim);
    model->head.classifier = lab_declare_dense(d, "classifier", config->classes);
}

static void place_head(lab_arena *arena, lab_model *model, const lab_batch_size *size) {
    const size_t n = size->samples, D = model->config.dim, chunks = lab_chunk_count(n);
    const bool pooler = model->head.pooler.weight != NULL;
    text_part *text = model->part;
    lab_place_class_head(arena, model, size, chunks);
    text->rows = pooler ? lab_arena_floats(arena, n * D) : model->head.pooled;
    if (!size->backward)
        return;
    text->rows_gradient = pooler ? lab_arena_floats(arena, n * D) : model->head.pooled_gradient;
    text->sums = lab_arena_floats(arena, chunks * (model->config.classes + D));
}

static void place(lab_arena *arena, lab_model *model, const lab_batch_size *size) {
    const size_t T = size->encoder_tokens, D = model->config.dim;
    text_part *text = model->part;
    const bool norm = text->embedding_norm.gain != NULL;
    place_head(arena, model, size);
    text->token_types = text->types ? lab_arena_take(arena, T, sizeof *text->token_types) : NULL;
    text->embedded = norm ? lab_arena_floats(arena, T * D) : NULL;
    text->mean = norm ? lab_arena_floats(arena, T) : NULL;
    text->inverse = norm ? lab_arena_floats(arena, T) : NULL;
    lab_place_stack(arena, &model->encoder, size->backward);
    model->encoder.before = NULL;
    if (size->backward)
        lab_place_gradients(arena, &model->encoder, &model->encoder);
}

/* ---- checks ---- */

static locus_status check_types(const lab_model *model, const lab_batch *batch, locus_error *error) {
    const size_t types = model->config.token_types;
    if (batch->types && types == 0)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "types",
                        "the batch has token types, but the model has none: give it no types");
    for (size_t t = 0; batch->types && t < batch->input_offsets[batch->samples]; ++t)
        if (batch->types[t] < 0 || (size_t)batch->types[t] >= types)
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "types",
                            "type %ld of the token at place %zu is not below the %zu token types",
                            (long)batch->types[t], t, types);
    return LOCUS_OK;
}

static locus_status batch_check(const lab_model *model, const lab_batch *batch, bool labels, locus_error *error) {
    locus_status status = lab_batch_check(model, batch, false, error);
    for (size_t s = 0; s < batch->samples && status == LOCUS_OK; ++s)
        if (batch->input_offsets[s] == batch->input_offsets[s + 1])
            status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                              "sequence %zu is empty: a classifier needs a token of each", s);
    if (status == LOCUS_OK)
        status = check_types(model, batch, error);
    return status == LOCUS_OK ? lab_labels_check(model, batch, labels, error) : status;
}

/* ---- embeddings ---- */

/* What is read: sum = E[token] + vectors + types; then, if there is a norm, it is kept and the normalised rows stand in
 * its place. */
static void embeddings_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    static const lab_dropout none = {0};
    const lab_model *model = context;
    const text_part *text = model->part;
    const size_t D = model->config.dim;
    const lab_rows rows = lab_stack_chunk(&model->encoder, chunk);
    float *x = model->encoder.joins[0].sum;
    for (size_t t = rows.first; text->types && t < rows.first + rows.count; ++t)
        lab_row_add(D, text->types + (size_t)text->token_types[t] * D, x + t * D);
    if (text->embedding_norm.gain == NULL)
        return;
    const lab_join_forward_call call = {.norm = &text->embedding_norm,
                                        .dropout = &none,
                                        .branch = x,
                                        .sum = text->embedded,
                                        .y = x,
                                        .mean = text->mean,
                                        .inverse = text->inverse};
    lab_join_forward(&call, D, rows);
}

/* x = LayerNorm(embedded): dL/dx and dL/d(embedded) in branch[0]. The chunk's sums: gain | shift. */
static void norm_backward_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    static const lab_dropout none = {0};
    const lab_model *model = context;
    const text_part *text = model->part;
    const lab_stack *encoder = &model->encoder;
    const size_t D = encoder->dim;
    float *sums = encoder->partials + chunk * encoder->partial_width;
    memset(sums, 0, 2 * D * sizeof *sums);
    const lab_join_backward_call call = {.norm = &text->embedding_norm,
                                         .dropout = &none,
                                         .sum = text->embedded,
                                         .mean = text->mean,
                                         .inverse = text->inverse,
                                         .gy = encoder->branch[0],
                                         .carry = encoder->carry,
                                         .branch = encoder->branch[0],
                                         .gain_sum = sums,
                                         .shift_sum = sums + D};
    lab_join_backward(&call, D, lab_stack_chunk(encoder, chunk));
}

static void norm_backward(lab_model *model) {
    const lab_stack *encoder = &model->encoder;
    const text_part *text = model->part;
    const lab_norm *norm = &text->embedding_norm;
    const size_t chunks = lab_stack_chunks(encoder), D = encoder->dim;
    if (norm->gain == NULL)
        return;
    locus_parallel_for(chunks, norm_backward_task, model);
    lab_column_fold(chunks, D, encoder->partials, encoder->partial_width, norm->gain_gradient);
    lab_column_fold(chunks, D, encoder->partials + D, encoder->partial_width, norm->shift_gradient);
}

/* A table's gradient from that of its rows, where nothing else adds to it. */
static void table_backward(const lab_model *model, size_t entries, const int32_t *rows, float scale, float *gradient) {
    const lab_stack *encoder = &model->encoder;
    memset(gradient, 0, entries * encoder->dim * sizeof *gradient);
    lab_embedding_backward(encoder->tokens, encoder->dim, rows, encoder->branch[0], scale, gradient);
}

static locus_status embeddings_backward(lab_model *model, const lab_batch *batch, const lab_stack_run *run,
                                        locus_error *error) {
    const text_part *text = model->part;
    norm_backward(model);
    if (text->types)
        table_backward(model, model->config.token_types, text->token_types, 1.0f, text->types_gradient);
    const locus_status status = lab_tokens_add_backward(model, run->stack, lab_run_token_plan(run), error);
    if (status != LOCUS_OK)
        return status;
    table_backward(model, model->config.vocabulary, batch->input, lab_embedding_scale(model),
                   model->embedding_gradient);
    return LOCUS_OK;
}

/* ---- what stands behind the encoder ---- */

/* What is taken of a sequence: its first row, or the mean of its rows, summed in double. */
static void take_task(void *context, size_t sample, size_t worker) {
    (void)worker;
    const lab_model *model = context;
    const text_part *text = model->part;
    const lab_stack *encoder = &model->encoder;
    const size_t D = encoder->dim, first = text->offsets[sample], count = text->offsets[sample + 1] - first;
    const float *y = encoder->joins[encoder->sublayer_count].y + first * D;
    float *row = text->rows + sample * D;
    if (model->config.pool == LAB_POOL_FIRST) {
        memcpy(row, y, D * sizeof *row);
        return;
    }
    lab_column_fold(count, D, y, D, row);
    for (size_t j = 0; j < D; ++j)
        row[j] /= (float)count;
}

static void head_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    lab_model *model = context;
    const text_part *text = model->part;
    const lab_class_head *head = &model->head;
    const size_t D = model->config.dim;
    const lab_rows samples = lab_chunk_at(text->samples, chunk);
    if (head->pooler.weight) {
        float *pooled = head->pooled + samples.first * D;
        lab_linear_forward(&head->pooler, samples, lab_floats(text->rows), lab_floats(head->pooled));
        for (size_t i = 0; i < samples.count * D; ++i)
            pooled[i] = tanhf(pooled[i]);
    }
    lab_class_logits(model, samples, chunk);
}

/* logits = pooled Wᵀ + b, pooled = tanh(rows Vᵀ + c). The chunk's sums: dL/db | dL/dc. */
static void head_backward_task(void *context, size_t chunk, size_t worker) {
    (void)worker;
    lab_model *model = context;
    const text_part *text = model->part;
    const lab_class_head *head = &model->head;
    const size_t D = model->config.dim, classes = model->config.classes;
    const lab_rows samples = lab_chunk_at(text->samples, chunk);
    float *sums = text->sums + chunk * (classes + D);
    memset(sums, 0, (classes + D) * sizeof *sums);
    lab_linear_backward(&head->classifier, samples, lab_floats(model->step.logits), lab_floats(head->pooled_gradient),
                        false);
    lab_column_sum(samples, classes, lab_floats(model->step.logits), sums);
    if (head->pooler.weight == NULL)
        return;
    for (size_t i = samples.first * D; i < (samples.first + samples.count) * D; ++i)
        head->pooled_gradient[i] *= 1.0f - head->pooled[i] * head->pooled[i];
    lab_column_sum(samples, D, lab_floats(head->pooled_gradient), sums + classes);
    lab_linear_backward(&head->pooler, samples, lab_floats(head->pooled_gradient), lab_floats(text->rows_gradient),
                        false);
}

static void head_backward(lab_model *model) {
    const text_part *text = model->part;
    const lab_class_head *head = &model->head;
    const size_t classes = model->config.classes, width = classes + model->config.dim;
    const size_t chunks = lab_chunk_count(text->samples);
    locus_parallel_for(chunks, head_backward_task, model);
    lab_class_weight_gradient(model, text->samples);
    lab_column_fold(chunks, classes, text->sums, width, head->classifier.bias_gradient);
    if (head->pooler.weight == NULL)
        return;
    const lab_product product = lab_linear_weight_product(&head->pooler, text->samples,
                                                          lab_floats(head->pooled_gradient), lab_floats(text->rows));
    lab_weight_gradients(&product, 1);
    lab_column_fold(chunks, model->config.dim, text->sums + classes, width, head->pooler.bias_gradient);
}

/* The sequence that a row belongs to. */
static size_t sample_of(const text_part *text, size_t row) {
    size_t first = 0, end = text->samples;
    while (end - first > 1) {
        const size_t middle = first + (end - first) / 2;
        if (text->offsets[middle] <= row)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* rows = first row, or mean: where the encoder's backward begins. */
static void take_backward(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)chunk, (void)partial;
    const lab_model *model = context;
    const text_part *text = model->part;
    const size_t D = model->config.dim;
    const bool mean = model->config.pool == LAB_POOL_MEAN;
    size_t s = sample_of(text, rows.first);
    for (size_t t = rows.first; t < rows.first + rows.count; ++t) {
        float *gy = model->encoder.gy + t * D;
        s += t == text->offsets[s + 1];
        const float share = mean ? 1.0f / (float)(text->offsets[s + 1] - text->offsets[s]) : t == text->offsets[s];
        for (size_t j = 0; j < D; ++j)
            gy[j] = share * text->rows_gradient[s * D + j];
    }
}

/* ---- one batch ---- */

static locus_status plans_create(lab_model *model, const lab_batch *batch, locus_positions **positions,
                                 locus_error *error) {
    const locus_status status = lab_positions_of(model, positions, batch, NULL, error);
    const lab_stack_tokens tokens = {.queries = *positions};
    return status == LOCUS_OK ? lab_places_fit(model, &model->encoder, model->encoder_places, &tokens, error) : status;
}

static locus_status forward(lab_model *model, const lab_batch *batch, bool training, lab_stack_run *run,
                            locus_error *error) {
    const text_part *text = model->part;
    *run = lab_run_make(model, &model->encoder, model->encoder_places, training);
    locus_status status = lab_runs_prepare(model, &run, 1, training, error);
    if (status == LOCUS_OK)
        status = lab_tokens_embed(model, run->stack, batch->input, lab_run_token_plan(run), error);
    if (status != LOCUS_OK)
        return status;
    if (text->types || text->embedding_norm.gain)
        locus_parallel_for(lab_stack_chunks(run->stack), embeddings_task, model);
    status = lab_encoder_run(model, run, NULL, error);
    if (status != LOCUS_OK)
        return status;
    locus_parallel_for(batch->samples, take_task, model);
    locus_parallel_for(lab_chunk_count(batch->samples), head_task, model);
    return LOCUS_OK;
}

static locus_status backward(lab_model *model, const lab_batch *batch, lab_stack_run *run, locus_error *error) {
    lab_position_gradients_clear(model);
    head_backward(model);
    run->end = take_backward;
    const locus_status status = lab_stack_backward(run, error);
    return status == LOCUS_OK ? embeddings_backward(model, batch, run, error) : status;
}

static locus_status execute(lab_model *model, const lab_batch *batch, bool training, lab_score *score,
                            locus_error *error) {
    lab_stack_run run;
    locus_status status = forward(model, batch, training, &run, error);
    if (status != LOCUS_OK || score == NULL)
        return status;
    lab_class_score(model, batch->samples, lab_chunk_count(batch->samples), score);
    status = lab_loss_check(score, error);
    return status == LOCUS_OK && training ? backward(model, batch, &run, error) : status;
}

static void batch_begin(lab_model *model, const lab_batch *batch, bool training) {
    text_part *text = model->part;
    const size_t bytes = batch->input_offsets[batch->samples] * sizeof *text->token_types;
    lab_class_begin(model, batch, training);
    text->samples = batch->samples;
    text->offsets = batch->input_offsets;
    if (text->types && batch->types)
        memcpy(text->token_types, batch->types, bytes);
    else if (text->types)
        memset(text->token_types, 0, bytes);
}

static locus_status run(lab_model *model, const lab_batch *batch, const lab_batch_pass *pass, lab_score *score,
                        locus_error *error) {
    locus_status status = batch_check(model, batch, score != NULL, error);
    if (status != LOCUS_OK)
        return status;
    const lab_batch_size size = {
        .samples = batch->samples, .encoder_tokens = batch->input_offsets[batch->samples], .backward = pass->training};
    status = lab_activations_fit(model, &size, error);
    if (status != LOCUS_OK)
        return status;
    batch_begin(model, batch, pass->training);
    locus_positions *positions = NULL;
    status = plans_create(model, batch, &positions, error);
    if (status == LOCUS_OK)
        status = execute(model, batch, pass->training, score, error);
    locus_positions_destroy(&positions);
    return status;
}

/* ---- the class ---- */

static bool holds_labels(const lab_dataset *set) {
    return set->labels != NULL;
}

/* Long Range Arena's encoder for ListOps. */
const lab_architecture lab_text_classifier = {
    .name = "text-classifier",
    .phrase = "a text classifier",
    .reads = "labelled tokens",
    .sample = "sequence",
    .described =
        "encoder, {encoder_layers} layers, dimension {dim}, {heads} heads, feed-forward {feed_forward}, LayerNorm "
        "{norm} each block, a linear classifier on the {pool|first} token, dropout {dropout}, attention dropout "
        "{attention_dropout} on the {attention_dropout_on}",
    .defaults = {LAB_ARCHITECTURE_DEFAULTS(lab_text_classifier, LAB_NORM_BEFORE), LAB_TOKEN_DEFAULTS, .vocabulary = 16,
                 .feed_forward = 1024, .encoder_layers = 6, .classes = 10, .pool = LAB_POOL_FIRST},
    .encoder = true,
    .vocabulary = true,
    .trees = true,
    .classes = true,
    .token_types = true,
    .part_size = sizeof(text_part),
    .declare = declare,
    .place = place,
    .run = run,
    .holds = holds_labels,
};

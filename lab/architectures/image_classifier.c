/* SPDX-License-Identifier: MIT */
/* One batch through the image classifier (Hassani et al. 2021):
 *
 *   pixels → convolution → tokens (+ vectors of the encoding) → encoder → pooling → classifier → cross-entropy
 *
 * and the gradients of its mean over images. What stands behind the encoder is computed image by image at the encoder's
 * end, while a chunk of its output is in the cache. */
#include "io/fail.h"
#include "model/model_parts.h"
#include <string.h>

static size_t pixel_count(const lab_model_config *config) {
    return config->image_channels * config->image_side * config->image_side;
}

static locus_status batch_check(const lab_model *model, const lab_batch *batch, bool labels, locus_error *error) {
    if (batch->samples == 0)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "batch", "the batch is empty");
    if (batch->images == NULL)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "images",
                        "the batch has no images: an image classifier reads them");
    return lab_labels_check(model, batch, labels, error);
}

/* Numbers of a worker's scratch memory; each begins a cache line. */
static size_t scratch_stride(const lab_model *model) {
    return (lab_convolution_scratch(&model->image.convolution) + 15) / 16 * 16;
}

/* How many workers the workspace has room for: a loop has no more, whatever the number of threads is by then. */
static size_t scratch_workers(const lab_model *model) {
    return model->workspace.bytes / (scratch_stride(model) * sizeof(float));
}

static float *scratch_of(const lab_model *model, size_t worker) {
    return (float *)model->workspace.data + worker * scratch_stride(model);
}

static void tokens_task(void *context, size_t chunk, size_t worker) {
    const lab_model *model = context;
    const lab_image_part *image = &model->image;
    lab_convolution_forward(&image->convolution, lab_stack_samples(&model->encoder, chunk), image->pixels,
                            model->encoder.joins[0].sum, image->places, scratch_of(model, worker));
}

/* tokens = maxpool(max(pixels * kernel, 0)) */
static void tokens_backward_task(void *context, size_t chunk, size_t worker) {
    const lab_model *model = context;
    const lab_image_part *image = &model->image;
    float *sum = image->kernel_sums + chunk * lab_convolution_weights(&model->image.convolution);
    memset(sum, 0, lab_convolution_weights(&model->image.convolution) * sizeof *sum);
    lab_convolution_backward(&image->convolution, lab_stack_samples(&model->encoder, chunk), image->pixels,
                             image->places, model->encoder.branch[0], sum, scratch_of(model, worker));
}

/* The encoder's end: logits of the chunk's images, and, where labels are known, their cross-entropy and its gradient in
 * the logits' place. */
static void logits_end(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)rows, (void)partial;
    lab_model *model = context;
    const lab_stack *encoder = &model->encoder;
    const lab_image_part *image = &model->image;
    const lab_rows images = lab_stack_samples(encoder, chunk);
    lab_pooling_forward(&image->pooling, images, image->offsets, encoder->joins[encoder->sublayer_count].y,
                        image->shares, model->head.pooled);
    lab_class_logits(model, images, chunk);
}

/* logits = pool(y) Wᵀ + b. The chunk's sums: pooling weight | classifier bias. */
static void logits_backward(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)rows;
    lab_model *model = context;
    const lab_stack *encoder = &model->encoder;
    const lab_image_part *image = &model->image;
    const lab_class_head *head = &model->head;
    const lab_rows images = lab_stack_samples(encoder, chunk);
    const size_t classes = model->config.classes;
    lab_linear_backward(&head->classifier, images, lab_floats(model->step.logits), lab_floats(head->pooled_gradient),
                        false);
    lab_column_sum(images, classes, lab_floats(model->step.logits), partial + encoder->dim);
    const lab_pooling_backward_call call = {.offsets = image->offsets,
                                            .x = encoder->joins[encoder->sublayer_count].y,
                                            .shares = image->shares,
                                            .y = head->pooled,
                                            .gy = head->pooled_gradient,
                                            .gx = encoder->gy,
                                            .sum = partial};
    lab_pooling_backward(&image->pooling, images, &call);
}

/* The bias of the pooling's scores moves them all alike: its gradient is 0. */
static void head_gradients(const lab_model *model, size_t images) {
    const lab_stack *encoder = &model->encoder;
    const lab_image_part *image = &model->image;
    const size_t chunks = lab_stack_chunks(encoder), width = encoder->partial_width;
    lab_class_weight_gradient(model, images);
    lab_column_fold(chunks, encoder->dim, encoder->partials, width, image->pooling.weight_gradient);
    lab_column_fold(chunks, model->config.classes, encoder->partials + encoder->dim, width,
                    model->head.classifier.bias_gradient);
    image->pooling.bias_gradient[0] = 0.0f;
}

static locus_status backward(lab_model *model, size_t images, lab_stack_run *run, locus_error *error) {
    const size_t chunks = lab_stack_chunks(run->stack), kernel = lab_convolution_weights(&model->image.convolution);
    lab_position_gradients_clear(model);
    run->end = logits_backward;
    locus_status status = lab_stack_backward(run, error);
    if (status != LOCUS_OK)
        return status;
    head_gradients(model, images);
    status = lab_tokens_add_backward(model, run->stack, lab_run_token_plan(run), error);
    if (status != LOCUS_OK)
        return status;
    locus_parallel_for_at_most(scratch_workers(model), chunks, tokens_backward_task, model);
    lab_column_fold(chunks, kernel, model->image.kernel_sums, kernel, model->image.convolution.weight_gradient);
    return LOCUS_OK;
}

/* Plans of the attentions: one for each encoding and all images, and one for each sublayer that leaves some out. */
static locus_status thinned_plan_create(lab_model *model, lab_sublayer *sublayer, locus_error *error) {
    const lab_stack *stack = &model->encoder;
    const size_t images = lab_sublayer_tokens(stack, sublayer) / stack->sample_tokens;
    locus_positions *positions = NULL;
    if (images == 0)
        return LOCUS_OK;
    locus_status status = lab_image_positions_make(model, &positions, images, stack->sample_tokens, error);
    if (status == LOCUS_OK)
        status =
            locus_plan_create(&sublayer->plan, model->encodings[sublayer->encoding].binding, positions, NULL, error);
    locus_positions_destroy(&positions);
    return status;
}

static locus_status plans_create(lab_model *model, size_t images, locus_positions **positions, locus_error *error) {
    lab_stack *stack = &model->encoder;
    locus_status status = lab_image_positions_make(model, positions, images, stack->sample_tokens, error);
    const lab_stack_tokens tokens = {.queries = *positions};
    if (status == LOCUS_OK)
        status = lab_places_fit(model, stack, model->encoder_places, &tokens, error);
    for (size_t s = 0; s < stack->sublayer_count && status == LOCUS_OK; ++s)
        if (stack->sublayers[s].kind == LAB_SELF_ATTENTION && stack->sublayers[s].before)
            status = thinned_plan_create(model, &stack->sublayers[s], error);
    return status;
}

static void plans_destroy(lab_model *model, locus_positions **positions) {
    for (size_t s = 0; s < model->encoder.sublayer_count; ++s)
        locus_plan_destroy(&model->encoder.sublayers[s].plan);
    locus_positions_destroy(positions);
}

static locus_status forward(lab_model *model, bool training, lab_stack_run *run, locus_error *error) {
    *run = lab_run_make(model, &model->encoder, model->encoder_places, training);
    locus_status status = lab_workspace_fit(model, locus_threads() * scratch_stride(model) * sizeof(float), error);
    if (status == LOCUS_OK)
        status = lab_runs_prepare(model, &run, 1, training, error);
    if (status != LOCUS_OK)
        return status;
    locus_parallel_for_at_most(scratch_workers(model), lab_stack_chunks(run->stack), tokens_task, model);
    status = lab_tokens_add(model, run->stack, lab_run_token_plan(run), error);
    return status == LOCUS_OK ? lab_encoder_run(model, run, logits_end, error) : status;
}

static locus_status execute(lab_model *model, size_t images, bool training, lab_score *score, locus_error *error) {
    lab_stack_run run;
    locus_status status = forward(model, training, &run, error);
    if (status != LOCUS_OK || score == NULL)
        return status;
    lab_class_score(model, images, lab_stack_chunks(&model->encoder), score);
    status = lab_loss_check(score, error);
    return status == LOCUS_OK && training ? backward(model, images, &run, error) : status;
}

static void depth_draw(lab_model *model, const lab_batch_pass *pass) {
    const lab_depth depth = {.rate = pass->training ? model->config.stochastic_depth : 0.0,
                             .rescaled = model->config.survivors == LAB_SURVIVORS_RESCALED,
                             .key = {pass->seed, LAB_PURPOSE_DEPTH + pass->shard * LAB_PURPOSE_SHARD, pass->step}};
    lab_depth_draw(&model->encoder, &depth);
}

/* score NULL: nothing but the logits is wanted. */
static locus_status images_run(lab_model *model, const lab_batch *batch, const lab_batch_pass *pass, lab_score *score,
                               locus_error *error) {
    const size_t grid = lab_convolution_grid(model->config.image_side);
    const lab_batch_size size = {
        .samples = batch->samples, .encoder_tokens = batch->samples * grid * grid, .backward = pass->training};
    model->encoder.sample_tokens = grid * grid;
    locus_status status = lab_activations_fit(model, &size, error);
    if (status != LOCUS_OK)
        return status;
    model->image.pixels = batch->images;
    lab_class_begin(model, batch, pass->training);
    for (size_t i = 0; i <= batch->samples; ++i)
        model->image.offsets[i] = i * grid * grid;
    depth_draw(model, pass);
    locus_positions *positions = NULL;
    status = plans_create(model, batch->samples, &positions, error);
    if (status == LOCUS_OK)
        status = execute(model, batch->samples, pass->training, score, error);
    plans_destroy(model, &positions);
    return status;
}

locus_status lab_image_batch_run(lab_model *model, const lab_batch *batch, const lab_batch_pass *pass, lab_score *score,
                                 locus_error *error) {
    const locus_status status = batch_check(model, batch, true, error);
    return status == LOCUS_OK ? images_run(model, batch, pass, score, error) : status;
}

locus_status lab_model_classify(lab_model *model, const float *images, size_t count, float *probabilities,
                                locus_error *error) {
    enum { BATCH = 256 };
    const size_t pixels = pixel_count(&model->config), classes = model->config.classes;
    if (model->config.architecture != LAB_IMAGE_CLASSIFIER)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "model",
                        "the model is no image classifier: it reads no images");
    lab_dropout_arm(model, &(lab_batch_pass){0});
    for (size_t first = 0; first < count; first += BATCH) {
        const size_t samples = count - first < BATCH ? count - first : BATCH;
        const lab_batch batch = {.samples = samples, .images = images ? images + first * pixels : NULL};
        locus_status status = batch_check(model, &batch, false, error);
        if (status == LOCUS_OK)
            status = lab_products_came(images_run(model, &batch, &(lab_batch_pass){0}, NULL, error), error);
        if (status != LOCUS_OK)
            return status;
        lab_class_probabilities(model, samples, probabilities + first * classes);
    }
    return LOCUS_OK;
}

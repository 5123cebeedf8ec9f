/* SPDX-License-Identifier: MIT */
/* The image classifier, the compact convolutional Transformer (Hassani et al. 2021):
 *
 *   pixels → convolution → tokens (+ vectors of the encoding) → encoder → pooling → classifier → cross-entropy
 *
 * and the gradients of its mean over images. What stands behind the encoder is computed image by image at the encoder's
 * end, while a chunk of its output is in the cache. */
#include "io/fail.h"
#include "model/model_parts.h"
#include "nn/pooling.h"
#include "train/feed/feed.h"
#include <math.h>
#include <string.h>

/* What stands before and behind the encoder beside the convolution and the head, and what a batch of n images, T
 * tokens, needs. */
typedef struct image_part {
    lab_pooling pooling;
    const float *pixels; /* the batch's */
    size_t *offsets;     /* [n + 1], of tokens */
    uint8_t *places;     /* [T, D], of the convolution */
    float *shares;       /* [T] */
    float *kernel_sums;  /* [chunks, the convolution's weights] */
} image_part;

/* ---- parts ---- */

/* The convolution begins as N(0, 2 / in), which keeps the size of what a rectifier passes (He et al. 2015). */
static void declare(lab_declaration *d, lab_model *model) {
    const lab_model_config *config = &model->config;
    const size_t in = config->image_channels * LAB_CONVOLUTION_TAPS;
    const lab_slot kernel = lab_declare(d, "convolution.weight", config->dim, in, sqrt(2.0 / (double)in));
    model->convolution = (lab_convolution){.channels = config->image_channels,
                                           .side = config->image_side,
                                           .filters = config->dim,
                                           .weight = kernel.value,
                                           .weight_gradient = kernel.gradient};
    lab_declare_stack(d, "encoder", &model->encoder);
    model->encoder.end_width = config->dim + config->classes;
    const lab_slot weight = lab_declare(d, "pooling.weight", 1, config->dim, 0.0);
    const lab_slot bias = lab_declare(d, "pooling.bias", 1, 0, 0.0);
    image_part *image = model->part;
    image->pooling = (lab_pooling){config->dim, weight.value, bias.value, weight.gradient, bias.gradient};
    model->head.classifier = lab_declare_dense(d, "classifier", config->classes);
}

static void place(lab_arena *arena, lab_model *model, const lab_batch_size *size) {
    const size_t n = size->samples, T = size->encoder_tokens, D = model->config.dim;
    image_part *image = model->part;
    lab_stack *stack = &model->encoder;
    const size_t chunks = lab_stack_chunks(stack);
    lab_place_class_head(arena, model, size, chunks);
    image->offsets = lab_arena_take(arena, n + 1, sizeof *image->offsets);
    image->shares = lab_arena_floats(arena, T);
    image->places = size->backward ? lab_arena_take(arena, T * D, sizeof *image->places) : NULL;
    lab_place_stack(arena, stack, size->backward);
    stack->before = NULL;
    if (!size->backward)
        return;
    if (stack->leaves_out)
        stack->before = lab_arena_take(arena, stack->sublayer_count * (n + 1), sizeof *stack->before);
    image->kernel_sums = lab_arena_floats(arena, chunks * lab_convolution_weights(&model->convolution));
    lab_place_gradients(arena, stack, stack);
}

/* ---- one batch ---- */

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
    return (lab_convolution_scratch(&model->convolution) + 15) / 16 * 16;
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
    const image_part *image = model->part;
    lab_convolution_forward(&model->convolution, lab_stack_samples(&model->encoder, chunk), image->pixels,
                            model->encoder.joins[0].sum, image->places, scratch_of(model, worker));
}

/* tokens = maxpool(max(pixels * kernel, 0)) */
static void tokens_backward_task(void *context, size_t chunk, size_t worker) {
    const lab_model *model = context;
    const image_part *image = model->part;
    float *sum = image->kernel_sums + chunk * lab_convolution_weights(&model->convolution);
    memset(sum, 0, lab_convolution_weights(&model->convolution) * sizeof *sum);
    lab_convolution_backward(&model->convolution, lab_stack_samples(&model->encoder, chunk), image->pixels,
                             image->places, model->encoder.branch[0], sum, scratch_of(model, worker));
}

/* The encoder's end: logits of the chunk's images, and, where labels are known, their cross-entropy and its gradient in
 * the logits' place. */
static void logits_end(void *context, lab_rows rows, size_t chunk, float *partial) {
    (void)rows, (void)partial;
    lab_model *model = context;
    const lab_stack *encoder = &model->encoder;
    const image_part *image = model->part;
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
    const image_part *image = model->part;
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
    const image_part *image = model->part;
    const size_t chunks = lab_stack_chunks(encoder), width = encoder->partial_width;
    lab_class_weight_gradient(model, images);
    lab_column_fold(chunks, encoder->dim, encoder->partials, width, image->pooling.weight_gradient);
    lab_column_fold(chunks, model->config.classes, encoder->partials + encoder->dim, width,
                    model->head.classifier.bias_gradient);
    image->pooling.bias_gradient[0] = 0.0f;
}

static locus_status backward(lab_model *model, size_t images, lab_stack_run *run, locus_error *error) {
    const size_t chunks = lab_stack_chunks(run->stack), kernel = lab_convolution_weights(&model->convolution);
    const image_part *image = model->part;
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
    lab_column_fold(chunks, kernel, image->kernel_sums, kernel, model->convolution.weight_gradient);
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

static locus_status run(lab_model *model, const lab_batch *batch, const lab_batch_pass *pass, lab_score *score,
                        locus_error *error) {
    const size_t grid = lab_convolution_grid(model->config.image_side);
    const lab_batch_size size = {
        .samples = batch->samples, .encoder_tokens = batch->samples * grid * grid, .backward = pass->training};
    image_part *image = model->part;
    locus_status status = batch_check(model, batch, score != NULL, error);
    if (status != LOCUS_OK)
        return status;
    model->encoder.sample_tokens = grid * grid;
    status = lab_activations_fit(model, &size, error);
    if (status != LOCUS_OK)
        return status;
    image->pixels = batch->images;
    lab_class_begin(model, batch, pass->training);
    for (size_t i = 0; i <= batch->samples; ++i)
        image->offsets[i] = i * grid * grid;
    depth_draw(model, pass);
    locus_positions *positions = NULL;
    status = plans_create(model, batch->samples, &positions, error);
    if (status == LOCUS_OK)
        status = execute(model, batch->samples, pass->training, score, error);
    plans_destroy(model, &positions);
    return status;
}

/* ---- the class ---- */

static bool holds_images(const lab_dataset *set) {
    return set->images.pixels != NULL;
}

static locus_status check_images(const lab_model_config *config, const lab_dataset *set, locus_error *error) {
    const lab_images *images = &set->images;
    if (images->side == config->image_side && images->channels == config->image_channels)
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "image_side",
                    "the set's images have side %zu and %zu channels, but the model reads side %zu and %zu channels",
                    images->side, images->channels, config->image_side, config->image_channels);
}

static locus_status feed_images(lab_feed *feed, const lab_feed_request *request, locus_error *error) {
    return lab_image_feed_create(&feed->images, &request->set->images, request->most, request->seed, request->augment,
                                 error);
}

const lab_architecture lab_image_classifier = {
    .name = "image-classifier",
    .phrase = "an image classifier",
    .reads = "images",
    .sample = "image",
    .described =
        "compact convolutional Transformer: a convolution, {encoder_layers} layers, dimension {dim}, {heads} "
        "heads, feed-forward {feed_forward}, {activation|relu}, LayerNorm {norm} each block, sequence pooling; "
        "dropout {dropout}, attention dropout {attention_dropout} on the {attention_dropout_on}",
    .defaults = {LAB_ARCHITECTURE_DEFAULTS(lab_image_classifier, LAB_NORM_BEFORE), .dim = 256, .heads = 4,
                 .feed_forward = 512, .encoder_layers = 7, .activation = LAB_GELU, .stochastic_depth = 0.1,
                 .survivors = LAB_SURVIVORS_RESCALED, .label_smoothing = 0.1, .classes = 10, .image_side = 32,
                 .image_channels = 3},
    .encoder = true,
    .images = true,
    .classes = true,
    .stochastic_depth = true,
    .part_size = sizeof(image_part),
    .declare = declare,
    .place = place,
    .run = run,
    .holds = holds_images,
    .check = check_images,
    .feed = feed_images,
};

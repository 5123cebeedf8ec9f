/* SPDX-License-Identifier: MIT */
/* Time of one training step: forward, backward, optimiser and the encoding's update, on the copy tasks, on images, or
 * of a decoder alone.
 *
 *   bench_step [--json] [--steps N] [--precision float32|bf16]
 *              [--shape published|small|short|trees|cifar10|decoder|decoder-short|text] [SPEC …]
 *
 * published: dimension 512, feed-forward 2048, 2 + 2 layers, 8 heads, 64 pairs of length N(100,10), vocabulary 22.
 * small: dimension 128, feed-forward 512, 4 heads, 64 pairs of length N(50,5); short: the same, N(24,2).
 * trees: as published, 64 binary trees of depth N(7,1), read and written level by level.
 * cifar10: the published image classifier, 128 images of 32 × 32 pixels (random), 10 × 10 tokens, without stochastic
 * depth and with it; what it leaves out is not counted among a step's operations.
 * decoder: RoPER's large decoder, 32 sequences of 641 characters of additions, of which 640 are read; 512 dimensions, 6
 * layers, feed-forward 2048, 8 heads, without dropout; causal attention's operations are counted by half. Before it is
 * timed, the first loss must lie near ln(vocabulary). decoder-short: 4 sequences of 65.
 * text: the same model on 8 sequences of 513 random tokens of a vocabulary of 8,000.
 * Every case runs in a process of its own, so that its peak memory is its own. The peak of matrix products is
 * measured in the same run, in the same precision, with the product that takes most of the step. Fastest and median of
 * the steps. */
#include "model/architecture.h"
#include "nn/linear.h"
#include "task/problem.h"
#include "task/task_class.h"
#include "task/tree_task.h"
#include "task/word_task.h"
#include "train/optimizer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct shape {
    const char *name;
    size_t dim, feed_forward, heads, batch, steps;
    const char *task;       /* NULL: images */
    double mean, deviation; /* of the length of words, of the depth of trees; mean: tokens of a decoder's sequence */
    size_t vocabulary;      /* of text */
} shape;

static const shape shapes[] = {
    {"published", 512, 2048, 8, 64, 5, "copy", 100.0, 10.0, 0},
    {"small", 128, 512, 4, 64, 60, "copy", 50.0, 5.0, 0},
    {"short", 128, 512, 4, 64, 100, "copy", 24.0, 2.0, 0},
    {"trees", 512, 2048, 8, 64, 8, "tree-copy", 7.0, 1.0, 0},
    {"cifar10", 256, 512, 4, 128, 5, NULL, 0.0, 0.0, 0},
    {"decoder", 512, 2048, 8, 32, 3, "addition", 641.0, 0.0, 0},
    {"decoder-short", 512, 2048, 8, 4, 5, "addition", 65.0, 0.0, 0},
    {"text", 512, 2048, 8, 8, 3, "text", 513.0, 0.0, 8000},
};

static const char *const specs[] = {"none", "sinusoidal", "relative", "rope", "algebraic(group=seq, decay=0.98)"};
static const char *const tree_specs[] = {"none", "shiv-quirk(k=2, depth=7)", "rope", "algebraic(group=seq, decay=0.98)",
                                         "algebraic(group=tree:2, decay=0.98)"};
static const char *const image_specs[] = {"none", "sinusoidal", "learned(size=100)", "algebraic(group=seq, decay=0.98)",
                                          "algebraic(group=grid:2, decay=0.98)"};
static const char *const decoder_specs[] = {"none", "rope", "roper", "algebraic(group=seq)",
                                            "algebraic(group=seq, values=on)"};

enum { MOST_STEPS = 1000, MOST_SPECS = 32 };

static const char *const precision_names[] = {[LAB_FLOAT32] = "float32", [LAB_BF16] = "bf16"};
static lab_precision precision; /* of all cases */

typedef struct result {
    int failed;
    double best, median, tokens, flops, peak; /* flops of a step; peak of matrix products, for the first case only */
    double arena_bytes, resident_bytes;
    char message[464];
} result;

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* One model that is timed. */
typedef struct subject {
    const shape *shape;
    const char *spec;
    double depth; /* stochastic depth, of images */
} subject;

static int has_images(const shape *s) {
    return s->task == NULL;
}

static int has_trees(const shape *s) {
    return s->task != NULL && lab_task_find(s->task)->children != NULL;
}

/* A decoder alone. */
static int has_sequences(const shape *s) {
    return s->task != NULL && lab_task_find(s->task)->open_sequences != NULL;
}

/* As below, of images. Layer l computes 1 − depth · l of its branches in the mean. */
static double image_flops(const lab_model_config *c, size_t images) {
    enum { TAPS = 9 };
    double D = (double)c->dim, F = (double)c->feed_forward, window = (double)(c->image_side - 2), layers = 0.0;
    double grid = (double)(c->image_side - 2) / 3.0, n = grid * grid;
    for (size_t l = 0; l < c->encoder_layers; ++l)
        layers += 1.0 - c->stochastic_depth * (double)l;
    /* of the convolution's backward only the patches that won count: a ninth; pixels need no gradient */
    double convolution = 2.0 * window * window * TAPS * (double)c->image_channels * D * (1.0 + 1.0 / TAPS);
    return (double)images * (3.0 * layers * (2.0 * n * (4.0 * D * D + 2.0 * D * F) + 4.0 * n * n * D) + convolution);
}

/* Multiplications and additions of the weights, and of attention without mask, forward and backward. */
static double step_flops(const lab_model_config *c, const lab_batch *batch) {
    double D = (double)c->dim, F = (double)c->feed_forward, total = 0.0, end = c->tree_arity == 0 ? 1.0 : 0.0;
    for (size_t s = 0; s < batch->samples; ++s) {
        double n = (double)(batch->input_offsets[s + 1] - batch->input_offsets[s]);
        double m = (double)(batch->target_offsets[s + 1] - batch->target_offsets[s]) + end;
        double encoder = 2.0 * n * (4.0 * D * D + 2.0 * D * F) + 4.0 * n * n * D;
        double decoder =
            2.0 * m * (6.0 * D * D + 2.0 * D * F) + 2.0 * n * 2.0 * D * D + 2.0 * m * m * D + 4.0 * m * n * D;
        total += encoder * (double)c->encoder_layers + decoder * (double)c->decoder_layers;
        total += 2.0 * m * D * (double)c->vocabulary;
    }
    return 3.0 * total;
}

/* As above, of a decoder alone; of n × n scores half are computed. */
static double decoder_flops(const lab_model_config *c, const lab_batch *batch) {
    double D = (double)c->dim, F = (double)c->feed_forward, total = 0.0;
    for (size_t s = 0; s < batch->samples; ++s) {
        double n = (double)(batch->input_offsets[s + 1] - batch->input_offsets[s] - 1);
        double layer = 2.0 * n * (4.0 * D * D + 2.0 * D * F) + 2.0 * n * n * D;
        total += layer * (double)c->decoder_layers + 2.0 * n * D * (double)c->vocabulary;
    }
    return 3.0 * total;
}

enum { PEAK_ROWS = 6400, PEAK_COLUMNS = 2048, PEAK_DEPTH = 512 };

typedef struct peak_product {
    lab_linear linear;
    const float *x;
    float *y;
} peak_product;

static void peak_task(void *context, size_t chunk, size_t worker) {
    const peak_product *own = context;
    (void)worker;
    lab_linear_multiply(&own->linear, lab_chunk_at(PEAK_ROWS, chunk), lab_floats(own->x), lab_floats(own->y));
}

static void peak_run(const peak_product *own) {
    const lab_linear *linear = &own->linear;
    const lab_product product = {.rows = PEAK_ROWS,
                                 .columns = linear->outputs,
                                 .depth = linear->inputs,
                                 .left = own->x,
                                 .left_stride = linear->inputs,
                                 .right = linear->weight,
                                 .right_stride = linear->inputs,
                                 .right_transposed = true,
                                 .result = own->y,
                                 .result_stride = linear->outputs};
    if (linear->forward.values)
        locus_parallel_for(lab_chunk_count(PEAK_ROWS), peak_task, (void *)own);
    else
        lab_products_parallel(&product, 1);
}

/* Of weights that are laid out already, as those of a step are. */
static void peak_round(peak_product *own) {
    lab_bf16_matrix *matrix = &own->linear.forward;
    const lab_bf16_source source = {lab_floats(own->linear.weight), own->linear.inputs, true};
    *matrix = (lab_bf16_matrix){own->linear.inputs, own->linear.outputs, NULL};
    matrix->values = malloc(lab_bf16_matrix_size(matrix->depth, matrix->columns) * sizeof *matrix->values);
    for (size_t b = 0; matrix->values && b < lab_bf16_matrix_blocks(matrix); ++b)
        lab_bf16_matrix_block_fill(matrix, &source, b);
}

/* The largest product of the published step, GFLOP/s, best of several. */
static double product_peak(void) {
    enum { M = PEAK_ROWS, N = PEAK_COLUMNS, K = PEAK_DEPTH };
    float *a = malloc(sizeof(float) * M * K), *b = malloc(sizeof(float) * N * K), *c = malloc(sizeof(float) * M * N);
    peak_product own = {.linear = {.inputs = K, .outputs = N, .weight = b}, .x = a, .y = c};
    double best = 0.0;
    if (a && b && c) {
        for (size_t i = 0; i < (size_t)M * K; ++i)
            a[i] = (float)(i % 7) - 3.0f;
        for (size_t i = 0; i < (size_t)N * K; ++i)
            b[i] = (float)(i % 5) - 2.0f;
        if (precision == LAB_BF16)
            peak_round(&own);
        for (int r = 0; r < 12; ++r) {
            double start = now();
            peak_run(&own);
            double rate = 2e-9 * M * N * K / (now() - start);
            best = rate > best ? rate : best;
        }
    }
    free(own.linear.forward.values);
    free(a);
    free(b);
    free(c);
    return best;
}

/* A decoder that has learned nothing guesses: it has read and predicted what it should if its loss says so. */
static locus_status first_loss_check(const lab_model *model, const lab_score *score, locus_error *error) {
    const lab_model_config *config = lab_model_get_config(model);
    const double loss = score->loss / (double)score->tokens, chance = log((double)config->vocabulary);
    if (config->architecture->encoder || (loss > 0.8 * chance && loss < 1.6 * chance))
        return LOCUS_OK;
    (void)snprintf(error->message, sizeof error->message, "the first loss is %.3f, chance %.3f", loss, chance);
    return LOCUS_ERROR_NUMERIC;
}

static locus_status steps_run(lab_model *model, lab_optimizer *optimizer, const lab_batch *batch, size_t steps,
                              result *r, locus_error *error) {
    static double seconds[MOST_STEPS];
    locus_status status = LOCUS_OK;
    lab_score score = {0};
    for (size_t i = 0; i < steps + 1 && status == LOCUS_OK; ++i) {
        double start = now(), norm;
        status = lab_model_train(model, batch, 1, (uint32_t)i, &score, error);
        if (i == 0 && status == LOCUS_OK)
            status = first_loss_check(model, &score, error);
        if (status == LOCUS_OK)
            status =
                lab_optimizer_step(optimizer, 1e-4, lab_model_values(model), lab_model_gradients(model), &norm, error);
        if (status == LOCUS_OK)
            status = lab_model_update(model, error);
        if (i > 0)
            seconds[i - 1] = now() - start; /* the first step touches new memory */
    }
    qsort(seconds, steps, sizeof *seconds, ascending);
    r->best = seconds[0];
    r->median = seconds[steps / 2];
    return status;
}

static locus_status model_run(lab_model_config *config, const lab_batch *batch, size_t steps, result *r,
                              locus_error *error) {
    lab_model *model = NULL;
    lab_optimizer optimizer = {0};
    lab_optimizer_config optimizer_config = lab_optimizer_default();
    config->precision = precision;
    locus_status status = lab_model_create(&model, config, 0, error);
    if (status == LOCUS_OK)
        status = lab_optimizer_create(&optimizer, &optimizer_config, lab_model_elements(model), error);
    if (status == LOCUS_OK)
        status = steps_run(model, &optimizer, batch, steps, r, error);
    if (model)
        r->arena_bytes = (double)lab_model_arena_bytes(model);
    lab_optimizer_destroy(&optimizer);
    lab_model_destroy(&model);
    return status;
}

/* Words or trees. */
static locus_status pairs_run(const shape *s, const char *spec, size_t steps, result *r, locus_error *error) {
    lab_model_config config = lab_encoder_decoder.defaults;
    const lab_task *task = lab_task_find(s->task);
    const bool trees = has_trees(s);
    lab_task_options options = lab_task_default(task);
    lab_dataset set = {0};
    *(trees ? &LAB_TREES(&options)->depth_mean : &LAB_WORDS(&options)->length_mean) = s->mean;
    *(trees ? &LAB_TREES(&options)->depth_deviation : &LAB_WORDS(&options)->length_deviation) = s->deviation;
    config.tree_arity = trees ? LAB_TREES(&options)->arity : 0;
    config.dim = s->dim;
    config.feed_forward = s->feed_forward;
    config.heads = s->heads;
    config.vocabulary = lab_task_vocabulary(task, &options);
    config.encoding = spec;
    const lab_draw draw = {task, &options, LAB_SET_TRAIN, s->batch, 0};
    locus_status status = lab_dataset_generate(&set, &draw, error);
    if (status == LOCUS_OK) {
        lab_batch batch = {.samples = set.samples,
                           .input_offsets = set.input_offsets,
                           .target_offsets = set.target_offsets,
                           .input = set.input,
                           .target = set.target,
                           .input_tree = {set.input_tree.parents, set.input_tree.branches},
                           .target_tree = {set.target_tree.parents, set.target_tree.branches}};
        r->flops = step_flops(&config, &batch);
        r->tokens = (double)(set.input_offsets[s->batch] + set.target_offsets[s->batch] + (trees ? 0 : s->batch));
        status = model_run(&config, &batch, steps, r, error);
    }
    lab_dataset_destroy(&set);
    return status;
}

/* Problems laid end to end; of text anything: a step takes no longer for words that make sense. */
static locus_status sequences_make(const shape *s, size_t length, int32_t *tokens, locus_error *error) {
    const locus_random random = {1, LOCUS_RANDOM_USER, 0};
    const lab_task *task = lab_task_find(s->task);
    lab_task_options options = lab_task_default(task);
    lab_dataset set = {0};
    for (size_t t = 0; s->vocabulary > 0 && t < s->batch * length; ++t)
        tokens[t] = (int32_t)locus_random_below(&random, t, s->vocabulary);
    if (s->vocabulary > 0)
        return LOCUS_OK;
    LAB_PROBLEMS(&options)->sequence = length; /* a text has a vocabulary */
    const lab_draw draw = {task, &options, LAB_SET_TRAIN, s->batch, 0};
    locus_status status = lab_dataset_sequences(&set, &draw, error);
    for (size_t i = 0; status == LOCUS_OK && i < s->batch; ++i)
        if (set.sequences.read(&set.sequences, i, tokens + i * length) != length)
            status = LOCUS_ERROR_ARGUMENT;
    lab_dataset_destroy(&set);
    return status;
}

static locus_status decoder_run(const shape *s, const char *spec, size_t steps, result *r, locus_error *error) {
    lab_model_config config = lab_decoder.defaults;
    const lab_task *task = lab_task_find(s->task);
    const lab_task_options options = lab_task_default(task);
    const size_t length = (size_t)s->mean;
    config.dim = s->dim;
    config.feed_forward = s->feed_forward;
    config.heads = s->heads;
    config.dropout = config.attention_dropout = 0.0;
    config.vocabulary = s->vocabulary > 0 ? s->vocabulary : lab_task_vocabulary(task, &options);
    config.encoding = spec;
    size_t *offsets = calloc(s->batch + 1, sizeof *offsets);
    int32_t *tokens = malloc(s->batch * length * sizeof *tokens);
    locus_status status = offsets && tokens ? sequences_make(s, length, tokens, error) : LOCUS_ERROR_MEMORY;
    if (status == LOCUS_OK) {
        for (size_t i = 0; i < s->batch; ++i)
            offsets[i + 1] = (i + 1) * length;
        const lab_batch batch = {.samples = s->batch, .input_offsets = offsets, .input = tokens};
        r->flops = decoder_flops(&config, &batch);
        r->tokens = (double)(s->batch * (length - 1));
        status = model_run(&config, &batch, steps, r, error);
    }
    free(tokens);
    free(offsets);
    return status;
}

static locus_status images_run(const subject *wanted, size_t steps, result *r, locus_error *error) {
    const shape *s = wanted->shape;
    const locus_random random = {1, LOCUS_RANDOM_USER, 0};
    lab_model_config config = lab_image_classifier.defaults;
    config.dim = s->dim;
    config.feed_forward = s->feed_forward;
    config.heads = s->heads;
    config.encoding = wanted->spec;
    config.stochastic_depth = wanted->depth;
    const size_t pixels = config.image_channels * config.image_side * config.image_side;
    float *images = malloc(s->batch * pixels * sizeof *images);
    int32_t *labels = malloc(s->batch * sizeof *labels);
    locus_status status = LOCUS_ERROR_MEMORY;
    if (images && labels) {
        for (size_t i = 0; i < s->batch * pixels; ++i)
            images[i] = (float)locus_random_normal(&random, i);
        for (size_t i = 0; i < s->batch; ++i)
            labels[i] = (int32_t)(i % config.classes);
        const lab_batch batch = {.samples = s->batch, .images = images, .labels = labels};
        r->flops = image_flops(&config, s->batch);
        r->tokens = (double)(s->batch * ((config.image_side - 2) / 3) * ((config.image_side - 2) / 3));
        status = model_run(&config, &batch, steps, r, error);
    }
    free(images);
    free(labels);
    return status;
}

/* spec NULL: the peak of matrix products. */
static void child(int out, const subject *wanted, size_t steps) {
    result r = {0};
    locus_error error = {0};
    struct rusage usage;
    if (wanted->spec == NULL) {
        r.peak = product_peak();
    } else {
        const locus_status status = has_images(wanted->shape) ? images_run(wanted, steps, &r, &error)
                                    : has_sequences(wanted->shape)
                                        ? decoder_run(wanted->shape, wanted->spec, steps, &r, &error)
                                        : pairs_run(wanted->shape, wanted->spec, steps, &r, &error);
        r.failed = status != LOCUS_OK;
        memcpy(r.message, error.message, sizeof r.message);
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        r.resident_bytes = 1024.0 * (double)usage.ru_maxrss;
    ssize_t written = write(out, &r, sizeof r);
    _exit(written == (ssize_t)sizeof r ? 0 : 1);
}

static int measure(const subject *wanted, size_t steps, result *r) {
    const char *spec = wanted->spec;
    int ends[2], state = 1;
    if (pipe(ends) != 0)
        return 1;
    (void)fflush(stdout);
    pid_t process = fork();
    if (process == 0)
        child(ends[1], wanted, steps);
    (void)close(ends[1]);
    ssize_t got = process > 0 ? read(ends[0], r, sizeof *r) : -1;
    (void)close(ends[0]);
    if (process > 0)
        (void)waitpid(process, &state, 0);
    if (got != (ssize_t)sizeof *r || state != 0) {
        (void)fprintf(stderr, "bench_step: the process for '%s' ended early\n", spec ? spec : "matrix products");
        return 1;
    }
    if (r->failed)
        (void)fprintf(stderr, "bench_step: %s: %s\n", spec, r->message);
    return r->failed;
}

static void print_case(const subject *wanted, const result *r, double peak, int json, int first) {
    double rate = r->flops / r->best / 1e9, share = peak > 0.0 ? rate / peak : 0.0;
    char name[256];
    (void)snprintf(name, sizeof name, "%s", wanted->spec);
    if (wanted->depth > 0.0)
        (void)snprintf(name, sizeof name, "%s, depth %g", wanted->spec, wanted->depth);
    if (json)
        (void)printf(
            "%s\n  {\"shape\": \"%s\", \"encoding\": \"%s\", \"stochastic_depth\": %g, \"best_seconds\": %.6f, "
            "\"median_seconds\": %.6f, \"tokens\": %.0f, \"tokens_per_second\": %.1f, \"gflops\": %.2f, "
            "\"peak_share\": %.4f, \"arena_bytes\": %.0f, \"peak_bytes\": %.0f}",
            first ? "" : ",", wanted->shape->name, wanted->spec, wanted->depth, r->best, r->median, r->tokens,
            r->tokens / r->best, rate, share, r->arena_bytes, r->resident_bytes);
    else
        (void)printf("%-46s %9.2f %9.2f %10.0f %9.1f %6.1f%% %8.0f %8.0f\n", name, 1e3 * r->best, 1e3 * r->median,
                     r->tokens / r->best, rate, 100.0 * share, r->arena_bytes / 1048576.0,
                     r->resident_bytes / 1048576.0);
}

/* The machine's peak, and what the columns mean. Returns the peak. */
static double print_head(const shape *s, int json, int *failed) {
    result peak = {0};
    char batch[96];
    *failed |= measure(&(subject){s, NULL, 0.0}, 0, &peak);
    if (json) {
        (void)printf("{\"precision\": \"%s\", \"product_gflops\": %.1f, \"steps\": [", precision_names[precision],
                     peak.peak);
        return peak.peak;
    }
    if (has_images(s))
        (void)snprintf(batch, sizeof batch, "%zu images", s->batch);
    else if (has_sequences(s))
        (void)snprintf(batch, sizeof batch, "%zu sequences of %.0f", s->batch, s->mean);
    else
        (void)snprintf(batch, sizeof batch, "%zu pairs of %s N(%g, %g)", s->batch, has_trees(s) ? "depth" : "length",
                       s->mean, s->deviation);
    (void)printf("%s, %s: dim %zu, %s; matrix products %.1f GFLOP/s, %zu threads\n"
                 "%-46s %9s %9s %10s %9s %7s %8s %8s\n",
                 s->name, precision_names[precision], s->dim, batch, peak.peak, locus_threads(), "encoding", "best ms",
                 "median ms", "tokens/s", "GFLOP/s", "peak", "arena MB", "RSS MB");
    return peak.peak;
}

/* Images: without stochastic depth and with it. */
static int run_cases(const shape *s, const char *const *list, size_t count, size_t steps, int json) {
    static const double depths[] = {0.0, 0.1};
    int failed = 0, first = 1;
    const double peak = print_head(s, json, &failed);
    for (size_t i = 0; i < count; ++i)
        for (size_t d = 0; d < (has_images(s) ? 2 : 1); ++d) {
            const subject wanted = {s, list[i], depths[d]};
            result r = {0};
            if (measure(&wanted, steps, &r)) {
                failed = 1;
                continue;
            }
            print_case(&wanted, &r, peak, json, first);
            first = 0;
        }
    if (json)
        (void)printf("\n]}\n");
    return failed;
}

static int usage(void) {
    (void)fputs("usage: bench_step [--json] [--steps N] [--precision float32|bf16] [--shape "
                "published|small|short|trees|cifar10|decoder|"
                "decoder-short|text] [SPEC …]\n",
                stderr);
    return 2;
}

static const shape *shape_find(const char *name) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    return NULL;
}

static bool precision_read(const char *name) {
    for (unsigned i = 0; i < sizeof precision_names / sizeof *precision_names; ++i)
        if (strcmp(precision_names[i], name) == 0) {
            precision = (lab_precision)i;
            return true;
        }
    return false;
}

int main(int argc, char **argv) {
    const char *wanted[MOST_SPECS];
    const shape *s = &shapes[0];
    size_t count = 0, steps = 0;
    int json = 0;
    for (int i = 1; i < argc; ++i)
        if (strcmp(argv[i], "--json") == 0)
            json = 1;
        else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            steps = (size_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--shape") == 0 && i + 1 < argc)
            s = shape_find(argv[++i]);
        else if (strcmp(argv[i], "--precision") == 0 && i + 1 < argc && precision_read(argv[i + 1]))
            ++i;
        else if (argv[i][0] == '-' || count == MOST_SPECS)
            return usage();
        else
            wanted[count++] = argv[i];
    if (s == NULL)
        return usage();
    if (steps == 0 || steps > MOST_STEPS)
        steps = s->steps;
    if (count > 0)
        return run_cases(s, wanted, count, steps, json);
    if (has_images(s))
        return run_cases(s, image_specs, sizeof image_specs / sizeof *image_specs, steps, json);
    if (has_sequences(s))
        return run_cases(s, decoder_specs, sizeof decoder_specs / sizeof *decoder_specs, steps, json);
    if (has_trees(s))
        return run_cases(s, tree_specs, sizeof tree_specs / sizeof *tree_specs, steps, json);
    return run_cases(s, specs, sizeof specs / sizeof *specs, steps, json);
}

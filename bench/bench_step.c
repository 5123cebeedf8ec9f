/* SPDX-License-Identifier: MIT */
/* Time of one training step: forward, backward, optimiser and the encoding's update, on the copy task.
 *
 *   bench_step [--json] [--steps N] [--shape published|small|short] [SPEC …]
 *
 * published: dimension 512, feed-forward 2048, 2 + 2 layers, 8 heads, 64 pairs of length N(100,10), vocabulary 22.
 * small: dimension 128, feed-forward 512, 4 heads, 64 pairs of length N(50,5); short: the same, N(24,2).
 * Every case runs in a process of its own, so that its peak memory is its own. The peak of matrix products is
 * measured in the same run with the product that takes most of the step. Fastest and median of the steps. */
#include "model/model.h"
#include "nn/gemm.h"
#include "task/task.h"
#include "train/optimizer.h"
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
    double length, deviation;
} shape;

static const shape shapes[] = {
    {"published", 512, 2048, 8, 64, 5, 100.0, 10.0},
    {"small", 128, 512, 4, 64, 60, 50.0, 5.0},
    {"short", 128, 512, 4, 64, 100, 24.0, 2.0},
};

static const char *const specs[] = {"none", "sinusoidal", "relative", "rope", "algebraic(group=seq, decay=0.98)"};

enum { MOST_STEPS = 1000, MOST_SPECS = 32 };

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

/* Multiplications and additions of the weights, and of attention without mask, forward and backward. */
static double step_flops(const lab_model_config *c, const lab_batch *batch) {
    double D = (double)c->dim, F = (double)c->feed_forward, total = 0.0;
    for (size_t s = 0; s < batch->samples; ++s) {
        double n = (double)(batch->input_offsets[s + 1] - batch->input_offsets[s]);
        double m = (double)(batch->target_offsets[s + 1] - batch->target_offsets[s]) + 1.0;
        double encoder = 2.0 * n * (4.0 * D * D + 2.0 * D * F) + 4.0 * n * n * D;
        double decoder =
            2.0 * m * (6.0 * D * D + 2.0 * D * F) + 2.0 * n * 2.0 * D * D + 2.0 * m * m * D + 4.0 * m * n * D;
        total += encoder * (double)c->encoder_layers + decoder * (double)c->decoder_layers;
        total += 2.0 * m * D * (double)c->vocabulary;
    }
    return 3.0 * total;
}

/* The largest product of the published step, GFLOP/s, best of several. */
static double product_peak(void) {
    enum { M = 6400, N = 2048, K = 512 };
    float *a = malloc(sizeof(float) * M * K), *b = malloc(sizeof(float) * N * K), *c = malloc(sizeof(float) * M * N);
    double best = 0.0;
    if (a && b && c) {
        for (size_t i = 0; i < (size_t)M * K; ++i)
            a[i] = (float)(i % 7) - 3.0f;
        for (size_t i = 0; i < (size_t)N * K; ++i)
            b[i] = (float)(i % 5) - 2.0f;
        lab_product product = {M, N, K, a, b, c, K, K, N, false, true, false};
        for (int r = 0; r < 12; ++r) {
            double start = now();
            lab_products_parallel(&product, 1);
            double rate = 2e-9 * M * N * K / (now() - start);
            best = rate > best ? rate : best;
        }
    }
    free(a);
    free(b);
    free(c);
    return best;
}

static locus_status steps_run(lab_model *model, lab_optimizer *optimizer, const lab_batch *batch, size_t steps,
                              result *r, locus_error *error) {
    static double seconds[MOST_STEPS];
    locus_status status = LOCUS_OK;
    lab_score score = {0};
    for (size_t i = 0; i < steps + 1 && status == LOCUS_OK; ++i) {
        double start = now(), norm;
        status = lab_model_train(model, batch, 1, (uint32_t)i, &score, error);
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

static locus_status case_run(const shape *s, const char *spec, size_t steps, result *r, locus_error *error) {
    lab_model_config config = lab_model_default();
    const lab_task *task = lab_task_find("copy");
    lab_task_options options = lab_task_default(task);
    lab_dataset set = {0};
    lab_model *model = NULL;
    lab_optimizer optimizer = {0};
    lab_optimizer_config optimizer_config = lab_optimizer_default();
    options.length_mean = s->length;
    options.length_deviation = s->deviation;
    config.dim = s->dim;
    config.feed_forward = s->feed_forward;
    config.heads = s->heads;
    config.vocabulary = lab_task_vocabulary(task, &options);
    config.encoding = spec;
    const lab_draw draw = {task, &options, LAB_SET_TRAIN, s->batch, 0};
    locus_status status = lab_dataset_generate(&set, &draw, error);
    if (status == LOCUS_OK)
        status = lab_model_create(&model, &config, 0, error);
    if (status == LOCUS_OK)
        status = lab_optimizer_create(&optimizer, &optimizer_config, lab_model_elements(model), error);
    if (status == LOCUS_OK) {
        lab_batch batch = {.samples = set.samples,
                           .input_offsets = set.input_offsets,
                           .target_offsets = set.target_offsets,
                           .input = set.input,
                           .target = set.target};
        r->flops = step_flops(&config, &batch);
        r->tokens = (double)(set.input_offsets[s->batch] + set.target_offsets[s->batch] + s->batch);
        status = steps_run(model, &optimizer, &batch, steps, r, error);
    }
    if (model)
        r->arena_bytes = (double)lab_model_arena_bytes(model);
    lab_optimizer_destroy(&optimizer);
    lab_model_destroy(&model);
    lab_dataset_destroy(&set);
    return status;
}

static void child(int out, const shape *s, const char *spec, size_t steps) {
    result r = {0};
    locus_error error = {0};
    struct rusage usage;
    if (spec == NULL) {
        r.peak = product_peak();
    } else {
        r.failed = case_run(s, spec, steps, &r, &error) != LOCUS_OK;
        memcpy(r.message, error.message, sizeof r.message);
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        r.resident_bytes = 1024.0 * (double)usage.ru_maxrss;
    ssize_t written = write(out, &r, sizeof r);
    _exit(written == (ssize_t)sizeof r ? 0 : 1);
}

/* spec NULL: the peak of matrix products. */
static int measure(const shape *s, const char *spec, size_t steps, result *r) {
    int ends[2], state = 1;
    if (pipe(ends) != 0)
        return 1;
    (void)fflush(stdout);
    pid_t process = fork();
    if (process == 0)
        child(ends[1], s, spec, steps);
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

static void print_case(const shape *s, const char *spec, const result *r, double peak, int json, int first) {
    double rate = r->flops / r->best / 1e9, share = peak > 0.0 ? rate / peak : 0.0;
    if (json)
        (void)printf(
            "%s\n  {\"shape\": \"%s\", \"encoding\": \"%s\", \"best_seconds\": %.6f, \"median_seconds\": %.6f, "
            "\"tokens\": %.0f, \"tokens_per_second\": %.1f, \"gflops\": %.2f, \"peak_share\": %.4f, "
            "\"arena_bytes\": %.0f, \"peak_bytes\": %.0f}",
            first ? "" : ",", s->name, spec, r->best, r->median, r->tokens, r->tokens / r->best, rate, share,
            r->arena_bytes, r->resident_bytes);
    else
        (void)printf("%-34s %9.2f %9.2f %10.0f %9.1f %6.1f%% %8.0f %8.0f\n", spec, 1e3 * r->best, 1e3 * r->median,
                     r->tokens / r->best, rate, 100.0 * share, r->arena_bytes / 1048576.0,
                     r->resident_bytes / 1048576.0);
}

static int usage(void) {
    (void)fputs("usage: bench_step [--json] [--steps N] [--shape published|small|short] [SPEC …]\n", stderr);
    return 2;
}

static const shape *shape_find(const char *name) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    return NULL;
}

int main(int argc, char **argv) {
    const char *wanted[MOST_SPECS];
    const shape *s = &shapes[0];
    size_t count = 0, steps = 0;
    int json = 0, failed = 0;
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--json") == 0)
            json = 1;
        else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            steps = (size_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--shape") == 0 && i + 1 < argc)
            s = shape_find(argv[++i]);
        else if (argv[i][0] == '-' || count == MOST_SPECS)
            return usage();
        else
            wanted[count++] = argv[i];
    }
    if (s == NULL)
        return usage();
    if (steps == 0 || steps > MOST_STEPS)
        steps = s->steps;
    const char *const *list = count ? wanted : specs;
    if (count == 0)
        count = sizeof specs / sizeof *specs;
    result peak = {0};
    failed |= measure(s, NULL, 0, &peak);
    if (json)
        (void)printf("{\"product_gflops\": %.1f, \"steps\": [", peak.peak);
    else
        (void)printf("%s: dim %zu, %zu pairs of length N(%g, %g); matrix products %.1f GFLOP/s, %zu threads\n"
                     "%-34s %9s %9s %10s %9s %7s %8s %8s\n",
                     s->name, s->dim, s->batch, s->length, s->deviation, peak.peak, locus_threads(), "encoding",
                     "best ms", "median ms", "tokens/s", "GFLOP/s", "peak", "arena MB", "RSS MB");
    for (size_t i = 0; i < count; ++i) {
        result r = {0};
        if (measure(s, list[i], steps, &r))
            failed = 1;
        else
            print_case(s, list[i], &r, peak.peak, json, i == 0);
    }
    if (json)
        (void)printf("\n]}\n");
    return failed;
}

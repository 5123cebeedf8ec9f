/* SPDX-License-Identifier: MIT */
/* Speed of locus_apply, forward and forward + backward with gradients of the parameters, on [positions, 8 heads, 64]
 * float32:
 *
 *   rotary     rope, and rope(learned=on), whose backward has gradients of the frequencies
 *   folded     algebraic(generator=angles): the eigenbasis is folded into the projections, each head has its own angles
 *   unfolded   algebraic: into the eigenbasis, turn, and out again
 *   dense      a d × d matrix for each position by repeated products, then matrix times vector: the published algorithm
 *
 *   bench_apply [--json] [--quick] [--max POSITIONS] [--threads N]
 *
 * All in one run, buffers in place, fastest of several repetitions. Ratios: folded over rotary; unfolded over rotary
 * (without gradients) plus its own matrix products at the product peak measured here with oneDNN on all threads.
 * Outputs are checked before anything is timed: folded against rotary, unfolded against dense. Exit: 0 done, 1 differs
 * or failed, 2 usage. */
#include <locus/locus.h>

#include "nn/gemm.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADS = 8, DIM = 64, ROW = HEADS * DIM, PEAK_SIZE = 1024, CHECKED = 300 };
enum { ROPE, ROPE_LEARNED, FOLDED, UNFOLDED, ENCODINGS };

static const char *const specs[ENCODINGS] = {"rope", "rope(learned=on)", "algebraic(generator=angles)", "algebraic"};
static const char *const names[ENCODINGS] = {"rope", "rope, learned", "folded", "unfolded"};

#define DENSE_BYTES ((size_t)1 << 30)

typedef struct bench_options {
    bool json, quick;
    size_t most;
} bench_options;

typedef struct subject {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
    size_t count; /* parameters: one at most here */
    locus_tensor value, gradient;
    locus_workspace workspace;
} subject;

typedef struct result {
    double forward, both, plan_seconds; /* seconds */
    size_t plan_bytes;
} result;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check(locus_status status, const locus_error *error) {
    if (status == LOCUS_OK)
        return;
    fprintf(stderr, "bench_apply: %s\n", error->message);
    exit(1);
}

static void *memory(size_t bytes) {
    void *block = locus_allocate(bytes);
    if (!block) {
        fprintf(stderr, "bench_apply: %zu bytes of memory were refused\n", bytes);
        exit(1);
    }
    return block;
}

/* ---- subjects ---- */

static void open_subject(subject *s, const char *spec, size_t tokens, result *times) {
    locus_error error = {0};
    const locus_shape shape = {.heads = HEADS, .head_dim = DIM, .value_dim = 0, .model_dim = 0};
    const size_t offsets[] = {0, tokens};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    memset(s, 0, sizeof *s);
    check(locus_encoding_parse(spec, &s->encoding, &error), &error);
    check(locus_encoding_parameter_count(s->encoding, &shape, &s->count, &error), &error);
    if (s->count > 0) {
        locus_parameter info = {.size = sizeof info};
        check(locus_encoding_parameter(s->encoding, &shape, 0, &info, &error), &error);
        s->value = locus_tensor_view(NULL, LOCUS_FLOAT64, info.rank, info.shape);
        s->gradient = locus_tensor_view(NULL, LOCUS_FLOAT32, info.rank, info.shape);
        s->value.data = memory(locus_tensor_count(&s->value) * sizeof(double));
        s->gradient.data = memory(locus_tensor_count(&s->gradient) * sizeof(float));
        memset(s->gradient.data, 0, locus_tensor_count(&s->gradient) * sizeof(float));
    }
    check(locus_encoding_initialise(s->encoding, &shape, 1, &s->value, s->count, &error), &error);
    check(locus_binding_create(&s->binding, s->encoding, &shape, &s->value, s->count, &error), &error);
    check(locus_positions_create(&s->positions, NULL, &packing, NULL, &error), &error);
    double begin = seconds();
    check(locus_plan_create(&s->plan, s->binding, s->positions, NULL, &error), &error);
    if (times) {
        times->plan_seconds = seconds() - begin;
        times->plan_bytes = locus_plan_bytes(s->plan);
    }
    s->workspace.bytes = locus_apply_workspace(s->plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL) + 1;
    s->workspace.data = memory(s->workspace.bytes);
}

static void close_subject(subject *s) {
    locus_release(s->workspace.data, s->workspace.bytes);
    locus_plan_destroy(&s->plan);
    locus_positions_destroy(&s->positions);
    locus_binding_destroy(&s->binding);
    locus_encoding_destroy(&s->encoding);
    if (s->count > 0) {
        locus_release(s->value.data, locus_tensor_count(&s->value) * sizeof(double));
        locus_release(s->gradient.data, locus_tensor_count(&s->gradient) * sizeof(float));
    }
}

static void forward(const subject *s, const locus_tensor *x) {
    locus_error error = {0};
    const locus_execution execution = locus_execution_in(s->workspace);
    check(locus_apply(s->plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, x, x, &execution, &error), &error);
}

static void backward(const subject *s, const locus_tensor *x, const locus_tensor *g) {
    locus_error error = {0};
    locus_apply_gradients gradients = {
        .x = x, .gy = g, .gx = g, .parameters = s->count ? &s->gradient : NULL, .parameter_count = s->count};
    const locus_execution execution = locus_execution_in(s->workspace);
    check(locus_apply_backward(s->plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &gradients, &execution, &error), &error);
}

/* ---- measuring ---- */

/* Repetitions that last long enough to be timed; the fastest of several samples of them. */
static void time_subject(const subject *s, const locus_tensor *x, const locus_tensor *g, double budget, result *r) {
    r->forward = r->both = INFINITY;
    forward(s, x);
    backward(s, x, g);
    double once = seconds();
    forward(s, x);
    backward(s, x, g);
    once = seconds() - once;
    size_t repeats = once < 2e-3 ? (size_t)(2e-3 / once) + 1 : 1;
    double end = seconds() + budget;
    for (size_t sample = 0; sample < 3 || seconds() < end; sample++) {
        double begin = seconds();
        for (size_t i = 0; i < repeats; i++)
            forward(s, x);
        double middle = seconds();
        for (size_t i = 0; i < repeats; i++)
            backward(s, x, g);
        double last = seconds(), f = (middle - begin) / (double)repeats, b = (last - begin) / (double)repeats;
        r->forward = f < r->forward ? f : r->forward;
        r->both = b < r->both ? b : r->both;
    }
}

/* Floating-point operations in a second of a large product on all threads. */
static double product_peak(bool quick) {
    const size_t bytes = (size_t)PEAK_SIZE * PEAK_SIZE * sizeof(float);
    float *a = memory(3 * bytes), *b = a + bytes / sizeof(float), *c = b + bytes / sizeof(float);
    for (size_t i = 0; i < bytes / sizeof(float) * 2; i++)
        a[i] = (float)(i % 17) - 8;
    const lab_product product = {.rows = PEAK_SIZE,
                                 .columns = PEAK_SIZE,
                                 .depth = PEAK_SIZE,
                                 .left = a,
                                 .right = b,
                                 .result = c,
                                 .left_stride = PEAK_SIZE,
                                 .right_stride = PEAK_SIZE,
                                 .result_stride = PEAK_SIZE};
    double best = INFINITY, end = seconds() + (quick ? 0.2 : 1);
    for (int sample = 0; sample < 3 || seconds() < end; sample++) {
        double begin = seconds();
        lab_products_parallel(&product, 1);
        double took = seconds() - begin;
        best = took < best ? took : best;
    }
    locus_release(a, 3 * bytes);
    return 2.0 * PEAK_SIZE * PEAK_SIZE * PEAK_SIZE / best;
}

/* Operations of unfolded's products: two forward; backward x̂, ĝ, gx and two sums, then U G Uᵀ in double, which counts
 * twice. */
static double products_of(size_t tokens, bool both) {
    double one = 2.0 * DIM * DIM * (double)tokens * HEADS;
    return both ? 7 * one + 2 * 2 * 2.0 * DIM * DIM * DIM * HEADS : 2 * one;
}

/* ---- dense ---- */

typedef struct dense_job {
    float *powers; /* [positions, HEADS, DIM, DIM] */
    size_t have, count;
    const float *x;
    float *y;
} dense_job;

/* Powers have … 2·have − 1 from those before, one position a task. */
static void raise_powers(void *context, size_t index, size_t worker) {
    const dense_job *job = context;
    const size_t square = DIM * DIM;
    (void)worker;
    for (size_t h = 0; h < HEADS; h++) {
        const lab_product product = {.rows = DIM,
                                     .columns = DIM,
                                     .depth = DIM,
                                     .left = job->powers + (index * HEADS + h) * square,
                                     .right = job->powers + (job->have * HEADS + h) * square,
                                     .result = job->powers + ((job->have + index) * HEADS + h) * square,
                                     .left_stride = DIM,
                                     .right_stride = DIM,
                                     .result_stride = DIM};
        if (index > 0)
            lab_product_run(&product);
    }
}

static void multiply_vectors(void *context, size_t token, size_t worker) {
    const dense_job *job = context;
    (void)worker;
    for (size_t h = 0; h < HEADS; h++) {
        const lab_product product = {.rows = DIM,
                                     .columns = 1,
                                     .depth = DIM,
                                     .left = job->powers + (token * HEADS + h) * DIM * DIM,
                                     .right = job->x + (token * HEADS + h) * DIM,
                                     .result = job->y + (token * HEADS + h) * DIM,
                                     .left_stride = DIM,
                                     .right_stride = 1,
                                     .result_stride = 1};
        lab_product_run(&product);
    }
}

static void set_power(dense_job *job, const subject *s, size_t position) {
    locus_error error = {0};
    int64_t at[DIM];
    for (size_t i = 0; i < DIM; i++)
        at[i] = (int64_t)position;
    const size_t offsets[] = {0, DIM};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    check(locus_positions_create(&positions, NULL, &packing, at, &error), &error);
    check(locus_plan_create(&plan, s->binding, positions, NULL, &error), &error);
    float *units = memory(DIM * ROW * sizeof *units);
    for (size_t i = 0; i < (size_t)DIM * ROW; i++)
        units[i] = i / ROW == i % DIM; /* token c holds unit vector c in every head: its result is column c */
    const int64_t shape[] = {DIM, HEADS, DIM};
    locus_tensor x = locus_tensor_view(units, LOCUS_FLOAT32, 3, shape);
    locus_workspace workspace = {NULL, locus_apply_workspace(plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL) + 1};
    workspace.data = memory(workspace.bytes);
    const locus_execution execution = locus_execution_in(workspace);
    check(locus_apply(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &x, &execution, &error), &error);
    for (size_t c = 0; c < DIM; c++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t r = 0; r < DIM; r++)
                job->powers[((position * HEADS + h) * DIM + r) * DIM + c] = units[c * ROW + h * DIM + r];
    locus_release(workspace.data, workspace.bytes);
    locus_release(units, DIM * ROW * sizeof *units);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
}

/* Matrices by doubling and their application; W^have at each doubling is the last power times W. */
static void run_dense(dense_job *job) {
    const size_t square = DIM * DIM;
    for (job->have = 2; job->have < job->count; job->have *= 2) {
        for (size_t h = 0; h < HEADS; h++) {
            const lab_product next = {.rows = DIM,
                                      .columns = DIM,
                                      .depth = DIM,
                                      .left = job->powers + ((job->have - 1) * HEADS + h) * square,
                                      .right = job->powers + (HEADS + h) * square,
                                      .result = job->powers + (job->have * HEADS + h) * square,
                                      .left_stride = DIM,
                                      .right_stride = DIM,
                                      .result_stride = DIM};
            lab_product_run(&next);
        }
        size_t more = job->count - job->have;
        locus_parallel_for(more < job->have ? more : job->have, raise_powers, job);
    }
    locus_parallel_for(job->count, multiply_vectors, job);
}

/* Seconds, or 0 where the matrices are more than DENSE_BYTES. */
static double time_dense(const subject *s, size_t tokens, const float *x, float *y, int samples) {
    const size_t bytes = tokens * HEADS * DIM * DIM * sizeof(float);
    if (bytes > DENSE_BYTES)
        return 0;
    dense_job job = {.powers = memory(bytes), .count = tokens, .x = x, .y = y};
    set_power(&job, s, 0);
    set_power(&job, s, 1);
    double best = INFINITY;
    for (int i = 0; i < samples; i++) {
        double begin = seconds();
        run_dense(&job);
        double took = seconds() - begin;
        best = took < best ? took : best;
    }
    locus_release(job.powers, bytes);
    return best;
}

/* ---- checks ---- */

static float *numbers(size_t count, unsigned stream) {
    float *values = memory(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        uint32_t z = (uint32_t)i * 2654435761u + stream * 0x9E3779B9u;
        z = (z ^ (z >> 15)) * 0x85EBCA6Bu;
        values[i] = (float)((double)(z ^ (z >> 13)) * 0x1p-31 - 1);
    }
    return values;
}

static locus_tensor view(float *data, size_t tokens) {
    const int64_t shape[] = {(int64_t)tokens, HEADS, DIM};
    return locus_tensor_view(data, LOCUS_FLOAT32, 3, shape);
}

static bool outputs_agree(void) {
    const size_t elements = (size_t)CHECKED * ROW;
    float *out[3], *x = numbers(elements, 3);
    const int which[] = {ROPE, FOLDED, UNFOLDED};
    double worst = 0;
    for (int i = 0; i < 3; i++) {
        subject s;
        out[i] = numbers(elements, 3);
        locus_tensor t = view(out[i], CHECKED);
        open_subject(&s, specs[which[i]], CHECKED, NULL);
        forward(&s, &t);
        if (which[i] == UNFOLDED) {
            float *dense = numbers(elements, 3);
            (void)time_dense(&s, CHECKED, x, dense, 1);
            for (size_t j = 0; j < elements; j++)
                worst = fmax(worst, fabs((double)dense[j] - (double)out[i][j]));
            locus_release(dense, elements * sizeof *dense);
        }
        close_subject(&s);
    }
    double folded = 0;
    for (size_t i = 0; i < elements; i++)
        folded = fmax(folded, fabs((double)out[0][i] - (double)out[1][i]));
    for (int i = 0; i < 3; i++)
        locus_release(out[i], elements * sizeof *x);
    locus_release(x, elements * sizeof *x);
    const bool agree = folded <= 1e-6 && worst <= 1e-3; /* products of hundreds of float matrices drift */
    if (!agree)
        fprintf(stderr, "bench_apply: outputs differ: folded within %g of rotary, unfolded within %g of dense\n",
                folded, worst);
    return agree;
}

/* ---- report ---- */

static void print_json(size_t tokens, const result *r, double dense, double peak, bool first) {
    printf("%s\n  {\"positions\": %zu, \"peak_gflops\": %.1f", first ? "[" : ",", tokens, peak * 1e-9);
    for (int i = 0; i < ENCODINGS; i++)
        printf(", \"%s\": {\"forward_s\": %.4g, \"forward_backward_s\": %.4g, \"plan_s\": %.4g, \"plan_bytes\": %zu}",
               specs[i], r[i].forward, r[i].both, r[i].plan_seconds, r[i].plan_bytes);
    double ff = r[ROPE].forward + products_of(tokens, false) / peak,
           fb = r[ROPE].both + products_of(tokens, true) / peak;
    printf(", \"folded_over_rotary\": [%.3f, %.3f], \"folded_over_learned_rotary\": [%.3f, %.3f], "
           "\"unfolded_over_floor\": [%.3f, %.3f]",
           r[FOLDED].forward / r[ROPE].forward, r[FOLDED].both / r[ROPE].both,
           r[FOLDED].forward / r[ROPE_LEARNED].forward, r[FOLDED].both / r[ROPE_LEARNED].both, r[UNFOLDED].forward / ff,
           r[UNFOLDED].both / fb);
    if (dense > 0)
        printf(", \"dense_forward_s\": %.4g", dense);
    printf("}");
}

static void print_table(size_t tokens, const result *r, double dense, double peak) {
    double ff = r[ROPE].forward + products_of(tokens, false) / peak,
           fb = r[ROPE].both + products_of(tokens, true) / peak;
    for (int i = 0; i < ENCODINGS; i++) {
        printf("%8zu  %-14s %10.1f %10.1f", tokens, names[i], r[i].forward / (double)tokens * 1e9,
               r[i].both / (double)tokens * 1e9);
        printf("  %9.3f %8.1f", r[i].plan_seconds * 1e3, (double)r[i].plan_bytes / (double)tokens);
        if (i == FOLDED)
            printf("   %5.2f %5.2f of rotary, %5.2f of learned rotary", r[i].forward / r[ROPE].forward,
                   r[i].both / r[ROPE].both, r[i].both / r[ROPE_LEARNED].both);
        if (i == UNFOLDED)
            printf("   %5.2f %5.2f of rotary + products at peak", r[i].forward / ff, r[i].both / fb);
        printf("\n");
    }
    if (dense > 0)
        printf("%8zu  %-14s %10.1f %10s  %9s %8.1f\n", tokens, "dense", dense / (double)tokens * 1e9, "", "",
               (double)(HEADS * DIM * DIM) * sizeof(float));
    fflush(stdout);
}

static void bench_size(size_t tokens, const bench_options *options, double peak, bool first) {
    result results[ENCODINGS];
    const size_t bytes = tokens * ROW * sizeof(float);
    float *x = numbers(tokens * ROW, 1), *g = numbers(tokens * ROW, 2);
    locus_tensor xt = view(x, tokens), gt = view(g, tokens);
    double dense = 0;
    for (int i = 0; i < ENCODINGS; i++) {
        subject s;
        open_subject(&s, specs[i], tokens, &results[i]);
        time_subject(&s, &xt, &gt, options->quick ? 0.02 : 0.4, &results[i]);
        if (i == UNFOLDED)
            dense = time_dense(&s, tokens, x, g, options->quick ? 1 : 3);
        close_subject(&s);
    }
    locus_release(x, bytes);
    locus_release(g, bytes);
    if (options->json)
        print_json(tokens, results, dense, peak, first);
    else
        print_table(tokens, results, dense, peak);
}

static bool read_count(const char *text, size_t *count) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    if (!text || *text < '0' || *text > '9' || *end != '\0' || errno != 0 || value == 0)
        return false;
    *count = (size_t)value;
    return true;
}

static bool read_options(int argc, char **argv, bench_options *options) {
    for (int i = 1; i < argc; i++) {
        size_t threads = 0;
        if (strcmp(argv[i], "--json") == 0)
            options->json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            options->quick = true;
        else if (strcmp(argv[i], "--max") == 0 && i + 1 < argc && read_count(argv[i + 1], &options->most))
            i++;
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc && read_count(argv[i + 1], &threads) &&
                 locus_threads_set(threads) == LOCUS_OK)
            i++;
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    bench_options options = {.json = false, .quick = false, .most = 1048576};
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr, "bench_apply: usage: bench_apply [--json] [--quick] [--max POSITIONS] [--threads N]\n");
        return 2;
    }
    if (!outputs_agree())
        return 1;
    double peak = product_peak(options.quick);
    if (!options.json)
        printf("products at peak: %.0f GFLOP/s on %zu threads, kernels: %s\n%8s  %-14s %10s %10s  %9s %8s\n",
               peak * 1e-9, locus_threads(), locus_isa_name(locus_cpu_isa()), "positions", "encoding", "ns forward",
               "+ backward", "plan ms", "bytes/p");
    for (size_t tokens = 64; tokens <= options.most; tokens *= 4)
        bench_size(tokens, &options, peak, tokens == 64);
    if (options.json)
        printf("\n]\n");
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Times packed attention forward and backward, H = 8, d = 64, float32: one JSON object to a line, the same shapes and
 * keys as peer_attention.py. Work is counted on unmasked pairs: 4·d operations forward, 10·d backward. `share` is that
 * of the kernels' matrix product on blocks in the cache, on as many threads, measured in the same run.
 *
 *   bench_attention [--threads N] [--lengths 128,4096,…] [--tokens N] [--encodings "none;rope"] [--dropout P]
 *                   [--repeats N] */
#include "kernels/kernels.h"

#include <locus/locus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADS = 8, DIM = 64, LENGTHS_MAX = 32, TIMES_MAX = 64 };

static const size_t ragged[] = {173, 512, 64, 301, 128, 480, 33, 256, 399, 77, 210, 350, 145, 500, 92, 288};

typedef struct settings {
    size_t lengths[LENGTHS_MAX], length_count, tokens, repeats;
    const char *encodings;
    double dropout, peak;
} settings;

typedef struct batch {
    const char *spec;
    size_t sequences, length; /* length 0: ragged */
    bool causal;
} batch;

typedef struct timing {
    double best, median; /* seconds */
} timing;

static void must(locus_status status, const locus_error *error) {
    if (status == LOCUS_OK)
        return;
    fprintf(stderr, "bench_attention: %s\n", error->message);
    exit(1);
}

static void *room(size_t bytes) {
    void *block = locus_allocate(bytes + 1);
    if (!block) {
        fprintf(stderr, "bench_attention: out of memory (%zu bytes)\n", bytes);
        exit(1);
    }
    return block;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static timing summary(double *times, size_t count) {
    qsort(times, count, sizeof *times, ascending);
    return (timing){times[0], times[count / 2]};
}

/* ---- the measured peak ---- */

enum { BLOCK = 64, BLOCK_REPEATS = 400 };

static void peak_task(void *context, size_t index, size_t worker) {
    static const locus_random random = {1, LOCUS_RANDOM_USER, 0};
    float a[BLOCK * BLOCK], b[BLOCK * BLOCK], c[BLOCK * BLOCK] = {0};
    (void)context;
    (void)worker;
    for (size_t i = 0; i < BLOCK * BLOCK; i++)
        a[i] = b[i] = (float)locus_random_uniform(&random, index + i) * 0x1p-6f;
    for (size_t i = 0; i < BLOCK_REPEATS; i++)
        locus_kernels_float32_get()->gemm(BLOCK, BLOCK, BLOCK, a, BLOCK, 1, b, BLOCK, c, BLOCK, true);
}

/* GFLOP/s of the best of many rounds; drawing the blocks' numbers is less than a hundredth. */
static double measure_peak(void) {
    double best = 0;
    for (int round = 0; round < 20; round++) {
        double start = now();
        locus_parallel_for(locus_threads() * 4, peak_task, NULL);
        double flops = 2.0 * BLOCK * BLOCK * BLOCK * BLOCK_REPEATS * 4 * (double)locus_threads();
        double rate = flops / (now() - start) / 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

/* ---- one batch ---- */

enum { Q, K, V, O, GO, DQ, DK, DV, LSE, TENSORS };

typedef struct world {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
    locus_attention_options options;
    locus_tensor tensors[TENSORS], parameters[16], gradients[16];
    size_t parameter_count, tokens, sequences, *offsets;
    double pairs; /* of all heads, under the mask */
} world;

static void make_positions(world *w, const batch *b) {
    locus_error error;
    w->sequences = b->length ? b->sequences : sizeof ragged / sizeof ragged[0];
    w->offsets = room((w->sequences + 1) * sizeof *w->offsets);
    w->offsets[0] = 0;
    for (size_t s = 0; s < w->sequences; s++) {
        size_t length = b->length ? b->length : ragged[s];
        double n = (double)length;
        w->offsets[s + 1] = w->offsets[s] + length;
        w->pairs += (b->causal ? n * (n + 1) / 2 : n * n) * HEADS;
    }
    w->tokens = w->offsets[w->sequences];
    locus_packing packing = {w->sequences, w->offsets, NULL};
    must(locus_positions_create(&w->positions, NULL, &packing, NULL, &error), &error);
}

static void make_plan(world *w, const batch *b) {
    locus_error error;
    const locus_shape shape = {HEADS, DIM, DIM, 0};
    must(locus_encoding_parse(b->spec, &w->encoding, &error), &error);
    must(locus_encoding_parameter_count(w->encoding, &shape, &w->parameter_count, &error), &error);
    for (size_t i = 0; i < w->parameter_count; i++) {
        locus_parameter p;
        must(locus_encoding_parameter(w->encoding, &shape, i, &p, &error), &error);
        w->parameters[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, p.rank, p.shape);
        size_t bytes = locus_tensor_count(&w->parameters[i]) * sizeof(float);
        w->gradients[i] = w->parameters[i];
        w->parameters[i].data = room(bytes);
        w->gradients[i].data = memset(room(bytes), 0, bytes);
    }
    must(locus_encoding_initialise(w->encoding, &shape, 1, w->parameters, w->parameter_count, &error), &error);
    must(locus_binding_create(&w->binding, w->encoding, &shape, w->parameters, w->parameter_count, &error), &error);
    must(locus_plan_create(&w->plan, w->binding, w->positions, NULL, &error), &error);
}

static void make_tensors(world *w) {
    const int64_t shape[] = {(int64_t)w->tokens, HEADS, DIM};
    for (int i = 0; i < TENSORS; i++) {
        w->tensors[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, i == LSE ? 2 : 3, shape);
        size_t count = locus_tensor_count(&w->tensors[i]);
        float *data = w->tensors[i].data = room(count * sizeof(float));
        uint64_t state = (uint64_t)i + 1;
        for (size_t j = 0; j < count; j++) { /* spread like a normal variable; quality does not matter here */
            state = state * 6364136223846793005u + 1442695040888963407u;
            data[j] = ((float)(state >> 48) + (float)(state >> 32 & 0xffff) - 65535.0f) * 0x1p-15f;
        }
    }
}

static void free_world(world *w) {
    locus_plan_destroy(&w->plan);
    locus_positions_destroy(&w->positions);
    locus_binding_destroy(&w->binding);
    locus_encoding_destroy(&w->encoding);
    for (int i = 0; i < TENSORS; i++)
        locus_release(w->tensors[i].data, locus_tensor_count(&w->tensors[i]) * sizeof(float) + 1);
    for (size_t i = 0; i < w->parameter_count; i++) {
        size_t bytes = locus_tensor_count(&w->parameters[i]) * sizeof(float) + 1;
        locus_release(w->parameters[i].data, bytes);
        locus_release(w->gradients[i].data, bytes);
    }
    locus_release(w->offsets, (w->sequences + 1) * sizeof *w->offsets + 1);
}

static double run_forward(world *w, locus_workspace workspace) {
    locus_error error;
    locus_tensor *t = w->tensors;
    locus_attention_tensors tensors = {&t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    double start = now();
    must(locus_attention_forward(w->plan, &w->options, &tensors, workspace, &error), &error);
    return now() - start;
}

static double run_backward(world *w, locus_workspace workspace) {
    locus_error error;
    locus_tensor *t = w->tensors;
    locus_attention_tensors tensors = {&t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    locus_attention_gradients gradients = {&t[GO], &t[DQ], &t[DK], &t[DV], w->gradients, w->parameter_count};
    double start = now();
    must(locus_attention_backward(w->plan, &w->options, &tensors, &gradients, workspace, &error), &error);
    return now() - start;
}

static void print_timing(const char *name, timing t, double flops, double peak) {
    double rate = flops / t.best / 1e9;
    printf(", \"%s\": {\"best_ms\": %.4f, \"median_ms\": %.4f, \"gflops\": %.1f, \"share\": %.3f}", name, t.best * 1e3,
           t.median * 1e3, rate, rate / peak);
}

static void measure(const settings *s, const batch *b) {
    world w = {.options = locus_attention_default()};
    double forward[TIMES_MAX], both[TIMES_MAX];
    w.options.mask = b->causal ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    w.options.dropout = s->dropout;
    make_positions(&w, b);
    make_plan(&w, b);
    make_tensors(&w);
    size_t one = locus_attention_workspace(w.plan, &w.options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD);
    size_t other = locus_attention_workspace(w.plan, &w.options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD);
    locus_workspace workspace = {NULL, one > other ? one : other};
    workspace.data = room(workspace.bytes);
    run_forward(&w, workspace);
    run_backward(&w, workspace);
    size_t repeats = b->length > 4096 ? (s->repeats * 4096 + b->length - 1) / b->length : s->repeats;
    repeats = repeats < 2 ? 2 : repeats > TIMES_MAX ? TIMES_MAX : repeats;
    for (size_t i = 0; i < repeats; i++) {
        forward[i] = run_forward(&w, workspace);
        both[i] = forward[i] + run_backward(&w, workspace);
    }
    printf("{\"program\": \"locus\", \"encoding\": \"%s\", \"threads\": %zu, \"batch\": %zu, \"length\": %zu, "
           "\"ragged\": %s, "
           "\"causal\": %s, \"dropout\": %g",
           b->spec, locus_threads(), w.sequences, b->length ? b->length : (size_t)512, b->length ? "false" : "true",
           b->causal ? "true" : "false", s->dropout);
    print_timing("forward", summary(forward, repeats), w.pairs * 4 * DIM, s->peak);
    print_timing("both", summary(both, repeats), w.pairs * 14 * DIM, s->peak);
    printf(", \"workspace_mib\": {\"forward\": %.2f, \"backward\": %.2f}}\n", (double)one / 1048576,
           (double)other / 1048576);
    fflush(stdout);
    locus_release(workspace.data, workspace.bytes + 1);
    free_world(&w);
}

static void measure_encoding(const settings *s, const char *spec) {
    for (size_t i = 0; i <= s->length_count; i++)
        for (int causal = 0; causal < 2; causal++) {
            size_t length = i < s->length_count ? s->lengths[i] : 0;
            batch b = {spec, 1, length, causal != 0};
            if (length > 0 && length <= 1024 && s->tokens > length)
                b.sequences = s->tokens / length;
            measure(s, &b);
        }
}

/* ---- options ---- */

static void take_lengths(settings *s, const char *text) {
    char *end;
    s->length_count = 0;
    for (; *text && s->length_count < LENGTHS_MAX; text = *end == ',' ? end + 1 : end) {
        s->lengths[s->length_count++] = strtoul(text, &end, 10);
        if (end == text)
            break;
    }
}

static void usage(void) {
    fprintf(stderr, "usage: bench_attention [--threads N] [--lengths 128,…] [--tokens N] [--encodings \"none;rope\"] "
                    "[--dropout P] [--repeats N]\n");
    exit(2);
}

static void take_options(settings *s, int count, char **words) {
    for (int i = 1; i < count; i += 2) {
        if (i + 1 >= count)
            usage();
        const char *name = words[i], *value = words[i + 1];
        if (strcmp(name, "--threads") == 0 && locus_threads_set(strtoul(value, NULL, 10)) == LOCUS_OK)
            continue;
        if (strcmp(name, "--lengths") == 0)
            take_lengths(s, value);
        else if (strcmp(name, "--tokens") == 0)
            s->tokens = strtoul(value, NULL, 10);
        else if (strcmp(name, "--encodings") == 0)
            s->encodings = value;
        else if (strcmp(name, "--dropout") == 0)
            s->dropout = strtod(value, NULL);
        else if (strcmp(name, "--repeats") == 0)
            s->repeats = strtoul(value, NULL, 10);
        else
            usage();
    }
}

int main(int count, char **words) {
    settings s = {{128, 256, 512, 1024, 2048, 4096, 8192, 16384}, 8, 8192, 10, "none;rope;algebraic(group=seq)", 0, 0};
    char spec[256];
    take_options(&s, count, words);
    s.peak = measure_peak();
    printf("{\"program\": \"locus\", \"threads\": %zu, \"isa\": \"%s\", \"peak_gflops\": %.1f}\n", locus_threads(),
           locus_isa_name(locus_cpu_isa()), s.peak);
    for (const char *at = s.encodings; *at;) {
        size_t length = strcspn(at, ";");
        snprintf(spec, sizeof spec, "%.*s", (int)length, at);
        measure_encoding(&s, spec);
        at += length + (at[length] == ';');
    }
    return 0;
}

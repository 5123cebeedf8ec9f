/* SPDX-License-Identifier: MIT */
/* Times packed attention forward and backward, H = 8, d = 64, float32 or, with --type
 * bf16, bfloat16: one JSON object to a line, the same shapes and
 * keys as peer_attention.py. Work is counted on unmasked pairs: 4·d operations forward, 10·d backward. `share` is that
 * of the kernels' matrix product on blocks in the cache, on as many threads, measured in the same run.
 *
 * With --queries, steps of decoding: so many queries against each length of keys, causal, forward only. What counts
 * then is the memory that keys and values take, read once: `gbps`, beside `memory_gbps`, the rate at which as many
 * threads read a buffer as large.
 *
 * Encodings are timed by turns, round after round, so that their times can be compared on a machine that is not quiet.
 *
 *   bench_attention [--threads N] [--lengths 128,4096,…] [--tokens N] [--encodings "none;rope"] [--dropout P]
 *                   [--repeats N] [--heads N] [--kv-heads N] [--dim N] [--queries N] [--cap C] [--window N]
 *                   [--mask causal] [--type float32|bf16] */
#include "group_subject.h"

#include "kernels/bfloat16.h"
#include "kernels/kernels.h"

#include <locus/locus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTHS_MAX = 32, TIMES_MAX = 64, SPECS_MAX = 16 };

static const size_t ragged[] = {173, 512, 64, 301, 128, 480, 33, 256, 399, 77, 210, 350, 145, 500, 92, 288};

typedef struct settings {
    size_t lengths[LENGTHS_MAX], length_count, tokens, repeats;
    const char *encodings;
    double dropout, peak, cap;
    size_t heads, kv_heads, dim, queries, window; /* queries 0: as many as keys */
    locus_dtype dtype;
    bool causal; /* full masks are left out */
} settings;

typedef struct batch {
    const char *spec;
    size_t sequences, length; /* length 0: ragged */
    bool causal;
    const settings *s;
} batch;

typedef struct timing {
    double best, median; /* seconds */
} timing;

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

/* The same of products of bfloat16. */
static void peak_pairs_task(void *context, size_t index, size_t worker) {
    const locus_kernels_bfloat16 *kernels = context;
    uint16_t a[BLOCK * BLOCK], b[BLOCK * BLOCK];
    float c[BLOCK * BLOCK] = {0};
    (void)worker;
    for (size_t i = 0; i < BLOCK * BLOCK; i++)
        a[i] = b[i] = (uint16_t)(0x3c00 + (index + i * 7) % 128);
    for (size_t i = 0; i < BLOCK_REPEATS; i++) {
        kernels->begin();
        kernels->product(BLOCK, BLOCK, BLOCK, a, BLOCK, b, BLOCK * LOCUS_PAIRS_COLUMNS, c, BLOCK, true);
        kernels->end();
    }
}

/* GFLOP/s of the best of many rounds; drawing the blocks' numbers is less than a hundredth. */
static double measure_peak(const locus_kernels_bfloat16 *pairs) {
    double best = 0;
    for (int round = 0; round < 20; round++) {
        double start = bench_seconds();
        locus_parallel_for(locus_threads() * 4, pairs ? peak_pairs_task : peak_task, (void *)(uintptr_t)pairs);
        double flops = 2.0 * BLOCK * BLOCK * BLOCK * BLOCK_REPEATS * 4 * (double)locus_threads();
        double rate = flops / (bench_seconds() - start) / 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

/* ---- one batch ---- */

enum { Q, K, V, O, GO, DQ, DK, DV, LSE, TENSORS };

typedef struct world {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions, *queries; /* queries NULL: the same */
    locus_plan *plan;
    locus_attention_options options;
    locus_tensor tensors[TENSORS], parameters[16], gradients[16];
    size_t parameter_count, tokens, query_tokens, sequences, *offsets;
    double pairs; /* of all heads, under the mask */
    locus_workspace workspace;
    double forward[TIMES_MAX], both[TIMES_MAX];
} world;

static void make_positions(world *w, const batch *b) {
    locus_error error;
    w->sequences = b->length ? b->sequences : sizeof ragged / sizeof ragged[0];
    w->offsets = bench_memory((w->sequences + 1) * sizeof *w->offsets);
    w->offsets[0] = 0;
    for (size_t s = 0; s < w->sequences; s++) {
        size_t length = b->length ? b->length : ragged[s];
        double n = (double)length;
        w->offsets[s + 1] = w->offsets[s] + length;
        w->pairs += b->s->queries ? (double)b->s->queries * n : b->causal ? n * (n + 1) / 2 : n * n;
    }
    w->pairs *= (double)b->s->heads;
    w->tokens = w->query_tokens = w->offsets[w->sequences];
    locus_packing packing = {sizeof packing, w->sequences, w->offsets, NULL};
    bench_check(locus_positions_create(&w->positions, NULL, &packing, NULL, &error), &error);
    if (b->s->queries == 0)
        return;
    int64_t *values = bench_memory(w->sequences * b->s->queries * sizeof *values);
    size_t *offsets = bench_memory((w->sequences + 1) * sizeof *offsets);
    for (size_t s = 0; s <= w->sequences; s++)
        offsets[s] = s * b->s->queries;
    for (size_t t = 0; t < w->sequences * b->s->queries; t++)
        values[t] = (int64_t)(b->length - b->s->queries + t % b->s->queries);
    packing.offsets = offsets;
    w->query_tokens = offsets[w->sequences];
    bench_check(locus_positions_create(&w->queries, NULL, &packing, values, &error), &error);
    locus_release(values, w->sequences * b->s->queries * sizeof *values);
    locus_release(offsets, (w->sequences + 1) * sizeof *offsets);
}

static void make_plan(world *w, const batch *b) {
    locus_error error;
    locus_shape shape = locus_shape_default();
    shape.heads = b->s->heads;
    shape.kv_heads = b->s->kv_heads;
    shape.head_dim = shape.value_dim = b->s->dim;
    bench_check(locus_encoding_parse(b->spec, &w->encoding, &error), &error);
    bench_check(locus_encoding_parameter_count(w->encoding, &shape, &w->parameter_count, &error), &error);
    for (size_t i = 0; i < w->parameter_count; i++) {
        locus_parameter p = {.size = sizeof p};
        bench_check(locus_encoding_parameter(w->encoding, &shape, i, &p, &error), &error);
        w->parameters[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, p.rank, p.shape);
        size_t bytes = locus_tensor_count(&w->parameters[i]) * sizeof(float);
        w->gradients[i] = w->parameters[i];
        w->parameters[i].data = bench_memory(bytes);
        w->gradients[i].data = memset(bench_memory(bytes), 0, bytes);
    }
    bench_check(locus_encoding_initialise(w->encoding, &shape, 1, w->parameters, w->parameter_count, &error), &error);
    bench_check(locus_binding_create(&w->binding, w->encoding, &shape, w->parameters, w->parameter_count, &error),
                &error);
    bench_check(locus_plan_create(&w->plan, w->binding, w->queries ? w->queries : w->positions,
                                  w->queries ? w->positions : NULL, &error),
                &error);
}

static void make_tensors(world *w, const settings *s) {
    for (int i = 0; i < TENSORS; i++) {
        const bool keys = i == K || i == V || i == DK || i == DV;
        const int64_t shape[] = {(int64_t)(keys ? w->tokens : w->query_tokens),
                                 (int64_t)(keys && s->kv_heads ? s->kv_heads : s->heads), (int64_t)s->dim};
        const locus_dtype dtype = i == LSE ? LOCUS_FLOAT32 : s->dtype;
        w->tensors[i] = locus_tensor_view(NULL, dtype, i == LSE ? 2 : 3, shape);
        size_t count = locus_tensor_count(&w->tensors[i]);
        float *data = bench_memory(count * sizeof(float));
        uint64_t state = (uint64_t)i + 1;
        for (size_t j = 0; j < count; j++) { /* spread like a normal variable; quality does not matter here */
            state = state * 6364136223846793005u + 1442695040888963407u;
            data[j] = ((float)(state >> 48) + (float)(state >> 32 & 0xffff) - 65535.0f) * 0x1p-15f;
        }
        w->tensors[i].data = data;
        if (dtype == LOCUS_FLOAT32)
            continue;
        locus_error error;
        locus_tensor wide = locus_tensor_view(data, LOCUS_FLOAT32, 3, shape);
        w->tensors[i].data = bench_memory(count * sizeof(uint16_t));
        bench_check(locus_tensor_convert(&wide, &w->tensors[i], &error), &error);
        locus_release(data, count * sizeof(float));
    }
}

static void free_world(world *w) {
    locus_plan_destroy(&w->plan);
    locus_positions_destroy(&w->positions);
    locus_positions_destroy(&w->queries);
    locus_binding_destroy(&w->binding);
    locus_encoding_destroy(&w->encoding);
    for (int i = 0; i < TENSORS; i++)
        locus_release(w->tensors[i].data, locus_tensor_count(&w->tensors[i]) * locus_dtype_size(w->tensors[i].dtype));
    for (size_t i = 0; i < w->parameter_count; i++) {
        size_t bytes = locus_tensor_count(&w->parameters[i]) * sizeof(float) + 1;
        locus_release(w->parameters[i].data, bytes);
        locus_release(w->gradients[i].data, bytes);
    }
    locus_release(w->offsets, (w->sequences + 1) * sizeof *w->offsets);
}

static double run_forward(world *w) {
    locus_error error;
    locus_tensor *t = w->tensors;
    locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    double start = bench_seconds();
    const locus_execution execution = locus_execution_in(w->workspace);
    bench_check(locus_attention_forward(w->plan, &w->options, &tensors, &execution, &error), &error);
    return bench_seconds() - start;
}

static double run_backward(world *w) {
    locus_error error;
    locus_tensor *t = w->tensors;
    locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                           .output = &t[GO],
                                           .query = &t[DQ],
                                           .key = &t[DK],
                                           .value = &t[DV],
                                           .parameters = w->gradients,
                                           .parameter_count = w->parameter_count};
    double start = bench_seconds();
    const locus_execution execution = locus_execution_in(w->workspace);
    bench_check(locus_attention_backward(w->plan, &w->options, &tensors, &gradients, &execution, &error), &error);
    return bench_seconds() - start;
}

static void print_timing(const char *name, timing t, double flops, double peak) {
    double rate = flops / t.best / 1e9;
    printf(", \"%s\": {\"best_ms\": %.4f, \"median_ms\": %.4f, \"gflops\": %.1f, \"share\": %.3f}", name, t.best * 1e3,
           t.median * 1e3, rate, rate / peak);
}

/* GB/s of the best of some passes over a buffer of so many bytes. */
typedef struct reading {
    const uint64_t *words;
    size_t count, pieces;
    uint64_t sums[256];
} reading;

static void read_task(void *context, size_t index, size_t worker) {
    reading *r = context;
    const size_t first = r->count / r->pieces * index, end = first + r->count / r->pieces;
    uint64_t sum[8] = {0};
    (void)worker;
    for (size_t i = first; i + 8 <= end; i += 8)
        for (size_t j = 0; j < 8; j++)
            sum[j] += r->words[i + j];
    r->sums[index % 256] = sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

static double measure_memory(size_t bytes) {
    uint64_t *words = memset(bench_memory(bytes), 1, bytes);
    reading r = {.words = words, .count = bytes / sizeof *words, .pieces = 64};
    double best = 0;
    for (int round = 0; round < 8; round++) {
        double start = bench_seconds();
        locus_parallel_for(r.pieces, read_task, &r);
        double rate = (double)bytes / (bench_seconds() - start) / 1e9;
        best = rate > best ? rate : best;
    }
    locus_release(words, bytes);
    return best;
}

static void open_world(world *w, const settings *s, const batch *b) {
    w->options = locus_attention_default();
    w->options.mask = b->causal ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    w->options.dropout = s->dropout;
    w->options.cap = s->cap;
    w->options.window = s->window;
    make_positions(w, b);
    make_plan(w, b);
    make_tensors(w, s);
    size_t one = locus_attention_workspace(w->plan, &w->options, s->dtype, LOCUS_PASS_FORWARD, NULL);
    size_t other = locus_attention_workspace(w->plan, &w->options, s->dtype, LOCUS_PASS_BACKWARD, NULL);
    w->workspace.bytes = one > other ? one : other;
    w->workspace.data = bench_memory(w->workspace.bytes);
}

static void report(const settings *s, const batch *b, world *w, size_t repeats) {
    const size_t forward = locus_attention_workspace(w->plan, &w->options, s->dtype, LOCUS_PASS_FORWARD, NULL);
    const size_t backward = locus_attention_workspace(w->plan, &w->options, s->dtype, LOCUS_PASS_BACKWARD, NULL);
    printf("{\"program\": \"locus\", \"encoding\": \"%s\", \"threads\": %zu, \"batch\": %zu, \"length\": %zu, "
           "\"ragged\": %s, \"type\": \"%s\", "
           "\"causal\": %s, \"dropout\": %g, \"heads\": %zu, \"kv_heads\": %zu, \"dim\": %zu, \"queries\": %zu, "
           "\"cap\": %g, \"window\": %zu",
           b->spec, locus_threads(), w->sequences, b->length ? b->length : (size_t)512, b->length ? "false" : "true",
           s->dtype == LOCUS_FLOAT32 ? "float32" : "bf16", b->causal ? "true" : "false", s->dropout, s->heads,
           s->kv_heads ? s->kv_heads : s->heads, s->dim, s->queries, s->cap, s->window);
    const timing t = summary(w->forward, repeats);
    print_timing("forward", t, w->pairs * 4 * (double)s->dim, s->peak);
    if (s->queries == 0) {
        print_timing("both", summary(w->both, repeats), w->pairs * 14 * (double)s->dim, s->peak);
    } else {
        const double bytes = 2.0 * (double)locus_tensor_count(&w->tensors[K]) * (double)locus_dtype_size(s->dtype);
        printf(", \"gbps\": %.1f, \"memory_gbps\": %.1f", bytes / t.best / 1e9, measure_memory((size_t)bytes));
    }
    printf(", \"workspace_mib\": {\"forward\": %.2f, \"backward\": %.2f}}\n", (double)forward / 1048576,
           (double)backward / 1048576);
    fflush(stdout);
}

/* One batch for all encodings, by turns. */
static void measure(const settings *s, batch b, char specs[][256], size_t count) {
    world *worlds = memset(bench_memory(count * sizeof *worlds), 0, count * sizeof *worlds);
    size_t repeats = b.length > 4096 ? (s->repeats * 4096 + b.length - 1) / b.length : s->repeats;
    repeats = repeats < 2 ? 2 : repeats > TIMES_MAX ? TIMES_MAX : repeats;
    for (size_t e = 0; e < count; e++) {
        b.spec = specs[e];
        open_world(&worlds[e], s, &b);
    }
    for (size_t i = 0; i <= repeats; i++) /* the first round warms up */
        for (size_t e = 0; e < count; e++) {
            const size_t at = i > 0 ? i - 1 : 0;
            worlds[e].forward[at] = run_forward(&worlds[e]);
            worlds[e].both[at] = worlds[e].forward[at] + (s->queries ? 0 : run_backward(&worlds[e]));
        }
    for (size_t e = 0; e < count; e++) {
        b.spec = specs[e];
        report(s, &b, &worlds[e], repeats);
        locus_release(worlds[e].workspace.data, worlds[e].workspace.bytes);
        free_world(&worlds[e]);
    }
    locus_release(worlds, count * sizeof *worlds);
}

static void measure_all(const settings *s, char specs[][256], size_t count) {
    const size_t last = s->queries ? s->length_count - 1 : s->length_count; /* ragged batches last */
    for (size_t i = 0; i <= last; i++)
        for (int causal = s->queries || s->window || s->causal ? 1 : 0; causal < 2; causal++) {
            size_t length = i < s->length_count ? s->lengths[i] : 0;
            batch b = {NULL, 1, length, causal != 0, s};
            if (length > 0 && length <= 1024 && s->tokens > length)
                b.sequences = s->tokens / length;
            measure(s, b, specs, count);
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
                    "[--dropout P] [--repeats N] [--heads N] [--kv-heads N] [--dim N] [--queries N] [--cap C] "
                    "[--window N] [--mask causal] [--type float32|bf16]\n");
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
        else if (strcmp(name, "--heads") == 0)
            s->heads = strtoul(value, NULL, 10);
        else if (strcmp(name, "--kv-heads") == 0)
            s->kv_heads = strtoul(value, NULL, 10);
        else if (strcmp(name, "--dim") == 0)
            s->dim = strtoul(value, NULL, 10);
        else if (strcmp(name, "--queries") == 0)
            s->queries = strtoul(value, NULL, 10);
        else if (strcmp(name, "--cap") == 0)
            s->cap = strtod(value, NULL);
        else if (strcmp(name, "--type") == 0 && (strcmp(value, "bf16") == 0 || strcmp(value, "float32") == 0))
            s->dtype = *value == 'b' ? LOCUS_BFLOAT16 : LOCUS_FLOAT32;
        else if (strcmp(name, "--mask") == 0 && strcmp(value, "causal") == 0)
            s->causal = true;
        else if (strcmp(name, "--window") == 0)
            s->window = strtoul(value, NULL, 10);
        else
            usage();
    }
}

int main(int count, char **words) {
    settings s = {.lengths = {128, 256, 512, 1024, 2048, 4096, 8192, 16384},
                  .length_count = 8,
                  .tokens = 8192,
                  .repeats = 10,
                  .encodings = "none;rope;algebraic(group=seq)",
                  .heads = 8,
                  .dim = 64,
                  .dtype = LOCUS_FLOAT32};
    char specs[SPECS_MAX][256];
    size_t spec_count = 0;
    take_options(&s, count, words);
    const locus_kernels_bfloat16 *pairs = s.dtype == LOCUS_BFLOAT16 ? locus_kernels_bfloat16_get() : NULL;
    s.peak = measure_peak(pairs);
    printf("{\"program\": \"locus\", \"threads\": %zu, \"isa\": \"%s\", \"peak_gflops\": %.1f}\n", locus_threads(),
           locus_isa_name(pairs ? pairs->isa : locus_cpu_isa()), s.peak);
    for (const char *at = s.encodings; *at && spec_count < SPECS_MAX;) {
        size_t length = strcspn(at, ";");
        snprintf(specs[spec_count++], sizeof specs[0], "%.*s", (int)length, at);
        at += length + (at[length] == ';');
    }
    measure_all(&s, specs, spec_count);
    return 0;
}

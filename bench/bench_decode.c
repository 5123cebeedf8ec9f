/* SPDX-License-Identifier: MIT */
/* Times steps of decoding on a key–value cache: append one token, attend with its queries; one JSON object to a line.
 *
 *   microseconds   of a step, the fastest and the median; `append` alone too (the fastest)
 *   tokens_per_s   from the fastest
 *   gbps           of keys and values, read once, beside `memory_gbps`: the rate at which as many threads read a buffer
 *                  of that size, measured right after
 *   blocks         asked of the allocator in all timed steps: 0
 *
 * Shapes: 32 heads of 128 with 32 and 8 key-value heads, and the laboratory's 8 heads of 64 with 64 sequences.
 *
 *   bench_decode [--threads N] [--lengths 128,1024,…] [--encodings "rope;rope + alibi"] [--types float32,bfloat16]
 *                [--repeats N] */
#include "group_subject.h"

#include <locus/locus.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTHS_MAX = 16, SPECS_MAX = 16, TYPES_MAX = 4, TIMES_MAX = 512, PARAMETERS_MAX = 8, CHUNK = 512 };

typedef struct settings {
    size_t lengths[LENGTHS_MAX], length_count, repeats;
    const char *encodings, *types;
} settings;

typedef struct bench_shape {
    const char *name;
    size_t heads, kv_heads, dim, sequences, most; /* longer lengths are left out */
} bench_shape;

static const bench_shape shapes[] = {{"32x128 kv 32", 32, 32, 128, 1, 16384},
                                     {"32x128 kv 8", 32, 8, 128, 1, 65536},
                                     {"8x64, 64 sequences", 8, 8, 64, 64, 1024}};

/* ---- counting ---- */

static size_t asked;

static void *counting_allocate(void *state, size_t bytes, size_t alignment) {
    (void)state;
    asked++;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void counting_release(void *state, void *block, size_t bytes) {
    (void)state, (void)bytes;
    free(block);
}

/* ---- the machine ---- */

typedef struct reading {
    const uint64_t *data;
    size_t words, parts;
    uint64_t *sums;
} reading;

static void read_part(void *context, size_t index, size_t worker) {
    const reading *r = context;
    const size_t part = r->words / r->parts;
    const uint64_t *from = r->data + index * part;
    uint64_t sum[8] = {0};
    (void)worker;
    for (size_t i = 0; i + 8 <= part; i += 8)
        for (size_t j = 0; j < 8; j++)
            sum[j] += from[i + j];
    r->sums[index * 8] = sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

static double read_rate(size_t bytes, size_t repeats) {
    uint64_t *sums = bench_memory(64 * 8 * sizeof *sums);
    uint64_t *data = bench_memory(bytes);
    reading r = {data, bytes / 8, locus_threads() * 4, sums};
    double best = 1e9;
    memset(data, 1, bytes);
    for (size_t i = 0; i < repeats; i++) {
        const double start = bench_seconds();
        locus_parallel_for(r.parts, read_part, &r);
        const double took = bench_seconds() - start;
        best = took < best ? took : best;
    }
    free(data);
    free(sums);
    return (double)bytes / best / 1e9;
}

/* ---- one subject ---- */

typedef struct subject {
    const bench_shape *shape;
    const char *spec;
    locus_dtype dtype;
    locus_binding *binding;
    locus_cache *cache;
    locus_tensor k, v, q, o; /* of one token of each sequence */
} subject;

static locus_binding *bind(const subject *s) {
    const locus_shape shape = {
        .heads = s->shape->heads, .kv_heads = s->shape->kv_heads, .head_dim = s->shape->dim, .model_dim = 64};
    locus_tensor values[PARAMETERS_MAX];
    locus_encoding *encoding;
    locus_binding *binding;
    locus_error error;
    size_t count;
    bench_check(locus_encoding_parse(s->spec, &encoding, &error), &error);
    bench_check(locus_encoding_parameter_count(encoding, &shape, &count, &error), &error);
    for (size_t i = 0; i < count && i < PARAMETERS_MAX; i++) {
        locus_parameter info = {.size = sizeof info};
        size_t elements = 1;
        bench_check(locus_encoding_parameter(encoding, &shape, i, &info, &error), &error);
        for (size_t d = 0; d < info.rank; d++)
            elements *= (size_t)info.shape[d];
        values[i] = locus_tensor_view(bench_memory(elements * sizeof(double)), LOCUS_FLOAT64, info.rank, info.shape);
    }
    bench_check(locus_encoding_initialise(encoding, &shape, 1, values, count, &error), &error);
    bench_check(locus_binding_create(&binding, encoding, &shape, values, count, &error), &error);
    for (size_t i = 0; i < count; i++)
        free(values[i].data);
    locus_encoding_destroy(&encoding);
    return binding;
}

static locus_tensor drawn(size_t tokens, size_t heads, const subject *s) {
    const int64_t extents[] = {(int64_t)tokens, (int64_t)heads, (int64_t)s->shape->dim};
    const size_t count = tokens * heads * s->shape->dim;
    locus_tensor tensor = locus_tensor_view(bench_memory(count * sizeof(float)), LOCUS_FLOAT32, 3, extents);
    const locus_random random = {1, LOCUS_RANDOM_USER, (uint32_t)heads};
    for (size_t i = 0; i < count; i++)
        ((float *)tensor.data)[i] = (float)locus_random_uniform(&random, i % 65536) - 0.5F;
    return tensor;
}

/* `tokens` tokens of each sequence, in pieces. */
static void prefill(subject *s, size_t tokens) {
    const size_t sequences = s->shape->sequences;
    size_t *offsets = bench_memory((sequences + 1) * sizeof *offsets);
    int64_t *values = bench_memory(CHUNK * sequences * sizeof *values);
    locus_error error;
    offsets[0] = 0;
    for (size_t done = locus_cache_length(s->cache, 0), count; done < tokens; done += count) {
        count = tokens - done < CHUNK ? tokens - done : CHUNK;
        for (size_t i = 0; i < sequences; i++) {
            offsets[i + 1] = (i + 1) * count;
            for (size_t t = 0; t < count; t++)
                values[i * count + t] = (int64_t)(done + t);
        }
        const locus_packing packing = {sizeof packing, sequences, offsets, NULL};
        locus_positions *positions;
        locus_tensor rows = drawn(count * sequences, s->shape->kv_heads, s);
        bench_check(locus_positions_create(&positions, locus_binding_group(s->binding), &packing, values, &error),
                    &error);
        bench_check(locus_cache_append(s->cache, positions, &rows, &rows, NULL, &error), &error);
        locus_positions_destroy(&positions);
        free(rows.data);
    }
    free(offsets);
    free(values);
}

static void open_subject(subject *s, size_t capacity) {
    locus_cache_options options = locus_cache_options_default();
    locus_error error;
    s->binding = bind(s);
    options.sequences = s->shape->sequences;
    options.capacity = capacity;
    options.dtype = s->dtype;
    bench_check(locus_cache_create(&s->cache, s->binding, &options, &error), &error);
    s->k = drawn(s->shape->sequences, s->shape->kv_heads, s);
    s->v = drawn(s->shape->sequences, s->shape->kv_heads, s);
    s->q = drawn(s->shape->sequences, s->shape->heads, s);
    s->o = drawn(s->shape->sequences, s->shape->heads, s);
}

static void close_subject(subject *s) {
    locus_tensor *const tensors[] = {&s->k, &s->v, &s->q, &s->o};
    for (size_t i = 0; i < 4; i++)
        free(tensors[i]->data);
    locus_cache_destroy(&s->cache);
    locus_binding_destroy(&s->binding);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *type_name(locus_dtype dtype) {
    static const char *const names[] = {"", "float32", "float64", "float16", "bfloat16"};
    return names[dtype];
}

static void time_steps(subject *s, size_t length, size_t repeats) {
    double steps[TIMES_MAX], appends[TIMES_MAX];
    locus_error error;
    prefill(s, length);
    for (size_t warm = 0; warm < 2; warm++) {
        bench_check(locus_cache_append(s->cache, NULL, &s->k, &s->v, NULL, &error), &error);
        bench_check(locus_cache_attend(s->cache, NULL, &s->q, &s->o, NULL, &error), &error);
    }
    asked = 0;
    for (size_t i = 0; i < repeats; i++) {
        const double start = bench_seconds();
        bench_check(locus_cache_append(s->cache, NULL, &s->k, &s->v, NULL, &error), &error);
        appends[i] = bench_seconds() - start;
        bench_check(locus_cache_attend(s->cache, NULL, &s->q, &s->o, NULL, &error), &error);
        steps[i] = bench_seconds() - start;
    }
    const size_t blocks = asked;
    qsort(steps, repeats, sizeof *steps, ascending);
    qsort(appends, repeats, sizeof *appends, ascending);
    const double bytes = 2.0 * (double)(length * s->shape->sequences * s->shape->kv_heads * s->shape->dim) *
                         (double)locus_dtype_size(s->dtype);
    const double peak = read_rate((size_t)bytes, 20);
    (void)printf("{\"bench\": \"decode\", \"shape\": \"%s\", \"encoding\": \"%s\", \"type\": \"%s\", \"threads\": %zu, "
                 "\"kept\": %zu, \"microseconds\": %.1f, \"median\": %.1f, \"append\": %.1f, \"tokens_per_s\": %.0f, "
                 "\"gbps\": %.1f, \"memory_gbps\": %.1f, \"share\": %.2f, \"blocks\": %zu}\n",
                 s->shape->name, s->spec, type_name(s->dtype), locus_threads(), length, 1e6 * steps[0],
                 1e6 * steps[repeats / 2], 1e6 * appends[0], (double)s->shape->sequences / steps[0],
                 bytes / steps[0] / 1e9, peak, bytes / steps[0] / 1e9 / peak, blocks);
    (void)fflush(stdout);
}

/* Longer lengths go on where shorter ones ended. */
static void time_subject(const settings *given, const bench_shape *shape, const char *spec, locus_dtype dtype) {
    subject s = {.shape = shape, .spec = spec, .dtype = dtype};
    size_t longest = 0;
    for (size_t i = 0; i < given->length_count; i++)
        if (given->lengths[i] <= shape->most && given->lengths[i] > longest)
            longest = given->lengths[i];
    if (longest == 0)
        return;
    open_subject(&s, longest + given->repeats * (given->length_count + 1) + 8);
    for (size_t i = 0; i < given->length_count; i++)
        if (given->lengths[i] <= shape->most)
            time_steps(&s, given->lengths[i], given->repeats);
    close_subject(&s);
}

/* ---- options ---- */

static void take_lengths(settings *s, const char *text) {
    s->length_count = 0;
    for (const char *at = text; *at && s->length_count < LENGTHS_MAX; at += strcspn(at, ","), at += *at == ',')
        s->lengths[s->length_count++] = (size_t)strtoull(at, NULL, 10);
}

static bool take_option(settings *s, const char *name, const char *value) {
    locus_error error;
    if (strcmp(name, "--threads") == 0)
        bench_check(locus_threads_set((size_t)strtoull(value, NULL, 10)), &error);
    else if (strcmp(name, "--lengths") == 0)
        take_lengths(s, value);
    else if (strcmp(name, "--encodings") == 0)
        s->encodings = value;
    else if (strcmp(name, "--types") == 0)
        s->types = value;
    else if (strcmp(name, "--repeats") == 0)
        s->repeats = (size_t)strtoull(value, NULL, 10);
    else
        return false;
    return s->repeats > 0 && s->repeats <= TIMES_MAX;
}

static void time_spec(const settings *s, const char *spec) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (locus_dtype dtype = LOCUS_FLOAT32; dtype <= LOCUS_BFLOAT16; dtype++)
            if (strstr(s->types, type_name(dtype)) &&
                (dtype != LOCUS_FLOAT16 || strstr(s->types, "float16") == s->types || strstr(s->types, ",float16")))
                time_subject(s, &shapes[i], spec, dtype);
}

int main(int argc, char **argv) {
    static const locus_allocator allocator = {sizeof allocator, counting_allocate, counting_release, NULL};
    settings s = {.repeats = 40, .encodings = "none;rope;rope + alibi;algebraic(group=seq)", .types = "float32"};
    take_lengths(&s, "128,1024,4096,16384");
    for (int i = 1; i < argc; i += 2)
        if (i + 1 >= argc || !take_option(&s, argv[i], argv[i + 1])) {
            (void)fprintf(stderr, "bench_decode: what is '%s'? see the head of bench_decode.c\n", argv[i]);
            return 2;
        }
    bench_check(locus_allocator_set(&allocator, NULL), NULL);
    char specs[512];
    (void)snprintf(specs, sizeof specs, "%s", s.encodings);
    for (char *rest = specs, *spec; (spec = strtok_r(rest, ";", &rest)) != NULL;)
        time_spec(&s, spec);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Times every encoding of the field as engines use it, float32: prefill (a prompt, causal) and decode (one token
 * against a cache). One JSON object to a line; bench/peer_encodings.py times others at the same.
 *
 *   apply_*    what acts on tokens alone: queries and keys turned, or vectors added to embeddings
 *   prefill    locus_attention_forward, everything that acts fused
 *   decode     locus_cache_append and locus_cache_attend of one token behind `cache` others
 *
 *   bench_encodings [--prefill N] [--cache N] [--heads H] [--kv-heads K] [--dim D] [--repeats R] [SPEC …] */
#include "group_subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 16 };

typedef struct bench_sizes {
    size_t prefill, cache, heads, kv_heads, dim, repeats;
} bench_sizes;

typedef struct subject {
    const bench_sizes *o;
    locus_encoding *encoding;
    locus_binding *binding;
    size_t count, axes;
    locus_tensor values[PARAMETERS_MAX];
} subject;

static const char *const specs[] = {
    "none",
    "sinusoidal",
    "learned(size=8192)",
    "chebyshev(size=8192)",
    "rope",
    "rope(pairs=half)",
    "rope(rotate=32)",
    "rope(pairs=half, scaling=yarn, factor=8, original=4096)",
    "rope(pairs=half, base=500000, scaling=llama3, factor=8, original=8192)",
    "rope(pairs=half, base=1000000, axes=3, frequencies=running, sections=16:24:24)",
    "rope(axes=2)",
    "rope(xpos=512)",
    "roper",
    "algebraic",
    "relative(window=128)",
    "alibi",
    "t5(direction=causal)",
    "kerple",
    "fire",
    "cope",
    "decay(rate=0.98)",
    "rope + alibi",
    "rope(pairs=half) + scores(cap=50)",
    "rope(pairs=half) + scores(window=1024)",
    "rope(pairs=half) + scores(sinks=on)",
};

static void subject_open(subject *s, const bench_sizes *o, const char *spec) {
    locus_error error = {0};
    const locus_shape shape = {
        .heads = o->heads, .head_dim = o->dim, .model_dim = o->heads * o->dim, .kv_heads = o->kv_heads};
    *s = (subject){.o = o};
    bench_check(locus_encoding_parse(spec, &s->encoding, &error), &error);
    bench_check(locus_encoding_parameter_count(s->encoding, &shape, &s->count, &error), &error);
    if (s->count > PARAMETERS_MAX)
        exit(1);
    for (size_t i = 0; i < s->count; i++) {
        locus_parameter info = {.size = sizeof info};
        bench_check(locus_encoding_parameter(s->encoding, &shape, i, &info, &error), &error);
        s->values[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info.rank, info.shape);
        s->values[i].data = bench_memory(locus_tensor_count(&s->values[i]) * sizeof(double));
    }
    bench_check(locus_encoding_initialise(s->encoding, &shape, 1, s->values, s->count, &error), &error);
    bench_check(locus_binding_create(&s->binding, s->encoding, &shape, s->values, s->count, &error), &error);
    const locus_group *group = locus_encoding_group(s->encoding);
    s->axes = group ? locus_group_coordinates(group) : 1;
}

static void subject_close(subject *s) {
    for (size_t i = 0; i < s->count; i++)
        locus_release(s->values[i].data, locus_tensor_count(&s->values[i]) * sizeof(double));
    locus_binding_destroy(&s->binding);
    locus_encoding_destroy(&s->encoding);
}

/* Tokens first … first + count − 1: on several axes the same number on each, as text has it in M-RoPE. */
static locus_positions *positions_of(const subject *s, size_t first, size_t count) {
    locus_error error = {0};
    locus_positions *positions = NULL;
    const size_t offsets[2] = {0, count};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    int64_t *values = bench_memory(count * s->axes * sizeof *values);
    for (size_t i = 0; i < count * s->axes; i++)
        values[i] = (int64_t)(first + i / s->axes);
    bench_check(locus_positions_create(&positions, locus_encoding_group(s->encoding), &packing, values, &error),
                &error);
    locus_release(values, count * s->axes * sizeof *values);
    return positions;
}

static locus_tensor numbers(size_t tokens, size_t heads, size_t dim, unsigned stream) {
    return locus_tensor_view(bench_numbers(tokens * heads * dim, stream), LOCUS_FLOAT32, 3,
                             (int64_t[]){(int64_t)tokens, (int64_t)heads, (int64_t)dim});
}

static void forget(locus_tensor *tensor) {
    locus_release(tensor->data, locus_tensor_count(tensor) * sizeof(float));
}

static locus_workspace lend(size_t bytes) {
    return (locus_workspace){bench_memory(bytes), bytes};
}

/* ---- what is timed ---- */

typedef struct job {
    const subject *s;
    locus_plan *plan;
    locus_cache *cache;
    locus_workspace workspace;
    locus_tensor query, key, value, output, tokens;
} job;

static void run_apply(job *j) {
    locus_error error = {0};
    const unsigned sites = locus_encoding_sites(j->s->encoding);
    if (sites & LOCUS_SITE_QUERY_KEY) {
        const locus_execution execution = locus_execution_in(j->workspace);
        bench_check(locus_apply(j->plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &j->query, &j->query, &execution, &error),
                    &error);
        bench_check(locus_apply(j->plan, LOCUS_ROLE_KEY, LOCUS_FORWARD, &j->key, &j->key, &execution, &error), &error);
    }
    const locus_execution execution = locus_execution_in(j->workspace);
    if (sites & LOCUS_SITE_EMBEDDING)
        bench_check(locus_apply(j->plan, LOCUS_ROLE_TOKEN, LOCUS_FORWARD, &j->tokens, &j->tokens, &execution, &error),
                    &error);
}

static void run_prefill(job *j) {
    locus_error error = {0};
    locus_attention_options options = locus_attention_default();
    const locus_attention_tensors tensors = {sizeof tensors, &j->query, &j->key, &j->value, &j->output, NULL};
    options.mask = LOCUS_MASK_CAUSAL;
    const locus_execution execution = locus_execution_in(j->workspace);
    bench_check(locus_attention_forward(j->plan, &options, &tensors, &execution, &error), &error);
}

/* The token is taken out again, so that each run finds the cache as the first did. */
static void run_decode(job *j) {
    locus_error error = {0};
    locus_attention_options options = locus_attention_default();
    options.mask = LOCUS_MASK_CAUSAL;
    locus_positions *positions = positions_of(j->s, j->s->o->cache, 1);
    bench_check(locus_cache_append(j->cache, positions, &j->key, &j->value, NULL, &error), &error);
    bench_check(locus_cache_attend(j->cache, &options, &j->query, &j->output, NULL, &error), &error);
    bench_check(locus_cache_truncate(j->cache, 0, j->s->o->cache, &error), &error);
    locus_positions_destroy(&positions);
}

static bench_time timed(job *j, void (*run)(job *), size_t repeats) {
    double times[64];
    run(j);
    repeats = repeats < 64 ? repeats : 64;
    for (size_t i = 0; i < repeats; i++) {
        const double start = bench_seconds();
        run(j);
        times[i] = bench_seconds() - start;
        for (size_t k = i; k > 0 && times[k] < times[k - 1]; k--) {
            const double swap = times[k];
            times[k] = times[k - 1];
            times[k - 1] = swap;
        }
    }
    return (bench_time){times[0], times[repeats / 2], repeats};
}

static void print(const char *spec, const char *what, const bench_sizes *o, bench_time time) {
    printf("{\"spec\": \"%s\", \"what\": \"%s\", \"heads\": %zu, \"kv_heads\": %zu, \"dim\": %zu, \"best_ms\": %.5f, "
           "\"median_ms\": %.5f}\n",
           spec, what, o->heads, o->kv_heads, o->dim, time.best * 1e3, time.median * 1e3);
    fflush(stdout);
}

static job job_open(const subject *s, size_t first, size_t tokens) {
    locus_error error = {0};
    const bench_sizes *o = s->o;
    job j = {.s = s};
    locus_positions *positions = positions_of(s, first, tokens);
    bench_check(locus_plan_create(&j.plan, s->binding, positions, NULL, &error), &error);
    locus_positions_destroy(&positions);
    j.query = numbers(tokens, o->heads, o->dim, 1);
    j.key = numbers(tokens, o->kv_heads, o->dim, 2);
    j.value = numbers(tokens, o->kv_heads, o->dim, 3);
    j.output = numbers(tokens, o->heads, o->dim, 4);
    j.tokens =
        locus_tensor_view(j.output.data, LOCUS_FLOAT32, 2, (int64_t[]){(int64_t)tokens, (int64_t)(o->heads * o->dim)});
    return j;
}

static void job_close(job *j) {
    locus_tensor *tensors[] = {&j->query, &j->key, &j->value, &j->output};
    for (size_t i = 0; i < 4; i++)
        forget(tensors[i]);
    locus_plan_destroy(&j->plan);
    locus_cache_destroy(&j->cache);
    locus_release(j->workspace.data, j->workspace.bytes);
}

static size_t apply_bytes(const locus_plan *plan) {
    size_t bytes = 0;
    for (int role = LOCUS_ROLE_TOKEN; role <= LOCUS_ROLE_KEY; role++) {
        const size_t own = locus_apply_workspace(plan, (locus_role)role, LOCUS_FLOAT32, NULL);
        bytes = own > bytes ? own : bytes;
    }
    return bytes;
}

static void bench_prompt(const subject *s, const char *spec) {
    locus_attention_options options = locus_attention_default();
    job j = job_open(s, 0, s->o->prefill);
    options.mask = LOCUS_MASK_CAUSAL;
    const size_t attention = locus_attention_workspace(j.plan, &options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
    const size_t apply = apply_bytes(j.plan);
    j.workspace = lend(attention > apply ? attention : apply);
    if (locus_encoding_sites(s->encoding) & (LOCUS_SITE_QUERY_KEY | LOCUS_SITE_EMBEDDING))
        print(spec, "apply_prefill", s->o, timed(&j, run_apply, s->o->repeats * 4));
    if (!(locus_encoding_sites(s->encoding) & LOCUS_SITE_EMBEDDING))
        print(spec, "prefill", s->o, timed(&j, run_prefill, s->o->repeats));
    job_close(&j);
}

static void bench_token(const subject *s, const char *spec) {
    locus_error error = {0};
    const unsigned sites = locus_encoding_sites(s->encoding);
    job j = job_open(s, s->o->cache, 1);
    j.workspace = lend(apply_bytes(j.plan));
    if (sites & (LOCUS_SITE_QUERY_KEY | LOCUS_SITE_EMBEDDING))
        print(spec, "apply_decode", s->o, timed(&j, run_apply, 64));
    locus_cache_options options = locus_cache_options_default();
    options.capacity = s->o->cache + 1;
    if (!(sites & LOCUS_SITE_EMBEDDING) && locus_cache_create(&j.cache, s->binding, &options, &error) == LOCUS_OK) {
        job kept = job_open(s, 0, s->o->cache);
        locus_positions *positions = positions_of(s, 0, s->o->cache);
        bench_check(locus_cache_append(j.cache, positions, &kept.key, &kept.value, NULL, &error), &error);
        locus_positions_destroy(&positions);
        job_close(&kept);
        print(spec, "decode", s->o, timed(&j, run_decode, s->o->repeats * 8));
    } else if (!(sites & LOCUS_SITE_EMBEDDING)) {
        fprintf(stderr, "bench_encodings: %s: no decoding: %s\n", spec, error.message);
    }
    job_close(&j);
}

static size_t *option_of(bench_sizes *o, const char *name) {
    const char *const names[] = {"--prefill", "--cache", "--heads", "--kv-heads", "--dim", "--repeats"};
    size_t *const places[] = {&o->prefill, &o->cache, &o->heads, &o->kv_heads, &o->dim, &o->repeats};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return places[i];
    return NULL;
}

int main(int argc, char **argv) {
    bench_sizes o = {.prefill = 4096, .cache = 4096, .heads = 32, .dim = 128, .repeats = 5};
    int at = 1;
    for (; at + 1 < argc && option_of(&o, argv[at]); at += 2)
        *option_of(&o, argv[at]) = strtoull(argv[at + 1], NULL, 10);
    o.kv_heads = o.kv_heads ? o.kv_heads : o.heads;
    const size_t given = (size_t)(argc - at), count = given ? given : sizeof specs / sizeof *specs;
    for (size_t i = 0; i < count; i++) {
        const char *spec = given ? argv[at + (int)i] : specs[i];
        subject s;
        subject_open(&s, &o, spec);
        bench_prompt(&s, spec);
        bench_token(&s, spec);
        subject_close(&s);
    }
    return 0;
}

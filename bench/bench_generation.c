/* SPDX-License-Identifier: MIT */
/* Greedy decoding with RoPER's large decoder (512 dimensions, 6 layers, 8 heads, feed-forward 2048): the time of a
 * token behind prompts of different lengths; reading the prompt is no part of it. One JSON object to a line:
 *
 *   prefill_s       reading the prompts, the first token included
 *   step_us         one token for each of `batch` sequences, the fastest and the median
 *   attention_us    locus_cache_attend alone, once for each layer, at the same length; the median. Its keys may
 * still be
 *                   in the processor's cache, where those of a step are not
 *   tokens_per_s    batch / step
 *
 * and at the end of each batch the line step = fixed + each · length with the least relative squares, and the greatest
 * share by which a step is off it: 0, if nothing but attention, which is linear, depends on the length. Before anything
 * is timed, what is decoded behind a short prompt is compared with the model's teacher-forced choices, token by token.
 * Parameters are those of an untrained model. --write puts them with that prompt and its answer into a .safetensors
 * file, on which peer_generation.py runs the same.
 *
 *   bench_generation [--threads N] [--lengths 128,256,…] [--batches 1,32] [--tokens N] [--encodings "rope;roper"]
 *                    [--write FILE] */
#include "group_subject.h"
#include "io/safetensors.h"
#include "model/architecture.h"
#include "task/task_class.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 16, STEPS_MAX = 512, CHUNK = 512, CHECK_PROMPT = 24, CHECK_TOKENS = 40, CHECK_SAMPLES = 2 };

typedef struct settings {
    size_t lengths[LIST_MAX], length_count, batches[LIST_MAX], batch_count, tokens;
    const char *encodings, *path;
} settings;

/* ---- decoding ---- */

/* When the last sample of a step has got its token. */
typedef struct stamps {
    size_t batch, count;
    double at[STEPS_MAX + 1];
} stamps;

static bool stamp(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch) {
    stamps *to = context;
    (void)token, (void)parent, (void)branch;
    if (sample + 1 == to->batch)
        to->at[to->count++] = bench_seconds();
    return true;
}

typedef struct prompts {
    lab_batch batch;
    size_t *offsets, *limits, *output_offsets, *lengths;
    int32_t *tokens, *output;
} prompts;

static prompts prompts_draw(const lab_model *model, size_t samples, size_t length, size_t limit) {
    const locus_random random = {3, LOCUS_RANDOM_USER, (uint32_t)length};
    const double vocabulary = (double)lab_model_get_config(model)->vocabulary;
    prompts p = {.offsets = bench_memory((samples + 1) * sizeof *p.offsets),
                 .limits = bench_memory(samples * sizeof *p.limits),
                 .output_offsets = bench_memory((samples + 1) * sizeof *p.output_offsets),
                 .lengths = bench_memory(samples * sizeof *p.lengths),
                 .tokens = bench_memory(samples * length * sizeof *p.tokens),
                 .output = bench_memory(samples * limit * sizeof *p.output)};
    p.offsets[0] = 0;
    for (size_t s = 0; s < samples; s++) {
        p.offsets[s + 1] = p.offsets[s] + length;
        p.limits[s] = limit;
    }
    for (size_t t = 0; t < samples * length; t++)
        p.tokens[t] = (int32_t)(locus_random_uniform(&random, t) * vocabulary);
    p.batch = (lab_batch){.samples = samples, .input_offsets = p.offsets, .input = p.tokens};
    return p;
}

static void prompts_free(prompts *p) {
    void *const blocks[] = {p->offsets, p->limits, p->output_offsets, p->lengths, p->tokens, p->output};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

static void generate(lab_model *model, const prompts *p, const lab_growth *growth) {
    const lab_generation generation = {.limits = p->limits,
                                       .output = p->output,
                                       .output_offsets = p->output_offsets,
                                       .lengths = p->lengths,
                                       .growth = growth};
    locus_error error;
    bench_check(lab_model_generate(model, &p->batch, &generation, &error), &error);
}

/* ---- check ---- */

static size_t right_tokens(lab_model *model, const lab_batch *batch, uint32_t *by_sample) {
    lab_score score = {.sample_correct = by_sample};
    locus_error error;
    bench_check(lab_model_evaluate(model, batch, &score, &error), &error);
    return score.correct;
}

/* A causal model is as often right on a prompt alone as with what follows it; on its own choices it is always right. */
static void check_decoding(lab_model *model, const prompts *p) {
    size_t offsets[CHECK_SAMPLES + 1] = {0};
    int32_t whole[CHECK_SAMPLES * (CHECK_PROMPT + CHECK_TOKENS)];
    generate(model, p, NULL);
    for (size_t s = 0; s < CHECK_SAMPLES; s++) {
        memcpy(whole + offsets[s], p->tokens + p->offsets[s], CHECK_PROMPT * sizeof *whole);
        memcpy(whole + offsets[s] + CHECK_PROMPT, p->output + p->output_offsets[s], CHECK_TOKENS * sizeof *whole);
        offsets[s + 1] = offsets[s] + CHECK_PROMPT + CHECK_TOKENS;
    }
    const lab_batch all = {.samples = CHECK_SAMPLES, .input_offsets = offsets, .input = whole};
    const size_t right = right_tokens(model, &all, NULL) - right_tokens(model, &p->batch, NULL);
    if (right == (size_t)CHECK_SAMPLES * CHECK_TOKENS)
        return;
    (void)fprintf(stderr, "bench_generation: %zu of %d decoded tokens are those of teacher forcing\n", right,
                  CHECK_SAMPLES * CHECK_TOKENS);
    exit(1);
}

/* Parameters, and the first sample of the check. */
static void write_model(lab_model *model, const prompts *p, const char *path) {
    const size_t count = lab_model_parameter_count(model);
    lab_array *arrays = bench_memory((count + 2) * sizeof *arrays);
    locus_error error;
    for (size_t i = 0; i < count; i++) {
        const lab_parameter *parameter = lab_model_parameter(model, i);
        arrays[i] = (lab_array){.dtype = LAB_F32, .rank = parameter->rank, .data = parameter->value};
        memcpy(arrays[i].shape, parameter->shape, parameter->rank * sizeof *parameter->shape);
        (void)snprintf(arrays[i].name, sizeof arrays[i].name, "%s", parameter->name);
    }
    arrays[count] = (lab_array){"prompt", LAB_I32, 1, {CHECK_PROMPT}, p->tokens};
    arrays[count + 1] = (lab_array){"answer", LAB_I32, 1, {CHECK_TOKENS}, p->output};
    bench_check(lab_safetensors_write(path, arrays, count + 2, NULL, 0, &error), &error);
    free(arrays);
}

static void check(lab_model *model, const char *path) {
    prompts p = prompts_draw(model, CHECK_SAMPLES, CHECK_PROMPT, CHECK_TOKENS);
    check_decoding(model, &p);
    if (path)
        write_model(model, &p, path);
    prompts_free(&p);
}

/* ---- attention alone ---- */

typedef struct attention {
    locus_cache **caches; /* one for each layer */
    size_t layers;
    locus_tensor one, output; /* a token of each sequence */
} attention;

static locus_tensor rows_drawn(const lab_model_config *config, size_t tokens) {
    const int64_t extents[] = {(int64_t)tokens, (int64_t)config->heads, (int64_t)(config->dim / config->heads)};
    const locus_random random = {5, LOCUS_RANDOM_USER, 0};
    float *data = bench_memory(tokens * config->dim * sizeof *data);
    for (size_t i = 0; i < tokens * config->dim; i++)
        data[i] = (float)locus_random_uniform(&random, i % 65536) - 0.5F;
    return locus_tensor_view(data, LOCUS_FLOAT32, 3, extents);
}

static void cache_fill(locus_cache *cache, const lab_model *model, size_t sequences, size_t length) {
    size_t *offsets = bench_memory((sequences + 1) * sizeof *offsets);
    int64_t *values = bench_memory(CHUNK * sequences * sizeof *values);
    locus_tensor rows = rows_drawn(lab_model_get_config(model), CHUNK * sequences);
    locus_error error;
    offsets[0] = 0;
    for (size_t done = 0, count; done < length; done += count) {
        count = length - done < CHUNK ? length - done : CHUNK;
        for (size_t s = 0; s < sequences; s++) {
            offsets[s + 1] = (s + 1) * count;
            for (size_t t = 0; t < count; t++)
                values[s * count + t] = (int64_t)(done + t);
        }
        const locus_packing packing = {sizeof packing, sequences, offsets, NULL};
        locus_positions *positions;
        rows.shape[0] = (int64_t)(count * sequences);
        bench_check(
            locus_positions_create(&positions, locus_binding_group(lab_model_binding(model)), &packing, values, &error),
            &error);
        bench_check(locus_cache_append(cache, positions, &rows, &rows, NULL, &error), &error);
        locus_positions_destroy(&positions);
    }
    free(rows.data);
    free(values);
    free(offsets);
}

/* Caches of their own, so that a layer finds as little of its own in the processor's caches as in a model. */
static void attention_open(attention *a, const lab_model *model, size_t sequences, size_t length) {
    const lab_model_config *config = lab_model_get_config(model);
    locus_cache_options options = locus_cache_options_default();
    locus_error error;
    options.sequences = sequences;
    options.capacity = length + 1;
    *a = (attention){.layers = config->decoder_layers,
                     .caches = bench_memory(config->decoder_layers * sizeof *a->caches),
                     .one = rows_drawn(config, sequences),
                     .output = rows_drawn(config, sequences)};
    for (size_t l = 0; l < a->layers; l++) {
        bench_check(locus_cache_create(&a->caches[l], lab_model_binding(model), &options, &error), &error);
        cache_fill(a->caches[l], model, sequences, length);
        bench_check(locus_cache_append(a->caches[l], NULL, &a->one, &a->one, NULL, &error), &error);
    }
}

static void attention_close(attention *a) {
    for (size_t l = 0; l < a->layers; l++)
        locus_cache_destroy(&a->caches[l]);
    free(a->caches);
    free(a->one.data);
    free(a->output.data);
}

static void attend_all(void *context) {
    const attention *a = context;
    locus_error error;
    for (size_t l = 0; l < a->layers; l++)
        bench_check(locus_cache_attend(a->caches[l], NULL, &a->one, &a->output, NULL, &error), &error);
}

/* ---- timing ---- */

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct times {
    double prefill, best, median, attention;
} times;

static times time_length(lab_model *model, size_t batch, size_t length, size_t tokens) {
    stamps marks = {.batch = batch};
    const lab_growth growth = {stamp, &marks};
    double steps[STEPS_MAX];
    attention alone;
    prompts p = prompts_draw(model, batch, length, tokens + 1);
    const double start = bench_seconds();
    generate(model, &p, &growth);
    for (size_t i = 0; i < tokens; i++)
        steps[i] = marks.at[i + 1] - marks.at[i];
    prompts_free(&p);
    qsort(steps, tokens, sizeof *steps, ascending);
    attention_open(&alone, model, batch, length + tokens / 2);
    const bench_time attending = bench_measure(attend_all, &alone, tokens, 0.0);
    attention_close(&alone);
    return (times){marks.at[0] - start, steps[0], steps[tokens / 2], attending.median};
}

typedef struct line {
    double fixed, each, off;
} line;

/* Weights 1/y²: the shares by which points are off count, not the seconds. */
static line line_fit(const size_t *x, const double *y, size_t count) {
    double w = 0.0, wx = 0.0, wy = 0.0, wxx = 0.0, wxy = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double weight = 1.0 / (y[i] * y[i]), at = (double)x[i];
        w += weight;
        wx += weight * at;
        wy += weight * y[i];
        wxx += weight * at * at;
        wxy += weight * at * y[i];
    }
    line fit = {.each = (w * wxy - wx * wy) / (w * wxx - wx * wx)};
    fit.fixed = (wy - fit.each * wx) / w;
    for (size_t i = 0; i < count; i++)
        fit.off = fmax(fit.off, fabs((fit.fixed + fit.each * (double)x[i]) / y[i] - 1.0));
    return fit;
}

static void time_batch(const settings *given, lab_model *model, const char *spec, size_t batch) {
    double steps[LIST_MAX];
    for (size_t i = 0; i < given->length_count; i++) {
        const size_t length = given->lengths[i];
        const times t = time_length(model, batch, length, given->tokens);
        steps[i] = t.best;
        (void)printf("{\"bench\": \"generation\", \"encoding\": \"%s\", \"threads\": %zu, \"batch\": %zu, \"length\": "
                     "%zu, \"prefill_s\": %.4f, \"prefill_tokens_per_s\": %.0f, \"step_us\": %.1f, \"median_us\": "
                     "%.1f, \"attention_us\": %.1f, \"tokens_per_s\": %.1f}\n",
                     spec, locus_threads(), batch, length, t.prefill, (double)(batch * length) / t.prefill,
                     1e6 * t.best, 1e6 * t.median, 1e6 * t.attention, (double)batch / t.best);
        (void)fflush(stdout);
    }
    if (given->length_count < 3)
        return;
    const line fit = line_fit(given->lengths, steps, given->length_count);
    (void)printf("{\"bench\": \"generation\", \"encoding\": \"%s\", \"batch\": %zu, \"fixed_us\": %.1f, "
                 "\"us_each_length\": %.4f, \"furthest_off\": %.3f}\n",
                 spec, batch, 1e6 * fit.fixed, 1e6 * fit.each, fit.off);
}

static void time_encoding(const settings *given, const char *spec) {
    const lab_task *task = lab_task_find("addition");
    const lab_task_options options = lab_task_default(task);
    lab_model_config config = lab_decoder.defaults;
    lab_model *model;
    locus_error error;
    config.vocabulary = lab_task_vocabulary(task, &options);
    config.encoding = spec;
    bench_check(lab_model_create(&model, &config, 0, &error), &error);
    check(model, given->path);
    for (size_t i = 0; i < given->batch_count; i++)
        time_batch(given, model, spec, given->batches[i]);
    lab_model_destroy(&model);
}

/* ---- options ---- */

static size_t take_list(size_t *list, const char *text) {
    size_t count = 0;
    for (const char *at = text; *at && count < LIST_MAX; at += strcspn(at, ","), at += *at == ',')
        list[count++] = (size_t)strtoull(at, NULL, 10);
    return count;
}

static bool take_option(settings *s, const char *name, const char *value) {
    locus_error error;
    if (strcmp(name, "--threads") == 0)
        bench_check(locus_threads_set((size_t)strtoull(value, NULL, 10)), &error);
    else if (strcmp(name, "--lengths") == 0)
        s->length_count = take_list(s->lengths, value);
    else if (strcmp(name, "--batches") == 0)
        s->batch_count = take_list(s->batches, value);
    else if (strcmp(name, "--tokens") == 0)
        s->tokens = (size_t)strtoull(value, NULL, 10);
    else if (strcmp(name, "--encodings") == 0)
        s->encodings = value;
    else if (strcmp(name, "--write") == 0)
        s->path = value;
    else
        return false;
    return s->tokens > 0 && s->tokens < STEPS_MAX;
}

int main(int argc, char **argv) {
    settings s = {.tokens = 32, .encodings = "rope"};
    s.length_count = take_list(s.lengths, "128,256,512,1024,2048,4096");
    s.batch_count = take_list(s.batches, "1,32");
    for (int i = 1; i < argc; i += 2)
        if (i + 1 >= argc || !take_option(&s, argv[i], argv[i + 1])) {
            (void)fprintf(stderr, "bench_generation: what is '%s'? see the head of bench_generation.c\n", argv[i]);
            return 2;
        }
    char specs[512];
    (void)snprintf(specs, sizeof specs, "%s", s.encodings);
    for (char *rest = specs, *spec; (spec = strtok_r(rest, ";", &rest)) != NULL;)
        time_encoding(&s, spec);
    return 0;
}

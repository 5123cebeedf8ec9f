/* SPDX-License-Identifier: MIT */
/* See bench.h. */
#include "bench/bench.h"

#include "bound/bound.h"
#include "io/clock.h"
#include "io/fail.h"

#include <stdlib.h>

/* ---- timing ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef locus_status bench_call(void *context, locus_error *error);

/* Calls once to warm up, then until a third of a second and `least` calls are over. */
static locus_status measure(bench_call *call, void *context, size_t least, lab_timing *result, locus_error *error) {
    enum { MOST = 1000 };
    double times[MOST];
    size_t count = 0;
    locus_status status = call(context, error);
    const double begin = lab_seconds();
    for (; status == LOCUS_OK && count < MOST && (count < least || lab_seconds() - begin < 0.33); count++) {
        const double start = lab_seconds();
        status = call(context, error);
        times[count] = lab_seconds() - start;
    }
    if (status != LOCUS_OK)
        return status;
    qsort(times, count, sizeof *times, by_size);
    *result = (lab_timing){.best = times[0], .median = times[count / 2]};
    return LOCUS_OK;
}

/* ---- an encoding on one sequence ---- */

typedef struct subject {
    lab_bound bound;
    locus_plan *plan;
} subject;

static void subject_close(subject *s) {
    locus_plan_destroy(&s->plan);
    lab_bound_close(&s->bound);
}

static locus_status subject_open(subject *s, const char *spec, const locus_shape *shape, size_t tokens,
                                 locus_error *error) {
    locus_positions *positions = NULL;
    const size_t offsets[2] = {0, tokens};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    *s = (subject){0};
    locus_status status = lab_bound_parse(&s->bound, spec, error);
    s->bound.shape = *shape;
    if (status == LOCUS_OK)
        status = lab_bound_list(&s->bound, error);
    if (status == LOCUS_OK)
        status = lab_bound_draw(&s->bound, 0, error);
    if (status == LOCUS_OK)
        status = lab_bound_bind(&s->bound, error);
    if (status == LOCUS_OK)
        status = locus_positions_create(&positions, locus_encoding_group(s->bound.encoding), &packing, NULL, error);
    if (status == LOCUS_OK)
        status = lab_bound_plan(&s->bound, positions, NULL, NULL, &s->plan, error);
    locus_positions_destroy(&positions);
    return status;
}

locus_status lab_bench_check(const lab_bench *bench, const char *spec, size_t tokens, locus_error *error) {
    subject s;
    const locus_status status = subject_open(&s, spec, &bench->shape, tokens, error);
    subject_close(&s);
    return status;
}

/* Normal numbers, so that nothing is denormal or saturated. */
static float *draw(size_t count, uint32_t step) {
    const locus_random random = {.seed = 0, .purpose = LOCUS_RANDOM_USER + 0x42u, .step = step};
    float *data = locus_allocate(count * sizeof *data);
    for (size_t i = 0; data && i < count; i++)
        data[i] = (float)locus_random_uniform(&random, i) * 2 - 1;
    return data;
}

/* ---- apply ---- */

typedef struct apply_job {
    const locus_plan *plan;
    locus_tensor x;
    locus_workspace workspace;
    size_t elements;
} apply_job;

static locus_status call_apply(void *context, locus_error *error) {
    apply_job *job = context;
    const locus_execution execution = locus_execution_in(job->workspace);
    return locus_apply(job->plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &job->x, &job->x, &execution, error);
}

/* The floor: every element read, negated, written. */
static void negate_piece(void *context, size_t index, size_t worker) {
    apply_job *job = context;
    float *x = (float *)job->x.data + index * 16384;
    size_t count = job->elements - index * 16384;
    (void)worker;
    for (size_t i = 0; i < (count < 16384 ? count : 16384); i++)
        x[i] = -x[i];
}

static locus_status call_negate(void *context, locus_error *error) {
    (void)error;
    locus_parallel_for((((apply_job *)context)->elements + 16383) / 16384, negate_piece, context);
    return LOCUS_OK;
}

static locus_status apply_open(apply_job *job, const lab_bench *bench, size_t tokens, locus_error *error) {
    const int64_t sizes[3] = {(int64_t)tokens, (int64_t)bench->shape.heads, (int64_t)bench->shape.head_dim};
    *job = (apply_job){.elements = tokens * bench->shape.heads * bench->shape.head_dim};
    job->x = locus_tensor_view(draw(job->elements, 0), LOCUS_FLOAT32, 3, sizes);
    return job->x.data ? LOCUS_OK : lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %zu tokens", tokens);
}

locus_status lab_bench_negation(const lab_bench *bench, size_t tokens, lab_timing *timing, locus_error *error) {
    apply_job job;
    locus_status status = apply_open(&job, bench, tokens, error);
    if (status == LOCUS_OK)
        status = measure(call_negate, &job, bench->least, timing, error);
    locus_release(job.x.data, job.elements * sizeof(float));
    return status;
}

locus_status lab_bench_apply(const lab_bench *bench, const char *spec, size_t tokens, lab_timing *timing,
                             locus_error *error) {
    subject s;
    apply_job job = {0};
    *timing = (lab_timing){0};
    locus_status status = subject_open(&s, spec, &bench->shape, tokens, error);
    if (status == LOCUS_OK && (locus_encoding_sites(s.bound.encoding) & LOCUS_SITE_QUERY_KEY)) {
        status = apply_open(&job, bench, tokens, error);
        job.plan = s.plan;
        job.workspace.bytes = locus_apply_workspace(s.plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL);
        job.workspace.data = job.workspace.bytes ? locus_allocate(job.workspace.bytes) : NULL;
        if (status == LOCUS_OK)
            status = measure(call_apply, &job, bench->least, timing, error);
        locus_release(job.workspace.data, job.workspace.bytes);
        locus_release(job.x.data, job.elements * sizeof(float));
    }
    subject_close(&s);
    return status;
}

/* ---- attention ---- */

enum { QUERY, KEY, VALUE, OUTPUT, GRAD_OUTPUT, GRAD_QUERY, GRAD_KEY, GRAD_VALUE, BUFFERS };

typedef struct attention_job {
    const subject *subject;
    locus_tensor *gradients; /* of the parameters */
    locus_attention_options options;
    locus_tensor buffers[BUFFERS], sums;
    locus_workspace workspace[2];
} attention_job;

static locus_status call_forward(void *context, locus_error *error) {
    attention_job *job = context;
    const locus_tensor *t = job->buffers;
    const locus_attention_tensors tensors = {sizeof tensors, &t[QUERY], &t[KEY], &t[VALUE], &t[OUTPUT], &job->sums};
    const locus_execution execution = locus_execution_in(job->workspace[0]);
    return locus_attention_forward(job->subject->plan, &job->options, &tensors, &execution, error);
}

static locus_status call_backward(void *context, locus_error *error) {
    attention_job *job = context;
    const locus_tensor *t = job->buffers;
    const locus_attention_tensors tensors = {sizeof tensors, &t[QUERY], &t[KEY], &t[VALUE], &t[OUTPUT], &job->sums};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[GRAD_OUTPUT],
                                                 .query = &t[GRAD_QUERY],
                                                 .key = &t[GRAD_KEY],
                                                 .value = &t[GRAD_VALUE],
                                                 .parameters = job->gradients,
                                                 .parameter_count = job->subject->bound.count};
    const locus_execution execution = locus_execution_in(job->workspace[1]);
    return locus_attention_backward(job->subject->plan, &job->options, &tensors, &gradients, &execution, error);
}

static size_t buffer_elements(const lab_bench *b, size_t tokens) {
    return tokens * b->shape.heads * b->shape.head_dim;
}

static locus_status attention_open(attention_job *job, const lab_bench *b, const subject *s, size_t tokens,
                                   locus_error *error) {
    const int64_t sizes[3] = {(int64_t)tokens, (int64_t)b->shape.heads, (int64_t)b->shape.head_dim};
    *job = (attention_job){.subject = s, .options = locus_attention_default()};
    job->options.mask = LOCUS_MASK_CAUSAL;
    bool good = true;
    for (size_t i = 0; i < BUFFERS; i++) {
        job->buffers[i] = locus_tensor_view(draw(buffer_elements(b, tokens), (uint32_t)i), LOCUS_FLOAT32, 3, sizes);
        good = good && job->buffers[i].data;
    }
    job->sums = locus_tensor_view(draw(tokens * b->shape.heads, BUFFERS), LOCUS_FLOAT32, 2, sizes);
    for (size_t pass = 0; pass < 2; pass++) {
        locus_workspace *w = &job->workspace[pass];
        w->bytes = locus_attention_workspace(s->plan, &job->options, LOCUS_FLOAT32,
                                             pass ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD, NULL);
        w->data = w->bytes ? locus_allocate(w->bytes) : NULL;
        good = good && (w->data || !w->bytes);
    }
    return good && job->sums.data
               ? lab_bound_gradients(&s->bound, &job->gradients, error)
               : lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory for attention over %zu tokens", tokens);
}

static void attention_close(attention_job *job, const lab_bench *b, size_t tokens) {
    lab_bound_gradients_free(&job->subject->bound, &job->gradients);
    for (size_t i = 0; i < BUFFERS; i++)
        locus_release(job->buffers[i].data, buffer_elements(b, tokens) * sizeof(float));
    locus_release(job->sums.data, tokens * b->shape.heads * sizeof(float));
    for (size_t pass = 0; pass < 2; pass++)
        locus_release(job->workspace[pass].data, job->workspace[pass].bytes);
}

locus_status lab_bench_attention(const lab_bench *bench, const char *spec, size_t tokens, lab_timing timings[2],
                                 size_t *workspace, locus_error *error) {
    attention_job job = {0};
    subject s;
    locus_status status = subject_open(&s, spec, &bench->shape, tokens, error);
    if (status == LOCUS_OK) {
        status = attention_open(&job, bench, &s, tokens, error);
        if (status == LOCUS_OK)
            status = measure(call_forward, &job, bench->least, &timings[0], error);
        if (status == LOCUS_OK)
            status = measure(call_backward, &job, bench->least, &timings[1], error);
        *workspace = job.workspace[1].bytes;
        attention_close(&job, bench, tokens);
    }
    subject_close(&s);
    return status;
}

/* ---- one training step ---- */

typedef struct step_job {
    lab_model *model;
    lab_batch batch;
    uint32_t step;
} step_job;

static locus_status call_step(void *context, locus_error *error) {
    step_job *job = context;
    lab_score score = {0};
    return lab_model_train(job->model, &job->batch, 0, job->step++, &score, error);
}

locus_status lab_bench_step(const lab_bench *bench, const char *spec, lab_train_config *config,
                            lab_bench_step_facts *facts, locus_error *error) {
    lab_dataset set = {0};
    step_job job = {0};
    const lab_draw draw = {config->task, &config->data, LAB_SET_TRAIN, config->batch, 0};
    config->model.encoding = spec;
    locus_status status = lab_dataset_generate(&set, &draw, error);
    if (status == LOCUS_OK)
        status = lab_model_create(&job.model, &config->model, 0, error);
    job.batch = (lab_batch){.samples = set.samples,
                            .input_offsets = set.input_offsets,
                            .target_offsets = set.target_offsets,
                            .input = set.input,
                            .target = set.target};
    if (status == LOCUS_OK)
        status = measure(call_step, &job, bench->least, &facts->timing, error);
    if (status == LOCUS_OK) {
        facts->tokens = set.input_offsets[set.samples] + set.target_offsets[set.samples] + set.samples;
        facts->arena_bytes = lab_model_arena_bytes(job.model);
    }
    lab_model_destroy(&job.model);
    lab_dataset_destroy(&set);
    return status;
}

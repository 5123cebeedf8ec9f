/* SPDX-License-Identifier: MIT */
/* locus bench: speed of this machine with this build, in process, in a minute.
 *
 *   apply      operators on [tokens, heads, head_dim], in place, float32, beside the measured in-place bandwidth
 *   attention  forward and backward by length, causal, one sequence
 *   step       one training step of a budget's model and batch
 *
 * Every figure is the fastest of the calls that fit into a third of a second (at least --repeat), with the median
 * beside it. Published comparisons with other programs are made by the programs in bench/. */
#include "bound/bound.h"
#include "command.h"
#include "io/fail.h"
#include "output.h"
#include "task/task.h"

#include <inttypes.h>
#include <locus/locus.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct measurement {
    double best, median; /* seconds */
} measurement;

typedef struct bench {
    cli_arguments *arguments;
    cJSON *list; /* NULL: tables */
    char **encodings;
    size_t encoding_count;
    locus_shape shape;
} bench;

/* ---- timing ---- */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef locus_status bench_call(void *context, locus_error *error);

/* Calls once to warm up, then until a third of a second and `least` calls are over. */
static int measure(bench_call *call, void *context, size_t least, measurement *result) {
    enum { MOST = 1000 };
    double times[MOST];
    size_t count = 0;
    locus_error error = {.offset = -1};
    if (call(context, &error) != LOCUS_OK)
        return cli_error(&error);
    const double begin = now();
    for (; count < MOST && (count < least || now() - begin < 0.33); count++) {
        double start = now();
        if (call(context, &error) != LOCUS_OK)
            return cli_error(&error);
        times[count] = now() - start;
    }
    qsort(times, count, sizeof *times, by_size);
    *result = (measurement){.best = times[0], .median = times[count / 2]};
    return 0;
}

static void add_json(cJSON *entry, const char *name, const measurement *m) {
    cJSON *object = cJSON_AddObjectToObject(entry, name);
    cJSON_AddNumberToObject(object, "best_seconds", m->best);
    cJSON_AddNumberToObject(object, "median_seconds", m->median);
}

static cJSON *new_entry(const bench *b, const char *what, const char *encoding) {
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddItemToArray(b->list, entry);
    cJSON_AddStringToObject(entry, "what", what);
    cJSON_AddStringToObject(entry, "encoding", encoding);
    return entry;
}

static void cell_time(lab_table *table, const measurement *m) {
    double unit = m->best < 1 ? 1e3 : 1;
    const double above = 100 * (m->median / m->best - 1);
    lab_table_number(table, m->best, "%.3g %s", unit * m->best, unit > 1 ? "ms" : "s");
    lab_table_number(table, above, "+%.0f %%", above);
}

/* ---- an encoding on one sequence ---- */

typedef struct subject {
    lab_bound bound;
    locus_plan *plan;
    locus_tensor *gradients; /* [bound.count], float64 */
} subject;

static void subject_close(subject *s) {
    for (size_t i = 0; s->gradients && i < s->bound.count; i++)
        free(s->gradients[i].data);
    free(s->gradients);
    locus_plan_destroy(&s->plan);
    lab_bound_close(&s->bound);
    *s = (subject){0};
}

static locus_status subject_gradients(subject *s, locus_error *error) {
    const size_t count = s->bound.count;
    s->gradients = calloc(count + 1, sizeof *s->gradients);
    bool good = s->gradients != NULL;
    for (size_t i = 0; good && i < count; i++) {
        s->gradients[i] = s->bound.values[i];
        s->gradients[i].data = calloc(locus_tensor_count(&s->gradients[i]) + 1, sizeof(double));
        good = s->gradients[i].data != NULL;
    }
    return good ? LOCUS_OK : lab_fail_memory(error, "an encoding's parameters");
}

static int subject_open(subject *s, const char *spec, const locus_shape *shape, size_t tokens) {
    locus_error error = {.offset = -1};
    locus_positions *positions = NULL;
    const size_t offsets[2] = {0, tokens};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets};
    *s = (subject){0};
    if (lab_bound_parse(&s->bound, spec, &error) != LOCUS_OK)
        return cli_error_in(spec, &error);
    s->bound.shape = *shape;
    locus_status status = lab_bound_list(&s->bound, &error);
    if (status == LOCUS_OK)
        status = lab_bound_draw(&s->bound, 0, &error);
    if (status == LOCUS_OK)
        status = lab_bound_bind(&s->bound, &error);
    if (status == LOCUS_OK)
        status = subject_gradients(s, &error);
    if (status == LOCUS_OK)
        status = locus_positions_create(&positions, locus_encoding_group(s->bound.encoding), &packing, NULL, &error);
    if (status == LOCUS_OK)
        status = lab_bound_plan(&s->bound, positions, NULL, NULL, &s->plan, &error);
    locus_positions_destroy(&positions);
    return status == LOCUS_OK ? 0 : cli_error(&error);
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

static void report_apply(const bench *b, lab_table *table, const char *name, const apply_job *job, const measurement *m,
                         double floor) {
    double rate = 8.0 * (double)job->elements / m->best;
    if (b->list) {
        cJSON *entry = new_entry(b, "apply", name);
        cJSON_AddNumberToObject(entry, "tokens", (double)job->x.shape[0]);
        add_json(entry, "forward", m);
        cJSON_AddNumberToObject(entry, "bytes_per_second", rate);
        return;
    }
    lab_table_cell(table, "%s", name);
    cell_time(table, m);
    lab_table_number(table, 1e-9 * rate, "%.1f", 1e-9 * rate);
    lab_table_number(table, 100 * floor / m->best, "%.0f %%", 100 * floor / m->best);
}

static int bench_apply(bench *b) {
    static const char *const heads[] = {"apply", ">fastest|s", ">median|% above", ">GB/s", ">of in-place bandwidth|%"};
    const size_t tokens = (size_t)cli_integer(b->arguments, "tokens"),
                 least = (size_t)cli_integer(b->arguments, "repeat");
    const int64_t sizes[3] = {(int64_t)tokens, (int64_t)b->shape.heads, (int64_t)b->shape.head_dim};
    apply_job job = {.elements = tokens * b->shape.heads * b->shape.head_dim};
    float *data = draw(job.elements, 0);
    lab_table *table = lab_table_create(heads, 5);
    measurement floor = {0}, m;
    job.x = locus_tensor_view(data, LOCUS_FLOAT32, 3, sizes);
    int status = data ? measure(call_negate, &job, least, &floor) : cli_failure("out of memory for %zu tokens", tokens);
    if (status == 0)
        report_apply(b, table, "(negation in place)", &job, &floor, floor.best);
    for (size_t i = 0; i < b->encoding_count && status == 0; i++) {
        subject s;
        status = subject_open(&s, b->encodings[i], &b->shape, tokens);
        bool acts = status == 0 && (locus_encoding_sites(s.bound.encoding) & LOCUS_SITE_QUERY_KEY);
        if (acts) {
            job.plan = s.plan;
            job.workspace.bytes = locus_apply_workspace(s.plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL);
            job.workspace.data = job.workspace.bytes ? locus_allocate(job.workspace.bytes) : NULL;
            status = measure(call_apply, &job, least, &m);
            locus_release(job.workspace.data, job.workspace.bytes);
            if (status == 0)
                report_apply(b, table, b->encodings[i], &job, &m, floor.best);
        }
        subject_close(&s);
    }
    if (status == 0 && !b->list) {
        cli_say("operators on %zu tokens, %zu heads of %zu, float32, in place\n", tokens, b->shape.heads,
                b->shape.head_dim);
        cli_table_print(table);
    } else {
        lab_table_free(table);
    }
    locus_release(data, job.elements * sizeof *data);
    return status;
}

/* ---- attention ---- */

enum { QUERY, KEY, VALUE, OUTPUT, GRAD_OUTPUT, GRAD_QUERY, GRAD_KEY, GRAD_VALUE, BUFFERS };

typedef struct attention_job {
    const subject *subject;
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
                                                 .parameters = job->subject->gradients,
                                                 .parameter_count = job->subject->bound.count};
    const locus_execution execution = locus_execution_in(job->workspace[1]);
    return locus_attention_backward(job->subject->plan, &job->options, &tensors, &gradients, &execution, error);
}

static size_t buffer_elements(const bench *b, size_t tokens) {
    return tokens * b->shape.heads * b->shape.head_dim;
}

static int attention_open(attention_job *job, const bench *b, const subject *s, size_t tokens) {
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
    return good && job->sums.data ? 0 : cli_failure("out of memory for attention over %zu tokens", tokens);
}

static void attention_close(attention_job *job, const bench *b, size_t tokens) {
    for (size_t i = 0; i < BUFFERS; i++)
        locus_release(job->buffers[i].data, buffer_elements(b, tokens) * sizeof(float));
    locus_release(job->sums.data, tokens * b->shape.heads * sizeof(float));
    for (size_t pass = 0; pass < 2; pass++)
        locus_release(job->workspace[pass].data, job->workspace[pass].bytes);
}

static int bench_attention_one(bench *b, lab_table *table, const char *spec, size_t tokens) {
    const size_t least = (size_t)cli_integer(b->arguments, "repeat");
    measurement forward = {0}, backward = {0};
    attention_job job = {0};
    subject s;
    int status = subject_open(&s, spec, &b->shape, tokens);
    status = status ? status : attention_open(&job, b, &s, tokens);
    status = status ? status : measure(call_forward, &job, least, &forward);
    status = status ? status : measure(call_backward, &job, least, &backward);
    /* 4·T·T·d for each head forward, half of it under a causal mask; 2.5 times that backward. */
    double work = 2.0 * (double)tokens * (double)tokens * (double)(b->shape.heads * b->shape.head_dim);
    if (status == 0 && b->list) {
        cJSON *entry = new_entry(b, "attention", spec);
        cJSON_AddNumberToObject(entry, "tokens", (double)tokens);
        add_json(entry, "forward", &forward);
        add_json(entry, "backward", &backward);
    } else if (status == 0) {
        char size[32];
        lab_table_cell(table, "%s", spec);
        lab_table_number(table, (double)tokens, "%zu", tokens);
        cell_time(table, &forward);
        lab_table_number(table, 1e-9 * work / forward.best, "%.0f", 1e-9 * work / forward.best);
        cell_time(table, &backward);
        lab_table_number(table, 2.5e-9 * work / backward.best, "%.0f", 2.5e-9 * work / backward.best);
        lab_table_number(table, (double)job.workspace[1].bytes, "%s",
                         lab_bytes_text(size, sizeof size, (double)job.workspace[1].bytes));
    }
    attention_close(&job, b, tokens);
    subject_close(&s);
    return status;
}

static int bench_attention(bench *b) {
    static const char *const heads[] = {"attention",
                                        ">tokens",
                                        ">forward|s",
                                        ">median|% above forward",
                                        ">GFLOP/s",
                                        ">backward|s",
                                        ">median|% above backward",
                                        ">GFLOP/s|backward",
                                        ">workspace|bytes"};
    const int64_t *lengths;
    size_t count;
    int status = cli_list_integers(b->arguments, "lengths", 1, 1 << 20, &lengths, &count);
    lab_table *table = lab_table_create(heads, 9);
    for (size_t i = 0; i < b->encoding_count && status == 0; i++)
        for (size_t j = 0; j < count && status == 0; j++)
            status = bench_attention_one(b, table, b->encodings[i], (size_t)lengths[j]);
    if (status == 0 && !b->list) {
        cli_say("causal attention, one sequence, %zu heads of %zu, float32\n", b->shape.heads, b->shape.head_dim);
        cli_table_print(table);
    } else {
        lab_table_free(table);
    }
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

static int bench_step_one(bench *b, lab_table *table, const char *spec, lab_train_config *config) {
    locus_error error = {.offset = -1};
    lab_dataset set = {0};
    step_job job = {0};
    measurement m = {0};
    config->model.encoding = spec;
    int status = 0;
    const lab_draw draw = {config->task, &config->data, LAB_SET_TRAIN, config->batch, 0};
    if (lab_dataset_generate(&set, &draw, &error) != LOCUS_OK ||
        lab_model_create(&job.model, &config->model, 0, &error) != LOCUS_OK)
        status = error.offset >= 0 ? cli_error_in(spec, &error) : cli_error(&error);
    job.batch = (lab_batch){.samples = set.samples,
                            .input_offsets = set.input_offsets,
                            .target_offsets = set.target_offsets,
                            .input = set.input,
                            .target = set.target};
    status = status ? status : measure(call_step, &job, (size_t)cli_integer(b->arguments, "repeat"), &m);
    if (status == 0) {
        /* Input tokens, and target tokens with one end token for each sample. */
        double tokens = (double)(set.input_offsets[set.samples] + set.target_offsets[set.samples] + set.samples);
        char speed[32], arena[32];
        if (b->list) {
            cJSON *entry = new_entry(b, "step", spec);
            cJSON_AddStringToObject(entry, "budget", config->budget);
            add_json(entry, "step", &m);
            cJSON_AddNumberToObject(entry, "tokens", tokens);
            cJSON_AddNumberToObject(entry, "tokens_per_second", tokens / m.best);
            cJSON_AddNumberToObject(entry, "arena_bytes", (double)lab_model_arena_bytes(job.model));
        } else {
            lab_table_cell(table, "%s", spec);
            cell_time(table, &m);
            lab_table_number(table, tokens / m.best, "%s", lab_count_text(speed, sizeof speed, tokens / m.best));
            lab_table_number(table, (double)lab_model_arena_bytes(job.model), "%s",
                             lab_bytes_text(arena, sizeof arena, (double)lab_model_arena_bytes(job.model)));
        }
    }
    lab_model_destroy(&job.model);
    lab_dataset_destroy(&set);
    return status;
}

static int bench_step(bench *b) {
    static const char *const heads[] = {"training step", ">fastest|s", ">median|% above", ">tokens/s",
                                        ">activations|bytes"};
    locus_error error = {.offset = -1};
    lab_train_config config;
    if (lab_train_config_budget(&config, lab_task_find("copy"), cli_text(b->arguments, "budget"), LAB_SETUP_PAPER,
                                &error) != LOCUS_OK)
        return cli_error(&error);
    lab_table *table = lab_table_create(heads, 5);
    int status = 0;
    for (size_t i = 0; i < b->encoding_count && status == 0; i++)
        status = bench_step_one(b, table, b->encodings[i], &config);
    if (status == 0 && !b->list) {
        cli_say("forward and backward of a batch, budget %s: dimension %zu, %zu + %zu layers, %zu samples of mean "
                "length %g\n",
                config.budget, config.model.dim, config.model.encoder_layers, config.model.decoder_layers, config.batch,
                config.data.words.length_mean);
        cli_table_print(table);
    } else {
        lab_table_free(table);
    }
    return status;
}

/* ---- command ---- */

static int check_spec(const char *spec) {
    locus_error error = {.offset = -1};
    locus_encoding *encoding = NULL;
    const int status = locus_encoding_parse(spec, &encoding, &error) == LOCUS_OK ? 0 : cli_error_in(spec, &error);
    locus_encoding_destroy(&encoding);
    return status;
}

/* What is to be refused is refused before the first line is printed: lengths, specs, and for apply and attention what
 * cannot be bound to the heads or placed at the longest sequence. */
static int check(const bench *b, const char *wanted) {
    const bool apply = !wanted || strcmp(wanted, "apply") == 0, attention = !wanted || strcmp(wanted, "attention") == 0;
    size_t longest = apply ? (size_t)cli_integer(b->arguments, "tokens") : 1, count;
    const int64_t *lengths;
    int status = cli_list_integers(b->arguments, "lengths", 1, 1 << 20, &lengths, &count);
    for (size_t i = 0; status == 0 && attention && i < count; i++)
        longest = (size_t)lengths[i] > longest ? (size_t)lengths[i] : longest;
    for (size_t i = 0; status == 0 && i < b->encoding_count; i++) {
        subject s = {0};
        status =
            apply || attention ? subject_open(&s, b->encodings[i], &b->shape, longest) : check_spec(b->encodings[i]);
        subject_close(&s);
    }
    return status;
}

static int run(cli_arguments *arguments) {
    static const struct {
        const char *name;
        int (*run)(bench *b);
    } parts[] = {{"apply", bench_apply}, {"attention", bench_attention}, {"step", bench_step}};
    static const char *const names[] = {"apply", "attention", "step"};
    const char *wanted = arguments->operand_count ? arguments->operands[0] : NULL;
    bench b = {.arguments = arguments};
    bool json = cli_flag(arguments, "json"), found = !wanted;
    for (size_t i = 0; i < 3; i++)
        found = found || strcmp(wanted, names[i]) == 0;
    if (!found) {
        const char *near = cli_nearest(wanted, names, 3);
        return cli_usage_error("bench: there is no bench '%s'; it is apply, attention or step%s%s%s", wanted,
                               near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    b.encoding_count = cli_list(arguments, "encodings", &b.encodings);
    b.shape.heads = (size_t)cli_integer(arguments, "heads");
    b.shape.head_dim = (size_t)cli_integer(arguments, "head-dim");
    int status = check(&b, wanted);
    if (status != 0)
        return status;
    cJSON *root = json ? cJSON_CreateObject() : NULL;
    if (json) {
        cJSON_AddStringToObject(root, "isa", locus_isa_name(locus_cpu_isa()));
        cJSON_AddNumberToObject(root, "threads", (double)locus_threads());
        b.list = cJSON_AddArrayToObject(root, "measurements");
    } else {
        cli_say("%s kernels, %zu threads; fastest call, and how far the median lies above it\n",
                locus_isa_name(locus_cpu_isa()), locus_threads());
    }
    for (size_t i = 0; i < 3 && status == 0; i++) {
        if (!wanted || strcmp(wanted, parts[i].name) == 0) {
            cli_say("\n");
            status = parts[i].run(&b);
        }
    }
    if (status == 0 && json)
        return cli_json_print(root);
    cJSON_Delete(root);
    return status;
}

static const cli_option options[] = {
    {"encodings", 'e', CLI_LIST, "SPEC,…", "none,rope,algebraic(group=seq),alibi", "what to measure", 0, 0},
    {"tokens", 'n', CLI_INTEGER, "N", "32768", "tokens, for apply", 1, 1 << 24},
    {"lengths", 'l', CLI_LIST, "N,…", "128,512,2048", "lengths, for attention", 0, 0},
    {"heads", 'H', CLI_INTEGER, "H", "8", "heads, for apply and attention", 1, 1024},
    {"head-dim", 0, CLI_INTEGER, "D", "64", "dimension of a head, for apply and attention", 1, 4096},
    {"budget", 'b', CLI_CHOICE, "smoke|quick|paper", NULL, "model and batch, for step (default: smoke)", 0, 0},
    {"repeat", 'r', CLI_INTEGER, "N", "3", "least number of calls timed", 1, 1000},
};

const cli_command cli_command_bench = {
    .name = "bench",
    .summary = "measures operators, attention and a training step on this machine",
    .operands = "[apply|attention|step]",
    .details = "Without a word: all three.",
    .examples = "locus bench attention --lengths 1024,4096 --encodings 'rope,algebraic(group=seq)'\n",
    .shared = CLI_JSON | CLI_FORMAT | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};

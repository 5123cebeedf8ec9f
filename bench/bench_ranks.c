/* SPDX-License-Identifier: MIT */
/* A training that ranks share, and its pieces. Alone, or as ranks under mpirun; rank 0 prints one line of JSON.
 *
 *   bench_ranks [--task T] [--encoding SPEC] [--budget B] [--shards V] [--steps N] [--threads N]
 *   bench_ranks --exchange NUMBERS [--steps N]
 *
 * step        a training step of task and budget, as `locus train` makes it, the exchange among it; --shards 0: of one
 *             process and a batch that is not dealt to shards. All steps are of the same batch.
 * processor   of the same steps: processor time of all threads of all ranks, which a busy machine says better
 * shard       forward and backward of the rank's shards, one step's, on the rank that takes longest and on average
 * exchange    sums of gradients and gathering of parameters, when all ranks begin together; bytes that rank 0 sends
 *             beside the least that it takes, 2 (R − 1) / R times the parameters
 * update      the optimiser on the rank's slice
 * evaluate    teacher-forced scores of a batch, which one rank makes
 * checkpoint  written and synced by rank 0 to the folder of temporary files, without gathering
 * peak        resident bytes of rank 0 and of the largest, when all this is done
 *
 * With --exchange there is no training: only the exchange of so many numbers. Median and best of N, in seconds. */
#include "io/clock.h"
#include "io/fail.h"
#include "ranks/ranks_mpi.h"
#include "task/task_class.h"
#include "train/checkpoint.h"
#include "train/configuration/budgets.h"
#include "train/configuration/config.h"
#include "train/feed/feed.h"
#include "train/feed/train_data.h"
#include "train/machine.h"
#include "train/sharing.h"

#include <locus/parallel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_STEPS = 1000 };

typedef struct request {
    const char *task, *encoding, *budget;
    size_t shards, steps, threads, exchange;
} request;

typedef struct times {
    double best, median;
} times;

/* What a round took: by the clock, on the rank that took longest and on average; processor time of all together. */
typedef struct measured {
    times slowest, mean, processor;
} measured;

typedef struct result {
    size_t elements, sent;
    measured step, shard, exchange, update, evaluate, checkpoint;
    int64_t peak, largest;
} result;

typedef struct subject {
    lab_train_config config;
    char encoding[LAB_SPEC_SIZE];
    lab_dataset train, dev;
    lab_feed feed, scoring;
    lab_model *model;
    lab_optimizer optimizer;
    lab_sharing sharing;
    lab_ranks *ranks;
} subject;

static int ascending(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static times settle(double *seconds, size_t count) {
    qsort(seconds, count, sizeof *seconds, ascending);
    return (times){seconds[0], seconds[count / 2]};
}

/* ---- what is timed ---- */

static locus_status make_sets(subject *s, locus_error *error) {
    const lab_train_set_request train = lab_train_set_ask(&s->config, LAB_SET_TRAIN);
    lab_train_set_request dev = lab_train_set_ask(&s->config, LAB_SET_DEV);
    dev.samples = s->config.batch;
    locus_status status = lab_train_set(&s->train, &s->config, &train, error);
    if (status == LOCUS_OK)
        status = lab_train_set(&s->dev, &s->config, &dev, error);
    if (status == LOCUS_OK)
        status = lab_feed_train(&s->feed, &s->train, &s->config, error);
    return status == LOCUS_OK ? lab_feed_score(&s->scoring, &s->dev, s->config.batch, error) : status;
}

static locus_status make(subject *s, const request *wanted, locus_error *error) {
    const lab_task *task = lab_task_find(wanted->task);
    if (task == NULL)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "task", "there is no such task");
    locus_status status = lab_train_config_budget(&s->config, task, wanted->budget, LAB_SETUP_PAPER, error);
    s->config.budget = wanted->budget;
    s->config.shards = wanted->shards;
    if (status == LOCUS_OK)
        status = lab_train_encoding(wanted->encoding, &s->config, s->encoding, sizeof s->encoding, error);
    s->config.encoding = s->config.model.encoding = s->encoding;
    status = status == LOCUS_OK ? lab_config_settle(&s->config, error) : status;
    status = status == LOCUS_OK ? lab_train_look(&s->config, error) : status;
    status = status == LOCUS_OK ? lab_config_check(&s->config, error) : status;
    status = status == LOCUS_OK ? make_sets(s, error) : status;
    status = status == LOCUS_OK ? lab_model_create(&s->model, &s->config.model, 0, error) : status;
    if (status != LOCUS_OK)
        return status;
    const size_t shards = wanted->shards > 0 ? wanted->shards : 1;
    status = lab_sharing_open(&s->sharing, s->ranks, shards, lab_model_elements(s->model), error);
    lab_feed_part(&s->feed, (lab_cut){lab_ranks_rank(s->ranks), lab_ranks_count(s->ranks)});
    return status == LOCUS_OK ? lab_optimizer_create(&s->optimizer, &s->config.optimizer, s->sharing.count, error)
                              : status;
}

static void destroy(subject *s) {
    lab_feed_close(&s->feed);
    lab_feed_close(&s->scoring);
    lab_dataset_destroy(&s->train);
    lab_dataset_destroy(&s->dev);
    lab_model_destroy(&s->model);
    lab_optimizer_destroy(&s->optimizer);
    lab_sharing_close(&s->sharing);
}

static locus_status whole_step(subject *s, uint64_t step, locus_error *error) {
    const lab_batch *batch;
    lab_score score = {0};
    double norm;
    locus_status status = lab_feed_step(&s->feed, step, &batch, error);
    if (status == LOCUS_OK)
        status = lab_model_train(s->model, batch, 0, (uint32_t)step, &score, error);
    if (status == LOCUS_OK)
        status = lab_optimizer_step(&s->optimizer, 1e-4, lab_model_values(s->model), lab_model_gradients(s->model),
                                    &norm, error);
    return status == LOCUS_OK ? lab_model_update(s->model, error) : status;
}

static locus_status one_step(subject *s, uint64_t step, locus_error *error) {
    const lab_shared_step shared = {s->model, &s->feed, &s->optimizer, 0, step, 1e-4};
    lab_shared_score score;
    return s->config.shards == 0 ? whole_step(s, step, error) : lab_sharing_step(&s->sharing, &shared, &score, error);
}

/* As a step does when it ends. */
static locus_status return_gradients(subject *s, locus_error *error) {
    return lab_ranks_count(s->ranks) > 1 ? lab_model_gradients_return(s->model, error) : LOCUS_OK;
}

static locus_status shards_of(subject *s, uint64_t step, locus_error *error) {
    locus_status status = return_gradients(s, error);
    for (size_t i = 0; status == LOCUS_OK && i < s->sharing.own_shards; i++) {
        const lab_cut cut = {s->sharing.first_shard + i, s->sharing.shards};
        const lab_shard_key key = {0, (uint32_t)step, (uint32_t)cut.index, lab_ranks_count(s->ranks) > 1};
        const lab_batch *batch;
        lab_score score = {0};
        status = lab_feed_cut(&s->feed, step, cut, &batch, error);
        if (status == LOCUS_OK && batch->samples > 0)
            status = lab_model_train_shard(s->model, batch, &key, &score, error);
        if (status == LOCUS_OK && i + 1 < s->sharing.own_shards)
            status = return_gradients(s, error);
    }
    return status;
}

static locus_status exchange(lab_ranks *ranks, float *numbers, size_t elements, size_t unit, locus_error *error) {
    const locus_status status = lab_ranks_fold(ranks, numbers, elements, unit, error);
    return status == LOCUS_OK
               ? lab_ranks_gather(ranks, numbers, elements * sizeof *numbers, unit * sizeof *numbers, error)
               : status;
}

static locus_status exchange_all(subject *s, uint64_t step, locus_error *error) {
    (void)step;
    return exchange(s->ranks, lab_model_gradients(s->model), s->sharing.elements, s->sharing.piece, error);
}

static locus_status update(subject *s, uint64_t step, locus_error *error) {
    (void)step;
    return lab_optimizer_update(&s->optimizer, 0.0, 0.0, 1.0, lab_model_values(s->model) + s->sharing.first,
                                lab_model_gradients(s->model) + s->sharing.first, error);
}

static locus_status evaluate(subject *s, uint64_t step, locus_error *error) {
    const lab_batch *batch;
    lab_score score = {0};
    (void)step;
    locus_status status = return_gradients(s, error);
    if (lab_ranks_count(s->ranks) > 1)
        lab_model_activations_release(s->model);
    if (status == LOCUS_OK)
        status = lab_feed_slice(&s->scoring, 0, s->dev.samples, &batch, error);
    return status == LOCUS_OK ? lab_model_evaluate(s->model, batch, &score, error) : status;
}

/* Whatever numbers: the gradients stand for what is gathered. */
static locus_status checkpoint(subject *s, uint64_t step, locus_error *error) {
    char path[512];
    const char *folder = getenv("TMPDIR");
    float *numbers = lab_model_gradients(s->model);
    lab_training_state state = {.step = step, .best_step = 1};
    const lab_checkpoint content = {s->model, numbers, numbers, &state, numbers};
    if (lab_ranks_rank(s->ranks) != 0)
        return LOCUS_OK;
    snprintf(path, sizeof path, "%s/locus-bench-ranks-%ld.safetensors", folder != NULL ? folder : "/tmp",
             (long)getpid());
    const locus_status status = lab_checkpoint_write(&content, &s->config, (lab_array_source){NULL, NULL}, path, error);
    unlink(path);
    return status;
}

/* ---- timing ---- */

typedef locus_status timed(subject *s, uint64_t step, locus_error *error);

static double processor_seconds(void) {
    struct timespec now;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0 ? (double)now.tv_sec + 1e-9 * (double)now.tv_nsec : 0.0;
}

/* All ranks begin together; the first round touches new memory and is not counted. */
static locus_status measure(subject *s, timed *function, size_t rounds, measured *found, locus_error *error) {
    static double most[MOST_STEPS], average[MOST_STEPS], processor[MOST_STEPS];
    const size_t ranks = lab_ranks_count(s->ranks);
    double(*all)[2] = calloc(ranks, sizeof *all);
    locus_status status = all == NULL ? LOCUS_ERROR_MEMORY : LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i <= rounds; i++) {
        double sum = 0.0, high = 0.0, busy = 0.0;
        status = lab_ranks_barrier(s->ranks, error);
        const double began = lab_seconds(), busy_before = processor_seconds();
        if (status == LOCUS_OK)
            status = function(s, 0, error);
        const double own[2] = {lab_seconds() - began, processor_seconds() - busy_before};
        if (status == LOCUS_OK)
            status = lab_ranks_collect(s->ranks, own, sizeof own, all, error);
        for (size_t r = 0; r < ranks; r++) {
            sum += all[r][0];
            high = all[r][0] > high ? all[r][0] : high;
            busy += all[r][1];
        }
        if (i > 0) {
            most[i - 1] = high;
            average[i - 1] = sum / (double)ranks;
            processor[i - 1] = busy;
        }
    }
    free(all);
    *found = (measured){settle(most, rounds), settle(average, rounds), settle(processor, rounds)};
    return status;
}

static locus_status find_peaks(lab_ranks *ranks, result *r, locus_error *error) {
    const size_t count = lab_ranks_count(ranks);
    int64_t *all = calloc(count, sizeof *all);
    if (all == NULL)
        return LOCUS_ERROR_MEMORY;
    r->peak = lab_peak_bytes();
    const locus_status status = lab_ranks_collect(ranks, &r->peak, sizeof r->peak, all, error);
    for (size_t i = 0; i < count; i++)
        r->largest = all[i] > r->largest ? all[i] : r->largest;
    free(all);
    return status;
}

static locus_status measure_all(subject *s, const request *wanted, result *r, locus_error *error) {
    const size_t few = wanted->steps < 3 ? wanted->steps : 3;
    const bool dealt = s->config.shards > 0;
    r->elements = s->sharing.elements;
    locus_status status = measure(s, one_step, wanted->steps, &r->step, error);
    if (status == LOCUS_OK && dealt)
        status = measure(s, shards_of, few, &r->shard, error);
    const uint64_t before = lab_ranks_sent(s->ranks);
    if (status == LOCUS_OK)
        status = exchange_all(s, 0, error);
    r->sent = (size_t)(lab_ranks_sent(s->ranks) - before);
    if (status == LOCUS_OK && dealt)
        status = measure(s, exchange_all, 5, &r->exchange, error);
    if (status == LOCUS_OK && dealt)
        status = measure(s, update, 5, &r->update, error);
    if (status == LOCUS_OK)
        status = measure(s, evaluate, few, &r->evaluate, error);
    if (status == LOCUS_OK)
        status = measure(s, checkpoint, 2, &r->checkpoint, error);
    return status == LOCUS_OK ? find_peaks(s->ranks, r, error) : status;
}

/* ---- the exchange alone ---- */

static locus_status exchange_alone(lab_ranks *ranks, const request *wanted, result *r, locus_error *error) {
    static double seconds[MOST_STEPS];
    float *numbers = calloc(wanted->exchange, sizeof *numbers);
    const size_t unit = (wanted->exchange + LAB_MOST_SHARDS - 1) / LAB_MOST_SHARDS;
    locus_status status = numbers == NULL ? LOCUS_ERROR_MEMORY : LOCUS_OK;
    r->elements = wanted->exchange;
    for (size_t i = 0; status == LOCUS_OK && i <= wanted->steps; i++) {
        status = lab_ranks_barrier(ranks, error);
        const uint64_t before = lab_ranks_sent(ranks);
        const double began = lab_seconds();
        if (status == LOCUS_OK)
            status = exchange(ranks, numbers, wanted->exchange, unit, error);
        r->sent = (size_t)(lab_ranks_sent(ranks) - before);
        if (i > 0)
            seconds[i - 1] = lab_seconds() - began;
    }
    r->exchange.slowest = settle(seconds, wanted->steps);
    free(numbers);
    return status;
}

/* ---- the program ---- */

static void print_times(const char *name, times t) {
    if (t.median > 0.0)
        printf(", \"%s\": %.6f, \"%s_best\": %.6f", name, t.median, name, t.best);
}

static void print(const request *wanted, const subject *s, const result *r) {
    char machine[256];
    const size_t ranks = lab_ranks_count(s->ranks);
    lab_machine_text(machine, sizeof machine);
    printf("{\"ranks\": %zu, \"threads\": %zu, \"parameters\": %zu, \"sent\": %zu, \"bound\": %.0f", ranks,
           locus_threads(), r->elements, r->sent,
           2.0 * (double)(ranks - 1) / (double)ranks * 4.0 * (double)r->elements);
    if (wanted->exchange == 0) {
        printf(", \"task\": \"%s\", \"encoding\": \"%s\", \"budget\": \"%s\", \"batch\": %zu, \"shards\": %zu",
               wanted->task, s->encoding, wanted->budget, s->config.batch, wanted->shards);
        printf(", \"steps_total\": %llu, \"evaluate_every\": %llu, \"dev_samples\": %zu, \"test_samples\": %zu",
               (unsigned long long)lab_config_steps(&s->config),
               (unsigned long long)lab_config_evaluate_every(&s->config), s->config.dev_samples,
               s->config.test_samples);
        printf(", \"peak\": %lld, \"largest_peak\": %lld", (long long)r->peak, (long long)r->largest);
    }
    print_times("step", r->step.slowest);
    print_times("processor", r->step.processor);
    print_times("shard", r->shard.slowest);
    print_times("shard_mean", r->shard.mean);
    print_times("exchange", r->exchange.slowest);
    print_times("update", r->update.slowest);
    print_times("evaluate", r->evaluate.slowest);
    print_times("checkpoint", r->checkpoint.slowest);
    printf(", \"machine\": \"%s\"}\n", machine);
}

static bool number_of(const char *text, size_t *value) {
    char *end;
    *value = (size_t)strtoull(text, &end, 10);
    return *text != '\0' && *end == '\0';
}

static bool parse(request *r, int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const struct {
            const char *name;
            const char **text;
            size_t *number;
        } options[] = {{"--task", &r->task, NULL},        {"--encoding", &r->encoding, NULL},
                       {"--budget", &r->budget, NULL},    {"--shards", NULL, &r->shards},
                       {"--steps", NULL, &r->steps},      {"--threads", NULL, &r->threads},
                       {"--exchange", NULL, &r->exchange}};
        size_t at = 0;
        while (at < sizeof options / sizeof *options && strcmp(options[at].name, argv[i]) != 0)
            at++;
        if (at == sizeof options / sizeof *options)
            return false;
        if (options[at].text != NULL)
            *options[at].text = argv[i + 1];
        else if (!number_of(argv[i + 1], options[at].number))
            return false;
    }
    return argc % 2 == 1 && r->steps > 0 && r->steps <= MOST_STEPS;
}

int main(int argc, char **argv) {
    request wanted = {"reverse", "algebraic(group=seq)", "paper", 0, 5, 0, 0};
    const lab_mpi_start start = lab_mpi_started();
    locus_error error = {0};
    result r = {0};
    subject *s = calloc(1, sizeof *s);
    if (s == NULL || !parse(&wanted, argc, argv)) {
        fputs("usage: bench_ranks [--task T] [--encoding SPEC] [--budget B] [--shards V] [--steps N] [--threads N]\n"
              "       bench_ranks --exchange NUMBERS [--steps N]\n",
              stderr);
        free(s);
        return 2;
    }
    locus_status status = wanted.threads > 0 ? locus_threads_set(wanted.threads) : LOCUS_OK;
    if (status == LOCUS_OK && start.count > 1)
        status = lab_ranks_mpi(&s->ranks, &start, &error);
    if (status == LOCUS_OK && wanted.exchange > 0)
        status = exchange_alone(s->ranks, &wanted, &r, &error);
    else if (status == LOCUS_OK && (status = make(s, &wanted, &error)) == LOCUS_OK)
        status = measure_all(s, &wanted, &r, &error);
    if (status != LOCUS_OK)
        fprintf(stderr, "bench_ranks: rank %zu: %s\n", start.rank, error.message);
    else if (start.rank == 0)
        print(&wanted, s, &r);
    fflush(stdout);
    destroy(s);
    lab_ranks_close(&s->ranks);
    free(s);
    return status == LOCUS_OK ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/* Judges curves and scores by the rules of the header, from the trainings of a field and its longer ones. */
#include "report/tables/learning.h"

#include "io/fail.h"
#include "train/configuration/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LONGER 1024 /* trainings of all lengths; what is beyond takes no part */

double lab_chance_bound(double chance) {
    return chance + 0.1 * (1 - chance);
}

bool lab_is_at_chance(const lab_statistic *score, lab_measure measure, double chance) {
    if (score->count == 0 || !lab_measure_is_share(measure))
        return false;
    return measure == LAB_MEASURE_SOLVED ? score->mean <= 0 : chance > 0 && score->mean < lab_chance_bound(chance);
}

lab_measure lab_learning_measure(lab_measure measure) {
    return measure == LAB_MEASURE_PERPLEXITY ? LAB_MEASURE_LOSS : measure;
}

/* ---- rules ---- */

double lab_learning_longer_gain(const lab_learning *learning, const lab_statistic *score, lab_measure measure) {
    return lab_measure_sign(measure) * (learning->longer.mean - score->mean);
}

static lab_convergence rises(const lab_learning *learning, lab_measure measure) {
    if (learning->curves == 0 || learning->curves < learning->runs)
        return LAB_CONVERGENCE_UNKNOWN;
    return learning->gain > lab_measure_margin(measure) ? LAB_STILL_LEARNING : LAB_CONVERGED;
}

lab_convergence lab_learning_judge(const lab_learning *learning, const lab_statistic *score, lab_measure measure,
                                   double chance) {
    const double margin = lab_measure_margin(measure);
    if (score->count == 0)
        return LAB_CONVERGENCE_UNKNOWN;
    if (lab_measure_is_share(measure) && score->mean >= 1 - margin)
        return LAB_CONVERGED;
    if (learning->longer.count >= LAB_LEARNING_SEEDS)
        return lab_learning_longer_gain(learning, score, measure) < margin ? LAB_CONVERGED : LAB_STILL_LEARNING;
    return lab_is_at_chance(score, measure, chance) ? LAB_NOT_BEGUN : rises(learning, measure);
}

/* ---- curves ---- */

/* The mean of the scores after `from`, up to `to`; false if there is none. */
static bool mean_between(const lab_metric *metrics, size_t count, double from, double to, double *mean) {
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if ((double)metrics[i].step > from && (double)metrics[i].step <= to) {
            sum += metrics[i].value;
            used++;
        }
    }
    *mean = used > 0 ? sum / (double)used : 0;
    return used > 0 && isfinite(*mean);
}

bool lab_learning_gain(const lab_metric *metrics, size_t count, double end, lab_measure measure, double *gain) {
    const double rounding = 1e-9 * end; /* a score at two thirds of the steps belongs to them */
    double before, after;
    if (!mean_between(metrics, count, end / 2 + rounding, end * 2 / 3 + rounding, &before) ||
        !mean_between(metrics, count, end * 5 / 6 + rounding, end + rounding, &after))
        return false;
    *gain = lab_measure_sign(measure) * (after - before);
    return true;
}

/* No curve of the share of problems solved is recorded: nothing is decoded while training. */
static const char *curve_name(lab_measure measure) {
    return measure == LAB_MEASURE_ACCURACY ? "dev.accuracy" : measure == LAB_MEASURE_SOLVED ? NULL : "dev.loss";
}

locus_status lab_learning_add(lab_learning *learning, lab_store *store, int64_t run, lab_measure measure, lab_span span,
                              locus_error *error) {
    lab_metric *metrics = NULL;
    size_t count = 0;
    double gain;
    learning->runs++;
    if (curve_name(measure) == NULL)
        return LOCUS_OK;
    locus_status status = lab_store_metrics(store, run, curve_name(measure), &metrics, &count, error);
    if (status == LOCUS_OK && count > 0) {
        const double end = (double)metrics[count - 1].step * (span == LAB_SPAN_HALF ? 0.5 : 1);
        if (lab_learning_gain(metrics, count, end, measure, &gain)) {
            learning->curves++;
            learning->gain += (gain - learning->gain) / (double)learning->curves;
        }
    }
    free(metrics);
    return status;
}

/* ---- longer trainings ---- */

const char *lab_final_name(lab_measure measure, lab_span span) {
    return measure == LAB_MEASURE_ACCURACY ? (span == LAB_SPAN_HALF ? "accuracy_half" : "accuracy")
           : measure == LAB_MEASURE_SOLVED ? "greedy_exact"
                                           : "loss";
}

typedef struct longer {
    uint64_t steps[MOST_LONGER];
    double values[MOST_LONGER];
    int64_t runs[MOST_LONGER];
    size_t count;
} longer;

/* *steps: those of a run that is a training of the same configuration, but for its seed, with at least twice the steps;
 * 0: it is not. What cannot be read is none. */
static locus_status steps_of_longer(const lab_run *run, const lab_train_config *config, uint64_t *steps,
                                    locus_error *error) {
    lab_train_config other = {0};
    locus_error unread;
    *steps = 0;
    locus_status status =
        run->state == LAB_RUN_DONE ? lab_config_parse(&other, run->config, run, run->name, &unread) : LOCUS_ERROR_IO;
    if (status != LOCUS_OK)
        return status == LOCUS_ERROR_MEMORY ? lab_fail_memory(error, "the longer trainings") : LOCUS_OK;
    const uint64_t own = lab_config_steps(&other);
    other.budget = config->budget; /* custom, since the steps are */
    other.seed = config->seed;
    other.steps = config->steps;
    other.epochs = config->epochs;
    other.evaluate_every = config->evaluate_every;
    if (own >= 2 * lab_config_steps(config) && lab_config_difference(config, &other) == NULL)
        *steps = own;
    return LOCUS_OK;
}

static locus_status take(longer *found, lab_store *store, const lab_run *run, uint64_t steps, const char *name,
                         locus_error *error) {
    lab_final *finals = NULL;
    size_t count = 0;
    locus_status status = lab_store_finals(store, run->id, &finals, &count, error);
    for (size_t i = 0; status == LOCUS_OK && i < count && found->count < MOST_LONGER; i++) {
        if (strcmp(finals[i].set, "test") == 0 && strcmp(finals[i].name, name) == 0) {
            found->steps[found->count] = steps;
            found->runs[found->count] = run->id;
            found->values[found->count++] = finals[i].value;
        }
    }
    free(finals);
    return status;
}

/* The longest that have seeds enough. */
static void choose(lab_learning *learning, const longer *found) {
    for (size_t i = 0; i < found->count; i++) {
        double values[LAB_LEARNING_MOST];
        int64_t runs[LAB_LEARNING_MOST] = {0};
        size_t count = 0;
        for (size_t j = 0; j < found->count && count < LAB_LEARNING_MOST; j++) {
            if (found->steps[j] == found->steps[i]) {
                values[count] = found->values[j];
                runs[count++] = found->runs[j];
            }
        }
        if (count >= LAB_LEARNING_SEEDS && found->steps[i] > learning->longer_steps) {
            learning->longer_steps = found->steps[i];
            learning->longer = lab_statistic_of(values, count);
            memcpy(learning->longer_runs, runs, sizeof runs);
        }
    }
}

locus_status lab_learning_look(lab_learning *learning, lab_store *store, const lab_train_config *config,
                               lab_measure measure, lab_span span, locus_error *error) {
    const lab_run_filter filter = {.task = config->task->name,
                                   .encoding = config->encoding,
                                   .setup = lab_setup_name(config->setup),
                                   .embedding_init = lab_embedding_init_name(config->model.embedding_init)};
    longer *found = calloc(1, sizeof *found);
    lab_run *runs = NULL;
    size_t count = 0;
    if (found == NULL)
        return lab_fail_memory(error, "the longer trainings");
    locus_status status = lab_store_runs(store, &filter, &runs, &count, error);
    for (size_t i = 0; i < count; i++) {
        uint64_t steps = 0;
        status = status == LOCUS_OK ? steps_of_longer(&runs[i], config, &steps, error) : status;
        if (status == LOCUS_OK && steps > 0)
            status = take(found, store, &runs[i], steps, lab_final_name(measure, span), error);
        lab_run_free(&runs[i]);
    }
    if (status == LOCUS_OK)
        choose(learning, found);
    free(runs);
    free(found);
    return status;
}

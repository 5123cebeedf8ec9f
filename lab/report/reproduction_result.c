/* SPDX-License-Identifier: MIT */
/* Finds the run of every training of a table by its name, and gathers final scores over seeds. Only finished runs are
 * scored. */
#include "report/reproduction_result.h"

#include "io/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores of one field ---- */

typedef enum score { ACCURACY, EXACT, GREEDY, LOSS, SCORES } score;

typedef struct field_values {
    double values[SCORES][LAB_MOST_SEEDS];
    size_t counts[SCORES];
} field_values;

static const char *const full_names[SCORES] = {"accuracy", "exact", "greedy_exact", "loss"};
static const char *const half_names[SCORES] = {"accuracy_half", "", "", ""};

static void take_finals(field_values *to, lab_span span, const lab_final *finals, size_t count) {
    const char *const *names = span == LAB_SPAN_HALF ? half_names : full_names;
    for (size_t i = 0; i < count; i++) {
        for (size_t s = 0; s < SCORES; s++) {
            if (strcmp(finals[i].set, "test") == 0 && strcmp(finals[i].name, names[s]) == 0 &&
                isfinite(finals[i].value) && to->counts[s] < LAB_MOST_SEEDS) {
                to->values[s][to->counts[s]++] = finals[i].value;
            }
        }
    }
}

static void finish_field(lab_field *field, const field_values *from) {
    field->accuracy = lab_statistic_of(from->values[ACCURACY], from->counts[ACCURACY]);
    field->exact = lab_statistic_of(from->values[EXACT], from->counts[EXACT]);
    field->greedy_exact = lab_statistic_of(from->values[GREEDY], from->counts[GREEDY]);
    field->loss = lab_statistic_of(from->values[LOSS], from->counts[LOSS]);
}

/* ---- runs ---- */

/* Adds a text to a list unless it is there. */
static void add_distinct(char *list, size_t size, const char *text) {
    size_t used = strlen(list);
    if (text != NULL && text[0] != '\0' && strstr(list, text) == NULL) {
        snprintf(list + used, size - used, "%s%s", used > 0 ? "; " : "", text);
    }
}

/* Counted once for a training, though it may fill several columns. */
static void count_run(lab_result *result, const lab_run *run) {
    result->runs[result->run_count++] = run->id;
    result->failed += run->state == LAB_RUN_FAILED;
    if (run->state != LAB_RUN_DONE) {
        return;
    }
    result->done++;
    result->wall_seconds += run->wall_seconds;
    result->peak_bytes = fmax(result->peak_bytes, (double)run->peak_bytes);
    add_distinct(result->machine, sizeof result->machine, run->machine);
    add_distinct(result->version, sizeof result->version, run->version);
    if (run->started != NULL && (result->began[0] == '\0' || strcmp(run->started, result->began) < 0)) {
        snprintf(result->began, sizeof result->began, "%.20s", run->started);
    }
    if (run->ended != NULL && strcmp(run->ended, result->ended) > 0) {
        snprintf(result->ended, sizeof result->ended, "%.20s", run->ended);
    }
}

/* One run of a field; there may be none. */
static locus_status read_run(lab_result *result, const lab_reproduction *table, lab_reproduction_place place,
                             lab_store *store, field_values *values, locus_error *error) {
    lab_train_config config;
    char encoding[LAB_SPEC_SIZE], name[256];
    lab_run run;
    locus_error missing;
    locus_status status = lab_reproduction_config(table, place, &config, encoding, error);
    if (status != LOCUS_OK || store == NULL) {
        return status;
    }
    lab_train_name(&config, name, sizeof name);
    status = lab_store_run_find(store, name, &run, &missing);
    if (status != LOCUS_OK) {
        if (status != LOCUS_ERROR_ARGUMENT && error != NULL) {
            *error = missing;
        }
        return status == LOCUS_ERROR_ARGUMENT ? LOCUS_OK : status;
    }
    if (lab_reproduction_leads(table, place.column)) {
        count_run(result, &run);
    }
    if (run.state == LAB_RUN_DONE) {
        lab_final *finals = NULL;
        size_t count = 0;
        status = lab_store_finals(store, run.id, &finals, &count, error);
        if (status == LOCUS_OK) {
            take_finals(values, table->columns[place.column].span, finals, count);
            result->fields[place.row][place.column].done++;
        }
        free(finals);
    }
    lab_run_free(&run);
    return status;
}

locus_status lab_result_read(lab_result *result, const lab_reproduction *table, lab_store *store, locus_error *error) {
    double chance[LAB_MOST_COLUMNS];
    memcpy(chance, result->chance, sizeof chance);
    memset(result, 0, sizeof *result);
    memcpy(result->chance, chance, sizeof chance);
    result->of = table->training_count * table->row_count * table->seeds;
    for (size_t column = 0; column < table->column_count; column++) {
        result->samples[column] = table->columns[column].config.test_samples;
        for (size_t row = 0; row < table->row_count; row++) {
            field_values values = {0};
            result->fields[row][column].of = table->seeds;
            for (size_t i = 0; i < table->seeds; i++) {
                locus_status status =
                    read_run(result, table, (lab_reproduction_place){row, column, i}, store, &values, error);
                if (status != LOCUS_OK) {
                    return status;
                }
            }
            finish_field(&result->fields[row][column], &values);
        }
    }
    return LOCUS_OK;
}

/* ---- chance ---- */

static locus_status chance_of(const lab_train_config *config, double *chance, locus_error *error) {
    const lab_task *task = lab_task_find(config->task);
    if (task == NULL || task->kind == LAB_TASK_IMAGES) {
        *chance = config->model.classes > 0 ? 1.0 / (double)config->model.classes : 0.0;
        return LOCUS_OK;
    }
    lab_dataset set;
    const lab_draw draw = {task, &config->data, LAB_SET_TEST, config->test_samples, config->data_seed};
    locus_status status = lab_dataset_generate(&set, &draw, error);
    if (status == LOCUS_OK) {
        *chance = lab_dataset_chance(&set, config->model.vocabulary);
        lab_dataset_destroy(&set);
    }
    return status;
}

locus_status lab_result_chance(lab_result *result, const lab_reproduction *table, locus_error *error) {
    for (size_t i = 0; i < table->column_count; i++) {
        locus_status status = chance_of(&table->columns[i].config, &result->chance[i], error);
        if (status != LOCUS_OK) {
            return status;
        }
    }
    return LOCUS_OK;
}

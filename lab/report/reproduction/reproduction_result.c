/* SPDX-License-Identifier: MIT */
/* Finds the run of every training of a table by its name, and gathers final scores over seeds. Only finished runs are
 * scored. The perplexity of a seed is exp of its loss; means are over seeds' own. */
#include "report/reproduction/reproduction_result.h"

#include "train/feed/train_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores of one field ---- */

typedef enum score { ACCURACY, EXACT, GREEDY, LOSS, SCORES } score;

/* Final scores by seed; NAN: a run does not have it. */
typedef struct field_values {
    double values[LAB_MOST_SEEDS][SCORES];
    size_t count;
} field_values;

static const char *const full_names[SCORES] = {"accuracy", "exact", "greedy_exact", "loss"};
static const char *const half_names[SCORES] = {"accuracy_half", "", "", ""};

static void take_finals(field_values *to, lab_span span, const lab_final *finals, size_t count) {
    const char *const *names = span == LAB_SPAN_HALF ? half_names : full_names;
    double *values = to->values[to->count];
    for (size_t s = 0; s < SCORES; s++) {
        values[s] = NAN;
        for (size_t i = 0; i < count; i++)
            if (strcmp(finals[i].set, "test") == 0 && strcmp(finals[i].name, names[s]) == 0)
                values[s] = finals[i].value;
    }
    to->count++;
}

static score score_of(lab_measure measure) {
    return measure == LAB_MEASURE_ACCURACY ? ACCURACY : measure == LAB_MEASURE_SOLVED ? GREEDY : LOSS;
}

/* The seed with the lowest share, or the highest loss, once all seeds have one. */
static void drop_worst(lab_field *field, field_values *from, lab_measure measure) {
    const score by = score_of(measure);
    size_t worst = 0;
    for (size_t i = 0; i < from->count; i++) {
        if (!isfinite(from->values[i][by]))
            return;
        if (lab_measure_sign(measure) * (from->values[i][by] - from->values[worst][by]) < 0)
            worst = i;
    }
    if (from->count < field->of || from->count < 2)
        return;
    memmove(from->values[worst], from->values[worst + 1], (from->count - worst - 1) * sizeof *from->values);
    from->count--;
    field->dropped = true;
}

static lab_statistic over_seeds(const field_values *from, score which, double (*of)(double)) {
    double values[LAB_MOST_SEEDS];
    size_t count = 0;
    for (size_t i = 0; i < from->count; i++) {
        const double value = of != NULL ? of(from->values[i][which]) : from->values[i][which];
        if (isfinite(value))
            values[count++] = value;
    }
    return lab_statistic_of(values, count);
}

static void finish_field(lab_field *field, const field_values *from) {
    field->accuracy = over_seeds(from, ACCURACY, NULL);
    field->exact = over_seeds(from, EXACT, NULL);
    field->greedy_exact = over_seeds(from, GREEDY, NULL);
    field->loss = over_seeds(from, LOSS, NULL);
    field->perplexity = over_seeds(from, LOSS, exp);
}

const lab_statistic *lab_field_score(const lab_field *field, lab_measure measure) {
    switch (measure) {
    case LAB_MEASURE_ACCURACY:
        return &field->accuracy;
    case LAB_MEASURE_SOLVED:
        return &field->greedy_exact;
    case LAB_MEASURE_LOSS:
        return &field->loss;
    case LAB_MEASURE_PERPLEXITY:
        return &field->perplexity;
    case LAB_MEASURE_STEP:
        break;
    }
    return &field->accuracy;
}

const lab_statistic *lab_result_score(const lab_result *result, const lab_reproduction *table, size_t row,
                                      size_t column) {
    return lab_field_score(&result->fields[row][column], table->columns[column].measure);
}

/* ---- runs ---- */

/* Whether the list "a; b" has the text. */
static bool is_listed(const char *list, const char *text) {
    const size_t length = strlen(text);
    for (const char *at = list; *at != '\0'; at += strspn(at, "; ")) {
        const size_t own = strcspn(at, ";");
        if (own == length && memcmp(at, text, length) == 0)
            return true;
        at += own;
    }
    return false;
}

/* Adds a text to a list unless it is there. */
static void add_distinct(char *list, size_t size, const char *text) {
    size_t used = strlen(list);
    if (text != NULL && text[0] != '\0' && !is_listed(list, text))
        snprintf(list + used, size - used, "%s%s", used > 0 ? "; " : "", text);
}

/* The number of seeds that a command names, "not said" where it names none; "" for what is no table's command. */
static void seeds_of(const char *command, char *text, size_t size) {
    const char *found = command == NULL ? NULL : strstr(command, "--seeds");
    const bool table =
        command != NULL && (strstr(command, "reproduce ") != NULL || strstr(command, "compare ") != NULL);
    text[0] = '\0';
    if (table && found == NULL) {
        snprintf(text, size, "not said");
    } else if (table) {
        found += strlen("--seeds");
        found += strspn(found, " =");
        snprintf(text, size, "%.*s", (int)strspn(found, "0123456789"), found);
    }
}

/* Counted once for a training, though it may fill several columns. */
static void count_run(lab_result *result, const lab_run *run) {
    char seeds[32];
    seeds_of(run->command, seeds, sizeof seeds);
    add_distinct(result->asked, sizeof result->asked, seeds);
    result->runs[result->run_count++] = run->id;
    result->failed += run->state == LAB_RUN_FAILED;
    if (run->state != LAB_RUN_DONE)
        return;
    result->done++;
    result->wall_seconds += run->wall_seconds;
    result->peak_bytes = fmax(result->peak_bytes, (double)run->peak_bytes);
    add_distinct(result->machine, sizeof result->machine, run->machine);
    add_distinct(result->version, sizeof result->version, run->version);
    if (run->started != NULL && (result->began[0] == '\0' || strcmp(run->started, result->began) < 0))
        snprintf(result->began, sizeof result->began, "%.20s", run->started);
    if (run->ended != NULL && strcmp(run->ended, result->ended) > 0)
        snprintf(result->ended, sizeof result->ended, "%.20s", run->ended);
}

/* One run of a field; there may be none. */
static locus_status read_run(lab_result *result, const lab_reproduction *table, lab_reproduction_place place,
                             lab_store *store, field_values *values, locus_error *error) {
    const lab_reproduction_column *column = &table->columns[place.column];
    lab_field *field = &result->fields[place.row][place.column];
    lab_train_config config;
    char encoding[LAB_SPEC_SIZE], name[256];
    lab_run run;
    locus_error missing;
    locus_status status = lab_reproduction_config(table, place, &config, encoding, error);
    if (status != LOCUS_OK || store == NULL)
        return status;
    lab_train_name(&config, name, sizeof name);
    status = lab_store_run_find(store, name, &run, &missing);
    if (status != LOCUS_OK) {
        if (status != LOCUS_ERROR_ARGUMENT && error != NULL)
            *error = missing;
        return status == LOCUS_ERROR_ARGUMENT ? LOCUS_OK : status;
    }
    if (lab_reproduction_begins(table, place.row, place.column))
        count_run(result, &run);
    if (run.state == LAB_RUN_DONE) {
        lab_final *finals = NULL;
        size_t count = 0;
        status = lab_store_finals(store, run.id, &finals, &count, error);
        if (status == LOCUS_OK) {
            take_finals(values, column->span, finals, count);
            field->done++;
            status = lab_learning_add(&field->learning, store, run.id, lab_learning_measure(column->measure),
                                      column->span, error);
        }
        free(finals);
    }
    lab_run_free(&run);
    return status;
}

static locus_status look_for_longer(lab_field *field, const lab_reproduction *table, lab_reproduction_place place,
                                    lab_store *store, locus_error *error) {
    const lab_reproduction_column *column = &table->columns[place.column];
    lab_train_config config;
    char encoding[LAB_SPEC_SIZE];
    place.repetition = 0;
    locus_status status = lab_reproduction_config(table, place, &config, encoding, error);
    return status == LOCUS_OK ? lab_learning_look(&field->learning, store, &config,
                                                  lab_learning_measure(column->measure), column->span, error)
                              : status;
}

static locus_status read_field(lab_result *result, const lab_reproduction *table, lab_reproduction_place place,
                               lab_store *store, locus_error *error) {
    field_values values = {.count = 0};
    lab_field *field = &result->fields[place.row][place.column];
    field->of = table->seeds;
    for (place.repetition = 0; place.repetition < table->seeds; place.repetition++) {
        locus_status status = read_run(result, table, place, store, &values, error);
        if (status != LOCUS_OK)
            return status;
    }
    if (table->drop_worst)
        drop_worst(field, &values, table->columns[place.column].measure);
    finish_field(field, &values);
    return field->done > 0 ? look_for_longer(field, table, place, store, error) : LOCUS_OK;
}

locus_status lab_result_read(lab_result *result, const lab_reproduction *table, lab_store *store, locus_error *error) {
    double chance[LAB_MOST_COLUMNS], uniform[LAB_MOST_COLUMNS];
    memcpy(chance, result->chance, sizeof chance);
    memcpy(uniform, result->uniform, sizeof uniform);
    memset(result, 0, sizeof *result);
    memcpy(result->chance, chance, sizeof chance);
    memcpy(result->uniform, uniform, sizeof uniform);
    result->of = lab_reproduction_trainings(table);
    for (size_t column = 0; column < table->column_count; column++) {
        const lab_reproduction_column *one = &table->columns[column];
        result->samples[column] =
            one->measure == LAB_MEASURE_SOLVED ? one->config.greedy_samples : one->config.test_samples;
        for (size_t row = 0; row < table->row_count; row++) {
            const lab_reproduction_place place = {row, column, 0};
            locus_status status = LOCUS_OK;
            if (lab_reproduction_has(table, row, column))
                status = read_field(result, table, place, store, error);
            if (status != LOCUS_OK)
                return status;
        }
    }
    /* A table that was asked for with several numbers of seeds has been looked at before some of them were there. */
    if (strstr(result->asked, "; ") == NULL)
        result->asked[0] = '\0';
    return LOCUS_OK;
}

static bool has_longer(const lab_learning *learning, int64_t run) {
    bool found = false;
    for (size_t i = 0; i < learning->longer.count && !found; i++)
        found = learning->longer_runs[i] == run;
    return found;
}

bool lab_result_uses(const lab_result *result, int64_t run) {
    bool found = false;
    for (size_t i = 0; i < result->run_count && !found; i++)
        found = result->runs[i] == run;
    for (size_t i = 0; i < LAB_MOST_SCHEMES * LAB_MOST_COLUMNS && !found; i++)
        found = has_longer(&result->fields[i / LAB_MOST_COLUMNS][i % LAB_MOST_COLUMNS].learning, run);
    return found;
}

/* ---- chance ---- */

/* Of words, trees and expressions from their test sets. */
static locus_status majority_of(const lab_train_config *config, double *chance, locus_error *error) {
    lab_dataset set;
    const lab_train_set_request request = lab_train_set_ask(config, LAB_SET_TEST);
    locus_status status = lab_train_set(&set, config, &request, error);
    if (status == LOCUS_OK) {
        *chance = lab_dataset_chance(&set, config->model.vocabulary);
        lab_dataset_destroy(&set);
    }
    return status;
}

locus_status lab_result_chance(lab_result *result, const lab_reproduction *table, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < table->column_count && status == LOCUS_OK; i++) {
        const lab_reproduction_column *column = &table->columns[i];
        const double classes = (double)column->config.model.classes;
        result->chance[i] = result->uniform[i] = 0;
        if (column->class->balanced) {
            result->chance[i] = classes > 0 ? 1 / classes : 0;
        } else if (column->measure == LAB_MEASURE_ACCURACY) {
            result->uniform[i] = column->class->stores_chance && classes > 0 ? 1 / classes : 0;
            status = majority_of(&column->config, &result->chance[i], error);
        }
    }
    return status;
}
